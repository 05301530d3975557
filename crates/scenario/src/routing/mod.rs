//! The FIB: shortest paths for each set of producers, or given routes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::model::{DirectedLink, Link, LinkId, NextHop, NodeId, RoutingMetric, RoutingPolicy};

mod fib;
mod fibs;
mod paths;
mod two_sided;
mod view;

pub use fib::{Demand, routes};
pub use fibs::{Fibs, FibsOfName};
pub use view::NetworkView;

/// The distance of a node that has no path to a target.
pub const FAR: u64 = u64::MAX;

/// A direction of a link: twice the link's number, plus the direction.
pub type Way = u32;

/// Returns the direction of a link that a way denotes.
pub fn directed(way: Way) -> DirectedLink {
    DirectedLink { link: LinkId((way / 2) as usize), direction: (way % 2) as usize }
}

/// A neighbour of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Neighbour {
    /// The number of the neighbour.
    pub node: u32,
    /// The way from the node to the neighbour.
    pub way: Way,
    /// The cost of an Interest from the neighbour to the node, because searches start at producers.
    towards: u64,
}

/// The graph: for each node its neighbours, in order, with the costs of the links.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The neighbours of all nodes, node by node.
    neighbours: Vec<Neighbour>,
    /// The start of each node's neighbours; one more at the end.
    begins: Vec<u32>,
    /// The neighbours without costs, which is all that is read if all links have the same cost.
    ends: Vec<u32>,
    /// The cost of an Interest on each way, and the node to which the way leads.
    costs: Vec<u64>,
    heads: Vec<u32>,
    /// Whether all links cost the same.
    even: bool,
    /// The exponent of the largest power of two that does not exceed any cost.
    width: u32,
    /// The highest cost.
    highest: u64,
}

impl Graph {
    /// Builds the graph of the links that are `usable`. The cost of a link by the metric is 1, its round-trip
    /// delay in nanoseconds (at least 1), or its cost in thousandths.
    pub fn new(nodes: usize, links: &[Link], metric: RoutingMetric, usable: impl Fn(usize) -> bool) -> Graph {
        let mut of = vec![Vec::new(); nodes];
        let (mut costs, mut heads) = (Vec::new(), Vec::new());
        for (index, link) in links.iter().enumerate() {
            let round_trip = link.delay[0] + link.delay[1];
            let cost = match metric {
                RoutingMetric::Hops => [1; 2],
                RoutingMetric::Delay => [round_trip.as_nanos().clamp(1, FAR >> 24); 2],
                RoutingMetric::Cost => link.cost,
            };
            costs.extend(cost);
            heads.extend([link.b.index() as u32, link.a.index() as u32]);
            if usable(index) {
                let way = 2 * index as u32;
                let (a, b) = (link.a.index(), link.b.index());
                of[a].push(Neighbour { node: b as u32, way, towards: cost[1] });
                of[b].push(Neighbour { node: a as u32, way: way + 1, towards: cost[0] });
            }
        }
        let mut neighbours = Vec::with_capacity(2 * links.len());
        let mut begins = vec![0];
        for mut own in of {
            own.sort_unstable();
            neighbours.extend(own);
            begins.push(neighbours.len() as u32);
        }
        let ends = neighbours.iter().map(|n: &Neighbour| n.node).collect();
        let used = || neighbours.iter().map(|n| n.towards);
        let (lowest, highest) = (used().min().unwrap_or(1), used().max().unwrap_or(1));
        let even = metric == RoutingMetric::Hops;
        Graph { begins, ends, costs, heads, even, width: lowest.ilog2(), highest, neighbours }
    }

    /// Returns the number of nodes.
    fn nodes(&self) -> usize {
        self.begins.len() - 1
    }

    /// Returns the neighbours of a node.
    pub fn neighbours(&self, node: usize) -> &[Neighbour] {
        &self.neighbours[self.begins[node] as usize..self.begins[node + 1] as usize]
    }

    /// Returns the cost of an Interest on a way.
    pub fn cost(&self, way: Way) -> u64 {
        self.costs[way as usize]
    }

    /// Returns the node to which a way leads.
    pub fn head(&self, way: Way) -> usize {
        self.heads[way as usize] as usize
    }

    /// Returns the nodes of a path that starts at a node.
    pub fn nodes_of(&self, from: usize, path: &[Way]) -> Vec<usize> {
        core::iter::once(from).chain(path.iter().map(|way| self.head(*way))).collect()
    }

