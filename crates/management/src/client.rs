//! A client of the NFD management protocol: commands and datasets, one at a time, with a timeout. It works with any
//! forwarder that implements the protocol.
//!
//! Applications use its [`Connection`] and [`Commands`] too; they have many Interests pending at a time.

mod commands;
mod connection;
mod endpoint;

use std::io;
use std::time::Duration;

use mio::{Events, Poll, Token};
use weir_core::units::Span;
use weir_net::clock::Clock;
use weir_packet::{Component, ContentType, Data, Interest, LpHeader, MAX_PACKET_SIZE, Name};

pub use commands::{Commands, accepted};
pub use connection::Connection;
pub use endpoint::{DEFAULT_SOCKET, Endpoint, TRANSPORT_VARIABLE};

use commands::{verb_name, verified};

use crate::dataset::{
    FaceQueryFilter, ListedFace, RibStatus, decode_channels, decode_cs_info, decode_faces, decode_fib,
    decode_general, decode_rib, decode_strategy_choices,
};
use crate::overview::{self, Overview};
use crate::status::{CsInfo, FibStatus, GeneralStatus, StrategyStatus};
use crate::{ControlParameters, ControlResponse, Malformed, Module};

const CONNECTION: Token = Token(0);
/// Maximum number of frames read at once.
const FRAMES_A_TURN: usize = 64;
/// Maximum length of a dataset, bytes, so that a forwarder cannot fill the client's memory. Assumed: a million routes.
const MAX_DATASET: usize = 64 << 20;
/// Maximum number of segments of a dataset. It is needed because segments may be empty.
const MAX_SEGMENTS: u64 = 1 << 17;

/// The reason why a command or dataset failed.
#[derive(Debug)]
pub enum ClientError {
    /// A client cannot connect to this address.
    BadEndpoint {
        /// The given address.
        text: String,
        /// The source of the address: the environment variable, or the file and its line.
        from: Option<String>,
    },
    /// No forwarder listens on this address.
    Unreachable(Endpoint, io::Error),
    /// The forwarder did not answer in time.
    Timeout(Endpoint, Duration),
    /// The connection broke.
    Broken(Endpoint, io::Error),
    /// The forwarder answered with a Nack: it has no management.
    NoManagement(Endpoint),
    /// The forwarder refused the command and gave a reason.
    Refused(Box<ControlResponse>),
    /// The command does not fit in a packet.
    TooLong,
    /// The answer violates the protocol.
    BadReply(String),
}

impl core::fmt::Display for ClientError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            ClientError::BadEndpoint { text, from } => {
                if let Some(from) = from {
                    write!(f, "{from}: ")?;
                }
                write!(
                    f,
                    "cannot connect to {text:?}: wanted unix:///path, tcp://host:port, tcp4://… or tcp6://…"
                )
            }
            ClientError::Unreachable(endpoint, error) => {
                // The error of a connection begins with its address already.
                let (text, begin) = (error.to_string(), format!("cannot connect to {endpoint}: "));
                let why = text.strip_prefix(&begin).unwrap_or(&text);
                write!(f, "no forwarder can be reached at {endpoint}: {why}")
            }
            ClientError::Timeout(endpoint, after) => {
                write!(f, "the forwarder at {endpoint} did not answer within {after:?}")
            }
            ClientError::Broken(endpoint, error) => {
                write!(f, "the connection to the forwarder at {endpoint} broke: {error}")
            }
            ClientError::NoManagement(endpoint) => {
                write!(f, "the forwarder at {endpoint} offers no management to this client")
            }
            ClientError::Refused(response) => {
                write!(f, "the forwarder says: {} (code {})", response.text, response.code)
            }
            ClientError::TooLong => {
                write!(f, "the command is longer than a packet of {MAX_PACKET_SIZE} bytes")
            }
            ClientError::BadReply(why) => write!(f, "the forwarder's answer is not valid: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<Malformed> for ClientError {
    fn from(error: Malformed) -> ClientError {
        ClientError::BadReply(error.to_string())
    }
}

/// A client that manages a forwarder.
pub struct Client {
    endpoint: Endpoint,
    connection: Connection,
    poll: Poll,
    events: Events,
    clock: Clock,
    /// Timeout of connecting and of each answer.
    timeout: Duration,
    /// Maximum age of the last dataset.
    freshness: Duration,
    commands: Commands,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Client({})", self.endpoint)
    }
}

