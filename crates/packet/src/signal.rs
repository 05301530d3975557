//! Hop-by-hop signals: what schemes tell their neighbours.
//!
//! Each signal is an NDNLPv2 header field with a NonNegativeInteger value: outside the signed
//! packet, rewritable by every router. Their type numbers lie in 800 to 959 and are multiples of
//! 4, so that a node which does not know them ignores them. They start at 900, clear of the
//! numbers that published simulators squat on (84, 85, 852, 856, 860, 890, 894).
//!
//! A packet carries few of them, so they are kept as a bit set and an array: no allocation, and
//! every scheme's fields go through the one codec.

use crate::tlv::{nni_len, var_len};

/// One hop-by-hop signal. The discriminant is its bit in [`Signals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Signal {
    /// Service class of an Interest or Data (QSCCP, section IV-B): a value of [`ServiceClass`].
    ServiceClass = 0,
    /// Bottleneck rate between this node and the consumer, bit/s, on Interests (QSCCP, IV-D).
    DownstreamRate = 1,
    /// Suggested rate of the flow, bit/s, on Data (QSCCP, IV-D).
    TargetRate = 2,
    /// Size of the Data that an Interest will bring back, bytes on the wire.
    ExpectedSize = 3,
    /// Path label: which next hops an Interest takes, or which faces a Data came by.
    PathLabel = 4,
    /// Hops from the node that answered (DPCCP, section VI-C), on Data.
    HopCount = 5,
    /// Round-trip time from the sending node to the content source, nanoseconds, on Data (HbHCM).
    HopRtt = 6,
    /// Length of the sender's queue for this prefix, packets, on Data (NDN-QSF, section 4).
    QueueSize = 7,
    /// Per-flow rate of the primary class, bit/s, on Data (MIRCC).
    PrimaryRate = 8,
    /// Per-flow rate of the secondary class, bit/s, on Data (MIRCC).
    SecondaryRate = 9,
    /// Class of an Interest's sub-flow: 1 primary, 2 secondary (MIRCC).
    RateClass = 10,
    /// Bit 0: RTT probe, on Interests; bit 1: drain, on Data (DPCCP, section VI-E).
    Flags = 11,
}

impl Signal {
    /// Every signal, in ascending order of type number.
    pub const ALL: [Signal; 12] = [
        Signal::ServiceClass,
        Signal::DownstreamRate,
        Signal::TargetRate,
        Signal::ExpectedSize,
        Signal::PathLabel,
        Signal::HopCount,
        Signal::HopRtt,
        Signal::QueueSize,
        Signal::PrimaryRate,
        Signal::SecondaryRate,
        Signal::RateClass,
        Signal::Flags,
    ];

    /// TLV-TYPE of the NDNLPv2 header field: 900, 904, 908, …
    pub const fn type_number(self) -> u32 {
        900 + 4 * self as u32
    }

    /// What it is, in a few words.
    pub const fn words(self) -> &'static str {
        match self {
            Signal::ServiceClass => "service class (QSCCP), on Interests; what has none is best effort",
            Signal::DownstreamRate => "rate that the way to the consumer bears, bit/s (QSCCP), on Interests",
            Signal::TargetRate => "rate that the consumer shall ask for, bit/s (QSCCP), on Data",
            Signal::ExpectedSize => "bytes of the Data that is expected, on Interests",
            Signal::PathLabel => "path: next hops that an Interest is to take, or faces that a Data came by",
            Signal::HopCount => "hops from the node that answered (DPCCP), on Data",
            Signal::HopRtt => "round-trip time from the sending node to the source, ns (HbHCM), on Data",
            Signal::QueueSize => "packets in the sender's queue for the prefix (NDN-QSF), on Data",
            Signal::PrimaryRate => "rate of a flow of the primary class, bit/s (MIRCC), on Data",
            Signal::SecondaryRate => "rate of a flow of the secondary class, bit/s (MIRCC), on Data",
            Signal::RateClass => "1: primary, 2: secondary (MIRCC), on Interests",
            Signal::Flags => "bit 0: probe, on Interests; bit 1: drain, on Data (DPCCP)",
        }
    }

    /// Its place in [`Signals`].
    #[inline]
    const fn place(self) -> usize {
        PLACES[self as usize] as usize
    }

    /// The signal with this TLV-TYPE, if it is one of ours.
    pub const fn from_type_number(number: u32) -> Option<Signal> {
        if number < 900 || !number.is_multiple_of(4) {
            return None;
        }
        let index = ((number - 900) / 4) as usize;
        if index < Self::ALL.len() { Some(Self::ALL[index]) } else { None }
    }
}

