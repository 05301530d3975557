//! Conversion between the bytes of packets and the core's packets.
//!
//! A packet keeps its received bytes, so signed content leaves unchanged. Only the fields that hops may change are
//! changed: the link header, and the hop limit and nonce of an Interest.

use crate::secrets::{Nonces, Secrets};
use bytes::{Bytes, BytesMut};
use weir_core::Span;
use weir_core::name::NameHasher;
use weir_core::packet::{Kind, Packet, PacketId, PacketPool};
use weir_packet::tlv::{MAX_PACKET_SIZE, types};
use weir_packet::{Data, DecodeError, DecodeErrorKind, Interest, LpHeader, LpPacket, SignalSet};

/// Memory that packets are cut from: one allocation for many packets.
#[derive(Debug, Default)]
pub struct Arena {
    block: BytesMut,
}

/// Size of a block. A packet that is kept for long keeps its block: the content store makes copies.
const BLOCK: usize = 64 * 1024;

impl Arena {
    fn copy(&mut self, wire: &[u8]) -> Bytes {
        if self.block.capacity() < wire.len() {
            self.block = BytesMut::with_capacity(BLOCK.max(wire.len()));
        }
        self.block.extend_from_slice(wire);
        self.block.split().freeze()
    }
}

/// Makes the core's packets of network packets.
#[derive(Debug)]
pub struct Decoder {
    hasher: NameHasher,
    arena: Arena,
    /// Nonces for Interests that came without one.
    nonces: Nonces,
    known: SignalSet,
    scratch: Vec<u8>,
}

impl Decoder {
    /// A codec that hashes names like the node, and accepts only the signals in `known`.
    pub fn new(Secrets { names: hasher, nonces }: Secrets, known: SignalSet) -> Decoder {
        let scratch = Vec::with_capacity(MAX_PACKET_SIZE);
        Decoder { hasher, arena: Arena::default(), nonces, known, scratch }
    }

    /// Decodes a bare Interest or Data and its received link header into the pool.
    ///
    /// # Errors
    /// The packet is malformed, or too large, possibly because of an added nonce.
    pub fn decode(
        &mut self,
        header: &LpHeader,
        wire: &[u8],
        pool: &mut PacketPool,
    ) -> Result<PacketId, DecodeError> {
        if wire.len() > MAX_PACKET_SIZE {
            return Err(DecodeErrorKind::TooLarge.at(0));
        }
        let id = match wire.first().map(|typ| u32::from(*typ)) {
            Some(types::DATA) if header.nack().is_none() => self.data(header, wire, pool),
            _ => self.interest(header, wire, pool),
        }?;
        pool[id].header_mut().signals.retain(self.known);
        Ok(id)
    }

    fn interest(
        &mut self,
        header: &LpHeader,
        wire: &[u8],
        pool: &mut PacketPool,
    ) -> Result<PacketId, DecodeError> {
        let (interest, layout) = Interest::decode_with_layout(wire)?;
        let (nonce, wire) = match interest.nonce {
            Some(nonce) => (nonce, wire),
            None => {
                let nonce = self.nonces.next_nonce();
                self.scratch.clear();
                layout.encode_with_nonce(wire, nonce, &mut self.scratch);
                if self.scratch.len() > MAX_PACKET_SIZE {
                    return Err(DecodeErrorKind::TooLarge.at(0));
                }
                (nonce, &self.scratch[..])
            }
        };
        let id = pool.take();
        let packet = &mut pool[id];
        if packet.name.assign_wire(&self.hasher, interest.name.value()).is_err() {
            pool.free(id);
            return Err(DecodeErrorKind::TooLarge.at(layout.value_start));
        }
        packet.kind = if header.nack().is_some() { Kind::Nack } else { Kind::Interest };
        packet.can_be_prefix = interest.can_be_prefix;
        packet.must_be_fresh = interest.must_be_fresh;
        packet.hop_limit = interest.hop_limit;
        packet.lifetime = millis(interest.lifetime_ms());
        packet.nonce = nonce;
        packet.wire = self.arena.copy(wire);
        packet.net_len = packet.wire.len() as u32;
        *packet.header_mut() = *header;
        Ok(id)
    }

