//! The content store: Data kept to answer later Interests.
//!
//! It has a slab of entries, in chunks, a hash table from name to entry, and a list of all entries, newest
//! first. The policy ([`CsPolicy`]) chooses the entry to evict.
//!
//! An Interest with CanBePrefix is answered from the members of its prefix, newest first. The members are
//! kept in a list for each prefix, but only for the prefix lengths that such Interests have used. The first
//! Interest of a length sorts the stored entries (once, O(entries)). A store that sees only exact names pays
//! nothing.
//!
//! A Data may be restricted to the Interests of one forwarding hint.

mod policy;

pub use policy::CsPolicy;

use crate::Time;
use crate::name::{HashedName, LengthCounts, MAX_COMPONENTS};
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::tables::slab::Slab;
use hashbrown::HashTable;
use policy::{Limits, NONE, Order};
use smallvec::SmallVec;

/// Number of members of a prefix that are tried, newest first, to find a fresh one.
pub const FRESH_SCAN: usize = 64;

/// Memory of a name for each of its prefixes whose length is indexed, bytes: its place among the members, in
/// a buffer that may be half empty (24), and the prefix itself (24) with its place in a hash table (12).
const PREFIX: usize = 24 + 24 + 12;

/// Memory of an entry beside the packet, bytes, without the parts that depend on its name: the entry itself,
/// and its place in a hash table (5 for each of at most 16/7 places).
pub const ENTRY_BYTES: usize = size_of::<CsEntry<u32>>() + 12;

/// Memory of the entry of a Data of this name beside the packet, bytes, in total, as if each of its prefix
/// lengths were indexed.
pub fn entry_bytes(name: &HashedName) -> u64 {
    (ENTRY_BYTES + name.buffer_bytes() + PREFIX * (name.len() + 1)) as u64
}

/// Data by name. `T` is a handle of the packet. The owner of the store keeps the packet alive until the
/// handle comes back in `evicted`.
#[derive(Clone, Debug)]
pub struct ContentStore<T> {
    order: Order,
    max_packets: usize,
    max_bytes: u64,
    entries: Slab<CsEntry<T>>,
    /// The first free entry. The others follow by `next`.
    free: u32,
    len: usize,
    bytes: u64,
    /// The ends of the list of all entries. LRU and FIFO evict the oldest one next.
    newest: u32,
    oldest: u32,
    index: HashTable<u32>,
    /// Number of stored names of each length.
    lengths: LengthCounts,
    /// Bit n is set if prefixes of n components have nodes.
    indexed: u128,
    nodes: Slab<Node>,
    /// The first free node. The others follow by `head`.
    free_node: u32,
    node_index: HashTable<u32>,
    hits: u64,
    misses: u64,
    insertions: u64,
    evictions: u64,
}

#[derive(Clone, Debug)]
struct CsEntry<T> {
    name: HashedName,
    /// `None` in a free entry.
    value: Option<T>,
    bytes: u64,
    fresh_until: Time,
    /// The hint of the Interests that it answers, as a hash; 0: it answers all.
    hint: u32,
    /// The neighbours in the list of all entries: newer and older.
    prev: u32,
    next: u32,
    /// The place among the members of the prefix of each length; empty if nothing is indexed.
    links: SmallVec<[Link; 4]>,
}

impl<T> CsEntry<T> {
    /// Prefetches the memory that its removal reads, on up to four cache lines.
    #[inline]
    fn prefetch(&self) {
        prefetch(&self.name);
        prefetch(&self.bytes);
        prefetch(&self.links);
        prefetch(&self.next);
    }
}

/// The selectors and the hint of an Interest.
#[derive(Clone, Copy, Debug)]
struct Asked {
    hint: u32,
    must_be_fresh: bool,
    now: Time,
}

/// The neighbours among the members of a prefix, newer and older, and the prefix's node.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
    node: u32,
}

impl Link {
    const NONE: Link = Link { prev: NONE, next: NONE, node: NONE };
}

/// A prefix that has members. Its name is a prefix of any member's name.
#[derive(Clone, Copy, Debug)]
struct Node {
    hash: u64,
    len: usize,
    /// The newest member.
    head: u32,
}

