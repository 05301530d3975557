//! A packet as nodes handle it, and the pool of all packets of a world.
//!
//! A [`Packet`] is a decoded frame: fields, hop-by-hop signals, and the exact length on the wire. The
//! simulator never encodes it (unless it checks itself). The forwarder keeps the received bytes beside it.

mod spare;
pub mod wire;

use core::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes as Buffer;
use spare::SpareBuffers;
use weir_packet::{LpHeader, NackReason, PitToken, ServiceClass, Signal};

use crate::ids::{FaceId, GroupId, PitId, PrefixId};
use crate::name::{HashedName, NameHasher};
use crate::prefetch::prefetch;
use crate::units::{Span, Time};

/// The kind of packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A request for a named Data.
    #[default]
    Interest,
    /// The named Data.
    Data,
    /// A returned Interest; the link header has the reason.
    Nack,
}

/// A flow at a node: a name prefix ([`crate::tables::flow_prefix`]), a service class and a group. Prefix
/// numbers differ between groups, so schemes need not handle groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// The prefix.
    pub prefix: PrefixId,
    /// The service class.
    pub class: ServiceClass,
    /// The group of the faces that its Interests come from.
    pub group: GroupId,
}

/// A forwarding hint: its delegations, and a hash that identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    delegations: Arc<[HashedName]>,
    hash: u32,
}

impl Hint {
    /// Makes a hint from its value and those of its delegations that a node uses; the value may have more.
    /// Hints with different values are different. The hash uses the node's key.
    pub fn new(hasher: &NameHasher, value: &[u8], delegations: impl Iterator<Item = HashedName>) -> Hint {
        Hint { delegations: delegations.collect(), hash: (hasher.extend(0, value) >> 32) as u32 | 1 }
    }
}

/// Makes a hint from delegations alone, without bytes. A node makes hints in one way only, so the two kinds
/// of hashes do not mix. The multiplier is 2^64 over the golden ratio (Knuth, The Art of Computer Programming
/// 3, 6.4); the hashes of the delegations use the node's key.
impl FromIterator<HashedName> for Hint {
    fn from_iter<I: IntoIterator<Item = HashedName>>(delegations: I) -> Hint {
        let delegations: Arc<[HashedName]> = delegations.into_iter().collect();
        let fold = |all: u64, one: &HashedName| (all ^ one.hash()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (delegations.iter().fold(1, fold) >> 32) as u32 | 1;
        Hint { delegations, hash }
    }
}

impl<const N: usize> From<[HashedName; N]> for Hint {
    fn from(delegations: [HashedName; N]) -> Hint {
        delegations.into_iter().collect()
    }
}

/// Its delegations.
impl core::ops::Deref for Hint {
    type Target = [HashedName];

    fn deref(&self) -> &[HashedName] {
        &self.delegations
    }
}

/// One packet.
///
/// Fields are in the order in which a hop uses them: with tens of thousands of packets under way, each cache
/// line counts.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct Packet {
    /// Interest, Data or Nack.
    pub kind: Kind,
    /// Interest: Data with a longer name may answer it (CanBePrefix).
    pub can_be_prefix: bool,
    /// Interest: a cached copy must be fresh.
    pub must_be_fresh: bool,
    /// Interest: the remaining number of hops.
    pub hop_limit: Option<u8>,
    /// `true` if `wire` has memory of its own. Otherwise it may keep a block of many packets alive.
    pub has_own_memory: bool,
    /// Interest: the offset of its hop limit in `wire`, if it has both.
    pub hop_limit_at: u16,
    /// Interest: the offset of its nonce in `wire`; 0: none.
    pub nonce_at: u16,
    /// Data without bytes of its own: length of its signature's value, bytes.
    pub signature_len: u16,
    /// Length of the frame that was received or will be sent, bytes; 0: to be computed again.
    frame_len: u32,
    /// Exact length of the bare Interest or Data without the link header, bytes.
    pub net_len: u32,
    /// Interest: nonce.
    pub nonce: u32,
    /// At this node: its flow.
    pub flow: FlowKey,
    /// At this node: the PIT entry of an Interest, or the first one that a Data answers.
    pub pit: PitId,
    /// At this node: the face on which it arrived.
    pub arrived_on: FaceId,
    /// The next packet in the list that holds it.
    next: Option<PacketId>,
    /// Data: length of its content, bytes.
    pub content_len: u32,
    /// Data: number of nodes that it has reached, including the node whose application or store sent it. This
    /// is not a field on the wire: it starts at 0 for a packet that a socket received.
    pub hops: u8,
    /// At this node: when it was put into a queue or the content store. In a queue, if a strategy held it
    /// before: when it was first held.
    pub queued_at: Time,
    /// Interest: lifetime.
    pub lifetime: Span,
    /// Its name, with the hashes of all its prefixes.
    pub name: HashedName,
    /// Hop-by-hop fields: signals, congestion mark, the PIT token of the neighbour that it goes to or came
    /// from, the reason of a Nack.
    header: LpHeader,
    /// Data: how long caches may consider it fresh.
    pub freshness: Span,
    /// Interest: the delegations of its forwarding hint, in order of preference. They determine the route
    /// instead of its name.
    pub hint: Option<Hint>,
    /// Data: SHA-256 of the whole packet, if requested
    /// ([`NodeConfig::digest`](crate::node::NodeConfig::digest)).
    pub digest: Option<Box<[u8; 32]>>,
    /// The bare Interest or Data as it arrived; empty in the simulator.
    pub wire: Buffer,
}

