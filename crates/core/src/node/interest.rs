//! Handling of an Interest: loop detection, PIT, content store, FIB, strategy.

use smallvec::SmallVec;
use weir_packet::NackReason;

use super::expiry::give_up_downed;
use super::next_hops::route;
use super::reforwarding::comes_too_soon;
use super::scope::{Scope, scope_of};
use super::store::is_past_stores;
use super::{Face, FaceKind, Node, Out};
use crate::ids::{FaceId, GroupId, PitId};
use crate::packet::{Packet, PacketId};
use crate::rtt::RtoConfig;
use crate::seam::best_route::SUPPRESSION;
use crate::seam::{Decision, DropReason, InterestEvent};
use crate::tables::fib::{NO_ENTRY, NextHop};
use crate::tables::pit::{Fact, InRecord, PitEntry};
use crate::units::{Span, Time};

/// Longest time for which Interests of other groups wait for an earlier sending, however long round trips
/// are: the first timeout of consumers.
const MOST_PATIENCE: Span = RtoConfig::CONSUMER.initial;

impl Node {
    /// Handles an arriving Interest. `is_plain`: both the Interest and the node are plain.
    #[inline]
    pub(super) fn on_interest(&mut self, face: FaceId, id: PacketId, is_plain: bool, out: &mut Out<'_>) {
        let now = out.now;
        self.receive(face, id, None, None, out);
        let interest = &mut out.pool[id];
        if let Some(hops) = &mut interest.hop_limit {
            if *hops == 0 {
                return out.drop(face, id, DropReason::HopLimit);
            }
            *hops -= 1;
        }
        let (can_be_prefix, must_be_fresh, nonce) =
            (interest.can_be_prefix, interest.must_be_fresh, interest.nonce);
        let hint = interest.hint_hash();
        if self.dead_nonces.contains(interest.name.hash(), nonce, now) {
            return self.refuse_loop(face, id, out);
        }
        if is_plain && self.on_plain_interest(face, id, out) {
            return;
        }
        let interest = &out.pool[id];
        // A stored Data answers it without an entry, because nothing waits for it. The store was already
        // asked for an Interest that waits.
        if self.has_stores()
            && self.pit.find_exact(&interest.name, can_be_prefix, must_be_fresh, hint).is_none()
            && let Some(stored) = self.stored(id, out)
        {
            return self.answer_from_store(face, id, stored, out);
        }
        if hint != 0 {
            self.make_room_among_hints(face, id, out);
        }
        let name = &out.pool[id].name;
        let (pit, is_new) = self.pit.find_or_insert(name, can_be_prefix, must_be_fresh, hint, now);
        let entry = self.pit.entry_mut(pit).expect("just found or inserted");
        if !is_new && is_loop(entry, nonce, face) {
            return self.refuse_loop(face, id, out);
        }
        // Either the store was not asked, or it may have the Data by now: Data requested by others do not end
        // entries with a hint.
        if !is_new
            && (entry.facts.has(Fact::PastStores) || hint != 0)
            && let Some(stored) = self.stored(id, out)
        {
            return self.answer_who_waits(pit, face, id, stored, out);
        }
        let (entry, interest) = (self.pit.entry_mut(pit).expect("just found or inserted"), &out.pool[id]);
        if is_new || entry.facts.has(Fact::PastStores) {
            entry.facts.set(Fact::PastStores, is_past_stores(interest));
        }
        if is_new {
            // The entry stays with its strategy while it lives, because a strategy that counts entries must
            // see their ends.
            entry.strategy = self.strategies.of(&interest.name);
        } else {
            give_up_downed(entry, &self.faces);
        }
        if let Some(placing) = &mut self.placing {
            placing.on_interest(pit, is_new, &mut out.pool[id], self.cs.is_on());
        }
        let group = self.guard.as_ref().map_or(GroupId::NONE, |guard| guard.group(face));
        let is_pending = entry.is_pending(now);
        if !is_pending {
            entry.class = out.pool[id].class() as u8;
        }
        let aggregated = is_pending
            && match self.reforward_after {
                None => {
                    let round_trip = self.round_trips.get(entry.prefix);
                    entry.in_record(face).is_none() && !is_overdue(entry, group, round_trip, now)
                }
                Some(after) => comes_too_soon(entry, after, now),
            };
        self.record_downstream(pit, face, id, aggregated, out);
        self.forward(pit, face, id, aggregated, out);
        self.keep_pit_bound(out);
    }

