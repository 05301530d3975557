//! DPCCP on small topologies: several paths and sources, changes during the run, and networks that do not
//! support it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{measuring, parse, run, two_ways};
use weir_experiment::Setup;
use weir_measure::Report;

fn fetch(name: &str, consumer: &str, prefix: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nconsumer = \"{consumer}\"\nproducer = \"B\"\nprefix = \"/{prefix}\"\n{keys}\n"
    )
}

fn flow(name: &str, keys: &str) -> String {
    fetch(name, "A", name, keys)
}

fn event(at: u64, link: &str, keys: &str) -> String {
    format!("[[event]]\nat = \"{at} s\"\nlink = \"{link}\"\n{keys}\n")
}

fn measured(text: &str, windows: &[(u64, u64)], seed: u64) -> Report {
    run(&parse("test", text, &[]), &Setup { seed, ..measuring(windows) })
}

/// Goodput of a flow in a window, Mb/s.
fn goodput(report: &Report, window: usize, flow: usize) -> f64 {
    report.document.windows[window].flows[flow].goodput_bps / 1e6
}

/// Utilisation of a link in a window, and the queueing delay there, ms.
fn used(report: &Report, window: usize, from: &str, to: &str) -> (f64, f64) {
    let links = &report.document.windows[window].links;
    let link = links.iter().find(|link| link.from == from && link.to == to).unwrap();
    (link.utilisation, link.queue_ms.mean.unwrap())
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} is not {expected}");
}

/// R - S over U with 10 ms and over V with 20 ms.
fn ways(rates: [&str; 2], queue: &str, rest: &str) -> String {
    two_ways("dpccp", queue, [(rates[0], "10 ms"), (rates[1], "20 ms")], rest)
}

/// A - R - B, with this rate of the second link; 40 ms round-trip time.
fn line(rate: &str, queue: &str, nodes: &str, rest: &str) -> String {
    format!(
        "title = \"a line\"\nsource = \"assumed: a test\"\nduration = \"60 s\"\n[scheme]\ndefault = \"dpccp\"\n{nodes}\n\
         [defaults.link]\ndelay = \"10 ms\"\nqueue = \"{queue}\"\nrate = \"100 Mb/s\"\n\
         [[link]]\nends = [\"A\", \"R\"]\n[[link]]\nends = [\"R\", \"B\"]\nrate = \"{rate}\"\n\
         [routing]\npolicy = \"shortest-path\"\n{rest}"
    )
}

const NODES: &str = "[[node]]\nname = [\"A\", \"R\", \"B\"]";

#[test]
fn both_ways_are_filled_and_each_flow_keeps_its_packets_waiting() {
    for (seed, rates) in [(1, ["6 Mb/s", "3 Mb/s"]), (2, ["2 Mb/s", "8 Mb/s"]), (3, ["5 Mb/s", "5 Mb/s"])] {
        // The queues are not drained for new measurements of base RTTs.
        let flows =
            ["a", "b", "c"].map(|name| flow(name, "")).concat() + "[scheme.dpccp]\nbase_lifetime = \"0 s\"\n";
        let report = measured(&ways(rates, "200 packets", &flows), &[(20, 60)], seed);
        let mut waiting = 0.0;
        for (via, rate) in ["U", "V"].into_iter().zip(rates) {
            let (part, wait) = used(&report, 0, via, "R");
            assert!(part > 0.99, "{rates:?} {via}: {part}");
            let rate: f64 = rate.trim_end_matches(" Mb/s").parse().unwrap();
            // Data of about 1110 bytes.
            waiting += wait * rate * 1e3 / 8880.0;
        }
        assert!((waiting / 60.0 - 1.0).abs() < 0.15, "{rates:?}: {waiting} packets of three flows");
        let shares = [0, 1, 2].map(|flow| goodput(&report, 0, flow));
        let mean = shares.iter().sum::<f64>() / 3.0;
        assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < 0.1), "{rates:?}: {shares:?}");
        assert!(report.document.windows[0].flows.iter().all(|flow| flow.lost == 0));
    }
}

