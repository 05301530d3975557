//! Demand that is limited elsewhere: by another link of the path, or by the application.
//!
//! The paper divides the spare rate once, among all whose demand is γ of their *base* rate or more. A flow
//! that asks for more than its base rate, but for less than its offer, then holds a part that is not used.
//! Here a flow or class that does not use γ of its *offer* for [`PATIENCE`] is limited elsewhere. It counts
//! with its demand, and the others get the rest. This division, repeated until nothing is left, gives the
//! weighted max-min share.
//!
//! The rate that claims with high demand leave within γ of their offers is offered in addition
//! ([`Overbooking`]). The classes of C_DT follow the same rules as the flows of a class.
//!
//! Parameter: `limited_elsewhere`.

use weir_core::units::Span;

use crate::qsccp::paper::pecn::{Claim, Period, Shares};

/// The time in which consumers have received an offer and followed it, in time and in round trips from the
/// face.
const PATIENCE: Span = Span::from_millis(500);
const ROUND_TRIPS: u64 = 5;

/// The largest number of divisions of a rate. The level grows with each, so stopping early is safe.
const ROUNDS: u32 = 8;

/// The time for which a flow or class has not used its offer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unused {
    for_time: Span,
    is_limited: bool,
}

fn patience(period: Period) -> Span {
    PATIENCE.max(period.round_trip * ROUND_TRIPS)
}

impl Unused {
    /// Notes a period in which a claim asked for `demand` and was told `told`. With a higher demand it would
    /// have been offered `offered`. A claim that uses a rate below the offer may still be limited.
    pub(crate) fn note(&mut self, period: Period, demand: f64, told: f64, offered: f64) {
        if !period.elsewhere {
            return;
        }
        if demand < period.gamma * told {
            self.for_time = self.for_time + period.length;
            self.is_limited |= self.for_time >= patience(period);
        } else if demand >= period.gamma * offered {
            *self = Unused::default();
        }
    }

    /// Returns whether the claim is limited elsewhere.
    pub(crate) fn is_limited(&self) -> bool {
        self.is_limited
    }
}

/// Repeats (8) while claims that are limited elsewhere leave more than before.
pub(crate) fn divide_again(shares: &mut Shares, claims: impl Iterator<Item = Claim> + Clone) {
    (0..ROUNDS).find(|_| !shares.divide(claims.clone()));
}

/// The excess over the available rate that is offered to claims with high demand.
///
/// A claim that asks for γ of its offer or more may want all of it, or it may be limited elsewhere: its
/// demand does not show which. So the part that it does not use is offered in addition. Limited claims do not
/// follow. In the end they ask for less than γ of their offer, and are recognised.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overbooking {
    /// The excess, as a part of the offer.
    extra: f64,
}

/// The part of the unused rate by which the offer grows in a period while consumers follow it.
const GAIN: f64 = 0.5;
/// The part that may stay unused. It drains queues, as σ(0) does.
const UNUSED: f64 = 0.001;
/// The largest offer times γ. It exceeds the rate, so that limited claims are recognised.
const BEYOND: f64 = 1.01;

impl Overbooking {
    /// Ends a period in which claims with high demand left the part `unused` of their offers. If Interests
    /// wait, the offer was too large.
    pub(crate) fn note(&mut self, period: Period, unused: f64, is_waiting: bool) {
        let Period { length, gamma, elsewhere, .. } = period;
        if !elsewhere {
            return;
        }
        // A larger part comes from claims that are limited, or that do not follow yet.
        let unused = match is_waiting {
            true => gamma - 1.0,
            false if unused < 1.0 - gamma => unused,
            false => 0.0,
        };
        let gain = GAIN * length.as_secs_f64() / patience(period).as_secs_f64();
        let most = (BEYOND / gamma - 1.0).max(0.0);
        self.extra = (self.extra + gain * (unused - UNUSED)).clamp(0.0, most);
    }

