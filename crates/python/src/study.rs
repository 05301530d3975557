//! Studies: sweeps, comparisons and reproductions, on the threads of this process or elsewhere.

use std::ffi::CString;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{panic, thread};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use weir_measure::RunDocument;
use weir_results::schema::{self, Column, Kind};
use weir_results::{StudyRun, Value, terminal_width, write_atomically};
use weir_study::{
    Axis, Cancel, CompareRequest, Event, Executed, Failure, Outcome, PartialTables, ReproduceRequest,
    RunStore, Schedule, Seeds, Shard, StudyError, SweepRequest, Threads, View,
};

use crate::cluster;
use crate::errors::{WeirError, study_error};
use crate::plot::{self, Texts, Wanted};
use crate::scenario::{self, Scenario};
use crate::table::{Columns, Table};

/// What came of a list of runs: of a sweep, a comparison or a reproduction.
#[pyclass(frozen, module = "weir")]
pub struct Study {
    view: Box<dyn View>,
    outcome: Outcome,
    store: Arc<RunStore>,
    failures: Vec<Failure>,
    folder: Option<PathBuf>,
}

/// Seeds as Python has them: a text such as `3..8`, or a list.
#[derive(FromPyObject)]
pub enum GivenSeeds {
    /// As the command takes them.
    Text(String),
    /// The seeds.
    List(Vec<u64>),
}

impl GivenSeeds {
    fn seeds(self) -> PyResult<Seeds> {
        let seeds = match self {
            GivenSeeds::Text(text) => text.parse(),
            GivenSeeds::List(seeds) => Seeds::of(seeds),
        };
        seeds.map_err(WeirError::new_err)
    }
}

/// How runs are made, and where results go.
struct How {
    /// How many at a time; `None` for as many as there are processors.
    jobs: Option<NonZero<usize>>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    /// Makes the runs of a `cluster::Schedule` in place of the threads of this process.
    elsewhere: Option<Py<PyAny>>,
}

/// Runs a scenario at every point of some axes, under several schemes and with several seeds.
///
/// `vary` has a text `KEY=VALUES` for each axis given as a text, or a key and its values. `progress` is called now and then
/// with the part that is done, 0 to 1, complete runs, and all runs. `elsewhere` gets a `Schedule` and has its runs made.
#[pyfunction]
#[pyo3(signature = (scenario, vary, zip, schemes, seeds, windows, shard, jobs, folder, progress, elsewhere = None))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn sweep(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    vary: Vec<(String, Option<Vec<Bound<'_, PyAny>>>)>,
    zip: bool,
    schemes: Vec<String>,
    seeds: GivenSeeds,
    windows: Option<Bound<'_, PyAny>>,
    shard: Option<(usize, usize)>,
    jobs: Option<NonZero<usize>>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let point = scenario.get().with_windows(Vec::new()).map_err(|error| study_error(py, &error))?;
    let shard = shard.map(|(index, of)| format!("{index}/{of}").parse::<Shard>().map_err(WeirError::new_err));
    let request = SweepRequest {
        source: point.source.clone(),
        vary: vary.into_iter().map(|axis| given_axis(py, axis)).collect::<PyResult<_>>()?,
        zip,
        schemes: weir_study::schemes(&schemes).map_err(|error| study_error(py, &error))?,
        seeds: seeds.seeds()?,
        set: point.set.clone(),
        windows: scenario::windows(windows.as_ref())?,
        shard: shard.transpose()?,
    };
    let plan = py.detach(|| request.plan()).map_err(|error| study_error(py, &error))?;
    How { jobs, folder, progress, elsewhere }.make(py, Box::new(plan))
}

/// Runs scenarios under several schemes: `names` are scenarios, papers or files; none for every experiment.
#[pyfunction]
#[pyo3(signature = (names, schemes, seeds, set, windows, jobs, folder, progress))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn compare(
    py: Python<'_>,
    names: Vec<String>,
    schemes: Vec<String>,
    seeds: GivenSeeds,
    set: Option<&Bound<'_, PyDict>>,
    windows: Option<Bound<'_, PyAny>>,
    jobs: Option<NonZero<usize>>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let request = CompareRequest {
        names,
        schemes: weir_study::schemes(&schemes).map_err(|error| study_error(py, &error))?,
        seeds: seeds.seeds()?,
        set: scenario::overrides(set)?,
        windows: scenario::windows(windows.as_ref())?,
        beside: None,
    };
    let with_series = folder.is_some();
    let plan = py.detach(|| request.plan(with_series)).map_err(|error| study_error(py, &error))?;
    How { jobs, folder, progress, elsewhere: None }.make(py, Box::new(plan))
}

