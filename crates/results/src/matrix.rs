//! The matrix: schemes by scenarios, with one figure at a time, and its summary in sentences.
//!
//! A figure of a run is the mean over its measuring windows, weighted by their lengths, or the figure of the whole run if it has
//! none. A cell is the mean over the points of the scenario's axes, with an interval over the seeds.

use crate::comparison::{KNOWS_NO_CLASSES, NO_CLASSES, Part, part};
use crate::format::{NEVER, NONE, Quantity};
use crate::model::{MatrixFigure, MatrixRow, SummaryDocument, SummaryPoint, SummaryScenario, WorstPoint};
use crate::page::escaped;
use crate::requests;
use crate::sheet::{Cell, Form, Grid, Section, numbers, percent_encoded, words};
use crate::standing::{Measured, Standing, UNCLEAR};
use crate::summary::{SummaryContext, SummaryRun, fairness, fairness_in_class, weights_of};
use weir_measure::{Estimate, FlowRow, OptimumFlowRow};

/// One of the figures of the matrix.
pub(crate) struct Measure {
    /// Name for the page's script.
    key: &'static str,
    title: &'static str,
    /// The quantity, for terminals and tables.
    quantity: Quantity,
    /// The unit in a cell of the matrix.
    unit: &'static str,
    /// Whether higher values are better.
    is_more_better: bool,
    /// Differences up to this value do not count, in the figure's own unit; for multiples relative to the better value.
    alike: f64,
    /// Whether it uses the optimum that divides links among classes by weights.
    is_weighted: bool,
    of: fn(&MatrixRow) -> &MatrixFigure,
    of_mut: fn(&mut MatrixRow) -> &mut MatrixFigure,
}

/// All figures, in their displayed order.
const MEASURES: [Measure; 7] = [
    Measure {
        key: "share",
        title: "Weighted share of the optimum",
        quantity: Quantity::Percent,
        unit: "%",
        is_more_better: true,
        alike: 0.01,
        is_weighted: true,
        of: |row| &row.share,
        of_mut: |row| &mut row.share,
    },
    Measure {
        key: "jain",
        title: "Weighted Jain's index",
        quantity: Quantity::Plain,
        unit: "",
        is_more_better: true,
        alike: 0.01,
        is_weighted: true,
        of: |row| &row.jain,
        of_mut: |row| &mut row.jain,
    },
    Measure {
        key: "class-jain",
        title: "Jain's index within a class",
        quantity: Quantity::Plain,
        unit: "",
        is_more_better: true,
        alike: 0.01,
        is_weighted: false,
        of: |row| &row.jain_in_class,
        of_mut: |row| &mut row.jain_in_class,
    },
    Measure {
        key: "delay",
        title: "Delay over propagation",
        quantity: Quantity::Plain,
        unit: "times",
        is_more_better: false,
        alike: 0.01,
        is_weighted: false,
        of: |row| &row.delay_over_propagation,
        of_mut: |row| &mut row.delay_over_propagation,
    },
    Measure {
        key: "lost",
        title: "Data lost",
        quantity: Quantity::Percent,
        unit: "%",
        is_more_better: false,
        alike: 0.0001,
        is_weighted: false,
        of: |row| &row.lost,
        of_mut: |row| &mut row.lost,
    },
    Measure {
        key: "settle",
        title: "Time to settle",
        quantity: Quantity::Seconds,
        unit: "s",
        is_more_better: false,
        alike: 0.5,
        is_weighted: false,
        of: |row| &row.settle_s,
        of_mut: |row| &mut row.settle_s,
    },
    Measure {
        key: "slowdown",
        title: "Mean slowdown of requests",
        quantity: Quantity::Plain,
        unit: "times",
        is_more_better: false,
        alike: 0.01,
        is_weighted: false,
        of: |row| &row.slowdown,
        of_mut: |row| &mut row.slowdown,
    },
];

/// A description of the figures.
pub(crate) const MEASURES_IN_WORDS: &str = "Weighted figures are by the optimum, which divides links among classes by \
     the weights of the scenario's policy, which `weir run` and the scenario's page name; flows of one class weigh the same unless the policy says otherwise. The weighted share of the optimum is the part of it that flows have: \
     the sum of their goodputs, each up to what the flow has in the optimum, over the sum of these. The weighted Jain's \
     index is over the flows' goodputs, each as a part of the flow's in the optimum: 1 if all have the same part. Jain's \
     index within a class is over the goodputs of its flows, without weights; with several classes it is the mean over them by their flows. Delay \
     over propagation is the mean delay as a multiple of the propagation delay to the nearest producer and back; caches on \
     the way can make it less than 1. Data lost is the part of the Data that was dropped in the network. The time to settle \
     is from the last change that the scenario makes until goodputs stay within 5 % of their final value: the goodputs that \
     the scenario's statements name, or else those of all groups of flows, the last of them. If they never do, it counts in means with \
     the time until the window's end; a scheme that settles with no seed is behind any that does. The slowdown of a request is its completion over the time that it would take alone. Scenarios of random requests alone have \
     no share and no Jain's index. A figure of a run is the mean over its measuring windows by their lengths, or over the whole run \
     without windows; a cell is the mean over the points of the scenario's axes and over the seeds. As good as the best is a \
     figure if the difference, and the 95 % interval of the difference, are at most 0.01 (share, Jain), 1 % (delay, slowdown), 1 in 10 000 \
     (lost) or 0.5 s (settle). If the interval includes 0 and is wider, the seeds do not distinguish the two. If no scheme is behind in a scenario, none is the best in it. Differences are taken seed by \
     seed; of published tables, which have only means, the interval is the sum of both.";

// ---- The figures of runs

