//! Several consumers of one prefix.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{parse, refused, run};
use weir_experiment::Setup;
use weir_scenario::{Scenario, builtin};

/// Carol fetches the same as alice, and the rate of Data towards them is measured.
fn shared(select: &str) -> Scenario {
    let minimal = builtin("examples/minimal").unwrap();
    let text = format!(
        "{minimal}\n[[node]]\nname = \"carol\"\n\
         [[link]]\nends = [\"carol\", \"bob\"]\nrate = \"1 Mb/s\"\ndelay = \"1 ms\"\nqueue = \"50 packets\"\n\
         [[flow]]\nname = \"again\"\nconsumer = \"carol\"\nproducer = \"bob\"\nprefix = \"/video\"\n\
         class = \"BE\"\nstart = \"0 s\"\npayload = \"1024 B\"\nsource = \"assumed: a test\"\n\
         [[expectation]]\nsource = \"assumed: a test\"\nmetric = \"data_rate\"\nlink = \"bob->carol\"\n\
         window = \"steady\"\nat_least = \"900 kb/s\"\n{select}"
    );
    parse("shared", &text, &[])
}

#[test]
fn the_rate_of_data_is_that_of_a_prefix_whoever_fetches_it() {
    let report = run(&shared(""), &Setup::default());
    let row = report.document.expectations.last().unwrap();
    assert!(row.holds == Some(true), "{row:?}");
}

#[test]
fn the_rate_of_data_of_one_of_several_consumers_of_a_prefix_is_refused() {
    let words = refused(&shared("flow = \"again\"")).unwrap().to_string();
    assert!(words.contains("under /video cannot be attributed to one consumer"), "{words}");
}

#[test]
fn two_consumers_of_one_prefix_at_one_node_do_not_use_the_same_nonces() {
    let minimal = builtin("examples/minimal").unwrap();
    let second = "[[flow]]\nname = \"again\"\nconsumer = \"alice\"\nproducer = \"bob\"\nprefix = \"/video\"\n\
                  class = \"BE\"\nstart = \"0 s\"\npayload = \"1024 B\"\nsource = \"assumed: a test\"\n";
    let report = run(&parse("twice", &format!("{minimal}\n{second}"), &[]), &Setup::default());
    assert_eq!(report.document.drops, [], "the same nonce twice would be dropped as a loop");
    let [first, second] = [0, 1].map(|flow| report.document.flows[flow].goodput_bps);
    assert!(first > 1e6 && (first / second - 1.0).abs() < 0.1, "{first} and {second} b/s");
}

/// Two consumers of one prefix behind a node that is 40 ms from the producer. The first window of the second
/// consumer, 12 ms later, is aggregated, or forwarded again as in NFD.
#[test]
fn a_node_sends_the_second_consumers_interests_on_where_it_is_told_to() {
    let network = "duration = \"110 ms\"\nscheme.default = \"fixed\"\nscheme.fixed.window = 10\n[[node]]\nname = [\"A\", \"B\", \"R\", \"P\"]\n\
        [defaults.link]\nrate = \"10 Mb/s\"\nqueue = \"50 packets\"\n\
        [[link]]\nbetween = [\"A-R\", \"B-R\"]\ndelay = \"1 ms\"\n[[link]]\nends = [\"R\", \"P\"]\ndelay = \"40 ms\"\n\
        [[flow]]\nname = \"f\"\nconsumer = [\"A\", \"B\"]\nproducer = \"P\"\nprefix = \"/video\"\nclass = \"BE\"\n\
        start = [\"0 s\", \"12 ms\"]\npayload = \"1024 B\"\n";
    let carried = |set: &[&str]| {
        let report = run(&parse("shared", &format!("title = \"t\"\n{network}"), set), &Setup::default());
        let link =
            report.document.links.iter().find(|link| (link.from.as_str(), link.to.as_str()) == ("P", "R"));
        link.unwrap().utilisation
    };
    let [once, again] = [&[][..], &["defaults.node.reforward_after=10 ms"]].map(carried);
    assert!(again > 1.9 * once, "{once} and {again}");
}
