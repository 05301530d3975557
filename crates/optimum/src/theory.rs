//! A scenario, ready for its optima.

use weir_core::seam::SharingPolicy;
use weir_core::units::Span;
use weir_scenario::{Event, FlowId, Location, Scenario, ScenarioError};

use crate::network::{Channel, Conditions, Network, Stream};
use crate::optimum::{Bottleneck, FlowOptimum, Held, LinkOptimum, Optimum, OptimumError, Options, Share};
use crate::policy::fault;
use crate::solve::{Objective, Solution, Solver};
use crate::timeline::{Piece, Timeline};

/// By which part of its rate a link grows to see what flows gain; more where rates are not exact.
const GROWN: f64 = 1e-3;
const GROWN_INEXACT: f64 = 0.05;
/// Gains below this are none.
const GAIN: f64 = 5e-3;
/// Gains are looked at in so many pieces of a window at the most, the longest ones.
const PIECES: usize = 20;

/// A scenario, ready for its optima.
#[derive(Debug)]
pub struct Theory<'s> {
    scenario: &'s Scenario,
    network: Network,
    policy: SharingPolicy,
    objective: Objective,
    utilisation: f64,
}

/// The best steady allocation over a window: [`Theory::windows`] for one.
///
/// # Errors
/// What [`OptimumError`] lists.
pub fn steady(
    scenario: &Scenario,
    policy: &SharingPolicy,
    window: (Span, Span),
    options: &Options,
) -> Result<Optimum, OptimumError> {
    let theory = Theory::new(scenario, policy, options)?;
    let (from, to) = window;
    let none = OptimumError::Window { from, to, duration: scenario.duration };
    theory.windows(&[window])?.pop().ok_or(none)
}

