//! What is outside of a forwarder: sockets and clocks.
//!
//! The forwarder asks for everything by [`Outside`], so that it runs whole also where both are simulated. That costs a call
//! through a table for each system call, and none for each packet.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

use mio::{Registry, Token};
use weir_core::units::Time;

use crate::clock::{Clock, wall_ms};
use crate::transport::tcp::TcpListener;
use crate::transport::udp::{Batch, Socket, Source};
use crate::transport::unix::UnixListener;
use crate::transport::websocket::WebSocketListener;
use crate::transport::{self, Listener, Options, Received, Transport};
use crate::uri::FaceUri;

/// The sockets and clocks of one forwarder. What it gives is watched: the event loop gets the token when there is something
/// to read, to write or to accept.
pub trait Outside {
    /// The time since the start, which only grows.
    fn now(&self) -> Time;

    /// The time of day: ms since 1970. It may be set forwards and backwards.
    fn wall_ms(&self) -> u64;

    /// What the time of day was at the start, ns since 1970.
    fn start_unix_ns(&self) -> u64;

    /// Binds a socket for datagrams, with `kernel_buffer` bytes each way.
    ///
    /// # Errors
    /// Of the operating system: the port is in use, for one.
    fn bind_udp(
        &mut self,
        local: SocketAddr,
        kernel_buffer: usize,
        token: Token,
    ) -> io::Result<Box<dyn Datagrams>>;

    /// Listens for connections.
    ///
    /// # Errors
    /// Of the operating system: the port is in use, for one.
    fn listen(&mut self, at: Place<'_>, token: Token) -> io::Result<Box<dyn Listener>>;

    /// Connects to a canonical URI, as [`transport::connect`]. It may take a while until the connection is there.
    ///
    /// # Errors
    /// Those of [`transport::connect`].
    fn connect(
        &mut self,
        remote: &FaceUri,
        local: Option<&str>,
        token: Token,
    ) -> io::Result<Box<dyn Transport>>;

    /// Watches a connection that a listener has accepted.
    ///
    /// # Errors
    /// Of the operating system.
    fn watch(&mut self, transport: &mut dyn Transport, token: Token) -> io::Result<()>;

    /// Our address on the way to a peer, as the host routes; nothing is sent.
    fn address_towards(&self, peer: SocketAddr) -> Option<IpAddr>;
}

/// Where peers connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A Unix socket, and the permissions of its file.
    Unix(&'a Path, u32),
    /// TCP.
    Tcp(SocketAddr),
    /// WebSocket over TCP.
    WebSocket(SocketAddr),
}

/// A socket for datagrams of several peers.
pub trait Datagrams {
    /// Its address.
    fn local(&self) -> SocketAddr;

    /// Hands in the frames of at most `calls` batches.
    ///
    /// # Errors
    /// Of the operating system; not that a peer is not there.
    fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received>;

    /// Sends all frames of a batch, in order, and empties it; says how many were not taken.
    fn send(&self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> u64;
}

impl Datagrams for Socket {
    fn local(&self) -> SocketAddr {
        Socket::local(self)
    }

    fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received> {
        Socket::receive(self, calls, each)
    }

    fn send(&self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> u64 {
        Socket::send(self, batch, to, from)
    }
}

/// The sockets and clocks of the operating system.
#[derive(Debug)]
pub struct System {
    registry: Registry,
    clock: Clock,
}

impl System {
    /// Has the event loop of a registry told of the sockets. The time since the start begins now.
    pub fn new(registry: Registry) -> System {
        System { registry, clock: Clock::start() }
    }
}

impl Outside for System {
    #[inline]
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn wall_ms(&self) -> u64 {
        wall_ms()
    }

    fn start_unix_ns(&self) -> u64 {
        self.clock.start_unix_ns()
    }

    fn bind_udp(
        &mut self,
        local: SocketAddr,
        kernel_buffer: usize,
        token: Token,
    ) -> io::Result<Box<dyn Datagrams>> {
        let socket = Socket::bind(local, kernel_buffer)?;
        socket.register(&self.registry, token)?;
        Ok(Box::new(socket))
    }

    fn listen(&mut self, at: Place<'_>, token: Token) -> io::Result<Box<dyn Listener>> {
        let options = Options::default();
        let mut listener: Box<dyn Listener> = match at {
            Place::Unix(path, mode) => Box::new(UnixListener::bind(path, mode, options)?),
            Place::Tcp(address) => Box::new(TcpListener::bind(address, options)?),
            Place::WebSocket(address) => Box::new(WebSocketListener::bind(address, options)?),
        };
        listener.register(&self.registry, token)?;
        Ok(listener)
    }

    fn connect(
        &mut self,
        remote: &FaceUri,
        local: Option<&str>,
        token: Token,
    ) -> io::Result<Box<dyn Transport>> {
        let mut transport = transport::connect(remote, local, Options::default())?;
        transport.register(&self.registry, token)?;
        Ok(transport)
    }

    fn watch(&mut self, transport: &mut dyn Transport, token: Token) -> io::Result<()> {
        transport.register(&self.registry, token)
    }

    fn address_towards(&self, peer: SocketAddr) -> Option<IpAddr> {
        let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        let probe = UdpSocket::bind(any).ok()?;
        probe.connect(peer).ok()?;
        probe.local_addr().ok().map(|address| address.ip())
    }
}
