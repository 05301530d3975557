//! The NDN protocol, sans-IO.

pub mod units;
pub use units::{Bytes, Rate, Span, Time};
