//! Dependencies point one way, and nothing below the worlds has sockets, clocks, threads or files.
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use xtask::workspace::{dependencies, name, packages};

/// Each crate, and the crates of the workspace that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("weir-packet", &[]),
    ("weir-keychain", &["weir-packet"]),
    ("weir-core", &["weir-packet"]),
    ("weir-medium", &["weir-core", "weir-packet"]),
    ("weir-figure", &[]),
    ("weir-schemes", &["weir-core", "weir-packet"]),
    ("weir-document", &["weir-core"]),
    ("weir-scenario", &["weir-core", "weir-document", "weir-medium", "weir-packet"]),
    ("weir-optimum", &["weir-core", "weir-medium", "weir-packet", "weir-scenario"]),
    ("weir-import", &["weir-core"]),
    ("weir-net", &["weir-core", "weir-packet"]),
    ("weir-management", &["weir-core", "weir-net", "weir-packet"]),
    (
        "weir-forwarder",
        &[
            "weir-core",
            "weir-document",
            "weir-keychain",
            "weir-management",
            "weir-net",
            "weir-packet",
            "weir-schemes",
        ],
    ),
    (
        "weir-app",
        &["weir-core", "weir-keychain", "weir-management", "weir-net", "weir-packet", "weir-schemes"],
    ),
    (
        "weir-lab",
        &[
            "weir-app",
            "weir-core",
            "weir-experiment",
            "weir-forwarder",
            "weir-management",
            "weir-measure",
            "weir-net",
            "weir-packet",
            "weir-scenario",
            "weir-schemes",
        ],
    ),
    ("weir-measure", &["weir-core", "weir-packet"]),
    ("weir-results", &["weir-core", "weir-figure", "weir-measure", "weir-packet"]),
    ("weir-experiment", &["weir-core", "weir-measure", "weir-packet", "weir-scenario", "weir-schemes"]),
    ("weir-sim", &["weir-core", "weir-experiment", "weir-measure", "weir-medium", "weir-scenario"]),
    (
        "weir-study",
        &[
            "weir-core",
            "weir-experiment",
            "weir-figure",
            "weir-measure",
            "weir-optimum",
            "weir-results",
            "weir-scenario",
            "weir-schemes",
            "weir-sim",
        ],
    ),
];

/// The command line and the Python module stand on all of them.
const MAY_USE_ALL: &[&str] = &["weir", "weir-python"];

/// What only the tests of a crate may use beyond that: they run a forwarder, ask a scheme for its policy, or run
/// all schemes.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[
    ("weir-app", &["weir-forwarder"]),
    ("weir-import", &["weir-scenario"]),
    ("weir-optimum", &["weir-schemes"]),
    ("weir-sim", &["weir-schemes"]),
];

/// These know no sockets, clocks, threads or files.
const SANS_IO: &[&str] = &[
    "weir-packet",
    "weir-core",
    "weir-medium",
    "weir-figure",
    "weir-measure",
    "weir-schemes",
    "weir-document",
    "weir-scenario",
    "weir-optimum",
    "weir-import",
    "weir-experiment",
];

/// The key chain is files, in one module; else it is as they are.
const WITH_FILES: (&str, &str) = ("weir-keychain", "store.rs");

/// What they do not name.
const NOT_NAMED: &[&str] = &[
    "std::net",
    "std::os",
    "std::thread",
    "std::fs",
    "std::process",
    "std::time::Instant",
    "Instant::now",
    "SystemTime",
    "mio::",
    "tokio",
    "socket2",
];

