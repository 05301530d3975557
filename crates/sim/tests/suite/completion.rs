//! Expectations about the end of flows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{parse, run};
use weir_experiment::Setup;

/// Two consumers that can finish within the run, and one that cannot.
const DOWNLOADS: &str = r#"
title = "three downloads"
duration = "4 s"
[scheme]
default = "fixed"
[[node]]
name = ["C", "P"]
[[link]]
ends = ["C", "P"]
rate = "10 Mb/s"
delay = "5 ms"
[[flow]]
name = "short"
consumer = "C"
producer = "P"
prefix = ["/a", "/b"]
start = ["0 s", "1 s"]
amount = [100, 500]
[[flow]]
name = "long"
consumer = "C"
producer = "P"
prefix = "/c"
start = "0 s"
amount = 1000000
[[expectation]]
source = "theory: the mean of what each took"
metric = "completion_mean"
flow = "short"
at_least = 0
[[expectation]]
source = "theory: one of them never ends, so there is no mean"
metric = "completion_mean"
at_least = 0
[[expectation]]
source = "theory: the long one"
metric = "unfinished"
about = 1
[[expectation]]
source = "theory: both short ones have ended"
metric = "unfinished"
flow = "short"
about = 0
[[expectation]]
source = "theory: at 1 s the second one only begins"
metric = "unfinished"
flow = "short"
window = ["0 s", "1 s"]
about = 1
"#;

#[test]
fn the_mean_time_to_completion_and_the_flows_that_never_end_are_those_of_the_flows() {
    let document = run(&parse("downloads", DOWNLOADS, &[]), &Setup::default()).document;
    let measured: Vec<_> = document.expectations.iter().map(|row| row.measured).collect();
    let [first, second] = [0, 1].map(|flow| document.flows[flow].completion_s.unwrap());
    assert!(first < 1.0 && second > 2.0 * first, "{first} s and {second} s, each from its own start");
    assert_eq!(measured, [Some((first + second) / 2.0), None, Some(1.0), Some(0.0), Some(1.0)]);
    let holds: Vec<_> = document.expectations.iter().filter_map(|row| row.holds).collect();
    assert_eq!(holds, [true, false, true, true, true]);
}
