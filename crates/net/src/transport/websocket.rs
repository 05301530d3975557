//! Faces over WebSocket (RFC 6455), for browsers: each binary message is a frame.
//!
//! ```text
//!   server:  accept -> handshake, in the listener -> open
//!   client:  connect, handshake -> open
//! ```
//!
//! Like NFD, the server ignores the path of a request. A text message ends the face. The last ping is answered.
//!
//! A browser runs pages of other hosts, and connects from this host for all of them. It reports the page's origin
//! (`Origin`). Only pages of this host count as local applications; all others are neighbours.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use mio::event::Source;
use mio::net::TcpStream;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use tungstenite::error::ProtocolError;
use tungstenite::handshake::client::ClientHandshake;
use tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response, ServerHandshake};
use tungstenite::handshake::{HandshakeError, MidHandshake};
use tungstenite::http::{HeaderValue, Uri, header};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};
use weir_packet::MAX_PACKET_SIZE;

use super::accept::Acceptor;
use super::stream::{FaceAddresses, Outbox, closed, not_connected};
use super::{Flushed, Listener, Options, Peer, Received, Sent, Transport, Uris, tcp};
use crate::scope::FaceScope;
use crate::uri::{Endpoint, FaceUri};

/// Maximum length of the header of a message that we send, bytes: 2, a length of 2, a mask of 4.
const MESSAGE_HEADER: usize = 8;
/// Maximum number of peers in their handshake at once. At one more, the oldest peer of the address with the most
/// handshakes is closed. Assumed: all pages of a host that load at once. A peer that opens connections and stays silent
/// holds no more than that.
const MAX_HANDSHAKES: usize = 64;
/// Size of one read, bytes. Assumed: a few frames. Each connection has this buffer.
const READ_SIZE: usize = 16 << 10;
/// Maximum number of bytes, besides those of frames, that are read before other faces have their turn. Assumed: 11 000
/// of the shortest pieces, about a millisecond.
const READ_AT_ONCE: usize = 64 << 10;
/// Size of the protocol's own buffer, bytes. A frame enters it if the outbox has room, and leaves it at once. A part of
/// an accompanying answer may stay.
const PROTOCOL_BUFFER: usize = 2 * MAX_PACKET_SIZE;

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_SIZE)
        .write_buffer_size(0)
        .max_write_buffer_size(PROTOCOL_BUFFER)
        .max_message_size(Some(MAX_PACKET_SIZE))
        .max_frame_size(Some(MAX_PACKET_SIZE))
}

/// The protocol's input and output: the socket, with an outbox in front of it.
///
/// The outbox takes only whole messages, so the protocol never stops within one, and the waiting bytes are counted.
#[derive(Debug)]
struct Wire<S> {
    socket: S,
    outbox: Outbox,
    /// Number of bytes that may be read now. It is 0 during the start of the connection, so the next call reports a
    /// refusal, as over TCP.
    may_read: usize,
}

impl<S: Write> Wire<S> {
    fn new(socket: S, limit: usize) -> Wire<S> {
        Wire { socket, outbox: Outbox::new(limit), may_read: usize::MAX }
    }

    fn send(&mut self) -> io::Result<Flushed> {
        self.outbox.flush(&mut self.socket)
    }
}

