//! Requests of random traffic in the optimum: the requests that the seed draws, as flows that start and end.

use std::sync::Arc;

use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Setup, Unloaded};
use weir_measure::{Extent, OptimumFlowRow, OptimumRow, RequestAccounts, RunDocument};
use weir_optimum::{Objective, Options, Theory};
use weir_scenario::{Flow, FlowId, Scenario};

use crate::error::StudyError;
use crate::policy;

/// With more requests the optimum might take longer than the run.
const MANY_REQUESTS: usize = 10_000;

/// Returns whether a scenario has requests.
pub(crate) fn has_requests(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.requests.is_some())
}

/// A flow that represents a request.
struct Drawn {
    /// The flow that makes the request.
    source: usize,
    came: Time,
    amount: u64,
}

/// Returns the scenario of a seed with a flow for each request, and the request of each such flow; `None` if
/// there are too many.
fn as_flows(experiment: &Experiment) -> Option<(Scenario, Vec<Option<Drawn>>)> {
    let scenario = experiment.scenario();
    let mut flows: Vec<Flow> = Vec::new();
    let mut drawn = Vec::new();
    for (source, stream) in experiment.request_streams().into_iter().enumerate() {
        let flow = &scenario.flows[source];
        let Some(stream) = stream else {
            flows.push(flow.clone());
            drawn.push(None);
            continue;
        };
        for (number, request) in stream.enumerate() {
            if flows.len() > MANY_REQUESTS {
                return None;
            }
            flows.push(Flow {
                // Requests share no Data, and nothing is cached.
                prefix: format!("{}/{source}-{number}", flow.prefix),
                start: request.at - Time::ZERO,
                amount: Some(request.amount),
                requests: None,
                activity: None,
                ..flow.clone()
            });
            drawn.push(Some(Drawn { source, came: request.at, amount: request.amount }));
        }
    }
    let mut expanded = scenario.clone();
    expanded.flows = flows;
    Some((expanded, drawn))
}

