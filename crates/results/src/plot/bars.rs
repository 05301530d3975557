//! Means over seeds: bars, points in the plane of delay and goodput, lines over an axis, and completion by size.

use weir_core::words::did_you_mean_or;
use weir_figure::{Axis, Dot, Entry, Figure, Layer, Markers, Panel, Scale, Shape, Sign, Style};
use weir_measure::Estimate;

use super::objects::{TOGETHER, find_metric, label, of_requests, style, values};
use super::{By, PlotError, PlottedRun, View, axis as plain_axis};
use crate::comparison::part;
use crate::requests::ALL_SIZES;
use crate::schema::{Metric, Object, metric};

/// The objects that have bars.
const OF: &[Object] =
    &[Object::Flow, Object::Group, Object::Class, Object::Link, Object::Run, Object::Requests];

/// A value of each seed.
type Seeds = Vec<(u64, f64)>;

fn estimate(seeds: &Seeds) -> Option<Estimate> {
    Estimate::of(&seeds.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
}

/// The mean, and the ends of its interval: NaN where there is none.
fn ends(seeds: &Seeds) -> (f64, f64, f64) {
    let none = (f64::NAN, f64::NAN, f64::NAN);
    let Some(Estimate { mean, ci95, .. }) = estimate(seeds) else { return none };
    ci95.map_or((mean, f64::NAN, f64::NAN), |half| (mean, mean - half, mean + half))
}

impl View<'_> {
    /// The metrics that are wanted; by default goodput, or of random requests the slowdown.
    fn metrics(&self) -> Result<Vec<Metric>, PlotError> {
        let wanted = &self.request.metrics;
        if wanted.is_empty() {
            let is_random = |run: &PlottedRun| part(&run.document, 0).is_some_and(|part| part.is_random());
            let is_random = self.plotted.runs.first().is_some_and(is_random);
            return Ok(vec![if is_random { metric::SLOWDOWN_MEAN } else { metric::GOODPUT }]);
        }
        wanted.iter().map(|name| find_metric(name, OF)).collect()
    }

    /// A metric of an object under a scheme, of all of its seeds, at those points of the axes that `is_at` selects.
    fn seeds(
        &self,
        scheme: &str,
        by: By,
        object: &str,
        metric: Metric,
        is_at: impl Fn(&PlottedRun) -> bool,
    ) -> Result<Seeds, PlotError> {
        let mut seeds = Vec::new();
        for run in self.runs_of(scheme).filter(|run| is_at(run)) {
            let window = self.window(&run.document)?;
            if let Some(value) = values(&run.document, window, by, metric).get(object) {
                seeds.push((run.document.seed, *value));
            }
        }
        Ok(seeds)
    }

    fn legend(&self, sign: Sign) -> Vec<Entry> {
        let entry = |scheme: &String| Entry { name: scheme.clone(), style: self.style_of(scheme), sign };
        self.schemes.iter().map(entry).collect()
    }
}

/// Runs at several points make no mean and no distribution.
pub(super) fn without_axes(view: &View<'_>) -> Result<(), PlotError> {
    let first = view.plotted.runs.first().map(|run| &run.point);
    let is_one = view.plotted.runs.iter().all(|run| Some(&run.point) == first);
    if is_one {
        Ok(())
    } else {
        Err(PlotError("the results are of several points of axes: `axis` shows them".to_owned()))
    }
}

