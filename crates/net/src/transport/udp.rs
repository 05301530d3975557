//! Unicast UDP: one socket, many faces.
//!
//! Datagrams come in batches (recvmmsg, and merged by the kernel where it can: GRO), and go out in
//! batches by face: a run of frames of the same length is one system call (GSO).

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use super::Received;

/// Room for a merged batch, or the longest datagram.
const RECEIVE_BUFFER: usize = 65_536;

/// Frames that are longer may not fit a link, and the kernel splits only what does.
const LONGEST_SEGMENT: usize = 1472;

/// The most bytes of one batch: what a datagram may hold.
const LONGEST_BATCH: usize = 65_000;

/// A UDP socket with all the faces that use it.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    buffers: Vec<Vec<u8>>,
}

/// Where a datagram came from, and which of our addresses it was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where the datagram came from.
    pub from: SocketAddr,
    /// The local address, if the socket has several.
    pub to: Option<IpAddr>,
}

impl Socket {
    /// Binds a socket with kernel buffers of `kernel_buffer` bytes in each direction, or as much as the system allows; 0:
    /// the system's default.
    ///
    /// # Errors
    /// An error of the operating system, such as an address in use.
    pub fn bind(local: SocketAddr, kernel_buffer: usize) -> io::Result<Socket> {
        let domain = if local.is_ipv4() { socket2::Domain::IPV4 } else { socket2::Domain::IPV6 };
        let socket = socket2::Socket::new(domain, socket2::Type::DGRAM, None)?;
        if local.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&local.into())?;
        let io: UdpSocket = socket.into();
        let reference = UdpSockRef::from(&io);
        let state = UdpSocketState::new(reference)?;
        if kernel_buffer > 0 {
            set_kernel_buffers(&io, kernel_buffer);
        }
        if local.is_ipv4() {
            // NDN packets of up to 8800 bytes travel in datagrams that IP may split.
            setsockopt(&io, MtuDiscover, &libc::IP_PMTUDISC_DONT)?;
        }
        let local = io.local_addr()?;
        let buffers = (0..BATCH_SIZE).map(|_| vec![0; RECEIVE_BUFFER]).collect();
        Ok(Socket { io, state, local, buffers })
    }

    /// Its address.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Registers the socket with the event loop.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.io.as_raw_fd()), token, Interest::READABLE)
    }

    /// Passes the frames of at most `calls` batches to the callback.
    ///
    /// # Errors
    /// An error of the operating system. An unreachable peer is not an error.
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
                // The answer of a host to what we sent, not a fault of the socket.
                Err(error) if is_peers(&error) => continue,
                Err(error) => return Err(error),
            };
            for (buffer, meta) in self.buffers.iter().zip(&metas).take(count) {
                let source = Source { from: meta.addr, to: meta.dst_ip };
                for frame in buffer[..meta.len].chunks(meta.stride.max(1)) {
                    each(source, frame);
                }
            }
        }
        Ok(Received::More)
    }

    /// Sends all frames of a batch, in order, and empties it; says how many the kernel did not take.
    pub fn send(&self, batch: &mut Batch, to: SocketAddr, from: Option<IpAddr>) -> u64 {
        let mut refused = 0;
        let most = self.state.max_gso_segments().max(1);
        let (mut rest, mut bytes) = (&batch.lengths[..], &batch.bytes[..]);
        while let Some(run) = Run::at_the_front(rest, most) {
            let (contents, after) = bytes.split_at(run.bytes);
            let segment_size = (run.frames > 1).then_some(run.segment);
            let transmit = Transmit { destination: to, ecn: None, contents, segment_size, src_ip: from };
            if self.state.try_send(UdpSockRef::from(&self.io), &transmit).is_err() {
                // A run that the device does not take goes frame by frame.
                for frame in contents.chunks(run.segment.max(1)) {
                    let transmit = Transmit { contents: frame, segment_size: None, ..transmit.clone() };
                    let sent = self.state.try_send(UdpSockRef::from(&self.io), &transmit);
                    refused += u64::from(sent.is_err());
                }
            }
            (rest, bytes) = (&rest[run.frames..], after);
        }
        batch.clear();
        refused
    }
}

