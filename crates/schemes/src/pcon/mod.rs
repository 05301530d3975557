//! PCON: K. Schneider, C. Yi, B. Zhang, L. Zhang, "A Practical Congestion Control Scheme for Named Data Networking",
//! ACM ICN 2016.
//!
//! Each queue marks packets while packets wait too long in it (`marking.rs`). The mark of an Interest comes back on its
//! Data. Routers move traffic away from the next hops from which marks come (`forwarding.rs`). Consumers respond to
//! marks with their window (laws and machinery in `window`).
//!
//! ```text
//!   consumer --Interest--> [queue, marks] --> router: remembers the mark --> producer
//!   consumer <--Data, CongestionMark-- router: max(Data's, Interest's, own queue's) <-- producer
//! ```
//!
//! # Deviations from the paper
//! Only the abstract of the article was available. `article` means the code of the article's author from 2016
//! (`pcon-strategy`, `codel-queue2`, `ndn-consumer-pcon` with its class ConsumerCC). DPCCP's article says that PCON
//! sometimes moves traffic back to shorter paths; that code does not.
//! 1. **The queue marks the packet that is leaving when a mark is due.** The code sets a flag, and marks the next
//!    packet that is sent to the face. So its marks wait in the queue once more.
//! 2. **The next node removes the mark of an Interest.** The mark is for the node that sent the Interest. Otherwise
//!    this node and all nodes upstream would remember it as their own congestion.
//! 3. **Copies of a probe have the Interest's nonce.** The code gives them new nonces. So where copies meet again, one
//!    of them is refused as a duplicate, and its Data does not come twice.
//! 4. **At first the cheapest next hop has all of the traffic.** In the code it is the one with the smallest face
//!    number. A next hop whose face goes down leaves its part to the others.
//! 5. **Every Nack for congestion counts, at most one in 110 ms for a prefix.** The code counts those with a mark, one
//!    in 110 ms for all prefixes. An Interest that came back as a Nack goes to a next hop that was not tried, if there
//!    is one.
//! 6. **An Interest that expires moves traffic away from each next hop to which it was sent.** The code moves it away
//!    from the first one as often.
//! 7. **A consumer has at most ⌊W⌋ Interests pending.** ConsumerCC has ⌊W⌋ + 1, the later ConsumerPcon and pcon-client
//!    ⌈W⌉.
//! 8. **Each timeout doubles the RTO before `min_rto` limits it.** The code doubles min_rto as well, up to eight times.
//!
//! There are four variants. `qsccp` has the rules of the program with which the QSCCP authors compare (`qsccp/pcon`,
//! whose consumer is ConsumerPcon), without its faults. `as-published` adds the fault of that program's consumer. In
//! both, more than 10 000 waiting bytes cause a mark, Interests' marks do not come back, and there are no probes.
//! Timeouts and Nacks move no traffic, and a mark moves five times as much. Each decrease of the window is guarded, for
//! one and a half windows. `nfd` is the same as `qsccp` with the default threshold of NFD, 65 536 bytes. The nodes of
//! the authors' program also repeat Interests of other downstream faces after 10 to 250 ms (`reforward_after` of a
//! node), send those of applications to the first next hop whatever its part, and return Nacks. Here the next hop of an
//! application's Interest is drawn, and a Nack is tried elsewhere.
//!
//! The article has the law `bic` with β = 0.5; the variants have `bic` with 0.8. ConsumerPcon also has `reno` with 0.5
//! and `cubic` with 0.8. `cubic` here equals that one, without W_est. `bbr` is in neither program; it ignores
//! marks.

mod forwarding;
mod marking;

use weir_core::seam::params::{Params, Variant};
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, Strategy};
use weir_core::units::Span;
use weir_core::{choice, parameters};

use crate::late_data;
use crate::registry::Entry;
use crate::window::{Bounds, Guard, Reaction, Recovery, Signs, Unit, WindowFlow, bbr, bic, cubic, reno};

