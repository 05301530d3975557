//! Cuts a network into parts for threads.
//!
//! Parts meet each time that the smallest delay of a link between them is over. So the cut is made at long
//! delays. Nodes that are connected by shorter delays stay together in a clump; the limit is the longest
//! delay with which clumps are small. Clumps are then gathered as in G. Karypis and V. Kumar, A Fast and High
//! Quality Multilevel Scheme for Partitioning Irregular Graphs (1998), section 3. A part grows from a clump
//! at the edge by the neighbour with the most traffic to it (greedy graph growing). Clumps at the borders
//! change sides as long as this reduces the cut traffic. Traffic is estimated from the paths of the flows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use weir_core::units::Span;
use weir_experiment::{Change, name_of};

use crate::world::{FaceKind, World, channels_of};

/// A division of a network.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The part of each node; none is empty.
    pub(crate) part_of: Vec<u32>,
    pub(crate) parts: usize,
    /// The smallest delay of a link between parts during the whole run.
    pub(crate) lookahead: Span,
}

/// A link, with the properties that the cut needs.
struct Edge {
    ends: [u32; 2],
    /// Its smallest delay in the run; zero if it cannot be cut.
    delay: Span,
    /// Number of flows that use it.
    flows: u64,
}

/// A clump may have at most this fraction (one in so many) of a thread's work.
const FINENESS: u64 = 8;
/// Permitted excess of a part over its share, percent.
const UNEVEN: u64 = 3;
/// Given routes may form a loop.
const MOST_HOPS: usize = 255;
/// Number of passes over the borders.
const PASSES: usize = 16;

/// Cuts a network into `parts` parts, or fewer if it is too small; `None` if it cannot be cut.
pub(crate) fn cut(world: &World, parts: usize) -> Option<Cut> {
    let mut edges = edges(world);
    let weights = estimate(world, &mut edges);
    let clumps = clumps(&weights, &edges, parts as u64);
    let graph = Graph::new(&clumps, &weights, &edges);
    let parts = parts.min(graph.weights.len());
    let mut side = graph.grow(parts);
    graph.refine(&mut side, parts);
    let part_of: Vec<u32> = clumps.iter().map(|clump| side[*clump as usize]).collect();
    let is_cut = |edge: &&Edge| part_of[edge.ends[0] as usize] != part_of[edge.ends[1] as usize];
    // Parts without any link between them meet only for measurement steps.
    let lookahead = edges.iter().filter(is_cut).map(|edge| edge.delay).min();
    let lookahead = lookahead.unwrap_or(Span::from_secs(1));
    (parts > 1).then_some(Cut { part_of, parts, lookahead })
}

/// The links of a world. Links that cannot be cut have delay zero.
fn edges(world: &World) -> Vec<Edge> {
    let channels = world.channels.chunks_exact(2);
    let mut edges: Vec<Edge> = channels
        .map(|pair| {
            let delay = pair.iter().map(|channel| channel.way.delay()).min().unwrap_or_default();
            let delay = if pair[0].medium.is_some() { Span::ZERO } else { delay };
            Edge { ends: [pair[0].from.0, pair[0].to.0], delay, flows: 0 }
        })
        .collect();
    for wire in &world.wires {
        edges[wire.first_channel as usize / 2].delay = Span::ZERO;
    }
    for (_, change) in &world.script {
        match change {
            Change::Delay(link, delays) => {
                let edge = &mut edges[link.index()];
                edge.delay = delays.iter().fold(edge.delay, |least, delay| least.min(*delay));
            }
            // Packets under way belong to the receiver, but their loss belongs to the sender.
            Change::Up(link, _) => edges[link.index()].delay = Span::ZERO,
            _ => {}
        }
    }
    edges
}

/// Estimates the work at each node from the paths of flows by the first next hops, and notes the flows of
/// each link.
fn estimate(world: &World, edges: &mut [Edge]) -> Vec<u64> {
    let mut weights = vec![1; world.nodes.len()];
    let scenario = world.experiment.scenario();
    for (app, flow) in world.flows.iter().zip(&scenario.flows) {
        let (prefix, mut at) = (name_of(&flow.prefix), app.node as usize);
        for _ in 0..MOST_HOPS {
            weights[at] += 1;
            let node = &world.nodes[at];
            let fib = node.forwarder.fib();
            let next_hop = fib.lookup(&prefix).and_then(|entry| fib.next_hops(entry).first());
            let channel = match next_hop.and_then(|hop| node.faces.get(hop.face.0 as usize)) {
                Some(FaceKind::Channel(channel)) => *channel,
                Some(FaceKind::HalfDuplex { wire, direction }) => {
                    world.wires[*wire as usize].first_channel + direction
                }
                Some(FaceKind::Medium { medium, direction }) => {
                    world.media[*medium as usize].first_channel + direction
                }
                _ => break,
            };
            edges[channel as usize / 2].flows += 1;
            at = world.channels[channel as usize].to.0 as usize;
        }
    }
    weights
}

