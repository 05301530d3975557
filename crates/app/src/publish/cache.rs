//! A cache of signed packets, so that a repeated request needs no new signature.

use std::collections::{BTreeMap, VecDeque};

/// Identifies an object and one of its segments.
pub(super) type Key = (u64, u64);

/// Memory of an entry besides its packet, bytes. Assumed: a node of a tree and an entry of a list.
const ENTRY: usize = 64;

/// Cached packets. The oldest are evicted first.
#[derive(Debug)]
pub(super) struct Cache {
    packets: BTreeMap<Key, Box<[u8]>>,
    oldest: VecDeque<Key>,
    bytes: usize,
    limit: usize,
}

impl Cache {
    /// Creates a cache for `limit` bytes.
    pub(super) fn new(limit: usize) -> Cache {
        Cache { packets: BTreeMap::new(), oldest: VecDeque::new(), bytes: 0, limit }
    }

    /// Returns a cached packet.
    pub(super) fn find(&self, key: Key) -> Option<&[u8]> {
        self.packets.get(&key).map(|packet| &**packet)
    }

    /// Caches a packet if it is new and fits.
    pub(super) fn keep(&mut self, key: Key, packet: &[u8]) {
        let cost = packet.len() + ENTRY;
        if cost > self.limit {
            return;
        }
        while self.bytes + cost > self.limit
            && let Some(oldest) = self.oldest.pop_front()
        {
            self.bytes -= self.packets.remove(&oldest).map_or(0, |packet| packet.len() + ENTRY);
        }
        if self.packets.insert(key, packet.into()).is_none() {
            self.oldest.push_back(key);
            self.bytes += cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_packets_go_first_and_the_limit_is_kept() {
        let mut cache = Cache::new(10 * (100 + ENTRY));
        for segment in 0..25 {
            cache.keep((1, segment), &[segment as u8; 100]);
            assert!(cache.bytes <= cache.limit && cache.packets.len() == cache.oldest.len());
        }
        let kept: Vec<u64> = (0..25).filter(|&segment| cache.find((1, segment)).is_some()).collect();
        assert_eq!(kept, (15..25).collect::<Vec<_>>());
        assert_eq!(cache.find((1, 24)), Some(&[24; 100][..]));
        assert_eq!(cache.find((2, 24)), None);
        cache.keep((1, 30), &[0; 2000]);
        assert_eq!(cache.find((1, 30)), None, "there is no room for it");
        Cache::new(0).keep((1, 1), &[1]);
    }
}
