//! The data of a panel.

use crate::draw::{Frame, SMALL, STROKE};
use crate::drawing::{Anchor, Drawing, Path, Step, ellipse, rectangle};
use crate::font;
use crate::model::{Layer, Markers, Scale, Shape};
use crate::style::{Colour, INK, Marker, Style};

const WHITE: Colour = [0xff, 0xff, 0xff];
/// Half of a marker, points.
const RADIUS: f64 = 2.3;
/// A line with more points has markers at a few places only.
const MANY: usize = 16;
/// Sides of a polygon that is drawn for an ellipse.
const SIDES: usize = 64;

pub(crate) fn line(to: &mut Drawing, places: &[(f64, f64)], style: &Style) {
    let dash: Vec<f64> = style.dash.iter().map(|x| f64::from(*x) * STROKE).collect();
    to.line(places, style.colour, STROKE, &dash);
}

/// A bar: filled, or white with an edge.
pub(crate) fn bar(to: &mut Drawing, area: [f64; 4], style: &Style) {
    let (fill, opacity) = if style.filled { (style.colour, 0.75) } else { (WHITE, 1.0) };
    let stroke = Some((style.colour, 0.7));
    to.path(Path { steps: rectangle(area), stroke, fill: Some(fill), opacity, ..Path::default() });
}

pub(crate) fn marker(to: &mut Drawing, (x, y): (f64, f64), style: &Style) {
    let polygon = |points: &[(f64, f64)]| {
        let step = |(at, (dx, dy)): (usize, &(f64, f64))| {
            let (x, y) = (x + dx * RADIUS, y + dy * RADIUS);
            if at == 0 { Step::Move(x, y) } else { Step::Line(x, y) }
        };
        points.iter().enumerate().map(step).chain([Step::Close]).collect()
    };
    let around = |count: usize, radius: fn(usize) -> f64| -> Vec<(f64, f64)> {
        let point = |k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / count as f64;
            (radius(k) * libm::sin(angle), -radius(k) * libm::cos(angle))
        };
        (0..count).map(point).collect()
    };
    // The outline of a plus, each arm a third wide.
    const PLUS: [(f64, f64); 12] = [
        (-0.35, -1.1),
        (0.35, -1.1),
        (0.35, -0.35),
        (1.1, -0.35),
        (1.1, 0.35),
        (0.35, 0.35),
        (0.35, 1.1),
        (-0.35, 1.1),
        (-0.35, 0.35),
        (-1.1, 0.35),
        (-1.1, -0.35),
        (-0.35, -0.35),
    ];
    let steps = match style.marker {
        Marker::Circle => ellipse((x, y), (RADIUS, 0.0), (0.0, RADIUS)),
        Marker::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Marker::Up => polygon(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
        Marker::Down => polygon(&[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)]),
        Marker::Diamond => polygon(&[(0.0, -1.25), (1.0, 0.0), (0.0, 1.25), (-1.0, 0.0)]),
        Marker::Star => polygon(&around(10, |k| if k % 2 == 0 { 1.4 } else { 0.6 })),
        Marker::Plus => polygon(&PLUS),
        Marker::Cross => polygon(&PLUS.map(|(a, b)| (0.707 * (a - b), 0.707 * (a + b)))),
    };
    let fill = Some(if style.filled { style.colour } else { WHITE });
    to.path(Path { steps, stroke: Some((style.colour, 0.8)), fill, opacity: 1.0, ..Path::default() });
}

