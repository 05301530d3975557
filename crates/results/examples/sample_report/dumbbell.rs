//! A run that never was: four classes over a dumbbell with a bottleneck of 10 Mb/s, with a
//! transient at the start, a greedy flow in the middle, and losses where it pushes too hard.

use weir_core::seam::Gauge;
use weir_core::units::Span;
use weir_measure::ChangeRow;
use weir_measure::{
    ClassRow, ControlSample, DelayHistogram, Distribution, DistributionRow, DropRow, ExpectationRow, FlowRow,
    FlowSample, GroupRow, Hops, LinkRow, LinkSample, NodeRow, NodeSample, NodeSeries, OptimumFlowRow,
    OptimumRow, Relation, Report, Role, RunDocument, Series, Topology, TopologyLink, TopologyMedium,
    TopologyNode, TrafficFigures, WindowRow,
};

const STEP_S: f64 = 0.1;
const CLASSES: [(&str, f64, f64); 4] =
    [("EF", 1.0e6, 100.4), ("AF2", 4.45e6, 101.8), ("AF1", 2.97e6, 103.1), ("BE", 1.48e6, 112.0)];

/// Numbers that look random and are always the same.
struct Noise(u64);

impl Noise {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Roughly normal, mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.unit()).sum::<f64>() * 1.414 - 4.243
    }
}

