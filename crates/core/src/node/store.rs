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

/// A Data to answer from, without signals.
pub(super) struct Stored {
    /// The answer's own copy.
    data: PacketId,
    /// How long it has been here; of a simulated cache, which had it from the beginning, since time zero.
    age: Span,
}

/// What a stored Data counts: all memory that it takes. One of the simulator has no bytes and counts its length, for the
/// caches of papers hold packets and not tables.
fn stored_bytes(data: &Packet, policy: CsPolicy) -> u64 {
    if data.wire.is_empty() {
        return u64::from(data.net_len);
    }
    data.memory() + entry_bytes(&data.name) + policy.entry_bytes() as u64
}

/// Whether the consumer does not want an answer from a store.
#[inline]
pub(super) fn is_past_stores(interest: &Packet) -> bool {
    interest.header().signals.value(&Signal::PAST_STORES).is_some()
}

/// What the stores of a node did: its content store and its simulated cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Interests that were answered.
    pub hits: u64,
    /// Interests that were looked up in vain. A simulated cache looks up names under its prefixes only.
    pub misses: u64,
    /// Data that were stored and had not been there.
    pub insertions: u64,
    /// Data that made room for others.
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
    /// What its stores did so far. An Interest that finds an equal one pending is not looked up.
    pub fn cache_counters(&self) -> CacheCounters {
        let simulated = self.simulated_cache.as_deref();
        let (hits, misses) = simulated.map_or((0, 0), |cache| (cache.hits(), cache.misses()));
        // What the content store does not have, the simulated cache is asked for.
        let misses = if self.cs.is_on() { self.cs.misses().saturating_sub(hits) } else { misses };
        CacheCounters {
            hits: self.cs.hits() + hits,
            misses,
            insertions: self.cs.insertions(),
            evictions: self.cs.evictions(),
        }
    }

    /// Keeps a copy without signals: they belong to one hop and one moment. What is for this host or for one hop is not
    /// kept: it is not for the others who would get it from here, and an answer to a command must not answer the next one.
    /// It answers Interests of this hint; 0: all.
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
        // The next one to go has not been touched for long either: the processor fetches it meanwhile.
        if let Some(&oldest) = self.cs.oldest() {
            out.pool[oldest].prefetch();
        }
    }

    /// Whether there is anything to answer from.
    #[inline]
    pub(super) fn has_stores(&self) -> bool {
        self.cs.is_on() || self.simulated_cache.is_some()
    }

    /// The Data here that answers an Interest, unless the consumer asks past the stores because the Data that it got
    /// was not to be believed.
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

    /// The implicit digest of a Data, which is made when it is first asked for.
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
        // What has no route has no flow here.
        let strategy = self.strategies.of(&interest.name);
        if flow.prefix != NO_PREFIX {
            self.strategies.get(strategy).on_cached(&mut CachedEvent { now: out.now, interest, local });
        }
        let record = in_record(face, interest, false, LONGEST_LIFETIME, out.now);
        out.pool.free(id);
        self.send_answer(data, &record, Answerer { flow, strategy }, Answer::Cached(age), out);
    }

    /// Answers an Interest from the store while an entry of it is pending. The downstream has its Data, so it waits no longer;
    /// but an application does if its earlier Interest has another token, by which it may know it.
    ///
    /// The entry stays: the strategy hears of its Data, or that none came.
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
