//! The documents of many runs: of schemes side by side, those of `weir compare`; of the statements of papers, that of
//! `weir reproduce`; and that of the optimum.
//!
//! Keys and their order are those of the fields below. What has no sample is `null`, never NaN.

use serde::{Deserialize, Serialize};
use weir_measure::{Bound, Estimate};

/// Schemes side by side: means over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparisonDocument {
    /// Which shape of the document this is, now 1: it goes up when a key goes or changes its meaning, not when
    /// one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without what says where results go.
    #[serde(default)]
    pub command: String,
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// What was changed with `--set`, as given and in that order.
    pub set: Vec<String>,
    /// Simulated time of each run, s.
    pub simulated_s: f64,
    /// The seeds that each scheme ran with.
    pub seeds: Vec<u64>,
    /// A row a scheme that is compared, in the order of the command.
    pub schemes: Vec<ComparedScheme>,
    /// Their figures: over the whole run first, then over each measuring window.
    pub periods: Vec<PeriodRow>,
}

/// One of several schemes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedScheme {
    /// Name of the scheme.
    pub scheme: String,
    /// The variant of its parameters that the scenario names; left out for the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The report of its run with the first seed, from the folder of this document; `None` if none was
    /// written.
    pub report: Option<String>,
}

/// Figures over a part of all runs; for each class, group and link a row a scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeriodRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// Of classes.
    pub classes: Vec<TrafficComparison>,
    /// Of groups of flows, those of one `[[flow]]` table.
    pub groups: Vec<TrafficComparison>,
    /// Of each direction of links.
    pub links: Vec<LinkComparison>,
    /// How far each scheme is from the optimum; empty where that is not known.
    #[serde(default)]
    pub distances: Vec<DistanceComparison>,
}

/// How far a scheme is from the optimum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceComparison {
    /// Name of the scheme.
    pub scheme: String,
    /// Which allocation is best.
    pub objective: String,
    /// How far the goodputs of its flows are from the optimum's.
    #[serde(flatten)]
    pub distance: DistanceEstimates,
}

/// How far the goodputs of flows are from those of the optimum, each as a part of the latter; means over the seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DistanceEstimates {
    /// Mean over the flows.
    pub mean: Option<Estimate>,
    /// That of the flow that is furthest away.
    pub largest: Option<Estimate>,
    /// Of the flow that is furthest below, or least above: negative below.
    #[serde(default)]
    pub lowest: Option<Estimate>,
    /// Of the flow that is furthest above, or least below.
    #[serde(default)]
    pub highest: Option<Estimate>,
    /// The part of the flows that are within 5 %.
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
    /// From the first sending of an Interest to its Data, ms.
    pub delay_ms: DelayEstimates,
    /// Data packets dropped in the network.
    pub lost: Option<Estimate>,
    /// Interests sent again.
    pub retransmitted: Option<Estimate>,
    /// Jain's fairness index over the goodputs of its flows, 0 to 1; `None` with fewer than two.
    pub jain: Option<Estimate>,
    /// When its last flow was done, s after the flow's start; over the seeds in which all were.
    pub completion_s: Option<Estimate>,
    /// Mean over its flows of the time that each took, s; over the seeds in which all were done.
    #[serde(default)]
    pub completion_mean_s: Option<Estimate>,
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
    /// The part of its time it was sending, 0 to 1.
    pub utilisation: Option<Estimate>,
    /// Packets dropped in front of it.
    pub drops: Option<Estimate>,
    /// Queueing delay in front of it, ms.
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

/// Schemes on several scenarios, each at every point of its axes: means over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryDocument {
    /// Which shape of the document this is, now 1: it goes up when a key goes or changes its meaning, not when
    /// one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without what says where results go.
    #[serde(default)]
    pub command: String,
    /// The seeds that each scheme ran with.
    pub seeds: Vec<u64>,
    /// Names of the schemes that are compared, in the order of the command.
    pub schemes: Vec<String>,
    /// A row a scenario.
    pub scenarios: Vec<SummaryScenario>,
}

