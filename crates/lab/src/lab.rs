//! A running lab: forwarders, links, and one run of the scenario's flows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use weir_core::link::Way;
use weir_core::node::CacheCounters;
use weir_core::random::Random;
use weir_core::units::{Rate, Span, Time};
use weir_experiment::{Change, Experiment, Observers};
use weir_forwarder::config::Config;
use weir_management::client::Endpoint;
use weir_measure::{DroppedByReason, FlowAccounts, LabRow, LinkAccounts, NodeAccounts, Report};
use weir_packet::{Data, LpPacket, Name};
use weir_scenario::{LinkId, NetworkView, NodeId, Route, Software};

use crate::commands::Applications;
use crate::error::LabError;
use crate::foreign;
use crate::interfaces::Netlink;
use crate::isolation::{Program, set_independent};
use crate::links::{self, Capture, Control, Direction, Emulator, Live, Observe, Outcome, Pace, Port, prefer};
use crate::namespace::{self, Namespace};
use crate::network::{End, METRICS, MTU, Network, Node};
use crate::nodes::{self, FaceFigures, NodeFigures};
use crate::process::Process;
use crate::scale;
use crate::traffic::{self, Plan, Run, Snapshot, Socket, Tell};

/// Options of a lab.
#[derive(Clone, Debug)]
pub struct Options {
    /// This program. It also runs the forwarders.
    pub program: Program,
    /// The folder for its files.
    pub folder: PathBuf,
    /// Whether forwarders are configured with the rates of their links.
    pub tells_rates: bool,
    /// Captured links, each with its file.
    pub captures: Vec<(LinkId, PathBuf)>,
    /// The folder for the output of commands. The default is one among the lab's files.
    pub commands: Option<PathBuf>,
    /// The factor by which the experiment's rates were multiplied.
    pub scale: f64,
}

/// Callbacks during a run.
pub trait Watch {
    /// Called if the machine may not keep up with the run.
    fn on_warning(&mut self, warning: &str);

    /// Called ten times a second. Returns whether the run continues.
    fn goes_on(&mut self, run: &Run<'_>, links: &[Live]) -> bool;

    /// Returns whether to make a report of the run so far.
    fn wants_report(&mut self) -> bool {
        false
    }

    /// Takes such a report, as if the run ended now.
    fn on_report(&mut self, _report: Report) {}
}

/// A network of running forwarders.
#[derive(Debug)]
pub struct Lab<'e> {
    experiment: &'e Experiment,
    program: Program,
    network: Network<'e>,
    namespaces: Vec<Namespace>,
    forwarders: Vec<Mutex<Process>>,
    /// The programs of the nodes with foreign forwarders.
    foreign: Vec<Option<PathBuf>>,
    /// The routes given to them.
    told: Vec<Mutex<foreign::Routes>>,
    /// The folder for the output of commands.
    commands: PathBuf,
    ports: Vec<Port>,
    captures: Vec<(LinkId, PathBuf)>,
    scale: f64,
}

/// Assumed length of a frame, bytes, to estimate the links' capacity: Interests are shorter and Data longer.
const FRAME_GUESSED: usize = 600;
/// Polls of all forwarders per second. Each takes about a millisecond of processor time.
const POLLS_PER_SECOND: u64 = 20;
/// The last poll of forwarders is this long before the end: afterwards applications leave, and packets for them are
/// dropped.
const LAST_LOOK: Span = Span::from_millis(100);
/// Interval at which commands are checked.
const LOOK_AT_COMMANDS: Span = Span::from_millis(10);
/// A thread sleeps repeatedly for this time, and measures how much longer it slept.
const WAIT_NAP: Duration = Duration::from_millis(2);
/// Maximum fraction of the time that this thread may wait for a processor. Assumed: half as much is usual on a quiet
/// host.
const MOST_WAITED: f64 = 0.02;
/// Approximate time to poll one forwarder.
const LOOK_AT_ONE: Span = Span::from_millis(4);
/// Maximum time that a thread sleeps before it checks whether the run has ended.
const NAP: Span = Span::from_millis(50);

/// Number of labs that this process has created.
static LABS: AtomicUsize = AtomicUsize::new(0);

impl<'e> Lab<'e> {
    /// Checks that an experiment can run in a lab.
    ///
    /// # Errors
    /// Returns an error that names what the lab does not support.
    pub fn check(experiment: &Experiment) -> Result<(), LabError> {
        Network::new(experiment, (0, Path::new("")), true)?;
        let nowhere = Socket::for_all(String::new());
        Plan::new(experiment, &[], &[nowhere], || Ok(String::new())).map(drop)
    }

