//! The node: forwards by RFA, and tells each downstream how long its Interest was here.
//!
//! What a Data carries to a downstream is the time since *that* downstream's Interest came. For the Interest that was
//! forwarded it is the round-trip time from here, as the paper has it. For one that was aggregated it is less, since the
//! Data was on its way already; for one that the content store answers it is zero, as for a source. So each downstream is
//! left with the time that its own hop took.

use weir_core::ids::{FaceId, PrefixId};
use weir_core::seam::{DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy};
use weir_core::units::Time;

use super::signals::RTT_MEASURE;
use crate::rfa::{Choice, RequestForwarding};

/// The strategy of a node.
#[derive(Debug)]
pub(super) struct MeasuringForwarding {
    forwarding: RequestForwarding,
}

impl MeasuringForwarding {
    pub(super) fn new(choice: Choice) -> MeasuringForwarding {
        MeasuringForwarding { forwarding: RequestForwarding::new(choice) }
    }
}

impl Strategy for MeasuringForwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        self.forwarding.on_interest(ev)
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.forwarding.on_data(ev);
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let here = ev.now.since(ev.in_record.arrived);
        ev.data.header_mut().signals.set(&RTT_MEASURE, here.as_nanos());
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.forwarding.on_nack(ev)
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        self.forwarding.on_expired(ev);
    }

    fn on_face(&mut self, face: FaceId, up: bool, now: Time) {
        self.forwarding.on_face(face, up, now);
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        self.forwarding.on_prefix_removed(prefix);
    }
}

#[cfg(test)]
mod tests;
