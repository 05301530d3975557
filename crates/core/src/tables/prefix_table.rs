//! A table by name prefix with longest prefix match, used by FIB and strategy choice.
//!
//! A slab of entries and a hash table from prefix to entry. Longest prefix match tries the
//! prefixes of the name from the longest down, skipping the lengths at which there is no entry at
//! all; a name carries its prefix hashes, so each try is one probe.

use crate::name::{HashedName, LengthCounts};
use hashbrown::HashTable;
use smallvec::SmallVec;

/// Values by name prefix. Indices are small and dense, and are used again after a removal.
#[derive(Clone, Debug)]
pub(crate) struct PrefixTable<T> {
    entries: Vec<PrefixEntry<T>>,
    free: Vec<u32>,
    index: HashTable<u32>,
    lengths: LengthCounts,
}

/// Prefixes up to this long, bytes, are kept in place.
const IN_PLACE: usize = 40;

/// A prefix and its value; `None` once it is removed. There may be a million, so the prefix is kept without the hashes of
/// shorter ones.
#[derive(Clone, Debug)]
struct PrefixEntry<T> {
    hash: u64,
    /// The component TLVs.
    wire: SmallVec<[u8; IN_PLACE]>,
    /// The number of components.
    len: u8,
    value: Option<T>,
}

impl<T> PrefixTable<T> {
    pub(crate) fn new() -> PrefixTable<T> {
        let (entries, free) = (Vec::new(), Vec::new());
        PrefixTable { entries, free, index: HashTable::new(), lengths: LengthCounts::new() }
    }

    /// The place of a prefix, which is given `value` if it has none.
    pub(crate) fn find_or_insert(&mut self, prefix: &HashedName, value: impl FnOnce() -> T) -> u32 {
        if let Some(known) = self.exact(prefix) {
            return known;
        }
        let (hash, wire, len) = (prefix.hash(), SmallVec::from_slice(prefix.wire()), prefix.len() as u8);
        let entry = PrefixEntry { hash, wire, len, value: Some(value()) };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        let entries = &self.entries;
        self.index.insert_unique(hash, place, |&i| entries[i as usize].hash);
        self.lengths.add(prefix.len());
        place
    }

    /// Takes out what is at this place.
    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let entry = self.entries.get_mut(place as usize)?;
        let value = entry.value.take()?;
        if let Ok(slot) = self.index.find_entry(entry.hash, |&i| i == place) {
            slot.remove();
        }
        self.lengths.remove(usize::from(entry.len));
        entry.wire = SmallVec::new();
        self.free.push(place);
        Some(value)
    }

    /// The place of the longest prefix of `name`.
    #[inline]
    pub(crate) fn lookup(&self, name: &HashedName) -> Option<u32> {
        self.lengths.down_from(name.len()).find_map(|len| self.at(name, len))
    }

    /// The place of exactly this prefix.
    #[inline]
    pub(crate) fn exact(&self, prefix: &HashedName) -> Option<u32> {
        self.at(prefix, prefix.len())
    }

    /// The place of the first `len` components of `name`.
    #[inline]
    fn at(&self, name: &HashedName, len: usize) -> Option<u32> {
        let (hash, wire) = (name.hash_of(len), name.prefix_wire(len));
        let same = |&i: &u32| {
            let entry = &self.entries[i as usize];
            entry.hash == hash && entry.wire[..] == *wire
        };
        self.index.find(hash, same).copied()
    }

    /// What is at this place.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.entries.get(place as usize)?.value.as_ref()
    }

    /// The prefix at this place, as component TLVs.
    pub(crate) fn prefix(&self, place: u32) -> Option<&[u8]> {
        self.entries.get(place as usize).filter(|entry| entry.value.is_some()).map(|entry| &entry.wire[..])
    }

    /// The number of components of the prefix at this place.
    #[inline]
    pub(crate) fn name_len(&self, place: u32) -> usize {
        usize::from(self.entries[place as usize].len)
    }

    /// What is at this place, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place as usize)?.value.as_mut()
    }

    /// How many prefixes there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// One more than the largest place ever given out.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.entries.len()
    }

    /// Whether no length is tried in vain.
    #[cfg(test)]
    pub(crate) fn has_no_lengths(&self) -> bool {
        self.lengths.is_empty()
    }

    /// All prefixes by ascending place, as component TLVs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8], &T)> {
        let all = self.entries.iter().enumerate();
        all.filter_map(|(place, entry)| Some((place as u32, &entry.wire[..], entry.value.as_ref()?)))
    }
}
