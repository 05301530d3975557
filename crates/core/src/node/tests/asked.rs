//! Data count only from faces that were asked, and Interests may bypass the content store.

use super::*;
use crate::seam::ReceiveEvent;
use weir_packet::Signal;

/// Counts the Data that a queue is shown.
struct Shown(Arc<AtomicUsize>, DropTail);

impl Queue for Shown {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.1.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.1.dequeue(ev)
    }
    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        self.0.fetch_add(usize::from(ev.packet.kind == Kind::Data), Ordering::Relaxed);
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.1.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.1.backlog()
    }
}

const UNSOLICITED: [Seen; 1] = [Seen::Dropped(DropReason::Unsolicited)];

#[test]
fn data_of_whom_nobody_asked_answer_nothing_are_not_stored_and_teach_nothing() {
    let (shown, told) = (Arc::<AtomicUsize>::default(), RoundTrips::default());
    let watch = Watch(Arc::clone(&told));
    let queue =
        || -> Box<dyn Queue> { Box::new(Shown(Arc::clone(&shown), DropTail::new(QueueLimit::Packets(9)))) };
    let mut bench = Bench::with(Box::new(watch), &TableLimits::default(), queue).routed().cached();
    let [down, stranger, up, other_next_hop] = bench.neighbours;
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    // It is not accepted from the downstream, another neighbour, another next hop or an application.
    for face in [down, stranger, other_next_hop, bench.application] {
        assert_eq!(bench.data(face, "/a/1"), UNSOLICITED);
    }
    // Nor with the token of the entry.
    let forged = bench.packet(Kind::Data, "/a/1", 0);
    let (pit, _) = bench.node.pit().iter().next().unwrap();
    bench.pool[forged].header_mut().pit_token = PitToken::new(&pit.to_token()).unwrap();
    assert_eq!(only_seen(bench.give(stranger, forged)), UNSOLICITED);
    assert!(bench.node.content_store().is_empty());
    assert_eq!(
        (shown.load(Ordering::Relaxed), told.lock().unwrap().len(), bench.node.pit().len()),
        (0, 0, 1)
    );
    bench.later(10);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
    assert_eq!(
        (shown.load(Ordering::Relaxed), told.lock().unwrap().len(), bench.node.content_store().len()),
        (1, 1, 1)
    );
}

#[test]
fn of_several_entries_a_data_satisfies_those_that_were_sent_to_whom_it_comes_from() {
    let mut bench = Bench::new().routed();
    let [down, second, up, other] = bench.neighbours;
    bench.node.add_route(&name("/a/b"), other, 0);
    let prefix = bench.packet(Kind::Interest, "/a", 1);
    bench.pool[prefix].can_be_prefix = true;
    assert_eq!(only_seen(bench.give(down, prefix)), [Seen::Interest(up)]);
    assert_eq!(bench.interest(second, "/a/b/1", 2), [Seen::Interest(other)]);
    assert_eq!(bench.data(other, "/a/b/1"), [Seen::Data(second)], "it may not speak for all of /a");
    assert_eq!(bench.data(up, "/a/b/1"), [Seen::Data(down)]);
}

#[test]
fn whoever_was_asked_may_answer_late_also_after_a_nack_or_when_another_was_asked_since() {
    let mut bench = Bench::with(Box::new(Everywhere), &TableLimits::default(), || tail(9)).routed();
    let [down, _, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    assert_eq!(bench.nack(up, "/a/1", 1, NackReason::Congestion), []);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
    let mut bench = Bench::new().routed();
    bench.interest(down, "/a/1", 1);
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Interest(other)]);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
}

/// Asks for `/a/1` and `/a/2` after the first next hop is gone.
fn ask_the_other_next_hop(bench: &mut Bench) {
    let [_, second, up, other] = bench.neighbours;
    let removed = bench.node.remove_route(bench.now, &name("/a"), up, &mut bench.pool, &mut Vec::new());
    assert!(removed);
    for (nonce, uri) in [(11, "/a/1"), (12, "/a/2")] {
        assert_eq!(bench.interest(second, uri, nonce), [Seen::Interest(other)]);
    }
}

