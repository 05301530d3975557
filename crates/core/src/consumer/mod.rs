//! One consumer flow: asks for the segments of a prefix in order, as fast as its application
//! wants and its flow control permits, and asks again for what is lost.
//!
//! ```text
//!   new ----send----> pending ----Data----> done
//!                      |   ^
//!        timeout, Nack |   | send (before any new segment, smallest first)
//!                      v   |
//!                      lost
//! ```

use core::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use weir_packet::{PitToken, ServiceClass, Signal};

use crate::name::{HashedName, NameHasher};
use crate::packet::{Kind, Packet, PacketId, PacketPool};
use crate::random::Random;
use crate::rtt::RttEstimate;
use crate::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use crate::units::{Bytes, Rate, Span, Time};

/// How far the newest segment asked for may be ahead of the oldest missing one at most: two seconds of a flow
/// of 4 Gb/s that waits for one lost Interest, and at most some 40 MB of its memory.
pub const REORDER_BOUND: u64 = 1 << 20;

/// After so many probes, or repetitions, the next one waits no longer than that one: RTO is over before.
const MOST_DOUBLINGS: u32 = 16;

/// Who is refused within microseconds does not ask a million times before its application gives up, and asks soon enough
/// when there is a route again.
const LEAST_PAUSE: Span = Span::from_millis(10);
const LONGEST_PAUSE: Span = Span::from_secs(1);

/// How long a consumer that knows no round-trip time waits after a Nack.
const PAUSE_AFTER_NACK: Span = Span::from_millis(100);

/// How much the application wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// As much as it can get.
    Elastic,
    /// At most this rate of Data on the wire, but for probes, and what the flow control permits.
    Limited(Rate),
    /// This rate of Data on the wire, whatever the flow control says: a greedy consumer.
    Unresponsive(Rate),
}

impl Source {
    fn rate(self) -> Option<Rate> {
        match self {
            Source::Elastic => None,
            Source::Limited(rate) | Source::Unresponsive(rate) => Some(rate),
        }
    }
}

/// What a consumer is to do.
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    /// The prefix; segment numbers are appended to it.
    pub prefix: HashedName,
    /// Hashes names the way the node does.
    pub hasher: NameHasher,
    /// The service class of its Interests.
    pub class: ServiceClass,
    /// The first segment that it wants.
    pub first: u64,
    /// The segment that it ends before; `None` for no end, or one that is not known yet.
    pub amount: Option<u64>,
    /// How far the newest segment asked for may be ahead of the oldest missing one, segments: what its application
    /// has room for. At most [`REORDER_BOUND`].
    pub reorder: u64,
    /// How much the application wants.
    pub source: Source,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// Whether cached Data must be fresh.
    pub must_be_fresh: bool,
    /// Size of the Data to expect, on the wire; followed by what comes.
    pub expected_size: Bytes,
    /// Whether an Interest that a later one has overtaken is lost after [`RttEstimate::overtaken`] instead of RTO, whose
    /// least 200 ms are hundreds of round trips on short paths; and whether, where nothing has come for
    /// [`RttEstimate::silence`] and nothing may leave, one Interest leaves all the same, which can overtake them all,
    /// if it is of a new segment (RFC 8985, tail loss probe). The papers' consumers wait for RTO.
    pub early_loss: bool,
}

/// A segment between its first sending and the oldest missing segment.
#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    first_sent: Time,
    sent: Time,
    times_sent: u32,
    tag: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Pending,
    Lost,
    Done,
}

/// A segment that came for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its number.
    pub segment: u64,
    /// Time since the first sending of its Interest.
    pub delay: Span,
    /// Bytes of content.
    pub content: u64,
    /// Whether it was the last one wanted.
    pub complete: bool,
}

/// Counts of one consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumerCounters {
    /// Interests sent, retransmissions included.
    pub sent: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Interests sent again.
    pub retransmitted: u64,
    /// Interests that timed out.
    pub timeouts: u64,
    /// Interests that came back as Nacks.
    pub nacks: u64,
    /// Data that nothing was waiting for.
    pub duplicates: u64,
}

