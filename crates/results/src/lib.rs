//! The results of a run, rendered: its report ([`weir_measure::Report`]) as JSON, Parquet tables, tables for a
//! terminal, and a self-contained HTML page. Of many runs: schemes side by side on one scenario
//! ([`ComparisonDocument`]), on several ([`SummaryDocument`]) or over axes ([`SweepDocument`]), and the statements of
//! papers ([`ReproductionDocument`]).

mod columns;
mod comparison;
mod contest;
mod files;
mod format;
mod html;
mod layout;
mod matrix;
mod model;
mod optimum;
mod overlay;
mod page;
pub mod plot;
mod pooled;
mod provenance;
mod published;
mod quantity;
mod read;
mod reproduction;
mod requests;
pub mod schema;
mod sheet;
mod standing;
mod study_tables;
mod summary;
mod sweep;
mod table;
mod thinned;
mod thrown;
mod trace;
mod verdict;

pub use comparison::doubts;
pub use files::{
    WriteError, write_all, write_atomically, write_comparison, write_comparisons, write_html, write_json,
    write_parquet, write_reproduction, write_reproduction_with, write_sweep,
};
pub use format::{grouped, is_said_by, kind_of_source, named, rate, time};
pub use html::{POINTS, RunProgress, live_data, live_html, report_html};
pub use model::{
    AllComparison, BestFlowRow, BestLinkRow, BottleneckRow, CaseOptimumRow, CaseRow, ComparedScheme,
    ComparisonDocument, DelayEstimates, DistanceComparison, DistanceEstimates, ExperimentRow, GainRow,
    HeldRow, LeftOutRow, LinkComparison, MatrixFigure, MatrixRow, OptimumCompletionRow, OptimumDocument,
    OptimumWindowRow, OtherSchemeRow, PeriodRow, ReproductionDocument, RequestComparison, SeedFigure,
    ShareRow, SlowdownEstimates, StatementRow, StyleRow, SummaryDocument, SummaryPeriod, SummaryPoint,
    SummaryRow, SummaryScenario, TargetGoodputRow, TheoryRow, TrafficComparison, WindowDistanceRow,
    WorstPoint,
};
pub use pooled::pooled;
pub use published::{
    OLDER, PublishedPage, PublishedRow, ScenarioFacts, Stamp, read_published, write_published,
};
pub use read::read_series;
pub use reproduction::PaperFigure;
pub use study_tables::{
    Axis, Figure, NameTaken, StudyRun, StudyTables, StudyTablesError, Value, Window, figures_of,
};
pub use summary::{SettleTime, SummaryContext, SummaryRun};
pub use sweep::{SweepAxis, SweepDocument, SweepPeriod, SweepRow};
pub use table::{figures, summary, table, terminal_width, wrapped};
pub use thinned::ThinnedSeries;
pub use trace::{TraceFile, TraceFilter, TraceNames};

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
#[cfg(test)]
#[path = "../examples/sample_report/sweep.rs"]
mod sweeps;
