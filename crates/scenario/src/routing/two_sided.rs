//! Shortest paths of a few nodes by searches from both ends. In a large network they visit only a small part
//! of it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{FAR, Graph, Neighbour};
use crate::model::NodeId;

/// Searches from some nodes to targets. Successive searches use the same memory.
#[derive(Debug)]
pub struct TwoSided<'g> {
    graph: &'g Graph,
    /// From the nodes to a target.
    ahead: Side,
    /// From the targets back.
    back: Side,
    /// The known distances to the nearest target, and the nodes that have one.
    distance: Vec<u64>,
    known: Vec<u32>,
}

/// Dijkstra's algorithm from one end, step by step.
#[derive(Debug)]
struct Side {
    distance: Vec<u64>,
    /// The nodes with a distance.
    touched: Vec<u32>,
    /// The nodes with a final distance, in the order of the distance.
    settled: Vec<u32>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Side {
    fn new(nodes: usize) -> Side {
        Side { distance: vec![FAR; nodes], touched: Vec::new(), settled: Vec::new(), heap: BinaryHeap::new() }
    }

    /// Clears the state, and starts at these nodes.
    fn begin(&mut self, at: impl Iterator<Item = usize>) {
        for node in self.touched.drain(..) {
            self.distance[node as usize] = FAR;
        }
        self.settled.clear();
        self.heap.clear();
        at.for_each(|node| self.improve(node as u32, 0));
    }

    fn improve(&mut self, node: u32, distance: u64) {
        let known = &mut self.distance[node as usize];
        if distance < *known {
            if *known == FAR {
                self.touched.push(node);
            }
            *known = distance;
            self.heap.push(Reverse((distance, node)));
        }
    }

    /// Returns the smallest distance that is not final. All smaller ones are final.
    fn next(&mut self) -> u64 {
        while let Some(&Reverse((distance, node))) = self.heap.peek() {
            if distance == self.distance[node as usize] {
                return distance;
            }
            self.heap.pop();
        }
        FAR
    }

    /// Makes that distance final and visits the node's neighbours. Returns the smallest length of a path to
    /// the other end through one of these.
    fn step(&mut self, graph: &Graph, cost: impl Fn(&Neighbour) -> u64, other: &Side) -> u64 {
        let Some(Reverse((distance, node))) = self.heap.pop() else { return FAR };
        self.settled.push(node);
        let mut least = FAR;
        for neighbour in graph.neighbours(node as usize) {
            let through = distance.saturating_add(cost(neighbour));
            self.improve(neighbour.node, through);
            least = least.min(through.saturating_add(other.distance[neighbour.node as usize]));
        }
        least
    }
}

impl<'g> TwoSided<'g> {
    pub fn new(graph: &'g Graph) -> TwoSided<'g> {
        let nodes = graph.nodes();
        let (ahead, back) = (Side::new(nodes), Side::new(nodes));
        TwoSided { graph, ahead, back, distance: vec![FAR; nodes], known: Vec::new() }
    }

    /// Returns the distances to the nearest of `targets` of all nodes on the shortest paths from the nodes
    /// `from`. Those of other nodes may be too large.
    pub fn distances(&mut self, targets: &[NodeId], from: impl Iterator<Item = usize>) -> &[u64] {
        for node in self.known.drain(..) {
            self.distance[node as usize] = FAR;
        }
        self.back.begin(targets.iter().map(|target| target.index()));
        for node in from {
            self.meet(node);
        }
        for at in 0..self.back.touched.len() {
            let node = self.back.touched[at];
            self.learn(node, self.back.distance[node as usize]);
        }
        &self.distance
    }

    fn learn(&mut self, node: u32, distance: u64) {
        let known = &mut self.distance[node as usize];
        if *known == FAR {
            self.known.push(node);
        }
        *known = distance.min(*known);
    }

    /// Continues until all shortest paths from a node are known: each has a link between two nodes whose
    /// distances from the two ends are final.
    fn meet(&mut self, from: usize) {
        let graph = self.graph;
        self.ahead.begin(core::iter::once(from));
        let begun = self.back.settled.len();
        let mut least = self.back.distance[from];
        loop {
            let (ahead, back) = (self.ahead.next(), self.back.next());
            if ahead == FAR || back == FAR || ahead.saturating_add(back) > least {
                break;
            }
            let found = if self.ahead.settled.len() <= self.back.settled.len() - begun {
                self.ahead.step(graph, |neighbour| graph.cost(neighbour.way), &self.back)
            } else {
                self.back.step(graph, |neighbour| neighbour.towards, &self.ahead)
            };
            least = least.min(found);
        }
        if least == FAR {
            return;
        }
        // From the middle back to the node. No distance is too small, so a sum equal to `least` is a shortest
        // path.
        for at in (0..self.ahead.settled.len()).rev() {
            let node = self.ahead.settled[at];
            let own = self.ahead.distance[node as usize];
            let is_on_way = graph.neighbours(node as usize).iter().any(|neighbour| {
                let next = neighbour.node as usize;
                let rest = self.distance[next].min(self.back.distance[next]);
                own.saturating_add(graph.cost(neighbour.way)).saturating_add(rest) == least
            });
            if is_on_way {
                self.learn(node, least - own);
            }
        }
    }
}
