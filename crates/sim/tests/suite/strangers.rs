//! Strangers beside an honest consumer under QSCCP. Both request Data from a router R over one link, R - P:
//! the honest consumer behind one of R's faces, the stranger behind another. R shares its links by flow, as
//! in the paper, or first by face.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use crate::common::{measuring, parse, run};
use weir_experiment::Setup;
use weir_measure::WindowRow;

/// Content of a Data, as a fraction of its length on the bottleneck.
const CONTENT: f64 = 1024.0 / 1103.0;

/// The results between the times `from` and `to`. R shares its links by `share_by`, and a flow is the names
/// with the same `prefix` components. `more` has the flows of H, which is honest, and of X, which is not, and
/// further links and nodes from R to P.
fn window(share_by: &str, prefix: u32, seed: u64, (from, to): (u64, u64), more: &str) -> WindowRow {
    let text = format!(
        "title = \"a stranger\"\nsource = \"assumed: a test\"\nduration = \"{to} s\"\n\
         [scheme]\ndefault = \"qsccp\"\n[scheme.qsccp]\nflow_prefix = {prefix}\n\
         [[node]]\nname = [\"H\", \"X\", \"P\"]\n[[node]]\nname = \"R\"\nshare_by = \"{share_by}\"\n\
         [defaults.link]\ndelay = \"5 ms\"\nqueue = \"200 packets\"\nrate = \"1 Gb/s\"\n\
         [[link]]\nbetween = [\"H-R\", \"X-R\"]\n\
         [defaults.flow]\npayload = \"1024 B\"\nlifetime = \"2 s\"\n\
         [routing]\npolicy = \"shortest-path\"\n{more}"
    );
    let setup = Setup { with_series: false, seed, ..measuring(&[(from, to)]) };
    run(&parse("strangers", &text, &[]), &setup).document.windows.pop().unwrap()
}

/// R - P with this rate, and the honest consumer, which requests as much as it may.
fn beside(mbps: f64) -> String {
    format!("[[link]]\nends = [\"R\", \"P\"]\nrate = \"{mbps} Mb/s\"\n{}", honest("\"elastic\""))
}

fn honest(rate: &str) -> String {
    format!(
        "[[flow]]\nname = \"honest\"\nprefix = \"/p/honest\"\nconsumer = \"H\"\nproducer = \"P\"\nsource_rate = {rate}\n"
    )
}

/// A stranger that requests this much and ignores its rate.
fn greedy(name: &str, mbps: f64, more: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"X\"\nproducer = \"P\"\nsource_rate = \"{mbps} Mb/s\"\nunresponsive = true\n{more}\n"
    )
}

/// The share of consumer H or X of what a link of this rate can carry.
fn part(window: &WindowRow, consumer: &str, mbps: f64) -> f64 {
    let of = window.flows.iter().filter(|flow| flow.consumer == consumer);
    of.map(|flow| flow.goodput_bps).sum::<f64>() / (0.99e6 * mbps * CONTENT)
}

/// Many new flows per second, each with a prefix of its own and one Interest. They request 26.5 Mb/s. By
/// flow, the honest consumer gets what they leave; by face, at least half of the link.
#[test]
fn flows_without_end_have_together_what_a_flow_has() {
    for mbps in [10.0, 3.0, 50.0] {
        let (per_second, seconds) = (3000, 7);
        let more = format!(
            "prefix = \"/p/x{{}}\"\ncount = {}\namount = 1\nstart_spread = \"{seconds} s\"",
            per_second * seconds
        );
        let more = beside(mbps) + &greedy("x", 1.0, &more);
        let of_honest = |share_by| part(&window(share_by, 2, 1, (4, seconds), &more), "H", mbps);
        let (by_flow, by_face) = (of_honest("flow"), of_honest("face"));
        let asked = per_second as f64 * 8.0 * 1103.0 / (0.99e6 * mbps);
        let left = (1.0 - asked).max(0.0);
        println!("endless, {mbps} Mb/s: {by_flow:.3} -> {by_face:.3}, {left:.3} left");
        assert!(
            (by_flow - left).abs() < 0.01,
            "by flow the honest one has {by_flow} of {mbps} Mb/s, {left} is left"
        );
        assert!(by_face > 0.49, "by face the honest one has {by_face} of {mbps} Mb/s");
    }
}

