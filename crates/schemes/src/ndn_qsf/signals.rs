//! NDN-QSF's header field.

use weir_packet::Signal;

/// Queue size feedback (section 4.1), on Data: the packets of the prefix that wait at the sending node.
pub(super) const QUEUE_SIZE: Signal =
    Signal::new(928, "QueueSize", 16, "packets of the prefix that wait at the sending node, on Data")
        .of_routers();
