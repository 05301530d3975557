use super::*;
use proptest::prelude::*;
use weir_core::ids::StrategyId;
use weir_core::node::Input;
use weir_core::node::testing::Told;
use weir_core::packet::PacketId;
use weir_core::seam::BestRoute;
use weir_core::seam::DropTail;
use weir_core::seam::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit, Strategy};
use weir_core::units::{Rate, Span};

use crate::bench::{Bench, LIFETIME, name};

const DOWN: u32 = 2;
const UP: u32 = 3;

/// A drop-tail queue that returns what it drops.
struct Refusing(DropTail);

impl Queue for Refusing {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.0.enqueue(ev, packet);
        ev.dropped.iter_mut().for_each(|dropped| dropped.nack = Some(NackReason::Congestion));
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.0.dequeue(ev)
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.0.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

/// A node with some downstreams and upstreams, and optionally another strategy.
type Node = Bench<RequestForwarding, Option<StrategyId>>;

impl Node {
    fn new(choice: Choice) -> Node {
        let mut node = Bench::of(RequestForwarding::new(choice), None);
        for face in 0..DOWN + UP {
            // The queue holds two packets on a slow link. Some Interests do not leave, and the node is told
            // of some of these.
            let packets = DropTail::new(QueueLimit::Packets(2));
            let queue: Box<dyn Queue> =
                if face == DOWN { Box::new(Refusing(packets)) } else { Box::new(packets) };
            node.add_link(queue, Rate::from_bps(100_000));
        }
        for prefix in ["/a", "/b"] {
            for face in DOWN..DOWN + UP {
                node.forwarder.add_route(&name(prefix), FaceId(face), 0);
            }
        }
        node.own = node.forwarder.add_strategy(Box::new(BestRoute::default()));
        node
    }

    fn interest(&mut self, from: u32, uri: &str, hop_limit: Option<u8>) {
        let packet = self.interest_of(uri);
        self.pool[packet].hop_limit = hop_limit;
        self.handle(Input::Packet { face: FaceId(from), packet });
    }

    fn take_upstream(&mut self, which: usize) -> Option<(FaceId, PacketId)> {
        let count = self.upstream.len();
        (count > 0).then(|| self.upstream.swap_remove(which % count))
    }

    fn answer(&mut self, which: usize) {
        if let Some(interest) = self.take_upstream(which) {
            self.answer_with(interest, 0);
        }
    }

    fn refuse(&mut self, which: usize) {
        if let Some(interest) = self.take_upstream(which) {
            self.refuse_for(interest, NackReason::Congestion);
        }
    }

    fn lose(&mut self, which: usize) {
        if let Some((_, packet)) = self.take_upstream(which) {
            self.pool.free(packet);
        }
    }

    fn pending(&self) -> Vec<u32> {
        let strategy = self.strategy.look();
        strategy.pending.rows.iter().flat_map(|row| &row.loads).map(|load| load.pending).collect()
    }

    fn pending_at(&self, uri: &str, face: u32) -> u32 {
        let prefix = PrefixId(self.forwarder.fib().lookup(&name(uri)).unwrap().0);
        self.strategy.look().pending.load(prefix, FaceId(face)).map_or(0, |load| load.pending)
    }

    /// Chooses another strategy for a prefix, or reverts that.
    fn choose(&mut self, uri: &str, other: bool) {
        match self.own.filter(|_| other) {
            Some(other) => self.forwarder.choose_strategy(&name(uri), other),
            None => self.forwarder.unchoose_strategy(&name(uri)),
        }
    }

    fn remove_face(&mut self, face: FaceId) {
        let mut actions = Vec::new();
        self.forwarder.remove_face(self.now, face, &mut self.pool, &mut actions);
        self.carry_out(actions);
    }

