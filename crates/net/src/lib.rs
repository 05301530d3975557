//! Packets over real sockets.
//!
//! ```text
//!   sockets <--> transport <--frames--> link_service <--packets--> codec <--> the core's packets
//! ```
//!
//! - [`transport`]: frames in and out of sockets; [`uri`]: how their ends are written; [`scope`]: what is known of the
//!   link behind them.
//! - [`link_service`]: NDNLPv2 between frames and packets, with marks; [`reassembly`] of fragments; [`reliability`]:
//!   what is lost is sent again.
//! - [`codec`]: between packets in bytes and those of the core.
//! - [`clock`]: the time, and a timer to wake up by; [`secrets`]: keys from the operating system; [`user`]: who is
//!   behind a Unix socket.

pub mod clock;
pub mod codec;
pub mod link_service;
pub mod reassembly;
pub mod reliability;
pub mod scope;
pub mod secrets;
pub mod transport;
pub mod uri;
pub mod user;

pub use scope::{FaceScope, LinkType};
