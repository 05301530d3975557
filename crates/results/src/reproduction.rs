//! The statements of papers, compared with the measurements of many runs.

use std::iter;

use crate::comparison::{INTERVALS, seeds};
use crate::format::{self, NONE, Quantity};
use crate::model::{
    CaseOptimumRow, CaseRow, DistanceEstimates, ExperimentRow, OtherSchemeRow, ReproductionDocument,
    StatementRow, TheoryRow, WindowDistanceRow,
};
use crate::page::escaped;
use crate::sheet::{Cell, Column, Form, Grid, Section, Sheet, numbers, words};
use weir_measure::{DistanceRow, Estimate, ExpectationRow, Relation};

/// Failures that a page shows at once; of more, each experiment's are folded.
const MOST_OPEN: usize = 20;
/// The kind of source that a reproduction checks.
const PAPER: &str = "paper";

impl StatementRow {
    /// Combines a statement's rows in the runs of all seeds (at least one) with the values of the same figure under other schemes
    /// with the same seeds, the scenario's theoretical values, and the value in the optimum.
    pub fn of(
        rows: &[&ExpectationRow],
        than: Vec<OtherSchemeRow>,
        theory: Vec<TheoryRow>,
        optimum: Option<f64>,
    ) -> StatementRow {
        let Some(first) = rows.first() else { return StatementRow::default() };
        let values: Vec<Option<f64>> = rows.iter().map(|row| row.measured).collect();
        let is_so = |(seed, row): &(usize, &&ExpectationRow)| {
            row.holds.unwrap_or_else(|| is_beside(row.bound, row.measured, &than, *seed))
        };
        let held = rows.iter().enumerate().filter(is_so).count();
        StatementRow {
            kind: format::kind_of_source(&first.source).to_owned(),
            qualitative: is_qualitative(first.bound, &first.source),
            what: first.what.clone(),
            source: first.source.clone(),
            unit: first.unit.clone(),
            stated: first.stated,
            tolerance: first.tolerance,
            bound: first.bound,
            than,
            theory,
            optimum,
            measured: estimate(&values),
            never: rows.iter().filter(|row| row.never).count() as u64,
            values,
            held: held as u64,
            holds: held == rows.len(),
        }
    }

    /// Whether the paper states it as a number.
    pub fn is_number_of_paper(&self) -> bool {
        self.is_of_paper() && !self.qualitative
    }

    /// Whether the paper states it in words.
    pub fn is_in_words_of_paper(&self) -> bool {
        self.is_of_paper() && self.qualitative
    }

    /// Whether the paper states it.
    pub fn is_of_paper(&self) -> bool {
        self.kind == PAPER
    }

    fn quantity(&self) -> Quantity {
        Quantity::of_unit(&self.unit)
    }
}

impl OtherSchemeRow {
    /// The figure under another scheme in the runs of all seeds.
    pub fn of(scheme: &str, values: Vec<Option<f64>>) -> OtherSchemeRow {
        OtherSchemeRow { scheme: scheme.to_owned(), measured: estimate(&values), values }
    }
}

/// Whether a statement with this bound and source is in a paper's words: one scheme has more than another, or the scenario sets
/// or derives the bound itself.
fn is_qualitative(bound: Relation, source: &str) -> bool {
    let is_of = |kind| format::is_said_by(source, kind);
    let is_order = matches!(bound, Relation::MoreThan | Relation::LessThan);
    let is_limit = matches!(bound, Relation::AtMost | Relation::AtLeast);
    is_of(PAPER) && (is_order || is_limit && (is_of("assumed") || is_of("theory")))
}

fn estimate(values: &[Option<f64>]) -> Option<Estimate> {
    Estimate::of(&values.iter().copied().flatten().collect::<Vec<f64>>())
}

/// Whether a value is in the stated relation to the value of each other scheme in the same seed; `false` if there was nothing to
/// measure.
fn is_beside(bound: Relation, measured: Option<f64>, than: &[OtherSchemeRow], seed: usize) -> bool {
    let is_so = |value: f64, other: f64| match bound {
        Relation::MoreThan => value > other,
        Relation::LessThan => value < other,
        Relation::About | Relation::AtMost | Relation::AtLeast => false,
    };
    let others = than.iter().map(|other| other.values.get(seed).copied().flatten());
    !than.is_empty()
        && others
            .into_iter()
            .all(|other| measured.zip(other).is_some_and(|(value, other)| is_so(value, other)))
}

impl CaseOptimumRow {
    fn name(&self) -> String {
        format!("{}, {} of links", self.objective, Quantity::Percent.format(self.utilisation))
    }
}

impl WindowDistanceRow {
    /// The distance of the runs of all seeds from the optimum over a window.
    pub fn of((from_s, to_s): (f64, f64), runs: &[DistanceRow]) -> WindowDistanceRow {
        WindowDistanceRow { from_s, to_s, distance: DistanceEstimates::of(runs) }
    }
}

impl ReproductionDocument {
    /// The version of the document that this code writes.
    pub const SCHEMA: u64 = 1;

    /// The number of the papers' statements that hold, and their total number.
    pub fn held(&self) -> (usize, usize) {
        held(self.cases(), StatementRow::is_of_paper)
    }

    /// The same numbers for expectations from theory, files and assumptions.
    pub fn others_held(&self) -> (usize, usize) {
        held(self.cases(), is_other)
    }

    fn cases(&self) -> impl Iterator<Item = &CaseRow> + Clone {
        self.experiments.iter().flat_map(|experiment| &experiment.cases)
    }

