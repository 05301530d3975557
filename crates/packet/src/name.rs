//! Names: sequences of typed components, as bytes and as URI (NDN Packet Format v0.3, section "Name").
//!
//! A name is stored as the value of its Name element. Component headers must be in the shortest form; the specification
//! requires this of every encoder. Therefore two names are equal exactly if their bytes are equal. The canonical order
//! of names is the order of their bytes: types and lengths compare as numbers, and a prefix comes before a longer name.

use crate::tlv::{self, DecodeError, DecodeErrorKind, Element, Reader, nni_len, nni_value, types};
use alloc::vec::Vec;
use core::fmt;

/// Component types with a defined meaning (Name Component Assignment).
pub mod component_type {
    /// ImplicitSha256DigestComponent, 32 bytes: `sha256digest=`.
    pub const IMPLICIT_SHA256_DIGEST: u16 = 1;
    /// ParametersSha256DigestComponent, 32 bytes: `params-sha256=`.
    pub const PARAMETERS_SHA256_DIGEST: u16 = 2;
    /// GenericNameComponent: no prefix in a URI.
    pub const GENERIC: u16 = 8;
    /// KeywordNameComponent: `32=`.
    pub const KEYWORD: u16 = 32;
    /// Segment number: `seg=`.
    pub const SEGMENT: u16 = 50;
    /// Byte offset: `off=`.
    pub const BYTE_OFFSET: u16 = 52;
    /// Version: `v=`.
    pub const VERSION: u16 = 54;
    /// Timestamp, microseconds since the Unix epoch: `t=`.
    pub const TIMESTAMP: u16 = 56;
    /// Sequence number: `seq=`.
    pub const SEQUENCE_NUM: u16 = 58;
}
use component_type as ct;

/// Types whose value is a NonNegativeInteger, and their URI prefixes.
const NUMBER_PREFIXES: [(u16, &str); 5] = [
    (ct::SEGMENT, "seg"),
    (ct::BYTE_OFFSET, "off"),
    (ct::VERSION, "v"),
    (ct::TIMESTAMP, "t"),
    (ct::SEQUENCE_NUM, "seq"),
];

/// Types whose value is a SHA-256 digest, and their URI prefixes.
const DIGEST_PREFIXES: [(u16, &str); 2] =
    [(ct::IMPLICIT_SHA256_DIGEST, "sha256digest"), (ct::PARAMETERS_SHA256_DIGEST, "params-sha256")];

/// One name component.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Component<'a> {
    /// TLV-TYPE, 1 to 65535.
    pub typ: u16,
    /// TLV-VALUE.
    pub value: &'a [u8],
}

impl<'a> Component<'a> {
    /// Creates a GenericNameComponent.
    pub const fn generic(value: &'a [u8]) -> Self {
        Component { typ: ct::GENERIC, value }
    }

    /// Creates a KeywordNameComponent.
    pub const fn keyword(value: &'a [u8]) -> Self {
        Component { typ: ct::KEYWORD, value }
    }

    /// Creates the component with the implicit digest of a Data.
    pub const fn implicit_digest(digest: &'a [u8; 32]) -> Self {
        Component { typ: ct::IMPLICIT_SHA256_DIGEST, value: digest }
    }

    /// Creates the component with the digest of an Interest's parameters.
    pub const fn parameters_digest(digest: &'a [u8; 32]) -> Self {
        Component { typ: ct::PARAMETERS_SHA256_DIGEST, value: digest }
    }

    /// Creates a component whose value is a number, for example `Component::number(component_type::SEGMENT, 7, &mut
    /// buffer)`.
    pub fn number(typ: u16, number: u64, buffer: &'a mut [u8; 8]) -> Self {
        *buffer = number.to_be_bytes();
        Component { typ, value: &buffer[8 - nni_len(number)..] }
    }

    /// The value as a number, if its length is that of a NonNegativeInteger.
    #[inline]
    pub fn as_number(&self) -> Option<u64> {
        nni_value(self.value)
    }

    /// The value as a number, if the component has this type and the length of a NonNegativeInteger.
    #[inline]
    pub fn number_of_type(&self, typ: u16) -> Option<u64> {
        if self.typ == typ { self.as_number() } else { None }
    }

    /// Segment number, if it is a segment component.
    #[inline]
    pub fn segment(&self) -> Option<u64> {
        self.number_of_type(ct::SEGMENT)
    }

