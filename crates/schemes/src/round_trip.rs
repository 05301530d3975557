//! The round-trip time of a flow. The flow's consumer reports it to the routers on the path.

use weir_packet::Signal;

/// The time from an Interest to its Data as the consumer measures it, on Interests. Routers learn from it how
/// long a flow takes to follow their feedback.
pub(crate) const ROUND_TRIP: Signal =
    Signal::new(896, "RoundTrip", 64, "round trip that the consumer measures, ns, on Interests");
