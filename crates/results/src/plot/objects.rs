//! What bars, points and lines are of, and the metrics of that.

use std::collections::BTreeMap;

use weir_core::words::did_you_mean_or;
use weir_figure::Style;
use weir_measure::{RequestRow, RunDocument};

use super::{By, PlotError, PlottedRun, View};
use crate::comparison::part;
use crate::requests::{self, ALL_SIZES};
use crate::schema::{Metric, Object, metric};
use crate::study_tables::{self, figures_of};

/// The name of all flows together.
pub(super) const TOGETHER: &str = "all flows";
/// So many objects at most are shown if none are chosen.
pub(super) const SHOWN: usize = 12;

impl By {
    pub(super) fn object(self) -> Object {
        match self {
            By::Class => Object::Class,
            By::Group => Object::Group,
            By::Flow => Object::Flow,
            By::Scheme => Object::Run,
            By::Link => Object::Link,
        }
    }
}

/// The names of the objects of a run.
pub(super) fn names(run: &PlottedRun, by: By) -> Vec<String> {
    if by == By::Scheme {
        return vec![TOGETHER.to_owned()];
    }
    let mut names: Vec<String> = Vec::new();
    let whole =
        figures_of(&run.document).take_while(|figure| figure.window.is_some_and(|window| window.is_run));
    for figure in whole.filter(|figure| figure.kind == by.object()) {
        if names.last().is_none_or(|last| *last != *figure.object) {
            names.push(figure.object.into_owned());
        }
    }
    names
}

/// The number of the style of an object at a place among others, if schemes are no lines.
pub(super) fn style(by: By, object: &str, place: usize) -> u32 {
    match by {
        By::Class => Style::number_of_class(object, place),
        _ => Style::number_of_object(place),
    }
}

/// The metric of this name.
pub(super) fn find_metric(name: &str, of: &[Object]) -> Result<Metric, PlotError> {
    let has = |metric: &&Metric| metric.of.iter().any(|object| of.contains(object));
    let found = metric::ALL.iter().filter(has).find(|metric| metric.name == name).copied();
    found.ok_or_else(|| {
        let names = metric::ALL.iter().filter(has).map(|metric| metric.name);
        let meant = did_you_mean_or(name, names, "the metrics");
        PlotError(format!("there is no metric `{name}` here{meant}"))
    })
}

/// A metric of requests.
pub(super) fn of_requests(row: &RequestRow, metric: Metric) -> Option<f64> {
    let values = study_tables::of_requests(row);
    values.into_iter().find(|(own, _)| *own == metric).and_then(|(_, value)| value)
}

/// A metric of each object over a part of a run, by name.
pub(super) fn values(
    document: &RunDocument,
    window: Option<usize>,
    by: By,
    metric: Metric,
) -> BTreeMap<String, f64> {
    if metric.of.contains(&Object::Requests) {
        let Some(part) = part(document, window.map_or(0, |at| at + 1)) else { return BTreeMap::new() };
        let all = requests::together(&part).map(|row| (TOGETHER.to_owned(), row));
        let groups = part.requests.iter().filter(|row| row.size == ALL_SIZES);
        let groups = groups.map(|row| (row.group.clone(), row.clone()));
        let rows: Vec<_> = if by == By::Scheme { all.into_iter().collect() } else { groups.collect() };
        return rows
            .iter()
            .filter_map(|(name, row)| Some((name.clone(), of_requests(row, metric)?)))
            .collect();
    }
    let bounds = match window.and_then(|at| document.windows.get(at)) {
        Some(row) => (false, row.from_s, row.to_s),
        None => (true, 0.0, document.simulated_s),
    };
    let of_part = figures_of(document)
        .filter(|figure| figure.window.is_some_and(|part| (part.is_run, part.from_s, part.to_s) == bounds));
    let is_of_run = metric.of.contains(&Object::Run);
    if by != By::Scheme || is_of_run {
        let own = of_part.filter(|figure| figure.kind == by.object() && figure.metric == metric.name);
        let name = |object: String| if by == By::Scheme { TOGETHER.to_owned() } else { object };
        return own.filter_map(|figure| Some((name(figure.object.into_owned()), figure.value?))).collect();
    }
    // Of all flows together: by the classes, or by the links.
    let kind = if metric.of.contains(&Object::Link) { Object::Link } else { Object::Class };
    let mut parts: BTreeMap<String, (Option<f64>, f64)> = BTreeMap::new();
    for figure in of_part.filter(|figure| figure.kind == kind) {
        let part = parts.entry(figure.object.into_owned()).or_insert((None, 0.0));
        if figure.metric == metric.name {
            part.0 = figure.value;
        }
        if figure.metric == metric::GOODPUT.name {
            part.1 = figure.value.unwrap_or_default();
        }
    }
    let known: Vec<(f64, f64)> =
        parts.values().filter_map(|(value, goodput)| Some(((*value)?, *goodput))).collect();
    let weight: f64 = known.iter().map(|(_, goodput)| goodput).sum();
    let value = if metric.unit == Some("packets") {
        known.iter().map(|(value, _)| value).sum()
    } else if metric == metric::DELAY_MEAN && weight > 0.0 {
        known.iter().map(|(value, goodput)| value * goodput / weight).sum()
    } else {
        known.iter().map(|(value, _)| *value).fold(f64::NEG_INFINITY, f64::max)
    };
    let is_known = !known.is_empty() && value.is_finite();
    is_known.then(|| (TOGETHER.to_owned(), value)).into_iter().collect()
}

