//! Both worlds use one protocol: every packet of a run equals its encoded and decoded form.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{experiment, scenario, world};
use weir_experiment::Setup;

#[test]
fn every_packet_of_the_dumbbell_goes_through_the_codec_unchanged() {
    for scheme in weir_schemes::SCHEMES.iter().map(|entry| entry.name) {
        let scenario =
            scenario("qsccp/dumbbell", &["duration=10 s", "window.steady.from=2 s", "window.steady.to=10 s"]);
        let setup = Setup { scheme: Some(scheme.to_owned()), ..Setup::default() };
        let mut world = world(experiment(&scenario, &setup)).checking_wire();
        world.run(&mut |_| ()).unwrap();
        let hops = world.packet_hops();
        let outcome = world.finish();
        assert_eq!(outcome.wire_checks, hops);
        assert!(hops > 100_000, "{scheme}: {hops}");
    }
}