impl Client {
    /// Connects to a forwarder. `timeout` applies to connecting and to each answer.
    ///
    /// # Errors
    /// Returns [`ClientError::Unreachable`] if no forwarder listens there.
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Client, ClientError> {
        let unreachable = |error| ClientError::Unreachable(endpoint.clone(), error);
        let mut poll = Poll::new().map_err(unreachable)?;
        let connection =
            Connection::connect(endpoint, &mut poll, CONNECTION, span_of(timeout)).map_err(unreachable)?;
        Ok(Client {
            endpoint: endpoint.clone(),
            connection,
            poll,
            events: Events::with_capacity(4),
            clock: Clock::start(),
            timeout,
            freshness: Duration::ZERO,
            commands: Commands::default(),
        })
    }

    /// The forwarder's address.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Maximum age of the last dataset. A forwarder answers from its content store while a dataset is fresh. NFD's
    /// datasets are fresh for a second, so a dataset may lack the effect of a command just before it.
    pub const fn dataset_age(&self) -> Duration {
        self.freshness
    }

    /// Sends a command, signed with a digest. Returns the parameters of the response.
    ///
    /// # Errors
    /// Returns any error except [`ClientError::Unreachable`]; [`ClientError::Refused`] for every code other than 200.
    pub fn command(
        &mut self,
        module: Module,
        verb: &str,
        parameters: &ControlParameters,
    ) -> Result<ControlParameters, ClientError> {
        let (_, wire) = self.commands.encode(module, verb, parameters, span_of(self.timeout))?;
        let reply = self.exchange(&wire)?;
        accepted(&reply)
    }