    /// Creates namespaces and interfaces, and starts all forwarders.
    ///
    /// # Errors
    /// Returns an error if the lab cannot emulate the experiment, the system does not permit it, or a forwarder does
    /// not start.
    pub fn start(experiment: &'e Experiment, options: &Options) -> Result<Lab<'e>, LabError> {
        // Interfaces of an earlier lab of this process may still exist.
        let number = LABS.fetch_add(1, Ordering::Relaxed);
        let folder = options.folder.join(number.to_string());
        let network = Network::new(experiment, (number, &folder), options.tells_rates)?;
        let foreign = |node: &Node| match node.software {
            Software::Weir => Ok(None),
            other => foreign::find(other).map(Some),
        };
        let foreign = network.nodes.iter().map(foreign).collect::<Result<Vec<_>, _>>()?;
        namespace::set_up().map_err(LabError::system("the lab's own namespace"))?;
        let namespaces = network.nodes.iter().map(|_| Namespace::new());
        let namespaces = namespaces
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(LabError::system("a network namespace cannot be made"))?;
        connect(&network, &namespaces)?;
        let mut lab = Lab {
            experiment,
            program: options.program.clone(),
            network,
            namespaces,
            forwarders: Vec::new(),
            told: foreign.iter().map(|_| Mutex::default()).collect(),
            foreign,
            commands: options.commands.clone().unwrap_or_else(|| folder.join("commands")),
            ports: Vec::new(),
            captures: options.captures.clone(),
            scale: options.scale,
        };
        lab.open_ports()?;
        lab.start_forwarders()?;
        Ok(lab)
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.network.nodes
    }

    /// Starts a command at a node. It finds the node's forwarder and has the node's interfaces.
    ///
    /// # Errors
    /// Returns an error if there is no such node, or the command cannot be started.
    pub fn run_at(&self, node: &str, mut command: Command) -> Result<std::process::Child, LabError> {
        let at = self.network.nodes.iter().position(|other| other.name == node);
        let Some(at) = at else {
            let names: Vec<&str> = self.network.nodes.iter().map(|node| node.name.as_str()).collect();
            return Err(LabError::Invalid(format!(
                "there is no node {node}; there are {}",
                names.join(", ")
            )));
        };
        let of = &self.network.nodes[at];
        command.env("NDN_CLIENT_TRANSPORT", format!("unix://{}", of.socket.display()));
        command.env("PS1", format!("{node}# ")).current_dir(&of.folder);
        set_independent(&mut command);
        self.namespaces[at]
            .within(|| command.spawn())
            .map_err(LabError::system(format!("a command at {node} cannot be started")))
    }

    /// The process IDs of the forwarders inside the lab, in the order of the nodes.
    pub fn processes(&self) -> Vec<u32> {
        self.forwarders.iter().map(|forwarder| lock(forwarder).id()).collect()
    }

    /// Opens sockets at the outer ends of all interfaces.
    fn open_ports(&mut self) -> Result<(), LabError> {
        for link in 0..self.experiment.scenario().links.len() {
            for direction in [0, 1] {
                let outer = &self.network.end(LinkId(link), direction).outer;
                let port = links::open(outer);
                self.ports
                    .push(port.map_err(LabError::system(format!("interface {outer} cannot be opened")))?);
            }
        }
        Ok(())
    }

    fn start_forwarders(&mut self) -> Result<(), LabError> {
        let scenario = self.experiment.scenario();
        let rates: Vec<[Rate; 2]> = scenario.links.iter().map(|link| link.rate).collect();
        for node in &self.network.nodes {
            fs::create_dir_all(&node.folder).map_err(LabError::system("a node's folder cannot be made"))?;
            self.write_file(node, &rates, &scenario.routes)?;
        }
        for node in &self.network.nodes {
            self.forwarders.push(Mutex::new(self.start_forwarder(node)?));
        }
        for (node, forwarder) in self.network.nodes.iter().zip(&self.forwarders) {
            lock(forwarder).wait_for(&node.socket)?;
            self.tell_foreign(node, &scenario.routes)?;
        }
        Ok(())
    }

    /// Sends a foreign forwarder its faces and routes.
    fn tell_foreign(&self, node: &Node, routes: &[Route]) -> Result<(), LabError> {
        if self.foreign[node.id.index()].is_none() {
            return Ok(());
        }
        let routes = self.network.foreign_routes(node, routes);
        foreign::tell(node, &routes, &mut lock(&self.told[node.id.index()]))
    }

    fn write_file(&self, node: &Node, rates: &[[Rate; 2]], routes: &[Route]) -> Result<(), LabError> {
        let path = forwarder_file(node);
        let cannot_write = LabError::system(format!("{} cannot be written", path.display()));
        // The forwarder may be reading the file for an earlier change. It reads the old file or the new one, never a
        // mixture.
        let new = path.with_extension("new");
        let write = |text: String| fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        if node.software != Software::Weir {
            let packets = self.experiment.store(node.id).map_or(0, |store| store.packets as u64);
            return write(foreign::file(node, packets)).map_err(cannot_write);
        }
        let file = self.network.forwarder_file(node, rates, routes);
        Config::parse(&file, &path.display().to_string())
            .map_err(|error| LabError::Invalid(format!("the forwarder of {}: {error}", node.name)))?;
        write(file).map_err(cannot_write)
    }

    fn start_forwarder(&self, node: &Node) -> Result<Process, LabError> {
        let mut command = match &self.foreign[node.id.index()] {
            Some(program) => foreign::command(node.software, program, &forwarder_file(node)),
            None => {
                let mut command = self.program.command();
                command.arg("forward").arg("--config").arg(forwarder_file(node));
                command
            }
        };
        command.current_dir(&node.folder);
        let log = node.folder.join("forwarder.log");
        let name = format!("the forwarder of {}", node.name);
        Process::start(&name, command, (&self.namespaces[node.id.index()], true), &log)
    }

    /// Runs the scenario's flows from beginning to end.
    ///
    /// # Errors
    /// Returns the error of a failed forwarder or application.
    pub fn run(&mut self, tell: &Tell, watch: &mut dyn Watch) -> Result<Report, LabError> {
        let experiment = self.experiment;
        let sockets = self.sockets()?;
        let mut plan =
            Plan::new(experiment, &[], &sockets, || Err(LabError::Invalid("no forwarder".to_owned())))?;
        let commands = plan.take_commands(experiment);
        let (observers, unseen) = experiment.observers_of_network();
        let observers = Arc::new(Mutex::new(observers));
        let run = Run::new(experiment, experiment.extent(&lock(&observers)), &plan.flows, tell);
        let schedule = FlowAccounts::new(Vec::new(), &run.extent);
        let names = self.network.nodes.iter().map(|node| node.name.clone()).collect();
        let nodes = NodeAccounts::new(names, &schedule, &run.extent);
        let told = Arc::default();
        let busy = Busy::now();
        prefer();
        let (emulator, control, live) = self.emulator(&run, &schedule, &observers, &told)?;
        // This is an estimate for a warning. Without it there is no warning.
        let carried = emulator.capacity(FRAME_GUESSED).unwrap_or_default();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        if let Some(warning) = scale::warning(experiment.scenario(), carried, processors) {
            watch.on_warning(&warning);
        }
        let mut applications = Applications::new(&run, &commands, self.nodes(), &self.commands)?;
        applications.start_producers(&self.namespaces)?;
        for lacks in self.not_done() {
            watch.on_warning(&lacks);
        }
        let world = WorldOfRun {
            lab: self,
            run: &run,
            control: &control,
            told: &told,
            has_begun: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        };
        let (parts, emulated, seen, waited, applications) = thread::scope(|scope| {
            let emulated = scope.spawn(|| world.watched(emulator.run()));
            let script = scope.spawn(|| world.watched(world.follow_script()));
            let seen = scope.spawn(|| world.look_at_nodes(nodes, schedule));
            let waited = scope.spawn(|| world.measure_waits());
            let applications =
                scope.spawn(|| world.watched(world.follow_applications(applications, !commands.is_empty())));
            let finish = Finish(&world);
            let mut both = WatchOfRun { world: &world, watch, live: &live, plan: &plan, busy: &busy };
            let parts = traffic::run(&run, &plan, &mut both);
            drop(finish);
            let emulated = emulated.join();
            let script = script.join();
            (
                parts.and_then(|parts| script.unwrap_or_else(|_| Err(LabError::ended())).map(|()| parts)),
                emulated,
                seen.join(),
                waited.join(),
                applications.join(),
            )
        });
        let mut parts = parts?;
        let (part, said) = applications.map_err(|_| LabError::ended())??.finish();
        parts.extend(part);
        let emulated =
            emulated.map_err(|_| LabError::ended())?.map_err(LabError::system("the emulated links"))?;
        let (nodes, drops, lost_datagrams) = seen.map_err(|_| LabError::ended())??;
        let waited = waited.map_err(|_| LabError::ended())?;
        let ran = run.ends_at().since(Time::ZERO);
        let mut row = self.row(&emulated, lost_datagrams, (busy.part(), waited), ran);
        row.doubts.extend(self.gone());
        let links = Some(emulated.accounts);
        let network = traffic::Network { links, nodes: Some(nodes), packet_hops: emulated.frames, drops };
        let mut report = traffic::report(&run, parts, network, &mut lock(&observers));
        report.notes.extend(unseen.iter().map(|what| format!("Not checked in the lab: {what}.")));
        let doubt = |why: &String| {
            format!("The results are not those of the network: {}.", why.trim_end_matches('.'))
        };
        report.notes.extend(row.doubts.iter().map(doubt));
        report.document.lab = Some(row);
        report.notes.extend(self.not_done());
        report.notes.extend(said);
        Ok(report)
    }

    /// How well the machine kept up.
    fn row(&self, links: &Outcome, lost_datagrams: u64, (busy, waited): (f64, f64), ran: Span) -> LabRow {
        let lost = (lost_datagrams > 0)
            .then(|| format!("{lost_datagrams} datagrams found no room in the sockets of the forwarders"));
        let waits = (waited > MOST_WAITED).then(|| {
            format!(
                "processes of the lab waited for a processor for {:.1} % of the time, with processors {:.0} % busy",
                100.0 * waited,
                100.0 * busy
            )
        });
        LabRow {
            told_rates: self.network.tells_rates(),
            scale: self.scale,
            busy,
            links_busy: links.processor.as_secs_f64() / ran.as_secs_f64(),
            late_p50_ms: links.lateness.quantile_ms(0.5).unwrap_or(0.0),
            late_p99_ms: links.lateness.quantile_ms(0.99).unwrap_or(0.0),
            late_max_ms: links.latest.as_millis_f64(),
            waited,
            doubts: links.doubt().into_iter().chain(lost).chain(waits).collect(),
        }
    }

    /// The forwarder of each node with applications.
    fn sockets(&self) -> Result<Vec<Socket<Endpoint>>, LabError> {
        let scenario = self.experiment.scenario();
        let has_applications = |node: &&Node| {
            scenario.flows.iter().any(|flow| flow.consumer == node.id || flow.producers.contains(&node.id))
        };
        let socket = |node: &Node| Socket::new(&node.name, Endpoint::Unix(node.socket.clone()));
        Ok(self.network.nodes.iter().filter(has_applications).map(socket).collect())
    }

    /// Creates the emulated links, with their changes from the script.
    fn emulator(
        &mut self,
        run: &Run<'_>,
        schedule: &FlowAccounts,
        observers: &Arc<Mutex<Observers>>,
        told: &Arc<Mutex<Vec<Told>>>,
    ) -> Result<(Emulator, Control, Arc<[Live]>), LabError> {
        let scenario = self.experiment.scenario();
        let mut directions = Vec::new();
        for (index, link) in scenario.links.iter().enumerate() {
            for direction in [0, 1] {
                let pace = match &link.rate_trace {
                    Some(traces) => Pace::Trace(Arc::clone(&traces[direction])),
                    None if self.network.end(LinkId(index), direction).paces => {
                        Pace::Sender(link.rate[direction])
                    }
                    None => Pace::Link(link.rate[direction]),
                };
                directions.push(Direction {
                    from: 2 * index + direction,
                    to: 2 * index + 1 - direction,
                    pace,
                    limit: self.experiment.queue_limit(link),
                    way: self.way(link, direction),
                    shares_with: link.half_duplex.then_some(2 * index + 1 - direction),
                });
            }
        }
        let capture = |(link, path): &(LinkId, PathBuf)| Capture {
            path: path.clone(),
            directions: [0, 1].map(|d| (2 * link.index() + d, self.direction_name(*link, d))).to_vec(),
        };
        let script = self
            .experiment
            .script()
            .into_iter()
            .flat_map(|(at, change)| link_changes(change).into_iter().map(move |change| (at, change)));
        let plan = links::Plan {
            directions,
            script: script.collect(),
            accounts: LinkAccounts::new(self.experiment.link_infos(), schedule, &run.extent),
            extent: run.extent.clone(),
            captures: self.captures.iter().map(capture).collect(),
            ports: std::mem::take(&mut self.ports),
            observe: Some(Box::new(DataOnLinks::new(self.experiment, observers, told, &run.snapshot))),
        };
        Emulator::new(plan, run.clock()).map_err(LabError::system("the emulated links"))
    }

    /// The way of packets in a direction of a link. The seed determines its losses and jitter.
    fn way(&self, link: &weir_scenario::Link, direction: usize) -> Way {
        let [from, to] =
            [direction, 1 - direction].map(|end| self.experiment.node_name([link.a, link.b][end]));
        let name = link.name.as_ref().map_or(String::new(), |name| format!(":{name}"));
        let random =
            |what: &str| Random::named(self.experiment.seed(), &format!("{what}{from} to {to}{name}"));
        let mut way = Way::new(link.delay[direction], link.loss, random("link "));
        way.set_burst(link.loss_burst);
        if link.jitter == Span::ZERO {
            return way;
        }
        way.with_jitter(link.jitter, link.reorder, random("jitter of link "))
    }

    fn direction_name(&self, link: LinkId, direction: usize) -> String {
        let of = &self.experiment.scenario().links[link.index()];
        let [from, to] = [direction, 1 - direction].map(|end| self.experiment.node_name([of.a, of.b][end]));
        format!("{from} -> {to}")
    }

    /// Forwarders that have ended without an event that makes them fail.
    fn gone(&self) -> Vec<String> {
        let script = self.experiment.script();
        let fails = |node: NodeId| script.iter().any(|(_, change)| *change == Change::NodeUp(node, false));
        let stay = self.network.nodes.iter().zip(&self.forwarders).filter(|(node, _)| !fails(node.id));
        stay.filter_map(|(_, forwarder)| lock(forwarder).check().err())
            .map(|error| format!("Not all forwarders ran to the end: {error}"))
            .collect()
    }

    /// Parts of the scenario that the lab does not run, a line each.
    fn not_done(&self) -> Vec<String> {
        let scenario = self.experiment.scenario();
        let caches = scenario
            .nodes
            .iter()
            .filter(|node| node.cache_ratio > 0.0)
            .map(|node| format!("The simulated cache of {} does not exist in the lab.", node.name));
        let script = self.experiment.script();
        let events = script.iter().filter_map(|(at, change)| match change {
            Change::CacheRatio(node, _) => Some(format!(
                "At {at} the hit ratio of the simulated cache of {} changes, which the lab does not have.",
                self.experiment.node_name(*node)
            )),
            Change::Produce(number) => Some(format!(
                "Event {} does not happen in the lab: producers stay where they are.",
                scenario.events[*number].name
            )),
            _ => None,
        });
        let foreign = [Software::Ndnd, Software::Nfd].into_iter().filter_map(|software| {
            let nodes = scenario.nodes.iter().filter(|node| node.software == software);
            let nodes: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
            (!nodes.is_empty()).then(|| {
                format!(
                    "The forwarder of {} is {}: its tables and drops are not measured, and of its keys only `cache` applies.",
                    nodes.join(", "),
                    software.name()
                )
            })
        });
        caches.chain(events).chain(foreign).collect()
    }
}

/// New figures of a forwarder about a face: the direction of the link, dropped packets, and queueing delays.
type Told = (usize, u64, Vec<(Span, u64)>);

/// Reports Data on links to the observers, and adds the forwarders' figures to the accounts.
struct DataOnLinks {
    told: Arc<Mutex<Vec<Told>>>,
    observers: Arc<Mutex<Observers>>,
    /// The directions on which Data are counted.
    watched: Vec<bool>,
    /// The first flow of each prefix.
    flows: BTreeMap<Vec<u8>, u32>,
    snapshot: Arc<Snapshot>,
}

impl DataOnLinks {
    fn new(
        experiment: &Experiment,
        observers: &Arc<Mutex<Observers>>,
        told: &Arc<Mutex<Vec<Told>>>,
        snapshot: &Arc<Snapshot>,
    ) -> DataOnLinks {
        let scenario = experiment.scenario();
        let watched = {
            let observers = lock(observers);
            (0..2 * scenario.links.len()).map(|direction| observers.watches(direction)).collect()
        };
        let mut flows = BTreeMap::new();
        for (at, flow) in scenario.flows.iter().enumerate() {
            if let Ok(name) = flow.prefix.parse::<Name>() {
                flows.entry(name.value().to_vec()).or_insert(at as u32);
            }
        }
        let (told, snapshot) = (Arc::clone(told), Arc::clone(snapshot));
        DataOnLinks { told, observers: Arc::clone(observers), watched, flows, snapshot }
    }

