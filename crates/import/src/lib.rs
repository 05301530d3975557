//! Converts topology files of other programs to readable scenarios.
//!
//! One module for each format parses a file into a `Topology`, and `write` converts that to the text of a
//! scenario. Nothing here opens a file or trusts one: an error has the file and the line, sizes are bounded,
//! and no input causes a panic.
//!
//! ```
//! use weir_import::{File, Options, import};
//!
//! let file = File { name: "net.conf", bytes: b"[nodes]\na: _\nb: _\n[links]\na:b delay=10ms bw=100\n" };
//! let imported = import(&[file], &Options::new("fixed"))?;
//! assert!(imported.scenario.contains("rate = \"100 Mb/s\""));
//! # Ok::<(), weir_import::ImportError>(())
//! ```

mod attributes;
mod edge_list;
mod error;
mod gml;
mod graphml;
mod mini_ndn;
mod ndnsim;
mod rocketfuel;
mod topology;
mod write;

use std::fmt;
use std::str::FromStr;

use weir_core::units::{Rate, Span};

pub use error::ImportError;
use topology::{Reader, Topology};

/// A file to import.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// Its name, with or without folders.
    pub name: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// A format of topologies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GraphML, as written by Topology Zoo and networkx.
    GraphMl,
    /// GML, as written by Topology Zoo and networkx.
    Gml,
    /// ndnSIM's annotated topologies, with the sections `router` and `link`.
    NdnSim,
    /// Rocketfuel's maps, `.cch`.
    Rocketfuel,
    /// Rocketfuel's `weights.intra`: the weights of links.
    Weights,
    /// Rocketfuel's `latencies.intra`: the latencies of links, ms.
    Latencies,
    /// Mini-NDN's `.conf`, with the sections `[nodes]` and `[links]`.
    MiniNdn,
    /// Two nodes on a line, separated by blanks, `|` or commas: CAIDA's relationships, CSV, and the like.
    EdgeList,
}

impl Format {
    /// Every format with its name for `--format`.
    pub const ALL: [(Format, &'static str); 8] = [
        (Format::GraphMl, "graphml"),
        (Format::Gml, "gml"),
        (Format::NdnSim, "ndnsim"),
        (Format::Rocketfuel, "rocketfuel"),
        (Format::Weights, "weights"),
        (Format::Latencies, "latencies"),
        (Format::MiniNdn, "mini-ndn"),
        (Format::EdgeList, "edge-list"),
    ];

    /// Recognises the format by the content of a file, and by its name if several formats have such content.
    pub fn of(name: &str, text: &str) -> Format {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let ends = |end: &str| name.ends_with(end);
        if ends("weights.intra") {
            return Format::Weights;
        }
        if ends("latencies.intra") {
            return Format::Latencies;
        }
        let is_said = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let mut lines = text.lines().map(str::trim).filter(is_said);
        let first = lines.next().unwrap_or("");
        if first.trim_start_matches('\u{feff}').starts_with('<') {
            return Format::GraphMl;
        }
        let words: Vec<&str> = first.split_whitespace().collect();
        if matches!(words[..], ["graph", ..] | ["Creator", ..] | ["Version", ..] | ["comment", ..])
            || (ends(".gml") && !words.is_empty())
        {
            return Format::Gml;
        }
        if first.starts_with('[') {
            return Format::MiniNdn;
        }
        if words == ["router"] || words == ["link"] {
            return Format::NdnSim;
        }
        if ends(".cch") || (first.contains("->") && first.contains('=')) {
            return Format::Rocketfuel;
        }
        Format::EdgeList
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }

    /// Returns its full name.
    fn title(self) -> &'static str {
        match self {
            Format::GraphMl => "GraphML",
            Format::Gml => "GML",
            Format::NdnSim => "ndnSIM topology",
            Format::Rocketfuel => "Rocketfuel map",
            Format::Weights => "Rocketfuel weights",
            Format::Latencies => "Rocketfuel latencies",
            Format::MiniNdn => "Mini-NDN topology",
            Format::EdgeList => "edge list",
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text).map(|(format, _)| *format);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("there is no format `{text}`; formats: {}", names.join(", "))
        })
    }
}

