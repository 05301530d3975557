//! The documents agree with the code: generated parts are up to date, links are valid, commands are accepted, and
//! figures are those of the runs. Sentences are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use weir_core::seam::params::Value;
use weir_experiment::{Experiment, Setup};
use weir_keychain::store::FOLDER_VARIABLE;
use weir_management::client::TRANSPORT_VARIABLE;
use weir_measure::{ClassRow, RunDocument};
use weir_results::{OLDER, PublishedRow, SummaryDocument, read_published, write_published};
use weir_scenario::{Scenario, builtin, builtins};
use weir_sim::World;
use xtask::published::{self, COMPARISON, DATA, MATRIX, PAGES};
use xtask::{golden, page, records};

use crate::common;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root exists")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

// ---- Generated parts

#[test]
fn generated_documents_are_those_of_the_code() {
    let documents = xtask::documents::documents(Path::new(common::WEIR)).expect("they are made");
    let differing = page::differing(&root(), &documents).expect("the pages have their marks");
    assert!(differing.is_empty(), "`cargo xtask docs` writes {}", differing.join("; "));
}

#[test]
fn each_crate_has_a_row_in_the_table_of_the_architecture() {
    let page = read(&root().join("docs/develop/architecture.md"));
    for package in xtask::workspace::packages().expect("cargo describes them") {
        let name = xtask::workspace::name(&package);
        let name = if name == "weir" { "cli" } else { name.trim_start_matches("weir-") };
        assert!(page.contains(&format!("\n| `{name}` | ")), "the table of crates has no row of {name}");
    }
}

/// A page names the few parameters that matter, with their defaults; the reference has all. `weights.CLASS` stands for those of
/// the classes.
#[test]
fn pages_of_schemes_are_short_and_name_parameters_as_the_code_has_them() {
    let mut seen = 0;
    for scheme in weir_schemes::SCHEMES {
        let page = read(&root().join(format!("docs/schemes/{}.md", scheme.name)));
        let name = scheme.name;
        assert!(page.split_whitespace().count() <= 1500, "the page of {name} has more than 1500 words");
        let (_, parameters) = page.split_once("\n## Parameters\n").expect("a section on parameters");
        let rows = parameters.lines().take_while(|line| !line.starts_with("## "));
        for row in rows.filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split(" | ").collect();
            let keys: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
            let defaults: Vec<&str> = cells[1].split(", ").map(|default| default.trim_matches('`')).collect();
            for (at, key) in keys.iter().enumerate() {
                let declared = match key.strip_suffix("CLASS") {
                    Some(begin) => scheme.parameters.iter().find(|one| one.key.starts_with(begin)),
                    None => scheme.parameters.iter().find(|one| one.key == *key),
                };
                let declared = declared.unwrap_or_else(|| panic!("{name} has no parameter {key}"));
                let is_one = keys.len() == defaults.len() && !key.ends_with("CLASS");
                let shown = defaults.get(at).copied().unwrap_or_default();
                let is_so = !is_one || declared.default.starts_with(shown);
                assert!(is_so, "{name}: {key} is {} by default, not {shown}", declared.default);
                seen += 1;
            }
        }
    }
    assert!(seen > 40, "parameters are found");
}

/// If QSCCP's golden figures have changed since, the output of `weir reproduce` about it is of another version.
#[test]
fn the_record_of_qsccps_experiments_is_of_its_golden_figures() {
    let record = read(&root().join(records::RECORD));
    assert!(records::statements(&record).expect("the record is read").len() > 100, "statements are found");
    let moved = records::older_than_the_figures().expect("both tables are read");
    assert!(moved.is_empty(), "{}: QSCCP's figures have moved in {moved:?}: `make records`", records::RECORD);
}

// ---- Published figures

fn published() -> Vec<PublishedRow> {
    published::committed().expect("the data are read")
}

#[test]
fn the_published_figures_are_written_as_they_are_read() {
    let rows = published();
    assert!(rows.len() > 5000, "rows are found");
    let sorted = published::replaced(rows.clone(), Vec::new());
    assert!(sorted == rows, "{DATA}: rows stand in the order of pages, scenarios and schemes");
    let text = write_published(&rows).expect("rows are written");
    assert!(text == read(&root().join(DATA)), "{DATA} is as `cargo xtask publish` writes it");
    assert!(read_published(&text).expect("rows are read") == rows);
}

