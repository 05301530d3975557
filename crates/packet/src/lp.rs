//! NDNLPv2: the link header around a network packet.
//!
//! Three groups of fields, by who uses them: [`LinkHeader`] (fragmentation and reliability: this
//! link's business), [`LpHeader`] (what travels with the network packet through a node, a small
//! copyable struct) and the bytes that are only borrowed (acknowledgements, prefix announcement,
//! fragment).
//!
//! Rules for input: fields in ascending order of TLV-TYPE except Fragment, which is last; only Ack
//! may be repeated; an unknown field is ignored if its type is in 800 to 959 and a multiple of 4,
//! and makes the frame invalid otherwise. A bare Interest or Data is a frame without a header, and
//! that is how one is sent.

use crate::signal::{SignalSet, Signals};
use crate::tlv::{
    self, DecodeError, DecodeErrorKind, Element, Reader, element_len, nni_element_len, put_element,
    put_header, put_nni_element, types as packet_types,
};
use alloc::vec::Vec;
use core::fmt;

/// TLV-TYPE numbers of NDNLPv2; signals have numbers of their own ([`crate::signal`]).
pub mod types {
    /// LpPacket.
    pub const LP_PACKET: u32 = 100;
    /// Fragment: a network packet or a piece of it.
    pub const FRAGMENT: u32 = 80;
    /// Sequence: 8 bytes.
    pub const SEQUENCE: u32 = 81;
    /// FragIndex: NonNegativeInteger.
    pub const FRAG_INDEX: u32 = 82;
    /// FragCount: NonNegativeInteger.
    pub const FRAG_COUNT: u32 = 83;
    /// PitToken: 1 to 32 bytes.
    pub const PIT_TOKEN: u32 = 98;
    /// Nack.
    pub const NACK: u32 = 800;
    /// NackReason: NonNegativeInteger, in a Nack.
    pub const NACK_REASON: u32 = 801;
    /// IncomingFaceId: NonNegativeInteger.
    pub const INCOMING_FACE_ID: u32 = 812;
    /// NextHopFaceId: NonNegativeInteger.
    pub const NEXT_HOP_FACE_ID: u32 = 816;
    /// CachePolicy.
    pub const CACHE_POLICY: u32 = 820;
    /// CachePolicyType: NonNegativeInteger, in a CachePolicy.
    pub const CACHE_POLICY_TYPE: u32 = 821;
    /// CongestionMark: NonNegativeInteger.
    pub const CONGESTION_MARK: u32 = 832;
    /// Ack: 8 bytes, may be repeated.
    pub const ACK: u32 = 836;
    /// TxSequence: 8 bytes.
    pub const TX_SEQUENCE: u32 = 840;
    /// NonDiscovery (empty).
    pub const NON_DISCOVERY: u32 = 844;
    /// PrefixAnnouncement: a Data.
    pub const PREFIX_ANNOUNCEMENT: u32 = 848;
}

/// Length on the wire of one Ack field, bytes.
pub const ACK_LEN: usize = element_len(types::ACK, 8);

/// Length on the wire of the TxSequence field, bytes.
pub const TX_SEQUENCE_LEN: usize = element_len(types::TX_SEQUENCE, 8);

/// Whether a node that does not know this header field ignores it: 800 to 959 and a multiple of 4.
#[inline]
pub const fn is_ignorable(typ: u32) -> bool {
    typ >= 800 && typ <= 959 && typ.is_multiple_of(4)
}

/// PIT token: bytes that a node puts on an Interest and gets back on its Data or Nack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PitToken {
    // First, so that the order is that of the lengths.
    len: u8,
    bytes: [u8; Self::MAX_LEN],
}

impl PitToken {
    /// The longest token, bytes.
    pub const MAX_LEN: usize = 32;

    /// No token.
    pub const NONE: PitToken = PitToken { len: 0, bytes: [0; Self::MAX_LEN] };

