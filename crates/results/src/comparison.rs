//! Comparison of schemes: figures of many runs as means over their seeds.

use crate::contest;
use crate::format::{self, Quantity, rate};
use crate::model::{
    ComparedScheme, ComparisonDocument, DelayEstimates, DistanceComparison, DistanceEstimates,
    LinkComparison, PeriodRow, RequestComparison, TrafficComparison,
};
use crate::overlay;
use crate::page;
use crate::requests;
use crate::sheet::{Cell, Column, Form, Grid, Plots, Section, Sheet, numbers, words};
use crate::thrown;
use weir_measure::Report;
use weir_measure::jain;
use weir_measure::{
    ClassRow, Estimate, FlowRow, GroupRow, LinkRow, OptimumRow, RequestRow, RunDocument, TrafficFigures,
    WindowRow,
};

/// Links that a terminal shows.
const LINKS_IN_TEXT: usize = 6;
/// Groups of flows that a terminal shows.
const GROUPS_IN_TEXT: usize = 20;
/// Links, or groups, in a page at most; the document has all.
const MOST: usize = 500;

impl ComparisonDocument {
    /// The shape of the document that this code writes.
    pub const SCHEMA: u64 = 1;

    /// Compares the runs of a scenario: for each scheme one run with each seed, in the same order. The
    /// caller adds the reports of runs, the version and the command.
    pub fn of(title: &str, schemes: &[Vec<RunDocument>]) -> ComparisonDocument {
        let Some(first) = schemes.first().and_then(|runs| runs.first()) else {
            return ComparisonDocument::default();
        };
        let names: Vec<String> = schemes.iter().filter_map(|runs| Some(runs.first()?.contestant())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let period_at = |at: usize| {
            let parts: Vec<Vec<Part<'_>>> =
                schemes.iter().map(|runs| runs.iter().filter_map(|run| part(run, at)).collect()).collect();
            period(&names, &parts)
        };
        ComparisonDocument {
            schema: ComparisonDocument::SCHEMA,
            version: String::new(),
            command: String::new(),
            scenario: first.scenario.clone(),
            title: title.to_owned(),
            set: first.set.clone(),
            simulated_s: first.simulated_s,
            seeds: schemes[0].iter().map(|run| run.seed).collect(),
            schemes: names
                .iter()
                .zip(schemes)
                .map(|(&name, runs)| ComparedScheme {
                    scheme: name.to_owned(),
                    variant: runs.first().and_then(|run| run.variant.clone()),
                    report: None,
                    knows_no_classes: false,
                    doubts: runs.iter().flat_map(doubts).collect(),
                    data_thrown_away: estimate(runs.iter().map(|run| Some(run.data_thrown_away))),
                })
                .collect(),
            styles: Vec::new(),
            periods: (0..=first.windows.len()).map(period_at).collect(),
        }
    }
}

impl ComparedScheme {
    /// Its name with its variant: `pcon (qsccp)`.
    pub fn name(&self) -> String {
        format::named(&self.scheme, self.variant.as_deref())
    }
}

/// The rows of a part of a run.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) flows: &'a [FlowRow],
    pub(crate) classes: &'a [ClassRow],
    pub(crate) groups: &'a [GroupRow],
    pub(crate) links: &'a [LinkRow],
    pub(crate) requests: &'a [RequestRow],
    /// None if all flows are sources of random requests.
    pub(crate) optimum: Option<&'a OptimumRow>,
}

impl Part<'_> {
    /// Whether all flows are sources of random requests. Such flows have no fair goodput: they fetch what arrives.
    pub(crate) fn is_random(&self) -> bool {
        !self.requests.is_empty() && self.flows.iter().all(|flow| self.is_source(flow))
    }

    /// Whether a flow is a source of random requests.
    fn is_source(&self, flow: &FlowRow) -> bool {
        self.requests.iter().any(|row| row.group == flow.group)
    }
}

