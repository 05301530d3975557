//! The seam: what a congestion-control scheme is.
//!
//! A scheme in NDN acts in up to three places, so it is a factory of three small state machines,
//! each with a default: the consumer's [`FlowControl`] (when the next Interest may leave), each
//! node's [`Strategy`] (which next hop, and what it reads from and writes into passing packets),
//! and the [`Queue`] in front of each link (scheduling, shaping, marking, dropping, and what the
//! face measures). A hook with more to say than the time gets it in one event struct, mostly with
//! the component's own random stream, and answers with a value. None knows which world it runs in.
//!
//! `docs/develop/seam.md` walks every scheme through these hooks.

use smallvec::SmallVec;
use weir_packet::{NackReason, ServiceClass};

use crate::fib::NextHop;
use crate::flow_prefix::FlowPrefix;
use crate::ids::{FaceId, PrefixId};
use crate::packet::{FlowKey, Packet, PacketId, PacketPool};
use crate::pit::{InRecord, PitEntry, PitId};
use crate::queue::DropTail;
use crate::random::Random;
use crate::strategy::{BestRoute, least_severe};
use crate::units::{Bytes, Rate, Span, Time};

/// A scheme with its parameters: makes its three state machines.
pub trait Scheme {
    /// What a consumer of this flow does.
    fn flow_control(&self, flow: &FlowConfig) -> Box<dyn FlowControl>;

    /// What a node does with Interests and Data. Default: the cheapest next hop.
    fn strategy(&self, _node: &NodeConfig) -> Box<dyn Strategy> {
        Box::new(BestRoute::default())
    }

    /// Whether it divides the rates of links: then somebody has to say them. Default: it does not.
    fn needs_rates(&self) -> bool {
        false
    }

    /// What flows are: default, a FIB entry's prefix and a class.
    fn flow_prefix(&self) -> FlowPrefix {
        FlowPrefix::FibEntry
    }

    /// What stands in front of a link. Default: one drop-tail queue.
    fn queue(&self, face: &FaceConfig) -> Box<dyn Queue> {
        Box::new(DropTail::new(face.limit))
    }
}

/// What a consumer's flow control may know when it is made.
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

/// What a node's strategy may know when it is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeConfig {}

/// What a face's queue may know when it is made.
#[derive(Clone, Copy, Debug)]
pub struct FaceConfig {
    /// The face.
    pub face: FaceId,
    /// Rate at which packets leave by it when it is made; `None` if nobody has said.
    pub send_rate: Option<Rate>,
    /// Rate at which packets arrive on it, likewise.
    pub receive_rate: Option<Rate>,
    /// Bound of its queue of packets.
    pub limit: QueueLimit,
}

/// Bound of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(Bytes),
}

// ---------------------------------------------------------------------------------------------
// Consumer

/// A consumer's congestion control.
pub trait FlowControl {
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

    /// How long after its sending an Interest counts as lost. Default: the smaller of RTO and
    /// Interest lifetime.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.min(lifetime)
    }

    /// How long an answer may take by the scheme's own doing: no Interest is lost before, though Data have come for later
    /// ones. Default: no time.
    fn longest_wait(&self) -> Span {
        Span::ZERO
    }

    /// Window, packets, or rate, for the time series.
    fn gauge(&self) -> Gauge;
}

/// What a flow control governs by, for the time series.
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
    /// Not before a Data, Nack or timeout. Where none comes for long a consumer with early loss sends a probe all the
    /// same, so `on_send` may come then.
    Blocked,
}

/// Asks for a permit.
#[derive(Debug)]
pub struct PermitEvent<'a> {
    /// The time.
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
    /// The time.
    pub now: Time,
    /// The Interest.
    pub interest: &'a mut Packet,
    /// Its segment number.
    pub segment: u64,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Whether it leaves by a permit: not that of a source that asks for none, and not a probe for lost Interests.
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
    /// The time.
    pub now: Time,
    /// The Data with its signals.
    pub data: &'a Packet,
    /// Its segment number.
    pub segment: u64,
    /// The round-trip time; `None` if the Interest was sent more than once.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time, this sample included; `None` before the first.
    pub srtt: Option<Span>,
    /// What [`FlowControl::on_send`] answered for the latest sending.
    pub tag: u32,
    /// Pending Interests, this one no longer counted.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// Expected size of the next Data on the wire, this one included.
    pub expected_size: Bytes,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