/// Asks for large buffers: beyond the system's bound where we have the privilege, else up to it.
fn set_kernel_buffers(io: &UdpSocket, size: usize) {
    if setsockopt(io, sockopt::RcvBufForce, &size).is_err() {
        let _ = setsockopt(io, sockopt::RcvBuf, &size);
    }
    if setsockopt(io, sockopt::SndBufForce, &size).is_err() {
        let _ = setsockopt(io, sockopt::SndBuf, &size);
    }
}

/// The option IP_MTU_DISCOVER: whether datagrams may be split (ip(7)).
#[derive(Clone, Copy, Debug)]
struct MtuDiscover;

nix::setsockopt_impl!(
    MtuDiscover,
    libc::IPPROTO_IP,
    libc::IP_MTU_DISCOVER,
    libc::c_int,
    sockopt::SetStruct<libc::c_int>
);

fn is_peers(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted
    )
}

/// Frames of one face that are to be sent together.
#[derive(Debug, Default)]
pub struct Batch {
    /// One behind the other.
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl Batch {
    /// Appends what `write` writes as one frame.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.bytes.len();
        write(&mut self.bytes);
        let len = self.bytes.len() - start;
        if len > 0 {
            self.lengths.push(len);
        }
        len
    }

    /// The last frame.
    pub fn last(&self) -> &[u8] {
        let len = self.lengths.last().copied().unwrap_or(0);
        &self.bytes[self.bytes.len() - len..]
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The frames, in order.
    pub fn frames(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        self.lengths.iter().map(move |&len| {
            let (frame, after) = rest.split_at(len);
            rest = after;
            frame
        })
    }

    /// Forgets the frames.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.lengths.clear();
    }
}

/// Frames that one system call can send: of the same length, but the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    frames: usize,
    bytes: usize,
    segment: usize,
}

impl Run {
    fn at_the_front(lengths: &[usize], most: usize) -> Option<Run> {
        let (&segment, rest) = lengths.split_first()?;
        let mut run = Run { frames: 1, bytes: segment, segment };
        if segment > LONGEST_SEGMENT {
            return Some(run);
        }
        for &len in rest {
            if len > segment || run.frames == most || run.bytes + len > LONGEST_BATCH {
                break;
            }
            run = Run { frames: run.frames + 1, bytes: run.bytes + len, segment };
            if len < segment {
                break;
            }
        }
        Some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn runs(mut lengths: &[usize], most: usize) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        while let Some(run) = Run::at_the_front(lengths, most) {
            runs.push((run.segment, run.frames));
            lengths = &lengths[run.frames..];
        }
        runs
    }

    #[test]
    fn a_run_is_of_one_length_but_for_a_shorter_last_frame() {
        assert_eq!(runs(&[100, 100, 100, 40, 100, 120], 64), [(100, 4), (100, 1), (120, 1)]);
        assert_eq!(runs(&[100; 5], 2), [(100, 2), (100, 2), (100, 1)]);
        assert_eq!(runs(&[8000, 8000], 64), [(8000, 1), (8000, 1)]);
        assert_eq!(runs(&[1400; 50], 64), [(1400, 46), (1400, 4)]);
    }

    proptest! {
        #[test]
        fn every_frame_is_in_one_run(lengths in prop::collection::vec(1usize..3000, 0..200), most in 1usize..70) {
            let found = runs(&lengths, most);
            prop_assert_eq!(found.iter().map(|(_, frames)| frames).sum::<usize>(), lengths.len());
            prop_assert!(found.iter().all(|(_, frames)| *frames <= most));
        }
    }

    #[test]
    fn frames_of_all_lengths_arrive_whole_and_in_order() {
        let bind = || Socket::bind("127.0.0.1:0".parse().unwrap(), 0).unwrap();
        let (sender, mut receiver) = (bind(), bind());
        let lengths = [50usize, 50, 50, 20, 900, 900, 8800, 1, 30, 30];
        let mut batch = Batch::default();
        for (i, &len) in lengths.iter().enumerate() {
            batch.push(|out| out.extend(std::iter::repeat_n(i as u8, len)));
        }
        assert_eq!(sender.send(&mut batch, receiver.local(), None), 0);
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
