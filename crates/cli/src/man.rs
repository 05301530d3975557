//! `weir man`: the manual pages of all commands, generated from their help.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap_mangen::Man;

use crate::Failure;

/// Write the manual pages of all commands
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder; it is created if necessary
    folder: PathBuf,
}

/// Writes the pages: `weir.1`, and `weir-COMMAND.1` for each command.
pub fn man(args: &Args, commands: clap::Command) -> Result<(), Failure> {
    let said = |error| format!("cannot write the manual pages to {}: {error}", args.folder.display());
    fs::create_dir_all(&args.folder).map_err(said)?;
    let mut commands = commands.disable_help_subcommand(true);
    commands.build();
    write(&commands, &args.folder).map_err(said)?;
    Ok(())
}

fn write(command: &clap::Command, folder: &Path) -> io::Result<()> {
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        write(command, folder)?;
    }
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = with_values(&String::from_utf8_lossy(&page), command);
    fs::write(folder.join(man.get_filename()), page)
}

/// Adds the values of options to the synopsis of a page: the library writes `[--config]` for `[--config FILE]`.
fn with_values(page: &str, command: &clap::Command) -> String {
    const SYNOPSIS: &str = ".SH SYNOPSIS\n";
    let Some((head, (synopsis, rest))) =
        page.split_once(SYNOPSIS).and_then(|(head, rest)| Some((head, rest.split_once('\n')?)))
    else {
        return page.to_owned();
    };
    let mut synopsis = synopsis.to_owned();
    for option in command.get_opts() {
        if let (Some(long), Some(values)) = (option.get_long(), option.get_value_names()) {
            let name = format!("\\fB\\-\\-{}\\fR", long.replace('-', "\\-"));
            let values = values.join(" ").replace('-', "\\-");
            synopsis = synopsis.replace(&name, &format!("{name} \\fI{values}\\fR"));
        }
    }
    format!("{head}{SYNOPSIS}{synopsis}\n{rest}")
}