impl<S: Read> Read for Wire<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.may_read == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = buffer.len().min(self.may_read);
        loop {
            match self.socket.read(&mut buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(count) => {
                    self.may_read -= count;
                    return Ok(count);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl<S> Write for Wire<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outbox.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How far a face has come.
enum State<S: Read + Write> {
    /// A client that waits for the connection, and then for the server's answer.
    Connecting(Box<MidHandshake<ClientHandshake<Wire<S>>>>),
    /// The handshake is complete.
    Open(Box<WebSocket<Wire<S>>>),
    /// The handshake failed.
    Failed,
}

/// A face on a WebSocket.
struct WebSocketFace<S: Read + Write> {
    state: State<S>,
    /// Frames sent before the connection is established, and their total length, bytes.
    early: Vec<Bytes>,
    early_bytes: usize,
    early_limit: usize,
    addresses: FaceAddresses,
}

/// Starts to connect to a server. Frames sent meanwhile wait. The next call reports a failure.
///
/// # Errors
/// Returns an error if there is no route, or the operating system's error.
pub(super) fn connect(remote: &Endpoint, options: Options) -> io::Result<Box<dyn Transport>> {
    let uri = FaceUri::WebSocket(remote.clone()).to_string();
    let (socket, addr, local) = tcp::begin(remote).map_err(|error| not_connected(&uri, &error))?;
    // The Host header contains no zone, because a zone has a meaning only on this host.
    let request = format!("ws://{addr}/", addr = SocketAddr::new(addr.ip(), addr.port()));
    let scope = tcp::scope(addr, local);
    let limit = options.buffer_for(scope);
    let wire = Wire { may_read: 0, ..Wire::new(socket, limit) };
    let state = match tungstenite::client::client_with_config(request, wire, Some(config())) {
        Err(HandshakeError::Interrupted(handshake)) => State::Connecting(Box::new(handshake)),
        Err(HandshakeError::Failure(error)) => return Err(not_connected(&uri, &io_error(error))),
        Ok((socket, _)) => State::Open(Box::new(socket)),
    };
    let addresses =
        FaceAddresses { remote: uri, local: FaceUri::WebSocketClient(local.into()).to_string(), scope };
    let early_limit = limit.max(MAX_PACKET_SIZE);
    Ok(Box::new(WebSocketFace { state, early: Vec::new(), early_bytes: 0, early_limit, addresses }))
}

impl<S: Read + Write + Source> WebSocketFace<S> {
    /// Creates a face whose handshake is complete.
    fn open(socket: WebSocket<Wire<S>>, addresses: FaceAddresses) -> WebSocketFace<S> {
        let state = State::Open(Box::new(socket));
        WebSocketFace { state, early: Vec::new(), early_bytes: 0, early_limit: 0, addresses }
    }

    fn wire(&mut self) -> Option<&mut Wire<S>> {
        match &mut self.state {
            State::Connecting(handshake) => Some(handshake.get_mut().get_mut()),
            State::Open(socket) => Some(socket.get_mut()),
            State::Failed => None,
        }
    }

    /// Continues the handshake. Its answer is read only here, together with the bytes after it.
    fn shake_hands(&mut self) -> io::Result<()> {
        let State::Connecting(mut handshake) = std::mem::replace(&mut self.state, State::Failed) else {
            return Err(closed());
        };
        handshake.get_mut().get_mut().may_read = usize::MAX;
        let failed = |error| not_connected(&self.addresses.remote, &error);
        match handshake.handshake() {
            Err(HandshakeError::Interrupted(handshake)) => {
                self.state = State::Connecting(Box::new(handshake));
                return Ok(());
            }
            Err(HandshakeError::Failure(error)) => return Err(failed(io_error(error))),
            Ok((socket, _)) => self.state = State::Open(Box::new(socket)),
        }
        self.early_bytes = 0;
        for frame in std::mem::take(&mut self.early) {
            self.send_message(frame)?;
        }
        self.flush().map(|_| ())
    }

    /// Queues a message, which leaves together with others.
    fn send_message(&mut self, frame: Bytes) -> io::Result<Sent> {
        let State::Open(socket) = &mut self.state else { return Ok(self.send_early(frame)) };
        let Wire { socket: stream, outbox, .. } = socket.get_mut();
        let len = frame.len() + MESSAGE_HEADER;
        outbox.make_room(stream, len)?;
        if !outbox.has_room(len) {
            return Ok(Sent::Full);
        }
        written(socket.write(Message::Binary(frame)))?;
        Ok(Sent::Taken)
    }

    fn send_early(&mut self, frame: Bytes) -> Sent {
        if self.early_bytes + frame.len() > self.early_limit {
            return Sent::Full;
        }
        self.early_bytes += frame.len();
        self.early.push(frame);
        Sent::Taken
    }
}

/// Converts the result of writing into the outbox. A refused message waits in the protocol's own buffer.
fn written(result: tungstenite::Result<()>) -> io::Result<()> {
    match result {
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        result => result.map_err(io_error),
    }
}

/// Converts an error of the protocol to an error of the face.
fn io_error(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::ConnectionClosed
        | Error::AlreadyClosed
        | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete) => {
            closed()
        }
        error => io::Error::new(io::ErrorKind::InvalidData, format!("no WebSocket: {error}")),
    }
}

impl<S: Read + Write + Source> Transport for WebSocketFace<S> {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let wire = self.wire().ok_or_else(closed)?;
        registry.register(&mut wire.socket, token, Interest::READABLE | Interest::WRITABLE)
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        if !matches!(self.state, State::Open(_)) {
            self.shake_hands()?;
        }
        let State::Open(socket) = &mut self.state else { return Ok(Received::Drained) };
        hold_answers(socket, true);
        let result = read_messages(socket, budget, each);
        hold_answers(socket, false);
        // Sends the answers to the last ping and to a close. After the end, it sends as much as the socket accepts.
        let sent = self.flush();
        result.and_then(|received| sent.map(|_| received))
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if frame.len() > MAX_PACKET_SIZE {
            return Ok(Sent::TooLong);
        }
        self.send_message(Bytes::copy_from_slice(frame))
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        let Some(wire) = self.wire() else { return Err(closed()) };
        let sent = wire.send();
        let State::Open(socket) = &mut self.state else {
            sent.map_err(|error| not_connected(&self.addresses.remote, &error))?;
            return Ok(Flushed::Blocked);
        };
        // An answer enters the outbox if it is empty, or together with a frame. So pings cannot fill the outbox.
        if sent? == Flushed::Blocked {
            return Ok(Flushed::Blocked);
        }
        let answered = written(socket.flush());
        let sent = socket.get_mut().send();
        answered.and(sent)
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    fn waiting(&self) -> usize {
        match &self.state {
            State::Open(socket) => socket.get_ref().outbox.len(),
            _ => self.early_bytes,
        }
    }

    fn memory(&self) -> usize {
        match &self.state {
            State::Open(socket) => socket.get_ref().outbox.memory(),
            _ => self.early_bytes + self.early.capacity() * size_of::<Bytes>(),
        }
    }

    fn mtu(&self) -> Option<usize> {
        None
    }

    fn uris(&self) -> Uris<'_> {
        self.addresses.uris()
    }

    fn scope(&self) -> FaceScope {
        self.addresses.scope
    }
}

