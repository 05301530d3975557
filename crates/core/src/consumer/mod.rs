//! One consumer flow. It requests the segments of a prefix in order, as fast as its application and its flow
//! control permit, and retransmits lost Interests.
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

/// Largest permitted distance between the oldest missing segment and the newest requested one. It covers two
/// seconds of a 4 Gb/s flow that waits for one lost Interest, and takes at most about 40 MB of memory.
pub const REORDER_BOUND: u64 = 1 << 20;

/// Shortest pause after a Nack. A consumer whose Interests are refused within microseconds must not ask a
/// million times before its application gives up. The pause is short enough to notice a new route soon.
const LEAST_PAUSE: Span = Span::from_millis(10);
const LONGEST_PAUSE: Span = Span::from_secs(1);

/// Pause after a Nack if no round-trip time is known.
const PAUSE_AFTER_NACK: Span = Span::from_millis(100);

/// How much the application requests. Rates count all bits of the requested Data, as in the QSCCP paper:
/// 10 Mb/s of packets of 1078 B are 1160 Interests a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// As much as the flow control permits.
    #[default]
    Elastic,
    /// At most this rate of Data on the wire, and at most what the flow control permits. Probes are not
    /// counted.
    Limited(Rate),
    /// This rate of Data on the wire; the flow control is ignored. This is a greedy consumer.
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

/// Settings of a consumer.
#[derive(Clone, Debug)]
pub struct ConsumerConfig {
    /// The prefix. The consumer appends segment numbers to it.
    pub prefix: HashedName,
    /// The hasher of names; the node must use the same.
    pub hasher: NameHasher,
    /// The service class of its Interests.
    pub class: ServiceClass,
    /// The first segment to fetch.
    pub first: u64,
    /// The number after the last segment to fetch. `None`: there is no end, or it is not known yet.
    pub amount: Option<u64>,
    /// Largest distance between the oldest missing segment and the newest requested one, segments: the room
    /// of the application's reorder buffer. At most [`REORDER_BOUND`].
    pub reorder: u64,
    /// How much the application requests.
    pub source: Source,
    /// Jitter of a source with a rate: each time between two Interests deviates from the mean by at most this
    /// fraction; 0 to 1.
    pub source_jitter: f64,
    /// Lifetime of its Interests.
    pub lifetime: Span,
    /// `true` if cached Data must be fresh.
    pub must_be_fresh: bool,
    /// The forwarding hint of its Interests.
    pub hint: Option<Hint>,
    /// Expected size of a Data on the wire. It follows the sizes of the Data that arrive.
    pub expected_size: Bytes,
    /// Enables early loss detection (RFC 8985). An Interest that a later one has overtaken is lost after
    /// [`FlowRtt::overtaken`] instead of RTO, because the smallest RTO of 200 ms is hundreds of round trips
    /// on short paths. If no Data has come for [`FlowRtt::silence`] and nothing may leave, one Interest is
    /// sent as a probe (tail loss probe). If the probe requests a new segment, its Data can show that earlier
    /// Interests were overtaken. The papers' consumers wait for RTO.
    pub early_loss: bool,
}

/// A segment that arrived for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Segment number, from 0.
    pub segment: u64,
    /// Time since the first sending of its Interest.
    pub delay: Span,
    /// Bytes of content.
    pub content: u64,
    /// `true` if it is the last segment to fetch.
    pub complete: bool,
}

