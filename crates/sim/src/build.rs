//! Builds a world from an experiment.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weir_core::consumer::Consumer;
use weir_core::ids::{FaceId, GroupId};
use weir_core::link::{HalfDuplex, Link, Way};
use weir_core::name::HashedName;
use weir_core::node::{CacheCounters, Change, Effect, IngressPolicy, Input, Node, NodeConfig, Part, Placing};
use weir_core::packet::PacketPool;
use weir_core::random::{Random, SeedUse};
use weir_core::seam::{FaceConfig, Scheme};
use weir_core::tables::cs::ContentStore;
use weir_core::tables::simulated_cache::SimulatedCache;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Experiment, ExperimentError, HASHER, RequestStream, SimulatedCacheConfig, name_of};
use weir_medium::phy::MAX_PACKET;
use weir_medium::{Medium, Pair};
use weir_scenario::{self as scenario, DirectedLink, FlowId, NextHop, NodeId, Scenario, Software};

use crate::half_duplex::Wire;
use crate::measure::Measurements;
use crate::medium::SharedMedium;
use crate::requests::{FlowSchemes, RequestSource};
use crate::world::{Channel, FaceKind, FlowApp, Parts, SimNode, World};

impl World {
    /// Builds the world of an experiment, before anything has happened.
    ///
    /// # Errors
    /// Returns an error if the simulator does not support or cannot measure part of the experiment.
    pub fn build(experiment: impl Into<Arc<Experiment>>) -> Result<World, ExperimentError> {
        let experiment = experiment.into();
        refuse_long_data(&experiment)?;
        let measure = Measurements::new(&experiment, Arc::default())?;
        let parts = Builder::new(&experiment).build(measure);
        Ok(World::new(experiment, parts))
    }
}

pub(crate) struct Builder<'e> {
    experiment: &'e Experiment,
    scenario: &'e Scenario,
    scheme: Box<dyn Scheme>,
    inactive: Box<dyn Scheme>,
    seed_use: SeedUse,
    nodes: Vec<SimNode>,
    channels: Vec<Channel>,
    media: Vec<SharedMedium>,
    wires: Vec<Wire>,
    produced: Vec<Produced>,
}

/// An application that produces a prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Produced {
    pub(crate) node: u32,
    pub(crate) face: FaceId,
    /// A flow that fetches the prefix.
    pub(crate) flow: FlowId,
    /// `true` if the node still produces it.
    pub(crate) is_here: bool,
}

/// A link to be made for a face.
pub(crate) struct LinkFace<'s> {
    pub(crate) link: &'s scenario::Link,
    /// Its node, and the node at the other end.
    pub(crate) ends: [NodeId; 2],
    pub(crate) face: FaceId,
    /// Its sending rate and its receiving rate.
    pub(crate) rates: [Rate; 2],
    /// Name of its random stream.
    pub(crate) stream: String,
}