/// The row of a scheme at a point, with one run for each seed.
pub(crate) fn row(context: &SummaryContext, runs: &[SummaryRun<'_>]) -> MatrixRow {
    let figure = |of: &dyn Fn(&SummaryRun<'_>) -> Option<f64>, why: &str| {
        figure(runs.iter().map(of).collect(), || why.to_owned())
    };
    let has_optimum = runs.iter().any(|run| parts(run).any(|part| part.optimum.is_some()));
    let is_random = runs.iter().any(|run| parts(run).any(|part| part.is_random()));
    let of_flows =
        |why: &'static str| if is_random { "all flows are sources of random requests" } else { why };
    let of_optimum =
        |why: &'static str| of_flows(if has_optimum { why } else { "theory does not know the optimum here" });
    let has_distance = context.round_trip_ms.iter().any(Option::is_some);
    MatrixRow {
        scheme: runs.first().map_or_else(String::new, |run| run.document.scheme.clone()),
        share: figure(&|run| over_windows(run, share), of_optimum("the optimum is nothing here")),
        jain: figure(&|run| over_windows(run, fairness), of_optimum("there is one flow at a time")),
        jain_in_class: figure(
            &|run| over_windows(run, fairness_in_class),
            of_flows("no class has two flows at a time"),
        ),
        delay_over_propagation: figure(
            &|run| over_windows(run, |part| stretch(part, &context.round_trip_ms)),
            if has_distance { "no Data came" } else { "the propagation delay is nothing here, or changes" },
        ),
        lost: figure(&|run| over_windows(run, |part| lost(part, &context.payload_bytes)), "no Data was sent"),
        settle_s: MatrixFigure {
            never: never_settled(runs),
            ..figure(
                &settled,
                if context.asks_when_settled {
                    "no Data came, or too late to tell"
                } else {
                    "no group of flows runs to the end: nothing settles"
                },
            )
        },
        slowdown: figure(
            &|run| over_windows(run, |part| requests::together(part)?.slowdown.mean),
            "no flow is a source of requests",
        ),
    }
}

/// The mean over values, one for each seed.
fn figure(values: Vec<Option<f64>>, why: impl FnOnce() -> String) -> MatrixFigure {
    let measured = Estimate::of(&values.iter().copied().flatten().collect::<Vec<f64>>());
    let why = measured.is_none().then(why);
    MatrixFigure { measured, values, why, ..MatrixFigure::default() }
}

/// The windows of a run, or the whole run if it has none.
fn parts<'a>(run: &SummaryRun<'a>) -> impl Iterator<Item = Part<'a>> {
    let document = run.document;
    let first = usize::from(!document.windows.is_empty());
    (first..=document.windows.len()).filter_map(move |at| part(document, at))
}

/// The mean over the windows with a value, weighted by their lengths.
fn over_windows(run: &SummaryRun<'_>, of: impl Fn(&Part<'_>) -> Option<f64>) -> Option<f64> {
    weighted(parts(run).filter_map(|part| Some((of(&part)?, part.to_s - part.from_s))))
}

/// The weighted mean. For equal values it is exactly that value, without rounding errors of products and sums.
fn weighted(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let values: Vec<(f64, f64)> = values.filter(|(_, weight)| *weight > 0.0).collect();
    let &(first, _) = values.first()?;
    if values.iter().all(|(value, _)| *value == first) {
        return Some(first);
    }
    let weights: f64 = values.iter().map(|(_, weight)| weight).sum();
    Some(values.iter().map(|(value, weight)| value * weight).sum::<f64>() / weights)
}

/// A flow's goodput above its own part does not count, because another flow gets less than its part.
pub(crate) fn share(part: &Part<'_>) -> Option<f64> {
    let flows = || part.optimum.into_iter().flat_map(|optimum| &optimum.flows);
    let best: f64 = flows().map(|flow| flow.goodput_bps).sum();
    let of_flow = |(flow, best): (&FlowRow, &OptimumFlowRow)| flow.goodput_bps.min(best.goodput_bps);
    let reached: f64 = part.flows.iter().zip(flows()).map(of_flow).sum();
    (best > 0.0).then(|| reached / best)
}

fn stretch(part: &Part<'_>, round_trip_ms: &[Option<f64>]) -> Option<f64> {
    let of_flows = part.flows.iter().zip(round_trip_ms);
    weighted(of_flows.filter_map(|(flow, base)| Some((flow.delay_ms.mean? / (*base)?, flow.goodput_bps))))
}

fn lost(part: &Part<'_>, payload_bytes: &[f64]) -> Option<f64> {
    let lost: f64 = part.flows.iter().map(|flow| flow.lost as f64).sum();
    let bits: f64 = part.to_s - part.from_s;
    let of_flows = part.flows.iter().zip(payload_bytes).filter(|(_, payload)| **payload > 0.0);
    let came: f64 = of_flows.map(|(flow, payload)| flow.goodput_bps * bits / (8.0 * payload)).sum();
    (lost + came > 0.0).then(|| lost / (lost + came))
}

/// The mean over the measured changes.
fn settled(run: &SummaryRun<'_>) -> Option<f64> {
    weighted(run.settled.iter().flatten().map(|time| (time.s, 1.0)))
}

