//! The data of the plots on a sweep's page.
//!
//! The page contains only the first groups of flows, as many as [`VALUES`] allows. The document contains all.

use super::{SweepDocument, SweepPeriod, SweepRow};
use crate::comparison::is_one_group_each;
use crate::html::script_data;
use crate::model::{DistanceComparison, LinkComparison, RequestComparison, TrafficComparison};
use crate::plot::numbers_of_styles;
use crate::requests;
use serde::Serialize;
use std::collections::BTreeMap;
use weir_measure::Estimate;

/// Largest number of figures in a page, besides those of all flows and of classes.
const VALUES: usize = 150_000;

/// The page's data; `web/src/sweep.ts` has the same shape.
#[derive(Serialize)]
struct Page<'a> {
    axes: Vec<Axis<'a>>,
    schemes: Vec<String>,
    /// For each scheme the number of its style in figures.
    styles: Vec<u32>,
    seeds: usize,
    parts: Vec<String>,
    rows: Vec<Row>,
    metrics: Vec<Metric>,
    /// Number of groups left out.
    groups_left_out: usize,
}

#[derive(Serialize)]
struct Axis<'a> {
    name: &'a str,
    unit: Option<&'a str>,
    values: Vec<&'a str>,
    positions: &'a [f64],
}

/// A point and a scheme.
#[derive(Serialize)]
struct Row {
    /// The index of its value on each axis.
    at: Vec<usize>,
    /// The index of its scheme.
    scheme: usize,
    /// The reason why figures are missing, entirely or for some seeds.
    trouble: Option<String>,
}

/// A kind of figure.
#[derive(Serialize)]
struct Metric {
    key: &'static str,
    title: &'static str,
    unit: &'static str,
    figures: Vec<Figure>,
}

/// A figure of one object.
#[derive(Serialize)]
struct Figure {
    of: String,
    /// For each part of the runs, the values in the order of rows; empty if it has none.
    parts: Vec<Vec<Option<Value>>>,
}

/// Mean, interval, number of seeds, number of distinct values.
#[derive(Serialize)]
struct Value(f64, Option<f64>, u64, u64);

impl From<Estimate> for Value {
    fn from(estimate: Estimate) -> Value {
        Value(estimate.mean, estimate.ci95, estimate.n, estimate.distinct)
    }
}

/// Key, title, unit and value of a figure.
type Kind<Of> = (&'static str, &'static str, &'static str, fn(&Of) -> Option<Estimate>);

const TRAFFIC: [Kind<TrafficComparison>; 8] = [
    ("goodput", "Goodput", "bit/s", |row| row.goodput_bps),
    ("delay_mean", "Delay, mean", "ms", |row| row.delay_ms.mean),
    ("delay_p99", "Delay, 99th percentile", "ms", |row| row.delay_ms.p99),
    ("lost", "Data lost", "packets", |row| row.lost),
    ("retransmitted", "Retransmitted Interests", "packets", |row| row.retransmitted),
    ("jain", "Unweighted Jain's index", "1", |row| row.jain),
    ("completion_mean", "Completion, mean", "s", |row| row.completion_mean_s),
    ("completion_last", "Completion, last flow", "s", |row| row.completion_s),
];
const REQUESTS: [Kind<RequestComparison>; 5] = [
    ("request_mean", "Completion of requests, mean", "ms", |row| row.completion_ms.mean),
    ("request_p99", "Completion of requests, 99th percentile", "ms", |row| row.completion_ms.p99),
    ("slowdown_mean", "Slowdown of requests, mean", "1", |row| row.slowdown.mean),
    ("slowdown_p99", "Slowdown of requests, 99th percentile", "1", |row| row.slowdown.p99),
    ("complete", "Requests complete", "%", |row| row.complete),
];
const LINKS: [Kind<LinkComparison>; 4] = [
    ("utilisation", "Utilisation of a link", "%", |row| row.utilisation),
    ("drops", "Drops of a link", "packets", |row| row.drops),
    ("queue_mean", "Queueing delay, mean", "ms", |row| row.queue_ms.mean),
    ("queue_p99", "Queueing delay, 99th percentile", "ms", |row| row.queue_ms.p99),
];
const DISTANCES: [Kind<DistanceComparison>; 3] = [
    ("weighted_jain", "Weighted Jain's index", "1", |row| row.weighted_jain),
    ("distance", "Distance from the optimum, mean", "%", |row| row.distance.mean),
    ("near", "Flows within 5 % of the optimum", "%", |row| row.distance.within_5_percent),
];

/// The page's data as JSON that is safe between script tags.
pub(super) fn data(document: &SweepDocument) -> String {
    let parts = document.parts();
    let each = TRAFFIC.len() * parts.max(1) * document.rows.len().max(1);
    let names = names(document, VALUES / each);
    let mut metrics = Vec::new();
    let mut add = |(key, title, unit), figures: Vec<Figure>| {
        let figures: Vec<Figure> =
            figures.into_iter().filter(|figure| figure.parts.iter().any(|part| !part.is_empty())).collect();
        if !figures.is_empty() {
            metrics.push(Metric { key, title, unit, figures });
        }
    };
    for (key, title, unit, of) in REQUESTS {
        let requests = names.requests.iter().map(|(group, size)| {
            let is_it = |row: &&RequestComparison| row.group == *group && row.size == *size;
            figure(&requests::name(group, size), document, |period| of(period.requests.iter().find(is_it)?))
        });
        add((key, title, unit), requests.collect());
    }
    for (key, title, unit, of) in TRAFFIC {
        let all = figure("all flows", document, |period| of(&period.all));
        let classes = names.classes.iter().map(|name| {
            figure(&format!("class {name}"), document, |period| of(named(&period.classes, name)?))
        });
        let groups = names.groups.iter().map(|name| {
            figure(&format!("group {name}"), document, |period| of(named(&period.groups, name)?))
        });
        add((key, title, unit), [all].into_iter().chain(classes).chain(groups).collect());
    }
    for (key, title, unit, of) in LINKS {
        let links = names.links.iter().map(|(from, to)| {
            let link = |period: &SweepPeriod| {
                period.links.iter().find(|link| link.from == *from && link.to == *to).and_then(of)
            };
            figure(&format!("{from} → {to}"), document, link)
        });
        add((key, title, unit), links.collect());
    }
    for (key, title, unit, of) in DISTANCES {
        add((key, title, unit), vec![figure("all flows", document, |period| of(period.distances.first()?))]);
    }
    script_data(&Page {
        axes: axes(document),
        schemes: schemes(document),
        styles: numbers_of_styles(schemes(document).iter().map(String::as_str), &document.styles),
        seeds: document.seeds.len(),
        parts: (0..parts).map(|at| document.part_name(at)).collect(),
        rows: rows(document),
        metrics,
        groups_left_out: names.groups_left_out,
    })
}

/// The axes. For a sweep without axes, the scenario is the only point of one.
fn axes(document: &SweepDocument) -> Vec<Axis<'_>> {
    let axes = document.axes.iter().map(|axis| Axis {
        name: &axis.name,
        unit: axis.unit.as_deref(),
        values: axis.values.iter().map(String::as_str).collect(),
        positions: &axis.positions,
    });
    let none = || Axis { name: "scenario", unit: None, values: vec![&document.scenario], positions: &[] };
    if document.axes.is_empty() { vec![none()] } else { axes.collect() }
}

