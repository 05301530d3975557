//! Figures of results: which data a figure of some kind has. [`weir_figure`] draws them.
//!
//! A [`Plotted`] is what was measured, a [`PlotRequest`] what is wanted of it.

mod bars;
mod distributions;
mod networks;
mod objects;
mod over_time;

use std::fmt;
use std::str::FromStr;

use weir_core::words::did_you_mean_or;
use weir_figure::{Axis, Figure, Scale, Style};
use weir_measure::{RunDocument, Series, Topology};

use crate::StyleRow;
use crate::format;

/// What was measured: runs of one scenario.
#[derive(Clone, Debug, Default)]
pub struct Plotted {
    /// The runs, in the order of schemes; those of a scheme by seed.
    pub runs: Vec<PlottedRun>,
    /// The names of the axes of a sweep.
    pub axes: Vec<String>,
}

/// A run.
#[derive(Clone, Debug, Default)]
pub struct PlottedRun {
    /// Its figures.
    pub document: RunDocument,
    /// Its figures over time; without samples if they are not known.
    pub series: Series,
    /// Its network; without nodes if it is not known.
    pub topology: Topology,
    /// The value of each axis of the sweep.
    pub point: Vec<String>,
}

/// What a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Metrics over time.
    Series,
    /// A metric by scheme.
    Bars,
    /// Goodput over delay.
    Scatter,
    /// A metric over an axis of a sweep.
    Axis,
    /// Distributions.
    Cdf,
    /// Complements of distributions.
    Ccdf,
    /// Completion times of requests by size.
    Completion,
    /// Jain's index over time.
    Fairness,
    /// The network, with links coloured by a metric.
    Topology,
    /// Two worlds, the simulator and the lab, in one.
    Worlds,
}

impl What {
    /// All kinds.
    pub const ALL: [What; 10] = [
        What::Series,
        What::Bars,
        What::Scatter,
        What::Axis,
        What::Cdf,
        What::Ccdf,
        What::Completion,
        What::Fairness,
        What::Topology,
        What::Worlds,
    ];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            What::Series => "series",
            What::Bars => "bars",
            What::Scatter => "scatter",
            What::Axis => "axis",
            What::Cdf => "cdf",
            What::Ccdf => "ccdf",
            What::Completion => "completion",
            What::Fairness => "fairness",
            What::Topology => "topology",
            What::Worlds => "worlds",
        }
    }
}

impl FromStr for What {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<What, PlotError> {
        let found = What::ALL.into_iter().find(|what| what.name() == text);
        found.ok_or_else(|| {
            let meant = did_you_mean_or(text, What::ALL.map(What::name), "the kinds");
            PlotError(format!("there is no kind of figure `{text}`{meant}"))
        })
    }
}

/// What a line, a bar or a panel is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A service class.
    Class,
    /// A group of flows.
    Group,
    /// A flow.
    Flow,
    /// All flows of a scheme together.
    Scheme,
    /// A direction of a link.
    Link,
}

impl By {
    /// All of them.
    pub const ALL: [By; 5] = [By::Class, By::Group, By::Flow, By::Scheme, By::Link];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            By::Class => "class",
            By::Group => "group",
            By::Flow => "flow",
            By::Scheme => "scheme",
            By::Link => "link",
        }
    }
}

impl FromStr for By {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<By, PlotError> {
        let names = By::ALL.map(By::name).join(", ");
        let found = By::ALL.into_iter().find(|by| by.name() == text);
        found.ok_or_else(|| PlotError(format!("`{text}` is none of {names}")))
    }
}

/// What is wanted. The default shows what tells most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotRequest {
    /// The kind; by default `series` for a run, `axis` for a sweep, `bars` for several schemes.
    pub what: Option<What>,
    /// The metrics, a panel each.
    pub metrics: Vec<String>,
    /// What lines and bars are of.
    pub by: Option<By>,
    /// Names of schemes, classes, flows or links: only these.
    pub only: Vec<String>,
    /// The part of the run: by default its last window, or all of it without one.
    pub window: Option<WindowChoice>,
    /// The axis of a sweep.
    pub axis: Option<String>,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// The ends of the horizontal axis.
    pub range_x: (Option<f64>, Option<f64>),
    /// The ends of the vertical axis.
    pub range_y: (Option<f64>, Option<f64>),
    /// The title; by default none.
    pub title: Option<String>,
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WindowChoice {
    /// The whole run.
    Run,
    /// The window with this number, from 1 on.
    Number(usize),
    /// From and to, s.
    Between(f64, f64),
}

