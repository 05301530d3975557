//! A sub-flow: the traffic of one path, and its states (section VI.E, figure 6).
//!
//! ```text
//!            RTTs measured           Δ ≥ ψ                  Δ > η, path changed,
//!   RP (new) -------------> BF <---------------> FC         drain flag
//!                            ^       Δ < ψ        |    BF, FC ----------------> QD
//!                            |                    |                             |
//!                            +------ queue empty: ζ·u* -------------------------+
//! ```
//!
//! A control cycle lasts for the longest round trip of the previous cycle, and at least until a Data or a loss.

use weir_core::units::{Span, Time};

use super::hop_flow::{Estimation, Measured};
use super::label::Label;
use super::states::{Aim, Convergence, Drain, Growth, Probe, State, ZigZag};
use super::{RhoUnit, Settings};
use crate::pacing::Pacer;

/// The limits of a control cycle's length. An answer from the own node takes no time, and a false report has
/// no upper bound.
const CYCLE: (Span, Span) = (Span::from_millis(1), Span::from_secs(4));
/// A cycle without Data and losses ends after four of its lengths, and after at least one second.
const SILENT_CYCLES: u64 = 4;
const SILENT: Span = Span::from_secs(1);
/// Draining ends after ten cycles or four Interests, whichever is later.
const DRAIN_CYCLES: u64 = 10;
const DRAIN_INTERESTS: f64 = 4.0;
/// The highest rate that is requested, Interests a second: 100 Gb/s of Data of 1 kB.
const MOST: f64 = 1.25e7;
/// Numbers of Interests have 26 bits, and wrap.
pub(super) const NUMBERS: u32 = (1 << 26) - 1;
/// A drain that measures the base RTT again: Interests in a cycle, and its duration if the base is not met,
/// in cycles and at least. The other flows need one round trip to learn of it, and another one to empty their
/// queues.
const RENEWING_INTERESTS: u64 = 4;
const RENEWING_CYCLES: u64 = 4;
const RENEWING: Span = Span::from_millis(300);
/// A base is measured again for its age at most once in this number of cycles.
const AGE_CYCLES: u64 = 50;
/// A sub-flow that drains for another reason also measures a base older than this part of its lifetime.
const DRAINED: f64 = 0.5;
/// Other flows drain their queues for RTT probing at most this long, or for ten cycles.
const ANNOUNCING: Span = Span::from_secs(5);
/// After a silence with losses, a sub-flow continues with this part of its rate.
const AFTER_SILENCE: f64 = 0.5;
/// The largest number of pending Interests.
const MOST_PENDING: u32 = 1 << 24;
/// ψ is at most this part of α_r.
const PSI_PART: f64 = 0.3;

/// What a Data tells its sub-flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) now: Time,
    pub(super) hops: u8,
    /// The round-trip time; `None` if the Data gives none.
    pub(super) rtt: Option<Span>,
    /// The time since the Interest was sent, aggregated or not; at most a round trip.
    pub(super) waited: Option<Span>,
    /// The drain flag.
    pub(super) drain: bool,
    pub(super) is_aggregated: bool,
    /// The number of its Interest.
    pub(super) number: u32,
    /// The number of the next Interest.
    pub(super) next_number: u32,
}

