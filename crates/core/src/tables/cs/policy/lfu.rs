//! Least frequently used, with a list of entries for each count: Shah, Mitra, Matani, *An O(1) algorithm for
//! implementing the LFU cache eviction scheme*, 2010. Counts here are small numbers, so the lists are in a
//! table, and a bit set tells which are not empty.
//!
//! Counts outlast the stay in the store ("perfect LFU": Breslau, Cao, Fan, Phillips, Shenker, *Web caching
//! and Zipf-like distributions*, INFOCOM 1999). Otherwise a name that was evicted and returns always has the
//! smallest count and is evicted by the next miss, so the names that came first stay. Under independent
//! requests the store then keeps the names that are requested most, except for the place that each miss
//! takes.
//!
//! The counts of evicted names are bounded: they are kept for the last [`REMEMBERED`] times as many names as
//! there are entries. When a count reaches [`MOST`], all counts are halved.

use super::lists::{Links, List, NONE, ensure};
use super::past::{NAME_BYTES, Past};
use super::{Limits, Replacement};

/// Number of evicted names that are remembered for each entry. Assumed: a name that deserves a place is
/// requested again before this many others are evicted.
const REMEMBERED: usize = 16;

/// The largest count.
const MOST: u32 = (1 << 16) - 1;

/// Links, a count, a hash and the evicted names, with reserve.
pub(super) const ENTRY_BYTES: usize = (8 + 16) * 9 / 8 + REMEMBERED * NAME_BYTES;

/// Entries in lists by count.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Lfu {
    links: Links,
    /// Hash of the name, and count.
    seats: Vec<(u64, u32)>,
    /// The entries of each count.
    lists: Vec<List>,
    counts: BitSet,
    len: usize,
    past: Past,
}

impl Lfu {
    fn push(&mut self, entry: u32, hash: u64, count: u32) {
        ensure(&mut self.lists, count, &List::EMPTY);
        self.seats[entry as usize] = (hash, count);
        self.links.push(&mut self.lists[count as usize], entry);
        self.counts.add(count);
        self.len += 1;
        if count == MOST {
            self.halve();
        }
    }

    /// Halves all counts. The order of entries stays: entries that now share a count keep the order of their
    /// previous counts.
    fn halve(&mut self) {
        let lists = core::mem::take(&mut self.lists);
        (self.counts, self.len) = (BitSet::default(), 0);
        for (count, mut list) in lists.into_iter().enumerate() {
            while let Some(entry) = self.links.pop(&mut list) {
                let (hash, _) = self.seats[entry as usize];
                self.push(entry, hash, count as u32 / 2);
            }
        }
        self.past.halve();
    }
}

impl Replacement for Lfu {
    fn insert(&mut self, entry: u32, hash: u64, _: u64) {
        ensure(&mut self.seats, entry, &(0, 0));
        let before = self.past.take(hash).unwrap_or(0);
        self.push(entry, hash, (before + 1).min(MOST));
    }

    fn hit(&mut self, entry: u32, _: u64) {
        let (hash, count) = self.seats[entry as usize];
        self.remove(entry);
        self.push(entry, hash, (count + 1).min(MOST));
    }

    fn remove(&mut self, entry: u32) {
        let (_, count) = self.seats[entry as usize];
        let list = &mut self.lists[count as usize];
        self.links.unlink(list, entry);
        if list.is_empty() {
            self.counts.remove(count);
        }
        self.len -= 1;
    }

    fn evict(&mut self) -> Option<u32> {
        let entry = self.lists.get(self.counts.least()? as usize)?.oldest;
        if entry == NONE {
            return None;
        }
        let (hash, count) = self.seats[entry as usize];
        self.past.put(hash, count, REMEMBERED * self.len);
        self.remove(entry);
        Some(entry)
    }

    fn set_limits(&mut self, _: Limits) {}
}

/// A set of numbers up to [`MOST`]: one bit for each, and one for each word of them.
#[derive(Clone, Debug, Default)]
struct BitSet {
    words: Vec<u64>,
    not_empty: [u64; (MOST as usize + 1) / 4096],
}

impl BitSet {
    fn add(&mut self, number: u32) {
        let word = number / 64;
        ensure(&mut self.words, word, &0);
        self.words[word as usize] |= 1 << (number % 64);
        self.not_empty[word as usize / 64] |= 1 << (word % 64);
    }

    fn remove(&mut self, number: u32) {
        let word = number / 64;
        self.words[word as usize] &= !(1 << (number % 64));
        if self.words[word as usize] == 0 {
            self.not_empty[word as usize / 64] &= !(1 << (word % 64));
        }
    }

    fn least(&self) -> Option<u32> {
        let at = self.not_empty.iter().position(|words| *words != 0)?;
        let word = 64 * at as u32 + self.not_empty[at].trailing_zeros();
        Some(64 * word + self.words[word as usize].trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_many_numbers_is_found() {
        let mut set = BitSet::default();
        assert_eq!(set.least(), None);
        for number in [MOST, 4096, 70, 64, 63, 1] {
            set.add(number);
            assert_eq!(set.least(), Some(number));
        }
        for (number, next) in [
            (1, Some(63)),
            (64, Some(63)),
            (63, Some(70)),
            (70, Some(4096)),
            (4096, Some(MOST)),
            (MOST, None),
        ] {
            set.remove(number);
            assert_eq!(set.least(), next, "after {number}");
        }
    }

    #[test]
    fn counts_are_halved_before_they_overflow() {
        let mut lfu = Lfu::default();
        (0..3).for_each(|entry| lfu.insert(entry, u64::from(entry), 1));
        (0..u64::from(MOST) + 10).for_each(|_| lfu.hit(0, 1));
        (0..5).for_each(|_| lfu.hit(1, 1));
        assert!(lfu.seats[0].1 < MOST && lfu.seats[0].1 > MOST / 2);
        assert_eq!([lfu.evict(), lfu.evict(), lfu.evict(), lfu.evict()], [Some(2), Some(1), Some(0), None]);
    }
}
