//! The computation at the end of each period and at a change of rate: equations (1) to (9) with the measured
//! values.

use weir_core::packet::PacketList;
use weir_core::units::{Rate, Span, Time};

use super::class::{Class, LONG_WAIT, Room};
use super::flow::VirtualQueue;
use super::{Cds, DT_CLASSES, FIRST_DT};
use crate::flow_index::CLASSES;
use crate::qsccp::Settings;
use crate::qsccp::paper::pecn::{self, Claim, Period};

/// A virtual queue holds at least the Interests whose Data come in this time, and in a round trip. Otherwise
/// the queues of a fast or long link would overflow before consumers get a rate. 20 Interests are 17 ms on
/// the 10 Mb/s of most of the paper's scenarios.
const ROOM_TIME: Span = Span::from_millis(20);

/// A class holds at most the Interests of this time. A waiting Interest can still be useful, while a dropped
/// one costs its consumer a lifetime.
const FULL_TIME: Span = Span::from_millis(500);
const MOST_WAITING: f64 = 8192.0;

impl Cds {
    /// Ends a period: removes silent flows, and computes R_f of the others.
    pub(super) fn end_period(&mut self, now: Time) {
        // A world may call late.
        let elapsed = now.since(self.period_began).max(self.settings.period).as_secs_f64();
        self.reverse_interests = self.received_interest_bits as f64 / elapsed;
        self.received_interest_bits = 0;
        if self.shortest_rtt < Span::MAX {
            self.shortest_rtt_before = core::mem::replace(&mut self.shortest_rtt, Span::MAX);
        }
        let Settings { period: length, gamma, elsewhere, .. } = self.settings;
        let round_trip = self.round_trip();
        let period = Period { length, gamma, elsewhere, round_trip };
        for class in &mut self.classes {
            class.forget_silent(now, |key| self.index.remove(key));
            class.measure(now, period);
        }
        let is_waiting = self.classes[FIRST_DT..].iter().any(|class| class.flows.is_waiting());
        self.overbooking = self.shares.overbook(period, is_waiting, self.claims().into_iter());
        self.share_capacity(now);
        self.largest_sent_bits = 0;
        self.judge(now);
        let idle = self.classes.iter().all(|class| class.flows.listed.is_empty());
        self.period_began = now;
        self.period_ends = if idle { Time::NEVER } else { now + self.settings.period };
    }

    /// Applies equations (1) to (9) to the measurements of the last period, bit/s.
    pub(super) fn share_capacity(&mut self, now: Time) {
        let Settings { eta, gamma, delta, omega, .. } = self.settings;
        // (1) B'
        let data_capacity = pecn::data_capacity(eta, self.capacity, self.reverse_interests);
        let whole = self.whole_capacity();
        let demands = self.classes.each_ref().map(Class::demand);
        // (2) δ_c·B', and (4) total_rate_DS: the rates that delay-sensitive classes use, at most those of their tokens.
        // On a shared medium the limits are parts of a rate that may not be available at the moment. So the rates of
        // more urgent classes are subtracted.
        let mut rates = [0.0; CLASSES];
        let mut total_rate_ds = 0.0;
        for c in 0..FIRST_DT {
            rates[c] = (whole * delta[c]).min((data_capacity - total_rate_ds).max(0.0));
            total_rate_ds += demands[c].min(rates[c]);
        }
        // (3), (5), (6) B_c of the delay-tolerant classes
        let claims = self.claims();
        let available = (data_capacity - total_rate_ds).max(0.0);
        let (class_rates, shares) = pecn::class_rates(available, gamma, self.overbooking, &claims);
        self.shares = shares;
        rates[FIRST_DT..].copy_from_slice(&class_rates);
        for (class, omega) in self.classes[FIRST_DT..].iter_mut().zip(omega) {
            class.offered = shares.offered(omega);
        }
        self.set_limits(now, data_capacity, whole);
        let Settings { class_queue, virtual_queue, initial_window, .. } = self.settings;
        let room_time = self.round_trip().max(ROOM_TIME);
        let sending =
            self.send_rate.map_or(0.0, |rate| self.largest_sent_bits as f64 / rate.as_bps_f64().max(1.0));
        let busy = self.largest_bits as f64 / self.capacity.max(1.0) + sending;
        let usual = self.largest_bits.max(self.settings.default_data_bits) as f64;
        for (class, rate) in self.classes.iter_mut().zip(rates) {
            // (7), (8), (9)
            class.divide(rate, gamma);
            class.room = Room {
                of_class: f64::from(class_queue)
                    .max((rate * FULL_TIME.as_secs_f64() / usual).min(MOST_WAITING)),
                of_flow: f64::from(virtual_queue),
                in_time: rate * (room_time.as_secs_f64() + busy),
                at_start: f64::from(initial_window),
                busy,
            };
        }
    }

