//! QSCCP: H. Bai, H. Li, J. Que, A. Smahi, M. Zhang, P. H. J. Chong, S.-Y. R. Li, X. Wang, P. Lu, "QSCCP: A QoS-Aware
//! Congestion Control Protocol for Information-Centric Networking".
//!
//! One Interest brings at most one Data. Routers hold Interests back, by class and flow, so that their Data fit the link.
//! They tell each flow its rate, and consumers send at the rate that they are told.
//!
//! ```text
//!             Interest: ServiceClass, DownstreamRate, ExpectedSize
//!   consumer ------------------------------------------------------> producer
//!     CRA   <------------------------------------------------------
//!             Data: ServiceClass, TargetRate
//!
//!                        router
//!             +----------------------------------+
//!   Interest  |    tables            face        |
//!   --------->|   d_i  u_j    CDS: virtual queues|-----> upstream
//!             |   AF: f_j  -> class, flow, tokens|
//!   <---------|   (10)-(12)   PECN: (1)-(9)      |<----- Data
//!             +----------------------------------+
//! ```
//!
//! | module of the paper | section | here |
//! |---|---|---|
//! | CDS: which Interest leaves next | IV-C | `paper/cds/` |
//! | greedy flows | IV-C 3, IV-D | `paper/greedy.rs` |
//! | PECN: R_f of each flow, (1) to (9) | IV-D 1 | `paper/pecn.rs`; `paper/cds/period.rs` has (4), and all of them each T |
//! | PECN: the tables DRT and TRT, (10), (11) | IV-D 2 | `paper/tables.rs`; the first argument of (10) is in `paper/cds/schedule.rs` |
//! | AF: the next hop, (12) | IV-E | `paper/tables.rs`, called by `paper/af.rs` |
//! | CRA: the consumer's rate, (13) | IV-F | `paper/cra.rs` |
//!
//! # Extensions
//! Weir's additions are in `extensions/`, one module each. `variant = "article"` is the paper's scheme
//! without them, with the consumers of the authors' simulation. `variant = "weir"`, the default, has them.
//!
//! | module | purpose | parameter | `article` |
//! |---|---|---|---|
//! | `elsewhere` | other flows and classes get the rate that one leaves because another link or its application limits it | `limited_elsewhere` | `false` |
//! | `charges` | Data of other sizes than expected, and Interests without answer, neither overload a link nor leave it idle | `exact_charges` | `false` |
//! | `sharing` | consumers of the same Data share them; a cache is as fast as it can be | `shared_retrieval` | `false` |
//! | `start` | short flows end before a rate could reach them; near caches end without notice | `initial_window`, `pending_limit` | 0, 0, and `initial_rate = "100 kb/s"` |
//! | `untold` | a rate where forwarders do not run QSCCP and report none | `untold`, `unit` | `keep` |
//! | `urgent` | Data of delay-sensitive classes leave first where Data have to wait | `urgent_data` | `false`, as in `weir` |
//! | `groups` | opening more flows does not get a consumer more | the node's groups of faces; `group_memory` | the same |
//! | `../per_prefix` | an operator's weights and limits, by prefix | `flow_weights`, `flow_limits` | the same |
//!
//! # Deviations from the paper
//! 1. **Equations (4) to (9) are reconstructed from the authors' published code.** The page with them is missing from
//!    every available copy. One threshold γ serves flows and classes; the code has three. The threshold for idle
//!    classes, 0.05, is the code's.
//! 2. **The total limiter's rate is η·B − B_I, not η·B.** Data share the link with the Interests of the other
//!    direction. With η = 0.99 the paper's rate overloads the link if Interests need more than 1 % of it. The rate is
//!    at least half of η·B, because Interests leave half of the link to waiting Data (deviation 13).
//! 3. **total_rate_DS counts each delay-sensitive class with at most its limit δ_c·B'.** The class's token bucket lets
//!    no more through.
//! 4. **r_f is measured from Interest to Interest, and r_c is the sum of the r_f.** A count over T has steps of one
//!    Data per T, 86 kb/s. This is too coarse for the thresholds of flows below 1 Mb/s; the authors' code gives each
//!    flow a tolerance of 0.5 Mb/s instead. r_f is smoothed if a period has less than eight Interests. It is zero until
//!    the second Interest, and after four usual gaps without one; eight, if the gaps are about as long as a period.
//! 5. **Routers learn the size of a flow's Data from the Data that come back.** The paper does not say how
//!    routers know it. Before the first Data it is the size that the flow's first Interest declares
//!    (ExpectedSize), but at least the usual size. So a flow whose Data never come cannot bypass the limiters
//!    with a small size. TargetRate makes a Data longer, and its consumer counts the longer Data. So the
//!    router that adds it writes the rate for the longer Data.
//! 6. **Limiters wake the scheduler when there are tokens.** The authors' pacer delays the first Interest on an idle
//!    link, and can stall. An Interest leaves when the total bucket has tokens for the largest Data, even if its own
//!    Data is small. So no short Data arrives while a long one is being sent. The bucket is deeper by half of `burst`,
//!    for Interests that are late, and by the tokens that come while the link sends its own largest Data. Buckets begin
//!    full.
//! 7. **A flow's state lasts four of its usual gaps between Interests, 4 s to 10 s, not one period.** Otherwise a flow
//!    of less than ten Data a second would start and end several times a second. A flow whose r_f is zero has no part
//!    in (7) and (8), and is then told a rate as a new one.
//! 8. **A new flow is told a rate at once.** It is the part of its weight in what the others leave, shared with those
//!    of high demand and those that came within two round trips of the face; but at least an equal share. (7) to (9)
//!    count it from the end of the period.
//! 9. **R_f has a discount σ for a filled virtual queue, from the authors' code.** The available text has none. Its
//!    argument is the larger of two ratios (`paper/cds/class.rs`), those of the moment. They count the bits of waiting
//!    Data. Interests do not count that wait while the link is busy with the largest Data of either direction, or in a
//!    turn of the WDRR.
//! 10. **A flow may fill the room of its class.** A waiting Interest can still be useful, but a dropped one
//!     costs its consumer a lifetime. A class holds 200 Interests (`class_queue`), or those of half a second
//!     or of a round trip of B_c, if these are more. A full class still accepts Interests of flows with less
//!     than an equal part waiting. Only a greedy flow is limited to its virtual queue of 20, or to the
//!     Interests of 20 ms or of a round trip of B_c, if these are more. In `weir` each flow may always have
//!     an initial window waiting.
//! 11. **The WDRR quantum is at least the class's largest Data.** So a turn of a flow with w·φ ≥ 1 serves a
//!     packet, and the cost a packet stays O(1).
//! 12. **If no class is high-demand, a class gets at most the rate that the others do not use.** The code gives each
//!     class its base rate and all the spare capacity. Together this is more than the link has.
//! 13. **Interests leave before the Data that wait for the same link, and use at most half of it.** They are small, and
//!     the scheduler limits them. While an Interest waits behind Data, the other direction of the link may be idle. The
//!     authors' code has one queue for both.
//! 14. **An Interest is dropped, not sent, if it waited so long that its Data would come after its lifetime.** Class
//!     and flow do not pay for it. The estimate of the remaining time is two of the shortest recent round trips,
//!     including the wait at this face, and at most half the lifetime.
//! 15. **A flow is greedy when the periods in which it asks for more than 1.2 times its R_f exceed the others
//!     by λ.** R_f is the largest of the last λ to 2λ periods: a flow that still asks for a rate that it had
//!     is not greedy. A period does not count if no Data carried a rate to the flow, or if its demand falls.
//!     The flow is released when it has kept to its rate for as many periods. The paper does not say when,
//!     and the authors' code never releases it. The mark for routers upstream (ServiceClass + 8) is that of
//!     the code. Without it they would give a greedy flow an equal share, because they get only the Interests
//!     that this router sends. Our mark also informs the node's other faces.
//! 16. **Interests take next hops in turn in the ratio of f_j, as in the authors' code, not at random.** At 99 %
//!     utilisation random bunches would fill queues. For 1 % of the Interests a next hop is drawn at random, as a probe,
//!     if nothing came from it for a second. Otherwise a slow next hop would get more than its part. A next hop of
//!     unknown rate counts as the mean of the others. An Interest that is retransmitted, or that returned as a Nack,
//!     goes to a next hop that was not tried, if there is one.
//! 17. **Tables age without a timer.** A downstream face is ignored after four of its usual gaps without an Interest. A
//!     next hop that lost three Interests, and from which nothing came since, counts as zero until a probe brings Data.
//!     A next hop from which nothing came for 10 s, while Data came from another, does not count in (11), and counts in
//!     (12) as one of unknown rate. The authors' code resets rates after 100 ms of silence.
//! 18. **A downstream face without a rate, such as an application of this node, counts in (11) with Σu.** So does any
//!     face with a higher rate.
//! 19. **No Nack reports a dropped Interest, as in the authors' code.** After a Nack the Interest would come back into
//!     the same full queue. A node does not forward a retransmission within 100 ms after it has forwarded the Interest.
//!     Delay-sensitive classes have a bounded room too.
//! 20. **The consumer's wait follows its rate as it changes, and ends a lifetime after the latest feedback.** A
//!     consumer with a rate near zero would otherwise never hear of a better one. (13) smooths the rate of Data, not of
//!     Interests; the two are the same while Data have one size.
//! 21. **Timeouts halve the consumer's rate after a whole lifetime without a TargetRate.** The paper never lowers the
//!     rate without feedback. Then a flow whose first rate is far above its share fills its queue with Interests that
//!     all wait too long, and never gets feedback.
//! 22. **A Data without TargetRate (MAX_RATE) changes no rate.** The paper does not say what a consumer does with it.
//! 23. **On a shared medium a class's limit is δ_c of the rate that the face could have if it asked for all.** The
//!     available rate of a face follows its use. So δ_c of it would keep a delay-sensitive class at its present rate.
//!     The limit is at most B' less the rates of more urgent classes.
//! 24. **The weight and the limit of a flow (`flow_weights`, `flow_limits`) depend on the name of its first Interest.**
//! 25. **`weir` divides what flows and classes do not use, until all of it is used (`elsewhere`).** The paper
//!     does so once, for what those below γ of their *base* rates leave. A flow or class that has used less
//!     than γ of its *offer* for 0.5 s, and for five round trips of the face, is limited elsewhere, and the
//!     others get the rest. What those with high demand leave within γ of their offers is offered in
//!     addition, up to 1.01/γ.
//! 26. **In `weir` an Interest counts in the total limiter as the Data that comes (`charges`).** The limiter pays or gets
//!     back the difference between a Data and its charge. If less than half of a flow's Interests are answered over 2 s,
//!     they count with that part, also as demand.
//! 27. **In `weir` (11) counts shared Data once (`sharing`).** The paper's scenario 4 needs it: (11) gives
//!     half to each of two consumers of the same Data. An Interest of face k costs q_k upstream. While Σq ≤
//!     1.2, all faces are told Σu, or Σu/Σq if Σq < 1; otherwise d_i/Σ(q_k·d_k)·Σu. A consumer far behind in
//!     a cache is not limited; near the others it is told Σu·(1 + age/4RTT).
//! 28. **In `weir` a consumer begins with up to ten Interests, and adopts the first TargetRate (`start`).** They bring at
//!     most 14 600 bytes (RFC 6928); it is one if the size of Data is not known. No more are pending than 1.25 times
//!     those that the TargetRate of a Data has in the round trip of this Data, and at first no more than twice as many as
//!     in the round trip before.
//! 29. **In `weir` a consumer probes for a rate if Data have had none for a lifetime, or ever (`untold`).**
//! 30. **With `urgent_data`, Data of delay-sensitive classes leave before other Data, up to Σδ of the link (`urgent`).**
//!     The paper has one queue for all Data. On a host that is late, Data wait there, and leave only at (1 − η)·B.
//! 31. **The flows of a group of faces share as one (`groups`).** There are no groups unless the node's configuration
//!     defines them. The paper divides a class among flows, so a consumer that opens more flows gets more.
//!
//! # Valid where
//! A flow's fair share should be at least two Interests a second. With less, Interests wait too long to be useful, and
//! the flow's Data come at random. Interests should take less than a quarter of a link.

