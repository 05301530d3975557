//! The results of a run: its document ([`RunDocument`]), its time series ([`Series`]) and the
//! network ([`Topology`]), gathered in a [`Report`]; and what is made of them: JSON, Parquet
//! tables, tables for a terminal, and a self-contained HTML page. Of many runs: schemes side by side on
//! one scenario ([`ComparisonDocument`]) or several ([`SummaryDocument`]), and the statements of papers
//! ([`ReproductionDocument`]). The rows of flows are made here, for every world ([`FlowAccounts`]).

mod accounts;
mod comparison;
mod files;
mod format;
mod html;
mod layout;
mod model;
mod optimum;
mod overlay;
mod page;
mod provenance;
mod reproduction;
pub mod schema;
mod series;
mod sheet;
mod stats;
mod summary;
mod table;

pub use accounts::{Completion, Extent, FlowAccounts, FlowInfo, FlowTotals, Interval};
pub use files::{
    WriteError, to_json, write_all, write_comparison, write_comparisons, write_html, write_json,
    write_parquet, write_reproduction,
};
pub use format::{grouped, kind_of_source, named, rate};
pub use html::{POINTS, report_html};
pub use model::{
    BestFlowRow, BestLinkRow, BottleneckRow, Bound, CaseOptimumRow, CaseRow, ClassRow, ComparedScheme,
    ComparisonDocument, DelayEstimates, DelayMs, DistanceComparison, DistanceRow, Estimate, ExpectationRow,
    ExperimentRow, FlowRow, GainRow, GroupRow, HeldRow, LeftOutRow, LinkComparison, LinkRow,
    OptimumCompletionRow, OptimumDocument, OptimumFlowRow, OptimumRow, OptimumWindowRow, PeriodRow, QueueMs,
    ReproductionDocument, RunDocument, ShareRow, StatementRow, SummaryDocument, SummaryPeriod, SummaryPoint,
    SummaryRow, SummaryScenario, TheoryRow, TrafficComparison, WindowDistanceRow, WindowRow,
};
pub use series::{
    ClassSeries, FlowSample, FlowSeries, LinkSample, LinkSeries, Report, Role, Series, Topology,
    TopologyLink, TopologyMedium, TopologyNode,
};
pub use stats::{DelayHistogram, jain, unfairness};
pub use summary::{SummaryContext, SummaryRun};
pub use table::{figures, summary, table, terminal_width};

#[cfg(test)]
use crate as results;
#[cfg(test)]
#[path = "../examples/sample_report/crowd.rs"]
mod crowd;
#[cfg(test)]
#[path = "../examples/sample_report/dumbbell.rs"]
mod sample;
#[cfg(test)]
#[path = "../examples/sample_report/summary.rs"]
mod samples;
