//! QSCCP's rates over several paths as a fluid: equations (10) to (12) of the paper, iterated over a network
//! without packets, queues or round trips, with the results of (1) to (9) at each link.
//!
//! ```text
//!   consumer --> node i --- d, load --> node j --> producer        a round: loads and d of all next hops,
//!                       <---- u -------                            R of all links, u of all next hops
//! ```
//!
//! Each flow has its own prefix, one consumer and equal weight; classes are delay-tolerant. Rates are bit/s
//! of Data. A link has η of its rate for Data, less the Interests in its direction, but at least half of
//! that, as in the optimum.
#![allow(clippy::unwrap_used, dead_code, reason = "a test fails by panicking, and not all use all of this")]

use std::collections::BTreeMap;

use weir_scenario::Scenario;

/// γ: a claim with at least this part of its base rate as demand gets a part of the spare rate, (5) and (7).
const GAMMA: f64 = 0.95;
/// The smallest demand of a flow that a face knows, a Data in ten seconds, bit/s.
const KNOWN: f64 = 860.0;
/// The part of the difference by which R changes in a round. With whole steps, all flows of a link follow at
/// once, and rates oscillate.
const STEP: f64 = 0.5;

/// The rules of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    pub suggested: Suggested,
    pub division: Division,
    pub forwarding: Forwarding,
}

/// R_f of a flow that requests less than γ of its base rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Suggested {
    /// base_f, (9).
    Base,
    /// The link's offer if the flow requested more.
    Offered,
}

/// The rate of a downstream face out of Σu.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Division {
    /// d_i/Σd·Σu, (11).
    Proportional,
    /// (11), but at least what the d of the other faces leave.
    Leftover,
    /// The max-min fair part: the rate of the face with unlimited demand, while the others request d.
    WaterFilling,
}

/// f_j.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Forwarding {
    /// u_j/Σu, (12).
    Proportional,
    /// In the ratio of the next hops' offers if no node divided Σu, at most u_j. The optimum does this. Data
    /// would have to carry this offer in addition to TargetRate.
    Undivided,
}

/// The paper's equations.
pub const PAPER: Rules = Rules {
    suggested: Suggested::Base,
    division: Division::Proportional,
    forwarding: Forwarding::Proportional,
};

/// A next hop of a flow: Interests go from index `from` to index `to` of its nodes, and Data come back.
#[derive(Clone, Copy, Debug)]
struct Hop {
    from: usize,
    to: usize,
    data: usize,
    interests: usize,
}

/// The routes of a flow. Its consumer has index 0, and each node comes before its next hops.
#[derive(Clone, Debug)]
struct Routes {
    class: usize,
    produces: Vec<bool>,
    /// The hops, ordered by their first nodes.
    hops: Vec<Hop>,
    /// For each node the index of its first hop; one more at the end.
    first: Vec<usize>,
    /// For each node the hops that end there.
    into: Vec<Vec<usize>>,
    /// The index of its first hop in the list of all.
    offset: usize,
}

/// The network, and the rates of all next hops of all flows.
#[derive(Clone, Debug)]
pub struct Fluid {
    rules: Rules,
    /// η·B of each direction of each link.
    capacity: Vec<f64>,
    omega: Vec<f64>,
    interest_ratio: f64,
    flows: Vec<Routes>,
    /// For each direction of a link, the next hops with their Data on it, by class, and those with their
    /// Interests on it.
    data_on: Vec<Vec<Vec<usize>>>,
    interests_on: Vec<Vec<usize>>,
    /// For each next hop: R, d, u, and the rate that is sent on it.
    suggested: Vec<f64>,
    down: Vec<f64>,
    up: Vec<f64>,
    /// Its offer if nothing were divided.
    offer: Vec<f64>,
    load: Vec<f64>,
    /// The request of each flow: Σu at its consumer.
    rate: Vec<f64>,
    /// The nodes, kept for their memory.
    nodes: Vec<Node>,
}

