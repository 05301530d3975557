//! Keys and trust. One program, since each would be linked anew with all that it stands on.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod fuzz_corpus;
mod store;
mod trust;
mod vectors;
