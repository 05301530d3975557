//! Where something stands, and what is wrong there.

use core::fmt;
use std::sync::Arc;

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In the file.
    File {
        /// The label that the caller gave the file.
        file: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
        /// How many characters it takes on that line; 0 if it is about the file as a whole.
        width: u32,
    },
    /// In an override: `--set link.R2-R3.rate=10Mb/s`.
    Set(Arc<str>),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File { file, line, .. } => write!(f, "{file}:{line}"),
            Location::Set(label) => f.write_str(label),
        }
    }
}

/// A mistake in a scenario: where, at which key, what, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    location: Location,
    key: String,
    message: String,
    help: String,
    source_line: Option<String>,
}

impl ScenarioError {
    pub(crate) fn new(
        location: Location,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
        text: &str,
    ) -> ScenarioError {
        let source_line = match &location {
            Location::File { width: 0, .. } => None,
            Location::File { line, .. } => {
                text.lines().nth(*line as usize - 1).map(|l| l.trim_end().to_owned())
            }
            Location::Set(_) => None,
        };
        let (key, message, help) = (key.into(), message.into(), help.into());
        ScenarioError(Box::new(Inner { location, key, message, help, source_line }))
    }

    /// The file, or the override as `--set KEY=VALUE`.
    pub fn file(&self) -> &str {
        match &self.0.location {
            Location::File { file, .. } => file,
            Location::Set(label) => label,
        }
    }

    /// Line in the file, from 1; 0 for an override.
    pub fn line(&self) -> u32 {
        match self.0.location {
            Location::File { line, .. } => line,
            Location::Set(_) => 0,
        }
    }

    /// Column in the line, in characters, from 1; 0 for an override.
    pub fn column(&self) -> u32 {
        match self.0.location {
            Location::File { column, .. } => column,
            Location::Set(_) => 0,
        }
    }

    /// The key that it is about, as `--set` would name it; empty if the text is no TOML at all.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What would be right; may be empty.
    pub fn help(&self) -> &str {
        &self.0.help
    }
}

impl fmt::Display for ScenarioError {
    /// `FILE:LINE: KEY: what is wrong`, the line with a caret below, and what would be right.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { location, key, message, help, source_line } = &*self.0;
        write!(f, "{location}: ")?;
        // An override says its key already, unless it stands for several.
        if !key.is_empty() && !matches!(location, Location::Set(set) if set.contains(&format!("{key}="))) {
            write!(f, "{key}: ")?;
        }
        f.write_str(message)?;
        if let (Location::File { line, column, width, .. }, Some(text)) = (location, source_line) {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs stay tabs, so that the caret stands below its value.
            let lead: String =
                text.chars().take(*column as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(
                f,
                "\n{margin} |\n{number} | {text}\n{margin} | {lead}{}",
                "^".repeat((*width).max(1) as usize)
            )?;
        }
        if !help.is_empty() {
            write!(f, "\n  = {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}
