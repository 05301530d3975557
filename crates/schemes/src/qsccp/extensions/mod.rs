//! What Weir adds to the paper: each module with its own reason and its own parameter.

pub(in crate::qsccp) mod charges;
pub(in crate::qsccp) mod elsewhere;
pub(in crate::qsccp) mod groups;
pub(in crate::qsccp) mod policy;
pub(in crate::qsccp) mod sharing;
pub(in crate::qsccp) mod start;
pub(in crate::qsccp) mod untold;
pub(in crate::qsccp) mod urgent;
