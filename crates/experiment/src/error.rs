//! Errors of a scenario, a scheme or a setup, for every world.

use core::fmt;

use weir_core::units::Span;
use weir_scenario::{Location, Scenario, ScenarioError};
use weir_schemes::UnknownScheme;

/// Why a scenario cannot be run; says what would be right.
#[derive(Debug)]
pub enum ExperimentError {
    /// No scheme has the name that was asked for.
    Scheme(UnknownScheme),
    /// A scheme's name or parameter is wrong, or something that the world does not do, at a place in the scenario.
    Scenario(ScenarioError),
    /// Something that cannot be measured.
    Unsupported(String),
    /// A measuring window is not within the run.
    Window {
        /// Its beginning.
        from: Span,
        /// Its end.
        to: Span,
        /// The run's length.
        duration: Span,
    },
}

impl ExperimentError {
    /// Something that a world does not do, at the place of a setting of the scenario.
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
