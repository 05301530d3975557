//! The forwarder. All tests are one program, because linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod classes;
#[cfg(unix)]
mod client;
#[cfg(unix)]
mod connecting;
mod documents;
mod faults;
#[cfg(unix)]
mod hostile;
mod input;
mod management;
mod management_input;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
#[path = "../mock/mod.rs"]
mod mock;
mod observation_corpus;
#[cfg(unix)]
mod replay;
mod rib;
#[cfg(unix)]
#[path = "../running/mod.rs"]
mod running;
#[cfg(unix)]
#[path = "../mock/server.rs"]
mod server;
