//! Scenarios: loaded from a file or from the list, or parsed from a text.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use weir_core::units::Span;
use weir_scenario::{Axis, Location, Setting, builtin};
use weir_study::{Point, Source, StudyError};

use crate::errors::{ScenarioError, study_error};
use crate::table::{Columns, Table};

/// A checked experiment: a network, its flows, its events, and the expected results.
///
/// `weir.Scenario.load` loads a file or one of the scenarios that come with Weir. `weir.scenario` builds one from
/// Python objects.
#[pyclass(frozen, module = "weir")]
pub struct Scenario {
    /// The scenario with only its own measuring windows.
    point: Arc<Point>,
    /// Whether `weir run NAME` finds it.
    pub is_named: bool,
}

#[pymethods]
impl Scenario {
    /// Loads a scenario from the list (`weir.scenarios()`) or from a file, and applies `set`: a dict of keys, such as
    /// `link.R2-R3.rate`, and their values.
    ///
    /// Raises `weir.ScenarioError` with the file, the line and the key.
    #[staticmethod]
    #[pyo3(signature = (name, set = None))]
    fn load(py: Python<'_>, name: &Bound<'_, PyAny>, set: Option<&Bound<'_, PyDict>>) -> PyResult<Scenario> {
        let name: String = py.import("os")?.call_method1("fspath", (name,))?.extract()?;
        let set = overrides(set)?;
        let source = Source::find(&name).map_err(|error| ScenarioError::new_err(error.to_string()))?;
        Scenario::read(py, source, set, true)
    }

    /// Parses a scenario from a text in the file format. `name` is its name in results and messages.
    ///
    /// Raises `weir.ScenarioError` with the line of the text and the key.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario", set = None))]
    fn parse(
        py: Python<'_>,
        text: String,
        name: &str,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Scenario> {
        Scenario::read(py, Source::of_text(name, text), overrides(set)?, false)
    }

    /// Returns the scenario with additional values set: a dict of keys, such as `link.R2-R3.rate`, and their values.
    fn with_set(&self, py: Python<'_>, set: &Bound<'_, PyDict>) -> PyResult<Scenario> {
        let set = [self.point.set.clone(), overrides(Some(set))?].concat();
        Scenario::read(py, self.point.source.clone(), set, self.is_named)
    }

    /// The scenario's name in results: its name in the list, its file's path, or the given name.
    #[getter]
    fn name(&self) -> &str {
        &self.point.scenario.name
    }

    /// A description of the experiment in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.point.scenario.title
    }

    /// The paper or the reason behind the scenario; may be empty.
    #[getter]
    fn source(&self) -> &str {
        &self.point.scenario.source
    }

    /// The text of the file, TOML, without the changes by `set`.
    #[getter]
    fn text(&self) -> &str {
        self.point.source.text()
    }

    /// The scheme that runs by default.
    #[getter]
    fn scheme(&self) -> &str {
        &self.point.scenario.scheme
    }

