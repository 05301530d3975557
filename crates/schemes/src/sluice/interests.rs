//! The Interests that come by the link that brings the Data. They may have half of it, or what Data leave of it.
//!
//! Where they want more, the flows that ask with them share it by weights of classes: a level as that of Data, but without n.

use weir_core::packet::Packet;

use super::signals::{Grant, Load};

/// The level is no less than this part of what they are offered.
const LEAST: f64 = 0.001;

/// What is known of them.
#[derive(Debug)]
pub(super) struct Interests {
    /// Bits and number in this period.
    bits: f64,
    count: u32,
    /// Bits of one, and I, the rate of all, bit/s, in the period before.
    size: f64,
    pub(super) rate: f64,
    /// The rate that the Interests of a flow of weight 1 may have, bit/s.
    level: f64,
}

impl Interests {
    pub(super) fn new() -> Interests {
        Interests { bits: 0.0, count: 0, size: 0.0, rate: 0.0, level: f64::INFINITY }
    }

    /// One came.
    pub(super) fn note(&mut self, bits: f64) {
        self.bits += bits;
        self.count += 1;
    }

    /// (7): a period of this length, s, ends. If the link's rate is known, Interests are offered this much, bit/s, and the level
    /// moves by this part of the error.
    pub(super) fn end_period(&mut self, passed: f64, offered: Option<f64>, gain: f64) {
        if self.count > 0 {
            self.size = self.bits / f64::from(self.count);
        }
        self.rate = self.bits / passed;
        (self.bits, self.count) = (0.0, 0);
        if let Some(offered) = offered {
            let error = ((offered - self.rate) / offered).clamp(-1.0, 1.0);
            // The least: else it would take long to come back after a neighbour that follows no grant.
            self.level = (self.level.clamp(LEAST * offered, offered) * (1.0 + gain * error)).min(offered);
        }
    }

    /// A Data of a flow of this weight leaves: its grant is at most what its Interests may ask for.
    pub(super) fn limit(&self, data: &mut Packet, weight: f64) {
        if self.level.is_infinite() || self.size == 0.0 {
            return;
        }
        let rate = weight * self.level * 8.0 * data.wire_len() as f64 / self.size;
        if Grant::of(data).is_none_or(|grant| rate < grant.rate) {
            Grant { rate, load: Load::Full }.write(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::packet::Kind;

    use super::*;

    const PERIOD: f64 = 0.025;
    const GAIN: f64 = 0.3 / 4.0;
    /// Half of a link of 100 Mb/s.
    const OFFERED: f64 = 50e6;

    /// The grant with which a Data of a flow leaves that may have 1 Gb/s, and how many bits of Interests that means.
    fn granted(interests: &Interests, weight: f64) -> (f64, f64) {
        let mut data = Packet::default();
        (data.kind, data.net_len) = (Kind::Data, 200);
        Grant { rate: 1e9, load: Load::Usual }.write(&mut data);
        let bits = 8.0 * data.wire_len() as f64;
        interests.limit(&mut data, weight);
        let rate = Grant::of(&data).unwrap().rate;
        (rate, rate / bits)
    }

    /// Interests of 60 bytes come at this rate, bit/s, for a period.
    fn come(interests: &mut Interests, rate: f64) {
        let bits = 8.0 * 60.0;
        (0..(rate * PERIOD / bits) as u32).for_each(|_| interests.note(bits));
        interests.end_period(PERIOD, Some(OFFERED), GAIN);
    }

    /// Flows of these weights ask at their grants for so many periods. The rates of their Interests, bit/s.
    fn obey(interests: &mut Interests, weights: &[f64], periods: u32) -> Vec<f64> {
        let rates = |interests: &Interests| -> Vec<f64> {
            weights.iter().map(|weight| 8.0 * 60.0 * granted(interests, *weight).1).collect()
        };
        for _ in 0..periods {
            let all = rates(interests).iter().sum();
            come(interests, all);
        }
        rates(interests)
    }

    #[test]
    fn grants_limit_interests_to_what_they_are_offered_by_weights() {
        for weights in [&[1.0][..], &[1.0, 1.0, 1.0], &[1.0, 5.0]] {
            let mut interests = Interests::new();
            come(&mut interests, 4.0 * OFFERED);
            let (rates, all) = (obey(&mut interests, weights, 400), weights.iter().sum::<f64>());
            for (rate, weight) in rates.iter().zip(weights) {
                assert!((rate / (OFFERED * weight / all) - 1.0).abs() < 0.03, "{weights:?}: {rates:?}");
            }
        }
    }

    #[test]
    fn interests_that_want_less_limit_nothing() {
        let mut interests = Interests::new();
        assert!(granted(&interests, 1.0).0 > 0.99e9);
        (0..400).for_each(|_| come(&mut interests, 0.2 * OFFERED));
        let at_most = granted(&interests, 1.0).1 * 480.0;
        assert!((at_most / OFFERED - 1.0).abs() < 0.01, "{at_most}");
    }

    #[test]
    fn flows_that_obey_are_back_soon_after_a_flood_of_others() {
        let mut interests = Interests::new();
        // For five minutes.
        (0..12_000).for_each(|_| interests.flood());
        // A hundred periods: ten horizons and a half more.
        let rates = obey(&mut interests, &[1.0], 150);
        assert!(rates[0] > 0.9 * OFFERED, "{rates:?}");
    }

    impl Interests {
        /// A period in which twice as much comes as is offered, whatever is granted.
        fn flood(&mut self) {
            self.bits = 2.0 * OFFERED * PERIOD;
            self.count = (self.bits / 480.0) as u32;
            self.end_period(PERIOD, Some(OFFERED), GAIN);
        }
    }
}
