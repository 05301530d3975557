//! `weir run`: one scenario under one scheme.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_experiment::scheme_for;
use weir_measure::to_json;
use weir_measure::{Report, RunDocument, Series};
use weir_results::{ComparisonDocument, summary, terminal_width, write_all};
use weir_scenario::Scenario;
use weir_study::{Made, Run, RunStore, ScenarioOptimum, Seeds, Tracing, refuse_idle, stem};

use crate::app::Stop;
use crate::out::{self, Out};
use crate::progress::{self, Execution, Jobs};
use crate::record::Record;
use crate::watch::{LivePage, WatchOption};
use crate::{Failure, load, terminal};

/// Simulate a scenario, print the results, and write a report
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// The scheme; by default the scenario's own
    #[arg(long)]
    scheme: Option<String>,
    /// The seed; repeat it for several runs, which run in parallel. By default 1
    #[arg(long = "seed", value_name = "N", value_parser = seed, allow_negative_numbers = true)]
    seed: Vec<u64>,
    /// Several seeds: 10 for the seeds 1 to 10, 3..8 for the seeds 3 to 8, or 1,5,9
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed", allow_negative_numbers = true)]
    seeds: Option<Seeds>,
    /// Change a value of the scenario, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// The folder for report.html, run.json and the time series; files of an earlier run are overwritten; by default
    /// out/SCENARIO-SCHEME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as one JSON document and nothing else; with several seeds, an array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    jobs: Jobs,
    /// The number of threads for a run, or `all` for the number of processors; by default 1. The results do not change.
    /// More threads are useful for one run of a large network
    #[arg(long, value_name = "N", value_parser = threads, default_value = "1", hide_default_value = true)]
    threads: usize,
    /// Encode and decode every packet, and stop if one changes
    #[arg(long)]
    check_wire: bool,
    #[command(flatten)]
    watch: WatchOption,
    #[command(flatten)]
    record: Record,
}

impl Args {
    fn seeds(&self) -> Result<Seeds, Failure> {
        match &self.seeds {
            Some(seeds) => Ok(seeds.clone()),
            None if self.seed.is_empty() => Ok(Seeds::of(vec![1])?),
            None => Ok(Seeds::of(self.seed.clone()).map_err(|error| format!("--seed: {error}"))?),
        }
    }
}

/// What remains of an interrupted run.
const LOST: &str = "a run that has not ended has no results";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let seeds = args.seeds()?;
    let windows = load::windows(&args.windows)?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let point = Arc::new(load::point(&args.scenario, &args.set, windows)?);
    let scenario = &point.scenario;
    let scheme = args.scheme.as_deref().unwrap_or(&scenario.scheme);
    scheme_for(scenario, scheme)?;
    refuse_idle(ScenarioOptimum::unread(&args.set), [scheme], [&**scenario])?;
    let out = Out::open(args.out.as_deref(), args.json, &format!("{}-{scheme}", stem(&scenario.name)))?;
    let (with_series, check_wire) = (out.dir().is_some() || args.watch.is_wanted(), args.check_wire);
    let threads = args.threads;
    let run = |&seed: &u64| Run { with_series, check_wire, threads, ..Run::new(&point, scheme, seed) };
    let mut runs: Vec<Run> = seeds.list().iter().map(run).collect();
    let is_recorded = args.record.is_wanted();
    if is_recorded {
        let [run] = &mut runs[..] else {
            return Err("--trace and --pcap write the packets of one run: give one --seed".into());
        };
        run.trace = Some(Tracing::new(args.record.begin(scenario, &run.command().text())?));
    }
    let stop = Stop::new()?;
    let page = watched(&mut runs, args, &out)?;
    let runs: Arc<[Run]> = runs.into();
    let optimum = terminal::while_waiting("computing the optimum", || point.optimum());
    let shared = shared_prefixes(scenario);
    let store = Arc::new(RunStore::of_results(None));
    let finished = |made: &Made| {
        let mut report = made.report.clone();
        point.complete(&mut report.document);
        report.notes.extend(optimum.and_then(ScenarioOptimum::note).map(str::to_owned));
        report.notes.extend(shared.iter().cloned());
        report
    };
    let reports: Vec<Mutex<Option<Report>>> = runs.iter().map(|_| Mutex::default()).collect();
    let on_made = |at: usize, made: &Made| {
        if let Some(reason) = made.alone.filter(|_| at == 0) {
            note!("note: one thread makes the run: {reason}");
        }
        let mut report = finished(made);
        if let Some(dir) = out.dir() {
            out.note(write_all(&report, run_dir(dir, report.document.seed, runs.len())));
        }
        if let Some(page) = &page {
            page.end(report.clone(), scenario.duration, out.complete().is_some());
        }
        report.series = Series::default();
        *reports[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    };
    let execution = Execution {
        runs: Arc::clone(&runs),
        store: Arc::clone(&store),
        jobs: args.jobs.of_threads(threads),
        left: LOST,
        // Files and tables need a run's report, which is not kept.
        is_needed: &|_| !args.json || with_series || check_wire || is_recorded,
        on_made: &on_made,
        on_kept: &|| (),
    };
    execution.execute()?.complete(&runs)?;
    let report = |(run, report): (&Run, Mutex<Option<Report>>)| match report.into_inner() {
        Ok(Some(report)) => Ok(report),
        _ => Ok(finished(&Made::of_record(store.get(run)?))),
    };
    let reports = runs.iter().zip(reports).map(report).collect::<Result<Vec<_>, Failure>>()?;
    terminal::print(&render(scenario, &reports, out.complete(), args))?;
    if let Some(page) = page {
        page.close(&stop);
    }
    out.close()
}

