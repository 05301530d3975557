//! From a scenario to a world.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_core::consumer::{Consumer, ConsumerConfig, REORDER_BOUND};
use weir_core::ids::FaceId;
use weir_core::link::Link;
use weir_core::name::HashedName;
use weir_core::node::{Forwarder, TableLimits};
use weir_core::producer::Producer;
use weir_core::random::Random;
use weir_core::seam::params::Value;
use weir_core::seam::{FaceConfig, FlowConfig, NodeConfig, Scheme};
use weir_core::tables::cs::{ContentStore, CsPolicy};
use weir_core::units::{Bytes, Span, Time};
use weir_measure::{Role, Topology, TopologyLink, TopologyMedium, TopologyNode};
use weir_medium::phy::MAX_PACKET;
use weir_medium::{Medium, Pair};
use weir_scenario::{self as scenario, CachePolicy, Event, Location, Scenario, ScenarioError};
use weir_schemes::{Entry, Resolved, UnknownScheme};

use crate::air::Air;
use crate::expect::Probes;
use crate::flows::{self, name_of};
use crate::measure::{ChannelInfo, Measurements, Plan};
use crate::world::{Behind, Channel, FlowApp, HASHER, Node, Parts, Script, World};

/// How a scenario is to be run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheme; the scenario's own if `None`.
    pub scheme: Option<String>,
    /// The seed.
    pub seed: u64,
    /// Further measuring windows.
    pub windows: Vec<(Span, Span)>,
    /// Whether time series are wanted.
    pub with_series: bool,
    /// Whether every packet goes through the codec.
    pub check_wire: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { scheme: None, seed: 1, windows: Vec::new(), with_series: true, check_wire: false }
    }
}

/// Why a scenario cannot be run; says what would be right.
#[derive(Debug)]
pub enum BuildError {
    /// No scheme has the name that was asked for.
    Scheme(UnknownScheme),
    /// A scheme's name or parameter is wrong, or something that the simulator does not do, at a
    /// place in the scenario.
    Scenario(ScenarioError),
    /// Something that cannot be measured.
    Unsupported(String),
    /// A measuring window is not within the run.
    Window {
        /// Its beginning.
        from: Span,
        /// Its end.
        to: Span,
        /// The run's length.
        duration: Span,
    },
}

impl core::fmt::Display for BuildError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            BuildError::Scheme(unknown) => write!(f, "{unknown}\n  = {}", unknown.help()),
            BuildError::Scenario(error) => error.fmt(f),
            BuildError::Unsupported(what) => f.write_str(what),
            BuildError::Window { from, to, duration } => write!(
                f,
                "the window {from} to {to} is not within the run: it must begin before it ends, and end by {duration}"
            ),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<ScenarioError> for BuildError {
    fn from(error: ScenarioError) -> BuildError {
        BuildError::Scenario(error)
    }
}

/// The scheme of this name, with the scenario's parameters for it.
///
/// # Errors
/// An unknown scheme, or a parameter that it does not have or that is wrong.
pub fn scheme_for(scenario: &Scenario, name: &str) -> Result<Resolved, BuildError> {
    let entry = weir_schemes::known(name).map_err(BuildError::Scheme)?;
    Ok(with_parameters(scenario, entry)?)
}

/// Every scheme that the scenario names is one, and its parameters are right, whether or not it is
/// the one that runs.
///
/// # Errors
/// The first that is not, with its place in the scenario.
pub fn check_schemes(scenario: &Scenario) -> Result<(), ScenarioError> {
    for named in &scenario.schemes {
        let entry = weir_schemes::known(&named.name).map_err(|unknown| {
            scenario.error_at(&named.location, named.key.as_str(), unknown.to_string(), unknown.help())
        })?;
        with_parameters(scenario, entry)?;
    }
    Ok(())
}

