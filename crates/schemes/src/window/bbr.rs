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
//!   Interests paced at gain·bandwidth, pending ≤ gain·bandwidth·min_rtt + 3 quanta
//! ```
//!
//! - bandwidth: the largest delivery rate of the last ten rounds. A delivery rate is the bytes received since
//!   the Interest was sent, divided by that time, or by the time in which they were requested if that is
//!   longer.
//! - min_rtt: the shortest round trip of the last 10 s, the mean of all responders.
//! - A quantum is one packet below 1.2 Mb/s and two packets below 24 Mb/s. Above that it is the bytes that
//!   come in 1 ms: at least two packets, at most 64 kB. A packet is a Data, or has the size `unit`. Hosts and
//!   links may deliver this much at once, or late.
//!
//! # Deviations from the article
//! 1. Rates are of Data on the wire. W counts Interests for Data of the expected size, or by `unit` their
//!    packets. One Interest may be pending at any W. The send quantum affects the window, as in the draft,
//!    but Interests leave one by one. For W a quantum is at least a Data, because a part of a Data cannot
//!    leave. Whether a queue is drained is counted in packets.
//! 2. After a loss, at most once a window, W is the pending Interests plus one. Then W grows by one with each
//!    Data, up to its target. The draft's recovery differs: W is one packet after an RTO, falls by each lost
//!    packet, equals the pending packets for a round, and returns to its earlier value at the end. A phase of
//!    gain 1.25 ends early only if a loss has cut W below what it probes with. In the draft any loss ends it.
//! 3. An Interest that leaves later than its pace means that the application was idle. So its sample is one
//!    of the application, not of the network. In the draft, this holds for the samples of all packets that
//!    are pending then.
//! 4. A mark is not a congestion signal, because version 1 does not know marks.
//! 5. There is no pace before the first round trip: the first W leaves at once. The draft paces it as for a
//!    round trip of 1 ms, which is nearly the same.
//! 6. An Interest counts as lost when RTO is over and a window of Data could have come at the bandwidth. If a
//!    Data takes 64 ms (8 kB at 1 Mb/s), the queue of a phase of gain 1.25 is longer than the variance in
//!    RTO. With RTO alone each such phase would retransmit Interests whose Data are about to come.
//! 7. `startup_window`, `down`, `margin` and `probe_rtt` are of version 3, and their defaults those of
//!    version 1. With `startup_window`, the first STARTUP does not lose Data if the buffer holds a BDP and
//!    three quanta. The others are for hosts that are late: samples of the bandwidth are then too high, and
//!    the queue that this causes would stay. All other values are those of version 1.
//! 8. A quantum above 24 Mb/s is at least two packets. The draft has no such bound.
//! 9. While there is no sample of the round trip, W grows with each Data. In the draft it stays the initial
//!    window.
//! 10. With caches a flow has several responders (`core::responders`). By Little's law bandwidth times their mean round trip
//!     has to be pending. A Data from nearer than half of it gives no sample of the bandwidth and ends no round.
//!
//! The variant `port` is the QSCCP authors' version for NDN (ndn-tools, bbr-client):
//!
//! - Bandwidth and min_rtt never expire. Only Interests that were sent once give samples.
//! - STARTUP ends with the first sample that is not larger than all earlier ones.
//! - W is 2.885·BDP in all states. A phase lasts one min_rtt, and the first phase has gain 3/4.
//! - The round trip is probed 10 s after DRAIN and 10 s after each probe, for the longer of min_rtt and 200 ms, with an
//!   Interest each 250 ms.
//!
//! Three of its faults are corrected. The program compares pending Interests with a BDP in bytes, so its window limits
//! nothing. Its PROBE_RTT takes the shorter of the two times, contrary to its own comment. Its phases continue during
//! PROBE_RTT; here they start again.

use std::collections::VecDeque;

