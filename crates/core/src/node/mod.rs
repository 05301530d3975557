//! One node: tables, strategy and links, driven by inputs and answering with actions.
//!
//! ```text
//!             Interest: loop? -> content store -> PIT -> FIB -> strategy -> queue -> link
//!  input ---> Data:     PIT -> queue of its face -> strategy -> content store -> downstreams
//!             Nack:     PIT -> strategy -> another next hop, or downstreams
//! ```
//!
//! The world hands in packets, deadlines, faces that come and go, and changes of tables ([`Node::handle`]).
//! The node returns the actions for packets in a buffer of [`Action`]s that the world reuses. The same inputs
//! give the same actions. Fields of a packet that are not accepted from its face are removed first
//! ([`IngressPolicy`]).

mod change;
mod config;
mod data;
mod expiry;
mod faces;
mod flow;
mod guard;
mod hints;
mod interest;
mod links;
mod manage;
mod nack;
mod next_hops;
mod placement;
mod plain;
mod prefetch;
mod reforwarding;
mod scope;
mod sent_signals;
mod store;
mod strategy_choice;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use change::{Change, Effect, Input, Part};
pub use config::{ImplicitDigest, NodeConfig, TableLimits};
pub use guard::{ClassRule, IngressCounters, IngressPolicy, NextHopChange, NextHopNews};
pub use placement::{CsPlacement, NoPlacement, Placing};
pub use store::CacheCounters;
pub use strategy_choice::MOST_STRATEGIES;

use std::collections::VecDeque;

use smallvec::SmallVec;
use weir_packet::SignalSet;

use guard::Guard;
use scope::{Scope, scope_of};
use sent_signals::SentSignals;
use strategy_choice::StrategyChoice;

use crate::deadline::Deadlines;
use crate::ids::{FaceId, PitId, StrategyId};
use crate::link::Link;
use crate::packet::{FlowKey, Kind, PacketId, PacketPool};
use crate::random::Random;
use crate::rtt::RoundTrips;
use crate::seam::{DropReason, Dropped, Drops};
use crate::siphash::Key;
use crate::tables::asked::AskedUpstreams;
use crate::tables::cs::ContentStore;
use crate::tables::dead_nonce::DeadNonceList;
use crate::tables::fib::Fib;
use crate::tables::flow_prefix::Prefixes;
use crate::tables::pairs::Pairs;
use crate::tables::pit::Pit;
use crate::tables::simulated_cache::SimulatedCache;
use crate::units::{Span, Time};

/// An action on a packet, which the world owns from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put it on the link of a face. Its last bit leaves at `until`, or on a shared medium when the world
    /// reports it ([`Input::Sent`]).
    Transmit {
        /// The face by whose link it leaves.
        face: FaceId,
        /// The Interest, Data or Nack.
        packet: PacketId,
        /// When its last bit leaves; [`Time::NEVER`] on a shared medium.
        until: Time,
        /// Its waiting time at this node: in the queue of the link, and before that if a strategy held it.
        waited: Span,
    },
    /// Give it to the application behind a local face.
    Deliver {
        /// The face of the application.
        face: FaceId,
        /// The Interest, Data or Nack.
        packet: PacketId,
    },
    /// Count it and free it.
    Drop {
        /// The face by which it was to leave, or on which it arrived.
        face: FaceId,
        /// The Interest, Data or Nack.
        packet: PacketId,
        /// The reason.
        reason: DropReason,
    },
}

/// What a face leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaceKind {
    /// An application on this node.
    Application,
    /// This link.
    Link(u32),
    /// Nothing: it was removed.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Face {
    kind: FaceKind,
    up: bool,
    /// When it was added. Interests that were sent earlier by a face of this number were sent by another
    /// face.
    since: Time,
    /// `true` if an Interest was sent by it: then entries of the PIT may name it as an upstream.
    asked: bool,
    /// The number of the last Data that was sent to it ([`Node::data_seen`]).
    answered: u64,
}

impl Face {
    /// Returns whether an Interest of this scope may leave by it.
    #[inline]
    fn takes(self, scope: Scope) -> bool {
        self.up && (scope == Scope::Global || self.kind == FaceKind::Application)
    }
}

