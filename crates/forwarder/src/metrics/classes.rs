//! Counters by service class.

use weir_core::packet::Kind;
use weir_packet::ServiceClass;

/// The number of service classes.
const CLASSES: usize = ServiceClass::ALL.len();

/// Counters of one service class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounters {
    /// Sent Interests.
    pub out_interests: u64,
    /// Sent Data.
    pub out_data: u64,
    /// Bytes of sent frames.
    pub out_bytes: u64,
    /// Dropped packets.
    pub dropped: u64,
}

/// Counters of all service classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByClass([ClassCounters; CLASSES]);

impl ByClass {
    /// Counts a sent packet with the bytes of its frames. Nacks count in bytes only.
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

    /// Counts a dropped packet.
    #[inline]
    pub fn count_dropped(&mut self, class: ServiceClass) {
        self.0[class as usize].dropped += 1;
    }

    /// The classes with counts, the most urgent first.
    pub fn used(&self) -> impl Iterator<Item = (ServiceClass, ClassCounters)> + Clone + '_ {
        let each = ServiceClass::ALL.into_iter().zip(self.0);
        each.filter(|(_, counters)| *counters != ClassCounters::default())
    }
}
