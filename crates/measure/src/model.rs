//! The document of one run: the output of `weir run --json`, and `run.json`.
//!
//! Keys and their order are those of the fields below. A value without samples is `null`, never NaN.

use crate::document::IN_LAB;
use serde::{Deserialize, Serialize};

/// The measurements of a run, over the whole run and over its windows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunDocument {
    /// The version of the document's format, now 1. It increases when a key is removed or changes its meaning, not
    /// when one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes this run, without its output options.
    #[serde(default)]
    pub command: String,
    /// The scenario's name, such as `qsccp/dumbbell`, or the path of its file.
    pub scenario: String,
    /// The scenario's text, without the changes by `set`. Left out if another file has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scenario_text: String,
    /// The scheme's name.
    pub scheme: String,
    /// The variant of its parameters in the scenario; left out for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The seed of all random streams.
    pub seed: u64,
    /// Whether the figures depend on the seed.
    #[serde(default = "unknown_is_yes")]
    pub seed_matters: bool,
    /// The `--set` arguments, as given and in that order.
    #[serde(default)]
    pub set: Vec<String>,
    /// Simulated time, s.
    pub simulated_s: f64,
    /// The time that the run took, s.
    pub wall_s: f64,
    /// Events of the network and of the scenario's script.
    pub events: u64,
    /// Packets sent on links: each packet counts once for every link that it crosses.
    pub packet_hops: u64,
    /// The dropped packets, one row for each reason; empty in a world that does not know the reasons.
    #[serde(default)]
    pub drops: Vec<DropRow>,
    /// The part of the Data that was dropped, of those delivered and those dropped, 0 to 1.
    #[serde(default)]
    pub data_thrown_away: f64,
    /// One row for each flow.
    pub flows: Vec<FlowRow>,
    /// One row for each class.
    pub classes: Vec<ClassRow>,
    /// One row for each group of flows.
    #[serde(default)]
    pub groups: Vec<GroupRow>,
    /// One row for each direction of each link.
    pub links: Vec<LinkRow>,
    /// One row for each node; empty in a world that does not observe them.
    #[serde(default)]
    pub nodes: Vec<NodeRow>,
    /// Requests of flows with `arrivals`, by group and size; left out without such flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRow>,
    /// Histograms over the whole run: of each class; of each group, flow and direction of a link if there are
    /// few; and of all links together.
    #[serde(default)]
    pub distributions: Vec<DistributionRow>,
    /// The same rows over parts of the run.
    pub windows: Vec<WindowRow>,
    /// The optimum over the whole run, if the run has no window; `None` if it is not known.
    #[serde(default)]
    pub optimum: Option<OptimumRow>,
    /// Completions compared with those of the optimum, a row for each flow with an amount; left out if the
    /// optimum is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdowns: Vec<SlowdownRow>,
    /// What the scenario changes while it runs, in order of time; left out if it changes nothing, or too much to name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRow>,
    /// The scenario's expectations, with the measured values.
    pub expectations: Vec<ExpectationRow>,
    /// How the machine kept up with a run in the lab; left out for runs of the simulator and of `weir
    /// traffic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabRow>,
}

/// A change that the scenario makes while it runs: an event, or the start or stop of a group of flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChangeRow {
    /// When, s.
    pub at_s: f64,
    /// What changes, in words.
    pub what: String,
}

impl RunDocument {
    /// Returns the scheme, with [`IN_LAB`] appended for a run in the lab. In a comparison it distinguishes the
    /// run's figures from others.
    pub fn contestant(&self) -> String {
        if self.lab.is_some() { format!("{}{IN_LAB}", self.scheme) } else { self.scheme.clone() }
    }
}

/// How the machine kept up with a run in the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabRow {
    /// Whether forwarders were told the rates of their links.
    pub told_rates: bool,
    /// The factor of all rates and amounts, from `--scale`; 1 without it.
    pub scale: f64,
    /// The part of the time in which the machine's processors were busy, including other programs, 0 to 1.
    pub busy: f64,
    /// The part of the time in which a thread of the lab was ready but did not run, 0 to 1.
    pub waited: f64,
    /// The processor time of the emulated links, as a part of one processor, 0 to 1 or more.
    pub links_busy: f64,
    /// The median of the lateness of frames that left the emulated links, ms.
    pub late_p50_ms: f64,
    /// The 99th percentile of this lateness, ms.
    pub late_p99_ms: f64,
    /// The maximum of this lateness, ms.
    pub late_max_ms: f64,
    /// The reasons why the figures are not those of the network, one text for each; empty if the machine kept
    /// up.
    pub doubts: Vec<String>,
}

/// Returns whether the seed matters in a run that does not state it.
fn unknown_is_yes() -> bool {
    true
}

