//! `weir plot`: figures of results, as files for papers.

use std::fs;
use std::path::{Path, PathBuf};

use weir_figure::{Width, draw};
use weir_results::plot::{By, PlotRequest, What, WindowChoice, figure};
use weir_study::{read_results, scheme_styles};

use crate::Failure;

/// Pixels of an inch of a PNG.
const PER_INCH: f64 = 300.0;

/// Draw a figure of results as SVG, PDF or PNG, or write its data as CSV or JSON
///
/// A scheme has the same colour, marker and dash in every figure.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders that run, compare, sweep, lab or reproduce wrote with --out
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// The kind: series (metrics over time), bars (a metric by scheme, with 95 % intervals and each seed as a dot), scatter
    /// (goodput over delay), axis (a metric over an axis of a sweep), cdf and ccdf (distributions), completion (of requests,
    /// by size), fairness (the unweighted Jain's index over time), topology (links coloured by a metric), worlds (a run and a lab of one
    /// scenario). By default series for a run, bars for several schemes, axis for a sweep
    #[arg(long, value_name = "KIND", value_parser = str::parse::<What>)]
    what: Option<What>,
    /// The metrics, a panel each, such as goodput,delay_p99 (docs/reference/results.md); a wrong one lists those of the kind
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<String>,
    /// What lines, bars and points are of
    #[arg(long, value_name = "class|group|flow|scheme|link", value_parser = str::parse::<By>)]
    by: Option<By>,
    /// Only these schemes, classes, groups, flows ("C1 /A") or links ("R1->R2"), separated by commas
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// The window: its number, its ends such as 20:120, or run; by default the last window, or the whole run without one
    #[arg(long, value_name = "N|A:B|run", value_parser = str::parse::<WindowChoice>)]
    window: Option<WindowChoice>,
    /// The axis of a sweep that a figure `axis` is over; by default the first
    #[arg(long, value_name = "AXIS")]
    x: Option<String>,
    /// Logarithmic axes
    #[arg(long, value_name = "x|y", value_delimiter = ',', value_parser = ["x", "y"])]
    log: Vec<String>,
    /// The width: 1 for one column of a paper (3.5 in), 2 for two (7.16 in)
    #[arg(long, value_name = "1|2", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=2))]
    columns: u8,
    /// A title above the figure
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The file; its ending says the format: svg, pdf, png, csv or json
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// Draws it.
pub fn plot(args: &Args) -> Result<(), Failure> {
    let format = format(&args.output)?;
    let plotted = read_results(&args.results)?;
    let request = PlotRequest {
        what: args.what,
        metrics: args.metric.clone(),
        by: args.by,
        only: args.only.clone(),
        window: args.window,
        axis: args.x.clone(),
        log_x: args.log.iter().any(|axis| axis == "x"),
        log_y: args.log.iter().any(|axis| axis == "y"),
        title: args.title.clone(),
        ..PlotRequest::default()
    };
    let figure = figure(&plotted, &request, &scheme_styles())?;
    let width = if args.columns == 1 { Width::OneColumn } else { Width::TwoColumns };
    let bytes = match format {
        "csv" => figure.csv().into_bytes(),
        "json" => serde_json::to_string_pretty(&figure)?.into_bytes(),
        "svg" => draw(&figure, width).svg().into_bytes(),
        "pdf" => draw(&figure, width).pdf(),
        _ => draw(&figure, width).png(PER_INCH).ok_or("the picture would be too large")?,
    };
    fs::write(&args.output, bytes).map_err(|error| format!("{}: {error}", args.output.display()).into())
}

/// The format that the ending of a file says.
fn format(file: &Path) -> Result<&'static str, Failure> {
    const FORMATS: [&str; 5] = ["svg", "pdf", "png", "csv", "json"];
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let found = FORMATS.into_iter().find(|format| *format == ending);
    found.ok_or_else(|| {
        format!("-o {}: the ending says the format: .{}", file.display(), FORMATS.join(", .")).into()
    })
}
