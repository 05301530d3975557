//! One consumer on its routes: its largest rate with the given shares of links, the split between next hops,
//! and its bottlenecks.

use crate::network::Stream;

/// A part of the whole below this is rounding.
const ROUNDING: f64 = 1e-12;
/// A share is used up if at most this part of it is left.
const USED_UP: f64 = 1e-7;

/// A maximum flow of one consumer. It is reused to keep its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// The flow on each arc of the stream.
    pub flow: Vec<f64>,
    /// The total flow.
    pub total: f64,
    offer: Vec<f64>,
    part: Vec<f64>,
    reached_by: Vec<Option<Step>>,
    queue: Vec<usize>,
}

/// A step along an arc, or against it to take back a part of its flow.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Begin,
    Along(usize),
    Against(usize),
}

impl Paths {
    /// Finds the largest rate of a consumer at `node`, up to its demand, with `share` of each arc. Each node
    /// splits by the offers of its next hops, as far as this loses nothing.
    pub fn find(&mut self, stream: &Stream, node: usize, demand: f64, share: &[f64]) {
        self.flow.clear();
        self.flow.resize(stream.arcs.len(), 0.0);
        self.total = 0.0;
        if stream.produces[node] {
            return;
        }
        if !stream.forks {
            self.total = along(stream, node, demand, share);
            stream.chain(node).for_each(|arc| self.flow[arc] = self.total);
            return;
        }
        let most = self.offers(stream, node, share).min(demand);
        if most <= 0.0 {
            return;
        }
        // If paths join, one step may use up a share that several paths count on. Then another step follows.
        while self.total < most * (1.0 - ROUNDING) {
            let offer = self.offers(stream, node, share);
            if offer <= most * ROUNDING || !self.advance(stream, node, (most - self.total).min(offer), share)
            {
                break;
            }
        }
        while self.total < most * (1.0 - ROUNDING) && self.augment(stream, node, most, share) {}
    }

    /// Removes the widest path of the flow. Returns its arcs, from the consumer on.
    pub fn take_widest(&mut self, stream: &Stream, node: usize) -> Option<Vec<usize>> {
        let mut width = vec![0.0f64; stream.nodes.len()];
        let mut next = vec![None; stream.nodes.len()];
        for at in (node..stream.nodes.len()).rev() {
            if stream.produces[at] {
                width[at] = f64::INFINITY;
                continue;
            }
            for arc in stream.arcs_of(at) {
                let through = self.flow[arc].min(width[stream.arcs[arc].to]);
                if through > width[at] {
                    (width[at], next[at]) = (through, Some(arc));
                }
            }
        }
        let mut path = Vec::new();
        let mut at = node;
        while let Some(arc) = next[at] {
            self.flow[arc] -= width[node];
            path.push(arc);
            at = stream.arcs[arc].to;
        }
        (width[node] > self.total * ROUNDING && !path.is_empty()).then_some(path)
    }

    /// Computes what each node can offer with the remaining shares. Returns the offer of `node`.
    fn offers(&mut self, stream: &Stream, node: usize, share: &[f64]) -> f64 {
        self.offer.clear();
        self.offer.resize(stream.nodes.len(), 0.0);
        for at in (node..stream.nodes.len()).rev() {
            self.offer[at] = if stream.produces[at] {
                f64::INFINITY
            } else {
                let arcs = stream.arcs_of(at);
                arcs.map(|arc| self.offer_by(stream, arc, share)).sum()
            };
        }
        self.offer[node]
    }

    fn offer_by(&self, stream: &Stream, arc: usize, share: &[f64]) -> f64 {
        (share[arc] - self.flow[arc]).max(0.0).min(self.offer[stream.arcs[arc].to])
    }

    /// Adds up to `amount`, split by the offers of next hops; less if a share is used up before.
    fn advance(&mut self, stream: &Stream, node: usize, amount: f64, share: &[f64]) -> bool {
        let mut arriving = core::mem::take(&mut self.part);
        arriving.clear();
        arriving.resize(stream.nodes.len() + stream.arcs.len(), 0.0);
        let (at_node, by_arc) = arriving.split_at_mut(stream.nodes.len());
        at_node[node] = 1.0;
        let mut step = amount;
        for at in node..stream.nodes.len() {
            if at_node[at] <= 0.0 || stream.produces[at] {
                continue;
            }
            for arc in stream.arcs_of(at) {
                let offer = self.offer_by(stream, arc, share);
                by_arc[arc] = at_node[at] * offer / self.offer[at];
                at_node[stream.arcs[arc].to] += by_arc[arc];
                if by_arc[arc] > 0.0 {
                    step = step.min((share[arc] - self.flow[arc]) / by_arc[arc]);
                }
            }
        }
        for (flow, part) in self.flow.iter_mut().zip(by_arc) {
            *flow += step * *part;
        }
        self.total += step;
        self.part = arriving;
        step > amount * ROUNDING
    }

