//! S3-FIFO: Yang, Zhang, Qiu, Yue, Vigfusson, *FIFO queues are all you need for cache eviction*, SOSP 2023,
//! algorithm 1.
//!
//! ```text
//!   new ---> S: newest ... oldest --- asked for more than once ---> M: newest ... oldest ---> out
//!                            |                                         ^            | asked for since: to the front,
//!                            v                                         |            v one time less
//!                      out, to the ghosts G --- comes again -----------+
//! ```
//!
//! S has a tenth of the store. An entry is not moved when it answers; a count of up to three suffices. An
//! operation takes constant time on average, because an entry returns to the front of M at most three times
//! for its answers.
//!
//! **Deviations from the paper**
//! 1. S has a tenth of the bound in packets or of the bound in bytes, whichever it fills first. The paper has
//!    sizes of one kind.
//! 2. G holds nine tenths as many names as there are entries now, which is the size of M in a full store. In
//!    the paper, G holds as many as M, which is none while M is empty.

use super::lists::{Links, Segment, ensure};
use super::past::{NAME_BYTES, Past};
use super::{Limits, Replacement};

/// S's share of the store, in tenths.
const SMALL: u64 = 1;
/// Further answers do not count.
const MOST_FREQ: u8 = 3;

/// Links, a seat and a name in G, with reserve.
pub(super) const ENTRY_BYTES: usize = (8 + size_of::<Seat>()) * 9 / 8 + NAME_BYTES;

#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    hash: u64,
    bytes: u64,
    freq: u8,
    is_main: bool,
}

/// The queues S and M, and the ghosts G.
#[derive(Clone, Debug)]
pub(in super::super) struct S3Fifo {
    limits: Limits,
    links: Links,
    seats: Vec<Seat>,
    small: Segment,
    main: Segment,
    ghosts: Past,
}

impl S3Fifo {
    pub(super) fn new(limits: Limits) -> S3Fifo {
        S3Fifo {
            limits,
            links: Links::default(),
            seats: Vec::new(),
            small: Segment::EMPTY,
            main: Segment::EMPTY,
            ghosts: Past::default(),
        }
    }

    fn push(&mut self, entry: u32, seat: Seat) {
        self.seats[entry as usize] = seat;
        let queue = if seat.is_main { &mut self.main } else { &mut self.small };
        queue.push(&mut self.links, entry, seat.bytes);
    }

    /// `evictS`: moves entries that were requested more than once to M, until one is evicted.
    fn evict_small(&mut self) -> Option<u32> {
        while !self.small.list.is_empty() {
            let oldest = self.small.list.oldest;
            let seat = self.seats[oldest as usize];
            self.remove(oldest);
            if seat.freq > 1 {
                self.push(oldest, Seat { freq: 0, is_main: true, ..seat });
                continue;
            }
            let most = (self.small.packets + self.main.packets + 1) * 9 / 10;
            self.ghosts.put(seat.hash, 0, most as usize);
            return Some(oldest);
        }
        None
    }

    /// `evictM`: puts requested entries back to the front, until one is evicted.
    fn evict_main(&mut self) -> Option<u32> {
        while !self.main.list.is_empty() {
            let oldest = self.main.list.oldest;
            let seat = self.seats[oldest as usize];
            self.remove(oldest);
            if seat.freq == 0 {
                return Some(oldest);
            }
            self.push(oldest, Seat { freq: seat.freq - 1, ..seat });
        }
        None
    }
}

impl Replacement for S3Fifo {
    fn insert(&mut self, entry: u32, hash: u64, bytes: u64) {
        ensure(&mut self.seats, entry, &Seat::default());
        let is_main = self.ghosts.take(hash).is_some();
        self.push(entry, Seat { hash, bytes, freq: 0, is_main });
    }

    fn hit(&mut self, entry: u32, bytes: u64) {
        let seat = &mut self.seats[entry as usize];
        seat.freq = (seat.freq + 1).min(MOST_FREQ);
        let queue = if seat.is_main { &mut self.main } else { &mut self.small };
        queue.bytes = queue.bytes - seat.bytes + bytes;
        seat.bytes = bytes;
    }

    fn remove(&mut self, entry: u32) {
        let Seat { bytes, is_main, .. } = self.seats[entry as usize];
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.unlink(&mut self.links, entry, bytes);
    }

    fn evict(&mut self) -> Option<u32> {
        let is_small_full = self.limits.is_filled(self.small.packets, self.small.bytes, SMALL);
        let first = if is_small_full { self.evict_small() } else { None };
        // M may be empty, and then S may move all its entries there.
        first.or_else(|| self.evict_main()).or_else(|| self.evict_small()).or_else(|| self.evict_main())
    }

    fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }
}
