//! An overview of a running forwarder, as one JSON document.
//!
//! The forwarder serves it twice: as the dataset `/localhost/nfd/status/overview`, which is not part of NFD's protocol, and
//! as `/status.json` at the port of its metrics. All counters run from the start of the forwarder, so a reader gets rates
//! from two documents.

use serde::{Deserialize, Serialize};

/// The verb of the dataset, in the module [`Status`](crate::Module::Status).
pub const VERB: &str = "overview";

/// The forwarder at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Name and version of the software.
    pub version: String,
    /// When the forwarder started, ms since 1970.
    pub started_ms: u64,
    /// The time of this document, ms since 1970.
    pub now_ms: u64,
    /// Sizes and counters of the tables.
    pub tables: Tables,
    /// The content store.
    pub store: Store,
    /// Faces by ascending number; the first ones if there are many.
    pub faces: Vec<FaceOverview>,
    /// The number of faces, with those that `faces` leaves out.
    pub face_count: usize,
    /// Service classes that sent a packet, the most urgent first.
    pub classes: Vec<ClassOverview>,
    /// Prefixes with routes; the first ones if there are many.
    pub routes: Vec<RouteOverview>,
    /// The number of prefixes with routes, with those that `routes` leaves out.
    pub route_count: u64,
    /// Dropped packets by reason; reasons without a drop are left out.
    pub drops: Vec<DropOverview>,
    /// Losses that no face counts.
    pub losses: LossOverview,
}

/// Sizes and counters of the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// Pending Interests.
    pub pit_entries: u64,
    /// PIT entries that Data satisfied.
    pub satisfied_interests: u64,
    /// PIT entries that expired.
    pub expired_interests: u64,
    /// PIT entries evicted to make room for others in a full PIT.
    pub evicted_interests: u64,
    /// How often the forwarder stopped using a silent next hop, because another one answers.
    pub left_next_hops: u64,
}

/// The content store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store {
    /// Data in it.
    pub packets: u64,
    /// The most Data that it holds.
    pub capacity: u64,
    /// Interests that it answered.
    pub hits: u64,
    /// Interests that it did not answer.
    pub misses: u64,
}

/// A face.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaceOverview {
    /// Its number.
    pub face: u64,
    /// The face URI of the other end.
    pub remote: String,
    /// Whether it is up.
    pub up: bool,
    /// The configured rate, bit/s; `None` if it has none.
    pub rate_bps: Option<u64>,
    /// Interests that arrived.
    pub in_interests: u64,
    /// Data that arrived.
    pub in_data: u64,
    /// Bytes of frames that arrived.
    pub in_bytes: u64,
    /// Interests that left.
    pub out_interests: u64,
    /// Data that left.
    pub out_data: u64,
    /// Bytes of frames that left.
    pub out_bytes: u64,
    /// Packets in its queue.
    pub queue_packets: u64,
    /// Bytes in its queue.
    pub queue_bytes: u64,
    /// Outgoing packets that were dropped.
    pub dropped: u64,
}

/// What a service class sent, on all faces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassOverview {
    /// Its name, such as `EF`.
    pub class: String,
    /// Interests that left.
    pub out_interests: u64,
    /// Data that left.
    pub out_data: u64,
    /// Bytes of frames that left.
    pub out_bytes: u64,
    /// Packets of the class that were dropped.
    pub dropped: u64,
    /// Packets that passed the queue of a face with a rate.
    pub queued: u64,
    /// The sum of their queueing delays, s.
    pub queue_delay_s: f64,
    /// Their delays as a histogram: upper bound in s and number of packets in this bucket. `None`: above all bounds.
    pub queue_delays: Vec<(Option<f64>, u64)>,
}

/// A prefix with its next hops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteOverview {
    /// The prefix as a URI.
    pub prefix: String,
    /// Its next hops.
    pub next_hops: Vec<NextHopOverview>,
}

/// A next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextHopOverview {
    /// The number of the face.
    pub face: u64,
    /// The cost.
    pub cost: u64,
    /// Whether the next hop was left because it answers nothing.
    pub silent: bool,
}

/// Packets dropped for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropOverview {
    /// The reason in words.
    pub reason: String,
    /// Data.
    pub data: u64,
    /// Interests and Nacks.
    pub others: u64,
}

/// Losses that no face counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossOverview {
    /// Datagrams that found no room in receive buffers.
    pub datagrams: u64,
    /// IP datagrams that could not be reassembled.
    pub reassembly: u64,
    /// Connections that were refused.
    pub connections: u64,
    /// Errors that ended a capture or a recording.
    pub files: u64,
}
