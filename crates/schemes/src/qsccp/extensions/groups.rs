//! Groups of faces: the flows of a group share as one.
//!
//! The paper divides a class among flows, so a consumer that opens more flows gets more. A node's
//! configuration may put faces into groups. In each class a group then has one flow of weight 1, with its own
//! demand, rate R_f and factor φ. Its virtual queue is a WDRR of the group's flows in the place of a list of
//! Interests. They divide R_f as the flows of a class divide B_c. The rest of the scheduler and of PECN does
//! not depend on groups.
//!
//! The rule for greedy flows applies to the group. For each period above its rate, the group has to keep to
//! its rate for `group_memory` periods. So neither a new prefix nor a pause makes φ 1 again.
//!
//! Routers upstream treat the flows of several groups as one, and one group could fill its queue there. So the Interests
//! of a group's flow leave at most at `greedy_ratio` times the TargetRate from upstream. If the flow is greedy, they leave
//! at a small part of it, so that the flow does not count as greedy upstream.
//!
//! Parameter: `group_memory`. Without groups in the node's configuration the module does nothing.

use std::collections::BTreeMap;

use weir_core::ids::PrefixId;
use weir_core::meter::Meter;
use weir_core::units::{Rate, Time};

use crate::qsccp::Settings;
use crate::qsccp::paper::cds::flow::Flow;
use crate::qsccp::paper::cds::members::Members;

/// The smallest part of the next hop's TargetRate that a greedy flow of a group gets.
const LEAST_BEYOND: f64 = 0.05;
/// The smallest rate of such a flow, Interests a second.
const LEAST_INTERESTS: f64 = 2.0;

/// The flows of a class that come from one group of faces.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) members: Members,
    pub(crate) index: BTreeMap<PrefixId, u32>,
}

/// The limit of a flow of a group to the rate that upstream suggests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policing {
    /// The TargetRate of its latest Data when it came, bit/s; infinite if it had none.
    pub(crate) upstream: f64,
    /// Whether the flow's limiter is set to that rate.
    is_on: bool,
}

impl Policing {
    /// No rate is known from upstream.
    pub(crate) const NONE: Policing = Policing { upstream: f64::INFINITY, is_on: false };

    /// Notes the TargetRate of a Data that came.
    pub(crate) fn note(&mut self, told: Option<u64>) {
        self.upstream = told.filter(|rate| *rate < u64::MAX).map_or(f64::INFINITY, |rate| rate as f64);
    }
}

impl Group {
    /// Removes the flows that have been silent for long. Returns whether none is left.
    pub(crate) fn forget_silent(&mut self, now: Time) -> bool {
        let index = &mut self.index;
        self.members.forget(|flow| flow.is_silent(now) && index.remove(&flow.key.prefix).is_some());
        self.members.listed.is_empty()
    }

    /// Removes a flow without waiting Interests.
    pub(crate) fn remove(&mut self, member: u32) {
        self.index.remove(&self.members.flows[member as usize].key.prefix);
        self.members.remove(member);
    }

    /// Returns R_f of a flow, if that of the group is `rate`.
    pub(crate) fn rate_of(&self, flow: &Flow, rate: f64) -> f64 {
        let divided = self.members.rate;
        if divided > 0.0 { self.members.rate_of(flow) * rate / divided } else { rate }
    }

    /// Limits its flows to the next hop's TargetRate, if they ask for more. The next hop has one flow for all
    /// groups, so it could only drop Interests of all groups. If the others keep to that rate, the part of a
    /// greedy one is too small for the next hop to find all of them greedy. Some Interests always leave, so
    /// that their Data can bring a new rate.
    pub(crate) fn police(&mut self, now: Time, settings: &Settings) {
        let &Settings { phi, greedy_ratio, burst_bits, .. } = settings;
        let beyond = (greedy_ratio - 1.0).clamp(LEAST_BEYOND, phi.max(LEAST_BEYOND));
        self.members.for_each(|flow| {
            let most = flow.policing.upstream * if flow.is_punished() { beyond } else { greedy_ratio };
            let most = most.max(LEAST_INTERESTS * flow.data.bits as f64);
            let is_over = flow.demand.rate() > most;
            let limit = Rate::from_bps_f64(most);
            match &mut flow.limiter {
                None if is_over => {
                    flow.limiter = Some(Meter::new(limit, burst_bits));
                    flow.policing.is_on = true;
                }
                Some(limiter) if flow.policing.is_on && is_over => limiter.set_rate(now, limit),
                Some(_) if flow.policing.is_on => {
                    flow.limiter = None;
                    flow.policing.is_on = false;
                }
                // The operator has set another limit.
                None | Some(_) => {}
            }
        });
    }
}
