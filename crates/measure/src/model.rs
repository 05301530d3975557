//! The document of one run: the output of `weir run --json`, and `run.json`.
//!
//! Keys and their order are those of the fields below. What has no sample is `null`, never NaN.

use serde::{Deserialize, Serialize};

/// Everything a run has measured, over the whole run and over its windows.
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
    /// The scenario's text as it stands, without what `set` changes. Left out where another file has it.
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
    /// Time the run took, s.
    pub wall_s: f64,
    /// Events of the network and of the scenario's script.
    pub events: u64,
    /// Packets sent on links: each packet counts once for every link that it crosses.
    pub packet_hops: u64,
    /// The packets that were thrown away, one row for each reason; empty in a world that does not know the reasons.
    #[serde(default)]
    pub drops: Vec<DropRow>,
    /// The part of the Data that was thrown away, of those delivered and those thrown away, 0 to 1.
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
    /// One row for each node; empty in a world that does not see them.
    #[serde(default)]
    pub nodes: Vec<NodeRow>,
    /// Requests of flows with `arrivals`, by group and size; left out without such flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestRow>,
    /// Histograms over the whole run: of each class; of each group, flow and direction of a link where they are few; and
    /// of all links together.
    #[serde(default)]
    pub distributions: Vec<DistributionRow>,
    /// The same rows over parts of the run.
    pub windows: Vec<WindowRow>,
    /// The optimum over the whole run, if the run has no window; `None` if it is not known.
    #[serde(default)]
    pub optimum: Option<OptimumRow>,
    /// Completions beside those of the optimum, a row for each flow with an amount; left out if the optimum is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowdowns: Vec<SlowdownRow>,
    /// What the scenario changes while it runs, in order of time; left out if it changes nothing, or too much to name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeRow>,
    /// The scenario's expectations, with the measured values.
    pub expectations: Vec<ExpectationRow>,
    /// How the machine kept up with a run in the lab; left out for runs of the simulator and of `weir traffic`.
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
    /// The scheme, with ` (lab)` behind it for a run in the lab: what tells its figures from others in a comparison.
    pub fn contestant(&self) -> String {
        if self.lab.is_some() { format!("{} (lab)", self.scheme) } else { self.scheme.clone() }
    }
}

/// How the machine kept up with a run in the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabRow {
    /// Whether forwarders were told the rates of their links.
    pub told_rates: bool,
    /// The factor of all rates and amounts, from `--scale`; 1 without it.
    pub scale: f64,
    /// The part of the time that the machine's processors were busy, with whatever else ran on it, 0 to 1.
    pub busy: f64,
    /// The part of the time that a thread of the lab was kept from running when it was to, 0 to 1.
    pub waited: f64,
    /// The part of the processor time of one processor that the emulated links took, 0 to 1 or more.
    pub links_busy: f64,
    /// How late frames left the emulated links: half of them at most this much, ms.
    pub late_p50_ms: f64,
    /// The same for 99 % of them, ms.
    pub late_p99_ms: f64,
    /// The same for all of them, ms.
    pub late_max_ms: f64,
    /// Why the figures are not those of the network, one text for each reason; empty if the machine kept up.
    pub doubts: Vec<String>,
}

/// Whether the seed matters in a run that does not say.
fn unknown_is_yes() -> bool {
    true
}

/// The packets that were thrown away for one reason: in the whole run, or at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRow {
    /// The reason in a few words, such as `out of the lifetime` or `link queue full`.
    pub reason: String,
    /// Where: `queue`, `link`, `node` or `consumer`.
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
    /// Interests taken for lost: after a timeout, or earlier where losses are detected early.
    pub timeouts: u64,
    /// From the flow's start to its last Data, s; `None` while unfinished, or without an end.
    pub completion_s: Option<f64>,
    /// How far its Data came; left out in a world that does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<Hops>,
}

/// One service class: its flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassRow {
    /// Name of the service class.
    pub class: String,
    /// What its flows got.
    #[serde(flatten)]
    pub figures: TrafficFigures,
}

