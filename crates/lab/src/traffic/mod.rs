//! The flows of a scenario as applications of running forwarders.
//!
//! A [`Plan`] contains the applications and their connections. One thread runs the applications of one connection. All
//! times are since the beginning of the [`Run`].

mod connection;
mod plan;
mod snapshot;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use weir_core::units::Time;
use weir_experiment::{Measured, Observers};
use weir_management::client::Endpoint;
use weir_measure::{DroppedByReason, FlowAccounts, LinkAccounts, NodeAccounts, Report};

use crate::error::LabError;
use connection::Message;
use snapshot::Copies;

pub use connection::{Part, Run, Tell};
pub use plan::{Command, Consumed, Plan, Socket};
pub use snapshot::Snapshot;

/// Callbacks in the thread that started a run.
pub trait Watch {
    /// All prefixes are registered, and the run begins at this time of its clock.
    ///
    /// # Errors
    /// Returns an error if the run must not begin.
    fn on_begin(&mut self, begin: Time) -> Result<(), LabError>;

    /// Called ten times a second. Returns whether the run continues.
    fn goes_on(&mut self, run: &Run<'_>) -> bool;
}

/// Interval of this callback.
const EVERY: Duration = Duration::from_millis(100);

/// Runs all connections, each in a thread, until they end or one of them fails.
///
/// # Errors
/// Returns the first error.
pub fn run(run: &Run<'_>, plan: &Plan<'_, Endpoint>, watch: &mut dyn Watch) -> Result<Vec<Part>, LabError> {
    thread::scope(|scope| {
        let (sender, messages) = mpsc::channel();
        let mut gates = Vec::new();
        for connection in &plan.connections {
            let (sender, (gate, go)) = (sender.clone(), mpsc::sync_channel(1));
            gates.push(gate);
            scope.spawn(move || connection::run(run, connection, &sender, &go));
        }
        // Without connections, for example if all applications are commands, only the time ends the run.
        let lasts = plan.connections.is_empty().then_some(sender);
        until_ready(run, &messages, gates, watch)?;
        until_over(run, &messages, plan.connections.len(), lasts.is_some(), watch)
    })
}

/// Waits until all prefixes are registered, then begins. If a connection's gate is closed instead, it ends.
fn until_ready(
    run: &Run<'_>,
    messages: &Receiver<Message>,
    gates: Vec<SyncSender<()>>,
    watch: &mut dyn Watch,
) -> Result<(), LabError> {
    for _ in &gates {
        if let Message::Ended(Err(error)) = messages.recv().map_err(|_| LabError::ended())? {
            return Err(error);
        }
    }
    watch.on_begin(run.begin())?;
    gates.iter().try_for_each(|gate| gate.send(()).map_err(|_| LabError::ended()))
}

/// Waits until all connections have ended, or, if it `lasts`, until the run is over. Returns the results, or the first
/// error.
fn until_over(
    run: &Run<'_>,
    messages: &Receiver<Message>,
    mut left: usize,
    lasts: bool,
    watch: &mut dyn Watch,
) -> Result<Vec<Part>, LabError> {
    let (mut parts, mut failure) = (Vec::new(), None);
    while left > 0 || (lasts && run.now() < run.ends_at()) {
        match messages.recv_timeout(EVERY) {
            Ok(Message::Ended(over)) => {
                left -= 1;
                match over {
                    Ok(part) => parts.extend(part.map(|part| *part)),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            Ok(Message::Ready) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(LabError::ended()),
        }
        if !watch.goes_on(run) || failure.is_some() {
            run.end_soon();
        }
    }
    failure.map_or(Ok(parts), Err)
}

/// Measurements of a world of real forwarders besides the flows.
#[derive(Debug, Default)]
pub struct Network {
    /// Accounts of the links, if measured.
    pub links: Option<LinkAccounts>,
    /// Accounts of the nodes, if measured.
    pub nodes: Option<NodeAccounts>,
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets dropped.
    pub drops: DroppedByReason,
}

/// The report of the measurements, in the simulator's form.
pub fn report(run: &Run<'_>, parts: Vec<Part>, network: Network, observers: &mut Observers) -> Report {
    let events = parts.iter().map(|part| part.packets).sum();
    let refused: u64 = parts.iter().map(|part| part.refused).sum();
    let parts = parts.into_iter().map(|part| (part.places, part.accounts));
    let accounts = FlowAccounts::gathered(run.flows.to_vec(), &run.extent, parts);
    let end = accounts.whole().to();
    observers.on_series(&accounts, run.extent.step);
    let mut report = report_of(run, accounts, network, (observers, events));
    if end < run.extent.until {
        report.notes.push(format!(
            "Ended at {:.1} s of {}: windows end here, and later events and checks are left out.",
            end.as_secs_f64(),
            run.extent.until
        ));
    }
    if refused > 0 {
        report.notes.push(format!("{refused} frames were lost here: the buffer of a connection was full."));
    }
    report
}

/// The report of a run that goes on, once all copies of its accounts are there. It has no expectations.
pub fn report_so_far(run: &Run<'_>, plan: &Plan<'_, Endpoint>, packet_hops: u64) -> Option<Report> {
    let connections = plan.connections.iter().filter(|connection| !connection.consumed.is_empty());
    let Copies { flows, links, nodes } = run.snapshot.take(connections.count())?;
    let accounts = FlowAccounts::gathered(run.flows.to_vec(), &run.extent, flows);
    let (nodes, drops) = nodes.unzip();
    let network = Network { links, nodes, packet_hops, drops: drops.unwrap_or_default() };
    Some(report_of(run, accounts, network, (&Observers::default(), 0)))
}

fn report_of(
    run: &Run<'_>,
    flows: FlowAccounts,
    network: Network,
    (observers, events): (&Observers, u64),
) -> Report {
    let Network { links, nodes, packet_hops, drops } = network;
    let measured = Measured { flows, links, requests: None, nodes, observers, events, packet_hops, drops };
    let mut report = run.experiment.report(measured);
    report.document.wall_s = run.now().as_secs_f64();
    report
}
