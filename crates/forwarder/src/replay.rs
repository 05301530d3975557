//! Replays a recording: the core gets the recorded inputs, and must give the same outputs.
//!
//! The replay compares the hashes of all actions and the numbers of new faces, and checks that no deadline comes before the node
//! wants it. It ends at the first difference.

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

/// The reason why a recording cannot be replayed at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// It has an unknown scheme.
    NoScheme(String),
    /// A scheme rejects a parameter: the scheme's message.
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

/// The result of a replay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Number of entries, including hashes.
    pub entries: u64,
    /// Number of packets that entered the core.
    pub packets: u64,
    /// Number of deadlines.
    pub deadlines: u64,
    /// Number of changes of faces, routes, strategies, rates and content store.
    pub changes: u64,
    /// Number of packets sent on links.
    pub transmitted: u64,
    /// Number of packets delivered to applications.
    pub delivered: u64,
    /// Dropped packets, in the order of [`DropReason::ALL`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Number of compared hashes of actions.
    pub hashes: u64,
    /// Times of the first entry and of the last one.
    pub span: Option<(Time, Time)>,
    /// Whether the recording has its end entry; if not, it was cut off.
    pub is_ended: bool,
    /// Bytes of an incomplete entry at the end.
    pub rest: usize,
    /// The first difference; `None`: identical.
    pub difference: Option<Difference>,
}

impl Replayed {
    /// Number of actions: packets transmitted, delivered and dropped.
    pub fn actions(&self) -> u64 {
        self.transmitted + self.delivered + self.drops.iter().sum::<u64>()
    }
}

/// The first difference between a replay and its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Number of the entry, from 1.
    pub entry: u64,
    /// Recorded time of the entry.
    pub at: Time,
    /// The kind of difference.
    pub kind: DifferenceKind,
}

/// A kind of difference between a replay and its recording.
#[derive(Clone, Debug, PartialEq)]
pub enum DifferenceKind {
    /// The actions differ after an entry; up to it they were equal.
    Actions {
        /// Number of that entry; 0 if there is none.
        since: u64,
    },
    /// The node has its deadline at this time, not at the recorded one.
    Deadline(Time),
    /// The node rejects the entry: the reason.
    Impossible(String),
    /// The entry is damaged.
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

/// Replays a recording until its end, or until the first difference.
///
/// # Errors
/// Returns an error if the recorded node cannot be created.
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

/// The configuration of the recorded node.
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
    /// The last entry up to which the actions were equal.
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

    /// Passes an entry to the node.
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

    /// Counts and frees the node's answers.
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
