//! Applications of Named Data Networking: consumers and producers behind one connection to a forwarder.
//!
//! The consumers are those of the core, with the scheme's flow control; here are only the clock, the socket and the
//! waiting. Nothing of it knows how many flows there are beforehand, and one thread serves all of them.
//!
//! ```text
//!   Consumer ..  ----Interests---->  PacketIo <-- socket --->  forwarder
//!   SingleInterest ------Interest---->  |
//!   Serve    ..  <---Interests---------+
//! ```
//!
//! What is due is done as of the time when it was due, however late the host wakes us: so a paced flow keeps its
//! rate.
//!
//! A connection that breaks is made again as soon as the forwarder is back: prefixes are registered again, and
//! consumers go on where they were.

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

/// Frames that are taken in at once.
const FRAMES_A_TURN: usize = 64;
/// How many times frames are taken in before what is due has its turn: more than a Unix socket holds.
const TURNS_OF_FRAMES: usize = 8;
/// How often a forwarder that is gone is looked for.
const RECONNECT_EVERY: Span = Span::from_millis(250);
/// How long a connection may take to be made. Assumed: two lost packets, which TCP sends again after 1 and 2 s.
const CONNECT_TIMEOUT: Span = Span::from_secs(4);

/// What happens to an application.
#[derive(Debug)]
pub enum Event<'a> {
    /// A segment came for the first time.
    Segment {
        /// Who wanted it.
        flow: FlowId,
        /// The Data that carries it.
        data: &'a Packet,
        /// What its consumer knows of it.
        delivery: &'a Delivery,
    },
    /// An Interest for a segment came back.
    Nack {
        /// Who wanted it.
        flow: FlowId,
        /// Why the forwarder sent it back.
        reason: NackReason,
    },
    /// A single Interest has come to its end.
    Reply {
        /// What [`App::express`] returned.
        id: PendingId,
        /// What became of it.
        reply: Reply<'a>,
    },
    /// The connection broke. It will be made again.
    Disconnected(&'a io::Error),
    /// The connection is there again; prefixes are being registered.
    Connected,
    /// The forwarder was asked to register a prefix: for the first time, or since it was away. If it has not done so
    /// it is asked again. Every 5 minutes it is asked anew, which is told of only if it does not do so.
    Registered {
        /// The prefix.
        prefix: &'a Name,
        /// What it says.
        outcome: Result<(), ClientError>,
    },
}

/// What is told of events, and says whether to go on.
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
    /// The socket may have more to read.
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

/// How it is with the connection.
#[derive(Clone, Copy, Debug)]
enum Link {
    /// It is there.
    Up,
    /// It is being made, until this time at most.
    Connecting(Time),
    /// It is gone, and is made again at this time.
    Down(Time),
}

impl App {
    /// Connects to a forwarder; of a host with several addresses, to the first that answers.
    ///
    /// # Errors
    /// Nobody listens there, or it does not answer within 4 s.
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

    /// The time since it was made.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds a consumer that begins at `starts_at`.
    ///
    /// # Errors
    /// [`AppError::LongName`], [`AppError::SamePrefix`].
    pub fn fetch(&mut self, fetch: Fetch, scheme: &dyn Scheme, starts_at: Time) -> Result<FlowId, AppError> {
        let names = (self.hashed(&fetch.prefix)?, self.hashed_hint(&fetch.hint)?);
        self.flows.add(fetch, names, scheme, starts_at, (self.hasher, self.seed))
    }

    /// A forwarding hint of these delegations; `None` if there are none.
    fn hashed_hint(&self, delegations: &[Name]) -> Result<Option<Hint>, AppError> {
        let hint = delegations.iter().map(|name| self.hashed(name)).collect::<Result<Hint, AppError>>()?;
        Ok(Some(hint).filter(|hint| !hint.is_empty()))
    }

    /// Drops a consumer. Its id may be that of another later.
    pub fn forget(&mut self, flow: FlowId) {
        self.flows.remove(flow);
    }

    /// A consumer, to look at.
    pub fn consumer(&self, flow: FlowId) -> Option<&Consumer> {
        self.flows.get(flow)
    }

    /// Has all consumers send no more; what is pending may still come.
    pub fn stop(&mut self) {
        self.flows.stop();
    }

    /// Has a consumer send no more until [`App::resume`]; what is pending may still come.
    pub fn pause(&mut self, flow: FlowId) {
        self.flows.pause(flow);
    }

    /// Has a consumer go on.
    pub fn resume(&mut self, flow: FlowId) {
        self.flows.resume(self.clock.now(), flow);
    }

