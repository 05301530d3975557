//! Demand that is limited elsewhere: by another link of the path, or by the application.
//!
//! The paper divides the spare rate once, among all whose demand is γ of their *base* rate or more. A flow that asks
//! for more than its base rate, but for less than it is offered, then holds a part that nobody uses. Here a flow or
//! class that does not use γ of its *offer* for [`PATIENCE`] is limited elsewhere. It counts with its demand, and the
//! others get the rest. Divided again until nothing is left, that is the weighted max-min share.

use weir_core::units::Span;

use crate::qsccp::paper::pecn::{Claim, Period, Shares};

/// In this time consumers have received an offer and followed it.
const PATIENCE: Span = Span::from_millis(500);

/// How often a rate is divided again at most. The level grows each time, so it is safe to stop at any time.
const ROUNDS: u32 = 8;

/// How long a flow or class has not used its offer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unused {
    for_time: Span,
}

impl Unused {
    /// In this period a claim asked for `demand`, was told `told`, and would have been offered `offered` had it asked
    /// for that. One that uses a rate below the offer may still be limited.
    pub(crate) fn note(&mut self, period: Period, demand: f64, told: f64, offered: f64) {
        if !period.elsewhere {
            return;
        }
        if demand < period.gamma * told {
            self.for_time = (self.for_time + period.length).min(PATIENCE);
        } else if demand >= period.gamma * offered {
            self.for_time = Span::ZERO;
        }
    }

    /// Whether it is limited elsewhere.
    pub(crate) fn is_limited(&self) -> bool {
        self.for_time >= PATIENCE
    }
}

/// (8) again, as long as claims that are limited elsewhere leave more than before.
pub(crate) fn divide_again(shares: &mut Shares, claims: impl Iterator<Item = Claim> + Clone) {
    (0..ROUNDS).find(|_| !shares.divide(claims.clone()));
}

/// How much more than is available is offered to those with high demand.
///
/// One that asks for γ of its offer or more may want all of it, or it may be limited elsewhere: its demand does not show
/// which. So what it does not use is offered on top. Those that are limited do not follow. In the end they ask for less
/// than γ of their offer, and are recognised.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overbooking {
    /// As a part of the offer.
    extra: f64,
}

/// By which part of what is unused the offer grows in a second. Consumers take some periods to follow.
const GAIN: f64 = 1.0;
/// The part that may stay unused: it drains queues, as σ(0) does.
const UNUSED: f64 = 0.001;
/// The largest offer, of which γ is more than the rate.
const BEYOND: f64 = 1.01;

impl Overbooking {
    /// Ends a period. Of what they were offered those with high demand have left this part unused.
    pub(crate) fn note(&mut self, period: Period, unused: f64) {
        let Period { length, gamma, elsewhere } = period;
        if !elsewhere {
            return;
        }
        // A larger part is of claims that are limited, or that do not follow yet.
        let unused = if unused < 1.0 - gamma { unused } else { 0.0 };
        let most = (BEYOND / gamma - 1.0).max(0.0);
        self.extra = (self.extra + GAIN * length.as_secs_f64() * (unused - UNUSED)).clamp(0.0, most);
    }

    /// The offer, as a multiple of the available rate.
    pub(crate) fn offer(&self) -> f64 {
        1.0 + self.extra
    }
}