/// An Interest is given up for lost.
#[derive(Debug)]
pub struct LossEvent<'a> {
    /// The time.
    pub now: Time,
    /// Its segment number.
    pub segment: u64,
    /// What [`FlowControl::on_send`] answered for it.
    pub tag: u32,
    /// Pending Interests, this one no longer counted.
    pub pending: u32,
    /// Highest segment number sent so far.
    pub highest_sent: u64,
    /// The flow's random stream.
    pub random: &'a mut Random,
}

// ---------------------------------------------------------------------------------------------
// Node

/// A node's forwarding strategy.
pub trait Strategy {
    /// An Interest needs a next hop.
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision;

    /// An Interest was added to a PIT entry that is pending for somebody else already.
    fn on_aggregated(&mut self, _ev: &mut InterestEvent<'_>) {}

    /// An Interest is about to be answered from the content store, through
    /// [`Strategy::on_data_out`].
    fn on_cached(&mut self, _ev: &mut CachedEvent<'_>) {}

    /// A Data arrived that a PIT entry waits for; called once per entry, before any copy is sent.
    fn on_data(&mut self, _ev: &mut DataEvent<'_>) {}

    /// A copy of a Data is about to be sent to one downstream: the last word on its signals.
    fn on_data_out(&mut self, _ev: &mut DataOutEvent<'_>) {}

    /// A Nack came back from a next hop. The answer says what to do when no other next hop is
    /// pending. Default: pass on the least severe reason that came.
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        Decision::Nack(least_severe(ev))
    }

    /// A PIT entry ends unsatisfied: it has expired, or no next hop would take it.
    fn on_expired(&mut self, _ev: &mut ExpiredEvent<'_>) {}

    /// A face came up, or went down.
    fn on_face(&mut self, _face: FaceId, _up: bool, _now: Time) {}

    /// A prefix is forgotten: its number comes to mean another.
    fn on_prefix_removed(&mut self, _prefix: PrefixId) {}

    /// When [`Strategy::on_deadline`] wants to be called.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached: periodic work, and held Interests to release.
    fn on_deadline(&mut self, _ev: &mut StrategyDeadline<'_>) {}
}

/// What becomes of an Interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send it to this next hop.
    Forward(FaceId),
    /// Send a copy to each of these next hops.
    Multicast(SmallVec<[FaceId; 4]>),
    /// Keep it here until [`StrategyDeadline::releases`] names it.
    Hold,
    /// It is on its way already: only remember who asked.
    Suppress,
    /// Return it with this reason, and forget it.
    Nack(NackReason),
}

/// An Interest at a node, after the content store had nothing and its PIT entry was made.
#[derive(Debug)]
pub struct InterestEvent<'a> {
    /// The time.
    pub now: Time,
    /// The Interest; its signals may be rewritten.
    pub interest: &'a mut Packet,
    /// Its PIT entry.
    pub pit: PitId,
    /// The entry itself.
    pub entry: &'a mut PitEntry,
    /// Whether it came from an application on this node.
    pub local: bool,
    /// The usable next hops of its prefix, cheapest first: up, and not where it came from.
    pub next_hops: &'a [NextHop],
    /// The smoothed time from the sending of an Interest of its prefix to the Data, once there is a sample.
    pub srtt: Option<Span>,
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// An Interest that the content store answers.
#[derive(Debug)]
pub struct CachedEvent<'a> {
    /// The time.
    pub now: Time,
    /// The Interest, its flow known.
    pub interest: &'a Packet,
    /// Whether it came from an application on this node.
    pub local: bool,
}

/// A Data at a node.
#[derive(Debug)]
pub struct DataEvent<'a> {
    /// The time.
    pub now: Time,
    /// The Data; its signals may be rewritten.
    pub data: &'a mut Packet,
    /// Where it came from.
    pub face: FaceId,
    /// Whether that is an application on this node.
    pub local: bool,
    /// Its flow at this node.
    pub flow: FlowKey,
    /// The PIT entry that it satisfies.
    pub entry: &'a PitEntry,
    /// Time since the Interest was sent to that face; `None` if it was not, or more than once.
    pub rtt: Option<Span>,
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// Where the answer to a downstream came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// From upstream, for the Interest of this downstream.
    Forwarded,
    /// From upstream, for the Interest of another downstream.
    Aggregated,
    /// From this node's content store, where it came so long ago.
    Cached(Span),
}

/// A copy of a Data that is about to leave for one downstream.
#[derive(Debug)]
pub struct DataOutEvent<'a> {
    /// The time.
    pub now: Time,
    /// The copy; its signals may be rewritten.
    pub data: &'a mut Packet,
    /// Where it goes.
    pub face: FaceId,
    /// Whether that is an application on this node.
    pub local: bool,
    /// Its flow at this node.
    pub flow: FlowKey,
    /// The downstream's Interest.
    pub in_record: &'a InRecord,
    /// Where the answer came from.
    pub answer: Answer,
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// A Nack from upstream.
#[derive(Debug)]
pub struct NackEvent<'a> {
    /// The time.
    pub now: Time,
    /// Why.
    pub reason: NackReason,
    /// Where it came from.
    pub face: FaceId,
    /// The PIT entry.
    pub entry: &'a mut PitEntry,
    /// The usable next hops that were not tried.
    pub next_hops: &'a [NextHop],
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// A PIT entry that ends without Data.
#[derive(Debug)]
pub struct ExpiredEvent<'a> {
    /// The time.
    pub now: Time,
    /// The entry, with its out-records.
    pub entry: &'a PitEntry,
}

/// The strategy's deadline.
#[derive(Debug)]
pub struct StrategyDeadline<'a> {
    /// The time.
    pub now: Time,
    /// Held Interests to send now, and where to: filled by the strategy.
    pub releases: &'a mut SmallVec<[(PitId, FaceId); 8]>,
    /// The node's random stream.
    pub random: &'a mut Random,
}