/// The inputs of a node of the current flow: its Interests, as a rate of Data, and Σd.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    comes: f64,
    down: f64,
}

impl Fluid {
    /// `omega` has the weights of classes AF4 to BE, and `interest_ratio` is the bits of an Interest for each
    /// bit of its Data.
    pub fn new(scenario: &Scenario, omega: [f64; 5], eta: f64, interest_ratio: f64, rules: Rules) -> Fluid {
        let mut fibs = BTreeMap::new();
        for route in &scenario.routes {
            let hops: Vec<usize> = route.next_hops.iter().map(|hop| hop.node.index()).collect();
            fibs.insert((&*route.prefix, route.node.index()), hops);
        }
        let (mut flows, mut hops) = (Vec::new(), 0);
        for flow in &scenario.flows {
            flows.push(Routes::new(scenario, flow, &fibs, hops));
            hops += flows.last().unwrap().hops.len();
        }
        let channels = 2 * scenario.links.len();
        let mut data_on = vec![vec![Vec::new(); omega.len()]; channels];
        let mut interests_on = vec![Vec::new(); channels];
        for flow in &flows {
            for (at, hop) in flow.hops.iter().enumerate() {
                data_on[hop.data][flow.class].push(flow.offset + at);
                interests_on[hop.interests].push(flow.offset + at);
            }
        }
        let rates = scenario.links.iter().flat_map(|link| link.rate);
        Fluid {
            rules,
            capacity: rates.map(|rate| eta * rate.as_bps_f64()).collect(),
            omega: omega.to_vec(),
            interest_ratio,
            rate: vec![0.0; flows.len()],
            flows,
            data_on,
            interests_on,
            suggested: vec![0.0; hops],
            down: vec![f64::INFINITY; hops],
            up: vec![0.0; hops],
            offer: vec![1.0; hops],
            load: vec![0.0; hops],
            nodes: Vec::new(),
        }
    }

    /// Starts elsewhere: each u is a part of its value after the first round, drawn from 2 % to 100 %.
    pub fn begin_elsewhere(&mut self, seed: u64) {
        self.round(1.0);
        let mut state = seed;
        for up in &mut self.up {
            // Knuth's linear congruential generator.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *up *= 0.02 + 0.98 * (state >> 11) as f64 / (1u64 << 53) as f64;
        }
    }

    /// Makes this number of rounds. Returns the mean rate of each flow over the last quarter of them, bit/s
    /// of Data.
    pub fn run(&mut self, rounds: usize) -> Vec<f64> {
        let mut mean = vec![0.0; self.rate.len()];
        let counted = (rounds / 4).max(1);
        for round in 0..rounds {
            self.round(if round == 0 { 1.0 } else { STEP });
            if round + counted >= rounds {
                mean.iter_mut().zip(&self.rate).for_each(|(sum, rate)| *sum += rate / counted as f64);
            }
        }
        mean
    }

    /// One round: Interests go up, links suggest rates, and Data come down.
    fn round(&mut self, step: f64) {
        for flow in 0..self.flows.len() {
            self.forward(flow);
        }
        for channel in 0..self.capacity.len() {
            self.suggest(channel, step);
        }
        for flow in 0..self.flows.len() {
            self.feed_back(flow);
        }
    }

    /// (12) and (10): computes the rate sent on each next hop of a flow, and its d.
    fn forward(&mut self, flow: usize) {
        let routes = &self.flows[flow];
        self.nodes.clear();
        self.nodes.resize(routes.produces.len(), Node::default());
        self.nodes[0] = Node { comes: self.rate[flow], down: f64::INFINITY };
        for at in 0..routes.produces.len() {
            let own = routes.first[at]..routes.first[at + 1];
            let of = |list: &[f64]| list[routes.offset..][own.clone()].to_vec();
            let parts = parts(self.rules.forwarding, &of(&self.up), &of(&self.offer), self.nodes[at].down);
            for (hop, part) in own.clone().zip(parts) {
                let all = routes.offset + hop;
                let Node { comes, down, .. } = self.nodes[at];
                self.load[all] = part * comes;
                let passed_on = if down.is_finite() { part * down } else { down };
                self.down[all] = passed_on.min(self.suggested[all]);
                let next = &mut self.nodes[routes.hops[hop].to];
                next.comes += self.load[all];
                next.down += self.down[all];
            }
        }
    }

