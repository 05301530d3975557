//! `bic`: binary increase congestion control.
//!
//! L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance
//! Networks", INFOCOM 2004, section III, over NDN.
//!
//! W_max is the window at the last congestion, W_min the window after the decrease. Between them the law makes a binary
//! search. Far from the middle W grows by S_max a round trip. Above W_max the law searches for a new maximum, by 1, 2,
//! 4, … a round trip (*max probing*). Below `low_window` it is Reno.
//!
//! # Deviations from the article
//! 1. Deviations 1 to 4 of `reno` apply.
//! 2. The middle is computed at each Data, as in the article's pseudo-code, not once a round trip as in its text. So a
//!    round trip closes 1 − e^(−1/2) = 39 % of the gap, not half of it.
//! 3. Before the first congestion W_max and the target are infinite. The programs begin with a target of 0, and take 1
//!    from the first window above `low_window`.
//! 4. A decrease ends max probing. In the programs it continues with its old target, above the window at which there
//!    was congestion.
//! 5. S_min is the smallest growth in all phases. When the search ends, W and W_max differ too little to matter.
//!
//! Variants: `pcon` is the consumer of the original PCON (β 0.5). `pcon-client` is the consumer of the QSCCP authors
//! (β 0.8). Both grow by at most 16 a round trip, and their slow start ends at `low_window`.

use weir_core::seam::DataReceived;
use weir_core::seam::params::Variant;
use weir_core::{choice, parameters};

use super::{Bounds, Common, Configured, Congestion, PCON_CLIENT, WindowLaw, WindowScheme, join};
use crate::registry::Entry;

/// The largest distance of W from W_max that counts as equal, as in the codes, packets.
const CLOSE: f64 = 1e-5;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "bic",
    title: "BIC over NDN: a binary search for the window",
    citation: "L. Xu, K. Harfoush, I. Rhee, Binary Increase Congestion Control (BIC) for Fast Long-Distance \
               Networks, INFOCOM 2004",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| {
        let Parameters { law, common } = Parameters::new(params);
        Box::new(WindowScheme::<Bic> { law, reaction: common.reaction() })
    },
};

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant {
        name: "pcon",
        defaults: &[
            ("beta", "0.5"),
            ("max_increment", "16"),
            ("min_increment", "0"),
            ("slow_start", "low_window"),
            ("initial_window", "1"),
            ("min_window", "1"),
            ("recovery", "segment"),
        ],
    },
    Variant {
        name: "pcon-client",
        defaults: &join::<_, _, _, 11>(
            [
                ("beta", "0.8"),
                ("low_beta", "0.8"),
                ("max_increment", "16"),
                ("min_increment", "0"),
                ("slow_start", "low_window"),
            ],
            PCON_CLIENT,
        ),
    },
];

parameters! {
    /// The parameters of the scheme.
    struct Parameters {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article"
            from "paper: Xu et al.; files: ndn-consumer-pcon, and ndn-tools, pcon-client";
        law: Settings = group;
        common: Common = group;
    }
}

parameters! {
    /// The parameters of the law.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Settings {
        /// the part of W that a decrease leaves
        pub(crate) beta: f64 = number("beta", 0.1..=0.99) default "0.875" from "paper: Xu et al., 1 − β with β = 0.125";
        /// the part of W that a decrease leaves below `low_window`
        pub(crate) low_beta: f64 = number("low_beta", 0.1..=0.99) default "0.5" from "paper: Xu et al., as TCP";
        /// the smallest W for which the law is BIC, not Reno
        pub(crate) low_window: f64 = number("low_window", 1.0..=1e6) default "14" from "paper: Xu et al., low_window";
        /// S_max, the largest growth in a round trip
        pub(crate) max_increment: f64 = number("max_increment", 1.0..=1e6) default "32" from "paper: Xu et al.";
        /// S_min, the smallest growth in a round trip
        pub(crate) min_increment: f64 = number("min_increment", 0.0..=1.0) default "0.01" from "paper: Xu et al.";
        /// where slow start ends: at ssthresh; or also at `low_window`, and then only decreases below `low_window`
        /// set ssthresh
        pub(crate) slow_start: SlowStart = choice("slow_start") default "ssthresh"
            from "paper: RFC 5681, section 3.1, whose slow start BIC does not change; files: \
                  ndn-consumer-pcon, pcon-client: `low_window`";
        pub(crate) bounds: Bounds = group {
            initial_window default "4" from "paper: RFC 5681, section 3.1, for segments up to 1095 B";
            min_window default "2" from "paper: RFC 5681, (4)";
        };
    }
}

