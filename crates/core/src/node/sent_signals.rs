//! The signals that pending Interests were sent with, for sending them again after a Nack.
//!
//! They stand beside the PIT, by the place of the entry: only a retry reads them, and an entry stays as small
//! as it is. Rows come in blocks, and a block when an Interest of one of its entries carries a signal: so that no
//! packet waits until the rows of a whole PIT are there.

use weir_packet::Signals;

use crate::ids::PitId;

/// How many rows a block has.
const BLOCK: usize = 256;

/// The signals of the latest sending, by PIT entry.
#[derive(Debug, Default)]
pub(super) struct SentSignals {
    blocks: Vec<Option<Box<[Signals; BLOCK]>>>,
}

impl SentSignals {
    /// The Interest of this entry is sent with these signals: those that the strategy has left in it, before
    /// the queue of one face has rewritten them.
    #[inline]
    pub(super) fn keep(&mut self, pit: PitId, signals: &Signals) {
        let (block, row) = (pit.index() / BLOCK, pit.index() % BLOCK);
        match self.blocks.get_mut(block) {
            Some(Some(rows)) => rows[row].copy_from(signals),
            _ if signals.is_empty() => {}
            _ => self.add(block)[row] = *signals,
        }
    }

    #[cold]
    fn add(&mut self, block: usize) -> &mut [Signals; BLOCK] {
        if block >= self.blocks.len() {
            self.blocks.resize_with(block + 1, || None);
        }
        self.blocks[block].insert(Box::new([Signals::NONE; BLOCK]))
    }

    /// What the Interest of this entry, which was sent, carried; `None` if no signal.
    pub(super) fn of(&self, pit: PitId) -> Option<&Signals> {
        let rows = self.blocks.get(pit.index() / BLOCK)?.as_deref()?;
        Some(&rows[pit.index() % BLOCK])
    }
}
