//! AF, adaptive forwarding (section IV-E), and PECN's part of a node (section IV-D 2): chooses the next hop of each
//! Interest, and updates the rates in passing packets.

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::packet::{FlowKey, Packet};
use weir_core::seam::best_route::{SUPPRESSION, least_severe, was_sent_within};
use weir_core::seam::{
    Answer, CachedEvent, DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy,
};
use weir_core::tables::fib::NextHop;
use weir_core::tables::pairs::Pairs;
use weir_core::tables::pit::PitEntry;
use weir_core::units::Time;
use weir_packet::{NackReason, Signal};

use super::greedy;
use super::tables::{FlowTables, News};
use crate::flow_index::FlowIndex;
use crate::qsccp::Settings;
use crate::qsccp::signals::{DOWNSTREAM_RATE, TARGET_RATE};

/// The strategy of a node: the tables of all its flows. There is at most one row for each FIB entry and
/// class.
#[derive(Debug)]
pub(crate) struct AdaptiveForwarding {
    probing: f64,
    shared_retrieval: bool,
    flows: Vec<FlowTables>,
    index: FlowIndex,
    /// The pairs of a face and a flow whose tables have it.
    of_faces: Pairs,
}

impl AdaptiveForwarding {
    pub(crate) fn new(settings: &Settings) -> AdaptiveForwarding {
        let (probing, shared_retrieval) = (settings.probing, settings.shared_retrieval);
        AdaptiveForwarding {
            probing,
            shared_retrieval,
            flows: Vec::new(),
            index: FlowIndex::default(),
            of_faces: Pairs::default(),
        }
    }

    fn place(&mut self, key: FlowKey) -> u32 {
        self.index.find(key).unwrap_or_else(|| {
            self.flows.push(FlowTables::default());
            let place = self.flows.len() as u32 - 1;
            self.index.insert(key, place);
            place
        })
    }

    /// Changes the tables of a flow, and updates which flows have a face.
    #[inline]
    fn change<R>(&mut self, place: u32, change: impl FnOnce(&mut FlowTables) -> R) -> R {
        let tables = &mut self.flows[place as usize];
        let result = change(tables);
        while let Some((face, is_there)) = tables.pop_changed() {
            match is_there {
                true => self.of_faces.add(face.0, place),
                false => self.of_faces.remove(face.0, place),
            }
        }
        result
    }

    fn known(&mut self, key: FlowKey) -> Option<&mut FlowTables> {
        self.index.find(key).map(|place| &mut self.flows[place as usize])
    }

    fn note_interest(&mut self, now: Time, interest: &Packet) {
        let place = self.place(interest.flow);
        self.change(place, |tables| note_interest(tables, now, interest));
    }

    /// Chooses the next hop of an Interest of the flow with these tables, and writes its DownstreamRate.
    fn forward(
        tables: &mut FlowTables,
        ev: &mut InterestEvent<'_>,
        next_hops: &[FaceId],
        probing: f64,
    ) -> Decision {
        if next_hops.is_empty() {
            return Decision::Nack(NackReason::NoRoute);
        }
        let is_probe = next_hops.len() > 1 && ev.random.chance(probing);
        let probe = is_probe.then(|| ev.random.below(next_hops.len() as u32) as usize);
        let probe = probe.filter(|&place| !tables.is_known(ev.now, next_hops[place]));
        let (face, probability) = tables.choose(next_hops, probe);
        write_rate(ev.interest, &DOWNSTREAM_RATE, tables.downstream_rate(ev.now, probability));
        if tables.is_greedy() {
            greedy::mark(ev.interest);
        }
        Decision::Forward(face)
    }
}

