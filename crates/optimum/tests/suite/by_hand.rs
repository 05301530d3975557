//! Networks whose optimum is known by hand or from the literature.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common::{
    apart, assert_near, at_target, built_in, flow, interest_ratio, mbps, network, optimum, policy, rates,
};
use weir_core::seam::SharingPolicy;
use weir_core::{Bytes, Rate, Span};
use weir_medium::{Saturation, phy};
use weir_optimum::{Copies, Held, Objective, Options, Theory, steady};
use weir_scenario::{FlowId, NodeId, Scenario};

const LINK_FAIR: Objective = Objective::LinkFair;
const ALL: [Objective; 4] =
    [Objective::LinkFair, Objective::MaxMin, Objective::Proportional, Objective::MaxFlow];
/// Interior point methods end near the optimum, not at it; even more so if there is little to gain.
const SOLVER: f64 = 2e-5;

fn classes(rates: &[f64]) -> Vec<f64> {
    rates.chunks(10).map(|class| class.iter().sum()).collect()
}

#[test]
fn the_dumbbell_of_qsccp() {
    // 0.99 · 10 Mb/s, of which EF requests 1; the rest is divided 3:2:1. QSCCP, section V-B.
    let expected = [1.0, 4.45, 8.9 / 3.0, 8.9 / 6.0];
    let scenario = built_in("qsccp/dumbbell", &[]);
    for (objective, tolerance) in
        [(LINK_FAIR, 1e-9), (Objective::MaxMin, SOLVER), (Objective::Proportional, 10.0 * SOLVER)]
    {
        let found = mbps(&at_target(&scenario, objective, 20, 120));
        assert_near(&classes(&found), &expected, tolerance);
    }
    let found = at_target(&scenario, LINK_FAIR, 20, 120);
    assert_eq!(found.utilisation, 0.99);
    assert_eq!(found.flows[0].held, [(Held::BySource, 1.0)]);
    let bottleneck =
        scenario.link_between(scenario.node("R3").unwrap(), scenario.node("R2").unwrap()).unwrap();
    assert_eq!(found.flows[39].held, [(Held::ByLink(bottleneck), 1.0)]);
    let link = found.links.iter().find(|link| link.link == bottleneck).unwrap();
    let shares: Vec<_> = link.shares.iter().map(|share| (share.class.name(), share.bps.round())).collect();
    // The flows of EF request less than the part of δ that one of them could have.
    assert_eq!(shares[1..], [("AF2", 445_000.0), ("AF1", 296_667.0), ("BE", 148_333.0)]);
    assert_eq!(shares[0], ("EF", (0.3 * 9.9e6 - 0.9e6)));
    assert_eq!((link.binding, (link.data_bps / 9.9e6 * 1e6).round()), (1.0, 1e6));
}

#[test]
fn the_tree_of_qsccp_as_its_flows_come_and_go() {
    // Issue: 9.9; 5.94/3.96; 4.95/3.3/1.65; 6.6/3.3; 9.9 Mb/s.
    let scenario = built_in("qsccp/tree", &[]);
    let windows = [(0, 30), (30, 60), (60, 90), (90, 120), (120, 150)];
    let expected = [[9.9, 0.0, 0.0], [5.94, 3.96, 0.0], [4.95, 3.3, 1.65], [0.0, 6.6, 3.3], [0.0, 0.0, 9.9]];
    for ((from, to), expected) in windows.into_iter().zip(expected) {
        assert_near(&mbps(&at_target(&scenario, LINK_FAIR, from, to)), &expected, 1e-9);
    }
    // Over several of them it is the mean, weighted by time.
    let mean = mbps(&at_target(&scenario, LINK_FAIR, 20, 60));
    assert_near(&mean, &[(9.9 + 3.0 * 5.94) / 4.0, 0.75 * 3.96, 0.0], 1e-9);
    assert_eq!(at_target(&scenario, LINK_FAIR, 20, 60).pieces, 2);
}

#[test]
fn the_diamonds_of_qsccp_bring_14_mbps() {
    for name in ["qsccp/diamond-bandwidth", "qsccp/diamond-latency"] {
        let scenario = built_in(name, &[]);
        for (from, to, n) in [(0, 80, 1), (80, 160, 2), (160, 240, 3)] {
            let mut expected = [0.0; 3];
            expected[..n].fill(0.99 * 14.0 / n as f64);
            assert_near(&mbps(&at_target(&scenario, LINK_FAIR, from, to)), &expected, 1e-9);
            assert_near(&mbps(&at_target(&scenario, Objective::MaxMin, from, to)), &expected, SOLVER);
        }
        // An unresponsive flow gets its share, and no more.
        let greedy = at_target(&scenario, LINK_FAIR, 240, 320);
        assert_near(&mbps(&greedy), &[4.62; 3], 1e-9);
        assert!(
            greedy.flows.iter().all(|flow| (flow.alone_bps - 13.86e6).abs() < 1.0 || flow.alone_bps == 10e6)
        );
    }
}

