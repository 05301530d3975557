//! RAAQM, remote adaptive active queue management: a consumer lowers its window with a probability
//! that follows the queueing delay of each route.
//!
//! For each route r, told by the path label of the Data, the last samples of the round-trip time:
//!
//! > p_r = p_min + (p_max − p_min)·(R − R_min)/(R_max − R_min)
//!
//! R is the newest, R_min and R_max the least and greatest of the window. At each Data the
//! window W falls to β·W with probability p_r, and else grows: by 1 in slow start, by γ/W after.

use std::collections::VecDeque;

use weir_core::random::Random;
use weir_core::scheme::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent};
use weir_core::units::{Span, Time};

use crate::path_label::PathLabel;

/// More routes than this are not told apart: the one not heard of for longest makes room.
const ROUTES: usize = 64;
/// Where the round-trip times of a route differ by less, they tell nothing of queues (the files' 1e-4 s).
const NO_VARIATION: Span = Span::from_micros(100);
/// A route that is not heard of for so long begins anew (hICN's).
const STALE: Span = Span::from_secs(2);

/// The constants of the window's law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// Samples of a route's window.
    pub(super) samples: usize,
    pub(super) p_min: f64,
    pub(super) p_max: f64,
    /// β.
    pub(super) decrease: f64,
    /// γ.
    pub(super) increase: f64,
    pub(super) initial: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

/// What is known of one route.
#[derive(Debug)]
struct Route {
    label: PathLabel,
    samples: VecDeque<Span>,
    heard_at: Time,
}

impl Route {
    /// p_r after one more sample; zero until there are enough.
    fn probability(&mut self, rtt: Span, law: &Law) -> f64 {
        if self.samples.len() == law.samples {
            self.samples.pop_front();
        }
        self.samples.push_back(rtt);
        if self.samples.len() < law.samples {
            return 0.0;
        }
        let (least, most) = self
            .samples
            .iter()
            .fold((Span::MAX, Span::ZERO), |(least, most), sample| (least.min(*sample), most.max(*sample)));
        if most - least < NO_VARIATION {
            return law.p_min;
        }
        law.p_min + (law.p_max - law.p_min) * (rtt - least).as_secs_f64() / (most - least).as_secs_f64()
    }
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct Raaqm {
    law: Law,
    window: f64,
    slow_start_until: f64,
    routes: Vec<Route>,
}

impl Raaqm {
    pub(super) fn new(law: Law) -> Raaqm {
        let window = law.initial.clamp(law.least, law.most);
        Raaqm { law, window, slow_start_until: f64::INFINITY, routes: Vec::new() }
    }

    fn route(&mut self, label: PathLabel, now: Time) -> &mut Route {
        let known = self.routes.iter().position(|route| route.label == label);
        let place = known.unwrap_or_else(|| {
            if self.routes.len() < ROUTES {
                let samples = VecDeque::with_capacity(self.law.samples);
                self.routes.push(Route { label, samples, heard_at: now });
                return self.routes.len() - 1;
            }
            let oldest = (0..ROUTES).min_by_key(|&place| self.routes[place].heard_at).unwrap_or(0);
            self.routes[oldest].label = label;
            self.routes[oldest].samples.clear();
            oldest
        });
        let route = &mut self.routes[place];
        if now.since(route.heard_at) > STALE {
            route.samples.clear();
        }
        route.heard_at = now;
        route
    }

    /// Whether a Data of this route and round-trip time lowers the window.
    fn lowers(&mut self, label: PathLabel, rtt: Span, now: Time, random: &mut Random) -> bool {
        let law = self.law;
        let probability = self.route(label, now).probability(rtt, &law);
        random.chance(probability)
    }

    fn decrease(&mut self) {
        self.window = (self.law.decrease * self.window).max(self.law.least);
        self.slow_start_until = self.window;
    }

    fn increase(&mut self) {
        let step =
            if self.window < self.slow_start_until { 1.0 } else { self.law.increase / self.window.max(1.0) };
        self.window = (self.window + step).min(self.law.most);
    }
}

impl FlowControl for Raaqm {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if f64::from(ev.pending) + 1.0 <= self.window { Permit::Now } else { Permit::Blocked }
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        let label = PathLabel::of(ev.data);
        match ev.rtt {
            Some(rtt) if self.lowers(label, rtt, ev.now, ev.random) => self.decrease(),
            _ => self.increase(),
        }
    }

    fn on_timeout(&mut self, _ev: &mut LossEvent<'_>) {
        self.decrease();
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law = Law {
        samples: 30,
        p_min: 1e-5,
        p_max: 0.2,
        decrease: 0.8,
        increase: 1.0,
        initial: 1.0,
        least: 1.0,
        most: 512.0,
    };

    fn route() -> Route {
        Route { label: PathLabel::HERE, samples: VecDeque::new(), heard_at: Time::ZERO }
    }

    #[test]
    fn the_window_is_never_lowered_before_there_are_thirty_samples() {
        let mut route = route();
        let probabilities: Vec<f64> =
            (0..31).map(|n| route.probability(Span::from_millis(100 + n), &LAW)).collect();
        assert!(probabilities[..29].iter().all(|p| *p == 0.0));
        // The newest is the greatest: p_max.
        assert!((probabilities[29] - 0.2).abs() < 1e-12 && (probabilities[30] - 0.2).abs() < 1e-12);
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
            route.probability(Span::from_millis(100), &LAW);
        }
        assert!((route.probability(Span::from_millis(100), &LAW) - 1e-5).abs() < 1e-12);
        assert_eq!(route.samples.len(), 30);
    }

    #[test]
    fn the_window_doubles_in_a_round_trip_and_then_grows_by_one() {
        let mut raaqm = Raaqm::new(LAW);
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
    fn the_window_keeps_within_its_bounds() {
        let mut raaqm = Raaqm::new(Law { least: 10.0, most: 20.0, ..LAW });
        assert_eq!(raaqm.gauge(), Gauge::Window(10.0));
        (0..100).for_each(|_| raaqm.increase());
        assert_eq!(raaqm.gauge(), Gauge::Window(20.0));
        (0..100).for_each(|_| raaqm.decrease());
        assert_eq!(raaqm.gauge(), Gauge::Window(10.0));
    }

    #[test]
    fn a_silent_route_begins_anew_and_strange_labels_take_bounded_room() {
        let mut raaqm = Raaqm::new(LAW);
        let mut random = Random::named(1, "raaqm");
        let rtt = Span::from_millis(100);
        for n in 0..40 {
            raaqm.lowers(PathLabel::HERE, rtt, Time::from_nanos(n), &mut random);
        }
        assert_eq!(raaqm.routes[0].samples.len(), 30);
        raaqm.lowers(PathLabel::HERE, rtt, Time::ZERO + Span::from_secs(3), &mut random);
        assert_eq!(raaqm.routes[0].samples.len(), 1);
        let mut data = weir_core::packet::Packet::default();
        for face in 0..1000 {
            crate::path_label::note_arrival(&mut data, weir_core::ids::FaceId(face));
            raaqm.lowers(PathLabel::of(&data), rtt, Time::ZERO + Span::from_secs(4), &mut random);
        }
        assert_eq!(raaqm.routes.len(), ROUTES);
    }
}
