//! A timing wheel: expiry times of the slots of a slab.
//!
//! It has 1024 slots of 2^22 ns (4.2 ms), each a doubly linked list of indices. Groups of 64 slots have
//! memory only while one of them is not empty: there are many wheels, and most have few indices that expire
//! at about the same time. An index that expires later than in one round (4.3 s) stays in its slot for
//! another round. Insertion, removal and change of expiry are O(1). A slot can be drained in parts, because
//! strangers choose how many indices of later rounds are in it.

use super::slab::Slab;
use crate::prefetch::prefetch;
use crate::units::Time;

/// No index.
const NONE: u32 = u32::MAX;
/// A slot of the wheel spans 2^SLOT_SHIFT ns.
pub(super) const SLOT_SHIFT: u32 = 22;
pub(super) const SLOTS: usize = 1024;
/// Number of slots that share memory: those of a word of bits.
const GROUP: usize = 64;
const GROUPS: usize = SLOTS / GROUP;
/// The place of a group without memory.
const EMPTY: u8 = u8::MAX;
/// The slot of an index that is in no slot.
const UNLINKED: u16 = u16::MAX;

/// The place of an index in the list of its slot.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
    slot: u16,
}

/// The list of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    tail: u32,
}

/// A wheel of the indices 0 to n - 1. A *tick* is a time in units of slots; tick `t` is in slot `t mod 1024`.
#[derive(Clone, Debug)]
pub(super) struct TimingWheel {
    /// The link of each index.
    links: Slab<Link>,
    /// Memory of groups of slots, at the indices in `place`.
    groups: Vec<[Slot; GROUP]>,
    /// The place of each group with a slot that is not empty, and a bit for each free place.
    place: [u8; GROUPS],
    free: u16,
    /// A bit for each slot that is not empty, and a bit for each of these words that is not zero.
    filled: [u64; GROUPS],
    filled_words: u64,
    /// Every tick before this one has been drained.
    cursor: u64,
    /// `true` if the slot of `cursor` is being drained, and the first of its entries not yet examined.
    draining: bool,
    unseen: u32,
}

impl TimingWheel {
    pub(super) fn new() -> TimingWheel {
        TimingWheel {
            links: Slab::new(),
            groups: Vec::new(),
            place: [EMPTY; GROUPS],
            free: 0,
            filled: [0; GROUPS],
            filled_words: 0,
            cursor: 0,
            draining: false,
            unseen: NONE,
        }
    }

    /// Adds an index that is in no slot.
    #[inline]
    pub(super) fn add_index(&mut self) {
        self.links.push(Link { prev: NONE, next: NONE, slot: UNLINKED });
    }

