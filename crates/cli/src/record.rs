//! Recordings of single packets by `weir run`: a trace of events, and captures of links.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use weir_core::packet::wire::encode_frame;
use weir_core::units::Time;
use weir_measure::{Trace, TraceEvent, TraceWhat};
use weir_net::pcapng;
use weir_packet::Name;
use weir_results::{TraceFile, TraceFilter, TraceNames};
use weir_scenario::{Scenario, nearest};

use crate::Failure;

/// Options for recording single packets.
#[derive(Debug, clap::Args)]
pub struct Record {
    /// Write a row for each event of each packet (sent, received, dropped, …) to this file, as Parquet, or as CSV if its
    /// name ends in .csv; one seed only
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Trace only events at this node; may be repeated
    #[arg(long, value_name = "NODE", requires = "trace")]
    trace_node: Vec<String>,
    /// Trace only packets whose names are below this prefix; may be repeated
    #[arg(long, value_name = "PREFIX", requires = "trace")]
    trace_prefix: Vec<String>,
    /// Trace only this part of the run, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long, value_name = "A:B", requires = "trace", allow_hyphen_values = true)]
    trace_time: Vec<String>,
    /// Write the packets of a link, as they are on the wire, to a file for Wireshark (pcapng): R1-R2=FILE for both directions,
    /// `R1->R2=FILE` for one; may be repeated; one seed only
    #[arg(long, value_name = "LINK=FILE")]
    pcap: Vec<String>,
}

impl Record {
    /// Returns whether anything is recorded.
    pub fn is_wanted(&self) -> bool {
        self.trace.is_some() || !self.pcap.is_empty()
    }

    /// Creates the files. `run` is the command of the run.
    ///
    /// # Errors
    /// Returns an error for an invalid node, link, prefix, time or file.
    pub fn begin(&self, scenario: &Scenario, run: &str) -> Result<Box<dyn Trace>, Failure> {
        let mut all: Vec<Box<dyn Trace>> = Vec::new();
        // All options are checked before any file is created.
        let filter = self.filter(scenario)?;
        let links =
            self.pcap.iter().map(|text| captured(text, scenario)).collect::<Result<Vec<_>, Failure>>()?;
        let mut files: Vec<&Path> =
            self.trace.iter().chain(links.iter().map(|(_, file)| file)).map(PathBuf::as_path).collect();
        files.sort_unstable();
        if let Some(twice) = files.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("{} is named for two files", twice[0].display()).into());
        }
        if let Some(file) = &self.trace {
            let signals = weir_schemes::registry::signals().into_iter().map(|(signal, _)| signal);
            let names = TraceNames {
                nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
                signals: signals.map(|signal| (signal.type_number(), signal.name)).collect(),
            };
            all.push(Box::new(TraceFile::create(file, filter, names, run)?));
        }
        for (link, file) in links {
            all.push(Box::new(Capture::create(&file, link, scenario)?));
        }
        Ok(Box::new(Several(all)))
    }

    fn filter(&self, scenario: &Scenario) -> Result<TraceFilter, Failure> {
        if let Some(file) = &self.trace {
            let known = file.extension().is_some_and(|known| known == "csv" || known == "parquet");
            if !known {
                let file = file.display();
                return Err(format!("--trace {file}: the name of the file ends in .parquet or .csv").into());
            }
        }
        let node = |name: &String| {
            let at = scenario.nodes.iter().position(|node| node.name == *name);
            at.map(|at| at as u32).ok_or_else(|| {
                no_such(
                    &format!("--trace-node {name}: there is no node"),
                    name,
                    scenario.nodes.iter().map(|node| node.name.clone()),
                )
            })
        };
        let prefix =
            |text: &String| text.parse::<Name>().map_err(|error| format!("--trace-prefix {text}: {error}"));
        let time = |text: &String| {
            weir_study::window(text).map_err(|error| error.to_string().replace("--window", "--trace-time"))
        };
        Ok(TraceFilter {
            nodes: self.trace_node.iter().map(node).collect::<Result<_, _>>()?,
            prefixes: self.trace_prefix.iter().map(prefix).collect::<Result<_, _>>()?,
            times: self.trace_time.iter().map(time).collect::<Result<_, _>>()?,
        })
    }
}

/// An error message with the name that was probably meant.
fn no_such(message: &str, name: &str, known: impl Iterator<Item = String>) -> String {
    let known: Vec<String> = known.collect();
    let meant = nearest(name, known.iter().map(String::as_str));
    match meant {
        Some(meant) => format!("{message}; did you mean `{meant}`?"),
        None if known.len() <= 20 => format!("{message}\n  = there are: {}", known.join(", ")),
        None => format!("{message}\n  = see `weir list SCENARIO`"),
    }
}

