//! The outside of a forwarder: sockets and clocks.
//!
//! The forwarder uses both only through [`Outside`], so the whole forwarder can run with simulated ones. This costs one
//! virtual call for each system call, and none for each packet.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

use mio::{Registry, Token};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use weir_core::units::Time;

use crate::clock::{Clock, wall_ms};
use crate::transport::tcp::TcpListener;
use crate::transport::udp::{self, Batch, Refused, Socket, Source};
use crate::transport::unix::UnixListener;
use crate::transport::websocket::WebSocketListener;
use crate::transport::{self, Listener, Options, Received, Transport};
use crate::uri::FaceUri;

/// Raises this process's limit of open files and sockets to the hard limit. The usual soft limit of 1024 exists for
/// programs that use select(2).
pub fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // On failure there are fewer connections. Refused ones are counted.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The sockets and clocks of one forwarder. The event loop watches all returned sockets: it gets the token when one can
/// be read, written or accepted from.
pub trait Outside {
    /// The time since the start. It never decreases.
    fn now(&self) -> Time;

    /// The wall-clock time, ms since 1970. It may jump in both directions.
    fn wall_ms(&self) -> u64;

    /// The wall-clock time of the start, ns since 1970.
    fn start_unix_ns(&self) -> u64;

    /// Binds a datagram socket with kernel buffers of `kernel_buffer` bytes in each direction.
    ///
    /// # Errors
    /// Returns the operating system's error, for example if the port is in use.
    fn bind_udp(
        &mut self,
        local: SocketAddr,
        kernel_buffer: usize,
        token: Token,
    ) -> io::Result<Box<dyn Datagrams>>;

    /// Listens for connections.
    ///
    /// # Errors
    /// Returns the operating system's error, for example if the port is in use.
    fn listen(&mut self, at: Place<'_>, token: Token) -> io::Result<Box<dyn Listener>>;

    /// Connects to a canonical URI like [`transport::connect`]. The connection may be established later.
    ///
    /// # Errors
    /// Returns the errors of [`transport::connect`].
    fn connect(
        &mut self,
        remote: &FaceUri,
        local: Option<&str>,
        token: Token,
    ) -> io::Result<Box<dyn Transport>>;

    /// Watches a connection that a listener has accepted.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn watch(&mut self, transport: &mut dyn Transport, token: Token) -> io::Result<()>;

    /// The local address that the host uses towards a peer, by its routes. Nothing is sent.
    fn address_towards(&self, peer: SocketAddr) -> Option<IpAddr>;

    /// The largest datagram that reaches a peer from the address `from` unfragmented, bytes, as far as the host knows.
    /// `None` if it knows no path. Nothing is sent.
    fn path_mtu(&self, from: SocketAddr, peer: SocketAddr) -> Option<usize>;

    /// Returns whether an address is a broadcast or multicast address: see [`udp::is_of_many`].
    fn is_of_many(&self, address: IpAddr) -> bool;

    /// Number of the host's IP datagrams dropped since the start because fragments were missing or there was no room
    /// for them (RFC 4293, ipSystemStatsReasmFails).
    fn reassembly_failures(&self) -> u64;
}

/// An address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A Unix socket with the permission bits of its file.
    Unix(&'a Path, u32),
    /// TCP.
    Tcp(SocketAddr),
    /// WebSocket over TCP.
    WebSocket(SocketAddr),
}

/// A datagram socket for several peers.
pub trait Datagrams {
    /// The socket's local address.
    fn local(&self) -> SocketAddr;

    /// Passes the frames of at most `calls` batches to the callback.
    ///
    /// # Errors
    /// Returns the operating system's error. An unreachable peer is not an error.
    fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received>;

    /// Sends all frames of a batch in order and empties it. Returns what was refused.
    fn send(&mut self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> Refused;

    /// Number of datagrams that found no room in the receive buffer since the socket was created.
    fn dropped(&self) -> u64;
}

impl Datagrams for Socket {
    fn local(&self) -> SocketAddr {
        Socket::local(self)
    }

    fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received> {
        Socket::receive(self, calls, each)
    }

    fn send(&mut self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> Refused {
        Socket::send(self, batch, to, from)
    }

    fn dropped(&self) -> u64 {
        Socket::dropped(self)
    }
}

/// The sockets and clocks of the operating system.
#[derive(Debug)]
pub struct System {
    registry: Registry,
    clock: Clock,
    /// The host's counter at the start.
    reassembly_failures: u64,
}

impl System {
    /// Creates sockets that register with the event loop of `registry`. Time 0 is now.
    pub fn new(registry: Registry) -> System {
        System { registry, clock: Clock::start(), reassembly_failures: host_reassembly_failures() }
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

    fn path_mtu(&self, from: SocketAddr, peer: SocketAddr) -> Option<usize> {
        udp::path_mtu(from, peer)
    }

    fn is_of_many(&self, address: IpAddr) -> bool {
        udp::is_of_many(address)
    }

    fn reassembly_failures(&self) -> u64 {
        host_reassembly_failures().saturating_sub(self.reassembly_failures)
    }
}

/// Reassembly failures of IPv4 and IPv6 in this network namespace, from proc_net(5); 0 if it does not tell.
fn host_reassembly_failures() -> u64 {
    let file = |path| fs::read_to_string(path).unwrap_or_default();
    ipv4_reassembly_failures(&file("/proc/self/net/snmp"))
        + ipv6_reassembly_failures(&file("/proc/self/net/snmp6"))
}

/// The file has a line of names and a line of values for each protocol.
fn ipv4_reassembly_failures(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut fields = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    fields.find(|(name, _)| *name == "ReasmFails").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// The file has a line for each name.
fn ipv6_reassembly_failures(snmp6: &str) -> u64 {
    let value = snmp6.lines().find_map(|line| line.strip_prefix("Ip6ReasmFails"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reassembly_failures_are_found_by_their_names() {
        let snmp = "Ip: Forwarding ReasmReqds ReasmFails FragOKs\nIp: 1 20 7 3\nIcmp: InMsgs\nIcmp: 5\n";
        assert_eq!(ipv4_reassembly_failures(snmp), 7);
        assert_eq!(
            ipv6_reassembly_failures("Ip6InReceives 9\nIp6ReasmFails                   \t4\nIp6FragOKs 1\n"),
            4
        );
        for other in
            ["", "Ip: ReasmFails\n", "Ip: Forwarding\nIp: 1\n", "Ip: ReasmFails\nIp: x\n", "Ip6ReasmFails"]
        {
            assert_eq!((ipv4_reassembly_failures(other), ipv6_reassembly_failures(other)), (0, 0), "{other}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_soft_limit_of_descriptors_becomes_the_hard_one() {
        raise_descriptor_limit();
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("Linux has it");
        assert_eq!(soft, hard);
    }
}
