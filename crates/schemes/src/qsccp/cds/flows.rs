//! The state of flows and classes at a face: how Interests and Data change it, and how long it is kept.

use weir_core::ids::{GroupId, PitId, PrefixId};
use weir_core::meter::Meter;
use weir_core::packet::{FlowKey, Packet, PacketId, PacketList};
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};
use weir_packet::ServiceClass;

use super::{Cds, NONE};
use crate::qsccp::Settings;
use crate::qsccp::greedy::{self, Greed};
use crate::qsccp::index::CLASSES;
use crate::qsccp::pecn::{self, ClassShare, FlowLoad, Newcomers, OfferHistory, Overbooking, RateMeasure};
use crate::qsccp::signals::TARGET_RATE;

/// A flow's state is kept so long after its last Interest, or for four of its usual gaps.
const SHORTEST_MEMORY: Span = Span::from_secs(4);
const LONGEST_MEMORY: Span = Span::from_secs(10);

/// The longest useful wait of an Interest at its flow's rate: half a usual lifetime. Interests of flows slower
/// than 20 Interests in this time wait too long before their virtual queues are full.
pub(super) const LONG_WAIT: Span = Span::from_secs(1);

/// After so many Data of one size in a row, the charges of a flow are right and are not recorded. With a
/// hundred faces, whose tables are not in the processor's caches, recording takes a third of the time of a hop.
pub(super) const SAME_SIZE: u16 = 32;

/// The longest wait of a link because Data were larger than their charges. If a link is faster than configured,
/// Data bring more than the limiter can ever compensate.
const LONGEST_DEBT: Span = Span::from_secs(1);

/// NDN packets are at most 8800 bytes, so a larger declared size does not count.
pub(super) const MAX_DATA_BITS: u64 = 8 * 8800;

/// One flow at this face. With many flows each packet uses another one, so the fields that a packet needs come
/// first.
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
    /// Whether it has a part in (7) and (8): not while it has stopped, and its state is kept in case that it returns.
    pub(super) is_counted: bool,
    /// Periods in which it has sent Interests since it came, its first one not counted, until it has stayed.
    pub(super) active_periods: u32,
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
    /// Its part of the weights of those that have joined since the last period.
    pub(super) joined: f64,
    pub(super) key: FlowKey,
    /// Place in the list of all flows of its class, or of its group there.
    pub(super) place: u32,
    /// The flow that stands for its group; and, for such a flow, its [`Group`]. [`NONE`] for none.
    pub(super) parent: u32,
    pub(super) group: u32,
    /// w: weight in the WDRR.
    pub(super) weight: f64,
    pub(super) offers: OfferHistory,
    /// TBRL of a flow that has a limit of its own, and whether it is out of the ring for lack of tokens.
    pub(super) limiter: Option<Meter>,
    pub(super) is_parked: bool,
    /// Whether that limit is the TargetRate of the next hop.
    pub(super) is_policed: bool,
    /// Of a flow in a group: the TargetRate of its latest Data when it came, bit/s; infinite if it had none.
    pub(super) upstream: f64,
    /// φ: less than 1 while it is greedy.
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

/// Flows that share a rate: those of a class, or of a group in a class.
#[derive(Debug, Default)]
pub(super) struct Sharers {
    /// Every flow with state.
    pub(super) flows: Vec<u32>,
    /// Ring of backlogged flows: first and last.
    pub(super) ring: Option<(u32, u32)>,
    /// Flows in the ring, and those that are out of it for lack of tokens.
    pub(super) waiting_flows: u32,
    /// Result of the last period: the rate that they share, B_c for a class, and their shares.
    pub(super) rate: f64,
    pub(super) share: ClassShare,
    /// How much more than the available rate they are offered.
    pub(super) overbooking: Overbooking,
    /// Σ w·φ over them: now; when `share` was made; and of those that came since, as far as they are expected to use
    /// their rates.
    pub(super) weights: f64,
    pub(super) shared_weights: f64,
    pub(super) joined_weights: f64,
    pub(super) newcomers: Newcomers,
}

