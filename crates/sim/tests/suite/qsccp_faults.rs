//! QSCCP on small cases that it handled badly: the unused share of a class or flow that uses part of it,
//! small Data beside large ones, caches near the consumer, Interests without answers, short flows, and one
//! object for many consumers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{goodput, measuring, parse, run};
use weir_core::random::Random;
use weir_experiment::Setup;
use weir_measure::Report;

const ETA: f64 = 0.99;
/// Content of a Data of 1024 bytes, as a fraction of its length on the wire.
const CONTENT: f64 = 1024.0 / 1114.0;

fn measured(text: &str, windows: &[(u64, u64)]) -> Report {
    run(&parse("faults", text, &[]), &Setup { with_series: false, ..measuring(windows) })
}

/// A - B - C - D, where B - C is the bottleneck.
fn line(bottleneck: &str, seconds: u64, rest: &str) -> String {
    format!(
        "title = \"faults\"\nsource = \"assumed: a test\"\nduration = \"{seconds} s\"\n[scheme]\ndefault = \"qsccp\"\n\
         [[node]]\nname = [\"A\", \"B\", \"C\", \"D\"]\n\
         [[link]]\nbetween = [\"A-B\", \"C-D\"]\nrate = \"200 Mb/s\"\ndelay = \"1 ms\"\n\
         [[link]]\nends = [\"B\", \"C\"]\nrate = \"{bottleneck}\"\ndelay = \"5 ms\"\n{rest}"
    )
}

/// A flow from D to A, with further keys.
fn flow(name: &str, class: &str, keys: &str) -> String {
    flow_between("A", "D", name, class, keys)
}

fn flow_between(consumer: &str, producer: &str, name: &str, class: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"{consumer}\"\nproducer = \"{producer}\"\n\
         prefix = \"/{name}\"\nclass = \"{class}\"\n{keys}\n"
    )
}

/// The gap at γ: a class requests about γ of its base rate, and the other class requests everything.
#[test]
fn an_elastic_class_has_what_another_leaves_that_asks_for_about_gamma_of_its_base_rate() {
    // base_c of AF3 is 4/15 of 9.9 Mb/s. Ten flows request γ of this, a little less and a little more; or
    // twice as much, which is γ of what AF3 may have beside AF1.
    for part in [0.90, 0.95, 1.0, 1.6, 1.9] {
        let wire = 9.9e6 * 4.0 / 15.0 * part;
        let keys = format!("count = 10\nsource_rate = \"{} b/s\"", (wire * CONTENT / 10.0) as u64);
        let limited = flow("f", "AF3", &keys).replace("\"/f\"", "\"/f{}\"");
        let report = measured(&line("10 Mb/s", 15, &(limited + &flow("e", "AF1", ""))), &[(5, 15)]);
        let elastic = goodput(&report.document.windows[0], "/e");
        let left = (9.9e6 - wire) * CONTENT;
        assert!(elastic > 0.95 * left, "{part}: {elastic:.0} of {left:.0}");
    }
}

/// The same within a class.
#[test]
fn an_elastic_flow_has_what_others_leave_that_ask_for_about_gamma_of_their_shares() {
    for part in [0.90, 0.945, 0.955, 0.98] {
        let keys = format!("count = 9\nsource_rate = \"{} b/s\"", (9.9e5 * CONTENT * part) as u64);
        let limited = flow("f", "BE", &keys).replace("\"/f\"", "\"/f{}\"");
        let report = measured(&line("10 Mb/s", 20, &(limited + &flow("e", "BE", ""))), &[(10, 20)]);
        let elastic = goodput(&report.document.windows[0], "/e");
        let left = (9.9e6 - 9.0 * 9.9e5 * part) * CONTENT;
        assert!(elastic > 0.95 * left, "{part}: {elastic:.0} of {left:.0}");
    }
}

/// A Data of 64 bytes has about 150 bytes on the wire, one of 8000 about 8100.
#[test]
fn small_data_have_their_share_beside_large_data_of_another_class_and_of_the_other_direction() {
    let small = |class, keys: &str| flow("small", class, &format!("payload = \"64 B\"\n{keys}"));
    let large =
        |consumer, producer, class| flow_between(consumer, producer, "large", class, "payload = \"8000 B\"");
    let alone = |class| {
        let report = measured(&line("2.5 Mb/s", 10, &small(class, "")), &[(5, 10)]);
        goodput(&report.document.windows[0], "/small")
    };
    let beside = |flows: &str| {
        let report = measured(&line("2.5 Mb/s", 15, flows), &[(5, 15)]);
        let flows = &report.document.flows;
        assert!(flows.iter().all(|flow| flow.retransmitted == 0), "{flows:?}");
        goodput(&report.document.windows[0], "/small")
    };
    let share = alone("AF4") * 5.0 / 8.0;
    let got = beside(&(small("AF4", "") + &large("A", "D", "AF2")));
    assert!(got > 0.95 * share, "5 of 8 parts: {got:.0} of {share:.0}");
    let share = alone("BE") / 6.0;
    let got = beside(&(small("BE", "") + &large("A", "D", "AF4")));
    assert!(got > 0.95 * share, "1 of 6 parts: {got:.0} of {share:.0}");
    // Interests for 64-byte Data need about half of the capacity of the Data, in the direction of the large
    // Data.
    let alone = alone("BE");
    let got = beside(&(small("BE", "") + &large("D", "A", "BE")));
    assert!(got > 0.95 * alone, "the other direction: {got:.0}, alone {alone:.0}");
}

