//! A bottleneck without a reported rate, between this node and the next one that runs the scheme. It is found
//! by the time of the hop (the measure of HbHCM): the time from an Interest's departure here to its Data,
//! without the time that the next node reports, and without the Data's own time on the link.
//!
//! ```text
//!   e = least time of a period − least time of the last 10 to 20 s        (queueing)
//!   while e is large:   Ĥ = the most that came of late · (1 − e above its room)    (a full link gives its rate)
//!   once e is gone:     Ĥ grows by 0.5 %, then faster                              (it may have become faster)
//!   if e falls no more: it is no queue of ours: the path has become longer, or others fill it
//! ```

use weir_core::units::{Span, Time};

/// The length of a measuring period; or the smallest time of the hop, if that is longer.
const PERIOD: Span = Span::from_millis(50);
/// The smallest time of the hop is taken over this time, up to twice as long.
const MEMORY: Span = Span::from_secs(10);
/// Shorter queueing is not detected: hosts are late by this time, s, and delays change by this part. On a
/// link with other traffic, the queue may be shorter than this number of our Data.
const LATENESS: f64 = 0.002;
const CHANGES: f64 = 0.1;
const DATA: f64 = 3.0;
/// The smallest number of samples in a period.
const SAMPLES: u32 = 6;
/// The first and the largest growth of Ĥ in a period.
const GROWTH: (f64, f64) = (0.005, 0.1);
/// If no flow has more than this part of its Interests answered, the link loses most Data.
const LEAST_ANSWERED: f64 = 0.5;
/// The number of epochs after which a change of requests shows in the answers.
const EPOCHS: u32 = 3;
/// The largest number of periods for which Ĥ grows at once.
const MOST_GROWN: f64 = 7.0;
/// If less is requested for this number of periods, a queue of ours becomes shorter by at least this part.
const STAYS: u32 = 8;
const SHORTER: f64 = 0.1;
/// The number of periods whose largest rate is that of a full link. In one of them less may come by chance.
const RATES: usize = 4;
/// The number of periods with queueing that show a full link; one more if the link reports its rate. In a
/// single period the host may be late.
const QUEUED: u32 = 2;

/// The estimate of a hidden bottleneck.
#[derive(Debug)]
pub(super) struct Hidden {
    /// Ĥ, the rate at which it is requested, bit/s; infinite while no bottleneck is detected.
    pub(super) rate: f64,
    /// Its rate, measured when queued Data came.
    cap: f64,
    growth: f64,
    /// The queueing time that is ignored, s, and whether the last Data waited for longer.
    room: f64,
    pub(super) waits: bool,
    /// The smallest time of the hop: in the remembered time, in the newer half of it, and in this period.
    base: Span,
    newer: Span,
    least: Span,
    halved: Time,
    samples: u32,
    bits: f64,
    since: Time,
    /// The number of successive periods with queueing; the number of those in which queueing did not fall
    /// although less was requested; and that queueing, s.
    queued: u32,
    stays: u32,
    shortest: f64,
    /// Whether the link loses most Data, and the epochs since requests were halved.
    loses: bool,
    halved_before: u32,
    /// The received rates of the last periods, bit/s.
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

    /// Ends an epoch. `answered` is the largest answered part of any flow in the epoch before the previous
    /// one, if known. If it is less than one half, the link loses most Data, and the received rate is not
    /// that of the link: a packet of several fragments is lost if one fragment is.
    pub(super) fn on_epoch(&mut self, answered: Option<f64>) {
        self.loses = answered.is_some_and(|most| most < LEAST_ANSWERED);
        self.halved_before = self.halved_before.saturating_add(1);
        if self.loses && self.halved_before >= EPOCHS {
            (self.cap, self.growth, self.halved_before) = (0.5 * self.cap, GROWTH.0, 0);
            self.rate = self.rate.min(self.cap);
        }
    }

    /// Resets the estimate, because the link has changed.
    pub(super) fn forget(&mut self) {
        (self.rate, self.cap) = (f64::INFINITY, f64::INFINITY);
    }

    /// Handles a long silence while Interests are pending. If the last Data had waited, the link was full and
    /// has lost the others. The period then continues until Data come that have not waited, so the losses
    /// would hide the queue.
    pub(super) fn on_silence(&mut self, now: Time) {
        let of_late = self.most_of_late();
        if self.waits && self.cap.is_infinite() && of_late > 0.0 {
            (self.cap, self.rate, self.growth) = (of_late, of_late, GROWTH.0);
        }
        (self.least, self.samples, self.bits, self.since) = (Span::MAX, 0, 0.0, now);
    }

    /// Returns the largest rate of the last periods, bit/s.
    fn most_of_late(&self) -> f64 {
        self.rates.iter().fold(0.0, |most: f64, rate| most.max(*rate))
    }

    /// Counts a Data of this size, with its time of the hop if known. `told` is the rate that the link
    /// reports, if any. `burst` is the size of a burst, bits.
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
        // While no rate is known, the rate doubles in a round trip. A quarter of it is soon enough.
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
        // A link that reports its rate may have a queue for a moment.
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
            // At a low rate a period is long, because few Data come.
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

    /// Runs a link of `mbps` behind 10 ms for `seconds`. Data of 1 kB are requested at Ĥ, or at `asked` while
    /// Ĥ is infinite. `path` is the time of the path without the queue, ms, at a time in seconds. Returns Ĥ
    /// and the queue at the end, ms.
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
        // There are two periods at 10 Mb/s. In the third, Data wait until no more come.
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
        // The effect of its requests shows after three epochs.
        assert_eq!(rates, [25.0, 25.0, 25.0, 12.5, 12.5]);
        // Few Data come through its full queue of 50 ms. The received rate is far below the link's.
        let mut at = Time::ZERO;
        for n in 0..24_u64 {
            at = Time::ZERO + Span::from_millis(100 * n);
            let waited = Span::from_millis(if n < 6 { 0 } else { 50 });
            hidden.on_data(at, Some(Span::from_millis(2) + waited), 64e3, 64e3, None);
        }
        assert_eq!(hidden.cap, 12.5e6);
        hidden.on_epoch(Some(0.9));
        // Later it loses nothing. Its rate is found in seconds, although few Data come at first.
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
