//! The gate of speed, `tests/golden/instructions.tsv`: the number of instructions per packet-hop, counted by valgrind.
//! The count does not depend on the load of the machine. Two counts of one program differ by less than a millionth.
//!
//! Each case runs for two durations. The difference of the counts belongs to the packet-hops between them, because
//! reading, routing and printing are the same in both. The figures are for the build of `.ci/run`, with the flags in
//! `.ci/flags`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{Result, read, root, workspace};

/// The table.
pub const TABLE: &str = "tests/golden/instructions.tsv";

/// Maximum relative increase over the table's figure.
const TOLERANCE: f64 = 0.01;

/// A run whose packet-hops are counted.
struct Case {
    name: &'static str,
    scenario: &'static str,
    scheme: &'static str,
    set: &'static [&'static str],
    /// The packet-hops between these two durations are counted.
    durations: [&'static str; 2],
}

const CASES: [Case; 4] = [
    Case {
        name: "qsccp/dumbbell, qsccp",
        scenario: "qsccp/dumbbell",
        scheme: "qsccp",
        set: &[],
        durations: ["1s", "8s"],
    },
    Case {
        name: "qsccp/dumbbell, cubic",
        scenario: "qsccp/dumbbell",
        scheme: "cubic",
        set: &[],
        durations: ["1s", "8s"],
    },
    Case {
        name: "qsccp/geant, qsccp",
        scenario: "qsccp/geant",
        scheme: "qsccp",
        set: &[],
        durations: ["100ms", "600ms"],
    },
    Case {
        name: "1000 nodes, fixed",
        scenario: "examples/random-200",
        scheme: "fixed",
        set: &["generate.nodes=1000", "generate.flows.count=1000", "generate.flows.start_spread=100ms"],
        durations: ["10ms", "70ms"],
    },
];

const HEAD: &str = "\
# Instructions that the command takes for a packet-hop, in the build of .ci/run on x86-64.
# Columns: case, packet-hops that were counted, instructions for each.
# Made by `make instructions`, and checked by .ci/run: 1 % more fails.
";

/// The counts of a case.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    /// Packet-hops.
    pub hops: u64,
    /// Instructions per packet-hop.
    pub a_hop: f64,
}

/// Counts by name of the case.
pub type Table = BTreeMap<String, Count>;

/// Why counting is impossible on this machine, or `None`.
pub fn obstacle() -> Option<&'static str> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("the figures are those of Linux on x86-64");
    }
    let found =
        Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    (!found).then_some("valgrind is not installed (Debian: apt-get install valgrind)")
}

/// Measures the counts of this build of the command.
pub fn measured(weir: &Path) -> Result<Table> {
    let folder = Path::new(&workspace::target()?).join("instructions");
    fs::create_dir_all(&folder)?;
    let mut table = Table::new();
    for case in &CASES {
        let [short, long] = case.durations.map(|duration| count(weir, case, duration, &folder.join("count")));
        let ((before, hops_before), (after, hops_after)) = (short?, long?);
        let hops = hops_after.saturating_sub(hops_before);
        if hops == 0 {
            return Err(format!("{}: the longer run has no more packet-hops", case.name).into());
        }
        let a_hop = after.saturating_sub(before) as f64 / hops as f64;
        let rest = before as f64 - a_hop * hops_before as f64;
        println!(
            "{}: {a_hop:.1} for each of {hops} hops; the rest of a run: {:.0} million",
            case.name,
            rest / 1e6
        );
        table.insert(case.name.to_owned(), Count { hops, a_hop });
    }
    Ok(table)
}

/// The instructions and packet-hops of a run.
fn count(weir: &Path, case: &Case, duration: &str, file: &Path) -> Result<(u64, u64)> {
    let mut run = Command::new("valgrind");
    run.args(["--quiet", "--tool=cachegrind", "--cache-sim=no"]);
    run.arg(format!("--cachegrind-out-file={}", file.display()));
    run.arg(weir).args([
        "run",
        case.scenario,
        "--scheme",
        case.scheme,
        "--seed",
        "1",
        "--jobs",
        "1",
        "--json",
    ]);
    run.args(
        case.set.iter().copied().chain([&*format!("duration={duration}")]).flat_map(|set| ["--set", set]),
    );
    let output = run.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: it does not run under valgrind: {}", case.name, why.trim()).into());
    }
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let hops = document["packet_hops"].as_u64().ok_or("the document of a run has no packet_hops")?;
    let counted = read(file)?;
    let total = counted.lines().rev().find_map(|line| line.strip_prefix("summary:"));
    let total = total.and_then(|total| total.trim().parse().ok());
    Ok((total.ok_or("valgrind's file has no line `summary:`")?, hops))
}

/// Formats a table as text.
pub fn written(table: &Table) -> String {
    let mut text = HEAD.to_owned();
    for (case, Count { hops, a_hop }) in table {
        let _ = writeln!(text, "{case}\t{hops}\t{a_hop:.1}");
    }
    text
}

/// Parses a table.
pub fn parsed(text: &str) -> Result<Table> {
    let row = |line: &str| {
        let mut cells = line.split('\t');
        let mut next = || cells.next().ok_or_else(|| format!("{TABLE}: `{line}` has too few columns"));
        Ok((next()?.to_owned(), Count { hops: next()?.parse()?, a_hop: next()?.parse()? }))
    };
    text.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

/// Measures and writes the table.
pub fn write(weir: &Path) -> Result<()> {
    Ok(fs::write(root().join(TABLE), written(&measured(weir)?))?)
}

/// Measures, and compares with the committed table. Returns the regressions, a line each.
pub fn check(weir: &Path) -> Result<Vec<String>> {
    Ok(worse(&parsed(&read(&root().join(TABLE))?)?, &measured(weir)?))
}

/// The regressions between two tables, and cases that are only in one of them.
pub fn worse(was: &Table, is: &Table) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (case, is) in is {
        match was.get(case) {
            None => found.push(format!("{case}: not in the table")),
            Some(was) if is.a_hop > was.a_hop * (1.0 + TOLERANCE) => {
                let more = 100.0 * (is.a_hop / was.a_hop - 1.0);
                found.push(format!(
                    "{case}: from {:.1} to {:.1} instructions a packet-hop, {more:.1} % more",
                    was.a_hop, is.a_hop
                ));
            }
            Some(_) => {}
        }
    }
    found.extend(
        was.keys().filter(|case| !is.contains_key(*case)).map(|case| format!("{case}: only in the table")),
    );
    found
}
