//! A whole frame: link header and the network packet in it.

use crate::data::Data;
use crate::interest::Interest;
use crate::lp::{LpHeader, LpPacket, NackReason};
use crate::tlv::{DecodeError, DecodeErrorKind, Reader, types};

/// A network packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetPacket<'a> {
    /// Interest.
    Interest(Interest<'a>),
    /// Data.
    Data(Data<'a>),
    /// Nack: the reason, and the Interest that is refused.
    Nack(NackReason, Interest<'a>),
}

impl<'a> NetPacket<'a> {
    /// Decodes a network packet (bare, or put together again), with the header that came with it.
    ///
    /// Errors besides those of Interest and Data: [`DecodeErrorKind::Unexpected`] for another packet,
    /// and for a Data in a Nack. Offsets count from the start of `packet`.
    pub fn decode(header: &LpHeader, packet: &'a [u8]) -> Result<Self, DecodeError> {
        let first = Reader::new(packet).element()?.ok_or(DecodeErrorKind::Truncated.at(0))?;
        match (first.typ, header.nack()) {
            (types::INTEREST, None) => Interest::decode(packet).map(NetPacket::Interest),
            (types::INTEREST, Some(reason)) => {
                Interest::decode(packet).map(|interest| NetPacket::Nack(reason, interest))
            }
            (types::DATA, None) => Data::decode(packet).map(NetPacket::Data),
            (other, _) => Err(DecodeErrorKind::Unexpected(other).at(0)),
        }
    }
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack while a packet is handled")]
pub enum Payload<'a> {
    /// Nothing but header fields.
    Idle,
    /// A piece of a packet, for a reassembler.
    Piece(&'a [u8]),
    /// A whole packet.
    Packet(NetPacket<'a>),
}

/// Decodes a frame and, if it carries a whole one, the network packet.
///
/// Errors: those of [`LpPacket::decode`] and [`NetPacket::decode`]; a Nack without an Interest is
/// [`DecodeErrorKind::Missing`]. Offsets count from the start of `wire`.
pub fn decode_frame(wire: &[u8]) -> Result<(LpPacket<'_>, Payload<'_>), DecodeError> {
    let frame = LpPacket::decode(wire)?;
    let payload = match frame.fragment {
        None if frame.header.nack().is_some() => {
            return Err(DecodeErrorKind::Missing(types::INTEREST).at(wire.len()));
        }
        None => Payload::Idle,
        Some(piece) if frame.link.is_piece() => Payload::Piece(piece),
        Some(packet) => {
            // The fragment is the last element: it ends where the frame ends.
            let base = wire.len() - packet.len();
            let shift = |error: DecodeError| error.kind.at(error.offset + base);
            Payload::Packet(NetPacket::decode(&frame.header, packet).map_err(shift)?)
        }
    };
    Ok((frame, payload))
}
