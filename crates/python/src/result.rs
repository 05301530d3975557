//! The result of a run.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use weir_measure::{
    ClassRow, DelayMs, DistributionRow, FlowRow, GroupRow, LinkRow, NodeRow, Relation, Report, RunDocument,
    TopologyNode, TrafficFigures, to_json,
};
use weir_results::write_html;

use crate::errors::WeirError;
use crate::plot::{self, Texts, Wanted};
use crate::series;
use crate::table::{Columns, Table, escaped};

/// What a run has measured.
///
/// The tables `flows`, `classes`, `groups`, `links` and `nodes` have rows for the whole run and for each window, which the columns
/// `window`, `from_s` and `to_s` say.
#[pyclass(frozen, module = "weir")]
pub struct Result {
    pub report: Arc<Report>,
}

/// The figures over time, a row for each step of each flow, class, direction of a link, or node. Empty if the run was made
/// without series.
#[pyclass(frozen, module = "weir")]
pub struct Series {
    report: Arc<Report>,
}

#[pymethods]
impl Result {
    /// The scenario's name.
    #[getter]
    fn scenario(&self) -> &str {
        &self.report.document.scenario
    }

    /// The scenario's title.
    #[getter]
    fn title(&self) -> &str {
        &self.report.title
    }

    /// The scheme's name.
    #[getter]
    fn scheme(&self) -> &str {
        &self.report.document.scheme
    }

    /// The seed of all random streams.
    #[getter]
    fn seed(&self) -> u64 {
        self.report.document.seed
    }

    /// Whether the figures depend on the seed.
    #[getter]
    fn seed_matters(&self) -> bool {
        self.report.document.seed_matters
    }

    /// The time that the run took, s.
    #[getter]
    fn wall_s(&self) -> f64 {
        self.report.document.wall_s
    }

