//! The experiments of papers: compares their statements with measurements and with theory.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use weir_core::units::Span;
use weir_experiment::{relation, scheme_for};
use weir_measure::{DistanceRow, ExpectationRow, OptimumRow, ProbeValue};
use weir_results::{
    CaseOptimumRow, CaseRow, ExperimentRow, OtherSchemeRow, PaperFigure, ReproductionDocument, StatementRow,
    TheoryRow, WindowDistanceRow, doubts, is_said_by, kind_of_source, write_reproduction_with,
};
use weir_scenario::{Expectation, Scenario, Stated};

use crate::beside::Beside;
use crate::error::StudyError;
use crate::execute::Failure;
use crate::optimum::ScenarioOptimum;
use crate::point::Point;
use crate::program::{CommandLine, VERSION};
use crate::run::{Elsewhere, Record, Run};
use crate::seeds::Seeds;
use crate::source::{Source, stem};
use crate::store::RunStore;
use crate::study::{PlannedRun, Study, union_of_axes};
use crate::view::{Note, Outcome, View};
use crate::{papers, plot};

/// The word for every scheme, in place of a scheme's name.
const ALL: &str = "all";

/// The kind of source of a value that was chosen with the stated figures in sight.
const FITTED: &str = "fitted";

/// The settings that make every seed except seed 1 a different run, even if nothing else is random: delays a
/// few per cent from the stated ones, and starts up to 20 ms later.
const JITTER: [&str; 2] = ["defaults.link.delay_jitter=0.02", "defaults.flow.start_jitter=20ms"];

/// The parameters of a reproduction.
#[derive(Clone, Debug)]
pub struct ReproduceRequest {
    /// The names of papers, experiments or files, as the user gives them; empty: all papers.
    pub names: Vec<String>,
    /// The seeds.
    pub seeds: Seeds,
    /// Selects the statements about this scheme; `all`: those about every scheme, including those of
    /// expectations for any scheme (`*`).
    pub scheme: Option<String>,
    /// Whether all seeds except seed 1 run with delays and starts that differ a little from the stated ones.
    pub jitter: bool,
    /// The world that makes the runs, if it is not the simulator. Its runs differ by themselves.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Whether the experiments are those that a paper repeats in an emulated network, under its own scheme.
    pub emulates: bool,
}

/// Returns the name of a reproduction of these papers or experiments, which is that of its folder.
pub fn reproduction_name(names: &[String]) -> String {
    match names {
        [one] => format!("reproduce-{}", stem(one)),
        _ => "reproduce".to_owned(),
    }
}

/// The experiments, parsed and checked.
#[derive(Debug)]
pub struct Reproduction {
    request: ReproduceRequest,
    experiments: Vec<PaperExperiment>,
    with_series: bool,
    study: Study,
    /// The folder of each run's report, within the folder of the results.
    reports: Vec<String>,
}

/// An experiment with its runs.
#[derive(Debug)]
struct PaperExperiment {
    /// One for each point of its axes.
    points: Vec<PaperPoint>,
}

/// An experiment at one point of its axes.
#[derive(Debug)]
struct PaperPoint {
    /// The point. Its optimum includes the values of expectations.
    point: Arc<Point>,
    /// The same with [`JITTER`].
    jittered: Arc<Point>,
    /// The schemes with statements, and after them those that are only compared with.
    schemes: Vec<String>,
    /// The number of schemes with statements.
    stated: usize,
    /// The comparisons of these statements.
    beside: Beside,
}

/// A point under one scheme.
struct Case<'a> {
    point: &'a PaperPoint,
    scheme: &'a str,
    /// Whether there is a statement about it. If not, it is only compared with, and not shown.
    is_stated: bool,
    /// Its folder within that of the page.
    folder: String,
}

