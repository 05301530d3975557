//! The timers of the engine.

use std::collections::BTreeSet;

use weir_core::units::{Span, Time};

use crate::face::FaceSlot;

/// How often idle faces, and packets that are not complete, are looked for.
pub(super) const SWEEP: Span = Span::from_secs(5);
/// How often capture and recording are written: so much of them is lost when the process is killed.
const FLUSH: Span = Span::from_secs(1);

/// Deadlines of the engine and of its faces.
#[derive(Debug)]
pub(super) struct Timers {
    next_sweep: Time,
    /// [`Time::NEVER`] without capture and recording.
    next_flush: Time,
    /// Faces with deadlines of their own, for link reliability or to be connected again.
    faces: BTreeSet<(Time, FaceSlot)>,
    /// The deadline in `faces` of each slot; [`Time::NEVER`] where it has none.
    noted: Vec<Time>,
}

impl Timers {
    pub(super) fn new(now: Time) -> Timers {
        Timers { next_sweep: now + SWEEP, next_flush: Time::NEVER, faces: BTreeSet::new(), noted: Vec::new() }
    }

    pub(super) fn next(&self) -> Time {
        let face = self.faces.first().map_or(Time::NEVER, |&(due, _)| due);
        self.next_sweep.min(self.next_flush).min(face)
    }

    /// Takes note of when a face wants to be called. What was noted before and comes earlier stays: then the face
    /// is asked again.
    #[inline]
    pub(super) fn note_face(&mut self, slot: FaceSlot, due: Time) {
        let noted = self.noted(slot);
        let before = *noted;
        if due < before {
            *noted = due;
            self.faces.remove(&(before, slot));
            self.faces.insert((due, slot));
        }
    }

    /// Takes out the deadline of a face that is closed.
    pub(super) fn forget_face(&mut self, slot: FaceSlot) {
        let due = core::mem::replace(self.noted(slot), Time::NEVER);
        self.faces.remove(&(due, slot));
    }

    /// The next face whose deadline has come; it is noted no more.
    pub(super) fn next_due_face(&mut self, now: Time) -> Option<FaceSlot> {
        let (_, slot) = self.faces.first().copied().filter(|(due, _)| *due <= now)?;
        self.forget_face(slot);
        Some(slot)
    }

    /// Whether it is time to sweep; then the next sweep is a while away.
    pub(super) fn is_sweep_due(&mut self, now: Time) -> bool {
        is_due(&mut self.next_sweep, now, SWEEP)
    }

    /// Whether capture and recording are to be written; then the next time is a while away.
    pub(super) fn is_flush_due(&mut self, now: Time) -> bool {
        is_due(&mut self.next_flush, now, FLUSH)
    }

    /// There is a capture or a recording from now on.
    pub(super) fn begin_flushing(&mut self, now: Time) {
        self.next_flush = now;
    }

    #[inline]
    fn noted(&mut self, slot: FaceSlot) -> &mut Time {
        let at = slot as usize;
        if at >= self.noted.len() {
            self.noted.resize(at + 1, Time::NEVER);
        }
        &mut self.noted[at]
    }

    #[cfg(test)]
    pub(super) fn faces(&self) -> Vec<(Time, FaceSlot)> {
        self.faces.iter().copied().collect()
    }
}

fn is_due(next: &mut Time, now: Time, every: Span) -> bool {
    let is_due = now >= *next;
    if is_due {
        *next = now + every;
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn the_earliest_deadline_of_a_face_stays_until_it_has_come() {
        let mut timers = Timers::new(at(0));
        timers.note_face(3, at(4));
        timers.note_face(3, at(2));
        timers.note_face(3, at(3));
        timers.note_face(1, Time::NEVER);
        assert_eq!(timers.faces(), [(at(2), 3)]);
        assert_eq!((timers.next(), timers.next_due_face(at(1))), (at(2), None));
        assert_eq!((timers.next_due_face(at(2)), timers.next_due_face(at(9))), (Some(3), None));
        timers.note_face(3, at(3));
        timers.forget_face(3);
        timers.note_face(3, at(4));
        assert_eq!(timers.faces(), [(at(4), 3)], "the next face in the slot has its own");
    }

    #[test]
    fn files_are_written_only_where_there_are_some() {
        let mut timers = Timers::new(at(0));
        assert!(!timers.is_flush_due(at(100)) && timers.is_sweep_due(at(100)));
        timers.begin_flushing(at(100));
        assert!(timers.is_flush_due(at(100)) && !timers.is_flush_due(at(100)));
        assert_eq!(timers.next(), at(101));
    }
}
