//! PECN's flow rate computation (section IV-D 1): divides the capacity for Data between classes and flows,
//! once a period T at each face.
//!
//! Equations (1) to (3) are the paper's. The page with (4) to (9) is missing from every available copy. They are
//! reconstructed from the authors' published code, and the numbers are ours. All rates are bit/s of returned Data.
//!
//! | equation | here |
//! |---|---|
//! | (1) B' = η·B − B_I | [`data_capacity`] |
//! | (2) base_f of a delay-sensitive flow, (3) of a delay-tolerant one | [`Shares::base`], of B_c |
//! | (4) total_rate_DS | `cds/period.rs` |
//! | (5) base_c and the demand of a class, (6) B_c | [`class_rates`] |
//! | (7) base_f and the demand of a flow, (8) spare_c | [`Shares::new`] |
//! | (9) R_f | [`Shares::of`] |

use weir_core::units::{Span, Time};

use crate::qsccp::extensions::elsewhere::{self, Overbooking};

/// (5) The part of its base rate up to which a class is idle (authors' code).
const IDLE: f64 = 0.05;

/// (1) B'(t) = η·B(t) − B_I(t), but at least half of η·B: the other end leaves half of the link to waiting
/// Data.
pub(crate) fn data_capacity(eta: f64, capacity: f64, reverse_interests: f64) -> f64 {
    (eta * capacity - reverse_interests).max(eta * capacity / 2.0)
}

/// A period, and the rules for demand at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    /// T.
    pub(crate) length: Span,
    /// γ.
    pub(crate) gamma: f64,
    /// Whether demand may be limited elsewhere.
    pub(crate) elsewhere: bool,
    /// The shortest round trip from this face.
    pub(crate) round_trip: Span,
}

/// One of those that share a rate: a flow in its class, or a class of C_DT.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// w·φ of a flow, ω of a class.
    pub(crate) weight: f64,
    /// r, bit/s.
    pub(crate) demand: f64,
    /// φ < 1.
    pub(crate) is_greedy: bool,
    /// Whether it is limited elsewhere (`extensions/elsewhere.rs`).
    pub(crate) is_limited: bool,
}

/// A rate, divided among those that share it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    /// The rate that is shared: B_c, or A for the classes.
    rate: f64,
    gamma: f64,
    /// (2), (3), (7) The base rate of a unit of weight, and the weights of all.
    base: f64,
    weights: f64,
    /// (6), (8) The rate of a unit of weight with high demand: its base rate and its part of the spare rate.
    /// Then the rate that is left to claims with high demand, and their weights.
    level: f64,
    left: f64,
    high_weights: f64,
    overbooking: Overbooking,
}

impl Shares {
    /// (7), (8) Divides `rate` among claims whose weights sum to `weights`.
    ///
    /// A claim has high demand if it asks for γ of its base rate or more. The others leave what they do not
    /// ask for. A greedy flow has its base rate, and no part of the spare rate.
    pub(crate) fn new(
        rate: f64,
        weights: f64,
        gamma: f64,
        overbooking: Overbooking,
        claims: impl Iterator<Item = Claim> + Clone,
    ) -> Shares {
        let base = if weights > 0.0 { rate / weights } else { rate };
        let (level, left, high_weights) = (base, rate, 0.0);
        let mut shares = Shares { rate, gamma, base, weights, level, left, high_weights, overbooking };
        shares.divide(claims.clone());
        if claims.clone().any(|claim| claim.is_limited) {
            elsewhere::divide_again(&mut shares, claims);
        }
        shares
    }

    /// Makes one step of (8) from the present level. Returns whether the level has risen.
    pub(crate) fn divide(&mut self, claims: impl Iterator<Item = Claim>) -> bool {
        let (mut left, mut high_weights) = (self.rate, 0.0);
        for claim in claims {
            if claim.is_greedy {
                left -= claim.demand.min(self.base * claim.weight);
            } else if self.takes(&claim) {
                high_weights += claim.weight;
            } else {
                left -= claim.demand;
            }
        }
        let is_higher = high_weights > 0.0 && left / high_weights > self.level * (1.0 + 1e-9);
        if high_weights > 0.0 || self.high_weights == 0.0 {
            (self.left, self.high_weights) = (left, high_weights);
        }
        if is_higher {
            self.level = left / high_weights;
        }
        is_higher
    }

