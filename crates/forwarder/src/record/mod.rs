//! A recording of all inputs of a node (packets, deadlines, changes of its tables), with a running hash of its actions.
//! A replay on a node with the configuration in the header gives the same hashes. So a replay shows that the forwarder
//! runs the same core as the simulator.
//!
//! ```text
//!   file:   "weir-rec", version (2 bytes), header, entry, entry, ..., End
//!   header: length (4 bytes), fields
//!   entry:  length (4 bytes), kind (1 byte), time since the entry before, fields
//! ```
//!
//! Numbers of fixed length are little endian; others are LEB128. Entries are written whole. An incomplete entry, or
//! zeros after a crash of the machine, end the recording; all entries before are valid.
//!
//! A name is the value of a Name element. A packet is the NDNLPv2 packet that would carry the input of the core: the
//! header and the whole bare packet. An Interest that arrived without a nonce has the nonce that the forwarder added.

mod change;
mod decode;
mod encode;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use tracing::warn;
use weir_core::ids::FaceId;
use weir_core::node::{Action, Change, CsPlacement, Effect};
use weir_core::packet::{Packet, PacketPool};
use weir_core::seam::params::Value;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::Time;
use weir_packet::{LpHeader, LpPacket};

pub use decode::{Entries, RecordError, Recorded, Recording};
pub use encode::encode;

use crate::config::Config;
use crate::output::Output;
use crate::wire_node::LinkConfig;

/// The first bytes of every recording.
pub const MAGIC: &[u8; 8] = b"weir-rec";
/// The version of the format; other versions are not read.
pub const VERSION: u16 = 8;

/// The configuration of the node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Name and version of the software.
    pub software: String,
    /// The time at which its clock was 0, ns since 1970.
    pub started_unix_ns: u64,
    /// Seed of its random streams. The keys of its name hash and of its nonces are not derived from it.
    pub seed: u64,
    /// The scheme that runs.
    pub scheme: String,
    /// The given parameters by scheme.
    pub schemes: Vec<(String, Vec<(String, Value)>)>,
    /// Memory of pending Interests, bytes.
    pub pit_bytes: u64,
    /// Longest lifetime of a pending Interest from a link, ns.
    pub longest_lifetime_ns: u64,
    /// Limit of dead nonces.
    pub dead_nonces: u64,
    /// Memory of queued packets, bytes.
    pub queue_bytes: u64,
    /// Memory of the prefixes of flows, bytes.
    pub flow_bytes: u64,
    /// A repeated Interest is forwarded again if the last transmission was at least this time ago, ns; 0: never for other
    /// downstreams.
    pub reforward_after_ns: u64,
    /// Strategies ignore a next hop that has not answered for this time, ns; 0: they never do.
    pub next_hop_timeout_ns: u64,
    /// Limit of the content store, packets.
    pub store_packets: u64,
    /// Limit of the content store, bytes.
    pub store_bytes: u64,
    /// Replacement policy of the content store.
    pub store_policy: CsPolicy,
    /// Placement policy of the content store.
    pub store_placement: CsPlacement,
}

impl Header {
    /// The header for this configuration and seed.
    pub fn of(config: &Config, seed: u64, started_unix_ns: u64) -> Header {
        let tables = &config.tables;
        Header {
            software: concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_unix_ns,
            seed,
            scheme: config.scheme.entry.name.to_owned(),
            schemes: config
                .schemes
                .iter()
                .map(|scheme| (scheme.entry.name.to_owned(), scheme.given.clone()))
                .collect(),
            pit_bytes: tables.pit_bytes.as_u64(),
            longest_lifetime_ns: tables.longest_lifetime.as_nanos(),
            dead_nonces: tables.dead_nonces as u64,
            queue_bytes: tables.queue_bytes.as_u64(),
            flow_bytes: tables.flow_bytes.as_u64(),
            reforward_after_ns: tables.reforward_after.as_nanos(),
            next_hop_timeout_ns: tables.next_hop_timeout.as_nanos(),
            store_packets: tables.content_store_packets as u64,
            store_bytes: tables.content_store_bytes.as_u64(),
            store_policy: tables.content_store_policy,
            store_placement: tables.content_store_placement,
        }
    }
}

