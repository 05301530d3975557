//! The forwarder's metrics: a [`Snapshot`], taken on demand, as OpenMetrics text for Prometheus and as an
//! [`Overview`](weir_management::overview::Overview) for a status page; the paths of these ([`Document`]); and the
//! sockets that serve them ([`Server`]).
//!
//! Only [`Delays::add`] and the counters of [`ByClass`] run for each packet.

mod classes;
mod document;
mod overview;
mod page;
pub mod reference;
mod server;
#[cfg(test)]
mod tests;

use core::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use weir_core::node::CacheCounters;
use weir_core::seam::DropReason;
use weir_core::units::Span;
use weir_packet::ServiceClass;

pub use classes::{ByClass, ClassCounters};
pub use document::Document;
pub use overview::MAX_ROUTES;
pub use page::page;
pub use server::Server;

use weir_management::status::{CsInfo, FaceCounters, FaceNumber, FaceStatus, GeneralStatus};

/// Largest number of faces with their own time series, because peers create faces. The sum of all further faces is the face
/// `others`.
pub const MAX_FACES: usize = 512;

/// The state of the forwarder at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The forwarder as a whole.
    pub general: GeneralStatus,
    /// Interests evicted from a full PIT.
    pub evicted_interests: u64,
    /// How often strategies stopped using a next hop because it did not answer and another one did.
    pub left_next_hops: u64,
    /// Use and settings of the content store.
    pub cs: CsInfo,
    /// Counters of the content stores.
    pub cache: CacheCounters,
    /// Its faces, by ascending number.
    pub faces: Vec<FaceStatus>,
    /// Queueing delays of each face with a rate, with the face's number and remote URI.
    pub face_delays: Vec<(FaceNumber, String, Delays)>,
    /// Counters by service class of each face, with the face's number and remote URI.
    pub face_classes: Vec<(FaceNumber, String, ByClass)>,
    /// Dropped packets in the order of [`DropReason::ALL`]: Data, and all other packets.
    pub drops: [[u64; 2]; DropReason::ALL.len()],
    /// Queueing delays of all faces with a rate, by class; empty without measurements.
    pub delays: Vec<(ServiceClass, Delays)>,
    /// Counters by service class of all faces since the start.
    pub classes: ByClass,
}

/// A histogram of queueing delays. The upper bounds are 15.6 us, twice that, and so on to 1 s, and then no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    counts: [u64; Delays::BOUNDS + 1],
    sum_ns: u64,
}

impl Delays {
    const BOUNDS: usize = 17;
    /// The first bound: 1 s, halved for each further bound.
    const FIRST_NS: u64 = 1_000_000_000 >> (Delays::BOUNDS - 1);

    /// Adds the queueing delay of a packet.
    #[inline]
    pub fn add(&mut self, queued: Span) {
        let ns = queued.as_nanos();
        let at = (0..Delays::BOUNDS).find(|at| ns <= Delays::bound_ns(*at)).unwrap_or(Delays::BOUNDS);
        self.counts[at] += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    /// Number of packets.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all delays, s.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    const fn bound_ns(at: usize) -> u64 {
        Delays::FIRST_NS << at
    }

    /// Upper bounds in seconds, each with its number of packets above the previous bound.
    fn buckets(&self) -> Vec<(f64, u64)> {
        let bound = |at| if at < Delays::BOUNDS { Delays::bound_ns(at) as f64 / 1e9 } else { f64::MAX };
        self.counts.iter().enumerate().map(|(at, count)| (bound(at), *count)).collect()
    }
}

impl Snapshot {
    /// Writes OpenMetrics text.
    pub fn text(self) -> String {
        let mut registry = Registry::with_prefix("weir");
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut text, &registry);
        text
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = Out(encoder);
        self.general(&mut out)?;
        self.tables(&mut out)?;
        self.drops(&mut out)?;
        self.faces(&mut out)?;
        self.classes(&mut out)?;
        self.delays(&mut out)
    }
}

/// The labels of a face.
type FaceLabels = [(&'static str, String); 2];

/// Writes metrics with one name.
struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        ConstCounter::new(value).encode(encoder)
    }

    fn gauge<V: EncodeGaugeValue>(&mut self, name: &str, help: &str, value: V) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        encoder.encode_gauge(&value)
    }

    fn counters<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        let mut each = values.into_iter();
        each.try_for_each(|(labels, value)| ConstCounter::new(value).encode(encoder.encode_family(&labels)?))
    }

    fn histograms<'d, L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, &'d Delays)>,
    ) -> fmt::Result {
        let mut values = values.into_iter().peekable();
        if values.peek().is_none() {
            return Ok(());
        }
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Histogram)?;
        values.try_for_each(|(labels, delays)| {
            let (sum, buckets) = (delays.sum_s(), delays.buckets());
            let mut family = encoder.encode_family(&labels)?;
            family.encode_histogram::<[(&str, &str); 0]>(sum, delays.count(), &buckets, None)
        })
    }

    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, MetricType::Gauge)?;
        let mut each = values.into_iter();
        each.try_for_each(|(labels, value)| ConstGauge::new(value).encode(encoder.encode_family(&labels)?))
    }
}

