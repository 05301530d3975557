//! What runs of minutes measure is kept: `tests/golden/reproduce.tsv` has what `weir reproduce` says of
//! QSCCP over several seeds, and its page is generated from it in part. It is of this version: of each experiment it
//! has a digest of the rows in `tests/golden/figures.tsv`, and where these move it is made anew, with
//! `make records`. To write only the pages: `WEIR_WRITE_REFERENCE=1 cargo test -p weir --test suite records`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

const RECORD: &str = "tests/golden/reproduce.tsv";
const FIGURES: &str = "tests/golden/figures.tsv";
const PAGE: &str = "docs/schemes/qsccp.md";

/// The document to make the record of; `make records` sets it.
const DOCUMENT_VARIABLE: &str = "WEIR_RECORD";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a statement of an experiment comes to.
#[derive(Clone, Debug, PartialEq)]
struct Statement {
    scenario: String,
    /// The point of the axes, as it is set.
    at: String,
    /// `paper`, `theory`, `files` or `assumed`.
    kind: String,
    what: String,
    unit: String,
    bound: String,
    stated: f64,
    mean: f64,
    ci95: f64,
    /// In how many seeds it holds, of how many.
    held: (u64, u64),
}

/// FNV-1a of the rows of a scenario under QSCCP in the golden table.
fn digest(figures: &str, scenario: &str) -> String {
    let begin = format!("{scenario}\tqsccp\t");
    let rows = figures.lines().filter(|line| line.starts_with(&begin));
    let bytes = rows.flat_map(|row| row.bytes().chain([b'\n']));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The record of a document of `weir reproduce`.
fn recorded(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let figures = read(FIGURES);
    let mut record = format!(
        "# Made by `make records`: what weir reproduce says of QSCCP, seeds 1 to {}.\n\
         # Lines with `of`: experiment, digest of its rows in figures.tsv. Others: experiment, point of the axes, kind, what,\n\
         # unit, bound, stated, mean, half of its 95 % confidence interval, in how many seeds it holds, of how many.\n",
        list(&document["seeds"]).len()
    );
    for experiment in list(&document["experiments"]) {
        let scenario = text(&experiment["scenario"]);
        let _ = writeln!(record, "of\t{scenario}\t{}", digest(&figures, &scenario));
        for case in list(&experiment["cases"]) {
            let at: Vec<String> = list(&case["set"]).iter().map(set_words).collect();
            for statement in list(&case["statements"]) {
                let seeds = list(&statement["values"]).len();
                let words = [
                    scenario.clone(),
                    at.join(", "),
                    text(&statement["kind"]),
                    text(&statement["what"]),
                    text(&statement["unit"]),
                    text(&statement["bound"]),
                    statement["stated"].to_string(),
                    statement["measured"]["mean"].to_string(),
                    statement["measured"]["ci95"].to_string(),
                    statement["held"].to_string(),
                    seeds.to_string(),
                ];
                record += &(words.join("\t") + "\n");
            }
        }
    }
    record
}

fn set_words(set: &Value) -> String {
    match set {
        Value::String(text) => text.clone(),
        other => other.to_string().replace(['"', '{', '}'], ""),
    }
}

fn statements(record: &str) -> Vec<Statement> {
    let lines = record.lines().filter(|line| !line.starts_with('#') && !line.starts_with("of\t"));
    let statement = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [scenario, at, kind, what, unit, bound, stated, mean, ci95, held, seeds] = cells[..] else {
            panic!("{RECORD}: {line}");
        };
        let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
        let [scenario, at, kind, what, unit, bound] =
            [scenario, at, kind, what, unit, bound].map(str::to_owned);
        let [stated, mean, ci95] = [stated, mean, ci95].map(number);
        let held = (held.parse().expect("a number"), seeds.parse().expect("a number"));
        Statement { scenario, at, kind, what, unit, bound, stated, mean, ci95, held }
    };
    lines.map(statement).collect()
}

/// Puts `text` at its place in the page, or checks that it is there.
fn generated(part: &str, text: &str) {
    let begin = format!("<!-- generated, {part}: begin -->\n");
    let end = format!("<!-- generated, {part}: end -->\n");
    let committed = read(PAGE);
    let (before, rest) = committed.split_once(&begin).unwrap_or_else(|| panic!("{PAGE} has no {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{PAGE} has no {end}"));
    let wanted = format!("{before}{begin}\n{}\n\n{end}{after}", text.trim());
    if std::env::var_os("WEIR_WRITE_REFERENCE").is_some() {
        fs::write(root().join(PAGE), wanted).expect("the page is written");
    } else {
        assert!(committed == wanted, "{PAGE}, {part}: not that of {RECORD}; see the head of this test");
    }
}

