//! Figures of the forwarders during a run, from their metrics.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use weir_core::seam::DropReason;
use weir_core::units::Span;
use weir_measure::{Dropped, DroppedByReason, NodeState};

use crate::namespace::Namespace;

/// Figures of a forwarder at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeFigures {
    /// Start time, s since 1970; 0 if not polled yet.
    pub started: f64,
    /// State of its tables.
    pub state: NodeState,
    /// Packets dropped so far.
    pub drops: DroppedByReason,
    /// Datagrams that found no room in its sockets.
    pub lost_datagrams: u64,
    /// Its faces, by the neighbour's address.
    pub faces: BTreeMap<Ipv4Addr, FaceFigures>,
}

/// Figures of a face since the forwarder's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaceFigures {
    /// Dropped outgoing packets.
    pub dropped: u64,
    /// Upper bounds of the queueing-delay histogram, s, and the number of packets with at most this delay.
    pub waits: Vec<(f64, u64)>,
    /// Sum of all queueing delays, s.
    pub waited: f64,
}

impl FaceFigures {
    /// The queueing delays since an earlier time, each with its number of packets. A bucket is represented by its
    /// middle, scaled so that the sum is right.
    pub fn waits_since(&self, before: &FaceFigures) -> Vec<(Span, u64)> {
        let was = |at: usize| before.waits.get(at).map_or(0, |(_, count)| *count);
        let (mut below, mut lower, mut buckets) = (0, 0.0, Vec::new());
        for (at, (upper, count)) in self.waits.iter().enumerate() {
            let up_to = count.saturating_sub(was(at));
            let middle = if upper.is_finite() { (lower + upper) / 2.0 } else { lower * 1.5 };
            buckets.push((middle, up_to.saturating_sub(below)));
            (below, lower) = (up_to, *upper);
        }
        let sum: f64 = buckets.iter().map(|(middle, count)| middle * *count as f64).sum();
        let factor = if sum > 0.0 { (self.waited - before.waited).max(0.0) / sum } else { 0.0 };
        let some = buckets.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(middle, count)| (Span::from_nanos((1e9 * middle * factor) as u64), count)).collect()
    }
}

impl NodeFigures {
    /// Returns whether the forwarder was restarted after an earlier time. Then it counts from 0.
    pub fn is_restarted(&self, before: &NodeFigures) -> bool {
        // The start time is computed from two clocks, so it may differ by some milliseconds.
        before.started > 0.0 && self.started - before.started > 0.1
    }
}

/// Maximum time for a forwarder's answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Polls the forwarder of a namespace.
///
/// # Errors
/// Returns an error if it does not answer.
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

/// Parses metrics. A missing figure is 0: foreign software has none.
fn read(text: &str) -> NodeFigures {
    let mut figures = NodeFigures::default();
    for line in text.lines() {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let Ok(number) = value.parse::<f64>() else { continue };
        let value = number as u64;
        let state = &mut figures.state;
        match name {
            "weir_start_time_seconds" => figures.started = number,
            "weir_pit_entries" => (state.pending, state.most_pending) = (value, value),
            "weir_cs_packets" => state.cached = value,
            "weir_cs_hits_total" => state.cache.hits = value,
            "weir_cs_misses_total" => state.cache.misses = value,
            "weir_cs_insertions_total" => state.cache.insertions = value,
            "weir_cs_evictions_total" => state.cache.evictions = value,
            "weir_lost_datagrams_total" => figures.lost_datagrams = value,
            _ if name.starts_with("weir_face_") => read_face(name, number, &mut figures.faces),
            _ => read_drop(name, value, &mut figures.drops),
        }
    }
    figures
}

/// The value of a label.
fn label<'a>(labels: &'a str, key: &str) -> Option<&'a str> {
    labels.split_once(key)?.1.split_once('"').map(|(value, _)| value)
}