pub(crate) fn draw(to: &mut Drawing, frame: &Frame<'_>, layer: &Layer) {
    let style = Style::of(layer.style);
    match &layer.shape {
        Shape::Line { x, y, markers } => {
            let places = x.iter().zip(y).map(|(x, y)| frame.at(*x, *y));
            let places: Vec<Option<(f64, f64)>> = places.collect();
            lines(to, &places, &style);
            markers_on(to, frame, &places, *markers, layer.style);
        }
        Shape::Steps { x, y } => {
            let places: Vec<Option<(f64, f64)>> = x.iter().zip(y).map(|(x, y)| frame.at(*x, *y)).collect();
            let mut stairs = Vec::with_capacity(2 * places.len());
            for (at, place) in places.iter().enumerate() {
                stairs.push(*place);
                if let (Some((_, y)), Some(Some((next, _)))) = (place, places.get(at + 1)) {
                    stairs.push(Some((*next, *y)));
                }
            }
            lines(to, &stairs, &style);
            markers_on(to, frame, &places, Markers::Few, layer.style);
        }
        Shape::Band { x, low, high } => {
            let places = x.iter().zip(low.iter().zip(high));
            let place = |x: f64, y: f64| end_of(frame, x, y).map(|end| end.place);
            let places = places.map(|(x, (low, high))| place(*x, *low).zip(place(*x, *high)));
            let places: Vec<_> = places.collect();
            for run in places.split(Option::is_none) {
                let there = run.iter().flatten().map(|(low, _)| *low);
                let back = run.iter().flatten().rev().map(|(_, high)| *high);
                let step = |(at, (x, y))| if at == 0 { Step::Move(x, y) } else { Step::Line(x, y) };
                let steps = there.chain(back).enumerate().map(step).chain([Step::Close]).collect();
                if run.len() > 1 {
                    to.path(Path { steps, fill: Some(style.colour), opacity: 0.18, ..Path::default() });
                }
            }
        }
        Shape::Points { x, y, low, high, .. } => {
            for (at, (x, y)) in x.iter().zip(y).enumerate() {
                let end = |ends: &[f64]| ends.get(at).and_then(|value| end_of(frame, *x, *value));
                if let (Some(low), Some(high)) = (end(low), end(high)) {
                    interval(to, &[low, high], 1.8, style.colour);
                }
                if let Some(place) = frame.at(*x, *y) {
                    marker(to, place, &style);
                }
            }
        }
        Shape::Bars { x, y, low, high, slot, slots, seeds } => {
            let unit = frame.area[2] / (frame.x.high - frame.x.low);
            let slots = (*slots).max(1);
            let wide = 0.8 * unit / slots as f64;
            let foot = frame.up(frame.y.foot());
            let beside = ((*slot).min(slots) as f64 + 0.5) * wide - 0.4 * unit;
            for (at, (x, y)) in x.iter().zip(y).enumerate() {
                let Some((middle, end)) = frame.at(*x, *y) else { continue };
                let middle = middle + beside;
                let shown = (0.92 * wide).max(0.2);
                bar(to, [middle - shown / 2.0, end.min(foot), shown, (foot - end).abs()], &style);
                let end = |ends: &[f64]| {
                    let end = ends.get(at).and_then(|value| end_of(frame, *x, *value))?;
                    Some(End { place: (middle, end.place.1), ..end })
                };
                if let (Some(low), Some(high)) = (end(low), end(high)) {
                    interval(to, &[low, high], (0.25 * wide).min(2.0), INK);
                }
            }
            dots(to, frame, seeds, beside, wide);
        }
        Shape::Ellipse { x, y, .. } => {
            let points = ellipse_points(&layer.shape);
            let places: Vec<_> = points.into_iter().filter_map(|(x, y)| frame.at(x, y)).collect();
            if places.len() < SIDES || frame.at(*x, *y).is_none() {
                return;
            }
            let step = |(at, (x, y)): (usize, &(f64, f64))| {
                if at == 0 { Step::Move(*x, *y) } else { Step::Line(*x, *y) }
            };
            let steps = places.iter().enumerate().map(step).chain([Step::Close]).collect();
            let (stroke, fill) = (Some((style.colour, 0.5)), Some(style.colour));
            to.path(Path { steps, stroke, fill, opacity: 0.12, ..Path::default() });
        }
        Shape::Network { .. } => {}
    }
}

