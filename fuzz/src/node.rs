//! Harness for a node of `weir-core`: inputs from bytes, also hostile ones, on a node whose strategy and queues use all
//! their options. It panics if a property is violated.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::ids::PitId;
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher, TYPE_GENERIC};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig, TableLimits};
use weir_core::packet::{Kind, PacketId, PacketList, PacketPool};
use weir_core::random::Random;
use weir_core::seam::BestRoute;
use weir_core::seam::DropTail;
use weir_core::seam::{
    Backlog, ClearEvent, Decision, DequeueEvent, DropReason, Dropped, EnqueueEvent, InterestEvent, NackEvent,
    Next, Queue, QueueLimit, Strategy, StrategyDeadline,
};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::{NackReason, PitToken};

use super::input::Choices;

const HASHER: NameHasher = NameHasher::new(3);
const PIT_BYTES: u64 = 10_000;
const FACES: usize = 5;

/// A strategy that decides at random.
struct Erratic {
    held: Vec<(PitId, FaceId)>,
    release_at: Time,
}

impl Strategy for Erratic {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        let Some(hop) = ev.next_hops.first() else { return Decision::Nack(NackReason::NoRoute) };
        match ev.random.below(8) {
            0 => {
                self.held.push((ev.pit, hop.face));
                self.release_at = self.release_at.min(ev.now + Span::from_millis(5));
                Decision::Hold
            }
            1 => Decision::Suppress,
            2 => Decision::Nack(NackReason::Congestion),
            3 if ev.next_hops.len() > 1 => Decision::Probe(hop.face, ev.next_hops[1].face),
            3 | 4 => Decision::Multicast(ev.next_hops.iter().map(|hop| hop.face).collect()),
            5 => Decision::Multicast(SmallVec::new()),
            _ => Decision::Forward(hop.face),
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        match ev.next_hops {
            [] => Decision::Nack(ev.reason),
            hops if ev.random.chance(0.5) => Decision::Multicast(hops.iter().map(|hop| hop.face).collect()),
            _ if ev.random.chance(0.5) => Decision::Hold,
            hops => Decision::Forward(hops[0].face),
        }
    }

    fn next_deadline(&self) -> Time {
        self.release_at
    }

    fn on_deadline(&mut self, ev: &mut StrategyDeadline<'_>) {
        // Some are released twice, and some have no entry any more.
        ev.releases.extend(self.held.iter().copied());
        if ev.random.chance(0.5) {
            self.held.clear();
        }
        self.held.truncate(20);
        self.release_at = if self.held.is_empty() { Time::NEVER } else { ev.now + Span::from_millis(3) };
    }
}

/// A queue that drops, with and without Nacks, at either end and at any time; it also marks packets and delays them.
struct Whimsical {
    packets: PacketList,
    bytes: u64,
    ready: Time,
}

impl Whimsical {
    fn take(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let packet = self.packets.pop_front(pool)?;
        self.bytes -= pool[packet].wire_len();
        Some(packet)
    }
}

