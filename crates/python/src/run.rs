//! A single run in this process.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use weir_core::units::Span;
use weir_measure::Report;
use weir_study::{Cancel, Run, ScenarioOptimum, Stopwatch, StudyError, refuse_idle};

use crate::errors::study_error;
use crate::law::{Failed, Law};
use crate::result::Result;
use crate::scenario::{self, Scenario};

/// Runs a scenario under a scheme: a name, or a `weir.WindowLaw` for the consumers, while nodes only forward.
///
/// `windows` are additional measuring windows, pairs of times. Without `series` there are no time series. `progress` is
/// called regularly with the completed fraction of the run, 0 to 1.
#[pyfunction]
#[pyo3(signature = (scenario, scheme = None, law = None, seed = 1, windows = None, series = true, progress = None, threads = 1))]
#[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub fn run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    scheme: Option<String>,
    law: Option<Bound<'_, PyAny>>,
    seed: u64,
    windows: Option<Bound<'_, PyAny>>,
    series: bool,
    progress: Option<Py<PyAny>>,
    threads: usize,
) -> PyResult<Result> {
    let of = scenario.get();
    let failed = Failed::default();
    let law = law.map(|law| Law::new(&law, failed.clone())).transpose()?;
    let windows = scenario::windows(windows.as_ref())?;
    let asked = Asked { scheme, law, seed, windows, series, threads };
    let between = Between { failed, progress, cancel: Cancel::new(), told: Stopwatch::start() };
    let report = py.detach(|| asked.make(of, between))?;
    Ok(Result { report: Arc::new(report) })
}

/// A requested run of a scenario.
struct Asked {
    scheme: Option<String>,
    law: Option<Law>,
    seed: u64,
    windows: Vec<(Span, Span)>,
    series: bool,
    threads: usize,
}

impl Asked {
    fn make(self, scenario: &Scenario, mut between: Between) -> PyResult<Report> {
        let error = |error: StudyError| Python::attach(|py| study_error(py, &error));
        let point = scenario.with_windows(self.windows).map_err(error)?;
        let scheme = self.scheme.as_deref().unwrap_or(&point.scenario.scheme);
        let (with_series, threads) = (self.series, self.threads);
        let run = Run { with_series, threads, ..Run::new(&point, scheme, self.seed) };
        let mut experiment = run.experiment().map_err(error)?;
        let is_law = self.law.is_some();
        if let Some(law) = self.law {
            experiment = experiment.with_scheme(law.resolve()?);
        }
        let running = experiment.scheme().entry.name;
        refuse_idle(ScenarioOptimum::unread(&point.set), [running], [&*point.scenario]).map_err(error)?;
        let cancel = between.cancel.clone();
        let mut stopped = Ok(());
        let mut look = |part: f64| {
            if stopped.is_ok() {
                stopped = between.look(part);
            }
        };
        let made = run.make_experiment(experiment, &mut look, &cancel);
        stopped?;
        let mut report = made.map_err(error)?.report;
        between.failed.raise()?;
        point.complete(&mut report.document);
        report.notes.extend(point.optimum().and_then(ScenarioOptimum::note).map(str::to_owned));
        // No command can repeat a run with a law or a text that exists only in Python.
        if is_law || !scenario.is_named {
            report.document.command.clear();
        }
        Ok(report)
    }
}

/// Checks between slices of a run: signals, errors of Python's laws, and progress.
struct Between {
    failed: Failed,
    progress: Option<Py<PyAny>>,
    cancel: Cancel,
    told: Stopwatch,
}

impl Between {
    /// Interval of progress reports.
    const EVERY: Duration = Duration::from_millis(50);

    /// Ends the run if there is an error.
    fn look(&mut self, part: f64) -> PyResult<()> {
        let stopped = Python::attach(|py| {
            self.failed.raise()?;
            py.check_signals()?;
            let Some(progress) = &self.progress else { return Ok(()) };
            if part >= 1.0 || self.told.elapsed() >= Between::EVERY {
                self.told = Stopwatch::start();
                progress.call1(py, (part,))?;
            }
            Ok(())
        });
        if stopped.is_err() {
            self.cancel.ask();
        }
        stopped
    }
}