/// Single seeds: dots beside each other, in the order of the list.
fn dots(to: &mut Drawing, frame: &Frame<'_>, seeds: &[crate::model::Dot], beside: f64, wide: f64) {
    for (at, dot) in seeds.iter().enumerate() {
        let of_bar = |other: &&crate::model::Dot| other.x == dot.x;
        let (count, before) =
            (seeds.iter().filter(of_bar).count(), seeds[..at].iter().filter(of_bar).count());
        let part = (before as f64 + 0.5) / count.max(1) as f64 - 0.5;
        if let Some((x, y)) = frame.at(dot.x, dot.y) {
            let radius = (0.1 * wide).clamp(0.5, 1.0);
            let steps = ellipse((x + beside + 0.6 * wide * part, y), (radius, 0.0), (0.0, radius));
            to.path(Path { steps, fill: Some(INK), opacity: 0.55, ..Path::default() });
        }
    }
}

/// An end of an interval.
#[derive(Clone, Copy)]
struct End {
    place: (f64, f64),
    /// Whether the interval goes on beyond the axis.
    is_cut: bool,
}

/// An end of an interval within the panel: one may reach below what can be, and below what a logarithmic axis has.
fn end_of(frame: &Frame<'_>, x: f64, y: f64) -> Option<End> {
    let [_, top, _, height] = frame.area;
    let is_below = frame.y.scale == Scale::Log && y <= 0.0;
    let (across, up) = frame.at(x, if is_below { frame.y.low } else { y })?;
    let shown = up.clamp(top, top + height);
    Some(End { place: (across, shown), is_cut: is_below || shown != up })
}

/// An interval with short lines at the ends that it has within the panel.
fn interval(to: &mut Drawing, ends: &[End; 2], half: f64, colour: Colour) {
    to.line(&ends.map(|end| end.place), colour, 0.7, &[]);
    for (x, y) in ends.iter().filter(|end| !end.is_cut).map(|end| end.place) {
        to.line(&[(x - half, y), (x + half, y)], colour, 0.7, &[]);
    }
}

/// Lines through places, broken where there is none. A place alone is a short line.
fn lines(to: &mut Drawing, places: &[Option<(f64, f64)>], style: &Style) {
    for run in places.split(Option::is_none) {
        let run: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        match run[..] {
            [] => {}
            [(x, y)] => to.line(&[(x - 0.6, y), (x + 0.6, y)], style.colour, STROKE, &[]),
            _ => line(to, &thinned(&run), style),
        }
    }
}

/// The same line with fewer points: of all within a quarter of a point of the horizontal axis, the first, the lowest, the highest and
/// the last one.
fn thinned(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let bin = |(x, _): &(f64, f64)| (x * 4.0).floor();
    let mut kept = Vec::new();
    for run in places.chunk_by(|a, b| bin(a) == bin(b)) {
        if run.len() <= 4 {
            kept.extend_from_slice(run);
            continue;
        }
        let by = |is_better: fn(f64, f64) -> bool| {
            (1..run.len()).fold(0, |best, at| if is_better(run[at].1, run[best].1) { at } else { best })
        };
        let mut shown = [0, by(|a, b| a < b), by(|a, b| a > b), run.len() - 1];
        shown.sort_unstable();
        kept.extend(shown.map(|at| run[at]));
    }
    kept.dedup();
    kept
}

/// Markers at all points of a line, or, where there are many, at about five places that differ between styles.
fn markers_on(
    to: &mut Drawing,
    frame: &Frame<'_>,
    places: &[Option<(f64, f64)>],
    markers: Markers,
    style: u32,
) {
    if markers == Markers::None {
        return;
    }
    let shape = Style::of(style);
    if markers == Markers::All && places.len() <= 4 * MANY {
        places.iter().flatten().for_each(|place| marker(to, *place, &shape));
        return;
    }
    const SHOWN: usize = 5;
    let [left, _, width, _] = frame.area;
    // None is at the axis, where it would be cut.
    let shift = 0.1 + 0.8 * f64::from(5 * style % 16) / 16.0;
    for k in 0..SHOWN {
        let wanted = left + width * (k as f64 + shift) / SHOWN as f64;
        let after =
            places.iter().flatten().find(|(x, _)| *x >= wanted && *x <= wanted + width / SHOWN as f64);
        if let Some(place) = after {
            marker(to, *place, &shape);
        }
    }
}

