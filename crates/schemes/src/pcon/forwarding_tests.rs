use super::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use weir_core::forwarder::{Action, Forwarder, Input, TableLimits};
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Kind, PacketId, PacketPool};
use weir_core::params::{Params, Value};
use weir_core::producer::Producer;
use weir_core::queue::DropTail;
use weir_core::scheme::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit};
use weir_core::units::{Bytes, Rate};
use weir_packet::Name;

fn hops(faces: &[u32]) -> Vec<NextHop> {
    faces.iter().map(|&face| NextHop { face: FaceId(face), cost: u64::from(face) }).collect()
}

fn parts(percentages: &Percentages) -> Vec<f64> {
    percentages.hops.iter().map(|(_, part)| (part * 1e6).round() / 1e6).collect()
}

#[test]
fn what_moves_goes_to_the_others_evenly_and_is_no_more_than_there_is() {
    let mut percentages = Percentages::default();
    percentages.learn(&hops(&[1, 2, 3]));
    assert_eq!(parts(&percentages), [1.0, 0.0, 0.0]);
    percentages.move_from(FaceId(1), 0.02 * percentages.part(FaceId(1)));
    assert_eq!(parts(&percentages), [0.98, 0.01, 0.01]);
    percentages.move_from(FaceId(3), 0.02);
    assert_eq!(parts(&percentages), [0.985, 0.015, 0.0], "no more than there is");
    percentages.move_from(FaceId(9), 0.5);
    assert_eq!(parts(&percentages), [0.985, 0.015, 0.0], "not one of them");
}

#[test]
fn one_next_hop_keeps_everything() {
    let mut percentages = Percentages::default();
    percentages.learn(&hops(&[1]));
    percentages.move_from(FaceId(1), 0.5);
    assert_eq!(parts(&percentages), [1.0]);
}

#[test]
fn next_hops_are_drawn_by_their_parts_among_those_that_can_be_had() {
    let mut percentages = Percentages::default();
    percentages.learn(&hops(&[1, 2, 3]));
    percentages.move_from(FaceId(1), 0.6);
    let mut random = Random::named(1, "pcon");
    let mut count = |among: &[u32], face: u32| {
        let among = hops(among);
        (0..10_000).filter(|_| percentages.choose(&among, &mut random) == Some(FaceId(face))).count()
    };
    assert!((3_800..4_200).contains(&count(&[1, 2, 3], 1)));
    assert!((4_800..5_200).contains(&count(&[2, 3], 3)));
    assert_eq!(count(&[7], 7), 10_000, "one without a part is better than none");
}

#[test]
fn the_cheapest_begins_with_everything_though_the_first_interest_came_from_it() {
    let mut percentages = Percentages::default();
    percentages.learn(&hops(&[2, 3]));
    percentages.learn(&hops(&[1, 3]));
    assert_eq!((percentages.part(FaceId(1)), percentages.part(FaceId(2))), (1.0, 0.0));
    percentages.learn(&hops(&[4]));
    assert_eq!(percentages.part(FaceId(1)), 1.0, "a dearer one");
    percentages.move_from(FaceId(1), 0.3);
    percentages.learn(&hops(&[0]));
    assert_eq!(percentages.part(FaceId(0)), 0.0, "too late: marks have moved something");
}

#[test]
fn what_a_next_hop_had_that_is_gone_the_others_share() {
    let mut percentages = Percentages::default();
    percentages.learn(&hops(&[1, 2, 3]));
    percentages.move_from(FaceId(1), 0.4);
    percentages.forget(FaceId(2));
    assert_eq!(parts(&percentages), [0.7, 0.3]);
    percentages.forget(FaceId(1));
    assert_eq!(parts(&percentages), [1.0]);
    percentages.forget(FaceId(3));
    percentages.learn(&hops(&[5, 6]));
    assert_eq!(parts(&percentages), [1.0, 0.0], "begins anew");
}

// -------------------------------------------------------------------------------------------------
// On a node

const HASHER: NameHasher = NameHasher::new(1);
const DOWN: u32 = 0;
/// Three next hops, the cheapest first.
const UP: core::ops::Range<u32> = 1..4;
const LIFETIME: Span = Span::from_secs(2);

