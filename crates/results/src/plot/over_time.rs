//! Metrics over time, of runs with the first seed.

use std::collections::BTreeSet;

use weir_core::words::did_you_mean_or;
use weir_figure::{Axis, Entry, Figure, Layer, Mark, Markers, Panel, Shape, Style};
use weir_measure::{ChangeRow, RunDocument, Series, jain};

use super::bars::legend_of;
use super::objects::{TOGETHER, UNWEIGHTED_JAIN, names, style};
use super::{By, PlotError, PlottedRun, View, axis, seeds_text};
use crate::format::named;

/// Steps that a figure shows at most: longer ones are means of several.
const STEPS: usize = 150;
/// Lines of one panel, if none are chosen.
const LINES: usize = 8;

/// How the values of several steps become one.
#[derive(Clone, Copy, PartialEq)]
enum Sum {
    /// Their mean.
    Mean,
    /// Their mean by the goodput of each step.
    ByGoodput,
    /// Their sum.
    Total,
}

/// A metric over time.
struct OverTime {
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    sum: Sum,
    /// What has it.
    of: &'static [By],
}

const TRAFFIC: &[By] = &[By::Class, By::Scheme, By::Flow];
const FLOW: &[By] = &[By::Flow];
const LINK: &[By] = &[By::Link];

const fn metric(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    sum: Sum,
    of: &'static [By],
) -> OverTime {
    OverTime { name, label, unit, sum, of }
}

/// The metrics over time.
const METRICS: &[OverTime] = &[
    metric("goodput", "goodput", "bit/s", Sum::Mean, TRAFFIC),
    metric("delay", "delay", "ms", Sum::ByGoodput, TRAFFIC),
    metric("lost", "lost", "packets", Sum::Total, TRAFFIC),
    metric("retransmitted", "retransmitted", "packets", Sum::Total, TRAFFIC),
    metric("sent_rate", "Interests sent", "1/s", Sum::Mean, FLOW),
    metric("window", "window", "packets", Sum::Mean, FLOW),
    metric("rate", "rate of the flow control", "bit/s", Sum::Mean, FLOW),
    metric("pending", "pending Interests", "", Sum::Mean, FLOW),
    metric("srtt", "smoothed RTT", "ms", Sum::Mean, FLOW),
    metric("rto", "timeout", "ms", Sum::Mean, FLOW),
    metric("throughput", "throughput", "bit/s", Sum::Mean, LINK),
    metric("utilisation", "utilisation", "1", Sum::Mean, LINK),
    metric("queue", "queue", "packets", Sum::Mean, LINK),
    metric("queue_delay", "queueing delay", "ms", Sum::Mean, LINK),
    metric("drops", "drops", "packets", Sum::Total, LINK),
];

