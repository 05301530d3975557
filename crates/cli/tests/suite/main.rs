//! The command `weir` in the simulator, and checks of the repository. They are one program, because each program would
//! be linked with all dependencies. Tests with a forwarder are in `live`.

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
mod watch;

/// The example scheme uses this path; in `weir-schemes` it is a module.
mod registry {
    pub use weir_schemes::Entry;
}
