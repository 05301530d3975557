//! Harnesses for every scheme of `weir-schemes`: operations from bytes, also with hostile values, on its queues, its
//! flow controls, and nodes that run it. They panic if a property is violated.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::ids::FaceId;
use weir_core::ids::{GroupId, PrefixId};
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher, TYPE_GENERIC};
use weir_core::node::testing::Told;
use weir_core::node::{Action, Input, Node, NodeConfig, TableLimits};
use weir_core::packet::{FlowKey, Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::responders::Bases;
use weir_core::seam::params::Params;
use weir_core::seam::{
    DataReceived, Departed, DequeueEvent, Drops, EnqueueEvent, FaceConfig, FlowConfig, FlowControl,
    FlowDeadline, Gauge, LossEvent, Next, Permit, PermitEvent, PrefixRemoved, Queue, QueueLimit,
    ReceiveEvent, Scheme, SendEvent,
};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::{NackReason, ServiceClass, Signals};
use weir_schemes::SCHEMES;

use super::input::Choices;

/// Maximum time until the next permit, because a consumer must notice improved conditions.
const LONGEST_WAIT: Span = Span::from_secs(3600);

fn schemes() -> impl Iterator<Item = (&'static str, Box<dyn Scheme>)> {
    SCHEMES.iter().map(|entry| {
        let params = Params::resolve(entry.parameters, []).expect("defaults are right");
        (entry.name, (entry.build)(&params))
    })
}

fn write_signals(choices: &mut Choices<'_>, signals: &mut Signals) {
    for (signal, _) in weir_schemes::registry::signals() {
        if choices.below(3) == 1 {
            signals.set(&signal, choices.number());
        }
    }
}

struct QueueBench<'a> {
    scheme: &'a str,
    queue: Box<dyn Queue>,
    pool: PacketPool,
    dropped: Drops,
    random: Random,
    now: Time,
    /// The packets in the queue, with the queue's length when they arrived.
    inside: BTreeMap<PacketId, u64>,
    /// The prefixes for which the queue said that it keeps state.
    kept: BTreeSet<PrefixId>,
    /// The latest Interest that the queue noted.
    noted: Option<Departed>,
}

