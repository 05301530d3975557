//! A study: a list of runs, each at a point of some axes, and the tables of their figures.

use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use weir_measure::RunDocument;
use weir_results::{Axis as Column, StudyRun, StudyTables, StudyTablesError};

use crate::clock::Stopwatch;
use crate::error::StudyError;
use crate::execute::Failure;
use crate::run::{Record, Run};
use crate::store::RunStore;
use crate::vary::Axis;

/// A run of a study.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The run.
    pub run: Run,
    /// The value of each axis of the study, in order; `None` if its scenario does not have the axis.
    pub point: Vec<Option<String>>,
}

/// A list of runs.
#[derive(Clone, Debug)]
pub struct Study {
    name: String,
    axes: Vec<Axis>,
    runs: Vec<PlannedRun>,
}

impl Study {
    /// Returns a study of these runs. Runs that differ only in the seed should be adjacent.
    pub fn new(name: String, axes: Vec<Axis>, runs: Vec<PlannedRun>) -> Study {
        Study { name, axes, runs }
    }

    /// Returns its name in the tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its axes.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns its runs.
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// Returns the columns of its tables.
    ///
    /// # Errors
    /// Returns an error if an axis has the name of a column.
    pub fn tables(&self) -> Result<StudyTables, StudyError> {
        let column = |axis: &Axis| Column::new(axis.key.as_str(), &axis.values);
        StudyTables::new(self.name.as_str(), self.axes.iter().map(column).collect())
            .map_err(|taken| StudyError::Invalid(taken.to_string()))
    }

    /// Iterates over the runs that are kept and those that failed, in the form of the tables' rows.
    pub fn ended<'a>(
        &'a self,
        store: &'a RunStore,
        failures: &'a [Failure],
    ) -> impl Iterator<Item = StudyRun<RunDocument>> + 'a {
        let failure = move |planned: &PlannedRun| {
            let key = (!failures.is_empty()).then(|| planned.run.request().key())?;
            failures.iter().find(|failure| failure.key == key)
        };
        self.runs.iter().filter_map(move |planned| {
            let outcome = match store.find(&planned.run) {
                Some(mut record) => {
                    planned.run.point.add_optimum(&mut record.document);
                    Ok(record)
                }
                None => Err(failure(planned)?.error.to_string()),
            };
            Some(planned.row(outcome))
        })
    }

    /// Writes `results` and `runs`, as Parquet and as CSV, for the runs that are kept and those that failed.
    /// The same runs give the same bytes, except for the processor times in `runs`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if an axis has the name of a column.
    /// A file cannot be written, or an axis has the name of a column.
    pub fn write_tables(&self, store: &RunStore, failures: &[Failure], dir: &Path) -> Result<(), StudyError> {
        let rows = self.ended(store, failures).map(Ok::<_, std::convert::Infallible>);
        self.tables()?.write(dir, rows).map_err(|error| match error {
            StudyTablesError::Write(error) => StudyError::Write(error),
            StudyTablesError::Run(never) => match never {},
        })
    }
}

/// The axes of several scenarios, each once.
#[derive(Clone, Debug, Default)]
pub struct Union(Vec<Axis>);

/// Returns the axes of some points. Each point is given by its settings: `axis.delay=5 ms`.
pub fn union_of_axes<'a>(points: impl Iterator<Item = &'a [String]>) -> Union {
    let mut union = Union::default();
    for (key, value) in points.flatten().filter_map(|set| set.split_once('=')) {
        match union.0.iter_mut().find(|axis| axis.key == key) {
            Some(axis) if axis.values.iter().any(|known| known == value) => {}
            Some(axis) => axis.values.push(value.to_owned()),
            None => union.0.push(Axis { key: key.to_owned(), values: vec![value.to_owned()] }),
        }
    }
    union
}

impl Union {
    /// Returns the values of a point.
    pub fn values(&self, point: &[String]) -> Vec<Option<String>> {
        let value = |axis: &Axis| {
            let of = point.iter().filter_map(|set| set.split_once('='));
            of.into_iter().find(|(key, _)| *key == axis.key).map(|(_, value)| value.to_owned())
        };
        self.0.iter().map(value).collect()
    }

    /// Returns the axes.
    pub fn into_axes(self) -> Vec<Axis> {
        self.0
    }
}

/// Writes the tables of a study from time to time while its runs are made, so that partial results can be
/// read.
#[derive(Debug)]
pub struct PartialTables<'a> {
    study: &'a Study,
    store: &'a RunStore,
    dir: &'a Path,
    begun: Stopwatch,
    /// The time of the next writing, since the beginning.
    next: Mutex<Duration>,
}

impl<'a> PartialTables<'a> {
    /// The shortest time between two writings.
    const EVERY: Duration = Duration::from_secs(10);
    /// Writing takes at most about 1/20 of the time.
    const PART: u32 = 20;

    /// Returns a writer for a study, into a folder.
    pub fn new(study: &'a Study, store: &'a RunStore, dir: &'a Path) -> PartialTables<'a> {
        PartialTables { study, store, dir, begun: Stopwatch::start(), next: Mutex::new(Self::EVERY) }
    }

    /// Writes the tables if it is time to, and no other thread does.
    ///
    /// # Errors
    /// Returns the errors of [`Study::write_tables`].
    pub fn write_if_due(&self) -> Result<(), StudyError> {
        let Ok(mut next) = self.next.try_lock() else { return Ok(()) };
        let before = self.begun.elapsed();
        if before < *next {
            return Ok(());
        }
        self.write()?;
        let after = self.begun.elapsed();
        *next = after + Self::EVERY.max((after - before) * Self::PART);
        Ok(())
    }

    /// Writes the tables.
    ///
    /// # Errors
    /// Returns the errors of [`Study::write_tables`].
    pub fn write(&self) -> Result<(), StudyError> {
        // Existing tables are better than empty ones.
        if !self.study.runs().iter().any(|planned| self.store.has(&planned.run)) {
            return Ok(());
        }
        self.study.write_tables(self.store, &[], self.dir)
    }
}

impl PlannedRun {
    /// Returns the row of the tables for this run.
    pub(crate) fn row(&self, outcome: Result<Record, String>) -> StudyRun<RunDocument> {
        let run = &self.run;
        let record = outcome.as_ref().ok();
        StudyRun {
            key: run.request().key().to_string(),
            scenario: run.point.source.name().to_owned(),
            scheme: run.scheme.clone(),
            variant: run.point.scenario.variant_of(&run.scheme).map(str::to_owned),
            point: self.point.clone(),
            seed: run.seed,
            command: run.command().text(),
            commit: record.map(|record| record.commit.clone()),
            cpu_s: record.map(|record| record.cpu_s),
            outcome: outcome.map(|record| record.document),
        }
    }
}