// ---------------------------------------------------------------------------------------------
// Face

/// What stands in front of a link: everything that leaves by a face passes it.
pub trait Queue {
    /// A packet is to leave by this face. What does not fit goes to `ev.dropped`.
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId);

    /// The link is free: which packet is next. Its header may be rewritten here.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next;

    /// An Interest or a Data arrived on this face: count it, rewrite its signals. For a Data this is
    /// called after its PIT entry is found, so its flow is known, and before [`Strategy::on_data`];
    /// one that nobody asked for is not shown, nor is a Nack.
    fn on_receive(&mut self, _ev: &mut ReceiveEvent<'_>) {}

    /// When [`Queue::on_deadline`] wants to be called; what `dequeue` waits for is not meant.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached: periodic work.
    fn on_deadline(&mut self, _now: Time) {}

    /// Packets leave by this face at another rate from now on; `None`: nobody says at which.
    fn on_send_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// Packets arrive on this face at another rate from now on.
    fn on_receive_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// On a shared medium, what [`Queue::on_receive_rate`] says follows use. This is what it would be if the
    /// face asked for all that it can get: limits that are parts of a capacity are parts of this. It is no
    /// promise, since others may be using it.
    fn on_fair_rate(&mut self, _rate: Rate, _now: Time) {}

    /// A prefix is forgotten: its number comes to mean another.
    fn on_prefix_removed(&mut self, _ev: &mut PrefixRemoved<'_>) {}

    /// The face is gone: gives up everything that waits.
    fn clear(&mut self, ev: &mut ClearEvent<'_>);

    /// How much is waiting.
    fn backlog(&self) -> Backlog;
}

/// A face is gone, and its queue with it.
#[derive(Debug)]
pub struct ClearEvent<'a> {
    /// The time.
    pub now: Time,
    /// Where packets live.
    pub pool: &'a mut PacketPool,
    /// Everything that waited goes here.
    pub cleared: &'a mut Vec<PacketId>,
}

/// A prefix is forgotten.
#[derive(Debug)]
pub struct PrefixRemoved<'a> {
    /// The time.
    pub now: Time,
    /// What was its number.
    pub prefix: PrefixId,
    /// Where packets live.
    pub pool: &'a mut PacketPool,
    /// What is dropped because of it.
    pub dropped: &'a mut Drops,
}

/// How much is waiting in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// A packet is to leave by a face.
#[derive(Debug)]
pub struct EnqueueEvent<'a> {
    /// The time.
    pub now: Time,
    /// Where packets live.
    pub pool: &'a mut PacketPool,
    /// What is dropped, this packet or another.
    pub dropped: &'a mut Drops,
    /// The face's random stream.
    pub random: &'a mut Random,
}

