//! The content of a file: nodes, and links with their stated values.

use std::collections::BTreeMap;

use weir_core::units::{Rate, Span};

use crate::ImportError;

/// The largest number of nodes in a scenario.
const MOST_NODES: usize = 20_000;
const MOST_LINKS: usize = 100_000;
/// The longest name of a node, characters.
const LONGEST_NAME: usize = 200;

/// The nodes and links of the files.
#[derive(Debug, Default)]
pub struct Topology {
    pub nodes: Vec<Node>,
    /// The links; at most one between two nodes.
    pub links: Vec<Link>,
    /// The nodes, by their names in the file.
    by_id: BTreeMap<String, usize>,
    /// The links, by their nodes, the smaller one first.
    by_ends: BTreeMap<(usize, usize), usize>,
    pub loops: usize,
    pub merged: usize,
    /// Parts of the file that could not be used, with their counts.
    pub unused: BTreeMap<String, usize>,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Its name in the file.
    pub id: String,
    /// Its label, if that differs.
    pub label: Option<String>,
    pub place: Option<Place>,
}

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Latitude and longitude, degrees.
    OnEarth(f64, f64),
    /// The coordinates in a drawing: to the right, and down.
    Drawn(f64, f64),
}

/// The stated values of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stated {
    pub rate: Option<Rate>,
    pub delay: Option<Span>,
    pub cost: Option<f64>,
    /// The queue, packets.
    pub queue: Option<u32>,
    /// The loss ratio, 0 to 1.
    pub loss: Option<f64>,
    /// The distance between the ends, km.
    pub distance: Option<f64>,
}

/// A link: the stated values from its first end to its second, and back.
#[derive(Debug)]
pub struct Link {
    pub ends: [usize; 2],
    pub stated: [Stated; 2],
    /// Whether the file has an edge for each direction.
    seen: [bool; 2],
}

/// The relation of an edge of a file to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The edge is both directions.
    Both,
    /// The edge is one direction. The file may have the other one too; otherwise it is the same.
    OneWay,
}

/// Adds the content of one file to a topology.
pub struct Reader<'a> {
    pub file: &'a str,
    pub topology: &'a mut Topology,
    /// The number of links of earlier files, to which this one may add values.
    earlier: usize,
}

impl<'a> Reader<'a> {
    pub fn new(file: &'a str, topology: &'a mut Topology) -> Reader<'a> {
        let earlier = topology.links.len();
        Reader { file, topology, earlier }
    }

    pub fn error(&self, line: usize, message: impl Into<String>) -> ImportError {
        ImportError::at(self.file, line, message.into())
    }

    /// Returns the node with this name, and adds it if it is new.
    pub fn node(&mut self, id: &str, line: usize) -> Result<usize, ImportError> {
        if let Some(known) = self.topology.by_id.get(id) {
            return Ok(*known);
        }
        if id.is_empty() || id.chars().count() > LONGEST_NAME {
            return Err(self.error(line, format!("a node's name has 1 to {LONGEST_NAME} characters")));
        }
        if self.topology.nodes.len() == MOST_NODES {
            return Err(self.error(line, format!("there are more than {MOST_NODES} nodes")));
        }
        let number = self.topology.nodes.len();
        self.topology.nodes.push(Node { id: id.to_owned(), label: None, place: None });
        self.topology.by_id.insert(id.to_owned(), number);
        Ok(number)
    }

    /// Returns the node with this name, if it exists.
    pub fn known(&self, id: &str) -> Option<usize> {
        self.topology.by_id.get(id).copied()
    }

    /// Counts a part of the file that cannot be used.
    pub fn unused(&mut self, what: impl Into<String>) {
        *self.topology.unused.entry(what.into()).or_default() += 1;
    }

    /// Adds an edge. Two edges between the same nodes become one link: their rates are added, and the
    /// smallest delay, cost and queue count.
    pub fn edge(
        &mut self,
        [a, b]: [usize; 2],
        kind: Kind,
        stated: Stated,
        line: usize,
    ) -> Result<(), ImportError> {
        if a == b {
            self.topology.loops += 1;
            return Ok(());
        }
        let key = (a.min(b), a.max(b));
        let Some(&at) = self.topology.by_ends.get(&key) else {
            if self.topology.links.len() == MOST_LINKS {
                return Err(self.error(line, format!("there are more than {MOST_LINKS} links")));
            }
            self.topology.by_ends.insert(key, self.topology.links.len());
            let seen = [true, kind == Kind::Both];
            self.topology.links.push(Link { ends: [a, b], stated: [stated; 2], seen });
            return Ok(());
        };
        let link = &mut self.topology.links[at];
        let there = usize::from(link.ends[0] != a);
        if at < self.earlier {
            let directions = if kind == Kind::Both { 0..2 } else { there..there + 1 };
            directions.for_each(|direction| link.stated[direction].complete(&stated));
            return Ok(());
        }
        if kind == Kind::OneWay && !link.seen[there] {
            link.seen[there] = true;
            link.stated[there] = stated;
            return Ok(());
        }
        self.topology.merged += usize::from(kind == Kind::Both || there == 0);
        let directions = if kind == Kind::Both { 0..2 } else { there..there + 1 };
        directions.for_each(|direction| link.stated[direction].join(&stated));
        Ok(())
    }
}

impl Stated {
    /// Merges the values of a parallel link.
    fn join(&mut self, other: &Stated) {
        let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            _ => a.or(b),
        };
        self.rate = match (self.rate, other.rate) {
            (Some(a), Some(b)) => Some(Rate::from_bps(a.as_bps().saturating_add(b.as_bps()).min(MOST_BPS))),
            (a, b) => a.or(b),
        };
        self.delay = match (self.delay, other.delay) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.queue = self.queue.into_iter().chain(other.queue).min();
        self.cost = least(self.cost, other.cost);
        self.loss = least(self.loss, other.loss);
        self.distance = least(self.distance, other.distance);
    }

    /// Adds values that were not stated before.
    fn complete(&mut self, other: &Stated) {
        self.rate = self.rate.or(other.rate);
        self.delay = self.delay.or(other.delay);
        self.cost = self.cost.or(other.cost);
        self.queue = self.queue.or(other.queue);
        self.loss = self.loss.or(other.loss);
        self.distance = self.distance.or(other.distance);
    }
}

/// The largest rate that is accepted, 100 Tb/s.
pub const MOST_BPS: u64 = 100_000_000_000_000;

impl Topology {
    /// Returns the connected parts, the largest first, each with its nodes in order.
    pub fn parts(&self) -> Vec<Vec<usize>> {
        let neighbours = self.neighbours();
        let mut seen = vec![false; self.nodes.len()];
        let mut parts = Vec::new();
        for start in 0..self.nodes.len() {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            let mut part = vec![start];
            let mut next = 0;
            while let Some(&at) = part.get(next) {
                next += 1;
                for &to in &neighbours[at] {
                    if !std::mem::replace(&mut seen[to], true) {
                        part.push(to);
                    }
                }
            }
            part.sort_unstable();
            parts.push(part);
        }
        parts.sort_by_key(|part| (std::cmp::Reverse(part.len()), part[0]));
        parts
    }

    pub fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.nodes.len()];
        for Link { ends: [a, b], .. } in &self.links {
            neighbours[*a].push(*b);
            neighbours[*b].push(*a);
        }
        neighbours
    }
}
