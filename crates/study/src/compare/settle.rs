//! The settling of goodputs, which a comparison measures besides the scenario's expectations.

use weir_core::units::Span;
use weir_experiment::Probe;
use weir_measure::ProbeValue;
use weir_results::SettleTime;
use weir_scenario::{Flow, FlowId, Metric, Scenario, Select};

/// Converts a measured time to settle; `None` if nothing was delivered.
pub fn settle_time(probe: ProbeValue) -> Option<SettleTime> {
    Some(SettleTime { s: probe.value?, never: probe.never })
}

/// Returns the probes for the settling of goodputs, the same for every scheme. They are those of the
/// scenario's statements for any scheme, each in the last part of the run that ends with it; or, without such
/// statements, those of all groups of flows. Also returns the parts.
pub fn when_settled(scenario: &Scenario, parts: &[(Span, Span)]) -> (Vec<Probe>, Vec<usize>) {
    let stated = scenario.expectations.iter().filter(|one| one.metric == Metric::Settle);
    let mut wanted: Vec<Probe> = stated.map(Probe::from).collect();
    if wanted.is_empty() {
        wanted = of_groups(scenario, parts.last().copied().unwrap_or_default());
    }
    let (mut probes, mut about): (Vec<Probe>, Vec<usize>) = Default::default();
    for probe in wanted {
        let is_same = |other: &Probe| (other.window, &other.select) == (probe.window, &probe.select);
        let part = parts.iter().rposition(|part| part.1 == probe.window.1);
        if let (Some(part), false) = (part, probes.iter().any(is_same)) {
            probes.push(probe);
            about.push(part);
        }
    }
    (probes, about)
}

/// Returns the probes for the goodput of each group after the last change before the end of a part of the
/// run. Only groups count whose flows all continue until then and have no amount.
fn of_groups(scenario: &Scenario, (_, end): (Span, Span)) -> Vec<Probe> {
    let starts_and_stops = scenario.flows.iter().flat_map(|flow| [Some(flow.start), flow.stop]).flatten();
    let changes = starts_and_stops.chain(scenario.events.iter().map(|event| event.at));
    let begin = changes.filter(|at| *at < end).max().unwrap_or(Span::ZERO);
    let goes_on =
        |flow: &Flow| flow.start < end && flow.stop.is_none_or(|stop| stop >= end) && flow.amount.is_none();
    let mut groups: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    groups.dedup();
    let of_group = |group: &str| {
        let of = || scenario.flows.iter().enumerate().filter(|(_, flow)| flow.name == group);
        of().all(|(_, flow)| goes_on(flow)).then(|| Probe {
            label: format!("time to settle of group {group}"),
            metric: Metric::Settle,
            window: (begin, end),
            select: Select {
                flow: Some(group.to_owned()),
                flows: of().map(|(at, _)| FlowId(at)).collect(),
                ..Select::default()
            },
        })
    };
    groups.into_iter().filter_map(of_group).collect()
}