/// The settings that the QSCCP authors' build and NFD's own code share.
macro_rules! stock {
    ($($more:expr),*) => {
        &[
            ("marking", "bytes"),
            ("reverse_marks", "false"),
            ("change_per_mark", "0.1"),
            ("probing", "0"),
            ("adapt_to_losses", "false"),
            ("beta", "0.8"),
            ("cwa_for_marks", "true"),
            ("add_rtt_suppress", "0.5"),
            ("min_rto", "200 ms"),
            $($more),*
        ]
    };
}

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "pcon",
    title: "marks from queueing delay, traffic moved away from them, a window at the consumer",
    citation: "K. Schneider, C. Yi, B. Zhang, L. Zhang, A Practical Congestion Control Scheme for Named Data \
               Networking, ACM ICN 2016",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(Pcon::new(params)),
};

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant { name: "qsccp", defaults: stock!() },
    Variant { name: "as-published", defaults: stock!(("late_data_twice", "true")) },
    Variant { name: "nfd", defaults: stock!(("threshold", "65536 B")) },
];

parameters! {
    /// The parameters.
    struct Parameters {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article"
            from "paper: Schneider et al.; files: qsccp/pcon, and NFD 0.7";
        marking: marking::Settings = group;
        forwarding: forwarding::Settings = group;
        /// the consumer's window law
        law: LawName = choice("law") default "bic"
            from "files: ndn-consumer-pcon of 2016 has bic alone, that of ndnSIM 2.3 on the first three; \
                  assumed: bbr, for comparison, which ignores marks";
        /// the part of W that a decrease leaves, except with bbr
        beta: f64 = number("beta", 0.1..=0.99) default "0.5"
            from "files: ndn-consumer-pcon of 2016, BETA; that of ndnSIM 2.3 on: 0.5 for reno, 0.8 for bic and cubic";
        /// conservative window adaptation for marks; losses are always guarded
        cwa_for_marks: bool = switch("cwa_for_marks") default "false"
            from "files: ndn-consumer-pcon of 2016, where CoDel spaces marks already";
        /// windows beyond one between two guarded decreases
        add_rtt_suppress: f64 = number("add_rtt_suppress", 0.0..=10.0) default "0"
            from "files: ndn-consumer-pcon of 2016, none; that of ndnSIM 2.3 on, AddRttSuppress: 0.5";
        bounds: Bounds = group {
            initial_window default "1" from "files: ndn-consumer-window, Window";
            min_window default "1" from "files: ndn-consumer-pcon, the initial window; bbr has at least 4";
        };
        /// smallest RTO; the largest is the Interest lifetime
        min_rto: Span = span("min_rto", Span::ZERO..=Span::from_secs(200)) default "1100 ms"
            from "files: pcon_scen1, MinRTO; the other original scenarios have 200 and 300 ms, its attribute 200 ms";
        late_data: late_data::Settings = group;
        unit: Unit = group;
    }
}

choice! {
    /// The name of the consumer's window law.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum LawName {
        /// BIC, the law of the consumer of 2016.
        Bic = "bic",
        /// Reno.
        Reno = "reno",
        /// CUBIC.
        Cubic = "cubic",
        /// BBR, which ignores marks.
        Bbr = "bbr",
    }
}

/// The consumer's window law.
#[derive(Clone, Copy, Debug)]
enum Law {
    Reno(reno::Settings),
    Bic(bic::Settings),
    Cubic(cubic::Settings),
    Bbr(bbr::Settings),
}

impl Law {
    fn new(name: LawName, beta: f64, bounds: Bounds) -> Law {
        match name {
            LawName::Bic => Law::Bic(bic::Settings::of_pcon(beta, bounds)),
            LawName::Reno => Law::Reno(reno::Settings { beta, bounds }),
            LawName::Cubic => Law::Cubic(cubic::Settings::of_pcon(beta, bounds)),
            LawName::Bbr => {
                let least = bounds.least.max(bbr::MIN_PIPE_WINDOW);
                Law::Bbr(bbr::Settings::article(Bounds { least, ..bounds }))
            }
        }
    }
}

/// The plug-in of PCON.
#[derive(Clone, Copy, Debug)]
pub struct Pcon {
    marking: marking::Rule,
    forwarding: forwarding::Settings,
    law: Law,
    reaction: Reaction,
}

impl Pcon {
    fn new(params: &Params) -> Pcon {
        let given = Parameters::new(params);
        let (marks, add_rtt) = (given.cwa_for_marks, given.add_rtt_suppress);
        let law = Law::new(given.law, given.beta, given.bounds);
        Pcon {
            marking: marking::Rule::new(&given.marking),
            forwarding: given.forwarding,
            law,
            reaction: Reaction {
                signs: Signs { marks: !matches!(law, Law::Bbr(_)), losses: true },
                guard: Guard { marks, losses: true, by: Recovery::Segment, add_rtt },
                min_rto: given.min_rto,
                late_data_twice: given.late_data.is_counted_twice,
                unit: given.unit,
                spread: 0.0,
            },
        }
    }
}

