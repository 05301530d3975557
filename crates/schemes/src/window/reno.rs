//! `reno`: additive increase, multiplicative decrease.
//!
//! M. Allman, V. Paxson, E. Blanton, "TCP Congestion Control", RFC 5681, and T. Henderson, S. Floyd,
//! A. Gurtov, Y. Nishida, "The NewReno Modification", RFC 6582, over NDN.
//!
//! - W < ssthresh, slow start: W += 1 at each Data (RFC 5681, (2))
//! - else, congestion avoidance: W += 1/W at each Data (RFC 5681, (3))
//! - congestion: ssthresh = max(β·W, 2), W = ssthresh (RFC 5681, (4), and section 3.2)
//!
//! # Deviations from the article
//! 1. A timeout or a Nack detects a loss, never duplicate acknowledgements, because Data need not come in order. So a
//!    timeout halves W as fast retransmit does, and does not set it to 1. Other Data still arrive and clock Interests.
//! 2. ssthresh is a part of W, not of the pending Interests. W grows only while at least half of it is used (RFC 7661),
//!    so the two differ little.
//! 3. A mark has the effect of a loss (RFC 3168), but W does not fall below 2 by marks either. Section 6.1.2 lets it
//!    fall to 1.
//! 4. Segments come in any order. So recovery depends on transmissions, as in RFC 9002, not on a highest segment.
//!
//! The variant `pcon-client` has the values of that client (ndn-tools, `tools/cc/pcon`). W begins at 1, which is also its
//! smallest value. Every loss decreases it, and marks do not. With `cwa` its recovery goes by segments. In the client the
//! lifetime does not bound the RTO, and a Nack is no signal; here both are as in the article.

use weir_core::parameters;
use weir_core::seam::DataReceived;
use weir_core::seam::params::Variant;

use super::{Bounds, Common, Configured, Congestion, PCON_CLIENT, WindowLaw, WindowScheme};
use crate::registry::Entry;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "reno",
    title: "Reno over NDN: additive increase, multiplicative decrease of a window",
    citation: "M. Allman et al., RFC 5681; T. Henderson et al., RFC 6582",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| {
        let Parameters { law, common } = Parameters::new(params);
        Box::new(WindowScheme::<Reno> { law, reaction: common.reaction() })
    },
};

const VARIANTS: &[Variant] =
    &[Variant { name: "article", defaults: &[] }, Variant { name: "pcon-client", defaults: &PCON_CLIENT }];

parameters! {
    /// The parameters of the scheme.
    struct Parameters {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article"
            from "paper: RFC 5681; files: ndn-tools, pcon-client";
        law: Settings = group;
        common: Common = group;
    }
}

parameters! {
    /// The parameters of the law.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Settings {
        /// β, the part of W that a decrease leaves
        pub(crate) beta: f64 = number("beta", 0.1..=0.99) default "0.5" from "paper: RFC 5681, (4)";
        pub(crate) bounds: Bounds = group {
            initial_window default "4" from "paper: RFC 5681, section 3.1, for segments up to 1095 B";
            min_window default "2" from "paper: RFC 5681, (4)";
        };
    }
}

/// The state of the law.
#[derive(Debug)]
pub(crate) struct Reno {
    settings: Settings,
    window: f64,
    ssthresh: f64,
}

impl Reno {
    /// Returns whether W is below ssthresh.
    pub(crate) fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }
}

impl Configured for Reno {
    type Settings = Settings;

    fn new(settings: Settings) -> Reno {
        Reno { settings, window: settings.bounds.first(), ssthresh: f64::INFINITY }
    }
}

impl WindowLaw for Reno {
    fn window(&self) -> f64 {
        self.window
    }

    fn increase(&mut self, _ev: &DataReceived<'_>, packets: f64) {
        let step = if self.is_in_slow_start() { packets } else { packets.min(self.window) / self.window };
        self.window = self.settings.bounds.clamp(self.window + step);
    }

    fn decrease(&mut self, _congestion: &Congestion) {
        self.window = self.settings.bounds.clamp(self.window * self.settings.beta);
        self.ssthresh = self.window;
    }

    fn on_longer_path(&mut self) {
        self.ssthresh = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pipe::{LOSS, Pipe, article};
    use super::*;
    use weir_core::units::{Span, Time};

    fn run(pipe: Pipe, secs: u64) -> super::super::pipe::Outcome {
        pipe.run((ENTRY.build)(&article(&ENTRY)).flow_control(&super::super::pipe::FLOW), secs)
    }

    /// M. Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997:
    /// W = C/√p with C = √(3/2) for periodic loss and 1.31 for random loss, each segment acknowledged.
    #[test]
    fn throughput_follows_the_square_root_law_of_random_loss() {
        for (loss, secs) in [(0.0001, 3000), (0.001, 1500), (0.01, 1500), (0.03, 1500)] {
            let pipe = Pipe { loss, ..Pipe::default() };
            let rtt = pipe.delay.as_secs_f64();
            let got = run(pipe, secs).delivered as f64 / secs as f64;
            let law = 1.31 / (rtt * loss.sqrt());
            assert!((got / law - 1.0).abs() < 0.1, "loss {loss}: {got} a second, law {law}");
        }
    }

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one_a_round_trip() {
        let (mut reno, mut random) = (
            Reno::new(Settings { beta: 0.5, bounds: Bounds { initial: 4.0, least: 2.0 } }),
            weir_core::random::Random::named(1, "reno"),
        );
        let data = weir_core::packet::Packet::default();
        let mut feed_of = |reno: &mut Reno, count: u32, packets: f64| {
            for _ in 0..count {
                reno.increase(&super::super::pipe::data(&data, Time::ZERO, Span::ZERO, &mut random), packets);
            }
        };
        let mut long = Reno::new(Settings { beta: 0.5, bounds: Bounds { initial: 12.0, least: 2.0 } });
        feed_of(&mut long, 2, 6.0);
        assert_eq!(long.window(), 24.0, "two Data of six packets are a window");
        long.decrease(&LOSS);
        feed_of(&mut long, 2, 6.0);
        assert!((long.window() - 13.0).abs() < 0.1, "{}", long.window());
        (0..10).for_each(|_| long.decrease(&LOSS));
        feed_of(&mut long, 1, 6.0);
        assert_eq!(long.window(), 3.0, "a Data that is longer than W is a window");
        let mut feed = |reno: &mut Reno, count: u32| feed_of(reno, count, 1.0);
        feed(&mut reno, 4);
        feed(&mut reno, 8);
        assert_eq!(reno.window(), 16.0);
        reno.decrease(&LOSS);
        assert_eq!(reno.window(), 8.0);
        feed(&mut reno, 8);
        assert!((reno.window() - 9.0).abs() < 0.06, "{}", reno.window());
        (0..10).for_each(|_| reno.decrease(&LOSS));
        assert_eq!(reno.window(), 2.0, "the floor");
    }
}
