//! Distributions of delays, completions and slowdowns.

use std::collections::BTreeSet;

use weir_figure::{Figure, Layer, Panel, Scale, Shape};
use weir_measure::DistributionRow;

use super::bars::{SPREAD, legend_of, without_axes};
use super::objects::{SHOWN, label, style};
use super::{By, PlotError, PlottedRun, View, axis};
use crate::pooled::pooled;

/// The distributions of the part of a run that is wanted.
fn rows<'a>(view: &View<'a>, run: &'a PlottedRun) -> Result<&'a [DistributionRow], PlotError> {
    let window = view.window(&run.document)?.and_then(|at| run.document.windows.get(at));
    Ok(window.map_or(&run.document.distributions, |row| &row.distributions))
}

/// Whether the windows do not have the wanted distribution, but the whole run has it.
fn is_of_whole_run(view: &View<'_>) -> Result<bool, PlotError> {
    let Some(what) = view.request.metrics.first() else { return Ok(false) };
    let has = |rows: &[DistributionRow]| rows.iter().any(|row| row.what == *what);
    for run in &view.plotted.runs {
        if has(rows(view, run)?) {
            return Ok(false);
        }
    }
    if !view.plotted.runs.iter().any(|run| has(&run.document.distributions)) {
        return Ok(false);
    }
    match view.request.window {
        None => Ok(true),
        Some(_) => Err(PlotError(format!(
            "the distribution of {what} is of the whole run only: choose the window `run`"
        ))),
    }
}

/// Whether the values of some curves are read better by factors.
fn is_spread(layers: &[Layer]) -> bool {
    let values = layers.iter().flat_map(|layer| match &layer.shape {
        Shape::Steps { x, .. } => &x[..],
        _ => &[],
    });
    let (low, high) = values
        .filter(|x| **x > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(*x), high.max(*x)));
    high / low > SPREAD
}

pub(super) fn distributions<'a>(view: &View<'a>, is_complement: bool) -> Result<Figure, PlotError> {
    without_axes(view)?;
    let is_whole = is_of_whole_run(view)?;
    let rows =
        |run: &'a PlottedRun| if is_whole { Ok(&run.document.distributions[..]) } else { rows(view, run) };
    let mut known: Vec<(String, String, String)> = Vec::new();
    for run in &view.plotted.runs {
        for row in rows(run)? {
            let one = (row.what.clone(), row.kind.clone(), row.of.clone());
            if !known.contains(&one) {
                known.push(one);
            }
        }
    }
    let mut whats: Vec<&str> = known.iter().map(|(what, ..)| what.as_str()).collect();
    whats.dedup();
    whats.sort_unstable();
    whats.dedup();
    let what = match &view.request.metrics[..] {
        [] => {
            ["delay", "completion"].into_iter().find(|what| whats.contains(what)).or(whats.first().copied())
        }
        [one, ..] => Some(one.as_str()),
    };
    let what = what.filter(|what| whats.contains(what)).ok_or_else(|| {
        let all = view.plotted.runs.iter().flat_map(|run| &run.document.distributions);
        let all: BTreeSet<&str> = all.map(|row| row.what.as_str()).collect();
        let all: Vec<&str> = all.into_iter().collect();
        let which = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        PlotError(format!("the results have distributions of: {which}; name one as the metric"))
    })?;
    let own = || known.iter().filter(|(other, ..)| other == what);
    let is_chosen = |of: &String| view.request.only.contains(of);
    let kind = match view.request.by {
        Some(By::Scheme) | None => {
            let chosen = own().find(|(.., of)| is_chosen(of));
            let first = ["class", "links", "group", "flow"]
                .into_iter()
                .find_map(|kind| own().find(|(_, k, _)| k == kind));
            chosen.or(first).or_else(|| own().next()).map(|(_, kind, _)| kind.as_str())
        }
        Some(by) => Some(by.name()),
    };
    let kind = kind.unwrap_or_default();
    let objects: Vec<String> = own().filter(|(_, k, _)| k == kind).map(|(.., of)| of.clone()).collect();
    let mut objects = view.chosen(objects);
    objects.truncate(SHOWN);
    if objects.is_empty() {
        let mut kinds: Vec<&str> = own().map(|(_, kind, _)| kind.as_str()).collect();
        kinds.dedup();
        return Err(PlotError(format!(
            "there is no distribution of {what} by {kind}, but by {}",
            kinds.join(", ")
        )));
    }
    let is_one = view.schemes.len() == 1;
    let mut unit = String::new();
    let mut panels = Vec::new();
    for group in if is_one { vec![&objects[..]] } else { objects.chunks(1).collect() } {
        let mut layers = Vec::new();
        for (k, object) in group.iter().enumerate() {
            for scheme in &view.schemes {
                let runs = view.runs_of(scheme).map(rows).collect::<Result<Vec<_>, _>>()?;
                let of = runs.into_iter().flatten();
                let of = of.filter(|row| row.what == what && row.kind == kind && row.of == *object);
                let Some(DistributionRow { distribution: sum, .. }) = pooled(of).pop() else { continue };
                unit.clone_from(&sum.unit);
                let (mut x, mut y): (Vec<f64>, Vec<f64>) = sum.cdf().unzip();
                if is_complement {
                    // Nothing is above the last value: there the line drops to zero.
                    y.iter_mut().for_each(|part| *part = 1.0 - *part);
                }
                if let Some(first) = x.first().copied() {
                    x.insert(0, first);
                    y.insert(0, if is_complement { 1.0 } else { 0.0 });
                }
                let (name, style) = match is_one {
                    true if kind == By::Class.name() => (object.clone(), style(By::Class, object, k)),
                    true => (object.clone(), style(By::Flow, object, k)),
                    false => (scheme.clone(), view.style_of(scheme)),
                };
                let name = if name.is_empty() { "all links".to_owned() } else { name };
                layers.push(Layer { name, style, shape: Shape::Steps { x, y } });
            }
        }
        let mut y = axis(if is_complement { "part above" } else { "part of the values" }, "1");
        if is_complement {
            y.scale = Scale::Log;
        } else {
            y.range = (Some(0.0), Some(1.0));
        }
        let mut x = axis(&label(what), &unit);
        if is_complement && is_spread(&layers) {
            x.scale = Scale::Log;
        }
        let title = if group.len() == 1 && objects.len() > 1 { group[0].clone() } else { String::new() };
        panels.push(Panel { title, x, y, layers, ..Panel::default() });
    }
    let legend = panels.first().map(|panel| legend_of(&panel.layers)).unwrap_or_default();
    let source =
        if is_whole { format!("{}, the whole run", view.scenario_and_seeds()) } else { String::new() };
    Ok(Figure { across: 1, panels, legend, source, ..Figure::default() })
}
