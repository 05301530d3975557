//! The PIT: Interests that were forwarded and not yet answered.
//!
//! A slab of entries that are used again with their buffers, and a hash table from name to entry.
//! Entries are distinct by name and by the selectors CanBePrefix and MustBeFresh; the up to four
//! entries of one name hang together in a chain, so a name takes one probe.
//!
//! A Data is matched through its PIT token where possible: the token is the entry's handle. A token
//! comes from a stranger, so the name is compared all the same. Otherwise the Data's name is looked
//! up, and each of its prefixes of a length at which there are CanBePrefix entries.
//!
//! Entries expire by a timing wheel of 1024 slots of 2^22 ns (4.2 ms), each a doubly linked list
//! through the slab. An entry further away than one round (4.3 s) stays in its slot for another
//! round. Insertion, removal and change of expiry are O(1).

use crate::flow_prefix::NO_PREFIX;
use crate::ids::{FaceId, PrefixId};
use crate::name::{HashedName, LengthCounts, NameHasher, TYPE_IMPLICIT_DIGEST};
use crate::packet::PacketId;
use crate::strategy_choice::StrategyId;
use crate::{Span, Time};
use core::fmt;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;
use std::collections::{BTreeMap, btree_map};
use weir_packet::{NackReason, PitToken};

/// No entry.
const NONE: u32 = u32::MAX;

/// The handle of a PIT entry: it names that entry as long as it lives, and nothing afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PitId {
    index: u32,
    generation: u16,
}

impl PitId {
    /// Both parts: place and generation.
    #[inline]
    pub const fn bits(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// Its place in the slab: below [`Pit::id_bound`], used again after the entry is gone.
    #[inline]
    pub const fn index(self) -> usize {
        self.index as usize
    }

    /// As the value of an NDNLPv2 PitToken.
    #[inline]
    pub const fn to_token(self) -> [u8; 6] {
        let [a, b, c, d] = self.index.to_be_bytes();
        let [e, f] = self.generation.to_be_bytes();
        [a, b, c, d, e, f]
    }

    /// What [`PitId::to_token`] wrote; none if the token is of another length.
    #[inline]
    pub const fn from_token(token: &[u8]) -> Option<PitId> {
        match *token {
            [a, b, c, d, e, f] => Some(PitId {
                index: u32::from_be_bytes([a, b, c, d]),
                generation: u16::from_be_bytes([e, f]),
            }),
            _ => None,
        }
    }
}

/// A downstream that waits for the Data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct InRecord {
    /// Where its Interest came from.
    pub face: FaceId,
    /// The nonce of its latest Interest.
    pub nonce: u32,
    /// When that Interest came.
    pub arrived: Time,
    /// When its InterestLifetime is over.
    pub expires: Time,
    /// Whether its first Interest was not forwarded because another was pending.
    pub aggregated: bool,
    /// Whether this downstream has sent the Interest more than once.
    pub retransmission: bool,
    /// Its PIT token, to be sent back; [`PitToken::NONE`] without one.
    pub token: PitToken,
}

/// An upstream that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutRecord {
    /// Where the Interest was sent.
    pub face: FaceId,
    /// The nonce it was sent with last.
    pub nonce: u32,
    /// When it was sent last.
    pub sent: Time,
    /// The lifetime it was sent with last, microseconds, rounded up. A span would cost each entry eight
    /// bytes more.
    lifetime_us: u32,
    /// How many of its sendings may be answered: those before a Nack, or that did not leave, may not.
    /// With more than one it is not known which of them Data answers.
    pub times_sent: u8,
    /// Whether it was sent with a congestion mark the last time.
    pub marked: bool,
    /// The reason of the Nack that came back for the last sending, if one did; 255 for 255 and more.
    pub nacked: Option<u8>,
}

impl OutRecord {
    /// Of an upstream that was not asked yet.
    fn unsent(face: FaceId) -> OutRecord {
        let (nonce, sent) = (0, Time::ZERO);
        OutRecord { face, nonce, sent, lifetime_us: 0, times_sent: 0, marked: false, nacked: None }
    }

    /// An Interest is sent, the first or another.
    #[inline]
    fn send(&mut self, nonce: u32, now: Time, lifetime: Span) {
        self.nonce = nonce;
        self.sent = now;
        self.lifetime_us = u32::try_from(lifetime.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX);
        self.times_sent = self.times_sent.saturating_add(1);
        self.marked = false;
        self.nacked = None;
    }

    /// Whether Data may still come: not after a Nack, nor when the upstream has forgotten it.
    #[inline]
    pub fn is_pending(&self, now: Time) -> bool {
        self.times_sent > 0 && now < self.sent + Span::from_micros(u64::from(self.lifetime_us))
    }

    /// No Data will come, because of a Nack or because the Interest did not leave.
    pub(crate) fn give_up(&mut self, nack: Option<NackReason>) {
        self.times_sent = 0;
        self.nacked = nack.map(|reason| reason.value().min(255) as u8);
    }

    /// The round-trip time, if it is known which sending a Data of now answers (Karn).
    #[inline]
    pub fn rtt(&self, now: Time) -> Option<Span> {
        (self.times_sent == 1).then(|| now.since(self.sent))
    }
}

