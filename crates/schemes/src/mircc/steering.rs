//! Path steering: an Interest takes the next hop that its label says (`../path_label.rs`). The label of
//! a Data is the affair of the face by which it arrives (`shaper.rs`).

use weir_core::scheme::{Decision, InterestEvent, Strategy};
use weir_core::strategy::{SUPPRESSION, is_suppressed};
use weir_packet::NackReason;

use crate::path_label;

/// A node's strategy. It has no tables.
#[derive(Debug)]
pub(super) struct Steering {}

impl Strategy for Steering {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev, SUPPRESSION) {
            return Decision::Suppress;
        }
        match ev.next_hops {
            [] => Decision::Nack(NackReason::NoRoute),
            next_hops => Decision::Forward(next_hops[path_label::steer(ev.interest, next_hops.len())].face),
        }
    }
}
