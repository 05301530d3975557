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
