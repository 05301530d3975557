//! `weir list`: scenarios and schemes, and their settings.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use weir_scenario::{Setting, builtin, builtins, nearest};
use weir_schemes::{SCHEMES, find};

use crate::{Failure, load, terminal};

/// List scenarios and schemes, or the values of one that `--set` can change
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scenario or a scheme: list its values that `--set` can change, each with its source
    name: Option<String>,
    /// List every node, link and flow separately, even if many have the same value
    #[arg(long, requires = "name")]
    all: bool,
}

/// Prints the list.
pub fn list(args: &Args) -> Result<(), Failure> {
    let text = match &args.name {
        None => everything(),
        Some(name) => match find(name) {
            Some(_) => parameters(name),
            None => settings(name, args.all).map_err(|error| or_scheme(name, &*error))?,
        },
    };
    terminal::print(&text)
}

fn everything() -> String {
    let mut text = String::from("Scenarios\n");
    for (name, title) in builtins() {
        text += &format!("  {name:<24} {title}\n");
    }
    text += "\nSchemes\n";
    for scheme in SCHEMES {
        text += &format!("  {:<24} {}\n", scheme.name, scheme.title);
    }
    text + "\n`weir list NAME` shows the values of a scenario or scheme that can be set.\n"
}

fn parameters(name: &str) -> String {
    let Some(scheme) = find(name) else { return String::new() };
    let mut text = format!("{}: {}\n{}\n\n", scheme.name, scheme.title, scheme.citation);
    for parameter in scheme.parameters {
        let path = format!("scheme.{name}.{} = {}", parameter.key, parameter.default);
        text += &format!("  {path:<46} {} [{}]\n", parameter.meaning, parameter.from);
    }
    text
}

/// The error for a name that is neither a scenario nor a file. It may be a misspelt scheme.
fn or_scheme(name: &str, error: &dyn Error) -> String {
    if Path::new(name).exists() || builtin(name).is_some() {
        return error.to_string();
    }
    let near = nearest(name, SCHEMES.iter().map(|scheme| scheme.name));
    near.map_or(error.to_string(), |near| format!("{error}\n  = did you mean the scheme `{near}`?"))
}

fn settings(name: &str, all: bool) -> Result<String, Failure> {
    let scenario = load::scenario(name, &[])?;
    let mut text = format!("{}: {}\n\n", scenario.name, scenario.title);
    let each: Vec<Line> = scenario.settings.iter().map(|setting| Line::of(&setting)).collect();
    for line in if all { each } else { shortened(each) } {
        let source = line.source.map(|s| format!("  [{s}]")).unwrap_or_default();
        text += &format!("  {} = {}{source}\n", line.path, line.value);
    }
    if !scenario.axes.is_empty() {
        text += "\nAxes\n";
    }
    for axis in &scenario.axes {
        let value = axis.current.map_or("(a value that is not listed)", |at| &axis.values[at]);
        let (name, values, sets) = (&axis.name, axis.values.join(", "), axis.set.join(", "));
        text += &format!("  axis.{name} = {value}  [values: {values}; sets {sets}]\n");
    }
    Ok(text + "\nChange one with `weir run SCENARIO --set KEY=VALUE`; `*` stands for every name.\n")
}

/// A row of the list.
#[derive(Clone)]
struct Line {
    path: String,
    value: String,
    source: Option<String>,
}

impl Line {
    fn of(setting: &Setting) -> Line {
        let value = if setting.value.is_empty() { "(not set)" } else { &setting.value };
        Line {
            path: setting.path.clone(),
            value: value.to_owned(),
            source: setting.source.as_deref().map(str::to_owned),
        }
    }

    fn says(&self) -> (&str, Option<&str>) {
        (&self.value, self.source.as_deref())
    }

    /// The row's family among all nodes, links or flows: `node.*.cache` for `node.R1.cache`.
    fn family(&self) -> Option<String> {
        let (section, rest) = self.path.split_once('.')?;
        let (_, key) = rest.rsplit_once('.')?;
        matches!(section, "node" | "link" | "flow").then(|| format!("{section}.*.{key}"))
    }
}

/// Maximum number of rows of a family. One of them may stand for many.
const ROWS_OF_FAMILY: usize = 8;

/// Combines the rows of nodes, links or flows with the same value into one row, at the place of the first.
fn shortened(each: Vec<Line>) -> Vec<Line> {
    let mut families: BTreeMap<String, Vec<&Line>> = BTreeMap::new();
    for line in &each {
        if let Some(family) = line.family() {
            families.entry(family).or_default().push(line);
        }
    }
    let mut rows: BTreeMap<String, Vec<Line>> = families
        .into_iter()
        .filter(|(_, lines)| lines.len() > ROWS_OF_FAMILY)
        .map(|(family, lines)| (family.clone(), of_family(&family, &lines)))
        .collect();
    // The rows of a family are listed once, at its first line.
    let row = |line: &Line| match line.family().and_then(|family| rows.get_mut(&family)) {
        Some(rows) => std::mem::take(rows),
        None => vec![line.clone()],
    };
    each.iter().flat_map(row).collect()
}

/// The rows of a family with many lines: one for the most frequent value, and the others if they are few.
fn of_family(family: &str, lines: &[&Line]) -> Vec<Line> {
    let all = lines.len();
    let mut values: BTreeMap<(&str, Option<&str>), usize> = BTreeMap::new();
    for line in lines {
        *values.entry(line.says()).or_default() += 1;
    }
    let Some((&most, &count)) = values.iter().max_by_key(|(_, count)| **count) else { return Vec::new() };
    let row = |value: String, source: Option<&str>| Line {
        path: family.to_owned(),
        value,
        source: source.map(str::to_owned),
    };
    let (value, source) = most;
    match all - count {
        0 => vec![row(format!("{value}  (all {all})"), source)],
        few if few < ROWS_OF_FAMILY => {
            let first = row(format!("{value}  ({count} of {all}; the others are below)"), source);
            let others = lines.iter().filter(|line| line.says() != most).map(|line| (*line).clone());
            [first].into_iter().chain(others).collect()
        }
        _ => vec![row(format!("({} values for {all}: list them with --all)", values.len()), None)],
    }
}