    /// Changes how far a consumer may be ahead of its oldest missing segment: [`Fetch::reorder`].
    pub fn set_reorder(&mut self, flow: FlowId, segments: u64) {
        self.flows.set_reorder(self.clock.now(), flow, segments);
    }

    /// Changes the segment that a consumer ends before: [`Fetch::amount`]. `None` takes back an end that Data have said
    /// which are not to be believed: what a later one says counts.
    pub fn set_amount(&mut self, flow: FlowId, amount: Option<u64>) {
        self.flows.set_amount(self.clock.now(), flow, amount);
    }

    /// Changes how much a consumer wants.
    pub fn set_source(&mut self, flow: FlowId, source: Source) {
        self.flows.set_source(self.clock.now(), flow, source);
    }

    /// Pending Interests of all consumers.
    pub fn pending(&self) -> u64 {
        self.flows.all().map(|consumer| u64::from(consumer.pending())).sum()
    }

    /// Frames that the connection had no room for.
    pub fn refused(&self) -> u64 {
        self.io.connection.refused()
    }

    /// Whether the connection to the forwarder is there.
    pub fn is_connected(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// Expresses a single Interest; [`Event::Reply`] tells what became of it.
    pub fn express(&mut self, interest: SingleInterest) -> PendingId {
        self.pending.express(self.clock.now(), interest)
    }

    /// Wants no answer to a single Interest any more.
    pub fn cancel(&mut self, id: PendingId) {
        self.pending.cancel(id);
    }

    /// Expresses a single Interest, and runs until it is answered. Of everything else that happens meanwhile `each` is
    /// told, and it may give up: then the answer is `None`.
    ///
    /// # Errors
    /// As [`App::run`].
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

    /// Registers a prefix with the forwarder, and has its Interests answered from then on, also after the forwarder
    /// was away.
    ///
    /// # Errors
    /// The forwarder refuses, does not answer within 4 s, or the connection is gone.
    pub fn produce(&mut self, prefix: Name, answer: Box<dyn Serve>) -> Result<(), AppError> {
        let hashed = self.hashed(&prefix)?;
        // Before: Interests come as soon as it is registered.
        self.producers.add(prefix.clone(), &hashed, answer);
        let registered = self.register_now(&prefix);
        if registered.is_err() {
            self.producers.remove(&prefix);
            self.registrations.remove(&prefix, &mut self.pending);
        }
        registered
    }

    /// Registers a prefix, and waits for what becomes of it.
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

    /// Runs until `until`, or until `each` says that it is enough; what is there already has its turn in any case.
    ///
    /// # Errors
    /// Of the event loop. A connection that is lost is no error: [`Event::Disconnected`].
    pub fn run(&mut self, until: Time, each: &mut OnEvent<'_>) -> Result<(), AppError> {
        while self.turn(until, each)?.is_continue() && self.clock.now() < until {}
        // What it has no room for now is written in the next turn, or lost with the connection.
        let _ = self.io.connection.flush();
        Ok(())
    }

    /// One turn of the loop; a connection that breaks is noted.
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

    /// Waits for what comes, but not beyond what is due.
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

    /// Takes in what has come, and does what is due.
    ///
    /// In this order: who was away for a while, writing to a slow disk or without a processor, would else take for
    /// lost what lies in the socket.
    ///
    /// # Errors
    /// Of the connection.
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

    /// Takes in some of what has come.
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

    /// Has consumers do what was due, each thing at its own time, and sends the single Interests that are due.
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

    /// Hands a packet that came to whom it is for.
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
                    // Its buffer is shared, not copied.
                    let data = packet.clone();
                    return Ok(self.settle(now, id, Reply::Data(&data), each));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands a Data or a Nack to its consumer.
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
            // It came before. A single Interest may have asked for it again.
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

    /// A single Interest has come to its end: one of the application, or a command about a prefix.
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

    /// What the forwarder says to a command.
    fn registered(&self, reply: Reply<'_>) -> Result<(), ClientError> {
        let Reply::Data(data) = reply else {
            return Err(match reply {
                Reply::Nack(_) => ClientError::NoManagement(self.endpoint.clone()),
                _ => ClientError::Timeout(self.endpoint.clone(), span(registrations::TIMEOUT)),
            });
        };
        accepted(&data.wire).map(drop)
    }

    /// Waits until the connection is to be made again, and begins to.
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

    /// Waits until the connection that is being made is there: then everything is asked anew.
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
        // At once: who drops every connection must not have Interests wait for ever. What fails is noted in the next
        // turn.
        match self.run_due(each) {
            Ok(due) if flow.is_continue() => Ok(due),
            _ => Ok(flow),
        }
    }

    fn hashed(&self, name: &Name) -> Result<HashedName, AppError> {
        // A segment is appended to it.
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
