//! A table by name prefix with longest prefix match, used by FIB and strategy choice.
//!
//! A slab of entries and a hash table from prefix to entry. Longest prefix match tries the
//! prefixes of the name from the longest down, skipping the lengths at which there is no entry at
//! all; a name carries its prefix hashes, so each try is one probe.
//!
//! There may be a million prefixes, and packets wait while one is put in or taken out. So no part of it is ever copied as
//! a whole, nor does a prefix have an allocation of its own.

use super::place_index::PlaceIndex;
use super::runs::{Run, Runs};
use super::slab::Slab;
use crate::name::{HashedName, LengthCounts};
use crate::prefetch::prefetch;

/// Values by name prefix. Indices are small and dense, and are used again after a removal.
#[derive(Clone, Debug)]
pub(crate) struct PrefixTable<T> {
    entries: Slab<PrefixEntry<T>>,
    free: Slab<u32>,
    index: PlaceIndex,
    /// The bytes of long prefixes.
    wires: Runs<u8>,
    lengths: LengthCounts,
}

/// Prefixes up to this long, bytes, are kept in place.
const IN_PLACE: usize = 40;

/// A prefix, without the hashes of shorter ones, and its value; `None` once it is removed.
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

    /// The place of a prefix, which is given `value` if it has none.
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

    /// Takes out what is at this place.
    pub(crate) fn remove(&mut self, place: u32) -> Option<T> {
        let entry = self.entries.get_mut(place)?;
        let value = entry.value.take()?;
        self.index.remove(entry.hash, place);
        self.lengths.remove(usize::from(entry.len));
        entry.wire.clear(&mut self.wires);
        self.free.push(place);
        Some(value)
    }

    /// The place of the longest prefix of `name`.
    #[inline]
    pub(crate) fn lookup(&self, name: &HashedName) -> Option<u32> {
        match self.lengths.only() {
            Some(len) if len <= name.len() => self.at(name, len),
            Some(_) => None,
            None => self.lengths.down_from(name.len()).find_map(|len| self.at(name, len)),
        }
    }

    /// Has the processor fetch the fields that a look-up needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        self.entries.prefetch_fields();
        self.index.prefetch_fields();
        prefetch(&self.lengths);
    }

    /// Has the processor fetch what these fields lead to.
    #[inline]
    pub(crate) fn prefetch_behind(&self) {
        if let Some(entry) = self.entries.get(0) {
            prefetch(entry);
        }
    }

    /// Has the processor fetch where the first prefix of this name that a look-up tries is looked up.
    #[inline]
    pub(crate) fn prefetch_for(&self, name: &HashedName) {
        if let Some(len) = self.lengths.only().filter(|len| *len <= name.len()) {
            self.index.prefetch(name.hash_of(len));
        }
    }

    /// The place of exactly this prefix.
    #[inline]
    pub(crate) fn exact(&self, prefix: &HashedName) -> Option<u32> {
        self.at(prefix, prefix.len())
    }

    /// The place of the first `len` components of `name`.
    #[inline]
    fn at(&self, name: &HashedName, len: usize) -> Option<u32> {
        let hash = name.hash_of(len);
        self.index.find(hash, |place| {
            let entry = &self.entries[place];
            entry.hash == hash && entry.wire.values(&self.wires) == name.prefix_wire(len)
        })
    }

    /// What is at this place.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<&T> {
        self.entries.get(place)?.value.as_ref()
    }

    /// The prefix at this place, as component TLVs.
    pub(crate) fn prefix(&self, place: u32) -> Option<&[u8]> {
        let entry = self.entries.get(place).filter(|entry| entry.value.is_some())?;
        Some(entry.wire.values(&self.wires))
    }

    /// The number of components of the prefix at this place.
    #[inline]
    pub(crate) fn name_len(&self, place: u32) -> usize {
        usize::from(self.entries[place].len)
    }

    /// What is at this place, to change it.
    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place)?.value.as_mut()
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
        all.filter_map(|(place, entry)| {
            Some((place as u32, entry.wire.values(&self.wires), entry.value.as_ref()?))
        })
    }
}