    /// Version number, if it is a version component.
    #[inline]
    pub fn version(&self) -> Option<u64> {
        self.number_of_type(ct::VERSION)
    }

    /// Length on the wire including the header, bytes.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        tlv::element_len(self.typ as u32, self.value.len())
    }

    /// Appends the encoded component.
    pub fn encode(&self, out: &mut Vec<u8>) {
        tlv::put_element(out, u32::from(self.typ), self.value);
    }

    /// Reads a component from an element.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::BadComponentType`], [`DecodeErrorKind::NotShortest`], or
    /// [`DecodeErrorKind::BadLength`] if a digest does not have 32 bytes.
    #[inline]
    pub fn from_element(element: &Element<'a>) -> Result<Self, DecodeError> {
        let Ok(typ) = u16::try_from(element.typ) else {
            return Err(DecodeErrorKind::BadComponentType(element.typ).at(element.start));
        };
        if !element.is_shortest() {
            return Err(DecodeErrorKind::NotShortest.at(element.start));
        }
        if typ <= ct::PARAMETERS_SHA256_DIGEST && element.value.len() != 32 {
            return Err(DecodeErrorKind::BadLength(element.typ).at(element.start));
        }
        Ok(Component { typ, value: element.value })
    }
}

impl PartialOrd for Component<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Canonical order: by type, then by length, then by bytes.
impl Ord for Component<'_> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.typ, self.value.len(), self.value).cmp(&(other.typ, other.value.len(), other.value))
    }
}

/// Writes the URI form without a slash.
impl fmt::Display for Component<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((_, prefix)) = DIGEST_PREFIXES.iter().find(|(typ, _)| *typ == self.typ) {
            write!(f, "{prefix}=")?;
            return self.value.iter().try_for_each(|byte| write!(f, "{byte:02x}"));
        }
        if let Some((_, prefix)) = NUMBER_PREFIXES.iter().find(|(typ, _)| *typ == self.typ)
            && let Some(number) = self.as_number()
            && nni_len(number) == self.value.len()
        {
            return write!(f, "{prefix}={number}");
        }
        if self.typ != ct::GENERIC {
            write!(f, "{}=", self.typ)?;
        }
        if self.value.iter().all(|byte| *byte == b'.') {
            f.write_str("...")?;
        }
        for byte in self.value {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    write!(f, "{}", char::from(*byte))?;
                }
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Component<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A borrowed name: the checked value of a Name element.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameRef<'a> {
    value: &'a [u8],
}

impl<'a> NameRef<'a> {
    /// The name without components: `/`.
    pub const ROOT: NameRef<'static> = NameRef { value: &[] };

    /// Checks the value of a Name element.
    ///
    /// # Errors
    /// Returns the errors of [`Reader::element`] and [`Component::from_element`].
    #[inline]
    pub fn from_value(value: &'a [u8]) -> Result<Self, DecodeError> {
        Self::check(Reader::new(value))?;
        Ok(NameRef { value })
    }

    /// Reads a Name from an element. The caller has checked the element's type.
    #[inline]
    pub fn from_element(element: &Element<'a>) -> Result<Self, DecodeError> {
        Self::check(element.reader())?;
        Ok(NameRef { value: element.value })
    }

    /// Reads a whole Name element, including its header.
    pub fn decode(wire: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(wire);
        let element = reader.expect(types::NAME)?;
        reader.finish()?;
        Self::from_element(&element)
    }

    #[inline]
    fn check(mut reader: Reader<'a>) -> Result<(), DecodeError> {
        while let Some(element) = reader.element()? {
            Component::from_element(&element)?;
        }
        Ok(())
    }

