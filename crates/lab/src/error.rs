//! Errors of the lab.

use std::fmt;
use std::io;

/// Errors of the lab.
#[derive(Debug)]
pub enum LabError {
    /// The lab does not support this, or the input is inconsistent. The text says what would be valid.
    Invalid(String),
    /// An operation of the operating system failed.
    System {
        /// The operation.
        what: String,
        /// The operating system's error.
        error: io::Error,
    },
    /// A process of the lab ended, or was not ready in time.
    Process {
        /// Name of the process.
        name: String,
        /// What happened.
        what: String,
        /// The last lines of its output.
        said: String,
    },
    /// A connection to a forwarder failed.
    Connection(weir_app::AppError),
    /// An application failed.
    Application(String),
}

impl From<weir_app::AppError> for LabError {
    fn from(error: weir_app::AppError) -> LabError {
        LabError::Connection(error)
    }
}

impl LabError {
    /// The error for a thread of the run that ended early.
    pub(crate) fn ended() -> LabError {
        LabError::Application("a thread of the run has ended".to_owned())
    }

    /// Creates the error of an application.
    pub(crate) fn application(error: impl fmt::Display) -> LabError {
        LabError::Application(error.to_string())
    }

    /// Creates the error of a failed operation.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
        let what = what.into();
        move |error| LabError::System { what, error }
    }
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LabError::Invalid(what) | LabError::Application(what) => f.write_str(what),
            LabError::Connection(error) => error.fmt(f),
            LabError::System { what, error } => write!(f, "{what}: {error}"),
            LabError::Process { name, what, said } => {
                write!(f, "{name} {what}")?;
                said.lines().try_for_each(|line| write!(f, "\n  | {line}"))
            }
        }
    }
}

impl std::error::Error for LabError {}
