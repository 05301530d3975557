//! Bottom level of the scheduler (section IV-C 3): weighted deficit round robin between the flows that share a rate, with
//! the shares of that rate (section IV-D 1). These are the flows of a class; in `extensions/groups.rs`, those of a group.
//!
//! Each packet costs O(1): backlogged flows are in a ring. A flow that lacks tokens of its own is *parked* until it has
//! them.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use weir_core::packet::{PacketId, PacketPool};
use weir_core::units::Time;

use super::flow::{Flow, NONE, VirtualQueue};
use crate::qsccp::extensions::charges::Charge;
use crate::qsccp::extensions::elsewhere::Overbooking;
use crate::qsccp::paper::pecn::{Claim, Period, Shares};

/// Flows that share a rate.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// All places, those that are free, and the flows with state.
    flows: Vec<Flow>,
    free: Vec<u32>,
    listed: Vec<u32>,
    /// Ring of backlogged flows: first and last.
    ring: Option<(u32, u32)>,
    /// Flows out of the ring, by when they have tokens.
    parked: BinaryHeap<Reverse<(Time, u32)>>,
    /// Flows with waiting Interests, these Interests, and the bits of their Data.
    pub(crate) waiting_flows: u32,
    pub(crate) queued: u32,
    pub(crate) queued_bits: u64,
    /// Result of the last period: the rate that they share, B_c for a class, and its division.
    pub(crate) rate: f64,
    pub(crate) shares: Shares,
    overbooking: Overbooking,
    /// Weights of the flows that came or returned since then.
    new_weights: f64,
}

/// An Interest that was chosen to leave, and the flow in a group that it belongs to, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) packet: PacketId,
    pub(crate) flow: u32,
    pub(crate) member: u32,
    pub(crate) charge: Charge,
}

impl Members {
    // ---- Flows

    pub(crate) fn flow(&self, id: u32) -> &Flow {
        &self.flows[id as usize]
    }

    pub(crate) fn flow_mut(&mut self, id: u32) -> &mut Flow {
        &mut self.flows[id as usize]
    }

    /// The flow at this place in the list of those with state.
    pub(crate) fn at(&self, place: usize) -> Option<u32> {
        self.listed.get(place).copied()
    }

