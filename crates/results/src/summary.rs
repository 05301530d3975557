//! Schemes on several scenarios: for each scenario a few figures over all flows, as means over the seeds.

use crate::comparison::{self, INTERVALS, Part, estimate, part, seeds};
use crate::format::{self, NONE, Quantity, settled};
use crate::matrix;
use crate::model::{
    DelayEstimates, RequestComparison, SummaryDocument, SummaryPeriod, SummaryPoint, SummaryRow,
    SummaryScenario,
};
use crate::optimum::unshared_bps;
use crate::requests;
use crate::sheet::{Cell, Column, Form, Grid, Section, Sheet, numbers, words};
use crate::thrown;
use serde::{Deserialize, Serialize};
use weir_measure::jain;
use weir_measure::{DelayMs, Estimate, RequestRow, RunDocument, TrafficFigures};

/// The facts of a scenario that the documents of its runs do not have.
#[derive(Clone, Debug, Default)]
pub struct SummaryContext {
    /// For each flow, whether it has its own fixed scheme.
    pub has_own_scheme: Vec<bool>,
    /// For the whole run and then for each window the directions of bottleneck links in the optimum,
    /// as indices in the run's links; empty if they are unknown.
    pub limits: Vec<Vec<usize>>,
    /// For each flow the propagation delay to its nearest producer and back, ms; `None` if it is zero or changes.
    pub round_trip_ms: Vec<Option<f64>>,
    /// For each flow the content of one Data, bytes.
    pub payload_bytes: Vec<f64>,
    /// Whether the runs measured times to settle.
    pub asks_when_settled: bool,
}

/// A run with its times to settle.
#[derive(Clone, Debug)]
pub struct SummaryRun<'a> {
    /// What it measured.
    pub document: &'a RunDocument,
    /// For the whole run and then for each window: the time to settle; `None` if it was not measured.
    pub settled: Vec<Option<SettleTime>>,
}

/// A time to settle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettleTime {
    /// The time, s.
    pub s: f64,
    /// Whether the goodput was not settled at the end of the window: then it is the time until this end.
    pub never: bool,
}

