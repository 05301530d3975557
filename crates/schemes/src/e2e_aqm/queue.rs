//! The router, section 3 and Algorithm 1: a drop-tail queue that writes its delay or its rate into leaving Data.
//!
//! ```text
//!   a Data leaves:  i = Count + 1, 1 without a mark
//!                   with probability 1/i:  Queue ID = own,  R = a fair coin,  value = delay or rate
//!                   Count = i
//! ```
//!
//! So the mark of each of N queues arrives with probability 1/N (Lemma 1).

use weir_core::packet::PacketId;
use weir_core::random::Random;
use weir_core::seam::DropTail;
use weir_core::seam::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit};
use weir_core::units::{Bytes, Span, Time};

use super::mark::{self, Mark, Reading};

/// A drop-tail queue that marks leaving Data.
#[derive(Debug)]
pub(super) struct MarkingQueue {
    packets: DropTail,
    /// The Queue ID; it is drawn when the first packet leaves.
    id: Option<u32>,
    rate: RateMeter,
}

impl MarkingQueue {
    /// Builds the queue. The rate is measured over at least `sample` bytes.
    pub(super) fn new(limit: QueueLimit, sample: Bytes) -> MarkingQueue {
        MarkingQueue { packets: DropTail::new(limit), id: None, rate: RateMeter::new(sample) }
    }

    /// MARKOUTGOINGPACKET: returns the mark of a Data that arrived at the head with the mark `field` and was
    /// queued for `delay`.
    fn marked(&mut self, field: u64, now: Time, delay: Span, random: &mut Random) -> u64 {
        let queue = *self.id.get_or_insert_with(|| random.next_u32());
        let hops = u32::from(mark::count(field)) + 1;
        let count = u8::try_from(hops).unwrap_or(u8::MAX);
        if hops > 1 && random.below(hops) != 0 {
            return mark::with_count(field, count);
        }
        let is_rate = random.next_u32() >> 31 == 1;
        let reading = if is_rate { Reading::Rate(self.rate.read(now)) } else { Reading::Delay(delay) };
        Mark { queue, count, reading }.encode()
    }
}

impl Queue for MarkingQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = self.packets.dequeue(ev);
        let Next::Packet(id) = next else { return next };
        let packet = &mut ev.pool[id];
        if packet.is_data() {
            let delay = ev.now.since(packet.queued_at);
            let field = packet.header().congestion_mark;
            packet.header_mut().congestion_mark = self.marked(field, ev.now, delay, ev.random);
        }
        self.rate.on_sent(ev.now, packet.wire_len());
        next
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.packets.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }
}

/// The rate at which packets leave, measured as in the authors' program: over the bytes since the last
/// reading, if there are enough; else the last rate.
#[derive(Debug)]
struct RateMeter {
    sample: u64,
    /// The start of the measurement; `None` before the first packet. Then the bytes that left since.
    since: Option<Time>,
    bytes: u64,
    /// The rate, bit/s; 0 before it is known.
    rate: f64,
}

impl RateMeter {
    fn new(sample: Bytes) -> RateMeter {
        RateMeter { sample: sample.as_u64(), since: None, bytes: 0, rate: 0.0 }
    }

