//! Named random streams: a new component does not change the random numbers of others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_core::RngCore;
use rand_pcg::Pcg32;

/// Record of whether a run depends on its seed. If not, every seed gives the same run.
#[derive(Clone, Debug, Default)]
pub struct SeedUse(Arc<AtomicBool>);

impl SeedUse {
    /// Notes that a decision depends on the seed.
    #[inline]
    pub fn note(&self) {
        // Threads share it. A thread that only reads does not take the cache line from another.
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether any decision so far depends on the seed.
    pub fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream of random numbers that belongs to one component.
#[derive(Clone, Debug)]
pub struct Random {
    generator: Pcg32,
    /// Where draws are noted, if requested.
    seed_use: Option<SeedUse>,
}

impl Random {
    /// The stream of the component `name` in a run with this seed. Equal names give equal streams.
    pub fn named(seed: u64, name: &str) -> Random {
        // FNV-1a: short and fixed for ever, so a seed means the same run on every machine.
        let stream = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        Random { generator: Pcg32::new(seed ^ stream.rotate_left(32), stream), seed_use: None }
    }

    /// The same stream, but each draw is noted as a use of the seed.
    #[must_use]
    pub fn noting(self, seed_use: &SeedUse) -> Random {
        Random { seed_use: Some(seed_use.clone()), ..self }
    }

    /// A uniform 32-bit number.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.note();
        self.generator.next_u32()
    }

    /// A uniform 64-bit number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.note();
        self.generator.next_u64()
    }

    /// Draws a nonce. This is not noted as a use of the seed, because nonces are only tested for equality.
    /// Two nonces of the same name are equal once in 2³² pairs.
    #[inline]
    pub fn nonce(&mut self) -> u32 {
        self.generator.next_u32()
    }

    #[inline]
    fn note(&self) {
        if let Some(seed_use) = &self.seed_use {
            seed_use.note();
        }
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

    /// Returns `true` with this probability.
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
    fn a_draw_is_noted_as_a_use_of_the_seed_and_a_nonce_is_not() {
        let seed_use = SeedUse::default();
        let mut random = Random::named(1, "R1").noting(&seed_use);
        random.nonce();
        assert!(!seed_use.is_noted());
        assert_eq!(random.next_u32(), {
            let mut same = Random::named(1, "R1");
            same.nonce();
            same.next_u32()
        });
        assert!(seed_use.is_noted());
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
