//! The queue of outgoing Data and Nacks. They are not scheduled, because their Interests were. So none waits
//! long, if Interests leave on time.
//!
//! After a short pause a router sends many Interests at once, and several neighbours may do so at the same time. Their
//! Data wait here. The free part of the link, 1 − η, drains them a hundred times more slowly. So Data of delay-sensitive
//! classes may leave before others, but only as many as the limits of their Interests allow. Otherwise a flow could gain
//! by the class of its Interests alone.
//!
//! Parameter: `urgent_data`. Without it there is one queue, as in the paper.

use weir_core::meter::Meter;
use weir_core::packet::{PacketId, PacketPool};
use weir_core::seam::DropTail;
use weir_core::seam::{Backlog, ClearEvent, EnqueueEvent, Queue, QueueLimit};
use weir_core::units::{Rate, Time};

/// Two drop-tail queues. The first one is served first.
#[derive(Debug)]
pub(crate) struct Outgoing {
    urgent: DropTail,
    others: DropTail,
    /// The limiter of Data that leave before others.
    limiter: Meter,
    /// Σ δ, as a part of the link.
    part: f64,
}

impl Outgoing {
    /// Builds the queues. Each has the bound `limit`. At most `part` of a link of `send_rate` may be urgent
    /// (0: none), and `burst` bits at once.
    pub(crate) fn new(limit: QueueLimit, send_rate: Option<Rate>, part: f64, burst: u64) -> Outgoing {
        let limiter = Meter::new(part_of(send_rate, part), burst);
        Outgoing { urgent: DropTail::new(limit), others: DropTail::new(limit), limiter, part }
    }

    /// Sets another rate of the link.
    pub(crate) fn set_rate(&mut self, now: Time, send_rate: Option<Rate>) {
        self.limiter.set_rate(now, part_of(send_rate, self.part));
    }

    /// Enqueues a packet.
    pub(crate) fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        let bits = 8 * ev.pool[packet].wire_len();
        let class = ev.pool[packet].flow.class;
        let is_urgent =
            self.part > 0.0 && class.is_delay_sensitive() && self.limiter.passes_at(bits) <= ev.now;
        if is_urgent {
            self.limiter.take(ev.now, bits);
            self.urgent.enqueue(ev, packet);
        } else {
            self.others.enqueue(ev, packet);
        }
    }

    /// Removes and returns the next packet to leave.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &mut PacketPool) -> Option<PacketId> {
        self.urgent.pop(pool).or_else(|| self.others.pop(pool))
    }

    /// Drops all packets.
    pub(crate) fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        self.urgent.clear(ev);
        self.others.clear(ev);
    }

    /// Returns the packets and bytes that wait.
    pub(crate) fn backlog(&self) -> Backlog {
        let (urgent, others) = (self.urgent.backlog(), self.others.backlog());
        Backlog { packets: urgent.packets + others.packets, bytes: urgent.bytes + others.bytes }
    }
}

fn part_of(send_rate: Option<Rate>, part: f64) -> Rate {
    send_rate.map_or(Rate::from_bps(u64::MAX), |rate| Rate::from_bps_f64(part * rate.as_bps_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::packet::{FlowKey, Kind};
    use weir_core::random::Random;
    use weir_core::units::Span;
    use weir_packet::ServiceClass;

    /// Queues a Data of 1000 bytes for each class at once. Returns the classes in the order in which the Data
    /// leave.
    fn order(outgoing: &mut Outgoing, now: Time, classes: &[ServiceClass]) -> Vec<ServiceClass> {
        let (mut pool, mut dropped) = (PacketPool::new(), Vec::new());
        let mut random = Random::named(1, "outgoing");
        for &class in classes {
            let id = pool.take();
            pool[id].kind = Kind::Data;
            pool[id].net_len = 1000;
            pool[id].flow = FlowKey { class, ..FlowKey::default() };
            let mut ev = EnqueueEvent {
                now,
                pool: &mut pool,
                dropped: &mut dropped,
                random: &mut random,
                keeps_prefix: false,
            };
            outgoing.enqueue(&mut ev, id);
        }
        assert_eq!(outgoing.backlog().packets as usize, classes.len());
        core::iter::from_fn(|| outgoing.pop(&mut pool).map(|id| pool[id].flow.class)).collect()
    }

    #[test]
    fn data_of_delay_sensitive_classes_leave_first_but_no_more_than_their_part() {
        use ServiceClass::{Af1, Be, Ef};
        let rate = Some(Rate::from_mbps(10));
        let mut outgoing = Outgoing::new(QueueLimit::Packets(20), rate, 0.5, 16_000);
        let now = Time::from_nanos(1_000_000);
        assert_eq!(order(&mut outgoing, now, &[Be, Ef, Af1, Ef, Ef, Be]), [Ef, Ef, Be, Af1, Ef, Be]);
        // 8000 bits at half of 10 Mb/s.
        let later = now + Span::from_micros(1600);
        assert_eq!(order(&mut outgoing, later, &[Be, Ef, Ef]), [Ef, Be, Ef]);
    }
}