#[test]
fn late_data_count_for_an_entry_that_was_made_again_after_its_first_one_expired() {
    let mut bench = Bench::new().routed();
    let [down, second, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    bench.later(4_010);
    assert_eq!(bench.input(Input::Deadline), []);
    ask_the_other_next_hop(&mut bench);
    for face in [down, second, bench.application] {
        assert_eq!(bench.data(face, "/a/1"), UNSOLICITED);
    }
    assert_eq!(bench.data(up, "/a/2"), UNSOLICITED, "it was asked for another name");
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(second)]);
}

#[test]
fn late_data_count_for_six_seconds_after_the_first_entry_ended() {
    let late = |millis: u64| {
        let mut bench = Bench::new().routed();
        bench.lasting(bench.neighbours[0], "/a/1", 1, Span::from_millis(100));
        bench.later(110);
        bench.input(Input::Deadline);
        bench.later(3_000);
        ask_the_other_next_hop(&mut bench);
        bench.later(millis - 3_000);
        bench.data(bench.neighbours[2], "/a/1")
    };
    assert_eq!(late(5_999), [Seen::Data(Bench::new().neighbours[1])]);
    assert_eq!(late(6_000), [Seen::Dropped(DropReason::OutOfLifetime)]);
}

#[test]
fn late_data_count_for_an_entry_that_was_made_again_after_another_next_hop_had_answered() {
    let mut bench = Bench::with(Box::new(Everywhere), &TableLimits::default(), || tail(9)).routed();
    let [down, second, up, other] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    assert_eq!(bench.data(other, "/a/1"), [Seen::Data(down)]);
    ask_the_other_next_hop(&mut bench);
    assert_eq!(bench.data(up, "/a/1"), [Seen::Data(second)]);
}

#[test]
fn an_upstream_that_was_asked_twice_may_answer_twice_and_one_that_was_asked_once_is_forgotten() {
    for is_asked_twice in [true, false] {
        let mut bench = Bench::new().routed();
        let [down, second, up, _] = bench.neighbours;
        bench.node.fib.remove_next_hop(&name("/a"), bench.neighbours[3]);
        bench.interest(down, "/a/1", 1);
        if is_asked_twice {
            bench.later(100);
            assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Interest(up)]);
        }
        assert_eq!(bench.data(up, "/a/1"), [Seen::Data(down)]);
        assert_eq!(bench.node.asked.is_empty(), !is_asked_twice);
        bench.node.add_route(&name("/a"), bench.neighbours[3], 1);
        ask_the_other_next_hop(&mut bench);
        let expected = if is_asked_twice { [Seen::Data(second)] } else { UNSOLICITED };
        assert_eq!(bench.data(up, "/a/1"), expected);
    }
}

#[test]
fn an_interest_past_the_stores_is_sent_on_and_its_data_takes_the_place_of_the_stored_one() {
    let mut bench = Bench::new().routed().cached();
    let [down, second, up, _] = bench.neighbours;
    let data = |bench: &mut Bench, len| {
        let data = bench.packet(Kind::Data, "/a/1", 0);
        bench.pool[data].content_len = len;
        only_seen(bench.give(up, data))
    };
    bench.interest(down, "/a/1", 1);
    assert_eq!(data(&mut bench, 666), [Seen::Data(down)]);
    assert_eq!(bench.interest(down, "/a/1", 2), [Seen::Data(down)], "the store has it");
    let past = bench.packet(Kind::Interest, "/a/1", 3);
    bench.pool[past].header_mut().signals.set(&Signal::PAST_STORES, 1);
    let sent = bench.give(down, past);
    assert_eq!(sent[0].0, Seen::Interest(up));
    let carried = bench.pool[sent[0].1].header().signals.value(&Signal::PAST_STORES);
    assert_eq!(carried, Some(1), "the next node is to do the same");
    assert_eq!(data(&mut bench, 7), [Seen::Data(down)]);
    let ask = bench.packet(Kind::Interest, "/a/1", 4);
    let [(Seen::Data(to), answer)] = bench.give(second, ask)[..] else { panic!("the store has it") };
    assert_eq!((to, bench.pool[answer].content_len), (second, 7));
}
