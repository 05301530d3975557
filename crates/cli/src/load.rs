//! Scenarios by name or path, with a word on a terminal while they are read.

use weir_core::units::Span;
use weir_scenario::Scenario;
use weir_study::{Point, Source};

use crate::{Failure, terminal};

/// The scenario that the user means, with `--set` applied.
///
/// # Errors
/// There is none, or it has a mistake.
pub fn scenario(name: &str, set: &[String]) -> Result<Scenario, Failure> {
    let source = Source::find(name)?;
    let scenario = terminal::while_waiting("preparing nodes, flows and routes", || source.read(set));
    Ok(scenario?)
}

/// The same with measuring windows, for runs.
///
/// # Errors
/// As [`scenario`].
pub fn point(name: &str, set: &[String], windows: Vec<(Span, Span)>) -> Result<Point, Failure> {
    let source = Source::find(name)?;
    let point = terminal::while_waiting("preparing nodes, flows and routes", || {
        Point::new(source, set.to_vec(), windows)
    });
    Ok(point?)
}

/// Measuring windows.
///
/// # Errors
/// The first that is none.
pub fn windows(texts: &[String]) -> Result<Vec<(Span, Span)>, Failure> {
    Ok(texts.iter().map(|text| weir_study::window(text)).collect::<Result<_, _>>()?)
}
