//! Properties of the optimum of every network, tested on random ones.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{self, apart, flow, network, optimum};
use proptest::prelude::*;
use weir_core::Span;
use weir_optimum::{Held, Objective, Optimum, Options, steady};
use weir_packet::ServiceClass;
use weir_scenario::Scenario;

const LINK_FAIR: Objective = Objective::LinkFair;

/// The parameters of a random network.
#[derive(Clone, Debug)]
struct Shape {
    kind: &'static str,
    nodes: u32,
    flows: u32,
    seed: u32,
    policy: &'static str,
    classes: &'static str,
    source: &'static str,
}

fn shapes(policy: &'static [&'static str], classes: &'static [&'static str]) -> impl Strategy<Value = Shape> {
    let kind = prop::sample::select(&["random", "waxman", "grid", "tree", "ring", "line"][..]);
    let source = prop::sample::select(&["", "source_rate = \"700 kb/s\"\n"][..]);
    let parts = (
        kind,
        3u32..25,
        1u32..40,
        1u32..10_000,
        prop::sample::select(policy),
        prop::sample::select(classes),
        source,
    );
    parts.prop_map(|(kind, nodes, flows, seed, policy, classes, source)| Shape {
        kind,
        nodes,
        flows,
        seed,
        policy,
        classes,
        source,
    })
}