/// Whether goodputs settled after none of the changes, in no seed.
fn never_settled(runs: &[SummaryRun<'_>]) -> bool {
    let mut times = runs.iter().flat_map(|run| run.settled.iter().flatten()).peekable();
    times.peek().is_some() && times.all(|time| time.never)
}

// ---- The figures of scenarios

impl SummaryScenario {
    /// Computes the scenario's column of the matrix from its points.
    pub fn fill_matrix(&mut self, schemes: &[String]) {
        self.matrix = schemes.iter().map(|scheme| self.matrix_row(scheme)).collect();
    }

    fn matrix_row(&self, scheme: &str) -> MatrixRow {
        let rows: Vec<(&SummaryPoint, &MatrixRow)> =
            self.points.iter().filter_map(|p| Some((p, p.row(scheme)?))).collect();
        let mut row = MatrixRow { scheme: scheme.to_owned(), ..MatrixRow::default() };
        for measure in &MEASURES {
            let figures: Vec<(&SummaryPoint, &MatrixFigure)> =
                rows.iter().map(|(p, row)| (*p, (measure.of)(row))).collect();
            let mut over_points = over_points(&figures, || self.why(scheme, &figures));
            over_points.worst = worst(measure, &figures);
            let mut known = figures.iter().filter(|(_, figure)| figure.measured.is_some()).peekable();
            over_points.never = known.peek().is_some() && known.all(|(_, figure)| figure.never);
            *(measure.of_mut)(&mut row) = over_points;
        }
        row
    }

    /// The reason for a missing figure: the scheme cannot run, or the points give one.
    fn why(&self, scheme: &str, figures: &[(&SummaryPoint, &MatrixFigure)]) -> String {
        let mut left_out = self.points.iter().flat_map(|point| &point.left_out);
        let of_points = figures.iter().find_map(|(_, figure)| figure.why.clone());
        let cannot =
            || Some(format!("it cannot run here: {}", left_out.find(|row| row.scheme == scheme)?.why));
        of_points.or_else(cannot).unwrap_or_else(|| "nothing was measured".to_owned())
    }

    fn row(&self, scheme: &str) -> Option<&MatrixRow> {
        self.matrix.iter().find(|row| row.scheme == scheme)
    }

    /// The paper and the scenario's name within it, from its full name.
    fn names(&self) -> (&str, &str) {
        let name = self.scenario.strip_suffix(".toml").unwrap_or(&self.scenario);
        name.rsplit_once('/').unwrap_or(("", name))
    }
}

impl SummaryPoint {
    fn row(&self, scheme: &str) -> Option<&MatrixRow> {
        self.matrix.iter().find(|row| row.scheme == scheme)
    }
}

/// The mean over points, for each seed.
fn over_points(figures: &[(&SummaryPoint, &MatrixFigure)], why: impl FnOnce() -> String) -> MatrixFigure {
    let seeds = figures.iter().map(|(_, figure)| figure.values.len()).max().unwrap_or(0);
    let of_seed = |seed: usize| {
        weighted(figures.iter().filter_map(|(_, figure)| Some(((*figure.values.get(seed)?)?, 1.0))))
    };
    figure((0..seeds).map(of_seed).collect(), why)
}

fn worst(measure: &Measure, figures: &[(&SummaryPoint, &MatrixFigure)]) -> Option<WorstPoint> {
    let known = figures.iter().filter_map(|(point, figure)| Some((*point, figure.measured?.mean)));
    let known: Vec<(&SummaryPoint, f64)> = known.collect();
    let worst = known.iter().copied().reduce(|a, b| if measure.is_better(a.1, b.1) { b } else { a })?;
    // If all points are alike, none is the worst.
    let differs = known.iter().any(|(_, mean)| *mean != worst.1);
    differs.then(|| WorstPoint { set: worst.0.set.clone(), mean: worst.1 })
}

impl Measure {
    /// Whether it is a multiple of what is possible.
    fn is_multiple(&self) -> bool {
        self.unit == "times"
    }

    fn is_better(&self, one: f64, other: f64) -> bool {
        if self.is_more_better { one > other } else { one < other }
    }

    /// The title within a sentence.
    fn in_sentence(&self) -> String {
        let mut chars = self.title.chars();
        match chars.next() {
            Some(first) if !self.title.starts_with("Jain") => first.to_lowercase().chain(chars).collect(),
            _ => self.title.to_owned(),
        }
    }

    /// The best figure of a scenario. Goodputs that never settle have no time that could be the best.
    fn best<'a>(&self, scenario: &'a SummaryScenario) -> Option<(&'a str, Measured<'a>)> {
        let ranked = scenario.matrix.iter().filter(|row| !(self.of)(row).never);
        let known = ranked.filter_map(|row| Some((row.scheme.as_str(), (self.of)(row).measured()?)));
        known.reduce(|a, b| if self.is_better(b.1.mean.mean, a.1.mean.mean) { b } else { a })
    }

    /// How a figure stands to the best.
    fn standing(&self, one: &Measured<'_>, best: &Measured<'_>) -> Standing {
        let unit = if self.is_multiple() { best.mean.mean.abs() } else { 1.0 };
        one.beside(best, self.alike * unit)
    }

    /// How the schemes with this figure stand to the best in a scenario; `None` for each if no scheme is behind: then none is
    /// better.
    fn standings<'a>(&self, scenario: &'a SummaryScenario) -> Vec<(&'a str, Option<Standing>)> {
        let best = self.best(scenario);
        let stands = |row: &'a MatrixRow| {
            let (figure, own) = ((self.of)(row), (self.of)(row).measured()?);
            let beside = |(_, best): &(&str, Measured<'_>)| match figure.never {
                true => Standing::Behind,
                false => self.standing(&own, best),
            };
            Some((row.scheme.as_str(), best.as_ref().map(beside)))
        };
        let mut known: Vec<_> = scenario.matrix.iter().filter_map(stands).collect();
        if known.iter().all(|(_, standing)| *standing != Some(Standing::Behind)) {
            known.iter_mut().for_each(|(_, standing)| *standing = None);
        }
        known
    }

    /// Rating of a value from 0 to 8, for its colour.
    fn level(&self, value: f64) -> u8 {
        let level = match self.key {
            "share" => (value - 0.2) / 0.1,
            "jain" | "class-jain" => (value - 0.2) / 0.1,
            // A delay of 16 times the best is the worst; 10 % more does not count as the best.
            "delay" | "slowdown" => 8.0 - 2.0 * value.max(1.0).log2(),
            // No loss is the best; from 1 in 10 000 on, each power of 10 is worse.
            "lost" if value <= 0.0 => 8.0,
            "lost" => (-2.0 * value.log10() - 1.0).min(7.0),
            _ => 8.0 - (value.max(0.5) / 0.5).log2(),
        };
        level.round().clamp(0.0, 8.0) as u8
    }

    /// A short form of a value for a cell of the matrix, in the figure's unit.
    fn short(&self, value: f64) -> String {
        let shown = if self.unit == "%" { value * 100.0 } else { value };
        match (self.key, shown.abs()) {
            ("share", _) => format!("{shown:.0}"),
            ("jain" | "class-jain", _) => format!("{shown:.2}"),
            (_, 0.0) => "0".to_owned(),
            ("lost", size) if size < 0.1 => "<0.1".to_owned(),
            ("delay" | "slowdown", size) if size < 9.95 => format!("{shown:.2}"),
            (_, size) if size < 9.95 => format!("{shown:.1}"),
            _ => format!("{shown:.0}"),
        }
    }

    fn long(&self, figure: &MatrixFigure, seeds: usize) -> String {
        match figure.never {
            true => NEVER.to_owned(),
            false => self.quantity.over_seeds(figure.measured.as_ref(), seeds),
        }
    }
}

// ---- In sentences

/// The matrix in sentences: the best scheme of each scenario, and the scenarios in which the first scheme is not the best.
pub(crate) fn answer(document: &SummaryDocument) -> Vec<String> {
    let mut sentences: Vec<String> =
        MEASURES.iter().filter_map(|measure| who_is_best(document, measure)).collect();
    if let Some(first) = document.schemes.first().filter(|_| document.schemes.len() > 1) {
        sentences.extend(MEASURES.iter().filter_map(|measure| where_behind(document, measure, first)));
    }
    sentences
}

/// The results of one scheme in sentences.
pub(crate) fn about(document: &SummaryDocument, scheme: &str) -> Vec<String> {
    let of_measure = |measure: &Measure| {
        let Times { good, unclear, known } = times_best(document, measure, scheme);
        let unclear = match unclear {
            0 => String::new(),
            count => format!("; not distinguishable from the best in {count}"),
        };
        let best =
            format!("{}: the best, or as good, in {good} of {known} scenarios{unclear}.", measure.title);
        let is_ranked = known > 0 && the_only_one(document, measure).is_none();
        [Some(best).filter(|_| is_ranked), where_behind(document, measure, scheme)]
    };
    MEASURES.iter().flat_map(of_measure).flatten().collect()
}