#[test]
fn consumers_of_one_prefix_share_each_copy() {
    let scenario = built_in("qsccp/cache", &[]);
    for objective in ALL {
        assert_near(&mbps(&at_target(&scenario, objective, 10, 20)), &[9.9, 9.9], SOLVER);
    }
    // The same holds for consumers on one node; the slower one takes what it can.
    let text = flow("A", "P", "/a", "BE", "")
        + &flow("B", "P", "/a", "BE", "")
        + "[[flow]]\nname = \"C\"\n\
        consumer = \"A\"\nproducer = \"P\"\nprefix = \"/a\"\nsource_rate = \"2 Mb/s\"\n";
    let scenario = network(&["A-R 20", "B-R 4", "R-P 10"], &text);
    for objective in ALL {
        assert_near(&rates(&scenario, objective), &[10.0, 4.0, 2.0], SOLVER);
    }
    let found = optimum(&scenario, LINK_FAIR, 0, 10);
    assert_near(&[found.links[5].data_bps], &[10e6], 1e-9);
}

#[test]
fn where_no_copy_is_shared_each_consumer_has_its_own_part_of_a_link() {
    // A and B fetch /a and C fetches /b over the same 12 Mb/s: halves if A and B share, else thirds.
    let flows = |more: &str| {
        flow("A", "P", "/a", "BE", more)
            + &flow("B", "P", "/a", "BE", more)
            + &flow("C", "P", "/b", "BE", more)
    };
    let links = |b: &'static str| ["A-R 20", b, "C-R 20", "R-P 12"];
    let scenario = network(&links("B-R 20"), &flows(""));
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    assert!(theory.may_share());
    for objective in [LINK_FAIR, Objective::MaxMin, Objective::Proportional] {
        assert_near(&mbps(&apart(&scenario, objective, 0, 10)), &[4.0; 3], 10.0 * SOLVER);
    }
    assert_near(&rates(&scenario, LINK_FAIR), &[6.0; 3], 1e-9);
    let found = apart(&scenario, LINK_FAIR, 0, 10);
    let link = scenario.link_between(scenario.node("P").unwrap(), scenario.node("R").unwrap()).unwrap();
    let data = found.links.iter().find(|known| known.link == link).unwrap().data_bps;
    assert_near(&[data / 1e6], &[12.0], 1e-9);
    // The others get what B's own link of 2 Mb/s leaves. If A fetches B's Data too, nobody gets it.
    let scenario = network(&links("B-R 2"), &flows(""));
    assert_near(&rates(&scenario, LINK_FAIR), &[6.0, 2.0, 6.0], 1e-9);
    assert_near(&mbps(&apart(&scenario, LINK_FAIR, 0, 10)), &[5.0, 2.0, 5.0], 1e-9);
    // Downloads of the same length take longer by the same factor.
    let scenario = network(&links("B-R 20"), &flows("amount = 1000"));
    let times = |copies| {
        let options = Options { copies, ..Options::default() };
        let theory = Theory::new(&scenario, &policy(&scenario), &options).unwrap();
        let times = theory.completions().unwrap().times;
        times.into_iter().map(|time| time.unwrap().as_secs_f64()).collect::<Vec<_>>()
    };
    let shared = times(Copies::Shared);
    assert_near(&times(Copies::Apart), &shared.iter().map(|time| 1.5 * time).collect::<Vec<_>>(), 1e-6);
}

#[test]
fn where_consumers_have_nothing_to_share_both_bounds_are_equal() {
    let flows =
        flow("A", "P", "/a", "BE", "") + &flow("B", "P", "/a", "BE", "") + &flow("B", "P", "/b", "BE", "");
    // They have separate links, or the common link is wide enough for both.
    for (links, may_share) in [(&["A-P 6", "B-P 4"][..], false), (&["A-R 6", "B-R 4", "R-P 20"], true)] {
        let scenario = network(links, &flows);
        let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
        assert_eq!(theory.may_share(), may_share);
        for objective in [LINK_FAIR, Objective::MaxMin] {
            let shared = optimum(&scenario, objective, 0, 10);
            assert_near(&mbps(&shared), &[6.0, 2.0, 2.0], SOLVER);
            assert_near(&mbps(&apart(&scenario, objective, 0, 10)), &mbps(&shared), SOLVER);
        }
    }
}