/// The results of a run that a case uses.
struct CaseRun {
    /// The values that distinguish outcomes: events, packets put on links, and each flow's goodput.
    outcome: (u64, u64, Vec<u64>),
    /// Whether it was made in the lab, and why its figures are not those of the network.
    lab: bool,
    doubts: Vec<String>,
    expectations: Vec<ExpectationRow>,
    /// The values to which statements about other schemes compare.
    beside: Vec<ProbeValue>,
    /// The distance from the optimum in each of the scenario's windows, or in the whole run if there are
    /// none; empty if it is not known.
    distances: Vec<DistanceRow>,
}

impl CaseRun {
    /// Returns the row of an expectation about its scheme, whose index is `at`. Other worlds leave some rows
    /// out.
    fn row(&self, at: usize, expectation: &Expectation) -> Option<&ExpectationRow> {
        let is_meant =
            |row: &&ExpectationRow| row.what == expectation.what && row.source == expectation.source;
        self.expectations.get(at).filter(is_meant).or_else(|| self.expectations.iter().find(is_meant))
    }

    fn of(point: &Point, mut record: Record, run: &Run) -> CaseRun {
        point.add_optimum(&mut record.document);
        let beside = run.probes.iter().map(|probe| record.probe(probe)).collect();
        let document = record.document;
        let windows = document.windows.iter().map(|window| &window.optimum);
        let distance = |optimum: &Option<OptimumRow>| Some(optimum.as_ref()?.distance);
        let distances = windows.chain([&document.optimum]).filter_map(distance).collect();
        let goodputs = document.flows.iter().map(|flow| flow.goodput_bps.to_bits()).collect();
        let outcome = (document.events, document.packet_hops, goodputs);
        let (lab, doubts) = (document.lab.is_some(), doubts(&document).collect());
        CaseRun { outcome, lab, doubts, expectations: document.expectations, beside, distances }
    }
}

impl ReproduceRequest {
    /// Parses the experiments. With `with_series`, reports can be made of the runs of the first seed.
    ///
    /// # Errors
    /// Returns an error if a name, an experiment or a setting is invalid, or if there are no statements.
    pub fn plan(self, with_series: bool) -> Result<Reproduction, StudyError> {
        let names = papers::experiments(&self.names).map_err(StudyError::Invalid)?;
        let experiments = names.iter().map(|name| PaperExperiment::load(name, &self));
        let experiments = experiments.collect::<Result<Vec<_>, _>>()?;
        // Some experiments of a paper may have no statement about a scheme. An experiment that is named
        // should have one.
        let silent =
            experiments.iter().zip(&names).filter(|(one, _)| one.cases().is_empty()).map(|(_, name)| name);
        let silent: Vec<String> = silent.cloned().collect();
        if silent.len() == names.len() || silent.iter().any(|name| self.names.contains(name)) {
            return Err(StudyError::Invalid(nothing_stated(&silent, self.scheme.as_deref())));
        }
        let experiments: Vec<PaperExperiment> =
            experiments.into_iter().filter(|one| !one.cases().is_empty()).collect();
        let axes =
            union_of_axes(experiments.iter().flat_map(|one| &one.points).map(|point| &point.point.set[..]));
        let (mut runs, mut reports) = (Vec::new(), Vec::new());
        for case in experiments.iter().flat_map(PaperExperiment::cases) {
            for run in case.runs(&self, with_series) {
                reports.push(case.folder.clone());
                runs.push(PlannedRun { run, point: axes.values(&case.point.point.set) });
            }
        }
        let study = Study::new(self.name(), axes.into_axes(), runs);
        Ok(Reproduction { request: self, experiments, with_series, study, reports })
    }

    /// Returns its name, which is that of its folder.
    pub fn name(&self) -> String {
        reproduction_name(&self.names)
    }

    /// Returns the command, without options for the place of results.
    pub fn command(&self) -> CommandLine {
        CommandLine::of("reproduce")
            .words(&self.names)
            .option("--seeds", [&self.seeds])
            .option("--scheme", &self.scheme)
            .flag("--no-jitter", !self.jitter)
            .flag("--lab", self.elsewhere.is_some())
    }
}

impl View for Reproduction {
    fn study(&self) -> &Study {
        &self.study
    }

