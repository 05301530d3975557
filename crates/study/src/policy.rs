//! The sharing policy for a scenario's links, from the list of schemes.

use weir_core::seam::SharingPolicy;
use weir_experiment::{ExperimentError, scheme_for};
use weir_scenario::Scenario;
use weir_schemes::registry::reference_policy;

/// The policy of the scheme that is the scenario's measure ([`reference_policy`]), with the scenario's parameters.
///
/// # Errors
/// A parameter of that scheme that is wrong.
pub fn of(scenario: &Scenario) -> Result<SharingPolicy, ExperimentError> {
    let Some((entry, sharing)) = reference_policy(&scenario.scheme) else {
        return Ok(SharingPolicy::default());
    };
    Ok((sharing.policy)(&scheme_for(scenario, entry.name)?))
}

/// Whether the optimum depends on a parameter of a scheme, whichever scheme runs.
pub fn reads(scheme: &str, key: &str) -> bool {
    let sharing = weir_schemes::find(scheme).and_then(|entry| entry.sharing);
    sharing.is_some_and(|sharing| sharing.reads(key))
}
