//! Small networks as text.
#![allow(clippy::unwrap_used, dead_code, reason = "a test fails by panicking, and does not use all of this")]

pub mod fluid;

use weir_core::Span;
use weir_core::seam::SharingPolicy;
use weir_core::seam::params::Value;
use weir_optimum::{Copies, Objective, Optimum, Options, Theory, steady};
use weir_scenario::{Override, Scenario, builtin};

/// Returns a scenario of 10 s with these links, `"A-B 10"` for 10 Mb/s or `"A-B 10/1"` for 10 there and 1
/// back, and these further tables.
pub fn network(links: &[&str], rest: &str) -> Scenario {
    let mut nodes: Vec<&str> = Vec::new();
    let mut tables = String::new();
    for link in links {
        let (ends, rates) = link.split_once(' ').unwrap();
        let (a, b) = ends.split_once('-').unwrap();
        nodes.extend([a, b].iter().filter(|node| !nodes.contains(node)).collect::<Vec<_>>());
        let rate = match rates.split_once('/') {
            Some((there, back)) => format!("[\"{there} Mb/s\", \"{back} Mb/s\"]"),
            None => format!("\"{rates} Mb/s\""),
        };
        tables += &format!("[[link]]\nends = [\"{a}\", \"{b}\"]\nrate = {rate}\ndelay = \"1 ms\"\n");
    }
    let name = nodes.iter().map(|node| format!("\"{node}\"")).collect::<Vec<_>>().join(", ");
    let routing = if rest.contains("[routing]") { "" } else { "[routing]\npolicy = \"shortest-path\"\n" };
    let text = format!(
        "title = \"a test\"\nduration = \"10 s\"\n[scheme]\ndefault = \"fixed\"\n{routing}[[node]]\nname = \
         [{name}]\n{tables}{rest}"
    );
    Scenario::parse("test", "test.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns an elastic flow of a class.
pub fn flow(consumer: &str, producer: &str, prefix: &str, class: &str, more: &str) -> String {
    let name = format!("{}{consumer}", prefix.replace('/', "p"));
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"{consumer}\"\nproducer = \"{producer}\"\nprefix = \
         \"{prefix}\"\nclass = \"{class}\"\n{more}\n"
    )
}

pub fn built_in(name: &str, set: &[&str]) -> Scenario {
    let set: Vec<Override> = set.iter().map(|text| Override::parse(text).unwrap()).collect();
    let parsed = Scenario::parse(name, name, builtin(name).unwrap(), &set);
    parsed.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the policy of the scenario's reference scheme.
pub fn policy(scenario: &Scenario) -> SharingPolicy {
    let (entry, sharing) = weir_schemes::registry::reference_policy(&scenario.scheme).unwrap();
    let given = scenario.scheme_params(entry.name).iter();
    let values = given.map(|param| (param.key.clone(), Value::from(&param.value)));
    (sharing.policy)(&entry.resolve(values).unwrap())
}

pub fn optimum(scenario: &Scenario, objective: Objective, from: u64, to: u64) -> Optimum {
    let options = Options { objective, ..Options::default() };
    let theory = Theory::new(scenario, &policy(scenario), &options).unwrap();
    let window = (Span::from_secs(from), Span::from_secs(to));
    theory.windows(&[window]).unwrap().pop().unwrap()
}

/// Returns the optimum on 99 % of the links, QSCCP's target.
pub fn at_target(scenario: &Scenario, objective: Objective, from: u64, to: u64) -> Optimum {
    let options = Options { objective, utilisation: Some(0.99), ..Options::default() };
    let theory = Theory::new(scenario, &policy(scenario), &options).unwrap();
    theory.windows(&[(Span::from_secs(from), Span::from_secs(to))]).unwrap().pop().unwrap()
}

/// Returns the optimum with separate copies of Data for each consumer.
pub fn apart(scenario: &Scenario, objective: Objective, from: u64, to: u64) -> Optimum {
    let options = Options { objective, copies: Copies::Apart, ..Options::default() };
    let window = (Span::from_secs(from), Span::from_secs(to));
    steady(scenario, &policy(scenario), window, &options).unwrap()
}

/// Returns the rates of flows over the first 10 s, Mb/s of Data.
pub fn rates(scenario: &Scenario, objective: Objective) -> Vec<f64> {
    mbps(&optimum(scenario, objective, 0, 10))
}

pub fn mbps(optimum: &Optimum) -> Vec<f64> {
    optimum.flows.iter().map(|flow| flow.rate_bps / 1e6).collect()
}

/// Returns the bits of Interests for a bit of Data, from a link that carries nothing else.
pub fn interest_ratio(optimum: &Optimum) -> f64 {
    let sum = |of: fn(&weir_optimum::LinkOptimum) -> f64| optimum.links.iter().map(of).sum::<f64>();
    sum(|link| link.interest_bps) / sum(|link| link.data_bps)
}

#[track_caller]
pub fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b.abs().max(1e-3);
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "{found:?}, not {expected:?}"
    );
}
