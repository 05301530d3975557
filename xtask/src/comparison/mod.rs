//! The tables of every scheme on every experiment, in two pages: the experiments of QSCCP's paper in detail, and the whole
//! matrix. To make them takes half an hour, so the pages say what is missing, and which figures the code does not have
//! any more: those whose golden figures have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use weir_scenario::builtins;
use weir_schemes::SCHEMES;

use crate::page::{Document, part_of, write};
use crate::{DIGEST_OF_NOTHING, Result, golden, read, root};

mod figures;

/// The page of the whole matrix.
pub const MATRIX: &str = "docs/schemes/matrix.md";
/// The page of the experiments of QSCCP's paper.
pub const COMPARISON: &str = "docs/schemes/comparison.md";

/// Digests of the golden figures, by experiment and scheme, that the code had when the tables were made.
const DIGESTS: &str = "tests/golden/comparison.tsv";

const HEAD: &str = "# Made by `make comparison`: digests of the rows of figures.tsv that the tables of \
                    docs/schemes/matrix.md and\n# comparison.md are of. `cargo xtask docs` compares them.\n";

/// The experiments of papers.
pub fn experiments() -> BTreeSet<&'static str> {
    builtins().into_iter().map(|(name, _)| name).filter(|name| !name.starts_with("examples/")).collect()
}

/// The tables of a page.
pub struct Tables {
    page: &'static str,
    /// As they stand there.
    pub text: String,
    /// What they have.
    pub schemes: BTreeSet<&'static str>,
    /// What they have.
    pub experiments: BTreeSet<String>,
}

impl Tables {
    fn read(page: &'static str, part: &str, experiment: impl Fn(&str) -> Option<&str>) -> Result<Tables> {
        let text = part_of(&root(), page, part)?;
        let cells: BTreeSet<&str> = text.lines().flat_map(|line| line.split('|').map(str::trim)).collect();
        let schemes = SCHEMES.iter().map(|scheme| scheme.name).filter(|name| cells.contains(name)).collect();
        let experiments = text.lines().filter_map(experiment).map(str::to_owned).collect();
        Ok(Tables { page, schemes, experiments, text })
    }

    /// Those of the comparison.
    pub fn of_comparison() -> Result<Tables> {
        Tables::read(COMPARISON, "comparison", |line| line.strip_prefix("### "))
    }

    /// Those of the matrix.
    pub fn of_matrix() -> Result<Tables> {
        Tables::read(MATRIX, "matrix", |line| {
            let (first, _) = line.strip_prefix("| ")?.split_once(" |")?;
            (first != "scenario").then_some(first)
        })
    }

    /// The tables below the heading of an experiment.
    pub fn section(&self, experiment: &str) -> Result<&str> {
        let (_, rest) = self
            .text
            .split_once(&format!("\n### {experiment}\n"))
            .ok_or_else(|| format!("{}: the tables have no {experiment}", self.page))?;
        Ok(rest.split("\n### ").next().unwrap_or_default())
    }

    /// With how many seeds they were made.
    pub fn seeds(&self) -> Result<u64> {
        let made = self.text.split_once("--seeds ").and_then(|(_, rest)| rest.split('`').next());
        Ok(made.ok_or_else(|| format!("{}: `make comparison` makes the tables", self.page))?.parse()?)
    }

    /// The part of the page that says what is missing in them, and what is older than the code.
    fn state(&self, meant: &BTreeSet<&str>) -> Result<Document> {
        let schemes: Vec<&str> =
            SCHEMES.iter().map(|scheme| scheme.name).filter(|name| !self.schemes.contains(name)).collect();
        let experiments: Vec<&str> =
            meant.iter().copied().filter(|name| !self.experiments.contains(*name)).collect();
        let missing = [listed("schemes", &schemes), listed("experiments", &experiments)];
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        let mut text = if missing.is_empty() {
            "The tables have every scheme and every experiment.".to_owned()
        } else {
            format!("Not in the tables yet: {}. `make comparison` makes them anew.", missing.join("; "))
        };
        let older = self.older_than_the_code()?;
        if !older.is_empty() {
            text +=
                &format!("\n\nOlder than the code: {}. `make comparison` makes all anew.", older.join("; "));
        }
        Ok(Document::part(self.page, "missing", text))
    }

