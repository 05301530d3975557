use super::*;
use crate::seam::DropTail;
use crate::seam::QueueLimit;
use std::sync::{Arc, Mutex};

fn packet(pool: &mut PacketPool, bytes: u32) -> PacketId {
    let id = pool.take();
    pool[id].net_len = bytes;
    id
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// 1000 bytes take 8 ms.
fn link(queue: Box<dyn Queue>) -> Link {
    Link::new(queue, Some(Rate::from_mbps(1)), Random::named(1, "link"))
}

fn drop_tail() -> Box<dyn Queue> {
    Box::new(DropTail::new(QueueLimit::Packets(10)))
}

#[test]
fn an_idle_link_sends_at_once_and_needs_no_timer() {
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(drop_tail()));
    assert_eq!(link.next_deadline(), Time::NEVER);
    let id = packet(&mut pool, 1000);
    link.enqueue(at(5), id, &mut pool, &mut dropped);
    let departure = Departure { packet: id, until: at(13), waited: Span::ZERO, note: None };
    assert_eq!(link.serve(at(5), &mut pool, &mut dropped), Some(departure));
    assert_eq!(link.serve(at(5), &mut pool, &mut dropped), None);
    assert_eq!(link.next_deadline(), Time::NEVER, "nothing waits, so nothing is due");
}

#[test]
fn a_busy_link_serves_in_order_each_when_the_one_before_is_gone() {
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(drop_tail()));
    let ids: Vec<_> = (0..3).map(|_| packet(&mut pool, 1000)).collect();
    for &id in &ids {
        link.enqueue(at(0), id, &mut pool, &mut dropped);
    }
    for (n, &id) in ids.iter().enumerate() {
        let now = at(8 * n as u64);
        assert_eq!(link.next_deadline(), now);
        let departure = link.serve(now, &mut pool, &mut dropped).unwrap();
        let waited = Span::from_millis(8 * n as u64);
        assert_eq!(
            departure,
            Departure { packet: id, until: now + Span::from_millis(8), waited, note: None }
        );
        assert_eq!(link.serve(now + Span::from_millis(7), &mut pool, &mut dropped), None);
    }
    assert_eq!(link.next_deadline(), Time::NEVER);
    let late = packet(&mut pool, 1000);
    link.enqueue(at(20), late, &mut pool, &mut dropped);
    assert_eq!(link.serve(at(20), &mut pool, &mut dropped), None, "the last one leaves until 24 ms");
    assert_eq!(link.next_deadline(), at(24));
}

#[test]
fn a_link_without_a_rate_sends_everything_at_once() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let mut link = Link::new(drop_tail(), None, Random::named(1, "link"));
    for _ in 0..3 {
        let id = packet(&mut pool, 1000);
        link.enqueue(at(1), id, &mut pool, &mut dropped);
        let departure = link.serve(at(1), &mut pool, &mut dropped).unwrap();
        assert_eq!((departure.until, departure.waited), (at(1), Span::ZERO));
    }
}

/// Gives each packet 10 ms after the first request for it, or claims that now is later.
struct Reluctant {
    packets: Vec<PacketId>,
    ready: Option<Time>,
    lies: bool,
    asked: u32,
}

impl Queue for Reluctant {
    fn enqueue(&mut self, _ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.push(packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.asked += 1;
        let ready = *self.ready.get_or_insert(ev.now + Span::from_millis(10));
        match self.packets.is_empty() {
            true => Next::Empty,
            false if ev.now >= ready => Next::Packet(self.packets.remove(0)),
            false => Next::At(if self.lies { ev.now } else { ready }),
        }
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        ev.cleared.append(&mut self.packets);
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u32, bytes: 0 }
    }
}

#[test]
fn a_queue_that_says_when_is_asked_then_and_when_a_packet_comes() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let mut link = link(Box::new(Reluctant { packets: vec![], ready: None, lies: false, asked: 0 }));
    let first = packet(&mut pool, 1000);
    link.enqueue(at(0), first, &mut pool, &mut dropped);
    assert_eq!(link.serve(at(0), &mut pool, &mut dropped), None);
    assert_eq!(link.next_deadline(), at(10));
    assert_eq!(link.serve(at(9), &mut pool, &mut dropped), None);
    let second = packet(&mut pool, 1000);
    link.enqueue(at(9), second, &mut pool, &mut dropped);
    assert_eq!(link.next_deadline(), at(9), "a new packet may change the answer");
    assert_eq!(link.serve(at(9), &mut pool, &mut dropped), None);
    assert_eq!(link.serve(at(10), &mut pool, &mut dropped).map(|d| d.packet), Some(first));
    assert_eq!(link.next_deadline(), at(18));
}

