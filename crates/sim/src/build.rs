//! Builds a world from an experiment.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weir_core::consumer::Consumer;
use weir_core::ids::{FaceId, GroupId};
use weir_core::link::Link;
use weir_core::name::HashedName;
use weir_core::node::{Forwarder, TableLimits};
use weir_core::random::{Random, SeedUse};
use weir_core::seam::{FaceConfig, NodeConfig, Scheme};
use weir_core::tables::cs::ContentStore;
use weir_core::tables::simulated_cache::SimulatedCache;
use weir_core::units::Time;
use weir_experiment::{Experiment, ExperimentError, HASHER, SimulatedCacheConfig, name_of};
use weir_medium::phy::MAX_PACKET;
use weir_medium::{Medium, Pair};
use weir_scenario::{self as scenario, FlowId, NodeId, Scenario};

use crate::measure::Measurements;
use crate::medium::SharedMedium;
use crate::world::{Channel, FaceKind, FlowApp, Node, Parts, World};

impl World {
    /// The world of an experiment, before anything has happened.
    ///
    /// # Errors
    /// What the simulator does not do, or cannot measure.
    pub fn build(experiment: impl Into<Arc<Experiment>>) -> Result<World, ExperimentError> {
        let experiment = experiment.into();
        refuse_long_data(&experiment)?;
        let measure = Measurements::new(&experiment)?;
        let parts = Builder::new(&experiment).build(measure);
        Ok(World::new(experiment, parts))
    }
}

struct Builder<'e> {
    experiment: &'e Experiment,
    scenario: &'e Scenario,
    scheme: Box<dyn Scheme>,
    inactive: Box<dyn Scheme>,
    seed_use: SeedUse,
    nodes: Vec<Node>,
    channels: Vec<Channel>,
    media: Vec<SharedMedium>,
    /// Face of a node towards a neighbour.
    towards: BTreeMap<(usize, usize), FaceId>,
}

