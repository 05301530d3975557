//! The dead nonce list: Interests that have left the PIT and may still be looping.
//!
//! A PIT entry knows the nonces of its own Interest. After it has ended, an Interest that comes back around a
//! loop would look new. So the forwarder remembers (name, nonce) for a while: by default six seconds, as NFD
//! does. It stores a keyed 64-bit hash of the pair. An Interest is mistaken for a loop once in about 2^64 /
//! capacity, and without the key nobody can find nonces of one name whose pairs collide.
//!
//! The list is a ring in order of expiry, and a hash table from the pair to its place in the ring.

use crate::name::NameHasher;
use crate::units::{Span, Time};
use hashbrown::HashTable;
use std::collections::VecDeque;

/// Default time for which a nonce is remembered: NFD's six seconds.
pub const DEAD_NONCE_LIFETIME: Span = Span::from_secs(6);

/// Nonces of Interests that have left the PIT.
#[derive(Clone, Debug)]
pub struct DeadNonceList {
    hasher: NameHasher,
    lifetime: Span,
    capacity: usize,
    /// Oldest first.
    ring: VecDeque<Dead>,
    /// Sequence number of the front of the ring; wraps around.
    front: u32,
    /// Sequence number of the newest mention of each pair.
    index: HashTable<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Dead {
    key: u64,
    expires: Time,
}

impl DeadNonceList {
    /// Makes a list of at most `capacity` nonces (at most 2^31), each remembered for `lifetime`. A capacity
    /// of 0 turns it off.
    pub fn new(hasher: NameHasher, capacity: usize, lifetime: Span) -> DeadNonceList {
        DeadNonceList {
            hasher,
            lifetime,
            capacity: capacity.min(1 << 31),
            ring: VecDeque::new(),
            front: 0,
            index: HashTable::new(),
        }
    }

    /// The number of nonces. It includes expired ones until their space is needed.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Remembers a nonce of the name with this hash. When the list is full, the oldest is removed.
    pub fn add(&mut self, name_hash: u64, nonce: u32, now: Time) {
        if self.capacity == 0 {
            return;
        }
        while self.ring.front().is_some_and(|oldest| oldest.expires <= now)
            || self.ring.len() >= self.capacity
        {
            self.drop_oldest();
        }
        let key = self.hasher.with_nonce(name_hash, nonce);
        let sequence = self.front.wrapping_add(self.ring.len() as u32);
        let (ring, front) = (&self.ring, self.front);
        match self.index.find_mut(key, |&s| key_at(ring, front, s) == Some(key)) {
            Some(newest) => *newest = sequence,
            None => {
                let rehash = |&s: &u32| key_at(ring, front, s).unwrap_or(0);
                self.index.insert_unique(key, sequence, rehash);
            }
        }
        self.ring.push_back(Dead { key, expires: now + self.lifetime });
    }

    /// Returns whether this nonce was seen with the name of this hash within the remembered time.
    #[inline]
    pub fn contains(&self, name_hash: u64, nonce: u32, now: Time) -> bool {
        // Usually all entries are long expired, and the newest one shows this.
        if self.ring.back().is_none_or(|newest| newest.expires <= now) {
            return false;
        }
        let key = self.hasher.with_nonce(name_hash, nonce);
        let found = self.index.find(key, |&s| key_at(&self.ring, self.front, s) == Some(key));
        found
            .and_then(|&s| self.ring.get(s.wrapping_sub(self.front) as usize))
            .is_some_and(|dead| dead.expires > now)
    }