    /// The text for a terminal with `width` columns, or of any width.
    pub fn text(&self, width: Option<u16>) -> String {
        let mut text = self.sheet().text(width);
        if self.experiments.len() > 1 {
            text.push('\n');
            let of_papers = held_by_kind(self.cases()).unwrap_or_default();
            for ((held, all), of, by_kind) in [
                (self.held(), "statements of papers", of_papers),
                (self.others_held(), "other expectations", String::new()),
            ] {
                if all > 0 {
                    text += &format!("{}{by_kind}\n", verdict(held, all, of, self.seeds.len()));
                }
            }
            if let Some(by_scheme) = held_by_scheme(self.cases()) {
                text += &format!("by scheme: {by_scheme}\n");
            }
        }
        text
    }

    /// The page, one file: what holds of each paper, what does not hold, and then each experiment, folded if there are
    /// several.
    pub fn html(&self) -> String {
        self.html_with(&[])
    }

    /// The same with figures, each in the section of its scenario.
    pub fn html_with(&self, figures: &[PaperFigure]) -> String {
        let mut sheet = self.sheet();
        for (section, experiment) in sheet.sections.iter_mut().zip(&self.experiments) {
            section.figures = figures_html(figures.iter().filter(|one| one.scenario == experiment.scenario));
        }
        let several = self.experiments.len() > 1;
        let mut failures = if several { self.failures_by_experiment() } else { Vec::new() };
        let is_long = failures.iter().map(|grid| grid.rows.len()).sum::<usize>() > MOST_OPEN;
        failures.iter_mut().for_each(|grid| grid.is_folded = is_long);
        // The text has one table of them, at its end.
        sheet.sections.truncate(self.experiments.len());
        sheet.sections.iter_mut().for_each(|section| section.is_folded = several);
        let lead = if several { self.contents_html() } else { String::new() };
        if !failures.is_empty() {
            let seeds = self.seeds.len();
            let count = failures.iter().map(|grid| grid.rows.len()).sum::<usize>();
            let verdict = match seeds {
                1 => format!("{count} statements and expectations"),
                _ => format!("{count} statements and expectations fail in some of {seeds} seeds"),
            };
            let section = Section {
                title: "What does not hold".to_owned(),
                verdict: Some((verdict, false)),
                grids: failures,
                id: "failures".to_owned(),
                ..Section::default()
            };
            sheet.sections.insert(0, section);
        }
        if let Some(last) = sheet.sections.last_mut()
            && self.seeds.len() > 1
            && !last.notes.iter().any(|note| note == INTERVALS)
        {
            last.notes.push(INTERVALS.to_owned());
        }
        Sheet { lead, ..sheet }.html()
    }

    /// What does not hold, a table for each experiment.
    fn failures_by_experiment(&self) -> Vec<Grid> {
        let of_experiment = |experiment: &ExperimentRow| {
            let failing = |case: &CaseRow| case.statements.iter().any(|row| !row.holds);
            experiment.cases.iter().any(failing).then(|| {
                let own = [words("by"), numbers("states"), numbers("measured")];
                let is_failing = |row: &StatementRow| !row.holds;
                let grid = self.grid("", experiment, &own, is_failing, |row| {
                    vec![self.what(row), said_by(row).into(), self.stated(row), self.measured(row)]
                });
                let name = &experiment.scenario;
                let count = grid.rows.len();
                let title = format!(
                    "{name}: {count} {} ({})",
                    if count == 1 { "fails" } else { "fail" },
                    experiment.title
                );
                let page = (format!("#{}", anchor(name)), format!("All statements of {name}"));
                Grid { title, page: Some(page), ..grid }
            })
        };
        self.experiments.iter().filter_map(of_experiment).collect()
    }

    /// How many statements of each paper hold, and a way to each experiment.
    fn contents_html(&self) -> String {
        let mut body = String::from(
            "<section id=\"contents\"><div class=\"heading\"><h2>By paper</h2></div>\n\
             <table class=\"contents\" aria-label=\"Statements and expectations by paper and experiment\"><thead><tr>\
             <th scope=\"col\">paper, experiment</th><th scope=\"col\">statements of the paper</th>\
             <th scope=\"col\" class=\"number\">hold</th><th scope=\"col\" class=\"number\">fail</th>\
             <th scope=\"col\" class=\"number\">else expected</th><th scope=\"col\" class=\"number\">hold</th>\
             <th scope=\"col\" class=\"number\">fail</th></tr></thead>\n",
        );
        let row = |head: String, cases: &[&CaseRow]| {
            let own = |is_meant: fn(&StatementRow) -> bool| held(cases.iter().copied(), is_meant);
            let ((held, all), (others, all_others)) = (own(StatementRow::is_of_paper), own(is_other));
            let fail = |n: usize| if n > 0 { format!("✗ {n}") } else { "0".to_owned() };
            let class = |n: usize| if n > 0 { "number fails" } else { "number" };
            let bar = match all {
                0 => "<small>nothing stated that was measured</small>".to_owned(),
                all => format!(
                    "<span class=\"bar\" role=\"img\" aria-label=\"{held} of {all} hold\"><i style=\"width:{:.1}%\"></i></span>",
                    100.0 * held as f64 / all as f64
                ),
            };
            let (lost, lost_others) = (all - held, all_others - others);
            format!(
                "{head}<td>{bar}</td><td class=\"number\">{held} of {all}</td><td class=\"{}\">{}</td>\
                 <td class=\"number\">{all_others}</td><td class=\"number\">{others}</td><td class=\"{}\">{}</td></tr>\n",
                class(lost),
                fail(lost),
                class(lost_others),
                fail(lost_others)
            )
        };
        for experiments in self.experiments.chunk_by(|a, b| paper_of(&a.scenario) == paper_of(&b.scenario)) {
            let cases: Vec<&CaseRow> = experiments.iter().flat_map(|one| &one.cases).collect();
            let paper = escaped(paper_of(&experiments[0].scenario));
            body += "<tbody>\n";
            if experiments.len() > 1 {
                body += &row(format!("<tr class=\"paper\"><th scope=\"rowgroup\">{paper}</th>"), &cases);
            }
            for one in experiments {
                let cases: Vec<&CaseRow> = one.cases.iter().collect();
                let (id, name, title) = (anchor(&one.scenario), escaped(&one.scenario), escaped(&one.title));
                let head =
                    format!("<tr><th scope=\"row\"><a href=\"#{id}\">{name}</a> <small>{title}</small></th>");
                body += &row(head, &cases);
            }
            body += "</tbody>\n";
        }
        body += "</table></section>\n";
        body
    }

