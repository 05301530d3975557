//! `weir import`: converts a topology file in another format to a scenario.

use std::fs;
use std::path::PathBuf;

use weir_core::units::Rate;
use weir_import::{Delay, File, Format, Options};

use crate::{Failure, terminal};

/// Convert a topology file to a scenario: GraphML, GML, ndnSIM, Rocketfuel, Mini-NDN or an edge list
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; several files about the same nodes are combined, such as Rocketfuel's weights.intra and
    /// latencies.intra
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// Write the scenario into this file; by default to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The format of the files; by default recognised by content and name
    #[arg(long, value_parser = str::parse::<Format>)]
    #[arg(value_name = "graphml|gml|ndnsim|rocketfuel|weights|latencies|mini-ndn|edge-list")]
    format: Option<Format>,
    /// The rate of links whose rate the file does not state; by default 100Mb/s
    #[arg(long, value_parser = rate)]
    rate: Option<Rate>,
    /// The delay of links whose delay the file does not state: a time, or km/200 for the distance of the ends at 200 km a
    /// millisecond. By default km/200 where nodes have coordinates, and else 10 ms
    #[arg(long, value_parser = str::parse::<Delay>)]
    delay: Option<Delay>,
    /// The queue of links whose queue the file does not state, packets; by default 100
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..))]
    queue: Option<u32>,
    /// A flow, consumer first; may be repeated. By default two sample flows
    #[arg(long = "flow", value_name = "A->B", value_parser = flow)]
    flows: Vec<(String, String)>,
    /// The scheme that the scenario names; by default sluice
    #[arg(long)]
    scheme: Option<String>,
}

fn rate(text: &str) -> Result<Rate, String> {
    let rate: Option<Rate> = text.parse().ok();
    rate.filter(|rate| rate.as_bps() > 0)
        .ok_or_else(|| "write a rate with its unit, such as 1Gb/s".to_owned())
}

fn flow(text: &str) -> Result<(String, String), String> {
    let ends = text.split_once("->").map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned()));
    ends.filter(|(a, b)| !a.is_empty() && !b.is_empty())
        .ok_or_else(|| "write two nodes, consumer first, such as 'A->B'".to_owned())
}

/// Runs the command.
pub fn import(args: &Args) -> Result<(), Failure> {
    let scheme = args.scheme.as_deref().unwrap_or(weir_schemes::OWN);
    weir_schemes::known(scheme)?;
    let mut contents = Vec::new();
    for file in &args.file {
        contents.push(fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?);
    }
    let names: Vec<String> = args.file.iter().map(|file| file.display().to_string()).collect();
    let files: Vec<File<'_>> =
        names.iter().zip(&contents).map(|(name, bytes)| File { name, bytes }).collect();
    let options = Options {
        format: args.format,
        rate: args.rate,
        delay: args.delay,
        queue: args.queue,
        flows: args.flows.clone(),
        scheme: scheme.to_owned(),
    };
    let imported = weir_import::import(&files, &options)?;
    for note in &imported.notes {
        note!("note: {note}");
    }
    match &args.output {
        Some(output) => fs::write(output, &imported.scenario)
            .map_err(|error| format!("{}: {error}", output.display()).into()),
        None => terminal::print(&imported.scenario),
    }
}