    /// The forwarder's faces, in ascending order of their numbers, with counters.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn faces(&mut self) -> Result<Vec<ListedFace>, ClientError> {
        Ok(decode_faces(&self.dataset(&verb_name(Module::Faces, "list"))?)?)
    }

    /// The faces that match a filter.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn query_faces(&mut self, filter: &FaceQueryFilter) -> Result<Vec<ListedFace>, ClientError> {
        let mut component = Vec::new();
        filter.encode(&mut component);
        let name = verb_name(Module::Faces, "query").with(Component::generic(&component));
        Ok(decode_faces(&self.dataset(&name)?)?)
    }

    /// The local URIs of the forwarder's listeners.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn channels(&mut self) -> Result<Vec<String>, ClientError> {
        Ok(decode_channels(&self.dataset(&verb_name(Module::Faces, "channels"))?)?)
    }

    /// The RIB: each prefix with its routes of all origins.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn rib(&mut self) -> Result<Vec<RibStatus>, ClientError> {
        Ok(decode_rib(&self.dataset(&verb_name(Module::Rib, "list"))?)?)
    }

    /// The FIB: each prefix with its next hops and their costs.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn fib(&mut self) -> Result<Vec<FibStatus>, ClientError> {
        Ok(decode_fib(&self.dataset(&verb_name(Module::Fib, "list"))?)?)
    }

    /// The strategy choices, by prefix.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn strategies(&mut self) -> Result<Vec<StrategyStatus>, ClientError> {
        Ok(decode_strategy_choices(&self.dataset(&verb_name(Module::StrategyChoice, "list"))?)?)
    }

    /// Size, settings and hits of the content store.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn cs_info(&mut self) -> Result<CsInfo, ClientError> {
        Ok(decode_cs_info(&self.dataset(&verb_name(Module::Cs, "info"))?)?)
    }

    /// The general status of the forwarder.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn general(&mut self) -> Result<GeneralStatus, ClientError> {
        Ok(decode_general(&self.dataset(&verb_name(Module::Status, "general"))?)?)
    }

    /// The overview of a forwarder; `None` if it has none, as forwarders other than Weir.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn overview(&mut self) -> Result<Option<Overview>, ClientError> {
        match self.dataset(&verb_name(Module::Status, overview::VERB)) {
            Ok(json) => serde_json::from_slice(&json)
                .map(Some)
                .map_err(|error| ClientError::BadReply(format!("the overview is not understood: {error}"))),
            Err(ClientError::NoManagement(_)) => Ok(None),
            Err(ClientError::Refused(response)) if matches!(response.code, 404 | 501) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The content of a dataset: all its segments.
    ///
    /// # Errors
    /// Returns the errors of [`Client::command`].
    pub fn dataset(&mut self, name: &Name) -> Result<Vec<u8>, ClientError> {
        let interest = Interest { can_be_prefix: true, must_be_fresh: true, ..self.interest(name) };
        let mut reply = self.exchange(&interest.to_vec())?;
        let (mut content, mut next) = (Vec::new(), 0);
        loop {
            let data = verified(&reply)?;
            // A Data with exactly this name is a refusal.
            if data.name == *name || data.content_type() == ContentType::Nack {
                let response = ControlResponse::decode(data.payload())?;
                return Err(ClientError::Refused(Box::new(response)));
            }
            let bad = |why: &str| ClientError::BadReply(format!("{}: {why}", data.name));
            self.freshness = Duration::from_millis(data.freshness_period_ms());
            let number = data.name.last().and_then(|last| last.segment());
            let number = number.ok_or_else(|| bad("no segment number"))?;
            if number == next {
                content.extend_from_slice(data.payload());
                if data.is_final_block() {
                    return Ok(content);
                }
                next += 1;
            } else if next != 0 || number == 0 {
                return Err(bad("it is not the requested segment"));
            }
            if next >= MAX_SEGMENTS || content.len() > MAX_DATASET {
                return Err(bad("the dataset has no end"));
            }
            let name = data.name.parent().to_name().with_segment(next);
            let interest = self.interest(&name).to_vec();
            reply = self.exchange(&interest)?;
        }
    }

    fn interest<'a>(&mut self, name: &'a Name) -> Interest<'a> {
        self.commands.interest(name, span_of(self.timeout))
    }

    /// Sends an Interest and waits for its Data.
    fn exchange(&mut self, interest: &[u8]) -> Result<Vec<u8>, ClientError> {
        let name = Interest::decode(interest).map_err(Malformed::from)?.name.to_name();
        let endpoint = self.endpoint.clone();
        match self.await_reply(interest, &name) {
            Ok(Reply::Data(data)) => Ok(data),
            Ok(Reply::Nack) => Err(ClientError::NoManagement(endpoint)),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    ClientError::Timeout(endpoint, self.timeout)
                }
                io::ErrorKind::InvalidData => ClientError::BadReply(error.to_string()),
                _ => ClientError::Broken(endpoint, error),
            }),
        }
    }

    fn await_reply(&mut self, interest: &[u8], name: &Name) -> io::Result<Reply> {
        let until = self.clock.now() + span_of(self.timeout);
        self.connection.send(self.clock.now(), &LpHeader::NONE, interest)?;
        loop {
            let mut reply = None;
            let received = self.connection.receive(self.clock.now(), FRAMES_A_TURN, &mut |header, packet| {
                if reply.is_none() {
                    reply = Reply::of(name, header, packet);
                }
            });
            if let Some(reply) = reply {
                return Ok(reply);
            }
            let (more, left) = (received?, until.since(self.clock.now()));
            let in_time = if more { left > Span::ZERO } else { self.wait(left)? };
            if !in_time {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn wait(&mut self, left: Span) -> io::Result<bool> {
        connection::wait(&mut self.poll, &mut self.events, left)
    }
}

fn span_of(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos().try_into().unwrap_or(u64::MAX))
}

/// The answer to an Interest.
enum Reply {
    Data(Vec<u8>),
    Nack,
}

impl Reply {
    /// Returns the reply to the Interest with this name, or `None` for other packets.
    fn of(name: &Name, header: &LpHeader, packet: &[u8]) -> Option<Reply> {
        if header.nack().is_some() {
            return (Interest::decode(packet).ok()?.name == *name).then_some(Reply::Nack);
        }
        let data = Data::decode(packet).ok()?;
        data.name.starts_with(name.view()).then(|| Reply::Data(packet.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_at_home_is_an_error_that_says_where() {
        let endpoint = Endpoint::Unix("/nowhere/nfd.sock".into());
        let error = Client::connect(&endpoint, Duration::from_secs(1)).unwrap_err().to_string();
        let begin = "no forwarder can be reached at unix:///nowhere/nfd.sock: nothing listens there";
        assert!(error.starts_with(begin), "{error}");
    }
}
