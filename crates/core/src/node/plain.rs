//! The fast path of a plain node: an Interest whose name is not pending, and the Data for its only
//! downstream.
//!
//! It does the same as the general path ([`super::interest`], [`super::data`]), in the same order, where no
//! rare feature applies: no stores, no guard against strangers, one strategy, flows by FIB entry; a packet
//! without selectors, hint, scope, digest or rare header fields. It looks the PIT entry up once. A property
//! test gives the same inputs to both paths.

use super::interest::in_record;
use super::scope::Scope;
use super::store::is_past_stores;
use super::{Node, Out};
use crate::ids::{FaceId, GroupId, PitId, StrategyId};
use crate::packet::PacketId;
use crate::seam::best_route::SUPPRESSION;
use crate::seam::{Answer, DataEvent, DataOutEvent, Decision, InterestEvent};
use crate::tables::pit::Fact;

impl Node {
    /// Handles an Interest that is usual ([`Packet::is_usual`](crate::packet::Packet::is_usual)) and no loop.
    /// Returns whether it was handled.
    #[inline]
    pub(super) fn on_plain_interest(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) -> bool {
        let now = out.now;
        let (local, longest) = (self.is_local(face), self.longest_lifetime(face));
        let interest = &mut out.pool[id];
        let Some((fib, next_hops)) = self.fib.route(&interest.name) else { return false };
        let Some(prefix) = self.prefixes.own_number(fib) else { return false };
        let faces = &self.faces;
        if next_hops.iter().any(|hop| hop.face == face || !faces[hop.face.0 as usize].takes(Scope::Global)) {
            return false;
        }
        let record = in_record(face, interest, false, longest, now);
        let Some(pit) = self.pit.insert_plain(&interest.name, record, now) else { return false };
        let entry = self.pit.at(pit);
        entry.facts.set(Fact::PastStores, is_past_stores(interest));
        entry.class = record.class as u8;
        (entry.prefix, entry.group, entry.route) = (prefix, GroupId::NONE, fib);
        let was_sent_for_others = entry.sent_for != GroupId::NONE;
        (interest.flow, interest.pit) = (entry.flow(), pit);
        let mut ev = InterestEvent {
            now,
            interest,
            pit,
            entry,
            local,
            next_hops,
            suppression: self.round_trips.get(prefix).map_or(SUPPRESSION, |srtt| srtt.min(SUPPRESSION)),
            was_sent_for_others,
            random: &mut self.random,
        };
        let decision = self.strategies.get(StrategyId::default()).on_interest(&mut ev);
        if decision != Decision::Suppress {
            ev.entry.sent_for = GroupId::NONE;
        }
        match decision {
            Decision::Forward(next_hop) if ev.interest.hop_limit != Some(0) => {
                let (entry, interest) = (ev.entry, ev.interest);
                interest.set_pit_token(pit.token());
                entry.hop_limit = interest.hop_limit;
                entry.note_first_sending(next_hop, interest.nonce, now, interest.lifetime.min(longest));
                self.sent_signals.keep(pit, &interest.header().signals);
                self.faces[next_hop.0 as usize].asked = true;
                self.expect_expiry(record.expires, now);
                self.send(next_hop, id, out);
            }
            decision => {
                self.expect_expiry(record.expires, now);
                self.carry_out(decision, pit, face, id, out);
            }
        }
        self.keep_pit_bound(out);
        true
    }

    /// Handles a Data that names the only entry that it satisfies, if the entry has one downstream and one
    /// upstream. Returns whether it was handled.
    #[inline]
    pub(super) fn on_plain_data(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) -> bool {
        let now = out.now;
        let data = &mut out.pool[id];
        let Some(pit) = PitId::from_token(data.header().pit_token.bytes()) else { return false };
        let Some(entry) = self.pit.only_match(&data.name, pit) else { return false };
        let ([sent], [to]) = (&entry.out_records[..], &entry.in_records[..]) else { return false };
        let is_usual = sent.face == face
            && sent.sent >= self.faces[face.0 as usize].since
            && sent.times_sent == 1
            && to.expires >= now
            && to.face != face
            && entry.held.is_none()
            && entry.kept.is_none()
            && entry.hint() == 0;
        if !is_usual {
            return false;
        }
        let (to, flow) = (*to, entry.flow());
        let (rtt, departed) = (sent.rtt(now), sent.departed());
        (data.flow, data.pit) = (flow, pit);
        if let Some(rtt) = rtt {
            self.round_trips.sample(flow.prefix, rtt);
        }
        self.receive(face, id, rtt, departed, out);
        let local = self.is_local(face);
        let (data, random) = (&mut out.pool[id], &mut self.random);
        let strategy = self.strategies.get(StrategyId::default());
        let entry = self.pit.at(pit);
        strategy.on_data(&mut DataEvent { now, data, face, local, flow, entry, rtt, random });
        self.data_seen += 1;
        if self.is_to_be_answered(to.face) {
            let local = self.is_local(to.face);
            let (data, random) = (&mut out.pool[id], &mut self.random);
            data.set_pit_token(to.token);
            let answer = if to.aggregated { Answer::Aggregated } else { Answer::Forwarded };
            let (face, in_record) = (to.face, &to);
            let strategy = self.strategies.get(StrategyId::default());
            strategy.on_data_out(&mut DataOutEvent {
                now,
                data,
                face,
                local,
                flow,
                in_record,
                answer,
                random,
            });
            self.send(to.face, id, out);
        } else {
            out.pool.free(id);
        }
        self.pit.remove_plain(pit);
        self.satisfied += 1;
        true
    }
}