pub(super) fn bars(view: &View<'_>) -> Result<Figure, PlotError> {
    without_axes(view)?;
    let mut figure = Figure { across: 1, ..Figure::default() };
    let mut has_legend = false;
    for metric in view.metrics()? {
        let several = view.plotted.runs.first().is_some_and(|run| run.document.classes.len() > 1);
        let (by, objects) = view.objects(metric, if several { By::Class } else { By::Scheme })?;
        let is_one = objects.len() == 1;
        has_legend |= !is_one;
        let mut layers = Vec::new();
        for (slot, scheme) in view.schemes.iter().enumerate() {
            let (mut x, mut y, mut low, mut high, mut dots) = (vec![], vec![], vec![], vec![], vec![]);
            for (at, object) in objects.iter().enumerate() {
                let seeds = view.seeds(scheme, by, object, metric, |_| true)?;
                let place = if is_one { slot } else { at } as f64;
                let (mean, from, to) = ends(&seeds);
                x.push(place);
                y.push(mean);
                low.push(from);
                high.push(to);
                if seeds.len() > 1 {
                    dots.extend(seeds.iter().map(|(seed, value)| Dot { x: place, y: *value, seed: *seed }));
                }
            }
            let (slot, slots) = if is_one { (0, 1) } else { (slot, view.schemes.len()) };
            let shape = Shape::Bars { x, y, low, high, slot, slots, seeds: dots };
            layers.push(Layer { name: scheme.clone(), style: view.style_of(scheme), shape });
        }
        let is_empty =
            |layer: &Layer| matches!(&layer.shape, Shape::Bars { y, .. } if y.iter().all(|y| y.is_nan()));
        if layers.iter().all(is_empty) {
            return Err(PlotError(format!("these results have no values of `{}`", metric.name)));
        }
        let categories = if is_one { view.schemes.clone() } else { objects.clone() };
        let x = Axis { scale: Scale::Categories, categories, ..Axis::default() };
        let object =
            if is_one && objects[0] != TOGETHER { format!(" of {}", objects[0]) } else { String::new() };
        let mut y = plain_axis(&(label(metric.name) + &object), metric.unit.unwrap_or_default());
        let is_below =
            |layer: &Layer| matches!(&layer.shape, Shape::Bars { y, .. } if y.iter().any(|y| *y < 0.0));
        if !layers.iter().any(is_below) {
            // An interval may reach below what can be.
            y.range.0 = Some(0.0);
        }
        figure.panels.push(Panel { x, y, layers, ..Panel::default() });
    }
    if has_legend {
        figure.legend = view.legend(Sign::Box);
    }
    Ok(figure)
}

pub(super) fn scatter(view: &View<'_>) -> Result<Figure, PlotError> {
    without_axes(view)?;
    let delay = match &view.request.metrics[..] {
        [] => metric::DELAY_MEAN,
        [one] => find_metric(one, &[Object::Class, Object::Flow, Object::Group])?,
        _ => return Err(PlotError("it has goodput over one metric, such as delay_p99".to_owned())),
    };
    let (by, objects) = view.objects(metric::GOODPUT, By::Scheme)?;
    let is_named = view.schemes.len() <= 8;
    let panel = |object: &String| {
        let mut layers = Vec::new();
        let mut points = Vec::new();
        for scheme in &view.schemes {
            let y = view.seeds(scheme, by, object, metric::GOODPUT, |_| true)?;
            let x = view.seeds(scheme, by, object, delay, |_| true)?;
            let both: Vec<(f64, f64)> = (x.iter())
                .filter_map(|(seed, x)| Some((*x, y.iter().find(|(other, _)| other == seed)?.1)))
                .collect();
            let (Some(mean_x), Some(mean_y)) =
                (mean(both.iter().map(|two| two.0)), mean(both.iter().map(|two| two.1)))
            else {
                continue;
            };
            let of = |shape| Layer { name: scheme.clone(), style: view.style_of(scheme), shape };
            if both.len() > 2 {
                layers.push(of(Shape::Ellipse {
                    x: mean_x,
                    y: mean_y,
                    covariance: covariance(&both, mean_x, mean_y),
                }));
            }
            points.push(of(Shape::Points {
                x: vec![mean_x],
                y: vec![mean_y],
                low: Vec::new(),
                high: Vec::new(),
                named: is_named,
            }));
        }
        layers.extend(points);
        let title = if object == TOGETHER { String::new() } else { object.clone() };
        let (x, y) = (plain_axis(&label(delay.name), "ms"), plain_axis("goodput", "bit/s"));
        Ok(Panel {
            title,
            x: Axis { unit: delay.unit.unwrap_or_default().to_owned(), ..x },
            y,
            layers,
            ..Panel::default()
        })
    };
    let panels = objects.iter().map(panel).collect::<Result<Vec<Panel>, PlotError>>()?;
    let legend = if is_named { Vec::new() } else { view.legend(Sign::Marker) };
    Ok(Figure { across: panels.len().min(2), panels, legend, ..Figure::default() })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Variances and covariance of the seeds, as [`Shape::Ellipse`] has them: one standard deviation.
fn covariance(both: &[(f64, f64)], mean_x: f64, mean_y: f64) -> Vec<f64> {
    let n = (both.len() - 1) as f64;
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| both.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum::<f64>() / n;
    vec![sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y)]
}

