//! PCON: K. Schneider, C. Yi, B. Zhang, L. Zhang, "A Practical Congestion Control Scheme for Named Data
//! Networking", ACM ICN 2016.
//!
//! Each queue marks packets while packets wait in it for too long (`marking.rs`); marks on an Interest
//! come back on its Data. Routers move traffic away from the next hops that marks come from
//! (`forwarding.rs`); consumers answer them by their window (laws and machinery in `window`).
//!
//! ```text
//!   consumer --Interest--> [queue, marks] --> router: remembers the mark --> producer
//!   consumer <--Data, CongestionMark-- router: max(Data's, Interest's, own queue's) <-- producer
//! ```
//!
//! # Deviations from the paper
//! The article's text was not at hand; it is taken from its author's published code (`pcon-strategy`,
//! `codel-queue2`, `ndn-consumer-pcon`).
//! 1. The queue marks the packet whose turn it is when a mark is due. The code sets a flag that the next
//!    packet takes that is sent to the face, so that its marks wait in the queue once more.
//! 2. A mark on an Interest is for the node that sent it. The next node takes it off, since it would be
//!    remembered there, too, and by all nodes upstream, as congestion of theirs.
//! 3. Copies of a probe have the Interest's nonce; the code gives them new ones. So where copies meet
//!    again one of them is refused as a duplicate, and its Data does not come twice.
//! 4. The next hop that begins with all of the traffic is the cheapest one; the code takes that with the
//!    smallest number of its face.
//! 5. Every Nack for congestion counts, at most one in 110 ms for a prefix; the code counts those that
//!    carry a mark. An Interest that came back goes to a next hop that was not tried, if there is one.
//!
//! Variants: `qsccp` is what the QSCCP authors compare with (`qsccp/pcon`): their marks tell of 10 000
//! waiting bytes, Interests' marks do not come back, there are no probes, neither timeouts nor Nacks move
//! traffic, a mark moves five times as much, and each decrease of the window is guarded. `nfd` is the same
//! with the threshold that NFD has by itself, 65 536 bytes.

mod forwarding;
mod marking;

use weir_core::params::{Parameter, ParameterKind, Params, Variant};
use weir_core::scheme::{FaceConfig, FlowConfig, FlowControl, NodeConfig, Queue, Scheme, Strategy};
use weir_core::units::Span;

use crate::registry::Entry;
use crate::window::{
    Bounds, Guard, Reaction, Signs, WindowFlow, bbr, bic, cubic, initial_window, min_window, reno,
};

