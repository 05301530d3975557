//! A bottleneck that tells no rate, between this node and the next one that takes part. It is found by the time of the hop
//! (the measure of HbHCM): from an Interest's departure here to its Data, without the time that the next node says it took,
//! and without that of the Data on the link.
//!
//! ```text
//!   e = least time of a period − least time of the last 10 to 20 s        (queueing)
//!   while e is large:   Ĥ = the most that came of late · (1 − e above its room)    (a full link gives its rate)
//!   once e is gone:     Ĥ grows by 0.5 %, then faster                              (it may have become faster)
//!   if e falls no more: it is no queue of ours: the path has become longer, or others fill it
//! ```

use weir_core::units::{Span, Time};

/// Measures a period of this length, or the least time of the hop if that is longer.
const PERIOD: Span = Span::from_millis(50);
/// The least time is that of so long, to twice as long.
const MEMORY: Span = Span::from_secs(10);
/// Queueing of less is not seen: hosts are late by so much, s, and delays change by such a part. Of a link that others fill
/// too the queue may be shorter than the time of this number of Data of ours.
const LATENESS: f64 = 0.002;
const CHANGES: f64 = 0.1;
const DATA: f64 = 3.0;
/// Samples of a period, at least.
const SAMPLES: u32 = 6;
/// First and largest growth of Ĥ, a period.
const GROWTH: (f64, f64) = (0.005, 0.1);
/// If no flow has more of its Interests answered, the link loses most Data.
const LEAST_ANSWERED: f64 = 0.5;
/// What is asked for shows in the answers after so many epochs.
const EPOCHS: u32 = 3;
/// It grows for so many periods at once, at most.
const MOST_GROWN: f64 = 7.0;
/// In so many periods in which less is asked for a queue of ours becomes shorter by this part at least.
const STAYS: u32 = 8;
const SHORTER: f64 = 0.1;
/// The most that came in so many periods is the rate of a full link: in one of them less may come by chance.
const RATES: usize = 4;
/// So many periods of queueing show a link that is full, or one more where it says its rate. In a single one the host may be late.
const QUEUED: u32 = 2;

/// What is known of it.
#[derive(Debug)]
pub(super) struct Hidden {
    /// Ĥ, the rate at which it is asked, bit/s; infinite while none is seen.
    pub(super) rate: f64,
    /// Its rate, as the Data came that it had queued.
    cap: f64,
    growth: f64,
    /// The room for what is no queueing, s, and whether the last Data has waited for longer.
    room: f64,
    pub(super) waits: bool,
    /// The least time of the hop: in the time remembered, in its newer half, and in this period.
    base: Span,
    newer: Span,
    least: Span,
    halved: Time,
    samples: u32,
    bits: f64,
    since: Time,
    /// Periods in a row with queueing, and with no less of it although less was asked for, which was this, s.
    queued: u32,
    stays: u32,
    shortest: f64,
    /// The link loses most Data; and the epochs since it was asked for half.
    loses: bool,
    halved_before: u32,
    /// What came in the last periods, bit/s.
    rates: [f64; RATES],
}

impl Hidden {
    pub(super) fn new() -> Hidden {
        Hidden {
            rate: f64::INFINITY,
            cap: f64::INFINITY,
            growth: GROWTH.0,
            room: f64::INFINITY,
            waits: false,
            base: Span::MAX,
            newer: Span::MAX,
            least: Span::MAX,
            halved: Time::ZERO,
            samples: 0,
            bits: 0.0,
            since: Time::ZERO,
            queued: 0,
            stays: 0,
            shortest: 0.0,
            loses: false,
            halved_before: EPOCHS,
            rates: [0.0; RATES],
        }
    }

    /// An epoch has ended: the most that a flow was answered in the one before the last, as a part of its Interests, if known.
    /// If that is less than half, the link loses most Data, and those that come do not tell its rate: packets of several
    /// fragments are lost if one fragment is.
    pub(super) fn on_epoch(&mut self, answered: Option<f64>) {
        self.loses = answered.is_some_and(|most| most < LEAST_ANSWERED);
        self.halved_before = self.halved_before.saturating_add(1);
        if self.loses && self.halved_before >= EPOCHS {
            (self.cap, self.growth, self.halved_before) = (0.5 * self.cap, GROWTH.0, 0);
            self.rate = self.rate.min(self.cap);
        }
    }

