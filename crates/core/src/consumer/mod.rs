//! One consumer flow. It requests the segments of a prefix in order, as fast as its application wants and its flow
//! control permits, and retransmits lost Interests.
//!
//! ```text
//!   new ----send----> pending ----Data----> done
//!                      |   ^
//!        timeout, Nack |   | send (before any new segment, smallest first)
//!                      v   |
//!                      lost
//! ```

mod loss;
mod segments;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use weir_packet::{PitToken, ServiceClass, Signal};

use crate::name::{HashedName, NameHasher};
use crate::packet::{Hint, Kind, Packet, PacketId, PacketPool};
use crate::prefetch::prefetch;
use crate::random::Random;
use crate::responders::FlowRtt;
use crate::seam::{DataReceived, FlowControl, Gauge, Permit, PermitEvent, SendEvent};
use crate::units::{Bytes, Rate, Span, Time};
use loss::{MOST_DOUBLINGS, loss_event};
use segments::{Segment, Segments, State};

/// How far the newest segment asked for may be ahead of the oldest missing one at most: two seconds of a flow
/// of 4 Gb/s that waits for one lost Interest, and at most some 40 MB of its memory.
pub const REORDER_BOUND: u64 = 1 << 20;

/// Who is refused within microseconds does not ask a million times before its application gives up, and asks soon enough
/// when there is a route again.
const LEAST_PAUSE: Span = Span::from_millis(10);
const LONGEST_PAUSE: Span = Span::from_secs(1);

/// How long a consumer that knows no round-trip time waits after a Nack.
const PAUSE_AFTER_NACK: Span = Span::from_millis(100);

/// How much the application wants. Rates count all bits of the Data asked for, as QSCCP's authors do: 10 Mb/s of packets
/// of 1078 B are 1160 Interests a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// As much as it can get.
    #[default]
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
    /// The time between two Interests of a source with a rate is drawn, at most this part from its mean; 0 to 1.
    pub source_jitter: f64,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// Whether cached Data must be fresh.
    pub must_be_fresh: bool,
    /// The forwarding hint of its Interests.
    pub hint: Option<Hint>,
    /// Size of the Data to expect, on the wire; followed by what comes.
    pub expected_size: Bytes,
    /// Whether an Interest that a later one has overtaken is lost after [`FlowRtt::overtaken`] instead of RTO, whose
    /// least 200 ms are hundreds of round trips on short paths; and whether, where nothing has come for
    /// [`FlowRtt::silence`] and nothing may leave, one Interest leaves all the same, which can overtake them all,
    /// if it is of a new segment (RFC 8985, tail loss probe). The papers' consumers wait for RTO.
    pub early_loss: bool,
}

