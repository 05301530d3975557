//! The lab's end of an interface: a packet socket (packet(7)) that receives and sends whole Ethernet frames.
//!
//! Each frame is preceded by `struct virtio_net_hdr`, which records what the kernel left undone: a UDP checksum that
//! the "hardware" would compute. It is passed on with the frame to the other end, so the kernel there knows that there
//! is nothing to check.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::sys::socket::{
    ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, SetSockOpt, SockaddrStorage, bind, getsockopt,
    recvmmsg, sendmmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use socket2::{Domain, Protocol, Socket, Type};

use super::sys;

/// Maximum number of frames per system call.
pub(super) const BATCH: usize = 32;
/// Length of `struct virtio_net_hdr`, bytes.
pub(super) const VNET: usize = 10;
/// Length of destination, source and EtherType, and of a VLAN tag, which the MTU does not count either, bytes.
const ETHERNET: usize = 14 + 4;
/// Size of a socket's kernel buffers, bytes.
const KERNEL_BUFFER: usize = 16 << 20;

/// The lab's end of an interface; see [`open`].
#[derive(Debug)]
pub struct Port {
    name: String,
    index: usize,
    socket: Socket,
    mtu: usize,
}

/// A received frame with the bytes in front of it.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) buffer: Box<[u8]>,
    pub(super) len: usize,
}

/// An experimental EtherType (IEEE 802). No kernel handles it.
pub(super) const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

impl Frame {
    /// A frame of this many bytes that no node handles.
    pub(super) fn of_nothing(bytes: usize) -> Frame {
        let mut buffer = vec![0; VNET + bytes.max(14)];
        buffer[VNET + 12..VNET + 14].copy_from_slice(&EXPERIMENT);
        Frame { len: buffer.len(), buffer: buffer.into() }
    }

    /// The Ethernet frame.
    pub(super) fn ethernet(&self) -> &[u8] {
        &self.buffer[VNET..self.len]
    }

    /// Returns whether the kernel would split it into several frames.
    pub(super) fn is_joined(&self) -> bool {
        self.buffer[1] != 0
    }
}

/// A received frame of a call, in the order of the buffers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Length including the bytes in front of the frame, bytes; 0: nothing that counts.
    pub(super) len: usize,
    /// Whether it was longer than the buffer.
    pub(super) is_cut: bool,
    /// The kernel's arrival time, ns since 1970.
    pub(super) unix_ns: u64,
}

/// The buffers of system calls for many frames. All ports share them.
pub(super) struct Calls {
    take: MultiHeaders<LinkAddr>,
    send: MultiHeaders<LinkAddr>,
    pub(super) taken: [Taken; BATCH],
}

impl Calls {
    pub(super) fn new() -> Calls {
        let time = nix::cmsg_space!(TimeSpec);
        Calls {
            take: MultiHeaders::preallocate(BATCH, Some(time)),
            send: MultiHeaders::preallocate(BATCH, None),
            taken: [Taken::default(); BATCH],
        }
    }
}

/// Opens the lab's end of an interface in this network namespace. Frames wait in it from now on.
///
/// # Errors
/// Returns an error if there is no such interface, it is down, or there is no permission for packet sockets (NET_RAW).
pub fn open(interface: &str) -> io::Result<Port> {
    let link = getifaddrs()?
        .filter(|entry| entry.interface_name == interface)
        .find_map(|entry| entry.address.as_ref().and_then(SockaddrStorage::as_link_addr).copied());
    let Some(link) = link else {
        return Err(io::Error::new(io::ErrorKind::NotFound, format!("there is no interface {interface}")));
    };
    let every = i32::from((libc::ETH_P_ALL as u16).to_be());
    let kind = Type::from(libc::SOCK_RAW).nonblocking().cloexec();
    let socket = Socket::new(Domain::PACKET, kind, Some(Protocol::from(every)))?;
    IgnoreOutgoing.set(&socket, &1)?;
    VnetHeader.set(&socket, &1)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    if setsockopt(&socket, sockopt::RcvBufForce, &KERNEL_BUFFER).is_err() {
        let _ = setsockopt(&socket, sockopt::RcvBuf, &KERNEL_BUFFER);
    }
    if setsockopt(&socket, sockopt::SndBufForce, &KERNEL_BUFFER).is_err() {
        let _ = setsockopt(&socket, sockopt::SndBuf, &KERNEL_BUFFER);
    }
    // The address has no EtherType, so the socket's own stays.
    bind(socket.as_raw_fd(), &link)?;
    Ok(Port { name: interface.to_owned(), index: link.ifindex(), socket, mtu: sys::mtu(interface)? })
}

