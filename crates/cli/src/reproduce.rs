//! `weir reproduce`: the experiments of papers, with statements and measurements.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use weir_core::units::Span;
use weir_experiment::{Setup, bound, scheme_for};
use weir_measure::to_json;
use weir_measure::{DistanceRow, ExpectationRow, OptimumRow, ProbeValue, RunDocument};
use weir_results::{
    CaseOptimumRow, CaseRow, ExperimentRow, OtherSchemeRow, ReproductionDocument, StatementRow, TheoryRow,
    WindowDistanceRow, kind_of_source, terminal_width, write_all, write_reproduction,
};
use weir_scenario::{Expectation, Scenario, Stated};

use crate::batch::{self, Job, Seeds};
use crate::beside::Beside;
use crate::out::{self, Out};
use crate::provenance::{self, CommandLine};
use crate::scenario_optimum::ScenarioOptimum;
use crate::{Failure, load, papers, terminal};

/// Check the statements of papers: run their experiments over several seeds, and compare each statement with the
/// measurement and with theory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A paper (qsccp), one of its experiments (qsccp/dumbbell), or a scenario file; by default all papers
    #[arg(value_name = "PAPER[/EXPERIMENT]")]
    names: Vec<String>,
    #[command(flatten)]
    seeds: Seeds,
    /// Only the statements about this scheme; by default each experiment runs under every scheme that it makes
    /// statements about
    #[arg(long)]
    scheme: Option<String>,
    /// The folder for reproduce.html, reproduce.json and the report of each case's run with seed 1; files of an
    /// earlier run are overwritten; by default out/reproduce-PAPER
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as one JSON document and nothing else
    #[arg(long)]
    json: bool,
    /// Exit with code 1 if a statement of a paper does not hold in every seed
    #[arg(long)]
    strict: bool,
}

/// What an interrupted reproduction leaves.
const LOST: &str = "statements are checked after the last run; the same command starts from the beginning";

/// An experiment with what is run of it.
struct PaperExperiment {
    /// At each point of its axes.
    points: Vec<Point>,
}

/// An experiment at one point of its axes.
struct Point {
    /// The `--set` arguments that select it.
    set: Vec<String>,
    scenario: Arc<Scenario>,
    /// The schemes that something is stated about, and behind these the ones that they are only compared with.
    schemes: Vec<String>,
    /// How many of these something is stated about.
    stated: usize,
    beside: Beside,
    /// What theory says is best, where it knows.
    optimum: Option<ScenarioOptimum>,
}

/// A point under one scheme.
struct Case<'a> {
    point: &'a Point,
    scheme: &'a str,
    /// Whether something is stated about it; if not it is only compared with, and not shown.
    is_stated: bool,
    /// Its folder in that of the page.
    folder: String,
}

/// What a case keeps of a run.
struct Kept {
    expectations: Vec<ExpectationRow>,
    /// What statements about other schemes are compared with.
    beside: Vec<ProbeValue>,
    /// How far it is from the optimum in each of the scenario's windows, or in all if it has none; empty
    /// where that is not known.
    distances: Vec<DistanceRow>,
}

impl Kept {
    fn of(document: RunDocument, beside: Vec<ProbeValue>) -> Kept {
        let windows = document.windows.iter().map(|window| &window.optimum);
        let distance = |optimum: &Option<OptimumRow>| Some(optimum.as_ref()?.distance);
        let distances = windows.chain([&document.optimum]).filter_map(distance).collect();
        Kept { expectations: document.expectations, beside, distances }
    }
}

