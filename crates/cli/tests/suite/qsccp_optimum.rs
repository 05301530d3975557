//! QSCCP compared with the optimum on random networks. Its schedulers and rates, without knowing of each other, reach
//! the hierarchical weighted max-min allocation. With several paths there is more than one such allocation, so QSCCP is
//! then also compared with its own equations as a fluid model.
#[path = "../../../optimum/tests/suite/common/fluid.rs"]
mod fluid;

use fluid::Fluid;
use rayon::prelude::*;
use weir_core::random::Random;
use weir_core::seam::SharingPolicy;
use weir_core::units::Span;
use weir_experiment::{Experiment, Setup};
use weir_optimum::{LinkOptimum, Options, steady};
use weir_scenario::{Override, Scenario, builtin};
use weir_sim::World;

const WINDOW: (Span, Span) = (Span::from_secs(10), Span::from_secs(20));
const ETA: f64 = 0.99;
/// Rounds of the fluid model.
const ROUNDS: usize = 100;
const ONE_CLASS: &str = "AF2";
const THREE_CLASSES: &str = r#"["AF2", "AF1", "BE"]"#;

/// Random flows on a random network, and how close each comes to its optimum.
fn network(seed: u64, nodes: u32, flows: u32, classes: &str, policy: &str) -> Scenario {
    let set = [
        format!("generate.seed={seed}"),
        format!("generate.nodes={nodes}"),
        format!("generate.flows.count={flows}"),
        format!("generate.flows.classes={classes}"),
        format!("routing.policy={policy}"),
        "duration=20s".to_owned(),
        "window.steady.from=10s".to_owned(),
        "window.steady.to=20s".to_owned(),
    ];
    let set: Vec<Override> = set.iter().map(|text| Override::parse(text).unwrap()).collect();
    let text = builtin("examples/random-200").unwrap();
    Scenario::parse("random", "random", text, &set).unwrap_or_else(|error| panic!("{error}"))
}

/// The scheme's policy with default parameters.
fn policy() -> SharingPolicy {
    let (entry, sharing) = weir_schemes::registry::reference_policy("qsccp").unwrap();
    (sharing.policy)(&entry.resolve([]).unwrap())
}

struct Outcome {
    /// Goodput of each flow divided by its optimum.
    ratios: Vec<f64>,
    /// Goodput of each flow divided by that in the fluid model, and the latter divided by the optimum.
    of_fluid: Vec<f64>,
    fluid: Vec<f64>,
    /// Total goodput divided by the optimum.
    total: f64,
    lost: u64,
}

fn outcome(scenario: &Scenario) -> Outcome {
    let setup = Setup { windows: vec![WINDOW], with_series: false, ..Setup::default() };
    let experiment = Experiment::new(scenario.clone(), &setup).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::build(experiment).unwrap_or_else(|error| panic!("{error}"));
    world.run(&mut |_| ()).unwrap();
    let document = world.finish().report.document;
    let measured: Vec<f64> = document.windows.last().unwrap().flows.iter().map(|f| f.goodput_bps).collect();
    let options = Options { utilisation: Some(ETA), ..Options::default() };
    let optimum = steady(scenario, &policy(), WINDOW, &options).unwrap_or_else(|error| panic!("{error}"));
    let best: Vec<f64> = optimum.flows.iter().map(|flow| flow.goodput_bps).collect();
    let ratios: Vec<f64> = measured.iter().zip(&best).map(|(m, b)| m / b).collect();
    let sum = |of: fn(&LinkOptimum) -> f64| optimum.links.iter().map(of).sum::<f64>();
    let interest_ratio = sum(|link| link.interest_bps) / sum(|link| link.data_bps);
    let rates = Fluid::new(scenario, policy().class_weights, ETA, interest_ratio, fluid::PAPER).run(ROUNDS);
    let fluid: Vec<f64> = rates.iter().zip(&optimum.flows).map(|(rate, flow)| rate / flow.rate_bps).collect();
    let of_fluid = ratios.iter().zip(&fluid).map(|(measured, fluid)| measured / fluid).collect();
    let total = measured.iter().sum::<f64>() / best.iter().sum::<f64>();
    Outcome { ratios, of_fluid, fluid, total, lost: document.flows.iter().map(|flow| flow.lost).sum() }
}