    /// The flow of a Data; `None` for other packets.
    fn flow_of(&self, payload: &[u8]) -> Option<u32> {
        let data = Data::decode(LpPacket::decode(payload).ok()?.fragment?).ok()?;
        self.flows.get(data.name.parent().value()).copied()
    }
}

impl Observe for DataOnLinks {
    fn on_frame(&mut self, direction: usize, payload: &[u8], accounts: &LinkAccounts) {
        if self.watched[direction]
            && let Some(flow) = self.flow_of(payload)
        {
            let bits = 8 * payload.len() as u64;
            lock(&self.observers).on_data(direction, Some(flow), bits, Span::ZERO, accounts);
        }
    }

    fn at_step(&mut self, end: Time, accounts: &mut LinkAccounts) {
        for (direction, drops, waits) in lock(&self.told).drain(..) {
            accounts.on_queue_drops(direction, drops);
            waits.into_iter().for_each(|(waited, packets)| accounts.on_waited(direction, packets, waited));
        }
        if self.snapshot.is_at(end) {
            let mut so_far = accounts.clone();
            so_far.end_at(end);
            so_far.end_step(end, true);
            self.snapshot.copies().links = Some(so_far);
        }
    }
}

/// Busy and whole time of all processors at a moment, in ticks.
struct Busy(u64, u64);

impl Busy {
    fn now() -> Busy {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        // user, nice, system, idle, waiting for input and output, …
        let whole: u64 = ticks.iter().take(8).sum();
        let idle: u64 = ticks.iter().skip(3).take(2).sum();
        Busy(whole - idle, whole)
    }