    /// (1) to (9): computes R of each flow on a link.
    fn suggest(&mut self, channel: usize, step: f64) {
        let interests: f64 = self.interests_on[channel].iter().map(|hop| self.load[*hop]).sum();
        let eta_b = self.capacity[channel];
        let available = (eta_b - self.interest_ratio * interests).max(eta_b / 2.0);
        let classes: Vec<(f64, f64)> = self.data_on[channel]
            .iter()
            .zip(&self.omega)
            .map(|(hops, omega)| (*omega, hops.iter().map(|hop| self.load[*hop]).sum()))
            .collect();
        let rates = self.class_rates(available, &classes);
        for (hops, rate) in self.data_on[channel].iter().zip(rates) {
            let mut known: Vec<f64> = hops.iter().map(|hop| self.load[*hop]).filter(|l| *l > KNOWN).collect();
            known.sort_by(f64::total_cmp);
            let flows = known.len() as f64;
            for &hop in hops {
                let load = self.load[hop];
                let base = if load > KNOWN { rate / flows } else { rate / (flows + 1.0) };
                let is_high = load >= GAMMA * base;
                let others = || {
                    let own = known.iter().position(|other| *other == load && load > KNOWN);
                    let others = known.iter().enumerate().filter(move |(at, _)| Some(*at) != own);
                    others.map(|(_, load)| (1.0, *load))
                };
                let offered = share(rate, 1.0, others());
                let told = if is_high || self.rules.suggested == Suggested::Offered { offered } else { base };
                self.suggested[hop] += step * (told - self.suggested[hop]);
            }
        }
    }

    /// (5), (6): returns B_c of each class, from its weight and demand.
    fn class_rates(&self, available: f64, classes: &[(f64, f64)]) -> Vec<f64> {
        let weights: f64 = classes.iter().map(|(omega, _)| omega).sum();
        let base = |omega: f64| available * omega / weights;
        let offered = |own: usize| {
            let mut others: Vec<(f64, f64)> = classes.to_vec();
            others.remove(own);
            others.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
            share(available, classes[own].0, others.into_iter())
        };
        let is_high = |(omega, asks): &(f64, f64)| *asks > 0.0 && *asks >= GAMMA * base(*omega);
        let any_high = classes.iter().any(is_high);
        let rate = |own: usize| {
            // If none requests more, the spare rate goes to those that request less.
            let is_told_all =
                is_high(&classes[own]) || !any_high || self.rules.suggested == Suggested::Offered;
            if is_told_all { offered(own) } else { base(classes[own].0) }
        };
        (0..classes.len()).map(rate).collect()
    }

    /// (11), and the smaller of it and R: computes u of each next hop of a flow, from producers to the
    /// consumer.
    fn feed_back(&mut self, flow: usize) {
        let routes = &self.flows[flow];
        for at in (0..routes.produces.len()).rev() {
            let sum = |of: &[f64]| match routes.produces[at] {
                true => f64::INFINITY,
                false => of[routes.offset..][routes.first[at]..routes.first[at + 1]].iter().sum(),
            };
            let (up, offer) = (sum(&self.up), sum(&self.offer));
            // The consumer comes last.
            self.rate[flow] = up;
            for hop in &routes.into[at] {
                let all = routes.offset + hop;
                self.offer[all] = offer.min(self.suggested[all]);
            }
            let down: Vec<f64> = routes.into[at].iter().map(|hop| self.down[routes.offset + hop]).collect();
            for (place, hop) in routes.into[at].iter().enumerate() {
                let told = if up.is_finite() { told(self.rules.division, up, &down, place) } else { up };
                let all = routes.offset + hop;
                self.up[all] = told.min(self.suggested[all]);
            }
        }
    }

