//! One run, in this process.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use weir_cli::CommandLine;
use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Setup};
use weir_measure::{Report, RunDocument};
use weir_sim::{Progress, World};

use crate::errors::{RunError, experiment_error};
use crate::law::{Failed, Law};
use crate::result::Result;
use crate::scenario::{self, Scenario};

/// Runs a scenario under a scheme: a name, or a `weir.WindowLaw` that consumers have while nodes forward plainly.
///
/// `windows` are further measuring windows, pairs of times. Without `series` there are no time series. `progress` is called
/// now and then with simulated seconds, the seconds of all of the run, events, and packets put on links.
#[pyfunction]
#[pyo3(signature = (scenario, scheme = None, law = None, seed = 1, windows = None, series = true, progress = None))]
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
) -> PyResult<Result> {
    let of = scenario.get();
    let windows = scenario::windows(windows.as_ref())?;
    let setup = Setup { scheme: scheme.clone(), seed, windows: windows.clone(), with_series: series };
    let mut experiment = Experiment::new(&of.inner, &setup).map_err(|error| experiment_error(py, &error))?;
    let failed = Failed::default();
    let is_law = law.is_some();
    if let Some(law) = law {
        experiment = experiment.with_scheme(Law::new(&law, failed.clone())?.resolve()?);
    }
    let begun = now();
    let mut report = py.detach(|| simulate(&experiment, &failed, progress.as_ref()))?;
    let document = &mut report.document;
    document.wall_s = begun.elapsed().as_secs_f64();
    document.set.clone_from(&of.set);
    document.schema = RunDocument::SCHEMA;
    weir_cli::VERSION.clone_into(&mut document.version);
    // A law or a text that is in Python only has no command.
    if of.is_named && !is_law {
        CommandLine::new("run", &of.inner.name)
            .option("--scheme", &scheme)
            .option("--seed", [seed])
            .option("--set", &of.set)
            .option("--window", windows.iter().map(|(from, to)| window(*from, *to)))
            .sign(document);
    }
    Ok(Result { report: Arc::new(report) })
}

fn window(from: Span, to: Span) -> String {
    format!("{}:{}", from.as_secs_f64(), to.as_secs_f64())
}

/// How long a slice of a run should take on the clock: between two of them a run can be stopped.
const SLICE: Duration = Duration::from_millis(50);

/// Runs it, in slices of simulated time: after each one come signals, errors of Python's laws, and progress.
fn simulate(experiment: &Experiment<'_>, failed: &Failed, progress: Option<&Py<PyAny>>) -> PyResult<Report> {
    let built = World::build(experiment);
    let mut world = built.map_err(|error| Python::attach(|py| experiment_error(py, &error)))?;
    let until = experiment.until();
    let mut slice = (until - Time::ZERO).scale(1e-3);
    let mut reached = Time::ZERO;
    while reached < until {
        let begun = now();
        let end = (reached + slice.max(Span::from_nanos(1))).min(until);
        world.run_until(end, &mut |_| {}).map_err(|error| RunError::new_err(error.to_string()))?;
        reached = end;
        slice = adapted(slice, begun.elapsed());
        let now =
            Progress { now: reached, until, events: world.event_count(), packet_hops: world.packet_hops() };
        Python::attach(|py| between_slices(py, failed, progress, now))?;
    }
    Ok(world.finish().report)
}

/// The next slice, by how long the last one took.
fn adapted(slice: Span, took: Duration) -> Span {
    match () {
        () if took < SLICE / 2 => slice.scale(2.0),
        () if took > SLICE * 2 => slice.scale(0.5),
        () => slice,
    }
}

fn between_slices(
    py: Python<'_>,
    failed: &Failed,
    progress: Option<&Py<PyAny>>,
    now: Progress,
) -> PyResult<()> {
    failed.raise()?;
    py.check_signals()?;
    if let Some(progress) = progress {
        let seconds = |time: Time| (time - Time::ZERO).as_secs_f64();
        progress.call1(py, (seconds(now.now), seconds(now.until), now.events, now.packet_hops))?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a run says how long it took, and looks for signals now and then"
)]
fn now() -> Instant {
    Instant::now()
}