/// Numbers of scenarios.
struct Times {
    /// In which a scheme is the best, or as good.
    good: usize,
    /// In which the seeds do not distinguish it from the best.
    unclear: usize,
    /// In which its figure is known.
    known: usize,
}

fn times_best(document: &SummaryDocument, measure: &Measure, scheme: &str) -> Times {
    let of_scenario = |scenario: &SummaryScenario| {
        measure
            .standings(scenario)
            .into_iter()
            .find_map(|(one, standing)| (one == scheme).then_some(standing))
    };
    let known: Vec<Option<Standing>> = document.scenarios.iter().filter_map(of_scenario).collect();
    let count = |standing: Standing| known.iter().filter(|own| **own == Some(standing)).count();
    Times { good: count(Standing::AsGood), unclear: count(Standing::Unclear), known: known.len() }
}

/// The only scheme with figures, if there is just one: to call it the best would say nothing.
fn the_only_one<'a>(document: &'a SummaryDocument, measure: &Measure) -> Option<&'a str> {
    let mut known = document.schemes.iter().filter(|scheme| times_best(document, measure, scheme).known > 0);
    match (known.next(), known.next()) {
        (Some(only), None) if document.schemes.len() > 1 => Some(only),
        _ => None,
    }
}

fn who_is_best(document: &SummaryDocument, measure: &Measure) -> Option<String> {
    if let Some(only) = the_only_one(document, measure) {
        return Some(format!("{}: only {only} has figures, so there is no best one.", measure.title));
    }
    let of_scheme = |scheme: &String| (times_best(document, measure, scheme), scheme.clone());
    let counts: Vec<(Times, String)> = document.schemes.iter().map(of_scheme).collect();
    let known = counts.iter().map(|(times, _)| times.known).max().filter(|known| *known > 0)?;
    let scenarios = |count: usize| match count {
        1 => "1 scenario".to_owned(),
        several => format!("{several} scenarios"),
    };
    let holds =
        |holds: &dyn Fn(&SummaryScenario) -> bool| document.scenarios.iter().filter(|one| holds(one)).count();
    let is_measured = |one: &SummaryScenario| !measure.standings(one).is_empty();
    let never = holds(&|one| is_measured(one) && measure.best(one).is_none());
    let alike = holds(&|one| {
        // A figure that only one scheme has is not ranked.
        measure.standings(one).len() > 1
            && measure.best(one).is_some()
            && measure.standings(one).iter().all(|(_, standing)| standing.is_none())
    });
    let unranked = [("goodputs of no scheme settle", never), ("no difference shown", alike)];
    let unranked = unranked.into_iter().filter(|(_, count)| *count > 0);
    let unranked: Vec<String> =
        unranked.map(|(what, count)| format!("{what} in {}", scenarios(count))).collect();
    if counts.iter().all(|(times, _)| times.good == 0) {
        return Some(format!("{}: {}.", measure.title, unranked.join("; ")));
    }
    let marked = |scheme: &str| measure.marked(document, scheme);
    let listed = |count: fn(&Times) -> usize| {
        let mut some: Vec<_> = counts.iter().filter(|(times, _)| count(times) > 0).collect();
        some.sort_by_key(|(times, _)| std::cmp::Reverse(count(times)));
        let named = some.iter().map(|(times, scheme)| match times.known {
            own if own < known => format!("{} {} (of {own})", marked(scheme), count(times)),
            _ => format!("{} {}", marked(scheme), count(times)),
        });
        named.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "{}: of {} the best, or as good: {}",
        measure.title,
        scenarios(known),
        listed(|times| times.good)
    );
    let unclear = listed(|times| times.unclear);
    if !unclear.is_empty() {
        text += &format!("; not distinguishable from the best: {unclear}");
    }
    let none = counts.iter().filter(|(times, _)| times.good + times.unclear == 0);
    let none: Vec<String> = none.map(|(_, scheme)| marked(scheme)).collect();
    if !none.is_empty() {
        text += &format!("; in none: {}", none.join(", "));
    }
    text.extend(unranked.iter().map(|what| format!("; {what}")));
    Some(text + ".")
}

/// Largest number of scenarios in a sentence.
const NAMED: usize = 8;

fn where_behind(document: &SummaryDocument, measure: &Measure, scheme: &str) -> Option<String> {
    let seeds = document.seeds.len();
    let of_scenario = |scenario: &SummaryScenario| {
        let (own, (by, best)) = ((measure.of)(scenario.row(scheme)?), measure.best(scenario)?);
        let standings = measure.standings(scenario);
        let measured = own.measured()?;
        let best_mean = best.mean.mean;
        let said = format!(
            "{} ({}; {} {})",
            scenario.scenario,
            measure.long(own, seeds),
            measure.marked(document, by),
            measure.quantity.format(best_mean)
        );
        let is_behind = standings.contains(&(scheme, Some(Standing::Behind)));
        is_behind.then(|| (measure.gap(measured.mean.mean, best_mean), said))
    };
    let mut behind: Vec<(f64, String)> = document.scenarios.iter().filter_map(of_scenario).collect();
    behind.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = behind.len().saturating_sub(NAMED);
    let named: Vec<String> = behind.iter().take(NAMED).map(|(_, said)| said.clone()).collect();
    let more = if more > 0 { format!("; and {more} more, nearer to the best") } else { String::new() };
    let known = times_best(document, measure, scheme).known;
    (!behind.is_empty()).then(|| {
        format!(
            "{scheme} is behind the best in {} in {} of {known} scenarios, furthest in {}{more}.",
            measure.in_sentence(),
            behind.len(),
            named.join("; ")
        )
    })
}

impl Measure {
    /// The name of a scheme, with a mark if the figure uses weights that the scheme does not know.
    fn marked(&self, document: &SummaryDocument, scheme: &str) -> String {
        if self.is_weighted { marked(document, scheme) } else { scheme.to_owned() }
    }

    /// Distance of a value from the best one, for sorting.
    fn gap(&self, value: f64, best: f64) -> f64 {
        if self.is_multiple() { value / best.max(f64::MIN_POSITIVE) } else { (value - best).abs() }
    }
}

// ---- Schemes that know no classes

/// The name of a scheme without its mark.
pub(crate) fn unmarked(scheme: &str) -> &str {
    scheme.trim_end_matches(NO_CLASSES)
}

