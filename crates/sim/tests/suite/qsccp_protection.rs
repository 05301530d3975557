//! QSCCP beside sparse flows, flows that ignore their rates, and links that are slow or fast: the share of a
//! flow follows from the equations, whatever the others do. A to B over one bottleneck.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use crate::common::{goodput, measuring, parse, run};
use weir_experiment::Setup;
use weir_measure::WindowRow;

const ETA: f64 = 0.99;
/// Content of a Data, as a fraction of its length on the bottleneck.
const CONTENT: f64 = 1024.0 / 1103.0;

/// Flows of one kind: name, class, number, demand of each in kb/s, and whether it ignores its rate.
type Kind = (&'static str, &'static str, u32, Option<u32>, bool);

/// A - R - S - B, where R - S is the bottleneck, with flows that start within a second.
fn measured(bottleneck: &str, kinds: &[Kind], (from, to): (u64, u64)) -> WindowRow {
    let mut text = format!(
        "title = \"flows of all kinds\"\nsource = \"assumed: a test\"\nduration = \"{to} s\"\n\
         [scheme]\ndefault = \"qsccp\"\n[[node]]\nname = [\"A\", \"R\", \"S\", \"B\"]\n\
         [defaults.link]\ndelay = \"10 ms\"\nqueue = \"200 packets\"\nrate = \"100 Gb/s\"\n\
         [[link]]\nbetween = [\"A-R\", \"S-B\"]\n\
         [[link]]\nends = [\"R\", \"S\"]\nrate = \"{bottleneck}\"\n\
         [defaults.flow]\nstart = \"0 s\"\nstart_spread = \"1 s\"\npayload = \"1024 B\"\n\
         lifetime = \"2 s\"\n[routing]\npolicy = \"shortest-path\"\n"
    );
    for (name, class, count, asks, ignores) in kinds {
        writeln!(text, "[[flow]]\nname = \"{name}\"\nprefix = \"/{name}/{{}}\"\nclass = \"{class}\"")
            .unwrap();
        writeln!(text, "consumer = \"A\"\nproducer = \"B\"\ncount = {count}\nunresponsive = {ignores}")
            .unwrap();
        if let Some(kbps) = asks {
            writeln!(text, "source_rate = \"{kbps} kb/s\"").unwrap();
        }
    }
    let setup = Setup { with_series: false, ..measuring(&[(from, to)]) };
    run(&parse("kinds", &text, &[]), &setup).document.windows.pop().unwrap()
}

fn class(window: &WindowRow, name: &str) -> f64 {
    window.classes.iter().find(|class| class.class == name).unwrap().figures.goodput_bps
}

#[track_caller]
fn about(measured: f64, expected: f64, tolerance: f64) {
    assert!((measured / expected - 1.0).abs() <= tolerance, "{measured:.0} b/s, {expected:.0} expected");
}

#[test]
fn a_flow_gets_what_many_sparse_flows_leave() {
    for sparse in [10, 60, 150] {
        let kinds = [("big", "BE", 1, None, false), ("sparse", "BE", sparse, Some(8), false)];
        let window = measured("10 Mb/s", &kinds, (10, 30));
        let left = ETA * 10e6 - f64::from(sparse) * 8e3;
        about(goodput(&window, "/big/0"), left * CONTENT, 0.02);
    }
}

/// One elastic flow of a class beside `count` flows of another class. Each of these requests the fraction
/// `part` of its share of 10 Mb/s by the classes' weights. Returns the fraction of the unused capacity that
/// the elastic flow gets.
fn part_of_what_is_left(elastic: &'static str, limited: &'static str, count: u32, part: f64) -> f64 {
    let weight = |class| if class == "AF4" { 5.0 } else { 1.0 };
    let others = if elastic == limited { f64::from(count) } else { weight(limited) };
    let rate = ETA * 10e6;
    let share = rate * others / (weight(elastic) + others) / f64::from(count);
    let asks = (part * share / 1e3) as u32;
    let kinds = [("elastic", elastic, 1, None, false), ("limited", limited, count, Some(asks), false)];
    let window = measured("10 Mb/s", &kinds, (10, 20));
    assert!(window.flows.iter().all(|flow| flow.lost + flow.timeouts == 0), "{count} at {part}");
    goodput(&window, "/elastic/0") / ((rate - f64::from(count) * (part * share).min(share)) * CONTENT)
}