/// One of several scenarios.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryScenario {
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// Where it comes from: paper, section, figure.
    pub source: String,
    /// The schemes that some of its flows run, whichever is compared; empty for most scenarios.
    pub others: Vec<String>,
    /// The schemes for which it names a variant of their parameters, each with that: `pcon (qsccp)`; left out
    /// where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<String>,
    /// Its page with all of its tables, from the folder of this document; `None` if none was written.
    #[serde(default)]
    pub page: Option<String>,
    /// Its column of the matrix: a row a scheme, in the order of `schemes`, with the means over the points.
    #[serde(default)]
    pub matrix: Vec<MatrixRow>,
    /// Each point of its axes; one for a scenario without axes.
    pub points: Vec<SummaryPoint>,
}

/// What the matrix has of a scheme on a scenario, or at one point of its axes: over the measuring windows, or over the
/// whole run where it has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixRow {
    /// Name of the scheme.
    pub scheme: String,
    /// The part of the optimum that flows have: the sum of their goodputs, each up to what the flow has in the optimum, over
    /// the sum of these; the mean over the windows, by their lengths.
    pub share: MatrixFigure,
    /// Jain's fairness index of the flows' goodputs, each as a part of what the flow has in the optimum; the same mean.
    pub jain: MatrixFigure,
    /// Mean delay as a multiple of the propagation delay to the nearest producer and back, over the flows by their
    /// goodputs; the same mean.
    pub delay_over_propagation: MatrixFigure,
    /// Data dropped in the network, as a part of these and those that were delivered; the same mean.
    pub lost: MatrixFigure,
    /// When goodputs had settled after a change, s; the mean over the changes that are asked about.
    pub settle_s: MatrixFigure,
}

/// A figure of the matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatrixFigure {
    /// The mean over the points and seeds, with its interval over the seeds; `None` where nothing is known.
    pub measured: Option<Estimate>,
    /// In each seed, in their order, the mean over the points.
    pub values: Vec<Option<f64>>,
    /// The point of the axes where it is worst; `None` at a point, and where there is one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstPoint>,
    /// Why nothing is known, in words; left out where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The point of a scenario's axes where a figure is worst.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstPoint {
    /// What picks it with `--set`.
    pub set: Vec<String>,
    /// The mean over the seeds there.
    pub mean: f64,
}

/// A scenario at one point of its axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryPoint {
    /// What picks it with `--set`, such as `axis.delay=5 ms`; empty for a scenario without axes.
    pub set: Vec<String>,
    /// The page that compares the schemes here alone, from the folder of this document; `None` if none was
    /// written.
    pub page: Option<String>,
    /// The schemes that could not run here.
    pub left_out: Vec<LeftOutRow>,
    /// What the matrix is made of: a row a scheme that ran.
    #[serde(default)]
    pub matrix: Vec<MatrixRow>,
    /// Figures over the whole run first, unless a window is as long, then over each measuring window.
    pub periods: Vec<SummaryPeriod>,
}

/// A scheme that could not run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LeftOutRow {
    /// Name of the scheme.
    pub scheme: String,
    /// Why, in words.
    pub why: String,
}

/// Figures of the schemes over a part of all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryPeriod {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// What all flows would have together in the best allocation, bit/s; `None` where that is not known.
    pub optimum_bps: Option<f64>,
    /// A row a scheme.
    pub rows: Vec<SummaryRow>,
}