    /// A token of 1 to 32 bytes; `None` for another length.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        let mut token = PitToken { len: bytes.len() as u8, ..Self::NONE };
        token.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(token)
    }

    /// A token of 6 bytes, the only length that all known forwarders take: the low 48 bits of `number`.
    pub fn from_u48(number: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        let mut token = PitToken { len: 6, ..Self::NONE };
        token.bytes[..6].copy_from_slice(&[a, b, c, d, e, f]);
        token
    }

    /// The number in a token of 6 bytes.
    pub fn as_u48(&self) -> Option<u64> {
        let [a, b, c, d, e, f] = *<&[u8; 6]>::try_from(self.bytes()).ok()?;
        Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// Its bytes; empty without a token.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).min(Self::MAX_LEN)]
    }

    /// Whether there is no token.
    #[inline]
    pub const fn is_none(&self) -> bool {
        self.len == 0
    }
}

/// Writes the bytes in hexadecimal.
impl fmt::Debug for PitToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why an Interest is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NackReason {
    /// None given.
    #[default]
    None,
    /// The link or node is congested.
    Congestion,
    /// The nonce has been seen before.
    Duplicate,
    /// There is no way to the name.
    NoRoute,
    /// Another value.
    Other(u64),
}

impl NackReason {
    /// The reason that a field's value means.
    pub const fn from_value(value: u64) -> Self {
        match value {
            0 => Self::None,
            50 => Self::Congestion,
            100 => Self::Duplicate,
            150 => Self::NoRoute,
            other => Self::Other(other),
        }
    }

    /// The field's value; 0 is not written.
    pub const fn value(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Congestion => 50,
            Self::Duplicate => 100,
            Self::NoRoute => 150,
            Self::Other(other) => other,
        }
    }

    const fn nack_value_len(self) -> usize {
        match self.value() {
            0 => 0,
            value => nni_element_len(types::NACK_REASON, value),
        }
    }
}

/// What an application asks of content stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CachePolicy {
    /// Do not store the Data.
    NoCache,
    /// Another value.
    Other(u64),
}

impl CachePolicy {
    /// The policy that a field's value means.
    pub const fn from_value(value: u64) -> Self {
        match value {
            1 => Self::NoCache,
            other => Self::Other(other),
        }
    }

    /// The field's value.
    pub const fn value(self) -> u64 {
        match self {
            Self::NoCache => 1,
            Self::Other(other) => other,
        }
    }
}

/// The header fields that belong to the network packet, not to the link.
///
/// In the order in which forwarding touches them: what most packets carry shares cache lines, and
/// a bit set says which of the others there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LpHeader {
    /// Which of `numbers` are there.
    present: u8,
    /// The Interest is not to be used for discovery of routes.
    pub non_discovery: bool,
    /// PIT token.
    pub pit_token: PitToken,
    /// Congestion mark, 0 for none. Only 0 and 1 have a meaning that all nodes share.
    pub congestion_mark: u64,
    /// Our hop-by-hop signals.
    pub signals: Signals,
    /// Values of the fields that few packets carry; 0 where there is none.
    numbers: [u64; 4],
}

/// The place of a field in `LpHeader::numbers`.
#[derive(Clone, Copy)]
enum Number {
    NackReason,
    IncomingFaceId,
    NextHopFaceId,
    CachePolicy,
}

impl LpHeader {
    /// Without a field.
    pub const NONE: LpHeader = LpHeader {
        present: 0,
        non_discovery: false,
        pit_token: PitToken::NONE,
        congestion_mark: 0,
        signals: Signals::NONE,
        numbers: [0; 4],
    };

    /// With this PIT token and nothing else.
    #[inline]
    pub fn with_token(pit_token: PitToken) -> LpHeader {
        LpHeader { pit_token, ..LpHeader::NONE }
    }

    /// That of a Nack, for this reason.
    pub fn with_nack(reason: NackReason) -> LpHeader {
        let mut header = LpHeader::NONE;
        header.set_nack(Some(reason));
        header
    }

