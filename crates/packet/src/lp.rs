//! NDNLPv2: the link header around a network packet.
//!
//! There are three groups of fields. [`LinkHeader`] holds those of fragmentation and reliability, which end at this
//! link. [`LpHeader`] is a small copyable struct; it travels with the network packet through a node. The third group is
//! borrowed bytes: acknowledgements, prefix announcement and fragment.
//!
//! Rules for input: fields must be in ascending order of TLV-TYPE except Fragment, which is last. Only Ack may be
//! repeated. An unknown field is ignored if its type is from 800 to 959 and a multiple of 4; otherwise the frame is
//! invalid. A bare Interest or Data is a frame without a header, and a frame without header fields is sent in this
//! form.

use crate::signal::{SignalSet, Signals};
use crate::tlv::{
    self, DecodeError, DecodeErrorKind, Element, Reader, element_len, nni_element_len, put_element,
    put_header, put_nni_element, types as packet_types,
};
use alloc::vec::Vec;
use core::fmt;

/// TLV-TYPE numbers of NDNLPv2. For the numbers of signals see [`crate::signal`].
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

/// Returns whether a node ignores this header field if it does not know it: types from 800 to 959 that are multiples of
/// 4.
#[inline]
pub const fn is_ignorable(typ: u32) -> bool {
    typ >= 800 && typ <= 959 && typ.is_multiple_of(4)
}

/// PIT token: bytes that a node attaches to an Interest and receives back with its Data or Nack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PitToken {
    // This field is first so that the derived order compares lengths first.
    len: u8,
    bytes: [u8; Self::MAX_LEN],
}

impl PitToken {
    /// Maximum length of a token, bytes.
    pub const MAX_LEN: usize = 32;

    /// No token.
    pub const NONE: PitToken = PitToken { len: 0, bytes: [0; Self::MAX_LEN] };

    /// Creates a token of 1 to 32 bytes. Returns `None` for another length.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        let mut token = PitToken { len: bytes.len() as u8, ..Self::NONE };
        token.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(token)
    }

    /// Creates a token of 6 bytes from the low 48 bits of `number`. All known forwarders accept this length.
    pub fn from_u48(number: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        let mut token = PitToken { len: 6, ..Self::NONE };
        token.bytes[..6].copy_from_slice(&[a, b, c, d, e, f]);
        token
    }

    /// The number in a token of 6 bytes; `None` for another length.
    pub fn as_u48(&self) -> Option<u64> {
        let [a, b, c, d, e, f] = *<&[u8; 6]>::try_from(self.bytes()).ok()?;
        Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    /// The token's bytes; empty without a token.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).min(Self::MAX_LEN)]
    }

    /// Returns whether there is no token.
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

/// Reason of a Nack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NackReason {
    /// No reason.
    #[default]
    None,
    /// The link or node is congested.
    Congestion,
    /// The nonce has been seen before.
    Duplicate,
    /// There is no route for the name.
    NoRoute,
    /// Another value.
    Other(u64),
}

impl NackReason {
    /// Returns the reason for a field's value.
    pub const fn from_value(value: u64) -> Self {
        match value {
            0 => Self::None,
            50 => Self::Congestion,
            100 => Self::Duplicate,
            150 => Self::NoRoute,
            other => Self::Other(other),
        }
    }

    /// The field's value. A value of 0 is not written.
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

/// An application's instruction to content stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CachePolicy {
    /// Do not store the Data.
    NoCache,
    /// Another value.
    Other(u64),
}

impl CachePolicy {
    /// Returns the policy for a field's value.
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
/// The fields are in the order in which forwarding reads them. Those that most packets carry share cache lines; a bit
/// set records which rare fields are present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LpHeader {
    /// Bit set of the present fields of `numbers`.
    present: u8,
    /// The Interest must not be used for route discovery.
    pub non_discovery: bool,
    /// PIT token.
    pub pit_token: PitToken,
    /// Congestion mark; 0: none. Only 0 and 1 have a meaning common to all nodes.
    pub congestion_mark: u64,
    /// Weir's hop-by-hop signals.
    pub signals: Signals,
    /// Values of the rare fields; 0 if absent.
    numbers: [u64; 4],
}

/// Index of a field in `LpHeader::numbers`.
#[derive(Clone, Copy)]
enum Number {
    NackReason,
    IncomingFaceId,
    NextHopFaceId,
    CachePolicy,
}

impl LpHeader {
    /// No fields.
    pub const NONE: LpHeader = LpHeader {
        present: 0,
        non_discovery: false,
        pit_token: PitToken::NONE,
        congestion_mark: 0,
        signals: Signals::NONE,
        numbers: [0; 4],
    };

    /// Creates a header with only this PIT token.
    #[inline]
    pub fn with_token(pit_token: PitToken) -> LpHeader {
        LpHeader { pit_token, ..LpHeader::NONE }
    }

    /// Creates the header of a Nack with this reason.
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

    /// Returns whether a rare field is present: any field except PIT token, congestion mark and signals.
    #[inline]
    pub fn has_rare_fields(&self) -> bool {
        self.present != 0 || self.non_discovery
    }

    /// The reason, if the packet is a Nack for the Interest in it.
    #[inline]
    pub fn nack(&self) -> Option<NackReason> {
        self.number(Number::NackReason).map(NackReason::from_value)
    }

    /// Sets or removes the Nack field.
    pub fn set_nack(&mut self, reason: Option<NackReason>) {
        self.set_number(Number::NackReason, reason.map(NackReason::value));
    }

