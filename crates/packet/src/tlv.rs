//! TLV primitives: numbers, elements and the rule for unknown elements (NDN Packet Format v0.3, section "TLV").
//!
//! Like other implementations, the reader accepts numbers in longer forms than needed; output always uses the shortest
//! form. Every error carries the offset of the invalid element, counted from the first byte given to the outermost
//! decoder.

use alloc::vec::Vec;
use core::fmt;

/// Maximum length of a packet, bytes. All implementations share this limit.
pub const MAX_PACKET_SIZE: usize = 8800;

/// TLV-TYPE numbers of NDN Packet Format v0.3.
pub mod types {
    /// Interest packet.
    pub const INTEREST: u32 = 5;
    /// Data packet.
    pub const DATA: u32 = 6;
    /// Name.
    pub const NAME: u32 = 7;
    /// CanBePrefix (empty).
    pub const CAN_BE_PREFIX: u32 = 33;
    /// MustBeFresh (empty).
    pub const MUST_BE_FRESH: u32 = 18;
    /// ForwardingHint: one or more Names.
    pub const FORWARDING_HINT: u32 = 30;
    /// Nonce: 4 bytes.
    pub const NONCE: u32 = 10;
    /// InterestLifetime: NonNegativeInteger, milliseconds.
    pub const INTEREST_LIFETIME: u32 = 12;
    /// HopLimit: 1 byte.
    pub const HOP_LIMIT: u32 = 34;
    /// ApplicationParameters.
    pub const APPLICATION_PARAMETERS: u32 = 36;
    /// InterestSignatureInfo.
    pub const INTEREST_SIGNATURE_INFO: u32 = 44;
    /// InterestSignatureValue.
    pub const INTEREST_SIGNATURE_VALUE: u32 = 46;
    /// MetaInfo of a Data.
    pub const META_INFO: u32 = 20;
    /// Content of a Data.
    pub const CONTENT: u32 = 21;
    /// SignatureInfo of a Data.
    pub const SIGNATURE_INFO: u32 = 22;
    /// SignatureValue of a Data.
    pub const SIGNATURE_VALUE: u32 = 23;
    /// ContentType: NonNegativeInteger.
    pub const CONTENT_TYPE: u32 = 24;
    /// FreshnessPeriod: NonNegativeInteger, milliseconds.
    pub const FRESHNESS_PERIOD: u32 = 25;
    /// FinalBlockId: one name component.
    pub const FINAL_BLOCK_ID: u32 = 26;
    /// SignatureType: NonNegativeInteger.
    pub const SIGNATURE_TYPE: u32 = 27;
    /// KeyLocator: a Name or a KeyDigest.
    pub const KEY_LOCATOR: u32 = 28;
    /// KeyDigest.
    pub const KEY_DIGEST: u32 = 29;
    /// SignatureNonce.
    pub const SIGNATURE_NONCE: u32 = 38;
    /// SignatureTime: NonNegativeInteger, milliseconds since the Unix epoch.
    pub const SIGNATURE_TIME: u32 = 40;
    /// SignatureSeqNum: NonNegativeInteger.
    pub const SIGNATURE_SEQ_NUM: u32 = 42;
    /// ValidityPeriod of a certificate.
    pub const VALIDITY_PERIOD: u32 = 253;
    /// NotBefore in a ValidityPeriod: 15 characters, `YYYYMMDDThhmmss`.
    pub const NOT_BEFORE: u32 = 254;
    /// NotAfter in a ValidityPeriod: 15 characters, `YYYYMMDDThhmmss`.
    pub const NOT_AFTER: u32 = 255;
    /// AdditionalDescription of a certificate.
    pub const ADDITIONAL_DESCRIPTION: u32 = 258;
}

/// Error of decoding a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The kind of error.
    pub kind: DecodeErrorKind,
    /// Offset of the invalid element from the start of the input, bytes.
    pub offset: usize,
}

