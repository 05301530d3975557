//! The core with the packets of this host: bytes in, actions out.
//!
//! Every input of the core passes one method (`hand`), which records it first: changes by [`WireNode::tell`], packets by
//! [`WireNode::receive`]. A replay calls the same two methods with the recorded inputs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use weir_core::ids::StrategyId;
use weir_core::ids::{FaceId, GroupId};
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::{
    Action, Change, CsUse, Effect, IngressCounters, IngressPolicy, Input, MOST_STRATEGIES, NextHopChange,
    Node, NodeConfig, Part, Placing, TableLimits,
};
use weir_core::packet::{Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::{Asf, BestRoute, FaceConfig, Multicast, QueueLimit, Scheme, Strategy};
use weir_core::tables::cs::{ContentStore, CsPolicy, ENTRY_BYTES};
use weir_core::units::{Rate, Span, Time};
use weir_packet::sign::implicit_digest;
use weir_packet::{Component, DecodeError, LpHeader, Name, NameRef, Signal, SignalSet};
use weir_schemes::{Resolved, SchemeError};

use crate::config::{ASF, Config, Tables, asf_options};
use crate::record::{Entry, LinkPlan, RecordCounters, Recorder};
use weir_net::codec::Decoder;
use weir_net::secrets::Secrets;

/// A node makes up for at most this much lost time. Assumed: typical delays of busy hosts and virtual machines, whose worst of a
/// thousand measured 2 ms to 12 ms.
const CATCH_UP: Span = Span::from_millis(10);

/// An available strategy.
struct KnownStrategy {
    /// Its name in the configuration.
    short: &'static str,
    /// Its name in management, without a version.
    name: Name,
    version: u64,
    /// The options after the version, in URI form; empty without options.
    options: String,
    id: StrategyId,
}

/// The core, its packets, and its strategies by name.
pub struct WireNode {
    core: Node,
    management: FaceId,
    pool: PacketPool,
    decoder: Decoder,
    hasher: NameHasher,
    scheme: Box<dyn Scheme>,
    strategies: Vec<KnownStrategy>,
    chosen: BTreeMap<Name, Name>,
    actions: Vec<Action>,
    seed: u64,
    faces_made: u64,
    recorder: Option<Box<Recorder>>,
}

/// Settings of the link of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Rate of outgoing packets; `None`: no limit.
    pub send_rate: Option<Rate>,
    /// Rate at which the other end sends.
    pub receive_rate: Option<Rate>,
    /// Limit of the queue.
    pub limit: QueueLimit,
}

impl WireNode {
    /// Creates a node with the strategies, tables and scheme of a configuration. Its random choices depend on `seed`, which
    /// recordings contain. No recording contains its secrets.
    pub fn new(config: &Config, seed: u64, secrets: Secrets) -> WireNode {
        let scheme = config.scheme.build();
        let hasher = secrets.names;
        let Tables { pit_bytes, longest_lifetime, dead_nonces, queue_bytes, flow_bytes, .. } = config.tables;
        let [pit_bytes, queue_bytes, flow_bytes] =
            [pit_bytes, queue_bytes, flow_bytes].map(|bytes| bytes.as_u64());
        let limits = TableLimits { pit_bytes, longest_lifetime, dead_nonces, queue_bytes, flow_bytes };
        let random = Random::named(seed, "node");
        let tables = &config.tables;
        let bytes = tables.content_store_bytes.as_u64();
        let policy = tables.content_store_policy;
        let packets = tables.content_store_packets.min(most_stored(bytes, policy));
        let store = ContentStore::new(policy, packets, bytes);
        let stream = Random::named(seed, "placement of copies");
        let (parts, strategies) = strategies(&*scheme, config);
        let mut core = Node::new(NodeConfig {
            strategies: parts,
            limits,
            hasher,
            random,
            flow_prefix: scheme.flow_prefix(),
            content_store: store.drawing_from(Random::named(seed, "content store")),
            placing: Placing::of(tables.content_store_placement, false, stream),
            simulated_cache: None,
            reforward_after: tables.reforward_after,
            next_hop_timeout: tables.next_hop_timeout,
            signals_of_consumers: signals_of_consumers(),
            digest: Some(implicit_digest),
        });
        let management = core.next_face(Time::ZERO);
        let mut pool = PacketPool::new();
        core.handle(Time::ZERO, Input::Change(&Change::AddApplication), &mut pool, &mut Vec::new());
        let own = strategies.iter().find(|known| known.id == StrategyId::default());
        let chosen = own.map(|known| (Name::new(), known.full_name())).into_iter().collect();
        let mut decoder =
            Decoder::new(secrets, signals_known_with(config)).in_regions(config.tables.regions.clone());
        decoder.keep_data(core.content_store().is_on());
        WireNode {
            core,
            management,
            pool,
            decoder,
            hasher,
            scheme,
            strategies,
            chosen,
            actions: Vec::new(),
            seed,
            faces_made: 0,
            recorder: None,
        }
    }