    /// The part of the time since then that processors were busy.
    fn part(&self) -> f64 {
        let now = Busy::now();
        (now.0.saturating_sub(self.0)) as f64 / (now.1.saturating_sub(self.1)).max(1) as f64
    }
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn forwarder_file(node: &Node) -> PathBuf {
    node.folder.join("weir.toml")
}

/// Creates the interfaces of all ends, with their addresses.
fn connect(network: &Network<'_>, namespaces: &[Namespace]) -> Result<(), LabError> {
    let failed = |what: &str| LabError::system(what.to_owned());
    let outside = Netlink::open().map_err(failed("netlink"))?;
    for (node, namespace) in network.nodes.iter().zip(namespaces) {
        for End { interface, outer, mac, .. } in &node.ends {
            outside
                .add_pair(outer, interface, namespace, *mac)
                .and_then(|()| outside.set_up(outer, Some(MTU)))
                .map_err(failed("an interface cannot be made"))?;
        }
        let inside = || {
            let netlink = Netlink::open()?;
            for End { interface, address, neighbour, .. } in &node.ends {
                links::no_offload(interface)?;
                netlink.set_up(interface, Some(MTU))?;
                netlink.add_addresses(interface, *address, *neighbour)?;
            }
            Ok(())
        };
        namespace.within(inside).map_err(failed("an interface cannot be set up"))?;
    }
    Ok(())
}

/// Adds the counters of content stores.
fn add(to: &mut CacheCounters, more: &CacheCounters) {
    to.hits += more.hits;
    to.misses += more.misses;
    to.insertions += more.insertions;
    to.evictions += more.evictions;
}

/// The changes of the emulated links for a change of the script. Direction d of link n has number 2 n + d.
fn link_changes(change: Change) -> Vec<links::Change> {
    use links::Change as To;
    let both = |link: LinkId, to: &dyn Fn(usize) -> To| [0, 1].map(|d| to(2 * link.index() + d)).to_vec();
    match change {
        Change::Rate(link, rates) => both(link, &|at| To::Rate(at, rates[at % 2])),
        Change::Delay(link, delays) => both(link, &|at| To::Delay(at, delays[at % 2])),
        Change::Loss(link, loss) => both(link, &|at| To::Loss(at, loss)),
        Change::LossBurst(link, length) => both(link, &|at| To::LossBurst(at, length)),
        Change::Jitter(link, jitter) => both(link, &|at| To::Jitter(at, jitter)),
        Change::Up(link, up) => both(link, &|at| To::Up(at, up)),
        _ => Vec::new(),
    }
}

/// A run with its lab.
struct WorldOfRun<'a, 'e> {
    lab: &'a Lab<'e>,
    run: &'a Run<'a>,
    control: &'a Control,
    told: &'a Mutex<Vec<Told>>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// Whether a thread of the lab has failed, so that the run must end.
    has_failed: AtomicBool,
}

/// Ends the other threads of a run when the applications end for any reason.
struct Finish<'a, 'b, 'e>(&'a WorldOfRun<'b, 'e>);

impl Drop for Finish<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

impl WorldOfRun<'_, '_> {
    fn begin(&self, at: Time) {
        self.control.begin(at);
        self.has_begun.store(true, Ordering::Release);
    }