#[test]
fn one_flow_gets_what_others_leave_however_little_of_their_shares_that_is() {
    for (elastic, limited, count, part) in [
        ("BE", "BE", 50, 0.945),
        ("BE", "BE", 50, 0.95),
        ("BE", "BE", 50, 0.98),
        ("BE", "BE", 50, 1.1),
        ("BE", "BE", 20, 0.96),
        ("BE", "BE", 1, 0.95),
        ("BE", "AF4", 1, 0.95),
        ("BE", "AF4", 1, 0.97),
    ] {
        let got = part_of_what_is_left(elastic, limited, count, part);
        assert!(got >= 0.95, "{elastic} beside {count} of {limited} at {part}: {got}");
    }
}

/// The capacity left for one flow beside `bad` flows that request this much: flows that request more than 1.2
/// times their share count half, φ = 0.5.
fn share_beside(bad: u32, asks: f64, rate: f64) -> f64 {
    let equal = rate / f64::from(bad + 1);
    let phi = if asks > 1.2 * equal { 0.5 } else { 1.0 };
    rate / (1.0 + phi * f64::from(bad))
}

#[test]
fn flows_that_ignore_their_rates_do_not_push_out_the_one_that_keeps_to_it() {
    for bad in [1, 9, 12, 40] {
        let kinds = [("good", "BE", 1, None, false), ("bad", "BE", bad, Some(5000), true)];
        let window = measured("10 Mb/s", &kinds, (10, 30));
        about(goodput(&window, "/good/0"), share_beside(bad, 5e6, ETA * 10e6) * CONTENT, 0.1);
    }
    let kinds = [("good", "EF", 1, None, false), ("bad", "EF", 15, Some(1000), true)];
    let window = measured("10 Mb/s", &kinds, (10, 30));
    about(goodput(&window, "/good/0"), share_beside(15, 1e6, 0.3 * ETA * 10e6) * CONTENT, 0.1);
}

#[test]
fn classes_keep_to_their_weights_when_most_interests_wait_in_vain() {
    let kinds = [("high", "AF2", 10, Some(200), true), ("low", "BE", 10, Some(200), true)];
    let window = measured("500 kb/s", &kinds, (10, 60));
    let rate = ETA * 500e3 * CONTENT;
    about(class(&window, "AF2"), 0.75 * rate, 0.05);
    about(class(&window, "BE"), 0.25 * rate, 0.05);
}

#[test]
fn one_flow_fills_a_link_of_any_rate_and_loses_nothing() {
    for (bottleneck, bps, seconds) in [("1 Mb/s", 1e6, 30), ("100 Mb/s", 1e8, 10), ("1 Gb/s", 1e9, 4)] {
        for name in ["AF4", "BE"] {
            let window = measured(bottleneck, &[("only", name, 1, None, false)], (seconds / 2, seconds));
            about(class(&window, name), ETA * bps * CONTENT, 0.02);
            let row = &window.flows[0];
            assert_eq!((row.lost, row.retransmitted), (0, 0), "{bottleneck} {name}");
        }
    }
}

#[test]
fn interests_that_came_while_no_flow_had_state_do_not_count() {
    // Flows from A to B keep the link R-S busy with Interests and Data; then one from B to A starts.
    let text = "title = \"two ways\"\nsource = \"assumed: a test\"\nduration = \"42 s\"\n\
        [scheme]\ndefault = \"qsccp\"\n[[node]]\nname = [\"A\", \"R\", \"S\", \"B\"]\n\
        [defaults.link]\ndelay = \"5 ms\"\nqueue = \"200 packets\"\nrate = \"100 Mb/s\"\n\
        [[link]]\nbetween = [\"A-R\", \"S-B\"]\n[[link]]\nends = [\"R\", \"S\"]\nrate = \"10 Mb/s\"\n\
        [defaults.flow]\npayload = \"1024 B\"\nlifetime = \"2 s\"\nclass = \"BE\"\n\
        [routing]\npolicy = \"shortest-path\"\n\
        [[flow]]\nname = \"first\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/first\"\nstart = \"0 s\"\n\
        [[flow]]\nname = \"back\"\nconsumer = \"B\"\nproducer = \"A\"\nprefix = \"/back\"\nstart = \"40 s\"\n";
    let window = (weir_core::units::Span::from_millis(40_300), weir_core::units::Span::from_secs(41));
    let setup = Setup { windows: vec![window], with_series: false, ..Setup::default() };
    let report = run(&parse("two ways", text, &[]), &setup);
    let row = report.document.windows.last().unwrap();
    let back = row.flows.iter().find(|flow| flow.prefix == "/back").unwrap();
    assert!(back.goodput_bps > 7e6, "{} b/s", back.goodput_bps);
}