    /// Remarks of the run, a text each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.report.notes.clone()
    }

    /// Each flow: goodput, delay, losses, and when it was complete.
    #[getter]
    fn flows(&self) -> Table {
        let rows = self.rows(|document| &document.flows, |window| &window.flows);
        let of = |value: fn(&FlowRow) -> &str| rows.iter().map(move |(_, row)| value(row));
        parts(&rows)
            .text("consumer", "the consumer's node", of(|row| &row.consumer))
            .text("prefix", "the prefix that it fetches", of(|row| &row.prefix))
            .text("group", "the name of its [[flow]] table", of(|row| &row.group))
            .text("class", "its service class", of(|row| &row.class))
            .number("goodput_bps", GOODPUT, rows.iter().map(|(_, row)| row.goodput_bps))
            .delays(|| rows.iter().map(|(_, row)| row.delay_ms))
            .count("lost", LOST, rows.iter().map(|(_, row)| row.lost))
            .count("retransmitted", RETRANSMITTED, rows.iter().map(|(_, row)| row.retransmitted))
            .count("timeouts", TIMEOUTS, rows.iter().map(|(_, row)| row.timeouts))
            .maybe(
                "completion_s",
                "from its start to its last Data, s; null while unfinished, or without an end",
                rows.iter().map(|(_, row)| row.completion_s),
            )
            .maybe("hops_mean", HOPS, rows.iter().map(|(_, row)| row.hops.as_ref()?.mean))
            .table()
    }

    /// Each service class: its flows together.
    #[getter]
    fn classes(&self) -> Table {
        let rows = self.rows(|document| &document.classes, |window| &window.classes);
        let names = rows.iter().map(|(_, row): &(Part, &ClassRow)| &row.class);
        parts(&rows)
            .text("class", "the service class", names)
            .figures(|| rows.iter().map(|(_, row)| &row.figures))
    }

    /// Each group of flows, those of one [[flow]] table, together.
    #[getter]
    fn groups(&self) -> Table {
        let rows = self.rows(|document| &document.groups, |window| &window.groups);
        let names = rows.iter().map(|(_, row): &(Part, &GroupRow)| &row.group);
        parts(&rows)
            .text("group", "the group's name", names)
            .figures(|| rows.iter().map(|(_, row)| &row.figures))
    }

    /// Each direction of each link.
    #[getter]
    fn links(&self) -> Table {
        let rows = self.rows(|document| &document.links, |window| &window.links);
        let number = |value: fn(&LinkRow) -> f64| rows.iter().map(move |(_, row)| value(row));
        parts(&rows)
            .text("from", "the sending node", rows.iter().map(|(_, row)| &row.from))
            .text("to", "the receiving node", rows.iter().map(|(_, row)| &row.to))
            .number("rate_bps", "its rate, bit/s", number(|row| row.rate_bps))
            .number(
                "utilisation",
                "share of time in which it was sending, 0 to 1",
                number(|row| row.utilisation),
            )
            .count("drops", "packets dropped at its queue", rows.iter().map(|(_, row)| row.drops))
            .count("lost", "packets that the link lost at random", rows.iter().map(|(_, row)| row.lost))
            .count("down", "packets dropped because it was down", rows.iter().map(|(_, row)| row.down))
            .maybe("queue_ms_mean", "mean queueing delay, ms", rows.iter().map(|(_, row)| row.queue_ms.mean))
            .maybe(
                "queue_ms_p99",
                "99th percentile of the queueing delay, ms",
                rows.iter().map(|(_, row)| row.queue_ms.p99),
            )
            .table()
    }

    /// Each node: its role (consumer, router, producer or peer), its cache, its pending Interests, the packets that it threw
    /// away, and where it is drawn, if the scenario says so.
    #[getter]
    fn nodes(&self) -> Table {
        let rows = self.rows(|document| &document.nodes, |window| &window.nodes);
        let all = &self.report.topology.nodes;
        // Those of each part are all nodes, in their order.
        let nodes = || (0..rows.len()).filter_map(|at| all.get(at % all.len()));
        let position = |axis: fn((f32, f32)) -> f32| {
            nodes().map(move |node: &TopologyNode| node.position.map(|at| f64::from(axis(at))))
        };
        let count = |value: fn(&NodeRow) -> u64| rows.iter().map(move |(_, row)| value(row));
        let drops = |row: &NodeRow| row.drops.iter().map(|row| row.data + row.interests).sum();
        parts(&rows)
            .text("node", "its name", rows.iter().map(|(_, row)| &row.node))
            .text("role", "consumer, router, producer, or peer", nodes().map(|node| node.role.name()))
            .count("cache_hits", "Interests that its stores answered", count(|row| row.cache_hits))
            .count(
                "cache_misses",
                "Interests that were looked up there in vain",
                count(|row| row.cache_misses),
            )
            .count(
                "cache_insertions",
                "Data that were stored and had not been there",
                count(|row| row.cache_insertions),
            )
            .count("cache_evictions", "Data that made room for others", count(|row| row.cache_evictions))
            .maybe(
                "cache_hit_ratio",
                "part of the Interests looked up that were answered; null without any",
                rows.iter().map(|(_, row)| row.cache_hit_ratio),
            )
            .maybe(
                "pit_mean",
                "pending Interests, mean over the ends of steps",
                rows.iter().map(|(_, row)| row.pit_mean),
            )
            .count("pit_max", "the most Interests that were pending at once", count(|row| row.pit_max))
            .count("drops", "packets that it threw away, for whatever reason", count(drops))
            .maybe("x", "where it is drawn, to the right", position(|at| at.0))
            .maybe("y", "where it is drawn, down", position(|at| at.1))
            .table()
    }

    /// The measuring windows: those of the scenario, then further ones.
    #[getter]
    fn windows(&self) -> Table {
        let windows = &self.report.document.windows;
        let label = |window: &weir_measure::WindowRow| Part::window(window).label;
        Columns::default()
            .text("window", WINDOW, windows.iter().map(label))
            .number("from_s", "its beginning, s", windows.iter().map(|window| window.from_s))
            .number("to_s", "its end, s", windows.iter().map(|window| window.to_s))
            .table()
    }

    /// The statements of the scenario's source about this scheme, with the measured values.
    #[getter]
    fn expectations(&self) -> Table {
        let rows = &self.report.document.expectations;
        Columns::default()
            .text("what", "the measured quantity in words", rows.iter().map(|row| &row.what))
            .text("source", "the place of the statement", rows.iter().map(|row| &row.source))
            .text("unit", "unit of the values; 1 for ratios", rows.iter().map(|row| &row.unit))
            .text("bound", "the required relation", rows.iter().map(|row| relation(row.bound)))
            .maybe(
                "stated",
                "the stated value; null for a comparison with schemes",
                rows.iter().map(|row| row.stated),
            )
            .number(
                "tolerance",
                "allowed difference, relative to `stated`, or absolute if that is 0",
                rows.iter().map(|row| row.tolerance),
            )
            .text("than", "the schemes that it is compared with", rows.iter().map(|row| row.than.join(", ")))
            .maybe(
                "measured",
                "the measured value; null if there was none",
                rows.iter().map(|row| row.measured),
            )
            .flag(
                "never",
                "whether a goodput did not settle until the end of the window",
                rows.iter().map(|row| row.never),
            )
            .maybe_flag("holds", "whether it holds; null for a comparison", rows.iter().map(|row| row.holds))
            .table()
    }

    /// The figures over time.
    #[getter]
    fn series(&self) -> Series {
        Series { report: Arc::clone(&self.report) }
    }

    /// The histogram of a measured quantity: `delay`, `queueing`, `completion` or `slowdown`. `of` is the name of a class, of a
    /// group, of a flow as `C1 /A`, or of the direction of a link as `R1->R2`; without it, that of all flows or all links.
    /// `window` is a window as in the tables, such as `20:120`; without it, that of the whole run.
    #[pyo3(signature = (what, of=None, window="run"))]
    fn distribution(&self, what: &str, of: Option<&str>, window: &str) -> PyResult<Distribution> {
        let document = &self.report.document;
        let windows = || document.windows.iter().map(|row| (Part::window(row).label, &row.distributions));
        let rows = match window {
            "run" => &document.distributions,
            _ => windows().find(|(label, _)| label == window).map(|(_, rows)| rows).ok_or_else(|| {
                let known: Vec<String> = windows().map(|(label, _)| label).collect();
                WeirError::new_err(format!(
                    "there is no window `{window}`; there are: run, {}",
                    known.join(", ")
                ))
            })?,
        };
        let is_meant = |row: &&DistributionRow| match of {
            Some(of) => row.of == of,
            None => matches!(row.kind.as_str(), "class" | "links"),
        };
        let mut found: Option<weir_measure::Distribution> = None;
        // A group may have the name of a class, which then comes first and alone.
        let meant = rows.iter().filter(|row| row.what == what).filter(is_meant);
        for row in meant.take(if of.is_some() { 1 } else { usize::MAX }) {
            match &mut found {
                Some(sum) => sum.merge(&row.distribution),
                None => found = Some(row.distribution.clone()),
            }
        }
        found.map(Distribution).ok_or_else(|| {
            let known: Vec<String> = rows.iter().map(|row| format!("{} {}", row.what, row.of)).collect();
            let of = of.map_or(String::new(), |of| format!(" of `{of}`"));
            WeirError::new_err(format!(
                "there is no distribution `{what}`{of}; there are: {}",
                known.join(", ")
            ))
        })
    }

    /// The document of the run, a dict: what `weir run --json` prints.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        pythonize::pythonize(py, &self.report.document).map_err(PyErr::from)
    }

    /// The document of the run as JSON text.
    fn json(&self) -> String {
        to_json(&self.report.document)
    }

    /// A figure of matplotlib: the same as of `weir plot`.
    #[pyo3(signature = (what=None, *, metric=None, by=None, only=None, window=None, x=None, log=None, columns=1, title=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn plot(
        &self,
        py: Python<'_>,
        what: Option<String>,
        metric: Option<Texts>,
        by: Option<String>,
        only: Option<Texts>,
        window: Option<String>,
        x: Option<String>,
        log: Option<Texts>,
        columns: u8,
        title: Option<String>,
    ) -> PyResult<Py<PyAny>> {
        let wanted = Wanted { what, metric, by, only, window, x, log, title };
        plot::plot(py, &weir_study::plotted_report(&self.report), wanted, columns)
    }

    /// Writes the report, one HTML page with all in it, and returns its path.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
        py.detach(|| write_html(&self.report, &path))
            .map_err(|error| WeirError::new_err(error.to_string()))?;
        Ok(path)
    }

    /// The classes and the expectations as HTML, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let mut html = format!("<p><b>{}</b><br>{}</p>", escaped(self.title()), escaped(&self.__repr__()));
        html += &self.classes()._repr_html_(py)?;
        if !self.report.document.expectations.is_empty() {
            html += &self.expectations()._repr_html_(py)?;
        }
        Ok(html)
    }

    fn __repr__(&self) -> String {
        let RunDocument { scenario, scheme, seed, flows, windows, simulated_s, .. } = &self.report.document;
        let (flows, windows) = (flows.len(), windows.len());
        format!(
            "weir.Result({scenario} under {scheme}, seed {seed}: {flows} flows, {simulated_s} s, {windows} windows)"
        )
    }
}

