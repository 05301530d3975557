//! The reference of the command line: the output of `--help`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::page::Document;

/// All commands, in the order of the page.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["list"],
    &["run"],
    &["compare"],
    &["reproduce"],
    &["sweep"],
    &["optimum"],
    &["forward"],
    &["put"],
    &["replay"],
    &["get"],
    &["status"],
    &["top"],
    &["face"],
    &["face", "create"],
    &["face", "update"],
    &["route"],
    &["route", "list"],
    &["route", "add"],
    &["route", "remove"],
    &["strategy"],
    &["strategy", "set"],
    &["cs"],
    &["cs", "config"],
    &["cs", "erase"],
    &["ping"],
    &["ping-server"],
    &["traffic"],
    &["key"],
    &["key", "new"],
    &["key", "list"],
    &["key", "export"],
    &["key", "import"],
    &["key", "certify"],
    &["key", "delete"],
    &["key", "default"],
    &["completions"],
    &["man"],
];

/// A section for each command.
pub fn help(weir: &Path) -> Result<Document> {
    let mut text = String::new();
    for command in COMMANDS {
        let title = [&["weir"], *command].concat().join(" ");
        text += &format!("## `{title}`\n\n```text\n{}\n```\n\n", help_of(weir, command)?);
    }
    Ok(Document::part("docs/reference/cli.md", "help", text))
}

fn help_of(weir: &Path, command: &[&str]) -> Result<String> {
    // Help adapts to the width of the terminal, if there is one.
    let mut help = Command::new(weir);
    help.args(command).arg("--help").stdin(Stdio::null()).env("COLUMNS", "100");
    let output = help.output().map_err(|error| format!("{}: {error}", weir.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    Ok(lines.join("\n").trim_end().to_owned())
}
