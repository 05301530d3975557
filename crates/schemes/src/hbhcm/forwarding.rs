//! The node: forwards by RFA, and reports to each downstream how long its Interest waited for the Data at this node.
//!
//! A Data carries to a downstream the time since *that* downstream's Interest arrived. For the forwarded Interest this is
//! the round-trip time from here, as in the paper. For an aggregated Interest it is shorter, because the Data was already
//! on its way. For an Interest that the content store answers it is zero, as at a source. So each downstream can compute
//! the time of its own hop.

use weir_core::ids::{FaceId, PrefixId};
use weir_core::seam::{DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy};
use weir_core::units::Time;

use crate::rfa::{Choice, RequestForwarding};
use crate::rtt_measure::RTT_MEASURE;

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
