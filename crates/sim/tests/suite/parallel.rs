//! A run on several threads gives the same measurements, to the bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{experiment, parse, scenario, world};
use weir_core::units::{Span, Time};
use weir_experiment::Setup;
use weir_measure::{Report, RunDocument, to_json};
use weir_scenario::Scenario;
use weir_sim::Worlds;

fn with(scheme: &str) -> Setup {
    Setup { scheme: Some(scheme.to_owned()), with_series: true, ..Setup::default() }
}

fn on_threads(scenario: &Scenario, setup: &Setup, threads: usize) -> Worlds {
    world(experiment(scenario, setup)).on_threads(threads)
}

/// All results of a run on this many threads.
fn everything(scenario: &Scenario, setup: &Setup, threads: usize) -> String {
    let mut worlds = on_threads(scenario, setup, threads);
    // In slices, as commands run them.
    for end in [scenario.duration / 3, scenario.duration] {
        worlds.run_until(Time::ZERO + end).unwrap();
    }
    let report = worlds.finish().report;
    format!("{}{:?}{:?}", to_json(&report.document), report.series, report.probes)
}

/// Checks that runs on these numbers of threads give the same results as one thread. Returns the numbers of
/// threads that were used.
fn check(scenario: &Scenario, scheme: &str, threads: &[usize]) {
    let setup = with(scheme);
    let one = everything(scenario, &setup, 1);
    for &threads in threads {
        assert_eq!(on_threads(scenario, &setup, threads).threads(), threads, "{}", scenario.name);
        let several = everything(scenario, &setup, threads);
        assert!(one == several, "{} under {scheme}: {threads} threads measure something else", scenario.name);
    }
}

const SHORT: [&str; 3] = ["duration=1200ms", "flow.*.start=0s", "window.*.from=400ms"];

#[test]
fn built_in_scenarios_measure_the_same_on_any_number_of_threads() {
    let to = ["window.*.to=1s"];
    for (name, scheme, threads) in [
        ("qsccp/dumbbell", "cubic", &[2, 3, 4][..]),
        ("qsccp/geant", "qsccp", &[2, 4]),
        ("qsccp/abilene-multipath", "ndn-qsf", &[2, 3]),
        ("hbhcm/cache", "hbhcm", &[2]),
    ] {
        check(&scenario(name, &[&SHORT[..], &to].concat()), scheme, threads);
    }
}

#[test]
fn a_generated_network_measures_the_same_on_any_number_of_threads() {
    let text = include_str!("../../../../scenarios/examples/random-200.toml");
    let set = ["duration=400ms", "generate.flows.count=300", "generate.flows.start_spread=100ms"];
    let window = ["window.steady.from=200ms", "window.steady.to=400ms"];
    let network = parse("random", text, &[&set[..], &window].concat());
    for (scheme, threads) in [("qsccp", &[2, 3][..]), ("cubic", &[4]), ("sluice", &[2])] {
        check(&network, scheme, threads);
    }
}

/// The figures of a report that a shorter run has too.
fn figures(report: &Report) -> String {
    let RunDocument { simulated_s, flows, classes, links, requests, distributions, .. } = &report.document;
    let rows = format!("{simulated_s}{flows:?}{classes:?}{links:?}{requests:?}{distributions:?}");
    format!("{rows}{:?}{:?}", report.series.flows, report.series.links)
}

#[test]
fn a_report_so_far_is_that_of_a_run_that_ends_then() {
    let setup = with("qsccp");
    let of = |duration: &str| scenario("qsccp/geant", &[&SHORT[1..], &[duration, "window.*.to=1s"]].concat());
    let (short, long) = (of("duration=1200ms"), of("duration=1800ms"));
    let mut ends = on_threads(&short, &setup, 1);
    ends.run_until(Time::ZERO + short.duration).unwrap();
    let ends = ends.finish().report;
    for threads in [1, 2] {
        let mut goes_on = on_threads(&long, &setup, threads);
        // While its window lasts, when it is over, and between two steps of the time series.
        for millis in [700, 1200, 1234] {
            goes_on.run_until(Time::ZERO + Span::from_millis(millis)).unwrap();
            let so_far = goes_on.so_far();
            assert_eq!(so_far.document.simulated_s, millis as f64 / 1000.0);
            let [window] = &so_far.document.windows[..] else { panic!("it has a window") };
            assert_eq!((window.from_s, window.to_s), (0.4, f64::min(1.0, millis as f64 / 1000.0)));
            assert!(millis != 1200 || figures(&so_far) == figures(&ends), "{threads} threads");
        }
        goes_on.run_until(Time::ZERO + long.duration).unwrap();
        let report = goes_on.finish().report;
        let asked_nothing = everything(&long, &setup, threads);
        let text = format!("{}{:?}{:?}", to_json(&report.document), report.series, report.probes);
        assert!(text == asked_nothing, "a report so far changes nothing of the run");
    }
}