/// Counters of one consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConsumerCounters {
    /// Interests sent, including retransmissions.
    pub sent: u64,
    /// Segments delivered.
    pub delivered: u64,
    /// Interests sent again.
    pub retransmitted: u64,
    /// Interests that timed out.
    pub timeouts: u64,
    /// Interests that came back as Nacks.
    pub nacks: u64,
    /// Data for which no Interest was pending.
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
    /// Sendings in order of time. The first live one times out next.
    sendings: VecDeque<(u64, Time)>,
    /// With early loss: sendings of segments that were sent more than once, in order of time. They wait
    /// longer and would delay the detection of other losses. Some delay each other, but no longer than RTO.
    repeats: VecDeque<(u64, Time)>,
    /// When RTO was last backed off.
    backed_off_at: Time,
    /// The latest sending time of an answered Interest that was sent once.
    answered_sent: Time,
    last_sent: Option<Time>,
    /// Factor of the time until the next Interest of a source with a rate.
    gap: f64,
    /// When the last Data came.
    heard_at: Time,
    send_at: Time,
    /// Probes since the last Data.
    probes: u32,
    /// The next Interest is a probe: it needs no permit of the flow control.
    is_probing: bool,
    /// Nothing is sent before this time after a Nack. Otherwise an Interest that is refused at once would be
    /// sent again at once.
    paused_until: Time,
    /// When the last such pause began, and how many pauses there were in a row. A pause continues the row if
    /// it is for an Interest sent after the previous pause began and no Data has come since.
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

    /// Starts, or continues after [`Consumer::stop`].
    pub fn start(&mut self, now: Time) {
        self.active = true;
        self.send_at = now;
    }

    /// Stops sending. Data of pending Interests may still come.
    pub fn stop(&mut self) {
        self.active = false;
        self.send_at = Time::NEVER;
        self.is_probing = false;
    }

    /// Changes how much the application requests.
    pub fn set_source(&mut self, now: Time, source: Source) {
        self.config.source = source;
        if self.active {
            self.send_at = now;
        }
    }

    /// Sets the end: the consumer fetches no segment from `amount` on, and forgets those that it has already
    /// requested. Returns whether all segments have arrived.
    pub fn set_amount(&mut self, now: Time, amount: u64) -> bool {
        self.config.amount = Some(amount);
        self.segments.truncate(amount);
        self.reconsider(now);
        self.is_complete()
    }

    /// Changes the largest distance between the oldest missing segment and the newest requested one. Segments
    /// that are already requested stay pending.
    pub fn set_reorder(&mut self, now: Time, segments: u64) {
        self.config.reorder = segments;
        self.reconsider(now);
    }

    /// The oldest requested segment that has not arrived, and when it was first requested.
    pub fn oldest_missing(&self) -> Option<(u64, Time)> {
        self.segments.oldest().map(|oldest| (self.segments.base(), oldest.first_sent))
    }

    /// Returns whether all segments have arrived.
    pub fn is_complete(&self) -> bool {
        self.config.amount.is_some_and(|amount| self.segments.base() >= amount)
    }

    /// When to call [`Consumer::handle_deadline`] and then [`Consumer::poll_send`]. The time may be in the
    /// past: for example, a shorter timeout may already have expired for Interests sent earlier. Then call at
    /// once.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.send_at.min(self.timeout_at()).min(self.probe_at()).min(self.control.next_deadline())
    }

    /// Prefetches the memory that each of its events needs.
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

    /// What it has sent and received since it was made.
    pub fn counters(&self) -> &ConsumerCounters {
        &self.counters
    }

    /// The prefix of its segments.
    pub fn prefix(&self) -> &HashedName {
        &self.config.prefix
    }

    /// The window or the rate of the flow control.
    pub fn gauge(&self) -> Gauge {
        self.control.gauge()
    }

    /// A notice for the user about the state of the flow control ([`FlowControl::notice`]).
    pub fn notice(&self) -> Option<&'static str> {
        self.control.notice()
    }

    /// Number of pending Interests.
    pub fn pending(&self) -> u32 {
        self.segments.pending()
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }

    /// Mean of the shortest round-trip times of its responders, weighted by how often each has answered
    /// lately; `None` before the first sample.
    pub fn base_rtt(&self) -> Option<Span> {
        self.rtt.mean_base()
    }

    /// Handles a Data. Returns `None` if no Interest was pending for it.
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

    /// Returns whether `name` is the name of one of its segments.
    #[inline]
    fn is_own(&self, name: &HashedName) -> bool {
        let len = self.config.prefix.len();
        name.len() == len + 1 && name.hash_of(len) == self.config.prefix.hash()
    }

    /// Handles a Nack. The Interest is lost. It is sent again after a round-trip time, but not before 10 ms.
    /// Each further Nack doubles this pause, up to one second.
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

    /// Pauses because of a Nack for an Interest that was sent at `sent`. Among Interests that left together,
    /// only the first Nack makes a pause.
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

    /// The next Interest to send at `now`. Call it until it returns `None`.
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
        // The Data brings the token back. It is as long as tokens on links, so the size of the Data shows the
        // load of a link.
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

    /// When the next Interest may leave: now, later, or only after an event ([`Time::NEVER`]).
    fn permitted_at(&mut self, now: Time) -> Time {
        if !self.active || !self.has_work() {
            return Time::NEVER;
        }
        let wanted = match (self.config.source.rate(), self.last_sent) {
            (Some(Rate::ZERO), _) => return Time::NEVER,
            // The rate needs the size of a Data, which only a Data can tell: the first Interest goes alone.
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

    /// Time between two Interests of a source with this rate.
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

    /// Requests a new permit, because something has changed.
    fn reconsider(&mut self, now: Time) {
        self.forget_answered();
        self.send_at = self.permitted_at(now);
    }

    /// Moves the expected size towards the size of the arrived Data, with a gain of 1/8. The value is kept in
    /// 1/256 of a byte; with whole bytes it would stop some bytes short.
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