#[test]
fn the_example_of_bertsekas_and_gallager() {
    // Data Networks, section 6.5.2: links of 1. Sessions 2, 3 and 5 share one link, 1 and 3 another, and 4
    // has one alone. 2, 3 and 5 get 1/3, then 1 gets 2/3, then 4 gets 1.
    let of = |consumer: &str, prefix: &str| flow(consumer, "E", prefix, "BE", "");
    let text = of("C", "/1")
        + &of("B", "/3")
        + &of("D", "/4")
        + &flow("B", "C", "/2", "BE", "")
        + &flow("B", "C", "/5", "BE", "");
    let scenario = network(&["B-C 1", "C-E 1", "D-E 1"], &text);
    let expected = [2.0 / 3.0, 1.0 / 3.0, 1.0, 1.0 / 3.0, 1.0 / 3.0];
    assert_near(&rates(&scenario, LINK_FAIR), &expected, 1e-9);
    assert_near(&rates(&scenario, Objective::MaxMin), &expected, SOLVER);
}

#[test]
fn bottlenecks_that_depend_on_one_another_are_found_in_their_order() {
    // Flow i crosses links i and i + 1: 1 + 1, 2, 4, 8 Mb/s less the rate of the previous flow.
    let of = |i: usize| flow(&format!("N{i}"), &format!("N{}", i + 2), &format!("/{i}"), "BE", "");
    let text = flow("N0", "N1", "/x", "BE", "") + &of(0) + &of(1) + &of(2);
    let scenario = network(&["N0-N1 2", "N1-N2 3", "N2-N3 6", "N3-N4 20"], &text);
    // Link 0: 1 each. Link 1: 3 − 1 = 2. Link 2: 6 − 2 = 4.
    assert_near(&rates(&scenario, LINK_FAIR), &[1.0, 1.0, 2.0, 4.0], 1e-9);
    assert_near(&rates(&scenario, Objective::MaxMin), &[1.0, 1.0, 2.0, 4.0], SOLVER);
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let optimum = optimum(&scenario, LINK_FAIR, 0, 10);
    assert!(theory.bottlenecks(&optimum, 0).unwrap().iter().all(|bottleneck| bottleneck.gains.is_none()));
    let found = theory.bottlenecks(&optimum, 9).unwrap();
    let names: Vec<_> = found.iter().map(|b| b.link.link.index()).collect();
    assert_eq!(names, [0, 1, 2]);
    let flows: Vec<Vec<_>> =
        found.iter().map(|b| b.flows.iter().map(|flow| flow.index()).collect()).collect();
    assert_eq!(flows, [vec![0, 1], vec![2], vec![3]]);
    // The flows on the first link gain half each. The second link loses this, and the third gains it again.
    let gains: Vec<Vec<f64>> = found.iter().map(|b| per_flow(b.gains.as_ref().unwrap(), 4)).collect();
    for (gains, expected) in
        gains.iter().zip([[0.5, 0.5, -0.5, 0.5], [0.0, 0.0, 1.0, -1.0], [0.0, 0.0, 0.0, 1.0]])
    {
        assert_near(gains, &expected, 1e-6);
    }
}

fn per_flow(gains: &[(FlowId, f64)], n: usize) -> Vec<f64> {
    let mut all = vec![0.0; n];
    gains.iter().for_each(|(flow, gain)| all[flow.index()] = *gain);
    all
}

#[test]
fn the_parking_lot_under_each_objective() {
    // A flow over three links of 9 Mb/s, and one over each: Kelly's example.
    let mut text = flow("N0", "N3", "/long", "BE", "");
    for i in 0..3 {
        text += &flow(&format!("N{i}"), &format!("N{}", i + 1), &format!("/{i}"), "BE", "");
    }
    let scenario = network(&["N0-N1 9", "N1-N2 9", "N2-N3 9"], &text);
    assert_near(&rates(&scenario, LINK_FAIR), &[4.5; 4], 1e-9);
    assert_near(&rates(&scenario, Objective::MaxMin), &[4.5; 4], SOLVER);
    assert_near(&rates(&scenario, Objective::Proportional), &[2.25, 6.75, 6.75, 6.75], 10.0 * SOLVER);
    assert_near(&rates(&scenario, Objective::MaxFlow), &[0.0, 9.0, 9.0, 9.0], 10.0 * SOLVER);
}

