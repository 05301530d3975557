//! CoDel in a router: K. Nichols, V. Jacobson, A. McGregor, J. Iyengar, "Controlled Delay Active Queue Management",
//! RFC 8289, section 5. Names are the RFC's.
//!
//! ```text
//!                    sojourn ≥ TARGET for an INTERVAL: drops one
//!   not dropping -------------------------------------------------> dropping:  the n-th drop is followed by the next
//!        ^                                                             |       after INTERVAL/√n, counted from when it was due
//!        +-------------------------------------------------------------+
//!          a packet waited for less, or no more than one packet waits
//! ```
//!
//! [`Codel`] decides which packets are due. [`CodelQueue`] drops them at the head of the queue. A queue that holds no more
//! than its longest packet is not congested. A queue that returns to the dropping state within 16 intervals continues
//! with its count of drops (5.6).

use weir_core::packet::PacketId;
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, DropTail, Dropped, EnqueueEvent, Next, Queue, QueueLimit,
};
use weir_core::units::{Span, Time};

/// A return to the dropping state within this number of intervals counts as "soon" (5.6).
const SOON: u64 = 16;

/// The packet at the head of the queue when the link becomes free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) now: Time,
    /// The packet's sojourn time.
    pub(crate) waited: Span,
    /// The packet's length, and the bytes that remain queued behind it.
    pub(crate) length: u64,
    pub(crate) left: u64,
}

/// The control law of 5.5: returns `interval`/√n.
pub(crate) fn control_law(interval: Span, count: u32) -> Span {
    interval.scale(1.0 / f64::from(count).sqrt())
}

/// The CoDel state of 5.3, with the rules of 5.4 and 5.6.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codel {
    target: Span,
    interval: Span,
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// Whether the last packet was dropped because the queue was behind schedule: `drop_next` is still the
    /// time of that drop.
    is_behind: bool,
    maxpacket: u64,
}

impl Codel {
    pub(crate) fn new(target: Span, interval: Span) -> Codel {
        Codel {
            target,
            interval,
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            is_behind: false,
            maxpacket: 0,
        }
    }

    /// deque(): returns whether to drop, or mark, this packet. A queue that drops it calls this again at once
    /// for the next one.
    pub(crate) fn is_due(&mut self, departure: Departure) -> bool {
        let is_ok = self.is_ok_to_drop(departure);
        let is_behind = core::mem::take(&mut self.is_behind);
        if !is_ok {
            self.dropping = false;
            return false;
        }
        if !self.dropping {
            self.begin(departure.now);
            return true;
        }
        if is_behind {
            self.drop_next += control_law(self.interval, self.count);
        }
        if departure.now < self.drop_next {
            return false;
        }
        self.count = self.count.saturating_add(1);
        self.is_behind = true;
        true
    }

    /// dodequeue(): returns whether the sojourn time has been at least `target` for a whole interval.
    fn is_ok_to_drop(&mut self, Departure { now, waited, length, left }: Departure) -> bool {
        self.maxpacket = self.maxpacket.max(length);
        if waited < self.target || left <= self.maxpacket {
            self.first_above_time = None;
            return false;
        }
        now >= *self.first_above_time.get_or_insert(now + self.interval)
    }

    /// Enters the dropping state.
    fn begin(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.lastcount);
        let is_soon = now < self.drop_next + self.interval * SOON;
        self.count = if delta > 1 && is_soon { delta } else { 1 };
        self.drop_next = now + control_law(self.interval, self.count);
        self.lastcount = self.count;
    }
}

/// A first-in first-out queue. It drops packets at its head by CoDel, and arriving packets that do not fit.
/// It does not distinguish kinds of packets.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    packets: DropTail,
    codel: Codel,
}

impl CodelQueue {
    pub(crate) fn new(limit: QueueLimit, target: Span, interval: Span) -> CodelQueue {
        CodelQueue { packets: DropTail::new(limit), codel: Codel::new(target, interval) }
    }
}