impl FromStr for WindowChoice {
    type Err = PlotError;

    fn from_str(text: &str) -> Result<WindowChoice, PlotError> {
        let number = |text: &str| text.trim().trim_end_matches('s').trim().parse::<f64>().ok();
        let wrong = || {
            PlotError(format!(
                "`{text}` is no window: give its number, such as 1, or seconds, such as 20:120, or run"
            ))
        };
        if text == "run" {
            return Ok(WindowChoice::Run);
        }
        match text.split_once(':') {
            Some((from, to)) => {
                let ends = number(from).zip(number(to)).filter(|(from, to)| from < to);
                ends.map(|(from, to)| WindowChoice::Between(from, to)).ok_or_else(wrong)
            }
            None => match text.parse() {
                Ok(number) if number > 0 => Ok(WindowChoice::Number(number)),
                _ => Err(wrong()),
            },
        }
    }
}

/// The runs of a study's table: the names of its axes, and the key of each run with its values.
pub type ListedRuns = (Vec<String>, Vec<(String, Vec<String>)>);

/// The runs of a study's `runs.csv` that are complete: the names of its axes, and the key of each run with its values.
///
/// # Errors
/// It is no such table.
pub fn runs_of_table(text: &str) -> Result<ListedRuns, PlotError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let wrong = |error: csv::Error| PlotError(format!("runs.csv is no table of runs: {error}"));
    let head: Vec<String> = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
    let place = |name: &str| {
        let missing = || PlotError(format!("runs.csv has no column `{name}`"));
        head.iter().position(|column| column == name).ok_or_else(missing)
    };
    let (key, error) = (place("key")?, place("error")?);
    let between = place("variant")? + 1..place("seed")?;
    // A column of an axis has one with its numbers behind it.
    let is_number = |at: &usize| *at > between.start && head[*at].starts_with(&format!("{}.", head[at - 1]));
    let axes: Vec<usize> = between.clone().filter(|at| !is_number(at)).collect();
    let mut runs = Vec::new();
    for row in reader.records() {
        let row = row.map_err(wrong)?;
        let cell = |at: usize| row.get(at).unwrap_or_default().to_owned();
        if cell(error).is_empty() {
            runs.push((cell(key), axes.iter().map(|at| cell(*at)).collect()));
        }
    }
    Ok((axes.iter().map(|at| head[*at].clone()).collect(), runs))
}

/// Why there is no such figure, and what there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlotError(pub String);

impl fmt::Display for PlotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlotError {}

/// The number of the style of a scheme: its place among `all`, or `None` if it is none of them. A variant, or a run in the lab,
/// has the same colour with another marker; two variants of a scheme among those `shown` differ.
pub fn style_of<'a>(scheme: &str, shown: impl Iterator<Item = &'a str>, all: &[&str]) -> Option<u32> {
    fn variant_of(scheme: &str) -> Option<&str> {
        scheme.split_once(" (").map(|(name, _)| name)
    }
    let own = variant_of(scheme);
    let place = all.iter().position(|style| *style == own.unwrap_or(scheme))? as u32;
    let before =
        shown.take_while(|other| *other != scheme).filter(|other| variant_of(other) == own).count() as u32;
    let variant = if own.is_some() { 1 + before % 2 } else { 0 };
    Some(Style::number_of_variant(place, variant))
}

/// The styles of the schemes that are shown; `all` has the names of all schemes in their order.
pub fn styles_of<'a>(schemes: impl IntoIterator<Item = &'a str>, all: &[&str]) -> Vec<StyleRow> {
    let shown: Vec<&str> = schemes.into_iter().collect();
    let row = |scheme: &&str| {
        let style = style_of(scheme, shown.iter().copied(), all)?;
        Some(StyleRow { scheme: (*scheme).to_owned(), style })
    };
    shown.iter().filter_map(row).collect()
}

/// Returns the number of the style of each scheme; its place among these if the style is not known.
pub(crate) fn numbers_of_styles<'a>(schemes: impl Iterator<Item = &'a str>, styles: &[StyleRow]) -> Vec<u32> {
    let number = |(place, scheme): (usize, &str)| {
        styles.iter().find(|row| row.scheme == scheme).map_or(place as u32, |row| row.style)
    };
    schemes.enumerate().map(number).collect()
}