    /// The flows with state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> + Clone {
        self.listed.iter().map(|&id| &self.flows[id as usize])
    }

    /// The flows with state, to be changed.
    pub(crate) fn for_each(&mut self, mut change: impl FnMut(&mut Flow)) {
        for &id in &self.listed {
            change(&mut self.flows[id as usize]);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.listed.len()
    }

    /// Adds a flow.
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
        let place = self.flows[id as usize].place;
        self.listed.swap_remove(place as usize);
        if let Some(&moved) = self.listed.get(place as usize) {
            self.flows[moved as usize].place = place;
        }
        self.free.push(id);
    }

    /// Removes the flows that are silent for long, and tells them.
    pub(crate) fn forget_silent(
        &mut self,
        now: Time,
        is_kept: impl Fn(u32) -> bool,
        mut forget: impl FnMut(&Flow),
    ) {
        let mut place = 0;
        while let Some(&id) = self.listed.get(place) {
            let flow = &self.flows[id as usize];
            if flow.is_forgotten(now) && !is_kept(id) {
                forget(flow);
                self.remove(id);
            } else {
                place += 1;
            }
        }
    }

    /// Another Interest of a flow came.
    #[inline]
    pub(crate) fn note_interest(&mut self, now: Time, id: u32) {
        let flow = &mut self.flows[id as usize];
        if flow.note_interest(now) {
            self.new_weights += flow.discounted_weight;
        }
    }

    /// A Data of so many bits came for a flow, or for one in its group.
    pub(crate) fn note_data(&mut self, id: u32, member: u32, bits: u64) {
        let flow = &mut self.flows[id as usize];
        flow.greed.is_told = true;
        let before = flow.data_bits(member);
        let waiting = match &mut flow.queue {
            VirtualQueue::Interests(list) => {
                flow.data.note(bits);
                list.len()
            }
            VirtualQueue::Group(group) => {
                group.members.note_data(member, NONE, bits);
                group.members.flow(member).queue.len()
            }
        };
        let waiting = u64::from(waiting);
        self.queued_bits = self.queued_bits + waiting * flow.data_bits(member) - waiting * before;
    }

    // ---- Shares

    /// Ends a period of a flow, whose rate had this discount: measures r_f, and whether it is limited elsewhere. Tells
    /// what it was told, bit/s.
    pub(crate) fn measure(&mut self, id: u32, now: Time, period: Period, discount: f64) -> f64 {
        let flow = &mut self.flows[id as usize];
        flow.data.answers.end_period(now);
        flow.demand.end_period(now, flow.data.charge().data_bits, period.length);
        let Some(rate) = flow.rate.filter(|_| flow.demand.rate() > 0.0) else { return 0.0 };
        let told = discount * rate.min(flow.policing.upstream);
        let offered = discount * self.shares.offered(flow.weight);
        flow.unused.note(period, flow.demand.rate(), told, offered.max(told));
        told
    }

    /// Ends a period of which the flows were measured.
    pub(crate) fn overbook(&mut self, period: Period) {
        self.overbooking = self.shares.overbook(period, self.iter().map(Flow::claim));
    }

    /// (7), (8): the flows share this rate from now on. (9): R_f of each.
    pub(crate) fn divide(&mut self, rate: f64, gamma: f64) {
        self.rate = rate;
        let claims = self.iter().map(Flow::claim).filter(|claim| claim.demand > 0.0);
        let weights = claims.clone().map(|claim| claim.weight).sum();
        self.shares = Shares::new(rate, weights, gamma, self.overbooking, claims);
        self.new_weights = 0.0;
        let shares = self.shares;
        self.for_each(|flow| {
            let claim = flow.claim();
            flow.rate = (claim.demand > 0.0).then(|| shares.of(&claim));
        });
    }

    /// R_f of a flow; of one without a rate yet, beside the others that came since the last period.
    pub(crate) fn rate_of(&self, flow: &Flow) -> f64 {
        let of_new = || self.of_new(flow.discounted_weight, self.new_weights.max(flow.discounted_weight));
        flow.rate.unwrap_or_else(of_new)
    }

    /// R_f of a flow whose first Interest has not come.
    pub(crate) fn of_new(&self, weight: f64, new_weights: f64) -> f64 {
        self.shares.of_new(weight, new_weights)
    }

    /// The claim of all of them to the rate of which theirs is a part.
    pub(crate) fn claim(&self, weight: f64, is_limited: bool) -> Claim {
        Claim {
            weight,
            demand: self.iter().map(|flow| flow.demand.rate()).sum(),
            is_greedy: false,
            is_limited,
        }
    }

    // ---- WDRR

    /// An Interest waits in the virtual queue of a flow.
    pub(crate) fn push(&mut self, id: u32, member: u32, pool: &mut PacketPool, packet: PacketId) {
        let flow = &mut self.flows[id as usize];
        let bits = flow.data_bits(member);
        self.queued += 1;
        self.queued_bits += bits;
        let (is_first, is_ready) = flow.queue.push(member, pool, packet);
        if is_first {
            self.waiting_flows += 1;
            self.append(id);
        } else if is_ready && flow.is_parked {
            // Another flow of its group has tokens.
            flow.is_parked = false;
            self.parked.retain(|Reverse((_, parked))| *parked != id);
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

    /// When the first parked flow has tokens.
    pub(crate) fn unparks_at(&self) -> Time {
        self.parked.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// The flow whose Interest leaves next: it is then the first of the ring. If there is none, when one has tokens.
    pub(crate) fn choose(&mut self, now: Time, quantum: f64) -> Result<u32, Time> {
        while let Some(&Reverse((_, id))) = self.parked.peek().filter(|Reverse((at, _))| *at <= now) {
            self.parked.pop();
            self.flows[id as usize].is_parked = false;
            self.append(id);
        }
        while let Some((first, last)) = self.ring {
            let flow = &mut self.flows[first as usize];
            match flow.next_charge(now, quantum) {
                Err(tokens_at) => {
                    self.parked.push(Reverse((tokens_at, first)));
                    flow.is_parked = true;
                    self.leave_ring();
                    continue;
                }
                Ok(charge) => {
                    if !flow.has_quantum {
                        flow.deficit += quantum * flow.discounted_weight;
                        flow.has_quantum = true;
                    }
                    if charge.turn_bits as f64 <= flow.deficit {
                        return Ok(first);
                    }
                    flow.has_quantum = false;
                }
            }
            if first != last {
                let after = core::mem::replace(&mut flow.next, NONE);
                self.flows[last as usize].next = first;
                self.ring = Some((after, first));
            }
        }
        Err(self.unparks_at())
    }

    /// The first flow of the ring leaves it, and forgets its turn.
    fn leave_ring(&mut self) {
        let Some((first, last)) = self.ring else { return };
        let flow = &mut self.flows[first as usize];
        (flow.deficit, flow.has_quantum) = (0.0, false);
        let after = core::mem::replace(&mut flow.next, NONE);
        self.ring = (first != last).then_some((after, last));
    }

    /// Takes the Interest of a flow that was chosen.
    pub(crate) fn take(&mut self, now: Time, id: u32, pool: &mut PacketPool) -> Option<Chosen> {
        let flow = &mut self.flows[id as usize];
        let own = flow.data.charge();
        let (packet, member, charge) = match &mut flow.queue {
            VirtualQueue::Interests(list) => (list.pop_front(pool)?, NONE, own),
            VirtualQueue::Group(group) => {
                let (first, _) = group.members.ring?;
                let chosen = group.members.take(now, first, pool)?;
                (chosen.packet, chosen.flow, chosen.charge)
            }
        };
        if let Some(limiter) = &mut flow.limiter {
            limiter.take(now, charge.data_bits);
        }
        flow.deficit -= charge.turn_bits as f64;
        self.queued -= 1;
        self.queued_bits -= flow.data_bits(member);
        if flow.queue.len() == 0 {
            self.waiting_flows -= 1;
            self.leave_ring();
        }
        Some(Chosen { packet, flow: id, member, charge })
    }

    /// An Interest that was chosen is not sent: its flow gets its charge back.
    pub(crate) fn give_back(&mut self, chosen: &Chosen) {
        let is_first = self.ring.is_some_and(|(first, _)| first == chosen.flow);
        let flow = &mut self.flows[chosen.flow as usize];
        if let Some(limiter) = &mut flow.limiter {
            limiter.give_back(chosen.charge.data_bits);
        }
        if is_first {
            flow.deficit += chosen.charge.turn_bits as f64;
        }
        if let VirtualQueue::Group(group) = &mut flow.queue {
            group.members.give_back(&Chosen { flow: chosen.member, member: NONE, ..*chosen });
        }
    }

    /// Gives up the waiting Interests of a flow, or of one in its group.
    pub(crate) fn flush(
        &mut self,
        id: u32,
        member: u32,
        pool: &mut PacketPool,
        drop: &mut dyn FnMut(&mut PacketPool, PacketId),
    ) {
        let bits = self.flows[id as usize].data_bits(member);
        let flow = &mut self.flows[id as usize];
        let before = flow.queue.len();
        if before == 0 {
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
        let given_up = before - flow.queue.len();
        self.queued -= given_up;
        self.queued_bits -= u64::from(given_up) * bits;
        if flow.queue.len() == 0 {
            self.waiting_flows -= 1;
            self.unlink(id);
        }
    }

    /// Takes a flow out of the ring, wherever it stands.
    fn unlink(&mut self, id: u32) {
        if core::mem::take(&mut self.flows[id as usize].is_parked) {
            self.parked.retain(|Reverse((_, parked))| *parked != id);
            return;
        }
        let mut at = self.ring.map_or(NONE, |(first, _)| first);
        self.ring = None;
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

impl VirtualQueue {
    /// Interests that wait.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match self {
            VirtualQueue::Interests(list) => list.len(),
            VirtualQueue::Group(group) => group.members.queued,
        }
    }

    /// An Interest waits. Whether it is the first one; and whether it is the first one of a flow in the group.
    fn push(&mut self, member: u32, pool: &mut PacketPool, packet: PacketId) -> (bool, bool) {
        let is_first = self.len() == 0;
        match self {
            VirtualQueue::Interests(list) => {
                list.push_back(pool, packet);
                (is_first, is_first)
            }
            VirtualQueue::Group(group) => {
                let flows = group.members.waiting_flows;
                group.members.push(member, NONE, pool, packet);
                (is_first, group.members.waiting_flows > flows)
            }
        }
    }
}

impl Flow {
    /// The charge of the Interest that leaves next; or when the flow, or one in its group, has tokens for it.
    fn next_charge(&mut self, now: Time, quantum: f64) -> Result<Charge, Time> {
        let charge = match &mut self.queue {
            VirtualQueue::Interests(_) => self.data.charge(),
            VirtualQueue::Group(group) => {
                let id = group.members.choose(now, quantum)?;
                group.members.flow(id).data.charge()
            }
        };
        let tokens_at = self.limiter.as_ref().map_or(now, |limiter| limiter.passes_at(charge.data_bits));
        if tokens_at > now { Err(tokens_at) } else { Ok(charge) }
    }

    /// The size of its Data, or of those of a flow in its group.
    fn data_bits(&self, member: u32) -> u64 {
        match &self.queue {
            VirtualQueue::Interests(_) => self.data.bits,
            VirtualQueue::Group(group) => group.members.flow(member).data.bits,
        }
    }
}
