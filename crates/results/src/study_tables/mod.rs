//! The tables of a study: `results`, one row for each figure of each run, and `runs`, one row for each run, both as Parquet and
//! as CSV.
//!
//! A study is a list of runs. They are read one by one, and only a part of the rows is in memory, so a study may be larger than
//! the memory. The same runs in the same order give the same bytes.

mod axes;
mod figures;
mod rows;
#[cfg(test)]
mod tests;

pub use axes::{Axis, NameTaken};
pub(crate) use figures::of_requests;
pub use figures::{Figure, Window, figures_of};
pub use rows::Value;

use crate::files::WriteError;
use crate::schema::{self, Column, RESULTS, RUNS, STUDY_METADATA, Table};
pub(crate) use rows::TableFiles;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use weir_measure::RunDocument;

/// The tables of a study.
#[derive(Clone, Debug)]
pub struct StudyTables {
    study: String,
    axes: Vec<Axis>,
}

/// A run of a study. Its document is a `D`, such as `RunDocument`, `&RunDocument` or `Arc<RunDocument>`.
#[derive(Clone, Debug)]
pub struct StudyRun<D> {
    /// Its digest in hexadecimal.
    pub key: String,
    /// The scenario's name or path.
    pub scenario: String,
    /// The scheme's name.
    pub scheme: String,
    /// The variant of the scheme's parameters; `None` for the default.
    pub variant: Option<String>,
    /// The value of each axis of the study, in order; `None`, or no element, if the run has none.
    pub point: Vec<Option<String>>,
    /// The seed of all random streams.
    pub seed: u64,
    /// The command that repeats this run alone.
    pub command: String,
    /// The commit of the program that made it, if known.
    pub commit: Option<String>,
    /// Its processor time, s, if measured.
    pub cpu_s: Option<f64>,
    /// Its document, or why it failed.
    pub outcome: Result<D, String>,
}

/// An error while writing the tables of a study.
#[derive(Debug)]
pub enum StudyTablesError<E> {
    /// A run could not be read.
    Run(E),
    /// A file could not be written.
    Write(WriteError),
}

impl<E> From<WriteError> for StudyTablesError<E> {
    fn from(error: WriteError) -> Self {
        StudyTablesError::Write(error)
    }
}

impl<E: fmt::Display> fmt::Display for StudyTablesError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StudyTablesError::Run(error) => error.fmt(f),
            StudyTablesError::Write(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for StudyTablesError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StudyTablesError::Run(error) => error.source(),
            StudyTablesError::Write(error) => error.source(),
        }
    }
}

impl StudyTables {
    /// The tables of the study with this name and these axes.
    ///
    /// # Errors
    /// Returns an error if two columns would have the same name.
    pub fn new(study: impl Into<String>, axes: Vec<Axis>) -> Result<StudyTables, NameTaken> {
        let tables = StudyTables { study: study.into(), axes };
        for table in schema::STUDY_TABLES {
            let mut names = BTreeSet::new();
            for Column { name, .. } in tables.columns(table) {
                if let Some(column) = names.replace(name) {
                    return Err(NameTaken { column: column.into_owned() });
                }
            }
        }
        Ok(tables)
    }

    /// The columns of one of [`schema::STUDY_TABLES`], with those of the axes.
    pub fn columns(&self, table: Table) -> Vec<Column> {
        let axes = self.axes.iter().map(Axis::columns);
        let axes: Vec<Column> = axes.flat_map(|(text, number)| [Some(text), number]).flatten().collect();
        table.with_axes(&axes)
    }

    /// Writes `results.parquet`, `results.csv`, `runs.parquet` and `runs.csv` into the folder `dir`, which is created if it does
    /// not exist. Existing files are replaced when the new ones are complete, and stay if a run or a file has an error.
    pub fn write<D: Borrow<RunDocument>, E>(
        &self,
        dir: impl AsRef<Path>,
        runs: impl IntoIterator<Item = Result<StudyRun<D>, E>>,
    ) -> Result<(), StudyTablesError<E>> {
        let dir = dir.as_ref();
        fs::create_dir_all(dir).map_err(WriteError::file(dir))?;
        let mut results = self.begin(dir, RESULTS)?;
        let mut rows = self.begin(dir, RUNS)?;
        for run in runs {
            let run = run.map_err(StudyTablesError::Run)?;
            rows.push(self.row(&run))?;
            for row in self.figures(&run) {
                results.push(row)?;
            }
        }
        results.finish()?;
        rows.finish()?;
        Ok(())
    }

