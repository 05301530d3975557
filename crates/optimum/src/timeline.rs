//! The run as a fluid: at every moment rates are those of the optimum. They change when a flow starts, stops or has fetched its
//! amount, and when the scenario changes a link or a source.
//!
//! A fluid has no round trips: a flow gets at once what it requests. So the completion times are those of the fastest possible
//! scheme, without the delays of a first Interest and its Data.

use weir_core::units::Span;
use weir_scenario::Scenario;

use crate::OptimumError;
use crate::network::{Change, Conditions, Network, State, changes};
use crate::solve::{Solution, Solver};

/// With more changes than this, those that are nearer than this part of the run are taken together.
const PIECES: usize = 200;

/// A time in which nothing changes.
#[derive(Debug)]
pub(crate) struct Piece<'p> {
    pub from: Span,
    pub to: Span,
    pub state: &'p State,
    pub conditions: &'p Conditions,
    pub solution: &'p Solution,
    /// For each flow, bit/s of Data: its rate, or less if it is complete before the end.
    pub rate: &'p [f64],
}

/// The run as far as it is asked for.
pub(crate) struct Timeline<'n> {
    network: &'n Network,
    solver: &'n Solver<'n>,
    utilisation: f64,
    changes: Vec<(Span, Change)>,
    state: State,
    now: Span,
    /// How near changes may be.
    step: Span,
    /// For each flow that has an amount, the bits of Data that are left.
    left: Vec<Option<f64>>,
    /// For each flow, when it was complete.
    completed: Vec<Option<Span>>,
}

impl<'n> Timeline<'n> {
    pub fn new(scenario: &Scenario, network: &'n Network, solver: &'n Solver<'n>, utilisation: f64) -> Self {
        let bits = |(flow, bits): (&weir_scenario::Flow, &f64)| Some(flow.amount? as f64 * bits);
        let left: Vec<_> = scenario.flows.iter().zip(&network.data_bits).map(bits).collect();
        let mut changes = changes(scenario);
        let most = changes.len() + left.iter().flatten().count();
        let mut step = Span::ZERO;
        if most > PIECES {
            step = (scenario.duration / PIECES as u64).max(Span::from_nanos(1));
            for (at, _) in &mut changes {
                *at = step * ((at.as_nanos() + step.as_nanos() / 2) / step.as_nanos());
            }
        }
        changes.reverse();
        Timeline {
            network,
            solver,
            utilisation,
            changes,
            state: State::new(scenario),
            now: Span::ZERO,
            step,
            completed: vec![None; left.len()],
            left,
        }
    }

    /// Goes on to a time. `visit` sees the pieces that are `needed`, by their beginnings and ends, and all
    /// while a flow that has an amount runs: what is left of it has to be known. Returns when each flow was
    /// complete.
    ///
    /// # Errors
    /// The solver gave up.
    pub fn run(
        mut self,
        until: Span,
        needed: impl Fn(Span, Span) -> bool,
        mut visit: impl FnMut(&Piece<'_>),
    ) -> Result<Vec<Option<Span>>, OptimumError> {
        let mut last: Option<(Conditions, Solution)> = None;
        while self.now < until {
            while let Some((_, change)) = self.changes.pop_if(|(at, _)| *at <= self.now) {
                self.state.apply(&change);
            }
            let next = self.changes.last().map_or(until, |(at, _)| (*at).min(until));
            let conditions = self.state.conditions(self.network, self.utilisation);
            let counts = |flow: usize| self.left[flow].is_some() && conditions.demand[flow] > 0.0;
            if !needed(self.now, next) && !(0..self.left.len()).any(counts) {
                self.now = next;
                continue;
            }
            let solution = match last.take() {
                Some((known, solution)) if known == conditions => solution,
                _ => self.solver.solve(self.network, &conditions)?,
            };
            let to = next.min(self.now + self.first_completion(&solution).max(self.step));
            let rate = self.fetch(&solution, to);
            visit(&Piece {
                from: self.now,
                to,
                state: &self.state,
                conditions: &conditions,
                solution: &solution,
                rate: &rate,
            });
            self.stop_completed();
            self.now = to;
            last = Some((conditions, solution));
        }
        Ok(self.completed)
    }

    /// How long it is until the first flow is complete.
    fn first_completion(&self, solution: &Solution) -> Span {
        let times = self.left.iter().zip(&solution.rate).filter_map(|(left, rate)| time(*left, *rate));
        times.min().unwrap_or(Span::MAX)
    }

    /// Fetches until `to`; returns the mean rate of each flow until then.
    fn fetch(&mut self, solution: &Solution, to: Span) -> Vec<f64> {
        let length = to - self.now;
        let mut rates = solution.rate.clone();
        for (flow, rate) in rates.iter_mut().enumerate() {
            let Some(left) = &mut self.left[flow] else { continue };
            match time(Some(*left), *rate) {
                Some(needed) if needed <= length => {
                    *rate = *left / length.as_secs_f64();
                    *left = 0.0;
                    self.completed[flow] = Some(self.now + needed);
                }
                _ => *left -= *rate * length.as_secs_f64(),
            }
        }
        rates
    }

    fn stop_completed(&mut self) {
        for (flow, left) in self.left.iter_mut().enumerate().filter(|(_, left)| **left == Some(0.0)) {
            *left = None;
            self.state.apply(&Change::Stop(flow));
        }
    }
}

/// How long a flow needs for what is left of it; none if there is nothing left or nothing comes.
fn time(left: Option<f64>, rate: f64) -> Option<Span> {
    let left = left.filter(|left| *left > 0.0 && rate > 0.0)?;
    Some(Span::from_nanos((left / rate * 1e9).ceil() as u64))
}