    /// Adds one path with remaining shares. If necessary it takes back flow that another path can carry
    /// (Edmonds and Karp).
    fn augment(&mut self, stream: &Stream, node: usize, most: f64, share: &[f64]) -> bool {
        self.reach(stream, node, |flow, share| share - flow > most * ROUNDING, most * ROUNDING, share);
        let end = (0..stream.nodes.len()).find(|&at| stream.produces[at] && self.reached_by[at].is_some());
        let Some(end) = end else { return false };
        let mut amount = most - self.total;
        self.along(stream, end, |paths, step| {
            amount = amount.min(match step {
                Step::Along(arc) => share[arc] - paths.flow[arc],
                Step::Against(arc) => paths.flow[arc],
                Step::Begin => amount,
            });
        });
        self.along(stream, end, |paths, step| match step {
            Step::Along(arc) => paths.flow[arc] += amount,
            Step::Against(arc) => paths.flow[arc] = (paths.flow[arc] - amount).max(0.0),
            Step::Begin => {}
        });
        self.total += amount;
        true
    }

    /// Visits the steps to a reached node, the last one first.
    fn along(&mut self, stream: &Stream, mut at: usize, mut then: impl FnMut(&mut Paths, Step)) {
        while let Some(step) = self.reached_by[at] {
            at = match step {
                Step::Begin => return,
                Step::Along(arc) => stream.arcs[arc].from,
                Step::Against(arc) => stream.arcs[arc].to,
            };
            then(self, step);
        }
    }

    /// Marks the nodes that `node` reaches by arcs with remaining shares, or against arcs with a flow above
    /// `least`.
    fn reach(
        &mut self,
        stream: &Stream,
        node: usize,
        has_left: impl Fn(f64, f64) -> bool,
        least: f64,
        share: &[f64],
    ) {
        self.reached_by.clear();
        self.reached_by.resize(stream.nodes.len(), None);
        self.reached_by[node] = Some(Step::Begin);
        self.queue.clear();
        self.queue.push(node);
        let mut next = 0;
        while let Some(&at) = self.queue.get(next) {
            next += 1;
            if stream.produces[at] {
                continue;
            }
            let along = stream.arcs_of(at).filter(|&arc| has_left(self.flow[arc], share[arc]));
            let along = along.map(|arc| (stream.arcs[arc].to, Step::Along(arc)));
            let against = stream.arcs_into(at).filter(|&arc| self.flow[arc] > least);
            let against = against.map(|arc| (stream.arcs[arc].from, Step::Against(arc)));
            for (to, step) in along.chain(against) {
                if self.reached_by[to].is_none() {
                    self.reached_by[to] = Some(step);
                    self.queue.push(to);
                }
            }
        }
    }

    /// Finds the arcs that limit the consumer, after its rate has been computed: a cut between it and all
    /// producers, of shares that are used up; empty if nothing limits it.
    pub fn cut(&mut self, stream: &Stream, node: usize, share: &[f64], cut: &mut Vec<usize>) {
        cut.clear();
        if !stream.forks {
            cut.extend(stream.chain(node).find(|arc| self.total >= share[*arc] * (1.0 - USED_UP)));
            return;
        }
        let least = self.total * USED_UP;
        self.reach(stream, node, |flow, share| flow < share * (1.0 - USED_UP), least, share);
        let reached = |at: usize| self.reached_by[at].is_some();
        if (0..stream.nodes.len()).any(|at| stream.produces[at] && reached(at)) {
            return;
        }
        let across = |arc: &usize| reached(stream.arcs[*arc].from) && !reached(stream.arcs[*arc].to);
        cut.extend((0..stream.arcs.len()).filter(across));
    }
}

