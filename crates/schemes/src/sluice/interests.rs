//! The Interests that come by the link that brings the Data. They may have half of it, or what Data leave of it.
//!
//! Where they want more, the flows that ask with them share it by weights of classes: a level as that of Data, but without n.

use weir_core::packet::Packet;

use super::signals::{Grant, Load};

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
            self.level = (self.level.min(offered) * (1.0 + gain * error)).min(offered);
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
