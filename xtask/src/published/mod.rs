//! The figures of every scheme on every experiment: the data in the repository, and the two pages generated from them,
//! the experiments of QSCCP's paper in detail and the whole matrix. Making all of them takes half an hour, so each row
//! contains the commit that made it. The pages mark figures of schemes whose golden figures have changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use weir_results::{
    OLDER, PublishedPage, PublishedRow, ScenarioFacts, Stamp, SummaryDocument, read_published, schema,
    write_published,
};
use weir_scenario::{Scenario, builtin, builtins};
use weir_schemes::SCHEMES;

use crate::page::Document;
use crate::{DIGEST_OF_NOTHING, Result, golden, read, root};

mod figures;

/// Path of the data.
pub const DATA: &str = "docs/data/published.csv";

const README: &str = "docs/data/README.md";

/// A page and its part of the data.
pub struct Page {
    /// The page's value in the rows.
    pub of: PublishedPage,
    /// Path of the page.
    pub path: &'static str,
    /// Number of seeds of the figures: 1 to this one.
    pub seeds: u64,
    /// The command that makes all figures.
    command: &'static str,
    /// Prefix of its scenarios' names.
    papers: &'static str,
}

/// The pages, in the order of the data.
pub const PAGES: [Page; 2] = [MATRIX, COMPARISON];

/// Every experiment of every paper.
pub const MATRIX: Page = Page {
    of: PublishedPage::Matrix,
    path: "docs/data/matrix.md",
    seeds: 3,
    command: "weir compare --all --seeds 3",
    papers: "",
};

/// The experiments of QSCCP's paper in detail.
pub const COMPARISON: Page = Page {
    of: PublishedPage::Comparison,
    path: "docs/data/comparison.md",
    seeds: 10,
    command: "weir compare qsccp --schemes all --seeds 10",
    papers: "qsccp/",
};

/// The names of the built-in scenarios.
static SCENARIOS: LazyLock<Vec<&str>> =
    LazyLock::new(|| builtins().into_iter().map(|(name, _)| name).collect());

/// Reads the data in the repository.
pub fn committed() -> Result<Vec<PublishedRow>> {
    let text = read(&root().join(DATA))?;
    read_published(&text).map_err(|error| format!("{DATA}: {error}").into())
}

// ---- The pages

impl Page {
    /// The experiments that the page must have.
    pub fn experiments(&self) -> Vec<&'static str> {
        let of_page = |name: &&str| !name.starts_with("examples/") && name.starts_with(self.papers);
        SCENARIOS.iter().copied().filter(of_page).collect()
    }

    /// The name of the generated part with the tables.
    fn part(&self) -> &'static str {
        self.of.name()
    }

    fn document(&self, rows: &[PublishedRow]) -> SummaryDocument {
        let schemes: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        let mut document = self.of.document(rows, &schemes, (1..=self.seeds).collect(), facts);
        let without = SCHEMES.iter().filter(|scheme| !scheme.knows_classes());
        document.without_classes = without.map(|scheme| scheme.name.to_owned()).collect();
        document
    }

    /// The tables, and how they were made.
    fn tables(&self, rows: &[PublishedRow], golden: &Golden) -> String {
        let document = self.document(rows);
        let stamps = self.stamps(rows);
        let older = |scenario: &str, scheme: &str| {
            stamps.get(&(scheme, scenario)).is_some_and(|stamp| golden.has_moved(stamp))
        };
        let tables = self.of.markdown(&document, older);
        let commits: Vec<String> = self
            .by_commit(rows)
            .into_iter()
            .map(|(commit, made)| format!("- `{commit}`: {}", made.join(", ")))
            .collect();
        format!(
            "Made by `{}`, with programs of these commits. [`published.csv`](README.md) has the commit of each \
             figure. Behind schemes that several commits made is the number of experiments.\n\n{}\n\n{tables}",
            self.command,
            commits.join("\n")
        )
    }

    /// A row for each scheme and scenario.
    fn stamps<'r>(&self, rows: &'r [PublishedRow]) -> BTreeMap<(&'r str, &'r str), &'r PublishedRow> {
        let own = rows.iter().filter(|row| row.page == self.of.name() && !row.scheme.is_empty());
        own.map(|row| ((&*row.scheme, &*row.scenario), row)).collect()
    }

    /// What each commit made, as text, in the order of the schemes.
    fn by_commit<'r>(&self, rows: &'r [PublishedRow]) -> BTreeMap<&'r str, Vec<String>> {
        let stamps = self.stamps(rows);
        let mut made: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for scheme in SCHEMES.iter().map(|scheme| scheme.name) {
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, row) in stamps.iter().filter(|((of, _), _)| *of == scheme) {
                *counts.entry(&row.commit).or_default() += 1;
            }
            let all: usize = counts.values().sum();
            for (commit, count) in counts {
                let share = if count == all { String::new() } else { format!(" ({count} of {all})") };
                made.entry(commit).or_default().push(format!("`{scheme}`{share}"));
            }
        }
        made
    }

    /// The figures that are missing, and those older than the code.
    fn state(&self, rows: &[PublishedRow], golden: &Golden) -> String {
        let stamps = self.stamps(rows);
        let lists = |is_it: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
            let of_scheme = |scheme: &'static str| {
                let scenarios: Vec<&str> =
                    self.experiments().into_iter().filter(|scenario| is_it(scheme, scenario)).collect();
                listed(&format!("`{scheme}` on"), &scenarios)
            };
            SCHEMES.iter().filter_map(|scheme| of_scheme(scheme.name)).collect()
        };
        let missing = lists(&|scheme, scenario| !stamps.contains_key(&(scheme, scenario)));
        let older = lists(&|scheme, scenario| {
            stamps.get(&(scheme, scenario)).is_some_and(|row| golden.has_moved(row))
        });
        let mut text = match missing.is_empty() {
            true => "The tables have every scheme and every experiment.".to_owned(),
            false => format!("Not in the tables yet: {}. `make comparison` adds them.", missing.join("; ")),
        };
        if !older.is_empty() {
            text += &format!(
                "\n\nOlder than the code, marked {OLDER}: {}. `make comparison` makes them again.",
                older.join("; ")
            );
        }
        text
    }
}

