//! Faces over UDP multicast: they reach all hosts on the link that have joined the group.
//!
//! One socket receives from the group, and another sends to it. Only this face sends from the second one. So the face
//! recognises its own frames by their source address, and other programs on this host still receive them.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use socket2::{Domain, InterfaceIndexOrAddress, Socket, Type};
use weir_packet::MAX_PACKET_SIZE;

use super::device::{self, Device, invalid};
use super::stream::FaceAddresses;
use super::udp::{HEADERS_V4, HEADERS_V6, allow_splitting};
use super::{Flushed, Peer, Received, Sent, Transport, Uris, datagram_sent};
use crate::scope::{FaceScope, LinkType};
use crate::uri::{Endpoint, FaceUri};

/// A face to a multicast group on a link.
struct MulticastFace {
    receiver: UdpSocket,
    sender: UdpSocket,
    /// The source address of our frames.
    own: SocketAddr,
    group: SocketAddr,
    /// Index of the network interface.
    index: u32,
    /// Maximum length of a frame that IP need not fragment, bytes.
    mtu: usize,
    /// Whether IP may currently fragment sent datagrams.
    is_split: bool,
    buffer: Box<[u8]>,
    malformed: u64,
    /// Maps addresses to peer numbers with a secret key, so that an attacker cannot choose an address that collides
    /// with another.
    peers: RandomState,
    addresses: FaceAddresses,
}

/// Creates a face to a group on the link of a network interface, given as `dev://` URI or as the group's zone.
///
/// # Errors
/// Returns an error if there is no such interface, if it is down or has no address of the group's family, or the
/// operating system's error.
pub(super) fn connect(group: &Endpoint, local: Option<&str>) -> io::Result<Box<dyn Transport>> {
    let uri = FaceUri::Udp(group.clone());
    let device = match (local, group.zone()) {
        (Some(local), _) => Device::of_uri(local)?,
        (None, Some(zone)) => Device::find(zone)?,
        (None, None) => {
            return Err(invalid(format!(
                "{uri} is a group and needs a network interface: give its local URI, such as dev://eth0"
            )));
        }
    };
    if group.zone().is_some_and(|zone| zone != device.name) {
        return Err(invalid(format!("{uri} is not on the link of {}", device.name)));
    }
    let group = group.clone().in_zone(&device.name);
    let opened = match group.ip() {
        IpAddr::V4(ip) => open_v4(&device, ip, group.port()),
        IpAddr::V6(ip) => open_v6(&device, ip, group.port()),
    };
    let (receiver, sender) = opened.map_err(|error| {
        io::Error::new(error.kind(), format!("cannot create a face to {uri} on {}: {error}", device.name))
    })?;
    allow_splitting(&sender, group.ip().is_ipv4(), false)?;
    Ok(Box::new(MulticastFace {
        own: sender.local_addr()?,
        receiver,
        sender,
        group: group.socket_addr()?,
        index: device.index,
        mtu: largest_frame(device.mtu, group.ip().is_ipv4()),
        is_split: false,
        // One byte more, to detect datagrams that are too long.
        buffer: vec![0; MAX_PACKET_SIZE + 1].into(),
        malformed: 0,
        peers: RandomState::new(),
        addresses: FaceAddresses {
            remote: FaceUri::Udp(group).to_string(),
            local: device.uri(),
            scope: FaceScope::NonLocal,
        },
    }))
}

/// The maximum length of a frame in an IP packet of `mtu` bytes.
fn largest_frame(mtu: usize, is_v4: bool) -> usize {
    let headers = if is_v4 { HEADERS_V4 } else { HEADERS_V6 };
    mtu.saturating_sub(headers).min(MAX_PACKET_SIZE)
}

fn udp(domain: Domain) -> io::Result<Socket> {
    Socket::new(domain, Type::DGRAM.nonblocking().cloexec(), None)
}

fn open_v4(device: &Device, group: Ipv4Addr, port: u16) -> io::Result<(UdpSocket, UdpSocket)> {
    let Some(&own) = device.v4.first() else { return Err(no_address("IPv4")) };
    let receiver = udp(Domain::IPV4)?;
    receiver.set_reuse_address(true)?;
    // Do not receive from groups that other programs have joined on other links.
    receiver.set_multicast_all_v4(false)?;
    receiver.bind(&SocketAddr::from((group, port)).into())?;
    receiver.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(device.index))?;
    let sender = udp(Domain::IPV4)?;
    sender.set_multicast_if_v4(&own)?;
    sender.set_multicast_ttl_v4(1)?;
    sender.set_multicast_loop_v4(true)?;
    sender.bind(&SocketAddr::from((own, 0)).into())?;
    Ok((receiver.into(), sender.into()))
}

fn open_v6(device: &Device, group: Ipv6Addr, port: u16) -> io::Result<(UdpSocket, UdpSocket)> {
    let receiver = udp(Domain::IPV6)?;
    receiver.set_reuse_address(true)?;
    receiver.set_only_v6(true)?;
    receiver.set_multicast_all_v6(false)?;
    receiver.bind(&SocketAddrV6::new(group, port, 0, device.index).into())?;
    receiver.join_multicast_v6(&group, device.index)?;
    let sender = udp(Domain::IPV6)?;
    sender.set_only_v6(true)?;
    sender.set_multicast_if_v6(device.index)?;
    sender.set_multicast_hops_v6(1)?;
    sender.set_multicast_loop_v6(true)?;
    // A new address is not usable at once (duplicate address detection).
    let mut result = Err(no_address("IPv6"));
    for own in &device.v6 {
        result = sender.bind(&SocketAddrV6::new(*own, 0, 0, device.index).into());
        if result.is_ok() {
            break;
        }
    }
    result.map(|()| (receiver.into(), sender.into()))
}

fn no_address(family: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AddrNotAvailable, format!("the interface has no {family} address"))
}

impl Transport for MulticastFace {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.receiver.as_raw_fd()), token, Interest::READABLE)
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        for _ in 0..budget {
            match self.receiver.recv_from(&mut self.buffer) {
                Ok((_, from)) if from == self.own => {}
                Ok((len, _)) if len > MAX_PACKET_SIZE => self.malformed += 1,
                Ok((len, from)) => each(self.peers.hash_one(from), &self.buffer[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Drained),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Received::More)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if frame.len() > MAX_PACKET_SIZE {
            return Ok(Sent::TooLong);
        }
        let is_split = frame.len() > self.mtu;
        if is_split != self.is_split {
            allow_splitting(&self.sender, self.group.is_ipv4(), is_split)?;
            self.is_split = is_split;
        }
        datagram_sent(|| self.sender.send_to(frame, self.group))
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        Ok(Flushed::Done)
    }

    fn waiting(&self) -> usize {
        0
    }

    fn mtu(&self) -> Option<usize> {
        Some(self.mtu)
    }

    fn update_mtu(&mut self) {
        if let Ok(mtu) = device::mtu(self.index) {
            self.mtu = largest_frame(mtu, self.group.is_ipv4());
        }
    }

    fn uris(&self) -> Uris<'_> {
        self.addresses.uris()
    }

    fn scope(&self) -> FaceScope {
        self.addresses.scope
    }

    fn link_type(&self) -> LinkType {
        LinkType::MultiAccess
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }
}
