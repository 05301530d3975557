//! Deadlines, and PIT entries that end without Data.

use smallvec::SmallVec;

use super::{FIRST_LINK_TIMER, Face, Node, Out, PIT_TIMER, STRATEGY_TIMER};
use crate::ids::{FaceId, PitId};
use crate::seam::{ExpiredEvent, StrategyDeadline};
use crate::tables::pit::{Fact, PitEntry};
use crate::units::{Span, Time};

/// So many pending Interests, and routes of faces that are gone, end in a call, and the others later: else who lets half a
/// PIT expire at once, or closes a face with many routes, stops the node for as long as it takes. Assumed: about a
/// millisecond of work.
pub(super) const ENDED_AT_ONCE: usize = 1024;

/// A call looks at so many pending Interests to find those that have expired. It passes over those that are in the same slot
/// of the PIT's wheel for a later round: else a stranger with lifetimes that fill one slot stops the node in every round.
/// Assumed: about a millisecond of work too, if they are in no cache of the processor.
pub(super) const LOOKED_AT_ONCE: usize = 4096;

/// Then the node has so much time for packets. Assumed: more end in a second than can come in one.
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

    /// Ends Interests that have expired, then routes and Interests of faces that are gone.
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

    /// Sets the timer for what ends next. If the call had to stop, because `left` is 0, the node rests from ending first.
    pub(super) fn rest_from_ending(&mut self, left: usize, now: Time) {
        if left == 0 {
            self.ending_rests_until = now + REST;
        }
        let next = if self.leaving.is_empty() { self.pit.next_deadline() } else { now };
        self.pit_timer = next.max(self.ending_rests_until);
        self.deadlines.set(PIT_TIMER, self.pit_timer);
    }

    /// A face is gone: ends its routes and what it waits for, as far as so many may end. Whether those were all. Until
    /// then, no Interest leaves by the face.
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

    /// Sends a held Interest, if its entry exists and a downstream still waits for it. If all lifetimes are over, or
    /// every downstream was refused, the entry ends soon, and nobody would receive its Data.
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

    /// Forgets an entry, but not the upstreams that may still answer: all but the one that answered what it was asked
    /// once. Nor the nonces that may still be on their way: those sent to others than who answered. From a content store
    /// they would be answered, unless they ask for fresh Data.
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

    /// Takes Interests out of the PIT until it is within its bound: of the face that holds most, the oldest. Entries that
    /// other downstreams wait for stay. The downstream is not told, for a Nack would need the whole Interest, which is
    /// not kept, and send who floods as many packets as it sends.
    #[inline]
    pub(super) fn keep_pit_bound(&mut self, out: &mut Out<'_>) {
        while let Some((pit, face)) = self.pit.first_to_lose() {
            self.evicted_interests += 1;
            self.withdraw(pit, face, out);
        }
    }

    /// A downstream does not wait any longer. The entry ends with its last one.
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

/// What was sent by a face that is down now is not answered. Looked at when an entry is, so that a
/// face that goes down costs no search.
pub(super) fn give_up_downed(entry: &mut PitEntry, faces: &[Face]) {
    let is_down = |face: FaceId| !faces[face.0 as usize].up;
    for record in entry.out_records.iter_mut().filter(|r| r.times_sent > 0 && is_down(r.face)) {
        record.give_up(None);
    }
}
