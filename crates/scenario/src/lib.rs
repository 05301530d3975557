//! Scenario files: TOML in, checked structs out, with errors that say what would be right.
//!
//! Pure: a caller hands in the text, nothing here opens a file or reads a clock.

mod error;
mod model;

pub use error::{Location, ScenarioError};
pub use model::*;

/// One `--set PATH=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// What is set, as `link.R2-R3.rate`; `*` stands for any name.
    pub path: String,
    /// The value: TOML if it reads as that, else text.
    pub value: String,
}

impl Scenario {
    /// Reads a scenario from its text.
    ///
    /// # Errors
    /// The first mistake found in the text or the overrides.
    pub fn parse(_name: &str, _file: &str, _text: &str, _overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        todo!()
    }

    /// An error about a scheme's parameter, pointing at where it stands.
    pub fn param_error(&self, _scheme: &str, _param: &Param, _message: &str, _help: &str) -> ScenarioError {
        todo!()
    }
}

/// The text of a built-in scenario.
pub fn builtin(_name: &str) -> Option<&'static str> {
    todo!()
}

/// Names and titles of the built-in scenarios.
pub fn builtins() -> Vec<(&'static str, String)> {
    todo!()
}
