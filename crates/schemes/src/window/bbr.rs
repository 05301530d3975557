//! `bbr`: bottleneck bandwidth and round-trip propagation time, version 1.
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion
//! Control", ACM Queue 14 (5), 2016, in the detail of draft-cardwell-iccrg-bbr-congestion-control-00,
//! over NDN. Names are the draft's.
//!
//! ```text
//!              three rounds with less       pending          10 s without a
//!              than 25 % more bandwidth      ≤ BDP            lower min_rtt
//!   STARTUP -------------------------> DRAIN ------> PROBE_BW ------------> PROBE_RTT
//!   gain 2/ln 2                     gain ln 2/2     1.25, 0.75, six of 1    W = 4 for 200 ms and a round
//!                                                      ^                        |
//!                                                      +------------------------+
//!   Interests paced at gain·bandwidth, pending ≤ gain·bandwidth·min_rtt
//! ```
//!
//! - bandwidth: the largest of the last ten rounds' delivery rates. A delivery rate is what came since the
//!   Interest was sent, by the time that took, or that it took to send it, whichever is longer.
//! - min_rtt: the shortest round trip of the last 10 s.
//!
//! # Deviations from the article
//! 1. Rates are those of Data on the wire; W counts Interests, of Data of the expected size. There is no
//!    send quantum; the window has three Data more than the BDP, as with a quantum of one.
//! 2. A loss is no more than a reason for packet conservation: W falls to what is pending and one, and
//!    grows by one with each Data back to its target. There is no other recovery, since nothing tells a
//!    loss but its own timeout.
//! 3. An Interest leaves late by more than its pace if the application has nothing to ask for. That is how
//!    the law knows that a sample tells of the application, not of the network.
//! 4. A mark is no sign: version 1 knows none.
//! 5. An Interest counts as lost when RTO is over and a window's worth of Data could have come at the bandwidth. Where
//!    a Data takes 64 ms (8 kB at 1 Mb/s) the queue of a phase of gain 1.25 is longer than what RTO leaves for
//!    variance, and with RTO alone each such phase would have Interests sent again whose Data were on their way.
//!
//! The variant `port` is what the QSCCP authors made of it for NDN (ndn-tools, bbr-client): bandwidth and
//! min_rtt never expire, STARTUP ends with the first sample that is not above all before, W is 2.885·BDP
//! throughout, a phase lasts a min_rtt, and the round trip is probed every 10 s for the longer of min_rtt
//! and 200 ms, with an Interest each 250 ms. Two of its faults are mended: it compares pending Interests
//! with a BDP in bytes, so that its window limits nothing; and its PROBE_RTT takes the shorter of the
//! two times, against its own comment.

use weir_core::params::{Parameter, ParameterKind, Params, Variant};
use weir_core::scheme::{DataReceived, LossEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::{
    Bounds, Guard, LARGEST_WINDOW, Reaction, Signs, WindowLaw, WindowScheme, initial_window, min_window,
};
use crate::registry::Entry;

/// 2/ln 2: the least gain that doubles the sending rate each round.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
/// Window gain of PROBE_BW.
const STEADY_GAIN: f64 = 2.0;
/// Pacing gains of the phases of PROBE_BW.
const PHASES: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// STARTUP ends after so many rounds that do not bring so much more.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// RTpropFilterLen, and ProbeRTTDuration.
const MIN_RTT_LASTS: Span = Span::from_secs(10);
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// BBRMinPipeCwnd.
const PROBE_RTT_WINDOW: f64 = 4.0;
/// `port`: between two Interests of PROBE_RTT.
const PORT_PROBE_INTERVAL: Span = Span::from_millis(250);
/// Data above the BDP, so that what waits at either end does not stop the flow.
const QUANTA: f64 = 3.0;
/// A bandwidth that is falsely small makes nobody wait for longer.
const LONGEST_OWN_WAIT: Span = Span::from_secs(10);
/// A later Interest is not a timer's fault, but its application's.
const LATE: Span = Span::from_millis(1);

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "bbr",
    title: "BBR version 1 over NDN: pace by bandwidth and round-trip time",
    citation: "N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, BBR: Congestion-Based Congestion \
               Control, ACM Queue 14 (5), 2016",
    parameters: &[
        Parameter {
            key: "variant",
            kind: ParameterKind::Variant(&[
                Variant { name: "article", defaults: &[] },
                Variant { name: "port", defaults: &[("initial_window", "1")] },
            ]),
            default: "article",
            meaning: "the article's version 1, or the QSCCP authors' port to NDN",
            from: "paper: Cardwell et al.; files: ndn-tools, bbr-client",
        },
        initial_window("10", "paper: RFC 6928, InitialCwnd of the draft"),
        min_window("4", "paper: Cardwell et al., BBRMinPipeCwnd of the draft"),
    ],
    build: |params| Box::new(WindowScheme::<Bbr> { law: Settings::new(params), reaction: REACTION }),
};

