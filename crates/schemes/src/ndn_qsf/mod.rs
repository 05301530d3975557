//! NDN-QSF: S. Song, L. Zhang, "Effective NDN Congestion Control Based on Queue Size Feedback", ICN 2022.
//!
//! Each node keeps a queue of Interests for each prefix, and forwards them at the rate that it estimates its upstreams
//! can answer. Data report the length of the queue to the node downstream. So back-pressure reaches the consumer hop by
//! hop. There is no end-to-end flow, which caches and multiple paths would break.
//!
//! ```text
//!   consumer ---> queue of the prefix ---> limiters ---> queue of the prefix ---> limiters ---> producer
//!   W by QueueSize <------- QueueSize <--- estimates <------- QueueSize <-------- estimates <--- Data
//!   (`consumer.rs`)         (`forwarding.rs`, `data_queue.rs`)     (`estimate.rs`, `limits.rs`, `prefix.rs`)
//! ```
//!
//! No program of the authors is public. The paper gives the rules for the bandwidth, Algorithm 2 and two thresholds,
//! and leaves most numbers open. Algorithm 1 is an image that was not available.
//!
//! # Deviations from the paper
//! 1. **Algorithm 1 is reconstructed from section 4.3 and Algorithm 2 (`limits.rs`).**
//! 2. **Most constants and the consumer's law are reconstructed.** These are MD_FACTOR, MIN_RATE, STEP, the windows of
//!    both averages, the initial bandwidth and the jitter of rounds. The paper describes them but gives no values; the
//!    parameters have our reasons.
//! 3. **The arrival rate is known only when half of its window is covered.** With a few Data that came at once, rule
//!    (2) would compute too high a bandwidth. Nothing would lower it while no queue builds up. If a round has less than
//!    one Data, the window covers a round-trip time.
//! 4. **ROUND_LENGTH is the longest of the upstreams' smallest round-trip times, from 10 ms to 1 s, or a parameter.**
//!    The paper uses the network's round-trip time.
//! 5. **A free limiter takes an Interest at once, and several free ones take turns in proportion to their limits.** The
//!    paper's limiters dequeue at a rate. A timer that runs while nothing waits would delay each Interest for no
//!    reason.
//! 6. **An Interest does not return to the face from which it came, nor to an upstream that sent a Nack for it.** A
//!    retransmitted Interest takes another upstream, if there is one. The paper has neither losses nor Nacks.
//! 7. **The Interest queue is bounded.** An Interest that does not fit goes back as a Nack for congestion, and the
//!    previous node tries its other upstreams.
//! 8. **An upstream that never reports its queue size is treated as congested.** Its bandwidth is the present arrival
//!    rate, and the node probes from there. Interests to applications on the node are not limited.
//! 9. **QueueSize is in the link header.** Each node may write it there, and the Data's signature stays valid.
//! 10. **The consumer also halves its window for a loss, once in a window.** The paper's queues lose nothing. If the
//!     first forwarder reports no queue size, the consumer uses marks and losses.
//! 11. **Fair queueing is on by default, not only in section 6.6.** With one prefix it is an ordinary queue. Packets
//!     other than Data have a turn as one more prefix.
//! 12. **MIN_RATE is counted in rounds, or in round-trip times while these are longer, and STEP is a part of the
//!     bandwidth.** As fixed rates they would fill slow links. STEP lowers no limit below MIN_RATE.
//! 13. **A node with one upstream uses Algorithm 1, also in experiments with several paths.** The paper does not say
//!     which experiments use which algorithm.
//! 14. **A queue size is valid for two rounds, or two round-trip times while these are longer.** The state before a
//!     pause is out of date. A Data without a queue size removes the oldest one. So deviation 8 applies to an upstream
//!     that stops reporting.
//! 15. **The Interest queue is counted when the Data arrive, the queue of Data when they leave.**

mod consumer;
mod data_queue;
mod estimate;
mod forwarding;
mod limits;
mod prefix;
mod signals;
mod swing;
mod waiting;

