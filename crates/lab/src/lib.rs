//! World 3: a scenario on real forwarders, each in a network namespace of its own, on one Linux machine.
//!
//! - [`links`]: the emulated links, frame by frame, by the link model of the core.

pub mod links;