impl<'s> Theory<'s> {
    /// Looks at a scenario whose links are to be shared by this policy.
    ///
    /// # Errors
    /// A simulated cache where ways meet that have and have not passed it; a policy or a utilisation that is none.
    pub fn new(
        scenario: &'s Scenario,
        policy: &SharingPolicy,
        options: &Options,
    ) -> Result<Theory<'s>, OptimumError> {
        if let Some(fault) = fault(policy) {
            return Err(OptimumError::Policy(fault));
        }
        let policy = policy.clone();
        let utilisation = options.utilisation.unwrap_or(1.0);
        if !(utilisation > 0.0 && utilisation <= 1.0) {
            return Err(OptimumError::Utilisation(utilisation));
        }
        let network = Network::new(scenario, &policy, options.copies);
        refuse_unsupported(scenario, &network).map_err(OptimumError::Scenario)?;
        Ok(Theory { scenario, network, policy, objective: options.objective, utilisation })
    }

    /// Whether consumers of the same names have links in common: else [`Copies`](crate::Copies) make no difference.
    /// Only of a theory in which copies are shared.
    pub fn may_share(&self) -> bool {
        self.network.streams.iter().any(Stream::may_share)
    }

    /// η.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// The optimum over each of some windows.
    ///
    /// # Errors
    /// A window that is not within the run, or the solver gave up.
    pub fn windows(&self, windows: &[(Span, Span)]) -> Result<Vec<Optimum>, OptimumError> {
        let mut optima: Vec<Optimum> = windows.iter().map(|window| self.empty(*window)).collect();
        self.visit(windows, |at, part, piece| self.add(&mut optima[at], part, piece))?;
        optima.iter_mut().for_each(finish);
        Ok(optima)
    }

    /// When each flow that has an amount would have fetched it, after its own start; `None` for those that
    /// would not within the run. Round trips do not count.
    ///
    /// # Errors
    /// The solver gave up.
    pub fn completions(&self) -> Result<Vec<Option<Span>>, OptimumError> {
        let solver = self.solver();
        let timeline = Timeline::new(self.scenario, &self.network, &solver, self.utilisation);
        let completed = timeline.run(self.scenario.duration, |_, _| false, |_| {})?;
        let starts = self.scenario.flows.iter().map(|flow| flow.start);
        Ok(completed.into_iter().zip(starts).map(|(at, start)| Some(at? - start)).collect())
    }

    /// The links that hold flows down in an optimum of this theory, those with the smallest rates first. The
    /// first `with_gains` of them say what flows gain, which takes as long as to find the optimum again for
    /// each.
    ///
    /// # Errors
    /// As [`Theory::windows`].
    pub fn bottlenecks(&self, optimum: &Optimum, with_gains: usize) -> Result<Vec<Bottleneck>, OptimumError> {
        let mut found: Vec<Bottleneck> = Vec::new();
        for (flow, FlowOptimum { rate_bps, held, .. }) in optimum.flows.iter().enumerate() {
            for (held, _) in held {
                let Held::ByLink(link) = *held else { continue };
                let at = found.iter().position(|known| known.link == link).unwrap_or_else(|| {
                    found.push(Bottleneck { link, least_bps: f64::INFINITY, flows: Vec::new(), gains: None });
                    found.len() - 1
                });
                found[at].flows.push(FlowId(flow));
                found[at].least_bps = found[at].least_bps.min(*rate_bps);
            }
        }
        found.sort_by(|a, b| a.least_bps.total_cmp(&b.least_bps).then(a.link.cmp(&b.link)));
        if with_gains == 0 || found.is_empty() {
            return Ok(found);
        }
        let samples = self.samples(optimum.window)?;
        for bottleneck in found.iter_mut().take(with_gains) {
            let channel = 2 * bottleneck.link.link.index() + bottleneck.link.direction;
            if self.network.medium_of[channel].is_none() {
                bottleneck.gains = Some(self.gains(channel, &samples)?);
            }
        }
        Ok(found)
    }

    /// The longest pieces of a window.
    fn samples(&self, window: (Span, Span)) -> Result<Vec<Sample>, OptimumError> {
        let mut pieces = Vec::new();
        self.visit(&[window], |_, part, piece| {
            let rate = (0..self.network.channels.len()).map(|channel| piece.state.rate(channel)).collect();
            let (conditions, solution) = (piece.conditions.clone(), piece.solution.clone());
            pieces.push(Sample { part, rate, conditions, solution });
        })?;
        pieces.sort_by(|a, b| b.part.total_cmp(&a.part));
        pieces.truncate(PIECES);
        Ok(pieces)
    }

    fn solver(&self) -> Solver<'_> {
        Solver { objective: self.objective, policy: &self.policy }
    }

    /// Shows each piece of each window, with the window's place and the part of it that the piece is.
    fn visit(
        &self,
        windows: &[(Span, Span)],
        mut show: impl FnMut(usize, f64, &Piece<'_>),
    ) -> Result<(), OptimumError> {
        let duration = self.scenario.duration;
        for &(from, to) in windows {
            if from >= to || to > duration {
                return Err(OptimumError::Window { from, to, duration });
            }
        }
        let overlap = |window: &(Span, Span), from: Span, to: Span| window.1.min(to) - window.0.max(from);
        let needed = |from, to| windows.iter().any(|window| overlap(window, from, to) > Span::ZERO);
        let until = windows.iter().map(|window| window.1).max().unwrap_or_default();
        let solver = self.solver();
        let timeline = Timeline::new(self.scenario, &self.network, &solver, self.utilisation);
        let completed = timeline.run(until, needed, |piece| {
            for (at, window) in windows.iter().enumerate() {
                let part = overlap(window, piece.from, piece.to);
                if part > Span::ZERO {
                    show(at, part.as_secs_f64() / (window.1 - window.0).as_secs_f64(), piece);
                }
            }
        });
        completed.map(|_| ())
    }

    fn empty(&self, window: (Span, Span)) -> Optimum {
        // Nothing is a stream without a consumer.
        let first = |(stream, _): &(usize, usize)| self.network.streams[*stream].consumers[0].0;
        let none_yet = |on: &(usize, usize)| (FlowId(first(on)), 0.0);
        let link = |(channel, link): (Channel, &weir_scenario::DirectedLink)| LinkOptimum {
            link: *link,
            rate_bps: 0.0,
            data_bps: 0.0,
            streams: self.network.data_on[channel].iter().map(none_yet).collect(),
            interest_bps: 0.0,
            binding: 0.0,
            shares: Vec::new(),
        };
        Optimum {
            objective: self.objective,
            utilisation: self.utilisation,
            window,
            pieces: 0,
            flows: vec![FlowOptimum::default(); self.scenario.flows.len()],
            links: self.network.channels.iter().enumerate().map(link).collect(),
            is_exact: true,
        }
    }

    /// Adds a piece that is so much of the window.
    fn add(&self, optimum: &mut Optimum, part: f64, piece: &Piece<'_>) {
        let Solution { load, bound_by, shares, alone, is_exact, .. } = piece.solution;
        optimum.pieces += 1;
        optimum.is_exact &= is_exact;
        let mut binds = vec![false; self.network.channels.len()];
        for (index, flow) in optimum.flows.iter_mut().enumerate() {
            flow.rate_bps += part * piece.rate[index];
            flow.goodput_bps += part * self.network.goodput(index, piece.rate[index]);
            flow.alone_bps += part * alone[index];
            for &channel in &bound_by[index] {
                binds[channel] = true;
                hold(&mut flow.held, Held::ByLink(self.network.channels[channel]), part);
            }
            if bound_by[index].is_empty() && piece.conditions.demand[index] > 0.0 {
                hold(&mut flow.held, Held::BySource, part);
            }
        }
        for (channel, link) in optimum.links.iter_mut().enumerate() {
            link.rate_bps += part * piece.state.rate(channel);
            link.data_bps += part * self.network.data(channel, load, piece.conditions);
            for ((_, rate), (_, arc)) in link.streams.iter_mut().zip(&self.network.data_on[channel]) {
                *rate += part * piece.conditions.part[*arc] * load[*arc];
            }
            link.interest_bps += part * self.network.interests(channel, load, piece.conditions);
            link.binding += if binds[channel] { part } else { 0.0 };
            for &(class, share) in &shares[channel] {
                match link.shares.iter_mut().find(|known| known.class == class) {
                    Some(known) => known.add(part, share),
                    None => link.shares.push(Share { class, bps: share, part }),
                }
            }
        }
    }

    /// What flows gain for each bit/s by which a channel is faster.
    fn gains(&self, channel: Channel, pieces: &[Sample]) -> Result<Vec<(FlowId, f64)>, OptimumError> {
        let mut gains = vec![0.0; self.scenario.flows.len()];
        let solver = self.solver();
        let time: f64 = pieces.iter().map(|piece| piece.part).sum();
        for Sample { part, rate, conditions, solution } in pieces {
            let grown = rate[channel] * if solution.is_exact { GROWN } else { GROWN_INEXACT };
            let mut faster = conditions.clone();
            faster.capacity[channel] += self.utilisation * grown;
            if grown <= 0.0 || !solution.bound_by.iter().any(|held| held.contains(&channel)) {
                continue;
            }
            let then = solver.solve(&self.network, &faster)?;
            for (flow, gain) in gains.iter_mut().enumerate() {
                *gain += part / time * (then.rate[flow] - solution.rate[flow]) / grown;
            }
        }
        let gains = gains.into_iter().enumerate().filter(|(_, gain)| gain.abs() >= GAIN);
        let mut gains: Vec<_> = gains.map(|(flow, gain)| (FlowId(flow), gain)).collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(gains)
    }
}

