//! When a queue marks what leaves by it.
//!
//! - `codel`: a packet that waited longer than the target, and all before it for an interval, is marked;
//!   the n-th mark is followed by the next after interval·1.1/√n (CoDel's control law, RFC 8289, section
//!   3.3, with a spacing of 1), until one waited for less.
//! - `bytes`: NFD's rule. More than the threshold waits for an interval: the packet that comes then is
//!   marked, and after the n-th mark another one interval/√(n + 1) later, until less waits.
//!
//! Nothing is dropped but what does not fit.

use weir_core::packet::PacketId;
use weir_core::params::Params;
use weir_core::queue::DropTail;
use weir_core::scheme::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit};
use weir_core::units::{Span, Time};

/// When to mark.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// For the time that packets waited; `spacing` is the interval between the first two marks.
    Codel { target: Span, interval: Span, spacing: Span },
    /// For the bytes that wait.
    Bytes { threshold: u64, interval: Span },
}

impl Rule {
    pub(super) fn new(params: &Params) -> Rule {
        let interval = params.span("interval");
        if params.text("marking") == "codel" {
            let (target, spacing) = (params.span("target"), interval.scale(params.number("spacing")));
            Rule::Codel { target, interval, spacing }
        } else {
            Rule::Bytes { threshold: params.bytes("threshold").as_u64(), interval }
        }
    }
}

/// One spell of congestion.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    since: Option<Time>,
    marks: u32,
    next: Time,
}

impl Spell {
    /// `codel`: whether the packet that leaves now after so long is marked.
    fn marks_waited(
        &mut self,
        now: Time,
        waited: Span,
        (target, interval, spacing): (Span, Span, Span),
    ) -> bool {
        if waited <= target {
            *self = Spell { next: self.next, ..Spell::default() };
            return false;
        }
        let since = *self.since.get_or_insert(now);
        if now <= since + interval || now < self.next {
            return false;
        }
        self.marks += 1;
        self.next = now + spacing.scale(1.0 / f64::from(self.marks).sqrt());
        true
    }

    /// `bytes`: whether the packet that comes now, with so many waiting, is marked.
    fn marks_waiting(&mut self, now: Time, bytes: u64, (threshold, interval): (u64, Span)) -> bool {
        if bytes <= threshold {
            *self = Spell::default();
            return false;
        }
        if self.since.is_none() {
            *self = Spell { since: Some(now), marks: 0, next: now + interval };
        }
        if now < self.next {
            return false;
        }
        self.marks += 1;
        self.next = self.next.max(now) + interval.scale(1.0 / f64::from(self.marks + 1).sqrt());
        true
    }
}

/// Drop-tail that marks.
#[derive(Debug)]
pub(super) struct MarkingQueue {
    packets: DropTail,
    rule: Rule,
    spell: Spell,
}

impl MarkingQueue {
    pub(super) fn new(rule: Rule, limit: QueueLimit) -> MarkingQueue {
        MarkingQueue { packets: DropTail::new(limit), rule, spell: Spell::default() }
    }
}

