//! The common interface of sweeps, comparisons and reproductions: each is a view of a study.

use std::path::Path;
use std::sync::Arc;

use weir_measure::to_json;
use weir_results::{ComparisonDocument, ReproductionDocument, SummaryDocument, SweepDocument, write_all};

use crate::error::StudyError;
use crate::execute::{Executed, Failure};
use crate::program::CommandLine;
use crate::run::{Made, Run};
use crate::store::RunStore;
use crate::study::Study;

/// A callback with the result of writing something.
pub type Note<'a> = &'a dyn Fn(Result<(), StudyError>);

/// A planned study, and the documents that are made of its runs.
pub trait View: Send + Sync {
    /// Returns the study with all runs.
    fn study(&self) -> &Study;

    /// Returns the runs that are made here.
    fn runs(&self) -> Arc<[Run]> {
        self.study().runs().iter().map(|planned| planned.run.clone()).collect()
    }

    /// Returns the command that makes it, without options for the place and the making of results.
    fn command(&self) -> CommandLine;

    /// Returns whether it has an outcome if some runs failed.
    fn tolerates_failures(&self) -> bool {
        false
    }

    /// Returns the folder of a run's report, within the folder of the results; `None` if the run has none.
    fn report(&self, run: usize) -> Option<&Path>;

    /// Returns the outcome. With a folder, writes its documents and pages into it.
    ///
    /// # Errors
    /// Returns an error if a run is missing.
    fn outcome(
        &self,
        store: &RunStore,
        failures: &[Failure],
        dir: Option<&Path>,
        note: Note<'_>,
    ) -> Result<Outcome, StudyError>;
}

impl dyn View + '_ {
    /// Returns whether the report of a run is missing in a folder of results and has to be written.
    pub fn needs_report(&self, run: usize, dir: &Path) -> bool {
        self.report(run).is_some_and(|folder| !dir.join(folder).join("report.html").exists())
    }

    /// Writes the report of a run, if it has one.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn write_report(&self, run: usize, made: &Made, dir: &Path) -> Result<(), StudyError> {
        let Some(folder) = self.report(run) else { return Ok(()) };
        let mut report = made.report.clone();
        self.study().runs()[run].run.point.complete(&mut report.document);
        Ok(write_all(&report, dir.join(folder))?)
    }

    /// Makes everything from the runs. With a folder, writes the tables, documents and pages into it.
    ///
    /// # Errors
    /// Returns an error if a run failed or is missing.
    pub fn finish(
        &self,
        store: &RunStore,
        mut executed: Executed,
        dir: Option<&Path>,
        note: Note<'_>,
    ) -> Result<(Outcome, Vec<Failure>), StudyError> {
        executed.unwritten.take().into_iter().for_each(|error| note(Err(error)));
        // The tables have the complete runs, even if others failed.
        dir.into_iter().for_each(|dir| note(self.study().write_tables(store, &executed.failures, dir)));
        if !self.tolerates_failures() {
            executed = executed.complete(&self.runs())?;
        }
        let failures = executed.failures;
        Ok((self.outcome(store, &failures, dir, note)?, failures))
    }
}

/// The outcome of a study.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A sweep.
    Sweep(Box<SweepDocument>),
    /// Schemes on a single scenario.
    Comparison(Box<ComparisonDocument>),
    /// Schemes on several scenarios, or on one at several points of its axes.
    Summary(Box<SummaryDocument>),
    /// The statements of papers.
    Reproduction(Box<ReproductionDocument>),
}

impl Outcome {
    /// Returns the outcome as JSON.
    pub fn json(&self) -> String {
        match self {
            Outcome::Sweep(document) => to_json(document),
            Outcome::Comparison(document) => to_json(document),
            Outcome::Summary(document) => to_json(document),
            Outcome::Reproduction(document) => to_json(document),
        }
    }

    /// Returns the outcome as tables for a terminal of this width.
    pub fn text(&self, width: Option<u16>) -> String {
        match self {
            Outcome::Sweep(document) => document.text(width),
            Outcome::Comparison(document) => document.text(width),
            Outcome::Summary(document) => document.text(width),
            Outcome::Reproduction(document) => document.text(width),
        }
    }

    /// Returns the name of its page, in the folder of the results.
    pub fn page(&self) -> &'static str {
        match self {
            Outcome::Sweep(_) => "sweep.html",
            Outcome::Comparison(_) | Outcome::Summary(_) => "compare.html",
            Outcome::Reproduction(_) => "reproduce.html",
        }
    }
}
