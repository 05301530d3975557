//! QSCCP: H. Bai, H. Li, J. Que, A. Smahi, M. Zhang, P. H. J. Chong, S.-Y. R. Li, X. Wang, P. Lu, "QSCCP: A QoS-Aware
//! Congestion Control Protocol for Information-Centric Networking".
//!
//! Routers schedule Interests by class and flow, so that their Data fit the link (CDS, `cds/`, section IV-C). They
//! compute each flow's suggested target rate (PECN, `pecn.rs`, section IV-D 1), keep tables of the rates available
//! downstream and upstream (`tables.rs`, section IV-D 2), and detect greedy flows (`greedy.rs`, section IV-C 3). They
//! choose next hops by these rates and write rates into packets (AF, `af.rs`, section IV-E). Consumers send at the rate
//! that they are told (CRA, `cra.rs`, section IV-F).
//!
//! ```text
//!   consumer --Interest: ServiceClass, DownstreamRate--> routers --> producer
//!   consumer <--Data: ServiceClass, TargetRate---------- routers <-- producer
//! ```
//!
//! # Deviations from the paper
//! 1. **Equations (4) to (9) are reconstructed from the authors' published code.** The page with them is missing from
//!    every available copy. One threshold γ serves flows and classes; the code has three. The threshold for idle
//!    classes, 0.05, is the code's. Spare capacity is divided until all of it is taken: a flow or class that does not
//!    take its offer for half a second is limited elsewhere, and the rest goes to others. To detect this also for one
//!    that takes γ of its share or more, more is offered than available while parts of shares are unused. The rates
//!    then reach the weighted max-min share, except for 0.1 % of what is shared. A new flow or class is high-demand
//!    until it has taken what it was told, or had half a second for it. Otherwise others would be told the part for
//!    which it has not asked yet, and would fill their queues with it.
//! 2. **The total limiter's rate is η·B − B_I, not η·B.** Data share the link with the Interests of the other
//!    direction. With η = 0.99 the paper's rate overloads it as soon as Interests are more than 1 % of it. The rate is
//!    at least half of η·B, because Interests leave half of the link to waiting Data (14).
//! 3. **total_rate_DS counts each delay-sensitive class with at most its limit δ_c·B'.** The class's token bucket lets
//!    no more through.
//! 4. **r_f is measured from Interest to Interest, and r_c is the sum of the r_f.** r_f is smoothed over a few
//!    measurements if a period has less than eight Interests, and zero after four usual gaps without one. A count over
//!    T has steps of one Data per T, 86 kb/s: coarser than the thresholds of flows below 1 Mb/s (the authors' code
//!    allows them 0.5 Mb/s).
//! 5. **Routers learn the size of a flow's Data from the Data that come back.** The paper does not say how routers know
//!    it. Before the first Data it is the size that the flow's first Interest declares (ExpectedSize), but at least the
//!    usual size: a flow that asks for Data that never come cannot pass the limiters. If a Data is larger than the
//!    charge of its Interest, the total limiter is charged the difference when it comes. If it is smaller, the limiter
//!    gets the difference back (`ledger.rs`). Without this, Interests leave too fast while metadata are the only Data
//!    seen, and the surplus waits in the next router's queue for seconds. An Interest keeps its charge if its Data does
//!    not come, or if the flow's last 32 Data had one size. TargetRate makes a Data longer, and its consumer counts the
//!    longer Data. So the router that adds TargetRate writes a rate of the longer Data.
//! 6. **Limiters wake the scheduler when there are tokens.** The authors' pacer delays the first Interest on an idle
//!    link, and can stall. The total bucket lets an Interest leave when it has tokens for the largest Data, whatever
//!    the size of this Interest's Data. So the wait comes after a long Data, not before it, and no Interest asks for a
//!    short Data that would come while the long one is being sent. The bucket is deeper by half of `burst`, for
//!    Interests that come late, and by the tokens that come while the link sends its own largest Data. Buckets begin
//!    full.
//! 7. **A flow's state lasts four of its usual gaps between Interests, 4 s to 10 s, not one period.** Otherwise a flow
//!    of less than ten Data a second would come and go ten times a second. The R_f of a class's flows decreases as soon
//!    as a flow joins and sends a second Interest, not at the next period.
//! 8. **R_f has a discount for a filled virtual queue, from the authors' code.** The surviving text has none. Its
//!    argument is the larger of two ratios. The first is the flow's waiting Interests to the size of its virtual queue;
//!    one Interest less counts if the class's waiting flows have more on average. The second is the waiting Interests
//!    beyond the first to the smaller of two numbers: the flow's equal share of a delay-tolerant class's room among the
//!    waiting flows, and what its rate serves in a second. The ratios are those of the moment, not of the last period.
//!    Interests that come while one of the class's largest Data is being sent do not count. A flow may fill its class's
//!    room while the others leave it free, and only a punished flow is limited to its virtual queue: a waiting Interest
//!    can still be useful, but a dropped one costs its consumer a lifetime. A full class still accepts Interests of
//!    flows that have less than their share waiting. Queues of fast classes hold what B_c brings in 20 ms, in the
//!    class's largest Data, if that is more than 20 and 200 Interests. Otherwise they would overflow within a period.
//! 9. **The WDRR quantum is at least the class's largest Data.** So each turn serves a packet, and the cost per packet
//!    stays O(1).
//! 10. **The consumer's wait follows its rate as it changes, and ends a lifetime after the latest feedback.** A
//!     consumer with a rate near zero would otherwise never hear of a better one. (13) smooths the rate of Data, not of
//!     Interests; the two are the same while Data have one size.
//! 11. **An Interest is dropped, not sent, if it waited so long that its Data would come after its lifetime.** Class
//!     and flow are not charged for it. The way back is estimated as two of the shortest recent round trips, waiting at
//!     this face included, and at most half the lifetime.
//! 12. **A consumer halves its rate if its Interest times out after a whole lifetime without feedback.** The paper
//!     never lowers the rate without feedback. Then a flow whose first rate is far above its share fills its queue with
//!     Interests that all wait too long, and never gets feedback.
//! 13. **If no class is high-demand, a class is promised no more than the others leave.** The code promises each class
//!     its base rate and all the spare capacity, together more than the link has.
//! 14. **Interests leave before the Data that wait for the same link, up to half of it.** They are small and scheduled.
//!     An Interest that waits behind Data would leave the other direction idle. The authors' code has one queue for
//!     both.
//! 15. **A flow is greedy when the periods in which it asks for more than 1.2 times its R_f outnumber the others by
//!     λ.** Such a period does not count if no Data told the flow its rate, or if its demand was falling. The flow is
//!     released when it has kept to its rate for as many periods. The paper does not say when, and the authors' code
//!     never releases it. The mark that tells routers upstream (ServiceClass + 8) is the code's: they see only the
//!     Interests that are let through, and would give a greedy flow an equal share. Our mark also tells the node's
//!     other faces.
//! 16. **Interests take next hops by turns in the ratio of f_j, as in the authors' code, not at random.** At 99 %
//!     utilisation bunches would fill queues. 1 % are drawn at random, but go as probes only to next hops from which
//!     nothing came for a second: a slow next hop would get more than its part. A next hop of unknown rate counts as
//!     the mean of the others. An Interest that is retransmitted, or came back as a Nack, goes to a next hop that was
//!     not tried, if there is one.
//! 17. **Tables age without a timer.** A downstream face is ignored after four of its usual gaps without an Interest. A
//!     next hop that lost three Interests, and from which nothing came since, counts as zero until a probe brings Data.
//!     A next hop from which nothing came for 10 s, while Data came from another, is ignored. The authors' code resets
//!     rates after 100 ms of silence.
//! 18. **Shared retrieval is our addition; `shared_retrieval = false` restores (11).** (11) divides Σu among downstream
//!     faces as if each asked for different Data, so two consumers of the same Data would get half each. An Interest of
//!     face k costs only q_k upstream: nothing if the content store answers it, 1/m if it is one of m that are
//!     aggregated. So the rate is d_i/Σ(q_k·d_k)·Σu_k, and (10) passes on f_j·Σ q_k·d_k. A rise of q_k counts at once,
//!     a fall by half in each tenth of a second. So consumers that pass each other do not overload the link. A consumer
//!     that finds its Data in the content store is told more, the older the Data, and catches up with the others in
//!     four round trips. But it is told at most Σu plus what fills a class's room in two round trips.
//! 19. **A downstream face that nobody limits, such as an application of this node, counts in (11) with Σu.** So does
//!     any face that could have more than that.
//! 20. **A Data without TargetRate (MAX_RATE) counts as twice the rate of arriving Data.** After a lifetime without
//!     TargetRate, timeouts halve the rate.
//! 21. **No Nack reports a dropped Interest, as in the authors' code.** A dropped Interest was too much, and would come
//!     back into the same full queue. A retransmission is absorbed within 100 ms of the time when the Interest was
//!     forwarded. Delay-sensitive classes have a bounded room too.
//! 22. **The weight and the limit of a flow (`flow_weights`, `flow_limits`) depend on the name of its first Interest.**
//! 23. **On a shared medium a class's limit is δ_c of the rate that the face could have if it asked for all.** The rate
//!     on which a face may count follows its use, so δ_c of it would keep a delay-sensitive class at its present rate.
//!     The limit is at most B' less what more urgent classes use.
//! 24. **With `urgent_data`, Data of delay-sensitive classes leave before other Data, up to Σδ of the link
//!     (`outgoing.rs`).** The paper has one queue for all Data. It stays short while every router is always on time. On
//!     hosts that are not, waiting Data leave only at the rate (1 − η)·B.
//! 25. **The flows of a group of faces share as one.** There are no groups unless the node has them. The paper divides a
//!     class among flows, so a consumer that begins more flows gets more. A group has one flow in each class, of weight
//!     1, with its demand, its R_f, its place in the WDRR and its φ. Its own flows divide this R_f as those of a class
//!     divide B_c. A group is judged as a flow is, but it has to keep to its rate for `group_memory` periods to make up
//!     for one above it. So neither a new prefix nor a pause ends its punishment. The mark (deviation 15) is on the
//!     packets of all its flows. Routers upstream see flows of several groups as one, which one of them could flood. So
//!     the Interests of a group's flow leave at 1.2 times (`greedy_ratio`) the TargetRate that comes from upstream at
//!     most, and at 0.2 times it if the flow is greedy: so much beyond its rate does not make a flow greedy there.
//!
//! # Valid where
//! A flow's fair share should be at least two Interests a second. With less, Interests wait too long to be useful, and
//! the flow's Data come at random.

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
        "a flow is the names with the same first components, this many; the last component never counts; 0: the FIB entry's prefix",
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
        from: "assumed: no limit; paper: section IV-C 3, optional",
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
        "Interests of a flow that may wait",
        "files: queues.cpp, setVqSize",
    ),
    Parameter::integer(
        "class_queue",
        (1, 1 << 24),
        "200",
        "Interests of a delay-tolerant class that may wait; beyond it, flows with more than an equal part are refused",
        "files: queues.cpp",
    ),
    Parameter::number(
        "gamma",
        (0.01, 0.999),
        "0.95",
        "γ: a flow is high-demand if it asks for this part of its base rate or more",
        "paper: section V-A",
    ),
    Parameter::integer(
        "lambda",
        (1, 1 << 20),
        "10",
        "λ: after this many periods above its rate a flow is greedy",
        "paper: section V-A",
    ),
    Parameter::number(
        "greedy_ratio",
        (1.0, 1000.0),
        "1.2",
        "a flow is above its rate if it asks for more than this multiple of it",
        "files: queues.cpp",
    ),
    Parameter::integer(
        "group_memory",
        (1, 1 << 10),
        "10",
        "a group of faces makes up for a period above its rate with so many in which it keeps to it",
        "assumed: λ times it is 10 s, so short pauses do not help; the paper has no groups",
    ),
    Parameter::number("phi", (0.1, 1.0), "0.5", "φ, factor of a greedy flow's weight", "paper: section V-C"),
    Parameter::number(
        "probing",
        (0.0, 1.0),
        "0.01",
        "part of the Interests that take a random next hop, as probes",
        "paper: section IV-E",
    ),
    Parameter::switch(
        "shared_retrieval",
        "true",
        "whether (11) counts Data for several consumers once upstream, and Data from a cache not at all",
        "assumed: the paper's scenario 4 needs it",
    ),
    Parameter::switch(
        "urgent_data",
        "false",
        "whether Data of delay-sensitive classes leave before other Data; for hosts that are not always on time",
        "assumed: the paper has one queue for all Data",
    ),
    Parameter::number(
        "beta",
        (0.0, 0.9999),
        "0.8",
        "β, smoothing factor of the consumer's rate",
        "paper: section V-A",
    ),
    Parameter {
        key: "initial_rate",
        kind: ParameterKind::Rate(Rate::ZERO, MAX_RATE),
        default: "100 kb/s",
        meaning: "rate of Data that a consumer asks for before it has feedback; 0: a single Interest",
        from: "files: ndn-consumer-qsccp.cpp, InitialSendRate",
    },
    Parameter::integer(
        "data_size",
        (1, 8800),
        "1125",
        "size of Data until one was seen or declared, bytes",
        "files: queues.cpp, 9000 bits",
    ),
    Parameter {
        key: "unknown_capacity",
        kind: ParameterKind::Rate(Rate::from_bps(1), MAX_RATE),
        default: "100 Mb/s",
        meaning: "capacity of a face whose rate is not given",
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
    group_memory: u32,
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
            group_memory: params.integer("group_memory") as u32,
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
