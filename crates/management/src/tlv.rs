//! TLV-TYPE numbers of the NFD management protocol, and reading of its fields.
//!
//! Several numbers have different meanings in different datasets. A codec that is the only one to use a number defines
//! it itself.

use weir_packet::tlv::{DecodeError, DecodeErrorKind, Element, put_element, put_header, types};
use weir_packet::{Name, NameRef};

/// FaceId.
pub const FACE_ID: u32 = 105;
/// Cost.
pub const COST: u32 = 106;
/// Strategy: contains a Name.
pub const STRATEGY: u32 = 107;
/// Flags.
pub const FLAGS: u32 = 108;
/// ExpirationPeriod, ms.
pub const EXPIRATION_PERIOD: u32 = 109;
/// Origin of a route.
pub const ORIGIN: u32 = 111;
/// Mask of Flags.
pub const MASK: u32 = 112;
/// Uri: the remote end of a face.
pub const URI: u32 = 114;
/// LocalUri: the local end of a face.
pub const LOCAL_URI: u32 = 129;
/// BaseCongestionMarkingInterval, ns.
pub const BASE_CONGESTION_MARKING_INTERVAL: u32 = 135;
/// DefaultCongestionThreshold, bytes.
pub const DEFAULT_CONGESTION_THRESHOLD: u32 = 136;
/// Mtu, bytes.
pub const MTU: u32 = 137;

/// The reason why bytes are not a valid element of management.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The bytes are not TLV elements, or an element is malformed.
    Tlv(DecodeError),
    /// The element of this TLV-TYPE has an undefined value.
    BadValue(u32, u64),
    /// The element of this TLV-TYPE is not UTF-8.
    NotText(u32),
}

impl From<DecodeError> for Malformed {
    fn from(error: DecodeError) -> Malformed {
        Malformed::Tlv(error)
    }
}

impl core::fmt::Display for Malformed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Malformed::Tlv(error) => error.fmt(f),
            Malformed::BadValue(typ, value) => write!(f, "TLV-TYPE {typ} cannot be {value}"),
            Malformed::NotText(typ) => write!(f, "TLV-TYPE {typ} is not UTF-8"),
        }
    }
}

impl std::error::Error for Malformed {}

pub(crate) fn missing(typ: u32, container: &Element<'_>) -> Malformed {
    DecodeErrorKind::Missing(typ).at(container.end()).into()
}

/// The text in an element. The sender chooses it, and people read it on a terminal: unprintable characters, such as
/// those that begin terminal control sequences or change the writing direction, are escaped.
pub(crate) fn text(element: &Element<'_>) -> Result<String, Malformed> {
    let text = core::str::from_utf8(element.value).map_err(|_| Malformed::NotText(element.typ))?;
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        // Source code escapes these, but on a terminal they are harmless.
        if matches!(c, '"' | '\'' | '\\') {
            printable.push(c);
        } else {
            printable.extend(c.escape_debug());
        }
    }
    Ok(printable)
}

/// The value of an enumerated field.
pub(crate) fn choice<T>(element: &Element<'_>, from: impl FnOnce(u64) -> Option<T>) -> Result<T, Malformed> {
    let value = element.nni()?;
    from(value).ok_or(Malformed::BadValue(element.typ, value))
}

/// The name in an element that contains only a Name.
pub(crate) fn inner_name(element: &Element<'_>) -> Result<Name, Malformed> {
    let mut reader = element.reader();
    let name = NameRef::from_element(&reader.expect(types::NAME)?)?.to_name();
    reader.finish()?;
    Ok(name)
}

pub(crate) fn put_inner_name(out: &mut Vec<u8>, typ: u32, name: &Name) {
    put_header(out, typ, name.view().wire_len());
    name.view().encode(out);
}

pub(crate) fn put_text(out: &mut Vec<u8>, typ: u32, text: &str) {
    put_element(out, typ, text.as_bytes());
}

/// Appends an element whose value `fill` writes.
pub(crate) fn put_nested(out: &mut Vec<u8>, typ: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut value = Vec::new();
    fill(&mut value);
    put_element(out, typ, &value);
}
