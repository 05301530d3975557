//! The core with the packets of this host: bytes in, actions out.
//!
//! All that the core is told goes through one method (`hand`), which records it first: changes by [`WireNode::tell`], packets
//! by [`WireNode::receive`]. A replay calls the same two with what it has read.

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

/// How much of what it was not run for a node makes up for. Assumed: what busy hosts and virtual machines are
/// late by now and then, measured 2 ms to 12 ms at the worst of a thousand times.
const CATCH_UP: Span = Span::from_millis(10);

/// A strategy that can be chosen.
struct KnownStrategy {
    /// As in the configuration.
    short: &'static str,
    /// As management says it, without a version.
    name: Name,
    version: u64,
    /// What stands behind the version, as in a URI; empty without options.
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

/// What a link in front of a face is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Rate at which packets leave; `None`: as fast as they come.
    pub send_rate: Option<Rate>,
    /// Rate at which the other end sends.
    pub receive_rate: Option<Rate>,
    /// Bound of the queue.
    pub limit: QueueLimit,
}

impl WireNode {
    /// A node with the strategies, tables and scheme of a configuration. Its random choices follow from `seed`, which
    /// its recordings contain. No recording contains its secrets.
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

    /// Records all that it is told from now on; what it has been told before, the recorder knows.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(Box::new(recorder));
    }

    /// Writes what of the recording is kept in memory; says what has been recorded.
    pub fn flush_recording(&mut self) -> Option<RecordCounters> {
        let recorder = self.recorder.as_mut()?;
        recorder.flush();
        Some(recorder.counters())
    }

    /// Errors of the recording's file.
    pub fn recording_errors(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |recorder| recorder.counters().errors)
    }

    /// The one door to the core: what it is told is recorded, then handled.
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

    /// Tells the node what an entry of a recording says: all but packets, which are [received](WireNode::receive), and what
    /// is no input.
    ///
    /// # Errors
    /// What it names cannot be made. Then it is not recorded.
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

    /// The link that a plan says, with the queue of its scheme, or else of the node's.
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

    /// A strategy with options, as the configuration calls it.
    fn make_strategy(&self, short: &str) -> Result<Box<dyn Strategy>, Untold> {
        let options = short.strip_prefix(ASF).and_then(|rest| rest.strip_prefix('/'));
        match options.and_then(asf_options) {
            Some(options) => Ok(Box::new(Asf::new(options))),
            None => Err(Untold::NoStrategy(short.to_owned())),
        }
    }

    /// Follows a change of the core with what is known of it here.
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

    /// The face of management, an application on this host: the first of every node.
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

    /// Adds a face to a neighbour, with the queue of a scheme in front of it; `None`: the node's own.
    pub fn add_link(&mut self, now: Time, config: LinkConfig, scheme: Option<&Resolved>) -> FaceId {
        let next = self.core.next_face(now);
        let scheme = scheme.map(|scheme| (scheme.entry.name, Cow::Borrowed(&scheme.given[..])));
        let effect = self.tell(now, &Entry::AddLink(LinkPlan { config, scheme }));
        debug_assert_eq!(effect, Ok(Effect::Face(next)), "its scheme was resolved before");
        next
    }

    /// The signals that it takes from packets.
    pub fn known_signals(&self) -> SignalSet {
        self.decoder.known()
    }

    /// Says what is believed of the packets that arrive by a face from now on; without it, all is.
    pub fn set_ingress(&mut self, now: Time, face: FaceId, policy: IngressPolicy) {
        self.change(now, Change::SetIngress { face, policy });
    }

    /// What was not believed of the packets that arrived by a face.
    pub fn ingress_counters(&self, face: FaceId) -> IngressCounters {
        self.core.ingress_counters(face)
    }

    /// Removes a face with its routes.
    pub fn remove_face(&mut self, now: Time, face: FaceId) {
        self.change(now, Change::RemoveFace(face));
    }

    /// Puts a face into a group of faces that share as one, or into none.
    pub fn set_group(&mut self, now: Time, face: FaceId, group: GroupId) {
        self.change(now, Change::SetGroup { face, group });
    }

    /// Forgets a group that has no faces any more.
    pub fn forget_group(&mut self, now: Time, group: GroupId) {
        self.change(now, Change::ForgetGroup(group));
    }

    /// A face came up or went down.
    pub fn set_up(&mut self, now: Time, face: FaceId, up: bool) {
        let entry = if up { Entry::FaceUp(face) } else { Entry::FaceDown(face) };
        // Nothing is made for it.
        let _ = self.tell(now, &entry);
    }

    /// A packet came by a face.
    ///
    /// # Errors
    /// It is malformed.
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
            // With the nonce that an Interest was given if it came without one: a replay has no key to make it.
            recorder.packet(now, face, header, &pool[packet].wire);
        });
        Ok(kind)
    }

    /// Does what was to be done until `now`, each thing at its own time: so that a rate is kept though
    /// the host wakes us late. But not what was due longer ago than `CATCH_UP`: a link stood still
    /// then, and what it missed would be too much for the next one if it came at once.
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

    /// Lets links send before their time what they are to send until `until`, each packet as of its own time, as long as nothing
    /// else is due. Says what time it is for the core now: that of the last packet.
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

    /// Does what is to be done next, as of `at`: its own time, or later.
    #[inline]
    pub(crate) fn run_once(&mut self, at: Time) {
        self.hand(at, Input::Deadline, |recorder, _| recorder.record(at, &Entry::Deadline));
    }

    /// When it wants to be called.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.core.next_deadline()
    }

    /// Takes what is to be done. Give the buffer back with [`WireNode::recycle`].
    #[inline]
    pub fn take_actions(&mut self) -> Vec<Action> {
        let actions = core::mem::take(&mut self.actions);
        if let Some(recorder) = &mut self.recorder {
            recorder.actions(&actions, &self.pool);
        }
        actions
    }

    /// Takes back the buffer, emptied.
    #[inline]
    pub fn recycle(&mut self, mut actions: Vec<Action>) {
        if self.actions.is_empty() {
            actions.clear();
            self.actions = actions;
        }
    }

    /// A packet that an action is about.
    #[inline]
    pub fn packet(&self, packet: PacketId) -> &Packet {
        &self.pool[packet]
    }

    /// Packets that are queued, pending or stored.
    pub(crate) fn pool(&self) -> &PacketPool {
        &self.pool
    }

    /// Gives back a packet that an action was about.
    #[inline]
    pub fn free(&mut self, packet: PacketId) {
        self.pool.free(packet);
    }

    /// The core, to look at.
    pub fn core(&self) -> &Node {
        &self.core
    }

    /// Takes the oldest change of a next hop that waits ([`Node::take_next_hop_change`]). It changes nothing that a
    /// recording has to have.
    pub(crate) fn take_next_hop_change(&mut self) -> Option<NextHopChange> {
        self.core.take_next_hop_change()
    }

    /// Packets that are held: pending, queued or stored.
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

    /// Takes out a next hop.
    pub fn remove_route(&mut self, now: Time, prefix: &HashedName, face: FaceId) {
        self.change(now, Change::RemoveRoute { prefix: Cow::Borrowed(prefix), face });
    }

    /// The full name of a strategy that is called so in the configuration.
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

    /// Has a strategy forward a prefix; gives its name with the version, or `None` if there is none of
    /// that name. A version that is not newer than ours will do.
    pub fn choose_strategy(&mut self, now: Time, prefix: &HashedName, name: &Name) -> Option<Name> {
        let strategy = self.known_strategy(now, name.view())?;
        self.change(now, Change::ChooseStrategy { prefix: Cow::Borrowed(prefix), strategy });
        self.strategies.iter().find(|known| known.id == strategy).map(KnownStrategy::full_name)
    }

    /// The strategy of this name. It is made if there is none with its options.
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

    /// Takes back the choice for a prefix.
    pub fn unchoose_strategy(&mut self, now: Time, prefix: &HashedName) {
        self.change(now, Change::UnchooseStrategy { prefix: Cow::Borrowed(prefix) });
    }

    /// What is chosen: prefixes and names of strategies.
    pub fn chosen_strategies(&self) -> &BTreeMap<Name, Name> {
        &self.chosen
    }

    /// Changes the rates of a face's link: at which packets leave, and at which the other end sends.
    pub fn set_rates(&mut self, now: Time, face: FaceId, send: Option<Rate>, receive: Option<Rate>) {
        self.change(now, Change::SetSendRate { face, rate: send });
        self.change(now, Change::SetReceiveRate { face, rate: receive });
    }

    /// Changes the bounds of the content store.
    pub fn set_content_store_limits(&mut self, now: Time, packets: usize, bytes: u64) {
        let packets = packets.min(most_stored(bytes, self.core.content_store().policy()));
        self.change(now, Change::SetStoreLimits { packets, bytes });
    }

    /// Changes the bound of the content store in packets.
    pub fn set_content_store_packets(&mut self, now: Time, packets: usize) {
        let (_, bytes) = self.core.content_store().limits();
        self.set_content_store_limits(now, packets, bytes);
    }

    /// Changes what the content store is used for.
    pub fn use_content_store(&mut self, now: Time, cs_use: CsUse) {
        self.change(now, Change::SetStoreUse(cs_use));
    }

    /// Erases Data under a prefix; says how many.
    pub fn erase_content(&mut self, now: Time, prefix: &HashedName, limit: usize) -> usize {
        match self.change(now, Change::EraseStored { prefix: Cow::Borrowed(prefix), limit }) {
            Effect::Erased(erased) => erased,
            _ => 0,
        }
    }
}

