//! The network of a run, with links coloured by what they did.

use weir_figure::{ColourScale, Figure, Layer, Link, Node, Panel, Shape};

use super::objects::{find_metric, label, names, values};
use super::{By, PlotError, View};
use crate::layout;
use crate::schema::{Object, metric};

/// Panels at most.
const SHOWN: usize = 6;

pub(super) fn topology(view: &View<'_>) -> Result<Figure, PlotError> {
    let metric = match &view.request.metrics[..] {
        [] => metric::UTILISATION,
        [one] => find_metric(one, &[Object::Link])?,
        _ => return Err(PlotError("it shows one metric of links, such as drops".to_owned())),
    };
    let mut panels = Vec::new();
    let mut largest: f64 = 0.0;
    for scheme in view.schemes.iter().take(SHOWN) {
        let Some(run) = view.first_of(scheme) else { continue };
        let topology = &run.topology;
        if topology.nodes.is_empty() {
            return Err(PlotError(
                "the results do not have the scenario's text, and without it there is no network".to_owned(),
            ));
        }
        let mut sums: Vec<(f64, u32)> = vec![(0.0, 0); run.document.links.len()];
        for other in view.runs_of(scheme) {
            let values = values(&other.document, view.window(&other.document)?, By::Link, metric);
            for (name, sum) in names(other, By::Link).iter().zip(&mut sums) {
                if let Some(value) = values.get(name) {
                    *sum = (sum.0 + value, sum.1 + 1);
                }
            }
        }
        let places = layout::positions(topology);
        let node = |(node, (x, y)): (&weir_measure::TopologyNode, &(f64, f64))| Node {
            name: node.name.clone(),
            x: *x,
            y: *y,
            role: node.role.name().to_owned(),
        };
        let nodes = topology.nodes.iter().zip(&places).map(node).collect();
        let place = |name: &String| topology.nodes.iter().position(|node| node.name == *name);
        let link = |(row, (sum, count)): (&weir_measure::LinkRow, &(f64, u32))| {
            let value = if *count > 0 { sum / f64::from(*count) } else { f64::NAN };
            Some(Link { from: place(&row.from)?, to: place(&row.to)?, value })
        };
        let links: Vec<Link> = run.document.links.iter().zip(&sums).filter_map(link).collect();
        largest =
            links.iter().map(|link| link.value).filter(|value| value.is_finite()).fold(largest, f64::max);
        let title = if view.schemes.len() > 1 { scheme.clone() } else { String::new() };
        let shape = Shape::Network { nodes, links };
        panels.push(Panel { title, layers: vec![Layer { shape, ..Layer::default() }], ..Panel::default() });
    }
    if metric == metric::UTILISATION || largest == 0.0 {
        largest = 1.0;
    }
    for panel in &mut panels {
        panel.colours = Some(ColourScale {
            label: label(metric.name),
            unit: metric.unit.unwrap_or_default().to_owned(),
            range: (Some(0.0), Some(largest)),
        });
    }
    Ok(Figure { across: panels.len().min(2), panels, ..Figure::default() })
}
