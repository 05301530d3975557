//! Every kind of experiment of the five papers can be written in the format.
use std::collections::{BTreeMap, BTreeSet};

use weir_core::tables::cs::CsPolicy;
use weir_core::units::{Bytes, Rate, Span};
use weir_packet::signal::ServiceClass;
use weir_scenario::{
    Bound, Event, Flow, FlowId, Link, LinkId, MediumId, Metric, NodeId, Override, ParamValue, QueueLimit,
    Route, Scenario, Software, Source, Stated, builtin, builtins,
};

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|o| Override::parse(o).unwrap()).collect();
    let head = "title = \"t\"\nscheme.default = \"qsccp\"\n";
    match Scenario::parse("t", "t.toml", &format!("{head}{text}"), &overrides) {
        Ok(scenario) => scenario,
        Err(e) => panic!("{e}"),
    }
}

fn built_in(name: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|o| Override::parse(o).unwrap()).collect();
    match Scenario::parse(name, name, builtin(name).unwrap(), &overrides) {
        Ok(scenario) => scenario,
        Err(e) => panic!("{e}"),
    }
}

fn dumbbell(overrides: &[&str]) -> Scenario {
    built_in("qsccp/dumbbell", overrides)
}

/// Returns the next hops of a node for a prefix, by name.
fn hops<'s>(s: &'s Scenario, node: &str, prefix: &str) -> Vec<&'s str> {
    let node = s.node(node).unwrap();
    let route = s.routes.iter().find(|r| r.node == node && *r.prefix == *prefix);
    route.map_or(Vec::new(), |r| r.next_hops.iter().map(|h| s.nodes[h.node.index()].name.as_str()).collect())
}

#[test]
fn the_dumbbell_is_that_of_the_paper() {
    let s = dumbbell(&[]);
    assert_eq!(
        (s.duration, s.scheme.as_str(), s.sample),
        (Span::from_secs(120), "qsccp", Span::from_millis(100))
    );
    let names: Vec<&str> = s.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names.join(" "), "C1 C2 C3 C4 R1 R2 R3 R4 P1 P2 P3 P4");
    assert_eq!(s.links.len(), 11);
    for link in &s.links {
        let (a, b) = (&s.nodes[link.a.index()].name, &s.nodes[link.b.index()].name);
        let mbps = if (a.as_str(), b.as_str()) == ("R2", "R3") { 10 } else { 100 };
        assert_eq!(link.rate, [Rate::from_mbps(mbps); 2], "{a}-{b}");
        assert_eq!(link.delay, [Span::from_millis(10); 2]);
        assert_eq!((link.queue, link.loss), (QueueLimit::Packets(20), 0.0));
    }
    assert_eq!(s.flows.len(), 40);
    for (i, flow) in s.flows.iter().enumerate() {
        let (group, index) = (i / 10, i % 10);
        let class = [ServiceClass::Ef, ServiceClass::Af2, ServiceClass::Af1, ServiceClass::Be][group];
        assert_eq!((flow.name.as_str(), flow.class), (class.name(), class));
        assert_eq!(flow.prefix, format!("/{}{index}", ["A", "B", "C", "D"][group]));
        assert_eq!((flow.consumer, &flow.producers[..]), (NodeId(group), &[NodeId(8 + group)][..]));
        let limited = Source::Limited(Rate::from_bps(100_000));
        assert_eq!(flow.source, if group == 0 { limited } else { Source::Elastic });
        assert_eq!((flow.start, flow.stop, flow.amount), (Span::ZERO, None, None));
        assert_eq!((flow.payload, flow.lifetime), (Bytes::new(1024), Span::from_secs(2)));
    }
    assert_eq!(s.groups(), ["EF", "AF2", "AF1", "BE"]);
    assert_eq!(hops(&s, "C1", "/A0"), ["R1"]);
    assert_eq!(hops(&s, "R2", "/D9"), ["R3"]);
    assert_eq!(hops(&s, "R4", "/B3"), ["P2"]);
    let params: Vec<String> =
        s.scheme_params("qsccp").iter().map(|p| format!("{}={}", p.key, p.value)).collect();
    assert_eq!(
        params.join(" "),
        "target_utilisation=0.99 period=100 ms virtual_queue=20 class_queue=200 quantum=16000 bucket=160000 \
         gamma=0.95 beta=0.8 initial_rate=100 kb/s weights.AF4=5 weights.AF3=4 weights.AF2=3 \
         weights.AF1=2 weights.BE=1 delta.CS7=0.2 delta.CS6=0.2 delta.EF=0.3"
    );
    let ef = &s.expectations[0];
    assert_eq!(ef.what, "rate of Data of class EF on R3->R2, 20 s to 120 s");
    assert_eq!(ef.metric, Metric::DataRate);
    assert_eq!(ef.stated, Stated::Value { bound: Bound::About, value: 1e6, tolerance: 0.05 });
    assert_eq!(ef.window, (Span::from_secs(20), Span::from_secs(120)));
    assert_eq!(ef.select.flows, (0..10).map(FlowId).collect::<Vec<_>>());
    let (from, to) = s.ends(ef.select.links[0]);
    assert_eq!((s.nodes[from.index()].name.as_str(), s.nodes[to.index()].name.as_str()), ("R3", "R2"));
}

