//! The command `weir` in the simulator, and what the repository says of itself. One program, since each would be linked
//! anew with all that it stands on. What runs beside a forwarder is in `live`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod command;
mod common;
mod dependencies;
mod docs;
mod golden;
mod key;
mod many;
mod plot;
mod qsccp_optimum;
mod sweep;
mod trace;

/// What the example of a scheme finds at this path where it is a module of `weir-schemes`.
mod registry {
    pub use weir_schemes::Entry;
}
