//! Replacement policies: which entry of a full content store is evicted.
//!
//! The store has one list of all entries, newest first. LRU and FIFO need nothing else: LRU moves an entry
//! that answers to the front, FIFO does not, and both evict the last one. Every other policy is a
//! [`Replacement`] in a file of its own. It knows entries by their numbers in the store, which are small and
//! reused, and keeps its state beside them.
//!
//! Every operation takes constant time (S3-FIFO: on average; LFU: except for halving its counts). Nothing is
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

/// A replacement policy: which entry is evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsPolicy {
    /// The entry that was inserted or has answered least recently.
    #[default]
    Lru,
    /// The entry that was inserted first.
    Fifo,
    /// The entry whose name was requested least often; among several, the one that was requested least
    /// recently. Requests of evicted names count too, for sixteen times as many names as the store holds.
    Lfu,
    /// Any entry, with equal probability.
    Random,
    /// Segmented LRU: the least recent entry of the probationary segment. That segment has the entries that
    /// have not answered since they came, or that are not among the four fifths that answered last.
    Slru,
    /// S3-FIFO: the first entry of the small queue that was not requested twice, or the first entry of the
    /// main queue that was not requested since it was last examined.
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

    /// The name in files.
    pub const fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Finds the policy of this name.
    pub fn named(name: &str) -> Option<CsPolicy> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(policy, _)| *policy)
    }

    /// Memory for each entry, bytes, including the reserve of buffers.
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
    /// Returns whether a part of the store fills at least this many tenths of either bound.
    fn is_filled(self, packets: u64, bytes: u64, tenths: u64) -> bool {
        let reaches = |part: u64, bound: u64| 10 * u128::from(part) >= u128::from(bound) * u128::from(tenths);
        reaches(packets, self.packets) || reaches(bytes, self.bytes)
    }

    /// Returns whether a part of the store exceeds this many tenths of a bound.
    fn is_exceeded(self, packets: u64, bytes: u64, tenths: u64) -> bool {
        let exceeds = |part: u64, bound: u64| 10 * u128::from(part) > u128::from(bound) * u128::from(tenths);
        exceeds(packets, self.packets) || exceeds(bytes, self.bytes)
    }
}

/// A policy with state of its own. It is told once of every entry that comes, and learns of its end once, by
/// [`Replacement::evict`] or [`Replacement::remove`].
pub(super) trait Replacement {
    /// An entry came: hash of its name, and its size.
    fn insert(&mut self, entry: u32, hash: u64, bytes: u64);
    /// An entry has answered, or a newer Data of its name with this size has replaced it.
    fn hit(&mut self, entry: u32, bytes: u64);
    /// An entry is removed, but not to make room.
    fn remove(&mut self, entry: u32);
    /// Chooses the entry to evict and forgets it; `None` if there is none.
    fn evict(&mut self) -> Option<u32>;
    /// Sets the bounds of the store.
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

    /// Sets the random stream.
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

    /// The policy's own state; `None` for LRU and FIFO.
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
