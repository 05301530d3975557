//! Limits on the harm that a stranger can do to others, and on the work that it can cause at once.

use super::*;
use crate::node::expiry::{ENDED_AT_ONCE, LOOKED_AT_ONCE};

impl Bench {
    /// An Interest of a class with this hop limit.
    fn hops(&mut self, face: FaceId, nonce: u32, class: ServiceClass, hops: u8) -> Vec<Seen> {
        let packet = self.packet(Kind::Interest, "/a/1", nonce);
        self.pool[packet].hop_limit = Some(hops);
        self.pool[packet].lifetime = Span::from_secs(60);
        self.pool[packet].header_mut().signals.set(&Signal::SERVICE_CLASS, class as u64);
        only_seen(self.give(face, packet))
    }

    fn past_the_stores(&mut self, face: FaceId, uri: &str, nonce: u32) -> Vec<Seen> {
        let packet = self.packet(Kind::Interest, uri, nonce);
        self.pool[packet].header_mut().signals.set(&Signal::PAST_STORES, 1);
        only_seen(self.give(face, packet))
    }

    fn add_link(&mut self) -> FaceId {
        self.node.add_link(self.now, Link::new(tail(9), None, Random::named(1, "face")))
    }
}

#[test]
fn an_interest_that_may_go_no_further_gives_its_class_to_no_other() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, _] = bench.neighbours;
    let stopped = [Seen::Dropped(DropReason::HopLimit)];
    assert_eq!(bench.hops(stranger, 1, ServiceClass::Be, 1), stopped);
    assert_eq!(bench.hops(consumer, 2, ServiceClass::Af2, 9), [Seen::Interest(up)]);
    assert_eq!(bench.entry().flow().class, ServiceClass::Af2);
    bench.later(1_000);
    bench.hops(stranger, 3, ServiceClass::Be, 9);
    assert_eq!(bench.entry().flow().class, ServiceClass::Af2, "not while it is pending, either");
}

#[test]
fn in_a_full_pit_what_may_go_no_further_goes_first() {
    let limits = TableLimits { pit_bytes: 2 * 368 * 2, ..TableLimits::default() };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &limits, || tail(9)).routed();
    let [face, _, up, _] = bench.neighbours;
    assert_eq!(bench.interest(face, "/a/2", 1), [Seen::Interest(up)]);
    bench.hops(face, 2, ServiceClass::Be, 1);
    assert_eq!(bench.interest(face, "/a/3", 3), [Seen::Interest(up)]);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(face)]);
}

#[test]
fn who_asks_again_does_not_take_over_what_another_group_has_asked_for() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, other] = bench.neighbours;
    let [theirs, ours] = [GroupId(1), GroupId(2)];
    bench.node.set_group(stranger, theirs);
    bench.node.set_group(consumer, ours);
    assert_eq!(bench.interest(consumer, "/a/1", 1), [Seen::Interest(up)]);
    let flow = bench.entry().flow();
    assert_eq!(flow.group, ours);
    assert_eq!(bench.interest(stranger, "/a/1", 2), []);
    assert_eq!(bench.interest(stranger, "/a/1", 3), [Seen::Interest(other)]);
    assert_eq!(bench.entry().flow(), flow);
    assert_eq!(bench.interest(stranger, "/a/1", 4), [], "suppressed");
    bench.later(200);
    assert_eq!(bench.interest(stranger, "/a/1", 5), [Seen::Interest(up)]);
    assert_eq!(bench.entry().flow(), flow);
}

/// The stranger's Interests reach no producer, for example because of a small hop limit.
#[test]
fn who_is_not_answered_keeps_what_others_ask_for_no_longer_than_a_timeout() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, other] = bench.neighbours;
    bench.node.set_group(stranger, GroupId(1));
    assert_eq!(bench.lasting(stranger, "/a/1", 1, Span::from_secs(60)), [Seen::Interest(up)]);
    bench.later(99);
    assert_eq!(bench.interest(consumer, "/a/1", 2), [], "Data may be on their way");
    // The stranger repeats its own Interest, which is sent again.
    bench.later(100);
    assert_eq!(bench.interest(stranger, "/a/1", 3), [Seen::Interest(other)]);
    bench.later(1);
    assert_eq!(bench.interest(consumer, "/a/1", 4), [Seen::Interest(up)], "a timeout is its own");
    bench.later(50);
    assert_eq!(bench.interest(consumer, "/a/1", 5), [], "its own sending absorbs it");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(stranger), Seen::Data(consumer)]);
}

