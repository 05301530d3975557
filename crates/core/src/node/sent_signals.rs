//! The signals with which pending Interests were sent, for sending them again after a Nack.
//!
//! They are stored beside the PIT, by the index of the entry: only a retry reads them, so entries stay small.
//! Each sending writes a row, so rows are compact. The few Interests whose signals do not fit have a row in a
//! second table.
//!
//! Rows are allocated in blocks. A block is allocated when an Interest of one of its entries carries a
//! signal, so that no packet waits for the allocation of a whole table. Compact rows are part of the PIT's
//! bound. The blocks of the second table take at most a thirty-second of the bound. Beyond that, an Interest
//! whose signals do not fit is sent again without them.

use weir_packet::{CompactSignals, Signals};

use crate::ids::PitId;
use crate::prefetch::prefetch;

/// Number of rows in a block.
const BLOCK: usize = 32;

/// The signals of the latest sending, by PIT entry.
#[derive(Debug)]
pub(super) struct SentSignals {
    compact: Blocks<CompactSignals>,
    /// Rows of entries whose compact row is empty. If both are empty, there are no signals.
    large: Blocks<Signals>,
    /// Number of blocks that the second table may still allocate.
    large_blocks_left: u64,
}

impl SentSignals {
    /// Makes an empty table for a PIT of at most this many bytes.
    pub(super) fn new(pit_bytes: u64) -> SentSignals {
        let large_blocks_left = pit_bytes / 32 / (BLOCK * size_of::<Signals>()) as u64;
        SentSignals { compact: Blocks::default(), large: Blocks::default(), large_blocks_left }
    }

    /// Stores the signals with which the Interest of this entry is sent: those that the strategy has left in
    /// it, before the queue of a face rewrites them.
    #[inline]
    pub(super) fn keep(&mut self, pit: PitId, signals: &Signals) {
        let row = match self.compact.get_mut(pit.index()) {
            Some(row) => row,
            None if signals.is_empty() => return,
            None => self.compact.add(pit.index()),
        };
        if !row.set(signals) || signals.is_empty() {
            self.keep_large(pit, signals);
        }
    }

    /// Prefetches the row of an index in the PIT.
    #[inline]
    pub(super) fn prefetch(&self, place: usize) {
        if let Some(row) = self.compact.get(place) {
            prefetch(row);
        }
    }

    #[cold]
    fn keep_large(&mut self, pit: PitId, signals: &Signals) {
        match self.large.get_mut(pit.index()) {
            Some(row) => row.copy_from(signals),
            None if signals.is_empty() => {}
            None if self.large_blocks_left == 0 => {}
            None => {
                self.large_blocks_left -= 1;
                *self.large.add(pit.index()) = *signals;
            }
        }
    }

    /// The signals that the sent Interest of this entry carried.
    pub(super) fn of(&self, pit: PitId) -> Signals {
        match self.compact.get(pit.index()) {
            None => Signals::NONE,
            Some(row) if row.is_empty() => self.large.get(pit.index()).copied().unwrap_or_default(),
            Some(row) => row.expand(),
        }
    }
}

/// A table whose rows are allocated in blocks.
#[derive(Debug)]
struct Blocks<T> {
    blocks: Vec<Option<Box<[T; BLOCK]>>>,
}

impl<T> Default for Blocks<T> {
    fn default() -> Blocks<T> {
        Blocks { blocks: Vec::new() }
    }
}

impl<T: Copy + Default> Blocks<T> {
    fn get(&self, index: usize) -> Option<&T> {
        Some(&self.blocks.get(index / BLOCK)?.as_deref()?[index % BLOCK])
    }

    #[inline]
    fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        Some(&mut self.blocks.get_mut(index / BLOCK)?.as_deref_mut()?[index % BLOCK])
    }

    #[cold]
    fn add(&mut self, index: usize) -> &mut T {
        let block = index / BLOCK;
        if block >= self.blocks.len() {
            self.blocks.resize_with(block + 1, || None);
        }
        let rows = self.blocks[block].get_or_insert_with(|| Box::new([T::default(); BLOCK]));
        &mut rows[index % BLOCK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::{HASHER, name};
    use crate::tables::pit::Pit;
    use crate::units::Time;
    use weir_packet::signal::{CAPACITY, types};

    /// `n` signals of this value.
    fn signals(n: usize, value: u64) -> Signals {
        let mut signals = Signals::NONE;
        types().take(n).for_each(|number| signals.set_type(number, value));
        signals
    }

    #[test]
    fn each_sending_leaves_its_signals_and_nothing_of_earlier_ones() {
        let mut pit = Pit::new(HASHER, 1 << 24);
        let mut insert = |i| pit.find_or_insert(&name(&format!("/a/{i}")), false, false, 0, Time::ZERO).0;
        let ids: Vec<PitId> = (0..600).map(&mut insert).collect();
        let mut table = SentSignals::new(1 << 24);
        let all = [
            signals(0, 0),
            signals(3, 7),
            signals(CAPACITY, 7),
            signals(2, u64::MAX),
            signals(0, 0),
            signals(1, u64::MAX),
            signals(4, 1),
        ];
        for sent in all {
            for id in ids.iter().step_by(97) {
                table.keep(*id, &sent);
                assert_eq!(table.of(*id), sent);
            }
            assert_eq!(table.of(ids[1]), Signals::NONE);
        }
    }
    #[test]
    fn what_does_not_fit_takes_a_part_of_the_pits_bound_and_no_more() {
        let mut pit = Pit::new(HASHER, 1 << 24);
        let mut insert = |i| pit.find_or_insert(&name(&format!("/a/{i}")), false, false, 0, Time::ZERO).0;
        let ids: Vec<PitId> = (0..20_000).map(&mut insert).collect();
        let mut table = SentSignals::new(1 << 24);
        let large = signals(CAPACITY, u64::MAX);
        ids.iter().for_each(|id| table.keep(*id, &large));
        let kept = ids.iter().filter(|id| table.of(**id) == large).count();
        let blocks = table.large.blocks.iter().flatten().count();
        assert_eq!(kept, blocks * BLOCK);
        assert!((1..=(1 << 24) / 32).contains(&(kept * size_of::<Signals>())), "{kept} rows");
        assert_eq!(table.of(ids[ids.len() - 1]), Signals::NONE);
        table.keep(ids[0], &signals(1, 7));
        assert_eq!(table.of(ids[0]), signals(1, 7));
    }
}