#[test]
fn a_queue_that_says_now_for_ever_makes_time_pass_all_the_same() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let mut link = link(Box::new(Reluctant { packets: vec![], ready: None, lies: true, asked: 0 }));
    let id = packet(&mut pool, 1000);
    link.enqueue(at(0), id, &mut pool, &mut dropped);
    assert_eq!(link.serve(at(0), &mut pool, &mut dropped), None);
    assert!(link.next_deadline() > at(0));
}

#[test]
fn a_new_rate_counts_from_the_next_packet_on() {
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(drop_tail()));
    for _ in 0..2 {
        let id = packet(&mut pool, 1000);
        link.enqueue(at(0), id, &mut pool, &mut dropped);
    }
    assert_eq!(link.serve(at(0), &mut pool, &mut dropped).unwrap().until, at(8));
    link.set_rate(at(3), Some(Rate::from_mbps(4)));
    assert_eq!(link.next_deadline(), at(8));
    assert_eq!(link.serve(at(8), &mut pool, &mut dropped).unwrap().until, at(10));
}

#[test]
fn a_link_that_stood_still_goes_on_with_its_new_rate() {
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(drop_tail()));
    link.set_rate(at(1), Some(Rate::ZERO));
    let id = packet(&mut pool, 1000);
    link.enqueue(at(2), id, &mut pool, &mut dropped);
    assert_eq!(link.serve(at(2), &mut pool, &mut dropped), None);
    assert_eq!((link.next_deadline(), link.backlog().packets), (Time::NEVER, 1));
    link.set_rate(at(5), Some(Rate::from_mbps(1)));
    assert_eq!(link.next_deadline(), at(5));
    assert_eq!(link.serve(at(5), &mut pool, &mut dropped).unwrap().until, at(13));
}

#[test]
fn a_queue_whose_periodic_work_is_always_due_makes_time_pass_all_the_same() {
    struct Restless;
    impl Queue for Restless {
        fn enqueue(&mut self, _ev: &mut EnqueueEvent<'_>, _packet: PacketId) {}
        fn dequeue(&mut self, _ev: &mut DequeueEvent<'_>) -> Next {
            Next::Empty
        }
        fn next_deadline(&self) -> Time {
            at(1)
        }
        fn clear(&mut self, _ev: &mut ClearEvent<'_>) {}
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
    }
    let mut link = link(Box::new(Restless));
    assert_eq!(link.next_deadline(), at(1));
    link.on_deadline(at(5));
    assert!(link.next_deadline() > at(5));
}

#[test]
fn signals_that_the_queue_writes_count_in_the_length_of_what_leaves() {
    struct Writes(Option<PacketId>);
    impl Queue for Writes {
        fn enqueue(&mut self, _ev: &mut EnqueueEvent<'_>, packet: PacketId) {
            self.0 = Some(packet);
        }
        fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
            let Some(packet) = self.0.take() else { return Next::Empty };
            ev.pool[packet].header_mut().signals.set_type(908, u64::MAX);
            Next::Packet(packet)
        }
        fn clear(&mut self, _ev: &mut ClearEvent<'_>) {}
        fn backlog(&self) -> Backlog {
            Backlog::default()
        }
    }
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(Box::new(Writes(None))));
    let id = packet(&mut pool, 1000);
    link.enqueue(at(0), id, &mut pool, &mut dropped);
    let departure = link.serve(at(0), &mut pool, &mut dropped).unwrap();
    assert!(pool[id].wire_len() > 1000);
    assert_eq!(departure.until, Time::ZERO + Rate::from_mbps(1).time_for(Bytes::new(pool[id].wire_len())));
}

#[test]
fn a_shared_link_gives_one_packet_and_waits_until_it_is_released() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let mut link = Link::shared(drop_tail(), Random::named(1, "link"));
    let [first, second] = [0, 1].map(|_| packet(&mut pool, 1000));
    link.enqueue(at(1), first, &mut pool, &mut dropped);
    let departure = Departure { packet: first, until: Time::NEVER, waited: Span::ZERO, note: None };
    assert_eq!(link.serve(at(1), &mut pool, &mut dropped), Some(departure));
    link.enqueue(at(2), second, &mut pool, &mut dropped);
    link.set_rate(at(3), Some(Rate::from_mbps(1)));
    link.set_receive_rate(at(4), Some(Rate::from_mbps(1)));
    assert_eq!(link.serve(at(60_000), &mut pool, &mut dropped), None);
    assert_eq!(link.next_deadline(), Time::NEVER);
    link.release(at(60_001));
    assert_eq!(link.next_deadline(), at(60_001));
    let departure = link.serve(at(60_001), &mut pool, &mut dropped).unwrap();
    assert_eq!((departure.packet, departure.waited), (second, Span::from_millis(59_999)));
    link.release(at(60_002));
    assert_eq!(link.next_deadline(), Time::NEVER);
    let third = packet(&mut pool, 1000);
    link.enqueue(at(60_003), third, &mut pool, &mut dropped);
    assert_eq!(link.serve(at(60_003), &mut pool, &mut dropped).map(|d| d.packet), Some(third));
}

