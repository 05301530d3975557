//! A scenario, prepared for its optima.

use weir_core::seam::SharingPolicy;
use weir_core::units::Span;
use weir_scenario::{Event, FlowId, Location, Scenario, ScenarioError};

use crate::alone::alone;
use crate::fair::Marks;
use crate::network::{Change, Changed, Channel, Conditions, Network, State, Stream, changes};
use crate::optimum::{
    Alone, Bottleneck, Completions, FlowOptimum, Held, LinkOptimum, Optimum, OptimumError, Options, Share,
};
use crate::policy::fault;
use crate::solve::{Objective, Solution, Solver};
use crate::timeline::{Outcome, Piece, Timeline};

/// The part by which a link's rate grows to compute the gains of flows; more if routes fork, because rates
/// are not exact there.
const GROWN: f64 = 1e-3;
const GROWN_FORKS: f64 = 0.05;
/// Gains below this are left out.
const GAIN: f64 = 5e-3;
/// The largest number of pieces of a window, the longest ones, in which gains are computed.
const PIECES: usize = 20;

/// A scenario, prepared for its optima.
#[derive(Debug)]
pub struct Theory<'s> {
    scenario: &'s Scenario,
    network: Network,
    policy: SharingPolicy,
    objective: Objective,
    utilisation: f64,
}

