//! The node: divides the Interests of a flow among next hops, and grants downstreams what these grant together.
//!
//! Grants go hop by hop, never end to end: S = Σ g_u from the next hops (`upstreams.rs`), m·S to the downstreams
//! (`downstreams.rs`).

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::packet::FlowKey;
use weir_core::seam::best_route::{is_suppressed, least_severe};
use weir_core::seam::{
    Answer, CachedEvent, DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy,
};
use weir_core::units::{Span, Time};
use weir_packet::NackReason;

use super::downstreams::Downstreams;
use super::signals::{Grant, Load, RTT_MEASURE, is_said};
use super::upstreams::Upstreams;
use crate::flow_index::FlowIndex;

/// Part of the Interests that go to a next hop at random, if it has been silent for so long.
const PROBING: f64 = 0.01;
const PROBE_AFTER: Span = Span::from_secs(1);
/// Names that are remembered, for so long, once a flow has several downstreams.
const NAMES: usize = 1 << 13;
const NAMES_FOR: Span = Span::from_secs(2);
/// With Data of the store, while next hops were asked and said nothing yet, bit/s. Else the level of the link to the
/// consumer would be the first grant.
const UNKNOWN: f64 = 1e5;
/// Each so many Data say their time at this node, and the first ones, by which a neighbour learns the way.
const TIMED_EACH: u32 = 8;
const TIMED_FIRST: u32 = 128;

#[derive(Debug, Default)]
struct Flow {
    up: Upstreams,
    down: Downstreams,
    /// Bits of its Data, smoothed; 0 before the first.
    size: f64,
}

/// A name that was asked for: a part of its hash, by whom, when.
type Asked = (u32, FaceId, Time);

/// The strategy.
#[derive(Debug, Default)]
pub(super) struct Node {
    flows: Vec<Flow>,
    index: FlowIndex,
    asked: Vec<Asked>,
    /// Data that left.
    data: u32,
}

impl Node {
    fn flow(&mut self, key: FlowKey) -> &mut Flow {
        let place = self.index.find(key).unwrap_or_else(|| {
            self.flows.push(Flow::default());
            let place = self.flows.len() as u32 - 1;
            self.index.insert(key, place);
            place
        });
        &mut self.flows[place as usize]
    }

    fn note_interest(&mut self, now: Time, key: FlowKey, from: FaceId, is_sent: bool) -> &mut Flow {
        let flow = self.flow(key);
        flow.down.on_interest(now, from, is_sent);
        if let Some(used) = flow.down.end_period(now, flow.up.granted(), flow.size) {
            flow.up.coordinate(used);
        }
        flow
    }

    /// Remembers who asks for a name, and compares with who did before.
    fn note_name(&mut self, now: Time, key: FlowKey, from: FaceId, hash: u64) {
        if !self.flow(key).down.are_several() {
            return;
        }
        if self.asked.is_empty() {
            self.asked.resize(NAMES, (0, FaceId(0), Time::ZERO));
        }
        let place = &mut self.asked[hash as usize % NAMES];
        let (tag, by, at) = core::mem::replace(place, ((hash >> 32) as u32, from, now));
        let (is_same, age) = (tag == (hash >> 32) as u32, now.since(at));
        if is_same && by == from {
            return;
        }
        let age = if is_same && age < NAMES_FOR { age.as_secs_f64() } else { 0.0 };
        self.flow(key).down.note_behind(from, age);
    }
}

impl Strategy for Node {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        let (now, key, from) = (ev.now, ev.interest.flow, ev.interest.arrived_on);
        if is_suppressed(ev) {
            self.note_interest(now, key, from, false);
            return Decision::Suppress;
        }
        self.note_interest(now, key, from, true);
        self.note_name(now, key, from, ev.interest.name.hash());
        let was_tried = |face: FaceId| ev.entry.out_records.iter().any(|record| record.face == face);
        let all = || ev.next_hops.iter().map(|hop| hop.face);
        let mut faces: SmallVec<[FaceId; 8]> = all().filter(|face| !was_tried(*face)).collect();
        if faces.is_empty() {
            faces = all().collect();
        }
        if faces.is_empty() {
            return Decision::Nack(NackReason::NoRoute);
        }
        let up = &mut self.flow(key).up;
        if faces.len() > 1 && ev.random.chance(PROBING) {
            let probed = faces[ev.random.below(faces.len() as u32) as usize];
            if now.since(up.heard(probed)) > PROBE_AFTER {
                up.charge(probed);
                return Decision::Forward(probed);
            }
        }
        Decision::Forward(up.choose(&faces))
    }

    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        let from = ev.interest.arrived_on;
        self.note_interest(ev.now, ev.interest.flow, from, false).down.note_in_step(from);
    }

    fn on_cached(&mut self, ev: &mut CachedEvent<'_>) {
        self.note_interest(ev.now, ev.interest.flow, ev.interest.arrived_on, false);
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        let (granted, bits) = (Grant::of(ev.data), 8.0 * ev.data.wire_len() as f64);
        let flow = self.flow(ev.flow);
        flow.size = if flow.size == 0.0 { bits } else { flow.size + 0.25 * (bits - flow.size) };
        flow.up.on_data(ev.now, ev.face, granted, ev.rtt);
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let flow = self.flow(ev.flow);
        let granted = flow.up.granted();
        if flow.up.is_waiting() && matches!(ev.answer, Answer::Cached(_)) {
            Grant { rate: UNKNOWN, load: Load::Usual }.write(ev.data);
        } else if granted > 0.0 && granted.is_finite() {
            let grant =
                Grant { rate: flow.down.grant(ev.now, ev.face, ev.answer, granted), load: flow.up.load() };
            grant.write(ev.data);
        } else {
            Grant::remove(ev.data);
        }
        let signals = &mut ev.data.header_mut().signals;
        self.data = self.data.wrapping_add(1);
        if self.data < TIMED_FIRST || is_said(self.data, TIMED_EACH) {
            let is_here = matches!(ev.answer, Answer::Cached(_));
            let took = if is_here { Span::ZERO } else { ev.now.since(ev.in_record.arrived) };
            signals.set(&RTT_MEASURE, took.as_nanos());
        } else {
            signals.clear(&RTT_MEASURE);
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        let record = ev.entry.out_records.iter().find(|record| record.face == ev.face);
        let sent = record.map_or(ev.now, |record| record.sent);
        let faces: SmallVec<[FaceId; 8]> = ev.next_hops.iter().map(|hop| hop.face).collect();
        let up = &mut self.flow(ev.entry.flow()).up;
        up.on_loss(ev.face, sent);
        if faces.is_empty() {
            return Decision::Nack(least_severe(ev));
        }
        Decision::Forward(up.choose(&faces))
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        // An Interest without a route has no flow.
        let Some(place) = self.index.find(ev.entry.flow()) else { return };
        let up = &mut self.flows[place as usize].up;
        for record in ev.entry.out_records.iter().filter(|record| record.times_sent > 0) {
            up.on_loss(record.face, record.sent);
        }
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        for flow in &mut self.flows {
            flow.up.forget(face);
            flow.down.forget(face);
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        for place in self.index.of_prefix(prefix) {
            self.flows[place as usize] = Flow::default();
        }
    }
}
