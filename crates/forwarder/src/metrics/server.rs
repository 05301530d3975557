//! The sockets of the metrics server; they never block.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use weir_core::units::{Span, Time};
use weir_net::http::{Request, Target};

use super::document::{Document, HINT};

/// Largest number of connections. A further connection replaces the oldest one of the address with the most, so a client that
/// opens many connections loses its own.
const CONNECTIONS: usize = 8;
/// Largest number of accepted connections before the event loop has its turn.
const PEERS_AT_ONCE: usize = 64;
/// After a failed accept, for example with too many open files, the time until the next try.
const RETRY: Span = Span::from_secs(1);
/// Longest duration of a connection.
const PATIENCE: Span = Span::from_secs(10);
/// Bytes per read: a request is small.
const CHUNK: usize = 2048;
/// Largest number of bytes that are read at once from a client that does not stop sending.
const MOST_DRAINED: usize = 1 << 16;

/// Serves the documents of the metrics port.
///
/// It uses [`Server::TOKENS`] tokens of the event loop, beginning with the one at registration.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    first: Token,
    connections: [Option<Connection>; CONNECTIONS],
    /// Number of connections closed for others.
    replaced: u64,
    /// Time of the next try after a failed accept: the event loop does not report waiting connections twice.
    retry_at: Time,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    from: IpAddr,
    request: Request,
    response: Vec<u8>,
    written: usize,
    until: Time,
}

/// The state of a connection after an event.
#[derive(PartialEq)]
enum After {
    Wait,
    Close,
}

impl Server {
    /// Number of tokens of the event loop.
    pub const TOKENS: usize = 1 + CONNECTIONS;

