//! HbHCM and PAQM on small topologies: congestion that no NDN queue shows, Interests that are aggregated or
//! answered by a cache, Data of several sizes, and changes during the run.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use weir_experiment::Setup;
use weir_measure::Report;

use crate::common::{self, measuring, parse, run};

/// Links of 100 Mb/s and 10 ms, unless `rest` changes them.
fn network(scheme: &str, nodes: &str, rest: &str) -> String {
    format!(
        "title = \"HbHCM\"\nsource = \"assumed: a test\"\nduration = \"60 s\"\n[scheme]\ndefault = \"{scheme}\"\n{nodes}\n\
         [defaults.link]\ndelay = \"10 ms\"\nqueue = \"200 packets\"\nrate = \"100 Mb/s\"\n\
         [routing]\npolicy = \"shortest-path\"\n{rest}"
    )
}

fn nodes(names: &str, keys: &str) -> String {
    format!("[[node]]\nname = [{names}]\n{keys}\n")
}

fn links(between: &str) -> String {
    format!("[[link]]\nbetween = [{between}]\n")
}

fn link(ends: [&str; 2], keys: &str) -> String {
    format!("[[link]]\nends = {ends:?}\n{keys}\n")
}

fn flow(consumer: &str, prefix: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{consumer}{prefix}\"\nconsumer = \"{consumer}\"\nproducer = \"P\"\nprefix = \"/{prefix}\"\n{keys}\n"
    )
}

fn event(at: u64, link: &str, keys: &str) -> String {
    format!("[[event]]\nat = \"{at} s\"\nlink = \"{link}\"\n{keys}\n")
}

