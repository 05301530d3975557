//! Events that the queue of a link receives, and its control over when packets leave.

use super::*;
use crate::node::testing::Told as _;
use crate::seam::{Departed, ReceiveEvent};

/// Instructions of a test to the queues of its node, and the record of what they have seen.
struct Told {
    /// Nothing leaves before this time.
    opens: Time,
    /// `true` if they number departing Interests, by their nonces.
    notes: bool,
    /// `true` if they drop their packets.
    drops: bool,
    /// `true` if a Data opens them and they report it.
    data_opens: bool,
    /// The record that they got with each Data.
    shown: Vec<Option<Departed>>,
}

struct Obedient(Arc<Mutex<Told>>, VecDeque<PacketId>);

impl Queue for Obedient {
    fn enqueue(&mut self, _ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.1.push_back(packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let told = self.0.lock().unwrap();
        assert_eq!(ev.note, None);
        if told.drops {
            let drop = |packet| Dropped { packet, reason: DropReason::Expired, nack: None };
            ev.dropped.extend(self.1.drain(..).map(drop));
        }
        match self.1.front() {
            Some(_) if ev.now < told.opens => Next::At(told.opens),
            Some(&packet) => {
                ev.note = told.notes.then_some(ev.pool[packet].nonce);
                self.1.pop_front();
                Next::Packet(packet)
            }
            None => Next::Empty,
        }
    }
    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        let mut told = self.0.lock().unwrap();
        if ev.packet.is_data() {
            told.shown.push(ev.departed);
            if told.data_opens {
                (told.opens, ev.may_send) = (ev.now, true);
            }
        } else {
            assert_eq!(ev.departed, None);
        }
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        ev.cleared.extend(self.1.drain(..));
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.1.len() as u32, bytes: 0 }
    }
}

/// A node with one route, by neighbour 2, whose queues note the departing Interests.
fn obedient() -> (Bench, Arc<Mutex<Told>>) {
    let told = Told { opens: Time::ZERO, notes: true, drops: false, data_opens: false, shown: Vec::new() };
    let told = Arc::new(Mutex::new(told));
    let queue = || -> Box<dyn Queue> { Box::new(Obedient(Arc::clone(&told), VecDeque::new())) };
    let mut bench = Bench::with(Box::new(BestRoute::default()), &TableLimits::default(), queue);
    bench.node.add_route(&name("/a"), bench.neighbours[2], 1);
    (bench, told)
}

/// The record that came with the last Data.
fn shown(told: &Mutex<Told>) -> Option<Departed> {
    told.lock().unwrap().shown.pop().expect("a Data has come")
}

#[test]
fn a_queue_is_shown_with_the_data_when_their_interest_left_and_its_own_number() {
    let (mut bench, told) = obedient();
    let [down, _, up, _] = bench.neighbours;
    // An idle queue gives the note in the call that sends the packet.
    assert_eq!(bench.interest(down, "/a/1", 1), [Seen::Interest(up)]);
    let sent = bench.now;
    bench.later(20);
    bench.data(up, "/a/1");
    assert_eq!(shown(&told), Some(Departed { left: sent, note: 1 }));
    // A busy queue gives it later.
    let opens = bench.now + Span::from_millis(30);
    told.lock().unwrap().opens = opens;
    assert_eq!(bench.interest(down, "/a/2", u32::MAX), []);
    bench.later(30);
    assert_eq!(only_seen(bench.input(Input::Deadline)), [Seen::Interest(up)]);
    bench.later(5);
    bench.data(up, "/a/2");
    assert_eq!(shown(&told), Some(Departed { left: opens, note: u32::MAX }));
    // The queue notes nothing, so it gets no record.
    told.lock().unwrap().notes = false;
    bench.interest(down, "/a/3", 3);
    bench.data(up, "/a/3");
    assert_eq!(shown(&told), None);
}