choice! {
    /// The end of slow start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum SlowStart {
        /// At ssthresh.
        Ssthresh = "ssthresh",
        /// At `low_window` too, whatever ssthresh is.
        LowWindow = "low_window",
    }
}

impl Settings {
    /// Returns the settings that both codes of PCON share.
    pub(crate) fn of_pcon(beta: f64, bounds: Bounds) -> Settings {
        let (low_window, max_increment, min_increment) = (14.0, 16.0, 0.0);
        let slow_start = SlowStart::LowWindow;
        Settings { beta, low_beta: beta, low_window, max_increment, min_increment, slow_start, bounds }
    }
}

/// Max probing: the growth in this round trip, and W at its end.
#[derive(Clone, Copy, Debug)]
struct Probing {
    step: f64,
    until: f64,
}

/// The state of the law.
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
    fn is_low(&self) -> bool {
        self.window < self.settings.low_window
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh && (self.is_low() || self.settings.slow_start == SlowStart::Ssthresh)
    }

    /// Returns the growth in a round trip.
    fn step(&self) -> f64 {
        if self.is_in_slow_start() {
            return self.window;
        }
        if self.is_low() {
            return 1.0;
        }
        let Settings { min_increment, max_increment, .. } = self.settings;
        match self.probing {
            Some(Probing { step, .. }) => step,
            None => (self.target - self.window).clamp(min_increment, max_increment),
        }
    }

    /// Updates the search after W has grown.
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

impl Configured for Bic {
    type Settings = Settings;

    fn new(settings: Settings) -> Bic {
        let (ssthresh, highest, target) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        Bic { settings, window: settings.bounds.first(), ssthresh, highest, target, probing: None }
    }
}

impl WindowLaw for Bic {
    fn window(&self) -> f64 {
        self.window
    }

    fn increase(&mut self, _ev: &DataReceived<'_>, packets: f64) {
        let is_as_reno = self.is_in_slow_start() || self.is_low();
        self.window =
            self.settings.bounds.clamp(self.window + packets.min(self.window) * self.step() / self.window);
        if !is_as_reno {
            self.search();
        }
    }

    fn decrease(&mut self, _congestion: &Congestion) {
        let Settings { beta, low_beta, slow_start, bounds, .. } = self.settings;
        if self.is_low() {
            self.window = bounds.clamp(self.window * low_beta);
            self.ssthresh = self.window;
            return;
        }
        let earlier = self.highest;
        self.highest = self.window;
        self.window = bounds.clamp(self.window * beta);
        if slow_start == SlowStart::Ssthresh {
            self.ssthresh = self.window;
        }
        if earlier > self.highest {
            // Fast convergence: a flow that had a higher W_max, or was probing, leaves room for others.
            self.highest = (self.highest + self.window) / 2.0;
        }
        self.target = (self.highest + self.window) / 2.0;
        self.probing = None;
    }

