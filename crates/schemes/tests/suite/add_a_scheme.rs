//! Runs the scheme of `docs/develop/add-a-scheme.md` between two nodes, driven by hand.

#[path = "add_a_scheme/aimd.rs"]
mod aimd;

use std::collections::BTreeMap;

use weir_core::consumer::{Consumer, ConsumerConfig, REORDER_BOUND, Source};
use weir_core::ids::FaceId;
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig};
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::Random;
use weir_core::seam::params::{Params, Value};
use weir_core::seam::{FaceConfig, FlowConfig, Gauge, QueueLimit, Scheme};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::{Name, ServiceClass};

const HASHER: NameHasher = NameHasher::new(1);
const LINK: FaceId = FaceId(0);
const APPLICATION: FaceId = FaceId(1);
const CONSUMING: usize = 0;
const PRODUCING: usize = 1;

const LINK_RATE: Rate = Rate::from_mbps(10);
const DELAY: Span = Span::from_millis(10);

/// Two nodes and a link, with a consumer behind the first node and a producer behind the second.
struct Pair {
    now: Time,
    pool: PacketPool,
    nodes: [Node; 2],
    consumer: Consumer,
    producer: Producer,
    /// The packets in flight by arrival time, each with the node that receives it.
    in_flight: BTreeMap<(Time, u64), (usize, PacketId)>,
    sent: u64,
    drops: u64,
    longest_wait: Span,
    content: u64,
}

impl Pair {
    fn new(scheme: &dyn Scheme) -> Pair {
        let uri: Name = "/video".parse().expect("a name");
        let prefix = HashedName::parse(&HASHER, uri.value()).expect("a short name");
        let lifetime = Span::from_secs(2);
        let nodes = [CONSUMING, PRODUCING].map(|node| {
            let strategy = scheme.strategy();
            let random = Random::named(1, &format!("node {node}"));
            let mut forwarder = Node::new(NodeConfig::new(strategy, HASHER, random));
            let face = forwarder.next_face(Time::ZERO);
            let limit = QueueLimit::Packets(20);
            let rate = Some(LINK_RATE);
            let queue = scheme.queue(&FaceConfig { face, send_rate: rate, receive_rate: rate, limit });
            assert_eq!(
                forwarder.add_link(Time::ZERO, Link::new(queue, rate, Random::named(1, "link"))),
                LINK
            );
            assert_eq!(forwarder.add_application(Time::ZERO), APPLICATION);
            forwarder.add_route(&prefix, if node == PRODUCING { APPLICATION } else { LINK }, 0);
            forwarder
        });
        let expected_size = Bytes::new(1080);
        let class = ServiceClass::Be;
        let control = scheme.flow_control(&FlowConfig { class, expected_size, lifetime });
        let config = ConsumerConfig {
            prefix,
            hasher: HASHER,
            class,
            first: 0,
            amount: None,
            reorder: REORDER_BOUND,
            source: Source::Elastic,
            lifetime,
            must_be_fresh: false,
            hint: None,
            expected_size,
            source_jitter: 0.0,
            early_loss: false,
        };
        let mut consumer = Consumer::new(config, control, Random::named(1, "consumer"));
        consumer.start(Time::ZERO);
        Pair {
            now: Time::ZERO,
            pool: PacketPool::new(),
            nodes,
            consumer,
            producer: Producer { payload: Bytes::new(1024), freshness: Span::ZERO, signature: 32 },
            in_flight: BTreeMap::new(),
            sent: 0,
            drops: 0,
            longest_wait: Span::ZERO,
            content: 0,
        }
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let arrival = self.in_flight.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let deadlines = [CONSUMING, PRODUCING].map(|node| self.nodes[node].next_deadline());
            let flow = self.consumer.next_deadline();
            let next = arrival.min(flow).min(deadlines[0]).min(deadlines[1]);
            if next >= end {
                return;
            }
            self.now = next;
            if arrival == next {
                let (_, (node, packet)) = self.in_flight.pop_first().expect("a packet arrives");
                self.input(node, Input::Packet { face: LINK, packet });
            } else if flow == next {
                self.consumer.handle_deadline(next);
                self.send_interests();
            } else {
                self.input(if deadlines[0] == next { CONSUMING } else { PRODUCING }, Input::Deadline);
            }
        }
    }

    fn send_interests(&mut self) {
        while let Some(packet) = self.consumer.poll_send(self.now, &mut self.pool) {
            self.input(CONSUMING, Input::Packet { face: APPLICATION, packet });
        }
    }

    fn input(&mut self, node: usize, input: Input) {
        let mut actions = Vec::new();
        self.nodes[node].handle(self.now, input, &mut self.pool, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { packet, until, waited, .. } => {
                    self.sent += 1;
                    self.longest_wait = self.longest_wait.max(waited);
                    self.in_flight.insert((until + DELAY, self.sent), (1 - node, packet));
                }
                Action::Deliver { packet, .. } if node == PRODUCING => {
                    self.producer.answer(&mut self.pool[packet]);
                    self.input(PRODUCING, Input::Packet { face: APPLICATION, packet });
                }
                Action::Deliver { packet, .. } => {
                    let delivery = self.consumer.handle_data(self.now, &self.pool[packet]);
                    self.content += delivery.map_or(0, |delivery| delivery.content);
                    self.pool.free(packet);
                    self.send_interests();
                }
                Action::Drop { packet, .. } => {
                    self.drops += 1;
                    self.pool.free(packet);
                }
            }
        }
    }
}

fn scheme(given: &[(&str, Value)]) -> Box<dyn Scheme> {
    let entry = &aimd::ENTRY;
    let given = given.iter().map(|(key, value)| (*key, value));
    (entry.build)(&Params::resolve(entry.parameters, given).expect("declared parameters"))
}

#[test]
fn the_example_fills_the_link_and_drops_nothing_once_it_has_started() {
    let mut pair = Pair::new(scheme(&[]).as_ref());
    pair.run_until(Time::ZERO + Span::from_secs(5));
    let (content, drops) = (pair.content, pair.drops);
    pair.longest_wait = Span::ZERO;
    pair.run_until(Time::ZERO + Span::from_secs(25));
    let goodput = 8.0 * (pair.content - content) as f64 / 20.0;
    assert!(goodput > 0.85 * LINK_RATE.as_bps_f64(), "{goodput} bit/s of content");
    assert_eq!(pair.drops, drops, "drops after the start");
    // Eleven packets wait when the mark is set. The window is halved a round trip later.
    let wait = LINK_RATE.time_for(Bytes::new(14 * 1100));
    assert!(pair.longest_wait < wait, "{} is longer than {wait}", pair.longest_wait);
}

#[test]
fn a_mark_lowers_the_window_once_a_round_trip() {
    let mut pair = Pair::new(scheme(&[("mark_above", Value::Int(1))]).as_ref());
    let mut cuts = 0;
    let mut before = 0.0;
    for ms in 1..5_000 {
        pair.run_until(Time::ZERO + Span::from_millis(ms));
        let Gauge::Window(window) = pair.consumer.gauge() else { panic!("aimd has a window") };
        cuts += u32::from(window < before);
        before = window;
    }
    assert!((10..5_000 / 20).contains(&cuts), "{cuts} cuts in 250 round trips of 20 ms");
}