    /// The link has become another one.
    pub(super) fn forget(&mut self) {
        (self.rate, self.cap) = (f64::INFINITY, f64::INFINITY);
    }

    /// Interests are pending, and no Data came for long. If the last one had waited, the link was full and has lost the others:
    /// then the losses hide its queue, as the period lasts until Data come that have not waited.
    pub(super) fn on_silence(&mut self, now: Time) {
        let of_late = self.most_of_late();
        if self.waits && self.cap.is_infinite() && of_late > 0.0 {
            (self.cap, self.rate, self.growth) = (of_late, of_late, GROWTH.0);
        }
        (self.least, self.samples, self.bits, self.since) = (Span::MAX, 0, 0.0, now);
    }

    /// The most that came in one of the last periods, bit/s.
    fn most_of_late(&self) -> f64 {
        self.rates.iter().fold(0.0, |most: f64, rate| most.max(*rate))
    }

    /// A Data of so many bits came, if known after this time of the hop; the link says this rate, if any. A burst has so many bits.
    pub(super) fn on_data(&mut self, now: Time, hop: Option<Span>, bits: f64, burst: f64, told: Option<f64>) {
        self.bits += bits;
        if let Some(hop) = hop {
            self.base = self.base.min(hop);
            self.newer = self.newer.min(hop);
            self.least = self.least.min(hop);
            self.samples += 1;
            self.waits = hop.saturating_sub(self.base).as_secs_f64() > self.room;
        }
        let passed = now.since(self.since);
        // Where nothing is known yet the rate doubles in a round trip: a quarter of it is soon enough.
        let is_first = told.is_none() && self.cap.is_infinite();
        let period = if is_first { self.base / 4 } else { self.base.max(PERIOD) };
        if self.base == Span::MAX || passed < period || self.samples < SAMPLES {
            return;
        }
        let comes = self.bits / passed.as_secs_f64();
        self.rates.rotate_right(1);
        self.rates[0] = comes;
        // One Data more or less is chance.
        let is_used = self.bits + burst > 0.95 * self.rate * passed.as_secs_f64();
        let excess = self.least.saturating_sub(self.base).as_secs_f64();
        let room = (DATA * burst / comes).min(CHANGES * self.base.as_secs_f64()).max(LATENESS);
        self.room = room;
        self.queued = if excess > room { self.queued + 1 } else { 0 };
        // A link that says its rate may have a queue for a moment.
        let is_seen = self.cap.is_finite() || self.queued >= QUEUED + u32::from(told.is_some());
        let waits = is_seen && excess > 0.3 * room;
        if !waits || self.stays == 0 || excess < (1.0 - SHORTER) * self.shortest {
            (self.stays, self.shortest) = (u32::from(waits), excess);
        } else {
            self.stays += 1;
        }
        if self.stays > STAYS {
            (self.base, self.newer, self.halved, self.stays) = (self.least, self.least, now, 0);
        } else if waits {
            let of_late = if self.loses { f64::INFINITY } else { self.most_of_late() };
            (self.cap, self.growth) = (of_late.min(self.cap), GROWTH.0);
        } else if self.cap.is_finite() && is_used && excess < 0.1 * room {
            // At a low rate a period is long, since few Data come.
            let periods = (passed.as_secs_f64() / period.as_secs_f64()).min(MOST_GROWN);
            self.cap *= libm::pow(1.0 + self.growth, periods);
            self.growth = (1.3 * self.growth).min(GROWTH.1);
        }
        self.rate = self.cap * (1.0 - ((excess - 0.3 * room) / 0.3).clamp(-0.02, 0.5));
        if told.is_some_and(|told| self.cap > 1.1 * told) {
            self.forget();
        }
        if now.since(self.halved) > MEMORY {
            (self.base, self.newer, self.halved) = (self.newer, Span::MAX, now);
        }
        (self.least, self.samples, self.bits, self.since) = (Span::MAX, 0, 0.0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link of some Mb/s behind 10 ms, which is asked for Data of 1 kB for so many seconds at Ĥ, or at this rate as long as none
    /// is known. `path` is the time of the path without the queue, ms, by the second. Ĥ and the queue at the end, ms.
    fn run(mbps: f64, asked: f64, seconds: f64, path: impl Fn(f64) -> f64) -> (f64, f64) {
        let mut hidden = Hidden::new();
        let (mut now, mut free) = (0.0, 0.0_f64);
        while now < seconds {
            free = free.max(now) + 8000.0 / (mbps * 1e6);
            let hop = Span::from_secs_f64(free - now + path(now) / 1000.0);
            let at = Time::ZERO + Span::from_secs_f64(free + path(now) / 1000.0);
            hidden.on_data(at, Some(hop), 8000.0, 8000.0, None);
            now += 8000.0 / hidden.rate.min(asked);
        }
        (hidden.rate, 1000.0 * (free - now).max(0.0))
    }

    #[test]
    fn a_bottleneck_that_nobody_tells_of_is_found_and_keeps_a_queue_of_few_data() {
        for mbps in [2.0, 10.0, 100.0] {
            let (rate, queue) = run(mbps, 1.2e6 * mbps, 20.0, |_| 10.0);
            assert!((0.9..1.1).contains(&(rate / mbps / 1e6)), "{mbps}: {rate}");
            assert!(queue < 12.0, "{mbps}: {queue} ms");
        }
    }

    #[test]
    fn a_link_that_loses_all_that_it_cannot_queue_has_shown_its_rate() {
        let mut hidden = Hidden::new();
        // Two periods at 10 Mb/s, and in the third one Data wait until none comes any more.
        for n in 0..15_u64 {
            let at = Time::ZERO + Span::from_micros(10_000 + 800 * n);
            let waited = Span::from_millis(if n < 12 { 0 } else { 5 });
            hidden.on_data(at, Some(Span::from_millis(10) + waited), 8000.0, 8000.0, None);
        }
        assert_eq!(hidden.rate, f64::INFINITY);
        hidden.on_silence(Time::ZERO + Span::from_secs(2));
        assert!((hidden.rate / 10e6 - 1.0).abs() < 0.1, "{}", hidden.rate);
    }

    #[test]
    fn a_link_that_loses_most_of_its_data_is_asked_for_half_until_it_loses_less() {
        let mut hidden = Hidden::new();
        (hidden.cap, hidden.rate) = (50e6, 50e6);
        let rates: Vec<f64> = (0..5)
            .map(|_| {
                hidden.on_epoch(Some(0.1));
                hidden.rate / 1e6
            })
            .collect();
        // What it asks for shows after three epochs.
        assert_eq!(rates, [25.0, 25.0, 25.0, 12.5, 12.5]);
        // Few Data come through its full queue of 50 ms: what comes is far below its rate.
        let mut at = Time::ZERO;
        for n in 0..24_u64 {
            at = Time::ZERO + Span::from_millis(100 * n);
            let waited = Span::from_millis(if n < 6 { 0 } else { 50 });
            hidden.on_data(at, Some(Span::from_millis(2) + waited), 64e3, 64e3, None);
        }
        assert_eq!(hidden.cap, 12.5e6);
        hidden.on_epoch(Some(0.9));
        // Later it loses nothing: its rate is found in seconds, although few Data come at first.
        hidden.cap = 0.3e6;
        hidden.rate = 0.3e6;
        let begun = at;
        while hidden.rate < 5e6 && at < begun + Span::from_secs(60) {
            at += Span::from_secs_f64(64e3 / hidden.rate);
            hidden.on_data(at, Some(Span::from_millis(2)), 64e3, 64e3, None);
        }
        assert!(at.since(begun) < Span::from_secs(15), "{}", at.since(begun));
    }

    #[test]
    fn a_neighbour_that_stops_answering_is_no_full_link() {
        let mut hidden = Hidden::new();
        for n in 0..15_u64 {
            let at = Time::ZERO + Span::from_micros(10_000 + 800 * n);
            hidden.on_data(at, Some(Span::from_millis(10)), 8000.0, 8000.0, None);
        }
        hidden.on_silence(Time::ZERO + Span::from_secs(2));
        assert_eq!(hidden.rate, f64::INFINITY);
    }

    #[test]
    fn a_link_that_is_not_full_is_none() {
        assert_eq!(run(10.0, 8e6, 20.0, |_| 10.0).0, f64::INFINITY);
    }

    #[test]
    fn a_path_that_becomes_longer_holds_nothing_up_for_long() {
        let (rate, _) = run(10.0, 8e6, 20.0, |now| if now < 5.0 { 10.0 } else { 30.0 });
        assert!(rate > 7.8e6, "{rate}");
    }
}