    /// The face on which the packet arrived. A forwarder sends this to a local application.
    pub fn incoming_face_id(&self) -> Option<u64> {
        self.number(Number::IncomingFaceId)
    }

    /// Sets IncomingFaceId.
    pub fn set_incoming_face_id(&mut self, face: Option<u64>) {
        self.set_number(Number::IncomingFaceId, face);
    }

    /// The face on which an Interest must leave. A local application sends this to a forwarder.
    #[inline]
    pub fn next_hop_face_id(&self) -> Option<u64> {
        self.number(Number::NextHopFaceId)
    }

    /// Sets NextHopFaceId.
    pub fn set_next_hop_face_id(&mut self, face: Option<u64>) {
        self.set_number(Number::NextHopFaceId, face);
    }

    /// The instruction to content stores for the Data.
    #[inline]
    pub fn cache_policy(&self) -> Option<CachePolicy> {
        self.number(Number::CachePolicy).map(CachePolicy::from_value)
    }

    /// Sets CachePolicy.
    pub fn set_cache_policy(&mut self, policy: Option<CachePolicy>) {
        self.set_number(Number::CachePolicy, policy.map(CachePolicy::value));
    }

    /// Length of the header fields on the wire, bytes.
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

    /// Length of the frame with a network packet of `fragment_len` bytes and this header. If the header is empty, the
    /// frame is the packet alone.
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
    /// FragIndex: index of the fragment in its packet, from 0.
    pub frag_index: u64,
    /// FragCount: number of fragments of the packet, at least 1. A value above 1 needs a Sequence.
    pub frag_count: u64,
    /// TxSequence: number of the transmission. The receiver acknowledges it.
    pub tx_sequence: Option<u64>,
}

impl Default for LinkHeader {
    fn default() -> Self {
        Self::NONE
    }
}

impl LinkHeader {
    /// No fields: a whole packet without acknowledgement.
    pub const NONE: LinkHeader =
        LinkHeader { sequence: None, frag_index: 0, frag_count: 1, tx_sequence: None };

    /// Returns whether the fragment is only a piece of a packet.
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

/// The acknowledgements in a frame: numbers to send, or the fields of a received frame.
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
    /// No acknowledgements.
    pub const NONE: Acks<'static> = Acks::Numbers(&[]);

    /// Number of acknowledgements.
    #[inline]
    pub const fn len(&self) -> usize {
        match self {
            Acks::Numbers(numbers) => numbers.len(),
            Acks::Fields(fields) => fields.count,
        }
    }

    /// Returns whether there are no acknowledgements.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The acknowledged TxSequences.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (numbers, bytes) = match *self {
            Acks::Numbers(numbers) => (numbers, &[][..]),
            Acks::Fields(fields) => (&[][..], fields.bytes),
        };
        let mut reader = Reader::new(bytes);
        // `decode` checked the fields.
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

/// A link frame (LpPacket, or a bare network packet).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LpPacket<'a> {
    /// Fragmentation and reliability.
    pub link: LinkHeader,
    /// Fields of the network packet.
    pub header: LpHeader,
    /// Acknowledgements.
    pub acks: Acks<'a>,
    /// PrefixAnnouncement: the Data in it, not decoded.
    pub prefix_announcement: Option<&'a [u8]>,
    /// A network packet, or a piece of one. A frame without it is idle and may carry acknowledgements.
    pub fragment: Option<&'a [u8]>,
}

impl<'a> LpPacket<'a> {
    /// Creates a frame with a whole network packet and its header.
    pub const fn new(header: LpHeader, packet: &'a [u8]) -> Self {
        LpPacket {
            link: LinkHeader::NONE,
            header,
            acks: Acks::NONE,
            prefix_announcement: None,
            fragment: Some(packet),
        }
    }

    /// Decodes a frame: an LpPacket, or a bare Interest or Data. The fragment is not decoded.
    ///
    /// # Errors
    /// Besides the errors of the fields, returns [`DecodeErrorKind::OutOfOrder`], [`DecodeErrorKind::Repeated`],
    /// [`DecodeErrorKind::Critical`], [`DecodeErrorKind::BadFragment`] or [`DecodeErrorKind::TooLarge`].
    pub fn decode(wire: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode_knowing(wire, &SignalSet::ALL)
    }

    /// Like [`LpPacket::decode`], for a node that knows these signals. Other signals count as unknown fields.
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
        // Position in the required order: the TLV-TYPE, and after all types for Fragment.
        let mut last = 0;
        loop {
            let at = reader.rest();
            let Some(element) = reader.element()? else { break };
            let typ = element.typ;
            let place = if typ == types::FRAGMENT { u64::MAX } else { u64::from(typ) };
            if place < last {
                return Err(DecodeErrorKind::OutOfOrder(typ).at(element.start));
            }
            // An unknown field may be repeated: only its definition could forbid that.
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
                    // No field can come between two Acks, so all Acks are one run of bytes.
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
            // The value is the whole Data, including its header.
            element_len(types::PREFIX_ANNOUNCEMENT, data.len())
        });
        self.link.fields_len() + self.header.fields_len() + self.acks.len() * ACK_LEN + announcement
    }

    /// Returns whether the frame is the fragment alone: it has no header field, and the fragment is one element with
    /// the type of Interest or Data. Any other frame needs an LpPacket around it.
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

    /// Appends the frame up to the bytes of the fragment, which end the frame. The caller can then send head and
    /// fragment without a copy. Appends nothing if the frame is the fragment alone.
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
        // Fields are in ascending order, so signals with small numbers come between other fields.
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

/// Returns whether this is a known header field other than a signal.
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

/// The number in the element of type `typ`. The field may hold only this element.
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