#[test]
fn one_flow_with_two_paths_is_the_equal_of_one_with_a_single_path() {
    // Both of A's paths and the one of C end in R - A, of 9 Mb/s.
    let text = ways(["20 Mb/s", "20 Mb/s"], "100 packets", &flow("a", ""))
        .replace("name = [\"A\"", "name = [\"A\", \"C\", \"D\"")
        .replace("\"A-R\", \"S-B\"", "\"A-D\", \"C-D\", \"S-B\"")
        + "[[link]]\nends = [\"D\", \"R\"]\nrate = \"9 Mb/s\"\n"
        + &fetch("c", "C", "c", "start = \"10 s\"")
        + "[scheme.dpccp]\nbase_lifetime = \"0 s\"\n";
    let report = measured(&text, &[(40, 60)], 1);
    let [two, one] = [0, 1].map(|flow| goodput(&report, 0, flow));
    near(two / one, 1.0, 0.1);
    near(two + one, 9.0 * 1024.0 / 1110.0, 0.03);
}

#[test]
fn a_path_that_fails_is_left_and_found_again() {
    let rest = flow("a", "") + &event(20, "R-V", "up = false") + &event(30, "R-V", "up = true");
    let report =
        measured(&ways(["4 Mb/s", "4 Mb/s"], "100 packets", &rest), &[(10, 20), (25, 30), (45, 60)], 1);
    let [before, without, after] = [0, 1, 2].map(|window| goodput(&report, window, 0));
    near(without, before / 2.0, 0.05);
    near(after, before, 0.05);
}

#[test]
fn a_flow_goes_on_two_seconds_after_its_only_path_is_back() {
    let rest = flow("a", "") + &event(20, "R-B", "up = false") + &event(25, "R-B", "up = true");
    let report = measured(&line("10 Mb/s", "100 packets", NODES, &rest), &[(10, 20), (28, 40)], 1);
    near(goodput(&report, 1, 0), goodput(&report, 0, 0), 0.05);
}

#[test]
fn the_rate_follows_that_of_the_link() {
    let rest =
        flow("a", "") + &event(20, "R-B", "rate = \"4 Mb/s\"") + &event(40, "R-B", "rate = \"20 Mb/s\"");
    let text = line("10 Mb/s", "100 packets", NODES, &rest);
    // No base RTT is measured from 30 s to 35 s: draining and filling a queue takes long at 4 Mb/s.
    let report = measured(&text, &[(10, 20), (30, 35), (45, 60)], 1);
    for (window, rate) in [10.0, 4.0, 20.0].into_iter().enumerate() {
        near(goodput(&report, window, 0), rate * 1024.0 / 1110.0, 0.03);
        let (_, wait) = used(&report, window, "B", "R");
        near(wait, 20.0 * 8.88 / rate, 0.15);
    }
}

/// The fault of a base RTT that is measured only once: α_s Data seem to wait although none does.
#[test]
fn a_path_that_becomes_longer_is_full_again_within_ten_seconds() {
    for delay in ["15 ms", "30 ms", "110 ms"] {
        let rest = flow("a", "") + &flow("b", "") + &event(10, "R-B", &format!("delay = \"{delay}\""));
        let text = line("20 Mb/s", "200 packets", NODES, &rest).replace("60 s", "30 s");
        let report = measured(&text, &[(5, 10), (20, 30)], 1);
        for window in [0, 1] {
            let (part, wait) = used(&report, window, "B", "R");
            assert!(part > 0.95 && wait < 30.0, "{delay}: {part} used, {wait} ms");
        }
        near(goodput(&report, 1, 0), goodput(&report, 1, 1), 0.15);
    }
}

/// The fault of a base RTT that every drain raises: the queue of a flow that joins becomes part of the base
/// of the others.
#[test]
fn flows_that_join_one_after_the_other_get_equal_shares() {
    let flows: String =
        (0..8).map(|n| flow(&format!("f{n}"), &format!("start = \"{}00 ms\"", 3 * n))).collect();
    for seed in 1..=3 {
        let text = line("20 Mb/s", "400 packets", NODES, &flows).replace("60 s", "20 s");
        let report = measured(&text, &[(12, 20)], seed);
        let rates = [0, 1, 2, 3, 4, 5, 6, 7].map(|flow| goodput(&report, 0, flow));
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        assert!(sum * sum / (8.0 * squares) > 0.99, "{rates:?}");
    }
}

/// The fault of drains that last half a second: each flow that joined stopped all others.
#[test]
fn short_downloads_that_join_each_other_take_a_second_or_two() {
    let flows: String = (0..8)
        .map(|n| flow(&format!("f{n}"), &format!("start = \"{} ms\"\namount = 1000", 500 * n)))
        .collect();
    let report = measured(&line("20 Mb/s", "200 packets", NODES, &flows).replace("60 s", "20 s"), &[], 1);
    let times = report.document.flows.iter().map(|flow| flow.completion_s.unwrap());
    let mean = times.sum::<f64>() / 8.0;
    assert!(mean < 2.0, "{mean} s");
    assert_eq!(report.document.flows.iter().map(|flow| flow.lost).sum::<u64>(), 0);
}

