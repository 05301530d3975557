//! A medium that stations share: QSCCP on it loses nothing, shares it, and uses all of it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{
    at, experiment, in_parallel, measuring, parse, refused, run, run_checking_wire, scenario, world,
};
use weir_core::units::{Bytes, Rate};
use weir_experiment::{ExperimentError, Setup};
use weir_measure::to_json;
use weir_measure::{Report, WindowRow, jain};
use weir_medium::{Saturation, phy};

/// A station and its access point, which has a server behind it.
const WIFI: &str = r#"
title = "Wi-Fi"
duration = "20 s"
[scheme]
default = "qsccp"
[[node]]
name = ["AP", "S", "N{1..STATIONS}"]
[[medium]]
name = "wifi"
standard = "802.11a"
stations = ["AP", "N{1..STATIONS}"]
rate = "24 Mb/s"
queue = "20 packets"
[[link]]
ends = ["AP", "S"]
rate = "100 Mb/s"
delay = "10 ms"
"#;

/// Flows from a consumer to a producer each: `("N1", "S")`.
fn wifi(stations: usize, flows: &[(&str, &str)], set: &[&str], more: &str) -> weir_scenario::Scenario {
    let mut text = WIFI.replace("STATIONS", &stations.to_string());
    for (n, (consumer, producer)) in flows.iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"f{n}\"\nconsumer = \"{consumer}\"\nproducer = \"{producer}\"\nprefix = \"/f{n}\"\n"
        );
    }
    parse("wifi", &(text + more), set)
}

/// The results from 5 s to the end.
fn steady(report: &Report) -> &WindowRow {
    report.document.windows.last().unwrap()
}

fn goodput(window: &WindowRow) -> f64 {
    window.flows.iter().map(|flow| flow.goodput_bps).sum()
}

/// bit/s of content: 95 % of the air time of saturated stations, and 99 % of that by QSCCP's target, in Data
/// of 1107 bytes with Interests of 52 bytes.
fn promised(stations: usize, loss: f64, rate: Rate) -> f64 {
    let (content, data, interest) = (8.0 * 1024.0, Bytes::new(1107), Bytes::new(52));
    let theory = Saturation::new(stations, loss);
    let cost = |packet| theory.air_time(packet, rate, phy::frame_time(data, rate));
    0.95 * 0.99 * content / (cost(data) + cost(interest))
}

const MBPS_24: Rate = Rate::from_mbps(24);

#[test]
fn however_stations_load_the_medium_they_share_it_and_lose_nothing() {
    let down: &[_] = &[("N1", "S"), ("N2", "S"), ("N3", "S"), ("N4", "S"), ("N5", "S")];
    let up: &[_] = &[("S", "N1"), ("S", "N2"), ("S", "N3"), ("S", "N4"), ("S", "N5")];
    let mesh: &[_] = &[("N1", "N2"), ("N2", "N3"), ("N3", "N4"), ("N4", "N5"), ("N5", "N1")];
    let both = [down, up].concat();
    let loads = [
        (1, 2, &down[..1]),
        (1, 2, &up[..1]),
        (1, 2, &[down[0], up[0]]),
        (5, 6, down),
        (5, 6, up),
        (5, 6, &both),
        (5, 5, mesh),
    ];
    let setup = measuring(&[(5, 20)]);
    let reports = in_parallel(&loads, |(stations, _, flows)| run(&wifi(*stations, flows, &[], ""), &setup));
    for ((_, contending, flows), report) in loads.iter().zip(&reports) {
        let document = &report.document;
        assert!(document.flows.iter().all(|f| f.lost == 0 && f.retransmitted == 0), "{flows:?}");
        assert!(document.links.iter().all(|link| link.drops == 0), "{flows:?}");
        let window = steady(report);
        let goodputs: Vec<f64> = window.flows.iter().map(|flow| flow.goodput_bps).collect();
        assert!(jain(&goodputs).unwrap() > 0.9995, "{flows:?}: {goodputs:?}");
        let part = goodput(window) / promised(*contending, 0.0, MBPS_24);
        assert!((0.94..1.01).contains(&part), "{flows:?}: {part} of what is promised");
        let on_air: f64 = window.links.iter().filter(|l| l.rate_bps == 24e6).map(|l| l.utilisation).sum();
        assert!((0.6..0.8).contains(&on_air), "{flows:?}: {on_air} of the time on the air");
    }
}