impl Queue for Whimsical {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.bytes += ev.pool[packet].wire_len();
        self.packets.push_back(ev.pool, packet);
        let nack = ev.random.chance(0.5).then_some(NackReason::Congestion);
        if (self.packets.len() > 4 || ev.random.chance(0.1))
            && let Some(packet) = self.take(ev.pool)
        {
            ev.dropped.push(Dropped { packet, reason: DropReason::PushedOut, nack });
        }
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if self.packets.is_empty() {
            return Next::Empty;
        }
        if ev.now < self.ready {
            return Next::At(self.ready);
        }
        if ev.random.chance(0.3) {
            self.ready = ev.now + Span::from_micros(u64::from(ev.random.below(3000)));
            return Next::At(self.ready);
        }
        while ev.random.chance(0.3) {
            let Some(packet) = self.take(ev.pool) else { break };
            let nack = ev.random.chance(0.5).then_some(NackReason::Congestion);
            ev.dropped.push(Dropped { packet, reason: DropReason::Expired, nack });
        }
        let Some(packet) = self.take(ev.pool) else { return Next::Empty };
        ev.pool[packet].header_mut().congestion_mark = u64::from(ev.random.below(2));
        Next::Packet(packet)
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        while let Some(packet) = self.take(ev.pool) {
            ev.cleared.push(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }
}

struct Bench {
    node: Node,
    pool: PacketPool,
    now: Time,
    actions: Vec<Action>,
    faces: Vec<FaceId>,
    /// Names, nonces and tokens of sent Interests, for answers.
    asked: Vec<(FaceId, HashedName, u32, PitToken)>,
    /// The time when each face's link is free again; never, if the medium is shared and has a packet.
    busy_until: Vec<Time>,
}

fn name(parts: &[u8]) -> HashedName {
    let mut name = HashedName::new();
    for part in parts {
        // A few short components always fit.
        let _ = name.push(&HASHER, TYPE_GENERIC, &[*part]);
    }
    name
}

impl Bench {
    fn new(choices: &mut Choices<'_>) -> Bench {
        let is_wild = choices.below(2) == 1;
        let seed = u64::from(choices.byte());
        let strategy: Box<dyn Strategy> = match is_wild {
            true => Box::new(Erratic { held: Vec::new(), release_at: Time::NEVER }),
            false => Box::new(BestRoute::default()),
        };
        let limits = TableLimits { pit_bytes: PIT_BYTES, dead_nonces: 20, ..TableLimits::default() };
        let next_hop_timeout = if is_wild { Span::from_millis(1) } else { Span::ZERO };
        let config = NodeConfig::new(strategy, HASHER, Random::named(seed, "node"));
        let mut node = Node::new(NodeConfig { limits, next_hop_timeout, ..config });
        let mut faces = vec![node.add_application(Time::ZERO), node.add_application(Time::ZERO)];
        for n in 2..FACES {
            let queue: Box<dyn Queue> = match (is_wild, n) {
                (true, 2 | 3) => {
                    Box::new(Whimsical { packets: PacketList::default(), bytes: 0, ready: Time::ZERO })
                }
                (_, 4) => Box::new(DropTail::new(QueueLimit::Bytes(Bytes::new(3000)))),
                _ => Box::new(DropTail::new(QueueLimit::Packets(3))),
            };
            let rate = choices.of(&[None, Some(Rate::from_mbps(1)), Some(Rate::from_bps(50_000))]);
            let random = Random::named(seed + n as u64, "face");
            let is_shared = n == 3 && choices.below(2) == 1;
            faces.push(node.add_link(
                Time::ZERO,
                match is_shared {
                    true => Link::shared(queue, random),
                    false => Link::new(queue, rate, random),
                },
            ));
        }
        for (parts, face, cost) in
            [(&[0][..], 2, 1), (&[0], 3, 2), (&[0, 1], 1, 0), (&[1], 4, 1), (&[1], 2, 5), (&[], 3, 9)]
        {
            node.add_route(&name(parts), faces[face], cost);
        }
        let stored = choices.of(&[0, 3]);
        let busy_until = vec![Time::ZERO; FACES];
        let (mut pool, actions) = (PacketPool::new(), Vec::new());
        node.set_content_store_limits(stored, 5000, &mut pool);
        Bench { node, pool, now: Time::from_nanos(1), actions, faces, asked: Vec::new(), busy_until }
    }

    fn face(&self, choices: &mut Choices<'_>) -> FaceId {
        self.faces[choices.below(FACES)]
    }

    fn packet(&mut self, choices: &mut Choices<'_>) -> PacketId {
        let parts: Vec<u8> = (0..choices.of(&[2, 1, 3, 0])).map(|_| choices.of(&[0, 1, 2])).collect();
        let id = self.pool.take();
        let packet = &mut self.pool[id];
        packet.name = name(&parts);
        packet.nonce = choices.below(6) as u32;
        packet.lifetime = choices.of(&[
            Span::from_millis(20),
            Span::ZERO,
            Span::from_secs(4),
            Span::from_nanos(1),
            Span::from_secs(20),
            Span::MAX,
        ]);
        packet.hop_limit = choices.of(&[None, Some(255), Some(1), Some(0)]);
        packet.can_be_prefix = choices.below(4) == 1;
        packet.must_be_fresh = choices.below(4) == 1;
        packet.freshness = choices.of(&[Span::ZERO, Span::from_millis(30), Span::MAX]);
        packet.content_len = choices.of(&[100, 0, u32::MAX]);
        packet.net_len = choices.of(&[60, 1100, 1, 8800, 1 << 20]);
        packet.header_mut().congestion_mark = choices.of(&[0, 0, 1, u64::MAX]);
        for typ in [900, 904, 908] {
            if choices.below(4) == 1 {
                packet.header_mut().signals.set_type(typ, choices.number());
            }
        }
        if choices.below(3) == 1 {
            packet.header_mut().pit_token = PitToken::from_u48(choices.number() & 0xFFFF_FFFF_FFFF);
        }
        id
    }