    fn step(&mut self, op: u8, a: u8, b: u8) {
        let which = usize::from(a);
        match op % 11 {
            0..=3 => {
                let hop_limit = if b.is_multiple_of(16) { Some(1) } else { None };
                let prefix = if a.is_multiple_of(2) { "a" } else { "b" };
                self.interest(u32::from(b) % DOWN, &format!("/{prefix}/x/{}", a % 12), hop_limit);
            }
            4 => self.answer(which),
            5 => self.refuse(which),
            6 => self.lose(which),
            7 => self.later(Span::from_millis(u64::from(a) * 4)),
            8 => {
                let face = FaceId(DOWN + u32::from(a) % UP);
                self.handle(if b.is_multiple_of(2) { Input::FaceDown(face) } else { Input::FaceUp(face) });
            }
            9 if b.is_multiple_of(64) => self.remove_face(FaceId(DOWN + 1 + u32::from(a) % 2)),
            9 => self.choose("/a", b.is_multiple_of(2)),
            // The prefix of names changes or is removed while they are pending.
            _ => match b % 3 {
                0 => {
                    self.forwarder.add_route(&name("/a/x"), FaceId(DOWN), 0);
                }
                1 => {
                    let mut actions = Vec::new();
                    let (now, pool) = (self.now, &mut self.pool);
                    self.forwarder.remove_route(now, &name("/a/x"), FaceId(DOWN), pool, &mut actions);
                }
                _ => self.strategy.look().on_prefix_removed(PrefixId(u32::from(a) % 3)),
            },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn whatever_happens_nothing_is_pending_once_all_entries_have_ended(
        ops in prop::collection::vec(any::<(u8, u8, u8)>(), 0..200),
        least in any::<bool>(),
    ) {
        let mut node = Node::new(if least { Choice::LeastPending } else { Choice::Weighted { gain: 0.1 } });
        for (op, a, b) in ops {
            node.step(op, a, b);
            let entries = node.forwarder.pit().len() as u32;
            prop_assert!(node.pending().iter().all(|pending| *pending <= entries), "{:?} of {entries}", node.pending());
        }
        while !node.upstream.is_empty() {
            node.lose(0);
        }
        node.later(LIFETIME + LIFETIME);
        prop_assert!(node.forwarder.pit().is_empty());
        prop_assert!(node.pending().iter().all(|pending| *pending == 0), "{:?}", node.pending());
    }
}

#[test]
fn pending_interests_are_counted_where_they_were_sent_and_data_take_them_off() {
    let mut node = Node::new(Choice::LeastPending);
    for n in 0..6 {
        node.interest(0, &format!("/a/{n}"), None);
        node.later(Span::from_millis(10));
    }
    assert_eq!([2, 3, 4].map(|face| node.pending_at("/a", face)), [2, 2, 2]);
    assert_eq!([2, 3, 4].map(|face| node.pending_at("/b", face)), [0, 0, 0]);
    node.answer(0);
    assert_eq!(node.pending().iter().sum::<u32>(), 5);
}

#[test]
fn an_interest_sent_twice_to_one_next_hop_is_pending_once() {
    let mut node = Node::new(Choice::LeastPending);
    for face in [3, 4] {
        node.handle(Input::FaceDown(FaceId(face)));
    }
    node.interest(0, "/a/1", None);
    node.later(Span::from_millis(200));
    node.interest(0, "/a/1", None);
    assert_eq!(node.upstream.len(), 2);
    assert_eq!(node.pending_at("/a", 2), 1);
}

/// The fault of QSCCP's authors' code: of two transmissions, the Data removes one.
#[test]
fn with_the_fault_of_the_authors_code_what_was_not_answered_stays() {
    for (stays, sent, left) in [(false, 1, 0), (true, 2, 1)] {
        let mut node = Node::new(Choice::LeastPending);
        node.strategy.look().pending.unanswered_stays = stays;
        node.interest(0, "/a/1", None);
        node.later(Span::from_millis(200));
        node.interest(0, "/a/1", None);
        assert_eq!(node.pending().iter().sum::<u32>(), sent, "{stays}, to one next hop");
        node.answer(0);
        assert_eq!(node.pending().iter().sum::<u32>(), left, "{stays}");
        node.later(LIFETIME + LIFETIME);
        assert_eq!(node.pending().iter().sum::<u32>(), left, "{stays}, for ever");
    }
}

#[test]
fn what_a_queue_refuses_is_not_pending() {
    let mut node = Node::new(Choice::LeastPending);
    for face in [3, 4] {
        node.handle(Input::FaceDown(FaceId(face)));
    }
    // One Interest is on the link, and two are in the queue.
    (0..5).for_each(|n| node.interest(0, &format!("/a/{n}"), None));
    assert_eq!(node.pending_at("/a", 2), 3);
}

#[test]
fn what_began_with_this_strategy_is_taken_off_though_another_is_chosen_meanwhile() {
    let mut node = Node::new(Choice::LeastPending);
    node.interest(0, "/a/1", None);
    node.interest(0, "/a/2", None);
    node.choose("/a", true);
    node.later(Span::from_millis(200));
    node.interest(0, "/a/1", None);
    node.interest(0, "/a/3", None);
    assert_eq!(node.pending().iter().sum::<u32>(), 3, "the first at two next hops, the third not");
    (0..node.upstream.len()).for_each(|_| node.answer(0));
    assert_eq!(node.pending().iter().sum::<u32>(), 0);
}

#[test]
fn what_was_pending_at_a_face_that_is_removed_is_taken_off_as_it_ends() {
    let mut node = Node::new(Choice::LeastPending);
    for n in 0..6 {
        node.interest(0, &format!("/a/{n}"), None);
        node.later(Span::from_millis(10));
    }
    node.remove_face(FaceId(3));
    node.later(LIFETIME);
    assert_eq!(node.pending().iter().sum::<u32>(), 0);
}

#[test]
fn least_pending_prefers_what_is_idle_and_takes_a_new_next_hop_for_half_a_one() {
    let mut pending = PendingInterests::new(1.0);
    pending.rows.push(Row::default());
    let load = |face, pending| Load { face: FaceId(face), pending, average: 0.0 };
    pending.rows[0].loads.extend([load(2, 2), load(3, 0)]);
    let mut forwarding = RequestForwarding { choice: Choice::LeastPending, pending };
    let hops = [2, 3, 4].map(|face| NextHop { face: FaceId(face), cost: 0 });
    let mut random = Random::named(1, "rfa");
    assert_eq!(forwarding.choose(PrefixId(0), &hops, &mut random), Some(FaceId(3)));
    // 1/(1 + 2) is less than one half, and 1/(1 + 1) is not more.
    assert_eq!(forwarding.choose(PrefixId(0), &[hops[0], hops[2]], &mut random), Some(FaceId(4)));
    forwarding.pending.rows[0].loads[0].pending = 1;
    assert_eq!(forwarding.choose(PrefixId(0), &[hops[0], hops[2]], &mut random), Some(FaceId(2)));
}

#[test]
fn the_roulette_follows_one_over_the_average() {
    let mut pending = PendingInterests::new(0.1);
    pending.rows.push(Row::default());
    let load = |face, average| Load { face: FaceId(face), pending: 0, average };
    pending.rows[0].loads.extend([load(2, 8.0), load(3, 2.0), load(4, 0.3)]);
    let forwarding = RequestForwarding { choice: Choice::Weighted { gain: 0.1 }, pending };
    let hops = [2, 3, 4].map(|face| NextHop { face: FaceId(face), cost: 0 });
    let mut random = Random::named(1, "rfa");
    let mut counts = [0.0_f64; 5];
    for _ in 0..100_000 {
        counts[forwarding.choose(PrefixId(0), &hops, &mut random).unwrap().0 as usize] += 1.0;
    }
    // 1/8, 1/2, 1.
    let total = 1.0 / 8.0 + 0.5 + 1.0;
    for (face, weight) in [(2, 1.0 / 8.0), (3, 0.5), (4, 1.0)] {
        let share = counts[face] / 100_000.0;
        assert!((share - weight / total).abs() < 0.01, "{face}: {share}");
    }
}

#[test]
fn the_average_follows_each_change_by_a_tenth() {
    let mut pending = PendingInterests::new(0.1);
    pending.rows.push(Row::default());
    pending.rows[0].loads.push(Load { face: FaceId(2), pending: 0, average: 0.0 });
    for _ in 0..3 {
        pending.change(0, 0, 1);
    }
    // 0.9(0.9·0.1 + 0.1·2) + 0.1·3
    assert!((pending.rows[0].loads[0].average - 0.561).abs() < 1e-12);
    pending.change(0, 0, -1);
    assert!((pending.rows[0].loads[0].average - (0.9 * 0.561 + 0.2)).abs() < 1e-12);
}