/// Libraries that they do not use.
const NOT_USED: &[&str] = &[
    "mio",
    "tokio",
    "socket2",
    "nix",
    "libc",
    "rustix",
    "rayon",
    "crossbeam",
    "chrono",
    "time",
    "async-std",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn dependencies_between_the_crates_point_one_way() {
    let packages = packages().unwrap();
    let ours: Vec<&str> = packages.iter().map(name).collect();
    for (known, _) in MAY_USE {
        assert!(ours.contains(known), "{known} is no crate of this workspace");
    }
    for package in &packages {
        if MAY_USE_ALL.contains(&name(package)) {
            continue;
        }
        let listed = MAY_USE.iter().find(|(known, _)| *known == name(package));
        let (_, allowed) =
            listed.unwrap_or_else(|| panic!("MAY_USE does not say what {} may use", name(package)));
        let of_tests = TESTS_MAY_USE.iter().find(|(known, _)| *known == name(package));
        let of_tests = of_tests.map_or(&[][..], |(_, allowed)| allowed);
        for (with_tests, more) in [(false, &[][..]), (true, of_tests)] {
            for dependency in dependencies(package, with_tests).iter().filter(|d| ours.contains(d)) {
                // Tests may use their own crate with a feature.
                let is_itself = with_tests && *dependency == name(package);
                let is_allowed = is_itself || allowed.contains(dependency) || more.contains(dependency);
                assert!(is_allowed, "{} uses {dependency}", name(package));
            }
        }
    }
}

#[test]
fn below_the_worlds_no_library_brings_sockets_clocks_or_threads() {
    let is_below = |package: &&Value| SANS_IO.contains(&name(package)) || name(package) == WITH_FILES.0;
    for package in packages().unwrap().iter().filter(is_below) {
        for dependency in dependencies(package, false) {
            assert!(!NOT_USED.contains(&dependency), "{} uses {dependency}", name(package));
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn below_the_worlds_no_source_names_sockets_clocks_threads_or_files() {
    for package in SANS_IO.iter().chain([&WITH_FILES.0]) {
        let mut files = Vec::new();
        sources(&root().join("crates").join(package.trim_start_matches("weir-")).join("src"), &mut files);
        assert!(files.len() >= 4, "{package} has {} sources", files.len());
        for file in files {
            let may_have_files = *package == WITH_FILES.0 && file.ends_with(WITH_FILES.1);
            let text = fs::read_to_string(&file).unwrap();
            // Its own number is in a name of files that are not whole yet.
            let is_allowed = |word| may_have_files && ["std::fs", "std::os", "std::process"].contains(word);
            let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            for (number, line) in code.enumerate() {
                for word in NOT_NAMED.iter().filter(|word| !is_allowed(word)) {
                    assert!(!line.contains(word), "{}:{}: {word}", file.display(), number + 1);
                }
            }
        }
    }
}

/// The code of a source file: without comments, and without the tests at its end.
fn code(text: &str) -> String {
    let (code, _tests) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Whether code names a scheme: as a text, or as a module or a type. `fixed` is a word, and counts as a text alone.
fn names(code: &str, scheme: &str) -> bool {
    let quoted = |end: &str| code.contains(&format!("\"{scheme}{end}"));
    let is_part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let lower = code.to_lowercase().replace('_', "-");
    let has_word = lower.match_indices(scheme).any(|(at, _)| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + scheme.len()..].chars().next();
        !before.is_some_and(is_part_of_word) && !after.is_some_and(is_part_of_word)
    });
    quoted("\"") || quoted(".") || (scheme != weir_schemes::PLAIN && has_word)
}

#[test]
fn no_source_outside_the_schemes_names_one() {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() != "schemes" {
            sources(&entry.path().join("src"), &mut files);
        }
    }
    assert!(files.len() > 200, "{} sources", files.len());
    for path in files {
        let is_test = path.iter().any(|part| part == "tests")
            || path
                .file_stem()
                .is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"));
        // Built-in scenarios have the names of their papers.
        if is_test || path.ends_with("scenario/src/builtin.rs") {
            continue;
        }
        let code = code(&fs::read_to_string(&path).unwrap());
        for entry in weir_schemes::SCHEMES {
            assert!(!names(&code, entry.name), "{} names the scheme {}", path.display(), entry.name);
        }
    }
}

#[test]
fn a_name_of_a_scheme_is_found_where_it_stands_alone() {
    for code in ["find(\"bbr\")", "weir_schemes::bbr::X", "\"scheme.bbr.x\"", "Bbr {}", "\"bbr.x\""] {
        assert!(names(code, "bbr"), "{code}");
    }
    assert!(names("omcc_rf::X", "omcc-rf") && names("\"fixed\"", "fixed"));
    assert!(!names("abbr()", "bbr") && !names("element.fixed()?", "fixed"));
    assert!(!names(&code("// bbr\nf();\n#[cfg(test)]\nmod tests {\n\"bbr\""), "bbr"));
}
