//! Caches with a given hit ratio, and nodes that do not run the scheme, under every scheme.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, measuring, parse, run, run_checking_wire};
use weir_experiment::Setup;
use weir_measure::{Report, to_json};
use weir_scenario::{Scenario, Software};

/// A - B - C - D: 10 Mb/s beyond C, which has `ratio` of the segments, and 40 Mb/s before it.
fn line(scheme: &str, ratio: f64, rest: &str) -> Scenario {
    let text = format!(
        "title = \"a line\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n\
         [scheme]\ndefault = \"{scheme}\"\n[[node]]\nname = [\"A\", \"B\", \"D\", \"E\"]\n\
         [[node]]\nname = \"C\"\ncache_ratio = {ratio}\n\
         [defaults.link]\ndelay = \"5 ms\"\nqueue = \"100 packets\"\nrate = \"40 Mb/s\"\n\
         [[link]]\nbetween = [\"A-B\", \"B-C\", \"E-B\"]\n\
         [[link]]\nends = [\"C\", \"D\"]\nrate = \"10 Mb/s\"\n\
         [routing]\npolicy = \"shortest-path\"\n{rest}"
    );
    parse("line", &text, &[])
}

fn fetch(name: &str, consumer: &str, prefix: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"{consumer}\"\nproducer = \"D\"\nprefix = \"{prefix}\"\n{keys}\n"
    )
}

fn set_ratio(at: u64, ratio: f64) -> String {
    format!("[[event]]\nat = \"{at} s\"\nnode = \"C\"\ncache_ratio = {ratio}\n")
}

/// Bits of Data from one node to another in a window, as a fraction of those on the link `of`.
fn part(report: &Report, window: usize, link: (&str, &str), of: (&str, &str)) -> f64 {
    let links = &report.document.windows[window].links;
    let used = |ends: (&str, &str)| {
        let link = links.iter().find(|link| (&*link.from, &*link.to) == ends).unwrap();
        link.utilisation * link.rate_bps
    };
    used(link) / used(of)
}

#[test]
fn under_every_scheme_the_rest_of_the_segments_comes_from_the_producer() {
    let schemes: Vec<&str> = weir_schemes::SCHEMES.iter().map(|entry| entry.name).collect();
    for (ratio, tolerance) in [(0.4, 0.03), (1.0, 0.0)] {
        let reports = in_parallel(&schemes, |scheme| {
            let scenario = line(scheme, ratio, &fetch("a", "A", "/a", ""));
            run_checking_wire(&scenario, &measuring(&[(5, 20)]))
        });
        for (scheme, report) in schemes.iter().zip(&reports) {
            let missed = part(report, 0, ("D", "C"), ("C", "B"));
            let flow = &report.document.windows[0].flows[0];
            // Answers of a cache overtake the rest. TCP takes this for a loss, and requests some of the rest
            // twice.
            let again = if *scheme == "tcp-newreno" {
                flow.retransmitted as f64 / (flow.goodput_bps * 15.0 / 8192.0)
            } else {
                0.0
            };
            let wanted = 1.0 - ratio;
            assert!(
                missed >= wanted - tolerance && missed <= wanted + tolerance + again,
                "{scheme}: {missed} missed of {wanted}, {again} sent again"
            );
            // Each of these halves TCP's window; its page describes the rest.
            assert!(flow.goodput_bps > 2e6 || *scheme == "tcp-newreno", "{scheme}: {}", flow.goodput_bps);
        }
    }
}

#[test]
fn the_same_seed_hits_the_same_segments_and_another_seed_others() {
    let scenario = line("reno", 0.5, &fetch("a", "A", "/a", "amount = 5000"));
    let seeds = [3, 3, 4];
    let runs = in_parallel(&seeds, |seed| {
        let report = run(&scenario, &Setup { seed: *seed, ..Setup::default() });
        (to_json(&report.document), format!("{:?}", report.series))
    });
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0].1, runs[2].1);
}

