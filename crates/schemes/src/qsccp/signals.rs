//! QSCCP's header fields (section IV-D). Classes and sizes are in the common fields.

use weir_packet::Signal;

/// The bottleneck rate between this node and the consumer, on Interests.
pub(crate) const DOWNSTREAM_RATE: Signal = Signal::new(
    904,
    "DownstreamRate",
    64,
    "rate that the path to the consumer supports, bit/s, on Interests",
)
.of_routers();

/// The suggested rate of the flow, on Data.
pub(crate) const TARGET_RATE: Signal =
    Signal::new(908, "TargetRate", 64, "rate that the consumer is to request, bit/s, on Data").of_routers();

/// All header fields of the scheme.
pub(crate) const SIGNALS: &[Signal] = &[DOWNSTREAM_RATE, TARGET_RATE];