    /// Records all inputs from now on. The recorder must know the previous ones.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(Box::new(recorder));
    }

    /// Writes the buffered part of the recording, and returns its counters.
    pub fn flush_recording(&mut self) -> Option<RecordCounters> {
        let recorder = self.recorder.as_mut()?;
        recorder.flush();
        Some(recorder.counters())
    }

    /// Number of errors of the recording's file.
    pub fn recording_errors(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.counters().errors)
    }

    /// The only way into the core: records an input, then handles it.
    #[inline]
    fn hand(
        &mut self,
        now: Time,
        input: Input<'_>,
        record: impl FnOnce(&mut Recorder, &PacketPool),
    ) -> Effect {
        if let Some(recorder) = &mut self.recorder {
            record(recorder, &self.pool);
        }
        let effect = self.core.handle(now, input, &mut self.pool, &mut self.actions);
        if let Some(recorder) = &mut self.recorder {
            recorder.effect(effect);
        }
        effect
    }

    /// Passes a recorded entry to the node. Packets are [received](WireNode::receive) instead, and entries that are not inputs
    /// are ignored.
    ///
    /// # Errors
    /// Returns an error if a named scheme or strategy cannot be created. Then the entry is not recorded.
    pub fn tell(&mut self, now: Time, entry: &Entry<'_>) -> Result<Effect, Untold> {
        let input = match entry {
            Entry::Deadline => Input::Deadline,
            Entry::FaceUp(face) => Input::FaceUp(*face),
            Entry::FaceDown(face) => Input::FaceDown(*face),
            Entry::AddLink(plan) => Input::Add(Box::new(Part::Link(self.make_link(now, plan)?))),
            Entry::AddStrategy(short) => Input::Add(Box::new(Part::Strategy(self.make_strategy(short)?))),
            Entry::Change(change) => Input::Change(change),
            Entry::Packet { .. } | Entry::ActionsHash(_) | Entry::End => return Ok(Effect::Done),
        };
        let effect = self.hand(now, input, |recorder, _| recorder.record(now, entry));
        self.follow(entry, effect);
        Ok(effect)
    }

    fn change(&mut self, now: Time, change: Change<'_>) -> Effect {
        self.tell(now, &Entry::Change(change)).unwrap_or(Effect::Nothing)
    }

    /// Creates the link of a plan, with the queue of the plan's scheme, or else of the node's.
    fn make_link(&mut self, now: Time, plan: &LinkPlan<'_>) -> Result<Link, Untold> {
        let LinkConfig { send_rate, receive_rate, limit } = plan.config;
        let face_config = FaceConfig { face: self.core.next_face(now), send_rate, receive_rate, limit };
        let queue = match &plan.scheme {
            Some((name, given)) => {
                let scheme = weir_schemes::resolve(name, given.iter().cloned()).map_err(Untold::Scheme)?;
                scheme.build().queue(&face_config)
            }
            None => self.scheme.queue(&face_config),
        };
        self.faces_made += 1;
        let random = Random::named(self.seed, &format!("face {}", self.faces_made));
        Ok(Link::new(queue, send_rate, random))
    }

    /// Creates a strategy with options, by its name in the configuration.
    fn make_strategy(&self, short: &str) -> Result<Box<dyn Strategy>, Untold> {
        let options = short.strip_prefix(ASF).and_then(|rest| rest.strip_prefix('/'));
        match options.and_then(asf_options) {
            Some(options) => Ok(Box::new(Asf::new(options))),
            None => Err(Untold::NoStrategy(short.to_owned())),
        }
    }

    /// Updates the state outside the core after a change.
    fn follow(&mut self, entry: &Entry<'_>, effect: Effect) {
        match (entry, effect) {
            (Entry::AddStrategy(short), Effect::Strategy(id)) => {
                let (bare, options) = short.split_once('/').unwrap_or((short, ""));
                let base = self.strategies.iter().find(|known| known.short == bare);
                let known = base.map(|base| KnownStrategy {
                    short: base.short,
                    name: base.name.clone(),
                    version: base.version,
                    options: options.to_owned(),
                    id,
                });
                self.strategies.extend(known);
            }
            (Entry::Change(Change::ChooseStrategy { prefix, strategy }), Effect::Done) => {
                if let Some(known) = self.strategies.iter().find(|known| known.id == *strategy) {
                    self.chosen.insert(plain(prefix.wire()), known.full_name());
                }
            }
            (Entry::Change(Change::UnchooseStrategy { prefix }), _) => {
                self.chosen.remove(&plain(prefix.wire()));
            }
            (Entry::Change(Change::SetStoreLimits { .. } | Change::SetStoreUse(_)), _) => {
                let admits = self.core.content_store_use().admit;
                self.decoder.keep_data(admits && self.core.content_store().is_on());
            }
            _ => {}
        }
    }

    /// The face of management: an application on this host, and the first face of every node.
    pub fn management(&self) -> FaceId {
        self.management
    }

    /// Adds the face of an application on this host.
    pub fn add_application(&mut self, now: Time) -> FaceId {
        let next = self.core.next_face(now);
        let effect = self.change(now, Change::AddApplication);
        debug_assert_eq!(effect, Effect::Face(next));
        next
    }

    /// Adds a face to a neighbour, with the queue of a scheme; `None`: the node's scheme.
    pub fn add_link(&mut self, now: Time, config: LinkConfig, scheme: Option<&Resolved>) -> FaceId {
        let next = self.core.next_face(now);
        let scheme = scheme.map(|scheme| (scheme.entry.name, Cow::Borrowed(&scheme.given[..])));
        let effect = self.tell(now, &Entry::AddLink(LinkPlan { config, scheme }));
        debug_assert_eq!(effect, Ok(Effect::Face(next)), "its scheme was resolved before");
        next
    }

    /// The signals that the node reads from packets.
    pub fn known_signals(&self) -> SignalSet {
        self.decoder.known()
    }

    /// Sets the rules for service classes and signals of packets that arrive on a face. Without rules, all are accepted.
    pub fn set_ingress(&mut self, now: Time, face: FaceId, policy: IngressPolicy) {
        self.change(now, Change::SetIngress { face, policy });
    }

    /// Counters of packets whose service classes or signals were rejected on a face.
    pub fn ingress_counters(&self, face: FaceId) -> IngressCounters {
        self.core.ingress_counters(face)
    }

    /// Removes a face with its routes.
    pub fn remove_face(&mut self, now: Time, face: FaceId) {
        self.change(now, Change::RemoveFace(face));
    }

    /// Puts a face into a group of faces that share as one, or removes it from its group.
    pub fn set_group(&mut self, now: Time, face: FaceId, group: GroupId) {
        self.change(now, Change::SetGroup { face, group });
    }

    /// Forgets a group without faces.
    pub fn forget_group(&mut self, now: Time, group: GroupId) {
        self.change(now, Change::ForgetGroup(group));
    }

    /// Sets whether a face is up.
    pub fn set_up(&mut self, now: Time, face: FaceId, up: bool) {
        let entry = if up { Entry::FaceUp(face) } else { Entry::FaceDown(face) };
        // This entry creates nothing.
        let _ = self.tell(now, &entry);
    }

    /// Handles a packet that arrived on a face.
    ///
    /// # Errors
    /// Returns an error if the packet is malformed.
    #[inline]
    pub fn receive(
        &mut self,
        now: Time,
        face: FaceId,
        header: &LpHeader,
        wire: &[u8],
    ) -> Result<Kind, DecodeError> {
        let packet = self.decoder.decode(header, wire, &mut self.pool)?;
        let kind = self.pool[packet].kind;
        self.hand(now, Input::Packet { face, packet }, |recorder, pool| {
            // The recorded Interest contains the nonce that the node added, because a replay has no key to generate it.
            recorder.packet(now, face, header, &pool[packet].wire);
        });
        Ok(kind)
    }

    /// Runs all deadlines until `now`, each at its own time, so that rates are kept although the host wakes the process late.
    /// A deadline more than `CATCH_UP` ago runs at `now` - `CATCH_UP`: the link stood still before, and the missed packets
    /// at once would be too much for the next link.
    #[inline]
    pub fn run_until(&mut self, now: Time) {
        loop {
            let due = self.core.next_deadline();
            if due > now {
                return;
            }
            self.run_once(due.max(now - CATCH_UP));
        }
    }

    /// Lets links send packets early that are due by `until`, each with its own time, as long as nothing else is due. Returns the
    /// core's time: that of the last packet.
    #[inline]
    pub fn run_links_until(&mut self, mut now: Time, until: Time) -> Time {
        loop {
            let due = self.core.next_of_links();
            if due > until {
                return now;
            }
            now = now.max(due);
            self.run_once(now);
        }
    }

    /// Runs the next deadline at time `at`: its own time, or later.
    #[inline]
    pub(crate) fn run_once(&mut self, at: Time) {
        self.hand(at, Input::Deadline, |recorder, _| recorder.record(at, &Entry::Deadline));
    }

    /// The next deadline of the core.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.core.next_deadline()
    }

    /// Takes the pending actions. Return the buffer with [`WireNode::recycle`].
    #[inline]
    pub fn take_actions(&mut self) -> Vec<Action> {
        let actions = core::mem::take(&mut self.actions);
        if let Some(recorder) = &mut self.recorder {
            recorder.actions(&actions, &self.pool);
        }
        actions
    }

    /// Takes back the buffer and clears it.
    #[inline]
    pub fn recycle(&mut self, mut actions: Vec<Action>) {
        if self.actions.is_empty() {
            actions.clear();
            self.actions = actions;
        }
    }

    /// The packet of an action.
    #[inline]
    pub fn packet(&self, packet: PacketId) -> &Packet {
        &self.pool[packet]
    }

    /// All queued, pending and stored packets.
    pub(crate) fn pool(&self) -> &PacketPool {
        &self.pool
    }

    /// Frees the packet of an action.
    #[inline]
    pub fn free(&mut self, packet: PacketId) {
        self.pool.free(packet);
    }

    /// The core, read-only.
    pub fn core(&self) -> &Node {
        &self.core
    }

    /// Takes the oldest pending change of a next hop ([`Node::take_next_hop_change`]). Recordings do not need it.
    pub(crate) fn take_next_hop_change(&mut self) -> Option<NextHopChange> {
        self.core.take_next_hop_change()
    }

    /// Number of pending, queued and stored packets.
    pub fn packets_held(&self) -> usize {
        self.pool.in_use()
    }

    /// A name with its hashes; `None` if it has too many components.
    pub fn hashed(&self, name: &Name) -> Option<HashedName> {
        HashedName::parse(&self.hasher, name.value()).ok()
    }

    /// Adds a next hop, or changes its cost.
    pub fn add_route(&mut self, now: Time, prefix: &HashedName, face: FaceId, cost: u64) {
        self.change(now, Change::AddRoute { prefix: Cow::Borrowed(prefix), face, cost });
    }

    /// Removes a next hop.
    pub fn remove_route(&mut self, now: Time, prefix: &HashedName, face: FaceId) {
        self.change(now, Change::RemoveRoute { prefix: Cow::Borrowed(prefix), face });
    }

    /// The full name of a strategy with this name in the configuration.
    pub fn strategy_name(&self, short: &str) -> Option<Name> {
        let (bare, options) = short.split_once('/').unwrap_or((short, ""));
        let known = self.strategies.iter().find(|known| known.short == bare)?;
        Some(known.name_with(options))
    }

    /// All strategies, with their versions.
    pub fn strategy_names(&self) -> Vec<Name> {
        let bare = self.strategies.iter().filter(|known| known.options.is_empty());
        bare.map(KnownStrategy::full_name).collect()
    }

    /// Sets the strategy of a prefix. Returns its name with the version, or `None` if there is no such strategy. A requested
    /// version may be older than ours, or equal.
    pub fn choose_strategy(&mut self, now: Time, prefix: &HashedName, name: &Name) -> Option<Name> {
        let strategy = self.known_strategy(now, name.view())?;
        self.change(now, Change::ChooseStrategy { prefix: Cow::Borrowed(prefix), strategy });
        self.strategies.iter().find(|known| known.id == strategy).map(KnownStrategy::full_name)
    }

    /// The strategy with this name. A strategy with new options is created.
    fn known_strategy(&mut self, now: Time, name: NameRef<'_>) -> Option<StrategyId> {
        let (bare, version, options) = parts(name)?;
        let is_it = |known: &&KnownStrategy| {
            known.name.view() == bare && version.is_none_or(|version| version <= known.version)
        };
        let same = self.strategies.iter().filter(is_it).find(|known| known.options == options);
        if let Some(known) = same {
            return Some(known.id);
        }
        let short = self.strategies.iter().find(is_it)?.short;
        match self.tell(now, &Entry::AddStrategy(&format!("{short}/{options}"))) {
            Ok(Effect::Strategy(id)) => Some(id),
            _ => None,
        }
    }

    /// Removes the strategy choice of a prefix.
    pub fn unchoose_strategy(&mut self, now: Time, prefix: &HashedName) {
        self.change(now, Change::UnchooseStrategy { prefix: Cow::Borrowed(prefix) });
    }

    /// The chosen strategies by prefix.
    pub fn chosen_strategies(&self) -> &BTreeMap<Name, Name> {
        &self.chosen
    }

    /// Sets the rates of a face's link: of this end and of the other one.
    pub fn set_rates(&mut self, now: Time, face: FaceId, send: Option<Rate>, receive: Option<Rate>) {
        self.change(now, Change::SetSendRate { face, rate: send });
        self.change(now, Change::SetReceiveRate { face, rate: receive });
    }

    /// Sets the limits of the content store.
    pub fn set_content_store_limits(&mut self, now: Time, packets: usize, bytes: u64) {
        let packets = packets.min(most_stored(bytes, self.core.content_store().policy()));
        self.change(now, Change::SetStoreLimits { packets, bytes });
    }

    /// Sets the limit of the content store in packets.
    pub fn set_content_store_packets(&mut self, now: Time, packets: usize) {
        let (_, bytes) = self.core.content_store().limits();
        self.set_content_store_limits(now, packets, bytes);
    }

    /// Sets which operations may use the content store.
    pub fn use_content_store(&mut self, now: Time, cs_use: CsUse) {
        self.change(now, Change::SetStoreUse(cs_use));
    }

    /// Erases Data under a prefix. Returns their number.
    pub fn erase_content(&mut self, now: Time, prefix: &HashedName, limit: usize) -> usize {
        match self.change(now, Change::EraseStored { prefix: Cow::Borrowed(prefix), limit }) {
            Effect::Erased(erased) => erased,
            _ => 0,
        }
    }
}

