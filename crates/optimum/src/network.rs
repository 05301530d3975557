//! The parts of a scenario that determine its rates: the demands of consumers, the links of their paths, and the
//! capacities over time.

use std::collections::BTreeMap;
use weir_core::seam::SharingPolicy;

use weir_core::units::{Bytes, Rate, Span};
use weir_medium::{Saturation, phy};
use weir_packet::ServiceClass;
use weir_scenario::{DirectedLink, Event, MediumId, NextHop, Scenario, Source};

use crate::OptimumError;
use crate::optimum::Copies;
use crate::running::Running;
use crate::solve::Solver;

/// One direction of a link: its index in [`Network::channels`].
pub(crate) type Channel = usize;

/// A step of the routes of a stream: Interests go from `from` to `to`, and their Data come back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arc {
    /// The index in [`Stream::nodes`].
    pub from: usize,
    /// The index in [`Stream::nodes`]; larger than `from`.
    pub to: usize,
    /// The channel of the Data.
    pub channel: Channel,
    /// The channel of the Interests.
    pub back: Channel,
}

/// A flow from the view of routers: a prefix and a class, with all consumers that request it. They fetch the
/// same names.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub class: ServiceClass,
    /// w: its weight in its class.
    pub weight: f64,
    /// The largest rate that it gets of a link, bit/s.
    pub limit: f64,
    /// The bits of an Interest for each bit of its Data.
    pub interest_ratio: f64,
    /// The bits of content for each bit of a Data.
    pub content_ratio: f64,
    /// The lengths of an Interest and of its Data.
    pub sizes: [Bytes; 2],
    /// The nodes that its Interests reach, each before its next hops: their indices in the scenario.
    pub nodes: Vec<usize>,
    /// Whether the Data is available at the node.
    pub produces: Vec<bool>,
    /// Whether a simulated cache at the node covers this stream.
    pub may_cache: Vec<bool>,
    /// The arcs, ordered by their first nodes.
    pub arcs: Vec<Arc>,
    /// For each node the index of its first arc. Its arcs end before that of the next node.
    pub first_arc: Vec<usize>,
    /// The arcs, ordered by their last nodes. `first_into` belongs to it as `first_arc` to `arcs`.
    pub into: Vec<usize>,
    pub first_into: Vec<usize>,
    /// Whether any node has several next hops.
    pub forks: bool,
    /// The flows, each with the index of its consumer in `nodes`.
    pub consumers: Vec<(usize, usize)>,
}

impl Stream {
    /// Returns the arcs that begin at a node.
    pub fn arcs_of(&self, node: usize) -> core::ops::Range<usize> {
        self.first_arc[node]..self.first_arc[node + 1]
    }

    /// Iterates over the arcs of Interests from `node`, if no node has several next hops. It ends at a node
    /// that produces, or where the route ends.
    pub fn chain(&self, mut node: usize) -> impl Iterator<Item = usize> + '_ {
        core::iter::from_fn(move || {
            let arc = self.arcs_of(node).next().filter(|_| !self.produces[node])?;
            node = self.arcs[arc].to;
            Some(arc)
        })
    }

    /// Returns whether the Data is available at the end of [`Stream::chain`], which is not the consumer's own
    /// node.
    pub fn is_served(&self, node: usize) -> bool {
        self.chain(node).last().is_some_and(|arc| self.produces[self.arcs[arc].to])
    }

    /// Iterates over the arcs that end at a node.
    pub fn arcs_into(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.into[self.first_into[node]..self.first_into[node + 1]].iter().copied()
    }

    /// Returns whether the routes of two of its consumers have an arc in common.
    pub fn may_share(&self) -> bool {
        // For each node the consumer whose Interests may reach it; the inner `None` means several.
        let mut from: Vec<Option<Option<usize>>> = vec![None; self.nodes.len()];
        let merge = |known: Option<Option<usize>>, other: Option<usize>| match known {
            Some(known) if known != other => Some(None),
            _ => Some(other),
        };
        for (flow, node) in &self.consumers {
            from[*node] = merge(from[*node], Some(*flow));
        }
        self.arcs.iter().any(|arc| {
            let Some(of) = from[arc.from] else { return false };
            from[arc.to] = merge(from[arc.to], of);
            of.is_none()
        })
    }

    /// Makes the lists of arcs by node, from the arcs, which are ordered by their first nodes.
    pub fn list_arcs(&mut self) {
        let nodes = 0..=self.nodes.len();
        self.first_arc = nodes.clone().map(|node| self.arcs.partition_point(|arc| arc.from < node)).collect();
        self.into = (0..self.arcs.len()).collect();
        self.into.sort_by_key(|arc| self.arcs[*arc].to);
        self.first_into =
            nodes.map(|node| self.into.partition_point(|arc| self.arcs[*arc].to < node)).collect();
        self.forks = self.first_arc.windows(2).any(|arcs| arcs[1] - arcs[0] > 1);
    }
}

