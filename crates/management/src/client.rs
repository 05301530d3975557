//! A client of the NFD management protocol: commands and datasets over a Unix or TCP stream, one at a
//! time, with a timeout. It speaks to any forwarder that speaks the protocol.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use weir_core::units::Span;
use weir_packet::tlv::stream_frame_len;
use weir_packet::{
    Component, ContentType, Data, Interest, MAX_PACKET_SIZE, Name, NetPacket, Payload, SignatureInfo,
    SignatureType, Signer, Verifier, decode_frame,
};

use crate::dataset::{
    FaceQueryFilter, ListedFace, RibStatus, decode_channels, decode_cs_info, decode_faces, decode_fib,
    decode_general, decode_rib, decode_strategy_choices,
};
use crate::status::{CsInfo, FibStatus, GeneralStatus, StrategyStatus};
use crate::{ControlParameters, ControlResponse, Malformed, Module};
use weir_net::clock::wall_ms;

/// The variable that says where the forwarder is.
pub const TRANSPORT_VARIABLE: &str = "NDN_CLIENT_TRANSPORT";
/// Where forwarders listen by default.
pub const DEFAULT_SOCKET: &str = "/run/nfd/nfd.sock";
/// Where they listen on some systems.
const OTHER_SOCKET: &str = "/run/nfd.sock";
const DEFAULT_PORT: u16 = 6363;
/// The longest dataset, bytes: what a forwarder says is not to fill this machine. Assumed: a million routes.
const MAX_DATASET: usize = 64 << 20;
/// Segments of one dataset at most: they may be empty.
const MAX_SEGMENTS: u64 = 1 << 17;

/// Where a forwarder listens for applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix stream socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
        /// Only IPv4 (4) or only IPv6 (6), if it matters.
        version: Option<u8>,
    },
}

impl core::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix://{}", path.display()),
            Endpoint::Tcp { host, port, version } => {
                let version = version.map(|version| version.to_string()).unwrap_or_default();
                let (open, close) = if host.contains(':') { ("[", "]") } else { ("", "") };
                write!(f, "tcp{version}://{open}{host}{close}:{port}")
            }
        }
    }
}

/// Reads `unix:///path`, `tcp://host:port`, `tcp4://…` or `tcp6://…`; the port is 6363 if none is given.
impl FromStr for Endpoint {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Endpoint, ClientError> {
        let bad = || ClientError::BadEndpoint { text: text.to_owned(), from: None };
        let (scheme, rest) = text.split_once("://").ok_or_else(bad)?;
        let version = match scheme {
            "unix" if !rest.is_empty() => return Ok(Endpoint::Unix(PathBuf::from(rest))),
            "tcp" => None,
            "tcp4" => Some(4),
            "tcp6" => Some(6),
            _ => return Err(bad()),
        };
        let rest = rest.trim_end_matches('/');
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(bad)?)),
            None => rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(DEFAULT_PORT), |port| port.parse().map_err(|_| bad()))?;
        if host.is_empty() {
            return Err(bad());
        }
        Ok(Endpoint::Tcp { host: host.to_owned(), port, version })
    }
}

