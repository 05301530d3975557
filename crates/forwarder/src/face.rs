//! Faces with their transports, and the table of faces.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

use weir_core::ids::FaceId;
use weir_core::node::IngressCounters;
use weir_core::units::{Rate, Span, Time};

use weir_management::status::{
    FaceCounters, FaceFlags, FaceNumber, FacePersistency, FaceScope, FaceStatus, LinkType,
};
use weir_net::link_service::LinkService;
use weir_net::transport::Transport;
use weir_net::transport::udp::Batch;

use crate::control::Owner;
use crate::engine::{Origin, PathMtu};
use crate::metrics::{ByClass, Delays};
use crate::wire_node::WireNode;

/// Index of a face in [`FaceTable`]. Unlike a [`FaceNumber`], it is reused after the face is closed.
pub type FaceSlot = u32;

/// The channel of a face.
pub enum Channel {
    /// Its own socket.
    Transport(Box<dyn Transport>),
    /// A peer on a shared UDP socket.
    Udp(UdpPeer),
    /// Management.
    Internal,
    /// None for now: it failed, and the forwarder will connect it again.
    Down,
}

impl Channel {
    /// Whether the channel can send packets.
    pub fn is_connected(&self) -> bool {
        match self {
            Channel::Transport(transport) => transport.is_connected(),
            Channel::Udp(_) | Channel::Internal => true,
            Channel::Down => false,
        }
    }

    /// Bytes that a transport has accepted but not passed to the kernel.
    pub fn waiting(&self) -> u64 {
        match self {
            Channel::Transport(transport) => transport.waiting() as u64,
            Channel::Udp(_) | Channel::Internal | Channel::Down => 0,
        }
    }

    /// Memory of buffered frames that are not passed to the kernel, bytes.
    pub fn memory(&self) -> u64 {
        match self {
            Channel::Transport(transport) => transport.memory() as u64,
            Channel::Udp(udp) => udp.batch.memory() as u64,
            Channel::Internal | Channel::Down => 0,
        }
    }
}

/// A peer on a UDP socket, with its next frames.
#[derive(Debug)]
pub struct UdpPeer {
    /// The socket's index in the engine.
    pub socket: usize,
    /// The peer's address.
    pub peer: SocketAddr,
    /// Our address that the peer knows, if the socket has several.
    pub from: Option<IpAddr>,
    /// Our end, as far as it is known. With the unspecified address, the route selects the address.
    pub local: SocketAddr,
    /// The MTU of the path from there.
    pub(crate) path: PathMtu,
    /// Frames to send at the end of the round.
    pub batch: Batch,
}

/// A face: a channel, its link service, and its properties for management.
pub struct Face {
    /// Its number for management.
    pub number: FaceNumber,
    /// Its number in the core.
    pub core: FaceId,
    /// The channel to its peer.
    pub channel: Channel,
    /// The NDNLPv2 link service between frames and packets.
    pub link: LinkService,
    /// Face URI of the other end.
    pub remote: String,
    /// Face URI of this end.
    pub local: String,
    /// Whether the core treats it as an application's face.
    pub scope: FaceScope,
    /// Whether it is closed when it is idle or fails.
    pub persistency: FacePersistency,
    /// Whether it has one peer or several.
    pub link_type: LinkType,
    /// Whether IncomingFaceId, NextHopFaceId and similar fields are exchanged on it.
    pub local_fields: bool,
    /// Rate of outgoing packets; `None`: no limit.
    pub send_rate: Option<Rate>,
    /// Largest frame that the file or management configures, bytes.
    pub asked_mtu: Option<usize>,
    /// Largest frame without a configured one, bytes; `None`: any.
    pub own_mtu: Option<usize>,
    /// Its origin, if it was not requested and has no rights.
    pub(crate) origin: Option<Origin>,
    /// Its owner.
    pub(crate) owner: Owner,
    /// Whether it can send packets.
    pub up: bool,
    /// An on-demand face is closed after this time without packets.
    pub idle_timeout: Option<Span>,
    /// Time of the last received frame.
    pub last_used: Time,
    /// Counters since it was created.
    pub counters: FaceCounters,
    /// Counters of sent packets by service class.
    pub classes: ByClass,
    /// Queueing delays, if it has a rate.
    pub delays: Delays,
    /// Memory of its unsent frames at the last update, bytes.
    pub(crate) unsent_bytes: u64,
    /// Memory of its incomplete packets at the last update, bytes.
    pub(crate) fragment_bytes: u64,
    /// Whether it has frames that leave at the end of the round.
    pub is_unsent: bool,
    /// Consecutive failed attempts to connect.
    pub attempts: u32,
    /// Time of the next attempt to connect; [`Time::NEVER`] if it is connected or connecting.
    pub reconnect_at: Time,
}

