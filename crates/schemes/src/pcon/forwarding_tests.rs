use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::node::Input;
use weir_core::node::testing::Told;
use weir_core::packet::PacketId;
use weir_core::seam::DropTail;
use weir_core::seam::params::{Params, Value};
use weir_core::seam::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit};
use weir_core::units::Rate;

use crate::bench::{Bench, LIFETIME, name};

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

const DOWN: u32 = 0;
/// Three next hops, the cheapest first.
const UP: core::ops::Range<u32> = 1..4;

/// A queue that holds one packet, and marks leaving packets if the test switches it on.
struct Marks {
    inner: DropTail,
    wanted: Arc<AtomicBool>,
}

impl Queue for Marks {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.inner.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = self.inner.dequeue(ev);
        if let Next::Packet(id) = next {
            let header = ev.pool[id].header_mut();
            header.congestion_mark =
                header.congestion_mark.max(u64::from(self.wanted.load(Ordering::Relaxed)));
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

/// The test's handles on a node.
struct Own {
    /// Whether the node's queues mark.
    marks: Arc<AtomicBool>,
    application: FaceId,
}

type Node = Bench<Forwarding, Own>;

impl Node {
    fn new(set: &[(&str, Value)]) -> Node {
        let params =
            Params::resolve(super::super::ENTRY.parameters, set.iter().map(|(k, v)| (*k, v))).unwrap();
        let marks = Arc::new(AtomicBool::new(false));
        let own = Own { marks: marks.clone(), application: FaceId(UP.end) };
        let mut node = Bench::of(Forwarding::new(Settings::new(&params)), own);
        for _ in DOWN..UP.end {
            let queue = Marks { inner: DropTail::new(QueueLimit::Packets(1)), wanted: marks.clone() };
            node.add_link(Box::new(queue), Rate::from_mbps(1));
        }
        let application = node.forwarder.add_application(Time::ZERO);
        assert_eq!(application, node.own.application);
        for face in UP {
            node.forwarder.add_route(&name("/a"), FaceId(face), u64::from(face));
        }
        node.forwarder.add_route(&name("/local"), application, 0);
        node.forwarder.add_route(&name("/local"), FaceId(UP.start), 1);
        node
    }

    /// Delivers an Interest with this mark.
    fn interest(&mut self, uri: &str, mark: u64) {
        let packet = self.interest_of(uri);
        self.pool[packet].header_mut().congestion_mark = mark;
        self.handle(Input::Packet { face: FaceId(DOWN), packet });
    }

    /// Answers the oldest Interest that left, with this mark. Returns the mark of the Data that leaves.
    fn answer(&mut self, mark: u64) -> u64 {
        let oldest = self.upstream.remove(0);
        self.answer_with(oldest, mark);
        self.later(Span::from_millis(10));
        self.downstream.pop().unwrap()
    }

    fn refuse(&mut self, reason: NackReason) {
        let oldest = self.upstream.remove(0);
        self.refuse_for(oldest, reason);
    }

    /// Returns the parts of the next hops of /a.
    fn parts(&self) -> Vec<f64> {
        let prefix = self.forwarder.fib().lookup(&name("/a")).unwrap().0 as usize;
        parts(&self.strategy.look().prefixes[prefix])
    }
}

fn number(value: f64) -> Value {
    Value::Float(value)
}

/// Returns a node without probes, so that its draws depend only on the parts.
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
        node.own.marks.store(true, Ordering::Relaxed);
        node.interest("/a/1", 0);
        node.own.marks.store(false, Ordering::Relaxed);
        assert_eq!(node.mark(node.upstream[0].1), 1, "the Interest has it");
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
    assert_eq!(node.mark(node.upstream[0].1), 0);
    assert_eq!(node.answer(0), 0);
}

#[test]
fn marks_of_an_application_here_move_nothing() {
    let mut node = node(&[]);
    node.interest("/local/1", 0);
    assert_eq!(node.upstream[0].0, node.own.application);
    assert_eq!(node.answer(1), 1);
    let prefix = node.forwarder.fib().lookup(&name("/local")).unwrap().0 as usize;
    assert_eq!(parts(&node.strategy.look().prefixes[prefix]), [1.0, 0.0]);
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
    // One leaves, one waits, and the queue has no room for the third.
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

/// As in the QSCCP authors' build and in NFD.
#[test]
fn in_the_variants_a_mark_moves_a_tenth_and_nothing_else_does() {
    for variant in ["qsccp", "nfd"] {
        let mut node = Node::new(&[("variant", Value::Text(variant.to_owned()))]);
        node.own.marks.store(true, Ordering::Relaxed);
        node.interest("/a/1", 0);
        node.own.marks.store(false, Ordering::Relaxed);
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
