//! Faces over TCP.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use nix::libc::EINPROGRESS;
use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};

use super::accept::Acceptor;
use super::stream::{FaceAddresses, Stream, StreamSocket, not_connected};
use super::{Listener, Options, Transport, cannot_listen};
use crate::scope::FaceScope;
use crate::uri::{Endpoint, FaceUri};

/// Maximum number of connections that wait to be accepted. Assumed: all applications of a host that start at once.
const BACKLOG: i32 = 1024;
/// Maximum of unsent bytes in the kernel, beyond those in flight. More would queue outside our scheduler's control.
/// Assumed: 10 ms at 100 Mb/s.
const UNSENT: u32 = 128 << 10;
/// After this time of silence the kernel probes the peer. Assumed.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A peer that does not acknowledge for this time is given up. Assumed: a minute.
const GIVE_UP: Duration = Duration::from_secs(60);

impl StreamSocket for TcpStream {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(self, token, Interest::READABLE | Interest::WRITABLE)
    }

    fn is_connected(&self) -> io::Result<bool> {
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match self.peer_addr() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) if error.raw_os_error() == Some(EINPROGRESS) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Starts to connect. Frames sent meanwhile wait. The next call reports a failure.
///
/// # Errors
/// Returns an error if there is no route, or the operating system's error.
pub(super) fn connect(remote: &Endpoint, options: Options) -> io::Result<Box<dyn Transport>> {
    let uri = FaceUri::Tcp(remote.clone()).to_string();
    let (socket, addr, local) = begin(remote).map_err(|error| not_connected(&uri, &error))?;
    let addresses = FaceAddresses {
        remote: uri,
        local: FaceUri::Tcp(local.into()).to_string(),
        scope: scope(addr, local),
    };
    Ok(Box::new(Stream::new(socket, false, options, addresses)))
}

/// Returns a connecting socket and the addresses of both ends.
pub(super) fn begin(remote: &Endpoint) -> io::Result<(TcpStream, SocketAddr, SocketAddr)> {
    let addr = remote.socket_addr()?;
    let socket = TcpStream::connect(addr)?;
    prepare(&socket)?;
    let local = socket.local_addr()?;
    Ok((socket, addr, local))
}

/// Sets the options of a socket: frames leave at once, little waits in the kernel, and a dead peer is detected.
pub(super) fn prepare(socket: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(socket);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_notsent_lowat(UNSENT)?;
    socket.set_tcp_user_timeout(Some(GIVE_UP))?;
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3))
}

/// The scope is local if both ends are loopback addresses.
pub(super) fn scope(remote: SocketAddr, local: SocketAddr) -> FaceScope {
    let loopback = |addr: SocketAddr| addr.ip().to_canonical().is_loopback();
    if loopback(remote) && loopback(local) { FaceScope::Local } else { FaceScope::NonLocal }
}

/// Listens for peers over TCP.
#[derive(Debug)]
pub struct TcpListener {
    socket: mio::net::TcpListener,
    acceptor: Acceptor,
    uri: String,
    options: Options,
}

impl TcpListener {
    /// Listens on an address. Port 0 selects a free port. The IPv6 address `::` accepts only IPv6.
    ///
    /// # Errors
    /// Returns an error if the address is in use, this host does not have it, or the process lacks permission.
    pub fn bind(addr: SocketAddr, options: Options) -> io::Result<TcpListener> {
        let socket = listen(addr)?;
        let uri = FaceUri::Tcp(socket.local_addr()?.into()).to_string();
        Ok(TcpListener { socket, acceptor: Acceptor::new()?, uri, options })
    }
}

/// Creates a listening socket. WebSocket uses it too.
pub(super) fn listen(addr: SocketAddr) -> io::Result<mio::net::TcpListener> {
    let bind = || {
        let socket = Socket::new(Domain::for_address(addr), Type::STREAM.nonblocking().cloexec(), None)?;
        if addr.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        socket.bind(&addr.into())?;
        socket.listen(BACKLOG)?;
        Ok(mio::net::TcpListener::from_std(socket.into()))
    };
    bind().map_err(|error| cannot_listen(addr, "TCP", &error))
}

impl Listener for TcpListener {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.socket, token, Interest::READABLE)
    }

    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>> {
        let Some((socket, remote)) = self.acceptor.next(|| self.socket.accept())? else { return Ok(None) };
        prepare(&socket)?;
        let local = socket.local_addr()?;
        let addresses = FaceAddresses {
            remote: FaceUri::Tcp(remote.into()).to_string(),
            local: FaceUri::Tcp(local.into()).to_string(),
            scope: scope(remote, local),
        };
        Ok(Some(Box::new(Stream::new(socket, true, self.options, addresses))))
    }

    fn uri(&self) -> &str {
        &self.uri
    }
}
