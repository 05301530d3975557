//! The plan of a scenario's traffic on forwarders: nodes with applications, their connections, and the times of
//! changes. The address of a forwarder is an opaque `E`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use weir_core::units::Time;
use weir_experiment::{Change, Experiment};
use weir_measure::FlowInfo;
use weir_scenario::{Event, Flow, FlowId, NodeId, Scenario, covers, did_you_mean};

use crate::error::LabError;

/// The address of a forwarder, for all nodes or for one.
#[derive(Clone, Debug)]
pub struct Socket<E> {
    node: Option<String>,
    endpoint: E,
}

impl<E> Socket<E> {
    /// The forwarder of a node.
    pub fn new(node: &str, endpoint: E) -> Socket<E> {
        Socket { node: Some(node.to_owned()), endpoint }
    }

    /// The forwarder of all nodes.
    pub fn for_all(endpoint: E) -> Socket<E> {
        Socket { node: None, endpoint }
    }
}

impl<E: FromStr> FromStr for Socket<E> {
    type Err = E::Err;

    fn from_str(text: &str) -> Result<Socket<E>, E::Err> {
        let (node, uri) = match text.split_once('=') {
            Some((node, uri)) if !node.contains("://") => (Some(node.to_owned()), uri),
            _ => (None, text),
        };
        Ok(Socket { node, endpoint: uri.parse()? })
    }
}

impl<E: fmt::Display> fmt::Display for Socket<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.iter().try_for_each(|node| write!(f, "{node}="))?;
        write!(f, "{}", self.endpoint)
    }
}

/// A connection to a forwarder, with its applications.
#[derive(Debug)]
pub struct Connection<'a, E> {
    /// The applications' node.
    pub node: &'a str,
    /// The forwarder.
    pub endpoint: E,
    /// The produced flows, one per prefix.
    pub produced: Vec<&'a Flow>,
    /// The consumed flows.
    pub consumed: Vec<Consumed<'a>>,
    /// Changes of consumers after their start, in order of time; each with the index in `consumed`.
    pub script: Vec<(Time, usize, Change)>,
}

/// A flow that is consumed here.
#[derive(Debug)]
pub struct Consumed<'a> {
    /// Its index among all flows consumed here.
    pub place: usize,
    /// The scenario's flow.
    pub id: FlowId,
    /// The scenario's definition.
    pub flow: &'a Flow,
}

impl<'a, E> Connection<'a, E> {
    fn new(node: &'a str, endpoint: E) -> Connection<'a, E> {
        Connection { node, endpoint, produced: Vec::new(), consumed: Vec::new(), script: Vec::new() }
    }

    /// Returns whether a consumer may use this connection. A forwarder cannot distinguish two consumers of one prefix
    /// on one face, and sends no Interest back to the face from which it came.
    fn has_room_for(&self, flow: &Flow) -> bool {
        let is_consumed = self.consumed.iter().any(|other| other.flow.prefix == flow.prefix);
        let is_produced = self.produced.iter().any(|other| covers(&other.prefix, &flow.prefix));
        !is_consumed && !is_produced
    }

    fn is_used(&self) -> bool {
        !self.produced.is_empty() || !self.consumed.is_empty()
    }

    /// Changes of its consumers after their start.
    fn changes(&self, script: &[(Time, Change)]) -> Vec<(Time, usize, Change)> {
        let places: BTreeMap<FlowId, usize> =
            self.consumed.iter().enumerate().map(|(place, consumed)| (consumed.id, place)).collect();
        let own = |&(at, change): &(Time, Change)| match change {
            Change::Stop(flow) | Change::Source(flow, _) => Some((at, *places.get(&flow)?, change)),
            _ => None,
        };
        script.iter().filter_map(own).collect()
    }
}

/// Refuses random traffic, which only the simulator supports.
fn refuse_random(flow: &Flow) -> Result<(), LabError> {
    let keys = [
        ("arrivals", flow.requests.is_some()),
        ("activity", flow.activity.is_some()),
        ("source_jitter", flow.source_jitter > 0.0),
    ];
    match keys.iter().find(|(_, is_given)| *is_given) {
        Some((key, _)) => Err(LabError::Invalid(format!(
            "flow {} has `{key}`, which only the simulator supports: leave out the flow with --set flow.{}.count=0",
            flow.name, flow.name
        ))),
        None => Ok(()),
    }
}

/// A command as application, instead of Weir's consumers or producers.
#[derive(Clone, Debug)]
pub struct Command<'a> {
    /// The node.
    pub node: NodeId,
    /// The shell command.
    pub line: &'a str,
    /// The consumed flow, and its index among the flows consumed here.
    pub flow: Option<(FlowId, usize)>,
}

/// All applications of a scenario that run here.
#[derive(Debug)]
pub struct Plan<'a, E> {
    /// The nodes, in the scenario's order.
    pub nodes: Vec<&'a str>,
    /// Their connections.
    pub connections: Vec<Connection<'a, E>>,
    /// The flows that are consumed here.
    pub flows: Vec<FlowInfo>,
    /// The index of each of the scenario's flows among these.
    places: Vec<Option<usize>>,
    /// Parts of the scenario that do not happen here, a line each.
    pub not_done: Vec<String>,
}

