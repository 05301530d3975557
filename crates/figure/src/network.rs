//! A network, with links coloured by a value.

use crate::axis::{Extent, Placed};
use crate::draw::{Frame, SMALL, TEXT};
use crate::drawing::{Anchor, Drawing, Path, Step, ellipse, rectangle};
use crate::font;
use crate::layers;
use crate::model::{Axis, ColourScale, Link, Node, Shape};
use crate::style::{GRID, INK, MUTED, on_scale};

/// Room around the nodes, points.
const ROOM: f64 = 14.0;
/// Networks of more nodes have no names.
const NAMED: usize = 60;
/// The bar of colours: its height and its width, points.
const BAR: (f64, f64) = (6.0, 90.0);

pub(crate) fn draw(to: &mut Drawing, frame: &Frame<'_>) {
    for layer in &frame.panel.layers {
        if let Shape::Network { nodes, links } = &layer.shape {
            let scale = frame.panel.colours.as_ref().map(|colours| scale(colours, links));
            network(to, frame, nodes, links, scale.as_ref());
            if let Some(scale) = &scale {
                bar(to, frame, scale);
            }
        }
    }
}

fn scale(colours: &ColourScale, links: &[Link]) -> Placed {
    let axis = Axis {
        label: colours.label.clone(),
        unit: colours.unit.clone(),
        range: colours.range,
        ..Axis::default()
    };
    let mut data = Extent::NONE;
    links.iter().for_each(|link| data.add(axis.scale, link.value));
    data.from_zero = true;
    Placed::of(&axis, data)
}

fn network(to: &mut Drawing, frame: &Frame<'_>, nodes: &[Node], links: &[Link], scale: Option<&Placed>) {
    let [left, top, width, height] = frame.area;
    let is_dense = nodes.len() > NAMED;
    let radius = if is_dense { 1.8 } else { 3.4 };
    // A name that is centred above or below a node at the side fits.
    let names = nodes.iter().filter(|_| !is_dense).map(|node| font::width(&node.name, SMALL));
    let side = ROOM.max(names.fold(0.0, f64::max) / 2.0 + 2.0).min(width / 4.0);
    let part = |x: f64| if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.5 };
    let place = |node: &Node| {
        (
            left + side + part(node.x) * (width - 2.0 * side),
            top + ROOM / 2.0 + part(node.y) * (height - 1.5 * ROOM),
        )
    };
    let places: Vec<(f64, f64)> = nodes.iter().map(place).collect();
    let mut taken: Vec<[f64; 4]> = Vec::new();
    for link in links {
        let (Some(a), Some(b)) = (places.get(link.from), places.get(link.to)) else { continue };
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let long = (dx * dx + dy * dy).sqrt();
        if long == 0.0 {
            continue;
        }
        // Each direction is on its own side, and its arrow is in the middle of its half.
        let aside = if is_dense { 0.7 } else { 1.6 };
        let (ox, oy) = (-dy / long * aside, dx / long * aside);
        let colour = scale.map_or(MUTED, |scale| scale.at(link.value).map_or(GRID, on_scale));
        let (from, end) = ((a.0 + ox, a.1 + oy), (b.0 + ox, b.1 + oy));
        to.line(&[from, end], colour, if is_dense { 0.9 } else { 2.0 }, &[]);
        if !is_dense {
            let at = |along: f64, side: f64| {
                let (x, y) = (a.0 + dx * 0.62 + dx / long * along, a.1 + dy * 0.62 + dy / long * along);
                (x + ox / aside * side, y + oy / aside * side)
            };
            let [one, two, three] = [at(4.0, aside), at(-2.0, aside + 2.6), at(-2.0, aside)];
            let steps = vec![
                Step::Move(one.0, one.1),
                Step::Line(two.0, two.1),
                Step::Line(three.0, three.1),
                Step::Close,
            ];
            to.path(Path { steps, fill: Some(colour), opacity: 1.0, ..Path::default() });
        }
        // Names keep off links.
        let boxes = (0..=8).map(|k| (a.0 + dx * f64::from(k) / 8.0, a.1 + dy * f64::from(k) / 8.0));
        taken.extend(boxes.map(|(x, y)| [x - 2.0, y - 2.0, 4.0, 4.0]));
    }
    for (node, (x, y)) in nodes.iter().zip(&places) {
        let steps = match node.role.as_str() {
            "consumer" => rectangle([x - radius, y - radius, 2.0 * radius, 2.0 * radius]),
            "producer" => vec![
                Step::Move(*x, y - 1.3 * radius),
                Step::Line(x + 1.3 * radius, *y),
                Step::Line(*x, y + 1.3 * radius),
                Step::Line(x - 1.3 * radius, *y),
                Step::Close,
            ],
            _ => ellipse((*x, *y), (radius, 0.0), (0.0, radius)),
        };
        let fill = Some([0xff, 0xff, 0xff]);
        to.path(Path { steps, fill, opacity: 1.0, stroke: Some((INK, 0.8)), ..Path::default() });
        taken.push([x - radius, y - radius, 2.0 * radius, 2.0 * radius]);
    }
    if !is_dense {
        for (node, place) in nodes.iter().zip(&places) {
            let area = [left, top - ROOM, width, height + 2.0 * ROOM];
            let (x, y) = layers::beside(&mut taken, area, *place, &node.name, SMALL);
            to.text((x, y), Anchor::Start, 0.0, SMALL, INK, &node.name);
        }
    }
}

fn bar(to: &mut Drawing, frame: &Frame<'_>, scale: &Placed) {
    let [left, top, width, height] = frame.area;
    let title = font::cut(&scale.title, TEXT, width - BAR.1 - 20.0);
    let (x, y) = (left + font::width(&title, TEXT) + 8.0, top + height + 3.0);
    to.text((left, y + BAR.0), Anchor::Start, 0.0, TEXT, INK, &title);
    const PARTS: usize = 30;
    let step = BAR.1 / PARTS as f64;
    for k in 0..PARTS {
        let colour = on_scale((k as f64 + 0.5) / PARTS as f64);
        to.area([x + k as f64 * step, y, step + 0.1, BAR.0], colour, 1.0);
    }
    for tick in scale.ticks(4) {
        let at = x + tick.at * BAR.1;
        to.line(&[(at, y + BAR.0), (at, y + BAR.0 + 2.0)], INK, 0.6, &[]);
        to.text((at, y + BAR.0 + 2.0 + SMALL), Anchor::Middle, 0.0, SMALL, INK, &tick.text);
    }
}
