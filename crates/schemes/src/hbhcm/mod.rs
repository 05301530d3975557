//! HbHCM and PAQM: Y. Ye, B. Lee, Y. Qiao, "Hop-by-Hop Congestion Measurement and Practical Active Queue Management in
//! NDN", 2020.
//!
//! Data carry the time that they took to reach the node that sends them. So each node can compute the time of the
//! previous hop and its queueing delay, and marks Data while this delay stays high. It need not see the queue:
//! congestion may be in devices without NDN.
//!
//! ```text
//!   consumer <-- Data: RttMeasure = r', mark -- node <-- Data: RttMeasure = r'', mark -- node <-- source
//!      AIMD on marks                   face: r - r'' = base RTT + queueing delay (HbHCM, `measurement.rs`, `base.rs`)
//!      (`consumer.rs`)                 queueing delay that lasts: marks (PAQM-CoDel, `paqm.rs`, by `face.rs`)
//!                                      r': what the node tells each downstream; next hops by RFA (`forwarding.rs`)
//! ```
//!
//! Where the paper leaves something open, this follows its authors' program (`ndnSIM-2.7-SLIM`): the constants of AIMD,
//! the details of RFA, and the variant `multipath`, which is their strategy of that name.
//!
//! # Deviations from the paper
//! 1. **The field and the mark are in the link header, not in the Data.** Each node may write the link header, and the
//!    Data's signature stays valid.
//! 2. **A node reports to each downstream the time since that downstream's Interest arrived, not one time for all.**
//!    With one time for all, the hop of a downstream whose Interest was aggregated would be too short or negative. For
//!    such a downstream the program writes 1234.
//! 3. **A Data gives no sample if its Interest was sent more than once, or if the hop would take no time or less.** In
//!    the first case it is unknown which Interest it answers. The program computes with unsigned numbers.
//! 4. **A minimum counts when three Data among 32 of the size have reached it.** So one wrong value does not set the
//!    base for ever. The paper and the program take the smallest sample. A face that closes forgets its hop.
//! 5. **Data without the field have a separate base and state (`measurement.rs`).** They are one hop only if they come
//!    from one place. If nodes without the scheme have a cache, aggregate Interests, or lead to sources at several
//!    distances, the nearest source sets the base and the others look congested. The paper's overlay has only devices
//!    that do none of this.
//! 6. **The line of the base RTT is bounded (`base.rs`).** W and c are not negative. If the line is above the minimum
//!    of a size, the minimum counts. The regression alone may be too high if all packets of a size have waited behind
//!    others.
//! 7. **Sizes within 64 bytes count as one, and 16 sizes are kept.** A further size replaces an unused one, or counts
//!    as the nearest one. The weight of a size is its recent frequency. The program does not compensate for sizes.
//! 8. **The consumer measures its first hop as a node does.** An application may be behind a socket, or on a node
//!    without the scheme.
//! 9. **The window does not grow while less than half of it is used.** An application that asks for little does not
//!    test the network.
//! 10. **A timeout or a Nack lowers W like a mark, with the same wait before the next decrease.** In the program
//!     timeouts do not change W (`react_to = "marks"`). Then a queue that overflows before its delay is 5 ms gives no
//!     signal. In the paper's four experiments both give the same figures. On a path that holds thousands of packets
//!     the first loss ends slow start early, and less of the path is used.
//! 11. **PI of RFA and repeated Interests are as in OMCC-RF here (its deviations 7 to 9).** An Interest does not return
//!     to the face that it came from. In the program it may.
//! 12. **The base RTT of a hop that has become longer rises (`base_renewal`, `longer.rs`).** The paper's is the minimum
//!     so far. Then a path that becomes longer looks congested for good. The paper's experiments are run without this.
//! 13. **No Interest counts as lost before 1.25 of the longest recent round trip.** If a near cache answers a
//!     part, RTO is that of the cache, and what the producer answers would time out.
//! 14. **PathId and RED are left out.** The program writes PathId but never reads it. The paper does not use the RED
//!     variant.

mod base;
mod consumer;
mod face;
mod forwarding;
mod longer;
mod measurement;
mod paqm;

use weir_core::parameters;
use weir_core::seam::params::Variant;
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, Strategy};

use crate::registry::Entry;
use crate::rfa::{Averaging, Choice, Rule};
use crate::rtt_measure::RTT_MEASURE;
use consumer::Aimd;
use face::MeasuringQueue;
use forwarding::MeasuringForwarding;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "hbhcm",
    title: "queueing delay of each hop from round-trip times in Data; marks while it lasts; an AIMD window",
    citation: "Y. Ye, B. Lee, Y. Qiao, Hop-by-Hop Congestion Measurement and Practical Active Queue Management in NDN, 2020",
    parameters: Hbhcm::PARAMETERS,
    signals: &[RTT_MEASURE],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(Hbhcm::new(params)),
};

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant { name: "multipath", defaults: &[("restart_interval", "20 ms"), ("immediate", "100 ms")] },
];

/// The names of the rules, the article's first.
const RULES: &[&str] = &[Rule::WORDS[1], Rule::WORDS[0]];

parameters! {
    /// The plug-in of HbHCM and PAQM.
    #[derive(Clone, Copy, Debug)]
    pub struct Hbhcm {
        /// the variant of PAQM
        _ = variant("variant", VARIANTS) default "article"
            from "paper: section IV-B; files: codel-mp-route-strategy.cpp, the code's for several paths";
        hop: measurement::Settings = group;
        /// next hop: always the one with the fewest pending Interests, or a random one in proportion to 1/avgPI as in
        /// OMCC-RF
        rule: Rule = choice("forwarding", RULES) default "least-pending"
            from "paper: section VI, RFA; files: rfa-route-strategy.cpp";
        averaging: Averaging = group {
            /// weight of the new value in avgPI; used only if `forwarding` is `weighted`
            gain default "0.1" from "files: OMCCRFStrategy.cpp";
        };
        aimd: consumer::Settings = group;
    }
}

impl Scheme for Hbhcm {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(Aimd::new(self.aimd, self.hop))
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(MeasuringForwarding::new(Choice::new(self.rule, self.averaging)))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(MeasuringQueue::new(self.hop, face))
    }
}