/// A histogram of a run. `+` adds those of several runs, over seeds for example.
#[pyclass(frozen, module = "weir")]
pub struct Distribution(weir_measure::Distribution);

#[pymethods]
impl Distribution {
    /// Unit of the values: `ms`, `s`, or `1` for ratios.
    #[getter]
    fn unit(&self) -> &str {
        &self.0.unit
    }

    /// The number of values.
    #[getter]
    fn count(&self) -> u64 {
        self.0.count
    }

    /// Their mean, exact.
    #[getter]
    fn mean(&self) -> Option<f64> {
        self.0.mean
    }

    /// The points of the cumulative distribution: values, and the part of all values up to each, 0 to 1.
    fn cdf(&self) -> (Vec<f64>, Vec<f64>) {
        self.0.cdf().unzip()
    }

    /// The value that this part (0 to 1) of all values does not exceed; off by half a step or 0.4 %.
    fn quantile(&self, part: f64) -> Option<f64> {
        self.0.quantile(part)
    }

    fn __add__(&self, other: &Distribution) -> PyResult<Distribution> {
        if (&self.0.unit, self.0.step) != (&other.0.unit, other.0.step) {
            return Err(WeirError::new_err("distributions of different quantities have no sum"));
        }
        let mut sum = self.0.clone();
        sum.merge(&other.0);
        Ok(Distribution(sum))
    }

