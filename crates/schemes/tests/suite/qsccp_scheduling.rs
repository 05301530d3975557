//! QSCCP's scheduler compared with the theory of its parts (section IV-C): weighted fair queueing between
//! classes, weighted deficit round robin between flows, token buckets, and strict priority above.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, VecDeque};

use weir_core::ids::PitId;
use weir_core::ids::PrefixId;
use weir_core::ids::{FaceId, GroupId};
use weir_core::name::{NameHasher, TYPE_GENERIC};
use weir_core::packet::{FlowKey, Kind, Packet, PacketPool};
use weir_core::random::Random;
use weir_core::seam::params::{Params, Value};
use weir_core::seam::{DequeueEvent, Drops, EnqueueEvent, FaceConfig, Next, Queue, QueueLimit, ReceiveEvent};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::ServiceClass::{self, Af1, Af2, Af3, Af4, Be, Cs6, Cs7, Ef};
use weir_packet::Signal;

const CAPACITY: u64 = 10_000_000;
/// η·B: there are no Interests in the other direction.
const TARGET: f64 = 0.99 * CAPACITY as f64;
/// The WDRR quantum and the largest Data, bits.
const QUANTUM: u64 = 16_000;
const LARGEST: u64 = 8 * 8800;

type Flow = (u32, ServiceClass, u64);

/// One face. Each of its flows requests Data of one size, bytes: `(prefix, class, size)`.
struct Face {
    queue: Box<dyn Queue>,
    pool: PacketPool,
    dropped: Drops,
    random: Random,
    now: Time,
    lifetime: Span,
    /// The number of Interests so far, each with its own PIT entry; and the entry of the one that left last.
    asked: u64,
    left: PitId,
    /// Returns the group of a prefix's flows.
    group_of: fn(u32) -> u16,
    /// The bits of Data requested by the Interests that left.
    served: BTreeMap<(ServiceClass, u32), u64>,
}

impl Face {
    fn new() -> Face {
        Face::with(&[])
    }

    fn with(given: &[(&str, Value)]) -> Face {
        let entry = weir_schemes::find("qsccp").unwrap();
        let given = given.iter().map(|(key, value)| (*key, value));
        let scheme = (entry.build)(&Params::resolve(entry.parameters, given).unwrap());
        let rate = Some(Rate::from_bps(CAPACITY));
        let limit = QueueLimit::Packets(20);
        let queue = scheme.queue(&FaceConfig { face: FaceId(0), send_rate: rate, receive_rate: rate, limit });
        let (pool, random) = (PacketPool::new(), Random::named(1, "face"));
        let (now, served) = (Time::from_nanos(1_000_000_000), BTreeMap::new());
        let (lifetime, asked, left) = (Span::from_secs(1000), 0, PitId::default());
        let (dropped, group_of) = (Drops::new(), (|_| 0) as fn(u32) -> u16);
        Face { queue, pool, dropped, random, now, lifetime, asked, left, group_of, served }
    }

    fn ask(&mut self, flow: Flow) {
        self.ask_too_much(flow);
        assert!(self.dropped.is_empty(), "the flow has room");
    }

    /// Enqueues an Interest, whether there is room or not.
    fn ask_too_much(&mut self, (prefix, class, size): Flow) {
        let id = self.pool.take();
        let packet = &mut self.pool[id];
        packet.flow = FlowKey { prefix: PrefixId(prefix), class, group: GroupId((self.group_of)(prefix)) };
        let hasher = NameHasher::new(1);
        packet.name.clear();
        packet.name.push(&hasher, TYPE_GENERIC, format!("p{prefix}").as_bytes()).unwrap();
        packet.pit = PitId::from_token(&(self.asked << 16).to_be_bytes()[2..]).unwrap();
        self.asked += 1;
        packet.nonce = prefix;
        packet.lifetime = self.lifetime;
        packet.net_len = 50;
        packet.header_mut().signals.set(&Signal::SERVICE_CLASS, class as u64);
        packet.header_mut().signals.set(&Signal::EXPECTED_SIZE, size);
        packet.queued_at = self.now;
        let (now, pool) = (self.now, &mut self.pool);
        let mut ev = EnqueueEvent {
            now,
            pool,
            dropped: &mut self.dropped,
            random: &mut self.random,
            keeps_prefix: false,
        };
        self.queue.enqueue(&mut ev, id);
    }

