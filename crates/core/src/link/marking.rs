//! NFD's congestion marks: a face marks packets when too many bytes wait in front of it.
//!
//! The algorithm follows `GenericLinkService::checkCongestionLevel` of NFD 0.7, after CoDel (RFC 8289). When
//! more than a threshold has waited for an interval, the next arriving packet is marked. The (n + 1)-th mark
//! is due interval/√(n + 1) after the n-th mark *was due*, regardless of when that was made. Marking ends
//! when the queue is at the threshold or below.

use crate::units::{Span, Time};

/// Parameters of the marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// Threshold: a longer queue is congested, bytes.
    pub threshold: u64,
    /// How long the queue must stay above the threshold before the first mark. The times between marks derive
    /// from it.
    pub interval: Span,
}

/// The marking state of one face.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marker {
    /// When the next packet is to be marked; `None` while the queue is at the threshold or below.
    next: Option<Time>,
    /// Number of marks since the queue rose above the threshold.
    marks: u32,
}

impl Marker {
    /// Returns whether to mark the arriving packet. `waiting` counts the bytes in the queue without this
    /// packet.
    pub fn marks(&mut self, now: Time, waiting: u64, marking: Marking) -> bool {
        if waiting <= marking.threshold {
            *self = Marker::default();
            return false;
        }
        let next = *self.next.get_or_insert(now + marking.interval);
        if now < next {
            return false;
        }
        self.marks = self.marks.saturating_add(1);
        self.next = Some(next + marking.interval.scale(1.0 / (f64::from(self.marks) + 1.0).sqrt()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);
    const MARKING: Marking = Marking { threshold: 1000, interval: Span::from_millis(100) };

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// Times, ms, at which packets with this spacing are marked.
    fn marked(spacing_ms: usize, until_ms: u64) -> Vec<u64> {
        let mut marker = Marker::default();
        (0..until_ms).step_by(spacing_ms).filter(|&ms| marker.marks(at(ms), 1001, MARKING)).collect()
    }

    /// When marks are due, ms: the first after an interval; the n-th is followed by the next after
    /// interval/√(n + 1).
    fn due(until_ms: u64) -> Vec<f64> {
        let spacing = (2..).map(|n: u32| 100.0 / f64::from(n).sqrt());
        let times = spacing.scan(100.0, |next, step| {
            let due = *next;
            *next += step;
            Some(due)
        });
        times.take_while(|due| *due < until_ms as f64).collect()
    }

    #[test]
    fn each_mark_is_made_by_the_first_packet_after_it_was_due() {
        let (marked, due) = (marked(1, 5000), due(4999));
        assert!(due.len() > 500, "{}", due.len());
        assert_eq!(marked.len(), due.len());
        for (marked, due) in marked.iter().zip(due) {
            // Times are whole nanoseconds. If a mark is due exactly at a packet's arrival, its neighbour may
            // get it.
            assert!((-0.001..1.001).contains(&(*marked as f64 - due)), "{marked} ms, due at {due} ms");
        }
    }

    /// If packets come less often than marks are due, each is marked, and missed marks are made up for: NFD
    /// counts from the time when a mark was due.
    #[test]
    fn marks_that_no_packet_came_for_are_made_up_for() {
        let seldom = marked(9, 2000);
        assert!(seldom.len() >= 110, "{}: counted from the marks themselves it is 100", seldom.len());
        assert!(seldom.len() <= due(2000).len());
    }

    #[test]
    fn a_queue_that_is_short_once_is_marked_anew_after_an_interval() {
        let mut marker = Marker::default();
        (0..1000).for_each(|ms| {
            marker.marks(at(ms), 2000, MARKING);
        });
        assert!(!marker.marks(at(1000), 1000, MARKING), "1000 bytes are not more than 1000");
        assert!(!marker.marks(at(1001), 1001, MARKING) && !marker.marks(at(1100), 1001, MARKING));
        assert!(marker.marks(at(1101), 1001, MARKING));
        assert!(!marker.marks(at(1171), 1001, MARKING) && marker.marks(at(1172), 1001, MARKING));
    }
}
