//! Short forms of the changes of a node, for tests. Other code uses [`Node::handle`].

use std::borrow::Cow;

use super::{Action, Change, CsUse, Effect, IngressPolicy, Input, Node, Part};
use crate::ids::{FaceId, GroupId, StrategyId};
use crate::link::Link;
use crate::name::HashedName;
use crate::packet::PacketPool;
use crate::seam::Strategy;
use crate::units::{Rate, Time};

/// Each method makes the [`Change`] or adds the [`Part`] of its name.
#[allow(missing_docs, reason = "the changes say what they do")]
pub trait Told {
    fn tell(
        &mut self,
        now: Time,
        input: Input<'_>,
        pool: &mut PacketPool,
        actions: &mut Vec<Action>,
    ) -> Effect;

    /// Makes a change that moves no packets, at time zero.
    fn set(&mut self, change: &Change<'_>) -> Effect {
        self.alone(Time::ZERO, Input::Change(change))
    }

    /// Handles an input that causes no action.
    fn alone(&mut self, now: Time, input: Input<'_>) -> Effect {
        let (mut pool, mut actions) = (PacketPool::new(), Vec::new());
        let effect = self.tell(now, input, &mut pool, &mut actions);
        assert!(actions.is_empty(), "{actions:?}");
        effect
    }

    fn add_application(&mut self, now: Time) -> FaceId {
        face(self.alone(now, Input::Change(&Change::AddApplication)))
    }

    fn add_link(&mut self, now: Time, link: Link) -> FaceId {
        face(self.alone(now, Input::Add(Box::new(Part::Link(link)))))
    }

    fn add_strategy(&mut self, strategy: Box<dyn Strategy>) -> Option<StrategyId> {
        match self.alone(Time::ZERO, Input::Add(Box::new(Part::Strategy(strategy)))) {
            Effect::Strategy(id) => Some(id),
            _ => None,
        }
    }

    fn remove_face(&mut self, now: Time, face: FaceId, pool: &mut PacketPool, actions: &mut Vec<Action>) {
        self.tell(now, Input::Change(&Change::RemoveFace(face)), pool, actions);
    }

    fn set_group(&mut self, face: FaceId, group: GroupId) {
        self.set(&Change::SetGroup { face, group });
    }

    fn set_ingress(&mut self, face: FaceId, policy: &IngressPolicy) {
        self.set(&Change::SetIngress { face, policy: *policy });
    }

    fn add_route(&mut self, prefix: &HashedName, face: FaceId, cost: u64) {
        self.set(&Change::AddRoute { prefix: Cow::Borrowed(prefix), face, cost });
    }

    fn remove_route(
        &mut self,
        now: Time,
        prefix: &HashedName,
        face: FaceId,
        pool: &mut PacketPool,
        actions: &mut Vec<Action>,
    ) -> bool {
        let change = Change::RemoveRoute { prefix: Cow::Borrowed(prefix), face };
        self.tell(now, Input::Change(&change), pool, actions) == Effect::Done
    }

    fn choose_strategy(&mut self, prefix: &HashedName, strategy: StrategyId) {
        self.set(&Change::ChooseStrategy { prefix: Cow::Borrowed(prefix), strategy });
    }

    fn unchoose_strategy(&mut self, prefix: &HashedName) {
        self.set(&Change::UnchooseStrategy { prefix: Cow::Borrowed(prefix) });
    }

    fn set_content_store_limits(&mut self, packets: usize, bytes: u64, pool: &mut PacketPool) {
        let change = Change::SetStoreLimits { packets, bytes };
        self.tell(Time::ZERO, Input::Change(&change), pool, &mut Vec::new());
    }

    fn use_content_store(&mut self, cs_use: CsUse) {
        self.set(&Change::SetStoreUse(cs_use));
    }

    fn erase_content(&mut self, prefix: &HashedName, limit: usize, pool: &mut PacketPool) -> usize {
        let change = Change::EraseStored { prefix: Cow::Borrowed(prefix), limit };
        match self.tell(Time::ZERO, Input::Change(&change), pool, &mut Vec::new()) {
            Effect::Erased(erased) => erased,
            _ => 0,
        }
    }

    fn set_link_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>) {
        self.alone(now, Input::Change(&Change::SetSendRate { face, rate }));
    }

    fn set_cache_ratio(&mut self, ratio: f64) {
        self.set(&Change::SetCacheRatio(ratio));
    }
}

impl Told for Node {
    fn tell(
        &mut self,
        now: Time,
        input: Input<'_>,
        pool: &mut PacketPool,
        actions: &mut Vec<Action>,
    ) -> Effect {
        self.handle(now, input, pool, actions)
    }
}

fn face(effect: Effect) -> FaceId {
    match effect {
        Effect::Face(face) => face,
        _ => unreachable!("a face is added"),
    }
}
