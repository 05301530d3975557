//! The cost of an end depends on what ends, not on how much else the node has. Peers choose how often faces
//! come and go, and flows begin and end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use weir_core::ids::{FaceId, GroupId};
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig};
use weir_core::packet::{Kind, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::Random;
use weir_core::seam::params::Params;
use weir_core::seam::{FaceConfig, QueueLimit, Scheme};
use weir_core::tables::flow_prefix::FlowPrefix;
use weir_core::units::{Bytes, Span, Time};
use weir_schemes::SCHEMES;

const HASHER: NameHasher = NameHasher::new(1);
/// The number of prefixes or links that are unrelated to what ends.
const FEW: usize = 10;
const MANY: usize = 10_000;
/// The largest factor by which the cost may grow with a thousand times as many others, because tables are
/// larger.
const MOST_TIMES: u32 = 8;

fn name(uri: &str) -> HashedName {
    HashedName::parse(&HASHER, uri.parse::<weir_packet::Name>().unwrap().value()).unwrap()
}

struct Bench<'a> {
    scheme: &'a dyn Scheme,
    node: Node,
    pool: PacketPool,
    now: Time,
    nonce: u32,
    up: FaceId,
}

impl<'a> Bench<'a> {
    fn new(scheme: &'a dyn Scheme) -> Bench<'a> {
        let config = NodeConfig::new(scheme.strategy(), HASHER, Random::named(1, "node"));
        let node = Node::new(NodeConfig { flow_prefix: FlowPrefix::Components(1), ..config });
        let mut node =
            Bench { scheme, node, pool: PacketPool::new(), now: Time::ZERO, nonce: 0, up: FaceId(0) };
        node.up = node.add_link();
        node.node.add_route(&name("/"), node.up, 1);
        node
    }

    fn add_link(&mut self) -> FaceId {
        let face = self.node.next_face(self.now);
        let limit = QueueLimit::Packets(100);
        let queue = self.scheme.queue(&FaceConfig { face, send_rate: None, receive_rate: None, limit });
        self.node.add_link(self.now, Link::new(queue, None, Random::named(1, "link")))
    }

    fn remove(&mut self, face: FaceId) {
        let mut actions = Vec::new();
        self.node.remove_face(self.now, face, &mut self.pool, &mut actions);
        self.carry_out(actions);
    }

    /// Carries out actions, and answers the Interests that leave.
    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Transmit { face, packet, .. } if face == self.up => {
                    let producer =
                        Producer { payload: Bytes::new(100), freshness: Span::ZERO, signature: 32 };
                    producer.answer(&mut self.pool[packet]);
                    self.handle(Input::Packet { face, packet });
                }
                Action::Transmit { packet, .. }
                | Action::Deliver { packet, .. }
                | Action::Drop { packet, .. } => self.pool.free(packet),
            }
        }
    }

    fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.node.handle(self.now, input, &mut self.pool, &mut actions);
        self.carry_out(actions);
    }

    fn ask(&mut self, face: FaceId, prefix: usize) {
        self.now += Span::from_micros(100);
        let packet = self.pool.take();
        self.nonce += 1;
        let interest = &mut self.pool[packet];
        interest.kind = Kind::Interest;
        interest.name = name(&format!("/{prefix}/{}", self.nonce));
        (interest.nonce, interest.lifetime, interest.net_len) = (self.nonce, Span::from_secs(2), 60);
        self.handle(Input::Packet { face, packet });
    }
}

/// Returns the shortest of several times.
#[allow(clippy::disallowed_methods, reason = "it measures how long a node takes")]
fn shortest(mut run: impl FnMut()) -> Duration {
    let time = |()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    [(); 30].map(time).into_iter().min().unwrap()
}

/// Compares the result of `cost` with few others and with many.
fn compare(what: &str, cost: impl Fn(&dyn Scheme, usize) -> Duration) {
    for entry in SCHEMES {
        let scheme = (entry.build)(&Params::resolve(entry.parameters, []).unwrap());
        let [few, many] = [FEW, MANY].map(|others| cost(&*scheme, others));
        println!("{}: {what} costs {few:?} beside {FEW} others and {many:?} beside {MANY}", entry.name);
        assert!(many < few * MOST_TIMES, "{}: {what}: {few:?}, {many:?}", entry.name);
    }
}

#[test]
fn a_face_that_goes_costs_as_much_whatever_other_flows_there_are() {
    compare("a face that comes, asks and goes", |scheme, others| {
        let mut node = Bench::new(scheme);
        let consumer = node.add_link();
        (0..others).for_each(|prefix| node.ask(consumer, prefix));
        shortest(|| {
            for _ in 0..10 {
                let face = node.add_link();
                node.ask(face, 0);
                node.remove(face);
            }
        })
    });
}

#[test]
fn a_prefix_that_is_forgotten_costs_as_much_whatever_other_links_there_are() {
    compare("a prefix that replaces another of its group", |scheme, others| {
        let mut node = Bench::new(scheme);
        let stranger = node.add_link();
        node.node.set_group(stranger, GroupId(1));
        for _ in 0..others {
            node.add_link();
        }
        let mut prefix = 0;
        let mut fresh = |count: usize| {
            for _ in 0..count {
                node.ask(stranger, prefix);
                prefix += 1;
            }
        };
        // A group has at most this many prefixes.
        fresh(256);
        shortest(|| fresh(10))
    });
}