    /// Returns the next hops of a node with the cost of the path by each, cheapest first. Each is nearer to
    /// the target than the node, so there is no loop.
    pub fn next_hops(&self, node: usize, distance: &[u64], policy: RoutingPolicy) -> Vec<NextHop> {
        let own = distance[node];
        if own == 0 || own == FAR {
            return Vec::new();
        }
        let nearer = self.neighbours(node).iter().filter(|n| distance[n.node as usize] < own);
        let mut hops: Vec<NextHop> = nearer
            .map(|n| NextHop {
                node: NodeId(n.node as usize),
                link: directed(n.way),
                cost: distance[n.node as usize].saturating_add(self.cost(n.way)),
            })
            .collect();
        hops.sort_by_key(|hop| (hop.cost, hop.node, hop.link));
        match policy {
            RoutingPolicy::EqualCost => hops.retain(|h| h.cost == own),
            RoutingPolicy::ShortestPath => hops.truncate(1),
            _ => {}
        }
        hops
    }

    /// Returns the nodes that can be reached from one, in order.
    pub fn reachable(&self, from: NodeId) -> Vec<usize> {
        let mut search = Search::new(self);
        let distance = search.distances(&[from], None);
        (0..distance.len()).filter(|&n| distance[n] != FAR).collect()
    }
}

/// Searches shortest paths in a graph. Successive searches use the same memory.
#[derive(Debug)]
pub struct Search<'g> {
    graph: &'g Graph,
    distance: Vec<u64>,
    /// The nodes with a distance.
    touched: Vec<u32>,
    /// The nodes whose distance is requested and not yet known.
    wanted: Vec<bool>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// The nodes by distance in steps of the graph's width, in a ring.
    buckets: Vec<Vec<(u64, u32)>>,
}

/// With more buckets than this, a heap is faster.
const MAX_BUCKETS: u64 = 1 << 12;