/// C and D at 1 Gb/s and 0.1 ms from R, which has all Data. The producer is 50 ms away behind 10 Mb/s.
fn lan_cache(amount: u32, rest: &str) -> String {
    format!(
        "title = \"a near cache\"\nsource = \"assumed: a test\"\nduration = \"30 s\"\n[scheme]\ndefault = \"qsccp\"\n\
         [[node]]\nname = [\"D\", \"P\"]\n[[node]]\nname = [\"R\", \"C\"]\ncache = \"unlimited\"\n\
         [[link]]\nends = [\"C\", \"R\"]\nrate = \"1 Gb/s\"\ndelay = \"100 us\"\nqueue = 1000\n\
         [[link]]\nends = [\"D\", \"R\"]\nrate = \"1 Gb/s\"\ndelay = \"100 us\"\nqueue = 1000\n\
         [[link]]\nends = [\"R\", \"P\"]\nrate = \"10 Mb/s\"\ndelay = \"50 ms\"\nqueue = 200\n\
         [[flow]]\nname = \"warm\"\nconsumer = \"D\"\nproducer = \"P\"\nprefix = \"/f\"\namount = {amount}\n{rest}"
    )
}

fn fetch(name: &str, start: u64, amount: u32) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/f\"\namount = {amount}\n\
         start = \"{start} s\"\n"
    )
}

#[test]
fn what_a_near_cache_or_the_own_store_has_comes_as_fast_as_from_there() {
    let report = measured(&lan_cache(10_000, &(fetch("lan", 20, 10_000) + &fetch("own", 25, 10_000))), &[]);
    let flows = &report.document.flows;
    let took = |flow: usize| flows[flow].completion_s.unwrap();
    // 10 000 Data of 1.1 kB take 0.09 s on the link.
    assert!(took(1) < 0.2, "from the cache a hop away: {} s", took(1));
    assert!(took(2) < 0.05, "from its own store: {} s", took(2));
    assert!(flows.iter().all(|flow| flow.lost + flow.timeouts == 0), "{flows:?}");
}

#[test]
fn a_consumer_with_a_part_of_the_content_in_its_own_store_or_a_near_one_has_hardly_a_timeout() {
    for (own, near) in [(2000, 0), (0, 2000)] {
        let near = fetch("near", 10, near.max(1)).replace("\"C\"", "\"D\"");
        let flows = near + &fetch("own", 15, own.max(1)) + &fetch("all", 18, 8000);
        let report = measured(&lan_cache(1, &flows), &[]);
        let all = report.document.flows.last().unwrap();
        // When a near cache ends, some Interests find no room upstream.
        let most = if own > 0 { 0 } else { 80 };
        assert!(all.timeouts <= most && all.lost == 0, "{all:?}");
        let rest = f64::from(8000 - own.max(1));
        // At 8 Mb/s of content, including the start.
        let most = rest * 8192.0 / 8.5e6 + 0.5;
        assert!(all.completion_s.is_some_and(|took| took < most), "{all:?} in {most} s");
    }
}

#[test]
fn an_honest_flow_keeps_its_rate_beside_interests_that_are_not_answered() {
    let text = "title = \"a flood\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n[scheme]\ndefault = \"qsccp\"\n\
        [[node]]\nname = [\"G\", \"A1\", \"A2\", \"R\", \"P\", \"X\"]\n[defaults.link]\nrate = \"10 Mb/s\"\ndelay = \"10 ms\"\n\
        [[link]]\nbetween = [\"G-R\", \"A1-R\", \"A2-R\", \"R-P\"]\n[[link]]\nends = [\"P\", \"X\"]\nloss = 1.0\n\
        [[flow]]\nname = \"good\"\nconsumer = \"G\"\nproducer = \"P\"\nprefix = \"/good\"\n\
        [[flow]]\nname = \"evil\"\nconsumer = [\"A1\", \"A2\"]\nproducer = \"X\"\nprefix = \"/evil{0..1}\"\n\
        start = \"5 s\"\nsource_rate = \"100 Mb/s\"\nunresponsive = true\n";
    let report = measured(text, &[(2, 5), (10, 20)]);
    let [before, beside] = [0, 1].map(|window| goodput(&report.document.windows[window], "/good"));
    assert!(before > 0.98 * ETA * 10e6 * CONTENT, "{before:.0}");
    assert!(beside > 0.95 * before, "{beside:.0} of {before:.0}");
}

