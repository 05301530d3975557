//! The golden table, `tests/golden/figures.tsv`: the main figures of every built-in scenario under every scheme, with
//! all digits. Runs have seed 1, are shortened, and use the first point of axes. After an intended change of figures,
//! `make golden` writes the table again; its diff shows what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::{DIGEST_OF_NOTHING, Result, read, root};

/// The table.
pub const TABLE: &str = "tests/golden/figures.tsv";

/// The settings that shorten scenarios. A scenario that is not in the list runs unchanged.
const SHORTENED: [(&str, &[&str]); 46] = [
    (
        "examples/random-200",
        &["generate.flows.count=200", "duration=2s", "window.steady.from=1s", "window.steady.to=2s"],
    ),
    ("qsccp/geant", &["flow.*.amount=1000", "window.all.from=400ms", "window.all.to=900ms"]),
    ("qsccp/abilene-multipath", &["flow.*.amount=2000", "window.all.from=1s", "window.all.to=1800ms"]),
    ("qsccp/abilene-single", &["flow.*.amount=2000", "window.all.from=1s", "window.all.to=1800ms"]),
    ("qsccp/dumbbell", &["duration=30s", "window.steady.from=10s", "window.steady.to=30s"]),
    ("qsccp/diamond-bandwidth", DIAMOND),
    ("qsccp/diamond-latency", DIAMOND),
    (
        "qsccp/tree",
        &[
            "duration=50s",
            "flow.C1.stop=30s",
            "flow.C2.start=10s",
            "flow.C2.stop=40s",
            "flow.C3.start=20s",
            "flow.C3.stop=50s",
            "window.C1.from=5s",
            "window.C1.to=10s",
            "window.C1+C2.from=15s",
            "window.C1+C2.to=20s",
            "window.C1+C2+C3.from=25s",
            "window.C1+C2+C3.to=30s",
            "window.C2+C3.from=35s",
            "window.C2+C3.to=40s",
            "window.C3.from=45s",
            "window.C3.to=50s",
        ],
    ),
    ("qsccp/multiaccess", &["duration=20s", "window.steady.from=5s", "window.steady.to=20s"]),
    ("qsccp/friendliness", BANDWIDTH),
    ("qsccp/friendliness-delay", DELAY),
    ("qsccp/fairness", BANDWIDTH),
    ("qsccp/fairness-delay", DELAY),
    (
        "hbhcm/cache",
        &[
            "duration=15s",
            "event.forgotten.at=10s",
            "window.all.to=15s",
            "window.cached.to=10s",
            "window.producers.from=10s",
            "window.producers.to=15s",
        ],
    ),
    ("hbhcm/multi-source", &["duration=10s", "window.all.to=10s"]),
    ("hbhcm/overlay", &["duration=10s", "window.all.to=10s"]),
    ("hbhcm/abilene", &["duration=5s", "window.all.to=5s"]),
    ("dpccp/fixed-cache", &["duration=20s", "window.all.to=20s"]),
    (
        "dpccp/varying-cache",
        &[
            "duration=30s",
            "event.cached.at=10s",
            "event.gone.at=20s",
            "window.before.from=5s",
            "window.before.to=10s",
            "window.cached.from=15s",
            "window.cached.to=20s",
            "window.after.from=25s",
            "window.after.to=30s",
        ],
    ),
    (
        "dpccp/fairness",
        &[
            "duration=20s",
            "flow.flow.start=[\"0 s\", \"5 s\", \"10 s\"]",
            "flow.flow.stop=[\"15 s\", \"20 s\", \"20 s\"]",
            "window.one.from=2s",
            "window.one.to=5s",
            "window.two.from=7s",
            "window.two.to=10s",
            "window.three.from=12s",
            "window.three.to=15s",
            "window.left.from=17s",
            "window.left.to=20s",
        ],
    ),
    (
        "dpccp/multipath-fairness",
        &[
            "duration=12s",
            "flow.one-producer.start=6s",
            "window.alone.from=3s",
            "window.alone.to=6s",
            "window.both.from=9s",
            "window.both.to=12s",
        ],
    ),
    ("dpccp/tree-bandwidth", &["duration=10s", "window.all.to=10s"]),
    ("dpccp/tree-latency", &["duration=10s", "window.all.to=10s"]),
    ("dpccp/diamond-bandwidth", &["duration=10s", "window.all.to=10s"]),
    ("dpccp/diamond-latency", &["duration=10s", "window.all.to=10s"]),
    (
        "dpccp/abilene",
        &["duration=6s", "flow.*.start_jitter=1500 ms", "window.together.from=2s", "window.together.to=6s"],
    ),
    (
        "e2e-aqm/dumbbell",
        &[
            "duration=4000ms",
            "flow.flow.start=[\"0 ms\", \"500 ms\", \"1000 ms\", \"1500 ms\"]",
            "flow.flow.stop=[\"2500 ms\", \"3000 ms\", \"3500 ms\", \"4000 ms\"]",
            "window.one.from=250ms",
            "window.one.to=500ms",
            "window.two.from=750ms",
            "window.two.to=1000ms",
            "window.three.from=1250ms",
            "window.three.to=1500ms",
            "window.four.from=1750ms",
            "window.four.to=2500ms",
            "window.three-left.from=2750ms",
            "window.three-left.to=3000ms",
            "window.two-left.from=3250ms",
            "window.two-left.to=3500ms",
            "window.one-left.from=3750ms",
            "window.one-left.to=4000ms",
        ],
    ),
    (
        "e2e-aqm/cascade",
        &[
            "duration=2800ms",
            "flow.flow.start=[\"0 ms\", \"400 ms\", \"800 ms\", \"1200 ms\"]",
            "flow.flow.stop=[\"2800 ms\", \"2400 ms\", \"2000 ms\", \"1600 ms\"]",
            "window.one.from=200ms",
            "window.one.to=400ms",
            "window.two.from=600ms",
            "window.two.to=800ms",
            "window.three.from=1000ms",
            "window.three.to=1200ms",
            "window.four.from=1400ms",
            "window.four.to=1600ms",
            "window.three-left.from=1800ms",
            "window.three-left.to=2000ms",
            "window.two-left.from=2200ms",
            "window.two-left.to=2400ms",
            "window.one-left.from=2600ms",
            "window.one-left.to=2800ms",
        ],
    ),
    ("e2e-aqm/parking-lot", &["duration=700ms", "window.steady.from=400ms", "window.steady.to=700ms"]),
    ("ndn-qsf/multipath", &["duration=16s", "window.steady.to=16s"]),
    ("ndn-qsf/shared-bottleneck", &["duration=12s", "window.steady.to=12s"]),
    ("ndn-qsf/maximum-flow", &["duration=14s", "window.steady.from=10s", "window.steady.to=14s"]),
    ("examples/early-loss", &["duration=10s", "window.steady.to=10s"]),
    ("conditions/near-cache", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/long-hops", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/rates", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/many-flows", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/sizes", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/two-way-classes", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    (
        "conditions/flood",
        &["duration=4s", "flow.flood.start=1s", "window.steady.from=2s", "window.steady.to=4s"],
    ),
    (
        "conditions/joins",
        &[
            "duration=4s",
            "flow.files.start_spread=2s",
            "window.joining.to=2s",
            "window.steady.from=2s",
            "window.steady.to=4s",
        ],
    ),
    (
        "conditions/path-change",
        &[
            "duration=6s",
            "event.change.at=2s",
            "event.1.at=4s",
            "event.2.at=5s",
            "window.changed.from=3s",
            "window.changed.to=4s",
            "window.back.from=5s",
            "window.back.to=6s",
        ],
    ),
    ("conditions/foreign", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/loss", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("conditions/beside-tcp", &["duration=4s", "window.steady.from=2s", "window.steady.to=4s"]),
    ("examples/minimal", &[]),
];

/// The four phases take 10 s each, not 80.
const DIAMOND: &[&str] = &[
    "duration=40s",
    "flow.normal.start=[\"0 s\", \"10 s\"]",
    "flow.greedy.start=20s",
    "event.greedy.at=30s",
    "window.one.from=5s",
    "window.one.to=10s",
    "window.two.from=15s",
    "window.two.to=20s",
    "window.three.from=25s",
    "window.three.to=30s",
    "window.punished.from=35s",
    "window.punished.to=40s",
];

/// A quarter of the time, at the first point of the axis.
const BANDWIDTH: &[&str] = &[
    "duration=30s",
    "window.all.to=30s",
    "window.steady.from=10s",
    "window.steady.to=30s",
    "link.R1-R2.rate=5Mb/s",
];
const DELAY: &[&str] = &[
    "duration=30s",
    "window.all.to=30s",
    "window.steady.from=10s",
    "window.steady.to=30s",
    "link.R1-R2.delay=5ms",
];

/// JSON pointers to the figures of a class, a group or a flow in a run's document, and their names in the table.
const FIGURES: [(&str, &str); 9] = [
    ("/goodput_bps", "goodput_bps"),
    ("/delay_ms/mean", "delay_mean_ms"),
    ("/delay_ms/p50", "delay_p50_ms"),
    ("/delay_ms/p99", "delay_p99_ms"),
    ("/lost", "lost"),
    ("/retransmitted", "retransmitted"),
    ("/timeouts", "timeouts"),
    ("/completion_s", "completion_s"),
    ("/completion_mean_s", "completion_mean_s"),
];

/// JSON pointers to the figures of a direction of a link.
const OF_LINKS: [&str; 4] = ["/utilisation", "/drops", "/queue_ms/mean", "/queue_ms/p99"];

const HEAD: &str = "\
# Main figures of every built-in scenario under every scheme: seed 1, shortened, axes at their first point.
# Columns: scenario, scheme, of what, then figures. `flows` and `links` are digests of the figures of each flow and link.
# Made by `make golden`, and checked by crates/cli/tests/suite/golden.rs.
";

/// Figures by object (scenario, scheme, row) and name.
pub type Table = BTreeMap<[String; 3], BTreeMap<String, String>>;

/// Formats a table as text.
pub fn written(table: &Table) -> String {
    let mut text = HEAD.to_owned();
    for (row, figures) in table {
        text += &row.join("\t");
        for (name, value) in figures {
            let _ = write!(text, "\t{name}={value}");
        }
        text.push('\n');
    }
    text
}

/// Parses a table.
pub fn parsed(text: &str) -> Table {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let mut cells = line.split('\t').map(str::to_owned);
        let of = std::array::from_fn(|_| cells.next().unwrap_or_default());
        let figures = cells
            .filter_map(|cell| cell.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
        (of, figures.collect())
    };
    lines.map(row).collect()
}

/// The document with each number as a text of its printed digits, so that none is rounded.
pub fn digits_kept(json: &str) -> String {
    let mut kept = String::with_capacity(json.len() * 2);
    let (mut in_text, mut in_number, mut is_escaped) = (false, false, false);
    for c in json.chars() {
        let is_digit = !in_text && matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let begins = is_digit && matches!(c, '0'..='9' | '-') && !in_number;
        if begins || (in_number && !is_digit) {
            in_number = begins;
            kept.push('"');
        }
        in_text ^= c == '"' && !is_escaped;
        is_escaped = in_text && c == '\\' && !is_escaped;
        kept.push(c);
    }
    kept
}

/// The digits of a figure; `None` if it was not measured.
fn figure(of: &Value, pointer: &str) -> Option<String> {
    of.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

/// A digest of the figures of all items, in order.
fn digest<'a>(items: &[Value], pointers: impl Iterator<Item = &'a str> + Clone) -> String {
    let figures = items.iter().flat_map(|item| pointers.clone().map(move |pointer| figure(item, pointer)));
    let hash = figures.fold(DIGEST_OF_NOTHING, |hash, figure| {
        crate::digest(hash, figure.unwrap_or_default().bytes().chain([b'\n']))
    });
    format!("{hash:016x}")
}

/// The rows of the whole run, or of a window.
fn rows_of_window(of: &Value, span: &str, add: &mut impl FnMut(String, Vec<(String, String)>)) {
    let flows = digest(list(of, "flows"), FIGURES.iter().map(|(pointer, _)| *pointer));
    let links = digest(list(of, "links"), OF_LINKS.into_iter());
    let digests = [("flows", flows), ("links", links)];
    add(span.to_owned(), digests.map(|(name, value)| (name.to_owned(), value)).to_vec());
    for (kind, key) in [("class", "classes"), ("group", "groups")] {
        for item in list(of, key) {
            let name = item[kind].as_str().unwrap_or_default();
            let figures = FIGURES.iter().filter_map(|(pointer, name)| {
                figure(item, pointer).map(|digits| ((*name).to_owned(), digits))
            });
            add(format!("{span}, {kind} {name}"), figures.collect());
        }
    }
}

/// The table's rows for a run.
fn rows(document: &Value, scenario: &str, scheme: &str) -> Table {
    let mut table = Table::new();
    let mut add = |row: String, figures: Vec<(String, String)>| {
        let row = table.entry([scenario.to_owned(), scheme.to_owned(), row]).or_default();
        row.extend(figures);
    };
    let totals = ["simulated_s", "events", "packet_hops"];
    let totals = totals.map(|key| (key.to_owned(), figure(document, &format!("/{key}")).unwrap_or_default()));
    add("run".to_owned(), totals.to_vec());
    rows_of_window(document, "run", &mut add);
    for window in list(document, "windows") {
        let [from, to] = ["/from_s", "/to_s"].map(|key| figure(window, key).unwrap_or_default());
        rows_of_window(window, &format!("{from} s to {to} s"), &mut add);
    }
    for expectation in list(document, "expectations") {
        let what = expectation["what"].as_str().unwrap_or_default();
        if let Some(of) = what.strip_prefix("time to settle of ") {
            let measured = figure(expectation, "/measured").unwrap_or_else(|| "none".to_owned());
            add("settling".to_owned(), vec![(of.to_owned(), measured)]);
        }
    }
    table
}

/// The settings that shorten a scenario.
fn shortened(scenario: &str) -> &'static [&'static str] {
    SHORTENED.iter().find(|(name, _)| *name == scenario).map_or(&[], |(_, set)| set)
}

