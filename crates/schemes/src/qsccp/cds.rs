//! CDS, class-based differentiated scheduling (section IV-C), and the rate estimation of PECN that
//! lives beside it: what stands in front of each link.
//!
//! ```text
//!  Interests                 bottom: WDRR       middle              top           total TBRL
//!   flow  -> virtual queue -+
//!   flow  -> virtual queue -+-> class CS7 -> TBRL -+
//!   …                           class CS6 -> TBRL -+- strict priority -+
//!                               class EF  -> TBRL -+                   |
//!                               class AF4 --------+                    +-> priority -> η·B − B_I -> link
//!                               …                 +- WFQ by ω ---------+
//!                               class BE  --------+
//!  Data ------------------------------------- drop-tail, C_DS first ------------------------> link
//! ```
//!
//! A flow with a limit of its own has a TBRL before its class's ring, and stays out of it while it lacks
//! tokens.
//!
//! An Interest is accounted at the size of the Data that it brings back, since it is the Data that
//! loads the link, in the other direction. O(1) per packet: a class keeps its backlogged flows in a
//! ring, a flow's queue is a list through the packets themselves, and flows are found by index.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_core::ids::PitId;
use weir_core::packet::{FlowKey, Packet, PacketId, PacketList, PacketPool};
use weir_core::seam::{
    Backlog, ClearEvent, DequeueEvent, DropReason, Dropped, EnqueueEvent, FaceConfig, Next, PrefixRemoved,
    Queue, ReceiveEvent,
};
use weir_core::units::{Rate, Span, Time};
use weir_packet::{ServiceClass, Signal};

use super::Settings;
use super::greedy::{self, Greed};
use super::index::{CLASSES, FlowIndex};
use super::ledger::Ledger;
use super::outgoing::Outgoing;
use super::pecn::{self, Claim, ClassShare, FlowLoad, RateMeasure, Told};
use super::signals::{DOWNSTREAM_RATE, TARGET_RATE};
use crate::meter::Meter;

/// C_DS = {CS7, CS6, EF} come first in the numbering, then C_DT.
const FIRST_DT: usize = ServiceClass::Ef as usize + 1;
const DT_CLASSES: usize = CLASSES - FIRST_DT;

/// A flow's state is kept so long after its last Interest, or for four of its usual gaps.
const SHORTEST_MEMORY: Span = Span::from_secs(4);
const LONGEST_MEMORY: Span = Span::from_secs(10);

/// Virtual time of the WFQ is set back when it gets here, long before doubles lose single bits: its
/// unit is a bit over a weight of at most 1000.
const REBASE_AT: f64 = 1e12;

/// What may wait is at least what comes back in this time: with a bound on the number of Interests
/// alone, the queues of a fast link would overflow within a period, before any rate could tell. 20
/// Interests are 17 ms on the 10 Mb/s of most of the paper's scenarios.
const ROOM_TIME: Span = Span::from_millis(20);

/// What an Interest may wait for at its flow's rate: half a usual lifetime. Slower flows than 20
/// Interests in this time wait for too long before their virtual queues are full.
const LONG_WAIT: Span = Span::from_secs(1);

/// A flow of which so many Data in a row had one size is charged for what it brings. That is not written down then: with a
/// hundred faces, none of them in the processor's caches for long, it is a third of a hop's time.
const SAME_SIZE: u16 = 32;

/// No link waits for longer for what turns out to be larger than it was charged: on one that is faster than is said, Data
/// bring more than can ever be made up for.
const LONGEST_DEBT: Span = Span::from_secs(1);

/// No flow.
const NONE: u32 = u32::MAX;

