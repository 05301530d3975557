//! `weir cs`: the content store of a running forwarder.

use clap::Subcommand;
use serde::Serialize;
use weir_management::status::CsInfo;
use weir_management::{ControlParameters, Module};
use weir_packet::Name;

use crate::Failure;
use crate::manage::{Connection, Forwarder, Switch, count, flags};

/// Show, configure and erase the content store of a running forwarder
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the content store; the same as `weir cs`
    Info,
    /// Change the given options; the others stay
    Config {
        /// The capacity, packets
        #[arg(long, value_name = "PACKETS")]
        capacity: Option<u64>,
        /// Store Data
        #[arg(long, value_name = "on|off")]
        admit: Option<Switch>,
        /// Answer Interests from the content store
        #[arg(long, value_name = "on|off")]
        serve: Option<Switch>,
    },
    /// Erase the Data under a prefix
    Erase {
        /// The prefix
        prefix: Name,
        /// The largest number of packets to erase; by default all
        #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
}

#[derive(Debug, Serialize)]
struct Document {
    capacity: u64,
    entries: u64,
    admit: bool,
    serve: bool,
    hits: u64,
    misses: u64,
}

#[derive(Debug, Serialize)]
struct Erased {
    prefix: String,
    erased: u64,
}

/// Runs the command.
pub fn cs(args: &Args) -> Result<(), Failure> {
    let mut forwarder = args.connection.open()?;
    match args.command.as_ref().unwrap_or(&Command::Info) {
        Command::Info => info(&mut forwarder),
        Command::Config { capacity, admit, serve } => {
            let (flags, mask) = flags([*admit, *serve]);
            if capacity.is_none() && mask.is_none() {
                return Err("nothing to change: wanted --capacity, --admit or --serve".into());
            }
            let wanted = ControlParameters { capacity: *capacity, flags, mask, ..Default::default() };
            let done = forwarder.command(Module::Cs, "config", &wanted)?;
            if let Some((asked, set)) = capacity.zip(done.capacity).filter(|(asked, set)| asked != set) {
                let [asked, set] = [asked, set].map(count);
                note!("note: the forwarder set the capacity to {set} packets; {asked} were asked for");
            }
            info(&mut forwarder)
        }
        Command::Erase { prefix, count: most } => {
            let erased = erase(&mut forwarder, prefix, *most)?;
            let erased = Erased { prefix: prefix.to_string(), erased };
            forwarder.print(&erased, |erased| {
                format!("Erased {} Data under {}.\n", count(erased.erased), erased.prefix)
            })
        }
    }
}

fn info(forwarder: &mut Forwarder<'_>) -> Result<(), Failure> {
    let CsInfo { capacity, admit, serve, entries, hits, misses } = forwarder.client.cs_info()?;
    forwarder.print(&Document { capacity, entries, admit, serve, hits, misses }, |document| {
        let on = |on: bool| if on { "yes" } else { "no" };
        let lines = [
            ("packets", format!("{} of {}", count(document.entries), count(document.capacity))),
            ("stores Data", on(document.admit).to_owned()),
            ("answers", on(document.serve).to_owned()),
            ("hits", count(document.hits)),
            ("misses", count(document.misses)),
        ];
        lines.iter().fold("Content store\n".to_owned(), |text, (what, value)| {
            text + &format!("  {what:<16}{value}\n")
        })
    })
}

/// Erases at most `most` Data, or all. One command may erase only a part. Returns the number of erased Data.
fn erase(forwarder: &mut Forwarder<'_>, prefix: &Name, most: Option<u64>) -> Result<u64, Failure> {
    let mut erased = 0;
    loop {
        let left = most.map(|most| most.saturating_sub(erased));
        let wanted = ControlParameters { name: Some(prefix.clone()), count: left, ..Default::default() };
        let done = forwarder.command(Module::Cs, "erase", &wanted)?;
        let count = done.count.unwrap_or_default();
        erased += count;
        // A capacity in the answer means that one command could not erase more.
        if count == 0 || done.capacity.is_none() || most.is_some_and(|most| erased >= most) {
            return Ok(erased);
        }
    }
}
