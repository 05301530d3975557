//! The figures of the pages that compare schemes, as the rows of one table ([`schema::PUBLISHED`]): converts a summary of runs to
//! rows, and rows to the tables of a page.

use crate::comparison::{INTERVALS, seeds};
use crate::format::named;
use crate::matrix;
use crate::model::{
    LeftOutRow, MatrixFigure, MatrixRow, SummaryDocument, SummaryPeriod, SummaryPoint, SummaryRow,
    SummaryScenario,
};
use crate::schema;
use crate::sheet::{Grid, Sheet};
use crate::summary::COLUMNS;
use serde::{Deserialize, Serialize};
use weir_measure::Estimate;

/// A row of the table. Its fields are the columns of [`schema::PUBLISHED`], in their order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PublishedRow {
    /// The page that shows it.
    pub page: String,
    /// The scenario's name.
    pub scenario: String,
    /// The `--set` arguments that select the point.
    pub point: String,
    /// The scheme's name; empty for a figure of the optimum.
    pub scheme: String,
    /// The variant of the scheme's parameters.
    pub variant: Option<String>,
    /// Beginning of the window, s.
    pub from_s: Option<f64>,
    /// End of the window, s.
    pub to_s: Option<f64>,
    /// The measured quantity.
    pub metric: String,
    /// Unit of the mean.
    pub unit: String,
    /// The mean over the seeds.
    pub mean: Option<f64>,
    /// Half of its 95 % confidence interval.
    pub ci95: Option<f64>,
    /// The number of seeds with a value.
    pub n: Option<u64>,
    /// The number of different values among them.
    pub distinct: Option<u64>,
    /// Whether goodputs settle in no seed.
    pub never: bool,
    /// The reason for a missing value.
    pub why: Option<String>,
    /// The seeds that were run.
    pub seeds: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// Digest of the golden figures of the scheme on the scenario at this commit.
    pub golden: Option<String>,
}

/// The code that produced the figures of a scheme in a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stamp {
    /// The commit that the program was built from.
    pub commit: String,
    /// Digest of the golden figures of the scheme on the scenario at this commit.
    pub golden: Option<String>,
}

/// Facts about a scenario that its rows do not contain.
#[derive(Clone, Debug, Default)]
pub struct ScenarioFacts {
    /// Its title.
    pub title: String,
    /// The fixed schemes of some of its flows.
    pub others: Vec<String>,
}

/// A page that shows the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedPage {
    /// Schemes by scenarios, with one table for each figure: the means over windows and points.
    Matrix,
    /// Each scenario with its windows, or with the points of its axes.
    Comparison,
}

/// The mark of a cell that is older than the code.
pub const OLDER: &str = "†";

/// The introduction of the sentences on the matrix.
const BEST: &str = "In how many scenarios each scheme is the best, and where the first one is not:";

/// Separator of the arguments that select a point.
const AND: &str = "; ";