impl<'a, E: Clone + fmt::Display> Plan<'a, E> {
    /// Creates the plan for the picked nodes, or for all nodes with applications. `default` gives the address of a
    /// forwarder if no socket is given.
    ///
    /// # Errors
    /// Returns an error if a node does not exist or has no applications, or sockets do not fit the nodes.
    pub fn new(
        experiment: &'a Experiment,
        picked: &[String],
        sockets: &[Socket<E>],
        default: impl FnOnce() -> Result<E, LabError>,
    ) -> Result<Plan<'a, E>, LabError> {
        let scenario = experiment.scenario();
        let nodes = nodes(scenario, picked)?;
        let endpoints = endpoints(scenario, &nodes, sockets, default)?;
        let mut plan = Plan {
            nodes: nodes.iter().map(|node| name(scenario, *node)).collect(),
            connections: Vec::new(),
            flows: Vec::new(),
            places: vec![None; scenario.flows.len()],
            not_done: not_done(scenario),
        };
        for (index, flow) in scenario.flows.iter().enumerate() {
            if nodes.contains(&flow.consumer) {
                refuse_random(flow)?;
                plan.places[index] = Some(plan.flows.len());
                plan.flows.push(experiment.flow_info(FlowId(index)));
            }
        }
        let script = experiment.script();
        for (node, endpoint) in nodes.iter().zip(endpoints) {
            plan.add_node(scenario, &script, *node, &endpoint);
        }
        Ok(plan)
    }

    /// Removes and returns the applications that are commands in the lab.
    pub fn take_commands(&mut self, experiment: &'a Experiment) -> Vec<Command<'a>> {
        let (scenario, script) = (experiment.scenario(), experiment.script());
        let at_nodes = scenario.nodes.iter().enumerate().filter_map(|(index, node)| {
            Some(Command { node: NodeId(index), line: node.command.as_deref()?, flow: None })
        });
        let of_flows = scenario.flows.iter().enumerate().filter_map(|(index, flow)| {
            let id = FlowId(index);
            let flow = (flow.command.as_deref()?, flow.consumer, self.places[index]?);
            Some(Command { node: flow.1, line: flow.0, flow: Some((id, flow.2)) })
        });
        let commands = at_nodes.chain(of_flows).collect();
        let has_command =
            |name: &str| scenario.nodes.iter().any(|node| node.name == name && node.command.is_some());
        for connection in &mut self.connections {
            if has_command(connection.node) {
                connection.produced.clear();
            }
            connection.consumed.retain(|consumed| consumed.flow.command.is_none());
            connection.script = connection.changes(&script);
        }
        self.connections.retain(Connection::is_used);
        commands
    }

    /// The index of a flow among the flows consumed here.
    pub fn place(&self, flow: FlowId) -> Option<usize> {
        self.places[flow.index()]
    }

    /// Number of prefixes produced here.
    pub fn produced(&self) -> usize {
        self.connections.iter().map(|connection| connection.produced.len()).sum()
    }

    fn add_node(&mut self, scenario: &'a Scenario, script: &[(Time, Change)], node: NodeId, endpoint: &E) {
        let mut connections = vec![Connection::new(name(scenario, node), endpoint.clone())];
        for flow in scenario.flows.iter().filter(|flow| flow.producers.contains(&node)) {
            // There is one application per prefix, however many consumers fetch it.
            if connections[0].produced.iter().all(|other| other.prefix != flow.prefix) {
                connections[0].produced.push(flow);
            }
        }
        let own = scenario.flows.iter().enumerate().filter(|(_, flow)| flow.consumer == node);
        for (index, flow) in own {
            let Some(place) = self.places[index] else { continue };
            let free = connections.iter().position(|connection| connection.has_room_for(flow));
            let free = free.unwrap_or_else(|| {
                connections.push(Connection::new(name(scenario, node), endpoint.clone()));
                connections.len() - 1
            });
            connections[free].consumed.push(Consumed { place, id: FlowId(index), flow });
        }
        for connection in &mut connections {
            connection.script = connection.changes(script);
        }
        self.connections.extend(connections.into_iter().filter(Connection::is_used));
    }
}

fn name(scenario: &Scenario, node: NodeId) -> &str {
    &scenario.nodes[node.index()].name
}

/// Returns whether flows begin or end at a node.
fn has_applications(scenario: &Scenario, node: NodeId) -> bool {
    scenario.flows.iter().any(|flow| flow.consumer == node || flow.producers.contains(&node))
}