/// A value of an axis as a number, and its unit.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e')))
        .unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    let (factor, unit) = match text[end..].trim() {
        "b/s" => (1.0, "bit/s"),
        "kb/s" => (1e3, "bit/s"),
        "Mb/s" => (1e6, "bit/s"),
        "Gb/s" => (1e9, "bit/s"),
        "%" => (1.0, "%"),
        "ns" => (1e-6, "ms"),
        "us" | "µs" => (1e-3, "ms"),
        "ms" => (1.0, "ms"),
        "s" => (1e3, "ms"),
        other => (1.0, other),
    };
    Some((value * factor, unit))
}

pub(super) fn axis(view: &View<'_>) -> Result<Figure, PlotError> {
    let axes = &view.plotted.axes;
    let at = match &view.request.axis {
        _ if axes.is_empty() => {
            return Err(PlotError("the results have no axis: those of `weir sweep` have".to_owned()));
        }
        None => 0,
        Some(name) => axes.iter().position(|axis| axis == name).ok_or_else(|| {
            let meant = did_you_mean_or(name, axes.iter().map(String::as_str), "the axes");
            PlotError(format!("there is no axis `{name}`{meant}"))
        })?,
    };
    let value = |run: &PlottedRun| run.point.get(at).cloned().unwrap_or_default();
    let others = |run: &PlottedRun| {
        let others = axes.iter().zip(&run.point).enumerate().filter(|(k, _)| *k != at);
        let text =
            others.map(|(_, (name, value))| format!("{} {value}", name.rsplit('.').next().unwrap_or(name)));
        text.collect::<Vec<_>>().join(", ")
    };
    let (mut texts, mut rests): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for run in &view.plotted.runs {
        for (list, text) in [(&mut texts, value(run)), (&mut rests, others(run))] {
            if !list.contains(&text) {
                list.push(text);
            }
        }
    }
    let numbers: Option<Vec<(f64, &str)>> = texts.iter().map(|text| number(text)).collect();
    let numbers = numbers.filter(|all| all.iter().all(|(_, unit)| *unit == all[0].1));
    let mut places: Vec<(f64, &String)> = match &numbers {
        Some(numbers) => numbers.iter().map(|(x, _)| *x).zip(&texts).collect(),
        None => (0..texts.len()).map(|k| k as f64).zip(&texts).collect(),
    };
    places.sort_by(|a, b| a.0.total_cmp(&b.0));
    let name = axes[at].trim_start_matches("axis.");
    let x = match &numbers {
        Some(numbers) => {
            let range = with_room(numbers.iter().map(|(x, _)| *x), view.request.log_x);
            Axis { range, ..plain_axis(name, numbers.first().map_or("", |one| one.1)) }
        }
        None => Axis { scale: Scale::Categories, categories: texts.clone(), ..plain_axis(name, "") },
    };
    let mut figure = Figure { across: 1, ..Figure::default() };
    for metric in view.metrics()? {
        let (by, objects) = view.objects(metric, By::Scheme)?;
        let is_one = view.schemes.len() * rests.len() == 1;
        for group in if is_one { vec![&objects[..]] } else { objects.chunks(1).collect() } {
            let mut layers = Vec::new();
            for (k, object) in group.iter().enumerate() {
                for scheme in &view.schemes {
                    for (round, rest) in rests.iter().enumerate() {
                        let (mut lines, mut bands) = (Vec::new(), Vec::new());
                        for (place, text) in &places {
                            let is_at = |run: &PlottedRun| value(run) == **text && others(run) == *rest;
                            let (mean, low, high) = ends(&view.seeds(scheme, by, object, metric, is_at)?);
                            lines.push((*place, mean));
                            bands.push((*place, low, high));
                        }
                        let style = match objects.len() {
                            several if is_one && several > 1 => style(by, object, k),
                            _ => Style::number_of_variant(view.style_of(scheme), round as u32),
                        };
                        let mut name = if is_one { object.clone() } else { scheme.clone() };
                        if !rest.is_empty() {
                            name += &format!(", {rest}");
                        }
                        let (x, y) = lines.into_iter().unzip();
                        if bands.iter().any(|(_, low, _)| low.is_finite()) {
                            let shape = Shape::Band {
                                x: bands.iter().map(|band| band.0).collect(),
                                low: bands.iter().map(|band| band.1).collect(),
                                high: bands.iter().map(|band| band.2).collect(),
                            };
                            layers.push(Layer { name: name.clone(), style, shape });
                        }
                        layers.push(Layer {
                            name,
                            style,
                            shape: Shape::Line { x, y, markers: Markers::All },
                        });
                    }
                }
            }
            let title = match group {
                [one] if one != TOGETHER && objects.len() > 1 => one.clone(),
                _ => String::new(),
            };
            let mut y = plain_axis(&label(metric.name), metric.unit.unwrap_or_default());
            let is_below =
                |layer: &Layer| matches!(&layer.shape, Shape::Line { y, .. } if y.iter().any(|y| *y < 0.0));
            let reaches_below = |layer: &Layer| matches!(&layer.shape, Shape::Band { low, .. } if low.iter().any(|y| *y < 0.0));
            if layers.iter().any(reaches_below) && !layers.iter().any(is_below) {
                // An interval may reach below what can be.
                y.range.0 = Some(0.0);
            }
            let legend = legend_of(&layers);
            figure.legend = if figure.legend.is_empty() { legend } else { figure.legend };
            figure.panels.push(Panel { title, x: x.clone(), y, layers, ..Panel::default() });
        }
    }
    Ok(figure)
}

