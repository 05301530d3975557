//! The experiment: its schemes, windows, nodes, links and measurements.

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

/// Hashes the names of an experiment. It is fixed, so that a run depends only on its seed.
pub const HASHER: NameHasher = NameHasher::new(0x5765_6972);

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheme; the scenario's own if `None`.
    pub scheme: Option<String>,
    /// The seed of all random streams, if the world has any.
    pub seed: u64,
    /// The measuring windows besides the scenario's own.
    pub windows: Vec<(Span, Span)>,
    /// The probes besides the scenario's expectations; the values are in
    /// [`Report::probes`](weir_measure::Report::probes).
    pub probes: Vec<Probe>,
    /// Whether to make time series.
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
    /// The schemes of single flows, by name.
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
    /// The packet that a full store evicts.
    pub policy: CsPolicy,
    /// The capacity in Data packets.
    pub packets: usize,
    /// The capacity in bytes of Data packets.
    pub bytes: u64,
    /// Which of the passing Data it keeps.
    pub placement: CsPlacement,
}

/// A cache with a given hit ratio.
#[derive(Clone, Debug)]
pub struct SimulatedCacheConfig {
    /// The hit ratio at the beginning, 0 to 1.
    pub ratio: f64,
    /// The prefixes that it answers, each with the producer whose Data it has.
    pub answers: Vec<(HashedName, Producer)>,
}

impl Experiment {
    /// Returns the experiment of a scenario with these settings.
    ///
    /// # Errors
    /// Returns an error if a scheme or a parameter is invalid, if a window is not within the run, or if a
    /// probe selects flows or links that do not exist.
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

    /// Returns the same experiment under a scheme that need not be in the registry.
    #[must_use]
    pub fn with_scheme(mut self, scheme: Resolved) -> Experiment {
        self.scheme = scheme;
        self
    }

    /// Returns the scenario: its nodes, links, routes and flows.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Returns the scheme of nodes and flows without their own scheme.
    pub fn scheme(&self) -> &Resolved {
        &self.scheme
    }

    /// Returns the scheme of nodes that are not active. They use the default queue and strategy.
    pub fn inactive_scheme(&self) -> &Resolved {
        &self.inactive
    }

    /// Returns the scheme of a flow's consumer, if it differs from that of the run.
    pub fn own_scheme_of_flow(&self, flow: FlowId) -> Option<&Resolved> {
        self.of_flows.get(self.scenario.flows[flow.index()].scheme.as_deref()?)
    }

    /// Returns the scheme of a flow's consumer.
    pub fn scheme_of_flow(&self, flow: FlowId) -> &Resolved {
        self.own_scheme_of_flow(flow).unwrap_or(&self.scheme)
    }

    /// Returns the seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns whether the seed draws a part of the scenario itself: delays, starts, nodes of consumers, or
    /// traffic.
    pub fn is_drawn(&self) -> bool {
        self.is_drawn || self.has_random_traffic()
    }

    /// Returns whether to make time series.
    pub(crate) fn with_series(&self) -> bool {
        self.with_series
    }

    /// Returns the end of the run.
    pub fn until(&self) -> Time {
        Time::ZERO + self.scenario.duration
    }

    /// Returns the content store of a node; `None` if it has none.
    pub fn store(&self, node: NodeId) -> Option<StoreConfig> {
        let node = &self.scenario.nodes[node.index()];
        (node.cache_packets > 0).then(|| StoreConfig {
            policy: node.cache_policy,
            packets: usize::try_from(node.cache_packets).unwrap_or(usize::MAX),
            bytes: node.cache_bytes.map_or(u64::MAX, Bytes::as_u64),
            placement: node.cache_placement,
        })
    }

    /// Returns whether some content store counts those on the path, so that all stores have to.
    pub fn counts_stores(&self) -> bool {
        let mut stores = (0..self.scenario.nodes.len()).filter_map(|node| self.store(NodeId(node)));
        stores.any(|store| store.placement.counts())
    }

    /// Returns the simulated cache of a node; `None` if it never has one.
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

    /// Returns the limit of the queues in front of a link.
    pub fn queue_limit(&self, link: &scenario::Link) -> QueueLimit {
        match link.queue {
            scenario::QueueLimit::Packets(packets) => QueueLimit::Packets(packets),
            scenario::QueueLimit::Bytes(bytes) => QueueLimit::Bytes(bytes),
        }
    }

    // ---- Measurements

    /// Returns the probes besides the scenario's expectations.
    pub(crate) fn further_probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Returns the extent of the accounts, with the windows of these observers.
    pub fn extent(&self, observers: &Observers) -> Extent {
        Extent {
            until: self.until(),
            windows: self.windows.clone(),
            others: observers.windows().collect(),
            step: self.scenario.sample,
            with_series: self.with_series,
        }
    }

    /// Returns the data of the links for the accounts, a row for each direction; its index is `2 * link +
    /// direction`.
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

    /// Returns the network for the drawing of the report.
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

    /// Returns the role of each node in the flows.
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

    /// Returns the name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.scenario.nodes[node.index()].name
    }
}

/// Returns the scenario's measuring windows and further ones.
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

/// Rejects a window that is not within a run of this length.
pub(crate) fn check_window((from, to): (Span, Span), duration: Span) -> Result<(), ExperimentError> {
    if from >= to || to > duration {
        return Err(ExperimentError::Window { from, to, duration });
    }
    Ok(())
}
