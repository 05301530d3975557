//! `[routing]` and `[[route]]`: the next hops of each node for each prefix.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use weir_document::{DocumentError, Item, Origin, Table, Value, list};

use super::flows::MAX_FLOWS;
use super::nodes::Network;
use super::{Loader, Result};
use crate::expand::zip;
use crate::model::{DirectedLink, Flow, Link, NextHop, NodeId, Route, Routing, RoutingMetric, RoutingPolicy};
use crate::names;
use crate::read::ScenarioItem;
use crate::routing::{Demand, Given, GivenHops, Graph, lookup, routes};

/// The largest number of routes in all `[[route]]` tables.
const MAX_ROUTES: usize = 20 * MAX_FLOWS;

/// A prefix and its flows.
struct Prefix<'f> {
    name: &'f str,
    /// The numbers of the flows that fetch it.
    flows: Vec<usize>,
}

/// Returns the prefixes, in the order in which flows first fetch them.
fn prefixes<'f>(flows: &[&'f Flow]) -> Vec<Prefix<'f>> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut prefixes: Vec<Prefix<'_>> = Vec::new();
    for (i, flow) in flows.iter().enumerate() {
        let number = *numbers.entry(&flow.prefix).or_insert(prefixes.len());
        if number == prefixes.len() {
            prefixes.push(Prefix { name: &flow.prefix, flows: Vec::new() });
        }
        prefixes[number].flows.push(i);
    }
    prefixes
}

/// The next hops of some nodes, as given by a hop `R6->R7|R5` of a `[[route]]`, and its position.
struct Hop {
    node: NodeId,
    next_hops: Vec<(NodeId, DirectedLink)>,
    at: Origin,
}

