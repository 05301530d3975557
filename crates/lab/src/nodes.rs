//! What the forwarders say of themselves during a run.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use weir_core::seam::DropReason;
use weir_measure::{Dropped, DroppedByReason, NodeState};

use crate::namespace::Namespace;

/// A forwarder at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFigures {
    /// Its tables.
    pub state: NodeState,
    /// What it dropped so far.
    pub drops: DroppedByReason,
    /// Datagrams that found no room in its sockets.
    pub lost_datagrams: u64,
}

/// How long a forwarder may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the forwarder of a namespace.
///
/// # Errors
/// It does not answer.
pub fn ask(namespace: &Namespace, at: (Ipv4Addr, u16)) -> io::Result<NodeFigures> {
    namespace.within(|| {
        let mut stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n")?;
        let mut text = String::new();
        stream.take(16 << 20).read_to_string(&mut text)?;
        Ok(read(&text))
    })
}

/// The figures in a text of metrics. What is not there is zero: other software has none of them.
fn read(text: &str) -> NodeFigures {
    let mut figures = NodeFigures::default();
    for line in text.lines() {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        let value = value as u64;
        let state = &mut figures.state;
        match name {
            "weir_pit_entries" => (state.pending, state.most_pending) = (value, value),
            "weir_cs_packets" => state.cached = value,
            "weir_cs_hits_total" => state.cache.hits = value,
            "weir_cs_misses_total" => state.cache.misses = value,
            "weir_cs_insertions_total" => state.cache.insertions = value,
            "weir_cs_evictions_total" => state.cache.evictions = value,
            "weir_lost_datagrams_total" => figures.lost_datagrams = value,
            _ => read_drop(name, value, &mut figures.drops),
        }
    }
    figures
}

fn read_drop(name: &str, value: u64, drops: &mut DroppedByReason) {
    let Some(labels) = name.strip_prefix("weir_dropped_packets_total{") else { return };
    let label = |key: &str| labels.split_once(key)?.1.split_once('"').map(|(value, _)| value);
    let Some(reason) =
        label("reason=\"").and_then(|words| DropReason::ALL.into_iter().find(|r| r.words() == words))
    else {
        return;
    };
    let dropped = &mut drops[reason as usize];
    match label("kind=\"") {
        Some("data") => dropped.data = value,
        _ => dropped.interests = value,
    }
}

/// What changed from one moment to a later one.
pub fn since(before: &NodeFigures, now: &NodeFigures) -> DroppedByReason {
    let mut drops = now.drops;
    for (drop, before) in drops.iter_mut().zip(&before.drops) {
        // A forwarder that was started again counts from 0.
        *drop = Dropped {
            data: drop.data.saturating_sub(before.data),
            interests: drop.interests.saturating_sub(before.interests),
        };
    }
    drops
}
