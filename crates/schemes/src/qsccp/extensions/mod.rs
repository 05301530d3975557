//! Weir's additions to the paper. Each module has its own reason and its own parameter. The head of `qsccp`
//! has a table.

pub(crate) mod charges;
pub(crate) mod elsewhere;
pub(crate) mod groups;
pub(crate) mod sharing;
pub(crate) mod start;
pub(crate) mod urgent;