impl Loader<'_> {
    /// Returns the given routes, then those that the policy makes for other prefixes; and how it makes them.
    pub(super) fn routes(&self, network: &Network, links: &[Link], flows: &[Flow]) -> (Vec<Route>, Routing) {
        let faults = self.faults;
        let (policy, mut routing) = self.routing();
        // Consumers may be drawn from several nodes. Each of them needs routes.
        let drawn = flows
            .iter()
            .flat_map(|flow| flow.drawn_from.iter().map(|&consumer| Flow { consumer, ..flow.clone() }));
        let drawn: Vec<Flow> = drawn.collect();
        let flows: Vec<&Flow> = flows.iter().chain(&drawn).collect();
        let graph = Graph::new(network.names.len(), links, routing.metric, |_| true);
        let given = self.given(network);
        // A wrong route leaves a gap, which is not an error of the flows.
        if faults.has_gaps() {
            return (Vec::new(), routing);
        }
        routing.given = given.keys().cloned().collect();
        let prefixes = prefixes(&flows);
        let mut demands = Vec::new();
        // The prefix of each demand.
        let mut searched = Vec::new();
        for prefix in &prefixes {
            let producers = prefix.flows.iter().flat_map(|&i| flows[i].producers.iter().copied());
            let producers: BTreeSet<NodeId> = producers.collect();
            let producers: Vec<NodeId> = producers.into_iter().collect();
            if given.keys().any(|g| names::covers(g, prefix.name)) {
                for &i in &prefix.flows {
                    faults.or(self.check_given(network, &given, flows[i], &producers), ());
                }
            } else if policy.is_some() {
                let consumers = prefix.flows.iter().map(|&i| flows[i].consumer).collect();
                demands.push(Demand { name: prefix.name, producers, consumers, others: Vec::new() });
                searched.push(prefix);
            } else {
                faults.push(self.not_given(flows[prefix.flows[0]], &given));
            }
        }
        let made = routes(&graph, routing.policy, &demands, |demand, consumer| {
            let flow = flows[searched[demand].flows[consumer]];
            faults.push(self.unreachable(network, &graph, flow));
        });
        let mut routes = given_routes(&given);
        routes.extend(made.into_iter().flatten());
        (routes, routing)
    }

    /// Reads `[routing]`. Returns no policy if only given routes are wanted.
    fn routing(&self) -> (Option<RoutingPolicy>, Routing) {
        let faults = self.faults;
        let empty = Table::default();
        let value = self.root.value("routing");
        let item = Item {
            doc: self.doc,
            section: "routing",
            path: "routing",
            table: value.and_then(Value::as_table).unwrap_or(&empty),
            origin: value.map_or(Origin::Default, |v| v.origin),
        };
        faults.keys(&item);
        let k = faults.or(item.whole("k"), 1) as usize;
        let policy = match faults.or(item.choice("policy"), "shortest-path") {
            "shortest-path" => Some(RoutingPolicy::ShortestPath),
            "equal-cost" => Some(RoutingPolicy::EqualCost),
            "multipath" => Some(RoutingPolicy::Multipath),
            "k-shortest" => Some(RoutingPolicy::KShortest(k)),
            "k-disjoint" => Some(RoutingPolicy::KDisjoint(k)),
            _ => None,
        };
        let metric = match faults.or(item.choice("metric"), "") {
            "delay" => RoutingMetric::Delay,
            "cost" => RoutingMetric::Cost,
            _ => RoutingMetric::Hops,
        };
        let converge = faults.or(item.opt_span("converge"), None);
        if let Some(value) = item.given("converge").filter(|_| policy.is_none()) {
            let help = "choose a policy that computes routes, such as \"shortest-path\"";
            faults.push(item.error("converge", value, "given routes do not change", help));
        }
        let routing = Routing {
            policy: policy.unwrap_or(RoutingPolicy::ShortestPath),
            metric,
            converge: converge.filter(|_| policy.is_some()),
            given: Vec::new(),
        };
        (policy, routing)
    }

    /// Reads the tables `[[route]]`.
    fn given(&self, network: &Network) -> Given {
        let mut routes = 0;
        let mut given = Given::new();
        for listed in &self.all("route") {
            let item = self.item(listed);
            self.faults.keys(&item);
            let hops = self.faults.or(item.texts("hops"), Vec::new());
            let mut all = Vec::new();
            for (text, at) in hops {
                self.faults.keep(add_hops(&item, network, "hops", &text, at, &mut all));
            }
            self.faults.keep(self.add_route(&item, network, &all, &mut routes, &mut given));
        }
        given
    }

    /// Adds one `[[route]]` with these hops.
    fn add_route(
        &self,
        item: &Item<'_>,
        network: &Network,
        hops: &[Hop],
        routes: &mut usize,
        given: &mut Given,
    ) -> Result<()> {
        let singles = self.singles(item, network, hops)?;
        for (text, at) in item.texts("prefix")? {
            for prefix in item.expand("prefix", &text, at, None)? {
                item.check_prefix("prefix", &prefix, at, true)?;
                *routes += hops.len();
                if *routes > MAX_ROUTES {
                    return Err(item.error_here("too many routes", ""));
                }
                let nodes = given.entry(prefix.clone()).or_default();
                for Hop { node, next_hops, at } in hops {
                    let single = singles.get(node).copied();
                    let given = GivenHops { next_hops: next_hops.clone(), single };
                    if nodes.insert(*node, given).is_some() {
                        let name = network.name(*node);
                        let message = format!("{name} already has next hops for {prefix}");
                        let help = "write all of them in one route: \"R6->R7|R5\"";
                        return Err(self.doc.error(*at, item.path_of("hops"), message, help));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the next hops of `single`, by their nodes.
    fn singles(
        &self,
        item: &Item<'_>,
        network: &Network,
        hops: &[Hop],
    ) -> Result<BTreeMap<NodeId, DirectedLink>> {
        let mut singles = Vec::new();
        if item.given("single").is_some() {
            for (text, at) in item.texts("single")? {
                add_hops(item, network, "single", &text, at, &mut singles)?;
            }
        }
        let mut of_nodes = BTreeMap::new();
        for Hop { node, next_hops, at } in &singles {
            let name = network.name(*node);
            let wrong = |message: String, help: String| {
                Err(self.doc.error(*at, item.path_of("single"), message, help))
            };
            let known = hops.iter().find(|hop| hop.node == *node).map_or(&[][..], |hop| &hop.next_hops);
            let &[single] = &next_hops[..] else {
                return wrong(format!("{name} has more than one single next hop"), String::new());
            };
            if !known.contains(&single) {
                let help =
                    format!("next hops of {name}: {}", list(known.iter().map(|hop| network.name(hop.0))));
                return wrong(
                    format!("{} is not a next hop of {name} in `hops`", network.name(single.0)),
                    help,
                );
            }
            if of_nodes.insert(*node, single.1).is_some() {
                return wrong(format!("{name} has its single next hop already"), String::new());
            }
        }
        Ok(of_nodes)
    }

    /// Checks that given routes lead from the consumer to a producer, without a dead end.
    fn check_given(&self, network: &Network, given: &Given, flow: &Flow, producers: &[NodeId]) -> Result<()> {
        let mut seen = vec![false; network.names.len()];
        let mut to_visit = vec![(flow.consumer, flow.consumer)];
        seen[flow.consumer.index()] = true;
        let mut reached = false;
        while let Some((node, before)) = to_visit.pop() {
            if producers.contains(&node) {
                reached = true;
                continue;
            }
            let Some(next_hops) = lookup(given, &flow.prefix, node) else {
                return Err(self.dead_end(network, flow, node, before));
            };
            for &(next, _) in next_hops {
                if !mem::replace(&mut seen[next.index()], true) {
                    to_visit.push((next, node));
                }
            }
        }
        if reached {
            return Ok(());
        }
        let message = format!("{}: the routes form a loop", cannot_reach(network, flow));
        Err(self.flow_error(flow, message, String::new()))
    }

    /// Returns the error that given routes lead a flow's Interests from `before` to `node` and no further.
    fn dead_end(&self, network: &Network, flow: &Flow, node: NodeId, before: NodeId) -> DocumentError {
        let (name, prefix) = (network.name(node), &flow.prefix);
        let message = if node == flow.consumer {
            format!("the consumer {name} has no route for {prefix}")
        } else {
            let before = network.name(before);
            format!(
                "the routes for {prefix} lead from {before} to {name}, which has no route for it and is not a producer"
            )
        };
        let producers = list(flow.producers.iter().map(|&p| network.name(p)));
        let help = format!("producers: {producers}; add a hop \"{name}->…\" to the [[route]]");
        self.flow_error(flow, message, help)
    }

    fn not_given(&self, flow: &Flow, given: &Given) -> DocumentError {
        let message =
            format!("no [[route]] covers {}, and the policy of [routing] is \"given\"", flow.prefix);
        let help = format!("prefixes with routes: {}", list(given.keys().map(String::as_str)));
        self.flow_error(flow, message, help)
    }

    fn unreachable(&self, network: &Network, graph: &Graph, flow: &Flow) -> DocumentError {
        let near = graph.reachable(flow.consumer);
        let near = near.iter().filter(|&&n| n != flow.consumer.index()).map(|&n| network.name(NodeId(n)));
        let message = format!("{}: no links join them", cannot_reach(network, flow));
        let consumer = network.name(flow.consumer);
        let help = format!("nodes that {consumer} reaches: {}; add a [[link]]", list(near));
        self.flow_error(flow, message, help)
    }

    /// Returns an error at the group of a flow.
    fn flow_error(&self, flow: &Flow, message: String, help: String) -> DocumentError {
        let path = format!("flow.{}", flow.name);
        let all = self.all("flow");
        let found = all.iter().find(|listed| listed.path == path);
        let at = found.map_or(Origin::Default, |listed| self.item(listed).origin_of("producer"));
        self.doc.error(at, path, message, help)
    }
}

fn cannot_reach(network: &Network, flow: &Flow) -> String {
    let producers: Vec<&str> = flow.producers.iter().map(|&p| network.name(p)).collect();
    let consumer = network.name(flow.consumer);
    format!("{consumer} cannot reach {} for {}", producers.join(" or "), flow.prefix)
}

/// Adds the hops of a text such as `R6->R7|R5`: one for each node before the arrow.
fn add_hops(
    item: &Item<'_>,
    network: &Network,
    key: &str,
    text: &str,
    at: Origin,
    hops: &mut Vec<Hop>,
) -> Result<()> {
    let wrong = |m: String| item.doc.error(at, item.path_of(key), m, "");
    let Some((from, to)) = text.split_once("->") else {
        return Err(wrong(format!("`{text}` is not a node and its next hops, such as \"R6->R7|R5\"")));
    };
    let from = item.expand(key, names::unquoted(from), at, None)?;
    let mut next_hops = vec![Vec::new(); from.len()];
    for to in to.split('|') {
        let (to, name) = names::link_and_name(to);
        let to = item.expand(key, names::unquoted(to), at, None)?;
        let pairs: Vec<_> = zip(&from, &to).map_err(wrong)?.collect();
        if pairs.len() != from.len() {
            return Err(wrong(format!("`{text}` has {} nodes, but {} next hops", from.len(), pairs.len())));
        }
        for (i, (a, b)) in pairs.into_iter().enumerate() {
            let (a, b) = (network.node(item, key, a, at)?, network.node(item, key, b, at)?);
            next_hops[i].push((b, network.link(item, key, (a, b, name), at)?));
        }
    }
    for (node, next_hops) in from.iter().zip(next_hops) {
        hops.push(Hop { node: network.node(item, key, node, at)?, next_hops, at });
    }
    Ok(())
}

/// Returns the given routes. The next hops of a node are in the given order.
fn given_routes(given: &Given) -> Vec<Route> {
    let mut routes = Vec::new();
    for (prefix, nodes) in given {
        let prefix: Arc<str> = prefix.as_str().into();
        for (&node, GivenHops { next_hops, single }) in nodes {
            let hop = |(i, &(node, link)): (usize, &(NodeId, DirectedLink))| NextHop {
                node,
                link,
                cost: i as u64 + 1,
            };
            let next_hops = next_hops.iter().enumerate().map(hop).collect();
            routes.push(Route { node, prefix: Arc::clone(&prefix), next_hops, single: *single });
        }
    }
    routes
}