    fn begin(&self, dir: &Path, table: Table) -> Result<TableFiles, WriteError> {
        let values = [schema::SCHEMA.to_string(), self.study.clone(), self.axes_as_json()];
        let metadata = STUDY_METADATA.iter().zip(values).map(|((key, _), value)| (*key, value)).collect();
        TableFiles::create(dir, table.name, self.columns(table), metadata)
    }

    fn axes_as_json(&self) -> String {
        let of = |axis: &Axis| {
            let (text, number) = axis.columns();
            serde_json::json!({ "text": text.name, "number": number.map(|number| number.name) })
        };
        serde_json::Value::from_iter(self.axes.iter().map(of)).to_string()
    }

    /// The values of a run that both tables have: study, scenario, scheme, variant, the axes and the seed.
    fn identity<D>(&self, run: &StudyRun<D>) -> Vec<Value> {
        let mut values: Vec<Value> = vec![
            self.study.as_str().into(),
            run.scenario.as_str().into(),
            run.scheme.as_str().into(),
            run.variant.as_deref().into(),
        ];
        for (i, axis) in self.axes.iter().enumerate() {
            values.extend(axis.values(run.point.get(i).and_then(Option::as_deref)));
        }
        values.push(run.seed.into());
        values
    }

    /// The values of a run before and after those of a figure, in [`RESULTS`].
    fn around_figure<D>(&self, run: &StudyRun<D>) -> [Vec<Value>; 2] {
        [self.identity(run), vec![run.key.as_str().into()]]
    }

    /// The rows of a run in [`RESULTS`], with a value for each of [`StudyTables::columns`]; none if the run failed.
    pub fn figures<'a, D: Borrow<RunDocument>>(
        &self,
        run: &'a StudyRun<D>,
    ) -> impl Iterator<Item = Vec<Value>> + use<'a, D> {
        let [before, after] = self.around_figure(run);
        let figures =
            run.outcome.as_ref().ok().into_iter().flat_map(|document| figures_of(document.borrow()));
        figures.map(move |figure| [&before[..], &of_figure(&figure), &after].concat())
    }

    /// Size of a run's rows in `results.csv`, bytes: nearly all of the tables' size.
    pub fn csv_bytes<D: Borrow<RunDocument>>(&self, run: &StudyRun<D>) -> u64 {
        self.figures(run).map(|row| row.iter().map(Value::csv_bytes).sum::<u64>()).sum()
    }

    /// The row of a run in [`RUNS`], with a value for each of [`StudyTables::columns`].
    pub fn row<D: Borrow<RunDocument>>(&self, run: &StudyRun<D>) -> Vec<Value> {
        let (document, error) = match &run.outcome {
            Ok(document) => (Some(document.borrow()), None),
            Err(error) => (None, Some(error.as_str())),
        };
        let decided =
            |document: &RunDocument| document.expectations.iter().filter_map(|row| row.holds).count();
        let held = |document: &RunDocument| {
            document.expectations.iter().filter(|row| row.holds == Some(true)).count()
        };
        let version = document.map(|document| document.version.as_str()).filter(|text| !text.is_empty());
        let mut row = vec![run.key.as_str().into()];
        row.extend(self.identity(run));
        row.extend([
            version.into(),
            run.commit.as_deref().into(),
            run.command.as_str().into(),
            run.cpu_s.into(),
            document.map(|document| document.simulated_s).into(),
            document.map(|document| document.events).into(),
            document.map(|document| document.packet_hops).into(),
            document.map(|document| document.seed_matters).into(),
            document.map(|document| decided(document) as u64).into(),
            document.map(|document| held(document) as u64).into(),
            error.into(),
        ]);
        row
    }
}

/// The values of a figure from `window` to `value`, in [`RESULTS`].
fn of_figure(figure: &Figure<'_>) -> [Value; 10] {
    let window = figure.window;
    [
        window.map(|window| window.to_string()).as_deref().into(),
        window.map(|window| window.from_s).into(),
        window.map(|window| window.to_s).into(),
        figure.kind.name().into(),
        figure.object.as_ref().into(),
        figure.class.into(),
        figure.group.into(),
        figure.metric.into(),
        figure.unit.into(),
        figure.value.into(),
    ]
}
