//! One service class at a face: its flows, its head in the scheduler, and its room.

use std::collections::BTreeMap;

use weir_core::ids::{GroupId, PrefixId};
use weir_core::meter::Meter;
use weir_core::packet::FlowKey;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};

use super::flow::{DataSize, Flow, NONE, VirtualQueue};
use super::members::{Chosen, Members};
use crate::qsccp::extensions::elsewhere::Unused;
use crate::qsccp::paper::pecn;

/// The longest useful wait of an Interest at its flow's rate: half a usual lifetime.
pub(super) const LONG_WAIT: Span = Span::from_secs(1);

/// The Interest that a class sends next, with its WFQ tags.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) chosen: Chosen,
    pub(super) start: f64,
    pub(super) finish: f64,
}

/// What virtual queues may hold: so many Interests, or as many as bring Data of `in_time` bits, if these are more.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) of_class: f64,
    pub(super) of_flow: f64,
    pub(super) in_time: f64,
    /// How long the link may be busy with one Data of each direction, s.
    pub(super) busy: f64,
}

/// One service class at this face.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) flows: Members,
    /// The flows that stand for groups of faces.
    groups: BTreeMap<GroupId, u32>,
    pub(super) room: Room,
    pub(super) head: Option<Head>,
    /// WFQ finish tag of its latest head.
    pub(super) last_finish: f64,
    /// TBRL of a delay-sensitive class.
    pub(super) limiter: Option<Meter>,
    /// Largest Data of its flows, bits: the quantum is not smaller, which keeps WDRR O(1).
    pub(super) largest_bits: u64,
    /// (6) What it would have if it asked for that, bit/s.
    pub(super) offered: f64,
    pub(super) unused: Unused,
}

impl Class {
    pub(super) fn new(limiter: Option<Meter>) -> Class {
        Class {
            flows: Members::default(),
            groups: BTreeMap::new(),
            room: Room::default(),
            head: None,
            last_finish: 0.0,
            limiter,
            largest_bits: 0,
            offered: 0.0,
            unused: Unused::default(),
        }
    }

    // ---- Flows

    pub(super) fn find_in_group(&self, key: FlowKey) -> Option<(u32, u32)> {
        let &flow = self.groups.get(&key.group)?;
        let VirtualQueue::Group(group) = &self.flows.flow(flow).queue else { return None };
        group.index.get(&key.prefix).map(|&member| (flow, member))
    }

    /// Adds a flow to its group, and the group, if it is the first one.
    pub(super) fn add_to_group(&mut self, now: Time, flow: Flow, gamma: f64) -> (u32, u32) {
        let (key, declared_bits) = (flow.key, flow.data.bits);
        let id = *self.groups.entry(key.group).or_insert_with(|| {
            let queue = VirtualQueue::Group(Box::default());
            self.flows.add(Flow { queue, ..Flow::new(now, key, declared_bits) })
        });
        let rate = self.flows.rate_of(self.flows.flow(id));
        let VirtualQueue::Group(group) = &mut self.flows.flow_mut(id).queue else { return (id, NONE) };
        if group.members.is_empty() {
            group.members.divide(rate, gamma);
        }
        let member = group.members.add(flow);
        group.index.insert(key.prefix, member);
        (id, member)
    }

    /// A flow in a group with this prefix.
    pub(super) fn any_in_group(&self, prefix: PrefixId) -> Option<(u32, u32)> {
        self.groups.values().find_map(|&flow| match &self.flows.flow(flow).queue {
            VirtualQueue::Group(group) => group.index.get(&prefix).map(|&member| (flow, member)),
            VirtualQueue::Interests(_) => None,
        })
    }

    /// A flow with waiting Interests; in a group, if it is in one.
    pub(super) fn any_waiting(&self) -> Option<(u32, u32)> {
        let waits = |members: &Members| {
            let all = (0..members.len()).filter_map(|place| members.at(place));
            all.into_iter().find(|&id| members.flow(id).queue.len() > 0)
        };
        let flow = waits(&self.flows)?;
        match &self.flows.flow(flow).queue {
            VirtualQueue::Group(group) => waits(&group.members).map(|member| (flow, member)),
            VirtualQueue::Interests(_) => Some((flow, NONE)),
        }
    }

    /// A flow, or one in its group.
    pub(super) fn flow(&self, id: u32, member: u32) -> &Flow {
        let flow = self.flows.flow(id);
        match &flow.queue {
            VirtualQueue::Group(group) if member != NONE => group.members.flow(member),
            _ => flow,
        }
    }

    pub(super) fn flow_mut(&mut self, id: u32, member: u32) -> &mut Flow {
        if member == NONE {
            return self.flows.flow_mut(id);
        }
        match &mut self.flows.flow_mut(id).queue {
            VirtualQueue::Group(group) => group.members.flow_mut(member),
            VirtualQueue::Interests(_) => unreachable!("only groups have members"),
        }
    }

    /// Removes a flow without waiting Interests; its group stays until it is silent for long.
    pub(super) fn remove(&mut self, id: u32, member: u32) -> FlowKey {
        let key = self.flow(id, member).key;
        match &mut self.flows.flow_mut(id).queue {
            VirtualQueue::Group(group) => {
                group.index.remove(&key.prefix);
                group.members.remove(member);
            }
            VirtualQueue::Interests(_) => self.flows.remove(id),
        }
        key
    }

