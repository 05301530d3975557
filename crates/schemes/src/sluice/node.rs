//! The node: divides the Interests of a flow among next hops, and grants the downstreams the sum of the next
//! hops' grants.
//!
//! Grants are computed hop by hop, not end to end: S = Σ g_u from the next hops (`upstreams.rs`), m·S to the
//! downstreams (`downstreams.rs`).

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::packet::FlowKey;
use weir_core::seam::best_route::{is_suppressed, least_severe};
use weir_core::seam::{
    Answer, CachedEvent, DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy,
};
use weir_core::tables::pairs::Pairs;
use weir_core::units::{Span, Time};
use weir_packet::NackReason;

use super::downstreams::Downstreams;
use super::signals::{Grant, Load, RTT_MEASURE, is_said};
use super::upstreams::Upstreams;
use crate::flow_index::FlowIndex;

/// The part of the Interests that go to a random next hop that has been silent for this time.
const PROBING: f64 = 0.01;
const PROBE_AFTER: Span = Span::from_secs(1);
/// The number of names that are remembered if a flow has several downstreams, and the time for which they
/// are.
const NAMES: usize = 1 << 13;
const NAMES_FOR: Span = Span::from_secs(2);
/// The grant with Data of the content store before any next hop has answered, bit/s. Otherwise the level of
/// the link to the consumer would be the first grant.
const UNKNOWN: f64 = 1e5;

/// The period of Data that report their time at this node. The first ones also report it, and from them a
/// neighbour learns the time of the path.
const TIMED_EACH: u32 = 8;
const TIMED_FIRST: u32 = 128;

#[derive(Debug, Default)]
struct Flow {
    up: Upstreams,
    down: Downstreams,
    /// The smoothed size of its Data, bits; 0 before the first.
    size: f64,
}

/// A requested name: a part of its hash, the requesting face, and the time.
type Asked = (u32, FaceId, Time);

/// The strategy of a node.
#[derive(Debug, Default)]
pub(super) struct Node {
    flows: Vec<Flow>,
    index: FlowIndex,
    /// The pairs of a face and a flow that uses it.
    of_faces: Pairs,
    asked: Vec<Asked>,
    /// The number of Data that left.
    data: u32,
}

impl Node {
    fn place(&mut self, key: FlowKey) -> u32 {
        self.index.find(key).unwrap_or_else(|| {
            self.flows.push(Flow::default());
            let place = self.flows.len() as u32 - 1;
            self.index.insert(key, place);
            place
        })
    }

    fn flow(&mut self, key: FlowKey) -> &mut Flow {
        let place = self.place(key);
        &mut self.flows[place as usize]
    }

    /// Returns the next hops of a flow, after adding these.
    fn up(&mut self, key: FlowKey, faces: &[FaceId]) -> &mut Upstreams {
        let place = self.place(key);
        let up = &mut self.flows[place as usize].up;
        for face in faces {
            if up.add(*face) {
                self.of_faces.add(face.0, place);
            }
        }
        up
    }

    fn note_interest(&mut self, now: Time, key: FlowKey, from: FaceId, is_sent: bool) -> &mut Flow {
        let place = self.place(key);
        let flow = &mut self.flows[place as usize];
        if flow.down.on_interest(now, from, is_sent) {
            self.of_faces.add(from.0, place);
        }
        if let Some(used) = flow.down.end_period(now, flow.up.granted(), flow.size) {
            flow.up.coordinate(used);
        }
        flow
    }

