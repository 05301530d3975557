//! The inputs of a node: packets, deadlines, faces, and every change of its tables. All of them pass through
//! [`Node::handle`].
//!
//! A [`Change`] is plain data, so a world can record and repeat it. Parts that are not data (a link with its
//! queue, a strategy) are made by the world and arrive as a [`Part`].
//!
//! A new input needs three parts: a variant of [`Change`], an arm in `Node::change`, and its fields in the
//! forwarder's codec (`record`).

use std::borrow::Cow;

use super::{CsUse, FaceKind, IngressPolicy, Node, Out};
use crate::ids::{FaceId, GroupId, StrategyId};
use crate::link::Link;
use crate::name::HashedName;
use crate::packet::PacketId;
use crate::seam::Strategy;
use crate::units::Rate;

/// An input of a node.
#[derive(Debug)]
pub enum Input<'a> {
    /// A packet arrived on a face.
    Packet {
        /// The face on which it arrived.
        face: FaceId,
        /// The packet. The node owns it from now on.
        packet: PacketId,
    },
    /// [`Node::next_deadline`] is reached.
    Deadline,
    /// A face came up.
    FaceUp(FaceId),
    /// A face went down.
    FaceDown(FaceId),
    /// The last packet of a face on a shared medium has left or is lost: the next one may go.
    Sent(FaceId),
    /// A table or a setting changes.
    Change(&'a Change<'a>),
    /// Adds a part, which the world has made.
    Add(Box<Part>),
}

/// A part of a node that is not data.
pub enum Part {
    /// The link of a new face. [`Effect::Face`] returns the face's number.
    Link(Link),
    /// A strategy that may be chosen. [`Effect::Strategy`] returns its number. A node has at most
    /// [`MOST_STRATEGIES`](super::MOST_STRATEGIES).
    Strategy(Box<dyn Strategy>),
}

/// A change of a node's tables and settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<'a> {
    /// Adds a face to an application on this node. [`Effect::Face`] returns its number.
    AddApplication,
    /// Removes a face with its routes, its queued packets and its pending Interests. If there are many routes
    /// and pending Interests, they end in parts at later deadlines.
    RemoveFace(FaceId),
    /// Puts a face into a group: the flows of all faces of a group share as one. With [`GroupId::NONE`], the
    /// default, each of the face's flows shares for itself.
    SetGroup {
        /// The face.
        face: FaceId,
        /// Its new group.
        group: GroupId,
    },
    /// Forgets the flows of a group that has no faces any more, because its number may be used for another
    /// group.
    ForgetGroup(GroupId),
    /// Replaces the ingress policy of a face; counters stay. A face without a policy is trusted fully.
    SetIngress {
        /// The face.
        face: FaceId,
        /// The new policy.
        policy: IngressPolicy,
    },
    /// Sets the rate of a face's link, from its next packet on ([`Link::set_rate`]).
    SetSendRate {
        /// The face.
        face: FaceId,
        /// The rate; `None`: sending takes no time.
        rate: Option<Rate>,
    },
    /// Tells the queue of a face the sending rate of the link's other end.
    SetReceiveRate {
        /// The face.
        face: FaceId,
        /// The rate; `None` if it is unknown.
        rate: Option<Rate>,
    },
    /// Tells the queue of a face on a shared medium which rate the face could have. The matching rate follows
    /// ([`Change::SetReceiveRate`]).
    SetFairRate {
        /// The face.
        face: FaceId,
        /// The rate.
        rate: Rate,
    },
    /// Adds a next hop of a prefix, or changes its cost.
    AddRoute {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The next hop.
        face: FaceId,
        /// The cost. The next hop with the lowest cost comes first.
        cost: u64,
    },
    /// Removes a next hop of a prefix. Removing the last one removes the prefix and the state of its flows.
    /// Returns [`Effect::Nothing`] if there was no such next hop.
    RemoveRoute {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The next hop.
        face: FaceId,
    },
    /// Chooses the strategy for the names under a prefix. Pending Interests stay with their strategy. Returns
    /// [`Effect::Nothing`] if there is no such strategy.
    ChooseStrategy {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The strategy: its index in [`NodeConfig::strategies`](super::NodeConfig::strategies), or the
        /// number returned by [`Effect::Strategy`].
        strategy: StrategyId,
    },
    /// Removes the choice for a prefix.
    UnchooseStrategy {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
    },
    /// Sets the bounds of the content store. If either bound is 0, nothing is stored.
    SetStoreLimits {
        /// Largest number of Data.
        packets: usize,
        /// Largest number of bytes.
        bytes: u64,
    },
    /// Sets whether the content store stores Data and whether it answers Interests.
    SetStoreUse(CsUse),
    /// Erases Data under a prefix from the content store. [`Effect::Erased`] returns their number.
    EraseStored {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// Largest number of Data to erase.
        limit: usize,
    },
    /// Sets the hit ratio of the simulated cache, 0 to 1. It has no effect on a node without a simulated
    /// cache.
    SetCacheRatio(f64),
    /// The node fails and drops all its packets. The world replaces it with a new node before the next input.
    Fail,
}

