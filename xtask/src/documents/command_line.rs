//! The reference of the command line: the output of `--help`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;
use crate::page::Document;

/// A section for each command, in the order of its help.
pub fn help(weir: &Path) -> Result<Document> {
    let mut text = String::new();
    add(weir, &[], &mut text)?;
    Ok(Document::part("docs/reference/cli.md", "help", text))
}

/// Adds the section of a command, and of its own commands.
fn add(weir: &Path, command: &[&str], text: &mut String) -> Result<()> {
    let title = [&["weir"], command].concat().join(" ");
    let help = help_of(weir, command)?;
    *text += &format!("## `{title}`\n\n```text\n{help}\n```\n\n");
    let own =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // The text about a command may be continued on further lines.
    let names = own.filter_map(|line| line.strip_prefix("  ").filter(|name| !name.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    for name in names {
        add(weir, &[command, &[name]].concat(), text)?;
    }
    Ok(())
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