    /// Remembers which face requests a name, and compares it with the earlier request.
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
        let up = self.up(key, &faces);
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
        // A stored Data whose name has no route belongs to no flow.
        let Some(place) = self.index.find(ev.flow) else { return Grant::remove(ev.data) };
        let flow = &mut self.flows[place as usize];
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
        let up = self.up(ev.entry.flow(), &faces);
        up.on_loss(ev.face, sent);
        if faces.is_empty() {
            return Decision::Nack(least_severe(ev));
        }
        Decision::Forward(up.choose(&faces))
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        // An Interest without a route belongs to no flow.
        let Some(place) = self.index.find(ev.entry.flow()) else { return };
        let up = &mut self.flows[place as usize].up;
        for record in ev.entry.out_records.iter().filter(|record| record.times_sent > 0) {
            up.on_loss(record.face, record.sent);
        }
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        for place in self.of_faces.take(face.0) {
            let flow = &mut self.flows[place as usize];
            flow.up.forget(face);
            flow.down.forget(face);
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        for place in self.index.of_prefix(prefix) {
            let Flow { up, down, .. } = core::mem::take(&mut self.flows[place as usize]);
            up.faces().chain(down.faces()).for_each(|face| self.of_faces.remove(face.0, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_core::node::Input;
    use weir_core::node::testing::Told;
    use weir_core::packet::PacketId;
    use weir_core::producer::Producer;
    use weir_core::seam::{DropTail, QueueLimit};
    use weir_core::units::{Bytes, Rate};

    use super::*;
    use crate::bench::{Bench, LIFETIME, name};

    const DOWN: [FaceId; 2] = [FaceId(0), FaceId(1)];
    const UP: [FaceId; 2] = [FaceId(2), FaceId(3)];
    const MS: Span = Span::from_millis(1);

    /// A node with two downstreams and two next hops for `/a`, over fast links. Its own data is the number of
    /// the next segment.
    fn node() -> Bench<Node, u32> {
        let mut node = Bench::of(Node::default(), 0);
        for _ in 0..4 {
            node.add_link(Box::new(DropTail::new(QueueLimit::Packets(1000))), Rate::from_mbps(100_000));
        }
        for face in UP {
            node.forwarder.add_route(&name("/a"), face, 0);
        }
        node
    }

    impl Bench<Node, u32> {
        fn ask(&mut self, from: FaceId, segment: u32) {
            let packet = self.interest_of(&format!("/a/{segment}"));
            self.handle(Input::Packet { face: from, packet });
        }

        fn ask_next(&mut self, from: FaceId) {
            self.own += 1;
            self.ask(from, self.own);
        }

        /// The next hop answers with this grant, Mb/s.
        fn give(&mut self, (face, packet): (FaceId, PacketId), mbps: f64) {
            let size = Bytes::new(1000);
            let producer = Producer { payload: size, freshness: Span::ZERO, signature: 32 };
            producer.answer(&mut self.pool[packet]);
            Grant { rate: 1e6 * mbps, load: Load::Usual }.write(&mut self.pool[packet]);
            self.handle(Input::Packet { face, packet });
        }

        /// Each next hop that has an Interest answers with its grant.
        fn give_all(&mut self, mbps: [f64; 2]) {
            for sent in core::mem::take(&mut self.upstream) {
                self.give(sent, mbps[usize::from(sent.0 == UP[1])]);
            }
        }

        /// Returns the grant of the Data that left last, Mb/s.
        fn granted(&mut self) -> Option<f64> {
            self.later(MS);
            let (_, header) = self.headers.last()?;
            let data = &mut weir_core::packet::Packet::default();
            *data.header_mut() = *header;
            Grant::of(data).map(|grant| grant.rate / 1e6)
        }
    }

    #[test]
    fn one_downstream_is_granted_the_sum_and_next_hops_are_asked_in_proportion() {
        let mut node = node();
        let mut asked = [0_u32; 2];
        for n in 0..400 {
            node.ask_next(DOWN[0]);
            if n >= 40 {
                asked[usize::from(node.upstream[0].0 == UP[1])] += 1;
            }
            node.give_all([6.0, 2.0]);
            node.later(MS);
        }
        assert!(asked[0].abs_diff(270) <= 3, "{asked:?}");
        let granted = node.granted().unwrap();
        assert!((granted / 8.0 - 1.0).abs() < 0.002, "{granted}");
    }

    #[test]
    fn several_downstreams_that_ask_for_different_names_are_granted_the_sum_together() {
        let mut node = node();
        // Two consumers follow their grants. Each has a round-trip time of a millisecond.
        let mut credit = [0.0; 2];
        for _ in 0..3000 {
            for (from, credit) in DOWN.into_iter().zip(&mut credit) {
                let granted = node.granted().unwrap_or(4.0);
                *credit += 1e6 * granted * 2e-3 / (8.0 * 1045.0);
                while *credit >= 1.0 {
                    node.ask_next(from);
                    *credit -= 1.0;
                }
            }
            node.give_all([6.0, 2.0]);
        }
        let granted = node.granted().unwrap();
        assert!((granted / 4.0 - 1.0).abs() < 0.15, "{granted}");
    }

    #[test]
    fn a_next_hop_that_loses_three_in_a_row_gets_probes_only_until_it_answers() {
        let mut node = node();
        for _ in 0..50 {
            node.ask_next(DOWN[0]);
            node.give_all([0.8, 0.8]);
            node.later(MS * 5);
        }
        // 1.7 Mb/s are requested, which is the sum of both grants.
        let round = |node: &mut Bench<Node, u32>, answers: bool| {
            let mut asked = 0;
            for _ in 0..1000 {
                node.ask_next(DOWN[0]);
                let sent = node.upstream.pop().unwrap();
                asked += u32::from(sent.0 == UP[1]);
                match answers || sent.0 == UP[0] {
                    true => node.give(sent, 0.8),
                    false => node.pool.free(sent.1),
                }
                node.later(MS * 5);
            }
            asked
        };
        round(&mut node, false);
        node.later(LIFETIME);
        let probes = round(&mut node, false);
        assert!((1..=30).contains(&probes), "{probes}");
        let granted = node.granted().unwrap();
        assert!((granted / 0.8 - 1.0).abs() < 0.01, "{granted}");
        node.later(LIFETIME);
        assert!(round(&mut node, true) > 300);
    }
}
