//! One service class at a face: its flows, its place in the scheduler, and its room.

use std::collections::BTreeMap;

use weir_core::ids::{GroupId, PrefixId};
use weir_core::meter::Meter;
use weir_core::packet::FlowKey;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};

use super::flow::{Flow, NONE, VirtualQueue};
use super::members::Members;
use crate::qsccp::extensions::elsewhere::Unused;
use crate::qsccp::paper::pecn;

/// The longest useful wait of an Interest at its flow's rate: half a usual lifetime.
pub(super) const LONG_WAIT: Span = Span::from_secs(1);

/// The Interest that a class sends next: its charge, bits, and its WFQ tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) charge: u64,
    pub(super) start: f64,
    pub(super) finish: f64,
}

/// The room of virtual queues: a number of Interests, or as many as bring Data of `in_time` bits, if these
/// are more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) of_class: f64,
    pub(super) of_flow: f64,
    pub(super) in_time: f64,
    /// The room that each flow always has: a consumer's initial window.
    pub(super) at_start: f64,
    /// The longest time for which one Data in each direction keeps the link busy, s.
    pub(super) busy: f64,
}

/// One service class at this face.
#[derive(Debug, Default)]
pub(super) struct Class {
    pub(super) flows: Members,
    /// The flows that represent groups of faces.
    pub(super) groups: BTreeMap<GroupId, u32>,
    pub(super) room: Room,
    pub(super) head: Option<Head>,
    /// The WFQ finish tag of its latest head.
    pub(super) last_finish: f64,
    /// The token bucket (TBRL) of a delay-sensitive class.
    pub(super) limiter: Option<Meter>,
    /// The largest Data of its flows, bits. The quantum is at least this, which keeps WDRR O(1).
    pub(super) largest_bits: u64,
    /// (6) The rate that it would have if it asked for that much, bit/s.
    pub(super) offered: f64,
    pub(super) unused: Unused,
}

impl Class {
    // ---- Flows

    pub(super) fn find_in_group(&self, key: FlowKey) -> Option<(u32, u32)> {
        let &flow = self.groups.get(&key.group)?;
        let VirtualQueue::Group(group) = &self.flows.flows[flow as usize].queue else { return None };
        group.index.get(&key.prefix).map(|&member| (flow, member))
    }

    /// Adds a flow to its group. The first flow creates the group.
    pub(super) fn add_to_group(&mut self, now: Time, flow: Flow) -> (u32, u32) {
        let key = flow.key;
        let id = *self.groups.entry(key.group).or_insert_with(|| {
            let queue = VirtualQueue::Group(Box::default());
            self.flows.add(Flow { queue, ..Flow::new(now, key, 1.0, flow.data.bits) })
        });
        let VirtualQueue::Group(group) = &mut self.flows.flows[id as usize].queue else { return (id, NONE) };
        let member = group.members.add(flow);
        group.index.insert(key.prefix, member);
        (id, member)
    }

    /// Returns a flow, or one in its group.
    pub(super) fn flow(&mut self, id: u32, member: u32) -> &mut Flow {
        let flow = &mut self.flows.flows[id as usize];
        if member == NONE {
            return flow;
        }
        match &mut flow.queue {
            VirtualQueue::Group(group) => &mut group.members.flows[member as usize],
            VirtualQueue::Interests(_) => unreachable!("only groups have members"),
        }
    }

    /// Finds a flow with this prefix in any group.
    pub(super) fn find_in_groups(&self, prefix: PrefixId) -> Option<(u32, u32)> {
        let key = |&group| FlowKey { prefix, group, ..FlowKey::default() };
        self.groups.keys().find_map(|group| self.find_in_group(key(group)))
    }

    /// Removes a flow without waiting Interests.
    pub(super) fn remove(&mut self, id: u32, member: u32) {
        match &mut self.flows.flows[id as usize].queue {
            VirtualQueue::Interests(_) => self.flows.remove(id),
            VirtualQueue::Group(group) => group.remove(member),
        }
    }

    /// Removes the flows that have been silent for long, and reports them to `tell`. A group stays until it
    /// has been silent for long and its greedy count is zero.
    pub(super) fn forget_silent(&mut self, now: Time, mut tell: impl FnMut(FlowKey)) {
        let groups = &mut self.groups;
        self.flows.forget(|flow| {
            let (is_silent, is_clean) = (flow.is_silent(now), flow.greed.is_clean());
            match &mut flow.queue {
                VirtualQueue::Interests(_) if is_silent => tell(flow.key),
                VirtualQueue::Interests(_) => {}
                VirtualQueue::Group(group) => {
                    let is_empty = group.forget_silent(now);
                    if !(is_empty && is_silent && is_clean) {
                        return false;
                    }
                    groups.remove(&flow.key.group);
                }
            }
            is_silent
        });
    }