/// One consumer flow.
pub struct Consumer {
    config: ConsumerConfig,
    /// The expected size in 256ths of a byte.
    size_256: u64,
    control: Box<dyn FlowControl>,
    random: Random,
    rtt: RttEstimate,
    /// Segments `base..base + slots.len()`; everything before is done.
    slots: VecDeque<Slot>,
    base: u64,
    pending: u32,
    /// Segments to send again, smallest first. Those whose Data came late stay until they are the
    /// first; the first is lost indeed.
    lost: BinaryHeap<Reverse<u64>>,
    /// Sendings in order of time: the first live one is the next to time out.
    sendings: VecDeque<(u64, Time)>,
    /// Early loss: those of segments that were sent more than once before, in order of time too. They wait for longer and
    /// would hold up the others; among themselves some do, for no longer than RTO.
    repeats: VecDeque<(u64, Time)>,
    /// When RTO was backed off last.
    backed_off_at: Time,
    /// When the newest Interest was sent that was answered, of those that were sent once.
    answered_sent: Time,
    last_sent: Option<Time>,
    /// When the last Data came.
    heard_at: Time,
    send_at: Time,
    /// Probes since the last Data.
    probes: u32,
    /// The next Interest is a probe: nobody is asked for leave.
    is_probing: bool,
    /// After a Nack: nothing is sent before, lest one that comes back at once is sent at once.
    paused_until: Time,
    /// When the last such pause began; and how many there were in a row, each for what was sent after the one before it
    /// began, and no Data.
    refused_at: Option<Time>,
    refusals: u32,
    active: bool,
    counters: ConsumerCounters,
}

impl Consumer {
    /// A consumer that has not started.
    pub fn new(config: ConsumerConfig, control: Box<dyn FlowControl>, random: Random) -> Consumer {
        Consumer {
            size_256: config.expected_size.as_u64() << 8,
            base: config.first,
            config,
            control,
            random,
            rtt: RttEstimate::default(),
            slots: VecDeque::new(),
            pending: 0,
            lost: BinaryHeap::new(),
            sendings: VecDeque::new(),
            repeats: VecDeque::new(),
            backed_off_at: Time::ZERO,
            answered_sent: Time::ZERO,
            last_sent: None,
            heard_at: Time::ZERO,
            send_at: Time::NEVER,
            probes: 0,
            is_probing: false,
            paused_until: Time::ZERO,
            refused_at: None,
            refusals: 0,
            active: false,
            counters: ConsumerCounters::default(),
        }
    }

    /// Starts, or goes on after [`Consumer::stop`].
    pub fn start(&mut self, now: Time) {
        self.active = true;
        self.send_at = now;
    }

    /// Sends no more; what is pending may still come.
    pub fn stop(&mut self) {
        self.active = false;
        self.send_at = Time::NEVER;
        self.is_probing = false;
    }

    /// Changes what the application wants.
    pub fn set_source(&mut self, now: Time, source: Source) {
        self.config.source = source;
        if self.active {
            self.send_at = now;
        }
    }

    /// The end has become known: wants no segment from `amount` on, and forgets those that it has asked for. Says
    /// whether it has all.
    pub fn set_amount(&mut self, now: Time, amount: u64) -> bool {
        self.config.amount = Some(amount);
        while !self.slots.is_empty() && self.next_segment() > amount {
            let beyond = self.slots.pop_back();
            self.pending -= u32::from(beyond.is_some_and(|slot| slot.state == State::Pending));
        }
        self.forget_found();
        self.reconsider(now);
        self.is_complete()
    }

    /// Changes how far the newest segment asked for may be ahead of the oldest missing one; what was asked for
    /// already is waited for.
    pub fn set_reorder(&mut self, now: Time, segments: u64) {
        self.config.reorder = segments;
        self.reconsider(now);
    }

    /// The oldest segment that was asked for and did not come, and when it was first asked for.
    pub fn oldest_missing(&self) -> Option<(u64, Time)> {
        self.slots.front().map(|slot| (self.base, slot.first_sent))
    }

    /// Whether it has all that it wants.
    pub fn is_complete(&self) -> bool {
        self.config.amount.is_some_and(|amount| self.base >= amount)
    }

