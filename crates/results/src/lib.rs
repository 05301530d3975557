//! The results of a run: its document ([`RunDocument`]), its time series ([`Series`]) and the
//! network ([`Topology`]), gathered in a [`Report`]; and what is made of them: JSON, Parquet
//! tables, tables for a terminal, and a self-contained HTML page.

mod model;
mod series;
mod stats;

pub use model::{ClassRow, DelayMs, ExpectationRow, FlowRow, LinkRow, QueueMs, RunDocument, WindowRow};
pub use series::{
    ClassSeries, FlowSample, FlowSeries, LinkSample, LinkSeries, Report, Role, Series, Topology,
    TopologyLink, TopologyNode,
};
pub use stats::{DelayHistogram, jain};