/// Returns the rate of a consumer at `node` along its only path, up to its demand.
pub(crate) fn along(stream: &Stream, node: usize, demand: f64, share: &[f64]) -> f64 {
    let (mut least, mut at) = (demand, node);
    while !stream.produces[at] {
        let arc = stream.first_arc[at];
        if arc == stream.first_arc[at + 1] {
            return 0.0;
        }
        least = least.min(share[arc]);
        at = stream.arcs[arc].to;
    }
    if at == node { 0.0 } else { least.max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Arc;
    use proptest::prelude::*;
    use weir_packet::ServiceClass;

    /// Returns a stream over these arcs. The last node produces.
    fn stream(nodes: usize, ends: &[(usize, usize)]) -> Stream {
        let mut ends = ends.to_vec();
        ends.sort_unstable();
        let arc = |(at, (from, to)): (usize, &(usize, usize))| Arc {
            from: *from,
            to: *to,
            channel: 2 * at,
            back: 2 * at + 1,
        };
        let mut stream = Stream {
            class: ServiceClass::Be,
            weight: 1.0,
            limit: f64::INFINITY,
            interest_ratio: 0.0,
            content_ratio: 1.0,
            sizes: Default::default(),
            nodes: (0..nodes).collect(),
            produces: (0..nodes).map(|node| node == nodes - 1).collect(),
            may_cache: vec![false; nodes],
            arcs: ends.iter().enumerate().map(arc).collect(),
            first_arc: Vec::new(),
            into: Vec::new(),
            first_into: Vec::new(),
            forks: false,
            consumers: vec![(0, 0)],
        };
        stream.list_arcs();
        stream
    }

    fn found(stream: &Stream, demand: f64, share: &[f64]) -> Paths {
        let mut paths = Paths::default();
        paths.find(stream, 0, demand, share);
        paths
    }

    #[test]
    fn a_node_splits_by_what_its_next_hops_offer() {
        // The paths 0 - 1 - 3 and 0 - 2 - 3.
        let two = stream(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let paths = found(&two, 6.0, &[9.0, 4.0, 8.0, 9.0]);
        assert_eq!((paths.total, paths.flow), (6.0, vec![4.0, 2.0, 4.0, 2.0]));
    }

    #[test]
    fn the_diamond_of_qsccp_brings_14() {
        // R2 is 0, R4 1, R3 2, R5 3, R6 4; scenario 3, case I.
        let ends = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4)];
        let paths = found(&stream(5, &ends), 1e9, &[8.0, 1.0, 5.0, 6.0, 2.0, 7.0, 7.0]);
        assert!((paths.total - 14.0).abs() < 1e-9, "{paths:?}");
    }

    #[test]
    fn what_one_way_needs_another_leaves_to_it() {
        // The paths 0 -> 1 -> 3 -> 5 and 0 -> 2 -> {3, 4} -> 5. Node 3 brings 5, all of which node 1 needs.
        let ends = [(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5)];
        let share = [5.0; 7];
        let paths = found(&stream(6, &ends), 1e9, &share);
        assert!((paths.total - 10.0).abs() < 1e-9, "{paths:?}");
    }

    /// Returns the smallest cut over all sets of nodes.
    fn least_cut(stream: &Stream, share: &[f64]) -> f64 {
        let n = stream.nodes.len();
        let sides = (0..1usize << n).filter(|set| set & 1 == 1 && set >> (n - 1) & 1 == 0);
        let of = |set: usize| {
            let arcs = stream.arcs.iter().zip(share);
            arcs.filter(|(arc, _)| set >> arc.from & 1 == 1 && set >> arc.to & 1 == 0).map(|(_, s)| s).sum()
        };
        sides.map(of).fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn as_much_comes_as_the_least_cut_lets_through(
            nodes in 2usize..8,
            all in prop::collection::vec((0usize..8, 0usize..8, 0.0f64..10.0), 1..20),
            demand in prop_oneof![Just(1e9), 0.0f64..20.0],
        ) {
            let mut ends: Vec<_> = all.iter().map(|(a, b, _)| (a % nodes, b % nodes)).filter(|(a, b)| a < b).collect();
            ends.sort_unstable();
            ends.dedup();
            let stream = stream(nodes, &ends);
            let share: Vec<f64> = all.iter().map(|(_, _, s)| *s).take(ends.len()).collect();
            let mut paths = found(&stream, demand, &share);
            let bound = least_cut(&stream, &share);
            prop_assert!((paths.total - bound.min(demand)).abs() < 1e-9 * bound.max(1.0), "{} of {bound}", paths.total);
            for at in 0..nodes - 1 {
                let sum = |of: &dyn Fn(&Arc) -> bool| -> f64 {
                    stream.arcs.iter().zip(&paths.flow).filter(|(arc, _)| of(arc)).map(|(_, f)| f).sum()
                };
                let (comes, goes) = (sum(&|arc| arc.to == at), sum(&|arc| arc.from == at));
                let expected = if at == 0 { paths.total } else { comes };
                prop_assert!((goes - expected).abs() < 1e-9 * bound.max(1.0), "node {at}: {goes} of {expected}");
            }
            prop_assert!(paths.flow.iter().zip(&share).all(|(f, s)| *f <= s + 1e-9));
            let mut cut = Vec::new();
            paths.cut(&stream, 0, &share, &mut cut);
            if bound <= demand {
                let through: f64 = cut.iter().map(|&arc| share[arc]).sum();
                prop_assert!((through - bound).abs() < 1e-5 * bound.max(1.0), "cut {cut:?}: {through} of {bound}");
            } else {
                prop_assert!(cut.is_empty() || demand >= bound * (1.0 - 1e-6));
            }
        }
    }
}