/// The schemes, each with its variant if it has the same in all rows.
fn schemes(document: &SweepDocument) -> Vec<String> {
    let name = |scheme: &String| {
        let mut rows = document.rows.iter().filter(|row| row.scheme == *scheme && row.runs > 0);
        let first = rows.next().filter(|first| rows.all(|row| row.variant == first.variant));
        first.map_or_else(|| scheme.clone(), SweepRow::name)
    };
    every_scheme(document).iter().map(name).collect()
}

/// The schemes of the document, then any others in its rows.
fn every_scheme(document: &SweepDocument) -> Vec<String> {
    let mut schemes = document.schemes.clone();
    for row in &document.rows {
        if !schemes.contains(&row.scheme) {
            schemes.push(row.scheme.clone());
        }
    }
    schemes
}

fn rows(document: &SweepDocument) -> Vec<Row> {
    let places = |values: &[String]| -> BTreeMap<String, usize> {
        values.iter().enumerate().map(|(at, value)| (value.clone(), at)).collect()
    };
    let axes: Vec<BTreeMap<String, usize>> = document.axes.iter().map(|axis| places(&axis.values)).collect();
    let schemes = places(&every_scheme(document));
    let place = |places: &BTreeMap<String, usize>, value: &String| places.get(value).copied().unwrap_or(0);
    let row = |row: &SweepRow| Row {
        at: match axes.is_empty() {
            true => vec![0],
            false => axes.iter().zip(&row.values).map(|(places_of, value)| place(places_of, value)).collect(),
        },
        scheme: place(&schemes, &row.scheme),
        trouble: row.trouble(),
    };
    document.rows.iter().map(row).collect()
}

/// The objects of the rows.
#[derive(Default)]
struct Names {
    classes: Vec<String>,
    groups: Vec<String>,
    links: Vec<(String, String)>,
    /// Groups and sizes, those of all together first.
    requests: Vec<(String, String)>,
    groups_left_out: usize,
}

/// The objects of all rows, but at most this many groups, and no groups if they equal the classes.
fn names(document: &SweepDocument, most: usize) -> Names {
    let periods = || document.rows.iter().flat_map(|row| &row.periods);
    let mut names = Names {
        classes: unique(periods().flat_map(|period| &period.classes).map(|row| row.name.clone())),
        links: unique(
            periods().flat_map(|period| &period.links).map(|link| (link.from.clone(), link.to.clone())),
        ),
        requests: unique(
            periods()
                .flat_map(|period| period.requests.iter().rev())
                .map(|row| (row.group.clone(), row.size.clone())),
        ),
        ..Names::default()
    };
    if !periods().all(|period| is_one_group_each(&period.classes, &period.groups)) {
        names.groups = unique(periods().flat_map(|period| &period.groups).map(|row| row.name.clone()));
        names.groups_left_out = names.groups.len().saturating_sub(most);
        names.groups.truncate(most);
    }
    names
}

/// Removes repeated names; the order stays.
fn unique<Name: Ord + Clone>(names: impl Iterator<Item = Name>) -> Vec<Name> {
    let mut places: BTreeMap<Name, usize> = BTreeMap::new();
    for name in names {
        let next = places.len();
        places.entry(name).or_insert(next);
    }
    let mut names: Vec<(Name, usize)> = places.into_iter().collect();
    names.sort_by_key(|(_, place)| *place);
    names.into_iter().map(|(name, _)| name).collect()
}

fn named<'a>(rows: &'a [TrafficComparison], name: &str) -> Option<&'a TrafficComparison> {
    rows.iter().find(|row| row.name == name)
}

/// A figure of one object in all rows, over each part of the runs.
fn figure(of: &str, document: &SweepDocument, value: impl Fn(&SweepPeriod) -> Option<Estimate>) -> Figure {
    let part = |at: usize| {
        let values = document.rows.iter().map(|row| row.periods.get(at).and_then(&value).map(Value::from));
        let values: Vec<Option<Value>> = values.collect();
        if values.iter().all(Option::is_none) { Vec::new() } else { values }
    };
    Figure { of: of.to_owned(), parts: (0..document.parts()).map(part).collect() }
}