use weir_core::parameters;
use weir_core::responders::{Attribution, Responders};
use weir_core::seam::params::Variant;
use weir_core::seam::{DataReceived, LossEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::{
    Bounds, Configured, Congestion, Guard, LARGEST_WINDOW, Reaction, Recovery, Signs, Unit, WindowLaw,
    WindowScheme,
};
use crate::registry::Entry;

/// 2/ln 2: the smallest gain that doubles the sending rate each round.
const HIGH_GAIN: f64 = 2.0 / core::f64::consts::LN_2;
/// The window gain of PROBE_BW.
const STEADY_GAIN: f64 = 2.0;
/// The pacing gains of the phases of PROBE_BW.
const PHASES: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// STARTUP ends after this number of rounds in which the bandwidth grows by less than this factor.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// RTpropFilterLen, and ProbeRTTDuration.
const MIN_RTT_LASTS: Span = Span::from_secs(10);
const PROBE_RTT_LASTS: Span = Span::from_millis(200);
/// BBRMinPipeCwnd: two acknowledgements of TCP, each of two packets. Here it is as many Data.
pub(crate) const MIN_PIPE_WINDOW: f64 = 4.0;
const MIN_PIPE_DATA: f64 = 2.0;
/// `port`: the time between two Interests of PROBE_RTT.
const PORT_PROBE_INTERVAL: Span = Span::from_millis(250);
/// The number of quanta above the BDP, so that packets that wait at either end do not stop the flow.
const QUANTA: f64 = 3.0;
/// BBRSetSendQuantum: the paces below which a quantum is one packet and two packets, bytes a second; then the
/// time whose bytes are a quantum, s, and the largest quantum, bytes.
const SLOW: f64 = 1.2e6 / 8.0;
const FAST: f64 = 24e6 / 8.0;
const QUANTUM_LASTS: f64 = 1e-3;
const MOST_OF_A_QUANTUM: f64 = 65_536.0;
/// The longest wait, even if the estimated bandwidth is too small.
const LONGEST_OWN_WAIT: Span = Span::from_secs(10);
/// An Interest that is late by more than this is late because of its application, and not of a timer.
const LATE: Span = Span::from_millis(1);

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "bbr",
    title: "BBR version 1 over NDN: pace by bandwidth and round-trip time",
    citation: "N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, BBR: Congestion-Based Congestion \
               Control, ACM Queue 14 (5), 2016",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| {
        let Parameters { law, unit } = Parameters::new(params);
        Box::new(WindowScheme::<Bbr> { law, reaction: Reaction { unit, ..REACTION } })
    },
};

/// The name of the variant that is a port.
const PORT: &str = "port";
const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant { name: PORT, defaults: &[("initial_window", "1"), ("min_window", "1")] },
];

parameters! {
    /// The parameters of the scheme.
    struct Parameters {
        law: Settings = group;
        unit: Unit = group;
    }
}

parameters! {
    /// The parameters of the law.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Settings {
        /// the article's version 1, or the QSCCP authors' port to NDN
        is_port: bool = variant("variant", VARIANTS) default "article"
            from "paper: Cardwell et al.; files: ndn-tools, bbr-client" as |name| name == PORT;
        bounds: Bounds = group {
            initial_window default "10" from "paper: RFC 6928, InitialCwnd of the draft";
            min_window default "4" from "paper: Cardwell et al., BBRMinPipeCwnd of the draft";
        };
        /// BDPs that may be pending in STARTUP and DRAIN
        startup_window: f64 = number("startup_window", 1.0..=10.0) default "2.8853900817779268"
            applications "2"
            from "paper: Cardwell et al., 2/ln 2; `weir get` has 2: draft-ietf-ccwg-bbr, BBR.DefaultCwndGain, \
                  with which a bottleneck that buffers a BDP and three quanta loses nothing";
        /// how long the phase of gain 3/4 may last, min_rtt; it ends earlier when BDP and three quanta are pending
        down: f64 = number("down", 1.0..=100.0) default "1" applications "4"
            from "paper: Cardwell et al.; `weir get` has 4, in which the largest queue of W drains, a BDP: \
                  draft-ietf-ccwg-bbr, BBRIsTimeToCruise, has no limit";
        /// part by which the pace is below the bandwidth
        margin: f64 = number("margin", 0.0..=0.5) default "0" applications "0.01"
            from "paper: Cardwell et al.; `weir get` has 0.01: draft-ietf-ccwg-bbr, BBR.PacingMarginPercent, \
                  and Linux";
        /// part of the BDP that may be pending in PROBE_RTT; at least four packets, and at least two Data
        probe_rtt: f64 = number("probe_rtt", 0.0..=1.0) default "0" applications "0.5"
            from "paper: Cardwell et al., four packets; `weir get` has 0.5: draft-ietf-ccwg-bbr, \
                  BBR.ProbeRTTCwndGain";
    }
}

/// The congestion signals: losses only, at most once a window.
const REACTION: Reaction = Reaction {
    signs: Signs { marks: false, losses: true },
    guard: Guard { marks: true, losses: true, by: Recovery::Sending, add_rtt: 0.0 },
    min_rto: Span::ZERO,
    late_data_twice: false,
    unit: Unit::DATA,
    spread: 0.0,
};

impl Settings {
    /// Returns the settings of version 1.
    pub(crate) fn article(bounds: Bounds) -> Settings {
        let startup_window = HIGH_GAIN;
        Settings { is_port: false, bounds, startup_window, down: 1.0, margin: 0.0, probe_rtt: 0.0 }
    }

    /// Returns the part of the bandwidth that is used as the pace.
    fn paced(&self) -> f64 {
        1.0 - self.margin
    }
}

/// The record of an Interest, made when it is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    /// The bytes delivered until then, and the time at which the last of them came.
    delivered: u64,
    delivered_at: Time,
    /// The time at which the Interest of the latest Data left.
    first_sent_at: Time,
    sent_at: Time,
    /// Whether the application requested less than the law would have permitted.
    is_limited: bool,
}

/// The records of Interests whose Data may come, by their consecutive numbers.
#[derive(Debug, Default)]
struct Sendings {
    kept: VecDeque<Option<Sending>>,
    /// The number of the first record.
    first: u32,
}

