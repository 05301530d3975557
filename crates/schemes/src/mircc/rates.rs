//! The rates that a link offers. Every period T it computes one rate for each flow's primary Interests and one for its
//! secondary Interests, from the demand of the previous period.
//!
//! The numbers of the equations are those of the scheme's page. C is the rate available for Data, y the demand of the
//! period, y′ that of the previous one, q the queue of the shaper, d the round-trip time; all in bits of Data and
//! seconds. A rate is R = R_base + R_ex: a fair share, and the unused part of the other flows' shares.
//!
//! > (1) N = max(1, max(C, y)/R)
//! > (2) β = max(0.1, (y − y′)/y)
//! > (3) R_base ← 0.8·R_base + 0.2·min(max(0, (C − β·q/d)/N), C/N)
//! > (4) R_ex ← 0.8·R_ex + 0.2·min(max(0, R − y/N), C − R_base), with R_base of (3) before it is smoothed
//!
//! The same holds for the secondary class, with the capacity that the primary class does not use: C_s = max(0, C − y_p).

use weir_core::choice;
use weir_core::units::Span;

/// Lower bound of β, so that a queue always drains.
const LEAST_BETA: f64 = 0.1;
/// The smallest rate with which flows are counted, bit/s.
const LEAST_RATE: f64 = 1.0;
const LEAST_RTT: f64 = 0.001;
/// Upper bound of a sample: otherwise an answer after minutes would hide queues for seconds.
const LONGEST_RTT: Span = Span::from_secs(1);
/// d before the first sample, seconds.
const FIRST_RTT: f64 = 0.03;
const RTT_GAIN: f64 = 0.3;

/// The class of an Interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Traffic within the flow's share of its best path.
    Primary,
    /// Traffic that uses the capacity that others leave.
    Secondary,
}

impl Class {
    /// Decodes the signal RateClass. An Interest without the signal is primary.
    pub(super) fn from_value(value: Option<u64>) -> Class {
        if value == Some(Class::Secondary.value()) { Class::Secondary } else { Class::Primary }
    }

    pub(super) const fn value(self) -> u64 {
        match self {
            Class::Primary => 1,
            Class::Secondary => 2,
        }
    }
}

choice! {
    /// The rate with which flows with secondary Interests are counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum SecondaryFlows {
        /// R_s, the rate at which they send. While there are none, their number is that of the primary flows.
        Secondary = "secondary",
        /// R_p + R_s, as in the code of QSCCP's authors.
        Both = "both",
    }
}

/// The rates of one class.
#[derive(Clone, Copy, Debug, Default)]
struct ClassRate {
    base: f64,
    excess: f64,
    /// y′, bit/s.
    asked: f64,
    /// The demand counted so far in this period, bits.
    counted: u64,
}

impl ClassRate {
    fn rate(&self) -> f64 {
        self.base + self.excess
    }

    /// Returns y, bit/s, and resets the count.
    fn take_asked(&mut self, seconds: f64) -> f64 {
        core::mem::take(&mut self.counted) as f64 / seconds
    }

    /// (2) to (4) for `flows` flows. `capacity` is C or C_s, and `drain` is q/d.
    fn update(&mut self, capacity: f64, asked: f64, flows: f64, drain: f64, gain: f64) {
        let growth = if asked > 0.0 { (asked - self.asked) / asked } else { 0.0 };
        let beta = growth.max(LEAST_BETA);
        let base = ((capacity - beta * drain) / flows).max(0.0).min(capacity / flows);
        let excess = (self.rate() - asked / flows).max(0.0).min((capacity - base).max(0.0));
        self.base += gain * (base - self.base);
        self.excess += gain * (excess - self.excess);
        self.asked = asked;
    }
}

/// (1)
fn flows(capacity: f64, asked: f64, rate: f64) -> f64 {
    (capacity.max(asked) / rate.max(LEAST_RATE)).max(1.0)
}

