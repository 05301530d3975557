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

/// Progress of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The study begins.
    Begin {
        /// The number of runs that are kept already.
        kept: usize,
        /// The number of runs of the study.
        all: usize,
        /// The approximate number of packets that the missing runs put on links.
        cost: u64,
    },
    /// This much more of the cost has been simulated.
    Advance(u64),
    /// This number of runs is complete.
    Done(usize),
}

/// A callback for progress. It may be called on any thread.
pub type Watch<'a> = &'a (dyn Fn(Event) + Sync);

/// A run that failed.
#[derive(Debug)]
pub struct Failure {
    /// Its index among the runs.
    pub run: usize,
    /// Its key.
    pub key: Key,
    /// The cause.
    pub error: StudyError,
}

/// The outcome of the runs of a study.
#[derive(Debug, Default)]
pub struct Executed {
    /// The number of runs that were kept before.
    pub kept: usize,
    /// The number of runs that were made.
    pub made: usize,
    /// The number of runs that were not repeated with another seed, because the seed decides nothing.
    pub alike: usize,
    /// The runs that failed, in the order of the runs.
    pub failures: Vec<Failure>,
    /// The first error in writing a record. The record is in memory.
    pub unwritten: Option<StudyError>,
}

impl Executed {
    /// Returns this outcome, if no run failed.
    ///
    /// # Errors
    /// Returns the first failure, with the command of its run if other runs did not fail.
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

/// Decides which run is made next, and collects the results. All executors share it: threads, and the
/// processes of a cluster.
#[derive(Debug)]
pub struct Schedule {
    runs: Arc<[Run]>,
    store: Arc<RunStore>,
    /// The indices of the runs to be made.
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
    /// Schedules the runs that are not kept, and those for which `is_needed` is true.
    pub fn new(runs: Arc<[Run]>, store: Arc<RunStore>, is_needed: &dyn Fn(usize) -> bool) -> Schedule {
        let firsts = firsts(&runs);
        let mut missing = Vec::new();
        let mut executed = Executed::default();
        // The index of a kept run of the group whose seed decides nothing.
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

    /// Returns the runs of the study.
    pub fn runs(&self) -> &Arc<[Run]> {
        &self.runs
    }

    /// Returns the event of its beginning.
    pub fn begins(&self) -> Event {
        Event::Begin { kept: self.done(), all: self.runs.len(), cost: self.cost.iter().sum() }
    }

    /// Returns the number of runs that were kept before, and the number of all runs.
    pub fn kept(&self) -> (usize, usize) {
        (self.state().executed.kept, self.runs.len())
    }

    /// Returns the number of complete runs.
    pub fn done(&self) -> usize {
        self.state().done
    }

    /// Returns the approximate number of packets that a run puts on links, by its index among the missing
    /// ones.
    pub fn cost(&self, place: usize) -> u64 {
        self.cost[place]
    }

    /// Begins a run. Returns its index among the missing ones, and among all; `None` if none is left.
    pub fn begin(&self) -> Option<(usize, usize)> {
        let place = self.state().queue.begin()?;
        Some((place, self.missing[place]))
    }

    /// Begins a run that is certainly needed, for an executor that sends more runs than it makes at the same
    /// time. Returns `None` if there is none at present.
    pub fn begin_needed(&self) -> Option<(usize, usize)> {
        let place = self.state().queue.begin_needed()?;
        Some((place, self.missing[place]))
    }

    /// Returns a run, by its index among the missing ones.
    pub fn run(&self, place: usize) -> &Run {
        &self.runs[self.missing[place]]
    }

    /// Ends a run, by its index among the missing ones, and keeps its record. Returns the indices, among the
    /// missing runs, of those that need not be made because the seed decides nothing; their records are kept
    /// too.
    pub fn end(&self, place: usize, ended: Result<Record, StudyError>) -> Vec<usize> {
        let at = self.missing[place];
        let record = match ended {
            Ok(record) => record,
            Err(error) => {
                let key = self.runs[at].request().key();
                let mut state = self.state();
                // The others of its group are made separately.
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

    /// Returns a run that has begun but did not end, because its worker is gone. It will be made again.
    pub fn give_back(&self, place: usize) {
        self.state().queue.give_back(place);
    }

    /// Stops beginning runs.
    pub fn close(&self) {
        self.state().queue.close();
    }

    /// Returns the outcome of all runs.
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

/// Returns the costs of some runs. Adjacent runs with the same point have the same cost.
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

/// Returns for each run the first one of its group of adjacent runs that differ only in the seed.
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

/// Makes a run. A panic in it fails only this run.
fn made_or_panicked(run: &Run, progress: &mut dyn FnMut(f64), cancel: &Cancel) -> Result<Made, StudyError> {
    let made = panic::catch_unwind(AssertUnwindSafe(|| run.make(progress, cancel)));
    made.unwrap_or_else(|_| {
        Err(StudyError::Invalid("the simulator panicked: this is a fault of Weir".to_owned()))
    })
}

/// Returns for each missing run the index, among these, of the first of its group.
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

/// The settings for runs on the threads of this process.
pub struct Threads<'a> {
    /// The number of runs at a time, at least one.
    pub jobs: usize,
    /// Called with progress.
    pub watch: Watch<'a>,
    /// Cancels the study.
    pub cancel: &'a Cancel,
    /// Called with the measurements of each run and its index among all, before they are kept.
    pub on_made: &'a (dyn Fn(usize, &Made) + Sync),
    /// Called after records were kept, on any thread.
    pub on_kept: &'a (dyn Fn() + Sync),
}

impl Threads<'_> {
    /// Makes all runs of a schedule.
    ///
    /// Runs that differ only in the seed are adjacent. If the seed decides nothing, one of them is made, and
    /// its figures count for all. A run that fails does not end the others.
    ///
    /// # Errors
    /// Returns [`StudyError::Cancelled`] if the study was cancelled.
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
