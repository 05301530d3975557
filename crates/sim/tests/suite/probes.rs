//! Measurements in addition to a scenario's expectations.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{run, scenario};
use weir_experiment::{Probe, Setup};
use weir_measure::ProbeValue;

#[test]
fn probes_measure_what_expectations_do_and_change_nothing_else() {
    let scenario =
        scenario("qsccp/dumbbell", &["duration=20 s", "window.steady.from=5 s", "window.steady.to=20 s"]);
    let without = run(&scenario, &Setup::default());
    let about = |scheme: &str| scheme == "*" || scheme == without.document.scheme;
    let expected = scenario.expectations.iter().filter(|one| about(&one.scheme));
    let mut probes: Vec<Probe> = expected.map(Probe::from).collect();
    assert!(probes.len() > 3, "{}", probes.len());
    // Their order is that of the setup.
    probes.reverse();
    let with = run(&scenario, &Setup { probes, ..Setup::default() });
    assert!(without.probes.is_empty());
    assert!(with.document == without.document, "the document has what the scenario expects alone");
    let rows = with.document.expectations.iter().rev();
    let measured: Vec<ProbeValue> =
        rows.map(|row| ProbeValue { value: row.measured, never: row.never }).collect();
    assert_eq!(with.probes, measured);
    assert!(measured.iter().all(|probe| probe.value.is_some()));
}
