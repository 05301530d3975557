//! A run that never was over a large random network: many nodes, links and flows, and long lists
//! in what is said about them.

use weir_measure::{
    ClassRow, DelayMs, DropRow, FlowRow, FlowSample, LinkRow, LinkSample, QueueMs, Report, Role, RunDocument,
    Series, Topology, TopologyLink, TopologyNode, TrafficFigures, WindowRow,
};

const STEP_S: f64 = 0.1;
const CLASSES: [&str; 4] = ["EF", "AF2", "AF1", "BE"];

/// Numbers from 0 to 1 that look random and are always the same.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.unit() * n as f64) as usize).min(n.saturating_sub(1))
    }
}

/// The report of such a run with that many nodes, flows and steps.
pub fn crowd(nodes: usize, flows: usize, samples: usize) -> Report {
    let mut noise = Noise(11);
    let topology = topology(nodes, &mut noise);
    let mut series = Series::with_room(STEP_S, samples, flows, 2 * topology.links.len());
    let class_of: Vec<&str> = (0..flows).map(|i| CLASSES[i * CLASSES.len() / flows.max(1)]).collect();
    let mut ends = vec![(0, 0); flows];
    let mut rows = Vec::with_capacity(flows);
    for (i, flow) in series.flows.iter_mut().enumerate() {
        let rate = 2e5 * (0.2 + noise.unit());
        ends[i] = (noise.below(nodes), noise.below(nodes));
        for _ in 0..samples {
            flow.push(FlowSample {
                goodput_bps: (rate * (0.9 + 0.2 * noise.unit())) as f32,
                delay_ms: Some((40.0 + 30.0 * noise.unit()) as f32),
                sent_rate: (rate / 8192.0) as f32,
                lost: u32::from(noise.unit() < 0.001),
                retransmitted: 0,
            });
        }
        rows.push(FlowRow {
            consumer: format!("n{}", ends[i].0),
            prefix: format!("/{}{i}", class_of[i]),
            group: class_of[i].to_owned(),
            class: class_of[i].to_owned(),
            goodput_bps: rate,
            delay_ms: delay(),
            lost: flow.lost.iter().map(|n| u64::from(*n)).sum(),
            ..FlowRow::default()
        });
    }
    series.sum_classes(&CLASSES, &class_of);
    let mut links = Vec::with_capacity(series.links.len());
    for (i, link) in series.links.iter_mut().enumerate() {
        let TopologyLink { from, to, rate_bps, .. } = &topology.links[i / 2];
        let (from, to) = if i % 2 == 0 { (from, to) } else { (to, from) };
        let used = noise.unit();
        for _ in 0..samples {
            link.push(LinkSample {
                throughput_bps: (used * rate_bps) as f32,
                utilisation: (used * (0.9 + 0.1 * noise.unit())) as f32,
                queue_packets: (4.0 * used * noise.unit()) as f32,
                queue_ms: Some((9.0 * used * noise.unit()) as f32),
                drops: 0,
                lost: 0,
            });
        }
        links.push(LinkRow {
            from: from.clone(),
            to: to.clone(),
            name: None,
            rate_bps: *rate_bps,
            utilisation: used,
            drops: if used > 0.98 { 7 } else { 0 },
            lost: 0,
            down: 0,
            queue_ms: QueueMs { mean: Some(4.0 * used), p99: Some(9.0 * used) },
        });
    }
    let class_row = |class: &&str| ClassRow {
        class: (*class).to_owned(),
        figures: TrafficFigures {
            goodput_bps: rows.iter().filter(|row| row.class == **class).map(|row| row.goodput_bps).sum(),
            delay_ms: delay(),
            ..TrafficFigures::default()
        },
    };
    let classes: Vec<ClassRow> = CLASSES.iter().map(class_row).collect();
    let simulated_s = samples as f64 * STEP_S;
    let window = WindowRow {
        from_s: simulated_s / 2.0,
        to_s: simulated_s,
        flows: rows.clone(),
        classes: classes.clone(),
        groups: Vec::new(),
        links: links.clone(),
        requests: Vec::new(),
        distributions: Vec::new(),
        nodes: Vec::new(),
        optimum: None,
    };
    let provenance = provenance(&topology, &ends, &class_of);
    Report {
        probes: Vec::new(),
        document: RunDocument {
            scenario_text: String::new(),
            lab: None,
            schema: RunDocument::SCHEMA,
            version: String::new(),
            command: String::new(),
            scenario: "examples/random".to_owned(),
            scheme: "qsccp".to_owned(),
            variant: None,
            seed: 1,
            seed_matters: true,
            set: vec![format!("generate.nodes={nodes}"), format!("generate.flows.count={flows}")],
            simulated_s,
            wall_s: 2.4,
            events: 12_345_678,
            packet_hops: 8_765_432,
            drops: vec![DropRow {
                reason: "link queue full".to_owned(),
                place: "queue".to_owned(),
                data: 90,
                interests: 0,
            }],
            data_thrown_away: 0.002,
            flows: rows,
            classes,
            groups: Vec::new(),
            links,
            requests: Vec::new(),
            distributions: Vec::new(),
            nodes: Vec::new(),
            windows: vec![window],
            optimum: None,
            slowdowns: Vec::new(),
            changes: Vec::new(),
            expectations: Vec::new(),
        },
        series,
        topology,
        title: format!("Random network of {nodes} nodes and {flows} flows"),
        source: "A synthetic sample of scale".to_owned(),
        provenance,
        notes: Vec::new(),
    }
}