    fn sheet(&self) -> Sheet {
        let mut facts = vec![("seeds", seeds(&self.seeds))];
        let of_papers = held_by_kind(self.cases()).unwrap_or_default();
        for ((held, all), of, by_kind) in [
            (self.held(), "statements of papers", of_papers),
            (self.others_held(), "other expectations", String::new()),
        ] {
            if all > 0 {
                facts.push((of, format!("{held} of {all} hold{by_kind}")));
            }
        }
        if let Some(by_scheme) = held_by_scheme(self.cases()) {
            facts.push(("statements of papers, by scheme", by_scheme));
        }
        let mut sections: Vec<Section> = self.experiments.iter().map(|one| self.section(one)).collect();
        sections.extend(self.failures());
        if let Some(section) = sections.last_mut()
            && self.seeds.len() > 1
        {
            section.notes.push(INTERVALS.to_owned());
        }
        Sheet { kind: "Weir reproduction", title: self.title(), facts, sections, ..Sheet::default() }
    }

    fn title(&self) -> String {
        let mut papers: Vec<&str> = self.experiments.iter().map(|one| paper_of(&one.scenario)).collect();
        papers.dedup();
        match (&self.experiments[..], &papers[..]) {
            ([only], _) => format!("What the paper states: {}", only.scenario),
            (all, [paper]) => format!("What the paper states: {paper}, {} experiments", all.len()),
            (all, papers) => format!("What papers state: {}, {} experiments", papers.join(", "), all.len()),
        }
    }

    fn section(&self, experiment: &ExperimentRow) -> Section {
        let (held, all) = held(&experiment.cases, StatementRow::is_of_paper);
        let mut grids = vec![
            self.stated_by_paper(experiment),
            self.stated_by_others(experiment),
            self.distances(experiment),
        ];
        grids.retain(|grid| !grid.rows.is_empty());
        let mut notes = Vec::new();
        if all == 0 {
            notes.push("No paper states anything that was measured here.".to_owned());
        }
        let unknown = experiment.cases.iter().filter_map(|case| Some(&case.optimum.as_ref()?.note));
        let mut unknown: Vec<String> = unknown.filter(|note| !note.is_empty()).cloned().collect();
        unknown.dedup();
        notes.extend(unknown);
        notes.extend(fitted_values(experiment));
        notes.extend(self.repeated(experiment));
        if experiment.cases.iter().any(|case| case.lab) {
            notes.push("The runs were made on real forwarders, in the lab.".to_owned());
        }
        let doubts: Vec<&str> =
            experiment.cases.iter().flat_map(|case| &case.doubts).map(String::as_str).collect();
        if !doubts.is_empty() {
            notes.push(format!(
                "The machine did not keep up with some runs, and what they measured is not decisive: {}.",
                doubts.join("; ")
            ));
        }
        let is_alone = experiment.cases.len() == 1;
        let report = |case: &CaseRow| {
            let name = if is_alone { case.scheme.clone() } else { name_of(case) };
            Some((name, case.report.clone()?))
        };
        Section {
            title: format!("{}: {}", experiment.scenario, experiment.title),
            source: experiment.source.clone(),
            verdict: (all > 0).then(|| {
                let together = verdict(held, all, "statements of the paper", self.seeds.len());
                let by_kind = held_by_kind(&experiment.cases).unwrap_or_default();
                let by_scheme = held_by_scheme(&experiment.cases).map(|of| format!(" ({of})"));
                (together + &by_kind + &by_scheme.unwrap_or_default(), held == all)
            }),
            grids,
            notes,
            reports: experiment.cases.iter().filter_map(report).collect(),
            id: anchor(&experiment.scenario),
            ..Section::default()
        }
    }

    /// The cases with fewer different outcomes than seeds.
    fn repeated(&self, experiment: &ExperimentRow) -> Option<String> {
        let seeds = self.seeds.len() as u64;
        let alike = experiment.cases.iter().filter(|case| (1..seeds).contains(&case.distinct)).count();
        (alike > 0).then(|| {
            format!(
                "{alike} of {} cases have fewer different outcomes than seeds: there the seed changes nothing, or little.",
                experiment.cases.len()
            )
        })
    }

