//! Conversion between a [`Packet`] and its bytes.

use weir_packet::tlv::{element_len, types};
use weir_packet::{
    Data, DataLengths, DecodeError, ForwardingHint, Interest, InterestLengths, LpPacket, MetaInfo, NameRef,
    NetPacket, Payload, Signature, SignatureInfo, SignatureType, decode_frame,
};

use crate::name::{HashedName, NameHasher};
use crate::packet::{Hint, Kind, Packet};
use crate::units::Span;

/// Length of the whole frame on a link, bytes.
#[inline]
pub fn frame_len(packet: &Packet) -> u64 {
    packet.header().wire_len(packet.net_len as usize) as u64
}

fn millis(span: Span) -> u64 {
    span.as_nanos() / 1_000_000
}

/// Length of the bare Interest, bytes.
pub fn interest_len(interest: &Packet) -> u32 {
    let lengths = InterestLengths {
        name: interest.name.wire().len(),
        can_be_prefix: interest.can_be_prefix,
        must_be_fresh: interest.must_be_fresh,
        forwarding_hint: interest.hint.as_ref().map_or(0, hint_len),
        nonce: true,
        lifetime: Some(millis(interest.lifetime)),
        hop_limit: interest.hop_limit.is_some(),
        ..InterestLengths::default()
    };
    lengths.wire_len() as u32
}

/// Length of the value of a forwarding hint, bytes.
fn hint_len(hint: &Hint) -> usize {
    hint.iter().map(|delegation| element_len(types::NAME, delegation.wire().len())).sum()
}

/// Appends the value of a forwarding hint to `out`.
fn encode_hint(hint: &Hint, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    hint.iter().try_for_each(|delegation| {
        NameRef::from_value(delegation.wire())?.encode(out);
        Ok(())
    })
}

/// Length of the bare Data, bytes.
pub fn data_len(data: &Packet) -> u32 {
    let meta = meta_info(data).value_len();
    let lengths = DataLengths {
        signature_value: usize::from(data.signature_len),
        ..DataLengths::with_digest(data.name.wire().len(), meta, data.content_len as usize)
    };
    lengths.wire_len() as u32
}

fn meta_info(data: &Packet) -> MetaInfo<'static> {
    let freshness_period = Some(millis(data.freshness)).filter(|&ms| ms > 0);
    MetaInfo { freshness_period, ..MetaInfo::NONE }
}

/// The difference between a packet and its encoded and decoded form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireError {
    /// It cannot be decoded.
    Decode(DecodeError),
    /// Its length differs from the packet's length field.
    Length {
        /// Number of encoded bytes.
        encoded: usize,
        /// Length according to the packet, bytes.
        said: u64,
    },
    /// Decoding gives a different packet; the text names the field.
    Differs(&'static str),
}

impl core::fmt::Display for WireError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            WireError::Decode(error) => write!(f, "it cannot be decoded: {error}"),
            WireError::Length { encoded, said } => {
                write!(f, "it is {encoded} bytes long, but its stated length is {said}")
            }
            WireError::Differs(field) => write!(f, "decoding changes its {field}"),
        }
    }
}

impl std::error::Error for WireError {}

/// Appends the encoded frame of a packet without bytes of its own to `out`. Content and signature are zeros.
///
/// # Errors
/// Returns [`WireError::Decode`] if its name is malformed.
pub fn encode_frame(packet: &Packet, out: &mut Vec<u8>) -> Result<(), WireError> {
    let mut bare = Vec::with_capacity(packet.net_len as usize);
    encode_packet(packet, &mut bare)?;
    LpPacket::new(*packet.header(), &bare).encode(out);
    Ok(())
}

/// Like [`encode_frame`], without the link header.
///
/// # Errors
/// Returns [`WireError::Decode`] if its name is malformed.
pub fn encode_packet(packet: &Packet, out: &mut Vec<u8>) -> Result<(), WireError> {
    let name = NameRef::from_value(packet.name.wire()).map_err(WireError::Decode)?;
    if packet.kind == Kind::Data {
        let content = vec![0; packet.content_len as usize];
        let signature = vec![0; usize::from(packet.signature_len)];
        let data = Data {
            meta: meta_info(packet),
            signature: Signature { info: SignatureInfo::new(SignatureType::DigestSha256), value: &signature },
            ..Data::new(name, &content, SignatureInfo::new(SignatureType::DigestSha256))
        };
        data.encode(out);
    } else {
        let mut hint = Vec::new();
        if let Some(delegations) = &packet.hint {
            encode_hint(delegations, &mut hint).map_err(WireError::Decode)?;
        }
        let interest = Interest {
            can_be_prefix: packet.can_be_prefix,
            must_be_fresh: packet.must_be_fresh,
            forwarding_hint: hint_of(&hint)?,
            nonce: Some(packet.nonce),
            lifetime: Some(millis(packet.lifetime)),
            hop_limit: packet.hop_limit,
            ..Interest::new(name)
        };
        interest.encode(out);
    }
    Ok(())
}

/// Parses a forwarding hint; `None` if it is empty.
fn hint_of(value: &[u8]) -> Result<ForwardingHint<'_>, WireError> {
    match value.is_empty() {
        true => Ok(ForwardingHint::NONE),
        false => ForwardingHint::from_value(value).map_err(WireError::Decode),
    }
}

