//! The PIT: Interests that were forwarded and not yet answered.
//!
//! It has a slab of entries that are reused with their buffers, and a hash index from name to entry. Both
//! grow in small steps: no packet waits while a large table is copied.
//!
//! Entries differ in name, in the selectors CanBePrefix and MustBeFresh, or in the forwarding hint: a
//! consumer that asks another network must not answer for this one. The entries of one name form a chain, so
//! a name needs one probe. There are up to four without a hint; the node bounds the others.
//!
//! A Data is matched by its PIT token if possible: the token is the entry's handle. A token comes from a
//! stranger, so the name is compared all the same. Otherwise the Data's name is looked up, and each of its
//! prefixes with a length for which there are CanBePrefix entries.
//!
//! Entries expire by a timing wheel, up to one of its slots late.
//!
//! The table is bounded in bytes, and faces share the bound (`shares`): while [`Pit::first_to_lose`] returns
//! an entry, the table is too large. The charges of faces are recorded from the beginning
//! ([`Pit::list_holdings`]), or as soon as an eighth of the bound is in use.

mod entry;
mod shares;

pub(crate) use entry::Fact;
pub use entry::{InRecord, OutRecord, PitEntry};

use super::place_index::PlaceIndex;
use super::slab::Slab;
use super::timing_wheel::TimingWheel;
use crate::ids::{FaceId, GroupId, PitId};
use crate::name::{HashedName, LengthCounts, NameHasher, TYPE_IMPLICIT_DIGEST};
use crate::packet::PacketId;
use crate::prefetch::prefetch;
use crate::tables::fib::NO_ENTRY;
use crate::units::Time;
use shares::{Holdings, Kind};
use smallvec::SmallVec;
use std::collections::{BTreeMap, btree_map};

/// No entry.
const NONE: u32 = u32::MAX;

/// Memory of an entry beside its buffers, bytes: the entry itself, its links in the wheel (12) and in the
/// list of its face (24), its slot in the index (12 on average; 21 to 32 after
/// the index has grown), its signals
/// beside the PIT (32), and the count of the digest at the end of its name, if it has one (32).
const PLACE: u32 = size_of::<PitEntry>() as u32 + 12 + 24 + 12 + 32 + 32;
/// Memory of a further in-record, bytes: it may be half of a buffer that has grown, and it has links (24).
const FURTHER: u32 = 2 * size_of::<InRecord>() as u32 + 24;
/// Larger buffers of records are not kept for the next entry.
const KEPT_RECORDS: usize = 8;

/// The pending Interest table.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Pit {
    entries: Slab<PitEntry>,
    /// The first free entry. The others follow by their `sibling`.
    free: u32,
    len: usize,
    /// The largest `len` since [`Pit::begin_most`].
    most: usize,
    /// The first entry of each name.
    index: PlaceIndex,
    /// Number of entries that share their name with an earlier one.
    siblings: usize,
    /// Number of CanBePrefix entries of each name length.
    prefix_lengths: LengthCounts,
    /// Number of entries whose name ends in an implicit digest, by the hash of the name before it. Hashes
    /// suffice: a collision only makes the node compute a digest in vain.
    digests: BTreeMap<u64, u32>,
    /// Bytes charged to each face; `None` until they are counted.
    holdings: Option<Box<Holdings>>,
    /// The bound, bytes.
    bytes: u64,
    /// Bytes of all buffers of entries, including free ones.
    buffers: u64,
    wheel: TimingWheel,
    hasher: NameHasher,
    /// Free entries keep no buffers while the buffers exceed this.
    most_kept: u64,
}

