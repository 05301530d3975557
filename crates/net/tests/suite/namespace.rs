//! Hosts for tests: network namespaces, in each of which a test of this program runs.

use std::process::{Command, Output};

/// Runs a shell script as root in its own network namespace. In it, `run NAME COMMAND...` runs an ignored test of this
/// program, optionally through a command. Without the right to create namespaces it prints a message and does nothing.
pub fn run(script: &str) {
    if let Some(why) = why_not() {
        return eprintln!("skipped: {why}");
    }
    assert!(script.contains("run "));
    let output = shell(script);
    assert!(output.status.success(), "{script}\n{}", said(&output));
}

/// A name without a test must not count as run.
const RUN: &str = "
run() {
    name=$1
    shift
    \"$0\" --exact --ignored --list \"$name\" | grep -q \"^$name: test\"
    \"$@\" \"$0\" --exact --ignored --nocapture \"$name\"
}
";

fn why_not() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("network namespaces need root".into());
    }
    let probe = shell("ip link add va type veth peer name vb && ip link set va up");
    (!probe.status.success()).then(|| format!("no network namespaces here: {}", said(&probe)))
}

/// Runs a script in its own network namespace.
fn shell(script: &str) -> Output {
    let this = std::env::current_exe().expect("this program");
    let script = format!("set -e\n{RUN}\n{script}");
    let output = Command::new("unshare").args(["--net", "sh", "-c", &script]).arg(this).output();
    output.unwrap_or_else(|error| panic!("unshare (util-linux) does not run: {error}"))
}

fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].concat().iter().map(|&byte| char::from(byte)).collect()
}
