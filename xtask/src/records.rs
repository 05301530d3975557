//! The results of `weir reproduce` for QSCCP over several seeds: the record in `tests/golden/reproduce.tsv`, and the
//! parts of the scheme's data page generated from it. For each experiment the record has a digest of its rows in the
//! golden table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::page::Document;
use crate::{DIGEST_OF_NOTHING, Result, golden, read, root};

/// Path of the record.
pub const RECORD: &str = "tests/golden/reproduce.tsv";
const PAGE: &str = "docs/data/qsccp.md";

/// The result of a statement of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The experiment.
    pub scenario: String,
    /// The point of the axes, as in `--set`.
    pub at: String,
    /// `paper`, `theory`, `files` or `assumed`.
    pub kind: String,
    /// The object of the statement.
    pub what: String,
    /// Unit of the figures.
    pub unit: String,
    /// The relation between measurement and statement.
    pub bound: String,
    /// The stated value.
    pub stated: f64,
    /// The mean over the seeds.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval.
    pub ci95: f64,
    /// Number of seeds in which it holds, and of all seeds.
    pub held: (u64, u64),
}

/// Writes the record from a document of `weir reproduce`.
pub fn write(document: &Path) -> Result<()> {
    let document = serde_json::from_str(&read(document)?)?;
    let figures = read(&root().join(golden::TABLE))?;
    Ok(fs::write(root().join(RECORD), recorded(&document, &figures))?)
}

/// The generated parts of the page.
pub fn documents() -> Result<Vec<Document>> {
    let statements = statements(&read(&root().join(RECORD))?)?;
    Ok(vec![
        Document::part(PAGE, "settling", table_of_settling(&statements)),
        Document::part(PAGE, "failures", list_of_failures(&statements)),
    ])
}

/// The experiments whose golden figures have changed since the record was made.
pub fn older_than_the_figures() -> Result<Vec<String>> {
    let (record, figures) = (read(&root().join(RECORD))?, read(&root().join(golden::TABLE))?);
    let made_of = record.lines().filter_map(|line| line.strip_prefix("of\t")?.split_once('\t'));
    let moved = made_of.filter(|(scenario, made_of)| digest(&figures, scenario) != *made_of);
    Ok(moved.map(|(scenario, _)| scenario.to_owned()).collect())
}

/// A digest of a scenario's rows under QSCCP in the golden table.
fn digest(figures: &str, scenario: &str) -> String {
    let begin = format!("{scenario}\tqsccp\t");
    let rows = figures.lines().filter(|line| line.starts_with(&begin));
    let bytes = rows.flat_map(|row| row.bytes().chain([b'\n']));
    format!("{:016x}", crate::digest(DIGEST_OF_NOTHING, bytes))
}

fn list<'v>(of: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + Clone {
    of[key].as_array().into_iter().flatten()
}

fn recorded(document: &Value, figures: &str) -> String {
    let mut record = format!(
        "# Made by `make records`: what weir reproduce says of QSCCP, seeds 1 to {}.\n\
         # Lines with `of`: experiment, digest of its rows in figures.tsv. Others: experiment, point of the axes, kind, what,\n\
         # unit, bound, stated, mean, half of its 95 % confidence interval, in how many seeds it holds, of how many.\n",
        list(document, "seeds").count()
    );
    for experiment in list(document, "experiments") {
        let scenario = experiment["scenario"].as_str().unwrap_or_default();
        let _ = writeln!(record, "of\t{scenario}\t{}", digest(figures, scenario));
        for case in list(experiment, "cases") {
            let at = list(case, "set").map(set_words).collect::<Vec<_>>().join(", ");
            for statement in list(case, "statements") {
                record += &line(scenario, &at, statement);
            }
        }
    }
    record
}

fn line(scenario: &str, at: &str, statement: &Value) -> String {
    let text = |key: &str| statement[key].as_str().unwrap_or_default().to_owned();
    let words = [
        scenario.to_owned(),
        at.to_owned(),
        text("kind"),
        text("what"),
        text("unit"),
        text("bound"),
        statement["stated"].to_string(),
        statement["measured"]["mean"].to_string(),
        statement["measured"]["ci95"].to_string(),
        statement["held"].to_string(),
        list(statement, "values").count().to_string(),
    ];
    words.join("\t") + "\n"
}

