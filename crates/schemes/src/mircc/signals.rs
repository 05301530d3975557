//! MIRCC's header fields. The path of an Interest is in the common [`PATH_LABEL`].

use weir_packet::Signal;

use crate::path_label::PATH_LABEL;

/// The rate of a flow in the primary class, on Data.
pub(super) const PRIMARY_RATE: Signal =
    Signal::new(932, "PrimaryRate", 64, "rate of a flow in the primary class, bit/s, on Data").of_routers();

/// The rate of a flow in the secondary class, on Data.
pub(super) const SECONDARY_RATE: Signal =
    Signal::new(936, "SecondaryRate", 64, "rate of a flow in the secondary class, bit/s, on Data")
        .of_routers();

/// The class of an Interest's sub-flow.
pub(super) const RATE_CLASS: Signal =
    Signal::new(940, "RateClass", 8, "class of a sub-flow: 1 primary, 2 secondary; on Interests");

/// All header fields that the scheme writes.
pub(super) const SIGNALS: &[Signal] = &[PATH_LABEL, PRIMARY_RATE, SECONDARY_RATE, RATE_CLASS];
