//! Nacks: those that come back, and those that are sent.

use smallvec::SmallVec;
use weir_packet::{LpHeader, NackReason};

use super::expiry::give_up_downed;
use super::scope::{Scope, scope_of};
use super::{FaceKind, Forwarder, Out};
use crate::ids::{FaceId, PitId};
use crate::packet::{Kind, PacketId};
use crate::seam::{DropReason, NackEvent};
use crate::tables::fib::NextHop;
use crate::tables::pit::InRecord;

impl Forwarder {
    pub(super) fn on_nack(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let nack = &out.pool[id];
        let reason = nack.header().nack().unwrap_or(NackReason::None);
        let found = self.pit.find_exact(&nack.name, nack.can_be_prefix, nack.must_be_fresh);
        let Some(pit) = found else {
            return out.drop(face, id, DropReason::Unsolicited);
        };
        let nonce = nack.nonce;
        let entry = self.pit.entry_mut(pit).expect("just found");
        let Some(record) = entry.out_records.iter_mut().find(|r| r.face == face && r.nonce == nonce) else {
            return out.drop(face, id, DropReason::Unsolicited);
        };
        record.give_up(Some(reason));
        give_up_downed(entry, &self.faces);
        let pending = entry.is_pending(out.now);
        let downstream = |f: FaceId| entry.in_records.iter().all(|r| r.face == f);
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        if let Some(fib) = self.fib.lookup(entry.name()) {
            let is_ours =
                entry.in_records.iter().any(|r| self.faces[r.face.0 as usize].kind == FaceKind::Application);
            let scope = match scope_of(entry.name()) {
                Scope::Hop if is_ours => Scope::Global,
                scope => scope,
            };
            for hop in self.fib.next_hops(fib) {
                let tried = entry.out_records.iter().any(|r| r.face == hop.face);
                if !tried && !downstream(hop.face) && self.faces[hop.face.0 as usize].takes(scope) {
                    next_hops.push(*hop);
                }
            }
        }
        let random = &mut self.random;
        let mut ev = NackEvent { now: out.now, reason, face, pit, entry, next_hops: &next_hops, random };
        let decision = self.strategies.get(ev.entry.strategy).on_nack(&mut ev);
        if pending {
            return out.pool.free(id);
        }
        // The Interest again as it was sent: the neighbour has lowered its hop limit, and the signals
        // that the Nack has are the neighbour's.
        let interest = &mut out.pool[id];
        interest.kind = Kind::Interest;
        interest.hop_limit = interest.hop_limit.and(entry.hop_limit);
        *interest.header_mut() = LpHeader::NONE;
        interest.pit = pit;
        interest.flow = entry.flow();
        interest.header_mut().signals = self.sent_signals.of(pit);
        self.carry_out(decision, pit, face, id, out);
    }

    /// A looping Interest goes back to a neighbour, so that it need not wait; an application does
    /// not loop.
    pub(super) fn refuse_loop(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        match self.faces[face.0 as usize].kind {
            FaceKind::Application => out.drop(face, id, DropReason::Loop),
            FaceKind::Gone => out.pool.free(id),
            FaceKind::Link(_) => {
                self.set_flow(id, out);
                let nack = &mut out.pool[id];
                let pit_token = nack.header().pit_token;
                nack.make_nack(NackReason::Duplicate);
                nack.header_mut().pit_token = pit_token;
                self.send(face, id, out);
            }
        }
    }

    /// There is no way on for the Interest of a downstream. While Data may come for another, only
    /// this downstream is told.
    pub(super) fn refuse(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        reason: NackReason,
        out: &mut Out<'_>,
    ) {
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        if !entry.is_pending(out.now) {
            return self.reject(pit, id, reason, out);
        }
        match self.pit.remove_in_record(pit, face) {
            Some(record) => self.send_nack(pit, id, &record, reason, out),
            None => out.pool.free(id),
        }
    }

    /// Tells every downstream of an entry that there will be no Data, and forgets the entry.
    pub(super) fn reject(&mut self, pit: PitId, id: PacketId, reason: NackReason, out: &mut Out<'_>) {
        let mut index = 0;
        while let Some(record) = self.pit.entry(pit).and_then(|e| e.in_records.get(index).copied()) {
            index += 1;
            if record.expires >= out.now {
                let nack = out.pool.duplicate(id);
                self.send_nack(pit, nack, &record, reason, out);
            }
        }
        out.pool.free(id);
        self.end_unsatisfied(pit, out);
    }

    /// Sends an Interest back to a downstream as a Nack.
    pub(super) fn send_nack(
        &mut self,
        pit: PitId,
        id: PacketId,
        to: &InRecord,
        reason: NackReason,
        out: &mut Out<'_>,
    ) {
        let entry = self.pit.entry(pit).expect("a live entry");
        let nack = &mut out.pool[id];
        nack.flow = entry.flow();
        nack.make_nack(reason);
        nack.nonce = to.nonce;
        nack.header_mut().pit_token = to.token;
        self.send(to.face, id, out);
    }
}
