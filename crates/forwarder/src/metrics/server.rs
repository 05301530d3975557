//! The sockets of the metrics server; they never block.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr};

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use weir_core::units::{Span, Time};

use super::http::{Document, Request};

/// How many may ask at a time. When one more comes, the oldest of the address with most of them has to go: who opens many
/// and says nothing loses its own.
const CONNECTIONS: usize = 8;
/// Peers that are taken in one go, before the event loop has its turn.
const PEERS_AT_ONCE: usize = 64;
/// The time until those that wait are tried again after one could not be taken: too many files are open, for one.
const RETRY: Span = Span::from_secs(1);
/// How long one may take.
const PATIENCE: Span = Span::from_secs(10);
/// How much is read at a time: a request is small.
const CHUNK: usize = 2048;
/// How much is read of somebody who does not stop sending, in one go.
const MOST_DRAINED: usize = 1 << 16;

/// Serves the documents of the metrics port.
///
/// It has [`Server::TOKENS`] tokens of the event loop, from the one on that it was registered with.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    first: Token,
    connections: [Option<Connection>; CONNECTIONS],
    /// Connections that had to go for others.
    replaced: u64,
    /// When those that wait are tried again, because one could not be taken: the event loop does not tell of them twice.
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

/// What becomes of a connection.
#[derive(PartialEq)]
enum After {
    Wait,
    Close,
}

impl Server {
    /// How many tokens it uses.
    pub const TOKENS: usize = 1 + CONNECTIONS;

    /// Listens at an address.
    ///
    /// # Errors
    /// Of the operating system: the port is in use, for one.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let (first, connections, replaced) = (Token(0), Default::default(), 0);
        Ok(Server { listener, address, first, connections, replaced, retry_at: Time::NEVER })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Has the event loop told of its sockets: `first` and the tokens after it are its own.
    ///
    /// # Errors
    /// An error of the operating system.
    pub fn register(&mut self, registry: &Registry, first: Token) -> io::Result<()> {
        self.first = first;
        registry.register(&mut self.listener, first, Interest::READABLE)
    }

    /// One of its sockets has something; `text` makes a document if a client wants it.
    ///
    /// # Errors
    /// A connection could not be taken: too many open files, for one. Those that wait are tried again later, without another
    /// error until one was taken.
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

    /// Takes those that wait, by `accept`. An error is told once, and again after one was taken.
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

    /// How many it took, and why not the next one.
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
        // Others have their turn, and then the event loop tells of those that still wait.
        (PEERS_AT_ONCE, registry.reregister(&mut self.listener, self.first, Interest::READABLE))
    }

    /// Whether one waited, who may have gone again.
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
            // The one who asked has gone again.
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

    /// The place for one more connection; another may have to go for it.
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
        // Its place is registered anew.
        self.connections[at] = None;
        at
    }

    /// Connections that had to go for others since the last call.
    pub fn take_replaced(&mut self) -> u64 {
        core::mem::take(&mut self.replaced)
    }

    /// When [`Server::handle_deadline`] wants to be called.
    pub fn next_deadline(&self) -> Time {
        let until = self.connections.iter().flatten().map(|connection| connection.until).min();
        until.unwrap_or(Time::NEVER).min(self.retry_at)
    }

    /// Sends away those who take too long, and tries again to take those that wait.
    ///
    /// # Errors
    /// As [`Server::ready`].
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
                    if let Some(response) = self.request.receive(&chunk[..length], &mut *text) {
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