/// Returns the best steady allocation over a window: [`Theory::windows`] for one window.
///
/// # Errors
/// Returns the errors of [`Theory::new`] and [`Theory::windows`].
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
    /// Prepares a scenario whose links are shared by this policy.
    ///
    /// # Errors
    /// Returns an error if Interests that have passed a simulated cache join Interests that have not, or if
    /// the policy or the utilisation is invalid.
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

    /// Returns whether consumers of the same names have links in common; else [`Copies`](crate::Copies) make
    /// no difference. It is valid only for a theory with shared copies.
    pub fn may_share(&self) -> bool {
        self.network.streams.iter().any(Stream::may_share)
    }

    /// Returns the approximate number of rate changes in the run, if each takes long to compute because
    /// routes fork; else 0.
    pub fn long_steps(&self) -> usize {
        let ends = self.scenario.flows.iter().filter(|flow| flow.amount.is_some()).count();
        let forks = self.network.streams.iter().any(|stream| stream.forks);
        if forks { changes(self.scenario).len() + ends } else { 0 }
    }

    /// Returns η.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Returns the optimum over each of some windows.
    ///
    /// # Errors
    /// Returns an error if a window is not within the run, or if the solver gave up.
    pub fn windows(&self, windows: &[(Span, Span)]) -> Result<Vec<Optimum>, OptimumError> {
        let until = windows.iter().map(|window| window.1).max().unwrap_or_default();
        Ok(self.until(until, windows)?.0)
    }

    /// Returns when each flow with an amount would have fetched it.
    ///
    /// # Errors
    /// Returns an error if the solver gave up.
    pub fn completions(&self) -> Result<Completions, OptimumError> {
        Ok(self.windows_and_completions(&[])?.1)
    }

    /// Returns both, in the time of one.
    ///
    /// # Errors
    /// Returns an error if a window is not within the run, or if the solver gave up.
    pub fn windows_and_completions(
        &self,
        windows: &[(Span, Span)],
    ) -> Result<(Vec<Optimum>, Completions), OptimumError> {
        let (optima, outcome) = self.until(self.scenario.duration, windows)?;
        let starts = self.scenario.flows.iter().map(|flow| flow.start);
        let times = outcome.completed.into_iter().zip(starts).map(|(at, start)| Some(at? - start));
        Ok((optima, Completions { times: times.collect(), inexact: outcome.inexact }))
    }

    /// Returns how long each flow with an amount would take alone on the network.
    pub fn alone(&self) -> Vec<Option<Alone>> {
        alone(self.scenario, &self.network, self.utilisation)
    }

    fn until(&self, until: Span, windows: &[(Span, Span)]) -> Result<(Vec<Optimum>, Outcome), OptimumError> {
        let mut optima: Vec<Optimum> = windows.iter().map(|window| self.empty(*window)).collect();
        let mut binds = Marks::new(self.network.channels.len());
        let outcome =
            self.visit(until, windows, |at, part, piece| self.add(&mut optima[at], part, piece, &mut binds))?;
        optima.iter_mut().for_each(|optimum| self.finish(optimum));
        Ok((optima, outcome))
    }

    /// Returns the links that limit flows in an optimum of this theory, those with the smallest rates first.
    /// The first `with_gains` of them include the gains of flows. Each takes as long as another computation
    /// of the optimum.
    ///
    /// # Errors
    /// Returns the errors of [`Theory::windows`].
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
        let wired = found.iter_mut().take(with_gains).filter_map(|bottleneck| {
            let channel = 2 * bottleneck.link.link.index() + bottleneck.link.direction;
            self.network.medium_of[channel].is_none().then_some((channel, &mut bottleneck.gains))
        });
        let (channels, places): (Vec<Channel>, Vec<_>) = wired.unzip();
        for (place, gains) in places.into_iter().zip(self.gains(&channels, optimum.window)?) {
            *place = Some(gains);
        }
        Ok(found)
    }

    /// Returns the longest pieces of a window.
    fn samples(&self, window: (Span, Span)) -> Result<Vec<Sample>, OptimumError> {
        let mut pieces: Vec<Sample> = Vec::new();
        self.visit(window.1, &[window], |_, part, piece| {
            let at = pieces.partition_point(|longer| longer.part >= part);
            if at < PIECES {
                pieces.insert(at, Sample { part, from: piece.from, conditions: piece.conditions.clone() });
                pieces.truncate(PIECES);
            }
        })?;
        Ok(pieces)
    }

    /// Visits each piece of each window, with the window's index and the part of it that the piece covers.
    fn visit(
        &self,
        until: Span,
        windows: &[(Span, Span)],
        mut show: impl FnMut(usize, f64, &Piece<'_>),
    ) -> Result<Outcome, OptimumError> {
        let duration = self.scenario.duration;
        for &(from, to) in windows {
            if from >= to || to > duration {
                return Err(OptimumError::Window { from, to, duration });
            }
        }
        if let Some(at) = self.scenario.routes_change_at().filter(|at| *at < until) {
            return Err(OptimumError::RoutesChange { at });
        }
        let overlap = |window: &(Span, Span), from: Span, to: Span| window.1.min(to) - window.0.max(from);
        let needed = |from, to| windows.iter().any(|window| overlap(window, from, to) > Span::ZERO);
        let timeline =
            Timeline::new(self.scenario, &self.network, self.objective, &self.policy, self.utilisation);
        timeline.run(until, needed, |piece| {
            for (at, window) in windows.iter().enumerate() {
                let part = overlap(window, piece.from, piece.to);
                if part > Span::ZERO {
                    show(at, part.as_secs_f64() / (window.1 - window.0).as_secs_f64(), piece);
                }
            }
        })
    }

    fn empty(&self, window: (Span, Span)) -> Optimum {
        // There is no stream without a consumer.
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
            inexact: None,
        }
    }

    /// Adds a piece that covers the part `part` of the window.
    fn add(&self, optimum: &mut Optimum, part: f64, piece: &Piece<'_>, binds: &mut Marks) {
        let Solution { load, bound_by, shares, alone, inexact, .. } = piece.solution;
        let running = &piece.conditions.running;
        optimum.pieces += 1;
        optimum.inexact = optimum.inexact.or(*inexact);
        for &index in &running.flows {
            let flow = &mut optimum.flows[index];
            flow.rate_bps += part * piece.rate[index];
            flow.goodput_bps += part * self.network.goodput(index, piece.rate[index]);
            flow.alone_bps += part * alone[index];
            for &channel in &bound_by[index] {
                binds.add(channel);
                hold(&mut flow.held, Held::ByLink(self.network.channels[channel]), part);
            }
            if bound_by[index].is_empty() {
                hold(&mut flow.held, Held::BySource, part);
            }
        }
        for &channel in &running.channels {
            let link = &mut optimum.links[channel];
            link.data_bps += part * self.network.data(channel, load, piece.conditions);
            for (_, arc) in &running.data_on[channel] {
                let (_, rate) = &mut link.streams[self.network.place_on[*arc]];
                *rate += part * piece.conditions.part[*arc] * load[*arc];
            }
            link.interest_bps += part * self.network.interests(channel, load, piece.conditions);
            for &(class, share) in &shares[channel] {
                match link.shares.iter_mut().find(|known| known.class == class) {
                    Some(known) => known.add(part, share),
                    None => link.shares.push(Share { class, bps: share, part }),
                }
            }
        }
        binds.list().iter().for_each(|channel| optimum.links[*channel].binding += part);
        binds.clear();
    }

    /// Sorts the limits of flows, the longest first, and completes the mean rates of links.
    fn finish(&self, optimum: &mut Optimum) {
        for flow in &mut optimum.flows {
            flow.held.sort_by(|a, b| b.1.total_cmp(&a.1));
        }
        for link in &mut optimum.links {
            link.shares.sort_by_key(|share| share.class as usize);
        }
        let (from, to) = optimum.window;
        let mut state = State::new(self.scenario, &self.network, self.utilisation);
        let mut since = vec![from; optimum.links.len()];
        let mut add = |state: &State, channel: usize, until: Span| {
            let (since, until) = (&mut since[channel], until.clamp(from, to));
            let part = (until - *since).as_secs_f64() / (to - from).as_secs_f64();
            optimum.links[channel].rate_bps += part * state.rate(&self.network, channel);
            *since = until;
        };
        for (at, change) in changes(self.scenario) {
            use Event::{LinkDown, LinkRate, LinkUp, NodeDown, NodeUp};
            match &change {
                Change::Event(LinkRate { link, .. } | LinkDown { link } | LinkUp { link }) => {
                    (0..2).for_each(|direction| add(&state, 2 * link.index() + direction, at));
                }
                Change::Event(NodeDown { node } | NodeUp { node }) => {
                    let ends = self.network.ends.iter().enumerate();
                    let of_node = ends.filter(|(_, ends)| ends.contains(&node.index()));
                    of_node.for_each(|(channel, _)| add(&state, channel, at));
                }
                _ => continue,
            }
            state.apply(&self.network, &change);
        }
        (0..self.network.channels.len()).for_each(|channel| add(&state, channel, to));
    }

    /// Returns the gains of flows for each bit/s by which each of some channels is faster, in the longest
    /// pieces of a window.
    fn gains(
        &self,
        channels: &[Channel],
        window: (Span, Span),
    ) -> Result<Vec<Vec<(FlowId, f64)>>, OptimumError> {
        let samples = self.samples(window)?;
        let time: f64 = samples.iter().map(|sample| sample.part).sum();
        let mut gains = vec![vec![0.0; self.scenario.flows.len()]; channels.len()];
        for Sample { part, from, conditions } in &samples {
            let rates = self.rates_at(*from);
            let mut solver = Solver::new(&self.network, self.objective, &self.policy);
            solver.solve(conditions, &Changed::all())?;
            let Solution { rate, bound_by, .. } = solver.solution.clone();
            let by = if conditions.running.forks() { GROWN_FORKS } else { GROWN };
            let mut faster = conditions.clone();
            let mut changed = Changed::default();
            for (gains, &channel) in gains.iter_mut().zip(channels) {
                let grown = rates[channel] * by;
                if grown <= 0.0 || !bound_by.iter().any(|held| held.contains(&channel)) {
                    continue;
                }
                faster.capacity[channel] = conditions.capacity[channel] + self.utilisation * grown;
                changed.channels.push(channel);
                solver.solve(&faster, &changed)?;
                for &flow in &conditions.running.flows {
                    gains[flow] += part / time * (solver.solution.rate[flow] - rate[flow]) / grown;
                }
                // The next one starts from these conditions.
                faster.capacity[channel] = conditions.capacity[channel];
                changed.clear();
                changed.channels.push(channel);
            }
        }
        let listed = |gains: Vec<f64>| {
            let gains = gains.into_iter().enumerate().filter(|(_, gain)| gain.abs() >= GAIN);
            let mut gains: Vec<_> = gains.map(|(flow, gain)| (FlowId(flow), gain)).collect();
            gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            gains
        };
        Ok(gains.into_iter().map(listed).collect())
    }

    /// Returns the rates of channels at a time, bit/s.
    fn rates_at(&self, time: Span) -> Vec<f64> {
        let mut state = State::new(self.scenario, &self.network, self.utilisation);
        for (_, change) in changes(self.scenario).into_iter().filter(|(at, _)| *at <= time) {
            if matches!(change, Change::Event(_)) {
                state.apply(&self.network, &change);
            }
        }
        (0..self.network.channels.len()).map(|channel| state.rate(&self.network, channel)).collect()
    }
}

/// A piece of a window.
struct Sample {
    part: f64,
    from: Span,
    conditions: Conditions,
}

fn hold(held: &mut Vec<(Held, f64)>, by: Held, part: f64) {
    match held.iter_mut().find(|(known, _)| *known == by) {
        Some((_, time)) => *time += part,
        None => held.push((by, part)),
    }
}

/// Rejects a scenario that needs something that the theory here does not cover.
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

/// Returns a node whose simulated cache some Interests of a stream have passed, and others have not, when
/// they join at one node. Their loads there do not follow from one rate.
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
    let at = scenario.settings.find(&path);
    let at = at.and_then(|setting| setting.location).unwrap_or(Location::Set("".into()));
    scenario.error_at(&at, path, message, "leave it out")
}
