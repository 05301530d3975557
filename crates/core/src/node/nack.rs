//! Nacks: received and sent.

use smallvec::SmallVec;
use weir_packet::{LpHeader, NackReason};

use super::expiry::give_up_downed;
use super::next_hops::route;
use super::scope::{Scope, scope_of};
use super::{FaceKind, Node, Out};
use crate::ids::{FaceId, PitId};
use crate::packet::{Kind, Packet, PacketId};
use crate::seam::{DropReason, NackEvent};
use crate::tables::fib::{NO_ENTRY, NextHop};
use crate::tables::pit::{InRecord, OutRecord};

impl Node {
    pub(super) fn on_nack(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let nack = &out.pool[id];
        let (reason, nonce) = (nack.header().nack().unwrap_or(NackReason::None), nack.nonce);
        let Some((pit, record)) = self.refused(face, nack) else {
            return out.drop(face, id, DropReason::Unsolicited);
        };
        let entry = self.pit.entry_mut(pit).expect("just found");
        let sent = entry.out_records[record].sent;
        entry.out_records[record].give_up(Some(reason));
        let watched = entry.watched();
        if let Some(guard) = self.guard.as_mut().filter(|_| watched != NO_ENTRY) {
            guard.liveness.note_answer(watched, face, sent, None);
        }
        give_up_downed(entry, &self.faces);
        let pending = entry.is_pending(out.now);
        let downstream = |f: FaceId| entry.in_records.iter().all(|r| r.face == f);
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        // Use the hint that was sent, because the neighbour must not choose other next hops. Look the route
        // up again, because it may have changed.
        let fib = match entry.kept {
            Some(kept) => route(&self.fib, &out.pool[kept]),
            None if entry.hint() != 0 => None,
            None => self.fib.lookup(entry.name()),
        };
        if let Some(fib) = fib {
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
        entry.route = fib.unwrap_or(entry.route);
        // The next hop that sent the Nack is alive, so dead ones are not tried.
        if let (Some(fib), Some(guard)) = (fib.filter(|_| watched != NO_ENTRY), &mut self.guard) {
            let dead = guard.liveness.leave_alive(fib, &mut next_hops, out.now);
            next_hops.retain(|hop| !dead.contains(&hop.face));
        }
        let random = &mut self.random;
        let mut ev = NackEvent { now: out.now, reason, face, pit, entry, next_hops: &next_hops, random };
        let decision = self.strategies.get(ev.entry.strategy).on_nack(&mut ev);
        if pending {
            return out.pool.free(id);
        }
        // Send the Interest again as it was sent: the neighbour has lowered its hop limit, and the signals in
        // the Nack are the neighbour's.
        let id = match entry.kept {
            Some(kept) => {
                out.pool.free(id);
                let copy = out.pool.duplicate(kept);
                out.pool[copy].nonce = nonce;
                copy
            }
            None => id,
        };
        let interest = &mut out.pool[id];
        interest.kind = Kind::Interest;
        interest.hop_limit = interest.hop_limit.and(entry.hop_limit);
        *interest.header_mut() = LpHeader::NONE;
        interest.pit = pit;
        interest.flow = entry.flow();
        interest.header_mut().signals = self.sent_signals.of(pit);
        self.carry_out(decision, pit, face, id, out);
    }

    /// The entry and the out-record that a Nack is for: those of its Interest's hint, or of any hint if the
    /// Interest has none. A neighbour in the producer's region may remove the hint before it refuses an
    /// Interest.
    fn refused(&self, face: FaceId, nack: &Packet) -> Option<(PitId, usize)> {
        let (hint, since) = (nack.hint_hash(), self.faces[face.0 as usize].since);
        let is_refused = |r: &OutRecord| r.face == face && r.nonce == nack.nonce && r.sent >= since;
        let mut found = None;
        for (pit, entry) in self.pit.of_name(&nack.name) {
            let is_same = entry.hint() == hint;
            let has_selectors =
                entry.can_be_prefix() == nack.can_be_prefix && entry.must_be_fresh() == nack.must_be_fresh;
            if has_selectors
                && (is_same || hint == 0)
                && let Some(record) = entry.out_records.iter().position(is_refused)
            {
                if is_same {
                    return Some((pit, record));
                }
                found = found.or(Some((pit, record)));
            }
        }
        found
    }

    /// Sends a looping Interest back to a neighbour, so that it need not wait. An application does not loop.
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

    /// Handles an Interest of a downstream that cannot be forwarded. If Data may still come for another
    /// downstream, only this one is told.
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

    /// Tells every downstream of an entry that no Data will come, and removes the entry.
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
