//! Values by name in a bounded table: the one that was used least recently makes room.
//!
//! A slab of entries, a hash table from name to entry, and one list of all entries from the newest to the oldest. All in
//! O(1); a free place keeps the memory of its name.

use crate::name::HashedName;
use hashbrown::HashTable;

/// No entry.
const NONE: u32 = u32::MAX;

/// What an entry takes, bytes, apart from what follows from its name: itself, and its place in a hash table (5 for each of
/// at most 16/7 places).
pub(crate) const ENTRY_BYTES: usize = size_of::<Entry<u32>>() + 12;

/// Values by name.
#[derive(Debug)]
pub(crate) struct Lru<T> {
    entries: Vec<Entry<T>>,
    index: HashTable<u32>,
    /// The first free entry; the others follow by `older`.
    free: u32,
    newest: u32,
    oldest: u32,
    len: usize,
    most: usize,
    bytes: u64,
}

#[derive(Debug)]
struct Entry<T> {
    name: HashedName,
    value: T,
    /// What it is charged with.
    bytes: u64,
    newer: u32,
    older: u32,
}

impl<T: Copy> Lru<T> {
    /// An empty table of at most so many values.
    pub(crate) fn new(most: usize) -> Lru<T> {
        Lru {
            entries: Vec::new(),
            index: HashTable::new(),
            free: NONE,
            newest: NONE,
            oldest: NONE,
            len: 0,
            most,
            bytes: 0,
        }
    }

    /// What all values are charged with, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All values, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> {
        let mut at = self.newest;
        core::iter::from_fn(move || {
            let entry = self.entries.get(at as usize)?;
            at = entry.older;
            Some(entry.value)
        })
    }

    /// The value of a name, which is the newest from now on.
    #[inline]
    pub(crate) fn get(&mut self, name: &HashedName) -> Option<T> {
        let is_it = |&at: &u32| self.entries[at as usize].name == *name;
        let at = *self.index.find(name.hash(), is_it)?;
        if at != self.newest {
            self.unlink(at);
            self.push_newest(at);
        }
        Some(self.entries[at as usize].value)
    }

    /// Adds a value for a name that has none. Values make room until no more than `most_bytes` are charged; they are
    /// appended to `gone`, the oldest first.
    pub(crate) fn insert(
        &mut self,
        name: &HashedName,
        value: T,
        bytes: u64,
        most_bytes: u64,
        gone: &mut Vec<T>,
    ) {
        while self.len > 0 && (self.len >= self.most || self.bytes + bytes > most_bytes) {
            gone.push(self.remove_oldest());
        }
        let at = self.free;
        let at = match self.entries.get_mut(at as usize) {
            Some(entry) => {
                self.free = entry.older;
                entry.name.assign(name);
                (entry.value, entry.bytes) = (value, bytes);
                at
            }
            None => {
                // By an eighth, and not twice as large: memory that is not used counts too.
                if self.entries.len() == self.entries.capacity() {
                    self.entries.reserve_exact(8 + self.entries.len() / 8);
                }
                self.entries.push(Entry { name: name.clone(), value, bytes, newer: NONE, older: NONE });
                self.entries.len() as u32 - 1
            }
        };
        let entries = &self.entries;
        self.index.insert_unique(name.hash(), at, |&at| entries[at as usize].name.hash());
        self.len += 1;
        self.bytes += bytes;
        self.push_newest(at);
    }

    /// There is one.
    fn remove_oldest(&mut self) -> T {
        let at = self.oldest;
        self.unlink(at);
        let entry = &mut self.entries[at as usize];
        entry.older = self.free;
        let (value, bytes, hash) = (entry.value, entry.bytes, entry.name.hash());
        self.free = at;
        self.len -= 1;
        self.bytes -= bytes;
        if let Ok(place) = self.index.find_entry(hash, |&known| known == at) {
            place.remove();
        }
        value
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None => self.oldest = newer,
        }
    }

    fn push_newest(&mut self, at: u32) {
        let older = core::mem::replace(&mut self.newest, at);
        let entry = &mut self.entries[at as usize];
        (entry.newer, entry.older) = (NONE, older);
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = at,
            None => self.oldest = at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::name;
    use proptest::prelude::*;

    #[test]
    fn the_one_used_least_recently_makes_room() {
        let (mut table, mut gone) = (Lru::new(2), Vec::new());
        table.insert(&name("/a"), 1, 10, 100, &mut gone);
        table.insert(&name("/b"), 2, 10, 100, &mut gone);
        assert_eq!(table.get(&name("/a")), Some(1));
        table.insert(&name("/c"), 3, 10, 100, &mut gone);
        assert_eq!((&gone[..], table.get(&name("/b"))), (&[2][..], None));
        assert_eq!((table.iter().collect::<Vec<_>>(), table.bytes()), (vec![3, 1], 20));
        table.insert(&name("/d"), 4, 500, 100, &mut gone);
        assert_eq!(
            (&gone[..], table.bytes()),
            (&[2, 1, 3][..], 500),
            "the newest is there whatever it takes"
        );
    }

    proptest! {
        #[test]
        fn it_is_a_list_that_is_sorted_by_use(
            steps in prop::collection::vec((0u8..9, any::<bool>(), 1u64..40), 0..200),
        ) {
            let (mut table, mut gone) = (Lru::new(5), Vec::new());
            let (mut model, mut left): (Vec<(u8, u64)>, _) = (Vec::new(), Vec::new());
            for (key, inserts, bytes) in steps {
                let name = name(&format!("/{key}"));
                let known = model.iter().position(|(known, _)| *known == key);
                prop_assert_eq!(table.get(&name), known.map(|_| key));
                if let Some(at) = known {
                    let used = model.remove(at);
                    model.insert(0, used);
                } else if inserts {
                    let held = |model: &[(u8, u64)]| model.iter().map(|(_, bytes)| bytes).sum::<u64>();
                    while !model.is_empty() && (model.len() >= 5 || held(&model) + bytes > 90) {
                        left.extend(model.pop().map(|(key, _)| key));
                    }
                    model.insert(0, (key, bytes));
                    table.insert(&name, key, bytes, 90, &mut gone);
                }
                prop_assert_eq!(table.iter().collect::<Vec<_>>(), model.iter().map(|(key, _)| *key).collect::<Vec<_>>());
                prop_assert_eq!(&gone, &left);
            }
        }
    }
}
