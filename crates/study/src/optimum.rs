//! The optimum of a scenario, for comparison with the measurements of its runs.

use weir_core::units::Span;
use weir_measure::{
    Distribution, DistributionRow, FlowRow, OptimumFlowRow, OptimumRow, RunDocument, SlowdownRow, TargetRow,
    jain, unfairness,
};
use weir_optimum::{Alone, Copies, FlowOptimum, Objective, Optimum, Options, Theory};
use weir_scenario::{
    DirectedLink, Event, Expectation, Flow, FlowId, Metric, Scenario, Select, Source, TimedEvent,
};

use crate::error::StudyError;
use crate::policy;
use crate::source::scheme_setting;

/// With more flows without an end, the optimum of a whole run has little meaning. The user can name a window.
const FEW_FLOWS: usize = 300;
/// With more flows that end, the optimum of a whole run might take longer than the run.
const MANY_ENDS: usize = 10_000;
/// With more changes than this where routes fork, the optimum would take longer than the run. `weir optimum`
/// computes it.
const MANY_STEPS: usize = 1000;

/// The optimum of a scenario, in the form of a run's measurements.
#[derive(Clone, Debug)]
pub struct ScenarioOptimum {
    objective: Objective,
    utilisation: f64,
    /// The division of links among classes, in words.
    weights: String,
    /// The flows in each window, in the order of the document's windows.
    windows: Vec<Vec<OptimumFlowRow>>,
    /// The flows in the whole run, if there is no window.
    whole: Option<Vec<OptimumFlowRow>>,
    /// The directions of bottleneck links in each window, or in the whole run if there is none.
    limits: Vec<Vec<usize>>,
    /// What the optimum ignores in the scenario.
    note: Option<&'static str>,
    /// For each flow with an amount its time alone, and its completion in the optimum; empty if not
    /// requested.
    ends: Vec<Option<(Alone, Option<Span>)>>,
    /// The optimum's value of each of the scenario's expectations, if it has one.
    figures: Vec<Option<f64>>,
}

/// Rejects a scenario whose consumers the seed draws, because each seed has another optimum.
pub(crate) fn refuse_drawn(scenario: &Scenario) -> Result<(), StudyError> {
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.activity.is_some() && flow.requests.is_none())
    {
        return Err(StudyError::Invalid(format!(
            "flow {} pauses at random times, so there is no steady optimum: leave its `activity` out",
            flow.name
        )));
    }
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.requests.is_some()) {
        return Err(StudyError::Invalid(format!(
            "flow {} has random requests, which have no steady optimum: `weir run` reports the slowdown of requests if links were shared ideally",
            flow.name
        )));
    }
    let drawn = scenario.flows.iter().find(|flow| !flow.drawn_from.is_empty() || flow.amount_drawn.is_some());
    let refused = |flow: &weir_scenario::Flow| {
        let name = &flow.name;
        StudyError::Invalid(format!(
            "the seed draws the consumers or the amounts of flow {name}: each seed has its own optimum, so name one (--seed)"
        ))
    };
    drawn.map_or(Ok(()), |flow| Err(refused(flow)))
}

impl ScenarioOptimum {
    /// Computes the optimum in the scenario's windows and further ones, or over the whole run if there are no
    /// windows and few flows. Returns `None` if theory does not know the optimum.
    pub fn of(scenario: &Scenario, further: &[(Span, Span)]) -> Option<ScenarioOptimum> {
        let has_windows = !scenario.windows.is_empty() || !further.is_empty();
        let all_end = scenario.flows.iter().all(|flow| flow.amount.is_some());
        let most = if all_end { MANY_ENDS } else { FEW_FLOWS };
        let is_known = has_windows || scenario.flows.len() <= most;
        is_known.then(|| ScenarioOptimum::compute(scenario, further, &[], None).ok()).flatten()
    }

    /// Computes the same with only a part of the links' rates, for a scheme that aims for this part.
    pub(crate) fn of_part(
        scenario: &Scenario,
        further: &[(Span, Span)],
        part: f64,
    ) -> Option<ScenarioOptimum> {
        ScenarioOptimum::compute(scenario, further, &[], Some(part)).ok()
    }

