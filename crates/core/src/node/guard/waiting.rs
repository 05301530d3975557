//! Memory of the packets that wait at this node: in the queues of links, or held by a strategy.
//!
//! All queues share one bound ([`SharedBound`]). A link accepts no packet beyond its share, whatever the
//! bound of its own queue is. A packet is charged with all the memory that it takes, with one exception: the
//! world cuts the bytes of many packets from one block, so a packet that waits keeps the whole block after
//! the others are gone. Therefore a packet gets memory of its own when an eighth of the bound has arrived
//! after it. A queue in its steady state is shorter than that and copies nothing.

use std::collections::VecDeque;

use crate::packet::{Packet, PacketId, PacketPool};
use crate::shared_bound::SharedBound;

/// The packets that wait.
#[derive(Debug)]
pub(in crate::node) struct Waiting {
    bound: SharedBound,
    /// Bytes of all packets that have arrived.
    arrived: u64,
    /// Packets that began to wait recently; some have left since.
    recent: VecDeque<Recent>,
}

/// A packet that began to wait.
#[derive(Debug)]
struct Recent {
    packet: PacketId,
    /// Address of its bytes. If it is unchanged, the bytes belong to this packet, or to one that uses them
    /// now.
    at: usize,
    /// Bytes that had arrived by then.
    arrived: u64,
}

/// Charge of a waiting packet, bytes. Its place in the pool stays when it leaves. A small packet counts as
/// five places, so that places take at most a fifth of the bound.
#[inline]
fn charge(packet: &Packet) -> u64 {
    packet.memory().max(5 * size_of::<Packet>() as u64)
}

impl Waiting {
    /// Makes an empty account. `bytes` is the bound; [`u64::MAX`] for none.
    pub(in crate::node) fn new(bytes: u64) -> Waiting {
        Waiting { bound: SharedBound::new(bytes), arrived: 0, recent: VecDeque::new() }
    }

    /// Bytes charged for the packets in queues.
    pub(in crate::node) fn bytes(&self) -> u64 {
        self.bound.held()
    }

    /// Returns whether there is a bound.
    #[inline]
    pub(in crate::node) fn is_bounded(&self) -> bool {
        self.bound.bound() != u64::MAX
    }

    /// Charges a packet that is to wait at a link; `own` is the link's charge. Returns whether it may wait.
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

    /// Releases the charge of a packet that has left the queue of this link.
    #[inline]
    pub(in crate::node) fn leave(&mut self, own: &mut u64, packet: &Packet) {
        if self.is_bounded() {
            self.set(own, *own - charge(packet));
        }
    }

    /// Releases the charge of all packets of this link.
    pub(in crate::node) fn clear(&mut self, own: &mut u64) {
        self.set(own, 0);
    }

    #[inline]
    fn set(&mut self, own: &mut u64, bytes: u64) {
        self.bound.replace(*own, bytes);
        *own = bytes;
    }

    /// Notes that a packet may have to wait from now on.
    #[inline]
    pub(in crate::node) fn note(&mut self, packet: PacketId, pool: &PacketPool) {
        let Packet { wire, has_own_memory, .. } = &pool[packet];
        if !wire.is_empty() && !has_own_memory {
            self.recent.push_back(Recent { packet, at: wire.as_ptr().addr(), arrived: self.arrived });
        }
    }

    /// Notes that a packet of this size has arrived. Packets that have waited for long get memory of their
    /// own.
    #[inline]
    pub(in crate::node) fn arrive(&mut self, bytes: usize, pool: &mut PacketPool) {
        self.arrived += bytes as u64;
        // As many packets as may wait at once; each counts as five places.
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
