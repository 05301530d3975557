//! Failures and recoveries of links and nodes, producers that move, and changes of next hops.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use weir_experiment::Setup;
use weir_measure::Report;
use weir_scenario::Scenario;
use weir_schemes::SCHEMES;

use crate::common::{goodput, measuring, parse, run, run_checking_wire, world};

/// C - R, and P behind R over the short side R2 or the long side R3 - R4. Q is behind R4. `rest` has the
/// events.
fn ring(scheme: &str, rest: &str) -> Scenario {
    let text = format!(
        "title = \"a ring\"\nsource = \"assumed: a test\"\nduration = \"20 s\"\n[scheme]\ndefault = \"{scheme}\"\n\
         [[node]]\nname = [\"C\", \"R\", \"R2\", \"R3\", \"R4\", \"P\", \"Q\"]\n\
         [defaults.link]\nrate = \"2 Mb/s\"\ndelay = \"5 ms\"\n\
         [[link]]\nbetween = [\"C-R\", \"R-R2\", \"R2-P\", \"R-R3\", \"R3-R4\", \"R4-P\", \"R4-Q\"]\n\
         [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/a\"\n{rest}"
    );
    parse("ring", &text, &[])
}

fn event(at: f64, what: &str, then: &str) -> String {
    format!("[[event]]\nat = \"{at} s\"\n{what}\n{then}\n")
}

const CONVERGE: &str = "[routing]\nconverge = \"200 ms\"\n";

fn of_windows(report: &Report) -> Vec<f64> {
    report.document.windows.iter().map(|window| goodput(window, "/a") / 1e6).collect()
}

#[test]
fn every_scheme_goes_on_when_nodes_fail_and_return_links_flap_and_the_producer_moves() {
    let happens = [
        event(4.0, "node = \"R2\"", "up = false"),
        event(8.0, "node = \"R2\"", "up = true"),
        event(12.0, "flow = \"f\"", "producer = \"Q\""),
        // A failure shorter than the reaction time of routing, and another one.
        event(15.0, "link = \"R-R3\"", "up = false"),
        event(15.1, "link = \"R-R3\"", "up = true"),
        event(15.2, "link = \"R-R3\"", "up = false"),
        event(15.3, "link = \"R-R3\"", "up = true"),
    ];
    let rest = CONVERGE.to_owned() + &happens.concat();
    for scheme in SCHEMES {
        let scenario = ring(scheme.name, &rest);
        let report =
            run_checking_wire(&scenario, &measuring(&[(2, 4), (6, 8), (10, 12), (14, 15), (18, 20)]));
        let rates = of_windows(&report);
        // Consumers with a timeout of at least 200 ms and without probes recover slowly.
        assert!(rates.iter().all(|rate| *rate > 0.5 * rates[0] && *rate > 0.5), "{}: {rates:?}", scheme.name);
    }
}

#[test]
fn next_hops_are_those_of_the_network_as_it_was_before() {
    // The old routes stay for 2 s: nothing comes until then, neither after the failure nor from the new
    // producer.
    let rest = "[routing]\nconverge = \"2 s\"\n".to_owned()
        + &event(4.0, "link = \"R2-P\"", "up = false")
        + &event(10.0, "flow = \"f\"", "producer = \"Q\"");
    let windows = measuring(&[(4, 5), (5, 6), (7, 10), (11, 12), (13, 20)]);
    let rates = of_windows(&run(&ring("cubic", &rest), &windows));
    assert!(rates[1] == 0.0 && rates[3] == 0.0, "{rates:?}");
    assert!(rates[2] > 1.5 && rates[4] > 1.5, "{rates:?}");
    // Without routing nothing ever comes by another path.
    let stays = event(4.0, "link = \"R2-P\"", "up = false");
    assert_eq!(of_windows(&run(&ring("cubic", &stays), &measuring(&[(6, 20)]))), [0.0]);
}