/// What the QSCCP authors' build and NFD's own have in common.
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
            ("min_rto", "200 ms"),
            $($more),*
        ]
    };
}

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "pcon",
    title: "marks from queueing delay, traffic moved away from them, a window at the consumer",
    citation: "K. Schneider, C. Yi, B. Zhang, L. Zhang, A Practical Congestion Control Scheme for Named Data \
               Networking, ACM ICN 2016",
    parameters: &[
        Parameter {
            key: "variant",
            kind: ParameterKind::Variant(&[
                Variant { name: "article", defaults: &[] },
                Variant { name: "qsccp", defaults: stock!() },
                Variant { name: "nfd", defaults: stock!(("threshold", "65536 B")) },
            ]),
            default: "article",
            meaning: "whose values",
            from: "paper: Schneider et al.; files: qsccp/pcon, and NFD 0.7",
        },
        Parameter {
            key: "marking",
            kind: ParameterKind::Choice(&["codel", "bytes"]),
            default: "codel",
            meaning: "whether packets are marked for the time that they waited, or for the bytes that wait",
            from: "paper: Schneider et al., abstract, CoDel by queuing time",
        },
        Parameter::span(
            "target",
            (Span::from_micros(1), Span::from_secs(10)),
            "5 ms",
            "`codel`: waiting longer is congestion, if it lasts an interval",
            "files: codel-queue2.cc, Target",
        ),
        Parameter {
            key: "threshold",
            kind: ParameterKind::Bytes,
            default: "10000 B",
            meaning: "`bytes`: more waiting is congestion, if it lasts an interval",
            from: "files: qsccp/pcon, GenericLinkService",
        },
        Parameter::span(
            "interval",
            (Span::from_micros(1), Span::from_secs(10)),
            "100 ms",
            "how long congestion lasts before the first mark",
            "files: codel-queue2.cc, Interval; NFD, baseCongestionMarkingInterval",
        ),
        Parameter::number(
            "spacing",
            (0.1, 10.0),
            "1.1",
            "`codel`: the n-th mark is followed by the next after interval·spacing/√n",
            "files: codel-queue2.cc, 1.1 (CoDel itself: 1)",
        ),
        Parameter::switch(
            "reverse_marks",
            "true",
            "whether the mark on an Interest comes back on its Data",
            "files: pcon-strategy, the mark of the PIT entry",
        ),
        Parameter::number(
            "change_per_mark",
            (0.0, 1.0),
            "0.02",
            "part of a next hop's traffic that a mark moves to the others",
            "files: pcon-strategy, CHANGE_PER_MARK",
        ),
        Parameter::number(
            "probing",
            (0.0, 1.0),
            "0.001",
            "part of the Interests that go to all next hops",
            "files: pcon-strategy",
        ),
        Parameter::switch(
            "adapt_to_losses",
            "true",
            "whether timeouts and Nacks move traffic, `change_per_mark` of all of it",
            "files: pcon-strategy",
        ),
        Parameter {
            key: "law",
            kind: ParameterKind::Choice(&["bic", "reno", "cubic", "bbr"]),
            default: "bic",
            meaning: "the consumer's window law",
            from: "files: ndn-consumer-pcon, CcAlgorithm",
        },
        Parameter::number(
            "beta",
            (0.1, 0.99),
            "0.5",
            "what is left of W (the `qsccp` variant's 0.8 is for bic and cubic; its reno has 0.5)",
            "files: ndn-consumer-pcon, Beta",
        ),
        Parameter::switch(
            "cwa_for_marks",
            "false",
            "conservative window adaptation for marks; losses are always guarded",
            "files: ndn-consumer-pcon of 2016: CoDel spaces marks already",
        ),
        Parameter::number(
            "add_rtt_suppress",
            (0.0, 10.0),
            "0.5",
            "round trips beyond one between two guarded decreases",
            "files: ndn-consumer-pcon, AddRttSuppress",
        ),
        initial_window("1", "files: ndn-consumer-window, Window"),
        min_window("1", "files: ndn-consumer-pcon, the initial window"),
        Parameter::span(
            "min_rto",
            (Span::ZERO, Span::from_secs(200)),
            "1100 ms",
            "the least RTO; the Interest lifetime is the most",
            "files: the original scenarios, MinRTO",
        ),
    ],
    build: |params| Box::new(Pcon::new(params)),
};

/// The consumer's window law.
#[derive(Clone, Copy, Debug)]
enum Law {
    Reno(reno::Settings),
    Bic(bic::Settings),
    Cubic(cubic::Settings),
    Bbr(bbr::Settings),
}

impl Law {
    fn new(params: &Params) -> Law {
        let (beta, bounds) = (params.number("beta"), Bounds::new(params));
        match params.text("law") {
            "reno" => Law::Reno(reno::Settings { beta, bounds }),
            "cubic" => Law::Cubic(cubic::Settings::of_pcon(beta, bounds)),
            "bbr" => Law::Bbr(bbr::Settings::article(bounds)),
            _ => Law::Bic(bic::Settings::of_pcon(beta, bounds)),
        }
    }
}

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct Pcon {
    marking: marking::Rule,
    forwarding: forwarding::Settings,
    law: Law,
    reaction: Reaction,
}

impl Pcon {
    fn new(params: &Params) -> Pcon {
        let guard = Guard {
            marks: params.switch("cwa_for_marks"),
            losses: true,
            add_rtt: params.number("add_rtt_suppress"),
        };
        let signs = Signs { marks: true, losses: true };
        Pcon {
            marking: marking::Rule::new(params),
            forwarding: forwarding::Settings::new(params),
            law: Law::new(params),
            reaction: Reaction { signs, guard, min_rto: params.span("min_rto") },
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

    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        Box::new(forwarding::Forwarding::new(self.forwarding))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(marking::MarkingQueue::new(self.marking, face.limit))
    }
}
