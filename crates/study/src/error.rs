//! The errors of a study.

use core::fmt;
use std::io;
use std::path::PathBuf;

use weir_experiment::ExperimentError;
use weir_optimum::OptimumError;
use weir_results::WriteError;
use weir_scenario::ScenarioError;
use weir_sim::RunError;

/// The reason why a study or one of its runs failed.
#[derive(Debug)]
pub enum StudyError {
    /// The request is invalid. The text names the correct form.
    Invalid(String),
    /// The scenario or a setting is invalid. The error has file, line and key.
    Scenario(ScenarioError),
    /// A scheme or a window is invalid, or the simulator does not support something.
    Experiment(ExperimentError),
    /// A run ended early.
    Run(RunError),
    /// The optimum is not known.
    Optimum(OptimumError),
    /// The results could not be written.
    Write(WriteError),
    /// A file cannot be read or written.
    File {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A kept run is no longer in its folder.
    Missing {
        /// The key of the run.
        key: String,
    },
    /// A record from elsewhere does not belong to a run of this study.
    Record(String),
    /// Another machine could not make a run. The text is that machine's message.
    Elsewhere(String),
    /// The user cancelled the study.
    Cancelled {
        /// The number of complete runs.
        done: usize,
        /// The number of runs of the study.
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