/// Reproduces them.
pub fn reproduce(args: &Args) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let names = papers::experiments(&args.names)?;
    let experiments = names.iter().map(|name| PaperExperiment::load(name, args.scheme.as_deref()));
    let experiments = experiments.collect::<Result<Vec<_>, _>>()?;
    let seeds = args.seeds.list();
    // Of a paper's experiments some may state nothing about a scheme; who names one asks for what it states.
    let silent =
        experiments.iter().zip(&names).filter(|(one, _)| one.cases().is_empty()).map(|(_, name)| name);
    let silent: Vec<String> = silent.cloned().collect();
    if silent.len() == names.len() || silent.iter().any(|name| args.names.contains(name)) {
        return Err(nothing_stated(&silent, args.scheme.as_deref()).into());
    }
    let experiments: Vec<PaperExperiment> =
        experiments.into_iter().filter(|one| !one.cases().is_empty()).collect();
    let cases: Vec<Case<'_>> = experiments.iter().flat_map(PaperExperiment::cases).collect();
    let out = Out::open(args.out.as_deref(), args.json, &default_name(&args.names))?;
    if !args.json {
        eprintln!("{}", announcement(&experiments, cases.len(), seeds.len(), &out));
    }
    let rows = simulate(&cases, &seeds, &out)?;
    let mut of_cases = cases.iter().zip(rows.chunks(seeds.len()));
    let experiment = |experiment: &PaperExperiment| {
        let all: Vec<(&Case<'_>, &[Kept])> = of_cases.by_ref().take(experiment.cases().len()).collect();
        let shown = all.iter().filter(|(case, _)| case.is_stated);
        experiment.row(shown.map(|(case, runs)| case.row(runs, &all, out.dir().is_some())).collect())
    };
    let experiments = experiments.iter().map(experiment).collect();
    let document = ReproductionDocument {
        schema: ReproductionDocument::SCHEMA,
        version: provenance::VERSION.to_owned(),
        command: command(args).text(),
        seeds,
        experiments,
    };
    if let Some(dir) = out.dir() {
        out.note(write_reproduction(&document, dir));
    }
    let mut text = if args.json { to_json(&document) } else { document.text(terminal_width()) };
    if let Some(dir) = out.complete().filter(|_| !args.json) {
        text += &format!("\nPage: {}\n", dir.join("reproduce.html").display());
    }
    terminal::print(&text)?;
    out.close()?;
    let (held, all) = document.held();
    Ok(if args.strict && held < all { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The first line of the output: the number of runs, and the page.
fn announcement(experiments: &[PaperExperiment], cases: usize, seeds: usize, out: &Out) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "note: {}, {} (a point of the axes under a scheme), {}: {}",
        counted(experiments.len(), "experiment"),
        counted(cases, "case"),
        counted(seeds, "seed"),
        counted(cases * seeds, "run"),
    );
    if let Some(dir) = out.dir() {
        text += &format!("; the page {} is written after the last run", dir.join("reproduce.html").display());
    }
    text
}

/// The command, without what says where results go.
fn command(args: &Args) -> CommandLine {
    CommandLine::of("reproduce")
        .words(&args.names)
        .option("--seeds", [args.seeds.list().len()])
        .option("--scheme", &args.scheme)
}

/// All runs: for each case one a seed. The first of each case is written.
fn simulate(cases: &[Case<'_>], seeds: &[u64], out: &Out) -> Result<Vec<Kept>, Failure> {
    let job = |case: &Case<'_>, seed: u64| Setup {
        scheme: Some(case.scheme.to_owned()),
        seed,
        probes: case.point.beside.probes(case.scheme),
        with_series: out.dir().is_some() && seed == seeds[0] && case.is_stated,
        ..Setup::default()
    };
    let of_case = |case| seeds.iter().map(move |seed| (case, *seed));
    let jobs: Vec<Job<'_>> = cases
        .iter()
        .flat_map(of_case)
        .map(|(case, seed)| Job {
            scenario: &case.point.scenario,
            set: &case.point.set,
            setup: job(case, seed),
            check_wire: false,
            cost: batch::by_duration(&case.point.scenario),
        })
        .collect();
    batch::simulate(&jobs, LOST, |at, mut report| {
        let case = &cases[at / seeds.len()];
        if let Some(optimum) = &case.point.optimum {
            optimum.add_to(&mut report.document);
        }
        if let Some(dir) = out.dir().filter(|_| jobs[at].setup.with_series) {
            out.note(write_all(&report, dir.join(&case.folder)));
        }
        Ok(Kept::of(report.document, report.probes))
    })
}

// ---- What is run

fn nothing_stated(names: &[String], scheme: Option<&str>) -> String {
    let about = scheme.map_or(String::new(), |scheme| format!(" about scheme {scheme}"));
    format!(
        "there are no statements{about} in {}\n  = a statement is an [[expectation]] of the scenario; `weir run` also runs scenarios without expectations",
        names.join(", ")
    )
}

fn default_name(names: &[String]) -> String {
    match names {
        [one] => format!("reproduce-{}", out::stem(one)),
        _ => "reproduce".to_owned(),
    }
}

impl PaperExperiment {
    fn load(name: &str, scheme: Option<&str>) -> Result<PaperExperiment, Failure> {
        let as_it_stands = load::scenario(name, &[])?;
        if let Some(scheme) = scheme {
            scheme_for(&as_it_stands, scheme)?;
        }
        let point = |set: Vec<String>| {
            let scenario = Arc::new(load::scenario(name, &set)?);
            let mut schemes = schemes_of(&scenario, scheme);
            // What nothing is stated about is not run.
            let is_run = !schemes.is_empty();
            let optimum = is_run.then(|| ScenarioOptimum::with_expectations(&scenario)).flatten();
            let (stated, beside) = (schemes.len(), Beside::of(&scenario, &schemes));
            for other in beside.schemes() {
                if !schemes.iter().any(|known| known == other) {
                    schemes.push(other.to_owned());
                }
            }
            Ok(Point { set, scenario, schemes, stated, beside, optimum })
        };
        let points =
            papers::points(&as_it_stands.axes).into_iter().map(point).collect::<Result<_, Failure>>()?;
        Ok(PaperExperiment { points })
    }

    fn cases(&self) -> Vec<Case<'_>> {
        let of_point = |point| Point::cases(point);
        self.points.iter().flat_map(of_point).collect()
    }

    fn row(&self, cases: Vec<CaseRow>) -> ExperimentRow {
        let Scenario { name, title, source, .. } = &*self.points[0].scenario;
        ExperimentRow { scenario: name.clone(), title: title.clone(), source: source.clone(), cases }
    }
}