/// The flows of a class that come from one group of faces. In the class one flow stands for them. It has their
/// demand, their share and their φ, and a place in the ring while one of them waits.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) sharers: Sharers,
    /// Interests in their virtual queues.
    pub(super) waiting: u32,
}

/// One service class at this face.
#[derive(Debug)]
pub(super) struct Class {
    /// Its flows, with one for each group.
    pub(super) sharers: Sharers,
    /// Interests in its virtual queues, its head included; and how many may be.
    pub(super) queued: u32,
    pub(super) room: u32,
    /// Interests that each of its flows may have waiting, its head not included.
    pub(super) flow_room: u32,
    pub(super) head: Option<Head>,
    /// WFQ finish tag of its latest head.
    pub(super) last_finish: f64,
    /// TBRL of a delay-sensitive class.
    pub(super) limiter: Option<Meter>,
    /// Largest Data of its flows, bits: the quantum is not smaller, which keeps WDRR O(1).
    pub(super) largest_bits: u64,
    pub(super) offers: OfferHistory,
    /// Whether none of its flows sent in the last period, and how it went on when one began.
    pub(super) is_silent: bool,
    pub(super) newcomers: Newcomers,
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

    /// Whether it has sent Interests for as long as consumers take to follow a rate.
    pub(super) fn has_stayed(&self) -> bool {
        self.active_periods >= pecn::PATIENCE
    }

    /// w·φ as it counts beside others.
    pub(super) fn counted_weight(&self) -> f64 {
        if self.is_counted { self.discounted_weight } else { 0.0 }
    }

    /// As one of those that share a rate.
    pub(super) fn load(&self, of: &Sharers) -> FlowLoad {
        let Flow { weight, phi, offers, .. } = *self;
        let mostly_stay = of.newcomers.mostly_stay();
        FlowLoad {
            weight,
            phi,
            demand: self.demand.rate(),
            is_limited: offers.is_limited(),
            is_new: offers.is_new() && mostly_stay,
            stays: if offers.is_new() && self.demand.is_asking() { of.newcomers.stays() } else { 0.0 },
            least_told: offers.least(),
        }
    }
}

/// The waiting Interests of the class or group of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Interests that all have waiting, this flow's included, and how many flows these are.
    waiting: u32,
    flows: u32,
    /// What each of them may have when there is no room left.
    part: u32,
}

impl Beside {
    /// Whether its waiting flows have more than so many Interests waiting, on average.
    fn wait_more(self, waiting: u32) -> bool {
        u64::from(waiting) * u64::from(self.flows) < u64::from(self.waiting)
    }
}

impl Sharers {
    /// The offer to one of them, as a part of the shared rate. The last period did not include flows that have
    /// come since.
    #[inline]
    pub(super) fn part_left(&self) -> f64 {
        self.shared_weights / (self.shared_weights + self.joined_weights)
    }

    /// The rate of a flow of this weight that came since the last period, and counts with `own` now.
    fn rate_of_new(&self, weight: f64, own: f64) -> f64 {
        self.share.rate_of_new(weight, self.shared_weights.max(self.weights - own))
    }

    /// Takes a flow out of the list.
    fn remove(&mut self, flows: &mut [Flow], id: u32) {
        let Flow { place, .. } = flows[id as usize];
        self.weights -= flows[id as usize].counted_weight();
        self.joined_weights -= flows[id as usize].joined;
        self.flows.swap_remove(place as usize);
        if let Some(&moved) = self.flows.get(place as usize) {
            flows[moved as usize].place = place;
        }
    }

    /// In a period a flow was silent: it leaves its part to the others.
    pub(super) fn pause(&mut self, flow: &mut Flow) {
        if flow.is_counted && !flow.has_stayed() {
            self.newcomers.note(true);
        }
        self.weights -= flow.counted_weight();
        flow.is_counted = false;
        flow.rate = None;
        flow.offers.note_silence();
        if flow.offers.is_new() {
            flow.active_periods = 0;
        }
    }

    /// Gives a rate to flows that do not share it yet: the first ones of a group, or those after a silence.
    fn begin(&mut self, rate: f64, gamma: f64) {
        self.rate = rate;
        self.share = ClassShare::of_nobody(rate, gamma);
        self.shared_weights = 0.0;
        self.joined_weights = 0.0;
    }