    /// The value of the Name element.
    #[inline]
    pub const fn value(&self) -> &'a [u8] {
        self.value
    }

    /// Returns whether the name has no component.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Number of components. This walks the whole name.
    #[inline]
    pub fn len(&self) -> usize {
        self.components().count()
    }

    /// The components from left to right.
    #[inline]
    pub const fn components(&self) -> Components<'a> {
        Components { reader: Reader::new(self.value) }
    }

    /// The component at an index, counted from the left.
    pub fn component(&self, index: usize) -> Option<Component<'a>> {
        self.components().nth(index)
    }

    /// The last component.
    pub fn last(&self) -> Option<Component<'a>> {
        self.components().last()
    }

    /// The first `len` components, or the whole name if it has fewer.
    pub fn prefix(&self, len: usize) -> NameRef<'a> {
        let mut components = self.components();
        components.by_ref().take(len).for_each(drop);
        let end = self.value.len() - components.reader.rest().len();
        NameRef { value: &self.value[..end] }
    }

    /// The name without its last component.
    pub fn parent(&self) -> NameRef<'a> {
        self.prefix(self.len().saturating_sub(1))
    }

    /// The components from index `from` on.
    pub fn suffix(&self, from: usize) -> NameRef<'a> {
        let mut components = self.components();
        components.by_ref().take(from).for_each(drop);
        NameRef { value: components.reader.rest() }
    }

    /// The prefixes from `/` to the whole name.
    pub const fn prefixes(&self) -> Prefixes<'a> {
        Prefixes { name: *self, components: Some(self.components()) }
    }

    /// Returns whether `prefix` is a prefix of this name or equal to it.
    ///
    /// Component headers are in the shortest form and contain the component's length. So a byte prefix that is a name
    /// ends at a component boundary.
    #[inline]
    pub fn starts_with(&self, prefix: NameRef<'_>) -> bool {
        self.value.starts_with(prefix.value)
    }

    /// Length of the Name element on the wire, bytes.
    #[inline]
    pub const fn wire_len(&self) -> usize {
        tlv::element_len(types::NAME, self.value.len())
    }

    /// Appends the Name element.
    pub fn encode(&self, out: &mut Vec<u8>) {
        tlv::put_element(out, types::NAME, self.value);
    }

    /// An owned copy.
    pub fn to_name(&self) -> Name {
        Name { value: self.value.to_vec() }
    }
}

/// Writes the URI: `/a/b/seg=7`.
impl fmt::Display for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("/");
        }
        self.components().try_for_each(|component| write!(f, "/{component}"))
    }
}

impl fmt::Debug for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'a> IntoIterator for NameRef<'a> {
    type Item = Component<'a>;
    type IntoIter = Components<'a>;

    fn into_iter(self) -> Components<'a> {
        self.components()
    }
}

/// The components of a name, from the left.
#[derive(Clone, Copy, Debug)]
pub struct Components<'a> {
    reader: Reader<'a>,
}

impl Components<'_> {
    /// Number of bytes of the name's value read so far: the length of the prefix up to here.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.reader.offset()
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Component<'a>;

    #[inline]
    fn next(&mut self) -> Option<Component<'a>> {
        // The name was checked on construction.
        let element = self.reader.element().ok()??;
        Some(Component { typ: element.typ as u16, value: element.value })
    }
}

/// The prefixes of a name, from `/` to the whole name.
#[derive(Clone, Copy, Debug)]
pub struct Prefixes<'a> {
    name: NameRef<'a>,
    components: Option<Components<'a>>,
}

impl<'a> Iterator for Prefixes<'a> {
    type Item = NameRef<'a>;

    fn next(&mut self) -> Option<NameRef<'a>> {
        let components = self.components.as_mut()?;
        let prefix = NameRef { value: &self.name.value[..components.offset()] };
        if components.next().is_none() {
            self.components = None;
        }
        Some(prefix)
    }
}

/// An owned name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name {
    value: Vec<u8>,
}

impl Name {
    /// Creates the name without components.
    pub const fn new() -> Self {
        Name { value: Vec::new() }
    }