fn run(mut weir: Command, scenario: &str, scheme: &str) -> Result<Table> {
    weir.args(["run", scenario, "--scheme", scheme, "--seed", "1", "--json"]);
    weir.args(shortened(scenario).iter().flat_map(|set| ["--set", set]));
    let output = weir.output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{scenario}, {scheme}: it does not run: {}", why.trim()).into());
    }
    let document: Value = serde_json::from_str(&digits_kept(&String::from_utf8(output.stdout)?))?;
    Ok(rows(&document, scenario, scheme))
}

/// Measures the table of this version: every scheme on every scenario, on all processors. `weir` starts a call of the
/// command.
pub fn measured(weir: &(impl Fn() -> Command + Sync)) -> Result<Table> {
    let scenarios: Vec<&str> = weir_scenario::builtins().into_iter().map(|(name, _)| name).collect();
    if let Some((name, _)) = SHORTENED.iter().find(|(name, _)| !scenarios.contains(name)) {
        return Err(format!("there is no scenario {name} to shorten").into());
    }
    // The last scenarios of the list take longest.
    let runs = scenarios
        .iter()
        .rev()
        .flat_map(|scenario| weir_schemes::SCHEMES.iter().map(move |scheme| (*scenario, scheme.name)));
    let runs: Vec<(&str, &str)> = runs.collect();
    let (table, failures, next) = (Mutex::new(Table::new()), Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((scenario, scheme)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match run(weir(), scenario, scheme) {
                        Ok(mut rows) => unpoisoned(table.lock()).append(&mut rows),
                        Err(failure) => unpoisoned(failures.lock()).push(failure.to_string()),
                    }
                }
            });
        }
    });
    let failures = unpoisoned(failures.into_inner());
    if failures.is_empty() { Ok(unpoisoned(table.into_inner())) } else { Err(failures.join("\n").into()) }
}

