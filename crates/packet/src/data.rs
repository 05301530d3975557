//! Data packets (NDN Packet Format v0.3, section "Data").
//!
//! The order of the elements is Name, MetaInfo, Content, SignatureInfo, SignatureValue. The last two are required. An
//! element out of this order counts as unknown. A forwarder passes on the bytes of a Data as they came: re-encoding
//! would lose unknown elements and break the signature.

use crate::name::{Component, NameRef};
use crate::signature::{Signature, SignatureInfo};
use crate::tlv::{
    self, DecodeError, DecodeErrorKind, Element, Order, element_len, nni_element_len, put_element,
    put_header, put_nni_element, types,
};
use alloc::vec::Vec;
use core::ops::Range;

/// Type of a Data's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentType {
    /// Bytes of the application. The default of a Data without the field.
    #[default]
    Blob,
    /// Other names of the content.
    Link,
    /// Certificate.
    Key,
    /// The application's statement that there is no such Data (application-level Nack).
    Nack,
    /// Manifest.
    Manifest,
    /// Announcement of a prefix.
    PrefixAnnouncement,
    /// FLIC manifest: 1024.
    Flic,
    /// Another value.
    Other(u64),
}

impl ContentType {
    /// Returns the content type for a field's value.
    pub const fn from_value(value: u64) -> Self {
        match value {
            0 => Self::Blob,
            1 => Self::Link,
            2 => Self::Key,
            3 => Self::Nack,
            4 => Self::Manifest,
            5 => Self::PrefixAnnouncement,
            1024 => Self::Flic,
            other => Self::Other(other),
        }
    }

    /// Returns the field's value.
    pub const fn value(self) -> u64 {
        match self {
            Self::Blob => 0,
            Self::Link => 1,
            Self::Key => 2,
            Self::Nack => 3,
            Self::Manifest => 4,
            Self::PrefixAnnouncement => 5,
            Self::Flic => 1024,
            Self::Other(other) => other,
        }
    }
}

/// MetaInfo: a Data's metadata. An absent field is not written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaInfo<'a> {
    /// ContentType, if present.
    pub content_type: Option<ContentType>,
    /// FreshnessPeriod, milliseconds, if present. If absent or 0, the Data is never fresh in a content store.
    pub freshness_period: Option<u64>,
    /// FinalBlockId: the last component of the name of the last segment.
    pub final_block_id: Option<Component<'a>>,
}

impl<'a> MetaInfo<'a> {
    /// No fields.
    pub const NONE: MetaInfo<'static> =
        MetaInfo { content_type: None, freshness_period: None, final_block_id: None };

    fn decode(element: &Element<'a>) -> Result<Self, DecodeError> {
        let mut meta = MetaInfo::NONE;
        let mut reader = element.reader();
        let mut order = Order::default();
        while let Some(inner) = reader.element()? {
            match inner.typ {
                types::CONTENT_TYPE if order.admit(1) => {
                    meta.content_type = Some(ContentType::from_value(inner.nni()?));
                }
                types::FRESHNESS_PERIOD if order.admit(2) => meta.freshness_period = Some(inner.nni()?),
                types::FINAL_BLOCK_ID if order.admit(3) => {
                    let mut components = inner.reader();
                    let missing = DecodeErrorKind::Missing(types::FINAL_BLOCK_ID).at(inner.value_start);
                    let component = components.element()?.ok_or(missing)?;
                    components.finish()?;
                    meta.final_block_id = Some(Component::from_element(&component)?);
                }
                _ => inner.ignore()?,
            }
        }
        Ok(meta)
    }

    /// Length of the element's value, bytes. An element without fields is not written.
    pub const fn value_len(&self) -> usize {
        let mut len = 0;
        if let Some(content_type) = self.content_type {
            len += nni_element_len(types::CONTENT_TYPE, content_type.value());
        }
        if let Some(freshness_period) = self.freshness_period {
            len += nni_element_len(types::FRESHNESS_PERIOD, freshness_period);
        }
        if let Some(component) = &self.final_block_id {
            len += element_len(types::FINAL_BLOCK_ID, component.wire_len());
        }
        len
    }

    fn encode(&self, out: &mut Vec<u8>) {
        if *self == MetaInfo::NONE {
            return;
        }
        put_header(out, types::META_INFO, self.value_len());
        if let Some(content_type) = self.content_type {
            put_nni_element(out, types::CONTENT_TYPE, content_type.value());
        }
        if let Some(freshness_period) = self.freshness_period {
            put_nni_element(out, types::FRESHNESS_PERIOD, freshness_period);
        }
        if let Some(component) = &self.final_block_id {
            put_header(out, types::FINAL_BLOCK_ID, component.wire_len());
            component.encode(out);
        }
    }
}

/// A Data packet. All fields borrow from the packet's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Name.
    pub name: NameRef<'a>,
    /// MetaInfo.
    pub meta: MetaInfo<'a>,
    /// Content, if the element is present: see [`Data::payload`].
    pub content: Option<&'a [u8]>,
    /// SignatureInfo and SignatureValue.
    pub signature: Signature<'a>,
}

/// Offsets of the parts of a Data, in bytes from the start of the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLayout {
    /// The part that the signature covers: from Name up to SignatureValue.
    pub signed: Range<usize>,
    /// Value of the Content element.
    pub content: Option<Range<usize>>,
}