    /// Returns whether a claim gets a part of the spare rate.
    fn takes(&self, claim: &Claim) -> bool {
        match claim.is_limited {
            true => claim.demand >= self.level * claim.weight,
            false => self.is_high(claim),
        }
    }

    /// (5), (7): returns whether a claim has high demand.
    fn is_high(&self, claim: &Claim) -> bool {
        !claim.is_greedy && claim.demand > 0.0 && claim.demand >= self.gamma * self.base * claim.weight
    }

    /// (9): returns R_f, before the discount for a filled virtual queue.
    pub(crate) fn of(&self, claim: &Claim) -> f64 {
        if self.is_high(claim) { self.offered(claim.weight) } else { self.base * claim.weight }
    }

    /// Returns the rate of a claim of this weight with unlimited demand.
    pub(crate) fn offered(&self, weight: f64) -> f64 {
        self.overbooking.offer() * self.level * weight
    }

    /// Ends a period with these claims. `is_waiting` is whether Interests wait. Computes the excess that is
    /// offered next.
    pub(crate) fn overbook(
        &self,
        period: Period,
        is_waiting: bool,
        claims: impl Iterator<Item = Claim>,
    ) -> Overbooking {
        let (mut asked, mut count) = (0.0, 0);
        for claim in claims {
            let is_high = self.is_high(&claim) && self.takes(&claim);
            asked += if is_high { claim.demand } else { 0.0 };
            count += u32::from(claim.demand > 0.0);
        }
        let mut overbooking = self.overbooking;
        // A single claim gets nothing from others.
        let unused = if count > 1 && asked > 0.0 { 1.0 - asked / self.left } else { 0.0 };
        overbooking.note(period, unused, is_waiting);
        overbooking
    }

    /// Returns the rate of a new claim with high demand: its part of what the others leave. The new claims
    /// have the weights `new` together.
    pub(crate) fn of_new(&self, weight: f64, new: f64) -> f64 {
        let base = self.rate / (self.weights + new);
        base.max(self.left / (self.high_weights + new)) * weight
    }
}

/// (5), (6) The rates B_c of the delay-tolerant classes, of `available` A = B' − total_rate_DS.
///
/// base_c = A·ω_c/Σω over all classes, active or not (3). Classes with high demand get what the others leave, by
/// weight. If there is none, low-demand classes get the spare rate, but not what others ask for.
pub(crate) fn class_rates<const N: usize>(
    available: f64,
    gamma: f64,
    overbooking: Overbooking,
    classes: &[Claim; N],
) -> ([f64; N], Shares) {
    let weights: f64 = classes.iter().map(|c| c.weight).sum();
    let shares = Shares::new(available, weights, gamma, overbooking, classes.iter().copied());
    if shares.high_weights > 0.0 {
        return (classes.map(|class| shares.of(&class)), shares);
    }
    let is_low = |c: &&Claim| c.demand > IDLE * shares.base * c.weight;
    let low: f64 = classes.iter().filter(is_low).map(|c| c.weight).sum();
    let rates = core::array::from_fn(|i| {
        let c = &classes[i];
        let others = shares.left + c.demand;
        let spare = if is_low(&c) { shares.left.max(0.0) * c.weight / low } else { 0.0 };
        (shares.base * c.weight + spare).min(others)
    });
    (rates, shares)
}

/// r_f: the rate of Data that a flow requests, measured from Interest to Interest. A count over T has steps
/// of one Data per T, which is coarser than most thresholds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// r_f, bit/s; zero if the flow has stopped, or has sent only one Interest.
    rate: f64,
    /// r_f at its last Interest, from which its usual gap follows.
    usual: f64,
    /// The bits requested since `since`, the time of the Interest before them. That is the first Interest, or
    /// one that is counted. `since` is never before the first Interest.
    asked_bits: u64,
    since: Time,
    last: Time,
    has_stopped: bool,
    /// Whether r_f fell in the last period by more than chance.
    is_falling: bool,
}

/// The measurement of a period with this number of Interests is used directly. Others are smoothed with at
/// least this gain.
const INTERESTS_TO_KNOW: f64 = 8.0;
const LEAST_GAIN: f64 = 0.25;
/// A flow has stopped after this number of its usual gaps without an Interest; after twice as many if these
/// are about as long as a period or longer, because they vary more.
const GAPS_TO_STOP: f64 = 4.0;

/// A demand falls if it is less than this part of the previous one.
const FALLING: f64 = 0.98;

