//! A sweep: one scenario at every point of some axes, under several schemes, with several seeds.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_core::units::Span;
use weir_experiment::scheme_for;
use weir_measure::RunDocument;
use weir_results::plot::styles_of;
use weir_results::{StyleRow, SweepAxis, SweepDocument, SweepRow, write_sweep};
use weir_schemes::SCHEMES;

use crate::error::StudyError;
use crate::execute::Failure;
use crate::optimum::ScenarioOptimum;
use crate::parallel::map;
use crate::point::Point;
use crate::program::{CommandLine, VERSION, window_text};
use crate::run::{Key, Run};
use crate::seeds::Seeds;
use crate::source::{Source, refuse_idle, stem};
use crate::store::RunStore;
use crate::study::{PlannedRun, Study};
use crate::vary::{Axis, Varied, is_fixed, key};
use crate::view::{Note, Outcome, View};

/// A part of a sweep, for one of several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The index of the part, 1 to `of`.
    pub index: usize,
    /// The number of parts.
    pub of: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parts {
            Some((index, of)) if 1 <= index && index <= of => Ok(Shard { index, of }),
            _ => Err(format!("`{text}`: a part is written 2/8, the second of eight")),
        }
    }
}

/// The key of a scenario's own scheme.
const OWN_SCHEME: &str = "scheme.default";

/// The largest number of runs in a sweep.
const MOST_RUNS: usize = 1_000_000;

/// The parameters of a sweep.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// The scenario.
    pub source: Source,
    /// The axes that the user gives.
    pub vary: Vec<Axis>,
    /// Whether their values are paired.
    pub zip: bool,
    /// The schemes; empty: the scenario's own.
    pub schemes: Vec<String>,
    /// The seeds.
    pub seeds: Seeds,
    /// The settings for every point.
    pub set: Vec<String>,
    /// The measuring windows besides the scenario's own.
    pub windows: Vec<(Span, Span)>,
    /// The part that is made here; `None` for all.
    pub shard: Option<Shard>,
}

/// A sweep with its points, which are parsed and checked.
#[derive(Debug)]
pub struct Sweep {
    request: SweepRequest,
    varied: Varied,
    /// The runs of all parts. Those of one point and scheme are adjacent.
    study: Study,
    points: Vec<Arc<Point>>,
}

impl SweepRequest {
    /// Parses the scenario at every point.
    ///
    /// The axes of the scenario are swept too, unless the user gives or sets them.
    ///
    /// # Errors
    /// Returns an error if an axis, a value, a scheme or a window is invalid, or if a setting changes
    /// nothing.
    pub fn plan(mut self) -> Result<Sweep, StudyError> {
        refuse_set_and_varied(&self)?;
        let base = self.source.read(&self.set)?;
        if let Some(axis) = self.vary.iter().find(|axis| axis.key == OWN_SCHEME) {
            let schemes = axis.values.join(",");
            return Err(StudyError::Invalid(format!(
                "--vary {OWN_SCHEME}: a sweep has schemes beside its axes\n  = write --schemes {schemes}"
            )));
        }
        if self.schemes.is_empty() {
            self.schemes.push(base.scheme.clone());
        }
        let varied = Varied::new(self.vary.clone(), self.zip, own_axes(&base.axes, &self)?)?;
        let values = varied.points();
        let count = values.len().saturating_mul(self.schemes.len()).saturating_mul(self.seeds.list().len());
        if count > MOST_RUNS {
            return Err(StudyError::Invalid(format!(
                "these are {count} runs: a sweep has at most {MOST_RUNS}"
            )));
        }
        let read = |point: &Vec<String>| {
            // If an axis of the scenario and the user set the same key, the user's value counts.
            let picked = varied.set(point);
            let (given, own) = picked.split_at(self.vary.len());
            let set = [own, &self.set, given].concat();
            Point::new(self.source.clone(), set, self.windows.clone()).map(Arc::new)
        };
        let points: Vec<Arc<Point>> = map(&values, read).into_iter().collect::<Result<_, _>>()?;
        for point in &points {
            for scheme in &self.schemes {
                scheme_for(&point.scenario, scheme)?;
            }
        }
        let schemes = || self.schemes.iter().map(String::as_str);
        let set = points.iter().flat_map(|point| ScenarioOptimum::unread(&point.set));
        refuse_idle(set, schemes(), points.iter().map(|point| &*point.scenario))?;
        let mut runs = Vec::new();
        for (point, values) in points.iter().zip(&values) {
            for scheme in schemes() {
                for seed in self.seeds.list() {
                    let run = Run::new(point, scheme, *seed);
                    runs.push(PlannedRun { run, point: values.iter().cloned().map(Some).collect() });
                }
            }
        }
        check_some(&runs)?;
        let axes = varied.axes().to_vec();
        let study = Study::new(format!("sweep-{}", stem(self.source.name())), axes, runs);
        Ok(Sweep { request: self, varied, study, points })
    }