/// The page of the run, if it is watched.
fn watched(runs: &mut [Run], args: &Args, out: &Out) -> Result<Option<LivePage>, Failure> {
    if !args.watch.is_wanted() {
        return Ok(None);
    }
    let [run] = runs else { return Err("--watch shows one run: give one --seed".into()) };
    let report = out.dir().map(|dir| page_in(dir).display().to_string());
    let page = args.watch.listen()?.map(|listener| LivePage::serve(listener, report)).transpose()?;
    run.viewer = page.as_ref().map(LivePage::viewer);
    Ok(page)
}

/// Warnings about flows of one consumer that fetch the same content. This is rarely intended.
fn shared_prefixes(scenario: &Scenario) -> Vec<String> {
    let mut flows: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for flow in &scenario.flows {
        let consumer = scenario.nodes[flow.consumer.index()].name.as_str();
        *flows.entry((consumer, flow.prefix.as_str())).or_default() += 1;
    }
    let several = flows.into_iter().filter(|(_, count)| *count > 1);
    let note = |((consumer, prefix), count): ((&str, &str), usize)| {
        format!(
            "{count} flows of {consumer} fetch the same content below {prefix}: each Data comes once and counts for all of them. With `{{}}` in the prefix, each flow of a `count` has its own content."
        )
    };
    several.map(note).take(3).collect()
}

fn render(scenario: &Scenario, reports: &[Report], dir: Option<&Path>, args: &Args) -> String {
    let documents: Vec<&RunDocument> = reports.iter().map(|report| &report.document).collect();
    if args.json {
        return match documents[..] {
            [one] => to_json(one),
            _ => {
                let each: Vec<_> = documents.iter().map(|d| to_json(d).trim_end().to_owned()).collect();
                format!("[\n{}\n]\n", each.join(",\n"))
            }
        };
    }
    let mut text = format!("{}\n", scenario.title);
    for report in reports {
        text += &summary(&report.document, terminal_width());
        for note in &report.notes {
            text += &format!("Note: {note}\n");
        }
        if let Some(dir) = dir {
            let page = page_in(&run_dir(dir, report.document.seed, reports.len()));
            text += &format!("\nReport: {}\n", page.display());
        }
    }
    if reports.len() > 1 {
        let runs: Vec<RunDocument> = documents.into_iter().cloned().collect();
        text += &format!("\nOver {} seeds\n", runs.len());
        text += &ComparisonDocument::of(&scenario.title, &[runs]).tables(terminal_width());
    }
    text
}

/// The page of a run in its folder.
fn page_in(dir: &Path) -> PathBuf {
    dir.join("report.html")
}

fn run_dir(dir: &Path, seed: u64, runs: usize) -> PathBuf {
    if runs == 1 { dir.to_owned() } else { dir.join(format!("seed-{seed}")) }
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=1024) => Ok(number),
        _ if text == "all" => Ok(progress::processors()),
        _ => Err("give a number from 1 to 1024, or `all`".to_owned()),
    }
}

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}
