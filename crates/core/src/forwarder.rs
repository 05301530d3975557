//! One node: tables, strategy and links, driven by inputs and answering with actions.
//!
//! ```text
//!             Interest: loop? -> PIT -> content store -> FIB -> strategy -> queue -> link
//!  input ---> Data:     PIT -> queue of its face -> strategy -> content store -> downstreams
//!             Nack:     PIT -> strategy -> another next hop, or downstreams
//! ```
//!
//! The world hands in packets, deadlines and faces that come and go ([`Forwarder::handle`]); what
//! is to be done with packets comes back in a buffer of [`Action`]s that the world reuses. The same
//! inputs give the same actions.

use std::collections::VecDeque;

use bytes::Bytes as Buffer;
use smallvec::SmallVec;
use weir_packet::{CachePolicy, LpHeader, NackReason, PitToken, ServiceClass, Signal};

use crate::cs::ContentStore;
use crate::dead_nonce::DeadNonceList;
use crate::deadline::Deadlines;
use crate::fib::{Fib, FibId, NextHop};
use crate::flow_prefix::{FlowPrefix, NO_PREFIX, Prefixes};
use crate::ids::{FaceId, PrefixId};
use crate::link::Link;
use crate::name::NameHasher;
use crate::packet::{FlowKey, Kind, Packet, PacketId, PacketPool};
use crate::pit::{InRecord, Pit, PitEntry, PitId};
use crate::random::Random;
use crate::rtt::RoundTrips;
use crate::scheme::{
    Answer, CachedEvent, DataEvent, DataOutEvent, Decision, DropReason, Dropped, Drops, ExpiredEvent,
    InterestEvent, NackEvent, PrefixRemoved, Strategy, StrategyDeadline,
};
use crate::scope::{Scope, scope_of};
use crate::strategy_choice::{StrategyChoice, StrategyId};
use crate::units::{Bytes, Span, Time};

/// Bounds of a node's tables.
#[derive(Clone, Debug)]
pub struct TableLimits {
    /// Pending Interests.
    pub pit_entries: usize,
    /// Dead nonces.
    pub dead_nonces: usize,
}

impl Default for TableLimits {
    fn default() -> TableLimits {
        TableLimits { pit_entries: 1 << 20, dead_nonces: 1 << 16 }
    }
}

/// Something happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A packet arrived on a face.
    Packet {
        /// The face.
        face: FaceId,
        /// The packet; the node owns it from now on.
        packet: PacketId,
    },
    /// [`Forwarder::next_deadline`] is reached.
    Deadline,
    /// A face came up.
    FaceUp(FaceId),
    /// A face went down.
    FaceDown(FaceId),
    /// The last packet of a face on a shared medium has left, or is lost: the next one may go.
    Sent(FaceId),
}

/// Something is to be done with a packet, which the world owns from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put it on the link of a face; its last bit leaves at `until`, or when the world says so
    /// ([`Input::Sent`]) where the medium is shared.
    Transmit {
        /// The face.
        face: FaceId,
        /// The packet.
        packet: PacketId,
        /// When its last bit leaves; [`Time::NEVER`] on a shared medium.
        until: Time,
        /// How long it was queued.
        waited: Span,
    },
    /// Give it to the application behind a local face.
    Deliver {
        /// The face.
        face: FaceId,
        /// The packet.
        packet: PacketId,
    },
    /// Count it and free it.
    Drop {
        /// The face that it was to leave by, or on which it arrived.
        face: FaceId,
        /// The packet.
        packet: PacketId,
        /// Why.
        reason: DropReason,
    },
}

/// Where a face leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To an application on this node.
    Application,
    /// Out by this link.
    Link(u32),
    /// Nowhere: it was removed.
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Face {
    way: Way,
    up: bool,
    /// The last Data that it was sent, by number ([`Forwarder::data_seen`]).
    answered: u64,
}

impl Face {
    /// Whether an Interest of this scope may leave by it.
    #[inline]
    fn takes(self, scope: Scope) -> bool {
        self.up && (scope == Scope::Global || self.way == Way::Application)
    }
}

/// On whose behalf a Data goes to a downstream.
#[derive(Clone, Copy)]
struct Answerer {
    flow: FlowKey,
    strategy: StrategyId,
}

/// No Interest is pending for longer, whatever lifetime it claims: an entry that never expires would
/// take a place in the PIT for ever. Assumed: five times what applications that wait for news use (60 s,
/// NFD's notifications); they ask again.
const LONGEST_LIFETIME: Span = Span::from_secs(300);

/// A link, its face, and what its timer is set to.
struct LinkFace {
    face: FaceId,
    link: Link,
    timer: Time,
}

const PIT_TIMER: u32 = 0;
const STRATEGY_TIMER: u32 = 1;
const FIRST_LINK_TIMER: u32 = 2;

