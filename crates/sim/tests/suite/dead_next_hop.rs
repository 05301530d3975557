//! A next hop that no longer answers: every scheme leaves it, if the node watches its next hops.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{goodput, measuring, parse, run, two_ways};
use weir_experiment::Setup;
use weir_schemes::registry::SCHEMES;

/// U, the cheaper path if a scheme prefers one, is silent from 20 s to 40 s: it accepts everything and
/// answers nothing.
fn goodputs(scheme: &str, set: &[&str]) -> [f64; 3] {
    let rest = "[[event]]\nat = \"20 s\"\nlink = \"R-U\"\nloss = 1.0\n[[event]]\nat = \"40 s\"\nlink = \"R-U\"\nloss = 0.0\n\
        [[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/f\"\nclass = \"AF2\"\npayload = \"1024 B\"\n\
        early_loss = false\n";
    let ways = [("10 Mb/s", "10 ms"), ("10 Mb/s", "10 ms")];
    let text = two_ways(scheme, "50 packets", ways, rest);
    let setup = Setup { with_series: false, ..measuring(&[(10, 20), (23, 40), (54, 60)]) };
    let report = run(&parse("dead", &text, set), &setup);
    [0, 1, 2].map(|window| goodput(&report.document.windows[window], "/f"))
}

#[test]
fn every_scheme_leaves_a_next_hop_that_answers_nothing_and_comes_back_to_it() {
    for scheme in SCHEMES {
        let [before, silent, after] = goodputs(scheme.name, &["defaults.node.next_hop_timeout=1 s"]);
        // One path carries 9.2 Mb/s of content.
        assert!(silent > 0.85 * before.min(9.2e6), "{}: {before}, then {silent}", scheme.name);
        assert!(after > 0.85 * before, "{}: {before}, then {after}", scheme.name);
    }
}

#[test]
fn by_default_schemes_do_what_their_papers_say_and_most_of_them_stay() {
    for scheme in ["fixed", "pcon", "omcc-rf"] {
        let [before, silent, _] = goodputs(scheme, &[]);
        assert!(silent < 0.1 * before, "{scheme}: {before}, then {silent}");
    }
}
