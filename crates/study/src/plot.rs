//! Results on disk, and those of a reproduction, as figures have them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use weir_experiment::Experiment;
use weir_measure::{Report, RunDocument, Topology};
use weir_results::ThinnedSeries;
use weir_results::plot::{PlotError, PlotRequest, Plotted, PlottedRun, What, runs_of_table};
use weir_scenario::{PaperFigure, Scenario};

use crate::error::StudyError;
use crate::run::{Record, Request};
use crate::store::{RUNS, RunStore};
use crate::study::{PlannedRun, Study};

/// The network of a study is that of so many of its points at most.
const NETWORKS: usize = 32;

/// The names of all schemes: the place of a scheme among them is the number of its style.
pub fn scheme_styles() -> Vec<&'static str> {
    weir_schemes::SCHEMES.iter().map(|entry| entry.name).collect()
}

/// Reads results: folders that `weir run`, `compare`, `sweep`, `lab` or `reproduce` wrote, or files in them.
///
/// # Errors
/// There are no results, or they cannot be read.
pub fn read_results(paths: &[PathBuf]) -> Result<Plotted, StudyError> {
    let mut plotted = Plotted::default();
    let mut networks = Networks::default();
    for path in paths {
        let is_file = path.is_file();
        if is_file && path.extension().is_some_and(|ending| ending == "toml") {
            return Err(StudyError::Invalid(format!(
                "{} is no folder of results: run it first",
                path.display()
            )));
        }
        let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = if is_file { parent } else { path };
        read_folder(dir, path, &mut plotted, &mut networks)?;
    }
    let scenarios: Vec<&str> = plotted.runs.iter().map(|run| run.document.scenario.as_str()).collect();
    if let (Some(first), Some(other)) =
        (scenarios.first(), scenarios.iter().find(|other| *other != &scenarios[0]))
    {
        return Err(StudyError::Invalid(format!(
            "the results are of several scenarios, such as {first} and {other}: name a folder with one of them"
        )));
    }
    Ok(plotted)
}

fn read_folder(
    dir: &Path,
    named: &Path,
    plotted: &mut Plotted,
    networks: &mut Networks,
) -> Result<(), StudyError> {
    if dir.join("run.json").is_file() {
        plotted.runs.push(read_run(dir, networks)?);
        return Ok(());
    }
    let mut runs = Vec::new();
    if dir.join(RUNS).is_dir() {
        let (axes, records) = read_records(dir)?;
        if plotted.axes.is_empty() {
            plotted.axes = axes;
        }
        for (record, point) in records {
            runs.push(plotted_run(record, point, networks));
        }
    }
    // The series of the runs with a report: by scheme, or by seed.
    let mut folders: Vec<PathBuf> = match fs::read_dir(dir) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(error) => return Err(StudyError::File { path: named.to_owned(), error }),
    };
    folders.sort();
    for folder in folders.into_iter().filter(|folder| folder.join("run.json").is_file()) {
        let read = read_run(&folder, networks)?;
        let is_same = |run: &PlottedRun| {
            let (a, b) = (&run.document, &read.document);
            (a.contestant(), &a.variant, a.seed, &a.set) == (b.contestant(), &b.variant, b.seed, &b.set)
        };
        match runs.iter_mut().find(|run| is_same(run)) {
            Some(run) => run.series = read.series,
            None if dir.join(RUNS).is_dir() => {}
            None => runs.push(read),
        }
    }
    if runs.is_empty() {
        return Err(StudyError::Invalid(format!(
            "there are no results in {}: it is no folder that `weir run`, `compare`, `sweep`, `lab` or `reproduce` wrote with --out",
            named.display()
        )));
    }
    plotted.runs.extend(runs);
    Ok(())
}

/// The run of a folder, with its series.
fn read_run(dir: &Path, networks: &mut Networks) -> Result<PlottedRun, StudyError> {
    let path = dir.join("run.json");
    let bytes = fs::read(&path).map_err(|error| StudyError::File { path: path.clone(), error })?;
    let document: RunDocument = serde_json::from_slice(&bytes).map_err(|error| {
        StudyError::Record(format!("{} is no document of a run: {error}", path.display()))
    })?;
    let series = weir_results::read_series(&document, dir).unwrap_or_default();
    let request = request_of(&document);
    let topology = networks.of(&request);
    Ok(PlottedRun { document, series, topology, point: Vec::new() })
}

/// Kept runs, each with the values of the axes.
type Records = Vec<(Record, Vec<String>)>;

/// The kept runs of a study, and the names of its axes: those that its table of runs has.
fn read_records(dir: &Path) -> Result<(Vec<String>, Records), StudyError> {
    let path = dir.join("runs.csv");
    let text = fs::read_to_string(&path).map_err(|error| StudyError::File { path, error })?;
    let (axes, listed) = runs_of_table(&text).map_err(|error| StudyError::Invalid(error.to_string()))?;
    let record = |(key, point): (String, Vec<String>)| {
        let bytes = fs::read(dir.join(RUNS).join(format!("{key}.json"))).ok()?;
        Some((Record::from_bytes(&bytes).ok()?, point))
    };
    Ok((axes, listed.into_iter().filter_map(record).collect()))
}

