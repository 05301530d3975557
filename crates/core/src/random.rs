//! Named random streams: a new component does not change the random numbers of others.

use rand_core::RngCore;
use rand_pcg::Pcg32;

/// A stream of random numbers that belongs to one component.
#[derive(Clone, Debug)]
pub struct Random(Pcg32);

impl Random {
    /// The stream of the component `name` in a run with this seed. Equal names give equal streams.
    pub fn named(seed: u64, name: &str) -> Random {
        // FNV-1a: short, and fixed for ever, so a seed means the same run on every machine.
        let stream = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Random(Pcg32::new(seed ^ stream.rotate_left(32), stream))
    }

    /// A uniform 32-bit number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A uniform 64-bit number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in 0 to 1, 1 excluded.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A uniform integer below `bound`; 0 if `bound` is 0. Its bias is below 2⁻³².
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// True with this probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| Random::named(seed, name).next_u64();
        assert_eq!(draw(1, "R1"), draw(1, "R1"));
        assert_ne!(draw(1, "R1"), draw(1, "R2"));
        assert_ne!(draw(1, "R1"), draw(2, "R1"));
    }

    #[test]
    fn below_is_bounded_and_even() {
        let mut random = Random::named(7, "test");
        let mut counts = [0_u32; 5];
        for _ in 0..50_000 {
            counts[random.below(5) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
        assert_eq!(random.below(0), 0);
    }
}
