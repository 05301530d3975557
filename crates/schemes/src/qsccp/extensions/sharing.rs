//! Shared retrieval: several consumers request the same Data, or a content store has them.
//!
//! (11) divides the rate upstream, Σu, among downstream faces as if each requested different Data. So two
//! consumers of the same Data would get half each. But an Interest of face k costs only q_k upstream: 0 if
//! the content store answers it, 1/m if it is one of m that are aggregated. So the rate is d_i/Σ(q_k·d_k)·Σu,
//! and the second argument of (10) is f_j·Σ q_k·d_k. If nothing is shared, q_k = 1, and these are (10) and
//! (11).
//!
//! Consumers that request the same Data at different rates drift apart, and then share nothing. So while the
//! faces together cost no more than one of them alone ([`TOGETHER`]), all are told the same rate.
//!
//! Parameter: `shared_retrieval`.

use weir_core::units::{Span, Time};

/// The smallest number of Data, and the shortest time, over which a face's cost is measured.
const ANSWERS: u32 = 32;
const MEASURED_OVER: Span = Span::from_millis(100);
/// The cost rises at once if a run of at least two more expensive Data has a smaller probability than this at
/// the known cost.
const BY_CHANCE: f64 = 1e-4;
/// The weight of a lower measurement.
const FALL: f64 = 0.5;

/// Faces whose costs q sum to at most this share their Data.
const TOGETHER: f64 = 1.2;

/// The number of upstream round trips in which a consumer that is behind others with the same Data closes the
/// gap.
const CATCH_UP: f64 = 4.0;

/// The rate of a consumer that finds a part of its Data in the content store while the upstream rate is
/// unknown, bit/s: the authors' InitialSendRate.
pub(crate) const UNKNOWN: f64 = 100_000.0;

/// q_i: the mean upstream cost of an Interest of a downstream face, in Data.
///
/// Two consumers may share Data only for a moment, while one overtakes the other. So a lower cost counts slowly, and a
/// higher cost at once. Before the first measure it is the mean so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamCost {
    value: f64,
    is_known: bool,
    /// The time of the latest measurement, and the Data since then with their costs.
    since: Time,
    answers: u32,
    cost: f64,
    /// The number of successive latest Data that cost more than the known cost.
    dear: u32,
}

impl Default for UpstreamCost {
    fn default() -> UpstreamCost {
        UpstreamCost { value: 1.0, is_known: false, since: Time::ZERO, answers: 0, cost: 0.0, dear: 0 }
    }
}

impl UpstreamCost {
    /// Returns q.
    pub(crate) fn q(&self) -> f64 {
        self.value
    }

    /// Returns the upstream cost of a face at a rate. A face with the cost 0 costs 0 at any rate.
    pub(crate) fn of(&self, rate: f64) -> f64 {
        if self.value > 0.0 { self.value * rate } else { 0.0 }
    }

    /// Counts a Data that has answered the face.
    pub(crate) fn note(&mut self, now: Time, cost: f64) {
        if self.answers == 0 && !self.is_known {
            self.since = now;
        }
        self.answers += 1;
        self.cost += cost;
        self.dear = if cost > self.value { self.dear + 1 } else { 0 };
        let measured = self.cost / f64::from(self.answers);
        if self.is_known && self.dear >= 2 && self.value.powi(self.dear as i32) < BY_CHANCE {
            // Sharing has ended. For example, a cache has no more Data.
            *self = UpstreamCost { value: cost, is_known: true, since: now, ..UpstreamCost::default() };
        } else if self.answers >= ANSWERS && now.since(self.since) >= MEASURED_OVER {
            let gain = if self.is_known && measured < self.value { FALL } else { 1.0 };
            let value = self.value + gain * (measured - self.value);
            *self = UpstreamCost { value, is_known: true, since: now, ..UpstreamCost::default() };
        } else if !self.is_known {
            self.value = measured;
        }
    }
}

/// Returns the rate of each of the faces that share their Data; `None` if they do not. `costs` is the sum of
/// their costs, and `upstream` is Σu.
pub(crate) fn together(costs: f64, upstream: f64) -> Option<f64> {
    (costs <= TOGETHER).then(|| upstream * (1.0 / costs).max(1.0))
}

/// Returns the rate of a consumer that finds Data of this age in the content store. It is unlimited while the
/// consumer is far behind the others. Close to them, its rate is higher the further it is behind. So it
/// reaches them in a few round trips and does not overshoot.
pub(crate) fn catching_up(upstream: f64, age: Span, round_trip: Span) -> f64 {
    let behind = age.as_secs_f64() / (CATCH_UP * round_trip.as_secs_f64()).max(f64::MIN_POSITIVE);
    if behind < 1.0 { upstream * (1.0 + behind) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cost after `data` Data with these costs in turn, one every `gap` ms.
    fn cost_after(mut cost: UpstreamCost, from: u64, data: u64, gap: u64, costs: &[f64]) -> UpstreamCost {
        for (n, of_data) in (0..data).zip(costs.iter().cycle()) {
            cost.note(Time::ZERO + Span::from_millis(from + gap * n), *of_data);
        }
        cost
    }

    #[test]
    fn a_cost_is_the_mean_of_those_of_the_data() {
        assert!(UpstreamCost::default().q() == 1.0, "(11) as it is, while nothing is known");
        let cost = cost_after(UpstreamCost::default(), 0, 5, 1, &[0.5]);
        assert!(cost.q() == 0.5, "the mean so far, before the first measure");
        let cost = cost_after(UpstreamCost::default(), 0, 640, 5, &[0.0, 1.0]);
        assert!((cost.q() - 0.5).abs() < 0.02, "{cost:?}");
    }

    #[test]
    fn a_cost_falls_slowly_and_rises_at_once() {
        let alone = cost_after(UpstreamCost::default(), 0, 100, 5, &[1.0]);
        let shared = cost_after(alone, 500, 40, 5, &[0.5]);
        assert!(shared.q() > 0.6 && shared.q() < 0.9, "{shared:?}");
        let shared = cost_after(alone, 500, 400, 5, &[0.5]);
        assert!(shared.q() < 0.51, "{shared:?}");
        let alone = cost_after(shared, 2500, 64, 1, &[1.0]);
        assert!(alone.q() == 1.0, "{alone:?}");
    }

    #[test]
    fn a_face_without_cost_takes_nothing_at_any_rate() {
        let cached = cost_after(UpstreamCost::default(), 0, 400, 5, &[0.0]);
        assert!(cached.of(f64::INFINITY) == 0.0, "{cached:?}");
    }

    #[test]
    fn faces_that_share_their_data_are_told_the_same_rate() {
        assert_eq!(together(1.0, 10e6), Some(10e6));
        assert_eq!(together(TOGETHER, 10e6), Some(10e6), "as long as they are about together");
        assert_eq!(together(TOGETHER + 0.01, 10e6), None);
        assert_eq!(together(0.5, 10e6), Some(20e6), "the content store has every other Data");
    }

    #[test]
    fn a_consumer_reaches_the_others_with_a_time_constant_of_four_round_trips() {
        let rate = |age| catching_up(10e6, Span::from_millis(age), Span::from_millis(50));
        assert_eq!([rate(0), rate(100)], [10e6, 15e6]);
        assert_eq!(rate(200), f64::INFINITY, "far behind nothing limits it");
    }
}
