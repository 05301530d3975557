//! A connection: a thread with its applications.

use core::ops::ControlFlow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use weir_app::{App, Event, Fetch, FlowId as ConsumerId, Segments};
use weir_core::consumer::{Consumer, ConsumerConfig, Delivery};
use weir_core::units::{Span, Time};
use weir_experiment::{Change, Experiment};
use weir_measure::{Extent, FlowAccounts, FlowInfo};
use weir_net::clock::Clock;

use super::plan::{self, Consumed};
use super::snapshot::Snapshot;
use crate::error::LabError;

/// A connection to a forwarder at this address.
type Connection<'a> = plan::Connection<'a, weir_management::client::Endpoint>;

/// Receives events of connections.
pub type Tell = dyn Fn(&Event<'_>) + Sync;

/// Interval at which a connection checks whether the run has ended.
const LOOK_AROUND: Span = Span::from_millis(100);

/// Common state of all connections of a run.
pub struct Run<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The measured period.
    pub extent: Extent,
    /// The flows that are consumed here.
    pub flows: &'a [FlowInfo],
    /// Receives events of connections.
    pub tell: &'a Tell,
    /// Whether flows are consumed. If not, the run continues until it is stopped.
    pub has_end: bool,
    /// Takes copies of the accounts while the run goes on.
    pub snapshot: Arc<Snapshot>,
    clock: Clock,
    /// Start time on the run's clock, ns.
    begins_at: AtomicU64,
    /// End time since the start, ns.
    ends_at: AtomicU64,
    content: AtomicU64,
}

impl<'a> Run<'a> {
    /// Creates a run that has not begun.
    pub fn new(experiment: &'a Experiment, extent: Extent, flows: &'a [FlowInfo], tell: &'a Tell) -> Run<'a> {
        let has_end = !flows.is_empty();
        let end = if has_end { extent.until } else { Time::NEVER };
        Run {
            experiment,
            extent,
            flows,
            tell,
            has_end,
            snapshot: Arc::default(),
            clock: Clock::start(),
            begins_at: AtomicU64::new(u64::MAX),
            ends_at: AtomicU64::new(end.as_nanos()),
            content: AtomicU64::new(0),
        }
    }

    /// Begins in a moment, so that all connections know it in time. Returns the start time on the run's clock.
    pub fn begin(&self) -> Time {
        let begin = self.clock.now() + LOOK_AROUND;
        self.begins_at.store(begin.as_nanos(), Ordering::Release);
        begin
    }

    /// The run's clock.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time since the start.
    pub fn now(&self) -> Time {
        Time::ZERO + self.clock.now().since(self.begins_at())
    }

    fn begins_at(&self) -> Time {
        Time::from_nanos(self.begins_at.load(Ordering::Acquire))
    }

    /// The end time since the start.
    pub fn ends_at(&self) -> Time {
        Time::from_nanos(self.ends_at.load(Ordering::Acquire))
    }

    /// Ends the run as soon as all connections can know it.
    pub fn end_soon(&self) {
        let soon = self.now() + LOOK_AROUND * 2;
        self.ends_at.fetch_min(soon.as_nanos(), Ordering::AcqRel);
    }

    /// Content delivered so far, bytes.
    pub fn content(&self) -> u64 {
        self.content.load(Ordering::Relaxed)
    }
}

/// Results of a connection.
pub struct Part {
    /// The indices of its flows among all flows of the run.
    pub places: Vec<usize>,
    /// Their accounts.
    pub accounts: FlowAccounts,
    /// Number of sent Interests and received answers.
    pub packets: u64,
    /// Frames for which the connection had no room.
    pub refused: u64,
}

/// Message from the thread of a connection.
pub enum Message {
    /// Its prefixes are registered.
    Ready,
    /// It has ended. If it consumes, with its results.
    Ended(Result<Option<Box<Part>>, LabError>),
}

/// Runs a connection to its end. `go` reports when the others are ready. It is closed if they never will be.
pub fn run(run: &Run<'_>, connection: &Connection<'_>, messages: &Sender<Message>, go: &Receiver<()>) {
    let ended = prepare(connection).and_then(|mut app| {
        // The main thread may have ended the run already.
        let _ = messages.send(Message::Ready);
        match go.recv() {
            Ok(()) => work(run, connection, &mut app),
            Err(_) => Ok(None),
        }
    });
    let _ = messages.send(Message::Ended(ended));
}

/// Connects, and registers the prefixes.
fn prepare(connection: &Connection<'_>) -> Result<App, LabError> {
    let mut app = App::connect(&connection.endpoint)?;
    for flow in &connection.produced {
        let segments = Segments::new(flow.payload, flow.freshness).map_err(LabError::application)?;
        app.produce(flow.prefix.parse().map_err(LabError::application)?, Box::new(segments)).map_err(|error| {
            LabError::Application(format!(
                "{} of node {} is not registered at {}: {error}\n  = [management] in the forwarder's file sets who may register prefixes",
                flow.prefix, connection.node, connection.endpoint
            ))
        })?;
    }
    Ok(app)
}

/// Consumes and produces until the end.
fn work(run: &Run<'_>, connection: &Connection<'_>, app: &mut App) -> Result<Option<Box<Part>>, LabError> {
    if connection.consumed.is_empty() {
        while run.now() < run.ends_at() {
            let until = app.now() + LOOK_AROUND;
            app.run(until, &mut |_, event| {
                (run.tell)(&event);
                ControlFlow::Continue(())
            })?;
        }
        return Ok(None);
    }
    let mut consumers = Consumers::new(run, connection, app)?;
    while consumers.go_on(app)? {}
    Ok(Some(Box::new(consumers.part(app))))
}

/// The consumers of a connection and their accounts. Times are since the beginning of the run.
struct Consumers<'a> {
    run: &'a Run<'a>,
    /// The start time on the connection's clock.
    begin: Time,
    accounts: FlowAccounts,
    places: Vec<usize>,
    script: VecDeque<(Time, usize, Change)>,
    /// Data that arrived in the turn that ended a step, but belong to the next step.
    late: VecDeque<(Time, ConsumerId, Delivery)>,
}

