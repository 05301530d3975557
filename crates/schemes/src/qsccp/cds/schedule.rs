//! The scheduler: chooses the Interest that leaves next, and refuses Interests without room.
//!
//! The bottom level is WDRR between the flows of a class, the middle level WFQ between the delay-tolerant classes, the
//! top level strict priority. The result of each level passes a token bucket before it leaves.

use core::cmp::Reverse;

use weir_core::packet::{PacketId, PacketPool};
use weir_core::seam::{DequeueEvent, DropReason, Dropped, EnqueueEvent, Next};
use weir_core::units::{Span, Time};
use weir_packet::Signal;

use super::flows::{Class, Head, MAX_DATA_BITS, SAME_SIZE};
use super::{Cds, FIRST_DT, NONE};
use crate::qsccp::greedy;
use crate::qsccp::signals::DOWNSTREAM_RATE;

/// Virtual time of the WFQ is set back when it gets here, long before doubles lose single bits: its
/// unit is a bit over a weight of at most 1000.
const REBASE_AT: f64 = 1e12;

impl Cds {
    pub(super) fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, id: PacketId) {
        let interest = &ev.pool[id];
        let (key, bytes) = (interest.flow, interest.wire_len());
        let declared = interest.header().signals.value(&Signal::EXPECTED_SIZE);
        let is_marked = greedy::is_marked(interest);
        // Nobody has seen its Data: to declare less than usual is no way to pass the limiters.
        let declared_bits = declared
            .map_or(0, |size| size.saturating_mul(8))
            .clamp(self.settings.default_data_bits, MAX_DATA_BITS);
        let flow_id = match self.index.find(key) {
            Some(known) => {
                self.note_demand(ev.now, key.class, known);
                known
            }
            None => self.add_flow(ev.now, key, ev.pool[id].name.wire(), declared_bits),
        };
        let flow = &mut self.flows[flow_id as usize];
        flow.greed.note_interest(is_marked);
        let class = &mut self.classes[key.class as usize];
        class.largest_bits = class.largest_bits.max(flow.data_bits);
        if let Some(reason) = class.refuses(flow) {
            ev.dropped.push(Dropped { packet: id, reason, nack: None });
            return;
        }
        if flow.queue.is_empty() {
            class.waiting_flows += 1;
            self.append_to_ring(flow_id);
        }
        let class = &mut self.classes[key.class as usize];
        self.flows[flow_id as usize].queue.push_back(ev.pool, id);
        class.queued += 1;
        self.queued_interests += 1;
        self.queued_interest_bytes += bytes;
        if class.head.is_none() {
            self.prepare_head(ev.now, key.class as usize, ev.pool);
        }
    }

    pub(super) fn append_to_ring(&mut self, id: u32) {
        let flow = &mut self.flows[id as usize];
        flow.next = NONE;
        match &mut self.classes[flow.key.class as usize].ring {
            Some((_, last)) => {
                let previous = core::mem::replace(last, id);
                self.flows[previous as usize].next = id;
            }
            ring => *ring = Some((id, id)),
        }
    }

    /// Puts flows back into their rings that have tokens again.
    pub(super) fn unpark(&mut self, now: Time, pool: &mut PacketPool) {
        while let Some(&Reverse((_, id))) = self.parked.peek().filter(|Reverse((at, _))| *at <= now) {
            self.parked.pop();
            self.flows[id as usize].is_parked = false;
            self.append_to_ring(id);
            let c = self.flows[id as usize].key.class as usize;
            if self.classes[c].head.is_none() {
                self.prepare_head(now, c, pool);
            }
        }
    }

    /// When the first flow that lacks tokens has them again.
    pub(super) fn unparks_at(&self) -> Time {
        self.parked.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Prepares a class's next head. Self-clocked fair queueing: a class that was idle starts from the
    /// tag in service.
    pub(super) fn prepare_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let last_finish = self.classes[c].last_finish;
        let start = if last_finish > self.virtual_time { last_finish } else { self.virtual_time };
        self.prepare_head_from(now, c, start, pool);
    }

    /// Bottom level, WDRR: takes the class's next Interest out of its flow's queue and gives it its
    /// WFQ tags.
    pub(super) fn prepare_head_from(&mut self, now: Time, c: usize, start: f64, pool: &mut PacketPool) {
        let class = &mut self.classes[c];
        let Some((mut first, mut last)) = class.ring else { return self.no_head(c, start) };
        self.backlogged |= 1 << c;
        let quantum = self.settings.quantum_bits.max(class.largest_bits) as f64;
        loop {
            let flow = &mut self.flows[first as usize];
            if let Some(tokens_at) = flow.lacks_tokens_until(now) {
                self.parked.push(Reverse((tokens_at, first)));
                let after = flow.leave_ring();
                flow.is_parked = true;
                if first == last {
                    class.ring = None;
                    return self.no_head(c, start);
                }
                first = after;
                class.ring = Some((first, last));
                continue;
            }
            if !flow.has_quantum {
                flow.deficit += quantum * flow.discounted_weight;
                flow.has_quantum = true;
            }
            let bits = flow.data_bits;
            if bits as f64 > flow.deficit {
                flow.has_quantum = false;
                if first != last {
                    let after = core::mem::replace(&mut flow.next, NONE);
                    self.flows[last as usize].next = first;
                    last = core::mem::replace(&mut first, after);
                }
                continue;
            }
            flow.deficit -= bits as f64;
            if let Some(limiter) = &mut flow.limiter {
                limiter.take(now, bits);
            }
            let packet = flow.queue.pop_front(pool).expect("a flow in the ring is backlogged");
            if flow.queue.is_empty() {
                class.waiting_flows -= 1;
                let after = flow.leave_ring();
                class.ring = (first != last).then_some((after, last));
            } else {
                class.ring = Some((first, last));
            }
            let weight = if c >= FIRST_DT { self.settings.omega[c - FIRST_DT] } else { 1.0 };
            let finish = start + bits as f64 / weight;
            class.last_finish = finish;
            class.head = Some(Head { packet, flow: first, bits, start, finish });
            return;
        }
    }

    /// Nothing of a class can go now.
    pub(super) fn no_head(&mut self, c: usize, last_finish: f64) {
        self.classes[c].head = None;
        self.classes[c].last_finish = last_finish;
        self.backlogged &= !(1 << c);
    }

    /// Top and middle level: the class to serve at `now`, or when one will have tokens.
    pub(super) fn choose_class(&self, now: Time) -> Result<usize, Time> {
        let mut earliest = Time::NEVER;
        let mut chosen: Option<(usize, f64)> = None;
        // Only the classes that have something are looked at, the most urgent first.
        let mut rest = self.backlogged;
        while rest != 0 {
            let c = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Class { head: Some(head), limiter, .. } = &self.classes[c] else { continue };
            match limiter {
                Some(limiter) => {
                    let passes_at = limiter.passes_at(head.bits);
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

    /// The next Interest that scheduler and limiters let pass, or when there is one.
    pub(super) fn dequeue_interest(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        self.unpark(ev.now, ev.pool);
        while self.queued_interests > 0 {
            let c = match self.choose_class(ev.now) {
                Ok(c) => c,
                Err(at) => return Next::At(at.min(self.unparks_at())),
            };
            let head = self.classes[c].head.expect("the chosen class has a head");
            let interest = &ev.pool[head.packet];
            if ev.now - interest.queued_at > interest.lifetime - self.return_time(interest.lifetime) {
                self.drop_head(ev.now, c, ev.pool);
                ev.dropped.push(Dropped { packet: head.packet, reason: DropReason::Expired, nack: None });
                continue;
            }
            // A short Data does not come while a long one leaves: who waits, waits after it.
            let passes_at = self.total.passes_at(head.bits.max(self.largest_bits));
            if passes_at > ev.now {
                return Next::At(passes_at);
            }
            self.take_head(ev.now, c, ev.pool);
            self.total.take(ev.now, head.bits);
            match &mut self.classes[c].limiter {
                Some(limiter) => limiter.take(ev.now, head.bits),
                // A head in a dropped one's place may have a tag before the one in service.
                None => self.virtual_time = self.virtual_time.max(head.finish),
            }
            if self.virtual_time > REBASE_AT {
                self.rebase();
            }
            let interest = &mut ev.pool[head.packet];
            let flow = &mut self.flows[head.flow as usize];
            if flow.same_size < SAME_SIZE {
                self.ledger.charge(interest.pit, head.bits);
                flow.unsettled = flow.unsettled.saturating_add(1);
            }
            // (10), first argument of the minimum; the second is the strategy's.
            let rate = self.suggested_rate(interest.flow);
            interest.header_mut().signals.lower(&DOWNSTREAM_RATE, rate);
            if self.flows[head.flow as usize].greed.is_greedy {
                greedy::mark(interest);
            }
            return Next::Packet(head.packet);
        }
        Next::Empty
    }

    /// What an Interest must have left of its lifetime when it leaves, for its Data to be of use: twice
    /// the shortest round trip seen on this face of late, since there may be as much network below
    /// as above. Where every Interest waits for long that is no measure, so half the lifetime at most.
    pub(super) fn return_time(&self, lifetime: Span) -> Span {
        let shortest = self.shortest_rtt.min(self.shortest_rtt_before);
        (shortest * 2).min(lifetime / 2)
    }

    /// Takes a class's head away and prepares the next.
    pub(super) fn take_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let Some(head) = self.classes[c].head else { return };
        self.count_out(c, pool[head.packet].wire_len());
        self.prepare_head_from(now, c, head.finish, pool);
    }

    /// Takes a class's head away that is not to be sent: the next gets its place, and its flow what
    /// it was charged, since neither had service.
    pub(super) fn drop_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let Some(head) = self.classes[c].head else { return };
        self.count_out(c, pool[head.packet].wire_len());
        let flow = &mut self.flows[head.flow as usize];
        if let Some(limiter) = &mut flow.limiter {
            limiter.give_back(head.bits);
        }
        if self.classes[c].ring.is_some_and(|(first, _)| first == head.flow) {
            flow.deficit += head.bits as f64;
        }
        self.prepare_head_from(now, c, head.start, pool);
    }

    pub(super) fn count_out(&mut self, c: usize, bytes: u64) {
        self.classes[c].queued -= 1;
        self.queued_interests -= 1;
        self.queued_interest_bytes -= bytes;
    }

    pub(super) fn rebase(&mut self) {
        for class in &mut self.classes {
            class.last_finish = (class.last_finish - self.virtual_time).max(0.0);
            if let Some(head) = &mut class.head {
                head.start = (head.start - self.virtual_time).max(0.0);
                head.finish -= self.virtual_time;
            }
        }
        self.virtual_time = 0.0;
    }

    /// Gives up everything that a flow has waiting.
    pub(super) fn flush(
        &mut self,
        id: u32,
        now: Time,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(PacketId),
    ) {
        let c = self.flows[id as usize].key.class as usize;
        self.unlink(c, id);
        if let Some(head) = self.classes[c].head.filter(|head| head.flow == id) {
            self.drop_head(now, c, pool);
            drop(head.packet);
        }
        while let Some(packet) = self.flows[id as usize].queue.pop_front(pool) {
            self.count_out(c, pool[packet].wire_len());
            drop(packet);
        }
    }

    /// Takes a flow out of its class's ring, wherever it stands.
    pub(super) fn unlink(&mut self, c: usize, id: u32) {
        if self.flows[id as usize].queue.is_empty() {
            return;
        }
        self.classes[c].waiting_flows -= 1;
        if self.flows[id as usize].is_parked {
            return self.parked.retain(|Reverse((_, parked))| *parked != id);
        }
        let Some((first, last)) = self.classes[c].ring else { return };
        let mut kept = Vec::new();
        let mut at = first;
        loop {
            if at != id {
                kept.push(at);
            }
            if at == last {
                break;
            }
            at = self.flows[at as usize].next;
        }
        self.flows[id as usize].next = NONE;
        for pair in kept.windows(2) {
            self.flows[pair[0] as usize].next = pair[1];
        }
        self.classes[c].ring = kept.first().copied().zip(kept.last().copied());
        if let Some(&last) = kept.last() {
            self.flows[last as usize].next = NONE;
        }
    }
}
