//! The next hops for an Interest: those of its FIB entry that answer (`guard/liveness.rs`).

use smallvec::SmallVec;

use super::guard::NextHopChange;
use super::guard::liveness::{Downstream, Faces, Question};
use super::scope::{Scope, scope_of};
use super::{Node, Out};
use crate::ids::{FaceId, PitId, StrategyId};
use crate::name::HashedName;
use crate::packet::{Packet, PacketId};
use crate::seam::Decision;
use crate::tables::fib::{Fib, FibId, NO_ENTRY, NextHop};
use crate::units::{Span, Time};

/// The FIB entry by which an Interest is forwarded: the entry of its name, or with a forwarding hint, the
/// entry of the first delegation that has one, as in NFD. A delegation in the scope of a host or a link is
/// ignored.
pub(super) fn route(fib: &Fib, interest: &Packet) -> Option<FibId> {
    let is_global = |delegation: &&HashedName| scope_of(delegation) == Scope::Global;
    match &interest.hint {
        None => fib.lookup(&interest.name),
        Some(hint) => hint.iter().filter(is_global).find_map(|delegation| fib.lookup(delegation)),
    }
}

impl Node {
    /// Returns whether a next hop was left because it answers nothing and another one does. Strategies do not
    /// see it until it answers a comparison. It is used if there is no other next hop that is up and was not
    /// left.
    pub fn is_silent(&self, prefix: FibId, next_hop: FaceId) -> bool {
        let Some(guard) = &self.guard else { return false };
        let has_left = |face| guard.liveness.has_left(prefix, face);
        let is_used = |hop: &NextHop| self.faces[hop.face.0 as usize].up && !has_left(hop.face);
        has_left(next_hop) && self.fib.next_hops(prefix).iter().any(is_used)
    }

    /// Takes the oldest waiting change: a next hop was left, or is used again. If the changes are not taken,
    /// only the first ones are kept; [`Node::next_hops_left_and_back`] counts all. Changes of removed next
    /// hops are discarded.
    pub fn take_next_hop_change(&mut self) -> Option<NextHopChange> {
        self.guard.as_mut()?.liveness.take_change()
    }

    /// Number of times that a next hop was left because it answers nothing and another one does, and number
    /// of times that a left one was used again.
    pub fn next_hops_left_and_back(&self) -> (u64, u64) {
        self.guard.as_ref().map_or((0, 0), |guard| guard.liveness.left_and_back())
    }

    /// Returns whether the next hops of a prefix are watched: only if the strategy has a choice and makes it.
    #[inline]
    pub(super) fn watches(&mut self, strategy: StrategyId, prefix: FibId) -> bool {
        self.guard.as_ref().is_some_and(|guard| guard.liveness.is_on())
            && self.fib.next_hops(prefix).len() > 1
            && !self.strategies.get(strategy).asks_all()
    }

    /// Removes dead next hops, unless all are dead. Returns the removed ones.
    #[inline]
    pub(super) fn leave_alive(
        &mut self,
        watched: FibId,
        next_hops: &mut SmallVec<[NextHop; 8]>,
        now: Time,
    ) -> Faces {
        match &mut self.guard {
            Some(guard) if watched != NO_ENTRY => guard.liveness.leave_alive(watched, next_hops, now),
            _ => Faces::new(),
        }
    }

    /// The next hop to compare with others by an Interest, if there is one.
    #[inline]
    pub(super) fn in_question(
        &mut self,
        watched: FibId,
        dead: &[FaceId],
        next_hops: &[NextHop],
        from: FaceId,
        id: PacketId,
        out: &Out<'_>,
    ) -> Option<Question> {
        if watched == NO_ENTRY {
            return None;
        }
        let by = Downstream::new(from, self.group(from));
        let usable = dead.iter().copied().chain(next_hops.iter().map(|hop| hop.face));
        self.guard.as_mut()?.liveness.in_question(watched, usable, by, out.pool[id].lifetime, out.now)
    }

    /// Notes that a next hop of a watched prefix is asked. Other faces, which an application may choose, are
    /// ignored.
    #[inline]
    pub(super) fn note_asked(&mut self, watched: FibId, face: FaceId, lifetime: Span, now: Time) {
        if watched != NO_ENTRY
            && let Some(guard) = &mut self.guard
            && is_next_hop(&self.fib, watched, face)
        {
            guard.liveness.note_sending(watched, face, lifetime, now);
        }
    }

