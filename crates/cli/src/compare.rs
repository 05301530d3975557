//! `weir compare`: scenarios under several schemes, side by side.

use std::path::PathBuf;
use std::sync::Arc;

use weir_results::terminal_width;
use weir_study::{CompareRequest, Comparison, RunStore, Seeds, stem};

use crate::out::{self, Out};
use crate::progress::{Execution, Jobs};
use crate::{Failure, load, terminal};

/// Simulate a scenario under several schemes and compare them; for several scenarios, or a paper, print a matrix of
/// schemes by scenarios
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "weir compare [OPTIONS] --schemes <A,B,...|all> <SCENARIO|PAPER>...\n       weir compare [OPTIONS] --all"
)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file. Several of them, a paper such as qsccp, or a scenario with axes give
    /// a matrix: each scenario runs at every point of its axes, unless --set picks one
    #[arg(value_name = "SCENARIO|PAPER", required_unless_present = "all", conflicts_with = "all")]
    scenarios: Vec<String>,
    /// The whole matrix: every experiment of every paper; without --schemes, under every scheme
    #[arg(long)]
    all: bool,
    /// The schemes, separated by commas, or all; required without --all
    #[arg(long, value_name = "A,B,...|all", required_unless_present = "all", value_delimiter = ',')]
    schemes: Vec<String>,
    /// The seeds: 10 for the seeds 1 to 10, 3..8 for the seeds 3 to 8, or 1,5,9
    #[arg(long, value_name = "SEEDS", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Change a value of the scenarios, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// The folder for compare.html, compare.json, the report of each scheme's run with the first seed, a table of all
    /// figures (results.parquet, results.csv) and the runs: the same command resumes an interrupted comparison. Files of
    /// an earlier run are overwritten. By default out/compare-SCENARIO. A matrix also has compare.md, a page for each
    /// scheme and scenario, and a folder for each scenario
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the comparison as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// What an interrupted comparison leaves.
const KEPT: &str = "the completed runs are kept; the same command makes the others";
/// The same without a folder.
const LOST: &str = "schemes are compared after the last run; the same command starts from the beginning";

/// Compares them.
pub fn compare(args: &Args) -> Result<(), Failure> {
    let windows = load::windows(&args.windows)?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let all = ["all".to_owned()];
    let schemes = if args.schemes.is_empty() { &all[..] } else { &args.schemes };
    let request = CompareRequest {
        names: args.scenarios.clone(),
        schemes: weir_study::schemes(schemes)?,
        seeds: args.seeds.clone(),
        set: args.set.clone(),
        windows,
    };
    let with_series = args.out.is_some() || !args.json;
    let comparison =
        terminal::while_waiting("preparing the scenarios and their optima", || request.plan(with_series))?;
    let out = Out::open(args.out.as_deref(), args.json, &folder(&args.scenarios))?;
    let store = Arc::new(RunStore::of_results(out.dir()));
    execute(&comparison, args.jobs.number(), &store, &out)?;
    let document = comparison.document(&store, out.dir(), &|written| out.note(written))?;
    if let Some(dir) = out.dir() {
        out.note(comparison.study().write_tables(&store, &[], dir));
    }
    let mut text = if args.json { document.json() } else { document.text(terminal_width()) };
    if let Some(dir) = out.complete().filter(|_| !args.json) {
        text += &format!("\nPage: {}\n", dir.join("compare.html").display());
    }
    terminal::print(&text)?;
    out.close()
}

/// The name of the folder of results.
fn folder(scenarios: &[String]) -> String {
    let name = match scenarios {
        [] => "all",
        [one] => one,
        _ => "several",
    };
    format!("compare-{}", stem(name))
}

/// Makes the missing runs. The reports of the first seed are written.
fn execute(comparison: &Comparison, jobs: usize, store: &Arc<RunStore>, out: &Out) -> Result<(), Failure> {
    let study = comparison.study();
    let needs_report = |run: usize| out.dir().is_some_and(|dir| comparison.needs_report(run, dir));
    let execution = Execution {
        runs: study.runs().iter().map(|planned| planned.run.clone()).collect(),
        store: Arc::clone(store),
        jobs,
        left: if out.dir().is_some() { KEPT } else { LOST },
        is_needed: &needs_report,
        on_made: &|run, made| {
            out.dir().iter().for_each(|dir| out.note(comparison.write_report(run, made, dir)));
        },
        on_kept: &|| (),
    };
    let executed = execution.execute()?.complete()?;
    executed.unwritten.into_iter().for_each(|error| out.note::<Failure>(Err(error.into())));
    Ok(())
}
