//! Congestion-control schemes for NDN, a file or folder each, and the list of them.
//!
//! A scheme is made of up to three state machines (see `weir_core::seam`); what it does not
//! make it takes from the core. Its file reads beside its paper.

#[cfg(test)]
mod bench;
mod codel;
pub mod dpccp;
pub mod e2e_aqm;
pub mod fixed;
pub mod hbhcm;
mod late_data;
mod meter;
pub mod mircc;
pub mod ndn_qsf;
pub mod omcc_rf;
mod pacing;
mod path_label;
pub mod pcon;
pub mod qsccp;
pub mod registry;
pub mod resolve;
mod rfa;
pub mod tcp_newreno;
mod window;

pub use registry::{Entry, FETCHING, PLAIN, SCHEMES, find};
pub use resolve::{Resolved, SchemeError, UnknownScheme, WrongParameter, known, resolve};