#[test]
fn to_release_a_link_that_has_its_own_rate_does_nothing() {
    let (mut pool, mut dropped, mut link) = (PacketPool::new(), Vec::new(), link(drop_tail()));
    for _ in 0..2 {
        let id = packet(&mut pool, 1000);
        link.enqueue(at(0), id, &mut pool, &mut dropped);
    }
    assert!(link.serve(at(0), &mut pool, &mut dropped).is_some());
    link.release(at(1));
    assert_eq!(link.serve(at(1), &mut pool, &mut dropped), None);
    assert_eq!(link.next_deadline(), at(8));
}

/// Lets packets leave once something has arrived.
struct Answering {
    packets: DropTail,
    opens: Time,
}

impl Queue for Answering {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if ev.now < self.opens { Next::At(self.opens) } else { self.packets.dequeue(ev) }
    }
    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        assert!(!ev.may_send);
        (self.opens, ev.may_send) = (ev.now, true);
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

#[test]
fn a_queue_that_may_send_because_of_a_packet_is_asked_at_once_or_when_its_link_is_free() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let queue = Answering { packets: DropTail::new(QueueLimit::Packets(10)), opens: at(1000) };
    let mut link = link(Box::new(queue));
    let arrive =
        |link: &mut Link, now| link.on_receive(now, &mut Packet::default(), Bytes::new(100), None, None);
    let ids: Vec<_> = (0..2).map(|_| packet(&mut pool, 1000)).collect();
    for &id in &ids {
        link.enqueue(at(0), id, &mut pool, &mut dropped);
    }
    assert_eq!(link.serve(at(0), &mut pool, &mut dropped), None);
    assert_eq!(link.next_deadline(), at(1000));
    assert!(arrive(&mut link, at(5)));
    assert_eq!(link.serve(at(5), &mut pool, &mut dropped).map(|d| d.packet), Some(ids[0]));
    assert!(arrive(&mut link, at(7)));
    assert_eq!(link.serve(at(7), &mut pool, &mut dropped), None, "the first one leaves until 13 ms");
    assert_eq!(link.next_deadline(), at(13));
    assert_eq!(link.serve(at(13), &mut pool, &mut dropped).map(|d| d.packet), Some(ids[1]));
    assert!(!arrive(&mut link, at(30)), "nothing waits");
    assert_eq!(link.next_deadline(), Time::NEVER);
}

/// Records what it is told about its link.
struct Measuring(DropTail, Arc<Mutex<Vec<SentEvent>>>);

impl Queue for Measuring {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.0.enqueue(ev, packet);
    }
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.0.dequeue(ev)
    }
    fn on_sent(&mut self, ev: &SentEvent) {
        self.1.lock().unwrap().push(*ev);
    }
    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.0.clear(ev);
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

#[test]
fn a_queue_hears_how_long_its_link_took_where_the_link_knows() {
    let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
    let told = Arc::<Mutex<Vec<SentEvent>>>::default();
    let queue = || Box::new(Measuring(DropTail::new(QueueLimit::Packets(10)), Arc::clone(&told)));
    let random = || Random::named(1, "link");
    let mut send = |link: &mut Link, now, bytes| {
        let id = packet(&mut pool, bytes);
        link.enqueue(now, id, &mut pool, &mut dropped);
        assert!(link.serve(now, &mut pool, &mut dropped).is_some());
        core::mem::take(&mut *told.lock().unwrap())
    };
    let sent =
        |now, bytes, millis| SentEvent { now, wire_len: Bytes::new(bytes), took: Span::from_millis(millis) };
    // At its rate: when the packet starts to leave. A new rate counts from the next packet on.
    let mut serial = link(queue());
    assert_eq!(send(&mut serial, at(5), 1000), [sent(at(5), 1000, 8)]);
    serial.set_rate(at(6), Some(Rate::from_mbps(2)));
    assert_eq!(send(&mut serial, at(20), 500), [sent(at(20), 500, 2)]);
    // A link without a rate never reports the duration.
    let mut unknown = Link::new(queue(), None, random());
    assert_eq!(send(&mut unknown, at(5), 1000), []);
    unknown.release(at(6));
    // On a shared medium: once, when the packet has left.
    let mut shared = Link::shared(queue(), random());
    assert_eq!(send(&mut shared, at(10), 1000), []);
    shared.release(at(17));
    assert_eq!(core::mem::take(&mut *told.lock().unwrap()), [sent(at(17), 1000, 7)]);
    shared.release(at(18));
    assert_eq!(*told.lock().unwrap(), []);
}
