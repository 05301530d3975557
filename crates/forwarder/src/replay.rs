//! Replays a recording: the core gets the recorded inputs, and must give the same outputs.
//!
//! What is compared: the hashes of all actions and of the numbers that faces get, and that no deadline comes before the node
//! wants it. The first difference ends it.

use core::fmt;

use weir_core::ids::FaceId;
use weir_core::node::Action;
use weir_core::seam::DropReason;
use weir_core::seam::params::Value;
use weir_core::units::{Bytes, Span, Time};
use weir_net::secrets::Secrets;
use weir_packet::LpPacket;
use weir_schemes::{Resolved, SchemeError};

use crate::config::Config;
use crate::record::{ActionsHash, Entries, Entry, Header, RecordError, Recorded, Recording};
use crate::wire_node::WireNode;

/// Why a recording cannot be run at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It has a scheme that is not known here.
    NoScheme(String),
    /// A parameter of a scheme is not as the scheme wants it here: its words.
    Parameter(String),
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NoScheme(name) => {
                write!(f, "the recording uses the scheme `{name}`, which this version of weir does not have")
            }
            ReplayError::Parameter(why) => {
                write!(f, "the recording does not fit this version of weir: {why}")
            }
        }
    }
}

impl std::error::Error for ReplayError {}

/// What came of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Entries that were read, hashes among them.
    pub entries: u64,
    /// Packets that entered the core.
    pub packets: u64,
    /// How many times the core was called because a deadline had come.
    pub deadlines: u64,
    /// Changes of faces, routes, strategies, rates and content store.
    pub changes: u64,
    /// Packets that left by links.
    pub transmitted: u64,
    /// Packets that were given to applications.
    pub delivered: u64,
    /// Packets dropped, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Hashes of actions that were compared.
    pub hashes: u64,
    /// When the first entry was made, and the last one.
    pub span: Option<(Time, Time)>,
    /// Whether the recording has its end; if not, it was cut.
    pub is_ended: bool,
    /// Bytes at its end that are no whole entry.
    pub rest: usize,
    /// Where it first differs; `None`: it is identical.
    pub difference: Option<Difference>,
}

impl Replayed {
    /// Actions that the core wanted done: packets transmitted, delivered and dropped.
    pub fn actions(&self) -> u64 {
        self.transmitted + self.delivered + self.drops.iter().sum::<u64>()
    }
}

/// Where a replay first differs from its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Number of the entry, from 1.
    pub entry: u64,
    /// When it is, as the recording has the time.
    pub at: Time,
    /// What the core did, and what the recording says.
    pub kind: DifferenceKind,
}

/// How a run of the recording differs from it.
#[derive(Clone, Debug, PartialEq)]
pub enum DifferenceKind {
    /// The actions since an entry: up to that one they were the same.
    Actions {
        /// Its number; 0 if there is none.
        since: u64,
    },
    /// The node wants to be called at another time than it was.
    Deadline(Time),
    /// The node cannot be told that: why.
    Impossible(String),
    /// The entry cannot be read.
    Damaged(RecordError),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { entry, at, kind } = self;
        match kind {
            DifferenceKind::Actions { since } => {
                write!(f, "the actions differ between entries {since} and {entry}, at {}", seconds(*at))
            }
            DifferenceKind::Deadline(Time::NEVER) => {
                write!(f, "entry {entry} is a deadline at {}, and the node has none", seconds(*at))
            }
            DifferenceKind::Deadline(wanted) => {
                let (at, wanted) = (seconds(*at), seconds(*wanted));
                write!(f, "entry {entry} is a deadline at {at}, and the node's is at {wanted}")
            }
            DifferenceKind::Impossible(why) => write!(f, "entry {entry} at {}: {why}", seconds(*at)),
            DifferenceKind::Damaged(why) => write!(f, "entry {entry}: {why}"),
        }
    }
}

