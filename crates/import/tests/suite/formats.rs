//! Reads a file of each format.

use weir_core::units::{Rate, Span};
use weir_import::{Delay, File, Format, Options, import};
use weir_scenario::{QueueLimit, Scenario};

use crate::{read, scenario};

fn ends(s: &Scenario, link: usize) -> [&str; 2] {
    [s.links[link].a, s.links[link].b].map(|node| s.nodes[node.index()].name.as_str())
}

const GRAPHML: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d3" />
  <key attr.name="label" attr.type="string" for="node" id="d2" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d1" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d0" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d0">52.52</data><data key="d1">13.4</data><data key="d2">Berlin &amp; Co.</data></node>
    <node id="1"><data key="d0">48.14</data><data key="d1">11.58</data><data key="d2">Munich</data></node>
    <node id="2"><data key="d2">Munich</data></node>
    <node id="3"><data key="d2">None</data></node>
    <edge source="0" target="1"><data key="d3">1000000000.0</data></edge>
    <edge source="1" target="2" />
    <edge source="1" target="0"><data key="d3">1000000000.0</data></edge>
    <edge source="2" target="2" />
  </graph>
</graphml>
"#;

#[test]
fn graphml_has_places_labels_and_speeds() {
    let (s, imported) = scenario("zoo.graphml", GRAPHML, &Options::new("fixed"));
    let names: Vec<&str> = s.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["Berlin _ Co_", "Munich", "Munich 2", "3"]);
    assert!(imported.scenario.contains("#   Berlin & Co. (0) = Berlin _ Co_\n"), "{}", imported.scenario);
    assert!(imported.scenario.contains("#   Munich (2) = Munich 2\n"));
    // The parallel edge adds its rate. Berlin and Munich are 504 km apart in a straight line.
    assert_eq!(s.links[0].rate, [Rate::from_mbps(2000); 2]);
    assert!((s.links[0].delay[0].as_millis_f64() - 2.52).abs() < 0.01, "{}", s.links[0].delay[0]);
    assert_eq!((s.links[1].rate, s.links[1].delay), ([Rate::from_mbps(100); 2], [Span::from_millis(10); 2]));
    let (x, y) = s.nodes[0].position.unwrap();
    assert!(y == -52.52 && (x - 13.4 * 0.6388).abs() < 0.01, "{x} {y}");
    let source =
        |path: &str| s.settings.iter().find(|of| of.path == path).unwrap().source.unwrap().to_string();
    assert_eq!(source("link.Berlin _ Co_-Munich.delay"), "assumed: distance / 200 km per ms");
    assert!(source("link.Munich-Munich 2.rate").starts_with("assumed: zoo.graphml states no rate"));
    let notes = imported.notes.join("\n");
    for part in [
        "1 edge was parallel to another: merged",
        "1 edge that joins a node to itself: dropped",
        "2 parts that no links join: the largest has 3 nodes, others 1 node with 3",
        "1 of 2 links without a stated rate",
        "1 link without the coordinates of both ends: their delay is 10 ms",
    ] {
        assert!(notes.contains(part), "{part}\n{notes}");
    }
}

#[test]
fn gml_has_the_same() {
    let text = "Creator \"networkx\"\ngraph [\n  directed 1\n  node [ id 0 label \"A&quot;1\" Latitude 0 Longitude 0 ]\n  \
                node [ id 1 label \"B\" graphics [ x 3 y 4 ] ]\n  # both directions\n  \
                edge [ source 0 target 1 LinkSpeed \"10\" LinkSpeedUnits \"G\" delay \"3ms\" weight 2 ]\n  \
                edge [ source 1 target 0 capacity 5 delay \"4ms\" weight 2.5 ]\n]\n";
    let options = Options { rate: Some(Rate::from_mbps(7)), queue: Some(30), ..Options::new("fixed") };
    let (s, imported) = scenario("x.gml", text, &options);
    assert_eq!(ends(&s, 0), ["A_1", "B"]);
    let link = &s.links[0];
    assert_eq!(link.rate, [Rate::from_mbps(10_000), Rate::from_mbps(7)]);
    assert_eq!(link.delay, [3, 4].map(Span::from_millis));
    assert_eq!((link.cost, link.queue), ([2000, 2500], QueueLimit::Packets(30)));
    assert_eq!(s.nodes[1].position, Some((3.0, 4.0)));
    assert!(imported.notes.iter().any(|note| note.contains("rates without a unit")), "{:?}", imported.notes);
    assert!(imported.scenario.contains("metric = \"cost\""));
}

#[test]
fn ndnsim_states_everything() {
    let text = "# a comment\nrouter\n#name city y x\na NA 1 2 1\nb NA 3 -4\nlink\na b 10Mbps 5 2ms 200 0.1\n";
    let (s, imported) = scenario("topo.txt", text, &Options::new("fixed"));
    let link = &s.links[0];
    assert_eq!((link.rate, link.delay), ([Rate::from_mbps(10); 2], [Span::from_millis(2); 2]));
    assert_eq!((link.cost, link.queue, link.loss), ([5000; 2], QueueLimit::Packets(200), 0.1));
    assert_eq!(s.nodes[0].position, Some((2.0, -1.0)));
    let model = text.replace(
        "200 0.1",
        "ns3::RedQueue,A=1 ns3::RateErrorModel,ErrorUnit=ERROR_UNIT_PACKET,ErrorRate=0.3",
    );
    let (other, noted) = scenario("topo.txt", &model, &Options::new("fixed"));
    assert_eq!((other.links[0].loss, other.links[0].queue), (0.3, QueueLimit::Packets(100)));
    assert!(noted.notes[0].contains("classes of queues"), "{:?}", noted.notes);
    assert!(
        !imported.scenario.contains("assumed: topo") && imported.notes.is_empty(),
        "{:?}",
        imported.notes
    );
}

