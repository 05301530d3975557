//! Computes the FIB entries of prefixes by the policy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, thread};

use super::paths::{Path, Paths};
use super::two_sided::TwoSided;
use super::{FAR, Graph, Search, Way, directed};
use crate::model::{NextHop, NodeId, Route, RoutingPolicy};

/// A prefix for which Interests are forwarded.
pub struct Demand<'a> {
    /// Its URI.
    pub name: &'a str,
    /// The nodes with a producer, in order, each once.
    pub producers: Vec<NodeId>,
    /// The nodes with a consumer.
    pub consumers: Vec<NodeId>,
    /// Further nodes that need an entry, because Interests may be on their way to them.
    pub others: Vec<NodeId>,
}

/// For at most this number of nodes, paths are searched from both ends. For more, one search from the
/// producers serves all.
const FEW: usize = 8;

/// Threads are used if the product of producer sets and nodes exceeds this; else they cost more than they
/// save.
const FEW_FOR_THREADS: usize = 1 << 22;

/// The entries of a prefix, and the indices of its consumers without a path.
type Made = (Vec<Route>, Vec<usize>);

/// Computes the entries of each prefix, in the order of the nodes, for all nodes that its Interests can
/// reach. Calls `unreachable` for consumers without a path, with the indices of the prefix and the consumer.
pub fn routes(
    graph: &Graph,
    policy: RoutingPolicy,
    demands: &[Demand<'_>],
    mut unreachable: impl FnMut(usize, usize),
) -> Vec<Vec<Route>> {
    // There is one search for each set of producers.
    let mut by_producers: BTreeMap<&[NodeId], Vec<usize>> = BTreeMap::new();
    for (number, demand) in demands.iter().enumerate() {
        by_producers.entry(&demand.producers).or_default().push(number);
    }
    let sets: Vec<(&[NodeId], Vec<usize>)> = by_producers.into_iter().collect();
    // Each thread takes the next set. The entries of a set depend on nothing else.
    let next = AtomicUsize::new(0);
    let work = || {
        let mut searches = Searches::new(graph, policy, demands);
        let mut made: Vec<(usize, Made)> = Vec::new();
        while let Some((producers, numbers)) = sets.get(next.fetch_add(1, Ordering::Relaxed)) {
            searches.add(producers, numbers, &mut made);
        }
        made
    };
    let threads = match sets.len().saturating_mul(graph.nodes()) {
        0..FEW_FOR_THREADS => 1,
        _ => thread::available_parallelism().map_or(1, usize::from),
    };
    let mut all: Vec<Made> = vec![Made::default(); demands.len()];
    thread::scope(|scope| {
        // If the system has no more threads, the existing ones do the work.
        let others: Vec<_> =
            (1..threads).filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
        let own = work();
        let others = others.into_iter().flat_map(|thread| thread.join().expect("no search panics"));
        own.into_iter().chain(others).for_each(|(number, made)| all[number] = made);
    });
    for (_, numbers) in &sets {
        for &number in numbers {
            all[number].1.iter().for_each(|&place| unreachable(number, place));
        }
    }
    all.into_iter().map(|(routes, _)| routes).collect()
}

/// The search state of a thread.
struct Searches<'g> {
    graph: &'g Graph,
    policy: RoutingPolicy,
    demands: &'g [Demand<'g>],
    whole: Search<'g>,
    two_sided: TwoSided<'g>,
    /// For each node, the last prefix, from 1, whose Interests can reach it.
    seen: Vec<usize>,
}

