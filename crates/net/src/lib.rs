//! Packets over real sockets.
//!
//! ```text
//!   sockets <--> transport <--frames--> link_service <--packets--> codec <--> the core's packets
//! ```
//!
//! - [`transport`]: frames in and out of sockets; [`uri`]: face URIs; [`scope`]: the kind of link behind a face.
//! - [`link_service`]: NDNLPv2 between frames and packets, with marks; [`reassembly`] of fragments; [`reliability`]:
//!   retransmission of lost frames.
//! - [`codec`]: conversion between encoded packets and the core's packets.
//! - [`outside`]: the trait through which a forwarder uses sockets and clocks; [`clock`]: the time, and a timer to wake up
//!   by; [`secrets`]: keys from the operating system; [`user`]: who is
//!   behind a Unix socket; [`pcapng`]: captures for Wireshark; [`memory`]: how much of it there is.

pub mod clock;
pub mod codec;
pub mod link_service;
pub mod memory;
pub mod outside;
pub mod pcapng;
pub mod reassembly;
pub mod reliability;
pub mod scope;
pub mod secrets;
pub mod transport;
pub mod uri;
pub mod user;

pub use scope::{FaceScope, LinkType};
