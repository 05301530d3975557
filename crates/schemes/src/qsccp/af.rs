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
use weir_core::tables::pit::PitEntry;
use weir_core::units::Time;
use weir_packet::{NackReason, Signal};

use super::Settings;
use super::greedy;
use super::index::FlowIndex;
use super::signals::{DOWNSTREAM_RATE, TARGET_RATE};
use super::tables::{FlowTables, News};

/// A node's strategy: the tables of every flow that passes it.
///
/// There is a row for each FIB entry and class at most.
#[derive(Debug)]
pub(super) struct AdaptiveForwarding {
    probing: f64,
    shared_retrieval: bool,
    /// What a class may have waiting at a face.
    room_bits: f64,
    flows: Vec<FlowTables>,
    index: FlowIndex,
}

impl AdaptiveForwarding {
    pub(super) fn new(settings: &Settings) -> AdaptiveForwarding {
        let (probing, shared_retrieval) = (settings.probing, settings.shared_retrieval);
        let room_bits = f64::from(settings.class_queue) * settings.default_data_bits as f64;
        AdaptiveForwarding {
            probing,
            shared_retrieval,
            room_bits,
            flows: Vec::new(),
            index: FlowIndex::default(),
        }
    }

    fn tables(&mut self, key: FlowKey) -> &mut FlowTables {
        let place = self.index.find(key).unwrap_or_else(|| {
            self.flows.push(FlowTables::default());
            let place = self.flows.len() as u32 - 1;
            self.index.insert(key, place);
            place
        });
        &mut self.flows[place as usize]
    }

    fn known(&mut self, key: FlowKey) -> Option<&mut FlowTables> {
        self.index.find(key).map(|place| &mut self.flows[place as usize])
    }

    /// d_i of the face that an Interest came from.
    fn note_interest(&mut self, now: Time, interest: &Packet) {
        let rate = rate_in(interest, &DOWNSTREAM_RATE);
        self.tables(interest.flow).note_interest(now, interest.arrived_on, rate);
    }

    fn forward(&mut self, ev: &mut InterestEvent<'_>, next_hops: &[FaceId]) -> Decision {
        if next_hops.is_empty() {
            return Decision::Nack(NackReason::NoRoute);
        }
        let is_probe = next_hops.len() > 1 && ev.random.chance(self.probing);
        let probe = is_probe.then(|| ev.random.below(next_hops.len() as u32) as usize);
        let tables = self.tables(ev.interest.flow);
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
            // An application cannot say that its flow is greedy.
            greedy::take_mark(ev.interest);
        }
        self.note_interest(ev.now, ev.interest);
        if was_sent_within(ev, SUPPRESSION) {
            return Decision::Suppress;
        }
        let faces = untried(ev.entry, ev.next_hops);
        self.forward(ev, &faces)
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
        let tables = self.tables(ev.flow);
        tables.note_data(ev.now, ev.face, news);
        if !shared_retrieval {
            return;
        }
        let waiting = || ev.entry.in_records.iter().filter(|r| r.expires >= ev.now && r.face != ev.face);
        let cost = 1.0 / waiting().count().max(1) as f64;
        for record in waiting() {
            tables.note_answer(ev.now, record.face, cost);
        }
    }

    fn on_data_out(&mut self, ev: &mut DataOutEvent<'_>) {
        let (shared_retrieval, room_bits) = (self.shared_retrieval, self.room_bits);
        let Some(tables) = self.known(ev.flow) else { return };
        let rate = match ev.answer {
            Answer::Forwarded | Answer::Aggregated => tables.target_rate(ev.now, ev.face),
            Answer::Cached(_) if !shared_retrieval => f64::INFINITY,
            Answer::Cached(age) => {
                tables.note_answer(ev.now, ev.face, 0.0);
                tables.target_rate_cached(ev.now, ev.face, age)
            }
        };
        let rate = rate.min(tables.shared_bound(ev.face, room_bits));
        write_rate(ev.data, &TARGET_RATE, rate);
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        let sent = ev.entry.out_records.iter().find(|r| r.face == ev.face).map_or(ev.now, |r| r.sent);
        let Some(tables) = self.known(ev.entry.flow()) else {
            return Decision::Nack(least_severe(ev));
        };
        tables.note_loss(ev.face, sent);
        let faces: SmallVec<[FaceId; 8]> = ev.next_hops.iter().map(|hop| hop.face).collect();
        if faces.is_empty() {
            return Decision::Nack(least_severe(ev));
        }
        Decision::Forward(tables.choose(&faces, None).0)
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        let Some(tables) = self.known(ev.entry.flow()) else { return };
        for record in ev.entry.out_records.iter().filter(|record| record.times_sent > 0) {
            tables.note_loss(record.face, record.sent);
        }
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        for tables in &mut self.flows {
            tables.forget(face);
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        for place in self.index.of_prefix(prefix) {
            self.flows[place as usize] = FlowTables::default();
        }
    }
}

/// The next hops that an Interest was not sent to yet, or else all.
fn untried(entry: &PitEntry, next_hops: &[NextHop]) -> SmallVec<[FaceId; 8]> {
    let all = || next_hops.iter().map(|hop| hop.face);
    if entry.out_records.is_empty() {
        return all().collect();
    }
    let tried = |face: &FaceId| entry.out_records.iter().any(|record| record.face == *face);
    let fresh: SmallVec<[FaceId; 8]> = all().filter(|face| !tried(face)).collect();
    if fresh.is_empty() { all().collect() } else { fresh }
}

/// A rate that a packet carries, bit/s; infinite (the paper's MAX_RATE) if it carries none.
fn rate_in(packet: &Packet, signal: &Signal) -> f64 {
    match packet.header().signals.value(signal) {
        None | Some(u64::MAX) => f64::INFINITY,
        Some(rate) => rate as f64,
    }
}

/// What is infinite is left out: nobody limits it.
fn write_rate(packet: &mut Packet, signal: &Signal, rate: f64) {
    let signals = &mut packet.header_mut().signals;
    if rate.is_finite() { signals.set(signal, rate as u64) } else { signals.clear(signal) }
}
