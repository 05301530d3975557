//! All that a node is told: packets, deadlines, faces, and every change of its tables. [`Node::handle`] is the one door.
//!
//! A [`Change`] is plain data, so a world can record it and make it again. What is not data, a link with its queue and a
//! strategy, is made by the world and comes as a [`Part`].
//!
//! A new input needs three parts: a variant of [`Change`], an arm in `Node::change`, and its fields in the forwarder's codec
//! (`record`).

use std::borrow::Cow;

use super::{CsUse, FaceKind, IngressPolicy, Node, Out};
use crate::ids::{FaceId, GroupId, StrategyId};
use crate::link::Link;
use crate::name::HashedName;
use crate::packet::PacketId;
use crate::seam::Strategy;
use crate::units::Rate;

/// Something happens to a node.
#[derive(Debug)]
pub enum Input<'a> {
    /// A packet arrived on a face.
    Packet {
        /// Where it arrived.
        face: FaceId,
        /// The node owns it from now on.
        packet: PacketId,
    },
    /// [`Node::next_deadline`] is reached.
    Deadline,
    /// A face came up.
    FaceUp(FaceId),
    /// A face went down.
    FaceDown(FaceId),
    /// The last packet of a face on a shared medium has left, or is lost: the next one may go.
    Sent(FaceId),
    /// A table or a setting changes.
    Change(&'a Change<'a>),
    /// The node gets a part, which the world has made.
    Add(Box<Part>),
}

/// A part of a node that is not data.
pub enum Part {
    /// The link of a new face. [`Effect::Face`] is its number.
    Link(Link),
    /// A strategy that may be chosen. [`Effect::Strategy`] is its number; none is added beyond
    /// [`MOST_STRATEGIES`](super::MOST_STRATEGIES).
    Strategy(Box<dyn Strategy>),
}

/// A change of a node's tables and settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Change<'a> {
    /// A new face leads to an application on this node. [`Effect::Face`] is its number.
    AddApplication,
    /// A face is removed, with its routes, the packets in its queue, and what it waits for. Many routes and pending Interests
    /// end in parts, the next ones at deadlines.
    RemoveFace(FaceId),
    /// A face joins a group: the flows of all faces of a group share as one. [`GroupId::NONE`], the default: each of the face's
    /// flows shares for itself.
    SetGroup {
        /// The face.
        face: FaceId,
        /// Its group from now on.
        group: GroupId,
    },
    /// The flows of a group that has no faces any more are forgotten: its number may mean another one.
    ForgetGroup(GroupId),
    /// What is believed of the packets that arrive by a face, in place of what was said before; counters stay. Without it,
    /// all is.
    SetIngress {
        /// The face.
        face: FaceId,
        /// What is believed.
        policy: IngressPolicy,
    },
    /// The rate of a face's link, from its next packet on ([`Link::set_rate`]).
    SetSendRate {
        /// The face.
        face: FaceId,
        /// The rate; `None`: packets leave as they come.
        rate: Option<Rate>,
    },
    /// The rate at which the other end of a face's link sends, for its queue.
    SetReceiveRate {
        /// The face.
        face: FaceId,
        /// The rate; `None` if it is not known.
        rate: Option<Rate>,
    },
    /// The rate that a face on a shared medium could have, for its queue. The matching rate comes afterwards
    /// ([`Change::SetReceiveRate`]).
    SetFairRate {
        /// The face.
        face: FaceId,
        /// The rate.
        rate: Rate,
    },
    /// A next hop of a prefix is added, or its cost changed.
    AddRoute {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The next hop.
        face: FaceId,
        /// The next hop with the lowest cost comes first.
        cost: u64,
    },
    /// A next hop of a prefix is removed. The last one removes the prefix and the state of its flows. [`Effect::Nothing`] if it
    /// was not there.
    RemoveRoute {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The next hop.
        face: FaceId,
    },
    /// A strategy forwards the names under a prefix. What is pending stays with the one that began. [`Effect::Nothing`] if
    /// there is no such strategy.
    ChooseStrategy {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The strategy, by its place in [`NodeConfig::strategies`](super::NodeConfig::strategies) or as its
        /// [`Effect::Strategy`] says.
        strategy: StrategyId,
    },
    /// The choice for a prefix is taken back.
    UnchooseStrategy {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
    },
    /// Bounds of the content store; either bound 0 means none.
    SetStoreLimits {
        /// The most Data.
        packets: usize,
        /// The most bytes.
        bytes: u64,
    },
    /// Whether the content store stores Data and answers Interests.
    SetStoreUse(CsUse),
    /// Data under a prefix are erased from the content store. [`Effect::Erased`] is their number.
    EraseStored {
        /// The prefix.
        prefix: Cow<'a, HashedName>,
        /// The most that are erased.
        limit: usize,
    },
    /// The hit ratio of the simulated cache, 0 to 1; a node without one is left as it is.
    SetCacheRatio(f64),
    /// The node fails and drops all its packets. The world replaces it with a new node before the next input.
    Fail,
}

impl Change<'_> {
    /// The face that it names, which the node must have.
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

/// What an input has done beside the actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// What it says.
    Done,
    /// Nothing, because what it names is not there, or there is no room for it.
    Nothing,
    /// There is a new face.
    Face(FaceId),
    /// There is a new strategy.
    Strategy(StrategyId),
    /// So many Data were erased.
    Erased(usize),
}

impl Node {
    /// The timer of the strategy stays: where its deadline is later from now on, it is called once in vain.
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