/// The traffic of one path.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) label: Label,
    /// Its slot in tags. No other living sub-flow has the same one.
    pub(super) slot: u32,
    /// The number of its first Interest. Earlier ones belong to another sub-flow in this slot.
    pub(super) since: u32,
    pub(super) state: State,
    /// u_r, Interests a second.
    pub(super) requested: f64,
    /// 1/u_r.
    interval: Span,
    pub(super) pacer: Pacer,
    /// The number of turns that it has earned, for a greedy source, which sends without a permit.
    pub(super) credit: f64,
    estimation: Estimation,
    /// The length of this control cycle.
    cycle: Span,
    losses: u32,
    /// The number of Interests that left in this cycle.
    sent: u32,
    /// Whether less than half of what u_r allowed was sent in the previous cycle. Data of this cycle answer
    /// those Interests.
    was_idle: bool,
    /// x_r of the latest cycle, Data a second.
    pub(super) rate: f64,
    /// x_r of the previous cycle.
    rate_before: f64,
    /// Δ_r of the latest cycle, packets.
    pub(super) backlog: f64,
    /// α_r, packets.
    pub(super) set_point: f64,
    /// x_r at the last time when the bottleneck was full.
    full: Option<f64>,
    /// Whether the path seems to have changed since the base RTT was measured.
    has_changed: bool,
    /// The last time at which the base RTT was measured again, or should have been.
    renewed: Time,
    /// After a cycle with losses alone: u* to continue with when Data come again, Data a second.
    resumes_at: Option<f64>,
    /// Drain flags before this time are ignored.
    drains_from: Time,
    /// The number of the latest Interest, and the time at which it left.
    latest: (u32, Time),
    /// The time of the first Interest after the latest Data.
    pub(super) unheard_since: Option<Time>,
}

/// Returns whether the Interest `number` is `first` or a later one. Numbers wrap.
pub(super) fn is_since(number: u32, first: u32) -> bool {
    number.wrapping_sub(first) & NUMBERS <= NUMBERS / 2
}

impl Subflow {
    pub(super) fn new(label: Label, slot: u32, since: u32, now: Time, settings: &Settings) -> Subflow {
        let requested = settings.probing_rate;
        Subflow {
            label,
            slot,
            since,
            state: State::Probing(Probe::default()),
            requested,
            interval: Span::from_secs_f64(1.0 / requested),
            pacer: Pacer::new(now),
            credit: 0.0,
            estimation: Estimation::new(now),
            cycle: CYCLE.0,
            losses: 0,
            sent: 0,
            was_idle: false,
            rate: 0.0,
            rate_before: 0.0,
            backlog: 0.0,
            set_point: settings.set_point,
            full: None,
            has_changed: false,
            renewed: now,
            resumes_at: None,
            drains_from: Time::ZERO,
            latest: (since, now),
            unheard_since: None,
        }
    }

    /// Returns whether its Interests ask other flows to drain their queues. This ends even without a
    /// round-trip time, for example if all Interests are aggregated.
    pub(super) fn is_announcing(&self, now: Time) -> bool {
        match self.state {
            State::Probing(probe) => {
                let longest = ANNOUNCING.max(self.cycle * DRAIN_CYCLES);
                probe.began.is_none_or(|began| now.since(began) < longest)
            }
            State::Draining(drain) => drain.renews.is_some(),
            _ => false,
        }
    }

    /// Returns the longest recent round trip.
    pub(super) fn cycle(&self) -> Span {
        self.cycle
    }

    /// Returns the end of the control cycle if nothing more arrives.
    #[inline]
    pub(super) fn cycle_ends(&self) -> Time {
        let has_news = self.estimation.received() > 0 || self.losses > 0;
        let lasting = if has_news { self.cycle } else { (self.cycle * SILENT_CYCLES).max(SILENT) };
        self.estimation.began() + lasting
    }

    fn request(&mut self, rate: f64, settings: &Settings) {
        self.requested = rate.clamp(settings.least_rate, MOST);
        let interval = Span::from_secs_f64(1.0 / self.requested);
        self.pacer.change(self.interval, interval);
        self.interval = interval;
    }

    /// Counts an Interest that leaves on this path.
    pub(super) fn on_send(&mut self, now: Time, number: u32) {
        if number.wrapping_sub(self.since) & NUMBERS > MOST_PENDING {
            self.since = number.wrapping_sub(MOST_PENDING / 2) & NUMBERS;
        }
        self.pacer.advance(now, self.interval);
        match &mut self.state {
            State::Probing(probe) => {
                probe.began.get_or_insert(now);
            }
            State::Draining(drain) => self.pacer.hurry(now + drain.gap),
            _ => {}
        }
        self.sent += 1;
        self.latest = (number, now);
        self.unheard_since.get_or_insert(now);
    }

