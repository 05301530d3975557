//! The reader of scenario files. All tests are one program, because linking takes long.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

mod documents;
mod errors;
mod experiments;
mod properties;
