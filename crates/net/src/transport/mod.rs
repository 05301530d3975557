//! The transports of faces: frames in and out of sockets.
//!
//! A transport knows sockets and frames, nothing of packets. It never blocks, it bounds what it keeps,
//! and no peer can make it panic: what cannot be read as frames ends a stream and is counted on
//! datagrams. Unicast UDP has many faces on one socket and is apart, in [`udp`].

mod accept;
mod device;
pub mod ethernet;
pub mod stream;
pub mod tcp;
pub mod udp;
mod udp_multicast;
pub mod unix;
pub mod websocket;

use std::io;
use std::net::SocketAddr;

use mio::{Registry, Token};
use nix::libc;

use crate::scope::{FaceScope, LinkType};
use crate::uri::FaceUri;
use crate::user::User;

/// What transports can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most that waits in a transport's own buffer for an application of this host, bytes; two of the largest
    /// frames have room always.
    pub buffer: usize,
    /// The same for a neighbour.
    pub far_buffer: usize,
}

impl Options {
    /// The most that waits for who is there, bytes.
    pub fn buffer_for(&self, scope: FaceScope) -> usize {
        match scope {
            FaceScope::Local => self.buffer,
            FaceScope::NonLocal => self.far_buffer,
        }
    }
}

impl Default for Options {
    /// Assumed: 4 MiB, a window of 500 of the largest packets, as applications have no other queue. 256 KiB, two
    /// milliseconds at 1 Gb/s, for neighbours: their frames wait in the scheme's queue, which is paced, and
    /// strangers that do not read must not have us keep much.
    fn default() -> Options {
        Options { buffer: 4 << 20, far_buffer: 256 << 10 }
    }
}

/// Connects to the far end of a face. Nothing blocks: what takes time goes on when the event loop calls,
/// and frames that are sent meanwhile wait in the transport's buffer.
///
/// `local` is this host's end where there is a choice: the network interface, as `dev://` URI, of a face
/// on Ethernet or to a multicast group.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`]: no face can be connected to such an end. [`io::ErrorKind::InvalidInput`]: `local`
/// does not go with `remote`. Else what the operating system says.
pub fn connect(remote: &FaceUri, local: Option<&str>, options: Options) -> io::Result<Box<dyn Transport>> {
    match (remote, local) {
        (FaceUri::Tcp(end), None) => tcp::connect(end, options),
        (FaceUri::Unix(path), None) => unix::connect(path, options),
        (FaceUri::WebSocket(end), None) => websocket::connect(end, options),
        (FaceUri::Tcp(_) | FaceUri::Unix(_) | FaceUri::WebSocket(_), Some(_)) => {
            Err(device::invalid(format!("{}:// takes no local URI: leave it out", remote.scheme())))
        }
        (FaceUri::Udp(end), local) if end.ip().is_multicast() => udp_multicast::connect(end, local),
        (FaceUri::Ethernet(mac), Some(local)) => ethernet::connect(*mac, local),
        (FaceUri::Ethernet(_), None) => Err(device::invalid(format!(
            "{remote} needs a network interface: give its local URI, such as dev://eth0"
        ))),
        _ => Err(unsupported(remote)),
    }
}