    fn command(&self) -> CommandLine {
        self.request.command()
    }

    fn report(&self, run: usize) -> Option<&Path> {
        self.study.runs()[run].run.with_series.then(|| Path::new(&self.reports[run]))
    }

    fn outcome(
        &self,
        store: &RunStore,
        _: &[Failure],
        dir: Option<&Path>,
        note: Note<'_>,
    ) -> Result<Outcome, StudyError> {
        let experiments = self.experiments.iter().map(|experiment| self.experiment_row(experiment, store));
        let document = ReproductionDocument {
            schema: ReproductionDocument::SCHEMA,
            version: VERSION.to_owned(),
            command: self.request.command().text(),
            seeds: self.request.seeds.list().to_vec(),
            experiments: experiments.collect::<Result<_, _>>()?,
        };
        if let Some(dir) = dir {
            let mut figures = Vec::new();
            for experiment in &self.experiments {
                note(self.write_figures(experiment, store, dir, note, &mut figures));
            }
            note(write_reproduction_with(&document, &figures, dir).map_err(StudyError::from));
        }
        Ok(Outcome::Reproduction(Box::new(document)))
    }
}

impl Reproduction {
    /// Returns the parameters.
    pub fn request(&self) -> &ReproduceRequest {
        &self.request
    }

    /// Returns the number of experiments.
    pub fn experiments(&self) -> usize {
        self.experiments.len()
    }

    /// Returns the number of cases: a case is a point of the axes of an experiment under a scheme.
    pub fn cases(&self) -> usize {
        self.experiments.iter().map(|one| one.cases().len()).sum()
    }

    /// Draws the figures of the paper that an experiment has: those that its runs can have. They are added to `drawn`, for the
    /// page.
    fn write_figures(
        &self,
        experiment: &PaperExperiment,
        store: &RunStore,
        dir: &Path,
        note: Note<'_>,
        drawn: &mut Vec<PaperFigure>,
    ) -> Result<(), StudyError> {
        let scenario = &experiment.points[0].point.scenario;
        if scenario.figures.is_empty() {
            return Ok(());
        }
        let mut records = Vec::new();
        for case in experiment.cases() {
            let point: Vec<String> = case.point.point.set.iter().map(|set| value_of(set)).collect();
            for run in case.runs(&self.request, self.with_series) {
                let record = store.get(&run)?;
                let named = Run::new(&case.point.point, case.scheme, run.seed);
                let report = run.with_series.then(|| dir.join(&case.folder));
                records.push((record.named(&named), point.clone(), report));
            }
        }
        let folder = dir.join(FIGURES);
        std::fs::create_dir_all(&folder).map_err(|error| StudyError::File { path: folder.clone(), error })?;
        for one in plot::of_paper(scenario, records, self.request.emulates) {
            let stem = format!("{}-fig-{}", papers::folder(&scenario.name, &[]), in_file_name(&one.number));
            let figure = match one.figure {
                Ok(figure) => figure,
                Err(error) => {
                    note(Err(StudyError::Invalid(format!(
                        "{}, Fig. {}: {error}",
                        scenario.name, one.number
                    ))));
                    continue;
                }
            };
            let drawing = weir_figure::draw(&figure, weir_figure::Width::OneColumn);
            weir_results::write_atomically(&folder.join(format!("{stem}.svg")), drawing.svg())?;
            weir_results::write_atomically(&folder.join(format!("{stem}.pdf")), drawing.pdf())?;
            drawn.push(PaperFigure {
                scenario: scenario.name.clone(),
                number: one.number,
                title: if figure.title.is_empty() { scenario.title.clone() } else { figure.title },
                svg: drawing.svg_without_font(),
            });
        }
        Ok(())
    }

