//! Same seed, same bits; another seed, another trace, but the same claims.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, run, scenario};
use weir_experiment::Setup;
use weir_measure::Report;
use weir_measure::to_json;
use weir_scenario::builtins;
use weir_schemes::SCHEMES;

fn with_seed(seed: u64) -> Setup {
    Setup { seed, ..Setup::default() }
}

/// All results of a run, as text.
fn everything(report: &Report) -> (String, String) {
    (to_json(&report.document), format!("{:?}", report.series))
}

#[test]
fn the_same_seed_gives_the_same_document_and_series() {
    let few_flows = "generate.flows.count=100";
    for (name, set) in [("qsccp/dumbbell", &[][..]), ("examples/random-200", &[few_flows])] {
        let short = ["duration=3 s", "window.*.from=1 s", "window.*.to=2 s"];
        let scenario = scenario(name, &[&short, set].concat());
        let runs = in_parallel(&[7, 7], |seed| everything(&run(&scenario, &with_seed(*seed))));
        assert_eq!(runs[0].0, runs[1].0, "{name}");
        assert!(runs[0].1 == runs[1].1, "{name}: the series differ");
    }
}

#[test]
fn another_seed_gives_another_trace_and_every_claim_of_the_dumbbell_holds() {
    let scenario = scenario("qsccp/dumbbell", &[]);
    let reports = in_parallel(&[1, 2], |seed| run(&scenario, &with_seed(*seed)));
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

/// Number of schemes for each scenario. The next scenario uses the next schemes.
const SCHEMES_EACH: usize = 1;

#[test]
fn where_the_seed_decides_nothing_another_one_gives_the_same_figures() {
    let names: Vec<&str> = builtins().into_iter().map(|(name, _)| name).collect();
    let turns = names.iter().enumerate().flat_map(|(at, name)| {
        (0..SCHEMES_EACH).map(move |turn| (*name, SCHEMES[(at * SCHEMES_EACH + turn) % SCHEMES.len()].name))
    });
    let decided = in_parallel(&turns.collect::<Vec<_>>(), |(name, scheme)| {
        let scenario = scenario(name, &["duration=1 s", "flow.*.start=0 s", "flow.*.start_jitter=0 s"]);
        let of_seed = |seed: u64| {
            let scheme = Some((*scheme).to_owned());
            let mut report = run(&scenario, &Setup { scheme, ..with_seed(seed) });
            let matters = report.document.seed_matters;
            report.document.seed = 0;
            (matters, everything(&report))
        };
        let (matters, first) = of_seed(1);
        let (also, second) = of_seed(2);
        assert_eq!(matters, also, "{name} under {scheme}: whether the seed matters depends on the seed");
        assert!(matters || first == second, "{name} under {scheme}: the seed matters");
        (matters, first != second)
    });
    let count = |wanted: (bool, bool)| decided.iter().filter(|one| **one == wanted).count();
    assert!(count((false, false)) > 5 && count((true, true)) > 5, "both kinds are there: {decided:?}");
}
