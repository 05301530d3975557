//! An Interest: loops, PIT, content store, FIB, strategy.

use smallvec::SmallVec;
use weir_packet::{NackReason, PitToken};

use super::expiry::give_up_downed;
use super::reforwarding::comes_too_soon;
use super::scope::{Scope, scope_of};
use super::{Face, FaceKind, Forwarder, LONGEST_LIFETIME, Out};
use crate::ids::{FaceId, PitId};
use crate::packet::{Packet, PacketId};
use crate::seam::best_route::SUPPRESSION;
use crate::seam::{Decision, DropReason, InterestEvent};
use crate::tables::fib::NextHop;
use crate::tables::pit::{InRecord, PitEntry};
use crate::units::{Span, Time};

impl Forwarder {
    pub(super) fn on_interest(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let now = out.now;
        self.receive(face, id, None, out);
        let interest = &mut out.pool[id];
        if let Some(hops) = &mut interest.hop_limit {
            if *hops == 0 {
                return out.drop(face, id, DropReason::HopLimit);
            }
            *hops -= 1;
        }
        let nonce = interest.nonce;
        if self.dead_nonces.contains(interest.name.hash(), nonce, now) {
            return self.refuse_loop(face, id, out);
        }
        let (pit, is_new) =
            self.pit.find_or_insert(&interest.name, interest.can_be_prefix, interest.must_be_fresh, now);
        if is_new && let Some(stored) = self.stored(id, out) {
            self.pit.remove(pit);
            return self.answer_from_store(face, id, stored, out);
        }
        let entry = self.pit.entry_mut(pit).expect("just found or inserted");
        if is_new {
            entry.class = out.pool[id].class() as u8;
            // It stays theirs while it lives, whatever is chosen meanwhile: who counts it has to hear of its end.
            entry.strategy = self.strategies.of(&out.pool[id].name);
        } else {
            if is_loop(entry, nonce, face) {
                return self.refuse_loop(face, id, out);
            }
            give_up_downed(entry, &self.faces);
        }
        let aggregated = !is_new
            && entry.is_pending(now)
            && match self.reforward_after {
                None => entry.in_record(face).is_none(),
                Some(after) => comes_too_soon(entry, after, now),
            };
        self.record_downstream(pit, face, id, aggregated, out);
        self.forward(pit, face, id, aggregated, out);
        self.keep_pit_bound(out);
    }

    /// Writes down who asked.
    pub(super) fn record_downstream(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        aggregated: bool,
        out: &mut Out<'_>,
    ) {
        let record = in_record(face, &out.pool[id], aggregated, self.longest_lifetime(face), out.now);
        let expires = record.expires;
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        match entry.in_record(face).map(|known| known.aggregated) {
            Some(aggregated) => {
                self.pit.renew_in_record(pit, InRecord { aggregated, retransmission: true, ..record });
            }
            None => self.pit.add_in_record(pit, record),
        }
        self.pit.extend_expiry(pit, expires);
        self.expect_expiry(expires, out.now);
    }

    /// Asks the strategy what becomes of an Interest, and does it.
    pub(super) fn forward(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        aggregated: bool,
        out: &mut Out<'_>,
    ) {
        let Some(fib) = self.fib.lookup(&out.pool[id].name) else {
            return self.refuse(pit, face, id, NackReason::NoRoute, out);
        };
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        // From a neighbour, what is for one hop goes no further than to applications.
        let scope = match scope_of(&out.pool[id].name) {
            Scope::Hop if self.is_local(face) => Scope::Global,
            scope => scope,
        };
        for hop in self.fib.next_hops(fib) {
            if hop.face != face && self.faces[hop.face.0 as usize].takes(scope) {
                next_hops.push(*hop);
            }
        }
        let group = self.group(face);
        let prefix = self.flow_prefix(id, Some(fib), group, out);
        let local = self.is_local(face);
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        // Who only waits for what another group has asked for does not take it over.
        if !aggregated || entry.group == group {
            (entry.prefix, entry.group) = (prefix, group);
        }
        let strategy = entry.strategy;
        let interest = &mut out.pool[id];
        interest.flow = entry.flow();
        interest.pit = pit;
        if let Some(chosen) = interest.header().next_hop_face_id() {
            let decision = self.chosen_next_hop(chosen, scope);
            return self.carry_out(decision, pit, face, id, out);
        }
        let (next_hops, random) = (&next_hops, &mut self.random);
        let suppression = match self.reforward_after {
            None => self.round_trips.get(prefix).map_or(SUPPRESSION, |srtt| srtt.min(SUPPRESSION)),
            Some(_) => Span::ZERO,
        };
        let mut ev =
            InterestEvent { now: out.now, interest, pit, entry, local, next_hops, suppression, random };
        let strategy = self.strategies.get(strategy);
        let decision = if aggregated {
            strategy.on_aggregated(&mut ev);
            Decision::Suppress
        } else {
            strategy.on_interest(&mut ev)
        };
        self.carry_out(decision, pit, face, id, out);
    }

