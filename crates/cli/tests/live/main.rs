//! The command `weir` with running forwarders. These tests wait for sockets and clocks, and some of them measure rates.
//! So they are a separate program; tests that only compute are in `suite`.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod apps;
#[path = "../suite/common/mod.rs"]
mod common;
mod forward;
mod get;
mod manage;
#[path = "../../../forwarder/tests/mock/mod.rs"]
mod mock;
mod put;
#[path = "../../../forwarder/tests/running/mod.rs"]
mod running;
#[path = "../../../forwarder/tests/mock/server.rs"]
mod server;
mod traffic;
