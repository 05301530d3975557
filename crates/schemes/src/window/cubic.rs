//! `cubic`: a window that is a cubic function of the time since the last congestion.
//!
//! L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, "CUBIC for Fast and Long-Distance Networks", RFC 9438, over
//! NDN. Sections, numbers and names are its own:
//!
//! ```text
//!   W_cubic(t) = C·(t − K)³ + W_max                                (1), section 4.2
//!   K = ∛((W_max − cwnd_epoch)/C)                                  (2)
//!   target = W_cubic(t + RTT), from cwnd to 1.5·cwnd               section 4.2
//!   cwnd += (target − cwnd)/cwnd at each Data                      sections 4.4, 4.5
//!   W_est += α/cwnd at each Data; cwnd = W_est if W_cubic(t) < W_est   (4), section 4.3
//!   α = 3·(1 − β)/(1 + β), and 1 from cwnd_prior on                section 4.3
//!   congestion: cwnd = max(cwnd·β, 2), by a mark max(cwnd·β, 1)    section 4.6
//!               ssthresh = max(cwnd·β, 2)
//!   W_max = cwnd·(1 + β)/2 if cwnd < W_max, else cwnd              section 4.7
//!   slow start ends by delay: W_max = cwnd_prior = cwnd, K = 0     section 4.10
//! ```
//!
//! t is the time since congestion avoidance began, without the time in which the application did not use cwnd (sections
//! 4.2 and 5.8). Congestion avoidance begins with the first Data whose Interest was sent after the decrease.
//!
//! # Deviations from the article
//! 1. Deviations 1 to 4 of `reno` apply, except for the smallest W.
//! 2. Slow start is Reno's, unless `hystart` is set: HyStart++ (section 4.10, SHOULD; `hystart.rs`).
//!
//! The variant `pcon-client` has the values and the formulas of that client (ndn-tools, `tools/cc/pcon`): β is 0.8, K is
//! ∛(W_max·(1 − β)/C), the target is W_cubic(t), t counts all time since the decrease, and there is no W_est. A flow
//! below W_max lowers its target, as in the article; the program compares with 0.99 of the last W_max.

use weir_core::parameters;
use weir_core::seam::params::Variant;
use weir_core::seam::{DataReceived, SendEvent};
use weir_core::units::{Span, Time};

use super::hystart::HyStart;
use super::{Bounds, Common, Configured, Congestion, PCON_CLIENT, Sign, WindowLaw, WindowScheme, join};
use crate::registry::Entry;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "cubic",
    title: "CUBIC over NDN: a window by a cubic function of time",
    citation: "L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, CUBIC for Fast and Long-Distance Networks, RFC 9438",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| {
        let Parameters { law, common } = Parameters::new(params);
        Box::new(WindowScheme::<Cubic> { law, reaction: common.reaction() })
    },
};

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant {
        name: "pcon-client",
        defaults: &join::<_, _, _, 9>(
            [("beta", "0.8"), ("ahead", "false"), ("reno_friendly", "false")],
            PCON_CLIENT,
        ),
    },
];

parameters! {
    /// The parameters of the scheme.
    struct Parameters {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article"
            from "paper: RFC 9438; files: ndn-tools, pcon-client";
        law: Settings = group;
        common: Common = group;
    }
}

parameters! {
    /// The parameters of the law.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Settings {
        /// C, packets/s³
        pub(crate) c: f64 = number("c", 0.001..=100.0) default "0.4" from "paper: RFC 9438, section 5.1";
        /// β, the part of W that a decrease leaves
        pub(crate) beta: f64 = number("beta", 0.1..=0.99) default "0.7" from "paper: RFC 9438, section 4.6";
        /// fast convergence: whether a flow that has lost window lowers its W_max, which leaves room for new flows
        pub(crate) fast_convergence: bool = switch("fast_convergence") default "true"
            from "paper: RFC 9438, section 4.7";
        /// whether W is at least W_est
        pub(crate) reno_friendly: bool = switch("reno_friendly") default "true" from "paper: RFC 9438, section 4.3";
        /// whether the target is W_cubic(t + RTT), at most 1.5·W, with K from the W after the decrease, and t without
        /// times in which W was not used; if not, the target is W_cubic(t), K is ∛(W_max·(1 − β)/C), and t counts all
        /// time since the decrease
        pub(crate) ahead: bool = switch("ahead") default "true" from "paper: RFC 9438, section 4.2";
        /// whether slow start ends when round trips grow, and not only by congestion: HyStart++
        pub(crate) hystart: bool = switch("hystart") default "false" applications "true"
            from "assumed: as the other laws here; RFC 9438, section 4.10, SHOULD, and `weir get`: true";
        pub(crate) bounds: Bounds = group {
            initial_window default "10" from "assumed: RFC 6928; RFC 9438 has none of its own";
            /// the smallest W after a loss, and the smallest ssthresh, packets; marks may decrease W to 1
            min_window default "2" from "paper: RFC 9438, section 4.6";
        };
    }
}

