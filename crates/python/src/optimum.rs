//! The theoretically best allocation for a scenario.

use pyo3::prelude::*;
use weir_measure::to_json;
use weir_optimum::Objective;
use weir_results::{BestFlowRow, BestLinkRow, BottleneckRow, OptimumDocument, OptimumWindowRow};
use weir_study::OptimumRequest;

use crate::errors::{RunError, study_error};
use crate::scenario::{self, Scenario};
use crate::table::{Columns, Table, escaped};

/// The best allocation for a scenario, independent of the scheme, in each window.
#[pyclass(frozen, module = "weir")]
pub struct Optimum {
    document: OptimumDocument,
}

/// Computes the best allocation for a scenario in these windows. By default these are the scenario's own windows, or
/// else the whole run.
#[pyfunction]
#[pyo3(signature = (scenario, windows = None, objective = None, utilisation = None, seed = None))]
pub fn optimum(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    windows: Option<Bound<'_, PyAny>>,
    objective: Option<&str>,
    utilisation: Option<f64>,
    seed: Option<u64>,
) -> PyResult<Optimum> {
    let wrong = |error: String| RunError::new_err(format!("objective: {error}"));
    let objective = objective.map(|name| name.parse().map_err(wrong)).transpose()?;
    let request = OptimumRequest { objective: objective.unwrap_or(Objective::LinkFair), utilisation, seed };
    let (of, windows) = (scenario.get(), scenario::windows(windows.as_ref())?);
    let computed = py.detach(|| request.document(&*of.with_windows(windows)?));
    let document = computed.map_err(|error| study_error(py, &error))?;
    Ok(Optimum { document })
}

#[pymethods]
impl Optimum {
    /// The scenario's name.
    #[getter]
    fn scenario(&self) -> &str {
        &self.document.scenario
    }

    /// The maximised objective: `link-fair`, `max-min`, `proportional` or `max-flow`.
    #[getter]
    fn objective(&self) -> &str {
        &self.document.objective
    }

    /// The usable part of the links' rates, 0 to 1.
    #[getter]
    fn utilisation(&self) -> f64 {
        self.document.utilisation
    }

