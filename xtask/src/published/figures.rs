//! Tables derived from the figures of the comparison: each scheme's minimum and maximum over several experiments.

use weir_results::PublishedRow;
use weir_schemes::SCHEMES;

use super::COMPARISON;
use crate::Result;
use crate::page::Document;

const DIAMONDS: [&str; 2] = ["qsccp/diamond-bandwidth", "qsccp/diamond-latency"];
const FRIENDLINESS: [&str; 2] = ["qsccp/friendliness", "qsccp/friendliness-delay"];

/// Start of the diamonds' window in which a flow is greedy, s.
const GREEDY_FROM_S: f64 = 250.0;

/// Both tables of the page.
pub fn documents(rows: &[PublishedRow]) -> Result<Vec<Document>> {
    let diamonds = table(rows, &DIAMONDS, "%", parts_of_optimum)?;
    let friendliness = table(rows, &FRIENDLINESS, "", ratios)?;
    Ok(vec![
        Document::part(COMPARISON.path, "diamonds", diamonds),
        Document::part(COMPARISON.path, "friendliness", friendliness),
    ])
}

/// A row for each scheme, with the minimum and maximum of its figures in each experiment.
fn table(
    rows: &[PublishedRow],
    experiments: &[&str],
    unit: &str,
    of: fn(&[&PublishedRow], &str) -> Vec<f64>,
) -> Result<String> {
    let of_page = |experiment: &&str| -> Vec<&PublishedRow> {
        rows.iter().filter(|row| row.page == COMPARISON.of.name() && row.scenario == *experiment).collect()
    };
    let sections: Vec<Vec<&PublishedRow>> = experiments.iter().map(of_page).collect();
    if let Some(at) = sections.iter().position(Vec::is_empty) {
        return Err(format!("the data have no {} for the comparison", experiments[at]).into());
    }
    let mut schemes: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
    schemes.sort_unstable();
    let mut text = format!("| scheme | `{}` |\n|---|--:|--:|\n", experiments.join("` | `"));
    for scheme in schemes {
        let ranges: Vec<String> = sections.iter().map(|rows| range(&of(rows, scheme), unit)).collect();
        if ranges.iter().any(|range| !range.is_empty()) {
            text += &format!("| {scheme} | {} |\n", ranges.join(" | "));
        }
    }
    Ok(text)
}

/// Percentages of the optimum's goodput in the windows before a flow is greedy.
fn parts_of_optimum(rows: &[&PublishedRow], scheme: &str) -> Vec<f64> {
    let is_before = |row: &&&PublishedRow| row.from_s.is_some_and(|from_s| from_s < GREEDY_FROM_S);
    let goodputs = rows.iter().filter(|row| row.scheme == scheme && row.metric == "goodput");
    let parts = goodputs.filter(is_before).filter_map(|row| {
        let is_optimum = |one: &&&PublishedRow| {
            one.metric == "optimum" && (one.from_s, one.to_s) == (row.from_s, row.to_s)
        };
        Some(100.0 * row.mean? / rows.iter().find(is_optimum)?.mean?)
    });
    parts.collect()
}

/// Goodput as a multiple of CUBIC's goodput.
fn ratios(rows: &[&PublishedRow], scheme: &str) -> Vec<f64> {
    let of_scheme = rows.iter().filter(|row| row.scheme == scheme && row.metric == "goodput_ratio");
    of_scheme.filter_map(|row| row.mean).collect()
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