/// Sets whether the protocol holds back its answers. It keeps only the last one: of several pings, only the last needs
/// an answer (RFC 6455, section 5.5.3).
fn hold_answers<S>(socket: &mut WebSocket<Wire<S>>, hold: bool) {
    socket.set_config(|config| config.max_write_buffer_size = if hold { 1 } else { PROTOCOL_BUFFER });
}

/// Reads at most this many messages, and few more bytes than their frames have. A message may come in any number of
/// pieces, and the protocol returns only after its last piece.
fn read_messages<S: Read + Write>(
    socket: &mut WebSocket<Wire<S>>,
    budget: usize,
    each: &mut dyn FnMut(Peer, &[u8]),
) -> io::Result<Received> {
    socket.get_mut().may_read = READ_AT_ONCE;
    for _ in 0..budget {
        match socket.read() {
            Ok(Message::Binary(frame)) => {
                socket.get_mut().may_read += frame.len();
                each(0, &frame);
            }
            Ok(Message::Text(_)) => return Err(refuse_text(socket)),
            // Copy the payload for the waiting answer: a slice of the read buffer would keep the whole buffer alive.
            Ok(Message::Ping(payload)) => {
                written(socket.write(Message::Pong(Bytes::copy_from_slice(&payload))))?;
            }
            Ok(_) => {}
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                let is_drained = socket.get_ref().may_read > 0;
                return Ok(if is_drained { Received::Drained } else { Received::More });
            }
            Err(error) => return Err(io_error(error)),
        }
    }
    Ok(Received::More)
}

