//! Default strategies, and functions that strategies share.

use crate::seam::{Decision, InterestEvent, NackEvent, Strategy};
use crate::units::Span;
use weir_packet::NackReason;

/// Longest time for which a repeated Interest is suppressed (the fixed suppression of the authors'
/// simulators).
pub const SUPPRESSION: Span = Span::from_millis(100);

/// Returns whether a repeated Interest comes too soon after the last sending to be sent again: within
/// [`SUPPRESSION`], or within the prefix's round-trip time if that is shorter. Within this time Data may be
/// on their way; afterwards they are late. Without the round-trip time, each loss on a path of 1 ms would
/// cost a hundred round trips.
pub fn is_suppressed(ev: &InterestEvent<'_>) -> bool {
    was_sent_within(ev, ev.suppression)
}

/// Returns whether an Interest was sent upstream within this time, for the same group, and may still be
/// answered.
pub fn was_sent_within(ev: &InterestEvent<'_>, interval: Span) -> bool {
    !ev.was_sent_for_others && ev.entry.was_sent_within(interval, ev.now)
}

/// The reason to return when every next hop has refused: the least severe of their reasons, as in NFD. A
/// congested path recovers, a path that does not exist does not.
pub fn least_severe(ev: &NackEvent<'_>) -> NackReason {
    // Reasons are numbered by severity, but a missing reason may be any.
    let severity = |reason: u64| if reason == 0 { u64::MAX } else { reason };
    let others = ev.entry.out_records.iter().filter_map(|out| out.nacked).filter(|reason| *reason < u8::MAX);
    match others.map(u64::from).min_by_key(|reason| severity(*reason)) {
        Some(other) if severity(other) < severity(ev.reason.value()) => NackReason::from_value(other),
        _ => ev.reason,
    }
}

/// Sends every Interest to the cheapest next hop. A repeated one goes to the cheapest that has not been
/// tried, else to the one tried longest ago.
#[derive(Debug, Default)]
pub struct BestRoute {}

impl Strategy for BestRoute {
    fn keeps_to_one(&self) -> bool {
        true
    }

    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        let sent = |face| ev.entry.out_records.iter().find(|out| out.face == face).map(|out| out.sent);
        // `None` sorts before every time: an untried next hop comes first, and among those the cheapest.
        match ev.next_hops.iter().min_by_key(|hop| sent(hop.face)) {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(least_severe(ev)),
        }
    }
}

/// Sends every Interest to all next hops, including a repeated one unless it comes too soon.
#[derive(Debug, Default)]
pub struct Multicast {}

impl Strategy for Multicast {
    fn asks_all(&self) -> bool {
        true
    }

    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        match ev.next_hops {
            [] => Decision::Nack(NackReason::NoRoute),
            [only] => Decision::Forward(only.face),
            all => Decision::Multicast(all.iter().map(|hop| hop.face).collect()),
        }
    }
}