    /// An application has chosen the next hop itself (NDNLPv2, NextHopFaceId): no strategy is asked, nor
    /// whether the face is one of the prefix's next hops.
    pub(super) fn chosen_next_hop(&self, face: u64, scope: Scope) -> Decision {
        let may = |face: &Face| face.kind != FaceKind::Gone && face.takes(scope);
        match usize::try_from(face).ok().filter(|&at| self.faces.get(at).is_some_and(may)) {
            Some(at) => Decision::Forward(FaceId(at as u32)),
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    /// Does with an Interest that came, or came back, by `face` what the strategy decided.
    pub(super) fn carry_out(
        &mut self,
        decision: Decision,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        out: &mut Out<'_>,
    ) {
        match decision {
            Decision::Forward(next_hop) => self.send_interest(pit, next_hop, id, out),
            Decision::Multicast(next_hops) => {
                for &next_hop in next_hops.iter().skip(1) {
                    let copy = out.pool.duplicate(id);
                    self.send_interest(pit, next_hop, copy, out);
                }
                match next_hops.first() {
                    Some(&next_hop) => self.send_interest(pit, next_hop, id, out),
                    None => self.refuse(pit, face, id, NackReason::NoRoute, out),
                }
            }
            Decision::Hold => {
                out.pool[id].queued_at = out.now;
                let entry = self.pit.entry_mut(pit).expect("a live entry");
                if let Some(earlier) = entry.held.replace(id) {
                    out.pool.free(earlier);
                }
            }
            Decision::Suppress => out.pool.free(id),
            Decision::Nack(reason) => self.refuse(pit, face, id, reason, out),
        }
    }

    pub(super) fn send_interest(&mut self, pit: PitId, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        self.send_interest_since(pit, face, id, out.now, out);
    }

    /// Sends an Interest that has waited at this node since a time.
    pub(super) fn send_interest_since(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        since: Time,
        out: &mut Out<'_>,
    ) {
        let interest = &mut out.pool[id];
        // Zero hops left: applications here may still answer, the network may not.
        let local = self.is_local(face);
        if interest.hop_limit == Some(0) && !local {
            return out.drop(face, id, DropReason::HopLimit);
        }
        interest.header_mut().pit_token = PitToken::new(&pit.to_token()).unwrap_or(PitToken::NONE);
        let (nonce, lifetime) = (interest.nonce, interest.lifetime.min(LONGEST_LIFETIME));
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        entry.hop_limit = interest.hop_limit;
        self.faces[face.0 as usize].asked = true;
        self.sent_signals.keep(pit, &interest.header().signals);
        let buffers = entry.buffer_bytes();
        if let Some(earlier) = entry.note_sending(face, nonce, out.now, lifetime) {
            self.dead_nonces.add(interest.name.hash(), earlier, out.now);
        }
        if entry.out_records.len() > 1 {
            self.pit.note_out_records(pit, buffers);
        }
        self.send_since(face, id, since, out);
    }
}

/// Whether an Interest has been here with this nonce. A link has one other end, which may repeat
/// itself.
fn is_loop(entry: &PitEntry, nonce: u32, face: FaceId) -> bool {
    let mut seen = entry.out_records.iter().any(|record| record.nonce == nonce);
    for record in entry.in_records.iter().filter(|record| record.nonce == nonce) {
        if record.face == face {
            return false;
        }
        seen = true;
    }
    seen
}

/// What is written down of the downstream that an Interest came from.
pub(super) fn in_record(
    face: FaceId,
    interest: &Packet,
    aggregated: bool,
    longest: Span,
    now: Time,
) -> InRecord {
    InRecord {
        face,
        nonce: interest.nonce,
        arrived: now,
        expires: now + interest.lifetime.min(longest),
        token: interest.header().pit_token,
        aggregated,
        retransmission: false,
        holding: 0,
    }
}