/// The name of a scheme, with a mark if it treats all classes alike.
pub(crate) fn marked(document: &SummaryDocument, scheme: &str) -> String {
    let has_none = document.without_classes.iter().any(|one| one == scheme);
    if has_none { format!("{scheme}{NO_CLASSES}") } else { scheme.to_owned() }
}

/// The meaning of the mark, if it occurs.
pub(crate) fn classes_note(document: &SummaryDocument) -> Option<String> {
    (!document.without_classes.is_empty()).then(|| KNOWS_NO_CLASSES.to_owned())
}

// ---- As tables

/// File name of a scheme's page.
pub(crate) fn scheme_page(scheme: &str) -> String {
    format!("scheme-{scheme}.html")
}

/// The arguments that select a point, in words: `delay 5 ms` for `axis.delay=5 ms`.
fn in_words(set: &[String]) -> String {
    let one = |set: &String| set.strip_prefix("axis.").unwrap_or(set).replacen('=', " ", 1);
    set.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A cell with its interval and the worst point.
fn cell(measure: &Measure, figure: &MatrixFigure, seeds: usize) -> Cell {
    let format = |value| measure.quantity.format(value);
    // A point whose shown digits are equal is not worse.
    let is_seen =
        |worst: &&WorstPoint| figure.measured.is_none_or(|all| format(all.mean) != format(worst.mean));
    let note = match (figure.worst.as_ref().filter(is_seen), &figure.why) {
        _ if figure.never => String::new(),
        (Some(worst), _) => format!("worst {} at {}", format(worst.mean), in_words(&worst.set)),
        (None, Some(why)) => why.clone(),
        (None, None) => String::new(),
    };
    Cell { text: measure.long(figure, seeds), note, ..Cell::default() }
}

/// All figures of a scheme, one row for each scenario.
pub(crate) fn of_scheme(document: &SummaryDocument, scheme: &str) -> Section {
    let seeds = document.seeds.len();
    let row = |scenario: &SummaryScenario| {
        let own = scenario.row(scheme)?;
        let mut cells = vec![Cell { page: scenario.page.clone(), ..scenario.scenario.as_str().into() }];
        for measure in &MEASURES {
            cells.push(cell(measure, (measure.of)(own), seeds));
            let best = measure.best(scenario);
            cells.push(best.map_or_else(Cell::default, |(by, best)| {
                let best = measure.quantity.format(best.mean.mean);
                format!("{best} {}", measure.marked(document, by)).into()
            }));
        }
        Some(cells)
    };
    let mut columns = vec![words("scenario")];
    let best_by = |measure: &Measure| words(format!("the best by {}", measure.in_sentence()));
    columns.extend(MEASURES.iter().flat_map(|measure| [numbers(measure.title), best_by(measure)]));
    let rows = document.scenarios.iter().filter_map(row).collect();
    let grid = Grid {
        title: format!("{scheme} on each scenario"),
        form: Form::Figures,
        columns,
        rows,
        ..Grid::default()
    };
    Section { title: scheme.to_owned(), grids: vec![grid], notes: notes(document), ..Section::default() }
}

/// All figures of a scenario, one row for each scheme, and those of each of its points.
pub(crate) fn of_scenario(document: &SummaryDocument, scenario: &SummaryScenario) -> Section {
    let seeds = document.seeds.len();
    let table = |title: String, rows: &[MatrixRow]| {
        let row = |row: &MatrixRow| {
            let scheme =
                Cell { page: Some(scheme_page(&row.scheme)), ..marked(document, &row.scheme).into() };
            let figures = MEASURES.iter().map(|measure| cell(measure, (measure.of)(row), seeds));
            [scheme].into_iter().chain(figures).collect()
        };
        let columns =
            [words("scheme")].into_iter().chain(MEASURES.iter().map(|m| numbers(m.title))).collect();
        Grid { title, form: Form::Figures, columns, rows: rows.iter().map(row).collect(), ..Grid::default() }
    };
    let mut grids = vec![table("Over all windows and points".to_owned(), &scenario.matrix)];
    if scenario.points.len() > 1 {
        grids.extend(
            scenario.points.iter().map(|point| table(format!("At {}", in_words(&point.set)), &point.matrix)),
        );
    }
    grids.retain(|grid| !grid.rows.is_empty());
    let weights =
        weights_of(scenario).map(|weights| format!("The optimum divides links by classes here: {weights}."));
    let notes = weights.into_iter().chain(notes(document)).collect();
    Section { title: "Schemes side by side".to_owned(), grids, notes, ..Section::default() }
}

/// A description of the figures.
fn notes(document: &SummaryDocument) -> Vec<String> {
    [MEASURES_IN_WORDS.to_owned()]
        .into_iter()
        .chain(classes_note(document))
        .chain(document.intervals())
        .collect()
}

/// Tables for a document: one table for each figure, with one row for each scenario, to limit their width.
pub(crate) fn grids(document: &SummaryDocument) -> Vec<Grid> {
    let seeds = document.seeds.len();
    let table = |measure: &Measure| {
        let mut columns = vec![words("scenario")];
        columns.extend(document.schemes.iter().map(|scheme| numbers(measure.marked(document, scheme))));
        let row = |scenario: &SummaryScenario| -> Vec<Cell> {
            let figure = |scheme: &String| scenario.row(scheme).map(|row| (measure.of)(row));
            let figures = document.schemes.iter().map(|scheme| match figure(scheme) {
                Some(figure) => measure.long(figure, seeds).into(),
                None => NONE.into(),
            });
            [scenario.scenario.as_str().into()].into_iter().chain(figures).collect()
        };
        let rows = document.scenarios.iter().map(row).collect();
        Grid {
            title: format!("**{}**", measure.title),
            form: Form::Figures,
            columns,
            rows,
            ..Grid::default()
        }
    };
    known_measures(document).map(table).collect()
}

/// The figures that some scheme has in some scenario.
fn known_measures(document: &SummaryDocument) -> impl Iterator<Item = &'static Measure> {
    let rows = || document.scenarios.iter().flat_map(|scenario| &scenario.matrix);
    MEASURES.iter().filter(move |measure| rows().any(|row| (measure.of)(row).measured.is_some()))
}

// ---- As the page's lead