impl Strategy for AdaptiveForwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if ev.local {
            // An application cannot mark its flow as greedy.
            greedy::take_mark(ev.interest);
        }
        let (place, probing) = (self.place(ev.interest.flow), self.probing);
        self.change(place, |tables| {
            note_interest(tables, ev.now, ev.interest);
            if was_sent_within(ev, SUPPRESSION) {
                return Decision::Suppress;
            }
            let faces = untried(ev.entry, ev.next_hops);
            AdaptiveForwarding::forward(tables, ev, &faces, probing)
        })
    }

    fn on_aggregated(&mut self, ev: &mut InterestEvent<'_>) {
        self.note_interest(ev.now, ev.interest);
    }

    fn on_cached(&mut self, ev: &mut CachedEvent<'_>) {
        self.note_interest(ev.now, ev.interest);
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        let rate = rate_in(ev.data, &TARGET_RATE);
        let news = News { rate, is_greedy: greedy::take_mark(ev.data), rtt: ev.rtt };
        let shared_retrieval = self.shared_retrieval;
        let place = self.place(ev.flow);
        self.change(place, |tables| {
            tables.note_data(ev.now, ev.face, news);
            if !shared_retrieval {
                return;
            }
            let waiting = || ev.entry.in_records.iter().filter(|r| r.expires >= ev.now && r.face != ev.face);
            let cost = 1.0 / waiting().count().max(1) as f64;
            for record in waiting() {
                tables.note_answer(ev.now, record.face, cost);
            }
        });
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let shared_retrieval = self.shared_retrieval;
        let Some(tables) = self.known(ev.flow) else { return };
        let rate = match ev.answer {
            Answer::Forwarded | Answer::Aggregated => tables.target_rate(ev.now, ev.face),
            Answer::Cached(_) if !shared_retrieval => f64::INFINITY,
            Answer::Cached(age) => {
                tables.note_answer(ev.now, ev.face, 0.0);
                tables.target_rate_cached(ev.now, ev.face, age)
            }
        };
        write_rate(ev.data, &TARGET_RATE, rate);
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        let sent = ev.entry.out_records.iter().find(|r| r.face == ev.face).map_or(ev.now, |r| r.sent);
        let Some(place) = self.index.find(ev.entry.flow()) else {
            return Decision::Nack(least_severe(ev));
        };
        let faces: SmallVec<[FaceId; 8]> = ev.next_hops.iter().map(|hop| hop.face).collect();
        self.change(place, |tables| {
            tables.note_loss(ev.face, sent);
            if faces.is_empty() {
                return Decision::Nack(least_severe(ev));
            }
            Decision::Forward(tables.choose(&faces, None).0)
        })
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        let Some(tables) = self.known(ev.entry.flow()) else { return };
        for record in ev.entry.out_records.iter().filter(|record| record.times_sent > 0) {
            tables.note_loss(record.face, record.sent);
        }
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        for place in self.of_faces.take(face.0) {
            self.flows[place as usize].forget(face);
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        for place in self.index.of_prefix(prefix) {
            let tables = core::mem::take(&mut self.flows[place as usize]);
            tables.faces().for_each(|face| self.of_faces.remove(face.0, place));
        }
    }
}

/// Returns the next hops to which the Interest was not sent yet; all, if there are none.
fn untried(entry: &PitEntry, next_hops: &[NextHop]) -> SmallVec<[FaceId; 8]> {
    let all = || next_hops.iter().map(|hop| hop.face);
    if entry.out_records.is_empty() {
        return all().collect();
    }
    let tried = |face: &FaceId| entry.out_records.iter().any(|record| record.face == *face);
    let fresh: SmallVec<[FaceId; 8]> = all().filter(|face| !tried(face)).collect();
    if fresh.is_empty() { all().collect() } else { fresh }
}

/// Notes d_i of the face from which an Interest came.
fn note_interest(tables: &mut FlowTables, now: Time, interest: &Packet) {
    tables.note_interest(now, interest.arrived_on, rate_in(interest, &DOWNSTREAM_RATE));
}

/// Returns a rate that a packet carries, bit/s; infinite (the paper's MAX_RATE) if it carries none.
fn rate_in(packet: &Packet, signal: &Signal) -> f64 {
    match packet.header().signals.value(signal) {
        None | Some(u64::MAX) => f64::INFINITY,
        Some(rate) => rate as f64,
    }
}

/// Writes a rate into a packet. An infinite rate is left out, because it is no limit.
fn write_rate(packet: &mut Packet, signal: &Signal, rate: f64) {
    let signals = &mut packet.header_mut().signals;
    if rate.is_finite() { signals.set(signal, rate as u64) } else { signals.clear(signal) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::random::Random;
    use weir_core::seam::params::Params;
    use weir_core::units::Span;

    #[test]
    fn the_flows_of_a_face_are_those_whose_tables_have_it() {
        let params = Params::resolve(Settings::PARAMETERS, []).unwrap();
        let mut node = AdaptiveForwarding::new(&Settings::new(&params));
        let (mut random, mut now) = (Random::named(1, "flows"), Time::from_nanos(1));
        let news = News { rate: 1e6, is_greedy: false, rtt: None };
        for _ in 0..5000 {
            let (face, prefix) = (FaceId(random.below(6)), PrefixId(random.below(9)));
            let flow = FlowKey { prefix, ..FlowKey::default() };
            match random.below(20) {
                0 => node.on_face(face, true, now),
                1 => node.on_prefix_removed(prefix),
                2 => now += Span::from_secs(30),
                3..=7 => {
                    let place = node.place(flow);
                    node.change(place, |tables| tables.note_data(now, face, news));
                }
                _ => {
                    let mut interest = Packet::default();
                    (interest.flow, interest.arrived_on) = (flow, face);
                    node.note_interest(now, &interest);
                }
            }
            for face in (0..6).map(FaceId) {
                let has = |place: &u32| node.flows[*place as usize].faces().any(|known| known == face);
                let wanted: Vec<u32> = (0..node.flows.len() as u32).filter(has).collect();
                assert_eq!(node.of_faces.of(face.0).collect::<Vec<_>>(), wanted);
            }
        }
    }
}
