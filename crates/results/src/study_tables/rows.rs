//! A table that is written row by row, as Parquet and as CSV.

use crate::columns::{file_writer, write_values};
use crate::files::{NewFile, WriteError};
use crate::schema::{Column, Kind};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows of a row group, which is in memory until it is written.
pub(super) const GROUP: usize = 1 << 15;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null.
    Null,
    /// A number.
    F64(f64),
    /// A whole number.
    U64(u64),
    /// A Boolean.
    Bool(bool),
    /// UTF-8 text.
    Text(ByteArray),
}

impl From<f64> for Value {
    /// NaN and infinity are null.
    fn from(value: f64) -> Value {
        if value.is_finite() { Value::F64(value) } else { Value::Null }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Value {
        Value::U64(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, T::into)
    }
}

impl Value {
    /// The float; `None` for another kind.
    pub fn f64(&self) -> Option<f64> {
        if let Value::F64(value) = self { Some(*value) } else { None }
    }

    /// The whole number; `None` for another kind.
    pub fn u64(&self) -> Option<u64> {
        if let Value::U64(value) = self { Some(*value) } else { None }
    }

    /// The Boolean; `None` for another kind.
    pub fn bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// The text; `None` for another kind.
    pub fn str(&self) -> Option<&str> {
        if let Value::Text(value) = self { value.as_utf8().ok() } else { None }
    }

    fn text(&self) -> Option<ByteArray> {
        if let Value::Text(value) = self { Some(value.clone()) } else { None }
    }

    /// Whether a column of this kind can contain it.
    fn fits(&self, column: &Column) -> bool {
        match self {
            Value::Null => column.nullable,
            Value::F64(_) => matches!(column.kind, Kind::F64 | Kind::F32),
            Value::U64(_) => matches!(column.kind, Kind::U64 | Kind::U32),
            Value::Bool(_) => column.kind == Kind::Bool,
            Value::Text(_) => column.kind == Kind::Text,
        }
    }

    /// Its approximate size in CSV with a separator, bytes.
    pub(super) fn csv_bytes(&self) -> u64 {
        let field = match self {
            Value::Null => 0,
            Value::F64(value) => format!("{value:?}").len(),
            Value::U64(value) => value.to_string().len(),
            Value::Bool(value) => value.to_string().len(),
            Value::Text(text) => text.data().len(),
        };
        field as u64 + 1
    }

    /// Writes the value as CSV. Null is empty. A float always has a point or an exponent, so that readers do not take its column
    /// for integers.
    fn write_csv<W: Write>(&self, csv: &mut csv::Writer<W>) -> csv::Result<()> {
        match self {
            Value::Null => csv.write_field(""),
            Value::F64(value) => csv.write_field(format!("{value:?}")),
            Value::U64(value) => csv.write_field(value.to_string()),
            Value::Bool(value) => csv.write_field(value.to_string()),
            Value::Text(text) => csv.write_field(text.data()),
        }
    }
}

/// The files of one table: as Parquet, as CSV, or both.
pub(crate) struct TableFiles {
    columns: Vec<Column>,
    /// The rows of the current row group, by column.
    group: Vec<Vec<Value>>,
    parquet: Option<(SerializedFileWriter<NewFile>, PathBuf)>,
    csv: Option<(csv::Writer<NewFile>, PathBuf)>,
}

impl TableFiles {
    /// Begins `NAME.parquet` and `NAME.csv` in the folder `dir`.
    pub(super) fn create(
        dir: &Path,
        name: &str,
        columns: Vec<Column>,
        metadata: Vec<(&str, String)>,
    ) -> Result<TableFiles, WriteError> {
        let mut files = TableFiles::of(columns);
        files.begin_parquet(dir.join(format!("{name}.parquet")), name, metadata)?;
        files.begin_csv(dir.join(format!("{name}.csv")))?;
        Ok(files)
    }

    /// Begins one file, `path`: CSV if that is its extension, otherwise Parquet.
    pub(crate) fn create_one(
        path: &Path,
        name: &str,
        columns: Vec<Column>,
        metadata: Vec<(&str, String)>,
    ) -> Result<TableFiles, WriteError> {
        let mut files = TableFiles::of(columns);
        match path.extension() {
            Some(extension) if extension == "csv" => files.begin_csv(path.to_owned())?,
            _ => files.begin_parquet(path.to_owned(), name, metadata)?,
        }
        Ok(files)
    }

    fn of(columns: Vec<Column>) -> TableFiles {
        let group = vec![Vec::new(); columns.len()];
        TableFiles { columns, group, parquet: None, csv: None }
    }