    /// Returns the rate of each flow if it alone used everything that links would give it: the maximum flow
    /// over its offers. In a link-fair allocation no flow could have more than it has.
    pub fn could_have(&self) -> Vec<f64> {
        let mut all = self.clone();
        all.rules.suggested = Suggested::Offered;
        (0..all.capacity.len()).for_each(|channel| all.suggest(channel, 1.0));
        all.flows.iter().map(|routes| routes.maximum_flow(&all.suggested)).collect()
    }

    /// Returns the largest excess of Data and Interests over η·B on a link, as a part of it.
    pub fn excess(&self) -> f64 {
        let sum = |hops: &[usize]| hops.iter().map(|hop| self.load[*hop]).sum::<f64>();
        let of = |channel: usize| {
            let data: f64 = self.data_on[channel].iter().map(|hops| sum(hops)).sum();
            let interests =
                (self.interest_ratio * sum(&self.interests_on[channel])).min(self.capacity[channel] / 2.0);
            (data + interests) / self.capacity[channel] - 1.0
        };
        (0..self.capacity.len()).map(of).fold(0.0, f64::max)
    }
}

impl Routes {
    fn new(
        scenario: &Scenario,
        flow: &weir_scenario::Flow,
        fibs: &BTreeMap<(&str, usize), Vec<usize>>,
        offset: usize,
    ) -> Routes {
        let produces = |node: usize| flow.producers.iter().any(|producer| producer.index() == node);
        let next_hops = |node: usize| match fibs.get(&(flow.prefix.as_str(), node)) {
            Some(hops) if !produces(node) => hops.as_slice(),
            _ => &[],
        };
        // A node is finished after all nodes to which it leads.
        let mut finished: Vec<usize> = Vec::new();
        let mut stack = vec![(flow.consumer.index(), 0)];
        while let Some((node, at)) = stack.pop() {
            match next_hops(node).get(at) {
                Some(next) => {
                    stack.push((node, at + 1));
                    if !finished.contains(next) {
                        stack.push((*next, 0));
                    }
                }
                None if finished.contains(&node) => {}
                None => finished.push(node),
            }
        }
        finished.reverse();
        let (mut hops, mut first) = (Vec::new(), vec![0]);
        let mut into = vec![Vec::new(); finished.len()];
        for (from, &node) in finished.iter().enumerate() {
            for next in next_hops(node) {
                let to = finished.iter().position(|node| node == next).unwrap();
                assert!(to > from, "routes have no loop");
                let link =
                    scenario.link_between(weir_scenario::NodeId(node), weir_scenario::NodeId(*next)).unwrap();
                let channel = |direction: usize| 2 * link.link.index() + direction;
                into[to].push(hops.len());
                let (data, interests) = (channel(1 - link.direction), channel(link.direction));
                hops.push(Hop { from, to, data, interests });
            }
            first.push(hops.len());
        }
        let produces = finished.iter().map(|node| produces(*node)).collect();
        let class = flow.class as usize - weir_packet::ServiceClass::DELAY_SENSITIVE;
        Routes { class, produces, hops, first, into, offset }
    }
}

