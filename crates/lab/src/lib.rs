//! World 3: a scenario on real forwarders, each in a network namespace of its own, on one Linux machine.
//!
//! - [`isolation`]: namespaces around the whole lab; [`namespace`]: that of a node; [`interfaces`] between them.
//! - [`network`]: nodes, interfaces, addresses and the forwarders' files; [`process`]: what runs at a node; `foreign`: the forwarders
//!   of others; `commands`: applications of others.
//! - [`lab`]: a running lab and its run; [`nodes`]: what forwarders say of themselves; [`traffic`]: the flows as applications.
//! - [`scale`]: smaller rates, and what a scenario asks of the machine.
//! - [`links`]: the emulated links, frame by frame, by the link model of the core.

mod commands;
pub mod error;
mod foreign;
pub mod interfaces;
pub mod isolation;
pub mod lab;
pub mod links;
pub mod namespace;
pub mod network;
pub mod nodes;
pub mod process;
pub mod scale;
pub mod traffic;

pub use error::LabError;
