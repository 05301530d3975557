//! `weir traffic`: the consumers and producers of a scenario as applications of running forwarders, with the results
//! that the simulator gives.

mod connection;

use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use weir_core::units::Time;
use weir_experiment::{Experiment, Measured, Observers, Setup};
use weir_management::client::Endpoint;
use weir_measure::{FlowAccounts, Report, to_json};
use weir_results::{figures, rate, terminal_width, time, write_all};

use weir_study::traffic::Socket;
use weir_study::{CommandLine, Point, StudyError, refuse_idle, traffic};

use crate::app::Stop;
use crate::out::{self, Out};
use crate::{Failure, load, terminal};

use connection::{Message, Part, Run};

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

/// Runs it.
pub fn traffic(args: &Args) -> Result<(), Failure> {
    let windows = load::windows(&args.windows)?;
    args.out.iter().try_for_each(|dir| out::no_file_there(dir))?;
    let Point { scenario, source, .. } = load::point(&args.scenario, &args.set, Vec::new())?;
    // Here is nothing random.
    let setup = Setup { scheme: args.scheme.clone(), seed: 0, windows, ..Setup::default() };
    let experiment = Experiment::new(scenario, &setup)?;
    refuse_idle(&args.set, [experiment.scheme().entry.name], [experiment.scenario()])?;
    let plan = Plan::new(&experiment, &args.nodes, &args.sockets, || {
        Endpoint::of_environment().map_err(|error| StudyError::Invalid(error.to_string()))
    })?;
    let (mut observers, unseen) = experiment.observers_of_applications(|flow| plan.place(flow));
    let out = Out::open_given(args.out.as_deref())?;
    let run = Run::new(&experiment, experiment.extent(&observers), &plan.flows);
    let stop = Stop::new()?;
    tell(&plan.not_done);
    let parts = run_connections(&run, &plan, &stop)?;
    if !run.has_end {
        return Ok(());
    }
    let mut report = report(&run, parts, &mut observers);
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

/// Tells what the results do not say of themselves.
fn tell(notes: &[String]) {
    for note in notes {
        eprintln!("note: {note}");
    }
}

/// Runs all connections, each in a thread, until they end or one of them fails.
fn run_connections(run: &Run<'_>, plan: &Plan<'_>, stop: &Stop) -> Result<Vec<Part>, Failure> {
    thread::scope(|scope| {
        let (sender, messages) = mpsc::channel();
        let mut gates = Vec::new();
        for connection in &plan.connections {
            let (sender, (gate, go)) = (sender.clone(), mpsc::sync_channel(1));
            gates.push(gate);
            scope.spawn(move || connection::run(run, connection, &sender, &go));
        }
        drop(sender);
        let watch = Watch { run, plan, stop, messages };
        watch.until_ready(gates)?;
        watch.until_over()
    })
}

/// What the main thread does meanwhile.
struct Watch<'a> {
    run: &'a Run<'a>,
    plan: &'a Plan<'a>,
    stop: &'a Stop,
    messages: Receiver<Message>,
}

impl Watch<'_> {
    const EVERY: Duration = Duration::from_millis(100);

    /// Waits until all that is produced is registered, and begins. Connections whose gate is closed instead end.
    fn until_ready(&self, gates: Vec<SyncSender<()>>) -> Result<(), Failure> {
        for _ in 0..self.plan.connections.len() {
            if let Message::Ended(Err(error)) = self.messages.recv()? {
                return Err(error);
            }
        }
        self.run.begin();
        // For scripts: whoever consumes elsewhere may begin.
        eprintln!(
            "ready: {} prefixes produced, {} flows consumed at {}",
            self.plan.produced(),
            self.plan.flows.len(),
            self.plan.nodes.join(", ")
        );
        gates.iter().try_for_each(|gate| gate.send(()).map_err(Failure::from))
    }

    /// Waits until all connections have ended; what they measured, or the first thing that went wrong.
    fn until_over(&self) -> Result<Vec<Part>, Failure> {
        let bar = self.progress_bar();
        let (mut parts, mut failure, mut left) = (Vec::new(), None, self.plan.connections.len());
        while left > 0 {
            match self.messages.recv_timeout(Watch::EVERY) {
                Ok(Message::Ended(ended)) => {
                    left -= 1;
                    match ended {
                        Ok(part) => parts.extend(part.map(|part| *part)),
                        Err(error) => failure = failure.or(Some(error)),
                    }
                }
                Ok(Message::Ready) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err("a thread of the run has ended".into()),
            }
            if self.stop.is_asked() || failure.is_some() {
                self.run.end_soon();
            }
            self.show(&bar);
        }
        bar.finish_and_clear();
        failure.map_or(Ok(parts), Err)
    }

    fn progress_bar(&self) -> ProgressBar {
        if !self.run.has_end {
            return terminal::waiting("producing");
        }
        let style = terminal::style("{msg:>12} {bar:40} {percent:>3} %  {eta} left");
        let length = self.run.extent.until.as_nanos() / 1_000_000;
        ProgressBar::with_draw_target(Some(length), terminal::progress()).with_style(style)
    }

    fn show(&self, bar: &ProgressBar) {
        if self.run.has_end {
            let now = self.run.now();
            bar.set_position(now.as_nanos() / 1_000_000);
            bar.set_message(rate(8.0 * self.run.content() as f64 / now.as_secs_f64().max(0.1)));
        }
    }
}

/// What was measured, as the simulator reports it.
fn report(run: &Run<'_>, parts: Vec<Part>, observers: &mut Observers) -> Report {
    let events = parts.iter().map(|part| part.packets).sum();
    let refused: u64 = parts.iter().map(|part| part.refused).sum();
    let parts = parts.into_iter().map(|part| (part.places, part.accounts));
    let accounts = FlowAccounts::gathered(run.flows.to_vec(), &run.extent, parts);
    let end = accounts.whole().to();
    observers.on_series(&accounts, run.extent.step);
    let measured = Measured {
        flows: accounts,
        links: None,
        requests: None,
        nodes: None,
        observers,
        events,
        packet_hops: 0,
        drops: Default::default(),
    };
    let mut report = run.experiment.report(measured);
    report.document.wall_s = run.now().as_secs_f64();
    report.notes.extend(cut_short(run, end));
    if refused > 0 {
        report.notes.push(format!("{refused} frames were lost here: the buffer of a connection was full."));
    }
    report
}

/// What is said of a run that was ended early.
fn cut_short(run: &Run<'_>, end: Time) -> Option<String> {
    (end < run.extent.until).then(|| {
        format!(
            "Ended at {} of {}: windows end here, and later events and checks are left out.",
            time(end.as_secs_f64()),
            run.extent.until
        )
    })
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
