//! The document of a scenario's optimum: rates, bottlenecks and completions.

use std::sync::Arc;

use weir_core::units::Span;
use weir_optimum::{Alone, Bottleneck, Completions, Copies, Held, Objective, Optimum, Options, Theory};
use weir_results::{
    BestFlowRow, BestLinkRow, BottleneckRow, GainRow, HeldRow, OptimumCompletionRow, OptimumDocument,
    OptimumWindowRow, ShareRow, TargetGoodputRow,
};
use weir_scenario::{DirectedLink, Scenario};

use crate::error::StudyError;
use crate::point::Point;
use crate::policy;

/// With more flows than this, costly parts are left out: max-min fairness beside link-fair, and the gains of
/// flows at all bottlenecks but the first, or at all of them if rates are not exact.
const FEW_FLOWS: usize = 64;
/// The number of bottlenecks that are first.
const FIRST_BOTTLENECKS: usize = 12;

/// The parameters of an optimum.
#[derive(Clone, Copy, Debug)]
pub struct OptimumRequest {
    /// The objective.
    pub objective: Objective,
    /// The usable part of the links' rates, above 0 and at most 1; `None` for all of them.
    pub utilisation: Option<f64>,
    /// The seed whose consumers, starts and delays are drawn; `None`: the scenario without random parts.
    pub seed: Option<u64>,
}

impl OptimumRequest {
    /// Computes the optimum in the windows of a point, or in the scenario's own, or else over the whole run.
    ///
    /// # Errors
    /// Returns an error if theory does not know the optimum.
    pub fn document(self, point: &Point) -> Result<OptimumDocument, StudyError> {
        let own = own_windows(&point.scenario);
        let windows = if point.windows.is_empty() { &own } else { &point.windows };
        match self.seed {
            Some(seed) => {
                let (drawn, _) = weir_experiment::drawn(Arc::clone(&point.scenario), seed);
                document(&drawn, self, &point.set, windows)
            }
            None => document(&point.scenario, self, &point.set, windows),
        }
    }
}

/// Returns the scenario's windows, or the whole run.
fn own_windows(scenario: &Scenario) -> Vec<(Span, Span)> {
    let own: Vec<_> = scenario.windows.iter().map(|window| (window.from, window.to)).collect();
    if own.is_empty() { vec![(Span::ZERO, scenario.duration)] } else { own }
}

fn document(
    scenario: &Scenario,
    request: OptimumRequest,
    set: &[String],
    windows: &[(Span, Span)],
) -> Result<OptimumDocument, StudyError> {
    let OptimumRequest { objective, utilisation, .. } = request;
    let options = Options { objective, utilisation, ..Options::default() };
    let policy = policy::of(scenario)?;
    crate::optimum::refuse_drawn(scenario)?;
    let theory = Theory::new(scenario, &policy, &options)?;
    let mut notes = Vec::new();
    let has_few = scenario.flows.len() <= FEW_FLOWS;
    let max_min = match objective {
        Objective::LinkFair if has_few => {
            let options = Options { objective: Objective::MaxMin, ..options };
            Some(Theory::new(scenario, &policy, &options)?.windows(windows)?)
        }
        Objective::LinkFair => {
            notes.push(format!(
                "Max-min fairness over all routes is not computed for more than {FEW_FLOWS} flows: request it with --objective max-min."
            ));
            None
        }
        _ => None,
    };
    let apart = Options { copies: Copies::Apart, ..options };
    let apart = theory.may_share().then(|| Theory::new(scenario, &policy, &apart)).transpose()?;
    let unshared = apart.as_ref().map(|theory| theory.windows(windows)).transpose()?;
    let target = utilisation.is_none().then(|| policy::target(scenario, &scenario.scheme)).flatten();
    let of_target = |part: f64| {
        let options = Options { utilisation: Some(part), ..options };
        Theory::new(scenario, &policy, &options)?.windows(windows)
    };
    let targets = target.map(of_target).transpose()?;
    let mut rows = Vec::new();
    let (optima, completions) = theory.windows_and_completions(windows)?;
    for (at, optimum) in optima.iter().enumerate() {
        // The gain of a flow is small compared with the error of rates that are not exact.
        let with_gains = match optimum.inexact {
            _ if has_few => usize::MAX,
            None => FIRST_BOTTLENECKS,
            Some(_) => 0,
        };
        let bottlenecks = theory.bottlenecks(optimum, with_gains)?;
        let of = |optima: &Option<Vec<Optimum>>| optima.as_ref().and_then(|optima| optima.get(at).cloned());
        let beside = Beside { max_min: of(&max_min), unshared: of(&unshared) };
        let target = targets.as_ref().map(|targets| TargetGoodputRow {
            scheme: scenario.scheme.clone(),
            utilisation: targets[at].utilisation,
            goodput_bps: targets[at].flows.iter().map(|flow| flow.goodput_bps).sum(),
        });
        rows.push(OptimumWindowRow { target, ..window_row(scenario, optimum, &beside, &bottlenecks) });
    }
    if !has_few && rows.iter().any(|row| !row.exact) {
        notes.push(format!(
            "The gains of flows at bottlenecks are not computed for more than {FEW_FLOWS} flows whose rates are not exact."
        ));
    }
    Ok(OptimumDocument {
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        set: set.to_vec(),
        objective: objective.to_string(),
        utilisation: theory.utilisation(),
        windows: rows,
        completions_inexact: completions.inexact.map(|why| why.to_string()),
        completions: completion_rows(scenario, &theory, &completions, apart.as_ref())?,
        notes,
    })
}

