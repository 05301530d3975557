//! A hash table of places that grows a bit at a time.
//!
//! A hash table that is full moves all that it has to a larger one: with a million entries it takes 50 ms, and packets wait.
//! Here both tables stay. Whatever is put in or taken out has a few others moved, so that the smaller table is empty before the
//! larger one is full. Meanwhile both are searched.
//!
//! A table is an array of slots with linear probing (Knuth, The Art of Computer Programming 3, 6.4, algorithms L and R). A slot
//! has the place and the upper half of its hash. The first bits of that half say where the search begins. So a look-up reads
//! one line of memory in most cases, can have it fetched before, and no entry is read to move its place.

use crate::prefetch::prefetch;

/// Slots that are looked at, and moved, when a place is put in or taken out, and those up to the next empty one.
const STEP: usize = 8;
/// Slots of the smallest table: a line of memory.
const LEAST: usize = 8;
const EMPTY: u64 = 0;

/// Places of entries, by the hash of what the entries are found by. A place is less than 2^32 - 1.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct PlaceIndex {
    now: Table,
    /// What has yet to move.
    before: Table,
    /// Slots of `before` below this one are empty.
    moved: usize,
}

/// Slots, a power of two of them or none, at most three quarters full.
#[derive(Clone, Debug)]
#[repr(C)]
struct Table {
    slots: Vec<u64>,
    len: u32,
    /// The bits of a tag that do not count for where its search begins.
    shift: u32,
}

/// The part of a hash that a slot has.
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
        // Zeros that the system gives: nothing is written yet.
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

    /// Where the search for a tag begins.
    #[inline]
    fn home(&self, tag: u64) -> usize {
        (tag >> self.shift) as usize
    }

    /// The slot with this hash whose place is the one, and that place.
    #[inline]
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<(usize, u32)> {
        let mut at = self.home(tag_of(hash));
        loop {
            // A table without slots has none here either.
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

    /// Fills a slot: there is an empty one.
    #[inline]
    fn put(&mut self, slot: u64) {
        let mut at = self.home(slot >> 32);
        while self.slots[at] != EMPTY {
            at = self.after(at);
        }
        self.slots[at] = slot;
        self.len += 1;
    }

    /// Empties a slot, and moves those behind it that are found no more otherwise.
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

    /// The place with this hash that is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let found = match self.now.find(hash, &is_it) {
            None if self.before.len > 0 => self.before.find(hash, is_it),
            found => found,
        };
        found.map(|(_, place)| place)
    }

    /// Puts a place in, which is not there.
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

    /// Goes on in a table twice as large. All of `before` has moved: that takes fewer insertions than a quarter of its slots.
    #[cold]
    fn grow(&mut self) {
        let count = (2 * self.now.slots.len()).max(LEAST);
        self.before = core::mem::replace(&mut self.now, Table::with_slots(count));
        self.moved = 0;
        self.drop_empty();
    }

    /// Moves a few from the table before, and then as many as there are up to an empty slot: what is behind that is found as
    /// before.
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

    /// Gives back the table before, if all of it has moved or gone.
    fn drop_empty(&mut self) {
        if self.before.len == 0 && !self.before.slots.is_empty() {
            self.before = Table::new();
        }
    }

    /// Puts another place in the place of this one, of the same hash. Whether it was there.
    pub(crate) fn replace(&mut self, hash: u64, place: u32, by: u32) -> bool {
        for table in [&mut self.now, &mut self.before] {
            if let Some((at, _)) = table.find(hash, |other| other == place) {
                table.slots[at] = slot_of(hash, by);
                return true;
            }
        }
        false
    }

    /// Takes a place out. Whether it was there.
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

    /// Has the processor fetch the fields that a look-up needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        prefetch(&self.now);
    }

    /// Has the processor fetch where a hash is looked up.
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

    /// Any number will do.
    fn hash(place: u32) -> u64 {
        (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Puts a place in; says how many others have moved.
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
            assert!(insert(&mut index, place) <= 16 * STEP);
        }
        assert_eq!(index.len(), count as usize);
        assert!((0..count).all(|place| has(&index, place)));
        let slots = index.now.slots.len();
        let mut random = Random::named(1, "places");
        for _ in 0..600_000 {
            let place = random.next_u64() as u32 % count;
            assert!(index.remove(hash(place), place) && !has(&index, place));
            assert!(insert(&mut index, place) <= 16 * STEP);
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
        /// Also where hashes are equal, crowd the same slots, and go beyond the last one.
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
