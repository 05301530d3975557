//! Several consumers of one prefix.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{parse, run};
use weir_scenario::builtin;
use weir_sim::Setup;

#[test]
fn two_consumers_of_one_prefix_at_one_node_do_not_use_the_same_nonces() {
    let minimal = builtin("examples/minimal").unwrap();
    let second = "[[flow]]\nname = \"again\"\nconsumer = \"alice\"\nproducer = \"bob\"\nprefix = \"/video\"\n\
                  class = \"BE\"\nstart = \"0 s\"\npayload = \"1024 B\"\nsource = \"assumed: a test\"\n";
    let report = run(&parse("twice", &format!("{minimal}\n{second}"), &[]), &Setup::default());
    assert_eq!(report.drops_by_reason, [], "the same nonce twice would be dropped as a loop");
    let [first, second] = [0, 1].map(|flow| report.document.flows[flow].goodput_bps);
    assert!(first > 1e6 && (first / second - 1.0).abs() < 0.1, "{first} and {second} b/s");
}
