//! A trace of a run as a file: one row for each event, written while the run goes on. It keeps one row group in memory.

use crate::schema::{SCHEMA, TRACE, TRACE_METADATA};
use crate::study_tables::{TableFiles, Value};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use weir_core::packet::{Kind, Packet};
use weir_core::units::{Span, Time};
use weir_measure::{Trace, TraceEvent, TraceWhat};
use weir_packet::{Name, NameRef};

/// Selects the events of a trace.
#[derive(Clone, Debug, Default)]
pub struct TraceFilter {
    /// Nodes, by index; empty: all.
    pub nodes: Vec<u32>,
    /// Prefixes of names; empty: all.
    pub prefixes: Vec<Name>,
    /// Intervals of time, from and to; empty: all.
    pub times: Vec<(Span, Span)>,
}

impl TraceFilter {
    fn takes(&self, event: &TraceEvent<'_>) -> bool {
        let at = event.at - Time::ZERO;
        let is_below = |prefix: &Name| event.packet.name.wire().starts_with(prefix.value());
        (self.nodes.is_empty() || self.nodes.contains(&event.node))
            && (self.times.is_empty() || self.times.iter().any(|(from, to)| (*from..*to).contains(&at)))
            && (self.prefixes.is_empty() || self.prefixes.iter().any(is_below))
    }
}

/// Names that replace numbers in the rows of a trace.
#[derive(Clone, Debug, Default)]
pub struct TraceNames {
    /// Names of nodes, in the scenario's order.
    pub nodes: Vec<String>,
    /// Signals: the type number and the name of each.
    pub signals: Vec<(u32, &'static str)>,
}

/// A trace file that is being written.
pub struct TraceFile {
    path: PathBuf,
    filter: TraceFilter,
    nodes: Vec<Value>,
    signals: Vec<(u32, &'static str)>,
    /// `None` after an error or the end.
    to: Option<TableFiles>,
    failure: Option<String>,
}

impl TraceFile {
    /// Begins the file: CSV if its name ends in `.csv`, otherwise Parquet. `run` is the command of the run.
    ///
    /// # Errors
    /// Returns a description if the file cannot be written.
    pub fn create(
        path: &Path,
        filter: TraceFilter,
        names: TraceNames,
        run: &str,
    ) -> Result<TraceFile, String> {
        let values = [SCHEMA.to_string(), run.to_owned(), env!("CARGO_PKG_VERSION").to_owned()];
        let metadata = TRACE_METADATA.iter().zip(values).map(|((key, _), value)| (*key, value)).collect();
        let to = TableFiles::create_one(path, TRACE.name, TRACE.columns.to_vec(), metadata);
        let to = Some(to.map_err(|error| error.to_string())?);
        let nodes = names.nodes.iter().map(|name| Value::from(name.as_str())).collect();
        Ok(TraceFile { path: path.to_owned(), filter, nodes, signals: names.signals, to, failure: None })
    }

    fn row(&self, event: &TraceEvent<'_>) -> Vec<Value> {
        let TraceEvent { at, node, neighbour, what, packet } = *event;
        let node_name = |node: u32| self.nodes.get(node as usize).cloned().unwrap_or(Value::Null);
        let is_timeout = matches!(what, TraceWhat::Timeout { .. });
        let (wait_ms, reason, count) = match what {
            TraceWhat::Send { waited } => (Some(waited.as_millis_f64()), None, 1),
            TraceWhat::Drop(reason) => (None, Some(reason.words()), 1),
            TraceWhat::Timeout { interests } => (None, None, interests),
            _ => (None, None, 1),
        };
        let kind = match packet.kind {
            Kind::Interest => "Interest",
            Kind::Data => "Data",
            Kind::Nack => "Nack",
        };
        // Names of the simulator are well formed.
        let name = NameRef::from_value(packet.name.wire()).map(|name| name.to_string()).unwrap_or_default();
        vec![
            Value::from((at - Time::ZERO).as_secs_f64()),
            node_name(node),
            neighbour.map_or(Value::Null, node_name),
            Value::from(what.name()),
            Value::from(kind),
            Value::from(name.as_str()),
            Value::from((!is_timeout).then(|| packet.class().name())),
            Value::from((!is_timeout).then(|| packet.wire_len())),
            Value::from(wait_ms),
            Value::from(self.signals(packet).as_deref()),
            Value::from(reason),
            Value::from(count),
        ]
    }

    /// The signals of a packet as text: `NAME=VALUE`, separated by blanks.
    fn signals(&self, packet: &Packet) -> Option<String> {
        let header = packet.header();
        let mut text = String::new();
        for (number, value) in header.signals.iter() {
            let known = self.signals.iter().find(|(known, _)| *known == number);
            // Writing to a String cannot fail.
            let _ = match known {
                Some((_, name)) => write!(text, " {name}={value}"),
                None => write!(text, " {number}={value}"),
            };
        }
        if header.congestion_mark > 0 {
            let _ = write!(text, " CongestionMark={}", header.congestion_mark);
        }
        (!text.is_empty()).then(|| text.split_off(1))
    }
}

impl Trace for TraceFile {
    fn on_event(&mut self, event: &TraceEvent<'_>) {
        if !self.filter.takes(event) || self.to.is_none() {
            return;
        }
        let row = self.row(event);
        if let Some(Err(error)) = self.to.as_mut().map(|to| to.push(row)) {
            self.failure = Some(error.to_string());
            self.to = None;
        }
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.clone()
    }

    fn finish(&mut self) -> Result<(), String> {
        match (self.failure.take(), self.to.take()) {
            (Some(failure), _) => Err(failure),
            (None, Some(to)) => to.finish().map_err(|error| error.to_string()),
            (None, None) => Ok(()),
        }
    }
}

impl std::fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceFile").field("path", &self.path).finish_non_exhaustive()
    }
}
