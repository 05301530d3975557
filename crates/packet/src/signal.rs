//! Hop-by-hop signals: header fields with which schemes inform neighbouring nodes.
//!
//! Each signal is an NDNLPv2 header field with a NonNegativeInteger value. It is outside the signed packet, so every
//! router can rewrite it. The type numbers are from 800 to 959 and multiples of 4, so a node that does not know them
//! ignores them. Of these 40 numbers, nine are fields of NDNLPv2 itself and published simulators use three more (852,
//! 856, 860). The others are available for signals ([`types`]).
//!
//! The set is open. A scheme declares its fields in its own folder as constants of type [`Signal`], and lists them in
//! its entry in the registry of schemes. The codec carries every field of this number space, declared or not. This
//! module declares only the fields that belong to no scheme.

use crate::tlv::{nni_len, var_len};

/// The first TLV-TYPE that a node ignores if it does not know it. Every fourth number from here on is another.
const FIRST_IGNORED: u32 = 800;

/// TLV-TYPE of the last signal. Beyond 959 a node must not ignore an unknown field.
///
/// The signal with this number describes the link on which the packet arrives, so only the next node may use it. The
/// core removes it after the face has seen it, even if no scheme knows it. Otherwise the next link would carry it too.
pub const LAST_TYPE: u32 = 956;

/// The bit of the signal [`LAST_TYPE`].
const OF_LINK: u64 = 1 << (NUMBERS - 1);

/// The number of type numbers that a node ignores if it does not know them.
const NUMBERS: u32 = (LAST_TYPE - FIRST_IGNORED) / 4 + 1;

/// The bits of type numbers that are not signals: the fields of NDNLPv2, and three that published simulators use.
const TAKEN: u64 = {
    const NUMBERS: [u32; 12] = [800, 812, 816, 820, 832, 836, 840, 844, 848, 852, 856, 860];
    let (mut taken, mut at) = (0, 0);
    while at < NUMBERS.len() {
        taken |= 1 << ((NUMBERS[at] - FIRST_IGNORED) / 4);
        at += 1;
    }
    taken
};

/// The number of type numbers available for signals.
pub const TYPES: usize = (NUMBERS - TAKEN.count_ones()) as usize;

/// All TLV-TYPEs of signals, in ascending order.
pub fn types() -> impl Iterator<Item = u32> {
    (FIRST_IGNORED..=LAST_TYPE).step_by(4).filter(|number| is_signal(*number))
}

/// Maximum number of signals in a packet. It suffices for the common signals and those of any two schemes (a test of
/// the registry checks this): a node's queues and its strategy may be of two schemes.
pub const CAPACITY: usize = 13;

/// Returns a signal's bit in [`Signals`], or `None` if this is not the type number of a signal.
#[inline]
const fn bit_of(type_number: u32) -> Option<u64> {
    if type_number < FIRST_IGNORED || type_number > LAST_TYPE || !type_number.is_multiple_of(4) {
        return None;
    }
    let bit = 1 << ((type_number - FIRST_IGNORED) / 4);
    if bit & TAKEN == 0 { Some(bit) } else { None }
}

/// Returns whether this is the TLV-TYPE of a signal.
#[inline]
pub const fn is_signal(type_number: u32) -> bool {
    bit_of(type_number).is_some()
}

/// The declaration of a hop-by-hop signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The signal's bit in [`Signals`].
    bit: u64,
    /// Name of the header field, for documents.
    pub name: &'static str,
    /// Width of the largest value in use: 8, 16, 32 or 64 bits. On the wire a value takes as few bytes as it needs.
    pub bits: u8,
    /// The value's unit, and the packets that carry the signal.
    pub meaning: &'static str,
    /// Whether only routers send the signal. Consumers may put the others on their Interests.
    pub is_of_routers: bool,
}

impl Signal {
    /// Number of content stores that a packet has passed: an Interest since its consumer, a Data since the store or
    /// producer that answered. Nodes write it if their cache placement depends on it; other nodes pass it on.
    pub const CACHES_PASSED: Signal = Signal::new(
        892,
        "CachesPassed",
        8,
        "content stores passed: on Interests since the consumer, on Data since the store or producer that answered",
    )
    .of_routers();

