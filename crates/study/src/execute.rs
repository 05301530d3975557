//! Makes the missing runs of a study, on threads or elsewhere.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{panic, thread};

use crate::cancel::Cancel;
use crate::error::StudyError;
use crate::queue::RunQueue;
use crate::run::{Key, Made, Record, Run};
use crate::store::RunStore;

/// What happens while runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The study begins.
    Begin {
        /// Runs that are kept already.
        kept: usize,
        /// Runs of the study.
        all: usize,
        /// About how many packets the missing runs put on links.
        cost: u64,
    },
    /// So much more of the cost has been simulated.
    Advance(u64),
    /// So many runs are complete.
    Done(usize),
}

/// Is told what happens, on any thread.
pub type Watch<'a> = &'a (dyn Fn(Event) + Sync);

/// A run that failed.
#[derive(Debug)]
pub struct Failure {
    /// Its place among the runs.
    pub run: usize,
    /// Its key.
    pub key: Key,
    /// Why.
    pub error: StudyError,
}

/// What came of the runs of a study.
#[derive(Debug, Default)]
pub struct Executed {
    /// Runs that were kept before.
    pub kept: usize,
    /// Runs that were made.
    pub made: usize,
    /// Runs that were not repeated with another seed, because the seed decides nothing.
    pub alike: usize,
    /// Runs that failed, in the order of the runs.
    pub failures: Vec<Failure>,
    /// The first record that could not be written. It is in memory.
    pub unwritten: Option<StudyError>,
}

impl Executed {
    /// The same, if none of these runs failed.
    ///
    /// # Errors
    /// The first failure, with the command of its run if others did not fail.
    pub fn complete(mut self, runs: &[Run]) -> Result<Executed, StudyError> {
        if self.failures.is_empty() {
            return Ok(self);
        }
        let Failure { run, error, .. } = self.failures.remove(0);
        match error {
            error if runs.len() == 1 => Err(error),
            error => Err(StudyError::Invalid(format!("{error}\n  = of: {}", runs[run].command().text()))),
        }
    }
}

/// Which run is made next, and what came of the others. It is the part that all executors share: threads, and the
/// processes of a cluster.
#[derive(Debug)]
pub struct Schedule {
    runs: Arc<[Run]>,
    store: Arc<RunStore>,
    /// The places of the runs that are to be made.
    missing: Vec<usize>,
    cost: Vec<u64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queue: RunQueue,
    done: usize,
    executed: Executed,
}

impl Schedule {
    /// Of those of the runs that are not kept, or that `is_needed` once more.
    pub fn new(runs: Arc<[Run]>, store: Arc<RunStore>, is_needed: &dyn Fn(usize) -> bool) -> Schedule {
        let firsts = firsts(&runs);
        let mut missing = Vec::new();
        let mut executed = Executed::default();
        // The place of a kept run of the group whose seed decides nothing.
        let mut alike: Option<(usize, usize)> = None;
        for at in 0..runs.len() {
            match store.find(&runs[at]).filter(|_| !is_needed(at)) {
                Some(record) => {
                    executed.kept += 1;
                    if !record.document.seed_matters {
                        alike = Some((firsts[at], at));
                    }
                }
                None => match alike.filter(|(first, _)| *first == firsts[at] && !is_needed(at)) {
                    Some((_, kept)) if runs[at].differs_in_seed(&runs[kept]) => {
                        executed.alike += 1;
                        if let Some(record) = store.find(&runs[kept]) {
                            note(&mut executed, store.keep(record.of_seed(&runs[at])));
                        }
                    }
                    _ => missing.push(at),
                },
            }
        }
        let cost = costs(&runs, &missing);
        let queue = RunQueue::new(cost.clone(), first_places(&missing, &firsts));
        let done = executed.kept + executed.alike;
        Schedule { runs, store, missing, cost, state: Mutex::new(State { queue, done, executed }) }
    }