    /// When to call [`Consumer::handle_deadline`], and then [`Consumer::poll_send`]; at once if that is
    /// past, as it is when a shorter timeout turns out to be over for what was sent before.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.send_at.min(self.timeout_at()).min(self.probe_at())
    }

    /// Its counts.
    pub fn counters(&self) -> &ConsumerCounters {
        &self.counters
    }

    /// Window or rate.
    pub fn gauge(&self) -> Gauge {
        self.control.gauge()
    }

    /// Pending Interests.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// A Data came. `None` if nothing was waiting for it.
    pub fn handle_data(&mut self, now: Time, data: &Packet) -> Option<Delivery> {
        let segment = data.name.segment().filter(|_| data.name.len() == self.config.prefix.len() + 1);
        let index = segment.and_then(|s| s.checked_sub(self.base)).map(|i| i as usize);
        let slot = index.and_then(|i| self.slots.get_mut(i)).filter(|slot| slot.state != State::Done);
        let (Some(segment), Some(slot)) = (segment, slot) else {
            self.counters.duplicates += 1;
            return None;
        };
        let Slot { state, first_sent, sent, times_sent, tag } = *slot;
        slot.state = State::Done;
        if state == State::Lost {
            self.forget_found();
        } else {
            self.pending -= 1;
        }
        let rtt = (times_sent == 1).then(|| now.since(sent));
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
            self.answered_sent = self.answered_sent.max(sent);
        }
        (self.heard_at, self.probes, self.refusals) = (now, 0, 0);
        self.learn_size(crate::packet::wire::frame_len(data));
        self.counters.delivered += 1;
        self.advance();
        self.control.on_data(&mut DataReceived {
            now,
            data,
            segment,
            rtt,
            srtt: self.rtt.srtt(),
            tag,
            pending: self.pending,
            highest_sent: self.next_segment().saturating_sub(1),
            expected_size: self.config.expected_size,
            random: &mut self.random,
        });
        self.reconsider(now);
        let complete = self.is_complete();
        let (delay, content) = (now.since(first_sent), u64::from(data.content_len));
        Some(Delivery { segment, delay, content, complete })
    }

    /// An Interest came back as a Nack: it is lost, and will be sent again after a round trip, and 10 ms at least; after
    /// twice as long, up to a second, each time that this comes back too.
    pub fn handle_nack(&mut self, now: Time, nack: &Packet) {
        let Some(segment) = nack.name.segment() else { return };
        self.counters.nacks += 1;
        let sent = self.slot(segment).map_or(now, |slot| slot.sent);
        if let Some(tag) = self.lose(segment) {
            let mut ev = loss(now, segment, tag, self.pending, self.next_segment(), &mut self.random);
            self.control.on_nack(&mut ev);
            self.pause(now, sent);
            self.reconsider(now);
        }
    }

    /// For an Interest of that time: of those that left together the first that comes back makes one pause.
    fn pause(&mut self, now: Time, sent: Time) {
        if self.refused_at.is_some_and(|before| sent <= before) {
            return;
        }
        self.refused_at = Some(now);
        let least = self.rtt.srtt().map_or(PAUSE_AFTER_NACK, |srtt| srtt.max(LEAST_PAUSE));
        let pause = least * (1 << self.refusals.min(MOST_DOUBLINGS));
        self.paused_until = now + pause.min(LONGEST_PAUSE.max(least));
        self.refusals += 1;
    }

    /// Gives up what has timed out.
    pub fn handle_deadline(&mut self, now: Time) {
        while let Some((segment, sent)) = self.take_due(now) {
            // What was sent before belongs to the same loss: it is not reprieved, and does not count twice.
            if self.time_out(now, segment) && sent >= self.backed_off_at && !self.is_overtaken(sent) {
                self.rtt.back_off();
                self.backed_off_at = now;
            }
            self.forget_answered();
        }
        self.reconsider(now);
        if self.probe_at() <= now {
            self.probe(now);
        }
    }

    /// The first sending that has timed out.
    fn take_due(&mut self, now: Time) -> Option<(u64, Time)> {
        let is_due = |sending: &&(u64, Time)| self.timeout_of(Some(*sending)) <= now;
        if self.sendings.front().filter(is_due).is_some() {
            return self.sendings.pop_front();
        }
        self.repeats.front().filter(is_due)?;
        self.repeats.pop_front()
    }

    /// Gives up a segment; whether it was pending.
    fn time_out(&mut self, now: Time, segment: u64) -> bool {
        let Some(tag) = self.lose(segment) else { return false };
        self.counters.timeouts += 1;
        let mut ev = loss(now, segment, tag, self.pending, self.next_segment(), &mut self.random);
        self.control.on_timeout(&mut ev);
        true
    }

    /// When a probe is due: nothing came since the last Data or Interest for a while, which is twice as long after each
    /// probe, and nothing may leave before something comes. After a timeout RTO does it, as in RFC 8985.
    fn probe_at(&self) -> Time {
        let may_be = self.config.early_loss && self.active && self.pending > 0 && self.send_at == Time::NEVER;
        if !may_be || self.rtt.is_backed_off() {
            return Time::NEVER;
        }
        let quiet_since = self.last_sent.unwrap_or(self.heard_at).max(self.heard_at);
        let silence = self.rtt.silence() * (1 << self.probes.min(MOST_DOUBLINGS));
        (quiet_since + silence).max(self.paused_until)
    }

    /// Has an Interest leave: of a lost segment, or of a new one, or, if there is neither, of the oldest missing one.
    fn probe(&mut self, now: Time) {
        if !self.has_work() {
            self.time_out(now, self.base);
            self.forget_answered();
        }
        self.probes += 1;
        self.is_probing = self.has_work();
    }

    /// The next Interest to send at `now`, if there is one; call it until it answers `None`.
    pub fn poll_send(&mut self, now: Time, pool: &mut PacketPool) -> Option<PacketId> {
        let is_probe = core::mem::take(&mut self.is_probing) && self.has_work();
        if !is_probe && !self.may_send(now) {
            return None;
        }
        let (segment, retransmission) = match self.lost.pop() {
            Some(Reverse(segment)) => (segment, true),
            None => (self.next_segment(), false),
        };
        let id = pool.take();
        self.fill_interest(&mut pool[id], segment);
        let tag = self.control.on_send(&mut SendEvent {
            now,
            interest: &mut pool[id],
            segment,
            retransmission,
            is_permitted: !is_probe && !matches!(self.config.source, Source::Unresponsive(_)),
            pending: self.pending,
            expected_size: self.config.expected_size,
            random: &mut self.random,
        });
        self.note_sending(now, segment, tag);
        self.forget_found();
        Some(id)
    }

    fn may_send(&mut self, now: Time) -> bool {
        if self.send_at <= now {
            self.send_at = self.permitted_at(now);
        }
        self.send_at <= now
    }

    fn fill_interest(&mut self, interest: &mut Packet, segment: u64) {
        interest.kind = Kind::Interest;
        interest
            .name
            .assign_segment(&self.config.hasher, &self.config.prefix, segment)
            .expect("a prefix leaves room for a segment");
        interest.nonce = self.random.next_u32();
        interest.lifetime = self.config.lifetime;
        interest.must_be_fresh = self.config.must_be_fresh;
        if self.config.class != ServiceClass::Be {
            interest.header_mut().signals.set(Signal::ServiceClass, self.config.class as u64);
        }
        // The Data comes back with it: as long as on the links, so its size tells what a link carries.
        interest.header_mut().pit_token = PitToken::from_u48(segment & 0xFFFF_FFFF_FFFF);
        interest.net_len = crate::packet::wire::interest_len(interest);
    }

    fn note_sending(&mut self, now: Time, segment: u64, tag: u32) {
        let index = (segment - self.base) as usize;
        if index == self.slots.len() {
            let slot = Slot { state: State::Pending, first_sent: now, sent: now, times_sent: 1, tag };
            self.slots.push_back(slot);
        } else {
            let slot = &mut self.slots[index];
            *slot = Slot { state: State::Pending, sent: now, times_sent: slot.times_sent + 1, tag, ..*slot };
            self.counters.retransmitted += 1;
        }
        self.pending += 1;
        self.counters.sent += 1;
        let is_repeat = self.config.early_loss && self.slots[index].times_sent > 2;
        let sendings = if is_repeat { &mut self.repeats } else { &mut self.sendings };
        sendings.push_back((segment, now));
        self.last_sent = Some(now);
    }

    /// When the next Interest may leave: now, later, or at an event.
    fn permitted_at(&mut self, now: Time) -> Time {
        if !self.active || !self.has_work() {
            return Time::NEVER;
        }
        let wanted = match (self.config.source.rate(), self.last_sent) {
            // Only a Data tells how many make up the rate: the first goes alone.
            (Some(_), Some(_)) if self.config.expected_size == Bytes::ZERO && self.pending > 0 => {
                return Time::NEVER;
            }
            (Some(rate), Some(last)) => last + rate.time_for(self.config.expected_size),
            _ => now,
        };
        let wanted = wanted.max(self.paused_until);
        if let Source::Unresponsive(_) = self.config.source {
            return wanted;
        }
        let permit = self.control.permit(&mut PermitEvent {
            now,
            pending: self.pending,
            expected_size: self.config.expected_size,
            random: &mut self.random,
        });
        match permit {
            Permit::Now => wanted,
            Permit::At(time) => wanted.max(time),
            Permit::Blocked => Time::NEVER,
        }
    }

    fn has_work(&self) -> bool {
        let next = self.next_segment();
        let ahead = self.config.reorder.min(REORDER_BOUND);
        let is_new = self.config.amount.is_none_or(|amount| next < amount) && next - self.base < ahead;
        is_new || !self.lost.is_empty()
    }

    fn next_segment(&self) -> u64 {
        self.base + self.slots.len() as u64
    }

    /// Something changed: ask for a permit again.
    fn reconsider(&mut self, now: Time) {
        self.forget_answered();
        self.send_at = self.permitted_at(now);
    }

    /// Turns a pending segment into a lost one; `None` if it is not pending.
    fn lose(&mut self, segment: u64) -> Option<u32> {
        let index = segment.checked_sub(self.base)? as usize;
        let slot = self.slots.get_mut(index).filter(|slot| slot.state == State::Pending)?;
        slot.state = State::Lost;
        self.pending -= 1;
        self.lost.push(Reverse(segment));
        Some(slot.tag)
    }

    /// Takes segments whose Data came after all from the front of the lost ones.
    fn forget_found(&mut self) {
        while let Some(&Reverse(segment)) = self.lost.peek() {
            if self.slot(segment).is_some_and(|slot| slot.state == State::Lost) {
                break;
            }
            self.lost.pop();
        }
    }

    fn advance(&mut self) {
        while self.slots.front().is_some_and(|slot| slot.state == State::Done) {
            self.slots.pop_front();
            self.base += 1;
        }
    }

    /// Drops sendings from the front that were answered, lost or repeated since.
    fn forget_answered(&mut self) {
        while self.sendings.front().is_some_and(|sending| !self.is_pending(sending)) {
            self.sendings.pop_front();
        }
        while self.repeats.front().is_some_and(|sending| !self.is_pending(sending)) {
            self.repeats.pop_front();
        }
    }

    fn is_pending(&self, (segment, sent): &(u64, Time)) -> bool {
        self.slot(*segment).is_some_and(|slot| slot.state == State::Pending && slot.sent == *sent)
    }

    fn slot(&self, segment: u64) -> Option<&Slot> {
        self.slots.get(segment.checked_sub(self.base)? as usize)
    }

    fn timeout_at(&self) -> Time {
        self.timeout_of(self.sendings.front()).min(self.timeout_of(self.repeats.front()))
    }

    fn timeout_of(&self, sending: Option<&(u64, Time)>) -> Time {
        sending.map_or(Time::NEVER, |&(segment, sent)| sent + self.timeout(segment, sent))
    }

    /// Of what was sent then.
    fn timeout(&self, segment: u64, sent: Time) -> Span {
        let rto = if sent < self.backed_off_at { self.rtt.earlier_rto() } else { self.rtt.rto() };
        let timeout = self.control.timeout(rto, self.config.lifetime);
        if !self.is_overtaken(sent) {
            return timeout;
        }
        // Twice as long each time from the third sending on: forwarders absorb what is repeated, NFD in
        // the first 10 ms and ndnd in the first half of a second.
        let earlier = self.slot(segment).map_or(0, |slot| slot.times_sent.saturating_sub(2));
        let disorder = self.rtt.overtaken() * (1 << earlier.min(MOST_DOUBLINGS));
        timeout.min(disorder.max(self.control.longest_wait()))
    }

    /// Whether Data have come for what was sent later: they say that the path is there.
    fn is_overtaken(&self, sent: Time) -> bool {
        self.config.early_loss && sent < self.answered_sent
    }

    /// The expected size follows what comes with a gain of 1/8; kept in 256ths of a byte, since
    /// whole bytes would stick some bytes short of it.
    fn learn_size(&mut self, wire_len: u64) {
        let came = wire_len << 8;
        self.size_256 = if self.size_256 == 0 { came } else { (7 * self.size_256 + came) / 8 };
        self.config.expected_size = Bytes::new((self.size_256 + 128) >> 8);
    }
}

fn loss(now: Time, segment: u64, tag: u32, pending: u32, next: u64, random: &mut Random) -> LossEvent<'_> {
    LossEvent { now, segment, tag, pending, highest_sent: next.saturating_sub(1), random }
}

impl core::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Consumer")
            .field("base", &self.base)
            .field("pending", &self.pending)
            .field("lost", &self.lost.len())
            .field("send_at", &self.send_at)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
