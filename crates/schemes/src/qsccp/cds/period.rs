//! The computation at the end of each period, and when a rate changes: equations (1) to (9) with the measured values.

use weir_core::meter::Meter;
use weir_core::units::{Rate, Span, Time};

use super::flows::{Class, Flow, Group, LONG_WAIT, Sharers};
use super::{Cds, DT_CLASSES, FIRST_DT, NONE};
use crate::qsccp::Settings;
use crate::qsccp::index::CLASSES;
use crate::qsccp::pecn::{self, Claim, ClassShare, OfferHistory};

/// A virtual queue holds at least the Interests whose Data come in this time. With only a bound on the number
/// of Interests, the queues of a fast link would overflow within a period, before consumers get a rate. 20
/// Interests are 17 ms on the 10 Mb/s of most of the paper's scenarios.
const ROOM_TIME: Span = Span::from_millis(20);

/// A greedy flow of a group has at least this part of the next hop's TargetRate.
const LEAST_BEYOND: f64 = 0.05;
/// And so many Interests a second.
const LEAST_INTERESTS: f64 = 2.0;

/// Interests that may wait at this rate: so many, or as many as bring Data for [`ROOM_TIME`].
fn room(least: u32, rate: f64, data_bits: u64) -> u32 {
    least.max((rate * ROOM_TIME.as_secs_f64() / data_bits.max(1) as f64) as u32)
}

impl Cds {
    /// Ends a period: forgets silent flows, and computes R_f of the others.
    pub(super) fn end_period(&mut self, now: Time) {
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
        self.judge_flows(now);
        let idle = self.classes.iter().all(|class| class.sharers.flows.is_empty());
        self.period_began = now;
        self.period_ends = if idle { Time::NEVER } else { now + self.settings.period };
    }

    /// r_f, and the flows that have used less than their rate.
    pub(super) fn measure_demand(&mut self, now: Time) {
        let Settings { period, gamma, .. } = self.settings;
        for class in &mut self.classes {
            class.largest_bits = 0;
            let (mut demand, mut suggested, mut is_silent) = (0.0, 0.0, true);
            for place in 0..class.sharers.flows.len() {
                let id = class.sharers.flows[place] as usize;
                if let Some(group) = self.groups.get_mut(self.flows[id].group as usize) {
                    group.measure_demand(id, class, &mut self.flows, now, (period, gamma));
                }
                let flow = &mut self.flows[id];
                class.sharers.measure_demand(flow, now, period);
                is_silent &= !flow.is_counted;
                demand += flow.demand.rate();
                class.largest_bits = class.largest_bits.max(flow.data_bits);
                if let Some(rate) = flow.rate {
                    let discount = match self.groups.get(flow.group as usize) {
                        None => class.discount_of(flow),
                        Some(group) => class.discount_of_group(flow, group),
                    };
                    let discount = discount * class.sharers.part_left();
                    class.sharers.note_offer(flow, rate, discount, gamma);
                    suggested += rate * discount;
                }
            }
            class.sharers.overbooking.end_period(class.sharers.rate, gamma);
            let was_new = class.offers.is_new();
            let was_silent = core::mem::replace(&mut class.is_silent, is_silent);
            if is_silent && !was_silent && was_new {
                class.newcomers.note(true);
            }
            // Flows that all stop in the period after their first have no rate yet: they were told parts of the whole.
            let suggested = if suggested == 0.0 && !was_silent { f64::INFINITY } else { suggested };
            let told = suggested.min(class.sharers.rate);
            if class.sharers.flows.is_empty() {
                class.offers = OfferHistory::default();
            } else if is_silent {
                class.offers.note_silence();
            } else if told > 0.0 {
                class.offers.note(demand, told, told, 1.0, gamma);
                if was_new && !class.offers.is_new() {
                    class.newcomers.note(false);
                }
                if class.limiter.is_none() {
                    self.overbooking.note(demand, told, class.offers.is_limited(), gamma);
                }
            }
        }
        self.overbooking.end_period(self.shared_rate, gamma);
    }