    #[inline]
    fn number(&self, field: Number) -> Option<u64> {
        (self.present & (1 << field as u8) != 0).then(|| self.numbers[field as usize])
    }

    #[inline]
    fn set_number(&mut self, field: Number, value: Option<u64>) {
        let bit = 1 << field as u8;
        self.present = if value.is_some() { self.present | bit } else { self.present & !bit };
        self.numbers[field as usize] = value.unwrap_or(0);
    }

    /// Whether it has any of the fields that few packets carry: all but PIT token, congestion mark and signals.
    #[inline]
    pub fn has_rare_fields(&self) -> bool {
        self.present != 0 || self.non_discovery
    }

    /// The packet is a Nack for the Interest in it, for this reason.
    #[inline]
    pub fn nack(&self) -> Option<NackReason> {
        self.number(Number::NackReason).map(NackReason::from_value)
    }

    /// Makes it the header of a Nack, or of none.
    pub fn set_nack(&mut self, reason: Option<NackReason>) {
        self.set_number(Number::NackReason, reason.map(NackReason::value));
    }

    /// Face by which the packet came to the forwarder (forwarder to local application).
    pub fn incoming_face_id(&self) -> Option<u64> {
        self.number(Number::IncomingFaceId)
    }

    /// Says by which face the packet came.
    pub fn set_incoming_face_id(&mut self, face: Option<u64>) {
        self.set_number(Number::IncomingFaceId, face);
    }

    /// Face by which an Interest shall leave (local application to forwarder).
    #[inline]
    pub fn next_hop_face_id(&self) -> Option<u64> {
        self.number(Number::NextHopFaceId)
    }

    /// Says by which face the Interest shall leave.
    pub fn set_next_hop_face_id(&mut self, face: Option<u64>) {
        self.set_number(Number::NextHopFaceId, face);
    }

    /// What to do with the Data in content stores.
    #[inline]
    pub fn cache_policy(&self) -> Option<CachePolicy> {
        self.number(Number::CachePolicy).map(CachePolicy::from_value)
    }

    /// Says what to do with the Data in content stores.
    pub fn set_cache_policy(&mut self, policy: Option<CachePolicy>) {
        self.set_number(Number::CachePolicy, policy.map(CachePolicy::value));
    }

    /// Length of its fields on the wire, bytes.
    pub fn fields_len(&self) -> usize {
        let mut len = self.signals.wire_len();
        if !self.pit_token.is_none() {
            len += element_len(types::PIT_TOKEN, self.pit_token.bytes().len());
        }
        if self.present != 0 {
            len += self.numbers_len();
        }
        if self.congestion_mark != 0 {
            len += nni_element_len(types::CONGESTION_MARK, self.congestion_mark);
        }
        if self.non_discovery {
            len += element_len(types::NON_DISCOVERY, 0);
        }
        len
    }

    fn numbers_len(&self) -> usize {
        let nack = self.nack().map(|reason| element_len(types::NACK, reason.nack_value_len()));
        let incoming = self.incoming_face_id().map(|face| nni_element_len(types::INCOMING_FACE_ID, face));
        let next_hop = self.next_hop_face_id().map(|face| nni_element_len(types::NEXT_HOP_FACE_ID, face));
        let cache_policy = self.cache_policy().map(|policy| {
            let value_len = nni_element_len(types::CACHE_POLICY_TYPE, policy.value());
            element_len(types::CACHE_POLICY, value_len)
        });
        [nack, incoming, next_hop, cache_policy].into_iter().flatten().sum()
    }

    /// Length of the frame that carries a network packet of `fragment_len` bytes with this header:
    /// the packet alone if the header is empty.
    pub fn wire_len(&self, fragment_len: usize) -> usize {
        match self.fields_len() {
            0 => fragment_len,
            fields_len => wrapped_len(fields_len, fragment_len),
        }
    }
}

