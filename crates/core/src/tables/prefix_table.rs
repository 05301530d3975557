//! A table by name prefix with longest prefix match, used by FIB and strategy choice.
//!
//! It has a slab of entries and a hash table from prefix to entry. Longest prefix match tries the prefixes of
//! the name from the longest down, and skips lengths without entries. A name carries its prefix hashes, so
//! each try is one probe.
//!
//! There may be a million prefixes, and packets wait during an insertion or removal. So no part of the table
//! is ever copied as a whole, and a prefix has no allocation of its own.

use super::place_index::PlaceIndex;
use super::runs::{Run, Runs};
use super::slab::Slab;
use crate::name::{HashedName, LengthCounts};
use crate::prefetch::prefetch;

/// Values by name prefix. Indices are small and dense, and are reused after a removal.
#[derive(Clone, Debug)]
pub(crate) struct PrefixTable<T> {
    entries: Slab<PrefixEntry<T>>,
    free: Slab<u32>,
    index: PlaceIndex,
    /// The bytes of long prefixes.
    wires: Runs<u8>,
    lengths: LengthCounts,
}

/// Prefixes up to this length, bytes, are stored inline.
const IN_PLACE: usize = 40;

/// A prefix, without the hashes of shorter ones, and its value; `None` after its removal.
#[derive(Clone, Debug)]
struct PrefixEntry<T> {
    hash: u64,
    /// The component TLVs.
    wire: Run<u8, IN_PLACE>,
    /// The number of components.
    len: u8,
    value: Option<T>,
}

impl<T> PrefixTable<T> {
    pub(crate) fn new() -> PrefixTable<T> {
        let (entries, free) = (Slab::new(), Slab::new());
        let (index, wires) = (PlaceIndex::new(), Runs::new());
        PrefixTable { entries, free, index, wires, lengths: LengthCounts::new() }
    }

    /// The index of a prefix. A prefix without a value gets `value`.
    pub(crate) fn find_or_insert(&mut self, prefix: &HashedName, value: impl FnOnce() -> T) -> u32 {
        if let Some(known) = self.exact(prefix) {
            return known;
        }
        let (hash, len) = (prefix.hash(), prefix.len() as u8);
        let wire = Run::new(prefix.wire(), &mut self.wires);
        let entry = PrefixEntry { hash, wire, len, value: Some(value()) };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place] = entry;
                place
            }
            None => self.entries.push(entry),
        };
        self.index.insert(hash, place);
        self.lengths.add(prefix.len());
        place
    }

    /// Removes the value at this index.
    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let entry = self.entries.get_mut(place)?;
        let value = entry.value.take()?;
        self.index.remove(entry.hash, place);
        self.lengths.remove(usize::from(entry.len));
        entry.wire.clear(&mut self.wires);
        self.free.push(place);
        Some(value)
    }

    /// The index of the longest matching prefix of `name`.
    #[inline]
    pub(crate) fn lookup(&self, name: &HashedName) -> Option<u32> {
        match self.lengths.only() {
            Some(len) if len <= name.len() => self.at(name, len),
            Some(_) => None,
            None => self.lengths.down_from(name.len()).find_map(|len| self.at(name, len)),
        }
    }

    /// Prefetches the fields that a look-up needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        self.entries.prefetch_fields();
        self.index.prefetch_fields();
        prefetch(&self.lengths);
    }

    /// Prefetches the memory that these fields refer to.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        if let Some(entry) = self.entries.get(0) {
            prefetch(entry);
        }
    }

    /// Prefetches the memory for the first prefix that a look-up of this name tries.
    #[inline]
    pub(crate) fn prefetch_for(&self, name: &HashedName) {
        if let Some(len) = self.lengths.only().filter(|len| *len <= name.len()) {
            self.index.prefetch(name.hash_of(len));
        }
    }

    /// The index of exactly this prefix.
    #[inline]
    pub(crate) fn exact(&self, prefix: &HashedName) -> Option<u32> {
        self.at(prefix, prefix.len())
    }

    /// The index of the first `len` components of `name`.
    #[inline]
    fn at(&self, name: &HashedName, len: usize) -> Option<u32> {
        let hash = name.hash_of(len);
        self.index.find(hash, |place| {
            let entry = &self.entries[place];
            entry.hash == hash && entry.wire.values(&self.wires) == name.prefix_wire(len)
        })
    }

    /// The value at this index.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.entries.get(place)?.value.as_ref()
    }

    /// The prefix at this index, as component TLVs.
    pub(crate) fn prefix(&self, place: u32) -> Option<&[u8]> {
        let entry = self.entries.get(place).filter(|entry| entry.value.is_some())?;
        Some(entry.wire.values(&self.wires))
    }

    /// The number of components of the prefix at this index.
    #[inline]
    pub(crate) fn name_len(&self, place: u32) -> usize {
        usize::from(self.entries[place].len)
    }

    /// The value at this index, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place)?.value.as_mut()
    }

    /// The number of prefixes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// One more than the largest index ever assigned.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether no length is counted, so that a look-up tries none.
    #[cfg(test)]
    pub(crate) fn has_no_lengths(&self) -> bool {
        self.lengths.is_empty()
    }

    /// All prefixes by ascending index, as component TLVs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8], &T)> {
        let all = self.entries.iter().enumerate();
        all.filter_map(|(place, entry)| {
            Some((place as u32, entry.wire.values(&self.wires), entry.value.as_ref()?))
        })
    }
}