impl QueueBench<'_> {
    fn check(&mut self) {
        for dropped in core::mem::take(&mut self.dropped) {
            assert!(self.inside.remove(&dropped.packet).is_some(), "{}: dropped once", self.scheme);
            self.pool.free(dropped.packet);
        }
        let backlog = self.queue.backlog();
        assert_eq!(backlog.packets as usize, self.inside.len(), "{}: packets waiting", self.scheme);
        assert_eq!(backlog.bytes, self.inside.values().sum::<u64>(), "{}: bytes waiting", self.scheme);
        assert_eq!(self.pool.in_use(), self.inside.len());
        assert!(self.queue.next_deadline() > self.now, "{}: what is due is done", self.scheme);
    }

    fn fill(&mut self, choices: &mut Choices<'_>, packet: &mut Packet) {
        packet.kind = choices.of(&[Kind::Interest, Kind::Interest, Kind::Interest, Kind::Data, Kind::Nack]);
        packet.flow = FlowKey {
            prefix: PrefixId(choices.below(6) as u32),
            class: ServiceClass::ALL[choices.below(8)],
            group: GroupId(choices.below(3) as u16),
        };
        packet.lifetime =
            choices.of(&[Span::from_secs(4), Span::ZERO, Span::from_millis(50), Span::from_secs(20)]);
        packet.net_len = choices.of(&[60, 1100, 1, 8800, 300]);
        if packet.kind == Kind::Nack {
            packet.header_mut().set_nack(Some(NackReason::Congestion));
        }
        if choices.below(3) == 1 {
            packet.header_mut().congestion_mark = choices.number();
        }
        write_signals(choices, &mut packet.header_mut().signals);
    }

    fn enqueue(&mut self, choices: &mut Choices<'_>) {
        let id = self.pool.take();
        let mut packet = core::mem::take(&mut self.pool[id]);
        self.fill(choices, &mut packet);
        packet.queued_at = self.now;
        self.inside.insert(id, packet.wire_len());
        self.pool[id] = packet;
        let (now, pool) = (self.now, &mut self.pool);
        let mut ev = EnqueueEvent {
            now,
            pool,
            dropped: &mut self.dropped,
            random: &mut self.random,
            keeps_prefix: false,
        };
        let prefix = ev.pool[id].flow.prefix;
        self.queue.enqueue(&mut ev, id);
        if ev.keeps_prefix {
            self.kept.insert(prefix);
        }
    }

    /// Takes the queue's next result and checks it: a packet that was in the queue, or a time in the future.
    fn dequeue(&mut self) -> Next {
        let (now, pool) = (self.now, &mut self.pool);
        let mut ev =
            DequeueEvent { now, pool, dropped: &mut self.dropped, random: &mut self.random, note: None };
        let next = self.queue.dequeue(&mut ev);
        self.noted = ev.note.map(|note| Departed { left: now, note }).or(self.noted);
        match next {
            Next::Packet(id) => {
                assert!(self.inside.remove(&id).is_some(), "{}: given once", self.scheme);
                self.pool.free(id);
            }
            Next::At(time) => assert!(time > self.now, "{}: waits for what is to come", self.scheme),
            Next::Empty => {}
        }
        self.check();
        let waiting = self.queue.backlog().packets;
        assert!(next != Next::Empty || waiting == 0, "{}: {waiting} packets are forgotten", self.scheme);
        next
    }

    fn advance(&mut self, to: Time) {
        self.now = self.now.max(to);
        if self.queue.next_deadline() <= self.now {
            self.queue.on_deadline(self.now);
        }
        self.check();
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=5 => self.enqueue(choices),
            6..=8 => drop(self.dequeue()),
            9 | 10 => {
                let mut packet = Packet::default();
                self.fill(choices, &mut packet);
                // Bytes of a flow that is unknown to this face or has no FIB entry.
                if choices.below(8) == 1 {
                    packet.flow.prefix = PrefixId(u32::MAX);
                }
                let wire_len = Bytes::new(choices.of(&[packet.wire_len(), 0, 1 << 20]));
                let (now, random) = (self.now, &mut self.random);
                let rtt = choices.of(&[None, Some(Span::ZERO), Some(Span::from_millis(50))]);
                let departed = rtt.and(self.noted.take());
                self.queue.on_receive(&mut ReceiveEvent {
                    now,
                    packet: &mut packet,
                    wire_len,
                    rtt,
                    departed,
                    random,
                    may_send: false,
                });
            }
            11 => {
                let prefix = PrefixId(choices.below(6) as u32);
                let (now, pool) = (self.now, &mut self.pool);
                let (dropped, before) = (&mut self.dropped, self.queue.backlog());
                self.queue.on_prefix_removed(&mut PrefixRemoved { now, prefix, pool, dropped });
                let is_same = self.dropped.is_empty() && self.queue.backlog() == before;
                assert!(self.kept.remove(&prefix) || is_same, "{}: it kept {prefix:?}", self.scheme);
            }
            12 if self.queue.next_deadline() != Time::NEVER => self.advance(self.queue.next_deadline()),
            _ => {
                let spans = [1_000, 1_000_000, 0, 100_000_000, 1_000_000_000, 100_000_000_000];
                self.advance(self.now + Span::from_nanos(choices.of(&spans)));
            }
        }
        self.check();
    }

    fn run_dry(&mut self) {
        for _ in 0..100_000 {
            match self.dequeue() {
                Next::Packet(_) => {}
                Next::At(time) => self.advance(time),
                Next::Empty => return,
            }
        }
        panic!("{}: a queue that nothing enters runs dry", self.scheme);
    }
}