impl Queue for MarkingQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if let Rule::Bytes { threshold, interval } = self.rule {
            let bytes = self.packets.backlog().bytes;
            if self.spell.marks_waiting(ev.now, bytes, (threshold, interval)) {
                ev.pool[packet].header_mut().congestion_mark = 1;
            }
        }
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = self.packets.dequeue(ev);
        if let Next::Packet(id) = next
            && let Rule::Codel { target, interval, spacing } = self.rule
        {
            let waited = ev.now.since(ev.pool[id].queued_at);
            if self.spell.marks_waited(ev.now, waited, (target, interval, spacing)) {
                ev.pool[id].header_mut().congestion_mark = 1;
            }
        }
        next
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
    /// 1250 bytes at 10 Mb/s are 1 ms.
    const LEN: u32 = 1250;

    /// Times, in ms, of marks on a link that so many packets wait for; another comes whenever one leaves.
    fn marks(rule: Rule, waiting: u32, ms: u64) -> Vec<f64> {
        let queue = MarkingQueue::new(rule, QueueLimit::Packets(1000));
        let mut link = Link::new(Box::new(queue), Some(Rate::from_mbps(10)), Random::named(1, "link"));
        let (mut pool, mut dropped, mut now) = (PacketPool::new(), Vec::new(), Time::ZERO + MS);
        let mut put = |link: &mut Link, pool: &mut PacketPool, now| {
            let id = pool.take();
            pool[id].net_len = LEN;
            link.enqueue(now, id, pool, &mut dropped);
        };
        (0..=waiting).for_each(|_| put(&mut link, &mut pool, now));
        let mut marks = Vec::new();
        while now < Time::ZERO + MS * ms {
            let departure = link.serve(now, &mut pool, &mut Vec::new()).unwrap();
            if pool[departure.packet].header().congestion_mark != 0 {
                marks.push((now - Time::ZERO).as_millis_f64());
            }
            pool.free(departure.packet);
            put(&mut link, &mut pool, now);
            now = departure.until;
        }
        marks
    }

    /// RFC 8289, section 3.3: the next is interval/√count after the last.
    fn follow_the_control_law(marks: &[f64], first_interval: f64) {
        assert!(marks.len() > 20, "{marks:?}");
        for (n, pair) in marks.windows(2).enumerate() {
            let (spacing, law) = (pair[1] - pair[0], first_interval / (n as f64 + 1.0).sqrt());
            // A packet can only be marked when its turn comes, every millisecond.
            assert!((-0.01..=1.1).contains(&(spacing - law)), "mark {n}: after {spacing} ms, law {law}");
        }
    }

    #[test]
    fn marks_of_a_standing_queue_follow_codels_control_law() {
        let (target, interval) = (MS * 5, MS * 100);
        for spacing in [100, 110] {
            let marks = marks(Rule::Codel { target, interval, spacing: MS * spacing }, 20, 2000);
            // Those that were there first waited up to 20 ms: six of them for not more than the target.
            assert!((106.0..110.0).contains(&marks[0]), "{marks:?}");
            follow_the_control_law(&marks, spacing as f64);
        }
    }

    #[test]
    fn a_queue_within_the_target_is_not_marked() {
        let (target, interval, spacing) = (MS * 5, MS * 100, MS * 110);
        assert!(marks(Rule::Codel { target, interval, spacing }, 4, 2000).is_empty());
        assert!(!marks(Rule::Codel { target, interval, spacing }, 7, 2000).is_empty());
    }

    #[test]
    fn one_packet_in_time_ends_the_spell() {
        let mut spell = Spell::default();
        let law = (MS * 5, MS * 100, MS * 110);
        let at = |ms| Time::ZERO + MS * ms;
        let waits = |spell: &mut Spell, ms, waited| spell.marks_waited(at(ms), MS * waited, law);
        assert!(!waits(&mut spell, 0, 6) && !waits(&mut spell, 100, 6) && waits(&mut spell, 101, 6));
        assert!(!waits(&mut spell, 110, 5), "in time");
        assert!(!waits(&mut spell, 211, 6) && !waits(&mut spell, 311, 6) && waits(&mut spell, 312, 6));
        assert_eq!(spell.marks, 1, "counted anew");
    }

    #[test]
    fn bytes_that_wait_are_marked_as_nfd_does() {
        let rule = Rule::Bytes { threshold: 10_000, interval: MS * 100 };
        assert!(marks(rule, 8, 2000).is_empty(), "10 000 bytes are not more than 10 000");
        let marks = marks(rule, 40, 1000);
        // The first comes an interval late, to the packet at the queue's end, which waits for 41 ms.
        for (mark, law) in marks.iter().zip([0.0, 100.0 / 2_f64.sqrt(), 100.0 / 3_f64.sqrt()].iter().scan(
            142.0,
            |sum, step| {
                *sum += step;
                Some(*sum)
            },
        )) {
            assert!((mark - law).abs() < 2.0, "{mark}, law {law}: {marks:?}");
        }
    }
}