#[test]
fn who_asks_long_before_others_and_is_not_answered_has_them_wait_for_nothing() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, other] = bench.neighbours;
    bench.node.set_group(stranger, GroupId(1));
    assert_eq!(bench.lasting(stranger, "/a/1", 1, Span::from_secs(60)), [Seen::Interest(up)]);
    bench.later(100);
    assert_eq!(bench.interest(consumer, "/a/1", 2), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(stranger), Seen::Data(consumer)]);
}

#[test]
fn who_repeats_what_is_not_answered_has_others_wait_for_nothing() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, other] = bench.neighbours;
    bench.node.set_group(stranger, GroupId(1));
    for (nonce, next_hop) in [(1, up), (2, other), (3, up)] {
        assert_eq!(bench.interest(stranger, "/a/1", nonce), [Seen::Interest(next_hop)]);
        bench.later(100);
    }
    assert_eq!(bench.interest(stranger, "/a/1", 4), [Seen::Interest(other)]);
    assert_eq!(bench.interest(consumer, "/a/1", 5), [Seen::Interest(up)]);
}

#[test]
fn where_data_take_long_others_wait_for_two_round_trips() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, _] = bench.neighbours;
    bench.node.set_group(stranger, GroupId(1));
    bench.lasting(stranger, "/a/1", 1, Span::from_secs(60));
    bench.later(700);
    bench.data(up, "/a/1");
    bench.lasting(stranger, "/a/2", 2, Span::from_secs(60));
    bench.later(999);
    assert_eq!(bench.interest(consumer, "/a/2", 3), []);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(stranger), Seen::Data(consumer)]);
    bench.lasting(stranger, "/a/3", 4, Span::from_secs(60));
    bench.later(1_000);
    assert_eq!(bench.interest(consumer, "/a/3", 5).len(), 1, "a second at most");
}

#[test]
fn within_a_group_one_waits_for_what_another_was_sent() {
    let mut bench = Bench::new().routed();
    let [first, second, up, _] = bench.neighbours;
    assert_eq!(bench.interest(first, "/a/1", 1), [Seen::Interest(up)]);
    bench.later(3_000);
    assert_eq!(bench.interest(second, "/a/1", 2), []);
}

#[test]
fn what_is_pending_no_longer_belongs_to_who_asks_next() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, ..] = bench.neighbours;
    let [theirs, ours] = [GroupId(1), GroupId(2)];
    bench.node.set_group(stranger, theirs);
    bench.node.set_group(consumer, ours);
    bench.lasting(consumer, "/a/1", 1, Span::from_secs(1));
    bench.interest(stranger, "/a/1", 2);
    bench.later(1_000);
    assert_eq!(bench.interest(stranger, "/a/1", 3).len(), 1);
    assert_eq!(bench.entry().flow().group, theirs);
}

#[test]
fn who_asks_past_the_stores_shuts_them_for_nobody_else() {
    let mut bench = Bench::new().routed().cached();
    let [stranger, consumer, up, _] = bench.neighbours;
    bench.interest(consumer, "/a/1", 1);
    bench.data(up, "/a/1");
    assert_eq!(bench.past_the_stores(stranger, "/a/1", 2), [Seen::Interest(up)]);
    assert_eq!(bench.interest(consumer, "/a/1", 3), [Seen::Data(consumer)], "the store has it");
    assert_eq!(bench.past_the_stores(consumer, "/a/1", 4), [], "it wants another");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(stranger), Seen::Data(consumer)]);
    // If the store has no Data, it is not asked again.
    assert_eq!(bench.past_the_stores(stranger, "/a/2", 5), [Seen::Interest(up)]);
    assert_eq!(bench.interest(consumer, "/a/2", 6), []);
    assert!(!bench.entry().facts.has(crate::tables::pit::Fact::PastStores));
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(stranger), Seen::Data(consumer)]);
}

