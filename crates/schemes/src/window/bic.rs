//! `bic`: binary increase congestion control.
//!
//! L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004, section III, over NDN.
//!
//! Between the window at which there was congestion (W_max) and that after the decrease (W_min) the law
//! searches by halves; far from the middle it grows by S_max a round trip. Beyond W_max it looks for
//! a new one, by 1, 2, 4, … a round trip (*max probing*). Below `low_window` it is Reno.
//!
//! # Deviations from the article
//! 1. to 3. Those of `reno`.
//! 4. The middle is found anew at each Data, as in the article's pseudo-code, not once a round trip as in
//!    its text; so a round trip closes 1 − e^(−1/2) = 39 % of the gap, not half of it.
//! 5. Before there was any congestion W_max is infinite. The code begins with a target of 0, and takes
//!    1 from the first window above `low_window`; ours begins with an infinite one.
//!
//! Variants: `pcon`, the consumer of the original PCON (its β is 0.5), and `pcon-client`, that of the
//! QSCCP authors (β 0.8). Both grow by 16 at most.

use weir_core::params::{Parameter, ParameterKind, Params, Variant};
use weir_core::scheme::DataReceived;
use weir_core::units::Time;

use super::{Bounds, REACTION, Reaction, WindowLaw, WindowScheme, initial_window, min_window};
use crate::registry::Entry;

/// What the codes have in common, and where W is as near to W_max as can be.
const CLOSE: f64 = 1e-5;

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "bic",
    title: "BIC over NDN: a binary search for the window",
    citation: "L. Xu, K. Harfoush, I. Rhee, Binary Increase Congestion Control (BIC) for Fast Long-Distance \
               Networks, INFOCOM 2004",
    parameters: &[
        Parameter {
            key: "variant",
            kind: ParameterKind::Variant(&[
                Variant { name: "article", defaults: &[] },
                Variant {
                    name: "pcon",
                    defaults: &[
                        ("beta", "0.5"),
                        ("max_increment", "16"),
                        ("min_increment", "0"),
                        ("initial_window", "1"),
                        ("min_window", "1"),
                    ],
                },
                Variant {
                    name: "pcon-client",
                    defaults: &[
                        ("beta", "0.8"),
                        ("low_beta", "0.8"),
                        ("max_increment", "16"),
                        ("min_increment", "0"),
                        ("initial_window", "1"),
                        ("min_window", "1"),
                        ("react_to", "losses"),
                        ("cwa", "false"),
                        ("add_rtt_suppress", "0.5"),
                    ],
                },
            ]),
            default: "article",
            meaning: "whose values",
            from: "paper: Xu et al.; files: ndn-consumer-pcon, and ndn-tools, pcon-client",
        },
        Parameter::number(
            "beta",
            (0.1, 0.99),
            "0.875",
            "what is left of W",
            "paper: Xu et al., 1 − β with β = 0.125",
        ),
        Parameter::number(
            "low_beta",
            (0.1, 0.99),
            "0.5",
            "what is left of W below `low_window`",
            "paper: Xu et al., as TCP",
        ),
        Parameter::number(
            "low_window",
            (1.0, 1e6),
            "14",
            "W from which on the law is BIC",
            "paper: Xu et al., low_window",
        ),
        Parameter::number(
            "max_increment",
            (1.0, 1e6),
            "32",
            "S_max, most growth in a round trip",
            "paper: Xu et al.",
        ),
        Parameter::number(
            "min_increment",
            (0.0, 1.0),
            "0.01",
            "S_min, least growth in a round trip",
            "paper: Xu et al.",
        ),
        initial_window("4", "paper: RFC 5681, section 3.1, for segments up to 1095 B"),
        min_window("2", "paper: RFC 5681, (4)"),
        REACTION[0],
        REACTION[1],
        REACTION[2],
    ],
    build: |params| {
        Box::new(WindowScheme::<Bic> { law: Settings::new(params), reaction: Reaction::new(params) })
    },
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) beta: f64,
    pub(crate) low_beta: f64,
    pub(crate) low_window: f64,
    pub(crate) max_increment: f64,
    pub(crate) min_increment: f64,
    pub(crate) bounds: Bounds,
}

impl Settings {
    fn new(params: &Params) -> Settings {
        Settings {
            beta: params.number("beta"),
            low_beta: params.number("low_beta"),
            low_window: params.number("low_window"),
            max_increment: params.number("max_increment"),
            min_increment: params.number("min_increment"),
            bounds: Bounds::new(params),
        }
    }

    /// With the values that both codes of PCON have.
    pub(crate) fn of_pcon(beta: f64, bounds: Bounds) -> Settings {
        let (low_window, max_increment, min_increment) = (14.0, 16.0, 0.0);
        Settings { beta, low_beta: beta, low_window, max_increment, min_increment, bounds }
    }
}

/// Max probing: growth in this round trip, and W at its end.
#[derive(Clone, Copy, Debug)]
struct Probing {
    step: f64,
    until: f64,
}

/// The law.
#[derive(Debug)]
pub(crate) struct Bic {
    settings: Settings,
    window: f64,
    ssthresh: f64,
    /// W_max.
    highest: f64,
    /// The middle between W_min, which is W, and W_max.
    target: f64,
    probing: Option<Probing>,
}

