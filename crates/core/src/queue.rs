//! Queue disciplines that schemes build on. Here: drop-tail.

use crate::packet::{PacketId, PacketList, PacketPool};
use crate::scheme::{Backlog, DequeueEvent, DropReason, Dropped, EnqueueEvent, Next, Queue, QueueLimit};
use crate::units::Bytes;

/// One first-in first-out queue that refuses what does not fit.
#[derive(Debug)]
pub struct DropTail {
    limit: QueueLimit,
    packets: PacketList,
    bytes: u64,
}

impl DropTail {
    /// An empty queue with this bound.
    pub fn new(limit: QueueLimit) -> DropTail {
        DropTail { limit, packets: PacketList::default(), bytes: 0 }
    }

    /// Appends a packet; `false` if it does not fit.
    #[inline]
    pub fn push(&mut self, pool: &mut PacketPool, packet: PacketId) -> bool {
        let len = pool[packet].wire_len();
        let fits = match self.limit {
            QueueLimit::Packets(limit) => self.packets.len() < limit,
            QueueLimit::Bytes(limit) => Bytes::new(self.bytes + len) <= limit,
        };
        if fits {
            self.packets.push_back(pool, packet);
            self.bytes += len;
        }
        fits
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        let packet = self.packets.pop_front(pool)?;
        self.bytes -= pool[packet].wire_len();
        Some(packet)
    }
}

impl Queue for DropTail {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if !self.push(ev.pool, packet) {
            ev.dropped.push(Dropped { packet, reason: DropReason::QueueFull, nack: None });
        }
    }

    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.pop(ev.pool).map_or(Next::Empty, Next::Packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }
}
