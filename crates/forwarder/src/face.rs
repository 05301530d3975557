//! Faces: their transports, and the table that finds them.

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

/// Index of a face in [`FaceTable`]. It is another face's once that face is closed, unlike a [`FaceNumber`].
pub type FaceSlot = u32;

/// What is behind a face.
pub enum Channel {
    /// A socket of its own.
    Transport(Box<dyn Transport>),
    /// A peer on a shared UDP socket.
    Udp(UdpPeer),
    /// Management.
    Internal,
    /// Nothing for now: it failed, and is going to be connected again.
    Down,
}

impl Channel {
    /// Whether packets can be sent by it.
    pub fn is_connected(&self) -> bool {
        match self {
            Channel::Transport(transport) => transport.is_connected(),
            Channel::Udp(_) | Channel::Internal => true,
            Channel::Down => false,
        }
    }

    /// What a transport has taken and not given to the kernel yet, bytes.
    pub fn waiting(&self) -> u64 {
        match self {
            Channel::Transport(transport) => transport.waiting() as u64,
            Channel::Udp(_) | Channel::Internal | Channel::Down => 0,
        }
    }

    /// Memory of what has not been given to the kernel yet, bytes.
    pub fn memory(&self) -> u64 {
        match self {
            Channel::Transport(transport) => transport.memory() as u64,
            Channel::Udp(udp) => udp.batch.memory() as u64,
            Channel::Internal | Channel::Down => 0,
        }
    }
}

/// A peer on a UDP socket, and the frames that it is sent next.
#[derive(Debug)]
pub struct UdpPeer {
    /// The socket's index among those of the engine.
    pub socket: usize,
    /// Where its datagrams come from and ours go to.
    pub peer: SocketAddr,
    /// Our address that it knows, where the socket has several.
    pub from: Option<IpAddr>,
    /// Our end as far as it is known: the address may be any, then the route chooses.
    pub local: SocketAddr,
    /// What the host knows of the path from there.
    pub(crate) path: PathMtu,
    /// What is sent at the end of the round.
    pub batch: Batch,
}

/// A face: a channel, its link service, and what management knows of it.
pub struct Face {
    /// Its number for management.
    pub number: FaceNumber,
    /// Its number in the core.
    pub core: FaceId,
    /// What is behind it.
    pub channel: Channel,
    /// NDNLPv2 between frames and packets.
    pub link: LinkService,
    /// Face URI of the other end.
    pub remote: String,
    /// Face URI of this end.
    pub local: String,
    /// Whether the core has it as an application's.
    pub scope: FaceScope,
    /// Whether it is closed when it is idle or fails.
    pub persistency: FacePersistency,
    /// Whether one peer or several are behind it.
    pub link_type: LinkType,
    /// Whether IncomingFaceId, NextHopFaceId and the like are exchanged by it.
    pub local_fields: bool,
    /// Rate at which packets leave; `None`: as fast as they come.
    pub send_rate: Option<Rate>,
    /// Largest frame that the file or management asks for, bytes.
    pub asked_mtu: Option<usize>,
    /// Largest frame where nothing else is asked for, bytes; `None`: any.
    pub own_mtu: Option<usize>,
    /// Who is behind it, if nobody asked for it and it has no rights.
    pub(crate) origin: Option<Origin>,
    /// Who is behind it.
    pub(crate) owner: Owner,
    /// Whether packets can be sent by it.
    pub up: bool,
    /// On-demand: it is closed when nothing has come for so long.
    pub idle_timeout: Option<Span>,
    /// When something came last.
    pub last_used: Time,
    /// What passed since it was made.
    pub counters: FaceCounters,
    /// What each service class sent by it.
    pub classes: ByClass,
    /// How long packets waited for it, if it has a rate.
    pub delays: Delays,
    /// What its buffers in front of the socket were when they were last looked at, bytes.
    pub(crate) unsent_bytes: u64,
    /// What its incomplete packets were, bytes.
    pub(crate) fragment_bytes: u64,
    /// Whether it has frames that leave at the end of the round.
    pub is_unsent: bool,
    /// Failed attempts to connect in a row.
    pub attempts: u32,
    /// When to connect again; [`Time::NEVER`] if it is connected or connecting.
    pub reconnect_at: Time,
}

impl Face {
    /// The largest frame that it sends, bytes; `None`: any.
    pub fn mtu(&self) -> Option<usize> {
        self.asked_mtu.or(self.own_mtu)
    }

    /// What management says of it, by what the node knows: what waits, and what was not believed.
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

    /// What passed since it was made, with what the node has counted.
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

/// Numbers below are the forwarder's own, as in NFD.
const FIRST_NUMBER: FaceNumber = 256;

/// All faces. A slot is used again; a number is not.
pub struct FaceTable {
    faces: Vec<Option<Face>>,
    free: Vec<FaceSlot>,
    by_core: Vec<FaceSlot>,
    by_number: Numbers,
    by_peer: HashTable<FaceSlot>,
    /// SipHash with a key from the operating system: strangers choose their addresses.
    hasher: RandomState,
    next_number: FaceNumber,
}

const NO_SLOT: FaceSlot = FaceSlot::MAX;

/// The faces that have a number, by ascending number.
#[derive(Default)]
pub struct Numbers(BTreeMap<FaceNumber, (FaceSlot, FaceId)>);

impl Numbers {
    /// What the core calls the face of a number.
    pub fn core(&self, number: FaceNumber) -> Option<FaceId> {
        self.0.get(&number).map(|&(_, core)| core)
    }
}

impl FaceTable {
    /// A table without faces; the first that is added gets the number 256.
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

    /// The number that the next face gets.
    pub fn next_number(&mut self) -> FaceNumber {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Where the next face is put.
    pub fn next_slot(&self) -> FaceSlot {
        self.free.last().copied().unwrap_or(self.faces.len() as FaceSlot)
    }

    /// Adds a face in [`FaceTable::next_slot`], which it returns.
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

    /// Takes out the face in a slot, if there is one.
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

    /// The face in a slot, to change it.
    #[inline]
    pub fn get_mut(&mut self, slot: FaceSlot) -> Option<&mut Face> {
        self.faces.get_mut(slot as usize)?.as_mut()
    }

    /// The face in a slot, to change it, together with the numbers of all faces.
    #[inline]
    pub fn get_mut_and_numbers(&mut self, slot: FaceSlot) -> Option<(&mut Face, &Numbers)> {
        Some((self.faces.get_mut(slot as usize)?.as_mut()?, &self.by_number))
    }

    /// Where a face of the core is.
    #[inline]
    pub fn of_core(&self, core: FaceId) -> Option<FaceSlot> {
        self.by_core.get(core.0 as usize).copied().filter(|&slot| slot != NO_SLOT)
    }

    /// Where the face of a number is.
    pub fn of_number(&self, number: FaceNumber) -> Option<FaceSlot> {
        self.by_number.0.get(&number).map(|&(slot, _)| slot)
    }

    /// Where the face of a UDP peer is.
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

    /// The slots of the faces from a number on, by ascending number.
    pub fn slots_from(&self, number: FaceNumber) -> impl Iterator<Item = FaceSlot> + '_ {
        self.by_number.0.range(number..).map(|(_, &(slot, _))| slot)
    }

    /// All faces and their slots, by ascending number.
    pub fn iter(&self) -> impl Iterator<Item = (FaceSlot, &Face)> {
        self.slots().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// How many faces there are.
    pub fn len(&self) -> usize {
        self.by_number.0.len()
    }

    /// Whether there are none.
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
