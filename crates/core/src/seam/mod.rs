//! The seam: what a congestion-control scheme is.
//!
//! A scheme in NDN acts in up to three places, so it is a factory of three small state machines,
//! each with a default: the consumer's [`FlowControl`] (when the next Interest may leave), each
//! node's [`Strategy`] (which next hop, and what it reads from and writes into passing packets),
//! and the [`Queue`] in front of each link (scheduling, shaping, marking, dropping, and what the
//! face measures). A hook with more to say than the time gets it in one event struct, mostly with
//! the component's own random stream, and answers with a value. None knows which world it runs in.
//! All of them are [`Send`]: a world can be built on one thread and run on another.
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

/// A scheme with its parameters: makes its three state machines.
pub trait Scheme: Send {
    /// The flow control of a consumer's flow.
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl>;

    /// The strategy of a node. Default: the cheapest next hop.
    fn strategy(&self) -> Box<dyn Strategy> {
        Box::new(BestRoute::default())
    }

    /// Whether the scheme divides the rates of links, which must then be known. Default: it does not.
    fn needs_rates(&self) -> bool {
        false
    }

    /// The definition of a flow. Default: a FIB entry's prefix and a class.
    fn flow_prefix(&self) -> FlowPrefix {
        FlowPrefix::FibEntry
    }

    /// The queue in front of a link. Default: one drop-tail queue.
    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(DropTail::new(face.limit))
    }
}

/// The configuration of a consumer's flow control.
#[derive(Clone, Copy, Debug)]
pub struct FlowConfig {
    /// The flow's service class.
    pub class: ServiceClass,
    /// Size of the Data to expect, as far as the application knows it before one came; 0 if it does
    /// not.
    pub expected_size: Bytes,
    /// Lifetime of its Interests.
    pub lifetime: Span,
}

/// The configuration of a face's queue.
#[derive(Clone, Copy, Debug)]
pub struct FaceConfig {
    /// The face of this queue.
    pub face: FaceId,
    /// Rate at which packets leave by the face at the beginning; `None` if unknown.
    pub send_rate: Option<Rate>,
    /// Rate at which packets arrive on the face, likewise.
    pub receive_rate: Option<Rate>,
    /// Bound of its queue of packets.
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
