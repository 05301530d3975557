//! The experiment: schemes, windows, nodes, links and measurements.

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_core::name::{HashedName, NameHasher};
use weir_core::node::CsPlacement;
use weir_core::producer::Producer;
use weir_core::seam::QueueLimit;
use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Span, Time};
use weir_measure::{Extent, LinkInfo, Role, Topology, TopologyLink, TopologyMedium, TopologyNode};
use weir_scenario::{self as scenario, FlowId, NodeId, Scenario};
use weir_schemes::Resolved;

use crate::applications::name_of;
use crate::drawn::drawn;
use crate::error::ExperimentError;
use crate::observe::Observers;
use crate::probe::Probe;
use crate::resolve::{check_schemes, scheme_for};

/// Hashes the names of an experiment: fixed, so that a run depends on its seed alone.
pub const HASHER: NameHasher = NameHasher::new(0x5765_6972);

/// How a scenario is to be run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheme; the scenario's own if `None`.
    pub scheme: Option<String>,
    /// The seed of all random streams, where the world has any.
    pub seed: u64,
    /// Further measuring windows.
    pub windows: Vec<(Span, Span)>,
    /// What is measured besides the scenario's expectations; the values are in [`Report::probes`](weir_measure::Report::probes).
    pub probes: Vec<Probe>,
    /// Whether time series are wanted.
    pub with_series: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { scheme: None, seed: 1, windows: Vec::new(), probes: Vec::new(), with_series: true }
    }
}

/// A scenario under a scheme.
#[derive(Clone, Debug)]
pub struct Experiment {
    scenario: Arc<Scenario>,
    scheme: Resolved,
    inactive: Resolved,
    /// The schemes that flows have of their own, by name.
    of_flows: BTreeMap<String, Resolved>,
    seed: u64,
    is_drawn: bool,
    windows: Vec<(Time, Time)>,
    probes: Vec<Probe>,
    with_series: bool,
}

/// A node's content store.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoreConfig {
    /// Which packet leaves a full one.
    pub policy: CsPolicy,
    /// How many Data packets it holds.
    pub packets: usize,
    /// How many bytes of Data packets it holds.
    pub bytes: u64,
    /// Which Data of those that pass it keeps.
    pub placement: CsPlacement,
}

/// A cache with a given hit ratio.
#[derive(Clone, Debug)]
pub struct SimulatedCacheConfig {
    /// The ratio at the beginning, 0 to 1.
    pub ratio: f64,
    /// The prefixes that it answers for, each with the producer whose Data it has.
    pub answers: Vec<(HashedName, Producer)>,
}

impl Experiment {
    /// A scenario, to be run in this way.
    ///
    /// # Errors
    /// A scheme or a parameter that is wrong, a window that is not within the run, and a probe of flows or links that are not
    /// there.
    pub fn new(scenario: impl Into<Arc<Scenario>>, setup: &Setup) -> Result<Experiment, ExperimentError> {
        let (scenario, is_drawn) = drawn(scenario.into(), setup.seed);
        check_schemes(&scenario)?;
        let scheme = scheme_for(&scenario, setup.scheme.as_deref().unwrap_or(&scenario.scheme))?;
        let mut of_flows = BTreeMap::new();
        for own in scenario.flows.iter().filter_map(|flow| flow.scheme.as_deref()) {
            if own != scheme.entry.name && !of_flows.contains_key(own) {
                of_flows.insert(own.to_owned(), scheme_for(&scenario, own)?);
            }
        }
        setup.probes.iter().try_for_each(|probe| probe.check(&scenario))?;
        Ok(Experiment {
            windows: windows(&scenario, &setup.windows)?,
            scenario,
            scheme,
            inactive: weir_schemes::known(weir_schemes::PLAIN)?
                .resolve([])
                .expect("a scheme takes its own defaults"),
            of_flows,
            seed: setup.seed,
            is_drawn,
            probes: setup.probes.clone(),
            with_series: setup.with_series,
        })
    }

    /// The same under a scheme that the list of schemes need not have.
    #[must_use]
    pub fn with_scheme(mut self, scheme: Resolved) -> Experiment {
        self.scheme = scheme;
        self
    }

    /// The scenario: its nodes, links, routes and flows.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The scheme that runs, where a node or a flow has none of its own.
    pub fn scheme(&self) -> &Resolved {
        &self.scheme
    }

    /// The scheme of nodes that are not active: they forward plainly.
    pub fn inactive_scheme(&self) -> &Resolved {
        &self.inactive
    }

    /// The scheme of a flow's consumer, if another than that of the run.
    pub fn own_scheme_of_flow(&self, flow: FlowId) -> Option<&Resolved> {
        self.of_flows.get(self.scenario.flows[flow.index()].scheme.as_deref()?)
    }

    /// The scheme of a flow's consumer.
    pub fn scheme_of_flow(&self, flow: FlowId) -> &Resolved {
        self.own_scheme_of_flow(flow).unwrap_or(&self.scheme)
    }

    /// The seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the seed draws something of the scenario itself: delays, starts, nodes of consumers, or traffic.
    pub fn is_drawn(&self) -> bool {
        self.is_drawn || self.has_random_traffic()
    }