impl Routes {
    /// Returns the maximum flow from the consumer to the producers, with these capacities of hops (Edmonds
    /// and Karp).
    fn maximum_flow(&self, bears: &[f64]) -> f64 {
        let bears = &bears[self.offset..self.offset + self.hops.len()];
        let least = 1e-9 * bears.iter().copied().fold(0.0, f64::max);
        let (mut on, mut total) = (vec![0.0; bears.len()], 0.0);
        loop {
            // For each reached node: the hop, and whether along it.
            let mut by: Vec<Option<(usize, bool)>> = vec![None; self.produces.len()];
            let mut queue = vec![0];
            let mut next = 0;
            let mut end = None;
            while let (Some(&at), None) = (queue.get(next), end) {
                next += 1;
                end = self.produces[at].then_some(at);
                let along = (self.first[at]..self.first[at + 1]).filter(|hop| bears[*hop] - on[*hop] > least);
                let against = self.into[at].iter().copied().filter(|hop| on[*hop] > least);
                let steps = along.map(|hop| (hop, true)).chain(against.map(|hop| (hop, false)));
                for (hop, is_along) in steps.collect::<Vec<_>>() {
                    let to = if is_along { self.hops[hop].to } else { self.hops[hop].from };
                    if to != 0 && by[to].is_none() {
                        by[to] = Some((hop, is_along));
                        queue.push(to);
                    }
                }
            }
            let Some(end) = end else { return total };
            let mut steps = Vec::new();
            let mut at = end;
            while let Some((hop, is_along)) = by[at] {
                steps.push((hop, is_along));
                at = if is_along { self.hops[hop].from } else { self.hops[hop].to };
            }
            let left =
                |(hop, is_along): &(usize, bool)| if *is_along { bears[*hop] - on[*hop] } else { on[*hop] };
            let amount = steps.iter().map(left).fold(f64::INFINITY, f64::min);
            for (hop, is_along) in steps {
                on[hop] += if is_along { amount } else { -amount };
            }
            total += amount;
        }
    }
}

/// Returns the share of `rate` with unlimited demand, while others keep their wishes: by weight, with the
/// parts of those that want less. `others` has weight and wish, ordered by the wish divided by the weight.
fn share(rate: f64, own: f64, others: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let mut left = rate;
    let mut weights: f64 = own + others.clone().map(|(weight, _)| weight).sum::<f64>();
    for (weight, wish) in others {
        if wish >= left / weights * weight {
            break;
        }
        left -= wish;
        weights -= weight;
    }
    left / weights * own
}

/// Returns f_j of each next hop, from u and Σd.
fn parts(forwarding: Forwarding, up: &[f64], offers: &[f64], down: f64) -> Vec<f64> {
    let normal = |of: Vec<f64>| {
        let sum: f64 = of.iter().sum();
        let parts = of.iter().map(|u| if sum > 0.0 { u / sum } else { 1.0 / of.len() as f64 });
        parts.collect::<Vec<f64>>()
    };
    match forwarding {
        Forwarding::Proportional => normal(up.to_vec()),
        Forwarding::Undivided => {
            let all: f64 = up.iter().sum();
            if down >= all {
                return normal(up.to_vec());
            }
            let mut by_need: Vec<usize> = (0..up.len()).collect();
            by_need.sort_by(|a, b| (up[*a] * offers[*b]).total_cmp(&(up[*b] * offers[*a])));
            let (mut left, mut weights) = (down, offers.iter().sum::<f64>());
            let mut parts = vec![0.0; up.len()];
            for at in by_need {
                parts[at] = up[at].min(left * offers[at] / weights);
                left -= parts[at];
                weights -= offers[at];
            }
            normal(parts)
        }
    }
}

/// Returns the rate that downstream face `own` is told, from `up` and all d.
fn told(division: Division, up: f64, down: &[f64], own: usize) -> f64 {
    let of = |face: usize| down[face].min(up);
    let all: f64 = (0..down.len()).map(of).sum();
    let proportional = if all > 0.0 { of(own) / all * up } else { f64::INFINITY };
    match division {
        Division::Proportional => proportional,
        Division::Leftover => proportional.max(up - (all - of(own))),
        Division::WaterFilling => {
            let mut others: Vec<f64> = (0..down.len()).filter(|face| *face != own).map(of).collect();
            others.sort_by(f64::total_cmp);
            share(up, 1.0, others.into_iter().map(|wish| (1.0, wish)))
        }
    }
}