    /// Service class of an Interest or Data: a value of [`ServiceClass`].
    pub const SERVICE_CLASS: Signal =
        Signal::new(900, "ServiceClass", 8, "service class, on Interests; without it, best effort");

    /// Size of the Data that an Interest will bring back, bytes on the wire.
    pub const EXPECTED_SIZE: Signal =
        Signal::new(912, "ExpectedSize", 64, "expected size of the Data, bytes, on Interests");

    /// Whether content stores must not answer, because the consumer rejected a Data from one. Any value means yes.
    pub const PAST_STORES: Signal =
        Signal::new(948, "PastStores", 8, "1: content stores do not answer, on Interests");

    /// The signals that belong to no scheme. The core reads or writes them.
    pub const COMMON: &[Signal] =
        &[Signal::CACHES_PASSED, Signal::SERVICE_CLASS, Signal::EXPECTED_SIZE, Signal::PAST_STORES];

    /// Declares a signal.
    ///
    /// # Panics
    /// Panics if `type_number` is not one of [`types`], or if `bits` is not the width of a NonNegativeInteger. For a
    /// constant this is a compile error.
    pub const fn new(type_number: u32, name: &'static str, bits: u8, meaning: &'static str) -> Signal {
        assert!(matches!(bits, 8 | 16 | 32 | 64), "a NonNegativeInteger has 1, 2, 4 or 8 bytes");
        match bit_of(type_number) {
            Some(bit) => Signal { bit, name, bits, meaning, is_of_routers: false },
            None => panic!("the type number of a signal must be ignorable and must not have another use"),
        }
    }

    /// Returns the signal, marked as sent only by routers. A node ignores it from other senders.
    #[must_use]
    pub const fn of_routers(mut self) -> Signal {
        self.is_of_routers = true;
        self
    }

    /// TLV-TYPE of the NDNLPv2 header field.
    #[inline]
    pub const fn type_number(&self) -> u32 {
        type_of(self.bit)
    }
}

#[inline]
const fn type_of(bit: u64) -> u32 {
    FIRST_IGNORED + 4 * bit.trailing_zeros()
}

/// The set of signals that a node knows. A node does not forward unknown signals.
///
/// Some of them may be the node's own. It passes the others on if there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalSet {
    known: u64,
    own: u64,
}

impl SignalSet {
    /// All type numbers, declared or not, none of them the node's own. This is for endpoints, which forward no packets.
    pub const ALL: SignalSet = SignalSet { known: !TAKEN & ((1 << NUMBERS) - 1), own: 0 };

    /// Returns the set with these signals added as the node's own.
    #[must_use]
    pub fn with_own(mut self, signals: impl IntoIterator<Item = Signal>) -> SignalSet {
        signals.into_iter().for_each(|signal| self.own |= signal.bit);
        self.known |= self.own;
        self
    }

    /// Returns whether the set contains the signal of this TLV-TYPE.
    #[inline]
    pub const fn has_type(&self, type_number: u32) -> bool {
        matches!(bit_of(type_number), Some(bit) if self.known & bit != 0)
    }
}

/// Creates a set of these signals, none of them the node's own.
impl FromIterator<Signal> for SignalSet {
    fn from_iter<I: IntoIterator<Item = Signal>>(signals: I) -> SignalSet {
        SignalSet { known: signals.into_iter().fold(0, |set, signal| set | signal.bit), own: 0 }
    }
}

/// The signals that a packet carries, at most [`CAPACITY`].
///
/// A neighbour cannot fill all places and thereby suppress a signal that this node writes or reads. Signals that the
/// node only passes on are flagged. If all places are taken, the flagged signal with the largest number makes room.
/// Unknown signals take no place.
///
/// A packet carries few signals, and every hop reads them. So the values are stored densely in the order of their type
/// numbers, and a bit set records which signals they are. There is no allocation.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Signals {
    /// Bit `i` for the signal of type 800 + 4 `i`.
    present: u64,
    /// The bits of received signals that are not the node's own and that the node has not written.
    passing: u64,
    /// Number of bits set in `present`.
    count: u8,
    /// Length of the fields on the wire, bytes.
    wire_len: u8,
    /// The values. Those beyond `count` are undefined.
    values: [u64; CAPACITY],
}

impl Signals {
    /// No signals.
    pub const NONE: Signals =
        Signals { present: 0, passing: 0, count: 0, wire_len: 0, values: [0; CAPACITY] };

