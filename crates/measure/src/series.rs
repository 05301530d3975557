//! The time series of a run, and its network: the input of the report and of the Parquet tables.
//!
//! Time is divided into steps of `step_s`; sample `k` covers `[k * step_s, (k + 1) * step_s)`. All vectors
//! have capacity for a whole run, so filling them allocates nothing.

use weir_core::consumer::Consumer;
use weir_core::seam::Gauge;
use weir_core::units::Span;

use crate::model::{ProbeValue, RunDocument};

/// All results of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The figures over the whole run and its windows.
    pub document: RunDocument,
    /// The values of the probes besides the scenario's expectations, in order.
    pub probes: Vec<ProbeValue>,
    /// The figures over time.
    pub series: Series,
    /// Nodes, links and media, for the drawing; empty in a world that does not know them.
    pub topology: Topology,
    /// The scenario's title.
    pub title: String,
    /// The source of the scenario: paper, section, figure.
    pub source: String,
    /// The numbers of the scenario, each with its source, in order.
    pub provenance: Vec<(String, String)>,
    /// Remarks of the scenario's author, a paragraph each.
    pub notes: Vec<String>,
}

/// The figures over time. `flows`, `classes`, `links` and `nodes` have the order of the document's rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Length of a step, s.
    pub step_s: f64,
    /// Number of steps.
    pub samples: usize,
    /// As `RunDocument::flows`.
    pub flows: Vec<FlowSeries>,
    /// As `RunDocument::classes`.
    pub classes: Vec<ClassSeries>,
    /// As `RunDocument::links`: one entry for each direction.
    pub links: Vec<LinkSeries>,
    /// As `RunDocument::nodes`; empty if there are too many nodes.
    pub nodes: Vec<NodeSeries>,
    /// Requests that have ended, in the order of their ends.
    pub requests: Vec<RequestSample>,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestSample {
    /// Its flow: the index in `RunDocument::flows`.
    pub flow: u32,
    /// The time at which it came, s.
    pub came_s: f64,
    /// The Data that it fetched.
    pub amount: u64,
    /// The time until its last Data, s.
    pub completion_s: f64,
    /// That time divided by the time that it would take alone; NaN if that is not known.
    pub slowdown: f64,
}

/// One flow over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Data content delivered, bit/s.
    pub goodput_bps: Vec<f32>,
    /// Mean delay of the step's Data, ms; NaN in a step without Data.
    pub delay_ms: Vec<f32>,
    /// Interests sent, 1/s; empty if not recorded.
    pub sent_rate: Vec<f32>,
    /// Data packets dropped in the network.
    pub lost: Vec<u32>,
    /// Retransmitted Interests.
    pub retransmitted: Vec<u32>,
    /// The state of its flow control and its consumer, at the end of each step.
    pub control: ControlSeries,
}

/// The flow control of one flow over time, at the end of each step. Empty if not recorded; NaN without a
/// value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ControlSeries {
    /// Congestion window, packets; NaN while the flow control steers by a rate.
    pub window: Vec<f32>,
    /// Rate of Data, bit/s; NaN while the flow control steers by a window.
    pub rate_bps: Vec<f32>,
    /// Pending Interests.
    pub pending: Vec<f32>,
    /// Smoothed round-trip time, ms; NaN before the first sample.
    pub srtt_ms: Vec<f32>,
    /// Retransmission timeout, ms.
    pub rto_ms: Vec<f32>,
    /// The shortest round trip: the mean over the responders by their answers, ms; NaN before the first sample.
    pub base_rtt_ms: Vec<f32>,
}

/// The flow control of a flow at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlSample {
    /// Its window or its rate.
    pub gauge: Gauge,
    /// Pending Interests.
    pub pending: u32,
    /// Smoothed round-trip time; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// The shortest round trip; `None` before the first sample.
    pub base_rtt: Option<Span>,
}

impl ControlSample {
    /// Returns the present state of a consumer.
    pub fn of(consumer: &Consumer) -> ControlSample {
        ControlSample {
            gauge: consumer.gauge(),
            pending: consumer.pending(),
            srtt: consumer.srtt(),
            rto: consumer.rto(),
            base_rtt: consumer.base_rtt(),
        }
    }
}

/// One step of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// Data content delivered, bit/s.
    pub goodput_bps: f32,
    /// Mean delay of the step's Data, ms; `None` without Data.
    pub delay_ms: Option<f32>,
    /// Interests sent, 1/s.
    pub sent_rate: f32,
    /// Data packets dropped in the network.
    pub lost: u32,
    /// Retransmitted Interests.
    pub retransmitted: u32,
}

/// One class over time: the sum of its flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassSeries {
    /// Name of the service class.
    pub class: String,
    /// Data content delivered, bit/s.
    pub goodput_bps: Vec<f32>,
    /// Mean delay of the step's Data, ms; NaN in a step without Data.
    pub delay_ms: Vec<f32>,
    /// Data packets dropped in the network.
    pub lost: Vec<u32>,
    /// Retransmitted Interests.
    pub retransmitted: Vec<u32>,
}