    /// The schemes whose golden figures have changed, each with the experiments.
    fn older_than_the_code(&self) -> Result<Vec<String>> {
        let made_of = read(&root().join(DIGESTS))?;
        let made_of: BTreeSet<&str> = made_of.lines().collect();
        let digests = digests()?;
        let mut older = Vec::new();
        for scheme in &self.schemes {
            let has_moved = |name: &&String| !made_of.contains(&*digest_line(&digests, name, scheme));
            let moved: Vec<&str> = self.experiments.iter().filter(has_moved).map(String::as_str).collect();
            older.extend(listed(&format!("`{scheme}` on"), &moved));
        }
        Ok(older)
    }
}

/// Names in code marks, after a word for them; nothing of none.
fn listed(word: &str, names: &[&str]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("{word} {}", names.join(", ")))
}

type Digests = BTreeMap<[String; 2], u64>;

/// Those of the golden table.
fn digests() -> Result<Digests> {
    let mut digests = Digests::new();
    for row in golden::committed()?.lines().filter(|row| !row.starts_with('#')) {
        let mut cells = row.split('\t').map(str::to_owned);
        let of = std::array::from_fn(|_| cells.next().unwrap_or_default());
        let hash = digests.entry(of).or_insert(DIGEST_OF_NOTHING);
        *hash = crate::digest(*hash, row.bytes());
    }
    Ok(digests)
}

fn digest_line(digests: &Digests, experiment: &str, scheme: &str) -> String {
    let digest = digests.get(&[experiment, scheme].map(str::to_owned)).copied().unwrap_or_default();
    format!("{experiment}\t{scheme}\t{digest:016x}")
}

/// What both pages say of the state of their tables, and the tables that follow from them.
pub fn documents() -> Result<Vec<Document>> {
    let all = experiments();
    let of_qsccp = all.iter().copied().filter(|name| name.starts_with("qsccp/")).collect();
    let (comparison, matrix) = (Tables::of_comparison()?, Tables::of_matrix()?);
    let mut documents = vec![comparison.state(&of_qsccp)?, matrix.state(&all)?];
    documents.extend(figures::documents(&comparison)?);
    Ok(documents)
}

/// Puts the tables that `weir compare` has made into both pages, as those of this version.
pub fn write_tables(comparison: &Path, matrix: &Path) -> Result<()> {
    let (comparison, matrix) = (read(&comparison.join("compare.md"))?, read(&matrix.join("compare.md"))?);
    let tables = [
        Document::part(COMPARISON, "comparison", detail(&comparison)),
        Document::part(MATRIX, "matrix", summary(&matrix)),
    ];
    write(&root(), &tables)?;
    let digests = digests()?;
    let mut now = HEAD.to_owned();
    for experiment in experiments() {
        for scheme in SCHEMES {
            now += &digest_line(&digests, experiment, scheme.name);
            now.push('\n');
        }
    }
    fs::write(root().join(DIGESTS), now)?;
    write(&root(), &documents()?)?;
    Ok(())
}

/// The sections of the experiments, with the lines that say how they were made.
fn detail(tables: &str) -> String {
    let (head, sections) = tables.split_at(tables.find("\n### ").map_or(tables.len(), |at| at + 1));
    let head: Vec<&str> =
        head.lines().filter(|line| line.starts_with("Made by") || line.starts_with("Figures are")).collect();
    format!("{}\n\n{sections}", head.join("\n\n"))
}

/// What is above the sections of the experiments.
fn summary(tables: &str) -> String {
    let head = tables.split("\n### ").next().unwrap_or_default();
    let lines = head.lines().filter(|line| !line.starts_with("Figures are "));
    lines.map(|line| format!("{line}\n")).collect()
}
