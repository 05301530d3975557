//! QSCCP's claims on the dumbbell, with other capacities, delays, weights, limits and numbers of flows than
//! in the paper. The shares of classes follow from the equations, so they are computed here and not read from
//! a run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use crate::common::{class, in_parallel, measuring, parse, run, scenario};
use weir_experiment::Setup;
use weir_measure::RunDocument;

const ETA: f64 = 0.99;
const FROM_S: u64 = 10;
const TO_S: u64 = 40;

/// One dumbbell: a consumer and a producer for each class.
#[derive(Clone)]
struct Dumbbell {
    mbps: f64,
    delay_ms: u64,
    /// Class, number of flows, and demand of each, kb/s; `None`: as much as possible.
    classes: Vec<(&'static str, u32, Option<u32>)>,
    /// ω of AF4 to BE.
    weights: [f64; 5],
    /// δ of CS7, CS6, EF.
    limits: [f64; 3],
    payload: u32,
    /// The time after which nothing is lost or sent again. This is the start, with two exceptions. In both,
    /// flows begin far above their shares. Either the overshoot exceeds a virtual queue of 20 Interests, or
    /// the queue cannot send it within three quarters of an Interest lifetime. Dropped Interests are sent
    /// again at the flow's own rate, which takes long at a few Interests per second.
    clean_from_s: u64,
}

const OVERSHOOT_S: u64 = 15;

const DS: [&str; 3] = ["CS7", "CS6", "EF"];
const DT: [&str; 5] = ["AF4", "AF3", "AF2", "AF1", "BE"];

impl Dumbbell {
    /// The paper's scenario 1.
    fn paper() -> Dumbbell {
        Dumbbell {
            mbps: 10.0,
            delay_ms: 10,
            classes: vec![("EF", 10, Some(100)), ("AF2", 10, None), ("AF1", 10, None), ("BE", 10, None)],
            weights: [5.0, 4.0, 3.0, 2.0, 1.0],
            limits: [0.2, 0.2, 0.3],
            payload: 1024,
            clean_from_s: 0,
        }
    }

    fn with_overshoot(self) -> Dumbbell {
        Dumbbell { clean_from_s: OVERSHOOT_S, ..self }
    }

    /// The theoretical rates of Data on the bottleneck, bit/s: delay-sensitive classes get their demand up to
    /// their limits, most urgent first; the others share the rest by weight.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let capacity = ETA * self.mbps * 1e6;
        let mut left = capacity;
        let mut shares = Vec::new();
        for (name, limit) in DS.into_iter().zip(self.limits) {
            let Some(&(_, flows, asks)) = self.classes.iter().find(|c| c.0 == name) else { continue };
            let asked = asks.map_or(f64::INFINITY, |kbps| f64::from(flows * kbps) * 1e3);
            let share = asked.min(limit * capacity).min(left);
            left -= share;
            shares.push((name, share));
        }
        let active: Vec<_> = DT
            .into_iter()
            .zip(self.weights)
            .filter(|(n, _)| self.classes.iter().any(|c| c.0 == *n))
            .collect();
        let total: f64 = active.iter().map(|(_, weight)| weight).sum();
        shares.extend(active.into_iter().map(|(name, weight)| (name, left * weight / total)));
        shares
    }

