//! The tables of a node.
//!
//! Each is bounded, or holds only what whoever manages the node puts in.

pub mod asked;
pub mod cs;
pub mod dead_nonce;
pub mod fib;
pub mod flow_prefix;
pub(crate) mod liveness;
pub mod pairs;
pub mod pit;
pub(crate) mod prefix_table;
pub mod simulated_cache;
mod timing_wheel;