    fn experiment_row(
        &self,
        experiment: &PaperExperiment,
        store: &RunStore,
    ) -> Result<ExperimentRow, StudyError> {
        let cases = experiment.cases();
        let outcomes = cases.iter().map(|case| case.outcomes(&self.request, self.with_series, store));
        let outcomes: Vec<Vec<CaseRun>> = outcomes.collect::<Result<_, _>>()?;
        let all: Vec<(&Case<'_>, &[CaseRun])> =
            cases.iter().zip(outcomes.iter().map(Vec::as_slice)).collect();
        let shown = all.iter().filter(|(case, _)| case.is_stated);
        Ok(experiment.row(shown.map(|(case, runs)| case.row(runs, &all, self.with_series)).collect()))
    }
}

/// The folder of the figures, in the folder of the results.
const FIGURES: &str = "figures";

/// The value of a setting `axis.rate=10 Mb/s`.
fn value_of(set: &str) -> String {
    set.split_once('=').map_or("", |(_, value)| value).to_owned()
}

/// The number of a figure in the name of a file: `7(a)` is `7a`.
fn in_file_name(number: &str) -> String {
    number.chars().filter(|c| c.is_alphanumeric()).collect()
}

// ---- The runs

fn nothing_stated(names: &[String], scheme: Option<&str>) -> String {
    let about = scheme.map_or(String::new(), |scheme| format!(" about scheme {scheme}"));
    format!(
        "there are no statements{about} in {}\n  = a statement is an [[expectation]] of the scenario; `weir run` also runs scenarios without expectations",
        names.join(", ")
    )
}

impl PaperExperiment {
    fn load(name: &str, request: &ReproduceRequest) -> Result<PaperExperiment, StudyError> {
        let scheme = request.scheme.as_deref();
        let source = Source::find(name)?;
        let as_it_stands = source.read(&[])?;
        if let Some(scheme) = scheme.filter(|&scheme| scheme != ALL) {
            scheme_for(&as_it_stands, scheme)?;
        }
        let point = |set: Vec<String>| {
            let point = Point::new(source.clone(), set.clone(), Vec::new())?;
            // In an emulated network a paper repeats only its own scheme.
            let own = request.emulates.then_some(point.scenario.scheme.as_str());
            let mut schemes = schemes_of(&point.scenario, scheme.or(own));
            // A point without statements is not run, and needs no optimum.
            let point = if schemes.is_empty() { point } else { point.with_expectations() };
            let (stated, beside) = (schemes.len(), Beside::of(&point.scenario, &schemes));
            for other in beside.schemes() {
                if !schemes.iter().any(|known| known == other) {
                    schemes.push(other.to_owned());
                }
            }
            let point = Arc::new(point);
            let jittered = if request.jitter && request.elsewhere.is_none() {
                let set = set.into_iter().chain(JITTER.map(str::to_owned)).collect();
                Arc::new(Point::new(source.clone(), set, Vec::new())?)
            } else {
                Arc::clone(&point)
            };
            Ok(PaperPoint { point, jittered, schemes, stated, beside })
        };
        let points =
            papers::points(&as_it_stands.axes).into_iter().map(point).collect::<Result<_, StudyError>>()?;
        Ok(PaperExperiment { points })
    }

    fn cases(&self) -> Vec<Case<'_>> {
        self.points.iter().flat_map(PaperPoint::cases).collect()
    }

    fn row(&self, cases: Vec<CaseRow>) -> ExperimentRow {
        let Scenario { name, title, source, .. } = &*self.points[0].point.scenario;
        ExperimentRow { scenario: name.clone(), title: title.clone(), source: source.clone(), cases }
    }
}

