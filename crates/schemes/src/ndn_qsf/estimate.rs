//! A node's estimates for one upstream and one prefix (section 4.2): queue size, arrival rate, and bandwidth, in Data
//! a second.
//!
//! > (1) if queue size > QUEUE_THRESHOLD: bandwidth ← data arrival rate
//! > (2) if data arrival rate > bandwidth: bandwidth ← data arrival rate
//!
//! The arrival rate is the number of gaps between arrivals in a sliding window, divided by their time (Fig. 6). The window is a
//! time, so that a burst gives no rate. The rate is known when half of the window is covered. The window is stored as points
//! at a fraction of its length, so its memory is bounded at any speed.
//!
//! On a slow link the gap between Data is longer than the window. Then the window covers the round-trip time of the Data:
//! its Interest left at that time, and the Data since then are those that the upstream could answer. Otherwise no rate would
//! be known there, and the bandwidth would keep its initial value, which is far too high.

use std::collections::VecDeque;

use weir_core::units::{Span, Time};

use super::NodeSettings;

/// The number of points in a window. The length of the window is exact to 1/32.
const POINTS: u64 = 32;
/// The largest age of a queue size that is used, rounds. The state before a pause is out of date.
const FEEDBACK_ROUNDS: u64 = 2;

/// The estimates for one upstream.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// The latest feedback values with their times, and their sum.
    feedback: VecDeque<(Time, u16)>,
    sum: u32,
    arrivals: Arrivals,
    /// The bandwidth, Data a second.
    bandwidth: f64,
}

impl Estimate {
    pub(super) fn new(settings: &NodeSettings) -> Estimate {
        Estimate {
            feedback: VecDeque::with_capacity(settings.feedbacks),
            sum: 0,
            arrivals: Arrivals::default(),
            bandwidth: settings.initial,
        }
    }

    /// Returns the smoothed queue size of the upstream, packets; 0 if the upstream never reports one.
    #[inline]
    pub(super) fn queue(&self) -> f64 {
        match self.feedback.len() {
            0 => 0.0,
            n => f64::from(self.sum) / n as f64,
        }
    }

    /// Returns the bandwidth through the upstream, Data a second.
    #[inline]
    pub(super) fn bandwidth(&self) -> f64 {
        self.bandwidth
    }

    /// Counts a Data from the upstream. If the Data has no queue size, the queue may have any size; then the
    /// bandwidth is the present arrival rate.
    #[inline]
    pub(super) fn on_data(&mut self, now: Time, arrival: Arrival, settings: &NodeSettings) {
        let Arrival { queue, round, rtt } = arrival;
        let rtt = rtt.unwrap_or(Span::ZERO);
        self.average(now, queue, round.max(rtt) * FEEDBACK_ROUNDS, settings.feedbacks);
        let Some(rate) = self.arrivals.add(now, round.scale(settings.window), rtt) else { return };
        let is_silent = self.feedback.is_empty();
        if is_silent || self.queue() > settings.bandwidth_threshold || rate > self.bandwidth {
            self.bandwidth = rate;
        }
    }

    /// Adds the queue size of the newest Data. A Data without one removes one value, so an upstream that
    /// stops reporting becomes equal to one that never did.
    #[inline]
    fn average(&mut self, now: Time, queue: Option<u64>, age: Span, most: usize) {
        let is_old = |(at, _): &(Time, u16)| now.since(*at) > age;
        if queue.is_none() || self.feedback.len() >= most {
            self.forget_oldest();
        }
        while self.feedback.len() > usize::from(queue.is_none()) && self.feedback.front().is_some_and(is_old)
        {
            self.forget_oldest();
        }
        if let Some(queue) = queue {
            let queue = u16::try_from(queue).unwrap_or(u16::MAX);
            self.feedback.push_back((now, queue));
            self.sum += u32::from(queue);
        }
    }

