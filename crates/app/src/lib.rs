//! Applications on real sockets: consumers and producers behind one connection to a forwarder.
//!
//! The consumers are those of the core, with the scheme's flow control; here are only the clock, the socket and the
//! waiting. Nothing of it knows how many flows there are beforehand, and one thread serves all of them.
//!
//! ```text
//!   Consumer ..  ----Interests---->  Uplink  <--- socket --->  forwarder
//!   Answer   ..  <---Interests----
//! ```
//!
//! What is due is done as of the time when it was due, however late the host wakes us: so a paced flow keeps its
//! rate.

mod producers;
mod uplink;

use core::ops::ControlFlow;
use std::collections::BTreeMap;
use std::io;

use mio::{Events, Poll, Token};
use weir_core::consumer::{Consumer, ConsumerConfig, Delivery, Source};
use weir_core::deadline::Deadlines;
use weir_core::name::{HashedName, NameHasher};
use weir_core::packet::{Kind, Packet, PacketId};
use weir_core::random::Random;
use weir_core::scheme::{FlowConfig, Scheme};
use weir_core::units::{Bytes, Span, Time};
use weir_packet::{Data, Name, ServiceClass};

pub use producers::{Answer, Segments, TooLong};

use producers::Producers;
use uplink::Uplink;
use weir_management::client::{ClientError, Commands, Endpoint};
use weir_management::{ControlParameters, ControlResponse, Module};
use weir_net::clock::{Clock, Timer, random_seed};

const TIMER: Token = Token(0);
const UPLINK: Token = Token(1);

/// Frames that are taken in before what is due has its turn.
const FRAMES_A_TURN: usize = 64;
/// Who was not run for longer does not make up for all of it: its neighbours would get it at once.
const CATCH_UP: Span = Span::from_millis(100);
/// How long the forwarder has to answer a command.
const COMMAND_TIMEOUT: Span = Span::from_secs(4);

/// Why an application cannot go on.
#[derive(Debug)]
pub enum AppError {
    /// The forwarder cannot be reached, or does not do what it was asked.
    Forwarder(ClientError),
    /// The connection to it broke, or the event loop.
    Io(io::Error),
    /// A prefix with more components than a name may have.
    LongName(Name),
    /// Two consumers of one prefix: the forwarder sees one face, and could not tell their Interests apart.
    SamePrefix(Name),
}

impl core::fmt::Display for AppError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            AppError::Forwarder(error) => error.fmt(f),
            AppError::Io(error) => error.fmt(f),
            AppError::LongName(name) => write!(f, "{name} has too many components for a prefix"),
            AppError::SamePrefix(name) => {
                write!(f, "{name} is consumed already: a second consumer needs a connection of its own")
            }
        }
    }
}

impl std::error::Error for AppError {}

impl From<io::Error> for AppError {
    fn from(error: io::Error) -> AppError {
        AppError::Io(error)
    }
}

impl From<ClientError> for AppError {
    fn from(error: ClientError) -> AppError {
        AppError::Forwarder(error)
    }
}

/// What a consumer is to fetch.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The prefix; segment numbers are appended to it.
    pub prefix: Name,
    /// The service class of its Interests.
    pub class: ServiceClass,
    /// How many segments it wants; `None` for no end.
    pub amount: Option<u64>,
    /// How much the application wants.
    pub source: Source,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// Whether cached Data must be fresh.
    pub must_be_fresh: bool,
    /// Size of the Data to expect, on the wire; zero if it is not known.
    pub expected_size: Bytes,
}

/// A consumer's place among those of its application.
pub type FlowId = u32;

/// A consumer, and when it was last called: time never goes back for it.
struct Flow {
    consumer: Consumer,
    starts_at: Option<Time>,
    called_at: Time,
}

/// What is told of Data that came for the first time: the time, the consumer, the Data, and what it knows of it.
pub type OnDelivery<'a> = dyn FnMut(Time, FlowId, &Packet, &Delivery) -> ControlFlow<()> + 'a;

/// Consumers and producers behind one connection to a forwarder.
pub struct App {
    poll: Poll,
    events: Events,
    timer: Timer,
    clock: Clock,
    hasher: NameHasher,
    seed: u64,
    uplink: Uplink,
    /// The socket may have more to read.
    more: bool,
    flows: Vec<Flow>,
    by_prefix: BTreeMap<Vec<u8>, FlowId>,
    deadlines: Deadlines,
    producers: Producers,
    commands: Commands,
    /// The command that is on its way, and its answer.
    command: Option<Vec<u8>>,
    response: Option<ControlResponse>,
    endpoint: Endpoint,
}