    /// Equations (1) to (8), with what was measured over the last period, bit/s.
    pub(super) fn share_capacity(&mut self, now: Time) {
        let s = self.settings.clone();
        let data_capacity = pecn::data_capacity(s.eta, self.capacity, self.reverse_interests);
        let whole = self.whole_capacity();
        let demands: [f64; CLASSES] = core::array::from_fn(|c| {
            self.classes[c].sharers.flows.iter().map(|&id| self.flows[id as usize].demand.rate()).sum()
        });
        // (2): the rates that delay-sensitive classes may use. (4): the rates that they use, at most those of
        // their tokens. On a shared medium the limits are parts of a rate that may not be available at the
        // moment. So the rates of more urgent classes are subtracted.
        let mut rates = [0.0; CLASSES];
        let mut delay_sensitive = 0.0;
        for c in 0..FIRST_DT {
            rates[c] = (whole * s.delta[c]).min((data_capacity - delay_sensitive).max(0.0));
            delay_sensitive += demands[c].min(rates[c]);
        }
        let claims: [Claim; DT_CLASSES] = core::array::from_fn(|i| {
            let Class { offers: told, newcomers, .. } = &self.classes[FIRST_DT + i];
            Claim {
                weight: s.omega[i],
                demand: demands[FIRST_DT + i],
                is_limited: told.is_limited(),
                is_new: told.is_new() && newcomers.mostly_stay(),
                stays: if told.is_new() { newcomers.stays() } else { 0.0 },
                least_told: told.least(),
            }
        });
        let available = (data_capacity - delay_sensitive).max(0.0);
        rates[FIRST_DT..].copy_from_slice(&pecn::class_rates(
            available,
            s.gamma,
            self.overbooking.offer(),
            &claims,
        ));
        self.shared_rate = available;
        self.set_limits(now, data_capacity, whole);
        for (class, rate) in self.classes.iter_mut().zip(rates) {
            class.sharers.divide(rate, s.gamma, &self.flows);
            let usual = if class.largest_bits > 0 { class.largest_bits } else { s.default_data_bits };
            class.room = room(s.class_queue, rate, usual);
            class.flow_room = room(s.virtual_queue, rate, usual);
        }
        self.suggest_rates();
    }

    /// The rate of which δ_c is a part. On a shared medium the expected rate follows use; a part of it would
    /// keep a class at its present rate.
    pub(super) fn whole_capacity(&self) -> f64 {
        let whole = self.fair_capacity.map_or(self.capacity, |fair| fair.max(self.capacity));
        pecn::data_capacity(self.settings.eta, whole, self.reverse_interests)
    }

    /// (9): R_f of every flow. The flows of a group share its rate as those of a class do.
    pub(super) fn suggest_rates(&mut self) {
        for class in &self.classes {
            class.sharers.suggest_rates(&mut self.flows);
        }
        for group in &mut self.groups {
            let Some(&first) = group.sharers.flows.first() else { continue };
            let parent = &self.flows[self.flows[first as usize].parent as usize];
            if !parent.is_counted {
                continue;
            }
            let rate = parent.rate.unwrap_or(group.sharers.rate);
            group.sharers.divide(rate, self.settings.gamma, &self.flows);
            group.sharers.suggest_rates(&mut self.flows);
        }
    }

    /// Sets φ of flows that are greedy, here or at a face that they have passed, and releases the others.
    pub(super) fn judge_flows(&mut self, now: Time) {
        let s = &self.settings;
        self.classes.iter_mut().for_each(|class| class.sharers.judge(&mut self.flows, s));
        for group in &mut self.groups {
            group.sharers.judge(&mut self.flows, s);
            group.police(&mut self.flows, now, s);
        }
    }

    /// The limiters follow the rate that the Interests of the other direction leave.
    pub(super) fn set_limits(&mut self, now: Time, limit: f64, whole: f64) {
        self.total.set_rate(now, Rate::from_bps_f64(limit));
        let largest = self.classes.iter().map(|class| class.largest_bits).max().unwrap_or(0);
        self.largest_bits = largest;
        // While the link sends a Data, tokens gather for the Interests that wait.
        let sending =
            self.send_rate.map_or(0.0, |rate| self.largest_sent_bits as f64 / rate.as_bps_f64().max(1.0));
        self.interests_out.set_depth(self.largest_sent_bits);
        let gathered = (limit * sending.min(LONG_WAIT.as_secs_f64())) as u64;
        let burst = self.settings.burst_bits;
        self.total.set_depth(burst.max(largest + burst / 2) + gathered);
        for (class, delta) in self.classes.iter_mut().zip(self.settings.delta) {
            if let Some(limiter) = &mut class.limiter {
                limiter.set_rate(now, Rate::from_bps_f64((whole * delta).min(limit)));
            }
        }
    }
}

impl Group {
    /// As for a class: r_f of its flows, and the flows that have used less than their rate.
    fn measure_demand(
        &mut self,
        parent: usize,
        class: &mut Class,
        flows: &mut [Flow],
        now: Time,
        (period, gamma): (Span, f64),
    ) {
        let of_group = if flows[parent].rate.is_some() { class.sharers.part_left() } else { 1.0 };
        for place in 0..self.sharers.flows.len() {
            let id = self.sharers.flows[place] as usize;
            self.sharers.measure_demand(&mut flows[id], now, period);
            class.largest_bits = class.largest_bits.max(flows[id].data_bits);
            if let Some(rate) = flows[id].rate {
                let discount = class.discount_in(&flows[id], &flows[parent], self);
                let discount = discount * self.sharers.part_left() * of_group;
                let rate = rate.min(flows[id].upstream);
                self.sharers.note_offer(&mut flows[id], rate, discount, gamma);
            }
        }
        self.sharers.overbooking.end_period(self.sharers.rate, gamma);
    }