    /// Appends a flow to the ring.
    pub(super) fn append(&mut self, flows: &mut [Flow], id: u32) {
        flows[id as usize].next = NONE;
        match &mut self.ring {
            Some((_, last)) => {
                let previous = core::mem::replace(last, id);
                flows[previous as usize].next = id;
            }
            ring => *ring = Some((id, id)),
        }
    }
}

impl Group {
    /// WDRR between the flows of a group, as between those of a class: the next one, which then is the first of the
    /// ring; or when a flow has tokens, if all that wait lack them.
    pub(super) fn choose(&mut self, flows: &mut [Flow], now: Time, quantum: f64) -> Result<u32, Time> {
        let (mut lacking, mut earliest) = (0, Time::NEVER);
        loop {
            let (first, last) = self.sharers.ring.expect("a group in the ring is backlogged");
            let flow = &mut flows[first as usize];
            if let Some(tokens_at) = flow.lacks_tokens_until(now) {
                lacking += 1;
                earliest = earliest.min(tokens_at);
                if lacking == self.sharers.waiting_flows {
                    return Err(earliest);
                }
            } else {
                if !flow.has_quantum {
                    flow.deficit += quantum * flow.discounted_weight;
                    flow.has_quantum = true;
                }
                if flow.data_bits as f64 <= flow.deficit {
                    return Ok(first);
                }
                flow.has_quantum = false;
                lacking = 0;
            }
            if first != last {
                let after = core::mem::replace(&mut flow.next, NONE);
                flows[last as usize].next = first;
                self.sharers.ring = Some((after, first));
            }
        }
    }

    /// A flow has no Interest left.
    pub(super) fn leave_ring(&mut self, flows: &mut [Flow], id: u32) {
        let Some((first, last)) = self.sharers.ring else { return };
        debug_assert_eq!(first, id, "who was chosen is the first");
        let after = flows[id as usize].leave_ring();
        self.sharers.waiting_flows -= 1;
        self.sharers.ring = (first != last).then_some((after, last));
    }
}

impl Class {
    /// The room of each of its waiting flows when it is full: equal parts, so that flows with long queues do
    /// not exclude others.
    pub(super) fn part_of_room(&self) -> u32 {
        (self.room / self.sharers.waiting_flows.max(1)).max(1)
    }

    /// The waiting Interests beside one of its flows.
    #[inline]
    fn beside(&self) -> Beside {
        let waiting = self.queued - u32::from(self.head.is_some());
        Beside { waiting, flows: self.sharers.waiting_flows, part: self.part_of_room() }
    }

    /// The waiting Interests beside a flow of one of its groups, in that group.
    fn beside_in(&self, group: &Group) -> Beside {
        let flows = group.sharers.waiting_flows;
        Beside { waiting: group.waiting, flows, part: (self.part_of_room() / flows.max(1)).max(1) }
    }

    /// σ(x) for a flow with `waiting` Interests. x is the filled part of its virtual queue; or of its part of
    /// the class's room, or of the Interests that its rate serves in time, if these are smaller. There one
    /// Interest does not count: if all flows wait for their turns, it does not mean too many. In the virtual
    /// queue it counts, unless the other flows have more. Otherwise flows that began together would wait behind
    /// each other for ever.
    ///
    /// Interests that come while one of the class's largest Data is being sent have to wait. They do not count.
    pub(super) fn discount(&self, flow: &Flow, waiting: u32, beside: impl FnOnce() -> Beside) -> f64 {
        let meanwhile = (self.largest_bits / flow.data_bits.max(1)).saturating_sub(1) as u32;
        let waiting = waiting.saturating_sub(meanwhile);
        if waiting == 0 {
            return pecn::UNDISCOUNTED;
        }
        if flow.is_punished() {
            return 1.0;
        }
        let beside = beside();
        let part = if self.limiter.is_some() { u32::MAX } else { beside.part };
        let in_time = flow.rate.unwrap_or(f64::INFINITY) * LONG_WAIT.as_secs_f64() / flow.data_bits as f64;
        let more = f64::from(waiting - 1) / f64::from(part).min(in_time);
        let counted = if beside.wait_more(waiting) { waiting - 1 } else { waiting };
        pecn::occupancy_discount(more.max(f64::from(counted) / f64::from(self.flow_room)))
    }

