//! `weir optimum`: the best allocation for a scenario, independent of the scheme.

use weir_measure::to_json;
use weir_optimum::Objective;
use weir_results::terminal_width;
use weir_study::OptimumRequest;

use crate::{Failure, load, terminal};

/// Compute the best allocation for a scenario, independent of the scheme, and its bottleneck links
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// Change a value of the scenario, such as link.R2-R3.rate=20Mb/s (see `weir list SCENARIO`); may be
    /// repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The part of the run, in seconds or with units: 20:120, 500ms:2s; may be repeated. By default the scenario's
    /// windows, or else the whole run
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// The objective: link-fair, the result of fair scheduling at every link; max-min over all routes at once;
    /// proportional fairness; or max-flow, the largest sum of rates
    #[arg(long, default_value = "link-fair", value_parser = str::parse::<Objective>)]
    #[arg(value_name = "max-min|link-fair|proportional|max-flow")]
    objective: Objective,
    /// The usable part of the links' rates, above 0 and at most 1; by default the scenario's value for the scheme whose
    /// policy divides the links (docs/reference/optimum.md), or else 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    utilisation: Option<f64>,
    /// The optimum of the run with this seed, if the seed draws consumers, starts or delays; by default that of the
    /// scenario without random draws
    #[arg(long, value_name = "N", value_parser = crate::run::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Print the result as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn optimum(args: &Args) -> Result<(), Failure> {
    let point = load::point(&args.scenario, &args.set, load::windows(&args.windows)?)?;
    let request =
        OptimumRequest { objective: args.objective, utilisation: args.utilisation, seed: args.seed };
    let document = terminal::while_waiting("computing the optimum", || request.document(&point))?;
    terminal::print(&if args.json { to_json(&document) } else { document.text(terminal_width()) })
}