    /// Returns the command, without options for the place and the making of results; empty if the scenario
    /// has no file.
    fn command(&self) -> CommandLine {
        if !self.source.is_named() {
            return CommandLine::none();
        }
        let vary = |axis: &Axis| format!("{}={}", axis.key, axis.values.join(","));
        CommandLine::new("sweep", self.source.name())
            .option("--vary", self.vary.iter().map(vary))
            .flag("--zip", self.zip)
            .option("--schemes", [self.schemes.join(",")])
            .option("--seeds", [&self.seeds])
            .option("--set", &self.set)
            .option("--window", self.windows.iter().map(window_text))
    }
}

/// Returns the scenario's axes that are not given or set, by name or by path.
fn own_axes(axes: &[weir_scenario::Axis], request: &SweepRequest) -> Result<Vec<Axis>, StudyError> {
    let varied = request.vary.iter().map(|axis| axis.key.as_str());
    let keys = varied.chain(request.set.iter().map(|set| key(set)));
    let of = |axis: &weir_scenario::Axis| Axis::new(&format!("axis.{}", axis.name), axis.values.clone());
    axes.iter().filter(|axis| !is_fixed(axis, keys.clone())).map(of).collect()
}

/// Rejects a setting of a varied key, because it would change nothing.
fn refuse_set_and_varied(request: &SweepRequest) -> Result<(), StudyError> {
    let is_varied = |set: &&String| request.vary.iter().any(|axis| axis.key == key(set));
    match request.set.iter().find(is_varied) {
        Some(set) => Err(StudyError::Invalid(format!(
            "--set {set}: --vary gives this key its values\n  = leave out one of the two"
        ))),
        None => Ok(()),
    }
}

/// Checks that some point can be run at all. Points that cannot are reported with the results of the others.
fn check_some(runs: &[PlannedRun]) -> Result<(), StudyError> {
    let mut first_error = None;
    let mut last: Option<&Run> = None;
    for planned in runs {
        // One seed of each point and scheme suffices.
        if last.is_some_and(|last| planned.run.differs_in_seed(last)) {
            continue;
        }
        last = Some(&planned.run);
        match planned.run.check() {
            Ok(()) => return Ok(()),
            Err(error) => drop(first_error.get_or_insert(error)),
        }
    }
    first_error.map_or(Ok(()), Err)
}

impl View for Sweep {
    fn study(&self) -> &Study {
        &self.study
    }

    /// Returns all runs, or those of a part.
    fn runs(&self) -> Arc<[Run]> {
        self.planned().map(|planned| planned.run.clone()).collect()
    }

    fn command(&self) -> CommandLine {
        self.request.command()
    }

    fn tolerates_failures(&self) -> bool {
        true
    }

    fn report(&self, _: usize) -> Option<&Path> {
        None
    }

    fn outcome(
        &self,
        store: &RunStore,
        failures: &[Failure],
        dir: Option<&Path>,
        note: Note<'_>,
    ) -> Result<Outcome, StudyError> {
        let document = self.document(store, failures);
        if let Some(dir) = dir {
            note(write_sweep(&document, dir).map_err(StudyError::from));
        }
        Ok(Outcome::Sweep(Box::new(document)))
    }
}