    /// Remarks, one text each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.document.notes.clone()
    }

    /// One row per flow: its rate and goodput, and those that it would have alone.
    #[getter]
    fn flows(&self) -> Table {
        let rows: Vec<(&OptimumWindowRow, &BestFlowRow)> = self.rows(|window| &window.flows);
        let held =
            |row: &BestFlowRow| row.held.iter().map(|held| held.by.as_str()).collect::<Vec<_>>().join(", ");
        windows(rows.iter().map(|(window, _)| *window))
            .text("consumer", "the consumer's node", rows.iter().map(|(_, row)| &row.consumer))
            .text("prefix", "the prefix that it fetches", rows.iter().map(|(_, row)| &row.prefix))
            .text("class", "its service class", rows.iter().map(|(_, row)| &row.class))
            .number("rate_bps", "bits of Data on the wire, bit/s", rows.iter().map(|(_, row)| row.rate_bps))
            .number("goodput_bps", "content of Data, bit/s", rows.iter().map(|(_, row)| row.goodput_bps))
            .maybe(
                "max_min_bps",
                "its rate under max-min fairness over all routes at once, bit/s; null if not computed",
                rows.iter().map(|(_, row)| row.max_min_bps),
            )
            .number(
                "alone_bps",
                "its rate if it were the only flow, bit/s",
                rows.iter().map(|(_, row)| row.alone_bps),
            )
            .maybe(
                "unshared_bps",
                "its rate if no consumers shared Data, bit/s; null if it is the same",
                rows.iter().map(|(_, row)| row.unshared_bps),
            )
            .maybe(
                "unshared_goodput_bps",
                "its goodput if no consumers shared Data, bit/s; null if it is the same",
                rows.iter().map(|(_, row)| row.unshared_goodput_bps),
            )
            .text("held_by", "what limits it: links, or `source`", rows.iter().map(|(_, row)| held(row)))
            .table()
    }

    /// One row per direction of each link that Data use.
    #[getter]
    fn links(&self) -> Table {
        let rows: Vec<(&OptimumWindowRow, &BestLinkRow)> = self.rows(|window| &window.links);
        let number = |value: fn(&BestLinkRow) -> f64| rows.iter().map(move |(_, row)| value(row));
        windows(rows.iter().map(|(window, _)| *window))
            .text("from", "the sending node", rows.iter().map(|(_, row)| &row.from))
            .text("to", "the receiving node", rows.iter().map(|(_, row)| &row.to))
            .number("rate_bps", "its rate, bit/s", number(|row| row.rate_bps))
            .number("data_bps", "Data on it, bit/s", number(|row| row.data_bps))
            .number("interest_bps", "Interests on it, bit/s", number(|row| row.interest_bps))
            .number(
                "binding",
                "the part of the window in which it is a bottleneck, 0 to 1",
                number(|row| row.binding),
            )
            .table()
    }

    /// The bottlenecks, tightest first.
    #[getter]
    fn bottlenecks(&self) -> Table {
        let rows: Vec<(&OptimumWindowRow, &BottleneckRow)> = self.rows(|window| &window.bottlenecks);
        windows(rows.iter().map(|(window, _)| *window))
            .text("from", "the sending node", rows.iter().map(|(_, row)| &row.from))
            .text("to", "the receiving node", rows.iter().map(|(_, row)| &row.to))
            .number(
                "least_bps",
                "the smallest rate of a flow that it limits, bit/s",
                rows.iter().map(|(_, row)| row.least_bps),
            )
            .count("flows", "flows that it limits", rows.iter().map(|(_, row)| row.flows.len() as u64))
            .table()
    }

    /// Why figures are not exact, first for windows, then for completions, one text each; empty if all are exact.
    #[getter]
    fn inexact(&self) -> Vec<String> {
        let windows = self.document.windows.iter().filter_map(|window| window.inexact.clone());
        let mut all: Vec<String> = windows.chain(self.document.completions_inexact.clone()).collect();
        all.dedup();
        all
    }

    /// The completion time of each flow that has an end.
    #[getter]
    fn completions(&self) -> Table {
        let rows = &self.document.completions;
        Columns::default()
            .text("consumer", "the consumer's node", rows.iter().map(|row| &row.consumer))
            .text("prefix", "the prefix that it fetches", rows.iter().map(|row| &row.prefix))
            .text("class", "its service class", rows.iter().map(|row| &row.class))
            .maybe(
                "completion_s",
                "time after its start, s; null if not within the run",
                rows.iter().map(|row| row.completion_s),
            )
            .maybe(
                "unshared_s",
                "the same if no consumers shared Data, s",
                rows.iter().map(|row| row.unshared_s),
            )
            .number(
                "round_trip_s",
                "the propagation of an Interest and its Data, s",
                rows.iter().map(|row| row.round_trip_s),
            )
            .maybe(
                "alone_s",
                "the time that it would take alone, with a round trip, s",
                rows.iter().map(|row| row.alone_s),
            )
            .maybe(
                "slowdown",
                "its completion with a round trip over `alone_s`; null if not within the run",
                rows.iter().map(|row| row.slowdown),
            )
            .table()
    }

    /// The document, a dict: the output of `weir optimum --json`.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pythonize::pythonize(py, &self.document).map_err(PyErr::from)
    }

    /// The document as JSON text.
    fn json(&self) -> String {
        to_json(&self.document)
    }

    /// The flows as HTML, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<p><b>{}</b></p>{}", escaped(&self.document.title), self.flows()._repr_html_(py)?))
    }

    fn __repr__(&self) -> String {
        let OptimumDocument { scenario, objective, windows, .. } = &self.document;
        format!("weir.Optimum({scenario}, {objective}: {} windows)", windows.len())
    }
}

impl Optimum {
    fn rows<T>(&self, of: fn(&OptimumWindowRow) -> &Vec<T>) -> Vec<(&OptimumWindowRow, &T)> {
        let windows = self.document.windows.iter();
        windows.flat_map(|window| of(window).iter().map(move |row| (window, row))).collect()
    }
}

fn windows<'a>(rows: impl Iterator<Item = &'a OptimumWindowRow> + Clone) -> Columns {
    let label = |window: &OptimumWindowRow| format!("{}:{}", window.from_s, window.to_s);
    Columns::default()
        .text("window", "the window's times in seconds, such as `20:120`", rows.clone().map(label))
        .number("from_s", "its beginning, s", rows.clone().map(|window| window.from_s))
        .number("to_s", "its end, s", rows.map(|window| window.to_s))
}
