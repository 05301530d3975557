//! `weir lab`: a scenario on real forwarders in network namespaces of this machine.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use indicatif::ProgressBar;
use weir_core::units::{Span, Time};
use weir_experiment::{Experiment, Setup};
use weir_lab::LabError;
use weir_lab::isolation::{Place, Program, isolate};
use weir_lab::lab::{Lab, Options, Watch};
use weir_lab::links::Live;
use weir_lab::scale::scaled;
use weir_lab::traffic::Run;
use weir_measure::{Report, RunDocument, to_json};
use weir_results::{figures, rate, terminal_width, time, write_all};
use weir_scenario::{LinkId, Scenario, did_you_mean};
use weir_study::{
    Cancel, CommandLine, Elsewhere, Point, ScenarioOptimum, StudyError, Viewer, refuse_idle, stem,
};

use crate::app::Stop;
use crate::out::{self, Out};
use crate::traffic::{tell, with_advice};
use crate::watch::{LivePage, WatchOption};
use crate::{Failure, load, manage, ping, terminal};

/// Run a scenario on real forwarders, in network namespaces of this machine
///
/// Each node is a `weir forward` in its own network namespace, each link is emulated between two interfaces, and the
/// flows are applications. The results are those of `weir run`. It needs Linux, and root or user namespaces. When it
/// ends for any reason, nothing stays behind. SIGINT ends the run early, with the measurements so far.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A built-in scenario (see `weir list`) or a file
    scenario: String,
    /// The scheme; by default the scenario's own
    #[arg(long)]
    scheme: Option<String>,
    /// The seed of random losses and jitter, and of what the scenario draws
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Change a value of the scenario, such as flow.BE.start=5s (see `weir list SCENARIO`); may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// An additional measuring window, in seconds or with units: 20:120, 500ms:2s; may be repeated
    #[arg(long = "window", value_name = "A:B", allow_hyphen_values = true)]
    windows: Vec<String>,
    /// Do not tell forwarders the rates of links: packets wait in drop-tail queues of the emulated links
    #[arg(long)]
    untold: bool,
    /// Multiply all rates and amounts by this factor, at most 1, on a machine that cannot keep up. Delays and times
    /// stay. So windows, queues and delays in packets differ from those of the scenario, and its expectations are left
    /// out
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    scale: f64,
    /// Write the frames of a link, such as R1-R2, to LINK.pcapng in the folder of the results; may be repeated
    #[arg(long, value_name = "LINK")]
    capture: Vec<String>,
    /// Open a shell at this node while the flows run; the lab lasts until it ends
    #[arg(long, value_name = "NODE", conflicts_with_all = ["json", "keep"])]
    shell: Option<String>,
    /// Keep the network after the run, until SIGINT or SIGTERM
    #[arg(long, conflicts_with = "json")]
    keep: bool,
    /// The folder for report.html, run.json and the time series; files of an earlier run are overwritten; by default
    /// out/lab-SCENARIO-SCHEME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the results as one JSON document and nothing else
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    watch: WatchOption,
}

impl Args {
    fn command(&self) -> CommandLine {
        CommandLine::new("lab", &self.scenario)
            .option("--scheme", &self.scheme)
            .option("--seed", [self.seed].iter().filter(|seed| **seed != 1))
            .option("--set", &self.set)
            .option("--window", &self.windows)
            .flag("--untold", self.untold)
            .option("--scale", [self.scale].iter().filter(|scale| **scale != 1.0))
    }
}

