//! `weir compare`: scenarios under several schemes, side by side.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_core::units::Span;
use weir_experiment::{Probe, Setup, scheme_for};
use weir_measure::to_json;
use weir_measure::{Report, RunDocument};
use weir_results::{ComparisonDocument, terminal_width, write_all, write_comparison, write_comparisons};
use weir_scenario::{Flow, Link, Scenario};
use weir_schemes::SCHEMES;

use crate::batch::{self, Job, Seeds};
use crate::compare_scenarios::ComparedScenarios;
use crate::kept_runs::{self, Kept, KeptRuns, PointKey, RunKey};
use crate::out::{self, Out};
use crate::propagation::shortest_ways;
use crate::scenario_optimum::ScenarioOptimum;
use crate::{Failure, load, papers, provenance, terminal};

/// What stands for every scheme that there is.
const ALL: &str = "all";

/// Simulate a scenario under several schemes and compare them; for several scenarios, or a paper, print a matrix of
/// schemes by scenarios
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "weir compare [OPTIONS] --schemes <A,B,...|all> <SCENARIO|PAPER>...\n       weir compare [OPTIONS] --all"
)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file. Several of them, or a paper such as qsccp, give a matrix; each
    /// scenario then runs at every point of its axes
    #[arg(value_name = "SCENARIO|PAPER", required_unless_present = "all", conflicts_with = "all")]
    scenarios: Vec<String>,
    /// The whole matrix: every experiment of every paper; without --schemes, under every scheme
    #[arg(long)]
    all: bool,
    /// The schemes, separated by commas, or all; required without --all
    #[arg(long, value_name = "A,B,...|all", required_unless_present = "all", value_delimiter = ',')]
    schemes: Vec<String>,
    #[command(flatten)]
    seeds: Seeds,
    /// Change a value of the scenarios, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// The folder for compare.html, compare.json and the report of each scheme's run with seed 1; files of an earlier
    /// run are overwritten; by default out/compare-SCENARIO. A matrix also has compare.md, a page for each scheme and
    /// scenario, a folder for each scenario, and the runs: the same command resumes an interrupted matrix
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the comparison as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// What is compared everywhere.
pub struct Request<'a> {
    args: &'a Args,
    pub schemes: Vec<String>,
    pub seeds: Vec<u64>,
    windows: Vec<(Span, Span)>,
}

/// A scenario at one point of its axes.
pub struct Point {
    /// All that was set in it.
    pub set: Vec<String>,
    /// A digest of its text.
    text: String,
    pub scenario: Arc<Scenario>,
    /// What is measured besides the scenario's expectations.
    pub probes: Vec<Probe>,
    pub optimum: Option<ScenarioOptimum>,
}

/// A run to be made.
pub struct Planned<'a> {
    pub point: &'a Point,
    /// The folder of its point in that of the results; empty where they are one.
    pub folder: &'a str,
    pub scheme: &'a str,
    pub seed: u64,
}

/// Compares them.
pub fn compare(args: &Args) -> Result<(), Failure> {
    let windows = args.windows.iter().map(|text| load::window(text)).collect::<Result<Vec<_>, _>>()?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let all = [ALL.to_owned()];
    let named = if args.schemes.is_empty() { &all[..] } else { &args.schemes };
    let request = Request { args, schemes: schemes(named)?, seeds: args.seeds.list(), windows };
    match &papers::experiments(&args.scenarios)?[..] {
        [one] => request.compare_one(one),
        all => request.compare_several(all),
    }
}

/// The schemes that are meant.
fn schemes(given: &[String]) -> Result<Vec<String>, String> {
    if given == [ALL] {
        return Ok(SCHEMES.iter().map(|scheme| scheme.name.to_owned()).collect());
    }
    for (at, scheme) in given.iter().enumerate() {
        if scheme == ALL {
            return Err(format!("--schemes: {ALL} is every scheme; name it alone"));
        }
        if given[..at].contains(scheme) {
            return Err(format!("--schemes: {scheme} is given twice"));
        }
    }
    Ok(given.to_vec())
}

