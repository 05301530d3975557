//! `weir reproduce`: the experiments of papers, with statements and measurements.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use weir_study::{Elsewhere, Outcome, ReproduceRequest, Reproduction, Seeds, View, reproduction_name};

use crate::lab::{LabWorld, isolated};
use crate::out::{self, Out};
use crate::progress::{self, Jobs};
use crate::{Failure, terminal};

/// Check the statements of papers: run their experiments over several seeds, and compare each statement with the
/// measurement and with theory
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A paper (qsccp), `conditions` (experiments that no paper has), one experiment (qsccp/dumbbell), or a scenario
    /// file; by default all papers
    #[arg(value_name = "PAPER[/EXPERIMENT]")]
    names: Vec<String>,
    /// The seeds: 10 for the seeds 1 to 10, 3..8 for the seeds 3 to 8, or 1,5,9
    #[arg(long, value_name = "SEEDS", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Only the statements about this scheme; by default each experiment runs under every scheme that it makes
    /// statements about. all: under every scheme, also where a statement is about any scheme, as in `conditions`
    #[arg(long)]
    scheme: Option<String>,
    /// Run every seed with exactly the delays and starts of the file. By default only seed 1 does: with each other seed, the
    /// delay of each link differs by up to 2 %, and each flow starts up to 20 ms later
    #[arg(long)]
    no_jitter: bool,
    /// Make the runs in the lab (see `weir lab`), one after the other. `qsccp/appendix` is made there in any case
    #[arg(long)]
    lab: bool,
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

/// Runs the command. `arguments` are those of the whole command, without the program's name.
pub fn reproduce(args: &Args, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    if !args.lab && !weir_study::papers::are_emulated(&args.names) {
        return reproduce_in(args, None);
    }
    // Check the folder here: inside, mounts could hide an error.
    Out::open(args.out.as_deref(), args.json, &reproduction_name(&args.names))?;
    let mut code = ExitCode::SUCCESS;
    let isolated = isolated(arguments, None, |program, folder| {
        code = reproduce_in(args, Some(Arc::new(LabWorld::new(program, folder, true))))?;
        Ok(())
    })?;
    Ok(if isolated == ExitCode::SUCCESS { code } else { isolated })
}

fn reproduce_in(args: &Args, elsewhere: Option<Arc<dyn Elsewhere>>) -> Result<ExitCode, Failure> {
    let jobs = if elsewhere.is_some() { Jobs::one() } else { args.jobs.clone() };
    let request = ReproduceRequest {
        names: args.names.clone(),
        seeds: args.seeds.clone(),
        scheme: args.scheme.clone(),
        jitter: !args.no_jitter,
        elsewhere,
        emulates: weir_study::papers::are_emulated(&args.names),
    };
    let name = request.name();
    let with_series = args.out.is_some() || !args.json;
    let reproduction =
        terminal::while_waiting("preparing the experiments and their optima", || request.plan(with_series))?;
    let out = Out::open(args.out.as_deref(), args.json, &name)?;
    if !args.json {
        note!("{}", announcement(&reproduction, &out));
    }
    let (outcome, _) = progress::make(&reproduction, &jobs, &out)?;
    progress::print(&outcome, args.json, out)?;
    let holds = match &outcome {
        Outcome::Reproduction(document) => {
            let (held, all) = document.held();
            held == all
        }
        _ => true,
    };
    Ok(if args.strict && !holds { ExitCode::from(1) } else { ExitCode::SUCCESS })
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