    /// Computes the optimum in the scenario's windows and for its expectations. Returns `None` if theory does
    /// not know it.
    pub fn with_expectations(scenario: &Scenario) -> Option<ScenarioOptimum> {
        ScenarioOptimum::compute(scenario, &[], &scenario.expectations, None).ok()
    }

    /// Returns the settings on which the optimum does not depend.
    pub fn unread(set: &[String]) -> impl Iterator<Item = &String> {
        let is_read = |set: &str| scheme_setting(set).is_some_and(|(scheme, key)| policy::reads(scheme, key));
        set.iter().filter(move |set| !is_read(set))
    }

    fn compute(
        scenario: &Scenario,
        further: &[(Span, Span)],
        expectations: &[Expectation],
        part: Option<f64>,
    ) -> Result<ScenarioOptimum, StudyError> {
        refuse_drawn(scenario)?;
        let own = scenario.windows.iter().map(|window| (window.from, window.to));
        let mut windows: Vec<_> = own.chain(further.iter().copied()).collect();
        let shown = windows.len();
        if shown == 0 {
            windows.push((Span::ZERO, scenario.duration));
        }
        for expectation in expectations.iter().filter(|expectation| is_of_rates(expectation.metric)) {
            if !windows.contains(&expectation.window) {
                windows.push(expectation.window);
            }
        }
        let options = Options { utilisation: part, ..Options::default() };
        let policy = policy::of(scenario)?;
        let theory = Theory::new(scenario, &policy, &options)?;
        if theory.long_steps() > MANY_STEPS {
            return Err(StudyError::Invalid("the optimum would take longer than the run".to_owned()));
        }
        let has_ends = part.is_none() && scenario.flows.iter().any(|flow| flow.amount.is_some());
        let (optima, completions) = if has_ends {
            let (optima, completions) = theory.windows_and_completions(&windows)?;
            (optima, completions.times)
        } else {
            (theory.windows(&windows)?, Vec::new())
        };
        let unshared = if part.is_none() && theory.may_share() {
            let apart = Options { copies: Copies::Apart, ..options };
            Some(Theory::new(scenario, &policy, &apart)?.windows(&windows[..shown.max(1)])?)
        } else {
            None
        };
        let rows =
            |at: usize| flow_rows(scenario, &optima[at], unshared.as_ref().map(|unshared| &unshared[at]));
        let alone = if has_ends { theory.alone() } else { Vec::new() };
        let ends = alone.into_iter().zip(&completions).map(|(alone, time)| Some((alone?, *time)));
        let figure = |expectation: &Expectation| match expectation.metric {
            metric if metric.needs_amount() => of_completions(scenario, &completions, expectation),
            _ => {
                let optimum = optima.iter().find(|optimum| optimum.window == expectation.window)?;
                of_rates(scenario, optimum, expectation)
            }
        };
        Ok(ScenarioOptimum {
            objective: options.objective,
            utilisation: theory.utilisation(),
            weights: policy::weights(scenario, &policy),
            windows: (0..shown).map(rows).collect(),
            whole: (shown == 0).then(|| rows(0)),
            limits: optima[..shown.max(1)].iter().map(limits).collect(),
            note: has_greedy_flows(scenario).then_some(NOTHING_OF_GREED),
            ends: ends.collect(),
            figures: expectations.iter().map(figure).collect(),
        })
    }

