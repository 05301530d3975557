//! Resolves the schemes that a scenario names, with their parameters.

use weir_core::seam::params::Value;
use weir_scenario::{Scenario, ScenarioError};
use weir_schemes::{Entry, Resolved};

use crate::error::ExperimentError;

/// The scheme of this name, with the scenario's parameters for it.
///
/// # Errors
/// An unknown scheme, or a parameter that it does not have or that is wrong.
pub fn scheme_for(scenario: &Scenario, name: &str) -> Result<Resolved, ExperimentError> {
    Ok(with_parameters(scenario, weir_schemes::known(name)?)?)
}

/// Every scheme that the scenario names is one, and its parameters are right, whether or not it is
/// the one that runs.
///
/// # Errors
/// The first that is not, with its place in the scenario.
pub fn check_schemes(scenario: &Scenario) -> Result<(), ScenarioError> {
    for named in &scenario.schemes {
        let entry = weir_schemes::known(&named.name).map_err(|unknown| {
            scenario.error_at(&named.location, named.key.as_str(), unknown.to_string(), unknown.help())
        })?;
        with_parameters(scenario, entry)?;
    }
    Ok(())
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
