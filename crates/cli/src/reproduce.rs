//! `weir reproduce`: the experiments of papers, with statements and measurements.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use weir_measure::to_json;
use weir_results::{terminal_width, write_reproduction};
use weir_study::{ReproduceRequest, Reproduction, RunStore, Seeds};

use crate::out::{self, Out};
use crate::progress::{Execution, Jobs};
use crate::{Failure, terminal};

/// Check the statements of papers: run their experiments over several seeds, and compare each statement with the
/// measurement and with theory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A paper (qsccp), one of its experiments (qsccp/dumbbell), or a scenario file; by default all papers
    #[arg(value_name = "PAPER[/EXPERIMENT]")]
    names: Vec<String>,
    /// The seeds: 10 for the seeds 1 to 10, 3..8 for the seeds 3 to 8, or 1,5,9
    #[arg(long, value_name = "SEEDS", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Only the statements about this scheme; by default each experiment runs under every scheme that it makes
    /// statements about
    #[arg(long)]
    scheme: Option<String>,
    #[command(flatten)]
    jobs: Jobs,
    /// The folder for reproduce.html, reproduce.json, the report of each case's run with the first seed, a table of all
    /// figures (results.parquet, results.csv) and the runs: the same command resumes an interrupted reproduction. Files
    /// of an earlier run are overwritten. By default out/reproduce-PAPER
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
const KEPT: &str = "the completed runs are kept; the same command makes the others";
/// The same without a folder.
const LOST: &str = "statements are checked after the last run; the same command starts from the beginning";

/// Reproduces them.
pub fn reproduce(args: &Args) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let request = ReproduceRequest {
        names: args.names.clone(),
        seeds: args.seeds.clone(),
        scheme: args.scheme.clone(),
    };
    let name = request.name();
    let with_series = args.out.is_some() || !args.json;
    let reproduction =
        terminal::while_waiting("preparing the experiments and their optima", || request.plan(with_series))?;
    let out = Out::open(args.out.as_deref(), args.json, &name)?;
    if !args.json {
        eprintln!("{}", announcement(&reproduction, &out));
    }
    let store = Arc::new(RunStore::of_results(out.dir()));
    execute(&reproduction, args.jobs.number(), &store, &out)?;
    let document = reproduction.document(&store)?;
    if let Some(dir) = out.dir() {
        out.note(reproduction.study().write_tables(&store, &[], dir));
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
fn announcement(reproduction: &Reproduction, out: &Out) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut text = format!(
        "note: {}, {} (a point of the axes under a scheme), {}: {}",
        counted(reproduction.experiments(), "experiment"),
        counted(reproduction.cases(), "case"),
        counted(reproduction.request().seeds.list().len(), "seed"),
        counted(reproduction.study().runs().len(), "run"),
    );
    if let Some(dir) = out.dir() {
        text += &format!("; the page {} is written after the last run", dir.join("reproduce.html").display());
    }
    text
}

/// Makes the missing runs. The reports of the first seed are written.
fn execute(
    reproduction: &Reproduction,
    jobs: usize,
    store: &Arc<RunStore>,
    out: &Out,
) -> Result<(), Failure> {
    let study = reproduction.study();
    let needs_report = |run: usize| out.dir().is_some_and(|dir| reproduction.needs_report(run, dir));
    let execution = Execution {
        runs: study.runs().iter().map(|planned| planned.run.clone()).collect(),
        store: Arc::clone(store),
        jobs,
        left: if out.dir().is_some() { KEPT } else { LOST },
        is_needed: &needs_report,
        on_made: &|run, made| {
            out.dir().iter().for_each(|dir| out.note(reproduction.write_report(run, made, dir)));
        },
        on_kept: &|| (),
    };
    let executed = execution.execute()?.complete()?;
    executed.unwritten.into_iter().for_each(|error| out.note::<Failure>(Err(error.into())));
    Ok(())
}
