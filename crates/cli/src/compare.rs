//! `weir compare`: scenarios under several schemes, side by side.

use std::path::{Path, PathBuf};

use weir_core::units::Span;
use weir_experiment::{Setup, scheme_for};
use weir_measure::to_json;
use weir_measure::{Report, RunDocument};
use weir_results::{ComparisonDocument, terminal_width, write_all, write_comparison, write_comparisons};
use weir_scenario::Scenario;
use weir_schemes::SCHEMES;

use crate::batch::{Job, Seeds, Shown};
use crate::compare_scenarios::ComparedScenarios;
use crate::out::{self, Out};
use crate::scenario_optimum::ScenarioOptimum;
use crate::{Failure, load, papers, terminal};

/// What stands for every scheme that there is.
const ALL: &str = "all";

/// Simulate a scenario under several schemes, and print their figures side by side; of several scenarios, or
/// of a paper's, one summary
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file; several, or a paper such as qsccp, for a summary,
    /// with each scenario at every point of its axes
    #[arg(value_name = "SCENARIO|PAPER", required = true)]
    scenarios: Vec<String>,
    /// The schemes, with commas between them, or all
    #[arg(long, value_name = "A,B,...|all", required = true, value_delimiter = ',')]
    schemes: Vec<String>,
    #[command(flatten)]
    seeds: Seeds,
    /// Change a value of the scenarios, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A further measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// Where to write compare.html, compare.json and the report of each scheme's run with seed 1, over
    /// those of an earlier run; by default out/compare-SCENARIO. Of a summary also compare.md, and a folder
    /// with all of this for each scenario
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
    /// Behind its own expectations it has those that stand for what is asked besides.
    pub scenario: Scenario,
    /// What each of these is about: 0 for the whole run, or from 1 on a window.
    pub asked: Vec<usize>,
    pub optimum: Option<ScenarioOptimum>,
}

/// What is kept of a run.
pub struct Kept {
    pub document: RunDocument,
    /// What was asked besides the scenario's own expectations.
    pub asked: Vec<Option<f64>>,
    /// With its series, of the first seed.
    report: Option<Report>,
}

/// Compares them.
pub fn compare(args: &Args) -> Result<(), Failure> {
    let windows = args.windows.iter().map(|text| load::window(text)).collect::<Result<Vec<_>, _>>()?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let request = Request { args, schemes: schemes(&args.schemes)?, seeds: args.seeds.list(), windows };
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

/// One scenario is compared as it stands, though its paper runs it at several points.
fn note_axes(scenario: &Scenario) {
    for axis in &scenario.axes {
        let here =
            axis.current.and_then(|at| axis.values.get(at)).map_or("a value of its own", String::as_str);
        eprintln!(
            "note: axis {} is at {here} of {}; all points are compared where several scenarios, or the paper, are named",
            axis.name,
            axis.values.join(", ")
        );
    }
}

impl Request<'_> {
    /// One scenario, as it stands.
    fn compare_one(&self, name: &str) -> Result<(), Failure> {
        let point = self.point(name, &[])?;
        self.refuse_idle([&point.scenario])?;
        if !self.args.json {
            note_axes(&point.scenario);
        }
        let out = self.out(&point.scenario.name)?;
        let runs = self.schemes.len() * self.seeds.len();
        let shown = Shown::new(runs, std::iter::repeat_n(point.scenario.duration, runs));
        let kept = self.simulate(&point, &self.schemes, &shown, &out, out.dir())?;
        drop(shown);
        let document = self.comparison(&point, kept, &out, out.dir());
        self.print(out, || to_json(&document), || document.text(terminal_width()))
    }

    /// Several scenarios, each at every point of its axes.
    fn compare_several(&self, names: &[String]) -> Result<(), Failure> {
        let scenarios = ComparedScenarios::load(self, names)?;
        let out = self.out(if let [paper] = &self.args.scenarios[..] { paper } else { "several" })?;
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
        let Args { scenarios, schemes, set, windows, .. } = self.args;
        let mut words = vec!["weir".to_owned(), "compare".to_owned()];
        words.extend(scenarios.iter().cloned());
        words.extend(["--schemes".to_owned(), schemes.join(",")]);
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
        let scenario = load::scenario(name, &set)?;
        for scheme in &self.schemes {
            scheme_for(&scenario, scheme)?;
        }
        let optimum = ScenarioOptimum::of(&scenario, &self.windows);
        Ok(Point { set, scenario, asked: Vec::new(), optimum })
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
        Setup { scheme, seed, windows: self.windows.clone(), with_series }
    }

    /// All runs at a point, for each scheme one a seed. The reports of the first seed are written into the folder.
    pub fn simulate(
        &self,
        point: &Point,
        schemes: &[String],
        shown: &Shown,
        out: &Out,
        dir: Option<&Path>,
    ) -> Result<Vec<Vec<Kept>>, Failure> {
        let job = |(scheme, seed): (&String, u64)| Job {
            scenario: &point.scenario,
            set: &point.set,
            setup: self.setup(scheme, seed, dir.is_some() && seed == self.seeds[0]),
            check_wire: false,
        };
        let of_scheme = |scheme| self.seeds.iter().map(move |seed| (scheme, *seed));
        let jobs: Vec<Job<'_>> = schemes.iter().flat_map(of_scheme).map(job).collect();
        let kept = shown.simulate(&jobs, |at, mut report| {
            let own = report.document.expectations.len() - point.asked.len();
            let asked = report.document.expectations.split_off(own);
            if let Some(optimum) = &point.optimum {
                optimum.add_to(&mut report.document);
            }
            let dir = dir.filter(|_| jobs[at].setup.with_series);
            if let Some(dir) = dir {
                out.note(write_all(&report, dir.join(&report.document.scheme)));
            }
            let document = report.document.clone();
            let asked = asked.into_iter().map(|row| row.measured).collect();
            Ok(Kept { document, asked, report: dir.map(|_| report) })
        })?;
        let mut kept = kept.into_iter();
        Ok(schemes.iter().map(|_| kept.by_ref().take(self.seeds.len()).collect()).collect())
    }

    /// The comparison at a point, which is written into the folder.
    pub fn comparison(
        &self,
        point: &Point,
        kept: Vec<Vec<Kept>>,
        out: &Out,
        dir: Option<&Path>,
    ) -> ComparisonDocument {
        let mut reports = Vec::new();
        let mut documents = |kept: Kept| {
            reports.extend(kept.report);
            kept.document
        };
        let schemes: Vec<Vec<RunDocument>> =
            kept.into_iter().map(|runs| runs.into_iter().map(&mut documents).collect()).collect();
        let mut document = ComparisonDocument::of(&point.scenario.title, &schemes);
        if let Some(dir) = dir {
            for compared in &mut document.schemes {
                compared.report = Some(format!("{}/report.html", compared.scheme));
            }
            out.note(write_comparison(&document, &reports, dir));
        }
        document
    }
}