/// One NDN node.
pub struct Forwarder {
    faces: Vec<Face>,
    links: Vec<LinkFace>,
    fib: Fib,
    prefixes: Prefixes,
    round_trips: RoundTrips,
    pit: Pit,
    cs: ContentStore<PacketId>,
    dead_nonces: DeadNonceList,
    strategies: StrategyChoice,
    random: Random,
    deadlines: Deadlines,
    /// What the timers of PIT and strategy are set to.
    pit_timer: Time,
    strategy_timer: Time,
    /// The strategy is not called before: so that time passes, whatever it answers.
    strategy_rests_until: Time,
    /// Reused between calls.
    dropped: Drops,
    /// What queues dropped during this call, and at which face.
    to_report: Vec<(FaceId, Dropped)>,
    matches: SmallVec<[PitId; 4]>,
    evicted: Vec<PacketId>,
    /// Entries whose Interest did not leave, the oldest first: in a full PIT they make room for others.
    unsent: VecDeque<PitId>,
    /// Faces that were removed, and since when: no entry of the PIT may mean the old one when the number
    /// is used again.
    gone: VecDeque<(Time, FaceId)>,
    /// Places of links that were removed.
    free_links: Vec<u32>,
    cs_use: CsUse,
    /// Makes the implicit digest of a Data.
    digest: Option<ImplicitDigest>,
    /// Data that satisfied something.
    data_seen: u64,
    satisfied: u64,
    unsatisfied: u64,
}

/// SHA-256 of a bare Data.
pub type ImplicitDigest = fn(&[u8]) -> [u8; 32];

/// What the content store is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsUse {
    /// Data are stored.
    pub admit: bool,
    /// Interests are answered from it.
    pub serve: bool,
}

/// The world's side of a call: where packets live, and what is to be done with them.
struct Out<'a> {
    now: Time,
    pool: &'a mut PacketPool,
    actions: &'a mut Vec<Action>,
}

impl Out<'_> {
    fn drop(&mut self, face: FaceId, packet: PacketId, reason: DropReason) {
        self.actions.push(Action::Drop { face, packet, reason });
    }
}

impl Forwarder {
    /// A node without faces, routes or content store.
    pub fn new(
        strategy: Box<dyn Strategy>,
        limits: &TableLimits,
        hasher: NameHasher,
        random: Random,
    ) -> Forwarder {
        Forwarder {
            faces: Vec::new(),
            links: Vec::new(),
            fib: Fib::new(),
            prefixes: Prefixes::new(FlowPrefix::FibEntry),
            round_trips: RoundTrips::default(),
            pit: Pit::new(hasher, limits.pit_entries),
            cs: ContentStore::new(crate::cs::CsPolicy::Lru, 0, 0),
            dead_nonces: DeadNonceList::new(limits.dead_nonces, crate::dead_nonce::DEAD_NONCE_LIFETIME),
            strategies: StrategyChoice::new(strategy),
            random,
            deadlines: Deadlines::new(FIRST_LINK_TIMER as usize),
            pit_timer: Time::NEVER,
            strategy_timer: Time::NEVER,
            strategy_rests_until: Time::ZERO,
            dropped: Drops::new(),
            to_report: Vec::new(),
            matches: SmallVec::new(),
            evicted: Vec::new(),
            unsent: VecDeque::new(),
            gone: VecDeque::new(),
            free_links: Vec::new(),
            cs_use: CsUse { admit: true, serve: true },
            digest: None,
            data_seen: 0,
            satisfied: 0,
            unsatisfied: 0,
        }
    }

    /// Says what flows are at this node, before there are packets.
    pub fn set_flow_prefix(&mut self, rule: FlowPrefix) {
        self.prefixes = Prefixes::new(rule);
    }

    /// Gives the node a content store, empty, with these bounds; either bound 0 means none.
    ///
    /// # Panics
    /// If the store that it has holds packets, since nobody would free them.
    pub fn set_content_store(&mut self, store: ContentStore<PacketId>) {
        assert!(self.cs.is_empty(), "a content store is given before there are packets");
        self.cs = store;
    }

    /// Says how the implicit digest of a Data is made from its bytes. It is made only where an Interest asks
    /// for a Data of that name by its digest.
    pub fn set_digest(&mut self, digest: ImplicitDigest) {
        self.digest = Some(digest);
    }

    /// The routes.
    pub fn fib(&self) -> &Fib {
        &self.fib
    }

    /// The pending Interests.
    pub fn pit(&self) -> &Pit {
        &self.pit
    }

    /// The content store.
    pub fn content_store(&self) -> &ContentStore<PacketId> {
        &self.cs
    }

