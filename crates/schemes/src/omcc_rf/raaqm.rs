//! RAAQM, remote adaptive active queue management: a consumer lowers its window with a probability that follows the
//! queueing delay of each route.
//!
//! For each route r, identified by the path label of the Data, it keeps the latest samples of the round-trip time:
//!
//! > p_r = p_min + (p_max − p_min)·(R − R_min)/(R_max − R_min)
//!
//! R is the newest sample, R_min and R_max the smallest and largest of them. At each Data the window W falls to β·W with
//! probability p_r, and otherwise grows by γ/W. With slow start it grows by 1 until the first decrease, and later up to
//! the value after the last decrease.
//!
//! The simulator of HbHCM's and DPCCP's authors has four more rules, each a field of [`Law`]. R_min is the smallest of all
//! samples of the route, not of the latest. With a tolerance θ, R_min + θ replaces R_min, and below it the window never
//! falls. After a decrease the next W Data of the route lower nothing. A timeout leaves the initial window.

use core::ops::RangeInclusive;
use std::collections::VecDeque;

use weir_core::random::Random;
use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent};
use weir_core::units::{Span, Time};
use weir_core::{choice, parameters};

use crate::late_data::{self, LateData};
use crate::path_label::PathLabel;

/// The number of routes that are distinguished. Labels come from the network, and a different label on each
/// Data would leave no route with enough samples. Further routes share the last one until a route is stale.
const ROUTES: usize = 64;
/// If the round-trip times of a route differ by less than this, they give no information about queues (the
/// files' 1e-4 s).
const NO_VARIATION: Span = Span::from_micros(100);
/// A route without Data for this time starts again, because its queues may have changed (assumed: hICN counts
/// paths as in use for as long).
const STALE: Span = Span::from_secs(2);

const PROBABILITY: RangeInclusive<f64> = 0.0..=1.0;
const WINDOW: RangeInclusive<f64> = 1.0..=1_048_576.0;

parameters! {
    /// The constants of the window's law.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Law {
        /// number of round-trip times kept for a route
        pub(super) samples: usize = integer("samples", 2..=4096) default "30"
            from "files: hICN, libtransport; the code of QSCCP's authors";
        /// R_min: the smallest round-trip time of the latest `samples` of the route, or of all
        pub(super) minimum: Minimum = choice("minimum") default "window"
            from "files: hICN, libtransport; all: path-manager of HbHCM's authors";
        /// p_min, smallest probability of a decrease
        pub(super) p_min: f64 = number("p_min", PROBABILITY) default "0.00001" from "files: hICN, libtransport";
        /// p_max, largest probability of a decrease; p_min if p_max is smaller
        pub(super) p_max: f64 = number("p_max", PROBABILITY) default "0.00301"
            from "files: hICN, consumer.conf, p_min and a drop factor of 0.003";
        /// β, the part of the window that a decrease leaves
        pub(super) decrease: f64 = number("decrease", 0.01..=1.0) default "0.99" from "files: hICN, consumer.conf";
        /// γ, growth of the window in a round trip
        pub(super) increase: f64 = number("increase", 0.0..=1000.0) default "1" from "files: hICN, libtransport";
        /// initial window, Interests
        pub(super) initial: f64 = number("initial_window", WINDOW) default "1"
            from "files: hICN, libtransport; ndnSIM, ConsumerWindow";
        /// smallest window after a decrease, Interests
        pub(super) least: f64 = number("least_window", WINDOW) default "1" from "files: hICN, libtransport";
        /// largest window, Interests; `least_window` if this is smaller
        pub(super) most: f64 = number("most_window", WINDOW) default "512" from "files: hICN, libtransport";
        /// whether the window grows by 1 with each Data until the first decrease, and later up to its value after the
        /// last decrease
        pub(super) slow_start: bool = switch("slow_start") default "false" from "files: hICN, libtransport";
        /// queueing delay up to this is noise: it never lowers the window, and p_r starts above it
        pub(super) tolerance: Span = span("tolerance", Span::ZERO..=Span::from_secs(10)) default "0 ms"
            from "files: hICN, libtransport has none; ndn-consumer-raaqm.cpp, 5 ms";
        /// whether a decrease blocks further ones of the route for as many Data as the window had Interests
        pub(super) spaced: bool = switch("spaced") default "false"
            from "files: hICN, libtransport; ndn-consumer-raaqm.cpp has it";
        /// whether a timeout sets the initial window; if not, it decreases the window
        pub(super) restart: bool = switch("restart") default "false"
            from "files: hICN, libtransport; ndn-consumer-raaqm.cpp has it";
    }
}