impl Packet {
    /// Hop-by-hop fields: signals, congestion mark, the neighbour's PIT token, the reason of a Nack.
    #[inline]
    pub fn header(&self) -> &LpHeader {
        &self.header
    }

    /// The header, mutable.
    #[inline]
    pub fn header_mut(&mut self) -> &mut LpHeader {
        self.frame_len = 0;
        &mut self.header
    }

    /// Sets the neighbour's PIT token.
    #[inline]
    pub fn set_pit_token(&mut self, token: PitToken) {
        if self.header.pit_token.bytes().len() != token.bytes().len() {
            self.frame_len = 0;
        }
        self.header.pit_token = token;
    }

    /// Removes the signal that describes the link on which the packet arrived.
    #[inline]
    pub(crate) fn clear_signal_of_link(&mut self) {
        if self.header.signals.has_of_link() {
            self.header_mut().signals.clear_of_link();
        }
    }

    /// Returns whether it uses no rare feature: selectors, a hint, rare header fields, or a name that needs a
    /// buffer, ends in a digest or has a scope.
    #[inline]
    pub(crate) fn is_usual(&self) -> bool {
        !self.can_be_prefix
            && !self.must_be_fresh
            && self.hint.is_none()
            && !self.header.has_rare_fields()
            && self.name.is_usual()
    }

    /// Length of the whole frame on a link, bytes: the bare packet, or the NDNLPv2 packet around it if there
    /// is a header field to carry.
    #[inline]
    pub fn wire_len(&self) -> u64 {
        match self.frame_len {
            0 => crate::packet::wire::frame_len(self),
            known => u64::from(known),
        }
    }

    /// Hash that identifies its forwarding hint; 0 without one.
    #[inline]
    pub fn hint_hash(&self) -> u32 {
        self.hint.as_ref().map_or(0, |hint| hint.hash)
    }

    /// [`Packet::wire_len`], cached until the header changes.
    #[inline]
    pub(crate) fn measure(&mut self) -> u64 {
        self.frame_len = self.wire_len() as u32;
        u64::from(self.frame_len)
    }

    /// The service class in its signals; Best Effort without one.
    #[inline]
    pub fn class(&self) -> ServiceClass {
        self.header.signals.value(&Signal::SERVICE_CLASS).map_or(ServiceClass::Be, ServiceClass::from_value)
    }

    /// Turns an Interest into its Nack.
    pub fn make_nack(&mut self, reason: NackReason) {
        self.kind = Kind::Nack;
        *self.header_mut() = LpHeader::with_nack(reason);
    }

    /// Prefetches the parts that a hop needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.kind);
        prefetch(&self.lifetime);
        prefetch(&self.header);
        prefetch(&self.freshness);
        prefetch(&self.wire);
    }

    /// Its memory, bytes, including a digest that may be computed later and the allocator's overhead (16 for
    /// each buffer).
    pub fn memory(&self) -> u64 {
        // Shared bytes have a count of their owners and the buffer's bounds (40).
        let slack = self.wire.len() / spare::SLACK;
        let (wire, shared, digest) = (self.wire.len() + slack + 16, 40 + 16, 32 + 16);
        // Shared names are preceded by two counts (16).
        let hint = self.hint.as_deref().map_or(0, |names| {
            let buffers: usize = names.iter().map(HashedName::buffer_bytes).sum();
            16 + size_of_val(names) + buffers + 16
        });
        (size_of::<Packet>() + self.name.buffer_bytes() + wire + shared + digest + hint) as u64
    }

    /// Returns whether it is an Interest.
    #[inline]
    pub fn is_interest(&self) -> bool {
        self.kind == Kind::Interest
    }

    /// Returns whether it is a Data.
    #[inline]
    pub fn is_data(&self) -> bool {
        self.kind == Kind::Data
    }
}