/// The directions of a captured link, each from one node to another, and the file.
type Captured = (Vec<(u32, u32)>, PathBuf);

fn captured(text: &str, scenario: &Scenario) -> Result<Captured, Failure> {
    let Some((link, file)) = text.split_once('=').filter(|(_, file)| !file.is_empty()) else {
        return Err(format!("--pcap {text}: give a link and a file, such as R1-R2=r1-r2.pcapng").into());
    };
    let name = |node: weir_scenario::NodeId| scenario.nodes[node.index()].name.as_str();
    for one in &scenario.links {
        let ends = [(one.a, one.b), (one.b, one.a)];
        for (from, to) in ends {
            let there = (from.index() as u32, to.index() as u32);
            if link == format!("{}->{}", name(from), name(to)) {
                return Ok((vec![there], file.into()));
            }
            if link == format!("{}-{}", name(from), name(to)) {
                return Ok((vec![there, (there.1, there.0)], file.into()));
            }
        }
    }
    let known = scenario.links.iter().map(|one| format!("{}-{}", name(one.a), name(one.b)));
    Err(no_such(&format!("--pcap {text}: there is no link `{link}`"), link, known).into())
}

/// Passes the events on to several traces.
struct Several(Vec<Box<dyn Trace>>);

impl Trace for Several {
    fn on_event(&mut self, event: &TraceEvent<'_>) {
        self.0.iter_mut().for_each(|one| one.on_event(event));
    }

    fn failure(&mut self) -> Option<String> {
        self.0.iter_mut().find_map(|one| one.failure())
    }

    fn finish(&mut self) -> Result<(), String> {
        self.0.iter_mut().try_for_each(|one| one.finish())
    }
}

/// Captures the packets of a link to a file. The interface is the link. Times are those of the simulation, from 1970
/// on. The content and the signature of Data are zeros, as everywhere in the simulator.
struct Capture {
    path: PathBuf,
    directions: Vec<(u32, u32)>,
    to: Option<BufWriter<File>>,
    frame: Vec<u8>,
    block: Vec<u8>,
    failure: Option<String>,
}

impl Capture {
    fn create(path: &Path, directions: Vec<(u32, u32)>, scenario: &Scenario) -> Result<Capture, String> {
        let file = File::create(path).map_err(|error| cannot_write(path, &error))?;
        let name = |node: u32| &scenario.nodes[node as usize].name;
        let (from, to) = directions[0];
        let mut block = Vec::new();
        pcapng::section(&mut block, &format!("weir {}", weir_study::VERSION));
        pcapng::interface(&mut block, &format!("{}-{}", name(from), name(to)));
        let mut capture = Capture {
            path: path.to_owned(),
            directions,
            to: Some(BufWriter::new(file)),
            frame: Vec::new(),
            block,
            failure: None,
        };
        capture.write();
        capture.failure.map_or(Ok(()), Err)?;
        Ok(Capture { failure: None, ..capture })
    }

    /// Writes the buffered block.
    fn write(&mut self) {
        let Some(to) = &mut self.to else { return };
        if let Err(error) = to.write_all(&self.block) {
            self.fail(&error);
        }
    }

    fn fail(&mut self, error: &std::io::Error) {
        self.failure = Some(cannot_write(&self.path, error));
        self.to = None;
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

/// A locally administered address for a node.
fn address(node: u32) -> [u8; 6] {
    let [a, b, c, d] = node.to_be_bytes();
    [2, 0, a, b, c, d]
}

impl Trace for Capture {
    fn on_event(&mut self, event: &TraceEvent<'_>) {
        let TraceEvent { at, node, neighbour: Some(neighbour), what: TraceWhat::Send { .. }, packet } =
            *event
        else {
            return;
        };
        if !self.directions.contains(&(node, neighbour)) || self.to.is_none() {
            return;
        }
        self.frame.clear();
        if encode_frame(packet, &mut self.frame).is_err() {
            // All names of a scenario have been checked.
            return;
        }
        self.block.clear();
        let direction = if self.directions[0] == (node, neighbour) { SENT } else { RECEIVED };
        let addresses = [address(neighbour), address(node)];
        let unix_ns = (at - Time::ZERO).as_nanos();
        pcapng::frame(&mut self.block, 0, unix_ns, addresses, direction, &self.frame);
        self.write();
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.clone()
    }

    fn finish(&mut self) -> Result<(), String> {
        if let Some(Err(error)) = self.to.as_mut().map(BufWriter::flush) {
            self.fail(&error);
        }
        self.to = None;
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// Directions as seen by the link's first end.
const RECEIVED: u32 = 1;
const SENT: u32 = 2;
