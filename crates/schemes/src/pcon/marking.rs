//! The rules by which a queue marks leaving packets.
//!
//! - `codel`: PCON's CoDel (`codel-queue2`). A packet is marked if it waited longer than the target, and so did all
//!   packets before it for an interval. The next mark is due interval·1.1/√n after the n-th mark was made, until a
//!   packet waited for less. Then the count starts again, but no mark comes before the next was due.
//! - `rfc8289`: CoDel of K. Nichols et al., RFC 8289, section 5, with a mark in place of a drop. The next mark is due
//!   interval/√n after the n-th *was due*. A queue that holds no more than its longest packet is no congestion. If
//!   congestion returns within 16 intervals, it continues with nearly the previous count.
//! - `bytes`: NFD's rule ([`weir_core::link::marking`]).
//!
//! Packets are dropped only if they do not fit.

use core::ops::RangeInclusive;

use weir_core::link::marking::{Marker, Marking};
use weir_core::packet::PacketId;
use weir_core::seam::DropTail;
use weir_core::seam::{Backlog, ClearEvent, DequeueEvent, EnqueueEvent, Next, Queue, QueueLimit};
use weir_core::units::{Bytes, Span, Time};
use weir_core::{choice, parameters};

use crate::codel::{Codel, Departure, control_law};

const TIME: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(10);

parameters! {
    /// The parameters of marking.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// what causes marks: the packet's queueing delay, by PCON's CoDel or that of RFC 8289; or the waiting bytes,
        /// as in NFD
        by: By = choice("marking") default "codel"
            from "paper: Schneider et al., abstract, CoDel by queuing time; files: codel-queue2.cc";
        /// `codel`, `rfc8289`: a longer queueing delay is congestion, if it lasts an interval
        target: Span = span("target", TIME) default "5 ms"
            from "files: codel-queue2.cc, Target";
        /// `bytes`: a longer queue is congestion, if it lasts an interval
        threshold: Bytes = bytes("threshold") default "10000 B" from "files: qsccp/pcon, GenericLinkService";
        /// how long congestion lasts before the first mark
        interval: Span = span("interval", TIME) default "100 ms"
            from "files: codel-queue2.cc, Interval; NFD, baseCongestionMarkingInterval";
        /// `codel`: the next mark follows interval·spacing/√n after the n-th
        spacing: f64 = number("spacing", 0.1..=10.0) default "1.1" from "files: codel-queue2.cc, 1.1";
    }
}

choice! {
    /// What causes marks.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum By {
        /// The queueing delay of packets, by PCON's CoDel.
        Codel = "codel",
        /// The queueing delay of packets, by RFC 8289's CoDel.
        Rfc8289 = "rfc8289",
        /// The number of waiting bytes.
        Bytes = "bytes",
    }
}

/// A marking rule with its state.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// PCON's CoDel.
    Codel(Spell),
    /// RFC 8289's CoDel.
    Rfc8289(Codel),
    /// NFD's rule on waiting bytes.
    Bytes(Marking, Marker),
}

impl Rule {
    /// Returns the rule of a new queue.
    pub(super) fn new(settings: &Settings) -> Rule {
        let Settings { by, target, threshold, interval, spacing } = *settings;
        match by {
            By::Codel => Rule::Codel(Spell::new(target, interval, interval.scale(spacing))),
            By::Rfc8289 => Rule::Rfc8289(Codel::new(target, interval)),
            By::Bytes => Rule::Bytes(Marking { threshold: threshold.as_u64(), interval }, Marker::default()),
        }
    }
}

/// The state of PCON's CoDel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    target: Span,
    interval: Span,
    /// The time between the first two marks.
    spacing: Span,
    since: Option<Time>,
    marks: u32,
    next: Time,
}

impl Spell {
    fn new(target: Span, interval: Span, spacing: Span) -> Spell {
        Spell { target, interval, spacing, since: None, marks: 0, next: Time::ZERO }
    }