#[test]
fn mini_ndn_has_rates_in_mbps() {
    let text = "[nodes]\na: _ network=/world radius=1.0 angle=0.0\nb: _\n\n[links]\na:b delay=10ms bw=100 loss=1 max_queue_size=50\n";
    let (s, _) = scenario("default.conf", text, &Options::new("fixed"));
    let link = &s.links[0];
    assert_eq!((link.rate, link.delay), ([Rate::from_mbps(100); 2], [Span::from_millis(10); 2]));
    assert_eq!((link.loss, link.queue), (0.01, QueueLimit::Packets(50)));
    assert_eq!(s.nodes[0].position, Some((1.0, 0.0)));
}

#[test]
fn rocketfuel_has_maps_and_weights_with_latencies() {
    let map = "1 @San+Jose,+CA + bb (2) -> <2> <3> =a.net! r0\n2 @Reno (1) &1 -> <1> {-9} =b.net r0\n\
               3 @? (1) -> <1> <7> =c.net r1\n-9 =1.2.3.4 r1\n";
    let (s, imported) = scenario("1.cch", map, &Options::new("fixed"));
    assert_eq!((ends(&s, 0), ends(&s, 1)), (["San Jose, CA 1", "Reno 2"], ["San Jose, CA 1", "3"]));
    assert_eq!(s.links.len(), 2);
    assert!(imported.notes.join("\n").contains("not used: links to routers without a line (1)"));
    let weights = "A,+X B 2\nB A,+X 3.5\n";
    let latencies = "A,+X B 4\nB A,+X 4\n";
    let files = [("weights.intra", weights), ("latencies.intra", latencies)];
    let files = files.map(|(name, text)| File { name, bytes: text.as_bytes() });
    let s = read(&import(&files, &Options::new("fixed")).unwrap());
    assert_eq!(ends(&s, 0), ["A, X", "B"]);
    assert_eq!((s.links[0].cost, s.links[0].delay), ([2000, 3500], [Span::from_millis(4); 2]));
}

#[test]
fn edge_lists_have_several_separators() {
    for (name, text, cost) in [
        ("edges.txt", "# n\na b\nb c\n", 1000),
        ("edges.txt", "a b {'weight': 3}\nb c {}\n", 1000),
        ("as-rel.txt", "# source\na|b|-1\nb|c|0\n", 1000),
        ("edges.csv", "a,b,4\nb,c,4\n", 4000),
        ("edges.csv", "\"source\",\"target\",\"weight\"\n\"a\",\"b\",4\nb,c,4\n", 4000),
    ] {
        let (s, _) = scenario(name, text, &Options::new("fixed"));
        assert_eq!((ends(&s, 0), ends(&s, 1), s.links.len()), (["a", "b"], ["b", "c"], 2), "{text}");
        assert_eq!(s.links[0].cost, [cost; 2], "{text}");
    }
}

#[test]
fn what_a_file_does_not_say_is_an_option() {
    let options = Options {
        delay: Some("km/100".parse().unwrap()),
        flows: vec![("0".into(), "Munich".into())],
        scheme: "cubic".into(),
        ..Options::new("fixed")
    };
    let (s, imported) = scenario("zoo.graphml", GRAPHML, &options);
    assert!((s.links[0].delay[0].as_millis_f64() - 5.04).abs() < 0.02);
    assert_eq!((s.flows.len(), s.scheme.as_str()), (1, "cubic"));
    assert!(!imported.scenario.contains("a sample"));
    assert_eq!(s.nodes[s.flows[0].producers[0].index()].name, "Munich");
    let options = Options { delay: Some(Delay::Each(Span::from_millis(3))), ..Options::new("fixed") };
    assert!(
        scenario("zoo.graphml", GRAPHML, &options)
            .0
            .links
            .iter()
            .all(|link| link.delay == [Span::from_millis(3); 2])
    );
}

#[test]
fn a_format_is_recognised_by_its_content() {
    for (name, text, format) in [
        ("x", "\n<?xml?>", Format::GraphMl),
        ("x", "graph [", Format::Gml),
        ("x.gml", "multigraph 1", Format::Gml),
        ("x", "# c\n[nodes]", Format::MiniNdn),
        ("x", "#c\n\nrouter\n", Format::NdnSim),
        ("a/x.cch", "1 @A", Format::Rocketfuel),
        ("1755/weights.intra", "a b 1", Format::Weights),
        ("latencies.intra", "a b 1", Format::Latencies),
        ("x.csv", "a,b", Format::EdgeList),
    ] {
        assert_eq!(Format::of(name, text), format, "{name} {text}");
        assert_eq!(format.name().parse(), Ok(format));
    }
}