    /// A borrowed view of the name.
    #[inline]
    pub fn view(&self) -> NameRef<'_> {
        NameRef { value: &self.value }
    }

    /// The value of the Name element.
    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Number of components.
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Returns whether the name has no component.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Appends a component.
    ///
    /// Returns `false`, and appends nothing, for a component of type 0 or a digest that does not have 32 bytes.
    pub fn push(&mut self, component: Component<'_>) -> bool {
        let valid = component.typ > ct::PARAMETERS_SHA256_DIGEST
            || (component.typ != 0 && component.value.len() == 32);
        if valid {
            component.encode(&mut self.value);
        }
        valid
    }

    /// Appends a GenericNameComponent.
    pub fn push_generic(&mut self, value: &[u8]) {
        Component::generic(value).encode(&mut self.value);
    }

    /// Appends a component whose value is a number.
    pub fn push_number(&mut self, typ: u16, number: u64) -> bool {
        self.push(Component::number(typ, number, &mut [0; 8]))
    }

    /// Appends a segment number.
    pub fn push_segment(&mut self, segment: u64) {
        self.push_number(ct::SEGMENT, segment);
    }

    /// Appends a version.
    pub fn push_version(&mut self, version: u64) {
        self.push_number(ct::VERSION, version);
    }

    /// Appends all components of another name.
    pub fn extend(&mut self, suffix: NameRef<'_>) {
        self.value.extend_from_slice(suffix.value);
    }

    /// Keeps the first `len` components.
    pub fn truncate(&mut self, len: usize) {
        let end = self.view().prefix(len).value.len();
        self.value.truncate(end);
    }

    /// Returns the name with one more component. The component must be valid for [`Name::push`].
    #[must_use]
    pub fn with(mut self, component: Component<'_>) -> Self {
        self.push(component);
        self
    }

    /// Returns the name with a segment number appended.
    #[must_use]
    pub fn with_segment(mut self, segment: u64) -> Self {
        self.push_segment(segment);
        self
    }

    /// Returns the name with a version appended.
    #[must_use]
    pub fn with_version(mut self, version: u64) -> Self {
        self.push_version(version);
        self
    }
}

impl From<NameRef<'_>> for Name {
    fn from(name: NameRef<'_>) -> Name {
        name.to_name()
    }
}

impl<'a> From<&'a Name> for NameRef<'a> {
    fn from(name: &'a Name) -> NameRef<'a> {
        name.view()
    }
}

impl PartialEq<NameRef<'_>> for Name {
    fn eq(&self, other: &NameRef<'_>) -> bool {
        self.value == other.value
    }
}

impl PartialEq<Name> for NameRef<'_> {
    fn eq(&self, other: &Name) -> bool {
        self.value == other.value
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.view(), f)
    }
}

/// Error of parsing the URI of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UriError {
    /// The kind of error.
    pub kind: UriErrorKind,
    /// Offset of the invalid component in the text, bytes.
    pub offset: usize,
}

/// Kinds of errors in the URI of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UriErrorKind {
    /// The URI does not begin with `/` or `ndn:/`.
    NotAbsolute,
    /// A component has no characters. An empty component is written `...`.
    EmptyComponent,
    /// A component is `.` or `..`. A component of periods is written with three more periods.
    RelativeComponent,
    /// A `%` is not followed by two hexadecimal digits.
    BadPercent,
    /// The text before `=` is not a component type.
    UnknownType,
    /// A digest does not consist of 64 hexadecimal digits.
    BadDigest,
    /// A number is not decimal or does not fit into 64 bits.
    BadNumber,
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            UriErrorKind::NotAbsolute => "a name begins with `/`",
            UriErrorKind::EmptyComponent => "an empty component is written `...`",
            UriErrorKind::RelativeComponent => "a component of periods is written with three more periods",
            UriErrorKind::BadPercent => "`%` is followed by two hexadecimal digits",
            UriErrorKind::UnknownType => {
                "a component type is 1 to 65535, seg, off, v, t or seq (write %3D for `=`)"
            }
            UriErrorKind::BadDigest => "a SHA-256 digest has 64 hexadecimal digits",
            UriErrorKind::BadNumber => "a number is decimal and below 2^64",
        })?;
        write!(f, " (at character {})", self.offset)
    }
}

impl core::error::Error for UriError {}

/// Parses a URI: `/a/b`, `ndn:/a/b`, typed components such as `32=metadata`, `seg=7`, `sha256digest=…`.
///
/// A trailing slash is ignored. Characters that need no escape in practice (`:`, `,`, UTF-8) are accepted unescaped.
impl core::str::FromStr for Name {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        let path = text.strip_prefix("ndn:").unwrap_or(text);
        let mut offset = text.len() - path.len();
        let Some(path) = path.strip_prefix('/') else {
            return Err(UriError { kind: UriErrorKind::NotAbsolute, offset });
        };
        offset += 1;
        let mut name = Name::new();
        if path.is_empty() {
            return Ok(name);
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut scratch = Vec::new();
        for part in path.split('/') {
            scratch.clear();
            let typ = parse_component(part, &mut scratch).map_err(|kind| UriError { kind, offset })?;
            Component { typ, value: &scratch }.encode(&mut name.value);
            offset += part.len() + 1;
        }
        Ok(name)
    }
}

