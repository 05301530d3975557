//! Lengths of a flow's packets.

use weir_core::name::{HashedName, NameHasher, TYPE_GENERIC};
use weir_core::packet::wire;
use weir_core::packet::{Kind, Packet};
use weir_core::units::{Bytes, Span};
use weir_packet::{Name, PitToken, ServiceClass, Signal};

use crate::model::Flow;

impl Flow {
    /// Returns the lengths of an Interest and of its Data on the wire, with the header fields that every
    /// scheme's packets have: a PIT token and, unless it is Best Effort, the class. A scheme's own fields
    /// come on top.
    pub fn packet_lengths(&self) -> [Bytes; 2] {
        let hasher = NameHasher::new(0);
        let name: Name = self.prefix.parse().expect("a scenario's prefixes are checked");
        let mut name = HashedName::parse(&hasher, name.value()).expect("a scenario's prefixes are checked");
        // This cannot fail: a scenario's prefixes leave room for an object and a segment.
        if self.requests.is_some() {
            let _ = name.push(&hasher, TYPE_GENERIC, b"0");
        }
        let _ = name.push(&hasher, TYPE_GENERIC, &[0]);
        let mut packet = Packet::default();
        packet.name = name;
        packet.lifetime = self.lifetime;
        packet.must_be_fresh = self.freshness.is_some();
        packet.header_mut().pit_token = PitToken::from_u48(0);
        if self.class != ServiceClass::Be {
            packet.header_mut().signals.set(&Signal::SERVICE_CLASS, self.class as u64);
        }
        packet.net_len = wire::interest_len(&packet);
        let interest = wire::frame_len(&packet);
        packet.kind = Kind::Data;
        packet.content_len = self.payload.as_u64() as u32;
        packet.freshness = self.freshness.unwrap_or(Span::ZERO);
        packet.signature_len = self.signature;
        packet.net_len = wire::data_len(&packet);
        [interest, wire::frame_len(&packet)].map(Bytes::new)
    }
}