#[test]
fn overrides_change_what_they_name_and_nothing_else() {
    let s = dumbbell(&[
        "link.R2-R3.rate=20Mb/s",
        "flow.EF.count=20",
        "scheme.qsccp.weights.AF2=4",
        "scheme.mircc.eta=0.9",
    ]);
    assert_eq!(s.links.iter().filter(|l| l.rate[0] == Rate::from_mbps(20)).count(), 1);
    assert_eq!(s.flows.iter().filter(|f| f.name == "EF").count(), 20);
    assert_eq!(s.flows[19].prefix, "/A19");
    let weight = s.scheme_params("qsccp").iter().find(|p| p.key == "weights.AF2").unwrap();
    assert_eq!(weight.value, ParamValue::Int(4));
    assert_eq!(weight.location.to_string(), "--set scheme.qsccp.weights.AF2=4");
    assert_eq!(s.scheme_params("mircc")[0].value, ParamValue::Float(0.9));
    assert_eq!(s.scheme_params("nobody"), []);
    let setting = s.settings.iter().find(|s| s.path == "link.R2-R3.rate").unwrap();
    assert_eq!((setting.value.as_str(), setting.source.as_deref()), ("20Mb/s", Some("--set")));
    let setting = s.settings.iter().find(|s| s.path == "link.R1-R2.rate").unwrap();
    assert_eq!((setting.value.as_str(), setting.source.as_deref()), ("100 Mb/s", Some("files: qsccp1.txt")));

    let s = dumbbell(&["link.*.delay=20ms", "link.R3-R2.rate=[\"1 Mb/s\", \"2 Mb/s\"]"]);
    assert!(s.links.iter().all(|l| l.delay == [Span::from_millis(20); 2]));
    let link = s.link_between(s.node("R3").unwrap(), s.node("R2").unwrap()).unwrap();
    let Link { rate, .. } = &s.links[link.link.index()];
    assert_eq!(rate[link.direction], Rate::from_mbps(1));
    assert_eq!(rate[1 - link.direction], Rate::from_mbps(2));
}

#[test]
fn a_shorter_run_leaves_out_what_it_does_not_come_to() {
    let s = dumbbell(&["duration=60 s"]);
    assert_eq!(s.windows[0].to, Span::from_secs(60));
    assert!(s.expectations.iter().all(|e| e.window.1 <= Span::from_secs(60)), "{:?}", s.expectations);
    assert!(s.notes.iter().any(|n| n == "window steady cut: the run ends at 60 s"), "{:?}", s.notes);
    let s = dumbbell(&["duration=10 s"]);
    assert!(s.windows.is_empty());
    // Expectations over the whole run remain.
    assert!(s.expectations.iter().any(|e| e.metric == Metric::Lost));
}

#[test]
fn every_setting_can_be_set_to_what_it_is() {
    let s = dumbbell(&[]);
    for setting in s.settings.iter().filter(|s| !s.value.is_empty()) {
        let same = dumbbell(&[&format!("{}={}", setting.path, setting.value)]);
        assert_eq!(same.flows, s.flows, "{}", setting.path);
        assert_eq!(same.links, s.links, "{}", setting.path);
        assert_eq!(same.nodes, s.nodes, "{}", setting.path);
        assert_eq!(same.routes, s.routes, "{}", setting.path);
    }
}

#[test]
fn the_tree_has_two_producers_for_each_prefix() {
    let s = built_in("qsccp/tree", &[]);
    assert_eq!(hops(&s, "R1", "/A"), ["R2", "R3"]);
    assert_eq!(hops(&s, "R3", "/C"), ["P4"]);
    assert_eq!(s.flows[1].producers, [s.node("P1").unwrap(), s.node("P3").unwrap()]);
    let times: Vec<_> =
        s.flows.iter().map(|f| (f.start.as_secs_f64(), f.stop.unwrap().as_secs_f64())).collect();
    assert_eq!(times, [(0.0, 90.0), (30.0, 120.0), (60.0, 150.0)]);
    assert_eq!(s.expectations[0].what, "rate of Data of flow C1 on R2->R1 and R3->R1, 5 s to 30 s");
    let single = built_in("qsccp/tree", &["routing.policy=shortest-path"]);
    assert_eq!(hops(&single, "R1", "/A"), ["R2"]);
}

#[test]
fn the_diamonds_have_given_routes_and_a_flow_that_turns_greedy() {
    for name in ["qsccp/diamond-bandwidth", "qsccp/diamond-latency"] {
        let s = built_in(name, &[]);
        assert_eq!(hops(&s, "R2", "/B"), ["R3", "R4", "R5"]);
        assert_eq!(hops(&s, "R4", "/C"), ["R3", "R5"]);
        assert_eq!(s.flows.iter().map(|f| f.start.as_secs_f64()).collect::<Vec<_>>(), [0.0, 80.0, 160.0]);
        assert_eq!(s.events.len(), 1);
        assert_eq!(s.events[0].at, Span::from_secs(240));
        let greedy = Source::Unresponsive(Rate::from_mbps(10));
        assert_eq!(s.events[0].what, Event::FlowSource { flows: vec![FlowId(2)], source: greedy });
        let s = built_in(name, &["event.greedy.at=200 s", "event.greedy.source_rate=6Mb/s"]);
        assert_eq!(s.events[0].at, Span::from_secs(200));
    }
}

#[test]
fn a_long_run_has_longer_steps() {
    // 320 s at 100 ms would be 3200 samples.
    assert_eq!(dumbbell(&["duration=320 s"]).sample, Span::from_millis(200));
}