/// A segment that came for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Its place in the object, from 0.
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
    rtt: FlowRtt,
    segments: Segments,
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
    /// The factor of the time until the next Interest of a source with a rate.
    gap: f64,
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
            segments: Segments::new(config.first),
            config,
            control,
            random,
            rtt: FlowRtt::default(),
            sendings: VecDeque::new(),
            repeats: VecDeque::new(),
            backed_off_at: Time::ZERO,
            answered_sent: Time::ZERO,
            last_sent: None,
            gap: 1.0,
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
        self.segments.truncate(amount);
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
        self.segments.oldest().map(|oldest| (self.segments.base(), oldest.first_sent))
    }

    /// Whether it has all that it wants.
    pub fn is_complete(&self) -> bool {
        self.config.amount.is_some_and(|amount| self.segments.base() >= amount)
    }

    /// When to call [`Consumer::handle_deadline`], and then [`Consumer::poll_send`]; at once if that is
    /// past, as it is when a shorter timeout turns out to be over for what was sent before.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.send_at.min(self.timeout_at()).min(self.probe_at()).min(self.control.next_deadline())
    }

    /// Has the processor fetch what each of its events needs.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(&self.segments);
        prefetch(&self.config);
        prefetch(&self.config.prefix);
        prefetch(&self.control);
        prefetch(&self.counters);
        prefetch(&self.rtt);
        prefetch(&self.sendings);
        prefetch(&self.send_at);
    }

    /// What it sent and got since it was made.
    pub fn counters(&self) -> &ConsumerCounters {
        &self.counters
    }

    /// The prefix of what it fetches.
    pub fn prefix(&self) -> &HashedName {
        &self.config.prefix
    }

    /// Window or rate.
    pub fn gauge(&self) -> Gauge {
        self.control.gauge()
    }

    /// What the user should know of the state of its flow control ([`FlowControl::notice`]).
    pub fn notice(&self) -> Option<&'static str> {
        self.control.notice()
    }

    /// Pending Interests.
    pub fn pending(&self) -> u32 {
        self.segments.pending()
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }

    /// The mean of the shortest round trips of its responders, each as often as it has answered lately, once there is a
    /// sample.
    pub fn base_rtt(&self) -> Option<Span> {
        self.rtt.mean_base()
    }

    /// A Data came. `None` if nothing was waiting for it.
    pub fn handle_data(&mut self, now: Time, data: &Packet) -> Option<Delivery> {
        let segment = data.name.segment().filter(|_| self.is_own(&data.name));
        let found = segment.and_then(|segment| Some((segment, self.segments.finish(segment)?)));
        let Some((segment, Segment { state, first_sent, sent, times_sent, tag })) = found else {
            self.counters.duplicates += 1;
            return None;
        };
        let rtt = (times_sent == 1).then(|| now.since(sent));
        let bases = match rtt {
            Some(rtt) => {
                self.answered_sent = self.answered_sent.max(sent);
                self.rtt.sample(now, rtt)
            }
            None => self.rtt.repeated(now, first_sent, sent),
        };
        (self.heard_at, self.probes, self.refusals) = (now, 0, 0);
        self.learn_size(crate::packet::wire::frame_len(data));
        self.counters.delivered += 1;
        let mut ev = DataReceived {
            now,
            data,
            segment,
            rtt,
            srtt: self.rtt.srtt(),
            bases,
            tag,
            was_pending: state == State::Pending,
            pending: self.segments.pending(),
            highest_sent: self.segments.next().saturating_sub(1),
            oldest_missing: self.segments.base(),
            lost: 0..0,
            expected_size: self.config.expected_size,
            random: &mut self.random,
        };
        self.control.on_data(&mut ev);
        let lost = ev.lost;
        self.give_up(lost);
        self.reconsider(now);
        let complete = self.is_complete();
        let (delay, content) = (now.since(first_sent), u64::from(data.content_len));
        Some(Delivery { segment, delay, content, complete })
    }

    /// Whether a name is that of one of its segments.
    #[inline]
    fn is_own(&self, name: &HashedName) -> bool {
        let len = self.config.prefix.len();
        name.len() == len + 1 && name.hash_of(len) == self.config.prefix.hash()
    }

    /// An Interest came back as a Nack: it is lost, and will be sent again after a round trip, and 10 ms at least; after
    /// twice as long, up to a second, each time that this comes back too.
    pub fn handle_nack(&mut self, now: Time, nack: &Packet) {
        let Some(segment) = nack.name.segment().filter(|_| self.is_own(&nack.name)) else { return };
        self.counters.nacks += 1;
        let sent = self.segments.get(segment).map_or(now, |known| known.sent);
        if let Some(tag) = self.segments.lose(segment) {
            self.control.on_nack(&mut loss_event(now, segment, tag, &self.segments, &mut self.random));
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

    /// The next Interest to send at `now`, if there is one; call it until it answers `None`.
    pub fn poll_send(&mut self, now: Time, pool: &mut PacketPool) -> Option<PacketId> {
        let is_probe = core::mem::take(&mut self.is_probing) && self.has_work();
        if !is_probe && !self.may_send(now) {
            return None;
        }
        let (segment, retransmission) = self.segments.take_next();
        let id = pool.take();
        self.fill_interest(&mut pool[id], segment);
        let tag = self.control.on_send(&mut SendEvent {
            now,
            interest: &mut pool[id],
            segment,
            retransmission,
            is_permitted: !is_probe && !matches!(self.config.source, Source::Unresponsive(_)),
            pending: self.segments.pending(),
            expected_size: self.config.expected_size,
            random: &mut self.random,
        });
        self.note_sending(now, segment, tag);
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
        interest.nonce = self.random.nonce();
        interest.lifetime = self.config.lifetime;
        interest.must_be_fresh = self.config.must_be_fresh;
        interest.hint.clone_from(&self.config.hint);
        if self.config.class != ServiceClass::Be {
            interest.header_mut().signals.set(&Signal::SERVICE_CLASS, self.config.class as u64);
        }
        // The Data comes back with it: as long as on the links, so its size tells what a link carries.
        interest.header_mut().pit_token = PitToken::from_u48(segment & 0xFFFF_FFFF_FFFF);
        interest.net_len = crate::packet::wire::interest_len(interest);
    }

    fn note_sending(&mut self, now: Time, segment: u64, tag: u32) {
        let times_sent = self.segments.send(segment, now, tag);
        self.counters.retransmitted += u64::from(times_sent > 1);
        self.counters.sent += 1;
        let is_repeat = self.config.early_loss && times_sent > 2;
        let sendings = if is_repeat { &mut self.repeats } else { &mut self.sendings };
        sendings.push_back((segment, now));
        self.last_sent = Some(now);
        if self.config.source_jitter > 0.0 {
            self.gap = 1.0 + self.config.source_jitter * (2.0 * self.random.unit() - 1.0);
        }
    }

    /// When the next Interest may leave: now, later, or at an event.
    fn permitted_at(&mut self, now: Time) -> Time {
        if !self.active || !self.has_work() {
            return Time::NEVER;
        }
        let wanted = match (self.config.source.rate(), self.last_sent) {
            (Some(Rate::ZERO), _) => return Time::NEVER,
            // Only a Data tells how many make up the rate: the first goes alone.
            (Some(_), Some(_)) if self.config.expected_size == Bytes::ZERO && self.segments.pending() > 0 => {
                return Time::NEVER;
            }
            (Some(rate), Some(last)) => last + self.gap_at(rate),
            _ => now,
        };
        let wanted = wanted.max(self.paused_until);
        if let Source::Unresponsive(_) = self.config.source {
            return wanted;
        }
        let permit = self.control.permit(&mut PermitEvent {
            now,
            pending: self.segments.pending(),
            expected_size: self.config.expected_size,
            random: &mut self.random,
        });
        match permit {
            Permit::Now => wanted,
            Permit::At(time) => wanted.max(time),
            Permit::Blocked => Time::NEVER,
        }
    }

    /// The time between two Interests of a source with this rate.
    fn gap_at(&self, rate: Rate) -> Span {
        let mean = rate.time_for(self.config.expected_size);
        if self.gap == 1.0 { mean } else { Span::from_nanos((mean.as_nanos() as f64 * self.gap) as u64) }
    }

    fn has_work(&self) -> bool {
        let next = self.segments.next();
        let ahead = self.config.reorder.min(REORDER_BOUND);
        let is_new =
            self.config.amount.is_none_or(|amount| next < amount) && next - self.segments.base() < ahead;
        is_new || self.segments.has_lost()
    }

    /// Something changed: ask for a permit again.
    fn reconsider(&mut self, now: Time) {
        self.forget_answered();
        self.send_at = self.permitted_at(now);
    }

    /// The expected size follows what comes with a gain of 1/8; kept in 256ths of a byte, since
    /// whole bytes would stick some bytes short of it.
    fn learn_size(&mut self, wire_len: u64) {
        let came = wire_len << 8;
        self.size_256 = if self.size_256 == 0 { came } else { (7 * self.size_256 + came) / 8 };
        self.config.expected_size = Bytes::new((self.size_256 + 128) >> 8);
    }
}

impl core::fmt::Debug for Consumer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Consumer")
            .field("base", &self.segments.base())
            .field("pending", &self.segments.pending())
            .field("lost", &self.segments.lost())
            .field("send_at", &self.send_at)
            .finish_non_exhaustive()
    }
}