impl Sendings {
    /// The largest number of records: the largest window.
    const MOST: usize = LARGEST_WINDOW as usize;

    fn insert(&mut self, number: u32, sending: Sending) {
        if self.kept.is_empty() {
            self.first = number;
        } else if self.kept.len() == Sendings::MOST {
            self.kept.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        self.kept.push_back(Some(sending));
    }

    fn take(&mut self, number: u32) -> Option<Sending> {
        let sending = self.kept.get_mut(number.wrapping_sub(self.first) as usize)?.take();
        while let Some(None) = self.kept.front() {
            self.kept.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        sending
    }
}

/// BtlBw: the largest sample of the last ten rounds, bytes a second. Expired samples are removed when the
/// next sample comes.
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
    /// The phase, and the time since which it lasts.
    ProbeBandwidth(usize, Time),
    /// The end, known once W has fallen, and the round at that time.
    ProbeRtt(Option<(Time, u64)>),
}

/// The state of the law.
#[derive(Debug)]
pub(crate) struct Bbr {
    settings: Settings,
    mode: Mode,
    sendings: Sendings,
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    bandwidth: BandwidthFilter,
    responders: Responders,
    /// The shortest round trip, the mean of all responders.
    min_rtt: Option<Span>,
    /// The number of rounds so far. The next one begins with Data of an Interest sent after this many bytes
    /// were delivered.
    round: u64,
    round_from: u64,
    /// The bandwidth that STARTUP has to exceed, and the number of rounds that did not.
    full_bandwidth: f64,
    full_rounds: u32,
    /// The bytes of a packet, and the packets of a Data.
    size: f64,
    packets: f64,
    window: f64,
    /// W before PROBE_RTT.
    earlier_window: f64,
    /// The pace of Interests, bytes of Data a second; 0 before the first round trip.
    pace: f64,
    /// C.app_limited: Interests that leave before this many bytes are delivered met the window of PROBE_RTT.
    limited_until: Option<u64>,
    /// BBR.idle_restart: whether the application began to request again after nothing was pending.
    is_restart: bool,
    /// `port`: the time of the last probe of the round trip, or of the end of DRAIN.
    probed_at: Time,
}

impl Bbr {
    /// BBRInflight: returns W, packets, that a rate equal to the bandwidth fills with this gain.
    fn inflight(&self, gain: f64) -> Option<f64> {
        Some(gain * self.bdp()? + QUANTA * self.quantum())
    }

    /// Returns BBR.send_quantum, packets. The authors' port has no quanta: it is one packet.
    fn quantum(&self) -> f64 {
        if self.settings.is_port || self.pace < SLOW {
            1.0
        } else if self.pace < FAST {
            2.0
        } else {
            ((self.pace * QUANTUM_LASTS).min(MOST_OF_A_QUANTUM) / self.size).max(2.0)
        }
    }

    /// Returns the target of W, packets: three quanta above the BDP. A quantum is at least a Data, because a
    /// part of a Data cannot leave.
    fn target(&self) -> f64 {
        let bdp = self.bdp().map_or(LARGEST_WINDOW, |bdp| self.window_gain() * bdp);
        bdp + QUANTA * self.quantum().max(self.packets)
    }

    /// Returns the size of a Data, bytes.
    fn data_size(&self) -> f64 {
        self.size * self.packets
    }

    /// Returns the number of pending packets.
    fn pending(&self, ev: &DataReceived<'_>) -> f64 {
        f64::from(ev.pending) * self.packets
    }

    /// Returns the packets of the whole Data that fit in W.
    fn whole_window(&self) -> f64 {
        (self.window / self.packets).floor() * self.packets
    }