    /// The statements that do not hold, over several experiments.
    fn failures(&self) -> Option<Section> {
        let row = |experiment: &ExperimentRow, case: &CaseRow, row: &StatementRow| {
            let name = [experiment.scenario.clone(), point(case), case.scheme.clone()];
            let name: Vec<String> = name.into_iter().filter(|part| !part.is_empty()).collect();
            let by = said_by(row).into();
            let stated = self.stated(row);
            let (measured, holds) = (self.measured(row), self.holds(case, row));
            vec![name.join(", ").into(), self.what(row), by, stated, measured, holds]
        };
        let of_case = |experiment: &ExperimentRow, case: &CaseRow| {
            let failing = case.statements.iter().filter(|statement| !statement.holds);
            failing.map(|statement| row(experiment, case, statement)).collect::<Vec<_>>()
        };
        let of_experiment = |experiment: &ExperimentRow| {
            experiment.cases.iter().flat_map(|case| of_case(experiment, case)).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<Cell>> = self.experiments.iter().flat_map(of_experiment).collect();
        if rows.is_empty() || self.experiments.len() < 2 {
            return None;
        }
        let columns = vec![
            words("experiment"),
            words("what"),
            words("by"),
            numbers("states"),
            numbers("measured"),
            words("holds"),
        ];
        let title = "In all experiments together".to_owned();
        let grid = Grid { title, form: Form::Statements, columns, rows, ..Grid::default() };
        Some(Section { title: "What does not hold".to_owned(), grids: vec![grid], ..Section::default() })
    }

    fn stated_by_paper(&self, experiment: &ExperimentRow) -> Grid {
        let (_, all_in_words) = held(&experiment.cases, StatementRow::is_in_words_of_paper);
        let by_kind = all_in_words > 0;
        let mut own = vec![numbers("states"), numbers("measured"), numbers("theory allows")];
        if by_kind {
            own.insert(0, words("in"));
        }
        self.grid("What the paper states", experiment, &own, StatementRow::is_of_paper, |row| {
            let said = if row.qualitative { "words" } else { "numbers" };
            let allowed: Vec<String> = row
                .theory
                .iter()
                .map(|theory| format::bounded(row.quantity(), theory.bound, theory.value))
                .collect();
            let allowed = if allowed.is_empty() { NONE.to_owned() } else { allowed.join(", ") };
            let said = by_kind.then(|| said.into());
            let figures = [self.stated(row), self.measured(row), allowed.into()];
            iter::once(self.what(row)).chain(said).chain(figures).collect()
        })
    }

    fn stated_by_others(&self, experiment: &ExperimentRow) -> Grid {
        let own = [words("by"), numbers("states"), numbers("measured")];
        let (held, all) = held(&experiment.cases, is_other);
        let title = format!("What else is expected: {held} of {all} hold");
        self.grid(&title, experiment, &own, is_other, |row| {
            vec![self.what(row), row.kind.as_str().into(), self.stated(row), self.measured(row)]
        })
    }

    /// The distance of each case from the optimum in each window.
    fn distances(&self, experiment: &ExperimentRow) -> Grid {
        let (by_point, by_scheme) = distinctions(&experiment.cases);
        let mut columns = vec![words("window")];
        columns.extend(by_point.then_some(words("at")));
        columns.extend(by_scheme.then_some(words("scheme")));
        columns.extend(["mean", "lowest flow", "highest flow", "flows within 5 %"].map(numbers));
        let row = |case: &CaseRow, window: &WindowDistanceRow| -> Vec<Cell> {
            let mut cells: Vec<Cell> = vec![format::period(window.from_s, window.to_s).into()];
            cells.extend(by_point.then(|| point(case).into()));
            cells.extend(by_scheme.then(|| case.scheme.as_str().into()));
            let part = |part: Option<Estimate>| Quantity::Percent.over_seeds(part.as_ref(), self.seeds.len());
            cells.extend(window.distance.shown().map(|figure| part(figure).into()));
            cells
        };
        let known: Vec<(&CaseRow, &CaseOptimumRow)> =
            experiment.cases.iter().filter_map(|case| Some((case, case.optimum.as_ref()?))).collect();
        let of_case = |(case, optimum): &(&CaseRow, &CaseOptimumRow)| {
            optimum.windows.iter().map(|window| row(case, window)).collect::<Vec<_>>()
        };
        let mut which: Vec<String> = known.iter().map(|(_, best)| best.name()).collect();
        which.dedup();
        Grid {
            title: format!("Distance of flows' goodput from the optimum ({})", which.join(", ")),
            form: Form::Figures,
            columns,
            rows: known.iter().flat_map(of_case).collect(),
            ..Grid::default()
        }
    }

    /// A table of statements: their subject, their point and scheme if the experiment has several, further columns, the optimum
    /// if it is known for one of them, and whether they hold.
    fn grid<'a>(
        &self,
        title: &str,
        experiment: &'a ExperimentRow,
        own: &[Column],
        is_in: impl Fn(&StatementRow) -> bool,
        cells: impl Fn(&StatementRow) -> Vec<Cell>,
    ) -> Grid {
        let (by_point, by_scheme) = distinctions(&experiment.cases);
        let mut columns = vec![words("what")];
        columns.extend(by_point.then_some(words("at")));
        columns.extend(by_scheme.then_some(words("scheme")));
        let shown = |case: &'a CaseRow| case.statements.iter().filter(|row| is_in(row));
        let by_optimum = experiment.cases.iter().flat_map(shown).any(|row| row.optimum.is_some());
        columns.extend(own.iter().cloned().chain(by_optimum.then_some(numbers("optimum"))));
        columns.push(words("holds"));
        let mut rows = Vec::new();
        for case in &experiment.cases {
            for row in shown(case) {
                let mut row_cells = cells(row);
                let own = row_cells.split_off(1);
                row_cells.extend(by_point.then(|| point(case).into()));
                row_cells.extend(by_scheme.then(|| case.scheme.as_str().into()));
                row_cells.extend(own);
                row_cells.extend(by_optimum.then(|| optimum(row)));
                row_cells.push(self.holds(case, row));
                rows.push(row_cells);
            }
        }
        Grid { title: title.to_owned(), form: Form::Statements, columns, rows, ..Grid::default() }
    }

    fn what(&self, row: &StatementRow) -> Cell {
        Cell { note: row.source.clone(), ..row.what.as_str().into() }
    }

    /// A value with its tolerance, or the values of the other schemes.
    fn stated(&self, row: &StatementRow) -> Cell {
        let quantity = row.quantity();
        let Some(value) = row.stated else {
            let other = |other: &OtherSchemeRow| {
                let measured = quantity.over_seeds(other.measured.as_ref(), self.seeds.len());
                format!("{} ({measured})", other.scheme)
            };
            return format::compared(row.bound, row.than.iter().map(other)).into();
        };
        let stated = format::bounded(quantity, row.bound, value);
        if row.tolerance == 0.0 {
            return stated.into();
        }
        format!("{stated} {}", format::slack(quantity, row.bound, value, row.tolerance)).into()
    }

