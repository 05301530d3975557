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
//! - [`status`]: what faces, tables and the forwarder say of themselves; [`control`]: what management
//!   may ask of the forwarder.
//! - [`codec`], [`link_service`]: between packets, frames and bytes.
//! - [`transport`]: frames in and out of sockets; [`uri`]: how their ends are written.
//! - [`management`]: the NFD management protocol, and the RIB.
//! - [`client`]: what asks a forwarder by that protocol.
//! - [`app`]: consumers and producers behind a connection to a forwarder.
//! - [`config`]: the file.
//! - [`metrics`]: figures for Prometheus; [`capture`]: frames for Wireshark;
//!   [`record`]: all that the core is told, and [`replay`]: that, run again.

pub mod app;
pub mod capture;
pub mod client;
pub mod clock;
pub mod codec;
pub mod config;
pub mod control;
pub mod daemon;
pub mod engine;
pub mod face;
pub mod link_service;
pub mod management;
pub mod metrics;
pub mod node;
mod operate;
mod output;
pub mod record;
pub mod replay;
pub mod status;
pub mod transport;
pub mod uri;
