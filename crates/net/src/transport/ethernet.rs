//! Faces on Ethernet without IP: frames with EtherType 0x8624.
//!
//! A face is either for the multicast group of the link or for one other host. Each face has its own packet socket
//! (packet(7)) with a kernel filter that passes only its frames.

use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{LinkAddr, SetSockOpt, bind, recvfrom};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};
use weir_packet::{MAX_PACKET_SIZE, tlv};

use super::device::{Device, invalid};
use super::stream::FaceAddresses;
use super::{Flushed, Peer, Received, Sent, Transport, Uris, datagram_sent};
use crate::scope::{FaceScope, LinkType};
use crate::uri::{FaceUri, Mac};

/// EtherType of NDN (registered with IEEE).
pub const NDN_ETHERTYPE: u16 = 0x8624;

/// Destination, source, EtherType.
const HEADER: usize = 14;

/// A face on an Ethernet link.
struct EthernetFace {
    socket: Socket,
    device: Device,
    own: Mac,
    remote: Mac,
    /// The header of each sent frame.
    header: [u8; HEADER],
    buffer: Box<[u8]>,
    malformed: u64,
    addresses: FaceAddresses,
}

/// Creates a face to a group or a host on the link of a network interface, given as a `dev://` URI.
///
/// # Errors
/// Returns an error if the interface does not exist, is down or is not Ethernet, or if the process lacks permission.
pub(super) fn connect(remote: Mac, local: &str) -> io::Result<Box<dyn Transport>> {
    let device = Device::of_uri(local)?;
    let own = device.mac()?;
    if remote == own {
        return Err(invalid(format!("{remote} is the address of {} itself", device.name)));
    }
    let socket = open(&device, own, remote).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => ": no permission; packet sockets need the capability NET_RAW",
            _ => "",
        };
        io::Error::new(
            error.kind(),
            format!("cannot create an Ethernet face on {}{hint} ({error})", device.name),
        )
    })?;
    let addresses = FaceAddresses {
        remote: FaceUri::Ethernet(remote).to_string(),
        local: device.uri(),
        scope: FaceScope::NonLocal,
    };
    let mut header = [0; HEADER];
    header[..6].copy_from_slice(&remote.0);
    header[6..12].copy_from_slice(&own.0);
    header[12..].copy_from_slice(&NDN_ETHERTYPE.to_be_bytes());
    let buffer = vec![0; HEADER + MAX_PACKET_SIZE].into();
    Ok(Box::new(EthernetFace { socket, device, own, remote, header, buffer, malformed: 0, addresses }))
}

fn open(device: &Device, own: Mac, remote: Mac) -> io::Result<Socket> {
    let ethertype = i32::from(NDN_ETHERTYPE.to_be());
    let kind = Type::from(libc::SOCK_RAW).nonblocking().cloexec();
    let socket = Socket::new(Domain::PACKET, kind, Some(Protocol::from(ethertype)))?;
    socket.attach_filter(&filter(own, remote))?;
    if remote.is_multicast() {
        AddMembership.set(&socket, &Membership::of_group(device, remote))?;
    }
    // The address has no EtherType, so the socket's own stays.
    bind(socket.as_raw_fd(), &device.link)?;
    Ok(socket)
}

/// Builds a kernel filter (socket-filter(7)) for frames to the group, or from the one host to us.
fn filter(own: Mac, remote: Mac) -> Vec<SockFilter> {
    let mut wanted = if remote.is_multicast() { vec![(0, remote)] } else { vec![(0, own), (6, remote)] };
    let mut program = Vec::new();
    // There are two comparisons per address. Each that fails jumps to the end.
    let mut left = wanted.len() as u8 * 4;
    for (offset, Mac([a, b, c, d, e, f])) in wanted.drain(..) {
        for (offset, size, value) in [
            (offset, libc::BPF_W, u32::from_be_bytes([a, b, c, d])),
            (offset + 4, libc::BPF_H, u32::from_be_bytes([0, 0, e, f])),
        ] {
            left -= 2;
            program.push(instruction(libc::BPF_LD | size | libc::BPF_ABS, 0, offset));
            program.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, left + 1, value));
        }
    }
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, u32::MAX));
    program.push(instruction(libc::BPF_RET | libc::BPF_K, 0, 0));
    program
}