/// The rows name existing schemes, points and windows. All figures of a scheme on a scenario are from the same code.
#[test]
fn published_figures_are_of_schemes_points_and_windows_that_exist() {
    let rows = published();
    let mut stamps = BTreeMap::new();
    for row in &rows {
        let page = PAGES.iter().find(|page| page.of.name() == row.page);
        let page = page.unwrap_or_else(|| panic!("{DATA}: there is no page {}", row.page));
        assert_eq!(row.seeds, format!("1 to {}", page.seeds), "{row:?}");
        assert!(page.experiments().contains(&&*row.scenario), "{DATA}: {} is not on this page", row.scenario);
        let is_scheme = weir_schemes::SCHEMES.iter().any(|scheme| scheme.name == row.scheme);
        assert!(is_scheme || row.metric.starts_with("optimum"), "{DATA}: there is no scheme {}", row.scheme);
        assert!(row.mean.is_some() != row.why.is_some(), "a mean or a reason: {row:?}");
        let stamp = (&row.commit, &row.golden);
        let first = *stamps.entry((&row.page, &row.scenario, &row.scheme)).or_insert(stamp);
        assert_eq!(first, stamp, "{row:?}");
    }
    for name in COMPARISON.experiments() {
        let text = builtin(name).expect("a built-in scenario");
        let scenario = Scenario::parse(name, name, text, &[]).expect("a built-in scenario is right");
        for row in rows.iter().filter(|row| row.page == "comparison" && row.scenario == name) {
            let (from_s, to_s) = (row.from_s.expect("a window"), row.to_s.expect("a window"));
            let is_window = from_s == 0.0
                || scenario
                    .windows
                    .iter()
                    .any(|window| (window.from.as_secs_f64(), window.to.as_secs_f64()) == (from_s, to_s));
            assert!(is_window, "{DATA}: {name} has no window from {from_s} s to {to_s} s");
            let is_point = |axis: &weir_scenario::Axis| {
                axis.values.iter().any(|value| row.point == format!("axis.{}={value}", axis.name))
            };
            assert!(scenario.axes.iter().all(is_point), "{DATA}: {name} has no point {}", row.point);
        }
    }
}

#[test]
fn new_figures_replace_those_of_the_same_page_scenario_and_scheme() {
    let rows = published();
    let is_remade =
        |row: &&PublishedRow| (&*row.page, &*row.scenario, &*row.scheme) == ("matrix", "qsccp/tree", "pcon");
    let new =
        PublishedRow { mean: Some(0.125), ci95: None, ..rows.iter().find(is_remade).expect("a row").clone() };
    let replaced = published::replaced(rows.clone(), vec![new.clone()]);
    assert_eq!(replaced.iter().filter(is_remade).collect::<Vec<_>>(), [&new]);
    let others = |rows: &[PublishedRow]| -> Vec<PublishedRow> {
        rows.iter().filter(|row| !is_remade(row)).cloned().collect()
    };
    assert!(others(&replaced) == others(&rows), "the other rows stay");
    let document = published::documents_of(&replaced, &golden::committed().expect("the table is read"));
    let matrix = part(document.expect("pages are made"), MATRIX.path, "matrix");
    let row = matrix.lines().find(|line| line.starts_with("| qsccp/tree |")).expect("a row");
    assert_eq!(row.split(" | ").nth(4), Some("12.5 %"), "{row}");
}