/// The clump of each node. Clumps are numbered by their first nodes.
fn clumps(weights: &[u64], edges: &[Edge], parts: u64) -> Vec<u32> {
    let most = weights.iter().sum::<u64>() / (parts * FINENESS);
    let mut delays: Vec<Span> = edges.iter().map(|edge| edge.delay).filter(|d| *d > Span::ZERO).collect();
    delays.sort_unstable();
    delays.dedup();
    let clumps_below = |delay: Span| {
        let mut sets = Sets::new(weights.len());
        edges.iter().filter(|edge| edge.delay < delay).for_each(|edge| sets.join(edge.ends));
        sets.numbered()
    };
    let are_small = |delay: Span| {
        let mut sums = vec![0; weights.len()];
        for (clump, weight) in clumps_below(delay).into_iter().zip(weights) {
            sums[clump as usize] += weight;
        }
        sums.into_iter().all(|sum| sum <= most)
    };
    let small = delays.partition_point(|delay| are_small(*delay));
    let least = Span::from_nanos(1);
    clumps_below(small.checked_sub(1).map_or(least, |last| delays[last]))
}

/// Disjoint sets of nodes.
struct Sets(Vec<u32>);

impl Sets {
    fn new(nodes: usize) -> Sets {
        Sets((0..nodes as u32).collect())
    }

    fn first(&mut self, node: u32) -> u32 {
        let mut at = node as usize;
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at as u32
    }

    fn join(&mut self, ends: [u32; 2]) {
        let [a, b] = ends.map(|node| self.first(node));
        self.0[a.max(b) as usize] = a.min(b);
    }

    fn numbered(mut self) -> Vec<u32> {
        let mut count = 0;
        let mut numbers = vec![0; self.0.len()];
        for node in 0..self.0.len() {
            let first = self.first(node as u32) as usize;
            if first == node {
                numbers[node] = count;
                count += 1;
            } else {
                numbers[node] = numbers[first];
            }
        }
        numbers
    }
}

/// Clumps and the traffic between them.
struct Graph {
    weights: Vec<u64>,
    /// The neighbours of each clump, with the flows between them.
    neighbours: Vec<Vec<(u32, i64)>>,
}

impl Graph {
    fn new(clumps: &[u32], weights: &[u64], edges: &[Edge]) -> Graph {
        let count = clumps.iter().max().map_or(0, |last| *last as usize + 1);
        let mut graph = Graph { weights: vec![0; count], neighbours: vec![Vec::new(); count] };
        for (clump, weight) in clumps.iter().zip(weights) {
            graph.weights[*clump as usize] += weight;
        }
        for edge in edges {
            let [a, b] = edge.ends.map(|node| clumps[node as usize]);
            if a != b {
                // A link without flows still makes neighbours.
                let flows = 1 + 8 * edge.flows as i64;
                graph.neighbours[a as usize].push((b, flows));
                graph.neighbours[b as usize].push((a, flows));
            }
        }
        graph
    }

