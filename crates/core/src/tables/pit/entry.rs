//! A pending Interest: its downstreams and its upstreams.

use smallvec::SmallVec;
use weir_packet::{NackReason, PitToken, ServiceClass};

use super::{KEPT_RECORDS, Kind, NONE, PLACE};
use crate::ids::{FaceId, GroupId, NO_PREFIX, PitId, PrefixId, StrategyId};
use crate::name::HashedName;
use crate::packet::{FlowKey, PacketId};
use crate::prefetch::prefetch;
use crate::seam::Departed;
use crate::tables::fib::{FibId, NO_ENTRY};
use crate::units::{Span, Time};

/// A downstream that waits for the Data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct InRecord {
    /// A downstream of the Interest.
    pub face: FaceId,
    /// The nonce of its latest Interest.
    pub nonce: u32,
    /// When that Interest came.
    pub arrived: Time,
    /// When its InterestLifetime ends.
    pub expires: Time,
    /// `true` if its first Interest was not forwarded because another was pending.
    pub aggregated: bool,
    /// `true` if this downstream has sent the Interest more than once.
    pub retransmission: bool,
    /// The service class of its latest Interest. The entry has the class of its flow.
    pub class: ServiceClass,
    /// Its PIT token, to be returned; [`PitToken::NONE`] without one.
    pub token: PitToken,
    /// The number of the holding that its face is charged for. The PIT sets it.
    pub(crate) holding: u32,
}

/// An upstream that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutRecord {
    /// An upstream of the Interest.
    pub face: FaceId,
    /// The nonce with which it was last sent.
    pub nonce: u32,
    /// When it was last sent.
    pub sent: Time,
    /// The lifetime with which it was last sent, microseconds, rounded up. A span would cost each entry eight
    /// more bytes.
    lifetime_us: u32,
    /// Number of its transmissions that may be answered, without those before a Nack and those that did not
    /// leave. If there are several, it is unknown which of them a Data answers.
    pub times_sent: u8,
    /// `true` if the last transmission carried a congestion mark.
    pub marked: bool,
    /// The reason of the Nack for the last transmission, if there was one; 255 for 255 and more.
    pub nacked: Option<u8>,
    /// Time from `sent` until the last transmission left, microseconds, rounded down; [`UNNOTED`] if the
    /// queue made no note.
    waited_us: u32,
    /// The queue's note about the last transmission when it left.
    note: u32,
}

/// The queue made no note about a transmission.
const UNNOTED: u32 = u32::MAX;

impl InRecord {
    /// Makes the record of a downstream whose first Interest has come, in the best-effort class.
    pub fn new(face: FaceId, nonce: u32, arrived: Time, expires: Time, token: PitToken) -> InRecord {
        let (aggregated, retransmission, holding) = (false, false, 0);
        let class = ServiceClass::Be;
        InRecord { face, nonce, arrived, expires, aggregated, retransmission, class, token, holding }
    }
}

impl OutRecord {
    /// Makes the record of an upstream that was not asked yet.
    pub(super) fn unsent(face: FaceId) -> OutRecord {
        let (nonce, sent) = (0, Time::ZERO);
        let (waited_us, note) = (UNNOTED, 0);
        OutRecord {
            face,
            nonce,
            sent,
            lifetime_us: 0,
            times_sent: 0,
            marked: false,
            nacked: None,
            waited_us,
            note,
        }
    }

    /// Records a transmission of the Interest, the first or another.
    #[inline]
    pub(super) fn send(&mut self, nonce: u32, now: Time, lifetime: Span) {
        self.nonce = nonce;
        self.sent = now;
        self.lifetime_us = u32::try_from(lifetime.as_nanos().div_ceil(1000)).unwrap_or(u32::MAX);
        self.times_sent = self.times_sent.saturating_add(1);
        self.marked = false;
        self.nacked = None;
        self.waited_us = UNNOTED;
    }

    /// Records that the Interest with this nonce has left the queue, with the queue's note. The note is
    /// discarded if later transmissions followed, or if the Interest was given up.
    #[inline]
    pub(crate) fn leave(&mut self, nonce: u32, now: Time, note: u32) {
        if self.nonce == nonce && self.times_sent == 1 {
            let waited_us = now.since(self.sent).as_nanos() / 1000;
            self.waited_us = u32::try_from(waited_us).unwrap_or(UNNOTED);
            self.note = note;
        }
    }

    /// When the Interest left the queue, to a microsecond, and the queue's note. `None` if it is unknown
    /// which transmission a Data answers, or if the queue made no note about it.
    #[inline]
    pub fn departed(&self) -> Option<Departed> {
        let is_noted = self.times_sent == 1 && self.waited_us != UNNOTED;
        is_noted.then(|| {
            let left = self.sent + Span::from_micros(u64::from(self.waited_us));
            Departed { left, note: self.note }
        })
    }

    /// Returns whether Data may still come: not after a Nack, nor when the upstream has forgotten the
    /// Interest.
    #[inline]
    pub fn is_pending(&self, now: Time) -> bool {
        self.times_sent > 0 && now < self.sent + Span::from_micros(u64::from(self.lifetime_us))
    }

