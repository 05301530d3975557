//! Deadlines, and PIT entries that end without Data.

use smallvec::SmallVec;

use super::{FIRST_LINK_TIMER, Face, Node, Out, PIT_TIMER, STRATEGY_TIMER};
use crate::ids::{FaceId, PitId};
use crate::seam::{ExpiredEvent, StrategyDeadline};
use crate::tables::pit::{Fact, PitEntry};
use crate::units::{Span, Time};

/// Largest number of pending Interests and of routes of removed faces that end in one call; the others end
/// later. Without this bound, a neighbour that lets half a PIT expire at once, or the removal of a face with
/// many routes, would block the node. Assumed: about a millisecond of work.
pub(super) const ENDED_AT_ONCE: usize = 1024;

/// Largest number of pending Interests that one call examines to find expired ones. Some Interests are in the
/// same slot of the PIT's wheel but belong to a later round, and are skipped. Without this bound, a stranger
/// whose lifetimes fill one slot would block the node in every round. Assumed: about a millisecond of work,
/// even if no Interest is in the processor's cache.
pub(super) const LOOKED_AT_ONCE: usize = 4096;

/// Time that the node then reserves for packets. Assumed: more Interests can end in a second than can arrive
/// in one.
const REST: Span = Span::from_millis(1);

impl Node {
    pub(super) fn on_deadline(&mut self, out: &mut Out<'_>) {
        while let Some((at, timer)) = self.deadlines.next_id() {
            if at > out.now {
                break;
            }
            match timer {
                PIT_TIMER => self.expire(out),
                STRATEGY_TIMER => self.strategy_deadline(out),
                link => {
                    let link = link - FIRST_LINK_TIMER;
                    self.links[link as usize].link.on_deadline(out.now);
                    self.serve(link, out);
                }
            }
        }
    }

    /// Ends expired Interests, then routes and Interests of removed faces.
    fn expire(&mut self, out: &mut Out<'_>) {
        let (mut left, mut looks) = (ENDED_AT_ONCE, LOOKED_AT_ONCE);
        while left > 0
            && let Some(pit) = self.pit.pop_expired(out.now, &mut looks)
        {
            self.expire_entry(pit, out);
            left -= 1;
        }
        while left > 0
            && let Some(&face) = self.leaving.front()
        {
            if self.end_for(face, &mut left, out) {
                self.leaving.pop_front();
                self.rest_number(face, out.now);
            }
        }
        self.rest_from_ending(left.min(looks), out.now);
    }

    /// Sets the timer for the next end of an entry. If the call had to stop because `left` is 0, the node
    /// first rests.
    pub(super) fn rest_from_ending(&mut self, left: usize, now: Time) {
        if left == 0 {
            self.ending_rests_until = now + REST;
        }
        let next = if self.leaving.is_empty() { self.pit.next_deadline() } else { now };
        self.pit_timer = next.max(self.ending_rests_until);
        self.deadlines.set(PIT_TIMER, self.pit_timer);
    }

    /// Ends the routes and the pending Interests of a removed face, up to the number `left`. Returns whether
    /// all have ended. Until then no Interest leaves by the face.
    pub(super) fn end_for(&mut self, face: FaceId, left: &mut usize, out: &mut Out<'_>) -> bool {
        *left -= self.remove_routes_of(face, *left, out);
        while *left > 0
            && let Some(pit) = self.pit.oldest_of(face)
        {
            self.withdraw(pit, face, out);
            *left -= 1;
        }
        !self.fib.has_routes_of(face) && self.pit.oldest_of(face).is_none()
    }

    pub(super) fn expire_entry(&mut self, pit: PitId, out: &mut Out<'_>) {
        let is_answered = self
            .pit
            .entry(pit)
            .is_some_and(|entry| entry.facts.has(Fact::Answered) && entry.in_records.is_empty());
        *(if is_answered { &mut self.satisfied } else { &mut self.unsatisfied }) += 1;
        if let Some(entry) = self.pit.entry(pit).filter(|entry| !is_answered && entry.expires() <= out.now) {
            for record in &entry.out_records {
                self.expired.add(entry.name().hash(), record.face, out.now);
            }
        }
        self.end_unsatisfied(pit, out);
    }