/// Kinds of errors in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeErrorKind {
    /// An element is longer than the element or the input that contains it.
    Truncated,
    /// The packet is larger than [`MAX_PACKET_SIZE`].
    TooLarge,
    /// Bytes follow the packet.
    TrailingBytes,
    /// A TLV-TYPE is 0 or above 2^32-1.
    BadType,
    /// The TLV-TYPE or TLV-LENGTH of a name component is not in the shortest form.
    NotShortest,
    /// Another element is required here. The value is the TLV-TYPE found.
    Unexpected(u32),
    /// The element of this TLV-TYPE is required but absent.
    Missing(u32),
    /// An element of this TLV-TYPE is unknown, repeated or misplaced, and must not be ignored.
    Critical(u32),
    /// An NDNLPv2 field of this TLV-TYPE is out of ascending order.
    OutOfOrder(u32),
    /// An NDNLPv2 field of this TLV-TYPE is repeated but may occur only once.
    Repeated(u32),
    /// The element of this TLV-TYPE has an invalid length.
    BadLength(u32),
    /// The type of a name component is above 65535.
    BadComponentType(u32),
    /// The name of an Interest has no component.
    EmptyName,
    /// FragIndex, FragCount and Sequence contradict each other.
    BadFragment,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DecodeErrorKind as K;
        match self.kind {
            K::Truncated => f.write_str("element is longer than what contains it")?,
            K::TooLarge => write!(f, "packet is larger than {MAX_PACKET_SIZE} bytes")?,
            K::TrailingBytes => f.write_str("bytes follow the packet")?,
            K::BadType => f.write_str("TLV-TYPE is 0 or above 2^32-1")?,
            K::NotShortest => f.write_str("name component header is not in the shortest form")?,
            K::Unexpected(t) => write!(f, "TLV-TYPE {t} where another is required")?,
            K::Missing(t) => write!(f, "element with TLV-TYPE {t} is missing")?,
            K::Critical(t) => write!(f, "unknown or misplaced critical element with TLV-TYPE {t}")?,
            K::OutOfOrder(t) => write!(f, "link header field {t} is out of order")?,
            K::Repeated(t) => write!(f, "link header field {t} is repeated")?,
            K::BadLength(t) => write!(f, "element with TLV-TYPE {t} has a wrong length")?,
            K::BadComponentType(t) => write!(f, "name component type {t} is above 65535")?,
            K::EmptyName => f.write_str("Interest name has no component")?,
            K::BadFragment => f.write_str("FragIndex, FragCount and Sequence contradict each other")?,
        }
        write!(f, " (at byte {})", self.offset)
    }
}

impl core::error::Error for DecodeError {}

impl DecodeErrorKind {
    /// Returns the error at an offset.
    #[inline]
    pub const fn at(self, offset: usize) -> DecodeError {
        DecodeError { kind: self, offset }
    }
}

/// Length in bytes of a VAR-NUMBER (TLV-TYPE or TLV-LENGTH) in its shortest form.
#[inline]
pub const fn var_len(number: u64) -> usize {
    match number {
        0..=252 => 1,
        253..=0xFFFF => 3,
        0x1_0000..=0xFFFF_FFFF => 5,
        _ => 9,
    }
}

/// Length in bytes of a NonNegativeInteger in its shortest form: 1, 2, 4 or 8.
#[inline]
pub const fn nni_len(value: u64) -> usize {
    // This has no branches, because rates in signals can have any size.
    1 << ((value > 0xFF) as u32 + (value > 0xFFFF) as u32 + (value > 0xFFFF_FFFF) as u32)
}

/// Length in bytes of an element whose value has `value_len` bytes.
#[inline]
pub const fn element_len(typ: u32, value_len: usize) -> usize {
    var_len(typ as u64) + var_len(value_len as u64) + value_len
}

/// Length in bytes of an element whose value is a NonNegativeInteger.
#[inline]
pub const fn nni_element_len(typ: u32, value: u64) -> usize {
    element_len(typ, nni_len(value))
}

/// Returns whether a node must drop the packet if it does not know this TLV-TYPE: the type is at most 31, or odd.
#[inline]
pub const fn is_critical(typ: u32) -> bool {
    typ <= 31 || typ % 2 == 1
}

