//! The FIB: name prefixes and their next hops, in a prefix table.

use crate::ids::FaceId;
use crate::name::HashedName;
use crate::prefetch::prefetch;
use crate::tables::blocks::Blocks;
use crate::tables::prefix_table::PrefixTable;
use crate::tables::runs::{Run, Runs};

/// Id of a FIB entry. Ids are small and dense, and are reused after a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FibId(pub u32);

/// No entry.
pub(crate) const NO_ENTRY: FibId = FibId(u32::MAX);

/// A next hop of a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHop {
    /// The face towards the next hop.
    pub face: FaceId,
    /// The cost, without unit. Most strategies use only the order.
    pub cost: u64,
}

/// The next hops of a prefix by ascending cost; those of equal cost in order of insertion. Most prefixes have
/// one.
type NextHops = Run<NextHop, 1>;

/// The forwarding information base.
#[derive(Clone, Debug)]
pub struct Fib {
    table: PrefixTable<NextHops>,
    /// The next hops of entries that have several.
    hops: Runs<NextHop>,
    /// The entries of each face, so that removing a face needs no search.
    by_face: Vec<Blocks>,
}

impl Default for Fib {
    fn default() -> Fib {
        Fib::new()
    }
}

impl Fib {
    /// Makes an empty FIB.
    pub fn new() -> Fib {
        Fib { table: PrefixTable::new(), hops: Runs::new(), by_face: Vec::new() }
    }

    /// Adds a next hop to a prefix, or changes its cost. It is placed after existing ones of equal cost.
    pub fn insert(&mut self, prefix: &HashedName, face: FaceId, cost: u64) -> FibId {
        let id = self.table.find_or_insert(prefix, NextHops::default);
        if let Some(next_hops) = self.table.get_mut(id) {
            take_out(next_hops, face, &mut self.hops);
            let place = next_hops.values(&self.hops).partition_point(|hop| hop.cost <= cost);
            next_hops.insert(place, NextHop { face, cost }, &mut self.hops);
        }
        let at = face.0 as usize;
        if self.by_face.len() <= at {
            self.by_face.resize_with(at + 1, Blocks::new);
        }
        self.by_face[at].insert(id, |other| other.cmp(&id));
        FibId(id)
    }

    /// Removes one next hop of a prefix, and the prefix together with its last one. Returns what was removed.
    pub fn remove_next_hop(&mut self, prefix: &HashedName, face: FaceId) -> Removed {
        self.exact(prefix).map_or(Removed::Nothing, |id| self.remove_hop(id, face))
    }

    /// Removes at most `most` next hops through a face. Returns the entries, and whether the next hop was the
    /// entry's last, which removes the prefix.
    pub fn remove_face(&mut self, face: FaceId, most: usize) -> Vec<(FibId, bool)> {
        let Some(entries) = self.by_face.get(face.0 as usize) else { return Vec::new() };
        let some: Vec<FibId> = entries.iter().take(most).map(FibId).collect();
        some.into_iter().map(|id| (id, matches!(self.remove_hop(id, face), Removed::Prefix(_)))).collect()
    }

    /// Returns whether a prefix has a next hop through this face.
    pub(crate) fn has_routes_of(&self, face: FaceId) -> bool {
        self.by_face.get(face.0 as usize).is_some_and(|entries| !entries.is_empty())
    }

    fn remove_hop(&mut self, id: FibId, face: FaceId) -> Removed {
        let Some(next_hops) = self.table.get_mut(id.0) else {
            return Removed::Nothing;
        };
        if !take_out(next_hops, face, &mut self.hops) {
            return Removed::Nothing;
        }
        if let Some(entries) = self.by_face.get_mut(face.0 as usize) {
            entries.remove(|other| other.cmp(&id.0));
        }
        if !next_hops.is_empty() {
            return Removed::NextHop;
        }
        self.table.remove(id.0);
        Removed::Prefix(id)
    }

    /// The entry of the longest matching prefix of `name`.
    #[inline]
    pub fn lookup(&self, name: &HashedName) -> Option<FibId> {
        self.table.lookup(name).map(FibId)
    }

    /// The entry of the longest matching prefix of `name`, and its next hops.
    #[inline]
    pub(crate) fn route(&self, name: &HashedName) -> Option<(FibId, &[NextHop])> {
        let id = self.lookup(name)?;
        Some((id, self.next_hops(id)))
    }