/// The points of an ellipse's outline, in the units of the data; none if it is not one.
pub(crate) fn ellipse_points(shape: &Shape) -> Vec<(f64, f64)> {
    let Shape::Ellipse { x, y, covariance } = shape else { return Vec::new() };
    let &[xx, yy, xy] = &covariance[..] else { return Vec::new() };
    let is_one = [*x, *y, xx, yy, xy].iter().all(|value| value.abs() < 1e150) && xx >= 0.0 && yy >= 0.0;
    if !is_one || xx + yy == 0.0 {
        return Vec::new();
    }
    // The square root of the covariance: a triangle.
    let a = xx.sqrt();
    let b = if a > 0.0 { xy / a } else { 0.0 };
    let c = (yy - b * b).max(0.0).sqrt();
    let point = |k: usize| {
        let angle = std::f64::consts::TAU * k as f64 / SIDES as f64;
        let (sin, cos) = (libm::sin(angle), libm::cos(angle));
        (x + a * cos, y + b * cos + c * sin)
    };
    (0..SIDES).map(point).collect()
}

/// Names beside points: at the first of eight places where they cover nothing.
pub(crate) fn names(to: &mut Drawing, frame: &Frame<'_>) {
    let mut taken: Vec<[f64; 4]> = Vec::new();
    let mut points = Vec::new();
    for layer in &frame.panel.layers {
        if let Shape::Points { x, y, named, .. } = &layer.shape {
            let places = x.iter().zip(y).filter_map(|(x, y)| frame.at(*x, *y));
            taken.extend(places.map(|(x, y)| [x - RADIUS, y - RADIUS, 2.0 * RADIUS, 2.0 * RADIUS]));
            let first = x.first().zip(y.first()).and_then(|(x, y)| frame.at(*x, *y));
            points.extend(first.filter(|_| *named).map(|place| (place, &layer.name)));
        }
    }
    for (place, name) in points {
        let (x, y) = beside(&mut taken, frame.area, place, name, SMALL);
        to.text((x, y), Anchor::Start, 0.0, SMALL, INK, name);
    }
}

/// Where a name beside a place begins; it is taken from then on.
pub(crate) fn beside(
    taken: &mut Vec<[f64; 4]>,
    area: [f64; 4],
    (x, y): (f64, f64),
    name: &str,
    size: f64,
) -> (f64, f64) {
    let (wide, high) = (font::width(name, size), size);
    let far = RADIUS + 2.5;
    let places = [
        (x + far, y - high / 2.0),
        (x - far - wide, y - high / 2.0),
        (x - wide / 2.0, y - far - high),
        (x - wide / 2.0, y + far),
        (x + far, y - far - high),
        (x - far - wide, y - far - high),
        (x + far, y + far),
        (x - far - wide, y + far),
        (x + far, y - 2.0 * far - 2.0 * high),
        (x + far, y + 2.0 * far + high),
    ];
    let shared = |[ax, ay, aw, ah]: [f64; 4], [bx, by, bw, bh]: [f64; 4]| {
        let over = |a: f64, aw: f64, b: f64, bw: f64| ((a + aw).min(b + bw) - a.max(b)).max(0.0);
        over(ax, aw, bx, bw) * over(ay, ah, by, bh)
    };
    let cost = |(x, y): &(f64, f64)| {
        let own = [*x, *y, wide, high];
        let covered: f64 = taken.iter().map(|other| shared(own, *other)).sum();
        // What is outside counts as covered.
        covered + wide * high - shared(own, area)
    };
    let best = places.iter().copied().min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((x, y));
    taken.push([best.0, best.1, wide, high]);
    (best.0, best.1 + 0.82 * high)
}
