//! Arriving Interests, which use the link that brings the Data. They may have half of it, or what Data leave
//! of it.
//!
//! If they want more, the requesting flows share it by the weights of classes. Their level works like that of
//! Data, but without n.

use weir_core::packet::Packet;

use super::signals::{Grant, Load};

/// The smallest level, as a part of the offered rate.
const LEAST: f64 = 0.001;

/// The state of arriving Interests.
#[derive(Debug)]
pub(super) struct Interests {
    /// The bits and the number of them in this period.
    bits: f64,
    count: u32,
    /// In the previous period: the size of one, bits, and I, the rate of all, bit/s.
    size: f64,
    pub(super) rate: f64,
    /// The rate that Interests of a flow of weight 1 may have, bit/s.
    level: f64,
}

impl Interests {
    pub(super) fn new() -> Interests {
        Interests { bits: 0.0, count: 0, size: 0.0, rate: 0.0, level: f64::INFINITY }
    }

    /// Counts an Interest.
    pub(super) fn note(&mut self, bits: f64) {
        self.bits += bits;
        self.count += 1;
    }

    /// (7): ends a period of this length, s. If the link's rate is known, `offered` is the rate for
    /// Interests, bit/s, and the level changes by the part `gain` of the error.
    pub(super) fn end_period(&mut self, passed: f64, offered: Option<f64>, gain: f64) {
        if self.count > 0 {
            self.size = self.bits / f64::from(self.count);
        }
        self.rate = self.bits / passed;
        (self.bits, self.count) = (0.0, 0);
        if let Some(offered) = offered {
            let error = ((offered - self.rate) / offered).clamp(-1.0, 1.0);
            // The lower bound: otherwise the level would take long to recover from a neighbour that ignores
            // grants.
            self.level = (self.level.clamp(LEAST * offered, offered) * (1.0 + gain * error)).min(offered);
        }
    }

    /// Limits the grant of a leaving Data of a flow of this weight to what its Interests may request.
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

    /// Returns the grant of a leaving Data of a flow that may have 1 Gb/s, and the rate of Interests that it
    /// permits.
    fn granted(interests: &Interests, weight: f64) -> (f64, f64) {
        let mut data = Packet::default();
        (data.kind, data.net_len) = (Kind::Data, 200);
        Grant { rate: 1e9, load: Load::Usual }.write(&mut data);
        let bits = 8.0 * data.wire_len() as f64;
        interests.limit(&mut data, weight);
        let rate = Grant::of(&data).unwrap().rate;
        (rate, rate / bits)
    }

    /// Interests of 60 bytes arrive at this rate, bit/s, for a period.
    fn come(interests: &mut Interests, rate: f64) {
        let bits = 8.0 * 60.0;
        (0..(rate * PERIOD / bits) as u32).for_each(|_| interests.note(bits));
        interests.end_period(PERIOD, Some(OFFERED), GAIN);
    }

    /// Flows of these weights follow their grants for `periods` periods. Returns the rates of their
    /// Interests, bit/s.
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
        // Five minutes.
        (0..12_000).for_each(|_| interests.flood());
        // A hundred periods are ten horizons, and there is half as much again.
        let rates = obey(&mut interests, &[1.0], 150);
        assert!(rates[0] > 0.9 * OFFERED, "{rates:?}");
    }

    impl Interests {
        /// A period with twice the offered rate, whatever is granted.
        fn flood(&mut self) {
            self.bits = 2.0 * OFFERED * PERIOD;
            self.count = (self.bits / 480.0) as u32;
            self.end_period(PERIOD, Some(OFFERED), GAIN);
        }
    }
}