/// An input of the node. Faces and strategies have the core's numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry<'a> {
    /// A packet arrived on a face.
    Packet {
        /// The face.
        face: FaceId,
        /// The NDNLPv2 packet with its header, or the bare packet.
        frame: &'a [u8],
    },
    /// The deadline is reached.
    Deadline,
    /// A face came up.
    FaceUp(FaceId),
    /// A face went down.
    FaceDown(FaceId),
    /// A face with a link.
    AddLink(LinkPlan<'a>),
    /// A strategy with options, by its name as in configuration files.
    AddStrategy(&'a str),
    /// A change of tables or settings.
    Change(Change<'a>),
    /// The hash of all answers of the node so far.
    ActionsHash(u64),
    /// The regular end of the recording: the forwarder ended, or the file is full.
    End,
}

impl Entry<'_> {
    /// The face that the entry names, which must exist.
    pub fn face(&self) -> Option<FaceId> {
        match self {
            Entry::Packet { face, .. } | Entry::FaceUp(face) | Entry::FaceDown(face) => Some(*face),
            Entry::Change(change) => change.face(),
            Entry::Deadline
            | Entry::AddLink(_)
            | Entry::AddStrategy(_)
            | Entry::ActionsHash(_)
            | Entry::End => None,
        }
    }
}

/// A scheme by name, with its given parameters.
pub type GivenScheme<'a> = (&'a str, Cow<'a, [(String, Value)]>);

/// The plan of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkPlan<'a> {
    /// Settings of the link.
    pub config: LinkConfig,
    /// The scheme of its queue with the given parameters; `None`: the node's scheme.
    pub scheme: Option<GivenScheme<'a>>,
}

/// Counters of a recorder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounters {
    /// Recorded entries, including those still in memory.
    pub entries: u64,
    /// Whether it has ended: the file is full, or failed.
    pub ended: bool,
    /// Errors of the operating system.
    pub errors: u64,
}

/// A recording to a file.
///
/// It ends when the file reaches its limit or cannot be written, because a recording with a gap cannot be
/// replayed.
#[derive(Debug)]
pub struct Recorder {
    output: Output,
    limit: u64,
    last: Time,
    entries: u64,
    hash: ActionsHash,
    /// Number of inputs since the last hash.
    unhashed: u32,
    /// A buffer that is reused between packets.
    frame: Vec<u8>,
}

/// A hash of the actions is written after this many inputs, so a difference is located between two hashes.
const INPUTS_A_HASH: u32 = 64;

