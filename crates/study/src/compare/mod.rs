//! Compares scenarios under several schemes.

mod scenarios;
mod settle;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::units::Span;
use weir_experiment::scheme_for;
use weir_measure::{IN_LAB, Report, RunDocument};
use weir_results::{ComparisonDocument, SummaryDocument, pooled, write_comparison, write_comparisons};

use crate::error::StudyError;
use crate::execute::Failure;
use crate::optimum::ScenarioOptimum;
use crate::papers;
use crate::point::Point;
use crate::policy;
use crate::program::{CommandLine, VERSION, window_text};
use crate::run::{Elsewhere, Record};
use crate::seeds::Seeds;
use crate::source::{Source, refuse_idle, stem};
use crate::store::RunStore;
use crate::study::{PlannedRun, Study, union_of_axes};
use crate::sweep;
use crate::view::{Note, Outcome, View};
use scenarios::{ComparedPoint, ComparedScenario};

/// The parameters of a comparison.
#[derive(Clone, Debug)]
pub struct CompareRequest {
    /// The names of scenarios, papers or files, as the user gives them; empty: every experiment of every
    /// paper.
    pub names: Vec<String>,
    /// The schemes, as returned by [`sweep::schemes`].
    pub schemes: Vec<String>,
    /// The seeds.
    pub seeds: Seeds,
    /// The settings for all scenarios.
    pub set: Vec<String>,
    /// The measuring windows besides the scenarios' own.
    pub windows: Vec<(Span, Span)>,
    /// Another world in which each run of one scenario is made too, in addition to the simulator.
    pub beside: Option<Arc<dyn Elsewhere>>,
}

/// A comparison with its scenarios, which are parsed and checked.
#[derive(Debug)]
pub struct Comparison {
    request: CompareRequest,
    scenarios: Vec<ComparedScenario>,
    /// Whether a single scenario without axes is compared.
    is_single: bool,
    with_series: bool,
    study: Study,
    /// The folder of each run's report, within the folder of the results.
    reports: Vec<PathBuf>,
}

impl CompareRequest {
    /// Parses the scenarios, each at every point of its axes. With `with_series`, plots and reports can be
    /// made of the runs of the first seed.
    ///
    /// # Errors
    /// Returns an error if a name, a scenario or a setting is invalid, if no scheme can run any of the
    /// scenarios, or if a setting changes nothing.
    pub fn plan(self, with_series: bool) -> Result<Comparison, StudyError> {
        let names = if self.names.is_empty() {
            papers::all_experiments()
        } else {
            papers::experiments(&self.names).map_err(StudyError::Invalid)?
        };
        let single = match &names[..] {
            [one] => self.single(one)?,
            _ => None,
        };
        let is_single = single.is_some();
        if self.beside.is_some() && !is_single {
            return Err(StudyError::Invalid(
                "another world is compared with the simulator on one scenario at one point of its axes\n  = name one scenario, and set its axes: --set axis.NAME=VALUE".to_owned(),
            ));
        }
        let scenarios = match single {
            Some(single) => vec![single],
            None => self.several(&names)?,
        };
        let points = || scenarios.iter().flat_map(|one| &one.points);
        let schemes = self.schemes.iter().map(String::as_str);
        refuse_idle(
            ScenarioOptimum::unread(&self.set),
            schemes,
            points().map(|compared| &*compared.point.scenario),
        )?;
        let axes = union_of_axes(points().map(|compared| &compared.axes[..]));
        let (mut runs, mut reports) = (Vec::new(), Vec::new());
        for scenario in &scenarios {
            for (at, run) in scenario.runs(&self, with_series) {
                let compared = &scenario.points[at];
                reports.push(Path::new(&compared.folder).join(run.folder()));
                runs.push(PlannedRun { run, point: axes.values(&compared.axes) });
            }
        }
        let name = match &self.names[..] {
            [] => "compare-all".to_owned(),
            [one] => format!("compare-{}", stem(one)),
            _ => "compare-several".to_owned(),
        };
        let study = Study::new(name, axes.into_axes(), runs);
        Ok(Comparison { request: self, scenarios, is_single, with_series, study, reports })
    }

    /// Returns the one scenario, if it has no axes or if its axes are set.
    fn single(&self, name: &str) -> Result<Option<ComparedScenario>, StudyError> {
        let source = Source::find(name)?;
        let axes = source.read(&self.set)?.axes;
        let is_set = |axis: &weir_scenario::Axis| {
            let key = format!("axis.{}=", axis.name);
            self.set.iter().any(|set| set.replace(' ', "").starts_with(&key))
        };
        if !axes.iter().all(is_set) {
            return Ok(None);
        }
        let points = vec![ComparedPoint::as_it_stands(self, &source)?];
        Ok(Some(ComparedScenario { axes: Vec::new(), points }))
    }

    fn several(&self, names: &[String]) -> Result<Vec<ComparedScenario>, StudyError> {
        let load =
            |name: &String| ComparedScenario::load(self, name).map_err(|error| in_scenario(name, error));
        let scenarios: Vec<ComparedScenario> = names.iter().map(load).collect::<Result<_, _>>()?;
        let points = || scenarios.iter().flat_map(|one| &one.points);
        let can_run = points().any(|compared| !compared.schemes.is_empty());
        let why = points().flat_map(|compared| &compared.left_out).next().map(|row| &row.why);
        match (can_run, why) {
            (false, Some(why)) => {
                Err(StudyError::Invalid(format!("no scheme can run any of these scenarios: {why}")))
            }
            _ => Ok(scenarios),
        }
    }