/// Facts of a scenario that the rows do not contain.
fn facts(scenario: &str) -> ScenarioFacts {
    let parsed = builtin(scenario).and_then(|text| Scenario::parse(scenario, scenario, text, &[]).ok());
    let Some(parsed) = parsed else { return ScenarioFacts::default() };
    let others: BTreeSet<String> = parsed.flows.iter().filter_map(|flow| flow.scheme.clone()).collect();
    ScenarioFacts { title: parsed.title, others: others.into_iter().collect() }
}

/// Names in code marks after a word for them; `None` if there are no names.
fn listed(word: &str, names: &[&str]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("{word} {}", names.join(", ")))
}

/// The generated parts of the pages, and the description of the data.
pub fn documents() -> Result<Vec<Document>> {
    documents_of(&committed()?, &golden::committed()?)
}

/// The same for other data and another golden table.
pub fn documents_of(rows: &[PublishedRow], golden: &str) -> Result<Vec<Document>> {
    let golden = Golden::of(golden);
    let mut documents = vec![Document::part(README, "columns", columns())];
    for page in PAGES {
        documents.push(Document::part(page.path, "missing", page.state(rows, &golden)));
        documents.push(Document::part(page.path, page.part(), page.tables(rows, &golden)));
    }
    documents.extend(figures::documents(rows)?);
    Ok(documents)
}

/// The columns and metrics of the data.
fn columns() -> String {
    let mut text = "| column | value | meaning |\n|---|---|---|\n".to_owned();
    for column in schema::PUBLISHED.columns {
        text += &format!("| `{}` | {} | {} |\n", column.name, column.stored(), column.about);
    }
    text += "\n| `metric` | `unit` | meaning |\n|---|---|---|\n";
    for (name, unit, about) in schema::PUBLISHED_METRICS {
        text += &format!("| `{name}` | `{unit}` | {about} |\n");
    }
    text
}

// ---- Outdated figures

/// Digests of the golden figures, by scenario and scheme.
struct Golden(BTreeMap<[String; 2], u64>);

impl Golden {
    /// Parses a golden table.
    fn of(table: &str) -> Golden {
        let mut digests = BTreeMap::new();
        for row in table.lines().filter(|row| !row.starts_with('#')) {
            let mut cells = row.split('\t').map(str::to_owned);
            let of = std::array::from_fn(|_| cells.next().unwrap_or_default());
            let hash = digests.entry(of).or_insert(DIGEST_OF_NOTHING);
            *hash = crate::digest(*hash, row.bytes());
        }
        Golden(digests)
    }

