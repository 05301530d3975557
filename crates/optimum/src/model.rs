//! The convex program of a network: rates of flows, rates on each path, and the limits of links.
//!
//! If a stream has several consumers, an arc carries one copy: its load is the largest load of the consumers. On each
//! channel
//!
//! ```text
//!   Σ load of Data + Σ ratio · load of the Data whose Interests go here  ≤  η·C
//! ```
//!
//! There may be many paths, and most bounds are never reached. So a program starts with a few of each. Bounds
//! that the solution exceeds are added, and so are paths that gain more than they cost by the prices of
//! links. Then the program is solved again (column generation, Ford and Fulkerson 1958, and cutting planes).

use weir_core::seam::SharingPolicy;
use weir_packet::ServiceClass;

use crate::fair::{room_for_data, room_for_interests};
use crate::network::{Arc, Channel, Conditions, Network};
use crate::paths::Paths;
use crate::policy::DELAY_SENSITIVE;
use crate::program::{NoSolution, Program, Solution, Terms};

/// A price below this part of the largest counts as zero.
const PRICE: f64 = 1e-5;
/// A rate below this part of the largest counts as zero.
const NOTHING: f64 = 1e-6;
/// The cost of a shortfall of a settled flow whose path is still open, relative to the gain. It is far more
/// than a shortfall can bring, so there is none, but the solver has room.
const SHORTFALL: f64 = 100.0;
/// A bound counts as exceeded if the excess is larger than this part of it.
const EXCEEDED: f64 = 1e-6;
/// The smallest bound, as a part of the unit, because the solver needs room.
const LEAST: f64 = 1e-7;
/// A path is added if it is cheaper than its worth by at least this part.
const WORTH_ADDING: f64 = 1e-4;
/// The largest number of initial paths of a flow.
const FIRST_PATHS: usize = 4;

/// The rates of flows, the loads of arcs, and the limits of each flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Allocation {
    /// The rate of each flow, bit/s of Data.
    pub rate: Vec<f64>,
    /// The load of each arc in the list of all, bit/s of Data.
    pub load: Vec<f64>,
    /// The channels that limit each flow; empty if it has all that it requests.
    pub bound_by: Vec<Vec<Channel>>,
}

/// The loads of Interests and Data on each channel, bit/s.
#[derive(Clone, Debug)]
pub(crate) struct ChannelLoads {
    pub interests: Vec<f64>,
    pub data: Vec<f64>,
}

impl ChannelLoads {
    /// Returns the loads of channels for these loads of all arcs.
    pub fn of(network: &Network, load: &[f64], conditions: &Conditions) -> ChannelLoads {
        let channels = 0..network.channels.len();
        ChannelLoads {
            interests: channels.clone().map(|channel| network.interests(channel, load, conditions)).collect(),
            data: channels.map(|channel| network.data(channel, load, conditions)).collect(),
        }
    }
}

/// Returns the rate that each flow could have alone with this demand, bit/s: the maximum flow over its
/// routes.
pub(crate) fn alone(network: &Network, conditions: &Conditions, demand: &[f64]) -> Vec<f64> {
    let mut paths = Paths::default();
    let flows = demand.iter().enumerate();
    flows.map(|(flow, demand)| alone_rate(network, conditions, flow, *demand, &mut paths)).collect()
}

/// Returns the same for one flow.
pub(crate) fn alone_rate(
    network: &Network,
    conditions: &Conditions,
    flow: usize,
    demand: f64,
    paths: &mut Paths,
) -> f64 {
    if demand <= 0.0 {
        return 0.0;
    }
    let index = network.stream_of[flow];
    let stream = &network.streams[index];
    let node = network.node_of[flow];
    if !stream.forks {
        let ways = stream.chain(node).map(|arc| width(network, conditions, index, arc));
        return if stream.is_served(node) { ways.fold(demand, f64::min) } else { 0.0 };
    }
    paths.find(stream, node, demand, &widths(network, index, conditions));
    paths.total
}

