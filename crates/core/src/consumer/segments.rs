//! The segments of a flow between the oldest missing one and the newest requested one.

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Time;

/// A requested segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub state: State,
    pub first_sent: Time,
    /// When its Interest was last sent.
    pub sent: Time,
    pub times_sent: u32,
    /// Tag that the flow control gave to its last sending.
    pub tag: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Pending,
    Lost,
    Done,
}

/// A ring of segments from the oldest missing one on. All earlier segments have arrived.
#[derive(Debug, Default)]
pub(super) struct Segments {
    ring: VecDeque<Segment>,
    base: u64,
    pending: u32,
    /// Segments to send again, smallest first. A segment whose Data came late stays until it is the first.
    /// The first one is always lost.
    lost: BinaryHeap<Reverse<u64>>,
}

impl Segments {
    /// Starts at segment `first`; no segment has been requested yet.
    pub fn new(first: u64) -> Segments {
        Segments { base: first, ..Segments::default() }
    }

    /// The oldest missing segment.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The number after the newest requested segment.
    pub fn next(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    /// Number of pending Interests.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Number of lost segments, including some whose Data came later.
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

    /// Takes the segment to send next: the smallest lost one, else a new one. Returns also whether it was
    /// sent before.
    pub fn take_next(&mut self) -> (u64, bool) {
        match self.lost.pop() {
            Some(Reverse(number)) => (number, true),
            None => (self.next(), false),
        }
    }

    /// Notes that the Interest of a segment is sent. Returns how often it has been sent.
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

    /// Notes that the Data of a segment has come. Returns the segment's state before; `None` if it was not
    /// awaited.
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

    /// Marks a pending segment as lost and returns its tag; `None` if it is not pending.
    pub fn lose(&mut self, number: u64) -> Option<u32> {
        let index = number.checked_sub(self.base)? as usize;
        let segment = self.ring.get_mut(index).filter(|segment| segment.state == State::Pending)?;
        segment.state = State::Lost;
        self.pending -= 1;
        self.lost.push(Reverse(number));
        Some(segment.tag)
    }

    /// Forgets the segments from `end` on.
    pub fn truncate(&mut self, end: u64) {
        while !self.ring.is_empty() && self.next() > end {
            let beyond = self.ring.pop_back();
            self.pending -= u32::from(beyond.is_some_and(|segment| segment.state == State::Pending));
        }
        self.forget_found();
    }

    /// Returns whether the Interest that was sent at this time is pending.
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
