//! The sharing policy for a scenario's links, from the registry of schemes.

use weir_core::seam::SharingPolicy;
use weir_experiment::{ExperimentError, scheme_for};
use weir_scenario::Scenario;
use weir_schemes::Entry;
use weir_schemes::registry::reference_policy;

/// Returns the policy of the scenario's reference scheme ([`reference_policy`]), with the scenario's
/// parameters.
///
/// # Errors
/// Returns an error if a parameter of that scheme is invalid.
pub fn of(scenario: &Scenario) -> Result<SharingPolicy, ExperimentError> {
    let Some((entry, sharing)) = reference_policy(&scenario.scheme) else {
        return Ok(SharingPolicy::default());
    };
    Ok((sharing.policy)(&scheme_for(scenario, entry.name)?))
}

/// Describes how a policy divides links among the classes and flows of a scenario; empty if there is nothing
/// to divide by.
pub fn weights(scenario: &Scenario, policy: &SharingPolicy) -> String {
    let mut classes: Vec<_> = scenario.flows.iter().map(|flow| flow.class).collect();
    classes.sort_by_key(|class| *class as usize);
    classes.dedup();
    let (first, rest) =
        classes.split_at(classes.partition_point(|c| (*c as usize) < policy.class_parts.len()));
    let mut parts = Vec::new();
    if rest.len() > 1 {
        let names: Vec<&str> = rest.iter().map(|class| class.name()).collect();
        let weights: Vec<String> = rest.iter().map(|class| policy.weight(*class).to_string()).collect();
        parts.push(format!("{} = {}", names.join(" : "), weights.join(" : ")));
    }
    if classes.len() > 1 {
        let limit = |class: usize| format!("up to {} %", 100.0 * policy.class_parts[class]);
        parts.extend(first.iter().map(|&class| format!("{} first, {}", class.name(), limit(class as usize))));
    }
    if scenario.flows.iter().any(|flow| policy.flow_weight(&flow.prefix) != 1.0) {
        parts.push("flows by their weights".to_owned());
    }
    parts.join(", ")
}

/// Returns the schemes of a list that do not divide links by classes.
pub fn without_classes<'a>(schemes: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let knows = |scheme: &str| weir_schemes::find(scheme).is_some_and(Entry::knows_classes);
    schemes.into_iter().filter(|scheme| !knows(scheme)).cloned().collect()
}

/// Returns the part of the links' rates that a scheme aims for in a scenario; `None` if it is all of them.
pub fn target(scenario: &Scenario, scheme: &str) -> Option<f64> {
    scheme_for(scenario, scheme).ok()?.target_utilisation().filter(|part| *part < 1.0)
}

/// Returns whether the optimum depends on this parameter of a scheme, even if another scheme runs.
pub fn reads(scheme: &str, key: &str) -> bool {
    let sharing = weir_schemes::find(scheme).and_then(|entry| entry.sharing);
    sharing.is_some_and(|sharing| sharing.reads(key))
}