/// The value in a lock. A thread that panicked left it unchanged.
fn unpoisoned<T>(lock: std::sync::LockResult<T>) -> T {
    lock.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Measures and writes the table.
pub fn write(weir: &(impl Fn() -> Command + Sync)) -> Result<()> {
    Ok(fs::write(root().join(TABLE), written(&measured(weir)?))?)
}

/// The committed text of the table.
pub fn committed() -> Result<String> {
    read(&root().join(TABLE))
}

/// Every change of the table, a line each.
pub fn changes(was: &Table, is: &Table) -> Vec<String> {
    let runs = |table: &Table| -> BTreeSet<[String; 2]> {
        table.keys().map(|[scenario, scheme, _]| [scenario.clone(), scheme.clone()]).collect()
    };
    let (runs_before, runs_now) = (runs(was), runs(is));
    let mut changes = Vec::new();
    changes
        .extend(runs_now.difference(&runs_before).map(|run| format!("{}: not in the table", run.join(", "))));
    changes.extend(
        runs_before.difference(&runs_now).map(|run| format!("{}: only in the table", run.join(", "))),
    );
    let empty = BTreeMap::new();
    let of_both = |[scenario, scheme, _]: &&[String; 3]| {
        let run = [scenario.clone(), scheme.clone()];
        runs_before.contains(&run) && runs_now.contains(&run)
    };
    for row in was.keys().chain(is.keys()).filter(of_both).collect::<BTreeSet<_>>() {
        let (was, is) = (was.get(row).unwrap_or(&empty), is.get(row).unwrap_or(&empty));
        for name in was.keys().chain(is.keys()).collect::<BTreeSet<_>>() {
            let value = |figures: &BTreeMap<String, String>| {
                figures.get(name).cloned().unwrap_or_else(|| "nothing".to_owned())
            };
            if was.get(name) != is.get(name) {
                changes.push(format!("{}, {name}: was {}, is {}", row.join(", "), value(was), value(is)));
            }
        }
    }
    changes
}

/// The changes for a reader: their number, the affected runs, and the first changes.
pub fn report(changes: &[String]) -> String {
    const SHOWN: usize = 50;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes {
        let mut words = change.split([',', ':']).map(str::trim);
        let run = [words.next().unwrap_or_default(), words.next().unwrap_or_default()];
        *counts.entry(run.join(", ")).or_default() += 1;
    }
    let mut text = format!("{} changes in {} runs\n", changes.len(), counts.len());
    if changes.len() > SHOWN {
        for (run, count) in counts {
            let _ = writeln!(text, "  {run}: {count}");
        }
        let _ = writeln!(text, "the first {SHOWN}:");
    }
    for change in changes.iter().take(SHOWN) {
        let _ = writeln!(text, "{change}");
    }
    text + "If they are meant: `make golden`, and look at what it changed in tests/golden/figures.tsv.\n"
}
