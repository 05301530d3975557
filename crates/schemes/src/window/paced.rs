//! CUBIC with paced Interests, for consumers that should send at a rate: W is spread over a round trip.
//!
//! > pace = N·W/SRTT, with N = 2 in slow start, in which W doubles in a round trip, else N = 1
//!
//! RFC 9002, section 7.7, and Linux (`tcp_pacing_ss_ratio`) for slow start. After slow start RFC 9002
//! suggests 5/4, so that the pace does not prevent the use of W. With 1 the pace itself is the rate: a path
//! whose buffer has room for one or two Data loses less.

use weir_core::seam::{DataReceived, SendEvent};
use weir_core::units::{Rate, Span, Time};

use super::cubic::{self, Cubic};
use super::{Configured, Congestion, WindowLaw};

const IN_SLOW_START: f64 = 2.0;
const AFTER: f64 = 1.0;

/// The state of the law.
#[derive(Debug)]
pub(crate) struct Paced {
    cubic: Cubic,
    /// The pace; `None` before the first round trip.
    pace: Option<Rate>,
}

impl Configured for Paced {
    type Settings = cubic::Settings;

    fn new(settings: cubic::Settings) -> Paced {
        Paced { cubic: Cubic::new(settings), pace: None }
    }
}

impl WindowLaw for Paced {
    fn window(&self) -> f64 {
        self.cubic.window()
    }

    fn pacing(&self) -> Option<Rate> {
        self.pace
    }

    fn on_send(&mut self, ev: &SendEvent<'_>, number: u32, late: Span) {
        self.cubic.on_send(ev, number, late);
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>, packets: f64) {
        self.cubic.on_data(ev, packets);
        let Some(srtt) = ev.srtt.filter(|srtt| *srtt > Span::ZERO) else { return };
        let gain = if self.cubic.is_in_slow_start() { IN_SLOW_START } else { AFTER };
        let bits = self.cubic.window().max(packets) / packets * ev.expected_size.bits() as f64;
        self.pace = Some(Rate::from_bps_f64((gain * bits / srtt.as_secs_f64()).max(1.0)));
    }

    fn increase(&mut self, ev: &DataReceived<'_>, packets: f64) {
        self.cubic.increase(ev, packets);
    }

    fn on_unused(&mut self, now: Time) {
        self.cubic.on_unused(now);
    }

    fn decrease(&mut self, congestion: &Congestion) {
        self.cubic.decrease(congestion);
    }

    fn on_longer_path(&mut self) {
        self.cubic.on_longer_path();
    }
}