/// The part left by the scheme's own fields, which the optimum does not count: the rate and the expected size in an
/// Interest, and the rate in a Data, are about 30 of 1170 bytes in both directions, half of them on one direction of a
/// link.
const FIELDS: f64 = 0.985;

/// Fraction of all flows within 5 % of their reference, less the fields.
fn near(outcomes: &[Outcome], of: fn(&Outcome) -> &[f64]) -> f64 {
    part_near(outcomes.iter().flat_map(of).map(|ratio| ratio / FIELDS))
}

fn part_near(ratios: impl Iterator<Item = f64> + Clone) -> f64 {
    ratios.clone().filter(|ratio| (*ratio - 1.0).abs() < 0.05).count() as f64 / ratios.count() as f64
}

fn of_optimum(outcome: &Outcome) -> &[f64] {
    &outcome.ratios
}

fn of_fluid(outcome: &Outcome) -> &[f64] {
    &outcome.of_fluid
}

fn outcomes(classes: &str, policy: &str) -> Vec<Outcome> {
    let cases: Vec<(u64, u32, u32)> = (1..=8).map(|seed| (seed, 20 + 5 * (seed as u32 % 4), 40)).collect();
    cases
        .par_iter()
        .map(|&(seed, nodes, flows)| outcome(&network(seed, nodes, flows, classes, policy)))
        .collect()
}

#[test]
fn over_single_paths_95_of_100_flows_are_within_5_percent_of_the_optimum_and_nothing_is_lost() {
    for classes in [ONE_CLASS, THREE_CLASSES] {
        let outcomes = outcomes(classes, "shortest-path");
        let part = near(&outcomes, of_optimum);
        assert!(part >= 0.95, "{classes}: {part}");
        assert!(outcomes.iter().all(|outcome| outcome.lost == 0), "{classes}");
    }
}

/// A ring with traffic in both directions, of several classes and sizes; and the content of a Data of each flow, bytes.
fn ring(seed: u64) -> (Scenario, Vec<u32>) {
    let mut sizes = Vec::new();
    let mut random = Random::named(seed, "ring");
    let mut text = "title = \"a ring\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n\
        [scheme]\ndefault = \"qsccp\"\n[routing]\npolicy = \"shortest-path\"\nmetric = \"delay\"\n\
        [[node]]\nname = \"n{0..11}\"\n"
        .to_owned();
    for n in 0..12 {
        let (mbps, delay) = (7 + random.below(35), 1 + random.below(20));
        text += &format!(
            "[[link]]\nends = [\"n{n}\", \"n{}\"]\nrate = \"{mbps} Mb/s\"\ndelay = \"{delay} ms\"\n",
            (n + 1) % 12
        );
    }
    for flow in 0..40 {
        let consumer = random.below(12);
        let producer = (consumer + 1 + random.below(11)) % 12;
        let class = ["AF4", "AF3", "AF2", "AF1", "BE"][random.below(5) as usize];
        let payload = [600, 1024, 8000][random.below(3) as usize];
        sizes.push(payload);
        text += &format!(
            "[[flow]]\nname = \"f{flow}\"\nconsumer = \"n{consumer}\"\nproducer = \"n{producer}\"\n\
             prefix = \"/x{flow}\"\nclass = \"{class}\"\npayload = \"{payload} B\"\n"
        );
    }
    (Scenario::parse("ring", "ring", &text, &[]).unwrap_or_else(|error| panic!("{error}")), sizes)
}

