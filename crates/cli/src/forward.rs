//! `weir forward`: the forwarder.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use tracing::level_filters::LevelFilter;
use weir_forwarder::config::{Config, ConfigError, Log, LogLevel};
use weir_forwarder::daemon::Daemon;
use weir_forwarder::instance::check_host;
use weir_net::memory::most_memory;

use crate::Failure;

/// Forward NDN packets of this host and its neighbours
///
/// Without a file, the forwarder listens for applications at /run/nfd/nfd.sock, and on UDP and TCP port 6363 of the
/// loopback address. SIGHUP reloads the file. SIGTERM and SIGINT stop the forwarder.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The forwarder's file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Only check the file, with the users, groups and keys of this host that it names
    #[arg(long)]
    check: bool,
}

/// Runs the forwarder until it is stopped.
pub fn forward(args: &Args) -> Result<(), Failure> {
    let config = match &args.config {
        Some(path) => Config::load(path)?,
        None => Config::default(),
    };
    let warnings = warnings(&config);
    if args.check {
        check_host(&config)?;
        for warning in &warnings {
            println!("warning: {warning}");
        }
        println!("{}: the file is valid", name(args));
        return Ok(());
    }
    log(config.log);
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    Daemon::start(config, args.config.clone())?.run()?;
    Ok(())
}

/// Parts of the file that may be mistakes.
fn warnings(config: &Config) -> Vec<ConfigError> {
    let needs_rates = config.scheme.build().needs_rates();
    let without_rate = if needs_rates { config.without_rate() } else { Vec::new() };
    let beyond_memory = most_memory().map(|most| config.beyond_memory(most)).unwrap_or_default();
    without_rate.into_iter().chain(beyond_memory).collect()
}

fn name(args: &Args) -> String {
    args.config.as_ref().map_or("the defaults".to_owned(), |path| path.display().to_string())
}

/// Writes messages to standard error.
fn log(log: Log) {
    let level = match log.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let messages = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal());
    if log.json {
        messages.json().init();
    } else {
        messages.init();
    }
}