/// The packets that were dropped for one reason: in the whole run, or at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRow {
    /// The reason in a few words, such as `out of the lifetime` or `link queue full`.
    pub reason: String,
    /// The place: `queue`, `link`, `node` or `consumer`.
    pub place: String,
    /// Data.
    pub data: u64,
    /// Interests and Nacks.
    pub interests: u64,
}

/// One flow: one consumer fetching under one prefix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix that it fetches.
    pub prefix: String,
    /// Its group: the name of its `[[flow]]` table.
    #[serde(default)]
    pub group: String,
    /// Its service class.
    pub class: String,
    /// Data content delivered to the application, bit/s.
    pub goodput_bps: f64,
    /// From the first transmission of an Interest to its Data.
    pub delay_ms: DelayMs,
    /// Data packets dropped in the network.
    pub lost: u64,
    /// Retransmitted Interests.
    pub retransmitted: u64,
    /// Interests counted as lost: after a timeout, or earlier if losses are detected early.
    pub timeouts: u64,
    /// From the flow's start to its last Data, s; `None` while unfinished, or without an end.
    pub completion_s: Option<f64>,
    /// The hops of its Data; left out in a world that does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<Hops>,
}

/// One service class: the sum over its flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// The name of the service class.
    pub class: String,
    /// The figures of its flows.
    #[serde(flatten)]
    pub figures: TrafficFigures,
}

/// One group of flows: the sum over the flows of one `[[flow]]` table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The name of the group.
    pub group: String,
    /// The figures of its flows; without a delay if there are too many flows for percentiles of each.
    #[serde(flatten)]
    pub figures: TrafficFigures,
}

/// The requests of a group for objects of some sizes. A request belongs to the windows in which it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestRow {
    /// The name of the group.
    pub group: String,
    /// The sizes of the objects in Data, such as `10-99`, or `all`.
    pub size: String,
    /// The requests that came.
    pub came: u64,
    /// The requests that were complete at the end of the run. The figures below cover only these.
    pub completed: u64,
    /// From the request to its last Data.
    pub completion_ms: DelayMs,
    /// The completion divided by the time that the request would take alone in the network.
    pub slowdown: SlowdownFigures,
    /// The slowdown if links were shared ideally: weighted max-min without queues; `None` if it is not known.
    #[serde(default)]
    pub ideal_slowdown: Option<SlowdownFigures>,
}

/// Mean and percentiles of a slowdown; `None` without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownFigures {
    /// Mean over the requests.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// The combined figures of some flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficFigures {
    /// Data content delivered to applications, bit/s.
    pub goodput_bps: f64,
    /// From the first transmission of an Interest to its Data, over all their Data.
    pub delay_ms: DelayMs,
    /// Data packets dropped in the network.
    pub lost: u64,
    /// Retransmitted Interests.
    pub retransmitted: u64,
    /// Interests counted as lost: after a timeout, or earlier if losses are detected early.
    pub timeouts: u64,
    /// Completion time of the last flow, s after its start; `None` unless all completed.
    pub completion_s: Option<f64>,
    /// Mean completion time of the flows, s; `None` unless all completed.
    #[serde(default)]
    pub completion_mean_s: Option<f64>,
    /// Jain's index over the goodputs of these flows, without weights, 0 to 1; `None` with fewer than two that take part.
    #[serde(default)]
    pub jain: Option<f64>,
    /// The hops of their Data; left out in a world that does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<Hops>,
}

/// Mean and percentiles of a delay, ms; `None` without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayMs {
    /// Mean over the packets.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// One direction of one link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The name of the link, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its rate, bit/s.
    pub rate_bps: f64,
    /// The share of time in which it was sending, 0 to 1.
    pub utilisation: f64,
    /// Packets dropped at its queue, for any reason.
    pub drops: u64,
    /// Packets that the link lost at random.
    #[serde(default)]
    pub lost: u64,
    /// Packets dropped because the link was down.
    #[serde(default)]
    pub down: u64,
    /// Queueing delay of the link; packets that the node's strategy held count for their outgoing link.
    pub queue_ms: QueueMs,
}

impl LinkRow {
    /// Returns the receiving node, with `:NAME` if the link has a name. It distinguishes the links of two
    /// nodes.
    pub fn end(&self) -> String {
        self.name.as_ref().map_or_else(|| self.to.clone(), |name| format!("{}:{name}", self.to))
    }
}

