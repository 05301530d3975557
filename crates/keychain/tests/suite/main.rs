//! Keys and trust. All tests are one program, because linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod fuzz_corpus;
mod store;
mod trust;
mod vectors;
