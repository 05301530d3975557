//! Resolves the schemes that a scenario names, with their parameters.

use weir_core::seam::params::Value;
use weir_scenario::{Param, Scenario, ScenarioError};
use weir_schemes::{Entry, Resolved};

use crate::error::ExperimentError;

/// Returns the scheme with this name and the scenario's parameters for it.
///
/// # Errors
/// Returns an error if the scheme or a parameter is unknown, or a value is invalid.
pub fn scheme_for(scenario: &Scenario, name: &str) -> Result<Resolved, ExperimentError> {
    Ok(with_parameters(scenario, weir_schemes::known(name)?)?)
}

/// Checks every scheme that the scenario names, and its parameters, even if it does not run.
///
/// # Errors
/// Returns an error for each invalid scheme or parameter, with its position in the scenario.
pub fn check_schemes(scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut checked: Vec<&str> = Vec::new();
    let mut errors = Vec::new();
    for named in &scenario.schemes {
        match weir_schemes::known(&named.name) {
            Err(unknown) => {
                let (key, message) = (named.key.as_str(), unknown.to_string());
                errors.push(scenario.error_at(&named.location, key, message, unknown.help()));
            }
            Ok(entry) if checked.contains(&entry.name) => {}
            Ok(entry) => {
                checked.push(entry.name);
                errors.extend(wrong_parameters(scenario, entry));
            }
        }
    }
    errors.into_iter().reduce(ScenarioError::and).map_or(Ok(()), Err)
}

/// Returns the errors of a scheme's parameters: those of single parameters, or else those of all together.
fn wrong_parameters(scenario: &Scenario, entry: &'static Entry) -> Vec<ScenarioError> {
    let Err(of_all) = with_parameters(scenario, entry) else { return Vec::new() };
    let of_one = |param: &Param| {
        let wrong = entry.resolve([(param.key.clone(), Value::from(&param.value))]).err()?;
        Some(scenario.param_error(entry.name, param, wrong.message.as_str(), wrong.help()))
    };
    let errors: Vec<ScenarioError> = scenario.scheme_params(entry.name).iter().filter_map(of_one).collect();
    if errors.is_empty() { vec![of_all] } else { errors }
}

fn with_parameters(scenario: &Scenario, entry: &'static Entry) -> Result<Resolved, ScenarioError> {
    let given = scenario.scheme_params(entry.name);
    let values = given.iter().map(|param| (param.key.clone(), Value::from(&param.value)));
    entry.resolve(values).map_err(|wrong| {
        let param =
            given.iter().find(|param| param.key == wrong.key).expect("the error is about a given one");
        scenario.param_error(entry.name, param, wrong.message.as_str(), wrong.help())
    })
}