/// The reason why an entry cannot be passed to the node.
#[derive(Clone, Debug, PartialEq)]
pub enum Untold {
    /// The scheme of a link cannot be created.
    Scheme(SchemeError),
    /// There is no such strategy.
    NoStrategy(String),
}

impl core::fmt::Display for Untold {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Untold::Scheme(error) => error.fmt(f),
            Untold::NoStrategy(name) => write!(f, "there is no strategy `{name}`"),
        }
    }
}

impl KnownStrategy {
    fn full_name(&self) -> Name {
        self.name_with(&self.options)
    }

    fn name_with(&self, options: &str) -> Name {
        let options = options.split('/').filter(|option| !option.is_empty());
        let name = self.name.clone().with_version(self.version);
        options.fold(name, |name, option| name.with(Component::generic(option.as_bytes())))
    }
}

/// Splits a strategy name into the name without version and options, the version, and the options.
fn parts(name: NameRef<'_>) -> Option<(NameRef<'_>, Option<u64>, String)> {
    let at = name.components().position(|part| part.version().is_some()).unwrap_or(name.len());
    let mut rest = name.suffix(at).components();
    let version = rest.next().and_then(|part| part.version());
    let options: Result<Vec<&str>, _> = rest.map(|part| core::str::from_utf8(part.value)).collect();
    Some((name.prefix(at), version, options.ok()?.join("/")))
}