/// The strategy and the flow of the entry whose Data goes to a downstream.
#[derive(Clone, Copy)]
struct Answerer {
    flow: FlowKey,
    strategy: StrategyId,
}

/// Longest time for which an Interest is pending, whatever lifetime it claims: an entry that never expires
/// would take a place in the PIT for ever. Assumed: five times the lifetime of applications that wait for
/// news (60 s, NFD's notifications); they ask again. A node can have a shorter bound for links
/// ([`TableLimits`]).
pub const LONGEST_LIFETIME: Span = Span::from_secs(300);

/// A link, its face, the setting of its timer, and the charge of the packets in its queue, bytes.
struct LinkFace {
    face: FaceId,
    link: Link,
    timer: Time,
    charged: u64,
}

const PIT_TIMER: u32 = 0;
const STRATEGY_TIMER: u32 = 1;
const FIRST_LINK_TIMER: u32 = 2;

/// An NDN node. The fields that a plain node's packets need come first.
#[repr(C, align(64))]
pub struct Node {
    /// Cached result of [`Node::is_plain`].
    plain: bool,
    faces: Vec<Face>,
    links: Vec<LinkFace>,
    /// The settings of the timers of PIT and strategy.
    pit_timer: Time,
    strategy_timer: Time,
    /// The strategy is called no earlier than this, so that time advances whatever deadline it returns.
    strategy_rests_until: Time,
    /// Longest time for which an Interest that arrives on a link is pending.
    longest_lifetime_of_links: Span,
    /// Number of Data that satisfied an entry.
    data_seen: u64,
    satisfied: u64,
    /// Packets that queues dropped during this call, and the face of each.
    to_report: Vec<(FaceId, Dropped)>,
    strategies: StrategyChoice,
    random: Random,
    round_trips: RoundTrips,
    deadlines: Deadlines,
    dead_nonces: DeadNonceList,
    sent_signals: SentSignals,
    fib: Fib,
    pit: Pit,
    prefixes: Prefixes,
    /// Protection against strangers; `None`: none is active.
    guard: Option<Box<Guard>>,
    signals_of_consumers: SignalSet,
    /// The links that keep state of a prefix, by prefix number.
    links_of_prefixes: Pairs,
    /// Key for the nonces of copies that probe next hops.
    nonces_of_copies: Key,
    cs: ContentStore<PacketId>,
    simulated_cache: Option<Box<SimulatedCache>>,
    /// Which Data are stored; `None`: all.
    placing: Option<Box<Placing>>,
    /// After how long a repeated Interest for a pending one is forwarded again; `None`: never.
    reforward_after: Option<Span>,
    /// Upstreams of ended entries that may still answer.
    asked: AskedUpstreams,
    /// Upstreams that have not answered within the lifetime of their Interest.
    expired: AskedUpstreams,
    /// No further pending Interests end before this time, so that packets are handled meanwhile.
    ending_rests_until: Time,
    /// Reused between calls.
    dropped: Drops,
    matches: SmallVec<[PitId; 4]>,
    evicted: Vec<PacketId>,
    /// Removed faces that still have routes or pending Interests.
    leaving: VecDeque<FaceId>,
    /// Removed faces that had been sent Interests, and when each was removed. An entry of the PIT must not
    /// refer to the old face when the number is reused.
    gone: VecDeque<(Time, FaceId)>,
    /// Removed faces that nothing refers to.
    unused: Vec<FaceId>,
    /// Indices of removed links.
    free_links: Vec<u32>,
    cs_use: CsUse,
    /// Computes the implicit digest of a Data.
    digest: Option<ImplicitDigest>,
    unsatisfied: u64,
    evicted_interests: u64,
    fates: Fates,
}

/// Counters of Interests that were not forwarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    /// Interests that the content store or the simulated cache answered.
    pub answered: u64,
    /// Interests that wait for the Data of an earlier one.
    pub aggregated: u64,
}

/// Derives a key from a random stream without advancing the stream.
fn key_of(mut random: Random) -> Key {
    let mut word = || u64::from(random.nonce()) << 32 | u64::from(random.nonce());
    Key::new(word(), word())
}

