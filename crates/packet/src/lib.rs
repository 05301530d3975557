//! NDN packets: bytes in, bytes out. Knows no time and no tables.
#![cfg_attr(not(test), no_std)]
extern crate alloc;

pub mod signal;
pub mod tlv;

pub use signal::{ServiceClass, Signal, Signals};