    /// σ of one of its own flows.
    #[inline]
    pub(super) fn discount_of(&self, flow: &Flow) -> f64 {
        self.discount(flow, flow.queue.len(), || self.beside())
    }

    /// σ of the flow that stands for a group; and of a flow in it, for which both queues count.
    pub(super) fn discount_of_group(&self, flow: &Flow, group: &Group) -> f64 {
        self.discount(flow, group.waiting, || self.beside())
    }

    pub(super) fn discount_in(&self, flow: &Flow, parent: &Flow, group: &Group) -> f64 {
        let of_group = self.discount_of_group(parent, group);
        if group.sharers.flows.len() == 1 {
            return of_group;
        }
        self.discount(flow, flow.queue.len(), || self.beside_in(group)).min(of_group)
    }

    /// Why there is no room for another Interest of a flow.
    pub(super) fn refuses(&self, flow: &Flow) -> Option<DropReason> {
        let is_full = self.queued >= self.room;
        if flow.queue.len() >= self.room_of(flow) {
            Some(DropReason::FlowQueueFull)
        } else if is_full && flow.queue.len() >= self.part_of_room() {
            Some(DropReason::ClassQueueFull)
        } else {
            None
        }
    }

    /// The same of a flow in a group: the group may have what a flow of the class may have. When it has that, its flows
    /// have equal parts; those without a waiting Interest may go beyond it, to twice as much together.
    pub(super) fn refuses_in(&self, flow: &Flow, parent: &Flow, group: &Group) -> Option<DropReason> {
        if flow.queue.len() >= self.room_of(flow) {
            return Some(DropReason::FlowQueueFull);
        }
        let is_full = self.queued >= self.room;
        let whole = self.room_of(parent);
        let room = if is_full { whole.min(self.part_of_room()) } else { whole };
        let part = (room / group.sharers.waiting_flows.max(1)).max(1);
        if group.waiting < room || flow.queue.len() < part && group.waiting < 2 * room {
            None
        } else if room < whole {
            Some(DropReason::ClassQueueFull)
        } else {
            Some(DropReason::FlowQueueFull)
        }
    }

    fn room_of(&self, flow: &Flow) -> u32 {
        if flow.is_punished() { self.flow_room } else { self.room }
    }

    pub(super) fn new(limiter: Option<Meter>) -> Class {
        Class {
            sharers: Sharers::default(),
            queued: 0,
            room: 0,
            flow_room: 0,
            head: None,
            last_finish: 0.0,
            limiter,
            largest_bits: 0,
            offers: OfferHistory::default(),
            is_silent: true,
            newcomers: Newcomers::default(),
        }
    }
}

impl Cds {
    /// The first Interest of a flow came: adds the flow to its class, or to its group there.
    pub(super) fn add_flow(&mut self, now: Time, key: FlowKey, name: &[u8], declared_bits: u64) -> u32 {
        let parent = if key.group == GroupId::NONE { NONE } else { self.group_of(now, key, declared_bits) };
        let Settings { bucket_bits, flow_weights, flow_limits, .. } = &self.settings;
        let weight = flow_weights.of(name).unwrap_or(1.0);
        let limiter = flow_limits.of(name).map(|rate| Meter::new(rate, *bucket_bits));
        let flow = Flow {
            weight,
            discounted_weight: weight,
            limiter,
            parent,
            ..self.new_flow(now, key, declared_bits)
        };
        let id = self.put_flow(flow);
        self.index.insert(key, id);
        if self.period_ends == Time::NEVER {
            self.period_began = now;
            self.period_ends = now + self.settings.period;
            self.received_interest_bits = 0;
        }
        id
    }

