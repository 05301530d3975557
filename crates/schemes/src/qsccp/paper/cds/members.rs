//! Bottom level of the scheduler (section IV-C 3): weighted deficit round robin between the flows that share
//! a rate, and the shares of that rate (section IV-D 1). These are the flows of a class; in
//! `extensions/groups.rs`, those of a group.
//!
//! Each packet costs O(1), because backlogged flows are in a ring. A flow that lacks tokens of its own is
//! *parked* until it has them.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_core::packet::{PacketId, PacketPool};
use weir_core::units::Time;

use super::flow::{Flow, NONE, VirtualQueue};
use crate::qsccp::extensions::elsewhere::Overbooking;
use crate::qsccp::paper::pecn::{Period, Shares};

/// The number of round trips from the face after which a new flow follows its first rate, and counts with its
/// demand.
const FOLLOWED_AFTER: u64 = 2;

/// Flows that share a rate.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// All slots, the free slots, and the flows with state.
    pub(crate) flows: Vec<Flow>,
    free: Vec<u32>,
    pub(crate) listed: Vec<u32>,
    /// The ring of backlogged flows: first and last.
    ring: Option<(u32, u32)>,
    /// The flows out of the ring, by the times at which they have tokens.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    /// The number of flows with waiting Interests, of these Interests, and of the bits of their Data.
    pub(crate) waiting_flows: u32,
    pub(crate) queued: u32,
    pub(crate) queued_bits: u64,
    /// The result of the last period: the rate that they share (B_c for a class), and its division.
    pub(crate) rate: f64,
    pub(crate) shares: Shares,
    overbooking: Overbooking,
    /// The weights of the flows that came or returned since `new_since`. They may not have followed a rate
    /// yet.
    new_weights: f64,
    new_since: Time,
}

impl Members {
    // ---- Flows

