//! Shared retrieval: several consumers ask for the same Data, or a content store has them.
//!
//! (11) divides the rate upstream, Σu, among downstream faces as if each asked for different Data. So two consumers of the
//! same Data would get half each. But an Interest of face k costs only q_k upstream: 0 if the content store answers it,
//! 1/m if it is one of m that are aggregated. So the rate is d_i/Σ(q_k·d_k)·Σu, and the second argument of (10) is
//! f_j·Σ q_k·d_k. If nothing is shared, q_k = 1, and these are (10) and (11).
//!
//! Consumers that ask for the same Data at different rates drift apart, and share no longer. So while the faces cost no
//! more than one of them alone ([`TOGETHER`]), all are told the same rate.
//!
//! Parameter: `shared_retrieval`.

use weir_core::units::{Span, Time};

/// A face's cost is measured over at least so many Data and this time.
const ANSWERS: u32 = 32;
const MEASURED_OVER: Span = Span::from_millis(100);
/// After so many Data in a row that cost more than known, the known cost rises.
const ALL_DEAR: u32 = 16;
/// The part of the difference that counts if a face costs less than before.
const FALL: f64 = 0.5;

/// Faces whose costs q are no more than this together share their Data.
const TOGETHER: f64 = 1.2;

/// A consumer that is behind others with the same Data closes the gap in about so many round trips upstream.
const CATCH_UP: f64 = 4.0;

/// The rate of a consumer that finds a part of its Data in the content store while nothing is known of the rate upstream,
/// bit/s: the authors' InitialSendRate.
pub(crate) const UNKNOWN: f64 = 100_000.0;

/// q_i: the mean upstream cost of an Interest of a downstream face, in Data.
///
/// Two consumers may share Data only for a moment, while one overtakes the other. So a lower cost counts slowly, and a
/// higher cost at once. Before the first measure it is the mean so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamCost {
    value: f64,
    is_known: bool,
    /// The time of the latest measure, and the Data since then, with their costs.
    since: Time,
    answers: u32,
    cost: f64,
    /// The latest Data in a row that cost more than known.
    dear: u32,
}

impl Default for UpstreamCost {
    fn default() -> UpstreamCost {
        UpstreamCost { value: 1.0, is_known: false, since: Time::ZERO, answers: 0, cost: 0.0, dear: 0 }
    }
}

impl UpstreamCost {
    /// q.
    pub(crate) fn cost(&self) -> f64 {
        self.value
    }

    /// The upstream cost of a face at a rate. A face that costs 0 costs 0 at any rate.
    pub(crate) fn of(&self, rate: f64) -> f64 {
        if self.value > 0.0 { self.value * rate } else { 0.0 }
    }

    /// A Data has answered the face.
    pub(crate) fn note(&mut self, now: Time, cost: f64) {
        if self.answers == 0 && !self.is_known {
            self.since = now;
        }
        self.answers += 1;
        self.cost += cost;
        self.dear = if cost > self.value { self.dear + 1 } else { 0 };
        let measured = self.cost / f64::from(self.answers);
        if self.is_known && self.dear == ALL_DEAR {
            // Sharing has ended: for example, a cache has no more Data.
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

/// The rate of each of the faces that share their Data, if they do: their costs are `costs` together, and Σu is
/// `upstream`.
pub(crate) fn together(costs: f64, upstream: f64) -> Option<f64> {
    (costs <= TOGETHER).then(|| upstream * (1.0 / costs).max(1.0))
}

/// The rate of a consumer that finds Data of this age in the content store. Nothing limits it while it is far behind the
/// others. Close to them its rate is the higher the further it is behind. So it reaches them in a few round trips and does
/// not overshoot.
pub(crate) fn catching_up(upstream: f64, age: Span, round_trip: Span) -> f64 {
    let behind = age.as_secs_f64() / (CATCH_UP * round_trip.as_secs_f64()).max(f64::MIN_POSITIVE);
    if behind < 1.0 { upstream * (1.0 + behind) } else { f64::INFINITY }
}