/// Everything that does not change during a run.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub streams: Vec<Stream>,
    /// Both directions of every link, in the scenario's order.
    pub channels: Vec<DirectedLink>,
    /// The two nodes of each channel.
    pub ends: Vec<[usize; 2]>,
    /// The stream of each flow.
    pub stream_of: Vec<usize>,
    /// The index of each flow's consumer among the stream's nodes.
    pub node_of: Vec<usize>,
    /// The index of each arc in [`Network::data_on`].
    pub place_on: Vec<usize>,
    /// For each stream the index of its first arc in the list of all arcs; one more at the end.
    pub first_arc: Vec<usize>,
    /// The stream of each arc in that list.
    pub stream_of_arc: Vec<usize>,
    /// For each channel the arcs with their Data on it: the stream, and the index in the list of all arcs.
    pub data_on: Vec<Vec<(usize, usize)>>,
    /// For each channel the arcs with their Interests on it.
    pub interests_on: Vec<Vec<(usize, usize)>>,
    /// For each medium its channels, which are adjacent. After the media of IEEE 802.11, each half-duplex
    /// link is one.
    pub media: Vec<core::ops::Range<Channel>>,
    /// The number of media of IEEE 802.11.
    shared_by_802_11: usize,
    /// The medium of each channel, if it is on one.
    pub medium_of: Vec<Option<usize>>,
    /// The bits of a Data of each flow.
    pub data_bits: Vec<f64>,
}

/// The conditions that may change during a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conditions {
    /// The usable rate of each channel, bit/s: η times its rate, 0 while it is down. On a medium it is the
    /// rate for Data there if nothing else used it.
    pub capacity: Vec<f64>,
    /// For each arc in the list of all whose channel is on a medium: the part of the medium's air that a
    /// bit/s of its Data takes, with its Interests; 0 for the others.
    pub air: Vec<f64>,
    /// The usable part of a medium's air: η.
    pub air_to_use: f64,
    /// The demand of each flow, bit/s of Data; 0 while it does not run.
    pub demand: Vec<f64>,
    /// For each arc in the list of all: the part of a consumer's Interests that simulated caches forward to
    /// it. Loads and shares of arcs count what the consumer gets; the link carries this part of it.
    pub part: Vec<f64>,
    /// The flows with a demand.
    pub running: Running,
}

/// The changes of conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changed {
    /// Whether anything may have changed.
    pub all: bool,
    /// The flows whose demands have changed.
    pub flows: Vec<usize>,
    /// The channels whose capacities have changed.
    pub channels: Vec<Channel>,
}

impl Changed {
    /// Returns the change of everything.
    pub fn all() -> Changed {
        Changed { all: true, ..Changed::default() }
    }

    pub fn is_none(&self) -> bool {
        !self.all && self.flows.is_empty() && self.channels.is_empty()
    }

    pub fn clear(&mut self) {
        self.all = false;
        self.flows.clear();
        self.channels.clear();
    }
}

/// The capacity, as the consumer counts it, of an arc that no Interest reaches: unlimited, bit/s.
const UNBOUNDED: f64 = 1e18;

impl Conditions {
    /// Returns the rate of the consumer for this rate on the link of an arc.
    pub fn by(&self, arc: usize, on_link: f64) -> f64 {
        if self.part[arc] > 0.0 { (on_link / self.part[arc]).min(UNBOUNDED) } else { UNBOUNDED }
    }
}