/// One group of flows, those of one `[[flow]]` table, together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// Name of the group.
    pub group: String,
    /// What its flows got; without a delay where there are too many flows for percentiles of each.
    #[serde(flatten)]
    pub figures: TrafficFigures,
}

/// The requests of a group for objects of some sizes. A request belongs to the windows in which it came.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestRow {
    /// Name of the group.
    pub group: String,
    /// The sizes of the objects in Data, such as `10-99`, or `all`.
    pub size: String,
    /// Requests that came.
    pub came: u64,
    /// Those of them that were complete at the end of the run; the figures below are of these alone.
    pub completed: u64,
    /// From the request to its last Data.
    pub completion_ms: DelayMs,
    /// The completion over the time that the request would take alone in the network.
    pub slowdown: SlowdownFigures,
    /// The same if links were shared ideally: weighted max-min without queues; `None` if it is not known.
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

/// What some flows got together.
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
    /// Interests taken for lost: after a timeout, or earlier where losses are detected early.
    pub timeouts: u64,
    /// Completion time of the last flow, s after its start; `None` unless all completed.
    pub completion_s: Option<f64>,
    /// Mean completion time of the flows, s; `None` unless all completed.
    #[serde(default)]
    pub completion_mean_s: Option<f64>,
    /// Jain's index over the goodputs of these flows, without weights, 0 to 1; `None` with fewer than two that take part.
    #[serde(default)]
    pub jain: Option<f64>,
    /// How far their Data came; left out in a world that does not know it.
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
    /// Packets dropped at its queue, for whatever reason the queue has.
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
    /// The receiving node, with `:NAME` if the link has a name: what tells the links of two nodes apart.
    pub fn end(&self) -> String {
        self.name.as_ref().map_or_else(|| self.to.clone(), |name| format!("{}:{name}", self.to))
    }
}

/// One node: its stores, its pending Interests, and what it dropped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub node: String,
    /// Interests that its content store or its simulated cache answered.
    pub cache_hits: u64,
    /// Interests that were looked up there in vain. An Interest that finds an equal one pending is not looked up.
    pub cache_misses: u64,
    /// Data that were stored and had not been there.
    pub cache_insertions: u64,
    /// Data that made room for others.
    pub cache_evictions: u64,
    /// The part of the Interests looked up that were answered, 0 to 1; `None` without any.
    pub cache_hit_ratio: Option<f64>,
    /// Pending Interests, mean over the ends of the steps of the time series; `None` without any.
    pub pit_mean: Option<f64>,
    /// The most Interests that were pending at once.
    pub pit_max: u64,
    /// The packets that it threw away, one row for each reason: on arrival, at the queues of its links, and on these links.
    pub drops: Vec<DropRow>,
}

impl NodeRow {
    /// Whether it has looked up or stored anything.
    pub fn has_cache(&self) -> bool {
        self.cache_hits + self.cache_misses + self.cache_insertions > 0
    }
}

/// How far Data came: the links from the producer or the store that answered to the consumer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hops {
    /// Mean over the delivered Data; `None` without any.
    pub mean: Option<f64>,
    /// How many Data came over 0, 1, 2, … links.
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

/// A histogram of a measured quantity, with what it is of.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistributionRow {
    /// The measured quantity: `delay` from the first transmission of an Interest to its Data; `queueing`, the queueing delay
    /// of a packet in front of a link; `completion`, from a flow's start to its last Data; `slowdown`, a completion over the
    /// time that the flow would take alone on an empty network.
    pub what: String,
    /// What it is of: `class`, `group`, `flow`, `link` or `requests`; `links` for all links together.
    pub kind: String,
    /// Which one: the name of the class or group, the flow as `C1 /A`, the direction of a link as `R1->R2`, the group and
    /// sizes of requests as `web 10-99`; empty for `links`.
    pub of: String,
    /// The histogram.
    #[serde(flatten)]
    pub distribution: Distribution,
}