/// Returns the schemes to run: of the default one and those that expectations name, the existing ones with
/// statements; or only the requested one.
fn schemes_of(scenario: &Scenario, only: Option<&str>) -> Vec<String> {
    let mut schemes = vec![scenario.scheme.as_str()];
    let named = scenario.expectations.iter().map(|expectation| expectation.scheme.as_str());
    for scheme in named.filter(|name| weir_schemes::find(name).is_some()) {
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    match only {
        Some(ALL) => schemes = weir_schemes::SCHEMES.iter().map(|entry| entry.name).collect(),
        Some(only) => schemes = vec![only],
        None => {}
    }
    schemes.retain(|scheme| scenario.expectations_for(scheme).next().is_some());
    schemes.into_iter().map(str::to_owned).collect()
}

impl PaperPoint {
    fn cases(&self) -> Vec<Case<'_>> {
        let case = |at: usize| {
            let scheme = &self.schemes[at];
            let folder = format!("{}-{scheme}", papers::folder(&self.point.scenario.name, &self.point.set));
            Case { point: self, scheme, is_stated: at < self.stated, folder }
        };
        (0..self.schemes.len()).map(case).collect()
    }

    /// Returns the point for this seed. Seed 1 has the values of the file.
    fn of_seed(&self, seed: u64) -> &Arc<Point> {
        if seed == 1 { &self.point } else { &self.jittered }
    }

    /// Returns the optimum's value of one of its scenario's expectations.
    fn best(&self, expectation: &Expectation) -> Option<f64> {
        let at = self.point.scenario.expectations.iter().position(|one| one == expectation)?;
        *self.point.optimum()?.figures().get(at)?
    }
}

// ---- The results