impl Sweep {
    /// Returns the runs that are made here, with their points.
    pub fn planned(&self) -> impl Iterator<Item = &PlannedRun> {
        let Shard { index, of } = self.request.shard.unwrap_or(Shard { index: 1, of: 1 });
        let per_point = self.request.schemes.len() * self.request.seeds.list().len();
        let runs = self.study.runs().iter().enumerate();
        // The parts rotate from point to point, so that no part has all runs of the slowest scheme.
        runs.filter(move |(at, _)| (at + at / per_point) % of == index - 1).map(|(_, planned)| planned)
    }

    /// Returns the parameters. The schemes are those that run.
    pub fn request(&self) -> &SweepRequest {
        &self.request
    }

    /// Returns the axes and their points.
    pub fn varied(&self) -> &Varied {
        &self.varied
    }

    /// Returns the points, in the order of [`Varied::points`].
    pub fn points(&self) -> &[Arc<Point>] {
        &self.points
    }

    /// Returns means, intervals and numbers of distinct outcomes of the kept runs.
    fn document(&self, store: &RunStore, failures: &[Failure]) -> SweepDocument {
        let base = &self.points[0].scenario;
        let axis = |axis: &Axis| SweepAxis::new(axis.key.as_str(), axis.values.clone());
        let head = SweepDocument {
            version: VERSION.to_owned(),
            command: self.request.command().text(),
            scenario: self.request.source.name().to_owned(),
            title: base.title.clone(),
            source: base.source.clone(),
            set: self.request.set.clone(),
            axes: self.varied.axes().iter().map(axis).collect(),
            schemes: self.request.schemes.clone(),
            seeds: self.request.seeds.list().to_vec(),
            styles: styles(self.request.schemes.iter().map(String::as_str)),
            ..SweepDocument::default()
        };
        SweepDocument::of(head, self.rows(store, failures))
    }

    /// Returns a row for each point and scheme that has a run.
    fn rows<'a>(
        &'a self,
        store: &'a RunStore,
        failures: &'a [Failure],
    ) -> impl Iterator<Item = SweepRow> + 'a {
        let seeds = self.request.seeds.list().len();
        let failed: BTreeMap<&Key, &Failure> =
            failures.iter().map(|failure| (&failure.key, failure)).collect();
        self.study.runs().chunks(seeds).filter_map(move |group| {
            let first = group.first()?;
            let documents: Vec<RunDocument> = group
                .iter()
                .filter_map(|planned| {
                    let mut record = store.find(&planned.run)?;
                    planned.run.point.add_optimum(&mut record.document);
                    Some(record.document)
                })
                .collect();
            let of_run = |planned: &PlannedRun| failed.get(&planned.run.request().key()).copied();
            // Most sweeps have no failure, and need no key here.
            let failed: Vec<&Failure> = match failed.is_empty() {
                true => Vec::new(),
                false => group.iter().filter_map(of_run).collect(),
            };
            if documents.is_empty() && failed.is_empty() {
                return None;
            }
            let values: Vec<String> = first.point.iter().flatten().cloned().collect();
            let set = self.varied.set(&values);
            let mut row = SweepRow::of(set, values, &first.run.scheme, &documents);
            row.failures = failed.len() as u64;
            row.failure = failed.first().map(|failure| failure.error.to_string());
            Some(row)
        })
    }

    /// Parses a condition on a column of the runs: `scheme=qsccp`, `seed=3`, `key=0f3a` (the first digits),
    /// or an axis.
    ///
    /// # Errors
    /// Returns an error if there is no such column or value.
    pub fn filter(&self, text: &str) -> Result<Filter, StudyError> {
        let axes = self.varied.axes();
        let names = || ["scheme", "seed", "key"].into_iter().chain(axes.iter().map(|axis| axis.key.as_str()));
        let wrong = || {
            let names: Vec<&str> = names().collect();
            StudyError::Invalid(format!(
                "--where {text}: this names no column with `=` and a value\n  = columns: {}",
                names.join(", ")
            ))
        };
        let (column, value) = text.split_once('=').ok_or_else(wrong)?;
        let (column, value) = (column.trim(), value.trim().to_owned());
        let number =
            || value.parse().map_err(|_| StudyError::Invalid(format!("--where {text}: a seed is a number")));
        let without = |values: &dyn fmt::Display| {
            StudyError::Invalid(format!(
                "--where {text}: no run of this sweep has this {column}\n  = it has: {values}"
            ))
        };
        Ok(match column {
            "scheme" if !self.request.schemes.contains(&value) => {
                return Err(without(&self.request.schemes.join(", ")));
            }
            "scheme" => Filter::Scheme(value),
            "seed" if !self.request.seeds.list().contains(&number()?) => {
                return Err(without(&self.request.seeds));
            }
            "seed" => Filter::Seed(number()?),
            "key" => Filter::Key(value),
            _ => {
                let at = axes.iter().position(|axis| axis.key == column).ok_or_else(wrong)?;
                let value = axes[at].find(&value).ok_or_else(|| {
                    StudyError::Invalid(format!(
                        "--where {text}: this axis has no such value\n  = its values: {}",
                        axes[at].values.join(", ")
                    ))
                })?;
                Filter::Axis(at, value.to_owned())
            }
        })
    }

    /// Estimates how long some of its runs take and how much they store. It makes the beginning of a run of
    /// each scheme, which takes at most `trial`.
    ///
    /// # Errors
    /// Returns an error if a run cannot be made.
    /// A run that cannot be made.
    pub fn estimate(&self, runs: &[&PlannedRun], trial: Duration) -> Result<Estimate, StudyError> {
        let tables = self.study.tables()?;
        let mut estimate = Estimate { cpu_s: 0.0, bytes: 0 };
        for scheme in &self.request.schemes {
            let of_scheme = || runs.iter().filter(|planned| planned.run.scheme == *scheme);
            let Some(first) = of_scheme().next() else { continue };
            let pace = first.run.pace(trial)?;
            let cost = first.run.point.cost() as f64;
            let all: f64 = of_scheme().map(|planned| planned.run.point.cost() as f64 / cost).sum();
            estimate.cpu_s += all * pace.cpu_s;
            let record = pace.record.to_bytes().len() as u64;
            let rows = tables.csv_bytes(&first.row(Ok(pace.record)));
            estimate.bytes += of_scheme().count() as u64 * (record + rows);
        }
        Ok(estimate)
    }
}

