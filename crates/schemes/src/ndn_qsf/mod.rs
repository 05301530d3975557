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

use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme, SharingPolicy, Strategy};
use weir_core::units::Span;
use weir_core::{choice, parameters};

use crate::registry::{Entry, Sharing};
use consumer::NaiveConsumer;
use data_queue::DataQueue;
use forwarding::Forwarding;
use swing::Swing;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "ndn-qsf",
    title: "hop-by-hop rate limits for Interests from queue sizes in Data; several paths by their bandwidths",
    citation: "S. Song, L. Zhang, Effective NDN Congestion Control Based on Queue Size Feedback, ICN 2022",
    parameters: NdnQsf::PARAMETERS,
    signals: &[signals::QUEUE_SIZE],
    // Each face serves the prefixes in turn, by bytes and with the same weight (section 6.6). Classes do not
    // count.
    early_loss: false,
    sharing: Some(Sharing { by_class: false, parameters: &[], policy: |_| SharingPolicy::default() }),
    build: |params| Box::new(NdnQsf::new(params)),
};

parameters! {
    /// The plug-in of NDN-QSF.
    #[derive(Clone, Copy, Debug)]
    pub struct NdnQsf {
        node: NodeSettings = group;
        consumer: consumer::Settings = group;
        /// whether each prefix has its own queue at a face, and the queues are served in turn; if not, all share one
        is_fair: bool = switch("fair_queueing") default "true" from "paper: section 6.6, at the bottleneck";
        /// how nodes forward: by rate limits; or by the time of day as in section 3.1, which shows the effect on the
        /// measurements of consumers
        forwarding: By = choice("forwarding") default "limits"
            from "paper: section 5; `swing`: section 3.1";
    }
}

parameters! {
    /// The settings of a node.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct NodeSettings {
        /// QUEUE_THRESHOLD of the limits: the queue to keep at the next node, packets
        threshold: f64 = number("threshold", 0.0..=10_000.0) default "5" from "paper: section 4.3.1";
        /// QUEUE_THRESHOLD of bandwidth rule (1), packets
        bandwidth_threshold: f64 = number("bandwidth_threshold", 0.0..=10_000.0) default "4"
            from "paper: section 4.2";
        /// MD_FACTOR: the part of the bandwidth that is used while an upstream's queue drains
        decrease: f64 = number("md_factor", 0.1..=1.0) default "0.9"
            from "paper: section 4.3.1, by threshold and round; assumed: at 60 Mb/s of 4500 B and 40 ms a \
                  round drains 6.7 Data";
        /// factor by which probing raises a limit
        probe: f64 = number("probe", 1.0..=2.0) default "1.05" from "paper: Algorithm 2";
        /// STEP: the part of a congested upstream's bandwidth that moves to another one in a round, while the queue
        /// here is short
        step: f64 = number("step", 0.0..=1.0) default "0.02" from "assumed: less than probing adds";
        /// MIN_RATE, Interests in a round, or in the upstream's round-trip time if this is longer
        least: f64 = number("min_rate", 0.01..=10_000.0) default "1"
            from "paper: section 4.1, to keep the known queue size of the upstream up to date; assumed: one \
                  value for each round's limit. More would fill slow links, on which a round trip may be as \
                  short as the transmission of one Data";
        /// bandwidth of an upstream before it is measured, Data a second
        initial: f64 = number("initial_rate", 1.0..=1e9) default "278"
            from "fitted: ndn-qsf/shared-cache, 10 Mb/s of 4500 B; from there 60 Mb/s take 37 rounds, within \
                  the 2 s of section 6.1";
        /// ROUND_LENGTH; 0: the longest of the upstreams' smallest round-trip times, 10 ms to 1 s
        round: Option<Span> = span("round", Span::ZERO..=Span::from_secs(60)) default "0 ns"
            from "paper: section 4.3, network RTT";
        /// each round is longer by a random part of its length, at most this
        jitter: f64 = number("jitter", 0.0..=1.0) default "0.1"
            from "paper: section 4.3, small; assumed: how small";
        /// number of feedback values whose mean is the queue size of an upstream
        feedbacks: usize = integer("feedback_window", 1..=1000) default "8"
            from "assumed: fewer than arrive in a round";
        /// window of the arrival rate, rounds
        window: f64 = number("rate_window", 0.1..=100.0) default "1"
            from "assumed: a limit shows its effect within a round trip";
        /// Interests of a prefix that may wait at a node
        queue: u32 = integer("interest_queue", 1..=1 << 20) default "1000"
            from "assumed: far more than a consumer keeps waiting";
        /// the QueueSize on the Data for an aggregated Interest: the queue of Data; or the larger of both queues
        aggregated: Aggregated = choice("aggregated") default "data"
            from "paper: section 4.1, which has both";
    }
}

choice! {
    /// The QueueSize on the Data for an aggregated Interest.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Aggregated {
        /// The queue of Data.
        Data = "data",
        /// The larger of this queue and that of Interests.
        Larger = "larger",
    }
}

choice! {
    /// The rule by which nodes forward.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum By {
        /// Rate limits.
        Limits = "limits",
        /// The time of day.
        Swing = "swing",
    }
}

impl Scheme for NdnQsf {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(NaiveConsumer::new(self.consumer))
    }

    fn strategy(&self) -> Box<dyn Strategy> {
        match self.forwarding {
            By::Swing => Box::new(Swing::default()),
            By::Limits => Box::new(Forwarding::new(self.node)),
        }
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(DataQueue::new(face, self.is_fair))
    }
}

#[cfg(test)]
impl NodeSettings {
    /// Returns the settings with the default values.
    fn usual() -> NodeSettings {
        NodeSettings::new(&crate::window::pipe::article(&ENTRY))
    }
}