/// A pending Interest.
///
/// In the order in which a hop touches it: with tens of thousands of entries each cache line counts.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PitEntry {
    live: bool,
    can_be_prefix: bool,
    must_be_fresh: bool,
    /// Its service class.
    pub class: u8,
    generation: u16,
    /// The hop limit that it was sent with last.
    pub(crate) hop_limit: Option<u8>,
    /// The next entry of the same name.
    sibling: u32,
    /// The prefix of its flow.
    pub prefix: PrefixId,
    /// The Interest itself, while the strategy holds it back.
    pub held: Option<PacketId>,
    /// The strategy that forwards it.
    pub(crate) strategy: StrategyId,
    expires: Time,
    /// Belongs to the strategy.
    pub scratch: u64,
    /// The upstreams, in order of first sending.
    pub out_records: SmallVec<[OutRecord; 1]>,
    /// The downstreams, in order of arrival.
    pub in_records: SmallVec<[InRecord; 1]>,
    /// Last, since of a short name the end is not looked at.
    name: HashedName,
}

impl PitEntry {
    fn blank() -> PitEntry {
        PitEntry {
            name: HashedName::new(),
            can_be_prefix: false,
            must_be_fresh: false,
            live: false,
            generation: 0,
            sibling: NONE,
            expires: Time::NEVER,
            strategy: StrategyId::default(),
            prefix: NO_PREFIX,
            class: 0,
            hop_limit: None,
            scratch: 0,
            held: None,
            in_records: SmallVec::new(),
            out_records: SmallVec::new(),
        }
    }

    /// The Interest's name.
    #[inline]
    pub fn name(&self) -> &HashedName {
        &self.name
    }

    /// Whether Data with a longer name satisfies it.
    #[inline]
    pub fn can_be_prefix(&self) -> bool {
        self.can_be_prefix
    }

    /// Whether stale Data in a content store does not satisfy it.
    #[inline]
    pub fn must_be_fresh(&self) -> bool {
        self.must_be_fresh
    }

    /// When it expires; [`Time::NEVER`] until [`Pit::extend_expiry`] says.
    #[inline]
    pub fn expires(&self) -> Time {
        self.expires
    }

    /// The record of a downstream.
    #[inline]
    pub fn in_record(&mut self, face: FaceId) -> Option<&mut InRecord> {
        self.in_records.iter_mut().find(|record| record.face == face)
    }

    /// Whether Data may come though nothing more is done: somebody upstream was asked, or the strategy
    /// holds the Interest to ask later.
    #[inline]
    pub fn is_pending(&self, now: Time) -> bool {
        self.held.is_some() || self.out_records.iter().any(|record| record.is_pending(now))
    }

    /// Writes down that an upstream is asked. The nonce of an earlier sending, if it was another.
    #[inline]
    pub(crate) fn note_sending(
        &mut self,
        face: FaceId,
        nonce: u32,
        now: Time,
        lifetime: Span,
    ) -> Option<u32> {
        match self.out_record(face) {
            Some(record) => {
                let earlier = record.nonce;
                record.send(nonce, now, lifetime);
                (earlier != nonce).then_some(earlier)
            }
            None => {
                let mut record = OutRecord::unsent(face);
                record.send(nonce, now, lifetime);
                self.out_records.push(record);
                None
            }
        }
    }

    /// The record of an upstream.
    #[inline]
    pub fn out_record(&mut self, face: FaceId) -> Option<&mut OutRecord> {
        self.out_records.iter_mut().find(|record| record.face == face)
    }
}

/// The PIT holds as many entries as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PitFull;

impl fmt::Display for PitFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the PIT is full")
    }
}

impl core::error::Error for PitFull {}

/// The pending Interest table.
#[derive(Clone, Debug)]
pub struct Pit {
    hasher: NameHasher,
    max_entries: usize,
    entries: Vec<PitEntry>,
    links: Vec<Link>,
    /// The first free entry; the others follow by `Link::next`.
    free: u32,
    len: usize,
    /// The first entry of each name.
    index: HashTable<u32>,
    /// The CanBePrefix entries.
    prefix_lengths: LengthCounts,
    /// Entries that share their name with an earlier one.
    siblings: usize,
    /// Entries whose name ends in an implicit digest: how many by the hash of the name before it. Hashes are
    /// enough: one of another name has a Data's digest made in vain.
    digests: BTreeMap<u64, u32>,
    wheel: Wheel,
}

impl Pit {
    /// An empty PIT of at most `max_entries` entries (and at most 2^32 - 2).
    pub fn new(hasher: NameHasher, max_entries: usize) -> Pit {
        Pit {
            hasher,
            max_entries: max_entries.min(NONE as usize - 1),
            entries: Vec::new(),
            links: Vec::new(),
            free: NONE,
            len: 0,
            index: HashTable::new(),
            prefix_lengths: LengthCounts::new(),
            siblings: 0,
            digests: BTreeMap::new(),
            wheel: Wheel::new(),
        }
    }

    /// How many Interests are pending.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more than the largest [`PitId::index`] so far: the size of a table beside the PIT.
    #[inline]
    pub fn id_bound(&self) -> usize {
        self.entries.len()
    }

    /// Whether somebody may ask for a Data of this name by its implicit digest: then [`Pit::matches`] wants
    /// the digest.
    #[inline]
    pub fn wants_digest(&self, data_name: &HashedName) -> bool {
        !self.digests.is_empty() && self.digests.contains_key(&data_name.hash())
    }