#[test]
fn a_stream_counts_once_at_a_link_but_the_whole_network_knows_better() {
    // A has its own path besides the one that it shares with B.
    let routes =
        "[routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/\"\nhops = [\"A->R|P\", \"B->R\", \"R->P\"]\n";
    let text = routes.to_owned() + &flow("A", "P", "/a", "BE", "") + &flow("B", "P", "/b", "BE", "");
    let scenario = network(&["A-R 100", "B-R 100", "R-P 10", "A-P 4"], &text);
    assert_near(&rates(&scenario, LINK_FAIR), &[9.0, 5.0], 1e-6);
    assert_near(&rates(&scenario, Objective::MaxMin), &[7.0, 7.0], SOLVER);
    assert_near(&rates(&scenario, Objective::Proportional), &[7.0, 7.0], 10.0 * SOLVER);
    let found = optimum(&scenario, LINK_FAIR, 0, 10);
    assert_near(&[found.flows[0].alone_bps, found.flows[1].alone_bps], &[14e6, 10e6], 1e-9);
    let held: Vec<_> = found.flows[0].held.iter().map(|held| held.0).collect();
    let link = |a: &str, b: &str| {
        let node = |name: &str| -> NodeId { scenario.node(name).unwrap() };
        Held::ByLink(scenario.link_between(node(a), node(b)).unwrap())
    };
    assert!(held.contains(&link("P", "R")) && held.contains(&link("P", "A")) && held.len() == 2, "{held:?}");
}

#[test]
fn delay_sensitive_classes_come_first_up_to_their_limits() {
    let of = |class: &str, n: usize| flow("A", "B", &format!("/{class}{n}"), class, "");
    let text = of("CS7", 0) + &of("CS6", 0) + &of("EF", 0) + &of("EF", 1) + &of("AF4", 0) + &of("BE", 0);
    let scenario = network(&["A-B 10"], &text);
    let expected = [2.0, 2.0, 1.5, 1.5, 2.5, 0.5];
    assert_near(&rates(&scenario, LINK_FAIR), &expected, 1e-9);
    assert_near(&rates(&scenario, Objective::MaxMin), &expected, 10.0 * SOLVER);
}

#[test]
fn weights_and_limits_are_those_that_the_scenario_gives() {
    let of = |class: &str, prefix: &str| flow("A", "B", prefix, class, "");
    let said = "[scheme.qsccp]\nweights.AF2 = 6\ndelta.EF = 0.1\n\
        [scheme.qsccp.flow_weights]\n\"/x\" = 3\n[scheme.qsccp.flow_limits]\n\"/x/l\" = \"100 kb/s\"\n";
    let text = said.to_owned()
        + &of("EF", "/e")
        + &of("AF2", "/a")
        + &of("BE", "/b")
        + &of("BE", "/x/h")
        + &of("BE", "/x/l");
    let scenario = network(&["A-B 10"], &text);
    // 10 Mb/s: 1 of EF; 9 divided 6:1; of BE's 9/7 less the limit, 1:3.
    let be = 9.0 / 7.0 - 0.1;
    assert_near(&rates(&scenario, LINK_FAIR), &[1.0, 54.0 / 7.0, be / 4.0, 0.75 * be, 0.1], 1e-9);
}

#[test]
fn what_one_does_not_want_the_others_have() {
    let of = |prefix: &str, class: &str, rate: &str| {
        flow("A", "B", prefix, class, &format!("source_rate = \"{rate} Mb/s\""))
    };
    let text = of("/1", "AF2", "1")
        + &of("/2", "AF2", "3")
        + &flow("A", "B", "/3", "AF2", "")
        + &flow("A", "B", "/4", "BE", "")
        + &of("/5", "AF1", "0.5");
    let scenario = network(&["A-B 16.5"], &text);
    // AF1 leaves 16, divided 3:1. Of AF2's 12, flows want 1 and 3.
    assert_near(&rates(&scenario, LINK_FAIR), &[1.0, 3.0, 8.0, 4.0, 0.5], 1e-9);
    let held = |flow: usize| optimum(&scenario, LINK_FAIR, 0, 10).flows[flow].held.clone();
    assert_eq!(held(0), [(Held::BySource, 1.0)]);
    assert!(matches!(held(2)[..], [(Held::ByLink(_), _)]));
}

#[test]
fn interests_take_their_part_of_the_links_that_they_cross() {
    // Two flows in opposite directions: x + r·x = 10 Mb/s.
    let both = flow("A", "B", "/a", "BE", "") + &flow("B", "A", "/b", "BE", "");
    for objective in ALL {
        let found = optimum(&network(&["A-B 10"], &both), objective, 0, 10);
        let ratio = interest_ratio(&found);
        assert!((0.02..0.06).contains(&ratio), "{ratio}");
        assert_near(&mbps(&found), &[10.0 / (1.0 + ratio); 2], SOLVER);
    }
    // 1000 Mb/s of Data would need more Interests than 1 Mb/s carries: two flows share the Interests.
    let text = flow("A", "B", "/a", "BE", "") + &flow("A", "B", "/b", "BE", "");
    for objective in [LINK_FAIR, Objective::MaxMin, Objective::Proportional] {
        let scenario = network(&["A-B 1/1000"], &text);
        let found = optimum(&scenario, objective, 0, 10);
        let ratio = interest_ratio(&found);
        assert_near(&mbps(&found), &[0.5 / ratio; 2], 10.0 * SOLVER);
        let up = found.links[0].link;
        assert_eq!(found.flows[0].held, [(Held::ByLink(up), 1.0)], "{objective}");
    }
}