/// Use of the content store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsUse {
    /// `true` if Data are stored.
    pub admit: bool,
    /// `true` if Interests are answered from it.
    pub serve: bool,
}

/// The world's side of a call: the packet pool, and the actions.
struct Out<'a> {
    now: Time,
    pool: &'a mut PacketPool,
    actions: &'a mut Vec<Action>,
}

impl Out<'_> {
    fn drop(&mut self, face: FaceId, packet: PacketId, reason: DropReason) {
        self.actions.push(Action::Drop { face, packet, reason });
    }
}

impl Node {
    /// Makes a node without faces and routes.
    pub fn new(config: NodeConfig) -> Node {
        let NodeConfig { strategies, limits, hasher, random, flow_prefix, .. } = config;
        let NodeConfig { content_store, placing, simulated_cache, digest, .. } = config;
        let mut node = Node {
            faces: Vec::new(),
            signals_of_consumers: config.signals_of_consumers,
            guard: Guard::of(config.next_hop_timeout, limits.queue_bytes),
            plain: false,
            links: Vec::new(),
            fib: Fib::new(),
            prefixes: Prefixes::new(flow_prefix, limits.flow_bytes),
            links_of_prefixes: Pairs::default(),
            round_trips: RoundTrips::default(),
            nonces_of_copies: key_of(random.clone()),
            pit: Pit::new(hasher, limits.pit_bytes),
            cs: content_store,
            simulated_cache: simulated_cache.map(Box::new),
            placing: placing.map(Box::new),
            reforward_after: Some(config.reforward_after).filter(|after| *after > Span::ZERO),
            longest_lifetime_of_links: limits.longest_lifetime.min(LONGEST_LIFETIME),
            dead_nonces: DeadNonceList::new(
                hasher,
                limits.dead_nonces,
                crate::tables::dead_nonce::DEAD_NONCE_LIFETIME,
            ),
            asked: AskedUpstreams::new(hasher, limits.dead_nonces),
            expired: AskedUpstreams::of_expired(hasher, limits.dead_nonces),
            sent_signals: SentSignals::new(limits.pit_bytes),
            strategies: StrategyChoice::new(strategies),
            random,
            deadlines: Deadlines::new(FIRST_LINK_TIMER as usize),
            pit_timer: Time::NEVER,
            ending_rests_until: Time::ZERO,
            strategy_timer: Time::NEVER,
            strategy_rests_until: Time::ZERO,
            dropped: Drops::new(),
            to_report: Vec::new(),
            matches: SmallVec::new(),
            evicted: Vec::new(),
            leaving: VecDeque::new(),
            gone: VecDeque::new(),
            unused: Vec::new(),
            free_links: Vec::new(),
            cs_use: CsUse { admit: true, serve: true },
            digest,
            data_seen: 0,
            satisfied: 0,
            unsatisfied: 0,
            evicted_interests: 0,
            fates: Fates::default(),
        };
        node.plain = node.is_without_extras();
        if node.guard.is_some() {
            node.pit.list_holdings();
        }
        node
    }