impl<'e> Builder<'e> {
    fn new(experiment: &'e Experiment) -> Builder<'e> {
        Builder {
            experiment,
            scenario: experiment.scenario(),
            scheme: experiment.scheme().build(),
            inactive: experiment.inactive_scheme().build(),
            seed_use: SeedUse::default(),
            nodes: Vec::new(),
            channels: Vec::new(),
            media: Vec::new(),
            towards: BTreeMap::new(),
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
        let Builder { nodes, channels, media, seed_use, .. } = self;
        Parts { nodes, channels, media, flows, measure, seed_use }
    }

    fn random(&self, name: &str) -> Random {
        Random::named(self.experiment.seed(), name).noting(&self.seed_use)
    }

    /// The stream of the `number`th flow of this consumer and prefix.
    fn flow_random(&self, flow: &scenario::Flow, number: u32) -> Random {
        let name = format!("flow {} of {}", flow.prefix, self.experiment.node_name(flow.consumer));
        if number == 1 { self.random(&name) } else { self.random(&format!("{name}, number {number}")) }
    }

    fn scheme_of(&self, node: usize) -> &dyn Scheme {
        if self.scenario.nodes[node].active { self.scheme.as_ref() } else { self.inactive.as_ref() }
    }

    fn add_nodes(&mut self) {
        let counts = self.experiment.counts_stores();
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            let strategy = self.scheme_of(index).strategy(&NodeConfig::default());
            let keeps_to_one = strategy.keeps_to_one();
            let random = self.random(&format!("node {}", node.name));
            let mut forwarder = Forwarder::new(strategy, &TableLimits::default(), HASHER, random);
            forwarder.set_flow_prefix(self.scheme_of(index).flow_prefix());
            forwarder.set_reforward_after(node.reforward_after);
            forwarder.set_next_hop_timeout(node.next_hop_timeout);
            if let Some(store) = self.experiment.store(NodeId(index)) {
                let random = |what: &str| self.random(&format!("{what} of {}", node.name));
                let empty = ContentStore::new(store.policy, store.packets, store.bytes);
                forwarder.set_content_store(empty.drawing_from(random("content store")));
                forwarder.place_copies(store.placement, counts, random("placement of copies"));
            }
            if let Some(cache) = self.experiment.simulated_cache(NodeId(index)) {
                forwarder.simulate_cache(self.simulated_cache(&node.name, &cache));
            }
            self.nodes.push(Node {
                forwarder,
                keeps_to_one,
                faces: Vec::new(),
                scheduled: Time::NEVER,
                last_turn: (Time::NEVER, 0),
            });
        }
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
                random: [self.link_random(link.a, link.b), self.link_random(link.b, link.a)],
            };
            let streams = medium.stations.iter().map(|station| {
                let station = &self.scenario.nodes[station.index()].name;
                self.random(&format!("medium {}, station {station}", medium.name))
            });
            self.media.push(SharedMedium {
                medium: Medium::new(streams.collect(), links().map(pair).collect()),
                // The links of a medium follow each other.
                first_channel: 2 * links().next().expect("a medium has stations").0 as u32,
            });
        }
    }

    fn link_random(&self, from: NodeId, to: NodeId) -> Random {
        let name = |node| self.experiment.node_name(node);
        self.random(&format!("link {} to {}", name(from), name(to)))
    }

    fn add_links(&mut self) {
        for link in &self.scenario.links {
            let ends = [link.a, link.b];
            let faces = [0, 1].map(|direction| self.add_link_face(link, ends, direction));
            for direction in [0, 1] {
                let [from, to] = [direction, 1 - direction].map(|end| (ends[end].index() as u32, faces[end]));
                let random = self.link_random(ends[direction], ends[1 - direction]);
                self.channels.push(Channel {
                    from,
                    to,
                    medium: self.on_medium(link, self.channels.len() as u32),
                    delay: link.delay[direction],
                    // On a medium it is the frames that are lost.
                    loss: if link.medium.is_some() { 0.0 } else { link.loss },
                    up: true,
                    random,
                    in_flight: VecDeque::new(),
                });
            }
        }
    }

    /// The medium and direction of a channel, if it is one.
    fn on_medium(&self, link: &scenario::Link, channel: u32) -> Option<(u32, u32)> {
        let medium = link.medium?.index();
        Some((medium as u32, channel - self.media[medium].first_channel))
    }

    /// The end of a link that sends in a direction; its channel is the next but `direction` to be made.
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
        let (send_rate, receive_rate) = (Some(rates[0]), Some(rates[1]));
        let limit = self.experiment.queue_limit(link);
        let queue = self.scheme_of(from.index()).queue(&FaceConfig { face, send_rate, receive_rate, limit });
        let name = |node| self.experiment.node_name(node);
        let random = self.random(&format!("face of {} to {}", name(from), name(to)));
        let (link, kind) = match on_medium {
            Some((medium, direction)) => {
                (Link::shared(queue, random), FaceKind::Medium { medium, direction })
            }
            None => (Link::new(queue, send_rate, random), FaceKind::Channel(channel)),
        };
        self.nodes[from.index()].forwarder.add_link(Time::ZERO, link);
        self.nodes[from.index()].faces.push(kind);
        self.towards.insert((from.index(), to.index()), face);
        face
    }

    /// One application for each node and prefix, however many consumers fetch it.
    fn add_producers(&mut self) {
        let mut known = BTreeSet::new();
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            for producer in &flow.producers {
                if known.insert((*producer, flow.prefix.as_str())) {
                    let node = &mut self.nodes[producer.index()];
                    let face = node.forwarder.add_application(Time::ZERO);
                    node.faces.push(FaceKind::Producer(self.experiment.producer(FlowId(index))));
                    node.forwarder.add_route(&name_of(&flow.prefix), face, 0);
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
            let face = self.nodes[node].forwarder.add_application(Time::ZERO);
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
            flows.push(FlowApp { consumer, node: node as u32, face, event });
        }
        flows
    }

    /// Who is first among flows that do something at the same instant. The world notes where that decides something.
    fn shuffled(&self, n: usize) -> Vec<u32> {
        let mut random = Random::named(self.experiment.seed(), "order of flows");
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            order.swap(last, random.below(last as u32 + 1) as usize);
        }
        order
    }

    /// Where faces share, each is a group.
    fn set_groups(&mut self) {
        let nodes = self.nodes.iter_mut().zip(&self.scenario.nodes);
        for (node, _) in nodes.filter(|(_, scenario)| scenario.share_by_face) {
            for face in 0..node.faces.len() as u32 {
                node.forwarder.set_group(FaceId(face), GroupId((face % u32::from(u16::MAX)) as u16 + 1));
            }
        }
    }

    fn add_routes(&mut self) {
        let mut names: BTreeMap<&str, HashedName> = BTreeMap::new();
        for route in &self.scenario.routes {
            let prefix = names.entry(&route.prefix).or_insert_with(|| name_of(&route.prefix));
            let node = route.node.index();
            let single = route.single.filter(|_| self.nodes[node].keeps_to_one);
            let next_hops = route.next_hops.iter().map(|&(neighbour, cost)| {
                // Those of a given route cost 1, 2, …
                let cost = if single == Some(neighbour) { 0 } else { cost };
                (self.towards[&(node, neighbour.index())], cost)
            });
            // Those of equal cost stand in the order of their faces.
            let in_order: BTreeMap<FaceId, u64> = next_hops.collect();
            for (face, cost) in in_order {
                self.nodes[node].forwarder.add_route(prefix, face, cost);
            }
        }
    }
}

/// Headers of a link that a Data may have beside its own length, bytes: more than any scheme's.
const LINK_HEADER: u64 = 200;

/// A frame on a medium has an end, and there are no fragments.
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
    let is_on_medium = |from, to: NodeId| {
        let link = scenario.link_between(from, to);
        link.is_some_and(|link| scenario.links[link.link.index()].medium.is_some())
    };
    let routes = scenario.routes.iter().filter(|route| scenario::covers(&route.prefix, &flow.prefix));
    routes.into_iter().any(|route| route.next_hops.iter().any(|(to, _)| is_on_medium(route.node, *to)))
}
