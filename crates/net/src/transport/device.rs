//! Network interfaces of this host: the properties that faces need.

use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::{LinkAddr, SockaddrStorage};
use socket2::{Domain, Protocol, Socket, Type};

use crate::uri::{FaceUri, Mac};

/// A network interface that is up.
#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) index: u32,
    /// Link-layer address in the form that sockets use.
    pub(super) link: LinkAddr,
    /// Maximum length of an IP packet, or of an Ethernet payload, bytes.
    pub(super) mtu: usize,
    pub(super) v4: Vec<Ipv4Addr>,
    pub(super) v6: Vec<Ipv6Addr>,
}

impl Device {
    /// Finds the interface of a `dev://` URI.
    ///
    /// # Errors
    /// Returns an error if the text is not such a URI, and the errors of [`Device::find`].
    pub(super) fn of_uri(uri: &str) -> io::Result<Device> {
        match uri.parse()? {
            FaceUri::Device(name) => Device::find(&name),
            other => Err(invalid(format!(
                "the local URI must be a network interface, such as dev://eth0, not {other}"
            ))),
        }
    }

    /// Finds the interface with this name.
    ///
    /// # Errors
    /// Returns an error if the interface does not exist or is down.
    pub(super) fn find(name: &str) -> io::Result<Device> {
        let (mut link, mut up) = (None, false);
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for entry in getifaddrs()?.filter(|entry| entry.interface_name == name) {
            up |= entry.flags.contains(InterfaceFlags::IFF_UP);
            let Some(addr) = &entry.address else { continue };
            link = link.or_else(|| SockaddrStorage::as_link_addr(addr).copied());
            v4.extend(addr.as_sockaddr_in().map(|addr| addr.ip()));
            v6.extend(addr.as_sockaddr_in6().map(|addr| addr.ip()));
        }
        let Some(link) = link else {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("this host has no network interface {name}; `ip link` lists the interfaces"),
            ));
        };
        if !up {
            return Err(io::Error::new(
                io::ErrorKind::NetworkDown,
                format!("network interface {name} is down; `ip link set {name} up` enables it"),
            ));
        }
        let index = u32::try_from(link.ifindex()).map_err(io::Error::other)?;
        // For traffic on the link, a link-local address is best.
        v6.sort_by_key(|ip| !ip.is_unicast_link_local());
        Ok(Device { name: name.to_owned(), index, link, mtu: mtu(index)?, v4, v6 })
    }

    pub(super) fn uri(&self) -> String {
        FaceUri::Device(self.name.clone()).to_string()
    }

    /// The interface's Ethernet address.
    ///
    /// # Errors
    /// Returns an error if it is not an Ethernet interface.
    pub(super) fn mac(&self) -> io::Result<Mac> {
        match self.link.addr() {
            Some(mac) if self.link.hatype() == libc::ARPHRD_ETHER => Ok(Mac(mac)),
            _ => Err(invalid(format!("network interface {} is not Ethernet", self.name))),
        }
    }
}

pub(super) fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Asks the kernel for an interface's MTU (rtnetlink(7)). Only the kernel knows the MTU in our network namespace.
pub(super) fn mtu(index: u32) -> io::Result<usize> {
    const HEADERS: usize = 32;
    let socket = Socket::new(
        Domain::from(libc::AF_NETLINK),
        Type::from(libc::SOCK_RAW).cloexec(),
        Some(Protocol::from(libc::NETLINK_ROUTE)),
    )?;
    // nlmsghdr {len, type, flags, seq, pid}, ifinfomsg {family, type, index, flags, change}
    let mut request = Vec::with_capacity(HEADERS);
    request.extend((HEADERS as u32).to_ne_bytes());
    request.extend(libc::RTM_GETLINK.to_ne_bytes());
    request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    request.extend([0; 12]);
    request.extend(index.to_ne_bytes());
    request.extend([0; 8]);
    socket.send(&request)?;
    let mut reply = vec![0; 64 << 10];
    let len = (&socket).read(&mut reply)?;
    let attributes = reply.get(HEADERS..len).unwrap_or_default();
    let mtu = attribute(attributes, libc::IFLA_MTU)
        .and_then(|value| value.try_into().ok())
        .map(|value| u32::from_ne_bytes(value) as usize);
    mtu.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the network interface is gone"))
}

/// The value of the first attribute of this kind. Each attribute is {len, kind, value}, aligned to 4 bytes.
fn attribute(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    while let [len_0, len_1, kind_0, kind_1, ..] = *attributes {
        let len = usize::from(u16::from_ne_bytes([len_0, len_1]));
        if u16::from_ne_bytes([kind_0, kind_1]) == kind {
            return attributes.get(4..len);
        }
        attributes = attributes.get(len.next_multiple_of(4).max(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known_and_no_ethernet() {
        let device = Device::of_uri("dev://lo").expect("every host has it");
        assert_eq!((device.uri().as_str(), device.index), ("dev://lo", 1));
        assert!(device.v4.contains(&Ipv4Addr::LOCALHOST) && device.mtu >= 1280);
        assert!(device.mac().expect_err("loopback").to_string().contains("lo is not Ethernet"));
    }

    #[test]
    fn what_is_no_interface_is_an_error_that_says_so() {
        let message = |uri| Device::of_uri(uri).expect_err("none").to_string();
        assert!(message("dev://nosuch0").contains("no network interface nosuch0"));
        assert!(message("udp4://127.0.0.1").contains("dev://eth0"));
        assert!(message("eth0").contains("not a face URI"));
    }

    #[test]
    fn attributes_are_found_and_broken_ones_are_none() {
        let attributes =
            [&5u16.to_ne_bytes()[..], &1u16.to_ne_bytes(), &[9, 0, 0, 0], &[8, 0, 4, 0, 1, 2, 3, 4]].concat();
        assert_eq!(attribute(&attributes, 1), Some(&[9][..]));
        assert_eq!(attribute(&attributes, 4), Some(&[1, 2, 3, 4][..]));
        assert_eq!(attribute(&attributes, 5), None);
        for broken in [&[0, 0, 9, 0][..], &[0xFF, 0xFF, 4, 0], &[2, 0, 4, 0], &[8, 0]] {
            assert_eq!(attribute(broken, 4), None);
        }
    }
}
