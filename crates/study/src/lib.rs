//! The layer above single runs: lists of runs with keys, their execution and storage, and views of them.
//!
//! A [`Run`] is a pure function of a scenario's text, its settings, a scheme, a seed, measuring windows and
//! the version of the program. A digest of these is its [`Key`]. A study is a list of runs. A [`Schedule`]
//! decides which of them are missing in a [`RunStore`] and which one is next. An executor makes them:
//! [`Threads`] in this process, or the processes of a cluster. Progress is a callback ([`Watch`]), cancelling
//! is a flag ([`Cancel`]), and errors are values ([`StudyError`]). Nothing here writes to a terminal or ends
//! the process.

mod beside;
mod cancel;
mod clock;
mod compare;
mod error;
mod execute;
mod optimum;
mod optimum_document;
pub mod papers;
pub(crate) mod parallel;
mod plot;
mod point;
pub mod policy;
mod program;
mod propagation;
mod queue;
mod reproduce;
mod requests;
mod run;
mod seeds;
mod source;
mod store;
mod study;
mod sweep;
mod vary;
mod view;

pub use cancel::Cancel;
pub use clock::{ProcessorTime, Stopwatch};
pub use compare::{CompareRequest, Comparison};
pub use error::StudyError;
pub use execute::{Event, Executed, Failure, Schedule, Threads, Watch};
pub use optimum::ScenarioOptimum;
pub use optimum_document::OptimumRequest;
pub use plot::{plot_request, plotted_report, plotted_study, read_results, scheme_styles};
pub use point::Point;
pub use program::{COMMIT, CommandLine, SOURCES, VERSION, window_text};
pub use reproduce::{ReproduceRequest, Reproduction, reproduction_name};
pub use run::{Elsewhere, Key, Made, Pace, Record, Request, Run, Tracing, Viewer};
pub use seeds::Seeds;
pub use source::{Source, refuse_idle, scheme_setting, stem, window};
pub use store::{RUNS, RunStore, SHARED_RUNS};
pub use study::{PartialTables, PlannedRun, Study};
pub use sweep::{Estimate, Filter, Shard, Sweep, SweepRequest, schemes};
pub use vary::{Axis, Varied};
pub use view::{Note, Outcome, View};
