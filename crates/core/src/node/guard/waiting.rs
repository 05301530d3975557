//! The memory of packets that wait at this node: in the queues of links, or held by a strategy.
//!
//! All queues share one bound ([`SharedBound`]). Beyond its share, a link takes nothing more, whatever the bound of its
//! queue. What is counted of a packet is all that it takes, but for one thing: the world cuts the bytes of many packets from
//! one block, so a packet that waits while others are gone keeps the whole block. Therefore it gets memory of its own when
//! an eighth of the bound has arrived since. A queue in its steady state is shorter than that, and copies nothing.

use std::collections::VecDeque;

use crate::packet::{Packet, PacketId, PacketPool};
use crate::shared_bound::SharedBound;

/// The packets that wait.
#[derive(Debug)]
pub(in crate::node) struct Waiting {
    bound: SharedBound,
    /// Bytes of all packets that have arrived.
    arrived: u64,
    /// Packets that began to wait not long ago, or have left since.
    recent: VecDeque<Recent>,
}

/// A packet that began to wait.
#[derive(Debug)]
struct Recent {
    packet: PacketId,
    /// Where its bytes are: then it is still this packet, or one whose bytes are there now.
    at: usize,
    /// How much had arrived.
    arrived: u64,
}

/// What a packet that waits is charged with, bytes. Its place in the pool stays when it leaves. So that places take a
/// fifth of the bound at most, a small packet counts as five places.
#[inline]
fn charge(packet: &Packet) -> u64 {
    packet.memory().max(5 * size_of::<Packet>() as u64)
}

impl Waiting {
    /// None so far; `bytes` is their bound, [`u64::MAX`] for none.
    pub(in crate::node) fn new(bytes: u64) -> Waiting {
        Waiting { bound: SharedBound::new(bytes), arrived: 0, recent: VecDeque::new() }
    }

    /// Bytes that the packets in queues are charged with.
    pub(in crate::node) fn bytes(&self) -> u64 {
        self.bound.held()
    }

    /// Whether anything is counted here.
    #[inline]
    pub(in crate::node) fn is_bounded(&self) -> bool {
        self.bound.bound() != u64::MAX
    }

    /// A packet is to wait at a link whose packets are charged with `own`: whether it may.
    #[inline]
    pub(in crate::node) fn enter(&mut self, own: &mut u64, packet: &Packet) -> bool {
        if !self.is_bounded() {
            return true;
        }
        let charge = charge(packet);
        let is_admitted = self.bound.admits(*own, charge);
        if is_admitted {
            self.set(own, *own + charge);
        }
        is_admitted
    }

    /// A packet has left the queue of this link.
    #[inline]
    pub(in crate::node) fn leave(&mut self, own: &mut u64, packet: &Packet) {
        if self.is_bounded() {
            self.set(own, *own - charge(packet));
        }
    }

    /// All packets have left the queue of this link.
    pub(in crate::node) fn clear(&mut self, own: &mut u64) {
        self.set(own, 0);
    }

    #[inline]
    fn set(&mut self, own: &mut u64, bytes: u64) {
        self.bound.replace(*own, bytes);
        *own = bytes;
    }

    /// A packet may have to wait from now on.
    #[inline]
    pub(in crate::node) fn note(&mut self, packet: PacketId, pool: &PacketPool) {
        let Packet { wire, has_own_memory, .. } = &pool[packet];
        if !wire.is_empty() && !has_own_memory {
            self.recent.push_back(Recent { packet, at: wire.as_ptr().addr(), arrived: self.arrived });
        }
    }

    /// A packet of so many bytes has arrived: those that wait since long before get memory of their own.
    #[inline]
    pub(in crate::node) fn arrive(&mut self, bytes: usize, pool: &mut PacketPool) {
        self.arrived += bytes as u64;
        // As many packets as may wait at once: each counts as five places.
        let (most, window) = (self.bound.bound() / (5 * size_of::<Packet>() as u64), self.bound.bound() / 8);
        while let Some(front) = self.recent.front()
            && (self.arrived - front.arrived > window || self.recent.len() as u64 > most)
        {
            if pool[front.packet].wire.as_ptr().addr() == front.at {
                pool.keep_alone(front.packet);
            }
            self.recent.pop_front();
        }
    }
}