/// Losses only, and packet conservation once a round trip.
const REACTION: Reaction = Reaction {
    signs: Signs { marks: false, losses: true },
    guard: Guard { marks: true, losses: true, add_rtt: 0.0 },
    min_rto: Span::ZERO,
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    is_port: bool,
    bounds: Bounds,
}

impl Settings {
    fn new(params: &Params) -> Settings {
        Settings { is_port: params.text("variant") == "port", bounds: Bounds::new(params) }
    }

    /// Version 1.
    pub(crate) fn article(bounds: Bounds) -> Settings {
        Settings { is_port: false, bounds }
    }
}

/// What is written down of an Interest when it leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    /// Bytes delivered until then, and when the last of them came.
    delivered: u64,
    delivered_at: Time,
    /// When that Interest left whose Data came last.
    first_sent_at: Time,
    sent_at: Time,
    /// The application had less to ask for than the law would have let go.
    is_limited: bool,
}

/// The sendings whose Data may come: a place each, and a generation to tell late Data by.
#[derive(Debug, Default)]
struct Sendings {
    places: Vec<(u16, Option<Sending>)>,
    free: Vec<u32>,
}

/// A tag is a place in its lower bits and a generation in the upper ones.
const PLACE_BITS: u32 = 20;
const NO_TAG: u32 = u32::MAX;

impl Sendings {
    fn insert(&mut self, sending: Sending) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push((0, None));
            self.places.len() as u32 - 1
        });
        if place >= (1 << PLACE_BITS) - 1 {
            // More than a window can be: an application that does not listen.
            self.places.pop();
            return NO_TAG;
        }
        let (generation, kept) = &mut self.places[place as usize];
        *generation = (*generation + 1) & 0xFFF;
        *kept = Some(sending);
        u32::from(*generation) << PLACE_BITS | place
    }

    fn take(&mut self, tag: u32) -> Option<Sending> {
        let place = tag & ((1 << PLACE_BITS) - 1);
        let (generation, kept) = self.places.get_mut(place as usize)?;
        if u32::from(*generation) != tag >> PLACE_BITS {
            return None;
        }
        let sending = kept.take()?;
        self.free.push(place);
        Some(sending)
    }
}

/// BtlBw: the largest sample of the last ten rounds, bytes a second. Rounds without samples do not
/// count: the filter ages only when something takes the place of what it forgets.
#[derive(Debug, Default)]
struct BandwidthFilter {
    best_of: [f64; 10],
    round: u64,
    best: f64,
}