    /// Records whether a thread of the lab has failed.
    fn watched<T, E>(&self, done: Result<T, E>) -> Result<T, E> {
        self.has_failed.fetch_or(done.is_err(), Ordering::AcqRel);
        done
    }

    /// Ends the run, even if it has not begun.
    fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
        self.control.end(self.run.ends_at());
        self.control.stop();
    }

    /// Sleeps until a time of the run. Returns `false` if the run ends before.
    #[expect(clippy::disallowed_methods, reason = "a world waits for times of its run")]
    fn sleep_until(&self, at: Time) -> bool {
        loop {
            if self.is_over.load(Ordering::Acquire) || self.run.ends_at() < at {
                return false;
            }
            let mut left = NAP;
            if self.has_begun.load(Ordering::Acquire) {
                let now = self.run.now();
                if now >= at {
                    return true;
                }
                left = at.since(now).min(NAP);
            }
            thread::sleep(Duration::from_nanos(left.as_nanos()));
        }
    }

    /// Measures the fraction of the time that a thread of the lab waited for a processor, 0 to 1.
    #[expect(clippy::disallowed_methods, reason = "it measures how long it sleeps")]
    fn measure_waits(&self) -> f64 {
        if !self.sleep_until(Time::ZERO) {
            return 0.0;
        }
        let (clock, begun) = (self.run.clock(), self.run.now());
        let nap = Span::from_nanos(WAIT_NAP.as_nanos() as u64);
        let mut waited = Span::ZERO;
        while !self.is_over.load(Ordering::Acquire) {
            let before = clock.now();
            thread::sleep(WAIT_NAP);
            let slept = clock.now().since(before);
            if slept > nap * 2 {
                waited = waited + (slept - nap);
            }
        }
        waited.as_secs_f64() / self.run.now().since(begun).as_secs_f64().max(0.001)
    }

