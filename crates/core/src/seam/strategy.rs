//! The node's part of a scheme: it chooses next hops for Interests, and reads and writes fields of passing packets.

use smallvec::SmallVec;
use weir_packet::NackReason;

use super::best_route::least_severe;
use crate::ids::{FaceId, PitId, PrefixId};
use crate::packet::{FlowKey, Packet};
use crate::random::Random;
use crate::tables::fib::{FibId, NextHop};
use crate::tables::pit::{InRecord, PitEntry};
use crate::units::{Span, Time};

/// A node's forwarding strategy.
pub trait Strategy: Send {
    /// An Interest needs a next hop.
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision;

    /// Whether it uses only the cheapest next hop of a prefix while that answers. Default: it divides traffic.
    fn keeps_to_one(&self) -> bool {
        false
    }

    /// Whether it sends every Interest to all next hops, so that none needs to be left if it does not answer. Default: it
    /// chooses.
    fn asks_all(&self) -> bool {
        false
    }

    /// An Interest was added to a PIT entry that is already pending for another downstream.
    fn on_aggregated(&mut self, _ev: &mut InterestEvent<'_>) {}

    /// An Interest is about to be answered from the content store, through
    /// [`Strategy::on_data_out`].
    fn on_cached(&mut self, _ev: &mut CachedEvent<'_>) {}

    /// A Data arrived that a PIT entry waits for; called once per entry, before any copy is sent.
    fn on_data(&mut self, _ev: &mut DataEvent<'_>) {}

    /// A copy of a Data is about to be sent to one downstream: the last word on its signals.
    fn on_data_out(&mut self, _ev: &mut DataOutEvent<'_>) {}

    /// A Nack came back from a next hop. The return value applies if no other next hop is pending. Default: pass on
    /// the least severe reason.
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        Decision::Nack(least_severe(ev))
    }

    /// A PIT entry ends without Data: it has expired, or no next hop would take it.
    fn on_expired(&mut self, _ev: &mut ExpiredEvent<'_>) {}

    /// A face came up, or went down.
    fn on_face(&mut self, _face: FaceId, _up: bool, _now: Time) {}

    /// A prefix is forgotten: its number comes to mean another.
    fn on_prefix_removed(&mut self, _prefix: PrefixId) {}

    /// A next hop of an entry of the FIB is removed, as are all of a face that goes: the number of the face may come to mean
    /// another.
    fn on_next_hop_removed(&mut self, _route: FibId, _face: FaceId) {}

    /// An entry of the FIB is removed: its number comes to mean another.
    fn on_route_removed(&mut self, _route: FibId) {}

    /// When [`Strategy::on_deadline`] wants to be called.
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline is reached: periodic work, and held Interests to release.
    fn on_deadline(&mut self, _ev: &mut StrategyDeadline<'_>) {}
}

/// The decision about an Interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send it to this next hop.
    Forward(FaceId),
    /// Send it to the first of these next hops, and then a copy with a nonce of its own to the second.
    Probe(FaceId, FaceId),
    /// Send a copy to each of these next hops.
    Multicast(SmallVec<[FaceId; 4]>),
    /// Keep it here until [`StrategyDeadline::releases`] names it.
    Hold,
    /// It is already pending: only record the downstream.
    Suppress,
    /// Return it with this reason, and forget it.
    Nack(NackReason),
}

/// An Interest at a node, after the content store had nothing and its PIT entry was made.
#[derive(Debug)]
pub struct InterestEvent<'a> {
    /// When the Interest arrived, or came back as a Nack.
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
    /// How long after the last sending a repeated Interest is absorbed, where the strategy has no rule of its own: the
    /// smoothed time from the sending of an Interest of its prefix to the Data, and [`SUPPRESSION`] at most. Zero where
    /// the node has let through only what it wants sent on again.
    ///
    /// [`SUPPRESSION`]: super::best_route::SUPPRESSION
    pub suppression: Span,
    /// Whether it was sent last for another [group](crate::ids::GroupId): that may not reach who has the Data, or not wait for
    /// them, so it absorbs no Interest that is asked again.
    pub was_sent_for_others: bool,
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// An Interest that the content store answers.
#[derive(Debug)]
pub struct CachedEvent<'a> {
    /// When the Interest arrived.
    pub now: Time,
    /// The Interest, its flow known.
    pub interest: &'a Packet,
    /// Whether it came from an application on this node.
    pub local: bool,
}

/// A Data at a node.
#[derive(Debug)]
pub struct DataEvent<'a> {
    /// When the Data arrived.
    pub now: Time,
    /// The Data; its signals may be rewritten.
    pub data: &'a mut Packet,
    /// The face on which it arrived.
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

/// The origin of the answer to a downstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// From upstream, for the Interest of this downstream.
    Forwarded,
    /// From upstream, for the Interest of another downstream.
    Aggregated,
    /// From this node's content store, with its age there.
    Cached(Span),
}

/// A copy of a Data that is about to leave for one downstream.
#[derive(Debug)]
pub struct DataOutEvent<'a> {
    /// When the Data arrived, or was found in the content store.
    pub now: Time,
    /// The copy; its signals may be rewritten.
    pub data: &'a mut Packet,
    /// The face on which it leaves.
    pub face: FaceId,
    /// Whether that is an application on this node.
    pub local: bool,
    /// Its flow at this node.
    pub flow: FlowKey,
    /// The downstream's Interest.
    pub in_record: &'a InRecord,
    /// The origin of the answer.
    pub answer: Answer,
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// A Nack from upstream.
#[derive(Debug)]
pub struct NackEvent<'a> {
    /// When the Nack arrived.
    pub now: Time,
    /// Why.
    pub reason: NackReason,
    /// The face on which it arrived.
    pub face: FaceId,
    /// The PIT entry, for a strategy that now holds the Interest.
    pub pit: PitId,
    /// The entry itself.
    pub entry: &'a mut PitEntry,
    /// The usable next hops that were not tried.
    pub next_hops: &'a [NextHop],
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// A PIT entry that ends without Data.
#[derive(Debug)]
pub struct ExpiredEvent<'a> {
    /// When the entry ends: up to a slot of the PIT's timing wheel after its expiry.
    pub now: Time,
    /// The entry, with its out-records.
    pub entry: &'a PitEntry,
}

/// The strategy's deadline.
#[derive(Debug)]
pub struct StrategyDeadline<'a> {
    /// The deadline, or later where the world is late.
    pub now: Time,
    /// Held Interests to send now, and where to: filled by the strategy.
    pub releases: &'a mut SmallVec<[(PitId, FaceId); 8]>,
    /// The node's random stream.
    pub random: &'a mut Random,
}
