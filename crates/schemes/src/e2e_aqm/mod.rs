//! End-to-end AQM: M. Rodríguez-Pérez, S. Herrería-Alonso, J. C. López-Ardao, R. F. Rodríguez-Rubio, "End-to-end active
//! queue management with Named-Data Networking", Journal of Network and Computer Applications, 2024.
//!
//! Routers only report. Each Data carries the delay or the rate of one queue that it has left, chosen at random so that
//! all queues of the path are reported equally often. The consumer runs CoDel for each of them, and takes its own share
//! of the signals that CoDel in a router would give.
//!
//! ```text
//!   consumer <-- mark of 3, Count 3 -- [queue 3] <-- mark of 1, Count 2 -- [queue 2] <-- [queue 1] <-- producer
//!    CoDel of each queue (`codel.rs`),              replaces a mark with probability 1/i (`queue.rs`),
//!    its part of the signals, a window              64 bits of id, count and value (`mark.rs`)
//!    as Reno's (`consumer.rs`)
//! ```
//!
//! Where the paper leaves something open, this follows its authors' program (`jaqmcc`), which is also the variant of
//! that name. The variant `caught-up` is ours: the queue of the other two grows with the number of flows.
//!
//! # Deviations from the paper
//! 1. **P_m is cwnd/(RTT·r), with rates in bit/s of Data on the wire.** (3) and Algorithm 3 print P_m = RTT·cwnd/r,
//!    whose unit is not that of a probability. The text and the program have cwnd/RTT.
//! 2. **A queue's rate is that of the packets that leave it, over at least 10 000 bytes; before, it is 0, unknown, and
//!    gives no signal.** The paper does not say how to measure a rate. The program counts the packets that enter the
//!    queue, and its first rate is nearly 0. Time without packets counts, so the first rate after an idle time is too
//!    low and P_m too high. The next rate, 10 000 bytes later, is right.
//! 3. **Only Data are marked, with the float of Fig. 2 and with the delay of the Data itself.** This is as in the
//!    paper. The program also marks Interests, encodes rates in bytes a second and delays as whole microseconds, and
//!    reports the delay of the previous packet.
//! 4. **Count stays at 255.** On a longer path the last queues are reported more often than the others.
//! 5. **A mark with a Count of 0 comes from another kind of router, such as NFD's 1.** A queue replaces it, as in
//!    Algorithm 1. If it arrives, the consumer treats it as a signal, once in a round trip.
//! 6. **A consumer keeps the state of the last 128 queues.** The paper has no limit, and anyone on the path may invent
//!    ids.
//! 7. **W does not grow while less than half of it is used, and ⌊W⌋ Interests may be pending.** All window schemes in
//!    Weir have these rules. The program allows ⌈W⌉.
//! 8. **If an application uses less than half of W, the pending Interests replace cwnd in (3).** Its rate is then less
//!    than W/RTT. The paper's applications always have more to fetch.
//! 9. **After a time without Data longer than the interval and SRTT together, each δ is 0 and each CoDel is in No
//!    Drop.** In Algorithm 2, and in the program, the delay of the first Data after a pause counts for the whole pause,
//!    although nothing is known of the queue in that time.
//! 10. **The delay does not include packets below the forwarder, in a socket buffer.** A face with the rate of its link
//!     keeps its queue in the forwarder.
//! 11. **In slow start a queueing delay above 8.3 ms is congestion at once (`slow_start_limit`).** The paper has no such
//!     rule. The program has it for a queue of 100 packets, which 100 Mb/s send in that time. As a delay it is the same
//!     at each rate.

mod codel;
mod consumer;
mod mark;
mod queue;

use weir_core::parameters;
use weir_core::seam::params::{Params, Variant};
use weir_core::seam::{FaceConfig, FlowConfig, FlowControl, Queue, Scheme};
use weir_core::units::{Bytes, Span};

use crate::registry::Entry;
use crate::window::{Bounds, Guard, Reaction, Recovery, Signs, Unit, WindowFlow, reno};
use consumer::AqmWindow;
use queue::MarkingQueue;

/// The scheme's entry in the registry.
pub const ENTRY: Entry = Entry {
    name: "e2e-aqm",
    title: "64-bit marks that report one queue of the path at a time; CoDel and Reno's window at the consumer",
    citation: "M. Rodríguez-Pérez, S. Herrería-Alonso, J. C. López-Ardao, R. F. Rodríguez-Rubio, End-to-end active \
               queue management with Named-Data Networking, Journal of Network and Computer Applications, 2024",
    parameters: Parameters::PARAMETERS,
    signals: &[],
    early_loss: true,
    sharing: None,
    build: |params| Box::new(E2eAqm::new(params)),
};

const VARIANTS: &[Variant] = &[
    Variant { name: "article", defaults: &[] },
    Variant { name: "jaqmcc", defaults: &[("codel", "program")] },
    Variant { name: "caught-up", defaults: &[("codel", "caught-up")] },
];

parameters! {
    /// The parameters.
    struct Parameters {
        /// the source of the default values
        _ = variant("variant", VARIANTS) default "article"
            from "paper: section 4; files: jaqmcc, consumer-src";
        codel: codel::Settings = group;
        /// in slow start, a queueing delay above it is congestion at once; 0: no such rule
        slow_start_limit: Option<Span> = span("slow_start_limit", Span::ZERO..=Span::from_secs(10))
            default "8.3 ms"
            from "paper: none; files: consumer-src.cpp, 100 packets of 1040 B, which 100 Mb/s send in 8.3 ms";
        /// bytes that a queue sends between two measurements of its rate
        rate_sample: Bytes = bytes("rate_sample") default "10000 B"
            from "files: the patch of GenericLinkService";
        bounds: Bounds = group {
            initial_window default "1" from "files: ndnSIM, ConsumerWindow";
            min_window default "1" from "files: consumer-src.cpp, the initial window";
        };
        /// the signals that halve W: CoDel's, timeouts and Nacks, or both
        signs: Signs = choice("react_to") default "both"
            from "files: consumer-src.cpp";
        /// whether timeouts and Nacks halve W at most once a window of Data
        cwa: bool = switch("cwa") default "false" from "files: consumer-src.cpp, where it is commented out";
    }
}

/// The plug-in of end-to-end AQM.
#[derive(Clone, Copy, Debug)]
pub struct E2eAqm {
    consumer: consumer::Settings,
    reaction: Reaction,
    rate_sample: Bytes,
}

impl E2eAqm {
    fn new(params: &Params) -> E2eAqm {
        let Parameters { codel, slow_start_limit, rate_sample, bounds, signs, cwa } = Parameters::new(params);
        let reno = reno::Settings { beta: 0.5, bounds };
        let consumer = consumer::Settings { codel, reno, slow_start_limit };
        E2eAqm { consumer, reaction: reaction(signs, cwa), rate_sample }
    }
}

/// Returns the signals that halve the window. CoDel spaces its signals, so each of them counts.
fn reaction(signs: Signs, cwa: bool) -> Reaction {
    Reaction {
        signs,
        guard: Guard { marks: false, losses: cwa, by: Recovery::Sending, add_rtt: 0.0 },
        min_rto: Span::ZERO,
        late_data_twice: false,
        unit: Unit::DATA,
        spread: 0.0,
    }
}

impl Scheme for E2eAqm {
    fn flow_control(&self, _flow: &FlowConfig) -> Box<dyn FlowControl> {
        Box::new(WindowFlow::<AqmWindow>::new(self.consumer, self.reaction))
    }

    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(MarkingQueue::new(face.limit, self.rate_sample))
    }
}
