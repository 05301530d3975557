//! Applications for Named Data Networking: consumers and producers behind one connection to a forwarder.
//!
//! The consumers are those of the core, with the scheme's congestion control. This crate adds the clock, the socket and
//! the event loop. The number of flows need not be known beforehand; one thread serves all of them.
//!
//! ```text
//!   Consumer ..  ----Interests---->  PacketIo <-- socket --->  forwarder
//!   SingleInterest ------Interest---->  |
//!   Serve    ..  <---Interests---------+
//! ```
//!
//! Due work is done as of its deadline, however late the host wakes the process. So a paced flow keeps its rate.
//!
//! A broken connection is made again as soon as the forwarder is back: prefixes are registered again, and consumers
//! continue where they were.

mod error;
mod flows;
pub mod get;
mod packet_io;
mod pending;
mod producers;
pub mod publish;
pub mod rdr;
mod registrations;

use core::ops::ControlFlow;
use core::time::Duration;
use std::io;

use mio::{Events, Poll, Token};
use weir_core::consumer::{Consumer, Delivery, Source};
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Hint, Kind, Packet, PacketId};
use weir_core::random::Random;
use weir_core::seam::Scheme;
use weir_core::units::{Span, Time};
use weir_management::client::{ClientError, Connection, Endpoint, accepted};
use weir_net::clock::{Clock, Timer};
use weir_net::secrets::{Secrets, random_seed};
use weir_packet::{NackReason, Name};

pub use error::AppError;
pub use flows::{Fetch, FlowId};
pub use pending::{OwnedReply, PendingId, Reply, SingleInterest};
pub use producers::{Segments, Serve, TooLong};

use flows::Flows;
use packet_io::PacketIo;
use pending::{Due, PendingInterests};
use producers::Producers;
use registrations::Registrations;

const TIMER: Token = Token(0);
const CONNECTION: Token = Token(1);

/// Maximum number of frames received at once.
const FRAMES_A_TURN: usize = 64;
/// Maximum number of times frames are received before due work has its turn: more than a Unix socket holds.
const TURNS_OF_FRAMES: usize = 8;
/// Interval of attempts to reconnect.
const RECONNECT_EVERY: Span = Span::from_millis(250);
/// Maximum time to establish a connection. Assumed: two lost packets, which TCP retransmits after 1 and 2 s.
const CONNECT_TIMEOUT: Span = Span::from_secs(4);

/// Events of an application.
#[derive(Debug)]
pub enum Event<'a> {
    /// A segment arrived for the first time.
    Segment {
        /// The consumer.
        flow: FlowId,
        /// The Data that carries it.
        data: &'a Packet,
        /// The consumer's information about it.
        delivery: &'a Delivery,
    },
    /// An Interest for a segment was answered with a Nack.
    Nack {
        /// The consumer.
        flow: FlowId,
        /// The reason.
        reason: NackReason,
    },
    /// A single Interest has ended.
    Reply {
        /// The identifier from [`App::express`].
        id: PendingId,
        /// The result.
        reply: Reply<'a>,
    },
    /// The connection broke. It will be made again.
    Disconnected(&'a io::Error),
    /// The connection is established again. Prefixes are being registered.
    Connected,
    /// The forwarder answered a request to register a prefix: the first one, or the first after a reconnection. After a
    /// failure the request is repeated. Every 5 minutes it is renewed; this is reported only if it fails.
    Registered {
        /// The prefix.
        prefix: &'a Name,
        /// The result.
        outcome: Result<(), ClientError>,
    },
}

/// The event callback. It decides whether to continue.
pub type OnEvent<'a> = dyn FnMut(Time, Event<'_>) -> ControlFlow<()> + 'a;

/// Consumers and producers behind one connection to a forwarder.
pub struct App {
    poll: Poll,
    events: Events,
    timer: Timer,
    clock: Clock,
    hasher: NameHasher,
    seed: u64,
    random: Random,
    endpoint: Endpoint,
    io: PacketIo,
    /// Whether the socket may have more to read.
    more: bool,
    link: Link,
    flows: Flows,
    pending: PendingInterests,
    producers: Producers,
    registrations: Registrations,
    /// Reused between Interests.
    wire: Vec<u8>,
    received: Vec<PacketId>,
}

