//! The command `weir`: congestion control and quality of service for Named Data Networking.
//!
//! The binary and the Python package run the same [`main`].
// A closed standard error would end the command: `note!` goes on.
#![warn(clippy::print_stderr)]

// Its macro is for all others.
#[macro_use]
mod terminal;

mod app;
mod compare;
mod completions;
mod cs;
mod face;
mod forward;
mod get;
mod import;
mod key;
mod lab;
mod list;
mod load;
mod man;
mod manage;
mod optimum;
mod out;
mod passphrase;
mod ping;
mod plot;
mod progress;
mod put;
mod record;
mod replay;
mod reproduce;
mod route;
mod run;
mod status;
mod strategy;
mod sweep;
mod top;
mod traffic;
mod watch;

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Any error, on any thread.
type Failure = Box<dyn Error + Send + Sync>;

/// Congestion control and quality of service for Named Data Networking.
#[derive(Debug, Parser)]
#[command(name = "weir", version = weir_study::VERSION, arg_required_else_help = true)]
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
    Sweep(sweep::Args),
    Plot(plot::Args),
    Optimum(optimum::Args),
    Lab(lab::Args),
    Import(import::Args),
    Forward(forward::Args),
    Put(put::Args),
    Get(get::Args),
    Replay(replay::Args),
    Status(status::Args),
    Top(top::Args),
    Face(face::Args),
    Route(route::Args),
    Strategy(strategy::Args),
    Cs(cs::Args),
    Ping(ping::Args),
    PingServer(ping::ServerArgs),
    Traffic(traffic::Args),
    Key(key::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command. The first argument is the program's name. Help, an invalid argument and an interruption end the
/// process.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = Cli::parse_from(&args);
    let done = match cli.command {
        Command::List(args) => list::list(&args).map(|()| ExitCode::SUCCESS),
        Command::Run(args) => run::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Compare(of) => compare::compare(&of, &args[1..]),
        Command::Reproduce(of) => reproduce::reproduce(&of, &args[1..]),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Plot(args) => plot::plot(&args).map(|()| ExitCode::SUCCESS),
        Command::Optimum(args) => optimum::optimum(&args).map(|()| ExitCode::SUCCESS),
        Command::Lab(of) => lab::lab(&of, &args[1..]),
        Command::Import(args) => import::import(&args).map(|()| ExitCode::SUCCESS),
        Command::Forward(args) => forward::forward(&args).map(|()| ExitCode::SUCCESS),
        Command::Put(args) => put::put(&args).map(|()| ExitCode::SUCCESS),
        Command::Get(args) => get::get(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Status(args) => status::status(&args).map(|()| ExitCode::SUCCESS),
        Command::Top(args) => top::top(&args).map(|()| ExitCode::SUCCESS),
        Command::Face(args) => face::face(&args).map(|()| ExitCode::SUCCESS),
        Command::Route(args) => route::route(&args).map(|()| ExitCode::SUCCESS),
        Command::Strategy(args) => strategy::strategy(&args).map(|()| ExitCode::SUCCESS),
        Command::Cs(args) => cs::cs(&args).map(|()| ExitCode::SUCCESS),
        Command::Ping(args) => ping::ping(&args),
        Command::PingServer(args) => ping::serve(&args).map(|()| ExitCode::SUCCESS),
        Command::Traffic(args) => traffic::traffic(&args).map(|()| ExitCode::SUCCESS),
        Command::Key(args) => key::key(&args).map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => {
            completions::completions(&args, Cli::command()).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(args) => man::man(&args, Cli::command()).map(|()| ExitCode::SUCCESS),
    };
    done.unwrap_or_else(|error| {
        if error.is::<progress::Interrupted>() {
            note!("{error}");
            return ExitCode::from(130);
        }
        note!("error: {error}");
        ExitCode::from(2)
    })
}
