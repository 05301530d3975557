//! `weir traffic`: the consumers and producers of a scenario as applications of running forwarders, with results in the
//! simulator's form.

use std::path::PathBuf;

use indicatif::ProgressBar;
use weir_app::AppError;
use weir_core::units::Time;
use weir_experiment::{Experiment, Setup};
use weir_lab::LabError;
use weir_lab::traffic::{self, Network, Run, Socket};
use weir_management::client::Endpoint;
use weir_measure::{Report, to_json};
use weir_results::{figures, rate, terminal_width, time, write_all};
use weir_study::{CommandLine, Point, refuse_idle};

use crate::app::Stop;
use crate::out::{self, Out};
use crate::{Failure, load, manage, ping, terminal};

/// The plan, with the addresses of forwarders.
type Plan<'a> = traffic::Plan<'a, Endpoint>;

/// Run the consumers and producers of a scenario on running forwarders
///
/// They run as applications of one or several forwarders; the scenario's links are not created. Each flow begins,
/// changes and ends at its times. The results are those of `weir run`, without links. SIGINT ends the run early, with
/// the measurements so far. Nodes that only produce run until they are stopped.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// Run only the applications of this node; may be repeated; by default those of all nodes
    #[arg(long = "node", value_name = "NODE")]
    nodes: Vec<String>,
    /// The forwarder's address: unix:///path or tcp://host:port; by default the one in NDN_CLIENT_TRANSPORT or
    /// client.conf, or else unix:///run/nfd/nfd.sock. With NODE= before it, for that node only; may be repeated
    #[arg(long = "socket", value_name = "[NODE=]URI")]
    sockets: Vec<Socket<Endpoint>>,
    /// The scheme of the consumers; by default the scenario's own. A forwarder's scheme is in its file
    #[arg(long)]
    scheme: Option<String>,
    /// Change a value of the scenario, such as flow.BE.start=5s (see `weir list SCENARIO`); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// The folder for report.html, run.json and the time series; files of an earlier run are overwritten; by default
    /// no files are written
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as one JSON document and nothing else
    #[arg(long)]
    json: bool,
}

impl Args {
    fn command(&self) -> CommandLine {
        CommandLine::new("traffic", &self.scenario)
            .option("--node", &self.nodes)
            .option("--socket", &self.sockets)
            .option("--scheme", &self.scheme)
            .option("--set", &self.set)
            .option("--window", &self.windows)
    }
}

/// Runs the command.
pub fn traffic(args: &Args) -> Result<(), Failure> {
    let windows = load::windows(&args.windows)?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let Point { scenario, source, .. } = load::point(&args.scenario, &args.set, Vec::new())?;
    // Nothing here is random.
    let setup = Setup { scheme: args.scheme.clone(), seed: 0, windows, ..Setup::default() };
    let experiment = Experiment::new(scenario, &setup)?;
    refuse_idle(&args.set, [experiment.scheme().entry.name], [experiment.scenario()])?;
    let plan = Plan::new(&experiment, &args.nodes, &args.sockets, || {
        Endpoint::of_environment().map_err(|error| LabError::Invalid(error.to_string()))
    })?;
    let (mut observers, unseen) = experiment.observers_of_applications(|flow| plan.place(flow));
    let out = Out::open_given(args.out.as_deref())?;
    let run = Run::new(&experiment, experiment.extent(&observers), &plan.flows, &ping::tell);
    let stop = Stop::new()?;
    tell(&plan.not_done);
    let mut watch = Watch::new(&run, &plan, &stop);
    let parts = traffic::run(&run, &plan, &mut watch).map_err(with_advice)?;
    watch.bar.finish_and_clear();
    if !run.has_end {
        return Ok(());
    }
    let mut report = traffic::report(&run, parts, Network::default(), &mut observers);
    report.document.set.clone_from(&args.set);
    source.text().clone_into(&mut report.document.scenario_text);
    args.command().sign(&mut report.document);
    report.notes.extend(unseen.iter().map(|what| format!("Not checked here: {what}.")));
    tell(&report.notes);
    report.notes.extend(plan.not_done.iter().cloned());
    if let Some(dir) = out.dir() {
        out.note(write_all(&report, dir));
    }
    terminal::print(&if args.json { to_json(&report.document) } else { text(&report, &plan, &out) })?;
    out.close()
}

/// Prints notes that are not in the results.
pub fn tell(notes: &[String]) {
    for note in notes {
        note!("note: {note}");
    }
}

/// Callbacks of the main thread.
struct Watch<'a> {
    plan: &'a Plan<'a>,
    stop: &'a Stop,
    bar: ProgressBar,
}

impl<'a> Watch<'a> {
    fn new(run: &Run<'_>, plan: &'a Plan<'a>, stop: &'a Stop) -> Watch<'a> {
        Watch { plan, stop, bar: progress_bar(run) }
    }
}

impl traffic::Watch for Watch<'_> {
    fn on_begin(&mut self, _: Time) -> Result<(), LabError> {
        // A script that reads this line may start consumers elsewhere.
        note!(
            "ready: {} prefixes produced, {} flows consumed at {}",
            self.plan.produced(),
            self.plan.flows.len(),
            self.plan.nodes.join(", ")
        );
        Ok(())
    }

    fn goes_on(&mut self, run: &Run<'_>) -> bool {
        if run.has_end {
            let now = run.now();
            self.bar.set_position(now.as_nanos() / 1_000_000);
            self.bar.set_message(rate(8.0 * run.content() as f64 / now.as_secs_f64().max(0.1)));
        }
        !self.stop.is_asked()
    }
}

fn progress_bar(run: &Run<'_>) -> ProgressBar {
    if !run.has_end {
        return terminal::waiting("producing");
    }
    let style = terminal::style("{msg:>12} {bar:40} {percent:>3} %  {eta} left");
    let length = run.extent.until.as_nanos() / 1_000_000;
    ProgressBar::with_draw_target(Some(length), terminal::progress()).with_style(style)
}

/// Adds advice to an error.
pub fn with_advice(error: LabError) -> Failure {
    match error {
        LabError::Connection(AppError::Forwarder(error)) => manage::with_advice(error),
        other => other.into(),
    }
}

fn text(report: &Report, plan: &Plan<'_>, out: &Out) -> String {
    let document = &report.document;
    let mut text = format!(
        "{}\n{}  scheme {}  {} on running forwarders, applications of {}\n",
        report.title,
        document.scenario,
        document.scheme,
        time(document.simulated_s),
        plan.nodes.join(", ")
    );
    text += &figures(document, terminal_width());
    if let Some(dir) = out.complete() {
        text += &format!("\nReport: {}\n", dir.join("report.html").display());
    }
    text
}