impl<'g> Search<'g> {
    pub fn new(graph: &'g Graph) -> Search<'g> {
        let n = graph.nodes();
        Search {
            graph,
            distance: vec![FAR; n],
            touched: Vec::new(),
            wanted: vec![false; n],
            heap: BinaryHeap::new(),
            buckets: Vec::new(),
        }
    }

    /// Returns the distance of every node to the nearest of `targets`. With `of`, only the distances of these
    /// nodes, and of all that are nearer than the farthest of them, are exact; others may be too large.
    pub fn distances(&mut self, targets: &[NodeId], of: Option<&[usize]>) -> &[u64] {
        for node in self.touched.drain(..) {
            self.distance[node as usize] = FAR;
        }
        let mut left = 0;
        for &node in of.unwrap_or(&[]) {
            left += usize::from(!core::mem::replace(&mut self.wanted[node], true));
        }
        for target in targets {
            if self.distance[target.index()] == FAR {
                self.distance[target.index()] = 0;
                self.touched.push(target.index() as u32);
            }
        }
        let left = of.map(|_| left);
        // From a node the distances increase by at most the highest cost.
        let buckets = (self.graph.highest >> self.graph.width) + 2;
        match self.graph.even {
            true => self.by_links(left),
            false if buckets <= MAX_BUCKETS => self.by_buckets(left, buckets as usize),
            false => self.by_cost(left),
        }
        for &node in of.unwrap_or(&[]) {
            self.wanted[node] = false;
        }
        &self.distance
    }

    /// Returns whether that was the last requested node.
    fn is_last(&mut self, node: u32, left: &mut Option<usize>) -> bool {
        let Some(left) = left else { return false };
        *left -= usize::from(core::mem::take(&mut self.wanted[node as usize]));
        *left == 0
    }

    /// If all links have the same cost, nodes are found in the order of their distance.
    fn by_links(&mut self, mut left: Option<usize>) {
        let mut next = 0;
        while next < self.touched.len() {
            let at = self.touched[next];
            next += 1;
            if self.is_last(at, &mut left) {
                return;
            }
            let own = self.distance[at as usize];
            let graph = self.graph;
            let range = graph.begins[at as usize] as usize..graph.begins[at as usize + 1] as usize;
            for &neighbour in &graph.ends[range] {
                if self.distance[neighbour as usize] == FAR {
                    self.distance[neighbour as usize] = own + 1;
                    self.touched.push(neighbour);
                }
            }
        }
    }

    /// A bucket is no wider than the cheapest link, so no way from one of its nodes makes another one nearer.
    /// All of them have their final distance, in any order.
    fn by_buckets(&mut self, mut left: Option<usize>, buckets: usize) {
        self.buckets.resize_with(buckets, Vec::new);
        self.buckets.iter_mut().for_each(Vec::clear);
        self.buckets[0].extend(self.touched.iter().map(|&target| (0, target)));
        let mut waiting = self.touched.len();
        let mut level = 0;
        while waiting > 0 {
            let mut bucket = core::mem::take(&mut self.buckets[level % buckets]);
            waiting -= bucket.len();
            for (d, at) in bucket.drain(..) {
                if d > self.distance[at as usize] {
                    continue;
                }
                if self.is_last(at, &mut left) {
                    return;
                }
                for &Neighbour { node: next, towards, .. } in self.graph.neighbours(at as usize) {
                    let through = d.saturating_add(towards);
                    let known = &mut self.distance[next as usize];
                    if through < *known {
                        if *known == FAR {
                            self.touched.push(next);
                        }
                        *known = through;
                        let of = (through >> self.graph.width) as usize % buckets;
                        self.buckets[of].push((through, next));
                        waiting += 1;
                    }
                }
            }
            self.buckets[level % buckets] = bucket;
            level += 1;
        }
    }

    fn by_cost(&mut self, mut left: Option<usize>) {
        self.heap.clear();
        self.heap.extend(self.touched.iter().map(|&target| Reverse((0, target))));
        while let Some(Reverse((d, at))) = self.heap.pop() {
            if d > self.distance[at as usize] {
                continue;
            }
            if self.is_last(at, &mut left) {
                return;
            }
            for &Neighbour { node: next, towards, .. } in self.graph.neighbours(at as usize) {
                let through = d.saturating_add(towards);
                let known = &mut self.distance[next as usize];
                if through < *known {
                    if *known == FAR {
                        self.touched.push(next);
                    }
                    *known = through;
                    self.heap.push(Reverse((through, next)));
                }
            }
        }
    }
}

/// Given FIB entries, by prefix, then by node.
pub type Given = BTreeMap<String, BTreeMap<NodeId, GivenHops>>;

/// A given FIB entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenHops {
    /// The next hops, best first.
    pub next_hops: Vec<(NodeId, DirectedLink)>,
    /// The best next hop for strategies that use one path, if it is another.
    pub single: Option<DirectedLink>,
}

