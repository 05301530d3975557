//! The status of a forwarder: faces, tables and counters, as values.
//!
//! The terms and numbers are those of the NFD management protocol.

use weir_packet::Name;

pub use weir_net::{FaceScope, LinkType};

/// Number of a face in management. It is never reused, and differs from the core's number.
pub type FaceNumber = u64;

/// The persistency of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FacePersistency {
    /// The face exists until it fails or is destroyed.
    Persistent = 0,
    /// The face was created by a packet from its peer. It is closed when it is idle or fails.
    OnDemand = 1,
    /// The face exists until it is destroyed. After a failure it connects again.
    Permanent = 2,
}

impl FacePersistency {
    /// The persistency with this number; `None` if there is none.
    pub const fn from_value(value: u64) -> Option<FacePersistency> {
        Some(match value {
            0 => FacePersistency::Persistent,
            1 => FacePersistency::OnDemand,
            2 => FacePersistency::Permanent,
            _ => return None,
        })
    }
}

/// Options of a face that management can change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceFlags {
    /// The face sends and accepts IncomingFaceId, NextHopFaceId and CachePolicy.
    pub local_fields: bool,
    /// NDNLPv2 link reliability: whether frames are kept now, and sent again if they are lost.
    pub reliability: bool,
    /// Mark packets while the queue is long.
    pub congestion_marking: bool,
}

impl FaceFlags {
    /// The bits of the Flags field.
    pub const fn bits(self) -> u64 {
        self.local_fields as u64 | (self.reliability as u64) << 1 | (self.congestion_marking as u64) << 2
    }

    /// The options of these bits; other bits are ignored.
    pub const fn from_bits(bits: u64) -> FaceFlags {
        FaceFlags {
            local_fields: bits & 1 != 0,
            reliability: bits & 2 != 0,
            congestion_marking: bits & 4 != 0,
        }
    }
}

/// Traffic counters of a face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceCounters {
    /// Interests that arrived.
    pub in_interests: u64,
    /// Data that arrived.
    pub in_data: u64,
    /// Nacks that arrived.
    pub in_nacks: u64,
    /// Interests that left.
    pub out_interests: u64,
    /// Data that left.
    pub out_data: u64,
    /// Nacks that left.
    pub out_nacks: u64,
    /// Bytes of received frames.
    pub in_bytes: u64,
    /// Bytes of sent frames.
    pub out_bytes: u64,
    /// Received frames that are malformed or not allowed, such as a Nack on a link with several neighbours.
    pub in_malformed: u64,
    /// Outgoing packets that were dropped: the queue was full, the socket refused them, or the packet was a Nack for
    /// a link with several neighbours.
    pub out_dropped: u64,
    /// Interests that arrived in a service class that is not believed, and got another one.
    pub in_remarked: u64,
    /// Interests that arrived in a service class that is refused.
    pub in_refused: u64,
    /// Interests that arrived beyond the rate of their service class: best effort from then on, or dropped.
    pub in_over_rate: u64,
}

impl core::ops::Add for FaceCounters {
    type Output = FaceCounters;

    fn add(self, other: FaceCounters) -> FaceCounters {
        FaceCounters {
            in_interests: self.in_interests + other.in_interests,
            in_data: self.in_data + other.in_data,
            in_nacks: self.in_nacks + other.in_nacks,
            out_interests: self.out_interests + other.out_interests,
            out_data: self.out_data + other.out_data,
            out_nacks: self.out_nacks + other.out_nacks,
            in_bytes: self.in_bytes + other.in_bytes,
            out_bytes: self.out_bytes + other.out_bytes,
            in_malformed: self.in_malformed + other.in_malformed,
            out_dropped: self.out_dropped + other.out_dropped,
            in_remarked: self.in_remarked + other.in_remarked,
            in_refused: self.in_refused + other.in_refused,
            in_over_rate: self.in_over_rate + other.in_over_rate,
        }
    }
}

/// A face.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceStatus {
    /// Its number.
    pub number: FaceNumber,
    /// Remote end, as a canonical face URI.
    pub remote: String,
    /// Local end.
    pub local: String,
    /// Whether the other end is on this host.
    pub scope: FaceScope,
    /// Its persistency.
    pub persistency: FacePersistency,
    /// The kind of its link.
    pub link_type: LinkType,
    /// Options.
    pub flags: FaceFlags,
    /// Whether it is up.
    pub up: bool,
    /// Largest frame, bytes; `None` if there is no limit.
    pub mtu: Option<u64>,
    /// Time between congestion marks while a queue stays long, ns.
    pub base_congestion_marking_interval_ns: Option<u64>,
    /// Queue length above which packets are marked, bytes.
    pub default_congestion_threshold: Option<u64>,
    /// On-demand faces: time until it is closed unless a packet arrives, ms.
    pub expires_in_ms: Option<u64>,
    /// Configured rate at which packets leave, bit/s.
    pub send_rate_bps: Option<u64>,
    /// Queue length, packets.
    pub queued_packets: u64,
    /// Queue length, bytes.
    pub queued_bytes: u64,
    /// Its traffic counters.
    pub counters: FaceCounters,
}