/// A scheme's figures, of all flows together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Name of the scheme.
    pub scheme: String,
    /// Data content delivered to applications, bit/s.
    pub goodput_bps: Option<Estimate>,
    /// Mean goodput of the flows that run the scheme, as a part of that of the flows that run one of their own;
    /// `None` without such flows.
    pub ratio: Option<Estimate>,
    /// Mean utilisation, 0 to 1, of the bottleneck links of the optimum; `None` where that is not
    /// known.
    pub utilisation: Option<Estimate>,
    /// Jain's fairness index, 0 to 1, of the flows' goodputs, each as a part of what the flow has in the optimum;
    /// `None` where that is not known, or of fewer than two.
    pub jain: Option<Estimate>,
    /// From the first sending of an Interest to its Data, ms. The mean is over the classes, each with the weight
    /// of its goodput, the 99th percentile that of the class where it is largest.
    pub delay_ms: DelayEstimates,
    /// Data packets dropped in the network.
    pub lost: Option<Estimate>,
    /// Interests sent again.
    pub retransmitted: Option<Estimate>,
    /// Mean over the flows of the time that each took, s; over the seeds in which all were done.
    pub completion_mean_s: Option<Estimate>,
    /// When the last flow was done, s after its start; over the seeds in which all were.
    pub completion_s: Option<Estimate>,
    /// After which time the goodputs that the scenario says something about have settled, the last of them, s;
    /// `None` where it says nothing.
    pub settle_s: Option<Estimate>,
}

/// What papers state, beside what was measured over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReproductionDocument {
    /// Which shape of the document this is, now 1: it goes up when a key goes or changes its meaning, not when
    /// one is added.
    #[serde(default)]
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    #[serde(default)]
    pub version: String,
    /// The command that makes it, without what says where results go.
    #[serde(default)]
    pub command: String,
    /// The seeds that every case ran with.
    pub seeds: Vec<u64>,
    /// A row an experiment.
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
    /// Where it comes from: paper, section, figure.
    pub source: String,
    /// A row a point and scheme.
    pub cases: Vec<CaseRow>,
}

/// An experiment at one point of its axes, under one scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseRow {
    /// What picks the point with `--set`, such as `axis.ratio=0.4`; empty for an experiment without axes.
    pub set: Vec<String>,
    /// Name of the scheme.
    pub scheme: String,
    /// The report of the run with the first seed, from the folder of this document; `None` if none was
    /// written.
    pub report: Option<String>,
    /// What is stated about the case, by the paper and by others.
    pub statements: Vec<StatementRow>,
    /// What theory says is best, and how far the runs are from it; `None` where that is not known.
    #[serde(default)]
    pub optimum: Option<CaseOptimumRow>,
}

/// The best allocation for a case, whatever the scheme, and how far its runs are from it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseOptimumRow {
    /// Which allocation is best, such as `link-fair`.
    pub objective: String,
    /// The part of links' rates that it may use, 0 to 1.
    pub utilisation: f64,
    /// A row a measuring window of the scenario, or one for the whole run where it has none.
    pub windows: Vec<WindowDistanceRow>,
    /// What it does not know of the scenario, in words; empty if nothing.
    #[serde(default)]
    pub note: String,
}

/// How far the goodputs of flows are from those of the optimum over a window, each as a part of the latter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WindowDistanceRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// How far they are.
    #[serde(flatten)]
    pub distance: DistanceEstimates,
}

/// One statement, checked in every seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatementRow {
    /// Who states it, the first word of the source: `paper`, `files`, `theory`, `assumed`.
    pub kind: String,
    /// What is measured, in words, such as `goodput of class EF, 20 s to 120 s`.
    pub what: String,
    /// Where it is stated.
    pub source: String,
    /// Unit of all its values: `bit/s`, `ms`, `s`, `packets`, `flows`, or `1` for ratios.
    pub unit: String,
    /// What is stated there; `None` where it is how the scheme compares with others.
    pub stated: Option<f64>,
    /// As that of an expectation.
    pub tolerance: f64,
    /// As that of an expectation.
    pub bound: Bound,
    /// What was measured under the schemes that it is compared with; empty where a number is stated.
    #[serde(default)]
    pub than: Vec<OtherSchemeRow>,
    /// What the scenario derives from theory for the same figure; empty where it does not.
    pub theory: Vec<TheoryRow>,
    /// What the figure is in the optimum of the case; `None` where that does not say.
    #[serde(default)]
    pub optimum: Option<f64>,
    /// What was measured.
    pub measured: Option<Estimate>,
    /// What was measured in each seed, in their order; `None` where there was nothing to measure.
    pub values: Vec<Option<f64>>,
    /// In how many seeds it holds.
    pub held: u64,
    /// Whether it holds in all of them.
    pub holds: bool,
}

