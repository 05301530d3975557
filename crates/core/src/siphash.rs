//! SipHash (Aumasson and Bernstein, *SipHash: a fast short-input PRF*, INDOCRYPT 2012), of a 64-bit word followed by
//! bytes.
//!
//! SipHash-c-d runs c rounds for each word of eight bytes and d rounds at the end. [`Key::hash`] is SipHash-1-3.

/// A key of 128 bits, as the initial state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key([u64; 4]);

impl Key {
    /// Makes the key of these two words (k0 and k1 of the paper).
    pub(crate) const fn new(k0: u64, k1: u64) -> Key {
        Key([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    /// SipHash-1-3 of the eight bytes of `first`, lowest first, followed by `bytes`.
    #[inline]
    pub(crate) fn hash(&self, first: u64, bytes: &[u8]) -> u64 {
        self.rounds::<1, 3>(first, bytes)
    }

    #[inline]
    fn rounds<const C: usize, const D: usize>(&self, first: u64, bytes: &[u8]) -> u64 {
        let mut state = State(self.0);
        state.absorb::<C>(first);
        let (words, _) = bytes.as_chunks::<8>();
        for word in words {
            state.absorb::<C>(u64::from_le_bytes(*word));
        }
        // The highest byte of the last word is the total length modulo 256.
        state.absorb::<C>(rest(bytes) | (bytes.len() as u64 + 8) << 56);
        state.0[2] ^= 0xFF;
        for _ in 0..D {
            state.round();
        }
        let [v0, v1, v2, v3] = state.0;
        v0 ^ v1 ^ v2 ^ v3
    }
}

/// The remaining bytes that do not fill a word of eight, first byte lowest.
#[inline]
fn rest(bytes: &[u8]) -> u64 {
    let (len, rest) = (bytes.len(), bytes.len() % 8);
    if rest == 0 {
        return 0;
    }
    if let Some(last) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (64 - 8 * rest);
    }
    // Two reads that may overlap: the same bytes at the same positions.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) | u64::from(last) << (8 * (len - 4));
    }
    let at = |i: usize| u64::from(bytes[i]) << (8 * i);
    at(0) | at(len / 2) | at(len - 1)
}

struct State([u64; 4]);

impl State {
    #[inline]
    fn absorb<const C: usize>(&mut self, word: u64) {
        self.0[3] ^= word;
        for _ in 0..C {
            self.round();
        }
        self.0[0] ^= word;
    }

    /// SipRound of the paper.
    #[inline]
    fn round(&mut self) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        v0 = v0.wrapping_add(v1);
        v2 = v2.wrapping_add(v3);
        v1 = v1.rotate_left(13) ^ v0;
        v3 = v3.rotate_left(16) ^ v2;
        v0 = v0.rotate_left(32);
        v2 = v2.wrapping_add(v1);
        v0 = v0.wrapping_add(v3);
        v1 = v1.rotate_left(17) ^ v2;
        v3 = v3.rotate_left(21) ^ v0;
        v2 = v2.rotate_left(32);
        self.0 = [v0, v1, v2, v3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{DefaultHasher, Hasher};

    /// The bytes 0, 1, 2 and so on: the message of the reference vectors, and the first 16 as the key.
    fn counting<const N: usize>() -> [u8; N] {
        core::array::from_fn(|i| i as u8)
    }

    fn word(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(*bytes.first_chunk().unwrap())
    }

    fn reference_key() -> Key {
        Key::new(word(&counting::<16>()), word(&counting::<16>()[8..]))
    }

    /// Appendix A of the paper: 15 bytes.
    #[test]
    fn siphash_2_4_has_the_value_of_the_paper() {
        let bytes = counting::<15>();
        assert_eq!(reference_key().rounds::<2, 4>(word(&bytes), &bytes[8..]), 0xa129_ca61_49be_45e5);
    }

    /// The reference vectors of SipHash-1-3 from the tests of Rust's standard library: all lengths modulo 8,
    /// and the longest.
    #[test]
    fn siphash_1_3_has_the_reference_values() {
        let vectors = [
            (8, 0x3690_9511_8d29_9a8e),
            (9, 0x25a4_8eb3_6c06_3de4),
            (10, 0x79de_85ee_92ff_097f),
            (11, 0x70c1_18c1_f94d_c352),
            (12, 0x78a3_84b1_57b4_d9a2),
            (13, 0x306f_760c_1229_ffa7),
            (14, 0x605a_a111_c0f9_5d34),
            (15, 0xd320_d86d_2a51_9956),
            (16, 0xcc4f_dd1a_7d90_8b66),
            (63, 0x9d19_9062_b7bb_b3a8),
        ];
        let bytes = counting::<63>();
        for (len, hash) in vectors {
            assert_eq!(reference_key().hash(word(&bytes), &bytes[8..len]), hash, "{len} bytes");
        }
    }

    /// At every length, also beyond 255, it equals SipHash-1-3 of the standard library, whose key is zero.
    #[test]
    fn siphash_1_3_of_all_lengths_is_that_of_the_standard_library() {
        let key = Key::new(0, 0);
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * 89 + 7) as u8).collect();
        for len in 0..=300 {
            let mut library = DefaultHasher::new();
            library.write(&0x0123_4567_89AB_CDEF_u64.to_le_bytes());
            library.write(&bytes[..len]);
            assert_eq!(key.hash(0x0123_4567_89AB_CDEF, &bytes[..len]), library.finish(), "{len} bytes");
        }
    }
}
