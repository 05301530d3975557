//! A full PIT, and the longest time that an Interest may stay in it.

use super::*;

/// Size of an entry with a short name in the half of the PIT for such entries, bytes.
const ENTRY: u64 = 368;

/// A node with a PIT for this many short names.
fn full_at(entries: u64) -> Bench {
    let limits = TableLimits { pit_bytes: 2 * ENTRY * entries, ..TableLimits::default() };
    Bench::with(Box::new(BestRoute::default()), &limits, || tail(9)).routed()
}

#[test]
fn in_a_full_pit_the_face_that_has_most_loses_its_oldest_and_others_are_taken() {
    let mut bench = full_at(3);
    let [flood, second, up, _] = bench.neighbours;
    for (nonce, uri) in ["/a/1", "/a/2", "/a/3"].into_iter().enumerate() {
        assert_eq!(bench.interest(flood, uri, nonce as u32), [Seen::Interest(up)]);
    }
    assert_eq!((bench.node.pit().len(), bench.node.evicted_interests()), (3, 0));
    assert_eq!(bench.interest(second, "/a/4", 4), [Seen::Interest(up)]);
    assert_eq!(bench.interest(flood, "/a/5", 5), [Seen::Interest(up)]);
    assert_eq!((bench.node.pit().len(), bench.node.evicted_interests()), (3, 2));
    assert_eq!(bench.node.satisfied_and_unsatisfied(), (0, 2));
    assert_eq!(bench.data(up, "/a/2"), [Seen::Dropped(DropReason::Unsolicited)]);
    assert_eq!(bench.data(up, "/a/4"), [Seen::Data(second)]);
    assert_eq!(bench.data(up, "/a/3"), [Seen::Data(flood)]);
}

#[test]
fn an_interest_that_made_room_and_comes_back_is_a_loop() {
    let mut bench = full_at(1);
    let [flood, second, up, _] = bench.neighbours;
    bench.interest(flood, "/a/1", 1);
    bench.interest(flood, "/a/2", 2);
    assert_eq!(bench.interest(second, "/a/1", 1), [Seen::Nack(second, NackReason::Duplicate)]);
    assert_eq!(bench.interest(second, "/a/1", 3), [Seen::Interest(up)]);
}

#[test]
fn who_waits_for_what_another_loses_keeps_waiting() {
    let mut bench = full_at(2);
    let [flood, second, up, _] = bench.neighbours;
    bench.interest(flood, "/a/1", 1);
    assert_eq!(bench.interest(second, "/a/1", 2), [], "aggregated");
    bench.interest(flood, "/a/2", 3);
    bench.interest(flood, "/a/3", 4);
    bench.interest(flood, "/a/4", 5);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(second)]);
}

#[test]
fn of_a_face_that_has_most_an_interest_that_did_not_leave_goes_first() {
    let mut bench = full_at(3);
    let [down, .., up, _] = bench.neighbours;
    let slow = Link::new(tail(1), Some(Rate::from_bps(8_000)), Random::named(1, "slow"));
    let slow = bench.node.add_link(Time::ZERO, slow);
    bench.node.add_route(&name("/s"), slow, 0);
    bench.interest(down, "/s/1", 1);
    bench.interest(down, "/s/2", 2);
    let full = [Seen::Dropped(DropReason::QueueFull)];
    assert_eq!(bench.interest(down, "/s/3", 3), full);
    assert_eq!(bench.interest(down, "/a/1", 4), [Seen::Interest(up)], "for it /s/3 goes");
    assert_eq!(bench.node.pit().len(), 3);
    assert_eq!(bench.interest(down, "/s/3", 6), full);
    assert_eq!(bench.node.evicted_interests(), 2, "itself");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
}

#[test]
fn what_the_content_store_answers_pushes_nobody_out() {
    let mut bench = full_at(1).cached();
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.data(up, "/a/1");
    bench.interest(down, "/a/2", 2);
    assert_eq!(bench.interest(second, "/a/1", 3), [Seen::Data(second)]);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(down)]);
}

#[test]
fn a_neighbours_interest_is_pending_for_the_longest_lifetime_at_most_and_an_applications_for_five_minutes() {
    let limits = TableLimits { longest_lifetime: Span::from_secs(60), ..TableLimits::default() };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &limits, || tail(9)).routed();
    let application = bench.application;
    let [down, ..] = bench.neighbours;
    bench.lasting(down, "/a/1", 1, Span::from_secs(3600));
    bench.lasting(application, "/a/2", 2, Span::from_secs(3600));
    for (after, pending) in [(59, 2), (2, 1), (238, 1), (2, 0)] {
        bench.later(after * 1000);
        bench.input(Input::Deadline);
        assert_eq!(bench.node.pit().len(), pending, "{:?}", bench.now);
    }
}