    /// Prefetches the memory for looking up the route of a name.
    #[inline]
    pub(crate) fn prefetch_for(&self, name: &HashedName) {
        self.table.prefetch_for(name);
    }

    /// Prefetches the fields that each packet needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        prefetch(&self.hops);
        self.table.prefetch_fields();
    }

    /// Prefetches the memory that these fields refer to.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        self.table.prefetch_behind();
    }

    /// The entry of exactly this prefix.
    #[inline]
    pub fn exact(&self, prefix: &HashedName) -> Option<FibId> {
        self.table.exact(prefix).map(FibId)
    }

    /// The next hops of an entry by ascending cost, those of equal cost in order of insertion. Empty if the
    /// entry was removed or never existed.
    #[inline]
    pub fn next_hops(&self, id: FibId) -> &[NextHop] {
        self.table.get(id.0).map_or(&[], |next_hops| next_hops.values(&self.hops))
    }

    /// The prefix of an entry, as component TLVs; `None` if it was removed or never existed.
    pub fn prefix(&self, id: FibId) -> Option<&[u8]> {
        self.table.prefix(id.0)
    }

    /// The number of components of an entry's prefix.
    #[inline]
    pub(crate) fn prefix_len(&self, id: FibId) -> usize {
        self.table.name_len(id.0)
    }

    /// The number of prefixes.
    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns whether there are no prefixes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest id ever assigned: the size of a table indexed by [`FibId`].
    #[inline]
    pub fn id_bound(&self) -> usize {
        self.table.bound()
    }

    /// All entries by ascending id: the component TLVs of the prefix, and next hops.
    pub fn iter(&self) -> impl Iterator<Item = (FibId, &[u8], &[NextHop])> {
        self.table.iter().map(|(id, prefix, next_hops)| (FibId(id), prefix, next_hops.values(&self.hops)))
    }
}

/// Removes the next hop by a face. Returns whether there was one.
fn take_out(next_hops: &mut NextHops, face: FaceId, hops: &mut Runs<NextHop>) -> bool {
    let found = next_hops.values(hops).iter().position(|hop| hop.face == face);
    if let Some(at) = found {
        next_hops.remove(at, hops);
    }
    found.is_some()
}

