//! The consumer's part of a scheme: when the next Interest may leave.

use core::ops::Range;

use crate::packet::Packet;
use crate::random::Random;
use crate::responders::Bases;
use crate::units::{Bytes, Rate, Span, Time};

/// A consumer's congestion control.
pub trait FlowControl: Send {
    /// Returns whether the next Interest may leave now.
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit;

    /// An Interest is about to leave: write its signals. The return value is stored with the Interest and
    /// comes back as [`DataReceived::tag`]. It can, for example, number a sub-flow.
    fn on_send(&mut self, _ev: &mut SendEvent<'_>) -> u32 {
        0
    }

    /// The Data of an Interest has come.
    fn on_data(&mut self, ev: &mut DataReceived<'_>);

    /// An Interest timed out. It will be sent again.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>);

    /// An Interest came back as a Nack. It will be sent again.
    fn on_nack(&mut self, ev: &mut LossEvent<'_>) {
        self.on_timeout(ev);
    }

    /// Time after the transmission at which an Interest counts as lost. Default: the smaller of RTO and
    /// Interest lifetime.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.min(lifetime)
    }

    /// Longest delay of an answer in the scheme's own queues. No Interest counts as lost earlier, even if
    /// Data have come for later ones. Default: zero.
    fn longest_wait(&self) -> Span {
        Span::ZERO
    }

    /// Deadline of the scheme's own timer, for [`FlowControl::on_deadline`]. Default: never.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached.
    fn on_deadline(&mut self, _ev: &mut FlowDeadline) {}

    /// The window, packets, or the rate, for the time series.
    fn gauge(&self) -> Gauge;

    /// A notice about its present state for the user of an application, as one sentence without a full stop.
    /// The application shows it once. Default: none.
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

/// The answer to the question whether the next Interest may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may.
    Now,
    /// Not before this time.
    At(Time),
    /// Not before a Data, Nack or timeout. If none comes for long, a consumer with early loss sends a probe
    /// nevertheless, which calls `on_send`.
    Blocked,
}

/// A request for a permit.
#[derive(Debug)]
pub struct PermitEvent<'a> {
    /// When the Interest would leave.
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
    /// `true` if it was sent before.
    pub retransmission: bool,
    /// `true` if it leaves by a permit. `false` for a greedy source, and for a probe for lost Interests.
    pub is_permitted: bool,
    /// Pending Interests, without this one.
    pub pending: u32,
    /// Expected size of its Data on the wire.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

/// A Data that came to its consumer.
#[derive(Debug)]
pub struct DataReceived<'a> {
    /// When the Data came.
    pub now: Time,
    /// The Data with its signals.
    pub data: &'a Packet,
    /// Its segment number.
    pub segment: u64,
    /// Round-trip time; `None` if the Interest was sent more than once.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time, including this sample; `None` before the first.
    pub srtt: Option<Span>,
    /// Shortest round-trip times of the nodes that answer the flow, its producer and caches; `None` before
    /// the first sample.
    pub bases: Option<Bases>,
    /// The return value of [`FlowControl::on_send`] for the latest transmission.
    pub tag: u32,
    /// `true` if its Interest was pending until now. `false` if it counted as lost and was not sent again.
    pub was_pending: bool,
    /// Pending Interests, without this one.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// The oldest segment that has not come yet, including this Data.
    pub oldest_missing: u64,
    /// The scheme writes here which segments it declares lost because of this Data. Their pending Interests
    /// are retransmitted. [`FlowControl::on_timeout`] is not called for them.
    pub lost: Range<u64>,
    /// Expected size of the next Data on the wire, updated with this one.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

impl DataReceived<'_> {
    /// Returns whether a node has answered that is nearer than another one. Then the Data has overtaken
    /// others without their loss, and its round-trip time is not theirs.
    pub fn is_from_nearby(&self) -> bool {
        self.bases.is_some_and(|bases| bases.is_near)
    }
}

/// An expired timer of the scheme.
#[derive(Debug)]
pub struct FlowDeadline {
    /// The current time.
    pub now: Time,
    /// Pending Interests.
    pub pending: u32,
    /// As [`DataReceived::lost`]. These segments count as timed out.
    pub lost: Range<u64>,
}

/// An Interest that is declared lost.
#[derive(Debug)]
pub struct LossEvent<'a> {
    /// When it is declared lost.
    pub now: Time,
    /// Its segment number.
    pub segment: u64,
    /// The return value of [`FlowControl::on_send`] for it.
    pub tag: u32,
    /// Pending Interests, without this one.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// The flow's random stream.
    pub random: &'a mut Random,
}
