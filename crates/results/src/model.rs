//! The documents of many runs: the comparison of schemes (`weir compare`), the statements of papers (`weir reproduce`), and the
//! optimum.
//!
//! Keys and their order are those of the fields below. A value without samples is `null`, never NaN.

use serde::{Deserialize, Serialize};
use weir_measure::{Estimate, Relation};

/// A comparison of schemes: means over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparisonDocument {
    /// The version of the document's format, now 1. It increases when a key is removed or changes its meaning, not
    /// when one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without its output options.
    #[serde(default)]
    pub command: String,
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The `--set` arguments, as given and in that order.
    pub set: Vec<String>,
    /// Simulated time of each run, s.
    pub simulated_s: f64,
    /// The seeds that each scheme ran with.
    pub seeds: Vec<u64>,
    /// One row for each compared scheme, in the order of the command.
    pub schemes: Vec<ComparedScheme>,
    /// The style of each scheme in figures; left out if it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub styles: Vec<StyleRow>,
    /// Figures: over the whole run first, then over each measuring window.
    pub periods: Vec<PeriodRow>,
}

/// The style of a scheme in figures: the same wherever it is plotted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StyleRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The number of its style: its place among all schemes.
    pub style: u32,
}

/// One of several schemes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedScheme {
    /// Name of the scheme.
    pub scheme: String,
    /// The variant of its parameters in the scenario; left out for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The report of its run with the first seed, relative to this document's folder; `None` if none was written.
    pub report: Option<String>,
    /// Whether the scheme treats all classes alike.
    #[serde(default)]
    pub knows_no_classes: bool,
    /// For each run in the lab in which the machine did not keep up, why its figures are not those of the network; left out if
    /// there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// The part of the Data that was thrown away, for any reason, over the whole run.
    #[serde(default)]
    pub data_thrown_away: Option<Estimate>,
}

/// Figures over a part of all runs. Each class, group and link has one row for each scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeriodRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// All flows together, under each scheme.
    #[serde(default)]
    pub all: Vec<AllComparison>,
    /// Classes.
    pub classes: Vec<TrafficComparison>,
    /// Groups of flows; a group is the flows of one `[[flow]]` table.
    pub groups: Vec<TrafficComparison>,
    /// Directions of links.
    pub links: Vec<LinkComparison>,
    /// Requests of flows with `arrivals`, by group and size, and all of them last; left out without such flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestComparison>,
    /// The distance of each scheme from the optimum; empty if the optimum is not known.
    #[serde(default)]
    pub distances: Vec<DistanceComparison>,
}

/// All flows together under one scheme. Goodput and fairness have no value if all flows are sources of random requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AllComparison {
    /// Name of the scheme.
    pub scheme: String,
    /// Mean completion time of the requests, ms.
    #[serde(default)]
    pub request_mean_ms: SeedFigure,
    /// 99th percentile of the completion time of requests, of the group with the largest, ms.
    #[serde(default)]
    pub request_p99_ms: SeedFigure,
    /// Mean slowdown of the requests.
    #[serde(default)]
    pub slowdown_mean: SeedFigure,
    /// 99th percentile of the slowdown, of the group with the largest.
    #[serde(default)]
    pub slowdown_p99: SeedFigure,
    /// The part of the requests that were complete at the end of the run, 0 to 1.
    #[serde(default)]
    pub requests_complete: SeedFigure,
    /// Data content delivered to applications, bit/s.
    pub goodput_bps: SeedFigure,
    /// Mean delay over the classes, weighted by their goodputs, ms.
    pub delay_mean_ms: SeedFigure,
    /// 99th percentile of the delay, of the class with the largest, ms.
    pub delay_p99_ms: SeedFigure,
    /// Data packets dropped in the network.
    pub lost: SeedFigure,
    /// Share of the optimum, weighted, 0 to 1: the sum of the flows' goodputs, each up to that in the optimum, divided by the
    /// sum of the goodputs in the optimum.
    pub share: SeedFigure,
    /// Jain's fairness index, weighted, 0 to 1: over the ratios of each flow's goodput to that in the optimum.
    pub weighted_jain: SeedFigure,
    /// Jain's fairness index within a class, without weights, 0 to 1: the mean over the classes by their flows.
    pub jain_in_class: SeedFigure,
    /// Mean completion time of the flows, s; of the seeds in which all completed.
    pub completion_mean_s: SeedFigure,
    /// Completion time of the last flow, s after its start; of the seeds in which all completed.
    pub completion_s: SeedFigure,
}

