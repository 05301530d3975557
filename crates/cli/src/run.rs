//! `weir run`: one scenario under one scheme.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use weir_core::units::{Span, Time};
use weir_results::{Report, RunDocument, grouped, summary, terminal_width, to_json, write_all};
use weir_scenario::Scenario;
use weir_sim::{Progress, Setup, World};

use crate::{load, terminal};

/// Simulate a scenario, print what came out, and write a report
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// The scheme; by default the scenario's own
    #[arg(long)]
    scheme: Option<String>,
    /// The seed; given several times, there are as many runs, side by side
    #[arg(long = "seed", value_name = "N", default_value = "1", value_parser = seed, allow_negative_numbers = true)]
    seeds: Vec<u64>,
    /// Change a value of the scenario, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A further measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// Where to write report.html, run.json and the time series, over those of an earlier run; by default
    /// out/SCENARIO-SCHEME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as one JSON document and nothing else; with several seeds, an array
    #[arg(long)]
    json: bool,
    /// Send every packet through the codec, and stop if one changes
    #[arg(long)]
    check_wire: bool,
}

/// Runs it.
pub fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    for (at, seed) in args.seeds.iter().enumerate() {
        if args.seeds[..at].contains(seed) {
            return Err(format!("--seed {seed} is given twice: a seed gives the same run each time").into());
        }
    }
    let windows = args.windows.iter().map(|text| window(text)).collect::<Result<Vec<_>, _>>()?;
    if let Some(dir) = &args.out {
        no_file_there(dir)?;
    }
    let scenario = load::scenario(&args.scenario, &args.set)?;
    // A document alone needs neither files nor the series in them.
    let dir = match (&args.out, args.json) {
        (Some(dir), _) => Some(dir.clone()),
        (None, true) => None,
        (None, false) => Some(default_dir(&scenario, args)),
    };
    if let Some(dir) = &dir {
        no_file_there(dir)?;
    }
    let bar = progress_bar(&scenario, args.seeds.len());
    let runs: Vec<Result<Report, String>> = args
        .seeds
        .par_iter()
        .map(|&seed| {
            let setup = Setup {
                scheme: args.scheme.clone(),
                seed,
                windows: windows.clone(),
                with_series: dir.is_some(),
                check_wire: args.check_wire,
            };
            simulate(&scenario, &args.set, &setup, &bar)
        })
        .collect();
    bar.finish_and_clear();
    let reports = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
    for report in &reports {
        if let Some(dir) = &dir {
            write_all(report, run_dir(dir, report.document.seed, reports.len()))?;
        }
    }
    terminal::print(&render(&scenario, &reports, dir.as_deref(), args))
}

/// One run, with its time on the clock.
fn simulate(scenario: &Scenario, set: &[String], setup: &Setup, bar: &ProgressBar) -> Result<Report, String> {
    let begun = now();
    let mut world = World::build(scenario, setup).map_err(|error| error.to_string())?;
    bar.set_message("simulating");
    let mut shown = Time::ZERO;
    let mut show = |progress: Progress| {
        let advanced = progress.now - shown;
        if advanced >= Span::from_millis(500) {
            shown = progress.now;
            bar.inc(advanced.as_nanos() / 1_000_000);
        }
    };
    world.run(&mut show).map_err(|error| error.to_string())?;
    let outcome = world.finish();
    let mut report = outcome.report;
    report.document.wall_s = begun.elapsed().as_secs_f64();
    report.document.set = set.to_vec();
    if setup.check_wire {
        report.notes.push(format!(
            "{} packets went through the codec unchanged.",
            grouped(outcome.wire_checks as i64)
        ));
    }
    Ok(report)
}

#[expect(clippy::disallowed_methods, reason = "the command line measures how long a run takes")]
fn now() -> Instant {
    Instant::now()
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
            let page = run_dir(dir, report.document.seed, reports.len()).join("report.html");
            text += &format!("\nReport: {}\n", page.display());
        }
    }
    text
}

/// Refuses, before the run, a folder that cannot be one.
fn no_file_there(dir: &Path) -> Result<(), String> {
    match dir.ancestors().find(|path| path.exists()) {
        Some(file) if !file.is_dir() => {
            Err(format!("--out {}: {} is a file, not a folder", dir.display(), file.display()))
        }
        _ => Ok(()),
    }
}

fn default_dir(scenario: &Scenario, args: &Args) -> PathBuf {
    let stem = Path::new(&scenario.name).with_extension("");
    let name = stem.to_string_lossy().replace(['/', '\\'], "-");
    let scheme = args.scheme.as_deref().unwrap_or(&scenario.scheme);
    Path::new("out").join(format!("{}-{scheme}", name.trim_matches(['-', '.'])))
}

fn run_dir(dir: &Path, seed: u64, runs: usize) -> PathBuf {
    if runs == 1 { dir.to_owned() } else { dir.join(format!("seed-{seed}")) }
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

/// `20:120` is in seconds, `500ms:2s` has units.
fn window(text: &str) -> Result<(Span, Span), String> {
    let wrong =
        || format!("--window {text}: a window is two times with a colon between, such as 20:120 or 500ms:2s");
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    if text.starts_with('-') || to.starts_with('-') {
        return Err(format!("--window {text}: a window begins at 0 or later, such as 20:120 or 500ms:2s"));
    }
    let time =
        |text: &str| text.parse::<Span>().or_else(|_| format!("{text} s").parse()).map_err(|_| wrong());
    Ok((time(from)?, time(to)?))
}

/// Simulated milliseconds of all runs together; shown on a terminal only.
fn progress_bar(scenario: &Scenario, runs: usize) -> ProgressBar {
    let total = scenario.duration.as_nanos() / 1_000_000 * runs as u64;
    let style = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} %  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(total), terminal::progress())
        .with_style(style)
        .with_message("preparing");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