#[test]
fn interests_and_data_that_fill_a_link_have_half_of_it_each() {
    let text = flow("A", "B", "/a", "BE", "") + &flow("B", "A", "/b", "BE", "");
    for (objective, tolerance) in [(LINK_FAIR, 1e-9), (Objective::MaxMin, 1e-3)] {
        let found = optimum(&network(&["A-B 1/1000"], &text), objective, 0, 10);
        let alone = optimum(&network(&["A-B 1/1000"], &flow("A", "B", "/a", "BE", "")), objective, 0, 10);
        assert_near(&mbps(&found), &[0.5 / interest_ratio(&alone), 0.5], tolerance);
        // Data that want less leave the rest to Interests.
        let text = flow("A", "B", "/a", "BE", "") + &flow("B", "A", "/b", "BE", "source_rate = \"200 kb/s\"");
        let found = optimum(&network(&["A-B 1/1000"], &text), objective, 0, 10);
        assert_near(&mbps(&found), &[0.8 / interest_ratio(&alone), 0.2], tolerance);
    }
}

#[test]
fn a_flow_is_not_held_down_because_its_interests_cross_a_full_link() {
    // Two flows fill A-B in one direction. The Interests of a third flow use this direction, and its Data the
    // other.
    let text =
        flow("A", "B", "/1", "BE", "") + &flow("A", "B", "/2", "BE", "") + &flow("B", "A", "/3", "BE", "");
    for (objective, tolerance) in [(LINK_FAIR, 1e-9), (Objective::MaxMin, 3e-4)] {
        let found = optimum(&network(&["A-B 10"], &text), objective, 0, 10);
        let r = interest_ratio(&found);
        // 2x + r·y = 10, y + 2r·x = 10.
        let (x, y) = (5.0 / (1.0 + r), 10.0 / (1.0 + r));
        assert_near(&mbps(&found), &[x, x, y], tolerance);
    }
}

#[test]
fn a_shared_medium_carries_what_saturated_stations_do() {
    let medium = "[[node]]\nname = \"N\"\n[[medium]]\nname = \"wifi\"\nstandard = \"802.11a\"\naccess_point = \"AP\"\nstations = [\"AP\", \
        \"N\"]\nrate = \"24 Mb/s\"\n";
    let down = medium.to_owned() + &flow("N", "R", "/a", "BE", "");
    let both = down.clone() + &flow("R", "N", "/b", "BE", "");
    let mostly_down = down.clone() + &flow("R", "N", "/b", "BE", "source_rate = \"1 Mb/s\"");
    for objective in ALL {
        let found = |text: &str| optimum(&network(&["AP-R 100"], text), objective, 0, 10);
        let alone = found(&down);
        // Two saturated stations (Bianchi): a Data, its Interest, and all their overhead.
        let data = 1024.0 * alone.flows[0].rate_bps / alone.flows[0].goodput_bps;
        let [data, interest] =
            [data, data * interest_ratio(&alone)].map(|size| Bytes::new(size.round() as u64));
        let rate = Rate::from_mbps(24);
        let saturation = Saturation::new(2, 0.0);
        let air = |packet| saturation.air_time(packet, rate, phy::frame_time(data, rate));
        let most = data.bits() as f64 / (air(data) + air(interest)) / 1e6;
        assert!((10.0..13.0).contains(&most), "{most}");
        assert_near(&mbps(&alone), &[most], SOLVER);
        if objective == Objective::MaxFlow {
            // Only the sum is determined.
            assert_near(&[mbps(&found(&both)).iter().sum()], &[most], SOLVER);
            continue;
        }
        assert_near(&mbps(&found(&both)), &[most / 2.0; 2], 10.0 * SOLVER);
        assert_near(&mbps(&found(&mostly_down)), &[most - 1.0, 1.0], 10.0 * SOLVER);
        let held = &found(&mostly_down).flows[0].held;
        assert!(matches!(held[..], [(Held::ByLink(link), _)] if link.link.index() == 1), "{held:?}");
    }
}