/// A figure and its value with each seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedFigure {
    /// The mean over the seeds, with its confidence interval; `None` if there is no value.
    pub measured: Option<Estimate>,
    /// The value with each seed, in the order of the seeds.
    pub values: Vec<Option<f64>>,
}

/// The distance of a scheme from the optimum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceComparison {
    /// Name of the scheme.
    pub scheme: String,
    /// The objective.
    pub objective: String,
    /// The distance of its flows' goodputs from the optimum.
    #[serde(flatten)]
    pub distance: DistanceEstimates,
    /// How the optimum divides links among classes, such as `AF2 : AF1 : BE = 3 : 2 : 1`; empty if it does not.
    #[serde(default)]
    pub weights: String,
    /// Jain's index, weighted: over the goodput of each flow as a part of its goodput in the optimum.
    #[serde(default)]
    pub weighted_jain: Option<Estimate>,
    /// The part of the links' rates that the scheme aims for, 0 to 1; `None` for all of them.
    #[serde(default)]
    pub target_utilisation: Option<f64>,
    /// The distance from this target; `None` without a target.
    #[serde(default)]
    pub target: Option<DistanceEstimates>,
}

/// Distances of flows' goodputs from those of the optimum, each relative to the latter; means over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceEstimates {
    /// Mean over the flows.
    pub mean: Option<Estimate>,
    /// The largest distance of a flow.
    pub largest: Option<Estimate>,
    /// The lowest distance with its sign: that of the flow furthest below its optimum, or else least above it.
    #[serde(default)]
    pub lowest: Option<Estimate>,
    /// The highest distance with its sign: that of the flow furthest above its optimum, or else least below it.
    #[serde(default)]
    pub highest: Option<Estimate>,
    /// The share of the flows within 5 % of the optimum.
    pub within_5_percent: Option<Estimate>,
}

/// A class or a group of flows under one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrafficComparison {
    /// The class, or the group.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Data content delivered to applications, bit/s.
    pub goodput_bps: Option<Estimate>,
    /// Time from the first transmission of an Interest to its Data, ms.
    pub delay_ms: DelayEstimates,
    /// Data packets dropped in the network.
    pub lost: Option<Estimate>,
    /// Retransmitted Interests.
    pub retransmitted: Option<Estimate>,
    /// Jain's fairness index over the goodputs of its flows, without weights, 0 to 1; `None` with fewer than two flows.
    pub jain: Option<Estimate>,
    /// Completion time of its last flow, s after that flow's start; over the seeds in which all completed.
    pub completion_s: Option<Estimate>,
    /// Mean completion time of its flows, s; over the seeds in which all completed.
    #[serde(default)]
    pub completion_mean_s: Option<Estimate>,
}

/// The requests of a group for objects of some sizes, under one scheme: means over the seeds. A request belongs to the periods in
/// which it came. Completion and slowdown are of those that were complete at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestComparison {
    /// The group; `all groups` for those of all together.
    pub group: String,
    /// The sizes of the objects in Data, such as `10-99`, or `all`.
    pub size: String,
    /// Name of the scheme.
    pub scheme: String,
    /// The requests that came.
    pub came: Option<Estimate>,
    /// The part of them that were complete at the end of the run, 0 to 1.
    pub complete: Option<Estimate>,
    /// From the request to its last Data, ms.
    pub completion_ms: DelayEstimates,
    /// The completion divided by the time that the request would take alone in the network.
    pub slowdown: SlowdownEstimates,
    /// The slowdown if links were shared ideally; left out if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ideal_slowdown: Option<SlowdownEstimates>,
}

/// Mean and 99th percentile of a slowdown, each a mean over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowdownEstimates {
    /// Mean over the requests.
    pub mean: Option<Estimate>,
    /// 99th percentile.
    pub p99: Option<Estimate>,
}