/// Returns what each arc of a stream can carry if its links are empty.
fn widths(network: &Network, index: usize, conditions: &Conditions) -> Vec<f64> {
    (0..network.streams[index].arcs.len()).map(|arc| width(network, conditions, index, arc)).collect()
}

/// Returns the same for one arc.
fn width(network: &Network, conditions: &Conditions, index: usize, arc: usize) -> f64 {
    let stream = &network.streams[index];
    let Arc { channel, back, .. } = stream.arcs[arc];
    let most = |channel: Channel| conditions.capacity[channel];
    let by_interests = match network.medium_of[back] {
        // The cost of their Data includes them.
        Some(_) if most(back) > 0.0 => f64::INFINITY,
        _ => most(back) / stream.interest_ratio,
    };
    conditions.by(network.first_arc[index] + arc, most(channel).min(by_interests).min(stream.limit))
}

/// The load that a bound of a channel limits.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    /// All Data.
    Data,
    /// Data of a delay-sensitive class.
    Class(usize),
    /// Interests.
    Interests,
    /// The air of the medium whose first channel this is.
    Air,
}

impl Counts {
    const ALL: [Counts; DELAY_SENSITIVE + 3] =
        [Counts::Data, Counts::Interests, Counts::Air, Counts::Class(0), Counts::Class(1), Counts::Class(2)];
}

/// A bound of a channel in a program.
#[derive(Debug)]
struct ChannelBound {
    channel: Channel,
    counts: Counts,
    /// The index of its price.
    place: usize,
}

/// A sum of variables plus a constant.
#[derive(Clone, Debug, Default)]
struct Sum {
    terms: Terms,
    fixed: f64,
}

impl Sum {
    fn add(&mut self, other: &Sum, factor: f64) {
        self.terms.extend(other.terms.iter().map(|(variable, own)| (*variable, own * factor)));
        self.fixed += factor * other.fixed;
    }

    fn value(&self, solution: &Solution) -> f64 {
        self.fixed
            + self.terms.iter().map(|(variable, factor)| solution.value[*variable] * factor).sum::<f64>()
    }
}

/// A program with the current paths and bounds of the flows. Rates in it are in [`Model::unit`].
#[derive(Debug)]
pub(crate) struct Model {
    pub program: Program,
    /// The unit, bit/s.
    pub unit: f64,
    /// The flows in the program, in order.
    flows: Vec<usize>,
    /// For each flow the variable of its rate; `None` if its paths are fixed.
    rate: Vec<Option<usize>>,
    /// For each flow the rate on each of its paths.
    by_path: Vec<Vec<Sum>>,
    /// For each flow with several open paths: the index of the price of the rate on them.
    worth: Vec<Option<usize>>,
    /// The load of each arc. For a stream with several consumers it is a variable with the loads as lower
    /// bounds.
    load: Vec<Sum>,
    /// For each arc the rate on it to each consumer.
    parts: Vec<Vec<Sum>>,
    /// For each flow of a stream with several consumers: its arcs, each with the index of the price of its
    /// rate there.
    copies: Vec<Vec<(usize, usize)>>,
    bounds: Vec<ChannelBound>,
}

impl Model {
    /// Returns the variable of a flow's rate. The flow has to be open.
    pub fn rate_of(&self, flow: usize) -> usize {
        self.rate[flow].expect("an open flow has one")
    }
}