    fn measured(&self, row: &StatementRow) -> Cell {
        let (quantity, seeds) = (row.quantity(), self.seeds.len());
        if row.never > 0 {
            return format::settled(row.measured.as_ref(), row.never, seeds).into();
        }
        match (row.stated, row.measured) {
            // If all values are equal, there is no interval that separates the mean from its bound.
            (Some(stated), Some(Estimate { mean, .. }))
                if row.held == 0 && row.values.iter().all(|value| *value == Some(mean)) =>
            {
                quantity.apart(mean, &format::limits(row.bound, stated, row.tolerance)).into()
            }
            _ => quantity.over_seeds(row.measured.as_ref(), seeds).into(),
        }
    }

    /// The number of seeds in which a statement holds; for a paper's statement also whether with fitted values; and the number of
    /// different outcomes, if smaller than the number of seeds.
    fn holds(&self, case: &CaseRow, row: &StatementRow) -> Cell {
        let mark = if row.holds { '✓' } else { '✗' };
        let mut text = match row.values.len() {
            1 => format!("{mark} {}", if row.holds { "holds" } else { "fails" }),
            seeds if (1..seeds as u64).contains(&case.distinct) => {
                format!("{mark} {} of {seeds} ({} different)", row.held, case.distinct)
            }
            seeds => format!("{mark} {} of {seeds}", row.held),
        };
        if row.is_of_paper() && row.holds && !case.fitted.is_empty() {
            text += ", fitted";
        }
        Cell { holds: Some(row.holds), ..text.into() }
    }
}

/// The source of a statement, and for a paper whether it is in words.
fn said_by(row: &StatementRow) -> String {
    if row.qualitative { format!("{PAPER}, in words") } else { row.kind.clone() }
}

fn is_other(row: &StatementRow) -> bool {
    !row.is_of_paper()
}

/// The paper of a scenario: `qsccp` for `qsccp/dumbbell`.
fn paper_of(scenario: &str) -> &str {
    scenario.split_once('/').map_or(scenario, |(paper, _)| paper)
}

/// The counterpart of a figure of a paper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaperFigure {
    /// The name of its scenario.
    pub scenario: String,
    /// Its number in the paper.
    pub number: String,
    /// What it shows.
    pub title: String,
    /// The drawing, an `svg` element.
    pub svg: String,
}

/// Figures side by side, each with its number; nothing without figures.
fn figures_html<'a>(figures: impl Iterator<Item = &'a PaperFigure>) -> String {
    let figure = |one: &PaperFigure| {
        // A figure's title may begin with its number.
        let title = one.title.strip_prefix(&format!("Fig. {}: ", one.number)).unwrap_or(&one.title);
        let (number, title) = (escaped(&one.number), escaped(title));
        format!(
            "<figure><div role=\"img\" aria-label=\"Figure {number}: {title}\">{}</div><figcaption>Fig. {number}: {title}</figcaption></figure>\n",
            one.svg
        )
    };
    let all: String = figures.map(figure).collect();
    if all.is_empty() {
        return all;
    }
    format!(
        "<h3 class=\"kind\">The paper's figures, measured here</h3>\n<div class=\"paper-figures\">\n{all}</div>\n"
    )
}

/// What links of the page name an experiment by.
fn anchor(scenario: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("of-{}", scenario.chars().map(plain).collect::<String>())
}

fn optimum(row: &StatementRow) -> Cell {
    row.optimum.map_or_else(|| NONE.to_owned(), |value| row.quantity().format(value)).into()
}

/// The number of some statements that hold in some cases, and their total number.
fn held<'a>(
    cases: impl IntoIterator<Item = &'a CaseRow>,
    is_meant: impl Fn(&StatementRow) -> bool,
) -> (usize, usize) {
    let statements = cases.into_iter().flat_map(|case| &case.statements).filter(|row| is_meant(row));
    statements.fold((0, 0), |(held, all), row| (held + usize::from(row.holds), all + 1))
}

/// The numbers of papers' statements that hold as numbers, in words, and with fitted values; nothing if all are numbers without
/// fitted values.
fn held_by_kind<'a>(cases: impl IntoIterator<Item = &'a CaseRow> + Clone) -> Option<String> {
    let (numbers, all_numbers) = held(cases.clone(), StatementRow::is_number_of_paper);
    let (in_words, all_in_words) = held(cases.clone(), StatementRow::is_in_words_of_paper);
    let fitted = cases.into_iter().filter(|case| !case.fitted.is_empty());
    let (fitted, _) = held(fitted, StatementRow::is_of_paper);
    let mut text = String::new();
    if all_in_words > 0 {
        let as_numbers = format!("numbers: {numbers} of {all_numbers}, ");
        let as_numbers = if all_numbers > 0 { as_numbers.as_str() } else { "" };
        text += &format!("; {as_numbers}in words: {in_words} of {all_in_words}");
    }
    if fitted > 0 {
        text += &format!("; with fitted values: {fitted} of those that hold");
    }
    (!text.is_empty()).then_some(text)
}

