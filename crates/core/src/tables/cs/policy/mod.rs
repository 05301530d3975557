//! Which entry of a full content store makes room for another.
//!
//! The store has one list of all entries, the newest first. LRU and FIFO need nothing else: LRU moves an entry that answers
//! to the front, FIFO does not, and both evict the last one. Every other policy is a [`Replacement`] in a file of its own. It
//! knows entries by their numbers in the store, which are small and used again, and keeps what it needs beside them.
//!
//! Every operation takes constant time (of S3-FIFO, on average; of LFU, but for halving its counts), and nothing is
//! allocated while the number of entries does not grow.

mod lfu;
mod lists;
mod past;
mod random;
mod s3_fifo;
mod slru;
#[cfg(test)]
mod tests;

use crate::random::Random;

pub(super) use lists::NONE;

/// Which entry makes room for another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsPolicy {
    /// The one that was inserted or has answered least recently.
    #[default]
    Lru,
    /// The one that was inserted first.
    Fifo,
    /// The one whose name was asked for least often; of several, the one that was asked for least recently. What was asked
    /// of names that left counts too, of sixteen times as many names as the store holds.
    Lfu,
    /// Any, with equal probability.
    Random,
    /// Segmented LRU: the least recent one of those that have not answered since they came, or that were not among the four
    /// fifths that answered last.
    Slru,
    /// S3-FIFO: the first of a small queue that was not asked for twice, or the first of the main queue that was not asked
    /// for since it was looked at.
    S3Fifo,
}

impl CsPolicy {
    /// Every policy, with its name in files.
    pub const ALL: [(CsPolicy, &'static str); 6] = [
        (CsPolicy::Lru, "lru"),
        (CsPolicy::Fifo, "fifo"),
        (CsPolicy::Lfu, "lfu"),
        (CsPolicy::Random, "random"),
        (CsPolicy::Slru, "slru"),
        (CsPolicy::S3Fifo, "s3-fifo"),
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The policy of this name.
    pub fn named(name: &str) -> Option<CsPolicy> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(policy, _)| *policy)
    }

    /// What it keeps for each entry, bytes, with what buffers have in reserve.
    pub const fn entry_bytes(self) -> usize {
        match self {
            CsPolicy::Lru | CsPolicy::Fifo => 0,
            CsPolicy::Random => random::ENTRY_BYTES,
            CsPolicy::Lfu => lfu::ENTRY_BYTES,
            CsPolicy::Slru => slru::ENTRY_BYTES,
            CsPolicy::S3Fifo => s3_fifo::ENTRY_BYTES,
        }
    }
}

/// The bounds of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

impl Limits {
    /// Whether a part of the store is as large as so many tenths of either bound.
    fn is_filled(self, packets: u64, bytes: u64, tenths: u64) -> bool {
        let reaches = |part: u64, bound: u64| 10 * u128::from(part) >= u128::from(bound) * u128::from(tenths);
        reaches(packets, self.packets) || reaches(bytes, self.bytes)
    }

    /// Whether it is larger than so many tenths of a bound.
    fn is_exceeded(self, packets: u64, bytes: u64, tenths: u64) -> bool {
        let exceeds = |part: u64, bound: u64| 10 * u128::from(part) > u128::from(bound) * u128::from(tenths);
        exceeds(packets, self.packets) || exceeds(bytes, self.bytes)
    }
}

/// A policy with a state of its own. It is told of every entry once when it comes, and hears of its end once, by
/// [`Replacement::evict`] or [`Replacement::remove`].
pub(super) trait Replacement {
    /// An entry came: the hash of its name, and its size.
    fn insert(&mut self, entry: u32, hash: u64, bytes: u64);
    /// An entry has answered, or a newer Data of its name has taken its place, of this size.
    fn hit(&mut self, entry: u32, bytes: u64);
    /// An entry goes, but not to make room.
    fn remove(&mut self, entry: u32);
    /// The entry that makes room, which goes; `None` if there is none.
    fn evict(&mut self) -> Option<u32>;
    /// The bounds of the store are these.
    fn set_limits(&mut self, limits: Limits);
}

/// The state of a store's policy.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Lru,
    Fifo,
    Lfu(Box<lfu::Lfu>),
    Random(Box<random::Chance>),
    Slru(Box<slru::Slru>),
    S3Fifo(Box<s3_fifo::S3Fifo>),
}

impl Order {
    pub(super) fn new(policy: CsPolicy, limits: Limits) -> Order {
        let mut order = match policy {
            CsPolicy::Lru => Order::Lru,
            CsPolicy::Fifo => Order::Fifo,
            CsPolicy::Lfu => Order::Lfu(Box::default()),
            CsPolicy::Random => {
                Order::Random(Box::new(random::Chance::new(Random::named(0, "content store"))))
            }
            CsPolicy::Slru => Order::Slru(Box::new(slru::Slru::new(limits))),
            CsPolicy::S3Fifo => Order::S3Fifo(Box::new(s3_fifo::S3Fifo::new(limits))),
        };
        if let Some(own) = order.own() {
            own.set_limits(limits);
        }
        order
    }

    /// Draws from this stream from now on.
    pub(super) fn draw_from(&mut self, stream: Random) {
        if let Order::Random(chance) = self {
            **chance = random::Chance::new(stream);
        }
    }

    pub(super) fn policy(&self) -> CsPolicy {
        match self {
            Order::Lru => CsPolicy::Lru,
            Order::Fifo => CsPolicy::Fifo,
            Order::Lfu(_) => CsPolicy::Lfu,
            Order::Random(_) => CsPolicy::Random,
            Order::Slru(_) => CsPolicy::Slru,
            Order::S3Fifo(_) => CsPolicy::S3Fifo,
        }
    }

    /// What decides instead of the store's own list; `None` of LRU and FIFO.
    #[inline]
    pub(super) fn own(&mut self) -> Option<&mut dyn Replacement> {
        match self {
            Order::Lru | Order::Fifo => None,
            Order::Lfu(own) => Some(own.as_mut()),
            Order::Random(own) => Some(own.as_mut()),
            Order::Slru(own) => Some(own.as_mut()),
            Order::S3Fifo(own) => Some(own.as_mut()),
        }
    }
}