    fn text(&self) -> String {
        let mut text = format!(
            "title = \"a dumbbell\"\nsource = \"assumed: a test\"\nduration = \"{TO_S} s\"\n\
             [scheme]\ndefault = \"qsccp\"\n[scheme.qsccp.weights]\n"
        );
        for (name, weight) in DT.into_iter().zip(self.weights) {
            writeln!(text, "{name} = {weight}").unwrap();
        }
        text += "[scheme.qsccp.delta]\n";
        for (name, limit) in DS.into_iter().zip(self.limits) {
            writeln!(text, "{name} = {limit}").unwrap();
        }
        let n = self.classes.len();
        let delay = self.delay_ms;
        let mbps = self.mbps;
        for ends in ["C", "P"] {
            writeln!(text, "[[node]]\nname = \"{ends}{{1..{n}}}\"").unwrap();
        }
        text += "[[node]]\nname = \"R{1..4}\"\n";
        writeln!(
            text,
            "[defaults.link]\ndelay = \"{delay} ms\"\nqueue = \"20 packets\"\nrate = \"100 Mb/s\""
        )
        .unwrap();
        writeln!(text, "[[link]]\nends = [\"C{{1..{n}}}\", \"R1\"]").unwrap();
        text += "[[link]]\nbetween = [\"R1-R2\", \"R3-R4\"]\n";
        writeln!(text, "[[link]]\nends = [\"R2\", \"R3\"]\nrate = \"{mbps} Mb/s\"").unwrap();
        writeln!(text, "[[link]]\nends = [\"R4\", \"P{{1..{n}}}\"]").unwrap();
        let payload = self.payload;
        writeln!(text, "[defaults.flow]\nstart = \"0 s\"\npayload = \"{payload} B\"\nlifetime = \"2 s\"")
            .unwrap();
        for (index, (name, count, asks)) in self.classes.iter().enumerate() {
            let i = index + 1;
            writeln!(
                text,
                "[[flow]]\nname = \"{name}\"\nconsumer = \"C{i}\"\nproducer = \"P{i}\"\n\
                 prefix = \"/{name}/{{}}\"\ncount = {count}\nclass = \"{name}\""
            )
            .unwrap();
            if let Some(kbps) = asks {
                writeln!(text, "source_rate = \"{kbps} kb/s\"").unwrap();
            }
        }
        writeln!(
            text,
            "[routing]\npolicy = \"shortest-path\"\n[[window]]\nname = \"steady\"\nfrom = \"{FROM_S} s\"\nto = \"{TO_S} s\""
        )
        .unwrap();
        for (name, share) in self.shares() {
            let expected =
                "[[expectation]]\nsource = \"theory: η·C shared by weights\"\nmetric = \"data_rate\"";
            let about = if share < 1.0 { "\"0 Mb/s\"".to_owned() } else { format!("\"{share:.0} b/s\"") };
            writeln!(
                text,
                "{expected}\nclass = \"{name}\"\nlink = \"R3->R2\"\nwindow = \"steady\"\nabout = {about}\ntolerance = 0.03"
            )
            .unwrap();
        }
        let from = self.clean_from_s;
        writeln!(text, "[[window]]\nname = \"clean\"\nfrom = \"{from} s\"\nto = \"{TO_S} s\"").unwrap();
        for metric in ["lost", "retransmitted"] {
            writeln!(
                text,
                "[[expectation]]\nsource = \"paper: Fig. 7(c)\"\nmetric = \"{metric}\"\nwindow = \"clean\"\nabout = 0\ntolerance = 0"
            )
            .unwrap();
        }
        text
    }

    fn with_settling(&self) -> String {
        let mut text = self.text();
        for (name, ..) in &self.classes {
            writeln!(
                text,
                "[[expectation]]\nsource = \"assumed: 20 round trips\"\nmetric = \"settle\"\nclass = \"{name}\"\nat_most = \"2 s\""
            )
            .unwrap();
        }
        text
    }
}

/// The claims that do not hold, in words.
fn broken(name: &str, document: &RunDocument) -> Vec<String> {
    let rows = document.expectations.iter().filter(|row| row.holds == Some(false));
    rows.map(|row| format!("{name}: {}: measured {:?}, stated {:?}", row.what, row.measured, row.stated))
        .collect()
}

