//! From a figure to a drawing.
//!
//! ```text
//!   title
//!   legend, in rows
//!   +--------+  +--------+      Panels of one column have the same left margin. A panel has no
//!   | panel  |  | panel  |      texts on its horizontal axis if the panel below has the same axis.
//!   +--------+  +--------+
//!   source
//! ```

use crate::axis::{Extent, Placed, Tick};
use crate::drawing::{Anchor, Drawing, Item};
use crate::font;
use crate::layers;
use crate::model::{Entry, Figure, Panel, Scale, Shape, Sign};
use crate::network;
use crate::style::{GRID, INK, MUTED, SHADE, Style};

/// Size of titles of axes, and of the legend, points.
pub(crate) const TEXT: f64 = 8.0;
/// Size of the texts of ticks and marks, points.
pub(crate) const SMALL: f64 = 7.0;
/// Size of the source, points.
const TINY: f64 = 6.0;
/// A line of text of size 1.
const LINE: f64 = 1.25;
/// Length of a tick, points.
const TICK: f64 = 2.5;
/// Room between parts, points.
const GAP: f64 = 4.0;
/// Room on the right of a panel, for half of the last tick's text.
const RIGHT: f64 = 8.0;
/// Rows of texts of marks above a panel.
const MARK_ROWS: usize = 3;
/// Width of a line, points.
pub(crate) const STROKE: f64 = 1.0;

/// The width of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// One column of a paper: 3.5 in.
    #[default]
    OneColumn,
    /// Two columns of a paper: 7.16 in.
    TwoColumns,
}

impl Width {
    /// In points.
    pub fn points(self) -> f64 {
        match self {
            Width::OneColumn => 3.5 * 72.0,
            Width::TwoColumns => 7.16 * 72.0,
        }
    }
}

/// A rectangle: left, top, width, height.
pub(crate) type Area = [f64; 4];

/// A panel with its axes and its place.
pub(crate) struct Frame<'a> {
    pub panel: &'a Panel,
    pub x: Placed,
    pub y: Placed,
    pub area: Area,
}

impl Frame<'_> {
    /// The place of a point of the data; `None` where a coordinate has none.
    pub fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.across(self.x.at(x)?), self.up(self.y.at(y)?)))
    }

    /// The place of a part of the horizontal axis.
    pub fn across(&self, part: f64) -> f64 {
        self.area[0] + part * self.area[2]
    }

    /// The place of a part of the vertical axis.
    pub fn up(&self, part: f64) -> f64 {
        self.area[1] + (1.0 - part) * self.area[3]
    }
}

/// Draws a figure. The height follows from the panels.
pub fn draw(figure: &Figure, width: Width) -> Drawing {
    let width = width.points();
    let mut to = Drawing { width, title: figure.title.clone(), ..Drawing::default() };
    let mut top = GAP;
    for line in font::lines(&figure.title, TEXT + 1.0, width - 2.0 * GAP) {
        top += (TEXT + 1.0) * LINE;
        to.text((GAP, top - 2.0), Anchor::Start, 0.0, TEXT + 1.0, INK, &line);
    }
    top = legend(&mut to, &figure.legend, top);
    top = panels(&mut to, figure, top);
    for line in font::lines(&figure.source, TINY, width - 2.0 * GAP) {
        top += TINY * LINE;
        to.text((GAP, top), Anchor::Start, 0.0, TINY, MUTED, &line);
    }
    to.height = (top + GAP).ceil();
    to
}

