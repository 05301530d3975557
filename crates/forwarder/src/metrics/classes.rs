//! What each service class sent and lost.

use weir_core::packet::Kind;
use weir_packet::ServiceClass;

/// The number of service classes.
const CLASSES: usize = ServiceClass::ALL.len();

/// Counters of one service class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Interests that left.
    pub out_interests: u64,
    /// Data that left.
    pub out_data: u64,
    /// Bytes of frames that left.
    pub out_bytes: u64,
    /// Packets that were dropped.
    pub dropped: u64,
}

/// Counters of all service classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByClass([ClassCounters; CLASSES]);

impl ByClass {
    /// Counts a packet that left in frames of so many bytes. Nacks count in bytes only.
    #[inline]
    pub fn count_sent(&mut self, class: ServiceClass, kind: Kind, bytes: u64) {
        let counters = &mut self.0[class as usize];
        counters.out_bytes += bytes;
        match kind {
            Kind::Interest => counters.out_interests += 1,
            Kind::Data => counters.out_data += 1,
            Kind::Nack => {}
        }
    }

    /// Counts a packet that was dropped.
    #[inline]
    pub fn count_dropped(&mut self, class: ServiceClass) {
        self.0[class as usize].dropped += 1;
    }

    /// The classes that counted anything, the most urgent first.
    pub fn used(&self) -> impl Iterator<Item = (ServiceClass, ClassCounters)> + Clone + '_ {
        let each = ServiceClass::ALL.into_iter().zip(self.0);
        each.filter(|(_, counters)| *counters != ClassCounters::default())
    }
}
