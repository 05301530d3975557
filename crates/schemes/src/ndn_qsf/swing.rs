//! The node of section 3.1, which shows the effect of multi-path forwarding on a consumer's measurements. It
//! divides Interests between two replicas by the time of day alone.
//!
//! > r = 1/2 − 0.2·sin(4t)
//!
//! is the part of the Interests for the first next hop. The rest go to the second. Nothing is limited or measured.

use weir_core::seam::best_route::is_suppressed;
use weir_core::seam::{Decision, InterestEvent, Strategy};
use weir_core::units::Time;
use weir_packet::NackReason;

/// The strategy of section 3.1.
#[derive(Debug, Default)]
pub(super) struct Swing {
    /// The part of a turn that the first next hop has earned.
    credit: f64,
}

/// Returns r; t is in seconds.
fn part_of_first(now: Time) -> f64 {
    0.5 - 0.2 * (4.0 * now.as_secs_f64()).sin()
}

impl Strategy for Swing {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        match ev.next_hops {
            [] => Decision::Nack(NackReason::NoRoute),
            [only] => Decision::Forward(only.face),
            [first, second, ..] => {
                self.credit += part_of_first(ev.now);
                if self.credit < 1.0 {
                    return Decision::Forward(second.face);
                }
                self.credit -= 1.0;
                Decision::Forward(first.face)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::units::Span;

    #[test]
    fn the_part_of_the_first_replica_swings_between_30_and_70_percent() {
        let at = |s: f64| part_of_first(Time::ZERO + Span::from_secs_f64(s));
        let quarter = core::f64::consts::FRAC_PI_8;
        for (s, part) in [(0.0, 0.5), (quarter, 0.3), (2.0 * quarter, 0.5), (3.0 * quarter, 0.7)] {
            assert!((at(s) - part).abs() < 1e-6, "{s} {}", at(s));
        }
    }
}
