//! World 2: a forwarder of real NDN packets, around the core that the simulator runs.
//!
//! ```text
//!   sockets --> transports --> link service --> core --> link service --> transports --> sockets
//!    (face)       frames     pieces, packets   (node)                                     (face)
//!                                                ^ |
//!                                  /localhost/nfd | v
//!                                             management
//! ```
//!
//! Sockets and the link service are in `weir-net`, the management protocol is in `weir-management`.
//!
//! - [`management`]: answers to that protocol, and the RIB; [`control`]: its requests to the forwarder.
//! - [`config`]: the configuration file; [`instance`]: a forwarder with this configuration, on any sockets and clocks;
//!   [`daemon`]: the forwarder as a process.
//! - [`metrics`]: metrics for Prometheus; [`capture`]: frames for Wireshark; [`record`]: all inputs of the core, and [`replay`]:
//!   a new run of the core with them.

pub mod capture;
pub mod config;
pub mod control;
pub mod daemon;
pub mod engine;
pub mod face;
pub mod instance;
pub mod management;
pub mod metrics;
mod output;
pub mod record;
pub mod replay;
pub mod wire_node;