/// Length of an LpPacket with header fields of `fields_len` bytes.
const fn wrapped_len(fields_len: usize, fragment_len: usize) -> usize {
    element_len(types::LP_PACKET, fields_len + element_len(types::FRAGMENT, fragment_len))
}

/// The header fields of fragmentation and reliability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkHeader {
    /// Sequence: number of the fragment.
    pub sequence: Option<u64>,
    /// FragIndex: place of the fragment in its packet, from 0.
    pub frag_index: u64,
    /// FragCount: fragments of the packet, at least 1. More than 1 needs a Sequence.
    pub frag_count: u64,
    /// TxSequence: number of the transmission, to be acknowledged.
    pub tx_sequence: Option<u64>,
}

impl Default for LinkHeader {
    fn default() -> Self {
        Self::NONE
    }
}

impl LinkHeader {
    /// Without a field: a whole packet, not to be acknowledged.
    pub const NONE: LinkHeader =
        LinkHeader { sequence: None, frag_index: 0, frag_count: 1, tx_sequence: None };

    /// Whether the fragment is only a piece of a packet.
    #[inline]
    pub const fn is_piece(&self) -> bool {
        self.frag_count > 1
    }

    const fn fields_len(&self) -> usize {
        let mut len = 0;
        if self.sequence.is_some() {
            len += element_len(types::SEQUENCE, 8);
        }
        if self.is_piece() {
            len += nni_element_len(types::FRAG_INDEX, self.frag_index);
            len += nni_element_len(types::FRAG_COUNT, self.frag_count);
        }
        if self.tx_sequence.is_some() {
            len += TX_SEQUENCE_LEN;
        }
        len
    }
}

/// The acknowledgements of a frame: numbers to send, or the fields of a frame that came in.
#[derive(Clone, Copy)]
pub enum Acks<'a> {
    /// TxSequences to acknowledge.
    Numbers(&'a [u64]),
    /// Ack fields of a decoded frame.
    Fields(AckFields<'a>),
}

/// Ack fields of a decoded frame.
#[derive(Clone, Copy)]
pub struct AckFields<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Acks<'a> {
    /// No acknowledgement.
    pub const NONE: Acks<'static> = Acks::Numbers(&[]);

    /// How many there are.
    #[inline]
    pub const fn len(&self) -> usize {
        match self {
            Acks::Numbers(numbers) => numbers.len(),
            Acks::Fields(fields) => fields.count,
        }
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The TxSequences acknowledged.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (numbers, bytes) = match *self {
            Acks::Numbers(numbers) => (numbers, &[][..]),
            Acks::Fields(fields) => (&[][..], fields.bytes),
        };
        let mut reader = Reader::new(bytes);
        // The fields were checked when they were decoded.
        let fields = core::iter::from_fn(move || reader.element().ok()??.nni().ok());
        numbers.iter().copied().chain(fields)
    }
}

impl PartialEq for Acks<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Acks<'_> {}

impl Default for Acks<'_> {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Debug for Acks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A link frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LpPacket<'a> {
    /// Fragmentation and reliability.
    pub link: LinkHeader,
    /// What belongs to the network packet.
    pub header: LpHeader,
    /// Acknowledgements.
    pub acks: Acks<'a>,
    /// PrefixAnnouncement: the Data in it, not decoded.
    pub prefix_announcement: Option<&'a [u8]>,
    /// A network packet, or a piece of one. A frame without it is idle: it has acknowledgements at most.
    pub fragment: Option<&'a [u8]>,
}

impl<'a> LpPacket<'a> {
    /// A whole network packet with its header.
    pub const fn new(header: LpHeader, packet: &'a [u8]) -> Self {
        LpPacket {
            link: LinkHeader::NONE,
            header,
            acks: Acks::NONE,
            prefix_announcement: None,
            fragment: Some(packet),
        }
    }