    fn on_longer_path(&mut self) {
        (self.ssthresh, self.highest, self.target) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        self.probing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipe::{self, LOSS, article, variant};
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::units::{Span, Time};

    /// Returns a law with the article's values that had congestion at this window.
    fn after_congestion(window: f64) -> Bic {
        let mut bic = Bic::new(Settings::new(&article(&ENTRY)));
        bic.window = window;
        bic.decrease(&LOSS);
        bic
    }

    /// Returns the window after each of `count` round trips.
    fn rounds(bic: &mut Bic, count: usize) -> Vec<f64> {
        let (packet, mut random) = (Packet::default(), Random::named(1, "bic"));
        let mut round = || {
            for _ in 0..bic.window as u32 {
                bic.increase(&pipe::data(&packet, Time::ZERO, Span::ZERO, &mut random), 1.0);
            }
            bic.window
        };
        (0..count).map(|_| round()).collect()
    }

    #[test]
    fn far_from_the_middle_it_grows_by_the_largest_increment() {
        let mut bic = after_congestion(1000.0);
        // W_max is the middle of 1000 and 875, because the earlier W_max was larger (infinite).
        assert_eq!((bic.window, bic.highest, bic.target), (875.0, 937.5, 906.25));
        bic.decrease(&LOSS);
        bic.window = 1000.0;
        bic.decrease(&LOSS);
        assert_eq!((bic.window, bic.target), (875.0, 937.5));
        let windows = rounds(&mut bic, 1);
        assert!((windows[0] - 907.0).abs() < 1.0, "875 + 32: {windows:?}");
    }

    #[test]
    fn near_the_middle_each_round_trip_closes_the_same_part_of_the_gap() {
        let mut bic = after_congestion(200.0);
        assert_eq!((bic.window, bic.highest), (175.0, 187.5));
        let gaps: Vec<f64> = [175.0].into_iter().chain(rounds(&mut bic, 6)).map(|w| 187.5 - w).collect();
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
        assert!(bic.window > 93.7 && bic.window < 95.8, "{}", bic.window);
        let windows = rounds(&mut bic, 9);
        let steps: Vec<f64> = windows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.windows(2).all(|pair| pair[1] > 0.9 * pair[0]), "ever more: {steps:?}");
        assert!(steps[0] < 4.0 && (29.0..=32.0).contains(&steps[7]), "up to 32: {steps:?}");
    }

    /// W_max is infinite before the first congestion, and during max probing.
    #[test]
    fn with_less_than_the_last_time_or_no_last_time_it_aims_lower() {
        let mut bic = after_congestion(100.0);
        assert_eq!((bic.window, bic.highest, bic.target), (87.5, 93.75, 90.625), "the first decrease");
        bic.decrease(&LOSS);
        assert_eq!(bic.window, 0.875 * 87.5);
        assert_eq!(bic.highest, (87.5 + 0.875 * 87.5) / 2.0, "less than the last time");
        bic.window = 200.0;
        bic.decrease(&LOSS);
        assert_eq!((bic.window, bic.highest), (175.0, 200.0), "more than the last time");
        while bic.probing.is_none() {
            rounds(&mut bic, 1);
        }
        bic.window = 300.0;
        bic.decrease(&LOSS);
        assert_eq!((bic.window, bic.highest), (262.5, 281.25), "while it probed");
    }

    #[test]
    fn small_windows_are_halved() {
        let mut bic = after_congestion(100.0);
        bic.window = 10.0;
        bic.decrease(&LOSS);
        assert_eq!((bic.window, bic.ssthresh, bic.highest), (5.0, 5.0, 93.75));
        assert!((rounds(&mut bic, 1)[0] - 6.0).abs() < 0.1, "one a round trip: {}", bic.window);
    }

    #[test]
    fn before_the_first_congestion_it_is_in_slow_start_as_tcp() {
        let mut bic = Bic::new(Settings::new(&article(&ENTRY)));
        assert_eq!(rounds(&mut bic, 5), [8.0, 16.0, 32.0, 64.0, 128.0]);
        let mut code = Bic::new(Settings::new(&variant(&ENTRY, "pcon")));
        let windows = rounds(&mut code, 6);
        assert_eq!(windows[..3], [2.0, 4.0, 8.0]);
        assert!(windows[5] - windows[4] <= 16.0, "16 a round trip from 14 on: {windows:?}");
    }

    /// A decrease at 15 ends below `low_window`. It sets ssthresh, so W grows by one a round trip from there.
    /// In the codes it does not, and W doubles until it is back.
    #[test]
    fn a_decrease_that_ends_below_low_window_is_no_reason_for_slow_start() {
        let mut bic = after_congestion(15.0);
        assert!((rounds(&mut bic, 1)[0] - 14.1).abs() < 0.1, "13.125 and 1: {}", bic.window);
        let mut code = Bic::new(Settings::new(&variant(&ENTRY, "pcon")));
        code.window = 15.0;
        code.decrease(&LOSS);
        assert_eq!(code.window, 7.5);
        assert!(rounds(&mut code, 1)[0] > 14.0, "doubled: {}", code.window);
    }
}
