//! Next hops that follow failures: the network as routing knows it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Demand, Graph, routes};
use weir_core::units::Span;

use crate::model::{Event, NodeId, Route, Scenario};
use crate::names::covers;

impl Scenario {
    /// Iterates over the times at which routing notices events, each with the event's number; none after the
    /// run's end, and none if next hops never change.
    pub fn learned(&self) -> impl Iterator<Item = (Span, usize)> + '_ {
        let converge = self.routing.converge.into_iter();
        let events = converge.flat_map(|converge| {
            self.events.iter().enumerate().map(move |(number, event)| (event.at + converge, number))
        });
        events.filter(|&(at, number)| at < self.duration && changes_routes(&self.events[number].what))
    }

    /// Returns the first time at which next hops may change.
    pub fn routes_change_at(&self) -> Option<Span> {
        self.learned().next().map(|(at, _)| at)
    }
}

/// Returns whether an event may change next hops.
fn changes_routes(event: &Event) -> bool {
    use Event::{FlowProducers, LinkDown, LinkUp, NodeDown, NodeUp};
    matches!(event, LinkDown { .. } | LinkUp { .. } | NodeDown { .. } | NodeUp { .. } | FlowProducers { .. })
}

/// Routing's view of a network: the working links and nodes, and the places of the producers.
#[derive(Clone, Debug)]
pub struct NetworkView {
    links: Vec<bool>,
    nodes: Vec<bool>,
    /// The producers of each flow.
    producers: Vec<Vec<NodeId>>,
}

impl NetworkView {
    /// Returns the view at the start of a run.
    pub fn new(scenario: &Scenario) -> NetworkView {
        NetworkView {
            links: vec![true; scenario.links.len()],
            nodes: vec![true; scenario.nodes.len()],
            producers: scenario.flows.iter().map(|flow| flow.producers.clone()).collect(),
        }
    }

    /// Applies an event to the view.
    pub fn learn(&mut self, event: &Event) {
        match event {
            Event::LinkDown { link } => self.links[link.index()] = false,
            Event::LinkUp { link } => self.links[link.index()] = true,
            Event::NodeDown { node } => self.nodes[node.index()] = false,
            Event::NodeUp { node } => self.nodes[node.index()] = true,
            Event::FlowProducers { flows } => {
                for (flow, producers) in flows {
                    self.producers[flow.index()].clone_from(producers);
                }
            }
            _ => {}
        }
    }

    /// Returns the FIB entries in this state, without those of given routes, in the order of prefixes and
    /// nodes. Nodes that have an entry in `now` keep one while a producer can be reached, because Interests
    /// may be on their way to them.
    pub fn routes(&self, scenario: &Scenario, now: &[Route]) -> Vec<Route> {
        let links = &scenario.links;
        let works = |link: usize| {
            let ends = [links[link].a, links[link].b];
            self.links[link] && ends.iter().all(|node| self.nodes[node.index()])
        };
        let routing = &scenario.routing;
        let graph = Graph::new(scenario.nodes.len(), links, routing.metric, works);
        let mut others: BTreeMap<&str, BTreeSet<NodeId>> = BTreeMap::new();
        for route in now {
            others.entry(&route.prefix).or_default().insert(route.node);
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut demands: Vec<Demand<'_>> = Vec::new();
        for (flow, producers) in scenario.flows.iter().zip(&self.producers) {
            if routing.given.iter().any(|given| covers(given, &flow.prefix)) {
                continue;
            }
            let number = *numbers.entry(&flow.prefix).or_insert(demands.len());
            if number == demands.len() {
                let others = others.remove(flow.prefix.as_str()).unwrap_or_default();
                demands.push(Demand {
                    name: &flow.prefix,
                    producers: Vec::new(),
                    consumers: Vec::new(),
                    others: others.into_iter().collect(),
                });
            }
            demands[number].producers.extend(producers);
            demands[number].consumers.push(flow.consumer);
            // Interests may also come to the earlier producers.
            demands[number].others.extend(&flow.producers);
        }
        for demand in &mut demands {
            demand.producers.sort_unstable();
            demand.producers.dedup();
        }
        routes(&graph, routing.policy, &demands, |_, _| {}).into_iter().flatten().collect()
    }
}