/// Appends the value of a component to `value` and returns its type.
fn parse_component(text: &str, value: &mut Vec<u8>) -> Result<u16, UriErrorKind> {
    let Some((prefix, rest)) = text.split_once('=') else {
        unescape(text, value)?;
        return Ok(ct::GENERIC);
    };
    if let Some((typ, _)) = DIGEST_PREFIXES.iter().find(|(_, name)| *name == prefix) {
        unhex(rest, value)?;
        return Ok(*typ);
    }
    if let Some((typ, _)) = NUMBER_PREFIXES.iter().find(|(_, name)| *name == prefix) {
        if rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(UriErrorKind::BadNumber);
        }
        tlv::put_nni(value, rest.parse().map_err(|_| UriErrorKind::BadNumber)?);
        return Ok(*typ);
    }
    let digits = !prefix.is_empty() && !prefix.starts_with('0') && prefix.bytes().all(|b| b.is_ascii_digit());
    match prefix.parse::<u16>() {
        Ok(typ) if digits => {
            unescape(rest, value)?;
            if typ <= ct::PARAMETERS_SHA256_DIGEST && value.len() != 32 {
                return Err(UriErrorKind::BadDigest);
            }
            Ok(typ)
        }
        _ => Err(UriErrorKind::UnknownType),
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn unescape(text: &str, value: &mut Vec<u8>) -> Result<(), UriErrorKind> {
    if text.bytes().all(|byte| byte == b'.') {
        return match text.len() {
            0 => Err(UriErrorKind::EmptyComponent),
            1 | 2 => Err(UriErrorKind::RelativeComponent),
            len => {
                value.resize(len - 3, b'.');
                Ok(())
            }
        };
    }
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            value.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = tail else { return Err(UriErrorKind::BadPercent) };
        let (Some(high), Some(low)) = (hex_digit(*high), hex_digit(*low)) else {
            return Err(UriErrorKind::BadPercent);
        };
        value.push(high << 4 | low);
        rest = tail;
    }
    Ok(())
}