/// Two stars of hosts, joined by R-S, and the rest of the scenario.
fn two_stars(rest: &str) -> Scenario {
    let text = format!(
        "title = \"two stars\"\nsource = \"assumed: a test\"\nduration = \"2 s\"\n\
         [scheme]\ndefault = \"cubic\"\n[[node]]\nname = [\"A{{1..3}}\", \"R\", \"S\", \"B{{1..3}}\"]\n\
         [defaults.link]\ndelay = \"2 ms\"\nqueue = \"20 packets\"\nrate = \"10 Mb/s\"\n\
         [[link]]\nbetween = [\"A{{1..3}}-R\", \"S-B{{1..3}}\"]\n\
         [[link]]\nends = [\"R\", \"S\"]\nrate = \"8 Mb/s\"\ndelay = \"5 ms\"\nloss = 0.01\njitter = \"1 ms\"\nreorder = true\n\
         [[flow]]\nname = \"f\"\nconsumer = \"A{{1..3}}\"\nproducer = \"B{{1..3}}\"\nprefix = \"/f{{1..3}}\"\n\
         class = \"BE\"\npayload = \"1024 B\"\nsource_rate = \"4 Mb/s\"\n{rest}"
    );
    parse("stars", &text, &[])
}

fn event(at: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\n{what}\n")
}

#[test]
fn links_that_change_are_divided_and_links_that_fail_are_not() {
    let changes = [
        event("300 ms", "link = \"R-S\"\nrate = \"5 Mb/s\""),
        event("500 ms", "link = \"R-S\"\ndelay = \"3 ms\"\nloss = 0.1\nloss_burst = 4"),
        event("700 ms", "link = \"R-S\"\njitter = \"4 ms\""),
        event("800 ms", "link = \"A1-R\"\nrate = \"1 Mb/s\""),
        event("900 ms", "flow = \"f\"\nsource_rate = \"500 kb/s\""),
        event("1 s", "link = \"A2-R\"\nup = false"),
        event("1500 ms", "link = \"A2-R\"\nup = true"),
    ];
    check(&two_stars(&changes.concat()), "qsccp", &[2, 3]);
    check(&two_stars(&event("1 s", "link = \"R-S\"\nup = false")), "sluice", &[2]);
}

#[test]
fn requests_and_shared_media_are_divided() {
    let set = ["duration=900ms", "window.*.from=200ms", "window.*.to=800ms", "flow.*.start=0s"];
    check(&scenario("conditions/short-flows", &set), "cubic", &[2]);
    let set = ["duration=1200ms", "window.*.from=200ms", "window.*.to=800ms", "flow.*.start=0s"];
    check(&scenario("qsccp/multiaccess", &set), "qsccp", &[2]);
}

#[test]
fn one_thread_makes_what_cannot_be_divided_and_says_why() {
    let reason = |scenario: &Scenario| {
        let worlds = on_threads(scenario, &with("cubic"), 2);
        assert_eq!(worlds.threads(), 1);
        worlds.reason().unwrap()
    };
    let fails = event("1 s", "node = \"R\"\nup = false");
    assert!(reason(&two_stars(&fails)).contains("nodes fail"));
    let alone = parse("alone", weir_scenario::builtin("examples/minimal").unwrap(), &["link.*.delay=0s"]);
    assert!(reason(&alone).contains("no link can be cut"));
    let world = world(experiment(&two_stars(""), &with("cubic"))).checking_wire().on_threads(2);
    assert!(world.reason().unwrap().contains("wire check"));
}
