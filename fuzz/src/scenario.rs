//! Harness for scenario files from other sources.

use weir_experiment::{Experiment, Setup};
use weir_scenario::{Override, Scenario};

/// Reads bytes as a scenario file, with overrides after a line `---`. It is refused with a place and a reason, or it is
/// an experiment, or there is a reason why it is not one. Returns whether it is one.
pub fn file(bytes: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(bytes) else { return false };
    let (text, overrides) = text.split_once("\n---\n").unwrap_or((text, ""));
    let set: Vec<Override> =
        overrides.lines().take(8).filter_map(|line| Override::parse(line).ok()).collect();
    let scenario = match Scenario::parse("fuzzed", "fuzzed.toml", text, &set) {
        Ok(scenario) => scenario,
        Err(error) => {
            assert!(!error.to_string().trim().is_empty());
            return false;
        }
    };
    match Experiment::new(scenario, &Setup::default()) {
        Ok(_) => true,
        Err(error) => {
            assert!(!error.to_string().trim().is_empty());
            false
        }
    }
}
