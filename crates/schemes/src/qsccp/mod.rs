//! QSCCP: H. Bai, H. Li, J. Que, A. Smahi, M. Zhang, P. H. J. Chong, S.-Y. R. Li, X. Wang, P. Lu,
//! "QSCCP: A QoS-Aware Congestion Control Protocol for Information-Centric Networking".
//!
//! Routers schedule Interests by class and flow so that the Data they bring back fits the link
//! (CDS, `cds/`, section IV-C), compute each flow's suggested target rate (PECN, `pecn.rs`,
//! section IV-D 1), keep tables of what is to be had downstream and upstream (`tables.rs`, section
//! IV-D 2), judge who is greedy (`greedy.rs`, section IV-C 3), choose next hops by them and write
//! rates into packets (AF, `af.rs`, section IV-E);
//! consumers send at the rate that they are told (CRA, `cra.rs`, section IV-F).
//!
//! ```text
//!   consumer --Interest: ServiceClass, DownstreamRate--> routers --> producer
//!   consumer <--Data: ServiceClass, TargetRate---------- routers <-- producer
//! ```
//!
//! # Deviations from the paper
//! 1. The page with equations (4) to (9) is missing from every copy that could be had. They are
//!    reconstructed from the authors' published code, with the one threshold γ for flows and classes
//!    where the code has three; the threshold for idle classes, 0.05, is the code's. What is spare is
//!    divided until all is taken: who is offered more than it takes for half a second is limited
//!    elsewhere, and leaves the rest to others. So that this is found out of one that takes γ of its share
//!    or more, too, more is offered than there is while anything is left of shares, and rates come to be
//!    the weighted max-min share but for 0.1 % of what is shared. Who is new is
//!    high-demand until it has taken what it was told, or had half a second to: else what it has not
//!    asked for yet is told to others, who fill their queues with it.
//! 2. The total limiter's rate is η·B − B_I, not η·B: Data and the Interests of the other direction
//!    share that link, and with η = 0.99 the paper's rate overloads it as soon as Interests are
//!    more than 1 % of it. It is half of η·B at least, since Interests leave half to Data that wait
//!    (14).
//! 3. total_rate_DS counts each delay-sensitive class at most at its limit δ_c·B': its token bucket
//!    lets no more through.
//! 4. r_f is measured from Interest to Interest, smoothed over a few measures where a period has
//!    less than eight Interests, and zero after four usual gaps without one; r_c is their sum. A count
//!    over T comes in steps of one Data per T, 86 kb/s, coarser than the
//!    thresholds of flows below a megabit per second (the authors' code allows them 0.5 Mb/s).
//! 5. The size of a flow's Data is learned from the Data that come back. The paper does not say how
//!    routers know it. Until one has come it is what the flow's first Interest declares
//!    (ExpectedSize), but not less than the usual size: to ask for Data that never come is no way
//!    past the limiters. What a Data brings more than its Interest was charged the total
//!    limiter is charged when it comes, and what it brings less it gets back (`ledger.rs`): what leaves too fast
//!    while metadata are the only Data seen would wait in the next router's queue for seconds. An Interest whose Data
//!    does not come keeps what it was charged; and where the last 32 Data of a flow had one size, each does.
//!    A Data without TargetRate is longer where its consumer counts it: the router that gives it one tells a
//!    rate of the longer Data.
//! 6. Limiters wake the scheduler when there are tokens; the authors' pacer delays the first Interest on
//!    an idle link, and can stall. The total bucket lets an Interest go when it has tokens for the largest
//!    Data, whatever that Interest brings: who waits after a long Data, and not before it, does not send for
//!    short ones that come while it leaves. It holds half of `burst` more, which makes up for Interests
//!    that come late, and what comes while the link sends its own largest Data. Buckets begin full.
//! 7. A flow's state lasts four of its usual gaps between Interests, 4 s to 10 s, not one period: a
//!    flow of less than ten Data a second would otherwise come and go ten times a second. The R_f of
//!    a class's flows shrinks as soon as a flow joins and sends a second Interest, not at the next
//!    period.
//! 8. The discount for a filled virtual queue is the authors' code's; the surviving text has none.
//!    It counts what a flow has waiting as a part of its virtual queue, one Interest less where its
//!    class's waiting flows have more on average; or, if that is more, what it has beyond one Interest as
//!    a part of its equal share of a delay-tolerant class's room among the flows with something
//!    waiting, or of what its rate serves in a second; and it is that of the moment, not of the last
//!    period. What comes of a flow while one of its class's largest Data leaves does not count. A flow may fill its class's room
//!    while the others leave it, and only a punished one is held to its virtual queue: an Interest
//!    that waits can still be of use, one that is dropped costs its consumer a lifetime. A full class
//!    still takes Interests of flows that have less than their share waiting. Queues of fast classes
//!    hold what B_c brings in 20 ms, in the class's largest Data, if that is more than 20 and 200
//!    Interests: they would overflow within a period.
//! 9. The WDRR quantum is at least the class's largest Data, so that a turn serves a packet and the
//!    cost per packet stays O(1).
//! 10. The consumer's wait follows its rate as it changes, and ends a lifetime after the latest
//!     feedback, since a rate near zero would never hear of a better one. (13) smooths the rate of
//!     Data, not of Interests; it is the same while Data have one size.
//! 11. An Interest that has waited for so long that its Data would come after its lifetime is dropped,
//!     not sent; class and flow are not charged for it. For the way back two of the shortest recent
//!     round trips are allowed, waiting at this face included, half the lifetime at most.
//! 12. A consumer whose Interest times out after a whole lifetime without feedback halves its rate.
//!     The paper
//!     never lowers it without feedback; then a flow whose first rate is far above its share fills
//!     its queue with Interests that all wait for too long, and never hears of it.
//! 13. Where no class is high-demand, the code promises each class its base rate and all that is
//!     spare, together more than the link has. Ours promises no more than the others leave.
//! 14. Interests leave before the Data that wait for the same link, up to half of it: they are small
//!     and
//!     scheduled, and one that waits behind Data would leave the other direction idle. The authors'
//!     code
//!     has one queue for both.
//! 15. A flow is judged greedy when it asks for 1.2 times its R_f in λ periods more than not; a period
//!     does not count in which no Data told it so, or it was on its way down. It is released when it
//!     has
//!     kept to its rate for as many; the paper does not say when, and the authors' code never does. The
//!     mark by which routers upstream learn of it (ServiceClass + 8) is the code's: they see only what
//!     is let through, and would give a greedy flow an equal share. Ours tells the node's other
//!     faces too.
//! 16. Interests are dealt out by turns in the ratio of f_j, as in the authors' code, and not drawn at
//!     random: at 99 % use bunches would fill queues. 1 % are drawn at random, but go as probes only to
//!     next hops not heard from for a second: on a slow way they would be more than its part. A
//!     next hop that nothing is known of counts as the mean of the others. An Interest that is
//!     repeated, or came back as a Nack, goes to a next hop that it was not sent to, if there is one.
//! 17. Tables age by what they hold, without a timer: a downstream face is left out after four of its
//!     usual gaps without an Interest; a next hop that has lost three Interests, with nothing else
//!     from it
//!     since, counts as zero until a probe brings Data. The authors' code resets rates after 100 ms of
//!     silence.
//! 18. Shared retrieval (ours; `shared_retrieval = false` turns it off and leaves (11) as it stands).
//!     (11)
//!     divides Σu among downstream faces as though each asked for other Data, so that two consumers of
//!     the same Data would get half each. An Interest of face k costs only q_k there: nothing if the
//!     content store answers it, 1/m if it is one of m that are aggregated. So the rate is
//!     d_i/Σ(q_k·d_k)·Σu_k, and (10) passes on f_j·Σ q_k·d_k. A rise of q_k is believed at once, a
//!     fall by
//!     half in each tenth of a second, so that consumers who pass each other do not overload the link.
//!     Who finds its Data in the content store is told more, the more the older the Data, and falls in
//!     with the others in four round trips; but not more than Σu and what a class's room takes in two.
//! 19. A face whose downstream nobody limits, an application of this node for one, counts in (11) with
//!     Σu, as any that could have more than that.
//! 20. A Data without TargetRate (MAX_RATE) counts as twice the rate of what comes; with no TargetRate
//!     for a lifetime, timeouts halve it.
//! 21. As in the authors' code, no Nack tells of a dropped Interest: what is dropped was too much, and
//!     would come back into the same full queue. One that is repeated within 100 ms of when it was sent on
//!     is absorbed.
//!     Delay-sensitive classes have a bounded room too.
//! 22. The weight and limit of a flow (`flow_weights`, `flow_limits`) go by the name of the Interest
//!     that
//!     began it.
//! 23. On a shared medium the rate that a face may count on follows what it uses, so that δ_c of it
//!     would keep a delay-sensitive class at what it has. There a class's limit is δ_c of what the face
//!     could have if it asked for all, but no more than B' less what more urgent classes use.
//! 24. Only with `urgent_data`: Data of delay-sensitive classes leave before other Data, up to Σδ of the link
//!     (`outgoing.rs`). The paper has one queue for all Data, which stays short while every router is always on time; on hosts
//!     that are not, what waits there is gone only at the rate (1 − η)·B.
//!
//! # Valid where
//! A flow's fair share should be two Interests a second or more: with less, Interests wait
//! for too long to be of use, and its Data come by chance.

