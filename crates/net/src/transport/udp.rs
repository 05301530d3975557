//! Unicast UDP: one socket, many faces.
//!
//! Datagrams are received in batches (recvmmsg, and merged by the kernel where it can: GRO) and sent in batches per
//! face: a run of frames of the same length takes one system call (GSO).
//!
//! IP does not fragment frames that fit the path (DF is set). The kernel knows the path's MTU from the route and from
//! routers' messages ([`path_mtu`]), and refuses longer datagrams. IP fragments a longer frame only if the face is
//! configured to send it.

mod batch;

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, getsockopt, sendmsg, setsockopt, sockopt};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use smallvec::SmallVec;

use super::Received;

pub use batch::Batch;

use batch::{Frames, Run};

/// Size of a receive buffer, bytes: a merged batch, or the longest datagram.
const RECEIVE_BUFFER: usize = 65_536;

/// Number of gathered frames whose descriptors need no allocation: as many as the longest run of 8 kB frames has.
const FRAMES_IN_PLACE: usize = 8;

/// Length of the headers of IPv4 and UDP, bytes.
pub(super) const HEADERS_V4: usize = 28;
/// Length of the headers of IPv6 and UDP, bytes.
pub(super) const HEADERS_V6: usize = 48;

/// A UDP socket with all the faces that use it.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffers: Vec<Vec<u8>>,
    /// Whether IP may currently fragment sent datagrams.
    is_split: bool,
    /// The frames of a refused run, concatenated.
    joined: Vec<u8>,
    /// Maximum number of frames that the kernel accepts at once.
    most: usize,
    /// Number of system calls for sending.
    calls: u64,
}

/// The sender of a datagram, and the local address to which it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The sender.
    pub from: SocketAddr,
    /// The local address, if the socket has several.
    pub to: Option<IpAddr>,
}

