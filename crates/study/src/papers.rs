//! Papers by name. Their experiments are the built-in scenarios in a folder named after the paper. The folder
//! of conditions that no paper has is named in the same way.

use std::path::Path;

use weir_scenario::{Axis, builtin, builtins, emulated, emulated_names};

use crate::source::{did_you_mean, stem};
use crate::vary::{self, Varied};

/// The folder of the examples, which are not experiments.
const EXAMPLES: &str = "examples";
/// The folder of experiments of conditions that no paper has.
const CONDITIONS: &str = "conditions";

/// Returns whether one of these names is that of experiments in an emulated network, which the lab makes.
pub fn are_emulated(names: &[String]) -> bool {
    names.iter().any(|name| emulated(name).is_some())
}

/// Returns every experiment: those of all papers, and the conditions that no paper has.
pub fn all_experiments() -> Vec<String> {
    let names = builtins().into_iter().map(|(name, _)| name);
    names.filter(|name| paper_of(name) != EXAMPLES).map(str::to_owned).collect()
}

/// Returns the scenarios for these names, each once. The name of a paper selects all its experiments; no
/// names select those of all papers.
///
/// # Errors
/// Returns a message if a name is not a paper, an experiment or a file.
pub fn experiments(names: &[String]) -> Result<Vec<String>, String> {
    let built_in: Vec<&str> = builtins().into_iter().map(|(name, _)| name).collect();
    let mut meant: Vec<String> = Vec::new();
    if names.is_empty() {
        meant.extend(all_experiments().into_iter().filter(|name| paper_of(name) != CONDITIONS));
    }
    for name in names {
        if let Some(own) = emulated(name) {
            meant.extend(own.iter().map(|&one| one.to_owned()));
            continue;
        }
        let of_paper: Vec<&str> = built_in.iter().copied().filter(|one| paper_of(one) == name).collect();
        match of_paper[..] {
            [] if builtin(name).is_some() || Path::new(name).exists() => meant.push(name.clone()),
            [] => return Err(unknown(name, &built_in)),
            _ => meant.extend(of_paper.iter().map(|&one| one.to_owned())),
        }
    }
    let mut once: Vec<String> = Vec::new();
    for name in meant {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    Ok(once)
}

/// Returns the experiments of a paper; `None` if there is no such paper.
pub fn experiments_of(paper: &str) -> Option<Vec<&'static str>> {
    let names = builtins().into_iter().map(|(name, _)| name);
    let own: Vec<&str> = names.filter(|name| paper != EXAMPLES && paper_of(name) == paper).collect();
    (!own.is_empty()).then_some(own)
}

/// Returns the paper of a built-in scenario: `qsccp` for `qsccp/dumbbell`.
fn paper_of(name: &str) -> &str {
    name.split_once('/').map_or(name, |(paper, _)| paper)
}

fn unknown(name: &str, built_in: &[&str]) -> String {
    let mut papers: Vec<&str> =
        built_in.iter().map(|one| paper_of(one)).filter(|one| *one != EXAMPLES).collect();
    papers.dedup();
    let mut known: Vec<&str> = papers.iter().chain(built_in).copied().collect();
    for name in emulated_names() {
        known.push(name);
    }
    let meant = did_you_mean(name, &known);
    format!(
        "there is no paper, no experiment and no file called `{name}`{meant}\n  = papers: {}; `weir list` prints their experiments",
        papers.join(", ")
    )
}

/// Returns every point of some axes, as the settings that select it. Without axes there is one point without
/// settings.
pub fn points(axes: &[Axis]) -> Vec<Vec<String>> {
    let axis = |axis: &Axis| vary::Axis { key: format!("axis.{}", axis.name), values: axis.values.clone() };
    let varied = Varied::all(axes.iter().map(axis).collect());
    varied.points().iter().map(|point| varied.set(point)).collect()
}

/// Returns the folder of an experiment at a point of its axes: `qsccp-friendliness-delay-5_ms`.
pub fn folder(scenario: &str, point: &[String]) -> String {
    let parts = std::iter::once(stem(scenario)).chain(point.iter().map(|set| in_path(set)));
    parts.collect::<Vec<_>>().join("-")
}

/// Returns a setting as a part of a folder's name: `axis.rate=10 Mb/s` becomes `rate-10_Mb_s`.
fn in_path(set: &str) -> String {
    let (path, value) = set.split_once('=').unwrap_or((set, ""));
    let name = path.strip_prefix("axis.").unwrap_or(path);
    let value: String =
        value.chars().map(|c| if c.is_alphanumeric() || c == '.' { c } else { '_' }).collect();
    format!("{name}-{value}")
}
