//! `weir sweep`: a scenario at every point of some axes, under several schemes, over several seeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use weir_study::{
    Axis, Failure as RunFailure, PlannedRun, Run, RunStore, Seeds, Shard, Source, Sweep, SweepRequest, View,
    stem,
};

use crate::out::{self, Out};
use crate::progress::{self, Jobs};
use crate::{Failure, load, terminal};

/// Simulate a scenario at every point of some axes, under several schemes and with several seeds, into one table
///
/// The results are results.parquet and results.csv, with a row for each figure of each run, runs.parquet and runs.csv,
/// with a row for each run, and a page with a curve for each scheme over each axis. The same command makes only the
/// runs that are missing in the folder, so it resumes an interrupted sweep.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file. Its own axes are swept too, unless --vary or --set has them
    scenario: String,
    /// A key of the scenario and its values (see `weir list SCENARIO`): KEY=5,10,20Mb/s, KEY=5:20:5Mb/s (from, to, step),
    /// or KEY=1..100Mb/s log 5 (five values, evenly on a logarithmic scale); repeat it for all combinations
    #[arg(long, value_name = "KEY=VALUES")]
    vary: Vec<String>,
    /// Pair the values of all --vary instead of combining them
    #[arg(long, requires = "vary")]
    zip: bool,
    /// The schemes, separated by commas, or all; by default the scenario's own
    #[arg(long, value_name = "A,B,...|all", value_delimiter = ',')]
    schemes: Vec<String>,
    /// The seeds: 10 for the seeds 1 to 10, 3..8 for the seeds 3 to 8, or 1,5,9
    #[arg(long, value_name = "SEEDS", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Change a value of the scenario at all points, such as duration=20s; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// Make only a part of the runs, such as 2/8, the second of eight, for one of several machines. Then copy the folders
    /// `runs` of all parts into one, and give the command without --shard
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Print how many runs there are, how long they take and how much they store, and make none
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,
    /// Print the commands of the runs with this value, such as scheme=qsccp, seed=3, key=0f3a or
    /// link.R2-R3.rate=10Mb/s, and make none; repeat it to narrow the list
    #[arg(long = "where", value_name = "COLUMN=VALUE", conflicts_with_all = ["dry_run", "json"])]
    filters: Vec<String>,
    /// The folder for the tables, the page and the runs; by default out/sweep-SCENARIO-KEY, with the keys of --vary
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the means as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn sweep(args: &Args) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let request = SweepRequest {
        source: Source::find(&args.scenario)?,
        vary: args.vary.iter().map(|text| text.parse()).collect::<Result<Vec<Axis>, _>>()?,
        zip: args.zip,
        schemes: weir_study::schemes(&args.schemes)?,
        seeds: args.seeds.clone(),
        set: args.set.clone(),
        windows: load::windows(&args.windows)?,
        shard: args.shard,
    };
    let request_keys: Vec<String> = request.vary.iter().map(|axis| axis.key.clone()).collect();
    let sweep = terminal::while_waiting("preparing the points of the axes", || request.plan())?;
    if !args.filters.is_empty() {
        return print_commands(&sweep, &args.filters).map(|()| ExitCode::SUCCESS);
    }
    let name = folder(&args.scenario, &request_keys);
    if args.dry_run {
        // The folder need not exist.
        let dir = args.out.clone().unwrap_or_else(|| Path::new("out").join(name));
        return dry_run(&sweep, args, &dir).map(|()| ExitCode::SUCCESS);
    }
    let out = Out::open(args.out.as_deref(), args.json, &name)?;
    if let (Some(dir), false) = (out.dir(), args.json) {
        note_replaced(&sweep, dir);
        let (runs, table) = (counted(&sweep, sweep.runs().len()), dir.join("results.parquet"));
        note!("note: {runs}; partial results are in {}", table.display());
    }
    let (outcome, failures) = progress::make(&sweep, &args.jobs, &out)?;
    progress::print(&outcome, args.json, out)?;
    tell_failures(&sweep.runs(), &failures);
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The name of the folder for results: sweeps over other keys have another one. More values, schemes and seeds belong to the
/// same sweep.
fn folder(scenario: &str, keys: &[String]) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain = |key: &String| key.replace(|c| !is_plain(c), "_");
    let parts = [format!("sweep-{}", stem(scenario))].into_iter().chain(keys.iter().map(plain));
    parts.collect::<Vec<String>>().join("-")
}

