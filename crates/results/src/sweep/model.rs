//! The document of a sweep.
//!
//! Keys and their order are those of the fields below. A value without samples is `null`, never NaN.

use crate::model::{DistanceComparison, LinkComparison, RequestComparison, StyleRow, TrafficComparison};
use serde::{Deserialize, Serialize};

/// Schemes at each point of some axes: means over several seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepDocument {
    /// The version of the document's format, now 1. It increases when a key is removed or changes its meaning, not
    /// when one is added.
    pub schema: u64,
    /// The version of Weir that made it, with the commit that it was built from.
    pub version: String,
    /// The command that makes it, without its output options.
    pub command: String,
    /// The scenario's name, or the path of its file.
    pub scenario: String,
    /// Title of the scenario.
    pub title: String,
    /// The source: paper, section, figure.
    pub source: String,
    /// The `--set` arguments of all points, as given and in that order.
    pub set: Vec<String>,
    /// The axes; empty for a sweep over seeds and schemes alone.
    pub axes: Vec<SweepAxis>,
    /// Names of the schemes, in the order of the command.
    pub schemes: Vec<String>,
    /// The seeds that each scheme ran with at each point.
    pub seeds: Vec<u64>,
    /// The style of each scheme in figures; left out if it is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub styles: Vec<StyleRow>,
    /// One row for each point and scheme.
    pub rows: Vec<SweepRow>,
}

/// A parameter that a sweep varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepAxis {
    /// Its name, or the path that it sets, such as `link.R2-R3.rate`.
    pub name: String,
    /// Its values, in the form of `--set`.
    pub values: Vec<String>,
    /// The unit of `positions`: `bit/s`, `s`, `B`, the word that follows each number, or `1`. `None` if not all values are
    /// numbers with the same kind of unit.
    pub unit: Option<String>,
    /// Its values as numbers in this unit, in the same order; empty without a unit.
    pub positions: Vec<f64>,
}

/// A scheme at one point of the axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRow {
    /// The `--set` arguments that select the point.
    pub set: Vec<String>,
    /// The value on each axis, in the order of `axes`.
    pub values: Vec<String>,
    /// Name of the scheme.
    pub scheme: String,
    /// The variant of its parameters in the scenario; left out for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The reason why the scheme cannot run here, in words; `None` if it can.
    pub left_out: Option<String>,
    /// The number of seeds with a completed run.
    pub runs: u64,
    /// The number of different outcomes of these runs, compared by the figures of their classes, groups and links. Equal flows
    /// with exchanged results make no difference.
    pub distinct: u64,
    /// The number of seeds whose run failed.
    pub failures: u64,
    /// The error of the first of these; `None` without failures.
    pub failure: Option<String>,
    /// Figures: over the whole run first, then over each measuring window; empty without runs.
    pub periods: Vec<SweepPeriod>,
}

/// The figures of a scheme over a part of its runs at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepPeriod {
    /// Its beginning, s.
    pub from_s: f64,
    /// Its end, s.
    pub to_s: f64,
    /// All flows together. The mean delay is over the classes, weighted by their goodputs; the 99th percentile is that of the
    /// class with the largest.
    pub all: TrafficComparison,
    /// Classes.
    pub classes: Vec<TrafficComparison>,
    /// The first 100 groups of flows; a group is the flows of one `[[flow]]` table.
    pub groups: Vec<TrafficComparison>,
    /// The most used directions of links, at most 30: those with a utilisation of at least 0.5 under some scheme, at some point
    /// and over some period.
    pub links: Vec<LinkComparison>,
    /// Requests of flows with `arrivals`, by group and size, and all of them last; left out without such flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<RequestComparison>,
    /// The distance from the optimum; empty if the optimum is not known.
    pub distances: Vec<DistanceComparison>,
}
