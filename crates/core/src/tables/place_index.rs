//! A hash table of places that grows in small steps.
//!
//! A usual hash table that is full moves all its contents to a larger one. With a million entries this takes
//! 50 ms, while packets wait. Here both tables stay. Each insertion and removal moves a few other places, some
//! hundred at most, so that the smaller table is empty before the larger one is full. Meanwhile both are
//! searched.
//!
//! A table is an array of slots with linear probing (Knuth, The Art of Computer Programming 3, 6.4,
//! algorithms L and R). A slot has the place and the upper half of its hash. The first bits of that half
//! determine where the search begins. So a look-up usually reads one cache line, which can be prefetched, and
//! moving a place reads no entry.

use crate::prefetch::prefetch;

/// Number of slots that each insertion or removal examines and moves, plus those up to the next empty one.
const STEP: usize = 8;
/// Slots of the smallest table: one cache line.
const LEAST: usize = 8;
const EMPTY: u64 = 0;

/// Places of entries, by the hash of the entries' key. A place is less than 2^32 - 1.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct PlaceIndex {
    now: Table,
    /// The table whose slots are still to be moved.
    before: Table,
    /// Slots of `before` below this index are empty.
    moved: usize,
}

/// An array of slots: a power of two of them or none, at most three quarters full.
#[derive(Clone, Debug)]
#[repr(C)]
struct Table {
    slots: Vec<u64>,
    len: u32,
    /// The low bits of a tag that do not affect where its search begins.
    shift: u32,
}

/// The part of a hash that a slot stores.
#[inline]
fn tag_of(hash: u64) -> u64 {
    hash >> 32
}

#[inline]
fn slot_of(hash: u64, place: u32) -> u64 {
    tag_of(hash) << 32 | (u64::from(place) + 1)
}

/// The place in a slot that is not empty.
#[inline]
fn place_in(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

impl Table {
    const fn new() -> Table {
        Table { slots: Vec::new(), len: 0, shift: 0 }
    }

    fn with_slots(count: usize) -> Table {
        // The system provides zeroed memory, so nothing is written yet.
        Table { slots: vec![EMPTY; count], len: 0, shift: 32 - count.trailing_zeros() }
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.len as usize >= self.slots.len() / 4 * 3
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & self.slots.len().wrapping_sub(1)
    }

    /// The slot at which the search for a tag begins.
    #[inline]
    fn home(&self, tag: u64) -> usize {
        (tag >> self.shift) as usize
    }

    /// The slot with this hash for whose place `is_it` returns `true`, and that place.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<(usize, u32)> {
        let mut at = self.home(tag_of(hash));
        loop {
            // A table without slots returns here.
            let slot = *self.slots.get(at)?;
            if slot == EMPTY {
                return None;
            }
            let place = place_in(slot);
            if slot >> 32 == tag_of(hash) && is_it(place) {
                return Some((at, place));
            }
            at = self.after(at);
        }
    }

    /// Fills a slot. There must be an empty one.
    #[inline]
    fn put(&mut self, slot: u64) {
        let mut at = self.home(slot >> 32);
        while self.slots[at] != EMPTY {
            at = self.after(at);
        }
        self.slots[at] = slot;
        self.len += 1;
    }

    /// Empties a slot, and moves the slots behind it that would otherwise no longer be found.
    #[inline]
    fn take(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut at = self.after(hole);
        while self.slots[at] != EMPTY {
            let home = self.home(self.slots[at] >> 32);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
            at = self.after(at);
        }
        self.slots[hole] = EMPTY;
        self.len -= 1;
    }
}

impl PlaceIndex {
    pub(crate) const fn new() -> PlaceIndex {
        PlaceIndex { now: Table::new(), before: Table::new(), moved: 0 }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        (self.now.len + self.before.len) as usize
    }

