//! Tests of the application library. They are one program, because linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod assembly;
mod forwarder;
mod get;
#[path = "../../../../fuzz/src/input.rs"]
mod input;
mod publish;
mod published;
mod resumed;
#[cfg(unix)]
#[path = "../../../forwarder/tests/running/mod.rs"]
mod running;
