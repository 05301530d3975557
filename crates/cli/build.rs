//! Names the commit that is checked out: the environment variable `WEIR_COMMIT` of the crate's sources has its
//! first twelve digits, or `unknown` where the sources are not a checkout of their own.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = if is_checkout() { git(&["rev-parse", "--short=12", "HEAD"]) } else { None };
    println!("cargo::rustc-env=WEIR_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    // Cargo runs this again whenever a file that it watches is missing, so only those that exist are named. The log
    // of HEAD is written with every commit, and HEAD itself where another branch is checked out.
    let watched =
        ["HEAD", "logs/HEAD"].into_iter().filter_map(|name| git(&["rev-parse", "--git-path", name]));
    for path in watched.filter(|path| commit.is_some() && Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// Whether the repository's root is the workspace's: an unpacked archive may lie in someone else's repository.
fn is_checkout() -> bool {
    // Not the one of the build: a target folder may have been copied from another checkout.
    let Some(manifest) = std::env::var_os("CARGO_MANIFEST_DIR") else { return false };
    let root = Path::new(&manifest).join("../..");
    let top = git(&["rev-parse", "--show-toplevel"]);
    top.is_some_and(|top| Path::new(&top).canonicalize().ok() == root.canonicalize().ok())
}

/// What git answers in one line; `None` without git, and where it refuses.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