/// Value of a NonNegativeInteger: 1, 2, 4 or 8 bytes, big endian. Returns `None` for another length.
#[inline]
pub fn nni_value(value: &[u8]) -> Option<u64> {
    Some(match *value {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_be_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_be_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

/// One TLV element of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// TLV-TYPE.
    pub typ: u32,
    /// TLV-VALUE.
    pub value: &'a [u8],
    /// Offset of the first byte (the TLV-TYPE) from the start of the input.
    pub start: usize,
    /// Offset of the value from the start of the input.
    pub value_start: usize,
}

impl<'a> Element<'a> {
    /// Offset of the first byte after the element.
    #[inline]
    pub const fn end(&self) -> usize {
        self.value_start + self.value.len()
    }

    /// Creates a reader of the elements in the value.
    #[inline]
    pub const fn reader(&self) -> Reader<'a> {
        Reader { rest: self.value, offset: self.value_start }
    }

    /// The value as a NonNegativeInteger.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::BadLength`] if it does not have 1, 2, 4 or 8 bytes.
    #[inline]
    pub fn nni(&self) -> Result<u64, DecodeError> {
        nni_value(self.value).ok_or(DecodeErrorKind::BadLength(self.typ).at(self.start))
    }

    /// The value as an array of `N` bytes.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::BadLength`] if it does not have `N` bytes.
    #[inline]
    pub fn fixed<const N: usize>(&self) -> Result<&'a [u8; N], DecodeError> {
        self.value.try_into().map_err(|_| DecodeErrorKind::BadLength(self.typ).at(self.start))
    }

    /// Checks that the value is empty.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::BadLength`] if it is not.
    #[inline]
    pub fn empty(&self) -> Result<(), DecodeError> {
        self.fixed::<0>().map(|_| ())
    }

    /// Applies the evolvability rule to an unknown or misplaced element: `Ok` to ignore it.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::Critical`] if the packet must be dropped.
    #[inline]
    pub const fn ignore(&self) -> Result<(), DecodeError> {
        if is_critical(self.typ) { Err(DecodeErrorKind::Critical(self.typ).at(self.start)) } else { Ok(()) }
    }

    /// Returns whether TLV-TYPE and TLV-LENGTH are in their shortest forms.
    #[inline]
    pub const fn is_shortest(&self) -> bool {
        self.value_start - self.start == var_len(self.typ as u64) + var_len(self.value.len() as u64)
    }
}

/// Reads elements one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`, which has offset 0.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, offset: 0 }
    }

    /// Offset of the next byte from the start of the input.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns whether no bytes are left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes that are left.
    #[inline]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    fn advance(&mut self, rest: &'a [u8]) {
        self.offset += self.rest.len() - rest.len();
        self.rest = rest;
    }

    /// Reads a VAR-NUMBER. It need not be in the shortest form.
    #[inline]
    pub fn var_number(&mut self) -> Result<u64, DecodeError> {
        let (number, rest) = match *self.rest {
            [first @ 0..=252, ref rest @ ..] => (u64::from(first), rest),
            [0xFD, a, b, ref rest @ ..] => (u64::from(u16::from_be_bytes([a, b])), rest),
            [0xFE, a, b, c, d, ref rest @ ..] => (u64::from(u32::from_be_bytes([a, b, c, d])), rest),
            [0xFF, a, b, c, d, e, f, g, h, ref rest @ ..] => {
                (u64::from_be_bytes([a, b, c, d, e, f, g, h]), rest)
            }
            _ => return Err(DecodeErrorKind::Truncated.at(self.offset)),
        };
        self.advance(rest);
        Ok(number)
    }

    /// Reads the next element. Returns `None` at the end.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::Truncated`] or [`DecodeErrorKind::BadType`].
    #[inline]
    pub fn element(&mut self) -> Result<Option<Element<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let start = self.offset;
        let truncated = DecodeErrorKind::Truncated.at(start);
        let typ = self.var_number().map_err(|_| truncated)?;
        let typ = match u32::try_from(typ) {
            Ok(typ) if typ != 0 => typ,
            _ => return Err(DecodeErrorKind::BadType.at(start)),
        };
        let len = self.var_number().map_err(|_| truncated)?;
        let len = usize::try_from(len).map_err(|_| truncated)?;
        let (value, rest) = self.rest.split_at_checked(len).ok_or(truncated)?;
        let value_start = self.offset;
        self.advance(rest);
        Ok(Some(Element { typ, value, start, value_start }))
    }

    /// Reads the next element, which must have this TLV-TYPE.
    ///
    /// # Errors
    /// Besides the errors of [`Reader::element`], returns [`DecodeErrorKind::Missing`] at the end and
    /// [`DecodeErrorKind::Unexpected`] for another type.
    #[inline]
    pub fn expect(&mut self, typ: u32) -> Result<Element<'a>, DecodeError> {
        match self.element()? {
            Some(element) if element.typ == typ => Ok(element),
            Some(other) => Err(DecodeErrorKind::Unexpected(other.typ).at(other.start)),
            None => Err(DecodeErrorKind::Missing(typ).at(self.offset)),
        }
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    /// Returns [`DecodeErrorKind::TrailingBytes`] if bytes are left.
    #[inline]
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(DecodeErrorKind::TrailingBytes.at(self.offset)) }
    }
}

