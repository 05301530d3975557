//! The greedy status (sections IV-C 3 and IV-D): flows that ask for more than their rate for many periods.
//!
//! A router detects a greedy flow at one of its faces. The face marks the flow's Interests. Without the mark,
//! routers upstream would give the flow an equal share, because they get only the Interests that this face
//! sends. The face also marks the flow's Data on their way to the node's tables. The tables then mark the
//! flow's Interests towards every face. Otherwise the flow would gain at the other faces what it lost at this
//! one.
//!
//! ```text
//!            Data marked                     Interests marked
//!   tables <------------- face that judges ------------------> routers upstream: punished
//!     |   Interests marked
//!     +-------------------> other faces: punished
//! ```

use weir_core::packet::Packet;
use weir_packet::{ServiceClass, Signal};

/// The value that is added to the ServiceClass of a marked packet (the authors' code).
const MARK: u64 = ServiceClass::ALL.len() as u64;

/// Marks a packet.
pub(crate) fn mark(packet: &mut Packet) {
    let class = packet.flow.class as u64;
    packet.header_mut().signals.set(&Signal::SERVICE_CLASS, class + MARK);
}

/// Returns whether a packet is marked.
#[inline]
pub(crate) fn is_marked(packet: &Packet) -> bool {
    packet.header().signals.value(&Signal::SERVICE_CLASS).is_some_and(|class| class >= MARK)
}

/// Removes the mark from a packet. Returns whether it had one.
#[inline]
pub(crate) fn take_mark(packet: &mut Packet) -> bool {
    let is_marked = is_marked(packet);
    if is_marked {
        let class = packet.flow.class as u64;
        packet.header_mut().signals.set(&Signal::SERVICE_CLASS, class);
    }
    is_marked
}

/// The greedy status of a flow at one face.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Greed {
    /// The number of periods above its rate, times `memory` of [`Greed::end_period`], less the number of
    /// other periods.
    periods: u32,
    /// Whether this face has found the flow greedy.
    pub(crate) is_greedy: bool,
    /// The largest rates that it was told in these λ periods and in the previous ones, bit/s; and the number
    /// of periods so far.
    told: [f64; 2],
    window: u32,
    /// The number of periods for which the latest mark counts.
    marked_for: u32,
    /// In this period: whether a Data carried its rate to it, and the number of marked Interests minus the
    /// others.
    pub(crate) is_told: bool,
    marks: i32,
}

impl Greed {
    /// Judges a period in which the flow asked for `demand` and had the rate `told`, bit/s. Returns whether
    /// it asks for more than `ratio` times the largest recent rate. A flow that still asks for a rate that it
    /// had is not greedy.
    pub(crate) fn is_over(&mut self, demand: f64, told: f64, ratio: f64, lambda: u32) -> bool {
        if self.window >= lambda {
            (self.told, self.window) = ([0.0, self.told[0]], 0);
        }
        self.window += 1;
        self.told[0] = self.told[0].max(told);
        demand > ratio * self.told[0].max(self.told[1])
    }

    /// Ends a period. A flow is greedy when its periods above its rate exceed the others by λ, until it has
    /// kept to its rate for as many.
    ///
    /// A period does not count if no Data carried its rate to it: if its Interests wait for long, these Data
    /// come late.
    ///
    /// The flow has to keep to its rate for `memory` periods to compensate for one above it; 1 in the paper's
    /// sense.
    pub(crate) fn end_period(&mut self, is_over: bool, lambda: u32, memory: u32) {
        let enough = lambda.saturating_mul(memory);
        let is_told = core::mem::take(&mut self.is_told);
        self.periods = match is_over {
            true if !is_told && !self.is_greedy => self.periods,
            true => self.periods.saturating_add(memory).min(enough),
            false => self.periods.saturating_sub(1),
        };
        self.is_greedy = self.periods >= enough || (self.is_greedy && self.periods > 0);
        // One forged mark among many Interests has no effect.
        let is_marked = core::mem::take(&mut self.marks) > 0;
        self.marked_for = if is_marked { lambda } else { self.marked_for.saturating_sub(1) };
    }

    /// Returns whether its count of periods is zero and it is not greedy.
    pub(crate) fn is_clean(&self) -> bool {
        self.periods == 0 && !self.is_punished()
    }

    /// Counts an Interest.
    #[inline]
    pub(crate) fn note_interest(&mut self, is_marked: bool) {
        self.marks = self.marks.saturating_add(if is_marked { 1 } else { -1 });
    }

    /// Returns whether φ < 1: this face, or one that its Interests have passed, has found it greedy.
    pub(crate) fn is_punished(self) -> bool {
        self.is_greedy || self.marked_for > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAMBDA: u32 = 10;

    fn after(periods: impl IntoIterator<Item = (bool, bool)>) -> Greed {
        let mut greed = Greed::default();
        for (is_over, is_told) in periods {
            greed.is_told = is_told;
            greed.end_period(is_over, LAMBDA, 1);
        }
        greed
    }

    #[test]
    fn a_flow_over_its_rate_is_judged_after_lambda_periods_and_released_after_as_many() {
        let over = |n| core::iter::repeat_n((true, true), n);
        let keeps = |n| core::iter::repeat_n((false, true), n);
        assert!(!after(over(9)).is_punished() && after(over(10)).is_punished());
        assert!(after(over(30).chain(keeps(9))).is_punished());
        assert!(!after(over(30).chain(keeps(10))).is_punished());
        assert!(!after(over(9).chain(keeps(2)).chain(over(2))).is_punished());
    }

    #[test]
    fn a_flow_that_was_not_told_is_not_judged() {
        assert!(!after([(true, false); 100]).is_punished());
    }

    #[test]
    fn a_mark_counts_for_lambda_periods_and_does_not_make_a_flow_greedy_here() {
        let mut greed = Greed::default();
        (0..3).for_each(|n| greed.note_interest(n > 0));
        for period in 0..12 {
            greed.end_period(false, LAMBDA, 1);
            assert_eq!((greed.is_punished(), greed.is_greedy), (period < 10, false), "{period}");
        }
    }

    #[test]
    fn a_few_marks_among_many_interests_are_nothing() {
        let mut greed = Greed::default();
        (0..100).for_each(|n| greed.note_interest(n % 3 == 0));
        greed.end_period(false, LAMBDA, 1);
        assert!(!greed.is_punished());
    }

    #[test]
    fn the_mark_is_in_the_service_class() {
        let mut packet = Packet::default();
        packet.flow.class = ServiceClass::Be;
        mark(&mut packet);
        assert!(is_marked(&packet) && packet.header().signals.value(&Signal::SERVICE_CLASS) == Some(15));
        assert!(take_mark(&mut packet) && !take_mark(&mut packet));
        assert_eq!(packet.header().signals.value(&Signal::SERVICE_CLASS), Some(7));
    }
}
