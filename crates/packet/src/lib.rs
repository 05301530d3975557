//! Encoding and decoding of NDN packets, without clock or tables.
//!
//! There are two levels: plain structs ([`Interest`], [`Data`], [`LpPacket`]) that borrow names and contents from the
//! packet's bytes, and below them a reader of TLV elements ([`tlv`]). Every struct computes its wire length without
//! encoding. [`InterestLengths`] and [`DataLengths`] do so without a packet. No input causes a panic.
#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod data;
pub mod fragment;
pub mod interest;
pub mod lp;
pub mod name;
pub mod packet;
#[cfg(feature = "crypto")]
pub mod sign;
pub mod signal;
pub mod signature;
pub mod tlv;

pub use data::{ContentType, Data, DataLayout, DataLengths, MetaInfo};
pub use interest::{DEFAULT_INTEREST_LIFETIME_MS, ForwardingHint, Interest, InterestLayout, InterestLengths};
pub use lp::{Acks, CachePolicy, LinkHeader, LpHeader, LpPacket, NackReason, PitToken};
pub use name::{Component, Name, NameRef, UriError, component_type};
pub use packet::{NetPacket, Payload, decode_frame};
#[cfg(feature = "crypto")]
pub use sign::{Signer, Verifier};
pub use signal::{CompactSignals, ServiceClass, Signal, SignalSet, Signals};
pub use signature::{KeyLocator, Signature, SignatureInfo, SignatureType, ValidityPeriod};
pub use tlv::{DecodeError, DecodeErrorKind, MAX_PACKET_SIZE};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