choice! {
    /// The samples whose minimum is R_min.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Minimum {
        /// The samples that are kept.
        Window = "window",
        /// All samples of the route.
        All = "all",
    }
}

impl Law {
    /// Returns the law with p_max at least p_min, and the largest window at least the smallest.
    pub(super) fn ordered(self) -> Law {
        Law { p_max: self.p_max.max(self.p_min), most: self.most.max(self.least), ..self }
    }
}

/// The state of one route.
#[derive(Debug)]
struct Route {
    label: PathLabel,
    samples: VecDeque<Span>,
    /// The smallest of all samples, including those no longer kept.
    least: Span,
    heard_at: Time,
    /// The number of Data after a decrease that lower nothing.
    spared: u32,
}

impl Route {
    fn is_stale(&self, now: Time) -> bool {
        now.since(self.heard_at) > STALE
    }

    /// Returns p_r after one more sample; zero until there are enough.
    fn probability(&mut self, rtt: Span, law: &Law) -> f64 {
        if self.samples.len() == law.samples {
            self.samples.pop_front();
        }
        self.samples.push_back(rtt);
        self.least = self.least.min(rtt);
        if self.samples.len() < law.samples {
            return 0.0;
        }
        let (least, most) = self
            .samples
            .iter()
            .fold((Span::MAX, Span::ZERO), |(least, most), sample| (least.min(*sample), most.max(*sample)));
        let least = if law.minimum == Minimum::All { self.least } else { least };
        if most - least < NO_VARIATION {
            return law.p_min;
        }
        if law.tolerance > Span::ZERO && rtt - least < law.tolerance {
            return 0.0;
        }
        let noise = least + law.tolerance;
        let range = most.saturating_sub(noise).max(Span::from_nanos(1)).as_secs_f64();
        law.p_min + (law.p_max - law.p_min) * rtt.saturating_sub(noise).as_secs_f64() / range
    }
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct Raaqm {
    law: Law,
    window: f64,
    slow_start_until: f64,
    routes: Vec<Route>,
    late_data: LateData,
}

impl Raaqm {
    pub(super) fn new(law: Law, late_data: late_data::Settings) -> Raaqm {
        let slow_start_until = if law.slow_start { f64::INFINITY } else { 0.0 };
        let late_data = LateData::new(late_data.is_counted_twice);
        Raaqm { law, window: law.initial.min(law.most), slow_start_until, routes: Vec::new(), late_data }
    }

    fn route(&mut self, label: PathLabel, now: Time) -> &mut Route {
        let known = self.routes.iter().position(|route| route.label == label);
        let place = known.unwrap_or_else(|| self.place_of_new(label, now));
        let route = &mut self.routes[place];
        if route.is_stale(now) {
            route.samples.clear();
        }
        route.heard_at = now;
        route
    }

    fn place_of_new(&mut self, label: PathLabel, now: Time) -> usize {
        if self.routes.len() < ROUTES {
            let samples = VecDeque::with_capacity(self.law.samples);
            self.routes.push(Route { label, samples, least: Span::MAX, heard_at: now, spared: 0 });
            return self.routes.len() - 1;
        }
        match self.routes.iter().position(|route| route.is_stale(now)) {
            Some(place) => {
                self.routes[place].label = label;
                self.routes[place].least = Span::MAX;
                place
            }
            None => ROUTES - 1,
        }
    }

    /// Returns whether a Data of this route and round-trip time lowers the window.
    fn lowers(&mut self, label: PathLabel, rtt: Span, now: Time, random: &mut Random) -> bool {
        let (law, window) = (self.law, self.window);
        let route = self.route(label, now);
        let probability = route.probability(rtt, &law);
        route.spared = route.spared.saturating_sub(1);
        if route.spared > 0 {
            return false;
        }
        let lowers = random.chance(probability);
        if lowers && law.spaced {
            route.spared = window as u32;
        }
        lowers
    }

