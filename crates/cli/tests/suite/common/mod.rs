//! Calls of the command for the tests.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// The tested command.
pub const WEIR: &str = env!("CARGO_BIN_EXE_weir");

/// The folder for kept runs, shared by all tests and programs. Their keys contain the version. Other tests reuse a kept
/// run.
pub const RUNS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/runs");

/// A call of the command that reads and keeps runs in the shared folder.
pub fn command() -> Command {
    let mut command = Command::new(WEIR);
    command.env("WEIR_RUNS", RUNS);
    command
}

/// Calls the command.
pub fn weir(args: &[&str]) -> Output {
    called(command(), args)
}

/// Calls the command so that it makes every run itself, for tests of how runs are made.
pub fn weir_anew(args: &[&str]) -> Output {
    let mut command = Command::new(WEIR);
    command.env_remove("WEIR_RUNS");
    called(command, args)
}

fn called(mut command: Command, args: &[&str]) -> Output {
    let output = command.args(args).output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"), "{args:?}: {}", text(&output.stderr));
    output
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output of a call that succeeds without complaints. It may print what it runs, its progress, and that it
/// made one run for several seeds.
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    complains_of_nothing(output);
    text(&output.stdout)
}

/// Checks that standard error contains only remarks.
pub fn complains_of_nothing(output: &Output) {
    let said = text(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter(|line| !is_remark(line)).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
}

fn is_remark(line: &str) -> bool {
    let what_is_run = "(a point of the axes under a scheme)";
    let remarks = ["not repeated with another seed", what_is_run, " runs are in ", "partial results are in "];
    line.ends_with(" %") || remarks.iter().any(|remark| line.contains(remark))
}

/// Checks that a call fails, prints nothing, and reports all these words on standard error.
pub fn refused(args: &[&str], words: &[&str]) {
    let output = weir(args);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {complaint}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    for word in words {
        assert!(complaint.contains(word), "{args:?}: no `{word}` in:\n{complaint}");
    }
}

/// A separate folder for a test's files.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The minimal example with a change, as a file.
pub fn changed(name: &str, from: &str, to: &str) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/examples/minimal.toml");
    let text = fs::read_to_string(source).unwrap();
    assert!(text.contains(from), "the example has `{from}`");
    let path = folder(name).join("scenario.toml");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Keys of an object, in alphabetical order.
pub fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