#[test]
fn the_cache_and_the_overlay_have_nodes_of_their_own_kind() {
    let s = parse(
        r#"
duration = "20 s"
[[node]]
name = ["C1", "C2", "P1"]
[[node]]
name = "R1"
cache = "10000 packets"
cache_policy = "fifo"
[[node]]
name = "S1"
cache = "10 MB"
active = false
[[node]]
name = "F"
cache = "unlimited"
forwarder = "ndnd"
command = "ndnd put /C"
[[link]]
ends = ["{C1,C2,P1,S1,F}", "R1"]
rate = ["30 Mb/s", "10 Mb/s"]
delay = "5 ms"
loss = 0.01
queue = "30 kB"
[[flow]]
name = "same"
consumer = ["C1", "C2"]
producer = "P1"
prefix = "/A"
start = ["0 s", "5 s"]
[[flow]]
name = "cubic"
consumer = "F"
producer = "P1"
prefix = "/B"
scheme = "cubic"
command = "ndnd cat $NDN_PREFIX"
amount = 5000
freshness = "1 s"
[[expectation]]
source = "paper"
scheme = "pcon"
metric = "completion"
flow = "cubic"
at_most = "12 s"
"#,
        &[],
    );
    let node = |name: &str| &s.nodes[s.node(name).unwrap().index()];
    assert_eq!((node("R1").cache_packets, node("R1").cache_policy), (10_000, CsPolicy::Fifo));
    assert_eq!((node("S1").cache_packets, node("S1").cache_bytes), (u64::MAX, Some(Bytes::new(10_000_000))));
    assert_eq!((node("F").cache_packets, node("F").cache_bytes), (u64::MAX, None));
    assert!(node("R1").active && !node("S1").active);
    assert!(node("R1").runs_scheme() && !node("S1").runs_scheme() && !node("F").runs_scheme());
    assert_eq!((node("F").software, node("F").command.as_deref()), (Software::Ndnd, Some("ndnd put /C")));
    assert_eq!(s.flows[2].command.as_deref(), Some("ndnd cat $NDN_PREFIX"));
    assert_eq!(s.flows[0].prefix, s.flows[1].prefix);
    assert_eq!((s.flows[0].start, s.flows[1].start), (Span::ZERO, Span::from_secs(5)));
    assert_eq!(s.flows[2].scheme.as_deref(), Some("cubic"));
    assert_eq!(s.links[0].queue, QueueLimit::Bytes(Bytes::new(30_000)));
    assert_eq!(s.links[0].rate, [Rate::from_mbps(30), Rate::from_mbps(10)]);
    assert_eq!(s.expectations_for("qsccp").count(), 0);
    let pcon = &s.expectations_for("pcon").next().unwrap().stated;
    assert_eq!(*pcon, Stated::Value { bound: Bound::AtMost, value: 12.0, tolerance: 0.0 });
    let named: Vec<&str> = s.schemes.iter().map(|n| n.key.as_str()).collect();
    assert_eq!(named, ["scheme.default", "flow.cubic.scheme", "expectation.0.scheme"]);
}

const FIXED_CACHE: &str = r#"
duration = "200 s"
[[node]]
name = ["A", "B", "D"]
[[node]]
name = "C"
cache_ratio = 0.0
[[link]]
ends = ["A", "B"]
rate = "100 Mb/s"
delay = "25 ms"
[[link]]
ends = ["B", "C"]
rate = "60 Mb/s"
delay = "50 ms"
[[link]]
ends = ["C", "D"]
rate = "10 Mb/s"
delay = "10 ms"
[[flow]]
name = "A"
consumer = "A"
producer = "D"
prefix = "/A"
[[axis]]
name = "ratio"
set = "node.C.cache_ratio"
values = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
[[event]]
at = "50 s"
node = "C"
cache_ratio = 0.95
[[expectation]]
source = "theory"
metric = "data_rate"
link = "B->A"
about = "12.5 Mb/s"
when = { ratio = 0.2 }
[[expectation]]
source = "theory"
metric = "data_rate"
link = "B->A"
about = "50 Mb/s"
when = { ratio = 0.8 }
"#;