impl<'e> Builder<'e> {
    fn new(experiment: &'e Experiment) -> Builder<'e> {
        Builder::noting(experiment, SeedUse::default())
    }

    /// Makes a builder for parts of an existing world. Draws are noted in its `seed_use`.
    pub(crate) fn noting(experiment: &'e Experiment, seed_use: SeedUse) -> Builder<'e> {
        Builder {
            experiment,
            scenario: experiment.scenario(),
            scheme: experiment.scheme().build(),
            inactive: experiment.inactive_scheme().build(),
            seed_use,
            nodes: Vec::new(),
            channels: Vec::new(),
            media: Vec::new(),
            wires: Vec::new(),
            produced: Vec::new(),
        }
    }

    fn build(mut self, measure: Measurements) -> Parts {
        if self.experiment.is_drawn() {
            self.seed_use.note();
        }
        self.add_nodes();
        self.add_media();
        self.add_links();
        self.add_producers();
        let flows = self.add_consumers();
        self.add_routes();
        self.set_groups();
        self.set_foreign();
        let (sources, schemes) = self.request_sources();
        let (part, script) = (Arc::default(), self.experiment.script().into());
        let Builder { nodes, channels, media, wires, produced, seed_use, .. } = self;
        Parts {
            part,
            script,
            nodes,
            channels,
            media,
            wires,
            flows,
            sources,
            schemes,
            produced,
            measure,
            seed_use,
        }
    }

    fn random(&self, name: &str) -> Random {
        Random::named(self.experiment.seed(), name).noting(&self.seed_use)
    }

    /// The random stream of the `number`th flow of this consumer and prefix.
    fn flow_random(&self, flow: &scenario::Flow, number: u32) -> Random {
        let name = format!("flow {} of {}", flow.prefix, self.experiment.node_name(flow.consumer));
        if number == 1 { self.random(&name) } else { self.random(&format!("{name}, number {number}")) }
    }

    fn scheme_of(&self, node: usize) -> &dyn Scheme {
        if self.scenario.nodes[node].runs_scheme() { self.scheme.as_ref() } else { self.inactive.as_ref() }
    }

    fn add_nodes(&mut self) {
        self.nodes.reserve_exact(self.scenario.nodes.len());
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            let (forwarder, keeps_to_one) = self.forwarder(index, &format!("node {}", node.name));
            self.nodes.push(SimNode {
                forwarder,
                keeps_to_one,
                up: true,
                starts: 1,
                cache_before: CacheCounters::default(),
                cache_ratio: node.cache_ratio,
                faces: Vec::new(),
                scheduled: Time::NEVER,
                last_turn: (Time::NEVER, 0),
            });
        }
    }

    /// Makes a node without faces and routes. Returns also whether its strategy keeps to one next hop.
    pub(crate) fn forwarder(&self, index: usize, stream: &str) -> (Node, bool) {
        let node = &self.scenario.nodes[index];
        let strategy = self.scheme_of(index).strategy();
        let keeps_to_one = strategy.keeps_to_one();
        let mut config = NodeConfig {
            flow_prefix: self.scheme_of(index).flow_prefix(),
            reforward_after: node.reforward_after,
            next_hop_timeout: node.next_hop_timeout,
            ..NodeConfig::new(strategy, HASHER, self.random(stream))
        };
        if let Some(store) = self.experiment.store(NodeId(index)) {
            let random = |what: &str| self.random(&format!("{what} of {}", node.name));
            let empty = ContentStore::new(store.policy, store.packets, store.bytes);
            config.content_store = empty.drawing_from(random("content store"));
            let counts = self.experiment.counts_stores();
            config.placing = Placing::of(store.placement, counts, random("placement of copies"));
        }
        let cache = self.experiment.simulated_cache(NodeId(index));
        config.simulated_cache = cache.map(|cache| self.simulated_cache(&node.name, &cache));
        (Node::new(config), keeps_to_one)
    }

    fn simulated_cache(&self, node: &str, config: &SimulatedCacheConfig) -> SimulatedCache {
        let mut cache = SimulatedCache::new(config.ratio, &mut self.random(&format!("cache of {node}")));
        config.answers.iter().for_each(|(prefix, producer)| cache.add(prefix, *producer));
        cache
    }

    fn add_media(&mut self) {
        for (index, medium) in self.scenario.media.iter().enumerate() {
            let links = || {
                let links = self.scenario.links.iter().enumerate();
                links.filter(move |(_, link)| link.medium.is_some_and(|of| of.index() == index))
            };
            let station = |node: NodeId| {
                medium.stations.iter().position(|s| *s == node).expect("both ends are stations") as u32
            };
            let pair = |(_, link): (usize, &scenario::Link)| Pair {
                stations: [station(link.a), station(link.b)],
                rate: link.rate,
                loss: link.loss,
                random: [self.link_random(link, [link.a, link.b]), self.link_random(link, [link.b, link.a])],
            };
            let streams = medium.stations.iter().map(|station| {
                let station = &self.scenario.nodes[station.index()].name;
                self.random(&format!("medium {}, station {station}", medium.name))
            });
            self.media.push(SharedMedium {
                medium: Medium::new(streams.collect(), links().map(pair).collect()),
                // The links of a medium have consecutive numbers.
                first_channel: 2 * links().next().expect("a medium has stations").0 as u32,
            });
        }
    }

    fn link_random(&self, link: &scenario::Link, [from, to]: [NodeId; 2]) -> Random {
        let node = |node| self.experiment.node_name(node);
        self.random(&format!("link {} to {}{}", node(from), node(to), suffix(link)))
    }

    fn add_links(&mut self) {
        self.channels.reserve_exact(2 * self.scenario.links.len());
        for link in &self.scenario.links {
            let ends = [link.a, link.b];
            let faces = [0, 1].map(|direction| self.add_link_face(link, ends, direction));
            for direction in [0, 1] {
                let [from, to] = [direction, 1 - direction].map(|end| (ends[end].index() as u32, faces[end]));
                self.channels.push(Channel {
                    from,
                    to,
                    medium: self.on_medium(link, self.channels.len() as u32),
                    rate: link.rate[direction],
                    way: self.way(link, direction),
                    up: true,
                    in_flight: VecDeque::new(),
                });
            }
            if link.half_duplex {
                let wire = HalfDuplex::new(link.rate);
                self.wires.push(Wire { link: wire, first_channel: self.channels.len() as u32 - 2 });
            }
        }
    }

    /// Makes the path from one end of a link to the other.
    fn way(&self, link: &scenario::Link, direction: usize) -> Way {
        let ends = [link.a, link.b];
        let (from, to) = (ends[direction], ends[1 - direction]);
        // On a medium, loss applies to frames.
        let loss = if link.medium.is_some() { 0.0 } else { link.loss };
        let mut way = Way::new(link.delay[direction], loss, self.link_random(link, [from, to]));
        way.set_burst(link.loss_burst);
        if link.jitter == Span::ZERO {
            return way;
        }
        let name = |node| self.experiment.node_name(node);
        let random = self.random(&format!("jitter of link {} to {}{}", name(from), name(to), suffix(link)));
        way.with_jitter(link.jitter, link.reorder, random)
    }

    /// The medium of a channel and its direction there, if it is on a medium.
    fn on_medium(&self, link: &scenario::Link, channel: u32) -> Option<(u32, u32)> {
        let medium = link.medium?.index();
        Some((medium as u32, channel - self.media[medium].first_channel))
    }

    /// Adds the end of a link that sends in a direction. Its channel number is the present number of channels
    /// plus `direction`.
    fn add_link_face(&mut self, link: &scenario::Link, ends: [NodeId; 2], direction: usize) -> FaceId {
        let (from, to) = (ends[direction], ends[1 - direction]);
        let face = self.nodes[from.index()].forwarder.next_face(Time::ZERO);
        let channel = (self.channels.len() + direction) as u32;
        let on_medium = self.on_medium(link, channel);
        let rates = match on_medium {
            Some((medium, direction)) => {
                [direction, direction ^ 1].map(|of| self.media[medium as usize].medium.rate(of))
            }
            None => [link.rate[direction], link.rate[1 - direction]],
        };
        let name = |node| self.experiment.node_name(node);
        let stream = format!("face of {} to {}{}", name(from), name(to), suffix(link));
        let made = self.link(&LinkFace { link, ends: [from, to], face, rates, stream });
        let kind = match on_medium {
            Some((medium, direction)) => FaceKind::Medium { medium, direction },
            None if link.half_duplex => {
                FaceKind::HalfDuplex { wire: self.wires.len() as u32, direction: direction as u32 }
            }
            None => FaceKind::Channel(channel),
        };
        tell(&mut self.nodes[from.index()].forwarder, Time::ZERO, Input::Add(Box::new(Part::Link(made))));
        self.nodes[from.index()].faces.push(kind);
        face
    }

    /// Makes the sending end of a link.
    pub(crate) fn link(&self, of: &LinkFace<'_>) -> Link {
        let [send_rate, receive_rate] = of.rates.map(Some);
        let (face, limit) = (of.face, self.experiment.queue_limit(of.link));
        let config = FaceConfig { face, send_rate, receive_rate, limit };
        let queue = self.scheme_of(of.ends[0].index()).queue(&config);
        let random = self.random(&of.stream);
        match &of.link.rate_trace {
            _ if of.link.medium.is_some() || of.link.half_duplex => Link::shared(queue, random),
            Some(traces) => {
                let direction = usize::from(of.ends[0] != of.link.a);
                Link::traced(queue, Arc::clone(&traces[direction]), random)
            }
            None => Link::new(queue, send_rate, random),
        }
    }

    /// Adds one application for each node and prefix, however many consumers fetch it.
    fn add_producers(&mut self) {
        let mut known = BTreeSet::new();
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            for producer in &flow.producers {
                if known.insert((*producer, flow.prefix.as_str())) {
                    let node = &mut self.nodes[producer.index()];
                    let face = add_application(&mut node.forwarder, Time::ZERO);
                    node.faces.push(FaceKind::Producer(self.experiment.producer(FlowId(index))));
                    add_next_hop(&mut node.forwarder, Time::ZERO, &name_of(&flow.prefix), face, 0);
                    let (node, flow) = (producer.index() as u32, FlowId(index));
                    self.produced.push(Produced { node, face, flow, is_here: true });
                }
            }
        }
    }

