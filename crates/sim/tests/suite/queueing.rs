//! The queueing delay of a flow's Data over their whole path.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{parse, run};
use weir_experiment::Setup;

/// A - R - S - B: Data of A's flow wait at B, whose link to S is shared, and at R. Data of the other flow
/// wait only at B.
const LINE: &str = r#"
title = "two queues"
source = "assumed: a test"
duration = "20 s"
[scheme]
default = "fixed"
[[node]]
name = ["A", "C", "R", "S", "B"]
[defaults.link]
delay = "5 ms"
rate = "100 Mb/s"
queue = "unlimited"
[[link]]
between = ["C-S", "R-S"]
[[link]]
ends = ["A", "R"]
rate = "4 Mb/s"
[[link]]
ends = ["S", "B"]
rate = "10 Mb/s"
[routing]
policy = "shortest-path"
[[flow]]
name = "two"
consumer = "A"
producer = "B"
prefix = "/two"
[[flow]]
name = "one"
consumer = "C"
producer = "B"
prefix = "/one"
"#;

fn expectation(metric: &str, rest: &str) -> String {
    format!(
        "[[expectation]]\nsource = \"assumed: a test\"\nmetric = \"{metric}\"\n{rest}\n\
         window = [\"5 s\", \"20 s\"]\nat_least = \"0 ms\"\n"
    )
}

#[test]
fn it_is_the_sum_of_what_data_wait_for_at_each_link() {
    let links = ["B->S", "R->A"].map(|link| expectation("queue_mean", &format!("link = \"{link}\"")));
    let flows = ["two", "one"].map(|flow| expectation("queueing_mean", &format!("flow = \"{flow}\"")));
    let both = expectation("queueing_mean", "");
    let text = format!("{LINE}{}{}{both}", links.concat(), flows.concat());
    let report = run(&parse("queueing", &text, &[]), &Setup::default());
    let measured: Vec<f64> = report.document.expectations.iter().map(|row| row.measured.unwrap()).collect();
    let [shared, own, two, one, both] = measured[..] else { panic!("{measured:?}") };
    assert!(shared > 1.0 && own > 10.0, "both links make Data wait: {shared} and {own} ms");
    assert!((two / (shared + own) - 1.0).abs() < 0.05, "{two} of {shared} + {own} ms");
    assert!((one / shared - 1.0).abs() < 0.15, "{one} of {shared} ms");
    assert!(one < both && both < two, "{one} < {both} < {two}");
}

/// Each prefix keeps 15 to 20 packets at the first forwarder, whatever the size of its Data. If turns were
/// longer than a Data each, every queue would grow for ever with four or more prefixes: 910 packets for ten.
#[test]
fn ten_ndn_qsf_prefixes_of_small_data_keep_twenty_packets_each() {
    let text = "title = \"prefixes\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n\
        [scheme]\ndefault = \"ndn-qsf\"\n[[node]]\nname = [\"A\", \"R\", \"S\", \"P\"]\n\
        [defaults.link]\nrate = \"1 Gb/s\"\ndelay = \"1 ms\"\nqueue = \"1000 packets\"\n[[link]]\nbetween = [\"A-R\", \"S-P\"]\n\
        [[link]]\nends = [\"R\", \"S\"]\nrate = \"10 Mb/s\"\ndelay = \"23 ms\"\n[routing]\npolicy = \"shortest-path\"\n\
        [[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"P\"\nprefix = \"/a{}\"\ncount = 10\nstart_spread = \"3 s\"\n\
        [[expectation]]\nsource = \"assumed: a test\"\nmetric = \"lost\"\nabout = 0\ntolerance = 0\n\
        [[expectation]]\nsource = \"assumed: a test\"\nmetric = \"queue_mean\"\nlink = \"S->R\"\nwindow = [\"10 s\", \"20 s\"]\n\
        at_most = \"80 ms\"\n";
    let report = run(&parse("prefixes", text, &[]), &Setup::default());
    let rows = &report.document.expectations;
    // Five packets of each prefix are 44 ms. Before the fix, S->R held 800 ms.
    assert!(rows.iter().all(|row| row.holds == Some(true)), "{rows:?}");
}
