//! HbHCM's header field. Its ECN flag is the common congestion mark.

use weir_packet::Signal;

/// *rtt_measure*: on Data, from the arrival of the downstream's Interest at the sending node to the Data.
pub(super) const RTT_MEASURE: Signal = Signal::new(
    924,
    "RttMeasure",
    64,
    "time from the arrival of the downstream's Interest at the sending node to the Data, ns, on Data",
)
.of_routers();
