//! The measurements of a run: the accounts of its flows ([`FlowAccounts`]), links ([`LinkAccounts`]) and nodes
//! ([`NodeAccounts`]), the same in every world; statistics
//! of delays, fairness, and means over seeds; time series ([`Series`]), the measured network ([`Topology`]),
//! and the rows of the run's document ([`RunDocument`]). A [`Report`] contains all of these. Other crates make pages,
//! tables and files of them.

mod accounts;
mod document;
mod links;
mod model;
mod nodes;
mod optimum;
mod series;
mod stats;

pub use accounts::{Completion, Extent, FlowAccounts, FlowInfo, FlowTotals, Interval};
pub use document::to_json;
pub use links::{LinkAccounts, LinkInfo, LinkInterval, LinkTotals};
pub use model::{
    Bound, ClassRow, DelayMs, DistanceRow, DropRow, Estimate, ExpectationRow, FlowRow, GroupRow, Hops,
    LinkRow, NodeRow, OptimumFlowRow, OptimumRow, ProbeValue, QueueMs, RunDocument, SlowdownRow, TargetRow,
    TrafficFigures, WindowRow,
};
pub use nodes::{Dropped, DroppedByReason, NodeAccounts, NodeState, drop_rows};
pub use series::{
    ClassSeries, FlowSample, FlowSeries, LinkSample, LinkSeries, NodeSample, NodeSeries, Report, Role,
    Series, Topology, TopologyLink, TopologyMedium, TopologyNode,
};
pub use stats::{DelayHistogram, HopCounts, jain, unfairness};
