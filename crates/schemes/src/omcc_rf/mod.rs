//! OMCC-RF: G. Carofiglio, M. Gallo, L. Muscariello, M. Papalini, S. Wang, "Optimal Multipath Congestion
//! Control and Request Forwarding in Information-Centric Networks" (ICNP 2013).
//!
//! Consumers hold a window and lower it with a probability that follows the queueing delay of each
//! route (RAAQM, `raaqm.rs`); routers send Interests where fewest are pending (RFA, `../rfa`), and
//! each face adds itself to the label of the Data that come by it (`../path_label.rs`).
//!
//! # Deviations from the paper
//! 1. Only the article's abstract could be had. The window's law is that of hICN's libtransport, which its authors' group
//!    has published later; p_max and β are those of the configuration that the library is shipped with (consumer.conf). CCN-PLsim,
//!    their simulator of the year before, has the same law, p_min and number of samples; there p_max and β are options.
//!    Forwarding, and where hICN leaves something open, are the code of QSCCP's authors, whose constants are the variants.
//! 2. Slow start is theirs, and in their variants only (`slow_start`): neither hICN nor CCN-PLsim has one.
//! 3. A Data raises the window or lowers it, as in their code; in hICN and CCN-PLsim it always raises it, and may lower it
//!    then.
//! 4. A next hop with less than one pending Interest on the mean has the weight 1, as in their code; in
//!    CCN-PLsim it is 1/avgPI, down to avgPI = 0.1.
//! 5. Route labels are hashes, and not decimal digits, which end at ten faces.
//! 6. A route has no sample of an Interest that was sent more than once: which of the sendings was answered is not
//!    known. Its Data raises the window, as in CCN-PLsim; in hICN it does not, and in the code of QSCCP's
//!    authors it is a sample.
//! 7. A Data takes its Interest off PI at every next hop that it was sent to, as in the simulator of HbHCM's
//!    authors; in the code of QSCCP's authors the others keep it for ever (`unanswered_stays`). So does a Nack at its next hop.
//!    An Interest that is sent again to the same next hop is not counted again.
//! 8. p of PI is the prefix of the FIB entry, and not the first component of the name. Interests of applications on the
//!    node are distributed like others; in the code they all go to its first next hop.
//! 9. A repeated Interest is absorbed for its prefix's round trip after its last sending, 100 ms at most, and another
//!    downstream's always, and neither for a time that doubles from 10 ms to 250 ms (`reforward_after` of a node).
//! 10. A Nack lowers the window as a timeout does. hICN has no Nacks, and the code ignores them.
//! 11. p_r counts from the 30th sample, as in hICN and CCN-PLsim; in the code from the 31st.
//! 12. The variant `hbhcm` is a program that HbHCM's authors have published, ndn-consumer-raaqm.cpp: it tolerates 5 ms of
//!     queueing, spaces decreases by a window, and a timeout leaves a window of one. There, p_r counts from the first sample.
//!     Whether their figures are of it is not known. DPCCP's authors wrote theirs from the article, and have not published it.
//! 13. The round-trip times of a route that was silent for 2 s are forgotten, and 64 routes are told apart;
//!     what is beyond shares the last one: labels come from strangers.

pub(crate) mod raaqm;

use weir_core::seam::params::{Parameter, ParameterKind, Params, Variant};
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, NodeConfig, Queue, Scheme, Strategy};
use weir_core::units::Span;

use crate::late_data::LATE_DATA_TWICE;
use crate::path_label::{LabellingQueue, PATH_LABEL, note_arrival};
use crate::registry::Entry;
use crate::rfa::{self, Choice, RequestForwarding};
use raaqm::{Law, Raaqm};

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "omcc-rf",
    title: "a window lowered by chance as a route's delay grows, Interests where fewest are pending",
    citation: "G. Carofiglio et al., Optimal Multipath Congestion Control and Request Forwarding in Information-Centric Networks, ICNP 2013",
    parameters: PARAMETERS,
    signals: &[PATH_LABEL],
    sharing: None,
    build: |params| Box::new(OmccRf::new(params)),
};

const PROBABILITY: (f64, f64) = (0.0, 1.0);
const WINDOW: (f64, f64) = (1.0, 1_048_576.0);

/// The code of QSCCP's authors, with these p_max and β.
macro_rules! authors {
    ($p_max:literal, $decrease:literal $(, $more:expr)*) => {
        &[
            ("p_min", "0.0001"),
            ("p_max", $p_max),
            ("decrease", $decrease),
            ("least_window", "10"),
            ("most_window", "1048576"),
            ("slow_start", "true"),
            $($more),*
        ]
    };
}

