//! A fault that ndnSIM's window consumers have (`ConsumerWindow` and what is made of it: ConsumerPcon, ConsumerOMCCRF): each
//! Data is taken off the pending Interests, also one whose Interest was taken off already, when its timer was over.
//!
//! So each Data that comes while its Interest waits to be sent again lets one more Interest be pending than the window says,
//! for as long as the flow lasts. Off but in the variants that are to do as these programs.

use weir_core::seam::DataReceived;
use weir_core::seam::params::Parameter;

/// Whether they do.
pub(crate) const LATE_DATA_TWICE: Parameter = Parameter::switch(
    "late_data_twice",
    "false",
    "whether a Data is taken off the pending Interests when its Interest, lost for the consumer and not sent again yet, was \
     taken off before: from then on one more is pending than the window says",
    "files: ndnSIM's ndn-consumer-pcon, and ndn-consumer-omccrf of QSCCP's authors, where it is so: a fault",
);

/// Pending Interests as such a consumer counts them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LateData {
    is_counted_twice: bool,
    /// Pending Interests that it does not know of.
    unknown: u32,
}

impl LateData {
    pub(crate) fn new(is_counted_twice: bool) -> LateData {
        LateData { is_counted_twice, unknown: 0 }
    }

    /// A Data came.
    pub(crate) fn on_data(&mut self, ev: &DataReceived<'_>) {
        self.unknown += u32::from(self.is_counted_twice && !ev.was_pending);
        self.on_fewer(ev.pending);
    }

    /// So many are left: it counts no fewer than none.
    pub(crate) fn on_fewer(&mut self, pending: u32) {
        self.unknown = self.unknown.min(pending);
    }

    /// How many it takes to be pending.
    pub(crate) fn pending(&self, pending: u32) -> u32 {
        pending.saturating_sub(self.unknown)
    }
}