    fn drop_oldest(&mut self) {
        let Some(oldest) = self.ring.pop_front() else { return };
        let sequence = self.front;
        self.front = sequence.wrapping_add(1);
        // A pair that was added again has a later number and stays.
        if let Ok(place) = self.index.find_entry(oldest.key, |&s| s == sequence) {
            place.remove();
        }
    }
}

fn key_at(ring: &VecDeque<Dead>, front: u32, sequence: u32) -> Option<u64> {
    ring.get(sequence.wrapping_sub(front) as usize).map(|dead| dead.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::HASHER;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_nonce_is_remembered_for_six_seconds_with_its_name() {
        let mut list = DeadNonceList::new(HASHER, 10, DEAD_NONCE_LIFETIME);
        list.add(1, 42, ms(0));
        assert!(list.contains(1, 42, ms(5_999)));
        assert!(!list.contains(1, 42, ms(6_000)));
        assert!(!list.contains(2, 42, ms(0)));
        assert!(!list.contains(1, 43, ms(0)));
    }

    #[test]
    fn the_oldest_goes_when_the_list_is_full() {
        let mut list = DeadNonceList::new(HASHER, 2, DEAD_NONCE_LIFETIME);
        for nonce in 0..3 {
            list.add(1, nonce, ms(0));
        }
        assert_eq!(list.len(), 2);
        assert!(!list.contains(1, 0, ms(0)) && list.contains(1, 1, ms(0)) && list.contains(1, 2, ms(0)));
    }

    #[test]
    fn a_second_mention_is_remembered_anew() {
        let mut list = DeadNonceList::new(HASHER, 10, DEAD_NONCE_LIFETIME);
        list.add(1, 42, ms(0));
        list.add(1, 42, ms(4_000));
        list.add(2, 7, ms(7_000));
        assert!(list.contains(1, 42, ms(9_999)));
        assert!(!list.contains(1, 42, ms(10_000)));
    }

    #[test]
    fn a_list_of_capacity_zero_remembers_nothing() {
        let mut list = DeadNonceList::new(HASHER, 0, DEAD_NONCE_LIFETIME);
        list.add(1, 42, ms(0));
        assert!(list.is_empty() && !list.contains(1, 42, ms(0)));
    }

    /// A stranger chooses nonces of one name with equal low halves. The hash table chooses a place by the low
    /// bits of the key, and compares entries there by the high bits.
    #[test]
    fn chosen_nonces_of_one_name_crowd_no_place_of_the_table() {
        let list = DeadNonceList::new(HASHER, 1 << 16, DEAD_NONCE_LIFETIME);
        let mut places = vec![0_u32; 1 << 16];
        for nonce in 0..1 << 16 {
            places[(list.hasher.with_nonce(1, nonce << 16) & 0xFFFF) as usize] += 1;
        }
        // About 1 per place. By chance one place has 16 or more in fewer than one of 10⁸ tables.
        assert!(places.iter().all(|&count| count < 16), "{:?}", places.iter().max());
    }

    #[test]
    fn sequence_numbers_may_wrap() {
        let mut list = DeadNonceList::new(HASHER, 3, DEAD_NONCE_LIFETIME);
        list.front = u32::MAX - 1;
        for nonce in 0..10 {
            list.add(9, nonce, ms(0));
            assert!(list.contains(9, nonce, ms(0)));
            assert!(nonce < 2 || list.contains(9, nonce - 2, ms(0)));
            assert!(nonce < 3 || !list.contains(9, nonce - 3, ms(0)));
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list(
            capacity in 1usize..12,
            ops in prop::collection::vec((0u64..3, 0u32..4, 0u64..3_000, any::<bool>()), 0..200),
        ) {
            let mut list = DeadNonceList::new(HASHER, capacity, DEAD_NONCE_LIFETIME);
            let mut model: Vec<(u64, u32, Time)> = Vec::new();
            let mut now = Time::ZERO;
            for (name, nonce, later, add) in ops {
                now += Span::from_millis(later);
                // Names differ in their upper half, as hashes do.
                let hash = name << 40;
                if add {
                    list.add(hash, nonce, now);
                    model.retain(|(_, _, expires)| *expires > now);
                    if model.len() == capacity {
                        model.remove(0);
                    }
                    model.push((name, nonce, now + DEAD_NONCE_LIFETIME));
                    prop_assert_eq!(list.len(), model.len());
                }
                for (name, nonce) in (0..3).flat_map(|name| (0..4).map(move |nonce| (name, nonce))) {
                    let known = model.iter().any(|(n, k, expires)| *n == name && *k == nonce && *expires > now);
                    prop_assert_eq!(list.contains(name << 40, nonce, now), known);
                }
            }
        }
    }
}
