//! The timers of the engine.

use std::collections::BTreeSet;

use weir_core::units::{Span, Time};

use crate::face::FaceSlot;

/// Interval of sweeps, which close idle faces and discard incomplete packets.
pub(super) const SWEEP: Span = Span::from_secs(5);
/// Interval of writes to capture and recording: this much of them is lost if the process is killed.
const FLUSH: Span = Span::from_secs(1);

/// Deadlines of the engine and of its faces.
#[derive(Debug)]
pub(super) struct Timers {
    next_sweep: Time,
    /// Next write; [`Time::NEVER`] without capture and recording.
    next_flush: Time,
    /// Faces with their own deadlines, for link reliability or a new connection.
    faces: BTreeSet<(Time, FaceSlot)>,
    /// The entry of each slot in `faces`; [`Time::NEVER`] without one.
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

    /// Sets a face's deadline. An earlier entry stays: then the face's deadline is checked again.
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

    /// Removes the deadline of a closed face.
    pub(super) fn forget_face(&mut self, slot: FaceSlot) {
        let due = core::mem::replace(self.noted(slot), Time::NEVER);
        self.faces.remove(&(due, slot));
    }

    /// Removes and returns the next face whose deadline has passed.
    pub(super) fn next_due_face(&mut self, now: Time) -> Option<FaceSlot> {
        let (_, slot) = self.faces.first().copied().filter(|(due, _)| *due <= now)?;
        self.forget_face(slot);
        Some(slot)
    }

    /// Whether a sweep is due. If so, schedules the next one.
    pub(super) fn is_sweep_due(&mut self, now: Time) -> bool {
        is_due(&mut self.next_sweep, now, SWEEP)
    }

    /// Whether a write of capture and recording is due. If so, schedules the next one.
    pub(super) fn is_flush_due(&mut self, now: Time) -> bool {
        is_due(&mut self.next_flush, now, FLUSH)
    }

    /// Starts the writes of capture and recording.
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