#[test]
fn runs_that_no_page_can_show_are_not_published() {
    let document = |seeds: u64, command: &str, version: &str| SummaryDocument {
        seeds: (1..=seeds).collect(),
        command: command.to_owned(),
        version: version.to_owned(),
        ..SummaryDocument::default()
    };
    let refused = [
        (document(4, "weir compare qsccp", "1 (0123456789ab)"), "other seeds"),
        (document(3, "weir compare qsccp --set duration=2s", "1 (0123456789ab)"), "--set"),
        (document(3, "weir compare qsccp --window 1:2", "1 (0123456789ab)"), "--window"),
        (document(3, "weir compare qsccp", "1"), "names no commit"),
        (document(3, "weir compare qsccp", "1 (unknown)"), "git show unknown:"),
    ];
    for (document, why) in refused {
        let error = published::new_rows(&document).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// The text of a part of a page.
fn part(documents: Vec<page::Document>, path: &str, part: &str) -> String {
    let is_it = |document: &page::Document| document.path == path && document.part == Some(part);
    documents.into_iter().find(is_it).expect("the part is made").text
}

/// Otherwise a page would show figures of old code without a note.
#[test]
fn figures_of_schemes_whose_golden_figures_have_changed_are_marked() {
    let was = golden::committed().expect("the table is read");
    let rows = published::as_made_with(published(), &was);
    let begin = "qsccp/diamond-latency\tmircc\t";
    let changed = |line: &str| format!("{line}{}\n", if line.starts_with(begin) { "1" } else { "" });
    let is: String = was.lines().map(changed).collect();
    assert_ne!(was, is);
    let marks = |golden: &str, page: &published::Page, start: &str| {
        let documents = published::documents_of(&rows, golden).expect("pages are made");
        let tables = part(documents, page.path, page.of.name());
        let marked = tables.lines().filter(|line| line.starts_with(start) && line.contains(OLDER));
        marked.count()
    };
    let said = |golden: &str, page: &published::Page| {
        let documents = published::documents_of(&rows, golden).expect("pages are made");
        part(documents, page.path, "missing").matches("`mircc` on `qsccp/diamond-latency`").count()
    };
    for (page, start, at_least) in
        [(&MATRIX, "| qsccp/diamond-latency |", 5), (&COMPARISON, "|  | mircc° |", 4)]
    {
        let (before, now) = (marks(&was, page, start), marks(&is, page, start));
        assert!(now >= before + at_least, "{}: {before} and {now} marks", page.path);
        assert_eq!((said(&was, page), said(&is, page)), (0, 1), "{}", page.path);
    }
}

/// The tables below the heading of a scenario.
fn section<'a>(tables: &'a str, scenario: &str) -> &'a str {
    let heading = format!("\n### {scenario}\n");
    let (_, rest) = tables.split_once(&heading).unwrap_or_else(|| panic!("the tables have no {scenario}"));
    rest.split("\n### ").next().unwrap_or_default()
}

/// The tables of a page, computed from the published figures.
fn tables(page: &published::Page) -> String {
    part(published::documents().expect("pages are made"), page.path, page.of.name())
}

// ---- The command line

/// A forwarder for the pages whose commands query one. Dropping it stops the process.
struct Forwarder(Child);

impl Forwarder {
    /// The socket of the forwarder in a folder.
    fn socket(folder: &Path) -> String {
        format!("unix://{}/nfd.sock", folder.display())
    }

    /// Starts a forwarder in a folder if the page has such commands.
    fn start(page: &str, folder: &Path) -> Option<Forwarder> {
        let asks = ["status", "top", "face", "route", "strategy", "cs", "traffic"];
        if !asks.iter().any(|command| page.contains(&format!("\nweir {command}"))) {
            return None;
        }
        let socket = folder.join("nfd.sock");
        let _ = fs::remove_file(&socket);
        let file = folder.join("forwarder.toml");
        let text = format!(
            "[faces.unix]\npath = {socket:?}\n[faces.udp]\nlisten = \"127.0.0.1:0\"\n[faces.tcp]\nlisten = []\n"
        );
        fs::write(&file, text).expect("the forwarder's file is written");
        let started = weir().arg("forward").arg("--config").arg(&file).stderr(Stdio::null()).spawn();
        let mut child = started.expect("the forwarder starts");
        while !socket.exists() {
            assert!(child.try_wait().expect("the forwarder is watched").is_none(), "the forwarder stopped");
            #[expect(clippy::disallowed_methods, reason = "another process has to begin to listen")]
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Forwarder(child))
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        let _ = self.0.kill().and_then(|()| self.0.wait());
    }
}

fn weir() -> Command {
    let mut command = common::command();
    command.stdin(Stdio::null());
    command
}

// ---- All pages

/// All pages for readers, by path from the root.
fn pages() -> BTreeMap<PathBuf, String> {
    let mut pages = BTreeMap::new();
    let mut folders = vec![root().join("docs")];
    for page in ["README.md", "CONTRIBUTING.md"] {
        pages.insert(root().join(page), read(&root().join(page)));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is read") {
            let path = entry.expect("the entry is read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = read(&path);
                pages.insert(path, text);
            }
        }
    }
    pages
}

/// The anchor of a heading, as common renderers create it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The lines of a page outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