/// One node: its stores, its pending Interests, and the packets that it dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// Interests that its content store or its simulated cache answered.
    pub cache_hits: u64,
    /// Interests that its stores did not answer. An Interest that is aggregated is not looked up.
    pub cache_misses: u64,
    /// Data that were stored and were not stored before.
    pub cache_insertions: u64,
    /// Data evicted to make room for others.
    pub cache_evictions: u64,
    /// The part of the Interests looked up that were answered, 0 to 1; `None` without any.
    pub cache_hit_ratio: Option<f64>,
    /// Pending Interests, mean over the ends of the steps of the time series; `None` without any.
    pub pit_mean: Option<f64>,
    /// The largest number of Interests that were pending at once.
    pub pit_max: u64,
    /// The packets that it dropped, one row for each reason: on arrival, at the queues of its links, and on
    /// these links.
    pub drops: Vec<DropRow>,
}

impl NodeRow {
    /// Returns whether it has looked up or stored anything.
    pub fn has_cache(&self) -> bool {
        self.cache_hits + self.cache_misses + self.cache_insertions > 0
    }
}

/// The hops of Data: the links from the producer or the answering store to the consumer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hops {
    /// Mean over the delivered Data; `None` without any.
    pub mean: Option<f64>,
    /// The number of Data that crossed 0, 1, 2, … links.
    pub counts: Vec<u64>,
}

/// Mean and 99th percentile of a queueing delay, ms; `None` without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueMs {
    /// Mean over the packets.
    pub mean: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
}

/// A histogram of a measured quantity, with its subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistributionRow {
    /// The measured quantity: `delay` from the first transmission of an Interest to its Data; `queueing`, the
    /// queueing delay of a packet in front of a link; `completion`, from a flow's start to its last Data;
    /// `slowdown`, a completion divided by the time that the flow would take alone on an empty network.
    pub what: String,
    /// The kind of its subject: `class`, `group`, `flow`, `link` or `requests`; `links` for all links
    /// together.
    pub kind: String,
    /// The subject: the name of the class or group, the flow as `C1 /A`, the direction of a link as `R1->R2`,
    /// the group and sizes of requests as `web 10-99`; empty for `links`.
    pub of: String,
    /// The histogram.
    #[serde(flatten)]
    pub distribution: Distribution,
}

/// A histogram with buckets of a bounded error.
///
/// A value counts as a whole number of steps, rounded. Each number below 256 has its own bucket. Above, a
/// bucket that begins at `b` has 2^(⌊log₂ b⌋ − 7) numbers. So the error of a value is half a step or 0.4 %,
/// whichever is larger. Two histograms of the same unit and step are added by adding the counts of buckets
/// with the same beginning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Unit of the values: `ms`, `s`, or `1` for ratios.
    pub unit: String,
    /// The width of the smallest buckets, in `unit`.
    pub step: f64,
    /// The number of values.
    pub count: u64,
    /// Their mean, exact, in `unit`; `None` without values.
    pub mean: Option<f64>,
    /// For each bucket with values, in order: its beginning, in steps, and the number of its values.
    #[serde(serialize_with = "as_lists")]
    pub counts: Vec<(u64, u64)>,
}

/// Writes pairs as lists. A tuple would be a tuple in Python, but a list in a document that is read.
fn as_lists<S: serde::Serializer>(pairs: &[(u64, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    struct List(u64, u64);
    impl Serialize for List {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq([self.0, self.1])
        }
    }
    serializer.collect_seq(pairs.iter().map(|&(from, count)| List(from, count)))
}

/// The rows over one measuring window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// One row for each flow.
    pub flows: Vec<FlowRow>,
    /// One row for each class.
    pub classes: Vec<ClassRow>,
    /// One row for each group of flows.
    #[serde(default)]
    pub groups: Vec<GroupRow>,
    /// One row for each direction of each link.
    pub links: Vec<LinkRow>,
    /// One row for each node.
    #[serde(default)]
    pub nodes: Vec<NodeRow>,
    /// Requests that came in it, by group and size; left out without flows with `arrivals`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRow>,
    /// Histograms of delays and queueing delays in it. Those of completions and slowdowns cover the whole
    /// run.
    #[serde(default)]
    pub distributions: Vec<DistributionRow>,
    /// The optimum and the flows' distance from it; `None` if it is not known.
    #[serde(default)]
    pub optimum: Option<OptimumRow>,
}

/// The optimum over a window, which does not depend on the scheme, and the distance of the flows from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumRow {
    /// The objective, such as `link-fair`.
    pub objective: String,
    /// The usable part of the links' rates, 0 to 1.
    pub utilisation: f64,
    /// The division of links among classes, such as `AF2 : AF1 : BE = 3 : 2 : 1`; empty if the flows are of
    /// one class and have no weights.
    #[serde(default)]
    pub weights: String,
    /// Jain's index, weighted: over the goodput of each flow divided by its goodput in the optimum, 0 to 1;
    /// `None` with fewer than two flows.
    #[serde(default)]
    pub weighted_jain: Option<f64>,
    /// One row for each flow, in the order of the window's flows.
    pub flows: Vec<OptimumFlowRow>,
    /// The distance of the flows from it.
    pub distance: DistanceRow,
    /// The target of the run's scheme, if it uses only a part of the links; else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow>,
}