/// The result of a removal from the FIB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// Nothing: there was no such next hop.
    Nothing,
    /// One next hop; others remain.
    NextHop,
    /// The last next hop, and with it the prefix with this id.
    Prefix(FibId),
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
        assert_eq!(fib.iter().find(|(id, ..)| *id == long).unwrap().1, name("/a/b").wire());
        assert_eq!(fib.remove_next_hop(&name("/"), FaceId(1)), Removed::Prefix(root));
        assert_eq!(fib.lookup(&name("/a/c")), None);
    }

    #[test]
    fn next_hops_are_in_order_of_cost_then_as_they_were_added() {
        let mut fib = Fib::default();
        for (face, cost) in [(3, 5), (2, 5), (9, 1), (4, 7)] {
            fib.insert(&name("/a"), FaceId(face), cost);
        }
        let id = fib.insert(&name("/a"), FaceId(3), 0);
        assert_eq!(fib.next_hops(id), [hop(3, 0), hop(9, 1), hop(2, 5), hop(4, 7)]);
        for face in [3, 1] {
            fib.insert(&name("/a"), FaceId(face), 5);
        }
        fib.insert(&name("/a"), FaceId(2), 5);
        assert_eq!(fib.next_hops(id), [hop(9, 1), hop(3, 5), hop(1, 5), hop(2, 5), hop(4, 7)]);
        assert_eq!(fib.len(), 1);
    }

    #[test]
    fn ids_stay_dense_and_a_removed_entry_has_no_next_hops() {
        let mut fib = Fib::new();
        let a = fib.insert(&name("/a"), FaceId(1), 0);
        let b = fib.insert(&name("/b"), FaceId(1), 0);
        assert_eq!((a, b, fib.id_bound()), (FibId(0), FibId(1), 2));
        assert_eq!(fib.remove_next_hop(&name("/a"), FaceId(2)), Removed::Nothing);
        assert_eq!(fib.remove_next_hop(&name("/a"), FaceId(1)), Removed::Prefix(a));
        assert!(fib.next_hops(a).is_empty() && fib.next_hops(FibId(77)).is_empty());
        assert_eq!([a, b, FibId(77)].map(|id| fib.prefix(id)), [None, Some(name("/b").wire()), None]);
        assert_eq!(fib.insert(&name("/c"), FaceId(1), 0), a);
        let ids: Vec<FibId> = fib.iter().map(|(id, ..)| id).collect();
        assert_eq!(ids, [a, b]);
        fib.insert(&name("/b"), FaceId(2), 0);
        assert_eq!(fib.remove_face(FaceId(1), 1), [(a, true)]);
        assert_eq!(fib.remove_face(FaceId(1), 2), [(b, false)]);
        assert_eq!(fib.remove_face(FaceId(2), 2), [(b, true)]);
        assert!(fib.is_empty());
    }

    fn remove(hops: &mut Vec<NextHop>, face: u32) -> bool {
        let before = hops.len();
        hops.retain(|hop| hop.face != FaceId(face));
        hops.len() < before
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(HashedName, u32, u64),
        Remove(HashedName, u32),
        RemoveFace(u32, usize),
        Lookup(HashedName),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            6 => (few_names(4), 0u32..4, 0u64..4).prop_map(|(n, f, c)| Op::Insert(n, f, c)),
            5 => (few_names(4), 0u32..4).prop_map(|(n, f)| Op::Remove(n, f)),
            1 => (0u32..4, 1usize..4).prop_map(|(f, most)| Op::RemoveFace(f, most)),
            8 => few_names(6).prop_map(Op::Lookup),
        ]
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map_of_prefixes(ops in prop::collection::vec(op(), 0..200)) {
            let mut fib = Fib::new();
            let mut model: BTreeMap<Vec<u8>, Vec<NextHop>> = BTreeMap::new();
            for op in ops {
                match op {
                    Op::Insert(prefix, face, cost) => {
                        let id = fib.insert(&prefix, FaceId(face), cost);
                        prop_assert_eq!(fib.exact(&prefix), Some(id));
                        let hops = model.entry(prefix.wire().to_vec()).or_default();
                        hops.retain(|hop| hop.face != FaceId(face));
                        hops.push(hop(face, cost));
                    }
                    Op::Remove(prefix, face) => {
                        let there = model.get_mut(prefix.wire()).is_some_and(|hops| remove(hops, face));
                        prop_assert_eq!(fib.remove_next_hop(&prefix, FaceId(face)) != Removed::Nothing, there);
                    }
                    Op::RemoveFace(face, most) => {
                        let gone = |hops: &mut Vec<NextHop>| remove(hops, face).then_some(hops.is_empty());
                        let of_face: Vec<bool> = model.values_mut().filter_map(gone).collect();
                        let mut removed = Vec::new();
                        while fib.has_routes_of(FaceId(face)) {
                            let part = fib.remove_face(FaceId(face), most);
                            prop_assert_eq!(part.len(), most.min(of_face.len() - removed.len()));
                            removed.extend(part);
                        }
                        prop_assert_eq!(fib.remove_face(FaceId(face), most), []);
                        prop_assert_eq!(removed.len(), of_face.len());
                        let last = |(_, is_last): &&(FibId, bool)| *is_last;
                        let lasts = of_face.iter().filter(|is_last| **is_last).count();
                        prop_assert_eq!(removed.iter().filter(last).count(), lasts);
                    }
                    Op::Lookup(name) => {
                        let best = (0..=name.len()).rev().map(|n| name.prefix_wire(n)).find(|w| model.contains_key(*w));
                        let found = fib.lookup(&name).and_then(|id| fib.iter().find(|(other, ..)| *other == id));
                        prop_assert_eq!(found.map(|(_, prefix, _)| prefix), best);
                        if let Some((_, prefix, next_hops)) = found {
                            let mut hops = model[prefix].clone();
                            hops.sort_by_key(|hop| hop.cost);
                            prop_assert_eq!(next_hops, &hops[..]);
                        }
                    }
                }
                model.retain(|_, hops| !hops.is_empty());
                prop_assert_eq!(fib.len(), model.len());
                prop_assert_eq!(fib.iter().count(), model.len());
                prop_assert_eq!(fib.table.has_no_lengths(), model.is_empty(), "no length is tried in vain");
            }
        }
    }
}