    /// Decodes a frame: an LpPacket, or a bare Interest or Data.
    ///
    /// The fragment is not looked into. Errors besides those of the fields: [`DecodeErrorKind::OutOfOrder`],
    /// [`DecodeErrorKind::Repeated`], [`DecodeErrorKind::Critical`], [`DecodeErrorKind::BadFragment`],
    /// [`DecodeErrorKind::TooLarge`].
    pub fn decode(wire: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_knowing(wire, &SignalSet::ALL)
    }

    /// As [`LpPacket::decode`], for a node that knows these signals: the others are unknown fields.
    pub fn decode_knowing(wire: &'a [u8], known: &SignalSet) -> Result<Self, DecodeError> {
        let outer = tlv::whole(wire)?;
        match outer.typ {
            types::LP_PACKET => Self::decode_fields(&outer, known),
            packet_types::INTEREST | packet_types::DATA => Ok(Self::new(LpHeader::NONE, wire)),
            other => Err(DecodeErrorKind::Unexpected(other).at(0)),
        }
    }

    fn decode_fields(outer: &Element<'a>, known: &SignalSet) -> Result<Self, DecodeError> {
        let mut packet = LpPacket::default();
        let mut frag_index = None;
        let mut frag_count = None;
        let mut acks: Option<AckFields<'a>> = None;
        let mut reader = outer.reader();
        // Place in the required order: the type, and behind all types for Fragment.
        let mut last = 0;
        loop {
            let at = reader.rest();
            let Some(element) = reader.element()? else { break };
            let typ = element.typ;
            let place = if typ == types::FRAGMENT { u64::MAX } else { u64::from(typ) };
            if place < last {
                return Err(DecodeErrorKind::OutOfOrder(typ).at(element.start));
            }
            // Whether an unknown field may be repeated, its definition says, which we do not have.
            if place == last && typ != types::ACK && (is_known(typ) || known.has_type(typ)) {
                return Err(DecodeErrorKind::Repeated(typ).at(element.start));
            }
            last = place;
            let header = &mut packet.header;
            match typ {
                types::FRAGMENT => packet.fragment = Some(element.value),
                types::SEQUENCE => packet.link.sequence = Some(u64::from_be_bytes(*element.fixed()?)),
                types::FRAG_INDEX => frag_index = Some(element.nni()?),
                types::FRAG_COUNT => frag_count = Some(element.nni()?),
                types::PIT_TOKEN => {
                    let bad_length = DecodeErrorKind::BadLength(typ).at(element.start);
                    header.pit_token = PitToken::new(element.value).ok_or(bad_length)?;
                }
                types::NACK => {
                    let reason = inner_nni(&element, types::NACK_REASON)?.unwrap_or(0);
                    header.set_nack(Some(NackReason::from_value(reason)));
                }
                types::INCOMING_FACE_ID => header.set_incoming_face_id(Some(element.nni()?)),
                types::NEXT_HOP_FACE_ID => header.set_next_hop_face_id(Some(element.nni()?)),
                types::CACHE_POLICY => {
                    let missing = DecodeErrorKind::Missing(types::CACHE_POLICY_TYPE).at(element.value_start);
                    let policy = inner_nni(&element, types::CACHE_POLICY_TYPE)?.ok_or(missing)?;
                    header.set_cache_policy(Some(CachePolicy::from_value(policy)));
                }
                types::CONGESTION_MARK => header.congestion_mark = element.nni()?,
                types::ACK => {
                    element.fixed::<8>()?;
                    // Nothing can stand between two Acks, so that they are one run of bytes.
                    let fields = acks.get_or_insert(AckFields { bytes: at, count: 0 });
                    fields.count += 1;
                    let end = fields.bytes.len() - reader.rest().len();
                    packet.acks =
                        Acks::Fields(AckFields { bytes: &fields.bytes[..end], count: fields.count });
                }
                types::TX_SEQUENCE => packet.link.tx_sequence = Some(u64::from_be_bytes(*element.fixed()?)),
                types::NON_DISCOVERY => {
                    element.empty()?;
                    header.non_discovery = true;
                }
                types::PREFIX_ANNOUNCEMENT => packet.prefix_announcement = Some(element.value),
                _ if known.has_type(typ) => header.signals.receive(typ, element.nni()?, known),
                _ if is_ignorable(typ) => {}
                _ => return Err(DecodeErrorKind::Critical(typ).at(element.start)),
            }
        }
        let link = &mut packet.link;
        link.frag_index = frag_index.unwrap_or(0);
        link.frag_count = frag_count.unwrap_or(1);
        if link.frag_index >= link.frag_count || (link.is_piece() && link.sequence.is_none()) {
            return Err(DecodeErrorKind::BadFragment.at(outer.value_start));
        }
        Ok(packet)
    }

