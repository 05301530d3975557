//! The FIB: name prefixes and their next hops.
//!
//! A slab of entries and a hash table from prefix to entry. Longest prefix match tries the
//! prefixes of the name from the longest down, skipping the lengths at which there is no entry at
//! all; a name carries its prefix hashes, so each try is one probe.

use crate::ids::FaceId;
use crate::name::{HashedName, LengthCounts};
use hashbrown::HashTable;
use smallvec::SmallVec;

/// An entry of the FIB. Ids are small and dense, and are used again after a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FibId(pub u32);

/// Where Interests of a prefix can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The face.
    pub face: FaceId,
    /// What it costs, in no unit of its own: only the order matters to most strategies.
    pub cost: u64,
}

/// A prefix and its next hops.
#[derive(Clone, Debug, Default)]
pub struct FibEntry {
    name: HashedName,
    next_hops: SmallVec<[NextHop; 2]>,
}

impl FibEntry {
    /// The prefix.
    #[inline]
    pub fn name(&self) -> &HashedName {
        &self.name
    }

    /// The next hops by ascending cost, then face. Empty only in an entry that was removed.
    #[inline]
    pub fn next_hops(&self) -> &[NextHop] {
        &self.next_hops
    }
}

/// The forwarding information base.
#[derive(Clone, Debug)]
pub struct Fib {
    entries: Vec<FibEntry>,
    free: Vec<u32>,
    index: HashTable<u32>,
    lengths: LengthCounts,
    /// What a wrong id is answered with.
    blank: FibEntry,
}

impl Default for Fib {
    fn default() -> Fib {
        Fib::new()
    }
}

impl Fib {
    /// An empty FIB.
    pub fn new() -> Fib {
        Fib {
            entries: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            lengths: LengthCounts::new(),
            blank: FibEntry::default(),
        }
    }

    /// Adds a next hop to a prefix, or changes its cost.
    pub fn insert(&mut self, prefix: &HashedName, face: FaceId, cost: u64) -> FibId {
        let id = match self.exact(prefix) {
            Some(id) => id,
            None => self.add(prefix),
        };
        let next_hops = &mut self.entries[id.0 as usize].next_hops;
        next_hops.retain(|hop| hop.face != face);
        let place = next_hops.partition_point(|hop| (hop.cost, hop.face) < (cost, face));
        next_hops.insert(place, NextHop { face, cost });
        id
    }