impl<T: Copy> ContentStore<T> {
    /// Makes an empty store of at most `max_packets` Data and `max_bytes` bytes. If either is 0, the store is
    /// off.
    pub fn new(policy: CsPolicy, max_packets: usize, max_bytes: u64) -> ContentStore<T> {
        let max_packets = max_packets.min(NONE as usize - 1);
        ContentStore {
            order: Order::new(policy, Limits { packets: max_packets as u64, bytes: max_bytes }),
            max_packets,
            max_bytes,
            entries: Slab::new(),
            free: NONE,
            len: 0,
            bytes: 0,
            newest: NONE,
            oldest: NONE,
            index: HashTable::new(),
            lengths: LengthCounts::new(),
            indexed: 0,
            nodes: Slab::new(),
            free_node: NONE,
            node_index: HashTable::new(),
            hits: 0,
            misses: 0,
            insertions: 0,
            evictions: 0,
        }
    }

    /// The same store, with a random stream for a random policy.
    #[must_use]
    pub fn drawing_from(mut self, stream: Random) -> ContentStore<T> {
        self.order.draw_from(stream);
        self
    }

    /// The number of Data in the store.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the store is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest value: LRU and FIFO evict it next. Prefetches the entry that they evict after it, which is no longer in the
    /// processor's cache.
    #[inline]
    pub(crate) fn oldest(&self) -> Option<&T> {
        let oldest = self.entries.get(self.oldest)?;
        if let Some(second) = self.entries.get(oldest.prev) {
            second.prefetch();
        }
        oldest.value.as_ref()
    }

    /// Size of all stored Data, bytes, as given to [`ContentStore::insert`].
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of lookups with an answer.
    #[inline]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// The number of lookups without an answer while the store was on.
    #[inline]
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// The number of Data that were stored and had not been there before.
    #[inline]
    pub fn insertions(&self) -> u64 {
        self.insertions
    }