    /// Notes that a Data of a face satisfies an entry: this next hop has answered, and the others that were
    /// asked have not.
    #[inline]
    pub(super) fn note_answered(&mut self, pit: PitId, face: FaceId, rtt: Option<Span>, now: Time) {
        let entry = self.pit.entry(pit).expect("a live entry");
        let watched = entry.watched();
        let Some(guard) = self.guard.as_mut().filter(|_| watched != NO_ENTRY) else { return };
        // An upstream that was asked for an earlier entry of the name answers now.
        let sent =
            entry.out_records.iter().find(|record| record.face == face).map_or(now, |record| record.sent);
        guard.liveness.note_answer(watched, face, sent, rtt);
        if entry.out_records.len() > 1 && is_next_hop(&self.fib, watched, face) {
            let missed = entry.out_records.iter().filter(|r| r.face != face && r.times_sent > 0);
            missed.for_each(|record| guard.liveness.note_missed(watched, record.face, record.sent, now));
        }
    }

    /// Makes the copies of an Interest that compare next hops, if one is in question. Send them after the
    /// Interest.
    #[cold]
    pub(super) fn comparing(
        &mut self,
        question: Question,
        next_hops: impl IntoIterator<Item = FaceId>,
        decision: &Decision,
        id: PacketId,
        out: &mut Out<'_>,
    ) -> SmallVec<[(FaceId, PacketId); 4]> {
        let chosen: Faces = match decision {
            Decision::Forward(face) => [*face].into_iter().collect(),
            Decision::Probe(face, probed) => [*face, *probed].into_iter().collect(),
            Decision::Multicast(faces) if !faces.is_empty() => faces.clone(),
            // The Interest is sent later, or it has been sent.
            Decision::Hold => Faces::new(),
            Decision::Multicast(_) | Decision::Suppress | Decision::Nack(_) => return SmallVec::new(),
        };
        let name = &out.pool[id].name;
        let Some(guard) = &mut self.guard else { return SmallVec::new() };
        let asked = guard.liveness.compare(question, &chosen, next_hops, name, out.now);
        asked.into_iter().map(|face| (face, self.copy_for(face, id, out))).collect()
    }

    /// Copies an Interest with a new nonce. If two next hops lead to the same node, the second copy to arrive
    /// is then no loop. The nonce derives from the Interest's nonce, the time and the node's random stream,
    /// so a replay gives the same nonce.
    pub(super) fn copy_for(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) -> PacketId {
        let copy = out.pool.duplicate(id);
        let nonce = &mut out.pool[copy].nonce;
        let among = u64::from(*nonce) << 32 | u64::from(face.0);
        *nonce = self.nonces_of_copies.hash(among, &out.now.as_nanos().to_le_bytes()) as u32;
        copy
    }

    /// Notes that an entry with a hint ends: its next hops that have not answered may answer later.
    #[cold]
    pub(super) fn note_hinted_end(&mut self, pit: PitId, answered_by: Option<FaceId>, now: Time) {
        let entry = self.pit.entry(pit).expect("a live entry");
        let watched = entry.watched();
        let Some(guard) = self.guard.as_mut().filter(|_| watched != NO_ENTRY) else { return };
        let first = entry.in_records.first();
        let by = first.map(|record| Downstream::new(record.face, guard.group(record.face)));
        // A next hop that has refused it, or was not sent it, does not answer it.
        let asked = entry.out_records.iter().filter(|r| Some(r.face) != answered_by && r.times_sent > 0);
        for record in asked {
            let hop = (watched, record.face);
            guard.liveness.note_unanswered(hop, entry.name(), by, record.sent, now);
        }
    }

    /// Handles a Data that satisfies no entry: it still counts as an answer if its face was asked.
    pub(super) fn on_late_data(&mut self, face: FaceId, id: PacketId, out: &Out<'_>) {
        let name = &out.pool[id].name;
        let Some(guard) = self.guard.as_mut().filter(|guard| guard.liveness.is_on()) else { return };
        if guard.liveness.note_late_answer(name, face, out.now) {
            return;
        }
        if self.asked.contains(name.hash(), face, out.now)
            && let Some(prefix) = self.fib.lookup(name)
        {
            guard.liveness.note_answer(prefix, face, out.now, None);
        }
    }
}

pub(super) fn is_next_hop(fib: &Fib, prefix: FibId, face: FaceId) -> bool {
    fib.next_hops(prefix).iter().any(|hop| hop.face == face)
}