    /// Counts an Interest of a flow.
    #[inline]
    pub(super) fn note_interest(&mut self, now: Time, id: u32, member: u32, is_marked: bool) {
        self.flows.note_interest(now, id, is_marked);
        let flow = &mut self.flows.flows[id as usize];
        if let VirtualQueue::Group(group) = &mut flow.queue {
            flow.data.bits = group.members.flows[member as usize].data.bits;
            group.members.note_interest(now, member, is_marked);
        }
        self.largest_bits = self.largest_bits.max(flow.data.bits);
    }

    // ---- Rates

    /// Returns R_f of a flow, with the discount for its queue.
    pub(super) fn suggested_rate(&self, id: u32, member: u32) -> f64 {
        let flow = &self.flows.flows[id as usize];
        let (rate, discount) = (self.flows.rate_of(flow), self.discount(flow, &self.flows));
        let limit = |flow: &Flow| flow.limiter.as_ref().map_or(f64::INFINITY, Meter::bits_per_second);
        match &flow.queue {
            VirtualQueue::Interests(_) => (rate * discount).min(limit(flow)),
            VirtualQueue::Group(group) => {
                let one = &group.members.flows[member as usize];
                let discount = discount.min(self.discount(one, &group.members));
                (group.rate_of(one, rate) * discount).min(limit(one))
            }
        }
    }

    /// Returns σ(x) for one of the flows that share a rate. x is the filled part of its virtual queue; or of
    /// its part of the class's room, or of what its rate serves in time, if these are smaller. There one
    /// Interest does not count: if all flows wait for their turns, it does not mean too many.
    ///
    /// Interests that arrive while the link is busy with the largest Data, or in a turn of the WDRR, have to
    /// wait. They do not count.
    pub(super) fn discount(&self, flow: &Flow, among: &Members) -> f64 {
        let waiting = flow.queue.len();
        if waiting == 0 {
            return pecn::UNDISCOUNTED;
        }
        if flow.is_punished() {
            return 1.0;
        }
        let own = flow.data.bits as f64;
        let rate = flow.rate.unwrap_or(f64::INFINITY);
        let meanwhile = (rate.min(self.flows.rate) * self.room.busy).max(self.largest_bits as f64) - own;
        let bits = f64::from(waiting) * own - meanwhile.max(0.0);
        if bits <= 0.0 {
            return pecn::UNDISCOUNTED;
        }
        let part = if self.limiter.is_some() { f64::INFINITY } else { self.part_of_room(among) * own };
        let in_time = rate * LONG_WAIT.as_secs_f64();
        let more = (bits - own) / part.min(in_time);
        pecn::occupancy_discount(more.max(bits / self.room.in_time.max(self.room.of_flow * own)))
    }

    // ---- Room

    /// Returns the number of Interests that each waiting flow may have when the class is full. The parts are
    /// equal, so that flows with long queues do not exclude others.
    fn part_of_room(&self, among: &Members) -> f64 {
        let room = self.room.of_class.max(self.room.in_time / self.largest_bits.max(1) as f64);
        let part = room / f64::from(self.flows.waiting_flows.max(1));
        let is_group = !core::ptr::eq(among, &self.flows);
        (if is_group { part / f64::from(among.waiting_flows.max(1)) } else { part }).max(1.0)
    }

    /// Returns the reason why there is no room for another Interest of a flow; `None` if there is room.
    pub(super) fn refuses(&self, id: u32, member: u32) -> Option<DropReason> {
        let flow = &self.flows.flows[id as usize];
        let VirtualQueue::Group(group) = &flow.queue else {
            return self.refuses_among(flow, &self.flows, 1.0);
        };
        // Flows without a waiting Interest may exceed the room of their group, up to twice as much together.
        let one = &group.members.flows[member as usize];
        let rooms = if one.queue.len() == 0 { 2.0 } else { 1.0 };
        self.refuses_among(flow, &self.flows, rooms).or_else(|| self.refuses_among(one, &group.members, 1.0))
    }

    /// Returns a reason if one of the flows that share a rate has more Interests waiting than `rooms` times
    /// its room.
    fn refuses_among(&self, flow: &Flow, among: &Members, rooms: f64) -> Option<DropReason> {
        let Room { of_class, of_flow, in_time, .. } = self.room;
        let waiting = f64::from(flow.queue.len());
        let whole = if flow.is_punished() { of_flow } else { of_class };
        let is_full = |queued: u32, bits: u64| f64::from(queued) >= of_class && bits as f64 >= in_time;
        if waiting >= rooms * whole && waiting * flow.data.bits as f64 >= rooms * in_time {
            return Some(DropReason::FlowQueueFull);
        }
        let class_is_full = is_full(self.flows.queued, self.flows.queued_bits);
        let is_full = class_is_full || is_full(among.queued, among.queued_bits);
        let part = self.part_of_room(among).max(self.room.at_start);
        (is_full && waiting >= rooms * part).then_some(DropReason::ClassQueueFull)
    }
}