    /// The number of Data that were evicted to make room for others.
    #[inline]
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Returns whether it stores anything at all.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.max_packets > 0 && self.max_bytes > 0
    }

    /// The replacement policy.
    #[inline]
    pub fn policy(&self) -> CsPolicy {
        self.order.policy()
    }

    /// The bounds: packets, bytes.
    #[inline]
    pub fn limits(&self) -> (usize, u64) {
        (self.max_packets, self.max_bytes)
    }

    /// Changes the limits, and evicts Data that no longer fit.
    pub fn set_limits(&mut self, max_packets: usize, max_bytes: u64, evicted: &mut Vec<T>) {
        self.max_packets = max_packets.min(NONE as usize - 1);
        self.max_bytes = max_bytes;
        if let Some(own) = self.order.own() {
            own.set_limits(Limits { packets: self.max_packets as u64, bytes: max_bytes });
        }
        if !self.is_on() {
            while self.oldest != NONE {
                self.remove(self.oldest, evicted);
            }
        }
        self.make_room(0, 0, evicted);
    }

    /// Stores a Data and returns whether it was stored. It is fresh before `fresh_until`: [`Time::ZERO`] for
    /// a Data without FreshnessPeriod, [`Time::NEVER`] for one that stays fresh.
    ///
    /// Every value that the store does not keep is appended to `evicted`: the value of an older Data of the
    /// same name, the values that are evicted to make room, and `value` itself if it is too large.
    pub fn insert(
        &mut self,
        name: &HashedName,
        value: T,
        bytes: u64,
        fresh_until: Time,
        evicted: &mut Vec<T>,
    ) -> bool {
        self.insert_for(0, name, value, bytes, fresh_until, evicted)
    }

    /// As [`ContentStore::insert`], for a Data that answers only Interests of this hint
    /// ([`Packet::hint_hash`](crate::packet::Packet::hint_hash)); 0: all. It never replaces a Data that
    /// answers all.
    pub fn insert_for(
        &mut self,
        hint: u32,
        name: &HashedName,
        value: T,
        bytes: u64,
        fresh_until: Time,
        evicted: &mut Vec<T>,
    ) -> bool {
        let known = self.exact(name);
        if hint != 0 && known != NONE && self.entries[known].hint == 0 {
            evicted.push(value);
            return false;
        }
        if !self.is_on() || bytes > self.max_bytes {
            if known != NONE {
                self.remove(known, evicted);
            }
            evicted.push(value);
            return false;
        }
        if known != NONE && self.bytes - self.entries[known].bytes + bytes <= self.max_bytes {
            let entry = &mut self.entries[known];
            evicted.extend(entry.value.replace(value));
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
            entry.fresh_until = fresh_until;
            entry.hint = hint;
            self.touch(known);
            if let Some(own) = self.order.own() {
                own.hit(known, bytes);
            }
            self.unlink_prefixes(known);
            self.link_prefixes(known);
            return true;
        }
        // It needs more room than the older one, and must not be evicted to make room for itself.
        if known != NONE {
            self.remove(known, evicted);
        }
        self.make_room(1, bytes, evicted);
        let new = self.allocate();
        let entry = &mut self.entries[new];
        entry.name.assign(name);
        entry.value = Some(value);
        entry.bytes = bytes;
        entry.fresh_until = fresh_until;
        entry.hint = hint;
        let entries = &self.entries;
        self.index.insert_unique(name.hash(), new, |&i| entries[i].name.hash());
        self.lengths.add(name.len());
        self.len += 1;
        self.bytes += bytes;
        self.insertions += u64::from(known == NONE);
        self.push_newest(new);
        if let Some(own) = self.order.own() {
            own.insert(new, name.hash(), bytes);
        }
        self.link_prefixes(new);
        true
    }

    /// Finds the Data that answers an Interest: the Data with exactly this name, or with `can_be_prefix` the
    /// newest one whose name starts with it. With `must_be_fresh` only fresh Data count. Of a prefix with
    /// many members only the newest [`FRESH_SCAN`] are tried.
    ///
    /// A name that ends in an implicit digest finds nothing here: look up the name without it, and compare
    /// the digest.
    #[inline]
    pub fn lookup(
        &mut self,
        name: &HashedName,
        can_be_prefix: bool,
        must_be_fresh: bool,
        now: Time,
    ) -> Option<T> {
        self.lookup_for(0, name, can_be_prefix, must_be_fresh, now)
    }

    /// As [`ContentStore::lookup`], for an Interest of this hint; 0 without one.
    #[inline]
    pub fn lookup_for(
        &mut self,
        hint: u32,
        name: &HashedName,
        can_be_prefix: bool,
        must_be_fresh: bool,
        now: Time,
    ) -> Option<T> {
        if !self.is_on() {
            return None;
        }
        let asked = Asked { hint, must_be_fresh, now };
        let found = if can_be_prefix {
            self.newest_of(name, asked)
        } else {
            let found = self.exact(name);
            if found != NONE && self.answers(found, asked) { found } else { NONE }
        };
        if found == NONE {
            self.misses += 1;
            return None;
        }
        self.hits += 1;
        if matches!(self.order, Order::Lru) {
            self.touch(found);
        } else if let Some(own) = self.order.own() {
            own.hit(found, self.entries[found].bytes);
        }
        self.entries[found].value
    }

    /// Removes at most `limit` Data whose names start with `prefix`, most recent first. Returns their number.
    /// Visits every entry.
    pub fn erase(&mut self, prefix: &HashedName, limit: usize, evicted: &mut Vec<T>) -> usize {
        let (mut erased, mut next) = (0, self.newest);
        while next != NONE && erased < limit {
            let index = next;
            let entry = &self.entries[index];
            next = entry.next;
            if entry.name.starts_with(prefix) {
                self.remove(index, evicted);
                erased += 1;
            }
        }
        erased
    }

    /// Names and values of all entries, most recent first.
    pub fn iter(&self) -> impl Iterator<Item = (&HashedName, T)> {
        let mut next = self.newest;
        core::iter::from_fn(move || {
            let entry = self.entries.get(next)?;
            next = entry.next;
            Some((&entry.name, entry.value?))
        })
    }

    /// The entry of exactly this name.
    #[inline]
    fn exact(&self, name: &HashedName) -> u32 {
        self.index.find(name.hash(), |&i| self.entries[i].name == *name).copied().unwrap_or(NONE)
    }

    #[inline]
    fn answers(&self, index: u32, asked: Asked) -> bool {
        let entry = &self.entries[index];
        (!asked.must_be_fresh || asked.now < entry.fresh_until)
            && (entry.hint == 0 || entry.hint == asked.hint)
    }

    /// The newest member of a prefix that answers the Interest.
    fn newest_of(&mut self, prefix: &HashedName, asked: Asked) -> u32 {
        let len = prefix.len();
        if self.lengths.longest().is_none_or(|longest| len > longest) {
            // No stored name is that long, so there is nothing to sort.
            self.indexed |= 1 << len;
            return NONE;
        }
        if self.indexed & 1 << len == 0 {
            self.index_length(len);
        }
        let node = self.node_of(prefix, len);
        let mut next = self.nodes.get(node).map_or(NONE, |node| node.head);
        for _ in 0..FRESH_SCAN {
            if next == NONE || self.answers(next, asked) {
                return next;
            }
            next = self.entries[next].links[len].next;
        }
        NONE
    }

    /// Creates nodes for the prefixes of `len` components, from now on.
    fn index_length(&mut self, len: usize) {
        // Members are ordered by insertion, newest first. Under LRU this differs from the order of the list,
        // so existing entries keep the order of their last use.
        self.indexed |= 1 << len;
        let mut next = self.oldest;
        while next != NONE {
            self.link_prefix(next, len);
            next = self.entries[next].prev;
        }
    }

    /// The node of the first `len` components of `name`.
    #[inline]
    fn node_of(&self, name: &HashedName, len: usize) -> u32 {
        let (hash, wire) = (name.hash_of(len), name.prefix_wire(len));
        let same = |&n: &u32| {
            let node = &self.nodes[n];
            node.hash == hash && node.len == len && self.entries[node.head].name.prefix_wire(len) == wire
        };
        self.node_index.find(hash, same).copied().unwrap_or(NONE)
    }

    fn link_prefixes(&mut self, index: u32) {
        for len in lengths(self.indexed, self.entries[index].name.len()) {
            self.link_prefix(index, len);
        }
    }

    /// Makes an entry the newest member of its prefix of `len` components, if it has one.
    fn link_prefix(&mut self, index: u32, len: usize) {
        let name = &self.entries[index].name;
        if len > name.len() {
            return;
        }
        let (count, hash) = (name.len() + 1, name.hash_of(len));
        let mut node = self.node_of(name, len);
        if node == NONE {
            let new = Node { hash, len, head: NONE };
            node = self.free_node;
            match self.nodes.get_mut(node) {
                Some(free) => {
                    self.free_node = free.head;
                    *free = new;
                }
                None => node = self.nodes.push(new),
            }
            let nodes = &self.nodes;
            self.node_index.insert_unique(hash, node, |&n| nodes[n].hash);
        }
        let head = core::mem::replace(&mut self.nodes[node].head, index);
        let links = &mut self.entries[index].links;
        if links.len() < count {
            links.resize(count, Link::NONE);
        }
        links[len] = Link { prev: NONE, next: head, node };
        if head != NONE {
            self.entries[head].links[len].prev = index;
        }
    }

    /// Removes an entry from the members of all its prefixes.
    fn unlink_prefixes(&mut self, index: u32) {
        for len in lengths(self.indexed, self.entries[index].name.len()) {
            let Some(link) = self.entries[index].links.get_mut(len) else { continue };
            let Link { prev, next, node } = core::mem::replace(link, Link::NONE);
            if node == NONE {
                continue;
            }
            if next != NONE {
                self.entries[next].links[len].prev = prev;
            }
            if prev != NONE {
                self.entries[prev].links[len].next = next;
                continue;
            }
            if next != NONE {
                self.nodes[node].head = next;
                continue;
            }
            if let Ok(place) = self.node_index.find_entry(self.nodes[node].hash, |&n| n == node) {
                place.remove();
            }
            self.nodes[node].head = self.free_node;
            self.free_node = node;
        }
    }

    /// Evicts entries until this much more fits.
    fn make_room(&mut self, packets: usize, bytes: u64, evicted: &mut Vec<T>) {
        // `bytes` is at most the bound, so this neither overflows nor evicts for ever.
        while self.oldest != NONE
            && (self.len + packets > self.max_packets || self.bytes > self.max_bytes.saturating_sub(bytes))
        {
            self.evictions += 1;
            match self.order.own() {
                // The policy knows every entry, so it returns one.
                Some(own) => match own.evict() {
                    Some(entry) => self.forget(entry, evicted),
                    None => break,
                },
                None => self.forget(self.oldest, evicted),
            }
        }
    }

    fn remove(&mut self, index: u32, evicted: &mut Vec<T>) {
        if let Some(own) = self.order.own() {
            own.remove(index);
        }
        self.forget(index, evicted);
    }

    /// Removes an entry that the policy no longer knows.
    fn forget(&mut self, index: u32, evicted: &mut Vec<T>) {
        self.unlink_prefixes(index);
        self.unlink(index);
        let entry = &mut self.entries[index];
        if let Ok(place) = self.index.find_entry(entry.name.hash(), |&i| i == index) {
            place.remove();
        }
        evicted.extend(entry.value.take());
        self.lengths.remove(entry.name.len());
        self.len -= 1;
        self.bytes -= entry.bytes;
        // Buffers of free entries would be counted nowhere.
        if entry.name.buffer_bytes() > 0 {
            entry.name = HashedName::new();
        }
        if entry.links.spilled() {
            entry.links = SmallVec::new();
        }
        entry.name.clear();
        entry.links.clear();
        entry.next = self.free;
        self.free = index;
    }

    fn allocate(&mut self) -> u32 {
        if let Some(entry) = self.entries.get(self.free) {
            return core::mem::replace(&mut self.free, entry.next);
        }
        self.entries.push(CsEntry {
            name: HashedName::new(),
            value: None,
            bytes: 0,
            fresh_until: Time::ZERO,
            hint: 0,
            prev: NONE,
            next: NONE,
            links: SmallVec::new(),
        })
    }

    #[inline]
    fn touch(&mut self, index: u32) {
        if self.newest != index {
            self.unlink(index);
            self.push_newest(index);
        }
    }

    #[inline]
    fn push_newest(&mut self, index: u32) {
        let next = core::mem::replace(&mut self.newest, index);
        let entry = &mut self.entries[index];
        (entry.prev, entry.next) = (NONE, next);
        match next {
            NONE => self.oldest = index,
            next => self.entries[next].prev = index,
        }
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let CsEntry { prev, next, .. } = self.entries[index];
        match prev {
            NONE => self.newest = next,
            prev => self.entries[prev].next = next,
        }
        match next {
            NONE => self.oldest = prev,
            next => self.entries[next].prev = prev,
        }
    }
}