fn short(scenario: &str) -> &str {
    scenario.split_once('/').map_or(scenario, |(_, name)| name)
}

/// A figure with its interval, in the unit that reads best.
fn shown(mean: f64, ci95: f64, unit: &str) -> String {
    let (scale, unit, decimals) = match unit {
        "bit/s" => (1e-6, " Mb/s", 2),
        "s" => (1.0, " s", 2),
        "ms" => (1.0, " ms", 1),
        "packets" | "flows" => (1.0, "", 1),
        _ => (1.0, "", 4),
    };
    let figure = |value: f64| format!("{:.decimals$}", value * scale);
    let zero = figure(0.0);
    let interval = if figure(ci95) == zero { String::new() } else { format!(" ± {}", figure(ci95)) };
    format!("{}{interval}{unit}", figure(mean))
}

/// Times to settle by experiment and by when the change is.
fn table_of_settling(statements: &[Statement]) -> String {
    let mut rows: BTreeMap<(&str, u64), Vec<String>> = BTreeMap::new();
    for statement in statements {
        let Some(of) = statement.what.strip_prefix("time to settle of ") else { continue };
        let (who, span) = of.split_once(", ").expect("of whom, and from when to when");
        let who = who.split_whitespace().last().unwrap_or_default();
        let from = span.split(' ').next().and_then(|from| from.parse().ok()).expect("whole seconds");
        let figure = shown(statement.mean, statement.ci95, "s").replace(" s", "");
        rows.entry((short(&statement.scenario), from)).or_default().push(format!("{who} {figure}"));
    }
    let seeds = statements.iter().map(|s| s.held.1).max().unwrap_or_default();
    let mut text = format!(
        "Means over {seeds} seeds:\n\n| experiment | change at, s | settled after, s |\n|---|---|---|\n"
    );
    for ((scenario, from), settled) in rows {
        let _ = writeln!(text, "| `{scenario}` | {from} | {} |", settled.join(", "));
    }
    text
}

/// The statements that do not hold in every seed.
fn list_of_failures(statements: &[Statement]) -> String {
    let seeds = statements.iter().map(|s| s.held.1).max().unwrap_or_default();
    let (paper, others): (Vec<_>, Vec<_>) = statements.iter().partition(|s| s.kind == "paper");
    let held = |list: &[&Statement]| list.iter().filter(|s| s.held.0 == s.held.1).count();
    let mut text = format!(
        "Of {} statements of the paper {} hold in every one of {seeds} seeds, of {} others {}. These do not:\n\n",
        paper.len(),
        held(&paper),
        others.len(),
        held(&others)
    );
    text += "| experiment | by | what | expected | measured | holds in |\n|---|---|---|---|---|---|\n";
    for s in statements.iter().filter(|s| s.held.0 < s.held.1) {
        let bound = match s.bound.as_str() {
            "at_most" => "≤ ",
            "at_least" => "≥ ",
            _ => "",
        };
        let at = if s.at.is_empty() { String::new() } else { format!(", {}", s.at) };
        let _ = writeln!(
            text,
            "| `{}`{at} | {} | {} | {bound}{} | {} | {} of {} |",
            short(&s.scenario),
            s.kind,
            s.what,
            shown(s.stated, 0.0, &s.unit),
            shown(s.mean, s.ci95, &s.unit),
            s.held.0,
            s.held.1
        );
    }
    text
}

#[test]
fn the_page_of_qsccp_says_what_was_recorded() {
    if let Some(document) = std::env::var_os(DOCUMENT_VARIABLE) {
        let document = fs::read_to_string(document).expect("the document is read");
        let document = serde_json::from_str(&document).expect("it is a document");
        fs::write(root().join(RECORD), recorded(&document)).expect("the record is written");
    }
    let record = read(RECORD);
    let statements = statements(&record);
    assert!(statements.len() > 100, "{RECORD} has {} statements", statements.len());
    generated("settling", &table_of_settling(&statements));
    generated("failures", &list_of_failures(&statements));

    let figures = read(FIGURES);
    let made_of = record.lines().filter_map(|line| line.strip_prefix("of\t")?.split_once('\t'));
    let moved = made_of.filter(|(scenario, made_of)| digest(&figures, scenario) != *made_of);
    let moved: Vec<&str> = moved.map(|(scenario, _)| scenario).collect();
    assert!(moved.is_empty(), "{RECORD}: QSCCP's figures have moved in {moved:?}: `make records`");
}
