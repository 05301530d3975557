//! The connection of an application to its forwarder: the core's packets on one side, a socket on the other.

use std::io;

use mio::{Registry, Token};
use weir_core::name::NameHasher;
use weir_core::packet::wire;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer;
use weir_core::random::Random;
use weir_core::units::Time;
use weir_packet::LpHeader;

use super::Answer;
use weir_management::client::Endpoint;
use weir_net::codec::Decoder;
use weir_net::link_service::{LinkOptions, LinkService};
use weir_net::transport::{self, Options, Received, Sent, Transport};
use weir_net::uri::FaceUri;

/// Memory for packets of which fragments are missing, bytes.
const REASSEMBLY: usize = 256 << 10;

/// The places where a forwarder may listen: a host may have several addresses.
///
/// # Errors
/// There is none.
fn places(endpoint: &Endpoint) -> io::Result<Vec<FaceUri>> {
    match endpoint {
        Endpoint::Unix(path) => {
            let uri = format!("unix://{}", std::path::absolute(path)?.display());
            let bad = |error| io::Error::new(io::ErrorKind::InvalidInput, format!("{error}"));
            Ok(vec![uri.parse().map_err(bad)?])
        }
        Endpoint::Tcp { .. } => {
            Ok(endpoint.addresses()?.into_iter().map(|at| FaceUri::Tcp(at.into())).collect())
        }
    }
}

/// Begins to connect to the first place from this one on where that can be begun; which one it is. If there is none,
/// `failure` says why.
fn open_from(
    from: usize,
    endpoint: &Endpoint,
    to: (&Registry, Token),
    mut failure: io::Error,
) -> io::Result<(usize, Box<dyn Transport>)> {
    for (at, place) in places(endpoint)?.iter().enumerate().skip(from) {
        match open(place, to) {
            Ok(transport) => return Ok((at, transport)),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Begins to connect, and has the event loop told of it.
fn open(place: &FaceUri, (registry, token): (&Registry, Token)) -> io::Result<Box<dyn Transport>> {
    let mut transport = transport::connect(place, None, Options::default())?;
    transport.register(registry, token)?;
    Ok(transport)
}

fn link(seed: u64) -> LinkService {
    let options = LinkOptions { mtu: None, reassembly_bytes: REASSEMBLY, reliability: false, marking: None };
    LinkService::new(options, seed)
}

/// A connection.
pub(super) struct Uplink {
    transport: Box<dyn Transport>,
    /// Which of the places where the forwarder may listen it is connected to, or will be.
    place: usize,
    link: LinkService,
    decoder: Decoder,
    /// Where packets live.
    pub(super) pool: PacketPool,
    seed: u64,
    refused: u64,
    /// Reused between packets.
    packet: Vec<u8>,
    frame: Vec<u8>,
}

impl Uplink {
    /// Begins to connect to a forwarder, and has the event loop told of it.
    pub(super) fn connect(
        endpoint: &Endpoint,
        hasher: NameHasher,
        seed: u64,
        to: (&Registry, Token),
    ) -> io::Result<Uplink> {
        let (place, transport) = open_from(0, endpoint, to, io::ErrorKind::NotFound.into())?;
        Ok(Uplink {
            transport,
            place,
            link: link(seed),
            decoder: Decoder::new(hasher, Random::named(seed, "nonces")),
            pool: PacketPool::new(),
            seed,
            refused: 0,
            packet: Vec::new(),
            frame: Vec::new(),
        })
    }

    /// Begins to connect to the next place where the forwarder may listen, since it failed here.
    ///
    /// # Errors
    /// There is none: the failure.
    pub(super) fn connect_next(
        &mut self,
        endpoint: &Endpoint,
        to: (&Registry, Token),
        failure: io::Error,
    ) -> io::Result<()> {
        (self.place, self.transport) = open_from(self.place + 1, endpoint, to, failure)?;
        Ok(())
    }

    /// Begins to make the connection again, where it was; packets in pieces are forgotten.
    pub(super) fn reconnect(&mut self, endpoint: &Endpoint, to: (&Registry, Token)) -> io::Result<()> {
        let places = places(endpoint)?;
        let place = places.get(self.place % places.len().max(1)).ok_or(io::ErrorKind::NotFound)?;
        self.transport = open(place, to)?;
        self.link = link(self.seed);
        Ok(())
    }

    /// Has the connection be made at the next place from now on.
    pub(super) fn leave_place(&mut self) {
        self.place = self.place.wrapping_add(1);
    }

    /// Whether the connection is there.
    ///
    /// # Errors
    /// It cannot be made.
    pub(super) fn is_connected(&mut self) -> io::Result<bool> {
        self.transport.flush()?;
        Ok(self.transport.is_connected())
    }

    /// Frames that the connection had no room for.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// Writes what has gathered.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.transport.flush().map(|_| ())
    }

    /// Writes what waits, and appends what has come; says whether there may be more. What is no packet is left
    /// out.
    pub(super) fn receive(&mut self, now: Time, frames: usize, to: &mut Vec<PacketId>) -> io::Result<bool> {
        self.transport.flush()?;
        let Uplink { transport, link, decoder, pool, .. } = self;
        let received = transport.receive(frames, &mut |peer, frame| {
            // A forwarder that sends what is no frame has sent nothing.
            let _ = link.receive(now, peer, frame, &mut |header, packet| {
                to.extend(decoder.decode(header, packet, pool).ok());
            });
        })?;
        Ok(received == Received::More)
    }

    /// Sends an Interest of the pool, and frees it.
    pub(super) fn send_interest(&mut self, now: Time, id: PacketId) -> io::Result<()> {
        let mut bare = core::mem::take(&mut self.packet);
        bare.clear();
        let encoded = wire::encode_packet(&self.pool[id], &mut bare);
        let header = *self.pool[id].header();
        self.pool.free(id);
        let sent = if encoded.is_ok() { self.send(now, &header, &bare) } else { Ok(()) };
        self.packet = bare;
        sent
    }

    /// Sends what answers an Interest of the pool, if there is something.
    pub(super) fn answer(&mut self, now: Time, id: PacketId, answer: &mut dyn Answer) -> io::Result<()> {
        let mut bare = core::mem::take(&mut self.packet);
        bare.clear();
        let interest = &self.pool[id];
        let header = producer::answer_header(interest.header());
        let sent = if answer.answer(interest, &mut bare) { self.send(now, &header, &bare) } else { Ok(()) };
        self.packet = bare;
        sent
    }

    /// Sends a bare packet with this header.
    pub(super) fn send(&mut self, now: Time, header: &LpHeader, bare: &[u8]) -> io::Result<()> {
        let Uplink { transport, link, frame: out, refused, .. } = self;
        let mut failure = None;
        let taken = link.send(now, header, bare, 0, &mut |frame| {
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
