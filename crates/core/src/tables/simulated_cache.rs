//! A simulated cache: it answers a given fraction of the names under some prefixes, as if it had their Data
//! from the beginning.
//!
//! Whether it has a Data depends on the name, not on the Interest: a number in 0 to 1, derived from the name
//! and from the cache's random stream, is compared with the hit ratio. Therefore
//! - a retransmitted Interest, or the Interest of another consumer, finds what the first one found, as in a
//!   cache with constant content. If each Interest were decided separately, each retransmission of a miss
//!   would have another chance, and a scheme that loses packets would see a better cache than one that loses
//!   none;
//! - a larger ratio only adds names, a smaller one only removes some;
//! - the order of Interests does not matter, and nothing is stored: the same seed gives the same hits.

use super::prefix_table::PrefixTable;
use crate::name::HashedName;
use crate::packet::Packet;
use crate::producer::Producer;
use crate::random::Random;

/// A cache with a given hit ratio.
#[derive(Clone, Debug)]
pub struct SimulatedCache {
    ratio: f64,
    /// Makes its names independent of those of another cache.
    key: u64,
    /// The producer of the Data under each prefix.
    producers: PrefixTable<Producer>,
    hits: u64,
    misses: u64,
}

impl SimulatedCache {
    /// Makes a cache that has this fraction of the names, 0 to 1. It has no prefix yet.
    pub fn new(ratio: f64, random: &mut Random) -> SimulatedCache {
        SimulatedCache { ratio, key: random.next_u64(), producers: PrefixTable::new(), hits: 0, misses: 0 }
    }

    /// Makes the cache answer names under this prefix, with the Data of this producer.
    pub fn add(&mut self, prefix: &HashedName, producer: Producer) {
        self.producers.find_or_insert(prefix, || producer);
    }

    /// Changes the hit ratio, 0 to 1, from now on.
    pub fn set_ratio(&mut self, ratio: f64) {
        self.ratio = ratio;
    }

    /// The number of look-ups with an answer.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// The number of look-ups under its prefixes without an answer.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// The producer of the Data that answers an Interest, if the cache has it. An incomplete name finds
    /// nothing, because several Data would match.
    #[inline]
    pub fn lookup(&mut self, interest: &Packet) -> Option<Producer> {
        let name = &interest.name;
        let producer = self.producers.get(self.producers.lookup(name)?).copied()?;
        if interest.can_be_prefix || name.implicit_digest().is_some() || self.place_of(name) >= self.ratio {
            self.misses += 1;
            return None;
        }
        self.hits += 1;
        Some(producer)
    }

    /// The number of a name in 0 to 1, 1 excluded.
    fn place_of(&self, name: &HashedName) -> f64 {
        // The finalizer of SplitMix64: every bit of the key and of the name's hash affects all others.
        let mut mixed = self.key ^ number_of(name);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// A number derived from a name alone. It is not the hash of the tables: that hash may change, but which
/// names a cache has must not. It is fixed for ever, as random streams are.
fn number_of(name: &HashedName) -> u64 {
    const KEYS: [u64; 3] = [0x54CB_BC18_61F1_1450, 0x3866_EEDC_4E7E_9442, 0x118E_C48B_C1F8_F379];
    let [k0, k1, k2] = KEYS;
    let (wire, mut start, mut number) = (name.wire(), 0, 0);
    for len in 1..=name.len() {
        let end = name.prefix_wire(len).len();
        let component = &wire[start..end];
        start = end;
        number ^= k0;
        let (blocks, rest) = component.as_chunks::<16>();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            number = fold(number ^ u64::from_le_bytes(words[0]), k1 ^ u64::from_le_bytes(words[1]));
        }
        // The first and the last bytes of the rest, which may overlap.
        let (a, b) = if let (Some(first), Some(last)) = (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
            (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
            (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
        } else {
            match *rest {
                [x] => (u64::from(x), 0),
                [x, y] => (u64::from(x), u64::from(y)),
                [x, y, z] => (u64::from(x), u64::from(y) | u64::from(z) << 8),
                _ => (0, 0),
            }
        };
        number = fold(number ^ a, k1 ^ b);
        number = fold(number ^ component.len() as u64, k2);
    }
    number
}

/// Multiplies to 128 bits and combines the halves.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::name;
    use crate::units::{Bytes, Span};

    const PRODUCER: Producer = Producer { payload: Bytes::new(1000), freshness: Span::ZERO, signature: 32 };

    fn cache(ratio: f64, node: &str) -> SimulatedCache {
        let mut cache = SimulatedCache::new(ratio, &mut Random::named(1, node));
        cache.add(&name("/a"), PRODUCER);
        cache
    }

    fn has(cache: &mut SimulatedCache, uri: &str) -> bool {
        let mut interest = Packet::default();
        interest.name = name(uri);
        cache.lookup(&interest).is_some()
    }

    fn hits(cache: &mut SimulatedCache) -> Vec<bool> {
        (0..20_000).map(|segment| has(cache, &format!("/a/{segment}"))).collect()
    }

    fn share(of: impl Iterator<Item = bool>) -> f64 {
        of.filter(|hit| *hit).count() as f64 / 20_000.0
    }

    #[test]
    fn it_has_the_given_part_of_the_names_and_always_the_same() {
        for ratio in [0.0, 0.2, 0.5, 0.95, 1.0] {
            let found = hits(&mut cache(ratio, "C"));
            let deviation = (ratio * (1.0 - ratio) / 20_000.0_f64).sqrt();
            let measured = share(found.iter().copied());
            assert!((measured - ratio).abs() <= 4.0 * deviation, "{measured} of {ratio}");
            assert_eq!(found, hits(&mut cache(ratio, "C")));
        }
    }

    #[test]
    fn a_larger_ratio_only_adds_names() {
        let mut changing = cache(0.3, "C");
        let before = hits(&mut changing);
        changing.set_ratio(0.6);
        let after = hits(&mut changing);
        assert!(before.iter().zip(&after).all(|(before, after)| !before || *after));
        changing.set_ratio(0.3);
        assert_eq!(before, hits(&mut changing));
    }

    #[test]
    fn hits_of_two_caches_and_of_neighbouring_segments_are_independent() {
        let [first, second] = ["C", "D"].map(|node| hits(&mut cache(0.5, node)));
        let both = share(first.iter().zip(&second).map(|(first, second)| *first && *second));
        assert!((both - 0.25).abs() < 0.015, "{both}");
        let runs = share(first.iter().zip(&first[1..]).map(|(this, next)| *this && *next));
        assert!((runs - 0.25).abs() < 0.015, "{runs}");
    }

    #[test]
    fn it_answers_whole_names_under_its_prefixes_only() {
        let mut cache = cache(1.0, "C");
        assert!(has(&mut cache, "/a/1") && !has(&mut cache, "/b/1"));
        let mut interest = Packet::default();
        interest.name = name("/a/1");
        interest.can_be_prefix = true;
        assert!(cache.lookup(&interest).is_none());
        // Names outside of its prefixes are not counted.
        assert_eq!((cache.hits(), cache.misses()), (1, 1));
    }
}