/// A metric of the matrix and its field in a row.
type OfMatrix = (&'static str, fn(&mut MatrixRow) -> &mut MatrixFigure);

const MATRIX: [OfMatrix; 7] = [
    ("share_of_optimum", |row| &mut row.share),
    ("jain", |row| &mut row.jain),
    ("jain_in_class", |row| &mut row.jain_in_class),
    ("delay_over_propagation", |row| &mut row.delay_over_propagation),
    ("lost_share", |row| &mut row.lost),
    ("settle", |row| &mut row.settle_s),
    ("slowdown_mean", |row| &mut row.slowdown),
];

/// A metric of the comparison and its field in a row.
type OfComparison = (&'static str, fn(&mut SummaryRow) -> &mut Option<Estimate>);

const GOODPUT: &str = "goodput";
const SETTLE: &str = "settle";

const COMPARISON: [OfComparison; 12] = [
    (GOODPUT, |row| &mut row.goodput_bps),
    ("goodput_ratio", |row| &mut row.ratio),
    ("utilisation", |row| &mut row.utilisation),
    ("jain", |row| &mut row.jain),
    ("jain_in_class", |row| &mut row.jain_in_class),
    ("delay_mean", |row| &mut row.delay_ms.mean),
    ("delay_p99", |row| &mut row.delay_ms.p99),
    ("lost", |row| &mut row.lost),
    ("retransmitted", |row| &mut row.retransmitted),
    ("completion_mean", |row| &mut row.completion_mean_s),
    ("completion", |row| &mut row.completion_s),
    (SETTLE, |row| &mut row.settle_s),
];

/// A metric of the optimum and its field in a window.
type OfOptimum = (&'static str, fn(&mut SummaryPeriod) -> &mut Option<f64>);

const BOUNDS: [OfOptimum; 2] = [
    ("optimum", |period| &mut period.optimum_bps),
    ("optimum_unshared", |period| &mut period.unshared_optimum_bps),
];

/// Reads the table from CSV.
pub fn read_published(csv: &str) -> Result<Vec<PublishedRow>, csv::Error> {
    csv::Reader::from_reader(csv.as_bytes()).deserialize().collect()
}

/// The table as CSV.
pub fn write_published(rows: &[PublishedRow]) -> Result<String, csv::Error> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in rows {
        csv.serialize(row)?;
    }
    let bytes = csv.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl PublishedRow {
    /// A row for a figure; the other fields are empty.
    fn of(metric: &str, measured: Option<Estimate>) -> PublishedRow {
        let unit = schema::PUBLISHED_METRICS.iter().find(|(name, ..)| *name == metric);
        PublishedRow {
            metric: metric.to_owned(),
            unit: unit.map_or_else(String::new, |(_, unit, _)| (*unit).to_owned()),
            mean: measured.map(|all| all.mean),
            ci95: measured.and_then(|all| all.ci95),
            n: measured.map(|all| all.n),
            distinct: measured.map(|all| all.distinct).filter(|distinct| *distinct > 0),
            ..PublishedRow::default()
        }
    }

    fn measured(&self) -> Option<Estimate> {
        Some(Estimate {
            mean: self.mean?,
            ci95: self.ci95,
            n: self.n.unwrap_or_default(),
            distinct: self.distinct.unwrap_or_default(),
        })
    }

    fn figure(&self) -> MatrixFigure {
        MatrixFigure {
            measured: self.measured(),
            why: self.why.clone(),
            never: self.never,
            ..MatrixFigure::default()
        }
    }

    fn set(&self) -> Vec<String> {
        self.point.split(AND).filter(|set| !set.is_empty()).map(str::to_owned).collect()
    }
}

// ---- From runs to rows

impl PublishedPage {
    /// The name of the page in the rows.
    pub fn name(self) -> &'static str {
        match self {
            PublishedPage::Matrix => "matrix",
            PublishedPage::Comparison => "comparison",
        }
    }

    /// Converts a summary of runs to the rows of this page. `stamp` gets the names of a scenario and of a scheme, which is empty
    /// for the optimum.
    pub fn rows(self, document: &SummaryDocument, stamp: impl Fn(&str, &str) -> Stamp) -> Vec<PublishedRow> {
        let seeds = seeds(&document.seeds);
        let mut all = Vec::new();
        for scenario in &document.scenarios {
            let mut rows = match self {
                PublishedPage::Matrix => of_matrix(scenario),
                PublishedPage::Comparison => of_comparison(scenario),
            };
            for row in &mut rows {
                let Stamp { commit, golden } = stamp(&scenario.scenario, &row.scheme);
                (row.commit, row.golden) = (commit, golden);
                row.page = self.name().to_owned();
                row.scenario.clone_from(&scenario.scenario);
                row.seeds.clone_from(&seeds);
                row.variant = variant(scenario, &row.scheme);
            }
            all.append(&mut rows);
        }
        all
    }
}

/// The variant of a scheme in a scenario: `qsccp` for `pcon (qsccp)`.
fn variant(scenario: &SummaryScenario, scheme: &str) -> Option<String> {
    let of = |one: &String| Some(one.strip_prefix(scheme)?.strip_prefix(" (")?.strip_suffix(')')?.to_owned());
    scenario.variants.iter().find_map(of)
}

fn of_matrix(scenario: &SummaryScenario) -> Vec<PublishedRow> {
    let mut rows = Vec::new();
    for mut row in scenario.matrix.iter().cloned() {
        for (metric, of) in MATRIX {
            let MatrixFigure { measured, why, never, .. } = of(&mut row).clone();
            let scheme = row.scheme.clone();
            rows.push(PublishedRow { scheme, why, never, ..PublishedRow::of(metric, measured) });
        }
    }
    rows
}

/// Rows as the page shows them: of every window, or of the last window of each point of the axes.
fn of_comparison(scenario: &SummaryScenario) -> Vec<PublishedRow> {
    let mut rows = Vec::new();
    for point in &scenario.points {
        let first = if scenario.points.len() > 1 { point.periods.len().saturating_sub(1) } else { 0 };
        let mut of_point: Vec<PublishedRow> = point.periods[first..].iter().flat_map(of_period).collect();
        of_point.extend(point.left_out.iter().map(|left| PublishedRow {
            scheme: left.scheme.clone(),
            why: Some(left.why.clone()),
            ..PublishedRow::of(GOODPUT, None)
        }));
        for row in &mut of_point {
            row.point = point.set.join(AND);
        }
        rows.append(&mut of_point);
    }
    rows
}

fn of_period(period: &SummaryPeriod) -> Vec<PublishedRow> {
    let mut rows = Vec::new();
    for (metric, of) in BOUNDS {
        let bound = *of(&mut period.clone());
        rows.extend(bound.map(|bps| PublishedRow { mean: Some(bps), ..PublishedRow::of(metric, None) }));
    }
    for mut row in period.rows.iter().cloned() {
        for (metric, of) in COMPARISON {
            let Some(measured) = *of(&mut row) else { continue };
            let never = metric == SETTLE && row.never_settles();
            let scheme = row.scheme.clone();
            rows.push(PublishedRow { scheme, never, ..PublishedRow::of(metric, Some(measured)) });
        }
    }
    for row in &mut rows {
        (row.from_s, row.to_s) = (Some(period.from_s), Some(period.to_s));
    }
    rows
}

// ---- From rows to the page

impl PublishedPage {
    /// The summary that the rows of this page describe, with the schemes in this order.
    pub fn document(
        self,
        rows: &[PublishedRow],
        schemes: &[&str],
        seeds: Vec<u64>,
        facts: impl Fn(&str) -> ScenarioFacts,
    ) -> SummaryDocument {
        let mut scenarios: Vec<SummaryScenario> = Vec::new();
        let rows = || rows.iter().filter(|row| row.page == self.name());
        // The order of windows comes from the schemes, because not all windows have an optimum.
        let (of_schemes, of_optimum): (Vec<_>, Vec<_>) = rows().partition(|row| !row.scheme.is_empty());
        for row in of_schemes.into_iter().chain(of_optimum) {
            let scenario = place(
                &mut scenarios,
                |one| one.scenario == row.scenario,
                || {
                    let ScenarioFacts { title, others } = facts(&row.scenario);
                    SummaryScenario {
                        scenario: row.scenario.clone(),
                        title,
                        others,
                        ..SummaryScenario::default()
                    }
                },
            );
            let with_variant = row.variant.as_ref().map(|variant| named(&row.scheme, Some(variant)));
            scenario.variants.extend(with_variant.filter(|one| !scenario.variants.contains(one)));
            match self {
                PublishedPage::Matrix => put_into_matrix(scenario, row),
                PublishedPage::Comparison => put_into_points(scenario, row),
            }
        }
        let is_there = |scheme: &&&str| rows().any(|row| row.scheme == **scheme);
        SummaryDocument {
            schema: SummaryDocument::SCHEMA,
            seeds,
            schemes: schemes.iter().filter(is_there).map(|scheme| (*scheme).to_owned()).collect(),
            scenarios,
            ..SummaryDocument::default()
        }
    }

    /// The tables of the page in GitHub's Markdown, with a description of the figures. Figures of a scheme in a scenario get a
    /// mark if `older` says that they are older than the code.
    pub fn markdown(self, document: &SummaryDocument, older: impl Fn(&str, &str) -> bool) -> String {
        match self {
            PublishedPage::Matrix => {
                let answer = matrix::answer(document).into_iter().map(|sentence| format!("- {sentence}"));
                let answer = answer.collect::<Vec<_>>().join("\n");
                let about = [BEST, &answer, matrix::MEASURES_IN_WORDS, INTERVALS];
                let mut parts = about.map(str::to_owned).to_vec();
                parts.extend(matrix::classes_note(document));
                let mut grids = matrix::grids(document);
                grids.iter_mut().for_each(|grid| mark_columns(grid, &older));
                parts.extend(grids.iter().map(Grid::markdown));
                parts.join("\n\n")
            }
            PublishedPage::Comparison => {
                let mut sections = document.sections();
                for section in &mut sections {
                    section.grids.iter_mut().for_each(|grid| mark_rows(grid, &section.title, &older));
                }
                let tables = Sheet { sections, ..Sheet::default() }.markdown();
                format!("{COLUMNS}\n\n{INTERVALS}\n\n{tables}")
            }
        }
    }
}

/// The matching item, which is created if there is none.
fn place<T>(all: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[at]
}

fn put_into_matrix(scenario: &mut SummaryScenario, row: &PublishedRow) {
    let of_scheme = place(
        &mut scenario.matrix,
        |one| one.scheme == row.scheme,
        || MatrixRow { scheme: row.scheme.clone(), ..MatrixRow::default() },
    );
    if let Some((_, of)) = MATRIX.iter().find(|(metric, _)| *metric == row.metric) {
        *of(of_scheme) = row.figure();
    }
}

fn put_into_points(scenario: &mut SummaryScenario, row: &PublishedRow) {
    let set = row.set();
    let point = place(
        &mut scenario.points,
        |one| one.set == set,
        || SummaryPoint { set: set.clone(), ..SummaryPoint::default() },
    );
    let (Some(from_s), Some(to_s)) = (row.from_s, row.to_s) else {
        let why = row.why.clone().unwrap_or_default();
        return point.left_out.push(LeftOutRow { scheme: row.scheme.clone(), why });
    };
    let period = place(
        &mut point.periods,
        |one| (one.from_s, one.to_s) == (from_s, to_s),
        || SummaryPeriod { from_s, to_s, ..SummaryPeriod::default() },
    );
    if let Some((_, of)) = BOUNDS.iter().find(|(metric, _)| *metric == row.metric) {
        *of(period) = row.mean;
        return;
    }
    let of_scheme = place(
        &mut period.rows,
        |one| one.scheme == row.scheme,
        || SummaryRow { scheme: row.scheme.clone(), ..SummaryRow::default() },
    );
    if let Some((_, of)) = COMPARISON.iter().find(|(metric, _)| *metric == row.metric) {
        *of(of_scheme) = row.measured();
    }
    if row.never {
        of_scheme.never_settled = row.n.unwrap_or_default();
    }
}

/// Marks cells of a table with one row for each scenario and one column for each scheme.
fn mark_columns(grid: &mut Grid, older: impl Fn(&str, &str) -> bool) {
    for row in &mut grid.rows {
        let scenario = row.first().map_or_else(String::new, |cell| cell.text.clone());
        for (column, cell) in grid.columns.iter().zip(row).skip(1) {
            if older(&scenario, matrix::unmarked(&column.title)) {
                cell.text = format!("{} {OLDER}", cell.text);
            }
        }
    }
}

/// Marks rows of a table with a column `scheme`, at their first figure.
fn mark_rows(grid: &mut Grid, scenario: &str, older: impl Fn(&str, &str) -> bool) {
    let Some(at) = grid.columns.iter().position(|column| column.title == "scheme") else { return };
    for row in &mut grid.rows {
        let is_older = row.get(at).is_some_and(|scheme| older(scenario, matrix::unmarked(&scheme.text)));
        if let Some(figure) = row.get_mut(at + 1).filter(|_| is_older) {
            figure.text = format!("{} {OLDER}", figure.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, samples};

    const SCHEMES: [&str; 2] = ["qsccp", "fixed"];
    const PAGES: [PublishedPage; 2] = [PublishedPage::Matrix, PublishedPage::Comparison];

    /// A summary with axes, a scheme that cannot run, and a time in which goodputs never settled.
    fn summary() -> SummaryDocument {
        let mut document = samples::comparison(&sample::dumbbell(8, 300));
        let scenario = &mut document.scenarios[1];
        scenario.variants = vec!["fixed (wide)".to_owned()];
        scenario.matrix[1].settle_s.never = true;
        let period = scenario.points[0].periods.last_mut().unwrap();
        period.optimum_bps = Some(1e7);
        let settled = Estimate { mean: 30.0, ci95: Some(0.0), n: 3, distinct: 1 };
        (period.rows[1].settle_s, period.rows[1].never_settled) = (Some(settled), 3);
        document
    }

    fn stamp(scenario: &str, scheme: &str) -> Stamp {
        Stamp { commit: "0123456789ab".to_owned(), golden: Some(format!("{scenario}, {scheme}")) }
    }

    fn rows() -> Vec<PublishedRow> {
        PAGES.iter().flat_map(|page| page.rows(&summary(), stamp)).collect()
    }

    fn again(page: PublishedPage, rows: &[PublishedRow]) -> SummaryDocument {
        let facts = |name: &str| {
            let all = summary().scenarios;
            let scenario = all.iter().find(|one| one.scenario == name).unwrap();
            ScenarioFacts { title: scenario.title.clone(), others: scenario.others.clone() }
        };
        let mut document = page.document(rows, &SCHEMES, summary().seeds, facts);
        document.without_classes = summary().without_classes;
        document
    }

    #[test]
    fn the_table_is_read_as_it_was_written_and_has_the_columns_of_the_schema() {
        let csv = write_published(&rows()).unwrap();
        assert_eq!(read_published(&csv).unwrap(), rows());
        let columns: Vec<&str> = schema::PUBLISHED.columns.iter().map(|column| &*column.name).collect();
        assert_eq!(csv.lines().next().unwrap(), columns.join(","));
        assert!(read_published("page,scenario\nmatrix,one\n").is_err());
    }

    #[test]
    fn a_page_of_the_rows_has_the_tables_of_the_runs() {
        for page in PAGES {
            let (of_runs, of_rows) = (summary(), again(page, &rows()));
            let never = |_: &str, _: &str| false;
            assert_eq!(page.markdown(&of_rows, never), page.markdown(&of_runs, never));
        }
        let text =
            PublishedPage::Comparison.markdown(&again(PublishedPage::Comparison, &rows()), |_, _| false);
        assert!(text.contains(" | never |") && text.contains(" | optimum | 10 Mb/s |"), "{text}");
        assert!(text.contains("cannot run here") && text.contains("fixed (wide)"), "{text}");
    }

    #[test]
    fn rows_have_units_stamps_and_reasons() {
        for row in rows() {
            assert!(!row.unit.is_empty(), "{}", row.metric);
            assert_ne!(row.mean.is_some(), row.why.is_some(), "{row:?}");
            assert_eq!((&*row.commit, &*row.seeds), ("0123456789ab", "1 to 3"));
            assert_eq!(row.golden, Some(format!("{}, {}", row.scenario, row.scheme)));
        }
        let of_page = |page: PublishedPage| rows().into_iter().filter(move |row| row.page == page.name());
        assert_eq!(of_page(PublishedPage::Matrix).filter(|row| row.never).count(), 1);
        assert!(of_page(PublishedPage::Comparison).any(|row| !row.point.is_empty()));
    }

    #[test]
    fn what_is_older_has_a_mark_in_each_cell_of_the_matrix_and_in_each_row_of_the_comparison() {
        let marked = |page: PublishedPage, line: &str| {
            let text = page.markdown(&again(page, &rows()), |scenario, scheme| {
                (scenario, scheme) == ("one/single", "fixed")
            });
            let lines = text.lines().filter(|one| one.starts_with(line) && one.contains(OLDER));
            (lines.count(), text.matches(OLDER).count())
        };
        assert_eq!(marked(PublishedPage::Matrix, "| one/single |"), (5, 5));
        let (rows, marks) = marked(PublishedPage::Comparison, "|  | fixed° | ");
        assert!(rows > 1 && rows == marks, "{rows} rows, {marks} marks");
    }
}