/// The figure of a statement under another scheme, with the same scenario, point and seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherSchemeRow {
    /// The scheme.
    pub scheme: String,
    /// What was measured.
    pub measured: Option<Estimate>,
    /// What was measured in each seed, in their order; `None` where there was nothing to measure.
    pub values: Vec<Option<f64>>,
}

/// What theory allows for a figure, as the scenario derives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TheoryRow {
    /// Its value, or the bound of it.
    pub value: f64,
    /// Which of these.
    pub bound: Bound,
    /// How it comes about.
    pub source: String,
}

/// The best allocation for a scenario: what `weir optimum --json` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumDocument {
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// What was changed with `--set`, as given and in that order.
    pub set: Vec<String>,
    /// Which allocation is best: `link-fair`, `max-min`, `proportional` or `max-flow`.
    pub objective: String,
    /// The part of links' rates that may be used, 0 to 1.
    pub utilisation: f64,
    /// Each window.
    pub windows: Vec<OptimumWindowRow>,
    /// When each flow that has an amount would have fetched it.
    pub completions: Vec<OptimumCompletionRow>,
    /// What was left out, in words.
    pub notes: Vec<String>,
}

/// The best allocation over a window: means where something changes in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumWindowRow {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// In how many pieces it falls, in which nothing changes.
    pub pieces: u64,
    /// Whether rates are exact; if not, they may be off by a thousandth or so.
    pub exact: bool,
    /// A row a flow.
    pub flows: Vec<BestFlowRow>,
    /// A row a link and direction.
    pub links: Vec<BestLinkRow>,
    /// The bottleneck links, those with the smallest rates first.
    pub bottlenecks: Vec<BottleneckRow>,
}

/// What one flow gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestFlowRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix it fetches under.
    pub prefix: String,
    /// Its service class.
    pub class: String,
    /// All bits of its Data, bit/s.
    pub rate_bps: f64,
    /// Their content, bit/s.
    pub goodput_bps: f64,
    /// What it would get under max-min fairness over all routes at once, all bits; `None` where that was not
    /// computed.
    pub max_min_bps: Option<f64>,
    /// What it could get if it were alone: the maximum flow over its routes, all bits.
    pub alone_bps: f64,
    /// What keeps it from more, longest first.
    pub held: Vec<HeldRow>,
}

/// What keeps a flow from more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldRow {
    /// A link in the direction that is full, such as `R3->R2`, or `source`: it asks for no more.
    pub by: String,
    /// The part of the window in which it does, 0 to 1.
    pub part: f64,
}

/// What one direction of a link carries.
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
    /// The part of the window in which it keeps a flow from more, 0 to 1.
    pub binding: f64,
    /// What it grants a flow that wants more, for each class with flows there; under `link-fair` only.
    pub shares: Vec<ShareRow>,
}

/// What a link grants a flow of a class that wants more.
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
    /// The smallest rate of a flow that it keeps from more, all bits, bit/s.
    pub least_bps: f64,
    /// Those flows: places in the window's list.
    pub flows: Vec<u64>,
    /// What flows gain or lose, the largest first; `None` where it was not computed.
    pub gains: Option<Vec<GainRow>>,
}

/// What a flow gains if a link is made faster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GainRow {
    /// The flow: its place in the window's list.
    pub flow: u64,
    /// By how much its rate grows, all bits, for each bit/s by which the link's does.
    pub gain: f64,
}

/// When a flow that has an amount would have fetched it, if no time passed between Interests and Data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OptimumCompletionRow {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix it fetches under.
    pub prefix: String,
    /// Its service class.
    pub class: String,
    /// After its own start, s; `None` if not within the run.
    pub completion_s: Option<f64>,
}