/// The slowdown of a flow with an amount, compared with that in the optimum: its completion divided by the
/// time that it would take alone on an empty network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownRow {
    /// The flow: its index in `flows`.
    pub flow: u64,
    /// The time that it would take alone, s: the propagation of an Interest and its Data, and the transmission of all its Data at
    /// the largest rate that its source and its routes allow.
    pub alone_s: f64,
    /// The measured completion over `alone_s`; `None` while unfinished.
    pub slowdown: Option<f64>,
    /// The completion in the optimum, with the same propagation, s; `None` if it is not within the run.
    pub optimum_completion_s: Option<f64>,
    /// `optimum_completion_s` divided by `alone_s`, 1 or more.
    pub optimum_slowdown: Option<f64>,
}

/// The target of a scheme: the optimum with only a part of the links' rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRow {
    /// This part, 0 to 1.
    pub utilisation: f64,
    /// Data content delivered to the applications, all flows together, bit/s.
    pub goodput_bps: f64,
    /// The distance of the flows from the target.
    pub distance: DistanceRow,
}

/// The rate of one flow in the optimum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumFlowRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix that it fetches.
    pub prefix: String,
    /// Its service class.
    pub class: String,
    /// Data content delivered to the application, bit/s.
    pub goodput_bps: f64,
    /// The goodput if no consumers shared Data; `None` if no two consumers of a prefix have links in common,
    /// so that the values are equal.
    #[serde(default)]
    pub unshared_goodput_bps: Option<f64>,
}

/// The distances of the flows' goodputs from those in the optimum, relative to the latter; `None` if no
/// flow has any in the optimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceRow {
    /// Mean of the absolute distances.
    pub mean: Option<f64>,
    /// The largest of these.
    pub largest: Option<f64>,
    /// The lowest distance with its sign: that of the flow furthest below its optimum, or else least above
    /// it.
    #[serde(default)]
    pub lowest: Option<f64>,
    /// The highest distance with its sign: that of the flow furthest above its optimum, or else least below it.
    #[serde(default)]
    pub highest: Option<f64>,
    /// The share of the flows within 5 %.
    pub within_5_percent: Option<f64>,
}

/// One statement of the scenario's source, with its check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectationRow {
    /// The measured quantity in words, such as `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// The place of the statement, such as `paper, section V-B`.
    pub source: String,
    /// The unit of its values, which is that of the metric: `bit/s`, `ms`, `s`, `packets`, `flows`, or `1`
    /// for ratios.
    #[serde(default)]
    pub unit: String,
    /// The stated value; `None` for a comparison with other schemes.
    pub stated: Option<f64>,
    /// The measured value; `None` if there was nothing to measure.
    pub measured: Option<f64>,
    /// Whether a goodput had not settled at the end of the window of a time to settle. `measured` is then the
    /// time until this end. Left out if it had.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub never: bool,
    /// The allowed difference of `measured` from `stated`, or the allowed excess over `stated` if that is a
    /// bound; relative to `stated`, or absolute if that is zero.
    pub tolerance: f64,
    /// The required relation, within the tolerance: `measured` is near `stated`, at most `stated`, or at
    /// least `stated`; or it is more or less than under each of the schemes of `than`.
    #[serde(default)]
    pub bound: Relation,
    /// The schemes of a comparison; left out if a number is stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
    /// Whether the relation holds; `None` for a comparison, which one run cannot decide.
    pub holds: Option<bool>,
}

/// The value of a probe, which is measured besides the scenario's expectations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeValue {
    /// The value, in the metric's unit; `None` if there was nothing to measure.
    pub value: Option<f64>,
    /// Whether a goodput had not settled at the end of the window of a time to settle. `value` is then the
    /// time until this end.
    pub never: bool,
}

/// The required relation of a measured value to the stated one, or to those of other schemes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Near it.
    #[default]
    About,
    /// At most it.
    AtMost,
    /// At least it.
    AtLeast,
    /// More than under other schemes.
    MoreThan,
    /// Less than under other schemes.
    LessThan,
}

/// The mean of a figure over several seeds, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean over the seeds.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, by Student's t; `None` with one seed. Zero means that
    /// the figure does not depend on the seed.
    pub ci95: Option<f64>,
    /// The number of seeds with a measured value.
    pub n: u64,
    /// The number of different values among these; 0 in a document of a version that did not count them.
    #[serde(default)]
    pub distinct: u64,
}