#[test]
fn frames_that_are_lost_cost_air_and_no_data() {
    let flows = [("N1", "S"), ("S", "N1")];
    let setup = measuring(&[(5, 20)]);
    let report = run(&wifi(1, &flows, &["medium.wifi.loss=0.1"], ""), &setup);
    assert!(report.document.flows.iter().all(|f| f.lost == 0), "a frame is sent seven times");
    let part = goodput(steady(&report)) / promised(2, 0.1, MBPS_24);
    assert!((0.92..1.01).contains(&part), "{part} of what is promised");
}

#[test]
fn light_flows_have_what_they_ask_for_and_leave_the_rest_to_others() {
    let flows = [("N1", "S"), ("S", "N2"), ("S", "N1")];
    let set = ["flow.f1.source_rate=1 Mb/s", "flow.f2.source_rate=50 kb/s"];
    let setup = measuring(&[(5, 20)]);
    let report = run(&wifi(2, &flows, &set, ""), &setup);
    let rates: Vec<f64> = steady(&report).flows.iter().map(|flow| flow.goodput_bps).collect();
    // 1024 of 1107 bytes are content.
    assert!((rates[1] / 0.925e6 - 1.0).abs() < 0.01 && (rates[2] / 46.25e3 - 1.0).abs() < 0.03, "{rates:?}");
    let left = promised(3, 0.0, MBPS_24) - rates[1] - rates[2];
    assert!((0.85..1.01).contains(&(rates[0] / left)), "{} of {left}", rates[0]);
    assert_eq!(report.document.flows.iter().map(|f| f.lost).sum::<u64>(), 0);
}

/// bit/s of content in the middle of a run, for flows with a class and optionally a rate of their own:
/// `("EF", "500 kb/s")`.
fn of_classes(stations: usize, classes: &[(&str, &str)]) -> Vec<f64> {
    let consumers: Vec<String> = (1..=stations).map(|n| format!("N{n}")).collect();
    let flows: Vec<(&str, &str)> = consumers
        .iter()
        .flat_map(|consumer| classes.iter().map(|_| (consumer.as_str(), "S")))
        .chain([("N1", "S")])
        .collect();
    let mut set = Vec::new();
    for (n, (class, rate)) in (0..stations).flat_map(|_| classes).enumerate() {
        set.push(format!("flow.f{n}.class={class}"));
        if !rate.is_empty() {
            set.push(format!("flow.f{n}.source_rate={rate}"));
        }
    }
    let set: Vec<&str> = set.iter().map(String::as_str).collect();
    let setup = measuring(&[(5, 20)]);
    let report = run(&wifi(stations, &flows, &set, ""), &setup);
    assert_eq!(report.document.flows.iter().map(|f| f.lost + f.retransmitted).sum::<u64>(), 0);
    steady(&report).flows.iter().map(|flow| flow.goodput_bps).collect()
}

#[test]
fn a_delay_sensitive_flow_has_what_it_asks_for_where_that_is_within_its_part_of_the_medium() {
    for class in ["CS7", "CS6", "EF"] {
        let rates = of_classes(2, &[(class, "500 kb/s")]);
        // 1024 of 1107 bytes are content.
        for rate in &rates[..2] {
            assert!((rate / 462.5e3 - 1.0).abs() < 0.01, "{class}: {rates:?}");
        }
    }
}

#[test]
fn a_delay_sensitive_class_has_its_part_of_the_medium_and_no_more() {
    // Each station has a third. Of this, CS7 and CS6 have 0.2 each, EF 0.3 and BE the rest.
    let rates = of_classes(3, &[("CS7", ""), ("CS6", ""), ("EF", ""), ("BE", "")]);
    let part = promised(4, 0.0, MBPS_24) / 3.0;
    for station in rates[..12].chunks(4) {
        for (rate, delta) in station.iter().zip([0.2, 0.2, 0.3]) {
            assert!((rate / (delta * part) - 1.0).abs() < 0.05, "{rate} of {}: {rates:?}", delta * part);
        }
    }
}

#[test]
fn one_that_begins_has_its_share_soon_and_one_that_ends_leaves_it() {
    let set = ["flow.f1.start=6 s", "flow.f1.stop=12 s"];
    let setup = measuring(&[(4, 6), (7, 12), (13, 20)]);
    let report = run(&wifi(1, &[("N1", "S"), ("S", "N1")], &set, ""), &setup);
    let rates = |n: usize| [0, 1].map(|f: usize| report.document.windows[n].flows[f].goodput_bps);
    let [alone, both, after] = [0, 1, 2].map(rates);
    assert!((both[0] / both[1] - 1.0).abs() < 0.05, "{both:?}");
    assert!(((both[0] + both[1]) / alone[0] - 1.0).abs() < 0.1 && (after[0] / alone[0] - 1.0).abs() < 0.05);
    assert_eq!(report.document.flows.iter().map(|f| f.lost).sum::<u64>(), 0);
}

