//! Runs of a study on a terminal: progress and Ctrl-C.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar};
use weir_results::terminal_width;
use weir_study::{
    Cancel, Event, Executed, Failure as RunFailure, Made, Outcome, PartialTables, Run, RunStore, Schedule,
    Stopwatch, StudyError, Threads, View,
};

use crate::app::Stop;
use crate::out::Out;
use crate::{Failure, terminal};

/// The option for the number of simultaneous runs.
#[derive(Clone, Debug, clap::Args)]
pub struct Jobs {
    /// The number of simultaneous runs; by default the number of processors
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl Jobs {
    /// One run at a time.
    pub fn one() -> Jobs {
        Jobs { jobs: Some(1) }
    }

    /// Number of simultaneous runs.
    pub fn number(&self) -> usize {
        self.of_threads(1)
    }

    /// Number of simultaneous runs if each takes `threads` threads.
    pub fn of_threads(&self, threads: usize) -> usize {
        self.jobs.map_or_else(|| (processors() / threads.max(1)).max(1), usize::from)
    }
}

/// Number of processors.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The runs of a command, and callbacks.
pub struct Execution<'a> {
    /// The runs.
    pub runs: Arc<[Run]>,
    /// The store for their records.
    pub store: Arc<RunStore>,
    /// Number of simultaneous runs.
    pub jobs: usize,
    /// The message about what remains after an interruption.
    pub left: &'static str,
    /// Whether a kept run must run again.
    pub is_needed: &'a dyn Fn(usize) -> bool,
    /// Receives the result of each run with its index.
    pub on_made: &'a (dyn Fn(usize, &Made) + Sync),
    /// Called after records were stored.
    pub on_kept: &'a (dyn Fn() + Sync),
}

/// Error: SIGINT or SIGTERM ended a command.
#[derive(Debug)]
pub struct Interrupted(String);

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Interrupted {}