    /// Returns whether to mark this packet.
    fn marks(&mut self, Departure { now, waited, .. }: Departure) -> bool {
        if waited <= self.target {
            (self.since, self.marks) = (None, 0);
            return false;
        }
        let since = *self.since.get_or_insert(now);
        if now <= since + self.interval || now < self.next {
            return false;
        }
        self.marks = self.marks.saturating_add(1);
        self.next = now + control_law(self.spacing, self.marks);
        true
    }
}

/// A drop-tail queue that marks.
#[derive(Debug)]
pub(super) struct MarkingQueue {
    packets: DropTail,
    rule: Rule,
}

impl MarkingQueue {
    pub(super) fn new(rule: Rule, limit: QueueLimit) -> MarkingQueue {
        MarkingQueue { packets: DropTail::new(limit), rule }
    }
}

impl Queue for MarkingQueue {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if let Rule::Bytes(marking, marker) = &mut self.rule
            && marker.marks(ev.now, self.packets.backlog().bytes, *marking)
        {
            ev.pool[packet].header_mut().congestion_mark = 1;
        }
        self.packets.enqueue(ev, packet);
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        let next = self.packets.dequeue(ev);
        let Next::Packet(id) = next else { return next };
        let packet = &ev.pool[id];
        let departure = Departure {
            now: ev.now,
            waited: ev.now.since(packet.queued_at),
            length: packet.wire_len(),
            left: self.packets.backlog().bytes,
        };
        let is_marked = match &mut self.rule {
            Rule::Codel(spell) => spell.marks(departure),
            Rule::Rfc8289(codel) => codel.is_due(departure),
            Rule::Bytes(..) => false,
        };
        if is_marked {
            ev.pool[id].header_mut().congestion_mark = 1;
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
    /// 1250 bytes take 1 ms at 10 Mb/s.
    const LEN: u32 = 1250;

    /// Returns the times of marks, ms, on a link with this number of waiting packets. Another packet comes
    /// whenever one leaves.
    fn marks_at(mbps: u64, rule: Rule, waiting: u32, ms: u64) -> Vec<f64> {
        let queue = MarkingQueue::new(rule, QueueLimit::Packets(1000));
        let mut link = Link::new(Box::new(queue), Some(Rate::from_mbps(mbps)), Random::named(1, "link"));
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

    /// The same at 10 Mb/s, one packet a millisecond.
    fn marks(rule: Rule, waiting: u32, ms: u64) -> Vec<f64> {
        marks_at(10, rule, waiting, ms)
    }

    fn pcon(spacing: u64) -> Rule {
        Rule::Codel(Spell::new(MS * 5, MS * 100, MS * spacing))
    }

    fn rfc8289() -> Rule {
        Rule::Rfc8289(Codel::new(MS * 5, MS * 100))
    }

    fn bytes(threshold: u64) -> Rule {
        Rule::Bytes(Marking { threshold, interval: MS * 100 }, Marker::default())
    }

    /// Returns the times at which marks are due, ms, from the first one on: mark n + 1 is due interval/√(n +
    /// `more`) after mark n.
    fn due(first: f64, interval: f64, more: f64, until_ms: f64) -> Vec<f64> {
        let mut due = vec![first];
        loop {
            let next = due[due.len() - 1] + interval / (due.len() as f64 + more).sqrt();
            if next >= until_ms {
                return due;
            }
            due.push(next);
        }
    }

    /// Checks that each mark is made by the first packet that leaves after the mark was due. One packet
    /// leaves every millisecond, plus the time of the mark's own bytes.
    fn follow(marks: &[f64], due: &[f64]) {
        assert!(due.len() > 100, "{due:?}");
        assert_eq!(marks.len(), due.len());
        for (n, (mark, due)) in marks.iter().zip(due).enumerate() {
            assert!((-0.001..=1.02).contains(&(mark - due)), "mark {n} at {mark} ms, due at {due} ms");
        }
    }

    #[test]
    fn marks_of_a_standing_queue_are_due_by_rfc_8289() {
        let marks = marks(rfc8289(), 20, 2001);
        // The packets queued at the start waited up to 20 ms; five of them waited for less than the target.
        assert_eq!(marks[0], 106.0);
        follow(&marks, &due(marks[0], 100.0, 0.0, 2001.0));
    }

    /// On a slow link few packets leave. Marks that fell due in between are made up for, one mark a packet.
    #[test]
    fn marks_that_were_due_between_two_packets_are_made_up_for() {
        let until = 1900;
        let of = |rule| marks_at(1, rule, 20, until);
        let (by_rfc, by_pcon) = (of(rfc8289()), of(pcon(100)));
        let due = due(by_rfc[0], 100.0, 0.0, until as f64).len();
        assert!(by_rfc.len().abs_diff(due) <= 1, "{}, due {due}", by_rfc.len());
        assert!(by_pcon.len() < due * 3 / 4, "PCON's counts from the mark itself: {}", by_pcon.len());
    }

    #[test]
    fn pcons_marks_of_a_standing_queue_are_spaced_from_one_to_the_next() {
        for spacing in [100, 110] {
            let marks = marks(pcon(spacing), 20, 2000);
            // The packets queued at the start waited up to 20 ms; six of them waited for at most the target.
            assert_eq!(marks[0], 108.0);
            assert!(marks.len() > 50, "{marks:?}");
            for (n, pair) in marks.windows(2).enumerate() {
                let law = spacing as f64 / (n as f64 + 1.0).sqrt();
                let more = pair[1] - pair[0] - law;
                assert!((-0.001..=1.001).contains(&more), "mark {n}: {more} ms more than {law} ms");
            }
        }
    }

    #[test]
    fn a_queue_within_the_target_is_not_marked() {
        // A delay equal to the target is not congestion, except by the RFC.
        for (rule, waiting) in [(pcon(110), 4), (rfc8289(), 3)] {
            assert!(marks(rule, waiting, 2000).is_empty());
            assert!(!marks(rule, waiting + 1, 2000).is_empty());
        }
    }

    /// At 1 Mb/s a packet takes 10 ms, twice the target.
    #[test]
    fn by_rfc_8289_a_queue_of_one_packet_is_no_congestion() {
        assert!(marks_at(1, rfc8289(), 1, 4000).is_empty());
        assert!(!marks_at(1, rfc8289(), 3, 4000).is_empty());
        assert!(!marks_at(1, pcon(110), 1, 4000).is_empty(), "PCON's has no such rule");
    }

    fn leaves(ms: u64, waited_ms: u64) -> Departure {
        Departure { now: Time::ZERO + MS * ms, waited: MS * waited_ms, length: 1000, left: 5000 }
    }

    #[test]
    fn one_packet_in_time_ends_the_spell() {
        let mut spell = Spell::new(MS * 5, MS * 100, MS * 110);
        let mut waits = |ms, waited| spell.marks(leaves(ms, waited));
        assert!(!waits(0, 6) && !waits(100, 6) && waits(101, 6));
        assert!(!waits(110, 5), "in time");
        assert!(!waits(211, 6) && !waits(311, 6) && waits(312, 6));
        assert_eq!(spell.marks, 1, "counted anew");
    }

    #[test]
    fn bytes_that_wait_are_marked_as_nfd_does() {
        assert!(marks(bytes(10_000), 8, 2000).is_empty(), "10 000 bytes are not more than 10 000");
        // An arriving packet waits until all packets before it have left, here 41.
        let marks = marks(bytes(10_000), 40, 2041);
        assert_eq!(marks[0], 142.0);
        follow(&marks, &due(142.0, 100.0, 1.0, 2041.0));
        let slow = marks_at(1, bytes(10_000), 40, 2100);
        let due = due(slow[0], 100.0, 1.0, 2100.0).len();
        assert!(slow.len() > 60 && slow.len().abs_diff(due) <= 1, "{}, due {due}", slow.len());
    }
}