    /// Notes that no Data will come, because of a Nack or because the Interest did not leave.
    pub(crate) fn give_up(&mut self, nack: Option<NackReason>) {
        self.times_sent = 0;
        self.nacked = nack.map(|reason| reason.value().min(255) as u8);
    }

    /// The round-trip time of a Data that comes now, if it is known which transmission it answers (Karn's
    /// algorithm).
    #[inline]
    pub fn rtt(&self, now: Time) -> Option<Span> {
        (self.times_sent == 1).then(|| now.since(self.sent))
    }
}

/// A property of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fact {
    /// No content store was asked for it.
    PastStores = 1,
    /// A content store has answered the last downstream, which no longer waits.
    Answered = 2,
    /// It has buffers, used or kept for the next entry in its place.
    Buffers = 4,
    /// The next hops of its route are watched.
    Watched = 8,
}

/// The properties of an entry: one bit for each [`Fact`], because an entry has no byte to spare.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts(u8);

impl Facts {
    #[inline]
    pub(crate) fn has(self, fact: Fact) -> bool {
        self.0 & fact as u8 != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, fact: Fact, is_true: bool) {
        self.0 = if is_true { self.0 | fact as u8 } else { self.0 & !(fact as u8) };
    }
}

/// A pending Interest.
///
/// Fields are in the order in which a hop uses them: with tens of thousands of entries, each cache line
/// counts.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PitEntry {
    pub(super) live: bool,
    pub(super) can_be_prefix: bool,
    pub(super) must_be_fresh: bool,
    /// Its service class.
    pub class: u8,
    pub(super) generation: u16,
    /// The hop limit with which it was last sent.
    pub(crate) hop_limit: Option<u8>,
    /// The next entry of the same name.
    pub(super) sibling: u32,
    /// The prefix of its flow.
    pub prefix: PrefixId,
    /// The Interest itself, while the strategy holds it back.
    pub held: Option<PacketId>,
    /// The strategy that forwards it.
    pub(crate) strategy: StrategyId,
    pub(crate) facts: Facts,
    /// The group of its flow.
    pub(crate) group: GroupId,
    /// The group for which it was last sent.
    pub(crate) sent_for: GroupId,
    /// The memory of `kept`, bytes.
    pub(super) kept_bytes: u16,
    /// The FIB entry by which it was last forwarded. That entry may have been removed or its id reused.
    /// [`NO_ENTRY`] before the first forwarding.
    pub(crate) route: FibId,
    /// The hash of its forwarding hint (`Packet::hint_hash`).
    pub(super) hint: u32,
    /// The Interest, if it has a hint and may be sent elsewhere after a Nack: the neighbour may have removed
    /// the hint.
    pub(crate) kept: Option<PacketId>,
    pub(super) expires: Time,
    /// Belongs to the strategy.
    pub scratch: u64,
    /// The upstreams, in order of first sending.
    pub out_records: SmallVec<[OutRecord; 1]>,
    /// The downstreams, in order of arrival. Only the PIT adds and removes them.
    pub in_records: SmallVec<[InRecord; 1]>,
    /// The name comes last, because the end of a short name is not read.
    pub(super) name: HashedName,
}

impl PitEntry {
    /// Its flow.
    #[inline]
    pub fn flow(&self) -> FlowKey {
        let class = ServiceClass::from_value(u64::from(self.class));
        FlowKey { prefix: self.prefix, class, group: self.group }
    }

    pub(super) fn blank() -> PitEntry {
        PitEntry {
            name: HashedName::new(),
            can_be_prefix: false,
            must_be_fresh: false,
            live: false,
            generation: 0,
            sibling: NONE,
            expires: Time::NEVER,
            strategy: StrategyId::default(),
            facts: Facts(0),
            group: GroupId::NONE,
            sent_for: GroupId::NONE,
            route: NO_ENTRY,
            hint: 0,
            kept: None,
            kept_bytes: 0,
            prefix: NO_PREFIX,
            class: 0,
            hop_limit: None,
            scratch: 0,
            held: None,
            in_records: SmallVec::new(),
            out_records: SmallVec::new(),
        }
    }

    /// Returns whether it is the live entry with this handle.
    #[inline]
    pub(super) fn is(&self, id: PitId) -> bool {
        self.generation == id.generation && self.live
    }

    /// Memory of its buffers, used or not, bytes, with the allocator's overhead (16 for each).
    pub(crate) fn buffer_bytes(&self) -> u64 {
        if !self.facts.has(Fact::Buffers) {
            return 0;
        }
        (self.name.buffer_bytes() + self.in_record_bytes() + self.out_record_bytes()) as u64
    }

    /// Computes [`PitEntry::buffer_bytes`] again, after the buffers may have changed.
    pub(super) fn note_buffers(&mut self) -> u64 {
        self.facts.set(Fact::Buffers, true);
        let bytes = self.buffer_bytes();
        self.facts.set(Fact::Buffers, bytes > 0);
        bytes
    }

