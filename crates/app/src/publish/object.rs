//! One version of an object, cut into segments.

use weir_core::units::Span;
use weir_keychain::Key;
use weir_packet::sign::{SignError, sha256};
use weir_packet::{
    Component, Data, KeyLocator, MAX_PACKET_SIZE, MetaInfo, Name, NameRef, Signature, SignatureInfo,
    SignatureType, component_type,
};

use super::content::{Content, ReadError};

/// What Data are signed with.
#[derive(Debug, Default)]
pub enum Signing {
    /// A SHA-256 digest: whoever gets them sees that they are whole, and not whose they are.
    #[default]
    Digest,
    /// A key: its name is the KeyLocator.
    Key(Key),
    /// A key whose certificate of this name is the KeyLocator: who verifies fetches this one, and no other of the key.
    Certified(Key, Name),
}

impl Signing {
    /// Signs a Data and appends the packet to `out`.
    pub(super) fn sign(&self, data: &Data<'_>, out: &mut Vec<u8>) -> Result<(), SignError> {
        match self {
            Signing::Digest => data.sign(&weir_packet::Signer::digest(), out),
            Signing::Key(key) => key.sign(data, out),
            Signing::Certified(key, certificate) => key.sign_as(certificate.view(), data, out),
        }
    }

    /// A number for what signs: 0 for a digest, and hardly ever the same for two keys.
    pub(super) fn number(&self) -> u64 {
        let Some(KeyLocator::Name(name)) = self.info().key_locator else { return 0 };
        let [a, b, c, d, ..] = sha256(name.value());
        u64::from(u32::from_be_bytes([a, b, c, d]))
    }

    /// The key that signs; a digest needs none.
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Signing::Digest => None,
            Signing::Key(key) | Signing::Certified(key, _) => Some(key),
        }
    }

    /// What signatures say of themselves.
    fn info(&self) -> SignatureInfo<'_> {
        let (key, locator) = match self {
            Signing::Digest => return SignatureInfo::new(SignatureType::DigestSha256),
            Signing::Key(key) => (key, key.name().name()),
            Signing::Certified(key, certificate) => (key, certificate.view()),
        };
        SignatureInfo {
            key_locator: Some(KeyLocator::Name(locator)),
            ..SignatureInfo::new(key.signer().signature_type())
        }
    }
}

/// The longest signature, bytes: ECDSA P-256 in DER (a SEQUENCE of two INTEGERs of up to 33 bytes).
const LONGEST_SIGNATURE: usize = 72;
/// Left free in a packet for the link header, bytes: streams carry frames of at most [`MAX_PACKET_SIZE`]. Envelope and
/// fragment header 8, a PIT token 34, a congestion mark 4, two face ids 24; the rest for signals.
const LINK_HEADER: usize = 160;

/// Segments of this size do not fit in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The size that was wanted, bytes of content.
    pub segment_size: usize,
    /// The largest that fits with the object's name and the signature; 0 if there is no room at all.
    pub most: usize,
}

impl core::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let TooLarge { segment_size, most } = self;
        write!(f, "segments of {segment_size} B do not fit in a packet with this name and signature: ")?;
        if *most == 0 { f.write_str("the name is too long") } else { write!(f, "at most {most} B do") }
    }
}

impl std::error::Error for TooLarge {}

/// How objects become packets.
#[derive(Debug)]
pub(super) struct Packing {
    /// Content of a segment, bytes; the last one may have less.
    pub(super) segment_size: usize,
    /// FreshnessPeriod of segments, ms.
    pub(super) freshness_ms: u64,
    pub(super) signing: Signing,
}

impl Packing {
    /// Whether the segments of an object of this name and length fit in packets.
    pub(super) fn check(&self, versioned: &Name, len: u64) -> Result<(), TooLarge> {
        let mut last = [0; 8];
        let last = Component::number(component_type::SEGMENT, self.last_segment(len), &mut last);
        let name = versioned.clone().with(last);
        let size = self.segment_size;
        let content = vec![0; size.min(MAX_PACKET_SIZE)];
        let signature = Signature { info: self.signing.info(), value: &[0; LONGEST_SIGNATURE] };
        let data =
            Data { meta: self.meta(last), signature, ..Data::new(name.view(), &content, signature.info) };
        let beside = data.wire_len() - content.len() + LINK_HEADER;
        let most = MAX_PACKET_SIZE.saturating_sub(beside);
        if (1..=most).contains(&size) { Ok(()) } else { Err(TooLarge { segment_size: size, most }) }
    }

    /// The number of the last segment of so many bytes: no content is one empty segment.
    pub(super) fn last_segment(&self, len: u64) -> u64 {
        len.saturating_sub(1) / self.segment_size.max(1) as u64
    }

    fn meta<'a>(&self, last: Component<'a>) -> MetaInfo<'a> {
        MetaInfo {
            freshness_period: Some(self.freshness_ms).filter(|&ms| ms > 0),
            final_block_id: Some(last),
            ..MetaInfo::NONE
        }
    }

    /// Appends a Data of this name, whose last segment is told.
    pub(super) fn pack(
        &self,
        name: NameRef<'_>,
        content: &[u8],
        last_segment: u64,
        freshness: Option<Span>,
        out: &mut Vec<u8>,
    ) -> Result<(), SignError> {
        let mut last = [0; 8];
        let mut meta = self.meta(Component::number(component_type::SEGMENT, last_segment, &mut last));
        if let Some(freshness) = freshness {
            meta.freshness_period = Some(freshness.as_nanos() / 1_000_000);
        }
        self.signing.sign(&Data { meta, ..Data::new(name, content, self.signing.info()) }, out)
    }
}

/// One version of an object.
#[derive(Debug)]
pub(super) struct Object {
    /// What it is called in the cache.
    pub(super) id: u64,
    /// Its name behind the publisher's prefix, TLV-VALUE.
    pub(super) own_name: Vec<u8>,
    /// Its whole name, with the version.
    pub(super) versioned: Name,
    pub(super) version: u64,
    pub(super) content: Content,
    pub(super) last_segment: u64,
    /// Its file is not what it was.
    pub(super) is_gone: bool,
}

/// Why there is no segment.
#[derive(Debug)]
pub(super) enum NoSegment {
    Read(ReadError),
    Sign,
}

impl Object {
    /// Appends the Data of a segment, which is none behind the last.
    pub(super) fn segment(
        &self,
        segment: u64,
        packing: &Packing,
        buffer: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), NoSegment> {
        let offset = segment * packing.segment_size as u64;
        let left = self.content.len() - offset;
        let len = left.min(packing.segment_size as u64) as usize;
        self.content.read(offset, len, buffer).map_err(NoSegment::Read)?;
        let name = self.versioned.clone().with_segment(segment);
        packing.pack(name.view(), buffer, self.last_segment, None, out).map_err(|_| NoSegment::Sign)
    }
}