    /// The entry of this name and these selectors, and whether it is new.
    ///
    /// A new entry has no records and does not expire until [`Pit::extend_expiry`] says when.
    #[inline]
    pub fn find_or_insert(
        &mut self,
        name: &HashedName,
        can_be_prefix: bool,
        must_be_fresh: bool,
        now: Time,
    ) -> Result<(PitId, bool), PitFull> {
        let entries = &self.entries;
        let same = |&i: &u32| entries[i as usize].name == *name;
        let rehash = |&i: &u32| entries[i as usize].name.hash();
        let new = match self.index.entry(name.hash(), same, rehash) {
            Entry::Vacant(place) => {
                if self.len >= self.max_entries {
                    return Err(PitFull);
                }
                let new = allocate(&mut self.entries, &mut self.links, &mut self.free);
                place.insert(new);
                new
            }
            Entry::Occupied(place) => {
                let mut last = *place.get();
                loop {
                    let entry = &self.entries[last as usize];
                    if entry.can_be_prefix == can_be_prefix && entry.must_be_fresh == must_be_fresh {
                        return Ok((self.id(last), false));
                    }
                    if entry.sibling == NONE {
                        break;
                    }
                    last = entry.sibling;
                }
                if self.len >= self.max_entries {
                    return Err(PitFull);
                }
                let new = allocate(&mut self.entries, &mut self.links, &mut self.free);
                self.entries[last as usize].sibling = new;
                self.siblings += 1;
                new
            }
        };
        self.wheel.catch_up(now);
        self.len += 1;
        if can_be_prefix {
            self.prefix_lengths.add(name.len());
        }
        if name.implicit_digest().is_some() {
            *self.digests.entry(name.hash_of(name.len() - 1)).or_default() += 1;
        }
        let entry = &mut self.entries[new as usize];
        entry.name.assign(name);
        entry.can_be_prefix = can_be_prefix;
        entry.must_be_fresh = must_be_fresh;
        entry.live = true;
        Ok((self.id(new), true))
    }

    /// The entry of this name and these selectors, if there is one.
    pub fn find_exact(&self, name: &HashedName, can_be_prefix: bool, must_be_fresh: bool) -> Option<PitId> {
        let mut next = self.first_of(name.hash(), name.wire());
        while next != NONE {
            let entry = &self.entries[next as usize];
            if entry.can_be_prefix == can_be_prefix && entry.must_be_fresh == must_be_fresh {
                return Some(self.id(next));
            }
            next = entry.sibling;
        }
        None
    }

    /// The entry with this handle, if it still lives.
    #[inline]
    pub fn entry(&self, id: PitId) -> Option<&PitEntry> {
        self.entries.get(id.index as usize).filter(|e| e.generation == id.generation && e.live)
    }

    /// The entry with this handle, if it still lives.
    #[inline]
    pub fn entry_mut(&mut self, id: PitId) -> Option<&mut PitEntry> {
        self.entries.get_mut(id.index as usize).filter(|e| e.generation == id.generation && e.live)
    }

    /// Puts into `out` every entry that a Data satisfies: those of exactly its name (longest name
    /// first, in order of insertion within a name), and CanBePrefix entries of shorter names.
    ///
    /// `token` is the PIT token that came with the Data: only a hint. `digest` is the SHA-256
    /// digest of the Data; without it the entries that name a digest are not found. It is needed
    /// where [`Pit::wants_digest`] says so.
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

    /// Appends the entries of one name: all, or those with CanBePrefix.
    #[inline]
    fn match_chain(&self, hash: u64, wire: &[u8], prefixes_only: bool, out: &mut SmallVec<[PitId; 4]>) {
        let mut next = self.first_of(hash, wire);
        while next != NONE {
            let entry = &self.entries[next as usize];
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
        let same = |&i: &u32| {
            let name = &self.entries[i as usize].name;
            name.hash() == hash && name.wire().strip_suffix(&tlv) == Some(data_name.wire())
        };
        let mut next = self.index.find(hash, same).copied().unwrap_or(NONE);
        while next != NONE {
            out.push(self.id(next));
            next = self.entries[next as usize].sibling;
        }
    }

    /// The first entry of a name, or [`NONE`].
    #[inline]
    fn first_of(&self, hash: u64, wire: &[u8]) -> u32 {
        let same = |&i: &u32| {
            let name = &self.entries[i as usize].name;
            name.hash() == hash && name.wire() == wire
        };
        self.index.find(hash, same).copied().unwrap_or(NONE)
    }

    /// Removes an entry; says whether it was there.
    #[inline]
    pub fn remove(&mut self, id: PitId) -> bool {
        if self.entry(id).is_none() {
            return false;
        }
        let index = id.index;
        self.wheel.unlink(&mut self.links, index);
        let entry = &mut self.entries[index as usize];
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
        entry.sibling = NONE;
        self.len -= 1;
        match self.index.find_entry(hash, |&i| i == index) {
            Ok(mut place) if sibling != NONE => {
                *place.get_mut() = sibling;
                self.siblings -= 1;
            }
            Ok(place) => {
                place.remove();
            }
            Err(_) => self.unchain(index, sibling, hash),
        }
        self.entries[index as usize].name.release();
        self.links[index as usize].next = self.free;
        self.free = index;
        true
    }

    /// Takes an entry that is not the first of its name out of the chain.
    fn unchain(&mut self, index: u32, sibling: u32, hash: u64) {
        let name = &self.entries[index as usize].name;
        let same = |&i: &u32| self.entries[i as usize].name == *name;
        let mut before = self.index.find(hash, same).copied().unwrap_or(NONE);
        while before != NONE {
            let next = self.entries[before as usize].sibling;
            if next == index {
                self.entries[before as usize].sibling = sibling;
                self.siblings -= 1;
                return;
            }
            before = next;
        }
        debug_assert!(false, "every live entry is in the chain of its name");
    }

    /// Lets an entry live until `until`, if that is later than it would, or if it has no expiry
    /// yet.
    #[inline]
    pub fn extend_expiry(&mut self, id: PitId, until: Time) {
        let Some(expires) = self.entry(id).map(|entry| entry.expires) else { return };
        if until > expires || expires == Time::NEVER {
            self.set_expiry(id, until);
        }
    }

    /// Lets an entry live until `until`, sooner or later than it would; [`Time::NEVER`] for no
    /// expiry.
    #[inline]
    pub fn set_expiry(&mut self, id: PitId, until: Time) {
        let Some(entry) = self.entry_mut(id) else { return };
        entry.expires = until;
        self.wheel.unlink(&mut self.links, id.index);
        if until != Time::NEVER {
            self.wheel.link(&mut self.links, id.index, until);
        }
    }

    /// When to call [`Pit::pop_expired`] next: up to one slot (4.2 ms) after the next expiry.
    ///
    /// It is before the next expiry only if that is more than one round (4.3 s) away; there is
    /// then nothing to pop at that time, and this function has a later answer.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.wheel.next_deadline()
    }