    pub(super) fn on_loss(&mut self) {
        self.losses += 1;
    }

    /// Counts a Data that came by this path, or for one of its Interests.
    pub(super) fn on_data(&mut self, arrival: &Arrival, settings: &Settings) {
        let Arrival { now, hops, mut rtt, .. } = *arrival;
        self.unheard_since = None;
        if matches!(self.state, State::Probing(_)) {
            rtt = self.round_trip(arrival);
        }
        let waited = rtt.or(arrival.waited);
        let is_probing = matches!(self.state, State::Probing(_));
        if !self.estimation.is_measured() {
            // The first round-trip time is the length of the first cycle.
            self.cycle = waited.filter(|_| is_probing).map_or(self.cycle, |rtt| rtt.clamp(CYCLE.0, CYCLE.1));
        }
        self.has_changed |= rtt.is_some_and(|rtt| self.is_step(now, hops, rtt, settings));
        if self.has_paused(now) {
            self.estimation.restart(now);
        }
        self.estimation.on_data(now, hops, rtt, waited, self.rate);
        match self.state {
            State::Probing(ref mut probe) if waited.is_some() => {
                let base = self.estimation.base().max(CYCLE.0);
                if probe.on_sample(now, base, settings) {
                    self.end_probing(now, settings);
                } else {
                    self.request(settings.probing_rate.max(1.0 / self.cycle.as_secs_f64()), settings);
                }
            }
            State::Draining(drain) => {
                if let Some(rtt) = self.round_trip(arrival)
                    && is_since(arrival.number, drain.from)
                {
                    let is_drained = self.estimation.on_drained(hops, rtt, drain.highest());
                    let ends = match drain.renews {
                        Some(due) => now >= due || self.estimation.is_met(drain.highest()),
                        None => is_drained,
                    };
                    if ends {
                        self.end_drain(now, settings);
                    }
                }
            }
            State::Probing(_) => {}
            _ if now < self.drains_from => {}
            _ if self.has_changed || (arrival.drain && !self.is_underused(settings)) => {
                let renews = self.has_expired(now, DRAINED, settings);
                self.drain(now, arrival.next_number, renews, settings);
            }
            _ => {}
        }
    }

    /// Returns the round-trip time of an Interest. If it was lost and retransmitted, the latest transmission
    /// counts. Without these, the low rates of RP and QD would give no measurement for a long time.
    fn round_trip(&self, arrival: &Arrival) -> Option<Span> {
        let (number, sent) = self.latest;
        let is_latest = !arrival.is_aggregated && number == arrival.number;
        // A shorter time answers an earlier transmission.
        let of_latest =
            || Some(arrival.now.since(sent)).filter(|rtt| is_latest && *rtt >= self.estimation.base());
        arrival.rtt.or_else(of_latest)
    }

    /// Ends RP. BF starts with a number of Interests a round trip that is assumed to be harmless.
    fn end_probing(&mut self, now: Time, settings: &Settings) {
        // A label that its own Interests caused is not a sign of another sub-flow.
        self.drains_from = now + settings.probing_label + self.cycle.scale(settings.drain_spacing);
        let base = if self.estimation.is_measured() { self.estimation.base() } else { self.cycle };
        self.fill(now, settings.first_interests / base.max(CYCLE.0).as_secs_f64(), settings);
    }

    /// Starts BF at this u*.
    fn fill(&mut self, now: Time, tolerable: f64, settings: &Settings) {
        let zigzag = ZigZag::new(tolerable.clamp(settings.least_rate, MOST), &self.growth(settings));
        self.state = State::Filling(zigzag);
        (self.losses, self.sent, self.was_idle) = (0, 0, false);
        self.estimation.restart(now);
        self.request(zigzag.rate(), settings);
    }

