//! The content store of a node: storing Data and answering Interests.

use weir_packet::{CachePolicy, LpHeader, Signal};

use super::interest::in_record;
use super::scope::{Scope, scope_of};
use super::{Answerer, LONGEST_LIFETIME, Node, Out};
use crate::ids::{FaceId, NO_PREFIX, PitId};
use crate::packet::{Packet, PacketId};
use crate::seam::{Answer, CachedEvent};
use crate::tables::cs::{CsPolicy, entry_bytes};
use crate::tables::pit::Fact;
use crate::units::{Span, Time};

/// A stored Data that answers an Interest, without signals.
pub(super) struct Stored {
    /// The copy for the answer.
    data: PacketId,
    /// How long it has been stored. In a simulated cache, which has all Data from the beginning, this counts
    /// from time zero.
    age: Span,
}

/// Size of a stored Data: all memory that it takes. A Data of the simulator has no bytes and counts its
/// length, because the caches of papers hold packets and not tables.
fn stored_bytes(data: &Packet, policy: CsPolicy) -> u64 {
    if data.wire.is_empty() {
        return u64::from(data.net_len);
    }
    data.memory() + entry_bytes(&data.name) + policy.entry_bytes() as u64
}

/// Returns whether the consumer requests an answer that does not come from a store.
#[inline]
pub(super) fn is_past_stores(interest: &Packet) -> bool {
    interest.header().signals.value(&Signal::PAST_STORES).is_some()
}

/// Counters of a node's content store and simulated cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Interests that were answered.
    pub hits: u64,
    /// Interests that were looked up without a result. A simulated cache looks up only names under its
    /// prefixes.
    pub misses: u64,
    /// Data that were stored and had not been there before.
    pub insertions: u64,
    /// Data that were removed to make room for others.
    pub evictions: u64,
}

impl core::ops::Add for CacheCounters {
    type Output = CacheCounters;
    fn add(self, other: CacheCounters) -> CacheCounters {
        CacheCounters {
            hits: self.hits + other.hits,
            misses: self.misses + other.misses,
            insertions: self.insertions + other.insertions,
            evictions: self.evictions + other.evictions,
        }
    }
}

impl Node {
    /// Counters of its stores. An Interest that finds an equal one pending is not looked up.
    pub fn cache_counters(&self) -> CacheCounters {
        let simulated = self.simulated_cache.as_deref();
        let (hits, misses) = simulated.map_or((0, 0), |cache| (cache.hits(), cache.misses()));
        // The simulated cache is asked only for Data that the content store does not have.
        let misses = if self.cs.is_on() { self.cs.misses().saturating_sub(hits) } else { misses };
        CacheCounters {
            hits: self.cs.hits() + hits,
            misses,
            insertions: self.cs.insertions(),
            evictions: self.cs.evictions(),
        }
    }

    /// Stores a copy without signals, because signals belong to one hop and one moment. Data with the scope
    /// of a host or a link are not stored: other consumers must not get them from here, and the answer to a
    /// command must not answer the next command. The copy answers Interests of this hint; 0: all.
    pub(super) fn store(&mut self, id: PacketId, hint: u32, out: &mut Out<'_>) {
        let refused = out.pool[id].header().cache_policy() == Some(CachePolicy::NoCache);
        if !self.cs.is_on() || !self.cs_use.admit || refused || scope_of(&out.pool[id].name) != Scope::Global
        {
            return;
        }
        let copy = out.pool.duplicate(id);
        out.pool.keep_alone(copy);
        let data = &mut out.pool[copy];
        *data.header_mut() = LpHeader::NONE;
        data.queued_at = out.now;
        data.hops = 1;
        let fresh_until = out.now + data.freshness;
        let bytes = stored_bytes(data, self.cs.policy());
        self.cs.insert_for(hint, &out.pool[copy].name, copy, bytes, fresh_until, &mut self.evicted);
        if self.evicted.is_empty() {
            return;
        }
        for evicted in self.evicted.drain(..) {
            out.pool.free(evicted);
        }
        // The next Data to be evicted has not been touched for long either, so prefetch it.
        if let Some(&oldest) = self.cs.oldest() {
            out.pool[oldest].prefetch();
        }
    }