    /// The runs of the study.
    pub fn runs(&self) -> &Arc<[Run]> {
        &self.runs
    }

    /// How it begins.
    pub fn begins(&self) -> Event {
        Event::Begin { kept: self.done(), all: self.runs.len(), cost: self.cost.iter().sum() }
    }

    /// How many runs were kept before, and how many there are.
    pub fn kept(&self) -> (usize, usize) {
        (self.state().executed.kept, self.runs.len())
    }

    /// Runs that are complete.
    pub fn done(&self) -> usize {
        self.state().done
    }

    /// About how many packets a run puts on links, by its place among the missing ones.
    pub fn cost(&self, place: usize) -> u64 {
        self.cost[place]
    }

    /// Begins a run: its place among the missing ones, and among all. `None` if none is left to begin.
    pub fn begin(&self) -> Option<(usize, usize)> {
        let place = self.state().queue.begin()?;
        Some((place, self.missing[place]))
    }

    /// Begins a run that is needed in any case, for an executor that sends more runs than are made at the same time. `None`
    /// if there is none at present.
    pub fn begin_needed(&self) -> Option<(usize, usize)> {
        let place = self.state().queue.begin_needed()?;
        Some((place, self.missing[place]))
    }

    /// A run, by its place among the missing ones.
    pub fn run(&self, place: usize) -> &Run {
        &self.runs[self.missing[place]]
    }

    /// A run has ended, by its place among the missing ones: its record is kept. Returns the places, among the missing
    /// runs, of those that need not be made because the seed decides nothing; their records are kept too.
    pub fn end(&self, place: usize, ended: Result<Record, StudyError>) -> Vec<usize> {
        let at = self.missing[place];
        let record = match ended {
            Ok(record) => record,
            Err(error) => {
                let key = self.runs[at].request().key();
                let mut state = self.state();
                // The others of its group are made by themselves.
                state.queue.end(place, true);
                state.executed.failures.push(Failure { run: at, key, error });
                return Vec::new();
            }
        };
        let alike = self.state().queue.end(place, record.document.seed_matters);
        let others: Vec<Record> =
            alike.iter().map(|other| record.clone().of_seed(&self.runs[self.missing[*other]])).collect();
        let kept: Vec<_> =
            std::iter::once(record).chain(others).map(|record| self.store.keep(record)).collect();
        let mut state = self.state();
        state.executed.made += 1;
        state.executed.alike += alike.len();
        state.done += 1 + alike.len();
        kept.into_iter().for_each(|kept| note(&mut state.executed, kept));
        alike
    }

    /// A run that has begun did not end, because its worker is gone: it is made once more.
    pub fn give_back(&self, place: usize) {
        self.state().queue.give_back(place);
    }

    /// Begins no further run.
    pub fn close(&self) {
        self.state().queue.close();
    }

