//! Runs of a study on other machines.
//!
//! Python code sends the runs there (`weir/_cluster.py`). It gets a [`Schedule`], which returns the next run and takes
//! the results. A machine makes a run with [`run_request`], from bytes to bytes.

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

/// The schedule of a study's runs: which run is next, and the results of the others.
#[pyclass(frozen, module = "weir._native")]
pub struct Schedule {
    /// `None` after the end of the study.
    open: Mutex<Option<Open>>,
    watched: Watched,
    progress: Option<Py<PyAny>>,
}

struct Open {
    schedule: weir_study::Schedule,
    /// Receives a message after records were kept.
    kept: Sender<()>,
}

/// Lets `elsewhere` make the runs of a schedule. It is a callable that gets the schedule and returns when all runs have
/// ended. `on_kept` is called after records were kept, on another thread.
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
            // Python may hold the object for longer. Its contents are taken out, so that the thread above ends too.
            let ended = schedule.get().close();
            called?;
            schedule.get().look(py)?;
            ended.map_err(|error| study_error(py, &error))
        })
    })
}

#[pymethods]
impl Schedule {
    /// Begins a run. Returns its index, its key, and the request for `run_request`, or `None` if no run can begin now.
    ///
    /// With `needed`, runs are skipped that may turn out to be unaffected by the seed.
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

    /// Takes the record of a run that has ended.
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

    /// Records that a run has failed, with the reason.
    fn fail(&self, py: Python<'_>, place: usize, reason: String) -> PyResult<()> {
        self.ended(py, place, |_| Err(StudyError::Elsewhere(reason)))
    }

    /// Returns a run that has begun but did not end. It can begin again.
    fn give_back(&self, py: Python<'_>, place: usize) -> PyResult<()> {
        self.with(py, |open| open.schedule.give_back(place))
    }

    /// Handles signals, and reports the progress.
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
            // The receiver exists as long as this object.
            let _ = kept.send(());
        })
    }

    /// The results of all runs.
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