fn nodes(scenario: &Scenario, picked: &[String]) -> Result<Vec<NodeId>, LabError> {
    let all = (0..scenario.nodes.len()).map(NodeId).filter(|node| has_applications(scenario, *node));
    let all: Vec<NodeId> = all.collect();
    for (at, node) in picked.iter().enumerate() {
        if picked[..at].contains(node) {
            return Err(LabError::Invalid(format!("--node {node} is given twice")));
        }
        among(scenario, &all, node, "--node")?;
    }
    if all.is_empty() {
        return Err(LabError::Invalid(format!("{} has no flows: there is nothing to run", scenario.name)));
    }
    let is_picked =
        |node: &NodeId| picked.is_empty() || picked.iter().any(|one| one == name(scenario, *node));
    Ok(all.into_iter().filter(is_picked).collect())
}

/// The node with this name among `nodes`.
fn among(scenario: &Scenario, nodes: &[NodeId], node: &str, option: &str) -> Result<NodeId, LabError> {
    let names = || nodes.iter().map(|node| name(scenario, *node));
    let why = match scenario.node(node) {
        Some(id) if nodes.contains(&id) => return Ok(id),
        Some(id) if has_applications(scenario, id) => format!("no application of {node} runs here"),
        Some(_) => format!("no flow begins or ends at {node}"),
        None => {
            format!("{} has no node {node}{}", scenario.name, did_you_mean(node, names()))
        }
    };
    let right = names().collect::<Vec<_>>().join(", ");
    Err(LabError::Invalid(format!("{option} {node}: {why}\n  = nodes with applications here: {right}")))
}

/// The forwarder of each node.
fn endpoints<E: Clone + fmt::Display>(
    scenario: &Scenario,
    nodes: &[NodeId],
    sockets: &[Socket<E>],
    default: impl FnOnce() -> Result<E, LabError>,
) -> Result<Vec<E>, LabError> {
    let mut of_all = None;
    let mut of_node: BTreeMap<NodeId, &E> = BTreeMap::new();
    for Socket { node, endpoint } in sockets {
        let twice = match node {
            None => of_all.replace(endpoint),
            Some(node) => {
                let id = among(scenario, nodes, node, "--socket")?;
                of_node.insert(id, endpoint)
            }
        };
        if let Some(other) = twice {
            let (whose, right) = match node {
                Some(node) => (format!("node {node}"), "a node has one forwarder"),
                None => ("all nodes".to_owned(), "give the node of each: --socket NODE=URI"),
            };
            return Err(LabError::Invalid(format!(
                "--socket names two forwarders for {whose}, {other} and {endpoint}\n  = {right}"
            )));
        }
    }
    let others = match of_all {
        Some(endpoint) => Some(endpoint.clone()),
        None if nodes.iter().all(|node| of_node.contains_key(node)) => None,
        None => Some(default()?),
    };
    let endpoint = |node| of_node.get(node).copied().or(others.as_ref()).cloned();
    Ok(nodes.iter().filter_map(endpoint).collect())
}

/// Events of the scenario that applications do not take part in, and caches that forwarders do not have.
fn not_done(scenario: &Scenario) -> Vec<String> {
    let link = |id: weir_scenario::LinkId| scenario.link_name(id);
    let line = |event: &weir_scenario::TimedEvent| {
        let what = match &event.what {
            Event::FlowSource { .. } => return None,
            Event::LinkRate { link: id, .. } => format!("the rate of link {} changes", link(*id)),
            Event::LinkDelay { link: id, .. } => format!("the delay of link {} changes", link(*id)),
            Event::LinkLoss { link: id, .. } => format!("the loss of link {} changes", link(*id)),
            Event::LinkLossBurst { link: id, .. } => format!("the losses of link {} change", link(*id)),
            Event::LinkJitter { link: id, .. } => format!("the jitter of link {} changes", link(*id)),
            Event::LinkDown { link: id } => format!("link {} fails", link(*id)),
            Event::LinkUp { link: id } => format!("link {} works again", link(*id)),
            Event::NodeDown { node } => format!("node {} fails", name(scenario, *node)),
            Event::NodeUp { node } => format!("node {} works again", name(scenario, *node)),
            Event::FlowProducers { flows } => {
                let prefixes: BTreeSet<&str> =
                    flows.iter().map(|(flow, _)| scenario.flows[flow.index()].prefix.as_str()).collect();
                let prefixes: Vec<&str> = prefixes.into_iter().collect();
                format!("the producers of {} move", prefixes.join(", "))
            }
            Event::NodeCacheRatio { node, .. } => {
                format!("the hit ratio of the cache of {} changes", name(scenario, *node))
            }
        };
        Some(format!("event {} does not happen here: at {} {what}", event.name, event.at))
    };
    let simulates = |node: &&weir_scenario::Node| node.cache_ratio > 0.0;
    let caches = scenario.nodes.iter().filter(simulates);
    let cache =
        |node: &weir_scenario::Node| format!("the simulated cache of {} does not exist here", node.name);
    let shares = scenario.nodes.iter().filter(|node| node.share_by_face);
    let share = |node: &weir_scenario::Node| {
        format!(
            "the forwarder of {} shares its links as its own file says: `share_by` has no effect here",
            node.name
        )
    };
    caches.map(cache).chain(shares.map(share)).chain(scenario.events.iter().filter_map(line)).collect()
}