/// Runs every scheme's queue with a list of operations. Packets in equal packets out, dropped or waiting, and the time
/// passes.
pub fn queue(bytes: &[u8]) {
    for (name, scheme) in schemes() {
        let mut choices = Choices::new(bytes);
        let mut rate = || {
            choices.of(&[
                Some(Rate::from_mbps(10)),
                None,
                Some(Rate::from_bps(1_000)),
                Some(Rate::from_mbps(400_000)),
                Some(Rate::from_bps(u64::MAX)),
            ])
        };
        let (send_rate, receive_rate) = (rate(), rate());
        let limit = choices.of(&[QueueLimit::Packets(5), QueueLimit::Bytes(Bytes::new(9000))]);
        let config = FaceConfig { face: FaceId(0), send_rate, receive_rate, limit };
        let mut bench = QueueBench {
            scheme: name,
            queue: scheme.queue(&config),
            pool: PacketPool::new(),
            dropped: Drops::new(),
            random: Random::named(u64::from(choices.byte()), "queue"),
            now: Time::from_nanos(1),
            inside: BTreeMap::new(),
            kept: BTreeSet::new(),
            noted: None,
        };
        bench.check();
        while !choices.is_over() {
            bench.step(&mut choices);
        }
        bench.run_dry();
    }
}

/// Runs every scheme's flow control with a list of events. Its gauge is finite, and with nothing pending it soon
/// permits the next Interest.
pub fn flow_control(bytes: &[u8]) {
    for (name, scheme) in schemes() {
        let mut choices = Choices::new(bytes);
        let expected_size = Bytes::new(choices.of(&[1100, 0, 1, 8800]));
        let lifetime = choices.of(&[Span::from_secs(4), Span::from_millis(1), Span::from_secs(600)]);
        let class = ServiceClass::ALL[choices.below(8)];
        let mut control = scheme.flow_control(&FlowConfig { class, expected_size, lifetime });
        let mut random = Random::named(1, "flow");
        let (mut now, mut pending, mut next) = (Time::from_nanos(1), 0_u32, 0_u64);
        let mut tags: Vec<u32> = Vec::new();
        while !choices.is_over() {
            let spans = [0, 1_000, 1_000_000, 50_000_000, 1_000_000_000, 10_000_000_000];
            now += Span::from_nanos(choices.of(&spans));
            if control.next_deadline() <= now {
                control.on_deadline(&mut FlowDeadline { now, pending, lost: 0..0 });
                assert!(control.next_deadline() > now, "{name}: what is due is done");
            }
            let segment = next.saturating_sub(choices.number() % 100);
            let tag = tags.get(segment as usize).copied().unwrap_or(u32::MAX);
            let size = Bytes::new(choices.of(&[1100, 0, 1, 8800]));
            match choices.below(6) {
                0 | 1 => {
                    let mut interest = Packet::default();
                    tags.push(control.on_send(&mut SendEvent {
                        now,
                        interest: &mut interest,
                        segment: next,
                        retransmission: choices.below(4) == 1,
                        is_permitted: !next.is_multiple_of(4),
                        pending,
                        expected_size: size,
                        random: &mut random,
                    }));
                    (pending, next) = (pending + 1, next + 1);
                }
                2 | 3 => {
                    let mut data = Packet::default();
                    data.kind = Kind::Data;
                    data.header_mut().congestion_mark = choices.number();
                    write_signals(&mut choices, &mut data.header_mut().signals);
                    pending = pending.saturating_sub(1);
                    let rtt = choices.of(&[
                        Some(Span::from_millis(50)),
                        None,
                        Some(Span::ZERO),
                        Some(Span::from_secs(600)),
                    ]);
                    control.on_data(&mut DataReceived {
                        now,
                        data: &data,
                        segment,
                        rtt,
                        srtt: rtt,
                        bases: rtt.filter(|_| tag % 2 == 0).map(Bases::of_one),
                        tag,
                        was_pending: true,
                        pending,
                        highest_sent: next,
                        oldest_missing: next.saturating_sub(choices.number() % 100),
                        lost: 0..0,
                        expected_size: size,
                        random: &mut random,
                    });
                }
                kind => {
                    pending = pending.saturating_sub(1);
                    let random = &mut random;
                    let mut ev = LossEvent { now, segment, tag, pending, highest_sent: next, random };
                    match kind {
                        4 => control.on_timeout(&mut ev),
                        _ => control.on_nack(&mut ev),
                    }
                }
            }
            check_control(name, &mut *control, now, pending, size, &mut random);
        }
    }
}

