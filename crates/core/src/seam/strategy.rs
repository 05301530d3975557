//! The node's part of a scheme: it chooses next hops for Interests, and reads and writes fields of passing
//! packets.

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
    /// An Interest needs a next hop: returns the decision.
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision;

    /// Returns whether it uses only the cheapest next hop of a prefix while that answers. Default: no, it
    /// divides traffic.
    fn keeps_to_one(&self) -> bool {
        false
    }

    /// Returns whether it sends every Interest to all next hops, so that silent ones need not be left.
    /// Default: no, it chooses.
    fn asks_all(&self) -> bool {
        false
    }

    /// An Interest was added to a PIT entry that is already pending for another downstream.
    fn on_aggregated(&mut self, _ev: &mut InterestEvent<'_>) {}

    /// An Interest is about to be answered from the content store, through [`Strategy::on_data_out`].
    fn on_cached(&mut self, _ev: &mut CachedEvent<'_>) {}

    /// A Data arrived that satisfies a PIT entry. This is called once per entry, before any copy is sent.
    fn on_data(&mut self, _ev: &mut DataEvent<'_>) {}

    /// A copy of a Data is about to be sent to one downstream. This is the last chance to change its signals.
    fn on_data_out(&mut self, _ev: &mut DataOutEvent<'_>) {}

    /// A next hop returned a Nack. The return value applies if no other next hop is pending. Default: return
    /// the least severe reason to the downstreams.
    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        Decision::Nack(least_severe(ev))
    }

    /// A PIT entry ends without Data: it has expired, or every next hop refused it.
    fn on_expired(&mut self, _ev: &mut ExpiredEvent<'_>) {}

    /// A face came up or went down.
    fn on_face(&mut self, _face: FaceId, _up: bool, _now: Time) {}

    /// A prefix is forgotten: its number will be reused.
    fn on_prefix_removed(&mut self, _prefix: PrefixId) {}

    /// A next hop of a FIB entry is removed. This is also called for all next hops of a removed face. The
    /// number of the face may be reused.
    fn on_next_hop_removed(&mut self, _route: FibId, _face: FaceId) {}

    /// A FIB entry is removed: its number will be reused.
    fn on_route_removed(&mut self, _route: FibId) {}

    /// Time of the next [`Strategy::on_deadline`].
    fn next_deadline(&self) -> Time {
        Time::NEVER
    }

    /// Runs periodic work at the deadline, and releases held Interests.
    fn on_deadline(&mut self, _ev: &mut StrategyDeadline<'_>) {}
}

/// The decision about an Interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Send it to this next hop.
    Forward(FaceId),
    /// Send it to the first of these next hops, and a copy with a new nonce to the second.
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
    /// `true` if it came from an application on this node.
    pub local: bool,
    /// The usable next hops of its prefix, cheapest first: next hops that are up, without the face on which
    /// it arrived.
    pub next_hops: &'a [NextHop],
    /// How long after the last sending a repeated Interest is absorbed, for strategies without a rule of
    /// their own: the smoothed time from the sending of an Interest of its prefix to the Data, at most
    /// [`SUPPRESSION`]. Zero if the node itself has already suppressed repeated Interests.
    ///
    /// [`SUPPRESSION`]: super::best_route::SUPPRESSION
    pub suppression: Span,
    /// `true` if it was last sent for another [group](crate::ids::GroupId). The other group may not reach a
    /// node with the Data, or may not wait for it, so its sending absorbs no repeated Interest.
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
    /// `true` if it came from an application on this node.
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
    /// `true` if that face leads to an application on this node.
    pub local: bool,
    /// Its flow at this node.
    pub flow: FlowKey,
    /// The PIT entry that it satisfies.
    pub entry: &'a PitEntry,
    /// Time since the Interest was sent to that face; `None` if it was not sent there, or more than once.
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
    /// From this node's content store; the value is its age there.
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
    /// `true` if that face leads to an application on this node.
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
    /// The reason.
    pub reason: NackReason,
    /// The face on which it arrived.
    pub face: FaceId,
    /// The PIT entry, for a strategy that now holds the Interest.
    pub pit: PitId,
    /// The entry itself.
    pub entry: &'a mut PitEntry,
    /// The usable next hops that were not tried yet.
    pub next_hops: &'a [NextHop],
    /// The node's random stream.
    pub random: &'a mut Random,
}

/// A PIT entry that ends without Data.
#[derive(Debug)]
pub struct ExpiredEvent<'a> {
    /// When the entry ends: after its expiry by up to a slot of the PIT's timing wheel.
    pub now: Time,
    /// The entry, with its out-records.
    pub entry: &'a PitEntry,
}

/// The strategy's deadline.
#[derive(Debug)]
pub struct StrategyDeadline<'a> {
    /// The deadline, or later if the world is late.
    pub now: Time,
    /// Held Interests to send now, and their next hops. The strategy fills it.
    pub releases: &'a mut SmallVec<[(PitId, FaceId); 8]>,
    /// The node's random stream.
    pub random: &'a mut Random,
}