#[test]
fn of_an_interest_that_was_sent_more_than_once_no_departure_is_shown() {
    let (mut bench, told) = obedient();
    let [down, _, up, other] = bench.neighbours;
    for nonce in 1..=2 {
        assert_eq!(bench.interest(down, "/a/1", nonce), [Seen::Interest(up)]);
        bench.later(100);
    }
    bench.data(up, "/a/1");
    assert_eq!(shown(&told), None);
    // The other face sent the Interest once.
    bench.interest(down, "/a/2", 3);
    bench.later(100);
    bench.node.add_route(&name("/a"), other, 2);
    assert_eq!(bench.interest(down, "/a/2", 4), [Seen::Interest(other)]);
    let left = bench.now;
    bench.later(1);
    bench.data(other, "/a/2");
    assert_eq!(shown(&told), Some(Departed { left, note: 4 }));
}

#[test]
fn no_departure_is_shown_for_another_sending() {
    // The first transmission is dropped from the queue; the second leaves without a note.
    let (mut bench, told) = obedient();
    let [down, _, up, _] = bench.neighbours;
    told.lock().unwrap().opens = Time::NEVER;
    assert_eq!(bench.interest(down, "/a/1", 1), []);
    told.lock().unwrap().drops = true;
    bench.later(10);
    assert_eq!(bench.interest(down, "/a/2", 2).len(), 2, "both are dropped");
    *told.lock().unwrap() =
        Told { opens: Time::ZERO, notes: false, drops: false, data_opens: false, shown: Vec::new() };
    bench.later(100);
    assert_eq!(bench.interest(down, "/a/1", 3), [Seen::Interest(up)]);
    bench.data(up, "/a/1");
    assert_eq!(shown(&told), None);

    // The first one has left and is refused. The second one is in the queue when the Data of the first arrive
    // after all.
    let (mut bench, told) = obedient();
    bench.interest(down, "/a/1", 1);
    bench.nack(up, "/a/1", 1, NackReason::Congestion);
    bench.later(100);
    told.lock().unwrap().opens = Time::NEVER;
    bench.interest(down, "/a/1", 2);
    bench.data(up, "/a/1");
    assert_eq!(shown(&told), None);

    // Both are in the queue, but the neighbour has refused the first one, as if it had received it.
    let (mut bench, told) = obedient();
    let opens = bench.now + Span::from_millis(200);
    told.lock().unwrap().opens = opens;
    bench.interest(down, "/a/1", 1);
    bench.nack(up, "/a/1", 1, NackReason::Congestion);
    bench.later(100);
    bench.interest(down, "/a/1", 2);
    bench.later(100);
    let left = only_seen(bench.input(Input::Deadline));
    assert!(left.ends_with(&[Seen::Interest(up), Seen::Interest(up)]), "{left:?}");
    bench.data(up, "/a/1");
    assert_eq!(shown(&told), Some(Departed { left: opens, note: 2 }));
}

#[test]
fn what_may_leave_because_of_a_data_leaves_in_the_call_that_hands_it_in() {
    let (mut bench, told) = obedient();
    let [down, _, up, _] = bench.neighbours;
    bench.interest(down, "/a/1", 1);
    let opens = bench.now + Span::from_secs(1);
    told.lock().unwrap().opens = opens;
    assert_eq!(bench.interest(down, "/a/2", 2), []);
    bench.later(10);
    assert_eq!(bench.node.next_of_links(), opens);
    told.lock().unwrap().data_opens = true;
    assert_eq!(bench.data(up, "/a/1"), [Seen::Interest(up), Seen::Data(down)]);
    assert_eq!(bench.node.next_of_links(), Time::NEVER);
    // It also reports this if nothing waits.
    let left = bench.now;
    bench.later(10);
    assert_eq!(bench.data(up, "/a/2"), [Seen::Data(down)]);
    assert_eq!(shown(&told), Some(Departed { left, note: 2 }));
    assert_eq!(bench.node.next_of_links(), Time::NEVER);
}
