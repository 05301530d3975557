//! OMCC-RF: G. Carofiglio, M. Gallo, L. Muscariello, M. Papalini, S. Wang, "Optimal Multipath Congestion Control and
//! Request Forwarding in Information-Centric Networks" (ICNP 2013).
//!
//! Consumers have a window, and decrease it with a probability that follows the queueing delay of each route (RAAQM,
//! `raaqm.rs`). Routers send Interests to the next hops with the fewest pending Interests (RFA, `../rfa`). Each face
//! adds itself to the label of the Data that arrive on it (`../path_label.rs`).
//!
//! # Deviations from the paper
//! 1. **The window's law is that of hICN's libtransport, published later by the authors' group.** Only the article's
//!    abstract was available. p_max and β are those of the configuration file of the library (consumer.conf).
//!    CCN-PLsim, the group's simulator of the year before, has the same law, p_min and number of samples; there p_max
//!    and β are options. hICN does not define the forwarding and some details. These follow the code of QSCCP's
//!    authors. The variants have the constants of that code.
//! 2. **Slow start is that of QSCCP's authors, and only in their variants (`slow_start`).** Neither hICN nor CCN-PLsim
//!    has one.
//! 3. **A Data either raises the window or lowers it, as in the code of QSCCP's authors.** In hICN and CCN-PLsim it
//!    always raises the window, and may lower it afterwards.
//! 4. **A next hop with a mean of less than one pending Interest has the weight 1, as in the code of QSCCP's authors.**
//!    In CCN-PLsim the weight is 1/avgPI, down to avgPI = 0.1.
//! 5. **Route labels are hashes.** The code appends a decimal digit for each face, which is too little for more than
//!    ten faces.
//! 6. **An Interest that was sent more than once gives no round-trip time.** The consumer cannot know which
//!    transmission was answered. Its Data raises the window, as in CCN-PLsim. In hICN it does not raise the window. In
//!    the code of QSCCP's authors it gives a round-trip time.
//! 7. **A Data removes its Interest from PI at every next hop to which the Interest was sent, as in the simulator of
//!    HbHCM's authors.** In the code of QSCCP's authors PI of the other next hops counts it for ever
//!    (`unanswered_stays`). A Nack removes it from PI of its next hop. A retransmission to the same next hop is not
//!    counted again.
//! 8. **PI counts by the prefix of the FIB entry, not by the first component of the name.** Interests of applications
//!    on the node are distributed like others. In the code they all go to the first next hop.
//! 9. **A node does not forward a retransmission within the round-trip time of its prefix, at most 100 ms, after the
//!    last transmission.** It always aggregates an Interest of another downstream face. The code suppresses both for a
//!    time that doubles from 10 ms to 250 ms (`reforward_after` of a node).
//! 10. **A Nack lowers the window as a timeout does.** hICN has no Nacks, and the code ignores them.
//! 11. **p_r counts from the 30th sample, as in hICN and CCN-PLsim.** In the code it counts from the 31st.
//! 12. **The variant `hbhcm` follows a program that HbHCM's authors have published, ndn-consumer-raaqm.cpp.**
//!     It takes the smallest round-trip time of all (its path-manager), and tolerates 5 ms of queueing delay.
//!     It decreases at most once a window. A timeout leaves a window of one. In the program p_r counts from
//!     the first sample. It is not known whether their figures were made with it. DPCCP's authors wrote a
//!     program from the article, and have not published it.
//! 13. **A consumer forgets the round-trip times of a route after 2 s of silence, and distinguishes 64
//!     routes.** Further routes share the last one, because labels come from the network.

pub(crate) mod raaqm;

use weir_core::parameters;
use weir_core::seam::params::Variant;
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, Strategy};

use crate::late_data;
use crate::path_label::{LabellingQueue, PATH_LABEL, note_arrival};
use crate::registry::Entry;
use crate::rfa::{Averaging, Choice, RequestForwarding, Rule};
use raaqm::{Law, Raaqm};

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "omcc-rf",
    title: "a window that decreases at random with a route's delay; Interests go where fewest are pending",
    citation: "G. Carofiglio et al., Optimal Multipath Congestion Control and Request Forwarding in Information-Centric Networks, ICNP 2013",
    parameters: OmccRf::PARAMETERS,
    signals: &[PATH_LABEL],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(OmccRf::new(params)),
};

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

/// The same code with its faults.
macro_rules! faulty {
    ($p_max:literal, $decrease:literal) => {
        authors!($p_max, $decrease, ("late_data_twice", "true"), ("unanswered_stays", "true"))
    };
}

const VARIANTS: &[Variant] = &[
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
            ("minimum", "all"),
            ("tolerance", "5 ms"),
            ("spaced", "true"),
            ("restart", "true"),
            ("forwarding", "least-pending"),
        ],
    },
];

parameters! {
    /// The plug-in of OMCC-RF.
    #[derive(Clone, Copy, Debug)]
    pub struct OmccRf {
        /// the source of the other defaults: the article; the code of QSCCP's authors (`qsccp`), with the constants
        /// of their scenario 3 (`-diamond`) or of their scenarios 6 and 7 (`-backbone`), and the same with the faults
        /// of that code (`as-published-`); the code of HbHCM's and DPCCP's authors (`hbhcm`)
        _ = variant("variant", VARIANTS) default "article"
            from "assumed: the article where they differ";
        law: Law = group;
        /// next hop: a random one in proportion to 1/avgPI, or always the one with the fewest pending Interests
        rule: Rule = choice("forwarding") default "weighted"
            from "files: the code of QSCCP's authors; least-pending: that of HbHCM's authors";
        averaging: Averaging = group;
        late_data: late_data::Settings = group;
        /// whether only one transmission of an answered Interest, at the next hop of its Data, is removed from PI, so that
        /// the others stay counted for ever
        unanswered_stays: bool = switch("unanswered_stays") default "false"
            from "files: a fault of OMCCRFStrategy.cpp";
    }
}

impl Scheme for OmccRf {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(Raaqm::new(self.law.ordered(), self.late_data))
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        let choice = Choice::new(self.rule, self.averaging);
        Box::new(RequestForwarding::new(choice).with_unanswered(self.unanswered_stays))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(LabellingQueue::new(face, note_arrival))
    }
}
