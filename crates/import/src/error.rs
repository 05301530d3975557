//! What is wrong with a file.

use std::fmt;

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    file: String,
    line: Option<usize>,
    message: String,
}

impl ImportError {
    /// At a line of a file, from 1.
    pub(crate) fn at(file: &str, line: usize, message: String) -> ImportError {
        ImportError { file: file.to_owned(), line: Some(line), message }
    }

    /// In a file as a whole.
    pub(crate) fn of_file(file: &str, message: String) -> ImportError {
        ImportError { file: file.to_owned(), line: None, message }
    }

    /// The line, from 1, if it is at one.
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