/// A strategy that a test can look into while a node has it.
struct Shared(Rc<RefCell<Forwarding>>);

impl Strategy for Shared {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.0.borrow_mut().on_interest(ev)
    }
    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.0.borrow_mut().on_data(ev);
    }
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.0.borrow_mut().on_nack(ev)
    }
    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        self.0.borrow_mut().on_expired(ev);
    }
    fn on_face(&mut self, face: FaceId, up: bool, now: Time) {
        self.0.borrow_mut().on_face(face, up, now);
    }
    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        self.0.borrow_mut().on_prefix_removed(prefix);
    }
}

/// A queue that marks what leaves if the test wants it to, and holds one packet.
struct Marks {
    inner: DropTail,
    wanted: Rc<Cell<bool>>,
}

impl Queue for Marks {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.inner.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = self.inner.dequeue(ev);
        if let Next::Packet(id) = next {
            let header = ev.pool[id].header_mut();
            header.congestion_mark = header.congestion_mark.max(u64::from(self.wanted.get()));
        }
        next
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.inner.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
}

struct Node {
    now: Time,
    pool: PacketPool,
    forwarder: Forwarder,
    strategy: Rc<RefCell<Forwarding>>,
    marks: Rc<Cell<bool>>,
    /// Interests that left, with their marks.
    upstream: Vec<(FaceId, PacketId, u64)>,
    /// Marks of the Data that left.
    downstream: Vec<u64>,
    application: FaceId,
    nonce: u32,
}

fn name(uri: &str) -> HashedName {
    let name: Name = uri.parse().unwrap();
    HashedName::parse(&HASHER, name.value()).unwrap()
}

impl Node {
    fn new(set: &[(&str, Value)]) -> Node {
        let params =
            Params::resolve(super::super::ENTRY.parameters, set.iter().map(|(k, v)| (*k, v))).unwrap();
        let strategy = Rc::new(RefCell::new(Forwarding::new(Settings::new(&params))));
        let (random, marks) = (Random::named(1, "node"), Rc::new(Cell::new(false)));
        let limits = TableLimits::default();
        let mut forwarder = Forwarder::new(Box::new(Shared(strategy.clone())), &limits, HASHER, random);
        for _ in DOWN..UP.end {
            let queue = Marks { inner: DropTail::new(QueueLimit::Packets(1)), wanted: marks.clone() };
            let link = Link::new(Box::new(queue), Some(Rate::from_mbps(1)), Random::named(1, "link"));
            forwarder.add_link(Time::ZERO, link);
        }
        let application = forwarder.add_application(Time::ZERO);
        for face in UP {
            forwarder.add_route(&name("/a"), FaceId(face), u64::from(face));
        }
        forwarder.add_route(&name("/local"), application, 0);
        forwarder.add_route(&name("/local"), FaceId(UP.start), 1);
        Node {
            now: Time::from_nanos(1),
            pool: PacketPool::new(),
            forwarder,
            strategy,
            marks,
            upstream: Vec::new(),
            downstream: Vec::new(),
            application,
            nonce: 0,
        }
    }

    fn handle(&mut self, input: Input) {
        let mut actions = Vec::new();
        self.forwarder.handle(self.now, input, &mut self.pool, &mut actions);
        for action in actions {
            match action {
                Action::Transmit { face, packet, .. } | Action::Deliver { face, packet }
                    if self.pool[packet].is_interest() =>
                {
                    self.upstream.push((face, packet, self.pool[packet].header().congestion_mark));
                }
                Action::Transmit { packet, .. } => {
                    self.downstream.push(self.pool[packet].header().congestion_mark);
                    self.pool.free(packet);
                }
                Action::Deliver { packet, .. } | Action::Drop { packet, .. } => self.pool.free(packet),
            }
        }
    }

