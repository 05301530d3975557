//! A scenario at a point of its axes, which several runs share.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use weir_core::units::Span;
use weir_measure::RunDocument;
use weir_scenario::{Flow, Scenario};

use crate::error::StudyError;
use crate::optimum::ScenarioOptimum;
use crate::policy;
use crate::propagation::shortest_ways;
use crate::requests;
use crate::source::Source;

/// A scenario with its settings, and the measuring windows of its runs.
#[derive(Debug)]
pub struct Point {
    /// The scenario's text.
    pub source: Source,
    /// The settings, `KEY=VALUE` each.
    pub set: Vec<String>,
    /// The measuring windows besides its own.
    pub windows: Vec<(Span, Span)>,
    /// The scenario, parsed and checked.
    pub scenario: Arc<Scenario>,
    optimum: OnceLock<Option<ScenarioOptimum>>,
    /// The optima at which schemes aim, by the part of the links' rates.
    targets: Mutex<Vec<(f64, Option<Arc<ScenarioOptimum>>)>>,
}

/// Returns whether each seed has another optimum, because it draws consumers or amounts.
fn is_drawn(flow: &weir_scenario::Flow) -> bool {
    !flow.drawn_from.is_empty() || flow.amount_drawn.is_some()
}

impl Point {
    /// Parses the scenario.
    ///
    /// # Errors
    /// Returns an error if the scenario or a setting is invalid.
    pub fn new(source: Source, set: Vec<String>, windows: Vec<(Span, Span)>) -> Result<Point, StudyError> {
        let scenario = Arc::new(source.read(&set)?);
        Ok(Point { source, set, windows, scenario, optimum: OnceLock::new(), targets: Mutex::default() })
    }

    /// Returns the optimum in the windows, which is computed once; `None` if theory does not know it.
    pub fn optimum(&self) -> Option<&ScenarioOptimum> {
        self.optimum.get_or_init(|| ScenarioOptimum::of(&self.scenario, &self.windows)).as_ref()
    }

    /// Adds the optimum, and the distance from it, to the measurements of a run. If the seed draws the
    /// consumers, each run has its own optimum.
    pub fn add_optimum(&self, document: &mut RunDocument) {
        if requests::has_requests(&self.scenario) {
            // If theory does not know it, the figures stay without it.
            let _ = requests::add_ideal(&self.scenario, &self.windows, document);
        } else if self.scenario.flows.iter().any(is_drawn) {
            let (drawn, _) = weir_experiment::drawn(Arc::clone(&self.scenario), document.seed);
            if let Some(optimum) = ScenarioOptimum::of(&drawn, &self.windows) {
                optimum.add_to(document);
            }
        } else if let Some(optimum) = self.optimum() {
            optimum.add_to(document);
            if let Some(target) = self.target(&document.scheme) {
                target.add_as_target(document);
            }
        }
    }

    /// Returns the optimum at which a scheme aims, if the scheme uses only a part of the links.
    fn target(&self, scheme: &str) -> Option<Arc<ScenarioOptimum>> {
        let part = policy::target(&self.scenario, scheme)?;
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = targets.iter().find(|(known, _)| *known == part) {
            return known.clone();
        }
        let target = ScenarioOptimum::of_part(&self.scenario, &self.windows, part).map(Arc::new);
        targets.push((part, target.clone()));
        target
    }

    /// Completes the document of a run: adds the optimum and the scenario's text.
    pub fn complete(&self, document: &mut RunDocument) {
        self.add_optimum(document);
        self.source.text().clone_into(&mut document.scenario_text);
    }

    /// Makes the optimum include the values of the scenario's expectations.
    pub(crate) fn with_expectations(self) -> Point {
        // It is set once, because the optimum of a new point has not been computed.
        let _ = self.optimum.set(ScenarioOptimum::with_expectations(&self.scenario));
        self
    }

    /// Returns the parts of a run: the whole run, and its windows.
    pub fn parts(&self) -> Vec<(Span, Span)> {
        let whole = (Span::ZERO, self.scenario.duration);
        let windows = self.scenario.windows.iter().map(|window| (window.from, window.to));
        std::iter::once(whole).chain(windows).chain(self.windows.iter().copied()).collect()
    }

    /// Returns the approximate number of packets that a run puts on links: that of the optimum, if it has
    /// been computed; or else that of consumers that fill their links.
    pub fn cost(&self) -> u64 {
        let optimum = self.optimum.get().and_then(Option::as_ref);
        let goodputs = optimum.map(ScenarioOptimum::most_goodputs).unwrap_or_default();
        let ways = shortest_ways(&self.scenario);
        let access = access_bps(&self.scenario);
        let packets = |(at, flow): (usize, &Flow)| {
            let seconds = (flow.stop.unwrap_or(self.scenario.duration) - flow.start).as_secs_f64();
            let rate = goodputs.get(at).copied().unwrap_or(access[flow.consumer.index()]);
            let data = rate * seconds / (8.0 * flow.payload.as_u64().max(1) as f64);
            let data = flow.amount.map_or(data, |amount| data.min(amount as f64));
            2.0 * data * ways[at].map_or(1.0, |way| f64::from(way.hops))
        };
        let packets: f64 = self.scenario.flows.iter().enumerate().map(packets).sum();
        packets.max(1.0) as u64
    }
}

/// Returns the rate of the fastest link of each node, bit/s.
fn access_bps(scenario: &Scenario) -> Vec<f64> {
    let mut fastest = vec![0.0_f64; scenario.nodes.len()];
    for link in &scenario.links {
        for node in [link.a, link.b] {
            let known = &mut fastest[node.index()];
            *known = known.max(link.rate[0].as_bps_f64());
        }
    }
    fastest
}