#[test]
fn links_lead_to_pages_and_headings_that_exist() {
    let pages = pages();
    for (path, text) in &pages {
        for line in prose(text) {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if target.contains("://") {
                    continue;
                }
                let (file, heading) = target.split_once('#').unwrap_or((target, ""));
                let folder = path.parent().expect("a page is in a folder");
                let file = if file.is_empty() { path.clone() } else { folder.join(file) };
                let found = file.canonicalize();
                let found = found.unwrap_or_else(|_| panic!("{}: {target} does not exist", path.display()));
                if !heading.is_empty() {
                    let page = read(&found);
                    let has = prose(&page).any(|l| l.starts_with('#') && anchor(l) == heading);
                    assert!(has, "{}: {target} names no heading", path.display());
                }
            }
        }
    }
}

/// A page that grows is split, or its details go to the reference: the words of a page, and of all pages of a folder.
#[test]
fn pages_stay_short() {
    for (folder, page_at_most, all_at_most) in
        [("guide", 1200, 9500), ("tasks", 900, 9000), ("help", 1400, 3000), ("index.md", 400, 400)]
    {
        let place = root().join("docs").join(folder);
        let of_folder = pages().into_iter().filter(|(path, _)| path.starts_with(&place));
        let words: Vec<(PathBuf, usize)> =
            of_folder.map(|(path, text)| (path, text.split_whitespace().count())).collect();
        let long: Vec<_> = words.iter().filter(|(_, words)| *words > page_at_most).collect();
        assert!(long.is_empty(), "more than {page_at_most} words: {long:?}");
        let all: usize = words.iter().map(|(_, words)| words).sum();
        assert!((1..=all_at_most).contains(&all), "docs/{folder} has {all} of {all_at_most} words");
    }
    for (path, text) in pages().into_iter().filter(|(path, _)| path.starts_with(root().join("docs/guide"))) {
        assert!(text.contains("\n![") || text.contains("\n```mermaid"), "{}: no picture", path.display());
    }
}