impl Case<'_> {
    /// Returns its runs: one a seed.
    fn runs<'a>(
        &'a self,
        request: &'a ReproduceRequest,
        with_series: bool,
    ) -> impl Iterator<Item = Run> + 'a {
        let probes: Arc<[_]> = self.point.beside.probes(self.scheme).into();
        // A figure over time has the schemes beside the paper's own, too.
        let is_over_time =
            |figure: &weir_scenario::PaperFigure| matches!(figure.what.as_str(), "series" | "fairness");
        let is_drawn = self.point.point.scenario.figures.iter().any(is_over_time);
        let with_series = with_series && (self.is_stated || is_drawn);
        request.seeds.list().iter().enumerate().map(move |(at, seed)| Run {
            probes: Arc::clone(&probes),
            with_series: with_series && at == 0,
            ..Run::new(self.point.of_seed(*seed), self.scheme, *seed).made_by(request.elsewhere.as_ref())
        })
    }

    fn outcomes(
        &self,
        request: &ReproduceRequest,
        with_series: bool,
        store: &RunStore,
    ) -> Result<Vec<CaseRun>, StudyError> {
        let outcome = |run: Run| Ok(CaseRun::of(&self.point.point, store.get(&run)?, &run));
        self.runs(request, with_series).map(outcome).collect()
    }

    /// Returns the row of its runs, one a seed, with those of all cases of its experiment.
    fn row(&self, runs: &[CaseRun], all: &[(&Case<'_>, &[CaseRun])], has_report: bool) -> CaseRow {
        let all_stated = self.point.point.scenario.expectations.iter().enumerate();
        let is_about = |one: &Expectation| one.scheme == "*" || one.scheme == self.scheme;
        let stated: Vec<(usize, &Expectation)> = all_stated.filter(|(_, one)| is_about(one)).collect();
        let statement = |(at, (place, expectation)): (usize, &(usize, &Expectation))| {
            let rows: Vec<&ExpectationRow> = runs.iter().filter_map(|run| run.row(at, expectation)).collect();
            let others = expectation.stated.schemes().iter();
            let others = others.filter_map(|scheme| self.other(*place, scheme, all)).collect();
            let theory = theory(expectation, stated.iter().map(|(_, one)| *one));
            StatementRow::of(&rows, others, theory, self.point.best(expectation))
        };
        CaseRow {
            set: self.point.point.set.clone(),
            scheme: self.scheme.to_owned(),
            distinct: runs.iter().map(|run| &run.outcome).collect::<BTreeSet<_>>().len() as u64,
            fitted: fitted(&self.point.point.scenario, self.scheme),
            lab: runs.iter().any(|run| run.lab),
            doubts: runs.iter().flat_map(|run| run.doubts.clone()).collect(),
            report: has_report.then(|| format!("{}/report.html", self.folder)),
            // A world other than the simulator may not measure what a statement is about.
            statements: stated
                .iter()
                .enumerate()
                .filter(|(at, (_, one))| runs.iter().any(|run| run.row(*at, one).is_some()))
                .map(statement)
                .collect(),
            optimum: self.point.point.optimum().map(|optimum| self.optimum_row(optimum, runs)),
        }
    }

    /// Returns the figure to which a statement, by its index, compares: that at the same point under another
    /// scheme.
    fn other(
        &self,
        statement: usize,
        scheme: &str,
        all: &[(&Case<'_>, &[CaseRun])],
    ) -> Option<OtherSchemeRow> {
        let is_meant = |case: &Case<'_>| std::ptr::eq(case.point, self.point) && case.scheme == scheme;
        let (_, runs) = all.iter().find(|(case, _)| is_meant(case))?;
        let place = self.point.beside.place(statement, scheme)?;
        let values = runs.iter().map(|run| run.beside.get(place)?.value).collect();
        Some(OtherSchemeRow::of(scheme, values))
    }

    /// Returns the optimum, and the distance of the runs from it.
    fn optimum_row(&self, optimum: &ScenarioOptimum, runs: &[CaseRun]) -> CaseOptimumRow {
        let scenario = &self.point.point.scenario;
        let row = |(at, (from, to)): (usize, &(Span, Span))| {
            let distances: Vec<DistanceRow> =
                runs.iter().filter_map(|run| run.distances.get(at).copied()).collect();
            WindowDistanceRow::of((from.as_secs_f64(), to.as_secs_f64()), &distances)
        };
        let mut windows: Vec<_> = scenario.windows.iter().map(|window| (window.from, window.to)).collect();
        if windows.is_empty() {
            windows.push((Span::ZERO, scenario.duration));
        }
        CaseOptimumRow {
            objective: optimum.objective().to_owned(),
            utilisation: optimum.utilisation(),
            windows: windows.iter().enumerate().map(row).collect(),
            note: optimum.note().unwrap_or_default().to_owned(),
        }
    }
}

/// Returns the values that were chosen with the stated figures in sight: those of the scenario, for the
/// scheme, and parameters of the scheme whose provenance names this experiment.
fn fitted(scenario: &Scenario, scheme: &str) -> Vec<String> {
    let of_scheme = format!("scheme.{scheme}.");
    let is_met = |path: &str| !path.starts_with("scheme.") || path.starts_with(&of_scheme);
    let is_fitted = |source: &str| is_said_by(source, FITTED);
    let settings = scenario.settings.iter().filter(|one| is_met(&one.path));
    let in_file = settings.filter(|one| one.source.as_deref().is_some_and(is_fitted));
    let in_file = in_file.map(|one| format!("{} = {}", one.path, one.value));
    let is_set =
        |key: &str| scenario.settings.iter().any(|one| one.path.strip_prefix(&of_scheme) == Some(key));
    let parameters = weir_schemes::find(scheme).into_iter().flat_map(|entry| entry.parameters);
    let parameters = parameters
        .filter(|one| is_fitted(one.from) && one.from.contains(scenario.name.as_str()) && !is_set(one.key));
    in_file.chain(parameters.map(|one| format!("{of_scheme}{} = {}", one.key, one.default))).collect()
}

/// Returns what the scenario derives from theory for a stated figure.
fn theory<'e>(stated: &Expectation, all: impl Iterator<Item = &'e Expectation>) -> Vec<TheoryRow> {
    let is_theory = |expectation: &Expectation| kind_of_source(&expectation.source) == "theory";
    if is_theory(stated) {
        return Vec::new();
    }
    let same = |one: &&Expectation| {
        (one.metric, one.window, &one.select) == (stated.metric, stated.window, &stated.select)
    };
    let row = |theory: &Expectation| match theory.stated {
        Stated::Value { bound: kind, value, .. } => {
            Some(TheoryRow { value, bound: relation(kind), source: theory.source.clone() })
        }
        Stated::Comparison { .. } => None,
    };
    all.filter(|one| is_theory(one)).filter(same).filter_map(row).collect()
}