    /// Forgets flows and groups that are silent for long, and tells the flows.
    pub(super) fn forget_silent(&mut self, now: Time, mut forget: impl FnMut(FlowKey)) {
        let (head, head_member) = match self.head {
            Some(head) => (head.chosen.flow, head.chosen.member),
            None => (NONE, NONE),
        };
        for &id in self.groups.values() {
            if let VirtualQueue::Group(group) = &mut self.flows.flow_mut(id).queue {
                group.forget_silent(now, if id == head { head_member } else { NONE });
            }
        }
        let groups = &mut self.groups;
        self.flows.forget_silent(
            now,
            |id| id == head,
            |flow| match flow.queue {
                VirtualQueue::Interests(_) => forget(flow.key),
                VirtualQueue::Group(_) => {
                    groups.remove(&flow.key.group);
                }
            },
        );
    }

    /// Another Interest of a flow came.
    #[inline]
    pub(super) fn note_interest(&mut self, now: Time, id: u32, member: u32, is_marked: bool, gamma: f64) {
        self.flows.note_interest(now, id);
        self.flows.flow_mut(id).greed.note_interest(is_marked);
        if member != NONE {
            self.note_interest_in_group(now, id, member, is_marked, gamma);
        }
    }

    fn note_interest_in_group(&mut self, now: Time, id: u32, member: u32, is_marked: bool, gamma: f64) {
        let flow = self.flows.flow(id);
        let new_rate = flow.rate.is_none().then(|| self.flows.rate_of(flow));
        let flow = self.flows.flow_mut(id);
        let VirtualQueue::Group(group) = &mut flow.queue else { return };
        flow.data.bits = group.members.flow(member).data.bits;
        group.members.note_interest(now, member);
        group.members.flow_mut(member).greed.note_interest(is_marked);
        if let Some(rate) = new_rate.filter(|_| group.members.rate == 0.0) {
            group.members.divide(rate, gamma);
        }
    }

    /// A Data of a flow came, with this TargetRate: what is known of the size of its Data.
    pub(super) fn note_data(&mut self, id: u32, member: u32, bits: u64, told: Option<u64>) -> &mut DataSize {
        self.flows.note_data(id, member, bits);
        let flow = self.flow_mut(id, member);
        flow.data.answers.note_came();
        if member != NONE {
            flow.policing.upstream =
                told.filter(|rate| *rate < u64::MAX).map_or(f64::INFINITY, |rate| rate as f64);
        }
        let largest = flow.data.bits;
        self.largest_bits = self.largest_bits.max(largest);
        &mut self.flow_mut(id, member).data
    }

    // ---- Rates

    /// R_f of a flow, with the discount for its queue.
    pub(super) fn suggested_rate(&self, id: u32, member: u32) -> f64 {
        let flow = self.flows.flow(id);
        let rate = match &flow.queue {
            VirtualQueue::Interests(_) => self.flows.rate_of(flow) * self.discount(flow, &self.flows),
            VirtualQueue::Group(group) => {
                let one = group.members.flow(member);
                let discount = self.discount(flow, &self.flows).min(self.discount(one, &group.members));
                group.members.rate_of(one) * discount
            }
        };
        let limiter = self.flow(id, member).limiter.as_ref();
        rate.min(limiter.map_or(f64::INFINITY, Meter::bits_per_second))
    }

    /// σ(x) for one of those that share a rate. x is the filled part of its virtual queue; or of its part of the class's
    /// room, or of what its rate serves in time, if these are smaller. There one Interest does not count: if all flows wait
    /// for their turns, it does not mean too many.
    ///
    /// What comes while the link is busy with the largest Data, or in a turn of the WDRR, has to wait. It does not count.
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

    /// The Interests that each of those that wait may have when the class is full: equal parts, so that flows with long
    /// queues do not exclude others.
    fn part_of_room(&self, among: &Members) -> f64 {
        let room = self.room.of_class.max(self.room.in_time / self.largest_bits.max(1) as f64);
        let part = room / f64::from(self.flows.waiting_flows.max(1));
        let is_group = !core::ptr::eq(among, &self.flows);
        if is_group { part / f64::from(among.waiting_flows.max(1)) } else { part }
    }

    /// Why there is no room for another Interest of a flow.
    pub(super) fn refuses(&self, id: u32, member: u32) -> Option<DropReason> {
        let flow = self.flows.flow(id);
        let Room { of_class, of_flow, in_time, .. } = self.room;
        let is_beyond = |members: &Members, room: f64| {
            f64::from(members.queued) >= room && members.queued_bits as f64 >= in_time
        };
        let is_full = is_beyond(&self.flows, of_class);
        let part = self.part_of_room(&self.flows).max(1.0);
        let VirtualQueue::Group(group) = &flow.queue else {
            let waiting = f64::from(flow.queue.len());
            let whole = if flow.is_punished() { of_flow } else { of_class };
            return match () {
                () if waiting >= whole && waiting * flow.data.bits as f64 >= in_time => {
                    Some(DropReason::FlowQueueFull)
                }
                () if is_full && waiting >= part => Some(DropReason::ClassQueueFull),
                () => None,
            };
        };
        // A group may have what a flow of the class may have. When it has that, its flows have equal parts; those
        // without a waiting Interest may go beyond it, to twice as much together.
        let one = group.members.flow(member);
        let waiting = f64::from(one.queue.len());
        let room_of = |flow: &Flow| if flow.is_punished() { of_flow } else { of_class };
        let whole = room_of(flow);
        let room = if is_full { whole.min(part) } else { whole };
        let part = (room / f64::from(group.members.waiting_flows.max(1))).max(1.0);
        match () {
            () if waiting >= room_of(one) && waiting * one.data.bits as f64 >= in_time => {
                Some(DropReason::FlowQueueFull)
            }
            () if !is_beyond(&group.members, room) => None,
            () if waiting < part && !is_beyond(&group.members, 2.0 * room) => None,
            () if room < whole => Some(DropReason::ClassQueueFull),
            () => Some(DropReason::FlowQueueFull),
        }
    }
}