/// A link is free.
#[derive(Debug)]
pub struct DequeueEvent<'a> {
    /// The time.
    pub now: Time,
    /// Where packets live; the packet's signals and congestion mark may be rewritten. A mark on an
    /// Interest is also remembered in its PIT entry's out-record.
    pub pool: &'a mut PacketPool,
    /// What is dropped instead of sent.
    pub dropped: &'a mut Drops,
    /// The face's random stream.
    pub random: &'a mut Random,
}

/// An Interest or a Data arrived on a face.
#[derive(Debug)]
pub struct ReceiveEvent<'a> {
    /// The time.
    pub now: Time,
    /// The packet; its signals may be rewritten.
    pub packet: &'a mut Packet,
    /// Its length on the wire.
    pub wire_len: Bytes,
    /// For a Data: time since the Interest was sent by this face; `None` if it was sent more than once.
    pub rtt: Option<Span>,
    /// The face's random stream.
    pub random: &'a mut Random,
}

/// What a queue gives to a free link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet.
    Packet(PacketId),
    /// Nothing before this time.
    At(Time),
    /// Nothing until a packet is enqueued.
    Empty,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// The queue of the link was full.
    QueueFull,
    /// The flow's own queue was full.
    FlowQueueFull,
    /// The queue of its service class was full.
    ClassQueueFull,
    /// A more urgent packet pushed it out.
    PushedOut,
    /// It was queued for longer than its Interest lifetime: nobody waits for its Data.
    Expired,
    /// The link lost it.
    LinkLoss,
    /// The link, or the face, is down.
    FaceDown,
    /// The PIT is full.
    PitFull,
    /// Its nonce was seen before: it loops.
    Loop,
    /// Its hop limit is used up.
    HopLimit,
    /// No Interest is pending for it.
    Unsolicited,
    /// No route leads to its name.
    NoRoute,
    /// It is malformed: its name has no component, or too many.
    Malformed,
    /// Its name does not reach that far: `/localhost` from another host.
    Scope,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [DropReason; 14] = [
        DropReason::QueueFull,
        DropReason::FlowQueueFull,
        DropReason::ClassQueueFull,
        DropReason::PushedOut,
        DropReason::Expired,
        DropReason::LinkLoss,
        DropReason::FaceDown,
        DropReason::PitFull,
        DropReason::Loop,
        DropReason::HopLimit,
        DropReason::Unsolicited,
        DropReason::NoRoute,
        DropReason::Malformed,
        DropReason::Scope,
    ];

    /// Whether it was dropped on its way out, by the queue, the link or a face that is down. Otherwise
    /// the node refused it where it arrived: it may be a copy that nobody misses.
    pub const fn is_loss(self) -> bool {
        match self {
            DropReason::QueueFull
            | DropReason::FlowQueueFull
            | DropReason::ClassQueueFull
            | DropReason::PushedOut
            | DropReason::Expired
            | DropReason::LinkLoss
            | DropReason::FaceDown => true,
            DropReason::PitFull
            | DropReason::Loop
            | DropReason::HopLimit
            | DropReason::Unsolicited
            | DropReason::NoRoute
            | DropReason::Malformed
            | DropReason::Scope => false,
        }
    }

    /// A few words for people.
    pub const fn words(self) -> &'static str {
        match self {
            DropReason::QueueFull => "link queue full",
            DropReason::FlowQueueFull => "flow queue full",
            DropReason::ClassQueueFull => "class queue full",
            DropReason::PushedOut => "pushed out by a more urgent packet",
            DropReason::Expired => "queued beyond its Interest lifetime",
            DropReason::LinkLoss => "lost on the link",
            DropReason::FaceDown => "face down",
            DropReason::PitFull => "PIT full",
            DropReason::Loop => "loop",
            DropReason::HopLimit => "hop limit reached",
            DropReason::Unsolicited => "unsolicited Data",
            DropReason::NoRoute => "no route",
            DropReason::Malformed => "malformed",
            DropReason::Scope => "name out of scope",
        }
    }
}

/// A packet that a queue dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The packet.
    pub packet: PacketId,
    /// Why.
    pub reason: DropReason,
    /// For an Interest: tell its downstreams with a Nack.
    pub nack: Option<NackReason>,
}

/// What a queue dropped in one call.
pub type Drops = Vec<Dropped>;