    fn fields_len(&self) -> usize {
        let announcement = self.prefix_announcement.map_or(0, |data| {
            // The value is the Data, header included.
            element_len(types::PREFIX_ANNOUNCEMENT, data.len())
        });
        self.link.fields_len() + self.header.fields_len() + self.acks.len() * ACK_LEN + announcement
    }

    /// Whether the frame is the fragment alone: it has no header field, and the fragment is one
    /// element with the type of Interest or Data. Anything else needs an LpPacket around it.
    pub fn is_bare(&self) -> bool {
        let bare = |fragment| {
            let typ = tlv::whole(fragment).map(|element| element.typ);
            matches!(typ, Ok(packet_types::INTEREST | packet_types::DATA))
        };
        self.fields_len() == 0 && self.fragment.is_some_and(bare)
    }

    /// Length of the frame, bytes.
    pub fn wire_len(&self) -> usize {
        match self.fragment {
            Some(fragment) if self.is_bare() => fragment.len(),
            Some(fragment) => wrapped_len(self.fields_len(), fragment.len()),
            None => element_len(types::LP_PACKET, self.fields_len()),
        }
    }

    /// Appends the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.encode_head(out);
        out.extend_from_slice(self.fragment.unwrap_or_default());
    }

    /// Appends the frame up to, without, the bytes of the fragment, which are the frame's last:
    /// for sending both without a copy. Nothing if the frame is the fragment alone.
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        if self.is_bare() {
            return;
        }
        let fields_len = self.fields_len();
        match self.fragment {
            Some(fragment) => {
                put_header(out, types::LP_PACKET, fields_len + element_len(types::FRAGMENT, fragment.len()));
            }
            None => put_header(out, types::LP_PACKET, fields_len),
        }
        let LpPacket { link, header, .. } = self;
        // Fields are in ascending order, so signals with small numbers stand between others.
        let mut signals = header.signals.iter().peekable();
        if let Some(sequence) = link.sequence {
            put_element(out, types::SEQUENCE, &sequence.to_be_bytes());
        }
        if link.is_piece() {
            put_nni_element(out, types::FRAG_INDEX, link.frag_index);
            put_nni_element(out, types::FRAG_COUNT, link.frag_count);
        }
        if !header.pit_token.is_none() {
            put_element(out, types::PIT_TOKEN, header.pit_token.bytes());
        }
        if let Some(reason) = header.nack() {
            put_header(out, types::NACK, reason.nack_value_len());
            if reason.value() != 0 {
                put_nni_element(out, types::NACK_REASON, reason.value());
            }
        }
        while let Some((typ, value)) = signals.next_if(|(typ, _)| *typ < types::INCOMING_FACE_ID) {
            put_nni_element(out, typ, value);
        }
        if let Some(face) = header.incoming_face_id() {
            put_nni_element(out, types::INCOMING_FACE_ID, face);
        }
        if let Some(face) = header.next_hop_face_id() {
            put_nni_element(out, types::NEXT_HOP_FACE_ID, face);
        }
        if let Some(policy) = header.cache_policy() {
            let value_len = nni_element_len(types::CACHE_POLICY_TYPE, policy.value());
            put_header(out, types::CACHE_POLICY, value_len);
            put_nni_element(out, types::CACHE_POLICY_TYPE, policy.value());
        }
        while let Some((typ, value)) = signals.next_if(|(typ, _)| *typ < types::CONGESTION_MARK) {
            put_nni_element(out, typ, value);
        }
        if header.congestion_mark != 0 {
            put_nni_element(out, types::CONGESTION_MARK, header.congestion_mark);
        }
        for ack in self.acks.iter() {
            put_element(out, types::ACK, &ack.to_be_bytes());
        }
        if let Some(tx_sequence) = link.tx_sequence {
            put_element(out, types::TX_SEQUENCE, &tx_sequence.to_be_bytes());
        }
        if header.non_discovery {
            put_header(out, types::NON_DISCOVERY, 0);
        }
        if let Some(data) = self.prefix_announcement {
            put_element(out, types::PREFIX_ANNOUNCEMENT, data);
        }
        for (typ, value) in signals {
            put_nni_element(out, typ, value);
        }
        if let Some(fragment) = self.fragment {
            put_header(out, types::FRAGMENT, fragment.len());
        }
    }

    /// The frame in a new vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        self.encode(&mut out);
        out
    }
}