/// Runs the command. `arguments` are those of the whole command, without the program's name.
pub fn lab(args: &Args, arguments: &[OsString]) -> Result<ExitCode, Failure> {
    let windows = load::windows(&args.windows)?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    // Errors are reported before any namespace is created.
    let point = load::point(&args.scenario, &args.set, windows.clone())?;
    let setup = Setup { scheme: args.scheme.clone(), seed: args.seed, windows, ..Setup::default() };
    let experiment = Experiment::new(scaled(&point.scenario, args.scale)?, &setup)?;
    Lab::check(&experiment)?;
    let scheme = experiment.scheme().entry.name;
    refuse_idle(ScenarioOptimum::unread(&args.set), [scheme], [experiment.scenario()])?;
    let links = links(experiment.scenario(), &args.capture)?;
    if !links.is_empty() && args.json && args.out.is_none() {
        return Err("--capture with --json: name the folder for the captures with --out".into());
    }
    if let Some(node) = &args.shell {
        known_node(experiment.scenario(), node)?;
    }
    // The lab's mounts would hide a folder that is created later.
    let out =
        Out::open(args.out.as_deref(), args.json, &format!("lab-{}-{scheme}", stem(&point.scenario.name)))?;
    let listener = args.watch.listen()?;
    isolated(arguments, listener.as_ref(), |program, folder| {
        let report = out.dir().map(|dir| dir.join("report.html").display().to_string());
        let page =
            listener.as_ref().map(|listener| LivePage::serve(listener.try_clone()?, report)).transpose()?;
        Inside { args, point: &point, experiment: &experiment, links, page }.run(program, folder, out)
    })
}

/// Creates the namespaces of a lab for this command, which continues in them.
pub fn isolated(
    arguments: &[OsString],
    shared: Option<&TcpListener>,
    work: impl FnOnce(Program, PathBuf) -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    let program = Program::current(arguments.len())?;
    match isolate(&program, arguments, shared)? {
        Place::Outside(code) => Ok(code),
        Place::Inside(folder) => {
            Stop::counts_elsewhere();
            work(program, folder).map(|()| ExitCode::SUCCESS)
        }
    }
}

/// The lab as the world in which a study runs.
#[derive(Debug)]
pub struct LabWorld {
    options: Options,
}

impl LabWorld {
    /// Creates a world whose labs have their files in `folder`.
    pub fn new(program: Program, folder: PathBuf, tells_rates: bool) -> LabWorld {
        let (captures, commands) = (Vec::new(), None);
        LabWorld { options: Options { program, folder, tells_rates, captures, commands, scale: 1.0 } }
    }
}

impl Elsewhere for LabWorld {
    fn text(&self) -> String {
        if self.options.tells_rates { "lab".to_owned() } else { "lab, untold".to_owned() }
    }

    fn command(&self) -> (&'static str, Vec<String>) {
        let options = if self.options.tells_rates { Vec::new() } else { vec!["--untold".to_owned()] };
        ("lab", options)
    }

    fn check(&self, experiment: &Experiment) -> Result<(), StudyError> {
        Lab::check(experiment).map_err(invalid)
    }

    fn make(
        &self,
        experiment: Experiment,
        progress: &mut dyn FnMut(f64),
        cancel: &Cancel,
    ) -> Result<Report, StudyError> {
        let until = experiment.until();
        let mut lab = Lab::start(&experiment, &self.options).map_err(invalid)?;
        let mut watch = Studied { progress, cancel, until };
        let report = lab.run(&ping::tell, &mut watch).map_err(invalid)?;
        for why in report.document.lab.iter().flat_map(|lab| &lab.doubts) {
            let RunDocument { scenario, scheme, seed, .. } = &report.document;
            note!(
                "note: {scenario} under {scheme}, run {seed}: the results are not those of the network: {why}"
            );
        }
        if cancel.is_asked() { Err(StudyError::Cancelled { done: 0, all: 1 }) } else { Ok(report) }
    }
}

fn invalid(error: LabError) -> StudyError {
    StudyError::Invalid(error.to_string())
}

/// A run of a study.
struct Studied<'a> {
    progress: &'a mut dyn FnMut(f64),
    cancel: &'a Cancel,
    until: Time,
}

impl Watch for Studied<'_> {
    fn on_warning(&mut self, warning: &str) {
        note!("warning: {warning}");
    }

    fn goes_on(&mut self, run: &Run<'_>, _: &[Live]) -> bool {
        let now = run.now().min(self.until);
        (self.progress)(now.as_nanos() as f64 / self.until.as_nanos() as f64);
        !self.cancel.is_asked()
    }
}

