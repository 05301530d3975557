//! One version of an object, cut into segments.

use weir_core::units::Span;
use weir_keychain::Key;
use weir_packet::sign::{SignError, sha256};
use weir_packet::{
    Component, Data, KeyLocator, MAX_PACKET_SIZE, MetaInfo, Name, NameRef, Signature, SignatureInfo,
    SignatureType, component_type,
};

use super::content::{Content, ReadError};

/// How Data are signed.
#[derive(Debug, Default)]
pub enum Signing {
    /// A SHA-256 digest signs the Data. It shows integrity, but not the origin.
    #[default]
    Digest,
    /// This key signs the Data. Its name is the KeyLocator.
    Key(Key),
    /// This key signs the Data. The KeyLocator is the name of this certificate, so a verifier fetches it.
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

    /// A number that identifies the signing: 0 for a digest, and almost always different for different keys.
    pub(super) fn number(&self) -> u64 {
        let Some(KeyLocator::Name(name)) = self.info().key_locator else { return 0 };
        let [a, b, c, d, ..] = sha256(name.value());
        u64::from(u32::from_be_bytes([a, b, c, d]))
    }

    /// The signing key; `None` for a digest.
    pub const fn key(&self) -> Option<&Key> {
        match self {
            Signing::Digest => None,
            Signing::Key(key) | Signing::Certified(key, _) => Some(key),
        }
    }

    /// The SignatureInfo of the signatures.
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

/// Maximum length of a signature, bytes: ECDSA P-256 in DER (a SEQUENCE of two INTEGERs of up to 33 bytes).
const LONGEST_SIGNATURE: usize = 72;
/// Room in a packet for the link header, bytes: streams carry frames of at most [`MAX_PACKET_SIZE`]. LpPacket and
/// Fragment headers 8, a PIT token 34, a congestion mark 4, two face ids 24; the rest for signals.
const LINK_HEADER: usize = 160;

/// Error: segments of this size do not fit in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The requested size, bytes of content.
    pub segment_size: usize,
    /// The largest size that fits with the object's name and the signature, bytes; 0 if there is no room at all.
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

/// Parameters of dividing an object into packets.
#[derive(Debug)]
pub(super) struct Packing {
    /// Content of a segment, bytes. The last segment may have less.
    pub(super) segment_size: usize,
    /// FreshnessPeriod of segments, ms.
    pub(super) freshness_ms: u64,
    pub(super) signing: Signing,
}

impl Packing {
    /// Checks that the segments of an object with this name and length fit in packets.
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

    /// The number of the last segment for `len` bytes. Empty content is one empty segment.
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

    /// Appends a Data with this name and with the given last segment.
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
    /// Identifier in the cache.
    pub(super) id: u64,
    /// TLV-VALUE of the name after the publisher's prefix.
    pub(super) own_name: Vec<u8>,
    /// The whole name with version.
    pub(super) versioned: Name,
    pub(super) version: u64,
    pub(super) content: Content,
    pub(super) last_segment: u64,
    /// Whether the file has changed.
    pub(super) is_gone: bool,
}

/// Reasons why a segment cannot be returned.
#[derive(Debug)]
pub(super) enum NoSegment {
    Read(ReadError),
    Sign,
}

impl Object {
    /// Appends the Data of a segment. The segment must not be beyond the last one.
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
