//! `weir compare`: one scenario under several schemes, side by side.

use std::path::PathBuf;

use weir_results::{
    ComparisonDocument, Report, RunDocument, terminal_width, to_json, write_all, write_comparison,
};
use weir_sim::{Setup, scheme_for};

use crate::batch::{self, Job, Seeds};
use crate::beside::Beside;
use crate::out::{self, Out};
use crate::{Failure, load, terminal};

/// Simulate a scenario under several schemes, and print their figures side by side
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// The schemes, with commas between them
    #[arg(long, value_name = "A,B,...", required = true, value_delimiter = ',')]
    schemes: Vec<String>,
    #[command(flatten)]
    seeds: Seeds,
    /// Change a value of the scenario, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A further measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// Where to write compare.html, compare.json and the report of each scheme's run with seed 1, over
    /// those of an earlier run; by default out/compare-SCENARIO
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the comparison as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// Compares them.
pub fn compare(args: &Args) -> Result<(), Failure> {
    let windows = args.windows.iter().map(|text| load::window(text)).collect::<Result<Vec<_>, _>>()?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let scenario = load::scenario(&args.scenario, &args.set)?;
    for (at, scheme) in args.schemes.iter().enumerate() {
        scheme_for(&scenario, scheme)?;
        if args.schemes[..at].contains(scheme) {
            return Err(format!("--schemes: {scheme} is given twice").into());
        }
    }
    let name = format!("compare-{}", out::stem(&scenario.name));
    let out = Out::open(args.out.as_deref(), args.json, &name)?;
    let seeds = args.seeds.list();
    let job = |scheme: &String, seed: u64| Job {
        scenario: &scenario,
        set: &args.set,
        setup: Setup {
            scheme: Some(scheme.clone()),
            seed,
            windows: windows.clone(),
            with_series: out.dir().is_some() && seed == seeds[0],
            ..Setup::default()
        },
    };
    let jobs: Vec<Job<'_>> =
        args.schemes.iter().flat_map(|scheme| seeds.iter().map(move |seed| job(scheme, *seed))).collect();
    let optimum = Beside::of(&scenario, &windows);
    let runs = batch::simulate(&jobs, |at, mut report| {
        if let Some(optimum) = &optimum {
            optimum.add_to(&mut report.document);
        }
        if let Some(dir) = out.dir().filter(|_| jobs[at].setup.with_series) {
            out.note(write_all(&report, dir.join(&report.document.scheme)));
        }
        let document = report.document.clone();
        Ok((document, jobs[at].setup.with_series.then_some(report)))
    })?;
    let (documents, reports): (Vec<RunDocument>, Vec<Option<Report>>) = runs.into_iter().unzip();
    let reports: Vec<Report> = reports.into_iter().flatten().collect();
    let schemes: Vec<Vec<RunDocument>> = documents.chunks(seeds.len()).map(<[_]>::to_vec).collect();
    let mut document = ComparisonDocument::of(&scenario.title, &schemes);
    if let Some(dir) = out.dir() {
        for compared in &mut document.schemes {
            compared.report = Some(format!("{}/report.html", compared.scheme));
        }
        out.note(write_comparison(&document, &reports, dir));
    }
    let mut text = if args.json { to_json(&document) } else { document.text(terminal_width()) };
    if let Some(dir) = out.complete().filter(|_| !args.json) {
        text += &format!("\nPage: {}\n", dir.join("compare.html").display());
    }
    terminal::print(&text)?;
    out.close()
}