    /// Simulated time of a run, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.point.scenario.duration.as_secs_f64()
    }

    /// The changes by `set`: texts `KEY=VALUE`, in order.
    #[getter]
    fn set(&self) -> Vec<String> {
        self.point.set.clone()
    }

    /// Remarks about parts that were left out because the run was shortened.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.point.scenario.notes.clone()
    }

    /// Every key for `set`, one row each: `key`, `value` (as text of the file) and `source`.
    #[getter]
    fn parameters(&self) -> Table {
        let settings: Vec<Setting> = self.point.scenario.settings.iter().collect();
        Columns::default()
            .text("key", "the key, as `set` takes it", settings.iter().map(|one| &one.path))
            .text(
                "value",
                "its value, as in the file; empty if not set",
                settings.iter().map(|one| &one.value),
            )
            .maybe_text("source", "where the value comes from", settings.iter().map(source))
            .table()
    }

    /// The parameters that the experiment varies: for each axis its values, in the form of `set={"axis.NAME": VALUE}`.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let axes = PyDict::new(py);
        for Axis { name, values, .. } in &self.point.scenario.axes {
            axes.set_item(name, values)?;
        }
        Ok(axes)
    }

    /// The measuring windows, one row each: `name`, `from_s` and `to_s`.
    #[getter]
    fn windows(&self) -> Table {
        let windows = &self.point.scenario.windows;
        Columns::default()
            .text("name", "its name", windows.iter().map(|one| &one.name))
            .number("from_s", "its beginning, s", windows.iter().map(|one| one.from.as_secs_f64()))
            .number("to_s", "its end, s", windows.iter().map(|one| one.to.as_secs_f64()))
            .table()
    }

    fn __repr__(&self) -> String {
        let weir_scenario::Scenario { name, title, nodes, links, flows, duration, scheme, .. } =
            &*self.point.scenario;
        format!(
            "weir.Scenario({name}: {title}; {} nodes, {} links, {} flows, {} s, {scheme})",
            nodes.len(),
            links.len(),
            flows.len(),
            duration.as_secs_f64()
        )
    }

    /// Supports pickle: a scenario is sent to other processes as text.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let Point { source, set, .. } = &*this.point;
        let state = (source.name(), source.text(), set, this.is_named, this.point.scenario.file_texts());
        Ok((slf.get_type().getattr("_restore")?, state.into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restore(
        py: Python<'_>,
        name: &str,
        text: String,
        set: Vec<String>,
        is_named: bool,
        files: Vec<(String, String)>,
    ) -> PyResult<Scenario> {
        let is_listed = builtin(name).is_some_and(|known| known == text);
        let found = if is_listed { Source::find(name) } else { Ok(Source::of_text(name, text)) };
        let mut source = found.map_err(|error| study_error(py, &error))?;
        if !files.is_empty() {
            source = source.with_files(files);
        }
        Scenario::read(py, source, set, is_named)
    }
}

impl Scenario {
    fn read(py: Python<'_>, source: Source, set: Vec<String>, is_named: bool) -> PyResult<Scenario> {
        let point = py.detach(|| Point::new(source, set, Vec::new()));
        let point = Arc::new(point.map_err(|error| study_error(py, &error))?);
        Ok(Scenario { point, is_named })
    }

    /// The scenario with only its own measuring windows.
    pub fn point(&self) -> &Arc<Point> {
        &self.point
    }

    /// The scenario with these additional measuring windows.
    ///
    /// # Errors
    /// Returns an error if parsing the text again fails, which does not happen for a valid text.
    pub fn with_windows(&self, windows: Vec<(Span, Span)>) -> Result<Arc<Point>, StudyError> {
        if windows.is_empty() {
            return Ok(Arc::clone(&self.point));
        }
        Ok(Arc::new(Point::new(self.point.source.clone(), self.point.set.clone(), windows)?))
    }
}

/// The source of a setting's value: the file's comment on it, or its place in the file.
fn source(setting: &Setting) -> Option<String> {
    let place = || setting.location.as_ref().map(Location::to_string);
    setting.source.as_deref().map(str::to_owned).or_else(place)
}

/// Converts `{"link.R2-R3.rate": "20 Mb/s"}` to `KEY=VALUE`.
pub fn overrides(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        Ok(format!("{key}={}", set_value(&key, &value)?))
    };
    set.iter().map(one).collect()
}

/// Converts a value to the form of `--set`: a text stays, numbers and lists become TOML.
pub fn set_value(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyFloat>() {
        // Format the value as a Python float: NumPy's floats are Python floats with another format.
        return Ok(PyFloat::new(value.py(), value.extract()?).repr()?.to_string());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| {
            let item = item?;
            let text = set_value(key, &item)?;
            Ok(if item.is_instance_of::<PyString>() { format!("{text:?}") } else { text })
        });
        return Ok(format!("[{}]", items.collect::<PyResult<Vec<_>>>()?.join(", ")));
    }
    // Numbers of other libraries, such as NumPy.
    if let Ok(number) = value.call_method0("item") {
        return set_value(key, &number);
    }
    let given = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "set[{key:?}] is a {given}: give a text, a number, a bool or a list of these"
    )))
}

/// A time in seconds, or a text with its unit.
#[derive(FromPyObject)]
enum Seconds {
    Number(f64),
    Text(String),
}

impl Seconds {
    fn span(&self) -> PyResult<Span> {
        let wrong = |given: &str| {
            PyValueError::new_err(format!(
                "{given} is not a time: give seconds, 0 or more, or a text such as \"500 ms\""
            ))
        };
        match self {
            Seconds::Number(s) if s.is_finite() && *s >= 0.0 => Ok(Span::from_secs_f64(*s)),
            Seconds::Number(s) => Err(wrong(&s.to_string())),
            Seconds::Text(text) => {
                let in_seconds = || format!("{text} s").parse::<Span>();
                text.parse::<Span>().or_else(|_| in_seconds()).map_err(|_| wrong(&format!("`{text}`")))
            }
        }
    }
}

/// Parses measuring windows: a list of pairs of times.
pub fn windows(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(Span, Span)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let one = |pair: PyResult<Bound<'_, PyAny>>| {
        let pair = pair?;
        let pair: (Seconds, Seconds) = pair.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "{pair} is not a window: give two times, such as (20, 120) or (\"500 ms\", \"2 s\")"
            ))
        })?;
        Ok((pair.0.span()?, pair.1.span()?))
    };
    given.try_iter()?.map(one).collect()
}