mod af;
mod cds;
mod cra;
mod greedy;
mod index;
mod ledger;
mod outgoing;
mod pecn;
mod policy;
mod signals;
mod tables;

use weir_core::seam::params::{Parameter, ParameterKind, Params};
use weir_core::seam::{
    FaceConfig, FlowConfig, FlowControl, NodeConfig, Queue, Scheme, SharingPolicy, Strategy,
};
use weir_core::tables::flow_prefix::FlowPrefix;
use weir_core::units::{Bytes, Rate, Span};

use crate::registry::{Entry, Sharing};
use crate::resolve::Resolved;
use policy::PerPrefix;

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "qsccp",
    title: "service classes, Interest scheduling, explicit rates",
    citation: "H. Bai et al., QSCCP: A QoS-Aware Congestion Control Protocol for Information-Centric Networking",
    parameters: PARAMETERS,
    signals: signals::SIGNALS,
    sharing: Some(Sharing {
        parameters: &["target_utilisation", "weights.*", "delta.*", "flow_weights.*", "flow_limits.*"],
        policy: sharing_policy,
    }),
    build: |params| Box::new(Qsccp { settings: Settings::new(params) }),
};

/// What CDS comes to in its steady state (section IV-C).
fn sharing_policy(scheme: &Resolved) -> SharingPolicy {
    let params = &scheme.params;
    let Settings { eta, omega, delta, .. } = Settings::new(params);
    let says_eta = scheme.given.iter().any(|(key, _)| key == "target_utilisation");
    let weights = params.members("flow_weights.*");
    let limits = params.members("flow_limits.*");
    SharingPolicy {
        delta,
        omega,
        flow_weights: weights.map(|(prefix, weight)| (prefix.to_string(), weight.number())).collect(),
        flow_limits: limits.map(|(prefix, limit)| (prefix.to_string(), limit.rate().as_bps_f64())).collect(),
        target_utilisation: says_eta.then_some(eta),
    }
}

