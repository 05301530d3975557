use weir_core::ids::FaceId;
use weir_core::link::Link;
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig};
use weir_core::packet::{Kind, PacketId, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::Random;
use weir_core::seam::{FaceConfig, QueueLimit, Scheme};
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::super::{ENTRY, Hbhcm};
use crate::bench::{HASHER, name};
use crate::rtt_measure::RTT_MEASURE;
use crate::window::pipe::article;

const MS: Span = Span::from_millis(1);
/// Two downstream neighbours, one upstream neighbour, and an application.
const DOWN: [FaceId; 2] = [FaceId(0), FaceId(1)];
const UP: FaceId = FaceId(2);
const APPLICATION: FaceId = FaceId(3);

/// A Data to a downstream: the face, the measure in ms, and the mark.
type Sent = (FaceId, Option<f64>, u64);

/// A node that runs the scheme. The test takes the part of its neighbours.
struct Bench {
    now: Time,
    pool: PacketPool,
    forwarder: Node,
    nonce: u32,
    /// The Interests and the Data that left.
    asked: Vec<(FaceId, PacketId)>,
    sent: Vec<Sent>,
}

impl Bench {
    fn new() -> Bench {
        let scheme = Hbhcm::new(&article(&ENTRY));
        let random = |n: u64| Random::named(n, "node");
        let strategy = scheme.strategy();
        let content_store = ContentStore::new(CsPolicy::Lru, 100, 1 << 20);
        let config = NodeConfig { content_store, ..NodeConfig::new(strategy, HASHER, random(1)) };
        let mut forwarder = Node::new(config);
        for face in [DOWN[0], DOWN[1], UP] {
            let (limit, rate) = (QueueLimit::Packets(100), None);
            let queue = scheme.queue(&FaceConfig { face, send_rate: rate, receive_rate: rate, limit });
            forwarder.add_link(Time::ZERO, Link::new(queue, Some(Rate::from_mbps(100_000)), random(2)));
        }
        forwarder.add_application(Time::ZERO);
        forwarder.add_route(&name("/a"), UP, 0);
        forwarder.add_route(&name("/here"), APPLICATION, 0);
        let (now, pool) = (Time::from_nanos(1), PacketPool::new());
        Bench { now, pool, forwarder, nonce: 0, asked: Vec::new(), sent: Vec::new() }
    }

    fn at(&mut self, ms: u64) -> &mut Bench {
        let time = Time::from_nanos(1) + MS * ms;
        while self.forwarder.next_deadline() <= time {
            self.now = self.now.max(self.forwarder.next_deadline());
            self.handle(Input::Deadline);
        }
        self.now = time;
        self
    }

    fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.forwarder.handle(self.now, input, &mut self.pool, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { face, packet, .. } | Action::Deliver { face, packet } => {
                    let seen = &self.pool[packet];
                    if seen.is_interest() {
                        self.asked.push((face, packet));
                        continue;
                    }
                    let measure = seen.header().signals.value(&RTT_MEASURE);
                    let mark = seen.header().congestion_mark;
                    self.sent.push((face, measure.map(|ns| Span::from_nanos(ns).as_millis_f64()), mark));
                    self.pool.free(packet);
                }
                Action::Drop { packet, .. } => self.pool.free(packet),
            }
        }
    }

    fn interest(&mut self, face: FaceId, uri: &str) -> &mut Bench {
        let packet = self.pool.take();
        self.nonce += 1;
        let interest = &mut self.pool[packet];
        (interest.kind, interest.name) = (Kind::Interest, name(uri));
        (interest.nonce, interest.lifetime, interest.net_len) = (self.nonce, MS * 4000, 60);
        self.handle(Input::Packet { face, packet });
        self
    }

    /// Answers the oldest Interest with this measure and mark. Returns what goes to the downstreams.
    fn answer(&mut self, measure: Option<u64>, mark: u64) -> Vec<Sent> {
        let (face, packet) = self.asked.remove(0);
        Producer { payload: Bytes::new(1024), freshness: Span::ZERO, signature: 32 }
            .answer(&mut self.pool[packet]);
        let header = self.pool[packet].header_mut();
        header.congestion_mark = mark;
        if let Some(ms) = measure {
            header.signals.set(&RTT_MEASURE, (MS * ms).as_nanos());
        }
        self.handle(Input::Packet { face, packet });
        core::mem::take(&mut self.sent)
    }

    /// Sends 1000 Data that take 60 ms, 40 of them upstream, and `more` at this hop. Returns how many are
    /// marked.
    fn marked(&mut self, from_ms: u64, more: u64) -> usize {
        let sent = (from_ms..from_ms + 1000).flat_map(|n| {
            let at = 200 * n;
            self.at(at).interest(DOWN[0], &format!("/a/{n}"));
            self.at(at + 60 + more).answer(Some(40), 0)
        });
        sent.filter(|(_, measure, mark)| {
            assert_eq!(*measure, Some((60 + more) as f64));
            *mark != 0
        })
        .count()
    }
}