impl Pit {
    /// Makes an empty PIT of at most `bytes` in total (and at most 2^31 - 1 entries).
    ///
    /// One half is for entries that need no buffers, and a quarter for others. The rest is for the places
    /// that these others leave behind, at worst two thirds of a quarter, and for buffers of free entries, a
    /// sixteenth.
    pub fn new(hasher: NameHasher, bytes: u64) -> Pit {
        let bytes = bytes.min(u64::from(PLACE) << 31);
        Pit {
            hasher,
            holdings: None,
            bytes,
            buffers: 0,
            most_kept: bytes / 16,
            entries: Slab::new(),
            free: NONE,
            len: 0,
            most: 0,
            index: PlaceIndex::new(),
            prefix_lengths: LengthCounts::new(),
            siblings: 0,
            digests: BTreeMap::new(),
            wheel: TimingWheel::new(),
        }
    }

    /// The number of pending Interests.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The largest number of Interests that were pending at once since [`Pit::begin_most`].
    pub fn most(&self) -> usize {
        self.most
    }

    /// Counts the largest number of pending Interests from now on.
    pub fn begin_most(&mut self) {
        self.most = self.len;
    }

    /// Returns whether no Interest is pending.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more than the largest [`PitId::index`] so far: the size of a table beside the PIT.
    #[inline]
    pub fn id_bound(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether an Interest may request a Data of this name by its implicit digest. If so,
    /// [`Pit::matches`] needs the digest.
    #[inline]
    pub fn wants_digest(&self, data_name: &HashedName) -> bool {
        !self.digests.is_empty() && self.digests.contains_key(&data_name.hash())
    }

    /// The entry of this name, these selectors and this hint
    /// ([`Packet::hint_hash`](crate::packet::Packet::hint_hash); 0 without one), and whether it is new.
    ///
    /// A new entry has no records and does not expire until [`Pit::extend_expiry`] sets its expiry. No face
    /// is charged for it until [`Pit::add_in_record`].
    #[inline]
    pub fn find_or_insert(
        &mut self,
        name: &HashedName,
        can_be_prefix: bool,
        must_be_fresh: bool,
        hint: u32,
        now: Time,
    ) -> (PitId, bool) {
        let first = self.first_of(name.hash(), |known| known == name);
        let mut last = first;
        while last != NONE {
            let entry = &self.entries[last];
            if entry.has(can_be_prefix, must_be_fresh, hint) {
                return (self.id(last), false);
            }
            if entry.sibling == NONE {
                break;
            }
            last = entry.sibling;
        }
        let new = allocate(&mut self.entries, &mut self.wheel, &mut self.holdings, &mut self.free);
        if first == NONE {
            self.index.insert(name.hash(), new);
        } else {
            self.entries[last].sibling = new;
            self.siblings += 1;
        }
        self.wheel.catch_up(now);
        self.len += 1;
        self.most = self.most.max(self.len);
        if can_be_prefix {
            self.prefix_lengths.add(name.len());
        }
        if name.implicit_digest().is_some() {
            *self.digests.entry(name.hash_of(name.len() - 1)).or_default() += 1;
        }
        let entry = &mut self.entries[new];
        if entry.facts.has(Fact::Buffers) || name.is_long() {
            let before = entry.buffer_bytes();
            entry.name.assign(name);
            self.buffers += entry.note_buffers();
            self.buffers -= before;
        } else {
            entry.name.assign(name);
        }
        entry.can_be_prefix = can_be_prefix;
        entry.must_be_fresh = must_be_fresh;
        entry.hint = hint;
        entry.live = true;
        (self.id(new), true)
    }

    /// Adds a downstream to an entry. The first one is charged for the entry, each other one for its record.
    #[inline]
    pub fn add_in_record(&mut self, id: PitId, record: InRecord) {
        let Some(entry) = self.entries.get_mut(id.index).filter(|e| e.is(id)) else { return };
        if entry.in_records.is_empty() {
            if let Some(holdings) = &mut self.holdings {
                let (kind, bytes) = entry.charge();
                holdings.disown(id.index);
                holdings.own(id.index, record.face, kind, bytes);
            }
            entry.in_records.push(InRecord { holding: id.index, ..record });
            return;
        }
        let mut holding = id.index;
        if let Some(holdings) = &mut self.holdings {
            holding = holdings.join(id.index, record.face, FURTHER);
            if !record.aggregated {
                holdings.renew(id.index);
            }
        }
        let before = entry.buffer_bytes();
        entry.in_records.push(InRecord { holding, ..record });
        self.buffers += entry.note_buffers();
        self.buffers -= before;
    }

    /// Updates the record of a downstream that has sent its Interest again.
    pub fn renew_in_record(&mut self, id: PitId, record: InRecord) {
        let Some(known) = self.entry_mut(id).and_then(|entry| entry.in_record(record.face)) else { return };
        let holding = known.holding;
        *known = InRecord { holding, ..record };
        if let Some(holdings) = &mut self.holdings {
            holdings.renew(holding);
        }
    }

    /// Removes a downstream that no longer waits. If it was charged for the entry, the next downstream takes
    /// over the charge. If there is none, the charge stays until the entry is removed.
    pub fn remove_in_record(&mut self, id: PitId, face: FaceId) -> Option<InRecord> {
        let entry = self.entries.get_mut(id.index).filter(|e| e.is(id))?;
        let place = entry.in_records.iter().position(|record| record.face == face)?;
        let before = entry.buffer_bytes();
        let removed = entry.in_records.remove(place);
        entry.facts.set(Fact::Answered, false);
        let records = &mut entry.in_records;
        if records.spilled() && records.capacity() > KEPT_RECORDS.max(4 * records.len()) {
            records.shrink_to_fit();
        }
        self.buffers += entry.note_buffers();
        self.buffers -= before;
        let Some(holdings) = &mut self.holdings else { return Some(removed) };
        if removed.holding != id.index {
            holdings.leave(removed.holding);
        } else if let Some(next) = entry.in_records.first_mut() {
            let face = next.face;
            holdings.leave(core::mem::replace(&mut next.holding, id.index));
            let (kind, bytes) = entry.charge();
            holdings.disown(id.index);
            holdings.own(id.index, face, kind, bytes);
        }
        Some(removed)
    }

    /// Updates the charge of an entry that has one more out-record and may need more memory.
    #[inline]
    pub(crate) fn note_out_records(&mut self, id: PitId, before: u64) {
        let Some(entry) = self.entries.get_mut(id.index).filter(|e| e.is(id)) else { return };
        self.buffers += entry.note_buffers();
        self.buffers -= before;
        if let Some(holdings) = &mut self.holdings {
            let (kind, bytes) = entry.charge();
            holdings.recharge(id.index, kind, bytes);
        }
    }

    /// Makes an entry the first that its face loses: its Interest did not leave, so nothing answers it.
    pub fn put_first(&mut self, id: PitId) {
        if self.entry(id).is_some()
            && let Some(holdings) = &mut self.holdings
        {
            holdings.put_first(id.index);
        }
    }

    /// If the table exceeds its bound, the entry and the face to remove ([`Pit::remove_in_record`], or
    /// [`Pit::remove`] if it is the only face). It is the entry for which the face that holds most has waited
    /// longest.
    #[inline]
    pub fn first_to_lose(&mut self) -> Option<(PitId, FaceId)> {
        if self.holdings.is_none() && 8 * (self.len as u64 * u64::from(PLACE) + self.buffers) > self.bytes {
            self.list_holdings();
        }
        let (index, face) = self.holdings.as_mut()?.first_to_lose()?;
        Some((self.id(index), face))
    }

    /// The oldest entry that a face is charged for.
    pub fn oldest_of(&mut self, face: FaceId) -> Option<PitId> {
        self.list_holdings();
        self.holdings.as_mut()?.oldest_of(face).map(|index| self.id(index))
    }

    /// Bytes charged to a face.
    pub fn held_by(&self, face: FaceId) -> u64 {
        match &self.holdings {
            Some(holdings) => holdings.held_by(face),
            None => self.charges().filter(|charge| charge.0 == face).map(|charge| charge.1).sum(),
        }
    }

    /// Bytes charged to all faces.
    pub fn held(&self) -> u64 {
        match &self.holdings {
            Some(holdings) => holdings.held(),
            None => self.charges().map(|charge| charge.1).sum(),
        }
    }

    /// The charge of each downstream of each entry.
    fn charges(&self) -> impl Iterator<Item = (FaceId, u64)> {
        self.iter().flat_map(|(_, entry)| {
            entry.in_records.iter().enumerate().map(|(place, record)| {
                let bytes = if place == 0 { entry.charge().1 } else { FURTHER };
                (record.face, u64::from(bytes))
            })
        })
    }

    /// Starts to record the charges of faces. Pending Interests count in the order in which their downstreams
    /// came.
    pub fn list_holdings(&mut self) {
        if self.holdings.is_some() {
            return;
        }
        let mut holdings = Holdings::new(self.bytes / 2, self.bytes / 4);
        let live = self.entries.iter().zip(0..).filter(|(entry, _)| entry.live);
        let mut all: Vec<(Time, u32, usize)> = live
            .flat_map(|(entry, index)| {
                entry.in_records.iter().enumerate().map(move |(place, record)| (record.arrived, index, place))
            })
            .collect();
        all.sort_unstable();
        holdings.add_entries(self.entries.len());
        for (_, index, place) in all {
            let entry = &mut self.entries[index];
            let face = entry.in_records[place].face;
            entry.in_records[place].holding = match place {
                0 => {
                    let (kind, bytes) = entry.charge();
                    holdings.own(index, face, kind, bytes);
                    index
                }
                _ => holdings.join(index, face, FURTHER),
            };
        }
        self.holdings = Some(Box::new(holdings));
    }

    /// The entry of this name, these selectors and this hint, if there is one.
    #[inline]
    pub fn find_exact(
        &self,
        name: &HashedName,
        can_be_prefix: bool,
        must_be_fresh: bool,
        hint: u32,
    ) -> Option<PitId> {
        let mut all = self.of_name(name);
        all.find(|(_, entry)| entry.has(can_be_prefix, must_be_fresh, hint)).map(|(id, _)| id)
    }

    /// All entries of this name, in order of insertion.
    #[inline]
    pub fn of_name(&self, name: &HashedName) -> impl Iterator<Item = (PitId, &PitEntry)> {
        let mut next = self.first_of(name.hash(), |known| known == name);
        core::iter::from_fn(move || {
            let entry = self.entries.get(next)?;
            let id = self.id(next);
            next = entry.sibling;
            Some((id, entry))
        })
    }

    /// Notes that an entry keeps its Interest, which takes this much memory, bytes.
    pub(crate) fn keep(&mut self, id: PitId, interest: PacketId, bytes: u64) {
        let Some(entry) = self.entries.get_mut(id.index).filter(|e| e.is(id)) else { return };
        entry.kept = Some(interest);
        entry.kept_bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        if let Some(holdings) = &mut self.holdings {
            let (kind, bytes) = entry.charge();
            holdings.recharge(id.index, kind, bytes);
        }
    }

    /// The entry with this handle, if it still lives.
    #[inline]
    pub fn entry(&self, id: PitId) -> Option<&PitEntry> {
        self.entries.get(id.index).filter(|e| e.is(id))
    }

    /// The entry with this handle, if it still lives.
    #[inline]
    pub fn entry_mut(&mut self, id: PitId) -> Option<&mut PitEntry> {
        self.entries.get_mut(id.index).filter(|e| e.is(id))
    }

    /// Fills `out` with every entry that a Data satisfies: entries of exactly its name, and CanBePrefix
    /// entries of shorter names (longest name first, in order of insertion within a name).
    ///
    /// `token` is the PIT token of the Data; it is only a hint. `digest` is the SHA-256 digest of the Data.
    /// Without it, entries whose names end in a digest are not found. It is needed if [`Pit::wants_digest`]
    /// returns `true`.
    #[inline]
    pub fn matches(
        &self,
        data_name: &HashedName,
        token: Option<PitId>,
        digest: Option<&[u8; 32]>,
        out: &mut SmallVec<[PitId; 4]>,
    ) {
        out.clear();
        if self.siblings == 0 && self.prefix_lengths.is_empty() && self.digests.is_empty() {
            // At most one entry can match.
            if let Some(id) = token
                && self.entry(id).is_some_and(|entry| entry.name == *data_name)
            {
                out.push(id);
                return;
            }
        } else if let (false, Some(digest)) = (self.digests.is_empty(), digest) {
            self.match_digest(data_name, digest, out);
        }
        self.match_chain(data_name.hash(), data_name.wire(), false, out);
        if self.prefix_lengths.is_empty() || data_name.is_empty() {
            return;
        }
        for len in self.prefix_lengths.down_from(data_name.len() - 1) {
            self.match_chain(data_name.hash_of(len), data_name.prefix_wire(len), true, out);
        }
    }

    /// Appends the entries of one name: all, or only those with CanBePrefix.
    #[inline]
    fn match_chain(&self, hash: u64, wire: &[u8], prefixes_only: bool, out: &mut SmallVec<[PitId; 4]>) {
        let mut next = self.first_of(hash, |name| name.hash() == hash && name.wire() == wire);
        while next != NONE {
            let entry = &self.entries[next];
            if entry.can_be_prefix || !prefixes_only {
                out.push(self.id(next));
            }
            next = entry.sibling;
        }
    }

    /// Appends the entries of the Data's full name, which ends in its digest.
    fn match_digest(&self, data_name: &HashedName, digest: &[u8; 32], out: &mut SmallVec<[PitId; 4]>) {
        let mut tlv = [0; 34];
        tlv[0] = TYPE_IMPLICIT_DIGEST as u8;
        tlv[1] = 32;
        tlv[2..].copy_from_slice(digest);
        let hash = self.hasher.extend(data_name.hash(), &tlv);
        let is_it = |name: &HashedName| {
            name.hash() == hash && name.wire().strip_suffix(&tlv) == Some(data_name.wire())
        };
        let mut next = self.first_of(hash, is_it);
        while next != NONE {
            out.push(self.id(next));
            next = self.entries[next].sibling;
        }
    }

    /// The first entry of the name with this hash for which `is_it` returns `true`, or [`NONE`].
    #[inline]
    fn first_of(&self, hash: u64, is_it: impl Fn(&HashedName) -> bool) -> u32 {
        self.index.find(hash, |index| is_it(&self.entries[index].name)).unwrap_or(NONE)
    }

    /// Prefetches an entry.
    #[inline]
    pub(crate) fn prefetch(&self, id: PitId) {
        if let Some(entry) = self.entries.get(id.index) {
            entry.prefetch();
            self.wheel.prefetch(id.index);
        }
    }

    /// Prefetches the memory for looking up the entry of a name.
    #[inline]
    pub(crate) fn prefetch_name(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Prefetches the fields that each packet needs.
    #[inline]
    pub(crate) fn prefetch_fields(&self) {
        self.entries.prefetch_fields();
        self.index.prefetch_fields();
        prefetch(&self.siblings);
        prefetch(&self.digests);
        self.wheel.prefetch_fields();
    }

    /// The index of the free entry that is used next, if one is free.
    #[inline]
    pub(crate) fn next_place(&self) -> usize {
        self.free as usize
    }

    /// Prefetches the entry that is used next.
    #[inline]
    pub(crate) fn prefetch_free(&self) {
        if let Some(entry) = self.entries.get(self.free) {
            entry.prefetch();
            self.wheel.prefetch(self.free);
        }
    }

    /// Prefetches the neighbours of an entry in the wheel.
    #[inline]
    pub(crate) fn prefetch_neighbours(&self, id: PitId) {
        self.wheel.prefetch_neighbours(id.index);
    }

    /// Adds an entry for one downstream. The Interest has a short name without a digest, no selectors and no
    /// hint. `None` if there is already an entry of that name.
    #[inline]
    pub(crate) fn insert_plain(&mut self, name: &HashedName, record: InRecord, now: Time) -> Option<PitId> {
        if self.first_of(name.hash(), |known| known == name) != NONE {
            return None;
        }
        let index = allocate(&mut self.entries, &mut self.wheel, &mut self.holdings, &mut self.free);
        self.index.insert(name.hash(), index);
        self.wheel.catch_up(now);
        self.len += 1;
        self.most = self.most.max(self.len);
        let entry = &mut self.entries[index];
        entry.name.assign(name);
        (entry.can_be_prefix, entry.must_be_fresh, entry.hint, entry.live) = (false, false, 0, true);
        entry.in_records.push(InRecord { holding: index, ..record });
        entry.expires = record.expires;
        if record.expires != Time::NEVER {
            self.wheel.link(index, record.expires);
        }
        if let Some(holdings) = &mut self.holdings {
            let (kind, bytes) = entry.charge();
            holdings.own(index, record.face, kind, bytes);
        }
        Some(PitId { index, generation: entry.generation })
    }

    /// The entry with this handle, if it lives and no other entry can be satisfied by a Data of this name.
    #[inline]
    pub(crate) fn only_match(&self, data_name: &HashedName, id: PitId) -> Option<&PitEntry> {
        let is_simple = self.siblings == 0 && self.prefix_lengths.is_empty() && self.digests.is_empty();
        self.entry(id).filter(|entry| is_simple && entry.name == *data_name)
    }

    /// A live entry.
    #[inline]
    pub(crate) fn at(&mut self, id: PitId) -> &mut PitEntry {
        &mut self.entries[id.index]
    }

    /// Removes an entry that [`Pit::only_match`] found, with one downstream.
    #[inline]
    pub(crate) fn remove_plain(&mut self, id: PitId) {
        let index = id.index;
        let entry = &mut self.entries[index];
        if self.holdings.is_some() || entry.facts.has(Fact::Buffers) {
            self.remove(id);
            return;
        }
        self.wheel.unlink(index);
        entry.live = false;
        entry.generation = entry.generation.wrapping_add(1);
        self.index.remove(entry.name.hash(), index);
        entry.name.clear();
        entry.sibling = self.free;
        self.len -= 1;
        self.free = index;
    }

    /// Removes an entry. Returns whether it was there.
    #[inline]
    pub fn remove(&mut self, id: PitId) -> bool {
        if self.entry(id).is_none() {
            return false;
        }
        let index = id.index;
        self.wheel.unlink(index);
        let entry = &mut self.entries[index];
        let (hash, sibling) = (entry.name.hash(), entry.sibling);
        if entry.can_be_prefix {
            self.prefix_lengths.remove(entry.name.len());
        }
        if !self.digests.is_empty() && entry.name.implicit_digest().is_some() {
            let before = entry.name.hash_of(entry.name.len() - 1);
            if let btree_map::Entry::Occupied(mut count) = self.digests.entry(before) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
        entry.live = false;
        entry.generation = entry.generation.wrapping_add(1);
        self.len -= 1;
        let is_first = match sibling {
            NONE => self.index.remove(hash, index),
            sibling => self.index.replace(hash, index, sibling),
        };
        if !is_first {
            self.unchain(index, sibling, hash);
        } else if sibling != NONE {
            self.siblings -= 1;
        }
        let entry = &mut self.entries[index];
        if let Some(holdings) = &mut self.holdings {
            holdings.disown(index);
            for record in entry.in_records.iter().filter(|record| record.holding != index) {
                holdings.leave(record.holding);
            }
        }
        if entry.facts.has(Fact::Buffers) {
            self.buffers -= entry.buffer_bytes();
            entry.release(self.buffers < self.most_kept);
            self.buffers += entry.note_buffers();
        } else {
            entry.name.clear();
        }
        entry.sibling = self.free;
        self.free = index;
        true
    }

    /// Removes an entry that is not the first of its name from the chain.
    fn unchain(&mut self, index: u32, sibling: u32, hash: u64) {
        let name = &self.entries[index].name;
        let mut before = self.first_of(hash, |known| known == name);
        while before != NONE {
            let next = self.entries[before].sibling;
            if next == index {
                self.entries[before].sibling = sibling;
                self.siblings -= 1;
                return;
            }
            before = next;
        }
        debug_assert!(false, "every live entry is in the chain of its name");
    }

    /// Sets the expiry of an entry to `until`, if that is later than the present expiry or there is none yet.
    #[inline]
    pub fn extend_expiry(&mut self, id: PitId, until: Time) {
        let Some(expires) = self.entry(id).map(|entry| entry.expires) else { return };
        if until > expires || expires == Time::NEVER {
            self.set_expiry(id, until);
        }
    }

    /// Sets the expiry of an entry to `until`, earlier or later than before; [`Time::NEVER`] for no expiry.
    #[inline]
    pub fn set_expiry(&mut self, id: PitId, until: Time) {
        let Some(entry) = self.entry_mut(id) else { return };
        entry.expires = until;
        self.wheel.unlink(id.index);
        if until != Time::NEVER {
            self.wheel.link(id.index, until);
        }
    }

    /// When to call [`Pit::pop_expired`] next: up to one slot (4.2 ms) after the next expiry.
    ///
    /// It is earlier than the next expiry only if that is more than one round (4.3 s) away. In that case
    /// there is nothing to pop at that time, and this function then returns a later time.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.wheel.next_deadline()
    }

    /// An expired entry, up to one slot (4.2 ms) late; earlier slots first, in order of insertion within a
    /// slot. Then [`Pit::remove`] it, or set a later expiry.
    ///
    /// Each entry that it examines takes one of `looks`, even if it is in the same slot for a later round. If
    /// no looks are left, other entries may have expired, and the next call continues from there. Until then,
    /// [`Pit::next_deadline`] may be in the past.
    #[inline]
    pub fn pop_expired(&mut self, now: Time, looks: &mut usize) -> Option<PitId> {
        let entries = &self.entries;
        let index = self.wheel.pop(now, looks, |i| entries[i].expires)?;
        Some(self.id(index))
    }

    /// All entries by ascending slab index.
    pub fn iter(&self) -> impl Iterator<Item = (PitId, &PitEntry)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| entry.live)
            .map(|(i, entry)| (PitId { index: i as u32, generation: entry.generation }, entry))
    }