impl Demand {
    /// Returns the demand of a flow whose first Interest comes now.
    pub(crate) fn new(now: Time) -> Demand {
        Demand {
            rate: 0.0,
            usual: 0.0,
            asked_bits: 0,
            since: Time::NEVER,
            last: now,
            has_stopped: false,
            is_falling: false,
        }
    }

    /// Returns r_f, bit/s.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Returns whether r_f fell in the last period by more than chance.
    pub(crate) fn is_falling(&self) -> bool {
        self.is_falling
    }

    /// Returns the time of the latest Interest.
    pub(crate) fn last_interest(&self) -> Time {
        self.last
    }

    /// Counts an Interest for this many bits of Data, forwarded or not. Returns whether the flow becomes
    /// active again with it.
    #[inline]
    pub(crate) fn on_interest(&mut self, now: Time, bits: u64) -> bool {
        self.last = now;
        let returns = core::mem::take(&mut self.has_stopped);
        if returns || self.since == Time::NEVER {
            self.since = now;
        } else {
            self.asked_bits += bits;
        }
        returns
    }

    /// Ends a period of a flow whose Data have this size, bits.
    pub(crate) fn end_period(&mut self, now: Time, data_bits: u64, period: Span) {
        let (bits, before) = (data_bits as f64, self.rate);
        if self.asked_bits > 0 {
            let is_known = self.rate > 0.0;
            // Interests that come at once count as spread over a period; over a quarter of one, if r_f is
            // known.
            let span = self.last.since(self.since).max(if is_known { period / 4 } else { period });
            let measured = self.asked_bits as f64 / span.as_secs_f64();
            let interests = self.asked_bits as f64 / bits;
            let gain = if is_known { (interests / INTERESTS_TO_KNOW).clamp(LEAST_GAIN, 1.0) } else { 1.0 };
            self.rate += gain * (measured - self.rate);
            (self.usual, self.asked_bits, self.since) = (self.rate, 0, self.last);
        } else if self.rate > 0.0 {
            // An Interest now would give this rate.
            let now = bits / now.since(self.last).max(period).as_secs_f64();
            let gaps = GAPS_TO_STOP * if self.usual * period.as_secs_f64() < 2.0 * bits { 2.0 } else { 1.0 };
            self.rate = if now < self.usual / gaps { 0.0 } else { self.rate.min(2.0 * now) };
            self.has_stopped = self.rate == 0.0;
        }
        self.is_falling = self.rate < FALLING * before;
    }
}

/// σ(0).
pub(crate) const UNDISCOUNTED: f64 = 0.999_537_996_820_976_3;