/// The rates of one link, for the face by which its Interests leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkRates {
    capacity: f64,
    primary: ClassRate,
    secondary: ClassRate,
    /// d, seconds.
    rtt: f64,
    /// The weight of the new value in (3) and (4).
    gain: f64,
    secondary_flows: SecondaryFlows,
}

impl LinkRates {
    /// Returns the rates of a link whose Data may use `capacity` bit/s. The first flow gets all of it.
    pub(super) fn new(capacity: f64, gain: f64, secondary_flows: SecondaryFlows) -> LinkRates {
        let primary = ClassRate { base: capacity, ..ClassRate::default() };
        let secondary = ClassRate::default();
        LinkRates { capacity, primary, secondary, rtt: FIRST_RTT, gain, secondary_flows }
    }

    pub(super) fn set_capacity(&mut self, capacity: f64) {
        self.capacity = capacity;
    }

    /// Resets the rates after a long time without Interests.
    pub(super) fn reset(&mut self) {
        *self = LinkRates { rtt: self.rtt, ..LinkRates::new(self.capacity, self.gain, self.secondary_flows) };
    }

    /// Returns whether the rates have the values of [`LinkRates::reset`], so that they do not change without
    /// Interests.
    pub(super) fn is_idle(&self) -> bool {
        let asked =
            [&self.primary, &self.secondary].iter().any(|class| class.asked > 0.0 || class.counted > 0);
        !asked && self.primary.rate() >= 0.99 * self.capacity
    }

    /// Counts the Data bits of an Interest that has come, whether or not it fits the shaper.
    pub(super) fn count(&mut self, class: Class, bits: u64) {
        let class = match class {
            Class::Primary => &mut self.primary,
            Class::Secondary => &mut self.secondary,
        };
        class.counted = class.counted.saturating_add(bits);
    }

    /// d ← 0.7·d + 0.3·rtt
    pub(super) fn note_rtt(&mut self, rtt: Span) {
        self.rtt += RTT_GAIN * (rtt.min(LONGEST_RTT).as_secs_f64() - self.rtt);
    }

    /// Ends a period of this many seconds. `waiting` is q before a primary Interest that comes now, and
    /// before a secondary one, bits.
    pub(super) fn end_period(&mut self, seconds: f64, waiting: [f64; 2]) {
        let drain = waiting.map(|bits| bits / self.rtt.max(LEAST_RTT));
        let gain = self.gain;
        let primary_rate = self.primary.rate();
        let asked = self.primary.take_asked(seconds);
        let primary_flows = flows(self.capacity, asked, primary_rate);
        self.primary.update(self.capacity, asked, primary_flows, drain[0], gain);

        let rest = (self.capacity - asked).max(0.0);
        let asked = self.secondary.take_asked(seconds);
        let secondary_flows = match self.secondary_flows {
            SecondaryFlows::Secondary if asked == 0.0 => primary_flows,
            SecondaryFlows::Secondary => flows(rest, asked, self.secondary.rate()),
            SecondaryFlows::Both => flows(rest, asked, primary_rate + self.secondary.rate()),
        };
        self.secondary.update(rest, asked, secondary_flows, drain[1], gain);
    }