    /// What came of all.
    pub fn finish(self) -> Executed {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut executed = state.executed;
        executed.failures.sort_by_key(|failure| failure.run);
        executed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note(executed: &mut Executed, kept: Result<(), StudyError>) {
    if let Err(error) = kept {
        executed.unwritten.get_or_insert(error);
    }
}

/// The costs of some runs. Neighbours share a point, and cost the same.
fn costs(runs: &[Run], places: &[usize]) -> Vec<u64> {
    let mut last: Option<(&Run, u64)> = None;
    let mut cost = |at: &usize| {
        let run = &runs[*at];
        let known = last.filter(|(last, _)| Arc::ptr_eq(&last.point, &run.point)).map(|(_, cost)| cost);
        let cost = known.unwrap_or_else(|| run.point.cost());
        last = Some((run, cost));
        cost
    };
    places.iter().map(&mut cost).collect()
}

/// For each run the first of those that follow each other and differ in the seed alone.
fn firsts(runs: &[Run]) -> Vec<usize> {
    let mut first = 0;
    let of_run = |at: usize| {
        if !runs[at].differs_in_seed(&runs[first]) {
            first = at;
        }
        first
    };
    (0..runs.len()).map(of_run).collect()
}

/// Makes a run. A fault of the program in it fails this run alone.
fn made_or_panicked(run: &Run, progress: &mut dyn FnMut(f64), cancel: &Cancel) -> Result<Made, StudyError> {
    let made = panic::catch_unwind(AssertUnwindSafe(|| run.make(progress, cancel)));
    made.unwrap_or_else(|_| {
        Err(StudyError::Invalid("the simulator panicked: this is a fault of Weir".to_owned()))
    })
}

/// For each missing run the place, among these, of the first of its group.
fn first_places(missing: &[usize], firsts: &[usize]) -> Vec<usize> {
    let mut first = 0;
    let of_place = |place: usize| {
        if firsts[missing[place]] != firsts[missing[first]] {
            first = place;
        }
        first
    };
    (0..missing.len()).map(of_place).collect()
}

/// The name of the threads that make runs.
const THREAD: &str = "run";

/// How runs are made on the threads of this process.
pub struct Threads<'a> {
    /// How many at a time, at least one.
    pub jobs: usize,
    /// Is told what happens.
    pub watch: Watch<'a>,
    /// Ends the study.
    pub cancel: &'a Cancel,
    /// Gets what each run measured, with its place among all, before it is kept.
    pub on_made: &'a (dyn Fn(usize, &Made) + Sync),
    /// Is called after records were kept, on any thread.
    pub on_kept: &'a (dyn Fn() + Sync),
}

impl Threads<'_> {
    /// Makes all runs of a schedule.
    ///
    /// Runs that differ in the seed alone follow each other. Where the seed decides nothing, one of them is made, and its
    /// figures count for all. A run that fails does not end the others.
    ///
    /// # Errors
    /// [`StudyError::Cancelled`].
    pub fn execute(&self, schedule: Schedule) -> Result<Executed, StudyError> {
        (self.watch)(schedule.begins());
        let threads = self.jobs.min(schedule.missing.len());
        thread::scope(|scope| {
            let begin = |_| {
                thread::Builder::new().name(THREAD.to_owned()).spawn_scoped(scope, || self.work(&schedule))
            };
            let workers: Vec<_> = (0..threads).map_while(|at| begin(at).ok()).collect();
            if workers.is_empty() {
                self.work(&schedule);
            }
            for worker in workers {
                worker.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            }
        });
        let (done, all) = (schedule.done(), schedule.runs.len());
        let executed = schedule.finish();
        if self.cancel.is_asked() && done + executed.failures.len() < all {
            return Err(StudyError::Cancelled { done, all });
        }
        Ok(executed)
    }

    fn work(&self, schedule: &Schedule) {
        while let Some((place, at)) = schedule.begin().filter(|_| !self.cancel.is_asked()) {
            let run = &schedule.runs[at];
            let (cost, told) = (schedule.cost(place), AtomicUsize::new(0));
            let advance = |part: f64| {
                let now = (cost as f64 * part.min(1.0)) as usize;
                let before = told.swap(now, Ordering::Relaxed);
                (self.watch)(Event::Advance((now - before.min(now)) as u64));
            };
            match made_or_panicked(run, &mut |part| advance(part), self.cancel) {
                Err(StudyError::Cancelled { .. }) => break,
                Err(error) => {
                    schedule.end(place, Err(error));
                }
                Ok(made) => {
                    (self.on_made)(at, &made);
                    for other in schedule.end(place, Ok(Record::of(run, &made))) {
                        let at = schedule.missing[other];
                        (self.on_made)(at, &made.of_seed(&schedule.runs[at]));
                        (self.watch)(Event::Advance(schedule.cost(other)));
                    }
                }
            }
            advance(1.0);
            (self.watch)(Event::Done(schedule.done()));
            (self.on_kept)();
        }
    }
}