    fn digest(&self, scenario: &str, scheme: &str) -> Option<String> {
        let digest = self.0.get(&[scenario, scheme].map(str::to_owned))?;
        Some(format!("{digest:016x}"))
    }

    /// Returns whether the code's golden figures differ from those of the code that made a row.
    fn has_moved(&self, row: &PublishedRow) -> bool {
        self.digest(&row.scenario, &row.scheme) != row.golden
    }
}

// ---- New figures

/// Replaces the figures of the same page, scenario and scheme in the data by those of runs. Each folder is the output
/// of `weir compare` for several scenarios.
pub fn publish(folders: &[&str]) -> Result<()> {
    let mut rows = committed()?;
    for folder in folders {
        let path = Path::new(folder).join("compare.json");
        let document: SummaryDocument = serde_json::from_str(&read(&path)?).map_err(|error| {
            format!(
                "{}: {error}; `weir compare` of several scenarios writes what is read here",
                path.display()
            )
        })?;
        let new = new_rows(&document).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}: {} rows for the {}", path.display(), new.len(), new[0].page);
        rows = replaced(rows, new);
    }
    Ok(fs::write(root().join(DATA), write_published(&rows)?)?)
}

/// The rows as if the code with these golden figures had made them.
pub fn as_made_with(mut rows: Vec<PublishedRow>, golden: &str) -> Vec<PublishedRow> {
    let golden = Golden::of(golden);
    for row in rows.iter_mut().filter(|row| !row.scheme.is_empty()) {
        row.golden = golden.digest(&row.scenario, &row.scheme);
    }
    rows
}

/// The rows of a summary, for the page with its seeds. Reads the golden table of the commit that made it from git.
pub fn new_rows(document: &SummaryDocument) -> Result<Vec<PublishedRow>> {
    let has_its_seeds = |page: &&Page| document.seeds.iter().copied().eq(1..=page.seeds);
    let page = PAGES.iter().find(has_its_seeds).ok_or_else(|| {
        let seeds = PAGES.map(|page| format!("the {} --seeds {}", page.of.name(), page.seeds));
        format!("runs with other seeds than the pages have: {}", seeds.join(", "))
    })?;
    for option in [" --set ", " --window "] {
        if document.command.contains(option) {
            return Err(format!("runs with{option}are of other scenarios than the pages show").into());
        }
    }
    let version = &document.version;
    let commit = version.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let commit = commit.ok_or_else(|| format!("version {version} names no commit"))?;
    let golden = Golden::of(&golden_at(commit)?);
    let stamp = |scenario: &str, scheme: &str| Stamp {
        commit: commit.to_owned(),
        golden: golden.digest(scenario, scheme),
    };
    let mut rows = page.of.rows(document, stamp);
    let experiments = page.experiments();
    rows.retain(|row| experiments.contains(&&*row.scenario));
    if rows.is_empty() {
        return Err(format!("none of its scenarios is one of the {}", page.of.name()).into());
    }
    Ok(rows)
}

/// The golden table of a commit.
fn golden_at(commit: &str) -> Result<String> {
    let file = format!("{commit}:{}", golden::TABLE);
    let output = Command::new("git").args(["show", &file]).current_dir(root()).output()?;
    if !output.status.success() {
        return Err(format!("git show {file}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Replaces all rows of the same pages, scenarios and schemes by the new ones, in the order of the pages, the scenarios
/// and the schemes.
pub fn replaced(rows: Vec<PublishedRow>, new: Vec<PublishedRow>) -> Vec<PublishedRow> {
    let key = |row: &PublishedRow| [row.page.clone(), row.scenario.clone(), row.scheme.clone()];
    let remade: BTreeSet<[String; 3]> = new.iter().map(key).collect();
    let mut all: Vec<PublishedRow> = rows.into_iter().filter(|row| !remade.contains(&key(row))).collect();
    all.extend(new);
    all.sort_by_cached_key(|row| {
        (
            PAGES.iter().position(|page| page.of.name() == row.page),
            SCENARIOS.iter().position(|name| *name == row.scenario),
            SCHEMES.iter().position(|scheme| scheme.name == row.scheme),
        )
    });
    all
}