    /// Records the downstream.
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

    /// Asks the strategy for a decision about an Interest and carries it out.
    pub(super) fn forward(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        aggregated: bool,
        out: &mut Out<'_>,
    ) {
        let Some(fib) = route(&self.fib, &out.pool[id]) else {
            if aggregated {
                // It waits for the Data of another Interest, which had an earlier route.
                self.fates.aggregated += 1;
                return out.pool.free(id);
            }
            return self.refuse(pit, face, id, NackReason::NoRoute, out);
        };
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        // An Interest from a neighbour with link scope goes only to applications.
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
        let strategy = self.pit.entry(pit).expect("a live entry").strategy;
        let watched = if self.watches(strategy, fib) { fib } else { NO_ENTRY };
        let dead = self.leave_alive(watched, &mut next_hops, out.now);
        let question = self.in_question(watched, &dead, &next_hops, face, id, out);
        if out.pool[id].hint.is_some() {
            self.keep_hinted(pit, fib, id, out);
        }
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        // A group that only waits for another group's Interest does not take it over, however often it asks.
        if entry.group == group || !entry.is_pending(out.now) {
            (entry.prefix, entry.group) = (prefix, group);
        }
        entry.route = fib;
        entry.facts.set(Fact::Watched, watched != NO_ENTRY);
        leave_willing(entry, &mut next_hops);
        let interest = &mut out.pool[id];
        interest.flow = entry.flow();
        interest.pit = pit;
        if let Some(chosen) = interest.header().next_hop_face_id() {
            entry.sent_for = group;
            let decision = self.chosen_next_hop(chosen, scope);
            return self.carry_out(decision, pit, face, id, out);
        }
        let was_sent_for_others = entry.sent_for != group;
        let random = &mut self.random;
        let suppression = match self.reforward_after {
            None => self.round_trips.get(prefix).map_or(SUPPRESSION, |srtt| srtt.min(SUPPRESSION)),
            Some(_) => Span::ZERO,
        };
        let mut ev = InterestEvent {
            now: out.now,
            interest,
            pit,
            entry,
            local,
            next_hops: &next_hops,
            suppression,
            was_sent_for_others,
            random,
        };
        let strategy = self.strategies.get(strategy);
        let decision = if aggregated {
            strategy.on_aggregated(&mut ev);
            Decision::Suppress
        } else {
            strategy.on_interest(&mut ev)
        };
        if decision != Decision::Suppress {
            ev.entry.sent_for = group;
        }
        let Some(question) = question else {
            return self.carry_out(decision, pit, face, id, out);
        };
        let usable = next_hops.iter().map(|hop| hop.face).chain(dead);
        let copies = self.comparing(question, usable, &decision, id, out);
        self.carry_out(decision, pit, face, id, out);
        for (next_hop, copy) in copies {
            self.send_interest(pit, next_hop, copy, out);
        }
    }