    /// Returns BBR.filled_pipe.
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
            _ if self.settings.is_port => HIGH_GAIN,
            Mode::Startup | Mode::Drain => self.settings.startup_window,
            Mode::ProbeBandwidth(..) => STEADY_GAIN,
            Mode::ProbeRtt(_) => HIGH_GAIN,
        }
    }

    /// Returns the BDP, packets; `None` before there are samples of both factors.
    fn bdp(&self) -> Option<f64> {
        let packets = self.bandwidth.best * self.min_rtt?.as_secs_f64() / self.size;
        (packets.is_finite() && packets > 0.0).then_some(packets)
    }

    /// Returns the delivery rate that a Data gives, bytes a second, if its round trip is at least `least`.
    fn sample(&mut self, sending: &Sending, now: Time, least: Option<Span>) -> Option<f64> {
        let took = now.since(sending.delivered_at).max(sending.sent_at.since(sending.first_sent_at));
        self.first_sent_at = sending.sent_at;
        // An answer in less than a round trip belongs to an earlier transmission.
        if took == Span::ZERO || least.is_some_and(|rtt| took < rtt) {
            return None;
        }
        Some((self.delivered - sending.delivered) as f64 / took.as_secs_f64())
    }

    /// Adds a delivery rate. Returns whether a round began. A Data from a near cache gives no rate and begins
    /// no round.
    fn update_bandwidth(&mut self, sending: &Sending, answer: Option<Attribution>, now: Time) -> bool {
        let base = answer.map(|answer| answer.base).or(self.min_rtt);
        if base.zip(self.min_rtt).is_some_and(|(base, mean)| base * 2 < mean) {
            return false;
        }
        let begins = sending.delivered >= self.round_from;
        if begins {
            self.round_from = self.delivered;
            self.round += 1;
        }
        let Some(rate) = self.sample(sending, now, base.min(self.min_rtt)) else { return begins };
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

    fn enter_probe_bandwidth(&mut self, now: Time, phase: usize) {
        self.mode = Mode::ProbeBandwidth(phase, now);
    }

    /// Returns a random phase of PROBE_BW other than that of gain 3/4; for `port`, that one.
    fn first_phase(&self, ev: &mut DataReceived<'_>) -> usize {
        if self.settings.is_port {
            return 1;
        }
        match ev.random.below(PHASES.len() as u32 - 1) {
            0 => 0,
            phase => phase as usize + 1,
        }
    }

    /// BBRIsNextCyclePhase
    fn is_phase_over(&self, phase: usize, since: Time, ev: &DataReceived<'_>) -> bool {
        let lasted = self.min_rtt.is_some_and(|rtt| ev.now.since(since) > rtt);
        let were_pending = (f64::from(ev.pending) + 1.0) * self.packets;
        let gain = PHASES[phase];
        let inflight = self.inflight(gain.max(1.0)).unwrap_or(0.0);
        if self.settings.is_port || gain == 1.0 {
            lasted
        } else if gain > 1.0 {
            // The phase lasts until the window it probes with is pending. That will not happen if a loss has
            // cut W, or if W is only a few packets.
            lasted && (were_pending >= inflight || self.whole_window() < inflight)
        } else {
            let most = self.min_rtt.map_or(Span::ZERO, |rtt| rtt.scale(self.settings.down));
            ev.now.since(since) > most || were_pending <= inflight
        }
    }

    fn advance(&mut self, ev: &mut DataReceived<'_>) {
        if self.mode == Mode::Startup && self.is_filled() {
            self.mode = Mode::Drain;
        }
        match self.mode {
            Mode::Drain if self.inflight(1.0).is_some_and(|full| self.pending(ev) <= full) => {
                let phase = self.first_phase(ev);
                self.probed_at = ev.now;
                self.enter_probe_bandwidth(ev.now, phase);
            }
            Mode::ProbeBandwidth(phase, since) if self.is_phase_over(phase, since, ev) => {
                self.enter_probe_bandwidth(ev.now, (phase + 1) % PHASES.len());
            }
            _ => {}
        }
    }

    /// BBRCheckProbeRTT. `is_old` is whether min_rtt may be out of date.
    fn probe_rtt(&mut self, is_old: bool, ev: &mut DataReceived<'_>) {
        let is_due = if self.settings.is_port {
            matches!(self.mode, Mode::ProbeBandwidth(..)) && ev.now.since(self.probed_at) > MIN_RTT_LASTS
        } else {
            is_old && !self.is_restart
        };
        if is_due && !matches!(self.mode, Mode::ProbeRtt(_)) {
            self.mode = Mode::ProbeRtt(None);
            self.earlier_window = self.window;
        }
        if let Mode::ProbeRtt(_) = self.mode {
            self.limited_until = Some(self.delivered + u64::from(ev.pending) * self.data_size() as u64);
        }
        match self.mode {
            Mode::ProbeRtt(None) if self.pending(ev) <= self.probe_rtt_window() => {
                let least = self.min_rtt.unwrap_or_default();
                let lasts = if self.settings.is_port { PROBE_RTT_LASTS.max(least) } else { PROBE_RTT_LASTS };
                self.round_from = self.delivered;
                self.mode = Mode::ProbeRtt(Some((ev.now + lasts, self.round)));
            }
            Mode::ProbeRtt(Some((until, round)))
                if ev.now > until && (self.settings.is_port || self.round > round) =>
            {
                self.leave_probe_rtt(ev);
            }
            _ => {}
        }
    }

    /// Returns W in PROBE_RTT, packets.
    fn probe_rtt_window(&self) -> f64 {
        let least = MIN_PIPE_WINDOW.max(MIN_PIPE_DATA * self.packets).max(self.settings.bounds.least);
        least.max(self.settings.probe_rtt * self.bdp().unwrap_or(0.0))
    }

    fn leave_probe_rtt(&mut self, ev: &mut DataReceived<'_>) {
        self.responders.renew_bases(ev.now);
        self.probed_at = ev.now;
        self.window = self.window.max(self.earlier_window);
        if self.is_filled() {
            let phase = self.first_phase(ev);
            self.enter_probe_bandwidth(ev.now, phase);
        } else {
            self.mode = Mode::Startup;
        }
    }

    /// BBRHandleRestartFromIdle: Data after an idle time do not start PROBE_RTT, and Interests leave at the
    /// bandwidth itself.
    fn restart(&mut self, is_late: bool) {
        self.is_restart = is_late && !self.settings.is_port;
        if self.is_restart && matches!(self.mode, Mode::ProbeBandwidth(..)) {
            self.pace = self.bandwidth.best * self.settings.paced();
        }
    }

    /// BBRSetPacingRate, and BBRInitPacingRate before there is a pace. Until the pipe is filled, the pace
    /// only rises.
    fn set_pace(&mut self, rtt: Option<Span>) {
        if let Some(rtt) = rtt.filter(|rtt| self.pace == 0.0 && *rtt > Span::ZERO) {
            self.pace = HIGH_GAIN * self.settings.bounds.first() * self.size / rtt.as_secs_f64();
        }
        let rate = self.pacing_gain() * self.bandwidth.best * self.settings.paced();
        if rate > self.pace || self.settings.is_port || self.is_filled() {
            self.pace = rate;
        }
    }

    /// BBRSetCwnd
    fn set_window(&mut self) {
        let bounds = self.settings.bounds;
        let target = self.target();
        let is_beginning = (self.delivered as f64) < bounds.first() * self.size;
        if self.is_filled() {
            self.window = (self.window + self.packets).min(target);
        } else if self.window < target || is_beginning {
            self.window += self.packets;
        }
        if let Mode::ProbeRtt(_) = self.mode {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.window = bounds.clamp(self.window);
    }
}

impl Configured for Bbr {
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
            responders: if settings.is_port { Responders::as_one() } else { Responders::of_late() },
            min_rtt: None,
            round: 0,
            round_from: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            size: 0.0,
            packets: 1.0,
            window: settings.bounds.first(),
            earlier_window: settings.bounds.first(),
            pace: 0.0,
            limited_until: None,
            is_restart: false,
            probed_at: Time::ZERO,
        }
    }
}