/// The figure of some results. `schemes` are the names of all schemes: the place of a scheme among them is its style, the same in
/// every figure.
///
/// # Errors
/// The results have no such figure; the error says which they have.
pub fn figure(plotted: &Plotted, request: &PlotRequest, schemes: &[&str]) -> Result<Figure, PlotError> {
    let view = View::new(plotted, request, schemes)?;
    let what = request.what.unwrap_or_else(|| view.default_kind());
    let mut figure = match what {
        What::Series => over_time::series(&view),
        What::Fairness => over_time::fairness(&view),
        What::Worlds => over_time::worlds(&view),
        What::Bars => bars::bars(&view),
        What::Axis => bars::axis(&view),
        What::Scatter => bars::scatter(&view),
        What::Completion => bars::completion(&view),
        What::Cdf => distributions::distributions(&view, false),
        What::Ccdf => distributions::distributions(&view, true),
        What::Topology => networks::topology(&view),
    }
    .map_err(|error| PlotError(format!("no figure `{}`: {error}", what.name())))?;
    for panel in &mut figure.panels {
        let axes =
            [(&mut panel.x, request.log_x, request.range_x), (&mut panel.y, request.log_y, request.range_y)];
        for (axis, is_log, (from, to)) in axes {
            if axis.scale == Scale::Categories {
                continue;
            }
            if is_log {
                axis.scale = Scale::Log;
                axis.range.0 = axis.range.0.filter(|from| *from > 0.0);
            }
            axis.range = (from.or(axis.range.0), to.or(axis.range.1));
        }
    }
    figure.title = request.title.clone().unwrap_or_default();
    if figure.source.is_empty() {
        figure.source = view.source();
    }
    Ok(figure)
}

/// Results and what is wanted of them.
pub(crate) struct View<'a> {
    plotted: &'a Plotted,
    request: &'a PlotRequest,
    styles: &'a [&'a str],
    /// The names of the schemes with their variants and worlds, in the order of the results.
    schemes: Vec<String>,
}

/// The name of a run's scheme, with its variant and its world.
fn scheme_of(run: &PlottedRun) -> String {
    format::named(&run.document.contestant(), run.document.variant.as_deref())
}

/// The name of a scheme without its variant and its world: it stands for all of them.
fn base(scheme: &str) -> &str {
    scheme.split_once(" (").map_or(scheme, |(base, _)| base)
}