mod extensions;
mod paper;
mod signals;

use core::ops::RangeInclusive;

use weir_core::seam::params::Variant;
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, SharingPolicy, Strategy};
use weir_core::tables::flow_prefix::FlowPrefix;
use weir_core::units::{Rate, Span};
use weir_core::{choice, parameters};

use crate::per_prefix::PerPrefix;
use crate::registry::{Entry, Sharing};
use crate::resolve::Resolved;
use crate::window::Unit;
use paper::{af, cds, cra};

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "qsccp",
    title: "service classes, Interest scheduling, explicit rates",
    citation: "H. Bai et al., QSCCP: A QoS-Aware Congestion Control Protocol for Information-Centric Networking",
    parameters: Settings::PARAMETERS,
    signals: signals::SIGNALS,
    early_loss: false,
    sharing: Some(Sharing {
        by_class: true,
        parameters: &["weights.*", "delta.*", "flow_weights.*", "flow_limits.*"],
        policy: sharing_policy,
    }),
    build: |params| Box::new(Qsccp { settings: Settings::new(params) }),
};

/// Returns the sharing of CDS in the steady state (section IV-C).
fn sharing_policy(scheme: &Resolved) -> SharingPolicy {
    let Settings { omega, delta, flow_weights, flow_limits, .. } = Settings::new(&scheme.params);
    let weights = flow_weights.iter().map(|(prefix, weight)| (prefix.to_string(), *weight));
    let limits = flow_limits.iter().map(|(prefix, limit)| (prefix.to_string(), limit.as_bps_f64()));
    SharingPolicy {
        class_parts: delta,
        class_weights: omega,
        flow_weights: weights.collect(),
        flow_limits: limits.collect(),
    }
}