/// The contents of the code blocks in a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn scenarios_shown_in_full_are_right() {
    let mut seen = 0;
    for (path, text) in pages() {
        for block in blocks(&text, "toml").iter().filter(|block| block.starts_with("title = ")) {
            let page = path.display().to_string();
            if let Err(error) = Scenario::parse("shown", &page, block, &[]) {
                panic!("{error}");
            }
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// Splits a command at blanks outside quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '#' => break,
            None if c == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("there is a word").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A shorter version of the command: runs are cut to two seconds if the line has no window of its own, and for papers a
/// small experiment is run once.
fn shortened<'a>(line: &'a [&'a str], page: &Path) -> Vec<&'a str> {
    let mut line = line.to_vec();
    match line[..] {
        // Without --check it would run forever.
        ["forward", ..] if !line.contains(&"--check") => line.push("--check"),
        ["run", ..] if !line.contains(&"--window") => line.extend(["--set", "duration=2s"]),
        ["compare", "qsccp", ..] => {
            line.splice(1..2, ["examples/minimal", "qsccp/dumbbell"]);
            match line.iter().position(|word| *word == "--seeds") {
                Some(at) => line[at + 1] = "1",
                None => line.extend(["--seeds", "1"]),
            }
            line.extend(["--set", "duration=2s"]);
        }
        ["compare", "--all", ..] => {
            if let Some(at) = line.iter().position(|word| *word == "--seeds") {
                line[at + 1] = "1";
            }
            line.extend(["--schemes", "fixed", "--set", "duration=50ms"]);
        }
        ["compare" | "sweep", ..] => line.extend(["--set", "duration=2s"]),
        ["reproduce", ..] => {
            let built_in: Vec<&str> = builtins().into_iter().map(|(name, _)| name).collect();
            for word in line[1..].iter_mut().take_while(|word| !word.starts_with("--")) {
                let is_there =
                    built_in.iter().any(|name| name == word || name.starts_with(&format!("{word}/")));
                assert!(is_there || Path::new(word).extension().is_some(), "{}: no {word}", page.display());
                *word = if is_there { "examples/minimal" } else { word };
            }
            if line.get(1).is_none_or(|word| word.starts_with("--")) {
                line.insert(1, "examples/minimal");
            }
            if !line.contains(&"--seeds") {
                line.extend(["--seeds", "1"]);
            }
        }
        _ => {}
    }
    line
}

/// Runs every line of `weir` on a page, in a folder with the scenarios and the files that the page creates, or in
/// [`shortened`] form.
#[test]
#[cfg(unix)]
fn commands_shown_are_accepted() {
    let folder = std::env::temp_dir().join(format!("weir-docs-{}", std::process::id()));
    let mut run = 0;
    for (path, text) in pages() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder is made");
        std::os::unix::fs::symlink(root().join("scenarios"), folder.join("scenarios")).expect("linked");
        for (name, rest) in marked(&text, "file") {
            if let Some(file) = blocks(rest, "toml").into_iter().next() {
                fs::write(folder.join(name), file).expect("a file of the page is written");
            }
        }
        let _forwarder = Forwarder::start(&text, &folder);
        for block in blocks(&text, "sh") {
            for line in block.lines() {
                let line = line.split(" | ").next().unwrap_or(line);
                let (line, into) =
                    line.split_once(" > ").map_or((line, None), |(line, into)| (line, Some(into)));
                let words = words(line);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                match words[..] {
                    ["cp", from, to] => {
                        let copied = fs::copy(folder.join(from), folder.join(to));
                        assert!(copied.is_ok(), "{}: {line}", path.display());
                    }
                    ["cargo", "run", "--release", "--", ref rest @ ..] | ["weir", ref rest @ ..] => {
                        let mut command = weir();
                        command.env(TRANSPORT_VARIABLE, Forwarder::socket(&folder));
                        command.env(FOLDER_VARIABLE, folder.join("keys"));
                        command.current_dir(&folder).args(shortened(rest, &path));
                        let output = command.output().expect("weir runs");
                        let error = String::from_utf8_lossy(&output.stderr);
                        assert!(output.status.success(), "{}: {line}\n{error}", path.display());
                        if let Some(into) = into {
                            fs::write(folder.join(into.trim()), &output.stdout).expect("the output is kept");
                        }
                        run += 1;
                    }
                    _ => {}
                }
            }
        }
    }
    let _ = fs::remove_dir_all(&folder);
    assert!(run > 3, "commands are found");
}

/// The occurrences of a comment such as `<!-- file: home.toml -->` in a page: the rest of the comment, and the page
/// after it.
fn marked<'a>(page: &'a str, mark: &str) -> Vec<(&'a str, &'a str)> {
    let begin = format!("<!-- {mark}: ");
    let places = page.match_indices(&begin).map(|(at, found)| &page[at + found.len()..]);
    places.filter_map(|rest| rest.split_once(" -->")).collect()
}

/// Outputs and numbers on pages are those of the named runs. A comment before a block names its command (`output of`).
/// `...` in a block stands for lines of the output that are left out.
/// A comment in a section names its command and what the output must contain (`numbers of`), optionally at which place
/// ([`placed`]). The first number of each such part must also be in the section, possibly rounded, or in another unit.
/// `the comparison of` a scenario replaces a command if the numbers are of the comparison. If a change of the code
/// changes them, run the command and update the page.
#[test]
fn outputs_and_numbers_are_those_of_the_runs() {
    let folder = std::env::temp_dir().join(format!("weir-numbers-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder is made");
    let minimal = root().join("scenarios/examples/minimal.toml");
    fs::copy(minimal, folder.join("my.toml")).expect("the smallest scenario is copied");
    let pages = pages();
    for (file, rest) in pages.values().flat_map(|text| marked(text, "file")) {
        fs::write(folder.join(file), &blocks(rest, "toml")[0]).expect("the file is written");
    }
    let mut outputs = outputs_of_simulations(&pages, &folder);
    let mut wrong = Vec::new();
    for (path, text) in pages {
        let _forwarder = Forwarder::start(&text, &folder);
        for (command, rest) in marked(&text, "output of") {
            let block = blocks(rest, "text").swap_remove(0);
            let output = outputs.entry(command.to_owned()).or_insert_with(|| output_of(command, &folder));
            for line in not_printed(&block, output) {
                wrong.push(format!(
                    "{}: {command}: not there, or not behind the line before: {line:?}",
                    path.display()
                ));
            }
        }
        let numbers = marked(&text, "numbers of").into_iter().map(|(said, rest)| {
            let (command, parts) = numbers_said(said);
            let section = section_of(&text, text.len() - rest.len());
            for part in parts.iter().filter(|part| !is_shown(placed(part).1, &section)) {
                wrong.push(format!("{}: {command}: {part:?} is not on the page", path.display()));
            }
            (command, parts)
        });
        for (command, wanted) in numbers.collect::<Vec<_>>() {
            let output = outputs.entry(command.clone()).or_insert_with(|| output_of(&command, &folder));
            for part in wanted.iter().filter(|part| !is_printed(part, output)) {
                wrong.push(format!("{}: {command}: no {part:?}", path.display()));
            }
        }
    }
    let _ = fs::remove_dir_all(&folder);
    assert!(outputs.len() > 3, "commands are found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of a block that an output does not have there: directly behind the line before, or anywhere behind it after
/// `...`. Empty lines do not count.
fn not_printed(block: &str, output: &str) -> Vec<String> {
    let plain = output.replace(NARROW, " ");
    let printed: Vec<&str> = plain.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let (mut next, mut is_anywhere, mut missing) = (0, true, Vec::new());
    for line in block.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        if line.trim() == "..." {
            is_anywhere = true;
            continue;
        }
        let behind = printed.iter().skip(next).take(if is_anywhere { usize::MAX } else { 1 });
        match behind.into_iter().position(|printed| *printed == line) {
            Some(at) => (next, is_anywhere) = (next + at + 1, false),
            None => {
                missing.push(line.to_owned());
                is_anywhere = true;
            }
        }
    }
    missing
}

#[test]
fn a_block_leaves_no_line_out_without_a_mark() {
    let output = "head\n\n a  1\n b  2\u{202f}000\n\nend\n";
    for block in ["head\n a  1\n b  2 000\nend", " a  1\n\n b  2 000", "head\n ...\nend", "...\nend"] {
        assert!(not_printed(block, output).is_empty(), "{block}");
    }
    for block in ["head\nend", " a\n b  2 000", "end\n...\nhead", " b  2"] {
        assert_eq!(not_printed(block, output).len(), 1, "{block}");
    }
}

/// The place in a part, and its content: `AF2 = 4.095 Mb/s` refers to a line that begins with AF2, and `/windows/0/to_s
/// = 120.0` to a value of a document, by its JSON pointer.
fn placed(part: &str) -> (Option<&str>, &str) {
    part.split_once(" = ").map_or((None, part), |(place, value)| (Some(place), value))
}

/// Returns whether a command prints this part, at the place that it names. In a document a part needs a place, because
/// the same number may occur in several.
fn is_printed(part: &str, output: &str) -> bool {
    match placed(part) {
        _ if output.starts_with('{') => {
            let document: serde_json::Value = serde_json::from_str(output).expect("a document");
            let (Some(pointer), wanted) = placed(part) else { return false };
            document.pointer(pointer).map(ToString::to_string).as_deref() == Some(wanted)
        }
        (Some(first), wanted) => output.lines().any(|line| {
            let rest = line.trim_start().strip_prefix(first);
            rest.is_some_and(|rest| rest.starts_with(' ') && contains_whole(rest, wanted))
        }),
        (None, wanted) => contains_whole(output, wanted),
    }
}

/// The thousands separator.
const NARROW: char = '\u{202f}';

/// Returns whether a text contains another one, with plain blanks, and not as the end or the beginning of a longer
/// number.
fn contains_whole(text: &str, part: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let goes_on = |next: Option<char>, then: Option<char>| {
        is_digit(next) || matches!(next, Some('.' | NARROW)) && is_digit(then)
    };
    let (is_first, is_last) = (is_digit(part.chars().next()), is_digit(part.chars().next_back()));
    let (chars, plain): (Vec<char>, _) = (text.chars().collect(), text.replace(NARROW, " "));
    plain.match_indices(part).any(|(at, _)| {
        let from = plain[..at].chars().count();
        let mut before = chars[..from].iter().rev().copied();
        let mut after = chars[from + part.chars().count()..].iter().copied();
        let begins = !is_first || !goes_on(before.next(), before.next());
        begins && (!is_last || !goes_on(after.next(), after.next()))
    })
}

#[test]
fn a_number_is_looked_for_at_its_place_and_as_a_whole() {
    let table = " AF1  2.733 Mb/s  111.9\n AF2  4.095 Mb/s  28.2 and 533. 1\u{202f}194\n";
    for part in ["2.733 Mb/s", "28.2", "533", "AF1 = 2.733 Mb/s", "AF2 = 533", "AF2", "1 194"] {
        assert!(is_printed(part, table), "{part}");
    }
    for part in ["8.2", "28", "2.73", "33", "53", "194", "095 Mb/s", "AF2 = 2.733 Mb/s", "AF = 2.733 Mb/s"] {
        assert!(!is_printed(part, table), "{part}");
    }
    let document = r#"{"classes": [{"p99": 112.725}, {"p99": 111.925}]}"#;
    assert!(is_printed("/classes/1/p99 = 111.925", document));
    for part in ["/classes/1/p99 = 112.725", "/classes/1/p99 = 111.9", "/classes/2/p99 = 111.925", "111.925"]
    {
        assert!(!is_printed(part, document), "{part}");
    }
}

/// The command of a `numbers of` comment and its parts.
fn numbers_said(said: &str) -> (String, Vec<String>) {
    let (command, parts) = said.split_once(" => ").expect("a command and its numbers");
    (command.to_owned(), parts.split("; ").map(str::to_owned).collect())
}

/// The output of a command, or the tables of the comparison or matrix from published figures.
fn output_of(command: &str, folder: &Path) -> String {
    if let Some(scenario) = command.strip_prefix("the comparison of ") {
        return section(&tables(&COMPARISON), scenario).to_owned();
    }
    if command == "the matrix" {
        return tables(&MATRIX);
    }
    let arguments = words(command.strip_prefix("weir ").expect("a command of weir"));
    let mut command = weir();
    command.env(TRANSPORT_VARIABLE, Forwarder::socket(folder));
    let output = command.current_dir(folder).args(arguments).output().expect("weir runs");
    String::from_utf8(output.stdout).expect("output is text")
}

/// The outputs of all `weir run` on the pages. Each run is made once, on all processors.
fn outputs_of_simulations(pages: &BTreeMap<PathBuf, String>, folder: &Path) -> BTreeMap<String, String> {
    let commands = pages.values().flat_map(|text| {
        let blocks = marked(text, "output of").into_iter().map(|(command, _)| command.to_owned());
        let numbers = marked(text, "numbers of").into_iter().map(|(said, _)| numbers_said(said).0);
        blocks.chain(numbers).collect::<Vec<_>>()
    });
    let mut commands: Vec<String> = commands.filter(|command| command.starts_with("weir run ")).collect();
    commands.sort_unstable();
    commands.dedup();
    let (outputs, next) = (Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for lane in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let (commands, outputs, next) = (&commands, &outputs, &next);
            // Runs write reports, so simultaneous ones have separate folders.
            let lane = folder.join(format!("lane-{lane}"));
            scope.spawn(move || {
                copy_files(folder, &lane);
                while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let output = output_of(command, &lane);
                    outputs.lock().expect("no run panics").insert(command.clone(), output);
                }
            });
        }
    });
    outputs.into_inner().expect("no run panics")
}