/// Reads the single element in `wire`.
///
/// # Errors
/// Returns the errors of [`Reader::element`], [`DecodeErrorKind::TooLarge`] or [`DecodeErrorKind::TrailingBytes`].
#[inline]
pub fn whole(wire: &[u8]) -> Result<Element<'_>, DecodeError> {
    if wire.len() > MAX_PACKET_SIZE {
        return Err(DecodeErrorKind::TooLarge.at(0));
    }
    let mut reader = Reader::new(wire);
    let element = reader.element()?.ok_or(DecodeErrorKind::Truncated.at(0))?;
    reader.finish()?;
    Ok(element)
}

/// Length of the first element of a byte stream, or `None` if its header has not arrived completely.
///
/// The bytes of the element itself need not have arrived: compare the length with `stream.len()`.
///
/// # Errors
/// Returns [`DecodeErrorKind::BadType`] if the element is not an Interest, Data or LpPacket, and
/// [`DecodeErrorKind::TooLarge`] if it is larger than [`MAX_PACKET_SIZE`]. A stream cannot be resynchronised after
/// either. If the reader skipped other types, a web page could talk to a forwarder: an HTTP request reads as such
/// elements, and the page chooses its body.
pub fn stream_frame_len(stream: &[u8]) -> Result<Option<usize>, DecodeError> {
    let mut reader = Reader::new(stream);
    let Ok(typ) = reader.var_number() else { return Ok(None) };
    let is_frame = |known: u32| typ == u64::from(known);
    if ![types::INTEREST, types::DATA, crate::lp::types::LP_PACKET].into_iter().any(is_frame) {
        return Err(DecodeErrorKind::BadType.at(0));
    }
    let Ok(len) = reader.var_number() else { return Ok(None) };
    match usize::try_from(len).ok().and_then(|len| len.checked_add(reader.offset())) {
        Some(len) if len <= MAX_PACKET_SIZE => Ok(Some(len)),
        _ => Err(DecodeErrorKind::TooLarge.at(0)),
    }
}

/// Checks the order of elements in a container. Each kind of element has a rank, and ranks must rise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Order(u8);

impl Order {
    /// Returns whether an element of this rank (from 1) may come here. If so, records the rank.
    #[inline]
    pub(crate) fn admit(&mut self, rank: u8) -> bool {
        let admitted = rank > self.0;
        if admitted {
            self.0 = rank;
        }
        admitted
    }
}

