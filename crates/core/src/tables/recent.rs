//! A bounded table of names, by use: the least recently used name makes room for another.
//!
//! It has a vector of entries, a hash table from name to entry, and a list of all entries by use.

use hashbrown::HashTable;

use crate::name::HashedName;

/// No entry.
const NONE: u32 = u32::MAX;

/// Memory of a name beside its own buffers, bytes: an entry, in a vector of which up to an eighth is unused,
/// and a place in a hash table (5 for each of at most 16/7 places). A table of fewer than five names takes the
/// memory of five: its owner charges at least these.
pub(crate) const ENTRY_BYTES: usize = size_of::<Entry<u32>>() * 9 / 8 + 12;

/// Names by use, each with a value and a charge, bytes.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    most: usize,
    entries: Vec<Entry<T>>,
    /// The first free entry. The others follow by `older`.
    free: u32,
    newest: u32,
    oldest: u32,
    index: HashTable<u32>,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<T> {
    name: HashedName,
    value: T,
    charge: u32,
    newer: u32,
    older: u32,
}

impl<T: Copy> Recent<T> {
    /// Makes an empty table of at most `most` names, and at least one.
    pub(crate) const fn new(most: usize) -> Recent<T> {
        let (free, newest, oldest) = (NONE, NONE, NONE);
        Recent { most, entries: Vec::new(), free, newest, oldest, index: HashTable::new(), bytes: 0 }
    }

    /// The charges of all names, bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The value of a name, which counts as used now.
    #[inline]
    pub(crate) fn get(&mut self, name: &HashedName) -> Option<T> {
        let same = |&at: &u32| self.entries[at as usize].name == *name;
        let at = *self.index.find(name.hash(), same)?;
        if self.newest != at {
            self.unlink(at);
            self.push_newest(at);
        }
        Some(self.entries[at as usize].value)
    }

    /// Inserts a name that is not there yet. Names that make room for it are appended to `forgotten`;
    /// afterwards at most `most_bytes` are charged. The new name always stays, whatever its charge is.
    pub(crate) fn insert(
        &mut self,
        name: &HashedName,
        value: T,
        charge: u32,
        most_bytes: u64,
        forgotten: &mut Vec<T>,
    ) {
        let beside = most_bytes.saturating_sub(u64::from(charge));
        while self.oldest != NONE && (self.index.len() >= self.most || self.bytes > beside) {
            forgotten.push(self.forget_oldest());
        }
        let entry = Entry { name: name.clone(), value, charge, newer: NONE, older: NONE };
        let at = self.place(entry);
        let entries = &self.entries;
        self.index.insert_unique(name.hash(), at, |&at| entries[at as usize].name.hash());
        self.bytes += u64::from(charge);
        self.push_newest(at);
    }

    /// All values, most recent first.
    pub(crate) fn values(&self) -> impl Iterator<Item = T> {
        let entry = |at: u32| self.entries.get(at as usize);
        let newest = entry(self.newest);
        core::iter::successors(newest, move |newer| entry(newer.older)).map(|entry| entry.value)
    }

    fn place(&mut self, entry: Entry<T>) -> u32 {
        if let Some(free) = self.entries.get_mut(self.free as usize) {
            let older = core::mem::replace(free, entry).older;
            return core::mem::replace(&mut self.free, older);
        }
        // Grow by an eighth instead of doubling, because unused memory counts too.
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve_exact(8 + self.entries.len() / 8);
        }
        self.entries.push(entry);
        self.entries.len() as u32 - 1
    }

    fn forget_oldest(&mut self) -> T {
        let at = self.oldest;
        self.unlink(at);
        let entry = &mut self.entries[at as usize];
        if let Ok(place) = self.index.find_entry(entry.name.hash(), |&other| other == at) {
            place.remove();
        }
        // A free entry keeps no buffers.
        entry.name = HashedName::new();
        self.bytes -= u64::from(entry.charge);
        entry.older = core::mem::replace(&mut self.free, at);
        entry.value
    }

    #[inline]
    fn push_newest(&mut self, at: u32) {
        let older = core::mem::replace(&mut self.newest, at);
        let entry = &mut self.entries[at as usize];
        (entry.newer, entry.older) = (NONE, older);
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = at,
            None => self.oldest = at,
        }
    }

    #[inline]
    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match self.entries.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::{few_names, name};
    use proptest::prelude::*;

    #[test]
    fn the_new_name_stays_though_it_is_charged_more_than_there_may_be() {
        let (mut recent, mut forgotten) = (Recent::new(9), Vec::new());
        for (value, uri, charge) in [(0, "/a", 10), (1, "/b", 10), (2, "/c", 31)] {
            recent.insert(&name(uri), value, charge, 30, &mut forgotten);
        }
        assert_eq!((&forgotten[..], recent.bytes(), recent.get(&name("/c"))), (&[0, 1][..], 31, Some(2)));
        recent.insert(&name("/a"), 3, 30, 30, &mut forgotten);
        assert_eq!((&forgotten[..], recent.bytes(), recent.entries.len()), (&[0, 1, 2][..], 30, 2));
    }

    proptest! {
        /// A list of names, most recent first.
        #[test]
        fn it_is_a_list_by_use(
            most in 1usize..6,
            steps in prop::collection::vec((few_names(2), 1u32..40, 1u64..120), 0..60),
        ) {
            let mut recent = Recent::new(most);
            let mut model: Vec<(HashedName, u32, u32)> = Vec::new();
            for (value, (name, charge, most_bytes)) in steps.into_iter().enumerate() {
                let (value, at) = (value as u32, model.iter().position(|(known, ..)| *known == name));
                prop_assert_eq!(recent.get(&name), at.map(|at| model[at].1));
                let (mut forgotten, mut gone) = (Vec::new(), Vec::new());
                match at {
                    Some(at) => model[..=at].rotate_right(1),
                    None => {
                        recent.insert(&name, value, charge, most_bytes, &mut forgotten);
                        let held = |model: &[(HashedName, u32, u32)]| model.iter().map(|(.., charge)| u64::from(*charge)).sum::<u64>();
                        while !model.is_empty() && (model.len() == most || held(&model) + u64::from(charge) > most_bytes) {
                            gone.extend(model.pop().map(|(_, value, _)| value));
                        }
                        model.insert(0, (name, value, charge));
                    }
                }
                prop_assert_eq!(forgotten, gone);
                prop_assert!(recent.values().eq(model.iter().map(|(_, value, _)| *value)));
                prop_assert_eq!(recent.bytes(), model.iter().map(|(.., charge)| u64::from(*charge)).sum::<u64>());
            }
        }
    }
}
