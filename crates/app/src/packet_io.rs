//! Conversion between the core's packets and the bytes on the connection to the forwarder.

use std::io;

use weir_core::packet::wire;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::producer;
use weir_core::units::Time;
use weir_management::client::Connection;
use weir_net::codec::Decoder;
use weir_net::secrets::Secrets;

use super::Serve;

/// Encodes and decodes the packets of a pool.
pub(super) struct PacketIo {
    pub(super) connection: Connection,
    decoder: Decoder,
    /// The pool.
    pub(super) pool: PacketPool,
    /// Reused between packets.
    packet: Vec<u8>,
}

impl PacketIo {
    pub(super) fn new(connection: Connection, secrets: Secrets) -> PacketIo {
        let decoder = Decoder::new(secrets, weir_packet::SignalSet::ALL);
        PacketIo { connection, decoder, pool: PacketPool::new(), packet: Vec::new() }
    }

    /// Writes the waiting frames, and appends the received packets. Returns whether there may be more. Malformed
    /// packets are skipped.
    pub(super) fn receive(&mut self, now: Time, frames: usize, to: &mut Vec<PacketId>) -> io::Result<bool> {
        let PacketIo { connection, decoder, pool, .. } = self;
        connection.receive(now, frames, &mut |header, packet| {
            to.extend(decoder.decode(header, packet, pool).ok());
        })
    }

    /// Sends an Interest of the pool and frees it.
    pub(super) fn send_interest(&mut self, now: Time, id: PacketId) -> io::Result<()> {
        let mut bare = core::mem::take(&mut self.packet);
        bare.clear();
        let encoded = wire::encode_packet(&self.pool[id], &mut bare);
        let header = *self.pool[id].header();
        self.pool.free(id);
        let sent = if encoded.is_ok() { self.connection.send(now, &header, &bare) } else { Ok(()) };
        self.packet = bare;
        sent
    }

    /// Sends the answer to an Interest of the pool, if there is one.
    pub(super) fn answer(&mut self, now: Time, id: PacketId, answer: &mut dyn Serve) -> io::Result<()> {
        let mut bare = core::mem::take(&mut self.packet);
        bare.clear();
        let interest = &self.pool[id];
        let header = producer::answer_header(interest.header());
        let sent = if answer.answer(interest, &mut bare) {
            self.connection.send(now, &header, &bare)
        } else {
            Ok(())
        };
        self.packet = bare;
        sent
    }
}