/// Prints that only one point of the scenario's axes is compared.
fn note_axes(scenario: &Scenario) {
    for axis in &scenario.axes {
        let known = axis.current.and_then(|at| axis.values.get(at));
        let here =
            known.map_or("a value that is not listed".to_owned(), |value| format!("the value {value}"));
        eprintln!(
            "note: axis {} has {here}; its values are {}; to compare all points, name several scenarios or the paper",
            axis.name,
            axis.values.join(", ")
        );
    }
}

impl Request<'_> {
    /// One scenario, as it stands.
    fn compare_one(&self, name: &str) -> Result<(), Failure> {
        let point = self.point(name, &[])?;
        self.refuse_idle([&*point.scenario])?;
        if !self.args.json {
            note_axes(&point.scenario);
        }
        let out = self.out(&point.scenario.name)?;
        let of_scheme = |scheme| self.planned(&point, "", scheme);
        let planned: Vec<Planned<'_>> = self.schemes.iter().flat_map(|scheme| of_scheme(scheme)).collect();
        let runs = KeptRuns::new(None);
        self.simulate(&planned, &runs, &out)?;
        let kept = self.schemes.iter().map(|scheme| self.kept(&runs, &point, "", scheme, &out));
        let kept = kept.collect::<Result<_, _>>()?;
        let document = self.comparison(&point, kept, &out, out.dir(), |_| None);
        self.print(out, || to_json(&document), || document.text(terminal_width()))
    }

    /// Several scenarios, each at every point of its axes.
    fn compare_several(&self, names: &[String]) -> Result<(), Failure> {
        let scenarios = ComparedScenarios::load(self, names)?;
        let out = self.out(match &self.args.scenarios[..] {
            [] => ALL,
            [paper] => paper,
            _ => "several",
        })?;
        let document = scenarios.summary(self, &out)?;
        if let Some(dir) = out.dir() {
            out.note(write_comparisons(&document, dir));
        }
        self.print(out, || to_json(&document), || document.text(terminal_width()))
    }

    fn out(&self, name: &str) -> Result<Out, String> {
        Out::open(self.args.out.as_deref(), self.args.json, &format!("compare-{}", out::stem(name)))
    }

    fn print(
        &self,
        out: Out,
        json: impl FnOnce() -> String,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        let mut text = if self.args.json { json() } else { text() };
        if let Some(dir) = out.complete().filter(|_| !self.args.json) {
            text += &format!("\nPage: {}\n", dir.join("compare.html").display());
        }
        terminal::print(&text)?;
        out.close()
    }

    /// The command, without what says where results go.
    pub fn command(&self) -> String {
        let Args { scenarios, all, schemes, set, windows, .. } = self.args;
        let mut words = vec!["weir".to_owned(), "compare".to_owned()];
        words.extend(scenarios.iter().cloned());
        words.extend(all.then(|| "--all".to_owned()));
        if !schemes.is_empty() {
            words.extend(["--schemes".to_owned(), schemes.join(",")]);
        }
        words.extend(["--seeds".to_owned(), self.seeds.len().to_string()]);
        words.extend(set.iter().flat_map(|set| ["--set".to_owned(), format!("\"{set}\"")]));
        words.extend(windows.iter().flat_map(|window| ["--window".to_owned(), window.clone()]));
        words.join(" ")
    }

    /// Refuses settings of a scheme that none of the scenarios runs.
    pub fn refuse_idle<'a>(
        &'a self,
        scenarios: impl IntoIterator<Item = &'a Scenario>,
    ) -> Result<(), Failure> {
        let schemes = self.schemes.iter().map(String::as_str);
        load::refuse_idle(ScenarioOptimum::unread(self.set()), schemes, scenarios)
    }

    /// What is to be set everywhere.
    pub fn set(&self) -> &[String] {
        &self.args.set
    }

    /// A scenario with what is to be set everywhere, and at a point of its axes.
    pub fn point(&self, name: &str, axes: &[String]) -> Result<Point, Failure> {
        let set = [&self.args.set, axes].concat();
        let scenario = Arc::new(load::scenario(name, &set)?);
        for scheme in &self.schemes {
            scheme_for(&scenario, scheme)?;
        }
        let optimum = ScenarioOptimum::of(&scenario, &self.windows);
        let text = kept_runs::digest(load::text(name)?.as_bytes());
        Ok(Point { set, text, scenario, probes: Vec::new(), optimum })
    }

    /// What the parts of a run at a point are: the whole of it, and its windows.
    pub fn parts(&self, scenario: &Scenario) -> Vec<(Span, Span)> {
        let whole = (Span::ZERO, scenario.duration);
        let windows = scenario.windows.iter().map(|window| (window.from, window.to));
        std::iter::once(whole).chain(windows).chain(self.windows.iter().copied()).collect()
    }

    /// How a scheme is run.
    pub fn setup(&self, scheme: &str, seed: u64, with_series: bool) -> Setup {
        let scheme = Some(scheme.to_owned());
        Setup { scheme, seed, windows: self.windows.clone(), with_series, ..Setup::default() }
    }

    /// The runs of a scheme at a point: one a seed.
    pub fn planned<'a>(
        &'a self,
        point: &'a Point,
        folder: &'a str,
        scheme: &'a str,
    ) -> impl Iterator<Item = Planned<'a>> {
        self.seeds.iter().map(move |seed| Planned { point, folder, scheme, seed: *seed })
    }

    /// Whether series of a run are wanted: of the first seed, where they are written.
    fn with_series(&self, seed: u64, out: &Out) -> bool {
        out.dir().is_some() && seed == self.seeds[0]
    }

    /// The name that a run is kept by, and its key.
    fn key(&self, runs: &KeptRuns, planned: &Planned<'_>, out: &Out) -> (PathBuf, RunKey) {
        let Planned { point, folder, scheme, seed } = planned;
        let with_series = self.with_series(*seed, out);
        let point = PointKey {
            scenario: point.scenario.name.clone(),
            text: point.text.clone(),
            set: point.set.clone(),
            windows: self.windows.iter().map(provenance::window).collect(),
            probes: point.probes_in_words().collect(),
        };
        (Path::new(folder).join(format!("{scheme}-{seed}")), runs.key(&point, scheme, *seed, with_series))
    }

    /// Makes those of some runs that are not kept yet, and keeps them. The reports of the first seed are written.
    pub fn simulate(&self, planned: &[Planned<'_>], runs: &KeptRuns, out: &Out) -> Result<(), Failure> {
        let is_kept = |run: &Planned<'_>| {
            let (name, key) = self.key(runs, run, out);
            let has_report = || {
                let dir = out.dir().filter(|_| self.with_series(run.seed, out));
                dir.is_none_or(|dir| dir.join(run.folder).join(run.scheme).join("report.html").exists())
            };
            runs.find(&name, &key).is_some() && has_report()
        };
        let missing: Vec<&Planned<'_>> = planned.iter().filter(|run| !is_kept(run)).collect();
        let there = planned.len() - missing.len();
        if let (Some(dir), true) = (runs.dir(), there > 0) {
            eprintln!("note: {there} of {} runs are in {} already", planned.len(), dir.display());
        }
        let jobs: Vec<Job<'_>> = missing.iter().map(|run| self.job(run, out)).collect();
        let left = match runs.dir() {
            Some(_) => "the completed runs are kept; the same command makes the others",
            None => "schemes are compared after the last run; the same command starts from the beginning",
        };
        batch::simulate_after(there, &jobs, left, |at, mut report| {
            let run = missing[at];
            let (name, key) = self.key(runs, run, out);
            let with_series = self.with_series(run.seed, out);
            let kept = Kept::of(&report, with_series);
            if let Some(dir) = out.dir().filter(|_| with_series) {
                run.point.add_optimum(&mut report.document);
                out.note(write_all(&report, dir.join(run.folder).join(run.scheme)));
            }
            out.note(runs.keep(&name, &key, kept));
            Ok(())
        })?;
        Ok(())
    }

    fn job<'a>(&self, run: &Planned<'a>, out: &Out) -> Job<'a> {
        let setup = self.setup(run.scheme, run.seed, self.with_series(run.seed, out));
        Job {
            scenario: &run.point.scenario,
            set: &run.point.set,
            setup: Setup { probes: run.point.probes.clone(), ..setup },
            check_wire: false,
            cost: run.point.cost(),
        }
    }

    /// The runs of a scheme that were made at a point: one a seed.
    pub fn kept(
        &self,
        runs: &KeptRuns,
        point: &Point,
        folder: &str,
        scheme: &str,
        out: &Out,
    ) -> Result<Vec<Kept>, Failure> {
        let find = |run: Planned<'_>| {
            let (name, key) = self.key(runs, &run, out);
            runs.find(&name, &key).ok_or_else(|| {
                format!("the file of run {} is missing: run this command again", name.display()).into()
            })
        };
        self.planned(point, folder, scheme).map(find).collect()
    }

    /// The comparison at a point, which is written into the folder. The reports of schemes are in folders in it, or
    /// where `elsewhere` says.
    pub fn comparison(
        &self,
        point: &Point,
        mut kept: Vec<Vec<Kept>>,
        out: &Out,
        dir: Option<&Path>,
        elsewhere: impl Fn(&str) -> Option<String>,
    ) -> ComparisonDocument {
        kept.iter_mut().flatten().for_each(|run| point.add_optimum(&mut run.document));
        let reports: Vec<Report> = kept.iter().flatten().filter_map(Kept::report).collect();
        let documents = |runs: Vec<Kept>| runs.into_iter().map(|run| run.document).collect();
        let schemes: Vec<Vec<RunDocument>> = kept.into_iter().map(documents).collect();
        let mut document = ComparisonDocument::of(&point.scenario.title, &schemes);
        document.version = provenance::VERSION.to_owned();
        document.command = self.command();
        document.set.clone_from(&point.set);
        if let Some(dir) = dir {
            for compared in &mut document.schemes {
                let own = || format!("{}/report.html", compared.scheme);
                compared.report = Some(elsewhere(&compared.scheme).unwrap_or_else(own));
            }
            out.note(write_comparison(&document, &reports, dir));
        }
        document
    }
}

