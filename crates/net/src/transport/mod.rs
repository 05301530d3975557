//! Transports of faces: frames in and out of sockets.
//!
//! A transport knows sockets and frames, but not packets. It never blocks, its memory is bounded, and no peer can make
//! it panic. Bytes that are not frames end a stream. On datagrams they are counted. Unicast UDP is separate, in
//! [`udp`], because many faces share one socket.

mod accept;
mod device;
pub mod ethernet;
mod spare;
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

/// Options of transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of a transport's send buffer towards a local application, bytes. Two frames of the maximum length always
    /// fit.
    pub buffer: usize,
    /// The same towards a neighbour on another host.
    pub far_buffer: usize,
}

impl Options {
    /// Size of the send buffer for a peer of this scope, bytes.
    pub fn buffer_for(&self, scope: FaceScope) -> usize {
        match scope {
            FaceScope::Local => self.buffer,
            FaceScope::NonLocal => self.far_buffer,
        }
    }
}

impl Default for Options {
    /// Assumed: 4 MiB for applications, a window of 500 packets of the maximum size, because they have no other queue.
    /// 256 KiB for neighbours, two milliseconds at 1 Gb/s: their frames wait in the scheme's queue, which is paced, and
    /// peers that do not read must not use much memory.
    fn default() -> Options {
        Options { buffer: 4 << 20, far_buffer: 256 << 10 }
    }
}

/// Connects to the remote end of a face. It does not block: the event loop completes the connection, and frames sent
/// before that wait in the transport's buffer.
///
/// `local` selects the local end if there is a choice: the network interface, as a `dev://` URI, of a face on Ethernet
/// or to a multicast group.
///
/// # Errors
/// Returns [`io::ErrorKind::Unsupported`] if faces cannot be connected to such a URI, [`io::ErrorKind::InvalidInput`]
/// if `local` does not fit `remote`, and otherwise the operating system's error.
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

/// Returns the error of a socket that cannot be bound to an address, with the address and the probable cause.
pub fn cannot_listen(address: SocketAddr, protocol: &str, error: &io::Error) -> io::Error {
    let cause = match error.kind() {
        io::ErrorKind::AddrInUse => ": another process uses this address",
        io::ErrorKind::AddrNotAvailable => ": this host does not have this address",
        io::ErrorKind::PermissionDenied => ": ports below 1024 need the capability NET_BIND_SERVICE",
        _ => "",
    };
    io::Error::new(error.kind(), format!("cannot listen on {address} ({protocol}){cause} ({error})"))
}

/// The error for a URI to which no face can be connected.
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

/// The result of passing a datagram to a socket.
fn datagram_sent(mut send: impl FnMut() -> io::Result<usize>) -> io::Result<Sent> {
    loop {
        let error = match send() {
            Ok(_) => return Ok(Sent::Taken),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // The socket's buffer or the network interface's queue is full.
            Some(libc::EAGAIN | libc::ENOBUFS) => return Ok(Sent::Full),
            Some(libc::EMSGSIZE) => return Ok(Sent::TooLong),
            _ => return Err(error),
        }
    }
}

/// The sender of a frame on a link with several peers: a number that distinguishes them for reassembly. 0 if there is
/// only one.
pub type Peer = u64;

/// Whether there may be more to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// All frames have been read: wait for the socket.
    Drained,
    /// The budget is used up: call again.
    More,
}

/// The result of sending a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The frame is in the socket or in the transport's buffer.
    Taken,
    /// The bounded buffer is full, and the frame is dropped.
    Full,
    /// The frame is too long for the transport, and is dropped.
    TooLong,
}

/// Whether frames wait for the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// No frame waits.
    Done,
    /// The socket accepts no more: call again when it is writable.
    Blocked,
}

/// A socket with one face.
pub trait Transport {
    /// Registers the socket with the event loop: readable and writable, edge-triggered.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Passes at most `budget` frames to the callback.
    ///
    /// # Errors
    /// Returns an error if the face has failed: [`io::ErrorKind::UnexpectedEof`] if the peer closed the connection,
    /// [`io::ErrorKind::InvalidData`] if the bytes of a stream are not a frame, or the socket's error.
    fn receive(&mut self, budget: usize, each: &mut dyn FnMut(Peer, &[u8])) -> io::Result<Received>;

    /// Sends a frame to the socket, or to a bounded buffer until the next [`Transport::flush`], so that many frames
    /// leave together.
    ///
    /// # Errors
    /// Returns an error if the face has failed.
    fn send(&mut self, frame: &[u8]) -> io::Result<Sent>;

    /// Writes the waiting frames.
    ///
    /// # Errors
    /// Returns an error if the face has failed.
    fn flush(&mut self) -> io::Result<Flushed>;

    /// Returns whether the connection is established. Until then frames wait in the transport's own buffer.
    fn is_connected(&self) -> bool {
        true
    }

    /// Bytes that wait in the transport's own buffer.
    fn waiting(&self) -> usize;

    /// Memory of the transport's own buffer, bytes.
    fn memory(&self) -> usize {
        self.waiting()
    }

    /// Maximum length of a frame, bytes; `None`: any.
    fn mtu(&self) -> Option<usize>;

    /// Updates the maximum length of a frame. It may have changed, for example on a network interface.
    fn update_mtu(&mut self) {}

    /// The canonical face URIs of both ends.
    fn uris(&self) -> Uris<'_>;

    /// Whether the peer is on this host.
    fn scope(&self) -> FaceScope;

    /// The local user at the other end, if the kernel tells.
    fn user(&self) -> Option<User> {
        None
    }

    /// The kind of link.
    fn link_type(&self) -> LinkType {
        LinkType::PointToPoint
    }

    /// Datagrams dropped because they are not frames.
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
    /// Registers the socket with the event loop.
    ///
    /// # Errors
    /// Returns the operating system's error.
    fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()>;

    /// Returns the next connected peer, or `None` if there are no more. The event loop reports only changes, so call it
    /// until `None`, even after an error.
    ///
    /// # Errors
    /// Returns the operating system's error, such as too many open files. The socket keeps listening, and the errors
    /// end.
    fn accept(&mut self) -> io::Result<Option<Box<dyn Transport>>>;

    /// The socket's address, as a face URI.
    fn uri(&self) -> &str;
}