    /// Delivers a Data of a flow, so that its size is known.
    fn answer(&mut self, flow: Flow) {
        self.answer_to(flow, PitId::default());
    }

    fn answer_to(&mut self, flow: Flow, pit: PitId) {
        let mut packet = data(flow, pit);
        packet.flow.group = GroupId((self.group_of)(flow.0));
        self.receive(packet, flow.2);
    }

    fn receive(&mut self, mut packet: Packet, bytes: u64) {
        let (now, packet, random) = (self.now, &mut packet, &mut self.random);
        let wire_len = Bytes::new(bytes);
        self.queue.on_receive(&mut ReceiveEvent {
            now,
            packet,
            wire_len,
            rtt: None,
            departed: None,
            random,
            may_send: false,
        });
    }

    /// Returns the flow of the Interest that leaves now, with the size of its Data.
    fn next(&mut self) -> Result<Flow, Next> {
        let (now, pool) = (self.now, &mut self.pool);
        let mut ev =
            DequeueEvent { now, pool, dropped: &mut self.dropped, random: &mut self.random, note: None };
        match self.queue.dequeue(&mut ev) {
            Next::Packet(id) => {
                let packet = &self.pool[id];
                let size = packet.header().signals.value(&Signal::EXPECTED_SIZE).unwrap();
                let flow = (packet.nonce, packet.class(), size);
                *self.served.entry((flow.1, flow.0)).or_default() += 8 * size;
                self.left = packet.pit;
                self.pool.free(id);
                Ok(flow)
            }
            other => Err(other),
        }
    }

    /// Keeps every flow backlogged for this long.
    fn run(&mut self, flows: &[Flow], span: Span) {
        for &flow in flows {
            self.ask(flow);
            self.answer(flow);
            (0..9).for_each(|_| self.ask(flow));
        }
        let end = self.now + span;
        self.served.clear();
        while self.now < end {
            match self.next() {
                Ok(flow) => {
                    // Interests without a Data do not count.
                    self.answer_to(flow, self.left);
                    self.ask(flow);
                }
                Err(Next::At(at)) => {
                    assert!(
                        at > self.now,
                        "the queue asks for a time that is past: the link would ask again and again"
                    );
                    let deadline = self.queue.next_deadline();
                    self.now = at.min(deadline).min(end);
                    if deadline <= self.now {
                        self.queue.on_deadline(self.now);
                    }
                }
                Err(other) => panic!("{other:?} while flows are backlogged"),
            }
        }
    }

    fn class(&self, class: ServiceClass) -> f64 {
        self.served.iter().filter(|(key, _)| key.0 == class).map(|(_, bits)| *bits as f64).sum()
    }
}

fn data((prefix, class, _): Flow, pit: PitId) -> Packet {
    let flow = FlowKey { prefix: PrefixId(prefix), class, ..FlowKey::default() };
    let mut data = Packet::default();
    (data.kind, data.flow, data.pit) = (Kind::Data, flow, pit);
    data
}

fn near(measured: f64, expected: f64, tolerance: f64) -> bool {
    (measured / expected - 1.0).abs() <= tolerance
}

#[test]
fn backlogged_classes_are_served_in_the_ratio_of_their_weights_whatever_their_data_sizes() {
    let weights = [(Af4, 5.0), (Af3, 4.0), (Af2, 3.0), (Af1, 2.0), (Be, 1.0)];
    for sizes in [[1078, 1078, 1078, 1078, 1078], [200, 8800, 1078, 500, 3000], [8800, 100, 100, 100, 8800]] {
        let flows: Vec<Flow> = weights.iter().zip(sizes).map(|(w, size)| (0, w.0, size)).collect();
        let mut face = Face::new();
        face.run(&flows, Span::from_secs(100));
        let total: f64 = weights.iter().map(|w| face.class(w.0)).sum();
        assert!(near(total, TARGET * 100.0, 0.001), "{total}");
        for (class, weight) in weights {
            let share = face.class(class) / total;
            assert!(near(share, weight / 15.0, 0.01), "{sizes:?}: {class} has {share}");
        }
    }
}

#[test]
fn the_share_of_a_class_does_not_depend_on_how_many_flows_it_has() {
    let mut flows: Vec<Flow> = (0..15).map(|n| (n, Be, 1078)).collect();
    flows.extend([(0, Af2, 1078), (1, Af2, 8800)]);
    let mut face = Face::new();
    face.run(&flows, Span::from_secs(50));
    let ratio = face.class(Af2) / face.class(Be);
    assert!(near(ratio, 3.0, 0.01), "{ratio}");
}