    /// Applies the script's changes of nodes: rates and routes for forwarders, and failures.
    fn follow_script(&self) -> Result<(), LabError> {
        let Lab { experiment, network, .. } = self.lab;
        let scenario = experiment.scenario();
        let mut rates: Vec<[Rate; 2]> = scenario.links.iter().map(|link| link.rate).collect();
        let mut routes: Vec<Route> = scenario.routes.clone();
        let mut view = NetworkView::new(scenario);
        let mut works = vec![true; network.nodes.len()];
        let mut script: VecDeque<(Time, Change)> = experiment.script().into();
        let concerns_nodes = |(_, change): &(Time, Change)| {
            matches!(change, Change::Rate(..) | Change::NodeUp(..) | Change::Learn(_) | Change::Reroute)
        };
        script.retain(concerns_nodes);
        while let Some(&(at, _)) = script.front() {
            if !self.sleep_until(at) {
                return Ok(());
            }
            // A forwarder rereads its file only once for all changes at the same time.
            let mut to_tell = BTreeSet::new();
            while script.front().is_some_and(|(time, _)| *time == at) {
                let Some((_, change)) = script.pop_front() else { break };
                match change {
                    Change::Rate(link, to) => {
                        rates[link.index()] = to;
                        let of = &scenario.links[link.index()];
                        to_tell.extend([of.a, of.b].into_iter().filter(|_| network.tells_rates()));
                    }
                    Change::Learn(number) => view.learn(&scenario.events[number].what),
                    Change::Reroute => {
                        routes = view.routes(scenario, &routes);
                        to_tell.extend((0..network.nodes.len()).map(NodeId));
                    }
                    Change::NodeUp(node, true) => {
                        self.restart(&network.nodes[node.index()], &rates, &routes)?;
                        works[node.index()] = true;
                    }
                    Change::NodeUp(node, false) => {
                        works[node.index()] = false;
                        lock(&self.lab.forwarders[node.index()]).kill();
                        let _ = fs::remove_file(&network.nodes[node.index()].socket);
                    }
                    // The plan of links or the applications execute these, or the lab refuses them.
                    Change::Start(_)
                    | Change::Stop(_)
                    | Change::Source(..)
                    | Change::Delay(..)
                    | Change::Loss(..)
                    | Change::LossBurst(..)
                    | Change::Jitter(..)
                    | Change::Up(..)
                    | Change::Produce(_)
                    | Change::CacheRatio(..) => {}
                }
            }
            self.tell(to_tell, &works, &rates, &routes)?;
        }
        Ok(())
    }