fn measured(text: &str, windows: &[(u64, u64)], set: &[&str]) -> Report {
    run(&parse("test", text, set), &measuring(windows))
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

/// C - S1 - S2 - R - P. The bottleneck of 10 Mb/s is between S1 and S2, which may or may not run the scheme.
fn overlay(scheme: &str, keys: &str) -> String {
    let rest = links("\"C-S1\", \"S2-R\", \"R-P\"")
        + &link(["S1", "S2"], "rate = \"10 Mb/s\"")
        + &flow("C", "a", "");
    network(scheme, &(nodes("\"C\", \"R\", \"P\"", "") + &nodes("\"S1\", \"S2\"", keys)), &rest)
}

#[test]
fn congestion_between_nodes_that_do_not_take_part_is_measured_by_the_next_that_does() {
    for keys in ["", "active = false"] {
        let report = measured(&overlay("hbhcm", keys), &[(10, 60)], &[]);
        let (part, wait) = used(&report, 0, "S2", "S1");
        assert!(part > 0.95 && wait < 8.0, "{keys}: {part} used, {wait} ms");
        assert_eq!(report.document.flows[0].lost, 0);
    }
    let report = measured(&overlay("pcon", "active = false"), &[(10, 60)], &[]);
    let (_, wait) = used(&report, 0, "S2", "S1");
    assert!(wait > 50.0, "whose marks come from its own queues fills that one: {wait} ms");
}

#[test]
fn where_only_the_consumer_takes_part_its_hop_reaches_to_the_source() {
    let inactive = "active = false";
    let text = overlay("hbhcm", inactive)
        .replace("name = [\"C\", \"R\", \"P\"]\n", "name = [\"C\", \"R\", \"P\"]\nactive = false\n");
    let report = measured(&text, &[(10, 60)], &[]);
    let (part, wait) = used(&report, 0, "S2", "S1");
    assert!(part > 0.95 && wait < 8.0, "{part} used, {wait} ms");
}

/// Two consumers of one content at different distances. Data that one has requested reach the other with its
/// own, or from the cache of A. The second consumer's hop delay must be its own. If the time for which the
/// Interest had already been pending were subtracted, all its Data would look delayed, and its window would
/// fall to 32, which is 3 Mb/s here.
fn shared(cache: &str) -> String {
    let nodes = nodes("\"C1\", \"C2\", \"B\", \"P\"", "") + &nodes("\"A\"", cache);
    let rest = links("\"C1-A\", \"B-P\"")
        + &link(["C2", "A"], "delay = \"15 ms\"")
        + &link(["A", "B"], "rate = \"10 Mb/s\"\ndelay = \"30 ms\"")
        + &flow("C1", "a", "")
        + &flow("C2", "a", "");
    network("hbhcm", &nodes, &rest)
}

#[test]
fn who_shares_content_with_others_measures_its_own_hop() {
    for cache in ["", "cache = \"100000 packets\""] {
        let report = measured(&shared(cache), &[(20, 60)], &[]);
        let both = [0, 1].map(|flow| goodput(&report, 0, flow));
        // 1024 of about 1100 bytes are content, of 10 Mb/s.
        assert!(both.iter().all(|rate| *rate > 8.8), "{cache}: {both:?}");
        assert_eq!(report.document.flows[0].timeouts, 0);
    }
}

/// At 4 Mb/s, Data of 4000 bytes take 8 ms, more than the target, and Data of 300 bytes less than 1 ms. The
/// large Data are so rare that a hop with one base for all sizes is in Alert in between, and marks them.
#[test]
fn large_data_are_not_taken_for_delayed_because_small_ones_are_fast() {
    let rest = links("\"C-A\", \"B-P\"")
        + &link(["A", "B"], "rate = \"4 Mb/s\"\ndelay = \"200 ms\"\nqueue = \"1 MB\"")
        + &flow("C", "small", "payload = \"300 B\"\nsource_rate = \"8 kb/s\"")
        + &flow("C", "large", "payload = \"4000 B\"");
    let text = network("hbhcm", &nodes("\"C\", \"A\", \"B\", \"P\"", ""), &rest);
    let [with, without] = ["true", "false"].map(|is_on| {
        let set = [&format!("scheme.hbhcm.size_compensation={is_on}"), "duration=120 s"];
        goodput(&measured(&text, &[(60, 120)], &set), 0, 1)
    });
    assert!(with > 3.3 && without < 2.8, "{with} Mb/s, without {without}");
}

/// C - A - B - P, with 20 Mb/s between A and B, and some flows.
fn line(rest: &str) -> String {
    let links = links("\"C-A\", \"B-P\"") + &link(["A", "B"], "rate = \"20 Mb/s\"\ndelay = \"20 ms\"");
    network("hbhcm", &nodes("\"C\", \"A\", \"B\", \"P\"", ""), &(links + rest))
}

#[test]
fn flows_that_join_and_leave_share_the_link() {
    let flows = flow("C", "a", "")
        + &flow("C", "b", "start = \"10 s\"")
        + &flow("C", "c", "start = \"10 s\"\nstop = \"40 s\"");
    let report = measured(&line(&flows), &[(5, 10), (20, 40), (45, 60)], &[]);
    for (window, sharing) in [(0, &[0][..]), (1, &[0, 1, 2]), (2, &[0, 1])] {
        let (part, wait) = used(&report, window, "B", "A");
        assert!(part > 0.9 && wait < 15.0, "{part} used, {wait} ms");
        let rates: Vec<f64> = sharing.iter().map(|flow| goodput(&report, window, *flow)).collect();
        let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|rate| rate * rate).sum::<f64>());
        assert!(sum * sum / (squares * rates.len() as f64) > 0.9, "{rates:?}");
    }
}

#[test]
fn a_link_that_fails_or_changes_its_rate_is_filled_again() {
    let fails = event(20, "A-B", "up = false") + &event(25, "A-B", "up = true");
    let slows = event(20, "A-B", "rate = \"10 Mb/s\"") + &event(40, "A-B", "rate = \"20 Mb/s\"");
    for events in [fails, slows] {
        let report = measured(&line(&(flow("C", "a", "") + &events)), &[(10, 20), (30, 40), (50, 60)], &[]);
        for window in 0..3 {
            let (part, wait) = used(&report, window, "B", "A");
            assert!(part > 0.9 && wait < 15.0, "window {window}: {part} used, {wait} ms");
        }
    }
}

