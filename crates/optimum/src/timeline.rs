//! The run as a fluid: at every moment rates are those of the optimum. They change when a flow starts, stops
//! or has fetched its amount, and when the scenario changes a link or a source. Each of these times is a
//! separate event, to the nanosecond of simulated time.
//!
//! A fluid has no round trips: a flow gets its requested rate at once. So the completion times are those of
//! the fastest possible scheme, without the delays of a first Interest and its Data.

use weir_core::seam::SharingPolicy;
use weir_core::units::Span;
use weir_scenario::Scenario;

use crate::OptimumError;
use crate::network::{Change, Conditions, Network, State, changes};
use crate::solve::{Inexact, Objective, Solution, Solver};

/// A period without changes.
#[derive(Debug)]
pub(crate) struct Piece<'p> {
    pub from: Span,
    pub to: Span,
    pub conditions: &'p Conditions,
    pub solution: &'p Solution,
    /// For each running flow, bit/s of Data: its rate, or the rest of its amount divided by the length of the
    /// piece.
    pub rate: &'p [f64],
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The time at which each flow was complete.
    pub completed: Vec<Option<Span>>,
    /// The reason why these times are not exact, if they are not.
    pub inexact: Option<Inexact>,
}

/// The run, up to the requested time.
pub(crate) struct Timeline<'n> {
    network: &'n Network,
    solver: Solver<'n>,
    changes: Vec<(Span, Change)>,
    state: State,
    now: Span,
    /// For each flow with an amount, the remaining bits of Data.
    left: Vec<Option<f64>>,
    rate: Vec<f64>,
    outcome: Outcome,
}

impl<'n> Timeline<'n> {
    pub fn new(
        scenario: &Scenario,
        network: &'n Network,
        objective: Objective,
        policy: &'n SharingPolicy,
        utilisation: f64,
    ) -> Self {
        let mut changes = changes(scenario);
        changes.reverse();
        Timeline {
            network,
            solver: Solver::new(network, objective, policy),
            changes,
            state: State::new(scenario, network, utilisation),
            now: Span::ZERO,
            left: amounts(scenario, network),
            rate: vec![0.0; scenario.flows.len()],
            outcome: Outcome { completed: vec![None; scenario.flows.len()], inexact: None },
        }
    }

    /// Advances to a time. `visit` gets the pieces that are `needed`, with their beginnings and ends, and all
    /// pieces while a flow with an amount runs, because the rest of the amount must be known.
    ///
    /// # Errors
    /// Returns an error if the solver gave up.
    pub fn run(
        mut self,
        until: Span,
        needed: impl Fn(Span, Span) -> bool,
        mut visit: impl FnMut(&Piece<'_>),
    ) -> Result<Outcome, OptimumError> {
        while self.now < until {
            while let Some((_, change)) = self.changes.pop_if(|(at, _)| *at <= self.now) {
                self.state.apply(self.network, &change);
            }
            let next = self.changes.last().map_or(until, |(at, _)| (*at).min(until));
            let conditions = self.state.conditions(self.network);
            let has_end = conditions.running.flows.iter().any(|flow| self.left[*flow].is_some());
            if !has_end && !needed(self.now, next) {
                self.now = next;
                continue;
            }
            self.state.solve(self.network, &mut self.solver)?;
            if has_end {
                self.outcome.inexact = self.outcome.inexact.or(self.solver.solution.inexact);
            }
            let to = next.min(self.now + self.first_completion().max(TICK));
            let completed = self.fetch(to);
            visit(&Piece {
                from: self.now,
                to,
                conditions: self.state.conditions(self.network),
                solution: &self.solver.solution,
                rate: &self.rate,
            });
            for flow in completed {
                self.state.apply(self.network, &Change::Stop(flow));
            }
            self.now = to;
        }
        Ok(self.outcome)
    }

    /// Iterates over the running flows, each with its rate.
    fn running(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let flows = self.state.running().flows.iter();
        flows.map(|flow| (*flow, self.solver.solution.rate[*flow]))
    }

    /// Returns the time until the first flow is complete.
    fn first_completion(&self) -> Span {
        let times = self.running().filter_map(|(flow, rate)| time(self.left[flow]?, rate));
        times.min().unwrap_or(Span::MAX)
    }

    /// Fetches until `to`. Returns the flows that are then complete.
    fn fetch(&mut self, to: Span) -> Vec<usize> {
        let length = to - self.now;
        let mut completed = Vec::new();
        for &flow in &self.state.running().flows {
            let rate = self.solver.solution.rate[flow];
            self.rate[flow] = rate;
            let Some(left) = &mut self.left[flow] else { continue };
            // Two flows that end at the same time may differ by a nanosecond of rounding.
            match time(*left, rate) {
                Some(needed) if needed <= length + TICK => {
                    self.rate[flow] = *left / length.as_secs_f64();
                    self.left[flow] = None;
                    self.outcome.completed[flow] = Some(to);
                    completed.push(flow);
                }
                _ => *left -= rate * length.as_secs_f64(),
            }
        }
        completed
    }
}

/// The smallest step of simulated time.
pub(crate) const TICK: Span = Span::from_nanos(1);

/// Returns the bits of Data of each flow with an amount.
pub(crate) fn amounts(scenario: &Scenario, network: &Network) -> Vec<Option<f64>> {
    let bits = |(flow, bits): (&weir_scenario::Flow, &f64)| Some(flow.amount? as f64 * bits);
    scenario.flows.iter().zip(&network.data_bits).map(bits).collect()
}

/// Returns how long a flow needs for the rest of its amount; `None` if nothing comes.
pub(crate) fn time(left: f64, rate: f64) -> Option<Span> {
    (rate > 0.0).then(|| Span::from_nanos((left / rate * 1e9).ceil() as u64))
}