impl Point {
    /// Adds the optimum here to what a run measured.
    pub fn add_optimum(&self, document: &mut RunDocument) {
        if let Some(optimum) = &self.optimum {
            optimum.add_to(document);
        }
    }

    /// What is measured besides the scenario's expectations, in words.
    pub fn probes_in_words(&self) -> impl Iterator<Item = String> {
        self.probes.iter().map(Probe::to_string)
    }

    /// About how many packets a run puts on links: those of the optimum, or of consumers that fill their links.
    fn cost(&self) -> u64 {
        let goodputs = self.optimum.as_ref().map(ScenarioOptimum::most_goodputs).unwrap_or_default();
        let ways = shortest_ways(&self.scenario);
        let packets = |(at, flow): (usize, &Flow)| {
            let seconds = (flow.stop.unwrap_or(self.scenario.duration) - flow.start).as_secs_f64();
            let rate = goodputs.get(at).copied().unwrap_or_else(|| self.access_bps(flow));
            let data = rate * seconds / (8.0 * flow.payload.as_u64().max(1) as f64);
            let data = flow.amount.map_or(data, |amount| data.min(amount as f64));
            2.0 * data * ways[at].map_or(1.0, |way| f64::from(way.hops))
        };
        let packets: f64 = self.scenario.flows.iter().enumerate().map(packets).sum();
        packets.max(1.0) as u64
    }

    /// The rate of the fastest link of a flow's consumer, bit/s.
    fn access_bps(&self, flow: &Flow) -> f64 {
        let at_consumer = |link: &&Link| link.a == flow.consumer || link.b == flow.consumer;
        let links = self.scenario.links.iter().filter(at_consumer);
        links.map(|link| link.rate[0].as_bps_f64()).fold(0.0, f64::max)
    }
}
