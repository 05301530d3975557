//! The computation at the end of each period, and when a rate changes: equations (1) to (9) with the measured values.

use weir_core::units::{Rate, Span, Time};

use super::flows::LONG_WAIT;
use super::{Cds, DT_CLASSES, FIRST_DT};
use crate::qsccp::Settings;
use crate::qsccp::index::CLASSES;
use crate::qsccp::pecn::{self, Claim, ClassShare, OfferHistory};

/// What may wait is at least what comes back in this time: with a bound on the number of Interests
/// alone, the queues of a fast link would overflow within a period, before any rate could tell. 20
/// Interests are 17 ms on the 10 Mb/s of most of the paper's scenarios.
const ROOM_TIME: Span = Span::from_millis(20);

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
        self.judge_flows();
        let idle = self.classes.iter().all(|class| class.flows.is_empty());
        self.period_began = now;
        self.period_ends = if idle { Time::NEVER } else { now + self.settings.period };
    }

    /// r_f, and who has taken less than was suggested.
    pub(super) fn measure_demand(&mut self, now: Time) {
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
                    let offered = class.share.offered_to(flow.weight).max(rate);
                    flow.offers.note(flow.demand.rate(), rate, offered, discount, gamma);
                    if !flow.is_punished() {
                        let is_limited = flow.offers.is_limited();
                        class.overbooking.note(flow.demand.rate(), rate * discount, is_limited, gamma);
                    }
                    suggested += rate * discount;
                }
            }
            class.overbooking.end_period(class.rate, gamma);
            if class.flows.is_empty() {
                class.offers = OfferHistory::default();
            } else if suggested > 0.0 {
                let told = suggested.min(class.rate);
                class.offers.note(demand, told, told, 1.0, gamma);
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
            let told = &self.classes[FIRST_DT + i].offers;
            Claim {
                weight: s.omega[i],
                demand: demands[FIRST_DT + i],
                is_limited: told.is_limited(),
                is_new: told.is_new(),
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
            class.rate = rate;
            let loads = class.flows.iter().map(|&id| self.flows[id as usize].load());
            class.share = ClassShare::new(rate, s.gamma, class.overbooking.offer(), loads);
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
    pub(super) fn whole_capacity(&self) -> f64 {
        let whole = self.fair_capacity.map_or(self.capacity, |fair| fair.max(self.capacity));
        pecn::data_capacity(self.settings.eta, whole, self.reverse_interests)
    }

    /// (9): R_f of every flow.
    pub(super) fn suggest_rates(&mut self) {
        for class in &self.classes {
            for &id in &class.flows {
                let flow = &mut self.flows[id as usize];
                flow.rate = Some(class.share.rate_of(&flow.load()));
            }
        }
    }

    /// Punishes flows that are greedy, here or where they came through, and releases the others.
    pub(super) fn judge_flows(&mut self) {
        let Settings { lambda, phi, greedy_ratio, .. } = self.settings;
        for class in &mut self.classes {
            for &id in &class.flows {
                let flow = &mut self.flows[id as usize];
                let told = class.share.rate_of(&flow.load()).max(flow.offers.most());
                let is_over = flow.demand.rate() > greedy_ratio * told;
                flow.greed.end_period(is_over, flow.demand.is_falling(), lambda);
                flow.phi = if flow.greed.is_punished() { phi } else { 1.0 };
                let before = core::mem::replace(&mut flow.discounted_weight, flow.weight * flow.phi);
                class.weights += flow.discounted_weight - before;
            }
        }
    }

    /// The limiters follow what the Interests of the other direction leave.
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