impl WindowLaw for Bbr {
    fn window(&self) -> f64 {
        self.window
    }

    fn pacing(&self) -> Option<Rate> {
        if self.pace == 0.0 {
            return None;
        }
        if self.settings.is_port && matches!(self.mode, Mode::ProbeRtt(_)) {
            let size = Bytes::new(self.data_size() as u64);
            return Some(Rate::from_bps_f64(size.bits() as f64 / PORT_PROBE_INTERVAL.as_secs_f64()));
        }
        Some(Rate::from_bps_f64((8.0 * self.pace).max(1.0)))
    }

    /// Returns the time of a window of Data at the bandwidth: the law's own queue while it probes.
    fn longest_wait(&self) -> Span {
        if self.settings.is_port || self.bandwidth.best == 0.0 {
            return Span::ZERO;
        }
        Span::from_secs_f64(self.window.max(self.packets) * self.size / self.bandwidth.best)
            .min(LONGEST_OWN_WAIT)
    }

    fn on_send(&mut self, ev: &SendEvent<'_>, number: u32, late: Span) {
        let is_late = late > LATE;
        if ev.pending == 0 {
            self.first_sent_at = ev.now;
            self.delivered_at = ev.now;
            self.restart(is_late);
        }
        let sending = Sending {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            sent_at: ev.now,
            is_limited: is_late || self.limited_until.is_some_and(|until| self.delivered <= until),
        };
        self.sendings.insert(number, sending);
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>, packets: f64) {
        self.packets = packets;
        self.size = ev.expected_size.as_u64().max(1) as f64 / packets;
        self.delivered += ev.data.wire_len();
        self.delivered_at = ev.now;
        let answer = ev.rtt.map(|rtt| self.responders.sample(ev.now, rtt));
        self.min_rtt = self.responders.mean_base();
        let is_sample = ev.rtt.is_some() || !self.settings.is_port;
        let sending = self.sendings.take(ev.tag).filter(|_| is_sample);
        let begins = sending.is_some_and(|sending| self.update_bandwidth(&sending, answer, ev.now));
        let is_limited = sending.is_some_and(|sending| sending.is_limited);
        if begins && !self.is_filled() && !is_limited && !self.settings.is_port {
            self.check_full_pipe();
        }
        self.advance(ev);
        let is_old = answer.is_some_and(|answer| answer.was_old);
        self.probe_rtt(is_old, ev);
        self.is_restart = false;
        self.set_pace(ev.rtt);
        self.set_window();
    }

    fn on_loss(&mut self, ev: &LossEvent<'_>) {
        self.sendings.take(ev.tag);
    }

    /// `on_data` does everything.
    fn increase(&mut self, _ev: &DataReceived<'_>, _packets: f64) {}

    /// Sets W to the pending Interests plus one.
    fn decrease(&mut self, congestion: &Congestion) {
        let left = (f64::from(congestion.pending) + 1.0) * congestion.packets;
        self.window = self.settings.bounds.clamp(self.window.min(left));
    }
}

#[cfg(test)]
mod tests {
    use super::super::WindowFlow;
    use super::super::pipe::{FLOW, Pipe, article, variant};
    use super::*;
    use crate::watched::Watched;
    use weir_core::consumer::Source;
    use weir_core::seam::params::{Params, Value};