impl<'a> Consumers<'a> {
    fn new(run: &'a Run<'a>, connection: &Connection<'_>, app: &mut App) -> Result<Consumers<'a>, LabError> {
        let begin = app.now() + run.begins_at().since(run.clock.now());
        for consumed in &connection.consumed {
            let scheme = run.experiment.scheme_of_flow(consumed.id).build();
            app.fetch(fetch(run.experiment, consumed)?, &*scheme, begin + consumed.flow.start)?;
        }
        let places: Vec<usize> = connection.consumed.iter().map(|consumed| consumed.place).collect();
        let infos = places.iter().map(|&place| run.flows[place].clone()).collect();
        Ok(Consumers {
            run,
            begin,
            accounts: FlowAccounts::new(infos, &run.extent),
            places,
            script: connection.script.iter().copied().collect(),
            late: VecDeque::new(),
        })
    }

    /// Runs for a while. Returns whether to continue.
    fn go_on(&mut self, app: &mut App) -> Result<bool, LabError> {
        let end = self.run.ends_at();
        let scripted = self.script.front().map_or(Time::NEVER, |(at, ..)| *at);
        let next = self.accounts.next_step().min(scripted).min(end);
        while let Some(&(at, flow, delivery)) = self.late.front().filter(|(at, ..)| *at < next) {
            self.late.pop_front();
            self.accounts.on_delivery(flow as usize, &delivery, at);
        }
        if self.late.is_empty() {
            self.run_until(next, app)?;
        }
        if self.late.is_empty() && Time::ZERO + app.now().since(self.begin) < next {
            return Ok(true);
        }
        self.follow_script(next, app);
        if next == end || next == self.accounts.next_step() {
            self.read_counters(app);
            if next == end {
                self.accounts.end_at(end);
            } else if self.run.snapshot.is_at(next) {
                let mut so_far = self.accounts.clone();
                so_far.end_at(next);
                so_far.end_step();
                self.run.snapshot.copies().flows.push((self.places.clone(), so_far));
            }
            self.accounts.end_step();
        }
        Ok(next < end)
    }

    /// Runs the applications, and checks regularly whether the run has ended.
    fn run_until(&mut self, next: Time, app: &mut App) -> Result<(), LabError> {
        let Consumers { begin, accounts, late, run, .. } = self;
        let until = (*begin + next.since(Time::ZERO)).min(app.now() + LOOK_AROUND);
        app.run(until, &mut |now, event| {
            let Event::Segment { flow, delivery, .. } = event else {
                (run.tell)(&event);
                return ControlFlow::Continue(());
            };
            run.content.fetch_add(delivery.content, Ordering::Relaxed);
            let at = Time::ZERO + now.since(*begin);
            if at < next {
                accounts.on_delivery(flow as usize, delivery, at);
                return ControlFlow::Continue(());
            }
            late.push_back((at, flow, *delivery));
            ControlFlow::Break(())
        })?;
        Ok(())
    }

    fn follow_script(&mut self, now: Time, app: &mut App) {
        while let Some(&(_, flow, change)) = self.script.front().filter(|(at, ..)| *at <= now) {
            self.script.pop_front();
            match change {
                Change::Stop(_) => app.pause(flow as ConsumerId),
                Change::Source(_, source) => app.set_source(flow as ConsumerId, source),
                // Other changes do not concern a connection.
                _ => {}
            }
        }
    }

    fn read_counters(&mut self, app: &App) {
        for flow in 0..self.places.len() {
            if let Some(consumer) = app.consumer(flow as ConsumerId) {
                self.accounts.set_counters(flow, *consumer.counters());
                self.accounts.set_lost(flow, unanswered(consumer));
            }
        }
    }

    fn part(self, app: &App) -> Part {
        let consumers = (0..self.places.len()).filter_map(|flow| app.consumer(flow as ConsumerId));
        let packets = consumers.map(|consumer| {
            let counters = consumer.counters();
            counters.sent + counters.delivered + counters.nacks + counters.duplicates
        });
        let packets = packets.sum();
        Part { places: self.places, accounts: self.accounts, packets, refused: app.refused() }
    }
}

/// Number of Interests that timed out and whose Data never arrived.
fn unanswered(consumer: &Consumer) -> u64 {
    let counters = consumer.counters();
    let answered = counters.delivered + counters.duplicates;
    counters.sent.saturating_sub(answered + u64::from(consumer.pending()))
}

/// The settings of a consumer in the application library.
fn fetch(experiment: &Experiment, consumed: &Consumed<'_>) -> Result<Fetch, LabError> {
    let ConsumerConfig {
        class,
        first,
        amount,
        reorder,
        source,
        lifetime,
        must_be_fresh,
        expected_size,
        early_loss,
        // The plan refuses it.
        source_jitter: _,
        // A scenario has no hints. The connection hashes names with its own key.
        hint: _,
        prefix: _,
        hasher: _,
    } = experiment.consumer(consumed.id);
    let prefix = consumed.flow.prefix.parse().map_err(LabError::application)?;
    Ok(Fetch {
        prefix,
        class,
        first,
        amount,
        reorder,
        source,
        lifetime,
        must_be_fresh,
        hint: Vec::new(),
        expected_size,
        early_loss,
    })
}