/// Why something cannot be told.
#[derive(Clone, Debug, PartialEq)]
pub enum Untold {
    /// The scheme of a link cannot be made.
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

/// The name of a strategy without version and options, the version if it has one, and the options behind it.
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

/// How many Data a content store of so many bytes may hold. Their places stay when larger Data replace them: all of them
/// take a fifth of the bytes at most.
fn most_stored(bytes: u64, policy: CsPolicy) -> usize {
    let place = size_of::<Packet>() + ENTRY_BYTES + policy.entry_bytes();
    usize::try_from(bytes / 5 / place as u64).unwrap_or(usize::MAX)
}

/// The strategies of a node by number, and what is known of them. The first one is what the node does where nothing is
/// chosen, the scheme's own.
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
    // The versions are those of the strategies of NFD that they stand for.
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

/// The signals of every scheme, since those of neighbours pass; those of the scheme that runs here are the node's own.
fn signals_known_with(config: &Config) -> SignalSet {
    let known: SignalSet = weir_schemes::registry::signals().into_iter().map(|(signal, _)| signal).collect();
    known.with_own(Signal::COMMON.iter().chain(config.scheme.entry.signals).copied())
}

/// What anybody may say on Interests.
fn signals_of_consumers() -> SignalSet {
    let all = weir_schemes::registry::signals().into_iter();
    all.map(|(signal, _)| signal).filter(|signal| !signal.is_of_routers).collect()
}

impl core::fmt::Debug for WireNode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("WireNode").field("core", &self.core).finish_non_exhaustive()
    }
}

/// The name of these component TLVs.
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
