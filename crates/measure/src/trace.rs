//! What happens to single packets of a run, for those who ask for it.

use weir_core::packet::Packet;
use weir_core::seam::DropReason;
use weir_core::units::{Span, Time};

/// Something that happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWhat {
    /// A consumer expresses an Interest.
    Express,
    /// It begins to leave by a link. On a shared medium: it is the station's next one.
    Send {
        /// Its waiting time at this node.
        waited: Span,
    },
    /// It has arrived by a link.
    Receive,
    /// An application gets it: a consumer its Data or Nack, a producer an Interest.
    Deliver,
    /// An Interest is answered by the node's content store or simulated cache.
    Hit,
    /// An Interest is not forwarded, because one of its name is pending.
    Aggregate,
    /// It is thrown away.
    Drop(DropReason),
    /// A consumer takes Interests for lost.
    Timeout {
        /// How many.
        interests: u64,
    },
}

impl TraceWhat {
    /// All, by their names.
    pub const NAMES: [&'static str; 8] =
        ["express", "send", "receive", "deliver", "hit", "aggregate", "drop", "timeout"];

    /// Its name in a trace.
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
    /// When.
    pub at: Time,
    /// The node, by its place in the scenario.
    pub node: u32,
    /// The neighbour at the other end of the face; `None` for an application.
    pub neighbour: Option<u32>,
    /// What happens.
    pub what: TraceWhat,
    /// The packet as it is then. Of a timeout it has only the prefix as its name.
    pub packet: &'a Packet,
}

/// Takes the events of a run as they happen.
pub trait Trace: Send {
    /// Takes one.
    fn on_event(&mut self, event: &TraceEvent<'_>);

    /// What went wrong so far, in words: the run then ends.
    fn failure(&mut self) -> Option<String>;

    /// The run has ended: completes what was written.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn finish(&mut self) -> Result<(), String>;
}
