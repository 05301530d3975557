//! What is outside of a forwarder: sockets and clocks.
//!
//! The forwarder asks for everything by [`Outside`], so that it runs whole also where both are simulated. That costs a call
//! through a table for each system call, and none for each packet.

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

/// Lets this process have as many open files and sockets as the system allows it: the usual soft limit of 1024 is for
/// programs that use select(2).
pub fn raise_descriptor_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // Without it there are fewer connections; what is refused is counted.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

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
    /// An error of the operating system.
    fn watch(&mut self, transport: &mut dyn Transport, token: Token) -> io::Result<()>;

    /// Our address on the way to a peer, as the host routes; nothing is sent.
    fn address_towards(&self, peer: SocketAddr) -> Option<IpAddr>;

    /// The largest datagram on the path to a peer that is not split, as far as the host knows now, if it leaves from this
    /// address; nothing is sent. `None`: it knows no path.
    fn path_mtu(&self, from: SocketAddr, peer: SocketAddr) -> Option<usize>;

    /// Whether an address is that of a broadcast or a group: see [`udp::is_of_many`].
    fn is_of_many(&self, address: IpAddr) -> bool;

    /// IP datagrams of the whole host that were dropped since the start because fragments of them were missing or found no
    /// room (RFC 4293, ipSystemStatsReasmFails).
    fn reassembly_failures(&self) -> u64;
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

    /// Sends all frames of a batch, in order, and empties it; says what was not taken.
    fn send(&mut self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> Refused;

    /// Datagrams that came and found no room in the receive buffer, since the socket is there.
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
    /// What the host had counted at the start.
    reassembly_failures: u64,
}

impl System {
    /// Has the event loop of a registry told of the sockets. The time since the start begins now.
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

/// Reassembly failures of IPv4 and IPv6 in this network namespace, as proc_net(5) has them; 0 where it does not.
fn host_reassembly_failures() -> u64 {
    let file = |path| fs::read_to_string(path).unwrap_or_default();
    ipv4_reassembly_failures(&file("/proc/self/net/snmp"))
        + ipv6_reassembly_failures(&file("/proc/self/net/snmp6"))
}

/// A line of names and one of values for each protocol.
fn ipv4_reassembly_failures(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (names, values) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut fields = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
    fields.find(|(name, _)| *name == "ReasmFails").and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// A line for each name.
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