/// One direction of a link under one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkComparison {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Its rate, bit/s.
    pub rate_bps: f64,
    /// The share of time in which it was sending, 0 to 1.
    pub utilisation: Option<Estimate>,
    /// Packets dropped at its queue.
    pub drops: Option<Estimate>,
    /// Packets that the link lost at random.
    #[serde(default)]
    pub lost: Option<Estimate>,
    /// Queueing delay of the link, ms.
    pub queue_ms: DelayEstimates,
}

/// Mean and 99th percentile of a delay, ms, each a mean over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayEstimates {
    /// Mean over the packets.
    pub mean: Option<Estimate>,
    /// 99th percentile.
    pub p99: Option<Estimate>,
}

/// Schemes in several scenarios, each at every point of its axes: means over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryDocument {
    /// The version of the document's format, now 1. It increases when a key is removed or changes its meaning, not
    /// when one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without its output options.
    #[serde(default)]
    pub command: String,
    /// The seeds that each scheme ran with.
    pub seeds: Vec<u64>,
    /// Names of the schemes that are compared, in the order of the command.
    pub schemes: Vec<String>,
    /// The compared schemes that treat all classes alike, if the optimum of some scenario divides links by weights.
    #[serde(default)]
    pub without_classes: Vec<String>,
    /// One row for each scenario.
    pub scenarios: Vec<SummaryScenario>,
}

/// One of several scenarios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryScenario {
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The source: paper, section, figure.
    pub source: String,
    /// The fixed schemes of some of its flows, whichever scheme is compared; empty for most scenarios.
    pub others: Vec<String>,
    /// The schemes with a variant of their parameters, each with its variant: `pcon (qsccp)`, or with all variants of its
    /// points: `pcon (article, qsccp)`; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// The page with all of its tables, relative to this document's folder; `None` if none was written.
    #[serde(default)]
    pub page: Option<String>,
    /// Its column of the matrix: one row for each scheme, in the order of `schemes`, with the means over the points.
    #[serde(default)]
    pub matrix: Vec<MatrixRow>,
    /// Each point of its axes; one for a scenario without axes.
    pub points: Vec<SummaryPoint>,
}

/// The figures of a scheme in a scenario, or at one point of its axes: over the measuring windows, or over the whole run if it
/// has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixRow {
    /// Name of the scheme.
    pub scheme: String,
    /// Share of the optimum: the sum of the flows' goodputs, each up to that in the optimum, divided by the sum of the
    /// goodputs in the optimum; the mean over the windows, weighted by their lengths.
    pub share: MatrixFigure,
    /// Jain's fairness index, weighted: over the ratios of each flow's goodput to that in the optimum; the same mean.
    pub jain: MatrixFigure,
    /// Jain's fairness index within a class, without weights; the mean over the classes by their flows, and the same mean.
    #[serde(default)]
    pub jain_in_class: MatrixFigure,
    /// Mean delay as a multiple of the propagation delay to the nearest producer and back, over the flows by their
    /// goodputs; the same mean.
    pub delay_over_propagation: MatrixFigure,
    /// Data dropped in the network, divided by dropped and delivered Data; the same mean.
    pub lost: MatrixFigure,
    /// Time until goodputs settled after a change, s; the mean over the changes.
    pub settle_s: MatrixFigure,
    /// Mean slowdown of requests; the same mean as the share.
    #[serde(default)]
    pub slowdown: MatrixFigure,
}

/// A figure of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixFigure {
    /// The mean over the points and seeds, with its confidence interval over the seeds; `None` if there is no value.
    pub measured: Option<Estimate>,
    /// For each seed, in order, the mean over the points.
    pub values: Vec<Option<f64>>,
    /// The worst point of the axes; `None` for a single point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstPoint>,
    /// The reason for a missing value, in words; left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// For times to settle: whether goodputs settled at no point and in no seed. The times are then those until the ends of the
    /// windows. Left out otherwise.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub never: bool,
}

/// The point of a scenario's axes where a figure is worst.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstPoint {
    /// The `--set` arguments that select it.
    pub set: Vec<String>,
    /// The mean over the seeds there.
    pub mean: f64,
}

