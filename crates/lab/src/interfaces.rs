//! Network interfaces with their addresses and neighbours, through rtnetlink(7).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::net::if_::if_nametoindex;

use crate::namespace::Namespace;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// A netlink socket to the namespace of the thread that opened it.
pub(crate) struct Netlink(Socket);

impl Netlink {
    /// Opens the namespace of the calling thread.
    pub(crate) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink(socket))
    }

    /// Creates a pair of connected interfaces: one here, and one with another name in another namespace.
    pub(crate) fn add_pair(
        &self,
        here: &str,
        there: &str,
        namespace: &Namespace,
        mac: Mac,
    ) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes = vec![
            LinkAttribute::IfName(there.to_owned()),
            LinkAttribute::Address(mac.to_vec()),
            LinkAttribute::NetNsFd(namespace.file().as_raw_fd()),
        ];
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::IfName(here.to_owned()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
            ]),
        ];
        self.request(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Enables an interface, with this MTU.
    pub(crate) fn set_up(&self, name: &str, mtu: Option<u32>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = if_nametoindex(name)?;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        link.attributes = mtu.map(LinkAttribute::Mtu).into_iter().collect();
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Sets the address of an interface, in a network of only it and its neighbour, and the neighbour's addresses.
    pub(crate) fn add_addresses(
        &self,
        name: &str,
        own: Ipv4Addr,
        neighbour: (Ipv4Addr, Mac),
    ) -> io::Result<()> {
        let index = if_nametoindex(name)?;
        let mut address = AddressMessage::default();
        address.header.family = AddressFamily::Inet;
        address.header.prefix_len = 30;
        address.header.index = index;
        address.attributes =
            vec![AddressAttribute::Local(IpAddr::V4(own)), AddressAttribute::Address(IpAddr::V4(own))];
        self.request(RouteNetlinkMessage::NewAddress(address), NLM_F_CREATE | NLM_F_EXCL)?;
        let mut entry = NeighbourMessage::default();
        entry.header.family = AddressFamily::Inet;
        entry.header.ifindex = index;
        entry.header.state = NeighbourState::Permanent;
        entry.attributes = vec![
            NeighbourAttribute::Destination(NeighbourAddress::Inet(neighbour.0)),
            NeighbourAttribute::LinkLayerAddress(neighbour.1.to_vec()),
        ];
        self.request(RouteNetlinkMessage::NewNeighbour(entry), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Sends a request, and waits for the kernel's acknowledgement.
    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let mut reply = Vec::with_capacity(8192);
        self.0.recv(&mut reply, 0)?;
        let reply = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&reply).map_err(|error| {
            io::Error::other(format!("an answer of the kernel cannot be parsed: {error}"))
        })?;
        match reply.payload {
            NetlinkPayload::Error(answer) => match answer.code {
                None => Ok(()),
                Some(_) => Err(answer.to_io()),
            },
            _ => Ok(()),
        }
    }
}