    /// Listens on an address.
    ///
    /// # Errors
    /// Returns the operating system's error, for example if the port is in use.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (first, connections, replaced) = (Token(0), Default::default(), 0);
        Ok(Server { listener, address, first, connections, replaced, retry_at: Time::NEVER })
    }

    /// The address of its socket.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Registers the sockets with the event loop: the server owns `first` and the tokens after it.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn register(&mut self, registry: &Registry, first: Token) -> io::Result<()> {
        self.first = first;
        registry.register(&mut self.listener, first, Interest::READABLE)
    }

    /// Handles an event of one of its sockets; `text` writes the document that a client requests.
    ///
    /// # Errors
    /// Returns an error if a connection cannot be accepted, for example with too many open files. Waiting connections are tried
    /// again later. Until one is accepted, further failures return no error.
    pub fn ready(
        &mut self,
        registry: &Registry,
        token: Token,
        now: Time,
        text: &mut dyn FnMut(Document) -> String,
    ) -> io::Result<()> {
        match token.0.wrapping_sub(self.first.0) {
            0 => self.take_waiting(registry, now, &mut |listener| listener.accept()),
            at => {
                if let Some(slot) = self.connections.get_mut(at - 1)
                    && let Some(connection) = slot
                    && connection.ready(text) == After::Close
                {
                    *slot = None;
                }
                Ok(())
            }
        }
    }

    /// Accepts waiting connections with `accept`. An error is returned once, and again only after a connection was accepted.
    pub(super) fn take_waiting(
        &mut self,
        registry: &Registry,
        now: Time,
        accept: &mut dyn FnMut(&TcpListener) -> io::Result<(TcpStream, SocketAddr)>,
    ) -> io::Result<()> {
        self.close_late(now);
        let is_told = core::mem::replace(&mut self.retry_at, Time::NEVER) != Time::NEVER;
        let (taken, all) = self.take_some(registry, now, accept);
        if all.is_err() {
            self.retry_at = now + RETRY;
        }
        if is_told && taken == 0 { Ok(()) } else { all }
    }

    /// The number of accepted connections, and the error of the next one.
    fn take_some(
        &mut self,
        registry: &Registry,
        now: Time,
        accept: &mut dyn FnMut(&TcpListener) -> io::Result<(TcpStream, SocketAddr)>,
    ) -> (usize, io::Result<()>) {
        for taken in 0..PEERS_AT_ONCE {
            match self.take_one(registry, now, accept) {
                Ok(true) => {}
                Ok(false) => return (taken, Ok(())),
                Err(error) => return (taken, Err(error)),
            }
        }
        // Other sources have their turn; then the event loop reports the connections that still wait.
        (PEERS_AT_ONCE, registry.reregister(&mut self.listener, self.first, Interest::READABLE))
    }

    /// Returns whether a connection waited; it may be closed already.
    fn take_one(
        &mut self,
        registry: &Registry,
        now: Time,
        accept: &mut dyn FnMut(&TcpListener) -> io::Result<(TcpStream, SocketAddr)>,
    ) -> io::Result<bool> {
        let (mut stream, from) = match accept(&self.listener) {
            Ok((stream, address)) => (stream, address.ip()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            // The client has closed the connection already.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(true),
            Err(error) => return Err(error),
        };
        let at = self.place();
        let interests = Interest::READABLE | Interest::WRITABLE;
        registry.register(&mut stream, Token(self.first.0 + 1 + at), interests)?;
        let until = Time::from_nanos(now.as_nanos().saturating_add(PATIENCE.as_nanos()));
        let (request, response) = (Request::default(), Vec::new());
        self.connections[at] = Some(Connection { stream, from, request, response, written: 0, until });
        Ok(true)
    }

    /// The slot for one more connection. If all are used, one connection is closed.
    fn place(&mut self) -> usize {
        if let Some(free) = self.connections.iter().position(Option::is_none) {
            return free;
        }
        let from = |at: usize| self.connections[at].as_ref().map(|one| one.from);
        let until = |at: usize| self.connections[at].as_ref().map(|one| one.until);
        let of_address = |at: usize| (0..CONNECTIONS).filter(|other| from(*other) == from(at)).count();
        let most = (0..CONNECTIONS).max_by_key(|&at| (of_address(at), core::cmp::Reverse(until(at))));
        self.replaced += 1;
        let at = most.unwrap_or(0);
        // The slot is registered again.
        self.connections[at] = None;
        at
    }

    /// Number of connections closed for others since the last call.
    pub fn take_replaced(&mut self) -> u64 {
        core::mem::take(&mut self.replaced)
    }

    /// The time of the next [`Server::handle_deadline`].
    pub fn next_deadline(&self) -> Time {
        let until = self.connections.iter().flatten().map(|connection| connection.until).min();
        until.unwrap_or(Time::NEVER).min(self.retry_at)
    }

    /// Closes connections that take too long, and tries again to accept waiting ones.
    ///
    /// # Errors
    /// Returns the errors of [`Server::ready`].
    pub fn handle_deadline(&mut self, registry: &Registry, now: Time) -> io::Result<()> {
        self.close_late(now);
        if self.retry_at > now {
            return Ok(());
        }
        self.take_waiting(registry, now, &mut |listener| listener.accept())
    }

    fn close_late(&mut self, now: Time) {
        for slot in &mut self.connections {
            if slot.as_ref().is_some_and(|connection| connection.until <= now) {
                *slot = None;
            }
        }
    }
}

impl Connection {
    fn ready(&mut self, text: &mut dyn FnMut(Document) -> String) -> After {
        if self.response.is_empty() && self.read(text) == After::Close {
            return After::Close;
        }
        if self.response.is_empty() { After::Wait } else { self.write() }
    }

    fn read(&mut self, text: &mut dyn FnMut(Document) -> String) -> After {
        let mut chunk = [0; CHUNK];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return After::Close,
                Ok(length) => {
                    let document = |target: Target<'_>| Document::at(target.path, &mut *text);
                    if let Some(response) = self.request.receive(&chunk[..length], HINT, document) {
                        self.response = response;
                        return After::Wait;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return After::Wait,
                Err(_) => return After::Close,
            }
        }
    }

    fn write(&mut self) -> After {
        while self.written < self.response.len() {
            match self.stream.write(&self.response[self.written..]) {
                Ok(0) => return After::Close,
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return After::Wait,
                Err(_) => return After::Close,
            }
        }
        let _ = self.stream.shutdown(Shutdown::Write);
        self.drain()
    }

    /// Waits for the peer to close: closing with unread bytes would reset the connection before the answer
    /// is read.
    fn drain(&mut self) -> After {
        let mut chunk = [0; CHUNK];
        for _ in 0..MOST_DRAINED / CHUNK {
            match self.stream.read(&mut chunk) {
                Ok(0) => return After::Close,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return After::Wait,
                Err(_) => return After::Close,
            }
        }
        After::Close
    }
}
