//! The scheduler: chooses the Interest that leaves next, and refuses Interests without room.
//!
//! The bottom level is WDRR between the flows of a class, the middle level WFQ between the delay-tolerant classes, the
//! top level strict priority. The result of each level passes a token bucket before it leaves.

use core::cmp::Reverse;

use weir_core::packet::{PacketId, PacketPool};
use weir_core::seam::{DequeueEvent, DropReason, Dropped, EnqueueEvent, Next};
use weir_core::units::{Span, Time};
use weir_packet::Signal;

use super::flows::{Class, Flow, Head, MAX_DATA_BITS, SAME_SIZE, Sharers};
use super::{Cds, FIRST_DT, NONE};
use crate::qsccp::greedy;
use crate::qsccp::signals::DOWNSTREAM_RATE;

/// The virtual time of the WFQ is set back at this value, long before doubles lose single bits. Its unit is a
/// bit divided by a weight of at most 1000.
const REBASE_AT: f64 = 1e12;

impl Cds {
    pub(super) fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, id: PacketId) {
        let interest = &ev.pool[id];
        let (key, bytes) = (interest.flow, interest.wire_len());
        let declared = interest.header().signals.value(&Signal::EXPECTED_SIZE);
        let is_marked = greedy::is_marked(interest);
        // Its Data are not known yet. A declared size below the usual one does not count, so it cannot bypass
        // the limiters.
        let declared_bits = declared
            .map_or(0, |size| size.saturating_mul(8))
            .clamp(self.settings.default_data_bits, MAX_DATA_BITS);
        let flow_id = match self.index.find(key) {
            Some(known) => {
                self.note_demand(ev.now, key.class, known);
                known
            }
            None => {
                ev.keeps_prefix = true;
                self.add_flow(ev.now, key, ev.pool[id].name.wire(), declared_bits)
            }
        };
        let flow = &mut self.flows[flow_id as usize];
        flow.greed.note_interest(is_marked);
        let class = &mut self.classes[key.class as usize];
        class.largest_bits = class.largest_bits.max(flow.data_bits);
        let refused = match flow.parent {
            NONE => class.refuses(flow),
            parent => {
                let (flow, parent) = (&self.flows[flow_id as usize], &self.flows[parent as usize]);
                class.refuses_in(flow, parent, &self.groups[parent.group as usize])
            }
        };
        if let Some(reason) = refused {
            ev.dropped.push(Dropped { packet: id, reason, nack: None });
            return;
        }
        let flow = &self.flows[flow_id as usize];
        let (is_first, parent) = (flow.queue.is_empty(), flow.parent);
        if parent != NONE {
            self.wait_in_group(parent, flow_id, is_first);
        } else if is_first {
            let class = &mut self.classes[key.class as usize];
            class.sharers.waiting_flows += 1;
            class.sharers.append(&mut self.flows, flow_id);
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

    /// Another Interest waits in a group: of a flow that may not be in its ring yet, nor the group in that of its class.
    fn wait_in_group(&mut self, parent: u32, flow: u32, is_first: bool) {
        let Flow { group, key, is_parked, .. } = self.flows[parent as usize];
        let group = &mut self.groups[group as usize];
        if is_first {
            group.sharers.waiting_flows += 1;
            group.sharers.append(&mut self.flows, flow);
        }
        group.waiting += 1;
        let sharers = &mut self.classes[key.class as usize].sharers;
        if group.waiting == 1 {
            sharers.waiting_flows += 1;
            sharers.append(&mut self.flows, parent);
        } else if is_first && is_parked {
            // Flows without tokens do not block this one.
            self.parked.retain(|Reverse((_, parked))| *parked != parent);
            self.flows[parent as usize].is_parked = false;
            sharers.append(&mut self.flows, parent);
        }
    }

    /// Puts flows that have tokens again back into their rings.
    pub(super) fn unpark(&mut self, now: Time, pool: &mut PacketPool) {
        while let Some(&Reverse((_, id))) = self.parked.peek().filter(|Reverse((at, _))| *at <= now) {
            self.parked.pop();
            self.flows[id as usize].is_parked = false;
            let c = self.flows[id as usize].key.class as usize;
            self.classes[c].sharers.append(&mut self.flows, id);
            if self.classes[c].head.is_none() {
                self.prepare_head(now, c, pool);
            }
        }
    }

    /// When the first flow without tokens has them again.
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
        let Some((mut first, mut last)) = class.sharers.ring else { return self.no_head(c, start) };
        self.backlogged |= 1 << c;
        let quantum = self.settings.quantum_bits.max(class.largest_bits) as f64;
        loop {
            let flow = &self.flows[first as usize];
            let (parent, chosen) = match flow.group {
                NONE => (NONE, flow.lacks_tokens_until(now).map_or(Ok(first), Err)),
                group => (first, self.groups[group as usize].choose(&mut self.flows, now, quantum)),
            };
            let chosen = match chosen {
                Ok(chosen) => chosen,
                Err(tokens_at) => {
                    self.parked.push(Reverse((tokens_at, first)));
                    let flow = &mut self.flows[first as usize];
                    let after = flow.leave_ring();
                    flow.is_parked = true;
                    if first == last {
                        class.sharers.ring = None;
                        return self.no_head(c, start);
                    }
                    first = after;
                    class.sharers.ring = Some((first, last));
                    continue;
                }
            };
            let bits = self.flows[chosen as usize].data_bits;
            let flow = &mut self.flows[first as usize];
            if !flow.has_quantum {
                flow.deficit += quantum * flow.discounted_weight;
                flow.has_quantum = true;
            }
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
            let (packet, is_last) = if parent == NONE {
                take_first(flow, now, pool)
            } else {
                let group = flow.group as usize;
                self.take_of_group(group, chosen, now, pool)
            };
            let class = &mut self.classes[c];
            if is_last {
                class.sharers.waiting_flows -= 1;
                let after = self.flows[first as usize].leave_ring();
                class.sharers.ring = (first != last).then_some((after, last));
            } else {
                class.sharers.ring = Some((first, last));
            }
            let weight = if c >= FIRST_DT { self.settings.omega[c - FIRST_DT] } else { 1.0 };
            let finish = start + bits as f64 / weight;
            class.last_finish = finish;
            class.head = Some(Head { packet, flow: chosen, bits, start, finish });
            return;
        }
    }

    /// Takes an Interest out of the queue of a flow that its group has chosen; says whether it was the group's last.
    fn take_of_group(
        &mut self,
        group: usize,
        chosen: u32,
        now: Time,
        pool: &mut PacketPool,
    ) -> (PacketId, bool) {
        let flow = &mut self.flows[chosen as usize];
        flow.deficit -= flow.data_bits as f64;
        let (packet, is_last) = take_first(flow, now, pool);
        let group = &mut self.groups[group];
        group.waiting -= 1;
        if is_last {
            group.leave_ring(&mut self.flows, chosen);
        }
        (packet, group.waiting == 0)
    }

    /// No Interest of a class can leave now.
    pub(super) fn no_head(&mut self, c: usize, last_finish: f64) {
        self.classes[c].head = None;
        self.classes[c].last_finish = last_finish;
        self.backlogged &= !(1 << c);
    }

    /// Top and middle level: the class to serve at `now`, or when one will have tokens.
    pub(super) fn choose_class(&self, now: Time) -> Result<usize, Time> {
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

    /// The next Interest that may leave by scheduler and limiters; if there is none, when there will be one.
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
            // A short Data does not come while a long one is being sent: the wait is after the long one.
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
            if self.is_greedy(&self.flows[head.flow as usize]) {
                greedy::mark(interest);
            }
            return Next::Packet(head.packet);
        }
        Next::Empty
    }

    /// The remaining lifetime that an Interest needs when it leaves, so that its Data come in time: twice the
    /// shortest recent round trip of this face, because the path downstream may be as long as the path
    /// upstream. It is at most half the lifetime, because round trips are no good measure if every Interest
    /// waits for long.
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

    /// Removes a class's head that will not be sent. The next Interest gets its place, and its flow gets its
    /// charge back, because neither had service.
    pub(super) fn drop_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let Some(head) = self.classes[c].head else { return };
        self.count_out(c, pool[head.packet].wire_len());
        let flow = &mut self.flows[head.flow as usize];
        if let Some(limiter) = &mut flow.limiter {
            limiter.give_back(head.bits);
        }
        let is_first = |sharers: &Sharers, id| sharers.ring.is_some_and(|(first, _)| first == id);
        let mut of_class = head.flow;
        if flow.parent != NONE {
            of_class = flow.parent;
            let group = self.flows[of_class as usize].group as usize;
            if is_first(&self.groups[group].sharers, head.flow) {
                self.flows[head.flow as usize].deficit += head.bits as f64;
            }
        }
        if is_first(&self.classes[c].sharers, of_class) {
            self.flows[of_class as usize].deficit += head.bits as f64;
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

    /// Gives up all waiting Interests of a flow.
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

    /// Takes a flow with its queue out of the ring of its class or group, wherever it stands; and its group out of that of
    /// the class, if nothing else waits there.
    pub(super) fn unlink(&mut self, c: usize, id: u32) {
        let Flow { queue, parent, .. } = self.flows[id as usize];
        if queue.is_empty() {
            return;
        }
        if parent == NONE {
            return self.unlink_from_class(c, id);
        }
        let group = &mut self.groups[self.flows[parent as usize].group as usize];
        group.waiting -= queue.len();
        group.sharers.waiting_flows -= 1;
        group.sharers.unlink(&mut self.flows, id);
        if group.waiting == 0 {
            self.unlink_from_class(c, parent);
        }
    }

    fn unlink_from_class(&mut self, c: usize, id: u32) {
        let sharers = &mut self.classes[c].sharers;
        sharers.waiting_flows -= 1;
        if core::mem::take(&mut self.flows[id as usize].is_parked) {
            self.parked.retain(|Reverse((_, parked))| *parked != id);
        } else {
            sharers.unlink(&mut self.flows, id);
        }
    }
}

/// Takes an Interest out of the queue of a flow that has tokens; says whether it was the last.
#[inline]
fn take_first(flow: &mut Flow, now: Time, pool: &mut PacketPool) -> (PacketId, bool) {
    if let Some(limiter) = &mut flow.limiter {
        limiter.take(now, flow.data_bits);
    }
    let packet = flow.queue.pop_front(pool).expect("a flow in the ring is backlogged");
    (packet, flow.queue.is_empty())
}

impl Sharers {
    /// Takes a flow out of the ring, wherever it stands.
    fn unlink(&mut self, flows: &mut [Flow], id: u32) {
        let Some((first, last)) = self.ring else { return };
        let mut kept = Vec::new();
        let mut at = first;
        loop {
            if at != id {
                kept.push(at);
            }
            if at == last {
                break;
            }
            at = flows[at as usize].next;
        }
        flows[id as usize].next = NONE;
        for pair in kept.windows(2) {
            flows[pair[0] as usize].next = pair[1];
        }
        self.ring = kept.first().copied().zip(kept.last().copied());
        if let Some(&last) = kept.last() {
            flows[last as usize].next = NONE;
        }
    }
}