impl Socket {
    /// Binds a socket with kernel buffers of `kernel_buffer` bytes in each direction, or as much as the system allows.
    /// 0 selects the system's default.
    ///
    /// # Errors
    /// Returns the operating system's error, such as an address in use.
    pub fn bind(local: SocketAddr, kernel_buffer: usize) -> io::Result<Socket> {
        let domain = if local.is_ipv4() { socket2::Domain::IPV4 } else { socket2::Domain::IPV6 };
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
        if local.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&local.into())?;
        let io: UdpSocket = socket.into();
        let state = state_of(&io, local.is_ipv4())?;
        if kernel_buffer > 0 {
            set_kernel_buffers(&io, kernel_buffer);
        }
        allow_splitting(&io, local.is_ipv4(), false)?;
        let local = io.local_addr()?;
        let buffers = (0..BATCH_SIZE).map(|_| vec![0; RECEIVE_BUFFER]).collect();
        let most = state.max_gso_segments().max(1);
        Ok(Socket { io, state, local, buffers, is_split: false, joined: Vec::new(), most, calls: 0 })
    }

    /// The socket's local address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Registers the socket with the event loop.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.io.as_raw_fd()), token, Interest::READABLE)
    }

    /// Passes the frames of at most `calls` batches to the callback.
    ///
    /// # Errors
    /// Returns the operating system's error. An unreachable peer is not an error.
    pub fn receive(&mut self, calls: usize, each: &mut dyn FnMut(Source, &[u8])) -> io::Result<Received> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        for _ in 0..calls {
            let mut buffers = self.buffers.iter_mut();
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] = core::array::from_fn(|_| {
                IoSliceMut::new(buffers.next().map_or(&mut [][..], |buffer| &mut buffer[..]))
            });
            let count = match self.state.recv(UdpSockRef::from(&self.io), &mut slices, &mut metas) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Received::Drained),
                // A host's ICMP answer to a datagram of ours, not a failure of the socket.
                Err(error) if is_peers(&error) => continue,
                Err(error) => return Err(error),
            };
            for (buffer, meta) in self.buffers.iter().zip(&metas).take(count) {
                let source = Source { from: meta.addr, to: meta.dst_ip };
                for frame in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    each(source, frame);
                }
            }
            // The kernel had no more. The event loop reports later arrivals.
            if count < BATCH_SIZE {
                return Ok(Received::Drained);
            }
        }
        Ok(Received::More)
    }

    /// Sends all frames of a batch in order and empties it. Returns what the kernel refused.
    pub fn send(&mut self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> Refused {
        let mut refused = Refused::default();
        let mut takes_runs = batch.takes_runs();
        let whole = batch.path_mtu();
        let mut rest = batch.all();
        while let Some(run) = Run::at_the_front(rest.lengths(), if takes_runs { self.most } else { 1 }, whole)
        {
            let frames = rest.take(run.frames);
            self.set_splitting(run.segment > whole);
            let Err(error) = self.send_run(&frames, run, to, from) else { continue };
            if !may_be_about_the_run(&error) && frames.has_shared() {
                refused.note(run.frames, run.segment, &error);
                continue;
            }
            let is_first_sent = self.send_each(&frames, run, to, from, &mut refused);
            // If the kernel also refuses a single frame, the run was not the cause. It may be an unreachable address.
            takes_runs &= !(run.frames > 1 && is_first_sent && may_be_about_the_run(&error));
        }
        // Only a socket that forbids fragmentation learns the MTU from routers.
        self.set_splitting(false);
        batch.set_takes_runs(takes_runs);
        batch.clear();
        refused
    }

    /// Sends a run of frames with one system call.
    fn send_run(
        &mut self,
        frames: &Frames<'_>,
        run: Run,
        to: SocketAddr,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        self.calls += 1;
        if frames.has_shared() {
            return Ok(self.send_gathered(frames, run, to, from).map(|_| ())?);
        }
        let segment_size = (run.frames > 1).then_some(run.segment);
        let contents = frames.own();
        let transmit = Transmit { destination: to, ecn: None, contents, segment_size, src_ip: from };
        self.state.try_send(UdpSockRef::from(&self.io), &transmit)
    }

    /// Sends a refused run frame by frame. Returns whether the first frame was accepted.
    fn send_each(
        &mut self,
        frames: &Frames<'_>,
        run: Run,
        to: SocketAddr,
        from: Option<IpAddr>,
        refused: &mut Refused,
    ) -> bool {
        let mut joined = core::mem::take(&mut self.joined);
        frames.join(&mut joined);
        let mut is_first_sent = None;
        for contents in joined.chunks(run.segment.max(1)) {
            self.calls += 1;
            let transmit =
                Transmit { destination: to, ecn: None, contents, segment_size: None, src_ip: from };
            let sent = self.state.try_send(UdpSockRef::from(&self.io), &transmit);
            is_first_sent.get_or_insert(sent.is_ok());
            if let Err(error) = sent {
                refused.note(1, contents.len(), &error);
            }
        }
        self.joined = joined;
        is_first_sent.unwrap_or(false)
    }

    /// Sends a run of frames whose bytes are in several places, without copying them.
    fn send_gathered(
        &self,
        frames: &Frames<'_>,
        run: Run,
        to: SocketAddr,
        from: Option<IpAddr>,
    ) -> nix::Result<usize> {
        let parts: SmallVec<[IoSlice<'_>; 2 * FRAMES_IN_PLACE]> = frames.parts().map(IoSlice::new).collect();
        let segment = run.segment as u16;
        let (v4, v6);
        let mut controls: SmallVec<[ControlMessage<'_>; 2]> = SmallVec::new();
        if run.frames > 1 {
            controls.push(ControlMessage::UdpGsoSegments(&segment));
        }
        match from {
            Some(IpAddr::V4(from)) => {
                let ipi_spec_dst = libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) };
                let ipi_addr = libc::in_addr { s_addr: 0 };
                v4 = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst, ipi_addr };
                controls.push(ControlMessage::Ipv4PacketInfo(&v4));
            }
            Some(IpAddr::V6(from)) => {
                let ipi6_addr = libc::in6_addr { s6_addr: from.octets() };
                v6 = libc::in6_pktinfo { ipi6_ifindex: 0, ipi6_addr };
                controls.push(ControlMessage::Ipv6PacketInfo(&v6));
            }
            None => {}
        }
        let to = SockaddrStorage::from(to);
        sendmsg(self.io.as_raw_fd(), &parts, &controls, MsgFlags::empty(), Some(&to))
    }

    /// Number of system calls for sending.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Number of datagrams that found no room in the receive buffer. The kernel counts modulo 2^32.
    pub fn dropped(&self) -> u64 {
        getsockopt(&self.io, MemoryInfo).map_or(0, |info| u64::from(info[DROPS]))
    }

    fn set_splitting(&mut self, is_split: bool) {
        if is_split != self.is_split && allow_splitting(&self.io, self.local.is_ipv4(), is_split).is_ok() {
            self.is_split = is_split;
        }
    }
}