    fn __repr__(&self) -> String {
        let weir_measure::Distribution { unit, count, .. } = &self.0;
        format!("weir.Distribution({count} values, unit {unit})")
    }
}

#[pymethods]
impl Series {
    /// Each flow over time.
    #[getter]
    fn flows(&self) -> Table {
        series::flows(&self.report)
    }

    /// Each class over time: its flows summed.
    #[getter]
    fn classes(&self) -> Table {
        series::classes(&self.report)
    }

    /// Each direction of each link over time.
    #[getter]
    fn links(&self) -> Table {
        series::links(&self.report)
    }

    /// Each node over time.
    #[getter]
    fn nodes(&self) -> Table {
        series::nodes(&self.report)
    }

    /// Length of a step, s.
    #[getter]
    fn step_s(&self) -> f64 {
        self.report.series.step_s
    }

    fn __repr__(&self) -> String {
        let series = &self.report.series;
        format!("weir.Series({} steps of {} s)", series.samples, series.step_s)
    }
}

const HOPS: &str =
    "mean number of links that its Data crossed from the producer or store that gave them; null if not known";
const WINDOW: &str =
    "the part of the run: `run` for all of it, or the window's times in seconds, such as `20:120`";
const GOODPUT: &str = "Data content delivered to applications, bit/s";
const LOST: &str = "Data packets dropped in the network";
const RETRANSMITTED: &str = "retransmitted Interests";
const TIMEOUTS: &str = "retransmission timeouts";