/// The error of a socket that cannot be bound to an address, with the address and the probable cause.
pub fn cannot_listen(address: SocketAddr, protocol: &str, error: &io::Error) -> io::Error {
    let cause = match error.kind() {
        io::ErrorKind::AddrInUse => ": another process uses this address",
        io::ErrorKind::AddrNotAvailable => ": this host does not have this address",
        io::ErrorKind::PermissionDenied => ": ports below 1024 need the capability NET_BIND_SERVICE",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot listen on {address} ({protocol}){cause} ({error})"))
}

/// Why no face can be connected to this end.
fn unsupported(remote: &FaceUri) -> io::Error {
    let why = match remote {
        FaceUri::Host(_) => "a host name, which must be resolved first",
        FaceUri::Udp(_) => "unicast UDP, whose faces share the socket of a channel",
        FaceUri::WebSocketClient(_) => "a WebSocket client, which connects itself; a server is ws://",
        FaceUri::Device(_) => {
            "a network interface, which is a local URI; a remote URI is ether:// or udp4://"
        }
        _ => "not an address to connect to",
    };
    io::Error::new(io::ErrorKind::Unsupported, format!("cannot create a face: {remote} is {why}"))
}

/// What became of a datagram that was given to a socket.
fn datagram_sent(mut send: impl FnMut() -> io::Result<usize>) -> io::Result<Sent> {
    loop {
        let error = match send() {
            Ok(_) => return Ok(Sent::Taken),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // The socket's buffer is full, or the queue of the network interface.
            Some(libc::EAGAIN | libc::ENOBUFS) => return Ok(Sent::Full),
            Some(libc::EMSGSIZE) => return Ok(Sent::TooLong),
            _ => return Err(error),
        }
    }
}

/// Who sent a frame on a link with several peers: enough to tell them apart for reassembly. 0 where there is one.
pub type Peer = u64;

/// Whether there may be more to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Everything is read: wait for the socket.
    Drained,
    /// The budget is used up: call again.
    More,
}

/// What became of a frame that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The socket has it, or the transport's own buffer has.
    Taken,
    /// The bounded buffer is full: the frame is dropped.
    Full,
    /// It is longer than the transport can carry: dropped.
    TooLong,
}

/// Whether something waits for the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// Nothing waits.
    Done,
    /// The socket takes no more: call again when it is writable.
    Blocked,
}

/// A socket with one face.
pub trait Transport {
    /// Has the event loop told of this socket, readable and writable, edge-triggered.
    ///
    /// # Errors
    /// Of the operating system.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Hands in at most `budget` frames.
    ///
    /// # Errors
    /// The face is done for: the peer closed ([`io::ErrorKind::UnexpectedEof`]), a stream is no stream
    /// of frames ([`io::ErrorKind::InvalidData`]), or the socket failed.
    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received>;

    /// Takes a frame for sending: into the socket, or into a bounded buffer until the next
    /// [`Transport::flush`], so that many leave together.
    ///
    /// # Errors
    /// The face is done for.
    fn send(&mut self, frame: &[u8]) -> io::Result<Sent>;

    /// Writes what waits.
    ///
    /// # Errors
    /// The face is done for.
    fn flush(&mut self) -> io::Result<Flushed>;

    /// Whether the connection is there; until then what is sent waits in its own buffer.
    fn is_connected(&self) -> bool {
        true
    }

    /// Bytes that wait in its own buffer.
    fn waiting(&self) -> usize;

    /// Largest frame that it can carry, bytes; `None`: any.
    fn mtu(&self) -> Option<usize>;

    /// Both ends, as canonical face URIs.
    fn uris(&self) -> Uris<'_>;

    /// Whether the peer is on this host.
    fn scope(&self) -> FaceScope;

    /// The user of this host behind it, if the kernel says.
    fn user(&self) -> Option<User> {
        None
    }

    /// What kind of link it is on.
    fn link_type(&self) -> LinkType {
        LinkType::PointToPoint
    }

    /// Frames dropped because they could not be read as any.
    fn malformed(&self) -> u64 {
        0
    }
}

/// Both ends of a face.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uris<'a> {
    /// Face URI of the peer's end.
    pub remote: &'a str,
    /// Face URI of this host's end.
    pub local: &'a str,
}

/// A socket that peers connect to.
pub trait Listener {
    /// Has the event loop told of this socket.
    ///
    /// # Errors
    /// Of the operating system.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// The next peer that has connected; `None` if there is no more. The event loop tells only of what is new:
    /// call until `None`, also after an error.
    ///
    /// # Errors
    /// Of the operating system: too many open files, for one. Listening goes on, and errors come to an end.
    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>>;

    /// Where it listens, as a face URI.
    fn uri(&self) -> &str;
}