fn set_words(set: &Value) -> String {
    match set {
        Value::String(text) => text.clone(),
        other => other.to_string().replace(['"', '{', '}'], ""),
    }
}

/// Parses the statements of a record.
pub fn statements(record: &str) -> Result<Vec<Statement>> {
    record.lines().filter(|line| !line.starts_with('#') && !line.starts_with("of\t")).map(statement).collect()
}

fn statement(line: &str) -> Result<Statement> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [scenario, at, kind, what, unit, bound, stated, mean, ci95, held, seeds] = cells[..] else {
        return Err(format!("{RECORD}: a statement has eleven cells: {line}").into());
    };
    let [scenario, at, kind, what, unit, bound] = [scenario, at, kind, what, unit, bound].map(str::to_owned);
    let [stated, mean, ci95] = [stated, mean, ci95].map(|cell| cell.parse().unwrap_or(f64::NAN));
    let held = (held.parse()?, seeds.parse()?);
    Ok(Statement { scenario, at, kind, what, unit, bound, stated, mean, ci95, held })
}

fn short(scenario: &str) -> &str {
    scenario.split_once('/').map_or(scenario, |(_, name)| name)
}

/// A figure with its interval, in the most readable unit.
fn shown(mean: f64, ci95: f64, unit: &str) -> String {
    let (scale, unit, decimals) = match unit {
        "bit/s" => (1e-6, " Mb/s", 2),
        "s" => (1.0, " s", 2),
        "ms" => (1.0, " ms", 1),
        "packets" | "flows" => (1.0, "", 1),
        _ => (1.0, "", 4),
    };
    let figure = |value: f64| format!("{:.decimals$}", value * scale);
    let interval = if figure(ci95) == figure(0.0) { String::new() } else { format!(" ± {}", figure(ci95)) };
    format!("{}{interval}{unit}", figure(mean))
}

fn seeds(statements: &[Statement]) -> u64 {
    statements.iter().map(|statement| statement.held.1).max().unwrap_or_default()
}

/// Settling times by experiment and time of the change.
fn table_of_settling(statements: &[Statement]) -> String {
    let mut rows: BTreeMap<(&str, u64), Vec<String>> = BTreeMap::new();
    for statement in statements {
        let Some((who, span)) =
            statement.what.strip_prefix("time to settle of ").and_then(|of| of.split_once(", "))
        else {
            continue;
        };
        let who = who.split_whitespace().last().unwrap_or_default();
        let from = span.split(' ').next().and_then(|from| from.parse().ok()).unwrap_or_default();
        let figure = shown(statement.mean, statement.ci95, "s").replace(" s", "");
        rows.entry((short(&statement.scenario), from)).or_default().push(format!("{who} {figure}"));
    }
    let mut text = format!("Means over {} seeds:\n\n", seeds(statements));
    text += "| experiment | change at, s | settled after, s |\n|---|---|---|\n";
    for ((scenario, from), settled) in rows {
        let _ = writeln!(text, "| `{scenario}` | {from} | {} |", settled.join(", "));
    }
    text
}

/// The statements that do not hold in every seed.
fn list_of_failures(statements: &[Statement]) -> String {
    let (paper, others): (Vec<_>, Vec<_>) = statements.iter().partition(|s| s.kind == "paper");
    let held = |list: &[&Statement]| list.iter().filter(|s| s.held.0 == s.held.1).count();
    let mut text = format!(
        "Of {} statements of the paper {} hold in every one of {} seeds, of {} others {}. These do not:\n\n",
        paper.len(),
        held(&paper),
        seeds(statements),
        others.len(),
        held(&others)
    );
    text += "| experiment | by | what | expected | measured | holds in |\n|---|---|---|---|---|---|\n";
    for statement in statements.iter().filter(|s| s.held.0 < s.held.1) {
        text += &failure(statement);
    }
    text
}

fn failure(s: &Statement) -> String {
    let bound = match s.bound.as_str() {
        "at_most" => "≤ ",
        "at_least" => "≥ ",
        _ => "",
    };
    let at = if s.at.is_empty() { String::new() } else { format!(", {}", s.at) };
    format!(
        "| `{}`{at} | {} | {} | {bound}{} | {} | {} of {} |\n",
        short(&s.scenario),
        s.kind,
        s.what,
        shown(s.stated, 0.0, &s.unit),
        shown(s.mean, s.ci95, &s.unit),
        s.held.0,
        s.held.1
    )
}