impl Drop for WireNode {
    /// A recording ends with the hash of all actions.
    fn drop(&mut self) {
        if let Some(mut recorder) = self.recorder.take() {
            recorder.actions(&self.actions, &self.pool);
            recorder.finish_whole();
        }
    }
}

/// Largest number of Data in a content store of this many bytes. Slots remain when larger Data replace smaller ones; all slots
/// together take at most a fifth of the bytes.
fn most_stored(bytes: u64, policy: CsPolicy) -> usize {
    let place = size_of::<Packet>() + ENTRY_BYTES + policy.entry_bytes();
    usize::try_from(bytes / 5 / place as u64).unwrap_or(usize::MAX)
}

/// The strategies of a node by number, and their names. The first is the scheme's own, which is used where none is chosen.
fn strategies(own: &dyn Scheme, config: &Config) -> (Vec<Box<dyn Strategy>>, Vec<KnownStrategy>) {
    let (mut parts, mut known) = (vec![own.strategy()], Vec::new());
    let mut know = |short: &'static str, owner: &str, version, id: usize| {
        let name = format!("/localhost/{owner}/strategy/{short}").parse().unwrap_or_default();
        let id = StrategyId(id as u8);
        known.push(KnownStrategy { short, name, version, options: String::new(), id });
    };
    for scheme in &config.schemes {
        if scheme.entry.name == config.scheme.entry.name {
            know(scheme.entry.name, "weir", 1, 0);
        } else {
            know(scheme.entry.name, "weir", 1, parts.len());
            parts.push(scheme.build().strategy());
        }
    }
    // These have the versions of NFD's strategies.
    let of_nfd: [(&'static str, Box<dyn Strategy>); 3] = [
        ("best-route", Box::new(BestRoute::default())),
        ("multicast", Box::new(Multicast::default())),
        (ASF, Box::new(Asf::default())),
    ];
    for (short, strategy) in of_nfd {
        know(short, "nfd", 5, parts.len());
        parts.push(strategy);
    }
    known.retain(|known| usize::from(known.id.0) < MOST_STRATEGIES);
    (parts, known)
}

