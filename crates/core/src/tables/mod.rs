//! The tables of a node.
//!
//! Each is bounded, or holds only what the manager of the node inserts.

pub mod asked;
pub mod blocks;
pub mod cs;
pub mod dead_nonce;
pub mod fib;
pub mod flow_prefix;
pub mod pairs;
pub mod pit;
mod place_index;
pub(crate) mod prefix_table;
mod recent;
pub mod runs;
pub mod simulated_cache;
pub mod slab;
pub(crate) mod sparse;
mod timing_wheel;
