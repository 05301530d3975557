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
//! Sockets and the link service are those of `weir-net`, the protocol of management that of `weir-management`.
//!
//! - [`management`]: what answers by that protocol, and the RIB; [`control`]: what it may ask of the forwarder.
//! - [`config`]: the file; [`instance`]: a forwarder as it says, on any sockets and clocks; [`daemon`]: that as a process.
//! - [`metrics`]: figures for Prometheus; [`capture`]: frames for Wireshark;
//!   [`record`]: all that the core is told, and [`replay`]: that, run again.

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
