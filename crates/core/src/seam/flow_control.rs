//! The consumer: when the next Interest may leave.

use core::ops::Range;

use crate::packet::Packet;
use crate::random::Random;
use crate::responders::Bases;
use crate::units::{Bytes, Rate, Span, Time};

/// A consumer's congestion control.
pub trait FlowControl: Send {
    /// Whether the next Interest may leave now.
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit;

    /// An Interest is about to leave: write its signals. The answer is kept with the Interest and
    /// comes back as [`DataReceived::tag`] (which sub-flow it belongs to, for one).
    fn on_send(&mut self, _ev: &mut SendEvent<'_>) -> u32 {
        0
    }

    /// Its Data came.
    fn on_data(&mut self, ev: &mut DataReceived<'_>);

    /// An Interest timed out; it is going to be sent again.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>);

    /// An Interest came back as a Nack; it is going to be sent again.
    fn on_nack(&mut self, ev: &mut LossEvent<'_>) {
        self.on_timeout(ev);
    }

    /// How long after its transmission an Interest counts as lost. Default: the smaller of RTO and Interest lifetime.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.min(lifetime)
    }

    /// How long the scheme's own queues may delay an answer. No Interest counts as lost before, even if Data have come
    /// for later ones. Default: no time.
    fn longest_wait(&self) -> Span {
        Span::ZERO
    }

    /// When [`FlowControl::on_deadline`] wants to be called: a timer of the scheme's own. Default: never.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached.
    fn on_deadline(&mut self, _ev: &mut FlowDeadline) {}

    /// Window, packets, or rate, for the time series.
    fn gauge(&self) -> Gauge;

    /// What the user of an application should know of its present state, in one sentence without a full stop. The
    /// application says it once. Default: nothing.
    fn notice(&self) -> Option<&'static str> {
        None
    }
}

/// The controlled variable of a flow control, for the time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gauge {
    /// A congestion window, packets.
    Window(f64),
    /// A rate of Data, bit/s.
    Rate(Rate),
}

/// Whether the next Interest may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Now,
    /// Not before this time.
    At(Time),
    /// Not before a Data, Nack or timeout. If none comes for long, a consumer with early loss sends a probe
    /// nevertheless, so `on_send` may be called then.
    Blocked,
}

/// Asks for a permit.
#[derive(Debug)]
pub struct PermitEvent<'a> {
    /// When an Interest would leave.
    pub now: Time,
    /// Pending Interests.
    pub pending: u32,
    /// Expected size of the next Data on the wire.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

/// An Interest is about to leave.
#[derive(Debug)]
pub struct SendEvent<'a> {
    /// When it leaves.
    pub now: Time,
    /// The Interest.
    pub interest: &'a mut Packet,
    /// Its segment number.
    pub segment: u64,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it leaves by a permit: false for a greedy source, and for a probe for lost Interests.
    pub is_permitted: bool,
    /// Pending Interests, this one not counted.
    pub pending: u32,
    /// Expected size of its Data on the wire.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

/// A Data came to its consumer.
#[derive(Debug)]
pub struct DataReceived<'a> {
    /// When the Data came to the consumer.
    pub now: Time,
    /// The Data with its signals.
    pub data: &'a Packet,
    /// Its segment number.
    pub segment: u64,
    /// The round-trip time; `None` if the Interest was sent more than once.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time, this sample included; `None` before the first.
    pub srtt: Option<Span>,
    /// The shortest round trips of the nodes that answer the flow, its producer and caches; `None` before the first sample.
    pub bases: Option<Bases>,
    /// The return value of [`FlowControl::on_send`] for the latest transmission.
    pub tag: u32,
    /// Whether its Interest was pending until now: not if it counted as lost, and was not sent again.
    pub was_pending: bool,
    /// Pending Interests, this one no longer counted.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// The oldest segment that did not come yet; this one came, and so did all before the oldest.
    pub oldest_missing: u64,
    /// The scheme writes segments here whose pending Interests it declares lost because of this Data. They are
    /// retransmitted. [`FlowControl::on_timeout`] is not called for them.
    pub lost: Range<u64>,
    /// Expected size of the next Data on the wire, this one included.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

impl DataReceived<'_> {
    /// Whether a node has answered that is nearer than another one. Then the Data has overtaken others without their
    /// loss, and its round trip is not theirs.
    pub fn is_from_nearby(&self) -> bool {
        self.bases.is_some_and(|bases| bases.is_near)
    }
}

/// A timer of the scheme's own is over.
#[derive(Debug)]
pub struct FlowDeadline {
    /// When it is over.
    pub now: Time,
    /// Pending Interests.
    pub pending: u32,
    /// As [`DataReceived::lost`]; they count as timed out.
    pub lost: Range<u64>,
}

/// An Interest is given up for lost.
#[derive(Debug)]
pub struct LossEvent<'a> {
    /// When it is given up.
    pub now: Time,
    /// Its segment number.
    pub segment: u64,
    /// The return value of [`FlowControl::on_send`] for it.
    pub tag: u32,
    /// Pending Interests, this one no longer counted.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// The flow's random stream.
    pub random: &'a mut Random,
}