#[test]
fn flows_of_a_class_differ_by_a_turn_at_most_whatever_their_data_sizes() {
    let flows: Vec<Flow> = [1078, 8800, 100, 4000, 1500]
        .into_iter()
        .enumerate()
        .map(|(n, size)| (n as u32, Af2, size))
        .collect();
    let mut face = Face::new();
    face.run(&flows, Span::from_secs(20));
    let served: Vec<u64> = face.served.values().copied().collect();
    let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
    // Deficit round robin: no flow is more than a quantum and a packet ahead of another.
    let bound = QUANTUM.max(LARGEST) + LARGEST;
    assert!(most - least <= bound, "{served:?} differ by {}", most - least);
}

#[test]
fn a_delay_sensitive_class_is_limited_to_its_share_and_its_bucket() {
    for (class, delta) in [(Cs7, 0.2), (Cs6, 0.2), (Ef, 0.3)] {
        let mut face = Face::new();
        face.run(&[(0, class, 1078), (1, class, 1078), (0, Be, 1078)], Span::from_secs(20));
        let (served, limit) = (face.class(class), delta * TARGET * 20.0);
        assert!(
            served >= 0.995 * limit && served <= limit + 160_000.0 + 8624.0,
            "{class}: {served} of {limit}"
        );
        assert!(near(face.class(Be), TARGET * 20.0 - served, 0.002), "the rest is not lost");
    }
}