impl BandwidthFilter {
    fn add(&mut self, round: u64, sample: f64) {
        let rounds = self.best_of.len() as u64;
        if round != self.round {
            let passed = (round - self.round).min(rounds);
            for past in 0..passed {
                self.best_of[((round - past) % rounds) as usize] = 0.0;
            }
            self.round = round;
        }
        let slot = &mut self.best_of[(round % rounds) as usize];
        *slot = slot.max(sample);
        self.best = self.best_of.iter().copied().fold(0.0, f64::max);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    /// In this phase, since this time.
    ProbeBandwidth(usize, Time),
    /// Until this time, once W has fallen; since which round.
    ProbeRtt(Option<(Time, u64)>),
}

/// The law.
#[derive(Debug)]
pub(crate) struct Bbr {
    settings: Settings,
    mode: Mode,
    sendings: Sendings,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    bandwidth: BandwidthFilter,
    /// The shortest round trip, and when it was measured.
    min_rtt: Option<(Span, Time)>,
    /// Rounds so far; the next begins with Data of an Interest sent after so many bytes were delivered.
    round: u64,
    round_from: u64,
    /// The bandwidth that STARTUP has to beat, and rounds that did not.
    full_bandwidth: f64,
    full_rounds: u32,
    /// Bytes of a Data.
    size: f64,
    window: f64,
    /// W before PROBE_RTT.
    earlier_window: f64,
}

impl Bbr {
    /// BBR.filled_pipe
    fn is_filled(&self) -> bool {
        self.full_rounds >= FULL_ROUNDS
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBandwidth(phase, _) => PHASES[phase],
            Mode::ProbeRtt(_) => 1.0,
        }
    }

    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::ProbeBandwidth(..) if !self.settings.is_port => STEADY_GAIN,
            _ => HIGH_GAIN,
        }
    }

    /// BDP, packets; `None` before there are samples of both.
    fn bdp(&self) -> Option<f64> {
        let (rtt, _) = self.min_rtt?;
        let packets = self.bandwidth.best * rtt.as_secs_f64() / self.size;
        (packets.is_finite() && packets > 0.0).then_some(packets)
    }

    /// The delivery rate that a Data tells of, bytes a second.
    fn sample(&mut self, sending: &Sending, now: Time) -> Option<f64> {
        let took = now.since(sending.delivered_at).max(sending.sent_at.since(sending.first_sent_at));
        self.first_sent_at = sending.sent_at;
        // Shorter than a round trip is only what answers an earlier sending.
        if took == Span::ZERO || self.min_rtt.is_some_and(|(rtt, _)| took < rtt) {
            return None;
        }
        Some((self.delivered - sending.delivered) as f64 / took.as_secs_f64())
    }

    /// Takes a delivery rate in; whether a round began.
    fn update_bandwidth(&mut self, sending: &Sending, now: Time) -> bool {
        let begins = sending.delivered >= self.round_from;
        if begins {
            self.round_from = self.delivered;
            self.round += 1;
        }
        let Some(rate) = self.sample(sending, now) else { return begins };
        if self.settings.is_port {
            if rate > self.bandwidth.best {
                self.bandwidth.best = rate;
            } else if self.mode == Mode::Startup {
                self.full_rounds = FULL_ROUNDS;
            }
        } else if !sending.is_limited || rate >= self.bandwidth.best {
            self.bandwidth.add(self.round, rate);
        }
        begins
    }

    /// BBRCheckFullPipe
    fn check_full_pipe(&mut self) {
        if self.bandwidth.best >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.best;
            self.full_rounds = 0;
        } else {
            self.full_rounds += 1;
        }
    }

    /// BBRUpdateRTprop; whether the round trip has to be probed.
    fn update_min_rtt(&mut self, rtt: Option<Span>, now: Time) -> bool {
        let Some((least, at)) = self.min_rtt else {
            self.min_rtt = rtt.map(|rtt| (rtt, now));
            return false;
        };
        let is_old = now.since(at) > MIN_RTT_LASTS;
        let forgets = is_old && !self.settings.is_port;
        if let Some(rtt) = rtt.filter(|rtt| *rtt <= least || forgets) {
            self.min_rtt = Some((rtt, now));
        }
        is_old
    }

    fn enter_probe_bandwidth(&mut self, now: Time, phase: usize) {
        self.mode = Mode::ProbeBandwidth(phase, now);
    }

    /// A phase of PROBE_BW that is not the one of gain 3/4.
    fn first_phase(&self, ev: &mut DataReceived<'_>) -> usize {
        if self.settings.is_port {
            return 0;
        }
        match ev.random.below(PHASES.len() as u32 - 1) {
            0 => 0,
            phase => phase as usize + 1,
        }
    }

    /// BBRIsNextCyclePhase
    fn is_phase_over(&self, phase: usize, since: Time, now: Time, pending: u32) -> bool {
        let lasted = self.min_rtt.is_some_and(|(rtt, _)| now.since(since) > rtt);
        let bdp = self.bdp().unwrap_or(0.0);
        let gain = PHASES[phase];
        if self.settings.is_port || gain == 1.0 {
            lasted
        } else if gain > 1.0 {
            // Until what it probes with is on its way; a loss cuts W, and is as good.
            lasted && (f64::from(pending) + 1.0 >= gain * bdp || self.window < gain * bdp)
        } else {
            lasted || f64::from(pending) <= bdp
        }
    }

    fn advance(&mut self, ev: &mut DataReceived<'_>) {
        if self.mode == Mode::Startup && self.is_filled() {
            self.mode = Mode::Drain;
        }
        match self.mode {
            Mode::Drain if self.bdp().is_some_and(|bdp| f64::from(ev.pending) <= bdp) => {
                let phase = self.first_phase(ev);
                self.enter_probe_bandwidth(ev.now, phase);
            }
            Mode::ProbeBandwidth(phase, since) if self.is_phase_over(phase, since, ev.now, ev.pending) => {
                self.enter_probe_bandwidth(ev.now, (phase + 1) % PHASES.len());
            }
            _ => {}
        }
    }

    /// BBRCheckProbeRTT
    fn probe_rtt(&mut self, is_due: bool, ev: &mut DataReceived<'_>) {
        if is_due && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.mode = Mode::ProbeRtt(None);
            self.earlier_window = self.window;
        }
        match self.mode {
            Mode::ProbeRtt(None) if f64::from(ev.pending) <= PROBE_RTT_WINDOW => {
                let least = self.min_rtt.map_or(Span::ZERO, |(rtt, _)| rtt);
                let lasts = if self.settings.is_port { PROBE_RTT_LASTS.max(least) } else { PROBE_RTT_LASTS };
                self.round_from = self.delivered;
                self.mode = Mode::ProbeRtt(Some((ev.now + lasts, self.round)));
            }
            Mode::ProbeRtt(Some((until, round))) if ev.now > until && self.round > round => {
                if let Some((_, at)) = &mut self.min_rtt {
                    *at = ev.now;
                }
                self.window = self.window.max(self.earlier_window);
                if self.is_filled() {
                    let phase = self.first_phase(ev);
                    self.enter_probe_bandwidth(ev.now, phase);
                } else {
                    self.mode = Mode::Startup;
                }
            }
            _ => {}
        }
    }

    /// BBRSetCwnd
    fn set_window(&mut self) {
        let bounds = self.settings.bounds;
        let target = self.bdp().map_or(LARGEST_WINDOW, |bdp| self.window_gain() * bdp + QUANTA);
        if self.is_filled() {
            self.window = (self.window + 1.0).min(target);
        } else if self.window < target {
            self.window += 1.0;
        }
        if let Mode::ProbeRtt(_) = self.mode {
            self.window = self.window.min(PROBE_RTT_WINDOW);
        }
        self.window = bounds.clamp(self.window);
    }
}

