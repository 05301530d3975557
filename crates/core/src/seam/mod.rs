//! The seam: the interface of congestion-control schemes.
//!
//! A scheme in NDN acts in up to three places, so it is a factory of three small state machines, each with a
//! default: the consumer's [`FlowControl`] (when the next Interest may leave), each node's [`Strategy`] (the
//! next hop, and the signals that it reads from and writes into passing packets), and the [`Queue`] in front
//! of each link (scheduling, shaping, marking, dropping, and measurements of the face). A hook that needs
//! more than the time gets one event struct, usually with the component's own random stream, and returns a
//! value. A scheme does not know in which world it runs. All of them are [`Send`]: a world can be built on
//! one thread and run on another.
//!
//! `docs/reference/hooks.md` shows every scheme in these hooks.

mod asf;
pub mod best_route;
mod drop_tail;
mod drops;
mod flow_control;
pub mod params;
mod queue;
mod sharing;
mod strategy;

pub use asf::{Asf, AsfOptions};
pub use best_route::{BestRoute, Multicast};
pub use drop_tail::DropTail;
pub use drops::{DropPlace, DropReason, Dropped, Drops};
pub use flow_control::{
    DataReceived, FlowControl, FlowDeadline, Gauge, LossEvent, Permit, PermitEvent, SendEvent,
};
pub use queue::{
    Backlog, ClearEvent, Departed, DequeueEvent, EnqueueEvent, Next, PrefixRemoved, Queue, ReceiveEvent,
    SentEvent,
};
pub use sharing::SharingPolicy;
pub use strategy::{
    Answer, CachedEvent, DataEvent, DataOutEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy,
    StrategyDeadline,
};

use weir_packet::ServiceClass;

use crate::ids::FaceId;
use crate::tables::flow_prefix::FlowPrefix;
use crate::units::{Bytes, Rate, Span};

/// A scheme with its parameters. It makes its three state machines.
pub trait Scheme: Send {
    /// Makes the flow control of a consumer's flow.
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl>;

    /// Makes the strategy of a node. Default: the cheapest next hop.
    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(BestRoute::default())
    }

    /// Returns whether the scheme needs the rates of links. Default: it does not.
    fn needs_rates(&self) -> bool {
        false
    }

    /// The definition of a flow. Default: a FIB entry's prefix and a class.
    fn flow_prefix(&self) -> FlowPrefix {
        FlowPrefix::FibEntry
    }

    /// Makes the queue in front of a link. Default: one drop-tail queue.
    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(DropTail::new(face.limit))
    }
}

/// The configuration of a consumer's flow control.
#[derive(Clone, Copy, Debug)]
pub struct FlowConfig {
    /// The flow's service class.
    pub class: ServiceClass,
    /// Expected size of a Data, if the application knows it in advance; else 0.
    pub expected_size: Bytes,
    /// Lifetime of its Interests.
    pub lifetime: Span,
}

/// The configuration of a face's queue.
#[derive(Clone, Copy, Debug)]
pub struct FaceConfig {
    /// The face of this queue.
    pub face: FaceId,
    /// Initial rate at which packets leave by the face; `None` if unknown.
    pub send_rate: Option<Rate>,
    /// Initial rate at which packets arrive on the face; `None` if unknown.
    pub receive_rate: Option<Rate>,
    /// Bound of the queue.
    pub limit: QueueLimit,
}

/// Bound of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(Bytes),
}
