//! Conversion between encoded packets and the core's packets.
//!
//! A packet keeps its received bytes, so signed content is sent unchanged. Only the fields that hops may change are
//! changed: the link header, and the hop limit and nonce of an Interest.

use std::collections::VecDeque;

use crate::secrets::{Nonces, Secrets};
use bytes::{Bytes, BytesMut};
use weir_core::Span;
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Hint, Kind, Packet, PacketId, PacketPool};
use weir_packet::tlv::{MAX_PACKET_SIZE, types};
use weir_packet::{
    Data, DecodeError, DecodeErrorKind, ForwardingHint, Interest, LpHeader, LpPacket, Name, SignalSet,
};

/// Packet memory: each block holds many packets. Blocks are reused.
#[derive(Debug)]
pub struct Arena {
    block: BytesMut,
    /// Full blocks, oldest first.
    full: VecDeque<BytesMut>,
}

/// Size of a block, bytes. A packet keeps its block alive, so a packet that stays for long gets memory of its own
/// ([`Packet::has_own_memory`]).
const BLOCK: usize = 64 * 1024;
/// Maximum number of full blocks kept for reuse. Assumed: they hold the packets that one round of the event loop
/// receives.
const MOST_FULL: usize = 16;

impl Default for Arena {
    fn default() -> Arena {
        Arena { block: BytesMut::with_capacity(BLOCK), full: VecDeque::new() }
    }
}

impl Arena {
    fn copy(&mut self, wire: &[u8]) -> Bytes {
        if self.block.capacity() < wire.len() {
            let next = self.next_block();
            self.full.push_back(core::mem::replace(&mut self.block, next));
        }
        self.block.extend_from_slice(wire);
        self.block.split().freeze()
    }

    /// Returns the oldest block for reuse, if all its packets are gone. A block that is still in use is dropped; its
    /// last packet frees it.
    #[cold]
    fn next_block(&mut self) -> BytesMut {
        if let Some(mut oldest) = self.full.pop_front() {
            if oldest.try_reclaim(BLOCK) {
                return oldest;
            }
            if self.full.len() + 1 < MOST_FULL {
                self.full.push_front(oldest);
            }
        }
        BytesMut::with_capacity(BLOCK)
    }
}

/// Decodes network packets into the core's packets.
#[derive(Debug)]
pub struct Decoder {
    hasher: NameHasher,
    arena: Arena,
    /// Nonces for Interests that arrive without one.
    nonces: Nonces,
    known: SignalSet,
    /// Whether Data get memory of their own.
    keeps_data: bool,
    /// Names of the networks to which this host belongs.
    regions: Vec<Name>,
    scratch: Vec<u8>,
    stripped: Vec<u8>,
}

/// Maximum number of delegations read from a forwarding hint. The rest are not used for routing, but hints that differ
/// only in them are different hints. Assumed: more than producers have networks.
pub const MOST_DELEGATIONS: usize = 8;

impl Decoder {
    /// The signals that the decoder accepts.
    pub fn known(&self) -> SignalSet {
        self.known
    }

    /// Creates a decoder that hashes names like the node and accepts only the signals in `known`.
    pub fn new(Secrets { names: hasher, nonces }: Secrets, known: SignalSet) -> Decoder {
        let scratch = Vec::with_capacity(MAX_PACKET_SIZE);
        let (regions, stripped) = (Vec::new(), Vec::new());
        let (arena, keeps_data) = (Arena::default(), false);
        Decoder { hasher, arena, nonces, known, keeps_data, regions, scratch, stripped }
    }

    /// Sets whether most Data are kept, as in a content store. If so, they are copied here and not again later.
    pub fn keep_data(&mut self, keeps_data: bool) {
        self.keeps_data = keeps_data;
    }

    /// Sets the names of the networks to which this host belongs. An Interest whose forwarding hint leads to one of
    /// them has arrived: it continues by its name, without the hint.
    #[must_use]
    pub fn in_regions(mut self, regions: Vec<Name>) -> Decoder {
        self.regions = regions;
        self
    }