/// The report of such a run with that many flows and steps.
pub fn dumbbell(flows: usize, samples: usize) -> Report {
    let topology = topology();
    let mut series = Series::with_room(STEP_S, samples, flows, topology.links.len() * 2);
    let mut noise = Noise(7);
    let class_of: Vec<&str> = (0..flows).map(|i| CLASSES[class_index(i, flows)].0).collect();
    let mut delays: Vec<DelayHistogram> = vec![DelayHistogram::new(); flows];

    for (i, flow) in series.flows.iter_mut().enumerate() {
        let class = class_index(i, flows);
        let (_, rate, delay) = CLASSES[class];
        let members = (0..flows).filter(|j| class_index(*j, flows) == class).count() as f64;
        let own = 1.0 + 0.08 * noise.normal() / (1.0 + class as f64);
        let mut wander = 0.0;
        for k in 0..samples {
            let part = k as f64 / samples as f64;
            let ramp = 1.0 - (-(k as f64) * STEP_S / (0.8 + 0.6 * class as f64)).exp();
            let spread = [0.01, 0.06, 0.08, 0.22][class];
            wander = 0.9 * wander + 0.44 * spread * noise.normal();
            let greedy = class == 3 && (0.5..0.7).contains(&part) && i % 10 == 3;
            let push = if greedy { 1.35 } else { 1.0 };
            let goodput = (rate / members * own * ramp * push * (1.0 + wander)).max(0.0);
            let queueing = if (0.5..0.7).contains(&part) { [0.3, 1.2, 2.5, 14.0][class] } else { 0.0 };
            let jitter = [0.05, 0.4, 0.7, 3.5][class] * noise.normal().abs();
            let mean = delay + queueing + jitter;
            if k > 0 {
                delays[i].record((mean * 1e6) as u64);
            }
            let lost = u32::from(greedy && noise.unit() < 0.25) * (1 + (noise.unit() * 3.0) as u32);
            flow.control.push(&ControlSample {
                gauge: Gauge::Window(4.0 + goodput / 2e5),
                pending: (goodput / 2e5) as u32,
                srtt: (k > 0).then(|| Span::from_millis(mean as u64)),
                rto: Span::from_millis(200),
                base_rtt: (k > 0).then(|| Span::from_millis(delay as u64)),
            });
            flow.push(FlowSample {
                goodput_bps: goodput as f32,
                delay_ms: (k > 0).then_some(mean as f32),
                sent_rate: (goodput / 8192.0 * 1.01) as f32,
                lost,
                retransmitted: lost + u32::from(greedy && noise.unit() < 0.05),
            });
        }
    }
    let names: Vec<&str> = CLASSES.iter().map(|class| class.0).collect();
    series.sum_classes(&names, &class_of);

    let mut links = Vec::new();
    for link in &topology.links {
        for (from, to, data) in [(&link.from, &link.to, false), (&link.to, &link.from, true)] {
            let row = links.len();
            let bottleneck = from == "R3" && to == "R2";
            let mut queueing = DelayHistogram::new();
            let mut used = 0.0;
            let mut dropped = 0;
            for k in 0..samples {
                let part = k as f64 / samples as f64;
                // Which flows cross it: all on the trunk, those of one class at the edges.
                let edge = [from, to].into_iter().find(|node| !node.starts_with('R'));
                let content: f64 = (0..4)
                    .filter(|class| edge.is_none_or(|node| node.ends_with(&(class + 1).to_string())))
                    .map(|class| f64::from(series.classes[class].goodput_bps[k]))
                    .sum();
                let throughput = if data { content * 1.055 } else { content * 0.045 };
                let busy = (throughput / link.rate_bps).min(1.0);
                let pressed = bottleneck && (0.5..0.7).contains(&part);
                let packets = match (bottleneck, pressed) {
                    (_, true) => 13.0 + 3.0 * noise.normal(),
                    (true, _) => 1.6 + 0.7 * noise.normal().abs(),
                    _ => busy * busy * noise.unit(),
                };
                let packets = packets.clamp(0.0, 20.0);
                let queue_ms = packets * 8624.0 / link.rate_bps * 1e3;
                queueing.record((queue_ms * 1e6) as u64);
                let drops = if bottleneck { series.flows.iter().map(|flow| flow.lost[k]).sum() } else { 0 };
                used += busy;
                dropped += u64::from(drops);
                series.links[row].push(LinkSample {
                    throughput_bps: throughput as f32,
                    utilisation: busy as f32,
                    queue_packets: packets as f32,
                    queue_ms: (throughput > 0.0).then_some(queue_ms as f32),
                    drops,
                    lost: 0,
                });
            }
            links.push(LinkRow {
                from: from.clone(),
                to: to.clone(),
                name: None,
                rate_bps: link.rate_bps,
                utilisation: used / samples.max(1) as f64,
                drops: dropped,
                lost: 0,
                down: 0,
                queue_ms: queueing.queue_ms(),
            });
        }
    }

    // The routers have caches.
    let mut nodes = Vec::new();
    for node in &topology.nodes {
        let mut of_node = NodeSeries::with_room(samples);
        let has_cache = node.name.starts_with('R');
        for k in 0..samples as u32 {
            let asked = u32::from(has_cache) * (20 + k % 7);
            let cached_packets = u32::from(has_cache) * (10 * k).min(500);
            let cache_hits = asked.min(k / 10);
            let cache_misses = asked - cache_hits;
            of_node.push(NodeSample { cache_hits, cache_misses, cached_packets, pit: 12 + k % 5, drops: 0 });
        }
        let sum = |of: &[u32]| of.iter().map(|&count| u64::from(count)).sum::<u64>();
        let (hits, misses) = (sum(&of_node.cache_hits), sum(&of_node.cache_misses));
        nodes.push(NodeRow {
            node: node.name.clone(),
            cache_hits: hits,
            cache_misses: misses,
            cache_insertions: misses,
            cache_evictions: misses.saturating_sub(500),
            cache_hit_ratio: (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64),
            pit_mean: Some(14.0),
            pit_max: 16,
            drops: Vec::new(),
        });
        series.nodes.push(of_node);
    }

    let flow_rows: Vec<FlowRow> = series
        .flows
        .iter()
        .enumerate()
        .map(|(i, flow)| FlowRow {
            consumer: format!("C{}", class_index(i, flows) + 1),
            prefix: format!("/{}{}", ["A", "B", "C", "D"][class_index(i, flows)], i % 10 + i / 40 * 10),
            group: class_of[i].to_owned(),
            class: class_of[i].to_owned(),
            goodput_bps: mean(&flow.goodput_bps),
            delay_ms: delays[i].delay_ms(),
            lost: flow.lost.iter().map(|n| u64::from(*n)).sum(),
            retransmitted: flow.retransmitted.iter().map(|n| u64::from(*n)).sum(),
            timeouts: flow.lost.iter().filter(|n| **n > 2).count() as u64,
            completion_s: None,
            hops: Some(Hops { mean: Some(3.0), counts: vec![0, 0, 0, 500] }),
        })
        .collect();
    let class_rows: Vec<ClassRow> = CLASSES
        .iter()
        .map(|(class, ..)| {
            let members = || flow_rows.iter().filter(|row| row.class == *class);
            let mut all = DelayHistogram::new();
            class_of.iter().zip(&delays).filter(|(of, _)| *of == class).for_each(|(_, own)| all.merge(own));
            let figures = TrafficFigures {
                jain: None,
                hops: Some(Hops { mean: Some(3.0), counts: vec![0, 0, 0, 5000] }),
                goodput_bps: members().map(|row| row.goodput_bps).sum(),
                delay_ms: all.delay_ms(),
                lost: members().map(|row| row.lost).sum(),
                retransmitted: members().map(|row| row.retransmitted).sum(),
                timeouts: members().map(|row| row.timeouts).sum(),
                completion_s: None,
                completion_mean_s: None,
            };
            ClassRow { class: (*class).to_owned(), figures }
        })
        .collect();
    let lost: u64 = class_rows.iter().map(|row| row.figures.lost).sum();
    let simulated_s = samples as f64 * STEP_S;
    let goodput = |class: usize, stated: f64| {
        expectation(
            &format!("goodput of class {}, 20 s to {simulated_s} s", CLASSES[class].0),
            "bit/s",
            stated,
            class_rows[class].figures.goodput_bps,
            0.05,
        )
    };
    let expectations = vec![
        goodput(0, 1e6),
        goodput(1, 4.5e6),
        goodput(2, 3e6),
        goodput(3, 1.5e6),
        expectation(
            "mean delay of class EF",
            "ms",
            100.0,
            class_rows[0].figures.delay_ms.mean.unwrap_or(0.0),
            0.02,
        ),
        expectation("lost Data packets", "packets", 0.0, lost as f64, 0.0),
        ExpectationRow {
            what: "time to settle of class EF".to_owned(),
            source: "theory: some round trips".to_owned(),
            unit: "s".to_owned(),
            stated: Some(2.0),
            measured: Some(0.5),
            bound: Relation::AtMost,
            holds: Some(true),
            ..ExpectationRow::default()
        },
        ExpectationRow {
            what: "goodput of class EF".to_owned(),
            source: "paper, section V-B, figure 9".to_owned(),
            unit: "bit/s".to_owned(),
            measured: Some(class_rows[0].figures.goodput_bps),
            bound: Relation::MoreThan,
            than: vec!["fixed".to_owned()],
            ..ExpectationRow::default()
        },
    ];
    // A group a class.
    let groups: Vec<GroupRow> = class_rows.iter().map(group_row).collect();
    let window = WindowRow {
        from_s: 20.0,
        to_s: simulated_s,
        flows: flow_rows.clone(),
        classes: class_rows.clone(),
        groups: groups.clone(),
        links: links.clone(),
        requests: Vec::new(),
        distributions: Vec::new(),
        nodes: nodes.clone(),
        optimum: Some(optimum(&flow_rows)),
    };
    Report {
        probes: Vec::new(),
        document: RunDocument {
            scenario_text: String::new(),
            lab: None,
            schema: RunDocument::SCHEMA,
            version: String::new(),
            command: String::new(),
            scenario: "qsccp/dumbbell".to_owned(),
            scheme: "qsccp".to_owned(),
            variant: None,
            seed: 1,
            seed_matters: true,
            set: Vec::new(),
            simulated_s,
            wall_s: 0.92,
            events: 2_713_004,
            packet_hops: 3_402_118,
            drops: vec![
                DropRow {
                    reason: "link queue full".to_owned(),
                    place: "queue".to_owned(),
                    data: lost,
                    interests: 0,
                },
                DropRow {
                    reason: "out of the lifetime".to_owned(),
                    place: "node".to_owned(),
                    data: 3,
                    interests: 0,
                },
            ],
            data_thrown_away: 0.004,
            flows: flow_rows,
            classes: class_rows,
            groups,
            links,
            requests: Vec::new(),
            distributions: distributions(),
            nodes,
            windows: vec![window],
            optimum: None,
            slowdowns: Vec::new(),
            changes: vec![ChangeRow {
                at_s: simulated_s / 2.0,
                what: "AF1 asks for 2 Mb/s at most".to_owned(),
            }],
            expectations,
        },
        series,
        topology,
        title: "Four classes over a dumbbell".to_owned(),
        source: "A synthetic sample, shaped like QSCCP, section V-B, figure 8".to_owned(),
        provenance: [
            ("link.R2-R3.rate = 10 Mb/s", "paper, section V-B"),
            ("link.*.rate = 100 Mb/s", "authors' scenario file"),
            ("link.*.delay = 10 ms", "authors' scenario file"),
            ("queue = 20 packets", "authors' scenario file"),
            ("class.EF.limit = 1 Mb/s", "paper, section V-B"),
            ("weights AF2 : AF1 : BE = 3 : 2 : 1", "paper, table II"),
            ("payload = 1024 B", "paper, section V-A"),
            ("lifetime = 2 s", "assumed: the default of the protocol"),
        ]
        .map(|(key, text)| (key.to_owned(), text.to_owned()))
        .to_vec(),
        notes: vec![
            "These figures come from a generator of examples. They show the page, not a scheme.".to_owned(),
        ],
    }
}