fn unhex(text: &str, value: &mut Vec<u8>) -> Result<(), UriErrorKind> {
    if text.len() != 64 {
        return Err(UriErrorKind::BadDigest);
    }
    for pair in text.as_bytes().chunks_exact(2) {
        let (Some(high), Some(low)) = (hex_digit(pair[0]), hex_digit(pair[1])) else {
            return Err(UriErrorKind::BadDigest);
        };
        value.push(high << 4 | low);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn name(uri: &str) -> Name {
        uri.parse().unwrap()
    }

    #[test]
    fn uris_survive_a_round_trip() {
        let digest = "28bad4b5275bd392dbb670c75cf0b66f13f7942021e80f55c0e86b374753a548";
        for uri in [
            "/",
            "/a",
            "/hello/world",
            "/32=metadata/v=1795253334510533/seg=0",
            "/off=255/t=256/seq=18446744073709551615",
            "/.../....../a.b/~_-",
            "/%00%FF%2F%3D%25",
            "/65535=...",
            "/A0/50=%00%00",
            &alloc::format!("/a/sha256digest={digest}"),
            &alloc::format!("/a/params-sha256={digest}"),
        ] {
            assert_eq!(name(uri).to_string(), uri);
            assert_eq!(NameRef::from_value(name(uri).value()).unwrap().to_string(), uri);
        }
    }

    #[test]
    fn alternative_spellings_mean_the_same_name() {
        assert_eq!(name("/8=a/b"), name("/a/8=b"));
        assert_eq!(name("ndn:/a"), name("/a/"));
        assert_eq!(name("/%61"), name("/a"));
        assert_eq!(name("/50=%07"), name("/seg=7"));
        assert_eq!(name("/udp4:,é"), name("/udp4%3A%2C%C3%A9"));
        assert_eq!(name("/...").value(), [8, 0]);
        assert_eq!(name("/....").value(), [8, 1, b'.']);
    }

    #[test]
    fn a_wrong_uri_says_what_and_where() {
        use UriErrorKind as K;
        for (uri, kind, offset) in [
            ("", K::NotAbsolute, 0),
            ("a/b", K::NotAbsolute, 0),
            ("ndn:a", K::NotAbsolute, 4),
            ("//", K::EmptyComponent, 1),
            ("/a//b", K::EmptyComponent, 3),
            ("/a/..", K::RelativeComponent, 3),
            ("/a/.", K::RelativeComponent, 3),
            ("/a/%", K::BadPercent, 3),
            ("/a/%4", K::BadPercent, 3),
            ("/a/%4x", K::BadPercent, 3),
            ("/a/b=c", K::UnknownType, 3),
            ("/=c", K::UnknownType, 1),
            ("/0=c", K::UnknownType, 1),
            ("/08=c", K::UnknownType, 1),
            ("/+8=c", K::UnknownType, 1),
            ("/65536=c", K::UnknownType, 1),
            ("/32=", K::EmptyComponent, 1),
            ("/seg=", K::BadNumber, 1),
            ("/seg=-1", K::BadNumber, 1),
            ("/seg=+1", K::BadNumber, 1),
            ("/seg=18446744073709551616", K::BadNumber, 1),
            ("/sha256digest=00", K::BadDigest, 1),
            ("/1=a", K::BadDigest, 1),
        ] {
            assert_eq!(uri.parse::<Name>(), Err(UriError { kind, offset }), "{uri}");
        }
    }

    #[test]
    fn canonical_order_is_by_type_then_length_then_bytes() {
        let digest = "00".repeat(32);
        let sorted = [
            "/".to_string(),
            alloc::format!("/sha256digest={digest}"),
            "/...".into(),
            "/a".into(),
            "/a/b".into(),
            "/z".into(),
            "/aa".into(),
            "/aa/...".into(),
            "/32=a".into(),
            "/252=a".into(),
            "/253=a".into(),
            "/65535=".to_string() + "...",
        ];
        let names: Vec<Name> = sorted.iter().map(|uri| name(uri)).collect();
        assert!(names.is_sorted());
        for (a, b) in names.iter().zip(&names[1..]) {
            let by_component = a.view().components().cmp(b.view().components());
            assert_eq!(by_component, core::cmp::Ordering::Less, "{a} before {b}");
        }
    }

    #[test]
    fn prefixes_grow_from_the_root_to_the_name() {
        let name = name("/a/bb/seg=3");
        let prefixes: Vec<_> = name.view().prefixes().map(|p| p.to_string()).collect();
        assert_eq!(prefixes, ["/", "/a", "/a/bb", "/a/bb/seg=3"]);
        assert_eq!(NameRef::ROOT.prefixes().count(), 1);
        for (len, prefix) in name.view().prefixes().enumerate() {
            assert_eq!(name.view().prefix(len), prefix);
            assert!(name.view().starts_with(prefix));
            assert_eq!(prefix.len(), len);
        }
        assert_eq!(name.view().prefix(9), name);
        assert_eq!(name.view().suffix(1).to_string(), "/bb/seg=3");
        assert_eq!(name.view().suffix(9), NameRef::ROOT);
        assert_eq!(name.view().parent().to_string(), "/a/bb");
        assert_eq!(NameRef::ROOT.parent(), NameRef::ROOT);
        assert!(!name.view().starts_with("/b".parse::<Name>().unwrap().view()));
        assert_eq!(name.view().last().unwrap().segment(), Some(3));
        assert_eq!(name.view().component(1), Some(Component::generic(b"bb")));
    }

    #[test]
    fn names_that_no_encoder_may_write_are_refused() {
        for (value, kind) in [
            (&[8, 2, 0][..], DecodeErrorKind::Truncated),
            (&[0, 0], DecodeErrorKind::BadType),
            (&[0xFE, 0, 1, 0, 0, 0], DecodeErrorKind::BadComponentType(65536)),
            (&[8, 0xFD, 0, 1, 0x61], DecodeErrorKind::NotShortest),
            (&[0xFD, 0, 8, 1, 0x61], DecodeErrorKind::NotShortest),
            (&[1, 1, 0], DecodeErrorKind::BadLength(1)),
            (&[2, 0], DecodeErrorKind::BadLength(2)),
        ] {
            assert_eq!(NameRef::from_value(value), Err(kind.at(0)));
        }
        let mut name = Name::new();
        assert!(!name.push(Component { typ: 0, value: b"" }));
        assert!(!name.push(Component { typ: 1, value: b"" }));
        assert!(name.is_empty());
    }
}
