//! Dependencies point one way, and nothing below the worlds has sockets, clocks, threads or files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

mod workspace;

use serde_json::Value;
use workspace::{dependencies, name, packages};

/// Each crate, and the crates of the workspace that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("weir-packet", &[]),
    ("weir-keychain", &["weir-packet"]),
    ("weir-core", &["weir-packet"]),
    ("weir-medium", &["weir-core", "weir-packet"]),
    ("weir-schemes", &["weir-core", "weir-packet"]),
    ("weir-document", &["weir-core"]),
    ("weir-scenario", &["weir-core", "weir-document", "weir-medium", "weir-packet"]),
    ("weir-optimum", &["weir-core", "weir-medium", "weir-packet", "weir-scenario"]),
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
    ("weir-measure", &["weir-core", "weir-packet"]),
    ("weir-results", &["weir-measure"]),
    (
        "weir-sim",
        &["weir-core", "weir-measure", "weir-medium", "weir-packet", "weir-schemes", "weir-scenario"],
    ),
];

/// The command line stands on all of them.
const MAY_USE_ALL: &str = "weir";

/// What only the tests of a crate may use beyond that: they run a forwarder.
const TESTS_MAY_USE: &[(&str, &[&str])] = &[("weir-app", &["weir-forwarder"])];

/// These know no sockets, clocks, threads or files.
const SANS_IO: &[&str] = &[
    "weir-packet",
    "weir-core",
    "weir-medium",
    "weir-measure",
    "weir-schemes",
    "weir-document",
    "weir-scenario",
    "weir-optimum",
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
    let packages = packages();
    let ours: Vec<&str> = packages.iter().map(name).collect();
    for (known, _) in MAY_USE {
        assert!(ours.contains(known), "{known} is no crate of this workspace");
    }
    for package in &packages {
        if name(package) == MAY_USE_ALL {
            continue;
        }
        let listed = MAY_USE.iter().find(|(known, _)| *known == name(package));
        let (_, allowed) =
            listed.unwrap_or_else(|| panic!("MAY_USE does not say what {} may use", name(package)));
        let of_tests = TESTS_MAY_USE.iter().find(|(known, _)| *known == name(package));
        let of_tests = of_tests.map_or(&[][..], |(_, allowed)| allowed);
        for (with_tests, more) in [(false, &[][..]), (true, of_tests)] {
            for dependency in dependencies(package, with_tests).iter().filter(|d| ours.contains(d)) {
                let is_allowed = allowed.contains(dependency) || more.contains(dependency);
                assert!(is_allowed, "{} uses {dependency}", name(package));
            }
        }
    }
}

#[test]
fn below_the_worlds_no_library_brings_sockets_clocks_or_threads() {
    let is_below = |package: &&Value| SANS_IO.contains(&name(package)) || name(package) == WITH_FILES.0;
    for package in packages().iter().filter(is_below) {
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
