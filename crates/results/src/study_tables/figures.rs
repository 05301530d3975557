//! The figures of a run, one by one.

use crate::schema::{Metric, Object, metric};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use weir_measure::{
    ClassRow, DelayMs, DistanceRow, ExpectationRow, FlowRow, GroupRow, Hops, LinkRow, NodeRow, OptimumRow,
    RequestRow, RunDocument, TrafficFigures, WindowRow, jain,
};

/// One figure of a run: a row of the results of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure<'a> {
    /// The part of the run; `None` for an expectation, whose `object` contains it.
    pub window: Option<Window>,
    /// The kind of the object.
    pub kind: Object,
    /// The object, such as `C1 /A`, `EF` or `R2->R3`. Objects with the same name are numbered.
    pub object: Cow<'a, str>,
    /// The service class of a flow.
    pub class: Option<&'a str>,
    /// The group of a flow.
    pub group: Option<&'a str>,
    /// Name of the metric, one of [`metric::ALL`].
    pub metric: &'static str,
    /// Unit of the value.
    pub unit: &'a str,
    /// The value; `None` if there was nothing to measure.
    pub value: Option<f64>,
}

/// A part of a run. Its text is `20:120` for 20 s to 120 s, and `run` for the whole run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// Whether it is the whole run.
    pub is_run: bool,
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_run { f.write_str("run") } else { write!(f, "{}:{}", self.from_s, self.to_s) }
    }
}

/// Every figure of a run: for the whole run, then for each window, then the expectations.
pub fn figures_of(document: &RunDocument) -> impl Iterator<Item = Figure<'_>> {
    let windows = document.windows.iter().map(Part::of_window);
    let parts = std::iter::once(Part::of_run(document)).chain(windows);
    parts.flat_map(Part::figures).chain(expectations(&document.expectations))
}

/// The figures of a document for the whole run or for a window.
struct Part<'a> {
    window: Window,
    flows: &'a [FlowRow],
    groups: &'a [GroupRow],
    classes: &'a [ClassRow],
    links: &'a [LinkRow],
    nodes: &'a [NodeRow],
    requests: &'a [RequestRow],
    optimum: Option<&'a OptimumRow>,
    /// The part of the Data that was thrown away; only for the whole run.
    thrown_away: Option<f64>,
}

