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
//! - [`outside`]: the trait through which a forwarder uses sockets and clocks; [`clock`]: time and a wake-up timer;
//!   [`secrets`]: keys from the operating system; [`user`]: the user at the other end of a Unix socket; [`pcapng`]:
//!   captures for Wireshark; [`memory`]: the memory available to a process; [`http`]: requests for pages.

pub mod clock;
pub mod codec;
pub mod http;
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