impl Execution<'_> {
    /// Makes the missing runs, at most `jobs` at a time, and shows progress. SIGINT and SIGTERM end them. A second
    /// signal ends the program at once.
    ///
    /// # Errors
    /// Returns [`Interrupted`], with the number of completed runs and what remains.
    pub fn execute(self) -> Result<Executed, Failure> {
        let cancel = Cancel::new();
        Stop::listen(cancel.flag())?;
        let schedule = Schedule::new(self.runs, Arc::clone(&self.store), self.is_needed);
        note_kept(schedule.kept(), self.store.dir());
        let shown = Shown::new();
        let threads = Threads {
            jobs: self.jobs,
            watch: &|event| shown.on(event),
            cancel: &cancel,
            on_made: self.on_made,
            on_kept: self.on_kept,
        };
        let executed = threads.execute(schedule);
        shown.bar.finish_and_clear();
        match executed {
            Ok(executed) => {
                note_alike(executed.alike);
                Ok(executed)
            }
            Err(StudyError::Cancelled { done, all }) => {
                let runs = if all == 1 { "run" } else { "runs" };
                let left = self.left;
                Err(Interrupted(format!("interrupted: {done} of {all} {runs} completed; {left}")).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What remains of an interrupted study.
const KEPT: &str = "the completed runs are kept; the same command makes the others";
/// The same without a folder.
const LOST: &str = "without a folder no run is kept; the same command starts from the beginning";

/// Makes the missing runs of a study, and its outcome. Tables, pages and reports are written to the folder.
///
/// # Errors
/// Returns [`Interrupted`], or the error of the first failed run if the view needs all of them.
pub fn make(view: &dyn View, jobs: &Jobs, out: &Out) -> Result<(Outcome, Vec<RunFailure>), Failure> {
    let store = Arc::new(RunStore::of_results(out.dir()));
    let needs_report = |run: usize| out.dir().is_some_and(|dir| view.needs_report(run, dir));
    let partial = out.dir().map(|dir| PartialTables::new(view.study(), &store, dir));
    let execution = Execution {
        runs: view.runs(),
        store: Arc::clone(&store),
        jobs: jobs.number(),
        left: if out.dir().is_some() { KEPT } else { LOST },
        is_needed: &needs_report,
        on_made: &|run, made| out.dir().iter().for_each(|dir| out.note(view.write_report(run, made, dir))),
        on_kept: &|| partial.iter().for_each(|partial| out.note(partial.write_if_due())),
    };
    let executed = execution.execute();
    if executed.is_err() {
        partial.iter().for_each(|partial| out.note(partial.write()));
    }
    Ok(view.finish(&store, executed?, out.dir(), &|written| out.note(written))?)
}

/// Prints how many runs of a study are already in its folder.
fn note_kept((kept, all): (usize, usize), dir: Option<&Path>) {
    if let (1.., Some(dir)) = (kept, dir) {
        note!("note: {kept} of {all} runs are in {} already", dir.display());
    }
}

/// Prints the outcome, as tables or as JSON, and the path of its page.
///
/// # Errors
/// Returns an error if something could not be written.
pub fn print(outcome: &Outcome, is_json: bool, out: Out) -> Result<(), Failure> {
    let mut text = if is_json { outcome.json() } else { outcome.text(terminal_width()) };
    if let Some(dir) = out.complete().filter(|_| !is_json) {
        text += &format!("\nTable: {}\n", dir.join("results.parquet").display());
        text += &format!("Page: {}\n", dir.join(outcome.page()).display());
    }
    terminal::print(&text)?;
    out.close()
}

/// Prints how many runs were skipped because they have the same result.
fn note_alike(alike: usize) {
    if alike > 0 {
        let (runs, them) =
            if alike == 1 { ("1 run was".to_owned(), "it") } else { (format!("{alike} runs were"), "them") };
        note!(
            "note: {runs} not repeated with another seed: nothing in {them} is random, so every seed gives the same figures"
        );
    }
}

/// Progress of the runs: a bar on a terminal, otherwise a line from time to time.
struct Shown {
    bar: ProgressBar,
    begun: Stopwatch,
    /// The time of the next line since the beginning; `None` on a terminal.
    next: Option<Mutex<Duration>>,
    /// Number of runs.
    all: AtomicUsize,
    /// Completed and total cost of the runs.
    done: AtomicU64,
    cost: AtomicU64,
}

impl Shown {
    const EVERY: Duration = Duration::from_secs(10);

    fn new() -> Shown {
        let style = terminal::style("{msg} {bar:40} {percent:>3} %  {eta} left");
        let bar = ProgressBar::with_draw_target(Some(1), terminal::progress())
            .with_style(style)
            .with_message("simulating");
        terminal::tick(&bar);
        let next = (!terminal::has_progress()).then(|| Mutex::new(Shown::EVERY));
        let (done, cost) = (AtomicU64::new(0), AtomicU64::new(1));
        Shown { bar, begun: Stopwatch::start(), next, all: AtomicUsize::new(0), done, cost }
    }

    fn on(&self, event: Event) {
        match event {
            Event::Begin { kept, all, cost } => {
                self.bar.set_length(cost.max(1));
                self.cost.store(cost.max(1), Ordering::Relaxed);
                self.all.store(all, Ordering::Relaxed);
                self.on(Event::Done(kept));
            }
            Event::Advance(cost) => match &self.next {
                None => self.bar.inc(cost),
                Some(next) => {
                    let done = self.done.fetch_add(cost, Ordering::Relaxed) + cost;
                    self.say(next, done);
                }
            },
            Event::Done(done) => {
                let all = self.all.load(Ordering::Relaxed);
                if all > 1 {
                    self.bar.set_message(format!("{done} of {all} runs"));
                }
            }
        }
    }

    /// Prints the progress of all runs if it is time to, and the estimated remaining time.
    fn say(&self, next: &Mutex<Duration>, done: u64) {
        let Ok(mut next) = next.try_lock() else { return };
        let now = self.begun.elapsed();
        if now < *next {
            return;
        }
        *next = now + Shown::EVERY;
        let cost = self.cost.load(Ordering::Relaxed);
        let left = now.mul_f64(cost.saturating_sub(done) as f64 / done.max(1) as f64);
        note!("{}, {} left: {} %", self.bar.message(), HumanDuration(left), 100 * done / cost);
    }
}
