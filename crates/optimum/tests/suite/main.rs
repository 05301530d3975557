//! Optima of networks. All tests are one program, because linking takes long.

mod by_hand;
mod common;
mod events;
mod properties;
mod qsccp_fluid;