    /// An entry that has expired, up to one slot (4.2 ms) late; earlier slots first, in order of
    /// insertion within a slot. Look at it, then [`Pit::remove`] it, or give it a later expiry.
    #[inline]
    pub fn pop_expired(&mut self, now: Time) -> Option<PitId> {
        let entries = &self.entries;
        let index = self.wheel.pop(&mut self.links, now, |i| entries[i as usize].expires)?;
        Some(self.id(index))
    }

    /// All entries by ascending slab index.
    pub fn iter(&self) -> impl Iterator<Item = (PitId, &PitEntry)> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| entry.live)
            .map(|(i, entry)| (PitId { index: i as u32, generation: entry.generation }, entry))
    }

    /// The handle of the entry that is now at `index`.
    #[inline]
    fn id(&self, index: u32) -> PitId {
        PitId { index, generation: self.entries[index as usize].generation }
    }
}

/// Takes a free entry, or makes one; it is blank but for its buffers and generation.
#[inline]
fn allocate(entries: &mut Vec<PitEntry>, links: &mut Vec<Link>, free: &mut u32) -> u32 {
    if *free == NONE {
        entries.push(PitEntry::blank());
        links.push(Link { prev: NONE, next: NONE, slot: UNLINKED });
        return entries.len() as u32 - 1;
    }
    let index = *free;
    *free = links[index as usize].next;
    let entry = &mut entries[index as usize];
    entry.expires = Time::NEVER;
    entry.strategy = StrategyId::default();
    entry.class = 0;
    entry.scratch = 0;
    entry.held = None;
    entry.in_records.clear();
    entry.out_records.clear();
    index
}

/// A slot of the wheel spans 2^SLOT_SHIFT ns.
const SLOT_SHIFT: u32 = 22;
const SLOTS: usize = 1024;
/// The slot of an entry that is in none.
const UNLINKED: u16 = u16::MAX;

/// The place of an entry in the list of its slot.
#[derive(Clone, Copy, Debug)]
struct Link {
    prev: u32,
    next: u32,
    slot: u16,
}

/// The list of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    tail: u32,
}

/// The timing wheel. A *tick* is a time in units of slots; tick `t` is in slot `t mod 1024`.
#[derive(Clone, Debug)]
struct Wheel {
    slots: Box<[Slot]>,
    /// A bit for each slot that is not empty, and a bit for each of these words that is not zero.
    filled: [u64; SLOTS / 64],
    filled_words: u64,
    /// Every tick before this one has been drained.
    cursor: u64,
    /// Whether the slot of `cursor` is being drained, and the first of its entries not yet seen.
    draining: bool,
    unseen: u32,
}

impl Wheel {
    fn new() -> Wheel {
        Wheel {
            slots: vec![Slot { head: NONE, tail: NONE }; SLOTS].into_boxed_slice(),
            filled: [0; SLOTS / 64],
            filled_words: 0,
            cursor: 0,
            draining: false,
            unseen: NONE,
        }
    }

    /// An empty wheel need not be drained up to the present.
    #[inline]
    fn catch_up(&mut self, now: Time) {
        if self.filled_words == 0 {
            self.cursor = self.cursor.max(now.as_nanos() >> SLOT_SHIFT);
            self.draining = false;
        }
    }

    #[inline]
    fn link(&mut self, links: &mut [Link], index: u32, expires: Time) {
        // The slot that is being drained takes no more: those before `unseen` are never looked at.
        let tick = (expires.as_nanos() >> SLOT_SHIFT).max(self.cursor + u64::from(self.draining));
        let number = tick as usize % SLOTS;
        let slot = &mut self.slots[number];
        links[index as usize] = Link { prev: slot.tail, next: NONE, slot: number as u16 };
        match slot.tail {
            NONE => {
                slot.head = index;
                self.filled[number / 64] |= 1 << (number % 64);
                self.filled_words |= 1 << (number / 64);
            }
            tail => links[tail as usize].next = index,
        }
        slot.tail = index;
    }

    #[inline]
    fn unlink(&mut self, links: &mut [Link], index: u32) {
        let Link { prev, next, slot: number } = links[index as usize];
        if number == UNLINKED {
            return;
        }
        if self.unseen == index {
            self.unseen = next;
        }
        links[index as usize].slot = UNLINKED;
        let number = number as usize;
        let slot = &mut self.slots[number];
        match prev {
            NONE => slot.head = next,
            prev => links[prev as usize].next = next,
        }
        match next {
            NONE => slot.tail = prev,
            next => links[next as usize].prev = prev,
        }
        if slot.head == NONE {
            let word = &mut self.filled[number / 64];
            *word &= !(1 << (number % 64));
            if *word == 0 {
                self.filled_words &= !(1 << (number / 64));
            }
        }
    }

