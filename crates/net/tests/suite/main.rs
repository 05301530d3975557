//! Tests of transports on real sockets, of the memory that peers can use, and of the fuzzer's corpus. They are one
//! program, because linking takes long.

mod ethernet;
mod files;
#[allow(dead_code, reason = "shared with other harnesses")]
#[path = "../../../../fuzz/src/input.rs"]
mod input;
mod memory;
mod multicast;
mod namespace;
mod side;
mod stream;
mod transport_corpus;
mod unix;
mod websocket;