    #[inline]
    fn forget_oldest(&mut self) {
        if let Some((_, oldest)) = self.feedback.pop_front() {
            self.sum -= u32::from(oldest);
        }
    }
}

/// The information in a Data about its upstream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// The upstream's queue size, if the Data reports one.
    pub(super) queue: Option<u64>,
    /// ROUND_LENGTH.
    pub(super) round: Span,
    /// The time since its Interest was sent, if known.
    pub(super) rtt: Option<Span>,
}

/// The arrivals in a sliding window.
#[derive(Clone, Debug, Default)]
struct Arrivals {
    count: u64,
    /// Times, and the number of arrivals until then.
    points: VecDeque<(Time, u64)>,
}

impl Arrivals {
    /// Counts an arrival. Returns the rate in the window, per second, if enough of it is covered; else the
    /// rate since a point that is at most `reach` ago.
    #[inline]
    fn add(&mut self, now: Time, window: Span, reach: Span) -> Option<f64> {
        self.count += 1;
        // The newest point older than the window stays, because it may be within reach.
        while self.points.get(1).is_some_and(|(at, _)| now.since(*at) > window) {
            self.points.pop_front();
        }
        let is_apart = |(at, _): &(Time, u64)| now.since(*at) >= window / POINTS;
        if self.points.back().is_none_or(is_apart) {
            self.points.push_back((now, self.count));
        }
        let covered = |place: usize| self.points.get(place).map(|(at, _)| now.since(*at));
        let oldest = covered(0)?;
        let first = usize::from(oldest > window);
        match covered(first) {
            Some(covered) if covered >= window / 2 => self.rate(first, covered),
            _ if oldest <= reach && oldest >= window / 2 => self.rate(0, oldest),
            _ => None,
        }
    }