    /// Whether time series are wanted.
    pub(crate) fn with_series(&self) -> bool {
        self.with_series
    }

    /// When it ends.
    pub fn until(&self) -> Time {
        Time::ZERO + self.scenario.duration
    }

    /// The content store of a node; `None` if it has none.
    pub fn store(&self, node: NodeId) -> Option<StoreConfig> {
        let node = &self.scenario.nodes[node.index()];
        (node.cache_packets > 0).then(|| StoreConfig {
            policy: node.cache_policy,
            packets: usize::try_from(node.cache_packets).unwrap_or(usize::MAX),
            bytes: node.cache_bytes.map_or(u64::MAX, Bytes::as_u64),
            placement: node.cache_placement,
        })
    }

    /// Whether some content store counts those on the way, so that all have to.
    pub fn counts_stores(&self) -> bool {
        let mut stores = (0..self.scenario.nodes.len()).filter_map(|node| self.store(NodeId(node)));
        stores.any(|store| store.placement.counts())
    }

    /// The simulated cache of a node; `None` if it never has one.
    pub fn simulated_cache(&self, node: NodeId) -> Option<SimulatedCacheConfig> {
        let changes = |event: &scenario::TimedEvent| matches!(event.what, scenario::Event::NodeCacheRatio { node: at, .. } if at == node);
        let of = &self.scenario.nodes[node.index()];
        if of.cache_ratio == 0.0 && !self.scenario.events.iter().any(changes) {
            return None;
        }
        let flows = (0..self.scenario.flows.len()).map(FlowId);
        let flows = flows.filter(|flow| of.simulates_cache_of(&self.scenario.flows[flow.index()].prefix));
        let answer = |flow: FlowId| (name_of(&self.scenario.flows[flow.index()].prefix), self.producer(flow));
        Some(SimulatedCacheConfig { ratio: of.cache_ratio, answers: flows.map(answer).collect() })
    }

    /// The bound of the queues in front of a link.
    pub fn queue_limit(&self, link: &scenario::Link) -> QueueLimit {
        match link.queue {
            scenario::QueueLimit::Packets(packets) => QueueLimit::Packets(packets),
            scenario::QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes),
        }
    }

    // ---- What is measured

    /// What is measured besides the scenario's expectations.
    pub(crate) fn further_probes(&self) -> &[Probe] {
        &self.probes
    }

    /// What the accounts cover, with the windows of these observers.
    pub fn extent(&self, observers: &Observers) -> Extent {
        Extent {
            until: self.until(),
            windows: self.windows.clone(),
            others: observers.windows().collect(),
            step: self.scenario.sample,
            with_series: self.with_series,
        }
    }

    /// What the accounts need to know of the links, a row a direction: `2 * link + direction` is its place.
    pub fn link_infos(&self) -> Vec<LinkInfo> {
        let info = |link: &scenario::Link| {
            [(link.a, link.b, 0), (link.b, link.a, 1)].map(|(from, to, direction)| LinkInfo {
                from: self.node_name(from).to_owned(),
                to: self.node_name(to).to_owned(),
                name: link.name.clone(),
                rate: link.rate[direction],
            })
        };
        self.scenario.links.iter().flat_map(info).collect()
    }

    /// The network, as the report draws it.
    pub fn topology(&self) -> Topology {
        let node = |(node, role): (&scenario::Node, Role)| TopologyNode {
            name: node.name.clone(),
            role,
            position: node.position.map(|(x, y)| (x as f32, y as f32)),
        };
        let name = |node: NodeId| self.node_name(node).to_owned();
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
            nodes: self.scenario.nodes.iter().zip(self.roles()).map(node).collect(),
            links: self.scenario.links.iter().map(link).collect(),
            media: self.scenario.media.iter().map(medium).collect(),
        }
    }

    /// What the flows make of each node.
    fn roles(&self) -> Vec<Role> {
        let mut roles = vec![Role::Router; self.scenario.nodes.len()];
        for flow in &self.scenario.flows {
            let producers = flow.producers.iter().map(|&producer| (producer, Role::Producer));
            for (node, role) in producers.chain([(flow.consumer, Role::Consumer)]) {
                let now = &mut roles[node.index()];
                *now = if *now == Role::Router || *now == role { role } else { Role::Peer };
            }
        }
        roles
    }

    /// The name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.scenario.nodes[node.index()].name
    }
}

/// The scenario's measuring windows and further ones.
fn windows(scenario: &Scenario, further: &[(Span, Span)]) -> Result<Vec<(Time, Time)>, ExperimentError> {
    let duration = scenario.duration;
    let own = scenario.windows.iter().map(|w| (w.from, w.to));
    let mut windows = Vec::new();
    for (from, to) in own.chain(further.iter().copied()) {
        check_window((from, to), duration)?;
        windows.push((Time::ZERO + from, Time::ZERO + to));
    }
    Ok(windows)
}

/// Refuses a window that is not within a run of this length.
pub(crate) fn check_window((from, to): (Span, Span), duration: Span) -> Result<(), ExperimentError> {
    if from >= to || to > duration {
        return Err(ExperimentError::Window { from, to, duration });
    }
    Ok(())
}
