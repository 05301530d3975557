//! `weir completions`: shell completions of the commands.

use crate::{Failure, terminal};

/// Print a shell's completions of the commands and their options
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: clap_complete::Shell,
}

/// Prints the completions.
pub fn completions(args: &Args, mut commands: clap::Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut commands, "weir", &mut text);
    terminal::print(&String::from_utf8(text)?)
}
