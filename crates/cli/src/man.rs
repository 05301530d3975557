//! `weir man`: the manual pages of all commands, made of their help.

use std::fs;
use std::path::PathBuf;

use crate::Failure;

/// Write the manual pages of all commands
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder; it is created if necessary
    folder: PathBuf,
}

/// Writes them: `weir.1`, and `weir-COMMAND.1` for each command.
pub fn man(args: &Args, commands: clap::Command) -> Result<(), Failure> {
    let said = |error| format!("cannot write the manual pages to {}: {error}", args.folder.display());
    fs::create_dir_all(&args.folder).map_err(said)?;
    clap_mangen::generate_to(commands, &args.folder).map_err(said)?;
    Ok(())
}
