//! The NDN protocol, sans-IO: no sockets, clocks, threads or files.
//!
//! The modules form layers. Each layer uses only the layers before it:
//!
//! 1. [`units`]: types for time, rates and sizes; [`random`]: named random streams; [`ids`]: small
//!    identifiers; [`name`]: names that carry the hashes of their prefixes; [`deadline`]: the next deadline;
//!    [`rtt`]: round-trip times; [`responders`]: round-trip times of each node that answers a flow;
//!    [`meter`]: token buckets; [`shared_bound`]: one bound that several holders share; [`words`]:
//!    suggestions for misspelt words; `siphash`: a keyed hash; `prefetch`: prefetching of memory.
//! 2. [`packet`]: packets, their pool, and their conversion to and from bytes.
//! 3. [`tables`]: FIB, PIT, content store, dead nonces, faces that were asked, and the prefix that identifies
//!    a flow.
//! 4. [`seam`]: the interface of congestion-control schemes, with parameters and defaults.
//! 5. [`link`]: the sending end of a link; [`node`]: a node, with inputs in and actions out; [`consumer`] and
//!    [`producer`]: the applications.

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
