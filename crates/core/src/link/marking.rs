//! NFD's congestion marks: when packets are marked for the bytes that wait in front of a face.
//!
//! As `GenericLinkService::checkCongestionLevel` of NFD 0.7, after CoDel (RFC 8289): once more than a
//! threshold has waited for an interval, the packet that comes is marked; the (n + 1)-th mark is due
//! interval/√(n + 1) after the n-th *was due*, whenever it was made, until less waits.

use crate::units::{Span, Time};

/// When packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marking {
    /// More waiting than this is congestion, bytes.
    pub threshold: u64,
    /// How long the queue must stay above the threshold before the first mark. The times between marks derive from it.
    pub interval: Span,
}

/// The marks of one face.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marker {
    /// When the next packet is to be marked; `None` while little waits.
    next: Option<Time>,
    /// Marks since more than the threshold waits.
    marks: u32,
}

impl Marker {
    /// Whether to mark the arriving packet, given the bytes that wait, without this packet.
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

    /// Times, ms, at which packets that come in this spacing are marked.
    fn marked(spacing_ms: usize, until_ms: u64) -> Vec<u64> {
        let mut marker = Marker::default();
        (0..until_ms).step_by(spacing_ms).filter(|&ms| marker.marks(at(ms), 1001, MARKING)).collect()
    }

    /// When marks are due, ms: the first after an interval, the n-th followed by the next after
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
            // Times are whole nanoseconds; a mark that is due at a packet's very time may be its neighbour's.
            assert!((-0.001..1.001).contains(&(*marked as f64 - due)), "{marked} ms, due at {due} ms");
        }
    }

    /// Where packets come more seldom than marks are due, each is marked, and what was missed is not
    /// forgotten: NFD counts from when a mark was due.
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
