//! Random requests: compared with queueing theory, by seed, and with events.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, parse, run};
use weir_experiment::Setup;
use weir_measure::{RequestRow, RunDocument};
use weir_scenario::Scenario;

/// Requests of C over a bottleneck of 10 Mb/s in front of it.
fn network(duration: &str, flow: &str, rest: &str) -> String {
    format!(
        "title = \"requests\"\nduration = \"{duration}\"\n[scheme]\ndefault = \"fixed\"\n[scheme.fixed]\nwindow = 1000\n\
         [[node]]\nname = [\"C\", \"R\", \"P\"]\n\
         [[link]]\nends = [\"C\", \"R\"]\nrate = [\"10 Gb/s\", \"10 Mb/s\"]\ndelay = \"1 ms\"\nqueue = \"unlimited\"\n\
         [[link]]\nends = [\"R\", \"P\"]\nrate = \"10 Gb/s\"\ndelay = \"1 ms\"\nqueue = \"unlimited\"\n\
         [[flow]]\nname = \"web\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/web\"\n{flow}\n{rest}"
    )
}

fn document(text: &str, seed: u64) -> RunDocument {
    let scenario: Scenario = parse("requests", text, &[]);
    run(&scenario, &Setup { seed, with_series: false, ..Setup::default() }).document
}

fn all(document: &RunDocument) -> &RequestRow {
    document.requests.iter().find(|row| row.size == "all").unwrap()
}

/// Requests of one Data are an M/D/1 queue: the mean wait is ρS/(2(1 − ρ)) (Pollaczek and Khinchine).
#[test]
fn requests_of_one_data_wait_as_in_an_m_d_1_queue() {
    // Seconds of a Data of 1024 B on the link, approximately: names have the digits of their objects.
    let per_data = 0.000_885;
    in_parallel(&[(0.3, 0.03), (0.6, 0.04), (0.9, 0.12)], |&(load, tolerance)| {
        let flow = format!("arrivals = \"poisson {}/s\"\namount = 1", load / per_data);
        let document = document(&network("300 s", &flow, ""), 7);
        let link = document.links.iter().find(|link| link.to == "C").unwrap();
        let (load, service) =
            (link.utilisation, 1e3 * link.utilisation * 300.0 / all(&document).completed as f64);
        let wanted = load * service / (2.0 * (1.0 - load));
        let found = link.queue_ms.mean.unwrap();
        assert!(
            (found / wanted - 1.0).abs() < tolerance,
            "{load}: {found} ms, not {wanted} ms, of {service} ms"
        );
    });
}

#[test]
fn each_seed_has_another_outcome_and_the_same_seed_the_same_one() {
    let text = network("5 s", "arrivals = \"poisson 30/s\"\namount = \"pareto 3 to 300 shape 1.1\"", "");
    let mut outcomes: Vec<u64> = (1..=20).map(|seed| document(&text, seed).packet_hops).collect();
    assert_eq!(outcomes[0], document(&text, 1).packet_hops);
    outcomes.sort_unstable();
    outcomes.dedup();
    assert_eq!(outcomes.len(), 20, "{outcomes:?}");
    assert!(document(&text, 1).seed_matters);
    let periodic = network("5 s", "arrivals = \"every 100 ms\"\namount = 3", "");
    assert!(!document(&periodic, 1).seed_matters);
}

#[test]
fn requests_alone_have_a_slowdown_of_one_under_a_window_that_is_large_enough() {
    let document =
        document(&network("20 s", "arrivals = \"every 1 s\"\namount = \"one of 1, 20, 300\"", ""), 1);
    let row = all(&document);
    assert_eq!((row.came, row.completed), (20, 20));
    let slowdown = row.slowdown.mean.unwrap();
    assert!((slowdown - 1.0).abs() < 0.01, "{slowdown}");
}

#[test]
fn a_flow_that_stops_has_no_further_requests_and_a_rate_of_zero_silences_them() {
    let stops = document(
        &network("10 s", "arrivals = \"every 100 ms\"\namount = 1\nstart = \"1 s\"\nstop = \"3 s\"", ""),
        1,
    );
    assert_eq!((all(&stops).came, all(&stops).completed), (20, 20));
    let event = |at, rate| format!("[[event]]\nat = \"{at} s\"\nflow = \"web\"\nsource_rate = \"{rate}\"\n");
    let silent = event(2, "0 b/s") + &event(4, "elastic");
    let silenced = document(&network("10 s", "arrivals = \"every 100 ms\"\namount = 1", &silent), 1);
    // Requests that come while the source is silent wait for its next rate.
    assert_eq!((all(&silenced).came, all(&silenced).completed), (100, 100));
    let longest = silenced.requests[0].completion_ms.p99.unwrap();
    assert!((1900.0..2100.0).contains(&longest), "{longest}");
}

#[test]
fn pauses_take_the_part_of_the_time_that_is_stated() {
    let flow = "source_rate = \"1 Mb/s\"\nactivity = \"on exponential 100 ms off exponential 300 ms\"";
    let document = document(&network("400 s", flow, ""), 1);
    // 1 Mb/s of packets in a quarter of the time; 1024 of 1109 B are content.
    let part = document.flows[0].goodput_bps / 1e6 / 0.94;
    assert!((part - 0.25).abs() < 0.03, "{part}");
}

#[test]
fn jitter_of_a_source_does_not_change_its_rate() {
    let jittered = document(&network("100 s", "source_rate = \"1 Mb/s\"\nsource_jitter = 0.8", ""), 1);
    let even = document(&network("100 s", "source_rate = \"1 Mb/s\"", ""), 1);
    let ratio = jittered.flows[0].goodput_bps / even.flows[0].goodput_bps;
    assert!((ratio - 1.0).abs() < 0.01 && ratio != 1.0, "{ratio}");
    assert!(jittered.seed_matters && !even.seed_matters);
}

#[test]
fn what_requests_lose_counts_for_their_flow() {
    let text = network("5 s", "arrivals = \"every 30 ms\"\namount = 50", "").replacen(
        "queue = \"unlimited\"",
        "queue = 60",
        1,
    );
    let document = document(&text, 1);
    let dropped: u64 = document.drops.iter().map(|row| row.data).sum();
    assert!(document.flows[0].lost > 0 && document.flows[0].lost == dropped, "{:?}", document.drops);
    assert!(document.distributions.iter().any(|row| row.kind == "requests" && row.of == "web 10-99"));
}