impl Network {
    pub fn new(scenario: &Scenario, policy: &SharingPolicy, copies: Copies) -> Network {
        let routes = Routes::new(scenario);
        let channel = |link| [0, 1].map(|direction| DirectedLink { link, direction });
        let links = (0..scenario.links.len()).map(weir_scenario::LinkId);
        let mut streams: Vec<Stream> = Vec::new();
        let mut known: BTreeMap<(&str, ServiceClass, usize), usize> = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        let mut stream_of = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let own = if copies == Copies::Apart { index } else { 0 };
            let stream = *known.entry((&flow.prefix, flow.class, own)).or_insert(members.len());
            if stream == members.len() {
                members.push(Vec::new());
            }
            members[stream].push(index);
            stream_of.push(stream);
        }
        let mut data_bits = vec![0.0; stream_of.len()];
        for flows in &members {
            let first = &scenario.flows[flows[0]];
            let sizes = first.packet_lengths();
            let [interest, data] = sizes.map(|size| size.bits() as f64);
            flows.iter().for_each(|&flow| data_bits[flow] = data);
            let mut stream = routes.stream(scenario, flows);
            stream.weight = policy.flow_weight(&first.prefix);
            stream.limit = policy.flow_limit(&first.prefix);
            stream.interest_ratio = interest / data;
            stream.content_ratio = first.payload.bits() as f64 / data;
            stream.sizes = sizes;
            streams.push(stream);
        }
        let channels: Vec<_> = links.flat_map(channel).collect();
        let mut network = Network {
            first_arc: vec![0],
            stream_of_arc: Vec::new(),
            data_on: vec![Vec::new(); channels.len()],
            interests_on: vec![Vec::new(); channels.len()],
            media: media(scenario),
            medium_of: medium_of(scenario),
            shared_by_802_11: scenario.media.len(),
            ends: scenario.links.iter().flat_map(|l| [[l.a.index(), l.b.index()]; 2]).collect(),
            streams,
            channels,
            node_of: vec![0; stream_of.len()],
            stream_of,
            place_on: Vec::new(),
            data_bits,
        };
        network.list_arcs();
        network
    }

    fn list_arcs(&mut self) {
        let mut at = 0;
        for (index, stream) in self.streams.iter().enumerate() {
            stream.consumers.iter().for_each(|(flow, node)| self.node_of[*flow] = *node);
            for arc in &stream.arcs {
                self.place_on.push(self.data_on[arc.channel].len());
                self.data_on[arc.channel].push((index, at));
                self.interests_on[arc.back].push((index, at));
                self.stream_of_arc.push(index);
                at += 1;
            }
            self.first_arc.push(at);
        }
    }

    /// Returns the arcs of a stream in the list of all arcs.
    pub fn arcs_of(&self, stream: usize) -> core::ops::Range<usize> {
        self.first_arc[stream]..self.first_arc[stream + 1]
    }

    /// Returns the stream of an arc in the list of all, the channel of its Data, and that of its Interests.
    pub fn arc(&self, arc: usize) -> (usize, Channel, Channel) {
        let stream = self.stream_of_arc[arc];
        let arc = self.streams[stream].arcs[arc - self.first_arc[stream]];
        (stream, arc.channel, arc.back)
    }

    /// Returns the class of a flow.
    pub fn class(&self, flow: usize) -> ServiceClass {
        self.streams[self.stream_of[flow]].class
    }

    /// Returns the bits of Data on a channel, with these loads on all arcs.
    pub fn data(&self, channel: Channel, load: &[f64], conditions: &Conditions) -> f64 {
        conditions.running.data_on[channel].iter().map(|(_, arc)| conditions.part[*arc] * load[*arc]).sum()
    }

    /// Returns the bits of Interests on a channel, with these loads of Data on all arcs.
    pub fn interests(&self, channel: Channel, load: &[f64], conditions: &Conditions) -> f64 {
        let on = conditions.running.interests_on[channel].iter();
        on.map(|&(stream, arc)| self.streams[stream].interest_ratio * conditions.part[arc] * load[arc]).sum()
    }

    /// Returns the rate of a flow's content if the rate of its Data is `rate`.
    pub fn goodput(&self, flow: usize, rate: f64) -> f64 {
        rate * self.streams[self.stream_of[flow]].content_ratio
    }
}