/// The delay of links without a stated delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// The same delay for all.
    Each(Span),
    /// The distance of the ends in a straight line on the earth, divided by this speed, km/ms.
    Distance(f64),
}

impl FromStr for Delay {
    type Err = String;

    fn from_str(text: &str) -> Result<Delay, String> {
        if let Some(speed) = text.strip_prefix("km/") {
            return match speed.trim().parse() {
                Ok(speed) if (1.0..=300.0).contains(&speed) => Ok(Delay::Distance(speed)),
                _ => Err(format!("`{text}` is not km/200: 1 to 300 km a millisecond")),
            };
        }
        text.parse()
            .map(Delay::Each)
            .map_err(|_| format!("`{text}` is not a time such as \"10 ms\", nor km/200"))
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Each(span) => span.fmt(f),
            Delay::Distance(speed) => write!(f, "km/{speed}"),
        }
    }
}

/// The values that a file does not state.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scheme of the scenario.
    pub scheme: String,
    /// The format of all files; `None`: it is recognised.
    pub format: Option<Format>,
    /// The rate of links without a stated rate; 100 Mb/s if `None`.
    pub rate: Option<Rate>,
    /// The delay of links without a stated delay. If `None`, it is [`Delay::Distance`] at 200 km/ms if nodes
    /// have coordinates, and else 10 ms.
    pub delay: Option<Delay>,
    /// The queues of links without a stated queue, packets; 100 if `None`.
    pub queue: Option<u32>,
    /// The consumers and producers, by their names in the file or in the scenario; two sample flows if empty.
    pub flows: Vec<(String, String)>,
}

impl Options {
    /// Returns options with only the scheme set.
    pub fn new(scheme: &str) -> Options {
        let scheme = scheme.to_owned();
        Options { scheme, format: None, rate: None, delay: None, queue: None, flows: Vec::new() }
    }
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The text of the scenario.
    pub scenario: String,
    /// Differences from the file and missing values, a line each.
    pub notes: Vec<String>,
}

/// The largest size of a file, bytes.
const MOST_BYTES: usize = 64 << 20;

/// Makes a scenario of one file, or of several about the same nodes, such as Rocketfuel's weights and
/// latencies.
///
/// # Errors
/// Returns an error if a file does not have its format or is too large, or if a flow has nodes that do not
/// exist.
pub fn import(files: &[File<'_>], options: &Options) -> Result<Imported, ImportError> {
    let mut topology = Topology::default();
    let mut sources = Vec::new();
    for file in files {
        if file.bytes.len() > MOST_BYTES {
            return Err(ImportError::of_file(file.name, format!("more than {} MB", MOST_BYTES >> 20)));
        }
        // Old files are in Latin-1.
        let text = match std::str::from_utf8(file.bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => file.bytes.iter().map(|byte| char::from(*byte)).collect(),
        };
        let format = options.format.unwrap_or_else(|| Format::of(file.name, &text));
        let mut reader = Reader::new(file.name, &mut topology);
        match format {
            Format::GraphMl => graphml::read(&text, &mut reader)?,
            Format::Gml => gml::read(&text, &mut reader)?,
            Format::NdnSim => ndnsim::read(&text, &mut reader)?,
            Format::Rocketfuel => rocketfuel::read_map(&text, &mut reader)?,
            Format::Weights => rocketfuel::read_intra(&text, &mut reader, rocketfuel::Intra::Weights)?,
            Format::Latencies => rocketfuel::read_intra(&text, &mut reader, rocketfuel::Intra::Latencies)?,
            Format::MiniNdn => mini_ndn::read(&text, &mut reader)?,
            Format::EdgeList => edge_list::read(&text, &mut reader)?,
        }
        sources.push((file.name.rsplit('/').next().unwrap_or(file.name).to_owned(), format.title()));
    }
    if topology.links.is_empty() {
        let file = files.first().map_or("", |file| file.name);
        return Err(ImportError::of_file(file, "there is no link between two nodes".to_owned()));
    }
    write::write(topology, &sources, options)
}
