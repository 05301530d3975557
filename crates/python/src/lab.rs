//! Runs in the lab. `weir/_lab.py` starts the command for them, because a process with threads cannot create
//! namespaces.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use weir_experiment::Experiment;
use weir_measure::RunDocument;
use weir_results::read_series;
use weir_study::{Run, ScenarioOptimum, StudyError, refuse_idle, window_text};

use crate::errors::{RunError, study_error};
use crate::result::Result;
use crate::scenario::{self, Scenario};

/// The path and the text of a file.
type FileText = (String, String);

/// Checks that a run is possible. Returns whether the command finds the scenario by its name, the command's options,
/// and the texts of the files that the scenario reads.
#[pyfunction]
#[pyo3(signature = (scenario, scheme = None, seed = 1, windows = None))]
pub fn lab_options(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    scheme: Option<String>,
    seed: u64,
    windows: Option<Bound<'_, PyAny>>,
) -> PyResult<(bool, Vec<String>, Vec<FileText>)> {
    let of = scenario.get();
    let windows = scenario::windows(windows.as_ref())?;
    let mut options = vec![format!("--seed={seed}")];
    options.extend(scheme.iter().map(|scheme| format!("--scheme={scheme}")));
    options.extend(of.point().set.iter().map(|set| format!("--set={set}")));
    options.extend(windows.iter().map(|window| format!("--window={}", window_text(window))));
    let point = of.with_windows(windows).map_err(|error| study_error(py, &error))?;
    let scheme = scheme.as_deref().unwrap_or(&point.scenario.scheme);
    let checked = || -> std::result::Result<Experiment, StudyError> {
        let experiment = Run::new(&point, scheme, seed).experiment()?;
        let running = experiment.scheme().entry.name;
        refuse_idle(ScenarioOptimum::unread(&point.set), [running], [&*point.scenario])?;
        Ok(experiment)
    };
    checked().map_err(|error| study_error(py, &error))?;
    Ok((of.is_named, options, point.scenario.file_texts()))
}

/// The result of a run made by `weir lab`: its document, its folder, and its remarks.
#[pyfunction]
pub fn lab_result(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    document: &str,
    folder: PathBuf,
    notes: Vec<String>,
) -> PyResult<Result> {
    let of = scenario.get();
    let unread =
        |error: &dyn std::fmt::Display| RunError::new_err(format!("the results of the lab: {error}"));
    let mut document: RunDocument = serde_json::from_str(document).map_err(|error| unread(&error))?;
    let series = py.detach(|| read_series(&document, folder)).map_err(|error| unread(&error))?;
    document.scenario.clone_from(&of.point().scenario.name);
    if !of.is_named {
        document.command.clear();
    }
    let experiment = Run::new(of.point(), &document.scheme, document.seed).experiment();
    let experiment = experiment.map_err(|error| study_error(py, &error))?;
    let mut report = experiment.report_of(document, series);
    report.notes = notes;
    Ok(Result { report: Arc::new(report) })
}
