//! Converts errors of Weir to exceptions of `weir.errors`.

use pyo3::import_exception;
use pyo3::prelude::*;
use weir_experiment::ExperimentError;
use weir_study::StudyError;

import_exception!(weir.errors, WeirError);
import_exception!(weir.errors, ScenarioError);
import_exception!(weir.errors, SchemeError);
import_exception!(weir.errors, RunError);

/// The exception for a mistake in a scenario, with its place.
fn scenario_error(py: Python<'_>, error: &weir_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.to_string());
    let value = exception.value(py);
    let line = (error.line() > 0).then_some(error.line());
    let column = (error.column() > 0).then_some(error.column());
    let set = value
        .setattr("file", error.file())
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("column", column))
        .and_then(|()| value.setattr("key", error.key()))
        .and_then(|()| value.setattr("message", error.message()))
        .and_then(|()| value.setattr("help", error.help()));
    set.err().unwrap_or(exception)
}

/// The exception for a failed run or study.
pub fn study_error(py: Python<'_>, error: &StudyError) -> PyErr {
    match error {
        StudyError::Scenario(error) => scenario_error(py, error),
        StudyError::Experiment(ExperimentError::Scheme(_)) => SchemeError::new_err(error.to_string()),
        StudyError::Experiment(_) | StudyError::Run(_) => RunError::new_err(error.to_string()),
        _ => WeirError::new_err(error.to_string()),
    }
}