/// Draws the legend, in rows of columns of the same width. Returns where it ends.
fn legend(to: &mut Drawing, entries: &[Entry], top: f64) -> f64 {
    const SIGN: f64 = 16.0;
    let room = to.width - 2.0 * GAP;
    let widest = entries.iter().map(|entry| font::width(&entry.name, TEXT)).fold(0.0, f64::max);
    let column = (SIGN + 3.0 + widest + 8.0).min(room);
    let across = ((room + 8.0) / column).floor().max(1.0) as usize;
    // Rows that are about equally long.
    let across = entries.len().div_ceil(entries.len().div_ceil(across).max(1)).max(1);
    for (at, entry) in entries.iter().enumerate() {
        let left = GAP + (at % across) as f64 * column;
        let middle = top + (at / across) as f64 * (TEXT * LINE + 1.0) + TEXT * 0.7;
        let style = Style::of(entry.style);
        if matches!(entry.sign, Sign::Line | Sign::MarkedLine) {
            layers::line(to, &[(left, middle), (left + SIGN, middle)], &style);
        }
        if matches!(entry.sign, Sign::Marker | Sign::MarkedLine) {
            layers::marker(to, (left + SIGN / 2.0, middle), &style);
        }
        if entry.sign == Sign::Box {
            layers::bar(to, [left + 3.0, middle - 3.0, SIGN - 6.0, 6.0], &style);
        }
        let name = font::cut(&entry.name, TEXT, column - SIGN - 3.0);
        to.text((left + SIGN + 3.0, middle + 0.36 * TEXT), Anchor::Start, 0.0, TEXT, INK, &name);
    }
    let rows = entries.len().div_ceil(across);
    top + rows as f64 * (TEXT * LINE + 1.0) + if rows > 0 { 2.0 } else { 0.0 }
}

/// The texts of a panel's horizontal axis, and the room that they need below it.
struct Below {
    ticks: Vec<Tick>,
    is_slanted: bool,
    height: f64,
}

fn panels(to: &mut Drawing, figure: &Figure, mut top: f64) -> f64 {
    let count = figure.panels.len();
    let across = figure.across.clamp(1, count.max(1)).min(6);
    let rows = count.div_ceil(across);
    let column = to.width / across as f64;
    let height = {
        let height = (0.6 * (column - 40.0)).clamp(60.0, 165.0);
        if rows > 1 && across == 1 { (0.75 * height).min(110.0) } else { height }
    };
    // Panels above one another with the same horizontal axis have the same ends.
    let mut extents: Vec<(Extent, Extent)> = figure.panels.iter().map(extent).collect();
    let shares = |above: usize, below: usize| {
        figure.panels.get(below).is_some_and(|panel| {
            !is_network(panel) && !is_network(&figure.panels[above]) && panel.x == figure.panels[above].x
        })
    };
    for at in 0..count {
        for other in (at % across..count).step_by(across).filter(|other| shares(at, *other)) {
            let theirs = extents[other].0;
            extents[at].0.join(theirs);
        }
    }
    let mut frames: Vec<Frame<'_>> = (figure.panels.iter().zip(extents))
        .map(|(panel, (x, y))| Frame {
            panel,
            x: Placed::of(&panel.x, x),
            y: Placed::of(&panel.y, y),
            area: [0.0, 0.0, 0.0, height],
        })
        .collect();
    let up: Vec<Vec<Tick>> = frames.iter().map(|frame| frame.y.ticks((height / 16.0) as usize)).collect();
    for index in 0..across.min(count) {
        let own = || (index..count).step_by(across);
        let left = own().map(|at| left_of(&frames[at], &up[at], column)).fold(0.0, f64::max);
        let left = left.min(0.5 * column);
        for at in own() {
            frames[at].area[0] = index as f64 * column + left;
            frames[at].area[2] = column - left - RIGHT;
        }
    }
    for row in 0..rows {
        let own = row * across..((row + 1) * across).min(count);
        let below: Vec<Below> = own
            .clone()
            .map(|at| if shares(at, at + across) { hidden(&frames[at]) } else { below(&frames[at]) })
            .collect();
        let above = own.clone().map(|at| above(&frames[at], row == 0 || !shares(at - across, at)));
        let above = above.fold(0.0, f64::max);
        for (at, below) in own.zip(&below) {
            frames[at].area[1] = top + above;
            let with_marks = row == 0 || !shares(at - across, at);
            panel(to, &frames[at], &up[at], below, with_marks);
        }
        top += above + height + below.iter().map(|below| below.height).fold(0.0, f64::max) + GAP;
    }
    top
}