/// What determines the run of a document, if it has the scenario's text.
fn request_of(document: &RunDocument) -> Request {
    Request {
        name: document.scenario.clone(),
        text: document.scenario_text.clone(),
        set: document.set.clone(),
        scheme: document.scheme.clone(),
        seed: document.seed,
        windows: Vec::new(),
        files: Vec::new(),
        world: None,
    }
}

/// The result of one run, as figures have it.
pub fn plotted_report(report: &Report) -> Plotted {
    let run = PlottedRun {
        document: report.document.clone(),
        series: report.series.clone(),
        topology: report.topology.clone(),
        point: Vec::new(),
    };
    Plotted { runs: vec![run], axes: Vec::new() }
}

/// The runs of a study, as figures have them.
pub fn plotted_study(study: &Study, store: &RunStore) -> Plotted {
    let mut networks = Networks::default();
    let run = |planned: &PlannedRun| {
        let point = planned.point.iter().map(|value| value.clone().unwrap_or_default()).collect();
        Some(plotted_run(store.find(&planned.run)?, point, &mut networks))
    };
    let runs = study.runs().iter().filter_map(run).collect();
    Plotted { runs, axes: study.axes().iter().map(|axis| axis.key.clone()).collect() }
}

fn plotted_run(record: Record, point: Vec<String>, networks: &mut Networks) -> PlottedRun {
    let topology = networks.of(&record.request);
    let series = record.series.as_ref().and_then(ThinnedSeries::series).unwrap_or_default();
    PlottedRun { document: record.document, series, topology, point }
}

/// The networks of scenarios, each made once: by the scenario's text and what is set in it.
#[derive(Default)]
struct Networks {
    known: BTreeMap<(String, Vec<String>), Topology>,
}

impl Networks {
    /// Returns the network of a run; empty if its scenario cannot be read, or if there are too many.
    fn of(&mut self, request: &Request) -> Topology {
        let key = (request.text.clone(), request.set.clone());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if self.known.len() >= NETWORKS || request.text.is_empty() {
            return Default::default();
        }
        let request = Request { world: None, ..request.clone() };
        let run = request.run().ok();
        let experiment = run.and_then(|run| run.experiment().ok());
        let known = experiment.map(|experiment: Experiment| experiment.topology()).unwrap_or_default();
        self.known.insert(key, known.clone());
        known
    }
}

/// What `weir plot` would be asked for to have a figure of a paper.
///
/// # Errors
/// There is no such kind.
pub fn plot_request(figure: &PaperFigure) -> Result<PlotRequest, PlotError> {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Ok(PlotRequest {
        what: Some(figure.what.parse::<What>()?),
        metrics: figure.metrics.clone(),
        by: some(&figure.by).map(|by| by.parse()).transpose()?,
        only: figure.only.clone(),
        window: some(&figure.window).map(|window| window.parse()).transpose()?,
        axis: some(&figure.axis),
        range_x: figure.x,
        range_y: figure.y,
        title: Some(format!("Fig. {}: {}", figure.number, figure.caption)),
        ..PlotRequest::default()
    })
}

/// A figure of a paper, made of the runs of a reproduction.
pub(crate) struct OfPaper {
    /// Its number.
    pub number: String,
    /// The figure, or why there is none.
    pub figure: Result<weir_figure::Figure, PlotError>,
}

/// The figures of a paper that a scenario has, of these runs. A run has its series from the folder of its report, if that is there.
pub(crate) fn of_paper(
    scenario: &Scenario,
    records: Vec<(Record, Vec<String>, Option<PathBuf>)>,
    is_emulated: bool,
) -> Vec<OfPaper> {
    let mut networks = Networks::default();
    let mut runs = Vec::new();
    for (record, point, report) in records {
        let mut run = plotted_run(record, point, &mut networks);
        if let Some(series) = report.and_then(|dir| weir_results::read_series(&run.document, dir).ok()) {
            run.series = series;
        }
        runs.push(run);
    }
    let axes = scenario.axes.iter().map(|axis| axis.name.clone()).collect();
    let plotted = Plotted { runs, axes };
    let styles = scheme_styles();
    let named = |figure: &PaperFigure| PaperFigure {
        number: if is_emulated { figure.emulated_number.clone() } else { figure.number.clone() },
        ..figure.clone()
    };
    let of = |figure: PaperFigure| OfPaper {
        figure: plot_request(&figure)
            .and_then(|request| weir_results::plot::figure(&plotted, &request, &styles)),
        number: figure.number,
    };
    scenario.figures.iter().map(named).filter(|figure| !figure.number.is_empty()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn every_scheme_has_its_own_colour_and_marker() {
        let styles = (0..scheme_styles().len() as u32).map(weir_figure::Style::of);
        let styles: Vec<_> = styles.map(|style| (style.colour, (style.marker, style.filled))).collect();
        for (at, one) in styles.iter().enumerate() {
            assert!(styles[..at].iter().all(|other| one.0 != other.0 && one.1 != other.1), "style {at}");
        }
    }

    #[test]
    fn every_figure_of_a_paper_has_a_kind_and_metrics_that_are_there() {
        let mut count = 0;
        for name in crate::papers::all_experiments() {
            let scenario = Source::find(&name).unwrap().read(&[]).unwrap();
            for figure in &scenario.figures {
                plot_request(figure)
                    .unwrap_or_else(|error| panic!("{name}, Fig. {}: {error}", figure.number));
                count += 1;
            }
        }
        assert!(count > 60, "{count} figures");
    }
}