impl Change<'_> {
    /// The face that the change names. The node must have it.
    pub fn face(&self) -> Option<FaceId> {
        match *self {
            Change::RemoveFace(face)
            | Change::SetGroup { face, .. }
            | Change::SetIngress { face, .. }
            | Change::SetSendRate { face, .. }
            | Change::SetReceiveRate { face, .. }
            | Change::SetFairRate { face, .. }
            | Change::AddRoute { face, .. }
            | Change::RemoveRoute { face, .. } => Some(face),
            Change::AddApplication
            | Change::ForgetGroup(_)
            | Change::ChooseStrategy { .. }
            | Change::UnchooseStrategy { .. }
            | Change::SetStoreLimits { .. }
            | Change::SetStoreUse(_)
            | Change::EraseStored { .. }
            | Change::SetCacheRatio(_)
            | Change::Fail => None,
        }
    }
}

/// The result of an input, apart from the actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The change is done.
    Done,
    /// Nothing changed: the named object does not exist, or there is no room.
    Nothing,
    /// The number of the new face.
    Face(FaceId),
    /// The number of the new strategy.
    Strategy(StrategyId),
    /// The number of Data that were erased.
    Erased(usize),
}

impl Node {
    /// Handles a change. The timer of the strategy stays. If the strategy's deadline moves to a later time,
    /// it is called once too early.
    #[cold]
    pub(super) fn on_change(&mut self, input: Input<'_>, out: &mut Out<'_>) -> Effect {
        let effect = match input {
            Input::Change(change) => self.change(change, out),
            Input::Add(part) => self.add(*part, out),
            Input::Packet { .. }
            | Input::Deadline
            | Input::FaceUp(_)
            | Input::FaceDown(_)
            | Input::Sent(_) => Effect::Nothing,
        };
        self.plain = self.is_without_extras();
        self.report_drops(out);
        effect
    }

    fn change(&mut self, change: &Change<'_>, out: &mut Out<'_>) -> Effect {
        match change {
            Change::AddApplication => return Effect::Face(self.add_face(out.now, FaceKind::Application)),
            Change::RemoveFace(face) => self.detach(*face, out),
            Change::SetGroup { face, group } => self.join_group(*face, *group),
            Change::ForgetGroup(group) => self.end_group(*group, out),
            Change::SetIngress { face, policy } => self.believe(*face, policy),
            Change::SetSendRate { face, rate } => self.change_send_rate(out.now, *face, *rate),
            Change::SetReceiveRate { face, rate } => self.change_receive_rate(out.now, *face, *rate),
            Change::SetFairRate { face, rate } => self.change_fair_rate(out.now, *face, *rate),
            Change::AddRoute { prefix, face, cost } => _ = self.fib.insert(prefix, *face, *cost),
            Change::RemoveRoute { prefix, face } => return self.take_route(prefix, *face, out),
            Change::ChooseStrategy { prefix, strategy } => return self.strategies.choose(prefix, *strategy),
            Change::UnchooseStrategy { prefix } => self.strategies.unchoose(prefix),
            Change::SetStoreLimits { packets, bytes } => self.set_store_limits(*packets, *bytes, out),
            Change::SetStoreUse(cs_use) => self.cs_use = *cs_use,
            Change::EraseStored { prefix, limit } => return self.erase_stored(prefix, *limit, out),
            Change::SetCacheRatio(ratio) => {
                self.simulated_cache.iter_mut().for_each(|cache| cache.set_ratio(*ratio));
            }
            Change::Fail => self.fail(out),
        }
        Effect::Done
    }

    fn add(&mut self, part: Part, out: &Out<'_>) -> Effect {
        match part {
            Part::Link(link) => Effect::Face(self.attach(out.now, link)),
            Part::Strategy(strategy) => {
                self.strategies.add(strategy).map_or(Effect::Nothing, Effect::Strategy)
            }
        }
    }
}

impl core::fmt::Debug for Part {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Part::Link(_) => "Link",
            Part::Strategy(_) => "Strategy",
        })
    }
}
