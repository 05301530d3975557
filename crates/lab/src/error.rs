//! What can go wrong in the lab.

use std::fmt;
use std::io;

/// What can go wrong in the lab.
#[derive(Debug)]
pub enum LabError {
    /// Something that the lab cannot do, or that does not fit; with what would be right.
    Invalid(String),
    /// The operating system refused something.
    System {
        /// What was to be done.
        what: String,
        /// What the operating system says.
        error: io::Error,
    },
    /// A process of the lab ended, or was not ready in time.
    Process {
        /// Which one.
        name: String,
        /// What happened.
        what: String,
        /// The last lines that it wrote.
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
    /// A thread of the run has ended early.
    pub(crate) fn ended() -> LabError {
        LabError::Application("a thread of the run has ended".to_owned())
    }

    /// An application failed because of this.
    pub(crate) fn application(error: impl fmt::Display) -> LabError {
        LabError::Application(error.to_string())
    }

    /// An error of the operating system while something was to be done.
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