/// The schemes to run: the default one and those that expectations name, if they are there, as far
/// as something is stated about them; or only the one that is asked for.
fn schemes_of(scenario: &Scenario, only: Option<&str>) -> Vec<String> {
    let mut schemes = vec![scenario.scheme.as_str()];
    let named = scenario.expectations.iter().map(|expectation| expectation.scheme.as_str());
    for scheme in named.filter(|name| weir_schemes::find(name).is_some()) {
        if !schemes.contains(&scheme) {
            schemes.push(scheme);
        }
    }
    if let Some(only) = only {
        schemes = vec![only];
    }
    schemes.retain(|scheme| scenario.expectations_for(scheme).next().is_some());
    schemes.into_iter().map(str::to_owned).collect()
}

impl Point {
    fn cases(&self) -> Vec<Case<'_>> {
        let case = |at: usize| {
            let scheme = &self.schemes[at];
            let folder = format!("{}-{scheme}", papers::folder(&self.scenario.name, &self.set));
            Case { point: self, scheme, is_stated: at < self.stated, folder }
        };
        (0..self.schemes.len()).map(case).collect()
    }

    /// What one of its scenario's expectations would be in the optimum.
    fn best(&self, expectation: &Expectation) -> Option<f64> {
        let at = self.scenario.expectations.iter().position(|one| one == expectation)?;
        *self.optimum.as_ref()?.figures().get(at)?
    }
}

// ---- What came out

impl Case<'_> {
    /// Its runs, one a seed, beside those of all cases of its experiment.
    fn row(&self, runs: &[Kept], all: &[(&Case<'_>, &[Kept])], has_report: bool) -> CaseRow {
        // A run has a row for each expectation about its scheme, in their order.
        let all_stated = self.point.scenario.expectations.iter().enumerate();
        let is_about = |one: &Expectation| one.scheme == "*" || one.scheme == self.scheme;
        let stated: Vec<(usize, &Expectation)> = all_stated.filter(|(_, one)| is_about(one)).collect();
        let statement = |(at, (place, expectation)): (usize, &(usize, &Expectation))| {
            let rows: Vec<&ExpectationRow> = runs.iter().filter_map(|run| run.expectations.get(at)).collect();
            let others = expectation.stated.schemes().iter();
            let others = others.filter_map(|scheme| self.other(*place, scheme, all)).collect();
            let theory = theory(expectation, stated.iter().map(|(_, one)| *one));
            StatementRow::of(&rows, others, theory, self.point.best(expectation))
        };
        CaseRow {
            set: self.point.set.clone(),
            scheme: self.scheme.to_owned(),
            report: has_report.then(|| format!("{}/report.html", self.folder)),
            statements: stated.iter().enumerate().map(statement).collect(),
            optimum: self.point.optimum.as_ref().map(|optimum| self.optimum_row(optimum, runs)),
        }
    }

    /// What a statement, by its place, compares with: the figure at the same point under another scheme.
    fn other(&self, statement: usize, scheme: &str, all: &[(&Case<'_>, &[Kept])]) -> Option<OtherSchemeRow> {
        let is_meant = |case: &Case<'_>| std::ptr::eq(case.point, self.point) && case.scheme == scheme;
        let (_, runs) = all.iter().find(|(case, _)| is_meant(case))?;
        let place = self.point.beside.place(statement, scheme)?;
        let values = runs.iter().map(|run| run.beside.get(place)?.value).collect();
        Some(OtherSchemeRow::of(scheme, values))
    }

    /// What is best, and how far the runs are from it.
    fn optimum_row(&self, optimum: &ScenarioOptimum, runs: &[Kept]) -> CaseOptimumRow {
        let scenario = &self.point.scenario;
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

/// What the scenario derives from theory for the figure that is stated.
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
            Some(TheoryRow { value, bound: bound(kind), source: theory.source.clone() })
        }
        Stated::Comparison { .. } => None,
    };
    all.filter(|one| is_theory(one)).filter(same).filter_map(row).collect()
}
