//! World 1: the core in virtual time, fast and deterministic.
//!
//! A [`World`] executes an experiment ([`weir_experiment`]). It has nodes (each a [`weir_core::node::Node`]),
//! the links between them, and the applications on them. It has one event for each link (the first of its
//! packets in flight), each shared medium, each consumer flow and each node. A tournament tree finds the next
//! event. Nothing is allocated per packet once buffers have grown.
//!
//! The same scenario, scheme and seed give the same bits. If several flows act at the same instant, the seed
//! decides their order. A large network can be divided among threads ([`World::on_threads`]), which gives the
//! same bits again.

mod ahead;
mod build;
mod failures;
mod half_duplex;
mod measure;
mod medium;
mod parallel;
mod part;
mod partition;
mod requests;
mod trace;
mod world;

pub use parallel::Worlds;
pub use world::{Outcome, Progress, RunError, World};