#[test]
fn who_asks_past_the_stores_and_then_takes_what_they_have_is_answered_once() {
    let mut bench = Bench::new().routed().cached();
    let [consumer, _, up, _] = bench.neighbours;
    bench.interest(consumer, "/a/1", 1);
    bench.data(up, "/a/1");
    assert_eq!(bench.past_the_stores(consumer, "/a/1", 2), [Seen::Interest(up)]);
    assert_eq!(bench.interest(consumer, "/a/1", 3), [Seen::Data(consumer)]);
    bench.later(5_000);
    bench.input(Input::Deadline);
    assert_eq!(bench.node.satisfied_and_unsatisfied(), (2, 0));
    assert_eq!(bench.past_the_stores(consumer, "/a/1", 4), [Seen::Interest(up)]);
    assert_eq!(bench.interest(consumer, "/a/1", 5), [Seen::Data(consumer)]);
    assert_eq!(bench.data(up, "/a/1"), []);
}

#[test]
fn what_is_stored_is_answered_without_an_entry_and_a_loop_is_refused_before() {
    let mut bench = Bench::new().routed().cached();
    let [stranger, consumer, up, _] = bench.neighbours;
    bench.interest(consumer, "/a/1", 1);
    bench.data(up, "/a/1");
    bench.interest(consumer, "/a/2", 2);
    let pending = bench.node.pit().id_bound();
    for nonce in 3..6 {
        assert_eq!(bench.interest(stranger, "/a/1", nonce), [Seen::Data(stranger)]);
    }
    assert_eq!(bench.node.pit().id_bound(), pending, "no entry was made");
    assert_eq!(bench.node.content_store().hits(), 3);
    // The store has no Data for the waiting Interest: it is not asked again.
    let misses = bench.node.content_store().misses();
    assert_eq!(bench.interest(stranger, "/a/2", 6), []);
    assert_eq!(bench.node.content_store().misses(), misses);
    assert_eq!(bench.interest(up, "/a/2", 2), [Seen::Nack(up, NackReason::Duplicate)], "a loop");
}

#[test]
fn a_face_may_not_answer_what_an_earlier_one_of_its_number_was_asked() {
    let mut bench = Bench::new().routed();
    let [consumer, _, up, _] = bench.neighbours;
    bench.interest(consumer, "/a/1", 0);
    bench.remove(up);
    let mut nonce = 0;
    for _ in 0..102 {
        bench.later(3_000);
        bench.input(Input::Deadline);
        nonce += 1;
        bench.interest(consumer, "/a/1", nonce);
    }
    assert_eq!(bench.add_link(), up, "the number is given again");
    assert!(bench.entry().out_records.iter().any(|record| record.face == up));
    assert_eq!(bench.data(up, "/a/1"), [Seen::Dropped(DropReason::Unsolicited)]);
    let refused = bench.nack(up, "/a/1", 0, NackReason::NoRoute);
    assert_eq!(refused, [Seen::Dropped(DropReason::Unsolicited)]);
}

#[test]
fn data_are_charged_to_the_class_in_which_a_face_asked_for_them() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, _] = bench.neighbours;
    let rate = Some(Rate::from_bps(8 * 256 * 4));
    let mut policy = IngressPolicy::open();
    policy.classes[ServiceClass::Be as usize].rate = rate;
    bench.node.set_ingress(stranger, &policy);
    bench.hops(consumer, 1, ServiceClass::Af1, 9);
    assert_eq!(bench.interest(stranger, "/a/1", 2), [], "within its rate, and aggregated");
    let data = bench.packet(Kind::Data, "/a/1", 0);
    bench.pool[data].net_len = 8_000;
    assert_eq!(only_seen(bench.give(up, data)), [Seen::Data(consumer), Seen::Data(stranger)]);
    // 8000 bytes take 31 quarters of a second.
    let over = [Seen::Dropped(DropReason::ClassRate)];
    bench.later(250);
    assert_eq!(bench.interest(stranger, "/a/2", 3), over);
    bench.later(6_000);
    assert_eq!(bench.interest(stranger, "/a/3", 4), over);
    bench.later(2_000);
    assert_eq!(bench.interest(stranger, "/a/4", 5), [Seen::Interest(up)]);
}

