//! The NDN protocol, sans-IO: no sockets, clocks, threads or files.
//!
//! - [`units`]: time, rates and sizes as types; [`random`]: random streams by name.
//! - [`packet`]: packets and their pool; [`wire`]: between packets and bytes; [`name`]: names that
//!   carry the hashes of their prefixes.
//! - [`fib`], [`pit`], [`cs`], [`dead_nonce`]: the tables of a node; [`deadline`]: what is next.
//! - [`scheme`]: the seam, which congestion-control schemes plug into; [`params`]: their
//!   parameters; [`strategy`], [`queue`]: its defaults.
//! - [`forwarder`]: a node: inputs in, actions out; [`link`]: the sending end of a link; [`dcf`]: a
//!   medium that stations share; [`marking`]: NFD's congestion marks.
//! - [`consumer`], [`producer`]: the applications; [`rtt`]: round-trip times.

pub mod consumer;
pub mod cs;
pub mod dcf;
pub mod dead_nonce;
pub mod deadline;
pub mod fib;
pub mod flow_prefix;
pub mod forwarder;
pub mod ids;
pub mod link;
pub mod marking;
pub mod name;
pub mod packet;
pub mod params;
pub mod pit;
mod prefix_table;
pub mod producer;
pub mod queue;
pub mod random;
pub mod rtt;
pub mod scheme;
mod scope;
pub mod strategy;
pub mod strategy_choice;
pub mod units;
pub mod wire;

pub use units::{Bytes, Rate, Span, Time};