impl Endpoint {
    /// Where clients look: what `NDN_CLIENT_TRANSPORT` says, or else `transport` in `~/.ndn/client.conf`,
    /// `/usr/local/etc/ndn/client.conf` or `/etc/ndn/client.conf`, or else the usual Unix socket.
    ///
    /// # Errors
    /// [`ClientError::BadEndpoint`]: what is said there cannot be reached in this way.
    pub fn of_environment() -> Result<Endpoint, ClientError> {
        if let Some(text) = std::env::var(TRANSPORT_VARIABLE).ok().filter(|text| !text.is_empty()) {
            return told(&text, TRANSPORT_VARIABLE.to_owned());
        }
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".ndn/client.conf"));
        let system = ["/usr/local/etc/ndn/client.conf", "/etc/ndn/client.conf"].map(PathBuf::from);
        for path in home.into_iter().chain(system) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if let Some((line, value)) = configured(&text) {
                return told(value, format!("{}, line {line}", path.display()));
            }
        }
        let is_elsewhere = !Path::new(DEFAULT_SOCKET).exists() && Path::new(OTHER_SOCKET).exists();
        Ok(Endpoint::Unix(PathBuf::from(if is_elsewhere { OTHER_SOCKET } else { DEFAULT_SOCKET })))
    }

    /// The addresses of a TCP endpoint, of which a host may have several; a Unix socket has none.
    ///
    /// # Errors
    /// The host is not known, or has no address of the version that is wanted.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let Endpoint::Tcp { host, port, version } = self else { return Ok(Vec::new()) };
        let is_wanted = |address: &SocketAddr| match version {
            Some(4) => address.is_ipv4(),
            Some(_) => address.is_ipv6(),
            None => true,
        };
        let found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.filter(is_wanted).collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the host has no such address"));
        }
        Ok(found)
    }

    fn connect(&self, timeout: Duration) -> io::Result<Stream> {
        if let Endpoint::Unix(path) = self {
            return UnixStream::connect(path).map(Stream::Unix);
        }
        let mut last = io::ErrorKind::NotFound.into();
        for address in self.addresses()? {
            match TcpStream::connect_timeout(&address, timeout) {
                Ok(stream) => return Ok(Stream::Tcp(stream)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn told(text: &str, from: String) -> Result<Endpoint, ClientError> {
    text.parse().map_err(|_| ClientError::BadEndpoint { text: text.to_owned(), from: Some(from) })
}

/// The `transport` of a client.conf, and its line: `key=value`, `;` begins a comment.
fn configured(text: &str) -> Option<(usize, &str)> {
    text.lines().zip(1..).find_map(|(line, number)| {
        let (key, value) = line.split(';').next()?.split_once('=')?;
        let value = value.trim();
        (key.trim() == "transport" && !value.is_empty()).then_some((number, value))
    })
}

/// Why the forwarder did not do what it was asked.
#[derive(Debug)]
pub enum ClientError {
    /// This is no place that a client can connect to.
    BadEndpoint {
        /// What was said.
        text: String,
        /// Where.
        from: Option<String>,
    },
    /// Nobody listens there.
    Unreachable(Endpoint, io::Error),
    /// No answer came in time.
    Timeout(Endpoint, Duration),
    /// The connection broke.
    Broken(Endpoint, io::Error),
    /// The forwarder has nobody who answers.
    NoManagement(Endpoint),
    /// The forwarder says why not.
    Refused(Box<ControlResponse>),
    /// The command does not fit in a packet.
    TooLong,
    /// The answer is not what the protocol says.
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
                write!(f, "no forwarder can be reached at {endpoint}: {error}")
            }
            ClientError::Timeout(endpoint, after) => {
                write!(f, "the forwarder at {endpoint} did not answer within {after:?}")
            }
            ClientError::Broken(endpoint, error) => {
                write!(f, "the connection to the forwarder at {endpoint} broke: {error}")
            }
            ClientError::NoManagement(endpoint) => {
                write!(f, "the forwarder at {endpoint} has no management that this client may use")
            }
            ClientError::Refused(response) => {
                write!(f, "the forwarder says: {} (code {})", response.text, response.code)
            }
            ClientError::TooLong => {
                write!(f, "the command is longer than a packet of {MAX_PACKET_SIZE} bytes")
            }
            ClientError::BadReply(why) => write!(f, "the forwarder's answer is not understood: {why}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl From<Malformed> for ClientError {
    fn from(error: Malformed) -> ClientError {
        ClientError::BadReply(error.to_string())
    }
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    /// Waits at most so long when reading and writing.
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.write_all(bytes),
            Stream::Tcp(stream) => stream.write_all(bytes),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// A clock that is so far behind was set back, and not by an adjustment. Assumed: well within the 120 s that forwarders
/// permit (NFD, ndn-cxx's ValidationPolicyCommandInterest).
const SET_BACK_MS: u64 = 10_000;

/// Makes commands, each with a nonce and a time of its own.
#[derive(Debug, Default)]
pub struct Commands {
    /// Keys that are random in every process: nonces have to differ, not to be secret.
    nonces: RandomState,
    count: u64,
    last_ms: u64,
}

impl Commands {
    /// A command's name, and the Interest, signed with a digest.
    ///
    /// # Errors
    /// [`ClientError::TooLong`].
    pub fn encode(
        &mut self,
        module: Module,
        verb: &str,
        parameters: &ControlParameters,
        lifetime: Span,
    ) -> Result<(Name, Vec<u8>), ClientError> {
        let mut component = Vec::new();
        parameters.encode(&mut component);
        let name = verb_name(module, verb).with(Component::generic(&component));
        let nonce = self.nonce().to_be_bytes();
        self.last_ms = time_of_next(wall_ms(), self.last_ms);
        let info = SignatureInfo {
            nonce: Some(&nonce),
            time_ms: Some(self.last_ms),
            ..SignatureInfo::new(SignatureType::DigestSha256)
        };
        let interest = Interest { must_be_fresh: true, ..self.interest(&name, lifetime) };
        let mut wire = Vec::new();
        interest.sign(&Signer::digest(), info, &mut wire).map_err(|_| ClientError::TooLong)?;
        Ok((name, wire))
    }

    fn interest<'a>(&mut self, name: &'a Name, lifetime: Span) -> Interest<'a> {
        Interest {
            nonce: Some(self.nonce() as u32),
            lifetime: Some(lifetime.as_nanos() / 1_000_000),
            ..Interest::new(name.view())
        }
    }

    fn nonce(&mut self) -> u64 {
        self.count += 1;
        let mut hasher = self.nonces.build_hasher();
        hasher.write_u64(self.count);
        hasher.finish()
    }
}

/// The time of a command behind another, ms since 1970: later, so that none seems to be the one before it. Unless the
/// clock was set back: forwarders refuse times that are far from their own.
fn time_of_next(now_ms: u64, last_ms: u64) -> u64 {
    let next = now_ms.max(last_ms + 1);
    if next - now_ms > SET_BACK_MS { now_ms } else { next }
}

fn span_of(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos().try_into().unwrap_or(u64::MAX))
}

/// What an Interest was answered with.
enum Reply {
    Data(Vec<u8>),
    Nack,
}

/// A connection to a forwarder.
pub struct Client {
    endpoint: Endpoint,
    stream: Stream,
    timeout: Duration,
    /// Bytes that are no whole frame yet.
    received: Vec<u8>,
    commands: Commands,
}

impl core::fmt::Debug for Client {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Client({})", self.endpoint)
    }
}

impl Client {
    /// Connects. `timeout` is for the connection and for every answer.
    ///
    /// # Errors
    /// [`ClientError::Unreachable`].
    pub fn connect(endpoint: &Endpoint, timeout: Duration) -> Result<Client, ClientError> {
        let unreachable = |error| ClientError::Unreachable(endpoint.clone(), error);
        let stream = endpoint.connect(timeout).map_err(unreachable)?;
        Ok(Client {
            endpoint: endpoint.clone(),
            stream,
            timeout,
            received: Vec::new(),
            commands: Commands::default(),
        })
    }

    /// Where it is connected to.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Gives a command, signed with a digest; what the forwarder says holds now.
    ///
    /// # Errors
    /// All but [`ClientError::Unreachable`]; [`ClientError::Refused`] for every code but 200.
    pub fn command(
        &mut self,
        module: Module,
        verb: &str,
        parameters: &ControlParameters,
    ) -> Result<ControlParameters, ClientError> {
        let (_, wire) = self.commands.encode(module, verb, parameters, span_of(self.timeout))?;
        let reply = self.exchange(&wire)?;
        let response = ControlResponse::decode(data(&reply)?.payload())?;
        match response.code {
            200 => Ok(response.body.unwrap_or_default()),
            _ => Err(ClientError::Refused(Box::new(response))),
        }
    }

    /// All faces.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn faces(&mut self) -> Result<Vec<ListedFace>, ClientError> {
        Ok(decode_faces(&self.dataset(&verb_name(Module::Faces, "list"))?)?)
    }

    /// The faces that match a filter.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn query_faces(&mut self, filter: &FaceQueryFilter) -> Result<Vec<ListedFace>, ClientError> {
        let mut component = Vec::new();
        filter.encode(&mut component);
        let name = verb_name(Module::Faces, "query").with(Component::generic(&component));
        Ok(decode_faces(&self.dataset(&name)?)?)
    }

    /// Local URIs of what listens for new faces.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn channels(&mut self) -> Result<Vec<String>, ClientError> {
        Ok(decode_channels(&self.dataset(&verb_name(Module::Faces, "channels"))?)?)
    }

    /// All routes.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn rib(&mut self) -> Result<Vec<RibStatus>, ClientError> {
        Ok(decode_rib(&self.dataset(&verb_name(Module::Rib, "list"))?)?)
    }

    /// The FIB.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn fib(&mut self) -> Result<Vec<FibStatus>, ClientError> {
        Ok(decode_fib(&self.dataset(&verb_name(Module::Fib, "list"))?)?)
    }

    /// The strategies that are chosen.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn strategies(&mut self) -> Result<Vec<StrategyStatus>, ClientError> {
        Ok(decode_strategy_choices(&self.dataset(&verb_name(Module::StrategyChoice, "list"))?)?)
    }

    /// The content store.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn cs_info(&mut self) -> Result<CsInfo, ClientError> {
        Ok(decode_cs_info(&self.dataset(&verb_name(Module::Cs, "info"))?)?)
    }

    /// The forwarder as a whole.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn general(&mut self) -> Result<GeneralStatus, ClientError> {
        Ok(decode_general(&self.dataset(&verb_name(Module::Status, "general"))?)?)
    }

    /// The content of a dataset, all segments of it.
    ///
    /// # Errors
    /// Those of [`Client::command`].
    pub fn dataset(&mut self, name: &Name) -> Result<Vec<u8>, ClientError> {
        let interest = Interest { can_be_prefix: true, must_be_fresh: true, ..self.interest(name) };
        let mut reply = self.exchange(&interest.to_vec())?;
        let (mut content, mut next) = (Vec::new(), 0);
        loop {
            let data = data(&reply)?;
            // An answer by the very name is a refusal.
            if data.name == *name || data.content_type() == ContentType::Nack {
                let response = ControlResponse::decode(data.payload())?;
                return Err(ClientError::Refused(Box::new(response)));
            }
            let bad = |why: &str| ClientError::BadReply(format!("{}: {why}", data.name));
            let number = data.name.last().and_then(|last| last.segment());
            let number = number.ok_or_else(|| bad("no segment number"))?;
            if number == next {
                content.extend_from_slice(data.payload());
                if data.is_final_block() {
                    return Ok(content);
                }
                next += 1;
            } else if next != 0 || number == 0 {
                return Err(bad("another segment was asked for"));
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
        let deadline = now() + self.timeout;
        let endpoint = self.endpoint.clone();
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ClientError::Timeout(endpoint.clone(), self.timeout)
            }
            _ => ClientError::Broken(endpoint.clone(), error),
        };
        let (stream, received) = (&mut self.stream, &mut self.received);
        stream.set_timeout(self.timeout).and_then(|()| stream.write_all(interest)).map_err(&failed)?;
        let name = Interest::decode(interest).map(|interest| interest.name).map_err(Malformed::from)?;
        let mut buffer = vec![0; MAX_PACKET_SIZE];
        loop {
            match take_reply(received, &name.to_name())? {
                Some(Reply::Data(data)) => return Ok(data),
                Some(Reply::Nack) => return Err(ClientError::NoManagement(endpoint)),
                None => {}
            }
            let left = deadline.saturating_duration_since(now());
            if left.is_zero() {
                return Err(failed(io::ErrorKind::TimedOut.into()));
            }
            let read = stream.set_timeout(left).and_then(|()| stream.read(&mut buffer));
            match read.map_err(&failed)? {
                0 => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
                read => received.extend_from_slice(&buffer[..read]),
            }
        }
    }
}