/// A part of a run.
#[derive(Clone)]
struct Part {
    label: String,
    from_s: f64,
    to_s: f64,
}

impl Part {
    fn window(window: &weir_measure::WindowRow) -> Part {
        let (from_s, to_s) = (window.from_s, window.to_s);
        Part { label: format!("{from_s}:{to_s}"), from_s, to_s }
    }
}

impl Result {
    /// The rows over the whole run, and those over each window.
    fn rows<'a, T>(
        &'a self,
        of_run: impl Fn(&'a RunDocument) -> &'a Vec<T>,
        of_window: impl Fn(&'a weir_measure::WindowRow) -> &'a Vec<T>,
    ) -> Vec<(Part, &'a T)> {
        let document = &self.report.document;
        let run = Part { label: "run".to_owned(), from_s: 0.0, to_s: document.simulated_s };
        let windows = document.windows.iter().map(|window| (Part::window(window), of_window(window)));
        let all = [(run, of_run(document))].into_iter().chain(windows);
        all.flat_map(|(part, rows)| rows.iter().map(move |row| (part.clone(), row))).collect()
    }
}

/// The columns that say which part of the run a row is of.
fn parts<T>(rows: &[(Part, T)]) -> Columns {
    Columns::default()
        .text("window", WINDOW, rows.iter().map(|(part, _)| &part.label))
        .number("from_s", "the beginning of the window, s", rows.iter().map(|(part, _)| part.from_s))
        .number("to_s", "the end of the window, s", rows.iter().map(|(part, _)| part.to_s))
}

impl Columns {
    fn delays<I: Iterator<Item = DelayMs>>(self, rows: impl Fn() -> I) -> Columns {
        let about = |what: &str| format!("{what} from the first transmission of an Interest to its Data, ms");
        self.maybe("delay_ms_mean", &about("mean"), rows().map(|delay| delay.mean))
            .maybe("delay_ms_p50", &about("median"), rows().map(|delay| delay.p50))
            .maybe("delay_ms_p95", &about("95th percentile"), rows().map(|delay| delay.p95))
            .maybe("delay_ms_p99", &about("99th percentile"), rows().map(|delay| delay.p99))
    }

    fn figures<'a, I: Iterator<Item = &'a TrafficFigures>>(self, rows: impl Fn() -> I) -> Table {
        self.number("goodput_bps", GOODPUT, rows().map(|row| row.goodput_bps))
            .delays(|| rows().map(|row| row.delay_ms))
            .count("lost", LOST, rows().map(|row| row.lost))
            .count("retransmitted", RETRANSMITTED, rows().map(|row| row.retransmitted))
            .count("timeouts", TIMEOUTS, rows().map(|row| row.timeouts))
            .maybe(
                "completion_s",
                "completion time of the last flow after its start, s; null unless all completed",
                rows().map(|row| row.completion_s),
            )
            .maybe(
                "completion_mean_s",
                "mean completion time of the flows, s; null unless all completed",
                rows().map(|row| row.completion_mean_s),
            )
            .maybe("hops_mean", HOPS, rows().map(|row| row.hops.as_ref()?.mean))
            .table()
    }
}

/// A relation as the document has it.
fn relation(bound: Relation) -> &'static str {
    match bound {
        Relation::About => "about",
        Relation::AtMost => "at_most",
        Relation::AtLeast => "at_least",
        Relation::MoreThan => "more_than",
        Relation::LessThan => "less_than",
    }
}