/// Escapes the characters in a label's value that have a meaning in the text format.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Snapshot {
    fn general(&self, out: &mut Out<'_>) -> fmt::Result {
        let general = &self.general;
        let mut build = out.0.encode_descriptor("build", "The software", None, MetricType::Info)?;
        build.encode_info(&[("version", label(&general.version))])?;
        let seconds = |ms: u64| ms as f64 / 1000.0;
        out.gauge("start_time_seconds", "Start time, since 1970", seconds(general.started_ms))?;
        let up = general.now_ms.saturating_sub(general.started_ms);
        out.gauge("uptime_seconds", "Time since the start", seconds(up))?;
        out.counter("satisfied_interests", "PIT entries that were answered", general.satisfied_interests)?;
        out.counter("expired_interests", "PIT entries that expired", general.unsatisfied_interests)?;
        out.counter("evicted_interests", "Interests evicted from a full PIT", self.evicted_interests)?;
        let help =
            "How often strategies stopped using a next hop because it did not answer and another one did";
        out.counter("left_next_hops", help, self.left_next_hops)?;
        let losses = &general.losses;
        out.counter("lost_datagrams", "Datagrams without room in receive buffers", losses.datagrams)?;
        out.counter("reassembly_failures", "IP datagrams that were not reassembled", losses.reassembly)?;
        out.counter("refused_connections", "Connections that were refused", losses.connections)?;
        out.counter("file_errors", "Errors that ended capture or recording", losses.files)?;
        let all = &general.counters;
        out.counters("received_packets", "Packets that arrived, on all faces", kinds(|k| received(all, k)))?;
        out.counters("sent_packets", "Packets that left, on all faces", kinds(|k| sent(all, k)))
    }

    fn tables(&self, out: &mut Out<'_>) -> fmt::Result {
        out.gauge("pit_entries", "Pending Interests", self.general.pit_entries)?;
        out.gauge("fib_entries", "Prefixes with routes", self.general.fib_entries)?;
        out.gauge("cs_packets", "Data in the content store", self.cs.entries)?;
        out.gauge("cs_capacity_packets", "Capacity of the content store", self.cs.capacity)?;
        out.counter("cs_hits", "Interests that the content store answered", self.cs.hits)?;
        out.counter("cs_misses", "Interests that the content store did not answer", self.cs.misses)?;
        out.counter("cs_insertions", "Data stored in the content store", self.cache.insertions)?;
        out.counter("cs_evictions", "Data evicted to make room for others", self.cache.evictions)
    }

    fn drops(&self, out: &mut Out<'_>) -> fmt::Result {
        let of = |(reason, [data, others]): (&DropReason, [u64; 2])| {
            let labels = |kind| [("reason", reason.words()), ("kind", kind)];
            [(labels("data"), data), (labels("interest"), others)]
        };
        let each = DropReason::ALL.iter().zip(self.drops).flat_map(of);
        out.counters("dropped_packets", "Packets dropped, by reason and kind; Nacks count as Interests", each)
    }

    fn faces(&self, out: &mut Out<'_>) -> fmt::Result {
        let known = &self.faces[..self.faces.len().min(MAX_FACES)];
        let others = &self.faces[known.len()..];
        out.gauge("faces", "Faces", self.faces.len())?;
        // The value of `of` for each face, and its sum over the others.
        let per_face = |of: &dyn Fn(&FaceStatus) -> u64| -> Vec<(FaceLabels, u64)> {
            let own =
                known.iter().map(|face| (face_labels(&face.number.to_string(), &face.remote), of(face)));
            let rest = (!others.is_empty())
                .then(|| (face_labels("others", ""), others.iter().map(of).fold(0, u64::saturating_add)));
            own.chain(rest).collect()
        };
        let by_kind = |of: &dyn Fn(&FaceCounters, Kind) -> u64| {
            let each = Kind::ALL.map(|kind| {
                let values = per_face(&|face| of(&face.counters, kind));
                values.into_iter().map(move |(labels, value)| ((labels, kind.label()), value))
            });
            each.into_iter().flatten().collect::<Vec<_>>()
        };
        out.counters("face_received_packets", "Packets that arrived on a face", by_kind(&received))?;
        out.counters("face_sent_packets", "Packets that left by a face", by_kind(&sent))?;
        let mut counter =
            |name: &str, help: &str, of: &dyn Fn(&FaceStatus) -> u64| out.counters(name, help, per_face(of));
        counter("face_received_bytes", "Bytes of frames that arrived", &|face| face.counters.in_bytes)?;
        counter("face_sent_bytes", "Bytes of frames that left", &|face| face.counters.out_bytes)?;
        counter("face_malformed_frames", "Malformed frames", &|face| face.counters.in_malformed)?;
        counter("face_dropped_packets", "Outgoing packets that were dropped", &|face| {
            face.counters.out_dropped
        })?;
        counter("face_remarked_interests", "Interests that got another service class", &|face| {
            face.counters.in_remarked
        })?;
        counter("face_refused_interests", "Interests in a service class that is refused", &|face| {
            face.counters.in_refused
        })?;
        counter("face_over_rate_interests", "Interests beyond the rate of their service class", &|face| {
            face.counters.in_over_rate
        })?;
        let mut gauge =
            |name: &str, help: &str, of: &dyn Fn(&FaceStatus) -> u64| out.gauges(name, help, per_face(of));
        gauge("face_up", "Whether a face is up; for `others`, how many are up", &|face| u64::from(face.up))?;
        gauge("face_queue_packets", "Packets in the queue of a face", &|face| face.queued_packets)?;
        gauge("face_queue_bytes", "Bytes in the queue of a face", &|face| face.queued_bytes)?;
        let rates = known.iter().filter_map(|face| {
            Some((face_labels(&face.number.to_string(), &face.remote), face.send_rate_bps?))
        });
        out.gauges("face_send_rate_bits_per_second", "Configured rate of a face", rates)
    }

    fn classes(&self, out: &mut Out<'_>) -> fmt::Result {
        let used = || self.classes.used();
        let packets = used().flat_map(|(class, sent)| {
            let labels = |kind| [("class", class.name()), ("kind", kind)];
            [(labels("interest"), sent.out_interests), (labels("data"), sent.out_data)]
        });
        out.counters("class_sent_packets", "Packets that left, by service class", packets)?;
        let bytes = used().map(|(class, sent)| ([("class", class.name())], sent.out_bytes));
        out.counters("class_sent_bytes", "Bytes of frames that left, by service class", bytes)?;
        let dropped = used().map(|(class, sent)| ([("class", class.name())], sent.dropped));
        out.counters("class_dropped_packets", "Packets dropped, by service class", dropped)?;
        let faces = self.face_classes.iter().take(MAX_FACES);
        let of_faces = faces.flat_map(|(number, remote, classes)| {
            let labels = |class: ServiceClass| {
                let [face, remote] = face_labels(&number.to_string(), remote);
                [face, remote, ("class", class.name().to_owned())]
            };
            classes.used().map(move |(class, sent)| (labels(class), sent.out_bytes))
        });
        out.counters("face_class_sent_bytes", "Bytes that left by a face, by service class", of_faces)
    }

    fn delays(&self, out: &mut Out<'_>) -> fmt::Result {
        let help = "Queueing delay of packets at a face with a rate";
        let faces = self
            .face_delays
            .iter()
            .take(MAX_FACES)
            .map(|(number, remote, delays)| (face_labels(&number.to_string(), remote), delays));
        out.histograms("face_queue_delay_seconds", help, faces)?;
        let help = "Queueing delay of packets, by service class";
        let classes = self.delays.iter().map(|(class, delays)| ([("class", class.name())], delays));
        out.histograms("queue_delay_seconds", help, classes)
    }
}

fn face_labels(number: &str, remote: &str) -> FaceLabels {
    [("face", number.to_owned()), ("remote", label(remote))]
}

/// The kind of a packet.
#[derive(Clone, Copy)]
enum Kind {
    Interest,
    Data,
    Nack,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Interest, Kind::Data, Kind::Nack];

    fn label(self) -> [(&'static str, &'static str); 1] {
        [("kind", ["interest", "data", "nack"][self as usize])]
    }
}

fn kinds(of: impl Fn(Kind) -> u64) -> [([(&'static str, &'static str); 1], u64); 3] {
    Kind::ALL.map(|kind| (kind.label(), of(kind)))
}

fn received(counters: &FaceCounters, kind: Kind) -> u64 {
    [counters.in_interests, counters.in_data, counters.in_nacks][kind as usize]
}

fn sent(counters: &FaceCounters, kind: Kind) -> u64 {
    [counters.out_interests, counters.out_data, counters.out_nacks][kind as usize]
}
