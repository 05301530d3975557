//! Applications as processes, with a forwarder in the test.
#![allow(dead_code, reason = "each test file uses what it needs")]

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use weir_management::client::TRANSPORT_VARIABLE;

use crate::running::Folder;

/// `weir` with this forwarder and the keys in this folder.
pub fn weir(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    let socket = format!("unix://{}", folder.path("nfd.sock").display());
    command.env(TRANSPORT_VARIABLE, socket).env("WEIR_KEYCHAIN", folder.path("keys")).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub fn run(folder: &Folder, arguments: &[&str]) -> Output {
    let output = weir(folder, arguments).output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"), "{arguments:?}: {}", text(&output.stderr));
    output
}

pub fn succeeds(folder: &Folder, arguments: &[&str]) -> Output {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    output
}

/// Checks that the command ends with code 2, prints nothing, and reports this error.
pub fn fails(folder: &Folder, arguments: &[&str], words: &str) {
    let output = run(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert!(said.contains(words), "{arguments:?}: no `{words}` in:\n{said}");
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The path of a file in the folder, as an argument.
pub fn path(folder: &Folder, file: &str) -> String {
    folder.path(file).to_str().unwrap().to_owned()
}

/// Writes a file in the folder, and returns its path as an argument. An existing file with this length stays unchanged.
pub fn written(folder: &Folder, file: &str, content: &[u8]) -> String {
    let at = folder.path(file);
    if !fs::metadata(&at).is_ok_and(|there| there.len() == content.len() as u64) {
        fs::write(&at, content).unwrap();
    }
    path(folder, file)
}

pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8).collect()
}

/// Sends a signal to a process: `-INT` is that of Ctrl-C.
pub fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// A running `weir put --json`. Dropping it kills the process.
pub struct Put {
    pub child: Child,
    lines: Box<dyn BufRead>,
}

impl Put {
    pub fn start(folder: &Folder, arguments: &[&str], stdin: impl Into<Stdio>) -> Put {
        let mut command = weir(folder, &[&["put", "--json"], arguments].concat());
        let mut child = command.stdin(stdin).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = Box::new(BufReader::new(child.stdout.take().unwrap()));
        Put { child, lines }
    }

    /// Waits for the next event of this kind. Earlier events are skipped.
    pub fn wait(&mut self, event: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended before {event}");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["event"] == event {
                return said;
            }
        }
    }

    /// Closes the pipe.
    pub fn hang_up(&mut self) {
        self.lines = Box::new(io::empty());
    }

    /// Stops it like Ctrl-C. Returns its last event.
    pub fn stop(mut self) -> Value {
        signal(&self.child, "-INT");
        let summary = self.wait("summary");
        assert!(self.child.wait().unwrap().success());
        summary
    }
}

impl Drop for Put {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