/// Returns the channels of each medium, and then those of each half-duplex link.
fn media(scenario: &Scenario) -> Vec<core::ops::Range<Channel>> {
    let on = |medium: usize| {
        let links = scenario.links.iter().enumerate();
        links.filter(move |(_, link)| link.medium == Some(MediumId(medium))).map(|(index, _)| index)
    };
    let first = |medium| on(medium).next().unwrap_or(scenario.links.len());
    let shared =
        (0..scenario.media.len()).map(|medium| 2 * first(medium)..2 * (first(medium) + on(medium).count()));
    let half_duplex = scenario.links.iter().enumerate().filter(|(_, link)| link.half_duplex);
    shared.chain(half_duplex.map(|(index, _)| 2 * index..2 * index + 2)).collect()
}

/// Returns the medium of each channel, in the order of [`media`].
fn medium_of(scenario: &Scenario) -> Vec<Option<usize>> {
    let mut half_duplex = scenario.media.len()..;
    let of_link = |link: &weir_scenario::Link| match link.medium {
        Some(medium) => Some(medium.index()),
        None if link.half_duplex => half_duplex.next(),
        None => None,
    };
    let of_links: Vec<Option<usize>> = scenario.links.iter().map(of_link).collect();
    of_links.into_iter().flat_map(|medium| [medium; 2]).collect()
}

/// A next hop with the channels of Interests and Data.
type Hop = (usize, Channel, Channel);

/// The FIBs of all nodes.
struct Routes<'s> {
    /// For each node: the next hops by prefix.
    fibs: Vec<BTreeMap<&'s str, Vec<Hop>>>,
    /// The nodes that produce each prefix.
    producers: BTreeMap<&'s str, Vec<usize>>,
}

impl<'s> Routes<'s> {
    fn new(scenario: &'s Scenario) -> Routes<'s> {
        let mut fibs = vec![BTreeMap::new(); scenario.nodes.len()];
        for route in &scenario.routes {
            let hop = |hop: &NextHop| {
                let there = 2 * hop.link.link.index() + hop.link.direction;
                (hop.node.index(), there, there ^ 1)
            };
            let hops: Vec<_> = route.next_hops.iter().map(hop).collect();
            fibs[route.node.index()].insert(&*route.prefix, hops);
        }
        let mut producers: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for flow in &scenario.flows {
            let of = producers.entry(&flow.prefix).or_default();
            of.extend(flow.producers.iter().map(|node| node.index()));
        }
        Routes { fibs, producers }
    }

    /// Returns the next hops of the longest prefix that covers a name.
    fn lookup(&self, node: usize, name: &str) -> &[Hop] {
        let mut prefix = name;
        loop {
            if let Some(hops) = self.fibs[node].get(prefix) {
                return hops;
            }
            prefix = match prefix.rfind('/') {
                _ if prefix == "/" => return &[],
                Some(0) | None => "/",
                Some(at) => &prefix[..at],
            };
        }
    }

    /// Returns the stream of these flows, all of one prefix and class. Its sizes and weight are set later.
    fn stream(&self, scenario: &Scenario, flows: &[usize]) -> Stream {
        let first = &scenario.flows[flows[0]];
        let consumers: Vec<usize> = flows.iter().map(|&f| scenario.flows[f].consumer.index()).collect();
        let producers = &self.producers[first.prefix.as_str()];
        let mut search = Search { routes: self, prefix: &first.prefix, producers, seen: BTreeMap::new() };
        let mut finished = Vec::new();
        for &consumer in &consumers {
            search.visit(consumer, &mut finished);
        }
        // A node is finished after all nodes to which it leads.
        finished.reverse();
        let place: BTreeMap<usize, usize> =
            finished.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let mut stream = Stream {
            class: first.class,
            weight: 1.0,
            limit: f64::INFINITY,
            interest_ratio: 0.0,
            content_ratio: 0.0,
            sizes: [Bytes::ZERO; 2],
            produces: finished.iter().map(|node| producers.contains(node)).collect(),
            may_cache: finished
                .iter()
                .map(|&node| scenario.nodes[node].simulates_cache_of(&first.prefix))
                .collect(),
            arcs: Vec::new(),
            first_arc: Vec::new(),
            into: Vec::new(),
            first_into: Vec::new(),
            forks: false,
            consumers: flows.iter().zip(&consumers).map(|(flow, node)| (*flow, place[node])).collect(),
            nodes: Vec::new(),
        };
        for (from, &node) in finished.iter().enumerate() {
            for (to, there, back) in search.hops(node).iter().map(|hop| (place[&hop.0], hop.1, hop.2)) {
                // An arc leads backwards only if given routes form a loop. An Interest that loops is dropped.
                if to > from {
                    stream.arcs.push(Arc { from, to, channel: back, back: there });
                }
            }
        }
        stream.nodes = finished;
        stream.list_arcs();
        stream
    }
}

/// A depth-first walk along the routes of a prefix.
struct Search<'r> {
    routes: &'r Routes<'r>,
    prefix: &'r str,
    producers: &'r [usize],
    seen: BTreeMap<usize, ()>,
}