use weir_core::seam::params::{Parameter, ParameterKind, Params};
use weir_core::seam::{
    FaceConfig, FlowConfig, FlowControl, NodeConfig, Queue, Scheme, SharingPolicy, Strategy,
};
use weir_core::units::Span;

use crate::registry::{Entry, Sharing};
use consumer::NaiveConsumer;
use data_queue::DataQueue;
use forwarding::Forwarding;
use swing::Swing;

/// Its place in the list of schemes.
pub const ENTRY: Entry = Entry {
    name: "ndn-qsf",
    title: "hop-by-hop rate limits for Interests from queue sizes in Data; several paths by their bandwidths",
    citation: "S. Song, L. Zhang, Effective NDN Congestion Control Based on Queue Size Feedback, ICN 2022",
    parameters: PARAMETERS,
    signals: &[signals::QUEUE_SIZE],
    // Each face serves the prefixes in turn, by bytes and with the same weight (section 6.6), whatever their classes.
    early_loss: false,
    sharing: Some(Sharing { parameters: &[], policy: |_| SharingPolicy::default() }),
    build: |params| Box::new(NdnQsf::new(params)),
};

const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "threshold",
        (0.0, 10_000.0),
        "5",
        "QUEUE_THRESHOLD of the limits: the queue to keep at the next node, packets",
        "paper: section 4.3.1",
    ),
    Parameter::number(
        "bandwidth_threshold",
        (0.0, 10_000.0),
        "4",
        "QUEUE_THRESHOLD of bandwidth rule (1), packets",
        "paper: section 4.2",
    ),
    Parameter::number(
        "md_factor",
        (0.1, 1.0),
        "0.9",
        "MD_FACTOR: the part of the bandwidth that is used while an upstream's queue drains",
        "paper: section 4.3.1, by threshold and round; assumed: at 60 Mb/s of 4500 B and 40 ms a round drains 6.7 Data",
    ),
    Parameter::number(
        "probe",
        (1.0, 2.0),
        "1.05",
        "factor by which probing raises a limit",
        "paper: Algorithm 2",
    ),
    Parameter::number(
        "step",
        (0.0, 1.0),
        "0.02",
        "STEP: the part of a congested upstream's bandwidth that moves to another one in a round, while the queue here is short",
        "assumed: less than probing adds",
    ),
    Parameter::number(
        "min_rate",
        (0.01, 10_000.0),
        "1",
        "MIN_RATE, Interests in a round, or in the upstream's round-trip time if this is longer",
        "paper: section 4.1, to keep the known queue size of the upstream up to date; assumed: one value for each round's limit. \
         More would fill slow links, on which a round trip may be as short as the transmission of one Data",
    ),
    Parameter::number(
        "initial_rate",
        (1.0, 1e9),
        "278",
        "bandwidth of an upstream before it is measured, Data a second",
        "fitted: ndn-qsf/shared-cache, 10 Mb/s of 4500 B; from there 60 Mb/s take 37 rounds, within the 2 s of section 6.1",
    ),
    Parameter::span(
        "round",
        (Span::ZERO, Span::from_secs(60)),
        "0 ns",
        "ROUND_LENGTH; 0: the longest of the upstreams' smallest round-trip times, 10 ms to 1 s",
        "paper: section 4.3, network RTT",
    ),
    Parameter::number(
        "jitter",
        (0.0, 1.0),
        "0.1",
        "each round is longer by a random part of its length, at most this",
        "paper: section 4.3, small; assumed: how small",
    ),
    Parameter::integer(
        "feedback_window",
        (1, 1000),
        "8",
        "number of feedback values whose mean is the queue size of an upstream",
        "assumed: fewer than arrive in a round",
    ),
    Parameter::number(
        "rate_window",
        (0.1, 100.0),
        "1",
        "window of the arrival rate, rounds",
        "assumed: a limit shows its effect within a round trip",
    ),
    Parameter::integer(
        "interest_queue",
        (1, 1 << 20),
        "1000",
        "Interests of a prefix that may wait at a node",
        "assumed: far more than a consumer keeps waiting",
    ),
    Parameter {
        key: "aggregated",
        kind: ParameterKind::Choice(&["data", "larger"]),
        default: "data",
        meaning: "the QueueSize on the Data for an aggregated Interest: the queue of Data; or the larger of both queues",
        from: "paper: section 4.1, which says both",
    },
    Parameter::integer(
        "queue_low",
        (0, 60_000),
        "15",
        "the consumer's window grows while the queue at the first forwarder is shorter, packets",
        "paper: section 6.4, around 5 ms at forwarder 1, which at 120 Mb/s are 17 Data of 4500 B",
    ),
    Parameter::integer(
        "queue_high",
        (0, 60_000),
        "20",
        "the consumer's window shrinks while the queue at the first forwarder is longer, packets; at least `queue_low`",
        "paper: section 6.4, as `queue_low`; assumed: above it, so that the window does not change in between",
    ),
    Parameter::number(
        "initial_window",
        (1.0, 1000.0),
        "10",
        "initial window of the consumer, packets",
        "assumed: RFC 6928",
    ),
    Parameter::switch(
        "fair_queueing",
        "true",
        "whether each prefix has its own queue at a face, and the queues are served in turn; if not, all share one",
        "paper: section 6.6, at the bottleneck",
    ),
    Parameter {
        key: "forwarding",
        kind: ParameterKind::Choice(&["limits", "swing"]),
        default: "limits",
        meaning: "how nodes forward: by rate limits; or by the time of day as in section 3.1, which shows the effect on the \
                  measurements of consumers",
        from: "paper: section 5; `swing`: section 3.1",
    },
];