fn event(at: &str, what: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nlink = \"AP-N1\"\n{what}\n")
}

#[test]
fn a_pair_of_stations_can_change_its_rate_and_its_loss() {
    let events = event("6 s", "rate = \"6 Mb/s\"")
        + &event("11 s", "rate = \"54 Mb/s\"")
        + &event("16 s", "loss = 0.2");
    let setup = measuring(&[(2, 6), (7, 11), (12, 16), (17, 20)]);
    let report = run(&wifi(1, &[("N1", "S"), ("S", "N1")], &[], &events), &setup);
    let stages = [(24, 0.0), (6, 0.0), (54, 0.0), (54, 0.2)];
    for (window, (mbps, loss)) in report.document.windows.iter().zip(stages) {
        let part = goodput(window) / promised(2, loss, Rate::from_mbps(mbps));
        assert!((0.90..1.01).contains(&part), "{mbps} Mb/s, loss {loss}: {part} of what is promised");
    }
}

#[test]
fn while_a_pair_is_apart_nothing_comes_through_and_afterwards_it_goes_on() {
    let events = event("6 s", "up = false") + &event("8 s", "up = true");
    let setup = measuring(&[(6, 8), (12, 20)]);
    let report = run(&wifi(2, &[("N1", "S"), ("N2", "S")], &[], &events), &setup);
    let [apart, after] = [&report.document.windows[0], &report.document.windows[1]];
    assert!(apart.flows[0].goodput_bps < 0.01 * apart.flows[1].goodput_bps);
    // The other one has the medium for itself once it is known that the rest is unused.
    assert!(apart.flows[1].goodput_bps > 1.2 * after.flows[1].goodput_bps);
    let rates = [after.flows[0].goodput_bps, after.flows[1].goodput_bps];
    assert!(jain(&rates).unwrap() > 0.999, "{rates:?}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_one_other_back_offs() {
    let scenario = wifi(2, &[("N1", "S"), ("S", "N2")], &["duration=3 s"], "");
    let seeds = [1, 1, 2].map(|seed| Setup { seed, ..Setup::default() });
    let runs = seeds.map(|setup| {
        let report = run_checking_wire(&scenario, &setup);
        (to_json(&report.document), format!("{:?}", report.series))
    });
    assert!(runs[0] == runs[1], "the runs differ");
    assert!(runs[0].1 != runs[2].1, "the seed matters");
}

#[test]
fn when_nobody_asks_any_more_no_packet_is_left() {
    for scheme in ["qsccp", "fixed"] {
        let set = ["flow.*.stop=2 s", "medium.wifi.loss=0.3"];
        let scenario = wifi(3, &[("N1", "S"), ("S", "N2"), ("N3", "N1")], &set, "");
        let setup = Setup { scheme: Some(scheme.to_owned()), ..Setup::default() };
        let mut world = world(experiment(&scenario, &setup));
        world.run_until(at(1), &mut |_| ()).unwrap();
        assert!(world.packets_in_use() > 0, "{scheme}");
        world.run_until(at(10), &mut |_| ()).unwrap();
        assert_eq!(world.packets_in_use(), 0, "{scheme}");
    }
}

#[test]
fn data_that_no_frame_holds_is_refused_where_it_would_cross_a_medium() {
    let scenario = |payload| wifi(1, &[("N1", "S")], &[payload], "");
    let error = refused(&scenario("flow.f0.payload=4096 B")).unwrap();
    let ExperimentError::Scenario(error) = &error else { panic!("{error}") };
    let said = error.to_string();
    assert!(said.starts_with("--set flow.f0.payload=4096 B: Data of /f0 are 4.1"), "{said}");
    assert!(said.contains("hold only 2096 B without link headers"), "{said}");
    assert!(refused(&scenario("flow.f0.payload=2000 B")).is_none());
    let elsewhere = wifi(1, &[("AP", "S")], &["flow.f0.payload=4096 B"], "");
    assert!(refused(&elsewhere).is_none());
}

#[test]
fn every_claim_of_the_multi_access_scenario_holds_whatever_the_seed() {
    let scenario = scenario("qsccp/multiaccess", &["duration=30 s", "window.steady.to=30 s"]);
    let setup = |seed| Setup { seed, with_series: false, ..Setup::default() };
    for report in in_parallel(&[1, 2, 3, 4], |seed| run(&scenario, &setup(*seed))) {
        assert!(report.document.expectations.len() >= 13);
        for row in &report.document.expectations {
            assert!(
                row.holds == Some(true),
                "seed {}: {}: {:?}",
                report.document.seed,
                row.what,
                row.measured
            );
        }
    }
}