/// The index of a packet in its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(NonZeroU32);

impl PacketId {
    fn of(index: usize) -> PacketId {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        PacketId(number.expect("fewer than 2^32 packets"))
    }

    #[inline]
    fn place(self) -> u32 {
        self.0.get() - 1
    }
}

/// All packets of one world. Freed packets keep their buffers for later ones, so a world in its steady state
/// allocates nothing.
#[derive(Debug, Default)]
pub struct PacketPool {
    packets: Chunks,
    free: Vec<PacketId>,
    /// Bytes of the name buffers that freed packets keep.
    kept: usize,
    /// Separate memory of freed packets.
    spare: SpareBuffers,
}

/// Packets by number, in chunks of fixed size: two loads find a packet.
#[derive(Debug, Default)]
struct Chunks {
    chunks: Vec<Box<[Packet; CHUNK]>>,
    len: u32,
}

/// Number of packets in a chunk.
const CHUNK: usize = 256;

impl Chunks {
    fn len(&self) -> usize {
        self.len as usize
    }

    /// Adds one blank packet.
    fn grow(&mut self) {
        if self.len() == self.chunks.len() * CHUNK {
            let chunk: Box<[Packet]> = (0..CHUNK).map(|_| Packet::default()).collect();
            self.chunks.extend(chunk.try_into().ok());
        }
        self.len += 1;
    }

    #[cfg(test)]
    fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).take(self.len())
    }
}

impl core::ops::Index<u32> for Chunks {
    type Output = Packet;

    #[inline(always)]
    fn index(&self, number: u32) -> &Packet {
        &self.chunks[number as usize / CHUNK][number as usize % CHUNK]
    }
}

impl core::ops::IndexMut<u32> for Chunks {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut Packet {
        &mut self.chunks[number as usize / CHUNK][number as usize % CHUNK]
    }
}

/// Largest size of the long-name buffers that freed packets keep, bytes: enough for a thousand packets of a
/// round.
const MOST_KEPT: usize = 1 << 20;

impl PacketPool {
    /// Makes an empty pool.
    pub fn new() -> PacketPool {
        PacketPool::default()
    }

    /// Takes a packet with every field at its default, except retained buffers.
    pub fn take(&mut self) -> PacketId {
        match self.free.pop() {
            Some(id) => {
                let packet = &mut self.packets[id.place()];
                let mut name = core::mem::take(&mut packet.name);
                self.kept -= name.buffer_bytes();
                name.clear();
                *packet = Packet { name, ..Packet::default() };
                id
            }
            None => {
                let id = PacketId::of(self.packets.len());
                self.packets.grow();
                id
            }
        }
    }

    /// Copies a packet, outside every list.
    pub fn duplicate(&mut self, id: PacketId) -> PacketId {
        let copy = self.take();
        let mut name = core::mem::take(&mut self.packets[copy.place()].name);
        let from = &self.packets[id.place()];
        name.assign(&from.name);
        let made = Packet { name, wire: from.wire.clone(), next: None, ..copy_fields(from) };
        self.packets[copy.place()] = made;
        copy
    }

    /// Copies a packet's bytes into memory of their own ([`Packet::has_own_memory`]).
    pub fn copy_alone(&mut self, bytes: &[u8]) -> Buffer {
        self.spare.copy(bytes)
    }

    /// Gives a packet's bytes memory of their own, if they have none, because it will be stored for long.
    pub(crate) fn keep_alone(&mut self, id: PacketId) {
        let packet = &mut self.packets[id.place()];
        if !packet.has_own_memory && !packet.wire.is_empty() {
            packet.wire = self.spare.copy(&packet.wire);
            packet.has_own_memory = true;
        }
    }

    /// Frees a packet.
    pub fn free(&mut self, id: PacketId) {
        let packet = &mut self.packets[id.place()];
        let wire = core::mem::take(&mut packet.wire);
        if packet.has_own_memory {
            self.spare.give(wire);
        }
        packet.digest = None;
        packet.hint = None;
        let bytes = packet.name.buffer_bytes();
        if self.kept + bytes > MOST_KEPT {
            packet.name = HashedName::new();
        } else {
            self.kept += bytes;
        }
        self.free.push(id);
    }

    /// Takes a packet out of the pool, for another pool.
    pub fn take_out(&mut self, id: PacketId) -> Packet {
        let packet = core::mem::take(&mut self.packets[id.place()]);
        self.free.push(id);
        packet
    }

