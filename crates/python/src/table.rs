//! Tables as Arrow record batches.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float32Type, Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, RecordBatch, RecordBatchIterator, StringArray,
    UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};

/// A table: columns with names, types and equal lengths.
///
/// It implements the Arrow PyCapsule interface, so that polars, pyarrow, DuckDB and other libraries read it without a
/// copy: `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("from table")`.
#[pyclass(frozen, module = "weir")]
pub struct Table {
    batch: RecordBatch,
}

/// Maximum number of rows in a notebook.
const ROWS_SHOWN: usize = 20;

#[pymethods]
impl Table {
    /// The names of the columns, with units.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The meaning of each column with its unit: a text for each name.
    #[getter]
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        for field in self.batch.schema().fields() {
            about.set_item(field.name(), field.metadata().get(ABOUT).map_or("", String::as_str))?;
        }
        Ok(about)
    }

    /// The number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The values of a column as a list; `None` if there is no value.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let missing = || {
            let names = self.column_names().join(", ");
            PyKeyError::new_err(format!("there is no column `{name}`; columns: {names}"))
        };
        let column = self.batch.column_by_name(name).ok_or_else(missing)?;
        let values = (0..column.len()).map(|row| value(py, column, row));
        PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    /// The rows as a list of dicts.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = (0..self.batch.num_rows()).map(|row| self.row(py, row));
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    /// A row as a dict.
    fn __getitem__<'py>(&self, py: Python<'py>, index: isize) -> PyResult<Bound<'py, PyDict>> {
        let rows = self.batch.num_rows();
        let from_end = if index < 0 { rows as isize } else { 0 };
        match usize::try_from(index + from_end) {
            Ok(row) if row < rows => self.row(py, row),
            _ => Err(PyIndexError::new_err(format!("row {index} of a table of {rows} rows"))),
        }
    }

    /// Converts to a `polars.DataFrame`; needs polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("polars")?.call_method1("DataFrame", (slf,))
    }

    /// Converts to a `pyarrow.Table`; needs pyarrow.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    /// Converts to a `pandas.DataFrame`; needs pandas and pyarrow.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Table::to_arrow(slf)?.call_method0("to_pandas")
    }

    /// The table as an Arrow stream, for libraries. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let names = self.column_names().join(", ");
        format!("weir.Table({} rows: {names})", self.batch.num_rows())
    }

    /// The first rows as HTML, for notebooks.
    pub fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.batch.num_rows();
        let mut html = String::from("<table><thead><tr>");
        for name in self.column_names() {
            html += &format!("<th>{}</th>", escaped(&name));
        }
        html += "</tr></thead><tbody>";
        for row in 0..rows.min(ROWS_SHOWN) {
            html += "<tr>";
            for column in self.batch.columns() {
                html += &format!("<td>{}</td>", escaped(&shown(py, column, row)?));
            }
            html += "</tr>";
        }
        html += "</tbody></table>";
        if rows > ROWS_SHOWN {
            html += &format!("<p>{ROWS_SHOWN} of {rows} rows</p>");
        }
        Ok(html)
    }
}

impl Table {
    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema().fields().iter().zip(self.batch.columns()) {
            dict.set_item(field.name(), value(py, column, row)?)?;
        }
        Ok(dict)
    }
}

/// Converts a value of a column to a Python object.
fn value<'py>(py: Python<'py>, column: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Boolean => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        other => unreachable!("no column of a table is {other}"),
    })
}

/// Formats a value for a notebook: numbers with six digits.
fn shown(py: Python<'_>, column: &ArrayRef, row: usize) -> PyResult<String> {
    let value = value(py, column, row)?;
    if value.is_none() {
        return Ok(String::new());
    }
    match column.data_type() {
        DataType::Float64 | DataType::Float32 => value.call_method1("__format__", (".6g",))?.extract(),
        _ => Ok(value.str()?.to_string()),
    }
}

/// Escapes a text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The metadata key for a column's meaning.
const ABOUT: &str = "about";

/// Builder of a [`Table`].
#[derive(Default)]
pub struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    /// Appends a column of texts.
    pub fn text<T: AsRef<str>>(
        self,
        name: &str,
        about: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Columns {
        self.add(name, about, StringArray::from_iter_values(values))
    }

    /// Appends a column of texts that may be missing.
    pub fn maybe_text<T: AsRef<str>>(
        self,
        name: &str,
        about: &str,
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Columns {
        self.add(name, about, values.into_iter().collect::<StringArray>())
    }

    /// Appends a column of numbers.
    pub fn number(self, name: &str, about: &str, values: impl IntoIterator<Item = f64>) -> Columns {
        self.add(name, about, Float64Array::from_iter_values(values))
    }

    /// Appends a column of numbers that may be missing.
    pub fn maybe(self, name: &str, about: &str, values: impl IntoIterator<Item = Option<f64>>) -> Columns {
        self.add(name, about, values.into_iter().collect::<Float64Array>())
    }

    /// Appends a column of whole numbers.
    pub fn count(self, name: &str, about: &str, values: impl IntoIterator<Item = u64>) -> Columns {
        self.add(name, about, UInt64Array::from_iter_values(values))
    }

    /// Appends a column of whole numbers that may be missing.
    pub fn maybe_count(
        self,
        name: &str,
        about: &str,
        values: impl IntoIterator<Item = Option<u64>>,
    ) -> Columns {
        self.add(name, about, values.into_iter().collect::<UInt64Array>())
    }

    /// Appends a column of whole numbers of 32 bits.
    pub fn count32(self, name: &str, about: &str, values: impl IntoIterator<Item = u32>) -> Columns {
        self.add(name, about, UInt32Array::from_iter_values(values))
    }

    /// Appends a column of numbers of 32 bits that may be missing.
    pub fn maybe32(self, name: &str, about: &str, values: impl IntoIterator<Item = Option<f32>>) -> Columns {
        self.add(name, about, values.into_iter().collect::<Float32Array>())
    }

    /// Appends a column of booleans that may be missing.
    pub fn maybe_flag(
        self,
        name: &str,
        about: &str,
        values: impl IntoIterator<Item = Option<bool>>,
    ) -> Columns {
        self.add(name, about, values.into_iter().collect::<BooleanArray>())
    }

    /// Appends a column of booleans.
    pub fn flag(self, name: &str, about: &str, values: impl IntoIterator<Item = bool>) -> Columns {
        let values: Vec<bool> = values.into_iter().collect();
        self.add(name, about, BooleanArray::from(values))
    }

    fn add(mut self, name: &str, about: &str, array: impl Array + 'static) -> Columns {
        let metadata = [(ABOUT, about)];
        let field = Field::new(name, array.data_type().clone(), true).with_metadata(metadata);
        self.fields.push(field);
        self.arrays.push(Arc::new(array));
        self
    }

    /// Returns the table. All columns have the same number of values.
    pub fn table(self) -> Table {
        let schema = Arc::new(Schema::new(self.fields));
        let batch = RecordBatch::try_new(schema, self.arrays).expect("columns of the same rows");
        Table { batch }
    }
}