/// Prints a note if the folder has the tables and the page of an earlier sweep with another command.
fn note_replaced(sweep: &Sweep, dir: &Path) {
    let document = fs::read_to_string(dir.join("sweep.json")).ok();
    let document = document.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    let before = document.as_ref().and_then(|document| document["command"].as_str());
    if let Some(before) = before.filter(|before| *before != sweep.command().text()) {
        note!(
            "note: the tables and the page of an earlier sweep in {} are replaced: {before}",
            dir.display()
        );
    }
}

/// The numbers of points, schemes, seeds and runs as text.
fn counted(sweep: &Sweep, runs: usize) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let request = sweep.request();
    let part = request.shard.map(|shard| format!(", part {} of {}", shard.index, shard.of));
    format!(
        "{}, {}, {}{}: {}",
        counted(sweep.points().len(), "point"),
        counted(request.schemes.len(), "scheme"),
        counted(request.seeds.list().len(), "seed"),
        part.unwrap_or_default(),
        counted(runs, "run"),
    )
}

/// Maximum number of failed runs that are listed.
const FAILURES_TOLD: usize = 10;

fn tell_failures(runs: &[Run], failures: &[RunFailure]) {
    for failure in failures.iter().take(FAILURES_TOLD) {
        let command = runs[failure.run].command().text();
        note!("failed: run {}: {}\n  = {command}", failure.key, failure.error);
    }
    if failures.len() > FAILURES_TOLD {
        let others = failures.len() - FAILURES_TOLD;
        note!("failed: {others} more runs; runs.csv has the error of each");
    }
}

/// Prints the commands of the runs with all these values.
fn print_commands(sweep: &Sweep, filters: &[String]) -> Result<(), Failure> {
    let mut text = String::new();
    let filters = filters.iter().map(|filter| sweep.filter(filter)).collect::<Result<Vec<_>, _>>()?;
    for planned in sweep.planned() {
        if filters.iter().all(|filter| filter.holds(planned)) {
            text += &format!("{}\n", planned.run.command().text());
        }
    }
    if text.is_empty() {
        return Err("no run of this sweep has these values".into());
    }
    terminal::print(&text)
}

/// How long a dry run simulates each scheme to measure its speed.
const TRIAL: Duration = Duration::from_millis(500);

fn dry_run(sweep: &Sweep, args: &Args, dir: &Path) -> Result<(), Failure> {
    let runs: Vec<&PlannedRun> = sweep.planned().collect();
    let store = RunStore::of_results(Some(dir));
    let is_missing = |planned: &&PlannedRun| !store.has(&planned.run);
    let missing: Vec<&PlannedRun> = runs.iter().copied().filter(is_missing).collect();
    let estimate = terminal::while_waiting("measuring the pace", || sweep.estimate(&missing, TRIAL))?;
    let jobs = args.jobs.number();
    let time = Duration::from_secs_f64(estimate.cpu_s / jobs.min(missing.len().max(1)) as f64);
    let time = if time < Duration::from_secs(1) {
        "less than a second".to_owned()
    } else {
        format!("about {}", HumanDuration(time))
    };
    terminal::print(&format!(
        "{}\nkept already: {}\nto be made: {}, in {time} on {jobs} processor{}\nto be stored: about {} in {}\n",
        counted(sweep, runs.len()),
        runs.len() - missing.len(),
        missing.len(),
        if jobs == 1 { "" } else { "s" },
        HumanBytes(estimate.bytes),
        dir.display(),
    ))
}
