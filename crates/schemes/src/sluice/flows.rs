//! The flows of a face, and which of them are active.
//!
//! A flow without a group shares its class by itself. The flows of a group share as one: the group has an
//! entry like a flow's, which *owns* them. Their Interests wait in its queue, and it has the sum of their
//! weights. So opening more flows does not get a group more.

use core::ops::{Index, IndexMut};
use std::collections::BTreeMap;

use weir_core::ids::GroupId;
use weir_core::packet::{FlowKey, Packet, PacketList};
use weir_core::units::{Span, Time};

use super::level::Level;
use super::signals::Grant;
use crate::flow_index::FlowIndex;

/// The number of usual gaps for which a flow stays active after an Interest, and the bounds of this time.
const GAPS: u64 = 4;
const LEAST_ACTIVE: Span = Span::from_millis(200);
const MOST_ACTIVE: Span = Span::from_secs(10);
/// The number of Interests from which the answered part is known.
const ENOUGH: u32 = 8;
/// Marks an entry that is in no list.
const NONE: u32 = u32::MAX;

/// A flow: a prefix in a class, in a group.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) key: FlowKey,
    /// The number of the entry in which its Interests wait: its own or its group's.
    pub(super) owner: u32,
    /// The Interests that wait in this entry. This and the next five fields are used only in an owner.
    pub(super) queue: PacketList,
    /// The WDRR deficit: bits of Data that it may still request in its turn.
    pub(super) deficit: f64,
    /// The next entry in the ring of its class.
    pub(super) next: u32,
    /// w.
    pub(super) weight: f64,
    /// The number of its active flows, and of all its flows.
    pub(super) active: u32,
    members: u32,
    /// The number of its own waiting Interests.
    pub(super) waiting: u32,
    /// The smoothed size of its Data, bits.
    pub(super) size: f64,
    /// The grant from upstream.
    pub(super) granted: Grant,
    /// Its index among the active flows.
    place: u32,
    /// The time of its latest Interest, and the usual time between two.
    seen: Time,
    gap: Span,
    answers: Answers,
}

impl Flow {
    fn new(key: FlowKey, weight: f64, size: f64) -> Flow {
        Flow {
            key,
            owner: NONE,
            queue: PacketList::default(),
            deficit: 0.0,
            next: NONE,
            weight,
            active: 0,
            members: 0,
            waiting: 0,
            size,
            granted: Grant::UNLIMITED,
            place: NONE,
            seen: Time::ZERO,
            gap: Span::ZERO,
            answers: Answers::default(),
        }
    }

    pub(super) fn class(&self) -> usize {
        self.key.class as usize
    }

    /// Returns the recently answered part of its Interests; `None` if too few were sent.
    pub(super) fn answered(&self) -> Option<f64> {
        self.answers.part
    }

    /// Returns the bits that an Interest will probably bring.
    pub(super) fn expected(&self) -> f64 {
        self.answers.part.unwrap_or(1.0) * self.size
    }

    /// Counts an Interest that leaves in this epoch.
    pub(super) fn on_send(&mut self, epoch: u32) {
        self.answers.on_send(epoch);
    }

    /// Counts a Data of this size for an Interest that left in this epoch.
    pub(super) fn settle(&mut self, epoch: u32, bits: f64) {
        self.answers.on_data(epoch);
        self.size += 0.25 * (bits - self.size);
    }
}

/// The answered part of a flow's Interests. Interests without an answer must not count as if they filled the
/// link.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    /// The Interests sent in this epoch and in the previous one, and the numbers of them that were answered.
    sent: [u32; 2],
    came: [u32; 2],
    epoch: u32,
    part: Option<f64>,
}

impl Answers {
    fn on_send(&mut self, epoch: u32) {
        if epoch != self.epoch {
            // The Interests of the previous epoch had a whole epoch to be answered.
            let place = (epoch & 1) as usize;
            if epoch == self.epoch + 1 && self.sent[place] >= ENOUGH {
                self.part = Some((f64::from(self.came[place]) / f64::from(self.sent[place])).min(1.0));
            } else if epoch != self.epoch + 1 {
                (self.sent, self.came, self.part) = ([0; 2], [0; 2], None);
            }
            (self.sent[place], self.came[place], self.epoch) = (0, 0, epoch);
        }
        self.sent[(epoch & 1) as usize] += 1;
    }

    fn on_data(&mut self, epoch: u32) {
        self.came[(epoch & 1) as usize] += 1;
    }
}

