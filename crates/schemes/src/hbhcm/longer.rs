//! A hop that has become longer: its base RTT rises.
//!
//! The paper's base RTT is the minimum of all time. If the path becomes longer, every Data seems to wait for the
//! difference, all are marked, and W falls to 32 for good. A minimum over a window is no cure: a queue that lasts longer
//! than the window becomes the base, and grows.
//!
//! A queue lasts only where the link is busy all the time. So the throughput of a hop with a queue is that of its link:
//!
//! > If the hop carried less than [`FEWER`] of what it carried at another time, and the smallest queueing delay was the
//! > same at both, there was no queue when it carried less. This delay belongs to the base.
//!
//! The delay has to be level while the hop carries less. It is not level in the period in which a link
//! becomes slower.
//!
//! Marks lower the throughput, so a hop that is only longer shows it after two decreases of W. A link whose rate falls
//! does not look like this: its queueing delay rises.

use weir_core::units::{Bytes, Span, Time};

/// A throughput below this part of the highest one at the same delay is not that of a busy link: it is more
/// than one decrease of W.
const FEWER: f64 = 0.8;
/// Assumed: delays that differ by less than 1/8 are the same.
const SAME: u64 = 8;
/// Assumed: the time over which throughput and delay are measured, in round trips and at least.
const PERIOD: (u64, Span) = (2, Span::from_millis(100));

/// Throughputs of a hop at one smallest queueing delay.
#[derive(Clone, Copy, Debug)]
struct Level {
    delay: Span,
    /// The lowest throughput, bytes a second.
    slowest: f64,
    fastest: f64,
}

/// The throughput and the delay of one hop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Longer {
    /// The delay below which nothing is marked.
    target: Span,
    /// The start of this period.
    from: Time,
    bytes: u64,
    data: u64,
    least: Span,
    sum: Span,
    level: Option<Level>,
}

impl Longer {
    pub(super) fn new(target: Span) -> Longer {
        Longer { target, from: Time::ZERO, bytes: 0, data: 0, least: Span::MAX, sum: Span::ZERO, level: None }
    }

    /// Counts a Data of this size that seems to have been queued for `delay`, with a round-trip time from
    /// here of `rtt`. Returns by how much the hop is longer than its base, once this is known.
    pub(super) fn on_data(&mut self, now: Time, size: Bytes, delay: Span, rtt: Span) -> Option<Span> {
        let elapsed = now.since(self.from);
        let is_over = elapsed >= PERIOD.1.max(rtt * PERIOD.0);
        let longer = if is_over { self.end_period(elapsed) } else { None };
        if is_over {
            *self = Longer { from: now, level: self.level, ..Longer::new(self.target) };
        }
        self.bytes += size.as_u64();
        self.data += 1;
        self.sum = self.sum + delay;
        self.least = self.least.min(delay);
        longer
    }

    fn end_period(&mut self, elapsed: Span) -> Option<Span> {
        let (delay, rate) = (self.least, self.bytes as f64 / elapsed.as_secs_f64());
        if delay < self.target || delay == Span::MAX {
            self.level = None;
            return None;
        }
        // Varying delays show that the queue was not empty. Such a period does not show the rate without a
        // queue.
        let is_level = self.sum / self.data.max(1) - delay < self.target;
        let slow = if is_level { rate } else { f64::INFINITY };
        let level = match self.level {
            Some(Level { delay: other, slowest, fastest }) if is_same(delay, other) => {
                Level { delay: other.min(delay), slowest: slowest.min(slow), fastest: fastest.max(rate) }
            }
            _ => Level { delay, slowest: slow, fastest: rate },
        };
        let is_longer = level.slowest < FEWER * level.fastest;
        self.level = (!is_longer).then_some(level);
        is_longer.then_some(level.delay)
    }
}

fn is_same(a: Span, b: Span) -> bool {
    a.max(b) - a.min(b) <= a.max(b) / SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    struct Bench {
        longer: Longer,
        now: Time,
    }

    impl Bench {
        fn new() -> Bench {
            Bench { longer: Longer::new(MS * 5), now: Time::ZERO }
        }

        /// Delivers Data for one second with this gap and delay. Returns the result.
        fn second(&mut self, gap_us: u64, delay: Span) -> Option<Span> {
            let end = self.now + MS * 1000;
            let mut shown = None;
            while self.now < end {
                self.now += Span::from_micros(gap_us);
                shown = shown.or(self.longer.on_data(self.now, Bytes::new(1000), delay, MS * 40));
            }
            shown
        }
    }

    #[test]
    fn fewer_data_with_the_same_delay_or_more_show_a_longer_hop() {
        for gaps in [[1000, 1500], [1500, 1000]] {
            let mut bench = Bench::new();
            assert_eq!(bench.second(gaps[0], MS * 10), None);
            assert_eq!(bench.second(gaps[1], MS * 10), Some(MS * 10));
        }
    }

    #[test]
    fn a_queue_that_lasts_is_no_longer_hop() {
        let mut bench = Bench::new();
        for second in 0..300 {
            assert_eq!(bench.second(1000 + second % 3 * 50, MS * 100), None);
        }
    }

    #[test]
    fn neither_is_a_link_that_has_become_slower_nor_a_short_queue() {
        let mut bench = Bench::new();
        for (gap, delay) in [(1000, 10), (4000, 60), (4000, 40), (2000, 4), (4000, 4), (1000, 10)] {
            assert_eq!(bench.second(gap, MS * delay), None, "{gap} {delay}");
        }
    }
}