/// The settled flows so far, and the paths and bounds in the program.
#[derive(Debug)]
pub(crate) struct Stage<'n> {
    pub network: &'n Network,
    pub allocation: Allocation,
    /// Whether each flow is settled.
    pub is_settled: Vec<bool>,
    conditions: &'n Conditions,
    /// The policy, if its limits of classes apply.
    policy: Option<&'n SharingPolicy>,
    /// The given loads of other packets on each channel; without it, all packets are part of the program.
    others: Option<ChannelLoads>,
    alone: Vec<f64>,
    /// For each arc what it can carry if its links are empty.
    width: Vec<f64>,
    /// For each flow its paths in the program, each a list of arcs in the list of all.
    paths: Vec<Vec<Vec<usize>>>,
    /// For each flow with fixed paths: the rate on each, bit/s.
    fixed: Vec<Vec<f64>>,
    /// For each channel which of its bounds are in the program.
    watched: Vec<[bool; Counts::ALL.len()]>,
}

impl<'n> Stage<'n> {
    pub fn new(
        network: &'n Network,
        conditions: &'n Conditions,
        policy: Option<&'n SharingPolicy>,
        others: Option<ChannelLoads>,
    ) -> Stage<'n> {
        let flows = network.stream_of.len();
        let arcs = network.stream_of_arc.len();
        let mut stage = Stage {
            network,
            allocation: Allocation {
                rate: vec![0.0; flows],
                load: vec![0.0; arcs],
                bound_by: vec![Vec::new(); flows],
            },
            is_settled: vec![false; flows],
            conditions,
            policy,
            others,
            alone: alone(network, conditions, &conditions.demand),
            width: (0..network.streams.len()).flat_map(|index| widths(network, index, conditions)).collect(),
            paths: vec![Vec::new(); flows],
            fixed: vec![Vec::new(); flows],
            watched: vec![[false; Counts::ALL.len()]; network.channels.len()],
        };
        for index in 0..network.streams.len() {
            stage.add_first_paths(index);
        }
        stage
    }

    /// Adds the widest paths of each flow of a stream, for the rate that it would have alone.
    fn add_first_paths(&mut self, index: usize) {
        let stream = &self.network.streams[index];
        let arcs = self.network.arcs_of(index);
        let mut paths = Paths::default();
        for &(flow, node) in &stream.consumers {
            paths.find(stream, node, self.conditions.demand[flow], &self.width[arcs.clone()]);
            while self.paths[flow].len() < FIRST_PATHS {
                let Some(path) = paths.take_widest(stream, node) else { break };
                self.add_path(flow, path.into_iter().map(|arc| arcs.start + arc).collect());
            }
        }
    }

    /// Adds a path, and its bounds.
    fn add_path(&mut self, flow: usize, path: Vec<usize>) {
        let narrowest = path.iter().copied().min_by(|a, b| self.width[*a].total_cmp(&self.width[*b]));
        if let Some((_, by, back)) = narrowest.map(|arc| self.network.arc(arc)) {
            self.watched[by][0] = true;
            self.watched[back][1] = true;
            if let Some(medium) = self.network.medium_of[by] {
                self.watched[self.network.media[medium].start][2] = true;
            }
        }
        self.paths[flow].push(path);
    }

    /// Resets settled flows, but keeps the paths and bounds.
    pub fn begin_again(&mut self, others: ChannelLoads) {
        self.others = Some(others);
        self.is_settled.fill(false);
        self.fixed.fill(Vec::new());
        self.allocation.rate.fill(0.0);
        self.allocation.load.fill(0.0);
        self.allocation.bound_by.fill(Vec::new());
    }

    /// Returns the flows of some classes that can have a rate.
    pub fn takers(&self, classes: &core::ops::Range<usize>) -> Vec<usize> {
        let can_have = (0..self.alone.len()).filter(|&flow| self.alone[flow] > 0.0);
        can_have.filter(|&flow| classes.contains(&(self.network.class(flow) as usize))).collect()
    }

    /// Solves for these flows beside the settled ones, with the additions of `aim` to the program, until no
    /// bound is exceeded and no path is worth adding.
    ///
    /// # Errors
    /// Returns [`NoSolution`] if the solver gave up.
    pub fn solve(
        &mut self,
        open: &[usize],
        mut aim: impl FnMut(&mut Model),
    ) -> Result<(Model, Solution), NoSolution> {
        loop {
            let mut model = self.model(open);
            if open.is_empty() {
                return Ok((model, Solution::default()));
            }
            aim(&mut model);
            let solution = model.program.maximise()?;
            let part = |sum: &Sum| sum.value(&solution).max(0.0);
            let most = |parts: &Vec<Sum>| parts.iter().map(part).fold(0.0, f64::max);
            let loads: Vec<f64> = model.parts.iter().map(most).collect();
            let exceeded = self.watch_exceeded(&model, &loads);
            let added = self.add_paths(&model, &solution);
            if !exceeded && !added {
                self.allocation.load = loads.iter().map(|load| load * model.unit).collect();
                return Ok((model, solution));
            }
        }
    }

    fn model(&self, open: &[usize]) -> Model {
        let flows = self.alone.len();
        let taking_part =
            (0..flows).filter(|flow| self.is_settled[*flow] || open.binary_search(flow).is_ok());
        let taking_part: Vec<usize> = taking_part.collect();
        let mut model = Model {
            program: Program::default(),
            unit: taking_part.iter().map(|&flow| self.alone[flow]).fold(f64::MIN_POSITIVE, f64::max),
            rate: vec![None; flows],
            by_path: vec![Vec::new(); flows],
            worth: vec![None; flows],
            load: vec![Sum::default(); self.width.len()],
            parts: vec![Vec::new(); self.width.len()],
            copies: vec![Vec::new(); flows],
            bounds: Vec::new(),
            flows: taking_part,
        };
        for flow in model.flows.clone() {
            self.add_flow(&mut model, flow);
        }
        for stream in 0..self.network.streams.len() {
            self.add_loads(&mut model, stream);
        }
        for channel in 0..self.network.channels.len() {
            for at in (0..Counts::ALL.len()).filter(|&at| self.watched[channel][at]) {
                self.add_bound(&mut model, channel, Counts::ALL[at]);
            }
        }
        model
    }

    /// Adds the variables of a flow: its rate, and the rate on each of its paths. Settled values are fixed.
    fn add_flow(&self, model: &mut Model, flow: usize) {
        if !self.fixed[flow].is_empty() {
            let fixed = |rate: &f64| Sum { terms: Vec::new(), fixed: rate / model.unit };
            model.by_path[flow] = self.fixed[flow].iter().map(fixed).collect();
            return;
        }
        let most = self.alone[flow] / model.unit;
        let rate = model.program.variable();
        model.rate[flow] = Some(rate);
        let of = |variable: usize| Sum { terms: vec![(variable, 1.0)], fixed: 0.0 };
        if self.network.streams[self.network.stream_of[flow]].forks {
            let paths: Vec<usize> = self.paths[flow].iter().map(|_| model.program.variable()).collect();
            let mut terms: Terms = paths.iter().map(|path| (*path, -1.0)).collect();
            terms.push((rate, 1.0));
            model.worth[flow] = Some(model.program.zero(terms));
            model.by_path[flow] = paths.into_iter().map(of).collect();
        } else {
            model.by_path[flow] = vec![of(rate)];
        }
        if self.conditions.demand[flow].is_finite() {
            model.program.at_most(vec![(rate, 1.0)], most);
        }
        if self.is_settled[flow] {
            let shortfall = model.program.variable();
            let held = self.allocation.rate[flow] / model.unit;
            model.program.at_most(vec![(rate, -1.0), (shortfall, -1.0)], -held);
            model.program.worth(shortfall, -SHORTFALL);
        }
    }

    /// Adds the loads of a stream's arcs: the rate to its one consumer, or a variable that is at least the
    /// rate to each.
    fn add_loads(&self, model: &mut Model, index: usize) {
        let stream = &self.network.streams[index];
        let arcs = self.network.arcs_of(index);
        let taking_part = |(flow, _): &&(usize, usize)| model.flows.binary_search(flow).is_ok();
        let consumers: Vec<(usize, usize)> = stream.consumers.iter().filter(taking_part).copied().collect();
        let mut loads: Vec<Vec<Sum>> = Vec::new();
        for (flow, _) in &consumers {
            let mut own = vec![Sum::default(); arcs.len()];
            for (path, by) in self.paths[*flow].iter().zip(&model.by_path[*flow]) {
                path.iter().for_each(|arc| own[arc - arcs.start].add(by, 1.0));
            }
            loads.push(own);
        }
        if let [only] = &mut loads[..] {
            for (arc, own) in arcs.zip(only) {
                model.load[arc] = own.clone();
                model.parts[arc].push(core::mem::take(own));
            }
            return;
        }
        let useful: Vec<Vec<bool>> = consumers.iter().map(|(_, node)| self.useful(index, *node)).collect();
        for (arc, at) in arcs.enumerate() {
            let of: Vec<usize> = (0..consumers.len()).filter(|&of| useful[of][arc]).collect();
            if of.is_empty() {
                continue;
            }
            let load = model.program.variable();
            model.load[at].terms.push((load, 1.0));
            for of in of {
                let own = core::mem::take(&mut loads[of][arc]);
                let mut terms = own.terms.clone();
                terms.push((load, -1.0));
                let place = model.program.at_most(terms, -own.fixed);
                model.copies[consumers[of].0].push((at, place));
                model.parts[at].push(own);
            }
        }
    }

    /// Returns which arcs can bring Data to a node.
    fn useful(&self, index: usize, node: usize) -> Vec<bool> {
        let stream = &self.network.streams[index];
        let open: Vec<bool> = self.width[self.network.arcs_of(index)].iter().map(|w| *w > 0.0).collect();
        let mut comes = vec![false; stream.nodes.len()];
        let mut leads = stream.produces.clone();
        comes[node] = true;
        for (arc, ends) in stream.arcs.iter().enumerate() {
            comes[ends.to] |= open[arc] && comes[ends.from];
        }
        for (arc, ends) in stream.arcs.iter().enumerate().rev() {
            leads[ends.from] |= open[arc] && leads[ends.to];
        }
        let arcs = stream.arcs.iter().enumerate();
        arcs.map(|(arc, ends)| open[arc] && comes[ends.from] && leads[ends.to]).collect()
    }

    fn add_bound(&self, model: &mut Model, channel: Channel, counts: Counts) {
        let Some(most) = self.bound(model, channel, counts) else { return };
        let mut sum = Sum::default();
        self.for_each_counted(model.unit, channel, counts, |arc, factor| sum.add(&model.load[arc], factor));
        if !sum.terms.is_empty() {
            let place = model.program.at_most(sum.terms, (most - sum.fixed).max(LEAST));
            model.bounds.push(ChannelBound { channel, counts, place });
        }
    }

    /// Returns the limit of a bound of a channel; `None` if there is no such bound.
    fn bound(&self, model: &Model, channel: Channel, counts: Counts) -> Option<f64> {
        let medium = self.network.medium_of[channel];
        if let Some(medium) = medium {
            let is_first = self.network.media[medium].start == channel;
            let is_bound = counts == Counts::Air && is_first;
            return is_bound.then_some(self.conditions.air_to_use);
        }
        let part = match (counts, self.policy) {
            (Counts::Air, _) | (Counts::Class(_), None) => return None,
            (Counts::Class(class), Some(policy)) => policy.class_parts[class],
            _ => 1.0,
        };
        let is_of_class = |(stream, arc): &(usize, usize)| {
            counts_class(counts, self.network.streams[*stream].class) && !model.load[*arc].terms.is_empty()
        };
        if matches!(counts, Counts::Class(_)) && !self.network.data_on[channel].iter().any(is_of_class) {
            return None;
        }
        let capacity = self.conditions.capacity[channel];
        let room = match (&self.others, counts) {
            (None, _) => capacity,
            (Some(others), Counts::Interests) => room_for_interests(capacity, others.data[channel]),
            (Some(others), _) => room_for_data(capacity, others.interests[channel]),
        };
        Some(part * room / model.unit)
    }

    /// Calls a function for each arc whose load counts against a bound, with its factor.
    fn for_each_counted(
        &self,
        unit: f64,
        channel: Channel,
        counts: Counts,
        mut show: impl FnMut(usize, f64),
    ) {
        let streams = &self.network.streams;
        if let Some(medium) = self.network.medium_of[channel] {
            let on = self.network.media[medium].clone().flat_map(|channel| &self.network.data_on[channel]);
            let air = |arc: usize| self.conditions.part[arc] * self.conditions.air[arc];
            on.for_each(|(_, arc)| show(*arc, air(*arc) * unit));
            return;
        }
        for &(stream, arc) in &self.network.data_on[channel] {
            if counts_class(counts, streams[stream].class) {
                show(arc, self.conditions.part[arc]);
            }
        }
        let factor = self.interest_factor(counts);
        if factor > 0.0 {
            for &(stream, arc) in &self.network.interests_on[channel] {
                show(arc, factor * self.conditions.part[arc] * streams[stream].interest_ratio);
            }
        }
    }

    /// Returns the factor with which Interests count in a bound; 0 if their load is given.
    fn interest_factor(&self, counts: Counts) -> f64 {
        match (counts, &self.others, self.policy) {
            (Counts::Interests, ..) => 1.0,
            (Counts::Air, ..) => 0.0,
            (_, Some(_), _) => 0.0,
            (Counts::Class(class), None, Some(policy)) => policy.class_parts[class],
            (_, None, _) => 1.0,
        }
    }

    /// Adds the bounds that loads exceed. Returns whether there were any.
    fn watch_exceeded(&mut self, model: &Model, loads: &[f64]) -> bool {
        let mut found = false;
        for channel in 0..self.network.channels.len() {
            for (at, counts) in Counts::ALL.into_iter().enumerate() {
                if self.watched[channel][at] {
                    continue;
                }
                let Some(most) = self.bound(model, channel, counts) else { continue };
                let mut sum = 0.0;
                self.for_each_counted(model.unit, channel, counts, |arc, factor| sum += factor * loads[arc]);
                if sum > most * (1.0 + EXCEEDED) + LEAST {
                    self.watched[channel][at] = true;
                    found = true;
                }
            }
        }
        found
    }

    /// Adds for each flow the cheapest path, if it costs less than the worth of its rate. Returns whether
    /// there were any.
    fn add_paths(&mut self, model: &Model, solution: &Solution) -> bool {
        let price = self.prices(model, solution);
        let choosing = model.flows.iter().filter_map(|&flow| Some((flow, model.worth[flow]?)));
        let worth: Vec<_> = choosing.map(|(flow, place)| (flow, solution.price_of_zero[place])).collect();
        let most = worth.iter().map(|(_, worth)| *worth).fold(0.0, f64::max);
        let mut added = false;
        for (flow, worth) in worth.into_iter().filter(|(_, worth)| *worth > PRICE * most) {
            let Some((cost, path)) = self.cheapest(model, solution, flow, &price) else { continue };
            if cost < worth * (1.0 - WORTH_ADDING) && !self.paths[flow].contains(&path) {
                self.add_path(flow, path);
                added = true;
            }
        }
        added
    }

    /// Returns the price of a load on each arc.
    fn prices(&self, model: &Model, solution: &Solution) -> Vec<f64> {
        let mut price = vec![0.0; self.width.len()];
        for bound in &model.bounds {
            let of = solution.price[bound.place];
            self.for_each_counted(model.unit, bound.channel, bound.counts, |arc, factor| {
                price[arc] += of * factor
            });
        }
        price
    }

    /// Returns the cheapest path of a flow, with its cost.
    fn cheapest(
        &self,
        model: &Model,
        solution: &Solution,
        flow: usize,
        price: &[f64],
    ) -> Option<(f64, Vec<usize>)> {
        let index = self.network.stream_of[flow];
        let stream = &self.network.streams[index];
        let arcs = self.network.arcs_of(index);
        let mut own = price[arcs.clone()].to_vec();
        for &(arc, place) in &model.copies[flow] {
            own[arc - arcs.start] = solution.price[place];
        }
        let mut cost = vec![f64::INFINITY; stream.nodes.len()];
        let mut next = vec![None; stream.nodes.len()];
        for at in (0..stream.nodes.len()).rev() {
            if stream.produces[at] {
                cost[at] = 0.0;
                continue;
            }
            for arc in stream.arcs_of(at).filter(|arc| self.width[arcs.start + arc] > 0.0) {
                let through = own[arc] + cost[stream.arcs[arc].to];
                if through < cost[at] {
                    (cost[at], next[at]) = (through, Some(arc));
                }
            }
        }
        let (_, mut at) = *stream.consumers.iter().find(|(own, _)| *own == flow)?;
        let total = cost[at];
        let mut path = Vec::new();
        while let Some(arc) = next[at] {
            path.push(arcs.start + arc);
            at = stream.arcs[arc].to;
        }
        (!path.is_empty()).then_some((total, path))
    }

    /// Settles a flow at this rate, bit/s. No solution gives it more.
    pub fn settle(&mut self, model: &Model, solution: &Solution, flow: usize, rate: f64) {
        self.is_settled[flow] = true;
        self.allocation.rate[flow] = rate.clamp(0.0, self.alone[flow]);
        if !self.network.streams[self.network.stream_of[flow]].forks {
            self.fixed[flow] = vec![self.allocation.rate[flow]];
        }
        if rate >= self.conditions.demand[flow] * (1.0 - NOTHING) {
            return;
        }
        let highest = model.bounds.iter().map(|bound| solution.price[bound.place]).fold(0.0, f64::max);
        let paths = self.paths[flow].iter().zip(&model.by_path[flow]);
        let used = paths.filter(|(_, by)| by.value(solution) > NOTHING).flat_map(|(path, _)| path);
        let used: Vec<usize> = used.copied().collect();
        let class = self.network.class(flow);
        let bound_by = &mut self.allocation.bound_by[flow];
        bound_by.clear();
        for bound in model.bounds.iter().filter(|bound| solution.price[bound.place] > PRICE * highest) {
            let held_at = |arc: &usize| {
                let (_, by, back) = self.network.arc(*arc);
                let medium = self.network.medium_of[bound.channel];
                let (channel, counts) = match bound.counts {
                    Counts::Interests => (back, back == bound.channel),
                    Counts::Air => (by, medium.is_some() && self.network.medium_of[by] == medium),
                    counts => (by, by == bound.channel && counts_class(counts, class)),
                };
                counts.then_some(channel)
            };
            for channel in used.iter().filter_map(held_at) {
                if !bound_by.contains(&channel) {
                    bound_by.push(channel);
                }
            }
        }
    }

    /// Fixes the paths of these flows as in the solution.
    pub fn fix_paths(&mut self, model: &Model, solution: &Solution, flows: &[usize]) {
        for &flow in flows.iter().filter(|flow| self.is_settled[**flow]) {
            let by: Vec<f64> = model.by_path[flow].iter().map(|by| by.value(solution).max(0.0)).collect();
            let total = by.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            self.fixed[flow] = by.iter().map(|by| by / total * self.allocation.rate[flow]).collect();
        }
    }
}

fn counts_class(counts: Counts, class: ServiceClass) -> bool {
    match counts {
        Counts::Data => true,
        Counts::Class(counted) => class as usize == counted,
        Counts::Interests | Counts::Air => false,
    }
}