impl WindowLaw for Bbr {
    type Settings = Settings;

    fn new(settings: Settings) -> Bbr {
        Bbr {
            settings,
            mode: Mode::Startup,
            sendings: Sendings::default(),
            delivered: 0,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            bandwidth: BandwidthFilter::default(),
            min_rtt: None,
            round: 0,
            round_from: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            size: 0.0,
            window: settings.bounds.initial,
            earlier_window: settings.bounds.initial,
        }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self) -> Option<Rate> {
        if self.bandwidth.best == 0.0 {
            return None;
        }
        if self.settings.is_port && matches!(self.mode, Mode::ProbeRtt(_)) {
            let size = Bytes::new(self.size as u64);
            return Some(Rate::from_bps_f64(size.bits() as f64 / PORT_PROBE_INTERVAL.as_secs_f64()));
        }
        Some(Rate::from_bps_f64((8.0 * self.pacing_gain() * self.bandwidth.best).max(1.0)))
    }

    /// A window's worth of Data at the bandwidth: the queue that it makes itself while it probes.
    fn longest_wait(&self) -> Span {
        if self.settings.is_port || self.bandwidth.best == 0.0 {
            return Span::ZERO;
        }
        Span::from_secs_f64(self.window * self.size / self.bandwidth.best).min(LONGEST_OWN_WAIT)
    }