/// The lengths that determine the wire length of a Data, without encoding it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataLengths {
    /// Value of the Name element, bytes.
    pub name: usize,
    /// Value of MetaInfo, bytes ([`MetaInfo::value_len`]); 0 without one.
    pub meta: usize,
    /// Content, bytes.
    pub content: Option<usize>,
    /// Value of SignatureInfo, bytes ([`SignatureInfo::value_len`]; 3 for a DigestSha256).
    pub signature_info: usize,
    /// SignatureValue, bytes (32 for a DigestSha256).
    pub signature_value: usize,
}

impl DataLengths {
    /// Lengths of a Data with a name and content of these lengths and a SHA-256 digest as signature.
    pub const fn with_digest(name: usize, meta: usize, content: usize) -> Self {
        DataLengths { name, meta, content: Some(content), signature_info: 3, signature_value: 32 }
    }

    /// Length of the part that the signature covers, bytes.
    pub const fn signed_len(&self) -> usize {
        let mut len = element_len(types::NAME, self.name);
        if self.meta > 0 {
            len += element_len(types::META_INFO, self.meta);
        }
        if let Some(content) = self.content {
            len += element_len(types::CONTENT, content);
        }
        len + element_len(types::SIGNATURE_INFO, self.signature_info)
    }

    /// Length of the Data element's value, bytes.
    pub const fn value_len(&self) -> usize {
        self.signed_len() + element_len(types::SIGNATURE_VALUE, self.signature_value)
    }

    /// Length of the packet, bytes.
    pub const fn wire_len(&self) -> usize {
        element_len(types::DATA, self.value_len())
    }
}

impl<'a> Data<'a> {
    /// Creates a Data with this name and content and without MetaInfo. It is not signed yet.
    pub const fn new(name: NameRef<'a>, content: &'a [u8], info: SignatureInfo<'a>) -> Self {
        Data { name, meta: MetaInfo::NONE, content: Some(content), signature: Signature { info, value: &[] } }
    }

    /// The content; empty if the element is absent.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.content.unwrap_or_default()
    }

    /// Content type; [`ContentType::Blob`] if the field is absent.
    #[inline]
    pub fn content_type(&self) -> ContentType {
        self.meta.content_type.unwrap_or_default()
    }

    /// Freshness period, milliseconds; 0 if the field is absent.
    #[inline]
    pub fn freshness_period_ms(&self) -> u64 {
        self.meta.freshness_period.unwrap_or(0)
    }

    /// Returns whether the last component of the name equals FinalBlockId.
    pub fn is_final_block(&self) -> bool {
        self.meta.final_block_id.is_some_and(|last| self.name.last() == Some(last))
    }

    /// Decodes a packet that must consist of exactly one Data element.
    pub fn decode(wire: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_with_layout(wire).map(|(data, _)| data)
    }

    /// Decodes a packet and returns the offsets of its parts.
    pub fn decode_with_layout(wire: &'a [u8]) -> Result<(Self, DataLayout), DecodeError> {
        let outer = tlv::whole(wire)?;
        if outer.typ != types::DATA {
            return Err(DecodeErrorKind::Unexpected(outer.typ).at(0));
        }
        let mut reader = outer.reader();
        let name = reader.expect(types::NAME)?;
        let mut meta = MetaInfo::NONE;
        let mut content: Option<Element<'a>> = None;
        let mut info = None;
        let mut value: Option<Element<'a>> = None;
        let mut order = Order::default();
        while let Some(element) = reader.element()? {
            match element.typ {
                types::META_INFO if order.admit(1) => meta = MetaInfo::decode(&element)?,
                types::CONTENT if order.admit(2) => content = Some(element),
                types::SIGNATURE_INFO if order.admit(3) => info = Some(SignatureInfo::decode(&element)?),
                types::SIGNATURE_VALUE if order.admit(4) => value = Some(element),
                _ => element.ignore()?,
            }
        }
        let missing = |typ| DecodeErrorKind::Missing(typ).at(outer.end());
        let info = info.ok_or(missing(types::SIGNATURE_INFO))?;
        let value = value.ok_or(missing(types::SIGNATURE_VALUE))?;
        let data = Data {
            name: NameRef::from_element(&name)?,
            meta,
            content: content.map(|element| element.value),
            signature: Signature { info, value: value.value },
        };
        let layout = DataLayout {
            signed: name.start..value.start,
            content: content.map(|element| element.value_start..element.end()),
        };
        Ok((data, layout))
    }

    /// The lengths of its parts.
    pub const fn lengths(&self) -> DataLengths {
        DataLengths {
            name: self.name.value().len(),
            meta: self.meta.value_len(),
            content: match self.content {
                Some(content) => Some(content.len()),
                None => None,
            },
            signature_info: self.signature.info.value_len(),
            signature_value: self.signature.value.len(),
        }
    }

    /// Length of the packet that [`Data::encode`] writes, bytes.
    pub const fn wire_len(&self) -> usize {
        self.lengths().wire_len()
    }

    /// Appends the part that the signature covers.
    pub fn encode_signed_portion(&self, out: &mut Vec<u8>) {
        self.name.encode(out);
        self.meta.encode(out);
        if let Some(content) = self.content {
            put_element(out, types::CONTENT, content);
        }
        self.signature.info.encode(types::SIGNATURE_INFO, out);
    }

    /// Appends the packet with the current signature value. To sign it, see `sign`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_header(out, types::DATA, self.lengths().value_len());
        self.encode_signed_portion(out);
        put_element(out, types::SIGNATURE_VALUE, self.signature.value);
    }

    /// The packet in a new vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        self.encode(&mut out);
        out
    }
}
