//! Every built-in scenario can be run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, refused, run_checking_wire, scenario};
use weir_experiment::Setup;
use weir_scenario::builtins;

#[test]
fn every_built_in_can_be_run_and_its_flows_get_data() {
    let found: Vec<Vec<String>> = in_parallel(&builtins(), |(name, _)| {
        // Check the whole scenario for its expectations, then run its beginning.
        assert!(refused(&scenario(name, &[])).is_none(), "{name}");
        let start = scenario(
            name,
            &["duration=2 s", "flow.*.start=0 s", "flow.*.start_jitter=0 s", "flow.*.start_spread=0 s"],
        );
        let setup = Setup { with_series: false, ..Setup::default() };
        let flows = run_checking_wire(&start, &setup).document.flows;
        // The flood gets no answers.
        let answered = flows.iter().filter(|f| !f.prefix.starts_with("/none"));
        answered.filter(|f| f.goodput_bps == 0.0).map(|f| format!("{name}: {}", f.prefix)).collect()
    });
    let without: Vec<String> = found.into_iter().flatten().collect();
    assert!(without.is_empty(), "flows without Data: {without:?}");
}