    fn add_consumers(&mut self) -> Vec<FlowApp> {
        let order = self.shuffled(self.scenario.flows.len());
        let mut flows = Vec::with_capacity(order.len());
        let mut streams = BTreeMap::new();
        for ((index, flow), event) in self.scenario.flows.iter().enumerate().zip(order) {
            let id = FlowId(index);
            let node = flow.consumer.index();
            let face = add_application(&mut self.nodes[node].forwarder, Time::ZERO);
            self.nodes[node].faces.push(FaceKind::Consumer(index as u32));
            let config = self.experiment.flow_config(id);
            let control = match self.experiment.own_scheme_of_flow(id) {
                Some(own) => own.build().flow_control(&config),
                None => self.scheme.flow_control(&config),
            };
            // Two consumers of one prefix on one node must not use the same nonces.
            let number = streams.entry((node, flow.prefix.as_str())).and_modify(|n| *n += 1).or_insert(1);
            let random = self.flow_random(flow, *number);
            let consumer = Consumer::new(self.experiment.consumer(id), control, random);
            flows.push(FlowApp {
                consumer,
                node: node as u32,
                face,
                event,
                flow: index as u32,
                request: None,
            });
        }
        flows
    }

    /// The sources of requests (none if no flow is one), and the factory of their flow controls.
    fn request_sources(&mut self) -> (Vec<Option<Box<RequestSource>>>, FlowSchemes) {
        let streams = self.experiment.request_streams();
        let has_any = streams.iter().any(Option::is_some);
        let of_run = core::mem::replace(&mut self.scheme, self.experiment.inactive_scheme().build());
        let some = streams.iter().enumerate().filter(|(_, stream)| stream.is_some());
        let schemes = FlowSchemes::new(of_run, self.experiment, some.map(|(flow, _)| FlowId(flow)));
        let source = |(index, stream): (usize, Option<RequestStream>)| {
            Some(Box::new(RequestSource::new(stream?, self.experiment.unloaded(FlowId(index)))))
        };
        let sources =
            if has_any { streams.into_iter().enumerate().map(source).collect() } else { Vec::new() };
        (sources, schemes)
    }