    fn decrease(&mut self) {
        self.window = (self.law.decrease * self.window).max(self.law.least);
        if self.law.slow_start {
            self.slow_start_until = self.window;
        }
    }

    fn increase(&mut self) {
        let step =
            if self.window < self.slow_start_until { 1.0 } else { self.law.increase / self.window.max(1.0) };
        self.window = (self.window + step).min(self.law.most);
    }
}

impl FlowControl for Raaqm {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if f64::from(self.late_data.pending(ev.pending)) + 1.0 <= self.window {
            Permit::Now
        } else {
            Permit::Blocked
        }
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.late_data.on_data(ev);
        let label = PathLabel::of(ev.data);
        match ev.rtt {
            Some(rtt) if self.lowers(label, rtt, ev.now, ev.random) => self.decrease(),
            _ => self.increase(),
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.late_data.on_fewer(ev.pending);
        if !self.law.restart {
            return self.decrease();
        }
        self.window = self.law.initial;
        // Slow start continues if nothing has ended it yet. It does not begin again.
        if self.slow_start_until.is_finite() {
            self.slow_start_until = 0.0;
        }
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::ids::FaceId;
    use weir_core::packet::Packet;
    use weir_core::units::Bytes;

    const RIGHT: late_data::Settings = late_data::Settings { is_counted_twice: false };

    const LAW: Law = Law {
        samples: 30,
        p_min: 1e-5,
        p_max: 0.2,
        decrease: 0.8,
        increase: 1.0,
        initial: 1.0,
        least: 1.0,
        most: 512.0,
        slow_start: false,
        minimum: Minimum::Window,
        tolerance: Span::ZERO,
        spaced: false,
        restart: false,
    };
    const RTT: Span = Span::from_millis(100);

    fn route() -> Route {
        Route {
            label: PathLabel::HERE,
            samples: VecDeque::new(),
            least: Span::MAX,
            heard_at: Time::ZERO,
            spared: 0,
        }
    }

    /// A consumer, with a test in the place of the network.
    struct Bench {
        raaqm: Raaqm,
        random: Random,
        now: Time,
    }

    impl Bench {
        fn new(law: Law) -> Bench {
            Bench { raaqm: Raaqm::new(law, RIGHT), random: Random::named(1, "raaqm"), now: Time::ZERO }
        }

        fn data(&mut self, face: u32, rtt: Option<Span>) {
            let mut data = Packet::default();
            crate::path_label::note_arrival(&mut data, FaceId(face));
            self.raaqm.on_data(&mut DataReceived {
                now: self.now,
                data: &data,
                segment: 0,
                rtt,
                srtt: rtt,
                bases: None,
                tag: 0,
                was_pending: true,
                pending: 0,
                highest_sent: 0,
                oldest_missing: 0,
                lost: 0..0,
                expected_size: Bytes::ZERO,
                random: &mut self.random,
            });
        }

        fn timeout(&mut self) {
            let (now, random) = (self.now, &mut self.random);
            let mut ev = LossEvent { now, segment: 0, tag: 0, pending: 0, highest_sent: 0, random };
            self.raaqm.on_timeout(&mut ev);
        }

        fn may_send(&mut self, pending: u32) -> bool {
            let (now, random) = (self.now, &mut self.random);
            let mut ev = PermitEvent { now, pending, expected_size: Bytes::ZERO, random };
            self.raaqm.permit(&mut ev) == Permit::Now
        }

        /// Returns the number of samples of each route.
        fn samples(&self) -> Vec<usize> {
            self.raaqm.routes.iter().map(|route| route.samples.len()).collect()
        }
    }

    #[test]
    fn the_window_is_never_lowered_before_there_are_thirty_samples() {
        let mut route = route();
        let probabilities: Vec<f64> =
            (0..31).map(|n| route.probability(Span::from_millis(100 + n), &LAW)).collect();
        assert!(probabilities[..29].iter().all(|p| *p == 0.0));
        // The newest sample is the largest: p_max.
        assert!((probabilities[29] - 0.2).abs() < 1e-12 && (probabilities[30] - 0.2).abs() < 1e-12);
    }

    #[test]
    fn with_a_tolerance_the_probability_begins_above_it() {
        let law = Law { tolerance: Span::from_millis(5), ..LAW };
        let mut route = route();
        for n in 0..29 {
            route.probability(Span::from_millis(100 + n % 2 * 45), &law);
        }
        assert_eq!(route.probability(Span::from_millis(104), &law), 0.0);
        let half = route.probability(Span::from_millis(125), &law);
        assert!((half - (1e-5 + (0.2 - 1e-5) / 2.0)).abs() < 1e-12, "{half}");
        let small = (0..40).map(|n| route.probability(Span::from_millis(100 + n % 2 * 3), &law));
        assert_eq!(small.last(), Some(0.0), "3 ms of queueing at the most");
    }

    #[test]
    fn the_smallest_of_all_time_sees_a_queue_that_has_stood_for_long() {
        let probability = |law: Law| {
            let mut route = route();
            route.probability(RTT, &law);
            // A queue of 50 ms, and then equal samples: the latest thirty do not include it.
            let queued = RTT + Span::from_millis(50);
            (0..100).map(|_| route.probability(queued, &law)).last().unwrap()
        };
        assert_eq!(probability(LAW), LAW.p_min);
        assert!((probability(Law { minimum: Minimum::All, ..LAW }) - LAW.p_max).abs() < 1e-12);
    }

    #[test]
    fn spaced_decreases_leave_a_window_of_data_between_them() {
        let always = Law { p_min: 1.0, p_max: 1.0, initial: 64.0, decrease: 0.875, samples: 2, ..LAW };
        let window_after = |law: Law, data: u32| {
            let mut bench = Bench::new(law);
            (0..data).for_each(|n| bench.data(1, Some(RTT + Span::from_millis(u64::from(n % 2)))));
            bench.raaqm.window
        };
        assert!(window_after(always, 4) < 64.0 * 0.7);
        let spaced = window_after(Law { spaced: true, ..always }, 60);
        assert!((56.0..57.2).contains(&spaced), "{spaced}");
        assert!(window_after(Law { spaced: true, ..always }, 68) < 51.0);
    }

    #[test]
    fn a_timeout_that_restarts_leaves_the_initial_window_and_no_second_slow_start() {
        let mut bench = Bench::new(Law { slow_start: true, restart: true, ..LAW });
        (0..20).for_each(|_| bench.data(1, None));
        assert_eq!(bench.raaqm.window, 21.0);
        bench.timeout();
        bench.data(1, None);
        assert_eq!(bench.raaqm.window, 2.0, "nothing has ended slow start");
        bench.raaqm.decrease();
        bench.timeout();
        bench.data(1, None);
        bench.data(1, None);
        assert_eq!(bench.raaqm.window, 2.5);
    }

    #[test]
    fn the_probability_is_linear_between_the_least_and_the_greatest_sample() {
        let mut route = route();
        for n in 0..29 {
            route.probability(Span::from_millis(100 + n % 2 * 40), &LAW);
        }
        let quarter = route.probability(Span::from_millis(110), &LAW);
        assert!((quarter - (1e-5 + (0.2 - 1e-5) / 4.0)).abs() < 1e-12, "{quarter}");
        assert!((route.probability(Span::from_millis(100), &LAW) - 1e-5).abs() < 1e-12);
    }

    #[test]
    fn only_the_latest_thirty_count_and_equal_ones_give_the_least_probability() {
        let mut route = route();
        route.probability(Span::from_secs(9), &LAW);
        for _ in 0..29 {
            route.probability(RTT, &LAW);
        }
        assert!((route.probability(RTT, &LAW) - 1e-5).abs() < 1e-12);
        assert_eq!(route.samples.len(), 30);
    }

    #[test]
    fn with_slow_start_the_window_doubles_in_a_round_trip_and_then_grows_by_one() {
        let mut raaqm = Raaqm::new(Law { slow_start: true, ..LAW }, RIGHT);
        (0..63).for_each(|_| raaqm.increase());
        assert_eq!(raaqm.gauge(), Gauge::Window(64.0));
        raaqm.decrease();
        assert!((raaqm.window - 51.2).abs() < 1e-9);
        (0..51).for_each(|_| raaqm.increase());
        // dW/dn = γ/W: W² grows by 2γ with each Data.
        let closed_form = (51.2_f64.powi(2) + 2.0 * 51.0).sqrt();
        assert!((raaqm.window - closed_form).abs() < 0.01, "{}", raaqm.window);
    }

    #[test]
    fn without_slow_start_the_window_grows_by_one_in_a_round_trip_from_the_first() {
        let mut raaqm = Raaqm::new(LAW, RIGHT);
        (0..5000).for_each(|_| raaqm.increase());
        let closed_form = (1.0_f64 + 2.0 * 5000.0).sqrt();
        assert!((raaqm.window / closed_form - 1.0).abs() < 0.03, "{}", raaqm.window);
        raaqm.decrease();
        let lowered = raaqm.window;
        raaqm.increase();
        assert!((raaqm.window - lowered - 1.0 / lowered).abs() < 1e-9);
    }

    #[test]
    fn the_window_begins_as_it_is_said_to_and_no_decrease_leaves_less_than_the_least() {
        let mut raaqm = Raaqm::new(Law { least: 10.0, most: 20.0, ..LAW }, RIGHT);
        assert_eq!(raaqm.gauge(), Gauge::Window(1.0));
        (0..1000).for_each(|_| raaqm.increase());
        assert_eq!(raaqm.gauge(), Gauge::Window(20.0));
        (0..100).for_each(|_| raaqm.decrease());
        assert_eq!(raaqm.gauge(), Gauge::Window(10.0));
    }

    #[test]
    fn interests_leave_while_fewer_than_the_window_are_pending() {
        let mut bench = Bench::new(Law { initial: 4.5, ..LAW });
        assert!(bench.may_send(3));
        assert!(!bench.may_send(4));
    }

    #[test]
    fn each_timeout_lowers_the_window() {
        let mut bench = Bench::new(Law { initial: 100.0, ..LAW });
        bench.timeout();
        bench.timeout();
        assert!((bench.raaqm.window - 64.0).abs() < 1e-9);
    }

    /// With p_max = 1, the largest of thirty samples always lowers the window.
    #[test]
    fn a_data_raises_the_window_or_lowers_it_by_the_samples_of_its_own_route() {
        let mut bench = Bench::new(Law { initial: 100.0, p_min: 0.0, p_max: 1.0, ..LAW });
        for n in 0..29 {
            bench.data(1, Some(RTT + Span::from_millis(n)));
            bench.data(2, Some(RTT));
        }
        assert!(bench.raaqm.window > 100.5);
        let before = bench.raaqm.window;
        bench.data(2, Some(RTT));
        assert!(bench.raaqm.window > before, "its route is even");
        bench.data(1, Some(RTT + RTT));
        assert!((bench.raaqm.window - 0.8 * (before + 1.0 / before)).abs() < 1e-9);
    }

    #[test]
    fn an_interest_that_was_sent_twice_gives_no_sample_and_its_data_raises_the_window() {
        let mut bench = Bench::new(Law { initial: 100.0, p_min: 1.0, p_max: 1.0, ..LAW });
        (0..29).for_each(|_| bench.data(1, Some(RTT)));
        let before = bench.raaqm.window;
        bench.data(1, None);
        assert!(bench.raaqm.window > before);
        assert_eq!(bench.samples(), [29]);
        bench.data(1, Some(RTT));
        assert!(bench.raaqm.window < before);
    }

    #[test]
    fn a_silent_route_begins_anew() {
        let mut bench = Bench::new(LAW);
        (0..40).for_each(|_| bench.data(1, Some(RTT)));
        assert_eq!(bench.samples(), [30]);
        bench.now += Span::from_secs(3);
        bench.data(1, Some(RTT));
        assert_eq!(bench.samples(), [1]);
    }

    #[test]
    fn a_new_label_for_each_data_is_no_way_around_the_law() {
        let mut bench = Bench::new(LAW);
        for face in 0..1000 {
            bench.data(face, Some(RTT));
        }
        let samples = bench.samples();
        assert_eq!(samples.len(), ROUTES);
        assert_eq!(samples[ROUTES - 1], 30, "all others share one");
        bench.now += Span::from_secs(3);
        bench.data(5000, Some(RTT));
        assert_eq!(bench.samples()[0], 1, "the place of a route that is stale");
    }
}