impl Face {
    /// The largest frame that it sends, bytes; `None`: any.
    pub fn mtu(&self) -> Option<usize> {
        self.asked_mtu.or(self.own_mtu)
    }

    /// Its status for management. The node adds queue lengths and rejected classes.
    pub fn status(&self, now: Time, node: &WireNode) -> FaceStatus {
        let queued = node.core().backlog(self.core);
        let options = self.link.options();
        let mtu = match &self.channel {
            Channel::Transport(transport) => options.mtu.or(transport.mtu()),
            _ => options.mtu,
        };
        let expires =
            self.idle_timeout.map(|timeout| (self.last_used + timeout).since(now).as_nanos() / 1_000_000);
        FaceStatus {
            number: self.number,
            remote: self.remote.clone(),
            local: self.local.clone(),
            scope: self.scope,
            persistency: self.persistency,
            link_type: self.link_type,
            flags: FaceFlags {
                local_fields: self.local_fields,
                reliability: self.link.is_repairing(),
                congestion_marking: options.marking.is_some(),
            },
            up: self.up,
            mtu: mtu.map(|mtu| mtu as u64),
            base_congestion_marking_interval_ns: options.marking.map(|marking| marking.interval.as_nanos()),
            default_congestion_threshold: options.marking.map(|marking| marking.threshold),
            expires_in_ms: expires,
            send_rate_bps: self.send_rate.map(Rate::as_bps),
            queued_packets: u64::from(queued.packets),
            queued_bytes: queued.bytes + self.channel.waiting(),
            counters: self.counters(node),
        }
    }

    /// Its counters since it was created, including those of the node.
    pub fn counters(&self, node: &WireNode) -> FaceCounters {
        let IngressCounters { remarked, refused, over_rate } = node.ingress_counters(self.core);
        FaceCounters { in_remarked: remarked, in_refused: refused, in_over_rate: over_rate, ..self.counters }
    }
}

impl core::fmt::Debug for Face {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Face")
            .field("number", &self.number)
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

/// Smaller numbers are the forwarder's own, as in NFD.
const FIRST_NUMBER: FaceNumber = 256;

/// All faces. Slots are reused; numbers are not.
pub struct FaceTable {
    faces: Vec<Option<Face>>,
    free: Vec<FaceSlot>,
    by_core: Vec<FaceSlot>,
    by_number: Numbers,
    by_peer: HashTable<FaceSlot>,
    /// SipHash with a random key from the operating system, because strangers choose their addresses.
    hasher: RandomState,
    next_number: FaceNumber,
}

const NO_SLOT: FaceSlot = FaceSlot::MAX;

/// The faces with a number, by ascending number.
#[derive(Default)]
pub struct Numbers(BTreeMap<FaceNumber, (FaceSlot, FaceId)>);

impl Numbers {
    /// The core's face with a number.
    pub fn core(&self, number: FaceNumber) -> Option<FaceId> {
        self.0.get(&number).map(|&(_, core)| core)
    }
}

impl FaceTable {
    /// An empty table. Its first face gets the number 256.
    pub fn new() -> FaceTable {
        FaceTable {
            faces: Vec::new(),
            free: Vec::new(),
            by_core: Vec::new(),
            by_number: Numbers::default(),
            by_peer: HashTable::new(),
            hasher: RandomState::new(),
            next_number: FIRST_NUMBER,
        }
    }

    /// The number of the next face.
    pub fn next_number(&mut self) -> FaceNumber {
        self.next_number += 1;
        self.next_number - 1
    }

    /// The slot of the next face.
    pub fn next_slot(&self) -> FaceSlot {
        self.free.last().copied().unwrap_or(self.faces.len() as FaceSlot)
    }