/// State of the connection.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// Established.
    Up,
    /// Being established, at most until this time.
    Connecting(Time),
    /// Lost. It is made again at this time.
    Down(Time),
}

impl App {
    /// Connects to a forwarder. If its host has several addresses, connects to the first that answers.
    ///
    /// # Errors
    /// Returns an error if no forwarder listens there, or it does not answer within 4 s.
    pub fn connect(endpoint: &Endpoint) -> Result<App, AppError> {
        let mut poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let (seed, secrets) = (random_seed()?, Secrets::draw()?);
        let hasher = secrets.names;
        let connection = Connection::connect(endpoint, &mut poll, CONNECTION, CONNECT_TIMEOUT)
            .map_err(|error| ClientError::Unreachable(endpoint.clone(), error))?;
        Ok(App {
            poll,
            events: Events::with_capacity(16),
            timer,
            clock: Clock::start(),
            hasher,
            seed,
            random: Random::named(seed, "single Interests"),
            endpoint: endpoint.clone(),
            io: PacketIo::new(connection, secrets),
            more: true,
            link: Link::Up,
            flows: Flows::new(),
            pending: PendingInterests::default(),
            producers: Producers::default(),
            registrations: Registrations::default(),
            wire: Vec::new(),
            received: Vec::new(),
        })
    }

    /// The time since the application was created.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds a consumer that starts at `starts_at`.
    ///
    /// # Errors
    /// Returns [`AppError::LongName`] or [`AppError::SamePrefix`].
    pub fn fetch(&mut self, fetch: Fetch, scheme: &dyn Scheme, starts_at: Time) -> Result<FlowId, AppError> {
        let names = (self.hashed(&fetch.prefix)?, self.hashed_hint(&fetch.hint)?);
        self.flows.add(fetch, names, scheme, starts_at, (self.hasher, self.seed))
    }

    /// A forwarding hint with these delegations; `None` if there are none.
    fn hashed_hint(&self, delegations: &[Name]) -> Result<Option<Hint>, AppError> {
        let hint = delegations.iter().map(|name| self.hashed(name)).collect::<Result<Hint, AppError>>()?;
        Ok(Some(hint).filter(|hint| !hint.is_empty()))
    }

    /// Removes a consumer. Its identifier may be reused.
    pub fn forget(&mut self, flow: FlowId) {
        self.flows.remove(flow);
    }

    /// A consumer, for inspection.
    pub fn consumer(&self, flow: FlowId) -> Option<&Consumer> {
        self.flows.get(flow)
    }

    /// Stops all consumers from sending. Pending Data may still arrive.
    pub fn stop(&mut self) {
        self.flows.stop();
    }

    /// Stops a consumer from sending until [`App::resume`]. Pending Data may still arrive.
    pub fn pause(&mut self, flow: FlowId) {
        self.flows.pause(flow);
    }

    /// Continues a paused consumer.
    pub fn resume(&mut self, flow: FlowId) {
        self.flows.resume(self.clock.now(), flow);
    }

    /// Sets [`Fetch::reorder`] of a consumer.
    pub fn set_reorder(&mut self, flow: FlowId, segments: u64) {
        self.flows.set_reorder(self.clock.now(), flow, segments);
    }

    /// Sets [`Fetch::amount`] of a consumer. `None` revokes an end that rejected Data have declared: the next
    /// declaration counts.
    pub fn set_amount(&mut self, flow: FlowId, amount: Option<u64>) {
        self.flows.set_amount(self.clock.now(), flow, amount);
    }

    /// Sets the amount of data that a consumer requests.
    pub fn set_source(&mut self, flow: FlowId, source: Source) {
        self.flows.set_source(self.clock.now(), flow, source);
    }

    /// Number of pending Interests of all consumers.
    pub fn pending(&self) -> u64 {
        self.flows.all().map(|consumer| u64::from(consumer.pending())).sum()
    }

    /// Number of frames for which the connection had no room.
    pub fn refused(&self) -> u64 {
        self.io.connection.refused()
    }

