//! Deadlines, and PIT entries that end without Data.

use smallvec::SmallVec;

use super::{FIRST_LINK_TIMER, Face, Forwarder, Out, PIT_TIMER, STRATEGY_TIMER};
use crate::ids::{FaceId, PitId};
use crate::seam::{ExpiredEvent, StrategyDeadline};
use crate::tables::pit::PitEntry;
use crate::units::Span;

impl Forwarder {
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

    pub(super) fn expire(&mut self, out: &mut Out<'_>) {
        while let Some(pit) = self.pit.pop_expired(out.now) {
            self.expire_entry(pit, out);
        }
        self.pit_timer = self.pit.next_deadline();
        self.deadlines.set(PIT_TIMER, self.pit_timer);
    }

    pub(super) fn expire_entry(&mut self, pit: PitId, out: &mut Out<'_>) {
        self.unsatisfied += 1;
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
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        if let Some(held) = entry.held.take() {
            out.pool.free(held);
        }
        for record in &entry.out_records {
            if Some(record.face) != answered_by || record.times_sent > 1 {
                self.asked.add(entry.name().hash(), record.face, out.now);
            }
        }
        if answered_by.is_none() || entry.must_be_fresh() || !self.cs.is_on() {
            for record in entry.out_records.iter().filter(|record| Some(record.face) != answered_by) {
                self.dead_nonces.add(entry.name().hash(), record.nonce, out.now);
            }
        }
        self.pit.remove(pit);
    }

    pub(super) fn note_unsent(&mut self, pit: PitId) {
        while self.unsent.front().is_some_and(|&oldest| self.pit.entry(oldest).is_none()) {
            self.unsent.pop_front();
        }
        // More than entries there cannot be, but the same one may be there twice.
        if self.unsent.len() > self.pit.len() {
            self.unsent.pop_front();
        }
        self.unsent.push_back(pit);
    }

    /// In a full PIT, ends an entry whose Interest did not leave: nothing answers it, and a flood of such would
    /// keep out everybody else. Says whether there was one.
    pub(super) fn make_room(&mut self, out: &mut Out<'_>) -> bool {
        while let Some(pit) = self.unsent.pop_front() {
            if self.pit.entry(pit).is_some_and(|entry| !entry.is_pending(out.now)) {
                self.expire_entry(pit, out);
                return true;
            }
        }
        false
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
