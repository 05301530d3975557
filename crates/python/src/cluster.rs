//! Runs of a study on other machines.
//!
//! What sends runs there is written in Python (`weir/_cluster.py`). It gets a [`Schedule`], which says which run is next and
//! takes what came of each. A machine makes a run by [`run_request`], from bytes to bytes.

use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use weir_study::{Cancel, Event, Executed, Record, Request, StudyError};

use crate::errors::{WeirError, study_error};
use crate::study::Watched;

/// Makes a run that is given as bytes, and returns its record as bytes.
#[pyfunction]
pub fn run_request<'py>(py: Python<'py>, request: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let made = py.detach(|| {
        let run = Request::from_bytes(request)?.run()?;
        let made = run.make(&mut |_| (), &Cancel::new())?;
        Ok(Record::of(&run, &made).to_bytes())
    });
    made.map(|record| PyBytes::new(py, &record)).map_err(|error| study_error(py, &error))
}

/// Which run of a study is made next, and what came of the others.
#[pyclass(frozen, module = "weir._native")]
pub struct Schedule {
    /// `None` once the study is over.
    open: Mutex<Option<Open>>,
    watched: Watched,
    progress: Option<Py<PyAny>>,
}

struct Open {
    schedule: weir_study::Schedule,
    /// Is told that records were kept.
    kept: Sender<()>,
}

/// Has the runs of a schedule made by `elsewhere`, a callable that gets it and returns when all runs have ended. `on_kept`
/// is called after records were kept, on another thread.
pub fn execute(
    schedule: weir_study::Schedule,
    elsewhere: &Py<PyAny>,
    progress: Option<&Py<PyAny>>,
    on_kept: &(dyn Fn() + Sync),
) -> PyResult<Executed> {
    let watched = Watched::default();
    watched.on(schedule.begins());
    let (kept, keeps) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| keeps.into_iter().for_each(|()| on_kept()));
        let open = Mutex::new(Some(Open { schedule, kept }));
        Python::attach(|py| {
            let progress = progress.map(|progress| progress.clone_ref(py));
            let schedule = Bound::new(py, Schedule { open, watched, progress })?;
            let called = elsewhere.call1(py, (&schedule,));
            // Python may hold the object for longer: what it has is taken out, so that the thread above ends too.
            let ended = schedule.get().close();
            called?;
            schedule.get().look(py)?;
            ended.map_err(|error| study_error(py, &error))
        })
    })
}

#[pymethods]
impl Schedule {
    /// Begins a run: its place, its key, and the request for `run_request`. `None` if there is none to begin now.
    ///
    /// `needed`: not one that the seed of another one may turn out to decide nothing for.
    fn begin<'py>(
        &self,
        py: Python<'py>,
        needed: bool,
    ) -> PyResult<Option<(usize, String, Bound<'py, PyBytes>)>> {
        let begun = self.with(py, |open| {
            let schedule = &open.schedule;
            let (place, _) = if needed { schedule.begin_needed() } else { schedule.begin() }?;
            let request = schedule.run(place).request();
            Some((place, request.key().to_string(), request.to_bytes()))
        })?;
        Ok(begun.map(|(place, key, request)| (place, key, PyBytes::new(py, &request))))
    }

    /// A run has ended: its record.
    fn end(&self, py: Python<'_>, place: usize, record: &[u8]) -> PyResult<()> {
        self.ended(py, place, |expected| {
            let record = Record::from_bytes(record)?;
            let key = record.request.key();
            if key == expected.key() {
                return Ok(record);
            }
            Err(StudyError::Record(format!("the record of run {key} came instead of this run's")))
        })
    }

    /// A run has failed, for this reason.
    fn fail(&self, py: Python<'_>, place: usize, reason: String) -> PyResult<()> {
        self.ended(py, place, |_| Err(StudyError::Elsewhere(reason)))
    }

    /// A run that has begun did not end: it can begin again.
    fn give_back(&self, py: Python<'_>, place: usize) -> PyResult<()> {
        self.with(py, |open| open.schedule.give_back(place))
    }

    /// Looks for signals, and tells the progress.
    fn look(&self, py: Python<'_>) -> PyResult<()> {
        self.watched.look(py, self.progress.as_ref())
    }
}

impl Schedule {
    fn with<R: Send>(&self, py: Python<'_>, act: impl FnOnce(&Open) -> R + Send) -> PyResult<R> {
        let acted = py.detach(|| {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.as_ref().map(act)
        });
        acted.ok_or_else(|| WeirError::new_err("the study is over"))
    }

    fn ended(
        &self,
        py: Python<'_>,
        place: usize,
        record: impl FnOnce(&Request) -> Result<Record, StudyError> + Send,
    ) -> PyResult<()> {
        self.with(py, |Open { schedule, kept }| {
            let alike = schedule.end(place, record(&schedule.run(place).request()));
            for place in std::iter::once(place).chain(alike) {
                self.watched.on(Event::Advance(schedule.cost(place)));
            }
            self.watched.on(Event::Done(schedule.done()));
            // The other end is there until this one is gone.
            let _ = kept.send(());
        })
    }

    /// What came of all.
    fn close(&self) -> Result<Executed, StudyError> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Open { schedule, .. }) = open else { return Ok(Executed::default()) };
        let (done, all) = (schedule.done(), schedule.runs().len());
        let executed = schedule.finish();
        if done + executed.failures.len() < all {
            return Err(StudyError::Cancelled { done, all });
        }
        Ok(executed)
    }
}