    /// Returns whether a delegation leads to a network of this host, that is, is a prefix of the network's name.
    fn has_arrived(&self, hint: &ForwardingHint<'_>) -> bool {
        let is_here = |delegation| self.regions.iter().any(|region| region.view().starts_with(delegation));
        hint.names().take(MOST_DELEGATIONS).any(is_here)
    }

    /// The delegations of a hint. A delegation with too many components matches no route and is left out.
    fn delegations(&self, hint: &ForwardingHint<'_>) -> Option<Hint> {
        if hint.is_empty() {
            return None;
        }
        let names = hint.names().take(MOST_DELEGATIONS);
        let names = names.filter_map(|name| HashedName::parse(&self.hasher, name.value()).ok());
        Some(Hint::new(&self.hasher, hint.value(), names))
    }

    /// Decodes a bare Interest or Data and its received link header into the pool.
    ///
    /// # Errors
    /// Returns an error if the packet is malformed, or too large. An added nonce can make it too large.
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
        if self.has_arrived(&interest.forwarding_hint) {
            let mut stripped = core::mem::take(&mut self.stripped);
            stripped.clear();
            layout.encode_without_hint(wire, &mut stripped);
            let decoded = self.interest(header, &stripped, pool);
            self.stripped = stripped;
            return decoded;
        }
        let Some(nonce) = interest.nonce else {
            let mut with_nonce = core::mem::take(&mut self.scratch);
            with_nonce.clear();
            layout.encode_with_nonce(wire, self.nonces.next_nonce(), &mut with_nonce);
            let decoded = match with_nonce.len() {
                ..=MAX_PACKET_SIZE => self.interest(header, &with_nonce, pool),
                _ => Err(DecodeErrorKind::TooLarge.at(0)),
            };
            self.scratch = with_nonce;
            return decoded;
        };
        let hint = self.delegations(&interest.forwarding_hint);
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
        packet.hop_limit_at = layout.hop_limit.map_or(0, |at| at as u16);
        packet.lifetime = millis(interest.lifetime_ms());
        packet.nonce = nonce;
        packet.nonce_at = layout.nonce.map_or(0, |at| at as u16);
        packet.hint = hint;
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
        let bytes = if self.keeps_data { pool.copy_alone(wire) } else { self.arena.copy(wire) };
        let packet = &mut pool[id];
        packet.wire = bytes;
        packet.has_own_memory = self.keeps_data;
        if packet.name.assign_wire(&self.hasher, data.name.value()).is_err() {
            pool.free(id);
            return Err(DecodeErrorKind::TooLarge.at(0));
        }
        packet.kind = Kind::Data;
        packet.content_len = data.payload().len() as u32;
        packet.freshness = millis(data.freshness_period_ms());
        packet.net_len = wire.len() as u32;
        *packet.header_mut() = *header;
        Ok(id)
    }
}

/// Converts milliseconds. Longer times are cut to the core's maximum.
fn millis(ms: u64) -> Span {
    Span::from_nanos(ms.saturating_mul(1_000_000).min(u64::MAX / 4))
}

/// The bare packet to send. It is written to `out` if it differs from the received bytes.
///
/// It has the remaining hop limit, and the nonce from the core: a Nack has the nonce of the downstream's Interest, and
/// a copy for another next hop has a new one.
pub fn net_packet<'a>(packet: &'a Packet, out: &'a mut Vec<u8>) -> &'a [u8] {
    if packet.kind == Kind::Data {
        return &packet.wire;
    }
    let nonce_at = usize::from(packet.nonce_at)..usize::from(packet.nonce_at) + 4;
    let nonce = packet.nonce.to_be_bytes();
    let has_nonce = packet.nonce_at == 0 || packet.wire.get(nonce_at.clone()).is_none_or(|old| *old == nonce);
    if packet.hop_limit.is_none() && has_nonce {
        return &packet.wire;
    }
    out.clear();
    out.extend_from_slice(&packet.wire);
    if let (Some(hop_limit), Some(byte)) = (packet.hop_limit, out.get_mut(usize::from(packet.hop_limit_at))) {
        *byte = hop_limit;
    }
    if !has_nonce {
        out[nonce_at].copy_from_slice(&nonce);
    }
    out
}

