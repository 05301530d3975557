//! Calls of the command, for the tests beside.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

/// The command that is tested.
pub const WEIR: &str = env!("CARGO_BIN_EXE_weir");

/// Where runs are kept, for all tests and programs: their keys say of which version they are. A run that one has made is
/// read by the others.
pub const RUNS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/runs");

/// A call of the command that reads and keeps runs in the folder of the tests.
pub fn command() -> Command {
    let mut command = Command::new(WEIR);
    command.env("WEIR_RUNS", RUNS);
    command
}

/// Calls the command.
pub fn weir(args: &[&str]) -> Output {
    called(command(), args)
}

/// Calls the command so that it makes every run itself, for what is said of how runs are made.
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

/// Stdout of a call that succeeds and complains of nothing. It may say what it runs, how far it is, and that it made one
/// run for several seeds.
pub fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    complains_of_nothing(output);
    text(&output.stdout)
}

/// Nothing is on stderr but remarks.
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

/// A call fails, prints nothing, and says all these words on stderr.
pub fn refused(args: &[&str], words: &[&str]) {
    let output = weir(args);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {complaint}");
    assert_eq!(text(&output.stdout), "", "{args:?}");
    for word in words {
        assert!(complaint.contains(word), "{args:?}: no `{word}` in:\n{complaint}");
    }
}

/// A folder of its own for a test's files.
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
