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

/// The figures of a report that a run has that ends then, also if no window and no expectation ends then.
fn figures(report: &Report) -> String {
    let RunDocument { windows, expectations, distributions, changes, events, .. } = RunDocument::default();
    let head =
        RunDocument { windows, expectations, distributions, changes, events, ..report.document.clone() };
    format!("{}{:?}{:?}", to_json(&head), report.document.distributions, report.series)
}

#[test]
fn a_report_so_far_is_that_of_a_run_that_ends_then() {
    for (name, scheme, set) in [
        ("qsccp/geant", "qsccp", &["window.*.to=1s"][..]),
        ("examples/caches", "qsccp", &[]),
        ("conditions/short-flows", "sluice", &[]),
    ] {
        let of = |duration: &str| {
            let set = if set.is_empty() { vec![duration] } else { [&SHORT[1..], set, &[duration]].concat() };
            scenario(name, &set)
        };
        let (setup, long) = (with(scheme), of("duration=1800ms"));
        for threads in [1, 2] {
            let mut goes_on = on_threads(&long, &setup, threads);
            // Between two steps of the time series, and at the end of one.
            for millis in [700, 1200, 1234] {
                goes_on.run_until(Time::ZERO + Span::from_millis(millis)).unwrap();
                let so_far = goes_on.so_far();
                let mut ends = on_threads(&of(&format!("duration={millis}ms")), &setup, 1);
                ends.run_until(Time::ZERO + Span::from_millis(millis)).unwrap();
                assert!(figures(&so_far) == figures(&ends.finish().report), "{name} at {millis} ms");
                let windows = so_far.document.windows.iter().map(|window| window.to_s);
                let now = millis as f64 / 1000.0;
                assert_eq!(windows.collect::<Vec<_>>(), set.iter().map(|_| now.min(1.0)).collect::<Vec<_>>());
            }
            goes_on.run_until(Time::ZERO + long.duration).unwrap();
            let report = goes_on.finish().report;
            let text = format!("{}{:?}{:?}", to_json(&report.document), report.series, report.probes);
            assert!(text == everything(&long, &setup, threads), "a report so far changes nothing of the run");
        }
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
