//! Figures of results, drawn by matplotlib from Weir's own description.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use weir_results::plot::{PlotError, PlotRequest, Plotted, figure};
use weir_study::scheme_styles;

use crate::errors::WeirError;

/// One text, or several.
#[derive(FromPyObject)]
pub enum Texts {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

/// What `plot` was asked for, as Python has it.
#[derive(Default)]
pub struct Wanted {
    pub what: Option<String>,
    pub metric: Option<Texts>,
    pub by: Option<String>,
    pub only: Option<Texts>,
    pub window: Option<String>,
    pub x: Option<String>,
    pub log: Option<Texts>,
    pub title: Option<String>,
}

fn list(texts: Option<Texts>) -> Vec<String> {
    match texts {
        None => Vec::new(),
        Some(Texts::One(text)) => vec![text],
        Some(Texts::Several(texts)) => texts,
    }
}

/// The matplotlib figure of some results.
pub fn plot(py: Python<'_>, plotted: &Plotted, wanted: Wanted, columns: u8) -> PyResult<Py<PyAny>> {
    let error = |error: PlotError| WeirError::new_err(error.to_string());
    let log = list(wanted.log);
    let request = PlotRequest {
        what: wanted.what.map(|what| what.parse()).transpose().map_err(error)?,
        metrics: list(wanted.metric),
        by: wanted.by.map(|by| by.parse()).transpose().map_err(error)?,
        only: list(wanted.only),
        window: wanted.window.map(|window| window.parse()).transpose().map_err(error)?,
        axis: wanted.x,
        log_x: log.iter().any(|axis| axis == "x"),
        log_y: log.iter().any(|axis| axis == "y"),
        title: wanted.title,
        ..PlotRequest::default()
    };
    let figure = figure(plotted, &request, &scheme_styles()).map_err(error)?;
    let described = pythonize::pythonize(py, &figure)?;
    let styles = PyDict::new(py);
    for number in 0..weir_figure::Style::COUNT {
        let style = weir_figure::Style::of(number);
        let [red, green, blue] = style.colour;
        let colour = format!("#{red:02x}{green:02x}{blue:02x}");
        let dash: Vec<f32> = style.dash.to_vec();
        styles.set_item(number, (colour, format!("{:?}", style.marker), style.filled, dash))?;
    }
    Ok(py.import("weir._plot")?.call_method1("draw", (described, styles, columns))?.unbind())
}
