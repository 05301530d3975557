//! Tables that follow from those of the comparison: what a scheme has in several experiments, from the least to the most.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{COMPARISON, Tables};
use crate::Result;
use crate::page::Document;

const DIAMONDS: [&str; 2] = ["qsccp/diamond-bandwidth", "qsccp/diamond-latency"];
const FRIENDLINESS: [&str; 2] = ["qsccp/friendliness", "qsccp/friendliness-delay"];

/// The window of the diamonds in which a flow is greedy.
const GREEDY: &str = "250 s to 320 s";
/// The table of friendliness.
const RATIO: &str = "Goodput as a multiple of cubic's beside it";

/// Means by window or title of the table, scheme and column.
type Figures = BTreeMap<[String; 3], f64>;

/// Both tables of the page.
pub fn documents(tables: &Tables) -> Result<Vec<Document>> {
    Ok(vec![
        Document::part(COMPARISON, "diamonds", table(tables, &DIAMONDS, "%", parts_of_optimum)?),
        Document::part(COMPARISON, "friendliness", table(tables, &FRIENDLINESS, "", ratios)?),
    ])
}

/// A row for each scheme, with the least and the most of its figures in each experiment.
fn table(
    tables: &Tables,
    experiments: &[&str],
    unit: &str,
    of: fn(&Figures, &str) -> Vec<f64>,
) -> Result<String> {
    let sections: Result<Vec<Figures>> =
        experiments.iter().map(|name| Ok(figures(tables.section(name)?))).collect();
    let sections = sections?;
    let mut text = format!("| scheme | `{}` |\n|---|--:|--:|\n", experiments.join("` | `"));
    for scheme in &tables.schemes {
        let ranges: Vec<String> = sections.iter().map(|figures| range(&of(figures, scheme), unit)).collect();
        if ranges.iter().any(|range| !range.is_empty()) {
            text += &format!("| {scheme} | {} |\n", ranges.join(" | "));
        }
    }
    Ok(text)
}

/// Parts of the goodput of the optimum in the windows before a flow is greedy, in percent.
fn parts_of_optimum(figures: &Figures, scheme: &str) -> Vec<f64> {
    let goodputs = figures.iter().filter(|([_, s, column], _)| s == scheme && column == "goodput");
    let parts =
        goodputs.filter(|([window, ..], _)| window != GREEDY).filter_map(|([window, ..], goodput)| {
            let optimum = [window, "optimum", "goodput"].map(str::to_owned);
            Some(100.0 * goodput / figures.get(&optimum)?)
        });
    parts.collect()
}

/// Goodput as a multiple of CUBIC's.
fn ratios(figures: &Figures, scheme: &str) -> Vec<f64> {
    let of = figures.iter().filter(|([title, s, _], _)| title == RATIO && s == scheme);
    of.map(|(_, ratio)| *ratio).collect()
}

fn range(figures: &[f64], unit: &str) -> String {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shown = |figure: f64| match unit {
        "%" => format!("{figure:.0} %"),
        _ if figure < 1.5 => format!("{figure:.2}"),
        _ if figure < 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    };
    match figures {
        [] => String::new(),
        _ if shown(least) == shown(most) => shown(least),
        _ => format!("{} to {}", shown(least), shown(most)),
    }
}

/// The means of a section. The row of a window begins with the window, which the rows below leave out; that of a table
/// over an axis begins with the scheme.
fn figures(section: &str) -> Figures {
    let mut figures = Figures::new();
    let (mut window, mut columns) = (String::new(), Vec::new());
    for line in section.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let Some((title, _)) = line.strip_suffix(':').and_then(|line| line.split_once(" over ")) {
            title.clone_into(&mut window);
        } else if line.starts_with("| window |") || line.starts_with("| scheme |") {
            columns = cells;
        } else if line.starts_with("| ") {
            let first = usize::from(columns.first() == Some(&"window"));
            if first == 1 && !cells[0].is_empty() {
                cells[0].clone_into(&mut window);
            }
            for (column, cell) in columns.iter().zip(&cells).skip(first + 1) {
                let key = [&*window, cells[first], column].map(str::to_owned);
                if let (Some(mean), Entry::Vacant(place)) = (mean(cell), figures.entry(key)) {
                    place.insert(mean);
                }
            }
        }
    }
    figures
}

/// The mean of a cell such as `1.4 ± 0.02 Mb/s`; rates are in Mb/s.
fn mean(cell: &str) -> Option<f64> {
    let cell = cell.replace('\u{202f}', "");
    let mean: f64 = cell.split(' ').next()?.parse().ok()?;
    Some(if cell.ends_with("kb/s") { mean / 1e3 } else { mean })
}