impl Search<'_> {
    fn hops(&self, node: usize) -> &[Hop] {
        if self.producers.contains(&node) { &[] } else { self.routes.lookup(node, self.prefix) }
    }

    /// Appends the nodes that an Interest at `from` can reach, each after all nodes to which it leads.
    fn visit(&mut self, from: usize, finished: &mut Vec<usize>) {
        if self.seen.insert(from, ()).is_some() {
            return;
        }
        let mut stack = vec![(from, 0)];
        while let Some((node, at)) = stack.pop() {
            match self.hops(node).get(at).map(|hop| hop.0) {
                Some(next) => {
                    stack.push((node, at + 1));
                    if self.seen.insert(next, ()).is_none() {
                        stack.push((next, 0));
                    }
                }
                None => finished.push(node),
            }
        }
    }
}

/// A change at a time of the scenario.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// A flow begins.
    Start(usize),
    /// A flow ends.
    Stop(usize),
    /// An event of the scenario.
    Event(Event),
}

/// The state at a time of the scenario, from which the conditions follow.
#[derive(Clone, Debug)]
pub(crate) struct State {
    rate: Vec<f64>,
    /// Whether each link and each node works. A link carries packets if it and both its ends work.
    up: Vec<bool>,
    node_up: Vec<bool>,
    /// The loss ratio of each link.
    loss: Vec<f64>,
    /// The rate of each flow's source, bit/s.
    pub source: Vec<f64>,
    /// Whether each flow runs.
    running: Vec<bool>,
    /// The hit ratio of each node's simulated cache.
    cache_ratio: Vec<f64>,
    /// η.
    utilisation: f64,
    conditions: Conditions,
    /// The changes since the last call of [`State::conditions`].
    changed: Changed,
    /// Whether the capacity of media has to be computed again.
    is_air_old: bool,
}

impl State {
    /// Returns the state before the beginning, in which nothing runs.
    pub fn new(scenario: &Scenario, network: &Network, utilisation: f64) -> State {
        let rates = scenario.links.iter().flat_map(|link| link.rate);
        let arcs = network.stream_of_arc.len();
        let mut state = State {
            rate: rates.map(|rate| rate.as_bps_f64()).collect(),
            up: vec![true; scenario.links.len()],
            node_up: vec![true; scenario.nodes.len()],
            loss: scenario.links.iter().map(|link| link.loss).collect(),
            source: scenario.flows.iter().map(|flow| demand(flow.source)).collect(),
            running: vec![false; scenario.flows.len()],
            cache_ratio: scenario.nodes.iter().map(|node| node.cache_ratio).collect(),
            utilisation,
            conditions: Conditions {
                capacity: vec![0.0; network.channels.len()],
                air: vec![0.0; arcs],
                air_to_use: utilisation,
                demand: vec![0.0; scenario.flows.len()],
                part: Vec::new(),
                running: Running::none(network),
            },
            changed: Changed::all(),
            is_air_old: true,
        };
        (0..scenario.links.len()).for_each(|link| state.link_changes(network, link));
        state.caches_change(network);
        state
    }