/// Returns the next hops that given entries have for a name at a node, by the longest prefix.
pub fn lookup<'g>(given: &'g Given, name: &str, node: NodeId) -> Option<&'g [(NodeId, DirectedLink)]> {
    let mut prefix = name;
    loop {
        if let Some(hops) = given.get(prefix).and_then(|nodes| nodes.get(&node)) {
            return Some(&hops.next_hops);
        }
        if prefix == "/" {
            return None;
        }
        prefix = match prefix.rfind('/') {
            Some(0) | None => "/",
            Some(at) => &prefix[..at],
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_core::seam::QueueLimit;
    use weir_core::units::{Rate, Span};

    fn link(a: usize, b: usize, ms: u64) -> Link {
        Link {
            name: None,
            a: NodeId(a),
            b: NodeId(b),
            rate: [Rate::from_mbps(1); 2],
            delay: [Span::from_millis(ms); 2],
            delay_jitter: 0.0,
            queue: QueueLimit::Packets(1),
            loss: 0.0,
            cost: [1000; 2],
            loss_burst: None,
            jitter: Span::ZERO,
            reorder: false,
            rate_trace: None,
            half_duplex: false,
            medium: None,
        }
    }

    /// The cost of a link towards its second end is a thousand times its delay in ms, and towards the first
    /// twice as much.
    fn graph(n: usize, edges: Vec<(usize, usize, u64)>, metric: RoutingMetric) -> Graph {
        let links = edges.into_iter().filter(|(a, b, _)| a != b).map(|(a, b, ms)| {
            let cost = (1000 * ms).max(1);
            Link { cost: [cost, 2 * cost], ..link(a, b, ms) }
        });
        Graph::new(n, &links.collect::<Vec<_>>(), metric, |_| true)
    }

    fn metrics() -> impl Strategy<Value = RoutingMetric> {
        prop_oneof![Just(RoutingMetric::Hops), Just(RoutingMetric::Delay), Just(RoutingMetric::Cost)]
    }

    fn floyd_warshall(graph: &Graph) -> Vec<Vec<u64>> {
        let n = graph.nodes();
        let mut d = vec![vec![FAR; n]; n];
        for (u, row) in d.iter_mut().enumerate() {
            row[u] = 0;
            for n in graph.neighbours(u) {
                row[n.node as usize] = row[n.node as usize].min(graph.cost(n.way));
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    d[i][j] = d[i][j].min(d[i][k].saturating_add(d[k][j]));
                }
            }
        }
        d
    }

    fn graphs() -> impl Strategy<Value = (usize, Vec<(usize, usize, u64)>, Vec<usize>)> {
        // Delays of all kinds: links without delay (sorted by a heap), and delays that fit in buckets.
        let delays = prop_oneof![Just(0u64..20), Just(1u64..20), Just(1000u64..1020)];
        (2usize..16, delays).prop_flat_map(|(n, delays)| {
            let edges = prop::collection::vec((0..n, 0..n, delays), 0..3 * n);
            (Just(n), edges, prop::collection::vec(0..n, 1..4))
        })
    }

    proptest! {
        #[test]
        fn distances_and_next_hops_agree_with_floyd_warshall(
            (n, edges, targets) in graphs(),
            metric in metrics(),
        ) {
            let graph = graph(n, edges, metric);
            let all = floyd_warshall(&graph);
            let targets: Vec<NodeId> = targets.into_iter().map(NodeId).collect();
            let mut search = Search::new(&graph);
            let distance = search.distances(&targets, None).to_vec();
            // A search for one node after the other gives the same distances and next hops.
            let mut some = Search::new(&graph);
            for u in (0..n).rev() {
                let of = [u, n / 2];
                let partly = some.distances(&targets, Some(&of));
                for node in of {
                    prop_assert_eq!(partly[node], distance[node]);
                    for policy in [RoutingPolicy::ShortestPath, RoutingPolicy::EqualCost, RoutingPolicy::Multipath] {
                        let hops = graph.next_hops(node, partly, policy);
                        prop_assert_eq!(&hops, &graph.next_hops(node, &distance, policy));
                        for hop in hops {
                            prop_assert_eq!(partly[hop.node.index()], distance[hop.node.index()]);
                        }
                    }
                }
            }
            for u in 0..n {
                let best = targets.iter().map(|t| all[u][t.index()]).min().unwrap();
                prop_assert_eq!(distance[u], best);
                let one = graph.next_hops(u, &distance, RoutingPolicy::ShortestPath);
                let equal = graph.next_hops(u, &distance, RoutingPolicy::EqualCost);
                let many = graph.next_hops(u, &distance, RoutingPolicy::Multipath);
                if best == 0 || best == FAR {
                    prop_assert!(many.is_empty());
                    continue;
                }
                prop_assert_eq!(one.len(), 1);
                prop_assert_eq!(one[0].cost, best);
                prop_assert_eq!(&equal[..1], &one[..]);
                prop_assert!(equal.iter().all(|h| h.cost == best));
                prop_assert_eq!(&many[..equal.len()], &equal[..]);
                // Every hop leads strictly nearer, so there is no loop.
                prop_assert!(many.iter().all(|hop| distance[hop.node.index()] < best));
                for neighbour in graph.neighbours(u) {
                    let v = neighbour.node as usize;
                    let by = |hops: &[NextHop]| hops.iter().any(|hop| hop.link == directed(neighbour.way));
                    prop_assert_eq!(distance[v] < best, by(&many));
                    let on_shortest = distance[v] != FAR && distance[v] + graph.cost(neighbour.way) == best;
                    prop_assert_eq!(on_shortest, by(&equal));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_search_from_both_ends_has_the_next_hops_of_a_whole_one(
            (n, edges, targets) in graphs(),
            from in prop::collection::vec(0usize..16, 1..4),
            metric in metrics(),
        ) {
            let graph = graph(n, edges, metric);
            let targets: Vec<NodeId> = targets.into_iter().map(NodeId).collect();
            let from: Vec<usize> = from.into_iter().map(|node| node % n).collect();
            let whole = Search::new(&graph).distances(&targets, None).to_vec();
            let mut two_sided = two_sided::TwoSided::new(&graph);
            // Results of an earlier search are cleared.
            two_sided.distances(&[NodeId(0)], 0..n);
            let distance = two_sided.distances(&targets, from.iter().copied());
            for node in 0..n {
                prop_assert!(distance[node] >= whole[node]);
            }
            let mut to_visit = from;
            let mut seen = vec![false; n];
            while let Some(node) = to_visit.pop() {
                prop_assert_eq!(distance[node], whole[node]);
                for policy in [RoutingPolicy::ShortestPath, RoutingPolicy::EqualCost] {
                    let hops = graph.next_hops(node, distance, policy);
                    prop_assert_eq!(&hops, &graph.next_hops(node, &whole, policy));
                    let next = hops.iter().map(|hop| hop.node.index());
                    to_visit.extend(next.filter(|next| !std::mem::replace(&mut seen[*next], true)));
                }
            }
        }
    }

    #[test]
    fn of_equal_ways_the_first_node_is_taken() {
        // 0 - {1, 2} - 3
        let graph = graph(4, vec![(0, 2, 1), (0, 1, 1), (1, 3, 1), (2, 3, 1)], RoutingMetric::Hops);
        let mut search = Search::new(&graph);
        let distance = search.distances(&[NodeId(3)], None);
        let next_hops = |policy| {
            let hops = graph.next_hops(0, distance, policy);
            hops.iter().map(|hop| (hop.node.index(), hop.link.link.index(), hop.cost)).collect::<Vec<_>>()
        };
        assert_eq!(next_hops(RoutingPolicy::ShortestPath), [(1, 1, 2)]);
        assert_eq!(next_hops(RoutingPolicy::EqualCost), [(1, 1, 2), (2, 0, 2)]);
    }

    #[test]
    fn by_delay_a_longer_way_of_faster_links_wins() {
        let links = vec![(0, 2, 50), (0, 1, 10), (1, 2, 10)];
        let by_hops = graph(3, links.clone(), RoutingMetric::Hops);
        let by_delay = graph(3, links, RoutingMetric::Delay);
        let first = |graph: &Graph| {
            graph.next_hops(0, Search::new(graph).distances(&[NodeId(2)], None), RoutingPolicy::ShortestPath)
                [0]
            .node
        };
        assert_eq!(first(&by_hops), NodeId(2));
        assert_eq!(first(&by_delay), NodeId(1));
    }

    #[test]
    fn the_longest_given_prefix_counts() {
        let mut given = Given::new();
        let to = |next| GivenHops { next_hops: vec![(NodeId(next), directed(0))], single: None };
        given.entry("/".into()).or_default().insert(NodeId(0), to(1));
        given.entry("/A".into()).or_default().insert(NodeId(0), to(2));
        let found = |name, node| lookup(&given, name, NodeId(node)).map(|hops| hops[0].0.index());
        assert_eq!((found("/A/b", 0), found("/A0", 0), found("/A0", 3)), (Some(2), Some(1), None));
    }

    fn demand(producers: &[usize], consumers: &[usize]) -> Demand<'static> {
        let nodes = |of: &[usize]| of.iter().map(|&node| NodeId(node)).collect();
        Demand { name: "/a", producers: nodes(producers), consumers: nodes(consumers), others: Vec::new() }
    }

    fn hops_of(graph: &Graph, policy: RoutingPolicy, demand: Demand<'_>) -> BTreeMap<usize, Vec<usize>> {
        let made = routes(graph, policy, &[demand], |_, _| {});
        let of = |route: &crate::model::Route| {
            (route.node.index(), route.next_hops.iter().map(|hop| hop.node.index()).collect())
        };
        made[0].iter().map(of).collect()
    }

    /// Returns every simple path from a node, with its length.
    fn simple_paths(graph: &Graph, from: usize, producers: &[usize]) -> Vec<(u64, Vec<Way>)> {
        let mut found = Vec::new();
        let mut open = vec![(0, vec![], vec![from])];
        while let Some((length, ways, nodes)) = open.pop() {
            let at = *nodes.last().unwrap();
            if producers.contains(&at) {
                found.push((length, ways));
                continue;
            }
            for n in graph.neighbours(at).iter().filter(|n| !nodes.contains(&(n.node as usize))) {
                let longer = [&nodes[..], &[n.node as usize]].concat();
                open.push((length + graph.cost(n.way), [&ways[..], &[n.way]].concat(), longer));
            }
        }
        found.sort();
        found
    }

    fn small_graphs() -> impl Strategy<Value = (usize, Vec<(usize, usize, u64)>, Vec<usize>)> {
        (3usize..7).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n, 1u64..9), n..2 * n);
            (Just(n), edges, prop::collection::vec(0..n, 1..3))
        })
    }

    proptest! {
        #[test]
        fn paths_are_the_shortest_and_the_most_disjoint_ones(
            (n, edges, producers) in small_graphs(),
            metric in metrics(),
            k in 1usize..4,
        ) {
            let graph = graph(n, edges, metric);
            let targets: Vec<NodeId> = producers.iter().map(|node| NodeId(*node)).collect();
            let distance = Search::new(&graph).distances(&targets, None).to_vec();
            let mut paths = paths::Paths::new(&graph, &distance);
            for from in (0..n).filter(|node| distance[*node] != FAR && distance[*node] != 0) {
                let all = simple_paths(&graph, from, &producers);
                let length = |path: &Vec<Way>| path.iter().map(|way| graph.cost(*way)).sum::<u64>();
                let lengths: Vec<u64> = paths.k_shortest(from, k).iter().map(length).collect();
                let best: Vec<u64> = all.iter().take(k).map(|path| path.0).collect();
                prop_assert_eq!(lengths, best);
                // Two disjoint paths share the fewest links, and then have the smallest sum of costs.
                let disjoint = paths.k_disjoint(from, 2);
                let shared = |a: &[Way], b: &[Way]| a.iter().filter(|way| b.contains(way)).count();
                let pairs = all.iter().flat_map(|a| all.iter().map(move |b| (a, b)));
                let least = pairs.map(|(a, b)| (shared(&a.1, &b.1), a.0 + b.0)).min().unwrap();
                let (first, second) = (&disjoint[0], disjoint.last().unwrap());
                prop_assert_eq!((shared(first, second), length(first) + length(second)), least);
            }
        }

        #[test]
        fn no_interest_comes_back_to_a_node_and_every_consumer_has_a_way(
            (n, edges, mut producers) in graphs(),
            metric in metrics(),
            policy in prop_oneof![
                (1usize..5).prop_map(RoutingPolicy::KShortest),
                (1usize..5).prop_map(RoutingPolicy::KDisjoint),
                Just(RoutingPolicy::Multipath),
            ],
        ) {
            producers.sort_unstable();
            producers.dedup();
            let graph = graph(n, edges, metric);
            let targets: Vec<NodeId> = producers.iter().map(|node| NodeId(*node)).collect();
            let distance = Search::new(&graph).distances(&targets, None).to_vec();
            let all: Vec<usize> = (0..n).collect();
            let hops = hops_of(&graph, policy, demand(&producers, &all));
            for from in (0..n).filter(|node| distance[*node] != FAR && distance[*node] != 0) {
                // Interests reach a producer after fewer steps than there are nodes, by any next hops.
                let mut at = std::collections::BTreeSet::from([from]);
                for _ in 0..n {
                    at = at.iter().filter(|node| !producers.contains(node)).flat_map(|node| hops[node].clone()).collect();
                }
                prop_assert!(at.is_empty(), "{:?}", hops);
            }
        }
    }

    #[test]
    fn the_other_side_of_a_ring_is_a_second_path() {
        // 0 - 1 - 4, and 0 - 2 - 3 - 4; 5 is behind 0.
        let edges = vec![(0, 1, 1), (1, 4, 1), (0, 2, 1), (2, 3, 1), (3, 4, 1), (5, 0, 1)];
        let graph = graph(6, edges, RoutingMetric::Hops);
        let ring = BTreeMap::from([(0, vec![1, 2]), (1, vec![4]), (2, vec![3]), (3, vec![4]), (5, vec![0])]);
        assert_eq!(hops_of(&graph, RoutingPolicy::KDisjoint(2), demand(&[4], &[5])), ring);
        assert_eq!(hops_of(&graph, RoutingPolicy::KShortest(2), demand(&[4], &[5])), ring);
        // With a consumer at 2, its second path over 0 would make a loop with the other's over 2.
        assert_eq!(hops_of(&graph, RoutingPolicy::KShortest(2), demand(&[4], &[5, 2]))[&2].len(), 2);
        assert_eq!(hops_of(&graph, RoutingPolicy::KShortest(2), demand(&[4], &[5, 2]))[&0], [1]);
    }
}