#[test]
fn a_downstream_hears_how_long_its_interest_was_here() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/a/1");
    assert_eq!(node.at(60).answer(Some(40), 0), [(DOWN[0], Some(60.0), 0)]);
}

/// With one value for both, the hop to the second downstream would appear 30 ms too short.
#[test]
fn a_downstream_whose_interest_was_aggregated_hears_less() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/a/1");
    node.at(30).interest(DOWN[1], "/a/1");
    assert_eq!(node.asked.len(), 1);
    assert_eq!(node.at(60).answer(Some(40), 0), [(DOWN[0], Some(60.0), 0), (DOWN[1], Some(30.0), 0)]);
}

#[test]
fn an_answer_from_the_content_store_takes_no_time_and_has_no_old_mark() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/a/1");
    assert_eq!(node.at(60).answer(Some(40), 1), [(DOWN[0], Some(60.0), 1)]);
    node.at(100).interest(DOWN[1], "/a/1");
    assert_eq!(core::mem::take(&mut node.sent), [(DOWN[1], Some(0.0), 0)]);
}

/// The downstream that sent its Interest twice gives no sample. The one that sent once does.
#[test]
fn after_a_repeated_interest_the_last_one_counts() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/a/1");
    node.at(10).interest(DOWN[1], "/a/1");
    node.at(150).interest(DOWN[0], "/a/1");
    assert_eq!(node.asked.len(), 2, "sent again upstream");
    let sent = node.at(160).answer(Some(140), 0);
    assert_eq!(sent, [(DOWN[0], Some(10.0), 0), (DOWN[1], Some(150.0), 0)]);
}

#[test]
fn what_an_application_here_takes_is_not_of_the_hop() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/here/1");
    assert_eq!(node.asked[0].0, APPLICATION);
    assert_eq!(node.at(50).answer(None, 0), [(DOWN[0], Some(50.0), 0)]);
}

#[test]
fn a_mark_from_upstream_goes_on_as_it_is() {
    let mut node = Bench::new();
    node.at(0).interest(DOWN[0], "/a/1");
    assert_eq!(node.at(60).answer(Some(40), 7), [(DOWN[0], Some(60.0), 7)]);
}

#[test]
fn queueing_in_the_hop_is_marked_and_queueing_further_up_is_not() {
    let mut node = Bench::new();
    assert_eq!(node.marked(0, 0), 0);
    assert_eq!(node.marked(1000, 4), 0, "less than the target");
    assert!(node.marked(2000, 6) > 900);
    let mut node = Bench::new();
    node.marked(0, 0);
    for n in 0..1000 {
        node.at(500_000 + 300 * n).interest(DOWN[0], &format!("/a/up/{n}"));
        assert_eq!(node.at(500_000 + 300 * n + 160).answer(Some(140), 0)[0].2, 0);
    }
}

/// A Data whose Interest this node sent twice gives no sample, however late it is.
#[test]
fn what_was_sent_twice_is_no_sample() {
    let mut node = Bench::new();
    node.marked(0, 0);
    for n in 0..1000 {
        let at = 500_000 + 1000 * n;
        node.at(at).interest(DOWN[0], &format!("/a/twice/{n}"));
        node.at(at + 200).interest(DOWN[0], &format!("/a/twice/{n}"));
        assert_eq!(node.asked.len(), 2);
        assert_eq!(node.at(at + 400).answer(Some(40), 0)[0].2, 0);
        let (_, second) = node.asked.remove(0);
        node.pool.free(second);
    }
    assert_eq!(node.marked(10_000, 0), 0);
}

/// The upstream never reports its time. The hop then reaches to the source, and all its delay counts.
#[test]
fn without_the_field_the_hop_reaches_to_the_source() {
    let mut node = Bench::new();
    let mut marked = 0;
    for n in 0..2000 {
        let more = if n < 1000 { 0 } else { 6 };
        node.at(200 * n).interest(DOWN[0], &format!("/a/{n}"));
        let sent = node.at(200 * n + 60 + more).answer(None, 0);
        assert_eq!(sent[0].1, Some((60 + more) as f64), "the next node hears of this one all the same");
        assert!(n >= 1000 || sent[0].2 == 0);
        marked += usize::from(sent[0].2 != 0);
    }
    assert!(marked > 900);
}

/// Values that loop, grow, or are out of range do not change the node's own values, and cause no mark.
#[test]
fn absurd_values_from_upstream_are_not_passed_on_and_mark_nothing() {
    let mut node = Bench::new();
    for n in 0..2000 {
        node.at(200 * n).interest(DOWN[0], &format!("/a/{n}"));
        let measure = [40, 60, 61, 1000 * n, u64::MAX / 1_000_000][(n % 5) as usize];
        assert_eq!(node.at(200 * n + 60).answer(Some(measure), 0), [(DOWN[0], Some(60.0), 0)]);
    }
}