/// The signals of every scheme, because the node passes on those of its neighbours. The running scheme's signals are the node's
/// own.
fn signals_known_with(config: &Config) -> SignalSet {
    let known: SignalSet = weir_schemes::registry::signals().into_iter().map(|(signal, _)| signal).collect();
    known.with_own(Signal::COMMON.iter().chain(config.scheme.entry.signals).copied())
}

/// Signals that any consumer may set on Interests.
fn signals_of_consumers() -> SignalSet {
    let all = weir_schemes::registry::signals().into_iter();
    all.map(|(signal, _)| signal).filter(|signal| !signal.is_of_routers).collect()
}

impl core::fmt::Debug for WireNode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WireNode").field("core", &self.core).finish_non_exhaustive()
    }
}

/// The name with these component TLVs.
pub fn plain(components: &[u8]) -> Name {
    NameRef::from_value(components).map(|name| name.to_name()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strategy_with_options_is_made_once_and_wrong_options_are_none() {
        let mut node = WireNode::new(&Config::default(), 1, Secrets::fixed(1));
        let names = node.strategy_names();
        let prefix: Name = "/a".parse().unwrap();
        let hashed = node.hashed(&prefix).unwrap();
        let mut choose = |name: &str| {
            let name: Name = format!("/localhost/nfd/strategy/{name}").parse().unwrap();
            let chosen = node.choose_strategy(Time::ZERO, &hashed, &name);
            (chosen.map(|name| name.to_string()), node.strategies.len())
        };
        let full = |options: &str| Some(format!("/localhost/nfd/strategy/asf/v=5{options}"));
        let base = choose("asf");
        assert_eq!(base.0, full(""));
        for _ in 0..2 {
            let options = "/probing-interval~30000/max-timeouts~5";
            assert_eq!(choose(&format!("asf/v=4{options}")), (full(options), base.1 + 1));
        }
        for wrong in [
            "asf/v=6",
            "asf/v=5/probing-interval~999",
            "asf/v=5/max-timeouts~0",
            "asf/v=5/max-timeouts~x",
            "asf/v=5/colour~1",
            "best-route/v=5/max-timeouts~1",
        ] {
            assert_eq!(choose(wrong), (None, base.1 + 1), "{wrong}");
        }
        assert_eq!(node.strategy_names(), names, "with options they are not listed");
    }

    #[test]
    fn no_more_strategies_are_made_than_a_node_has_room_for() {
        let mut node = WireNode::new(&Config::default(), 1, Secrets::fixed(1));
        let prefix = Name::new();
        let hashed = node.hashed(&prefix).unwrap();
        let mut choose = |timeouts: u32| {
            let name = node.strategy_name(&format!("asf/max-timeouts~{timeouts}")).unwrap();
            node.choose_strategy(Time::ZERO, &hashed, &name).is_some()
        };
        let made = (1..100).filter(|n| choose(*n)).count();
        assert!((1..64).contains(&made) && !choose(100), "{made}");
        assert!(choose(1), "those that are there can be chosen");
    }
}
