//! `weir strategy`: the strategies of a running forwarder, by prefix.

use std::str::FromStr;

use clap::Subcommand;
use serde::Serialize;
use weir_management::{ControlParameters, Module};
use weir_packet::{Component, Name};
use weir_results::{table, terminal_width};

use crate::Failure;
use crate::manage::{Connection, text};

/// List, set and unset the strategies of a running forwarder
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the strategy choices; the same as `weir strategy`
    List,
    /// Set the strategy of a prefix and of all longer prefixes without their own strategy
    Set {
        /// The prefix
        prefix: Name,
        /// The strategy: its short name, such as best-route, or its full name
        strategy: StrategyName,
    },
    /// Unset the strategy of a prefix; the strategy of / can only be changed
    Unset {
        /// The prefix
        prefix: Name,
    },
}

/// The name of a strategy.
#[derive(Clone, Debug)]
struct StrategyName(Name);

impl FromStr for StrategyName {
    type Err = weir_packet::UriError;

    /// Parses a strategy's name. A text without a slash is a component below `/localhost/nfd/strategy`, or, for a
    /// scheme of Weir, below `/localhost/weir/strategy`.
    fn from_str(text: &str) -> Result<StrategyName, Self::Err> {
        if text.contains('/') {
            return text.parse().map(StrategyName);
        }
        let is_ours = weir_schemes::find(text).is_some();
        let mut name: Name = if is_ours { "/localhost/weir/strategy" } else { strategies() }.parse()?;
        name.push(Component::generic(text.as_bytes()));
        Ok(StrategyName(name))
    }
}

const fn strategies() -> &'static str {
    "/localhost/nfd/strategy"
}

/// A row of the strategy choices.
#[derive(Debug, Serialize)]
struct Row {
    prefix: String,
    strategy: String,
}

/// Runs the command.
pub fn strategy(args: &Args) -> Result<(), Failure> {
    let mut forwarder = args.connection.open()?;
    match args.command.as_ref().unwrap_or(&Command::List) {
        Command::List => {
            let row = |choice: weir_management::status::StrategyStatus| Row {
                prefix: choice.prefix.to_string(),
                strategy: choice.strategy.to_string(),
            };
            let rows: Vec<Row> = forwarder.client.strategies()?.into_iter().map(row).collect();
            forwarder.print(&rows, |rows| list(rows))
        }
        Command::Set { prefix, strategy } => {
            let wanted = ControlParameters {
                name: Some(prefix.clone()),
                strategy: Some(strategy.0.clone()),
                ..ControlParameters::default()
            };
            let done = forwarder.command(Module::StrategyChoice, "set", &wanted)?;
            let strategy = done.strategy.as_ref().unwrap_or(&strategy.0).to_string();
            let row = Row { prefix: prefix.to_string(), strategy };
            forwarder.print(&row, |row| format!("The strategy for {} is {}.\n", row.prefix, row.strategy))
        }
        Command::Unset { prefix } => {
            let wanted = ControlParameters { name: Some(prefix.clone()), ..ControlParameters::default() };
            // The command's answer does not tell this.
            let was_set = forwarder.client.strategies()?.iter().any(|choice| choice.prefix == *prefix);
            forwarder.command(Module::StrategyChoice, "unset", &wanted)?;
            let unset = Unset { prefix: prefix.to_string(), was_set };
            forwarder.print(&unset, |Unset { prefix, was_set }| {
                let had =
                    if *was_set { "no longer has its own strategy" } else { "did not have its own strategy" };
                format!("{prefix} {had}.\n")
            })
        }
    }
}

#[derive(Debug, Serialize)]
struct Unset {
    prefix: String,
    /// Whether the prefix had its own strategy.
    was_set: bool,
}

fn list(rows: &[Row]) -> String {
    let mut table = table(&["prefix", "strategy"], [], terminal_width());
    for row in rows {
        table.add_row([row.prefix.clone(), row.strategy.clone()]);
    }
    text(&table)
}