/// One direction of one link over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkSeries {
    /// Bits put on the link, bit/s.
    pub throughput_bps: Vec<f32>,
    /// The share of the step in which it was sending, 0 to 1.
    pub utilisation: Vec<f32>,
    /// Packets in the queue, mean over the step.
    pub queue_packets: Vec<f32>,
    /// Mean queueing delay of the packets sent in the step, ms; NaN without any.
    pub queue_ms: Vec<f32>,
    /// Packets dropped at its queue.
    pub drops: Vec<u32>,
    /// Packets that the link lost at random.
    pub lost: Vec<u32>,
}

/// One step of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSample {
    /// Bits put on the link, bit/s.
    pub throughput_bps: f32,
    /// The share of the step in which it was sending, 0 to 1.
    pub utilisation: f32,
    /// Packets in the queue, mean over the step.
    pub queue_packets: f32,
    /// Mean queueing delay of the packets sent in the step, ms; `None` without any.
    pub queue_ms: Option<f32>,
    /// Packets dropped at its queue.
    pub drops: u32,
    /// Packets that the link lost at random.
    pub lost: u32,
}

/// One node over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeSeries {
    /// Interests that its stores answered.
    pub cache_hits: Vec<u32>,
    /// Interests that its stores did not answer.
    pub cache_misses: Vec<u32>,
    /// Data in its content store at the end of the step.
    pub cached_packets: Vec<u32>,
    /// Pending Interests at the end of the step.
    pub pit: Vec<u32>,
    /// Packets that it dropped, for any reason.
    pub drops: Vec<u32>,
}

/// One step of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeSample {
    /// Interests that its stores answered.
    pub cache_hits: u32,
    /// Interests that its stores did not answer.
    pub cache_misses: u32,
    /// Data in its content store at the end of the step.
    pub cached_packets: u32,
    /// Pending Interests at the end of the step.
    pub pit: u32,
    /// Packets that it dropped, for any reason.
    pub drops: u32,
}

impl Series {
    /// Returns empty series with room for `samples` steps of `step_s` seconds. `flows` and `links` (each
    /// direction counts) exist already; [`Series::sum_classes`] makes `classes`.
    pub fn with_room(step_s: f64, samples: usize, flows: usize, links: usize) -> Series {
        Series {
            step_s,
            samples,
            flows: (0..flows).map(|_| FlowSeries::with_room(samples)).collect(),
            classes: Vec::new(),
            links: (0..links).map(|_| LinkSeries::with_room(samples)).collect(),
            requests: Vec::new(),
            nodes: Vec::new(),
        }
    }

    /// Makes `classes` from the flows: `classes` are the classes in the order of the document's rows, and
    /// `class_of[i]` is the class of flow `i`.
    ///
    /// Goodput and counts are sums. The delay is the flows' mean weighted by their goodput. This is the mean
    /// over all Data packets if the packets of a class have one size.
    pub fn sum_classes<C: AsRef<str>, F: AsRef<str>>(&mut self, classes: &[C], class_of: &[F]) {
        let samples = self.samples;
        self.classes = classes
            .iter()
            .map(|class| {
                let class = class.as_ref();
                let mut sum = ClassSeries {
                    class: class.to_owned(),
                    goodput_bps: vec![0.0; samples],
                    delay_ms: vec![f32::NAN; samples],
                    lost: vec![0; samples],
                    retransmitted: vec![0; samples],
                };
                let mut weighted = vec![(0.0f64, 0.0f64); samples];
                let members = self
                    .flows
                    .iter()
                    .zip(class_of)
                    .filter(|(_, of)| of.as_ref() == class)
                    .map(|(flow, _)| flow);
                for flow in members {
                    add(&mut sum.goodput_bps, &flow.goodput_bps, |a, b| a + b);
                    add(&mut sum.lost, &flow.lost, u32::saturating_add);
                    add(&mut sum.retransmitted, &flow.retransmitted, u32::saturating_add);
                    for ((cell, delay), goodput) in
                        weighted.iter_mut().zip(&flow.delay_ms).zip(&flow.goodput_bps)
                    {
                        if delay.is_finite() {
                            // A Data without content still has a delay.
                            let weight = f64::from(goodput.max(1e-3));
                            cell.0 += f64::from(*delay) * weight;
                            cell.1 += weight;
                        }
                    }
                }
                for (mean, (total, weight)) in sum.delay_ms.iter_mut().zip(&weighted) {
                    if *weight > 0.0 {
                        *mean = (total / weight) as f32;
                    }
                }
                sum
            })
            .collect();
    }
}

fn add<T: Copy>(sum: &mut [T], with: &[T], op: impl Fn(T, T) -> T) {
    for (a, b) in sum.iter_mut().zip(with) {
        *a = op(*a, *b);
    }
}