/// Returns the parts of a link header that a peer may set. Fields for local applications are kept only if
/// `local_fields` is set.
pub fn trusted(mut header: LpHeader, local_fields: bool) -> LpHeader {
    if !local_fields {
        header.set_next_hop_face_id(None);
        header.set_cache_policy(None);
    }
    header.set_incoming_face_id(None);
    header
}

/// Appends the frame around a bare packet to `out`.
pub fn frame(header: &LpHeader, net: &[u8], out: &mut Vec<u8>) {
    LpPacket::new(*header, net).encode(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::Component;

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

    /// An Interest for `/a/b` with a forwarding hint to these networks, and parameters after the hint.
    fn hinted(networks: &[&str]) -> Vec<u8> {
        let [name, networks @ ..] = &[&["/a/b"], networks].concat()[..] else { unreachable!() };
        let mut hint = Vec::new();
        for network in networks {
            network.parse::<Name>().unwrap().view().encode(&mut hint);
        }
        let name: Name = name.parse().unwrap();
        let mut interest = Interest::new(name.view());
        interest.forwarding_hint = ForwardingHint::from_value(&hint).unwrap();
        (interest.nonce, interest.hop_limit, interest.application_parameters) =
            (Some(7), Some(9), Some(&b"param"[..]));
        interest.to_vec()
    }

    fn decode_in(region: &str, wire: &[u8]) -> Packet {
        let decoder = Decoder::new(Secrets::fixed(1), SignalSet::ALL);
        let (mut decoder, mut pool) = (decoder.in_regions(vec![region.parse().unwrap()]), PacketPool::new());
        let id = decoder.decode(&LpHeader::NONE, wire, &mut pool).unwrap();
        pool[id].clone()
    }

    #[test]
    fn a_hint_is_stripped_where_the_interest_has_arrived_and_nothing_else_changes() {
        let wire = hinted(&["/net/far", "/net/b"]);
        let elsewhere = decode_in("/net", &wire);
        assert_eq!((elsewhere.hint.as_ref().unwrap().len(), &elsewhere.wire[..]), (2, &wire[..]));
        let here = decode_in("/net/b/host", &wire);
        assert_eq!(here.hint, None);
        let (got, given) = (Interest::decode(&here.wire).unwrap(), Interest::decode(&wire).unwrap());
        assert_eq!(got, Interest { forwarding_hint: ForwardingHint::NONE, ..given });
        assert_eq!(here.net_len as usize, here.wire.len());
    }

    #[test]
    fn no_more_than_eight_delegations_are_read() {
        let networks: Vec<String> = (0..9).map(|n| format!("/net/{n}")).collect();
        let networks: Vec<&str> = networks.iter().map(String::as_str).collect();
        assert_eq!(decode_in("/net/8/here", &hinted(&networks)).hint.unwrap().len(), 8);
        let long = "/x".repeat(70);
        assert_eq!(decode_in("/net", &hinted(&[&long])).hint.unwrap().len(), 0, "matches no route");
    }

    /// Otherwise a consumer with one hint would wait for the answer from the other hint's network.
    #[test]
    fn hints_that_differ_only_in_delegations_that_are_not_read_are_two() {
        let long = "/x".repeat(70);
        let with_last = |last: &str| {
            let networks: Vec<String> =
                (0..8).map(|n| format!("/net/{n}")).chain([last.to_owned()]).collect();
            let networks: Vec<&str> = networks.iter().map(String::as_str).collect();
            decode(&hinted(&networks)).unwrap().hint_hash()
        };
        let hashes = [with_last("/net/8"), with_last("/net/9"), with_last(&long), with_last("/net/8/x")];
        assert!((1..4).all(|n| !hashes[..n].contains(&hashes[n])), "{hashes:?}");
        assert_eq!(hashes[0], with_last("/net/8"));
        let of = |networks: &[&str]| decode(&hinted(networks)).unwrap().hint_hash();
        assert_ne!(of(&["/net"]), of(&["/net", &long]));
        let plain: Name = "/a".parse().unwrap();
        assert!(of(&[&long]) != 0 && decode(&Interest::new(plain.view()).to_vec()).unwrap().hint_hash() == 0);
    }

    #[test]
    fn what_leaves_is_what_came_but_for_the_hop_limit_and_the_nonce() {
        let name: Name = "/a/b".parse().unwrap();
        for nonce in [None, Some(7)] {
            let mut interest = Interest::new(name.view());
            (interest.nonce, interest.hop_limit) = (nonce, Some(9));
            interest.lifetime = Some(3000);
            let mut packet = decode(&interest.to_vec()).unwrap();
            let came = packet.wire.clone();
            packet.hop_limit = Some(8);
            let mut out = Vec::new();
            let left = Interest { hop_limit: Some(8), ..Interest::decode(&came).unwrap() };
            assert_eq!(Interest::decode(net_packet(&packet, &mut out)).unwrap(), left);
            // A copy for another next hop has its own nonce.
            packet.nonce = 6;
            let copy = Interest { nonce: Some(6), ..left };
            assert_eq!(Interest::decode(net_packet(&packet, &mut out)).unwrap(), copy);
            packet.hop_limit = None;
            let copy = Interest { nonce: Some(6), ..Interest::decode(&came).unwrap() };
            assert_eq!(
                Interest::decode(net_packet(&packet, &mut out)).unwrap(),
                copy,
                "no hop limit to change"
            );
            packet.hop_limit = Some(8);
            (packet.kind, packet.nonce) = (Kind::Nack, 5);
            let back = Interest { nonce: Some(5), ..left };
            assert_eq!(Interest::decode(net_packet(&packet, &mut out)).unwrap(), back);
        }
        let bare = decode(&Interest::new(name.view()).to_vec()).unwrap();
        assert_eq!(net_packet(&bare, &mut Vec::new()), &bare.wire[..]);
    }

    #[test]
    fn data_that_are_kept_have_memory_of_their_own() {
        let (mut decoder, mut pool) = (Decoder::new(Secrets::fixed(1), SignalSet::ALL), PacketPool::new());
        // A Data with the name /a/b and an empty signature.
        let data = [6, 15, 7, 6, 8, 1, b'a', 8, 1, b'b', 22, 3, 27, 1, 0, 23, 0];
        let interest = Interest::new("/a/b".parse::<Name>().unwrap().view()).to_vec();
        for keeps in [false, true] {
            decoder.keep_data(keeps);
            for (wire, has_own_memory) in [(&data[..], keeps), (&interest, false)] {
                let id = decoder.decode(&LpHeader::NONE, wire, &mut pool).unwrap();
                assert_eq!(pool[id].has_own_memory, has_own_memory);
                assert!(pool[id].wire.len() >= wire.len());
            }
        }
    }

    #[test]
    fn blocks_whose_packets_are_gone_are_used_again_and_what_is_kept_stays() {
        let mut arena = Arena::default();
        let (mut kept, mut places) = (Vec::new(), std::collections::BTreeSet::new());
        for n in 0..2000u32 {
            let bytes = arena.copy(&[n as u8; 8000]);
            if n < 1000 {
                places.insert(bytes.as_ptr().addr());
            } else if n % 50 == 0 {
                kept.push((n as u8, bytes));
            }
        }
        assert!(places.len() <= 16, "places of 1000 packets: {}", places.len());
        assert!(kept.iter().all(|(n, bytes)| bytes.iter().all(|byte| byte == n)));
        assert!(arena.full.len() <= MOST_FULL);
    }

    #[test]
    fn an_interest_for_whose_nonce_there_is_no_room_is_too_large() {
        // An Interest of this length, including TYPE and LENGTH of Interest, Name and component.
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