/// The beginning of the page: the results in sentences, the matrix with one figure at a time, and a description of the figures.
pub(crate) fn lead_html(document: &SummaryDocument) -> String {
    let items: String = answer(document).iter().map(|one| format!("<li>{}</li>", escaped(one))).collect();
    let tables: String = known_measures(document).map(|measure| table_html(document, measure)).collect();
    let mark = classes_note(document).map(|note| format!(" {}", escaped(&note))).unwrap_or_default();
    format!(
        "<section><div class=\"heading\"><h2>What it shows</h2></div><ul class=\"answer\">{items}</ul></section>\n\
         <section id=\"matrix\"><div class=\"heading\"><h2>Schemes by scenarios</h2><span class=\"tools\" id=\"measures\"></span></div>\n\
         {tables}<p class=\"said\" id=\"detail\" aria-live=\"polite\">Each number links to the scenario's page.</p>\n\
         <p class=\"said key\">The colours repeat the numbers: <span class=\"q8\">good</span> <span class=\"q4\">between</span> \
         <span class=\"q0\">bad</span>. <b>Bold</b> is the best by the figure shown, or as good; {UNCLEAR}is not distinguishable from the best with these seeds. {NONE} is an unknown figure; the scenario's page gives the reason.</p>\n\
         <p class=\"said\">{}{mark}</p></section>\n",
        escaped(MEASURES_IN_WORDS)
    )
}

fn table_html(document: &SummaryDocument, measure: &Measure) -> String {
    let Measure { key, title, unit, .. } = measure;
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let caption = format!("{title}{unit}");
    let rows: String = document.schemes.iter().map(|scheme| row_html(document, measure, scheme)).collect();
    format!(
        "<div class=\"measure\" data-measure=\"{key}\" data-title=\"{title}\"><h3 class=\"kind\">{caption}</h3>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\
         <table class=\"matrix\" aria-label=\"{caption}\"><thead>{}</thead><tbody>{rows}</tbody></table></div></div>\n",
        heads_html(document)
    )
}

/// One heading row with the papers, and one with their scenarios.
fn heads_html(document: &SummaryDocument) -> String {
    let mut papers: Vec<(&str, usize)> = Vec::new();
    for scenario in &document.scenarios {
        match papers.last_mut() {
            Some((paper, count)) if *paper == scenario.names().0 => *count += 1,
            _ => papers.push((scenario.names().0, 1)),
        }
    }
    let paper = |(paper, count): &(&str, usize)| {
        let name = paper.rsplit('/').next().unwrap_or(paper);
        format!("<th scope=\"colgroup\" class=\"paper\" colspan=\"{count}\">{}</th>", escaped(name))
    };
    let papers: String = papers.iter().map(paper).collect();
    let mut before = None;
    let head = |scenario: &SummaryScenario| {
        let (paper, name) = scenario.names();
        let class =
            if before.replace(paper.to_owned()).as_deref() == Some(paper) { "" } else { " class=\"first\"" };
        format!("<th scope=\"col\"{class}><span>{}</span></th>", linked(scenario.page.as_deref(), name))
    };
    let scenarios: String = document.scenarios.iter().map(head).collect();
    format!(
        "<tr><th></th><th></th><th></th>{papers}</tr>\
         <tr><th scope=\"col\">scheme</th><th scope=\"col\"><span>best in</span></th><th scope=\"col\"><span>median</span></th>{scenarios}</tr>"
    )
}

fn linked(page: Option<&str>, text: &str) -> String {
    match page {
        Some(page) => format!("<a href=\"{}\">{}</a>", escaped(&percent_encoded(page)), escaped(text)),
        None => escaped(text),
    }
}

fn row_html(document: &SummaryDocument, measure: &Measure, scheme: &str) -> String {
    let Times { good, known, .. } = times_best(document, measure, scheme);
    let of = |scenario: &SummaryScenario| Some((measure.of)(scenario.row(scheme)?).measured?.mean);
    let middle = median(document.scenarios.iter().filter_map(of).collect());
    let middle = middle.map_or_else(|| NONE.to_owned(), |value| escaped(&measure.short(value)));
    let mut before = None;
    let mut cells = String::new();
    for scenario in &document.scenarios {
        let paper = scenario.names().0;
        let is_first = before != Some(paper);
        before = Some(paper);
        cells += &cell_html(document, measure, scenario, scheme, is_first);
    }
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"sum\">{good}<small>/{known}</small></td><td class=\"sum\">{middle}</td>{cells}</tr>\n",
        linked(Some(&scheme_page(scheme)), &measure.marked(document, scheme))
    )
}