impl<'g> Searches<'g> {
    fn new(graph: &'g Graph, policy: RoutingPolicy, demands: &'g [Demand<'g>]) -> Searches<'g> {
        let (whole, two_sided) = (Search::new(graph), TwoSided::new(graph));
        Searches { graph, policy, demands, whole, two_sided, seen: vec![0; graph.nodes()] }
    }

    /// Adds the entries of some prefixes with the same producers.
    fn add(&mut self, producers: &[NodeId], numbers: &[usize], made: &mut Vec<(usize, Made)>) {
        let Searches { graph, policy, demands, .. } = *self;
        let from = |number: &usize| {
            let demand = &demands[*number];
            demand.consumers.iter().chain(&demand.others).map(|node| node.index())
        };
        let wanted: Vec<usize> = numbers.iter().flat_map(from).collect();
        let many = matches!(policy, RoutingPolicy::KShortest(_) | RoutingPolicy::KDisjoint(_));
        // Further next hops need the distances of nodes off the shortest paths.
        let is_shortest = matches!(policy, RoutingPolicy::ShortestPath | RoutingPolicy::EqualCost);
        let distance = match is_shortest && wanted.len() <= FEW {
            true => self.two_sided.distances(producers, wanted.into_iter()),
            false => self.whole.distances(producers, (!many).then_some(&wanted[..])),
        };
        let mut paths = many.then(|| Paths::new(graph, distance));
        for &number in numbers {
            let demand = &demands[number];
            let lost = demand.consumers.iter().enumerate().filter(|(_, node)| distance[node.index()] == FAR);
            let lost = lost.map(|(place, _)| place).collect();
            let hops = match &mut paths {
                Some(paths) => by_paths(graph, paths, distance, policy, demand),
                None => {
                    let from = from(&number).filter(|node| distance[*node] != FAR);
                    by_distance(graph, distance, policy, from, |node| {
                        mem::replace(&mut self.seen[node], number + 1) != number + 1
                    })
                }
            };
            let name: Arc<str> = demand.name.into();
            let route = |(node, next_hops)| Route {
                node: NodeId(node),
                prefix: Arc::clone(&name),
                next_hops,
                single: None,
            };
            made.push((number, (hops.into_iter().map(route).collect(), lost)));
        }
    }
}

/// Returns the next hops of the nodes that Interests can reach, by distance alone.
fn by_distance(
    graph: &Graph,
    distance: &[u64],
    policy: RoutingPolicy,
    from: impl Iterator<Item = usize>,
    mut first_visit: impl FnMut(usize) -> bool,
) -> Vec<(usize, Vec<NextHop>)> {
    let mut made = Vec::new();
    let mut to_visit: Vec<usize> = from.filter(|&node| first_visit(node)).collect();
    while let Some(node) = to_visit.pop() {
        let next_hops = graph.next_hops(node, distance, policy);
        to_visit.extend(next_hops.iter().map(|hop| hop.node.index()).filter(|&n| first_visit(n)));
        if !next_hops.is_empty() {
            made.push((node, next_hops));
        }
    }
    made.sort_by_key(|(node, _)| *node);
    made
}

/// Returns the next hops from the paths of all consumers. The first paths of all consumers come before the
/// second ones, and so on. A path is left out if, with those before, it would lead an Interest back to a
/// node.
fn by_paths(
    graph: &Graph,
    paths: &mut Paths<'_>,
    distance: &[u64],
    policy: RoutingPolicy,
    demand: &Demand<'_>,
) -> Vec<(usize, Vec<NextHop>)> {
    let mut consumers: Vec<usize> = demand.consumers.iter().map(|node| node.index()).collect();
    consumers.sort_unstable();
    consumers.dedup();
    consumers.retain(|&node| distance[node] != FAR && distance[node] != 0);
    let of_each: Vec<Vec<Path>> = consumers
        .iter()
        .map(|&from| match policy {
            RoutingPolicy::KDisjoint(k) => paths.k_disjoint(from, k),
            RoutingPolicy::KShortest(k) => paths.k_shortest(from, k),
            _ => vec![paths.shortest(from, |_| false)],
        })
        .collect();
    let mut hops = Hops { graph, distance, of: BTreeMap::new() };
    for rank in 0..of_each.iter().map(Vec::len).max().unwrap_or(0) {
        for (&from, own) in consumers.iter().zip(&of_each) {
            if let Some(path) = own.get(rank) {
                hops.add(from, path);
            }
        }
    }
    // Consumers whose paths were all left out, and nodes on no path, follow a path until they meet a node
    // with next hops.
    let others = demand.others.iter().map(|node| node.index());
    for from in consumers.into_iter().chain(others).filter(|&node| distance[node] != FAR) {
        if !hops.of.contains_key(&from) {
            let path = paths.shortest(from, |node| hops.of.contains_key(&node));
            hops.add(from, &path);
        }
    }
    hops.with_costs()
}

/// The next hops of nodes, without a loop.
struct Hops<'g> {
    graph: &'g Graph,
    /// The distances; 0 at a producer.
    distance: &'g [u64],
    of: BTreeMap<usize, Vec<Way>>,
}

impl Hops<'_> {
    /// Adds a path, unless it makes a loop.
    fn add(&mut self, from: usize, path: &[Way]) {
        let nodes = self.graph.nodes_of(from, path);
        let place: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect();
        // A loop would lead from a node of the path, by existing hops, to an earlier node of the path.
        let leads_back = |after: usize| {
            let mut to_visit = vec![nodes[after]];
            let mut seen = std::collections::BTreeSet::new();
            while let Some(node) = to_visit.pop() {
                if place.get(&node).is_some_and(|&at| at < after) {
                    return true;
                }
                let next = self.of.get(&node).into_iter().flatten().map(|way| self.graph.head(*way));
                to_visit.extend(next.filter(|node| seen.insert(*node)));
            }
            false
        };
        if (1..nodes.len()).any(leads_back) {
            return;
        }
        for (&node, &way) in nodes.iter().zip(path) {
            let ways = self.of.entry(node).or_default();
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
    }

    /// Returns the next hops with the cost of the cheapest path by each, cheapest first.
    fn with_costs(self) -> Vec<(usize, Vec<NextHop>)> {
        let mut cost: BTreeMap<usize, u64> = BTreeMap::new();
        for &start in self.of.keys() {
            // The cost of a node is known after those of all nodes to which it leads.
            let mut stack = vec![start];
            while let Some(&node) = stack.last() {
                let ways = || self.of.get(&node).into_iter().flatten();
                let open = ways().map(|way| self.graph.head(*way)).find(|next| !cost.contains_key(next));
                if self.distance[node] == 0 {
                    cost.insert(node, 0);
                    stack.pop();
                } else if let Some(open) = open {
                    stack.push(open);
                } else {
                    let by = |way: &Way| self.graph.cost(*way).saturating_add(cost[&self.graph.head(*way)]);
                    let least = ways().map(by).min().unwrap_or(FAR);
                    cost.insert(node, least);
                    stack.pop();
                }
            }
        }
        let hop = |way: &Way| {
            let node = self.graph.head(*way);
            let cost = self.graph.cost(*way).saturating_add(cost[&node]);
            NextHop { node: NodeId(node), link: directed(*way), cost }
        };
        let sorted = |(node, ways): (&usize, &Vec<Way>)| {
            let mut hops: Vec<NextHop> = ways.iter().map(hop).collect();
            hops.sort_by_key(|hop| (hop.cost, hop.node, hop.link));
            (*node, hops)
        };
        self.of.iter().map(sorted).collect()
    }
}
