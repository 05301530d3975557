//! The segments of a flow between the oldest that is missing and the newest that was asked for.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Time;

/// A segment that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub state: State,
    pub first_sent: Time,
    /// When its Interest was sent last.
    pub sent: Time,
    pub times_sent: u32,
    /// The flow control's, of its last sending.
    pub tag: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Lost,
    Done,
}

/// A ring of segments from the oldest missing one on; everything before it is done.
#[derive(Debug, Default)]
pub(super) struct Segments {
    ring: VecDeque<Segment>,
    base: u64,
    pending: u32,
    /// Segments to send again, smallest first. Those whose Data came late stay until they are the
    /// first; the first is lost indeed.
    lost: BinaryHeap<Reverse<u64>>,
}

impl Segments {
    /// Starts at this segment; no segment has been requested yet.
    pub fn new(first: u64) -> Segments {
        Segments { base: first, ..Segments::default() }
    }

    /// The oldest missing one.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The one after the newest that was asked for.
    pub fn next(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// Pending Interests.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// The number of lost segments, including some whose Data came later.
    pub fn lost(&self) -> usize {
        self.lost.len()
    }

    pub fn has_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    pub fn oldest(&self) -> Option<&Segment> {
        self.ring.front()
    }

    pub fn get(&self, number: u64) -> Option<&Segment> {
        self.ring.get(number.checked_sub(self.base)? as usize)
    }

    /// Which Interest leaves next, and whether it was sent before: the smallest that is lost, or a new one.
    pub fn take_next(&mut self) -> (u64, bool) {
        match self.lost.pop() {
            Some(Reverse(number)) => (number, true),
            None => (self.next(), false),
        }
    }

    /// Its Interest is sent, the first or another. Says how often that was.
    pub fn send(&mut self, number: u64, now: Time, tag: u32) -> u32 {
        let index = (number - self.base) as usize;
        if index == self.ring.len() {
            let first = Segment { state: State::Pending, first_sent: now, sent: now, times_sent: 1, tag };
            self.ring.push_back(first);
        } else {
            let known = &mut self.ring[index];
            *known =
                Segment { state: State::Pending, sent: now, times_sent: known.times_sent + 1, tag, ..*known };
        }
        self.pending += 1;
        let times_sent = self.ring[index].times_sent;
        self.forget_found();
        times_sent
    }

    /// Its Data came: the segment as it was before. `None` if nothing was waiting for it.
    pub fn finish(&mut self, number: u64) -> Option<Segment> {
        let index = number.checked_sub(self.base)? as usize;
        let segment = self.ring.get_mut(index).filter(|segment| segment.state != State::Done)?;
        let before = *segment;
        segment.state = State::Done;
        if before.state == State::Lost {
            self.forget_found();
        } else {
            self.pending -= 1;
        }
        while self.ring.front().is_some_and(|segment| segment.state == State::Done) {
            self.ring.pop_front();
            self.base += 1;
        }
        Some(before)
    }

    /// Turns a pending segment into a lost one, and answers its tag; `None` if it is not pending.
    pub fn lose(&mut self, number: u64) -> Option<u32> {
        let index = number.checked_sub(self.base)? as usize;
        let segment = self.ring.get_mut(index).filter(|segment| segment.state == State::Pending)?;
        segment.state = State::Lost;
        self.pending -= 1;
        self.lost.push(Reverse(number));
        Some(segment.tag)
    }

    /// Forgets those from `end` on.
    pub fn truncate(&mut self, end: u64) {
        while !self.ring.is_empty() && self.next() > end {
            let beyond = self.ring.pop_back();
            self.pending -= u32::from(beyond.is_some_and(|segment| segment.state == State::Pending));
        }
        self.forget_found();
    }

    /// Whether the Interest that was sent then is pending.
    pub fn is_pending(&self, (number, sent): &(u64, Time)) -> bool {
        self.get(*number).is_some_and(|segment| segment.state == State::Pending && segment.sent == *sent)
    }

    /// Removes segments whose Data came later from the front of the lost ones.
    fn forget_found(&mut self) {
        while let Some(&Reverse(number)) = self.lost.peek() {
            if self.get(number).is_some_and(|segment| segment.state == State::Lost) {
                break;
            }
            self.lost.pop();
        }
    }
}