    /// The first tick from `tick` on, within a round, whose slot is not empty.
    #[inline]
    fn filled_from(&self, tick: u64) -> Option<u64> {
        let from = tick as usize % SLOTS;
        let (word, bit) = (from / 64, from % 64);
        let here = self.filled[word] >> bit;
        if here != 0 {
            return Some(tick + u64::from(here.trailing_zeros()));
        }
        let words = self.filled_words.rotate_right((word as u32 + 1) % 64);
        if words == 0 {
            return None;
        }
        let found = (word + 1 + words.trailing_zeros() as usize) % 64;
        let found = found * 64 + self.filled[found].trailing_zeros() as usize;
        Some(tick + (found.wrapping_sub(from) % SLOTS) as u64)
    }

    #[inline]
    fn next_deadline(&self) -> Time {
        let tick = if self.draining && self.unseen != NONE {
            Some(self.cursor)
        } else {
            self.filled_from(self.cursor + u64::from(self.draining))
        };
        tick.map_or(Time::NEVER, |tick| Time::from_nanos((tick + 1).saturating_mul(1 << SLOT_SHIFT)))
    }

    /// Takes an entry that has expired out of the wheel.
    #[inline]
    fn pop(&mut self, links: &mut [Link], now: Time, expires: impl Fn(u32) -> Time) -> Option<u32> {
        let present = now.as_nanos() >> SLOT_SHIFT;
        loop {
            if !self.draining {
                // After a long sleep once around is enough.
                self.cursor = self.cursor.max(present.saturating_sub(SLOTS as u64));
                match self.filled_from(self.cursor) {
                    Some(tick) if tick < present => self.cursor = tick,
                    _ => {
                        self.cursor = self.cursor.max(present);
                        return None;
                    }
                }
                self.draining = true;
                self.unseen = self.slots[self.cursor as usize % SLOTS].head;
            }
            while self.unseen != NONE {
                let index = self.unseen;
                self.unseen = links[index as usize].next;
                if expires(index) <= now {
                    self.unlink(links, index);
                    return Some(index);
                }
                // It is due in a later round.
            }
            self.draining = false;
            self.cursor += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::testing::{HASHER, few_names, name};
    use proptest::prelude::*;

    const SLOT: Span = Span::from_nanos(1 << SLOT_SHIFT);
    const ROUND: Span = Span::from_nanos((SLOTS as u64) << SLOT_SHIFT);

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Inserts with an expiry.
    fn pend(pit: &mut Pit, name: &HashedName, can_be_prefix: bool, until: Time) -> PitId {
        let (id, _) = pit.find_or_insert(name, can_be_prefix, false, Time::ZERO).unwrap();
        pit.extend_expiry(id, until);
        id
    }

    fn matches(pit: &Pit, name: &HashedName, token: Option<PitId>, digest: Option<&[u8; 32]>) -> Vec<PitId> {
        let mut out = SmallVec::new();
        pit.matches(name, token, digest, &mut out);
        out.to_vec()
    }

    fn digest_name(uri: &str, digest: u8) -> HashedName {
        let mut full = name(uri);
        full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
        full
    }

    #[test]
    fn an_interest_finds_its_entry_again_by_name_and_selectors() {
        let mut pit = Pit::new(HASHER, 10);
        let all = [(false, false), (true, false), (false, true), (true, true)];
        let ids = all.map(|(cbp, mbf)| pit.find_or_insert(&name("/a"), cbp, mbf, Time::ZERO).unwrap());
        assert!(ids.iter().all(|(_, new)| *new));
        for ((cbp, mbf), (id, _)) in all.into_iter().zip(ids) {
            assert_eq!(pit.find_or_insert(&name("/a"), cbp, mbf, Time::ZERO), Ok((id, false)));
            assert_eq!(pit.find_exact(&name("/a"), cbp, mbf), Some(id));
            let entry = pit.entry(id).unwrap();
            assert_eq!((entry.can_be_prefix(), entry.must_be_fresh(), entry.name()), (cbp, mbf, &name("/a")));
        }
        assert_eq!(pit.len(), 4);
        assert_eq!(pit.find_exact(&name("/b"), false, false), None);
        assert_eq!(pit.iter().map(|(id, _)| id).collect::<Vec<_>>(), ids.map(|(id, _)| id));
    }

    #[test]
    fn a_full_pit_says_so_and_still_knows_its_entries() {
        let mut pit = Pit::new(HASHER, 1);
        let id = pend(&mut pit, &name("/a"), false, ms(1));
        assert_eq!(pit.find_or_insert(&name("/b"), false, false, Time::ZERO), Err(PitFull));
        assert_eq!(pit.find_or_insert(&name("/a"), true, false, Time::ZERO), Err(PitFull));
        assert_eq!(pit.find_or_insert(&name("/a"), false, false, Time::ZERO), Ok((id, false)));
        assert!(pit.remove(id));
        assert!(pit.find_or_insert(&name("/b"), false, false, Time::ZERO).is_ok());
    }

    #[test]
    fn a_handle_outlives_its_entry_without_naming_another() {
        let mut pit = Pit::new(HASHER, 10);
        let old = pend(&mut pit, &name("/a"), false, ms(1));
        pit.entry_mut(old).unwrap().scratch = 5;
        assert!(pit.remove(old) && !pit.remove(old));
        let new = pend(&mut pit, &name("/a"), false, ms(1));
        assert_eq!(new.index(), old.index());
        assert!(pit.entry(old).is_none() && pit.entry_mut(old).is_none());
        assert_eq!(pit.entry(new).unwrap().scratch, 0);
        assert_eq!(matches(&pit, &name("/a"), Some(old), None), [new]);
        assert!(pit.remove(new));
        let stale = PitId { generation: new.generation.wrapping_add(1), ..new };
        assert!(pit.entry(stale).is_none(), "a free place has no entry, whatever the generation");
    }

    #[test]
    fn a_token_survives_the_wire_and_a_foreign_one_does_no_harm() {
        let mut pit = Pit::new(HASHER, 10);
        let a = pend(&mut pit, &name("/a"), false, ms(1));
        let b = pend(&mut pit, &name("/b"), false, ms(1));
        assert_eq!(PitId::from_token(&b.to_token()), Some(b));
        assert_eq!(PitId::from_token(&[1; 5]), None);
        assert_eq!(PitId::from_token(&[]), None);
        for token in [Some(b), PitId::from_token(&[255; 6]), None, Some(a)] {
            assert_eq!(matches(&pit, &name("/a"), token, None), [a]);
            assert_eq!(matches(&pit, &name("/c"), token, None), []);
        }
    }

    #[test]
    fn a_sending_is_pending_for_its_lifetime_until_a_nack_or_another_sending() {
        let mut record = OutRecord::unsent(FaceId(1));
        assert!(!record.is_pending(ms(0)));
        record.send(7, ms(10), Span::from_nanos(1_000_001));
        assert!(record.is_pending(ms(11)) && !record.is_pending(ms(12)));
        assert_eq!(record.rtt(ms(15)), Some(Span::from_millis(5)));
        record.send(8, ms(12), Span::from_secs(3600));
        assert_eq!((record.nonce, record.sent, record.rtt(ms(15))), (8, ms(12), None));
        assert!(record.is_pending(ms(12 + 3_599_999)) && !record.is_pending(ms(12 + 3_600_000)));
        record.give_up(Some(NackReason::Other(256)));
        assert!(!record.is_pending(ms(13)));
        assert_eq!(record.nacked, Some(255));
        record.send(9, ms(20), Span::from_secs(1));
        assert_eq!((record.nacked, record.rtt(ms(21))), (None, Some(Span::from_millis(1))));
    }

    #[test]
    fn a_hop_touches_few_cache_lines() {
        assert_eq!(size_of::<OutRecord>(), 24);
        assert_eq!(size_of::<PitEntry>(), 256);
    }

    #[test]
    fn data_satisfies_every_interest_that_it_may() {
        let mut pit = Pit::new(HASHER, 100);
        let exact = pend(&mut pit, &name("/a/b"), false, ms(1));
        let root = pend(&mut pit, &name("/"), true, ms(1));
        let prefix = pend(&mut pit, &name("/a"), true, ms(1));
        pend(&mut pit, &name("/a"), false, ms(1));
        pend(&mut pit, &name("/a/b/c"), true, ms(1));
        let fresh = pit.find_or_insert(&name("/a/b"), true, true, Time::ZERO).unwrap().0;
        assert_eq!(matches(&pit, &name("/a/b"), Some(exact), None), [exact, fresh, prefix, root]);
        assert_eq!(matches(&pit, &name("/"), None, None), [root]);
        assert_eq!(matches(&pit, &name("/x/y/z"), None, None), [root]);
    }

    #[test]
    fn an_interest_with_a_digest_is_for_that_data_only() {
        let mut pit = Pit::new(HASHER, 100);
        let full = pend(&mut pit, &digest_name("/a", 1), false, ms(1));
        let plain = pend(&mut pit, &name("/a"), false, ms(1));
        assert!(pit.wants_digest(&name("/a")) && !pit.wants_digest(&name("/b")));
        assert_eq!(matches(&pit, &name("/a"), None, Some(&[1; 32])), [full, plain]);
        assert_eq!(matches(&pit, &name("/a"), Some(full), Some(&[2; 32])), [plain]);
        assert_eq!(matches(&pit, &name("/b"), None, Some(&[1; 32])), []);
        assert_eq!(matches(&pit, &name("/a"), None, None), [plain]);
        pit.remove(full);
        assert!(!pit.wants_digest(&name("/a")));
    }

    #[test]
    fn an_entry_expires_within_a_slot_of_its_time() {
        let mut pit = Pit::new(HASHER, 10);
        let expiry = ms(4_000);
        let id = pend(&mut pit, &name("/a"), false, expiry);
        let deadline = pit.next_deadline();
        assert!(deadline >= expiry && deadline <= expiry + SLOT, "{deadline}");
        assert_eq!(pit.pop_expired(deadline - Span::from_nanos(1)), None);
        assert_eq!(pit.pop_expired(deadline), Some(id));
        assert_eq!(pit.pop_expired(deadline), None);
        assert_eq!(pit.next_deadline(), Time::NEVER);
        assert!(pit.entry(id).is_some(), "popped is not removed");
        pit.extend_expiry(id, deadline + Span::from_millis(10));
        assert_eq!(pit.pop_expired(pit.next_deadline()), Some(id));
    }

    #[test]
    fn an_expiry_is_extended_and_never_shortened_unless_set() {
        let mut pit = Pit::new(HASHER, 10);
        let id = pend(&mut pit, &name("/a"), false, ms(100));
        pit.extend_expiry(id, ms(50));
        assert_eq!(pit.entry(id).unwrap().expires(), ms(100));
        pit.extend_expiry(id, ms(200));
        assert_eq!(pit.pop_expired(ms(150)), None);
        pit.set_expiry(id, ms(160));
        assert_eq!(pit.pop_expired(ms(170)), Some(id));
        pit.set_expiry(id, Time::NEVER);
        assert_eq!((pit.next_deadline(), pit.pop_expired(Time::NEVER)), (Time::NEVER, None));
    }

    #[test]
    fn an_expiry_in_the_past_is_due_soon() {
        let mut pit = Pit::new(HASHER, 10);
        let now = ms(1_000_000);
        let (id, _) = pit.find_or_insert(&name("/a"), false, false, now).unwrap();
        pit.extend_expiry(id, ms(5));
        assert!(pit.next_deadline() > now && pit.next_deadline() <= now + SLOT);
        assert_eq!(pit.pop_expired(pit.next_deadline()), Some(id));
    }

    #[test]
    fn a_lifetime_of_many_rounds_is_kept() {
        let mut pit = Pit::new(HASHER, 10);
        let expiry = Time::ZERO + ROUND * 3 + Span::from_millis(500);
        let id = pend(&mut pit, &name("/a"), false, expiry);
        let mut wakes = 0;
        loop {
            let now = pit.next_deadline();
            wakes += 1;
            if let Some(popped) = pit.pop_expired(now) {
                assert_eq!(popped, id);
                assert!(now >= expiry && now <= expiry + SLOT);
                break;
            }
            assert!(now < expiry);
        }
        assert_eq!(wakes, 4, "once a round");
    }

    #[test]
    fn a_long_sleep_loses_nobody() {
        let mut pit = Pit::new(HASHER, 10_000);
        for n in 0..5_000 {
            let mut one = HashedName::new();
            one.assign_segment(&HASHER, &name("/a"), n).unwrap();
            pend(&mut pit, &one, false, ms(n * 3));
        }
        let late = pend(&mut pit, &name("/late"), false, Time::from_nanos(u64::MAX - 1));
        let far = Time::from_nanos(u64::MAX / 2);
        let mut count = 0;
        while let Some(id) = pit.pop_expired(far) {
            assert!(pit.remove(id));
            count += 1;
        }
        assert_eq!((count, pit.len()), (5_000, 1));
        assert!(pit.next_deadline() > far);
        assert!(pit.entry(late).is_some());
    }

    #[test]
    fn removing_others_while_popping_is_safe() {
        let mut pit = Pit::new(HASHER, 100);
        let ids: Vec<PitId> = ["/a", "/b", "/c", "/d", "/e"]
            .into_iter()
            .map(|uri| pend(&mut pit, &name(uri), false, ms(10)))
            .collect();
        let now = ms(20);
        assert_eq!(pit.pop_expired(now), Some(ids[0]));
        pit.remove(ids[1]);
        pit.remove(ids[4]);
        // One that joins the slot being drained is not forgotten.
        let joined = pend(&mut pit, &name("/f"), false, ms(10));
        assert!(pit.next_deadline() <= now);
        pit.remove(ids[0]);
        let mut rest = Vec::new();
        while let Some(id) = pit.pop_expired(now) {
            rest.push(id);
        }
        assert_eq!(rest, [ids[2], ids[3], joined]);
    }

    #[test]
    fn one_that_comes_late_to_the_slot_being_drained_is_due_in_the_next() {
        let mut pit = Pit::new(HASHER, 100);
        let first = pend(&mut pit, &name("/a"), false, ms(10));
        let other = pend(&mut pit, &name("/b"), false, ms(50));
        assert_eq!(pit.pop_expired(ms(20)), Some(first));
        let late = pend(&mut pit, &name("/c"), false, ms(10));
        assert!(pit.next_deadline() <= ms(20));
        assert_eq!(pit.pop_expired(ms(20)), Some(late));
        assert_eq!(pit.pop_expired(ms(60)), Some(other));
    }

    #[derive(Clone, Debug)]
    enum Op {
        /// Name, digest, CanBePrefix, MustBeFresh, lifetime.
        Insert(HashedName, Option<u8>, bool, bool, u64),
        /// Name, digest, which token.
        Match(HashedName, u8, usize),
        Remove(usize),
        Extend(usize, u64),
        Shorten(usize, u64),
        Later(u64),
        /// Pops at most so many.
        Pop(usize),
    }

    fn lifetime() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0u64..20_000_000, 4 => 0u64..4_000_000_000, 1 => 0u64..40_000_000_000]
    }

