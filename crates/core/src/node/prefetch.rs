//! What the next packets of a link need is fetched while others are handled.

use super::Node;
use crate::ids::PitId;
use crate::packet::{Packet, PacketId, PacketPool};

impl Node {
    /// Has the processor fetch what the next packets of a link need at this node; changes nothing. `coming` are the first,
    /// the second and the third that will arrive: of the third the packet itself is fetched, of the second, whose packet
    /// is there by now, its PIT entry, and of the first what that entry is linked with.
    #[inline]
    pub fn prefetch(&self, pool: &PacketPool, coming: [Option<PacketId>; 3]) {
        let [first, second, third] = coming.map(|id| id.map(|id| &pool[id]));
        if let Some(packet) = third {
            packet.prefetch();
        }
        if let Some(pit) = second.and_then(answered) {
            self.pit.prefetch(pit);
        }
        if let Some(pit) = first.and_then(answered) {
            self.pit.prefetch_neighbours(pit);
        }
    }
}

/// The entry that a Data names.
#[inline]
fn answered(packet: &Packet) -> Option<PitId> {
    PitId::from_token(packet.header().pit_token.bytes()).filter(|_| packet.is_data())
}