/// The values that were chosen to match the stated figures.
fn fitted_values(experiment: &ExperimentRow) -> Option<String> {
    let mut values: Vec<&str> = Vec::new();
    for value in experiment.cases.iter().flat_map(|case| &case.fitted) {
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    (!values.is_empty()).then(|| {
        format!(
            "Chosen with the stated figures in sight (fitted): {}. A statement that holds with them shows that a consistent set \
             of values exists, not that it is the authors'.",
            values.join(", ")
        )
    })
}

/// The number of papers' statements that hold for each scheme, if there are several schemes. A paper's own scheme comes first in
/// its experiments.
fn held_by_scheme<'a>(cases: impl IntoIterator<Item = &'a CaseRow>) -> Option<String> {
    let mut counts: Vec<(&str, usize, usize)> = Vec::new();
    for case in cases {
        let (held, all) = held([case], StatementRow::is_of_paper);
        match counts.iter_mut().find(|(scheme, ..)| *scheme == case.scheme) {
            Some((_, known_held, known_all)) => {
                (*known_held, *known_all) = (*known_held + held, *known_all + all)
            }
            None => counts.push((&case.scheme, held, all)),
        }
    }
    counts.retain(|(_, _, all)| *all > 0);
    let words = counts.iter().map(|(scheme, held, all)| format!("{scheme} {held} of {all}"));
    (counts.len() > 1).then(|| words.collect::<Vec<_>>().join(", "))
}

fn verdict(held: usize, all: usize, of: &str, seeds: usize) -> String {
    let hold = if held == 1 { "holds" } else { "hold" };
    match seeds {
        1 => format!("{held} of {all} {of} {hold}"),
        _ => format!("{held} of {all} {of} {hold} in all {seeds} seeds"),
    }
}

/// Whether cases differ by point, and whether they differ by scheme.
fn distinctions(cases: &[CaseRow]) -> (bool, bool) {
    let differ = |of: fn(&CaseRow, &CaseRow) -> bool| cases.windows(2).any(|pair| of(&pair[0], &pair[1]));
    (differ(|a, b| a.set != b.set), differ(|a, b| a.scheme != b.scheme))
}

/// The point of a case: `ratio = 0.4`.
fn point(case: &CaseRow) -> String {
    let each = case.set.iter().map(|set| set.strip_prefix("axis.").unwrap_or(set).replacen('=', " = ", 1));
    each.collect::<Vec<_>>().join(", ")
}