fn counts(values: &[u32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

fn floats(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

/// The steps of a metric of an object, and the goodput of each step.
fn steps(run: &PlottedRun, metric: &OverTime, by: By, object: &str) -> Option<(Vec<f64>, Vec<f64>)> {
    let series = &run.series;
    if by == By::Scheme {
        let classes: Vec<_> =
            names(run, By::Class).iter().filter_map(|name| steps(run, metric, By::Class, name)).collect();
        return together(&classes, metric.sum);
    }
    let at = names(run, by).iter().position(|name| name == object)?;
    let (values, goodput) = match by {
        By::Class => {
            let class = series.classes.get(at)?;
            let values = match metric.name {
                "goodput" => floats(&class.goodput_bps),
                "delay" => floats(&class.delay_ms),
                "lost" => counts(&class.lost),
                "retransmitted" => counts(&class.retransmitted),
                _ => return None,
            };
            (values, floats(&class.goodput_bps))
        }
        By::Flow => {
            let flow = series.flows.get(at)?;
            let values = match metric.name {
                "goodput" => floats(&flow.goodput_bps),
                "delay" => floats(&flow.delay_ms),
                "lost" => counts(&flow.lost),
                "retransmitted" => counts(&flow.retransmitted),
                "sent_rate" => floats(&flow.sent_rate),
                "window" => floats(&flow.control.window),
                "rate" => floats(&flow.control.rate_bps),
                "pending" => floats(&flow.control.pending),
                "srtt" => floats(&flow.control.srtt_ms),
                "rto" => floats(&flow.control.rto_ms),
                _ => return None,
            };
            (values, floats(&flow.goodput_bps))
        }
        By::Link => {
            let link = series.links.get(at)?;
            let values = match metric.name {
                "throughput" => floats(&link.throughput_bps),
                "utilisation" => floats(&link.utilisation),
                "queue" => floats(&link.queue_packets),
                "queue_delay" => floats(&link.queue_ms),
                "drops" => counts(&link.drops),
                _ => return None,
            };
            (values, Vec::new())
        }
        By::Group | By::Scheme => return None,
    };
    (!values.is_empty()).then_some((values, goodput))
}

/// The steps of several objects as one.
fn together(all: &[(Vec<f64>, Vec<f64>)], sum: Sum) -> Option<(Vec<f64>, Vec<f64>)> {
    let length = all.iter().map(|(values, _)| values.len()).max()?;
    let at = |values: &[f64], k: usize| values.get(k).copied().unwrap_or_default();
    let goodput: Vec<f64> =
        (0..length).map(|k| all.iter().map(|(_, goodput)| at(goodput, k)).sum()).collect();
    let value = |k: usize| {
        let known = all.iter().filter(|(values, _)| at(values, k).is_finite());
        match sum {
            Sum::ByGoodput => {
                let weighted: f64 = known.map(|(values, goodput)| at(values, k) * at(goodput, k)).sum();
                weighted / goodput[k]
            }
            _ => known.map(|(values, _)| at(values, k)).sum(),
        }
    };
    Some(((0..length).map(value).collect(), goodput))
}

/// Middles of longer steps, and the values of these.
fn binned(values: &[f64], goodput: &[f64], step_s: f64, sum: Sum) -> (Vec<f64>, Vec<f64>) {
    let per = values.len().div_ceil(STEPS).max(1);
    let bins = values.chunks(per).enumerate().map(|(k, bin)| {
        let middle = (k as f64 * per as f64 + bin.len() as f64 / 2.0) * step_s;
        let known = bin.iter().enumerate().filter(|(_, value)| value.is_finite());
        let weight = |at: usize| match sum {
            Sum::ByGoodput => goodput.get(k * per + at).copied().unwrap_or_default(),
            _ => 1.0,
        };
        let (total, all) = known
            .fold((0.0, 0.0), |(total, all), (at, value)| (total + weight(at) * value, all + weight(at)));
        (middle, if sum == Sum::Total { total } else { total / all })
    });
    bins.unzip()
}

/// The length of the steps of a run that a figure shows, s.
fn shown_step_s(run: &PlottedRun) -> f64 {
    run.series.samples.div_ceil(STEPS).max(1) as f64 * run.series.step_s
}

/// A length of steps in words.
fn in_seconds(step_s: f64) -> String {
    format!("{} s", (step_s * 1e6).round() / 1e6)
}

/// The scenario, the seeds that are shown, whether there are others, and the length of the steps.
fn source(view: &View<'_>, shown: &[(String, &PlottedRun)]) -> String {
    let runs: Vec<&PlottedRun> = shown.iter().map(|(_, run)| *run).collect();
    let all: Vec<&PlottedRun> = view.schemes.iter().flat_map(|scheme| view.runs_of(scheme)).collect();
    let scenario = &all[0].document.scenario;
    let (seeds, all) = (seeds_text(&runs), seeds_text(&all));
    let seeds = if seeds == all { seeds } else { format!("only {seeds} of the {all}") };
    format!("{scenario}, {seeds}, {}", steps_text(&runs))
}

/// The lengths of the steps of some runs, in words.
fn steps_text(runs: &[&PlottedRun]) -> String {
    let lengths: BTreeSet<String> = runs.iter().map(|run| in_seconds(shown_step_s(run))).collect();
    format!("steps of {}", lengths.into_iter().collect::<Vec<_>>().join(" and "))
}

/// The most changes that a figure marks.
const MARKED: usize = 12;

/// The changes and windows of a run. With more than [`MARKED`] changes the texts would cover the data: then none
/// is marked.
fn marks(run: &PlottedRun) -> Vec<Mark> {
    let windows = run.document.windows.iter();
    let window =
        |row: &weir_measure::WindowRow| Mark { from: row.from_s, to: Some(row.to_s), ..Mark::default() };
    let change = |row: &ChangeRow| Mark { from: row.at_s, text: row.what.clone(), ..Mark::default() };
    let changes = Some(&run.document.changes).filter(|changes| changes.len() <= MARKED);
    windows.map(window).chain(changes.into_iter().flatten().map(change)).collect()
}

pub(super) fn has_series(series: &Series) -> bool {
    series.samples > 0 && series.step_s > 0.0
}

/// The runs with series: the first one of each scheme.
fn runs<'a>(view: &View<'a>) -> Result<Vec<(String, &'a PlottedRun)>, PlotError> {
    let with_series = |scheme: &String| {
        let runs = view.runs_of(scheme).filter(|run| has_series(&run.series));
        Some((scheme.clone(), runs.min_by_key(|run| run.document.seed)?))
    };
    let runs: Vec<_> = view.schemes.iter().filter_map(with_series).collect();
    if runs.is_empty() {
        return Err(PlotError(
            "the results have no time series: `weir run --out` and `weir compare --out` keep them".to_owned(),
        ));
    }
    Ok(runs)
}

fn wanted(view: &View<'_>, by_default: &[&str]) -> Result<Vec<&'static OverTime>, PlotError> {
    let names: Vec<&str> = match &view.request.metrics[..] {
        [] => by_default.to_vec(),
        some => some.iter().map(String::as_str).collect(),
    };
    let find = |name: &str| METRICS.iter().find(|metric| metric.name == name);
    names
        .into_iter()
        .map(|name| {
            find(name).ok_or_else(|| {
                let meant = did_you_mean_or(name, METRICS.iter().map(|metric| metric.name), "the metrics");
                PlotError(format!("there is no metric `{name}` over time{meant}"))
            })
        })
        .collect()
}

/// What the lines of a metric are of.
fn lines_of(view: &View<'_>, run: &PlottedRun, metric: &OverTime) -> Result<(By, Vec<String>), PlotError> {
    let chosen =
        metric.of.iter().find(|by| names(run, **by).iter().any(|name| view.request.only.contains(name)));
    let by = match view.request.by {
        Some(by) if metric.of.contains(&by) => by,
        Some(by) => {
            let of: Vec<&str> = metric.of.iter().map(|by| by.name()).collect();
            let (name, of) = (metric.name, of.join(", "));
            return Err(PlotError(format!("`{name}` over time is not known by {}, but by {of}", by.name())));
        }
        None => *chosen.unwrap_or(&metric.of[0]),
    };
    let mut objects = names(run, by);
    if by == By::Link && !view.request.only.iter().any(|only| objects.contains(only)) {
        // The busiest ones.
        let mut links: Vec<_> = run.document.links.iter().zip(&objects).collect();
        links.sort_by(|a, b| b.0.utilisation.total_cmp(&a.0.utilisation));
        objects = links.into_iter().map(|(_, name)| name.clone()).take(LINES / 2).collect();
    }
    let mut objects = view.chosen(objects);
    if view.request.only.is_empty() {
        objects.truncate(LINES);
    }
    Ok((by, objects))
}

pub(super) fn series(view: &View<'_>) -> Result<Figure, PlotError> {
    let runs = runs(view)?;
    let range = view.range(&runs[0].1.document)?;
    let metrics = wanted(view, if runs.len() > 1 { &["goodput"] } else { &["goodput", "delay"] })?;
    let mut figure = Figure { across: 1, ..Figure::default() };
    for metric in metrics {
        let (by, objects) = lines_of(view, runs[0].1, metric)?;
        // Schemes are lines if there is one object, and else panels.
        let is_one = objects.len() == 1;
        let groups: Vec<&[(String, &PlottedRun)]> =
            if is_one { vec![&runs[..]] } else { runs.chunks(1).collect() };
        let mut top = f64::NAN;
        let mut panels = Vec::new();
        for group in &groups {
            let mut layers = Vec::new();
            for (scheme, run) in *group {
                for (k, object) in objects.iter().enumerate() {
                    let Some((values, goodput)) = steps(run, metric, by, object) else { continue };
                    let (x, y) = binned(&values, &goodput, run.series.step_s, metric.sum);
                    top = y.iter().copied().fold(top, f64::max);
                    let is_scheme = is_one && runs.len() > 1;
                    let (name, style) = if is_scheme {
                        (scheme.clone(), view.style_of(scheme))
                    } else {
                        (object.clone(), style(by, object, k))
                    };
                    layers.push(Layer { name, style, shape: Shape::Line { x, y, markers: Markers::Few } });
                }
            }
            let several = runs.len() > 1 && !is_one;
            let mut title = if several { group[0].0.clone() } else { String::new() };
            if is_one && objects[0] != TOGETHER && (runs.len() > 1 || by == By::Link) {
                title.clone_from(&objects[0]);
            }
            let mut y = axis(metric.label, metric.unit);
            if metric.sum == Sum::Total {
                y.label += &format!(" per {}", in_seconds(shown_step_s(group[0].1)));
            }
            panels.push(Panel {
                title,
                x: Axis { range, ..axis("time", "s") },
                y,
                layers,
                marks: marks(group[0].1),
                ..Panel::default()
            });
        }
        if panels.iter().all(|panel| panel.layers.is_empty()) {
            return Err(PlotError(format!("`{}` was not recorded over time in these results", metric.name)));
        }
        if panels.len() > 1 && top.is_finite() {
            figure.across = 2;
            panels.iter_mut().for_each(|panel| panel.y.range.1 = Some(1.05 * top).filter(|top| *top > 0.0));
        }
        panels.iter_mut().for_each(|panel| panel.y.range.0 = Some(0.0));
        for panel in &panels {
            add_legend(&mut figure.legend, legend_of(&panel.layers));
        }
        figure.panels.extend(panels);
    }
    if figure.legend.len() == 1 {
        figure.legend.clear();
    }
    figure.source = source(view, &runs);
    Ok(figure)
}

fn add_legend(legend: &mut Vec<Entry>, more: Vec<Entry>) {
    more.into_iter().for_each(|entry| {
        if !legend.contains(&entry) {
            legend.push(entry)
        }
    });
}

pub(super) fn fairness(view: &View<'_>) -> Result<Figure, PlotError> {
    let runs = runs(view)?;
    let flows =
        wanted(view, &["goodput"])?.into_iter().next().ok_or_else(|| PlotError("no metric".to_owned()))?;
    let mut layers = Vec::new();
    for (scheme, run) in &runs {
        let mut classes: Vec<String> = view.chosen(names(run, By::Class));
        if view.request.by != Some(By::Class) && runs.len() > 1 {
            classes = vec![TOGETHER.to_owned()];
        }
        for (k, class) in classes.iter().enumerate() {
            let members = run.document.flows.iter().zip(names(run, By::Flow));
            let members = members.filter(|(flow, _)| *class == TOGETHER || flow.class == *class);
            let steps: Vec<Vec<f64>> = members
                .filter_map(|(_, name)| steps(run, flows, By::Flow, &name))
                .map(|(values, goodput)| binned(&values, &goodput, run.series.step_s, Sum::Mean).1)
                .collect();
            // A flow takes part from its first Data to its last.
            let spans: Vec<Option<(usize, usize)>> = (steps.iter())
                .map(|values| {
                    let is_some = |value: &f64| *value > 0.0;
                    values.iter().position(is_some).zip(values.iter().rposition(is_some))
                })
                .collect();
            let length = steps.iter().map(Vec::len).max().unwrap_or_default();
            let index = |k: usize| {
                let own = steps
                    .iter()
                    .zip(&spans)
                    .filter(|(_, span)| span.is_some_and(|(from, to)| from <= k && k <= to));
                let goodputs: Vec<f64> = own.filter_map(|(values, _)| values.get(k).copied()).collect();
                if goodputs.len() > 1 { jain(&goodputs).unwrap_or(f64::NAN) } else { f64::NAN }
            };
            let per = shown_step_s(run);
            let x = (0..length).map(|k| (k as f64 + 0.5) * per).collect();
            let y: Vec<f64> = (0..length).map(index).collect();
            if y.iter().all(|value| value.is_nan()) {
                continue;
            }
            let (name, style) = match runs.len() {
                1 => (class.clone(), style(By::Class, class, k)),
                _ if classes.len() > 1 => {
                    (format!("{scheme}, {class}"), Style::number_of_variant(view.style_of(scheme), k as u32))
                }
                _ => (scheme.clone(), view.style_of(scheme)),
            };
            layers.push(Layer { name, style, shape: Shape::Line { x, y, markers: Markers::Few } });
        }
    }
    if layers.is_empty() {
        return Err(PlotError("no class has two flows at a time, so there is no fairness".to_owned()));
    }
    let mut y = axis(UNWEIGHTED_JAIN, "1");
    y.range = (Some(0.0), Some(1.02));
    let legend = legend_of(&layers);
    let range = view.range(&runs[0].1.document)?;
    let x = Axis { range, ..axis("time", "s") };
    let panel = Panel { x, y, layers, marks: marks(runs[0].1), ..Panel::default() };
    let source = source(view, &runs);
    Ok(Figure { across: 1, panels: vec![panel], legend, source, ..Figure::default() })
}

/// What a run in the simulator and one in the lab do not have in common, if they do not belong together.
fn difference(simulated: &RunDocument, lab: &RunDocument) -> Option<String> {
    let scheme = |run: &RunDocument| named(&run.scheme, run.variant.as_deref());
    let settings = |run: &RunDocument, other: &RunDocument| {
        let own: Vec<&str> =
            run.set.iter().filter(|set| !other.set.contains(set)).map(String::as_str).collect();
        if own.is_empty() { "none".to_owned() } else { own.join(", ") }
    };
    let duration = |run: &RunDocument| format!("{} s", run.simulated_s);
    let scale = |run: &RunDocument| run.lab.as_ref().map_or(1.0, |lab| lab.scale).to_string();
    let compared = [
        ("scenarios", simulated.scenario.clone(), lab.scenario.clone()),
        ("schemes", scheme(simulated), scheme(lab)),
        ("settings", settings(simulated, lab), settings(lab, simulated)),
        ("durations", duration(simulated), duration(lab)),
        ("factors of rates", scale(simulated), scale(lab)),
    ];
    let differs = compared.into_iter().find(|(_, simulated, lab)| simulated != lab);
    differs
        .map(|(what, simulated, lab)| format!("{what} are {simulated} in the simulator and {lab} in the lab"))
}

/// The run in the simulator and the one in the lab.
fn both_worlds<'a>(view: &View<'a>) -> Result<[&'a PlottedRun; 2], PlotError> {
    let (labs, simulated): (Vec<_>, Vec<_>) =
        runs(view)?.into_iter().map(|(_, run)| run).partition(|run| run.document.lab.is_some());
    let [simulated, lab] = match (&simulated[..], &labs[..]) {
        ([simulated], [lab]) => [*simulated, *lab],
        ([], _) | (_, []) => {
            return Err(PlotError(
                "it takes a run in the simulator and one in the lab: give the folders of `weir run` and of `weir lab`, or that of `weir compare --lab`".to_owned(),
            ));
        }
        _ => return Err(PlotError("the results are of several schemes: choose one with `only`".to_owned())),
    };
    match difference(&simulated.document, &lab.document) {
        Some(difference) => Err(PlotError(format!("the results do not belong together: their {difference}"))),
        None => Ok([simulated, lab]),
    }
}

pub(super) fn worlds(view: &View<'_>) -> Result<Figure, PlotError> {
    let [simulated, lab] = both_worlds(view)?;
    let mut figure = Figure { across: 1, ..Figure::default() };
    for metric in wanted(view, &["goodput", "delay"])? {
        let (by, objects) = lines_of(view, simulated, metric)?;
        let mut layers = Vec::new();
        for (k, object) in objects.iter().enumerate() {
            for (run, world) in [(simulated, "simulated"), (lab, "lab")] {
                let Some((values, goodput)) = steps(run, metric, by, object) else { continue };
                let (x, y) = binned(&values, &goodput, run.series.step_s, metric.sum);
                let shape = if world == "lab" {
                    // Fewer points, so that the line below them can be seen.
                    let every = x.len().div_ceil(40).max(1);
                    let (x, y) = x.into_iter().zip(y).step_by(every).unzip();
                    Shape::Points { x, y, low: Vec::new(), high: Vec::new(), named: false }
                } else {
                    Shape::Line { x, y, markers: Markers::None }
                };
                layers.push(Layer { name: format!("{object}, {world}"), style: style(by, object, k), shape });
            }
        }
        add_legend(&mut figure.legend, legend_of(&layers));
        let y = axis(metric.label, metric.unit);
        figure.panels.push(Panel {
            x: Axis { range: view.range(&simulated.document)?, ..axis("time", "s") },
            y,
            layers,
            marks: marks(simulated),
            ..Panel::default()
        });
    }
    let steps = steps_text(&[simulated, lab]);
    let (document, lab) = (&simulated.document, &lab.document);
    let scheme = named(&document.scheme, document.variant.as_deref());
    figure.source = format!(
        "{} with {scheme}, simulated (seed {}) and in the lab (seed {}), {steps}",
        document.scenario, document.seed, lab.seed
    );
    Ok(figure)
}
