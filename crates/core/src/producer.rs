//! A producer: answers every Interest for its prefix with Data of one size.

use weir_packet::{LpHeader, Signal};

use crate::packet::{Kind, Packet};
use crate::units::{Bytes, Span};

/// A producer.
#[derive(Clone, Copy, Debug)]
pub struct Producer {
    /// Content of each Data.
    pub payload: Bytes,
    /// How long caches may call its Data fresh; zero is never.
    pub freshness: Span,
}

impl Producer {
    /// Turns an Interest into its Data. The service class is copied from the Interest
    /// (QSCCP, section IV-B); no other signal is set.
    pub fn answer(&self, packet: &mut Packet) {
        let class = packet.header().signals.value(Signal::ServiceClass);
        packet.kind = Kind::Data;
        *packet.header_mut() = LpHeader { pit_token: packet.header().pit_token, ..LpHeader::NONE };
        if let Some(class) = class {
            packet.header_mut().signals.set(Signal::ServiceClass, class);
        }
        packet.content_len = self.payload.as_u64() as u32;
        packet.freshness = self.freshness;
        packet.net_len = crate::wire::data_len(packet);
    }
}