/// Builds one instruction. A comparison that fails skips `skip` instructions.
fn instruction(code: u32, skip: u8, operand: u32) -> SockFilter {
    SockFilter::new(code as u16, 0, skip, operand)
}

/// The option PACKET_ADD_MEMBERSHIP: the interface accepts frames to a group while the socket is open.
#[derive(Clone, Copy, Debug)]
struct AddMembership;

/// struct packet_mreq of packet(7).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Membership {
    ifindex: libc::c_int,
    kind: libc::c_ushort,
    address_len: libc::c_ushort,
    address: [u8; 8],
}

impl Membership {
    fn of_group(device: &Device, Mac([a, b, c, d, e, f]): Mac) -> Membership {
        Membership {
            ifindex: device.index as libc::c_int,
            kind: libc::PACKET_MR_MULTICAST as libc::c_ushort,
            address_len: 6,
            address: [a, b, c, d, e, f, 0, 0],
        }
    }
}

nix::setsockopt_impl!(
    AddMembership,
    libc::SOL_PACKET,
    libc::PACKET_ADD_MEMBERSHIP,
    Membership,
    nix::sys::socket::sockopt::SetStruct<Membership>
);

impl EthernetFace {
    /// Returns whether a received frame is for this face. The filter passes no others, but between its creation and its
    /// binding the socket receives from all interfaces.
    fn admits(&self, from: Option<LinkAddr>, header: &[u8]) -> bool {
        let expected = if self.remote.is_multicast() { self.remote } else { self.own };
        let (to, source) = (&header[..6], &header[6..12]);
        from.is_some_and(|from| from.ifindex() == self.device.index as usize)
            && to == expected.0
            && source != self.own.0
            && (self.remote.is_multicast() || source == self.remote.0)
    }
}

impl Transport for EthernetFace {
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.socket.as_raw_fd()), token, Interest::READABLE)
    }

    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received> {
        for _ in 0..budget {
            let (len, from) = match recvfrom::<LinkAddr>(self.socket.as_raw_fd(), &mut self.buffer) {
                Ok(received) => received,
                Err(Errno::EAGAIN) => return Ok(Received::Drained),
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let Some((header, payload)) = self.buffer[..len].split_at_checked(HEADER) else { continue };
            if !self.admits(from, header) {
                continue;
            }
            // Ethernet pads a short frame to 60 bytes. The bytes after the packet are removed.
            let packet = tlv::stream_frame_len(payload).ok().flatten().and_then(|len| payload.get(..len));
            match packet {
                Some(packet) => each(peer(self.remote, header), packet),
                None => self.malformed += 1,
            }
        }
        Ok(Received::More)
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<Sent> {
        if frame.len() > MAX_PACKET_SIZE {
            return Ok(Sent::TooLong);
        }
        datagram_sent(|| self.socket.send_vectored(&[IoSlice::new(&self.header), IoSlice::new(frame)]))
    }

    fn flush(&mut self) -> io::Result<Flushed> {
        Ok(Flushed::Done)
    }

    fn waiting(&self) -> usize {
        0
    }

    fn mtu(&self) -> Option<usize> {
        Some(self.device.mtu.min(MAX_PACKET_SIZE))
    }

    fn uris(&self) -> Uris<'_> {
        self.addresses.uris()
    }

    fn scope(&self) -> FaceScope {
        self.addresses.scope
    }

    fn link_type(&self) -> LinkType {
        if self.remote.is_multicast() { LinkType::MultiAccess } else { LinkType::PointToPoint }
    }

    fn malformed(&self) -> u64 {
        self.malformed
    }
}

/// The sender of a frame: its address if the face can have several peers.
fn peer(remote: Mac, header: &[u8]) -> Peer {
    match header {
        [_, _, _, _, _, _, a, b, c, d, e, f, ..] if remote.is_multicast() => {
            Mac([*a, *b, *c, *d, *e, *f]).number()
        }
        _ => 0,
    }
}