fn seconds(at: Time) -> String {
    let ns = at.as_nanos();
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Runs a recording until its end, or its first difference.
///
/// # Errors
/// The node that it is of cannot be made.
pub fn replay(recording: Recording<'_>) -> Result<Replayed, ReplayError> {
    let seed = recording.header.seed;
    let secrets = Secrets::fixed(seed);
    let hasher = secrets.names;
    let node = WireNode::new(&config(&recording.header)?, seed, secrets);
    let mut replay = Replay { node, hash: ActionsHash::default(), same_until: 0, done: Replayed::default() };
    let mut entries = recording.entries.hashed_by(hasher);
    replay.done.difference = replay.run(&mut entries);
    replay.done.is_ended = entries.is_ended();
    replay.done.rest = if replay.done.difference.is_some() { 0 } else { entries.rest() };
    Ok(replay.done)
}

/// What makes the node that a recording is of.
fn config(header: &Header) -> Result<Config, ReplayError> {
    let own = |(name, given): &(String, Vec<(String, Value)>)| scheme(name, given);
    let schemes: Vec<Resolved> = header.schemes.iter().map(own).collect::<Result<_, _>>()?;
    let chosen = schemes.iter().find(|scheme| scheme.entry.name == header.scheme).cloned();
    let mut config = Config::default();
    config.scheme = chosen.ok_or_else(|| ReplayError::NoScheme(header.scheme.clone()))?;
    config.schemes = schemes;
    let tables = &mut config.tables;
    tables.pit_bytes = Bytes::new(header.pit_bytes);
    tables.longest_lifetime = Span::from_nanos(header.longest_lifetime_ns);
    tables.dead_nonces = size(header.dead_nonces);
    tables.queue_bytes = Bytes::new(header.queue_bytes);
    tables.flow_bytes = Bytes::new(header.flow_bytes);
    tables.reforward_after = Span::from_nanos(header.reforward_after_ns);
    tables.next_hop_timeout = Span::from_nanos(header.next_hop_timeout_ns);
    tables.content_store_packets = size(header.store_packets);
    tables.content_store_bytes = Bytes::new(header.store_bytes);
    tables.content_store_policy = header.store_policy;
    tables.content_store_placement = header.store_placement;
    Ok(config)
}

fn scheme(name: &str, given: &[(String, Value)]) -> Result<Resolved, ReplayError> {
    weir_schemes::resolve(name, given.iter().cloned()).map_err(|error| match error {
        SchemeError::Unknown(_) => ReplayError::NoScheme(name.to_owned()),
        SchemeError::Parameter(wrong) => ReplayError::Parameter(wrong.to_string()),
    })
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

struct Replay {
    node: WireNode,
    hash: ActionsHash,
    /// The entry up to which the actions were the same.
    same_until: u64,
    done: Replayed,
}

impl Replay {
    fn run(&mut self, entries: &mut Entries<'_>) -> Option<Difference> {
        for read in entries {
            self.done.entries += 1;
            let entry = self.done.entries;
            let Recorded { at, entry: told } = match read {
                Ok(recorded) => recorded,
                Err(error) => {
                    let at = self.done.span.map_or(Time::ZERO, |(_, last)| last);
                    return Some(Difference { entry, at, kind: DifferenceKind::Damaged(error) });
                }
            };
            let first = self.done.span.map_or(at, |(first, _)| first);
            self.done.span = Some((first, at));
            if let Err(kind) = self.tell(at, &told) {
                return Some(Difference { entry, at, kind });
            }
            self.answer();
        }
        None
    }

    /// Tells the node what an entry says.
    fn tell(&mut self, at: Time, entry: &Entry<'_>) -> Result<(), DifferenceKind> {
        if let Some(face) = entry.face().filter(|face| !self.node.core().has_had(*face)) {
            return Err(impossible(format!("there is no face {}", face.0)));
        }
        match entry {
            Entry::Packet { face, frame } => {
                self.done.packets += 1;
                return self.packet(at, *face, frame);
            }
            Entry::Deadline => {
                self.done.deadlines += 1;
                let wanted = self.node.next_deadline();
                if wanted > at {
                    return Err(DifferenceKind::Deadline(wanted));
                }
            }
            Entry::ActionsHash(hash) => {
                self.done.hashes += 1;
                if *hash != self.hash.value() {
                    return Err(DifferenceKind::Actions { since: self.same_until });
                }
                self.same_until = self.done.entries;
            }
            Entry::End => {}
            Entry::FaceUp(_)
            | Entry::FaceDown(_)
            | Entry::AddLink(_)
            | Entry::AddStrategy(_)
            | Entry::Change(_) => self.done.changes += 1,
        }
        let effect = self.node.tell(at, entry).map_err(|error| impossible(error.to_string()))?;
        self.hash.add_effect(effect);
        Ok(())
    }

    fn packet(&mut self, at: Time, face: FaceId, frame: &[u8]) -> Result<(), DifferenceKind> {
        let malformed = |what: &dyn fmt::Display| impossible(format!("the packet is malformed: {what}"));
        let frame = LpPacket::decode(frame).map_err(|error| malformed(&error))?;
        let Some(wire) = frame.fragment else { return Err(malformed(&"it is empty")) };
        let received = self.node.receive(at, face, &frame.header, wire);
        received.map(drop).map_err(|error| malformed(&error))
    }

    /// Counts and frees what the node answers.
    fn answer(&mut self) {
        let actions = self.node.take_actions();
        for action in &actions {
            self.hash.add(action, self.node.pool());
            let packet = match *action {
                Action::Transmit { packet, .. } => {
                    self.done.transmitted += 1;
                    packet
                }
                Action::Deliver { packet, .. } => {
                    self.done.delivered += 1;
                    packet
                }
                Action::Drop { packet, reason, .. } => {
                    self.done.drops[reason as usize] += 1;
                    packet
                }
            };
            self.node.free(packet);
        }
        self.node.recycle(actions);
    }
}

fn impossible(why: String) -> DifferenceKind {
    DifferenceKind::Impossible(why)
}