/// Creates the state of a socket. It asks the kernel for the arrival time and the traffic class of each datagram. Weir
/// does not read them and they cost time, so they are switched off again.
fn state_of(io: &UdpSocket, is_v4: bool) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(UdpSockRef::from(io))?;
    setsockopt(io, sockopt::ReceiveTimestampns, &false)?;
    if is_v4 {
        setsockopt(io, sockopt::IpRecvTos, &false)?;
    } else {
        setsockopt(io, sockopt::Ipv6RecvTClass, &false)?;
    }
    Ok(state)
}

/// The part of a batch that the kernel refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// Number of refused frames.
    pub frames: u64,
    /// Length of the shortest frame that is too long for the path as the kernel knows it, bytes.
    pub too_long: Option<usize>,
    /// Whether there is no path from our address to the peer. The host may no longer have the address.
    pub has_no_path: bool,
}

impl Refused {
    /// Records refused frames. `len` is the length of the first one, bytes.
    fn note(&mut self, frames: usize, len: usize, error: &io::Error) {
        self.frames += frames as u64;
        match error.raw_os_error() {
            Some(libc::EMSGSIZE) => self.note_too_long(len),
            Some(libc::EINVAL | libc::ENETUNREACH | libc::EADDRNOTAVAIL) => self.has_no_path = true,
            _ => {}
        }
    }

    /// Records a frame of this length, in bytes, that was too long.
    pub fn note_too_long(&mut self, len: usize) {
        self.too_long = Some(self.too_long.map_or(len, |shortest| shortest.min(len)));
    }
}

/// The maximum length of a frame that reaches a peer without fragmentation, bytes, as far as the kernel knows: from the
/// route's interface, and from routers' messages. Frames leave from the address `from`, on which the route may depend.
/// Its port does not matter. Nothing is sent. Returns `None` if there is no route, or the host does not have the
/// address.
pub fn path_mtu(mut from: SocketAddr, peer: SocketAddr) -> Option<usize> {
    from.set_port(0);
    // A link-local address needs the link.
    if let (SocketAddr::V6(from), SocketAddr::V6(peer)) = (&mut from, peer)
        && from.ip().is_unicast_link_local()
        && from.scope_id() == 0
    {
        from.set_scope_id(peer.scope_id());
    }
    let probe = UdpSocket::bind(from).ok()?;
    probe.connect(peer).ok()?;
    let (mtu, headers) = match peer.is_ipv4() {
        true => (getsockopt(&probe, RouteMtu), HEADERS_V4),
        false => (getsockopt(&probe, RouteMtu6), HEADERS_V6),
    };
    usize::try_from(mtu.ok()?).ok()?.checked_sub(headers).filter(|mtu| *mtu > 0)
}

/// Returns whether an address is a multicast or broadcast address. Datagrams can be sent to it, but not from it.
pub fn is_of_many(address: IpAddr) -> bool {
    let IpAddr::V4(v4) = address else { return address.is_multicast() };
    let v4_of = |address: Option<SockaddrStorage>| address?.as_sockaddr_in().map(|address| address.ip());
    // Networks of one or two hosts have no broadcast address (RFC 3021).
    let is_all_of =
        |network: Ipv4Addr, mask: Ipv4Addr| (network | !mask) == v4 && u32::from(mask).count_zeros() > 1;
    let is_all = |of: InterfaceAddress| {
        v4_of(of.address).zip(v4_of(of.netmask)).is_some_and(|(of, mask)| is_all_of(of, mask))
    };
    v4.is_multicast() || v4.is_broadcast() || getifaddrs().is_ok_and(|mut all| all.any(is_all))
}

