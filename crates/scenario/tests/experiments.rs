//! Every kind of experiment of the five papers can be said in the format.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, also in its helpers")]

use weir_core::units::{Bytes, Rate, Span};
use weir_packet::signal::ServiceClass;
use weir_scenario::{
    Bound, CachePolicy, Event, FlowId, Link, LinkId, Metric, NodeId, Override, ParamValue, QueueLimit, Role,
    Scenario, SourceRate, builtin, builtins,
};

fn parse(text: &str, overrides: &[&str]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|o| Override::parse(o).unwrap()).collect();
    let head = "title = \"t\"\nscheme.default = \"qsccp\"\n";
    match Scenario::parse("t", "t.toml", &format!("{head}{text}"), &overrides) {
        Ok(scenario) => scenario,
        Err(e) => panic!("{e}"),
    }
}

fn dumbbell(overrides: &[&str]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|o| Override::parse(o).unwrap()).collect();
    match Scenario::parse("qsccp/dumbbell", "dumbbell.toml", builtin("qsccp/dumbbell").unwrap(), &overrides) {
        Ok(scenario) => scenario,
        Err(e) => panic!("{e}"),
    }
}

/// The next hops of a node for a prefix, by name.
fn hops<'s>(s: &'s Scenario, node: &str, prefix: &str) -> Vec<&'s str> {
    let node = s.node(node).unwrap();
    let route = s.routes.iter().find(|r| r.node == node && r.prefix == prefix);
    route.map_or(Vec::new(), |r| r.next_hops.iter().map(|h| s.nodes[h.0.index()].name.as_str()).collect())
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
        let limited = SourceRate::Limited(Rate::from_bps(100_000));
        assert_eq!(flow.source, if group == 0 { limited } else { SourceRate::Elastic });
        assert_eq!((flow.start, flow.stop, flow.amount), (Span::ZERO, None, None));
        assert_eq!((flow.payload, flow.lifetime), (Bytes::new(1024), Span::from_secs(2)));
    }
    assert_eq!(s.groups(), ["EF", "AF2", "AF1", "BE"]);
    assert_eq!(hops(&s, "C1", "/A0"), ["R1"]);
    assert_eq!(hops(&s, "R2", "/D9"), ["R3"]);
    assert_eq!(hops(&s, "R4", "/B3"), ["P2"]);
    assert_eq!(
        (s.nodes[0].role, s.nodes[4].role, s.nodes[8].role),
        (Role::Consumer, Role::Router, Role::Producer)
    );
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
    assert_eq!((ef.metric, ef.kind, ef.stated, ef.tolerance), (Metric::DataRate, Bound::About, 1e6, 0.05));
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
    // Those over the whole run are still there.
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

const TREE: &str = r#"
duration = "150 s"
[[node]]
name = ["C{1..3}", "R{1..3}", "P{1..4}"]
[defaults.link]
rate = "100 Mb/s"
delay = "10 ms"
queue = 20
[[link]]
between = ["C{1..3}-R1", "R2-P1", "R3-P{2..4}"]
[[link]]
ends = ["R1", "R{2..3}"]
rate = "5 Mb/s"
[[flow]]
name = "C1"
consumer = "C1"
producer = ["P1", "P2"]
prefix = "/A"
class = "AF2"
stop = "90 s"
[[flow]]
name = "C2"
consumer = "C2"
producer = ["P1", "P3"]
prefix = "/B"
class = "AF1"
start = "30 s"
stop = "120 s"
[[flow]]
name = "C3"
consumer = "C3"
producer = ["P1", "P4"]
prefix = "/C"
class = "BE"
start = "60 s"
[routing]
policy = "multipath"
[[expectation]]
source = "paper"
metric = "data_rate"
flow = "C1"
link = ["R2->R1", "R3->R1"]
window = ["60 s", "90 s"]
about = "5 Mb/s"
"#;

#[test]
fn the_tree_has_two_producers_for_each_prefix() {
    let s = parse(TREE, &[]);
    assert_eq!(hops(&s, "R1", "/A"), ["R2", "R3"]);
    assert_eq!(hops(&s, "R3", "/C"), ["P4"]);
    assert_eq!(s.flows[1].producers, [s.node("P1").unwrap(), s.node("P3").unwrap()]);
    assert_eq!(s.expectations[0].what, "rate of Data of flow C1 on R2->R1 and R3->R1, 60 s to 90 s");
    assert_eq!(hops(&parse(TREE, &["routing.policy=shortest-path"]), "R1", "/A"), ["R2"]);
}