    /// Inserts a face into [`FaceTable::next_slot`], and returns the slot.
    pub fn insert(&mut self, face: Face) -> FaceSlot {
        let slot = self.free.pop().unwrap_or(self.faces.len() as FaceSlot);
        let core = face.core.0 as usize;
        if self.by_core.len() <= core {
            self.by_core.resize(core + 1, NO_SLOT);
        }
        self.by_core[core] = slot;
        self.by_number.0.insert(face.number, (slot, face.core));
        if let Channel::Udp(UdpPeer { socket, peer, .. }) = &face.channel {
            let hash = self.hasher.hash_one((socket, peer));
            let (faces, hasher) = (&self.faces, &self.hasher);
            self.by_peer.insert_unique(hash, slot, |&other| peer_hash(hasher, faces, other));
        }
        if slot as usize == self.faces.len() {
            self.faces.push(Some(face));
        } else {
            self.faces[slot as usize] = Some(face);
        }
        slot
    }

    /// Removes the face in a slot, if there is one.
    pub fn remove(&mut self, slot: FaceSlot) -> Option<Face> {
        let face = self.faces.get(slot as usize)?.as_ref()?;
        if let Channel::Udp(UdpPeer { socket, peer, .. }) = &face.channel {
            let hash = self.hasher.hash_one((socket, peer));
            if let Ok(entry) = self.by_peer.find_entry(hash, |&other| other == slot) {
                entry.remove();
            }
        }
        self.by_core[face.core.0 as usize] = NO_SLOT;
        self.by_number.0.remove(&face.number);
        self.free.push(slot);
        self.faces[slot as usize].take()
    }

    /// The face in a slot, if there is one.
    #[inline]
    pub fn get(&self, slot: FaceSlot) -> Option<&Face> {
        self.faces.get(slot as usize)?.as_ref()
    }

    /// The face in a slot, mutable.
    #[inline]
    pub fn get_mut(&mut self, slot: FaceSlot) -> Option<&mut Face> {
        self.faces.get_mut(slot as usize)?.as_mut()
    }

    /// The face in a slot, mutable, together with the numbers of all faces.
    #[inline]
    pub fn get_mut_and_numbers(&mut self, slot: FaceSlot) -> Option<(&mut Face, &Numbers)> {
        Some((self.faces.get_mut(slot as usize)?.as_mut()?, &self.by_number))
    }

    /// The slot of the core's face.
    #[inline]
    pub fn of_core(&self, core: FaceId) -> Option<FaceSlot> {
        self.by_core.get(core.0 as usize).copied().filter(|&slot| slot != NO_SLOT)
    }

    /// The slot of the face with a number.
    pub fn of_number(&self, number: FaceNumber) -> Option<FaceSlot> {
        self.by_number.0.get(&number).map(|&(slot, _)| slot)
    }

    /// The slot of a UDP peer's face.
    #[inline]
    pub fn of_peer(&self, socket: usize, peer: SocketAddr) -> Option<FaceSlot> {
        let hash = self.hasher.hash_one((&socket, &peer));
        let same = |&slot: &FaceSlot| match self.get(slot).map(|face| &face.channel) {
            Some(Channel::Udp(udp)) => udp.socket == socket && udp.peer == peer,
            _ => false,
        };
        self.by_peer.find(hash, same).copied()
    }

    /// All slots with a face, by ascending number.
    pub fn slots(&self) -> impl Iterator<Item = FaceSlot> + '_ {
        self.by_number.0.values().map(|&(slot, _)| slot)
    }

    /// The slots of the faces with at least this number, by ascending number.
    pub fn slots_from(&self, number: FaceNumber) -> impl Iterator<Item = FaceSlot> + '_ {
        self.by_number.0.range(number..).map(|(_, &(slot, _))| slot)
    }

    /// All faces and their slots, by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = (FaceSlot, &Face)> {
        self.slots().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// Number of faces.
    pub fn len(&self) -> usize {
        self.by_number.0.len()
    }

    /// Whether there are no faces.
    pub fn is_empty(&self) -> bool {
        self.by_number.0.is_empty()
    }
}

impl Default for FaceTable {
    fn default() -> FaceTable {
        FaceTable::new()
    }
}

fn peer_hash(hasher: &RandomState, faces: &[Option<Face>], slot: FaceSlot) -> u64 {
    match faces[slot as usize].as_ref().map(|face| &face.channel) {
        Some(Channel::Udp(UdpPeer { socket, peer, .. })) => hasher.hash_one((socket, peer)),
        _ => 0,
    }
}

impl core::fmt::Debug for FaceTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaceTable").field("faces", &self.len()).finish_non_exhaustive()
    }
}