impl Port {
    /// The interface's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length of a buffer for the longest frame, including the bytes in front of it, bytes.
    pub(super) fn longest(&self) -> usize {
        VNET + ETHERNET + self.mtu
    }

    pub(super) fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.socket.as_raw_fd()), token, Interest::READABLE)
    }

    /// Receives frames into `buffers`. Returns their number; `calls.taken` has the details.
    pub(super) fn take(&self, buffers: &mut [Box<[u8]>; BATCH], calls: &mut Calls) -> Result<usize, Errno> {
        let mut slices = buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
        let fd = self.socket.as_raw_fd();
        let results = recvmmsg(fd, &mut calls.take, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None)?;
        let mut count = 0;
        for (message, taken) in results.zip(&mut calls.taken) {
            count += 1;
            // Between its creation and its binding, the socket receives from all interfaces.
            let is_ours = message.address.is_some_and(|from| from.ifindex() == self.index);
            *taken = Taken {
                len: if is_ours { message.bytes } else { 0 },
                is_cut: message.flags.contains(MsgFlags::MSG_TRUNC),
                unix_ns: 0,
            };
            if let Ok(mut messages) = message.cmsgs()
                && let Some(ControlMessageOwned::ScmTimestampns(time)) = messages.next()
            {
                taken.unix_ns = nanoseconds(time);
            }
        }
        Ok(count)
    }

    /// Sends at most [`BATCH`] frames. Returns the number of sent frames, and the error of the next one, if any.
    pub(super) fn send<'a>(
        &self,
        frames: impl ExactSizeIterator<Item = &'a Frame>,
        calls: &mut Calls,
    ) -> Result<usize, Errno> {
        let count = frames.len().min(BATCH);
        let mut slices = [[IoSlice::new(&[])]; BATCH];
        for (slice, frame) in slices.iter_mut().zip(frames) {
            *slice = [IoSlice::new(&frame.buffer[..frame.len])];
        }
        let to = [None::<LinkAddr>; BATCH];
        let fd = self.socket.as_raw_fd();
        let results =
            sendmmsg(fd, &mut calls.send, &slices[..count], &to[..count], [], MsgFlags::MSG_DONTWAIT)?;
        Ok(results.count())
    }

    /// Number of frames that the kernel dropped since the last call because they were not received in time.
    pub(super) fn kernel_drops(&self) -> u64 {
        getsockopt(&self.socket, Statistics).map_or(0, |[_, drops]| u64::from(drops))
    }
}

/// The wall-clock time, ns since 1970.
pub(super) fn unix_ns() -> u64 {
    clock_gettime(ClockId::CLOCK_REALTIME).map_or(0, nanoseconds)
}

fn nanoseconds(time: TimeSpec) -> u64 {
    time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
}

/// The option PACKET_IGNORE_OUTGOING: the socket does not receive its own frames.
#[derive(Clone, Copy, Debug)]
struct IgnoreOutgoing;
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
nix::setsockopt_impl!(
    IgnoreOutgoing,
    libc::SOL_PACKET,
    PACKET_IGNORE_OUTGOING,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

/// The option PACKET_VNET_HDR.
#[derive(Clone, Copy, Debug)]
struct VnetHeader;
const PACKET_VNET_HDR: libc::c_int = 15;
nix::setsockopt_impl!(
    VnetHeader,
    libc::SOL_PACKET,
    PACKET_VNET_HDR,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

/// The option PACKET_STATISTICS: received and dropped frames since the last query.
#[derive(Clone, Copy, Debug)]
struct Statistics;
nix::getsockopt_impl!(
    Statistics,
    libc::SOL_PACKET,
    libc::PACKET_STATISTICS,
    [u32; 2],
    sockopt::GetStruct<[u32; 2]>
);