impl App {
    /// Connects to a forwarder.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(endpoint: &Endpoint) -> Result<App, AppError> {
        let unreachable = |error| ClientError::Unreachable(endpoint.clone(), error);
        let poll = Poll::new()?;
        let timer = Timer::new(poll.registry(), TIMER)?;
        let seed = random_seed();
        let hasher = NameHasher::new(seed);
        let mut uplink = Uplink::connect(endpoint, hasher, seed).map_err(unreachable)?;
        uplink.register(poll.registry(), UPLINK)?;
        Ok(App {
            poll,
            events: Events::with_capacity(16),
            timer,
            clock: Clock::start(),
            hasher,
            seed,
            uplink,
            more: true,
            flows: Vec::new(),
            by_prefix: BTreeMap::new(),
            deadlines: Deadlines::new(0),
            producers: Producers::default(),
            commands: Commands::default(),
            command: None,
            response: None,
            endpoint: endpoint.clone(),
        })
    }

    /// The time since it was connected.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Adds a consumer that begins at `starts_at`.
    ///
    /// # Errors
    /// [`AppError::LongName`], [`AppError::SamePrefix`].
    pub fn fetch(&mut self, fetch: Fetch, scheme: &dyn Scheme, starts_at: Time) -> Result<FlowId, AppError> {
        let Fetch { prefix, class, amount, source, lifetime, must_be_fresh, expected_size } = fetch;
        let hashed = self.hashed(&prefix)?;
        let id = self.deadlines.len() as FlowId;
        if self.by_prefix.contains_key(hashed.wire()) {
            return Err(AppError::SamePrefix(prefix));
        }
        self.by_prefix.insert(hashed.wire().to_vec(), id);
        self.deadlines.push();
        let control = scheme.flow_control(&FlowConfig { class, expected_size, lifetime });
        let random = Random::named(self.seed, &format!("flow {prefix}"));
        let hasher = self.hasher;
        let config = ConsumerConfig {
            prefix: hashed,
            hasher,
            class,
            amount,
            source,
            lifetime,
            must_be_fresh,
            expected_size,
        };
        let consumer = Consumer::new(config, control, random);
        self.flows.push(Flow { consumer, starts_at: Some(starts_at), called_at: Time::ZERO });
        self.deadlines.set(id, starts_at);
        Ok(id)
    }

    /// A consumer, to look at.
    pub fn consumer(&self, flow: FlowId) -> Option<&Consumer> {
        self.flows.get(flow as usize).map(|flow| &flow.consumer)
    }

    /// Has all consumers send no more; what is pending may still come.
    pub fn stop(&mut self) {
        for (flow, id) in self.flows.iter_mut().zip(0..) {
            flow.consumer.stop();
            flow.starts_at = None;
            self.deadlines.set(id, flow.consumer.next_deadline());
        }
    }

    /// Pending Interests of all consumers.
    pub fn pending(&self) -> u64 {
        self.flows.iter().map(|flow| u64::from(flow.consumer.pending())).sum()
    }

    /// Frames that the connection had no room for.
    pub fn refused(&self) -> u64 {
        self.uplink.refused()
    }

    /// Registers a prefix with the forwarder, and has its Interests answered from then on.
    ///
    /// # Errors
    /// The forwarder refuses, or does not answer.
    pub fn produce(&mut self, prefix: Name, answer: Box<dyn Answer>) -> Result<(), AppError> {
        let hashed = self.hashed(&prefix)?;
        let parameters = ControlParameters { name: Some(prefix), ..ControlParameters::default() };
        let (name, wire) = self.commands.encode(Module::Rib, "register", &parameters, COMMAND_TIMEOUT)?;
        self.command = Some(name.value().to_vec());
        self.uplink.send_wire(self.clock.now(), &wire)?;
        let deadline = self.clock.now() + COMMAND_TIMEOUT;
        while self.command.is_some() {
            if self.clock.now() >= deadline {
                self.command = None;
                let waited = core::time::Duration::from_nanos(COMMAND_TIMEOUT.as_nanos());
                return Err(ClientError::Timeout(self.endpoint.clone(), waited).into());
            }
            let _ = self.turn(deadline, &mut |_, _, _, _| ControlFlow::Continue(()))?;
        }
        match self.response.take() {
            Some(response) if response.code == 200 => {}
            Some(response) => return Err(ClientError::Refused(Box::new(response)).into()),
            None => return Err(ClientError::NoManagement(self.endpoint.clone()).into()),
        }
        self.producers.add(&hashed, answer);
        Ok(())
    }

    /// Runs until `until`, or until `each` says that it is enough.
    ///
    /// # Errors
    /// The connection to the forwarder is lost.
    pub fn run(&mut self, until: Time, each: &mut OnDelivery<'_>) -> Result<(), AppError> {
        while self.clock.now() < until {
            if self.turn(until, each)?.is_break() {
                break;
            }
        }
        Ok(self.uplink.flush()?)
    }

    /// Sends what has gathered, waits for what comes, but not beyond `until`, and does what there is to do.
    fn turn(&mut self, until: Time, each: &mut OnDelivery<'_>) -> Result<ControlFlow<()>, AppError> {
        self.uplink.flush()?;
        let now = self.clock.now();
        let due = if self.more { now } else { self.deadlines.next().min(until) };
        let wait = self.timer.wait(now, due)?;
        match self.poll.poll(&mut self.events, wait) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            polled => polled?,
        }
        self.more |= self.events.iter().any(|event| event.token() == UPLINK);
        self.run_due(self.clock.now())?;
        if !self.more {
            return Ok(ControlFlow::Continue(()));
        }
        let mut received = Vec::new();
        self.more = self.uplink.receive(self.clock.now(), FRAMES_A_TURN, &mut received)?;
        let now = self.clock.now();
        let mut flow = ControlFlow::Continue(());
        for id in received {
            if self.take(now, id, each)?.is_break() {
                flow = ControlFlow::Break(());
            }
        }
        Ok(flow)
    }

    /// Has consumers do what was due until `now`, each thing at its own time.
    fn run_due(&mut self, now: Time) -> Result<(), AppError> {
        while let Some((due, id)) = self.deadlines.next_id().filter(|(due, _)| *due <= now) {
            let flow = &mut self.flows[id as usize];
            let at = due.max(flow.called_at).max(now - CATCH_UP);
            match flow.starts_at.take() {
                Some(_) => flow.consumer.start(at),
                None => flow.consumer.handle_deadline(at),
            }
            self.send_interests(at, id)?;
        }
        Ok(())
    }

    fn send_interests(&mut self, now: Time, id: FlowId) -> Result<(), AppError> {
        let flow = &mut self.flows[id as usize];
        flow.called_at = now;
        while let Some(interest) = flow.consumer.poll_send(now, &mut self.uplink.pool) {
            self.uplink.send_interest(now, interest)?;
        }
        let next =
            if flow.starts_at.is_some() { self.deadlines.get(id) } else { flow.consumer.next_deadline() };
        self.deadlines.set(id, next);
        Ok(())
    }

    /// A packet came.
    fn take(
        &mut self,
        now: Time,
        id: PacketId,
        each: &mut OnDelivery<'_>,
    ) -> Result<ControlFlow<()>, AppError> {
        let packet = &self.uplink.pool[id];
        let mut flow = ControlFlow::Continue(());
        if packet.kind == Kind::Interest {
            if let Some(answer) = self.producers.of(&packet.name) {
                self.uplink.answer(now, id, answer)?;
            }
        } else if self.command.as_ref().is_some_and(|command| packet.name.wire().starts_with(command)) {
            self.command = None;
            let data = Data::decode(&packet.wire).ok();
            self.response = data.and_then(|data| ControlResponse::decode(data.payload()).ok());
        } else if let Some(&consumer) = self.by_prefix.get(parent(packet)) {
            flow = self.hand_over(now, consumer, id, each)?;
        }
        self.uplink.pool.free(id);
        Ok(flow)
    }

    /// Hands a Data or a Nack to its consumer.
    fn hand_over(
        &mut self,
        now: Time,
        consumer: FlowId,
        id: PacketId,
        each: &mut OnDelivery<'_>,
    ) -> Result<ControlFlow<()>, AppError> {
        let Flow { consumer: of, called_at, .. } = &mut self.flows[consumer as usize];
        let (now, packet) = (now.max(*called_at), &self.uplink.pool[id]);
        let mut flow = ControlFlow::Continue(());
        if packet.kind == Kind::Nack {
            of.handle_nack(now, packet);
        } else if let Some(delivery) = of.handle_data(now, packet) {
            flow = each(now, consumer, packet, &delivery);
        }
        self.send_interests(now, consumer)?;
        Ok(flow)
    }

    fn hashed(&self, name: &Name) -> Result<HashedName, AppError> {
        // A segment is appended to it.
        let longest = name.clone().with_segment(u64::MAX);
        let fits = HashedName::parse(&self.hasher, longest.value()).is_ok();
        let hashed = HashedName::parse(&self.hasher, name.value()).ok().filter(|_| fits);
        hashed.ok_or_else(|| AppError::LongName(name.clone()))
    }
}

/// A name without its last component.
fn parent(packet: &Packet) -> &[u8] {
    packet.name.prefix_wire(packet.name.len().saturating_sub(1))
}

impl core::fmt::Debug for App {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("App")
            .field("endpoint", &self.endpoint)
            .field("flows", &self.flows.len())
            .finish_non_exhaustive()
    }
}