const DIAMOND: &str = r#"
duration = "320 s"
[[node]]
name = ["C{1..3}", "R{1..6}", "P{1..4}"]
[defaults.link]
rate = "100 Mb/s"
delay = "10 ms"
queue = 20
[[link]]
between = ["C{1..3}-R1", "R6-P{1..4}", "R1-R2", "R2-R3", "R2-R4", "R2-R5", "R4-R3", "R4-R5", "R3-R6", "R5-R6"]
[[flow]]
name = "C1"
consumer = "C1"
producer = ["P1", "P4"]
prefix = "/A"
class = "AF2"
[[flow]]
name = "C2"
consumer = "C2"
producer = ["P2", "P4"]
prefix = "/B"
class = "AF2"
start = "80 s"
[[flow]]
name = "C3"
consumer = "C3"
producer = ["P3", "P4"]
prefix = "/C"
class = "AF2"
start = "160 s"
[routing]
policy = "given"
[[route]]
prefix = "/{A,B,C}"
hops = ["C{1..3}->R1", "R1->R2", "R2->R3|R4|R5", "R4->R3|R5", "R3->R6", "R5->R6", "R6->P4"]
[[event]]
name = "greedy"
at = "240 s"
flow = "C3"
source_rate = "10 Mb/s"
unresponsive = true
"#;

#[test]
fn the_diamond_has_given_routes_and_a_flow_that_turns_greedy() {
    let s = parse(DIAMOND, &[]);
    assert_eq!(hops(&s, "R2", "/B"), ["R3", "R4", "R5"]);
    assert_eq!(hops(&s, "R4", "/C"), ["R3", "R5"]);
    assert_eq!(s.events.len(), 1);
    assert_eq!(s.events[0].at, Span::from_secs(240));
    let greedy = SourceRate::Unresponsive(Rate::from_mbps(10));
    assert_eq!(s.events[0].what, Event::FlowSource { flows: vec![FlowId(2)], source: greedy });
    let s = parse(DIAMOND, &["event.greedy.at=200 s", "event.greedy.source_rate=6Mb/s"]);
    assert_eq!(s.events[0].at, Span::from_secs(200));
    // 320 s at 100 ms would be 3200 samples.
    assert_eq!(s.sample, Span::from_millis(200));
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
    assert_eq!((node("R1").cache_packets, node("R1").cache_policy), (10_000, CachePolicy::Fifo));
    assert_eq!((node("S1").cache_packets, node("S1").cache_bytes), (u64::MAX, Some(Bytes::new(10_000_000))));
    assert_eq!((node("F").cache_packets, node("F").cache_bytes), (u64::MAX, None));
    assert!(node("R1").active && !node("S1").active);
    assert_eq!(s.flows[0].prefix, s.flows[1].prefix);
    assert_eq!((s.flows[0].start, s.flows[1].start), (Span::ZERO, Span::from_secs(5)));
    assert_eq!(s.flows[2].scheme.as_deref(), Some("cubic"));
    assert_eq!(s.links[0].queue, QueueLimit::Bytes(Bytes::new(30_000)));
    assert_eq!(s.links[0].rate, [Rate::from_mbps(30), Rate::from_mbps(10)]);
    assert_eq!(s.expectations_for("qsccp").count(), 0);
    assert_eq!(s.expectations_for("pcon").next().unwrap().stated, 12.0);
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
        assert_eq!(s.expectations[0].stated, 5e7);
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

#[test]
fn abilene_has_given_routes_by_prefix_and_the_same_names_everywhere() {
    let s = parse(
        r#"
duration = "60 s"
[[node]]
name = ["R{0..10}", "C{1..8}", "P{1..3}"]
[defaults.link]
delay = "10 ms"
queue = 20
[[link]]
between = ["R0-R1", "R7-R8", "R10-R0", "R3-R8"]
rate = "10 Mb/s"
[[link]]
between = ["R2-R3", "R3-R4", "R5-R7", "R1-R2", "R4-R5", "R8-R9", "R9-R10", "R2-R9", "R5-R6", "R6-R7"]
rate = "15 Mb/s"
[[link]]
ends = ["C{1..8}", "R{0,2,3,4,6,7,9,10}"]
rate = "100 Mb/s"
[[link]]
ends = ["P{1..3}", "R{1,5,8}"]
rate = "100 Mb/s"
[[flow]]
name = "Amazon"
consumer = "C{1..8}"
producer = "P1"
prefix = "/Amazon"
class = "AF2"
amount = 5000
[routing]
policy = "given"
[[route]]
prefix = "/Amazon"
hops = ["R1->P1", "R2->R1", "R3->R2", "R4->R3", "R6->R7|R5", "R7->R8|R5", "R8->R9|R3", "R9->R2", "R10->R9|R0",
        "R0->R1", "R5->R4", "C{1..8}->R{0,2,3,4,6,7,9,10}"]
"#,
        &[],
    );
    assert_eq!(s.flows.len(), 8);
    assert_eq!(hops(&s, "R6", "/Amazon"), ["R7", "R5"]);
    assert_eq!(hops(&s, "C8", "/Amazon"), ["R10"]);
    assert_eq!(s.routes.len(), 19);
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
            // Every flow reaches its producer, or this fails.
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