fn cell_html(
    document: &SummaryDocument,
    measure: &Measure,
    scenario: &SummaryScenario,
    scheme: &str,
    is_first: bool,
) -> String {
    let first = if is_first { " first" } else { "" };
    let figure = scenario.row(scheme).map(|row| (measure.of)(row));
    let by = match weights_of(scenario).filter(|_| measure.is_weighted) {
        Some(weights) => format!("{} ({weights})", measure.in_sentence()),
        None => measure.in_sentence(),
    };
    let name = measure.marked(document, scheme);
    let said = |what: String| format!("{name} on {}: {by} {what}", scenario.scenario);
    let Some((figure, measured)) = figure.and_then(|figure| Some((figure, figure.measured()?))) else {
        let why = figure.and_then(|figure| figure.why.clone()).unwrap_or_default();
        let tip = escaped(&said(format!("not known: {why}")));
        return format!(
            "<td class=\"none{first}\" title=\"{tip}\">{}</td>",
            linked(scenario.page.as_deref(), NONE)
        );
    };
    let text = cell(measure, figure, document.seeds.len());
    let note = if text.note.is_empty() { String::new() } else { format!(", {}", text.note) };
    let tip = escaped(&said(format!("{}{note}", text.text)));
    let standings = measure.standings(scenario);
    let is = |standing: Standing| standings.contains(&(scheme, Some(standing)));
    let best = if is(Standing::AsGood) { " best" } else { "" };
    let mark = if is(Standing::Unclear) { UNCLEAR } else { "" };
    let mean = measured.mean.mean;
    let short = if figure.never { NEVER.to_owned() } else { format!("{mark}{}", measure.short(mean)) };
    format!(
        "<td class=\"q{}{best}{first}\" title=\"{tip}\">{}</td>",
        measure.level(mean),
        linked(scenario.page.as_deref(), &short)
    )
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    let lower = if values.len().is_multiple_of(2) { *values.get(middle.checked_sub(1)?)? } else { upper };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SettleTime;
    use crate::{sample, samples};
    use weir_measure::{OptimumRow, RunDocument, WindowRow};

    fn flow(goodput_bps: f64, delay: f64, lost: u64) -> FlowRow {
        let mut flow = FlowRow { goodput_bps, lost, ..FlowRow::default() };
        flow.delay_ms.mean = Some(delay);
        flow
    }

    /// Two windows, of 10 s and 30 s, with two flows whose fair goodputs are 1 and 3 Mb/s.
    fn run(seed: u64, flows: [[FlowRow; 2]; 2]) -> RunDocument {
        let best = |goodput_bps: f64| OptimumFlowRow { goodput_bps, ..OptimumFlowRow::default() };
        let optimum = OptimumRow { flows: vec![best(1e6), best(3e6)], ..OptimumRow::default() };
        let mut from_s = 0.0;
        let mut window = |(flows, length): ([FlowRow; 2], f64)| {
            let begin = from_s;
            from_s += length;
            WindowRow {
                from_s: begin,
                to_s: from_s,
                flows: flows.to_vec(),
                optimum: Some(optimum.clone()),
                ..WindowRow::default()
            }
        };
        let windows = flows.into_iter().zip([10.0, 30.0]).map(&mut window).collect();
        RunDocument { scheme: "a".to_owned(), seed, windows, simulated_s: 40.0, ..RunDocument::default() }
    }

    fn context() -> SummaryContext {
        SummaryContext {
            round_trip_ms: vec![Some(10.0), Some(20.0)],
            payload_bytes: vec![1000.0, 500.0],
            asks_when_settled: true,
            ..SummaryContext::default()
        }
    }

    #[test]
    fn figures_are_means_over_the_windows_by_their_lengths() {
        let first = [flow(1e6, 20.0, 0), flow(1e6, 30.0, 0)];
        // Goodput above the flow's part does not count.
        let second = [flow(2e6, 10.0, 1000), flow(3e6, 20.0, 0)];
        let run = run(1, [first, second]);
        let time = |s| Some(SettleTime { s, never: false });
        let runs = [SummaryRun { document: &run, settled: vec![None, time(2.0), time(4.0)] }];
        let row = row(&context(), &runs);
        let mean = |figure: &MatrixFigure| figure.measured.unwrap().mean;
        assert!((mean(&row.share) - (0.5 * 10.0 + 30.0) / 40.0).abs() < 1e-12);
        // Ratios of 1 and 1/3: (4/3)² / (2 · 10/9) = 0.8; of 2 and 1: 9 / (2 · 5) = 0.9.
        assert!((mean(&row.jain) - (0.8 * 10.0 + 0.9 * 30.0) / 40.0).abs() < 1e-12);
        // Delays of 2 and 1.5 times with equal weights, then once.
        assert!((mean(&row.delay_over_propagation) - (1.75 * 10.0 + 30.0) / 40.0).abs() < 1e-12);
        // 30 s with 2 Mb/s in 8000 bits and 3 Mb/s in 4000 bits are 30 000 Data.
        assert!((mean(&row.lost) - 30.0 / 40.0 * 1000.0 / 31_000.0).abs() < 1e-12);
        assert_eq!(mean(&row.settle_s), 3.0);
    }

    #[test]
    fn a_cell_is_the_mean_over_the_points_seed_by_seed_and_names_the_worst() {
        let point = |rate: &str, values: [f64; 2]| {
            let share = figure(values.map(Some).to_vec(), String::new);
            let row = MatrixRow { scheme: "a".to_owned(), share, ..MatrixRow::default() };
            SummaryPoint {
                set: vec![format!("axis.rate={rate}")],
                matrix: vec![row],
                ..SummaryPoint::default()
            }
        };
        let points = vec![point("1", [0.9, 0.7]), point("2", [0.5, 0.5])];
        let mut scenario = SummaryScenario { points, ..SummaryScenario::default() };
        scenario.fill_matrix(&["a".to_owned()]);
        let share = &scenario.matrix[0].share;
        assert_eq!(share.values, [Some(0.7), Some(0.6)]);
        let worst = share.worst.as_ref().unwrap();
        assert_eq!((worst.set[0].as_str(), worst.mean), ("axis.rate=2", 0.5));
        let alike = vec![point("1", [0.5, 0.5]), point("2", [0.5, 0.5])];
        let mut scenario = SummaryScenario { points: alike, ..SummaryScenario::default() };
        scenario.fill_matrix(&["a".to_owned()]);
        assert_eq!(scenario.matrix[0].share.worst, None);
    }

    #[test]
    fn a_worst_point_is_named_if_its_digits_differ_from_those_of_the_mean() {
        let figure = |mean, worst| MatrixFigure {
            measured: Some(Estimate { mean, ci95: None, n: 1, distinct: 1 }),
            worst: Some(WorstPoint { set: vec!["axis.rate=2".to_owned()], mean: worst }),
            ..MatrixFigure::default()
        };
        let said = |mean, worst| {
            let cell = cell(&MEASURES[1], &figure(mean, worst), 1);
            (cell.text, cell.note)
        };
        assert_eq!(said(0.99, 0.98), ("0.99".to_owned(), "worst 0.98 at rate 2".to_owned()));
        assert_eq!(said(0.999_99, 0.999_98), ("1".to_owned(), String::new()));
    }

    #[test]
    fn goodputs_that_settle_at_no_point_and_with_no_seed_never_settle() {
        let run =
            run(1, [[flow(1e6, 10.0, 0), flow(1e6, 10.0, 0)], [flow(1e6, 10.0, 0), flow(1e6, 10.0, 0)]]);
        let point = |times: &[(f64, bool)]| {
            let settled = |&(s, never): &(f64, bool)| Some(SettleTime { s, never });
            let of = |time| SummaryRun { document: &run, settled: vec![None, settled(time)] };
            let runs: Vec<SummaryRun<'_>> = times.iter().map(of).collect();
            let row = MatrixRow { scheme: "a".to_owned(), ..row(&context(), &runs) };
            SummaryPoint { matrix: vec![row], ..SummaryPoint::default() }
        };
        let settle = |points: Vec<SummaryPoint>| {
            let mut scenario = SummaryScenario { points, ..SummaryScenario::default() };
            scenario.fill_matrix(&["a".to_owned()]);
            let figure = scenario.matrix[0].settle_s.clone();
            (MEASURES[5].long(&figure, 2), figure.measured.unwrap().mean)
        };
        let never = || point(&[(9.0, true), (9.0, true)]);
        assert_eq!(settle(vec![never(), never()]), ("never".to_owned(), 9.0));
        assert_eq!(settle(vec![never(), point(&[(9.0, true), (5.0, false)])]).0, "8.00 ± 13 s");
        assert_eq!(settle(vec![never(), point(&[])]).0, "never");
    }

    #[test]
    fn as_good_as_the_best_is_what_is_near_and_known_to_be() {
        let one = |mean, ci95| Estimate { mean, ci95: Some(ci95), n: 3, distinct: 3 };
        let [share, _, _, delay, lost, ..] = &MEASURES;
        let figure = |measured| MatrixFigure { measured: Some(measured), ..MatrixFigure::default() };
        let stands = |measure: &Measure, a, b, as_what| {
            let (a, b) = (figure(a), figure(b));
            measure.standing(&a.measured().unwrap(), &b.measured().unwrap()) == as_what
        };
        let good = |measure: &Measure, a, b| stands(measure, a, b, Standing::AsGood);
        assert!(good(share, one(0.985, 0.0), one(0.99, 0.0)) && !good(share, one(0.95, 0.0), one(0.99, 0.0)));
        assert!(stands(share, one(0.96, 0.03), one(0.99, 0.01), Standing::Unclear));
        assert!(good(delay, one(10.05, 0.0), one(10.0, 0.0)) && !good(delay, one(1.05, 0.0), one(1.0, 0.0)));
        assert!(good(lost, one(0.000_05, 0.0), one(0.0, 0.0)) && !good(lost, one(0.001, 0.0), one(0.0, 0.0)));
    }

    #[test]
    fn colours_go_from_the_worst_to_the_best() {
        let levels = |at: usize, values: [f64; 4]| values.map(|value| MEASURES[at].level(value));
        assert_eq!(levels(0, [0.1, 0.5, 0.99, 1.4]), [0, 3, 8, 8]);
        assert_eq!(levels(3, [1.0, 2.0, 4.0, 100.0]), [8, 6, 4, 0]);
        assert_eq!(levels(4, [0.0, 0.0001, 0.01, 0.5]), [8, 7, 3, 0]);
        assert_eq!(levels(5, [0.0, 2.0, 32.0, 1000.0]), [8, 6, 2, 0]);
    }

    #[test]
    fn sentences_say_who_is_best_and_where_one_is_behind() {
        let document = samples::comparison(&sample::dumbbell(8, 300));
        let said = answer(&document).join("\n");
        let lost = said.lines().find(|line| line.starts_with("Data lost: ")).unwrap();
        assert_eq!(lost, "Data lost: of 3 scenarios the best, or as good: qsccp 2; in none: fixed.");
        let of_fixed = about(&document, "fixed").join("\n");
        assert!(of_fixed.contains("Data lost: the best, or as good, in 0 of 2 scenarios.\n"), "{of_fixed}");
        let behind = of_fixed.lines().find(|line| line.starts_with("fixed is behind the best in data lost"));
        assert!(
            behind
                .unwrap()
                .starts_with("fixed is behind the best in data lost in 2 of 2 scenarios, furthest in one/s")
        );
    }

    #[test]
    fn without_a_shown_difference_no_scheme_is_the_best() {
        let mut document = samples::comparison(&sample::dumbbell(8, 300));
        for scenario in &mut document.scenarios {
            let lost = scenario.matrix[0].lost.clone();
            scenario.matrix.iter_mut().for_each(|row| row.lost.clone_from(&lost));
        }
        let said = answer(&document).join("\n");
        assert!(said.contains("Data lost: no difference shown in "), "{said}");
        let times = times_best(&document, &MEASURES[4], "qsccp");
        assert_eq!((times.good, times.unclear, times.known), (0, 0, 3));
    }

    #[test]
    fn a_scheme_that_never_settles_is_behind_and_of_two_none_is_the_best() {
        let row = |scheme: &str, time: f64, never: bool| MatrixRow {
            scheme: scheme.to_owned(),
            settle_s: MatrixFigure { never, ..figure(vec![Some(time)], String::new) },
            ..MatrixRow::default()
        };
        let said = |matrix: Vec<MatrixRow>| {
            let schemes = matrix.iter().map(|row| row.scheme.clone()).collect();
            let scenario = SummaryScenario { matrix, ..SummaryScenario::default() };
            let scenarios = vec![scenario];
            answer(&SummaryDocument { seeds: vec![1], schemes, scenarios, ..SummaryDocument::default() })
        };
        let both = said(vec![row("a", 9.0, true), row("b", 9.0, true)]);
        assert_eq!(both, ["Time to settle: goodputs of no scheme settle in 1 scenario."]);
        let one = said(vec![row("a", 9.0, true), row("b", 9.2, false)]);
        assert_eq!(one[0], "Time to settle: of 1 scenario the best, or as good: b 1; in none: a.");
        assert!(one[1].starts_with("a is behind the best in time to settle in 1 of 1 scenarios"), "{one:?}");
    }

    #[test]
    fn a_figure_that_only_one_scheme_has_is_not_ranked() {
        let mut document = samples::comparison(&sample::dumbbell(8, 300));
        for scenario in &mut document.scenarios {
            let others = scenario.matrix.iter_mut().filter(|row| row.scheme != "qsccp");
            others.for_each(|row| row.lost = MatrixFigure::default());
        }
        let said = answer(&document).join("\n");
        assert!(said.contains("Data lost: only qsccp has figures, so there is no best one."), "{said}");
        assert!(!about(&document, "qsccp").join("\n").contains("Data lost: "));
    }

    #[test]
    fn the_pages_and_the_markdown_have_every_cell_and_the_reasons() {
        let document = samples::comparison(&sample::dumbbell(8, 300));
        let page = document.html();
        let known: Vec<&Measure> = known_measures(&document).collect();
        for measure in &MEASURES {
            let is_known = known.iter().any(|known| known.key == measure.key);
            assert_eq!(page.contains(&format!("data-measure=\"{}\"", measure.key)), is_known);
        }
        assert_eq!(
            page.matches("<td class=\"q").count() + page.matches("<td class=\"none").count(),
            known.len() * 2 * 3
        );
        assert!(page.contains("data lost not known: it cannot run here: it knows no loss"), "{page}");
        let names: Vec<String> = document.pages().into_iter().map(|(name, _)| name).collect();
        let scenarios = ["one-swept", "one-single", "two-lossy"].map(|one| format!("scenario-{one}.html"));
        assert_eq!(names[..2], ["scheme-qsccp.html", "scheme-fixed.html"]);
        assert_eq!(names[2..], scenarios);
        let text = document.markdown();
        assert!(text.contains("\n| scenario | qsccp | fixed° |\n|---|--:|--:|\n| one/swept | "), "{text}");
        assert_eq!(text.matches("\n| two/lossy | ").count(), 5);
    }
}