    /// Handles NextHopFaceId (NDNLPv2): an application has chosen the next hop itself. The strategy is not
    /// asked, and the face need not be a next hop of the prefix.
    pub(super) fn chosen_next_hop(&self, face: u64, scope: Scope) -> Decision {
        let may = |face: &Face| face.kind != FaceKind::Gone && face.takes(scope);
        match usize::try_from(face).ok().filter(|&at| self.faces.get(at).is_some_and(may)) {
            Some(at) => Decision::Forward(FaceId(at as u32)),
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    /// Carries out the strategy's decision for an Interest that arrived, or came back, by `face`.
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
            Decision::Probe(next_hop, probed) => {
                let copy = self.copy_for(probed, id, out);
                self.send_interest(pit, next_hop, id, out);
                self.send_interest(pit, probed, copy, out);
            }
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
                if let Some(guard) = self.guard.as_mut().filter(|guard| guard.waiting.is_bounded()) {
                    guard.waiting.note(id, out.pool);
                }
                let entry = self.pit.entry_mut(pit).expect("a live entry");
                if let Some(earlier) = entry.held.replace(id) {
                    out.pool.free(earlier);
                }
            }
            Decision::Suppress => {
                self.fates.aggregated += 1;
                out.pool.free(id);
            }
            Decision::Nack(reason) => self.refuse(pit, face, id, reason, out),
        }
    }

    pub(super) fn send_interest(&mut self, pit: PitId, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        self.send_interest_since(pit, face, id, out.now, out);
    }

    /// Sends an Interest that has waited at this node since `since`.
    pub(super) fn send_interest_since(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        since: Time,
        out: &mut Out<'_>,
    ) {
        let interest = &mut out.pool[id];
        // With no hops left, applications on this host may still answer, but the network may not.
        if interest.hop_limit == Some(0) && !self.is_local(face) {
            if self.pit.entry(pit).is_some_and(|entry| !entry.is_pending(out.now)) {
                self.pit.put_first(pit);
            }
            return out.drop(face, id, DropReason::HopLimit);
        }
        interest.set_pit_token(pit.token());
        let longest = self.longest_lifetime(interest.arrived_on);
        let (nonce, lifetime) = (interest.nonce, interest.lifetime.min(longest));
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        entry.hop_limit = interest.hop_limit;
        self.faces[face.0 as usize].asked = true;
        self.sent_signals.keep(pit, &interest.header().signals);
        let watched = entry.watched();
        let buffers = entry.buffer_bytes();
        if let Some(earlier) = entry.note_sending(face, nonce, out.now, lifetime) {
            self.dead_nonces.add(interest.name.hash(), earlier, out.now);
        }
        if entry.out_records.len() > 1 {
            self.pit.note_out_records(pit, buffers);
        }
        self.note_asked(watched, face, lifetime, out.now);
        self.send_since(face, id, since, out);
    }
}

/// Returns whether an Interest with this nonce has already been here. A link has one other end, which may
/// repeat itself.
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

/// Returns whether an Interest of this group need not wait for what was sent for another group: it was sent
/// long ago or more than once, so it was not answered in time, and the sender may have intended this.
fn is_overdue(entry: &PitEntry, group: GroupId, round_trip: Option<Span>, now: Time) -> bool {
    let patience = round_trip.map_or(SUPPRESSION, |srtt| (srtt * 2).clamp(SUPPRESSION, MOST_PATIENCE));
    let is_late =
        entry.out_records.iter().any(|out| out.times_sent > 1) || !entry.was_sent_within(patience, now);
    entry.sent_for != group && entry.held.is_none() && is_late
}

/// Removes the next hops that have refused this Interest since it was last sent to them, unless all have.
/// They would refuse it again, and a late answer does not come from there.
fn leave_willing(entry: &PitEntry, next_hops: &mut SmallVec<[NextHop; 8]>) {
    let refused = |hop: &NextHop| entry.out_records.iter().any(|r| r.face == hop.face && r.nacked.is_some());
    if next_hops.iter().any(|hop| !refused(hop)) {
        next_hops.retain(|hop| !refused(hop));
    }
}

/// Makes the record of the downstream from which an Interest came.
pub(super) fn in_record(
    face: FaceId,
    interest: &Packet,
    aggregated: bool,
    longest: Span,
    now: Time,
) -> InRecord {
    let expires = now + interest.lifetime.min(longest);
    let record = InRecord::new(face, interest.nonce, now, expires, interest.header().pit_token);
    InRecord { aggregated, class: interest.class(), ..record }
}
