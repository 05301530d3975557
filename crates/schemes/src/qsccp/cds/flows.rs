//! The state of flows and classes at a face: how passing Interests and Data change it, and how long it is kept.

use weir_core::ids::PitId;
use weir_core::meter::Meter;
use weir_core::packet::{FlowKey, Packet, PacketId, PacketList};
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_packet::ServiceClass;

use super::{Cds, NONE};
use crate::qsccp::Settings;
use crate::qsccp::greedy::{self, Greed};
use crate::qsccp::index::CLASSES;
use crate::qsccp::pecn::{self, ClassShare, FlowLoad, OfferHistory, Overbooking, RateMeasure};
use crate::qsccp::signals::TARGET_RATE;

/// A flow's state is kept so long after its last Interest, or for four of its usual gaps.
const SHORTEST_MEMORY: Span = Span::from_secs(4);
const LONGEST_MEMORY: Span = Span::from_secs(10);

/// What an Interest may wait for at its flow's rate: half a usual lifetime. Slower flows than 20
/// Interests in this time wait for too long before their virtual queues are full.
pub(super) const LONG_WAIT: Span = Span::from_secs(1);

/// A flow of which so many Data in a row had one size is charged for what it brings. That is not written down then: with a
/// hundred faces, none of them in the processor's caches for long, it is a third of a hop's time.
pub(super) const SAME_SIZE: u16 = 32;

/// No link waits for longer for what turns out to be larger than it was charged: on one that is faster than is said, Data
/// bring more than can ever be made up for.
const LONGEST_DEBT: Span = Span::from_secs(1);

/// NDN packets are at most 8800 bytes; nobody may declare more.
pub(super) const MAX_DATA_BITS: u64 = 8 * 8800;

/// One flow at this face. With many flows each packet finds another one, so what a packet touches
/// comes first.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Flow {
    /// Its virtual queue.
    pub(super) queue: PacketList,
    /// Next in its class's ring of backlogged flows.
    pub(super) next: u32,
    /// Whether it has had its quantum in this turn.
    pub(super) has_quantum: bool,
    pub(super) has_seen_data: bool,
    /// Data in a row that were of one size, up to [`SAME_SIZE`].
    pub(super) same_size: u16,
    /// Charges in the ledger that may still be settled.
    pub(super) unsettled: u32,
    /// WDRR deficit, bits; only while backlogged.
    pub(super) deficit: f64,
    /// w·φ: weight in the WDRR, discounted for a greedy flow.
    pub(super) discounted_weight: f64,
    /// Size of its Data, bits: declared by its Interests until a Data was seen.
    pub(super) data_bits: u64,
    pub(super) demand: RateMeasure,
    pub(super) mean_gap: Span,
    /// R_f, bit/s, not discounted yet; `None` until the first period ends.
    pub(super) rate: Option<f64>,
    pub(super) key: FlowKey,
    /// Place in its class's list of all flows.
    pub(super) place: u32,
    /// w: weight in the WDRR.
    pub(super) weight: f64,
    pub(super) offers: OfferHistory,
    /// TBRL of a flow that has a limit of its own, and whether it is out of the ring for lack of tokens.
    pub(super) limiter: Option<Meter>,
    pub(super) is_parked: bool,
    /// φ: less than 1 while it is punished as greedy.
    pub(super) phi: f64,
    pub(super) greed: Greed,
}

/// The Interest that a class sends next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) packet: PacketId,
    pub(super) flow: u32,
    pub(super) bits: u64,
    /// WFQ tags.
    pub(super) start: f64,
    pub(super) finish: f64,
}

/// One service class at this face.
#[derive(Debug)]
pub(super) struct Class {
    /// Every flow with state.
    pub(super) flows: Vec<u32>,
    /// Ring of backlogged flows: first and last.
    pub(super) ring: Option<(u32, u32)>,
    /// Interests in its virtual queues, its head included; and how many may be.
    pub(super) queued: u32,
    pub(super) room: u32,
    /// Interests that each of its flows may have waiting, its head not included.
    pub(super) flow_room: u32,
    /// Flows in the ring.
    pub(super) waiting_flows: u32,
    pub(super) head: Option<Head>,
    /// WFQ finish tag of its latest head.
    pub(super) last_finish: f64,
    /// TBRL of a delay-sensitive class.
    pub(super) limiter: Option<Meter>,
    /// Largest Data of its flows, bits: the quantum is not smaller, which keeps WDRR O(1).
    pub(super) largest_bits: u64,
    /// Result of the last period: B_c, and how it is shared.
    pub(super) rate: f64,
    pub(super) share: ClassShare,
    pub(super) offers: OfferHistory,
    /// How much more its flows are offered than there is.
    pub(super) overbooking: Overbooking,
    /// Σ w·φ over its flows: now; when `share` was made; and of those that came since and have sent
    /// more than one Interest.
    pub(super) weights: f64,
    pub(super) shared_weights: f64,
    pub(super) joined_weights: f64,
}