/// Returns the discount σ(x) = (1/3)(π/2 − atan(8x − 4)) + 0.034 of R_f for a virtual queue of which the part
/// x is filled (authors' code; not in the available text). It drains the queues that start-up and bursts
/// leave.
pub(crate) fn occupancy_discount(filled: f64) -> f64 {
    (core::f64::consts::FRAC_PI_2 - libm::atan(8.0 * filled - 4.0)) / 3.0 + 0.034
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMMA: f64 = 0.95;

    fn claim(weight: f64, demand: f64) -> Claim {
        Claim { weight, demand, is_greedy: false, is_limited: false }
    }

    fn shares(rate: f64, claims: &[Claim]) -> Shares {
        let weights = claims.iter().map(|claim| claim.weight).sum();
        Shares::new(rate, weights, GAMMA, Overbooking::default(), claims.iter().copied())
    }

    fn rates_of<const N: usize>(available: f64, classes: &[Claim; N]) -> [f64; N] {
        class_rates(available, GAMMA, Overbooking::default(), classes).0
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1.0)
    }

    #[test]
    fn equation_1_leaves_at_least_half_of_the_link() {
        assert!(near(data_capacity(0.99, 10e6, 0.4e6), 9.5e6));
        assert!(near(data_capacity(0.99, 10e6, 8e6), 4.95e6));
    }

    #[test]
    fn the_dumbbell_of_the_paper_gives_4_45_2_97_and_1_48() {
        // Section 9a of the specification: ηB = 9.9 Mb/s, EF uses 1 Mb/s, AF4 and AF3 are idle.
        let available = data_capacity(0.99, 10e6, 0.0) - 1e6;
        let classes =
            [claim(5.0, 0.0), claim(4.0, 0.0), claim(3.0, 4.5e6), claim(2.0, 3e6), claim(1.0, 1.5e6)];
        let rates = rates_of(available, &classes);
        assert!(
            near(rates[2], 4.45e6) && near(rates[3], 8.9e6 / 3.0) && near(rates[4], 8.9e6 / 6.0),
            "{rates:?}"
        );
    }

    #[test]
    fn equation_6_divides_the_spare_rate_by_weight() {
        let classes = [claim(3.0, 9e6), claim(2.0, 0.5e6), claim(1.0, 9e6)];
        let rates = rates_of(9e6, &classes);
        assert!(near(rates[0] + 0.5e6 + rates[2], 9e6), "{rates:?}");
        assert!(near(rates[0] - 4.5e6, 3.0 * (rates[2] - 1.5e6)), "{rates:?}");
        assert!(near(rates[1], 3e6), "a class with low demand has its base rate: {rates:?}");
    }

    #[test]
    fn without_high_demand_a_class_gets_the_spare_rate_but_not_what_others_ask_for() {
        let rates = rates_of(10e6, &[claim(1.0, 1e6), claim(1.0, 0.5e6)]);
        assert!(near(rates[0], 9.25e6) && near(rates[1], 9e6), "{rates:?}");
        for low in [0.3e6, 1e6, 3e6] {
            let rates = rates_of(9e6, &[claim(5.0, low), claim(4.0, 0.0), claim(1.0, 0.2e6)]);
            assert!(rates[0] <= 9e6 - 0.2e6 + 1.0, "{low}: {rates:?}");
        }
    }

    #[test]
    fn equation_8_gives_flows_with_high_demand_the_rest_and_the_others_their_base_rate() {
        let flows = [claim(1.0, 3e6), claim(1.0, 3e6), claim(1.0, 0.5e6)];
        let shares = shares(6e6, &flows);
        assert!(near(shares.of(&flows[0]), 2.75e6) && near(shares.of(&flows[2]), 2e6), "{shares:?}");
    }

    #[test]
    fn the_rates_of_flows_that_may_grow_fit_their_class() {
        // One flow has slowed down for a moment, and another one speeds up.
        let flows = [claim(1.0, 2.9e6), claim(1.0, 9e6), claim(1.0, 3e6)];
        let shares = shares(9e6, &flows);
        assert!(near(flows.iter().map(|flow| shares.of(flow)).sum::<f64>(), 9e6));
    }

    #[test]
    fn a_greedy_flow_has_its_discounted_base_rate_and_none_of_the_spare_rate() {
        let greedy = Claim { is_greedy: true, ..claim(0.5, 9e6) };
        let flows = [claim(1.0, 4e6), claim(1.0, 4e6), greedy];
        let punished = shares(10e6, &flows);
        assert!(near(punished.of(&flows[0]), 4e6) && near(punished.of(&greedy), 2e6), "{punished:?}");
        let flows = [claim(1.0, 4e6), claim(1.0, 1e6), greedy];
        let punished = shares(10e6, &flows);
        assert!(near(punished.of(&flows[0]), 7e6) && near(punished.of(&greedy), 2e6), "{punished:?}");
    }

    #[test]
    fn silent_flows_leave_their_shares_to_the_one_that_asks() {
        let mut flows = vec![claim(1.0, 0.0); 150];
        flows.push(claim(1.0, 0.1e6));
        assert!(near(shares(9e6, &flows).of(&flows[150]), 9e6));
    }

    #[test]
    fn a_new_flow_is_told_an_equal_share_or_what_the_others_leave() {
        let two = shares(6e6, &[claim(1.0, 3e6), claim(1.0, 3e6)]);
        assert!(near(two.of_new(1.0, 1.0), 2e6) && near(two.of_new(2.0, 2.0), 3e6));
        let idle = shares(6e6, &[claim(1.0, 3e6), claim(1.0, 0.5e6)]);
        assert!(near(idle.of_new(1.0, 1.0), 2.75e6));
        // Forty flows that come at once share the rate, with or without earlier flows.
        assert!(near(shares(6e6, &[]).of_new(1.0, 40.0), 6e6 / 40.0));
        assert!(near(two.of_new(1.0, 40.0), 6e6 / 42.0));
    }

    /// Returns r_f after each period of 100 ms, for Interests of 8000 bits at these times, ms.
    fn measured(sent: &[u64], periods: u64) -> Vec<f64> {
        let (bits, period) = (8000, Span::from_millis(100));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut sent = sent.iter().copied().peekable();
        let mut demand = Demand::new(at(*sent.peek().unwrap()));
        (1..=periods)
            .map(|n| {
                while let Some(ms) = sent.next_if(|ms| *ms < 100 * n) {
                    demand.on_interest(at(ms), bits);
                }
                demand.end_period(at(100 * n), bits, period);
                demand.rate()
            })
            .collect()
    }

    #[test]
    fn a_paced_flow_is_measured_without_steps() {
        for gap in [1, 7, 23, 58, 99, 130, 450, 1900] {
            let sent: Vec<u64> = (0..).map(|n| n * gap).take_while(|ms| *ms < 60_000).collect();
            let rates = measured(&sent, 600);
            let true_rate = 8e6 / gap as f64;
            for rate in &rates[100..] {
                assert!((rate / true_rate - 1.0).abs() < 0.01, "gap {gap} ms: {rate} of {true_rate}");
            }
        }
    }

    #[test]
    fn a_slow_flow_has_stopped_after_eight_of_its_gaps() {
        for gap in [50, 130, 450] {
            let sent: Vec<u64> = (0..20).map(|n| n * gap).collect();
            for (n, rate) in measured(&sent, 200).into_iter().enumerate() {
                let gaps = (100.0 * (n + 1) as f64 - 19.0 * gap as f64) / gap as f64;
                assert!(!(0.0..3.0).contains(&gaps) || rate > 0.0, "{gap} ms: none after {gaps:.1} gaps");
                assert!(
                    gaps < 8.0 + 200.0 / gap as f64 || rate == 0.0,
                    "{gap} ms: {rate} after {gaps:.1} gaps"
                );
            }
        }
    }

    #[test]
    fn a_fast_flow_has_stopped_in_the_first_period_without_an_interest() {
        let sent: Vec<u64> = (0..100).map(|n| n * 10).collect();
        let rates = measured(&sent, 40);
        assert!(near(rates[9], 8e5), "{rates:?}");
        assert!(rates[10] == 0.0 && rates[39] == 0.0, "{rates:?}");
    }

    #[test]
    fn a_first_interest_alone_is_no_demand() {
        assert_eq!(measured(&[30], 50), [0.0; 50]);
    }

    #[test]
    fn the_first_interests_of_a_flow_are_spread_over_a_period() {
        // Eleven Interests at 1 kHz in the middle of a period. The first one only marks the start.
        let sent: Vec<u64> = (30..41).collect();
        let rates = measured(&sent, 2);
        assert!(near(rates[0], 10.0 * 8000.0 / 0.1) && rates[1] == 0.0, "{rates:?}");
    }

    #[test]
    fn interests_of_a_known_flow_that_come_at_once_are_spread_over_a_quarter_of_a_period() {
        let mut sent: Vec<u64> = (0..100).map(|n| n * 10).collect();
        sent.extend([1005; 50]);
        let rates = measured(&sent, 11);
        assert!(near(rates[10], 50.0 * 8000.0 / 0.025), "{rates:?}");
    }

    #[test]
    fn a_flow_that_comes_back_is_measured_from_its_return() {
        let sent: Vec<u64> = (0..100).chain(300..400).map(|n| n * 10).collect();
        let rates = measured(&sent, 40);
        assert!(rates[30] > 7e5 && near(rates[31], 8e5) && near(rates[39], 8e5), "{rates:?}");
        let (at, period) = (|ms| Time::ZERO + Span::from_millis(ms), Span::from_millis(100));
        let mut demand = Demand::new(at(0));
        assert!(!demand.on_interest(at(0), 8000) && !demand.on_interest(at(10), 8000));
        (1..=9).for_each(|n| demand.end_period(at(100 * n), 8000, period));
        assert!(demand.on_interest(at(1000), 8000), "eight gaps of a period have passed");
        assert!(!demand.on_interest(at(1010), 8000));
    }

    #[test]
    fn an_empty_queue_is_not_discounted() {
        assert_eq!(UNDISCOUNTED.to_bits(), occupancy_discount(0.0).to_bits());
    }

    #[test]
    fn the_discount_has_the_authors_values() {
        for (filled, value) in [(0.0, 0.9995), (0.25, 0.927), (0.5, 0.558), (0.75, 0.189), (1.0, 0.116)] {
            assert!((occupancy_discount(filled) - value).abs() < 1e-3, "{filled}");
        }
    }
}
