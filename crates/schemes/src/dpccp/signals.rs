//! DPCCP's header fields: the label of path switching (`label.rs`), and one octet of hop count and flags.
//!
//! | octet | on Data | on Interests |
//! |---|---|---|
//! | bits 0 to 5 | links from the source to here, 63 for more | none |
//! | bit 6 | drain: the sub-flow is to empty the queue that the Data has passed | RTT probing |
//! | bit 7 | aggregated: its Interest was aggregated, so its time is no round-trip time | exploration: each router draws a next hop |

use weir_core::packet::Packet;
use weir_packet::Signal;

/// The label of a path, hop by hop.
pub(super) const SWITCH_LABEL: Signal = Signal::new(
    944,
    "SwitchLabel",
    64,
    "path switching: faces by which a Data arrived, or next hops of an Interest, 6 bits a hop, next hop last",
);

/// Hop count and flags.
pub(super) const HOPS_AND_FLAGS: Signal = Signal::new(
    920,
    "HopsAndFlags",
    8,
    "hops from the source of a Data, with flags: 64 drain, or RTT probing on Interests; 128 aggregated, or exploration",
);

/// All header fields that the scheme writes.
pub(super) const SIGNALS: &[Signal] = &[HOPS_AND_FLAGS, SWITCH_LABEL];

const HOPS: u64 = 63;
const FIRST_FLAG: u64 = 64;
const SECOND_FLAG: u64 = 128;

/// The octet's flags; none if there is no octet. A neighbour may write a longer number; its higher bits are
/// ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HopsAndFlags(u64);

impl HopsAndFlags {
    /// Set on Interests of a sub-flow in RTT probing.
    pub(super) const PROBING: HopsAndFlags = HopsAndFlags(FIRST_FLAG);
    /// Set on Interests that look for paths.
    pub(super) const EXPLORING: HopsAndFlags = HopsAndFlags(SECOND_FLAG);

    #[inline]
    pub(super) fn of(packet: &Packet) -> HopsAndFlags {
        HopsAndFlags(packet.header().signals.value(&HOPS_AND_FLAGS).unwrap_or(0))
    }

    #[inline]
    pub(super) fn write(self, packet: &mut Packet) {
        packet.header_mut().signals.set(&HOPS_AND_FLAGS, self.0 & (HOPS | FIRST_FLAG | SECOND_FLAG));
    }

    /// Returns the number of links from the source.
    #[inline]
    pub(super) fn hops(self) -> u8 {
        (self.0 & HOPS) as u8
    }

    /// Returns the octet with one more link.
    #[inline]
    pub(super) fn hop_added(self) -> HopsAndFlags {
        HopsAndFlags((self.0 & !HOPS) | (self.0 & HOPS).saturating_add(1).min(HOPS))
    }

    #[inline]
    pub(super) fn with_drain(self) -> HopsAndFlags {
        HopsAndFlags(self.0 | FIRST_FLAG)
    }

    #[inline]
    pub(super) fn with_aggregated(self) -> HopsAndFlags {
        HopsAndFlags(self.0 | SECOND_FLAG)
    }

    #[inline]
    pub(super) fn is_probing(self) -> bool {
        self.0 & FIRST_FLAG != 0
    }

    #[inline]
    pub(super) fn is_exploring(self) -> bool {
        self.0 & SECOND_FLAG != 0
    }

    #[inline]
    pub(super) fn is_drain(self) -> bool {
        self.0 & FIRST_FLAG != 0
    }

    #[inline]
    pub(super) fn is_aggregated(self) -> bool {
        self.0 & SECOND_FLAG != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_counted_to_63_and_flags_stay() {
        let mut octet = HopsAndFlags::default().with_drain();
        for hops in 1..=63 {
            octet = octet.hop_added();
            assert_eq!(octet.hops(), hops);
        }
        assert_eq!(octet.hop_added().hops(), 63);
        assert!(octet.is_drain() && !octet.is_aggregated());
    }

    #[test]
    fn a_value_beyond_an_octet_says_no_more_than_its_octet() {
        let mut data = Packet::default();
        data.header_mut().signals.set(&HOPS_AND_FLAGS, u64::MAX);
        HopsAndFlags::of(&data).hop_added().write(&mut data);
        assert_eq!(data.header().signals.value(&HOPS_AND_FLAGS), Some(255));
    }
}