/// Runs the experiments of papers and checks their statements: `names` are papers, experiments or files; none for all
/// papers.
#[pyfunction]
#[pyo3(signature = (names, seeds, scheme, jitter, jobs, folder, progress))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn reproduce(
    py: Python<'_>,
    names: Vec<String>,
    seeds: GivenSeeds,
    scheme: Option<String>,
    jitter: bool,
    jobs: Option<NonZero<usize>>,
    folder: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Study> {
    let request =
        ReproduceRequest { names, seeds: seeds.seeds()?, scheme, jitter, elsewhere: None, emulates: false };
    let with_series = folder.is_some();
    let plan = py.detach(|| request.plan(with_series)).map_err(|error| study_error(py, &error))?;
    How { jobs, folder, progress, elsewhere: None }.make(py, Box::new(plan))
}

/// An axis: a key with a list of values, or a text as `--vary` takes it.
fn given_axis(py: Python<'_>, (key, values): (String, Option<Vec<Bound<'_, PyAny>>>)) -> PyResult<Axis> {
    let Some(values) = values else { return key.parse().map_err(|error| study_error(py, &error)) };
    let values = values.iter().map(|value| scenario::set_value(&key, value)).collect::<PyResult<Vec<_>>>()?;
    Axis::new(&key, values).map_err(|error| study_error(py, &error))
}

impl How {
    /// Makes the missing runs, and what is made of all.
    fn make(self, py: Python<'_>, view: Box<dyn View>) -> PyResult<Study> {
        py.detach(|| {
            let error = |error: StudyError| Python::attach(|py| study_error(py, &error));
            let store = Arc::new(RunStore::of_results(self.folder.as_deref()));
            let written = Written::default();
            let executed = self.execute(&*view, &store, &written);
            let How { folder, .. } = self;
            if executed.is_err() {
                // What is complete can be read, and the same call makes the rest.
                folder.iter().for_each(|folder| written.note(view.study().write_tables(&store, &[], folder)));
            }
            let finished = view.finish(&store, executed?, folder.as_deref(), &|note| written.note(note));
            let (outcome, failures) = finished.map_err(error)?;
            // The study is complete in memory, whatever the disk has of it.
            written.warn()?;
            Ok(Study { view, outcome, store, failures, folder })
        })
    }

    fn execute(&self, view: &dyn View, store: &Arc<RunStore>, written: &Written) -> PyResult<Executed> {
        let (folder, progress) = (self.folder.as_deref(), self.progress.as_ref());
        let is_needed = |run: usize| folder.is_some_and(|folder| view.needs_report(run, folder));
        let schedule = Schedule::new(view.runs(), Arc::clone(store), &is_needed);
        let partial = folder.map(|folder| PartialTables::new(view.study(), store, folder));
        let on_kept = || partial.iter().for_each(|partial| written.note(partial.write_if_due()));
        if let Some(elsewhere) = &self.elsewhere {
            return cluster::execute(schedule, elsewhere, progress, &on_kept);
        }
        let (cancel, watched) = (Cancel::new(), Watched::default());
        let threads = Threads {
            jobs: self.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get),
            watch: &|event| watched.on(event),
            cancel: &cancel,
            on_made: &|run, made| {
                folder.iter().for_each(|folder| written.note(view.write_report(run, made, folder)));
            },
            on_kept: &on_kept,
        };
        let (ended, ends) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let work = scope.spawn(|| {
                let executed = threads.execute(schedule);
                drop(ended);
                executed
            });
            let mut stopped = Ok(());
            while ends.recv_timeout(Watched::EVERY) == Err(RecvTimeoutError::Timeout) {
                if stopped.is_ok() {
                    stopped = Python::attach(|py| watched.look(py, progress));
                }
                if stopped.is_err() {
                    cancel.ask();
                }
            }
            let executed = work.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
            stopped?;
            Python::attach(|py| {
                watched.look(py, progress)?;
                executed.map_err(|error| study_error(py, &error))
            })
        })
    }
}

/// The first thing that could not be written.
#[derive(Default)]
struct Written(Mutex<Option<StudyError>>);

impl Written {
    fn note(&self, written: Result<(), StudyError>) {
        if let Err(error) = written {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Warns of it.
    fn warn(self) -> PyResult<()> {
        let Some(error) = self.0.into_inner().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
        let text = CString::new(format!("results are not all on disk: {error}"))?;
        Python::attach(|py| PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1))
    }
}

/// How far a study is.
#[derive(Default)]
pub struct Watched {
    cost: AtomicU64,
    advanced: AtomicU64,
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Watched {
    /// How often signals are looked for and progress is told.
    const EVERY: Duration = Duration::from_millis(50);

    /// Notes what happens.
    pub fn on(&self, event: Event) {
        match event {
            Event::Begin { kept, all, cost } => {
                self.cost.store(cost, Ordering::Relaxed);
                self.all.store(all, Ordering::Relaxed);
                self.done.store(kept, Ordering::Relaxed);
            }
            Event::Advance(cost) => {
                self.advanced.fetch_add(cost, Ordering::Relaxed);
            }
            Event::Done(done) => {
                self.done.fetch_max(done, Ordering::Relaxed);
            }
        }
    }

    /// Looks for signals, and tells the progress.
    pub fn look(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        let [cost, advanced] = [&self.cost, &self.advanced].map(|count| count.load(Ordering::Relaxed));
        let [done, all] = [&self.done, &self.all].map(|count| count.load(Ordering::Relaxed));
        // The plan is not made yet.
        if all == 0 {
            return Ok(());
        }
        let part = if done == all { 1.0 } else { (advanced as f64 / cost.max(1) as f64).min(1.0) };
        progress.call1(py, (part, done, all)).map(drop)
    }
}

#[pymethods]
impl Study {
    /// Its name in the tables.
    #[getter]
    fn name(&self) -> &str {
        self.view.study().name()
    }

