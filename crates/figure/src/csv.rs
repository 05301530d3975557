//! The data of a figure as one table.

use std::fmt::Write as _;

use crate::model::{Axis, Figure, Panel, Shape};

/// The columns.
const HEAD: &str = "panel,title,layer,kind,x_label,x_unit,x,category,y_label,y_unit,y,low,high,seed\n";

impl Figure {
    /// The data as one tidy table, a row for each point: `panel` (its number, from 1 on), `title` (of the panel), `layer`, `kind`,
    /// `x_label`, `x_unit`, `x`, `category` (the name of `x` on an axis with categories, or a link of a network), `y_label` and
    /// `y_unit` (of `y`, `low` and `high`: the metric), `y`, `low`, `high`, `seed`. What is not there is empty.
    pub fn csv(&self) -> String {
        let mut csv = HEAD.to_owned();
        for (number, panel) in self.panels.iter().enumerate() {
            write_panel(&mut csv, number + 1, panel);
        }
        csv
    }
}

fn write_panel(csv: &mut String, number: usize, panel: &Panel) {
    let (y_label, y_unit) = match &panel.colours {
        Some(colours) => (&colours.label, &colours.unit),
        None => (&panel.y.label, &panel.y.unit),
    };
    let [title, x_label, x_unit, y_label, y_unit] =
        [&panel.title, &panel.x.label, &panel.x.unit, y_label, y_unit].map(|text| quoted(text));
    for layer in &panel.layers {
        let mut row = |kind: &str, category: &str, [x, y, low, high]: [f64; 4], seed: Option<u64>| {
            let cells = [x, y, low, high]
                .map(|value| if value.is_finite() { value.to_string() } else { String::new() });
            let [x, y, low, high] = cells;
            let seed = seed.map(|seed| seed.to_string()).unwrap_or_default();
            let (layer, category) = (quoted(&layer.name), quoted(category));
            let _ = writeln!(
                csv,
                "{number},{title},{layer},{kind},{x_label},{x_unit},{x},{category},{y_label},{y_unit},{y},{low},{high},{seed}"
            );
        };
        let none = f64::NAN;
        let at = |values: &[f64], k: usize| values.get(k).copied().unwrap_or(none);
        let category = |x: f64| category(&panel.x, x);
        match &layer.shape {
            Shape::Line { x, y, .. } | Shape::Steps { x, y } => {
                let kind = if matches!(layer.shape, Shape::Steps { .. }) { "steps" } else { "line" };
                (0..x.len()).for_each(|k| row(kind, category(x[k]), [x[k], at(y, k), none, none], None));
            }
            Shape::Band { x, low, high } => {
                (0..x.len())
                    .for_each(|k| row("band", category(x[k]), [x[k], none, at(low, k), at(high, k)], None));
            }
            Shape::Points { x, y, low, high, .. } => {
                (0..x.len()).for_each(|k| {
                    row("points", category(x[k]), [x[k], at(y, k), at(low, k), at(high, k)], None)
                });
            }
            Shape::Bars { x, y, low, high, seeds, .. } => {
                (0..x.len()).for_each(|k| {
                    row("bars", category(x[k]), [x[k], at(y, k), at(low, k), at(high, k)], None)
                });
                seeds
                    .iter()
                    .for_each(|dot| row("seed", category(dot.x), [dot.x, dot.y, none, none], Some(dot.seed)));
            }
            Shape::Ellipse { .. } => {
                for (x, y) in crate::layers::ellipse_points(&layer.shape) {
                    row("ellipse", "", [x, y, none, none], None);
                }
            }
            Shape::Network { nodes, links } => {
                for link in links {
                    let name = |at: usize| nodes.get(at).map_or("", |node| &node.name);
                    let way = format!("{}->{}", name(link.from), name(link.to));
                    row("link", &way, [none, link.value, none, none], None);
                }
            }
        }
    }
}

fn category(axis: &Axis, x: f64) -> &str {
    let is_place = (0.0..axis.categories.len() as f64).contains(&x);
    if is_place { &axis.categories[x as usize] } else { "" }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