    /// Returns the offer, as a multiple of the available rate.
    pub(crate) fn offer(&self) -> f64 {
        1.0 + self.extra
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMMA: f64 = 0.95;
    const PERIOD: Period =
        Period { length: Span::from_millis(100), gamma: GAMMA, elsewhere: true, round_trip: Span::ZERO };

    fn claim(demand: f64) -> Claim {
        Claim { weight: 1.0, demand, is_greedy: false, is_limited: false }
    }

    fn limited(demand: f64) -> Claim {
        Claim { is_limited: true, ..claim(demand) }
    }

    fn shares(rate: f64, overbooking: Overbooking, claims: &[Claim]) -> Shares {
        Shares::new(rate, claims.len() as f64, GAMMA, overbooking, claims.iter().copied())
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn what_limited_claims_do_not_use_is_divided_until_all_of_it_is_used() {
        // The first flow leaves 2.75 for each of the others. The second does not use that either.
        let flows = [limited(1e6), limited(2.4e6), claim(3e6), claim(3e6), claim(3e6)];
        let divided = shares(12e6, Overbooking::default(), &flows);
        assert!(
            near(divided.of(&flows[4]), 8.6e6 / 3.0) && near(divided.of(&flows[0]), 2.4e6),
            "{divided:?}"
        );
        // The paper divides once: its second flow holds 2.75.
        let flows = [claim(1e6), claim(2.4e6), claim(3e6), claim(3e6), claim(3e6)];
        assert!(near(shares(12e6, Overbooking::default(), &flows).of(&flows[4]), 2.75e6));
    }

    #[test]
    fn a_claim_limited_above_its_base_rate_leaves_the_rest_of_its_share() {
        // Twenty flows ask for 0.99 of a share of 1 each. One flow has the rest.
        let mut flows = vec![limited(0.99e6); 20];
        flows.push(claim(1.2e6));
        assert!(near(shares(21e6, Overbooking::default(), &flows).of(&flows[20]), 1.2e6));
    }

    fn noted(unused: &mut Unused, periods: u32, demand: f64, told: f64, offered: f64) -> bool {
        (0..periods).for_each(|_| unused.note(PERIOD, demand, told, offered));
        unused.is_limited()
    }

    #[test]
    fn a_claim_is_limited_after_half_a_second_below_gamma_of_its_rate() {
        let mut unused = Unused::default();
        assert!(!noted(&mut unused, 4, 0.94e6, 1e6, 1e6) && noted(&mut unused, 1, 0.94e6, 1e6, 1e6));
        let mut follows = Unused::default();
        assert!(!noted(&mut follows, 100, 0.96e6, 1e6, 1e6));
        assert!(!noted(&mut follows, 4, 0.94e6, 1e6, 1e6) && !noted(&mut follows, 1, 0.96e6, 1e6, 1e6));
        assert!(!noted(&mut follows, 4, 0.94e6, 1e6, 1e6), "the time starts again");
    }

    #[test]
    fn a_limited_claim_that_uses_a_rate_below_the_offer_is_limited_still() {
        let mut unused = Unused::default();
        assert!(noted(&mut unused, 5, 0.9e6, 1e6, 1e6));
        assert!(noted(&mut unused, 20, 0.96e6, 1e6, 2e6));
        assert!(!noted(&mut unused, 1, 1.95e6, 2e6, 2e6));
    }

    #[test]
    fn without_the_extension_no_claim_is_limited_and_nothing_more_is_offered() {
        let (mut unused, mut more) = (Unused::default(), Overbooking::default());
        let period = Period { elsewhere: false, ..PERIOD };
        for _ in 0..100 {
            unused.note(period, 0.1e6, 1e6, 1e6);
            more.note(period, 0.04, false);
        }
        assert!(!unused.is_limited() && near(more.offer(), 1.0));
    }

    /// Returns the offer, after `periods` periods, to one flow that uses its offer beside `others` flows that
    /// ask for 0.97 of a share of 1.
    fn offer_beside(others: usize, periods: u32) -> f64 {
        let mut more = Overbooking::default();
        for _ in 0..periods {
            let mut flows = vec![claim(0.97); others];
            flows.push(claim(more.offer()));
            more = shares(flows.len() as f64, more, &flows).overbook(PERIOD, false, flows.iter().copied());
        }
        more.offer()
    }

    #[test]
    fn what_is_left_of_shares_is_offered_on_top_until_it_is_used() {
        // One of two flows leaves 0.03; 0.001 of the rate of 2 stays unused.
        let offer = offer_beside(1, 300);
        assert!((offer - 1.028).abs() < 0.001, "{offer}");
        let offer = offer_beside(20, 300);
        assert!(0.97 < GAMMA * offer, "those that do not follow are recognised: {offer}");
        assert!(near(offer_beside(0, 300), 1.0), "one alone");
    }

    #[test]
    fn nothing_is_offered_on_top_while_all_is_used_or_most_is_not() {
        for unused in [-0.1, 0.0, 0.0009, 0.06, 1.0] {
            let mut more = Overbooking::default();
            (0..100).for_each(|_| more.note(PERIOD, unused, false));
            assert!(near(more.offer(), 1.0), "{unused}: {}", more.offer());
        }
    }
}