    /// Its axes: for each key the values, as texts.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let axes = PyDict::new(py);
        for Axis { key, values } in self.view.study().axes() {
            axes.set_item(key, values)?;
        }
        Ok(axes)
    }

    /// The command that makes the same study, without its folder.
    #[getter]
    fn command(&self) -> String {
        self.view.command().text()
    }

    /// The folder of its results; `None` if they are in memory only.
    #[getter]
    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// A figure of matplotlib: the same as of `weir plot`.
    #[pyo3(signature = (what=None, *, metric=None, by=None, only=None, window=None, x=None, log=None, columns=1, title=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn plot(
        &self,
        py: Python<'_>,
        what: Option<String>,
        metric: Option<Texts>,
        by: Option<String>,
        only: Option<Texts>,
        window: Option<String>,
        x: Option<String>,
        log: Option<Texts>,
        columns: u8,
        title: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let wanted = Wanted { what, metric, by, only, window, x, log, title };
        plot::plot(py, &weir_study::plotted_study(self.view.study(), &self.store), wanted, columns)
    }

    /// Every figure of every run: a row for each, with the run, the window, the object, the metric, the unit and the value.
    #[getter]
    fn results(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, schema::RESULTS, |tables, run, rows| rows.extend(tables.figures(run)))
    }

    /// The runs, a row for each: its key, command, time and, if it failed, the error.
    #[getter]
    fn runs(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, schema::RUNS, |tables, run, rows| rows.push(tables.row(run)))
    }

    /// The number of runs that failed.
    #[getter]
    fn failed(&self) -> usize {
        self.failures.len()
    }

    /// The document with means and intervals, a dict: what the command prints with `--json`.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let document = match &self.outcome {
            Outcome::Sweep(document) => pythonize::pythonize(py, document),
            Outcome::Comparison(document) => pythonize::pythonize(py, document),
            Outcome::Summary(document) => pythonize::pythonize(py, document),
            Outcome::Reproduction(document) => pythonize::pythonize(py, document),
        };
        document.map_err(PyErr::from)
    }

    /// The document as JSON text.
    fn json(&self) -> String {
        self.outcome.json()
    }

    /// The tables that the command prints.
    fn text(&self) -> String {
        self.outcome.text(terminal_width())
    }

    /// Writes the page, one HTML file, and returns its path. A study with a folder has a page there, with plots over time
    /// and reports of runs beside it.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
        let page = || match &self.outcome {
            Outcome::Sweep(document) => document.html(),
            Outcome::Comparison(document) => document.html(&[]),
            Outcome::Summary(document) => document.html(),
            Outcome::Reproduction(document) => document.html(),
        };
        let written = py.detach(|| write_atomically(&path, page()));
        written.map_err(|error| WeirError::new_err(error.to_string()))?;
        Ok(path)
    }

    /// The runs as HTML, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        self.runs(py)?._repr_html_(py)
    }

    fn __repr__(&self) -> String {
        let (runs, failed) = (self.view.study().runs().len(), self.failures.len());
        format!("weir.Study({}: {runs} runs, {failed} failed)", self.name())
    }
}

impl Study {
    /// A table of the runs that are kept and those that failed.
    fn table(
        &self,
        py: Python<'_>,
        table: schema::Table,
        add: impl Fn(&weir_results::StudyTables, &StudyRun<RunDocument>, &mut Vec<Vec<Value>>) + Sync,
    ) -> PyResult<Table> {
        let made = py.detach(|| {
            let study = self.view.study();
            let tables = study.tables()?;
            let mut rows = Vec::new();
            study.ended(&self.store, &self.failures).for_each(|run| add(&tables, &run, &mut rows));
            let columns = tables.columns(table);
            let columns = columns.iter().enumerate();
            Ok(columns
                .fold(Columns::default(), |made, (at, column)| {
                    made.column(column, rows.iter().map(|row| &row[at]))
                })
                .table())
        });
        made.map_err(|error| study_error(py, &error))
    }
}

impl Columns {
    /// A column of a declared table.
    fn column<'a>(self, column: &Column, values: impl Iterator<Item = &'a Value>) -> Columns {
        let Column { name, kind, about, .. } = column;
        match kind {
            Kind::F64 | Kind::F32 => self.maybe(name, about, values.map(Value::f64)),
            Kind::U64 | Kind::U32 => self.maybe_count(name, about, values.map(Value::u64)),
            Kind::Bool => self.maybe_flag(name, about, values.map(Value::bool)),
            Kind::Text => self.maybe_text(name, about, values.map(Value::str)),
        }
    }
}