pub(crate) fn is_network(panel: &Panel) -> bool {
    panel.layers.iter().any(|layer| matches!(layer.shape, Shape::Network { .. }))
}

/// The room left of a panel: for the texts of its vertical axis, and for slanted texts of its first category.
fn left_of(frame: &Frame<'_>, ticks: &[Tick], column: f64) -> f64 {
    if is_network(frame.panel) {
        return RIGHT;
    }
    let widest = ticks.iter().map(|tick| font::width(&tick.text, SMALL)).fold(0.0, f64::max);
    let title = if frame.y.title.is_empty() { 0.0 } else { TEXT * LINE };
    let left = GAP + title + widest + TICK + 2.0;
    let names = &frame.x.categories;
    if frame.panel.x.scale == Scale::Categories && !names.is_empty() {
        let slot = (column - left - RIGHT) / names.len() as f64;
        let is_slanted = names.iter().any(|name| font::width(name, SMALL) > slot - 2.0);
        let sticks_out =
            |(k, name): (usize, &String)| 0.71 * slanted_width(name) + 3.0 - (k as f64 + 0.5) * slot;
        let out = names.iter().enumerate().map(sticks_out).fold(0.0, f64::max);
        return if is_slanted { left.max(out) } else { left };
    }
    left
}

/// No slanted text is longer.
const LONGEST_SLANTED: f64 = 70.0;

fn slanted_width(name: &str) -> f64 {
    font::width(name, SMALL).min(LONGEST_SLANTED)
}

fn hidden(frame: &Frame<'_>) -> Below {
    let ticks = frame.x.ticks(x_ticks(frame)).into_iter();
    Below {
        ticks: ticks.map(|tick| Tick { text: String::new(), ..tick }).collect(),
        is_slanted: false,
        height: 2.0,
    }
}

/// So many ticks that their texts do not touch.
fn x_ticks(frame: &Frame<'_>) -> usize {
    let room = frame.area[2];
    let fits = |most: &usize| {
        let ticks: Vec<Tick> =
            frame.x.ticks(*most).into_iter().filter(|tick| !tick.text.is_empty()).collect();
        let wide = |tick: &Tick| 0.5 * font::width(&tick.text, SMALL);
        ticks.windows(2).all(|two| (two[1].at - two[0].at) * room >= wide(&two[0]) + wide(&two[1]) + 6.0)
    };
    (3..=9).rev().find(fits).unwrap_or(2)
}

fn below(frame: &Frame<'_>) -> Below {
    if is_network(frame.panel) {
        let has_bar = frame.panel.colours.is_some();
        return Below { ticks: Vec::new(), is_slanted: false, height: if has_bar { 26.0 } else { 0.0 } };
    }
    let title = if frame.x.title.is_empty() { 0.0 } else { TEXT * LINE };
    let mut ticks = frame.x.ticks(x_ticks(frame));
    let mut text = SMALL * LINE;
    let mut is_slanted = false;
    if frame.x.scale == Scale::Categories {
        let slot = frame.area[2] / (frame.x.high - frame.x.low);
        is_slanted = ticks.iter().any(|tick| font::width(&tick.text, SMALL) > slot - 2.0);
        if is_slanted {
            // Slanted texts need the height of a line each.
            let every = (SMALL * LINE / slot.max(0.1)).ceil().max(1.0) as usize;
            for (k, tick) in ticks.iter_mut().enumerate() {
                let is_shown = k % every == 0;
                tick.text =
                    if is_shown { font::cut(&tick.text, SMALL, LONGEST_SLANTED) } else { String::new() };
            }
            text = ticks.iter().map(|tick| 0.71 * slanted_width(&tick.text)).fold(0.0, f64::max) + 6.0;
        }
    }
    Below { ticks, is_slanted, height: TICK + text + title + 2.0 }
}