    /// The handle of the current entry at `index`.
    #[inline]
    fn id(&self, index: u32) -> PitId {
        PitId { index, generation: self.entries[index].generation }
    }
}

/// Takes a free entry, or makes one. It is blank except for its buffers and generation.
#[inline]
fn allocate(
    entries: &mut Slab<PitEntry>,
    wheel: &mut TimingWheel,
    holdings: &mut Option<Box<Holdings>>,
    free: &mut u32,
) -> u32 {
    if *free == NONE {
        wheel.add_index();
        if let Some(holdings) = holdings {
            holdings.add_entry();
        }
        return entries.push(PitEntry::blank());
    }
    let index = *free;
    let entry = &mut entries[index];
    *free = core::mem::replace(&mut entry.sibling, NONE);
    entry.expires = Time::NEVER;
    entry.strategy = Default::default();
    entry.class = 0;
    entry.facts.set(Fact::Answered, false);
    entry.scratch = 0;
    entry.route = NO_ENTRY;
    entry.facts.set(Fact::Watched, false);
    entry.held = None;
    entry.sent_for = GroupId::NONE;
    (entry.kept, entry.kept_bytes) = (None, 0);
    entry.in_records.clear();
    entry.out_records.clear();
    index
}

#[cfg(test)]
mod tests;