    /// R_p and R_s, bit/s.
    pub(super) fn rates(&self) -> (u64, u64) {
        (self.primary.rate() as u64, self.secondary.rate() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    const T: f64 = 0.1;
    const C: f64 = 9.5e6;
    /// No Interests wait.
    const NOTHING: [f64; 2] = [0.0; 2];

    fn link() -> LinkRates {
        LinkRates::new(C, 0.2, SecondaryFlows::Secondary)
    }

    /// `of` flows request at the primary rate of `delay` periods ago, for `periods` periods. Returns the
    /// rate.
    fn run(rates: &mut LinkRates, of: f64, delay: usize, periods: usize) -> f64 {
        let mut told: VecDeque<f64> = vec![rates.rates().0 as f64; delay].into();
        for _ in 0..periods {
            told.push_back(rates.rates().0 as f64);
            let asked = told.pop_front().unwrap_or(0.0) * of;
            rates.count(Class::Primary, (asked * T) as u64);
            rates.end_period(T, NOTHING);
        }
        rates.rates().0 as f64
    }

    #[test]
    fn the_first_update_after_a_second_flow_has_the_numbers_of_the_equations() {
        let mut rates = link();
        rates.count(Class::Primary, (2.0 * C * T) as u64);
        rates.end_period(T, NOTHING);
        // (1) N = 2C/C; (3) 0.8·C + 0.2·C/2; (4) R − y/N = 0.
        assert!((rates.primary.base - 0.9 * C).abs() < 1.0, "{}", rates.primary.base);
        assert!(rates.primary.excess.abs() < 1.0);
    }

    #[test]
    fn rates_converge_to_the_fair_share_whatever_the_number_of_flows() {
        for of in [1.0, 2.0, 3.0, 7.0, 40.0] {
            for delay in [0, 1, 2] {
                let rate = run(&mut link(), of, delay, 200);
                assert!((rate * of / C - 1.0).abs() < 0.01, "{of} flows, {delay}: {rate}");
            }
        }
    }

    #[test]
    fn what_a_flow_leaves_is_given_to_the_others() {
        let mut rates = link();
        run(&mut rates, 3.0, 1, 200);
        let rate = run(&mut rates, 1.0, 1, 200);
        assert!((rate / C - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn a_flow_limited_elsewhere_leaves_its_rest_to_the_other() {
        let mut rates = link();
        for _ in 0..400 {
            let asked = 1e6 + rates.rates().0 as f64;
            rates.count(Class::Primary, (asked * T) as u64);
            rates.end_period(T, NOTHING);
        }
        let rate = rates.rates().0 as f64;
        assert!((rate / (C - 1e6) - 1.0).abs() < 0.01, "{rate}");
    }

    /// Three links in a row, one flow over all of them and one over each. The max-min share is half of each
    /// link. These equations alone lead the flows to it.
    #[test]
    fn a_line_of_links_comes_to_the_max_min_share() {
        let mut links = [10e6, 6e6, 8e6].map(|c| LinkRates::new(c, 0.2, SecondaryFlows::Secondary));
        for _ in 0..600 {
            let rates = links.map(|link| link.rates().0 as f64);
            let through = rates.iter().copied().fold(f64::INFINITY, f64::min);
            for (link, own) in links.iter_mut().zip(rates) {
                link.count(Class::Primary, ((own + through) * T) as u64);
                link.end_period(T, NOTHING);
            }
        }
        for (link, fair) in links.iter().zip([7e6, 3e6, 5e6]) {
            let rate = link.rates().0 as f64;
            assert!((rate / fair - 1.0).abs() < 0.02, "{rate} of {fair}");
        }
    }

    /// With a small R_s, a period without secondary Interests occurs by chance. Then C_s is divided by the
    /// number of primary flows. C_s/R_s would hold R_s down, and a division by one would give all of it to
    /// each flow.
    #[test]
    fn while_nobody_asks_in_it_the_secondary_class_has_as_many_flows_as_the_primary_one() {
        let mut rates = link();
        for _ in 0..200 {
            rates.count(Class::Primary, (40.0 * rates.rates().0 as f64 * T) as u64);
            rates.count(Class::Secondary, 1000);
            rates.end_period(T, NOTHING);
        }
        let before = rates.secondary.base;
        let flows = (C / rates.primary.rate()).max(1.0);
        rates.count(Class::Primary, (0.9 * C * T) as u64);
        rates.end_period(T, NOTHING);
        let expected = 0.8 * before + 0.2 * 0.1 * C / flows;
        assert!(
            (rates.secondary.base / expected - 1.0).abs() < 1e-3,
            "{} of {expected}",
            rates.secondary.base
        );
    }

    #[test]
    fn secondary_flows_share_what_primary_ones_leave() {
        let mut rates = link();
        for _ in 0..400 {
            rates.count(Class::Primary, (4e6 * T) as u64);
            rates.count(Class::Secondary, (2.0 * rates.rates().1 as f64 * T) as u64);
            rates.end_period(T, NOTHING);
        }
        let rate = rates.rates().1 as f64;
        assert!((rate / ((C - 4e6) / 2.0) - 1.0).abs() < 0.01, "{rate}");
    }

    /// The reason to deviate from the code's N_s: R_s² · n = C_s·(R_p + R_s) is more than the available rate.
    #[test]
    fn counted_by_both_rates_secondary_flows_ask_for_more_than_there_is() {
        let mut rates = LinkRates::new(C, 0.2, SecondaryFlows::Both);
        for _ in 0..400 {
            let (primary, secondary) = rates.rates();
            rates.count(Class::Primary, (0.4 * primary as f64 * T) as u64);
            rates.count(Class::Secondary, (2.0 * secondary as f64 * T) as u64);
            rates.end_period(T, NOTHING);
        }
        assert!(rates.secondary.asked > 1.2 * (C - rates.primary.asked), "{rates:?}");
    }

    #[test]
    fn both_counts_secondary_flows_by_the_rates_that_were_told() {
        let mut rates = LinkRates::new(C, 0.2, SecondaryFlows::Both);
        (rates.primary.base, rates.secondary.base) = (4e6, 1e6);
        rates.count(Class::Primary, (2.0 * C * T) as u64);
        rates.count(Class::Secondary, (15e6 * T) as u64);
        rates.primary.asked = 2.0 * C;
        rates.end_period(T, NOTHING);
        // C_s = 0, N_s = y_s/(R_p + R_s) = 3, and R − y/N < 0 in (4). The result is 0.8·R_s.
        assert!((rates.secondary.base - 0.8e6).abs() < 1.0);
        rates.count(Class::Primary, (0.5 * C * T) as u64);
        rates.count(Class::Secondary, (15e6 * T) as u64);
        let told = rates.primary.rate() + rates.secondary.rate();
        rates.end_period(T, NOTHING);
        let expected = 0.8 * 0.8e6 + 0.2 * 0.5 * C / (15e6 / told);
        assert!(
            (rates.secondary.base / expected - 1.0).abs() < 1e-3,
            "{} of {expected}",
            rates.secondary.base
        );
    }

    #[test]
    fn an_answer_after_minutes_counts_as_one_after_a_second() {
        let mut rates = link();
        rates.note_rtt(Span::from_secs(300));
        assert!((rates.rtt - (0.7 * FIRST_RTT + 0.3)).abs() < 1e-9);
    }

    #[test]
    fn what_waits_before_secondary_interests_only_lowers_their_rate_only() {
        let mut rates = link();
        rates.rtt = 0.1;
        rates.secondary.base = 1e6;
        rates.count(Class::Primary, (0.5 * C * T) as u64);
        rates.count(Class::Secondary, (0.5 * C * T) as u64);
        (rates.primary.asked, rates.secondary.asked) = (0.5 * C, 0.5 * C);
        let mut calm = rates;
        rates.end_period(T, [0.0, 1e5]);
        calm.end_period(T, NOTHING);
        assert!((rates.primary.base - calm.primary.base).abs() < 1e-6);
        // (3) with N = C_s/R_s, β = 0.1 and q/d = 1 Mb/s.
        let less = 0.2 * 1e5 / (0.5 * C / 1e6);
        assert!((calm.secondary.base - rates.secondary.base - less).abs() < 1.0, "{rates:?} {calm:?}");
    }

    #[test]
    fn a_queue_lowers_the_rate_by_beta_q_over_d() {
        let mut rates = link();
        rates.note_rtt(Span::from_secs_f64((0.1 - 0.7 * FIRST_RTT) / 0.3));
        assert!((rates.rtt - 0.1).abs() < 1e-6);
        rates.count(Class::Primary, (C * T) as u64);
        rates.primary.asked = C;
        rates.end_period(T, [1e5; 2]);
        // N = 1, β = 0.1 and q/d = 1 Mb/s.
        assert!((rates.primary.base - (0.8 * C + 0.2 * (C - 1e5))).abs() < 10.0, "{}", rates.primary.base);
    }
}