    /// Returns whether the connection to the forwarder is established.
    pub fn is_connected(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// Expresses a single Interest. [`Event::Reply`] reports the result.
    pub fn express(&mut self, interest: SingleInterest) -> PendingId {
        self.pending.express(self.clock.now(), interest)
    }

    /// Cancels a single Interest.
    pub fn cancel(&mut self, id: PendingId) {
        self.pending.cancel(id);
    }

    /// Expresses a single Interest, and runs until it is answered. `each` receives all other events. It may stop the
    /// wait; then the result is `None`.
    ///
    /// # Errors
    /// Returns the errors of [`App::run`].
    pub fn wait_for(
        &mut self,
        interest: SingleInterest,
        each: &mut OnEvent<'_>,
    ) -> Result<Option<OwnedReply>, AppError> {
        let expressed = self.express(interest);
        let mut answer = None;
        self.run(Time::NEVER, &mut |now, event| match event {
            Event::Reply { id, reply } if id == expressed => {
                answer = Some(OwnedReply::from(reply));
                ControlFlow::Break(())
            }
            other => each(now, other),
        })?;
        self.pending.cancel(expressed);
        Ok(answer)
    }

    /// Registers a prefix with the forwarder. From then on `answer` answers its Interests, also after a reconnection.
    ///
    /// # Errors
    /// Returns an error if the forwarder refuses or does not answer within 4 s, or the connection is lost.
    pub fn produce(&mut self, prefix: Name, answer: Box<dyn Serve>) -> Result<(), AppError> {
        let hashed = self.hashed(&prefix)?;
        // Add the producer first: Interests arrive as soon as the prefix is registered.
        self.producers.add(prefix.clone(), &hashed, answer);
        let registered = self.register_now(&prefix);
        if registered.is_err() {
            self.producers.remove(&prefix);
            self.registrations.remove(&prefix, &mut self.pending);
        }
        registered
    }

    /// Registers a prefix, and waits for the result.
    fn register_now(&mut self, prefix: &Name) -> Result<(), AppError> {
        let endpoint = self.endpoint.clone();
        if !self.is_connected() {
            return Err(ClientError::Unreachable(endpoint, io::ErrorKind::NotConnected.into()).into());
        }
        self.registrations.add(self.clock.now(), prefix, &mut self.pending)?;
        let mut outcome = None;
        while outcome.is_none() {
            let _ = self.turn(Time::NEVER, &mut |_, event| {
                match event {
                    Event::Registered { prefix: of, outcome: said } if of == prefix => outcome = Some(said),
                    Event::Disconnected(error) => {
                        let error = io::Error::new(error.kind(), error.to_string());
                        outcome = Some(Err(ClientError::Broken(endpoint.clone(), error)));
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(outcome.unwrap_or(Ok(()))?)
    }

    /// Runs until `until`, or until `each` stops it. In any case it handles what has already arrived.
    ///
    /// # Errors
    /// Returns an error of the event loop. A lost connection is not an error: see [`Event::Disconnected`].
    pub fn run(&mut self, until: Time, each: &mut OnEvent<'_>) -> Result<(), AppError> {
        while self.turn(until, each)?.is_continue() && self.clock.now() < until {}
        // Bytes that do not fit now are written in the next turn, or lost with the connection.
        let _ = self.io.connection.flush();
        Ok(())
    }

    /// Runs one turn of the loop. A broken connection is recorded.
    fn turn(&mut self, until: Time, each: &mut OnEvent<'_>) -> Result<ControlFlow<()>, AppError> {
        match self.link {
            Link::Up => {}
            Link::Connecting(at_most) => return self.wait_for_connection(at_most, until, each),
            Link::Down(at) => return self.reconnect(at, until),
        }
        let outcome = match self.io.connection.flush() {
            Ok(()) => {
                self.wait(until)?;
                self.work(each)
            }
            Err(error) => Err(error),
        };
        outcome.or_else(|error| {
            let now = self.clock.now();
            self.link = Link::Down(now + RECONNECT_EVERY);
            Ok(each(now, Event::Disconnected(&error)))
        })
    }

    /// Waits for events until the next deadline.
    fn wait(&mut self, until: Time) -> io::Result<()> {
        let now = self.clock.now();
        let registrations = self.registrations.next_deadline();
        let next = self.flows.next_deadline().min(self.pending.next_deadline()).min(registrations);
        let due = if self.more { now } else { next.min(until) };
        let wait = self.timer.wait(now, due)?;
        self.poll(wait)?;
        self.more |= self.events.iter().any(|event| event.token() == CONNECTION);
        Ok(())
    }

    fn poll(&mut self, wait: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.events.clear();
                Ok(())
            }
            polled => polled,
        }
    }

    /// Receives frames, then does due work.
    ///
    /// The order matters: after a pause, for example writing to a slow disk or without a processor, due work done first
    /// would count the packets in the socket as lost.
    ///
    /// # Errors
    /// Returns the connection's error.
    fn work(&mut self, each: &mut OnEvent<'_>) -> io::Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        let mut turns = 0;
        while self.more && turns < TURNS_OF_FRAMES && flow.is_continue() {
            flow = self.take_in(each)?;
            turns += 1;
        }
        if flow.is_break() {
            return Ok(flow);
        }
        self.run_due(each)
    }

    /// Receives some frames.
    fn take_in(&mut self, each: &mut OnEvent<'_>) -> io::Result<ControlFlow<()>> {
        let mut received = core::mem::take(&mut self.received);
        let more = self.io.receive(self.clock.now(), FRAMES_A_TURN, &mut received);
        let now = self.clock.now();
        let (mut outcome, mut flow) = (Ok(()), ControlFlow::Continue(()));
        for id in received.drain(..) {
            match self.take(now, id, each) {
                Ok(ControlFlow::Break(())) => flow = ControlFlow::Break(()),
                Ok(ControlFlow::Continue(())) => {}
                Err(error) => outcome = Err(error),
            }
            self.io.pool.free(id);
        }
        self.received = received;
        outcome?;
        self.more = more?;
        Ok(flow)
    }

    /// Runs due consumers, each as of its deadline, and sends due single Interests.
    fn run_due(&mut self, each: &mut OnEvent<'_>) -> io::Result<ControlFlow<()>> {
        let now = self.clock.now();
        while let Some((id, at)) = self.flows.run_due(now) {
            self.send_interests(at, id)?;
        }
        self.registrations.run_due(now, &mut self.pending);
        let mut flow = ControlFlow::Continue(());
        self.wire.clear();
        while let Some(due) = self.pending.run_due(now, &mut self.random, &mut self.wire) {
            match due {
                Due::Send(header) => {
                    self.io.connection.send(now, &header, &self.wire)?;
                    self.wire.clear();
                }
                Due::Ended(id, nack) => {
                    let reply = nack.map_or(Reply::Timeout, Reply::Nack);
                    if self.settle(now, id, reply, each).is_break() {
                        flow = ControlFlow::Break(());
                    }
                }
            }
        }
        Ok(flow)
    }

    fn send_interests(&mut self, now: Time, id: FlowId) -> io::Result<()> {
        while let Some(interest) = self.flows.poll_send(now, id, &mut self.io.pool) {
            self.io.send_interest(now, interest)?;
        }
        Ok(())
    }

    /// Passes a received packet to its consumer or producer.
    fn take(&mut self, now: Time, id: PacketId, each: &mut OnEvent<'_>) -> io::Result<ControlFlow<()>> {
        let packet = &self.io.pool[id];
        match packet.kind {
            Kind::Interest => {
                if let Some(answer) = self.producers.of(&packet.name) {
                    self.io.answer(now, id, answer)?;
                }
            }
            Kind::Data | Kind::Nack => {
                if let Some(flow) = self.flows.of(packet) {
                    return self.hand_over(now, flow, id, each);
                }
                if packet.kind == Kind::Nack {
                    self.pending.nacked(now, packet);
                } else if let Some(id) = self.pending.answered_by(packet) {
                    // The buffer is shared, not copied.
                    let data = packet.clone();
                    return Ok(self.settle(now, id, Reply::Data(&data), each));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Passes a Data or a Nack to its consumer.
    fn hand_over(
        &mut self,
        now: Time,
        flow: FlowId,
        id: PacketId,
        each: &mut OnEvent<'_>,
    ) -> io::Result<ControlFlow<()>> {
        let data = &self.io.pool[id];
        let (now, delivery) = self.flows.take(now, flow, data);
        let told = match (&delivery, data.header().nack()) {
            (Some(delivery), _) => each(now, Event::Segment { flow, data, delivery }),
            (None, Some(reason)) => each(now, Event::Nack { flow, reason }),
            // A duplicate for the consumer. A single Interest may have requested it.
            (None, None) => match self.pending.answered_by(data) {
                Some(asked) => {
                    let data = data.clone();
                    self.settle(now, asked, Reply::Data(&data), each)
                }
                None => ControlFlow::Continue(()),
            },
        };
        self.send_interests(now, flow)?;
        Ok(told)
    }

    /// Handles the end of a single Interest, of the application or of a registration.
    fn settle(
        &mut self,
        now: Time,
        id: PendingId,
        reply: Reply<'_>,
        each: &mut OnEvent<'_>,
    ) -> ControlFlow<()> {
        let Some(registration) = self.registrations.commanded_by(id) else {
            return each(now, Event::Reply { id, reply });
        };
        let outcome = self.registered(reply);
        match self.registrations.settle(now, registration, outcome.is_ok()) {
            Some(prefix) => each(now, Event::Registered { prefix: &prefix, outcome }),
            None => ControlFlow::Continue(()),
        }
    }

    /// The forwarder's answer to a command.
    fn registered(&self, reply: Reply<'_>) -> Result<(), ClientError> {
        let Reply::Data(data) = reply else {
            return Err(match reply {
                Reply::Nack(_) => ClientError::NoManagement(self.endpoint.clone()),
                _ => ClientError::Timeout(self.endpoint.clone(), span(registrations::TIMEOUT)),
            });
        };
        accepted(&data.wire).map(drop)
    }

    /// Waits until it is time to reconnect, then starts to.
    fn reconnect(&mut self, at: Time, until: Time) -> Result<ControlFlow<()>, AppError> {
        let now = self.clock.now();
        if now < at {
            let wait = self.timer.wait(now, at.min(until))?;
            self.poll(wait)?;
            return Ok(ControlFlow::Continue(()));
        }
        let begun = self.io.connection.reconnect(&self.endpoint, self.poll.registry(), CONNECTION);
        if begun.is_ok() {
            self.link = Link::Connecting(now + CONNECT_TIMEOUT);
        } else {
            self.fail_to_connect(now);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn fail_to_connect(&mut self, now: Time) {
        self.io.connection.leave_address();
        self.link = Link::Down(now + RECONNECT_EVERY);
    }

    /// Waits until the connection is established. Then all Interests are sent again.
    fn wait_for_connection(
        &mut self,
        at_most: Time,
        until: Time,
        each: &mut OnEvent<'_>,
    ) -> Result<ControlFlow<()>, AppError> {
        let is_connected = self.io.connection.is_connected();
        let now = self.clock.now();
        match is_connected {
            Ok(true) => {}
            Ok(false) if now < at_most => {
                let wait = self.timer.wait(now, at_most.min(until))?;
                self.poll(wait)?;
                return Ok(ControlFlow::Continue(()));
            }
            _ => {
                self.fail_to_connect(now);
                return Ok(ControlFlow::Continue(()));
            }
        }
        (self.link, self.more) = (Link::Up, true);
        self.pending.restart(now);
        self.registrations.restart(now, &mut self.pending);
        let flow = each(now, Event::Connected);
        // Run due work at once: otherwise a forwarder that drops every connection could delay Interests forever. The
        // next turn records a failure.
        match self.run_due(each) {
            Ok(due) if flow.is_continue() => Ok(due),
            _ => Ok(flow),
        }
    }

    fn hashed(&self, name: &Name) -> Result<HashedName, AppError> {
        // A segment number will be appended to the name.
        let longest = name.clone().with_segment(u64::MAX);
        let fits = HashedName::parse(&self.hasher, longest.value()).is_ok();
        let hashed = HashedName::parse(&self.hasher, name.value()).ok().filter(|_| fits);
        hashed.ok_or_else(|| AppError::LongName(name.clone()))
    }
}

fn span(span: Span) -> Duration {
    Duration::from_nanos(span.as_nanos())
}

impl core::fmt::Debug for App {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("App")
            .field("endpoint", &self.endpoint)
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}