impl Scheme for Pcon {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        let reaction = self.reaction;
        match self.law {
            Law::Reno(settings) => Box::new(WindowFlow::<reno::Reno>::new(settings, reaction)),
            Law::Bic(settings) => Box::new(WindowFlow::<bic::Bic>::new(settings, reaction)),
            Law::Cubic(settings) => Box::new(WindowFlow::<cubic::Cubic>::new(settings, reaction)),
            Law::Bbr(settings) => Box::new(WindowFlow::<bbr::Bbr>::new(settings, reaction)),
        }
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(forwarding::Forwarding::new(self.forwarding))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(marking::MarkingQueue::new(self.marking, face.limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::pipe::{FLOW, Outcome, Pipe};
    use weir_core::seam::params::Value;
    use weir_core::units::Rate;

    fn run(law: &str, variant: &str) -> Outcome {
        run_marked(law, variant, 50)
    }

    /// Runs a consumer of this law over a link that marks a packet if more than `mark_above` Data wait.
    fn run_marked(law: &str, variant: &str, mark_above: u32) -> Outcome {
        let (law, variant) = (Value::Text(law.to_owned()), Value::Text(variant.to_owned()));
        let params = Params::resolve(ENTRY.parameters, [("law", &law), ("variant", &variant)]).unwrap();
        let rate = Some(Rate::from_mbps(10));
        let pipe = Pipe { rate, limit: 1000, mark_above, delay: Span::from_millis(20), ..Pipe::default() };
        pipe.run(Pcon::new(&params).flow_control(&FLOW), 30)
    }

    /// Returns the decreases from 5 s on, as the parts of W that they leave.
    fn decreases(outcome: &Outcome) -> Vec<f64> {
        let steady: Vec<f64> = outcome
            .windows
            .iter()
            .filter(|(at, _)| at.as_secs_f64() > 5.0)
            .map(|(_, window)| *window)
            .collect();
        steady.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[1] / pair[0]).collect()
    }

    #[test]
    fn each_law_answers_marks_by_beta_and_bbr_does_not() {
        for law in ["bic", "reno", "cubic"] {
            for (variant, beta) in [("article", 0.5), ("qsccp", 0.8)] {
                let got = run(law, variant);
                let decreases = decreases(&got);
                assert_eq!(got.lost, 0, "{law}, {variant}");
                assert!(!decreases.is_empty(), "{law}, {variant}");
                // The window is never less than one.
                assert!(decreases.iter().all(|left| *left >= beta - 1e-9), "{law}, {variant}: {decreases:?}");
                assert!(decreases.iter().any(|left| *left < beta + 1e-9), "{law}, {variant}: {decreases:?}");
            }
        }
        let [marked, not] = [0, u32::MAX].map(|above| run_marked("bbr", "article", above).windows);
        let mean = |windows: &[(_, f64)]| windows.iter().map(|w| w.1).sum::<f64>() / windows.len() as f64;
        // A mark makes a Data some bytes longer.
        assert!((mean(&marked) / mean(&not) - 1.0).abs() < 0.01, "{} and {}", mean(&marked), mean(&not));
        let least = marked.iter().map(|(_, window)| *window).fold(f64::INFINITY, f64::min);
        assert_eq!(least, 4.0, "in PROBE_RTT, and never less");
    }

    /// In the article every mark counts, since CoDel spaces them. In the variants one counts in a window and
    /// a half.
    #[test]
    fn marks_are_guarded_in_the_variants_only() {
        let [article, qsccp] = ["article", "qsccp"].map(|variant| run("reno", variant));
        let run_of = |outcome: &Outcome| {
            let mut longest = 0;
            let mut in_a_row = 0;
            for pair in outcome.windows.windows(2) {
                in_a_row = if pair[1].1 < pair[0].1 { in_a_row + 1 } else { 0 };
                longest = longest.max(in_a_row);
            }
            longest
        };
        assert!(
            run_of(&article) > 3,
            "{}: Data of one window are marked one after the other",
            run_of(&article)
        );
        assert_eq!(run_of(&qsccp), 1);
    }
}