/// Sets whether IP may fragment the datagrams of a socket, also on the path. If not, the kernel refuses datagrams
/// longer than the path's MTU, which it learns from routers.
///
/// If so, over IPv4 this host fragments only for its own interface, and routers do the rest. The host ignores ICMP
/// messages about the path, because anybody can forge them (ip(7), IP_PMTUDISC_OMIT). IPv6 routers do not fragment, so
/// this host must believe them; but they cannot announce less than 1280 bytes (RFC 8200, section 5).
pub(super) fn allow_splitting(io: &UdpSocket, is_v4: bool, is_allowed: bool) -> io::Result<()> {
    if is_v4 {
        let how = if is_allowed { libc::IP_PMTUDISC_OMIT } else { libc::IP_PMTUDISC_DO };
        return Ok(setsockopt(io, MtuDiscover, &how)?);
    }
    let how = if is_allowed { libc::IPV6_PMTUDISC_DONT } else { libc::IPV6_PMTUDISC_DO };
    setsockopt(io, MtuDiscover6, &how)?;
    Ok(setsockopt(io, DontFragment6, &libc::c_int::from(!is_allowed))?)
}

/// Requests large kernel buffers: beyond the system's limit if the process has the privilege, else up to it.
fn set_kernel_buffers(io: &UdpSocket, size: usize) {
    if setsockopt(io, sockopt::RcvBufForce, &size).is_err() {
        let _ = setsockopt(io, sockopt::RcvBuf, &size);
    }
    if setsockopt(io, sockopt::SndBufForce, &size).is_err() {
        let _ = setsockopt(io, sockopt::SndBuf, &size);
    }
}

/// The option IP_MTU_DISCOVER: whether datagrams may be fragmented (ip(7)).
#[derive(Clone, Copy, Debug)]
struct MtuDiscover;