/// One flow at this face. With many flows each packet finds another one, so what a packet touches
/// comes first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Flow {
    /// Its virtual queue.
    queue: PacketList,
    /// Next in its class's ring of backlogged flows.
    next: u32,
    /// Whether it has had its quantum in this turn.
    has_quantum: bool,
    has_seen_data: bool,
    /// Data in a row that were of one size, up to [`SAME_SIZE`].
    same_size: u16,
    /// Charges in the ledger that may still be settled.
    unsettled: u32,
    /// WDRR deficit, bits; only while backlogged.
    deficit: f64,
    /// w·φ: weight in the WDRR, discounted for a greedy flow.
    discounted_weight: f64,
    /// Size of its Data, bits: declared by its Interests until a Data was seen.
    data_bits: u64,
    demand: RateMeasure,
    mean_gap: Span,
    /// R_f, bit/s, not discounted yet; `None` until the first period ends.
    rate: Option<f64>,
    key: FlowKey,
    /// Place in its class's list of all flows.
    place: u32,
    /// w: weight in the WDRR.
    weight: f64,
    told: Told,
    /// TBRL of a flow that has a limit of its own, and whether it is out of the ring for lack of tokens.
    limiter: Option<Meter>,
    is_parked: bool,
    /// φ: less than 1 while it is punished as greedy.
    phi: f64,
    greed: Greed,
}

/// The Interest that a class sends next.
#[derive(Clone, Copy, Debug)]
struct Head {
    packet: PacketId,
    flow: u32,
    bits: u64,
    /// WFQ tags.
    start: f64,
    finish: f64,
}

/// One service class at this face.
#[derive(Debug)]
struct Class {
    /// Every flow with state.
    flows: Vec<u32>,
    /// Ring of backlogged flows: first and last.
    ring: Option<(u32, u32)>,
    /// Interests in its virtual queues, its head included; and how many may be.
    queued: u32,
    room: u32,
    /// Interests that each of its flows may have waiting, its head not included.
    flow_room: u32,
    /// Flows in the ring.
    waiting_flows: u32,
    head: Option<Head>,
    /// WFQ finish tag of its latest head.
    last_finish: f64,
    /// TBRL of a delay-sensitive class.
    limiter: Option<Meter>,
    /// Largest Data of its flows, bits: the quantum is not smaller, which keeps WDRR O(1).
    largest_bits: u64,
    /// Result of the last period: B_c, and how it is shared.
    rate: f64,
    share: ClassShare,
    told: Told,
    /// Σ w·φ over its flows: now; when `share` was made; and of those that came since and have sent
    /// more than one Interest.
    weights: f64,
    shared_weights: f64,
    joined_weights: f64,
}

/// Class-based differentiated scheduling at one face.
#[derive(Debug)]
pub(super) struct Cds {
    settings: Settings,
    /// B: the rate at which Data comes back on this face. On a shared medium, what the face may count on,
    /// and what it could have if it asked for all.
    capacity: f64,
    fair_capacity: Option<f64>,
    /// B_I of the last period.
    reverse_interests: f64,
    flows: Vec<Flow>,
    free_flows: Vec<u32>,
    index: FlowIndex,
    classes: [Class; CLASSES],
    /// Flows that lack tokens of their own, by when they have them.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    /// A bit for each class that has a head.
    backlogged: u8,
    /// WFQ virtual time: the finish tag last served.
    virtual_time: f64,
    /// The total TBRL.
    total: Meter,
    /// What it was charged for Interests on their way.
    ledger: Ledger,
    /// Data and Nacks: not scheduled.
    data: Outgoing,
    /// The rate at which packets leave; the largest Data among them since the period before; and the
    /// part of the link that Interests may take from Data.
    send_rate: Option<Rate>,
    largest_sent_bits: u64,
    interests_out: Meter,
    queued_interests: u32,
    queued_interest_bytes: u64,
    /// The shortest round trip from this face since the period began, and in the latest period before
    /// that had any.
    shortest_rtt: Span,
    shortest_rtt_before: Span,
    /// Bits of Interests received on this face since the period began: B_I·T.
    received_interest_bits: u64,
    period_began: Time,
    /// Never while no flow has state.
    period_ends: Time,
}

/// Half of the link: where it is not known, no bound.
fn interests_part(send_rate: Option<Rate>) -> Rate {
    send_rate.map_or(Rate::from_bps(u64::MAX), |rate| Rate::from_bps(rate.as_bps() / 2))
}