    /// Iterates over the flows with state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> + Clone {
        self.listed.iter().map(|&id| &self.flows[id as usize])
    }

    /// Applies a change to the flows with state.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut Flow)) {
        self.listed.iter().for_each(|&id| change(&mut self.flows[id as usize]));
    }

    /// Adds a flow. Returns its slot.
    pub(crate) fn add(&mut self, mut flow: Flow) -> u32 {
        flow.place = self.listed.len() as u32;
        self.new_weights += flow.discounted_weight;
        let id = self.free.pop().unwrap_or(self.flows.len() as u32);
        self.listed.push(id);
        match self.flows.get_mut(id as usize) {
            Some(place) => *place = flow,
            None => self.flows.push(flow),
        }
        id
    }

    /// Removes a flow without waiting Interests.
    pub(crate) fn remove(&mut self, id: u32) {
        let place = self.flows[id as usize].place as usize;
        self.listed.swap_remove(place);
        if let Some(&moved) = self.listed.get(place) {
            self.flows[moved as usize].place = place as u32;
        }
        self.free.push(id);
    }

    /// Removes the flows without waiting Interests for which `is_forgotten` is true.
    pub(crate) fn forget(&mut self, mut is_forgotten: impl FnMut(&mut Flow) -> bool) {
        let mut place = 0;
        while let Some(&id) = self.listed.get(place) {
            let flow = &mut self.flows[id as usize];
            if flow.queue.len() == 0 && is_forgotten(flow) {
                self.remove(id);
            } else {
                place += 1;
            }
        }
    }

    /// Counts an Interest of a flow.
    #[inline]
    pub(crate) fn note_interest(&mut self, now: Time, id: u32, is_marked: bool) {
        let flow = &mut self.flows[id as usize];
        flow.greed.note_interest(is_marked);
        if flow.note_interest(now) {
            self.new_weights += flow.discounted_weight;
        }
    }

    /// Counts a Data of this size for a flow, or for one in its group.
    pub(crate) fn note_data(&mut self, id: u32, member: u32, bits: u64) {
        let flow = &mut self.flows[id as usize];
        flow.greed.is_told = true;
        let (before, waiting) = flow.waiting(member);
        match &mut flow.queue {
            VirtualQueue::Interests(_) => flow.data.note(bits),
            VirtualQueue::Group(group) => group.members.note_data(member, NONE, bits),
        }
        let (after, _) = flow.waiting(member);
        self.queued_bits = self.queued_bits + waiting * after - waiting * before;
    }

    // ---- Shares

    /// Ends a period of a flow whose rate had this discount. Measures r_f, and whether the flow is limited
    /// elsewhere. Returns the rate that it was told, bit/s.
    pub(crate) fn measure(&mut self, id: u32, now: Time, period: Period, discount: f64) -> f64 {
        let flow = &mut self.flows[id as usize];
        flow.data.answers.end_period(now);
        flow.demand.end_period(now, flow.data.answers.part_of(flow.data.bits), period.length);
        let Some(rate) = flow.rate.filter(|_| flow.demand.rate() > 0.0) else { return 0.0 };
        let told = discount * rate.min(flow.policing.upstream);
        let offered = discount * self.shares.offered(flow.weight);
        flow.unused.note(period, flow.demand.rate(), told, offered.max(told));
        told
    }

    /// Ends a period after the flows were measured.
    pub(crate) fn end_period(&mut self, now: Time, period: Period) {
        if now.since(self.new_since) >= period.round_trip * FOLLOWED_AFTER {
            (self.new_weights, self.new_since) = (0.0, now);
        }
        self.overbooking = self.shares.overbook(period, self.is_waiting(), self.iter().map(Flow::claim));
    }

    /// Returns whether more Interests wait than half the number of flows.
    pub(crate) fn is_waiting(&self) -> bool {
        2 * self.queued as usize > self.listed.len()
    }

    /// (7), (8): divides this rate among the flows from now on. (9): sets R_f of each.
    pub(crate) fn divide(&mut self, rate: f64, gamma: f64) {
        self.rate = rate;
        let claims = self.iter().map(Flow::claim).filter(|claim| claim.demand > 0.0);
        let weights = claims.clone().map(|claim| claim.weight).sum();
        let shares = Shares::new(rate, weights, gamma, self.overbooking, claims);
        self.shares = shares;
        self.for_each(|flow| {
            let claim = flow.claim();
            flow.rate = (claim.demand > 0.0).then(|| shares.of(&claim));
        });
    }

    /// Returns R_f of a flow. A flow without a rate shares with the others that came since the last period.
    pub(crate) fn rate_of(&self, flow: &Flow) -> f64 {
        let weight = flow.discounted_weight;
        flow.rate.unwrap_or_else(|| self.shares.of_new(weight, self.new_weights.max(weight)))
    }

    // ---- WDRR

    /// Puts an Interest into the virtual queue of a flow.
    pub(crate) fn push(&mut self, id: u32, member: u32, pool: &mut PacketPool, packet: PacketId) {
        let flow = &mut self.flows[id as usize];
        let is_first = flow.queue.len() == 0;
        self.queued += 1;
        self.queued_bits += flow.waiting(member).0;
        let mut has_tokens = false;
        match &mut flow.queue {
            VirtualQueue::Interests(list) => list.push_back(pool, packet),
            VirtualQueue::Group(group) => {
                has_tokens = group.members.flows[member as usize].queue.len() == 0;
                group.members.push(member, NONE, pool, packet);
            }
        }
        if is_first {
            self.waiting_flows += 1;
            self.append(id);
        } else if has_tokens && flow.is_parked {
            self.unpark(id);
            self.append(id);
        }
    }

    /// Appends a flow to the ring.
    fn append(&mut self, id: u32) {
        self.flows[id as usize].next = NONE;
        match &mut self.ring {
            Some((_, last)) => {
                let previous = core::mem::replace(last, id);
                self.flows[previous as usize].next = id;
            }
            ring => *ring = Some((id, id)),
        }
    }

    fn unpark(&mut self, id: u32) {
        self.flows[id as usize].is_parked = false;
        self.parked.retain(|Reverse((_, parked))| *parked != id);
    }

    /// Returns the time at which the first parked flow has tokens.
    pub(crate) fn unparks_at(&self) -> Time {
        self.parked.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// Chooses the flow whose Interest leaves next, and makes it the first of the ring. Returns its charge,
    /// bits. If no flow has its own tokens, returns when one has.
    pub(crate) fn choose(&mut self, now: Time, quantum: f64) -> Result<u64, Time> {
        while let Some(&Reverse((_, id))) = self.parked.peek().filter(|Reverse((at, _))| *at <= now) {
            self.parked.pop();
            self.flows[id as usize].is_parked = false;
            self.append(id);
        }
        while let Some((first, last)) = self.ring {
            let flow = &mut self.flows[first as usize];
            let charge = match flow.next_charge(now, quantum) {
                Ok(charge) => charge,
                Err(tokens_at) => {
                    flow.is_parked = true;
                    self.parked.push(Reverse((tokens_at, first)));
                    self.leave_ring();
                    continue;
                }
            };
            if !flow.has_quantum {
                flow.deficit += quantum * flow.discounted_weight;
                flow.has_quantum = true;
            }
            if charge as f64 <= flow.deficit {
                return Ok(charge);
            }
            flow.has_quantum = false;
            if first != last {
                let after = core::mem::replace(&mut flow.next, NONE);
                self.flows[last as usize].next = first;
                self.ring = Some((after, first));
            }
        }
        Err(self.unparks_at())
    }

    /// Removes the first flow from the ring, and ends its turn.
    fn leave_ring(&mut self) {
        let Some((first, last)) = self.ring else { return };
        let flow = &mut self.flows[first as usize];
        (flow.deficit, flow.has_quantum) = (0.0, false);
        let after = core::mem::replace(&mut flow.next, NONE);
        self.ring = (first != last).then_some((after, last));
    }

    /// Returns the chosen Interest.
    pub(crate) fn front(&self) -> Option<PacketId> {
        let (first, _) = self.ring?;
        match &self.flows[first as usize].queue {
            VirtualQueue::Interests(list) => list.front(),
            VirtualQueue::Group(group) => group.members.front(),
        }
    }

    /// Removes the chosen Interest. Its flow pays this charge; 0 if the Interest is not sent.
    pub(crate) fn take(&mut self, now: Time, charge: u64, pool: &mut PacketPool) {
        let Some((first, _)) = self.ring else { return };
        let flow = &mut self.flows[first as usize];
        if let Some(limiter) = &mut flow.limiter {
            limiter.take(now, charge);
        }
        flow.deficit -= charge as f64;
        self.queued -= 1;
        self.queued_bits -= match &mut flow.queue {
            VirtualQueue::Interests(list) => {
                list.pop_front(pool);
                flow.data.bits
            }
            VirtualQueue::Group(group) => {
                let before = group.members.queued_bits;
                group.members.take(now, charge, pool);
                before - group.members.queued_bits
            }
        };
        if flow.queue.len() == 0 {
            self.waiting_flows -= 1;
            self.leave_ring();
        }
    }

    /// Drops the waiting Interests of a flow, or of one in its group.
    pub(crate) fn flush(
        &mut self,
        id: u32,
        member: u32,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(&PacketPool, PacketId),
    ) {
        let flow = &mut self.flows[id as usize];
        let (bits, waiting) = flow.waiting(member);
        if waiting == 0 {
            return;
        }
        match &mut flow.queue {
            VirtualQueue::Interests(list) => {
                while let Some(packet) = list.pop_front(pool) {
                    drop(pool, packet);
                }
            }
            VirtualQueue::Group(group) => group.members.flush(member, NONE, pool, drop),
        }
        self.queued -= waiting as u32;
        self.queued_bits -= waiting * bits;
        if flow.queue.len() == 0 {
            self.waiting_flows -= 1;
            self.unlink(id);
        }
    }

    /// Returns a flow with waiting Interests.
    pub(crate) fn any_waiting(&self) -> Option<u32> {
        self.ring.map(|(first, _)| first).or_else(|| self.parked.peek().map(|Reverse((_, id))| *id))
    }

    /// Returns a flow with waiting Interests in the group of a flow, if the flow is a group.
    pub(crate) fn any_member(&self, id: u32) -> u32 {
        match &self.flows[id as usize].queue {
            VirtualQueue::Interests(_) => NONE,
            VirtualQueue::Group(group) => group.members.any_waiting().unwrap_or(NONE),
        }
    }

    /// Removes a flow from the ring, at any position.
    fn unlink(&mut self, id: u32) {
        if self.ring.is_some_and(|(first, _)| first == id) {
            return self.leave_ring();
        }
        self.unpark(id);
        let mut at = self.ring.take().map_or(NONE, |(first, _)| first);
        while at != NONE {
            let next = self.flows[at as usize].next;
            if at != id {
                self.append(at);
            }
            at = next;
        }
        let flow = &mut self.flows[id as usize];
        (flow.next, flow.deficit, flow.has_quantum) = (NONE, 0.0, false);
    }
}

impl Flow {
    /// Returns the charge of the Interest that leaves next; or when the flow, or one in its group, has tokens
    /// for it.
    fn next_charge(&mut self, now: Time, quantum: f64) -> Result<u64, Time> {
        let charge = match &mut self.queue {
            VirtualQueue::Interests(_) => self.data.bits,
            VirtualQueue::Group(group) => group.members.choose(now, quantum)?,
        };
        let tokens_at = self.limiter.as_ref().map_or(now, |limiter| limiter.passes_at(charge));
        if tokens_at > now { Err(tokens_at) } else { Ok(charge) }
    }

    /// Returns the size of the flow's Data, bits, and the number of its waiting Interests; or those of a flow
    /// in its group.
    fn waiting(&self, member: u32) -> (u64, u64) {
        match &self.queue {
            VirtualQueue::Interests(list) => (self.data.bits, u64::from(list.len())),
            VirtualQueue::Group(group) => group.members.flows[member as usize].waiting(NONE),
        }
    }
}