    fn add(&mut self, prefix: &HashedName) -> FibId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(FibEntry::default());
            self.entries.len() as u32 - 1
        });
        self.entries[index as usize].name.assign(prefix);
        let entries = &self.entries;
        self.index.insert_unique(prefix.hash(), index, |&i| entries[i as usize].name.hash());
        self.lengths.add(prefix.len());
        FibId(index)
    }

    /// Removes one next hop of a prefix, and the prefix with its last; says whether it was there.
    pub fn remove_next_hop(&mut self, prefix: &HashedName, face: FaceId) -> bool {
        self.exact(prefix).is_some_and(|id| self.remove_hop(id, face))
    }

    /// Removes all next hops through a face; says how many there were.
    pub fn remove_face(&mut self, face: FaceId) -> usize {
        (0..self.entries.len()).filter(|&i| self.remove_hop(FibId(i as u32), face)).count()
    }

    fn remove_hop(&mut self, id: FibId, face: FaceId) -> bool {
        let entry = &mut self.entries[id.0 as usize];
        let Some(place) = entry.next_hops.iter().position(|hop| hop.face == face) else {
            return false;
        };
        entry.next_hops.remove(place);
        if entry.next_hops.is_empty() {
            if let Ok(slot) = self.index.find_entry(entry.name.hash(), |&i| i == id.0) {
                slot.remove();
            }
            self.lengths.remove(entry.name.len());
            entry.name.release();
            self.free.push(id.0);
        }
        true
    }

    /// The entry of the longest prefix of `name` that has one.
    #[inline]
    pub fn lookup(&self, name: &HashedName) -> Option<FibId> {
        self.lengths.down_from(name.len()).find_map(|len| self.at(name, len))
    }

    /// The entry of exactly this prefix.
    #[inline]
    pub fn exact(&self, prefix: &HashedName) -> Option<FibId> {
        self.at(prefix, prefix.len())
    }

    /// The entry of the first `len` components of `name`.
    #[inline]
    fn at(&self, name: &HashedName, len: usize) -> Option<FibId> {
        let (hash, wire) = (name.hash_of(len), name.prefix_wire(len));
        let same = |&i: &u32| {
            let entry = &self.entries[i as usize];
            entry.name.hash() == hash && entry.name.wire() == wire
        };
        self.index.find(hash, same).map(|&i| FibId(i))
    }

    /// An entry; one without next hops if it was removed or never existed.
    #[inline]
    pub fn entry(&self, id: FibId) -> &FibEntry {
        self.entries.get(id.0 as usize).unwrap_or(&self.blank)
    }

    /// How many prefixes there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are no prefixes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// One more than the largest id ever given out: the size of a table indexed by [`FibId`].
    #[inline]
    pub fn id_bound(&self) -> usize {
        self.entries.len()
    }

    /// All entries by ascending id.
    pub fn iter(&self) -> impl Iterator<Item = (FibId, &FibEntry)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| !entry.next_hops.is_empty()).map(|(i, entry)| (FibId(i as u32), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::{few_names, name};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn hop(face: u32, cost: u64) -> NextHop {
        NextHop { face: FaceId(face), cost }
    }

    #[test]
    fn the_longest_prefix_wins() {
        let mut fib = Fib::new();
        let root = fib.insert(&name("/"), FaceId(1), 0);
        let long = fib.insert(&name("/a/b"), FaceId(2), 0);
        assert_eq!(fib.lookup(&name("/a/b/c/d")), Some(long));
        assert_eq!(fib.lookup(&name("/a/b")), Some(long));
        assert_eq!(fib.lookup(&name("/a/c")), Some(root));
        assert_eq!(fib.lookup(&name("/")), Some(root));
        assert_eq!(fib.exact(&name("/a")), None);
        assert_eq!(fib.entry(long).name(), &name("/a/b"));
        assert!(fib.remove_next_hop(&name("/"), FaceId(1)));
        assert_eq!(fib.lookup(&name("/a/c")), None);
    }

    #[test]
    fn next_hops_are_in_order_of_cost_then_face() {
        let mut fib = Fib::default();
        for (face, cost) in [(3, 5), (2, 5), (9, 1), (4, 7)] {
            fib.insert(&name("/a"), FaceId(face), cost);
        }
        let id = fib.insert(&name("/a"), FaceId(3), 0);
        assert_eq!(fib.entry(id).next_hops(), [hop(3, 0), hop(9, 1), hop(2, 5), hop(4, 7)]);
        assert_eq!(fib.len(), 1);
    }

    #[test]
    fn ids_stay_dense_and_a_removed_entry_has_no_next_hops() {
        let mut fib = Fib::new();
        let a = fib.insert(&name("/a"), FaceId(1), 0);
        let b = fib.insert(&name("/b"), FaceId(1), 0);
        assert_eq!((a, b, fib.id_bound()), (FibId(0), FibId(1), 2));
        assert!(!fib.remove_next_hop(&name("/a"), FaceId(2)));
        assert!(fib.remove_next_hop(&name("/a"), FaceId(1)));
        assert!(fib.entry(a).next_hops().is_empty() && fib.entry(FibId(77)).next_hops().is_empty());
        assert_eq!(fib.insert(&name("/c"), FaceId(1), 0), a);
        let ids: Vec<FibId> = fib.iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [a, b]);
        assert_eq!(fib.remove_face(FaceId(1)), 2);
        assert!(fib.is_empty());
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(HashedName, u32, u64),
        Remove(HashedName, u32),
        RemoveFace(u32),
        Lookup(HashedName),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (few_names(4), 0u32..4, 0u64..4).prop_map(|(n, f, c)| Op::Insert(n, f, c)),
            5 => (few_names(4), 0u32..4).prop_map(|(n, f)| Op::Remove(n, f)),
            1 => (0u32..4).prop_map(Op::RemoveFace),
            8 => few_names(6).prop_map(Op::Lookup),
        ]
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map_of_prefixes(ops in prop::collection::vec(op(), 0..200)) {
            let mut fib = Fib::new();
            let mut model: BTreeMap<Vec<u8>, BTreeMap<u32, u64>> = BTreeMap::new();
            for op in ops {
                match op {
                    Op::Insert(prefix, face, cost) => {
                        let id = fib.insert(&prefix, FaceId(face), cost);
                        prop_assert_eq!(fib.exact(&prefix), Some(id));
                        model.entry(prefix.wire().to_vec()).or_default().insert(face, cost);
                    }
                    Op::Remove(prefix, face) => {
                        let there = model.get_mut(prefix.wire()).is_some_and(|hops| hops.remove(&face).is_some());
                        prop_assert_eq!(fib.remove_next_hop(&prefix, FaceId(face)), there);
                    }
                    Op::RemoveFace(face) => {
                        let count = model.values_mut().filter_map(|hops| hops.remove(&face)).count();
                        prop_assert_eq!(fib.remove_face(FaceId(face)), count);
                    }
                    Op::Lookup(name) => {
                        let best = (0..=name.len()).rev().map(|n| name.prefix_wire(n)).find(|w| model.contains_key(*w));
                        let found = fib.lookup(&name).map(|id| fib.entry(id));
                        prop_assert_eq!(found.map(|e| e.name().wire()), best);
                        if let Some(entry) = found {
                            let mut hops: Vec<NextHop> = model[entry.name().wire()].iter().map(|(f, c)| hop(*f, *c)).collect();
                            hops.sort_by_key(|h| (h.cost, h.face));
                            prop_assert_eq!(entry.next_hops(), &hops[..]);
                        }
                    }
                }
                model.retain(|_, hops| !hops.is_empty());
                prop_assert_eq!(fib.len(), model.len());
                prop_assert_eq!(fib.iter().count(), model.len());
                prop_assert_eq!(fib.lengths.is_empty(), model.is_empty(), "no length is tried in vain");
            }
        }
    }
}