/// Flows with heavy-tailed sizes arrive at random on a link of 20 Mb/s, with this load. Returns the mean of
/// their slowdowns, and how many do not end. A slowdown is the completion time divided by the time alone.
fn slowdown(load: f64, seed: u64) -> (f64, usize) {
    const SECONDS: f64 = 8.0;
    let mut random = Random::named(seed, "short flows");
    // A bounded Pareto distribution of 3 to 1000 Data.
    let (least, most, alpha) = (3.0f64, 1000.0f64, 1.1);
    let (l, h) = (least.powf(-alpha), most.powf(-alpha));
    let size = |random: &mut Random| (l - random.unit() * (l - h)).powf(-1.0 / alpha).ceil();
    let mean = (0..100_000).map(|_| size(&mut random)).sum::<f64>() / 100_000.0;
    let each = mean * 8.0 * 1114.0 / (load * 20e6);
    let (mut at, mut flows, mut alone) = (0.5, String::new(), Vec::new());
    loop {
        at -= (1.0 - random.unit()).ln() * each;
        if at > SECONDS {
            break;
        }
        let (amount, delay) = (size(&mut random), 1 + 2 * random.below(3));
        let keys = format!("start = \"{} us\"\namount = {amount}", (at * 1e6) as u64);
        flows += &flow_between(&format!("H{delay}"), "D", &format!("p{}", alone.len()), "BE", &keys);
        alone.push(amount * 8192.0 / (ETA * 20e6 * CONTENT) + 2.0 * (f64::from(delay) + 6.0) / 1000.0);
    }
    let hosts: String = [1, 3, 5]
        .map(|delay| {
            format!(
                "[[node]]\nname = \"H{delay}\"\n[[link]]\nends = [\"H{delay}\", \"B\"]\nrate = \"200 Mb/s\"\n\
                 delay = \"{delay} ms\"\n"
            )
        })
        .concat();
    let report = measured(&line("20 Mb/s", SECONDS as u64 + 4, &(hosts + &flows)), &[]);
    let took: Vec<Option<f64>> = report.document.flows.iter().map(|flow| flow.completion_s).collect();
    let slow: Vec<f64> =
        took.iter().zip(&alone).filter_map(|(took, alone)| took.map(|t| t / alone)).collect();
    (slow.iter().sum::<f64>() / slow.len() as f64, took.len() - slow.len())
}

#[test]
fn short_flows_take_no_more_than_two_and_a_half_times_as_long_as_alone_at_a_load_of_0_8() {
    let runs = [1, 2, 3].map(|seed| slowdown(0.8, seed));
    assert!(runs.iter().all(|(_, left)| *left == 0), "{runs:?}");
    let mean = runs.iter().map(|(slow, _)| slow).sum::<f64>() / 3.0;
    assert!(mean < 2.5, "{runs:?}");
}

/// Eight nodes of a ring with three chords request one object of a ninth.
#[test]
fn eight_consumers_of_one_object_share_it_on_a_meshed_network() {
    let ring: String = (0..9).map(|n| format!("\"n{n}-n{}\", ", (n + 1) % 9)).collect();
    let object = |consumers: &[u32]| -> String {
        consumers
            .iter()
            .map(|n| {
                format!(
                    "[[flow]]\nname = \"f{n}\"\nconsumer = \"n{n}\"\nproducer = \"n0\"\nprefix = \"/o\"\namount = 4000\n\
                     start = \"{} ms\"\n",
                    37 * n
                )
            })
            .collect()
    };
    let network = |flows: &str| {
        format!(
            "title = \"one object\"\nsource = \"assumed: a test\"\nduration = \"40 s\"\n[scheme]\ndefault = \"qsccp\"\n\
             [[node]]\nname = \"n{{0..8}}\"\ncache = 2000\n[defaults.link]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nbetween = [{ring}\"n0-n3\", \"n2-n6\", \"n4-n8\"]\n[routing]\npolicy = \"multipath\"\n{flows}"
        )
    };
    let text = network(&object(&[1, 2, 3, 4, 5, 6, 7, 8]));
    let mean = |shared: &str| {
        let text =
            text.replace("[[node]]", &format!("[scheme.qsccp]\nshared_retrieval = {shared}\n[[node]]"));
        let report = measured(&text, &[]);
        let flows = &report.document.flows;
        assert!(flows.iter().all(|flow| flow.lost == 0), "{flows:?}");
        flows.iter().map(|flow| flow.completion_s.unwrap()).sum::<f64>() / flows.len() as f64
    };
    let (shared, alone) = (mean("true"), mean("false"));
    assert!(shared < 0.8 * alone, "{shared} s, {alone} s as if each asked for other Data");
}