impl Settings {
    /// Returns the settings of PCON's code. Its consumer has no fast convergence by default.
    pub(crate) fn of_pcon(beta: f64, bounds: Bounds) -> Settings {
        let (c, fast_convergence, reno_friendly, ahead, hystart) = (0.4, false, false, false, false);
        Settings { c, beta, fast_convergence, reno_friendly, ahead, hystart, bounds }
    }

    /// Returns all options of RFC 9438, with the initial window of RFC 6928.
    pub(crate) fn of_rfc() -> Settings {
        let (c, beta, fast_convergence, reno_friendly, ahead, hystart) = (0.4, 0.7, true, true, true, true);
        let bounds = Bounds { initial: 10.0, least: 2.0 };
        Settings { c, beta, fast_convergence, reno_friendly, ahead, hystart, bounds }
    }
}

/// The state of congestion avoidance since the last congestion.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// The start, moved later by the time in which W was not used.
    start: Time,
    /// The time until which unused time has been counted.
    seen: Time,
    /// K, seconds.
    k: f64,
    /// W_est.
    estimate: f64,
}

/// The state of the law.
#[derive(Debug)]
pub(crate) struct Cubic {
    settings: Settings,
    /// cwnd.
    window: f64,
    ssthresh: f64,
    /// W_max.
    highest: f64,
    /// cwnd_prior.
    prior: f64,
    epoch: Option<Epoch>,
    hystart: HyStart,
}

impl Cubic {
    /// Returns whether W is below ssthresh.
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    fn epoch_from(&self, now: Time) -> Epoch {
        let Settings { c, beta, ahead, .. } = self.settings;
        let to_go = if ahead { (self.highest - self.window).max(0.0) } else { self.highest * (1.0 - beta) };
        Epoch { start: now, seen: now, k: libm::cbrt(to_go / c), estimate: self.window }
    }

    /// (1), at t seconds of the epoch.
    fn cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let from_k = t - epoch.k;
        self.settings.c * from_k * from_k * from_k + self.highest
    }

    /// Returns α, the growth of W_est in a round trip.
    fn alpha(&self, estimate: f64) -> f64 {
        let beta = self.settings.beta;
        if estimate >= self.prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) }
    }

    /// Returns the target of W in a round trip.
    fn target(&self, epoch: &Epoch, t: f64, rtt: Option<Span>) -> f64 {
        if !self.settings.ahead {
            return self.cubic(epoch, t).max(self.window);
        }
        let rtt = rtt.map_or(0.0, Span::as_secs_f64);
        self.cubic(epoch, t + rtt).clamp(self.window, 1.5 * self.window)
    }
}

impl Configured for Cubic {
    type Settings = Settings;

    fn new(settings: Settings) -> Cubic {
        let window = settings.bounds.first();
        Cubic {
            settings,
            window,
            ssthresh: f64::INFINITY,
            highest: 0.0,
            prior: 0.0,
            epoch: None,
            hystart: HyStart::default(),
        }
    }
}

impl WindowLaw for Cubic {
    fn window(&self) -> f64 {
        self.window
    }

    fn on_send(&mut self, _ev: &SendEvent<'_>, number: u32, _late: Span) {
        self.hystart.on_send(number);
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>, packets: f64) {
        let watches = self.settings.hystart && self.is_in_slow_start() && !ev.is_from_nearby();
        if watches && self.hystart.on_data(ev.tag, ev.rtt, packets) {
            (self.ssthresh, self.highest, self.prior) = (self.window, self.window, self.window);
        }
    }

    fn increase(&mut self, ev: &DataReceived<'_>, packets: f64) {
        let bounds = self.settings.bounds;
        if self.is_in_slow_start() {
            let growth = if self.settings.hystart { self.hystart.growth() } else { 1.0 };
            self.window = bounds.clamp(self.window + packets * growth);
            return;
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.epoch_from(ev.now));
        epoch.seen = ev.now;
        let t = ev.now.since(epoch.start).as_secs_f64();
        // A Data longer than W counts as a whole window.
        let packets = packets.min(self.window);
        epoch.estimate += packets * self.alpha(epoch.estimate) / self.window;
        let is_reno = self.settings.reno_friendly && self.cubic(&epoch, t) < epoch.estimate;
        let grown = if is_reno {
            self.window.max(epoch.estimate)
        } else {
            self.window + packets * (self.target(&epoch, t, ev.srtt) - self.window) / self.window
        };
        self.window = bounds.clamp(grown);
        self.epoch = Some(epoch);
    }

