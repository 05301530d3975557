//! The scheduler: chooses the Interest that leaves next, and refuses Interests without room.
//!
//! The bottom level is WDRR between the flows of a class (`members.rs`), the middle level WFQ between the delay-tolerant
//! classes, the top level strict priority. The result of each level passes a token bucket before it leaves.

use weir_core::packet::{PacketId, PacketPool};
use weir_core::seam::{DequeueEvent, DropReason, Dropped, EnqueueEvent, Next};
use weir_core::units::{Span, Time};
use weir_packet::Signal;

use super::class::{Class, Head};
use super::{Cds, FIRST_DT, MAX_DATA_BITS};
use crate::qsccp::paper::greedy;
use crate::qsccp::signals::DOWNSTREAM_RATE;

/// The virtual time of the WFQ is set back at this value, long before doubles lose single bits. Its unit is a
/// bit divided by a weight of at most 1000.
const REBASE_AT: f64 = 1e12;

impl Cds {
    pub(super) fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, id: PacketId) {
        let interest = &ev.pool[id];
        let (key, bytes) = (interest.flow, interest.wire_len());
        let is_marked = greedy::is_marked(interest);
        let (flow, member) = match self.find(key) {
            Some(known) => known,
            None => {
                ev.keeps_prefix = true;
                // Its Data are not known yet. A declared size below the usual one does not count, so it cannot
                // bypass the limiters.
                let declared = interest.header().signals.value(&Signal::EXPECTED_SIZE).unwrap_or(0);
                let declared =
                    declared.saturating_mul(8).clamp(self.settings.default_data_bits, MAX_DATA_BITS);
                self.add_flow(ev.now, key, interest.name.wire(), declared)
            }
        };
        let class = &mut self.classes[key.class as usize];
        class.note_interest(ev.now, flow, member, is_marked, self.settings.gamma);
        class.largest_bits = class.largest_bits.max(class.flow(flow, member).data.bits);
        if let Some(reason) = class.refuses(flow, member) {
            ev.dropped.push(Dropped { packet: id, reason, nack: None });
            return;
        }
        class.flows.push(flow, member, ev.pool, id);
        self.queued_interests += 1;
        self.queued_interest_bytes += bytes;
        if class.head.is_none() {
            self.prepare_head(ev.now, key.class as usize, ev.pool);
        }
    }

    /// Prepares a class's next head. Self-clocked fair queueing: a class that was idle starts from the tag in service.
    fn prepare_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let start = self.classes[c].last_finish.max(self.virtual_time);
        self.prepare_head_from(now, c, start, pool);
    }

    /// Takes the Interest that a class sends next out of its flow's queue, and gives it its WFQ tags.
    fn prepare_head_from(&mut self, now: Time, c: usize, start: f64, pool: &mut PacketPool) {
        let class = &mut self.classes[c];
        let quantum = self.settings.quantum_bits.max(class.largest_bits) as f64;
        let chosen = class.flows.choose(now, quantum).ok().and_then(|id| class.flows.take(now, id, pool));
        let Some(chosen) = chosen else {
            (class.head, class.last_finish) = (None, start);
            self.backlogged &= !(1 << c);
            return;
        };
        let weight = if c >= FIRST_DT { self.settings.omega[c - FIRST_DT] } else { 1.0 };
        let finish = start + chosen.charge.turn_bits as f64 / weight;
        class.last_finish = finish;
        class.head = Some(Head { chosen, start, finish });
        self.backlogged |= 1 << c;
    }

    /// Prepares heads of classes whose flows lacked tokens of their own.
    fn unpark(&mut self, now: Time, pool: &mut PacketPool) {
        for c in 0..self.classes.len() {
            if self.classes[c].head.is_none() && self.classes[c].flows.unparks_at() <= now {
                self.prepare_head(now, c, pool);
            }
        }
    }

    /// When the first flow without tokens has them again.
    fn unparks_at(&self) -> Time {
        self.classes.iter().map(|class| class.flows.unparks_at()).min().unwrap_or(Time::NEVER)
    }

    /// Top and middle level: the class to serve at `now`, or when one will have tokens.
    fn choose_class(&self, now: Time) -> Result<usize, Time> {
        let mut earliest = Time::NEVER;
        let mut chosen: Option<(usize, f64)> = None;
        // Only the classes with a head, the most urgent first.
        let mut rest = self.backlogged;
        while rest != 0 {
            let c = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Class { head: Some(head), limiter, .. } = &self.classes[c] else { continue };
            match limiter {
                Some(limiter) => {
                    let passes_at = limiter.passes_at(head.chosen.charge.data_bits);
                    if passes_at <= now {
                        return Ok(c);
                    }
                    earliest = earliest.min(passes_at);
                }
                None if chosen.is_none_or(|(_, finish)| head.finish < finish) => {
                    chosen = Some((c, head.finish))
                }
                None => {}
            }
        }
        chosen.map(|(c, _)| c).ok_or(earliest)
    }

    /// The next Interest that may leave by scheduler and limiters; if there is none, when there will be one.
    pub(super) fn dequeue_interest(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if self.queued_interests > 0 {
            self.unpark(ev.now, ev.pool);
        }
        while self.queued_interests > 0 {
            let c = match self.choose_class(ev.now) {
                Ok(c) => c,
                Err(at) => return Next::At(at.min(self.unparks_at())),
            };
            let head = self.classes[c].head.expect("the chosen class has a head");
            let (packet, bits) = (head.chosen.packet, head.chosen.charge.data_bits);
            let interest = &ev.pool[packet];
            if ev.now - interest.queued_at > interest.lifetime - self.return_time(interest.lifetime) {
                self.drop_head(ev.now, c, ev.pool);
                ev.dropped.push(Dropped { packet, reason: DropReason::Expired, nack: None });
                continue;
            }
            // A short Data does not come while a long one is being sent: the wait is after the long one.
            let passes_at = self.total.passes_at(bits.max(self.largest_bits));
            if passes_at > ev.now {
                return Next::At(passes_at);
            }
            self.count_out(packet, ev.pool);
            self.prepare_head_from(ev.now, c, head.finish, ev.pool);
            self.total.take(ev.now, bits);
            match &mut self.classes[c].limiter {
                Some(limiter) => limiter.take(ev.now, bits),
                // A head in a dropped one's place may have a tag before the one in service.
                None => self.virtual_time = self.virtual_time.max(head.finish),
            }
            if self.virtual_time > REBASE_AT {
                self.rebase();
            }
            self.send(c, &head, ev.pool);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// PECN: an Interest leaves with the lower of its DownstreamRate and R_f,j: the first argument of the minimum in (10);
    /// the second is the strategy's. And with the mark of a greedy flow.
    fn send(&mut self, c: usize, head: &Head, pool: &mut PacketPool) {
        let interest = &mut pool[head.chosen.packet];
        let data = &mut self.classes[c].flow_mut(head.chosen.flow, head.chosen.member).data;
        if self.settings.exact_charges {
            data.answers.note_sent(8 * interest.wire_len());
            if !data.is_steady() {
                self.ledger.charge(interest.pit, data.bits);
                data.unsettled = data.unsettled.saturating_add(1);
            }
        }
        let key = interest.flow;
        interest.header_mut().signals.lower(&DOWNSTREAM_RATE, self.suggested_rate(key));
        if self.is_greedy(key) {
            greedy::mark(interest);
        }
    }

    /// The remaining lifetime that an Interest needs when it leaves, so that its Data come in time: twice the
    /// shortest recent round trip of this face, because the path downstream may be as long as the path
    /// upstream. It is at most half the lifetime, because round trips are no good measure if every Interest
    /// waits for long.
    fn return_time(&self, lifetime: Span) -> Span {
        let shortest = self.shortest_rtt.min(self.shortest_rtt_before);
        (shortest * 2).min(lifetime / 2)
    }

    /// Removes a class's head that will not be sent. The next Interest gets its place, and its flow gets its
    /// charge back, because neither had service.
    fn drop_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let Some(head) = self.classes[c].head else { return };
        self.count_out(head.chosen.packet, pool);
        self.classes[c].flows.give_back(&head.chosen);
        self.prepare_head_from(now, c, head.start, pool);
    }

    fn count_out(&mut self, packet: PacketId, pool: &PacketPool) {
        self.queued_interests -= 1;
        self.queued_interest_bytes -= pool[packet].wire_len();
    }

    fn rebase(&mut self) {
        for class in &mut self.classes {
            class.last_finish = (class.last_finish - self.virtual_time).max(0.0);
            if let Some(head) = &mut class.head {
                head.start = (head.start - self.virtual_time).max(0.0);
                head.finish -= self.virtual_time;
            }
        }
        self.virtual_time = 0.0;
    }

    /// Gives up all waiting Interests of a flow.
    pub(super) fn give_up(
        &mut self,
        c: usize,
        flow: u32,
        member: u32,
        now: Time,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(PacketId),
    ) {
        let (mut packets, mut bytes) = (0, 0);
        self.classes[c].flows.flush(flow, member, pool, &mut |pool, packet| {
            packets += 1;
            bytes += pool[packet].wire_len();
            drop(packet);
        });
        self.queued_interests -= packets;
        self.queued_interest_bytes -= bytes;
        let head = self.classes[c].head;
        if head.is_some_and(|head| (head.chosen.flow, head.chosen.member) == (flow, member)) {
            self.give_up_head(c, now, pool, drop);
        }
    }

    /// Gives up the Interest that a class would send next.
    pub(super) fn give_up_head(
        &mut self,
        c: usize,
        now: Time,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(PacketId),
    ) {
        if let Some(head) = self.classes[c].head {
            self.drop_head(now, c, pool);
            drop(head.chosen.packet);
        }
    }
}