impl Queue for CodelQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        while let Some(packet) = self.packets.pop(ev.pool) {
            let departure = Departure {
                now: ev.now,
                waited: ev.now.since(ev.pool[packet].queued_at),
                length: ev.pool[packet].wire_len(),
                left: self.packets.backlog().bytes,
            };
            if !self.codel.is_due(departure) {
                return Next::Packet(packet);
            }
            ev.dropped.push(Dropped { packet, reason: DropReason::QueueManagement, nack: None });
        }
        Next::Empty
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::link::Link;
    use weir_core::packet::PacketPool;
    use weir_core::random::Random;
    use weir_core::units::Rate;

    const MS: Span = Span::from_millis(1);
    /// 1250 bytes take 1 ms at 10 Mb/s.
    const LEN: u32 = 1250;
    const TARGET: Span = Span::from_millis(5);
    const INTERVAL: Span = Span::from_millis(100);

    /// A 10 Mb/s link behind CoDel. The test sets the number of queued packets.
    struct Bench {
        link: Link,
        pool: PacketPool,
        now: Time,
        drops: Vec<f64>,
    }

    impl Bench {
        fn new() -> Bench {
            let queue = CodelQueue::new(QueueLimit::Packets(1000), TARGET, INTERVAL);
            let link = Link::new(Box::new(queue), Some(Rate::from_mbps(10)), Random::named(1, "link"));
            Bench { link, pool: PacketPool::new(), now: Time::ZERO + MS, drops: Vec::new() }
        }

        fn put(&mut self) {
            let id = self.pool.take();
            self.pool[id].net_len = LEN;
            self.link.enqueue(self.now, id, &mut self.pool, &mut Vec::new());
        }

        fn waiting(&self) -> u32 {
            self.link.backlog().packets
        }

        /// Sends one packet. The link is free a millisecond later. Appends the times of drops to `drops`, ms.
        fn leave(&mut self) {
            let mut dropped = Vec::new();
            let departure = self.link.serve(self.now, &mut self.pool, &mut dropped).unwrap();
            self.pool.free(departure.packet);
            for dropped in dropped {
                assert_eq!((dropped.reason, dropped.nack), (DropReason::QueueManagement, None));
                self.pool.free(dropped.packet);
                self.drops.push((self.now - Time::ZERO).as_millis_f64());
            }
            self.now = departure.until;
        }

        /// Keeps this number of packets queued at each departure until `until_ms`.
        fn stand(&mut self, waiting: u32, until_ms: u64) {
            while self.now < Time::ZERO + MS * until_ms {
                while self.waiting() <= waiting {
                    self.put();
                }
                self.leave();
            }
        }
    }

    /// Times at which drops are due by 5.5: drop n + 1 is due interval/√n after drop n was due.
    fn due(first: f64, until_ms: f64) -> Vec<f64> {
        let mut due = vec![first];
        while let Some(last) = due.last().copied().filter(|last| *last < until_ms) {
            due.push(last + 100.0 / (due.len() as f64).sqrt());
        }
        due.pop();
        due
    }

    #[test]
    fn drops_of_a_standing_queue_are_due_by_the_control_law() {
        let mut bench = Bench::new();
        bench.stand(20, 3001);
        // The packets queued at the start waited up to 20 ms; five of them waited for less than the target.
        assert_eq!(bench.drops[0], 106.0);
        let due = due(106.0, 3001.0);
        assert!(due.len() > 200);
        assert_eq!(bench.drops.len(), due.len());
        for (n, (drop, due)) in bench.drops.iter().zip(due).enumerate() {
            // The drop is the first packet that would leave after the due time.
            assert!((-0.001..=1.001).contains(&(drop - due)), "drop {n} at {drop} ms, due at {due} ms");
        }
    }

    /// Several drops that fall due between two packets happen in one call.
    #[test]
    fn drops_that_came_due_between_two_packets_are_made_up_for() {
        let mut bench = Bench::new();
        bench.stand(20, 1000);
        let before = bench.drops.len();
        bench.now += MS * 200;
        bench.leave();
        let at_once = bench.drops.len() - before;
        let mut later = Bench::new();
        later.stand(20, 1200);
        assert!(at_once > 3 && (before + at_once).abs_diff(later.drops.len()) <= 1, "{before}, {at_once}");
    }

    #[test]
    fn a_queue_within_the_target_loses_nothing() {
        for (waiting, drops) in [(3, false), (4, false), (5, true)] {
            let mut bench = Bench::new();
            bench.stand(waiting, 2000);
            assert_eq!(!bench.drops.is_empty(), drops, "{waiting}");
        }
    }

    /// 5.4: at 1 ms a packet, ten packets for 99 ms are not a standing queue.
    #[test]
    fn a_burst_that_drains_within_an_interval_loses_nothing() {
        let mut bench = Bench::new();
        (0..90).for_each(|_| bench.put());
        (0..90).for_each(|_| bench.leave());
        assert_eq!((bench.drops.len(), bench.waiting()), (0, 0));
    }

    /// 5.4: a packet that takes longer than the target on the link delays only one other packet.
    #[test]
    fn no_more_than_one_packet_waiting_is_no_congestion() {
        let mut codel = Codel::new(TARGET, INTERVAL);
        let leaves =
            |ms: u64, left| Departure { now: Time::ZERO + MS * ms, waited: MS * 10, length: 1000, left };
        assert!((0..1000).all(|step| !codel.is_due(leaves(step * 10, 1000))));
        assert!((1000..1100).any(|step| codel.is_due(leaves(step * 10, 1001))));
    }

    fn leaves(ms: u64, waited_ms: u64) -> Departure {
        Departure { now: Time::ZERO + MS * ms, waited: MS * waited_ms, length: 1000, left: 5000 }
    }

    /// 5.6: if the queue was controlled a short time ago, control continues at that drop rate.
    #[test]
    fn who_is_soon_back_goes_on_with_nearly_the_same_count() {
        for (pause, count) in [(200, 9), (5000, 1)] {
            let mut codel = Codel::new(TARGET, INTERVAL);
            let (mut drops, mut now) = (0, 0);
            while drops < 10 {
                drops += u32::from(codel.is_due(leaves(now, 6)));
                now += 1;
            }
            assert!(!codel.is_due(leaves(now, 4)), "in time");
            now += pause;
            let back = (now..).find(|&ms| codel.is_due(leaves(ms, 6))).unwrap();
            assert_eq!((back - now, codel.count), (100, count));
        }
    }

    #[test]
    fn soon_is_16_intervals_after_the_next_drop_would_have_been_due() {
        for (later, count) in [(1599, 2), (1601, 1)] {
            let mut codel = Codel::new(TARGET, INTERVAL);
            let drops: Vec<u64> = (0..280).filter(|&ms| codel.is_due(leaves(ms, 6))).collect();
            // The third drop is due 70.7 ms after the second. The fourth would be due 57.7 ms later, at 328.4
            // ms.
            assert_eq!((drops, codel.count), (vec![100, 200, 271], 3));
            assert!(!codel.is_due(leaves(280, 4)));
            let due = 328 + later;
            assert!(!codel.is_due(leaves(due - 100, 6)) && codel.is_due(leaves(due, 6)), "{later}");
            assert_eq!(codel.count, count, "{later}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_and_no_drop_of_codel() {
        let mut queue = CodelQueue::new(QueueLimit::Packets(1), TARGET, INTERVAL);
        let (mut pool, mut dropped, mut random) = (PacketPool::new(), Vec::new(), Random::named(1, "queue"));
        for _ in 0..2 {
            let id = pool.take();
            let (now, pool, random) = (Time::ZERO, &mut pool, &mut random);
            queue.enqueue(
                &mut EnqueueEvent { now, pool, dropped: &mut dropped, random, keeps_prefix: false },
                id,
            );
        }
        let reasons: Vec<_> = dropped.iter().map(|dropped| dropped.reason).collect();
        assert_eq!(reasons, [DropReason::QueueFull]);
    }
}