/// At first all Interests of all but one are aggregated. The cache keeps the consumers synchronised.
#[test]
fn many_consumers_of_one_prefix_all_get_the_rate_of_the_link() {
    let nodes =
        "[[node]]\nname = [\"C{1..3}\", \"A\", \"B\"]\n[[node]]\nname = \"R\"\ncache = \"10000 packets\"";
    let rest = "[[link]]\nends = [\"C{1..3}\", \"R\"]\ndelay = \"1 ms\"\n".to_owned()
        + "[[flow]]\nname = \"f\"\nconsumer = \"C{1..3}\"\nproducer = \"B\"\nprefix = \"/f\"\n";
    let report =
        measured(&line("10 Mb/s", "100 packets", nodes, &rest).replace("60 s", "15 s"), &[(5, 15)], 1);
    for flow in 0..3 {
        near(goodput(&report, 0, flow), 10.0 * 1024.0 / 1110.0, 0.05);
    }
}

#[test]
fn a_cache_that_answers_a_part_is_one_more_source_on_the_path() {
    let nodes = "[[node]]\nname = [\"A\", \"B\"]\n[[node]]\nname = \"R\"\ncache_ratio = 0.5";
    let report = measured(&line("10 Mb/s", "100 packets", nodes, &flow("a", "")), &[(20, 60)], 1);
    near(goodput(&report, 0, 0), 2.0 * 10.0 * 1024.0 / 1110.0, 0.05);
    let (_, wait) = used(&report, 0, "B", "R");
    near(wait, 17.8, 0.25);
}

/// Data that one consumer has requested are in the cache of R for the other: together they get more than the
/// link behind it carries.
#[test]
fn who_comes_second_gains_from_the_cache_on_its_path() {
    let nodes = "[[node]]\nname = [\"A\", \"C\", \"B\"]\n[[node]]\nname = \"R\"\ncache = \"100000 packets\"";
    let rest = "[[link]]\nends = [\"C\", \"R\"]\ndelay = \"15 ms\"\n".to_owned()
        + &fetch("a", "A", "a", "")
        + &fetch("c", "C", "a", "");
    let report = measured(&line("10 Mb/s", "100 packets", nodes, &rest), &[(20, 60)], 1);
    let both = goodput(&report, 0, 0) + goodput(&report, 0, 1);
    assert!(both > 1.5 * 10.0 * 1024.0 / 1110.0, "{both}");
}

#[test]
fn over_routers_that_know_nothing_of_it_there_is_one_path_by_name_which_is_shared_alike() {
    let nodes = "[[node]]\nname = [\"A\", \"R\", \"B\"]\nactive = false";
    let flows = ["a", "b"].map(|name| flow(name, "")).concat();
    let report = measured(&line("10 Mb/s", "100 packets", nodes, &flows), &[(20, 60)], 1);
    assert!(used(&report, 0, "B", "R").0 > 0.99);
    near(goodput(&report, 0, 0), goodput(&report, 0, 1), 0.05);
    assert_eq!(report.document.flows[0].lost, 0);
}

#[test]
fn what_a_slow_source_leaves_others_get() {
    let flows = flow("a", "source_rate = \"2 Mb/s\"") + &flow("b", "");
    let report = measured(&line("10 Mb/s", "100 packets", NODES, &flows), &[(20, 60)], 1);
    near(goodput(&report, 0, 0), 2.0 * 1024.0 / 1110.0, 0.03);
    near(goodput(&report, 0, 1), 8.0 * 1024.0 / 1110.0, 0.03);
}

#[test]
fn random_loss_is_sent_again_and_costs_little() {
    let text = line("10 Mb/s", "100 packets", NODES, &flow("a", ""))
        .replace("rate = \"10 Mb/s\"\n[routing]", "rate = \"10 Mb/s\"\nloss = 0.005\n[routing]");
    assert!(text.contains("loss"));
    let report = measured(&text, &[(20, 60)], 1);
    assert!(goodput(&report, 0, 0) > 0.9 * 10.0 * 1024.0 / 1110.0, "{}", goodput(&report, 0, 0));
}