/// A scheme with the scenario's parameters for it.
fn with_parameters(scenario: &Scenario, entry: &'static Entry) -> Result<Resolved, ScenarioError> {
    let given = scenario.scheme_params(entry.name);
    let values = given.iter().map(|param| (param.key.clone(), Value::from(&param.value)));
    entry.resolve(values).map_err(|wrong| {
        let param =
            given.iter().find(|param| param.key == wrong.key).expect("the error is about a given one");
        scenario.param_error(entry.name, param, wrong.message.as_str(), wrong.help())
    })
}

impl World {
    /// A world as the scenario describes it, before anything has happened.
    ///
    /// # Errors
    /// What [`BuildError`] lists.
    pub fn build(scenario: &Scenario, setup: &Setup) -> Result<World, BuildError> {
        Builder::new(scenario, setup)?.build()
    }
}

struct Builder<'a> {
    scenario: &'a Scenario,
    setup: &'a Setup,
    scheme_name: String,
    scheme: Box<dyn Scheme>,
    inactive: Box<dyn Scheme>,
    nodes: Vec<Node>,
    channels: Vec<Channel>,
    media: Vec<Air>,
    /// Face of each channel's sending end.
    senders: Vec<(u32, FaceId)>,
    /// Face of a node towards a neighbour.
    towards: BTreeMap<(usize, usize), FaceId>,
}