    /// The flow that stands for the group of a flow, in its class.
    fn group_of(&mut self, now: Time, key: FlowKey, declared_bits: u64) -> u32 {
        let of_group = FlowKey { prefix: PrefixId(u32::from(key.group.0)), ..key };
        if let Some(known) = self.group_index.find(of_group) {
            self.note_demand(now, key.class, known);
            return known;
        }
        let group = self.free_groups.pop().unwrap_or_else(|| {
            self.groups.push(Group::default());
            self.groups.len() as u32 - 1
        });
        let id = self.put_flow(Flow { group, ..self.new_flow(now, of_group, declared_bits) });
        let rate = self.classes[key.class as usize].sharers.rate_of_new(1.0, 1.0);
        self.groups[group as usize] = Group::default();
        self.groups[group as usize].sharers.begin(rate, self.settings.gamma);
        self.group_index.insert(of_group, id);
        id
    }

    fn new_flow(&self, now: Time, key: FlowKey, declared_bits: u64) -> Flow {
        Flow {
            key,
            queue: PacketList::default(),
            next: NONE,
            place: 0,
            parent: NONE,
            group: NONE,
            deficit: 0.0,
            has_quantum: false,
            weight: 1.0,
            limiter: None,
            is_parked: false,
            is_policed: false,
            upstream: f64::INFINITY,
            offers: OfferHistory::default(),
            phi: 1.0,
            greed: Greed::default(),
            discounted_weight: 1.0,
            data_bits: declared_bits,
            has_seen_data: false,
            is_counted: true,
            active_periods: 0,
            same_size: 0,
            unsettled: 0,
            rate: None,
            joined: 0.0,
            demand: RateMeasure::new(now, declared_bits, self.settings.period),
            mean_gap: LONGEST_MEMORY / 4,
        }
    }

    /// Gives a flow its place, here and among the flows with which it shares.
    fn put_flow(&mut self, mut flow: Flow) -> u32 {
        let id = self.free_flows.pop().unwrap_or(self.flows.len() as u32);
        let sharers = match flow.parent {
            NONE => &mut self.classes[flow.key.class as usize].sharers,
            parent => &mut self.groups[self.flows[parent as usize].group as usize].sharers,
        };
        flow.place = sharers.flows.len() as u32;
        sharers.flows.push(id);
        sharers.weights += flow.discounted_weight;
        match self.flows.get_mut(id as usize) {
            Some(place) => *place = flow,
            None => self.flows.push(flow),
        }
        id
    }

    /// Another Interest of a flow. It counts as demand even if it is dropped.
    pub(super) fn note_demand(&mut self, now: Time, class: ServiceClass, id: u32) {
        let flow = &mut self.flows[id as usize];
        let gap = now.since(flow.demand.last_interest()).min(LONGEST_MEMORY);
        flow.mean_gap = Span::from_nanos((7 * flow.mean_gap.as_nanos() + gap.as_nanos()) / 8);
        let (parent, bits) = (flow.parent, flow.data_bits);
        let is_joining = flow.rate.is_none() && flow.offers.is_new();
        let was_counted = flow.is_counted;
        flow.demand.on_interest(now, bits);
        if !was_counted {
            self.take_back(class, id);
        }
        if is_joining {
            self.note_joining(class, id);
        }
        if parent != NONE {
            self.flows[parent as usize].data_bits = bits;
            self.note_demand(now, class, parent);
        }
    }

    /// A flow that came in this period counts beside the others from its second Interest on. If most do not stay, it counts
    /// with the part of its weight of which it uses the rate: as in its measure, what it has asked for is that of a
    /// quarter of a period.
    fn note_joining(&mut self, class: ServiceClass, id: u32) {
        let Flow { parent, demand, discounted_weight: weight, joined, .. } = self.flows[id as usize];
        let asked = demand.asked_bits() as f64 / (self.settings.period / 4).as_secs_f64();
        if asked == 0.0 {
            return;
        }
        let sharers = self.sharers_of(class, parent);
        let used = match sharers.newcomers.mostly_stay() {
            true => 1.0,
            false => asked / sharers.rate_of_new(weight, weight).max(1.0),
        };
        let now = weight.min(weight * used).max(joined);
        sharers.joined_weights += now - joined;
        self.flows[id as usize].joined = now;
    }