impl SummaryPoint {
    /// Summarises the runs at a point: for each scheme one run with each seed, in the same order. The caller adds the
    /// settings of the point, its page, and the schemes that could not run.
    pub fn of(context: &SummaryContext, schemes: &[Vec<SummaryRun<'_>>]) -> SummaryPoint {
        let Some(first) = schemes.first().and_then(|runs| runs.first()) else {
            return SummaryPoint::default();
        };
        let document = first.document;
        let is_whole =
            |window: &&weir_measure::WindowRow| (window.from_s, window.to_s) == (0.0, document.simulated_s);
        let skipped = usize::from(document.windows.iter().find(is_whole).is_some());
        let period = |at: usize| period(at, context, schemes);
        SummaryPoint {
            periods: (skipped..=document.windows.len()).map(period).collect(),
            matrix: schemes.iter().map(|runs| matrix::row(context, runs)).collect(),
            ..SummaryPoint::default()
        }
    }
}

/// The whole run, or from 1 on one of the windows.
fn period(at: usize, context: &SummaryContext, schemes: &[Vec<SummaryRun<'_>>]) -> SummaryPeriod {
    let limits = context.limits.get(at).map_or(&[][..], Vec::as_slice);
    let row = |runs: &Vec<SummaryRun<'_>>| {
        let parts: Vec<(Part<'_>, Option<SettleTime>)> = runs
            .iter()
            .filter_map(|run| Some((part(run.document, at)?, run.settled.get(at).copied().flatten())))
            .collect();
        let mean = |of: &dyn Fn(&Part<'_>) -> Option<f64>| estimate(parts.iter().map(|(part, _)| of(part)));
        let totals: Vec<TrafficFigures> = parts.iter().map(|(part, _)| all_flows(part)).collect();
        let total = |of: fn(&TrafficFigures) -> Option<f64>| estimate(totals.iter().map(of));
        let scheme = runs.first().map_or_else(String::new, |run| run.document.scheme.clone());
        SummaryRow {
            requests: requests_of(&scheme, &parts),
            scheme,
            goodput_bps: total(|all| Some(all.goodput_bps)),
            ratio: mean(&|part| ratio(part, &context.has_own_scheme)),
            utilisation: mean(&|part| utilisation(part, limits)),
            jain: mean(&fairness),
            jain_in_class: mean(&fairness_in_class),
            data_thrown_away: estimate(runs.iter().map(|run| Some(run.document.data_thrown_away))),
            delay_ms: DelayEstimates {
                mean: total(|all| all.delay_ms.mean),
                p99: total(|all| all.delay_ms.p99),
            },
            lost: total(|all| Some(all.lost as f64)),
            retransmitted: total(|all| Some(all.retransmitted as f64)),
            completion_mean_s: total(|all| all.completion_mean_s),
            completion_s: total(|all| all.completion_s),
            settle_s: estimate(parts.iter().map(|(_, settled)| Some((*settled)?.s))),
            never_settled: parts.iter().filter(|(_, settled)| settled.is_some_and(|time| time.never)).count()
                as u64,
        }
    };
    let first = schemes.first().and_then(|runs| part(runs.first()?.document, at));
    SummaryPeriod {
        from_s: first.map_or(0.0, |part| part.from_s),
        to_s: first.map_or(0.0, |part| part.to_s),
        weights: first.and_then(|part| part.optimum).map_or_else(String::new, |row| row.weights.clone()),
        optimum_bps: first
            .and_then(|part| part.optimum)
            .map(|optimum| optimum.flows.iter().map(|flow| flow.goodput_bps).sum()),
        unshared_optimum_bps: first
            .and_then(|part| part.optimum)
            .and_then(|optimum| unshared_bps(&optimum.flows)),
        rows: schemes.iter().map(row).collect(),
    }
}

/// What all flows got together. The mean delay is over the classes, weighted by their goodputs; the 99th percentile is
/// that of the class with the largest.
pub(crate) fn all_flows(part: &Part<'_>) -> TrafficFigures {
    let classes = || part.classes.iter().map(|class| &class.figures);
    let times = completions(part);
    TrafficFigures {
        goodput_bps: classes().map(|class| class.goodput_bps).sum(),
        delay_ms: DelayMs { mean: delay_mean(part), p99: delay_p99(part), ..DelayMs::default() },
        lost: classes().map(|class| class.lost).sum(),
        retransmitted: classes().map(|class| class.retransmitted).sum(),
        timeouts: classes().map(|class| class.timeouts).sum(),
        completion_s: times.iter().flatten().copied().reduce(f64::max),
        completion_mean_s: times.as_deref().and_then(mean),
        jain: None,
        hops: None,
    }
}

/// The requests of a scheme's runs.
fn requests_of(scheme: &str, parts: &[(Part<'_>, Option<SettleTime>)]) -> Option<RequestComparison> {
    let rows: Vec<RequestRow> = parts.iter().filter_map(|(part, _)| requests::together(part)).collect();
    let RequestRow { group, size, .. } = rows.first()?;
    Some(requests::over_seeds(scheme, group, size, &rows.iter().collect::<Vec<_>>()))
}

fn ratio(part: &Part<'_>, has_own_scheme: &[bool]) -> Option<f64> {
    let mean_of = |own: bool| {
        let goodputs = part.flows.iter().zip(has_own_scheme).filter(|(_, has_own)| **has_own == own);
        mean(&goodputs.map(|(flow, _)| flow.goodput_bps).collect::<Vec<_>>())
    };
    let (of_scheme, of_others) = (mean_of(false)?, mean_of(true)?);
    (of_others > 0.0).then(|| of_scheme / of_others)
}

fn utilisation(part: &Part<'_>, limits: &[usize]) -> Option<f64> {
    let of_links = limits.iter().filter_map(|&link| Some(part.links.get(link)?.utilisation));
    mean(&of_links.collect::<Vec<_>>())
}

/// Jain's index, weighted: over what flows get of what they should.
pub(crate) fn fairness(part: &Part<'_>) -> Option<f64> {
    let pairs = part.flows.iter().zip(&part.optimum?.flows).filter(|(_, best)| best.goodput_bps > 0.0);
    let shares: Vec<f64> = pairs.map(|(flow, best)| flow.goodput_bps / best.goodput_bps).collect();
    jain(&shares).filter(|_| shares.len() > 1)
}

/// Jain's index within a class, without weights: the mean over the classes by their flows.
pub(crate) fn fairness_in_class(part: &Part<'_>) -> Option<f64> {
    let of_class = |class: &weir_measure::ClassRow| {
        let flows = part.flows.iter().filter(|flow| flow.class == class.class).count();
        let jain = comparison::fairness(part, |flow| flow.class == class.class)?;
        Some((jain * flows as f64, flows as f64))
    };
    let known = part.classes.iter().filter_map(of_class);
    let (sum, flows) = known.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (flows > 0.0).then(|| sum / flows)
}

fn delay_mean(part: &Part<'_>) -> Option<f64> {
    let known = part
        .classes
        .iter()
        .filter_map(|class| Some((class.figures.delay_ms.mean?, class.figures.goodput_bps)));
    let (sum, weights) =
        known.fold((0.0, 0.0), |(sum, weights), (delay, goodput)| (sum + delay * goodput, weights + goodput));
    (weights > 0.0).then(|| sum / weights)
}

fn delay_p99(part: &Part<'_>) -> Option<f64> {
    part.classes.iter().filter_map(|class| class.figures.delay_ms.p99).reduce(f64::max)
}

/// How the optimum of a scenario divides links among classes; `None` if it does not.
pub(crate) fn weights_of(scenario: &SummaryScenario) -> Option<&str> {
    let periods = scenario.points.iter().flat_map(|point| &point.periods);
    periods.map(|period| period.weights.as_str()).find(|weights| !weights.is_empty())
}

/// What each flow took, if all are done.
fn completions(part: &Part<'_>) -> Option<Vec<f64>> {
    let mut times: Vec<f64> = part.flows.iter().map(|flow| flow.completion_s).collect::<Option<_>>()?;
    // As of goodputs: sums round by their order.
    times.sort_by(f64::total_cmp);
    (!times.is_empty()).then_some(times)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

// ---- As tables

/// The page that leads to all others, beside them.
const INDEX: &str = "compare.html";

/// What the columns are, in words.
pub(crate) const COLUMNS: &str = "Figures are for all flows together. Utilisation is that of the bottleneck links in the optimum. \
     The weighted Jain's index is over each flow's goodput as a part of its goodput in the optimum, which divides links by the \
     weights of classes. Jain's index in a class is over the goodputs of its flows, without weights. A row optimum has the goodput of the \
     optimum, in which consumers of a prefix share each copy of Data; a row unshared has it if they share none. The 99th percentile of the delay is that of the class with the largest one. Lost counts Data, sent again \
     counts Interests. Settled is the time from the scenario's last change until all goodputs that the scenario names \
     stay within 5 % of their final values. If they never do, it counts in means with the time until the window's end.";

/// A figure of a scheme.
type Figure<'a> = (&'a str, Quantity, fn(&SummaryRow) -> Option<Estimate>);

/// The heading of times to settle.
const SETTLED: &str = "settled";

/// The columns of a table by windows. What no row has is left out.
const FIGURES: [Figure<'static>; 15] = [
    ("request completion", Quantity::Millis, |row| row.requests.as_ref()?.completion_ms.mean),
    ("slowdown mean", Quantity::Plain, |row| row.requests.as_ref()?.slowdown.mean),
    ("slowdown p99", Quantity::Plain, |row| row.requests.as_ref()?.slowdown.p99),
    ("requests complete", Quantity::Percent, |row| row.requests.as_ref()?.complete),
    ("goodput", Quantity::Rate, |row| row.goodput_bps),
    ("utilisation", Quantity::Percent, |row| row.utilisation),
    ("weighted Jain", Quantity::Plain, |row| row.jain),
    ("Jain in class", Quantity::Plain, |row| row.jain_in_class),
    ("delay mean", Quantity::Millis, |row| row.delay_ms.mean),
    ("delay p99", Quantity::Millis, |row| row.delay_ms.p99),
    ("lost", Quantity::Count, |row| row.lost),
    ("sent again", Quantity::Count, |row| row.retransmitted),
    ("done, mean", Quantity::Seconds, |row| row.completion_mean_s),
    ("last", Quantity::Seconds, |row| row.completion_s),
    (SETTLED, Quantity::Seconds, |row| row.settle_s),
];

/// The tables of a scenario with axes, each over its points.
const OVER_AXES: [Figure<'static>; 10] = [
    ("Weighted Jain's index", Quantity::Plain, |row| row.jain),
    ("Jain's index within a class", Quantity::Plain, |row| row.jain_in_class),
    ("Completion of requests, mean", Quantity::Millis, |row| row.requests.as_ref()?.completion_ms.mean),
    ("Slowdown of requests, mean", Quantity::Plain, |row| row.requests.as_ref()?.slowdown.mean),
    ("Slowdown of requests, 99th percentile", Quantity::Plain, |row| row.requests.as_ref()?.slowdown.p99),
    ("Requests complete", Quantity::Percent, |row| row.requests.as_ref()?.complete),
    ("Utilisation", Quantity::Percent, |row| row.utilisation),
    ("Delay, mean", Quantity::Millis, |row| row.delay_ms.mean),
    ("Delay, 99th percentile", Quantity::Millis, |row| row.delay_ms.p99),
    ("Data lost", Quantity::Count, |row| row.lost),
];

impl SummaryRow {
    /// Whether goodputs settle with no seed.
    pub(crate) fn never_settles(&self) -> bool {
        self.settle_s.is_some_and(|all| all.n == self.never_settled)
    }
}

impl SummaryDocument {
    /// The shape of the document that this code writes.
    pub const SCHEMA: u64 = 1;

    /// The text for a terminal with `width` columns, if it is given.
    pub fn text(&self, width: Option<u16>) -> String {
        Sheet { sections: self.sections(), ..self.sheet() }.text(width)
    }

    /// The page with the matrix, one file. It links to [`SummaryDocument::pages`].
    pub fn html(&self) -> String {
        let lead = matrix::lead_html(self);
        Sheet { answer: Vec::new(), lead, notes: self.intervals().into_iter().collect(), ..self.sheet() }
            .html()
    }

    /// The pages of single schemes and scenarios: file names and HTML.
    pub fn pages(&self) -> Vec<(String, String)> {
        let scheme = |scheme: &String| (matrix::scheme_page(scheme), self.scheme_sheet(scheme).html());
        let scenario = |one: &SummaryScenario| Some((one.page.clone()?, self.scenario_sheet(one).html()));
        self.schemes.iter().map(scheme).chain(self.scenarios.iter().filter_map(scenario)).collect()
    }

    /// A page of one scheme: what the matrix says of it.
    fn scheme_sheet(&self, scheme: &str) -> Sheet {
        Sheet {
            title: format!("{scheme} on {}", counted(self.scenarios.len(), "scenario")),
            facts: vec![("seeds", seeds(&self.seeds)), ("made by", self.command.clone())],
            answer: matrix::about(self, scheme),
            sections: vec![matrix::of_scheme(self, scheme)],
            notes: Vec::new(),
            back: Some((INDEX.to_owned(), "all schemes and scenarios".to_owned())),
            ..self.sheet()
        }
    }

    /// A page of one scenario: what the matrix says of it, and its tables.
    fn scenario_sheet(&self, scenario: &SummaryScenario) -> Sheet {
        let mut tables = self.section(scenario);
        (tables.title, tables.source) = ("By window and point".to_owned(), String::new());
        tables.notes.push(COLUMNS.to_owned());
        Sheet {
            title: scenario.scenario.clone(),
            facts: vec![
                ("about", scenario.title.clone()),
                ("from", scenario.source.clone()),
                ("seeds", seeds(&self.seeds)),
            ],
            answer: Vec::new(),
            sections: vec![matrix::of_scenario(self, scenario), tables],
            notes: Vec::new(),
            back: Some((INDEX.to_owned(), "all schemes and scenarios".to_owned())),
            ..self.sheet()
        }
    }

    /// The tables in GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let seeds = seeds(&self.seeds);
        let head = format!("Made by `{}`, weir {}, seeds {seeds}.", self.command, self.version);
        let answer =
            matrix::answer(self).into_iter().map(|sentence| format!("- {sentence}")).collect::<Vec<_>>();
        let mut notes = vec![head, answer.join("\n"), matrix::MEASURES_IN_WORDS.to_owned()];
        notes.extend(matrix::classes_note(self));
        notes.extend(matrix::grids(self).iter().map(Grid::markdown));
        notes.push(COLUMNS.to_owned());
        notes.extend(self.intervals());
        let tables = Sheet { sections: self.sections(), ..Sheet::default() }.markdown();
        format!("{}\n\n{tables}", notes.join("\n\n"))
    }

    pub(crate) fn intervals(&self) -> Option<String> {
        (self.seeds.len() > 1).then(|| INTERVALS.to_owned())
    }

    fn sheet(&self) -> Sheet {
        let facts = vec![
            ("schemes", self.schemes.join(", ")),
            ("seeds", seeds(&self.seeds)),
            ("made by", self.command.clone()),
        ];
        Sheet {
            kind: "Weir comparison",
            title: format!(
                "{} on {}",
                counted(self.schemes.len(), "scheme"),
                counted(self.scenarios.len(), "scenario")
            ),
            facts,
            answer: matrix::answer(self),
            notes: [COLUMNS.to_owned()].into_iter().chain(self.intervals()).collect(),
            ..Sheet::default()
        }
    }

    /// The tables of all scenarios.
    pub(crate) fn sections(&self) -> Vec<Section> {
        self.scenarios.iter().map(|scenario| self.section(scenario)).collect()
    }

    fn section(&self, scenario: &SummaryScenario) -> Section {
        let mut notes: Vec<String> = Vec::new();
        if !scenario.variants.is_empty() {
            notes.push(format!("Parameter variants in this scenario: {}.", scenario.variants.join(", ")));
        }
        for row in scenario.points.iter().flat_map(|point| &point.left_out) {
            let note = format!("{NONE} {} cannot run here: {}", row.scheme, row.why);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes.extend(
            weights_of(scenario).map(|weights| format!("The optimum divides links by classes: {weights}.")),
        );
        notes.extend(matrix::classes_note(self));
        notes.extend(self.thrown_away(scenario));
        let mut grids = match &scenario.points[..] {
            [point] => vec![self.by_window(point)],
            points => self.over_axes(scenario, points),
        };
        grids.retain(|grid| !grid.rows.is_empty());
        let page = |point: &SummaryPoint| Some((self.name_of(scenario, point), point.page.clone()?));
        Section {
            title: scenario.scenario.clone(),
            source: scenario.title.clone(),
            grids,
            notes,
            pages: scenario.points.iter().filter_map(page).collect(),
            ..Section::default()
        }
    }

    /// The schemes that throw away more than 1 % of the Data at some point, with the most of it.
    fn thrown_away(&self, scenario: &SummaryScenario) -> Option<String> {
        let most = |scheme: &String| {
            let rows =
                scenario.points.iter().flat_map(|point| &point.periods).flat_map(|period| &period.rows);
            let parts = rows.filter(|row| row.scheme == *scheme).filter_map(|row| row.data_thrown_away);
            let most = parts.map(|part| part.mean).fold(0.0, f64::max);
            (most > thrown::NOTEWORTHY).then(|| format!("{scheme} {}", Quantity::Percent.format(most)))
        };
        let named: Vec<String> = self.schemes.iter().filter_map(most).collect();
        (!named.is_empty()).then(|| format!("Data thrown away, for any reason: {}.", named.join(", ")))
    }

    fn name_of(&self, scenario: &SummaryScenario, point: &SummaryPoint) -> String {
        if scenario.points.len() > 1 { label(&point.set) } else { scenario.scenario.clone() }
    }

    /// A row for each window and scheme.
    fn by_window(&self, point: &SummaryPoint) -> Grid {
        let rows = || point.periods.iter().flat_map(|period| &period.rows);
        let shown: Vec<&Figure> =
            FIGURES.iter().filter(|(_, _, of)| rows().any(|row| of(row).is_some())).collect();
        let mut columns = vec![words("window"), words("scheme")];
        columns.extend(shown.iter().map(|(title, _, _)| numbers(*title)));
        let mut cells: Vec<Vec<Cell>> = Vec::new();
        for period in &point.periods {
            let begin = cells.len();
            let bounds = [("optimum", period.optimum_bps), ("unshared", period.unshared_optimum_bps)];
            cells.extend(bounds.iter().filter_map(|(name, best)| Some(optimum(name, (*best)?, shown.len()))));
            cells.extend(self.schemes.iter().map(|scheme| {
                let row = period.rows.iter().find(|row| row.scheme == *scheme);
                let figures = shown.iter().map(|(title, quantity, of)| match row {
                    Some(row) if *title == SETTLED && row.never_settles() => {
                        settled(row.settle_s.as_ref(), row.never_settled, self.seeds.len()).into()
                    }
                    _ => self.cell(*quantity, row.and_then(of)),
                });
                ["".into(), matrix::marked(self, scheme).into()].into_iter().chain(figures).collect()
            }));
            if let Some(first) = cells.get_mut(begin).and_then(|row| row.first_mut()) {
                *first = window(period).into();
            }
        }
        let title = "By window".to_owned();
        Grid { title, form: Form::Figures, columns, rows: cells, ..Grid::default() }
    }

    /// For each figure a table with a row a scheme and a column a point, over the last window.
    fn over_axes(&self, scenario: &SummaryScenario, points: &[SummaryPoint]) -> Vec<Grid> {
        let to_others = format!("Goodput as a multiple of {}'s beside it", scenario.others.join(", "));
        let ratio: Figure<'_> = (&to_others, Quantity::Plain, |row| row.ratio);
        // Of two flows under two schemes the ratio says all that Jain's index would.
        let others = OVER_AXES.into_iter().skip(if scenario.others.is_empty() { 0 } else { 2 });
        let axis = only_axis(points).map_or(String::new(), |axis| format!(" over {axis}"));
        let last = points.first().and_then(|point| point.periods.last()).map(window).unwrap_or_default();
        let grid = |(title, quantity, of): Figure<'_>| {
            let figure = |point: &SummaryPoint, scheme: &String| {
                of(point.periods.last()?.rows.iter().find(|row| row.scheme == *scheme)?)
            };
            let row = |scheme: &String| {
                let cells = points.iter().map(|point| self.cell(quantity, figure(point, scheme)));
                let is_weighted = title.starts_with("Weighted");
                let name = if is_weighted { matrix::marked(self, scheme) } else { scheme.clone() };
                [name.into()].into_iter().chain(cells).collect()
            };
            let columns: Vec<Column> = [words("scheme")]
                .into_iter()
                .chain(points.iter().map(|point| numbers(label(&point.set))))
                .collect();
            let has_any = |scheme: &String| points.iter().any(|point| figure(point, scheme).is_some());
            self.schemes.iter().any(has_any).then(|| Grid {
                title: format!("{title}{axis}, {last}"),
                form: Form::Figures,
                columns,
                rows: self.schemes.iter().map(row).collect(),
                ..Grid::default()
            })
        };
        [ratio].into_iter().chain(others).filter_map(grid).collect()
    }

    fn cell(&self, quantity: Quantity, estimate: Option<Estimate>) -> Cell {
        quantity.over_seeds(estimate.as_ref(), self.seeds.len()).into()
    }
}

/// The row of an optimum, of which only the goodput is said.
fn optimum(name: &str, best_bps: f64, figures: usize) -> Vec<Cell> {
    let heads = [Cell::default(), name.into(), Quantity::Rate.format(best_bps).into()];
    heads.into_iter().chain((1..figures).map(|_| Cell::default())).collect()
}

fn window(period: &SummaryPeriod) -> String {
    format::period(period.from_s, period.to_s)
}

/// A point by its values: `delay 5 ms` for `axis.delay=5 ms`, and of an only axis the value alone.
pub(crate) fn label(set: &[String]) -> String {
    let value = |one: &String| match (one.split_once('='), set.len()) {
        (Some((_, value)), 1) => value.to_owned(),
        _ => one.strip_prefix("axis.").unwrap_or(one).replacen('=', " ", 1),
    };
    set.iter().map(value).collect::<Vec<_>>().join(", ")
}

/// The name of the axis, if there is one alone.
fn only_axis(points: &[SummaryPoint]) -> Option<&str> {
    let [set] = &points.first()?.set[..] else { return None };
    set.split('=').next()?.strip_prefix("axis.")
}

/// So many of something: `1 scheme`, `2 schemes`.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LeftOutRow;
    use crate::{sample, samples};
    use weir_measure::{OptimumFlowRow, OptimumRow, WindowRow};

    /// Two schemes with three seeds each on a scenario, with an optimum in its last window.
    fn runs() -> Vec<Vec<RunDocument>> {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        for window in runs.iter_mut().flatten().filter_map(|run| run.windows.last_mut()) {
            let best = |(at, _): (usize, &weir_measure::FlowRow)| OptimumFlowRow {
                goodput_bps: if at < 2 { 1e6 * (at + 1) as f64 } else { 0.0 },
                ..OptimumFlowRow::default()
            };
            let flows: Vec<OptimumFlowRow> = window.flows.iter().enumerate().map(best).collect();
            window.optimum = Some(OptimumRow { flows, ..OptimumRow::default() });
            for (flow, goodput_bps) in window.flows.iter_mut().zip([0.5e6, 2e6]) {
                flow.goodput_bps = goodput_bps;
            }
        }
        runs
    }

    fn point(runs: &[Vec<RunDocument>], context: &SummaryContext) -> SummaryPoint {
        let of = |document| SummaryRun { document, settled: Vec::new() };
        let runs: Vec<Vec<SummaryRun<'_>>> = runs.iter().map(|runs| runs.iter().map(of).collect()).collect();
        SummaryPoint::of(context, &runs)
    }

    fn document(points: Vec<SummaryPoint>) -> SummaryDocument {
        let scenario = SummaryScenario {
            scenario: "paper/one".to_owned(),
            title: "One of them".to_owned(),
            others: vec!["cubic".to_owned()],
            variants: vec!["qsccp (gentle)".to_owned()],
            page: Some("scenario-paper-one.html".to_owned()),
            points,
            ..SummaryScenario::default()
        };
        SummaryDocument {
            schema: SummaryDocument::SCHEMA,
            command: "weir compare paper --schemes all".to_owned(),
            version: "1.2.3".to_owned(),
            seeds: vec![1, 2, 3],
            without_classes: vec!["fixed".to_owned()],
            schemes: vec!["qsccp".to_owned(), "fixed".to_owned()],
            scenarios: vec![scenario],
        }
    }

    #[test]
    fn figures_are_over_all_flows_and_means_over_the_seeds() {
        let mut runs = runs();
        for run in &mut runs[0] {
            run.classes.truncate(2);
            for (class, (goodput, mean, p99, lost)) in
                run.classes.iter_mut().zip([(1e6, 10.0, 20.0, 1), (3e6, 50.0, 15.0, 2 * run.seed)])
            {
                let class = &mut class.figures;
                (class.goodput_bps, class.lost) = (goodput, lost);
                (class.delay_ms.mean, class.delay_ms.p99) = (Some(mean), Some(p99));
            }
        }
        let row = &point(&runs, &SummaryContext::default()).periods[0].rows[0];
        let mean = |estimate: Option<Estimate>| estimate.unwrap().mean;
        assert_eq!((row.scheme.as_str(), mean(row.goodput_bps)), ("qsccp", 4e6));
        assert_eq!((mean(row.delay_ms.mean), mean(row.delay_ms.p99)), (40.0, 20.0));
        assert_eq!((mean(row.lost), row.lost.unwrap().n), (5.0, 3));
        assert_eq!((row.jain, row.ratio, row.utilisation, row.completion_s), (None, None, None, None));
    }

    #[test]
    fn fairness_and_utilisation_are_against_the_optimum() {
        let runs = runs();
        let windows = runs[0][0].windows.len();
        let mut limits = vec![Vec::new(); windows + 1];
        limits[windows] = vec![0, 1];
        let point = point(&runs, &SummaryContext { limits, ..SummaryContext::default() });
        let last = point.periods.last().unwrap();
        assert_eq!(last.optimum_bps, Some(3e6));
        // One has half of its share, the other one all: 1.5² / (2 · 1.25).
        assert!((last.rows[0].jain.unwrap().mean - 0.9).abs() < 1e-12);
        let links = &runs[0][0].windows[windows - 1].links;
        let wanted = (links[0].utilisation + links[1].utilisation) / 2.0;
        assert!((last.rows[0].utilisation.unwrap().mean - wanted).abs() < 1e-12);
    }

    #[test]
    fn flows_of_a_scheme_of_their_own_are_what_others_are_beside() {
        let runs = runs();
        let has_own_scheme = runs[0][0].flows.iter().enumerate().map(|(at, _)| at == 0).collect();
        let point = point(&runs, &SummaryContext { has_own_scheme, ..SummaryContext::default() });
        let flows = &runs[1][0].flows;
        let others: Vec<f64> = flows[1..].iter().map(|flow| flow.goodput_bps).collect();
        let wanted = mean(&others).unwrap() / flows[0].goodput_bps;
        assert!((point.periods[0].rows[1].ratio.unwrap().mean - wanted).abs() < 1e-9 * wanted);
    }

    #[test]
    fn what_took_how_long_is_known_if_all_flows_are_done() {
        let mut runs = runs();
        for (at, run) in runs[0].iter_mut().enumerate() {
            for (n, flow) in run.flows.iter_mut().enumerate() {
                flow.completion_s = Some((n + 1) as f64).filter(|_| at > 0 || n > 0);
            }
        }
        let flows = runs[0][0].flows.len() as f64;
        let row = &point(&runs, &SummaryContext::default()).periods[0].rows[0];
        assert_eq!((row.completion_s.unwrap().mean, row.completion_s.unwrap().n), (flows, 2));
        assert_eq!(row.completion_mean_s.unwrap().mean, (flows + 1.0) / 2.0);
    }

    #[test]
    fn a_window_that_is_the_whole_run_is_there_once() {
        let mut runs = runs();
        let count = runs[0][0].windows.len();
        assert_eq!(point(&runs, &SummaryContext::default()).periods.len(), count + 1);
        for run in runs.iter_mut().flatten() {
            let whole = WindowRow { from_s: 0.0, to_s: run.simulated_s, ..run.windows[0].clone() };
            run.windows.insert(0, whole);
        }
        let periods = point(&runs, &SummaryContext::default()).periods;
        assert_eq!(periods.len(), count + 1);
        assert_eq!(periods[0].from_s, 0.0);
    }

    #[test]
    fn one_point_is_shown_by_window_with_the_optimum_and_several_over_the_axis() {
        let runs = runs();
        let has_own_scheme = vec![true, false];
        let context = SummaryContext { has_own_scheme, ..SummaryContext::default() };
        let one = point(&runs, &context);
        let text = document(vec![one.clone()]).markdown();
        assert!(
            text.starts_with("Made by `weir compare paper --schemes all`, weir 1.2.3, seeds 1 to 3.\n\n"),
            "{text}"
        );
        assert!(text.contains("### paper/one\n\nOne of them\n\nBy window:\n"), "{text}");
        assert!(text.contains(" | optimum | 3 Mb/s | "), "{text}");
        let at = |value: &str| SummaryPoint { set: vec![format!("axis.rate={value}")], ..one.clone() };
        let text = document(vec![at("5 Mb/s"), at("10 Mb/s")]).markdown();
        let tables: Vec<&str> = text.lines().filter(|line| line.contains(" over rate, ")).collect();
        assert!(tables[0].starts_with("Goodput as a multiple of cubic's beside it over rate, "), "{text}");
        assert!(text.contains("\n| scheme | 5 Mb/s | 10 Mb/s |\n|---|--:|--:|\n| qsccp | "), "{text}");
        assert!(!text.contains("By window"), "{text}");
    }

    #[test]
    fn who_cannot_run_has_dashes_and_a_reason() {
        let runs = runs();
        let mut point = point(&runs[..1], &SummaryContext::default());
        let why = "it knows no loss".to_owned();
        point.left_out = vec![LeftOutRow { scheme: "fixed".to_owned(), why }];
        point.page = Some("paper-one/compare.html".to_owned());
        let document = document(vec![point]);
        let text = document.markdown();
        let row = text.lines().find(|line| line.starts_with("|  | fixed° |")).unwrap();
        assert!(row.trim_end_matches(" |").ends_with("| –"), "{row}");
        assert!(!row.chars().any(|c| c.is_ascii_digit()), "{row}");
        assert!(text.contains("\n– fixed cannot run here: it knows no loss\n"), "{text}");
        let (name, page) = document.pages().pop().unwrap();
        assert_eq!(name, "scenario-paper-one.html");
        assert!(page.contains("<a href=\"paper-one/compare.html\">paper/one</a>"));
    }
}