/// Encodes and decodes a packet, and checks its length and that decoding returns the same packet.
///
/// # Errors
/// Returns the first difference.
pub fn check(packet: &Packet, hasher: &NameHasher, buffer: &mut Vec<u8>) -> Result<(), WireError> {
    buffer.clear();
    encode_frame(packet, buffer)?;
    if buffer.len() as u64 != frame_len(packet) {
        return Err(WireError::Length { encoded: buffer.len(), said: frame_len(packet) });
    }
    let (frame, payload) = decode_frame(buffer).map_err(WireError::Decode)?;
    if frame.header != *packet.header() {
        return Err(WireError::Differs("link header"));
    }
    let (kind, name) = match &payload {
        Payload::Packet(NetPacket::Interest(interest)) => (Kind::Interest, interest.name),
        Payload::Packet(NetPacket::Nack(_, interest)) => (Kind::Nack, interest.name),
        Payload::Packet(NetPacket::Data(data)) => (Kind::Data, data.name),
        Payload::Idle | Payload::Piece(_) => return Err(WireError::Differs("kind")),
    };
    if kind != packet.kind {
        return Err(WireError::Differs("kind"));
    }
    let decoded = HashedName::parse(hasher, name.value()).map_err(|_| WireError::Differs("name"))?;
    if decoded != packet.name {
        return Err(WireError::Differs("name"));
    }
    match &payload {
        Payload::Packet(NetPacket::Data(data)) => check_data(data, packet),
        Payload::Packet(NetPacket::Interest(interest) | NetPacket::Nack(_, interest)) => {
            check_interest(interest, packet)
        }
        Payload::Idle | Payload::Piece(_) => Err(WireError::Differs("kind")),
    }
}

fn check_data(data: &Data<'_>, packet: &Packet) -> Result<(), WireError> {
    if data.payload().len() != packet.content_len as usize {
        return Err(WireError::Differs("content"));
    }
    if data.freshness_period_ms() != millis(packet.freshness) {
        return Err(WireError::Differs("freshness period"));
    }
    Ok(())
}

fn check_interest(interest: &Interest<'_>, packet: &Packet) -> Result<(), WireError> {
    let flags =
        (interest.can_be_prefix, interest.must_be_fresh) == (packet.can_be_prefix, packet.must_be_fresh);
    let numbers = (interest.nonce, interest.hop_limit) == (Some(packet.nonce), packet.hop_limit);
    if !flags || !numbers || interest.lifetime_ms() != millis(packet.lifetime) {
        return Err(WireError::Differs("Interest fields"));
    }
    let said = packet.hint.iter().flat_map(|hint| hint.iter()).map(HashedName::wire);
    if !interest.forwarding_hint.names().map(|name| name.value()).eq(said) {
        return Err(WireError::Differs("forwarding hint"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::{HASHER, name};
    use crate::producer::Producer;
    use crate::units::Bytes;
    use weir_packet::{NackReason, PitToken};

    fn interest() -> Packet {
        let mut packet = Packet { nonce: 5, lifetime: Span::from_secs(2), ..Packet::default() };
        packet.name.assign_segment(&HASHER, &name("/a/b"), 300).unwrap();
        packet.hop_limit = Some(9);
        packet.must_be_fresh = true;
        packet.net_len = interest_len(&packet);
        packet.header_mut().signals.set_type(904, 1_000_000);
        packet.header_mut().pit_token = PitToken::from_u48(300);
        packet
    }

    fn data() -> Packet {
        let mut packet = interest();
        Producer { payload: Bytes::new(1024), freshness: Span::from_millis(10), signature: 32 }
            .answer(&mut packet);
        packet.header_mut().congestion_mark = 1;
        packet
    }

    #[test]
    fn interest_data_and_nack_are_what_the_codec_makes_of_them() {
        let mut nack = interest();
        nack.make_nack(NackReason::Congestion);
        let mut hinted = interest();
        hinted.hint = Some([name("/net/home"), name("/b")].into());
        hinted.net_len = interest_len(&hinted);
        assert_eq!(hinted.net_len, interest().net_len + 20);
        for packet in [interest(), data(), nack, hinted] {
            assert_eq!(check(&packet, &HASHER, &mut Vec::new()), Ok(()), "{:?}", packet.kind);
        }
    }

    #[test]
    fn a_wrong_length_is_caught() {
        for off in [-1, 1] {
            for mut packet in [interest(), data()] {
                let right = packet.net_len;
                packet.net_len = right.checked_add_signed(off).unwrap();
                let said = frame_len(&packet);
                let encoded = said.checked_add_signed(-i64::from(off)).unwrap();
                assert_eq!(
                    check(&packet, &HASHER, &mut Vec::new()),
                    Err(WireError::Length { encoded: encoded as usize, said })
                );
            }
        }
    }

    #[test]
    fn a_name_hashed_with_another_seed_or_a_lifetime_finer_than_the_format_is_caught() {
        let other = NameHasher::new(8);
        let result = check(&interest(), &other, &mut Vec::new());
        assert_eq!(result, Err(WireError::Differs("name")));
        let mut packet = interest();
        packet.name = HashedName::new();
        assert!(check(&packet, &HASHER, &mut Vec::new()).is_err(), "an Interest without a name");
    }
}
