//! A whole frame: the link header and its network packet.

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
    /// Nack: the reason and the refused Interest.
    Nack(NackReason, Interest<'a>),
}

impl<'a> NetPacket<'a> {
    /// Decodes a bare or reassembled network packet with the header that came with it. Offsets in errors count from the
    /// start of `packet`.
    ///
    /// # Errors
    /// Besides the errors of Interest and Data, returns [`DecodeErrorKind::Unexpected`] for another packet and for a
    /// Data in a Nack.
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

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it lives on the stack while a packet is handled")]
pub enum Payload<'a> {
    /// Only header fields.
    Idle,
    /// A piece of a packet, for reassembly.
    Piece(&'a [u8]),
    /// A whole packet.
    Packet(NetPacket<'a>),
}

/// Decodes a frame, and its network packet if the frame carries a whole one. Offsets in errors count from the start of
/// `wire`.
///
/// # Errors
/// Returns the errors of [`LpPacket::decode`] and [`NetPacket::decode`], and [`DecodeErrorKind::Missing`] for a Nack
/// without an Interest.
pub fn decode_frame(wire: &[u8]) -> Result<(LpPacket<'_>, Payload<'_>), DecodeError> {
    let frame = LpPacket::decode(wire)?;
    let payload = match frame.fragment {
        None if frame.header.nack().is_some() => {
            return Err(DecodeErrorKind::Missing(types::INTEREST).at(wire.len()));
        }
        None => Payload::Idle,
        Some(piece) if frame.link.is_piece() => Payload::Piece(piece),
        Some(packet) => {
            // The fragment is the last element, so it ends at the end of the frame.
            let base = wire.len() - packet.len();
            let shift = |error: DecodeError| error.kind.at(error.offset + base);
            Payload::Packet(NetPacket::decode(&frame.header, packet).map_err(shift)?)
        }
    };
    Ok((frame, payload))
}