/// The name of Jain's index over goodputs as they are.
pub(super) const UNWEIGHTED_JAIN: &str = "unweighted Jain's index";

/// A metric in words.
pub(super) fn label(name: &str) -> String {
    match name {
        "jain" => UNWEIGHTED_JAIN.to_owned(),
        "weighted_jain" => "weighted Jain's index".to_owned(),
        "delay_mean" => "mean delay".to_owned(),
        "slowdown_mean" => "mean slowdown of requests".to_owned(),
        "slowdown_p99" => "99th percentile of slowdown of requests".to_owned(),
        "queue_mean" => "mean queueing delay".to_owned(),
        "completion_mean" | "request_mean" => "mean completion".to_owned(),
        "request_p99" => "99th percentile of completion".to_owned(),
        _ => match name.rsplit_once("_p") {
            Some((name, percent)) if percent.parse::<u32>().is_ok() => {
                format!("{percent}th percentile of {}", if name == "queue" { "queueing delay" } else { name })
            }
            _ => name.replace('_', " "),
        },
    }
}

impl View<'_> {
    /// What bars and points are of, and the objects: those that are chosen, or else the first ones.
    pub(super) fn objects(&self, metric: Metric, by_default: By) -> Result<(By, Vec<String>), PlotError> {
        // Requests are of groups.
        let is_of_requests = metric.of.contains(&Object::Requests);
        let is_of_group = |by: By| by == By::Group && is_of_requests;
        let has = |by: By| metric.of.contains(&by.object()) || is_of_group(by);
        let Some(run) = self.plotted.runs.first() else { return Ok((by_default, Vec::new())) };
        let chosen = [By::Class, By::Group, By::Flow, By::Link].into_iter().filter(|by| has(*by));
        let mut chosen =
            chosen.filter(|by| names(run, *by).iter().any(|name| self.request.only.contains(name)));
        let by = match self.request.by {
            Some(By::Scheme) => By::Scheme,
            Some(by) if has(by) => by,
            Some(by) => {
                let of: Vec<&str> = By::ALL.into_iter().filter(|by| has(*by)).map(By::name).collect();
                let of = of.join(", ");
                return Err(PlotError(format!(
                    "`{}` is no metric of a {}, but of: {of}",
                    metric.name,
                    by.name()
                )));
            }
            None if is_of_requests => chosen.next().unwrap_or(By::Scheme),
            None => chosen.next().unwrap_or_else(|| {
                let any = By::ALL.into_iter().find(|by| has(*by)).unwrap_or(By::Scheme);
                if has(by_default) || by_default == By::Scheme { by_default } else { any }
            }),
        };
        let mut objects = self.chosen(names(run, by));
        objects.truncate(SHOWN.max(self.request.only.len()));
        if objects.is_empty() {
            return Err(PlotError(format!("the results have no {}", by.name())));
        }
        Ok((by, objects))
    }
}