/// All flows of a face.
#[derive(Debug, Default)]
pub(super) struct Flows {
    flows: Vec<Flow>,
    free: Vec<u32>,
    index: FlowIndex,
    groups: BTreeMap<(GroupId, usize), u32>,
    active: Vec<u32>,
}

impl Index<u32> for Flows {
    type Output = Flow;
    fn index(&self, number: u32) -> &Flow {
        &self.flows[number as usize]
    }
}

impl IndexMut<u32> for Flows {
    fn index_mut(&mut self, number: u32) -> &mut Flow {
        &mut self.flows[number as usize]
    }
}

impl Flows {
    /// Returns the number of a flow.
    #[inline]
    pub(super) fn find(&self, key: FlowKey) -> Option<u32> {
        self.index.find(key)
    }

    /// Returns the number of an Interest's flow. A new flow starts with this size of Data, bits, and with the
    /// weight of the Interest's name.
    pub(super) fn find_or_add(
        &mut self,
        interest: &Packet,
        size: f64,
        weight_of: impl Fn(&[u8]) -> f64,
    ) -> u32 {
        let key = interest.flow;
        if let Some(number) = self.index.find(key) {
            return number;
        }
        let number = self.add(Flow::new(key, weight_of(interest.name.wire()), size));
        let owner = if key.group == GroupId::NONE {
            number
        } else {
            let of_group = (key.group, key.class as usize);
            let known = self.groups.get(&of_group).copied();
            known.unwrap_or_else(|| {
                let owner = self.add(Flow::new(key, 1.0, size));
                self[owner].owner = owner;
                self.groups.insert(of_group, owner);
                owner
            })
        };
        self[owner].members += 1;
        self[number].owner = owner;
        self.index.insert(key, number);
        number
    }

    fn add(&mut self, flow: Flow) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self[number] = flow;
                number
            }
            None => {
                self.flows.push(flow);
                self.flows.len() as u32 - 1
            }
        }
    }

    /// Counts an Interest of a flow.
    #[inline]
    pub(super) fn note_interest(&mut self, now: Time, number: u32, level: &mut Level) {
        let flow = &mut self.flows[number as usize];
        if flow.place == NONE {
            flow.gap = Span::ZERO;
            flow.place = self.active.len() as u32;
            self.active.push(number);
            let owner = flow.owner;
            let owner = &mut self[owner];
            owner.active += 1;
            if owner.active == 1 {
                level.join(owner.class(), owner.weight);
            }
        } else {
            let gap = now.since(flow.seen).as_nanos();
            flow.gap = Span::from_nanos((7 * flow.gap.as_nanos() + gap) / 8);
        }
        self[number].seen = now;
    }

    /// Makes flows inactive that have been silent for long.
    pub(super) fn end_silent(&mut self, now: Time, level: &mut Level) {
        let mut place = 0;
        while let Some(&number) = self.active.get(place) {
            let flow = &self[number];
            let memory = (flow.gap * GAPS).max(LEAST_ACTIVE).min(MOST_ACTIVE);
            if flow.waiting == 0 && now.since(flow.seen) > memory {
                self.deactivate(number, level);
            } else {
                place += 1;
            }
        }
    }

    fn deactivate(&mut self, number: u32, level: &mut Level) {
        let Flow { owner, place, .. } = self[number];
        if place == NONE {
            return;
        }
        self[number].place = NONE;
        self.active.swap_remove(place as usize);
        if let Some(&moved) = self.active.get(place as usize) {
            self[moved].place = place;
        }
        let owner = &mut self[owner];
        owner.active -= 1;
        if owner.active == 0 {
            level.join(owner.class(), -owner.weight);
        }
    }

    /// Iterates over the flows of a prefix.
    pub(super) fn of_prefix(&self, prefix: weir_core::ids::PrefixId) -> impl Iterator<Item = u32> + use<> {
        self.index.of_prefix(prefix)
    }

    /// Removes a flow without waiting Interests. Returns the number of its owner if that is removed too.
    pub(super) fn remove(&mut self, number: u32, level: &mut Level) {
        self.deactivate(number, level);
        let Flow { key, owner, .. } = self[number];
        self.index.remove(key);
        self.free.push(number);
        self[owner].members -= 1;
        if owner != number && self[owner].members == 0 {
            self.groups.remove(&(key.group, key.class as usize));
            self.free.push(owner);
        }
    }

    /// Returns whether any flow is active.
    pub(super) fn is_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// Empties all queues.
    pub(super) fn clear(&mut self) {
        self.flows.iter_mut().for_each(|flow| (flow.waiting, flow.deficit, flow.next) = (0, 0.0, NONE));
    }
}