fn read_face(name: &str, value: f64, faces: &mut BTreeMap<Ipv4Addr, FaceFigures>) {
    let Some((name, labels)) = name.split_once('{') else { return };
    let remote = label(labels, "remote=\"udp4://").and_then(|remote| remote.split_once(':'));
    let Some(Ok(neighbour)) = remote.map(|(address, _)| address.parse()) else { return };
    let face = faces.entry(neighbour).or_default();
    match name {
        "weir_face_dropped_packets_total" => face.dropped = value as u64,
        "weir_face_queue_delay_seconds_sum" => face.waited = value,
        "weir_face_queue_delay_seconds_bucket" => {
            let bound = label(labels, "le=\"").and_then(|bound| match bound {
                "+Inf" => Some(f64::INFINITY),
                bound => bound.parse().ok(),
            });
            face.waits.extend(bound.map(|bound| (bound, value as u64)));
        }
        _ => {}
    }
}

fn read_drop(name: &str, value: u64, drops: &mut DroppedByReason) {
    let Some(labels) = name.strip_prefix("weir_dropped_packets_total{") else { return };
    let Some(reason) =
        label(labels, "reason=\"").and_then(|words| DropReason::ALL.into_iter().find(|r| r.words() == words))
    else {
        return;
    };
    let dropped = &mut drops[reason as usize];
    match label(labels, "kind=\"") {
        Some("data") => dropped.data = value,
        _ => dropped.interests = value,
    }
}

/// The difference between two times.
pub fn since(before: &NodeFigures, now: &NodeFigures) -> DroppedByReason {
    let mut drops = now.drops;
    for (drop, before) in drops.iter_mut().zip(&before.drops) {
        // A restarted forwarder counts from 0.
        *drop = Dropped {
            data: drop.data.saturating_sub(before.data),
            interests: drop.interests.saturating_sub(before.interests),
        };
    }
    drops
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "\
weir_pit_entries 4
weir_cs_hits_total 7
weir_dropped_packets_total{reason=\"link queue full\",kind=\"data\"} 3
weir_dropped_packets_total{reason=\"link queue full\",kind=\"interest\"} 1
weir_face_dropped_packets_total{face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 4
weir_face_queue_delay_seconds_sum{face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 0.5
weir_face_queue_delay_seconds_bucket{le=\"0.1\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 10
weir_face_queue_delay_seconds_bucket{le=\"0.2\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 10
weir_face_queue_delay_seconds_bucket{le=\"+Inf\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 10
# EOF
";

    #[test]
    fn the_figures_of_a_forwarder_are_read_from_its_metrics() {
        let figures = read(FIRST);
        assert_eq!((figures.state.pending, figures.state.cache.hits), (4, 7));
        let full = figures.drops[DropReason::QueueFull as usize];
        assert_eq!(full, Dropped { data: 3, interests: 1 });
        let face = &figures.faces[&Ipv4Addr::new(10, 0, 0, 2)];
        assert_eq!((face.dropped, face.waited, face.waits.len()), (4, 0.5, 3));
    }

    #[test]
    fn queueing_delays_since_an_earlier_moment_have_their_count_and_sum() {
        let later = FIRST
            .replace(" 0.5\n", " 1.1\n")
            .replace(
                "\"0.2\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 10",
                "\"0.2\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 14",
            )
            .replace(
                "+Inf\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 10",
                "+Inf\",face=\"257\",remote=\"udp4://10.0.0.2:6363\"} 14",
            );
        let (before, now) = (read(FIRST), read(&later));
        let neighbour = Ipv4Addr::new(10, 0, 0, 2);
        let waits = now.faces[&neighbour].waits_since(&before.faces[&neighbour]);
        assert_eq!(waits, [(Span::from_millis(150), 4)]);
    }

    #[test]
    fn a_forwarder_that_says_another_millisecond_was_not_started_again() {
        let at = |started| NodeFigures { started, ..NodeFigures::default() };
        assert!(!at(1.001).is_restarted(&at(1.0)) && !at(0.999).is_restarted(&at(1.0)));
        assert!(!at(5.0).is_restarted(&at(0.0)), "a first answer is no restart");
        assert!(at(1.5).is_restarted(&at(1.0)));
    }

    #[test]
    fn a_forwarder_that_was_started_again_has_dropped_nothing_less() {
        let now = NodeFigures::default();
        assert_eq!(since(&read(FIRST), &now), DroppedByReason::default());
    }
}
