//! A link that loses packets: time goes forward, and what is lost is counted once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{run, scenario};
use weir_sim::Setup;

#[test]
fn time_goes_forward_when_timeouts_shrink() {
    // A debug assertion in the event loop says so; it is on in tests.
    for set in [&["link.alice-bob.loss=0.3"][..], &["scheme.fixed.window=100"]] {
        let report = run(&scenario("examples/minimal", set), &Setup::default());
        assert!(report.document.flows[0].timeouts > 0, "{set:?}");
    }
}

#[test]
fn what_a_node_refuses_is_not_lost_on_the_way() {
    // Retransmissions that were not needed: their Data come twice, and the second is unsolicited.
    let set = ["scheme.fixed.window=300", "link.alice-bob.queue=1000 packets", "link.alice-bob.rate=1 Mb/s"];
    let report = run(&scenario("examples/minimal", &set), &Setup::default());
    let refused = report.drops_by_reason.iter().map(|(_, count)| count).sum::<u64>();
    assert!(refused > 0, "{:?}", report.drops_by_reason);
    assert_eq!(report.document.flows[0].lost, 0);
    assert!(report.document.links.iter().all(|link| link.drops == 0));
}

#[test]
fn what_a_link_loses_counts_for_the_link_and_for_the_flow() {
    let report = run(&scenario("examples/minimal", &["link.alice-bob.loss=0.1"]), &Setup::default());
    let [there, back] = [0, 1].map(|index| report.document.links[index].drops);
    assert!(there > 0 && back > 0);
    assert_eq!(report.document.flows[0].lost, back);
}
