//! The status of a forwarder: faces, tables and counters, as values.
//!
//! The terms and numbers are those of the NFD management protocol.

use weir_packet::Name;

pub use weir_net::{FaceScope, LinkType};

/// Number of a face in management. It is never reused. It differs from the core's number.
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
    /// Returns the persistency with this number, or `None`.
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
    /// NDNLPv2 link reliability: whether frames are currently kept, and retransmitted if lost.
    pub reliability: bool,
    /// Packets are marked while the queue is long.
    pub congestion_marking: bool,
}

impl FaceFlags {
    /// The bits of the Flags field.
    pub const fn bits(self) -> u64 {
        self.local_fields as u64 | (self.reliability as u64) << 1 | (self.congestion_marking as u64) << 2
    }

    /// The options for these bits. Other bits are ignored.
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
    /// Dropped outgoing packets: the queue was full, the socket refused them, or the packet was a Nack for a link with
    /// several neighbours.
    pub out_dropped: u64,
    /// Interests whose service class is not accepted from this face and was changed.
    pub in_remarked: u64,
    /// Interests dropped because their service class is refused on this face.
    pub in_refused: u64,
    /// Interests beyond the rate of their service class. They continue as best effort or are dropped.
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
    /// Number.
    pub number: FaceNumber,
    /// Remote end, as a canonical face URI.
    pub remote: String,
    /// Local end.
    pub local: String,
    /// Whether the other end is on this host.
    pub scope: FaceScope,
    /// Persistency.
    pub persistency: FacePersistency,
    /// Kind of the link.
    pub link_type: LinkType,
    /// Options.
    pub flags: FaceFlags,
    /// Whether the face is up.
    pub up: bool,
    /// Maximum length of a frame, bytes; `None` if there is no limit.
    pub mtu: Option<u64>,
    /// Time between congestion marks while a queue stays long, ns.
    pub base_congestion_marking_interval_ns: Option<u64>,
    /// Queue length above which packets are marked, bytes.
    pub default_congestion_threshold: Option<u64>,
    /// Time until an on-demand face is closed unless a packet arrives, ms.
    pub expires_in_ms: Option<u64>,
    /// Configured send rate, bit/s.
    pub send_rate_bps: Option<u64>,
    /// Queue length, packets.
    pub queued_packets: u64,
    /// Queue length, bytes.
    pub queued_bytes: u64,
    /// Traffic counters.
    pub counters: FaceCounters,
}

/// A request to create a face.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceRequest {
    /// Remote end: a face URI, which may contain a host name.
    pub remote: String,
    /// Local end, if one is requested.
    pub local: Option<String>,
    /// The requested persistency.
    pub persistency: FacePersistency,
    /// Options; `None`: the defaults of this kind of face.
    pub flags: Option<FaceFlags>,
    /// Maximum length of a frame, bytes; [`OWN_MTU`](crate::parameters::OWN_MTU): what the face's path carries.
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
    /// Options. Its `reliability` counts only if [`FaceChange::reliability`] is given.
    pub flags: Option<FaceFlags>,
    /// Turns link reliability on or off. If `None`, the face may turn it on itself.
    pub reliability: Option<bool>,
    /// Maximum length of a frame, bytes; [`OWN_MTU`](crate::parameters::OWN_MTU): what the face's path carries.
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
    /// The face was created.
    Created = 1,
    /// The face was removed.
    Destroyed = 2,
    /// The face came up.
    Up = 3,
    /// The face went down.
    Down = 4,
}

impl FaceEventKind {
    /// Returns the event with this number, or `None`.
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
    /// Next hops.
    pub next_hops: Vec<NextHopStatus>,
}

/// A next hop of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHopStatus {
    /// The face.
    pub face: FaceNumber,
    /// Cost.
    pub cost: u64,
    /// Whether forwarding avoids this next hop because it answers nothing. `false` if the forwarder does not report it.
    pub silent: bool,
}

/// A strategy chosen for a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrategyStatus {
    /// The prefix.
    pub prefix: Name,
    /// The strategy's name with version.
    pub strategy: Name,
}

/// The content store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsInfo {
    /// Capacity, packets.
    pub capacity: u64,
    /// Whether Data are stored.
    pub admit: bool,
    /// Whether Interests are answered from the content store.
    pub serve: bool,
    /// Number of stored packets.
    pub entries: u64,
    /// Interests answered from the store.
    pub hits: u64,
    /// Interests not answered from the store.
    pub misses: u64,
}

/// Losses that no face counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Datagrams that found no room in the receive buffers.
    pub datagrams: u64,
    /// The host's IP datagrams that could not be reassembled: fragments were missing, or there was no room for them.
    pub reassembly: u64,
    /// Refused connections: no file descriptor or no face was free.
    pub connections: u64,
    /// Errors that ended a capture or a recording.
    pub files: u64,
}

/// General status of the forwarder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneralStatus {
    /// Name and version of the software.
    pub version: String,
    /// Start time, ms since 1970.
    pub started_ms: u64,
    /// Current time, ms since 1970.
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
