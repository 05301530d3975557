//! Sets the version of the program for the keys of runs: `WEIR_COMMIT` is the commit that is checked out, and
//! `WEIR_SOURCES` is a digest of everything that decides the figures of a run, which is the sources of the
//! simulator and of the crates below it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

/// The crates that decide the figures of a run.
const CRATES: [&str; 9] =
    ["core", "document", "experiment", "measure", "medium", "packet", "scenario", "schemes", "sim"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = manifest.join("../..");
    println!("cargo::rustc-env=WEIR_SOURCES={}", sources(&root));
    let commit = if is_checkout(&root) { git(&["rev-parse", "--short=12", "HEAD"]) } else { None };
    println!("cargo::rustc-env=WEIR_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    // Cargo runs this again whenever a watched file is missing, so only existing files are named. The log of
    // HEAD is written with every commit, and HEAD itself when another branch is checked out.
    let watched =
        ["HEAD", "logs/HEAD"].into_iter().filter_map(|name| git(&["rev-parse", "--git-path", name]));
    for path in watched.filter(|path| commit.is_some() && Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// Returns a digest of the sources, each with its path, and of the versions of external crates.
fn sources(root: &Path) -> String {
    let mut files = vec![root.join("Cargo.lock")];
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    for name in CRATES {
        files.push(root.join("crates").join(name).join("Cargo.toml"));
        let folder = root.join("crates").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        add_sources(&folder, &mut files);
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let Ok(bytes) = fs::read(&file) else { continue };
        let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        // Sizes separate the parts of one file from those of the next.
        digest.update((path.len() as u64).to_le_bytes());
        digest.update(&path);
        digest.update((bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn add_sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            add_sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns whether the repository's root is the workspace's. An unpacked archive may be inside another
/// repository.
fn is_checkout(root: &Path) -> bool {
    let top = git(&["rev-parse", "--show-toplevel"]);
    top.is_some_and(|top| Path::new(&top).canonicalize().ok() == root.canonicalize().ok())
}

/// Returns git's answer in one line; `None` without git, or if git fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
