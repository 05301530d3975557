//! MIRCC and OMCC-RF on small topologies: shares that theory gives, on several paths, and that nothing
//! is lost where routers shape Interests.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{parse, run, scenario, window};
use weir_results::Report;
use weir_sim::Setup;

/// R - S by two ways of these rates, over U with 10 ms and over V with 20 ms.
fn two_ways(scheme: &str, rates: [&str; 2], rest: &str) -> String {
    format!(
        "title = \"two ways\"\nsource = \"assumed: a test\"\nduration = \"60 s\"\n\
         [scheme]\ndefault = \"{scheme}\"\n[[node]]\nname = [\"A\", \"R\", \"U\", \"V\", \"S\", \"B\"]\n\
         [defaults.link]\ndelay = \"10 ms\"\nqueue = \"20 packets\"\nrate = \"1 Gb/s\"\n\
         [[link]]\nbetween = [\"A-R\", \"S-B\", \"U-S\", \"V-S\"]\n\
         [[link]]\nends = [\"R\", \"U\"]\nrate = \"{}\"\n\
         [[link]]\nends = [\"R\", \"V\"]\nrate = \"{}\"\ndelay = \"20 ms\"\n\
         [routing]\npolicy = \"multipath\"\n{rest}",
        rates[0], rates[1]
    )
}

fn flow(name: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/{name}\"\n{keys}\n")
}

fn measured(text: &str, windows: &[(u64, u64)], seed: u64) -> Report {
    let windows = windows.iter().map(|(from, to)| window(*from, *to)).collect();
    run(&parse("test", text, &[]), &Setup { windows, seed, ..Setup::default() })
}

/// Goodput of a flow in a window, Mb/s.
fn goodput(report: &Report, window: usize, flow: usize) -> f64 {
    report.document.windows[window].flows[flow].goodput_bps / 1e6
}

fn utilisation(report: &Report, window: usize, from: &str, to: &str) -> f64 {
    let links = &report.document.windows[window].links;
    links.iter().find(|link| link.from == from && link.to == to).unwrap().utilisation
}

#[test]
fn mircc_fills_both_ways_to_its_target_and_loses_nothing() {
    for (seed, rates) in [(1, ["6 Mb/s", "3 Mb/s"]), (2, ["2 Mb/s", "8 Mb/s"]), (3, ["5 Mb/s", "5 Mb/s"])] {
        let flows = ["a", "b", "c"].map(|name| flow(name, "")).concat();
        let report = measured(&two_ways("mircc", rates, &flows), &[(10, 60)], seed);
        for via in ["U", "V"] {
            let used = utilisation(&report, 0, via, "R");
            assert!((used / 0.95 - 1.0).abs() < 0.03, "{rates:?} {via}: {used}");
        }
        let shares = [0, 1, 2].map(|flow| goodput(&report, 0, flow));
        let mean = shares.iter().sum::<f64>() / 3.0;
        assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.05), "{rates:?}: {shares:?}");
        assert!(report.document.flows.iter().all(|flow| flow.lost == 0));
    }
}

#[test]
fn mircc_gives_what_a_flow_leaves_to_the_others() {
    let flows = flow("a", "stop = \"30 s\"") + &flow("b", "") + &flow("c", "source_rate = \"500 kb/s\"");
    let report = measured(&two_ways("mircc", ["6 Mb/s", "3 Mb/s"], &flows), &[(15, 30), (40, 60)], 1);
    let [both, alone] = [0, 1].map(|window| goodput(&report, window, 1));
    // 0.95·9 Mb/s less the third flow's, 1024 of some 1130 bytes being content.
    let rest = (0.95 * 9.0 - 0.5) * 1024.0 / 1130.0;
    assert!((both / (rest / 2.0) - 1.0).abs() < 0.07, "{both} of {}", rest / 2.0);
    assert!((alone / rest - 1.0).abs() < 0.07, "{alone} of {rest}");
}

#[test]
fn a_mircc_path_that_fails_is_left_and_found_again() {
    let event = |at, up| format!("[[event]]\nat = \"{at} s\"\nlink = \"R-V\"\nup = {up}\n");
    let rest = flow("a", "") + &event(20, false) + &event(40, true);
    let text = two_ways("mircc", ["4 Mb/s", "4 Mb/s"], &rest);
    let report = measured(&text, &[(10, 20), (25, 40), (45, 60)], 1);
    let [before, without, after] = [0, 1, 2].map(|window| goodput(&report, window, 0));
    assert!((without / (before / 2.0) - 1.0).abs() < 0.05, "{before} {without}");
    assert!((after / before - 1.0).abs() < 0.05, "{before} {after}");
}

#[test]
fn omcc_rf_uses_both_ways_and_shares_them() {
    let flows = ["a", "b", "c"].map(|name| flow(name, "")).concat();
    let text = two_ways("omcc-rf", ["6 Mb/s", "6 Mb/s"], &flows);
    let report = measured(&text, &[(20, 60)], 1);
    let [short, long] = ["U", "V"].map(|via| utilisation(&report, 0, via, "R"));
    // Pending Interests are rate times round-trip time, and each way gets in proportion to 1/avgPI: so
    // rates are as 1 over the root of the round-trip times, 60 and 80 ms from R.
    let ratio = (80.0_f64 / 60.0).sqrt();
    assert!((short / long / ratio - 1.0).abs() < 0.05, "{short} {long}");
    let shares = [0, 1, 2].map(|flow| goodput(&report, 0, flow));
    let mean = shares.iter().sum::<f64>() / 3.0;
    assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.15), "{shares:?}");
}

#[test]
fn in_the_diamond_mircc_keeps_what_its_paper_states_until_one_is_greedy() {
    let set = ["duration=240 s"];
    let mircc = Setup { scheme: Some("mircc".to_owned()), with_series: false, ..Setup::default() };
    let report = run(&scenario("qsccp/diamond-bandwidth", &set), &mircc);
    assert!(report.document.expectations.len() >= 9);
    let failed: Vec<_> = report.document.expectations.iter().filter(|row| !row.holds).collect();
    assert!(failed.is_empty(), "{failed:?}");
}
