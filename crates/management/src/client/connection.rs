//! The connection of an application to its forwarder: packets with their link headers on one side, a socket on the
//! other.

use std::io;
use std::time::Duration;

use mio::{Events, Poll, Registry, Token};
use weir_core::units::{Span, Time};
use weir_net::clock::Clock;
use weir_net::link_service::{LinkOptions, LinkService, Repair};
use weir_net::transport::{self, Options, Received, Sent, Transport};
use weir_net::uri::FaceUri;
use weir_packet::LpHeader;

use super::Endpoint;

/// Memory for incomplete packets, bytes.
const REASSEMBLY: usize = 256 << 10;

/// A connection to a forwarder, for use in an event loop.
pub struct Connection {
    transport: Box<dyn Transport>,
    /// Index of the forwarder's address for this or the next connection, modulo the number of addresses.
    address: usize,
    link: LinkService,
    refused: u64,
    /// Reused between frames.
    frame: Vec<u8>,
}

impl Connection {
    /// Connects to the first address of a forwarder that answers within `timeout`. Blocks.
    ///
    /// # Errors
    /// Returns the error of the last address if none answers.
    pub fn connect(
        endpoint: &Endpoint,
        poll: &mut Poll,
        token: Token,
        timeout: Span,
    ) -> io::Result<Connection> {
        let mut failure = io::ErrorKind::NotFound.into();
        for (address, uri) in endpoint.face_uris()?.iter().enumerate() {
            match connect_to(uri, poll, token, timeout) {
                Ok(transport) => {
                    return Ok(Connection {
                        transport,
                        address,
                        link: link(),
                        refused: 0,
                        frame: Vec::new(),
                    });
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Starts to connect again to the same address. Incomplete packets are discarded.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be started.
    pub fn reconnect(&mut self, endpoint: &Endpoint, registry: &Registry, token: Token) -> io::Result<()> {
        let uris = endpoint.face_uris()?;
        let uri = uris.get(self.address % uris.len().max(1)).ok_or(io::ErrorKind::NotFound)?;
        self.transport = begin(uri, registry, token)?;
        self.link = link();
        Ok(())
    }

    /// Selects the forwarder's next address for the next connection.
    pub fn leave_address(&mut self) {
        self.address = self.address.wrapping_add(1);
    }

    /// Returns whether the connection is established.
    ///
    /// # Errors
    /// Returns an error if the connection failed.
    pub fn is_connected(&mut self) -> io::Result<bool> {
        is_connected(&mut *self.transport)
    }

    /// Number of frames dropped because the send buffer was full.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Writes the buffered frames.
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub fn flush(&mut self) -> io::Result<()> {
        self.transport.flush().map(|_| ())
    }

    /// Writes the buffered frames, and passes the packets of at most `frames` received frames to the callback. Returns
    /// whether there may be more. Malformed frames are skipped.
    ///
    /// # Errors
    /// Returns an error if the connection is lost, or the stream contains bytes that are not a frame.
    pub fn receive(
        &mut self,
        now: Time,
        frames: usize,
        each: &mut dyn FnMut(&LpHeader, &[u8]),
    ) -> io::Result<bool> {
        self.transport.flush()?;
        let Connection { transport, link, .. } = self;
        let received = transport.receive(frames, &mut |peer, frame| {
            // A malformed frame is ignored.
            let _ = link.receive(now, peer, frame, each);
        })?;
        Ok(received == Received::More)
    }

    /// Sends a packet with this header. It may wait until [`Connection::flush`].
    ///
    /// # Errors
    /// Returns an error if the connection is lost.
    pub fn send(&mut self, now: Time, header: &LpHeader, packet: &[u8]) -> io::Result<()> {
        let Connection { transport, link, frame: out, refused, .. } = self;
        let mut failure = None;
        let taken = link.send(now, header, packet, 0, &mut |frame| {
            out.clear();
            frame.encode(out);
            match transport.send(out) {
                Ok(Sent::Taken) => {}
                Ok(Sent::Full | Sent::TooLong) => *refused += 1,
                Err(error) => failure = Some(error),
            }
        });
        *refused += u64::from(taken.is_err());
        failure.map_or(Ok(()), Err)
    }
}

/// Pause before the next attempt to connect to a listener with a full backlog.
const BACKLOG_PAUSE: Span = Span::from_millis(10);

/// Connects, and waits until the connection is established.
fn connect_to(uri: &FaceUri, poll: &mut Poll, token: Token, timeout: Span) -> io::Result<Box<dyn Transport>> {
    let (clock, mut events) = (Clock::start(), Events::with_capacity(4));
    let until = clock.now() + timeout;
    let mut transport = loop {
        match begin(uri, poll.registry(), token) {
            // The backlog of a Unix socket is full: the forwarder is running and will accept soon.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && clock.now() < until => {
                wait(poll, &mut events, BACKLOG_PAUSE)?;
            }
            begun => break begun?,
        }
    };
    while !is_connected(&mut *transport)? {
        if !wait(poll, &mut events, until.since(clock.now()))? {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
    }
    Ok(transport)
}

/// Starts to connect, and registers the socket with the event loop.
fn begin(uri: &FaceUri, registry: &Registry, token: Token) -> io::Result<Box<dyn Transport>> {
    let mut transport = transport::connect(uri, None, Options::default())?;
    transport.register(registry, token)?;
    Ok(transport)
}

fn is_connected(transport: &mut dyn Transport) -> io::Result<bool> {
    transport.flush()?;
    Ok(transport.is_connected())
}

/// Waits for an event, at most for `left`. Returns whether there was time left.
pub(super) fn wait(poll: &mut Poll, events: &mut Events, left: Span) -> io::Result<bool> {
    if left == Span::ZERO {
        return Ok(false);
    }
    match poll.poll(events, Some(Duration::from_nanos(left.as_nanos()))) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        polled => polled?,
    }
    Ok(true)
}

fn link() -> LinkService {
    let options = LinkOptions { mtu: None, reassembly_bytes: REASSEMBLY, repair: Repair::Off, marking: None };
    // Without an MTU, no packet is fragmented or numbered.
    LinkService::new(options, 0)
}

impl core::fmt::Debug for Connection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Connection({})", self.transport.uris().remote)
    }
}