#[test]
fn the_ratio_changes_when_an_event_says_so_and_only_for_the_prefixes_named() {
    let flows = fetch("a", "A", "/a", "source_rate = \"4 Mb/s\"")
        + &fetch("b", "E", "/b", "source_rate = \"2 Mb/s\"");
    let mut scenario = line("fixed", 0.0, &(flows + &set_ratio(5, 0.75) + &set_ratio(10, 0.0)));
    let cache = scenario.node("C").unwrap().index();
    scenario.nodes[cache].cache_ratio_prefixes = vec!["/a".to_owned()];
    let report = run(&scenario, &measuring(&[(1, 5), (6, 10), (11, 20)]));
    for (window, expected) in [(0, 1.0), (1, (1.0 + 2.0) / 6.0), (2, 1.0)] {
        let missed = part(&report, window, ("D", "C"), ("C", "B"));
        assert!((missed - expected).abs() < 0.03, "window {window}: {missed} of {expected}");
    }
}

/// The second consumer starts ten seconds later, so that nothing is aggregated. Nothing waits: the mean delay
/// tells how many segments came from the cache.
#[test]
fn two_consumers_of_a_prefix_find_the_same_segments() {
    let keys = "amount = 500\nsource_rate = \"2 Mb/s\"";
    let flows =
        fetch("first", "A", "/a", keys) + &fetch("second", "E", "/a", &format!("{keys}\nstart = \"10 s\""));
    let report = run(&line("fixed", 0.5, &flows), &Setup::default());
    let [first, second] = [0, 1].map(|flow| report.document.flows[flow].delay_ms.mean.unwrap());
    assert!(first > 21.0 && first < 29.0, "{first} ms: half of them 20 ms away, the others 30 ms");
    assert!((first / second - 1.0).abs() < 1e-4, "{first} and {second} ms");
}

/// Each loss is recovered by another Interest for the same segment. If that had a chance of its own, more
/// than the ratio would be found in the cache.
#[test]
fn a_retransmission_finds_no_more_than_the_first_interest_did() {
    let lossy = "[[event]]\nat = \"0 s\"\nlink = \"C-D\"\nloss = 0.2\n";
    let flow = fetch("a", "A", "/a", "amount = 4000\nsource_rate = \"6 Mb/s\"");
    let scenario = line("fixed", 0.5, &(flow + lossy));
    let report = run(&scenario, &Setup::default());
    let flow = &report.document.flows[0];
    assert!(flow.completion_s.is_some(), "{flow:?}");
    // A miss takes 1 / 0.64 Interests, because each direction loses a fifth: this many are sent again.
    let again = 2000.0 * (1.0 / 0.64 - 1.0);
    assert!((flow.retransmitted as f64 / again - 1.0).abs() < 0.1, "{} of {again}", flow.retransmitted);
}

/// B gets no signals of D through C, and divides by itself what C can carry. If C forwards D's signals to its
/// own downstream, D's shares hold, and D knows no classes.
#[test]
fn a_forwarder_of_others_passes_no_signals_on() {
    let flows = fetch("a", "A", "/a", "class = \"AF2\"") + &fetch("b", "E", "/b", "");
    let shares = |change: &dyn Fn(&mut weir_scenario::Node)| {
        let mut scenario = line("sluice", 0.0, &flows);
        let node = scenario.node("C").unwrap().index();
        change(&mut scenario.nodes[node]);
        let report = run_checking_wire(&scenario, &measuring(&[(5, 20)]));
        let goodput = |flow: usize| report.document.windows[0].flows[flow].goodput_bps;
        goodput(0) / goodput(1)
    };
    let (inactive, foreign) =
        (shares(&|node| node.active = false), shares(&|node| node.software = Software::Ndnd));
    assert!((inactive - 1.0).abs() < 0.1 && (foreign - 3.0).abs() < 0.3, "{inactive} and {foreign}");
}

#[test]
fn under_every_scheme_a_line_of_nodes_that_do_not_run_it_carries_the_flow() {
    let schemes: Vec<&str> = weir_schemes::SCHEMES.iter().map(|entry| entry.name).collect();
    let reports = in_parallel(&schemes, |scheme| {
        let mut scenario = line(scheme, 0.0, &fetch("a", "A", "/a", ""));
        for name in ["B", "C"] {
            let node = scenario.node(name).unwrap().index();
            scenario.nodes[node].active = false;
        }
        run_checking_wire(&scenario, &measuring(&[(5, 20)]))
    });
    for (scheme, report) in schemes.iter().zip(&reports) {
        let goodput = report.document.windows[0].flows[0].goodput_bps;
        assert!(goodput > 1e6, "{scheme}: {goodput}");
    }
}