    pub fn apply(&mut self, network: &Network, change: &Change) {
        self.is_air_old = true;
        match change {
            Change::Start(flow) => {
                self.running[*flow] = true;
                self.demand_changes(network, *flow);
            }
            Change::Stop(flow) => {
                self.running[*flow] = false;
                self.demand_changes(network, *flow);
            }
            Change::Event(Event::FlowSource { flows, source }) => {
                for flow in flows {
                    self.source[flow.index()] = demand(*source);
                    self.demand_changes(network, flow.index());
                }
            }
            Change::Event(Event::LinkRate { link, rate }) => {
                for (direction, rate) in rate.iter().enumerate() {
                    self.rate[2 * link.index() + direction] = rate.as_bps_f64();
                }
                self.link_changes(network, link.index());
            }
            Change::Event(Event::LinkDown { link }) => {
                self.up[link.index()] = false;
                self.link_changes(network, link.index());
            }
            Change::Event(Event::LinkUp { link }) => {
                self.up[link.index()] = true;
                self.link_changes(network, link.index());
            }
            Change::Event(Event::LinkLoss { link, loss }) => {
                self.loss[link.index()] = *loss;
                self.link_changes(network, link.index());
            }
            Change::Event(Event::NodeCacheRatio { node, ratio }) => {
                self.cache_ratio[node.index()] = *ratio;
                self.caches_change(network);
            }
            Change::Event(Event::NodeDown { node }) => self.node_changes(network, node.index(), false),
            Change::Event(Event::NodeUp { node }) => self.node_changes(network, node.index(), true),
            // Bursts change no mean. If next hops change, nothing is computed from then on.
            Change::Event(
                Event::LinkDelay { .. }
                | Event::LinkLossBurst { .. }
                | Event::LinkJitter { .. }
                | Event::FlowProducers { .. },
            ) => {}
        }
    }

    fn node_changes(&mut self, network: &Network, node: usize, up: bool) {
        self.node_up[node] = up;
        for link in (0..self.up.len()).filter(|link| network.ends[2 * link].contains(&node)) {
            self.link_changes(network, link);
        }
    }

    fn demand_changes(&mut self, network: &Network, flow: usize) {
        let demand = if self.running[flow] { self.source[flow] } else { 0.0 };
        if self.conditions.demand[flow] == demand {
            return;
        }
        self.conditions.demand[flow] = demand;
        if demand > 0.0 {
            self.conditions.running.start(network, flow);
        } else {
            self.conditions.running.stop(network, flow);
        }
        self.changed.flows.push(flow);
    }

    /// Handles a link whose state changes. A link that loses all packets carries no Data: no Interest over it
    /// is answered.
    fn link_changes(&mut self, network: &Network, link: usize) {
        for channel in [2 * link, 2 * link + 1] {
            let carries = if self.loss[link] < 1.0 { self.rate(network, channel) } else { 0.0 };
            let capacity = self.utilisation * carries;
            if self.conditions.capacity[channel] != capacity {
                self.conditions.capacity[channel] = capacity;
                self.changed.channels.push(channel);
            }
        }
    }

    fn caches_change(&mut self, network: &Network) {
        self.conditions.part = network.streams.iter().flat_map(|stream| self.parts(stream)).collect();
        self.changed.all = true;
    }

    /// Returns the rate of a channel, bit/s; 0 while it is down.
    pub fn rate(&self, network: &Network, channel: Channel) -> f64 {
        if self.is_up(network, channel) { self.rate[channel] } else { 0.0 }
    }

    /// Returns whether a channel works: its link and both ends work.
    fn is_up(&self, network: &Network, channel: Channel) -> bool {
        self.up[channel / 2] && network.ends[channel].iter().all(|node| self.node_up[*node])
    }

    pub fn conditions(&mut self, network: &Network) -> &Conditions {
        if self.is_air_old && !network.media.is_empty() {
            self.changed.all = true;
            for (index, medium) in network.media.iter().enumerate() {
                if index < network.shared_by_802_11 {
                    self.share_air(network, medium.clone());
                } else {
                    self.share_time(network, medium.clone());
                }
            }
        }
        self.is_air_old = false;
        &self.conditions
    }

    /// Returns the running flows and streams.
    pub fn running(&self) -> &Running {
        &self.conditions.running
    }

    /// Solves if anything has changed since the last call.
    ///
    /// # Errors
    /// Returns an error if the solver gave up.
    pub fn solve(&mut self, network: &Network, solver: &mut Solver<'_>) -> Result<(), OptimumError> {
        self.conditions(network);
        if !self.changed.is_none() {
            solver.solve(&self.conditions, &self.changed)?;
            self.changed.clear();
        }
        Ok(())
    }

