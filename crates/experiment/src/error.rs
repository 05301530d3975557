//! The errors of a scenario, a scheme or a setup, for every world.

use core::fmt;

use weir_core::units::Span;
use weir_scenario::{Location, Scenario, ScenarioError};
use weir_schemes::UnknownScheme;

/// The reason why a scenario cannot be run. The message names the correct alternatives.
#[derive(Debug)]
pub enum ExperimentError {
    /// There is no scheme with the requested name.
    Scheme(UnknownScheme),
    /// A scheme's name or parameter is invalid, or the world does not support something, at a place in the
    /// scenario.
    Scenario(ScenarioError),
    /// Something cannot be measured.
    Unsupported(String),
    /// A measuring window is not within the run.
    Window {
        /// The beginning of the window.
        from: Span,
        /// The end of the window.
        to: Span,
        /// The length of the run.
        duration: Span,
    },
}

impl ExperimentError {
    /// Returns the error that a world does not support a setting of the scenario, at the position of the
    /// setting.
    pub fn at_setting(scenario: &Scenario, path: String, message: &str, help: &str) -> ExperimentError {
        let at = scenario.settings.find(&path);
        let at = at.and_then(|setting| setting.location).unwrap_or(Location::Set("".into()));
        ExperimentError::Scenario(scenario.error_at(&at, path, message, help))
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExperimentError::Scheme(unknown) => write!(f, "{unknown}\n  = {}", unknown.help()),
            ExperimentError::Scenario(error) => error.fmt(f),
            ExperimentError::Unsupported(what) => f.write_str(what),
            ExperimentError::Window { from, to, duration } => write!(
                f,
                "the window {from} to {to} is not within the run: it must begin before it ends, and end by {duration}"
            ),
        }
    }
}

impl std::error::Error for ExperimentError {}

impl From<ScenarioError> for ExperimentError {
    fn from(error: ScenarioError) -> ExperimentError {
        ExperimentError::Scenario(error)
    }
}

impl From<UnknownScheme> for ExperimentError {
    fn from(unknown: UnknownScheme) -> ExperimentError {
        ExperimentError::Scheme(unknown)
    }
}