    fn op() -> impl Strategy<Value = Op> {
        let digest = prop_oneof![6 => Just(None), 1 => (0u8..2).prop_map(Some)];
        prop_oneof![
            10 => (few_names(3), digest, prop::bool::weighted(0.2), prop::bool::weighted(0.2), lifetime())
                .prop_map(|(n, d, c, m, l)| Op::Insert(n, d, c, m, l)),
            8 => (few_names(4), 0u8..2, any::<usize>()).prop_map(|(n, d, t)| Op::Match(n, d, t)),
            3 => any::<usize>().prop_map(Op::Remove),
            2 => (any::<usize>(), lifetime()).prop_map(|(i, l)| Op::Extend(i, l)),
            1 => (any::<usize>(), lifetime()).prop_map(|(i, l)| Op::Shorten(i, l)),
            4 => lifetime().prop_map(Op::Later),
            4 => (0usize..4).prop_map(Op::Pop),
        ]
    }

    /// What the table should hold, in order of insertion.
    #[derive(Clone, Debug)]
    struct Pending {
        id: PitId,
        name: HashedName,
        digest: Option<u8>,
        can_be_prefix: bool,
        must_be_fresh: bool,
        expires: Time,
    }

    const BOUND: usize = 12;

    fn compare(ops: Vec<Op>) -> Result<(), TestCaseError> {
        let mut pit = Pit::new(HASHER, BOUND);
        let mut model: Vec<Pending> = Vec::new();
        let mut dead: Vec<PitId> = Vec::new();
        let mut now = Time::ZERO;
        for op in ops {
            let some = |at: usize| (!model.is_empty()).then(|| at % model.len());
            match op {
                Op::Insert(name, digest, can_be_prefix, must_be_fresh, life) => {
                    let mut full = name.clone();
                    if let Some(digest) = digest {
                        full.push(&HASHER, TYPE_IMPLICIT_DIGEST, &[digest; 32]).unwrap();
                    }
                    let known = model.iter().find(|p| {
                        p.name == name
                            && p.digest == digest
                            && (p.can_be_prefix, p.must_be_fresh) == (can_be_prefix, must_be_fresh)
                    });
                    prop_assert_eq!(pit.find_exact(&full, can_be_prefix, must_be_fresh), known.map(|p| p.id));
                    let got = pit.find_or_insert(&full, can_be_prefix, must_be_fresh, now);
                    match known {
                        Some(known) => prop_assert_eq!(got, Ok((known.id, false))),
                        None if model.len() == BOUND => prop_assert_eq!(got, Err(PitFull)),
                        None => {
                            let (id, new) = got.unwrap();
                            prop_assert!(new && !dead.contains(&id) && model.iter().all(|p| p.id != id));
                            let expires = now + Span::from_nanos(life);
                            pit.extend_expiry(id, expires);
                            model.push(Pending { id, name, digest, can_be_prefix, must_be_fresh, expires });
                        }
                    }
                }
                Op::Match(name, digest, token) => {
                    let token = match token % 3 {
                        0 => some(token / 3).map(|at| model[at].id),
                        1 => dead.get(token / 3 % dead.len().max(1)).copied(),
                        _ => model.iter().find(|p| p.name == name).map(|p| p.id),
                    };
                    let mut expected: Vec<PitId> = Vec::new();
                    let mut found = matches(&pit, &name, token, Some(&[digest; 32]));
                    for p in &model {
                        let exact = p.name == name && p.digest.is_none_or(|d| d == digest);
                        let longer =
                            p.can_be_prefix && p.digest.is_none() && name.wire().starts_with(p.name.wire());
                        if exact || longer {
                            expected.push(p.id);
                        }
                    }
                    found.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(found, expected);
                }
                Op::Remove(at) => {
                    if let Some(at) = some(at) {
                        let gone = model.remove(at);
                        prop_assert!(pit.remove(gone.id));
                        dead.push(gone.id);
                    }
                }
                Op::Extend(at, life) => {
                    if let Some(at) = some(at) {
                        let until = now + Span::from_nanos(life);
                        pit.extend_expiry(model[at].id, until);
                        model[at].expires = model[at].expires.max(until);
                    }
                }
                Op::Shorten(at, life) => {
                    if let Some(at) = some(at) {
                        model[at].expires = now + Span::from_nanos(life);
                        pit.set_expiry(model[at].id, model[at].expires);
                    }
                }
                Op::Later(ns) => now += Span::from_nanos(ns),
                Op::Pop(most) => {
                    let mut popped = 0;
                    while popped < most
                        && let Some(id) = pit.pop_expired(now)
                    {
                        let at = model.iter().position(|p| p.id == id);
                        prop_assert!(at.is_some(), "only live entries expire");
                        let gone = model.remove(at.unwrap());
                        prop_assert!(gone.expires <= now, "not before its time");
                        prop_assert!(pit.remove(id));
                        dead.push(id);
                        popped += 1;
                    }
                    if popped < most {
                        prop_assert!(model.iter().all(|p| p.expires + SLOT > now), "nobody is forgotten");
                        prop_assert!(pit.next_deadline() > now, "time goes on");
                    }
                }
            }
            prop_assert_eq!(pit.len(), model.len());
            let digests: u32 = pit.digests.values().sum();
            prop_assert_eq!(digests as usize, model.iter().filter(|p| p.digest.is_some()).count());
            prop_assert!(pit.digests.values().all(|&count| count > 0), "nothing is made in vain");
            // What decides on the fast paths.
            let mut names: Vec<_> = model.iter().map(|p| (p.name.wire(), p.digest)).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(pit.siblings, model.len() - names.len());
            prop_assert_eq!(pit.prefix_lengths.is_empty(), model.iter().all(|p| !p.can_be_prefix));
            for p in &model {
                let entry = pit.entry(p.id);
                prop_assert_eq!(entry.map(|e| e.expires()), Some(p.expires));
            }
            prop_assert!(dead.iter().all(|id| pit.entry(*id).is_none()));
            let deadline = pit.next_deadline();
            match model.iter().map(|p| p.expires).min() {
                None => prop_assert_eq!(deadline, Time::NEVER),
                // An expiry that is set when it is already past waits for the slot of the present.
                Some(first) => {
                    prop_assert!(deadline <= first.max(now) + SLOT, "{} after {}", deadline, first)
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list(ops in prop::collection::vec(op(), 0..200)) {
            compare(ops)?;
        }

        #[test]
        fn within_a_round_the_deadline_is_never_before_the_expiry(lives in prop::collection::vec(0u64..4_000_000_000, 1..50)) {
            let mut pit = Pit::new(HASHER, 100);
            for (n, life) in lives.iter().enumerate() {
                let mut one = HashedName::new();
                one.assign_segment(&HASHER, &name("/a"), n as u64).unwrap();
                pend(&mut pit, &one, false, Time::from_nanos(*life));
            }
            let mut order = Vec::new();
            while !pit.is_empty() {
                let now = pit.next_deadline();
                let id = pit.pop_expired(now);
                prop_assert!(id.is_some(), "no wake-up in vain");
                order.push(pit.entry(id.unwrap()).unwrap().expires().as_nanos() >> SLOT_SHIFT);
                pit.remove(id.unwrap());
            }
            prop_assert!(order.is_sorted());
        }
    }
}
