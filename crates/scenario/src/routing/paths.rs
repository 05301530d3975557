//! Several paths from a consumer to a producer: the shortest ones, or those that share few links.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::{FAR, Graph, Way};

/// The ways of a path, from the consumer on.
pub type Path = Vec<Way>;

/// Searches paths in a graph to the nearest of some producers. Successive searches use the same memory.
pub struct Paths<'g> {
    graph: &'g Graph,
    /// The distance of each node from the nearest producer; 0 at a producer.
    distance: &'g [u64],
    /// The cost of a node from the start of the current search, the way by which it is reached, and the nodes
    /// that have one.
    cost: Vec<u64>,
    came_by: Vec<Way>,
    touched: Vec<usize>,
    /// The nodes that the search leaves out.
    closed: Vec<bool>,
}

impl<'g> Paths<'g> {
    /// Prepares a search for paths to the producers. `distance` has the distance of each node from the
    /// nearest producer.
    pub fn new(graph: &'g Graph, distance: &'g [u64]) -> Paths<'g> {
        let n = distance.len();
        Paths {
            graph,
            distance,
            cost: vec![FAR; n],
            came_by: vec![0; n],
            touched: Vec::new(),
            closed: vec![false; n],
        }
    }

    fn length(&self, path: &[Way]) -> u64 {
        path.iter().map(|way| self.graph.cost(*way)).sum()
    }

    /// Returns the shortest path: at each node the cheapest next hop, of equal ones the first node and link.
    /// It ends at a node for which `there` is true.
    pub fn shortest(&self, from: usize, there: impl Fn(usize) -> bool) -> Path {
        let (mut path, mut at) = (Path::new(), from);
        while self.distance[at] != 0 && self.distance[at] != FAR && !there(at) {
            let by = |n: &&super::Neighbour| {
                (self.distance[n.node as usize].saturating_add(self.graph.cost(n.way)), n.node, n.way)
            };
            let nearer = self
                .graph
                .neighbours(at)
                .iter()
                .filter(|n| self.distance[n.node as usize] < self.distance[at]);
            let Some(next) = nearer.min_by_key(by) else { break };
            path.push(next.way);
            at = next.node as usize;
        }
        path
    }

    /// Returns at most `k` paths without loops, the shortest first (J. Y. Yen, Finding the k shortest
    /// loopless paths in a network, Management Science 17(11), 1971).
    pub fn k_shortest(&mut self, from: usize, k: usize) -> Vec<Path> {
        let mut found = vec![self.shortest(from, |_| false)];
        let mut candidates: BTreeSet<(u64, Path)> = BTreeSet::new();
        while found.len() < k {
            let last = &found[found.len() - 1];
            let nodes = self.graph.nodes_of(from, last);
            for spur in 0..last.len() {
                let root = &last[..spur];
                let taken: Vec<Way> =
                    found.iter().filter(|path| path.starts_with(root)).map(|path| path[spur]).collect();
                nodes[..spur].iter().for_each(|node| self.closed[*node] = true);
                if let Some(rest) = self.detour(nodes[spur], &taken) {
                    let path = [root, &rest].concat();
                    candidates.insert((self.length(&path), path));
                }
                nodes[..spur].iter().for_each(|node| self.closed[*node] = false);
            }
            let Some((_, next)) = candidates.pop_first() else { break };
            found.push(next);
        }
        found
    }

    /// Returns the shortest path from a node that does not begin with a way in `taken` and avoids closed
    /// nodes: A*, with the distances of the whole graph as the estimate.
    fn detour(&mut self, from: usize, taken: &[Way]) -> Option<Path> {
        for node in self.touched.drain(..) {
            self.cost[node] = FAR;
        }
        let mut heap = BinaryHeap::from([Reverse((self.distance[from], 0u64, from))]);
        self.cost[from] = 0;
        self.touched.push(from);
        while let Some(Reverse((_, cost, at))) = heap.pop() {
            if cost > self.cost[at] {
                continue;
            }
            if self.distance[at] == 0 {
                return Some(self.path_back(from, at));
            }
            for n in self.graph.neighbours(at) {
                let next = n.node as usize;
                let is_out = self.closed[next] || self.distance[next] == FAR || next == from;
                if is_out || (at == from && taken.contains(&n.way)) {
                    continue;
                }
                let through = cost + self.graph.cost(n.way);
                if through < self.cost[next] {
                    if self.cost[next] == FAR {
                        self.touched.push(next);
                    }
                    self.cost[next] = through;
                    self.came_by[next] = n.way;
                    heap.push(Reverse((through.saturating_add(self.distance[next]), through, next)));
                }
            }
        }
        None
    }

    /// Returns the path by which a search came.
    fn path_back(&self, from: usize, mut at: usize) -> Path {
        let mut path = Path::new();
        while at != from {
            path.push(self.came_by[at]);
            at = self.graph.head(self.came_by[at] ^ 1);
        }
        path.reverse();
        path
    }

    /// Returns at most `k` paths that together share as few links as possible, and of those the ones with the
    /// smallest total length. It uses successive shortest paths of a flow of `k` units, in which the second
    /// unit on a link costs more than any path (as J. W. Suurballe and R. E. Tarjan, Networks 14, 1984, for
    /// two). A flow of minimum cost has no loop.
    pub fn k_disjoint(&self, from: usize, k: usize) -> Vec<Path> {
        // The distance to a producer without the flow, with which a search goes straight there.
        let potential = self.distance.iter().map(|distance| -i128::from(*distance)).collect();
        let mut flow = Flow { paths: self, on: BTreeMap::new(), potential };
        let mut units = 0;
        while units < k && flow.augment(from) {
            units += 1;
        }
        let mut paths: Vec<Path> = (0..units).map(|_| flow.take_path(from)).collect();
        paths.sort_by_cached_key(|path| (self.length(path), path.clone()));
        paths.dedup();
        paths
    }
}