#[test]
fn an_axis_over_the_cache_hit_ratio_picks_its_expectations() {
    let s = parse(FIXED_CACHE, &[]);
    assert_eq!(s.axes[0].values, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(s.axes[0].current, Some(0));
    assert!(s.expectations.is_empty());
    assert_eq!(s.events[0].what, Event::NodeCacheRatio { node: NodeId(3), ratio: 0.95 });
    for way in ["axis.ratio=0.8", "node.C.cache_ratio=0.80"] {
        let s = parse(FIXED_CACHE, &[way]);
        assert_eq!(s.axes[0].current, Some(4), "{way}");
        assert_eq!(s.nodes[3].cache_ratio, 0.8);
        let Stated::Value { value, .. } = s.expectations[0].stated else { panic!("{:?}", s.expectations[0]) };
        assert_eq!(value, 5e7);
    }
    assert_eq!(parse(FIXED_CACHE, &["axis.ratio=0.5"]).axes[0].current, None);
}

#[test]
fn links_fail_and_change_in_time() {
    let s = parse(
        &format!(
            "{FIXED_CACHE}\n[[event]]\nat = \"10 s\"\nlink = \"C->B\"\nrate = \"20 Mb/s\"\n\
             [[event]]\nat = \"5 s\"\nlink = \"C-B\"\nrate = [\"1 Mb/s\", \"2 Mb/s\"]\ndelay = \"1 ms\"\nloss = 0.1\n\
             [[event]]\nat = \"15 s\"\nlink = \"B-C\"\nup = false\n[[event]]\nat = \"16 s\"\nlink = \"B-C\"\nup = true\n"
        ),
        &[],
    );
    let link = LinkId(1);
    let what: Vec<&Event> = s.events.iter().map(|e| &e.what).collect();
    assert_eq!(what[0], &Event::LinkRate { link, rate: [Rate::from_mbps(2), Rate::from_mbps(1)] });
    assert_eq!(what[1], &Event::LinkDelay { link, delay: [Span::from_millis(1); 2] });
    assert_eq!(what[2], &Event::LinkLoss { link, loss: 0.1 });
    // Only the direction from C to B changes.
    assert_eq!(what[3], &Event::LinkRate { link, rate: [Rate::from_mbps(2), Rate::from_mbps(20)] });
    assert_eq!(what[4], &Event::LinkDown { link });
    assert_eq!(what[5], &Event::LinkUp { link });
    assert!(s.events.is_sorted_by_key(|e| e.at));
}

#[test]
fn the_parking_lot_is_a_few_ranges() {
    let s = parse(
        r#"
duration = "300 s"
[[node]]
name = ["C{1..16}", "R{1..14}", "P{1..16}"]
cache = 10
[[link]]
between = ["R{1..13}-R{2..14}", "C{1..3}-R1", "P{1..3}-R14", "C{4..16}-R{1..13}", "P{4..16}-R{2..14}"]
rate = "100 Mb/s"
delay = "2 ms"
queue = 2000
[[flow]]
name = "all"
consumer = "C{1..16}"
producer = "P{1..16}"
prefix = "/P{1..16}"
start_spread = "1.6 s"
[[expectation]]
source = "paper"
metric = "goodput"
prefix = "/P2"
about = "5.23 Mb/s"
"#,
        &[],
    );
    assert_eq!((s.links.len(), s.flows.len()), (13 + 3 + 3 + 13 + 13, 16));
    assert_eq!(s.flows[3].start, Span::from_millis(300));
    assert_eq!(hops(&s, "C16", "/P16"), ["R13"]);
    assert_eq!(hops(&s, "R13", "/P16"), ["R14"]);
    assert_eq!(hops(&s, "R1", "/P1"), ["R2"]);
    assert_eq!(s.expectations[0].select.flows, [FlowId(1)]);
}

#[test]
fn staggered_starts_and_stops_are_lists_and_can_be_set_as_such() {
    let text = r#"
duration = "240 s"
[[node]]
name = ["C{1..4}", "R{1..2}", "P{1..4}"]
[[link]]
between = ["C{1..4}-R1", "R1-R2", "R2-P{1..4}"]
rate = "1 Gb/s"
delay = "2 ms"
[[flow]]
name = "C"
consumer = "C{1..4}"
producer = "P{1..4}"
prefix = "/P{1..4}"
start = ["0 s", "30 s", "60 s", "90 s"]
stop = ["150 s", "180 s", "210 s", "240 s"]
amount = [1, 2, 3, 4]
"#;
    let s = parse(text, &["flow.C.amount=7"]);
    let times: Vec<_> =
        s.flows.iter().map(|f| (f.start.as_secs_f64(), f.stop.unwrap().as_secs_f64())).collect();
    assert_eq!(times, [(0.0, 150.0), (30.0, 180.0), (60.0, 210.0), (90.0, 240.0)]);
    assert!(s.flows.iter().all(|f| f.amount == Some(7)));
    let s = parse(text, &[]);
    for setting in s.settings.iter().filter(|s| s.path.starts_with("flow.") && !s.value.is_empty()) {
        let same = parse(text, &[&format!("{}={}", setting.path, setting.value)]);
        assert_eq!(same.flows, s.flows, "{}={}", setting.path, setting.value);
    }
    let s = parse(
        text,
        &["flow.C.start=[\"1 s\", \"2 s\", \"3 s\", \"4 s\"]", "flow.C.consumer=[C1, C1, C2, C3]"],
    );
    assert_eq!(s.flows[3].start, Span::from_secs(4));
}

/// The FIB entries of qsccp4-1-single.cpp.
const ABILENE_SINGLE: [(&str, &str); 3] = [
    (
        "/Amazon",
        "R1→P1; R2→R1; R3→R2; R4→R3; R6→R7; R7→R8; R8→R9; R9→R2; R10→R9; R0→R1; C1→R0; C2→R2; C3→R3; \
         C4→R4; C5→R6; C6→R7; C7→R9; C8→R10",
    ),
    (
        "/Google",
        "R1→R2; R2→R3; R3→R4; R4→R5; R5→P2; R6→R5; R7→R5; R8→R7; R9→R8; R10→R9; R0→R1; C1→R0; C2→R2; \
         C3→R3; C4→R4; C5→R6; C6→R7; C7→R9; C8→R10",
    ),
    (
        "/Warner",
        "R2→R9; R3→R8; R4→R3; R6→R7; R7→R8; R8→P3; R9→R8; R10→R9; R0→R10; C1→R0; C2→R2; C3→R3; C4→R4; \
         C5→R6; C6→R7; C7→R9; C8→R10",
    ),
];

/// The FIB entries of qsccp4-2-multi.cpp.
const ABILENE_MULTIPATH: [(&str, &str); 3] = [
    (
        "/Amazon",
        "R1→P1; R2→R1; R3→R2; R4→R3; R6→R7|R5; R7→R8|R5; R8→R9|R3; R9→R2; R10→R9|R0; R0→R1; C1→R0; C2→R2; \
         C3→R3; C4→R4; C5→R6; C6→R7; C7→R9; C8→R10; R5→R4",
    ),
    (
        "/Google",
        "R1→R2; R2→R3; R3→R4|R8; R4→R5; R5→P2; R6→R5|R7; R7→R5; R8→R7; R9→R8|R2; R10→R9; R0→R1; C1→R0; \
         C2→R2; C3→R3; C4→R4; C5→R6; C6→R7; C7→R9; C8→R10",
    ),
    (
        "/Warner",
        "R2→R9|R3; R3→R8; R4→R3; R6→R7|R5; R7→R8; R8→P3; R9→R8; R10→R9; R0→R10|R1; C1→R0; C2→R2; C3→R3; \
         C4→R4; C5→R6; C6→R7; C7→R9; C8→R10; R1→R2; R5→R4",
    ),
];

/// The FIB entries of qsccp5.cpp, whose /C1 to /C8 are /H, /F, /D, /C, /B, /A, /E and /G of the paper.
const GEANT: [(&str, &str); 8] = [
    (
        "/H",
        "n4→n15; n3→n14; n18→n17; n17→n16; n16→n20; n11→n12; n9→n11; n20→n28; n15→n21; n14→n21; n13→n14; \
         n12→n13; n25→n9; n21→n30; n28→n21; n30→n31|n33; n31→n36; n37→n33; n33→n34; n34→n35|n39; n35→n36; \
         n36→n40; n41→n39; n39→n35|n44|n45; n40→n42; n42→n43; n43→n44; n45→n46; n46→n44",
    ),
    (
        "/F",
        "n4→n15; n3→n14; n18→n17; n17→n16; n16→n15; n11→n9; n9→n25; n15→n14; n14→n13|n22; n13→n12; \
         n12→n11; n25→n26; n21→n14; n22→n31; n26→n27; n30→n21; n31→n36; n37→n33; n33→n30; n34→n33; \
         n36→n27; n41→n39; n39→n34; n40→n36; n45→n39",
    ),
    (
        "/D",
        "n4→n15; n3→n5; n5→n8; n18→n17; n17→n16; n16→n15; n11→n9; n9→n8; n15→n14; n14→n13|n3; n13→n12; \
         n12→n11; n25→n24; n22→n14; n23→n22; n24→n23; n30→n31; n31→n22; n37→n33; n33→n30; n35→n36; \
         n36→n31; n41→n39; n39→n35; n40→n36; n45→n39",
    ),
    (
        "/C",
        "n4→n15; n3→n5; n5→n7; n18→n17; n17→n16; n16→n15; n11→n9; n9→n7; n15→n14; n14→n13|n3; n13→n12; \
         n12→n11; n25→n24; n22→n14; n23→n22; n24→n23; n30→n31; n31→n22; n37→n33; n33→n30; n35→n36; \
         n36→n31; n41→n39; n39→n35; n40→n36; n45→n39",
    ),
    (
        "/B",
        "n4→n15; n3→n4; n5→n3; n18→n17; n17→n16; n16→n15; n9→n5; n15→n1|n14; n14→n1; n25→n9; n21→n15; \
         n28→n21; n30→n21; n31→n30; n32→n28; n37→n33; n33→n32; n34→n33; n36→n31; n41→n39; n39→n34; \
         n40→n36; n45→n39",
    ),
    (
        "/A",
        "n4→n3; n3→n14; n18→n17; n17→n16; n16→n15|n20; n20→n28; n15→n0; n14→n0|n15; n13→n14; n12→n13; \
         n25→n24; n21→n14; n24→n12; n28→n21; n30→n21; n31→n30; n37→n33; n33→n30; n34→n33; n36→n31; \
         n41→n39; n39→n34; n40→n36; n45→n39",
    ),
    (
        "/E",
        "n4→n15; n3→n14; n18→n17; n17→n19; n16→n17|n20; n20→n19; n15→n16; n14→n15; n13→n14; n12→n13; \
         n25→n24; n21→n15; n24→n12; n30→n21; n31→n30; n37→n33; n33→n30; n34→n33; n36→n31; n41→n39; \
         n39→n34; n40→n36; n45→n39",
    ),
    (
        "/G",
        "n4→n15; n3→n14; n18→n17; n17→n16; n16→n15|n20; n20→n28; n15→n21; n14→n21; n25→n24; n21→n28|n30; \
         n22→n14; n23→n22; n24→n23; n28→n38|n32; n30→n33; n31→n22; n32→n33; n37→n38; n33→n37; n34→n33; \
         n35→n36; n36→n31; n41→n39; n39→n34|n35; n40→n36; n45→n39",
    ),
];

/// The FIB entries of qsccp2.cpp.
const TREE: [(&str, &str); 3] = [
    ("/A", "C1→R1; R1→R2|R3; R2→P1; R3→P2"),
    ("/B", "C2→R1; R1→R2|R3; R2→P1; R3→P3"),
    ("/C", "C3→R1; R1→R2|R3; R2→P1; R3→P4"),
];

/// The FIB entries of qsccp3-1.cpp and qsccp3-2.cpp.
const DIAMOND: [(&str, &str); 3] = [
    ("/A", "C1→R1; R1→R2; R2→R3|R4|R5; R4→R3|R5; R3→R6; R5→R6; R6→P1|P4"),
    ("/B", "C2→R1; R1→R2; R2→R3|R4|R5; R4→R3|R5; R3→R6; R5→R6; R6→P2|P4"),
    ("/C", "C3→R1; R1→R2; R2→R3|R4|R5; R4→R3|R5; R3→R6; R5→R6; R6→P3|P4"),
];

/// Returns the FIB for a prefix, with entries such as `R6→R7|R5`, sorted.
fn fib(s: &Scenario, prefix: &str) -> Vec<String> {
    let name = |node: NodeId| s.nodes[node.index()].name.as_str();
    let entries = s.routes.iter().filter(|r| *r.prefix == *prefix).map(|r| {
        let next_hops: Vec<_> = r.next_hops.iter().map(|h| name(h.node)).collect();
        format!("{}→{}", name(r.node), next_hops.join("|"))
    });
    let mut entries: Vec<String> = entries.collect();
    entries.sort_unstable();
    entries
}

#[test]
fn the_routes_of_qsccp_are_those_of_the_authors_files() {
    for (name, by_prefix) in [
        ("qsccp/tree", &TREE[..]),
        ("qsccp/diamond-bandwidth", &DIAMOND[..]),
        ("qsccp/diamond-latency", &DIAMOND[..]),
        ("qsccp/abilene-single", &ABILENE_SINGLE[..]),
        ("qsccp/abilene-multipath", &ABILENE_MULTIPATH[..]),
        ("qsccp/geant", &GEANT[..]),
    ] {
        let s = built_in(name, &[]);
        let mut entries = 0;
        for (prefix, wanted) in by_prefix {
            let mut wanted: Vec<&str> = wanted.split("; ").collect();
            wanted.sort_unstable();
            assert_eq!(fib(&s, prefix), wanted, "{name}, {prefix}");
            entries += wanted.len();
        }
        assert_eq!(s.routes.len(), entries, "{name}: routes for other prefixes");
    }
}

/// Returns all paths that Interests of a flow can take, from its consumer to a producer.
///
/// # Panics
/// Panics if a path has a loop or a dead end.
fn ways(s: &Scenario, flow: &Flow) -> Vec<Vec<NodeId>> {
    let mut begun = vec![vec![flow.consumer]];
    let mut complete = Vec::new();
    while let Some(way) = begun.pop() {
        let at = *way.last().unwrap();
        if flow.producers.contains(&at) {
            complete.push(way);
            continue;
        }
        let route = s.routes.iter().find(|r| r.node == at && *r.prefix == *flow.prefix);
        for hop in &route.unwrap_or_else(|| panic!("{}: {way:?} ends", flow.prefix)).next_hops {
            let next = hop.node;
            assert!(!way.contains(&next), "{}: {way:?} comes back to {next:?}", flow.prefix);
            begun.push([&way[..], &[next]].concat());
        }
    }
    complete
}

/// Returns the round-trip propagation delay.
fn round_trip(s: &Scenario, way: &[NodeId]) -> Span {
    let delay = |pair: &[NodeId]| {
        let link = s.link_between(pair[0], pair[1]).unwrap().link;
        let [there, back] = s.links[link.index()].delay;
        there + back
    };
    way.windows(2).map(delay).fold(Span::ZERO, |sum, delay| sum + delay)
}

#[test]
fn no_way_of_qsccp_runs_in_a_circle_and_paths_are_as_long_as_the_paper_says() {
    for (name, millis) in [
        ("qsccp/dumbbell", &[100][..]),
        ("qsccp/tree", &[60]),
        ("qsccp/diamond-bandwidth", &[100]),
        ("qsccp/diamond-latency", &[90, 100, 110, 120]),
        ("qsccp/cache", &[50]),
    ] {
        let s = built_in(name, &[]);
        let wanted: BTreeSet<_> = millis.iter().map(|&ms| Span::from_millis(ms)).collect();
        for flow in &s.flows {
            let trips: BTreeSet<_> = ways(&s, flow).iter().map(|way| round_trip(&s, way)).collect();
            assert_eq!(trips, wanted, "{name}, {}", flow.prefix);
        }
    }
    // The number of paths, over all consumers.
    for (name, count) in [("qsccp/abilene-single", 24), ("qsccp/abilene-multipath", 42), ("qsccp/geant", 147)]
    {
        let s = built_in(name, &[]);
        assert!(s.links.iter().all(|l| l.delay == [Span::from_millis(10); 2]), "{name}");
        assert_eq!(s.flows.iter().map(|flow| ways(&s, flow).len()).sum::<usize>(), count, "{name}");
    }
}

/// Returns the largest rate of Data that the routes and links give a flow without competition, bit/s, by the
/// augmenting paths of Ford and Fulkerson.
fn maximum_flow(s: &Scenario, flow: &Flow) -> u64 {
    let mut left: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    for route in s.routes.iter().filter(|r| *r.prefix == *flow.prefix) {
        for next in route.next_hops.iter().map(|hop| hop.node) {
            let link = s.link_between(next, route.node).unwrap();
            left.insert((route.node, next), s.links[link.link.index()].rate[link.direction].as_bps());
            left.entry((next, route.node)).or_default();
        }
    }
    let mut sum = 0;
    while let Some(way) = way_with_room(flow, &left) {
        let arcs = || way.windows(2).map(|pair| (pair[0], pair[1]));
        let room = arcs().map(|arc| left[&arc]).min().unwrap();
        for (a, b) in arcs() {
            *left.get_mut(&(a, b)).unwrap() -= room;
            *left.get_mut(&(b, a)).unwrap() += room;
        }
        sum += room;
    }
    sum
}

fn way_with_room(flow: &Flow, left: &BTreeMap<(NodeId, NodeId), u64>) -> Option<Vec<NodeId>> {
    let mut seen = BTreeSet::from([flow.consumer]);
    let mut begun = vec![vec![flow.consumer]];
    while let Some(way) = begun.pop() {
        let at = *way.last().unwrap();
        if flow.producers.contains(&at) {
            return Some(way);
        }
        for (&(_, next), _) in left.iter().filter(|((from, _), room)| *from == at && **room > 0) {
            if seen.insert(next) {
                begun.push([&way[..], &[next]].concat());
            }
        }
    }
    None
}

/// Returns the rate of the narrowest link of a path, for Data.
fn width(s: &Scenario, way: &[NodeId]) -> u64 {
    let rate = |pair: &[NodeId]| {
        let link = s.link_between(pair[1], pair[0]).unwrap();
        s.links[link.link.index()].rate[link.direction].as_bps()
    };
    way.windows(2).map(rate).min().unwrap()
}

/// If a few flows have to fill several paths, a scheme with one path gets the widest possible. In networks
/// whose links are shared by many flows it gets the shortest.
#[test]
fn schemes_that_keep_to_one_path_have_the_widest() {
    let mut with_singles = 0;
    let is_network = |name: &str| ["abilene", "geant", "random"].iter().any(|part| name.contains(part));
    for (name, _) in builtins().into_iter().filter(|(name, _)| !is_network(name)) {
        let s = built_in(name, &[]);
        with_singles += usize::from(s.routes.iter().any(|route| route.single.is_some()));
        for flow in &s.flows {
            let ways = ways(&s, flow);
            let is_kept_to = |way: &Vec<NodeId>| {
                way.windows(2).all(|pair| {
                    let covers = |r: &&Route| r.node == pair[0] && *r.prefix == *flow.prefix;
                    let route = s.routes.iter().find(covers).unwrap();
                    let kept = route.single.unwrap_or(route.next_hops[0].link);
                    pair[1] == s.ends(kept).1
                })
            };
            let kept = ways.iter().find(|way| is_kept_to(way)).unwrap();
            let widest = ways.iter().map(|way| width(&s, way)).max().unwrap();
            assert_eq!(width(&s, kept), widest, "{name}, {}", flow.prefix);
        }
    }
    assert_eq!(with_singles, 4);
}

#[test]
fn the_bottlenecks_of_qsccp_are_those_of_the_paper() {
    for (name, consumer, prefix, mbps) in [
        ("qsccp/dumbbell", "C1", "/A0", 10),
        ("qsccp/tree", "C1", "/A", 10),
        ("qsccp/tree", "C3", "/C", 10),
        ("qsccp/diamond-bandwidth", "C1", "/A", 14),
        ("qsccp/diamond-bandwidth", "C3", "/C", 14),
        ("qsccp/diamond-latency", "C1", "/A", 14),
        ("qsccp/diamond-latency", "C3", "/C", 14),
        ("qsccp/cache", "C2", "/A", 10),
        ("qsccp/abilene-single", "C5", "/Amazon", 5),
        ("qsccp/abilene-single", "C8", "/Google", 10),
        ("qsccp/abilene-multipath", "C5", "/Amazon", 10),
        ("qsccp/abilene-multipath", "C8", "/Google", 20),
        ("qsccp/geant", "n3", "/A", 10),
        ("qsccp/geant", "n3", "/C", 5),
        ("qsccp/geant", "n40", "/H", 3),
        ("qsccp/geant", "n41", "/H", 10),
    ] {
        let s = built_in(name, &[]);
        let node = s.node(consumer).unwrap();
        let flow = s.flows.iter().find(|f| f.consumer == node && f.prefix == prefix).unwrap();
        assert_eq!(maximum_flow(&s, flow), mbps * 1_000_000, "{name}, {consumer} {prefix}");
    }
}

#[test]
fn the_networks_of_qsccp_have_the_size_that_the_paper_says_and_places_to_draw_them() {
    for (name, nodes, links, flows) in [
        ("qsccp/tree", 10, 9, 3),
        ("qsccp/diamond-bandwidth", 13, 15, 3),
        ("qsccp/diamond-latency", 13, 15, 3),
        ("qsccp/cache", 4, 3, 2),
        ("qsccp/abilene-single", 22, 25, 24),
        ("qsccp/abilene-multipath", 22, 25, 24),
        ("qsccp/geant", 46, 66, 64),
    ] {
        let s = built_in(name, &[]);
        assert_eq!((s.nodes.len(), s.links.len(), s.flows.len()), (nodes, links, flows), "{name}");
        let mut places: Vec<_> = s.nodes.iter().map(|n| n.position.unwrap()).collect();
        places.sort_by(|a, b| a.partial_cmp(b).unwrap());
        places.dedup();
        assert_eq!(places.len(), nodes, "{name}: two nodes at one place");
    }
}

#[test]
fn generated_networks_are_connected_and_the_same_every_time() {
    for kind in ["random", "waxman", "grid", "line", "ring", "star", "tree", "dumbbell"] {
        for nodes in [4, 10, 50] {
            let text = format!(
                "duration = \"1 s\"\n[generate]\nkind = \"{kind}\"\nnodes = {nodes}\nseed = 7\n\
                 rate = [\"10 Mb/s\", \"100 Mb/s\"]\ndelay = [\"1 ms\", \"9 ms\"]\n[generate.flows]\ncount = 40\n\
                 classes = [\"EF\", \"BE\"]\namount = 10\n"
            );
            // Parsing fails unless every flow reaches its producer.
            let s = parse(&text, &[]);
            let again = parse(&text, &[]);
            assert_eq!((s.nodes.len(), s.flows.len()), (nodes, 40), "{kind}");
            assert_eq!(
                (&s.nodes, &s.links, &s.flows, &s.routes),
                (&again.nodes, &again.links, &again.flows, &again.routes)
            );
            assert_eq!(s.groups(), ["EF", "BE"]);
            for link in &s.links {
                assert!((10_000_000..=100_000_000).contains(&link.rate[0].as_bps()));
                assert!((1_000_000..=9_000_000).contains(&link.delay[0].as_nanos()));
            }
        }
    }
    let random = |seed: u32| {
        parse(
            &format!(
                "duration = \"1 s\"\n[generate]\nkind = \"random\"\nnodes = 50\nseed = {seed}\nrate = \"1 Gb/s\"\ndelay = \"1 ms\"\n"
            ),
            &[],
        )
        .links
    };
    assert_ne!(random(1), random(2));
    assert_eq!(random(1).len(), 75);
}

#[test]
fn a_generated_network_can_be_set_node_by_node_and_as_a_whole() {
    let text = builtin("examples/random-200").unwrap();
    let parse = |overrides: &[&str]| {
        let overrides: Vec<_> = overrides.iter().map(|o| Override::parse(o).unwrap()).collect();
        Scenario::parse("r", "r.toml", text, &overrides).unwrap()
    };
    let s = parse(&[]);
    assert_eq!((s.nodes.len(), s.links.len(), s.flows.len()), (200, 400, 1000));
    assert_eq!(s.groups(), ["EF", "AF2", "AF1", "BE"]);
    let link =
        s.settings.iter().find(|s| s.path.starts_with("link.n0-") && s.path.ends_with(".rate")).unwrap();
    let s = parse(&[
        &format!("{}=1Mb/s", link.path),
        "generate.flows.count=400",
        "node.n*.cache=5",
        "flow.EF.class=CS7",
    ]);
    assert_eq!(s.links.iter().filter(|l| l.rate == [Rate::from_mbps(1); 2]).count(), 1);
    assert_eq!(s.flows.len(), 400);
    assert!(s.nodes.iter().all(|n| n.cache_packets == 5));
    assert_eq!(s.flows[0].class, ServiceClass::Cs7);
}

#[test]
fn the_seed_gives_these_numbers_on_every_machine() {
    let s = Scenario::parse("r", "r.toml", builtin("examples/random-200").unwrap(), &[]).unwrap();
    let picked: Vec<String> = s.links[..3]
        .iter()
        .map(|l| {
            format!(
                "{}-{} {} {}",
                s.nodes[l.a.index()].name,
                s.nodes[l.b.index()].name,
                l.rate[0],
                l.delay[0]
            )
        })
        .collect();
    assert_eq!(picked, PICKED);
}

const PICKED: [&str; 3] = ["n0-n1 5.82 Mb/s 6.2 ms", "n0-n2 3.08 Mb/s 2.96 ms", "n0-n3 7 Mb/s 2.81 ms"];

#[test]
fn every_built_in_has_a_title_and_parses() {
    for (name, title) in builtins() {
        assert!(!title.is_empty(), "{name}");
        let scenario = Scenario::parse(name, name, builtin(name).unwrap(), &[]);
        assert!(scenario.is_ok(), "{}", scenario.unwrap_err());
        let scenario = scenario.unwrap();
        assert!(scenario.notes.is_empty(), "{name}: {:?}", scenario.notes);
        for axis in &scenario.axes {
            for value in &axis.values {
                let point = Override::new(format!("axis.{}", axis.name), value);
                let at = Scenario::parse(name, name, builtin(name).unwrap(), &[point]);
                assert!(at.is_ok(), "{}", at.unwrap_err());
            }
        }
    }
    assert_eq!(builtin("nobody/nothing"), None);
}

#[test]
fn stations_of_a_medium_are_neighbours_by_links_that_share_it() {
    let text = |access_point: &str| {
        format!(
            "duration = \"10 s\"\n[[node]]\nname = [\"AP\", \"N{{1..3}}\"]\n\
             [[medium]]\nname = \"wifi\"\nstandard = \"802.11a\"\nstations = [\"N{{1..2}}\", \"AP\", \"N3\"]\n\
             {access_point}rate = \"12 Mb/s\"\nqueue = 7\nloss = 0.25\n\
             [[flow]]\nname = \"f\"\nconsumer = \"N1\"\nproducer = \"N3\"\nprefix = \"/a\"\n"
        )
    };
    let pairs = |s: &Scenario| {
        let name = |node: NodeId| s.nodes[node.index()].name.clone();
        s.links.iter().map(|l| format!("{}-{}", name(l.a), name(l.b))).collect::<Vec<_>>()
    };
    let mesh = parse(&text(""), &[]);
    assert_eq!(pairs(&mesh), ["N1-N2", "N1-AP", "N1-N3", "N2-AP", "N2-N3", "AP-N3"]);
    assert_eq!(hops(&mesh, "N1", "/a"), ["N3"]);
    let star = parse(&text("access_point = \"AP\"\n"), &[]);
    assert_eq!(pairs(&star), ["N1-AP", "N2-AP", "AP-N3"]);
    assert_eq!(hops(&star, "N1", "/a"), ["AP"]);
    let link = &star.links[2];
    assert_eq!((link.rate, link.delay), ([Rate::from_mbps(12); 2], [Span::ZERO; 2]));
    assert_eq!((link.queue, link.loss, link.medium), (QueueLimit::Packets(7), 0.25, Some(MediumId(0))));
    let stations: Vec<_> = ["N1", "N2", "AP", "N3"].iter().map(|name| star.node(name).unwrap()).collect();
    assert_eq!((star.media[0].name.as_str(), &star.media[0].stations), ("wifi", &stations));
    let setting = star.settings.iter().find(|s| s.path == "medium.wifi.rate").unwrap();
    assert_eq!(setting.value, "12 Mb/s");
}

#[test]
fn links_between_the_same_nodes_have_names() {
    let text = "title = \"t\"\nduration = \"10 s\"\n[scheme]\ndefault = \"fixed\"\n[[node]]\nname = [\"A\", \"B\", \"C\"]\n\
        [defaults.link]\nrate = \"1 Mb/s\"\ndelay = \"10 ms\"\n[[link]]\nends = [\"A\", \"B\"]\ncost = 2\n\
        [[link]]\nends = [\"B\", \"A\"]\nname = \"upper\"\ncost = [9, 0.5]\n[[link]]\nends = [\"B\", \"C\"]\nname = \"only\"\n\
        [routing]\nmetric = \"cost\"\npolicy = \"multipath\"\n\
        [[flow]]\nname = \"f\"\nconsumer = \"A\"\nproducer = \"C\"\nprefix = \"/a\"\n\
        [[flow]]\nname = \"g\"\nconsumer = \"A\"\nproducer = \"C\"\nprefix = \"/g\"\n\
        [[route]]\nprefix = \"/g\"\nhops = [\"A->B:upper|B\", \"B->C\"]\n\
        [[event]]\nat = \"1 s\"\nlink = \"A->B:upper\"\nrate = \"3 Mb/s\"\n\
        [[event]]\nat = \"2 s\"\nlink = \"A-B\"\nup = false\n";
    let read = |set: &[&str]| {
        let set: Vec<Override> = set.iter().map(|set| Override::parse(set).unwrap()).collect();
        Scenario::parse("t", "t.toml", text, &set).unwrap_or_else(|error| panic!("{error}"))
    };
    let s = read(&[]);
    let names = [0, 1, 2].map(|link| s.link_name(LinkId(link)));
    assert_eq!(names, ["A-B", "B-A:upper", "B-C:only"]);
    let hops = |prefix: &str| -> Vec<(usize, usize, u64)> {
        let route =
            s.routes.iter().find(|route| *route.prefix == *prefix && route.node == NodeId(0)).unwrap();
        route.next_hops.iter().map(|hop| (hop.link.link.index(), hop.link.direction, hop.cost)).collect()
    };
    // Interests from A to B cost 0.5 on the upper link, and 2 on the other; later 1.
    assert_eq!(hops("/a"), [(1, 1, 1500), (0, 0, 3000)]);
    assert_eq!(hops("/g"), [(1, 1, 1), (0, 0, 2)]);
    let rate = [Rate::from_mbps(1), Rate::from_mbps(3)];
    assert_eq!(s.events[0].what, Event::LinkRate { link: LinkId(1), rate });
    assert_eq!(s.events[1].what, Event::LinkDown { link: LinkId(0) });
    let rates = |set: &str| {
        read(&[set]).links.iter().map(|link| link.rate[0].as_bps() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(rates("link.A-B.rate=7 Mb/s"), [7, 1, 1]);
    assert_eq!(rates("link.A-B:upper.rate=7 Mb/s"), [1, 7, 1]);
    assert_eq!(rates("link.C-B.rate=7 Mb/s"), [1, 1, 7]);
    assert_eq!(rates("link.*.rate=7 Mb/s"), [7, 7, 7]);
}
