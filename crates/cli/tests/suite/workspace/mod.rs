//! The crates of this workspace, as cargo describes them.
#![allow(dead_code, reason = "each test file uses what it needs")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The workspace's packages, as cargo describes them.
pub fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Names of what a package depends on: to build it, or also to test it.
pub fn dependencies(package: &Value, with_tests: bool) -> Vec<&str> {
    let all = package["dependencies"].as_array().unwrap().iter();
    let wanted = all.filter(|d| with_tests || d["kind"] != "dev");
    wanted.map(|d| d["name"].as_str().unwrap()).collect()
}

pub fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap()
}