    /// Returns the rate since a point.
    #[inline]
    fn rate(&self, since: usize, covered: Span) -> Option<f64> {
        let (_, before) = *self.points.get(since)?;
        (covered > Span::ZERO).then(|| (self.count - before) as f64 / covered.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Span = Span::from_millis(40);

    fn settings() -> NodeSettings {
        NodeSettings {
            bandwidth_threshold: 4.0,
            initial: 278.0,
            feedbacks: 8,
            window: 1.0,
            ..NodeSettings::usual()
        }
    }

    /// Delivers Data at this rate for `ms`, all with this feedback. Returns the arrival time of the last one.
    fn feed(estimate: &mut Estimate, from: Time, ms: u64, rate: u64, queue: Option<u64>) -> Time {
        let count = rate * ms / 1000;
        let at = |n: u64| from + Span::from_nanos(n * 1_000_000_000 / rate);
        let arrival = Arrival { queue, round: ROUND, rtt: Some(ROUND) };
        (1..=count).for_each(|n| estimate.on_data(at(n), arrival, &settings()));
        at(count)
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 0.01 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn above_the_threshold_the_bandwidth_is_the_arrival_rate_and_below_it_only_rises() {
        let mut estimate = Estimate::new(&settings());
        near(estimate.bandwidth(), 278.0);
        // 60 Mb/s of Data of 4500 B, rule (2).
        let now = feed(&mut estimate, Time::ZERO, 100, 1667, Some(0));
        near(estimate.bandwidth(), 1667.0);
        // The arrivals are slower and the queue is short: the demand is lower.
        let now = feed(&mut estimate, now, 100, 500, Some(4));
        near(estimate.bandwidth(), 1667.0);
        // The arrivals are slower although five packets wait: rule (1).
        let now = feed(&mut estimate, now, 100, 500, Some(5));
        near(estimate.bandwidth(), 500.0);
        feed(&mut estimate, now, 100, 800, Some(0));
        near(estimate.bandwidth(), 800.0);
    }

    #[test]
    fn the_queue_size_is_the_mean_of_the_latest_values() {
        let mut estimate = Estimate::new(&settings());
        assert!(estimate.queue() == 0.0);
        let now = feed(&mut estimate, Time::ZERO, 2, 1000, Some(3));
        near(estimate.queue(), 3.0);
        let now = feed(&mut estimate, now, 6, 1000, Some(11));
        near(estimate.queue(), 9.0);
        let now = feed(&mut estimate, now, 8, 1000, Some(1));
        near(estimate.queue(), 1.0);
        // A Data without the field adds no value.
        feed(&mut estimate, now, 7, 1000, None);
        near(estimate.queue(), 1.0);
    }

    #[test]
    fn a_queue_of_before_a_pause_does_not_count() {
        let mut estimate = Estimate::new(&settings());
        let now = feed(&mut estimate, Time::ZERO, 100, 1000, Some(90));
        near(estimate.queue(), 90.0);
        feed(&mut estimate, now + ROUND * 3, 1, 1000, Some(2));
        near(estimate.queue(), 2.0);
    }

    #[test]
    fn who_says_no_queue_size_any_more_is_as_one_that_never_did() {
        let mut estimate = Estimate::new(&settings());
        let now = feed(&mut estimate, Time::ZERO, 100, 1000, Some(0));
        let now = feed(&mut estimate, now, 100, 300, None);
        near(estimate.bandwidth(), 300.0);
        feed(&mut estimate, now, 100, 200, Some(0));
        near(estimate.bandwidth(), 300.0);
    }

    /// 1 Mb/s of Data of 4500 B for one of four prefixes, with ten waiting Data: a Data comes every 144 ms.
    #[test]
    fn on_a_slow_link_the_rate_is_that_of_the_last_round_trip() {
        let spaced = |rtt: Option<Span>| {
            let mut estimate = Estimate::new(&settings());
            for n in 1..20 {
                let at = Time::ZERO + Span::from_millis(144 * n);
                estimate.on_data(at, Arrival { queue: Some(10), round: ROUND, rtt }, &settings());
            }
            estimate.bandwidth()
        };
        near(spaced(Some(Span::from_millis(1440))), 1.0 / 0.144);
        near(spaced(Some(ROUND)), 278.0);
        near(spaced(None), 278.0);
    }

    #[test]
    fn a_burst_is_no_rate() {
        let mut estimate = Estimate::new(&settings());
        for n in 0..1000 {
            estimate.on_data(
                Time::from_nanos(n),
                Arrival { queue: Some(9), round: ROUND, rtt: None },
                &settings(),
            );
        }
        near(estimate.bandwidth(), 278.0);
        assert!(estimate.arrivals.points.len() == 1);
    }

    #[test]
    fn after_a_pause_the_rate_is_that_of_what_came_since() {
        let mut estimate = Estimate::new(&settings());
        let now = feed(&mut estimate, Time::ZERO, 100, 1000, Some(9));
        feed(&mut estimate, now + Span::from_secs(5), 100, 400, Some(9));
        near(estimate.bandwidth(), 400.0);
    }

    #[test]
    fn an_upstream_that_never_says_has_the_bandwidth_by_which_it_answers() {
        let mut estimate = Estimate::new(&settings());
        let now = feed(&mut estimate, Time::ZERO, 100, 1000, None);
        near(estimate.bandwidth(), 1000.0);
        feed(&mut estimate, now, 100, 300, None);
        near(estimate.bandwidth(), 300.0);
        assert!(estimate.queue() == 0.0);
    }

    #[test]
    fn absurd_queue_sizes_and_speeds_keep_the_estimates_bounded() {
        let mut estimate = Estimate::new(&settings());
        feed(&mut estimate, Time::ZERO, 200, 100_000, Some(u64::MAX));
        near(estimate.queue(), f64::from(u16::MAX));
        near(estimate.bandwidth(), 100_000.0);
        assert!(estimate.feedback.len() == 8 && estimate.arrivals.points.len() <= POINTS as usize + 2);
    }
}