#[test]
fn delay_sensitive_classes_are_served_in_strict_order_before_all_others() {
    let mut face = Face::new();
    for class in [Be, Af4, Ef, Cs6, Cs7] {
        (0..3).for_each(|_| face.ask((0, class, 1078)));
    }
    let mut order = Vec::new();
    while order.len() < 15 {
        match face.next() {
            Ok((_, class, _)) => order.push(class),
            Err(Next::At(at)) => face.now = at,
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(order[..9], [Cs7, Cs7, Cs7, Cs6, Cs6, Cs6, Ef, Ef, Ef]);
    assert!(order[9..].iter().all(|class| !class.is_delay_sensitive()));
}

#[test]
fn a_lone_interest_on_an_idle_link_leaves_at_once_whatever_its_class() {
    for class in ServiceClass::ALL {
        let mut face = Face::new();
        for _ in 0..3 {
            face.ask((0, class, 1078));
            assert_eq!(face.next(), Ok((0, class, 1078)));
            face.now += Span::from_millis(5);
        }
    }
}

#[test]
fn an_idle_class_saves_up_no_claim_to_be_made_good_later() {
    let mut face = Face::new();
    face.run(&[(0, Be, 1078)], Span::from_secs(5));
    let alone = face.class(Be);
    assert!(near(alone, 5.0 * TARGET, 0.002));
    // AF2 is new. It gets its three quarters, but no compensation for the past.
    face.run(&[(0, Af2, 1078)], Span::from_secs(5));
    let ratio = face.class(Af2) / face.class(Be);
    assert!(near(ratio, 3.0, 0.01), "{ratio}");
}

#[test]
fn a_flood_of_interests_from_the_other_side_blocks_no_class_for_longer_than_it_lasts() {
    let mut face = Face::new();
    let flows: Vec<Flow> = ServiceClass::ALL.into_iter().map(|class| (0, class, 1078)).collect();
    face.run(&flows, Span::from_secs(1));
    // Twice the capacity, for one second.
    for _ in 0..10 {
        face.receive(Packet::default(), CAPACITY / 8 / 5);
        face.run(&[], Span::from_millis(100));
    }
    face.run(&[], Span::from_secs(2));
    face.run(&[], Span::from_secs(10));
    for (class, delta) in [(Cs7, 0.2), (Cs6, 0.2), (Ef, 0.3)] {
        let served = face.class(class);
        assert!(near(served, delta * TARGET * 10.0, 0.01), "{class}: {served}");
    }
}

#[test]
fn flows_of_a_class_are_served_in_the_ratio_of_their_weights() {
    let mut face =
        Face::with(&[("flow_weights./p1", Value::Float(2.0)), ("flow_weights./p2", Value::Float(0.5))]);
    face.run(&[(0, Af2, 1078), (1, Af2, 1078), (2, Af2, 1078)], Span::from_secs(50));
    let served = |flow| face.served[&(Af2, flow)] as f64;
    assert!(near(served(1) / served(0), 2.0, 0.01) && near(served(2) / served(0), 0.5, 0.01));
}

#[test]
fn a_flow_with_a_limit_of_its_own_keeps_to_it_and_the_others_have_the_rest() {
    for class in [Ef, Af2] {
        let mut face = Face::with(&[("flow_limits./p1", Value::Text("200 kb/s".into()))]);
        face.run(&[(0, class, 1078), (1, class, 1078), (2, Be, 1078)], Span::from_secs(50));
        let (limited, limit) = (face.served[&(class, 1)] as f64, 200e3 * 50.0);
        // A bucket of 160 000 bits is full at the beginning.
        assert!(limited >= 0.99 * limit && limited <= limit + 160_000.0 + 8624.0, "{class}: {limited}");
        let all = face.class(class) + face.class(Be);
        assert!(near(all, TARGET * 50.0, 0.002), "{class}: {all}");
    }
}

/// The class has a head that waits for tokens of the class, and a flow that waits for its own. Nothing else is
/// backlogged, so that the queue has to say when the next Interest may leave.
#[test]
fn a_parked_flow_beside_a_head_that_waits_asks_for_no_time_that_is_past() {
    for class in [Cs7, Ef] {
        let mut face = Face::with(&[("flow_limits./p1", Value::Text("200 kb/s".into()))]);
        face.run(&[(0, class, 1078), (1, class, 1078)], Span::from_secs(5));
        let limit = 200e3 * 5.0;
        let limited = face.served[&(class, 1)] as f64;
        assert!(limited >= 0.97 * limit && limited <= limit + 160_000.0 + 8624.0, "{class}: {limited}");
    }
}

/// The object's segments are ten times as long as its metadata, and its producer is 10 ms away.
#[test]
fn what_left_too_fast_while_only_metadata_were_seen_does_not_wait_in_the_next_queue_for_long() {
    let flow = (0, Be, 8000);
    let mut face = Face::new();
    face.ask(flow);
    face.next().unwrap();
    face.answer((0, Be, 800));
    (0..50).for_each(|_| face.ask(flow));
    let (round_trip, takes) = (Span::from_millis(20), Rate::from_bps(CAPACITY).time_for_bits(8 * flow.2));
    let (begin, mut free_at, mut longest) = (face.now, face.now, Span::ZERO);
    let mut coming: VecDeque<(PitId, Time)> = VecDeque::new();
    while face.now < begin + Span::from_secs(2) {
        match face.next() {
            Ok(_) => {
                let at_the_link = face.now + round_trip;
                let wait = free_at.since(at_the_link);
                assert!(
                    face.now < begin + Span::from_secs(1) || wait < takes * 2,
                    "{} ms",
                    wait.as_millis_f64()
                );
                longest = longest.max(wait);
                free_at = free_at.max(at_the_link) + takes;
                coming.push_back((face.left, free_at));
                face.ask(flow);
            }
            Err(Next::At(at)) => {
                let data_at = coming.front().map_or(Time::NEVER, |(_, at)| *at);
                let deadline = face.queue.next_deadline();
                face.now = at.min(data_at).min(deadline);
                if deadline <= face.now {
                    face.queue.on_deadline(face.now);
                }
                if data_at <= face.now {
                    let (pit, _) = coming.pop_front().unwrap();
                    face.receive(data(flow, pit), flow.2);
                }
            }
            Err(other) => panic!("{other:?} while the flow is backlogged"),
        }
    }
    assert!(longest > Span::from_millis(50), "they did leave too fast: {} ms", longest.as_millis_f64());
    let served = face.class(Be);
    assert!(near(served, TARGET * 2.0, 0.02), "{served}");
}

#[test]
fn who_asks_for_more_than_its_own_limit_gets_that_though_most_of_it_waits_for_too_long() {
    let mut face = Face::with(&[("flow_limits./p0", Value::Text("100 kb/s".into()))]);
    let flow = (0, Be, 1000);
    face.ask(flow);
    face.answer(flow);
    face.lifetime = Span::from_secs(1);
    let end = face.now + Span::from_secs(60);
    while face.now < end {
        face.ask_too_much(flow);
        while face.next().is_ok() {
            face.answer_to(flow, face.left);
        }
        for dropped in std::mem::take(&mut face.dropped) {
            face.pool.free(dropped.packet);
        }
        face.now += Span::from_millis(10);
        if face.queue.next_deadline() <= face.now {
            face.queue.on_deadline(face.now);
        }
    }
    let served = face.class(Be);
    assert!(near(served, 100e3 * 60.0 + 160_000.0, 0.01), "{served}");
}

#[test]
fn a_limited_flow_alone_on_a_face_is_served_when_it_has_tokens() {
    let mut face = Face::with(&[("flow_limits./p0", Value::Text("1 Mb/s".into()))]);
    face.run(&[(0, Ef, 1078)], Span::from_secs(20));
    let served = face.class(Ef);
    assert!(near(served, 1e6 * 20.0 + 160_000.0, 0.005), "{served}");
}

#[test]
fn the_flows_of_a_group_have_together_what_a_flow_has_and_each_an_equal_part_of_it() {
    for class in [Ef, Be] {
        // Flows that always ask for more become greedy.
        let mut face = Face::with(&[("phi", Value::Float(1.0))]);
        face.group_of = |prefix| if prefix == 0 { 0 } else { 1 };
        let flows: Vec<Flow> = (0..9).map(|n| (n, class, if n < 4 { 1078 } else { 3000 })).collect();
        face.run(&flows, Span::from_secs(50));
        let all = face.class(class);
        assert!(
            near(face.served[&(class, 0)] as f64, all / 2.0, 0.01),
            "{class}: {:?} of {all}",
            face.served
        );
        for prefix in 1..9 {
            let served = face.served[&(class, prefix)] as f64;
            assert!(near(served, all / 16.0, 0.02), "{class}: {prefix} has {served} of {all}");
        }
    }
}

#[test]
fn a_flow_in_a_group_keeps_to_its_own_limit_and_does_not_hold_up_the_others() {
    let mut face = Face::with(&[("flow_limits./p1", Value::Text("200 kb/s".into()))]);
    face.group_of = |prefix| if prefix < 3 { 7 } else { 0 };
    face.run(&[(1, Af2, 1078), (2, Af2, 1078), (3, Af2, 1078)], Span::from_secs(50));
    let served = |prefix| face.served[&(Af2, prefix)] as f64;
    assert!(near(served(1), 200e3 * 50.0 + 160_000.0, 0.02), "{}", served(1));
    assert!(near(served(1) + served(2), TARGET * 25.0, 0.01) && near(served(3), TARGET * 25.0, 0.01));
    let mut alone = Face::with(&[("flow_limits./p1", Value::Text("200 kb/s".into()))]);
    alone.group_of = |_| 7;
    alone.run(&[(1, Af2, 1078)], Span::from_secs(50));
    assert!(near(alone.class(Af2), 200e3 * 50.0 + 160_000.0, 0.02));
}

#[test]
fn a_group_with_flows_without_end_takes_no_more_room_than_two_flows_and_refuses_no_other() {
    let mut face = Face::new();
    face.group_of = |prefix| if prefix < 10_000 { 3 } else { 0 };
    for prefix in 0..10_000 {
        face.ask_too_much((prefix, Be, 1078));
    }
    let waiting = face.queue.backlog().packets;
    assert_eq!((waiting, face.dropped.len()), (400, 9600), "twice the room of 200");
    face.dropped.clear();
    (0..100).for_each(|_| face.ask((10_000, Be, 1078)));
}

/// Returns the rate that the face writes into a Data of this flow that comes now, bit/s.
fn told(face: &mut Face, flow: Flow) -> f64 {
    let mut packet = data(flow, PitId::default());
    packet.flow.group = GroupId((face.group_of)(flow.0));
    // With a TargetRate the Data has the flow's size, to within some bytes.
    packet.net_len = flow.2 as u32 - 12;
    let (now, random, wire_len) = (face.now, &mut face.random, Bytes::new(flow.2));
    face.queue.on_receive(&mut ReceiveEvent {
        now,
        packet: &mut packet,
        wire_len,
        rtt: None,
        departed: None,
        random,
        may_send: false,
    });
    let mut signals = weir_schemes::find("qsccp").unwrap().signals.iter();
    let target_rate = signals.find(|signal| signal.name == "TargetRate").unwrap();
    packet.header().signals.value(target_rate).unwrap() as f64
}

/// Advances the time by this many milliseconds, with an Interest of the flow in each.
fn pass(face: &mut Face, milliseconds: u32, flow: Option<Flow>) {
    for _ in 0..milliseconds {
        flow.into_iter().for_each(|flow| face.ask(flow));
        while face.next().is_ok() {}
        face.now += Span::from_millis(1);
        if face.queue.next_deadline() <= face.now {
            face.queue.on_deadline(face.now);
        }
    }
}

#[test]
fn who_has_stopped_leaves_its_part_to_the_next_one_and_has_it_again_when_it_returns() {
    for group_of in [(|_| 0) as fn(u32) -> u16, |_| 1, |prefix| prefix as u16 + 1] {
        let mut face = Face::new();
        face.group_of = group_of;
        let mut first_told = None;
        // Ten flows come in turn, twice, all within the time for which state is kept.
        for prefix in (0..10).chain(0..10) {
            let flow = (prefix, Be, 1230);
            face.ask(flow);
            let told_now = told(&mut face, flow);
            let told_first = *first_told.get_or_insert(told_now);
            assert!(near(told_now, told_first, 0.005), "{prefix}: {told_now}, the first {told_first}");
            pass(&mut face, 210, Some(flow));
            // No Interest waits any more.
            pass(&mut face, 2, None);
            let grown = told(&mut face, flow);
            assert!(near(grown, TARGET, 0.005), "{prefix}: {grown} after two periods");
            pass(&mut face, 198, None);
        }
    }
}

#[test]
fn who_returns_beside_another_has_half_at_once_and_the_other_is_told_so_at_the_next_period() {
    for group_of in [(|_| 0) as fn(u32) -> u16, |_| 1, |prefix| prefix as u16 + 1] {
        let mut face = Face::new();
        face.group_of = group_of;
        let [here, away] = [(0, Be, 1230), (1, Be, 1230)];
        face.ask(away);
        pass(&mut face, 300, Some(away));
        pass(&mut face, 1000, Some(here));
        pass(&mut face, 2, None);
        assert!(near(told(&mut face, here), TARGET, 0.005), "{}", told(&mut face, here));
        (0..2).for_each(|_| face.ask(away));
        while face.next().is_ok() {}
        pass(&mut face, 2, None);
        let at_once = told(&mut face, away);
        assert!(near(at_once, TARGET / 2.0, 0.01), "{at_once}");
        follow(&mut face, 1000, &[here, away]);
        for flow in [here, away] {
            let told = told(&mut face, flow);
            assert!(near(told, TARGET / 2.0, 0.05), "{flow:?}: {told}");
        }
    }
}

/// Advances the time, with Interests of flows at the rates that they are told.
fn follow(face: &mut Face, milliseconds: u32, flows: &[Flow]) {
    let mut asked = vec![0.0; flows.len()];
    for _ in 0..milliseconds {
        for (&flow, asked) in flows.iter().zip(&mut asked) {
            *asked += told(face, flow) / 1000.0;
            while *asked > 0.0 {
                *asked -= 8.0 * flow.2 as f64;
                face.ask(flow);
            }
        }
        pass(face, 1, None);
    }
}

#[test]
fn who_asks_once_or_twice_and_stops_leaves_the_others_their_rates() {
    for group_of in [(|_| 0) as fn(u32) -> u16, |_| 1, |prefix| prefix as u16 + 1] {
        for interests in [1, 2] {
            let mut face = Face::new();
            face.group_of = group_of;
            let staying = (0, Be, 1230);
            face.ask(staying);
            follow(&mut face, 300, &[staying]);
            let mut sum = 0.0;
            for prefix in 1..80 {
                for _ in 0..interests {
                    face.ask((prefix, Be, 1230));
                    follow(&mut face, 2, &[staying]);
                }
                follow(&mut face, 50, &[staying]);
                // Until then each new flow may still use its share.
                if prefix >= 40 {
                    sum += told(&mut face, staying);
                }
            }
            let mean = sum / 40.0;
            assert!(mean > 0.8 * TARGET, "{interests}: {mean}");
            // Flows that stay get their shares soon nevertheless.
            let new = (100, Be, 1230);
            face.ask(new);
            follow(&mut face, 500, &[staying, new]);
            let told = told(&mut face, new);
            assert!(near(told, TARGET / 2.0, 0.1), "{interests}: {told}");
        }
    }
}
