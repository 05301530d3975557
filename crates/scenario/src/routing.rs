//! The FIB: shortest paths for each set of producers, or as given.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::model::{Link, NodeId};

/// How next hops are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    ShortestPath,
    EqualCost,
    Multipath,
}

/// The distance of a node from which no links lead to a target.
pub const FAR: u64 = u64::MAX;

/// The graph: for each node its neighbours, by node, with the cost of the link.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The neighbours of all nodes, one node after the other.
    neighbours: Vec<(u32, u64)>,
    /// Where those of each node begin; one more at the end.
    begins: Vec<u32>,
    /// The same without the costs: all that is read where links cost the same.
    ends: Vec<u32>,
    /// Whether all links cost the same.
    even: bool,
    /// The largest power of two, as its exponent, that is not above any cost.
    width: u32,
    /// The highest cost.
    highest: u64,
}

impl Graph {
    /// `by_delay`: the cost of a link is its delay there and back in nanoseconds (at least 1), else 1.
    pub fn new(nodes: usize, links: &[Link], by_delay: bool) -> Graph {
        let mut of = vec![Vec::new(); nodes];
        for link in links {
            let round_trip = link.delay[0] + link.delay[1];
            let cost = if by_delay { round_trip.as_nanos().clamp(1, FAR >> 24) } else { 1 };
            of[link.a.index()].push((link.b.index() as u32, cost));
            of[link.b.index()].push((link.a.index() as u32, cost));
        }
        let mut neighbours = Vec::with_capacity(2 * links.len());
        let mut begins = vec![0];
        for mut own in of {
            own.sort_unstable();
            neighbours.extend(own);
            begins.push(neighbours.len() as u32);
        }
        let ends = neighbours.iter().map(|n: &(u32, u64)| n.0).collect();
        let costs = || neighbours.iter().map(|n| n.1);
        let (lowest, highest) = (costs().min().unwrap_or(1), costs().max().unwrap_or(1));
        Graph { begins, ends, even: !by_delay, width: lowest.ilog2(), highest, neighbours }
    }

    /// How many nodes it has.
    fn nodes(&self) -> usize {
        self.begins.len() - 1
    }

    /// The neighbours of a node, with the cost of the link.
    pub fn neighbours(&self, node: usize) -> &[(u32, u64)] {
        &self.neighbours[self.begins[node] as usize..self.begins[node + 1] as usize]
    }

    /// The next hops of a node with what the way by each costs, cheapest first.
    pub fn next_hops(&self, node: usize, distance: &[u64], policy: Policy) -> Vec<(NodeId, u64)> {
        let own = distance[node];
        if own == 0 || own == FAR {
            return Vec::new();
        }
        let ways = self.neighbours(node).iter().filter(|&&(v, _)| distance[v as usize] < own);
        let mut hops: Vec<(NodeId, u64)> =
            ways.map(|&(v, cost)| (NodeId(v as usize), distance[v as usize].saturating_add(cost))).collect();
        hops.sort_by_key(|&(node, cost)| (cost, node));
        match policy {
            Policy::Multipath => {}
            Policy::EqualCost => hops.retain(|h| h.1 == own),
            Policy::ShortestPath => hops.truncate(1),
        }
        hops
    }

    /// The nodes that can be reached from one, in order.
    pub fn reachable(&self, from: NodeId) -> Vec<usize> {
        let mut search = Search::new(self);
        let distance = search.distances(&[from], None);
        (0..distance.len()).filter(|&n| distance[n] != FAR).collect()
    }
}

/// Shortest paths in a graph, one search after the other in the same memory.
#[derive(Debug)]
pub struct Search<'g> {
    graph: &'g Graph,
    distance: Vec<u64>,
    /// The nodes with a distance.
    touched: Vec<u32>,
    /// Nodes whose distance is asked for and not yet known.
    wanted: Vec<bool>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Nodes by their distance in steps of the graph's width, in a ring.
    buckets: Vec<Vec<(u64, u32)>>,
}