impl<'a> View<'a> {
    fn new(
        plotted: &'a Plotted,
        request: &'a PlotRequest,
        styles: &'a [&'a str],
    ) -> Result<View<'a>, PlotError> {
        let mut schemes: Vec<String> = Vec::new();
        for run in &plotted.runs {
            let scheme = scheme_of(run);
            if !schemes.contains(&scheme) {
                schemes.push(scheme);
            }
        }
        if schemes.is_empty() {
            return Err(PlotError("the results have no run".to_owned()));
        }
        let is_chosen =
            |scheme: &&String| request.only.iter().any(|only| only == *scheme || only == base(scheme));
        let chosen: Vec<String> = schemes.iter().filter(is_chosen).cloned().collect();
        let schemes = if chosen.is_empty() { schemes } else { chosen };
        let view = View { plotted, request, styles, schemes };
        for only in &request.only {
            if !view.all_names().iter().any(|name| name == only) {
                let names = view.all_names();
                let meant = did_you_mean_or(only, names.iter().map(|name| &**name), "the results have");
                return Err(PlotError(format!("there is no `{only}`{meant}")));
            }
        }
        Ok(view)
    }

    /// Names of everything that can be chosen.
    fn all_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.plotted.runs.iter().map(scheme_of).collect();
        names.extend(self.plotted.runs.iter().map(|run| base(&scheme_of(run)).to_owned()));
        if let Some(run) = self.plotted.runs.first() {
            for by in [By::Class, By::Group, By::Flow, By::Link] {
                names.extend(objects::names(run, by));
            }
        }
        let mut once = Vec::new();
        names.into_iter().for_each(|name| {
            if !once.contains(&name) {
                once.push(name)
            }
        });
        once
    }

    fn default_kind(&self) -> What {
        match (&self.plotted.axes[..], &self.schemes[..]) {
            ([_, ..], _) => What::Axis,
            (_, [one]) if self.runs_of(one).any(|run| over_time::has_series(&run.series)) => What::Series,
            _ => What::Bars,
        }
    }

    /// The runs of a scheme, by seed.
    fn runs_of(&self, scheme: &str) -> impl Iterator<Item = &'a PlottedRun> {
        self.plotted.runs.iter().filter(move |run| scheme_of(run) == scheme)
    }

    /// The first run of a scheme.
    fn first_of(&self, scheme: &str) -> Option<&'a PlottedRun> {
        self.runs_of(scheme).min_by_key(|run| run.document.seed)
    }

    /// The number of the style of a scheme. A variant, or a run in the lab, has the same colour with another marker; two of a
    /// scheme differ.
    fn style_of(&self, scheme: &str) -> u32 {
        let place = || self.schemes.iter().position(|other| other == scheme).unwrap_or_default() as u32;
        style_of(scheme, self.schemes.iter().map(String::as_str), self.styles).unwrap_or_else(place)
    }

    /// Those of some names that are wanted: all if none of them is chosen.
    fn chosen(&self, names: Vec<String>) -> Vec<String> {
        let chosen: Vec<String> =
            names.iter().filter(|name| self.request.only.contains(name)).cloned().collect();
        if chosen.is_empty() { names } else { chosen }
    }

    /// The part of a run that is wanted: none for the whole run, or the place of a window.
    /// The ends of the time axis, s: those of the window that the request names, of any times; else the whole run.
    fn range(&self, document: &RunDocument) -> Result<(Option<f64>, Option<f64>), PlotError> {
        let window = match self.request.window {
            None | Some(WindowChoice::Run) => None,
            Some(WindowChoice::Between(from, to)) => Some((from, to)),
            Some(WindowChoice::Number(_)) => {
                self.window(document)?.map(|at| (document.windows[at].from_s, document.windows[at].to_s))
            }
        };
        let (from, to) = window.unwrap_or((0.0, document.simulated_s));
        Ok((Some(from), Some(to)))
    }

    fn window(&self, document: &RunDocument) -> Result<Option<usize>, PlotError> {
        let windows = &document.windows;
        let list = || {
            let all: Vec<String> = (windows.iter().enumerate())
                .map(|(k, row)| format!("{} ({}:{})", k + 1, row.from_s, row.to_s))
                .collect();
            if all.is_empty() { "there are none".to_owned() } else { all.join(", ") }
        };
        match self.request.window {
            None => Ok(windows.len().checked_sub(1)),
            Some(WindowChoice::Run) => Ok(None),
            Some(WindowChoice::Number(number)) if number <= windows.len() => Ok(Some(number - 1)),
            Some(WindowChoice::Number(number)) => {
                Err(PlotError(format!("there is no window {number}; the windows: {}", list())))
            }
            Some(WindowChoice::Between(from, to)) => {
                let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
                let found = windows.iter().position(|row| near(row.from_s, from) && near(row.to_s, to));
                let is_run = near(from, 0.0) && near(to, document.simulated_s);
                match found {
                    None if is_run => Ok(None),
                    None => {
                        Err(PlotError(format!("there is no window {from}:{to}; the windows: {}", list())))
                    }
                    found => Ok(found),
                }
            }
        }
    }

    /// The scenario, the seeds and the window.
    fn source(&self) -> String {
        let mut source = self.scenario_and_seeds();
        let first = self.plotted.runs.first();
        if let Some((first, Ok(Some(at)))) = first.map(|run| (run, self.window(&run.document))) {
            let row = &first.document.windows[at];
            source += &format!(", {} s to {} s", row.from_s, row.to_s);
        }
        source
    }

    fn scenario_and_seeds(&self) -> String {
        let scenario = self.plotted.runs.first().map_or("", |run| &run.document.scenario);
        format!("{scenario}, {}", seeds_text(&self.plotted.runs.iter().collect::<Vec<_>>()))
    }
}

/// The seeds of some runs, in words.
fn seeds_text(runs: &[&PlottedRun]) -> String {
    let mut seeds: Vec<u64> = runs.iter().map(|run| run.document.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let many = if seeds.len() == 1 { "seed" } else { "seeds" };
    format!("{many} {}", crate::comparison::seeds(&seeds))
}

/// An axis with a label and a unit.
fn axis(label: &str, unit: &str) -> Axis {
    Axis { label: label.to_owned(), unit: unit.to_owned(), ..Axis::default() }
}

#[cfg(test)]
mod tests;