    fn begin_parquet(
        &mut self,
        path: PathBuf,
        name: &str,
        metadata: Vec<(&str, String)>,
    ) -> Result<(), WriteError> {
        let writer = file_writer(NewFile::create(&path)?, name, &self.columns, metadata)
            .map_err(WriteError::table(&path))?;
        self.parquet = Some((writer, path));
        Ok(())
    }

    fn begin_csv(&mut self, path: PathBuf) -> Result<(), WriteError> {
        let mut csv = csv::Writer::from_writer(NewFile::create(&path)?);
        let names = self.columns.iter().map(|column| column.name.as_bytes());
        csv.write_record(names).map_err(of_csv(&path))?;
        self.csv = Some((csv, path));
        Ok(())
    }

    /// Appends a row with a value for each column, in order.
    pub(crate) fn push(&mut self, row: Vec<Value>) -> Result<(), WriteError> {
        self.check(&row).map_err(WriteError::table(self.path()))?;
        if let Some((csv, path)) = &mut self.csv {
            for value in &row {
                value.write_csv(csv).map_err(of_csv(path))?;
            }
            csv.write_record(None::<&[u8]>).map_err(of_csv(path))?;
        }
        if self.parquet.is_none() {
            return Ok(());
        }
        for (column, value) in self.group.iter_mut().zip(row) {
            // Adjacent rows are similar, so an equal value is stored once.
            let same = column.last().filter(|last| **last == value).cloned();
            column.push(same.unwrap_or(value));
        }
        if self.group[0].len() == GROUP {
            self.write_group()?;
        }
        Ok(())
    }

    /// The table's path in messages.
    fn path(&self) -> &Path {
        let parquet = self.parquet.as_ref().map(|(_, path)| path);
        parquet.or(self.csv.as_ref().map(|(_, path)| path)).map_or(Path::new(""), PathBuf::as_path)
    }

    fn check(&self, row: &[Value]) -> Result<(), ParquetError> {
        let wrong = self.columns.iter().zip(row).find(|(column, value)| !value.fits(column));
        match wrong {
            _ if row.len() != self.columns.len() => {
                Err(ParquetError::General(format!("{} values for {} columns", row.len(), self.columns.len())))
            }
            Some((column, value)) => {
                Err(ParquetError::General(format!("`{}` cannot have {value:?}", column.name)))
            }
            None => Ok(()),
        }
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        let Some((parquet, path)) = &mut self.parquet else { return Ok(()) };
        let of_table = WriteError::table(path);
        let mut rows = parquet.next_row_group().map_err(&of_table)?;
        for (column, values) in self.columns.iter().zip(&mut self.group) {
            let writer = rows.next_column().map_err(&of_table)?;
            let mut writer = writer
                .ok_or_else(|| of_table(ParquetError::General(format!("no column `{}`", column.name))))?;
            write_column(&mut writer, column, values).map_err(&of_table)?;
            writer.close().map_err(&of_table)?;
            values.clear();
        }
        rows.close().map_err(&of_table)?;
        Ok(())
    }

    /// Completes the files and moves them to their final names.
    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        if !self.group[0].is_empty() {
            self.write_group()?;
        }
        let of_csv = |(csv, path): (csv::Writer<NewFile>, PathBuf)| {
            csv.into_inner().map_err(|error| WriteError::file(&path)(error.into_error()))
        };
        let of_parquet = |(parquet, path): (SerializedFileWriter<NewFile>, PathBuf)| {
            parquet.into_inner().map_err(WriteError::table(&path))
        };
        let csv = self.csv.map(of_csv).transpose()?;
        let parquet = self.parquet.map(of_parquet).transpose()?;
        csv.map_or(Ok(()), NewFile::finish)?;
        parquet.map_or(Ok(()), NewFile::finish)
    }
}

/// Unsigned integers are stored with the bits of signed ones; the logical type marks them as unsigned.
fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    values: &[Value],
) -> Result<(), ParquetError> {
    let f64s = values.iter().map(Value::f64);
    let u64s = values.iter().map(Value::u64);
    match column.kind {
        Kind::F64 => write_values::<DoubleType>(writer, column, f64s),
        Kind::F32 => write_values::<FloatType>(writer, column, f64s.map(|x| x.map(|x| x as f32))),
        Kind::U64 => write_values::<Int64Type>(writer, column, u64s.map(|x| x.map(u64::cast_signed))),
        Kind::U32 => {
            write_values::<Int32Type>(writer, column, u64s.map(|x| x.map(|x| (x as u32).cast_signed())))
        }
        Kind::Bool => write_values::<BoolType>(writer, column, values.iter().map(Value::bool)),
        Kind::Text => write_values::<ByteArrayType>(writer, column, values.iter().map(Value::text)),
    }
}

fn of_csv(path: &Path) -> impl Fn(csv::Error) -> WriteError + '_ {
    |error| WriteError::file(path)(io::Error::from(error))
}
