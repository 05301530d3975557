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
//! - [`config`]: the file.
//! - [`metrics`]: figures for Prometheus.
//! - [`transport`]: frames in and out of sockets.

pub mod config;
pub mod control;
pub mod metrics;
pub mod status;
pub mod transport;
