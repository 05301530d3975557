//! Prefetches the memory that the next packets need, while others are handled.

use super::{FIRST_LINK_TIMER, Face, FaceKind, Node};
use crate::ids::{FaceId, PitId};
use crate::packet::{Packet, PacketId, PacketPool};
use crate::prefetch::prefetch;

impl Node {
    /// Prefetches the memory that the next packets of a link need at this node; changes nothing. `coming` are
    /// the first, second and third packet that will arrive. For the third, the packet itself is prefetched.
    /// For the second, whose packet is in the cache by now, its PIT entry. For the first, the memory that
    /// this entry refers to.
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

/// The same in steps, for a world of many nodes that knows its next events. Each step reads what the step
/// before has prefetched.
impl Node {
    /// Prefetches the fields that each packet needs.
    #[inline]
    pub fn prefetch_fields(&self) {
        prefetch(&self.plain);
        prefetch(&self.strategy_timer);
        prefetch(&self.strategies);
        prefetch(&self.random);
        prefetch(&self.round_trips);
        prefetch(&self.deadlines);
        prefetch(&self.dead_nonces);
        prefetch(&self.sent_signals);
        prefetch(&self.prefixes);
        self.pit.prefetch_fields();
        self.fib.prefetch_fields();
    }

    /// Prefetches the memory that these fields refer to, for a packet that arrives by this face.
    #[inline]
    pub fn prefetch_behind(&self, face: FaceId) {
        if let Some(face) = self.faces.get(face.0 as usize) {
            prefetch(face);
        }
        self.pit.prefetch_free();
        self.sent_signals.prefetch(self.pit.next_place());
        self.fib.prefetch_behind();
        self.deadlines.prefetch_root();
    }

    /// Prefetches the face's link, and the table entries for the packet.
    #[inline]
    pub fn prefetch_for(&self, face: FaceId, packet: &Packet) {
        self.prefetch_link(face);
        match answered(packet) {
            Some(pit) => self.pit.prefetch(pit),
            None => {
                self.pit.prefetch_name(packet.name.hash());
                self.fib.prefetch_for(&packet.name);
            }
        }
    }

    /// Prefetches the link by which the packet will leave, in the usual case. Returns its face.
    #[inline]
    pub fn prefetch_out(&self, packet: &Packet) -> Option<FaceId> {
        let face = match answered(packet) {
            Some(pit) => {
                self.pit.prefetch_neighbours(pit);
                self.pit.entry(pit)?.in_records.first()?.face
            }
            None => self.fib.route(&packet.name)?.1.first()?.face,
        };
        self.prefetch_link(face);
        Some(face)
    }

    /// Prefetches the memory needed to find which deadline is due.
    #[inline]
    pub fn prefetch_deadlines(&self) {
        prefetch(&self.plain);
        prefetch(&self.strategy_timer);
        prefetch(&self.strategies);
        prefetch(&self.deadlines);
    }

    /// Prefetches the root of the deadlines.
    #[inline]
    pub fn prefetch_due(&self) {
        self.deadlines.prefetch_root();
    }

    /// Prefetches the link whose deadline is due next. Returns its face.
    #[inline]
    pub fn prefetch_due_link(&self) -> Option<FaceId> {
        let (_, timer) = self.deadlines.next_id()?;
        let face = self.links.get(timer.checked_sub(FIRST_LINK_TIMER)? as usize)?.face;
        self.prefetch_link(face);
        Some(face)
    }

    #[inline]
    fn prefetch_link(&self, face: FaceId) {
        if let Some(Face { kind: FaceKind::Link(link), .. }) = self.faces.get(face.0 as usize)
            && let Some(state) = self.links.get(*link as usize)
        {
            prefetch(&state.face);
            prefetch(&state.charged);
            state.link.prefetch();
        }
    }
}

/// The PIT entry that a Data names.
#[inline]
fn answered(packet: &Packet) -> Option<PitId> {
    PitId::from_token(packet.header().pit_token.bytes()).filter(|_| packet.is_data())
}
