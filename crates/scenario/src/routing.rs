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

/// No way.
pub const FAR: u64 = u64::MAX;

/// The graph: for each node its neighbours, by node, with the cost of the link.
#[derive(Clone, Debug)]
pub struct Graph(pub Vec<Vec<(usize, u64)>>);

impl Graph {
    /// `by_delay`: the cost of a link is its delay there and back in nanoseconds (at least 1), else 1.
    pub fn new(nodes: usize, links: &[Link], by_delay: bool) -> Graph {
        let mut neighbours = vec![Vec::new(); nodes];
        for link in links {
            let round_trip = link.delay[0] + link.delay[1];
            let cost = if by_delay { round_trip.as_nanos().clamp(1, FAR >> 24) } else { 1 };
            neighbours[link.a.index()].push((link.b.index(), cost));
            neighbours[link.b.index()].push((link.a.index(), cost));
        }
        neighbours.iter_mut().for_each(|n| n.sort_unstable());
        Graph(neighbours)
    }

    /// The distance of every node to the nearest of `targets`.
    pub fn distances(&self, targets: &[NodeId]) -> Vec<u64> {
        let mut distance = vec![FAR; self.0.len()];
        let mut heap = BinaryHeap::new();
        for t in targets {
            distance[t.index()] = 0;
            heap.push(Reverse((0, t.index())));
        }
        while let Some(Reverse((d, at))) = heap.pop() {
            if d > distance[at] {
                continue;
            }
            for &(next, cost) in &self.0[at] {
                let through = d.saturating_add(cost);
                if through < distance[next] {
                    distance[next] = through;
                    heap.push(Reverse((through, next)));
                }
            }
        }
        distance
    }

    /// The next hops of a node with what the way by each costs, cheapest first.
    pub fn next_hops(&self, node: usize, distance: &[u64], policy: Policy) -> Vec<(NodeId, u64)> {
        let own = distance[node];
        if own == 0 || own == FAR {
            return Vec::new();
        }
        let ways = self.0[node].iter().filter(|&&(v, _)| distance[v] < own);
        let mut hops: Vec<(NodeId, u64)> =
            ways.map(|&(v, cost)| (NodeId(v), distance[v].saturating_add(cost))).collect();
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
        let distance = self.distances(&[from]);
        (0..distance.len()).filter(|&n| distance[n] != FAR).collect()
    }
}

/// Given FIB entries: by prefix, then by node.
pub type Given = BTreeMap<String, BTreeMap<NodeId, Vec<NodeId>>>;

/// The next hops that given entries have for a name at a node: those of the longest prefix.
pub fn lookup<'g>(given: &'g Given, name: &str, node: NodeId) -> Option<&'g [NodeId]> {
    let mut prefix = name;
    loop {
        if let Some(hops) = given.get(prefix).and_then(|nodes| nodes.get(&node)) {
            return Some(hops);
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
    use crate::model::QueueLimit;
    use proptest::prelude::*;
    use weir_core::units::{Rate, Span};

    fn link(a: usize, b: usize, ms: u64) -> Link {
        Link {
            a: NodeId(a),
            b: NodeId(b),
            rate: [Rate::from_mbps(1); 2],
            delay: [Span::from_millis(ms); 2],
            queue: QueueLimit::Packets(1),
            loss: 0.0,
        }
    }

    fn floyd_warshall(graph: &Graph) -> Vec<Vec<u64>> {
        let n = graph.0.len();
        let mut d = vec![vec![FAR; n]; n];
        for (u, row) in d.iter_mut().enumerate() {
            row[u] = 0;
            for &(v, cost) in &graph.0[u] {
                row[v] = row[v].min(cost);
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
        (2usize..16).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n, 0u64..20), 0..3 * n);
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
            let distance = graph.distances(&targets);
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
                for &(v, cost) in &graph.0[u] {
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
        let distance = graph.distances(&[NodeId(3)]);
        assert_eq!(graph.next_hops(0, &distance, Policy::ShortestPath), [(NodeId(1), 2)]);
        assert_eq!(graph.next_hops(0, &distance, Policy::EqualCost), [(NodeId(1), 2), (NodeId(2), 2)]);
    }

    #[test]
    fn by_delay_a_longer_way_of_faster_links_wins() {
        let links = [link(0, 2, 50), link(0, 1, 10), link(1, 2, 10)];
        let by_hops = Graph::new(3, &links, false);
        let by_delay = Graph::new(3, &links, true);
        assert_eq!(
            by_hops.next_hops(0, &by_hops.distances(&[NodeId(2)]), Policy::ShortestPath)[0].0,
            NodeId(2)
        );
        assert_eq!(
            by_delay.next_hops(0, &by_delay.distances(&[NodeId(2)]), Policy::ShortestPath)[0].0,
            NodeId(1)
        );
    }

    #[test]
    fn the_longest_given_prefix_counts() {
        let mut given = Given::new();
        given.entry("/".into()).or_default().insert(NodeId(0), vec![NodeId(1)]);
        given.entry("/A".into()).or_default().insert(NodeId(0), vec![NodeId(2)]);
        assert_eq!(lookup(&given, "/A/b", NodeId(0)), Some(&[NodeId(2)][..]));
        assert_eq!(lookup(&given, "/A0", NodeId(0)), Some(&[NodeId(1)][..]));
        assert_eq!(lookup(&given, "/A0", NodeId(3)), None);
    }
}
