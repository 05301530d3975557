//! Random replacement: each entry is evicted with equal probability.
//!
//! Under independent requests its hit ratio equals that of FIFO (Gelenbe, *A unified approach to the
//! evaluation of a class of replacement algorithms*, IEEE Transactions on Computers 22, 1973).

use super::lists::ensure;
use super::{Limits, Replacement};
use crate::random::Random;

/// A number in each of two tables, with reserve.
pub(super) const ENTRY_BYTES: usize = 2 * 4 * 9 / 8;

/// All entries side by side, for random draws.
#[derive(Clone, Debug)]
pub(in super::super) struct Chance {
    stream: Random,
    entries: Vec<u32>,
    /// The index of each entry among them.
    places: Vec<u32>,
}

impl Chance {
    pub(super) fn new(stream: Random) -> Chance {
        Chance { stream, entries: Vec::new(), places: Vec::new() }
    }

    fn take(&mut self, place: usize) -> u32 {
        let entry = self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            self.places[*moved as usize] = place as u32;
        }
        entry
    }
}

impl Replacement for Chance {
    fn insert(&mut self, entry: u32, _: u64, _: u64) {
        ensure(&mut self.places, entry, &0);
        self.places[entry as usize] = self.entries.len() as u32;
        let place = self.entries.len() as u32;
        ensure(&mut self.entries, place, &entry);
    }

    fn hit(&mut self, _: u32, _: u64) {}

    fn remove(&mut self, entry: u32) {
        self.take(self.places[entry as usize] as usize);
    }

    fn evict(&mut self) -> Option<u32> {
        if self.entries.is_empty() {
            return None;
        }
        let place = self.stream.below(self.entries.len() as u32);
        Some(self.take(place as usize))
    }

    fn set_limits(&mut self, _: Limits) {}
}
