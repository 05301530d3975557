//! The core with the packets of this host: bytes in, actions out.

use std::collections::BTreeMap;

use weir_core::ids::StrategyId;
use weir_core::ids::{FaceId, GroupId};
use weir_core::link::Link;
use weir_core::name::{HashedName, NameHasher};
use weir_core::node::{
    Action, ClassRule, CsUse, IngressCounters, IngressPolicy, Input, MOST_STRATEGIES, NextHopChange, Node,
    NodeConfig, Placing, TableLimits,
};
use weir_core::packet::{Kind, Packet, PacketId, PacketPool};
use weir_core::random::Random;
use weir_core::seam::{Asf, BestRoute, FaceConfig, Multicast, QueueLimit, Scheme, Strategy};
use weir_core::tables::cs::{ContentStore, CsPolicy, ENTRY_BYTES};
use weir_core::units::{Rate, Span, Time};
use weir_packet::sign::implicit_digest;
use weir_packet::{Component, DecodeError, LpHeader, Name, NameRef, ServiceClass, Signal, SignalSet};
use weir_schemes::Resolved;

use crate::config::{ASF, Config, Tables, asf_options};
use crate::record::{Entry, RecordCounters, Recorder};
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

/// What is believed of the packets that arrive by a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ingress {
    /// Whether signals that only routers say are.
    pub is_believed: bool,
    /// Rules for service classes.
    pub classes: [ClassRule; ServiceClass::ALL.len()],
}

impl Ingress {
    /// Whether all is.
    pub fn is_open(&self) -> bool {
        self.is_believed && self.classes == IngressPolicy::open().classes
    }
}