/// The room above a panel: for its title and the texts of its marks.
fn above(frame: &Frame<'_>, with_marks: bool) -> f64 {
    let title = if frame.panel.title.is_empty() { 0.0 } else { TEXT * LINE };
    let rows =
        if with_marks { mark_texts(frame).iter().map(|(row, ..)| row + 1).max().unwrap_or(0) } else { 0 };
    title + rows as f64 * SMALL * LINE + 2.0
}

/// The texts of marks that have a place: row from below, and where they begin. A text that has no place is left out: its line stays.
fn mark_texts<'a>(frame: &'a Frame<'_>) -> Vec<(usize, f64, &'a str)> {
    let mut ends = [f64::NEG_INFINITY; MARK_ROWS];
    let mut marks: Vec<(f64, &str)> = Vec::new();
    for mark in frame.panel.marks.iter().filter(|mark| !mark.horizontal && !mark.text.is_empty()) {
        let at = match mark.to {
            Some(to) => frame
                .x
                .at(mark.from.max(frame.x.low))
                .zip(frame.x.at(to.min(frame.x.high)))
                .map(|(a, b)| 0.5 * (a + b)),
            None => frame.x.at(mark.from),
        };
        if let Some(at) = at.filter(|at| (0.0..=1.0).contains(at)) {
            marks.push((frame.across(at), &mark.text));
        }
    }
    marks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [left, _, width, _] = frame.area;
    let mut placed = Vec::new();
    for (middle, text) in marks {
        let wide = font::width(text, SMALL);
        let begin = (middle - wide / 2.0).min(left + width + RIGHT - wide).max(left - 20.0);
        if let Some(row) = ends.iter().position(|end| *end + 4.0 <= begin) {
            ends[row] = begin + wide;
            placed.push((row, begin, text));
        }
    }
    placed
}