    /// Adds a packet from another pool, outside every list.
    pub fn put_in(&mut self, packet: Packet) -> PacketId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.packets.grow();
            PacketId::of(self.packets.len() - 1)
        });
        let place = &mut self.packets[id.place()];
        self.kept -= place.name.buffer_bytes();
        *place = Packet { next: None, ..packet };
        id
    }

    /// The number of packets in use.
    pub fn in_use(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

/// Copies the fields of a packet that are plain values.
fn copy_fields(from: &Packet) -> Packet {
    Packet {
        kind: from.kind,
        name: HashedName::default(),
        nonce: from.nonce,
        lifetime: from.lifetime,
        can_be_prefix: from.can_be_prefix,
        must_be_fresh: from.must_be_fresh,
        hop_limit: from.hop_limit,
        has_own_memory: from.has_own_memory,
        hop_limit_at: from.hop_limit_at,
        nonce_at: from.nonce_at,
        freshness: from.freshness,
        content_len: from.content_len,
        hops: from.hops,
        signature_len: from.signature_len,
        net_len: from.net_len,
        hint: from.hint.clone(),
        digest: from.digest.clone(),
        wire: Buffer::new(),
        header: from.header,
        arrived_on: from.arrived_on,
        flow: from.flow,
        pit: from.pit,
        queued_at: from.queued_at,
        frame_len: from.frame_len,
        next: None,
    }
}

impl core::ops::Index<PacketId> for PacketPool {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.packets[id.place()]
    }
}

impl core::ops::IndexMut<PacketId> for PacketPool {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id.place()]
    }
}

/// A first-in first-out list of packets, linked through the pool. It has no memory of its own, so empty
/// queues cost nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketList {
    ends: Option<(PacketId, PacketId)>,
    len: u32,
}

impl PacketList {
    /// The number of packets in the list.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Returns whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest packet in the list.
    #[inline]
    pub fn front(&self) -> Option<PacketId> {
        self.ends.map(|(front, _)| front)
    }

    /// Appends a packet that is in no list.
    #[inline]
    pub fn push_back(&mut self, pool: &mut PacketPool, id: PacketId) {
        pool[id].next = None;
        self.ends = Some(match self.ends {
            Some((front, back)) => {
                pool[back].next = Some(id);
                (front, id)
            }
            None => (id, id),
        });
        self.len += 1;
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop_front(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let (front, back) = self.ends?;
        self.ends = pool[front].next.take().map(|next| (next, back));
        if let Some((next, _)) = self.ends {
            pool[next].prefetch();
        }
        self.len -= 1;
        Some(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_gives_packets_back_in_order_and_the_pool_reuses_them() {
        let mut pool = PacketPool::new();
        let mut list = PacketList::default();
        let ids: Vec<_> = (0..5).map(|_| pool.take()).collect();
        for &id in &ids {
            list.push_back(&mut pool, id);
        }
        assert_eq!(list.len(), 5);
        let out: Vec<_> = core::iter::from_fn(|| list.pop_front(&mut pool)).collect();
        assert_eq!(out, ids);
        assert!(list.is_empty() && list.front().is_none());
        out.into_iter().for_each(|id| pool.free(id));
        assert_eq!(pool.in_use(), 0);
        pool.take();
        assert_eq!(pool.packets.len(), 5);
    }

    #[test]
    fn freed_packets_keep_few_buffers_of_long_names() {
        let mut pool = PacketPool::new();
        let mut long = HashedName::new();
        long.push(&crate::name::testing::HASHER, 8, &[1; 8000]).unwrap();
        let ids: Vec<_> = (0..1000).map(|_| pool.take()).collect();
        ids.iter().for_each(|&id| pool[id].name.assign(&long));
        ids.iter().for_each(|&id| pool.free(id));
        let kept =
            |pool: &PacketPool| pool.packets.iter().map(|packet| packet.name.buffer_bytes()).sum::<usize>();
        assert!((1 << 19..=MOST_KEPT).contains(&kept(&pool)), "{} bytes", kept(&pool));
        assert_eq!(pool.kept, kept(&pool));
        for _ in &ids {
            pool.take();
        }
        assert_eq!((pool.kept, pool.in_use()), (0, 1000));
    }

    #[test]
    fn a_copy_has_every_field_of_the_packet() {
        let mut pool = PacketPool::new();
        let id = pool.take();
        pool[id].nonce = 7;
        pool[id].header_mut().signals.set_type(908, 9);
        pool[id].content_len = 1024;
        let copy = pool.duplicate(id);
        assert_eq!((pool[copy].nonce, pool[copy].content_len), (7, 1024));
        assert_eq!(pool[copy].header, pool[id].header);
        assert_eq!(pool.in_use(), 2);
    }
}
