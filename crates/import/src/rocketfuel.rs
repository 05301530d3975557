//! Rocketfuel (N. Spring, R. Mahajan, D. Wetherall, Measuring ISP topologies with Rocketfuel, SIGCOMM 2002):
//! maps of routers (`.cch`), and for backbones the weights and latencies of links (`weights.intra`,
//! `latencies.intra`).

use crate::ImportError;
use crate::attributes::{cost, delay, number};
use crate::topology::{Kind, Reader, Stated};

/// Reads lines `uid @location [+] [bb] (neighbours) [&external] -> <uid> … {-euid} … =name[!] rn`. Lines of
/// external addresses begin with `-`, and are ignored.
pub fn read_map(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let mut edges = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let (at, line) = (at + 1, line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('-') {
            reader.unused("external addresses");
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let uid = words[0];
        if uid.parse::<u32>().is_err() {
            let message =
                format!("`{uid}` is not the number of a router: uid @location … -> <uid> … =name rn");
            return Err(reader.error(at, message));
        }
        let node = reader.node(uid, at)?;
        let location =
            words.get(1).and_then(|word| word.strip_prefix('@')).filter(|l| !matches!(*l, "" | "?" | "T"));
        reader.topology.nodes[node].label =
            location.map(|location| format!("{} {uid}", location.replace('+', " ")));
        for word in words.iter().skip_while(|word| **word != "->") {
            if let Some(other) = word.strip_prefix('<').and_then(|word| word.strip_suffix('>')) {
                edges.push((node, other.to_owned(), at));
            } else if word.starts_with('{') {
                reader.unused("links to external addresses");
            }
        }
    }
    for (node, other, at) in edges {
        match reader.known(&other) {
            // Both routers of a link name it.
            Some(other) => reader.edge([node, other], Kind::OneWay, Stated::default(), at)?,
            None => reader.unused("links to routers without a line"),
        }
    }
    Ok(())
}

/// The meaning of the number on a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Intra {
    /// The weight.
    Weights,
    /// The latency, ms.
    Latencies,
}

/// Reads lines `from to number`, with a separate line for each direction of a link. Places have `+` for
/// blanks.
pub fn read_intra(text: &str, reader: &mut Reader<'_>, what: Intra) -> Result<(), ImportError> {
    for (at, line) in text.lines().enumerate() {
        let (at, words) = (at + 1, line.split_whitespace().collect::<Vec<_>>());
        let (from, to, value) = match words[..] {
            [] => continue,
            [first, ..] if first.starts_with('#') => continue,
            [from, to, value] => (from, to, value),
            _ => return Err(reader.error(at, "a line has two places and a number")),
        };
        let mut stated = Stated::default();
        match what {
            Intra::Weights => stated.cost = number(value).and_then(cost),
            Intra::Latencies => stated.delay = delay(value, Some(1.0)),
        }
        if stated == Stated::default() {
            return Err(reader.error(at, format!("`{value}` is not the number of a link")));
        }
        let ends = [named(from, reader, at)?, named(to, reader, at)?];
        reader.edge(ends, Kind::OneWay, stated, at)?;
    }
    Ok(())
}

fn named(place: &str, reader: &mut Reader<'_>, at: usize) -> Result<usize, ImportError> {
    let node = reader.node(place, at)?;
    if place.contains('+') {
        reader.topology.nodes[node].label = Some(place.replace('+', " "));
    }
    Ok(node)
}
