//! The producers of an application.

use std::collections::BTreeMap;

use weir_core::name::HashedName;
use weir_core::packet::Packet;
use weir_core::units::{Bytes, Span};
use weir_packet::{Data, MAX_PACKET_SIZE, MetaInfo, Name, NameRef, SignatureInfo, SignatureType, Signer};

/// Answers the Interests of a prefix.
pub trait Serve {
    /// Appends the signed Data for an Interest to `out`, which is empty. Returns whether there is one.
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool;
}

/// Answers every Interest with Data of one size, signed with a digest.
#[derive(Debug)]
pub struct Segments {
    content: Vec<u8>,
    freshness_ms: Option<u64>,
    signer: Signer,
}

/// Error: the content leaves no room for a name in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong(Bytes);

impl core::fmt::Display for TooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} of content do not fit in a packet: at most {} B fit", self.0, Segments::MOST)
    }
}

impl std::error::Error for TooLong {}

impl Segments {
    /// Maximum content, bytes. The rest of a packet is for name and signature.
    const MOST: u64 = MAX_PACKET_SIZE as u64 - 600;

    /// Creates Data with this much content. Caches may treat them as fresh for `freshness`, if given.
    ///
    /// # Errors
    /// Returns [`TooLong`] if the content leaves no room for a name.
    pub fn new(payload: Bytes, freshness: Option<Span>) -> Result<Segments, TooLong> {
        if payload.as_u64() > Segments::MOST {
            return Err(TooLong(payload));
        }
        Ok(Segments {
            content: vec![0; payload.as_u64() as usize],
            freshness_ms: freshness.map(|span| span.as_nanos() / 1_000_000).filter(|&ms| ms > 0),
            signer: Signer::digest(),
        })
    }
}

impl Serve for Segments {
    fn answer(&mut self, interest: &Packet, out: &mut Vec<u8>) -> bool {
        let Ok(name) = NameRef::from_value(interest.name.wire()) else { return false };
        let info = SignatureInfo::new(SignatureType::DigestSha256);
        let meta = MetaInfo { freshness_period: self.freshness_ms, ..MetaInfo::NONE };
        Data { meta, ..Data::new(name, &self.content, info) }.sign(&self.signer, out).is_ok()
    }
}

/// The producers of an application, by prefix.
#[derive(Default)]
pub(super) struct Producers(BTreeMap<Vec<u8>, (Name, Box<dyn Serve>)>);

impl Producers {
    pub(super) fn add(&mut self, prefix: Name, hashed: &HashedName, answer: Box<dyn Serve>) {
        self.0.insert(hashed.wire().to_vec(), (prefix, answer));
    }

    pub(super) fn remove(&mut self, prefix: &Name) {
        self.0.remove(prefix.value());
    }

    /// Returns the producer with the longest prefix of a name.
    pub(super) fn of(&mut self, name: &HashedName) -> Option<&mut dyn Serve> {
        let len = (0..=name.len()).rev().find(|&len| self.0.contains_key(name.prefix_wire(len)))?;
        let (_, answer) = self.0.get_mut(name.prefix_wire(len))?;
        Some(&mut **answer)
    }
}