#[test]
fn a_strangers_interest_is_pending_upstream_for_the_longest_lifetime_at_most() {
    let limits = TableLimits { longest_lifetime: Span::from_secs(60), ..TableLimits::default() };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &limits, || tail(9)).routed();
    let [stranger, consumer, up, other] = bench.neighbours;
    let application = bench.application;
    bench.lasting(stranger, "/a/1", 1, Span::from_secs(300));
    bench.lasting(application, "/a/2", 2, Span::from_secs(300));
    bench.later(1_000);
    for uri in ["/a/1", "/a/2"] {
        assert_eq!(bench.lasting(consumer, uri, 3, Span::from_secs(60)), []);
    }
    bench.later(59_000);
    assert_eq!(bench.interest(other, "/a/1", 4), [Seen::Interest(up)], "not aggregated");
    assert_eq!(bench.interest(other, "/a/2", 5), []);
}

/// Interests that were requested together expire together.
fn flooded(bench: &mut Bench, face: FaceId, interests: usize, nonce: u32) {
    for number in 0..interests as u32 {
        let name = format!("/a/{nonce}/{number}");
        assert_eq!(bench.interest(face, &name, nonce + number).len(), 1);
    }
}

#[test]
fn so_many_interests_that_expire_at_once_end_in_turn_with_packets_of_others() {
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, _] = bench.neighbours;
    flooded(&mut bench, stranger, 3 * ENDED_AT_ONCE, 0);
    bench.later(3_000);
    bench.lasting(consumer, "/a/mine", 9_999_999, Span::from_secs(4));
    bench.later(1_010);
    let mut left = 3 * ENDED_AT_ONCE;
    while left > 0 {
        bench.input(Input::Deadline);
        left -= ENDED_AT_ONCE;
        assert_eq!(bench.node.pit().len(), left + 1);
        // An Interest that ends at once does not make the others end sooner.
        let lifetime = Span::from_nanos(1);
        bench.lasting(consumer, &format!("/a/short/{left}"), 8_000_000 + left as u32, lifetime);
        bench.input(Input::Deadline);
        assert!(bench.node.pit().len() > left);
        if left > 0 {
            assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(1));
        }
        bench.data(up, &format!("/a/short/{left}"));
        bench.later(1);
    }
    assert_eq!(bench.data(up, "/a/mine"), [Seen::Data(consumer)]);
    assert_eq!(bench.node.satisfied_and_unsatisfied().1, 3 * ENDED_AT_ONCE as u64);
}

#[test]
fn interests_that_share_a_slot_of_the_wheel_are_passed_over_in_turn_with_packets_of_others() {
    // A round of the PIT's wheel.
    const ROUND: Span = Span::from_nanos(1 << 32);
    let mut bench = Bench::new().routed();
    let [stranger, consumer, up, _] = bench.neighbours;
    let (many, lifetime) = (2 * LOOKED_AT_ONCE, Span::from_secs(10));
    for number in 0..many as u32 {
        bench.lasting(stranger, &format!("/a/0/{number}"), number, lifetime);
    }
    // In the same slot, two rounds before the others, and behind them.
    bench.lasting(consumer, "/a/due", 9_999_999, lifetime - ROUND * 2);
    bench.later(1_420);
    for slice in 0..2 {
        bench.input(Input::Deadline);
        assert_eq!(bench.node.pit().len(), many + 1, "none that was looked at is due");
        assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(1));
        let mine = format!("/a/mine/{slice}");
        assert_eq!(
            bench.lasting(consumer, &mine, 8_000_000 + slice, Span::from_nanos(1)),
            [Seen::Interest(up)]
        );
        bench.input(Input::Deadline);
        assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(1), "nothing ends it sooner");
        assert_eq!(bench.data(up, &mine), [Seen::Data(consumer)]);
        bench.later(1);
    }
    bench.input(Input::Deadline);
    assert_eq!((bench.node.pit().len(), bench.node.satisfied_and_unsatisfied().1), (many, 1));
    assert!(bench.node.next_deadline() > bench.now + Span::from_secs(4), "not before the next round");
    bench.later(9_000);
    for slice in 1..=many / ENDED_AT_ONCE {
        bench.input(Input::Deadline);
        assert_eq!(bench.node.pit().len(), many - slice * ENDED_AT_ONCE, "they end at their time");
        bench.later(1);
    }
}