/// The settings of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NodeSettings {
    estimate: estimate::Settings,
    limits: limits::Settings,
    /// ROUND_LENGTH; `None`: measured.
    round: Option<Span>,
    jitter: f64,
    /// Interests of a prefix that may wait.
    queue: u32,
    /// Whether Data for aggregated Interests report the Interest queue too.
    aggregated_tell_interests: bool,
}

impl NodeSettings {
    fn new(params: &Params) -> NodeSettings {
        NodeSettings {
            estimate: estimate::Settings {
                threshold: params.number("bandwidth_threshold"),
                initial: params.number("initial_rate"),
                feedbacks: params.integer("feedback_window") as usize,
                window: params.number("rate_window"),
            },
            limits: limits::Settings {
                threshold: params.number("threshold"),
                decrease: params.number("md_factor"),
                probe: params.number("probe"),
                step: params.number("step"),
                least: params.number("min_rate"),
            },
            round: Some(params.span("round")).filter(|round| *round > Span::ZERO),
            jitter: params.number("jitter"),
            queue: params.integer("interest_queue") as u32,
            aggregated_tell_interests: params.text("aggregated") == "larger",
        }
    }
}

/// The scheme.
#[derive(Clone, Copy, Debug)]
pub struct NdnQsf {
    node: NodeSettings,
    consumer: consumer::Settings,
    is_fair: bool,
    swings: bool,
}

impl NdnQsf {
    fn new(params: &Params) -> NdnQsf {
        NdnQsf {
            node: NodeSettings::new(params),
            consumer: consumer::Settings {
                low: params.integer("queue_low"),
                high: params.integer("queue_high"),
                initial: params.number("initial_window"),
            },
            is_fair: params.switch("fair_queueing"),
            swings: params.text("forwarding") == "swing",
        }
    }
}

impl Scheme for NdnQsf {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(NaiveConsumer::new(self.consumer))
    }

    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        match self.swings {
            true => Box::new(Swing::default()),
            false => Box::new(Forwarding::new(self.node)),
        }
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(DataQueue::new(face, self.is_fair))
    }
}
