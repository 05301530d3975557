//! The draws of random traffic: counts, objects and amounts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;

use weir_experiment::{Arrival, Experiment, Setup};
use weir_scenario::{Files, Scenario, builtin};

/// The files that a scenario here may name.
struct Beside;

impl Files for Beside {
    fn read(&self, path: &str) -> Result<Arc<str>, String> {
        Ok(if path == "r" { "0.5,3,20\n1,8" } else { "7" }.into())
    }
}

/// Returns the requests of the last two flows of the smallest scenario with these flows.
fn requests(seed: u64, keys: &str) -> Vec<Arrival> {
    streams(seed, keys).pop().unwrap()
}

fn streams(seed: u64, keys: &str) -> Vec<Vec<Arrival>> {
    let flow = format!(
        "\n[[flow]]\nname = \"web\"\nconsumer = [\"alice\", \"alice\"]\nproducer = \"bob\"\nprefix = \"/web\"\nsource = \"assumed\"\n{keys}"
    );
    let text = builtin("examples/minimal").unwrap().to_owned() + &flow;
    let text = text.replacen("duration = \"10 s\"", "duration = \"2000 s\"", 1);
    let scenario = Scenario::parse_with_files("test", "test", &text, &[], &Beside, |_| None);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.duration.as_secs_f64() >= 100.0, "{}", scenario.duration);
    let experiment = Experiment::new(scenario, &Setup { seed, ..Setup::default() }).unwrap();
    experiment.request_streams().into_iter().flatten().map(Iterator::collect).collect()
}

#[test]
fn poisson_counts_have_the_variance_of_their_mean() {
    let requests = requests(1, "arrivals = \"poisson 10/s\"\namount = 1");
    let mut counts = vec![0.0; 2000];
    requests.iter().for_each(|request| counts[request.at.as_secs_f64() as usize] += 1.0);
    let mean = counts.iter().sum::<f64>() / 2000.0;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 1999.0;
    // Three standard deviations: 3·√(10/2000), and for the index of dispersion 3·√(2/2000).
    assert!((mean - 10.0).abs() < 0.22, "{mean}");
    assert!((variance / mean - 1.0).abs() < 0.1, "{}", variance / mean);
}

#[test]
fn objects_are_requested_as_often_as_zipf_says() {
    let keys =
        "arrivals = \"poisson 50/s\"\namount = \"exponential 30\"\nobjects = 1000\npopularity = \"zipf 0.8\"";
    let requests = requests(1, keys);
    let mut counts = vec![0.0; 1000];
    let mut amounts: BTreeMap<u64, u64> = BTreeMap::new();
    for request in &requests {
        counts[request.object as usize] += 1.0;
        let amount = *amounts.entry(request.object).or_insert(request.amount);
        assert_eq!(amount, request.amount, "an object has one amount");
    }
    let weights: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-0.8)).collect();
    let sum: f64 = weights.iter().sum();
    let n = requests.len() as f64;
    // Chi-square over all objects: with 999 degrees of freedom it is below 1150 with a probability of 0.9995.
    let chi_square: f64 = counts
        .iter()
        .zip(&weights)
        .map(|(count, weight)| (count - n * weight / sum).powi(2) / (n * weight / sum))
        .sum();
    assert!((850.0..1150.0).contains(&chi_square), "{chi_square}");
    let mean = amounts.values().sum::<u64>() as f64 / amounts.len() as f64;
    assert!((mean - 30.0).abs() < 3.5, "{mean}");
}

#[test]
fn flows_of_one_prefix_request_different_new_objects_at_different_times() {
    let both = streams(1, "arrivals = \"poisson 1/s\"\namount = 1");
    let objects: std::collections::BTreeSet<u64> =
        both.iter().flatten().map(|request| request.object).collect();
    assert_eq!(objects.len(), both[0].len() + both[1].len());
    assert_ne!(both[0][0].at, both[1][0].at);
    assert_ne!(
        requests(1, "arrivals = \"poisson 1/s\"\namount = 1"),
        requests(2, "arrivals = \"poisson 1/s\"\namount = 1")
    );
}

#[test]
fn no_request_comes_in_a_pause() {
    let keys = "arrivals = \"every 10 ms\"\namount = 1\nactivity = \"on constant 1 s off constant 3 s\"";
    let requests = requests(1, keys);
    assert!(requests.iter().all(|request| request.at.as_nanos() % 4_000_000_000 < 1_000_000_000));
    assert_eq!(requests.len(), 500 * 100);
}

#[test]
fn requests_of_a_file_come_as_it_says() {
    let keys = "arrivals = \"file r\"\namount = \"file s\"\nobjects = 9\nstart = \"2 s\"";
    let found: Vec<_> = requests(1, keys).iter().map(|r| (r.at.as_secs_f64(), r.object, r.amount)).collect();
    assert_eq!(found, [(2.5, 3, 20), (3.0, 8, 7)]);
}