/// A scenario at one point of its axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryPoint {
    /// The `--set` arguments that select it, such as `axis.delay=5 ms`; empty for a scenario without axes.
    pub set: Vec<String>,
    /// The page that compares the schemes only here, relative to this document's folder; `None` if none was written.
    pub page: Option<String>,
    /// The schemes that could not run here.
    pub left_out: Vec<LeftOutRow>,
    /// The rows of the matrix: one for each scheme that ran.
    #[serde(default)]
    pub matrix: Vec<MatrixRow>,
    /// Figures over the whole run first, unless a window has the same length, then over each measuring window.
    pub periods: Vec<SummaryPeriod>,
}

/// A scheme that could not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOutRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The reason, in words.
    pub why: String,
}

/// Figures of the schemes over a part of all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryPeriod {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// The sum of the goodputs in the optimum, bit/s; `None` if the optimum is not known.
    pub optimum_bps: Option<f64>,
    /// The same if no consumers shared Data, bit/s; `None` if no two consumers of a prefix have links in common, so that it is
    /// the same.
    #[serde(default)]
    pub unshared_optimum_bps: Option<f64>,
    /// How the optimum divides links among classes, such as `AF2 : AF1 : BE = 3 : 2 : 1`; empty if it does not.
    #[serde(default)]
    pub weights: String,
    /// One row for each scheme.
    pub rows: Vec<SummaryRow>,
}

/// A scheme's figures, of all flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Name of the scheme.
    pub scheme: String,
    /// Data content delivered to applications, bit/s.
    pub goodput_bps: Option<Estimate>,
    /// Mean goodput of the flows that run the scheme, divided by that of the flows with a fixed scheme; `None` without
    /// such flows.
    pub ratio: Option<Estimate>,
    /// Mean utilisation, 0 to 1, of the bottleneck links of the optimum; `None` if the optimum is not known.
    pub utilisation: Option<Estimate>,
    /// Jain's fairness index, weighted, 0 to 1: over the ratios of each flow's goodput to that in the optimum; `None` if
    /// the optimum is not known, or with fewer than two flows.
    pub jain: Option<Estimate>,
    /// Jain's fairness index within a class, without weights: the mean over the classes by their flows; `None` if no class
    /// has two flows.
    #[serde(default)]
    pub jain_in_class: Option<Estimate>,
    /// The part of the Data that was thrown away, for any reason, over the whole run.
    #[serde(default)]
    pub data_thrown_away: Option<Estimate>,
    /// Time from the first transmission of an Interest to its Data, ms. The mean is over the classes, weighted by their goodputs;
    /// the 99th percentile is that of the class with the largest.
    pub delay_ms: DelayEstimates,
    /// Data packets dropped in the network.
    pub lost: Option<Estimate>,
    /// Retransmitted Interests.
    pub retransmitted: Option<Estimate>,
    /// Mean completion time of the flows, s; over the seeds in which all completed.
    pub completion_mean_s: Option<Estimate>,
    /// Completion time of the last flow, s after its start; over the seeds in which all completed.
    pub completion_s: Option<Estimate>,
    /// The requests of all groups; left out without flows with `arrivals`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestComparison>,
    /// Time until the last of the goodputs with an expectation has settled, s; `None` without such an expectation.
    pub settle_s: Option<Estimate>,
    /// The number of seeds in which one of them was not settled at the end of the window. They count in `settle_s` with
    /// the time until this end. Left out if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never_settled: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Statements of papers, compared with measurements over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReproductionDocument {
    /// The version of the document's format, now 1. It increases when a key is removed or changes its meaning, not
    /// when one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without its output options.
    #[serde(default)]
    pub command: String,
    /// The seeds that every case ran with.
    pub seeds: Vec<u64>,
    /// One row for each experiment.
    pub experiments: Vec<ExperimentRow>,
}

/// One experiment: a scenario, at each point of its axes and under each scheme that it states
/// something about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExperimentRow {
    /// The scenario's name, such as `qsccp/dumbbell`, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The source: paper, section, figure.
    pub source: String,
    /// One row for each point and scheme.
    pub cases: Vec<CaseRow>,
}

