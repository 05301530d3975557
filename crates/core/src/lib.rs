//! The NDN protocol, sans-IO: no sockets, clocks, threads or files.
//!
//! In layers, each of which uses only those before it:
//!
//! 1. [`units`]: time, rates and sizes as types; [`random`]: random streams by name; [`ids`]: small identifiers;
//!    [`name`]: names that carry the hashes of their prefixes; [`deadline`]: what is next; [`rtt`]: round-trip times;
//!    [`responders`]: those of the nodes that answer a flow;
//!    [`meter`]: token buckets; [`shared_bound`]: one bound for what several hold; [`words`]: which word was meant; `siphash`:
//!    a keyed hash; `prefetch`: memory is fetched ahead of its use.
//! 2. [`packet`]: packets, their pool, and their way to and from bytes.
//! 3. [`tables`]: FIB, PIT, content store, dead nonces, faces that were asked, and which prefix
//!    makes a flow.
//! 4. [`seam`]: what a congestion-control scheme is, with its parameters and its defaults.
//! 5. [`link`]: the sending end of a link; [`node`]: a node, inputs in and actions out;
//!    [`consumer`] and [`producer`]: the applications.

pub mod consumer;
pub mod deadline;
pub mod ids;
pub mod link;
pub mod meter;
pub mod name;
pub mod node;
pub mod packet;
pub mod prefetch;
pub mod producer;
pub mod random;
pub mod responders;
pub mod rtt;
pub mod seam;
pub mod shared_bound;
mod siphash;
pub mod tables;
pub mod units;
pub mod words;

pub use units::{Bytes, Rate, Span, Time};
