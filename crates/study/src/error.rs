//! Errors of a study.

use core::fmt;
use std::io;
use std::path::PathBuf;

use weir_experiment::ExperimentError;
use weir_optimum::OptimumError;
use weir_results::WriteError;
use weir_scenario::ScenarioError;
use weir_sim::RunError;

/// Why a study or a run of it was not made.
#[derive(Debug)]
pub enum StudyError {
    /// A wrong request; the text says what would be right.
    Invalid(String),
    /// A mistake in a scenario or in what is set in it, with file, line and key.
    Scenario(ScenarioError),
    /// A scheme or a window that is wrong, or something that the simulator does not do.
    Experiment(ExperimentError),
    /// A run that ended early.
    Run(RunError),
    /// Why the optimum is not known.
    Optimum(OptimumError),
    /// Results that could not be written.
    Write(WriteError),
    /// A file that cannot be read or written.
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A kept run that is no longer in its folder.
    Missing {
        /// Its key.
        key: String,
    },
    /// A record from elsewhere that is not that of a run of this study.
    Record(String),
    /// Why another machine could not make a run, in its words.
    Elsewhere(String),
    /// The user ended the study.
    Cancelled {
        /// Runs that are complete.
        done: usize,
        /// Runs of the study.
        all: usize,
    },
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StudyError::Invalid(text) | StudyError::Record(text) | StudyError::Elsewhere(text) => {
                f.write_str(text)
            }
            StudyError::Scenario(error) => error.fmt(f),
            StudyError::Experiment(error) => error.fmt(f),
            StudyError::Run(error) => error.fmt(f),
            StudyError::Optimum(error) => error.fmt(f),
            StudyError::Write(error) => error.fmt(f),
            StudyError::File { path, error } => write!(f, "{}: {error}", path.display()),
            StudyError::Missing { key } => {
                write!(f, "run {key} is not in its folder any more: give the same command again")
            }
            StudyError::Cancelled { done, all } => write!(f, "interrupted: {done} of {all} runs completed"),
        }
    }
}

impl std::error::Error for StudyError {}

impl From<ScenarioError> for StudyError {
    fn from(error: ScenarioError) -> StudyError {
        StudyError::Scenario(error)
    }
}

impl From<ExperimentError> for StudyError {
    fn from(error: ExperimentError) -> StudyError {
        match error {
            ExperimentError::Scenario(error) => StudyError::Scenario(error),
            other => StudyError::Experiment(other),
        }
    }
}

impl From<RunError> for StudyError {
    fn from(error: RunError) -> StudyError {
        StudyError::Run(error)
    }
}

impl From<OptimumError> for StudyError {
    fn from(error: OptimumError) -> StudyError {
        StudyError::Optimum(error)
    }
}

impl From<WriteError> for StudyError {
    fn from(error: WriteError) -> StudyError {
        StudyError::Write(error)
    }
}