impl Flow {
    /// When the flow's own bucket has tokens for its next Interest, if it has not now.
    #[inline]
    pub(super) fn lacks_tokens_until(&self, now: Time) -> Option<Time> {
        let limiter = self.limiter.as_ref()?;
        Some(limiter.passes_at(self.data_bits)).filter(|at| *at > now)
    }

    /// Forgets its turn; gives the flow after it.
    pub(super) fn leave_ring(&mut self) -> u32 {
        self.deficit = 0.0;
        self.has_quantum = false;
        core::mem::replace(&mut self.next, NONE)
    }

    pub(super) fn is_punished(&self) -> bool {
        self.phi < 1.0
    }

    pub(super) fn load(&self) -> FlowLoad {
        let Flow { weight, phi, offers, .. } = *self;
        FlowLoad {
            weight,
            phi,
            demand: self.demand.rate(),
            is_limited: offers.is_limited(),
            is_new: offers.is_new(),
            least_told: offers.least(),
        }
    }
}

impl Class {
    /// What each of its waiting flows may have waiting when it is full: equal parts, so that those
    /// with long queues do not keep the others out.
    pub(super) fn part_of_room(&self) -> u32 {
        (self.room / self.waiting_flows.max(1)).max(1)
    }

    /// σ(x) for the part x of its virtual queue that a flow has filled; or of its part of the class's room
    /// or what its rate serves in good time, where these are less. One Interest does not count there,
    /// since where all wait for their turns it is no sign of too many. In the virtual queue it does, unless
    /// the others have more: else flows that began together would wait behind each other for ever.
    ///
    /// What comes of it while one of the class's largest Data leaves has to wait: that does not count.
    pub(super) fn discount(&self, flow: &Flow) -> f64 {
        let meanwhile = (self.largest_bits / flow.data_bits.max(1)).saturating_sub(1) as u32;
        let waiting = flow.queue.len().saturating_sub(meanwhile);
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
    pub(super) fn others_wait_more(&self, waiting: u32) -> bool {
        let all = self.queued - u32::from(self.head.is_some());
        u64::from(waiting) * u64::from(self.waiting_flows) < u64::from(all)
    }

    /// Why there is no room for another Interest of a flow.
    pub(super) fn refuses(&self, flow: &Flow) -> Option<DropReason> {
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

    pub(super) fn new(limiter: Option<Meter>) -> Class {
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
            offers: OfferHistory::default(),
            overbooking: Overbooking::default(),
            weights: 0.0,
            shared_weights: 0.0,
            joined_weights: 0.0,
        }
    }
}

impl Cds {
    pub(super) fn add_flow(&mut self, now: Time, key: FlowKey, name: &[u8], declared_bits: u64) -> u32 {
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
            offers: OfferHistory::default(),
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
    pub(super) fn note_demand(&mut self, now: Time, class: ServiceClass, id: u32) {
        let flow = &mut self.flows[id as usize];
        let gap = now.since(flow.demand.last_interest()).min(LONGEST_MEMORY);
        flow.mean_gap = Span::from_nanos((7 * flow.mean_gap.as_nanos() + gap.as_nanos()) / 8);
        if flow.rate.is_none() && flow.demand.has_nothing_new() {
            self.classes[class as usize].joined_weights += flow.discounted_weight;
        }
        flow.demand.on_interest(now, flow.data_bits);
    }

    pub(super) fn remove_flow(&mut self, id: u32) {
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
    pub(super) fn suggested_rate(&self, key: FlowKey) -> u64 {
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

    pub(super) fn forget_silent_flows(&mut self, now: Time) {
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

    pub(super) fn note_data(&mut self, now: Time, data: &Packet, bits: u64) {
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
    pub(super) fn settle(&mut self, now: Time, pit: PitId, bits: u64) {
        match self.ledger.settle(pit) {
            Some(charged) if bits > charged => self.total.owe(now, bits - charged, LONGEST_DEBT),
            Some(charged) => self.total.give_back(charged - bits),
            None => {}
        }
    }

    pub(super) fn on_data(&mut self, now: Time, data: &mut Packet, bits: u64) {
        // A mark is for this node's tables, and this face's to give.
        greedy::take_mark(data);
        self.note_data(now, data, bits);
        let rate = self.suggested_rate(data.flow);
        let is_first = data.header().signals.value(&TARGET_RATE).is_none();
        data.header_mut().signals.lower(&TARGET_RATE, rate);
        if is_first {
            // It is longer from here on, and its consumer counts it so.
            let longer = (8 * data.wire_len()) as f64 / bits.max(1) as f64;
            data.header_mut().signals.set(&TARGET_RATE, (rate as f64 * longer) as u64);
        }
        if self.index.find(data.flow).is_some_and(|id| self.flows[id as usize].greed.is_greedy) {
            greedy::mark(data);
        }
    }
}
