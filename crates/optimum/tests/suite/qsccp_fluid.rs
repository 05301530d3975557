//! QSCCP's equations (10) to (12) over several paths, as a fluid, compared with the optimum.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::fluid::{Division, Fluid, Forwarding, PAPER, Rules, Suggested};
use crate::common::{built_in, interest_ratio, policy};
use weir_core::Span;
use weir_optimum::{Options, steady};
use weir_scenario::Scenario;

const ETA: f64 = 0.99;
/// The number of rounds. Rates settle after a hundred or so.
const ROUNDS: usize = 400;
type Seeds = core::ops::RangeInclusive<u64>;
const SEEDS: Seeds = 1..=8;
const CLASSES: [&str; 2] = ["AF2", r#"["AF2", "AF1", "BE"]"#];

/// The networks on which QSCCP is simulated for the comparison with the optimum:
/// `crates/cli/tests/suite/qsccp_optimum.rs`.
fn network(seed: u64, classes: &str, routing: &str) -> Scenario {
    let set = [
        format!("generate.seed={seed}"),
        format!("generate.nodes={}", 20 + 5 * (seed % 4)),
        "generate.flows.count=40".to_owned(),
        format!("generate.flows.classes={classes}"),
        format!("routing.policy={routing}"),
        "duration=20s".to_owned(),
        "window.steady.from=10s".to_owned(),
        "window.steady.to=20s".to_owned(),
    ];
    built_in("examples/random-200", &set.each_ref().map(String::as_str))
}

struct Outcome {
    /// The rate of each flow.
    rates: Vec<f64>,
    best: Vec<f64>,
    /// The rate of each flow, as a part of the links' offers.
    of_all: Vec<f64>,
    excess: f64,
}

fn outcome(scenario: &Scenario, rules: Rules, start: Option<u64>) -> Outcome {
    let window = (Span::from_secs(10), Span::from_secs(20));
    let options = Options { utilisation: Some(ETA), ..Options::default() };
    let optimum = steady(scenario, &policy(scenario), window, &options).unwrap();
    let mut fluid =
        Fluid::new(scenario, policy(scenario).class_weights, ETA, interest_ratio(&optimum), rules);
    if let Some(seed) = start {
        fluid.begin_elsewhere(seed);
    }
    let rates = fluid.run(ROUNDS);
    let of_all = rates.iter().zip(fluid.could_have()).map(|(rate, all)| rate / all).collect();
    let best = optimum.flows.iter().map(|flow| flow.rate_bps).collect();
    Outcome { rates, best, of_all, excess: fluid.excess() }
}

fn outcomes(seeds: Seeds, classes: &str, routing: &str, rules: Rules, start: Option<u64>) -> Vec<Outcome> {
    seeds.map(|seed| outcome(&network(seed, classes, routing), rules, start)).collect()
}

/// Returns the part of all flows that are within 5 %.
fn near<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)> + Clone) -> f64 {
    let count = pairs.clone().filter(|(a, b)| (*a / *b - 1.0).abs() < 0.05).count();
    count as f64 / pairs.count() as f64
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

#[test]
fn over_single_paths_the_fluid_comes_to_the_optimum() {
    for classes in CLASSES {
        for Outcome { rates, best, .. } in outcomes(SEEDS, classes, "shortest-path", PAPER, None) {
            assert!(
                rates.iter().zip(&best).all(|(a, b)| (a / b - 1.0).abs() < 0.02),
                "{:?}",
                rates.iter().zip(&best).map(|(a, b)| a / b).collect::<Vec<_>>()
            );
        }
    }
}

/// So it is a link-fair allocation: each link is divided fairly, and each flow has the most that its parts
/// carry.
#[test]
fn over_several_paths_equations_10_to_12_give_each_flow_all_that_links_would_give_it() {
    for classes in CLASSES {
        for Outcome { of_all, excess, .. } in outcomes(SEEDS, classes, "multipath", PAPER, None) {
            assert!(least(of_all.iter().copied()) > 0.98, "{of_all:?}");
            assert!(excess < 0.005, "{excess}");
        }
    }
}

/// There is more than one such allocation. If a flow does not need all of its next hops' offers, the split
/// decides the rates of others.
#[test]
fn over_several_paths_there_are_several_link_fair_allocations() {
    let parts = CLASSES.map(|classes| {
        let [one, other] = [None, Some(1)].map(|start| outcomes(SEEDS, classes, "multipath", PAPER, start));
        let of_all = other.iter().flat_map(|outcome| outcome.of_all.iter().copied());
        assert!(least(of_all) > 0.98, "from another start flows have all that links would give them, too");
        near(one.iter().zip(&other).flat_map(|(a, b)| a.rates.iter().zip(&b.rates)))
    });
    assert!(parts.iter().all(|part| *part < 0.95), "{parts:?}");
    let page = page();
    for part in parts.map(|part| format!("{:.1} %", 100.0 * part)) {
        assert!(
            page.contains(&part),
            "the page should have {part} of the flows within 5 % of the first rates"
        );
    }
}

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/qsccp.md");
    std::fs::read_to_string(path).unwrap()
}

/// Returns a row of the page for each rule: flows within 5 % of the optimum, the smallest and largest part of
/// it, all flows together, and the smallest part of the links' offers to a flow; for one class and for three.
fn row(name: &str, seeds: Seeds, rules: Rules) -> String {
    let of = |classes: &str| {
        let outcomes = outcomes(seeds.clone(), classes, "multipath", rules, None);
        let part = near(outcomes.iter().flat_map(|o| o.rates.iter().zip(&o.best)));
        let ratios = || outcomes.iter().flat_map(|o| o.rates.iter().zip(&o.best)).map(|(a, b)| a / b);
        let totals = || outcomes.iter().map(|o| o.rates.iter().sum::<f64>() / o.best.iter().sum::<f64>());
        let most = |values: &mut dyn Iterator<Item = f64>| -least(values.map(|value| -value));
        let of_all = least(outcomes.iter().flat_map(|o| o.of_all.iter().copied()));
        format!(
            "{:.1} % | {:.2} to {:.2} | {:.2} to {:.2} | {:.2}",
            100.0 * part,
            least(ratios()),
            most(&mut ratios()),
            least(totals()),
            most(&mut totals()),
            of_all
        )
    };
    format!("| {name} | {} | {} |", of(CLASSES[0]), of(CLASSES[1]))
}

#[test]
fn the_page_shows_what_the_rules_come_to() {
    let offered = Rules { suggested: Suggested::Offered, ..PAPER };
    let leftover = Rules { division: Division::Leftover, ..offered };
    let water_filling = Rules { division: Division::WaterFilling, ..PAPER };
    let undivided = Rules { forwarding: Forwarding::Undivided, ..offered };
    let rows = [
        row("(10) to (12)", SEEDS, PAPER),
        row("(11) by water-filling", SEEDS, water_filling),
        row("all are offered more", SEEDS, offered),
        row("all are offered more, (11) at least what others leave", SEEDS, leftover),
        row("all are offered more, split as in the optimum", SEEDS, undivided),
        row("(10) to (12), eight other networks", 9..=16, PAPER),
    ];
    let page = page();
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "the page should have\n{}", rows.join("\n"));
}
