//! Runs in parallel, for all commands that simulate.

use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar};
use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Setup};
use weir_measure::{Report, Series};
use weir_results::grouped;
use weir_scenario::Scenario;
use weir_sim::{Progress, World};

use crate::app::Stop;
use crate::provenance::{self, CommandLine};
use crate::run_queue::RunQueue;
use crate::{Failure, terminal};

/// How many seeds: of commands that give means over them.
#[derive(Debug, clap::Args)]
pub struct Seeds {
    /// The number of seeds: every run is made with the seeds 1 to N
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
    pub scenario: &'a Arc<Scenario>,
    /// What was changed in it with `--set`, for the document.
    pub set: &'a [String],
    /// How it is run.
    pub setup: Setup,
    /// Whether every packet goes through the codec.
    pub check_wire: bool,
    /// How long it takes, in any unit that the jobs have in common.
    pub cost: u64,
}

/// The cost of a run as far as its duration says, simulated ms.
pub fn by_duration(scenario: &Scenario) -> u64 {
    scenario.duration.as_nanos() / 1_000_000
}

impl Job<'_> {
    /// Whether it is another one with a change of the seed alone, and with no figures over time that the other lacks.
    fn differs_in_seed(&self, other: &Job<'_>) -> bool {
        let (own, others) = (&self.setup, &other.setup);
        Arc::ptr_eq(self.scenario, other.scenario)
            && self.set == other.set
            && self.check_wire == other.check_wire
            && own.scheme == others.scheme
            && own.windows == others.windows
            && own.probes == others.probes
            && (others.with_series || !own.with_series)
    }

    /// Its report, if its seed decides as little as that of the run that this report is of.
    fn same_as(&self, report: &Report) -> Report {
        let series = if self.setup.with_series { report.series.clone() } else { Series::default() };
        let mut document = report.document.clone();
        document.seed = self.setup.seed;
        self.command().sign(&mut document);
        Report { document, series, ..report.clone() }
    }

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
/// Jobs that differ in the seed alone follow each other. Where the seed decides nothing, one of them is made, and its
/// report counts for all.
///
/// SIGINT and SIGTERM end the program with the number of completed runs and `left`: what the user has then.
///
/// # Errors
/// The first of a run or of `keep`.
pub fn simulate<T: Send>(
    jobs: &[Job<'_>],
    left: &'static str,
    keep: impl Fn(usize, Report) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    simulate_after(0, jobs, left, keep)
}

/// The same of runs of which so many have been made before.
///
/// # Errors
/// As there.
pub fn simulate_after<T: Send>(
    before: usize,
    jobs: &[Job<'_>],
    left: &'static str,
    keep: impl Fn(usize, Report) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let shown = Shown::new(before, jobs);
    shown.say_when_interrupted(left)?;
    let kept: Vec<Mutex<Option<T>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let queue = Mutex::new(RunQueue::new(jobs.iter().map(|job| job.cost).collect(), firsts(jobs)));
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let keep_one = |at: usize, report: Report| -> Result<(), Failure> {
        *locked(&kept[at]) = Some(keep(at, report)?);
        Ok(())
    };
    let make = |at: usize| -> Result<(), Failure> {
        let report = simulate_one(&jobs[at], &shown)?;
        let alike = locked(&queue).end(at, report.document.seed_matters);
        for &other in &alike {
            keep_one(other, jobs[other].same_as(&report))?;
        }
        keep_one(at, report)?;
        shown.end(&alike, jobs);
        Ok(())
    };
    let work = |_: rayon::BroadcastContext<'_>| {
        loop {
            let next = locked(&queue).begin();
            let Some(at) = next else { break };
            if let Err(error) = make(at) {
                locked(&failure).get_or_insert(error);
                locked(&queue).close();
            }
        }
    };
    rayon::broadcast(work);
    if let Some(error) = locked(&failure).take() {
        return Err(error);
    }
    shown.note_not_made();
    Ok(kept.iter().filter_map(|one| locked(one).take()).collect())
}

/// For each job the first of those that follow each other and differ in the seed alone.
fn firsts(jobs: &[Job<'_>]) -> Vec<usize> {
    let mut first = 0;
    let of_job = |at: usize| {
        if !jobs[at].differs_in_seed(&jobs[first]) {
            first = at;
        }
        first
    };
    (0..jobs.len()).map(of_job).collect()
}

/// A thread that panicked has ended the program.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How far the runs are.
struct Shown {
    bar: ProgressBar,
    log: Log,
    done: Arc<AtomicUsize>,
    not_made: AtomicUsize,
    all: usize,
}

impl Shown {
    fn new(before: usize, jobs: &[Job<'_>]) -> Shown {
        let cost = jobs.iter().map(|job| job.cost).sum();
        let all = before + jobs.len();
        let (done, not_made) = (Arc::new(AtomicUsize::new(before)), AtomicUsize::new(0));
        let shown = Shown { bar: progress_bar(cost), log: Log::new(), done, not_made, all };
        shown.say_done(before);
        shown
    }

    /// Ends the program at SIGINT and SIGTERM, with the number of completed runs and what is left of them. It looks for
    /// the signals until the program ends, because files are written after the last run.
    fn say_when_interrupted(&self, left: &'static str) -> io::Result<()> {
        let (stop, bar, done, all) = (Stop::new()?, self.bar.clone(), Arc::clone(&self.done), self.all);
        let watch = move || {
            wait_for(&stop);
            bar.finish_and_clear();
            let runs = if all == 1 { "run" } else { "runs" };
            eprintln!("interrupted: {} of {all} {runs} completed; {left}", done.load(Ordering::Relaxed));
            exit(130);
        };
        thread::Builder::new().name("interrupt".to_owned()).spawn(watch).map(drop)
    }

    /// A run has ended, and with it others that are alike.
    fn end(&self, alike: &[usize], jobs: &[Job<'_>]) {
        alike.iter().for_each(|at| self.bar.inc(jobs[*at].cost));
        self.not_made.fetch_add(alike.len(), Ordering::Relaxed);
        let ended = 1 + alike.len();
        self.say_done(self.done.fetch_add(ended, Ordering::Relaxed) + ended);
    }

    /// Says how many runs were not made.
    fn note_not_made(&self) {
        let not_made = self.not_made.load(Ordering::Relaxed);
        if not_made > 0 {
            let (runs, them) =
                if not_made == 1 { ("1 run was", "it") } else { (&*format!("{not_made} runs were"), "them") };
            self.bar.suspend(|| {
                eprintln!("note: {runs} not repeated with another seed: nothing in {them} is random, so every seed gives the same figures");
            });
        }
    }

    fn say_done(&self, done: usize) {
        if self.all > 1 {
            self.bar.set_message(format!("{done} of {} runs", self.all));
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// One run, with its time on the clock.
fn simulate_one(job: &Job<'_>, shown: &Shown) -> Result<Report, Failure> {
    let begun = now();
    let experiment = Experiment::new(Arc::clone(job.scenario), &job.setup)?;
    let mut world = World::build(experiment)?;
    if job.check_wire {
        world = world.checking_wire();
    }
    let (mut last, mut counted) = (Time::ZERO, 0);
    let duration = job.scenario.duration.as_secs_f64();
    let mut show = |progress: Progress| {
        if progress.now - last >= Span::from_millis(500) {
            last = progress.now;
            let part = (last - Time::ZERO).as_secs_f64() / duration;
            let cost = (job.cost as f64 * part) as u64;
            shown.bar.inc(cost - counted);
            counted = cost;
            shown.log.say(&shown.bar);
        }
    };
    world.run(&mut show)?;
    shown.bar.inc(job.cost.saturating_sub(counted));
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

#[expect(clippy::disallowed_methods, reason = "a thread of its own waits for the user")]
fn wait_for(stop: &Stop) {
    while !stop.is_asked() {
        thread::sleep(Duration::from_millis(50));
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line measures how long a run takes")]
fn now() -> Instant {
    Instant::now()
}

/// Where there is no terminal for a bar: a line now and then, so that who waits knows for what.
struct Log {
    begun: Instant,
    /// When there is the next one; none on a terminal.
    next: Option<Mutex<Instant>>,
}

impl Log {
    const EVERY: Duration = Duration::from_secs(10);

    fn new() -> Log {
        let next = (!terminal::has_progress()).then(|| Mutex::new(now() + Log::EVERY));
        Log { begun: now(), next }
    }

    /// How long it takes yet, if it goes on as it did.
    fn left(&self, bar: &ProgressBar) -> Duration {
        let (done, all) = (bar.position().max(1), bar.length().unwrap_or(1));
        self.begun.elapsed().mul_f64(all.saturating_sub(done) as f64 / done as f64)
    }

    /// Says how far all runs are, if it is time to.
    fn say(&self, bar: &ProgressBar) {
        let Some(mut next) = self.next.as_ref().and_then(|next| next.try_lock().ok()) else { return };
        if now() < *next {
            return;
        }
        *next = now() + Log::EVERY;
        let part = 100 * bar.position() / bar.length().unwrap_or(1).max(1);
        eprintln!("{}, {} left: {part} %", bar.message(), HumanDuration(self.left(bar)));
    }
}

/// Of the costs of all runs together; shown on a terminal only.
fn progress_bar(total: u64) -> ProgressBar {
    let style = terminal::style("{msg} {bar:40} {percent:>3} %  {eta} left");
    let bar = ProgressBar::with_draw_target(Some(total), terminal::progress())
        .with_style(style)
        .with_message("simulating");
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