    /// Returns the objective.
    pub fn objective(&self) -> &'static str {
        self.objective.name()
    }

    /// Returns the usable part of the links' rates, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Returns the optimum's value of each of the scenario's expectations, in its metric's unit; `None` if
    /// the optimum has no such value, or it was not requested.
    pub fn figures(&self) -> &[Option<f64>] {
        &self.figures
    }

    /// Returns the directions of bottleneck links, as indices into a run's links, for the whole run and then
    /// for each window. The whole run has none if there are windows.
    pub fn limits(&self) -> Vec<Vec<usize>> {
        let whole = self.whole.is_none().then(Vec::new);
        whole.into_iter().chain(self.limits.iter().cloned()).collect()
    }

    /// Returns the goodput of each flow, bit/s, in the order of the scenario's flows: the maximum over the
    /// windows.
    pub fn most_goodputs(&self) -> Vec<f64> {
        let windows = || self.windows.iter().chain(&self.whole);
        let flows = windows().map(Vec::len).max().unwrap_or(0);
        let mut most = vec![0.0_f64; flows];
        for window in windows() {
            for (most, row) in most.iter_mut().zip(window) {
                *most = most.max(row.goodput_bps);
            }
        }
        most
    }

    /// Returns a sentence about what the optimum ignores in the scenario.
    pub fn note(&self) -> Option<&'static str> {
        self.note
    }

    /// Adds it as the target of the run's scheme, if the optimum has been added.
    pub(crate) fn add_as_target(&self, document: &mut RunDocument) {
        let target = |best: &Vec<OptimumFlowRow>, measured: &[FlowRow]| {
            Some(TargetRow::new(self.utilisation, best, measured))
        };
        for (window, best) in document.windows.iter_mut().zip(&self.windows) {
            if let Some(optimum) = &mut window.optimum {
                optimum.target = target(best, &window.flows);
            }
        }
        if let (Some(optimum), Some(best)) = (&mut document.optimum, &self.whole) {
            optimum.target = target(best, &document.flows);
        }
    }

    /// Adds it to each window of a run, or to the run if it has no window.
    pub fn add_to(&self, document: &mut RunDocument) {
        let row = |best: &Vec<OptimumFlowRow>, measured: &[FlowRow]| {
            let row = OptimumRow::new(self.objective.name(), self.utilisation, best.clone(), measured);
            OptimumRow { weights: self.weights.clone(), ..row }
        };
        for (window, best) in document.windows.iter_mut().zip(&self.windows) {
            window.optimum = Some(row(best, &window.flows));
        }
        document.optimum = self.whole.as_ref().map(|best| row(best, &document.flows));
        let rows = document.flows.iter().enumerate().filter_map(|(at, flow)| self.slowdown(at, flow));
        document.slowdowns = rows.collect();
        add_slowdown_distributions(document);
    }

    /// Returns the slowdown of a flow, measured and in the optimum; `None` for a flow without an amount, or
    /// one whose Data would never come.
    fn slowdown(&self, at: usize, measured: &FlowRow) -> Option<SlowdownRow> {
        let (alone, completion) = (*self.ends.get(at)?)?;
        let alone_s = alone.time().filter(|time| *time > Span::ZERO)?.as_secs_f64();
        Some(SlowdownRow {
            flow: at as u64,
            alone_s,
            slowdown: measured.completion_s.map(|time| time / alone_s),
            optimum_completion_s: completion.map(|time| (time + alone.round_trip).as_secs_f64()),
            optimum_slowdown: completion.and_then(|time| alone.slowdown(time)),
        })
    }
}

/// Adds the histograms of the measured slowdowns, of each class and each group that has one of completions.
fn add_slowdown_distributions(document: &mut RunDocument) {
    document.distributions.retain(|row| row.what != "slowdown");
    let RunDocument { flows, slowdowns, distributions, .. } = document;
    let row = |completions: &DistributionRow| {
        let (kind, name) = (&completions.kind, &completions.of);
        let is_of = |flow: &FlowRow| match kind.as_str() {
            "class" => flow.class == *name,
            _ => flow.group == *name,
        };
        let mut all = Distribution::of_slowdowns();
        let own = slowdowns.iter().filter(|row| flows.get(row.flow as usize).is_some_and(is_of));
        own.filter_map(|row| row.slowdown).for_each(|slowdown| all.record(slowdown));
        DistributionRow::of("slowdown", kind, name.clone(), all)
    };
    let rows: Vec<_> = distributions.iter().filter(|row| row.what == "completion").filter_map(row).collect();
    distributions.extend(rows);
}

/// The note on greedy flows, with which no scheme can reach the optimum.
const NOTHING_OF_GREED: &str = "The optimum ignores greedy flows: it divides as if every flow kept to its share. If a scheme punishes a greedy flow, that flow is below the optimum and the others are above.";

/// Returns whether a flow ignores its scheme, from its start or from an event on.
fn has_greedy_flows(scenario: &Scenario) -> bool {
    let is_greedy = |source: &Source| matches!(source, Source::Unresponsive(_));
    let turns =
        |event: &TimedEvent| matches!(&event.what, Event::FlowSource { source, .. } if is_greedy(source));
    scenario.flows.iter().any(|flow| is_greedy(&flow.source)) || scenario.events.iter().any(turns)
}