const WEIGHT: (f64, f64) = (0.001, 1000.0);
/// A flow of weight 0.1 that is punished waits for some hundred turns of the WDRR.
const FLOW_WEIGHT: (f64, f64) = (0.1, 100.0);
const SHARE: (f64, f64) = (0.0001, 1.0);
const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "target_utilisation",
        (0.01, 1.0),
        "0.99",
        "η, target link utilization",
        "paper: section V-A",
    ),
    Parameter::span(
        "period",
        (Span::from_millis(1), Span::from_secs(10)),
        "100 ms",
        "T, how often rates are computed",
        "files: queues.cpp, calObjectRateInterval",
    ),
    Parameter::number("weights.AF4", WEIGHT, "5", "ω of class AF4", "files: queues.cpp"),
    Parameter::number("weights.AF3", WEIGHT, "4", "ω of class AF3", "files: queues.cpp"),
    Parameter::number("weights.AF2", WEIGHT, "3", "ω of class AF2", "paper: section V-B"),
    Parameter::number("weights.AF1", WEIGHT, "2", "ω of class AF1", "paper: section V-B"),
    Parameter::number("weights.BE", WEIGHT, "1", "ω of class BE", "paper: section V-B"),
    Parameter::number(
        "delta.CS7",
        SHARE,
        "0.2",
        "δ of class CS7: its limit as a share of the capacity",
        "files: queues.cpp",
    ),
    Parameter::number("delta.CS6", SHARE, "0.2", "δ of class CS6", "files: queues.cpp"),
    Parameter::number("delta.EF", SHARE, "0.3", "δ of class EF", "files: queues.cpp"),
    Parameter::integer(
        "flow_prefix",
        (0, 127),
        "0",
        "components of the prefix that tells flows apart, a name's last not counted; 0: the FIB entry's prefix",
        "paper: section IV-B, the prefix",
    ),
    Parameter::number(
        "flow_weights.*",
        FLOW_WEIGHT,
        "1",
        "w of the flows of a prefix: `flow_weights.\"/video\" = 2`",
        "paper: section V-B, identical weights",
    ),
    Parameter {
        key: "flow_limits.*",
        kind: ParameterKind::Rate(Rate::from_bps(1000), MAX_RATE),
        default: "1 Tb/s",
        meaning: "rate of the token bucket of each flow of a prefix",
        from: "assumed: none; paper: section IV-C 3, if operators want it",
    },
    Parameter::integer(
        "bucket",
        (1, 1 << 40),
        "160000",
        "depth of a delay-sensitive class's token bucket, bits",
        "files: queues.cpp",
    ),
    Parameter::integer(
        "burst",
        (1, 1 << 40),
        "17248",
        "depth of the total limiter's bucket, bits",
        "assumed: two Data of 8624 bits",
    ),
    Parameter::integer("quantum", (1, 1 << 40), "16000", "WDRR quantum, bits", "files: queues.cpp"),
    Parameter::integer(
        "virtual_queue",
        (1, 1 << 20),
        "20",
        "Interests that a flow may have waiting",
        "files: queues.cpp, setVqSize",
    ),
    Parameter::integer(
        "class_queue",
        (1, 1 << 24),
        "200",
        "Interests that a delay-tolerant class may have waiting before flows with more than an equal part are refused",
        "files: queues.cpp",
    ),
    Parameter::number(
        "gamma",
        (0.01, 0.999),
        "0.95",
        "γ, share of its base rate from which a flow is high-demand",
        "paper: section V-A",
    ),
    Parameter::integer(
        "lambda",
        (1, 1 << 20),
        "10",
        "λ, periods over its rate after which a flow is judged greedy",
        "paper: section V-A",
    ),
    Parameter::number(
        "greedy_ratio",
        (1.0, 1000.0),
        "1.2",
        "how far above its rate a flow must ask to be over it",
        "files: queues.cpp",
    ),
    Parameter::number(
        "phi",
        (0.1, 1.0),
        "0.5",
        "φ, discount of a greedy flow's weight",
        "paper: section V-C",
    ),
    Parameter::number(
        "probing",
        (0.0, 1.0),
        "0.01",
        "part of the Interests that take a next hop at random, to probe it",
        "paper: section IV-E",
    ),
    Parameter::switch(
        "shared_retrieval",
        "true",
        "whether (11) counts that Data for several consumers, or from a cache, load the link upstream once, or not at all",
        "assumed: the paper's scenario 4 needs it",
    ),
    Parameter::switch(
        "urgent_data",
        "false",
        "whether Data of delay-sensitive classes leave before other Data: for hosts that are not always on time",
        "assumed: the paper has one queue for all Data",
    ),
    Parameter::number(
        "beta",
        (0.0, 0.9999),
        "0.8",
        "β, smooth factor of the consumer's rate",
        "paper: section V-A",
    ),
    Parameter {
        key: "initial_rate",
        kind: ParameterKind::Rate(Rate::ZERO, MAX_RATE),
        default: "100 kb/s",
        meaning: "rate of Data that a consumer asks for before it has feedback; 0 for a single Interest",
        from: "files: ndn-consumer-qsccp.cpp, InitialSendRate",
    },
    Parameter::integer(
        "data_size",
        (1, 8800),
        "1125",
        "size of Data before any was seen or declared, bytes",
        "files: queues.cpp, 9000 bits",
    ),
    Parameter {
        key: "unknown_capacity",
        kind: ParameterKind::Rate(Rate::from_bps(1), MAX_RATE),
        default: "100 Mb/s",
        meaning: "capacity of a face without a given rate",
        from: "files: the authors' NFD, default bandwidth",
    },
];