/// A histogram with buckets of a bounded error.
///
/// A value counts as a whole number of steps, rounded. Numbers below 256 have a bucket each; above, a bucket that begins
/// at `b` has 2^(⌊log₂ b⌋ − 7) numbers. So a value is off by half a step or by 0.4 %, whichever is more. Two
/// histograms of the same unit and step are added by adding the counts of buckets with the same beginning.
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
    /// For each bucket with values, in order: where it begins, in steps, and how many values it has.
    #[serde(serialize_with = "as_lists")]
    pub counts: Vec<(u64, u64)>,
}

/// Pairs as lists: a tuple would be one in Python, and a list in a document that is read.
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
    /// Histograms of delays and queueing delays in it; those of completions and slowdowns are of the whole run.
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
    /// How it divides links among classes, such as `AF2 : AF1 : BE = 3 : 2 : 1`; empty if the flows are of one class and
    /// have no weights.
    #[serde(default)]
    pub weights: String,
    /// Jain's index, weighted: over the goodput of each flow as a part of its goodput here, 0 to 1; `None` with fewer than
    /// two flows.
    #[serde(default)]
    pub weighted_jain: Option<f64>,
    /// One row for each flow, in the order of the window's flows.
    pub flows: Vec<OptimumFlowRow>,
    /// The distance of the flows from it.
    pub distance: DistanceRow,
    /// The target of the run's scheme, if that is to use a part of the links only; left out if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetRow>,
}

/// The slowdown of a flow with an amount, beside that in the optimum: its completion over the time that it would take alone on
/// an empty network.
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
    /// That over `alone_s`, 1 or more.
    pub optimum_slowdown: Option<f64>,
}

/// The target of a scheme: the optimum of the links if only a part of their rates may be used.
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
    /// The same if no consumers shared Data; `None` if no two consumers of a prefix have links in common, so that it is the
    /// same.
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
    /// The lowest distance with its sign: that of the flow furthest below its optimum, or else least above it.
    #[serde(default)]
    pub lowest: Option<f64>,
    /// The highest distance with its sign: that of the flow furthest above its optimum, or else least below it.
    #[serde(default)]
    pub highest: Option<f64>,
    /// The share of the flows within 5 %.
    pub within_5_percent: Option<f64>,
}

/// One statement of the scenario's source, checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectationRow {
    /// The measured quantity in words, such as `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// The place of the statement, such as `paper, section V-B`.
    pub source: String,
    /// Unit of its values, which is that of the metric: `bit/s`, `ms`, `s`, `packets`, `flows`, or `1` for ratios.
    #[serde(default)]
    pub unit: String,
    /// The stated value; `None` for a comparison with other schemes.
    pub stated: Option<f64>,
    /// The measured value; `None` if there was nothing to measure.
    pub measured: Option<f64>,
    /// Whether a goodput was not settled at the end of the window of a time to settle. `measured` is then the time until
    /// this end. Left out if it was.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub never: bool,
    /// Allowed difference of `measured` from `stated`, or beyond `stated` if that is a bound; relative to `stated`, or
    /// absolute if that is zero.
    pub tolerance: f64,
    /// The required relation, within the tolerance: `measured` is near `stated`, not above it, or not below it; or it
    /// is more or less than under each of the schemes of `than`.
    #[serde(default)]
    pub bound: Relation,
    /// The schemes that it is compared with; left out if a number is stated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub than: Vec<String>,
    /// Whether they hold; `None` for a comparison, which one run cannot decide.
    pub holds: Option<bool>,
}

/// The value of a probe: something that was to be measured besides the scenario's expectations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProbeValue {
    /// The value, in the metric's unit; `None` if there was nothing to measure.
    pub value: Option<f64>,
    /// Whether a goodput was not settled at the end of the window of a time to settle. `value` is then the time until this
    /// end.
    pub never: bool,
}

/// How a measured value should relate to the stated one, or to those of other schemes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// Near it.
    #[default]
    About,
    /// Not above it.
    AtMost,
    /// Not below it.
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