impl FlowSeries {
    /// Returns an empty series with room for `samples` steps.
    pub fn with_room(samples: usize) -> FlowSeries {
        FlowSeries {
            goodput_bps: Vec::with_capacity(samples),
            delay_ms: Vec::with_capacity(samples),
            sent_rate: Vec::with_capacity(samples),
            lost: Vec::with_capacity(samples),
            retransmitted: Vec::with_capacity(samples),
            control: ControlSeries::default(),
        }
    }

    /// Adds the next step.
    #[inline]
    pub fn push(&mut self, sample: FlowSample) {
        self.goodput_bps.push(sample.goodput_bps);
        self.delay_ms.push(sample.delay_ms.unwrap_or(f32::NAN));
        self.sent_rate.push(sample.sent_rate);
        self.lost.push(sample.lost);
        self.retransmitted.push(sample.retransmitted);
    }
}

impl ControlSeries {
    /// Returns an empty series with room for `samples` steps.
    pub fn with_room(samples: usize) -> ControlSeries {
        let room = || Vec::with_capacity(samples);
        let [window, rate_bps, pending, srtt_ms, rto_ms, base_rtt_ms] = [(); 6].map(|()| room());
        ControlSeries { window, rate_bps, pending, srtt_ms, rto_ms, base_rtt_ms }
    }

    /// Adds the next step.
    pub fn push(&mut self, sample: &ControlSample) {
        let (window, rate) = match sample.gauge {
            Gauge::Window(window) => (window as f32, f32::NAN),
            Gauge::Rate(rate) => (f32::NAN, rate.as_bps_f64() as f32),
        };
        let millis = |span: Option<Span>| span.map_or(f32::NAN, |span| span.as_millis_f64() as f32);
        self.window.push(window);
        self.rate_bps.push(rate);
        self.pending.push(sample.pending as f32);
        self.srtt_ms.push(millis(sample.srtt));
        self.rto_ms.push(millis(Some(sample.rto)));
        self.base_rtt_ms.push(millis(sample.base_rtt));
    }
}

impl LinkSeries {
    /// Returns an empty series with room for `samples` steps.
    pub fn with_room(samples: usize) -> LinkSeries {
        LinkSeries {
            throughput_bps: Vec::with_capacity(samples),
            utilisation: Vec::with_capacity(samples),
            queue_packets: Vec::with_capacity(samples),
            queue_ms: Vec::with_capacity(samples),
            drops: Vec::with_capacity(samples),
            lost: Vec::with_capacity(samples),
        }
    }

    /// Adds the next step.
    #[inline]
    pub fn push(&mut self, sample: LinkSample) {
        self.throughput_bps.push(sample.throughput_bps);
        self.utilisation.push(sample.utilisation);
        self.queue_packets.push(sample.queue_packets);
        self.queue_ms.push(sample.queue_ms.unwrap_or(f32::NAN));
        self.drops.push(sample.drops);
        self.lost.push(sample.lost);
    }
}

impl NodeSeries {
    /// Returns an empty series with room for `samples` steps.
    pub fn with_room(samples: usize) -> NodeSeries {
        NodeSeries {
            cache_hits: Vec::with_capacity(samples),
            cache_misses: Vec::with_capacity(samples),
            cached_packets: Vec::with_capacity(samples),
            pit: Vec::with_capacity(samples),
            drops: Vec::with_capacity(samples),
        }
    }

    /// Adds the next step.
    #[inline]
    pub fn push(&mut self, sample: NodeSample) {
        self.cache_hits.push(sample.cache_hits);
        self.cache_misses.push(sample.cache_misses);
        self.cached_packets.push(sample.cached_packets);
        self.pit.push(sample.pit);
        self.drops.push(sample.drops);
    }
}

/// The network of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// All nodes, in the scenario's order.
    pub nodes: Vec<TopologyNode>,
    /// Its links, both directions as one, including the pairs of stations of each medium.
    pub links: Vec<TopologyLink>,
    /// Its shared media.
    pub media: Vec<TopologyMedium>,
}

/// The role of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It has applications that fetch.
    Consumer,
    /// It only forwards.
    #[default]
    Router,
    /// It has applications that answer.
    Producer,
    /// It has applications of both kinds.
    Peer,
}

impl Role {
    /// Returns its name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Consumer => "consumer",
            Role::Router => "router",
            Role::Producer => "producer",
            Role::Peer => "peer",
        }
    }
}

/// A node. A node with applications may also forward for others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyNode {
    /// Its name in the scenario.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its position in the drawing, x to the right and y down, in any unit, if the scenario gives it;
    /// otherwise the report computes a layout.
    pub position: Option<(f32, f32)>,
}

/// A link, both directions as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyLink {
    /// The name of one end.
    pub from: String,
    /// The name of the other end.
    pub to: String,
    /// The rate of each direction, bit/s.
    pub rate_bps: f64,
    /// The one-way propagation delay, ms.
    pub delay_ms: f64,
    /// The medium that it shares with others: its index in [`Topology::media`].
    pub medium: Option<usize>,
}

/// A medium that stations share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyMedium {
    /// Its name in the scenario.
    pub name: String,
    /// The names of its nodes.
    pub stations: Vec<String>,
}