    fn data(
        &mut self,
        header: &LpHeader,
        wire: &[u8],
        pool: &mut PacketPool,
    ) -> Result<PacketId, DecodeError> {
        let data = Data::decode(wire)?;
        let id = pool.take();
        let packet = &mut pool[id];
        if packet.name.assign_wire(&self.hasher, data.name.value()).is_err() {
            pool.free(id);
            return Err(DecodeErrorKind::TooLarge.at(0));
        }
        packet.kind = Kind::Data;
        packet.content_len = data.payload().len() as u32;
        packet.freshness = millis(data.freshness_period_ms());
        packet.wire = self.arena.copy(wire);
        packet.net_len = wire.len() as u32;
        *packet.header_mut() = *header;
        Ok(id)
    }
}

/// Longer ones are cut to what the core counts in.
fn millis(ms: u64) -> Span {
    Span::from_nanos(ms.saturating_mul(1_000_000).min(u64::MAX / 4))
}

/// The bare packet to send. It is written to `out` if it differs from the received bytes.
///
/// It has the remaining hop limit. A Nack has the nonce of the downstream's own Interest.
pub fn net_packet<'a>(packet: &'a Packet, out: &'a mut Vec<u8>) -> &'a [u8] {
    let unchanged = match packet.kind {
        Kind::Data => true,
        Kind::Interest => packet.hop_limit.is_none(),
        Kind::Nack => false,
    };
    if unchanged {
        return &packet.wire;
    }
    out.clear();
    out.extend_from_slice(&packet.wire);
    if let Ok((_, layout)) = Interest::decode_with_layout(&packet.wire) {
        if let (Some(at), Some(hop_limit)) = (layout.hop_limit, packet.hop_limit) {
            out[at] = hop_limit;
        }
        if let Some(at) = layout.nonce {
            out[at..at + 4].copy_from_slice(&packet.nonce.to_be_bytes());
        }
    }
    out
}

/// What of a link header a peer may say: fields for applications on this host only where they are
/// switched on.
pub fn trusted(mut header: LpHeader, local_fields: bool) -> LpHeader {
    if !local_fields {
        header.set_next_hop_face_id(None);
        header.set_cache_policy(None);
    }
    header.set_incoming_face_id(None);
    header
}

/// The frame around a bare packet, appended to `out`.
pub fn frame(header: &LpHeader, net: &[u8], out: &mut Vec<u8>) {
    LpPacket::new(*header, net).encode(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::{Component, Name};

    fn decode(wire: &[u8]) -> Result<Packet, DecodeError> {
        let (mut decoder, mut pool) = (Decoder::new(Secrets::fixed(1), SignalSet::ALL), PacketPool::new());
        let id = decoder.decode(&LpHeader::NONE, wire, &mut pool)?;
        Ok(pool[id].clone())
    }

    #[test]
    fn an_interest_without_a_nonce_is_given_one() {
        let name: Name = "/a/b".parse().unwrap();
        let bare = Interest::new(name.view()).to_vec();
        let packet = decode(&bare).unwrap();
        assert_eq!(Interest::decode(&packet.wire).unwrap().nonce, Some(packet.nonce));
        assert_eq!(packet.net_len as usize, bare.len() + 6);
        let again = decode(&packet.wire).unwrap();
        assert_eq!((again.nonce, &again.wire), (packet.nonce, &packet.wire));
    }

    #[test]
    fn an_interest_for_whose_nonce_there_is_no_room_is_too_large() {
        // Of this length with the TYPE and LENGTH of the Interest, the Name and the component.
        let bare = |len: usize| {
            let name = Name::new().with(Component::generic(&vec![7; len - 12]));
            let bare = Interest::new(name.view()).to_vec();
            assert_eq!(bare.len(), len);
            bare
        };
        assert_eq!(decode(&bare(MAX_PACKET_SIZE - 6)).unwrap().wire.len(), MAX_PACKET_SIZE);
        assert_eq!(decode(&bare(MAX_PACKET_SIZE - 5)).unwrap_err(), DecodeErrorKind::TooLarge.at(0));
    }
}