/// The ends of an axis with room beside the outermost values, so that their markers are whole.
fn with_room(values: impl Iterator<Item = f64>, is_log: bool) -> (Option<f64>, Option<f64>) {
    let values = values.filter(|value| !is_log || *value > 0.0);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if low >= high {
        return (None, None);
    }
    if is_log {
        let room = (high / low).powf(0.04);
        return (Some(low / room), Some(high * room));
    }
    let room = 0.04 * (high - low);
    (Some(low - room), Some(high + room))
}

/// An entry for each line.
pub(super) fn legend_of(layers: &[Layer]) -> Vec<Entry> {
    let lines = layers.iter().filter(|layer| !matches!(layer.shape, Shape::Band { .. }));
    let sign = |layer: &Layer| match &layer.shape {
        Shape::Points { .. } => Sign::Marker,
        Shape::Line { markers: Markers::None, .. } => Sign::Line,
        _ => Sign::MarkedLine,
    };
    let mut entries: Vec<Entry> = Vec::new();
    for layer in lines {
        let entry = Entry { name: layer.name.clone(), style: layer.style, sign: sign(layer) };
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries
}

/// The largest distance of schemes beside each other over a category.
const BESIDE: f64 = 0.08;

/// Whether the means of some layers are read better by factors.
fn is_spread(layers: &[Layer]) -> bool {
    let means = layers.iter().flat_map(|layer| match &layer.shape {
        Shape::Points { y, .. } => &y[..],
        _ => &[],
    });
    let known = means.filter(|y| y.is_finite());
    let (low, high) = known.fold((f64::INFINITY, 0.0_f64), |(low, high), y| (low.min(*y), high.max(*y)));
    low > 0.0 && high / low > SPREAD
}

/// Values over a range of more than this factor are read better by factors.
pub(super) const SPREAD: f64 = 30.0;

pub(super) fn completion(view: &View<'_>) -> Result<Figure, PlotError> {
    without_axes(view)?;
    let has_requests = view.plotted.runs.iter().any(|run| !run.document.requests.is_empty());
    if !has_requests {
        return Err(PlotError(
            "the results have no requests, those of flows with `arrivals`; for flows with an amount take `bars` with the metric completion".to_owned(),
        ));
    }
    let metrics = if view.request.metrics.is_empty() {
        vec![metric::REQUEST_MEAN]
    } else {
        let names = view.request.metrics.iter();
        names.map(|name| find_metric(name, &[Object::Requests])).collect::<Result<Vec<_>, _>>()?
    };
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for row in view.plotted.runs.iter().flat_map(|run| &run.document.requests) {
        match groups.iter_mut().find(|(group, _)| *group == row.group) {
            Some((_, sizes)) if !sizes.contains(&row.size) => sizes.push(row.size.clone()),
            Some(_) => {}
            None => groups.push((row.group.clone(), vec![row.size.clone()])),
        }
    }
    let mut panels = Vec::new();
    for metric in metrics {
        for (group, sizes) in &groups {
            let mut layers = Vec::new();
            for (slot, scheme) in view.schemes.iter().enumerate() {
                let beside = (slot as f64 - 0.5 * (view.schemes.len() - 1) as f64)
                    * BESIDE.min(0.6 / view.schemes.len() as f64);
                let (mut x, mut y, mut low, mut high) = (vec![], vec![], vec![], vec![]);
                for (at, size) in sizes.iter().enumerate() {
                    let mut seeds = Vec::new();
                    for run in view.runs_of(scheme) {
                        let window = view.window(&run.document)?;
                        let rows = window
                            .and_then(|at| run.document.windows.get(at))
                            .map_or(&run.document.requests, |row| &row.requests);
                        let row = rows.iter().find(|row| row.group == *group && row.size == *size);
                        let value = row.and_then(|row| of_requests(row, metric));
                        seeds.extend(value.map(|value| (run.document.seed, value)));
                    }
                    let (mean, from, to) = ends(&seeds);
                    x.push(at as f64 + beside);
                    y.push(mean);
                    low.push(from);
                    high.push(to);
                }
                let of = |shape| Layer { name: scheme.clone(), style: view.style_of(scheme), shape };
                // All sizes together are no larger size.
                let several = sizes.iter().filter(|size| *size != ALL_SIZES).count();
                let (line_x, line_y) = (x[..several].to_vec(), y[..several].to_vec());
                layers.push(of(Shape::Line { x: line_x, y: line_y, markers: Markers::Few }));
                layers.push(of(Shape::Points { x, y, low, high, named: false }));
            }
            let x = Axis {
                scale: Scale::Categories,
                categories: sizes.clone(),
                ..plain_axis("size of the object (Data)", "")
            };
            let mut y = plain_axis(&label(metric.name), metric.unit.unwrap_or_default());
            if is_spread(&layers) {
                y.scale = Scale::Log;
            } else {
                // No metric of requests is negative, though an interval may reach below zero.
                y.range.0 = Some(0.0);
            }
            let title = if groups.len() > 1 { group.clone() } else { String::new() };
            panels.push(Panel { title, x, y, layers, ..Panel::default() });
        }
    }
    let legend = view.legend(Sign::MarkedLine);
    Ok(Figure { across: 1, panels, legend, ..Figure::default() })
}