fn check_control(
    name: &str,
    control: &mut dyn FlowControl,
    now: Time,
    pending: u32,
    expected_size: Bytes,
    random: &mut Random,
) {
    match control.gauge() {
        Gauge::Window(window) => {
            assert!(window.is_finite() && window >= 0.0, "{name}: window {window}")
        }
        Gauge::Rate(_) => {}
    }
    for rto in [Span::ZERO, Span::from_millis(300), Span::from_secs(200)] {
        let timeout = control.timeout(rto, Span::from_secs(4));
        assert!(timeout <= Span::from_secs(4), "{name}: nothing is waited for beyond its lifetime");
    }
    let permit = control.permit(&mut PermitEvent { now, pending, expected_size, random });
    match permit {
        Permit::Now => {}
        Permit::At(time) => assert!(time <= now + LONGEST_WAIT, "{name}: permits at {time}, now is {now}"),
        Permit::Blocked => assert!(pending > 0, "{name}: blocked with nothing pending"),
    }
}

const HASHER: NameHasher = NameHasher::new(5);
/// Number of a node's faces: two applications, and links.
const FACES: usize = 5;

/// A node that runs a scheme.
struct NodeBench<'a> {
    scheme: &'a str,
    node: Node,
    pool: PacketPool,
    now: Time,
    faces: Vec<FaceId>,
    /// Interests that were sent and are not answered yet.
    asked: Vec<(FaceId, PacketId)>,
}

fn name(parts: &[u8]) -> HashedName {
    let mut name = HashedName::new();
    for part in parts {
        // A few short components always fit.
        let _ = name.push(&HASHER, TYPE_GENERIC, &[*part]);
    }
    name
}

