//! A path on which no router says a rate, because none runs QSCCP.
//!
//! ```text
//!              a Data without TargetRate, and none with one for a lifetime, or ever
//!   told ---------------------------------------------------------------------------> probing
//!        <---------------------------------------------------------------------------
//!              a Data with TargetRate: that is the rate
//! ```
//!
//! The consumer then probes by delay, losses and marks, as a responsible sender does on a path that it does not know: CUBIC
//! (RFC 9438), whose slow start ends by delay (HyStart++, RFC 9406), and whose Interests leave at a pace (RFC 9002, section
//! 7.7). So it shares with flows of TCP. A Data without TargetRate in between, as of the consumer's own content store,
//! changes nothing.
//!
//! Parameters: `untold`, `unit`.

use weir_core::seam::{DataReceived, FlowControl};
use weir_core::units::Span;

use crate::window::paced::Paced;
use crate::window::{Guard, Reaction, Recovery, Signs, Unit, WindowFlow, cubic};

/// The congestion signals of the probing: marks and losses, once a window.
const PROBING: Reaction = Reaction {
    signs: Signs { marks: true, losses: true },
    guard: Guard { marks: true, losses: true, by: Recovery::Sending, add_rtt: 0.0 },
    min_rto: Span::ZERO,
    late_data_twice: false,
    unit: Unit::DATA,
    spread: 0.0,
};

/// What the consumer does where no rate is said.
#[derive(Debug)]
pub(crate) struct Untold {
    /// The packets by which it probes, if it does.
    probes_by: Option<Unit>,
    probing: Option<WindowFlow<Paced>>,
    was_told: bool,
}

impl Untold {
    /// Probes by packets of this unit, or does nothing.
    pub(crate) fn new(probes_by: Option<Unit>) -> Untold {
        Untold { probes_by, probing: None, was_told: false }
    }

    /// The probing, while it is on.
    pub(crate) fn probing(&mut self) -> Option<&mut WindowFlow<Paced>> {
        self.probing.as_mut()
    }

    /// The probing, while it is on.
    pub(crate) fn as_probing(&self) -> Option<&WindowFlow<Paced>> {
        self.probing.as_ref()
    }

    /// A Data without TargetRate came; none with one came for so long.
    pub(crate) fn on_data(&mut self, ev: &mut DataReceived<'_>, for_long: bool) {
        if let Some(unit) = self.probes_by
            && self.probing.is_none()
            && (for_long || !self.was_told)
        {
            let reaction = Reaction { unit, ..PROBING };
            self.probing = Some(WindowFlow::new(cubic::Settings::of_rfc(), reaction));
        }
        if let Some(probing) = &mut self.probing {
            probing.on_data(ev);
        }
    }

    /// A Data with TargetRate came: says whether the probing ends with it.
    pub(crate) fn end(&mut self) -> bool {
        self.was_told = true;
        self.probing.take().is_some()
    }
}