fn check(variants: &[(&str, String)]) {
    let found = in_parallel(variants, |(name, text)| {
        let setup = Setup { with_series: false, ..Setup::default() };
        let document = run(&parse(name, text, &[]), &setup).document;
        assert!(document.expectations.len() >= 4, "{name}");
        broken(name, &document)
    });
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn shares_follow_the_weights_at_other_capacities() {
    let at = |mbps| Dumbbell { mbps, ..Dumbbell::paper() };
    check(&[
        ("10 Mb/s", at(10.0).with_settling()),
        ("2 Mb/s, where EF asks for more than its limit", at(2.0).with_overshoot().text()),
        ("20 Mb/s", at(20.0).with_settling()),
        ("50 Mb/s", at(50.0).with_settling()),
    ]);
}

#[test]
fn shares_follow_other_weights() {
    let with = |weights| Dumbbell { weights, ..Dumbbell::paper() };
    check(&[
        ("AF2:AF1:BE = 1:1:1", with([5.0, 4.0, 1.0, 1.0, 1.0]).text()),
        ("AF2:AF1:BE = 8:4:1", with([5.0, 4.0, 8.0, 4.0, 1.0]).text()),
        ("AF2:AF1:BE = 1:2:3", with([5.0, 4.0, 1.0, 2.0, 3.0]).text()),
    ]);
}

#[test]
fn shares_do_not_depend_on_the_number_of_flows_nor_on_their_size() {
    let of = |classes: &[(&'static str, u32, Option<u32>)], payload| {
        let clean_from_s = if payload < 1024 { OVERSHOOT_S } else { 0 };
        Dumbbell { classes: classes.to_vec(), payload, clean_from_s, ..Dumbbell::paper() }.text()
    };
    let one = [("EF", 1, Some(1000)), ("AF2", 1, None), ("AF1", 1, None), ("BE", 1, None)];
    let uneven = [("EF", 5, Some(200)), ("AF2", 2, None), ("AF1", 10, None), ("BE", 30, None)];
    let two = [("AF1", 4, None), ("BE", 8, None)];
    check(&[
        ("one flow a class", of(&one, 1024)),
        (
            "2, 10 and 30 flows",
            Dumbbell { classes: uneven.to_vec(), ..Dumbbell::paper() }.with_overshoot().text(),
        ),
        ("no EF, two classes", of(&two, 1024)),
        ("payload of 4000 B", of(&one, 4000)),
        ("payload of 200 B", of(&one, 200)),
    ]);
}

#[test]
fn shares_do_not_depend_on_the_delay() {
    let over = |delay_ms| Dumbbell { delay_ms, ..Dumbbell::paper() }.text();
    check(&[("1 ms a link", over(1)), ("2 ms a link", over(2)), ("30 ms a link", over(30))]);
}

#[test]
fn an_expedited_class_that_asks_for_more_gets_its_limit_and_the_others_the_rest() {
    let mut greedy = Dumbbell::paper();
    greedy.classes[0] = ("EF", 10, None);
    let mut asking = Dumbbell::paper();
    asking.classes[0] = ("EF", 10, Some(500));
    let narrow = Dumbbell { limits: [0.2, 0.2, 0.05], ..greedy.clone() }.with_overshoot();
    check(&[
        ("EF elastic", greedy.text()),
        ("EF asks for 5 Mb/s", asking.text()),
        ("EF limited to 5 %, half of what its flows begin with", narrow.text()),
    ]);
}

#[test]
fn all_eight_classes_at_once_get_their_limits_and_their_weights() {
    let classes: Vec<_> = DS.into_iter().chain(DT).map(|name| (name, 4, None)).collect();
    let all = Dumbbell { classes, ..Dumbbell::paper() }.with_overshoot();
    let fast = Dumbbell { mbps: 40.0, ..all.clone() };
    let alone =
        Dumbbell { classes: DT.into_iter().map(|name| (name, 4, None)).collect(), ..Dumbbell::paper() };
    check(&[
        ("all eight", all.text()),
        ("all eight at 40 Mb/s", fast.text()),
        ("the five delay-tolerant", alone.text()),
    ]);
}

#[test]
fn expedited_data_is_hardly_delayed_whether_flows_start_together_or_spread() {
    let jobs = [("0 ms", 107.0, 112.0), ("100 ms", 103.0, 107.0)];
    let measured = in_parallel(&jobs, |(spread, ..)| {
        let spread = format!("defaults.flow.start_spread={spread}");
        let set = [spread.as_str(), "duration=60 s", "window.steady.to=60 s"];
        let setup = Setup { with_series: false, ..measuring(&[(20, 60)]) };
        let document = run(&scenario("qsccp/dumbbell", &set), &setup).document;
        class(&document.windows.last().unwrap().classes, "EF").delay_ms
    });
    for ((spread, mean, p99), delay) in jobs.into_iter().zip(measured) {
        eprintln!("start_spread {spread}: {delay:?}");
        assert!(delay.mean.unwrap() <= mean, "start_spread {spread}: mean {:?} ms", delay.mean);
        assert!(delay.p99.unwrap() <= p99, "start_spread {spread}: p99 {:?} ms", delay.p99);
    }
}
