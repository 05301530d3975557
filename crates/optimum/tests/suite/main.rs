//! Optima of networks. One program, since each would be linked anew with all that it stands on.

mod by_hand;
mod common;
mod properties;
mod qsccp_fluid;