fn panel(to: &mut Drawing, frame: &Frame<'_>, up: &[Tick], below: &Below, with_marks: bool) {
    let [left, top, width, height] = frame.area;
    let mut over = top - 3.0;
    if with_marks {
        let texts = mark_texts(frame);
        for (row, begin, text) in &texts {
            let base = over - *row as f64 * SMALL * LINE;
            to.text((*begin, base), Anchor::Start, 0.0, SMALL, MUTED, text);
        }
        over -= texts.iter().map(|(row, ..)| row + 1).max().unwrap_or(0) as f64 * SMALL * LINE;
    }
    let title = font::cut(&frame.panel.title, TEXT, width + RIGHT);
    to.text((left, over), Anchor::Start, 0.0, TEXT, INK, &title);
    if is_network(frame.panel) {
        network::draw(to, frame);
        return;
    }
    for mark in frame.panel.marks.iter().filter(|mark| !mark.horizontal) {
        if let Some((from, end)) = frame.x.at(mark.from).zip(mark.to.and_then(|to| frame.x.at(to))) {
            let (from, end) = (from.clamp(0.0, 1.0), end.clamp(0.0, 1.0));
            to.area([frame.across(from), top, (end - from).max(0.0) * width, height], SHADE, 1.0);
        }
    }
    for tick in up {
        let y = frame.up(tick.at);
        if !tick.text.is_empty() {
            to.line(&[(left, y), (left + width, y)], GRID, 0.4, &[]);
        }
        let long = if tick.text.is_empty() { 0.6 * TICK } else { TICK };
        to.line(&[(left - long, y), (left, y)], INK, 0.6, &[]);
        to.text((left - TICK - 2.0, y + 0.36 * SMALL), Anchor::End, 0.0, SMALL, INK, &tick.text);
    }
    to.items.push(Item::Clip([left, top - 2.0, width + 2.0, height + 4.0]));
    frame.panel.layers.iter().for_each(|layer| layers::draw(to, frame, layer));
    for mark in frame.panel.marks.iter().filter(|mark| mark.to.is_none()) {
        let dash = [2.0, 2.0];
        if mark.horizontal {
            let Some(y) = frame.y.at(mark.from).map(|part| frame.up(part)) else { continue };
            to.line(&[(left, y), (left + width, y)], MUTED, 0.7, &dash);
            to.text((left + width - 2.0, y - 2.0), Anchor::End, 0.0, SMALL, MUTED, &mark.text);
        } else if let Some(x) = frame.x.at(mark.from).map(|part| frame.across(part)) {
            to.line(&[(x, top), (x, top + height)], MUTED, 0.7, &dash);
        }
    }
    to.items.push(Item::Unclip);
    layers::names(to, frame);
    let foot = top + height;
    to.line(&[(left, top), (left, foot), (left + width, foot)], INK, 0.6, &[]);
    for tick in &below.ticks {
        let x = frame.across(tick.at);
        let long = if tick.text.is_empty() { 0.6 * TICK } else { TICK };
        to.line(&[(x, foot), (x, foot + long)], INK, 0.6, &[]);
        if below.is_slanted {
            to.text((x + 2.0, foot + TICK + 5.0), Anchor::End, 45.0, SMALL, INK, &tick.text);
        } else {
            // A long text of the last tick does not leave the figure.
            let wide = font::width(&tick.text, SMALL);
            let begin = (x - wide / 2.0).min(left + width + RIGHT - wide);
            to.text((begin, foot + TICK + SMALL), Anchor::Start, 0.0, SMALL, INK, &tick.text);
        }
    }
    if below.ticks.iter().any(|tick| !tick.text.is_empty()) {
        let middle = (left + width / 2.0, foot + below.height - 3.0);
        to.text(middle, Anchor::Middle, 0.0, TEXT, INK, &font::cut(&frame.x.title, TEXT, left + width));
    }
    let widest = up.iter().map(|tick| font::width(&tick.text, SMALL)).fold(0.0, f64::max);
    let beside = left - TICK - 2.0 - widest - 4.0;
    let title = font::cut(&frame.y.title, TEXT, height + 30.0);
    to.text((beside, top + height / 2.0), Anchor::Middle, 90.0, TEXT, INK, &title);
}

/// The values of a panel on both axes.
fn extent(panel: &Panel) -> (Extent, Extent) {
    let (mut x, mut y) = (Extent::NONE, Extent::NONE);
    y.has_room = true;
    for layer in &panel.layers {
        let mut add = |to_x: &[f64], to_y: &[&[f64]]| {
            to_x.iter().for_each(|value| x.add(panel.x.scale, *value));
            to_y.iter().copied().flatten().for_each(|value| y.add(panel.y.scale, *value));
        };
        match &layer.shape {
            Shape::Line { x, y, .. } | Shape::Steps { x, y } => add(x, &[y]),
            Shape::Band { x, low, high } => add(x, &[low, high]),
            Shape::Points { x: places, y: values, low, high, .. } => {
                add(places, &[values, low, high]);
                x.has_room = true;
            }
            Shape::Bars { x: places, y: values, low, high, seeds, .. } => {
                add(places, &[values, low, high]);
                seeds.iter().for_each(|dot| y.add(panel.y.scale, dot.y));
                y.from_zero = true;
            }
            Shape::Ellipse { .. } => {
                let (xs, ys): (Vec<f64>, Vec<f64>) = layers::ellipse_points(&layer.shape).into_iter().unzip();
                add(&xs, &[&ys]);
                x.has_room = true;
            }
            Shape::Network { .. } => {}
        }
    }
    for mark in panel.marks.iter().filter(|mark| mark.horizontal) {
        y.add(panel.y.scale, mark.from);
    }
    (x, y)
}