    /// A random order of flows, for flows that act at the same instant. The world notes when this order
    /// decides something.
    fn shuffled(&self, n: usize) -> Vec<u32> {
        let mut random = Random::named(self.experiment.seed(), "order of flows");
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            order.swap(last, random.below(last as u32 + 1) as usize);
        }
        order
    }

    /// Makes each face a group, if faces share.
    fn set_groups(&mut self) {
        let nodes = self.nodes.iter_mut().zip(&self.scenario.nodes);
        for (node, _) in nodes.filter(|(_, scenario)| scenario.share_by_face) {
            set_groups(&mut node.forwarder, Time::ZERO, node.faces.len());
        }
    }

    /// Makes nodes that do not run Weir drop signals.
    fn set_foreign(&mut self) {
        for (node, scenario) in self.nodes.iter_mut().zip(&self.scenario.nodes) {
            if scenario.software != Software::Weir {
                let faces = 0..node.faces.len() as u32;
                faces.for_each(|face| drop_signals(&mut node.forwarder, Time::ZERO, FaceId(face)));
            }
        }
    }

    fn add_routes(&mut self) {
        let mut names: BTreeMap<&str, HashedName> = BTreeMap::new();
        for route in &self.scenario.routes {
            let prefix = names.entry(&route.prefix).or_insert_with(|| name_of(&route.prefix));
            let node = &mut self.nodes[route.node.index()];
            let SimNode { forwarder, keeps_to_one, .. } = node;
            add_route(forwarder, Time::ZERO, *keeps_to_one, &self.channels, route, prefix);
        }
    }
}

/// Distinguishes the random streams of links between the same nodes.
pub(crate) fn suffix(link: &scenario::Link) -> String {
    link.name.as_ref().map_or(String::new(), |name| format!(":{name}"))
}