    /// The index of a signal's value, or the index at which it would be inserted.
    #[inline]
    fn place(&self, bit: u64) -> usize {
        (self.present & (bit - 1)).count_ones() as usize
    }

    /// The value of a signal, if the packet carries it.
    #[inline]
    pub fn value(&self, signal: &Signal) -> Option<u64> {
        if self.present & signal.bit == 0 {
            return None;
        }
        self.values.get(self.place(signal.bit)).copied()
    }

    /// Sets a signal.
    ///
    /// It is left out if all places are taken by signals that are not passed on. That takes the signals of more than
    /// two schemes.
    #[inline]
    pub fn set(&mut self, signal: &Signal, value: u64) {
        self.set_bit(signal.bit, value);
    }

    /// Sets the signal of this TLV-TYPE. Other types are ignored.
    #[inline]
    pub fn set_type(&mut self, type_number: u32, value: u64) {
        if let Some(bit) = bit_of(type_number) {
            self.set_bit(bit, value);
        }
    }

    /// Adds the signal of this TLV-TYPE, received from a neighbour, if the node knows it. A signal that is not the
    /// node's own is left out if all places are taken.
    #[inline]
    pub fn receive(&mut self, type_number: u32, value: u64, known: &SignalSet) {
        let Some(bit) = bit_of(type_number) else { return };
        if known.own & bit != 0 {
            self.set_bit(bit, value);
        } else if known.known & bit != 0 && (self.present & bit != 0 || self.has_room()) {
            self.set_bit(bit, value);
            self.passing |= bit;
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        usize::from(self.count) < CAPACITY
    }

    #[inline]
    fn set_bit(&mut self, bit: u64, value: u64) {
        // Most signals are set in the order of their numbers: then this is the last place.
        let mut place = if self.present < bit { usize::from(self.count) } else { self.place(bit) };
        if self.present & bit == 0 {
            if !self.has_room() {
                if !self.make_room() {
                    return;
                }
                place = self.place(bit);
            }
            let count = usize::from(self.count);
            if place < count {
                self.values.copy_within(place..count, place + 1);
            }
            self.present |= bit;
            self.count += 1;
            self.wire_len += FIELD_HEAD as u8 + 1;
            self.values[place] = 0;
        }
        self.passing &= !bit;
        if let Some(slot) = self.values.get_mut(place) {
            let before = core::mem::replace(slot, value);
            self.wire_len = self.wire_len + nni_len(value) as u8 - nni_len(before) as u8;
        }
    }

    /// Removes the last signal that is passed on. Returns `false` if there is none.
    #[cold]
    fn make_room(&mut self) -> bool {
        let Some(at) = self.passing.checked_ilog2() else { return false };
        self.clear_bit(1 << at);
        true
    }

    /// Returns whether the signal [`LAST_TYPE`] is present, which is only for the next node.
    #[inline]
    pub const fn has_of_link(&self) -> bool {
        self.present & OF_LINK != 0
    }

    /// Removes the signal [`LAST_TYPE`], which is only for the next node.
    #[inline]
    pub fn clear_of_link(&mut self) {
        self.clear_bit(OF_LINK);
    }

    /// Removes a signal.
    pub fn clear(&mut self, signal: &Signal) {
        self.clear_bit(signal.bit);
    }

    fn clear_bit(&mut self, bit: u64) {
        if self.present & bit == 0 {
            return;
        }
        let (place, count) = (self.place(bit), usize::from(self.count));
        self.wire_len -= (FIELD_HEAD + nni_len(self.values[place])) as u8;
        self.values.copy_within(place + 1..count, place);
        self.present &= !bit;
        self.passing &= !bit;
        self.count -= 1;
    }

    /// Removes the signals that are not in `known`. The node's own signals no longer count as passed on.
    #[inline]
    pub fn retain(&mut self, known: SignalSet) {
        self.passing &= !known.own;
        let mut unknown = self.present & !known.known;
        while unknown != 0 {
            let bit = unknown & unknown.wrapping_neg();
            self.clear_bit(bit);
            unknown &= !bit;
        }
    }

    /// Lowers a signal to at most `bound`. An absent signal counts as infinite.
    #[inline]
    pub fn lower(&mut self, signal: &Signal, bound: u64) {
        let value = self.value(signal).map_or(bound, |v| v.min(bound));
        self.set(signal, value);
    }

    /// Copies the signals of `other`. For tables of signals: this touches only the values that are present.
    #[inline]
    pub fn copy_from(&mut self, other: &Signals) {
        (self.present, self.passing) = (other.present, other.passing);
        (self.count, self.wire_len) = (other.count, other.wire_len);
        for (slot, value) in self.values.iter_mut().zip(other.values()) {
            *slot = *value;
        }
    }

    /// Returns whether there are no signals.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The TLV-TYPEs of the signals present with their values, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let mut rest = self.present;
        self.values().iter().map(move |value| {
            let bit = rest & rest.wrapping_neg();
            rest &= !bit;
            (type_of(bit), *value)
        })
    }