    /// Returns whether there is a store that can answer.
    #[inline]
    pub(super) fn has_stores(&self) -> bool {
        self.cs.is_on() || self.simulated_cache.is_some()
    }

    /// The stored Data that answers an Interest, unless the consumer bypasses stores because the Data that it
    /// got was invalid.
    #[inline]
    pub(super) fn stored(&mut self, id: PacketId, out: &mut Out<'_>) -> Option<Stored> {
        if is_past_stores(&out.pool[id]) {
            return None;
        }
        if let Some(data) = self.in_content_store(id, out) {
            let age = out.now - out.pool[data].queued_at;
            return Some(Stored { data: out.pool.duplicate(data), age });
        }
        let producer = self.simulated_cache.as_mut()?.lookup(&out.pool[id])?;
        let data = out.pool.duplicate(id);
        producer.answer(&mut out.pool[data]);
        out.pool[data].hops = 1;
        *out.pool[data].header_mut() = LpHeader::NONE;
        Some(Stored { data, age: out.now - Time::ZERO })
    }

    #[inline]
    fn in_content_store(&mut self, id: PacketId, out: &mut Out<'_>) -> Option<PacketId> {
        if !self.cs.is_on() || !self.cs_use.serve {
            return None;
        }
        let interest = &out.pool[id];
        let (name, must_be_fresh, hint) = (&interest.name, interest.must_be_fresh, interest.hint_hash());
        let Some(digest) = name.implicit_digest() else {
            return self.cs.lookup_for(hint, name, interest.can_be_prefix, must_be_fresh, out.now);
        };
        let mut data_name = name.clone();
        data_name.truncate(name.len() - 1);
        let digest = *digest;
        let found = self.cs.lookup_for(hint, &data_name, false, must_be_fresh, out.now)?;
        (self.digest_of(&mut out.pool[found]) == Some(digest)).then_some(found)
    }

    /// The implicit digest of a Data, computed on first use.
    pub(super) fn digest_of(&self, data: &mut Packet) -> Option<[u8; 32]> {
        if data.digest.is_none() && !data.wire.is_empty() {
            data.digest = self.digest.map(|digest| Box::new(digest(&data.wire)));
        }
        data.digest.as_deref().copied()
    }

    pub(super) fn answer_from_store(
        &mut self,
        face: FaceId,
        id: PacketId,
        Stored { data, age }: Stored,
        out: &mut Out<'_>,
    ) {
        self.fates.answered += 1;
        self.set_flow(id, out);
        let interest = &mut out.pool[id];
        let flow = interest.flow;
        let local = self.is_local(face);
        // A name without a route has no flow here.
        let strategy = self.strategies.of(&interest.name);
        if flow.prefix != NO_PREFIX {
            self.strategies.get(strategy).on_cached(&mut CachedEvent { now: out.now, interest, local });
        }
        let record = in_record(face, interest, false, LONGEST_LIFETIME, out.now);
        out.pool.free(id);
        self.send_answer(data, &record, Answerer { flow, strategy }, Answer::Cached(age), out);
    }

    /// Answers an Interest from the store while an entry of it is pending. The downstream has its Data and no
    /// longer waits. An application still waits if its earlier Interest has another token, by which it may be
    /// distinguished.
    ///
    /// The entry stays: the strategy learns of its Data, or that none came.
    #[cold]
    pub(super) fn answer_who_waits(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        stored: Stored,
        out: &mut Out<'_>,
    ) {
        let token = out.pool[id].header().pit_token;
        self.answer_from_store(face, id, stored, out);
        let is_local = self.is_local(face);
        let Some(entry) = self.pit.entry_mut(pit) else { return };
        if entry.in_record(face).is_some_and(|record| !is_local || record.token == token) {
            self.pit.remove_in_record(pit, face);
            self.pit.entry_mut(pit).expect("a live entry").facts.set(Fact::Answered, true);
        }
    }
}