/// Tells the peer that text messages are not accepted. The face ends.
fn refuse_text<S: Read + Write>(socket: &mut WebSocket<Wire<S>>) -> io::Error {
    hold_answers(socket, false);
    let reason = CloseFrame { code: CloseCode::Unsupported, reason: "frames are binary messages".into() };
    match written(socket.close(Some(reason))) {
        Ok(()) => io::Error::new(io::ErrorKind::InvalidData, "a text message; frames are binary messages"),
        Err(error) => error,
    }
}

/// Records in the handshake whether the peer is a page of another host.
struct NoteOrigin(Rc<Cell<bool>>);

impl Callback for NoteOrigin {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        let mut origins = request.headers().get_all(header::ORIGIN).iter();
        self.0.set(origins.any(|origin| !is_of_this_host(origin)));
        Ok(response)
    }
}

/// Returns whether the origin of a page is this host.
fn is_of_this_host(origin: &HeaderValue) -> bool {
    let uri = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok());
    let Some(host) = uri.as_ref().and_then(Uri::host) else { return false };
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.map_or(host == "localhost" || host.ends_with(".localhost"), |address| address.is_loopback())
}

/// A server's handshake: complete, interrupted or failed.
type Greeted<S> = Result<WebSocket<Wire<S>>, HandshakeError<ServerHandshake<Wire<S>, NoteOrigin>>>;

/// Starts the handshake with a connected peer.
#[expect(clippy::result_large_err, reason = "it is what the library gives, and goes on from there")]
fn greet<S: Read + Write>(socket: S, limit: usize, is_foreign: &Rc<Cell<bool>>) -> Greeted<S> {
    let (wire, note) = (Wire::new(socket, limit), NoteOrigin(is_foreign.clone()));
    tungstenite::accept_hdr_with_config(wire, note, Some(config()))
}

/// A connected peer that has not completed the handshake.
struct Handshake {
    token: Token,
    from: IpAddr,
    state: MidHandshake<ServerHandshake<Wire<TcpStream>, NoteOrigin>>,
    addresses: FaceAddresses,
    is_foreign: Rc<Cell<bool>>,
}

/// Maximum number of peers accepted before the event loop has its turn.
const PEERS_AT_ONCE: usize = 256;
/// Maximum number of times the listener looks for a complete handshake before the event loop has its turn.
const ATTEMPTS: usize = 8;

/// The token of the listening socket in the listener's own poll. Peers have the numbers from 1 on.
const LISTENING: Token = Token(0);

/// Listens for WebSocket clients.
///
/// Peers stay here until their handshake is complete, so every face speaks the protocol. The listener has its own poll
/// for them, and the event loop watches that poll.
pub struct WebSocketListener {
    socket: mio::net::TcpListener,
    acceptor: Acceptor,
    poll: Poll,
    events: Events,
    /// Whether peers may wait to be accepted.
    knocked: bool,
    /// Oldest first.
    handshakes: VecDeque<Handshake>,
    last_token: usize,
    ready: VecDeque<WebSocketFace<TcpStream>>,
    uri: String,
    options: Options,
}

impl WebSocketListener {
    /// Listens on an address. Port 0 selects a free port. The IPv6 address `::` accepts only IPv6.
    ///
    /// # Errors
    /// Returns an error if the address is in use, this host does not have it, or the process lacks permission.
    pub fn bind(addr: SocketAddr, options: Options) -> io::Result<WebSocketListener> {
        let mut socket = tcp::listen(addr)?;
        let poll = Poll::new()?;
        poll.registry().register(&mut socket, LISTENING, Interest::READABLE)?;
        let uri = FaceUri::WebSocket(socket.local_addr()?.into()).to_string();
        Ok(WebSocketListener {
            socket,
            acceptor: Acceptor::new()?,
            poll,
            events: Events::with_capacity(MAX_HANDSHAKES + 1),
            knocked: true,
            handshakes: VecDeque::new(),
            last_token: LISTENING.0,
            ready: VecDeque::new(),
            uri,
            options,
        })
    }

