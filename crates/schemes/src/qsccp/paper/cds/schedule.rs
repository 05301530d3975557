//! The scheduler: chooses the Interest that leaves next, and refuses Interests without room.
//!
//! The bottom level is WDRR between the flows of a class (`members.rs`), the middle level WFQ between the
//! delay-tolerant classes, the top level strict priority. Flows with a limit, delay-sensitive classes, and
//! the whole each pass a token bucket.

use weir_core::packet::{Packet, PacketId, PacketPool};
use weir_core::seam::{DequeueEvent, DropReason, Dropped, EnqueueEvent, Next};
use weir_core::units::{Span, Time};
use weir_packet::Signal;

use super::class::{Class, Head};
use super::{Cds, FIRST_DT, MAX_DATA_BITS};
use crate::qsccp::paper::greedy;
use crate::qsccp::signals::DOWNSTREAM_RATE;

impl Cds {
    pub(super) fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, id: PacketId) {
        let interest = &ev.pool[id];
        let (key, bytes) = (interest.flow, interest.wire_len());
        let is_marked = greedy::is_marked(interest);
        let (flow, member) = match self.find(key) {
            Some(known) => known,
            None => {
                ev.keeps_prefix = true;
                // The size of its Data is not known yet. A declared size below the usual one does not count,
                // so it cannot bypass the limiters.
                let declared = interest.header().signals.value(&Signal::EXPECTED_SIZE).unwrap_or(0);
                let declared =
                    declared.saturating_mul(8).clamp(self.settings.default_data_bits, MAX_DATA_BITS);
                self.add_flow(ev.now, key, interest.name.wire(), declared)
            }
        };
        let class = &mut self.classes[key.class as usize];
        class.note_interest(ev.now, flow, member, is_marked);
        if let Some(reason) = class.refuses(flow, member) {
            ev.dropped.push(Dropped { packet: id, reason, nack: None });
            return;
        }
        class.flows.push(flow, member, ev.pool, id);
        self.queued_interests += 1;
        self.queued_interest_bytes += bytes;
        if class.head.is_none() {
            self.prepare_head(ev.now, key.class as usize);
        }
    }

    /// Prepares a class's next head. By self-clocked fair queueing, a class that was idle starts from the tag
    /// in service.
    fn prepare_head(&mut self, now: Time, c: usize) {
        let start = self.classes[c].last_finish.max(self.virtual_time);
        self.prepare_head_from(now, c, start);
    }

    /// Chooses the Interest that a class sends next, and gives it its WFQ tags.
    fn prepare_head_from(&mut self, now: Time, c: usize, start: f64) {
        let class = &mut self.classes[c];
        let quantum = self.settings.quantum_bits.max(class.largest_bits) as f64;
        let Ok(charge) = class.flows.choose(now, quantum) else {
            let is_parked = class.flows.unparks_at() != Time::NEVER;
            (class.head, class.last_finish) = (None, start);
            self.backlogged &= !(1 << c);
            self.parked = (self.parked & !(1 << c)) | (u8::from(is_parked) << c);
            return;
        };
        let weight = if c >= FIRST_DT { self.settings.omega[c - FIRST_DT] } else { 1.0 };
        let finish = start + charge as f64 / weight;
        class.last_finish = finish;
        class.head = Some(Head { charge, start, finish });
        self.backlogged |= 1 << c;
        self.parked &= !(1 << c);
    }

    /// Prepares heads of classes whose flows lacked tokens of their own.
    fn unpark(&mut self, now: Time) {
        let mut rest = self.parked;
        while rest != 0 {
            let c = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if self.classes[c].flows.unparks_at() <= now {
                self.prepare_head(now, c);
            }
        }
    }

    /// Returns when [`Cds::unpark`] prepares the next head. A class that has a head does not wait for its
    /// parked flows.
    fn unparks_at(&self) -> Time {
        let mut earliest = Time::NEVER;
        let mut rest = self.parked;
        while rest != 0 {
            earliest = earliest.min(self.classes[rest.trailing_zeros() as usize].flows.unparks_at());
            rest &= rest - 1;
        }
        earliest
    }

    /// Top and middle level: returns the class to serve at `now`, or when one will have tokens.
    fn choose_class(&self, now: Time) -> Result<usize, Time> {
        let mut earliest = Time::NEVER;
        let mut chosen: Option<(usize, f64)> = None;
        // The classes with a head, the most urgent first.
        let mut rest = self.backlogged;
        while rest != 0 {
            let c = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Class { head: Some(head), limiter, .. } = &self.classes[c] else { continue };
            match limiter {
                Some(limiter) => {
                    let passes_at = limiter.passes_at(head.charge);
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

    /// Returns the next Interest that the scheduler and the limiters allow; if there is none, when there will
    /// be one.
    pub(super) fn dequeue_interest(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if self.queued_interests > 0 {
            self.unpark(ev.now);
        }
        while self.queued_interests > 0 {
            let c = match self.choose_class(ev.now) {
                Ok(c) => c,
                Err(at) => return Next::At(at.min(self.unparks_at())),
            };
            let class = &mut self.classes[c];
            let (Some(head), Some((known, packet))) = (class.head, class.flows.chosen()) else {
                return Next::Empty;
            };
            let (interest, bits) = (&ev.pool[packet], head.charge);
            let (lifetime, bytes) = (interest.lifetime, interest.wire_len());
            let is_late = ev.now - interest.queued_at > lifetime - self.return_time(lifetime);
            // A short Data must not come while a long one is being sent. The wait is after the long one.
            let passes_at = self.total.passes_at(bits.max(self.largest_bits));
            if passes_at > ev.now && !is_late {
                return Next::At(passes_at);
            }
            self.queued_interests -= 1;
            self.queued_interest_bytes -= bytes;
            if is_late {
                // Class and flow do not pay for it, because neither had service.
                self.classes[c].flows.take(ev.now, 0, ev.pool);
                self.prepare_head_from(ev.now, c, head.start);
                ev.dropped.push(Dropped { packet, reason: DropReason::Expired, nack: None });
                continue;
            }
            let class = &mut self.classes[c];
            class.flows.take(ev.now, head.charge, ev.pool);
            match &mut class.limiter {
                Some(limiter) => limiter.take(ev.now, bits),
                // A head that replaces a dropped one may have a tag before the one in service.
                None => self.virtual_time = self.virtual_time.max(head.finish),
            }
            self.prepare_head_from(ev.now, c, head.finish);
            self.send(ev.now, bits, known, &mut ev.pool[packet]);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    /// Sends an Interest, for which the total limiter pays. PECN: it leaves with the lower of its
    /// DownstreamRate and R_f,j, the first argument of the minimum in (10); the strategy supplies the second.
    /// It also carries the mark of a greedy flow. `known` is the place of
    /// the flow.
    fn send(&mut self, now: Time, bits: u64, known: (u32, u32), interest: &mut Packet) {
        let class = interest.flow.class;
        debug_assert_eq!(self.find(interest.flow), Some(known));
        let data = &mut self.classes[class as usize].flow(known.0, known.1).data;
        self.total.take(now, data.answers.part_of(bits));
        if self.settings.exact_charges {
            data.answers.note_sent();
            if !data.is_steady() {
                self.ledger.charge(interest.pit, data.bits);
                data.unsettled = data.unsettled.saturating_add(1);
            }
        }
        interest.header_mut().signals.lower(&DOWNSTREAM_RATE, self.suggested_rate(class, Some(known)));
        if self.is_greedy(class, known) {
            greedy::mark(interest);
        }
    }

    /// Returns the remaining lifetime that an Interest needs when it leaves, so that its Data come in time.
    /// This is twice the shortest recent round trip of this face, because the path downstream may be as long
    /// as the path upstream. It is at most half the lifetime, because round trips are no good measure if
    /// every Interest waits for long.
    fn return_time(&self, lifetime: Span) -> Span {
        let shortest = self.shortest_rtt.min(self.shortest_rtt_before);
        (shortest * 2).min(lifetime / 2)
    }

    /// Drops the waiting Interests of a flow, or of all flows of a class.
    pub(super) fn give_up(
        &mut self,
        c: usize,
        flow: Option<(u32, u32)>,
        now: Time,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(PacketId),
    ) {
        let (flows, before) = (&mut self.classes[c].flows, self.queued_interests);
        let (packets, bytes) = (&mut self.queued_interests, &mut self.queued_interest_bytes);
        let drop = &mut |pool: &PacketPool, packet| {
            *packets -= 1;
            *bytes -= pool[packet].wire_len();
            drop(packet);
        };
        match flow {
            Some((id, member)) => flows.flush(id, member, pool, drop),
            None => {
                while let Some(id) = flows.any_waiting() {
                    flows.flush(id, flows.any_member(id), pool, drop);
                }
            }
        }
        if let Some(head) = self.classes[c].head.filter(|_| self.queued_interests < before) {
            self.prepare_head_from(now, c, head.start);
        }
    }
}