/// The indexed lengths up to `longest`, ascending.
#[inline]
fn lengths(indexed: u128, longest: usize) -> impl Iterator<Item = usize> {
    let mut rest = indexed & ((2 << longest.min(MAX_COMPONENTS)) - 1);
    core::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let len = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(len)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use crate::name::testing::{HASHER, few_names, name};
    use proptest::prelude::*;

    const NOW: Time = Time::from_nanos(1_000);

    fn store(policy: CsPolicy, packets: usize, bytes: u64, names: &[&str]) -> (ContentStore<u32>, Vec<u32>) {
        let (mut store, mut evicted) = (ContentStore::new(policy, packets, bytes), Vec::new());
        for (value, uri) in names.iter().enumerate() {
            store.insert(&name(uri), value as u32, 10, Time::ZERO, &mut evicted);
        }
        (store, evicted)
    }

    #[test]
    fn lru_evicts_what_has_answered_least_recently() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 2, 1000, &["/a", "/b"]);
        assert_eq!(cs.lookup(&name("/a"), false, false, NOW), Some(0));
        cs.insert(&name("/c"), 2, 10, Time::ZERO, &mut evicted);
        assert_eq!(evicted, [1]);
        assert_eq!((cs.hits(), cs.misses(), cs.len(), cs.bytes()), (1, 0, 2, 20));
    }

    #[test]
    fn fifo_evicts_what_came_first() {
        let (mut cs, mut evicted) = store(CsPolicy::Fifo, 2, 1000, &["/a", "/b"]);
        assert_eq!(cs.lookup(&name("/a"), false, false, NOW), Some(0));
        cs.insert(&name("/c"), 2, 10, Time::ZERO, &mut evicted);
        assert_eq!(evicted, [0]);
        assert_eq!(cs.lookup(&name("/a"), false, false, NOW), None);
        assert_eq!((cs.hits(), cs.misses()), (1, 1));
    }

    #[test]
    fn the_bound_in_bytes_holds_too() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 100, 25, &["/a", "/b", "/c"]);
        assert_eq!(evicted, [0]);
        assert!(cs.insert(&name("/d"), 3, 25, Time::ZERO, &mut evicted));
        assert_eq!((evicted.as_slice(), cs.bytes()), (&[0, 1, 2][..], 25));
        assert!(!cs.insert(&name("/e"), 4, 26, Time::ZERO, &mut evicted));
        assert_eq!((evicted.last(), cs.len()), (Some(&4), 1));
        // A version that is too large also removes the old one.
        assert!(!cs.insert(&name("/d"), 5, 26, Time::ZERO, &mut evicted));
        assert_eq!((&evicted[4..], cs.len(), cs.bytes()), (&[3, 5][..], 0, 0));
        assert!(!cs.insert(&name("/f"), 6, u64::MAX, Time::ZERO, &mut evicted));
    }

    #[test]
    fn a_store_with_a_bound_of_zero_is_off() {
        for (packets, bytes) in [(0, 100), (100, 0)] {
            let (mut cs, evicted) = store(CsPolicy::Lru, packets, bytes, &["/a"]);
            assert_eq!(evicted, [0]);
            assert_eq!(cs.lookup(&name("/a"), false, false, NOW), None);
            assert_eq!((cs.is_on(), cs.is_empty(), cs.misses()), (false, true, 0));
        }
    }

    #[test]
    fn the_same_name_replaces() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 3, 100, &["/a", "/b", "/a"]);
        assert_eq!(evicted, [0]);
        assert_eq!((cs.len(), cs.bytes()), (2, 20));
        assert_eq!(cs.lookup(&name("/a"), false, false, NOW), Some(2));
        // A larger version can push out others, but never itself.
        assert!(cs.insert(&name("/b"), 3, 95, Time::ZERO, &mut evicted));
        assert_eq!((&evicted[1..], cs.len(), cs.bytes()), (&[1, 2][..], 1, 95));
    }

    #[test]
    fn must_be_fresh_wants_a_fresh_one() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 10, 100, &["/stale"]);
        cs.insert(&name("/soon"), 1, 1, NOW + Span::from_nanos(1), &mut evicted);
        cs.insert(&name("/over"), 2, 1, NOW, &mut evicted);
        cs.insert(&name("/ever"), 3, 1, Time::NEVER, &mut evicted);
        for (uri, fresh) in [("/stale", None), ("/soon", Some(1)), ("/over", None), ("/ever", Some(3))] {
            assert_eq!(cs.lookup(&name(uri), false, true, NOW), fresh, "{uri}");
            assert_eq!(cs.lookup(&name(uri), true, true, NOW), fresh, "{uri}");
            assert!(cs.lookup(&name(uri), false, false, NOW).is_some());
        }
        assert_eq!(cs.lookup(&name("/"), true, true, NOW), Some(3));
    }

    #[test]
    fn can_be_prefix_finds_the_newest_member_before_and_after_the_first_such_lookup() {
        let (mut cs, mut evicted) = store(CsPolicy::Fifo, 10, 1000, &["/a/1", "/a/2", "/b", "/a"]);
        assert_eq!(cs.lookup(&name("/a"), true, false, NOW), Some(3));
        assert_eq!(cs.lookup(&name("/a/1"), true, false, NOW), Some(0));
        assert_eq!(cs.lookup(&name("/a/1/x"), true, false, NOW), None);
        assert_eq!(cs.lookup(&name("/"), true, false, NOW), Some(3));
        cs.insert(&name("/a/1"), 9, 10, Time::ZERO, &mut evicted);
        assert_eq!(cs.lookup(&name("/a"), true, false, NOW), Some(9));
        assert_eq!(cs.erase(&name("/a/1"), 5, &mut evicted), 1);
        assert_eq!(cs.lookup(&name("/a"), true, false, NOW), Some(3));
        assert_eq!(cs.lookup(&name("/a"), false, false, NOW), Some(3));
    }

    #[test]
    fn the_search_for_a_fresh_member_is_bounded() {
        let (mut cs, mut evicted) = (ContentStore::new(CsPolicy::Lru, 1000, 1000), Vec::new());
        let mut segment = HashedName::new();
        for n in 0..=FRESH_SCAN as u64 {
            segment.assign_segment(&HASHER, &name("/a"), n).unwrap();
            let fresh_until = if n == 0 { Time::NEVER } else { Time::ZERO };
            cs.insert(&segment, n as u32, 1, fresh_until, &mut evicted);
        }
        assert_eq!(cs.lookup(&name("/a"), true, true, NOW), None);
        cs.erase(&segment, 1, &mut evicted);
        assert_eq!(cs.lookup(&name("/a"), true, true, NOW), Some(0));
    }

    #[test]
    fn erasing_stops_at_the_limit_most_recent_first() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 10, 1000, &["/a/1", "/b", "/a/2", "/a/3"]);
        assert_eq!(cs.erase(&name("/a"), 2, &mut evicted), 2);
        assert_eq!(evicted, [3, 2]);
        let left: Vec<u32> = cs.iter().map(|(_, value)| value).collect();
        assert_eq!(left, [1, 0]);
        assert_eq!(cs.erase(&name("/"), usize::MAX, &mut evicted), 2);
        assert_eq!((cs.len(), cs.bytes()), (0, 0));
    }

    #[test]
    fn new_limits_evict_at_once() {
        let (mut cs, mut evicted) = store(CsPolicy::Lru, 10, 1000, &["/a", "/b", "/c", "/d"]);
        cs.set_limits(3, 1000, &mut evicted);
        cs.set_limits(3, 20, &mut evicted);
        assert_eq!(evicted, [0, 1]);
        cs.set_limits(3, 0, &mut evicted);
        assert_eq!((evicted.as_slice(), cs.limits()), (&[0, 1, 2, 3][..], (3, 0)));
    }

    #[test]
    fn under_every_policy_a_store_of_one_data_has_the_last_and_an_unlimited_one_has_all() {
        for (policy, _) in CsPolicy::ALL {
            let (cs, evicted) = store(policy, 1, u64::MAX, &["/a", "/b", "/b", "/c"]);
            assert_eq!((cs.len(), evicted.as_slice()), (1, &[0, 1, 2][..]), "{policy:?}");
            assert_eq!((cs.insertions(), cs.evictions()), (3, 2), "{policy:?}");
            let (cs, evicted) = store(policy, usize::MAX, u64::MAX, &["/a", "/b", "/c"]);
            assert_eq!((cs.len(), evicted.len()), (3, 0), "{policy:?}");
        }
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(HashedName, u64, u64),
        Lookup(HashedName, bool, bool),
        Erase(HashedName, usize),
        Limits(usize, u64),
        Later(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            10 => (few_names(4), 0u64..12, 0u64..100).prop_map(|(n, b, f)| Op::Insert(n, b, f)),
            10 => (few_names(4), any::<bool>(), any::<bool>()).prop_map(|(n, c, m)| Op::Lookup(n, c, m)),
            1 => (few_names(3), 0usize..4).prop_map(|(n, l)| Op::Erase(n, l)),
            1 => (0usize..12, 0u64..80).prop_map(|(p, b)| Op::Limits(p, b)),
            4 => (0u64..30).prop_map(Op::Later),
        ]
    }

    #[derive(Clone, Debug)]
    struct Held {
        name: HashedName,
        value: u32,
        bytes: u64,
        fresh_until: Time,
        inserted: usize,
    }

    /// Runs the operations on the store and on a list, most recent first.
    fn compare(policy: CsPolicy, ask_first: bool, ops: Vec<Op>) -> Result<(), TestCaseError> {
        let (mut cs, mut evicted) = (ContentStore::new(policy, 8, 60), Vec::new());
        let (mut model, mut gone): (Vec<Held>, Vec<u32>) = (Vec::new(), Vec::new());
        let (mut packets, mut bound, mut now, mut misses, mut hits) = (8, 60, Time::ZERO, 0, 0);
        if ask_first {
            for uri in ["/", "/a", "/a/a", "/a/a/a", "/a/a/a/a"] {
                cs.lookup(&name(uri), true, false, now);
                misses += 1;
            }
        }
        for (number, op) in ops.into_iter().enumerate() {
            let on = packets > 0 && bound > 0;
            match op {
                Op::Later(ns) => now += Span::from_nanos(ns),
                Op::Insert(name, bytes, fresh) => {
                    let (value, fresh_until) = (number as u32, now + Span::from_nanos(fresh));
                    if let Some(at) = model.iter().position(|held| held.name == name) {
                        gone.push(model.remove(at).value);
                    }
                    let stored = on && bytes <= bound;
                    prop_assert_eq!(cs.insert(&name, value, bytes, fresh_until, &mut evicted), stored);
                    if stored {
                        model.insert(0, Held { name, value, bytes, fresh_until, inserted: number });
                    } else {
                        gone.push(value);
                    }
                }
                Op::Lookup(name, can_be_prefix, must_be_fresh) => {
                    let answers = |held: &&Held| {
                        (held.name == name || can_be_prefix && held.name.wire().starts_with(name.wire()))
                            && (!must_be_fresh || held.fresh_until > now)
                    };
                    let best =
                        model.iter().filter(answers).max_by_key(|held| held.inserted).map(|held| held.value);
                    prop_assert_eq!(cs.lookup(&name, can_be_prefix, must_be_fresh, now), best);
                    match model.iter().position(|held| Some(held.value) == best) {
                        Some(at) => {
                            hits += 1;
                            if policy == CsPolicy::Lru {
                                let held = model.remove(at);
                                model.insert(0, held);
                            }
                        }
                        None => misses += u64::from(on),
                    }
                }
                Op::Erase(prefix, limit) => {
                    let mut erased = 0;
                    model.retain(|held| {
                        let keep = erased == limit || !held.name.wire().starts_with(prefix.wire());
                        if !keep {
                            erased += 1;
                            gone.push(held.value);
                        }
                        keep
                    });
                    prop_assert_eq!(cs.erase(&prefix, limit, &mut evicted), erased);
                }
                Op::Limits(new_packets, new_bound) => {
                    (packets, bound) = (new_packets, new_bound);
                    cs.set_limits(packets, bound, &mut evicted);
                }
            }
            let over = |model: &Vec<Held>| {
                packets == 0
                    || bound == 0
                    || model.len() > packets
                    || model.iter().map(|h| h.bytes).sum::<u64>() > bound
            };
            while !model.is_empty() && over(&model) {
                gone.extend(model.pop().map(|held| held.value));
            }
            prop_assert_eq!(&evicted, &gone);
            prop_assert!(cs.iter().map(|(_, value)| value).eq(model.iter().map(|held| held.value)));
            prop_assert_eq!((cs.len(), cs.bytes()), (model.len(), model.iter().map(|held| held.bytes).sum()));
            prop_assert_eq!((cs.hits(), cs.misses()), (hits, misses));
        }
        cs.set_limits(0, 0, &mut evicted);
        prop_assert!(cs.node_index.is_empty(), "prefixes without members are forgotten");
        Ok(())
    }

    /// The rules for each policy: the bounds, every Data that came, and the answers.
    fn keeps_to_the_rules(policy: CsPolicy, ops: &[Op]) -> Result<(), TestCaseError> {
        let (mut cs, mut evicted) = (ContentStore::new(policy, 4, 30), Vec::new());
        let mut held: std::collections::BTreeMap<Vec<u8>, u32> = std::collections::BTreeMap::new();
        let (mut came, mut limits) = (0, (4, 30));
        for op in ops {
            let before = evicted.len();
            match op {
                Op::Insert(name, bytes, _) => {
                    came += 1;
                    let stored = cs.insert(name, came, *bytes, Time::NEVER, &mut evicted);
                    prop_assert_eq!(stored, limits.0 > 0 && limits.1 > 0 && *bytes <= limits.1);
                    held.insert(name.wire().to_vec(), came);
                }
                Op::Lookup(name, _, _) => {
                    let known = held.get(name.wire()).copied();
                    prop_assert_eq!(cs.lookup(name, false, false, NOW), known, "{:?}", policy);
                }
                Op::Erase(name, most) => {
                    cs.erase(name, *most, &mut evicted);
                }
                Op::Limits(packets, bytes) => {
                    limits = (*packets, *bytes);
                    cs.set_limits(*packets, *bytes, &mut evicted);
                }
                Op::Later(_) => {}
            }
            held.retain(|_, value| !evicted[before..].contains(value));
            prop_assert!(cs.len() <= limits.0 && cs.bytes() <= limits.1);
            prop_assert_eq!(cs.len(), held.len());
            prop_assert_eq!(evicted.len() + held.len(), came as usize);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn every_policy_keeps_the_bounds_and_what_it_holds_answers(
            policy in prop::sample::select(CsPolicy::ALL.map(|policy| policy.0).to_vec()),
            ops in prop::collection::vec(op(), 0..200),
        ) {
            keeps_to_the_rules(policy, &ops)?;
        }

        #[test]
        fn lru_agrees_with_a_list(ops in prop::collection::vec(op(), 0..200)) {
            compare(CsPolicy::Lru, true, ops)?;
        }

        #[test]
        fn fifo_agrees_with_a_list(ask_first: bool, ops in prop::collection::vec(op(), 0..200)) {
            compare(CsPolicy::Fifo, ask_first, ops)?;
        }
    }
}