    /// Counts a packet that begins to leave.
    fn on_sent(&mut self, now: Time, bytes: u64) {
        self.since.get_or_insert(now);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Returns r, without the packet that leaves now.
    fn read(&mut self, now: Time) -> f64 {
        if let Some(since) = self.since
            && self.bytes > self.sample
            && now > since
        {
            self.rate = (8 * self.bytes) as f64 / now.since(since).as_secs_f64();
            (self.since, self.bytes) = (Some(now), 0);
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use weir_core::link::Link;
    use weir_core::packet::{Kind, PacketPool};
    use weir_core::units::Rate;

    const LIMIT: QueueLimit = QueueLimit::Packets(2000);
    const SAMPLE: Bytes = Bytes::new(10_000);

    /// A queue, with a test that adds packets and takes them as they leave.
    struct Bench {
        link: Link,
        pool: PacketPool,
        now: Time,
    }

    impl Bench {
        fn new(name: &str, mbps: u64) -> Bench {
            let queue = Box::new(MarkingQueue::new(LIMIT, SAMPLE));
            let link = Link::new(queue, Some(Rate::from_mbps(mbps)), Random::named(1, name));
            Bench { link, pool: PacketPool::new(), now: Time::from_nanos(1) }
        }

        fn put(&mut self, kind: Kind, field: u64) {
            let id = self.pool.take();
            self.pool[id].kind = kind;
            self.pool[id].net_len = 1060;
            self.pool[id].header_mut().congestion_mark = field;
            self.link.enqueue(self.now, id, &mut self.pool, &mut Vec::new());
        }

        /// Returns the mark of the next packet that leaves when the link is free, and its time on the link.
        fn leave(&mut self) -> (u64, Span) {
            let departure = self.link.serve(self.now, &mut self.pool, &mut Vec::new()).unwrap();
            let field = self.pool[departure.packet].header().congestion_mark;
            self.pool.free(departure.packet);
            let took = departure.until - self.now;
            self.now = departure.until;
            (field, took)
        }

        /// Passes a Data with this mark through the empty queue.
        fn pass(&mut self, field: u64) -> u64 {
            self.put(Kind::Data, field);
            self.leave().0
        }
    }

    fn path(queues: usize) -> Vec<Bench> {
        (0..queues).map(|n| Bench::new(&format!("queue {n}"), 100)).collect()
    }

    fn through(path: &mut [Bench]) -> Mark {
        let field = path.iter_mut().fold(0, |field, queue| queue.pass(field));
        Mark::decode(field).unwrap()
    }

    /// Returns the number of marks that arrive from each queue of a path, in order.
    fn arrivals(path: &mut [Bench], data: u32) -> Vec<u32> {
        let mut of = BTreeMap::new();
        let ids: Vec<u32> = path.iter_mut().map(|queue| Mark::decode(queue.pass(0)).unwrap().queue).collect();
        for _ in 0..data {
            let mark = through(path);
            assert_eq!(usize::from(mark.count), path.len());
            *of.entry(mark.queue).or_insert(0) += 1;
        }
        assert!(of.keys().all(|queue| ids.contains(queue)), "{of:?}");
        ids.iter().map(|id| of.get(id).copied().unwrap_or(0)).collect()
    }

    /// Lemma 1: P_a(j) = 1/N for each queue j of N. Tests by chi² against its 99.99th percentile for N - 1
    /// degrees of freedom.
    #[test]
    fn of_n_queues_each_has_one_nth_of_the_marks() {
        for (queues, bound) in [(2, 15.14), (3, 18.42), (5, 23.51), (13, 39.13)] {
            let data = 20_000;
            let expected = f64::from(data) / queues as f64;
            let found = arrivals(&mut path(queues), data);
            let chi: f64 = found.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
            assert!(chi < bound, "{queues} queues: {found:?}, chi² {chi}");
        }
    }

    #[test]
    fn half_of_the_marks_tell_the_delay_and_half_the_rate() {
        let mut path = path(3);
        let rates = (0..20_000).filter(|_| matches!(through(&mut path).reading, Reading::Rate(_))).count();
        assert!((9_700..10_300).contains(&rates), "{rates} of 20 000: four standard deviations are 283");
    }

    #[test]
    fn the_first_queue_marks_every_data_and_no_interest_or_nack() {
        let mut queue = Bench::new("queue", 100);
        for _ in 0..100 {
            assert_eq!(Mark::decode(queue.pass(0)).unwrap().count, 1);
        }
        for kind in [Kind::Interest, Kind::Nack] {
            queue.put(kind, 0);
            assert_eq!(queue.leave().0, 0, "{kind:?}");
        }
    }

    #[test]
    fn every_queue_has_an_id_of_its_own_for_ever() {
        let of = |name: &str| {
            let mut queue = Bench::new(name, 100);
            let ids = [0; 50].map(|_| Mark::decode(queue.pass(0)).unwrap().queue);
            assert!(ids.iter().all(|id| *id == ids[0]));
            ids[0]
        };
        let mut ids: Vec<u32> = (0..64).map(|n| of(&format!("queue {n}"))).collect();
        ids.sort_unstable();
        ids.dedup();
        // (2): two ids of 64 are equal once in two million paths. This path is fixed.
        assert_eq!(ids.len(), 64);
    }

    /// In a backlog that drains, each packet reports its own delay.
    #[test]
    fn the_delay_is_that_of_the_packet_itself() {
        let mut queue = Bench::new("queue", 10);
        (0..60).for_each(|_| queue.put(Kind::Data, 0));
        let (begin, mut told) = (queue.now, 0);
        for _ in 0..60 {
            let waited = queue.now - begin;
            if let Some(Mark { reading: Reading::Delay(delay), .. }) = Mark::decode(queue.leave().0) {
                assert!(
                    delay <= waited && (waited - delay).as_nanos() <= waited.as_nanos() / 16_000,
                    "{delay}, {waited}"
                );
                told += 1;
            }
        }
        assert!(told > 15);
    }

    fn rates(queue: &mut Bench, idle: Span) -> Vec<f64> {
        let mut rates = Vec::new();
        for _ in 0..400 {
            queue.put(Kind::Data, 0);
            if let Some(Mark { reading: Reading::Rate(rate), .. }) = Mark::decode(queue.leave().0) {
                rates.push(rate);
            }
            queue.now += idle;
        }
        rates
    }

    #[test]
    fn the_rate_is_that_of_what_leaves_once_10_kb_have_left() {
        let mut busy = Bench::new("queue", 100);
        let busy = rates(&mut busy, Span::ZERO);
        assert!(busy.iter().all(|rate| *rate == 0.0 || (rate / 100e6 - 1.0).abs() < 1e-3), "{busy:?}");
        assert!(busy[0] == 0.0 && busy[20] > 0.0);
        // A packet takes 86 µs, and the link is idle for as long.
        let mut half = Bench::new("queue", 100);
        let half = rates(&mut half, Span::from_nanos(86_080));
        assert!(half.iter().skip(20).all(|rate| (rate / 50e6 - 1.0).abs() < 0.01), "{half:?}");
    }

    /// A Data goes to two downstreams, and each face draws for its own copy. The probability that both
    /// replace a mark of one hop is 1/2 · 1/2.
    #[test]
    fn copies_of_a_data_to_several_faces_are_marked_independently() {
        let mut faces = ["face 1", "face 2"].map(|name| Bench::new(name, 100));
        let from = Mark { queue: 7, count: 1, reading: Reading::Delay(Span::ZERO) }.encode();
        let mut found = [0; 4];
        for _ in 0..20_000 {
            let [one, two] = faces
                .each_mut()
                .map(|face| usize::from(Mark::decode(face.pass(from)).is_some_and(|mark| mark.queue != 7)));
            found[2 * one + two] += 1;
        }
        let chi: f64 = found.iter().map(|n| (f64::from(*n) - 5000.0).powi(2) / 5000.0).sum();
        assert!(
            chi < 21.11,
            "{found:?}, chi² {chi}; its 99.99th percentile for 3 degrees of freedom is 21.11"
        );
    }

    /// The first rate after an idle link counts the idle time. The next rate, 10 000 bytes later, does not.
    #[test]
    fn after_an_idle_time_one_rate_is_too_low_and_the_next_is_right() {
        let mut meter = RateMeter::new(SAMPLE);
        // A packet of 1250 bytes every 0.1 ms is 100 Mb/s.
        let mut now = Time::from_nanos(1);
        let mut busy = |meter: &mut RateMeter, pause: Span, packets: u32| {
            now += pause;
            for _ in 0..packets {
                meter.on_sent(now, 1250);
                now += Span::from_micros(100);
            }
            meter.read(now)
        };
        assert_eq!(busy(&mut meter, Span::ZERO, 9).round(), 100e6);
        let first = busy(&mut meter, Span::from_secs(1), 9);
        assert!(first < 0.1e6, "{first}");
        assert_eq!(
            busy(&mut meter, Span::ZERO, 8).round(),
            first.round(),
            "10 000 bytes are not more than 10 000"
        );
        assert_eq!(busy(&mut meter, Span::ZERO, 1).round(), 100e6);
    }

    #[test]
    fn a_mark_that_is_none_of_this_scheme_is_replaced() {
        // i = Count + 1 = 1.
        let mut queue = Bench::new("queue", 100);
        assert_eq!(Mark::decode(queue.pass(1)).unwrap().count, 1);
    }

    #[test]
    fn a_count_stays_at_255() {
        let mut queue = Bench::new("queue", 100);
        let full = Mark { queue: 7, count: 255, reading: Reading::Rate(1e6) }.encode();
        let passed: Vec<_> = (0..2000).map(|_| Mark::decode(queue.pass(full)).unwrap()).collect();
        assert!(passed.iter().all(|mark| mark.count == 255));
        let own = passed.iter().filter(|mark| mark.queue != 7).count();
        assert!((1..25).contains(&own), "{own} of 2000 at 1/256");
    }
}