/// Returns the directions of bottleneck links in most of a window, in the order of a run's links.
fn limits(optimum: &Optimum) -> Vec<usize> {
    let binding = optimum.links.iter().enumerate().filter(|(_, link)| link.binding >= 0.5);
    binding.map(|(at, _)| at).collect()
}

/// Returns the flows of an optimum, and of the optimum without shared Data.
fn flow_rows(scenario: &Scenario, optimum: &Optimum, unshared: Option<&Optimum>) -> Vec<OptimumFlowRow> {
    let row = |(at, (flow, best)): (usize, (&Flow, &FlowOptimum))| OptimumFlowRow {
        consumer: scenario.nodes[flow.consumer.index()].name.clone(),
        prefix: flow.prefix.clone(),
        class: flow.class.name().to_owned(),
        goodput_bps: best.goodput_bps,
        unshared_goodput_bps: unshared.map(|unshared| unshared.flows[at].goodput_bps),
    };
    scenario.flows.iter().zip(&optimum.flows).enumerate().map(row).collect()
}

// ---- The values of expectations

/// Returns whether the rates of an optimum determine a metric.
fn is_of_rates(metric: Metric) -> bool {
    use Metric::{DataRate, Goodput, Jain, Unfairness, Utilisation};
    matches!(metric, Goodput | DataRate | Utilisation | Jain | Unfairness)
}

/// Returns the value of an expectation, from the rates over its window.
fn of_rates(scenario: &Scenario, optimum: &Optimum, expectation: &Expectation) -> Option<f64> {
    let Select { flows, links, .. } = &expectation.select;
    let goodputs = || -> Vec<f64> {
        let goodput = |flow: &FlowId| optimum.flows[flow.index()].goodput_bps;
        flows.iter().map(goodput).collect()
    };
    match expectation.metric {
        Metric::Goodput => Some(goodputs().iter().sum()),
        Metric::DataRate => Some(links.iter().map(|link| data_rate(scenario, optimum, flows, *link)).sum()),
        Metric::Utilisation => mean(links.iter().map(|link| utilisation(scenario, optimum, *link))),
        Metric::Jain => jain(&goodputs()),
        Metric::Unfairness => unfairness(&goodputs()),
        _ => None,
    }
}

/// Returns the rate of Data on a link for the prefixes of some flows. A Data does not show to which of
/// several consumers it belongs.
fn data_rate(scenario: &Scenario, optimum: &Optimum, flows: &[FlowId], link: DirectedLink) -> f64 {
    let prefix = |flow: &FlowId| scenario.flows[flow.index()].prefix.as_str();
    let is_meant = |(stream, _): &&(FlowId, f64)| flows.iter().any(|flow| prefix(flow) == prefix(stream));
    let on_link = optimum.links.iter().filter(|one| one.link == link).flat_map(|one| &one.streams);
    on_link.filter(is_meant).map(|(_, rate)| rate).sum()
}

/// Returns the part of a link's rate that Data and Interests use. On a medium, air time has other uses too.
fn utilisation(scenario: &Scenario, optimum: &Optimum, link: DirectedLink) -> Option<f64> {
    let on_link = optimum.links.iter().find(|one| one.link == link)?;
    let is_known = scenario.links[link.link.index()].medium.is_none() && on_link.rate_bps > 0.0;
    is_known.then(|| (on_link.data_bps + on_link.interest_bps) / on_link.rate_bps)
}

/// Returns the times by which each flow would have fetched its amount.
fn of_completions(
    scenario: &Scenario,
    completions: &[Option<Span>],
    expectation: &Expectation,
) -> Option<f64> {
    let flows = &expectation.select.flows;
    let times = || flows.iter().map(|flow| completions[flow.index()].map(Span::as_secs_f64));
    match expectation.metric {
        Metric::Completion => times().collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max),
        Metric::CompletionMean => mean(times()),
        Metric::Unfinished => {
            let end = |flow: &FlowId| Some(scenario.flows[flow.index()].start + completions[flow.index()]?);
            let is_late = |flow: &&FlowId| end(flow).is_none_or(|end| end > expectation.window.1);
            Some(flows.iter().filter(is_late).count() as f64)
        }
        _ => None,
    }
}

/// Returns the mean; `None` without values, or if one is not known.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