fn delay() -> DelayMs {
    DelayMs { mean: Some(55.0), p50: Some(54.0), p95: Some(68.0), p99: Some(69.5) }
}

fn topology(nodes: usize, noise: &mut Noise) -> Topology {
    let node = |i: usize| TopologyNode {
        name: format!("n{i}"),
        role: [Role::Peer, Role::Consumer, Role::Producer, Role::Router][i % 4],
        position: Some(((i * 37 % 101) as f32, (i * 53 % 97) as f32)),
    };
    let mut links = Vec::new();
    for i in 1..nodes {
        // To one before, so that all are connected, and to another.
        for other in [noise.below(i), noise.below(i)] {
            links.push(TopologyLink {
                from: format!("n{other}"),
                to: format!("n{i}"),
                rate_bps: 1e6 + (9e6 * noise.unit()).round(),
                delay_ms: 1.0 + (900.0 * noise.unit()).round() / 100.0,
                medium: None,
            });
        }
    }
    Topology { nodes: (0..nodes).map(node).collect(), links, media: Vec::new() }
}

/// As a generated scenario says it: three keys a link, a place a node, and each group of flows with
/// the list of its ends.
fn provenance(topology: &Topology, ends: &[(usize, usize)], class_of: &[&str]) -> Vec<(String, String)> {
    let mut said = vec!["duration = 5 s".to_owned(), "generate.kind = random".to_owned()];
    for node in &topology.nodes {
        let (x, y) = node.position.unwrap_or_default();
        said.push(format!("node.{}.position = [{x}, {y}]", node.name));
    }
    for TopologyLink { from, to, rate_bps, delay_ms, .. } in &topology.links {
        said.push(format!("link.{from}-{to}.rate = {rate_bps} b/s"));
        said.push(format!("link.{from}-{to}.delay = {delay_ms} ms"));
        said.push(format!("link.{from}-{to}.queue = 200 packets"));
    }
    for class in CLASSES {
        let of_class = ends.iter().zip(class_of).filter(|(_, of)| **of == class).map(|(ends, _)| ends);
        let (consumers, producers): (Vec<_>, Vec<_>) =
            of_class.map(|(a, b)| (format!("n{a}"), format!("n{b}"))).unzip();
        said.push(format!("flow.{class}.consumer = {{{}}}", consumers.join(",")));
        said.push(format!("flow.{class}.producer = {{{}}}", producers.join(",")));
        said.push(format!("flow.{class}.payload = 1024 B"));
    }
    let source = "assumed: a network of a country, with links that some flows fill";
    said.into_iter().map(|setting| (setting, source.to_owned())).collect()
}
