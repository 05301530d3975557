//! A producer: answers every Interest for its prefix with Data of one size.

use weir_packet::{LpHeader, Signal};

use crate::packet::{Kind, Packet};
use crate::units::{Bytes, Span};

/// A producer.
#[derive(Clone, Copy, Debug)]
pub struct Producer {
    /// Content size of each Data.
    pub payload: Bytes,
    /// How long caches may consider its Data fresh; zero: never.
    pub freshness: Span,
    /// Length of the signature's value, bytes.
    pub signature: u16,
}

/// Length of the value of a DigestSha256 signature, bytes.
pub const DIGEST: u16 = 32;

/// The header of the Data that answers an Interest with this header: its PIT token and its service class,
/// without other signals.
pub fn answer_header(interest: &LpHeader) -> LpHeader {
    let mut header = LpHeader::with_token(interest.pit_token);
    if let Some(class) = interest.signals.value(&Signal::SERVICE_CLASS) {
        header.signals.set(&Signal::SERVICE_CLASS, class);
    }
    header
}

impl Producer {
    /// Turns an Interest into its Data, with the header of [`answer_header`].
    pub fn answer(&self, packet: &mut Packet) {
        packet.kind = Kind::Data;
        packet.hops = 0;
        *packet.header_mut() = answer_header(packet.header());
        packet.content_len = self.payload.as_u64() as u32;
        packet.freshness = self.freshness;
        packet.signature_len = self.signature;
        packet.net_len = crate::packet::wire::data_len(packet);
    }
}
