//! Segmented LRU: Karedla, Love, Wherry, *Caching strategies to improve disk system performance*, IEEE
//! Computer 27 (3), 1994.
//!
//! ```text
//!   new ---> probation: newest ... oldest ---> out
//!                 | answers      ^ the oldest, if there are too many
//!                 v              |
//!            protected: newest ... oldest        (answers again: to the front)
//! ```
//!
//! Names that are requested once pass through the probationary segment, and do not push out names that were
//! requested again.

use super::lists::{Links, Segment, ensure};
use super::{Limits, Replacement};

/// Largest share of the protected segment, in tenths of the store. The paper leaves it open; implementations
/// use four fifths.
const PROTECTED: u64 = 8;

/// Links and a seat, with reserve.
pub(super) const ENTRY_BYTES: usize = (8 + size_of::<Seat>()) * 9 / 8;

/// The position of an entry.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    bytes: u64,
    is_protected: bool,
}

/// The two segments.
#[derive(Clone, Debug)]
pub(in super::super) struct Slru {
    limits: Limits,
    links: Links,
    seats: Vec<Seat>,
    probation: Segment,
    protected: Segment,
}

impl Slru {
    pub(super) fn new(limits: Limits) -> Slru {
        Slru {
            limits,
            links: Links::default(),
            seats: Vec::new(),
            probation: Segment::EMPTY,
            protected: Segment::EMPTY,
        }
    }

    fn push(&mut self, entry: u32, bytes: u64, is_protected: bool) {
        self.seats[entry as usize] = Seat { bytes, is_protected };
        let segment = if is_protected { &mut self.protected } else { &mut self.probation };
        segment.push(&mut self.links, entry, bytes);
    }

    fn keep_protected_small(&mut self) {
        while self.limits.is_exceeded(self.protected.packets, self.protected.bytes, PROTECTED)
            && !self.protected.list.is_empty()
        {
            let oldest = self.protected.list.oldest;
            self.remove(oldest);
            self.push(oldest, self.seats[oldest as usize].bytes, false);
        }
    }
}

impl Replacement for Slru {
    fn insert(&mut self, entry: u32, _: u64, bytes: u64) {
        ensure(&mut self.seats, entry, &Seat::default());
        self.push(entry, bytes, false);
    }

    fn hit(&mut self, entry: u32, bytes: u64) {
        self.remove(entry);
        self.push(entry, bytes, true);
        self.keep_protected_small();
    }

    fn remove(&mut self, entry: u32) {
        let Seat { bytes, is_protected } = self.seats[entry as usize];
        let segment = if is_protected { &mut self.protected } else { &mut self.probation };
        segment.unlink(&mut self.links, entry, bytes);
    }

    fn evict(&mut self) -> Option<u32> {
        let segment = if self.probation.list.is_empty() { &self.protected } else { &self.probation };
        if segment.list.is_empty() {
            return None;
        }
        let oldest = segment.list.oldest;
        self.remove(oldest);
        Some(oldest)
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.keep_protected_small();
    }
}