/// Takes whole frames until one answers the Interest with this name; others are none of ours.
fn take_reply(received: &mut Vec<u8>, name: &Name) -> Result<Option<Reply>, ClientError> {
    loop {
        let len = stream_frame_len(received).map_err(Malformed::from)?;
        let Some(len) = len.filter(|len| *len <= received.len()) else { return Ok(None) };
        let frame: Vec<u8> = received.drain(..len).collect();
        let Ok((packet, payload)) = decode_frame(&frame) else { continue };
        let found = match payload {
            Payload::Packet(NetPacket::Data(data)) if data.name.starts_with(name.view()) => {
                packet.fragment.map(|data| Reply::Data(data.to_vec()))
            }
            Payload::Packet(NetPacket::Nack(_, interest)) if interest.name == *name => Some(Reply::Nack),
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
}

/// The Data of a reply: if it has a digest, the right one.
fn data(wire: &[u8]) -> Result<Data<'_>, ClientError> {
    let data = Data::decode(wire).map_err(Malformed::from)?;
    if data.signature.info.typ == SignatureType::DigestSha256 {
        Verifier::digest().verify_data(wire).map_err(|error| ClientError::BadReply(error.to_string()))?;
    }
    Ok(data)
}

fn verb_name(module: Module, verb: &str) -> Name {
    let parts = ["localhost", "nfd", module.name(), verb];
    parts.iter().fold(Name::new(), |name, part| name.with(Component::generic(part.as_bytes())))
}

#[expect(clippy::disallowed_methods, reason = "a client waits by the clock")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_commands_increase_unless_the_clock_is_set_back() {
        let now = 1_795_315_881_501;
        assert_eq!(time_of_next(now, 0), now);
        assert_eq!(time_of_next(now, now), now + 1);
        assert_eq!(time_of_next(now - 5000, now), now + 1);
        assert_eq!(time_of_next(now - 3_600_000, now), now - 3_600_000);
        assert_eq!(time_of_next(now - 3_600_000, now - 3_600_000), now - 3_599_999);
    }

    #[test]
    fn an_endpoint_is_read_and_written_as_a_uri() {
        for (text, canonical) in [
            ("unix:///run/nfd/nfd.sock", "unix:///run/nfd/nfd.sock"),
            ("unix://run/nfd.sock", "unix://run/nfd.sock"),
            ("tcp://host", "tcp://host:6363"),
            ("tcp4://127.0.0.1:7000", "tcp4://127.0.0.1:7000"),
            ("tcp6://[::1]:7000/", "tcp6://[::1]:7000"),
            ("tcp://[::1]", "tcp://[::1]:6363"),
        ] {
            assert_eq!(text.parse::<Endpoint>().unwrap().to_string(), canonical);
        }
        for text in ["", "/run/nfd.sock", "udp://host:1", "unix://", "tcp://", "tcp://host:x", "tcp://[::1]x"]
        {
            let error = text.parse::<Endpoint>().unwrap_err().to_string();
            assert!(error.contains("wanted unix:///path"), "{error}");
        }
    }

    #[test]
    fn the_transport_is_found_in_a_client_configuration() {
        let text = "; transport=unix:///no\npib=sqlite\n transport = tcp://10.0.0.1 ; here\ntransport=x";
        assert_eq!(configured(text), Some((3, "tcp://10.0.0.1")));
        assert_eq!(configured("transport=\npib=x"), None);
        let error = told("carrier://pigeon", "client.conf, line 3".to_owned()).unwrap_err().to_string();
        assert!(error.starts_with("client.conf, line 3: cannot connect to \"carrier://pigeon\""), "{error}");
    }

    #[test]
    fn nobody_at_home_is_an_error_that_says_where() {
        let endpoint = Endpoint::Unix("/nowhere/nfd.sock".into());
        let error = Client::connect(&endpoint, Duration::from_secs(1)).unwrap_err().to_string();
        assert!(error.starts_with("no forwarder can be reached at unix:///nowhere/nfd.sock"), "{error}");
    }
}