    /// Returns whether an Interest and its Data can skip the checks for rare features: a guard, stores,
    /// forwarding repeated Interests again, several strategies, flows that are not FIB entries.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    fn is_without_extras(&self) -> bool {
        self.guard.is_none()
            && !self.cs.is_on()
            && self.simulated_cache.is_none()
            && self.placing.is_none()
            && self.reforward_after.is_none()
            && self.strategies.is_one()
            && self.prefixes.are_entries()
    }

    /// Counters of Interests that were not forwarded.
    pub fn fates(&self) -> Fates {
        self.fates
    }

    /// Prefixes and their next hops.
    pub fn fib(&self) -> &Fib {
        &self.fib
    }

    /// The pending Interests.
    pub fn pit(&self) -> &Pit {
        &self.pit
    }

    /// Largest number of Interests that were pending at once since [`Node::begin_most_pending`].
    pub fn most_pending(&self) -> usize {
        self.pit.most()
    }

    /// Counts the largest number of pending Interests from now on.
    pub fn begin_most_pending(&mut self) {
        self.pit.begin_most();
    }

    /// The content store.
    pub fn content_store(&self) -> &ContentStore<PacketId> {
        &self.cs
    }

    /// When to hand in the next [`Input::Deadline`].
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.deadlines.next()
    }

    /// When a link is to be served next, if nothing else is due earlier; [`Time::NEVER`] otherwise.
    #[inline]
    pub fn next_of_links(&self) -> Time {
        match self.deadlines.next_id() {
            Some((at, timer)) if timer >= FIRST_LINK_TIMER => at,
            _ => Time::NEVER,
        }
    }

    /// Handles one input and appends the actions for packets to `actions`. Every change of a node passes
    /// through here.
    pub fn handle(
        &mut self,
        now: Time,
        input: Input<'_>,
        pool: &mut PacketPool,
        actions: &mut Vec<Action>,
    ) -> Effect {
        let mut out = Out { now, pool, actions };
        match input {
            Input::Packet { face, packet } => self.on_packet(face, packet, &mut out),
            Input::Deadline => self.on_deadline(&mut out),
            Input::FaceUp(face) => self.on_face(face, true, &mut out),
            Input::FaceDown(face) => self.on_face(face, false, &mut out),
            Input::Sent(face) => self.on_sent(face, &mut out),
            Input::Change(_) | Input::Add(_) => return self.on_change(input, &mut out),
        }
        if !self.to_report.is_empty() {
            self.report_drops(&mut out);
        }
        self.set_strategy_timer();
        Effect::Done
    }

    #[inline]
    fn set_strategy_timer(&mut self) {
        let wanted = self.strategies.next_deadline().max(self.strategy_rests_until);
        if wanted != self.strategy_timer {
            self.strategy_timer = wanted;
            self.deadlines.set(STRATEGY_TIMER, wanted);
        }
    }

    /// Longest time for which an Interest of a face is pending.
    #[inline]
    fn longest_lifetime(&self, face: FaceId) -> Span {
        if self.is_local(face) { LONGEST_LIFETIME } else { self.longest_lifetime_of_links }
    }

    /// Sets the timer for the expiry of an entry. The timer is only moved to earlier times until it fires:
    /// answered Interests only postpone the next expiry, and a call that comes too early finds nothing to do.
    #[inline]
    fn expect_expiry(&mut self, expires: Time, now: Time) {
        if expires < self.pit_timer {
            // A wheel that has not advanced since may name a past slot.
            self.pit_timer = self.pit.next_deadline().max(now).max(self.ending_rests_until);
            self.deadlines.set(PIT_TIMER, self.pit_timer);
        }
    }

    fn on_packet(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let packet = &mut out.pool[id];
        packet.arrived_on = face;
        packet.hops = packet.hops.saturating_add(1);
        if self.plain && packet.is_usual() {
            let kind = packet.kind;
            match kind {
                Kind::Interest => return self.on_interest(face, id, true, out),
                Kind::Data if self.on_plain_data(face, id, out) => return,
                Kind::Data | Kind::Nack => {}
            }
        }
        let bytes = out.pool[id].wire.len();
        if let Some(guard) = &mut self.guard {
            guard.waiting.arrive(bytes, out.pool);
        }
        if out.pool[id].name.is_empty() {
            return out.drop(face, id, DropReason::Malformed);
        }
        if !self.is_local(face) && scope_of(&out.pool[id].name) == Scope::Host {
            return out.drop(face, id, DropReason::Scope);
        }
        if let Some(guard) = &mut self.guard
            && let Err(reason) = guard.admit(face, &mut out.pool[id], out.now)
        {
            return out.drop(face, id, reason);
        }
        match out.pool[id].kind {
            Kind::Interest => self.on_interest(face, id, false, out),
            Kind::Data => self.on_data(face, id, out),
            Kind::Nack => self.on_nack(face, id, out),
        }
    }
}

impl core::fmt::Debug for Node {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Node")
            .field("faces", &self.faces.len())
            .field("pending", &self.pit.len())
            .finish_non_exhaustive()
    }
}