    fn growth(&self, settings: &Settings) -> Growth {
        let step = self.set_point / self.cycle.as_secs_f64();
        Growth { most: settings.beta, full: self.full, step }
    }

    /// Returns whether the base RTT was not met for this part of its lifetime, or the path has changed. The
    /// time for the measurement is bounded.
    fn has_expired(&self, now: Time, part: f64, settings: &Settings) -> bool {
        let since = self.estimation.met().max(self.renewed);
        let is_old = settings
            .base_lifetime
            .is_some_and(|lifetime| now.since(since) > lifetime.max(self.cycle * AGE_CYCLES).scale(part));
        is_old || self.has_changed
    }

    /// Returns whether the path seems to have changed: from one Data of a source to the next, the round-trip
    /// time has grown by more than half of α_s packets can cause.
    fn is_step(&self, now: Time, hops: u8, rtt: Span, settings: &Settings) -> bool {
        let step = self.estimation.step(now, hops, rtt);
        let packets = step.as_secs_f64() * self.rate.max(self.rate_before);
        step > settings.path_change && packets > 0.5 * settings.set_point
    }

    /// (21), stage I. If the drain `renews` the base RTT, the other flows drain as well.
    fn drain(&mut self, now: Time, next_number: u32, renews: bool, settings: &Settings) {
        let longest =
            (self.cycle * DRAIN_CYCLES).max(Span::from_secs_f64(DRAIN_INTERESTS / settings.least_rate));
        let gap = if renews { self.cycle / RENEWING_INTERESTS } else { self.cycle };

        let due = now + (self.cycle * RENEWING_CYCLES).max(RENEWING);
        let renews = renews.then_some(due);
        let (backup, before, until) = (self.rate, self.rate_before, now + longest);
        self.state = State::Draining(Drain { backup, before, from: next_number, until, gap, renews });
        self.estimation.begin_drain();
        self.has_changed = false;
        self.request(settings.least_rate, settings);
        self.pacer.hurry(now + gap);
    }

    /// (21), stage II.
    fn end_drain(&mut self, now: Time, settings: &Settings) {
        let State::Draining(drain) = self.state else { return };

        // The labels that caused it remain for a while.
        self.drains_from = now + self.cycle.scale(settings.drain_spacing).max(settings.probing_label);
        let mut backup = drain.backup;
        if drain.renews.is_some() {
            if !self.estimation.is_met(drain.highest()) && self.estimation.renew(now) {
                // There is a gap between the Data of the shorter path and those of the longer one. It is not
                // a lower rate.
                backup = drain.highest();
            }
            self.renewed = now;
        }
        self.fill(now, settings.zeta * backup, settings);
    }

    /// Ends the control cycle.
    pub(super) fn end_cycle(&mut self, now: Time, next_number: u32, settings: &Settings) {
        let (is_silent, is_idle) = (self.estimation.received() == 0, self.is_idle(now));
        let mut measured = self.estimation.close(now);
        if measured.longest > Span::ZERO {
            self.cycle = measured.longest.clamp(CYCLE.0, CYCLE.1);
        }
        let is_lossy = core::mem::take(&mut self.losses) > 0;
        if let State::Draining(drain) = self.state {
            if now >= drain.until {
                self.end_drain(now, settings);
            }
            return;
        }
        if is_silent {
            return self.on_silence(is_lossy, settings);
        }
        if let Some(tolerable) = self.resumes_at.take() {
            return self.fill(now, tolerable, settings);
        }
        let is_converging = matches!(self.state, State::Converging(_));
        if is_converging && is_idle && !is_lossy {
            return;
        }
        if is_converging {
            // Caches answer at random. The backlog at the producer's link then varies as much as the whole
            // queue does.
            measured.backlog = self.backlog + settings.gain * (measured.backlog - self.backlog);
        }
        self.rate_before = self.rate;
        (self.rate, self.backlog) = (measured.rate, measured.backlog);
        let is_heavy = measured.backlog > settings.eta();
        let is_old = is_converging && self.has_expired(now, 1.0, settings);
        match self.state {
            State::Filling(_) | State::Converging(_) if (is_heavy || is_old) && now >= self.drains_from => {
                self.full = Some(measured.rate);
                self.drain(now, next_number, self.has_expired(now, DRAINED, settings), settings);
            }
            State::Filling(zigzag) => self.go_on_filling(now, zigzag, &measured, is_lossy, settings),
            State::Converging(law) => self.converge(now, law, &measured, is_lossy, settings),
            State::Probing(_) | State::Draining(_) => {}
        }
    }