fn name_of(case: &CaseRow) -> String {
    let point = point(case);
    if point.is_empty() { case.scheme.clone() } else { format!("{point}, {}", case.scheme) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, samples};

    fn row(measured: Option<f64>, holds: bool) -> ExpectationRow {
        ExpectationRow {
            what: "goodput of class EF".to_owned(),
            source: "paper: Fig. 7".to_owned(),
            unit: "bit/s".to_owned(),
            stated: Some(1e6),
            measured,
            tolerance: 0.05,
            holds: Some(holds),
            ..ExpectationRow::default()
        }
    }

    fn document(statements: Vec<StatementRow>, seeds: u64) -> ReproductionDocument {
        let case = CaseRow { scheme: "qsccp".to_owned(), statements, ..CaseRow::default() };
        let experiment =
            ExperimentRow { scenario: "paper/one".to_owned(), cases: vec![case], ..ExperimentRow::default() };
        ReproductionDocument {
            seeds: (1..=seeds).collect(),
            experiments: vec![experiment],
            ..ReproductionDocument::default()
        }
    }

    /// The line of a text that begins with these words, with single blanks between words.
    fn line(text: &str, begin: &str) -> String {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(begin))
            .unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_page_has_each_figure_in_the_section_of_its_scenario() {
        let document = samples::reproduction(&sample::dumbbell(8, 50));
        let figure = |scenario: &str, number: &str| PaperFigure {
            scenario: scenario.to_owned(),
            number: number.to_owned(),
            title: format!("Fig. {number}: goodput & <delay>"),
            svg: format!("<svg id=\"drawn-{number}\"></svg>"),
        };
        let page = document.html_with(&[figure("sample/single", "9"), figure("sample/swept", "8")]);
        let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        let [swept, single] = ["sample-swept", "sample-single"].map(|name| at(&format!("id=\"of-{name}\"")));
        assert!(swept < at("drawn-8") && at("drawn-8") < single && single < at("drawn-9"));
        assert!(page.contains("Fig. 9: goodput &amp; &lt;delay&gt;"));
        assert!(!document.html().contains("paper-figures\""));
    }

    #[test]
    fn failures_come_first_and_are_folded_where_they_are_many() {
        let mut document = samples::reproduction(&sample::dumbbell(8, 50));
        let page = document.html();
        let at = |page: &str, text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(at(&page, "By paper") < at(&page, "What does not hold"));
        assert!(at(&page, "What does not hold") < at(&page, "id=\"of-sample-swept\""));
        assert!(!page.contains("<summary class=\"kind\">"));
        let case = document.experiments[0].cases[0].clone();
        document.experiments[0].cases.extend(vec![case; 20]);
        assert!(document.html().contains("<summary class=\"kind\">sample/swept: "));
    }

    #[test]
    fn a_statement_holds_if_it_does_in_every_seed() {
        let rows = [row(Some(1e6), true), row(Some(1.1e6), false), row(None, false)];
        let statement = StatementRow::of(&rows.iter().collect::<Vec<_>>(), Vec::new(), Vec::new(), None);
        assert_eq!((statement.held, statement.holds, statement.is_of_paper()), (1, false, true));
        assert_eq!(statement.values, [Some(1e6), Some(1.1e6), None]);
        assert_eq!(statement.measured.map(|measured| (measured.mean, measured.n)), Some((1.05e6, 2)));
        let document = document(vec![statement], 3);
        assert_eq!(document.held(), (0, 1));
        let text = document.text(None);
        let said = "goodput of class EF 1 Mb/s ± 5 % 1.05 ± 0.64 Mb/s (2 of 3) – ✗ 1 of 3";
        assert_eq!(line(&text, "goodput"), said);
        assert!(text.contains("\n0 of 1 statements of the paper hold in all 3 seeds\n"), "{text}");
    }

    #[test]
    fn what_papers_say_in_words_and_with_fitted_values_is_counted_apart() {
        let in_words = ExpectationRow {
            source: "paper: section V, a great rate; assumed: half of the link".to_owned(),
            bound: Relation::AtLeast,
            ..row(Some(1e6), true)
        };
        let tolerant = ExpectationRow {
            source: "paper: Table 3; assumed: within a tenth".to_owned(),
            ..row(Some(1e6), false)
        };
        let rows = [in_words, tolerant, row(Some(1e6), true)];
        let statements = rows.iter().map(|row| StatementRow::of(&[row, row], Vec::new(), Vec::new(), None));
        let mut document = document(statements.collect(), 2);
        assert_eq!(document.held(), (2, 3));
        let said = |document: &ReproductionDocument| document.text(None);
        assert!(said(&document).contains("hold in all 2 seeds; numbers: 1 of 2, in words: 1 of 1"));
        let case = &mut document.experiments[0].cases[0];
        (case.fitted, case.distinct) = (vec!["link.A-B.delay = 3 ms".to_owned()], 1);
        let text = said(&document);
        assert!(text.contains("; with fitted values: 2 of those that hold"), "{text}");
        assert!(text.contains("(fitted): link.A-B.delay = 3 ms. A statement that holds"), "{text}");
        assert!(text.contains("✓ 2 of 2 (1 different), fitted"), "{text}");
        assert!(text.contains("1 of 1 cases have fewer different outcomes than seeds"), "{text}");
    }

    #[test]
    fn what_fails_by_little_and_what_never_settles_is_shown_as_such() {
        let statement = |rows: &[ExpectationRow]| {
            StatementRow::of(&rows.iter().collect::<Vec<_>>(), Vec::new(), Vec::new(), None)
        };
        let close =
            ExpectationRow { bound: Relation::AtMost, tolerance: 0.0, ..row(Some(1_000_020.0), false) };
        let text = document(vec![statement(&[close.clone(), close])], 2).text(None);
        assert_eq!(line(&text, "goodput"), "goodput of class EF ≤ 1 Mb/s 1.00002 Mb/s – ✗ 0 of 2");
        let settle = |time, never| ExpectationRow {
            what: "time to settle".to_owned(),
            unit: "s".to_owned(),
            stated: Some(2.0),
            never,
            ..row(Some(time), false)
        };
        let said = |rows: &[ExpectationRow]| {
            line(&document(vec![statement(rows)], rows.len() as u64).text(None), "time to settle")
        };
        assert_eq!(said(&[settle(9.0, true)]), "time to settle 2.00 s ± 5 % never – ✗ fails");
        let some = said(&[settle(9.0, true), settle(9.0, false)]);
        assert_eq!(some, "time to settle 2.00 s ± 5 % 9.00 s (never in 1 of 2) – ✗ 0 of 2");
    }

    #[test]
    fn of_several_schemes_it_says_how_many_statements_hold_of_each() {
        let statement = |holds| StatementRow::of(&[&row(Some(1e6), holds)], Vec::new(), Vec::new(), None);
        let mut document = document(vec![statement(true), statement(true)], 1);
        assert!(!document.text(None).contains("by scheme"));
        let other =
            CaseRow { scheme: "pcon".to_owned(), statements: vec![statement(false)], ..CaseRow::default() };
        document.experiments[0].cases.push(other);
        let text = document.text(None);
        assert!(text.contains("2 of 3 statements of the paper hold (qsccp 2 of 2, pcon 0 of 1)"), "{text}");
        document.experiments.push(document.experiments[0].clone());
        let text = document.text(None);
        assert!(text.ends_with("by scheme: qsccp 4 of 4, pcon 0 of 2\n"), "{text}");
        assert!(document.html().contains("qsccp 4 of 4, pcon 0 of 2"));
    }

    #[test]
    fn what_fails_of_several_experiments_is_named_and_counted_in_the_end() {
        let statement = |what: &str, source: &str, holds: bool| {
            let row =
                ExpectationRow { what: what.to_owned(), source: source.to_owned(), ..row(Some(1e6), holds) };
            StatementRow::of(&[&row], Vec::new(), Vec::new(), None)
        };
        let one = vec![
            statement("stated", "paper: Fig. 1", true),
            statement("derived", "theory: by hand", false),
            statement("believed", "assumed: so", true),
        ];
        let mut document = document(one.clone(), 1);
        assert_eq!((document.held(), document.others_held()), ((1, 1), (1, 2)));
        assert!(!document.text(None).contains("What does not hold"), "its table is right there");
        document.experiments.push(document.experiments[0].clone());
        document.experiments[1].scenario = "paper/two".to_owned();
        let text = document.text(None);
        let (_, failures) = text.split_once("\nWhat does not hold\n").unwrap();
        for said in ["paper/one, qsccp derived theory 1 Mb/s", "paper/two, qsccp derived theory 1 Mb/s"] {
            assert!(line(failures, &said[..9]).starts_with(said), "{failures}");
        }
        assert!(!failures.contains("believed") && !failures.contains("stated "), "{failures}");
        let last = "\n2 of 2 statements of papers hold\n2 of 4 other expectations hold\n";
        assert!(failures.ends_with(last), "{failures}");
        let html = document.html();
        assert!(html.contains("other expectations") && html.contains("2 of 4 hold"));
    }

    #[test]
    fn what_theory_allows_stands_beside_what_the_paper_states() {
        let theory = TheoryRow { value: 0.99e6, bound: Relation::AtMost, source: "theory: 99 %".to_owned() };
        let row = row(Some(0.98e6), true);
        let statement = StatementRow::of(&[&row], Vec::new(), vec![theory], Some(0.985e6));
        let document = document(vec![statement], 1);
        let said = "goodput of class EF 1 Mb/s ± 5 % 980 kb/s ≤ 990 kb/s 985 kb/s ✓ holds";
        assert_eq!(line(&document.text(None), "goodput"), said);
        let cell = "<td class=\"number\" data-label=\"optimum\">985 kb/s</td>";
        assert!(document.html().contains(cell), "{}", document.html());
    }

    #[test]
    fn schemes_are_compared_seed_by_seed_and_the_table_says_what_the_others_have() {
        let compared = |value: f64| ExpectationRow {
            stated: None,
            tolerance: 0.0,
            bound: Relation::MoreThan,
            than: vec!["pcon".to_owned(), "omcc-rf".to_owned()],
            holds: None,
            ..row(Some(value), false)
        };
        let rows = [compared(3e6), compared(1e6), compared(2e6)];
        let statement = |pcon: &[Option<f64>], bound| {
            let rows = rows.clone().map(|row| ExpectationRow { bound, ..row });
            let others = vec![
                OtherSchemeRow::of("pcon", pcon.to_vec()),
                OtherSchemeRow::of("omcc-rf", vec![Some(0.5e6); 3]),
            ];
            StatementRow::of(&rows.iter().collect::<Vec<_>>(), others, Vec::new(), None)
        };
        // The means are equal; the runs with the same seed decide.
        let pcon = [Some(2e6), Some(1e6), Some(3e6)];
        let of = |row: &StatementRow| (row.held, row.holds, row.stated);
        assert_eq!(of(&statement(&pcon, Relation::MoreThan)), (1, false, None));
        assert_eq!(of(&statement(&pcon, Relation::LessThan)), (0, false, None), "not less than omcc-rf");
        assert_eq!(of(&statement(&[Some(0.9e6); 3], Relation::MoreThan)), (3, true, None));
        assert_eq!(of(&statement(&[Some(0.9e6), None, None], Relation::MoreThan)), (1, false, None));
        let text =
            document(vec![statement(&[Some(0.9e6), Some(0.9e6), None], Relation::MoreThan)], 3).text(None);
        let said = "goodput of class EF words more than pcon (900 kb/s (2 of 3)), omcc-rf (500 kb/s) 2 ± 2.5 Mb/s – ✗ 2 of 3";
        assert_eq!(line(&text, "goodput"), said);
    }

    #[test]
    fn without_an_optimum_there_is_no_column_for_it() {
        let row = row(Some(0.98e6), true);
        let text = document(vec![StatementRow::of(&[&row], Vec::new(), Vec::new(), None)], 1).text(None);
        assert!(!text.contains("optimum"), "{text}");
    }

    #[test]
    fn each_window_says_how_far_the_seeds_are_from_the_optimum() {
        let distance = |mean| DistanceRow {
            mean: Some(mean),
            largest: Some(0.2),
            lowest: Some(-0.2),
            highest: Some(0.1),
            within_5_percent: Some(1.0),
        };
        let row = row(Some(1e6), true);
        let mut document = document(vec![StatementRow::of(&[&row], Vec::new(), Vec::new(), None)], 2);
        document.experiments[0].cases[0].optimum = Some(CaseOptimumRow {
            objective: "link-fair".to_owned(),
            utilisation: 0.99,
            windows: vec![
                WindowDistanceRow::of((20.0, 120.0), &[distance(0.01), distance(0.03)]),
                WindowDistanceRow::of((5.0, 6.0), &[distance(0.01), DistanceRow::default()]),
            ],
            note: "It knows nothing of greed.".to_owned(),
        });
        let text = document.text(None);
        let title = "Distance of flows' goodput from the optimum (link-fair, 99 % of links)";
        assert!(text.contains(&format!("\n{title}\n")), "{text}");
        assert!(text.contains("\nIt knows nothing of greed.\n"), "{text}");
        assert_eq!(line(&text, "20 s to"), "20 s to 120 s 2 ± 13 % -20 % 10 % 100 %");
        let one_knows = "5 s to 6 s 1 % (1 of 2) -20 % (1 of 2) 10 % (1 of 2) 100 % (1 of 2)";
        assert_eq!(line(&text, "5 s to"), one_knows);
        assert!(document.html().contains("<th scope=\"row\">20 s to 120 s</th>"));
    }

    #[test]
    fn what_others_state_is_a_table_of_its_own_and_no_verdict() {
        let others =
            ExpectationRow { source: "assumed: some round trips".to_owned(), ..row(Some(1e6), false) };
        let text = document(vec![StatementRow::of(&[&others], Vec::new(), Vec::new(), None)], 1).text(None);
        assert!(
            !text.contains("What the paper states\n")
                && text.contains("\nWhat else is expected: 0 of 1 hold\n"),
            "{text}"
        );
        assert_eq!(line(&text, "goodput"), "goodput of class EF assumed 1 Mb/s ± 5 % 1 Mb/s ✗ fails");
        assert!(text.contains("No paper states anything"), "{text}");
    }

    #[test]
    fn points_and_schemes_have_columns_where_there_are_several() {
        let document = samples::reproduction(&sample::dumbbell(8, 300));
        let text = document.text(None);
        let (swept, single) = text.split_once("sample/single: ").unwrap();
        let (single, _) = single.split_once("What does not hold").unwrap();
        assert!(swept.contains(" at ") && swept.contains("rate = 20 Mb/s"), "{swept}");
        assert!(!single.contains("rate = "), "{single}");
        assert!(!text.contains(" scheme "), "{text}");
        let (held, all) = document.held();
        assert!(
            text.contains(&format!("\n\n{held} of {all} statements of papers hold in all 3 seeds\n")),
            "{text}"
        );
        let page = document.html();
        // By paper, what does not hold, and the experiments.
        assert_eq!(page.matches("<section").count(), 2 + document.experiments.len());
        assert_eq!(page.matches(">rate = 10 Mb/s, qsccp</a>").count(), 1);
    }
}
