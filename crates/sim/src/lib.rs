//! World 1: the core in virtual time, fast and deterministic.
//!
//! A [`World`] executes an experiment ([`weir_experiment`]). It is made of nodes (each a
//! [`weir_core::node::Node`]), the links between them, and the applications on them. It has one event for each
//! link (the first of the packets in flight on it), each shared medium, each consumer flow and each node; the next of
//! all is found in a tournament tree, and nothing is allocated per packet once buffers have grown.
//!
//! The same scenario, scheme and seed give the same bits. Where several flows do something at the
//! same instant, the seed decides who is first. A large network can be divided among threads ([`World::on_threads`]): the
//! bits are the same again.

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