    /// Limits the flows of a group to the next hop's TargetRate, if they ask for more. The next hop has one
    /// flow for all groups, so it could only drop the Interests of all. If the others keep to that rate, the
    /// part of a greedy one is too small for the next hop to find all of them greedy. Some Interests always
    /// leave, so that their Data can bring a new rate.
    fn police(&mut self, flows: &mut [Flow], now: Time, settings: &Settings) {
        let &Settings { phi, greedy_ratio, burst_bits, .. } = settings;
        let beyond = (greedy_ratio - 1.0).clamp(LEAST_BEYOND, phi.max(LEAST_BEYOND));
        for &id in &self.sharers.flows {
            let flow = &mut flows[id as usize];
            let most = flow.upstream * if flow.is_punished() { beyond } else { greedy_ratio };
            let most = most.max(LEAST_INTERESTS * flow.data_bits as f64);
            let is_over = flow.demand.rate() > most;
            match &mut flow.limiter {
                None if is_over => {
                    flow.limiter = Some(Meter::new(Rate::from_bps_f64(most), burst_bits));
                    flow.is_policed = true;
                }
                Some(limiter) if flow.is_policed && is_over => {
                    limiter.set_rate(now, Rate::from_bps_f64(most))
                }
                Some(_) if flow.is_policed => {
                    flow.limiter = None;
                    flow.is_policed = false;
                }
                // The operator has set another limit.
                None | Some(_) => {}
            }
        }
    }
}

impl Sharers {
    /// r_f of one of them. If it has stopped, it leaves. A first Interest that stays alone is waited for as long as most
    /// are followed by others.
    fn measure_demand(&mut self, flow: &mut Flow, now: Time, period: Span) {
        if flow.demand.asked_bits() > 0 && !flow.has_stayed() {
            flow.active_periods += 1;
            if flow.has_stayed() {
                self.newcomers.note(false);
            }
        }
        flow.demand.end_period(now, flow.data_bits, period);
        let patience = if self.newcomers.mostly_stay() { period * u64::from(pecn::PATIENCE) } else { period };
        if flow.demand.has_one_interest() && now.since(flow.demand.last_interest()) > patience {
            flow.demand.stop();
        }
        if flow.demand.has_stopped() {
            self.pause(flow);
        }
    }

    /// The rate that a flow had over the last period.
    fn note_offer(&mut self, flow: &mut Flow, rate: f64, discount: f64, gamma: f64) {
        let offered = self.share.offered_to(flow.weight).max(rate);
        flow.offers.note(flow.demand.rate(), rate, offered, discount, gamma);
        if !flow.is_punished() {
            let is_limited = flow.offers.is_limited();
            self.overbooking.note(flow.demand.rate(), rate * discount, is_limited, gamma);
        }
    }

    /// (7), (8): they share this rate from now on.
    fn divide(&mut self, rate: f64, gamma: f64, flows: &[Flow]) {
        let counted = self.flows.iter().map(|&id| &flows[id as usize]).filter(|flow| flow.is_counted);
        let loads = counted.map(|flow| flow.load(self));
        self.share = ClassShare::new(rate, gamma, self.overbooking.offer(), loads);
        self.rate = rate;
        self.shared_weights = self.weights;
        self.joined_weights = 0.0;
    }

    /// (9).
    fn suggest_rates(&self, flows: &mut [Flow]) {
        for &id in &self.flows {
            let flow = &mut flows[id as usize];
            flow.joined = 0.0;
            flow.rate = flow.is_counted.then(|| self.share.rate_of(&flow.load(self)));
        }
    }

    fn judge(&mut self, flows: &mut [Flow], settings: &Settings) {
        let &Settings { lambda, phi, greedy_ratio, group_memory, .. } = settings;
        for &id in &self.flows {
            let flow = &mut flows[id as usize];
            let told = self.share.rate_of(&flow.load(self)).min(flow.upstream).max(flow.offers.most());
            let is_over = flow.demand.rate() > greedy_ratio * told;
            let memory = if flow.group == NONE && flow.parent == NONE { 1 } else { group_memory };
            flow.greed.end_period(is_over, flow.demand.is_falling(), lambda, memory);
            flow.phi = if flow.greed.is_punished() { phi } else { 1.0 };
            let before = flow.counted_weight();
            flow.discounted_weight = flow.weight * flow.phi;
            self.weights += flow.counted_weight() - before;
        }
    }
}
