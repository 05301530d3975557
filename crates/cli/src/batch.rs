//! Runs side by side: every command that simulates does it here.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use rayon::prelude::*;
use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Setup};
use weir_measure::Report;
use weir_results::grouped;
use weir_scenario::Scenario;
use weir_sim::{Progress, World};

use crate::provenance::{self, CommandLine};
use crate::{Failure, terminal};

/// How many seeds: of commands that give means over them.
#[derive(Debug, clap::Args)]
pub struct Seeds {
    /// How many seeds: every run is made with 1 to N
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
}

impl Seeds {
    /// All of them.
    pub fn list(&self) -> Vec<u64> {
        (1..=self.seeds).collect()
    }
}

/// A run to be made.
pub struct Job<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// What was changed in it with `--set`, for the document.
    pub set: &'a [String],
    /// How it is run.
    pub setup: Setup,
    /// Whether every packet goes through the codec.
    pub check_wire: bool,
}

impl Job<'_> {
    /// The command that makes this run alone.
    fn command(&self) -> CommandLine {
        CommandLine::new("run", &self.scenario.name)
            .option("--scheme", &self.setup.scheme)
            .option("--seed", [self.setup.seed])
            .option("--set", self.set)
            .option("--window", self.setup.windows.iter().map(provenance::window))
            .flag("--check-wire", self.check_wire)
    }
}

/// Makes all runs, as many at a time as there are processors, and shows on a terminal how far they
/// are. `keep` makes of each report, as soon as it is there, what is wanted of it; it also gets the
/// place of the job among all, whose order the results have.
///
/// # Errors
/// The first of a run or of `keep`.
pub fn simulate<T: Send>(
    jobs: &[Job<'_>],
    keep: impl Fn(usize, Report) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    Shown::new(jobs.len(), jobs.iter().map(|job| job.scenario.duration)).simulate(jobs, keep)
}

/// How far runs are, which may be made in several batches.
pub struct Shown {
    bar: ProgressBar,
    log: Log,
    done: AtomicUsize,
    all: usize,
}

impl Shown {
    /// Of so many runs with these simulated times.
    pub fn new(runs: usize, simulated: impl Iterator<Item = Span>) -> Shown {
        Shown { bar: progress_bar(simulated), log: Log::new(), done: AtomicUsize::new(0), all: runs }
    }

    /// Makes some of the runs, as [`simulate`].
    ///
    /// # Errors
    /// As there.
    pub fn simulate<T: Send>(
        &self,
        jobs: &[Job<'_>],
        keep: impl Fn(usize, Report) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let kept = jobs.par_iter().enumerate().map(|(at, job)| {
            let kept = keep(at, simulate_one(job, &self.bar, &self.log)?)?;
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            if self.all > 1 {
                self.bar.set_message(format!("{done} of {} runs", self.all));
            }
            Ok(kept)
        });
        kept.collect()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// One run, with its time on the clock.
fn simulate_one(job: &Job<'_>, bar: &ProgressBar, log: &Log) -> Result<Report, Failure> {
    let begun = now();
    let experiment = Experiment::new(job.scenario, &job.setup)?;
    let mut world = World::build(&experiment)?;
    if job.check_wire {
        world = world.checking_wire();
    }
    let mut shown = Time::ZERO;
    let mut show = |progress: Progress| {
        let advanced = progress.now - shown;
        if advanced >= Span::from_millis(500) {
            shown = progress.now;
            bar.inc(advanced.as_nanos() / 1_000_000);
            log.say(bar);
        }
    };
    world.run(&mut show)?;
    let outcome = world.finish();
    let mut report = outcome.report;
    report.document.wall_s = begun.elapsed().as_secs_f64();
    report.document.set = job.set.to_vec();
    job.command().sign(&mut report.document);
    if job.check_wire {
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

/// Where there is no terminal for a bar: a line now and then, so that who waits knows for what.
struct Log {
    /// When there is the next one; none on a terminal.
    next: Option<Mutex<Instant>>,
}

impl Log {
    const EVERY: Duration = Duration::from_secs(10);

    fn new() -> Log {
        Log { next: (!terminal::has_progress()).then(|| Mutex::new(now() + Log::EVERY)) }
    }

    /// Says how far all runs are, if it is time to.
    fn say(&self, bar: &ProgressBar) {
        let Some(mut next) = self.next.as_ref().and_then(|next| next.try_lock().ok()) else { return };
        if now() < *next {
            return;
        }
        *next = now() + Log::EVERY;
        let part = 100 * bar.position() / bar.length().unwrap_or(1).max(1);
        eprintln!("{}: {part} %", bar.message());
    }
}

/// Simulated milliseconds of all runs together; shown on a terminal only.
fn progress_bar(simulated: impl Iterator<Item = Span>) -> ProgressBar {
    let total = simulated.map(|simulated| simulated.as_nanos() / 1_000_000).sum();
    let style = terminal::style("{msg} {bar:40} {percent:>3} %  {eta} left");
    let bar = ProgressBar::with_draw_target(Some(total), terminal::progress())
        .with_style(style)
        .with_message("simulating");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