    /// Starts the forwarder of a node that comes back.
    fn restart(&self, node: &Node, rates: &[[Rate; 2]], routes: &[Route]) -> Result<(), LabError> {
        self.lab.write_file(node, rates, routes)?;
        let mut forwarder = self.lab.start_forwarder(node)?;
        forwarder.wait_for(&node.socket)?;
        lock(&self.lab.told[node.id.index()]).clear();
        self.lab.tell_foreign(node, routes)?;
        *lock(&self.lab.forwarders[node.id.index()]) = forwarder;
        Ok(())
    }

    /// Makes forwarders reread their files.
    fn tell(
        &self,
        nodes: impl IntoIterator<Item = NodeId>,
        works: &[bool],
        rates: &[[Rate; 2]],
        routes: &[Route],
    ) -> Result<(), LabError> {
        for node in nodes.into_iter().filter(|node| works[node.index()]) {
            let of = &self.lab.network.nodes[node.index()];
            if of.software != Software::Weir {
                self.lab.tell_foreign(of, routes)?;
                continue;
            }
            self.lab.write_file(of, rates, routes)?;
            lock(&self.lab.forwarders[node.index()]).signal(Signal::SIGHUP);
        }
        Ok(())
    }

    /// Adds a forwarder's figures about its faces to the accounts of links.
    fn tell_links(&self, node: usize, before: &NodeFigures, now: &NodeFigures) {
        let none = FaceFigures::default();
        for end in self.lab.network.nodes[node].ends.iter().filter(|end| end.paces) {
            let neighbour = end.neighbour.0;
            let Some(face) = now.faces.get(&neighbour) else { continue };
            let was = before.faces.get(&neighbour).unwrap_or(&none);
            let direction = 2 * end.link.index() + end.direction;
            let told = (direction, face.dropped.saturating_sub(was.dropped), face.waits_since(was));
            lock(self.told).push(told);
        }
    }

