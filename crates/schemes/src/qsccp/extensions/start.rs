//! The number of Interests that a consumer may have pending beside its rate.
//!
//! *The start.* The authors' consumer begins with 100 kb/s, and needs some ten Data to follow the first
//! TargetRate. A short flow is over by then. Here it begins with as many Interests as TCP with segments (RFC
//! 6928), and adopts the first TargetRate at once. A router puts them into the flow's virtual queue, so they
//! harm no other flow. The same holds for a Data without TargetRate, where nothing limits the consumer, as at
//! its own content store.
//!
//! *The bound.* A TargetRate is for the source of the Data that carries it. If a near cache has no more Data,
//! Interests continue at its rate to a far producer, and for a round trip the consumer gets no feedback. So
//! at most `pending_limit` times the largest TargetRate × round trip of any Data of the last one to two
//! seconds may be pending. And flows that start together are each offered what the others leave. So at first
//! at most twice as many are pending as in the previous round trip, as in TCP's slow start.
//!
//! Parameters: `initial_rate`, `initial_window`, `pending_limit`.

use weir_core::units::{Bytes, Span, Time};

/// The bytes of Data that the first Interests bring together, as in RFC 6928 (1). If the size of Data is not
/// known, there is one Interest.
const INITIAL_BYTES: u64 = 14_600;

/// The limit on Interests of a consumer without a TargetRate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    /// The largest number of them; 0: none beside the initial rate.
    most: u32,
    is_told: bool,
}

impl Start {
    /// Returns a limit of `most` Interests.
    pub(crate) fn new(most: u32) -> Start {
        Start { most, is_told: false }
    }

    /// Counts a Data that came.
    pub(crate) fn note(&mut self, is_told: bool) {
        self.is_told = is_told;
    }

    /// Returns whether another Interest may be pending, for Data of this size.
    pub(crate) fn permits(&self, pending: u32, size: Bytes) -> bool {
        let known = if size == Bytes::ZERO { 1 } else { INITIAL_BYTES / size.as_u64() };
        let window = known.clamp(1, u64::from(self.most.max(1)));
        !self.is_told && self.most > 0 && u64::from(pending) < window
    }
}

/// The bound on pending Interests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pending {
    /// The bound, as a multiple of the Interests that a rate has in a round trip; 0: none.
    limit: f64,
    /// The number of Interests that is allowed in any case.
    least: u32,
    /// The largest product of TargetRate and round trip of a Data, bits, in this second and in the previous
    /// one.
    most_bits: [f64; 2],
    since: Time,
    /// The number of Data that came.
    came: u32,
}

/// The shortest time for which the largest product is kept.
const MEMORY: Span = Span::from_secs(1);

impl Pending {
    /// Returns a bound of `limit` times what the rate has in a round trip, but at least `least`.
    pub(crate) fn new(limit: f64, least: u32) -> Pending {
        Pending { limit, least, ..Pending::default() }
    }

    /// Counts a Data with this round-trip time and TargetRate, bit/s.
    pub(crate) fn note(&mut self, now: Time, rtt: Option<Span>, target: f64) {
        if now.since(self.since) >= MEMORY {
            (self.most_bits, self.since) = ([0.0, self.most_bits[0]], now);
        }
        let bits = target * rtt.unwrap_or(Span::ZERO).as_secs_f64();
        self.most_bits[0] = self.most_bits[0].max(bits);
        self.came = self.came.saturating_add(1);
    }

    /// Returns whether another Interest may be pending, for Data of this size.
    pub(crate) fn permits(&self, pending: u32, size: Bytes) -> bool {
        let least = f64::from(self.least);
        let bits = self.most_bits[0].max(self.most_bits[1]);
        let most = self.limit * bits / size.bits().max(1) as f64;
        let most = if bits > 0.0 { most.max(least) } else { f64::INFINITY };
        self.limit == 0.0 || f64::from(pending) < most.min(least + f64::from(self.came))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of Interests that a consumer may have pending for Data of this size.
    fn window(start: Start, size: u64) -> u32 {
        (0..1000).find(|&pending| !start.permits(pending, Bytes::new(size))).unwrap_or(1000)
    }

    #[test]
    fn a_consumer_begins_with_the_initial_window_of_tcp() {
        let start = Start::new(10);
        let sizes = [100, 1460, 4000, 8000, 14_600];
        assert_eq!(sizes.map(|size| window(start, size)), [10, 10, 3, 1, 1]);
    }

    #[test]
    fn the_window_is_open_until_a_rate_is_told_and_where_nothing_limits_the_consumer() {
        let mut start = Start::new(10);
        start.note(true);
        assert_eq!(window(start, 1000), 0);
        start.note(false);
        assert_eq!(window(start, 1000), 10, "its content store has the next Data");
        assert_eq!(window(Start::new(0), 1000), 0, "the paper has no window");
    }

    #[test]
    fn no_more_are_pending_than_a_rate_has_in_its_round_trip_of_late() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut pending = Pending::new(2.0, 10);
        let most =
            |pending: Pending| (0..5000).find(|&n| !pending.permits(n, Bytes::new(1000))).unwrap_or(5000);
        assert_eq!(most(pending), 10, "the first ones");
        (0..20).for_each(|ms| pending.note(at(ms), Some(Span::from_millis(100)), 8e6));
        assert_eq!(most(pending), 30, "twice as many after a round trip");
        (20..1000).for_each(|ms| pending.note(at(ms), Some(Span::from_millis(5)), 8e6));
        assert_eq!(most(pending), 200);
        pending.note(at(1100), Some(Span::from_micros(200)), 1e9);
        assert_eq!(most(pending), 200, "the second before counts");
        pending.note(at(2200), Some(Span::from_micros(200)), 1e9);
        assert_eq!(most(pending), 50, "a near cache");
        let none = Pending::new(0.0, 10);
        assert_eq!(most(none), 5000, "the paper has no bound");
    }
}
