//! The face: scheduling, shaping, marking and dropping in front of a link.

use core::any::Any;

use super::Drops;
use crate::ids::PrefixId;
use crate::packet::{Packet, PacketId, PacketPool};
use crate::random::Random;
use crate::units::{Bytes, Rate, Span, Time};

/// The queue in front of a link: everything that leaves by the face passes it.
pub trait Queue: Any + Send {
    /// A packet is to leave by this face. What does not fit goes to `ev.dropped`.
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId);

    /// The link is free: which packet is next. Its header may be rewritten here.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next;

    /// An Interest or a Data arrived on this face: count it, rewrite its signals. For a Data this is
    /// called after its PIT entry is found, so its flow is known, and before [`Strategy::on_data`](super::Strategy::on_data);
    /// one that nobody asked for is not shown, nor is a Nack.
    fn on_receive(&mut self, _ev: &mut ReceiveEvent<'_>) {}

    /// How long the link took for a packet that it was given, where the link knows: a serial line says so when the packet
    /// begins to leave, a radio or a network card with completions when it has left. A queue that is told no rate
    /// can measure its link by it. A link without a rate, such as a face of a forwarder without `rate`, never says.
    fn on_sent(&mut self, _ev: &SentEvent) {}

    /// The time for the next [`Queue::on_deadline`], except the time for which `dequeue` waits.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached: periodic work.
    fn on_deadline(&mut self, _now: Time) {}

    /// The rate of outgoing packets has changed; `None`: unknown.
    fn on_send_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// Packets arrive on this face at another rate from now on.
    fn on_receive_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// On a shared medium the rate of [`Queue::on_receive_rate`] follows use. This is the rate that the face would
    /// have if it asked for as much as possible: limits that are parts of a capacity are parts of this. It is not a
    /// promise, because others may be using it.
    fn on_fair_rate(&mut self, _rate: Rate, _now: Time) {}

    /// A prefix is forgotten of which the queue keeps state ([`EnqueueEvent::keeps_prefix`]): its number comes to mean
    /// another.
    fn on_prefix_removed(&mut self, _ev: &mut PrefixRemoved<'_>) {}

    /// The face is gone: gives up everything that waits.
    fn clear(&mut self, ev: &mut ClearEvent<'_>);

    /// The packets and bytes in the queue.
    fn backlog(&self) -> Backlog;
}

/// A face is gone, and its queue with it.
#[derive(Debug)]
pub struct ClearEvent<'a> {
    /// When the face went.
    pub now: Time,
    /// The packet pool.
    pub pool: &'a mut PacketPool,
    /// Everything that waited goes here.
    pub cleared: &'a mut Vec<PacketId>,
}

/// A prefix is forgotten.
#[derive(Debug)]
pub struct PrefixRemoved<'a> {
    /// When it is forgotten.
    pub now: Time,
    /// The number that the prefix had.
    pub prefix: PrefixId,
    /// The packet pool.
    pub pool: &'a mut PacketPool,
    /// The packets dropped because of it.
    pub dropped: &'a mut Drops,
}

/// The packets and bytes in a queue.
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
    /// When it comes to the queue.
    pub now: Time,
    /// The packet pool.
    pub pool: &'a mut PacketPool,
    /// The dropped packets: this packet or others.
    pub dropped: &'a mut Drops,
    /// The face's random stream.
    pub random: &'a mut Random,
    /// Set by a queue that begins to keep state of the prefix of the packet's flow: then it is told when the prefix is
    /// forgotten. It need not be set again before.
    pub keeps_prefix: bool,
}

/// A link is free.
#[derive(Debug)]
pub struct DequeueEvent<'a> {
    /// When the link is free.
    pub now: Time,
    /// The packet pool. The packet's signals and congestion mark may be rewritten. A mark on an Interest is also
    /// recorded in its PIT entry's out-record.
    pub pool: &'a mut PacketPool,
    /// The packets dropped instead of sent.
    pub dropped: &'a mut Drops,
    /// The face's random stream.
    pub random: &'a mut Random,
    /// `None`. A queue that gives an Interest may set a number of its own: it is shown with the Interest's Data
    /// ([`ReceiveEvent::departed`]).
    pub note: Option<u32>,
}

/// The link has been busy with a packet, or will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentEvent {
    /// When the link says so.
    pub now: Time,
    /// The packet's length on the wire.
    pub wire_len: Bytes,
    /// From when the packet was given until the link is free again. On a shared medium this includes the time in which
    /// others sent.
    pub took: Span,
}

/// An Interest that has left a queue, as that queue has noted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// When it left the queue, less than a microsecond too early.
    pub left: Time,
    /// The number that the queue gave it then ([`DequeueEvent::note`]).
    pub note: u32,
}

/// An Interest or a Data arrived on a face.
#[derive(Debug)]
pub struct ReceiveEvent<'a> {
    /// When it arrived, its last bit.
    pub now: Time,
    /// The packet; its signals may be rewritten.
    pub packet: &'a mut Packet,
    /// Its length on the wire.
    pub wire_len: Bytes,
    /// For a Data: time since the Interest was sent by this face; `None` if it was sent more than once.
    pub rtt: Option<Span>,
    /// The time at which the Interest of a Data left by this face, with the queue's note of it. `None` for an Interest, if the
    /// queue made no note, and if `rtt` is `None`.
    pub departed: Option<Departed>,
    /// The face's random stream.
    pub random: &'a mut Random,
    /// `false`. Set by a queue in which, because of this packet, a packet may leave earlier than the queue said: then
    /// it is asked again, at once if the link is free.
    pub may_send: bool,
}

/// The answer of a queue to a free link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This packet.
    Packet(PacketId),
    /// Nothing before this time.
    At(Time),
    /// Nothing until a packet is enqueued.
    Empty,
}