/// The same with the faults that it has.
macro_rules! faulty {
    ($p_max:literal, $decrease:literal) => {
        authors!($p_max, $decrease, ("late_data_twice", "true"), ("unanswered_stays", "true"))
    };
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "variant",
        kind: ParameterKind::Variant(&[
            Variant { name: "article", defaults: &[] },
            Variant { name: "qsccp", defaults: authors!("0.5", "0.8") },
            Variant { name: "qsccp-diamond", defaults: authors!("0.05", "0.95") },
            Variant { name: "qsccp-backbone", defaults: authors!("0.05", "0.98") },
            Variant { name: "as-published-diamond", defaults: faulty!("0.05", "0.95") },
            Variant { name: "as-published-backbone", defaults: faulty!("0.05", "0.98") },
            Variant {
                name: "hbhcm",
                defaults: &[
                    ("p_max", "0.5"),
                    ("decrease", "0.875"),
                    ("most_window", "1048576"),
                    ("slow_start", "true"),
                    ("tolerance", "5 ms"),
                    ("spaced", "true"),
                    ("restart", "true"),
                    ("forwarding", "least-pending"),
                ],
            },
        ]),
        default: "article",
        meaning: "the source of the other defaults: the article; the code of QSCCP's authors, their scenario 3, or their scenarios 6 and 7, and these two with the errors of that code; the code of HbHCM's and DPCCP's authors",
        from: "assumed: the article where they differ",
    },
    Parameter::integer(
        "samples",
        (2, 4096),
        "30",
        "round-trip times in the window of a route",
        "files: hICN, libtransport; the code of QSCCP's authors",
    ),
    Parameter::number(
        "p_min",
        PROBABILITY,
        "0.00001",
        "p_min, least probability of a decrease",
        "files: hICN, libtransport",
    ),
    Parameter::number(
        "p_max",
        PROBABILITY,
        "0.00301",
        "p_max, greatest probability of a decrease; p_min if it is less",
        "files: hICN, consumer.conf, p_min and a drop factor of 0.003",
    ),
    Parameter::number(
        "decrease",
        (0.01, 1.0),
        "0.99",
        "β, what is left of the window after a decrease",
        "files: hICN, consumer.conf",
    ),
    Parameter::number(
        "increase",
        (0.0, 1000.0),
        "1",
        "γ, growth of the window in a round trip",
        "files: hICN, libtransport",
    ),
    Parameter::number(
        "initial_window",
        WINDOW,
        "1",
        "window at the start, Interests",
        "files: hICN, libtransport; ndnSIM, ConsumerWindow",
    ),
    Parameter::number(
        "least_window",
        WINDOW,
        "1",
        "what a decrease leaves of the window at the least, Interests",
        "files: hICN, libtransport",
    ),
    Parameter::number(
        "most_window",
        WINDOW,
        "512",
        "upper bound of the window, Interests; `least_window` if it is less",
        "files: hICN, libtransport",
    ),
    Parameter::switch(
        "slow_start",
        "false",
        "whether the window grows by 1 with each Data until it first falls, and then up to where it fell to",
        "files: hICN, libtransport",
    ),
    Parameter::span(
        "tolerance",
        (Span::ZERO, Span::from_secs(10)),
        "0 ms",
        "queueing up to it is noise: it never lowers the window, and p_r counts from it on",
        "files: hICN, libtransport has none; ndn-consumer-raaqm.cpp, 5 ms",
    ),
    Parameter::switch(
        "spaced",
        "false",
        "whether after a decrease the route has no other for as many Data as the window had Interests",
        "files: hICN, libtransport; ndn-consumer-raaqm.cpp has it",
    ),
    Parameter::switch(
        "restart",
        "false",
        "whether a timeout leaves the initial window, and not what a decrease leaves",
        "files: hICN, libtransport; ndn-consumer-raaqm.cpp has it",
    ),
    Parameter {
        key: "forwarding",
        kind: ParameterKind::Choice(&["weighted", "least-pending"]),
        default: "weighted",
        meaning: "next hop: a random one in proportion to 1/avgPI, or always the one with the fewest pending Interests",
        from: "files: the code of QSCCP's authors; least-pending: that of HbHCM's authors",
    },
    rfa::GAIN,
    LATE_DATA_TWICE,
    rfa::UNANSWERED_STAYS,
];

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct OmccRf {
    law: Law,
    choice: Choice,
    unanswered_stays: bool,
}

impl OmccRf {
    fn new(params: &Params) -> OmccRf {
        let law = Law {
            samples: params.integer("samples") as usize,
            p_min: params.number("p_min"),
            p_max: params.number("p_max").max(params.number("p_min")),
            decrease: params.number("decrease"),
            increase: params.number("increase"),
            initial: params.number("initial_window"),
            least: params.number("least_window"),
            most: params.number("most_window").max(params.number("least_window")),
            slow_start: params.switch("slow_start"),
            tolerance: params.span("tolerance"),
            spaced: params.switch("spaced"),
            restart: params.switch("restart"),
            late_data_twice: params.switch(LATE_DATA_TWICE.key),
        };
        let unanswered_stays = params.switch(rfa::UNANSWERED_STAYS.key);
        OmccRf { law, choice: Choice::new(params), unanswered_stays }
    }
}

impl Scheme for OmccRf {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(Raaqm::new(self.law))
    }

    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        Box::new(RequestForwarding::new(self.choice).with_unanswered(self.unanswered_stays))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(LabellingQueue::new(face, note_arrival))
    }
}