impl<'a> Builder<'a> {
    fn new(scenario: &'a Scenario, setup: &'a Setup) -> Result<Builder<'a>, BuildError> {
        check_schemes(scenario)?;
        let scheme_name = setup.scheme.clone().unwrap_or_else(|| scenario.scheme.clone());
        let scheme = scheme_for(scenario, &scheme_name)?.build();
        let inactive = weir_schemes::find(weir_schemes::PLAIN)
            .expect("the default scheme is in the list")
            .with_defaults();
        refuse_unsupported(scenario)?;
        Ok(Builder {
            scenario,
            setup,
            scheme_name,
            scheme,
            inactive,
            nodes: Vec::new(),
            channels: Vec::new(),
            media: Vec::new(),
            senders: Vec::new(),
            towards: BTreeMap::new(),
        })
    }

    fn build(mut self) -> Result<World, BuildError> {
        self.add_nodes();
        self.add_media();
        self.add_links();
        self.add_senders_on_air();
        self.add_producers();
        let flows = self.add_consumers()?;
        self.add_routes();
        let prefix_hashes: Vec<_> = self.scenario.flows.iter().map(|f| name_of(&f.prefix).hash()).collect();
        let plan = self.plan()?;
        let measure = Measurements::new(plan, &prefix_hashes);
        Ok(World::new(Parts {
            until: Time::ZERO + self.scenario.duration,
            script: self.script(),
            nodes: self.nodes,
            channels: self.channels,
            media: self.media,
            flows,
            measure,
            check_wire: self.setup.check_wire,
        }))
    }

    fn random(&self, name: &str) -> Random {
        Random::named(self.setup.seed, name)
    }

    /// The stream of the `number`th flow of this consumer and prefix.
    fn flow_random(&self, flow: &scenario::Flow, number: u32) -> Random {
        let name = format!("flow {} of {}", flow.prefix, self.scenario.nodes[flow.consumer.index()].name);
        if number == 1 { self.random(&name) } else { self.random(&format!("{name}, number {number}")) }
    }

    fn scheme_of(&self, node: usize) -> &dyn Scheme {
        if self.scenario.nodes[node].active { self.scheme.as_ref() } else { self.inactive.as_ref() }
    }

    fn add_nodes(&mut self) {
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            let strategy = self.scheme_of(index).strategy(&NodeConfig::default());
            let random = self.random(&format!("node {}", node.name));
            let mut forwarder = Forwarder::new(strategy, &TableLimits::default(), HASHER, random);
            forwarder.set_flow_prefix(self.scheme_of(index).flow_prefix());
            if node.cache_packets > 0 {
                let policy = match node.cache_policy {
                    CachePolicy::Lru => CsPolicy::Lru,
                    CachePolicy::Fifo => CsPolicy::Fifo,
                };
                let packets = usize::try_from(node.cache_packets).unwrap_or(usize::MAX);
                let bytes = node.cache_bytes.map_or(u64::MAX, Bytes::as_u64);
                forwarder.set_content_store(ContentStore::new(policy, packets, bytes));
            }
            self.nodes.push(Node { forwarder, behind: Vec::new(), scheduled: Time::NEVER });
        }
    }

    fn add_media(&mut self) {
        for (index, medium) in self.scenario.media.iter().enumerate() {
            let links = || {
                let links = self.scenario.links.iter().enumerate();
                links.filter(move |(_, link)| link.medium.is_some_and(|of| of.index() == index))
            };
            let station = |node: scenario::NodeId| {
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
            self.media.push(Air {
                medium: Medium::new(streams.collect(), links().map(pair).collect()),
                // The links of a medium follow each other.
                first_channel: 2 * links().next().expect("a medium has stations").0 as u32,
                senders: Vec::new(),
            });
        }
    }

    fn add_senders_on_air(&mut self) {
        for air in &mut self.media {
            let first = air.first_channel as usize;
            air.senders = self.senders[first..first + air.medium.directions()].to_vec();
        }
    }

    fn link_random(&self, from: scenario::NodeId, to: scenario::NodeId) -> Random {
        let name = |node: scenario::NodeId| &self.scenario.nodes[node.index()].name;
        self.random(&format!("link {} to {}", name(from), name(to)))
    }

    fn add_links(&mut self) {
        for link in &self.scenario.links {
            let ends = [link.a, link.b];
            let faces = [0, 1].map(|way| self.add_link_face(link, ends[way], ends[1 - way], way));
            for (way, (from, to)) in [(link.a, link.b), (link.b, link.a)].into_iter().enumerate() {
                let random = self.link_random(from, to);
                self.senders.push((from.index() as u32, faces[way]));
                self.channels.push(Channel {
                    to: (to.index() as u32, faces[1 - way]),
                    delay: link.delay[way],
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
    fn on_air(&self, link: &scenario::Link, channel: u32) -> Option<(u32, u32)> {
        let air = link.medium?.index();
        Some((air as u32, channel - self.media[air].first_channel))
    }

    /// The end of a link at `from`; its channel is the next but `way` to be made.
    fn add_link_face(
        &mut self,
        link: &scenario::Link,
        from: scenario::NodeId,
        to: scenario::NodeId,
        way: usize,
    ) -> FaceId {
        let (from, to) = (from.index(), to.index());
        let face = self.nodes[from].forwarder.next_face(Time::ZERO);
        let channel = (self.channels.len() + way) as u32;
        let air = self.on_air(link, channel);
        let rates = match air {
            Some((air, direction)) => {
                [direction, direction ^ 1].map(|of| self.media[air as usize].medium.rate(of))
            }
            None => [link.rate[way], link.rate[1 - way]],
        };
        let (send_rate, receive_rate) = (Some(rates[0]), Some(rates[1]));
        let config = FaceConfig { face, send_rate, receive_rate, limit: link.queue };
        let queue = self.scheme_of(from).queue(&config);
        let name = |node: usize| &self.scenario.nodes[node].name;
        let random = self.random(&format!("face of {} to {}", name(from), name(to)));
        let (link, behind) = match air {
            Some((air, link)) => (Link::shared(queue, random), Behind::Air { air, link }),
            None => (Link::new(queue, send_rate, random), Behind::Channel(channel)),
        };
        self.nodes[from].forwarder.add_link(Time::ZERO, link);
        self.nodes[from].behind.push(behind);
        self.towards.insert((from, to), face);
        face
    }

    /// One application for each node and prefix, however many consumers fetch it.
    fn add_producers(&mut self) {
        let mut known = BTreeMap::new();
        for flow in &self.scenario.flows {
            for producer in &flow.producers {
                let node = producer.index();
                known.entry((node, flow.prefix.as_str())).or_insert_with(|| {
                    let node = &mut self.nodes[node];
                    let face = node.forwarder.add_application(Time::ZERO);
                    let freshness = flow.freshness.unwrap_or(Span::ZERO);
                    node.behind.push(Behind::Producer(Producer { payload: flow.payload, freshness }));
                    node.forwarder.add_route(&name_of(&flow.prefix), face, 0);
                });
            }
        }
    }

    fn add_consumers(&mut self) -> Result<Vec<FlowApp>, BuildError> {
        let order = self.shuffled(self.scenario.flows.len());
        let mut flows = Vec::with_capacity(order.len());
        let mut streams = BTreeMap::new();
        for (flow, event) in self.scenario.flows.iter().zip(order) {
            let node = flow.consumer.index();
            let face = self.nodes[node].forwarder.add_application(Time::ZERO);
            self.nodes[node].behind.push(Behind::Consumer(flows.len() as u32));
            let expected_size = flows::expected_size(flow);
            let config = FlowConfig { class: flow.class, expected_size, lifetime: flow.lifetime };
            let control = match &flow.scheme {
                Some(other) if *other != self.scheme_name => {
                    scheme_for(self.scenario, other)?.build().flow_control(&config)
                }
                _ => self.scheme.flow_control(&config),
            };
            // Two consumers of one prefix on one node must not use the same nonces.
            let number = streams.entry((node, flow.prefix.as_str())).and_modify(|n| *n += 1).or_insert(1);
            let random = self.flow_random(flow, *number);
            let config = ConsumerConfig {
                prefix: name_of(&flow.prefix),
                hasher: HASHER,
                class: flow.class,
                first: 0,
                amount: flow.amount,
                reorder: REORDER_BOUND,
                source: flows::source(flow.source),
                lifetime: flow.lifetime,
                must_be_fresh: flow.freshness.is_some(),
                expected_size,
                early_loss: flow.early_loss,
            };
            let consumer = Consumer::new(config, control, random);
            flows.push(FlowApp { consumer, node: node as u32, face, event });
        }
        Ok(flows)
    }

    /// Who is first among flows that do something at the same instant.
    fn shuffled(&self, n: usize) -> Vec<u32> {
        let mut random = self.random("order of flows");
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            order.swap(last, random.below(last as u32 + 1) as usize);
        }
        order
    }

    fn add_routes(&mut self) {
        let mut names: BTreeMap<&str, HashedName> = BTreeMap::new();
        for route in &self.scenario.routes {
            let prefix = names.entry(&route.prefix).or_insert_with(|| name_of(&route.prefix));
            for (neighbour, cost) in &route.next_hops {
                let face = self.towards[&(route.node.index(), neighbour.index())];
                self.nodes[route.node.index()].forwarder.add_route(prefix, face, *cost);
            }
        }
    }

    fn script(&self) -> VecDeque<(Time, Script)> {
        let mut script = Vec::new();
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            script.push((Time::ZERO + flow.start, Script::Start(index as u32)));
            if let Some(stop) = flow.stop {
                script.push((Time::ZERO + stop, Script::Stop(index as u32)));
            }
        }
        for event in &self.scenario.events {
            for what in self.scripts_of(&event.what) {
                script.push((Time::ZERO + event.at, what));
            }
        }
        script.sort_by_key(|(at, _)| *at);
        script.into()
    }

    fn scripts_of(&self, event: &Event) -> Vec<Script> {
        match event {
            Event::FlowSource { flows, source } => {
                flows.iter().map(|flow| Script::Source(flow.index() as u32, flows::source(*source))).collect()
            }
            Event::LinkRate { link, rate } => self.each_way(*link, |way, channel, air| match air {
                Some((air, link)) => vec![Script::AirRate { air, link, rate: rate[way] }],
                None => vec![Script::Rate { channel, from: self.sender(channel), rate: rate[way] }],
            }),
            Event::LinkDelay { link, delay } => {
                self.each_way(*link, |way, channel, _| vec![Script::Delay { channel, delay: delay[way] }])
            }
            Event::LinkLoss { link, loss } => self.each_way(*link, |_, channel, air| match air {
                Some((air, link)) => vec![Script::AirLoss { air, link, loss: *loss }],
                None => vec![Script::Loss { channel, loss: *loss }],
            }),
            Event::LinkDown { link } => self.set_up(*link, false),
            Event::LinkUp { link } => self.set_up(*link, true),
            Event::NodeCacheRatio { .. } => Vec::new(),
        }
    }

    fn set_up(&self, link: scenario::LinkId, up: bool) -> Vec<Script> {
        self.each_way(link, |_, channel, air| {
            let own = Script::Up { channel, from: self.sender(channel), up };
            let on_air = air.map(|(air, link)| Script::AirUp { air, link, up });
            on_air.into_iter().chain([own]).collect()
        })
    }

    /// What `script` makes of both channels of a link: of the way, the channel, and medium and
    /// direction if it is on one.
    fn each_way(
        &self,
        link: scenario::LinkId,
        script: impl Fn(usize, u32, Option<(u32, u32)>) -> Vec<Script>,
    ) -> Vec<Script> {
        let of = |way| {
            let channel = (2 * link.index() + way) as u32;
            script(way, channel, self.on_air(&self.scenario.links[link.index()], channel))
        };
        [0, 1].into_iter().flat_map(of).collect()
    }

    fn sender(&self, channel: u32) -> (u32, FaceId) {
        self.senders[channel as usize]
    }

    fn plan(&self) -> Result<Plan, BuildError> {
        let scenario = self.scenario;
        let node = |id: scenario::NodeId| scenario.nodes[id.index()].name.clone();
        let channel_info = |link: &scenario::Link| {
            [(link.a, link.b, 0), (link.b, link.a, 1)].map(|(from, to, way)| ChannelInfo {
                from: node(from),
                to: node(to),
                rate: link.rate[way],
            })
        };
        Ok(Plan {
            scenario: scenario.name.clone(),
            title: scenario.title.clone(),
            source: scenario.source.clone(),
            scheme: self.scheme_name.clone(),
            variant: scenario.variant_of(&self.scheme_name).map(str::to_owned),
            seed: self.setup.seed,
            until: Time::ZERO + scenario.duration,
            step: scenario.sample,
            with_series: self.setup.with_series,
            flows: scenario.flows.iter().map(|flow| flows::info(scenario, flow)).collect(),
            channels: scenario.links.iter().flat_map(channel_info).collect(),
            topology: topology(scenario),
            provenance: flows::provenance(scenario),
            notes: scenario.notes.clone(),
            windows: flows::windows(scenario, &self.setup.windows)?,
            probes: self.probes()?,
        })
    }

    fn probes(&self) -> Result<Probes, BuildError> {
        let mut probes = Probes::new(self.channels.len());
        for expectation in self.scenario.expectations_for(&self.scheme_name) {
            let channel = |link: &scenario::DirectedLink| 2 * link.link.index() + link.direction;
            let channels = expectation.select.links.iter().map(channel).collect();
            let flows = expectation.select.flows.iter().map(|flow| flow.index()).collect();
            let prefixes = match expectation.metric {
                scenario::Metric::DataRate => self.whole_prefixes(expectation)?,
                _ => Vec::new(),
            };
            probes.add(self.scenario, expectation, flows, channels, prefixes);
        }
        Ok(probes)
    }

    /// The prefixes of an expectation's flows, each by its first flow. All consumers of a prefix must
    /// be selected, or none: Data on a link does not say whose it is.
    fn whole_prefixes(&self, expectation: &scenario::Expectation) -> Result<Vec<u32>, BuildError> {
        let selected: BTreeSet<usize> = expectation.select.flows.iter().map(|flow| flow.index()).collect();
        let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            let first = *first_of.entry(&flow.prefix).or_insert(index);
            if selected.contains(&index) != selected.contains(&first) {
                return Err(BuildError::Unsupported(format!(
                    "expectation \"{}\": the rate of Data under {} cannot be told by consumer; select all \
                     flows of the prefix, or measure their goodput",
                    expectation.what, flow.prefix
                )));
            }
        }
        Ok(first_of
            .into_values()
            .filter(|first| selected.contains(first))
            .map(|first| first as u32)
            .collect())
    }
}

/// Says so where a scenario asks for what the simulator does not do yet.
fn refuse_unsupported(scenario: &Scenario) -> Result<(), BuildError> {
    refuse_long_data(scenario)?;
    let simulated = scenario.nodes.iter().find(|node| node.cache_ratio > 0.0);
    let event = scenario.events.iter().find(|event| matches!(event.what, Event::NodeCacheRatio { .. }));
    let (path, help) = match (simulated, event) {
        (Some(node), _) => (
            format!("node.{}.cache_ratio", node.name),
            "give the node a real cache: `cache`, in packets or bytes",
        ),
        (_, Some(event)) => (format!("event.{}.cache_ratio", event.name), "leave the event out"),
        (None, None) => return Ok(()),
    };
    let message = "a cache with a given hit ratio cannot be simulated yet";
    Err(error_at_setting(scenario, path, message, help))
}

/// Headers of a link that a Data may have beside its own length, bytes: more than any scheme's.
const LINK_HEADER: u64 = 200;

/// A frame on a medium has an end, and there are no fragments.
fn refuse_long_data(scenario: &Scenario) -> Result<(), BuildError> {
    let longest = MAX_PACKET.as_u64() - LINK_HEADER;
    let is_long = |flow: &&scenario::Flow| flows::expected_size(flow).as_u64() > longest;
    let Some(flow) = scenario.flows.iter().filter(is_long).find(|flow| crosses_medium(scenario, flow)) else {
        return Ok(());
    };
    let path = format!("flow.{}.payload", flow.name);
    let message = format!(
        "Data of {} are {} long, and cross a medium, whose frames hold {longest} B besides the headers of the link",
        flow.prefix,
        flows::expected_size(flow)
    );
    Err(error_at_setting(scenario, path, message, "give the flow a smaller payload"))
}

fn crosses_medium(scenario: &Scenario, flow: &scenario::Flow) -> bool {
    let is_on_medium = |from, to: scenario::NodeId| {
        let link = scenario.link_between(from, to);
        link.is_some_and(|link| scenario.links[link.link.index()].medium.is_some())
    };
    let routes = scenario.routes.iter().filter(|route| scenario::covers(&route.prefix, &flow.prefix));
    routes.into_iter().any(|route| route.next_hops.iter().any(|(to, _)| is_on_medium(route.node, *to)))
}

fn error_at_setting(scenario: &Scenario, path: String, message: impl Into<String>, help: &str) -> BuildError {
    let at = scenario.settings.iter().find(|setting| setting.path == path);
    let at = at.and_then(|setting| setting.location.clone()).unwrap_or(Location::Set("".into()));
    BuildError::Scenario(scenario.error_at(&at, path, message, help))
}

/// The scenario's network, as the report draws it.
pub fn topology(scenario: &Scenario) -> Topology {
    let role = |role| match role {
        scenario::Role::Consumer => Role::Consumer,
        scenario::Role::Producer => Role::Producer,
        scenario::Role::Router => Role::Router,
        scenario::Role::Peer => Role::Peer,
    };
    let node = |node: &scenario::Node| TopologyNode {
        name: node.name.clone(),
        role: role(node.role),
        position: node.position.map(|(x, y)| (x as f32, y as f32)),
    };
    let name = |id: scenario::NodeId| scenario.nodes[id.index()].name.clone();
    let link = |link: &scenario::Link| TopologyLink {
        from: name(link.a),
        to: name(link.b),
        rate_bps: link.rate[0].as_bps_f64(),
        delay_ms: link.delay[0].as_millis_f64(),
        medium: link.medium.map(scenario::MediumId::index),
    };
    let medium = |medium: &scenario::Medium| TopologyMedium {
        name: medium.name.clone(),
        stations: medium.stations.iter().map(|station| name(*station)).collect(),
    };
    Topology {
        nodes: scenario.nodes.iter().map(node).collect(),
        links: scenario.links.iter().map(link).collect(),
        media: scenario.media.iter().map(medium).collect(),
    }
}