    /// The place with this hash for which `is_it` returns `true`.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let found = match self.now.find(hash, &is_it) {
            None if self.before.len > 0 => self.before.find(hash, is_it),
            found => found,
        };
        found.map(|(_, place)| place)
    }

    /// Inserts a place that is not there yet.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, place: u32) {
        if self.now.is_full() {
            self.grow();
        }
        if self.before.len > 0 {
            self.go_on();
        }
        self.now.put(slot_of(hash, place));
    }

    /// Continues in a table twice as large. All of `before` has moved by then: that takes fewer insertions
    /// than a quarter of its slots.
    #[cold]
    fn grow(&mut self) {
        let count = (2 * self.now.slots.len()).max(LEAST);
        self.before = core::mem::replace(&mut self.now, Table::with_slots(count));
        self.moved = 0;
        self.drop_empty();
    }

    /// Moves a few slots from the old table, and then all up to an empty slot, so that the slots behind it
    /// are still found.
    #[cold]
    fn go_on(&mut self) {
        for looked in 1.. {
            let Some(slot) = self.before.slots.get_mut(self.moved) else { break };
            let slot = core::mem::replace(slot, EMPTY);
            self.moved += 1;
            if slot != EMPTY {
                self.before.len -= 1;
                self.now.put(slot);
            } else if looked >= STEP {
                break;
            }
        }
        self.drop_empty();
    }

    /// Frees the old table when all its slots have moved or been removed.
    fn drop_empty(&mut self) {
        if self.before.len == 0 && !self.before.slots.is_empty() {
            self.before = Table::new();
        }
    }

    /// Replaces this place by another one of the same hash. Returns whether it was there.
    pub(crate) fn replace(&mut self, hash: u64, place: u32, by: u32) -> bool {
        for table in [&mut self.now, &mut self.before] {
            if let Some((at, _)) = table.find(hash, |other| other == place) {
                table.slots[at] = slot_of(hash, by);
                return true;
            }
        }
        false
    }

    /// Removes a place. Returns whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, hash: u64, place: u32) -> bool {
        let mut found = self.now.find(hash, |other| other == place).map(|(at, _)| self.now.take(at));
        if self.before.len > 0 {
            if found.is_none() {
                found = self.before.find(hash, |other| other == place).map(|(at, _)| self.before.take(at));
            }
            self.go_on();
        }
        found.is_some()
    }

    /// Prefetches the fields that a look-up needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        prefetch(&self.now);
    }

    /// Prefetches the memory for looking up a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(slot) = self.now.slots.get(self.now.home(tag_of(hash))) {
            prefetch(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A hash that spreads as SipHash does: with it, slots in use form clusters. It is the mixing function of
    /// SplitMix64.
    fn hash(place: u32) -> u64 {
        let mut hash = (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ hash >> 31
    }

    /// The most that one insertion moves: the longest cluster of a table that is three quarters full.
    const MOST_MOVED: usize = 512;

    /// Inserts a place. Returns how many others have moved.
    fn insert(index: &mut PlaceIndex, place: u32) -> usize {
        let before = if index.now.is_full() { index.now.len } else { index.before.len };
        index.insert(hash(place), place);
        (before - index.before.len) as usize
    }

    fn has(index: &PlaceIndex, place: u32) -> bool {
        index.find(hash(place), |other| other == place) == Some(place)
    }

    #[test]
    fn no_insertion_moves_more_than_a_few() {
        let mut index = PlaceIndex::new();
        let count = 300_000;
        for place in 0..count {
            assert!(insert(&mut index, place) <= MOST_MOVED);
        }
        assert_eq!(index.len(), count as usize);
        assert!((0..count).all(|place| has(&index, place)));
        let slots = index.now.slots.len();
        let mut random = Random::named(1, "places");
        for _ in 0..600_000 {
            let place = random.next_u64() as u32 % count;
            assert!(index.remove(hash(place), place) && !has(&index, place));
            assert!(insert(&mut index, place) <= MOST_MOVED);
        }
        assert_eq!(
            (index.len(), index.now.slots.len()),
            (count as usize, slots),
            "what goes leaves no marks"
        );
        assert!((0..count).all(|place| has(&index, place)));
    }

    #[test]
    fn what_is_taken_out_while_others_move_is_in_neither_table() {
        let mut index = PlaceIndex::new();
        let count = 100_000;
        let mut moving = 0;
        for place in 0..count {
            insert(&mut index, place);
            if index.before.len > 0 {
                moving += 1;
                assert!(index.remove(hash(place / 2), place / 2));
                assert!(!has(&index, place / 2) && has(&index, place));
                insert(&mut index, place / 2);
            }
        }
        assert!(moving > 100 && index.len() == count as usize);
        (3..count).for_each(|place| assert!(index.remove(hash(place), place)));
        assert!(index.len() == 3 && index.before.slots.is_empty() && has(&index, 2));
    }

    proptest! {
        /// This also holds if hashes are equal, crowd the same slots, and wrap around the end.
        #[test]
        fn it_agrees_with_a_map(steps in prop::collection::vec((0..4_u32, 0..400_u32, 0..4_u8), 0..1500)) {
            let hash_of = |kind: u32, place: u32| match kind {
                0 => hash(place),
                1 => u64::MAX - u64::from(place % 3),
                2 => (0xFFFF_FFF0 + u64::from(place % 32)) << 32,
                _ => u64::from(place),
            };
            let (mut index, mut model) = (PlaceIndex::new(), BTreeMap::new());
            for &(kind, place, what) in &steps {
                let hash = hash_of(kind, place);
                let (place, other) = (4 * place + kind, 4 * place + kind + (1 << 20));
                match what {
                    0 => prop_assert_eq!(index.remove(hash, place), model.remove(&place).is_some()),
                    1 if !model.contains_key(&other) => {
                        let known = model.remove(&place);
                        prop_assert_eq!(index.replace(hash, place, other), known.is_some());
                        model.extend(known.map(|hash| (other, hash)));
                    }
                    _ if !model.contains_key(&place) => {
                        index.insert(hash, place);
                        model.insert(place, hash);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len(), model.len());
                let found = index.find(hash, |found| found == place);
                prop_assert_eq!(found, model.contains_key(&place).then_some(place));
            }
            for (place, hash) in &model {
                prop_assert_eq!(index.find(*hash, |found| found == *place), Some(*place));
                prop_assert!(index.remove(*hash, *place));
            }
            prop_assert_eq!(index.len(), 0);
        }
    }
}