    /// Advances an empty wheel to the present, because it need not be drained.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Time) {
        if self.filled_words == 0 {
            self.cursor = self.cursor.max(now.as_nanos() >> SLOT_SHIFT);
            self.draining = false;
        }
    }

    /// A slot of a group that has memory.
    #[inline]
    fn slot(&mut self, number: usize) -> &mut Slot {
        &mut self.groups[usize::from(self.place[number / GROUP])][number % GROUP]
    }

    /// Gives memory to a group, reusing that of another group if possible.
    fn take_place(&mut self, group: usize) {
        let free = self.free.trailing_zeros();
        let place = if free < u16::BITS {
            self.free &= self.free - 1;
            free as usize
        } else {
            self.groups.reserve_exact(1);
            self.groups.push([Slot { head: NONE, tail: NONE }; GROUP]);
            self.groups.len() - 1
        };
        self.place[group] = place as u8;
    }

    /// Puts an index that is in no slot into the slot of its expiry.
    #[inline]
    pub(super) fn link(&mut self, index: u32, expires: Time) {
        // The slot that is being drained accepts no more indices: those before `unseen` are never examined.
        let tick = (expires.as_nanos() >> SLOT_SHIFT).max(self.cursor + u64::from(self.draining));
        let number = tick as usize % SLOTS;
        let group = number / GROUP;
        if self.filled[group] == 0 {
            self.take_place(group);
            self.filled_words |= 1 << group;
        }
        let slot = self.slot(number);
        let tail = core::mem::replace(&mut slot.tail, index);
        match tail {
            NONE => {
                slot.head = index;
                self.filled[group] |= 1 << (number % GROUP);
            }
            tail => self.links[tail].next = index,
        }
        self.links[index] = Link { prev: tail, next: NONE, slot: number as u16 };
    }

    /// Removes an index from its slot, if it is in one.
    #[inline]
    pub(super) fn unlink(&mut self, index: u32) {
        let Link { prev, next, slot: number } = self.links[index];
        if number == UNLINKED {
            return;
        }
        if self.unseen == index {
            self.unseen = next;
        }
        self.links[index].slot = UNLINKED;
        let number = number as usize;
        match prev {
            NONE => self.slot(number).head = next,
            prev => self.links[prev].next = next,
        }
        match next {
            NONE => self.slot(number).tail = prev,
            next => self.links[next].prev = prev,
        }
        if (prev, next) == (NONE, NONE) {
            let group = number / GROUP;
            self.filled[group] &= !(1 << (number % GROUP));
            if self.filled[group] == 0 {
                self.filled_words &= !(1 << group);
                self.free |= 1 << self.place[group];
                self.place[group] = EMPTY;
            }
        }
    }

    /// Prefetches the fields that each packet needs.
    #[inline]
    pub(super) fn prefetch_fields(&self) {
        prefetch(&self.links);
        prefetch(&self.cursor);
    }

    /// Prefetches the link of an index.
    #[inline]
    pub(super) fn prefetch(&self, index: u32) {
        if let Some(link) = self.links.get(index) {
            prefetch(link);
        }
    }

    /// Prefetches the links before and after an index.
    #[inline]
    pub(super) fn prefetch_neighbours(&self, index: u32) {
        if let Some(link) = self.links.get(index) {
            self.prefetch(link.prev);
            self.prefetch(link.next);
        }
    }

    /// The first tick from `tick` on, within a round, whose slot is not empty.
    #[inline]
    fn filled_from(&self, tick: u64) -> Option<u64> {
        let from = tick as usize % SLOTS;
        let (word, bit) = (from / 64, from % 64);
        let here = self.filled[word] >> bit;
        if here != 0 {
            return Some(tick + u64::from(here.trailing_zeros()));
        }
        let words = self.filled_words.rotate_right((word as u32 + 1) % 64);
        if words == 0 {
            return None;
        }
        let found = (word + 1 + words.trailing_zeros() as usize) % 64;
        let found = found * 64 + self.filled[found].trailing_zeros() as usize;
        Some(tick + (found.wrapping_sub(from) % SLOTS) as u64)
    }

    /// When [`TimingWheel::pop`] may return something: the end of the next slot that is not empty.
    #[inline]
    pub(super) fn next_deadline(&self) -> Time {
        let tick = if self.draining && self.unseen != NONE {
            Some(self.cursor)
        } else {
            self.filled_from(self.cursor + u64::from(self.draining))
        };
        tick.map_or(Time::NEVER, |tick| Time::from_nanos((tick + 1).saturating_mul(1 << SLOT_SHIFT)))
    }

    /// Takes an expired index out of the wheel. Each index that it examines takes one of `looks`, even if it
    /// expires in a later round. If no looks are left, it returns nothing, and the next call continues from
    /// there.
    #[inline]
    pub(super) fn pop(&mut self, now: Time, looks: &mut usize, expires: impl Fn(u32) -> Time) -> Option<u32> {
        let present = now.as_nanos() >> SLOT_SHIFT;
        loop {
            if !self.draining {
                // After a long pause, one round is enough.
                self.cursor = self.cursor.max(present.saturating_sub(SLOTS as u64));
                match self.filled_from(self.cursor) {
                    Some(tick) if tick < present => self.cursor = tick,
                    _ => {
                        self.cursor = self.cursor.max(present);
                        return None;
                    }
                }
                self.draining = true;
                self.unseen = self.slot(self.cursor as usize % SLOTS).head;
            }
            while self.unseen != NONE {
                *looks = looks.checked_sub(1)?;
                let index = self.unseen;
                self.unseen = self.links[index].next;
                if expires(index) <= now {
                    self.unlink(index);
                    return Some(index);
                }
                // It is due in a later round.
            }
            self.draining = false;
            self.cursor += 1;
        }
    }
}
