//! Scenarios: read from a file, from the list, or from a text.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use weir_core::units::Span;
use weir_scenario::{Axis, Location, Setting, builtin};
use weir_study::{Point, Source, StudyError};

use crate::errors::{ScenarioError, study_error};
use crate::table::{Columns, Table};

/// An experiment, read and checked: a network, its flows, its events, and what should come out.
///
/// `weir.Scenario.load` reads a file or one of the scenarios that come with Weir; `weir.scenario` builds one from Python
/// objects.
#[pyclass(frozen, module = "weir")]
pub struct Scenario {
    /// Without measuring windows besides its own.
    point: Arc<Point>,
    /// Whether `weir run NAME` finds it.
    pub is_named: bool,
}

#[pymethods]
impl Scenario {
    /// A scenario of the list (`weir.scenarios()`) or a file, with `set` applied: a dict of keys, such as
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

    /// A scenario from the text of its file, called `name` in results and in messages.
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

    /// The same scenario with further values set: a dict of keys, such as `link.R2-R3.rate`, and their values.
    fn with_set(&self, py: Python<'_>, set: &Bound<'_, PyDict>) -> PyResult<Scenario> {
        let set = [self.point.set.clone(), overrides(Some(set))?].concat();
        Scenario::read(py, self.point.source.clone(), set, self.is_named)
    }

    /// Its name in results: that of the list, the path of its file, or the given one.
    #[getter]
    fn name(&self) -> &str {
        &self.point.scenario.name
    }

    /// The experiment in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.point.scenario.title
    }

    /// The paper or the reason that it comes from; may be empty.
    #[getter]
    fn source(&self) -> &str {
        &self.point.scenario.source
    }

    /// The text of its file, TOML, without what was set.
    #[getter]
    fn text(&self) -> &str {
        self.point.source.text()
    }

    /// The scheme that runs if no other is named.
    #[getter]
    fn scheme(&self) -> &str {
        &self.point.scenario.scheme
    }

    /// Simulated time of a run, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.point.scenario.duration.as_secs_f64()
    }

    /// What was changed in it: texts `KEY=VALUE`, in order.
    #[getter]
    fn set(&self) -> Vec<String> {
        self.point.set.clone()
    }

    /// Remarks on what was left out because the run was shortened.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.point.scenario.notes.clone()
    }

    /// Every key that `set` takes, a row each: `key`, `value` (as a text of the file) and `source`.
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

    /// The parameters that the experiment varies: for each axis its values, as `set={"axis.NAME": VALUE}` takes them.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let axes = PyDict::new(py);
        for Axis { name, values, .. } in &self.point.scenario.axes {
            axes.set_item(name, values)?;
        }
        Ok(axes)
    }

    /// The measuring windows, a row each: `name`, `from_s` and `to_s`.
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

    /// For pickle: a scenario goes to other processes as its text.
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

    /// The scenario without measuring windows besides its own.
    pub fn point(&self) -> &Arc<Point> {
        &self.point
    }

    /// The scenario with these measuring windows besides its own.
    ///
    /// # Errors
    /// A text that was right is right once more.
    pub fn with_windows(&self, windows: Vec<(Span, Span)>) -> Result<Arc<Point>, StudyError> {
        if windows.is_empty() {
            return Ok(Arc::clone(&self.point));
        }
        Ok(Arc::new(Point::new(self.point.source.clone(), self.point.set.clone(), windows)?))
    }
}

/// Where a setting's value comes from: what the file says of it, or where it stands.
fn source(setting: &Setting) -> Option<String> {
    let place = || setting.location.as_ref().map(Location::to_string);
    setting.source.as_deref().map(str::to_owned).or_else(place)
}

/// `{"link.R2-R3.rate": "20 Mb/s"}` as `KEY=VALUE`.
pub fn overrides(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<String>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        Ok(format!("{key}={}", set_value(&key, &value)?))
    };
    set.iter().map(one).collect()
}

/// A value as `--set` takes it: a text as it is, numbers and lists as TOML.
pub fn set_value(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().to_string());
    }
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyInt>() {
        return Ok(value.str()?.to_string());
    }
    if value.is_instance_of::<PyFloat>() {
        // As Python's own float writes it: NumPy's is one too, and writes itself otherwise.
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
    // Numbers of other libraries, such as NumPy's.
    if let Ok(number) = value.call_method0("item") {
        return set_value(key, &number);
    }
    let given = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "set[{key:?}] is a {given}: give a text, a number, a bool or a list of these"
    )))
}

/// A time in seconds, or as a text with its unit.
#[derive(FromPyObject)]
enum Seconds {
    Number(f64),
    Text(String),
}

impl Seconds {
    fn span(&self) -> PyResult<Span> {
        let wrong = |given: &str| {
            PyValueError::new_err(format!(
                "{given} is no time: give seconds, 0 or more, or a text such as \"500 ms\""
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

/// Measuring windows: a list of pairs of times.
pub fn windows(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(Span, Span)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let one = |pair: PyResult<Bound<'_, PyAny>>| {
        let pair = pair?;
        let pair: (Seconds, Seconds) = pair.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "{pair} is no window: give two times, such as (20, 120) or (\"500 ms\", \"2 s\")"
            ))
        })?;
        Ok((pair.0.span()?, pair.1.span()?))
    };
    given.try_iter()?.map(one).collect()
}
