//! Traces of single packets of a run, on request.

use weir_core::packet::Packet;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWhat {
    /// A consumer expresses an Interest.
    Express,
    /// It begins to leave by a link. On a shared medium, it becomes the station's next packet.
    Send {
        /// Its waiting time at this node.
        waited: Span,
    },
    /// It has arrived by a link.
    Receive,
    /// An application receives it: a consumer its Data or Nack, a producer an Interest.
    Deliver,
    /// An Interest is answered by the node's content store or simulated cache.
    Hit,
    /// An Interest is not forwarded, because one with its name is pending.
    Aggregate,
    /// It is dropped.
    Drop(DropReason),
    /// A consumer counts Interests as lost.
    Timeout {
        /// The number of Interests.
        interests: u64,
    },
}

impl TraceWhat {
    /// The names of all events.
    pub const NAMES: [&'static str; 8] =
        ["express", "send", "receive", "deliver", "hit", "aggregate", "drop", "timeout"];

    /// Returns its name in a trace.
    pub fn name(&self) -> &'static str {
        match self {
            TraceWhat::Express => "express",
            TraceWhat::Send { .. } => "send",
            TraceWhat::Receive => "receive",
            TraceWhat::Deliver => "deliver",
            TraceWhat::Hit => "hit",
            TraceWhat::Aggregate => "aggregate",
            TraceWhat::Drop(_) => "drop",
            TraceWhat::Timeout { .. } => "timeout",
        }
    }
}

/// One event of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceEvent<'a> {
    /// The time of the event.
    pub at: Time,
    /// The node, by its index in the scenario.
    pub node: u32,
    /// The neighbour at the other end of the face; `None` for an application.
    pub neighbour: Option<u32>,
    /// The kind of the event.
    pub what: TraceWhat,
    /// The packet at that time. For a timeout it has only the prefix as its name.
    pub packet: &'a Packet,
}

/// A receiver of the events of a run.
pub trait Trace: Send {
    /// Handles one event.
    fn on_event(&mut self, event: &TraceEvent<'_>);

    /// Returns the reason of a failure so far, in words. The run then ends.
    fn failure(&mut self) -> Option<String>;

    /// Completes the output after the end of the run.
    ///
    /// # Errors
    /// Returns the reason in words if the output failed.
    fn finish(&mut self) -> Result<(), String>;
}
