//! Faces: what is behind each, and how they are found.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use hashbrown::HashTable;
use std::hash::BuildHasher;

use weir_core::ids::FaceId;
use weir_core::units::{Rate, Span, Time};

use weir_management::status::{
    FaceCounters, FaceFlags, FaceNumber, FacePersistency, FaceScope, FaceStatus, LinkType,
};
use weir_net::link_service::LinkService;
use weir_net::transport::Transport;
use weir_net::transport::udp::Batch;

/// Where a face is in the table.
pub type Place = u32;

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

/// A peer on a UDP socket, and the frames that it is sent next.
#[derive(Debug)]
pub struct UdpPeer {
    /// The socket's place.
    pub socket: usize,
    /// The peer.
    pub peer: SocketAddr,
    /// Our address that it knows, where the socket has several.
    pub from: Option<IpAddr>,
    /// What is sent at the end of the round.
    pub batch: Batch,
}

/// A face.
pub struct Face {
    /// Its number for management.
    pub number: FaceNumber,
    /// Its number in the core.
    pub core: FaceId,
    /// What is behind it.
    pub channel: Channel,
    /// NDNLPv2.
    pub link: LinkService,
    /// The other end.
    pub remote: String,
    /// This end.
    pub local: String,
    /// Whether the core has it as an application's.
    pub scope: FaceScope,
    /// How long it lives.
    pub persistency: FacePersistency,
    /// What kind of link it is on.
    pub link_type: LinkType,
    /// IncomingFaceId and the like.
    pub local_fields: bool,
    /// Rate at which packets leave.
    pub send_rate: Option<Rate>,
    /// Largest frame where nothing else is asked for, bytes; `None`: any.
    pub own_mtu: Option<usize>,
    /// Whether it is up.
    pub up: bool,
    /// On-demand: it is closed when nothing has come for so long.
    pub idle_timeout: Option<Span>,
    /// When something came last.
    pub last_used: Time,
    /// What passed.
    pub counters: FaceCounters,
    /// Whether it is in the list of those with frames to send.
    pub is_dirty: bool,
    /// Failed attempts to connect in a row.
    pub attempts: u32,
    /// When to connect again.
    pub reconnect_at: Time,
    /// The deadline that is noted of it.
    pub due: Time,
}

impl Face {
    /// What management says of it; `queued` is what waits in the core.
    pub fn status(&self, now: Time, queued: weir_core::seam::Backlog) -> FaceStatus {
        let options = self.link.options();
        let waiting = match &self.channel {
            Channel::Transport(transport) => transport.waiting() as u64,
            _ => 0,
        };
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
                reliability: options.reliability,
                congestion_marking: options.marking.is_some(),
            },
            up: self.up,
            mtu: mtu.map(|mtu| mtu as u64),
            base_congestion_marking_interval_ns: options.marking.map(|marking| marking.interval.as_nanos()),
            default_congestion_threshold: options.marking.map(|marking| marking.threshold),
            expires_in_ms: expires,
            send_rate_bps: self.send_rate.map(Rate::as_bps),
            queued_packets: u64::from(queued.packets),
            queued_bytes: queued.bytes + waiting,
            counters: self.counters,
        }
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

/// All faces. A place is used again; a number is not.
pub struct FaceTable {
    faces: Vec<Option<Face>>,
    free: Vec<Place>,
    by_core: Vec<Place>,
    by_number: Numbers,
    by_peer: HashTable<Place>,
    hasher: foldhash::quality::RandomState,
    next_number: FaceNumber,
}

const NOWHERE: Place = Place::MAX;

/// The faces that have a number, by ascending number.
#[derive(Default)]
pub struct Numbers(BTreeMap<FaceNumber, (Place, FaceId)>);

impl Numbers {
    /// What the core calls the face of a number.
    pub fn core(&self, number: FaceNumber) -> Option<FaceId> {
        self.0.get(&number).map(|&(_, core)| core)
    }
}