    /// An Interest comes, with this mark.
    fn interest(&mut self, uri: &str, mark: u64) {
        let id = self.pool.take();
        self.nonce += 1;
        let interest = &mut self.pool[id];
        interest.kind = Kind::Interest;
        interest.name = name(uri);
        (interest.nonce, interest.lifetime, interest.net_len) = (self.nonce, LIFETIME, 60);
        interest.header_mut().congestion_mark = mark;
        self.handle(Input::Packet { face: FaceId(DOWN), packet: id });
    }

    /// The oldest Interest that left is answered, with this mark; that of the Data that leaves.
    fn answer(&mut self, mark: u64) -> u64 {
        let (face, packet, _) = self.upstream.remove(0);
        let producer = Producer { payload: Bytes::new(100), freshness: Span::ZERO };
        producer.answer(&mut self.pool[packet]);
        self.pool[packet].header_mut().congestion_mark = mark;
        self.handle(Input::Packet { face, packet });
        self.later(Span::from_millis(10));
        self.downstream.pop().unwrap()
    }

    fn refuse(&mut self, reason: NackReason) {
        let (face, packet, _) = self.upstream.remove(0);
        self.pool[packet].make_nack(reason);
        self.handle(Input::Packet { face, packet });
    }

    fn later(&mut self, by: Span) {
        let end = self.now + by;
        while self.forwarder.next_deadline() <= end {
            self.now = self.now.max(self.forwarder.next_deadline());
            self.handle(Input::Deadline);
        }
        self.now = end;
    }

    /// Parts of the next hops of /a.
    fn parts(&self) -> Vec<f64> {
        let prefix = self.forwarder.fib().lookup(&name("/a")).unwrap().0 as usize;
        parts(&self.strategy.borrow().prefixes[prefix])
    }
}

fn number(value: f64) -> Value {
    Value::Float(value)
}

/// A node without probes, whose draws are told by what it moved.
fn node(set: &[(&str, Value)]) -> Node {
    let set: Vec<(&str, Value)> = [("probing", number(0.0))].into_iter().chain(set.iter().cloned()).collect();
    Node::new(&set)
}

#[test]
fn a_mark_that_comes_goes_on_downstream_and_moves_a_fiftieth_of_the_next_hops_part() {
    let mut node = node(&[]);
    node.interest("/a/1", 0);
    assert_eq!(node.answer(0), 0);
    assert_eq!(node.parts(), [1.0, 0.0, 0.0]);
    node.interest("/a/2", 0);
    assert_eq!(node.answer(1), 1);
    assert_eq!(node.parts(), [0.98, 0.01, 0.01]);
}

#[test]
fn a_mark_of_this_nodes_queue_on_an_interest_comes_back_on_its_data_and_moves_nothing_here() {
    for (reverse, mark) in [(true, 1), (false, 0)] {
        let mut node = node(&[("reverse_marks", Value::Bool(reverse))]);
        node.marks.set(true);
        node.interest("/a/1", 0);
        node.marks.set(false);
        assert_eq!(node.upstream[0].2, 1, "the Interest has it");
        assert_eq!(node.answer(0), mark);
        assert_eq!(node.parts(), [1.0, 0.0, 0.0]);
        node.interest("/a/2", 0);
        assert_eq!(node.answer(0), 0);
    }
}

#[test]
fn the_mark_on_an_interest_that_comes_is_of_the_node_before() {
    let mut node = node(&[]);
    node.interest("/a/1", 1);
    assert_eq!(node.upstream[0].2, 0);
    assert_eq!(node.answer(0), 0);
}

#[test]
fn marks_of_an_application_here_move_nothing() {
    let mut node = node(&[]);
    node.interest("/local/1", 0);
    assert_eq!(node.upstream[0].0, node.application);
    assert_eq!(node.answer(1), 1);
    let prefix = node.forwarder.fib().lookup(&name("/local")).unwrap().0 as usize;
    assert_eq!(parts(&node.strategy.borrow().prefixes[prefix]), [1.0, 0.0]);
}

