//! Loads scenarios by name or path, with a message on a terminal meanwhile.

use weir_core::units::Span;
use weir_scenario::Scenario;
use weir_study::{Point, Source};

use crate::{Failure, terminal};

/// Loads a scenario by name or path, and applies `--set`.
///
/// # Errors
/// Returns an error if there is none, or it has a mistake.
pub fn scenario(name: &str, set: &[String]) -> Result<Scenario, Failure> {
    let source = Source::find(name)?;
    let scenario = terminal::while_waiting("preparing nodes, flows and routes", || source.read(set));
    Ok(scenario?)
}

/// Loads a scenario with measuring windows, for runs.
///
/// # Errors
/// Returns the errors of [`scenario`], and an error for an invalid window.
pub fn point(name: &str, set: &[String], windows: Vec<(Span, Span)>) -> Result<Point, Failure> {
    let source = Source::find(name)?;
    let point = terminal::while_waiting("preparing nodes, flows and routes", || {
        Point::new(source, set.to_vec(), windows)
    });
    Ok(point?)
}

/// Parses measuring windows.
///
/// # Errors
/// Returns an error for the first invalid one.
pub fn windows(texts: &[String]) -> Result<Vec<(Span, Span)>, Failure> {
    Ok(texts.iter().map(|text| weir_study::window(text)).collect::<Result<_, _>>()?)
}
