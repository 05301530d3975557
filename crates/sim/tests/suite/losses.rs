//! A link that loses packets: time advances, and each loss is counted once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{measuring, parse, run, scenario};
use weir_experiment::Setup;
use weir_scenario::builtin;

#[test]
fn time_goes_forward_when_timeouts_shrink() {
    // A debug assertion in the event loop checks this; it is enabled in tests.
    for set in [&["link.alice-bob.loss=0.3"][..], &["scheme.fixed.window=100"]] {
        let report = run(&scenario("examples/minimal", set), &Setup::default());
        assert!(report.document.flows[0].timeouts > 0, "{set:?}");
    }
}

#[test]
fn what_a_node_refuses_is_not_lost_on_the_way() {
    // Unnecessary retransmissions: their Data come twice, and the second is unsolicited.
    let set = ["scheme.fixed.window=300", "link.alice-bob.queue=1000 packets", "link.alice-bob.rate=1 Mb/s"];
    let report = run(&scenario("examples/minimal", &set), &Setup::default());
    let drops = &report.document.drops;
    assert!(drops.iter().any(|row| row.place == "node" && row.data > 0), "{drops:?}");
    assert!(report.document.data_thrown_away > 0.0);
    assert_eq!(report.document.flows[0].lost, 0);
    assert!(report.document.links.iter().all(|link| link.drops == 0));
}

#[test]
fn what_a_link_loses_counts_for_the_link_and_for_the_flow() {
    let report = run(&scenario("examples/minimal", &["link.alice-bob.loss=0.1"]), &Setup::default());
    let [there, back] = [0, 1].map(|index| report.document.links[index].lost);
    assert!(there > 0 && back > 0);
    // None of these is a drop at a queue.
    assert!(report.document.links.iter().all(|link| link.drops == 0 && link.down == 0));
    let row = &report.document.drops[0];
    assert_eq!((row.place.as_str(), row.reason.as_str()), ("link", "lost on the link"));
    assert_eq!((row.interests, row.data), (there, back));
    assert_eq!(report.document.flows[0].lost, back);
}

#[test]
fn what_drains_into_a_link_that_is_down_is_not_carried_by_it() {
    let down = "[[event]]\nname = \"cut\"\nat = \"5 s\"\nlink = \"alice-bob\"\nup = false\nsource = \"assumed: a test\"\n";
    let text = format!("{}\n{down}", builtin("examples/minimal").unwrap());
    let setup = measuring(&[(5, 10)]);
    let report = run(&parse("cut", &text, &["scheme.fixed.window=60"]), &setup);
    let after = report.document.windows.last().unwrap();
    // About thirty packets were queued; one may have been half sent.
    let one_packet = 1100.0 * 8.0 / 10e6 / 5.0;
    assert!(after.links.iter().all(|link| link.utilisation <= one_packet), "{:?}", after.links);
    assert!(after.links.iter().any(|link| link.down > 10));
}

#[test]
fn a_link_is_used_for_no_more_than_all_of_a_window() {
    // Packets that take more than a second each, back to back.
    let set = ["link.alice-bob.rate=8 kb/s", "link.alice-bob.delay=1 ms", "window.steady.from=4 s"];
    let report = run(&scenario("examples/minimal", &set), &Setup::default());
    let window = report.document.windows.last().unwrap();
    let back = &window.links[1];
    assert!((back.utilisation - 1.0).abs() < 1e-9, "{back:?}");
    assert!(report.series.links[1].utilisation.iter().skip(30).all(|&part| (part - 1.0).abs() < 1e-6));
}

#[test]
fn data_that_come_after_the_lifetime_are_told_apart_from_those_that_come_twice() {
    // CUBIC fills the queue of 1000 packets, which takes 17.8 s, and Interests live 2 s: late Data are
    // useless.
    let set = [
        "scheme.default=cubic",
        "link.alice-bob.rate=500 kb/s",
        "link.alice-bob.delay=50 ms",
        "link.alice-bob.queue=1000 packets",
        "duration=30 s",
    ];
    let report = run(&scenario("examples/minimal", &set), &Setup::default());
    let data = |reason: &str| {
        report.document.drops.iter().find(|row| row.reason == reason).map_or(0, |row| row.data)
    };
    assert!(data("out of the lifetime") > 100, "{:?}", report.document.drops);
    assert!(report.document.data_thrown_away > 0.1, "{}", report.document.data_thrown_away);
    let delivered = report.document.flows[0].goodput_bps * 30.0 / 8.0 / 1024.0;
    let thrown: u64 = report.document.drops.iter().map(|row| row.data).sum();
    let part = thrown as f64 / (thrown as f64 + delivered);
    assert!((report.document.data_thrown_away - part).abs() < 0.01, "{part}");
}