/// The whole run, or from 1 on one of its windows.
pub(crate) fn part(run: &RunDocument, at: usize) -> Option<Part<'_>> {
    let part = match at.checked_sub(1) {
        None => {
            let RunDocument { simulated_s, flows, classes, groups, links, requests, optimum, .. } = run;
            let (from_s, to_s, optimum) = (0.0, *simulated_s, optimum.as_ref());
            Part { from_s, to_s, flows, classes, groups, links, requests, optimum }
        }
        Some(at) => {
            let WindowRow { from_s, to_s, flows, classes, groups, links, requests, optimum, .. } =
                run.windows.get(at)?;
            let (from_s, to_s, optimum) = (*from_s, *to_s, optimum.as_ref());
            Part { from_s, to_s, flows, classes, groups, links, requests, optimum }
        }
    };
    // Random requests have no share of it.
    Some(Part { optimum: part.optimum.filter(|_| !part.is_random()), ..part })
}

/// The same part of all runs: for each scheme one a seed.
pub(crate) fn period(names: &[&str], schemes: &[Vec<Part<'_>>]) -> PeriodRow {
    let Some(first) = schemes.first().and_then(|runs| runs.first()) else {
        return PeriodRow::default();
    };
    // Rows of a scenario have the same order in all of its runs.
    let each = |n: usize| {
        (0..n).flat_map(|at| names.iter().zip(schemes).map(move |(name, runs)| (at, *name, &runs[..])))
    };
    let classes = each(first.classes.len()).map(|(at, scheme, runs)| {
        let figures = runs.iter().filter_map(|run| {
            let row = run.classes.get(at)?;
            Some((&row.figures, fairness(run, |flow| flow.class == row.class)))
        });
        traffic(&first.classes[at].class, scheme, figures)
    });
    let groups = each(first.groups.len()).map(|(at, scheme, runs)| {
        let figures = runs.iter().filter_map(|run| {
            let row = run.groups.get(at)?;
            Some((&row.figures, fairness(run, |flow| flow.group == row.group)))
        });
        traffic(&first.groups[at].group, scheme, figures)
    });
    let links = each(first.links.len())
        .map(|(at, scheme, runs)| link(scheme, runs.iter().filter_map(|run| run.links.get(at))));
    PeriodRow {
        from_s: first.from_s,
        to_s: first.to_s,
        all: names.iter().zip(schemes).map(|(name, runs)| contest::row(name, runs)).collect(),
        classes: classes.collect(),
        groups: groups.collect(),
        links: links.collect(),
        requests: requests::rows(names, schemes),
        distances: names.iter().zip(schemes).filter_map(|(name, runs)| distance(name, runs)).collect(),
    }
}

/// How far a scheme is from the optimum; none where no run knows it.
fn distance(scheme: &str, runs: &[Part<'_>]) -> Option<DistanceComparison> {
    let known: Vec<&OptimumRow> = runs.iter().filter_map(|run| run.optimum).collect();
    Some(DistanceComparison {
        scheme: scheme.to_owned(),
        objective: known.first()?.objective.clone(),
        distance: DistanceEstimates::of(known.iter().map(|row| &row.distance)),
        weights: known[0].weights.clone(),
        weighted_jain: estimate(known.iter().map(|row| row.weighted_jain)),
        target_utilisation: known[0].target.map(|target| target.utilisation),
        target: known[0].target.map(|_| {
            let targets = known.iter().filter_map(|row| row.target.as_ref());
            DistanceEstimates::of(targets.map(|target| &target.distance))
        }),
    })
}

/// A sentence that names the weights with which the optimum divides links.
fn weights_note(row: &DistanceComparison) -> Option<String> {
    let weights = &row.weights;
    (!weights.is_empty()).then(|| {
        format!(
            "Distances and the weighted Jain's index are by the optimum, which divides links by classes: {weights}. Jain's index in a class or a group is without weights."
        )
    })
}

/// Why the figures of a run are not those of the network.
pub fn doubts(run: &RunDocument) -> impl Iterator<Item = String> {
    let of_lab = run.lab.iter().flat_map(|lab| &lab.doubts);
    of_lab.map(|why| format!("{}, seed {}: {}", run.contestant(), run.seed, why.trim_end_matches('.')))
}

/// How far a scheme is from its own target, in a sentence.
fn target_note(row: &DistanceComparison) -> Option<String> {
    let mean = row.target.as_ref()?.mean?.mean;
    Some(format!(
        "The target of {} is {} of links: its flows are {} from that on average.",
        row.scheme,
        Quantity::Percent.format(row.target_utilisation?),
        Quantity::Percent.format(mean),
    ))
}

/// Jain's index of the flows that took part and are no sources of random requests; one flow is not fair or unfair.
pub(crate) fn fairness(part: &Part<'_>, is_of: impl Fn(&FlowRow) -> bool) -> Option<f64> {
    let taking_part =
        part.flows.iter().filter(|flow| is_of(flow) && takes_part(flow) && !part.is_source(flow));
    let mut goodputs: Vec<f64> = taking_part.map(|flow| flow.goodput_bps).collect();
    // Sums round by their order, and which of equal flows had which goodput makes no difference.
    goodputs.sort_by(f64::total_cmp);
    jain(&goodputs).filter(|_| goodputs.len() > 1)
}

/// Whether anything became of what a flow asked for: one that has not begun, or is over, is not treated unfairly.
fn takes_part(flow: &FlowRow) -> bool {
    flow.goodput_bps > 0.0 || flow.lost + flow.retransmitted + flow.timeouts > 0
}

/// What some flows got in runs under a scheme; of each run with Jain's index.
pub(crate) fn traffic<'a>(
    name: &str,
    scheme: &str,
    runs: impl Iterator<Item = (&'a TrafficFigures, Option<f64>)>,
) -> TrafficComparison {
    let runs: Vec<_> = runs.collect();
    let mean = |of: fn(&TrafficFigures) -> Option<f64>| estimate(runs.iter().map(|(run, _)| of(run)));
    TrafficComparison {
        name: name.to_owned(),
        scheme: scheme.to_owned(),
        goodput_bps: mean(|run| Some(run.goodput_bps)),
        delay_ms: DelayEstimates { mean: mean(|run| run.delay_ms.mean), p99: mean(|run| run.delay_ms.p99) },
        lost: mean(|run| Some(run.lost as f64)),
        retransmitted: mean(|run| Some(run.retransmitted as f64)),
        jain: estimate(runs.iter().map(|(_, jain)| *jain)),
        completion_s: mean(|run| run.completion_s),
        completion_mean_s: mean(|run| run.completion_mean_s),
    }
}

fn link<'a>(scheme: &str, runs: impl Iterator<Item = &'a LinkRow>) -> LinkComparison {
    let runs: Vec<&LinkRow> = runs.collect();
    let mean = |of: fn(&LinkRow) -> Option<f64>| estimate(runs.iter().map(|run| of(run)));
    LinkComparison {
        from: runs.first().map_or_else(String::new, |run| run.from.clone()),
        to: runs.first().map_or_else(String::new, |run| run.end()),
        scheme: scheme.to_owned(),
        rate_bps: runs.first().map_or(0.0, |run| run.rate_bps),
        utilisation: mean(|run| Some(run.utilisation)),
        drops: mean(|run| Some(run.drops as f64)),
        lost: mean(|run| Some(run.lost as f64)),
        queue_ms: DelayEstimates { mean: mean(|run| run.queue_ms.mean), p99: mean(|run| run.queue_ms.p99) },
    }
}

/// The mean over those seeds that have a value.
pub(crate) fn estimate(values: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    Estimate::of(&values.flatten().collect::<Vec<f64>>())
}

// ---- As tables

impl ComparisonDocument {
    /// For a terminal of so many columns, if that is given: what was run and the tables.
    pub fn text(&self, width: Option<u16>) -> String {
        self.sheet().text(width)
    }

    /// The tables alone.
    pub fn tables(&self, width: Option<u16>) -> String {
        self.sheet().sections.iter().map(|section| section.text(width)).collect()
    }

    /// The page, one file, with plots of these reports: of one run of each scheme.
    pub fn html(&self, reports: &[Report]) -> String {
        let mut sheet = self.sheet();
        let first = self.first_period();
        for (at, section) in sheet.sections.iter_mut().enumerate() {
            section.is_folded = at != first;
        }
        if first < sheet.sections.len() {
            sheet.sections[..=first].rotate_right(1);
        }
        let plots = Plots { bundle: &page::COMPARE, data: overlay::data(self, reports), is_last: true };
        let (answer, lead) = (Vec::new(), self.contest_html());
        Sheet { answer, lead, plots: Some(plots), ..sheet }.html()
    }

    fn sheet(&self) -> Sheet {
        let schemes: Vec<String> = self.schemes.iter().map(ComparedScheme::name).collect();
        let facts = vec![
            ("scenario", self.scenario.clone()),
            ("schemes", schemes.join(", ")),
            ("seeds", seeds(&self.seeds)),
            ("simulated", format!("{} s each", self.simulated_s)),
        ];
        let mut sections: Vec<Section> =
            self.periods.iter().enumerate().map(|(at, period)| self.section(at, period)).collect();
        if let Some(section) = sections.first_mut() {
            let report = |scheme: &ComparedScheme| Some((scheme.scheme.clone(), scheme.report.clone()?));
            section.reports = self.schemes.iter().filter_map(report).collect();
            section.notes.extend(self.thrown_away());
        }
        if let Some(section) = sections.last_mut() {
            let has_requests = self.periods.iter().any(|period| !period.requests.is_empty());
            let notes = [(has_requests, requests::IN_WORDS), (self.seeds.len() > 1, INTERVALS)];
            section.notes.extend(notes.into_iter().filter(|note| note.0).map(|note| note.1.to_owned()));
        }
        Sheet {
            kind: "Weir comparison",
            title: self.title.clone(),
            set: self.set.clone(),
            facts,
            answer: self.answer(),
            sections,
            ..Sheet::default()
        }
    }

    fn section(&self, at: usize, period: &PeriodRow) -> Section {
        let title = match at {
            0 => "Whole run".to_owned(),
            _ => format::period(period.from_s, period.to_s),
        };
        let mut grids = vec![self.requests(&period.requests)];
        grids.push(self.traffic("Classes", "class", &period.classes));
        if !is_one_group_each(&period.classes, &period.groups) {
            grids.push(self.traffic("Flow groups", "group", &period.groups));
        }
        grids.push(self.links(&period.links));
        grids.push(self.distances(period));
        grids.retain(|grid| !grid.rows.is_empty());
        let mut notes: Vec<String> = period.distances.first().and_then(weights_note).into_iter().collect();
        notes.extend(self.classes_note());
        notes.extend(self.doubts_note());
        notes.extend(period.distances.iter().filter_map(target_note));
        Section { title, grids, notes, ..Section::default() }
    }

    /// The schemes that throw away more than 1 % of the Data.
    fn thrown_away(&self) -> Option<String> {
        let named = self.schemes.iter().filter_map(|scheme| {
            let part = scheme.data_thrown_away?.mean;
            let said = || format!("{} {}", scheme.name(), Quantity::Percent.format(part));
            (part > thrown::NOTEWORTHY).then(said)
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| {
            format!(
                "Data thrown away, for any reason: {}. Each run's document has the reasons.",
                named.join(", ")
            )
        })
    }

    /// Runs whose figures are not those of the network.
    fn doubts_note(&self) -> Option<String> {
        let doubts: Vec<&str> =
            self.schemes.iter().flat_map(|scheme| &scheme.doubts).map(String::as_str).collect();
        (!doubts.is_empty())
            .then(|| format!("The machine did not keep up with some runs: {}.", doubts.join("; ")))
    }

    /// Whether a scheme treats all classes alike, and the optimum of the scenario divides links among several by weights.
    pub(crate) fn is_marked(&self, place: usize) -> bool {
        self.periods.iter().flat_map(|period| &period.distances).any(|row| !row.weights.is_empty())
            && self.schemes.get(place).is_some_and(|scheme| scheme.knows_no_classes)
    }

    /// What the mark says, if some scheme has it.
    fn classes_note(&self) -> Option<String> {
        let is_marked = |place: usize| self.is_marked(place);
        (0..self.schemes.len()).any(is_marked).then(|| KNOWS_NO_CLASSES.to_owned())
    }

    /// The column of schemes, where there are several.
    fn scheme_column(&self) -> Option<Column> {
        (self.schemes.len() > 1).then_some(words("scheme"))
    }

    /// What a row is about, and its scheme where there are several. Only the first scheme's row has
    /// the name.
    fn heads(&self, at: usize, name: &str, scheme: &str) -> Vec<Cell> {
        let is_first = at.is_multiple_of(self.each());
        let name = if is_first { name } else { "" };
        [name].into_iter().chain(self.scheme_column().map(|_| scheme)).map(Cell::from).collect()
    }

    fn traffic(&self, title: &str, what: &'static str, rows: &[TrafficComparison]) -> Grid {
        let completes = rows.iter().any(|row| row.completion_s.is_some());
        let has_jain = rows.iter().any(|row| row.jain.is_some());
        let mut columns = vec![words(what)];
        columns.extend(self.scheme_column());
        let jain = if what == "class" { "Jain in class" } else { "Jain in group" };
        columns.extend(["goodput", "delay mean", "delay p99", "lost", "retransmitted"].map(numbers));
        columns.extend(has_jain.then(|| numbers(jain)));
        let completion = ["completion mean", "last"].map(numbers);
        columns.extend(completion.into_iter().filter(|_| completes));
        let row = |(at, row): (usize, &TrafficComparison)| {
            let mut cells = self.heads(at, &row.name, &row.scheme);
            cells.extend([
                self.cell(Quantity::Rate, row.goodput_bps),
                self.cell(Quantity::Millis, row.delay_ms.mean),
                self.cell(Quantity::Millis, row.delay_ms.p99),
                self.cell(Quantity::Count, row.lost),
                self.cell(Quantity::Count, row.retransmitted),
            ]);
            cells.extend(has_jain.then(|| self.cell(Quantity::Plain, row.jain)));
            let completion = [row.completion_mean_s, row.completion_s].into_iter().filter(|_| completes);
            cells.extend(completion.map(|time| self.cell(Quantity::Seconds, time)));
            cells
        };
        let shown: Vec<Vec<Cell>> = rows.iter().take(MOST * self.each()).enumerate().map(row).collect();
        self.figures(title, "first", columns, shown, rows.len(), GROUPS_IN_TEXT)
    }

    fn requests(&self, rows: &[RequestComparison]) -> Grid {
        let mut columns = vec![words("requests")];
        columns.extend(self.scheme_column());
        columns.extend(["came", "complete", "completion mean", "p99", "slowdown mean", "p99"].map(numbers));
        let has_ideal = rows.iter().any(|row| row.ideal_slowdown.is_some());
        columns.extend(["ideal mean", "p99"].map(numbers).into_iter().filter(|_| has_ideal));
        let row = |(at, row): (usize, &RequestComparison)| {
            let mut cells = self.heads(at, &requests::name(&row.group, &row.size), &row.scheme);
            cells.extend([
                self.cell(Quantity::Count, row.came),
                self.cell(Quantity::Percent, row.complete),
                self.cell(Quantity::Millis, row.completion_ms.mean),
                self.cell(Quantity::Millis, row.completion_ms.p99),
                self.cell(Quantity::Plain, row.slowdown.mean),
                self.cell(Quantity::Plain, row.slowdown.p99),
            ]);
            let ideal = row.ideal_slowdown.unwrap_or_default();
            let ideal = [ideal.mean, ideal.p99].into_iter().filter(|_| has_ideal);
            cells.extend(ideal.map(|figure| self.cell(Quantity::Plain, figure)));
            cells
        };
        let shown = rows.iter().enumerate().map(row).collect();
        self.figures("Requests", "first", columns, shown, rows.len(), GROUPS_IN_TEXT)
    }

    fn links(&self, rows: &[LinkComparison]) -> Grid {
        let mut links: Vec<&[LinkComparison]> = rows.chunks(self.each()).collect();
        let most = |link: &[LinkComparison], of: fn(&LinkComparison) -> Option<Estimate>| {
            link.iter().filter_map(of).map(|estimate| estimate.mean).fold(0.0, f64::max)
        };
        links.sort_by(|a, b| {
            let drops = most(b, |row| row.drops).total_cmp(&most(a, |row| row.drops));
            drops.then(most(b, |row| row.utilisation).total_cmp(&most(a, |row| row.utilisation)))
        });
        links.truncate(MOST);
        let mut columns = vec![words("link")];
        columns.extend(self.scheme_column());
        let has_lost = rows.iter().any(|row| row.lost.is_some_and(|lost| lost.mean > 0.0));
        columns.extend(["rate", "utilisation", "queue drops"].map(numbers));
        columns.extend(has_lost.then(|| numbers("lost at random")));
        columns.extend(["queue mean", "queue p99"].map(numbers));
        let row = |(at, row): (usize, &LinkComparison)| {
            let mut cells = self.heads(at, &format!("{} → {}", row.from, row.to), &row.scheme);
            cells.extend([
                rate(row.rate_bps).into(),
                self.cell(Quantity::Percent, row.utilisation),
                self.cell(Quantity::Count, row.drops),
            ]);
            cells.extend(has_lost.then(|| self.cell(Quantity::Count, row.lost)));
            cells.extend([
                self.cell(Quantity::Millis, row.queue_ms.mean),
                self.cell(Quantity::Millis, row.queue_ms.p99),
            ]);
            cells
        };
        let shown = links.iter().flat_map(|link| link.iter()).enumerate().map(row).collect();
        self.figures("Links", "first by drops, then use,", columns, shown, rows.len(), LINKS_IN_TEXT)
    }

    fn distances(&self, period: &PeriodRow) -> Grid {
        let rows = &period.distances;
        let objective = rows.first().map_or("", |row| &row.objective);
        let mut columns = vec![words("optimum")];
        columns.extend(self.scheme_column());
        columns.extend(
            ["mean", "lowest flow", "highest flow", "flows within 5 %", "weighted Jain"].map(numbers),
        );
        let row = |(at, row): (usize, &DistanceComparison)| {
            let is_it = |scheme: &ComparedScheme| scheme.scheme == row.scheme;
            let place = self.schemes.iter().position(is_it).unwrap_or(at);
            let mark = if self.is_marked(place) { NO_CLASSES.to_string() } else { String::new() };
            let mut cells = self.heads(at, &row.objective, &format!("{}{mark}", row.scheme));
            cells.extend(row.distance.shown().map(|figure| self.cell(Quantity::Percent, figure)));
            cells.push(self.cell(Quantity::Plain, row.weighted_jain));
            cells
        };
        let shown = rows.iter().enumerate().map(row).collect();
        let title = format!("Distance of flows' goodput from the {objective} optimum");
        self.figures(&title, "first", columns, shown, rows.len(), GROUPS_IN_TEXT)
    }

    /// Rows of each thing that is compared.
    fn each(&self) -> usize {
        self.schemes.len().max(1)
    }

    /// A table of those `rows` of `all` that a page shows; a terminal shows so many things.
    fn figures(
        &self,
        title: &str,
        which: &str,
        columns: Vec<Column>,
        rows: Vec<Vec<Cell>>,
        all: usize,
        in_text: usize,
    ) -> Grid {
        let each = self.each();
        let left_out = |shown: usize| {
            if shown < all {
                format!(", the {} {which} of {}", shown / each, all / each)
            } else {
                String::new()
            }
        };
        let shown = rows.len().min(in_text * each);
        Grid {
            title: format!("{title}{}", left_out(rows.len())),
            form: Form::Figures,
            in_text: (shown < rows.len()).then(|| (shown, left_out(shown))),
            columns,
            rows,
            ..Grid::default()
        }
    }

    fn cell(&self, quantity: Quantity, estimate: Option<Estimate>) -> Cell {
        quantity.over_seeds(estimate.as_ref(), self.seeds.len()).into()
    }
}

/// Whether each class is one group: then its rows say what those of groups would.
pub(crate) fn is_one_group_each(classes: &[TrafficComparison], groups: &[TrafficComparison]) -> bool {
    let is_there = |group: &TrafficComparison| {
        let named =
            |class: &TrafficComparison| TrafficComparison { name: group.name.clone(), ..class.clone() };
        classes.iter().any(|class| named(class) == *group)
    };
    classes.len() == groups.len() && groups.iter().all(is_there)
}

/// The mark of a scheme that treats all classes alike.
pub(crate) const NO_CLASSES: char = '°';

/// What the mark says, where there are several classes.
pub(crate) const KNOWS_NO_CLASSES: &str =
    "A scheme with ° knows no classes: figures that are weighted by classes are no measure of what it does.";

/// What intervals are, in words.
pub(crate) const INTERVALS: &str = "Figures are means over the seeds, ± half of their 95 % confidence interval; those without ± do not \
     vary in the digits shown.";

/// Seeds in words: `1 to 10`, where they follow each other.
pub(crate) fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last]
            if seeds.len() > 2 && seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) =>
        {
            format!("{first} to {last}")
        }
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, samples};

    /// Words of a line, with one blank between them.
    fn squeezed(line: &str) -> String {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn figures_are_means_over_the_seeds_scheme_below_scheme() {
        let report = sample::dumbbell(8, 300);
        let runs = samples::runs(&report);
        let document = ComparisonDocument::of("title", &runs);
        assert_eq!(document.seeds, [1, 2, 3]);
        assert_eq!(document.periods.len(), 1 + report.document.windows.len());
        let classes = &document.periods[0].classes;
        let heads: Vec<(&str, &str)> = classes.iter().map(|row| (&*row.name, &*row.scheme)).collect();
        assert_eq!(heads[..3], [("EF", "qsccp"), ("EF", "fixed"), ("AF2", "qsccp")]);
        let goodput = report.document.classes[0].figures.goodput_bps * 0.98;
        let measured = classes[0].goodput_bps.unwrap();
        assert!((measured.mean - 1.02 * goodput).abs() < 1e-6 * goodput);
        // Three values, 1 % apart: t with 2 degrees of freedom times 0.01 / sqrt(3).
        let wanted = 4.30265 * 0.01 / 3.0_f64.sqrt() * goodput;
        assert!((measured.ci95.unwrap() - wanted).abs() < 1e-4 * wanted);
        let lost = report.document.classes[0].figures.lost as f64;
        assert_eq!(classes[1].lost.unwrap().mean, lost + 200.0);
        assert_eq!(document.periods[0].links.len(), 2 * report.document.links.len());
    }

    #[test]
    fn fairness_is_over_the_flows_of_a_class_and_not_of_one_flow() {
        let mut report = sample::dumbbell(8, 50);
        for (flow, goodput) in report.document.flows.iter_mut().zip([1.0, 3.0]) {
            (flow.class, flow.goodput_bps) = ("EF".to_owned(), goodput);
        }
        report.document.flows[2].class = "alone".to_owned();
        report.document.classes[1].class = "alone".to_owned();
        let rows = &ComparisonDocument::of("", &[vec![report.document]]).periods[0].classes;
        assert_eq!(rows[0].jain, Some(Estimate { mean: 0.8, ci95: None, n: 1, distinct: 1 }));
        assert_eq!(rows[1].jain, None);
    }

    #[test]
    fn groups_have_a_table_unless_each_is_a_class() {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        let text = ComparisonDocument::of("", &runs).text(None);
        assert!(text.contains("\nClasses\n") && !text.contains("Flow groups"), "{text}");
        for run in runs.iter_mut().flatten() {
            run.groups[0].figures.goodput_bps /= 2.0;
        }
        let text = ComparisonDocument::of("", &runs).text(None);
        assert!(text.contains("\nFlow groups\n"), "{text}");
    }

    #[test]
    fn a_completion_that_some_seeds_do_not_come_to_says_how_many_do() {
        let mut runs = samples::runs(&sample::dumbbell(8, 50));
        for (at, run) in runs[0].iter_mut().enumerate() {
            run.classes[0].figures.completion_s = [Some(4.0), None, Some(6.0)][at];
            run.classes[0].figures.completion_mean_s = [Some(3.0), None, Some(4.0)][at];
        }
        let text = ComparisonDocument::of("", &runs).text(None);
        let line = text.lines().find(|line| line.starts_with(" EF")).unwrap();
        // The mean of 4 and 6, and 12.7062 times half their distance.
        assert!(line.ends_with(" 5.00 ± 13 s (2 of 3)"), "{line}");
        let other = squeezed(text.lines().find(|line| squeezed(line).starts_with("fixed ")).unwrap());
        assert!(other.ends_with(" –"), "{other}");
    }

    #[test]
    fn a_terminal_shows_the_first_links_by_drops_and_use_and_the_page_all() {
        let report = sample::dumbbell(8, 50);
        let document = ComparisonDocument::of("", &samples::runs(&report));
        let all = report.document.links.len();
        assert!(all > LINKS_IN_TEXT);
        let text = document.text(None);
        assert!(
            text.contains(&format!("\nLinks, the {LINKS_IN_TEXT} first by drops, then use, of {all}\n")),
            "{text}"
        );
        let page = document.html(&[]);
        for link in &report.document.links {
            assert!(page.contains(&format!("{} → {}", link.from, link.to)));
        }
    }

    #[test]
    fn one_scheme_needs_no_column_for_it_and_no_run_no_tables() {
        let runs = samples::runs(&sample::dumbbell(8, 50));
        let text = ComparisonDocument::of("", &runs[..1]).tables(None);
        assert!(!text.contains("scheme"), "{text}");
        assert_eq!(ComparisonDocument::of("", &[]).tables(None), "");
        assert_eq!(seeds(&[1, 2, 3]), "1 to 3");
        assert_eq!(seeds(&[7, 9, u64::MAX]), format!("7, 9, {}", u64::MAX));
    }
}