/// The parameters, read.
#[derive(Clone, Debug)]
struct Settings {
    eta: f64,
    period: Span,
    /// ω of AF4, AF3, AF2, AF1, BE.
    omega: [f64; 5],
    /// δ of CS7, CS6, EF.
    delta: [f64; 3],
    flow_prefix: FlowPrefix,
    flow_weights: PerPrefix<f64>,
    flow_limits: PerPrefix<Rate>,
    bucket_bits: u64,
    burst_bits: u64,
    quantum_bits: u64,
    virtual_queue: u32,
    class_queue: u32,
    gamma: f64,
    lambda: u32,
    greedy_ratio: f64,
    phi: f64,
    probing: f64,
    shared_retrieval: bool,
    urgent_data: bool,
    beta: f64,
    initial_rate: Rate,
    default_data_bits: u64,
    unknown_capacity: Rate,
}

impl Settings {
    /// The part of a link that may leave before other Data.
    fn urgent_part(&self) -> f64 {
        if self.urgent_data { self.delta.iter().sum() } else { 0.0 }
    }

    fn new(params: &Params) -> Settings {
        Settings {
            eta: params.number("target_utilisation"),
            period: params.span("period"),
            omega: ["weights.AF4", "weights.AF3", "weights.AF2", "weights.AF1", "weights.BE"]
                .map(|key| params.number(key)),
            delta: ["delta.CS7", "delta.CS6", "delta.EF"].map(|key| params.number(key)),
            flow_prefix: match params.integer("flow_prefix") {
                0 => FlowPrefix::FibEntry,
                components => FlowPrefix::Components(components as u8),
            },
            flow_weights: PerPrefix::new(
                params.members("flow_weights.*").map(|(prefix, value)| (prefix.clone(), value.number())),
            ),
            flow_limits: PerPrefix::new(
                params.members("flow_limits.*").map(|(prefix, value)| (prefix.clone(), value.rate())),
            ),
            bucket_bits: params.integer("bucket"),
            burst_bits: params.integer("burst"),
            quantum_bits: params.integer("quantum"),
            virtual_queue: params.integer("virtual_queue") as u32,
            class_queue: params.integer("class_queue") as u32,
            gamma: params.number("gamma"),
            lambda: params.integer("lambda") as u32,
            greedy_ratio: params.number("greedy_ratio"),
            phi: params.number("phi"),
            probing: params.number("probing"),
            shared_retrieval: params.switch("shared_retrieval"),
            urgent_data: params.switch("urgent_data"),
            beta: params.number("beta"),
            initial_rate: params.rate("initial_rate"),
            default_data_bits: 8 * params.integer("data_size"),
            unknown_capacity: params.rate("unknown_capacity"),
        }
    }
}

/// The scheme.
#[derive(Clone, Debug)]
pub struct Qsccp {
    settings: Settings,
}

impl Scheme for Qsccp {
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl> {
        let Settings { beta, initial_rate, default_data_bits, .. } = self.settings;
        Box::new(cra::Cra::new(beta, initial_rate, flow.lifetime, Bytes::new(default_data_bits / 8)))
    }

    fn needs_rates(&self) -> bool {
        true
    }

    fn flow_prefix(&self) -> FlowPrefix {
        self.settings.flow_prefix
    }

    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        Box::new(af::AdaptiveForwarding::new(&self.settings))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(cds::Cds::new(&self.settings, face))
    }
}