const WEIGHT: RangeInclusive<f64> = 0.001..=1000.0;
/// The range of a flow's weight. A punished flow of weight 0.1 waits for some hundred turns of the WDRR.
const FLOW_WEIGHT: RangeInclusive<f64> = 0.1..=100.0;
const SHARE: RangeInclusive<f64> = 0.0001..=1.0;
const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

const VARIANTS: &[Variant] = &[
    Variant { name: "weir", defaults: &[] },
    Variant {
        name: "article",
        defaults: &[
            ("limited_elsewhere", "false"),
            ("exact_charges", "false"),
            ("shared_retrieval", "false"),
            ("initial_rate", "100 kb/s"),
            ("initial_window", "0"),
            ("pending_limit", "0"),
            ("untold", "keep"),
        ],
    },
];

parameters! {
    /// The parameters.
    #[derive(Clone, Debug)]
    pub(crate) struct Settings {
        /// the paper's scheme alone, or with Weir's additions
        _ = variant("variant", VARIANTS) default "weir"
            from "paper: article; assumed: weir, the page compares both";
        /// η, target link utilization
        eta: f64 = number("target_utilisation", 0.01..=1.0) default "0.99" from "paper: section V-A";
        /// T, how often rates are computed
        period: Span = span("period", Span::from_millis(1)..=Span::from_secs(10)) default "100 ms"
            from "files: queues.cpp, calObjectRateInterval";
        /// ω of AF4, AF3, AF2, AF1, BE.
        omega: [f64; 5] = [
            /// ω of class AF4
            number("weights.AF4", WEIGHT) default "5" from "files: queues.cpp";
            /// ω of class AF3
            number("weights.AF3", WEIGHT) default "4" from "files: queues.cpp";
            /// ω of class AF2
            number("weights.AF2", WEIGHT) default "3" from "paper: section V-B";
            /// ω of class AF1
            number("weights.AF1", WEIGHT) default "2" from "paper: section V-B";
            /// ω of class BE
            number("weights.BE", WEIGHT) default "1" from "paper: section V-B";
        ];
        /// δ of CS7, CS6, EF.
        delta: [f64; 3] = [
            /// δ of class CS7: its limit as a share of the capacity
            number("delta.CS7", SHARE) default "0.2" from "files: queues.cpp";
            /// δ of class CS6
            number("delta.CS6", SHARE) default "0.2" from "files: queues.cpp";
            /// δ of class EF
            number("delta.EF", SHARE) default "0.3" from "files: queues.cpp";
        ];
        /// number of first name components that define a flow; the last component of a name never counts; 0: the
        /// prefix of the FIB entry
        flow_prefix: FlowPrefix = integer("flow_prefix", 0..=127) default "0"
            from "paper: section IV-B, the prefix";
        /// w of the flows of a prefix: `flow_weights."/video" = 2`
        flow_weights: PerPrefix<f64> = each number("flow_weights.*", FLOW_WEIGHT) default "1"
            from "paper: section V-B, identical weights";
        /// rate of the token bucket of each flow of a prefix
        flow_limits: PerPrefix<Rate> = each rate("flow_limits.*", Rate::from_bps(1000)..=MAX_RATE)
            default "1 Tb/s" from "assumed: no limit; paper: section IV-C 3, optional";
        /// depth of a delay-sensitive class's token bucket, bits
        bucket_bits: u64 = integer("bucket", 1..=1 << 40) default "160000" from "files: queues.cpp";
        /// depth of the total limiter's bucket, bits
        burst_bits: u64 = integer("burst", 1..=1 << 40) default "17248" from "assumed: two Data of 8624 bits";
        /// WDRR quantum, bits
        quantum_bits: u64 = integer("quantum", 1..=1 << 40) default "16000" from "files: queues.cpp";
        /// Interests of a flow that may wait
        virtual_queue: u32 = integer("virtual_queue", 1..=1 << 20) default "20"
            from "files: queues.cpp, setVqSize";
        /// Interests of a delay-tolerant class that may wait; if so many wait, Interests of flows with more than an
        /// equal part are dropped
        class_queue: u32 = integer("class_queue", 1..=1 << 24) default "200" from "files: queues.cpp";
        /// γ: a flow is high-demand if it asks for this part of its base rate or more
        gamma: f64 = number("gamma", 0.01..=0.999) default "0.95" from "paper: section V-A";
        /// λ: after this many periods above its rate a flow is greedy
        lambda: u32 = integer("lambda", 1..=1 << 20) default "10" from "paper: section V-A";
        /// a flow is above its rate if it asks for more than this multiple of it
        greedy_ratio: f64 = number("greedy_ratio", 1.0..=1000.0) default "1.2" from "files: queues.cpp";
        /// periods in which a group of faces has to keep to its rate to compensate for one period above it
        group_memory: u32 = integer("group_memory", 1..=1 << 10) default "10"
            from "assumed: λ times it is 10 s, so short pauses do not help; the paper has no groups";
        /// φ, factor of a greedy flow's weight
        phi: f64 = number("phi", 0.1..=1.0) default "0.5" from "paper: section V-C";
        /// part of the Interests that take a random next hop, as probes
        probing: f64 = number("probing", 0.0..=1.0) default "0.01" from "paper: section IV-E";
        /// whether (11) counts Data for several consumers once upstream, and Data from a cache not at all
        shared_retrieval: bool = switch("shared_retrieval") default "true"
            from "assumed: the paper's scenario 4 needs it";
        /// whether what flows and classes do not use of their offers goes to the others
        elsewhere: bool = switch("limited_elsewhere") default "true"
            from "assumed: the paper divides the rest of base rates, once";
        /// whether an Interest counts as much as the Data that it brings: the size of each, and none if none comes
        exact_charges: bool = switch("exact_charges") default "true"
            from "assumed: the paper does not say how routers know the size";
        /// whether Data of delay-sensitive classes leave before other Data; useful on hosts that do not always send
        /// on time
        urgent_data: bool = switch("urgent_data") default "false"
            from "assumed: the paper has one queue for all Data";
        /// β, smoothing factor of the consumer's rate
        beta: f64 = number("beta", 0.0..=0.9999) default "0.8" from "paper: section V-A";
        /// rate of Data for which a consumer asks before it has feedback; 0: a single Interest
        initial_rate: Rate = rate("initial_rate", Rate::ZERO..=MAX_RATE) default "0 b/s"
            from "assumed: a single Interest, as the authors' real client; files: ndn-consumer-qsccp.cpp, InitialSendRate, 100 kb/s";
        /// Interests that a consumer may have pending without a rate, at the start and where nothing limits
        /// it, if their Data have 14600 bytes or less; 0: none beside `initial_rate`
        initial_window: u32 = integer("initial_window", 0..=1000) default "10" from "assumed: RFC 6928, as TCP; the paper has none";
        /// pending Interests, as a multiple of those that its rate has in a round trip; 0: no bound
        pending_limit: f64 = number("pending_limit", 0.0..=1000.0) default "1.25" from "assumed: pacing_gain of BBR; the paper has none";
        /// the consumer's rate where Data have no TargetRate: `keep`: the one before; `probe`: if none came with one, or
        /// none for a lifetime: CUBIC with HyStart++, paced
        untold: Untold = choice("untold", Untold::WORDS) default "probe"
            from "assumed: the paper has no such Data; RFC 9438, RFC 9406, and RFC 9002, section 7.7, for paths whose \
                  forwarders do not run QSCCP";
        unit: Unit = group;
        /// assumed size of Data until a Data or a declared size arrives, bytes
        default_data_bits: u64 = integer("data_size", 1..=8800) default "1125"
            from "files: queues.cpp, 9000 bits" as |bytes| 8 * bytes;
        /// capacity of a face whose rate is not given
        unknown_capacity: Rate = rate("unknown_capacity", Rate::from_bps(1)..=MAX_RATE) default "100 Mb/s"
            from "files: the authors' NFD, default bandwidth";
    }
}

choice! {
    /// The behaviour of a consumer if Data have no TargetRate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Untold {
        /// It keeps its rate.
        Keep = "keep",
        /// It probes for a rate.
        Probe = "probe",
    }
}

impl Settings {
    /// Returns the part of a link that may leave before other Data.
    fn urgent_part(&self) -> f64 {
        if self.urgent_data { self.delta.iter().sum() } else { 0.0 }
    }

    /// Returns the unit of the window, if the consumer probes for a rate.
    fn probes_by(&self) -> Option<Unit> {
        (self.untold == Untold::Probe).then_some(self.unit)
    }
}

/// The plug-in of QSCCP.
#[derive(Clone, Debug)]
pub struct Qsccp {
    settings: Settings,
}

impl Scheme for Qsccp {
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(cra::Cra::new(&self.settings, flow.lifetime))
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn flow_prefix(&self) -> FlowPrefix {
        self.settings.flow_prefix
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(af::AdaptiveForwarding::new(&self.settings))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(cds::Cds::new(&self.settings, face))
    }
}