/// Whether we know this header field, signals left out.
fn is_known(typ: u32) -> bool {
    matches!(
        typ,
        types::FRAGMENT
            | types::SEQUENCE
            | types::FRAG_INDEX
            | types::FRAG_COUNT
            | types::PIT_TOKEN
            | types::NACK
            | types::INCOMING_FACE_ID
            | types::NEXT_HOP_FACE_ID
            | types::CACHE_POLICY
            | types::CONGESTION_MARK
            | types::ACK
            | types::TX_SEQUENCE
            | types::NON_DISCOVERY
            | types::PREFIX_ANNOUNCEMENT
    )
}

/// The number in the element of type `typ` in a field that holds at most this one.
fn inner_nni(field: &Element<'_>, typ: u32) -> Result<Option<u64>, DecodeError> {
    let mut found = None;
    let mut reader = field.reader();
    while let Some(inner) = reader.element()? {
        if inner.typ == typ && found.is_none() {
            found = Some(inner.nni()?);
        } else {
            inner.ignore()?;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_without_header_fields_is_sent_bare() {
        let packet = LpPacket::new(LpHeader::NONE, &[5, 0]);
        assert_eq!((packet.to_vec(), packet.wire_len()), (alloc::vec![5, 0], 2));
        assert_eq!(LpHeader::NONE.wire_len(1000), 1000);
    }

    #[test]
    fn a_congestion_mark_costs_what_it_adds() {
        let header = LpHeader { congestion_mark: 1, ..LpHeader::NONE };
        // 64 LL, fd0340 01 01, 50 LL.
        assert_eq!(header.wire_len(100), 2 + 5 + 2 + 100);
        assert_eq!(header.wire_len(1000), 4 + 5 + 4 + 1000);
        let wire = LpPacket::new(header, &[5, 0]).to_vec();
        assert_eq!(wire, [0x64, 9, 0xFD, 3, 0x40, 1, 1, 0x50, 2, 5, 0]);
    }

    #[test]
    fn a_token_has_1_to_32_bytes() {
        assert_eq!(PitToken::new(&[]), None);
        assert_eq!(PitToken::new(&[0; 33]), None);
        assert_eq!(PitToken::new(&[7; 32]).unwrap().bytes(), [7; 32]);
        assert_eq!(PitToken::from_u48(0x0001_0000_0003).bytes(), [0, 1, 0, 0, 0, 3]);
        assert_eq!(PitToken::from_u48(u64::MAX).as_u48(), Some(0xFFFF_FFFF_FFFF));
        assert_eq!(PitToken::new(&[1]).unwrap().as_u48(), None);
    }

    #[test]
    fn the_header_stays_small() {
        assert!(size_of::<LpHeader>() <= 208, "{}", size_of::<LpHeader>());
    }
}