/// Other optima of the same window.
struct Beside {
    max_min: Option<Optimum>,
    /// The optimum in which each consumer has its own copy of the Data.
    unshared: Option<Optimum>,
}

fn window_row(
    scenario: &Scenario,
    optimum: &Optimum,
    beside: &Beside,
    bottlenecks: &[Bottleneck],
) -> OptimumWindowRow {
    let ends = |link: DirectedLink| {
        let (from, to) = scenario.ends(link);
        let [from, to] = [from, to].map(|node| scenario.nodes[node.index()].name.clone());
        let name = scenario.links[link.link.index()].name.as_ref().map(|name| format!(":{name}"));
        [from, to + &name.unwrap_or_default()]
    };
    let name = |held: Held| match held {
        Held::BySource => "source".to_owned(),
        Held::ByLink(link) => ends(link).join("->"),
    };
    let flow = |(at, flow): (usize, &weir_scenario::Flow)| {
        let best = &optimum.flows[at];
        let unshared = beside.unshared.as_ref().map(|unshared| &unshared.flows[at]);
        BestFlowRow {
            consumer: scenario.nodes[flow.consumer.index()].name.clone(),
            prefix: flow.prefix.clone(),
            class: flow.class.name().to_owned(),
            rate_bps: best.rate_bps,
            goodput_bps: best.goodput_bps,
            max_min_bps: beside.max_min.as_ref().map(|max_min| max_min.flows[at].rate_bps),
            alone_bps: best.alone_bps,
            unshared_bps: unshared.map(|flow| flow.rate_bps),
            unshared_goodput_bps: unshared.map(|flow| flow.goodput_bps),
            held: best.held.iter().map(|&(held, part)| HeldRow { by: name(held), part }).collect(),
        }
    };
    let link = |link: &weir_optimum::LinkOptimum| {
        let [from, to] = ends(link.link);
        let share = |share: &weir_optimum::Share| ShareRow {
            class: share.class.name().to_owned(),
            rate_bps: share.bps,
        };
        BestLinkRow {
            from,
            to,
            rate_bps: link.rate_bps,
            data_bps: link.data_bps,
            interest_bps: link.interest_bps,
            binding: link.binding,
            shares: link.shares.iter().map(share).collect(),
        }
    };
    let bottleneck = |bottleneck: &Bottleneck| {
        let [from, to] = ends(bottleneck.link);
        let gain = |&(flow, gain): &(weir_scenario::FlowId, f64)| GainRow { flow: flow.index() as u64, gain };
        BottleneckRow {
            from,
            to,
            least_bps: bottleneck.least_bps,
            flows: bottleneck.flows.iter().map(|flow| flow.index() as u64).collect(),
            gains: bottleneck.gains.as_ref().map(|gains| gains.iter().map(gain).collect()),
        }
    };
    OptimumWindowRow {
        target: None,
        from_s: optimum.window.0.as_secs_f64(),
        to_s: optimum.window.1.as_secs_f64(),
        pieces: optimum.pieces as u64,
        exact: optimum.inexact.is_none(),
        inexact: optimum.inexact.map(|why| why.to_string()),
        flows: scenario.flows.iter().enumerate().map(flow).collect(),
        links: optimum.links.iter().map(link).collect(),
        bottlenecks: bottlenecks.iter().map(bottleneck).collect(),
    }
}

/// Returns a row for each flow that has an amount.
fn completion_rows(
    scenario: &Scenario,
    theory: &Theory<'_>,
    completions: &Completions,
    apart: Option<&Theory<'_>>,
) -> Result<Vec<OptimumCompletionRow>, StudyError> {
    if scenario.flows.iter().all(|flow| flow.amount.is_none()) {
        return Ok(Vec::new());
    }
    let unshared = apart.map(Theory::completions).transpose()?;
    let row = |(at, alone): (usize, Option<Alone>)| {
        let (flow, alone) = (&scenario.flows[at], alone?);
        let completion = completions.times[at];
        Some(OptimumCompletionRow {
            consumer: scenario.nodes[flow.consumer.index()].name.clone(),
            prefix: flow.prefix.clone(),
            class: flow.class.name().to_owned(),
            completion_s: completion.map(Span::as_secs_f64),
            unshared_s: unshared.as_ref().and_then(|all| all.times[at]).map(Span::as_secs_f64),
            round_trip_s: alone.round_trip.as_secs_f64(),
            alone_s: alone.time().map(Span::as_secs_f64),
            slowdown: completion.and_then(|completion| alone.slowdown(completion)),
        })
    };
    Ok(theory.alone().into_iter().enumerate().filter_map(row).collect())
}