/// Adds to a run the values that its requests and flows would have in the optimum of its seed. Adds nothing
/// if there are too many requests.
pub(crate) fn add_ideal(
    scenario: &Arc<Scenario>,
    windows: &[(Span, Span)],
    document: &mut RunDocument,
) -> Result<(), StudyError> {
    if scenario.flows.iter().any(|flow| flow.activity.is_some() && flow.requests.is_none()) {
        return Err(StudyError::Invalid("a flow pauses at random times".to_owned()));
    }
    let setup =
        Setup { seed: document.seed, with_series: false, windows: windows.to_vec(), ..Setup::default() };
    let experiment = Experiment::new(Arc::clone(scenario), &setup)?;
    let Some((expanded, drawn)) = as_flows(&experiment) else { return Ok(()) };
    let own = scenario.windows.iter().map(|window| (window.from, window.to));
    let measured: Vec<(Span, Span)> = own.chain(windows.iter().copied()).collect();
    let whole = [(Span::ZERO, scenario.duration)];
    let periods: Vec<_> = whole.into_iter().chain(measured.iter().copied()).collect();
    let options = Options { objective: Objective::LinkFair, ..Options::default() };
    let policy = policy::of(&expanded)?;
    let theory = Theory::new(&expanded, &policy, &options)?;
    let (optima, completions) = theory.windows_and_completions(&periods)?;
    let extent = Extent {
        until: experiment.until(),
        windows: measured.iter().map(|(from, to)| (Time::ZERO + *from, Time::ZERO + *to)).collect(),
        others: Vec::new(),
        step: scenario.sample,
        with_series: false,
    };
    let mut accounts = RequestAccounts::new(experiment.request_infos(), &extent);
    let unloaded: Vec<Option<Unloaded>> =
        (0..scenario.flows.len()).map(|flow| experiment.unloaded(FlowId(flow))).collect();
    for (drawn, time) in drawn.iter().zip(&completions.times) {
        let Some(Drawn { source, came, amount }) = *drawn else { continue };
        accounts.on_request(source, came, amount);
        if let (Some(time), Some(alone)) = (time, unloaded[source]) {
            // In the fluid model the first Data takes as long as the others. In addition it needs the time of
            // its path.
            let took = (alone.first + *time).saturating_sub(alone.per_data);
            if came + took < experiment.until() {
                accounts.on_end(source, came, amount, took, Some(alone.time(amount)));
            }
        }
    }
    let rows =
        core::iter::once(&mut document.requests).chain(document.windows.iter_mut().map(|w| &mut w.requests));
    for (interval, rows) in rows.enumerate() {
        let ideal = accounts.rows(interval);
        for row in rows {
            let same = ideal.iter().find(|ideal| (&ideal.group, &ideal.size) == (&row.group, &row.size));
            row.ideal_slowdown = same.map(|ideal| ideal.slowdown);
        }
    }
    let goodputs = |period: usize| {
        let mut goodputs = vec![0.0; scenario.flows.len()];
        let mut plain = (0..scenario.flows.len()).filter(|flow| scenario.flows[*flow].requests.is_none());
        for (drawn, best) in drawn.iter().zip(&optima[period].flows) {
            let flow = drawn.as_ref().map_or_else(|| plain.next().unwrap_or(0), |drawn| drawn.source);
            goodputs[flow] += best.goodput_bps;
        }
        goodputs
    };
    let row = |period: usize, flows: &[weir_measure::FlowRow]| {
        let best = scenario.flows.iter().zip(goodputs(period)).map(|(flow, goodput_bps)| OptimumFlowRow {
            consumer: experiment.node_name(flow.consumer).to_owned(),
            prefix: flow.prefix.clone(),
            class: flow.class.name().to_owned(),
            goodput_bps,
            unshared_goodput_bps: None,
        });
        let row = OptimumRow::new(options.objective.name(), theory.utilisation(), best.collect(), flows);
        OptimumRow { weights: policy::weights(scenario, &policy), ..row }
    };
    for (at, window) in document.windows.iter_mut().enumerate() {
        window.optimum = Some(row(1 + at, &window.flows));
    }
    if document.windows.is_empty() {
        document.optimum = Some(row(0, &document.flows));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean slowdown of processor sharing is 1/(1 − ρ) for any distribution of sizes (Kleinrock, 1976).
    #[test]
    fn ideal_sharing_has_the_slowdown_of_processor_sharing() {
        for (load, tolerance) in [(0.3, 0.05), (0.6, 0.1), (0.8, 0.2)] {
            // A Data takes 0.886 ms on the link, and a request has 100 Data on average.
            let flow = format!(
                "title = \"PS\"\nduration = \"400 s\"\n[scheme]\ndefault = \"fixed\"\n[[node]]\nname = [\"C\", \"P\"]\n\
                 [[link]]\nends = [\"C\", \"P\"]\nrate = [\"10 Gb/s\", \"10 Mb/s\"]\ndelay = \"1 us\"\n\
                 [[flow]]\nname = \"web\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/web\"\n\
                 arrivals = \"poisson {}/s\"\namount = \"exponential 100\"\n",
                load / 0.0886
            );
            let scenario =
                Arc::new(Scenario::parse("PS", "PS", &flow, &[]).unwrap_or_else(|error| panic!("{error}")));
            let row =
                weir_measure::RequestRow { group: "web".into(), size: "all".into(), ..Default::default() };
            let mut document = RunDocument { seed: 3, requests: vec![row], ..RunDocument::default() };
            add_ideal(&scenario, &[], &mut document).unwrap_or_else(|error| panic!("{error}"));
            let found = document.requests[0].ideal_slowdown.and_then(|s| s.mean).unwrap_or_default();
            let wanted = 1.0 / (1.0 - load);
            assert!((found / wanted - 1.0).abs() < tolerance, "{load}: {found}, not {wanted}");
        }
    }
}