    /// Returns a scenario with the common settings, at a point of its axes.
    fn point(&self, source: &Source, axes: &[String]) -> Result<Point, StudyError> {
        // If an axis of the scenario and the user set the same key, the user's value counts.
        let set = [axes, &self.set].concat();
        let point = Point::new(source.clone(), set, self.windows.clone())?;
        for scheme in &self.schemes {
            scheme_for(&point.scenario, scheme)?;
        }
        // The rates of the optimum determine how long runs take.
        point.optimum();
        Ok(point)
    }

    /// Returns the worlds in which runs are made; `None` is the simulator.
    fn worlds(&self) -> Vec<Option<&Arc<dyn Elsewhere>>> {
        std::iter::once(None).chain(self.beside.as_ref().map(Some)).collect()
    }

    /// Returns the command, without options for the place of results.
    pub fn command(&self) -> CommandLine {
        let all = sweep::schemes(&["all".to_owned()]).unwrap_or_default();
        let schemes = if self.schemes == all { "all".to_owned() } else { self.schemes.join(",") };
        CommandLine::of("compare")
            .words(&self.names)
            .flag("--all", self.names.is_empty())
            .option("--schemes", [schemes])
            .option("--seeds", [&self.seeds])
            .option("--set", &self.set)
            .option("--window", self.windows.iter().map(window_text))
            .flag("--lab", self.beside.is_some())
    }
}

/// Returns the folder of the reports of a scheme, or of a scheme in the lab.
fn folder_of(contestant: &str) -> String {
    contestant.replace(IN_LAB, "-lab")
}

/// Adds the scenario's name to an error, because an error of `--set` does not have it.
fn in_scenario(name: &str, error: StudyError) -> StudyError {
    let said = error.to_string();
    if said.contains(name) { error } else { StudyError::Invalid(format!("{name}: {said}")) }
}

impl View for Comparison {
    fn study(&self) -> &Study {
        &self.study
    }

    fn command(&self) -> CommandLine {
        self.request.command()
    }

    fn report(&self, run: usize) -> Option<&Path> {
        self.study.runs()[run].run.with_series.then(|| self.reports[run].as_path())
    }

    fn outcome(
        &self,
        store: &RunStore,
        _: &[Failure],
        dir: Option<&Path>,
        note: Note<'_>,
    ) -> Result<Outcome, StudyError> {
        let pages = Pages { request: &self.request, store, dir: dir.filter(|_| self.with_series), note };
        if let (true, Some(one)) = (self.is_single, self.scenarios.first()) {
            let compared = &one.points[0];
            let worlds = self.request.worlds();
            let contestants =
                compared.schemes.iter().flat_map(|scheme| worlds.iter().map(move |world| (scheme, *world)));
            let records = contestants
                .map(|(scheme, world)| {
                    compared.records(&self.request, (scheme, world), store, self.with_series)
                })
                .collect::<Result<_, _>>()?;
            let document = pages.comparison(&compared.point, records, pages.dir, |_| None);
            return Ok(Outcome::Comparison(Box::new(document)));
        }
        let scenarios = self.scenarios.iter().map(|scenario| scenario.row(&pages));
        let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
        let mut periods = scenarios.iter().flat_map(|one| &one.points).flat_map(|point| &point.periods);
        let has_weights = periods.any(|period| !period.weights.is_empty());
        let document = SummaryDocument {
            schema: SummaryDocument::SCHEMA,
            command: self.request.command().text(),
            version: VERSION.to_owned(),
            seeds: self.request.seeds.list().to_vec(),
            schemes: self.request.schemes.clone(),
            without_classes: policy::without_classes(self.request.schemes.iter().filter(|_| has_weights)),
            scenarios,
        };
        if let Some(dir) = pages.dir {
            note(write_comparisons(&document, dir).map_err(StudyError::from));
        }
        Ok(Outcome::Summary(Box::new(document)))
    }
}

/// The destination of the pages of a comparison.
struct Pages<'a> {
    request: &'a CompareRequest,
    store: &'a RunStore,
    dir: Option<&'a Path>,
    note: Note<'a>,
}

impl Pages<'_> {
    /// Makes the comparison at a point, and writes it into the folder. The reports of schemes are in folders
    /// in it, or at `elsewhere`.
    fn comparison(
        &self,
        point: &Point,
        mut records: Vec<Vec<Record>>,
        dir: Option<&Path>,
        elsewhere: impl Fn(&str) -> Option<String>,
    ) -> ComparisonDocument {
        records.iter_mut().flatten().for_each(|run| point.add_optimum(&mut run.document));
        let mut reports: Vec<Report> = records.iter().flatten().filter_map(Record::report).collect();
        let documents = |runs: Vec<Record>| runs.into_iter().map(|run| run.document).collect();
        let schemes: Vec<Vec<RunDocument>> = records.into_iter().map(documents).collect();
        // Series are of the first seed, distributions of all.
        for (report, runs) in reports.iter_mut().zip(&schemes) {
            report.document.distributions = pooled(runs.iter().flat_map(|run| &run.distributions));
        }
        let mut document = ComparisonDocument::of(&point.scenario.title, &schemes);
        document.version = VERSION.to_owned();
        document.command = self.request.command().text();
        document.set.clone_from(&point.set);
        document.styles = sweep::styles(document.schemes.iter().map(|one| one.scheme.as_str()));
        for compared in &mut document.schemes {
            let scheme = compared.scheme.trim_end_matches(IN_LAB);
            compared.knows_no_classes = !policy::without_classes([&scheme.to_owned()]).is_empty();
        }
        if let Some(dir) = dir {
            for compared in &mut document.schemes {
                let own = || format!("{}/report.html", folder_of(&compared.scheme));
                compared.report = Some(elsewhere(&compared.scheme).unwrap_or_else(own));
            }
            (self.note)(write_comparison(&document, &reports, dir).map_err(StudyError::from));
        }
        document
    }
}
