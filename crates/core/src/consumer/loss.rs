//! Detection of lost Interests: by timeout, by answers to later Interests (early loss), by silence, and by
//! the flow control.

use core::ops::Range;

use super::Consumer;
use super::segments::Segments;
use crate::random::Random;
use crate::seam::{FlowDeadline, LossEvent};
use crate::units::{Span, Time};

/// The wait before a probe or a repetition stops doubling after this many. RTO expires before that.
pub(super) const MOST_DOUBLINGS: u32 = 16;

impl Consumer {
    /// Declares timed-out Interests lost.
    pub fn handle_deadline(&mut self, now: Time) {
        while let Some((segment, sent)) = self.take_due(now) {
            // An Interest that was sent before the last backoff belongs to the same loss: it gets no reprieve
            // and is not counted twice.
            if self.time_out(now, segment) && sent >= self.backed_off_at && !self.is_overtaken(sent) {
                self.rtt.back_off();
                self.backed_off_at = now;
            }
            self.forget_answered();
        }
        if self.control.next_deadline() <= now {
            self.own_deadline(now);
        }
        self.reconsider(now);
        if self.probe_at() <= now {
            self.probe(now);
        }
    }

    /// Handles an expired timer of the flow control.
    fn own_deadline(&mut self, now: Time) {
        let mut ev = FlowDeadline { now, pending: self.segments.pending(), lost: 0..0 };
        self.control.on_deadline(&mut ev);
        self.counters.timeouts += self.give_up(ev.lost);
    }

    /// Declares the segments lost that the flow control regards as lost. Returns how many of them were
    /// pending.
    pub(super) fn give_up(&mut self, lost: Range<u64>) -> u64 {
        let known = lost.start.max(self.segments.base())..lost.end.min(self.segments.next());
        known.map(|segment| u64::from(self.segments.lose(segment).is_some())).sum()
    }

    /// Takes the first sending that has timed out.
    fn take_due(&mut self, now: Time) -> Option<(u64, Time)> {
        let is_due = |sending: &&(u64, Time)| self.timeout_of(Some(*sending)) <= now;
        if self.sendings.front().filter(is_due).is_some() {
            return self.sendings.pop_front();
        }
        self.repeats.front().filter(is_due)?;
        self.repeats.pop_front()
    }

    /// Declares a segment lost. Returns whether it was pending.
    fn time_out(&mut self, now: Time, segment: u64) -> bool {
        let Some(tag) = self.segments.lose(segment) else { return false };
        self.counters.timeouts += 1;
        self.control.on_timeout(&mut loss_event(now, segment, tag, &self.segments, &mut self.random));
        true
    }

    /// When a probe is due: no Data has come for a while since the last Data or Interest, and nothing may
    /// leave before something comes. The wait doubles with each probe. After a timeout, RTO takes over, as in
    /// RFC 8985.
    pub(super) fn probe_at(&self) -> Time {
        let may_be = self.config.early_loss
            && self.active
            && self.segments.pending() > 0
            && self.send_at == Time::NEVER;
        if !may_be || self.rtt.is_backed_off() {
            return Time::NEVER;
        }
        let quiet_since = self.last_sent.unwrap_or(self.heard_at).max(self.heard_at);
        let silence = self.rtt.silence() * (1 << self.probes.min(MOST_DOUBLINGS));
        (quiet_since + silence).max(self.paused_until)
    }

    /// Sends one Interest: for a lost segment, else for a new one, else for the oldest missing one.
    fn probe(&mut self, now: Time) {
        if !self.has_work() {
            self.time_out(now, self.segments.base());
            self.forget_answered();
        }
        self.probes += 1;
        self.is_probing = self.has_work();
    }

    /// Removes sendings from the front that were answered, lost or repeated since.
    pub(super) fn forget_answered(&mut self) {
        while self.sendings.front().is_some_and(|sending| !self.segments.is_pending(sending)) {
            self.sendings.pop_front();
        }
        while self.repeats.front().is_some_and(|sending| !self.segments.is_pending(sending)) {
            self.repeats.pop_front();
        }
    }

    pub(super) fn timeout_at(&self) -> Time {
        self.timeout_of(self.sendings.front()).min(self.timeout_of(self.repeats.front()))
    }

    fn timeout_of(&self, sending: Option<&(u64, Time)>) -> Time {
        sending.map_or(Time::NEVER, |&(segment, sent)| sent + self.timeout(segment, sent))
    }

    /// The timeout of the Interest for `segment` that was sent at `sent`.
    fn timeout(&self, segment: u64, sent: Time) -> Span {
        let rto = if sent < self.backed_off_at { self.rtt.earlier_rto() } else { self.rtt.rto() };
        let timeout = self.control.timeout(rto, self.config.lifetime);
        if !self.is_overtaken(sent) {
            return timeout;
        }
        // The wait doubles with each sending from the third on, because forwarders absorb repeated Interests:
        // NFD in the first 10 ms, ndnd in the first half second.
        let earlier = self.segments.get(segment).map_or(0, |known| known.times_sent.saturating_sub(2));
        let disorder = self.rtt.overtaken() * (1 << earlier.min(MOST_DOUBLINGS));
        timeout.min(disorder.max(self.control.longest_wait()))
    }

    /// Returns whether Data have come for later Interests, which shows that the path works.
    fn is_overtaken(&self, sent: Time) -> bool {
        self.config.early_loss && sent < self.answered_sent
    }
}

/// The event that reports a lost Interest to the flow control.
pub(super) fn loss_event<'a>(
    now: Time,
    segment: u64,
    tag: u32,
    segments: &Segments,
    random: &'a mut Random,
) -> LossEvent<'a> {
    let (pending, highest_sent) = (segments.pending(), segments.next().saturating_sub(1));
    LossEvent { now, segment, tag, pending, highest_sent, random }
}