#[test]
fn events_change_what_follows() {
    let text = flow("A", "B", "/a", "BE", "")
        + &flow("A", "B", "/b", "BE", "start = \"2 s\"\nstop = \"8 s\"")
        + "[[event]]\nat = \"4 s\"\nlink = \"A-B\"\nrate = \"4 Mb/s\"\n\
           [[event]]\nat = \"6 s\"\nflow = \"paA\"\nsource_rate = \"1 Mb/s\"\n\
           [[event]]\nat = \"9 s\"\nlink = \"A-B\"\nup = false\n";
    let scenario = network(&["A-B 10"], &text);
    let found = |from, to| mbps(&optimum(&scenario, LINK_FAIR, from, to));
    assert_near(&found(0, 2), &[10.0, 0.0], 1e-9);
    assert_near(&found(2, 4), &[5.0, 5.0], 1e-9);
    assert_near(&found(4, 6), &[2.0, 2.0], 1e-9);
    assert_near(&found(6, 8), &[1.0, 3.0], 1e-9);
    assert_near(&found(8, 9), &[1.0, 0.0], 1e-9);
    assert_near(&found(9, 10), &[0.0, 0.0], 1e-9);
    assert_near(&found(0, 10), &[3.7, 2.0], 1e-9);
    let all = optimum(&scenario, LINK_FAIR, 0, 10);
    assert_eq!(all.pieces, 6);
    // The flow is limited by its link while it is elastic or the link is down.
    assert_near(&[all.flows[0].held[0].1, all.flows[0].held[1].1], &[0.7, 0.3], 1e-9);
    assert_near(&[all.links[1].rate_bps, all.links[1].binding], &[6e6, 0.9], 1e-9);
    for objective in ALL {
        assert_near(&mbps(&optimum(&scenario, objective, 9, 10)), &[0.0, 0.0], 1e-9);
    }
}

/// Returns how long a flow of this number of segments of 1024 B takes at 1 Mb/s.
fn seconds_at_1_mbps(scenario: &Scenario, segments: f64) -> f64 {
    let alone =
        steady(scenario, &policy(scenario), (Span::ZERO, Span::from_millis(1)), &Options::default()).unwrap();
    let data_per_content = alone.flows[0].rate_bps / alone.flows[0].goodput_bps;
    segments * 8.192e-3 * data_per_content
}

#[test]
fn flows_that_have_an_amount_are_done_when_it_is_fetched() {
    let text = flow("A", "B", "/1", "BE", "amount = 1000")
        + &flow("A", "B", "/2", "BE", "amount = 2000")
        + &flow("A", "B", "/3", "BE", "amount = 1000\nstart = \"9.5 s\"");
    let scenario = network(&["A-B 10"], &text);
    let second = seconds_at_1_mbps(&scenario, 1000.0);
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let done = theory.completions().unwrap().times;
    // Both have 5 Mb/s until the first is complete, then the second is alone; the third has too little time.
    let found: Vec<f64> = done[..2].iter().map(|done| done.unwrap().as_secs_f64()).collect();
    assert_near(&found, &[second / 5.0, second * 0.3], 1e-6);
    assert_eq!(done[2], None);
    // The same in windows: the amount over the window.
    let means = mbps(&optimum(&scenario, LINK_FAIR, 0, 9));
    assert_near(&means, &[second / 9.0, 2.0 * second / 9.0, 0.0], 1e-6);
    // An elastic flow takes over the rate of completed flows.
    let text = flow("A", "B", "/1", "BE", "amount = 1000") + &flow("A", "B", "/2", "BE", "");
    let means = rates(&network(&["A-B 10"], &text), LINK_FAIR);
    assert_near(&means, &[second / 10.0, 10.0 - second / 10.0], 1e-6);
}

#[test]
fn each_of_many_changes_counts_at_its_own_time() {
    // 400 flows start one after the other: the k-th runs for its own part of the run.
    let text = "[[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"B\"\nprefix = \"/f{}\"\ncount = 400\n\
        start_spread = \"10 s\"\nsource_rate = \"10 kb/s\"\n";
    let scenario = network(&["A-B 10"], text);
    let found = optimum(&scenario, LINK_FAIR, 0, 10);
    let expected = scenario.flows.iter().map(|flow| 0.01 * (10.0 - flow.start.as_secs_f64()) / 10.0);
    assert_near(&mbps(&found), &expected.collect::<Vec<_>>(), 1e-7);
    assert_eq!(found.pieces, 400);
}

#[test]
fn goodput_is_the_content_of_the_data() {
    let scenario = network(&["A-B 10"], &flow("A", "B", "/a", "BE", "payload = \"1000 B\""));
    let found = optimum(&scenario, LINK_FAIR, 0, 10);
    // 1000 B of content with a name, a digest and a header of some 80 B.
    let ratio = found.flows[0].goodput_bps / found.flows[0].rate_bps;
    assert!((0.91..0.94).contains(&ratio), "{ratio}");
}