    #[inline]
    fn values(&self) -> &[u64] {
        &self.values[..usize::from(self.count).min(CAPACITY)]
    }

    /// Length on the wire of the header fields, bytes.
    #[inline]
    pub fn wire_len(&self) -> usize {
        usize::from(self.wire_len)
    }
}

/// Length of TYPE and LENGTH of a signal's field, bytes: 0xFD, two bytes of the number, and one of the length.
const FIELD_HEAD: usize = var_len(LAST_TYPE as u64) + 1;
const _: () = assert!(FIELD_HEAD == var_len(FIRST_IGNORED as u64) + 1);

/// Two sets are equal if a receiver sees the same signals.
impl PartialEq for Signals {
    fn eq(&self, other: &Signals) -> bool {
        self.present == other.present && self.values() == other.values()
    }
}

impl Eq for Signals {}

/// Writes type numbers and values.
impl core::fmt::Debug for Signals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Signals in half a cache line, for tables with the signals of many packets.
///
/// A packet carries few signals, and almost all values are below 2^32.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
pub struct CompactSignals {
    /// As in [`Signals`]. The flags of signals that are only passed on are not kept.
    present: u64,
    values: [u32; CompactSignals::MOST],
}

impl CompactSignals {
    /// Maximum number of signals.
    const MOST: usize = 6;

    /// Copies the signals of `other`. If they do not fit, returns `false` and holds no signals.
    #[inline]
    pub fn set(&mut self, other: &Signals) -> bool {
        let values = other.values();
        let mut fits = values.len() <= CompactSignals::MOST;
        for (slot, value) in self.values.iter_mut().zip(values) {
            *slot = *value as u32;
            fits &= u64::from(*slot) == *value;
        }
        self.present = if fits { other.present } else { 0 };
        fits
    }

    /// Returns whether there are no signals.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// Converts back to [`Signals`].
    pub fn expand(&self) -> Signals {
        let mut signals =
            Signals { present: self.present, count: self.present.count_ones() as u8, ..Signals::NONE };
        for (slot, value) in signals.values.iter_mut().zip(self.values) {
            *slot = u64::from(value);
        }
        let len = |value: &u64| FIELD_HEAD + nni_len(*value);
        signals.wire_len = signals.values().iter().map(len).sum::<usize>() as u8;
        signals
    }
}

/// Service classes (QSCCP, section IV-B), numbered as in the authors' published files.
///
/// The field's value modulo 8 is the class. The values 8 to 15 are the same classes with the mark of a router that the
/// flow is greedy.
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
    /// Best Effort: the class of a packet without the field.
    #[default]
    Be = 7,
}

impl ServiceClass {
    /// All classes, most urgent first.
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

    /// Number of delay-sensitive classes. They are the first ones.
    pub const DELAY_SENSITIVE: usize = 3;

    /// The class in a field's value. The greedy mark is ignored.
    pub const fn from_value(value: u64) -> ServiceClass {
        Self::ALL[(value % 8) as usize]
    }

    /// The class's name in the paper: `CS7`, `EF`, `AF2`, `BE`, …
    pub const fn name(self) -> &'static str {
        ["CS7", "CS6", "EF", "AF4", "AF3", "AF2", "AF1", "BE"][self as usize]
    }

    /// Returns whether this is one of the delay-sensitive classes C_DS = {CS7, CS6, EF}.
    pub const fn is_delay_sensitive(self) -> bool {
        (self as usize) < Self::DELAY_SENSITIVE
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

/// Error: the text is not the name of a service class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownClass;

impl core::fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a service class is one of CS7, CS6, EF, AF4, AF3, AF2, AF1, BE")
    }
}

