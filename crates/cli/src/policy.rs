//! By which policy a scenario's links are to be shared: the schemes are asked.

use weir_core::seam::SharingPolicy;
use weir_scenario::Scenario;
use weir_schemes::registry::measure;
use weir_sim::{BuildError, scheme_for};

/// The policy of the scheme that is the scenario's measure ([`measure`]), with the scenario's parameters.
///
/// # Errors
/// A parameter of that scheme that is wrong.
pub fn of(scenario: &Scenario) -> Result<SharingPolicy, BuildError> {
    let Some((entry, sharing)) = measure(&scenario.scheme) else { return Ok(SharingPolicy::default()) };
    Ok((sharing.policy)(&scheme_for(scenario, entry.name)?))
}

/// Whether the optimum depends on a parameter of a scheme, whichever scheme runs.
pub fn reads(scheme: &str, key: &str) -> bool {
    let sharing = weir_schemes::find(scheme).and_then(|entry| entry.sharing);
    sharing.is_some_and(|sharing| sharing.reads(key))
}
