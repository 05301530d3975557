//! A hash table of places that grows a bit at a time.
//!
//! A hash table that is full moves all that it has to a larger one, and reads the hash of each from wherever it is: with a
//! million entries it takes 50 ms, and packets wait. Here both tables stay. Whatever is put in has a few others moved, so
//! that the smaller table is empty before the larger one is full. Meanwhile both are searched.

use hashbrown::HashTable;

/// Places that are looked at, and moved, when one is put in.
const STEP: usize = 8;

/// Places of entries, by the hash of what the entries are found by.
#[derive(Clone, Debug)]
pub(crate) struct PlaceIndex {
    now: HashTable<u32>,
    /// What has yet to move.
    before: HashTable<u32>,
    /// Places below this one have moved.
    moved: u32,
}

impl PlaceIndex {
    pub(crate) const fn new() -> PlaceIndex {
        PlaceIndex { now: HashTable::new(), before: HashTable::new(), moved: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.now.len() + self.before.len()
    }

    /// The place with this hash that is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let found = self.now.find(hash, |place| is_it(*place));
        if found.is_none() && !self.before.is_empty() {
            return self.before.find(hash, |place| is_it(*place)).copied();
        }
        found.copied()
    }

    /// Puts a place in, which is not there. `hash_of` gives the hash of each place; all places are below `bound`.
    pub(crate) fn insert(&mut self, hash: u64, place: u32, bound: usize, hash_of: impl Fn(u32) -> u64) {
        if self.now.len() == self.now.capacity() {
            // So many that all of `before` have moved when it is full, wherever they are below `bound`.
            let room = (2 * self.now.len()).max(self.now.len() + bound / STEP + 1);
            self.before = core::mem::replace(&mut self.now, HashTable::with_capacity(room));
            self.moved = 0;
            self.drop_empty();
        }
        if !self.before.is_empty() {
            self.go_on(&hash_of);
            self.drop_empty();
        }
        self.now.insert_unique(hash, place, |place| hash_of(*place));
    }

    /// Moves a few from the table before.
    fn go_on(&mut self, hash_of: impl Fn(u32) -> u64) {
        for _ in 0..STEP {
            if self.before.is_empty() {
                return;
            }
            let hash = hash_of(self.moved);
            if let Ok(found) = self.before.find_entry(hash, |place| *place == self.moved) {
                found.remove();
                self.now.insert_unique(hash, self.moved, |place| hash_of(*place));
            }
            self.moved += 1;
        }
    }

    /// Gives back the table before, if all of it has moved or gone.
    fn drop_empty(&mut self) {
        if self.before.is_empty() {
            self.before = HashTable::new();
        }
    }

    /// Takes a place out, if it is there.
    pub(crate) fn remove(&mut self, hash: u64, place: u32) {
        for table in [&mut self.now, &mut self.before] {
            if let Ok(found) = table.find_entry(hash, |other| *other == place) {
                found.remove();
                break;
            }
        }
        self.drop_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use core::cell::Cell;

    /// Any number will do.
    fn hash(place: u32) -> u64 {
        (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Puts a place in; says how many hashes were asked for, which is what a move costs.
    fn insert(index: &mut PlaceIndex, place: u32, bound: u32) -> usize {
        let asked = Cell::new(0);
        let hash_of = |place: u32| {
            assert!(place < bound, "{place} is beyond {bound}");
            asked.set(asked.get() + 1);
            hash(place)
        };
        index.insert(hash(place), place, bound as usize, hash_of);
        asked.get()
    }

    fn has(index: &PlaceIndex, place: u32) -> bool {
        index.find(hash(place), |other| other == place) == Some(place)
    }

    #[test]
    fn no_insertion_moves_more_than_a_few() {
        let mut index = PlaceIndex::new();
        let count = 300_000;
        for place in 0..count {
            assert!(insert(&mut index, place, place + 1) <= STEP);
        }
        assert_eq!(index.len(), count as usize);
        assert!((0..count).all(|place| has(&index, place)));
        // What is taken out leaves marks, which a table has to get rid of too.
        let mut random = Random::named(1, "places");
        for _ in 0..600_000 {
            let place = random.next_u64() as u32 % count;
            index.remove(hash(place), place);
            assert!(!has(&index, place));
            assert!(insert(&mut index, place, count) <= STEP);
        }
        assert_eq!(index.len(), count as usize);
        assert!((0..count).all(|place| has(&index, place)));
    }

    #[test]
    fn what_is_taken_out_while_others_move_is_in_neither_table() {
        let mut index = PlaceIndex::new();
        let count = 100_000;
        let mut moving = 0;
        for place in 0..count {
            insert(&mut index, place, place + 1);
            if index.before.capacity() > 0 {
                moving += 1;
                index.remove(hash(place / 2), place / 2);
                assert!(!has(&index, place / 2) && has(&index, place));
                insert(&mut index, place / 2, place + 1);
            }
        }
        assert!(moving > 100 && index.len() == count as usize);
        (3..count).for_each(|place| index.remove(hash(place), place));
        assert!(index.len() == 3 && index.before.capacity() == 0 && has(&index, 2));
    }
}
