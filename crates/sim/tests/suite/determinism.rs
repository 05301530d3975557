//! Same seed, same bits; another seed, another trace, but the same claims.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, run, scenario};
use weir_experiment::Setup;
use weir_measure::Report;
use weir_measure::to_json;

fn with_seed(seed: u64) -> Setup {
    Setup { seed, ..Setup::default() }
}

/// Everything a run says, as text.
fn everything(report: &Report) -> (String, String) {
    (to_json(&report.document), format!("{:?}", report.series))
}

#[test]
fn the_same_seed_gives_the_same_document_and_series() {
    for (name, duration) in [("qsccp/dumbbell", "duration=30 s"), ("examples/random-200", "duration=2500 ms")]
    {
        let scenario = scenario(name, &[duration, "window.*.from=1 s", "window.*.to=2 s"]);
        let runs = in_parallel(&[7, 7], |seed| everything(&run(&scenario, &with_seed(*seed))));
        assert_eq!(runs[0].0, runs[1].0, "{name}");
        assert!(runs[0].1 == runs[1].1, "{name}: the series differ");
    }
}

#[test]
fn another_seed_gives_another_trace_and_every_claim_of_the_dumbbell_holds() {
    let scenario = scenario("qsccp/dumbbell", &[]);
    let reports = in_parallel(&[1, 2, 3, 4, 5], |seed| run(&scenario, &with_seed(*seed)));
    for (index, report) in reports.iter().enumerate() {
        let document = &report.document;
        assert!(document.expectations.len() >= 20);
        for row in &document.expectations {
            assert!(
                row.holds == Some(true),
                "seed {}: {}: {:?}, stated {:?}",
                index + 1,
                row.what,
                row.measured,
                row.stated
            );
        }
        for other in &reports[index + 1..] {
            assert!(format!("{:?}", report.series) != format!("{:?}", other.series), "the seed matters");
        }
    }
}