/// Gives a node an input that concerns no packets, so it causes no action.
pub(crate) fn tell(forwarder: &mut Node, now: Time, input: Input<'_>) -> Effect {
    let (mut pool, mut actions) = (PacketPool::new(), Vec::new());
    let effect = forwarder.handle(now, input, &mut pool, &mut actions);
    debug_assert!(actions.is_empty(), "{actions:?}");
    effect
}

pub(crate) fn add_application(forwarder: &mut Node, now: Time) -> FaceId {
    let next = forwarder.next_face(now);
    let effect = tell(forwarder, now, Input::Change(&Change::AddApplication));
    debug_assert_eq!(effect, Effect::Face(next));
    next
}

pub(crate) fn add_next_hop(forwarder: &mut Node, now: Time, prefix: &HashedName, face: FaceId, cost: u64) {
    let prefix = Cow::Borrowed(prefix);
    tell(forwarder, now, Input::Change(&Change::AddRoute { prefix, face, cost }));
}

/// Makes each face a group of its own.
pub(crate) fn set_groups(forwarder: &mut Node, now: Time, faces: usize) {
    (0..faces as u32).for_each(|face| set_group(forwarder, now, FaceId(face)));
}

/// Makes this face a group of its own.
pub(crate) fn set_group(forwarder: &mut Node, now: Time, face: FaceId) {
    let group = GroupId((face.0 % u32::from(u16::MAX)) as u16 + 1);
    tell(forwarder, now, Input::Change(&Change::SetGroup { face, group }));
}

/// Removes the signals of packets that arrive by this face, and makes all packets best effort: the forwarder
/// does not run Weir.
pub(crate) fn drop_signals(forwarder: &mut Node, now: Time, face: FaceId) {
    let policy = IngressPolicy::without_signals();
    tell(forwarder, now, Input::Change(&Change::SetIngress { face, policy }));
}

/// Gives a node the next hops of an entry; those of equal cost in the order of their faces.
pub(crate) fn add_route(
    forwarder: &mut Node,
    now: Time,
    keeps_to_one: bool,
    channels: &[Channel],
    route: &scenario::Route,
    prefix: &HashedName,
) {
    let single = route.single.filter(|_| keeps_to_one);
    let next_hops = route.next_hops.iter().map(|hop| {
        // The next hops of a given route cost 1, 2, …
        let cost = if single == Some(hop.link) { 0 } else { hop.cost };
        (face_of(channels, hop.link), cost)
    });
    let in_order: BTreeMap<FaceId, u64> = next_hops.collect();
    for (face, cost) in in_order {
        add_next_hop(forwarder, now, prefix, face, cost);
    }
}

/// The face that sends in a direction of a link.
pub(crate) fn face_of(channels: &[Channel], link: DirectedLink) -> FaceId {
    channels[2 * link.link.index() + link.direction].from.1
}

/// Assumed length of the link headers of a Data, bytes: more than in any scheme.
const LINK_HEADER: u64 = 200;

/// Refuses Data that are too long for a frame of a medium, because there are no fragments.
fn refuse_long_data(experiment: &Experiment) -> Result<(), ExperimentError> {
    let scenario = experiment.scenario();
    let longest = MAX_PACKET.as_u64() - LINK_HEADER;
    let size = |flow: usize| experiment.flow_config(FlowId(flow)).expected_size;
    let mut long = scenario.flows.iter().enumerate().filter(|(index, _)| size(*index).as_u64() > longest);
    let Some((index, flow)) = long.find(|(_, flow)| crosses_medium(scenario, flow)) else { return Ok(()) };
    let path = format!("flow.{}.payload", flow.name);
    let message = format!(
        "Data of {} are {} long, but the frames of a medium on their path hold only {longest} B without link headers",
        flow.prefix,
        size(index)
    );
    Err(ExperimentError::at_setting(scenario, path, &message, "give the flow a smaller payload"))
}

fn crosses_medium(scenario: &Scenario, flow: &scenario::Flow) -> bool {
    let is_on_medium = |hop: &NextHop| scenario.links[hop.link.link.index()].medium.is_some();
    let routes = scenario.routes.iter().filter(|route| scenario::covers(&route.prefix, &flow.prefix));
    routes.into_iter().any(|route| route.next_hops.iter().any(is_on_medium))
}