/// The cost of a unit that is not the first one on a link, which is more than that of any path.
const SHARED: i128 = 1 << 80;
const UNREACHED: i128 = i128::MAX;

/// A flow from a consumer to producers.
struct Flow<'p> {
    paths: &'p Paths<'p>,
    /// The units on each way that has some.
    on: BTreeMap<Way, u32>,
    /// Potentials that make the costs of ways, in both directions, non-negative. All producers have the same
    /// potential.
    potential: Vec<i128>,
}

impl Flow<'_> {
    /// Returns the cost of a unit beside `others` other units.
    fn cost(&self, way: Way, others: u32) -> i128 {
        i128::from(self.paths.graph.cost(way)) + if others > 0 { SHARED } else { 0 }
    }

    /// Returns the cost of one more unit on a way. It cancels one in the other direction, if there is one.
    fn cost_of_more(&self, way: Way) -> i128 {
        match self.on.get(&(way ^ 1)) {
            Some(units) => -self.cost(way ^ 1, units - 1),
            None => self.cost(way, self.on.get(&way).copied().unwrap_or(0)),
        }
    }

    /// Sends one more unit by the cheapest way. Returns whether there is one.
    fn augment(&mut self, from: usize) -> bool {
        let n = self.potential.len();
        let (mut cost, mut came_by) = (vec![UNREACHED; n], vec![None; n]);
        let mut heap = BinaryHeap::from([Reverse((0i128, from))]);
        cost[from] = 0;
        let mut end = None;
        while let Some(Reverse((at_cost, at))) = heap.pop() {
            if at_cost > cost[at] {
                continue;
            }
            if self.paths.distance[at] == 0 {
                end = Some((at_cost, at));
                break;
            }
            for n in self.paths.graph.neighbours(at) {
                let next = n.node as usize;
                let through = at_cost + self.cost_of_more(n.way) + self.potential[at] - self.potential[next];
                if through < cost[next] {
                    cost[next] = through;
                    came_by[next] = Some((n.way, at));
                    heap.push(Reverse((through, next)));
                }
            }
        }
        let Some((length, mut at)) = end else { return false };
        for (potential, cost) in self.potential.iter_mut().zip(&cost) {
            *potential += (*cost).min(length);
        }
        while let Some((way, before)) = came_by[at].filter(|_| at != from) {
            match self.on.get_mut(&(way ^ 1)) {
                Some(1) => {
                    self.on.remove(&(way ^ 1));
                }
                Some(units) => *units -= 1,
                None => *self.on.entry(way).or_default() += 1,
            }
            at = before;
        }
        true
    }

    /// Removes a unit from the flow. Returns its path.
    fn take_path(&mut self, from: usize) -> Path {
        let (mut path, mut at) = (Path::new(), from);
        while self.paths.distance[at] != 0 {
            let neighbours = self.paths.graph.neighbours(at);
            let Some(next) = neighbours.iter().find(|n| self.on.contains_key(&n.way)) else { break };
            match self.on.get_mut(&next.way) {
                Some(1) | None => {
                    self.on.remove(&next.way);
                }
                Some(units) => *units -= 1,
            }
            path.push(next.way);
            at = next.node as usize;
        }
        path
    }
}