/// The links to capture, each with the name of its file.
fn links(scenario: &Scenario, wanted: &[String]) -> Result<Vec<(LinkId, String)>, Failure> {
    let names: Vec<String> = (0..scenario.links.len()).map(|at| scenario.link_name(LinkId(at))).collect();
    // Either end may come first.
    let reversed = |at: usize| {
        let link = &scenario.links[at];
        let [a, b] = [link.a, link.b].map(|node| scenario.nodes[node.index()].name.as_str());
        names[at].replacen(&format!("{a}-{b}"), &format!("{b}-{a}"), 1)
    };
    let link = |wanted: &String| {
        let at = (0..names.len()).find(|at| names[*at] == *wanted || reversed(*at) == *wanted);
        at.map(|at| (LinkId(at), format!("{wanted}.pcapng"))).ok_or_else(|| {
            let meant = did_you_mean(wanted, names.iter().map(String::as_str));
            Failure::from(format!(
                "--capture {wanted}: there is no such link{meant}\n  = links are {}",
                names.join(", ")
            ))
        })
    };
    wanted.iter().map(link).collect()
}

/// Refuses a shell at a node that does not exist.
fn known_node(scenario: &Scenario, node: &str) -> Result<(), Failure> {
    let names: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    if names.contains(&node) {
        return Ok(());
    }
    let meant = did_you_mean(node, names.iter().copied());
    Err(format!("--shell {node}: there is no such node{meant}\n  = nodes are {}", names.join(", ")).into())
}

/// The process that does the work in the namespaces of the lab.
struct Inside<'a> {
    args: &'a Args,
    point: &'a Point,
    experiment: &'a Experiment,
    links: Vec<(LinkId, String)>,
    page: Option<LivePage>,
}

impl Inside<'_> {
    fn run(self, program: Program, folder: PathBuf, out: Out) -> Result<(), Failure> {
        let args = self.args;
        let stop = Stop::new()?;
        let files = out.dir().unwrap_or(Path::new("."));
        let captures = self.links.iter().map(|(link, file)| (*link, files.join(file))).collect();
        let commands = out.dir().map(|dir| dir.join("commands"));
        let scale = args.scale;
        let options = Options { program, folder, tells_rates: !args.untold, captures, commands, scale };
        let bar = terminal::waiting("starting forwarders");
        let mut lab = Lab::start(self.experiment, &options)?;
        bar.finish_and_clear();
        let shell = args.shell.iter().map(|node| lab.run_at(node, shell())).collect::<Result<Vec<_>, _>>()?;
        let mut watch = Progress::new(&self, &stop, shell.is_empty());
        let report = lab.run(&ping::tell, &mut watch).map_err(with_advice)?;
        watch.bar.finish_and_clear();
        drop(watch);
        self.finish(report, &out)?;
        for mut shell in shell {
            while shell.try_wait()?.is_none() {
                if stop.is_asked() {
                    shell.kill()?;
                }
                manage::wait(LOOK_AROUND);
            }
        }
        if args.keep {
            note!("{}", kept(&lab));
            while !stop.is_asked() {
                manage::wait(LOOK_AROUND);
            }
        }
        if let Some(page) = self.page {
            page.close(&stop);
        }
        out.close()
    }

    /// The planned end of the run.
    fn until(&self) -> Span {
        self.experiment.until().since(Time::ZERO)
    }

    /// Adds the settings, the command and a note on the scale to a report.
    fn describe(&self, report: &mut Report) {
        report.document.set.clone_from(&self.args.set);
        self.args.command().sign(&mut report.document);
        if self.args.scale != 1.0 {
            report.notes.push(format!(
                "All rates and amounts are {} of the scenario's, and delays are not: a bandwidth-delay product, a window and a queue hold fewer packets, a packet takes longer to send, and goodputs must be divided by this factor.",
                self.args.scale
            ));
        }
    }

    fn finish(&self, mut report: Report, out: &Out) -> Result<(), Failure> {
        self.describe(&mut report);
        self.point.source.text().clone_into(&mut report.document.scenario_text);
        if self.args.scale == 1.0 {
            self.point.complete(&mut report.document);
        }
        tell(&report.notes);
        if let Some(dir) = out.dir() {
            out.note(write_all(&report, dir));
        }
        if let Some(page) = &self.page {
            page.end(report.clone(), self.until(), out.complete().is_some());
        }
        terminal::print(&if self.args.json { to_json(&report.document) } else { text(&report, out) })
    }
}