    /// The part of each clump. The parts grow one after the other, and the last one gets the rest.
    fn grow(&self, parts: usize) -> Vec<u32> {
        let last = parts.saturating_sub(1) as u32;
        let mut side = vec![last; self.weights.len()];
        let (mut left, mut clumps) = (self.weights.iter().sum::<u64>(), self.weights.len());
        for part in 0..last {
            let share = left / u64::from(last - part + 1);
            let others = (last - part) as usize;
            let (mut gains, mut near) = (self.losses(last, &side), BinaryHeap::new());
            let (mut own, mut first_left) = (0, 0);
            while clumps > others && own < share {
                let nearest = loop {
                    match near.pop() {
                        // It has joined, or has come nearer since then and is in the queue again.
                        Some((gain, Reverse(clump)))
                            if side[clump as usize] != last || gain != gains[clump as usize] => {}
                        nearest => break nearest.map(|(_, Reverse(clump))| clump),
                    }
                };
                let clump = match nearest {
                    Some(clump) => clump,
                    None if own == 0 => self.at_the_edge(last, &side),
                    // The start clump has no more neighbours.
                    None => {
                        first_left += side[first_left..].iter().take_while(|part| **part != last).count();
                        first_left as u32
                    }
                };
                let weight = self.weights[clump as usize];
                // Choose what is nearer to the share: with it, or without it.
                if own > 0 && own + weight / 2 > share {
                    break;
                }
                side[clump as usize] = part;
                (own, left, clumps) = (own + weight, left - weight, clumps - 1);
                for (other, flows) in &self.neighbours[clump as usize] {
                    if side[*other as usize] == last {
                        gains[*other as usize] += 2 * flows;
                        near.push((gains[*other as usize], Reverse(*other)));
                    }
                }
            }
        }
        side
    }

    /// By how much the cut shrinks when a clump leaves the rest for a part that is not its neighbour; this is
    /// negative.
    fn losses(&self, rest: u32, side: &[u32]) -> Vec<i64> {
        let loss = |near: &Vec<(u32, i64)>| {
            let in_rest = near.iter().filter(|(other, _)| side[*other as usize] == rest);
            -in_rest.map(|(_, flows)| flows).sum::<i64>()
        };
        self.neighbours.iter().map(loss).collect()
    }

    /// A clump of the rest at its edge: the last one that a search reaches.
    fn at_the_edge(&self, rest: u32, side: &[u32]) -> u32 {
        let mut last = side.iter().position(|part| *part == rest).unwrap_or(0) as u32;
        for _ in 0..2 {
            let mut is_known = vec![false; side.len()];
            let mut queue = VecDeque::from([last]);
            is_known[last as usize] = true;
            while let Some(clump) = queue.pop_front() {
                last = clump;
                for (near, _) in &self.neighbours[clump as usize] {
                    if side[*near as usize] == rest && !is_known[*near as usize] {
                        is_known[*near as usize] = true;
                        queue.push_back(*near);
                    }
                }
            }
        }
        last
    }

    /// Moves clumps to other parts while this reduces the cut and no part gets too much.
    fn refine(&self, side: &mut [u32], parts: usize) {
        let (mut weights, mut clumps) = (vec![0; parts], vec![0_usize; parts]);
        for (clump, part) in side.iter().enumerate() {
            weights[*part as usize] += self.weights[clump];
            clumps[*part as usize] += 1;
        }
        let most = weights.iter().sum::<u64>() * (100 + UNEVEN) / (100 * parts.max(1) as u64);
        for _ in 0..PASSES {
            let mut moved = 0;
            for clump in 0..side.len() {
                let (own, weight) = (side[clump] as usize, self.weights[clump]);
                if clumps[own] == 1
                    || self.neighbours[clump].iter().all(|(near, _)| side[*near as usize] == own as u32)
                {
                    continue;
                }
                let mut towards = vec![0_i64; parts];
                for (near, flows) in &self.neighbours[clump] {
                    towards[side[*near as usize] as usize] += flows;
                }
                let gain = |part: usize| towards[part] - towards[own];
                let is_worth = |part: &usize| {
                    let after = weights[*part] + weight;
                    match gain(*part) {
                        _ if *part == own || towards[*part] == 0 => false,
                        gain if gain > 0 => after <= most,
                        // Balance: always if there is too much here, otherwise only if it costs nothing.
                        gain => after < weights[own] && (gain == 0 || weights[own] > most),
                    }
                };
                let best =
                    (0..parts).filter(is_worth).max_by_key(|part| (gain(*part), Reverse(weights[*part])));
                if let Some(part) = best {
                    side[clump] = part as u32;
                    (weights[own], weights[part]) = (weights[own] - weight, weights[part] + weight);
                    (clumps[own], clumps[part]) = (clumps[own] - 1, clumps[part] + 1);
                    moved += 1;
                }
            }
            if moved == 0 {
                break;
            }
        }
    }
}

/// The parts that a change of a link concerns: those of its ends.
pub(crate) fn parts_of_link(world: &World, cut: &Cut, link: weir_scenario::LinkId) -> [u32; 2] {
    let channel = &world.channels[channels_of(link)[0] as usize];
    [channel.from.0, channel.to.0].map(|node| cut.part_of[node as usize])
}