/// An experiment at one point of its axes, under one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseRow {
    /// The `--set` arguments that select the point, such as `axis.ratio=0.4`; empty for an experiment without axes.
    pub set: Vec<String>,
    /// Name of the scheme.
    pub scheme: String,
    /// The number of different outcomes of its runs; one if the seed changes nothing.
    #[serde(default)]
    pub distinct: u64,
    /// The values that were chosen to match the stated figures (`fitted:`), `PATH = VALUE`. A statement that holds with them
    /// shows that a consistent set of values exists, not that it is the authors'.
    #[serde(default)]
    pub fitted: Vec<String>,
    /// The report of the run with the first seed, relative to this document's folder; `None` if none was written.
    pub report: Option<String>,
    /// Whether its runs were made in the lab.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lab: bool,
    /// For each run in the lab in which the machine did not keep up, why its figures are not those of the network; left out if
    /// there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// The statements about the case, from the paper and other sources.
    pub statements: Vec<StatementRow>,
    /// The optimum and the runs' distance from it; `None` if it is not known.
    #[serde(default)]
    pub optimum: Option<CaseOptimumRow>,
}

/// The best allocation for a case, independent of the scheme, and the distance of its runs from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseOptimumRow {
    /// The objective, such as `link-fair`.
    pub objective: String,
    /// The usable part of the links' rates, 0 to 1.
    pub utilisation: f64,
    /// One row for each measuring window of the scenario, or one for the whole run if it has none.
    pub windows: Vec<WindowDistanceRow>,
    /// Features of the scenario that it ignores, in words; empty if none.
    #[serde(default)]
    pub note: String,
}

/// Distances of flows' goodputs from those of the optimum over a window, each relative to the latter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowDistanceRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// The distances.
    #[serde(flatten)]
    pub distance: DistanceEstimates,
}

/// One statement, checked in every seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementRow {
    /// The first word of the source: `paper`, `files`, `theory`, `assumed`.
    pub kind: String,
    /// Whether a paper states it in words: an order of schemes, or a bound that the scenario sets or derives.
    #[serde(default)]
    pub qualitative: bool,
    /// The measured quantity in words, such as `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// The place of the statement.
    pub source: String,
    /// Unit of all its values: `bit/s`, `ms`, `s`, `packets`, `flows`, or `1` for ratios.
    pub unit: String,
    /// The stated value; `None` for a comparison with other schemes.
    pub stated: Option<f64>,
    /// Tolerance of the stated value, as in an expectation.
    pub tolerance: f64,
    /// The stated relation, as in an expectation.
    pub bound: Relation,
    /// The values under the schemes that it is compared with; empty if a number is stated.
    #[serde(default)]
    pub than: Vec<OtherSchemeRow>,
    /// The scenario's theoretical values for the same figure; empty without them.
    pub theory: Vec<TheoryRow>,
    /// The figure in the optimum of the case; `None` if the optimum does not have it.
    #[serde(default)]
    pub optimum: Option<f64>,
    /// The measured value.
    pub measured: Option<Estimate>,
    /// The measured value for each seed, in their order; `None` if there was nothing to measure.
    pub values: Vec<Option<f64>>,
    /// The number of seeds in which a goodput was not settled at the end of the window of a time to settle; left out if
    /// there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub never: u64,
    /// The number of seeds in which it holds.
    pub held: u64,
    /// Whether it holds in all of them.
    pub holds: bool,
}

/// The figure of a statement under another scheme, with the same scenario, point and seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherSchemeRow {
    /// The scheme.
    pub scheme: String,
    /// The measured value.
    pub measured: Option<Estimate>,
    /// The measured value for each seed, in their order; `None` if there was nothing to measure.
    pub values: Vec<Option<f64>>,
}

/// A theoretical value of a figure, as the scenario derives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TheoryRow {
    /// Its value or bound.
    pub value: f64,
    /// Whether it is a value or a bound.
    pub bound: Relation,
    /// Its derivation.
    pub source: String,
}

/// The best allocation for a scenario: what `weir optimum --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumDocument {
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The `--set` arguments, as given and in that order.
    pub set: Vec<String>,
    /// The objective: `link-fair`, `max-min`, `proportional` or `max-flow`.
    pub objective: String,
    /// The usable part of the links' rates, 0 to 1.
    pub utilisation: f64,
    /// Each window.
    pub windows: Vec<OptimumWindowRow>,
    /// The time at which each flow with an amount would have completed.
    pub completions: Vec<OptimumCompletionRow>,
    /// Why completion times are not exact; `None` if they are.
    #[serde(default)]
    pub completions_inexact: Option<String>,
    /// The parts that were left out, in words.
    pub notes: Vec<String>,
}