#[cfg(test)]
mod tests {
    use weir_core::ids::PrefixId;
    use weir_core::seam::params::Params;

    use super::*;
    use crate::sluice::Settings;

    const SIZE: f64 = 8000.0;

    fn level() -> Level {
        let mut level = Level::new(&Settings::new(&Params::resolve(Settings::PARAMETERS, []).unwrap()));
        level.offer(1e6);
        level
    }

    fn interest(prefix: u32, group: u16) -> Packet {
        let mut packet = Packet::default();
        packet.flow = FlowKey { prefix: PrefixId(prefix), group: GroupId(group), ..FlowKey::default() };
        packet
    }

    fn charge(flow: &mut Flow, epoch: u32) -> f64 {
        flow.on_send(epoch);
        flow.expected()
    }

    #[test]
    fn a_flow_that_nobody_answers_is_charged_nothing_after_two_epochs_and_in_full_soon_after_answers() {
        let mut flow = Flow::new(FlowKey::default(), 1.0, SIZE);
        let mut charged = |epoch: u32, is_answered: bool| {
            let bits: f64 = (0..10).map(|_| charge(&mut flow, epoch)).sum();
            (0..10).filter(|_| is_answered).for_each(|_| flow.settle(epoch & 1, SIZE));
            bits / (10.0 * SIZE)
        };
        let unanswered: Vec<f64> = (0..5).map(|epoch| charged(epoch, false)).collect();
        assert_eq!(unanswered, [1.0, 1.0, 0.0, 0.0, 0.0]);
        let answered: Vec<f64> = (5..9).map(|epoch| charged(epoch, true)).collect();
        assert_eq!(answered, [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn a_flow_is_charged_the_size_of_its_data_times_the_part_that_is_answered() {
        let mut flow = Flow::new(FlowKey::default(), 1.0, 9000.0);
        for epoch in 0..4 {
            for n in 0..20 {
                charge(&mut flow, epoch);
                (n % 4 == 0).then(|| flow.settle(epoch & 1, SIZE));
            }
        }
        assert!((charge(&mut flow, 4) / (0.25 * SIZE) - 1.0).abs() < 0.01, "{}", flow.expected());
    }

    #[test]
    fn few_interests_say_nothing_of_the_part_that_is_answered() {
        let mut flow = Flow::new(FlowKey::default(), 1.0, SIZE);
        for epoch in 0..10 {
            (0..ENOUGH - 1).for_each(|_| assert_eq!(charge(&mut flow, epoch), SIZE));
        }
    }

    #[test]
    fn the_flows_of_a_group_count_as_one_and_its_number_is_used_again_once_all_are_gone() {
        let (mut flows, mut level) = (Flows::default(), level());
        let mut add = |flows: &mut Flows, packet: Packet| {
            let number = flows.find_or_add(&packet, SIZE, |_| 1.0);
            flows.note_interest(Time::ZERO, number, &mut level);
            number
        };
        let of_group: Vec<u32> = (1..=3).map(|prefix| add(&mut flows, interest(prefix, 1))).collect();
        let alone = add(&mut flows, interest(4, 0));
        assert_eq!((level.active(), flows[alone].owner), (2.0, alone));
        assert_eq!(flows[flows[of_group[0]].owner].active, 3);
        of_group.iter().for_each(|number| flows.remove(*number, &mut level));
        assert_eq!((level.active(), flows.groups.len(), flows.free.len()), (1.0, 0, 4));
        assert_eq!(flows.find(interest(4, 0).flow), Some(alone));
    }

    #[test]
    fn a_flow_counts_for_four_of_its_usual_gaps_after_an_interest() {
        let (mut flows, mut level) = (Flows::default(), level());
        let number = flows.find_or_add(&interest(1, 0), SIZE, |_| 1.0);
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        (0..60).for_each(|n| flows.note_interest(at(500 * n), number, &mut level));
        let last = 500 * 59;
        flows.end_silent(at(last + 1900), &mut level);
        assert!(flows.is_active());
        flows.end_silent(at(last + 2001), &mut level);
        assert_eq!((flows.is_active(), level.active()), (false, 0.0));
    }
}