#[test]
fn what_a_face_waited_for_ends_in_slices_and_its_number_rests_until_then() {
    let mut bench = Bench::new().routed();
    let [_, consumer, up, _] = bench.neighbours;
    let stranger = bench.add_link();
    let faces = bench.node.face_count();
    flooded(&mut bench, stranger, 3 * ENDED_AT_ONCE, 0);
    bench.interest(consumer, "/a/mine", 9_999_999);
    bench.remove(stranger);
    assert_eq!(bench.node.face_count(), faces - 1);
    assert_eq!(bench.node.pit().len(), 2 * ENDED_AT_ONCE + 1);
    assert_ne!(bench.node.next_face(bench.now), stranger);
    let last = format!("/a/0/{}", 3 * ENDED_AT_ONCE - 1);
    assert_eq!(bench.data(up, &last), [], "nobody waits");
    for left in [1, 0] {
        assert_eq!(bench.node.next_deadline(), bench.now + Span::from_millis(1));
        bench.later(1);
        bench.input(Input::Deadline);
        assert!(bench.node.pit().len().abs_diff(left * ENDED_AT_ONCE + 1) <= 1);
    }
    assert_eq!(bench.node.pit().held_by(stranger), 0);
    assert_eq!(bench.node.next_face(bench.now), stranger, "it was never asked");
    assert_eq!(bench.node.face_count(), faces - 1);
    assert_eq!(bench.data(up, "/a/mine"), [Seen::Data(consumer)]);
}

#[test]
fn only_a_queue_that_keeps_state_of_a_prefix_hears_that_it_is_forgotten() {
    use crate::seam::PrefixRemoved;

    /// Keeps state of each prefix, and records its events.
    struct Keeps(Box<dyn Queue>, Arc<Mutex<Vec<PrefixId>>>);

    impl Queue for Keeps {
        fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
            ev.keeps_prefix = true;
            self.0.enqueue(ev, packet);
        }
        fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
            self.0.dequeue(ev)
        }
        fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
            self.1.lock().unwrap().push(ev.prefix);
        }
        fn clear(&mut self, ev: &mut ClearEvent<'_>) {
            self.0.clear(ev);
        }
        fn backlog(&self) -> Backlog {
            self.0.backlog()
        }
    }

    let heard = Arc::<Mutex<Vec<PrefixId>>>::default();
    let queue = || -> Box<dyn Queue> { Box::new(Keeps(tail(9), heard.clone())) };
    let of_names =
        NodeConfig { flow_prefix: FlowPrefix::Components(1), ..config(Box::new(BestRoute::default())) };
    let mut bench = Bench::made(of_names, queue);
    let [stranger, consumer, up, _] = bench.neighbours;
    bench.node.add_route(&name("/"), up, 1);
    bench.node.set_group(stranger, GroupId(1));
    bench.interest(consumer, "/mine/0", 1);
    bench.interest(stranger, "/0/0", 2);
    let first = bench.node.pit().iter().find(|(_, entry)| entry.group == GroupId(1)).unwrap().1.prefix;
    (1..256).for_each(|n| drop(bench.interest(stranger, &format!("/{n}/0"), 2 + n)));
    assert_eq!(*heard.lock().unwrap(), []);
    bench.interest(stranger, "/256/0", 300);
    assert_eq!(*heard.lock().unwrap(), [first], "one of four links");
}
