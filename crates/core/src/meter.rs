//! Token buckets, implemented as the generic cell rate algorithm.
//!
//! A bucket of depth D that fills at rate r is one timestamp, the *theoretical arrival time*. From that time
//! on the bucket is full. Before it, the bucket lacks r times the remaining time. No timer is needed.
//! Rounding loses nothing, because fractions of a nanosecond are carried over.

use crate::units::{Rate, Span, Time};

const NS_PER_S: u64 = 1_000_000_000;

/// A token bucket rate limiter.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    rate: Rate,
    depth_bits: u64,
    full_at: Time,
    /// Carried fraction of a nanosecond, in units of 1/rate.
    carried: u64,
}

impl Meter {
    /// Makes a full bucket of this depth that fills at `rate`.
    pub fn new(rate: Rate, depth_bits: u64) -> Meter {
        Meter { rate, depth_bits, full_at: Time::ZERO, carried: 0 }
    }

    /// The rate, bit/s.
    pub fn bits_per_second(&self) -> f64 {
        self.rate.as_bps_f64()
    }

    /// Changes the rate. The missing amount, in bits, stays; at a rate of zero it stays for ever.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        let rate = rate.max(Rate::from_bps(1));
        if rate == self.rate {
            return;
        }
        let lacks = self.rate.bits_in(self.full_at - now);
        self.rate = rate;
        self.carried = 0;
        if lacks > 0 {
            self.full_at = now + rate.time_for_bits(lacks);
        }
    }

    /// Changes the depth. The missing amount stays.
    pub fn set_depth(&mut self, depth_bits: u64) {
        self.depth_bits = depth_bits;
    }

    /// The earliest time at which `bits` may pass. A packet larger than the bucket passes when the bucket is
    /// full.
    #[inline]
    pub fn passes_at(&self, bits: u64) -> Time {
        self.full_at
            - self.rate.time_for_bits(self.depth_bits.saturating_sub(bits)).min(Span::from_secs(3600))
    }

    /// Takes the tokens for `bits` that pass now.
    #[inline]
    pub fn take(&mut self, now: Time, bits: u64) {
        if self.full_at < now {
            self.full_at = now;
            self.carried = 0;
        }
        let rate = self.rate.as_bps().max(1);
        let scaled = bits.saturating_mul(NS_PER_S).saturating_add(self.carried);
        self.full_at += Span::from_nanos(scaled / rate);
        self.carried = scaled % rate;
    }

    /// Takes the tokens for `bits` that have already passed. This delays the time when the bucket is full to
    /// at most `most` from now.
    pub fn owe(&mut self, now: Time, bits: u64, most: Span) {
        let before = *self;
        self.take(now, bits);
        if self.full_at > now + most {
            *self = if before.full_at > now + most { before } else { Meter { full_at: now + most, ..*self } };
        }
    }

    /// Returns tokens that were taken for more bits than have passed.
    pub fn give_back(&mut self, bits: u64) {
        let rate = self.rate.as_bps().max(1);
        let scaled = bits.saturating_mul(NS_PER_S);
        if let Some(left) = self.carried.checked_sub(scaled) {
            self.carried = left;
            return;
        }
        let nanos = (scaled - self.carried).div_ceil(rate);
        self.full_at = self.full_at - Span::from_nanos(nanos);
        self.carried = nanos.saturating_mul(rate) - (scaled - self.carried);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_lets_its_depth_pass_at_once_and_then_its_rate() {
        let mut meter = Meter::new(Rate::from_mbps(1), 3_000);
        let now = Time::from_nanos(5_000_000);
        for _ in 0..3 {
            assert!(meter.passes_at(1_000) <= now);
            meter.take(now, 1_000);
        }
        assert_eq!(meter.passes_at(1_000), now + Span::from_millis(1));
        assert_eq!(meter.passes_at(2_000), now + Span::from_millis(2));
    }

    #[test]
    fn what_was_taken_at_a_low_rate_is_paid_back_at_the_next_rate() {
        let mut meter = Meter::new(Rate::from_bps(100), 1_000);
        let now = Time::from_nanos(5_000_000);
        meter.take(now, 1_000);
        assert_eq!(meter.passes_at(1_000), now + Span::from_secs(10));
        meter.set_rate(now, Rate::from_mbps(1));
        assert_eq!(meter.passes_at(1_000), now + Span::from_millis(1));
    }

    #[test]
    fn what_is_given_back_passes_again_and_no_more_than_the_bucket_holds() {
        let mut meter = Meter::new(Rate::from_mbps(1), 1_000);
        let now = Time::from_nanos(5_000_000);
        meter.take(now, 5_000);
        meter.give_back(3_000);
        assert_eq!(meter.passes_at(1_000), now + Span::from_millis(2));
        meter.give_back(70_000);
        for _ in 0..2 {
            assert!(meter.passes_at(500) <= now);
            meter.take(now, 500);
        }
        assert!(meter.passes_at(500) > now);
    }

    #[test]
    fn what_is_given_back_is_what_was_taken_to_the_bit() {
        let mut meter = Meter::new(Rate::from_bps(7_000_000_000), 3);
        let now = Time::from_nanos(5_000_000);
        meter.take(now, 1_000_001);
        let (full_at, carried) = (meter.full_at, meter.carried);
        for bits in [1, 2, 3, 10, 70_400, 999] {
            meter.take(now, bits);
            meter.give_back(bits);
            assert_eq!((meter.full_at, meter.carried), (full_at, carried), "{bits}");
        }
        (0..1_000_001).for_each(|_| meter.give_back(1));
        assert_eq!((meter.full_at, meter.carried), (now, 0));
    }

    #[test]
    fn what_is_owed_is_no_more_than_so_long_and_what_was_owed_before_stays() {
        let mut meter = Meter::new(Rate::from_mbps(1), 1_000);
        let now = Time::from_nanos(5_000_000);
        meter.owe(now, 3_000, Span::from_millis(10));
        assert_eq!(meter.full_at, now + Span::from_millis(3));
        meter.owe(now, 30_000, Span::from_millis(10));
        assert_eq!(meter.full_at, now + Span::from_millis(10));
        meter.take(now, 5_000);
        meter.owe(now, 1, Span::from_millis(10));
        assert_eq!(meter.full_at, now + Span::from_millis(15));
    }

    #[test]
    fn a_rate_of_zero_does_not_outlast_itself() {
        let mut meter = Meter::new(Rate::from_mbps(1), 1_000);
        let now = Time::from_nanos(5_000_000);
        meter.set_rate(now, Rate::ZERO);
        meter.take(now, 1_000);
        meter.set_rate(now, Rate::from_mbps(1));
        assert_eq!(meter.passes_at(1_000), now + Span::from_millis(1));
    }

    #[test]
    fn the_rate_is_kept_to_the_bit_over_many_packets() {
        // 3 bits at 7 Gb/s are not a whole number of nanoseconds.
        let mut meter = Meter::new(Rate::from_bps(7_000_000_000), 3);
        let mut now = Time::ZERO;
        for _ in 0..7_000_000 {
            now = now.max(meter.passes_at(3));
            meter.take(now, 3);
        }
        assert_eq!(meter.full_at.as_nanos(), 3_000_000);
    }
}