/// What a link in front of a face is like.
#[derive(Clone, Copy, Debug)]
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
        let core = Node::new(NodeConfig {
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
            digest: Some(implicit_digest),
        });
        let own = strategies.iter().find(|known| known.id == StrategyId::default());
        let chosen = own.map(|known| (Name::new(), known.full_name())).into_iter().collect();
        let mut decoder =
            Decoder::new(secrets, signals_known_with(config)).in_regions(config.tables.regions.clone());
        decoder.keep_data(core.content_store().is_on());
        WireNode {
            core,
            pool: PacketPool::new(),
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

    /// It is told something at a time.
    #[inline]
    fn note(&mut self, now: Time, entry: &Entry<'_>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, entry);
        }
    }

    /// It is told something that has no time: the time is that of what it was told last.
    fn note_change<'a>(&mut self, name: &'a HashedName, entry: impl FnOnce(NameRef<'a>) -> Entry<'a>) {
        if let (Some(recorder), Ok(name)) = (&mut self.recorder, NameRef::from_value(name.wire())) {
            recorder.record(recorder.last(), &entry(name));
        }
    }

    /// Adds the face of an application on this host.
    pub fn add_application(&mut self, now: Time) -> FaceId {
        let face = self.core.add_application(now);
        self.note(now, &Entry::AddApplication(face.0));
        face
    }

    /// Adds a face to a neighbour, with the queue of a scheme in front of it; `None`: the node's own.
    pub fn add_link(&mut self, now: Time, config: LinkConfig, scheme: Option<&Resolved>) -> FaceId {
        let LinkConfig { send_rate, receive_rate, limit } = config;
        let face = self.core.next_face(now);
        if self.recorder.is_some() {
            self.note(now, &link_entry(face, config, scheme));
        }
        let face_config = FaceConfig { face, send_rate, receive_rate, limit };
        let queue = match scheme {
            Some(scheme) => scheme.build().queue(&face_config),
            None => self.scheme.queue(&face_config),
        };
        self.faces_made += 1;
        let random = Random::named(self.seed, &format!("face {}", self.faces_made));
        self.core.add_link(now, Link::new(queue, send_rate, random))
    }

    /// The signals that it takes from packets.
    pub fn known_signals(&self) -> SignalSet {
        self.decoder.known()
    }

    /// Says what is believed of the packets that arrive by a face from now on; without it, all is.
    pub fn set_ingress(&mut self, now: Time, face: FaceId, ingress: &Ingress) {
        self.note(now, &Entry::SetIngress { face: face.0, ingress: *ingress });
        let signals = (!ingress.is_believed).then(signals_of_consumers);
        self.core.set_ingress(face, &IngressPolicy { signals, classes: ingress.classes });
    }

    /// What was not believed of the packets that arrived by a face.
    pub fn ingress_counters(&self, face: FaceId) -> IngressCounters {
        self.core.ingress_counters(face)
    }

    /// Removes a face with its routes.
    pub fn remove_face(&mut self, now: Time, face: FaceId) {
        self.note(now, &Entry::RemoveFace(face.0));
        self.core.remove_face(now, face, &mut self.pool, &mut self.actions);
    }

    /// Puts a face into a group of faces that share as one, or into none.
    pub fn set_group(&mut self, now: Time, face: FaceId, group: GroupId) {
        self.note(now, &Entry::SetGroup { face: face.0, group: group.0 });
        self.core.set_group(face, group);
    }

    /// Forgets a group that has no faces any more.
    pub fn forget_group(&mut self, now: Time, group: GroupId) {
        self.note(now, &Entry::ForgetGroup(group.0));
        self.core.forget_group(now, group, &mut self.pool, &mut self.actions);
    }

    /// A face came up or went down.
    pub fn set_up(&mut self, now: Time, face: FaceId, up: bool) {
        let input = if up { Input::FaceUp(face) } else { Input::FaceDown(face) };
        self.note(now, &if up { Entry::FaceUp(face.0) } else { Entry::FaceDown(face.0) });
        self.core.handle(now, input, &mut self.pool, &mut self.actions);
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
        if let Some(recorder) = &mut self.recorder {
            // With the nonce that an Interest was given if it came without one: a replay has no key to make it.
            recorder.packet(now, face, header, &self.pool[packet].wire);
        }
        let input = Input::Packet { face, packet };
        self.core.handle(now, input, &mut self.pool, &mut self.actions);
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
        self.note(at, &Entry::Deadline);
        self.core.handle(at, Input::Deadline, &mut self.pool, &mut self.actions);
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
    pub fn add_route(&mut self, prefix: &HashedName, face: FaceId, cost: u64) {
        self.note_change(prefix, |prefix| Entry::AddRoute { prefix, face: face.0, cost });
        self.core.add_route(prefix, face, cost);
    }

    /// Takes out a next hop.
    pub fn remove_route(&mut self, now: Time, prefix: &HashedName, face: FaceId) {
        self.note_change(prefix, |prefix| Entry::RemoveRoute { prefix, face: face.0 });
        self.core.remove_route(now, prefix, face, &mut self.pool, &mut self.actions);
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
    pub fn choose_strategy(&mut self, prefix: &Name, hashed: &HashedName, name: &Name) -> Option<Name> {
        let (strategy, id, name) = self.known_strategy(name.view())?;
        self.note_change(hashed, |prefix| Entry::SetStrategy { prefix, strategy: &strategy });
        self.core.choose_strategy(hashed, id);
        self.chosen.insert(prefix.clone(), name.clone());
        Some(name)
    }

    /// The strategy of this name, as the configuration calls it, its number and its full name. It is made if there is none
    /// with its options.
    fn known_strategy(&mut self, name: NameRef<'_>) -> Option<(String, StrategyId, Name)> {
        let (bare, version, options) = parts(name)?;
        let is_it = |known: &&KnownStrategy| {
            known.name.view() == bare && version.is_none_or(|version| version <= known.version)
        };
        let same = self.strategies.iter().filter(is_it).find(|known| known.options == options);
        if let Some(known) = same {
            return Some((known.short_with_options(), known.id, known.full_name()));
        }
        let base = self.strategies.iter().find(is_it)?;
        let (short, name, version) = (base.short, base.name.clone(), base.version);
        let asf = asf_options(&options).filter(|_| short == ASF)?;
        let id = self.core.add_strategy(Box::new(Asf::new(asf)))?;
        let known = KnownStrategy { short, name, version, options, id };
        let found = (known.short_with_options(), known.id, known.full_name());
        self.strategies.push(known);
        Some(found)
    }

    /// Takes back the choice for a prefix.
    pub fn unchoose_strategy(&mut self, prefix: &Name, hashed: &HashedName) {
        self.note_change(hashed, |prefix| Entry::UnsetStrategy { prefix });
        self.core.unchoose_strategy(hashed);
        self.chosen.remove(prefix);
    }

    /// What is chosen: prefixes and names of strategies.
    pub fn chosen_strategies(&self) -> &BTreeMap<Name, Name> {
        &self.chosen
    }

    /// Changes the rates of a face's link.
    pub fn set_rates(&mut self, now: Time, face: FaceId, send: Option<Rate>, receive: Option<Rate>) {
        self.set_send_rate(now, face, send);
        self.set_receive_rate(now, face, receive);
    }

    /// Changes the rate at which packets leave by a face.
    pub fn set_send_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>) {
        self.note(now, &Entry::SetRate { face: face.0, rate: rate.map(Rate::as_bps) });
        self.core.set_link_rate(now, face, rate);
    }

    /// Changes the rate at which the other end of a face sends.
    pub fn set_receive_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>) {
        self.note(now, &Entry::SetReceiveRate { face: face.0, rate: rate.map(Rate::as_bps) });
        self.core.set_receive_rate(now, face, rate);
    }

    /// Changes the bounds of the content store.
    pub fn set_content_store_limits(&mut self, packets: usize, bytes: u64) {
        let packets = packets.min(most_stored(bytes, self.core.content_store().policy()));
        self.core.set_content_store_limits(packets, bytes, &mut self.pool);
        self.note_store();
    }

    /// Changes the bound of the content store in packets.
    pub fn set_content_store_packets(&mut self, packets: usize) {
        let (_, bytes) = self.core.content_store().limits();
        self.set_content_store_limits(packets, bytes);
    }

    /// Changes what the content store is used for.
    pub fn use_content_store(&mut self, cs_use: CsUse) {
        self.core.use_content_store(cs_use);
        self.note_store();
    }

    fn note_store(&mut self) {
        let (packets, bytes) = self.core.content_store().limits();
        let CsUse { admit, serve } = self.core.content_store_use();
        self.decoder.keep_data(admit && self.core.content_store().is_on());
        if let Some(recorder) = &mut self.recorder {
            let entry = Entry::ConfigureStore { packets: packets as u64, bytes, admit, serve };
            recorder.record(recorder.last(), &entry);
        }
    }

    /// Erases Data under a prefix; says how many.
    pub fn erase_content(&mut self, prefix: &HashedName, limit: usize) -> usize {
        self.note_change(prefix, |prefix| Entry::EraseStore { prefix, limit: limit as u64 });
        self.core.erase_content(prefix, limit, &mut self.pool)
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

    fn short_with_options(&self) -> String {
        let slash = if self.options.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.short, self.options)
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

fn link_entry<'a>(face: FaceId, config: LinkConfig, scheme: Option<&'a Resolved>) -> Entry<'a> {
    let params = |scheme: &'a Resolved| {
        scheme.given.iter().map(|(key, value)| (key.as_str(), value.clone())).collect()
    };
    Entry::AddLink {
        face: face.0,
        send_rate: config.send_rate.map(Rate::as_bps),
        receive_rate: config.receive_rate.map(Rate::as_bps),
        limit: config.limit,
        scheme: scheme.map(|scheme| (scheme.entry.name, params(scheme))),
    }
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
            let chosen = node.choose_strategy(&prefix, &hashed, &name);
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
            node.choose_strategy(&prefix, &hashed, &name).is_some()
        };
        let made = (1..100).filter(|n| choose(*n)).count();
        assert!((1..64).contains(&made) && !choose(100), "{made}");
        assert!(choose(1), "those that are there can be chosen");
    }
}