    /// A packet about a sent Interest; `None` if there is none yet.
    fn reply(&mut self, choices: &mut Choices<'_>) -> Option<(FaceId, PacketId)> {
        let index = choices.below(self.asked.len().clamp(1, 256));
        let (face, name, nonce, token) = self.asked.get(index).cloned()?;
        let id = self.packet(choices);
        let packet = &mut self.pool[id];
        packet.name.assign(&name);
        packet.nonce = nonce;
        packet.header_mut().pit_token = token;
        Some((face, id))
    }

    fn handle(&mut self, input: Input) {
        self.node.handle(self.now, input, &mut self.pool, &mut self.actions);
        let mut actions = core::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            let packet = match action {
                Action::Transmit { face, packet, until, .. } => {
                    let busy = &mut self.busy_until[face.0 as usize];
                    assert!(*busy <= self.now && self.now <= until, "a link sends one packet at a time");
                    *busy = until;
                    packet
                }
                Action::Deliver { packet, .. } | Action::Drop { packet, .. } => packet,
            };
            let sent = match action {
                Action::Transmit { face, .. } | Action::Deliver { face, .. } => Some(face),
                Action::Drop { .. } => None,
            };
            let seen = &self.pool[packet];
            if let (Some(face), true) = (sent, seen.is_interest()) {
                let asked = (face, seen.name.clone(), seen.nonce, seen.header().pit_token);
                if self.asked.len() < 16 {
                    self.asked.push(asked);
                } else {
                    let place = asked.2 as usize % 16;
                    self.asked[place] = asked;
                }
            }
            self.pool.free(packet);
        }
        self.actions = actions;
        self.check();
    }

    /// Checks that every packet that came in and did not go out is queued, stored or held.
    fn check(&self) {
        let queued: usize = self.faces.iter().map(|f| self.node.backlog(*f).packets as usize).sum();
        let held = self.node.pit().iter().filter(|(_, entry)| entry.held.is_some()).count();
        let stored = self.node.content_store().len();
        assert_eq!(self.pool.in_use(), queued + held + stored, "packets neither leak nor double");
        assert!(self.node.pit().held() <= PIT_BYTES);
        assert_eq!(self.node.pit().len(), self.node.pit().iter().count());
    }

    /// Reports the packets on a shared medium as sent. Returns whether there were any.
    fn release(&mut self) -> bool {
        let Some(face) = self.busy_until.iter().position(|busy| *busy == Time::NEVER) else { return false };
        self.busy_until[face] = self.now;
        self.handle(Input::Sent(FaceId(face as u32)));
        true
    }

    fn advance(&mut self, to: Time) {
        self.now = self.now.max(to);
        self.handle(Input::Deadline);
        self.release();
        assert!(self.node.next_deadline() > self.now, "what is due is done");
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=5 => {
                let (face, id) = (self.face(choices), self.packet(choices));
                self.handle(Input::Packet { face, packet: id });
            }
            kind @ 6..=9 => {
                if let Some((face, id)) = self.reply(choices) {
                    self.pool[id].kind = if kind < 9 { Kind::Data } else { Kind::Nack };
                    self.pool[id].header_mut().set_nack(choices.of(&[Some(NackReason::Congestion), None]));
                    self.handle(Input::Packet { face, packet: id });
                }
            }
            kind @ 10..=11 => {
                let (face, id) = (self.face(choices), self.packet(choices));
                self.pool[id].kind = if kind == 10 { Kind::Data } else { Kind::Nack };
                self.handle(Input::Packet { face, packet: id });
            }
            12 => {
                let at = self.node.next_deadline();
                if at != Time::NEVER {
                    self.advance(at);
                }
            }
            13 => {
                let spans = [0, 1, 1_000, 1_000_000, 30_000_000, 1_000_000_000, 60_000_000_000];
                self.advance(self.now + Span::from_nanos(choices.of(&spans)));
            }
            14 => self.handle(Input::FaceDown(self.face(choices))),
            _ => self.handle(Input::FaceUp(self.face(choices))),
        }
    }

    /// Advances the time until nothing is pending or queued.
    fn run_dry(&mut self) {
        for _ in 0..100_000 {
            if self.release() {
                continue;
            }
            match self.node.next_deadline() {
                Time::NEVER => {
                    assert!(self.node.pit().is_empty(), "every pending Interest ends");
                    assert_eq!(self.pool.in_use(), self.node.content_store().len());
                    return;
                }
                at => self.advance(at),
            }
        }
        panic!("a node that nothing reaches comes to rest");
    }
}

/// Runs a node with a list of inputs.
pub fn node(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let mut bench = Bench::new(&mut choices);
    while !choices.is_over() {
        bench.step(&mut choices);
    }
    bench.run_dry();
}