/// Interests that may wait at this rate: so many, or as many as bring Data for [`ROOM_TIME`].
fn room(least: u32, rate: f64, data_bits: u64) -> u32 {
    least.max((rate * ROOM_TIME.as_secs_f64() / data_bits.max(1) as f64) as u32)
}

impl Class {
    /// What each of its waiting flows may have waiting when it is full: equal parts, so that those
    /// with long queues do not keep the others out.
    fn part_of_room(&self) -> u32 {
        (self.room / self.waiting_flows.max(1)).max(1)
    }

    /// σ(x) for the part x of its virtual queue that a flow has filled; or of its part of the class's room
    /// or what its rate serves in good time, where these are less. One Interest does not count there,
    /// since where all wait for their turns it is no sign of too many. In the virtual queue it does, unless
    /// the others have more: else flows that began together would wait behind each other for ever.
    fn discount(&self, flow: &Flow) -> f64 {
        let waiting = flow.queue.len();
        if waiting == 0 {
            return pecn::UNDISCOUNTED;
        }
        if flow.is_punished() {
            return 1.0;
        }
        let part = if self.limiter.is_some() { u32::MAX } else { self.part_of_room() };
        let in_time = flow.rate.unwrap_or(f64::INFINITY) * LONG_WAIT.as_secs_f64() / flow.data_bits as f64;
        let more = f64::from(waiting - 1) / f64::from(part).min(in_time);
        let counted = if self.others_wait_more(waiting) { waiting - 1 } else { waiting };
        pecn::occupancy_discount(more.max(f64::from(counted) / f64::from(self.flow_room)))
    }

    /// Whether its waiting flows have more than so many Interests waiting, on average.
    fn others_wait_more(&self, waiting: u32) -> bool {
        let all = self.queued - u32::from(self.head.is_some());
        u64::from(waiting) * u64::from(self.waiting_flows) < u64::from(all)
    }

    /// Why there is no room for another Interest of a flow.
    fn refuses(&self, flow: &Flow) -> Option<DropReason> {
        let is_full = self.queued >= self.room;
        let flow_room = if flow.is_punished() { self.flow_room } else { self.room };
        if flow.queue.len() >= flow_room {
            Some(DropReason::FlowQueueFull)
        } else if is_full && flow.queue.len() >= self.part_of_room() {
            Some(DropReason::ClassQueueFull)
        } else {
            None
        }
    }

    fn new(limiter: Option<Meter>) -> Class {
        Class {
            flows: Vec::new(),
            ring: None,
            queued: 0,
            room: 0,
            flow_room: 0,
            waiting_flows: 0,
            head: None,
            last_finish: 0.0,
            limiter,
            largest_bits: 0,
            rate: 0.0,
            share: ClassShare::default(),
            told: Told::default(),
            weights: 0.0,
            shared_weights: 0.0,
            joined_weights: 0.0,
        }
    }
}

impl Cds {
    pub(super) fn new(settings: &Settings, face: &FaceConfig) -> Cds {
        let capacity = face.receive_rate.unwrap_or(settings.unknown_capacity).as_bps_f64();
        let target = settings.eta * capacity;
        let classes = core::array::from_fn(|c| {
            let limiter = (c < FIRST_DT)
                .then(|| Meter::new(Rate::from_bps_f64(target * settings.delta[c]), settings.bucket_bits));
            Class::new(limiter)
        });
        let mut cds = Cds {
            settings: settings.clone(),
            capacity,
            fair_capacity: None,
            reverse_interests: 0.0,
            flows: Vec::new(),
            free_flows: Vec::new(),
            index: FlowIndex::default(),
            classes,
            parked: BinaryHeap::new(),
            backlogged: 0,
            virtual_time: 0.0,
            total: Meter::new(Rate::from_bps_f64(target), settings.burst_bits),
            ledger: Ledger::new(Rate::from_bps_f64(capacity), settings.default_data_bits),
            data: Outgoing::new(face.limit, face.send_rate, settings.urgent_part(), settings.bucket_bits),
            send_rate: face.send_rate,
            largest_sent_bits: 0,
            interests_out: Meter::new(interests_part(face.send_rate), 0),
            queued_interests: 0,
            queued_interest_bytes: 0,
            shortest_rtt: Span::MAX,
            shortest_rtt_before: Span::MAX,
            received_interest_bits: 0,
            period_began: Time::ZERO,
            period_ends: Time::NEVER,
        };
        cds.share_capacity(Time::ZERO);
        cds
    }