/// Interval at which it checks whether its shell has ended or it should end.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// The user's shell.
fn shell() -> Command {
    Command::new(std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()))
}

/// Instructions for inspecting a network that is kept.
fn kept(lab: &Lab<'_>) -> String {
    let mut text = "The network is kept until SIGINT (Ctrl-C).".to_owned();
    for (node, process) in lab.nodes().iter().zip(lab.processes()) {
        text += &format!("\n  {}: forwarder {process}, socket {}", node.name, node.socket.display());
    }
    text
}

/// Shows the progress of a run.
struct Progress<'a> {
    inside: &'a Inside<'a>,
    viewer: Option<Arc<dyn Viewer>>,
    stop: &'a Stop,
    bar: ProgressBar,
    /// Names of the links' directions.
    directions: Vec<String>,
    /// The time of the next line of progress. `None` on a terminal, which has a bar.
    next_line: Option<Time>,
}

/// The time between two lines of progress.
const EVERY: Span = Span::from_secs(10);

impl<'a> Progress<'a> {
    fn new(inside: &'a Inside<'a>, stop: &'a Stop, shows: bool) -> Progress<'a> {
        let experiment = inside.experiment;
        let infos = experiment.link_infos();
        let directions = infos.iter().map(|link| format!("{}->{}", link.from, link.to)).collect();
        let length = experiment.until().as_nanos() / 1_000_000;
        let style = terminal::style("{bar:30} {percent:>3} %  {eta} left  {msg}");
        let target = if shows { terminal::progress() } else { indicatif::ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style);
        let next_line = (shows && !terminal::has_progress()).then_some(Time::ZERO + EVERY);
        let viewer = inside.page.as_ref().map(LivePage::viewer);
        Progress { inside, viewer, stop, bar, directions, next_line }
    }
}

impl Watch for Progress<'_> {
    fn on_warning(&mut self, warning: &str) {
        note!("warning: {warning}");
    }

    fn goes_on(&mut self, run: &Run<'_>, links: &[Live]) -> bool {
        use std::sync::atomic::Ordering::Relaxed;
        let now = run.now();
        if let Some(next) = self.next_line.filter(|next| now >= *next) {
            self.next_line = Some(next + EVERY);
            let until = run.extent.until.as_secs_f64();
            let goodput = rate(8.0 * run.content() as f64 / now.as_secs_f64().max(0.1));
            note!("{:.0} s of {until:.0} s, {goodput}", now.as_secs_f64());
        }
        self.bar.set_position(now.as_nanos() / 1_000_000);
        let goodput = rate(8.0 * run.content() as f64 / now.as_secs_f64().max(0.1));
        let busiest = links.iter().zip(&self.directions).max_by_key(|(live, _)| live.queued.load(Relaxed));
        let queue = busiest
            .filter(|(live, _)| live.queued.load(Relaxed) > 0)
            .map_or(String::new(), |(live, name)| {
                format!(", {} queued at {name}", live.queued.load(Relaxed))
            });
        let drops: u64 = links.iter().map(|live| live.drops.load(Relaxed)).sum();
        let drops = if drops > 0 { format!(", {drops} dropped") } else { String::new() };
        self.bar.set_message(format!("{goodput}{queue}{drops}"));
        !self.stop.is_asked()
    }

    fn wants_report(&mut self) -> bool {
        self.viewer.as_ref().is_some_and(|viewer| viewer.begin_report())
    }

    fn on_report(&mut self, mut report: Report) {
        self.inside.describe(&mut report);
        if let Some(viewer) = &self.viewer {
            viewer.show(report, self.inside.until());
        }
    }
}

fn text(report: &Report, out: &Out) -> String {
    let document = &report.document;
    let mut text = format!(
        "{}\n{}  scheme {}  {} on real forwarders\n",
        report.title,
        document.scenario,
        document.scheme,
        time(document.simulated_s)
    );
    text += &figures(document, terminal_width());
    if let Some(dir) = out.complete() {
        text += &format!("\nReport: {}\n", dir.join("report.html").display());
    }
    text
}