    fn on_send(&mut self, ev: &SendEvent<'_>, late: Span) -> u32 {
        if ev.pending == 0 {
            self.first_sent_at = ev.now;
            self.delivered_at = ev.now;
        }
        self.sendings.insert(Sending {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: ev.now,
            is_limited: late > LATE,
        })
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.size = ev.expected_size.as_u64().max(1) as f64;
        self.delivered += ev.data.wire_len();
        self.delivered_at = ev.now;
        let sending = self.sendings.take(ev.tag);
        let begins = sending.is_some_and(|sending| self.update_bandwidth(&sending, ev.now));
        let is_limited = sending.is_some_and(|sending| sending.is_limited);
        if begins && !self.is_filled() && !is_limited && !self.settings.is_port {
            self.check_full_pipe();
        }
        self.advance(ev);
        let is_due = self.update_min_rtt(ev.rtt, ev.now);
        self.probe_rtt(is_due, ev);
        self.set_window();
    }

    fn on_loss(&mut self, ev: &LossEvent<'_>) {
        self.sendings.take(ev.tag);
    }

    /// All is said in `on_data`.
    fn increase(&mut self, _ev: &DataReceived<'_>) {}

    /// Packet conservation.
    fn decrease(&mut self, _now: Time, pending: u32) {
        self.window = self.settings.bounds.clamp(self.window.min(f64::from(pending) + 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::WindowFlow;
    use super::super::pipe::{Pipe, Watched, article, variant};
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use weir_core::consumer::Source;

    type Flow = Rc<RefCell<WindowFlow<Bbr>>>;

    fn flow(params: &Params) -> Flow {
        Rc::new(RefCell::new(WindowFlow::new(Settings::new(params), REACTION)))
    }

    fn run(flow: &Flow, pipe: Pipe, secs: u64) -> super::super::pipe::Outcome {
        pipe.run(Box::new(Watched(flow.clone())), secs)
    }

    fn link(mbps: u64, delay_ms: u64) -> Pipe {
        let (rate, delay) = (Some(Rate::from_mbps(mbps)), Span::from_millis(delay_ms));
        Pipe { rate, delay, limit: 1000, ..Pipe::default() }
    }

    #[test]
    fn bandwidth_and_round_trip_are_known_within_a_twentieth_on_a_steady_link() {
        for (mbps, delay_ms) in [(10, 100), (5, 20), (30, 200), (100, 40)] {
            for secs in [5, 30] {
                let flow = flow(&article(&ENTRY));
                let got = run(&flow, link(mbps, delay_ms), secs);
                let flow = flow.borrow();
                let bandwidth = 8.0 * flow.law.bandwidth.best / 1e6;
                let rtt = flow.law.min_rtt.unwrap().0.as_millis_f64();
                let says = format!("{mbps} Mb/s, {delay_ms} ms, {secs} s: {bandwidth} Mb/s, {rtt} ms");
                assert!((bandwidth / mbps as f64 - 1.0).abs() < 0.05, "{says}");
                // A Data is on the link for a while, too: 8.9 kbit of it.
                let least = delay_ms as f64 + 8.9 / mbps as f64;
                assert!((rtt / least - 1.0).abs() < 0.05, "{says}");
                let used = got.bits as f64 / (mbps as f64 * 1e6 * secs as f64);
                assert!(secs < 10 || used > 0.92, "{says}: {used} used");
            }
        }
    }

    #[test]
    fn it_starts_drains_and_then_probes_the_bandwidth() {
        let flow = flow(&article(&ENTRY));
        run(&flow, link(10, 100), 2);
        let mode = flow.borrow().law.mode;
        assert!(!matches!(mode, Mode::Startup), "2 s are twenty round trips, or some of its own: {mode:?}");
        let flow = self::flow(&article(&ENTRY));
        let got = run(&flow, link(10, 100), 9);
        assert!(matches!(flow.borrow().law.mode, Mode::ProbeBandwidth(..)));
        // Startup fills a queue of up to (gain − 1)·BDP; in PROBE_BW W is two BDP and some.
        let after: Vec<f64> =
            got.windows.iter().filter(|(t, _)| t.as_secs_f64() > 3.0).map(|w| w.1).collect();
        let bdp = flow.borrow().law.bdp().unwrap();
        assert!(after.iter().all(|w| (w / bdp - 2.0).abs() < 0.2), "{bdp} {after:?}");
    }

    #[test]
    fn every_ten_seconds_the_round_trip_is_probed_with_four_packets() {
        let flow = flow(&article(&ENTRY));
        let got = run(&flow, link(10, 100), 45);
        let mut probes: Vec<f64> = Vec::new();
        for (time, window) in got.windows {
            let time = time.as_secs_f64();
            if window == 4.0 && probes.last().is_none_or(|last| time - last > 1.0) {
                probes.push(time);
            }
        }
        assert_eq!(probes.len(), 4, "{probes:?}");
        assert!(probes.windows(2).all(|pair| (pair[1] - pair[0] - 10.4).abs() < 0.4), "{probes:?}");
    }

    #[test]
    fn on_a_slow_path_its_own_queue_is_not_taken_for_loss() {
        // A Data takes 64 ms, as one of 8 kB does at 1 Mb/s.
        let slow = Pipe { rate: Some(Rate::from_bps(140_000)), delay: Span::from_millis(600), ..Pipe::default() };
        let got = run(&flow(&article(&ENTRY)), slow, 96);
        assert_eq!((got.lost, got.repeated), (0, 0));
        let used = got.bits as f64 / (140_000.0 * 96.0);
        assert!(used > 0.9, "{used}");
    }

    #[test]
    fn random_loss_costs_no_more_than_what_is_lost() {
        let flow = flow(&article(&ENTRY));
        let got = run(&flow, Pipe { loss: 0.01, ..link(10, 100) }, 60);
        let used = got.bits as f64 / (10e6 * 60.0);
        assert!(used > 0.9, "{used}");
    }

    #[test]
    fn what_an_application_asks_for_is_not_taken_for_the_bandwidth() {
        let flow = flow(&article(&ENTRY));
        let source = Source::Limited(Rate::from_mbps(1));
        run(&flow, Pipe { source, ..link(10, 100) }, 20);
        let law = &flow.borrow().law;
        assert!(
            law.mode != Mode::Drain && !law.is_filled(),
            "still in STARTUP, or probing from it: {:?}",
            law.mode
        );
    }

    #[test]
    fn the_port_finds_the_bandwidth_too_but_later() {
        let (article, port) = (flow(&article(&ENTRY)), flow(&variant(&ENTRY, "port")));
        let [article, port] = [article, port].map(|flow| {
            let early = run(&flow, link(10, 100), 5).bits as f64 / 50e6;
            (early, 8.0 * flow.borrow().law.bandwidth.best / 1e6)
        });
        assert!(article.0 > port.0, "{article:?} {port:?}");
        let flow = flow(&variant(&ENTRY, "port"));
        run(&flow, link(10, 100), 60);
        assert!((8.0 * flow.borrow().law.bandwidth.best / 1e7 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_late_data_of_a_place_that_is_used_again_tells_nothing() {
        let mut sendings = Sendings::default();
        let first = sendings.insert(Sending::default());
        assert!(sendings.take(first).is_some() && sendings.take(first).is_none());
        let second = sendings.insert(Sending::default());
        assert_eq!(second & 0xF_FFFF, first & 0xF_FFFF);
        assert!(sendings.take(first).is_none() && sendings.take(second).is_some());
        assert!(sendings.take(NO_TAG).is_none());
    }
}