impl Recorder {
    /// Begins a recording; it overwrites the file.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn create(path: &Path, limit: u64, header: &Header) -> io::Result<Recorder> {
        let mut output = Output::create(path)?;
        output.append(|out| encode::header(header, out));
        Ok(Recorder {
            output,
            limit,
            last: Time::ZERO,
            entries: 0,
            hash: ActionsHash::default(),
            unhashed: 0,
            frame: Vec::new(),
        })
    }

    /// Records a packet that enters the core.
    pub fn packet(&mut self, now: Time, face: FaceId, header: &LpHeader, wire: &[u8]) {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        LpPacket::new(*header, wire).encode(&mut frame);
        self.record(now, &Entry::Packet { face, frame: &frame });
        self.frame = frame;
    }

    /// Adds the actions that answer the inputs since the last call.
    pub fn actions(&mut self, actions: &[Action], pool: &PacketPool) {
        actions.iter().for_each(|action| self.hash.add(action, pool));
        if self.unhashed >= INPUTS_A_HASH {
            self.write_hash();
        }
    }

    /// Adds the effect of an input that is not an action.
    pub fn effect(&mut self, effect: Effect) {
        self.hash.add_effect(effect);
    }

    fn write_hash(&mut self) {
        self.record(self.last, &Entry::ActionsHash(self.hash.value()));
        self.unhashed = 0;
    }

    /// Ends the recording with the hash of all answers. All actions must have been passed to [`Recorder::actions`].
    pub fn finish_whole(&mut self) {
        if self.is_on() {
            self.write_hash();
        }
        self.finish();
    }

    /// Records an input.
    #[inline]
    pub fn record(&mut self, now: Time, entry: &Entry<'_>) {
        if self.output.len() >= self.limit {
            if self.is_on() {
                warn!(bytes = self.output.len(), "the recording has grown to its limit: it ends here");
            }
            return self.finish();
        }
        let last = std::mem::replace(&mut self.last, now);
        self.unhashed += 1;
        self.entries += u64::from(self.output.append(|out| encode(entry, last, now, out)));
    }

    /// The time of the last entry.
    pub fn last(&self) -> Time {
        self.last
    }

    /// Writes the buffered entries. Call it from time to time.
    pub fn flush(&mut self) {
        self.output.flush();
    }

    /// Ends the recording.
    pub fn finish(&mut self) {
        let last = self.last;
        if self.is_on() {
            self.entries += u64::from(self.output.append(|out| encode(&Entry::End, last, last, out)));
            self.output.close();
        }
    }

    /// Whether it still records.
    pub fn is_on(&self) -> bool {
        self.output.is_open()
    }

    /// Its counters.
    pub fn counters(&self) -> RecordCounters {
        let (entries, ended) = (self.entries, !self.is_on());
        RecordCounters { entries, ended, errors: self.output.errors() }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A running hash of a node's answers. Equal answers give equal hashes, whatever the key of the node's name hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionsHash {
    actions: u64,
    /// Effects of inputs apart from actions, which are taken later: created faces and strategies, and erased Data.
    effects: u64,
}

/// The initial value of each hash.
const START: u64 = 0xCBF2_9CE4_8422_2325;

impl Default for ActionsHash {
    fn default() -> ActionsHash {
        ActionsHash { actions: START, effects: START }
    }
}

impl ActionsHash {
    /// The hash so far.
    pub const fn value(&self) -> u64 {
        mixed(self.actions, self.effects)
    }

    /// Adds the effect of an input.
    pub fn add_effect(&mut self, effect: Effect) {
        let (kind, number) = match effect {
            Effect::Done => return,
            Effect::Nothing => (1, 0),
            Effect::Face(face) => (2, u64::from(face.0)),
            Effect::Strategy(strategy) => (3, u64::from(strategy.0)),
            Effect::Erased(erased) => (4, erased as u64),
        };
        self.effects = mixed(mixed(self.effects, kind), number);
    }

    /// Adds an action before it is performed.
    pub fn add(&mut self, action: &Action, pool: &PacketPool) {
        match *action {
            Action::Transmit { face, packet, until, waited } => {
                self.words([1, u64::from(face.0), until.as_nanos(), waited.as_nanos()]);
                self.packet(&pool[packet]);
            }
            Action::Deliver { face, packet } => {
                self.words([2, u64::from(face.0)]);
                self.packet(&pool[packet]);
            }
            Action::Drop { face, packet, reason } => {
                self.words([3, u64::from(face.0), reason as u64]);
                self.packet(&pool[packet]);
            }
        }
    }

    /// Adds a packet: its received bytes, and all fields that the core may write.
    fn packet(&mut self, packet: &Packet) {
        let header = packet.header();
        self.words([packet.kind as u64, u64::from(packet.nonce)]);
        // The hash of the name depends on a key, so the name itself is added.
        self.bytes(packet.name.wire());
        self.words([u64::from(packet.net_len), packet.hop_limit.map_or(256, u64::from)]);
        self.words([header.congestion_mark, u64::from(header.non_discovery)]);
        self.optional(header.nack().map(|reason| reason.value()));
        self.optional(header.incoming_face_id());
        self.optional(header.next_hop_face_id());
        self.optional(header.cache_policy().map(|policy| policy.value()));
        let token = header.pit_token.bytes();
        self.bytes(token);
        for (typ, value) in header.signals.iter() {
            self.words([u64::from(typ), value]);
        }
        // Marks the end of the signals, whose number varies.
        self.words([0]);
        self.bytes(&packet.wire);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.words([bytes.len() as u64]);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.words([u64::from_le_bytes(word)]);
        }
    }

    fn optional(&mut self, value: Option<u64>) {
        self.words([u64::from(value.is_some()), value.unwrap_or(0)]);
    }

    #[inline]
    fn words<const N: usize>(&mut self, words: [u64; N]) {
        for word in words {
            self.actions = mixed(self.actions, word);
        }
    }
}

#[inline]
const fn mixed(hash: u64, word: u64) -> u64 {
    // The factor is odd, so that different states stay different.
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
