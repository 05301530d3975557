//! The face's part of a scheme: scheduling, shaping, marking and dropping in front of a link.

use core::any::Any;

use super::Drops;
use crate::ids::PrefixId;
use crate::packet::{Packet, PacketId, PacketPool};
use crate::random::Random;
use crate::units::{Bytes, Rate, Span, Time};

/// The queue in front of a link. All packets that leave by the face pass it.
pub trait Queue: Any + Send {
    /// Enqueues a packet that is to leave by this face. Packets that do not fit go to `ev.dropped`.
    fn enqueue(&mut self, ev: &mut EnqueueEvent<'_>, packet: PacketId);

    /// The link is free: returns the next packet. The header of the packet may be rewritten here.
    fn dequeue(&mut self, ev: &mut DequeueEvent<'_>) -> Next;

    /// An Interest or a Data arrived on this face: count it, rewrite its signals. For a Data this is called
    /// after its PIT entry is found, so its flow is known, and before
    /// [`Strategy::on_data`](super::Strategy::on_data). It is not called for unsolicited Data or for Nacks.
    fn on_receive(&mut self, _ev: &mut ReceiveEvent<'_>) {}

    /// Reports how long the link took for a packet, if the link knows it. A serial line reports when the
    /// packet starts to leave. A radio, or a network card with completions, reports when the packet has left.
    /// A queue without a configured rate can measure its link by it. A link without a rate, such as a face of
    /// a forwarder without `rate`, never reports.
    fn on_sent(&mut self, _ev: &SentEvent) {}

    /// Time of the next [`Queue::on_deadline`]. This excludes the time for which `dequeue` waits.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// Runs periodic work at the deadline.
    fn on_deadline(&mut self, _now: Time) {}

    /// The rate of outgoing packets has changed; `None`: unknown.
    fn on_send_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// The rate of arriving packets has changed; `None`: unknown.
    fn on_receive_rate(&mut self, _rate: Option<Rate>, _now: Time) {}

    /// Sets the fair rate of a shared medium: the rate that the face would have if it requested as much as
    /// possible. The rate of [`Queue::on_receive_rate`] follows use, so limits that are fractions of a
    /// capacity use this rate instead. It is not guaranteed, because other stations may be using it.
    fn on_fair_rate(&mut self, _rate: Rate, _now: Time) {}

    /// A prefix is forgotten of which the queue keeps state ([`EnqueueEvent::keeps_prefix`]). Its number will
    /// be reused.
    fn on_prefix_removed(&mut self, _ev: &mut PrefixRemoved<'_>) {}

    /// The face is removed: returns all waiting packets.
    fn clear(&mut self, ev: &mut ClearEvent<'_>);

    /// The packets and bytes in the queue.
    fn backlog(&self) -> Backlog;
}

/// The removal of a face with its queue.
#[derive(Debug)]
pub struct ClearEvent<'a> {
    /// When the face was removed.
    pub now: Time,
    /// The packet pool.
    pub pool: &'a mut PacketPool,
    /// Receives all waiting packets.
    pub cleared: &'a mut Vec<PacketId>,
}

/// The removal of a prefix.
#[derive(Debug)]
pub struct PrefixRemoved<'a> {
    /// When it is removed.
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

/// A packet that is to leave by a face.
#[derive(Debug)]
pub struct EnqueueEvent<'a> {
    /// When it reaches the queue.
    pub now: Time,
    /// The packet pool.
    pub pool: &'a mut PacketPool,
    /// The dropped packets: this packet or others.
    pub dropped: &'a mut Drops,
    /// The face's random stream.
    pub random: &'a mut Random,
    /// Set by a queue that starts to keep state of the prefix of the packet's flow. The queue is then told
    /// when the prefix is forgotten. It need not set this again before that.
    pub keeps_prefix: bool,
}

/// A free link.
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
    /// `None`. A queue that returns an Interest may set a note of its own, which comes back with the
    /// Interest's Data ([`ReceiveEvent::departed`]).
    pub note: Option<u32>,
}

/// The time that a link takes for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentEvent {
    /// When the link reports it.
    pub now: Time,
    /// The packet's length on the wire.
    pub wire_len: Bytes,
    /// Time from handing over the packet until the link is free again. On a shared medium this includes the
    /// time in which others sent.
    pub took: Span,
}

/// An Interest that has left a queue, with the queue's note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// When it left the queue; up to a microsecond too early.
    pub left: Time,
    /// The note that the queue attached to it ([`DequeueEvent::note`]).
    pub note: u32,
}

/// An Interest or a Data arrived on a face.
#[derive(Debug)]
pub struct ReceiveEvent<'a> {
    /// When its last bit arrived.
    pub now: Time,
    /// The packet; its signals may be rewritten.
    pub packet: &'a mut Packet,
    /// Its length on the wire.
    pub wire_len: Bytes,
    /// For a Data: time since this face sent the Interest; `None` if it was sent more than once.
    pub rtt: Option<Span>,
    /// For a Data: when its Interest left by this face, with the queue's note. `None` for an Interest, if the
    /// queue made no note, and if `rtt` is `None`.
    pub departed: Option<Departed>,
    /// The face's random stream.
    pub random: &'a mut Random,
    /// `false`. Set by a queue if, because of this packet, a packet may leave earlier than the queue
    /// announced. The queue is then asked again, at once if the link is free.
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
