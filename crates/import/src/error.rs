//! The error of a file.

use std::fmt;

/// The reason why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    file: String,
    line: Option<usize>,
    message: String,
}

impl ImportError {
    /// Returns an error at a line of a file, from 1.
    pub(crate) fn at(file: &str, line: usize, message: String) -> ImportError {
        ImportError { file: file.to_owned(), line: Some(line), message }
    }

    /// Returns an error about a file as a whole.
    pub(crate) fn of_file(file: &str, message: String) -> ImportError {
        ImportError { file: file.to_owned(), line: None, message }
    }

    /// Returns the line, from 1, if the error has one.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for ImportError {}