/// A request to create a face.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceRequest {
    /// Remote end: a face URI, which may contain a host name.
    pub remote: String,
    /// Local end, if it is required.
    pub local: Option<String>,
    /// The requested persistency.
    pub persistency: FacePersistency,
    /// Options; `None`: the defaults of this kind of face.
    pub flags: Option<FaceFlags>,
    /// Largest frame, bytes; [`OWN_MTU`](crate::parameters::OWN_MTU): what the face's path carries.
    pub mtu: Option<u64>,
    /// Time between congestion marks, ns.
    pub base_congestion_marking_interval_ns: Option<u64>,
    /// Queue length above which packets are marked, bytes.
    pub default_congestion_threshold: Option<u64>,
}

/// A change of a face; `None` means no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaceChange {
    /// The requested persistency.
    pub persistency: Option<FacePersistency>,
    /// Options. Of its `reliability` only [`FaceChange::reliability`] is asked for.
    pub flags: Option<FaceFlags>,
    /// Whether link reliability is to be on or off. A face may turn it on by itself otherwise.
    pub reliability: Option<bool>,
    /// Largest frame, bytes; [`OWN_MTU`](crate::parameters::OWN_MTU): what the face's path carries.
    pub mtu: Option<u64>,
    /// Time between congestion marks, ns.
    pub base_congestion_marking_interval_ns: Option<u64>,
    /// Queue length above which packets are marked, bytes.
    pub default_congestion_threshold: Option<u64>,
}

/// An event of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FaceEventKind {
    /// It was created.
    Created = 1,
    /// It was removed.
    Destroyed = 2,
    /// It came up.
    Up = 3,
    /// It went down.
    Down = 4,
}

impl FaceEventKind {
    /// The event with this number; `None` if there is none.
    pub const fn from_value(value: u64) -> Option<FaceEventKind> {
        Some(match value {
            1 => FaceEventKind::Created,
            2 => FaceEventKind::Destroyed,
            3 => FaceEventKind::Up,
            4 => FaceEventKind::Down,
            _ => return None,
        })
    }
}

/// A FIB entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FibStatus {
    /// The prefix.
    pub prefix: Name,
    /// Its next hops.
    pub next_hops: Vec<NextHopStatus>,
}

/// A next hop of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHopStatus {
    /// The face.
    pub face: FaceNumber,
    /// Its cost.
    pub cost: u64,
    /// Whether it was left because it answers nothing; `false` if the forwarder does not report it.
    pub silent: bool,
}

/// A strategy chosen for a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyStatus {
    /// The prefix.
    pub prefix: Name,
    /// The strategy's name, with its version.
    pub strategy: Name,
}

/// The content store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsInfo {
    /// The capacity, packets.
    pub capacity: u64,
    /// Store Data.
    pub admit: bool,
    /// Answer Interests from the content store.
    pub serve: bool,
    /// Packets in it.
    pub entries: u64,
    /// Interests that it answered.
    pub hits: u64,
    /// Interests that it did not answer.
    pub misses: u64,
}

/// Losses that no face counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Datagrams that found no room in the receive buffers.
    pub datagrams: u64,
    /// IP datagrams of the host that could not be reassembled: fragments were missing or found no room.
    pub reassembly: u64,
    /// Connections that were refused: no descriptor or no face was free.
    pub connections: u64,
    /// Errors that ended a capture or a recording.
    pub files: u64,
}

/// The forwarder as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneralStatus {
    /// Name and version of the software.
    pub version: String,
    /// When it started, ms since 1970.
    pub started_ms: u64,
    /// The time, ms since 1970.
    pub now_ms: u64,
    /// FIB entries.
    pub fib_entries: u64,
    /// Pending Interests.
    pub pit_entries: u64,
    /// Packets in the content store.
    pub cs_entries: u64,
    /// Sums over all faces, including removed ones.
    pub counters: FaceCounters,
    /// PIT entries that were answered.
    pub satisfied_interests: u64,
    /// PIT entries that expired.
    pub unsatisfied_interests: u64,
    /// Losses that no face counts; 0 if the forwarder does not report them.
    pub losses: Losses,
}