/// The best allocation over a window: means if something changes in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumWindowRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// The number of periods in which nothing changes.
    pub pieces: u64,
    /// Whether rates are exact, to nine digits.
    pub exact: bool,
    /// Why rates are not exact; `None` if they are.
    #[serde(default)]
    pub inexact: Option<String>,
    /// One row for each flow.
    pub flows: Vec<BestFlowRow>,
    /// One row for each direction of each link.
    pub links: Vec<BestLinkRow>,
    /// The bottleneck links, those with the smallest rates first.
    pub bottlenecks: Vec<BottleneckRow>,
    /// The target of the scenario's own scheme, if it aims for a part of the links only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetGoodputRow>,
}

/// The target of a scheme: the optimum if only a part of the links' rates may be used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetGoodputRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The part of the links' rates, 0 to 1.
    pub utilisation: f64,
    /// Data content delivered to the applications, all flows together, bit/s.
    pub goodput_bps: f64,
}

/// The allocation of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestFlowRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix that it fetches.
    pub prefix: String,
    /// Its service class.
    pub class: String,
    /// All bits of its Data, bit/s.
    pub rate_bps: f64,
    /// Their content, bit/s.
    pub goodput_bps: f64,
    /// Its rate under max-min fairness over all routes at once, all bits; `None` if not computed.
    pub max_min_bps: Option<f64>,
    /// Its rate if it were the only flow: the maximum flow over its routes, all bits.
    pub alone_bps: f64,
    /// Its rate if no consumers shared Data, all bits; `None` if no two consumers of the prefix have a link in common, so that it
    /// is the same.
    pub unshared_bps: Option<f64>,
    /// The content of `unshared_bps`.
    pub unshared_goodput_bps: Option<f64>,
    /// Its bottlenecks, longest first.
    pub held: Vec<HeldRow>,
}

/// A bottleneck of a flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldRow {
    /// A full link with its direction, such as `R3->R2`; or `source`: the flow requests no more.
    pub by: String,
    /// The part of the window in which it is a bottleneck, 0 to 1.
    pub part: f64,
}

/// The load of one direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestLinkRow {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Its rate, bit/s; a mean over the window, 0 while it is down.
    pub rate_bps: f64,
    /// Data, bit/s.
    pub data_bps: f64,
    /// Interests, bit/s.
    pub interest_bps: f64,
    /// The part of the window in which it is a bottleneck, 0 to 1.
    pub binding: f64,
    /// The fair share of a flow that wants more, for each class with flows there; only under `link-fair`.
    pub shares: Vec<ShareRow>,
}

/// The share of a link for a flow of a class that wants more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareRow {
    /// Name of the service class.
    pub class: String,
    /// All bits of its Data, bit/s.
    pub rate_bps: f64,
}

/// A bottleneck link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BottleneckRow {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The smallest rate of a flow that it limits, all bits, bit/s.
    pub least_bps: f64,
    /// The flows that it limits: indices in the window's list.
    pub flows: Vec<u64>,
    /// The gains and losses of flows, the largest first; `None` if not computed.
    pub gains: Option<Vec<GainRow>>,
}

/// The gain of a flow if a link's rate increases.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GainRow {
    /// The flow: its index in the window's list.
    pub flow: u64,
    /// Growth of its rate, all bits, for each bit/s that the link gains.
    pub gain: f64,
}

/// The time at which a flow with an amount would have completed, if no time passed between Interests and Data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumCompletionRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix that it fetches.
    pub prefix: String,
    /// Its service class.
    pub class: String,
    /// Time after its own start, s; `None` if not within the run.
    pub completion_s: Option<f64>,
    /// The same if no consumers shared Data; also `None` if this makes no difference.
    pub unshared_s: Option<f64>,
    /// The propagation of an Interest and its Data by the fastest of its routes at its start, s.
    #[serde(default)]
    pub round_trip_s: f64,
    /// The time it would take if it were the only flow: a round trip, and the transmission of its Data at the largest rate
    /// that its source and its routes allow, s; `None` if they would never come.
    #[serde(default)]
    pub alone_s: Option<f64>,
    /// Its completion plus a round trip, divided by `alone_s`, 1 or more; `None` if it is not complete within the run.
    #[serde(default)]
    pub slowdown: Option<f64>,
}