    // ---- Flows

    fn add_flow(&mut self, now: Time, key: FlowKey, name: &[u8], declared_bits: u64) -> u32 {
        let Settings { bucket_bits, flow_weights, flow_limits, .. } = &self.settings;
        let weight = flow_weights.of(name).unwrap_or(1.0);
        let limiter = flow_limits.of(name).map(|rate| Meter::new(rate, *bucket_bits));
        let class = &mut self.classes[key.class as usize];
        let flow = Flow {
            key,
            queue: PacketList::default(),
            next: NONE,
            place: class.flows.len() as u32,
            deficit: 0.0,
            has_quantum: false,
            weight,
            limiter,
            is_parked: false,
            told: Told::default(),
            phi: 1.0,
            greed: Greed::default(),
            discounted_weight: weight,
            data_bits: declared_bits,
            has_seen_data: false,
            same_size: 0,
            unsettled: 0,
            rate: None,
            demand: RateMeasure::new(now, declared_bits, self.settings.period),
            mean_gap: LONGEST_MEMORY / 4,
        };
        let id = match self.free_flows.pop() {
            Some(id) => {
                self.flows[id as usize] = flow;
                id
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        };
        class.flows.push(id);
        class.weights += flow.discounted_weight;
        self.index.insert(key, id);
        if self.period_ends == Time::NEVER {
            self.period_began = now;
            self.period_ends = now + self.settings.period;
            self.received_interest_bits = 0;
        }
        id
    }

    /// Another Interest of a flow, which is demand whether it is dropped or not.
    fn note_demand(&mut self, now: Time, class: ServiceClass, id: u32) {
        let flow = &mut self.flows[id as usize];
        let gap = now.since(flow.demand.last_interest()).min(LONGEST_MEMORY);
        flow.mean_gap = Span::from_nanos((7 * flow.mean_gap.as_nanos() + gap.as_nanos()) / 8);
        if flow.rate.is_none() && flow.demand.has_nothing_new() {
            self.classes[class as usize].joined_weights += flow.discounted_weight;
        }
        flow.demand.on_interest(now, flow.data_bits);
    }

    fn remove_flow(&mut self, id: u32) {
        let Flow { key, place, discounted_weight, .. } = self.flows[id as usize];
        let class = &mut self.classes[key.class as usize];
        class.flows.swap_remove(place as usize);
        if let Some(&moved) = class.flows.get(place as usize) {
            self.flows[moved as usize].place = place;
        }
        class.weights -= discounted_weight;
        self.index.remove(key);
        self.free_flows.push(id);
    }

    /// R_f,j: what this face suggests to a flow now. Nobody is promised what flows that came since
    /// the last period will take. A first Interest alone is no sign that more will follow.
    fn suggested_rate(&self, key: FlowKey) -> u64 {
        let class = &self.classes[key.class as usize];
        let flow = self.index.find(key).map(|id| &self.flows[id as usize]);
        let limit = flow.and_then(|flow| flow.limiter.as_ref()).map_or(f64::INFINITY, Meter::bits_per_second);
        let rate = match flow.and_then(|flow| flow.rate) {
            Some(rate) => {
                let discount = flow.map_or(1.0, |flow| class.discount(flow));
                rate * discount * class.shared_weights / (class.shared_weights + class.joined_weights)
            }
            None => {
                let weight = flow.map_or(1.0, |flow| flow.weight);
                let others = class.weights - flow.map_or(0.0, |flow| flow.discounted_weight);
                class.share.rate_of_new(weight, class.shared_weights.max(others))
            }
        };
        rate.min(limit) as u64
    }

    // ---- Enqueue

    fn enqueue_interest(&mut self, ev: &mut EnqueueEvent<'_>, id: PacketId) {
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

    fn append_to_ring(&mut self, id: u32) {
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
    fn unpark(&mut self, now: Time, pool: &mut PacketPool) {
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
    fn unparks_at(&self) -> Time {
        self.parked.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    // ---- Dequeue

    /// Prepares a class's next head. Self-clocked fair queueing: a class that was idle starts from the
    /// tag in service.
    fn prepare_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let last_finish = self.classes[c].last_finish;
        let start = if last_finish > self.virtual_time { last_finish } else { self.virtual_time };
        self.prepare_head_from(now, c, start, pool);
    }

    /// Bottom level, WDRR: takes the class's next Interest out of its flow's queue and gives it its
    /// WFQ tags.
    fn prepare_head_from(&mut self, now: Time, c: usize, start: f64, pool: &mut PacketPool) {
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
    fn no_head(&mut self, c: usize, last_finish: f64) {
        self.classes[c].head = None;
        self.classes[c].last_finish = last_finish;
        self.backlogged &= !(1 << c);
    }

    /// Top and middle level: the class to serve at `now`, or when one will have tokens.
    fn choose_class(&self, now: Time) -> Result<usize, Time> {
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
    fn dequeue_interest(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
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
            let passes_at = self.total.passes_at(head.bits);
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
    fn return_time(&self, lifetime: Span) -> Span {
        let shortest = self.shortest_rtt.min(self.shortest_rtt_before);
        (shortest * 2).min(lifetime / 2)
    }

    /// Takes a class's head away and prepares the next.
    fn take_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
        let Some(head) = self.classes[c].head else { return };
        self.count_out(c, pool[head.packet].wire_len());
        self.prepare_head_from(now, c, head.finish, pool);
    }

    /// Takes a class's head away that is not to be sent: the next gets its place, and its flow what
    /// it was charged, since neither had service.
    fn drop_head(&mut self, now: Time, c: usize, pool: &mut PacketPool) {
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

    fn count_out(&mut self, c: usize, bytes: u64) {
        self.classes[c].queued -= 1;
        self.queued_interests -= 1;
        self.queued_interest_bytes -= bytes;
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

    // ---- Rates

    /// Ends a period: forgets silent flows, and computes R_f of the others.
    fn end_period(&mut self, now: Time) {
        // A world may call late.
        let elapsed = now.since(self.period_began).max(self.settings.period).as_secs_f64();
        self.reverse_interests = self.received_interest_bits as f64 / elapsed;
        self.received_interest_bits = 0;
        if self.shortest_rtt < Span::MAX {
            self.shortest_rtt_before = core::mem::replace(&mut self.shortest_rtt, Span::MAX);
        }
        self.forget_silent_flows(now);
        self.measure_demand(now);
        self.share_capacity(now);
        self.largest_sent_bits = 0;
        self.judge_flows();
        let idle = self.classes.iter().all(|class| class.flows.is_empty());
        self.period_began = now;
        self.period_ends = if idle { Time::NEVER } else { now + self.settings.period };
    }

    /// r_f, and who has taken less than was suggested.
    fn measure_demand(&mut self, now: Time) {
        let Settings { period, gamma, .. } = self.settings;
        for class in &mut self.classes {
            class.largest_bits = 0;
            let (mut demand, mut suggested) = (0.0, 0.0);
            for place in 0..class.flows.len() {
                let flow = &mut self.flows[class.flows[place] as usize];
                flow.demand.end_period(now, flow.data_bits, period);
                demand += flow.demand.rate();
                class.largest_bits = class.largest_bits.max(flow.data_bits);
                if let Some(rate) = flow.rate {
                    let discount = class.discount(flow);
                    flow.told.note(flow.demand.rate(), rate, discount, gamma);
                    suggested += rate * discount;
                }
            }
            if class.flows.is_empty() {
                class.told = Told::default();
            } else if suggested > 0.0 {
                class.told.note(demand, suggested.min(class.rate), 1.0, gamma);
            }
        }
    }

    fn forget_silent_flows(&mut self, now: Time) {
        for c in 0..CLASSES {
            let mut place = 0;
            while let Some(&id) = self.classes[c].flows.get(place) {
                let flow = &self.flows[id as usize];
                let memory = (flow.mean_gap * 4).max(SHORTEST_MEMORY).min(LONGEST_MEMORY);
                let is_head = self.classes[c].head.is_some_and(|head| head.flow == id);
                let is_silent = now.since(flow.demand.last_interest()) > memory;
                if flow.queue.is_empty() && !is_head && is_silent {
                    self.remove_flow(id);
                } else {
                    place += 1;
                }
            }
        }
    }

    /// Equations (1) to (8), with what was measured over the last period, bit/s.
    fn share_capacity(&mut self, now: Time) {
        let s = self.settings.clone();
        let data_capacity = pecn::data_capacity(s.eta, self.capacity, self.reverse_interests);
        let whole = self.whole_capacity();
        let demands: [f64; CLASSES] = core::array::from_fn(|c| {
            self.classes[c].flows.iter().map(|&id| self.flows[id as usize].demand.rate()).sum()
        });
        // (2): what the delay-sensitive classes may use. (4): what they do use; tokens let no more
        // through than that. On a shared medium the limits are parts of more than there is at the moment,
        // so each class also leaves what more urgent ones use.
        let mut rates = [0.0; CLASSES];
        let mut delay_sensitive = 0.0;
        for c in 0..FIRST_DT {
            rates[c] = (whole * s.delta[c]).min((data_capacity - delay_sensitive).max(0.0));
            delay_sensitive += demands[c].min(rates[c]);
        }
        let claims: [Claim; DT_CLASSES] = core::array::from_fn(|i| {
            let told = &self.classes[FIRST_DT + i].told;
            Claim {
                weight: s.omega[i],
                demand: demands[FIRST_DT + i],
                is_limited: told.is_limited(),
                is_new: told.is_new(),
                least_told: told.least(),
            }
        });
        let available = (data_capacity - delay_sensitive).max(0.0);
        rates[FIRST_DT..].copy_from_slice(&pecn::class_rates(available, s.gamma, &claims));
        self.set_limits(now, data_capacity, whole);
        for (class, rate) in self.classes.iter_mut().zip(rates) {
            class.rate = rate;
            let loads = class.flows.iter().map(|&id| self.flows[id as usize].load());
            class.share = ClassShare::new(rate, s.gamma, loads);
            class.shared_weights = class.weights;
            class.joined_weights = 0.0;
            let usual = if class.largest_bits > 0 { class.largest_bits } else { s.default_data_bits };
            class.room = room(s.class_queue, rate, usual);
            class.flow_room = room(s.virtual_queue, rate, usual);
        }
        self.suggest_rates();
    }

    /// What δ_c is a part of. On a shared medium what a face may count on follows what it uses; a part of
    /// that would keep a class at what it has.
    fn whole_capacity(&self) -> f64 {
        let whole = self.fair_capacity.map_or(self.capacity, |fair| fair.max(self.capacity));
        pecn::data_capacity(self.settings.eta, whole, self.reverse_interests)
    }

    /// (9): R_f of every flow.
    fn suggest_rates(&mut self) {
        for class in &self.classes {
            for &id in &class.flows {
                let flow = &mut self.flows[id as usize];
                flow.rate = Some(class.share.rate_of(&flow.load()));
            }
        }
    }

    /// Punishes flows that are greedy, here or where they came through, and releases the others.
    fn judge_flows(&mut self) {
        let Settings { lambda, phi, greedy_ratio, .. } = self.settings;
        for class in &mut self.classes {
            for &id in &class.flows {
                let flow = &mut self.flows[id as usize];
                let told = class.share.rate_of(&flow.load()).max(flow.told.most());
                let is_over = flow.demand.rate() > greedy_ratio * told;
                flow.greed.end_period(is_over, flow.demand.is_falling(), lambda);
                flow.phi = if flow.greed.is_punished() { phi } else { 1.0 };
                let before = core::mem::replace(&mut flow.discounted_weight, flow.weight * flow.phi);
                class.weights += flow.discounted_weight - before;
            }
        }
    }

    /// The limiters follow what the Interests of the other direction leave.
    fn set_limits(&mut self, now: Time, limit: f64, whole: f64) {
        self.total.set_rate(now, Rate::from_bps_f64(limit));
        let largest = self.classes.iter().map(|class| class.largest_bits).max().unwrap_or(0);
        // While the link sends a Data, tokens gather for the Interests that wait.
        let sending =
            self.send_rate.map_or(0.0, |rate| self.largest_sent_bits as f64 / rate.as_bps_f64().max(1.0));
        self.interests_out.set_depth(self.largest_sent_bits);
        let gathered = (limit * sending.min(LONG_WAIT.as_secs_f64())) as u64;
        self.total.set_depth(self.settings.burst_bits.max(2 * largest) + gathered);
        for (class, delta) in self.classes.iter_mut().zip(self.settings.delta) {
            if let Some(limiter) = &mut class.limiter {
                limiter.set_rate(now, Rate::from_bps_f64((whole * delta).min(limit)));
            }
        }
    }

    // ---- Data

    fn note_data(&mut self, now: Time, data: &Packet, bits: u64) {
        let key = data.flow;
        if let Some(id) = self.index.find(key) {
            if self.flows[id as usize].unsettled > 0 {
                self.flows[id as usize].unsettled -= 1;
                self.settle(now, data.pit, bits);
            }
            let flow = &mut self.flows[id as usize];
            flow.greed.is_told = true;
            let bits = bits.clamp(1, MAX_DATA_BITS);
            // The average of equal sizes would stay some bits short of them, or above.
            let is_same = bits.abs_diff(flow.data_bits) <= 8;
            flow.same_size = if is_same { (flow.same_size + 1).min(SAME_SIZE) } else { 0 };
            let is_average = flow.has_seen_data && !is_same;
            flow.data_bits = if is_average { (7 * flow.data_bits + bits + 4) / 8 } else { bits };
            flow.has_seen_data = true;
            let class = &mut self.classes[key.class as usize];
            class.largest_bits = class.largest_bits.max(flow.data_bits);
        }
    }

    /// What a Data brings more than its Interest was charged the total limiter is charged now; what it brings less it gets
    /// back. Those of a class and of a flow go by what Data bring on average.
    fn settle(&mut self, now: Time, pit: PitId, bits: u64) {
        match self.ledger.settle(pit) {
            Some(charged) if bits > charged => self.total.owe(now, bits - charged, LONGEST_DEBT),
            Some(charged) => self.total.give_back(charged - bits),
            None => {}
        }
    }

    fn on_data(&mut self, now: Time, data: &mut Packet, bits: u64) {
        // A mark is for this node's tables, and this face's to give.
        greedy::take_mark(data);
        self.note_data(now, data, bits);
        let rate = self.suggested_rate(data.flow);
        data.header_mut().signals.lower(&TARGET_RATE, rate);
        if self.index.find(data.flow).is_some_and(|id| self.flows[id as usize].greed.is_greedy) {
            greedy::mark(data);
        }
    }
}

/// NDN packets are at most 8800 bytes; nobody may declare more.
const MAX_DATA_BITS: u64 = 8 * 8800;

impl Flow {
    /// When the flow's own bucket has tokens for its next Interest, if it has not now.
    #[inline]
    fn lacks_tokens_until(&self, now: Time) -> Option<Time> {
        let limiter = self.limiter.as_ref()?;
        Some(limiter.passes_at(self.data_bits)).filter(|at| *at > now)
    }

    /// Forgets its turn; gives the flow after it.
    fn leave_ring(&mut self) -> u32 {
        self.deficit = 0.0;
        self.has_quantum = false;
        core::mem::replace(&mut self.next, NONE)
    }

    fn is_punished(&self) -> bool {
        self.phi < 1.0
    }

    fn load(&self) -> FlowLoad {
        let Flow { weight, phi, told, .. } = *self;
        FlowLoad {
            weight,
            phi,
            demand: self.demand.rate(),
            is_limited: told.is_limited(),
            is_new: told.is_new(),
            least_told: told.least(),
        }
    }
}

impl Queue for Cds {
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId) {
        if ev.pool[packet].is_interest() {
            self.enqueue_interest(ev, packet);
        } else {
            self.largest_sent_bits = self.largest_sent_bits.max(8 * ev.pool[packet].wire_len());
            self.data.enqueue(ev, packet);
        }
    }

    /// Interests go before Data: they are small and paced already, and one that waits behind Data
    /// would leave the other direction idle. But they may not take more than half of the link from Data
    /// that wait.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next {
        if self.interests_out.passes_at(0) > ev.now
            && let Some(data) = self.data.pop(ev.pool)
        {
            return Next::Packet(data);
        }
        match self.dequeue_interest(ev) {
            Next::Packet(packet) => {
                self.interests_out.take(ev.now, 8 * ev.pool[packet].wire_len());
                Next::Packet(packet)
            }
            wait => self.data.pop(ev.pool).map_or(wait, Next::Packet),
        }
    }

    fn on_send_rate(&mut self, rate: Option<Rate>, now: Time) {
        self.send_rate = rate;
        self.interests_out.set_rate(now, interests_part(rate));
        self.data.set_rate(now, rate);
        self.share_capacity(now);
    }

    fn on_receive(&mut self, ev: &mut ReceiveEvent<'_>) {
        if ev.packet.is_data() {
            self.on_data(ev.now, ev.packet, ev.wire_len.bits());
            self.shortest_rtt = self.shortest_rtt.min(ev.rtt.unwrap_or(Span::MAX));
        } else if ev.packet.is_interest() {
            self.received_interest_bits += ev.wire_len.bits();
        }
    }

    fn next_deadline(&self) -> Time {
        self.period_ends
    }

    fn on_deadline(&mut self, now: Time) {
        self.end_period(now);
    }

    fn on_receive_rate(&mut self, rate: Option<Rate>, now: Time) {
        let rate = rate.unwrap_or(self.settings.unknown_capacity);
        self.capacity = rate.as_bps_f64();
        self.ledger.fit(rate, self.settings.default_data_bits);
        self.share_capacity(now);
    }

    fn on_fair_rate(&mut self, rate: Rate, _now: Time) {
        self.fair_capacity = Some(rate.as_bps_f64());
    }

    fn on_prefix_removed(&mut self, ev: &mut PrefixRemoved<'_>) {
        let PrefixRemoved { now, prefix, pool, dropped } = ev;
        for id in self.index.of_prefix(*prefix) {
            self.flush(id, *now, pool, &mut |packet| {
                dropped.push(Dropped { packet, reason: DropReason::NoRoute, nack: None });
            });
            self.remove_flow(id);
        }
    }

    fn clear(&mut self, ev: &mut ClearEvent<'_>) {
        for id in 0..self.flows.len() as u32 {
            self.flush(id, ev.now, ev.pool, &mut |packet| ev.cleared.push(packet));
        }
        self.data.clear(ev);
    }

    fn backlog(&self) -> Backlog {
        let data = self.data.backlog();
        Backlog {
            packets: self.queued_interests + data.packets,
            bytes: self.queued_interest_bytes + data.bytes,
        }
    }
}

impl Cds {
    /// Gives up everything that a flow has waiting.
    fn flush(&mut self, id: u32, now: Time, pool: &mut PacketPool, drop: &mut dyn FnMut(PacketId)) {
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
    fn unlink(&mut self, c: usize, id: u32) {
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
