//! A fault of ndnSIM's window consumers (`ConsumerWindow` and its derivatives ConsumerPcon and ConsumerOMCCRF): each
//! Data is subtracted from the pending Interests, even if its Interest was already subtracted after its timeout.
//!
//! So a Data that arrives while its Interest waits for its retransmission adds one to the pending Interests that the
//! window allows, for the rest of the flow. The fault is off, except in the variants that reproduce these programs.

use weir_core::parameters;
use weir_core::seam::DataReceived;

parameters! {
    /// Whether late Data are subtracted twice.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Settings {
        /// whether late Data are subtracted twice from the pending Interests: once when the Interest counts as lost, and
        /// again when its Data arrives before a retransmission. After it one more Interest is pending than the window
        /// allows
        pub(crate) is_counted_twice: bool = switch("late_data_twice") default "false"
            from "files: a fault of ndnSIM's ndn-consumer-pcon, and of ndn-consumer-omccrf of QSCCP's authors";
    }
}

/// The number of pending Interests as such a consumer counts them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateData {
    is_counted_twice: bool,
    /// Pending Interests that the consumer does not count.
    unknown: u32,
}

impl LateData {
    pub(crate) fn new(is_counted_twice: bool) -> LateData {
        LateData { is_counted_twice, unknown: 0 }
    }

    /// Counts a Data that arrived.
    pub(crate) fn on_data(&mut self, ev: &DataReceived<'_>) {
        self.unknown += u32::from(self.is_counted_twice && !ev.was_pending);
        self.on_fewer(ev.pending);
    }

    /// Limits the uncounted Interests to `pending`, because the count is never negative.
    pub(crate) fn on_fewer(&mut self, pending: u32) {
        self.unknown = self.unknown.min(pending);
    }

    /// Returns the number of Interests that the consumer takes to be pending.
    pub(crate) fn pending(&self, pending: u32) -> u32 {
        pending.saturating_sub(self.unknown)
    }
}
