//! `weir compare`: scenarios under several schemes, side by side.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use weir_study::{CompareRequest, Elsewhere, Seeds, stem};

use crate::lab::{LabWorld, isolated};
use crate::out::{self, Out};
use crate::progress::{self, Jobs};
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
    /// Make each run also in the lab (see `weir lab`), of one scenario: both worlds side by side. Runs are made one after
    /// the other
    #[arg(long, conflicts_with = "all")]
    lab: bool,
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

/// Runs the command. `arguments` are those of the whole command, without the program's name.
pub fn compare(args: &Args, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    if !args.lab {
        return compare_with(args, None).map(|()| ExitCode::SUCCESS);
    }
    // Check the folder here: inside, mounts could hide an error.
    Out::open(args.out.as_deref(), args.json, &folder(&args.scenarios))?;
    isolated(arguments, None, |program, folder| {
        compare_with(args, Some(Arc::new(LabWorld::new(program, folder, true))))
    })
}

fn compare_with(args: &Args, beside: Option<Arc<dyn Elsewhere>>) -> Result<(), Failure> {
    let all = ["all".to_owned()];
    let schemes = if args.schemes.is_empty() { &all[..] } else { &args.schemes };
    // In the lab, simultaneous runs would disturb each other.
    let jobs = if beside.is_some() { Jobs::one() } else { args.jobs.clone() };
    let request = CompareRequest {
        names: args.scenarios.clone(),
        schemes: weir_study::schemes(schemes)?,
        seeds: args.seeds.clone(),
        set: args.set.clone(),
        windows: load::windows(&args.windows)?,
        beside,
    };
    let with_series = args.out.is_some() || !args.json;
    let comparison =
        terminal::while_waiting("preparing the scenarios and their optima", || request.plan(with_series))?;
    let out = Out::open(args.out.as_deref(), args.json, &folder(&args.scenarios))?;
    let (outcome, _) = progress::make(&comparison, &jobs, &out)?;
    progress::print(&outcome, args.json, out)
}

/// The name of the folder for results.
fn folder(scenarios: &[String]) -> String {
    let name = match scenarios {
        [] => "all",
        [one] => one,
        _ => "several",
    };
    format!("compare-{}", stem(name))
}