/// Above so many buckets a heap is faster.
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

    /// The distance of every node to the nearest of `targets`. With `of`, only of these nodes and
    /// of all that are nearer than the farthest of them; others may come out too far.
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
        // From a node the distances go up by the highest cost at the most.
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

    /// Whether that was the last node that is wanted.
    fn is_last(&mut self, node: u32, left: &mut Option<usize>) -> bool {
        let Some(left) = left else { return false };
        *left -= usize::from(core::mem::take(&mut self.wanted[node as usize]));
        *left == 0
    }

    /// Where links cost the same, nodes are met in the order of their distance.
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

    /// A bucket is no wider than the cheapest link, so no way leads from one of its nodes to another
    /// that makes it nearer: all of them have their distance, in whatever order they are taken.
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
                for &(next, cost) in self.graph.neighbours(at as usize) {
                    let through = d.saturating_add(cost);
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
            for &(next, cost) in self.graph.neighbours(at as usize) {
                let through = d.saturating_add(cost);
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

/// Given FIB entries: by prefix, then by node.
pub type Given = BTreeMap<String, BTreeMap<NodeId, GivenHops>>;

/// What a given FIB entry has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenHops {
    /// Best first.
    pub next_hops: Vec<NodeId>,
    /// The best one for strategies that keep to one, where that is another.
    pub single: Option<NodeId>,
}

/// The next hops that given entries have for a name at a node: those of the longest prefix.
pub fn lookup<'g>(given: &'g Given, name: &str, node: NodeId) -> Option<&'g [NodeId]> {
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
            a: NodeId(a),
            b: NodeId(b),
            rate: [Rate::from_mbps(1); 2],
            delay: [Span::from_millis(ms); 2],
            delay_jitter: 0.0,
            queue: QueueLimit::Packets(1),
            loss: 0.0,
            loss_burst: None,
            jitter: Span::ZERO,
            reorder: false,
            rate_trace: None,
            half_duplex: false,
            medium: None,
        }
    }

    fn floyd_warshall(graph: &Graph) -> Vec<Vec<u64>> {
        let n = graph.nodes();
        let mut d = vec![vec![FAR; n]; n];
        for (u, row) in d.iter_mut().enumerate() {
            row[u] = 0;
            for &(v, cost) in graph.neighbours(u) {
                row[v as usize] = row[v as usize].min(cost);
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
        // Delays of all kinds: links of none (sorted by a heap), and such as fit buckets.
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
            by_delay: bool,
        ) {
            let links: Vec<Link> =
                edges.into_iter().filter(|(a, b, _)| a != b).map(|(a, b, ms)| link(a, b, ms)).collect();
            let graph = Graph::new(n, &links, by_delay);
            let all = floyd_warshall(&graph);
            let targets: Vec<NodeId> = targets.into_iter().map(NodeId).collect();
            let mut search = Search::new(&graph);
            let distance = search.distances(&targets, None).to_vec();
            // Of some nodes: what is asked for is right, and so are their next hops, again and again.
            let mut some = Search::new(&graph);
            for u in (0..n).rev() {
                let of = [u, n / 2];
                let partly = some.distances(&targets, Some(&of));
                for node in of {
                    prop_assert_eq!(partly[node], distance[node]);
                    for policy in [Policy::ShortestPath, Policy::EqualCost, Policy::Multipath] {
                        let hops = graph.next_hops(node, partly, policy);
                        prop_assert_eq!(&hops, &graph.next_hops(node, &distance, policy));
                        for (next, _) in hops {
                            prop_assert_eq!(partly[next.index()], distance[next.index()]);
                        }
                    }
                }
            }
            for u in 0..n {
                let best = targets.iter().map(|t| all[u][t.index()]).min().unwrap();
                prop_assert_eq!(distance[u], best);
                let one = graph.next_hops(u, &distance, Policy::ShortestPath);
                let equal = graph.next_hops(u, &distance, Policy::EqualCost);
                let many = graph.next_hops(u, &distance, Policy::Multipath);
                if best == 0 || best == FAR {
                    prop_assert!(many.is_empty());
                    continue;
                }
                prop_assert_eq!(one.len(), 1);
                prop_assert_eq!(one[0].1, best);
                prop_assert_eq!(&equal[..1], &one[..]);
                prop_assert!(equal.iter().all(|h| h.1 == best));
                prop_assert_eq!(&many[..equal.len()], &equal[..]);
                // Every hop leads strictly nearer, so no way can come back.
                prop_assert!(many.iter().all(|(v, _)| distance[v.index()] < best));
                for &(v, cost) in graph.neighbours(u) {
                    let v = v as usize;
                    let nearer = distance[v] < best;
                    prop_assert_eq!(nearer, many.iter().any(|h| h.0.index() == v));
                    let on_shortest = distance[v] != FAR && distance[v] + cost == best;
                    prop_assert_eq!(on_shortest, equal.iter().any(|h| h.0.index() == v && h.1 == best) && on_shortest);
                }
            }
        }
    }

    #[test]
    fn of_equal_ways_the_first_node_is_taken() {
        // 0 - {1, 2} - 3
        let graph = Graph::new(4, &[link(0, 2, 1), link(0, 1, 1), link(1, 3, 1), link(2, 3, 1)], false);
        let mut search = Search::new(&graph);
        let distance = search.distances(&[NodeId(3)], None);
        assert_eq!(graph.next_hops(0, distance, Policy::ShortestPath), [(NodeId(1), 2)]);
        assert_eq!(graph.next_hops(0, distance, Policy::EqualCost), [(NodeId(1), 2), (NodeId(2), 2)]);
    }

    #[test]
    fn by_delay_a_longer_way_of_faster_links_wins() {
        let links = [link(0, 2, 50), link(0, 1, 10), link(1, 2, 10)];
        let by_hops = Graph::new(3, &links, false);
        let by_delay = Graph::new(3, &links, true);
        let first = |graph: &Graph| {
            graph.next_hops(0, Search::new(graph).distances(&[NodeId(2)], None), Policy::ShortestPath)[0].0
        };
        assert_eq!(first(&by_hops), NodeId(2));
        assert_eq!(first(&by_delay), NodeId(1));
    }

    #[test]
    fn the_longest_given_prefix_counts() {
        let mut given = Given::new();
        let to = |next| GivenHops { next_hops: vec![NodeId(next)], single: None };
        given.entry("/".into()).or_default().insert(NodeId(0), to(1));
        given.entry("/A".into()).or_default().insert(NodeId(0), to(2));
        assert_eq!(lookup(&given, "/A/b", NodeId(0)), Some(&[NodeId(2)][..]));
        assert_eq!(lookup(&given, "/A0", NodeId(0)), Some(&[NodeId(1)][..]));
        assert_eq!(lookup(&given, "/A0", NodeId(3)), None);
    }
}