impl FaceTable {
    /// An empty one.
    pub fn new() -> FaceTable {
        FaceTable {
            faces: Vec::new(),
            free: Vec::new(),
            by_core: Vec::new(),
            by_number: Numbers::default(),
            by_peer: HashTable::new(),
            hasher: foldhash::quality::RandomState::default(),
            next_number: FIRST_NUMBER,
        }
    }

    /// The number that the next face gets.
    pub fn next_number(&mut self) -> FaceNumber {
        self.next_number += 1;
        self.next_number - 1
    }

    /// Where the next face is put.
    pub fn next_place(&self) -> Place {
        self.free.last().copied().unwrap_or(self.faces.len() as Place)
    }

    /// Adds a face.
    pub fn insert(&mut self, face: Face) -> Place {
        let place = self.free.pop().unwrap_or(self.faces.len() as Place);
        let core = face.core.0 as usize;
        if self.by_core.len() <= core {
            self.by_core.resize(core + 1, NOWHERE);
        }
        self.by_core[core] = place;
        self.by_number.0.insert(face.number, (place, face.core));
        if let Channel::Udp(UdpPeer { socket, peer, .. }) = &face.channel {
            let hash = self.hasher.hash_one((socket, peer));
            let (faces, hasher) = (&self.faces, &self.hasher);
            self.by_peer.insert_unique(hash, place, |&other| peer_hash(hasher, faces, other));
        }
        if place as usize == self.faces.len() {
            self.faces.push(Some(face));
        } else {
            self.faces[place as usize] = Some(face);
        }
        place
    }

    /// Takes a face out.
    pub fn remove(&mut self, place: Place) -> Option<Face> {
        let face = self.faces.get(place as usize)?.as_ref()?;
        if let Channel::Udp(UdpPeer { socket, peer, .. }) = &face.channel {
            let hash = self.hasher.hash_one((socket, peer));
            if let Ok(entry) = self.by_peer.find_entry(hash, |&other| other == place) {
                entry.remove();
            }
        }
        self.by_core[face.core.0 as usize] = NOWHERE;
        self.by_number.0.remove(&face.number);
        self.free.push(place);
        self.faces[place as usize].take()
    }

    /// A face.
    #[inline]
    pub fn get(&self, place: Place) -> Option<&Face> {
        self.faces.get(place as usize)?.as_ref()
    }

    /// A face, to change it.
    #[inline]
    pub fn get_mut(&mut self, place: Place) -> Option<&mut Face> {
        self.faces.get_mut(place as usize)?.as_mut()
    }

    /// A face, to change it, beside the numbers of all.
    #[inline]
    pub fn get_mut_and_numbers(&mut self, place: Place) -> Option<(&mut Face, &Numbers)> {
        Some((self.faces.get_mut(place as usize)?.as_mut()?, &self.by_number))
    }

    /// Where a face of the core is.
    #[inline]
    pub fn of_core(&self, core: FaceId) -> Option<Place> {
        self.by_core.get(core.0 as usize).copied().filter(|&place| place != NOWHERE)
    }

    /// Where the face of a number is.
    pub fn of_number(&self, number: FaceNumber) -> Option<Place> {
        self.by_number.0.get(&number).map(|&(place, _)| place)
    }

    /// Where the face of a UDP peer is.
    #[inline]
    pub fn of_peer(&self, socket: usize, peer: SocketAddr) -> Option<Place> {
        let hash = self.hasher.hash_one((&socket, &peer));
        let same = |&place: &Place| match self.get(place).map(|face| &face.channel) {
            Some(Channel::Udp(udp)) => udp.socket == socket && udp.peer == peer,
            _ => false,
        };
        self.by_peer.find(hash, same).copied()
    }

    /// All places with a face, by ascending number.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        self.by_number.0.values().map(|&(place, _)| place)
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

fn peer_hash(hasher: &foldhash::quality::RandomState, faces: &[Option<Face>], place: Place) -> u64 {
    match faces[place as usize].as_ref().map(|face| &face.channel) {
        Some(Channel::Udp(UdpPeer { socket, peer, .. })) => hasher.hash_one((socket, peer)),
        _ => 0,
    }
}

impl core::fmt::Debug for FaceTable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("FaceTable").field("faces", &self.len()).finish_non_exhaustive()
    }
}