/// Where the value of each signal is: those of one scheme side by side, the ones that every router
/// reads first, so that a hop touches few cache lines.
const PLACES: [u8; Signal::ALL.len()] = [0, 1, 2, 7, 3, 8, 9, 10, 4, 5, 6, 11];

/// The signals that a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Signals {
    present: u16,
    values: [u64; Signal::ALL.len()],
}

impl Signals {
    /// No signal.
    pub const NONE: Signals = Signals { present: 0, values: [0; Signal::ALL.len()] };

    /// The value of a signal, if the packet carries it.
    #[inline]
    pub fn value(&self, signal: Signal) -> Option<u64> {
        (self.present & (1 << signal as u16) != 0).then(|| self.values[signal.place()])
    }

    /// Sets a signal.
    #[inline]
    pub fn set(&mut self, signal: Signal, value: u64) {
        self.present |= 1 << signal as u16;
        self.values[signal.place()] = value;
    }

    /// Removes a signal.
    #[inline]
    pub fn clear(&mut self, signal: Signal) {
        self.present &= !(1 << signal as u16);
        self.values[signal.place()] = 0;
    }

    /// Lowers a signal to at most `bound`; an absent signal counts as infinite.
    #[inline]
    pub fn lower(&mut self, signal: Signal, bound: u64) {
        let value = self.value(signal).map_or(bound, |v| v.min(bound));
        self.set(signal, value);
    }

    /// Whether there is no signal at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The signals present with their values, in ascending order of type number.
    pub fn iter(&self) -> impl Iterator<Item = (Signal, u64)> + '_ {
        Signal::ALL.into_iter().filter_map(|s| self.value(s).map(|v| (s, v)))
    }

    /// Length on the wire of the header fields, bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        let mut len = 0;
        let mut rest = self.present;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            // TYPE takes 3 bytes (0xFD and two), LENGTH one.
            len += 4 + nni_len(self.values[usize::from(PLACES[index])]);
        }
        debug_assert_eq!(var_len(900), 3);
        len
    }
}

/// Service classes (QSCCP, section IV-B), numbered as in the authors' published files.
///
/// The field's value modulo 8 is the class; a value of 8 to 15 is the same class with a mark that
/// a router has found the flow greedy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ServiceClass {
    /// Class Selector 7: network control.
    Cs7 = 0,
    /// Class Selector 6: network control.
    Cs6 = 1,
    /// Expedited Forwarding: low delay, jitter and loss.
    Ef = 2,
    /// Assured Forwarding 4.
    Af4 = 3,
    /// Assured Forwarding 3.
    Af3 = 4,
    /// Assured Forwarding 2.
    Af2 = 5,
    /// Assured Forwarding 1.
    Af1 = 6,
    /// Best Effort: the class of a packet that names none.
    #[default]
    Be = 7,
}

impl ServiceClass {
    /// Every class, most urgent first.
    pub const ALL: [ServiceClass; 8] = [
        ServiceClass::Cs7,
        ServiceClass::Cs6,
        ServiceClass::Ef,
        ServiceClass::Af4,
        ServiceClass::Af3,
        ServiceClass::Af2,
        ServiceClass::Af1,
        ServiceClass::Be,
    ];

    /// The class in a field's value; the greedy mark is ignored.
    pub const fn from_value(value: u64) -> ServiceClass {
        Self::ALL[(value % 8) as usize]
    }

    /// Its name as the paper writes it: `CS7`, `EF`, `AF2`, `BE`, …
    pub const fn name(self) -> &'static str {
        ["CS7", "CS6", "EF", "AF4", "AF3", "AF2", "AF1", "BE"][self as usize]
    }

    /// Whether it is one of the delay-sensitive classes C_DS = {CS7, CS6, EF}.
    pub const fn is_delay_sensitive(self) -> bool {
        (self as u8) <= ServiceClass::Ef as u8
    }
}

impl core::fmt::Display for ServiceClass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl core::str::FromStr for ServiceClass {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        Self::ALL.into_iter().find(|c| c.name().eq_ignore_ascii_case(text)).ok_or(UnknownClass)
    }
}

/// A text that names no service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownClass;

impl core::fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a service class is one of CS7, CS6, EF, AF4, AF3, AF2, AF1, BE")
    }
}

impl core::error::Error for UnknownClass {}