/// A condition on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Its scheme.
    Scheme(String),
    /// Its seed.
    Seed(u64),
    /// The first digits of its key.
    Key(String),
    /// The value of an axis, by its index.
    Axis(usize, String),
}

impl Filter {
    /// Returns whether a run satisfies the condition.
    pub fn holds(&self, planned: &PlannedRun) -> bool {
        match self {
            Filter::Scheme(scheme) => planned.run.scheme == *scheme,
            Filter::Seed(seed) => planned.run.seed == *seed,
            Filter::Key(digits) => planned.run.request().key().as_str().starts_with(digits),
            Filter::Axis(at, value) => planned.point.get(*at).and_then(Option::as_ref) == Some(value),
        }
    }
}

/// An estimate of the cost of runs.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// The processor time, s.
    pub cpu_s: f64,
    /// The bytes of the records and tables.
    pub bytes: u64,
}

/// The styles of some schemes in figures, by their places in the list of all.
pub(crate) fn styles<'a>(schemes: impl IntoIterator<Item = &'a str>) -> Vec<StyleRow> {
    styles_of(schemes, &crate::plot::scheme_styles())
}

/// Returns the schemes for these names: `all` is every scheme.
///
/// # Errors
/// Returns an error if a scheme is given twice, or `all` with others.
pub fn schemes(given: &[String]) -> Result<Vec<String>, StudyError> {
    const ALL: &str = "all";
    if given == [ALL] {
        return Ok(SCHEMES.iter().map(|scheme| scheme.name.to_owned()).collect());
    }
    for (at, scheme) in given.iter().enumerate() {
        if scheme == ALL {
            return Err(StudyError::Invalid(format!("--schemes: {ALL} is every scheme; name it alone")));
        }
        if given[..at].contains(scheme) {
            return Err(StudyError::Invalid(format!("--schemes: {scheme} is given twice")));
        }
    }
    Ok(given.to_vec())
}