    /// Returns whether less than half of u_r was used, in this cycle or in the previous one, whose answers
    /// arrive in this one. Then x_r is the application's demand, not the path's capacity.
    fn is_idle(&mut self, now: Time) -> bool {
        let allowed = self.requested * now.since(self.estimation.began()).as_secs_f64();
        // At low rates one Interest more or less is not significant.
        let is_idle = f64::from(core::mem::take(&mut self.sent)) + 1.0 < 0.5 * allowed;
        core::mem::replace(&mut self.was_idle, is_idle) || is_idle
    }

    /// Handles a cycle without Data. It shows no rate: the application paused, or the path is cut. If
    /// Interests were lost, the smallest rate probes for the path.
    fn on_silence(&mut self, is_lossy: bool, settings: &Settings) {
        if is_lossy && matches!(self.state, State::Filling(_) | State::Converging(_)) {
            self.resumes_at.get_or_insert(AFTER_SILENCE * self.rate);
            self.request(settings.least_rate, settings);
        }
    }

    /// Returns whether no Data came for longer than the usual gap of this sub-flow. Then a new cycle begins,
    /// because the earlier Data do not show the present rate.
    fn has_paused(&self, now: Time) -> bool {
        let longest_gap = (self.cycle * 2).max(self.interval * 2);
        matches!(self.state, State::Filling(_) | State::Converging(_))
            && self.estimation.is_silent_for(now, longest_gap)
    }

    /// Returns ψ of this sub-flow.
    fn psi(&self, settings: &Settings) -> f64 {
        settings.psi.min(PSI_PART * self.set_point)
    }

    /// Returns whether it uses the bottleneck without having packets queued there.
    fn is_underused(&self, settings: &Settings) -> bool {
        matches!(self.state, State::Filling(_)) && self.backlog < self.psi(settings)
    }

    fn go_on_filling(
        &mut self,
        now: Time,
        zigzag: ZigZag,
        measured: &Measured,
        is_lossy: bool,
        settings: &Settings,
    ) {
        // Without a round-trip time, a rate that is not reached indicates a full bottleneck.
        let is_congested =
            measured.backlog >= self.psi(settings) || (measured.is_blind && zigzag.exceeds(measured));
        let next = zigzag.next(measured, is_congested, &self.growth(settings));
        match next.filter(|_| !is_lossy) {
            Some(next) => {
                self.state = State::Filling(next);
                self.request(next.rate(), settings);
            }
            None => {
                self.full = Some(measured.rate);
                self.state = State::Converging(Convergence::new(now, measured.backlog));
                self.request(measured.rate, settings);
            }
        }
    }

    fn converge(
        &mut self,
        now: Time,
        mut law: Convergence,
        measured: &Measured,
        is_lossy: bool,
        settings: &Settings,
    ) {
        if !is_lossy && !measured.is_blind && measured.backlog < self.psi(settings) {
            return self.fill(now, self.requested, settings);
        }
        self.full = Some(measured.rate);
        let period = self.cycle;
        let unit = match settings.rho_unit {
            RhoUnit::Second => 1.0,
            RhoUnit::Cycle => 1.0 / period.as_secs_f64(),
        };
        let aim = Aim { set_point: self.set_point, period, periods: settings.periods, unit };
        let rate = law.next(now, measured, is_lossy, &aim);
        self.state = State::Converging(law);
        if let Some(rate) = rate {
            self.request(rate, settings);
        }
    }
}
