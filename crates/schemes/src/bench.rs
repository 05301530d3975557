//! A node with one strategy, for the tests of strategies. A test drives it by hand, and inspects the
//! strategy.

use weir_core::ids::FaceId;
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig};
use weir_core::packet::{Kind, PacketId, PacketPool};
use weir_core::producer::Producer;
use weir_core::random::Random;
use weir_core::seam::{Queue, Strategy};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::{LpHeader, NackReason, Name};

use crate::watched::Watched;

pub const HASHER: NameHasher = NameHasher::new(1);
/// The lifetime of every Interest.
pub const LIFETIME: Span = Span::from_secs(2);

pub fn name(uri: &str) -> HashedName {
    let name: Name = uri.parse().unwrap();
    HashedName::parse(&HASHER, name.value()).unwrap()
}

/// A node, and the test's own data. Packets that it sends upstream wait until the test answers, refuses or
/// loses them.
pub struct Bench<S, Own> {
    pub now: Time,
    pub pool: PacketPool,
    pub forwarder: Node,
    pub strategy: Watched<S>,
    /// The Interests that left, and their faces.
    pub upstream: Vec<(FaceId, PacketId)>,
    /// The congestion marks of other packets that left.
    pub downstream: Vec<u64>,
    /// The faces of these packets, and their headers.
    pub headers: Vec<(FaceId, LpHeader)>,
    nonce: u32,
    pub own: Own,
}

impl<S: Strategy + 'static, Own> Bench<S, Own> {
    /// Returns a node without faces.
    pub fn of(strategy: S, own: Own) -> Self {
        let strategy = Watched::new(strategy);
        let config = NodeConfig::new(Box::new(strategy.clone()), HASHER, Random::named(1, "node"));
        Bench {
            now: Time::from_nanos(1),
            pool: PacketPool::new(),
            forwarder: Node::new(config),
            strategy,
            upstream: Vec::new(),
            downstream: Vec::new(),
            headers: Vec::new(),
            nonce: 0,
            own,
        }
    }

    pub fn add_link(&mut self, queue: Box<dyn Queue>, rate: Rate) {
        let link = Link::new(queue, Some(rate), Random::named(1, "link"));
        self.forwarder.add_link(Time::ZERO, link);
    }

    pub fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.forwarder.handle(self.now, input, &mut self.pool, &mut actions);
        self.carry_out(actions);
    }

    pub fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Transmit { face, packet, .. } | Action::Deliver { face, packet }
                    if self.pool[packet].is_interest() =>
                {
                    self.upstream.push((face, packet));
                }
                Action::Transmit { face, packet, .. } => {
                    self.downstream.push(self.mark(packet));
                    self.headers.push((face, *self.pool[packet].header()));
                    self.pool.free(packet);
                }
                Action::Deliver { packet, .. } | Action::Drop { packet, .. } => self.pool.free(packet),
            }
        }
    }

    /// Returns a packet's congestion mark.
    pub fn mark(&self, packet: PacketId) -> u64 {
        self.pool[packet].header().congestion_mark
    }

    /// Returns an Interest that has not arrived yet.
    pub fn interest_of(&mut self, uri: &str) -> PacketId {
        let id = self.pool.take();
        self.nonce += 1;
        let interest = &mut self.pool[id];
        interest.kind = Kind::Interest;
        interest.name = name(uri);
        (interest.nonce, interest.lifetime, interest.net_len) = (self.nonce, LIFETIME, 60);
        id
    }

    /// Answers an Interest that left, with this mark.
    pub fn answer_with(&mut self, (face, packet): (FaceId, PacketId), mark: u64) {
        let producer = Producer { payload: Bytes::new(100), freshness: Span::ZERO, signature: 32 };
        producer.answer(&mut self.pool[packet]);
        self.pool[packet].header_mut().congestion_mark = mark;
        self.handle(Input::Packet { face, packet });
    }

    /// An Interest that left comes back.
    pub fn refuse_for(&mut self, (face, packet): (FaceId, PacketId), reason: NackReason) {
        self.pool[packet].make_nack(reason);
        self.handle(Input::Packet { face, packet });
    }

    /// Time passes.
    pub fn later(&mut self, by: Span) {
        let end = self.now + by;
        while self.forwarder.next_deadline() <= end {
            self.now = self.now.max(self.forwarder.next_deadline());
            self.handle(Input::Deadline);
        }
        self.now = end;
    }
}