impl<'a> Part<'a> {
    fn of_run(document: &'a RunDocument) -> Part<'a> {
        Part {
            window: Window { from_s: 0.0, to_s: document.simulated_s, is_run: true },
            flows: &document.flows,
            groups: &document.groups,
            classes: &document.classes,
            links: &document.links,
            nodes: &document.nodes,
            requests: &document.requests,
            optimum: document.optimum.as_ref(),
            thrown_away: Some(document.data_thrown_away),
        }
    }

    fn of_window(row: &'a WindowRow) -> Part<'a> {
        Part {
            window: Window { from_s: row.from_s, to_s: row.to_s, is_run: false },
            flows: &row.flows,
            groups: &row.groups,
            classes: &row.classes,
            links: &row.links,
            nodes: &row.nodes,
            requests: &row.requests,
            optimum: row.optimum.as_ref(),
            thrown_away: None,
        }
    }

    fn figures(self) -> Vec<Figure<'a>> {
        let mut figures = Vec::new();
        self.flows(&mut figures);
        for group in self.groups {
            figures.extend(of_object(Object::Group, &group.group, traffic(&group.figures)));
        }
        for class in self.classes {
            figures.extend(of_object(Object::Class, &class.class, traffic(&class.figures)));
        }
        let names = numbered(self.links.iter().map(|link| format!("{}->{}", link.from, link.end())));
        for (link, name) in self.links.iter().zip(names) {
            figures.extend(of_object(Object::Link, name, of_link(link)));
        }
        for node in self.nodes {
            figures.extend(of_object(Object::Node, &node.node, of_node(node)));
        }
        for row in self.requests {
            let name = format!("{} {}", row.group, row.size);
            figures.extend(of_object(Object::Requests, name, of_requests(row)));
        }
        figures.extend(of_object(Object::Run, Object::Run.name(), self.of_all_flows()));
        for figure in &mut figures {
            figure.window = Some(self.window);
        }
        figures
    }

    fn flows(&self, figures: &mut Vec<Figure<'a>>) {
        let names = numbered(self.flows.iter().map(|flow| format!("{} {}", flow.consumer, flow.prefix)));
        for (i, (flow, name)) in self.flows.iter().zip(names).enumerate() {
            let best = self.optimum.and_then(|optimum| optimum.flows.get(i));
            let unshared = best.and_then(|best| best.unshared_goodput_bps);
            let mut values = of_flow(flow);
            values.extend(best.map(|best| (metric::OPTIMUM, Some(best.goodput_bps))));
            values.extend(unshared.map(|goodput| (metric::OPTIMUM_UNSHARED, Some(goodput))));
            let of_flow = of_object(Object::Flow, name, values);
            figures.extend(of_flow.map(|figure| Figure {
                class: not_empty(&flow.class),
                group: not_empty(&flow.group),
                ..figure
            }));
        }
    }

    fn of_all_flows(&self) -> Values {
        let goodputs: Vec<f64> = self.flows.iter().map(|flow| flow.goodput_bps).collect();
        let mut values =
            vec![(metric::GOODPUT, Some(goodputs.iter().sum())), (metric::JAIN, jain(&goodputs))];
        if let Some(DistanceRow { mean, largest, lowest, highest, within_5_percent }) =
            self.optimum.map(|optimum| optimum.distance)
        {
            values.extend([
                (metric::DISTANCE_MEAN, mean),
                (metric::DISTANCE_LARGEST, largest),
                (metric::DISTANCE_LOWEST, lowest),
                (metric::DISTANCE_HIGHEST, highest),
                (metric::WITHIN_5_PERCENT, within_5_percent),
            ]);
        }
        values.extend(self.thrown_away.map(|part| (metric::THROWN_AWAY, Some(part))));
        if let Some(optimum) = self.optimum {
            values.push((metric::WEIGHTED_JAIN, optimum.weighted_jain));
        }
        if let Some(target) = self.optimum.and_then(|optimum| optimum.target) {
            values.push((metric::TARGET_DISTANCE_MEAN, target.distance.mean));
        }
        values
    }
}

/// The metrics of an object.
pub(crate) type Values = Vec<(Metric, Option<f64>)>;

fn of_object<'a>(
    kind: Object,
    object: impl Into<Cow<'a, str>>,
    values: Values,
) -> impl Iterator<Item = Figure<'a>> {
    let object = object.into();
    values.into_iter().map(move |(metric, value)| Figure {
        window: None,
        kind,
        object: object.clone(),
        class: None,
        group: None,
        metric: metric.name,
        unit: metric.unit.unwrap_or_default(),
        value: value.filter(|value| value.is_finite()),
    })
}

fn of_flow(flow: &FlowRow) -> Values {
    let mut values = vec![(metric::GOODPUT, Some(flow.goodput_bps))];
    values.extend(of_delay(&flow.delay_ms));
    values.extend(of_packets(flow.lost, flow.retransmitted, flow.timeouts));
    values.push((metric::COMPLETION, flow.completion_s));
    values.extend(of_hops(flow.hops.as_ref()));
    values
}

/// The metrics of a group or a class.
fn traffic(figures: &TrafficFigures) -> Values {
    let mut values = vec![(metric::GOODPUT, Some(figures.goodput_bps))];
    values.extend(of_delay(&figures.delay_ms));
    values.extend(of_packets(figures.lost, figures.retransmitted, figures.timeouts));
    values.push((metric::COMPLETION, figures.completion_s));
    values.push((metric::COMPLETION_MEAN, figures.completion_mean_s));
    values.push((metric::JAIN, figures.jain));
    values.extend(of_hops(figures.hops.as_ref()));
    values
}