/// Appends a VAR-NUMBER in its shortest form.
#[inline]
pub fn put_var(out: &mut Vec<u8>, number: u64) {
    match var_len(number) {
        1 => out.push(number as u8),
        3 => {
            out.push(0xFD);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        5 => {
            out.push(0xFE);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(0xFF);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Appends TLV-TYPE and TLV-LENGTH.
#[inline]
pub fn put_header(out: &mut Vec<u8>, typ: u32, value_len: usize) {
    put_var(out, u64::from(typ));
    put_var(out, value_len as u64);
}

/// Appends an element.
#[inline]
pub fn put_element(out: &mut Vec<u8>, typ: u32, value: &[u8]) {
    put_header(out, typ, value.len());
    out.extend_from_slice(value);
}

/// Appends a NonNegativeInteger in its shortest form, without a header.
#[inline]
pub fn put_nni(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_be_bytes();
    // `nni_len` is at most 8.
    out.extend_from_slice(&bytes[8 - nni_len(value)..]);
}

/// Appends an element whose value is a NonNegativeInteger in its shortest form.
#[inline]
pub fn put_nni_element(out: &mut Vec<u8>, typ: u32, value: u64) {
    put_header(out, typ, nni_len(value));
    put_nni(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn var_numbers_change_length_where_the_specification_says() {
        for (number, hex) in [
            (0, &[0x00][..]),
            (252, &[0xFC]),
            (253, &[0xFD, 0x00, 0xFD]),
            (65535, &[0xFD, 0xFF, 0xFF]),
            (65536, &[0xFE, 0x00, 0x01, 0x00, 0x00]),
            (0xFFFF_FFFF, &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF]),
            (0x1_0000_0000, &[0xFF, 0, 0, 0, 1, 0, 0, 0, 0]),
            (u64::MAX, &[0xFF; 9]),
        ] {
            let mut out = Vec::new();
            put_var(&mut out, number);
            assert_eq!(out, hex);
            assert_eq!(var_len(number), hex.len());
            let mut reader = Reader::new(hex);
            assert_eq!(reader.var_number(), Ok(number));
            assert!(reader.is_empty());
            for cut in 0..hex.len() {
                assert_eq!(Reader::new(&hex[..cut]).var_number(), Err(DecodeErrorKind::Truncated.at(0)));
            }
        }
    }

    #[test]
    fn longer_forms_of_a_number_are_understood() {
        for hex in [&[0xFD, 0, 7][..], &[0xFE, 0, 0, 0, 7], &[0xFF, 0, 0, 0, 0, 0, 0, 0, 7]] {
            assert_eq!(Reader::new(hex).var_number(), Ok(7));
        }
        let element = Reader::new(&[0xFD, 0, 8, 0xFD, 0, 1, 0x61]).element().unwrap().unwrap();
        assert_eq!((element.typ, element.value, element.value_start), (8, &b"a"[..], 6));
        assert!(!element.is_shortest());
    }

    #[test]
    fn integers_have_one_two_four_or_eight_bytes() {
        for (value, len) in [(0, 1), (255, 1), (256, 2), (65535, 2), (65536, 4), (1 << 32, 8), (u64::MAX, 8)]
        {
            let mut out = Vec::new();
            put_nni(&mut out, value);
            assert_eq!(out.len(), len);
            assert_eq!(nni_value(&out), Some(value));
        }
        assert_eq!(nni_value(&[0, 0, 0, 9]), Some(9), "padding is legal");
        for len in [0, 3, 5, 6, 7, 9] {
            assert_eq!(nni_value(&[0; 9][..len]), None);
        }
    }

    #[test]
    fn types_up_to_31_and_odd_types_are_critical() {
        assert!([1, 30, 31, 33, 253, 801].into_iter().all(is_critical));
        assert!(![32, 34, 252, 800, 65536].into_iter().any(is_critical));
    }

    #[test]
    fn type_zero_and_types_above_32_bits_are_refused() {
        assert_eq!(Reader::new(&[0, 0]).element(), Err(DecodeErrorKind::BadType.at(0)));
        let wire = [0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0];
        assert_eq!(Reader::new(&wire).element(), Err(DecodeErrorKind::BadType.at(0)));
    }

    #[test]
    fn a_length_beyond_the_end_is_refused_however_large() {
        let wire = [5, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(Reader::new(&wire).element(), Err(DecodeErrorKind::Truncated.at(0)));
        assert_eq!(stream_frame_len(&wire), Err(DecodeErrorKind::TooLarge.at(0)));
    }

    #[test]
    fn a_stream_says_how_long_its_first_frame_is() {
        assert_eq!(stream_frame_len(&[]), Ok(None));
        assert_eq!(stream_frame_len(&[0x64]), Ok(None));
        assert_eq!(stream_frame_len(&[0x64, 0xFD, 1]), Ok(None));
        assert_eq!(stream_frame_len(&[0x64, 0xFD, 1, 0]), Ok(Some(260)));
        assert_eq!(stream_frame_len(&[5, 2, 7]), Ok(Some(4)));
        assert_eq!(stream_frame_len(&[6, 0xFD, 0x22, 0x5C]), Ok(Some(8800)));
        assert_eq!(stream_frame_len(&[6, 0xFD, 0x22, 0x5D]), Err(DecodeErrorKind::TooLarge.at(0)));
        assert_eq!(stream_frame_len(&[0xFD, 0, 5, 2, 7]), Ok(Some(6)));
    }

    #[test]
    fn a_stream_of_something_else_is_refused_at_its_first_element() {
        for other in
            [&[0, 2][..], &[7, 0], b"POST / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n", &[0xFE, 1, 0, 0, 5, 0]]
        {
            assert_eq!(stream_frame_len(other), Err(DecodeErrorKind::BadType.at(0)), "{other:?}");
        }
    }
}
