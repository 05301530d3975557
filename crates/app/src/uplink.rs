//! The connection of an application to its forwarder: the core's packets on one side, a socket on the other.

use std::io;

use mio::{Registry, Token};
use weir_core::name::NameHasher;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer;
use weir_core::random::Random;
use weir_core::units::Time;
use weir_core::wire;
use weir_packet::LpHeader;

use super::Answer;
use weir_management::client::Endpoint;
use weir_net::codec::Decoder;
use weir_net::link_service::{LinkOptions, LinkService};
use weir_net::transport::{self, Options, Received, Sent, Transport};
use weir_net::uri::FaceUri;

/// Memory for packets of which fragments are missing, bytes.
const REASSEMBLY: usize = 256 << 10;

fn open(endpoint: &Endpoint, (registry, token): (&Registry, Token)) -> io::Result<Box<dyn Transport>> {
    let bad = |error| io::Error::new(io::ErrorKind::InvalidInput, format!("{error}"));
    let uri: FaceUri = endpoint.to_string().parse().map_err(bad)?;
    let mut transport = transport::connect(&uri.resolve()?, None, Options::default())?;
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
    /// Connects to a forwarder, and has the event loop told of it.
    pub(super) fn connect(
        endpoint: &Endpoint,
        hasher: NameHasher,
        seed: u64,
        to: (&Registry, Token),
    ) -> io::Result<Uplink> {
        Ok(Uplink {
            transport: open(endpoint, to)?,
            link: link(seed),
            decoder: Decoder::new(hasher, Random::named(seed, "nonces")),
            pool: PacketPool::new(),
            seed,
            refused: 0,
            packet: Vec::new(),
            frame: Vec::new(),
        })
    }

    /// Makes the connection again; packets in pieces are forgotten.
    pub(super) fn reconnect(&mut self, endpoint: &Endpoint, to: (&Registry, Token)) -> io::Result<()> {
        self.transport = open(endpoint, to)?;
        self.link = link(self.seed);
        Ok(())
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