impl<'a> NodeBench<'a> {
    fn new(name_of: &'a str, scheme: &dyn Scheme, choices: &mut Choices<'_>) -> NodeBench<'a> {
        let limits = TableLimits { pit_bytes: 16_000, dead_nonces: 20, ..TableLimits::default() };
        let random = |n| Random::named(n, "node");
        let flow_prefix = scheme.flow_prefix();
        let config = NodeConfig::new(scheme.strategy(), HASHER, random(1));
        let mut node = Node::new(NodeConfig { limits, flow_prefix, ..config });
        let mut faces = vec![node.add_application(Time::ZERO), node.add_application(Time::ZERO)];
        for n in 2..FACES as u64 {
            let rate = choices.of(&[Some(Rate::from_mbps(10)), None, Some(Rate::from_bps(50_000))]);
            let (face, limit) = (node.next_face(Time::ZERO), QueueLimit::Packets(3));
            let queue = scheme.queue(&FaceConfig { face, send_rate: rate, receive_rate: rate, limit });
            faces.push(node.add_link(Time::ZERO, Link::new(queue, rate, random(n))));
        }
        for (parts, face, cost) in [(&[0][..], 2, 1), (&[0], 3, 2), (&[0], 4, 2), (&[1], 1, 0), (&[1], 4, 1)]
        {
            node.add_route(&name(parts), faces[face], cost);
        }
        let (mut pool, now) = (PacketPool::new(), Time::from_nanos(1));
        node.set_content_store_limits(choices.of(&[0, 3]), 50_000, &mut pool);
        NodeBench { scheme: name_of, node, pool, now, faces, asked: Vec::new() }
    }

    fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.node.handle(self.now, input, &mut self.pool, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { face, packet, .. } | Action::Deliver { face, packet }
                    if self.pool[packet].is_interest() && self.asked.len() < 30 =>
                {
                    self.asked.push((face, packet));
                }
                Action::Transmit { packet, .. }
                | Action::Deliver { packet, .. }
                | Action::Drop { packet, .. } => {
                    self.pool.free(packet);
                }
            }
        }
        let queued: usize = self.faces.iter().map(|face| self.node.backlog(*face).packets as usize).sum();
        let held = self.node.pit().iter().filter(|(_, entry)| entry.held.is_some()).count();
        let known = queued + held + self.node.content_store().len() + self.asked.len();
        assert_eq!(self.pool.in_use(), known, "{}: packets neither leak nor double", self.scheme);
    }

    /// Gives a packet a random length and random header fields. Its name and kind stay.
    fn fill(&mut self, choices: &mut Choices<'_>, id: PacketId) {
        let packet = &mut self.pool[id];
        packet.net_len = choices.of(&[1100, 60, 8800, 300]);
        packet.header_mut().congestion_mark = choices.of(&[0, 0, 1, u64::MAX]);
        write_signals(choices, &mut packet.header_mut().signals);
    }

    fn interest(&mut self, choices: &mut Choices<'_>) {
        let packet = self.pool.take();
        let interest = &mut self.pool[packet];
        interest.name = name(&[choices.of(&[0, 1, 2]), choices.of(&[0, 1, 2, 3, 4, 5])]);
        interest.nonce = u32::from(choices.byte());
        interest.lifetime = choices.of(&[Span::from_secs(4), Span::from_millis(20), Span::ZERO]);
        self.fill(choices, packet);
        let face = self.faces[choices.below(FACES)];
        self.handle(Input::Packet { face, packet });
    }

    /// Answers a sent Interest, or returns it as a Nack.
    fn answer(&mut self, choices: &mut Choices<'_>, kind: Kind) {
        if self.asked.is_empty() {
            return;
        }
        let (mut face, packet) = self.asked.swap_remove(choices.below(self.asked.len()));
        if choices.below(8) == 1 {
            face = self.faces[choices.below(FACES)];
        }
        self.pool[packet].kind = kind;
        self.fill(choices, packet);
        if kind == Kind::Nack {
            let reason = choices.of(&[NackReason::Congestion, NackReason::NoRoute]);
            self.pool[packet].header_mut().set_nack(Some(reason));
        }
        self.handle(Input::Packet { face, packet });
    }

    fn advance(&mut self, to: Time) {
        self.now = self.now.max(to);
        self.handle(Input::Deadline);
        assert!(self.node.next_deadline() > self.now, "{}: what is due is done", self.scheme);
    }

    fn step(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=5 => self.interest(choices),
            6..=9 => self.answer(choices, Kind::Data),
            10 => self.answer(choices, Kind::Nack),
            11 if self.node.next_deadline() != Time::NEVER => self.advance(self.node.next_deadline()),
            12 => self.handle(Input::FaceDown(self.faces[choices.below(FACES)])),
            13 => self.handle(Input::FaceUp(self.faces[choices.below(FACES)])),
            _ => {
                let spans = [1_000_000, 0, 30_000_000, 1_000_000_000, 10_000_000_000];
                self.advance(self.now + Span::from_nanos(choices.of(&spans)));
            }
        }
    }

    /// After the last input, every entry ends and every queue becomes empty.
    fn run_dry(&mut self) {
        for (_, packet) in core::mem::take(&mut self.asked) {
            self.pool.free(packet);
        }
        let end = self.now + Span::from_secs(60);
        for _ in 0..100_000 {
            let is_idle = self.node.pit().is_empty()
                && self.faces.iter().all(|face| self.node.backlog(*face).packets == 0);
            match self.node.next_deadline() {
                at if at > end && is_idle => return,
                Time::NEVER => break,
                at => self.advance(at),
            }
            for (_, packet) in core::mem::take(&mut self.asked) {
                self.pool.free(packet);
            }
        }
        panic!("{}: a node that nothing reaches comes to rest", self.scheme);
    }
}

/// Runs every scheme in a node with inputs from neighbours that write anything into its header fields. Packets neither
/// leak nor duplicate, and every pending Interest ends.
pub fn node(bytes: &[u8]) {
    for (name, scheme) in schemes() {
        let mut choices = Choices::new(bytes);
        let mut bench = NodeBench::new(name, &*scheme, &mut choices);
        while !choices.is_over() {
            bench.step(&mut choices);
        }
        bench.run_dry();
    }
}