/// The same with the consumers and R1 on one medium.
pub fn on_air(mut report: Report) -> Report {
    let stations = ["R1", "C1", "C2", "C3", "C4"].map(str::to_owned);
    for link in &mut report.topology.links {
        if stations.contains(&link.from) && stations.contains(&link.to) {
            (link.medium, link.rate_bps, link.delay_ms) = (Some(0), 24e6, 0.0);
        }
    }
    report.topology.media.push(TopologyMedium { name: "wifi".to_owned(), stations: stations.to_vec() });
    report
}

/// Each class divided among its flows.
fn optimum(flows: &[FlowRow]) -> OptimumRow {
    let best = |flow: &FlowRow| {
        let members = flows.iter().filter(|other| other.class == flow.class).count() as f64;
        let rate = CLASSES.iter().find(|(class, ..)| *class == flow.class).map_or(0.0, |(_, rate, _)| *rate);
        OptimumFlowRow {
            consumer: flow.consumer.clone(),
            prefix: flow.prefix.clone(),
            class: flow.class.clone(),
            goodput_bps: rate / members,
            unshared_goodput_bps: None,
        }
    };
    OptimumRow::new("link-fair", 0.99, flows.iter().map(best).collect(), flows)
}

/// Ten flows a class in turn, or as many as there are.
fn class_index(flow: usize, flows: usize) -> usize {
    flow * 4 / flows.max(1)
}