#[test]
fn on_rings_with_two_way_traffic_of_several_sizes_98_of_100_flows_are_near_the_optimum() {
    // TargetRate makes a Data 12 bytes longer, which the optimum does not count.
    let of_ring = |seed| {
        let (scenario, sizes) = ring(seed);
        let Outcome { ratios, lost, .. } = outcome(&scenario);
        let fields = sizes.iter().map(|size| 1.0 - 12.0 / f64::from(size + 90));
        (ratios.iter().zip(fields).map(|(ratio, fields)| ratio / fields).collect::<Vec<f64>>(), lost)
    };
    let rings: Vec<(Vec<f64>, u64)> = (1..=4u64).into_par_iter().map(of_ring).collect();
    let part = part_near(rings.iter().flat_map(|(ratios, _)| ratios.iter().copied()));
    assert!(part >= 0.98, "{part}: {rings:.2?}");
    assert!(rings.iter().all(|(_, lost)| *lost == 0), "{rings:.2?}");
}

/// With several paths, each node divides rates by its neighbours' messages, but the optimum by what a consumer could
/// get in total. Flows that share several links on their paths differ more, but their total is the same. The scheme's
/// equations have the same distance from the optimum.
#[test]
fn over_several_paths_the_network_is_used_as_well_as_in_the_optimum_and_nothing_is_lost() {
    let runs = [ONE_CLASS, THREE_CLASSES].map(|classes| outcomes(classes, "multipath"));
    for outcomes in &runs {
        for outcome in outcomes {
            assert_eq!(outcome.lost, 0);
            assert!((outcome.total / FIELDS - 1.0).abs() < 0.05, "{}", outcome.total);
            let starved = outcome.ratios.iter().filter(|ratio| **ratio < 0.5).count();
            assert_eq!(starved, 0, "{:?}", outcome.ratios);
        }
        let of_equations = part_near(outcomes.iter().flat_map(|outcome| outcome.fluid.iter().copied()));
        let part = near(outcomes, of_optimum);
        assert!((part - of_equations).abs() < 0.05, "{part}, and {of_equations} of the flows of the fluid");
        assert!(near(outcomes, of_fluid) > part, "runs are nearer to the fluid");
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/data/qsccp.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = rows(&runs);
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "the page should have\n{}", rows.join("\n"));
}

/// The rows of these runs on the page.
fn rows(runs: &[Vec<Outcome>; 2]) -> Vec<String> {
    let row = |name: &str, of: &dyn Fn(&[Outcome]) -> String| {
        format!("| {name} | {} | {} |", of(&runs[0]), of(&runs[1]))
    };
    let range = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        format!("{least:.2} to {most:.2}")
    };
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    vec![
        row("flows within 5 % of the optimum", &|outcomes| percent(near(outcomes, of_optimum))),
        row("flows within 5 % of the fluid", &|outcomes| percent(near(outcomes, of_fluid))),
        row("a flow, as a part of the optimum", &|outcomes| {
            range(outcomes.iter().flat_map(|outcome| &outcome.ratios).map(|ratio| ratio / FIELDS).collect())
        }),
        row("all flows of a network, as a part of the optimum", &|outcomes| {
            range(outcomes.iter().map(|outcome| outcome.total / FIELDS).collect())
        }),
        row("packets lost", &|outcomes| outcomes.iter().map(|outcome| outcome.lost).sum::<u64>().to_string()),
    ]
}

/// Prints how close each network comes, for the scheme's page.
#[test]
#[ignore = "prints a table: cargo test -p weir --test suite qsccp_optimum -- --ignored --nocapture"]
fn table() {
    for classes in [ONE_CLASS, THREE_CLASSES] {
        for policy in ["shortest-path", "multipath"] {
            let outcomes = outcomes(classes, policy);
            println!("{classes} {policy}: {:.3} within 5 %", near(&outcomes, of_optimum));
            for outcome in &outcomes {
                let mut off: Vec<f64> = outcome.ratios.iter().map(|r| r / FIELDS).collect();
                off.sort_by(f64::total_cmp);
                println!(
                    "  total {:.3} lost {} least {:.2} median {:.3} most {:.2}",
                    outcome.total,
                    outcome.lost,
                    off[0],
                    off[off.len() / 2],
                    off[off.len() - 1]
                );
            }
        }
    }
}