impl Shape {
    fn scenario(&self) -> Scenario {
        let Shape { kind, nodes, flows, seed, policy, classes, source } = self;
        let text = format!(
            "title = \"random\"\nduration = \"10 s\"\n[scheme]\ndefault = \"fixed\"\n[generate]\nkind = \"{kind}\"\n\
             nodes = {nodes}\ndegree = 3\nseed = {seed}\nrate = [\"1 Mb/s\", \"10 Mb/s\"]\ndelay = \"1 ms\"\n\
             [generate.flows]\ncount = {flows}\nclasses = [{classes}]\n{source}[routing]\npolicy = \"{policy}\"\n"
        );
        Scenario::parse("random", "random.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
    }
}

const MIXED: &[&str] =
    &["\"BE\"", "\"AF2\", \"BE\"", "\"EF\", \"AF4\", \"AF1\"", "\"CS7\", \"EF\", \"AF2\", \"BE\""];
const ONE: &[&str] = &["\"BE\""];
const SINGLE: &[&str] = &["shortest-path"];
const SEVERAL: &[&str] = &["equal-cost", "multipath"];

/// Consumers C behind some of the routers R, all of which lead to one producer. Data use one direction, so
/// that no link has both Data and Interests.
fn one_way() -> impl Strategy<Value = OneWay> {
    let routers = prop::collection::vec(1u32..30, 1..6);
    let consumers = prop::collection::vec(prop::collection::vec((0usize..6, 1u32..30), 1..5), 1..12);
    (routers, consumers).prop_map(|(routers, consumers)| {
        let mut links: Vec<String> =
            routers.iter().enumerate().map(|(r, rate)| format!("R{r}-P {rate}")).collect();
        let mut hops: Vec<String> = (0..routers.len()).map(|r| format!("\"R{r}->P\"")).collect();
        let mut flows = String::new();
        for (c, ways) in consumers.iter().enumerate() {
            let ways: std::collections::BTreeMap<usize, u32> =
                ways.iter().map(|(r, rate)| (r % routers.len(), *rate)).collect();
            links.extend(ways.iter().map(|(r, rate)| format!("C{c}-R{r} {rate}")));
            let next: Vec<String> = ways.keys().map(|r| format!("R{r}")).collect();
            hops.push(format!("\"C{c}->{}\"", next.join("|")));
            flows += &flow(&format!("C{c}"), "P", &format!("/{c}"), "BE", "");
        }
        let hops = hops.join(", ");
        let routes = format!("[routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/\"\nhops = [{hops}]\n");
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        OneWay(links.iter().map(|link| (*link).to_owned()).collect(), network(&links, &(routes + &flows)))
    })
}

/// The links of the network, and its scenario.
struct OneWay(Vec<String>, Scenario);

impl core::fmt::Debug for OneWay {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

fn index(link: weir_scenario::DirectedLink) -> usize {
    2 * link.link.index() + link.direction
}

/// Returns the precision of an optimum. Max-min fairness stops when the load of Interests on a link is known
/// to a two thousandth of the link.
fn tolerance(found: &Optimum) -> f64 {
    match (found.objective, found.inexact.is_none()) {
        (LINK_FAIR, true) => 1e-7,
        (LINK_FAIR, false) => 5e-3,
        (Objective::MaxMin, _) => 2e-3,
        _ => 2e-4,
    }
}

/// Checks that no link carries more than it may.
fn is_feasible(found: &Optimum) -> Result<(), TestCaseError> {
    for link in &found.links {
        let load = link.data_bps + link.interest_bps;
        let most = found.utilisation * link.rate_bps;
        prop_assert!(load <= most * (1.0 + tolerance(found)), "{:?}: {load} of {most}", link.link);
    }
    Ok(())
}

/// Checks that every flow has its demand, or is limited by links, each of which is full, or full for its
/// class.
fn each_flow_is_held(scenario: &Scenario, found: &Optimum) -> Result<(), TestCaseError> {
    for (flow, of) in scenario.flows.iter().zip(&found.flows) {
        prop_assert!(!of.held.is_empty());
        for &(held, _) in &of.held {
            let Held::ByLink(link) = held else {
                let asked = 700e3;
                prop_assert!(
                    (of.rate_bps / asked - 1.0).abs() < 1e-3,
                    "{} is not all it asks for",
                    of.rate_bps
                );
                continue;
            };
            let link = &found.links[index(link)];
            let full = link.data_bps + link.interest_bps
                >= found.utilisation * link.rate_bps * (1.0 - 10.0 * tolerance(found));
            prop_assert!(full || flow.class.is_delay_sensitive(), "{:?} is not full", link.link);
        }
    }
    Ok(())
}

/// Checks on single paths: at the link that limits a flow, the flow is among the largest of its class, and so
/// is a delay-tolerant class for its weight.
fn each_flow_is_among_the_largest_where_it_is_held(
    scenario: &Scenario,
    found: &Optimum,
) -> Result<(), TestCaseError> {
    let mut on = vec![Vec::new(); found.links.len()];
    for (index, flow) in scenario.flows.iter().enumerate() {
        let mut at = flow.consumer;
        while !flow.producers.contains(&at) {
            let route = scenario.routes.iter().find(|r| r.node == at && *r.prefix == *flow.prefix).unwrap();
            let next = route.next_hops[0].node;
            on[self::index(scenario.link_between(next, at).unwrap())].push(index);
            at = next;
        }
    }
    let omega = |class: ServiceClass| [5.0, 4.0, 3.0, 2.0, 1.0][class as usize - 3];
    for (flow, of) in scenario.flows.iter().zip(&found.flows) {
        for &(held, _) in &of.held {
            let Held::ByLink(link) = held else { continue };
            let beside = &on[index(link)];
            let total = |class: ServiceClass| -> f64 {
                let of_class = beside.iter().filter(|&&other| scenario.flows[other].class == class);
                of_class.map(|&other| found.flows[other].rate_bps).sum()
            };
            for &other in beside {
                let (class, rate) = (scenario.flows[other].class, found.flows[other].rate_bps);
                let is_larger = class == flow.class && rate > of.rate_bps * (1.0 + 1e-6);
                prop_assert!(!is_larger, "{rate} beside {}", of.rate_bps);
                if !flow.class.is_delay_sensitive() && !class.is_delay_sensitive() {
                    let (own, others) = (total(flow.class) / omega(flow.class), total(class) / omega(class));
                    prop_assert!(others <= own * (1.0 + 1e-6), "{others} beside {own}");
                }
            }
        }
    }
    Ok(())
}

/// Returns the exponential of the mean weighted logarithm: the geometric mean of the rates.
fn geometric_mean(found: &Optimum) -> f64 {
    let logarithms: f64 = found.flows.iter().map(|flow| flow.rate_bps.max(1.0).ln()).sum();
    (logarithms / found.flows.len() as f64).exp()
}

fn total(found: &Optimum) -> f64 {
    found.flows.iter().map(|flow| flow.rate_bps).sum()
}

fn least(found: &Optimum) -> f64 {
    found.flows.iter().map(|flow| flow.rate_bps).fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn single_paths_are_shared_max_min_fairly_by_classes(shape in shapes(SINGLE, MIXED)) {
        let scenario = shape.scenario();
        let found = optimum(&scenario, LINK_FAIR, 0, 10);
        prop_assert!(found.inexact.is_none());
        is_feasible(&found)?;
        each_flow_is_held(&scenario, &found)?;
        each_flow_is_among_the_largest_where_it_is_held(&scenario, &found)?;
    }

    #[test]
    fn several_paths_are_shared_within_what_links_carry(shape in shapes(SEVERAL, MIXED)) {
        let scenario = shape.scenario();
        for objective in Objective::ALL.map(|(objective, _)| objective) {
            let found = optimum(&scenario, objective, 0, 10);
            is_feasible(&found)?;
            let most = found.flows.iter().all(|flow| flow.rate_bps <= flow.alone_bps * (1.0 + 1e-6));
            prop_assert!(most, "a flow has more than it could have alone");
        }
    }

    #[test]
    fn with_several_paths_each_flow_is_held_by_full_links(shape in shapes(SEVERAL, MIXED)) {
        let scenario = shape.scenario();
        each_flow_is_held(&scenario, &optimum(&scenario, LINK_FAIR, 0, 10))?;
    }

    #[test]
    fn each_objective_is_best_at_what_it_is_about(OneWay(_, scenario) in one_way()) {
        let all = Objective::ALL.map(|(objective, _)| optimum(&scenario, objective, 0, 10));
        let [_, max_min, proportional, max_flow] = &all;
        for other in &all {
            let name = other.objective;
            let slack = 1.0 - tolerance(other) - tolerance(max_flow);
            prop_assert!(total(max_flow) >= total(other) * slack, "{name}");
            prop_assert!(geometric_mean(proportional) >= geometric_mean(other) * slack, "{name}");
            prop_assert!(least(max_min) >= least(other) * slack, "{name}: {} and {}", least(max_min), least(other));
        }
    }

    #[test]
    fn on_single_paths_and_in_one_class_link_fair_is_max_min(shape in shapes(SINGLE, ONE)) {
        let scenario = shape.scenario();
        let [a, b] = [LINK_FAIR, Objective::MaxMin].map(|objective| optimum(&scenario, objective, 0, 10));
        for (a, b) in a.flows.iter().zip(&b.flows) {
            prop_assert!((a.rate_bps / b.rate_bps - 1.0).abs() < 2e-3, "{} and {}", a.rate_bps, b.rate_bps);
        }
    }

    #[test]
    fn links_of_which_half_may_be_used_give_half_as_much(shape in shapes(&["shortest-path", "multipath"], MIXED)) {
        let scenario = Shape { source: "", ..shape }.scenario();
        let window = (Span::ZERO, Span::from_secs(10));
        let [all, half] = [1.0, 0.5].map(|utilisation| {
            steady(&scenario, &common::policy(&scenario), window, &Options { utilisation: Some(utilisation), ..Options::default() }).unwrap()
        });
        for (a, b) in all.flows.iter().zip(&half.flows) {
            prop_assert!((0.5 * a.rate_bps - b.rate_bps).abs() <= 1e-6 * b.rate_bps, "{} and {}", a.rate_bps, b.rate_bps);
        }
    }

    #[test]
    fn the_same_scenario_has_the_same_optimum_to_the_bit(shape in shapes(SEVERAL, MIXED)) {
        for objective in Objective::ALL.map(|(objective, _)| objective) {
            let once = optimum(&shape.scenario(), objective, 0, 10);
            prop_assert_eq!(once, optimum(&shape.scenario(), objective, 0, 10));
        }
    }
}

#[test]
fn consumers_of_the_same_names_are_served_within_what_links_carry() {
    for name in ["qsccp/abilene-single", "qsccp/abilene-multipath", "qsccp/geant"] {
        // The flows have no end, so that all of them run.
        let scenario = common::built_in(name, &["flow.*.amount=100000000"]);
        let all = Objective::ALL.map(|(objective, _)| optimum(&scenario, objective, 0, 10));
        let [_, max_min, proportional, max_flow] = &all;
        // A load that links carry for each consumer separately they can also carry for all that share it.
        let [flow_apart, min_apart] =
            [Objective::MaxFlow, Objective::MaxMin].map(|objective| apart(&scenario, objective, 0, 10));
        is_feasible(&flow_apart).unwrap();
        assert!(total(max_flow) >= total(&flow_apart) * (1.0 - 1e-3), "{name}");
        assert!(least(max_min) >= least(&min_apart) * (1.0 - 5e-3), "{name}");
        for other in &all {
            is_feasible(other).unwrap();
            let slack = 1.0 - 2.0 * tolerance(other) - tolerance(max_flow);
            assert!(total(max_flow) >= total(other) * slack, "{name}, {}", other.objective);
            assert!(
                geometric_mean(proportional) >= geometric_mean(other) * slack,
                "{name}, {}",
                other.objective
            );
            assert!(least(max_min) >= least(other) * slack, "{name}, {}", other.objective);
        }
    }
}
