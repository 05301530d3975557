//! The signals that pending Interests were sent with, for sending them again after a Nack.
//!
//! They stand beside the PIT, by the place of the entry: only a retry reads them, and an entry stays as small
//! as it is. The table has no row before an Interest carries a signal.

use weir_packet::Signals;

use crate::ids::PitId;

/// The signals of the latest sending, by PIT entry.
#[derive(Debug, Default)]
pub(super) struct SentSignals {
    rows: Vec<Signals>,
}

impl SentSignals {
    /// The Interest of this entry is sent with these signals: those that the strategy has left in it, before
    /// the queue of one face has rewritten them.
    #[inline]
    pub(super) fn keep(&mut self, pit: PitId, signals: &Signals) {
        match self.rows.get_mut(pit.index()) {
            Some(row) => row.copy_from(signals),
            None if signals.is_empty() => {}
            None => self.add(pit, signals),
        }
    }

    #[cold]
    fn add(&mut self, pit: PitId, signals: &Signals) {
        self.rows.resize(pit.index(), Signals::NONE);
        self.rows.push(*signals);
    }

    /// What the Interest of this entry, which was sent, carried; `None` if no signal.
    pub(super) fn of(&self, pit: PitId) -> Option<&Signals> {
        self.rows.get(pit.index())
    }
}