    /// Returns for each arc of a stream the part of Interests that simulated caches forward to it.
    fn parts(&self, stream: &Stream) -> Vec<f64> {
        // All paths that meet have passed the same caches; `theory` rejects others.
        let mut reaches = vec![1.0; stream.nodes.len()];
        let mut parts = Vec::with_capacity(stream.arcs.len());
        for arc in &stream.arcs {
            let hits =
                if stream.may_cache[arc.from] { self.cache_ratio[stream.nodes[arc.from]] } else { 0.0 };
            parts.push(reaches[arc.from] * (1.0 - hits));
            reaches[arc.to] = reaches[arc.from] * (1.0 - hits);
        }
        parts
    }

    /// Sets the cost of Data on a medium where all stations with packets always have one to send.
    fn share_air(&mut self, network: &Network, medium: core::ops::Range<Channel>) {
        let running = &self.conditions.running;
        let on = |channel: Channel| running.data_on[channel].iter();
        let used: Vec<Channel> = medium.clone().filter(|channel| on(*channel).count() > 0).collect();
        let ends = |channel: &Channel| network.ends[*channel];
        let stations: std::collections::BTreeSet<usize> = used.iter().flat_map(ends).collect();
        let lost = used.iter().map(|channel| self.loss[channel / 2]).sum::<f64>() / used.len().max(1) as f64;
        let saturation = Saturation::new(stations.len().max(2), lost.min(MOST_LOSS));
        let rate = |channel: Channel| Rate::from_bps_f64(self.rate[channel]);
        let longest = used.iter().flat_map(|&channel| {
            on(channel)
                .map(move |(stream, _)| phy::frame_time(network.streams[*stream].sizes[1], rate(channel)))
        });
        let longest = longest.max().unwrap_or_default();
        for channel in medium {
            let mut most = 0.0f64;
            for &(stream, arc) in &network.data_on[channel] {
                let [interest, data] = network.streams[stream].sizes;
                let air = saturation.air_time(data, rate(channel), longest)
                    + saturation.air_time(interest, rate(channel ^ 1), longest);
                self.conditions.air[arc] = air / data.bits() as f64;
                most = most.max(1.0 / self.conditions.air[arc]);
            }
            if most > 0.0 {
                let is_up = self.is_up(network, channel) && self.loss[channel / 2] < 1.0;
                self.conditions.capacity[channel] = if is_up { self.utilisation * most } else { 0.0 };
            }
        }
    }

    /// Sets the cost of Data on a half-duplex link: their own time, and that of their Interests.
    fn share_time(&mut self, network: &Network, link: core::ops::Range<Channel>) {
        for channel in link {
            let [forward, back] = [channel, channel ^ 1].map(|channel| self.rate(network, channel));
            let is_up = forward > 0.0 && back > 0.0 && self.loss[channel / 2] < 1.0;
            let mut most = 0.0f64;
            for &(stream, arc) in &network.data_on[channel] {
                let air = 1.0 / forward + network.streams[stream].interest_ratio / back;
                self.conditions.air[arc] = if is_up { air } else { 0.0 };
                most = most.max(1.0 / air);
            }
            if !is_up || most > 0.0 {
                self.conditions.capacity[channel] = if is_up { self.utilisation * most } else { 0.0 };
            }
        }
    }
}

/// The largest loss ratio of frames. With more, nothing would arrive.
const MOST_LOSS: f64 = 0.9;

/// Returns the largest demand of an application. An unresponsive source does not increase it: its share is
/// that of the links.
fn demand(source: Source) -> f64 {
    match source {
        Source::Elastic => f64::INFINITY,
        Source::Limited(rate) | Source::Unresponsive(rate) => rate.as_bps_f64(),
    }
}

/// Returns all changes of a scenario, in order of time; those at one time in the order of the simulator.
pub(crate) fn changes(scenario: &Scenario) -> Vec<(Span, Change)> {
    let mut changes = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        changes.push((flow.start, Change::Start(index)));
        changes.extend(flow.stop.map(|stop| (stop, Change::Stop(index))));
    }
    changes.extend(scenario.events.iter().map(|event| (event.at, Change::Event(event.what.clone()))));
    changes.sort_by_key(|(at, _)| *at);
    changes
}
