//! Errors in a scenario.

use core::fmt;

use weir_document::DocumentError;

/// The errors of a scenario or of its overrides, at least one. Each has a position, a key, a message and the
/// correct alternatives. The methods in the singular refer to the first error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    first: DocumentError,
    others: Vec<DocumentError>,
}

/// The largest number of errors of a file that are shown.
const SHOWN: usize = 40;

impl ScenarioError {
    /// Returns these errors in the given order; `None` if there is none.
    pub fn of(errors: Vec<DocumentError>) -> Option<ScenarioError> {
        let mut errors = errors.into_iter();
        let first = errors.next()?;
        Some(ScenarioError { first, others: errors.collect() })
    }

    /// Iterates over all errors: first those of overrides, then those of the file in order.
    pub fn errors(&self) -> impl Iterator<Item = &DocumentError> {
        [&self.first].into_iter().chain(&self.others)
    }

    /// Adds the errors of another check of the same scenario, in the order of the file.
    pub fn and(self, other: ScenarioError) -> ScenarioError {
        let mut all = [vec![self.first], self.others, vec![other.first], other.others].concat();
        all.sort_by_key(DocumentError::line);
        let mut all = all.into_iter();
        ScenarioError { first: all.next().expect("the first of each"), others: all.collect() }
    }

    /// Returns the path of the file, or the override as `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        self.first.file()
    }

    /// Returns the line in the file, from 1; 0 for an override.
    pub fn line(&self) -> u32 {
        self.first.line()
    }

    /// Returns the column in the line, in characters, from 1; 0 for an override.
    pub fn column(&self) -> u32 {
        self.first.column()
    }

    /// Returns the key, in the form that `--set` takes; empty if the text is not TOML.
    pub fn key(&self) -> &str {
        self.first.key()
    }

    /// Returns the message, without the position.
    pub fn message(&self) -> &str {
        self.first.message()
    }

    /// Returns the correct alternatives; may be empty.
    pub fn help(&self) -> &str {
        self.first.help()
    }
}

impl From<DocumentError> for ScenarioError {
    fn from(error: DocumentError) -> Self {
        ScenarioError { first: error, others: Vec::new() }
    }
}

impl fmt::Display for ScenarioError {
    /// Writes for each error `FILE:LINE: KEY: message`, the line with a caret below, and the help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.fmt(f)?;
        for error in self.others.iter().take(SHOWN - 1) {
            write!(f, "\n\n{error}")?;
        }
        match self.others.len() + 1 {
            1 => Ok(()),
            all if all > SHOWN => write!(f, "\n\n{SHOWN} of {all} errors"),
            all => write!(f, "\n\n{all} errors"),
        }
    }
}

impl std::error::Error for ScenarioError {}