    /// An Interest came after a silence: until the end of the period the flow counts, as a new one does. If it has
    /// sent a second one by then, it has returned.
    #[cold]
    fn take_back(&mut self, class: ServiceClass, id: u32) {
        let flow = &mut self.flows[id as usize];
        flow.is_counted = true;
        let Flow { parent, group, discounted_weight, .. } = *flow;
        let beside = self.sharers_of(class, parent);
        beside.weights += discounted_weight;
        let rate = beside.rate_of_new(discounted_weight, discounted_weight);
        if let Some(Group { sharers, .. }) = self.groups.get_mut(group as usize) {
            sharers.begin(rate, self.settings.gamma);
            for &id in &sharers.flows {
                (self.flows[id as usize].rate, self.flows[id as usize].joined) = (None, 0.0);
            }
        }
    }

    /// Those with which a flow shares: the flows of its class, or of its group there.
    fn sharers_of(&mut self, class: ServiceClass, parent: u32) -> &mut Sharers {
        match parent {
            NONE => &mut self.classes[class as usize].sharers,
            parent => &mut self.groups[self.flows[parent as usize].group as usize].sharers,
        }
    }

    pub(super) fn remove_flow(&mut self, id: u32) {
        let Flow { key, parent, group, .. } = self.flows[id as usize];
        let sharers = match parent {
            NONE => &mut self.classes[key.class as usize].sharers,
            parent => &mut self.groups[self.flows[parent as usize].group as usize].sharers,
        };
        sharers.remove(&mut self.flows, id);
        if group == NONE {
            self.index.remove(key);
        } else {
            self.group_index.remove(key);
            self.free_groups.push(group);
        }
        self.free_flows.push(id);
    }

    /// R_f,j: the rate that this face suggests to a flow now. It leaves room for flows that came since the last
    /// period. A flow with only one Interest does not count, because no other may follow.
    pub(super) fn suggested_rate(&self, key: FlowKey) -> u64 {
        let class = &self.classes[key.class as usize];
        let flow = self.index.find(key).map(|id| &self.flows[id as usize]);
        let limit = flow.and_then(|flow| flow.limiter.as_ref()).map_or(f64::INFINITY, Meter::bits_per_second);
        let rate = match flow {
            Some(flow) if flow.parent != NONE => self.suggested_in_group(class, flow),
            _ => match flow.and_then(|flow| flow.rate.map(|rate| (flow, rate))) {
                Some((flow, rate)) => rate * class.discount_of(flow) * class.sharers.part_left(),
                None => {
                    let weight = flow.map_or(1.0, |flow| flow.discounted_weight);
                    class.sharers.rate_of_new(weight, flow.map_or(0.0, Flow::counted_weight))
                }
            },
        };
        rate.min(limit) as u64
    }

    /// The same in a group, of the group's rate in its class.
    fn suggested_in_group(&self, class: &Class, flow: &Flow) -> f64 {
        let parent = &self.flows[flow.parent as usize];
        let group = &self.groups[parent.group as usize];
        let of_group = if parent.rate.is_some() { class.sharers.part_left() } else { 1.0 };
        let rate = match flow.rate {
            Some(rate) => rate * class.discount_in(flow, parent, group) * group.sharers.part_left(),
            None => group.sharers.rate_of_new(flow.discounted_weight, flow.counted_weight()),
        };
        rate * of_group
    }

    /// Whether a flow or its group is greedy at this face.
    #[inline]
    pub(super) fn is_greedy(&self, flow: &Flow) -> bool {
        flow.greed.is_greedy || flow.parent != NONE && self.flows[flow.parent as usize].greed.is_greedy
    }

    pub(super) fn forget_silent_flows(&mut self, now: Time) {
        for c in 0..CLASSES {
            let mut place = 0;
            while let Some(&id) = self.classes[c].sharers.flows.get(place) {
                let is_forgotten = match self.flows[id as usize].group {
                    NONE => self.is_forgotten(now, c, id),
                    group => self.forget_in_group(now, c, id, group),
                };
                if is_forgotten {
                    self.remove_flow(id);
                } else {
                    place += 1;
                }
            }
        }
    }