#[test]
fn a_network_that_falls_apart_comes_together_again() {
    // The first node of the path: no route is left, and later one comes back. The same for the consumer's own
    // node.
    for node in ["R", "C", "P"] {
        for routing in [CONVERGE, ""] {
            let what = format!("node = \"{node}\"");
            let rest =
                routing.to_owned() + &event(4.0, &what, "up = false") + &event(8.0, &what, "up = true");
            for scheme in ["sluice", "qsccp", "cubic", "fixed"] {
                let report = run(&ring(scheme, &rest), &measuring(&[(2, 4), (5, 8), (14, 20)]));
                let rates = of_windows(&report);
                assert!(rates[1] == 0.0 && rates[2] > 0.8 * rates[0], "{node} {routing} {scheme} {rates:?}");
            }
        }
    }
}

#[test]
fn a_node_that_fails_loses_its_store_and_keeps_no_packet() {
    // A second consumer requests the same a second later. R's store answers it, unless R has failed
    // meanwhile.
    let flows = "[[flow]]\nname = \"g\"\nconsumer = \"R3\"\nproducer = \"P\"\nprefix = \"/a\"\nstart = \"8 s\"\namount = 50\n";
    let at_r = |fails: &str| {
        let rest = format!(
            "{flows}{fails}[[route]]\nprefix = \"/a\"\nhops = [\"C->R\", \"R->R2\", \"R3->R\", \"R2->P\"]\n"
        );
        let scenario = parse("ring", &text_with_store(&rest), &[]);
        let mut world = world(crate::common::experiment(&scenario, &Setup::default()));
        world.run(&mut |_| ()).unwrap();
        let in_use = world.packets_in_use();
        let report = world.finish().report;
        let link = report.document.links.iter().find(|link| link.from == "P" && link.to == "R2");
        (in_use, link.unwrap().utilisation)
    };
    let (_, with_store) = at_r("");
    let fails = event(6.0, "node = \"R\"", "up = false") + &event(6.5, "node = \"R\"", "up = true");
    let (in_use, after_failure) = at_r(&fails);
    // 60 and 50 packets, instead of 60.
    assert!((after_failure / with_store - 110.0 / 60.0).abs() < 0.01, "{with_store} {after_failure}");
    // The 50 packets are in the new store, and nothing is left of the old one.
    assert_eq!(in_use, 50);
}

fn text_with_store(rest: &str) -> String {
    format!(
        "title = \"a ring\"\nsource = \"assumed: a test\"\nduration = \"12 s\"\n[scheme]\ndefault = \"fixed\"\n\
         [[node]]\nname = [\"C\", \"R2\", \"R3\", \"P\"]\n[[node]]\nname = \"R\"\ncache = 1000\n\
         [defaults.link]\nrate = \"2 Mb/s\"\ndelay = \"5 ms\"\n[[link]]\nbetween = [\"C-R\", \"R-R2\", \"R2-P\", \"R-R3\"]\n\
         [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/a\"\namount = 60\n{rest}"
    )
}

#[test]
fn a_failed_station_of_a_medium_returns() {
    let text = "title = \"wifi\"\nsource = \"assumed: a test\"\nduration = \"10 s\"\n[scheme]\ndefault = \"sluice\"\n\
         [[node]]\nname = [\"C\", \"AP\", \"P\"]\n[[medium]]\nname = \"air\"\nstandard = \"802.11a\"\nstations = [\"AP\", \"C\"]\n\
         rate = \"24 Mb/s\"\n[[link]]\nends = [\"AP\", \"P\"]\nrate = \"10 Mb/s\"\ndelay = \"5 ms\"\n\
         [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/a\"\n"
        .to_owned()
        + CONVERGE
        + &event(2.0, "node = \"AP\"", "up = false")
        + &event(4.0, "node = \"AP\"", "up = true");
    let report = run(&parse("wifi", &text, &[]), &measuring(&[(1, 2), (3, 4), (8, 10)]));
    let changes: Vec<_> = report.document.changes.iter().map(|row| (row.at_s, row.what.as_str())).collect();
    assert_eq!(changes, [(2.0, "AP fails"), (4.0, "AP works again")]);
    let rates = of_windows(&report);
    assert!(rates[1] == 0.0 && rates[2] > 0.8 * rates[0], "{rates:?}");
}

