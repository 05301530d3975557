//! The drop-tail queue, on which schemes build.

use crate::packet::{PacketId, PacketList, PacketPool};
use crate::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, EnqueueEvent, Next, Queue, QueueLimit,
};
use crate::units::Bytes;

/// A first-in first-out queue that drops arriving packets when it is full.
#[derive(Debug)]
pub struct DropTail {
    limit: QueueLimit,
    packets: PacketList,
    bytes: u64,
}

impl DropTail {
    /// Makes an empty queue with this bound.
    pub fn new(limit: QueueLimit) -> DropTail {
        DropTail { limit, packets: PacketList::default(), bytes: 0 }
    }

    /// Appends a packet. Returns `false` if it does not fit.
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

    /// Returns whether it is empty and accepts a packet of this length, bytes.
    #[inline]
    pub(crate) fn lets_through(&self, wire_len: u64) -> bool {
        self.packets.is_empty()
            && match self.limit {
                QueueLimit::Packets(limit) => limit > 0,
                QueueLimit::Bytes(limit) => Bytes::new(wire_len) <= limit,
            }
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

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        while let Some(packet) = self.pop(ev.pool) {
            ev.cleared.push(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::units::Time;

    /// Offers packets of these lengths. Returns the lengths of those that were refused, bytes.
    fn refused(queue: &mut DropTail, pool: &mut PacketPool, lengths: &[u32]) -> Vec<u64> {
        let (mut dropped, mut random) = (Vec::new(), Random::named(1, "queue"));
        for &len in lengths {
            let id = pool.take();
            pool[id].net_len = len;
            let (now, random) = (Time::ZERO, &mut random);
            queue.enqueue(
                &mut EnqueueEvent { now, pool, dropped: &mut dropped, random, keeps_prefix: false },
                id,
            );
        }
        assert!(dropped.iter().all(|d| d.reason == DropReason::QueueFull && d.nack.is_none()));
        dropped.into_iter().map(|d| pool[d.packet].wire_len()).collect()
    }

    #[test]
    fn a_bound_in_packets_counts_packets_and_takes_in_again_what_left() {
        let mut pool = PacketPool::new();
        let mut queue = DropTail::new(QueueLimit::Packets(2));
        assert_eq!(refused(&mut queue, &mut pool, &[8000, 10, 20]), [20]);
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 8010 });
        let first = queue.pop(&mut pool).unwrap();
        assert_eq!(pool[first].wire_len(), 8000);
        assert_eq!(refused(&mut queue, &mut pool, &[30, 40]), [40]);
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 40 });
    }

    #[test]
    fn a_bound_in_bytes_is_reached_exactly_and_not_passed() {
        let mut pool = PacketPool::new();
        let mut queue = DropTail::new(QueueLimit::Bytes(Bytes::new(100)));
        assert_eq!(refused(&mut queue, &mut pool, &[101, 60, 50, 40, 1]), [101, 50, 1]);
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 100 });
        while queue.pop(&mut pool).is_some() {}
        assert_eq!(queue.backlog(), Backlog::default());
    }

    #[test]
    fn a_bound_of_nothing_refuses_everything() {
        let mut pool = PacketPool::new();
        for limit in [QueueLimit::Packets(0), QueueLimit::Bytes(Bytes::new(0))] {
            assert_eq!(refused(&mut DropTail::new(limit), &mut pool, &[1]), [1]);
        }
    }
}