impl core::error::Error for UnknownClass {}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn all() -> Vec<Signal> {
        types().map(|number| Signal::new(number, "any", 64, "")).collect()
    }

    #[test]
    fn the_numbers_are_those_that_a_node_may_ignore_and_nobody_squats_on() {
        let types: Vec<u32> = all().iter().map(Signal::type_number).collect();
        assert!(types.iter().all(|typ| crate::lp::is_ignorable(*typ) && is_signal(*typ)));
        assert_eq!((types.len(), types[0], types[TYPES - 1]), (TYPES, 804, LAST_TYPE));
        let others = [800, 812, 848, 852, 856, 860, 862, 866, 890, 894, 901, 955, 958, 960, 964];
        assert!(!others.into_iter().any(is_signal));
        assert_eq!(Signal::COMMON.iter().map(Signal::type_number).collect::<Vec<_>>(), [892, 900, 912, 948]);
    }

    #[test]
    fn the_signals_of_a_packet_take_two_cache_lines() {
        assert_eq!(size_of::<Signals>(), 128);
    }

    /// The signals of a node after it received these with the values 1, 2, …
    fn received(sent: &[Signal], known: &SignalSet) -> Signals {
        let mut signals = Signals::NONE;
        sent.iter().zip(1..).for_each(|(signal, value)| signals.receive(signal.type_number(), value, known));
        signals
    }

    #[test]
    fn there_is_room_for_what_a_node_writes_and_reads_whatever_a_neighbour_has_filled_in() {
        let known = SignalSet::ALL;
        for at in 0..=TYPES - CAPACITY {
            let own = &all()[at..at + CAPACITY];
            // The node reads its own signals at any position.
            let read = received(&all(), &known.with_own(own.iter().copied()));
            let values = (at as u64 + 1..).take(CAPACITY);
            assert!(own.iter().zip(values).all(|(signal, value)| read.value(signal) == Some(value)));
            // The node's own signals and those of another scheme do not arrive.
            let others: Vec<Signal> = all().into_iter().filter(|signal| !own.contains(signal)).collect();
            let mut signals = received(&others, &known.with_own(own[..3].iter().copied()));
            assert_eq!(signals.iter().count(), others.len().min(CAPACITY));
            for (signal, value) in own.iter().zip(1000..) {
                signals.lower(signal, value);
            }
            assert!(own.iter().zip(1000..).all(|(signal, value)| signals.value(signal) == Some(value)));
            assert_eq!(signals.iter().count(), CAPACITY);
        }
    }

    #[test]
    fn what_a_node_writes_makes_no_room_for_what_a_neighbour_sends() {
        let mut signals = received(&all(), &SignalSet::ALL);
        let first: Vec<_> = all().iter().map(Signal::type_number).zip(1..).take(CAPACITY).collect();
        assert!(signals.iter().eq(first));
        // The last of the signals passed on makes room. A signal that the node has written does not.
        signals.set(&all()[CAPACITY - 1], 70);
        signals.set(&all()[CAPACITY], 80);
        assert_eq!(signals.value(&all()[CAPACITY - 1]), Some(70));
        assert_eq!(signals.value(&all()[CAPACITY - 2]), None);
        // The node has written all of them, so there is no room for another.
        let mut signals = Signals::NONE;
        all().iter().take(CAPACITY).for_each(|signal| signals.set(signal, 9));
        let before = signals;
        all().iter().for_each(|signal| signals.receive(signal.type_number(), 9, &SignalSet::ALL));
        assert_eq!(signals, before);
    }

    #[test]
    fn what_a_node_does_not_know_takes_no_place_and_goes() {
        let known: SignalSet = [Signal::SERVICE_CLASS, Signal::EXPECTED_SIZE].into_iter().collect();
        let place = |number| types().position(|other| other == number).unwrap() as u64 + 1;
        let expected = [(900, place(900)), (912, place(912))];
        let mut signals = received(&all(), &known);
        assert!(signals.iter().eq(expected));
        signals.retain(SignalSet::ALL);
        assert!(signals.iter().eq(expected));
        let own = [Signal::SERVICE_CLASS, Signal::EXPECTED_SIZE];
        let mut signals = received(&all(), &SignalSet::ALL.with_own(own));
        signals.retain(known);
        assert!(signals.iter().eq(expected));
        assert!(known.has_type(900) && !known.has_type(904) && !known.has_type(852));
    }

    #[test]
    fn few_and_small_signals_fit_in_half_a_cache_line() {
        assert_eq!(size_of::<CompactSignals>(), 32);
        let first = |n: usize, value: u64| {
            let mut signals = Signals::NONE;
            all().iter().rev().take(n).for_each(|signal| signals.set(signal, value));
            signals
        };
        let below = u64::from(u32::MAX);
        let mut compact = CompactSignals::default();
        for (signals, fits) in [(first(6, below), true), (first(7, 1), false), (first(1, below + 1), false)] {
            assert_eq!(compact.set(&signals), fits);
            assert_eq!(compact.is_empty(), !fits);
        }
    }

    proptest! {
        #[test]
        fn signals_that_fit_come_back_as_they_were(
            values in prop::collection::vec((0..TYPES, 0..=u64::from(u32::MAX)), 0..7),
        ) {
            let (mut signals, mut compact) = (Signals::NONE, CompactSignals::default());
            prop_assert!(compact.set(&signals) && compact.expand().is_empty());
            for (at, value) in values {
                signals.set(&all()[at], value);
                prop_assert!(compact.set(&signals));
                prop_assert_eq!(compact.expand(), signals);
            }
        }

        #[test]
        fn what_is_own_or_written_is_there_after_any_steps_of_node_and_neighbour(
            own in prop::collection::btree_set(0..TYPES, 0..=CAPACITY / 2),
            steps in prop::collection::vec((0..TYPES, any::<u64>(), any::<bool>()), 0..60),
        ) {
            let set = SignalSet::ALL.with_own(own.iter().map(|at| all()[*at]));
            let (mut signals, mut kept) = (Signals::NONE, BTreeMap::new());
            for (at, value, is_written) in steps {
                let typ = all()[at].type_number();
                let is_kept = own.contains(&at) || is_written;
                if !is_kept && kept.contains_key(&typ) {
                    continue;
                }
                if is_kept && (kept.len() < CAPACITY || kept.contains_key(&typ)) {
                    kept.insert(typ, value);
                }
                match is_written {
                    true => signals.set(&all()[at], value),
                    false => signals.receive(typ, value, &set),
                }
                let found: BTreeMap<u32, u64> = signals.iter().collect();
                prop_assert!(kept.iter().all(|(typ, value)| found.get(typ) == Some(value)));
                prop_assert!(found.len() <= CAPACITY && found.len() == usize::from(signals.count));
                prop_assert_eq!(signals.passing & !signals.present, 0);
                let len: usize = found.values().map(|value| 4 + nni_len(*value)).sum();
                prop_assert_eq!(signals.wire_len(), len);
            }
        }

        #[test]
        fn signals_are_a_map_from_type_numbers_with_few_places(
            steps in prop::collection::vec((0..TYPES, prop::option::weighted(0.8, any::<u64>())), 0..60),
        ) {
            let (mut signals, mut map) = (Signals::NONE, BTreeMap::new());
            for (at, value) in steps {
                let signal = all()[at];
                match value {
                    Some(value) => {
                        signals.set(&signal, value);
                        if map.len() < CAPACITY || map.contains_key(&signal.type_number()) {
                            map.insert(signal.type_number(), value);
                        }
                    }
                    None => {
                        signals.clear(&signal);
                        map.remove(&signal.type_number());
                    }
                }
                for signal in all() {
                    prop_assert_eq!(signals.value(&signal), map.get(&signal.type_number()).copied());
                }
                prop_assert!(signals.iter().eq(map.iter().map(|(typ, value)| (*typ, *value))));
                let mut anew = Signals::NONE;
                signals.iter().for_each(|(typ, value)| anew.set_type(typ, value));
                prop_assert_eq!(anew, signals);
                let mut copy = Signals::NONE;
                all().iter().skip(at % 5).for_each(|signal| copy.set(signal, 1));
                copy.copy_from(&signals);
                prop_assert_eq!(copy, signals);
                prop_assert_eq!(signals.is_empty(), map.is_empty());
            }
        }
    }
}
