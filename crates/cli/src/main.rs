//! `weir`: congestion control and quality of service for Named Data Networking.

mod batch;
mod beside;
mod compare;
mod forward;
mod list;
mod load;
mod optimum;
mod out;
mod reproduce;
mod run;
mod terminal;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What can go wrong, on any thread.
type Failure = Box<dyn Error + Send + Sync>;

/// Congestion control and quality of service for Named Data Networking.
#[derive(Debug, Parser)]
#[command(name = "weir", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Run(run::Args),
    Compare(compare::Args),
    Reproduce(reproduce::Args),
    Optimum(optimum::Args),
    Forward(forward::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Command::List(args) => list::list(&args).map(|()| ExitCode::SUCCESS),
        Command::Run(args) => run::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Compare(args) => compare::compare(&args).map(|()| ExitCode::SUCCESS),
        Command::Reproduce(args) => reproduce::reproduce(&args),
        Command::Optimum(args) => optimum::optimum(&args).map(|()| ExitCode::SUCCESS),
        Command::Forward(args) => forward::forward(&args).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}