fn of_delay(delay: &DelayMs) -> [(Metric, Option<f64>); 4] {
    [
        (metric::DELAY_MEAN, delay.mean),
        (metric::DELAY_P50, delay.p50),
        (metric::DELAY_P95, delay.p95),
        (metric::DELAY_P99, delay.p99),
    ]
}

fn of_packets(lost: u64, retransmitted: u64, timeouts: u64) -> [(Metric, Option<f64>); 3] {
    [
        (metric::LOST, Some(lost as f64)),
        (metric::RETRANSMITTED, Some(retransmitted as f64)),
        (metric::TIMEOUTS, Some(timeouts as f64)),
    ]
}

fn of_link(link: &LinkRow) -> Values {
    vec![
        (metric::RATE, Some(link.rate_bps)),
        (metric::UTILISATION, Some(link.utilisation)),
        (metric::DROPS, Some(link.drops as f64)),
        (metric::LOST_AT_RANDOM, Some(link.lost as f64)),
        (metric::DOWN, Some(link.down as f64)),
        (metric::QUEUE_MEAN, link.queue_ms.mean),
        (metric::QUEUE_P99, link.queue_ms.p99),
    ]
}

fn of_hops(hops: Option<&Hops>) -> Option<(Metric, Option<f64>)> {
    Some((metric::HOPS_MEAN, hops?.mean))
}

pub(crate) fn of_requests(row: &RequestRow) -> Values {
    let mut values = vec![
        (metric::CAME, Some(row.came as f64)),
        (metric::COMPLETED, Some(row.completed as f64)),
        (metric::REQUEST_MEAN, row.completion_ms.mean),
        (metric::REQUEST_P99, row.completion_ms.p99),
        (metric::SLOWDOWN_MEAN, row.slowdown.mean),
        (metric::SLOWDOWN_P99, row.slowdown.p99),
    ];
    if let Some(ideal) = row.ideal_slowdown {
        values.extend([(metric::IDEAL_SLOWDOWN_MEAN, ideal.mean), (metric::IDEAL_SLOWDOWN_P99, ideal.p99)]);
    }
    values
}

fn of_node(node: &NodeRow) -> Values {
    let dropped: u64 = node.drops.iter().map(|row| row.data + row.interests).sum();
    let count = |count: u64| Some(count as f64);
    vec![
        (metric::CACHE_HITS, count(node.cache_hits)),
        (metric::CACHE_MISSES, count(node.cache_misses)),
        (metric::CACHE_INSERTIONS, count(node.cache_insertions)),
        (metric::CACHE_EVICTIONS, count(node.cache_evictions)),
        (metric::CACHE_HIT_RATIO, node.cache_hit_ratio),
        (metric::PIT_MEAN, node.pit_mean),
        (metric::PIT_MAX, count(node.pit_max)),
        (metric::NODE_DROPS, count(dropped)),
    ]
}

fn expectations(rows: &[ExpectationRow]) -> impl Iterator<Item = Figure<'_>> {
    let names = numbered(rows.iter().map(|row| row.what.clone()));
    rows.iter().zip(names).flat_map(|(row, name)| {
        let mut values = vec![(metric::MEASURED, row.measured.filter(|_| !row.never))];
        values.extend(row.never.then_some((metric::UNSETTLED, row.measured)));
        values.push((metric::STATED, row.stated));
        values.push((metric::HOLDS, row.holds.map(|holds| f64::from(u8::from(holds)))));
        let figures = of_object(Object::Expectation, name, values);
        figures.map(|figure| Figure {
            unit: if figure.unit.is_empty() { &row.unit } else { figure.unit },
            ..figure
        })
    })
}

/// The names, with a number after each that occurs several times: `A #1`, `A #2`.
fn numbered(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for name in &names {
        counts.entry(name.clone()).or_default().0 += 1;
    }
    for name in &mut names {
        if let Some((_, number)) = counts.get_mut(name).filter(|(all, _)| *all > 1) {
            *number += 1;
            *name += &format!(" #{number}");
        }
    }
    names
}

fn not_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