    type Flow = Watched<WindowFlow<Bbr>>;

    fn flow(params: &Params) -> Flow {
        Watched::new(WindowFlow::new(Settings::new(params), REACTION))
    }

    fn run(flow: &Flow, pipe: Pipe, secs: u64) -> super::super::pipe::Outcome {
        pipe.run(Box::new(flow.clone()), secs)
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
                let flow = flow.look();
                let bandwidth = 8.0 * flow.law.bandwidth.best / 1e6;
                let rtt = flow.law.min_rtt.unwrap().as_millis_f64();
                let says = format!("{mbps} Mb/s, {delay_ms} ms, {secs} s: {bandwidth} Mb/s, {rtt} ms");
                assert!((bandwidth / mbps as f64 - 1.0).abs() < 0.05, "{says}");
                // A Data of 8.9 kbit also takes time on the link.
                let least = delay_ms as f64 + 8.9 / mbps as f64;
                assert!((rtt / least - 1.0).abs() < 0.05, "{says}");
                let used = got.bits as f64 / (mbps as f64 * 1e6 * secs as f64);
                assert!(secs < 10 || used > 0.92, "{says}: {used} used");
            }
        }
    }

    /// Returns the times for which Data of 8 kB wait for the link, ms, after 4 s, sorted; and the used part
    /// of the link. Each Data is late by up to 1 ms.
    fn waits(mbps: u64, down: f64, margin: f64) -> (Vec<f64>, f64) {
        let unit = Value::Text("1448 B".to_owned());
        let (down, margin) = (Value::Float(down), Value::Float(margin));
        let given = [("unit", &unit), ("down", &down), ("margin", &margin)];
        let params = Params::resolve(ENTRY.parameters, given).unwrap();
        let pipe = Pipe { content: 8000, jitter: Span::from_millis(1), limit: 10_000, ..link(mbps, 20) };
        let got = pipe.run((ENTRY.build)(&params).flow_control(&FLOW), 30);
        let from = Time::ZERO + Span::from_secs(4);
        let late = got.waits.iter().filter(|(at, _)| *at > from);
        let mut waits: Vec<f64> = late.map(|(_, wait)| wait.as_millis_f64()).collect();
        waits.sort_by(f64::total_cmp);
        (waits, got.bits as f64 / (mbps as f64 * 30e6))
    }

    /// Late hosts make samples of the bandwidth too high.
    #[test]
    fn with_the_values_for_applications_a_queue_of_a_round_trip_drains() {
        for mbps in [10, 100] {
            let (waits, used) = waits(mbps, 4.0, 0.01);
            let most = waits[waits.len() * 95 / 100];
            assert!(most < 20.0, "{mbps} Mb/s: {most} ms");
            assert!(used > 0.95, "{mbps} Mb/s: {used} used");
            let (standing, _) = self::waits(mbps, 1.0, 0.0);
            let median = standing[standing.len() / 2];
            assert!(median > 20.0, "{mbps} Mb/s, version 1: {median} ms");
        }
    }

    /// With the value of `weir get`. With version 1's, most of a BDP is lost and sent again.
    #[test]
    fn startup_with_a_window_of_two_bdps_loses_nothing_where_the_buffer_holds_one() {
        // 100 Mb/s for 100 ms are 1116 Data of 1120 bytes. Three quanta at 2.885 times this rate are 97 Data.
        let pipe = Pipe { limit: 1250, early_loss: true, ..link(100, 100) };
        let lost = |window: f64| {
            let window = Value::Float(window);
            let params = Params::resolve(ENTRY.parameters, [("startup_window", &window)]).unwrap();
            run(&flow(&params), pipe, 4).lost
        };
        assert_eq!(lost(2.0), 0);
        let of_version_1 = lost(HIGH_GAIN);
        assert!(of_version_1 > 500, "{of_version_1}");
    }

    #[test]
    fn it_starts_drains_and_then_probes_the_bandwidth() {
        let flow = flow(&article(&ENTRY));
        run(&flow, link(10, 100), 2);
        let mode = flow.look().law.mode;
        assert!(!matches!(mode, Mode::Startup), "2 s are twenty round trips, or some of its own: {mode:?}");
        let flow = self::flow(&article(&ENTRY));
        let got = run(&flow, link(10, 100), 9);
        assert!(matches!(flow.look().law.mode, Mode::ProbeBandwidth(..)));
        // STARTUP fills a queue of up to (gain − 1)·BDP. In PROBE_BW, W is a little more than two BDP.
        let after: Vec<f64> =
            got.windows.iter().filter(|(t, _)| t.as_secs_f64() > 3.0).map(|w| w.1).collect();
        let bdp = flow.look().law.bdp().unwrap();
        assert!(after.iter().all(|w| (w / bdp - 2.0).abs() < 0.2), "{bdp} {after:?}");
    }

    #[test]
    fn the_probe_of_the_round_trip_ends_though_the_least_window_is_larger_than_its_own() {
        let least = Value::Float(20.0);
        let params = Params::resolve(ENTRY.parameters, [("min_window", &least)]).unwrap();
        let modes = modes(&params, link(10, 100), 35);
        let probes = modes.iter().filter(|(_, mode)| matches!(mode, Mode::ProbeRtt(None))).count();
        assert!(probes >= 2, "{modes:?}");
        assert!(
            modes
                .iter()
                .any(|(at, mode)| { at.as_secs_f64() > 11.0 && matches!(mode, Mode::ProbeBandwidth(..)) })
        );
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
        // A Data takes 64 ms, like one of 8 kB at 1 Mb/s.
        let slow =
            Pipe { rate: Some(Rate::from_bps(140_000)), delay: Span::from_millis(600), ..Pipe::default() };
        let got = run(&flow(&article(&ENTRY)), slow, 96);
        assert_eq!((got.lost, got.repeated), (0, 0));
        let used = got.bits as f64 / (140_000.0 * 96.0);
        assert!(used > 0.9, "{used}");
    }

    #[test]
    fn the_window_has_three_quanta_above_the_bdp() {
        let mut law = Bbr::new(Settings::new(&article(&ENTRY)));
        law.min_rtt = Some(Span::from_millis(1));
        for (mbps, size, quantum) in [
            (1.0, 1000.0, 1.0),
            (2.0, 1000.0, 2.0),
            (80.0, 1000.0, 10.0),
            (80.0, 8000.0, 2.0),
            (1e4, 8192.0, 8.0),
        ] {
            (law.pace, law.size, law.bandwidth.best) = (mbps * 1e6 / 8.0, size, mbps * 1e6 / 8.0);
            let above = law.inflight(2.0).unwrap() - 2.0 * law.bdp().unwrap();
            assert!((above - 3.0 * quantum).abs() < 1e-6, "{mbps} Mb/s of {size} B: {above}");
            law.settings.is_port = true;
            assert!((law.inflight(2.0).unwrap() - 2.0 * law.bdp().unwrap() - 3.0).abs() < 1e-6);
            law.settings.is_port = false;
        }
    }

    /// A router that shares a link by classes can send two packets at once after an idle time. So min_rtt may
    /// be much shorter than the time of a Data.
    #[test]
    fn three_data_may_be_pending_however_short_the_path_is() {
        let unit = Value::Text("1448 B".to_owned());
        let params = Params::resolve(ENTRY.parameters, [("unit", &unit)]).unwrap();
        let mut law = Bbr::new(Settings::new(&params));
        law.min_rtt = Some(Span::from_micros(100));
        (law.size, law.packets, law.full_rounds) = (1448.0, 5.7, FULL_ROUNDS);
        (law.pace, law.bandwidth.best) = (15e6 / 8.0, 15e6 / 8.0);
        for _ in 0..5 {
            law.set_window();
        }
        assert_eq!(law.whole_window(), 3.0 * 5.7);
        law.mode = Mode::ProbeRtt(None);
        law.set_window();
        assert_eq!(law.whole_window(), 2.0 * 5.7);
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
        let law = &flow.look().law;
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
            (early, 8.0 * flow.look().law.bandwidth.best / 1e6)
        });
        assert!(article.0 > port.0, "{article:?} {port:?}");
        let flow = flow(&variant(&ENTRY, "port"));
        run(&flow, link(10, 100), 60);
        assert!((8.0 * flow.look().law.bandwidth.best / 1e7 - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_late_data_of_a_sending_that_is_forgotten_tells_nothing() {
        let mut sendings = Sendings::default();
        for number in [u32::MAX - 1, u32::MAX, 0, 1] {
            sendings.insert(number, Sending { delivered: u64::from(number), ..Sending::default() });
        }
        assert_eq!(sendings.take(0).unwrap().delivered, 0);
        assert!(sendings.take(0).is_none() && sendings.take(2).is_none());
        assert!(sendings.take(u32::MAX - 1).is_some() && sendings.take(u32::MAX).is_some());
        assert_eq!(sendings.kept.len(), 1, "what was taken is forgotten");
        assert!(sendings.take(u32::MAX).is_none() && sendings.take(1).is_some());
        assert!(sendings.kept.is_empty());
    }

    /// On paths where 200 ms are ten or more round trips, the filter would forget all samples except those of
    /// four packets.
    #[test]
    fn what_probe_rtt_brings_is_not_taken_for_the_bandwidth() {
        for (mbps, delay_ms) in [(100, 20), (200, 20), (20, 20), (50, 5)] {
            let flow = flow(&article(&ENTRY));
            let (mut least, mut probes, mut was_probing) = (f64::INFINITY, 0, false);
            let mut look = |now: Time| {
                let law = &flow.look().law;
                let is_probing = matches!(law.mode, Mode::ProbeRtt(_));
                probes += u32::from(is_probing && !was_probing);
                was_probing = is_probing;
                if now > Time::ZERO + Span::from_secs(5) {
                    least = least.min(8e-6 * law.bandwidth.best / mbps as f64);
                }
            };
            let got = link(mbps, delay_ms).watch(Box::new(flow.clone()), 35, &mut look);
            assert_eq!(probes, 3, "{mbps} Mb/s, {delay_ms} ms");
            assert!(least > 0.9, "{mbps} Mb/s, {delay_ms} ms: {least} of the bandwidth at least");
            let used = got.bits as f64 / (mbps as f64 * 1e6 * 35.0);
            assert!(used > 0.95, "{mbps} Mb/s, {delay_ms} ms: {used} used");
        }
    }

    /// Returns the modes in order, with the time at which each began.
    fn modes(params: &Params, pipe: Pipe, secs: u64) -> Vec<(Time, Mode)> {
        let flow = flow(params);
        let mut modes: Vec<(Time, Mode)> = Vec::new();
        let mut look = |now| {
            let mode = flow.look().law.mode;
            if modes.last().is_none_or(|(_, last)| *last != mode) {
                modes.push((now, mode));
            }
        };
        pipe.watch(Box::new(flow.clone()), secs, &mut look);
        modes
    }

    #[test]
    fn phases_follow_each_other_and_last_a_round_trip_each() {
        let modes = modes(&article(&ENTRY), link(10, 100), 9);
        let phases: Vec<(Time, usize)> = modes
            .iter()
            .filter_map(|(now, mode)| match mode {
                Mode::ProbeBandwidth(phase, _) => Some((*now, *phase)),
                _ => None,
            })
            .collect();
        assert_ne!(phases[0].1, 1, "not the one of 3/4");
        assert!(phases.len() > 20, "{phases:?}");
        for pair in phases.windows(2) {
            let [(from, phase), (to, next)] = pair else { unreachable!() };
            assert_eq!(*next, (phase + 1) % PHASES.len());
            let lasted = (*to - *from).as_millis_f64();
            // A phase lasts 100 ms and the time of a Data on the link. 3/4 ends when the queue is drained;
            // 1.25 continues until its window is pending.
            let range =
                if *phase == 1 { 0.0..=105.0 } else { 100.0..=if *phase == 0 { 300.0 } else { 105.0 } };
            assert!(range.contains(&lasted), "phase {phase}: {lasted} ms");
        }
    }

    /// With a BDP of less than a packet, W allows less than the gain requests.
    #[test]
    fn the_phase_of_more_ends_on_the_shortest_paths_too() {
        for delay_us in [50, 200, 700, 1500, 3000] {
            let pipe = Pipe { delay: Span::from_micros(delay_us), ..link(10, 1) };
            let modes = modes(&article(&ENTRY), pipe, 3);
            let ends = modes.iter().filter(|(_, mode)| matches!(mode, Mode::ProbeBandwidth(1, _))).count();
            assert!(ends > 10, "{delay_us} us: {ends} times");
        }
    }

    #[test]
    fn until_the_pipe_is_filled_the_pace_only_rises() {
        let flow = flow(&article(&ENTRY));
        let mut paces: Vec<f64> = Vec::new();
        let mut look = |_| {
            let law = &flow.look().law;
            if !law.is_filled() {
                paces.push(law.pace);
            }
        };
        link(10, 100).watch(Box::new(flow.clone()), 3, &mut look);
        assert!(paces.len() > 50);
        assert!(paces.is_sorted(), "{paces:?}");
        // Ten Data in a round trip of 100 ms and the time of a Data on the link.
        let first = 8.0 * paces[0] / (HIGH_GAIN * 10.0 * 8.0 * 1100.0 / 0.1);
        assert!((0.9..1.1).contains(&first), "{first} of the draft's initial pace");
    }

    #[test]
    fn silence_is_no_reason_to_probe_the_round_trip() {
        let source = Source::Limited(Rate::from_bps(700));
        let modes = modes(&article(&ENTRY), Pipe { source, ..link(10, 100) }, 100);
        assert_eq!(modes.len(), 1, "a Data each twelve seconds: {modes:?}");
        assert_eq!(modes[0].1, Mode::Startup);
    }

    #[test]
    fn the_port_begins_with_one_interest_and_probes_the_round_trip_by_the_clock() {
        let port = flow(&variant(&ENTRY, "port"));
        assert_eq!(port.look().law.window, 1.0);
        // On a path without other traffic, min_rtt is met regularly.
        let modes = modes(&variant(&ENTRY, "port"), link(10, 100), 45);
        let probes: Vec<f64> = modes
            .iter()
            .filter(|(_, mode)| matches!(mode, Mode::ProbeRtt(None)))
            .map(|(at, _)| at.as_secs_f64())
            .collect();
        assert_eq!(probes.len(), 4, "{probes:?}");
        assert!(probes.windows(2).all(|pair| (10.2..11.5).contains(&(pair[1] - pair[0]))), "{probes:?}");
        let first = modes.iter().find(|(_, mode)| matches!(mode, Mode::ProbeBandwidth(..)));
        assert!(matches!(first, Some((_, Mode::ProbeBandwidth(1, _)))), "{first:?}");
    }
}