    /// Does the pending work. Returns whether there was any.
    fn work(&mut self) -> io::Result<bool> {
        self.poll.poll(&mut self.events, Some(Duration::ZERO))?;
        let tokens: Vec<Token> = self.events.iter().map(|event| event.token()).collect();
        for &token in &tokens {
            if token == LISTENING {
                self.knocked = true;
            } else {
                self.shake_hands(token);
            }
        }
        for _ in 0..PEERS_AT_ONCE {
            if !self.knocked {
                return Ok(!tokens.is_empty());
            }
            match self.acceptor.next(|| self.socket.accept())? {
                Some((socket, remote)) => self.greet(socket, remote),
                None => self.knocked = false,
            }
        }
        // After other faces had their turn, the event loop reports the peers that still wait.
        self.poll.registry().reregister(&mut self.socket, LISTENING, Interest::READABLE)?;
        Ok(false)
    }

    /// Handles a peer that has connected. A peer that is already gone is forgotten.
    fn greet(&mut self, mut socket: TcpStream, remote: SocketAddr) {
        let Ok(local) = tcp::prepare(&socket).and_then(|()| socket.local_addr()) else { return };
        self.last_token += 1;
        let token = Token(self.last_token);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut socket, token, interest).is_err() {
            return;
        }
        let addresses = FaceAddresses {
            remote: FaceUri::WebSocketClient(remote.into()).to_string(),
            local: FaceUri::WebSocket(local.into()).to_string(),
            scope: tcp::scope(remote, local),
        };
        let is_foreign = Rc::new(Cell::new(false));
        let handshake = greet(socket, self.options.buffer_for(addresses.scope), &is_foreign);
        self.went_on((token, remote.ip()), addresses, is_foreign, handshake);
    }

    fn shake_hands(&mut self, token: Token) {
        let Some(index) = self.handshakes.iter().position(|handshake| handshake.token == token) else {
            return;
        };
        let Some(Handshake { from, state, addresses, is_foreign, .. }) = self.handshakes.remove(index) else {
            return;
        };
        self.went_on((token, from), addresses, is_foreign, state.handshake());
    }

    /// Handles the result of a handshake: it is complete, continues, or has failed and the connection is closed.
    fn went_on(
        &mut self,
        (token, from): (Token, IpAddr),
        mut addresses: FaceAddresses,
        is_foreign: Rc<Cell<bool>>,
        handshake: Greeted<TcpStream>,
    ) {
        match handshake {
            Ok(mut socket) => {
                if is_foreign.get() {
                    addresses.scope = FaceScope::NonLocal;
                }
                let wire = socket.get_mut();
                wire.outbox.set_limit(self.options.buffer_for(addresses.scope));
                let sent = wire.send();
                if sent.and_then(|_| self.poll.registry().deregister(&mut wire.socket)).is_ok() {
                    self.ready.push_back(WebSocketFace::open(socket, addresses));
                }
            }
            Err(HandshakeError::Interrupted(state)) => {
                if self.handshakes.len() == MAX_HANDSHAKES {
                    self.give_up_one();
                }
                self.handshakes.push_back(Handshake { token, from, state, addresses, is_foreign });
            }
            Err(HandshakeError::Failure(_)) => {}
        }
    }

    /// Closes the oldest connection of the address with the most handshakes: a peer that opens many and stays silent
    /// loses its own.
    fn give_up_one(&mut self) {
        let of_address = |from: IpAddr| self.handshakes.iter().filter(|one| one.from == from).count();
        // Of equals, `max_by_key` returns the last, which is the oldest because of `rev`.
        let most = (0..self.handshakes.len()).rev().max_by_key(|at| of_address(self.handshakes[*at].from));
        if let Some(at) = most {
            self.handshakes.remove(at);
        }
    }
}

impl Listener for WebSocketListener {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.poll.as_raw_fd()), token, Interest::READABLE)
    }

    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>> {
        for _ in 0..ATTEMPTS {
            if !self.ready.is_empty() || !self.work()? {
                break;
            }
        }
        Ok(self.ready.pop_front().map(|face| Box::new(face) as Box<dyn Transport>))
    }

    fn uri(&self) -> &str {
        &self.uri
    }
}