    /// Starts and stops commands at their times.
    fn follow_applications<'w>(
        &self,
        mut applications: Applications<'w>,
        are_there: bool,
    ) -> Result<Applications<'w>, LabError> {
        let mut next = Time::ZERO;
        while are_there && self.sleep_until(next) {
            let now = self.run.now();
            applications.follow(now, &self.lab.namespaces)?;
            next = now + LOOK_AT_COMMANDS;
        }
        Ok(applications)
    }

    /// Polls all forwarders regularly. Returns the accounts of the nodes, their drops, and the number of datagrams that
    /// their sockets lost.
    fn look_at_nodes(
        &self,
        mut accounts: NodeAccounts,
        mut schedule: FlowAccounts,
    ) -> Result<(NodeAccounts, DroppedByReason, u64), LabError> {
        let count = self.lab.network.nodes.len();
        let every =
            Span::from_nanos(1_000_000_000 * count as u64 / POLLS_PER_SECOND).max(self.run.extent.step);
        let last_look = LAST_LOOK.max(LOOK_AT_ONE * count as u64);
        let mut last = vec![NodeFigures::default(); count];
        // The counts of forwarders that were restarted later.
        let (mut carried, mut lost) = (vec![CacheCounters::default(); count], 0);
        let mut lost_before = vec![0; count];
        let mut sum = DroppedByReason::default();
        let mut is_first = true;
        let mut next_look = Time::ZERO;
        let extent = &self.run.extent;
        let ends: BTreeSet<Time> =
            extent.windows.iter().chain(&extent.others).flat_map(|&(from, to)| [from, to]).collect();
        loop {
            let step = schedule.next_step();
            let end = self.run.ends_at();
            let is_last = step >= end;
            let at = if is_last { end } else { step };
            let reaches = self.sleep_until(if is_last { at - last_look } else { at });
            if is_last || at >= next_look || !reaches || ends.contains(&at) {
                next_look = at + every;
                for (node, last) in last.iter_mut().enumerate() {
                    if self.lab.network.nodes[node].software != Software::Weir {
                        continue;
                    }
                    // A failed forwarder does not answer: its last figures stay.
                    let Ok(now) = nodes::ask(&self.lab.namespaces[node], METRICS) else { continue };
                    if now.is_restarted(last) {
                        add(&mut carried[node], &last.state.cache);
                        lost += last.lost_datagrams.saturating_sub(lost_before[node]);
                        lost_before[node] = 0;
                        *last = NodeFigures::default();
                    }
                    if is_first {
                        lost_before[node] = now.lost_datagrams;
                    }
                    let drops = nodes::since(last, &now);
                    // Drops before the beginning do not belong to the run.
                    if !is_first {
                        accounts.on_drops(node, &drops);
                        for (sum, dropped) in sum.iter_mut().zip(&drops) {
                            sum.data += dropped.data;
                            sum.interests += dropped.interests;
                        }
                    }
                    if !is_first {
                        self.tell_links(node, last, &now);
                    }
                    let mut state = now.state;
                    add(&mut state.cache, &carried[node]);
                    accounts.set_state(node, state);
                    *last = now;
                }
                is_first = false;
            }
            if is_last || !reaches {
                let end = self.run.ends_at();
                schedule.end_at(end);
                accounts.end_at(end);
                accounts.end_step(end, false);
                let own = last.iter().zip(&lost_before);
                lost += own.map(|(now, before)| now.lost_datagrams.saturating_sub(*before)).sum::<u64>();
                return Ok((accounts, sum, lost));
            }
            if self.run.snapshot.is_at(step) {
                let mut so_far = accounts.clone();
                so_far.end_at(step);
                so_far.end_step(step, true);
                self.run.snapshot.copies().nodes = Some((so_far, sum));
            }
            accounts.end_step(step, schedule.is_sample());
            schedule.end_step();
        }
    }
}

/// Handles the callbacks for the lab, and passes them on to the command.
struct WatchOfRun<'a, 'b, 'e> {
    world: &'a WorldOfRun<'b, 'e>,
    watch: &'a mut dyn Watch,
    live: &'a [Live],
    plan: &'a Plan<'a, Endpoint>,
    busy: &'a Busy,
}

impl WatchOfRun<'_, '_, '_> {
    /// Makes a report so far if it is wanted: chooses its time, and later collects the copies of the accounts.
    fn show(&mut self) {
        let run = self.world.run;
        if self.watch.wants_report() {
            run.snapshot.choose(run.now(), run.extent.step);
        }
        let frames = self.live.iter().map(|live| live.frames.load(Ordering::Relaxed)).sum();
        if let Some(mut report) = traffic::report_so_far(run, self.plan, frames) {
            let Lab { network, scale, .. } = self.world.lab;
            let busy = self.busy.part();
            report.document.lab =
                Some(LabRow { told_rates: network.tells_rates(), scale: *scale, busy, ..LabRow::default() });
            self.watch.on_report(report);
        }
    }
}

impl traffic::Watch for WatchOfRun<'_, '_, '_> {
    fn on_begin(&mut self, begin: Time) -> Result<(), LabError> {
        self.world.begin(begin);
        Ok(())
    }

    fn goes_on(&mut self, run: &Run<'_>) -> bool {
        self.show();
        self.watch.goes_on(run, self.live) && !self.world.has_failed.load(Ordering::Acquire)
    }
}