#[test]
fn routes_follow_the_longest_prefix_and_a_circle_is_not_followed_twice() {
    let routes = "[routing]\npolicy = \"given\"\n[[route]]\nprefix = \"/\"\nhops = [\"A->R\", \"R->P\"]\n\
        [[route]]\nprefix = \"/far\"\nhops = [\"A->S\", \"S->A|P\"]\n";
    let text = routes.to_owned() + &flow("A", "P", "/near/x", "BE", "") + &flow("A", "P", "/far/x", "BE", "");
    let scenario = network(&["A-R 10", "R-P 3", "A-S 10", "S-P 5"], &text);
    assert_near(&rates(&scenario, LINK_FAIR), &[3.0, 5.0], 1e-6);
}

#[test]
fn the_utilisation_is_the_one_given_or_the_scenarios_or_1() {
    let scenario = network(&["A-B 10"], &flow("A", "B", "/a", "BE", ""));
    let with = |utilisation| {
        let window = (Span::ZERO, Span::from_secs(10));
        steady(&scenario, &policy(&scenario), window, &Options { utilisation, ..Options::default() })
    };
    assert_eq!(with(None).unwrap().utilisation, 1.0);
    assert_near(&mbps(&with(Some(0.8)).unwrap()), &[8.0], 1e-9);
    for wrong in [0.0, -1.0, 1.01, f64::NAN] {
        let error = with(Some(wrong)).unwrap_err().to_string();
        assert!(error.contains("above 0 and at most 1"), "{error}");
    }
}

/// Gives node C of a network this part of all segments.
fn caching(mut scenario: Scenario, ratio: f64) -> Scenario {
    let node = scenario.node("C").unwrap();
    scenario.nodes[node.index()].cache_ratio = ratio;
    scenario
}

#[test]
fn behind_a_cache_of_ratio_k_a_link_carries_1_minus_k_of_a_flow() {
    // DPCCP, section VII-B: 10 Mb/s beyond the cache, 60 Mb/s before it.
    let line = || network(&["A-B 100", "B-C 60", "C-D 10"], &flow("A", "D", "/a", "BE", ""));
    for objective in ALL {
        for (ratio, expected) in
            [(0.0, 10.0), (0.2, 12.5), (0.4, 10.0 / 0.6), (0.6, 25.0), (0.8, 50.0), (1.0, 60.0)]
        {
            let scenario = caching(line(), ratio);
            assert_near(&rates(&scenario, objective), &[expected], SOLVER);
            let optimum = optimum(&scenario, objective, 0, 10);
            let data = |from, to| {
                let [from, to] = [from, to].map(|node| scenario.node(node).unwrap());
                let link = scenario.link_between(from, to).unwrap();
                optimum.links.iter().find(|known| known.link == link).unwrap().data_bps / 1e6
            };
            assert_near(&[data("C", "B"), data("D", "C")], &[expected, (1.0 - ratio) * expected], SOLVER);
        }
    }
}

#[test]
fn a_cache_changes_the_shares_of_all_flows_and_in_time() {
    let flows = flow("A", "D", "/a", "BE", "") + &flow("A", "D", "/b", "BE", "");
    let event = "[[event]]\nat = \"5 s\"\nnode = \"C\"\ncache_ratio = 0.9\n";
    let mut scenario = network(&["A-C 30", "C-D 10"], &(flows + event));
    let node = scenario.node("C").unwrap().index();
    scenario.nodes[node].cache_ratio_prefixes = vec!["/a".to_owned()];
    assert_near(&mbps(&optimum(&scenario, LINK_FAIR, 0, 5)), &[5.0, 5.0], 1e-9);
    // A tenth of /a comes by C-D. The shares of A-C are 15 each; /b cannot use its share.
    let then = mbps(&optimum(&scenario, LINK_FAIR, 5, 10));
    assert_near(&[then[0] + then[1], 0.1 * then[0] + then[1]], &[30.0, 10.0], 1e-6);
    scenario.nodes[node].cache_ratio = 0.5;
    assert_near(&mbps(&optimum(&scenario, LINK_FAIR, 0, 5)), &[10.0, 5.0], 1e-9);
}

#[test]
fn over_several_paths_a_cache_before_the_fork_counts_on_each() {
    let links = ["A-C 100", "C-U 6", "C-V 3", "U-D 100", "V-D 100"];
    let multipath = "[routing]\npolicy = \"multipath\"\n";
    let scenario = caching(network(&links, &(flow("A", "D", "/a", "BE", "") + multipath)), 0.7);
    for objective in ALL {
        assert_near(&rates(&scenario, objective), &[30.0], 1e-3);
    }
}

#[test]
fn where_interests_meet_that_have_and_have_not_passed_a_cache_no_optimum_is_known() {
    let flows = flow("A", "D", "/a", "BE", "") + &flow("B", "D", "/a", "BE", "");
    let scenario = caching(network(&["A-C 10", "C-B 10", "B-D 10"], &flows), 0.5);
    let error = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("node.C.cache_ratio") && error.contains("have passed this cache"), "{error}");
}