    fn is_forgotten(&self, now: Time, c: usize, id: u32) -> bool {
        let flow = &self.flows[id as usize];
        let memory = (flow.mean_gap * 4).max(SHORTEST_MEMORY).min(LONGEST_MEMORY);
        let is_head = self.classes[c].head.is_some_and(|head| head.flow == id);
        let is_silent = now.since(flow.demand.last_interest()) > memory;
        flow.queue.is_empty() && !is_head && is_silent
    }

    /// Forgets the silent flows of a group. Returns whether to forget the group too: it was silent for long,
    /// and its greedy count is zero.
    fn forget_in_group(&mut self, now: Time, c: usize, id: u32, group: u32) -> bool {
        let mut place = 0;
        while let Some(&flow) = self.groups[group as usize].sharers.flows.get(place) {
            if self.is_forgotten(now, c, flow) {
                self.remove_flow(flow);
            } else {
                place += 1;
            }
        }
        let Flow { demand, greed, .. } = &self.flows[id as usize];
        let is_silent = now.since(demand.last_interest()) > LONGEST_MEMORY;
        self.groups[group as usize].sharers.flows.is_empty() && is_silent && greed.is_clean()
    }

    pub(super) fn note_data(&mut self, now: Time, data: &Packet, bits: u64) {
        let key = data.flow;
        if let Some(id) = self.index.find(key) {
            if self.flows[id as usize].unsettled > 0 {
                self.flows[id as usize].unsettled -= 1;
                self.settle(now, data.pit, bits);
            }
            let parent = self.flows[id as usize].parent;
            if parent != NONE {
                self.flows[parent as usize].greed.is_told = true;
                let told = data.header().signals.value(&TARGET_RATE).filter(|rate| *rate < u64::MAX);
                self.flows[id as usize].upstream = told.map_or(f64::INFINITY, |rate| rate as f64);
            }
            let flow = &mut self.flows[id as usize];
            flow.greed.is_told = true;
            let bits = bits.clamp(1, MAX_DATA_BITS);
            // The average of equal sizes would stay some bits below or above them.
            let is_same = bits.abs_diff(flow.data_bits) <= 8;
            flow.same_size = if is_same { (flow.same_size + 1).min(SAME_SIZE) } else { 0 };
            let is_average = flow.has_seen_data && !is_same;
            flow.data_bits = if is_average { (7 * flow.data_bits + bits + 4) / 8 } else { bits };
            flow.has_seen_data = true;
            let class = &mut self.classes[key.class as usize];
            class.largest_bits = class.largest_bits.max(flow.data_bits);
        }
    }

    /// If a Data is larger than the charge of its Interest, the total limiter pays the difference now. If it is
    /// smaller, the limiter gets the difference back. The limiters of a class and of a flow use the average
    /// size.
    pub(super) fn settle(&mut self, now: Time, pit: PitId, bits: u64) {
        match self.ledger.settle(pit) {
            Some(charged) if bits > charged => self.total.owe(now, bits - charged, LONGEST_DEBT),
            Some(charged) => self.total.give_back(charged - bits),
            None => {}
        }
    }

    pub(super) fn on_data(&mut self, now: Time, data: &mut Packet, bits: u64) {
        // Only this face sets the mark, for this node's tables.
        greedy::take_mark(data);
        self.note_data(now, data, bits);
        let rate = self.suggested_rate(data.flow);
        let is_first = data.header().signals.value(&TARGET_RATE).is_none();
        data.header_mut().signals.lower(&TARGET_RATE, rate);
        if is_first {
            // TargetRate makes it longer from here on, and its consumer counts the longer Data.
            let longer = (8 * data.wire_len()) as f64 / bits.max(1) as f64;
            data.header_mut().signals.set(&TARGET_RATE, (rate as f64 * longer) as u64);
        }
        if self.index.find(data.flow).is_some_and(|id| self.is_greedy(&self.flows[id as usize])) {
            greedy::mark(data);
        }
    }
}
