//! The round trip of a flow, which its consumer tells the routers on the path.

use weir_packet::Signal;

/// On Interests, from an Interest to its Data as the consumer measures it: so routers know how long a flow takes to
/// follow what they tell it.
pub(crate) const ROUND_TRIP: Signal =
    Signal::new(896, "RoundTrip", 64, "round trip that the consumer measures, ns, on Interests");
