//! Tests of the codec. They are one program, because linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod format;
mod fuzz_corpus;
mod link_rules;
mod round_trips;
mod vectors;
