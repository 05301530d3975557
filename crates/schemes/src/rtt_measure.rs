//! The time that a Data took upstream of the node that sends it. Together with the round-trip time from here,
//! it gives the time of this hop alone.

use weir_packet::Signal;

/// HbHCM's *rtt_measure*, on Data: the time from the arrival of the downstream's Interest at the sending node
/// to the Data.
pub(crate) const RTT_MEASURE: Signal = Signal::new(
    924,
    "RttMeasure",
    64,
    "time from the arrival of the downstream's Interest at the sending node to the Data, ns, on Data",
)
.of_routers();