/// A piece of a window.
struct Sample {
    part: f64,
    rate: Vec<f64>,
    conditions: Conditions,
    solution: Solution,
}

fn hold(held: &mut Vec<(Held, f64)>, by: Held, part: f64) {
    match held.iter_mut().find(|(known, _)| *known == by) {
        Some((_, time)) => *time += part,
        None => held.push((by, part)),
    }
}

/// What held a flow longest comes first.
fn finish(optimum: &mut Optimum) {
    for flow in &mut optimum.flows {
        flow.held.sort_by(|a, b| b.1.total_cmp(&a.1));
    }
    for link in &mut optimum.links {
        link.shares.sort_by_key(|share| share.class as usize);
    }
}

/// Says so where a scenario asks for what theory here does not know.
fn refuse_unsupported(scenario: &Scenario, network: &Network) -> Result<(), ScenarioError> {
    // The highest ratio of each node during the run.
    let mut most: Vec<f64> = scenario.nodes.iter().map(|node| node.cache_ratio).collect();
    for event in &scenario.events {
        if let Event::NodeCacheRatio { node, ratio } = event.what {
            most[node.index()] = most[node.index()].max(ratio);
        }
    }
    for stream in &network.streams {
        if let Some(node) = meeting(stream, &most) {
            let message = "the optimum is not known if Interests that have passed this cache join Interests that have not";
            return Err(at_cache(scenario, node, message));
        }
        let of = |place: usize| if stream.may_cache[place] { most[stream.nodes[place]] } else { 0.0 };
        if let Some((_, place)) = stream.consumers.iter().find(|(_, place)| of(*place) == 1.0) {
            let message =
                "there is no optimum if a consumer's own node has all content that the consumer requests";
            return Err(at_cache(scenario, stream.nodes[*place], message));
        }
    }
    Ok(())
}

/// A node with a simulated cache that some Interests of a stream have passed, and others have not, when they
/// come to one node: their loads there do not follow from one rate.
fn meeting(stream: &Stream, most: &[f64]) -> Option<usize> {
    let mut passed: Vec<Option<Vec<usize>>> = vec![None; stream.nodes.len()];
    stream.consumers.iter().for_each(|(_, place)| passed[*place] = Some(Vec::new()));
    for arc in &stream.arcs {
        let mut on = passed[arc.from].clone().unwrap_or_default();
        if stream.may_cache[arc.from] && most[stream.nodes[arc.from]] > 0.0 {
            on.push(stream.nodes[arc.from]);
        }
        match &passed[arc.to] {
            Some(known) => {
                let differs = |node: &&usize| !(on.contains(node) && known.contains(node));
                if let Some(node) = on.iter().chain(known).find(differs) {
                    return Some(*node);
                }
            }
            None => passed[arc.to] = Some(on),
        }
    }
    None
}

fn at_cache(scenario: &Scenario, node: usize, message: &str) -> ScenarioError {
    let name = &scenario.nodes[node].name;
    let event = scenario.events.iter().find(|event| {
        matches!(event.what, Event::NodeCacheRatio { node: at, ratio } if at.index() == node && ratio > 0.0)
    });
    let path = match event {
        Some(event) if scenario.nodes[node].cache_ratio == 0.0 => format!("event.{}.cache_ratio", event.name),
        _ => format!("node.{name}.cache_ratio"),
    };
    let at = scenario.settings.iter().find(|setting| setting.path == path);
    let at = at.and_then(|setting| setting.location.clone()).unwrap_or(Location::Set("".into()));
    scenario.error_at(&at, path, message, "leave it out")
}