    fn in_record_bytes(&self) -> usize {
        let records = &self.in_records;
        if records.spilled() { records.capacity() * size_of::<InRecord>() + 16 } else { 0 }
    }

    fn out_record_bytes(&self) -> usize {
        let records = &self.out_records;
        if records.spilled() { records.capacity() * size_of::<OutRecord>() + 16 } else { 0 }
    }

    /// The charge for its owner. Kept buffers that it does not use do not count.
    #[inline]
    pub(super) fn charge(&self) -> (Kind, u32) {
        if !self.name.is_long() && self.out_records.len() <= 1 && self.kept.is_none() {
            return (Kind::Plain, PLACE);
        }
        let name = if self.name.is_long() { self.name.buffer_bytes() } else { 0 };
        let records = if self.out_records.len() > 1 { self.out_record_bytes() } else { 0 };
        (Kind::Large, PLACE + (name + records) as u32 + u32::from(self.kept_bytes))
    }

    /// Frees its buffers: all of them, or only the large ones.
    pub(super) fn release(&mut self, keeps: bool) {
        if keeps {
            self.name.release();
        } else {
            self.name = HashedName::new();
        }
        if !keeps || self.in_records.capacity() > KEPT_RECORDS {
            self.in_records = SmallVec::new();
        }
        if !keeps || self.out_records.capacity() > KEPT_RECORDS {
            self.out_records = SmallVec::new();
        }
    }

    /// Prefetches its first three cache lines. A single out-record is in the first two.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.live);
        prefetch(&self.in_records);
        prefetch(&self.name);
    }

    /// The Interest's name.
    #[inline]
    pub fn name(&self) -> &HashedName {
        &self.name
    }

    /// Returns whether Data with a longer name satisfies it.
    #[inline]
    pub fn can_be_prefix(&self) -> bool {
        self.can_be_prefix
    }

    /// Returns whether only fresh Data of a content store satisfies it.
    #[inline]
    pub fn must_be_fresh(&self) -> bool {
        self.must_be_fresh
    }

    /// Returns whether it has these selectors and this hint.
    #[inline]
    pub(super) fn has(&self, can_be_prefix: bool, must_be_fresh: bool, hint: u32) -> bool {
        (self.can_be_prefix, self.must_be_fresh, self.hint) == (can_be_prefix, must_be_fresh, hint)
    }

    /// The hash of its forwarding hint; 0 without one.
    #[inline]
    pub fn hint(&self) -> u32 {
        self.hint
    }

    /// The FIB entry by which it is forwarded: the entry of its name or of its hint. Valid only while the
    /// strategy is asked.
    #[inline]
    pub fn route(&self) -> FibId {
        self.route
    }

    /// A hash of the name and the hint, which identifies the Interest that upstreams were asked.
    #[inline]
    pub(crate) fn asked_for(&self) -> u64 {
        self.name.hash() ^ u64::from(self.hint) << 32
    }

    /// Its route, if the route's next hops are watched; else [`NO_ENTRY`].
    #[inline]
    pub(crate) fn watched(&self) -> FibId {
        if self.facts.has(Fact::Watched) { self.route } else { NO_ENTRY }
    }

    /// When it expires; [`Time::NEVER`] until [`Pit::extend_expiry`](super::Pit::extend_expiry) sets it.
    #[inline]
    pub fn expires(&self) -> Time {
        self.expires
    }

    /// The record of a downstream.
    #[inline]
    pub fn in_record(&mut self, face: FaceId) -> Option<&mut InRecord> {
        self.in_records.iter_mut().find(|record| record.face == face)
    }

    /// Returns whether Data may come without further action: an upstream was asked, or the strategy holds the
    /// Interest and will send it later.
    #[inline]
    pub fn is_pending(&self, now: Time) -> bool {
        self.held.is_some() || self.out_records.iter().any(|record| record.is_pending(now))
    }

    /// Returns whether an Interest was sent upstream within this time and may still be answered.
    #[inline]
    pub(crate) fn was_sent_within(&self, interval: Span, now: Time) -> bool {
        self.out_records.iter().any(|out| out.is_pending(now) && now.since(out.sent) < interval)
    }

    /// Records that an upstream is asked. Returns the nonce of an earlier transmission, if it differs.
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

    /// Records that the first upstream is asked.
    #[inline]
    pub(crate) fn note_first_sending(&mut self, face: FaceId, nonce: u32, now: Time, lifetime: Span) {
        let mut record = OutRecord::unsent(face);
        record.send(nonce, now, lifetime);
        self.out_records.push(record);
    }

    /// Returns whether the Interest was sent by `face` at `since` or later, even if it has been answered.
    #[inline]
    pub fn was_sent_to(&self, face: FaceId, since: Time) -> bool {
        self.out_records.iter().any(|record| record.face == face && record.sent >= since)
    }

    /// The record of an upstream.
    #[inline]
    pub fn out_record(&mut self, face: FaceId) -> Option<&mut OutRecord> {
        self.out_records.iter_mut().find(|record| record.face == face)
    }
}
