//! Errors in a scenario.

use core::fmt;

use weir_document::DocumentError;

/// A mistake in a scenario or in an override of it: where, at which key, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(DocumentError);

impl ScenarioError {
    /// Path of the file, or the override as `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        self.0.file()
    }

    /// Line in the file, from 1; 0 for an override.
    pub fn line(&self) -> u32 {
        self.0.line()
    }

    /// Column in the line, in characters, from 1; 0 for an override.
    pub fn column(&self) -> u32 {
        self.0.column()
    }

    /// The key that it is about, as `--set` would name it; empty if the text is no TOML at all.
    pub fn key(&self) -> &str {
        self.0.key()
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        self.0.message()
    }

    /// What would be right; may be empty.
    pub fn help(&self) -> &str {
        self.0.help()
    }
}

impl From<DocumentError> for ScenarioError {
    fn from(error: DocumentError) -> Self {
        ScenarioError(error)
    }
}

impl fmt::Display for ScenarioError {
    /// `FILE:LINE: KEY: what is wrong`, the line with a caret below, and what would be right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ScenarioError {}