#[test]
fn what_cannot_be_computed_is_said() {
    let scenario = network(&["A-B 10"], &flow("A", "B", "/a", "BE", ""));
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    for (from, to) in [(5, 5), (6, 5), (0, 11)] {
        let error = theory.windows(&[(Span::from_secs(from), Span::from_secs(to))]).unwrap_err();
        assert!(error.to_string().contains("end by 10 s"), "{error}");
    }
    let minimal = built_in("examples/minimal", &["node.alice.cache_ratio=1"]);
    let error = Theory::new(&minimal, &policy(&minimal), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("--set node.alice.cache_ratio=1") && error.contains("own node"), "{error}");
    let (right, flow) = (SharingPolicy::default(), |value| vec![("/a".to_owned(), value)]);
    for wrong in [
        SharingPolicy { class_weights: [1.0, 1.0, 0.0, 1.0, 1.0], ..right.clone() },
        SharingPolicy { class_parts: [1.0, 1.0, 2.0], ..right.clone() },
        SharingPolicy { flow_weights: flow(f64::NAN), ..right.clone() },
        SharingPolicy { flow_limits: flow(-1.0), ..right },
    ] {
        let error = Theory::new(&scenario, &wrong, &Options::default()).unwrap_err().to_string();
        assert!(error.contains("above 0"), "{error}");
    }
}

#[test]
fn a_node_that_fails_carries_nothing_and_nothing_is_known_after_next_hops_change() {
    let text = flow("A", "D", "/a", "BE", "")
        + &flow("B", "D", "/b", "BE", "")
        + "[[event]]\nat = \"4 s\"\nnode = \"B\"\nup = false\n[[event]]\nat = \"6 s\"\nnode = \"B\"\nup = true\n";
    let links = ["A-B 4", "B-D 10", "A-C 3", "C-D 3"];
    let scenario = network(&links, &text);
    let found = |from, to| mbps(&optimum(&scenario, LINK_FAIR, from, to));
    assert_near(&found(0, 4), &[4.0, 6.0], 1e-9);
    assert_near(&found(4, 6), &[0.0, 0.0], 1e-9);
    assert_near(&found(5, 7), &[2.0, 3.0], 1e-9);
    let all = optimum(&scenario, LINK_FAIR, 0, 10);
    assert_near(&[all.links[2].rate_bps / 1e6, all.links[4].rate_bps / 1e6], &[8.0, 3.0], 1e-9);

    let scenario = network(&links, &(text + "[routing]\nconverge = \"500 ms\"\n"));
    let theory = Theory::new(&scenario, &policy(&scenario), &Options::default()).unwrap();
    let window = |from, to| theory.windows(&[(Span::from_millis(from), Span::from_millis(to))]);
    assert_near(&mbps(&window(3500, 4500).unwrap()[0]), &[2.0, 3.0], 1e-9);
    let said = window(4000, 4501).unwrap_err().to_string();
    assert!(said.starts_with("next hops change at 4.5 s"), "{said}");
    assert!(theory.completions().is_err());
}

#[test]
fn the_directions_of_a_half_duplex_link_share_its_time() {
    let half = "[defaults.link]\nduplex = \"half\"\n";
    let flows = flow("A", "B", "/a", "BE", "") + &flow("B", "A", "/b", "BE", "");
    let both = network(&["A-B 10"], &format!("{half}{flows}"));
    let found = optimum(&both, Objective::LinkFair, 0, 10);
    let [interest, data] = both.flows[0].packet_lengths().map(|size| size.as_u64() as f64);
    // Each Data and its Interest take their time once, in either direction.
    let each = 10e6 / 2.0 / (1.0 + interest / data);
    for flow in &found.flows {
        assert!((flow.rate_bps / each - 1.0).abs() < 1e-3, "{} is not {each}", flow.rate_bps);
    }
    let alone = network(&["A-B 10"], &format!("{half}{}", flow("A", "B", "/a", "BE", "")));
    let found = optimum(&alone, Objective::LinkFair, 0, 10);
    assert!((found.flows[0].rate_bps / (2.0 * each) - 1.0).abs() < 1e-3, "{}", found.flows[0].rate_bps);
    // During a failure of a second it carries nothing.
    let down = format!("{half}{flows}[[event]]\nat = \"0 s\"\nlink = \"A-B\"\nup = false\n");
    let found = optimum(&network(&["A-B 10"], &down), Objective::LinkFair, 0, 10);
    assert!(found.flows.iter().all(|flow| flow.rate_bps < 1.0));
}