/// Acts as a server for one client on any socket, without an event loop: passes its frames on and sends them back.
/// Tries a limited number of times to continue, because a socket may block. Fuzzing uses this.
///
/// # Errors
/// Returns the errors of [`Transport::receive`], and an error if the handshake is incomplete or failed.
pub fn echo<S: Read + Write + Source>(
    socket: S,
    rounds: usize,
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    let options = Options::default();
    let mut greeted = greet(socket, options.far_buffer, &Rc::default());
    let mut left = 0..rounds;
    let socket = loop {
        match greeted {
            Ok(socket) => break socket,
            Err(HandshakeError::Failure(error)) => return Err(io_error(error)),
            Err(HandshakeError::Interrupted(handshake)) => {
                left.next().ok_or(io::ErrorKind::WouldBlock)?;
                greeted = handshake.handshake();
            }
        }
    };
    let addresses = FaceAddresses { remote: String::new(), local: String::new(), scope: FaceScope::NonLocal };
    let mut face = WebSocketFace::open(socket, addresses);
    for _ in left {
        let mut frames = Vec::new();
        face.receive(8, &mut |_, frame| {
            each(frame);
            frames.push(frame.to_vec());
        })?;
        for frame in &frames {
            face.send(frame)?;
        }
        face.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tungstenite::protocol::Role;

    use super::*;

    /// A socket whose peer writes one text repeatedly, and reads nothing until told to.
    struct Scripted {
        text: Vec<u8>,
        at: usize,
        /// Number of bytes that the peer still writes.
        left: usize,
        /// Number of bytes that the peer still reads.
        takes: usize,
        output: Vec<u8>,
    }

    impl Scripted {
        fn new(text: Vec<u8>, left: usize) -> Scripted {
            Scripted { text, at: 0, left, takes: 0, output: Vec::new() }
        }
    }

    impl Read for Scripted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = buffer.len().min(self.left);
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            for byte in &mut buffer[..count] {
                *byte = self.text[self.at];
                self.at = (self.at + 1) % self.text.len();
            }
            self.left -= count;
            Ok(count)
        }
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.takes);
            if count == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.output.extend_from_slice(&bytes[..count]);
            self.takes -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Source for Scripted {
        fn register(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
            Ok(())
        }

        fn reregister(&mut self, _: &Registry, _: Token, _: Interest) -> io::Result<()> {
            Ok(())
        }

        fn deregister(&mut self, _: &Registry) -> io::Result<()> {
            Ok(())
        }
    }

    /// A server's face with a complete handshake.
    fn face(socket: Scripted, limit: usize) -> WebSocketFace<Scripted> {
        let socket = WebSocket::from_raw_socket(Wire::new(socket, limit), Role::Server, Some(config()));
        let addresses =
            FaceAddresses { remote: String::new(), local: String::new(), scope: FaceScope::NonLocal };
        WebSocketFace::open(socket, addresses)
    }

    fn socket(face: &mut WebSocketFace<Scripted>) -> &mut Scripted {
        &mut face.wire().expect("it is open").socket
    }

    /// A message of a client, masked with zeros.
    fn message(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut message = match payload.len() {
            len @ 0..126 => vec![first, 0x80 | len as u8],
            len => vec![first, 0x80 | 126, (len >> 8) as u8, len as u8],
        };
        message.extend([0; 4]);
        message.extend(payload);
        message
    }

    const BINARY: u8 = 0x82;
    const PING: u8 = 0x89;
    const PONG: u8 = 0x8A;

    #[test]
    fn of_pings_that_cannot_be_answered_one_answer_waits() {
        let pings: Vec<u8> = (0..200).flat_map(|number| message(PING, &[number; 125])).collect();
        let left = 100 * pings.len();
        let mut face = face(Scripted::new(pings, left), 4 << 20);
        while face.receive(64, &mut |_, _| panic!("no frame")).expect("no error") == Received::More {
            assert_eq!(face.waiting(), 127, "an answer");
            assert!(face.memory() < 2 * 127);
        }
        assert_eq!(face.flush().expect("no error"), Flushed::Blocked);
        assert_eq!(face.waiting(), 127);
        socket(&mut face).takes = usize::MAX;
        assert_eq!(face.flush().expect("no error"), Flushed::Done);
        let answers = [63, 199].map(|number| [vec![PONG, 125], vec![number; 125]].concat());
        assert_eq!(socket(&mut face).output, answers.concat(), "the first that there was, and the last");
    }

    #[test]
    fn an_answer_that_waits_leaves_with_the_next_frame() {
        let mut face = face(Scripted::new(message(PING, b"there?"), 12), 1 << 20);
        assert_eq!(face.send(&[5, 0]).expect("no error"), Sent::Taken);
        face.receive(64, &mut |_, _| {}).expect("no error");
        assert_eq!(face.waiting(), 4, "the frame alone");
        assert_eq!(face.send(&[6, 0]).expect("no error"), Sent::Taken);
        socket(&mut face).takes = usize::MAX;
        face.flush().expect("no error");
        let frames = [[BINARY, 2, 5, 0], [BINARY, 2, 6, 0]].concat();
        assert_eq!(socket(&mut face).output, [&frames[..], &[PONG, 6], b"there?"].concat());
    }

    #[test]
    fn after_many_pings_the_largest_frame_leaves() {
        let mut face = face(Scripted::new(message(PING, &[1; 125]), 1000 * 131), 0);
        while face.receive(64, &mut |_, _| {}).expect("no error") == Received::More {
            assert!(face.waiting() <= 2 * MAX_PACKET_SIZE);
        }
        // The peer reads the waiting bytes and sends one more message.
        socket(&mut face).takes = face.waiting();
        socket(&mut face).left = 131;
        face.receive(64, &mut |_, _| {}).expect("no error");
        let frame = [7; MAX_PACKET_SIZE];
        assert_eq!(face.send(&frame).expect("no error"), Sent::Taken);
        socket(&mut face).takes = usize::MAX;
        assert_eq!(face.flush().expect("no error"), Flushed::Done);
        let output = &socket(&mut face).output;
        assert!(output.windows(frame.len()).any(|bytes| bytes == frame));
    }

    #[test]
    fn pieces_without_bytes_stop_nobody_else() {
        let begin = message(0x02, b"");
        let mut face = face(Scripted::new(begin, 6), 0);
        assert_eq!(face.receive(64, &mut |_, _| {}).expect("no error"), Received::Drained);
        let piece = message(0, b"");
        *socket(&mut face) = Scripted::new(piece, 54_614 * 6);
        for _ in 0..5 {
            let before = socket(&mut face).left;
            let received = face.receive(64, &mut |_, _| panic!("no frame")).expect("no error");
            assert_eq!(received, Received::More);
            assert_eq!(before - socket(&mut face).left, 64 << 10, "bytes of one round");
        }
        assert_eq!(face.receive(64, &mut |_, _| {}).expect("no error"), Received::Drained);
        *socket(&mut face) = Scripted::new(message(0x80, b"end"), 9);
        let mut end = Vec::new();
        face.receive(64, &mut |_, frame| end.extend_from_slice(frame)).expect("no error");
        assert_eq!(end, b"end");
    }

    #[test]
    fn a_round_reads_as_many_frames_as_it_may_however_large() {
        let largest = message(BINARY, &[7; MAX_PACKET_SIZE]);
        let left = 130 * largest.len();
        let mut face = face(Scripted::new(largest, left), 0);
        for (frames, received) in [(64, Received::More), (64, Received::More), (2, Received::Drained)] {
            let mut count = 0;
            assert_eq!(face.receive(64, &mut |_, _| count += 1).expect("no error"), received);
            assert_eq!(count, frames);
        }
    }

    #[test]
    fn only_pages_of_this_host_are_of_this_host() {
        let is_ours = |origin: &str| is_of_this_host(&HeaderValue::from_str(origin).expect("a header"));
        for ours in [
            "http://localhost:8080",
            "https://localhost",
            "http://127.0.0.1:80",
            "http://[::1]:9",
            "http://a.localhost",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in
            ["https://example.org", "null", "", "http://localhost.example.org", "http://10.0.0.1", "file://"]
        {
            assert!(!is_ours(other), "{other}");
        }
    }
}
