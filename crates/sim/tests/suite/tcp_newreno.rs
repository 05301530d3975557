//! TCP NewReno compared with the square-root law on a link with random losses, and with CoDel on a
//! bottleneck.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{in_parallel, measuring, parse, run};
use weir_measure::Report;

/// Content of a segment, bits.
const SEGMENT: f64 = 8.0 * 1024.0;

/// `flows` consumers at C for `duration` seconds, each with a prefix of P, over a link of this rate, delay
/// and loss in each direction; measured from 50 s on.
fn one_link(duration: u64, flows: usize, [rate, delay]: [&str; 2], loss: f64) -> Report {
    let text = format!(
        "title = \"one link\"\nsource = \"assumed: a test\"\nduration = \"{duration} s\"\n\
         [scheme]\ndefault = \"tcp-newreno\"\n[[node]]\nname = [\"C\", \"P\"]\n\
         [[link]]\nends = [\"C\", \"P\"]\nrate = \"{rate}\"\ndelay = \"{delay}\"\nloss = {loss}\nqueue = \"100000 packets\"\n\
         [[flow]]\nname = \"flow\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/A{{1..{flows}}}\"\n\
         start_spread = \"1 s\"\npayload = \"1024 B\"\nlifetime = \"20 s\"\n\
         [routing]\npolicy = \"shortest-path\"\n"
    );
    run(&parse("one link", &text, &[]), &measuring(&[(50, duration)]))
}

/// M. Mathis, J. Semke, J. Mahdavi, T. Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance
/// Algorithm", 1997: a rate of MSS/RTT · √(3/(2p)), where every segment has an ACK of its own. The round-trip
/// time of 200 ms is not short compared with the smallest RTO. So timeouts, which the law ignores, cost
/// little.
#[test]
fn the_rate_is_that_of_the_square_root_law() {
    let ratios = in_parallel(&[1e-4, 1e-3, 1e-2], |&p: &f64| {
        // A segment is lost with its Interest or with its Data.
        let loss = 1.0 - (1.0 - p).sqrt();
        let report = one_link(400, 10, ["10 Gb/s", "100 ms"], loss);
        let flows = &report.document.windows[0].flows;
        let rate = flows.iter().map(|flow| flow.goodput_bps).sum::<f64>() / flows.len() as f64;
        assert!(report.document.windows[0].links.iter().all(|link| link.utilisation < 0.05));
        (p, rate / (SEGMENT / 0.2 * (1.5 / p).sqrt()))
    });
    for (p, ratio) in &ratios {
        assert!((0.85..=1.15).contains(ratio), "at {p} {ratio} of the law's rate: {ratios:?}");
    }
}

/// The return link in the window: utilisation, mean queueing delay in ms.
fn bottleneck(report: &Report) -> (f64, f64) {
    let link = report.document.windows[0].links.iter().find(|link| link.from == "P").unwrap();
    (link.utilisation, link.queue_ms.mean.unwrap())
}

/// CoDel first drops when packets have waited for at least 5 ms for 100 ms. The path holds 20 ms. A single
/// flow's window is therefore at least 25 ms of the link when it is halved. It then grows from 12.5 ms to
/// 20 ms without a queue and further, which gives a mean of at least 81 % of the link. Several flows do not
/// halve all at once. Each of 16 flows has 17 segments at the target, enough for three duplicate ACKs.
#[test]
fn codel_keeps_the_queue_short_and_the_link_in_use() {
    let of = |flows: &usize| {
        let report = one_link(150, *flows, ["100 Mb/s", "10 ms"], 0.0);
        (*flows, bottleneck(&report))
    };
    for (flows, (utilisation, queue_ms)) in in_parallel(&[1, 4, 16], of) {
        let least = if flows == 1 { 0.81 } else { 0.9 };
        assert!(utilisation > least, "{flows} flows use {utilisation}");
        assert!(queue_ms < 10.0, "{flows} flows have {queue_ms} ms, twice the target");
    }
}