    /// Returns the shortest recent round trip; zero if none is known.
    fn round_trip(&self) -> Span {
        if self.shortest_rtt_before < Span::MAX { self.shortest_rtt_before } else { Span::ZERO }
    }

    /// Returns the claims of the delay-tolerant classes.
    fn claims(&self) -> [Claim; DT_CLASSES] {
        core::array::from_fn(|i| {
            let class = &self.classes[FIRST_DT + i];
            Claim {
                weight: self.settings.omega[i],
                demand: class.demand(),
                is_greedy: false,
                is_limited: class.unused.is_limited(),
            }
        })
    }

    /// Returns the rate of which δ_c is a part. On a shared medium the expected rate follows use, and a part
    /// of it would keep a class at its present rate.
    fn whole_capacity(&self) -> f64 {
        let whole = self.fair_capacity.map_or(self.capacity, |fair| fair.max(self.capacity));
        pecn::data_capacity(self.settings.eta, whole, self.reverse_interests)
    }

    /// Sets the limiters to the rate that the Interests of the other direction leave.
    fn set_limits(&mut self, now: Time, limit: f64, whole: f64) {
        self.total.set_rate(now, Rate::from_bps_f64(limit));
        self.largest_bits = self.classes.iter().map(|class| class.largest_bits).max().unwrap_or(0);
        // While the link sends a Data, tokens accumulate for the waiting Interests.
        let sending =
            self.send_rate.map_or(0.0, |rate| self.largest_sent_bits as f64 / rate.as_bps_f64().max(1.0));
        self.interests_out.set_depth(self.largest_sent_bits);
        let gathered = (limit * sending.min(LONG_WAIT.as_secs_f64())) as u64;
        let burst = self.settings.burst_bits;
        self.total.set_depth(burst.max(self.largest_bits + burst / 2) + gathered);
        for (class, delta) in self.classes.iter_mut().zip(self.settings.delta) {
            if let Some(limiter) = &mut class.limiter {
                limiter.set_rate(now, Rate::from_bps_f64((whole * delta).min(limit)));
            }
        }
    }

    /// Sets φ of flows that are greedy, here or at a face that they have passed, and releases the others.
    fn judge(&mut self, now: Time) {
        let settings = &self.settings;
        for class in &mut self.classes {
            class.flows.for_each(|flow| {
                flow.judge(
                    settings,
                    if let VirtualQueue::Group(_) = flow.queue { settings.group_memory } else { 1 },
                );
                if let VirtualQueue::Group(group) = &mut flow.queue {
                    group.members.for_each(|flow| flow.judge(settings, settings.group_memory));
                    group.police(now, settings);
                }
            });
        }
    }
}

impl Class {
    /// Returns r_c.
    fn demand(&self) -> f64 {
        self.flows.iter().map(|flow| flow.demand.rate()).sum()
    }

    /// Measures r_f of the flows, and whether flows and the class are limited elsewhere.
    fn measure(&mut self, now: Time, period: Period) {
        self.largest_bits = 0;
        let mut told = 0.0;
        for place in 0..self.flows.listed.len() {
            let id = self.flows.listed[place];
            let flow = &self.flows.flows[id as usize];
            let discount = self.discount(flow, &self.flows);
            if let VirtualQueue::Group(_) = flow.queue {
                self.measure_group(id, now, period, discount);
            }
            told += self.flows.measure(id, now, period, discount);
            self.largest_bits = self.largest_bits.max(self.flows.flows[id as usize].data.bits);
        }
        self.flows.end_period(now, period);
        if told > 0.0 {
            let told = told.min(self.flows.rate);
            self.unused.note(period, self.demand(), told, self.offered.max(told));
        }
    }

    /// Measures r_f of the flows of a group whose queue has this discount.
    fn measure_group(&mut self, id: u32, now: Time, period: Period, of_group: f64) {
        let none = VirtualQueue::Interests(PacketList::default());
        let mut queue = core::mem::replace(&mut self.flows.flows[id as usize].queue, none);
        if let VirtualQueue::Group(group) = &mut queue {
            let members = &mut group.members;
            for place in 0..members.listed.len() {
                let id = members.listed[place];
                let flow = &members.flows[id as usize];
                self.largest_bits = self.largest_bits.max(flow.data.bits);
                let discount = of_group.min(self.discount(flow, members));
                members.measure(id, now, period, discount);
            }
            members.end_period(now, period);
        }
        self.flows.flows[id as usize].queue = queue;
    }

    /// (7) to (9): sets R_f of the flows. The flows of a group share its R_f as the others share B_c.
    fn divide(&mut self, rate: f64, gamma: f64) {
        self.flows.divide(rate, gamma);
        self.flows.for_each(|flow| {
            if let (VirtualQueue::Group(group), rate) = (&mut flow.queue, flow.rate) {
                group.members.divide(rate.unwrap_or(0.0), gamma);
            }
        });
    }
}