nix::setsockopt_impl!(
    MtuDiscover,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

/// The same for IPv6 (ipv6(7)).
#[derive(Clone, Copy, Debug)]
struct MtuDiscover6;

nix::setsockopt_impl!(
    MtuDiscover6,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU_DISCOVER,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

/// The option IPV6_DONTFRAG (RFC 3542, section 11.2): this host does not fragment either.
#[derive(Clone, Copy, Debug)]
struct DontFragment6;

nix::setsockopt_impl!(
    DontFragment6,
    libc::IPPROTO_IPV6,
    libc::IPV6_DONTFRAG,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

/// The option SO_MEMINFO: a socket's memory use, and at [`DROPS`] its number of dropped datagrams (sock_diag(7),
/// SK_MEMINFO).
#[derive(Clone, Copy, Debug)]
struct MemoryInfo;

nix::getsockopt_impl!(
    MemoryInfo,
    libc::SOL_SOCKET,
    libc::SO_MEMINFO,
    [u32; DROPS + 1],
    sockopt::GetStruct<[u32; DROPS + 1]>
);

const DROPS: usize = 8;

/// The option IP_MTU: the path MTU of a connected socket, as far as the kernel knows.
#[derive(Clone, Copy, Debug)]
struct RouteMtu;

nix::getsockopt_impl!(RouteMtu, libc::IPPROTO_IP, libc::IP_MTU, libc::c_int, sockopt::GetStruct<libc::c_int>);

/// The same for IPv6.
#[derive(Clone, Copy, Debug)]
struct RouteMtu6;

nix::getsockopt_impl!(
    RouteMtu6,
    libc::IPPROTO_IPV6,
    libc::IPV6_MTU,
    libc::c_int,
    sockopt::GetStruct<libc::c_int>
);

/// Returns whether an error may mean that the device does not accept frames that are sent together, or not these.
fn may_be_about_the_run(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
}

fn is_peers(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::time::Duration;

    #[test]
    fn frames_of_all_lengths_arrive_whole_and_in_order() {
        let bind = || Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let (mut sender, mut receiver) = (bind(), bind());
        let lengths = [50usize, 50, 50, 20, 900, 900, 8800, 1, 30, 30, 8000, 8000, 8000, 70];
        let mut batch = Batch::default();
        for (i, &len) in lengths.iter().enumerate() {
            let head = |out: &mut Vec<u8>, len| out.extend(std::iter::repeat_n(i as u8, len));
            match i % 3 {
                0 => batch.push_shared(|out| head(out, len / 3), Bytes::from(vec![i as u8; len - len / 3])),
                _ => batch.push(|out| head(out, len)),
            };
        }
        assert_eq!(sender.send(&mut batch, receiver.local(), None), Refused::default());
        assert!(batch.is_empty());
        let mut seen = Vec::new();
        receiver.io.set_nonblocking(true).unwrap();
        for _ in 0..200 {
            let from = sender.local();
            let mut each = |source: Source, frame: &[u8]| {
                assert_eq!(source.from, from);
                assert!(frame.iter().all(|byte| *byte == frame[0]));
                seen.push((usize::from(frame[0]), frame.len()));
            };
            receiver.receive(4, &mut each).unwrap();
            if seen.len() == lengths.len() {
                break;
            }
            let _ = mio::Poll::new()
                .unwrap()
                .poll(&mut mio::Events::with_capacity(1), Some(Duration::from_millis(5)));
        }
        assert_eq!(seen, lengths.into_iter().enumerate().collect::<Vec<_>>());
    }

    /// Frames of 8 kB. All but the last are of a shared packet.
    fn long_frames(count: usize) -> Batch {
        let mut batch = Batch::default();
        for number in 0..count {
            let head = |out: &mut Vec<u8>| out.extend([7; 100]);
            match number + 1 < count {
                true => batch.push_shared(head, Bytes::from(vec![7; 7900])),
                false => batch.push(|out| out.extend([7; 8000])),
            };
        }
        batch
    }

    #[test]
    fn frames_of_one_length_leave_by_one_call_wherever_their_bytes_are() {
        for host in ["127.0.0.1", "::1"].map(|host| host.parse::<IpAddr>().unwrap()) {
            // Some hosts have no IPv6.
            let Ok(receiver) = Socket::bind((host, 0).into(), 1 << 20) else { continue };
            let any = any(receiver.local());
            for (bound, from) in [((host, 0).into(), None), (any, Some(host))] {
                let mut sender = Socket::bind(bound, 0).unwrap();
                assert!(sender.most > 1, "the kernel takes runs");
                for batch in [&mut long_frames(8), &mut long_frames(1)] {
                    let before = sender.calls();
                    assert_eq!(sender.send(batch, receiver.local(), from), Refused::default());
                    assert_eq!(sender.calls(), before + 1, "{host} from {from:?}");
                }
            }
        }
    }

    #[test]
    fn an_address_that_nothing_is_sent_to_costs_no_one_its_runs() {
        let receiver = Socket::bind("127.0.0.1:0".parse().unwrap(), 1 << 20).unwrap();
        let mut sender = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        for batch in [&mut long_frames(1), &mut long_frames(4)] {
            let frames = batch.len() as u64;
            let refused = sender.send(batch, "127.0.0.1:0".parse().unwrap(), None);
            assert_eq!(refused, Refused { frames, too_long: None, has_no_path: true });
            assert!(batch.takes_runs());
        }
        // The host does not have this address.
        let from = Some("192.0.2.7".parse().unwrap());
        let mut sender = Socket::bind("0.0.0.0:0".parse().unwrap(), 0).unwrap();
        assert!(sender.send(&mut long_frames(1), receiver.local(), from).has_no_path);
        let before = sender.calls();
        assert_eq!(sender.send(&mut long_frames(8), receiver.local(), None), Refused::default());
        assert_eq!(sender.calls(), before + 1);
    }

    #[test]
    fn the_path_to_this_host_takes_the_longest_packet_whole() {
        for peer in ["127.0.0.1:6363", "[::1]:6363"].map(|peer| peer.parse::<SocketAddr>().unwrap()) {
            // Some hosts have no IPv6.
            if UdpSocket::bind((peer.ip(), 0)).is_ok() {
                for from in [SocketAddr::new(peer.ip(), 6363), any(peer)] {
                    let mtu = path_mtu(from, peer);
                    assert!(mtu.is_some_and(|mtu| mtu >= weir_packet::MAX_PACKET_SIZE), "{from} to {peer}");
                }
            }
        }
        let not_ours = "192.0.2.7:6363".parse().unwrap();
        assert_eq!(path_mtu(not_ours, "127.0.0.1:6363".parse().unwrap()), None, "no frame leaves from there");
    }

    #[test]
    fn the_address_of_a_broadcast_or_a_group_is_no_hosts() {
        for address in ["127.255.255.255", "255.255.255.255", "224.0.23.170", "ff02::1234"] {
            assert!(is_of_many(address.parse().unwrap()), "{address}");
        }
        for address in ["127.0.0.1", "127.0.0.2", "127.0.0.255", "::1", "fe80::1"] {
            assert!(!is_of_many(address.parse().unwrap()), "{address}");
        }
    }

    fn any(peer: SocketAddr) -> SocketAddr {
        if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() }
    }

    #[test]
    fn what_is_longer_than_a_path_takes_is_refused_unless_ip_may_split_it() {
        let receiver = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let mut sender = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        // A datagram has at most 65 507 bytes, fragmented or not.
        let mut batch = Batch::default();
        batch.push(|out| out.resize(out.len() + 65_508, 1));
        batch.push(|out| out.resize(out.len() + 8800, 1));
        let refused = sender.send(&mut batch, receiver.local(), None);
        assert_eq!(refused, Refused { frames: 1, too_long: Some(65_508), has_no_path: false });
        let mut batch = Batch::new(1472);
        for len in [8800, 1472] {
            batch.push(|out| out.resize(out.len() + len, 1));
            assert_eq!(sender.send(&mut batch, receiver.local(), None), Refused::default());
            assert!(!sender.is_split, "between batches it learns from routers");
        }
    }

    #[test]
    fn datagrams_without_room_are_counted() {
        let receiver = Socket::bind("127.0.0.1:0".parse().unwrap(), 4096).unwrap();
        let mut sender = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        assert_eq!(receiver.dropped(), 0);
        for _ in 0..100 {
            let mut batch = Batch::default();
            batch.push(|out| out.resize(8000, 1));
            sender.send(&mut batch, receiver.local(), None);
        }
        assert!(receiver.dropped() > 50, "{} of 100", receiver.dropped());
    }

    #[test]
    fn a_batch_that_is_not_full_was_the_last() {
        let bind = || Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let (mut sender, mut receiver) = (bind(), bind());
        for frames in [1, BATCH_SIZE, BATCH_SIZE + 1] {
            // They are sent one by one: frames that leave together may arrive together.
            for _ in 0..frames {
                let mut batch = Batch::default();
                batch.push(|out| out.extend([7; 100]));
                sender.send(&mut batch, receiver.local(), None);
            }
            let mut seen = 0;
            let received = receiver.receive(1, &mut |_, _| seen += 1).unwrap();
            assert_eq!(seen, frames.min(BATCH_SIZE));
            assert_eq!(received == Received::More, frames >= BATCH_SIZE);
        }
    }

    #[test]
    fn a_port_in_use_is_an_error() {
        let first = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let error = Socket::bind(first.local(), 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_peer_that_is_not_there_does_not_break_the_socket() {
        let mut socket = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let gone = Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap().local();
        for _ in 0..3 {
            let mut batch = Batch::default();
            batch.push(|out| out.push(1));
            socket.send(&mut batch, gone, None);
            assert_eq!(socket.receive(1, &mut |_, _| ()).unwrap(), Received::Drained);
        }
    }
}
