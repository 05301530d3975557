//! Congestion-control schemes for NDN, and their registry. Each scheme has a file or a folder.
//!
//! A scheme has up to three state machines: a queue, a strategy and a flow control (see `weir_core::seam`).
//! The core has a default for each. The code of a scheme is written to be read beside its paper.

#[cfg(test)]
mod bench;
mod codel;
pub mod dpccp;
pub mod e2e_aqm;
pub mod fixed;
mod flow_index;
pub mod hbhcm;
mod late_data;
pub mod mircc;
pub mod ndn_qsf;
pub mod omcc_rf;
mod pacing;
mod path_label;
pub mod pcon;
mod per_prefix;
pub mod qsccp;
pub mod registry;
pub mod resolve;
mod rfa;
mod round_trip;
mod rtt_measure;
pub mod sluice;
pub mod tcp_newreno;
mod untold;
#[cfg(test)]
mod watched;
mod window;

pub use registry::{Entry, FETCHING, OWN, PLAIN, SCHEMES, find};
pub use resolve::{Resolved, SchemeError, UnknownScheme, WrongParameter, known, resolve};
pub use window::{Congestion, LARGEST_WINDOW, Sign, WindowLaw, own_law};