/// Copies the files of a folder, but not its subfolders, to a new folder.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is made");
    for entry in fs::read_dir(from).expect("the folder is read") {
        let path = entry.expect("the entry is read").path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().expect("a file has a name")))
                .expect("the file is copied");
        }
    }
}

/// The section of a page around a position, without comments.
fn section_of(page: &str, at: usize) -> String {
    let from = page[..at].rfind("\n#").unwrap_or(0);
    let to = page[at..].find("\n#").map_or(page.len(), |to| at + to);
    let lines = page[from..to].lines().filter(|line| !line.starts_with("<!--"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The numbers in a text, each with half a unit of its last digit. Thousands may be separated by blanks.
fn numbers_in(text: &str) -> Vec<(f64, f64)> {
    let chars: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let are_thousands = |at: usize| {
        (1..4).all(|next| is_digit(at + next)) && !is_digit(at + 4) && is_digit(at.wrapping_sub(1))
    };
    let (mut numbers, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        if !is_digit(at) {
            at += 1;
            continue;
        }
        let (mut digits, mut decimals, mut has_point) = (String::new(), 0, false);
        loop {
            if is_digit(at) {
                digits.push(chars[at]);
                decimals += i32::from(has_point);
            } else if !has_point && chars.get(at) == Some(&'.') && is_digit(at + 1) {
                digits.push('.');
                has_point = true;
            } else if has_point || chars.get(at) != Some(&' ') || !are_thousands(at) {
                break;
            }
            at += 1;
        }
        let number: f64 = digits.parse().expect("digits");
        numbers.push((number, 0.5 * 10f64.powi(-decimals)));
    }
    numbers
}

/// Returns whether the first number of a run's output is in a section: exactly, or rounded with at most 5 %
/// uncertainty, in the same unit, in a unit larger or smaller by a thousand, or in percent.
fn is_shown(part: &str, section: &str) -> bool {
    let Some(&(figure, _)) = numbers_in(part).first() else {
        return section.contains(part);
    };
    let scales = [1.0, 1e3, 1e-3, 1e6, 1e-6, 100.0];
    numbers_in(section).into_iter().any(|(shown, half)| {
        scales.iter().any(|scale| {
            let off = (figure * scale - shown).abs();
            off <= 1e-9 * shown || (off <= half * 1.0001 && half <= 0.05 * shown)
        })
    })
}

#[test]
fn a_number_is_found_rounded_and_in_other_units_but_not_changed() {
    let section = "It has 922 kb/s, 1451 timeouts in 70 s, 20 700 Data, 0.32 ms and 29 %.";
    for part in ["922.4 kb/s", "1 451", "20 700", "0.321", "0.2881", "922419.2"] {
        assert!(is_shown(part, section), "{part}");
    }
    for part in ["925 kb/s", "1 452", "0.4", "0.31", "0.301", "20 701"] {
        assert!(!is_shown(part, section), "{part}");
    }
}

/// The page on Python computes its table from the series. The test computes it from the same series.
#[test]
fn the_means_of_the_series_are_those_of_the_page() {
    let text = builtin("qsccp/dumbbell").expect("a built-in scenario");
    let scenario = Scenario::parse("qsccp/dumbbell", "qsccp/dumbbell", text, &[]).expect("it is right");
    let experiment = Experiment::new(scenario, &Setup::default()).expect("it runs");
    let mut world = World::build(experiment).expect("it runs");
    world.run(&mut |_| ()).expect("it ends");
    let report = world.finish().report;
    let page = read(&root().join("docs/tasks/results.md"));
    let series = &report.series;
    let mean = |values: &[f32]| {
        let steps = values.iter().enumerate().filter(|(step, _)| *step as f64 * series.step_s >= 20.0);
        let values: Vec<f64> = steps.map(|(_, value)| f64::from(*value)).filter(|v| !v.is_nan()).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    assert_eq!(series.classes.len(), 4);
    for (row, class) in report.document.classes.iter().zip(&series.classes) {
        let (goodput, delay) = (mean(&class.goodput_bps) / 1e6, mean(&class.delay_ms));
        let line = format!("│ {:<5} ┆ {goodput:<11.3} ┆ {delay:<8.1} │", row.class);
        assert!(page.contains(&line), "docs/tasks/results.md does not have: {line}");
    }
}

// ---- The example of a scheme

#[path = "../../../schemes/tests/suite/add_a_scheme/aimd.rs"]
mod aimd;

/// The results of a built-in scenario under the example scheme, with these parameters.
fn under_the_example(name: &str, given: &[(&'static str, Value)]) -> RunDocument {
    let text = builtin(name).expect("a built-in scenario");
    let scenario = Scenario::parse(name, name, text, &[]).expect("a built-in scenario is right");
    let given = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    let scheme =
        (&aimd::ENTRY as &'static weir_schemes::Entry).resolve(given).expect("parameters of the example");
    let experiment = Experiment::new(scenario, &Setup::default()).expect("it runs").with_scheme(scheme);
    let mut world = World::build(experiment).expect("it runs");
    world.run(&mut |_| ()).expect("it ends");
    world.finish().report.document
}

#[test]
fn the_figures_of_the_example_scheme_are_those_of_its_runs() {
    let minimal = under_the_example("examples/minimal", &[]);
    let steady = &minimal.windows[0].classes[0];
    let delay = steady.figures.delay_ms.mean.expect("Data came");
    let lost = |document: &RunDocument| document.classes.iter().map(|class| class.figures.lost).sum::<u64>();
    let goodput = |class: &ClassRow| format!("{:.1} Mb/s", class.figures.goodput_bps / 1e6);
    assert_eq!(lost(&minimal), 0, "it loses nothing");

    let marks_above = |packets| under_the_example("qsccp/dumbbell", &[("mark_above", Value::Int(packets))]);
    let (early, late) = (marks_above(5), marks_above(10));
    let elastic: Vec<String> =
        early.windows[0].classes.iter().filter(|class| class.class != "EF").map(goodput).collect();
    assert!(elastic.iter().all(|of| *of == elastic[0]), "the elastic classes have the same: {elastic:?}");

    let page = read(&root().join("docs/develop/add-a-scheme.md"));
    let losses = [&early, &late].map(|document| lost(document).to_string());
    let figures = [goodput(steady), format!("{delay:.1} ms"), elastic[0].clone()];
    for figure in figures.iter().chain(&losses) {
        assert!(is_shown(figure, &page), "docs/develop/add-a-scheme.md does not have {figure}");
    }
}