#[test]
fn a_nack_for_congestion_moves_as_much_as_a_mark_and_one_in_110_ms_counts() {
    let mut node = node(&[("change_per_mark", number(0.5))]);
    node.interest("/a/1", 0);
    node.refuse(NackReason::Congestion);
    assert_eq!(node.parts(), [0.5, 0.25, 0.25]);
    assert_eq!(node.upstream[0].0, FaceId(2), "another next hop gets it");
    node.refuse(NackReason::Congestion);
    assert_eq!(node.parts(), [0.5, 0.25, 0.25], "too soon");
    node.later(Span::from_millis(110));
    node.refuse(NackReason::Congestion);
    assert_eq!(node.parts(), [0.5625, 0.3125, 0.125], "half of a quarter");
    node.later(Span::from_millis(110));
    node.interest("/a/2", 0);
    node.refuse(NackReason::NoRoute);
    assert_eq!(node.parts(), [0.5625, 0.3125, 0.125], "another reason");
}

#[test]
fn a_timeout_moves_a_part_of_everything() {
    let mut node = node(&[("change_per_mark", number(0.5))]);
    node.interest("/a/1", 0);
    node.later(LIFETIME * 2);
    assert_eq!(node.parts(), [0.5, 0.25, 0.25]);
    node.upstream.clear();
    for n in 2.. {
        node.interest(&format!("/a/{n}"), 0);
        if node.upstream[0].0 == FaceId(2) {
            break;
        }
        node.answer(0);
    }
    node.later(LIFETIME * 2);
    assert_eq!(node.parts(), [0.625, 0.0, 0.375], "no more than there is");
}

#[test]
fn what_this_nodes_own_queue_dropped_expires_like_any_other() {
    let mut node = node(&[("change_per_mark", number(0.1))]);
    // One leaves, one waits, the queue has no place for the third.
    (0..3).for_each(|n| node.interest(&format!("/a/{n}"), 0));
    node.later(Span::from_millis(10));
    assert_eq!(node.upstream.len(), 2);
    node.answer(0);
    node.answer(0);
    node.later(LIFETIME);
    assert_eq!(node.parts(), [0.9, 0.05, 0.05]);
}

#[test]
fn neither_timeouts_nor_nacks_need_move_traffic() {
    let mut node = node(&[("adapt_to_losses", Value::Bool(false))]);
    node.interest("/a/1", 0);
    node.refuse(NackReason::Congestion);
    node.later(LIFETIME * 2);
    assert_eq!(node.parts(), [1.0, 0.0, 0.0]);
}

#[test]
fn a_probe_goes_to_every_next_hop() {
    let mut node = Node::new(&[("probing", number(1.0))]);
    node.interest("/a/1", 0);
    let mut faces: Vec<u32> = node.upstream.iter().map(|(face, ..)| face.0).collect();
    faces.sort_unstable();
    assert_eq!(faces, [1, 2, 3]);
    let mut node = self::node(&[]);
    node.interest("/a/1", 0);
    assert_eq!(node.upstream.len(), 1);
}

#[test]
fn a_next_hop_whose_face_goes_down_leaves_its_part() {
    let mut node = node(&[]);
    node.interest("/a/1", 0);
    node.answer(1);
    node.handle(Input::FaceDown(FaceId(1)));
    assert_eq!(node.parts(), [0.5, 0.5]);
    node.handle(Input::FaceUp(FaceId(1)));
    node.interest("/a/2", 0);
    assert_eq!(node.parts(), [0.5, 0.5, 0.0], "and has to wait for marks of the others");
}

/// As the QSCCP authors' build and NFD have it.
#[test]
fn in_the_variants_a_mark_moves_a_tenth_and_nothing_else_does() {
    for variant in ["qsccp", "nfd"] {
        let mut node = Node::new(&[("variant", Value::Text(variant.to_owned()))]);
        node.marks.set(true);
        node.interest("/a/1", 0);
        node.marks.set(false);
        assert_eq!(node.answer(0), 0, "an Interest's mark does not come back");
        node.interest("/a/2", 0);
        node.answer(1);
        assert_eq!(node.parts(), [0.9, 0.05, 0.05]);
        node.interest("/a/3", 0);
        node.refuse(NackReason::Congestion);
        node.later(LIFETIME * 2);
        assert_eq!(node.parts(), [0.9, 0.05, 0.05]);
    }
}