#[test]
fn two_links_between_the_same_nodes_are_two_ways() {
    let text = "title = \"two links\"\nsource = \"assumed: a test\"\nduration = \"12 s\"\n[scheme]\ndefault = \"qsccp\"\n\
         [[node]]\nname = [\"A\", \"B\"]\n[defaults.link]\nrate = \"2 Mb/s\"\ndelay = \"5 ms\"\n\
         [[link]]\nends = [\"A\", \"B\"]\n[[link]]\nends = [\"B\", \"A\"]\nname = \"upper\"\n\
         [[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/a\"\n[routing]\npolicy = \"multipath\"\n"
        .to_owned()
        + &event(6.0, "link = \"A-B:upper\"", "up = false");
    let report = run(&parse("links", &text, &[]), &measuring(&[(3, 6), (9, 12)]));
    let rates = of_windows(&report);
    assert!(rates[0] > 3.3 && (1.6..2.0).contains(&rates[1]), "{rates:?}");
    let names: Vec<String> =
        report.document.links.iter().map(|link| link.from.clone() + "->" + &link.end()).collect();
    assert_eq!(names, ["A->B", "B->A", "B->A:upper", "A->B:upper"]);
    assert_eq!(report.document.changes[0].what, "B–A:upper fails");
}

/// The counters of its stores continue, and its pending Interests are gone.
#[test]
fn a_node_with_a_store_fails_while_requests_come_and_counts_on_afterwards() {
    let happens = event(4.0, "node = \"R\"", "up = false") + &event(6.0, "node = \"R\"", "up = true");
    let store = "[[node]]\nname = \"R\"\ncache = 50\n";
    let text = format!(
        "title = \"a store\"\nduration = \"10 s\"\n[scheme]\ndefault = \"fixed\"\n[[node]]\nname = [\"C\", \"P\"]\n{store}\
         [defaults.link]\nrate = \"2 Mb/s\"\ndelay = \"5 ms\"\n[[link]]\nbetween = [\"C-R\", \"R-P\"]\n\
         [[flow]]\nname = \"web\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/web\"\n\
         arrivals = \"every 100 ms\"\namount = 5\nobjects = 20\n{happens}"
    );
    let setup = Setup { with_series: true, ..measuring(&[(0, 4), (5, 6), (6, 10)]) };
    let document = run(&parse("a store", &text, &[]), &setup).document;
    let at = |window: usize| document.windows[window].nodes.iter().find(|node| node.node == "R").unwrap();
    let whole = document.nodes.iter().find(|node| node.node == "R").unwrap();
    assert_eq!((at(1).cache_hits, at(1).pit_max, at(1).pit_mean), (0, 0, Some(0.0)));
    assert!(at(0).cache_hits > 0 && at(2).cache_hits > 0);
    assert!(whole.cache_hits >= at(0).cache_hits + at(2).cache_hits, "{whole:?}");
}

/// Its applications continue, and its old PIT entries must not free their packets again when they expire.
#[test]
fn a_consumers_node_that_fails_keeps_no_packet_and_frees_none_twice() {
    for duplex in ["full", "half"] {
        crate::common::in_parallel(SCHEMES, |scheme| {
            let fails = event(3.0, "node = \"C\"", "up = false");
            let text = format!(
                "title = \"a failed consumer\"\nduration = \"12 s\"\n[scheme]\ndefault = \"{}\"\n[[node]]\nname = [\"C\", \"R\", \"P\"]\n\
                 [defaults.link]\nrate = \"2 Mb/s\"\ndelay = \"5 ms\"\nduplex = \"{duplex}\"\n[[link]]\nbetween = [\"C-R\", \"R-P\"]\n\
                 [[flow]]\nname = \"f\"\nconsumer = \"C\"\nproducer = \"P\"\nprefix = \"/a\"\n{fails}",
                scheme.name
            );
            let scenario = parse("a failed consumer", &text, &[]);
            let mut world = world(crate::common::experiment(&scenario, &Setup::default()));
            world.run(&mut |_| ()).unwrap();
            assert_eq!(world.packets_in_use(), 0, "{}, {duplex}", scheme.name);
        });
    }
}