    pub(super) fn end_unsatisfied(&mut self, pit: PitId, out: &mut Out<'_>) {
        let entry = self.pit.entry(pit).expect("a live entry");
        self.strategies.get(entry.strategy).on_expired(&mut ExpiredEvent { now: out.now, entry });
        self.forget(pit, None, out);
    }

    pub(super) fn strategy_deadline(&mut self, out: &mut Out<'_>) {
        let mut releases = SmallVec::new();
        let random = &mut self.random;
        for strategy in self.strategies.each().filter(|strategy| strategy.next_deadline() <= out.now) {
            strategy.on_deadline(&mut StrategyDeadline { now: out.now, releases: &mut releases, random });
        }
        for (pit, face) in releases {
            self.release(pit, face, out);
        }
        self.strategy_rests_until = out.now + Span::from_nanos(1);
        self.set_strategy_timer();
    }

    /// Sends a held Interest if its entry exists and a downstream still waits for it. If all lifetimes are
    /// over, or every downstream was refused, the entry ends soon and its Data would have no receiver.
    fn release(&mut self, pit: PitId, face: FaceId, out: &mut Out<'_>) {
        let Some(entry) = self.pit.entry_mut(pit) else { return };
        let Some(id) = entry.held.take() else { return };
        if entry.in_records.iter().any(|record| record.expires > out.now) {
            let since = out.pool[id].queued_at;
            self.send_interest_since(pit, face, id, since, out);
        } else {
            out.pool.free(id);
        }
    }

    /// Removes an entry, but remembers the upstreams that may still answer: all except the one that was asked
    /// once and has answered. It also remembers the nonces that may still be on their way: those sent to
    /// other next hops than the one that answered. If the node has a content store, such Interests would be
    /// answered from it, unless they ask for fresh Data.
    pub(super) fn forget(&mut self, pit: PitId, answered_by: Option<FaceId>, out: &mut Out<'_>) {
        if self.pit.entry(pit).is_some_and(|entry| entry.hint() != 0) {
            self.note_hinted_end(pit, answered_by, out.now);
        }
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        for packet in [entry.held.take(), entry.kept.take()].into_iter().flatten() {
            out.pool.free(packet);
        }
        for record in &entry.out_records {
            if Some(record.face) != answered_by || record.times_sent > 1 {
                self.asked.add(entry.asked_for(), record.face, out.now);
            }
        }
        if answered_by.is_none() || entry.must_be_fresh() || !self.cs.is_on() {
            for record in entry.out_records.iter().filter(|record| Some(record.face) != answered_by) {
                self.dead_nonces.add(entry.name().hash(), record.nonce, out.now);
            }
        }
        self.pit.remove(pit);
    }

    /// Removes Interests from the PIT until it is within its bound: the oldest Interest of the face that
    /// holds most. Entries that other downstreams wait for stay. The downstream gets no Nack: a Nack needs
    /// the whole Interest, which is not stored, and would send as many packets to an attacker as it sends.
    #[inline]
    pub(super) fn keep_pit_bound(&mut self, out: &mut Out<'_>) {
        while let Some((pit, face)) = self.pit.first_to_lose() {
            self.evicted_interests += 1;
            self.withdraw(pit, face, out);
        }
    }

    /// Removes a downstream from an entry. The entry ends with its last downstream.
    #[cold]
    pub(super) fn withdraw(&mut self, pit: PitId, face: FaceId, out: &mut Out<'_>) {
        let others = |entry: &PitEntry| entry.in_records.iter().any(|record| record.face != face);
        if self.pit.entry(pit).is_some_and(others) {
            self.pit.remove_in_record(pit, face);
        } else {
            self.expire_entry(pit, out);
        }
    }
}

/// Gives up Interests that were sent by a face that is now down. This is checked when an entry is used, so
/// that a face that goes down needs no search.
pub(super) fn give_up_downed(entry: &mut PitEntry, faces: &[Face]) {
    let is_down = |face: FaceId| !faces[face.0 as usize].up;
    for record in entry.out_records.iter_mut().filter(|r| r.times_sent > 0 && is_down(r.face)) {
        record.give_up(None);
    }
}
