//! World 3: a scenario on real forwarders, each in its own network namespace, on one Linux machine.
//!
//! - [`isolation`]: namespaces around the whole lab; [`namespace`]: the namespace of a node; [`interfaces`] between
//!   them.
//! - [`network`]: nodes, interfaces, addresses and the forwarders' files; [`process`]: the processes of nodes;
//!   `foreign`: foreign forwarders; `commands`: foreign applications.
//! - [`lab`]: a running lab and its run; [`nodes`]: the forwarders' figures; [`traffic`]: the flows as applications.
//! - [`scale`]: lower rates, and the load of a scenario on the machine.
//! - [`links`]: the emulated links, frame by frame, with the core's link model.

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