/// A new prefix every 0.8 s, before any flow can be judged.
#[test]
fn who_changes_its_prefix_is_punished_as_who_does_not() {
    for (mbps, seed) in [(10.0, 1), (3.0, 1), (20.0, 2)] {
        let mut more = beside(mbps);
        for n in 0..25 {
            let (start, stop) = (800 * n, 800 * (n + 1));
            let of = format!("prefix = \"/p/x{n}\"\nstart = \"{start} ms\"\nstop = \"{stop} ms\"");
            more += &greedy(&format!("x{n}"), 2.0 * mbps, &of);
        }
        let [by_flow, by_face] = ["flow", "face"].map(|share_by| {
            let window = window(share_by, 2, seed, (8, 20), &more);
            ["H", "X"].map(|of| part(&window, of, mbps))
        });
        println!("renamed, {mbps} Mb/s: {by_flow:.3?} -> {by_face:.3?}");
        assert!(by_flow[0] < by_flow[1], "by flow the greedy one gains");
        assert!(by_face[0] > 0.95 * 2.0 / 3.0 && by_face[1] < 1.05 / 3.0, "{by_face:?} of {mbps} Mb/s");
    }
}

/// Pauses after which a flow that keeps to its rate for this long is no longer greedy.
#[test]
fn who_asks_for_too_much_in_pulses_is_punished_too() {
    for (mbps, on, off) in [(10.0, 900, 900), (10.0, 500, 500), (3.0, 900, 900), (3.0, 2000, 1500)] {
        let mut more = beside(mbps) + &greedy("x", 2.0 * mbps, "prefix = \"/p/x\"");
        let mut at = on;
        while at + off < 20_000 {
            for (after, rate) in [(off, "1 kb/s".to_owned()), (on, format!("{} Mb/s", 2.0 * mbps))] {
                write!(more, "[[event]]\nat = \"{at} ms\"\nflow = \"x\"\n").unwrap();
                write!(more, "source_rate = \"{rate}\"\nunresponsive = true\n").unwrap();
                at += after;
            }
        }
        let [by_flow, by_face] = ["flow", "face"].map(|share_by| {
            let window = window(share_by, 2, 1, (8, 20), &more);
            ["H", "X"].map(|of| part(&window, of, mbps))
        });
        println!("pulses, {mbps} Mb/s, {on} ms in {}: {by_flow:.3?} -> {by_face:.3?}", on + off);
        assert!(by_face[0] > by_flow[0], "{by_flow:?} by flow, {by_face:?} by face");
        assert!(by_face[1] < 0.25, "{by_face:?} of {mbps} Mb/s");
    }
}

/// Number of Data that the consumer got, and of Interests without answer.
fn answered(window: &WindowRow, seconds: f64) -> f64 {
    let flow = window.flows.iter().find(|flow| flow.consumer == "H").unwrap();
    let got = flow.goodput_bps * seconds / 8192.0;
    got / (got + flow.timeouts as f64)
}

/// The answered fraction of the honest consumer, and both consumers' shares of the bottleneck, beside a flood
/// of ten times the bottleneck's rate under the same prefix. The bottleneck is the link R - P, or a later one
/// beyond a link of `first` times its rate.
fn beside_a_flood(share_by: &str, mbps: f64, first: Option<f64>, asks: &str) -> [f64; 3] {
    let link = |ends: [&str; 2], mbps| format!("[[link]]\nends = {ends:?}\nrate = \"{mbps} Mb/s\"\n");
    let links = match first {
        None => link(["R", "P"], mbps),
        Some(times) => {
            format!("[[node]]\nname = \"S\"\n{}{}", link(["R", "S"], times * mbps), link(["S", "P"], mbps))
        }
    };
    let more = links + &honest(&format!("\"{asks}\"")) + &greedy("x", 10.0 * mbps, "prefix = \"/p/x\"");
    let window = window(share_by, 1, 1, (4, 10), &more);
    [answered(&window, 6.0), part(&window, "H", mbps), part(&window, "X", mbps)]
}

/// One that requests as much as it may, and others that request less than their share.
#[test]
fn a_flood_over_the_same_route_takes_no_answers() {
    for (mbps, first, asks) in [
        (10.0, None, "elastic"),
        (10.0, None, "2 Mb/s"),
        (3.0, None, "1 Mb/s"),
        (10.0, Some(1.0), "elastic"),
        (10.0, Some(10.0), "elastic"),
        (10.0, Some(10.0), "2 Mb/s"),
        (3.0, Some(10.0), "elastic"),
        (20.0, Some(5.0), "elastic"),
        (10.0, Some(100.0), "elastic"),
        (10.0, Some(100.0), "2 Mb/s"),
    ] {
        let [by_flow, by_face] = ["flow", "face"].map(|share_by| beside_a_flood(share_by, mbps, first, asks));
        println!("flood, {mbps} Mb/s after {first:?}, {asks}: {by_flow:.3?} -> {by_face:.3?}");
        assert!(by_flow[0] <= 0.5, "by flow {by_flow:?} of {mbps} Mb/s after {first:?}, {asks}");
        assert!(by_face[0] > 0.95, "by face {by_face:?} of {mbps} Mb/s after {first:?}, {asks}");
    }
}