fn mean(values: &[f32]) -> f64 {
    values.iter().map(|x| f64::from(*x)).sum::<f64>() / values.len().max(1) as f64
}

fn expectation(what: &str, unit: &str, stated: f64, measured: f64, tolerance: f64) -> ExpectationRow {
    let slack = if stated == 0.0 { tolerance } else { tolerance * stated };
    ExpectationRow {
        what: what.to_owned(),
        source: "paper, section V-B, figure 9".to_owned(),
        unit: unit.to_owned(),
        stated: Some(stated),
        measured: Some(measured),
        tolerance,
        holds: Some((measured - stated).abs() <= slack),
        ..ExpectationRow::default()
    }
}

fn topology() -> Topology {
    let names = ["C1", "C2", "C3", "C4", "R1", "R2", "R3", "R4", "P1", "P2", "P3", "P4"];
    let nodes = names.map(|name| TopologyNode {
        name: name.to_owned(),
        role: match &name[..1] {
            "C" => Role::Consumer,
            "P" => Role::Producer,
            _ => Role::Router,
        },
        position: None,
    });
    let pairs = [
        ("C1", "R1"),
        ("C2", "R1"),
        ("C3", "R1"),
        ("C4", "R1"),
        ("R1", "R2"),
        ("R2", "R3"),
        ("R3", "R4"),
        ("R4", "P1"),
        ("R4", "P2"),
        ("R4", "P3"),
        ("R4", "P4"),
    ];
    let links = pairs.map(|(from, to)| TopologyLink {
        from: from.to_owned(),
        to: to.to_owned(),
        rate_bps: if (from, to) == ("R2", "R3") { 10e6 } else { 100e6 },
        delay_ms: 10.0,
        medium: None,
    });
    Topology { nodes: nodes.to_vec(), links: links.to_vec(), media: Vec::new() }
}

fn group_row(row: &ClassRow) -> GroupRow {
    GroupRow { group: row.class.clone(), figures: row.figures.clone() }
}

/// Delays around 60 ms and 80 ms.
fn distributions() -> Vec<DistributionRow> {
    let row = |(name, least): (&str, f64)| {
        let mut delays = Distribution::new("ms", 0.05);
        (1..1000).for_each(|k| delays.record(least - 10.0 * (f64::from(k) / 1000.0).ln()));
        DistributionRow::of("delay", "class", name.to_owned(), delays)
    };
    [("EF", 50.0), ("BE", 70.0)].into_iter().filter_map(row).collect()
}
