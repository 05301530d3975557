//! PAQM-CoDel, section IV-B: when a lasting queueing delay causes a mark.
//!
//! ```text
//!             d >= target                    d >= target for longer than Δ: mark, N += 1, Δ := Δ/√N  (6)
//!   Healthy --------------> Alert ------------------------------------------> Congested
//!      ^                    |   ^                                                 |
//!      |    d < target      |   |                    at once                      |
//!      +--------------------+   +-------------------------------------------------+
//! ```
//!
//! (6) divides the current Δ. So with a permanent delay the first mark comes after 100 ms in Alert, the next ones 100, 70.7,
//! 40.8, 20.4 and 9.1 ms after the previous one, and soon every Data is marked. A return to Healthy resets N to 0.

use core::ops::RangeInclusive;

use weir_core::parameters;
use weir_core::units::{Span, Time};

const TIME: RangeInclusive<Span> = Span::from_micros(1)..=Span::from_secs(10);

parameters! {
    /// PAQM's parameters.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// a hop whose queueing delay is below it is Healthy
        pub(super) target: Span = span("target", TIME) default "5 ms" from "paper: section IV-B";
        /// Δ at first: how long the delay stays above `target` before a Data is marked
        pub(super) interval: Span = span("interval", TIME) default "100 ms" from "paper: section IV-B";
        /// Δ after a return to Healthy; 0: as `interval`
        pub(super) restart_interval: Option<Span> = span("restart_interval", Span::ZERO..=Span::from_secs(10))
            default "0 ns"
            from "paper: section IV-B, as `interval`; files: codel-mp-route-strategy.cpp, 20 ms";
        /// from this queueing delay on each Data is marked at once; 0: no such rule
        pub(super) immediate: Option<Span> = span("immediate", Span::ZERO..=Span::from_secs(3600)) default "0 ns"
            from "paper: section IV-B has none; files: codel-mp-route-strategy.cpp, 100 ms";
    }
}

/// The state machine of one hop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paqm {
    settings: Settings,
    /// The start of Alert; `None` in Healthy.
    alert_since: Option<Time>,
    /// Δ
    interval: Span,
    /// N, the number of Data marked since Healthy.
    marked: u32,
}

impl Paqm {
    /// Starts in Healthy.
    pub(super) fn new(settings: Settings) -> Paqm {
        Paqm { settings, alert_since: None, interval: settings.interval, marked: 0 }
    }

    /// Counts a Data with this queueing delay. Returns whether to mark it.
    pub(super) fn marks(&mut self, now: Time, delay: Span) -> bool {
        if delay < self.settings.target {
            if self.alert_since.take().is_some() {
                let interval = self.settings.restart_interval.unwrap_or(self.settings.interval);
                (self.interval, self.marked) = (interval, 0);
            }
            return false;
        }
        let since = *self.alert_since.get_or_insert(now);
        let is_extreme = self.settings.immediate.is_some_and(|bound| delay >= bound);
        if now.since(since) <= self.interval && !is_extreme {
            return false;
        }
        self.marked = self.marked.saturating_add(1);
        self.alert_since = Some(now);
        self.interval = self.interval.scale(1.0 / f64::from(self.marked).sqrt());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);
    const ARTICLE: Settings = Settings {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        restart_interval: None,
        immediate: None,
    };
    const MULTIPATH: Settings = Settings {
        restart_interval: Some(Span::from_millis(20)),
        immediate: Some(Span::from_millis(100)),
        ..ARTICLE
    };

    fn at_us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Returns the times of the marks, ms, for a Data every 10 µs with this delay, between the two times.
    fn marks(paqm: &mut Paqm, delay: Span, from_ms: u64, until_ms: u64) -> Vec<f64> {
        let each = (from_ms * 100..until_ms * 100).map(|step| at_us(step * 10));
        each.filter(|now| paqm.marks(*now, delay)).map(|now| (now - Time::ZERO).as_millis_f64()).collect()
    }

    fn gaps(marks: &[f64]) -> Vec<f64> {
        marks.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    fn follow(measured: &[f64], stated: &[f64]) {
        for (measured, stated) in measured.iter().zip(stated) {
            assert!((measured - stated).abs() < 0.06, "{measured} ms, stated {stated} ms");
        }
        assert!(measured.len() >= stated.len());
    }

    #[test]
    fn marks_of_a_standing_queue_come_after_100_100_71_41_20_9_ms() {
        let marks = marks(&mut Paqm::new(ARTICLE), MS * 6, 0, 400);
        follow(&marks[..1], &[100.0]);
        // 100/√1, then Δ is divided by √2, √3, √4, √5.
        follow(&gaps(&marks), &[100.0, 70.71, 40.82, 20.41, 9.13]);
    }

    #[test]
    fn in_the_end_every_data_of_a_standing_queue_is_marked() {
        let marks = marks(&mut Paqm::new(ARTICLE), MS * 6, 0, 1000);
        let last: Vec<f64> = gaps(&marks[marks.len() - 100..]);
        follow(&last, &[0.01; 99]);
    }

    #[test]
    fn the_target_itself_is_congestion_and_less_is_not() {
        assert!(marks(&mut Paqm::new(ARTICLE), MS * 5 - Span::from_nanos(1), 0, 1000).is_empty());
        assert!(!marks(&mut Paqm::new(ARTICLE), MS * 5, 0, 200).is_empty());
    }

    #[test]
    fn one_data_below_the_target_makes_it_healthy() {
        let mut paqm = Paqm::new(ARTICLE);
        assert_eq!(marks(&mut paqm, MS * 50, 0, 250).len(), 2);
        assert!(!paqm.marks(at_us(250_000), MS * 4));
        let again = marks(&mut paqm, MS * 50, 251, 600);
        follow(&again[..1], &[351.0]);
        follow(&gaps(&again), &[100.0, 70.71]);
    }

    #[test]
    fn a_burst_that_is_over_within_the_interval_is_not_marked() {
        let mut paqm = Paqm::new(ARTICLE);
        for burst in 0..20 {
            assert!(marks(&mut paqm, MS * 80, burst * 100, burst * 100 + 99).is_empty());
            assert!(!paqm.marks(at_us(burst * 100_000 + 99_500), Span::ZERO));
        }
    }

    #[test]
    fn the_multipath_code_comes_back_after_20_ms_but_begins_with_100() {
        let mut paqm = Paqm::new(MULTIPATH);
        assert!(!paqm.marks(at_us(0), Span::ZERO), "staying in Healthy is not a return");
        follow(&marks(&mut paqm, MS * 50, 1, 120), &[101.0]);
        assert!(!paqm.marks(at_us(121_000), MS * 4));
        let again = marks(&mut paqm, MS * 50, 122, 200);
        follow(&again[..1], &[142.0]);
        follow(&gaps(&again), &[20.0, 14.14]);
    }

    #[test]
    fn the_multipath_code_marks_each_data_that_waited_for_100_ms() {
        let mut paqm = Paqm::new(MULTIPATH);
        assert!(paqm.marks(at_us(0), MS * 100) && paqm.marks(at_us(1), MS * 100));
        // Δ := 100/√1/√2 = 70.7 ms.
        assert!(!paqm.marks(at_us(2), MS * 99) && !paqm.marks(at_us(70_700), MS * 99));
        assert!(paqm.marks(at_us(70_720), MS * 99));
        let mut article = Paqm::new(ARTICLE);
        assert!(!article.marks(at_us(0), MS * 1000));
    }
}