    fn on_unused(&mut self, now: Time) {
        if let Some(epoch) = self.epoch.as_mut().filter(|_| self.settings.ahead) {
            epoch.start += now.since(epoch.seen);
            epoch.seen = now;
        }
    }

    fn decrease(&mut self, congestion: &Congestion) {
        let Settings { beta, fast_convergence, ahead, bounds, .. } = self.settings;
        self.prior = self.window;
        self.highest = if fast_convergence && self.window < self.highest {
            self.window * (1.0 + beta) / 2.0
        } else {
            self.window
        };
        let left = self.window * beta;
        self.ssthresh = bounds.clamp(left);
        self.window = match congestion.sign {
            Sign::Mark => left.clamp(1.0, self.ssthresh),
            Sign::Loss => self.ssthresh,
        };
        self.epoch = (!ahead).then(|| self.epoch_from(congestion.now));
    }

    fn on_longer_path(&mut self) {
        (self.ssthresh, self.highest, self.prior, self.epoch) = (f64::INFINITY, 0.0, 0.0, None);
        self.hystart = self.hystart.again();
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipe::{self, LOSS, MARK, Pipe, article, variant};
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;

    /// Returns the time and the window at each Data, for `secs` without congestion after one at the window
    /// `highest`. The law has the article's values, and Data of `packets` packets are evenly spaced.
    fn curve(highest: f64, rtt: Span, secs: u64, packets: f64) -> Vec<(f64, f64)> {
        let mut cubic = Cubic::new(Settings::new(&article(&ENTRY)));
        cubic.window = highest;
        cubic.decrease(&LOSS);
        let (packet, mut random) = (Packet::default(), Random::named(1, "cubic"));
        let mut now = Time::ZERO;
        let mut points = Vec::new();
        while now < Time::ZERO + Span::from_secs(secs) {
            now += rtt.scale(packets / cubic.window);
            cubic.increase(&pipe::data(&packet, now, rtt, &mut random), packets);
            points.push((now.as_secs_f64(), cubic.window));
        }
        points
    }

    #[test]
    fn the_window_is_the_closed_form_of_rfc_9438() {
        let paths = [(2000.0, 30), (1000.0, 100), (400.0, 100), (5000.0, 50)];
        for ((highest, rtt), packets) in paths.into_iter().flat_map(|path| [(path, 1.0), (path, 6.0)]) {
            let k = libm::cbrt(highest * 0.3 / 0.4);
            let points = curve(highest, Span::from_millis(rtt), (1.5 * k) as u64, packets);
            // The window reaches the curve in the first round trip.
            for (t, window) in points.into_iter().filter(|(t, _)| *t > 0.001 * rtt as f64) {
                let law = 0.4 * (t - k) * (t - k) * (t - k) + highest;
                assert!((window / law - 1.0).abs() < 0.02, "{highest}, {rtt} ms, {t} s: {window}, law {law}");
            }
        }
    }

    /// RFC 9438, 4.10: after slow start that delay has ended, "K is set to 0, and W_max is set to the
    /// congestion window size at the beginning of the current congestion avoidance stage".
    #[test]
    fn after_hystart_the_window_grows_from_the_flat_part_of_the_curve() {
        let mut cubic = Cubic::new(Settings { hystart: true, ..Settings::new(&article(&ENTRY)) });
        let (packet, mut random) = (Packet::default(), Random::named(1, "cubic"));
        let (mut now, mut number) = (Time::ZERO, 0);
        while cubic.is_in_slow_start() {
            let rtt = Span::from_millis(if cubic.window < 300.0 { 100 } else { 120 });
            let sent = number..number + cubic.window as u32;
            number = sent.end;
            sent.clone().for_each(|number| cubic.hystart.on_send(number));
            for tag in sent {
                let mut ev = pipe::data(&packet, now, rtt, &mut random);
                ev.tag = tag;
                cubic.on_data(&mut ev, 1.0);
                cubic.increase(&ev, 1.0);
            }
            now += rtt;
        }
        let (from, start) = (cubic.window, now);
        for secs in 1..=10 {
            while now < start + Span::from_secs(secs) {
                now += Span::from_millis(100).scale(1.0 / cubic.window);
                cubic.increase(&pipe::data(&packet, now, Span::from_millis(100), &mut random), 1.0);
            }
            let t = secs as f64;
            let law = (from + 0.4 * t * t * t).max(from + 10.0 * t);
            assert!((cubic.window / law - 1.0).abs() < 0.03, "{t} s: {}, law {law}", cubic.window);
        }
    }

    /// On short paths Reno would have a larger window. Then W is W_est, which grows by α a round trip.
    #[test]
    fn in_the_reno_friendly_region_it_grows_as_reno_would() {
        let rtt = Span::from_millis(10);
        let alpha = 3.0 * 0.3 / 1.7;
        for (t, window) in curve(40.0, rtt, 5, 1.0) {
            let rounds = t / rtt.as_secs_f64();
            // W grows by α a round trip up to cwnd_prior, and by 1 beyond it.
            let until_prior = 12.0 / alpha;
            let law = if rounds < until_prior { 28.0 + alpha * rounds } else { 40.0 + rounds - until_prior };
            assert!((window / law - 1.0).abs() < 0.02, "{t} s: {window}, law {law}");
        }
    }

    #[test]
    fn a_window_below_the_last_maximum_aims_lower() {
        let mut cubic = Cubic::new(Settings::new(&article(&ENTRY)));
        cubic.window = 100.0;
        cubic.decrease(&LOSS);
        assert_eq!((cubic.window, cubic.highest), (70.0, 100.0));
        cubic.decrease(&LOSS);
        assert_eq!((cubic.window, cubic.highest), (49.0, 70.0 * 0.85));
        (0..20).for_each(|_| cubic.decrease(&LOSS));
        assert_eq!((cubic.window, cubic.ssthresh), (2.0, 2.0));
        (0..20).for_each(|_| cubic.decrease(&MARK));
        assert_eq!((cubic.window, cubic.ssthresh), (1.0, 2.0), "marks may leave one");
        let mut alone = Cubic::new(Settings { fast_convergence: false, ..Settings::new(&article(&ENTRY)) });
        alone.window = 100.0;
        (0..2).for_each(|_| alone.decrease(&LOSS));
        assert_eq!(alone.highest, 70.0);
    }

    /// Feeds Data for `secs` seconds, starting at this time, to a law that had congestion at 100.
    fn feed(cubic: &mut Cubic, from_secs: u64, secs: u64) {
        let (packet, mut random) = (Packet::default(), Random::named(1, "cubic"));
        for ms in (0..1000 * secs).step_by(20) {
            let now = Time::ZERO + Span::from_secs(from_secs) + Span::from_millis(ms);
            cubic.increase(&pipe::data(&packet, now, Span::from_millis(100), &mut random), 1.0);
        }
    }

    /// RFC 9438, 4.2: "The elapsed time t MUST NOT include periods during which cwnd has not been updated due
    /// to application-limited behavior".
    #[test]
    fn the_time_in_which_the_application_asks_for_nothing_does_not_count() {
        let settings = Settings::new(&article(&ENTRY));
        let [mut busy, mut idle, mut slow] = [0; 3].map(|_| Cubic::new(settings));
        for cubic in [&mut busy, &mut idle, &mut slow] {
            cubic.window = 100.0;
            cubic.decrease(&LOSS);
            feed(cubic, 0, 2);
        }
        feed(&mut busy, 2, 2);
        // One flow sends nothing for a minute, the other sends little.
        idle.on_unused(Time::ZERO + Span::from_secs(62));
        feed(&mut idle, 62, 2);
        (2..=62).for_each(|secs| slow.on_unused(Time::ZERO + Span::from_secs(secs)));
        feed(&mut slow, 62, 2);
        assert!(busy.window > 72.0 && busy.window < 100.0, "still below W_max: {}", busy.window);
        // The difference is the time between two Data: 20 ms of some six packets a second.
        assert!((idle.window - busy.window).abs() < 0.2, "{} {}", idle.window, busy.window);
        assert_eq!(idle.window, slow.window);
        let mut code = Cubic::new(Settings::new(&variant(&ENTRY, "pcon-client")));
        code.window = 100.0;
        code.decrease(&LOSS);
        code.on_unused(Time::ZERO + Span::from_secs(62));
        feed(&mut code, 62, 2);
        assert!(code.window > 1000.0, "the code counts it: {}", code.window);
    }

    #[test]
    fn the_epoch_begins_with_congestion_avoidance() {
        let mut cubic = Cubic::new(Settings::new(&article(&ENTRY)));
        cubic.window = 100.0;
        cubic.decrease(&LOSS);
        feed(&mut cubic, 3, 1);
        assert_eq!(cubic.epoch.unwrap().start, Time::ZERO + Span::from_secs(3));
    }

    #[test]
    fn on_a_link_with_a_queue_of_the_bdp_it_is_used_fully() {
        let rate = Some(weir_core::units::Rate::from_mbps(10));
        let pipe = Pipe { rate, limit: 100, ..Pipe::default() };
        let got = pipe.run((ENTRY.build)(&article(&ENTRY)).flow_control(&pipe::FLOW), 120);
        let used = got.bits as f64 / (10e6 * 120.0);
        assert!((0.95..=1.0).contains(&used), "{used}");
    }
}
