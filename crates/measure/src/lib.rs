//! The measurements of a run: the accounts of its flows ([`FlowAccounts`]), links ([`LinkAccounts`]) and
//! nodes ([`NodeAccounts`]), the same in every world; statistics of delays, fairness, and means over seeds;
//! time series ([`Series`]), the measured network ([`Topology`]), and the rows of the run's document
//! ([`RunDocument`]). A [`Report`] contains all of these. Other crates make pages, tables and files from
//! them.

mod accounts;
mod distribution;
mod document;
mod links;
mod model;
mod nodes;
mod optimum;
mod requests;
mod series;
mod stats;
mod trace;

pub use accounts::{Completion, Extent, FlowAccounts, FlowInfo, FlowTotals, Interval};
pub use document::{IN_LAB, to_json};
pub use links::{LinkAccounts, LinkInfo, LinkInterval, LinkTotals};
pub use model::{
    ChangeRow, ClassRow, DelayMs, DistanceRow, Distribution, DistributionRow, DropRow, Estimate,
    ExpectationRow, FlowRow, GroupRow, Hops, LabRow, LinkRow, NodeRow, OptimumFlowRow, OptimumRow,
    ProbeValue, QueueMs, Relation, RequestRow, RunDocument, SlowdownFigures, SlowdownRow, TargetRow,
    TrafficFigures, WindowRow,
};
pub use nodes::{Dropped, DroppedByReason, NodeAccounts, NodeState, drop_rows};
pub use requests::{RequestAccounts, RequestInfo};
pub use series::{
    ClassSeries, ControlSample, ControlSeries, FlowSample, FlowSeries, LinkSample, LinkSeries, NodeSample,
    NodeSeries, Report, RequestSample, Role, Series, Topology, TopologyLink, TopologyMedium, TopologyNode,
};
pub use stats::{DelayHistogram, HopCounts, jain, unfairness};
pub use trace::{Trace, TraceEvent, TraceWhat};