/// If the base RTT is the minimum for ever, as in the paper, a path that becomes longer looks congested, and
/// all its Data are marked. Then W falls to 32.
#[test]
fn a_way_that_gets_longer_looks_congested_unless_the_base_is_renewed() {
    let text = line(&(flow("C", "a", "") + &event(20, "A-B", "delay = \"45 ms\"")));
    let of = |renewal: bool| {
        let report = measured(&text, &[(30, 60)], &[&format!("scheme.hbhcm.base_renewal={renewal}")]);
        (goodput(&report, 0, 0), used(&report, 0, "B", "A"))
    };
    let ((kept, _), (_, (part, wait))) = (of(false), of(true));
    // 32 Data of 1024 bytes in 130 ms.
    assert!((kept / (32.0 * 8.192 / 130.0) - 1.0).abs() < 0.1, "{kept} Mb/s");
    assert!(part > 0.95 && wait < 10.0, "{part} used, {wait} ms");
}

/// Six flows keep more than 5 ms queued permanently: this is not a longer path.
#[test]
fn a_queue_that_lasts_does_not_become_the_base() {
    let flows: String = ["a", "b", "c", "d", "e", "f"].map(|name| flow("C", name, "")).concat();
    let text = line(&flows).replace("20 Mb/s", "5 Mb/s");
    let report = measured(&text, &[(10, 30), (40, 60)], &[]);
    let [early, late] = [0, 1].map(|window| used(&report, window, "B", "A").1);
    assert!(early > 20.0 && (late / early - 1.0).abs() < 0.05, "{early} and {late} ms");
}

/// Each face measures its own hop, so Data that overtake each other are no sign of congestion.
#[test]
fn two_ways_of_different_length_are_told_apart() {
    let ways = |long| {
        let ways = [("6 Mb/s", "10 ms"), ("6 Mb/s", long)];
        let flows = "[[flow]]\nname = \"a\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/a\"\n";
        let text = common::two_ways("hbhcm", "200 packets", ways, flows);
        run(&parse("test", &text, &[]), &measuring(&[(20, 60)]))
    };
    let report = ways("10 ms");
    for via in ["U", "V"] {
        let (part, wait) = used(&report, 0, via, "R");
        assert!(part > 0.95 && wait < 10.0, "{via}: {part} used, {wait} ms");
    }
    // RFA: the same number is pending on both paths, 60 and 100 ms from R.
    let report = ways("30 ms");
    let [short, long] = ["U", "V"].map(|via| used(&report, 0, via, "R").0);
    assert!(short > 0.95 && (long / short * 100.0 / 60.0 - 1.0).abs() < 0.15, "{short} {long}");
}

#[test]
fn on_abilene_everything_is_delivered_with_its_packets_through_the_codec() {
    let set = ["link.*.queue=500 packets"];
    let setup = Setup { scheme: Some("hbhcm".to_owned()), ..Setup::default() };
    let report = common::run_checking_wire(&common::scenario("qsccp/abilene-multipath", &set), &setup);
    assert!(report.document.flows.iter().all(|flow| flow.completion_s.is_some()));
}

/// Upstream nodes that never report the delay of their path, and content that moves from a near cache to the
/// producer: this is a longer path, and not congestion.
#[test]
fn content_that_moves_farther_behind_an_upstream_that_says_nothing_is_a_longer_way() {
    let nodes = nodes("\"C\"", "") + &nodes("\"A\", \"B\", \"P\"", "active = false");
    let text = line(&flow("C", "a", ""))
        .replace("[[node]]\nname = [\"C\", \"A\", \"B\", \"P\"]\n", &nodes)
        .replace("name = [\"A\", \"B\", \"P\"]\n", "name = [\"A\", \"B\", \"P\"]\ncache_ratio = 0.0\n");
    let near = "[[event]]\nat = \"1 s\"\nnode = \"A\"\ncache_ratio = 1.0\n[[event]]\nat = \"10 s\"\nnode = \"A\"\ncache_ratio = 0.0\n";
    let report = measured(&(text + near), &[(40, 60)], &[]);
    let (part, wait) = used(&report, 0, "B", "A");
    assert!(part > 0.95 && wait < 15.0, "{part} used, {wait} ms");
    assert_eq!(report.document.windows[0].flows[0].lost, 0);
}