    /// When to hand in the next [`Input::Deadline`].
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.deadlines.next()
    }

    /// Handles one input; appends what is to be done to `actions`.
    pub fn handle(&mut self, now: Time, input: Input, pool: &mut PacketPool, actions: &mut Vec<Action>) {
        let mut out = Out { now, pool, actions };
        match input {
            Input::Packet { face, packet } => self.on_packet(face, packet, &mut out),
            Input::Deadline => self.on_deadline(&mut out),
            Input::FaceUp(face) => self.on_face(face, true, &mut out),
            Input::FaceDown(face) => self.on_face(face, false, &mut out),
            Input::Sent(face) => self.on_sent(face, &mut out),
        }
        self.report_drops(&mut out);
        self.set_strategy_timer();
    }

    #[inline]
    fn set_strategy_timer(&mut self) {
        let wanted = self.strategies.next_deadline().max(self.strategy_rests_until);
        if wanted != self.strategy_timer {
            self.strategy_timer = wanted;
            self.deadlines.set(STRATEGY_TIMER, wanted);
        }
    }

    /// Answered Interests only put off the next expiry, and a call too early finds nothing to do: so
    /// the timer is only ever set to earlier times, until it fires.
    #[inline]
    fn expect_expiry(&mut self, expires: Time, now: Time) {
        if expires < self.pit_timer {
            // A wheel that was not turned since may name a slot that is over.
            self.pit_timer = self.pit.next_deadline().max(now);
            self.deadlines.set(PIT_TIMER, self.pit_timer);
        }
    }

    fn on_packet(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        out.pool[id].arrived_on = face;
        if out.pool[id].name.is_empty() {
            return out.drop(face, id, DropReason::Malformed);
        }
        if !self.is_local(face) && scope_of(&out.pool[id].name) == Scope::Host {
            return out.drop(face, id, DropReason::Scope);
        }
        match out.pool[id].kind {
            Kind::Interest => self.on_interest(face, id, out),
            Kind::Data => self.on_data(face, id, out),
            Kind::Nack => self.on_nack(face, id, out),
        }
    }

    // ---- Interests

    fn on_interest(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let now = out.now;
        self.receive(face, id, None, out);
        let interest = &mut out.pool[id];
        if let Some(hops) = &mut interest.hop_limit {
            if *hops == 0 {
                return out.drop(face, id, DropReason::HopLimit);
            }
            *hops -= 1;
        }
        let nonce = interest.nonce;
        if self.dead_nonces.contains(interest.name.hash(), nonce, now) {
            return self.refuse_loop(face, id, out);
        }
        let mut found =
            self.pit.find_or_insert(&interest.name, interest.can_be_prefix, interest.must_be_fresh, now);
        if found.is_err() && self.make_room(out) {
            let interest = &out.pool[id];
            found =
                self.pit.find_or_insert(&interest.name, interest.can_be_prefix, interest.must_be_fresh, now);
        }
        if !matches!(found, Ok((_, false)))
            && let Some(cached) = self.stored(id, out)
        {
            if let Ok((pit, _)) = found {
                self.pit.remove(pit);
            }
            return self.answer_from_store(face, id, cached, out);
        }
        let Ok((pit, is_new)) = found else {
            return out.drop(face, id, DropReason::PitFull);
        };
        let entry = self.pit.entry_mut(pit).expect("just found or inserted");
        if is_new {
            entry.class = out.pool[id].class() as u8;
            // It stays theirs while it lives, whatever is chosen meanwhile: who counts it has to hear of its end.
            entry.strategy = self.strategies.of(&out.pool[id].name);
        } else {
            if is_loop(entry, nonce, face) {
                return self.refuse_loop(face, id, out);
            }
            give_up_downed(entry, &self.faces);
        }
        let aggregated = !is_new && entry.in_record(face).is_none() && entry.is_pending(now);
        self.record_downstream(pit, face, id, aggregated, out);
        self.forward(pit, face, id, aggregated, out);
    }

    /// A looping Interest goes back to a neighbour, so that it need not wait; an application does
    /// not loop.
    fn refuse_loop(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        match self.faces[face.0 as usize].way {
            Way::Application => out.drop(face, id, DropReason::Loop),
            Way::Gone => out.pool.free(id),
            Way::Link(_) => {
                self.set_flow(id, out);
                let nack = &mut out.pool[id];
                let pit_token = nack.header().pit_token;
                nack.make_nack(NackReason::Duplicate);
                nack.header_mut().pit_token = pit_token;
                self.send(face, id, out);
            }
        }
    }

    /// Writes down who asked.
    fn record_downstream(
        &mut self,
        pit: PitId,
        face: FaceId,
        id: PacketId,
        aggregated: bool,
        out: &mut Out<'_>,
    ) {
        let record = in_record(face, &out.pool[id], aggregated, out.now);
        let expires = record.expires;
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        match entry.in_record(face) {
            Some(known) => *known = InRecord { aggregated: known.aggregated, retransmission: true, ..record },
            None => entry.in_records.push(record),
        }
        self.pit.extend_expiry(pit, expires);
        self.expect_expiry(expires, out.now);
    }

    /// Asks the strategy what becomes of an Interest, and does it.
    fn forward(&mut self, pit: PitId, face: FaceId, id: PacketId, aggregated: bool, out: &mut Out<'_>) {
        let Some(fib) = self.fib.lookup(&out.pool[id].name) else {
            return self.refuse(pit, face, id, NackReason::NoRoute, out);
        };
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        // From a neighbour, what is for one hop goes no further than to applications.
        let scope = match scope_of(&out.pool[id].name) {
            Scope::Hop if self.is_local(face) => Scope::Global,
            scope => scope,
        };
        for hop in self.fib.next_hops(fib) {
            if hop.face != face && self.faces[hop.face.0 as usize].takes(scope) {
                next_hops.push(*hop);
            }
        }
        let prefix = self.flow_prefix(id, Some(fib), out);
        let local = self.is_local(face);
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        entry.prefix = prefix;
        let strategy = entry.strategy;
        let interest = &mut out.pool[id];
        interest.flow = entry_flow(entry);
        interest.pit = pit;
        if let Some(chosen) = interest.header().next_hop_face_id() {
            let decision = self.chosen_next_hop(chosen, scope);
            return self.carry_out(decision, pit, face, id, out);
        }
        let (next_hops, random) = (&next_hops, &mut self.random);
        let srtt = self.round_trips.get(prefix);
        let mut ev = InterestEvent { now: out.now, interest, pit, entry, local, next_hops, srtt, random };
        let strategy = self.strategies.get(strategy);
        let decision = if aggregated {
            strategy.on_aggregated(&mut ev);
            Decision::Suppress
        } else {
            strategy.on_interest(&mut ev)
        };
        self.carry_out(decision, pit, face, id, out);
    }

    /// An application has chosen the next hop itself (NDNLPv2, NextHopFaceId): no strategy is asked, nor
    /// whether the face is one of the prefix's next hops.
    fn chosen_next_hop(&self, face: u64, scope: Scope) -> Decision {
        let may = |face: &Face| face.way != Way::Gone && face.takes(scope);
        match usize::try_from(face).ok().filter(|&at| self.faces.get(at).is_some_and(may)) {
            Some(at) => Decision::Forward(FaceId(at as u32)),
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    /// The flow of an Interest that has no PIT entry.
    fn set_flow(&mut self, id: PacketId, out: &mut Out<'_>) {
        let prefix = self.flow_prefix(id, self.fib.lookup(&out.pool[id].name), out);
        let class = out.pool[id].class();
        out.pool[id].flow = FlowKey { prefix, class };
    }

    /// The prefix of an Interest's flow. Where another is forgotten for it, so are its flows.
    #[inline]
    fn flow_prefix(&mut self, id: PacketId, entry: Option<FibId>, out: &mut Out<'_>) -> PrefixId {
        let (prefix, forgotten) = self.prefixes.of(&out.pool[id].name, entry);
        if let Some(forgotten) = forgotten {
            self.forget_prefix(forgotten, out);
        }
        prefix
    }

    fn forget_prefix(&mut self, prefix: PrefixId, out: &mut Out<'_>) {
        self.round_trips.forget(prefix);
        self.strategies.each().for_each(|strategy| strategy.on_prefix_removed(prefix));
        for LinkFace { face, link, .. } in &mut self.links {
            let (now, dropped) = (out.now, &mut self.dropped);
            link.on_prefix_removed(&mut PrefixRemoved { now, prefix, pool: out.pool, dropped });
            self.to_report.extend(self.dropped.drain(..).map(|dropped| (*face, dropped)));
        }
    }

    /// Does with an Interest that came, or came back, by `face` what the strategy decided.
    fn carry_out(&mut self, decision: Decision, pit: PitId, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        match decision {
            Decision::Forward(next_hop) => self.send_interest(pit, next_hop, id, out),
            Decision::Multicast(next_hops) => {
                for &next_hop in next_hops.iter().skip(1) {
                    let copy = out.pool.duplicate(id);
                    self.send_interest(pit, next_hop, copy, out);
                }
                match next_hops.first() {
                    Some(&next_hop) => self.send_interest(pit, next_hop, id, out),
                    None => self.refuse(pit, face, id, NackReason::NoRoute, out),
                }
            }
            Decision::Hold => {
                let entry = self.pit.entry_mut(pit).expect("a live entry");
                if let Some(earlier) = entry.held.replace(id) {
                    out.pool.free(earlier);
                }
            }
            Decision::Suppress => out.pool.free(id),
            Decision::Nack(reason) => self.refuse(pit, face, id, reason, out),
        }
    }

    fn send_interest(&mut self, pit: PitId, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let interest = &mut out.pool[id];
        // Zero hops left: applications here may still answer, the network may not.
        let local = self.is_local(face);
        if interest.hop_limit == Some(0) && !local {
            return out.drop(face, id, DropReason::HopLimit);
        }
        interest.header_mut().pit_token = PitToken::new(&pit.to_token()).unwrap_or(PitToken::NONE);
        let (nonce, lifetime) = (interest.nonce, interest.lifetime.min(LONGEST_LIFETIME));
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        entry.hop_limit = interest.hop_limit;
        if let Some(earlier) = entry.note_sending(face, nonce, out.now, lifetime) {
            self.dead_nonces.add(interest.name.hash(), earlier, out.now);
        }
        self.send(face, id, out);
    }

    /// There is no way on for the Interest of a downstream. While Data may come for another, only
    /// this downstream is told.
    fn refuse(&mut self, pit: PitId, face: FaceId, id: PacketId, reason: NackReason, out: &mut Out<'_>) {
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        if !entry.is_pending(out.now) {
            return self.reject(pit, id, reason, out);
        }
        match entry.in_records.iter().position(|record| record.face == face) {
            Some(place) => {
                let record = entry.in_records.remove(place);
                self.send_nack(pit, id, &record, reason, out);
            }
            None => out.pool.free(id),
        }
    }

    /// Tells every downstream of an entry that there will be no Data, and forgets the entry.
    fn reject(&mut self, pit: PitId, id: PacketId, reason: NackReason, out: &mut Out<'_>) {
        let mut index = 0;
        while let Some(record) = self.pit.entry(pit).and_then(|e| e.in_records.get(index).copied()) {
            index += 1;
            if record.expires >= out.now {
                let nack = out.pool.duplicate(id);
                self.send_nack(pit, nack, &record, reason, out);
            }
        }
        out.pool.free(id);
        self.end_unsatisfied(pit, out);
    }

    /// Sends an Interest back to a downstream as a Nack.
    fn send_nack(&mut self, pit: PitId, id: PacketId, to: &InRecord, reason: NackReason, out: &mut Out<'_>) {
        let entry = self.pit.entry(pit).expect("a live entry");
        let nack = &mut out.pool[id];
        nack.flow = entry_flow(entry);
        nack.make_nack(reason);
        nack.nonce = to.nonce;
        nack.header_mut().pit_token = to.token;
        self.send(to.face, id, out);
    }

    // ---- Data

    fn on_data(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let token = PitId::from_token(out.pool[id].header().pit_token.bytes());
        let mut matches = core::mem::take(&mut self.matches);
        matches.clear();
        let data = &mut out.pool[id];
        let digest = self.pit.wants_digest(&data.name).then(|| self.digest_of(data)).flatten();
        self.pit.matches(&data.name, token, digest.as_ref(), &mut matches);
        if matches.is_empty() {
            out.drop(face, id, DropReason::Unsolicited);
        } else {
            self.satisfy(face, id, &matches, out);
        }
        self.matches = matches;
    }

    fn satisfy(&mut self, face: FaceId, id: PacketId, matches: &[PitId], out: &mut Out<'_>) {
        let now = out.now;
        let local = self.is_local(face);
        for (index, &pit) in matches.iter().enumerate() {
            let entry = self.pit.entry(pit).expect("just matched");
            let flow = entry_flow(entry);
            let rtt = entry.out_records.iter().find(|r| r.face == face).and_then(|r| r.rtt(now));
            out.pool[id].flow = flow;
            if let Some(rtt) = rtt {
                self.round_trips.sample(flow.prefix, rtt);
            }
            if index == 0 {
                out.pool[id].pit = pit;
                self.receive(face, id, rtt, out);
            }
            let entry = self.pit.entry(pit).expect("just matched");
            let (data, random) = (&mut out.pool[id], &mut self.random);
            let strategy = self.strategies.get(entry.strategy);
            strategy.on_data(&mut DataEvent { now, data, face, local, flow, entry, rtt, random });
        }
        self.store(id, out);
        self.data_seen += 1;
        for (index, &pit) in matches.iter().enumerate() {
            self.answer_downstreams(face, id, pit, index + 1 == matches.len(), out);
        }
        for &pit in matches {
            self.forget(pit, Some(face), out);
            self.satisfied += 1;
        }
    }

    /// Sends a copy to each downstream of one of the entries; the packet itself to the last one of all.
    fn answer_downstreams(
        &mut self,
        from: FaceId,
        id: PacketId,
        pit: PitId,
        is_last: bool,
        out: &mut Out<'_>,
    ) {
        let entry = self.pit.entry(pit).expect("just matched");
        let by = Answerer { flow: entry_flow(entry), strategy: entry.strategy };
        let mut previous: Option<InRecord> = None;
        let mut index = 0;
        while let Some(record) = self.pit.entry(pit).and_then(|e| e.in_records.get(index).copied()) {
            index += 1;
            if record.expires < out.now || record.face == from || !self.is_to_be_answered(record.face) {
                continue;
            }
            if let Some(previous) = previous.replace(record) {
                let copy = out.pool.duplicate(id);
                self.send_data(copy, &previous, by, out);
            }
        }
        match (previous, is_last) {
            (Some(record), true) => self.send_data(id, &record, by, out),
            (Some(record), false) => {
                let copy = out.pool.duplicate(id);
                self.send_data(copy, &record, by, out);
            }
            (None, true) => out.pool.free(id),
            (None, false) => {}
        }
    }

    /// Whether a downstream gets the Data for this entry: a neighbour gets it once. An application gets it for
    /// each of its Interests: it may know them by their tokens.
    #[inline]
    fn is_to_be_answered(&mut self, face: FaceId) -> bool {
        let state = &mut self.faces[face.0 as usize];
        let is_first = core::mem::replace(&mut state.answered, self.data_seen) != self.data_seen;
        is_first || state.way == Way::Application
    }

    fn send_data(&mut self, id: PacketId, to: &InRecord, by: Answerer, out: &mut Out<'_>) {
        let answer = if to.aggregated { Answer::Aggregated } else { Answer::Forwarded };
        self.send_answer(id, to, by, answer, out);
    }

    fn send_answer(&mut self, id: PacketId, to: &InRecord, by: Answerer, answer: Answer, out: &mut Out<'_>) {
        let now = out.now;
        let Answerer { flow, strategy } = by;
        let local = self.is_local(to.face);
        let data = &mut out.pool[id];
        data.flow = flow;
        data.header_mut().pit_token = to.token;
        let (face, random) = (to.face, &mut self.random);
        self.strategies.get(strategy).on_data_out(&mut DataOutEvent {
            now,
            data,
            face,
            local,
            flow,
            in_record: to,
            answer,
            random,
        });
        self.send(face, id, out);
    }

    /// Keeps a copy without signals: they belong to one hop and one moment. What is for this host only is not
    /// kept: it comes from here, and an answer to a command that is sent again must not.
    fn store(&mut self, id: PacketId, out: &mut Out<'_>) {
        let refused = out.pool[id].header().cache_policy() == Some(CachePolicy::NoCache);
        if !self.cs.is_on() || !self.cs_use.admit || refused || scope_of(&out.pool[id].name) == Scope::Host {
            return;
        }
        let copy = out.pool.duplicate(id);
        let data = &mut out.pool[copy];
        if !data.wire.is_empty() {
            // In memory of its own: the world's buffer may hold many packets.
            data.wire = Buffer::copy_from_slice(&data.wire);
        }
        *data.header_mut() = LpHeader::NONE;
        data.queued_at = out.now;
        let fresh_until = out.now + data.freshness;
        let bytes = u64::from(data.net_len);
        self.cs.insert(&out.pool[copy].name, copy, bytes, fresh_until, &mut self.evicted);
        for evicted in self.evicted.drain(..) {
            out.pool.free(evicted);
        }
    }

    /// The Data in the content store that answers an Interest.
    #[inline]
    fn stored(&mut self, id: PacketId, out: &mut Out<'_>) -> Option<PacketId> {
        if !self.cs.is_on() || !self.cs_use.serve {
            return None;
        }
        let interest = &out.pool[id];
        let (name, must_be_fresh) = (&interest.name, interest.must_be_fresh);
        let Some(digest) = name.implicit_digest() else {
            return self.cs.lookup(name, interest.can_be_prefix, must_be_fresh, out.now);
        };
        let mut data_name = name.clone();
        data_name.truncate(name.len() - 1);
        let digest = *digest;
        let found = self.cs.lookup(&data_name, false, must_be_fresh, out.now)?;
        (self.digest_of(&mut out.pool[found]) == Some(digest)).then_some(found)
    }

    /// The implicit digest of a Data, which is made when it is first asked for.
    fn digest_of(&self, data: &mut Packet) -> Option<[u8; 32]> {
        if data.digest.is_none() && !data.wire.is_empty() {
            data.digest = self.digest.map(|digest| Box::new(digest(&data.wire)));
        }
        data.digest.as_deref().copied()
    }

    fn answer_from_store(&mut self, face: FaceId, id: PacketId, cached: PacketId, out: &mut Out<'_>) {
        self.set_flow(id, out);
        let interest = &mut out.pool[id];
        let flow = interest.flow;
        let local = self.is_local(face);
        // What has no route has no flow here.
        let strategy = self.strategies.of(&interest.name);
        if flow.prefix != NO_PREFIX {
            self.strategies.get(strategy).on_cached(&mut CachedEvent { now: out.now, interest, local });
        }
        let record = in_record(face, interest, false, out.now);
        let copy = out.pool.duplicate(cached);
        out.pool.free(id);
        let age = out.now - out.pool[cached].queued_at;
        self.send_answer(copy, &record, Answerer { flow, strategy }, Answer::Cached(age), out);
    }

    // ---- Nacks

    fn on_nack(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let nack = &out.pool[id];
        let reason = nack.header().nack().unwrap_or(NackReason::None);
        let found = self.pit.find_exact(&nack.name, nack.can_be_prefix, nack.must_be_fresh);
        let Some(pit) = found else {
            return out.drop(face, id, DropReason::Unsolicited);
        };
        let nonce = nack.nonce;
        let entry = self.pit.entry_mut(pit).expect("just found");
        let Some(record) = entry.out_records.iter_mut().find(|r| r.face == face && r.nonce == nonce) else {
            return out.drop(face, id, DropReason::Unsolicited);
        };
        record.give_up(Some(reason));
        give_up_downed(entry, &self.faces);
        let pending = entry.is_pending(out.now);
        let downstream = |f: FaceId| entry.in_records.iter().all(|r| r.face == f);
        let mut next_hops: SmallVec<[NextHop; 8]> = SmallVec::new();
        if let Some(fib) = self.fib.lookup(entry.name()) {
            let is_ours =
                entry.in_records.iter().any(|r| self.faces[r.face.0 as usize].way == Way::Application);
            let scope = match scope_of(entry.name()) {
                Scope::Hop if is_ours => Scope::Global,
                scope => scope,
            };
            for hop in self.fib.next_hops(fib) {
                let tried = entry.out_records.iter().any(|r| r.face == hop.face);
                if !tried && !downstream(hop.face) && self.faces[hop.face.0 as usize].takes(scope) {
                    next_hops.push(*hop);
                }
            }
        }
        let random = &mut self.random;
        let mut ev = NackEvent { now: out.now, reason, face, entry, next_hops: &next_hops, random };
        let decision = self.strategies.get(ev.entry.strategy).on_nack(&mut ev);
        if pending {
            return out.pool.free(id);
        }
        // The Interest again as it was sent: the neighbour has lowered its hop limit, and the signals
        // are the neighbour's.
        let interest = &mut out.pool[id];
        interest.kind = Kind::Interest;
        interest.hop_limit = interest.hop_limit.and(entry.hop_limit);
        *interest.header_mut() = LpHeader::NONE;
        interest.pit = pit;
        interest.flow = entry_flow(entry);
        let class = interest.flow.class;
        if class != ServiceClass::Be {
            interest.header_mut().signals.set(Signal::ServiceClass, class as u64);
        }
        self.carry_out(decision, pit, face, id, out);
    }

    // ---- Links

    /// Lets the queue of the face see a packet that arrived on it.
    #[inline]
    fn receive(&mut self, face: FaceId, id: PacketId, rtt: Option<Span>, out: &mut Out<'_>) {
        if let Way::Link(link) = self.faces[face.0 as usize].way {
            let packet = &mut out.pool[id];
            let wire_len = Bytes::new(packet.wire_len());
            self.links[link as usize].link.on_receive(out.now, packet, wire_len, rtt);
            self.set_link_timer(link);
        }
    }

    /// Sends a packet by a face: to the application, or into the queue of the link.
    #[inline]
    fn send(&mut self, face: FaceId, id: PacketId, out: &mut Out<'_>) {
        let Face { way, up, .. } = self.faces[face.0 as usize];
        match way {
            _ if !up => out.drop(face, id, DropReason::FaceDown),
            Way::Gone => out.drop(face, id, DropReason::FaceDown),
            Way::Application => out.actions.push(Action::Deliver { face, packet: id }),
            Way::Link(link) => {
                self.links[link as usize].link.enqueue(out.now, id, out.pool, &mut self.dropped);
                self.serve(link, out);
            }
        }
    }

    fn on_sent(&mut self, face: FaceId, out: &mut Out<'_>) {
        if let Way::Link(link) = self.faces[face.0 as usize].way {
            self.links[link as usize].link.release(out.now);
            self.serve(link, out);
        }
    }

    /// Lets a link send what it can, and sets its timer.
    fn serve(&mut self, link: u32, out: &mut Out<'_>) {
        let LinkFace { face, link: state, .. } = &mut self.links[link as usize];
        while let Some(departure) = state.serve(out.now, out.pool, &mut self.dropped) {
            let packet = &out.pool[departure.packet];
            if packet.header().congestion_mark != 0 && packet.is_interest() {
                remember_mark(&mut self.pit, packet.pit, *face);
            }
            let (packet, until, waited) = (departure.packet, departure.until, departure.waited);
            out.actions.push(Action::Transmit { face: *face, packet, until, waited });
        }
        if !self.dropped.is_empty() {
            self.to_report.extend(self.dropped.drain(..).map(|dropped| (*face, dropped)));
        }
        self.set_link_timer(link);
    }

    /// Reports what queues dropped: after everything else, so that no entry goes while its Interest is
    /// being sent or answered. A Nack that this makes may be dropped in its turn, or push out others.
    fn report_drops(&mut self, out: &mut Out<'_>) {
        let mut done = 0;
        while let Some(&(face, Dropped { packet, reason, nack })) = self.to_report.get(done) {
            done += 1;
            if out.pool[packet].is_interest() {
                self.on_interest_dropped(face, packet, nack, out);
            }
            out.drop(face, packet, reason);
        }
        self.to_report.clear();
    }

    /// An Interest did not leave. Tells the downstreams where the queue asks for it, unless Data may
    /// still come by another next hop or for an earlier sending.
    fn on_interest_dropped(
        &mut self,
        face: FaceId,
        id: PacketId,
        nack: Option<NackReason>,
        out: &mut Out<'_>,
    ) {
        let interest = &out.pool[id];
        let (pit, nonce) = (interest.pit, interest.nonce);
        // It may have been queued for so long that its entry's handle is another's again.
        let Some(entry) = self.pit.entry_mut(pit).filter(|entry| *entry.name() == interest.name) else {
            return;
        };
        let Some(record) = entry.out_record(face).filter(|r| r.nonce == nonce && r.times_sent == 1) else {
            return;
        };
        record.give_up(nack);
        give_up_downed(entry, &self.faces);
        match nack {
            _ if entry.is_pending(out.now) => {}
            Some(reason) => {
                let copy = out.pool.duplicate(id);
                self.reject(pit, copy, reason, out);
            }
            None => self.note_unsent(pit),
        }
    }

    fn note_unsent(&mut self, pit: PitId) {
        while self.unsent.front().is_some_and(|&oldest| self.pit.entry(oldest).is_none()) {
            self.unsent.pop_front();
        }
        // More than entries there cannot be, but the same one may be there twice.
        if self.unsent.len() > self.pit.len() {
            self.unsent.pop_front();
        }
        self.unsent.push_back(pit);
    }

    /// In a full PIT, ends an entry whose Interest did not leave: nothing answers it, and a flood of such would
    /// keep out everybody else. Says whether there was one.
    fn make_room(&mut self, out: &mut Out<'_>) -> bool {
        while let Some(pit) = self.unsent.pop_front() {
            if self.pit.entry(pit).is_some_and(|entry| !entry.is_pending(out.now)) {
                self.expire_entry(pit, out);
                return true;
            }
        }
        false
    }

    // ---- Time and faces

    fn on_deadline(&mut self, out: &mut Out<'_>) {
        while let Some((at, timer)) = self.deadlines.next_id() {
            if at > out.now {
                break;
            }
            match timer {
                PIT_TIMER => self.expire(out),
                STRATEGY_TIMER => self.strategy_deadline(out),
                link => {
                    let link = link - FIRST_LINK_TIMER;
                    self.links[link as usize].link.on_deadline(out.now);
                    self.serve(link, out);
                }
            }
        }
    }

    fn expire(&mut self, out: &mut Out<'_>) {
        while let Some(pit) = self.pit.pop_expired(out.now) {
            self.expire_entry(pit, out);
        }
        self.pit_timer = self.pit.next_deadline();
        self.deadlines.set(PIT_TIMER, self.pit_timer);
    }

    fn expire_entry(&mut self, pit: PitId, out: &mut Out<'_>) {
        self.unsatisfied += 1;
        self.end_unsatisfied(pit, out);
    }

    fn end_unsatisfied(&mut self, pit: PitId, out: &mut Out<'_>) {
        let entry = self.pit.entry(pit).expect("a live entry");
        self.strategies.get(entry.strategy).on_expired(&mut ExpiredEvent { now: out.now, entry });
        self.forget(pit, None, out);
    }

    fn strategy_deadline(&mut self, out: &mut Out<'_>) {
        let mut releases = SmallVec::new();
        let random = &mut self.random;
        for strategy in self.strategies.each().filter(|strategy| strategy.next_deadline() <= out.now) {
            strategy.on_deadline(&mut StrategyDeadline { now: out.now, releases: &mut releases, random });
        }
        for (pit, face) in releases {
            let held = self.pit.entry_mut(pit).and_then(|entry| entry.held.take());
            if let Some(id) = held {
                self.send_interest(pit, face, id, out);
            }
        }
        self.strategy_rests_until = out.now + Span::from_nanos(1);
        self.set_strategy_timer();
    }

    /// Forgets an entry, but not the nonces that may still be on their way: those sent to others than
    /// who answered. From a content store they would be answered, unless they ask for fresh Data.
    fn forget(&mut self, pit: PitId, answered_by: Option<FaceId>, out: &mut Out<'_>) {
        let entry = self.pit.entry_mut(pit).expect("a live entry");
        if let Some(held) = entry.held.take() {
            out.pool.free(held);
        }
        if answered_by.is_none() || entry.must_be_fresh() || !self.cs.is_on() {
            for record in entry.out_records.iter().filter(|record| Some(record.face) != answered_by) {
                self.dead_nonces.add(entry.name().hash(), record.nonce, out.now);
            }
        }
        self.pit.remove(pit);
    }

    fn on_face(&mut self, face: FaceId, up: bool, out: &mut Out<'_>) {
        let state = &mut self.faces[face.0 as usize];
        if state.way == Way::Gone {
            return;
        }
        state.up = up;
        self.strategies.each().for_each(|strategy| strategy.on_face(face, up, out.now));
    }
}

fn entry_flow(entry: &PitEntry) -> FlowKey {
    FlowKey { prefix: entry.prefix, class: ServiceClass::from_value(u64::from(entry.class)) }
}

/// What is written down of the downstream that an Interest came from.
fn in_record(face: FaceId, interest: &Packet, aggregated: bool, now: Time) -> InRecord {
    InRecord {
        face,
        nonce: interest.nonce,
        arrived: now,
        expires: now + interest.lifetime.min(LONGEST_LIFETIME),
        token: interest.header().pit_token,
        aggregated,
        retransmission: false,
    }
}

/// Whether an Interest has been here with this nonce. A link has one other end, which may repeat
/// itself.
fn is_loop(entry: &PitEntry, nonce: u32, face: FaceId) -> bool {
    let mut seen = entry.out_records.iter().any(|record| record.nonce == nonce);
    for record in entry.in_records.iter().filter(|record| record.nonce == nonce) {
        if record.face == face {
            return false;
        }
        seen = true;
    }
    seen
}

/// What was sent by a face that is down now is not answered. Looked at when an entry is, so that a
/// face that goes down costs no search.
fn give_up_downed(entry: &mut PitEntry, faces: &[Face]) {
    let is_down = |face: FaceId| !faces[face.0 as usize].up;
    for record in entry.out_records.iter_mut().filter(|r| r.times_sent > 0 && is_down(r.face)) {
        record.give_up(None);
    }
}

fn remember_mark(pit: &mut Pit, id: PitId, face: FaceId) {
    let record = pit.entry_mut(id).and_then(|entry| entry.out_records.iter_mut().find(|r| r.face == face));
    if let Some(record) = record {
        record.marked = true;
    }
}

impl core::fmt::Debug for Forwarder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Forwarder")
            .field("faces", &self.faces.len())
            .field("pending", &self.pit.len())
            .finish_non_exhaustive()
    }
}

mod faces;
mod tables;

#[cfg(test)]
mod tests;