impl Bic {
    /// Growth in a round trip.
    fn step(&mut self) -> f64 {
        if self.window < self.settings.low_window {
            return if self.window < self.ssthresh { self.window } else { 1.0 };
        }
        match self.probing {
            Some(Probing { step, .. }) => step,
            None => {
                let Settings { min_increment, max_increment, .. } = self.settings;
                (self.target - self.window).clamp(min_increment, max_increment)
            }
        }
    }

    /// W has grown.
    fn search(&mut self) {
        if let Some(Probing { step, until }) = &mut self.probing {
            if self.window >= *until {
                *step *= 2.0;
                *until = self.window + *step;
            }
            if *step >= self.settings.max_increment {
                self.probing = None;
            }
        }
        if self.probing.is_none() && self.window + CLOSE < self.highest {
            self.target = (self.highest + self.window) / 2.0;
        } else if self.probing.is_none() {
            self.probing = Some(Probing { step: 1.0, until: self.window + 1.0 });
            (self.highest, self.target) = (f64::INFINITY, f64::INFINITY);
        }
    }
}

impl WindowLaw for Bic {
    type Settings = Settings;

    fn new(settings: Settings) -> Bic {
        let (ssthresh, highest, target) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        Bic { settings, window: settings.bounds.initial, ssthresh, highest, target, probing: None }
    }

    fn window(&self) -> f64 {
        self.window
    }

    fn increase(&mut self, _ev: &DataReceived<'_>) {
        let is_low = self.window < self.settings.low_window;
        let step = self.step();
        self.window = self.settings.bounds.clamp(self.window + step / self.window);
        if !is_low {
            self.search();
        }
    }

    fn decrease(&mut self, _now: Time, _pending: u32) {
        let Settings { beta, low_beta, low_window, bounds, .. } = self.settings;
        if self.window < low_window {
            self.window = bounds.clamp(self.window * low_beta);
            self.ssthresh = self.window;
            return;
        }
        let earlier = self.highest;
        self.highest = self.window;
        self.window = bounds.clamp(self.window * beta);
        if earlier > self.highest && earlier.is_finite() {
            // Fast convergence: who had more before leaves the others something.
            self.highest = (self.highest + self.window) / 2.0;
        }
        self.target = (self.highest + self.window) / 2.0;
        self.probing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipe::{self, article};
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::units::Span;

    /// A law with its article's values that had congestion at this window.
    fn after_congestion(window: f64) -> Bic {
        let mut bic = Bic::new(Settings::new(&article(&ENTRY)));
        bic.window = window;
        bic.decrease(Time::ZERO, 1);
        bic
    }

    /// The window after each of so many round trips.
    fn rounds(bic: &mut Bic, count: usize) -> Vec<f64> {
        let (packet, mut random) = (Packet::default(), Random::named(1, "bic"));
        let mut round = || {
            for _ in 0..bic.window as u32 {
                bic.increase(&pipe::data(&packet, Time::ZERO, Span::ZERO, &mut random));
            }
            bic.window
        };
        (0..count).map(|_| round()).collect()
    }

    #[test]
    fn far_from_the_middle_it_grows_by_the_largest_increment() {
        let mut bic = after_congestion(1000.0);
        assert_eq!((bic.window, bic.target), (875.0, 937.5));
        let windows = rounds(&mut bic, 1);
        assert!((windows[0] - 907.0).abs() < 1.0, "875 + 32: {windows:?}");
    }

    #[test]
    fn near_the_middle_each_round_trip_closes_the_same_part_of_the_gap() {
        let mut bic = after_congestion(200.0);
        assert_eq!(bic.window, 175.0);
        let gaps: Vec<f64> = [175.0].into_iter().chain(rounds(&mut bic, 6)).map(|w| 200.0 - w).collect();
        for pair in gaps.windows(2) {
            let left = pair[1] / pair[0];
            assert!((left - (-0.5_f64).exp()).abs() < 0.01, "{left} of the gap is left: {gaps:?}");
        }
    }

    #[test]
    fn beyond_the_old_maximum_it_probes_by_one_two_four_and_then_the_largest_increment() {
        let mut bic = after_congestion(100.0);
        while bic.probing.is_none() {
            rounds(&mut bic, 1);
        }
        assert!(bic.window > 99.9 && bic.window < 102.0, "{}", bic.window);
        let windows = rounds(&mut bic, 9);
        let steps: Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.windows(2).all(|pair| pair[1] > 0.9 * pair[0]), "ever more: {steps:?}");
        assert!(steps[0] < 4.0 && (29.0..=32.0).contains(&steps[7]), "up to 32: {steps:?}");
    }

    #[test]
    fn with_less_than_the_last_time_it_aims_lower_and_small_windows_are_halved() {
        let mut bic = after_congestion(100.0);
        bic.decrease(Time::ZERO, 1);
        assert_eq!(bic.window, 0.875 * 87.5);
        assert_eq!(bic.highest, (87.5 + 0.875 * 87.5) / 2.0);
        bic.window = 10.0;
        bic.decrease(Time::ZERO, 1);
        assert_eq!(bic.window, 5.0);
    }
}
