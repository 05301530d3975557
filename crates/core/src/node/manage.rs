//! Routes, strategies and content store, as whoever manages a node changes them.

use super::{Action, CsUse, Node, Out};
use crate::ids::FaceId;
use crate::ids::StrategyId;
use crate::name::HashedName;
use crate::packet::PacketPool;
use crate::seam::Strategy;
use crate::tables::fib::{FibId, Removed};
use crate::units::Time;

impl Node {
    /// Adds a next hop to a prefix, or changes its cost.
    pub fn add_route(&mut self, prefix: &HashedName, face: FaceId, cost: u64) -> FibId {
        self.fib.insert(prefix, face, cost)
    }

    /// Removes a next hop from a prefix; returns whether it existed. The last next hop removes the prefix and the
    /// state of its flows.
    pub fn remove_route(
        &mut self,
        now: Time,
        prefix: &HashedName,
        face: FaceId,
        pool: &mut PacketPool,
        actions: &mut Vec<Action>,
    ) -> bool {
        let entry = self.fib.exact(prefix);
        let removed = self.fib.remove_next_hop(prefix, face);
        if let Some(id) = entry.filter(|_| removed != Removed::Nothing) {
            self.forget_next_hop(id, face);
        }
        if let Removed::Prefix(id) = removed {
            let mut out = Out { now, pool, actions };
            self.forget_fib_prefix(id, &mut out);
            self.report_drops(&mut out);
        }
        removed != Removed::Nothing
    }

    /// Removes routes by a face, at most so many. How many it removed.
    pub(super) fn remove_routes_of(&mut self, face: FaceId, most: usize, out: &mut Out<'_>) -> usize {
        let removed = self.fib.remove_face(face, most);
        for &(id, is_last) in &removed {
            self.forget_next_hop(id, face);
            if is_last {
                self.forget_fib_prefix(id, out);
            }
        }
        removed.len()
    }

    /// A next hop of an entry was removed.
    fn forget_next_hop(&mut self, id: FibId, face: FaceId) {
        self.liveness.forget(id, face);
        if let [only] = self.fib.next_hops(id) {
            self.liveness.note_only(id, only.face);
        }
        self.strategies.each().for_each(|strategy| strategy.on_next_hop_removed(id, face));
    }

    fn forget_fib_prefix(&mut self, id: FibId, out: &mut Out<'_>) {
        self.strategies.each().for_each(|strategy| strategy.on_route_removed(id));
        for prefix in self.prefixes.of_removed(id) {
            self.forget_prefix(prefix, out);
        }
    }

    /// Adds a strategy, to be chosen; `None` if there are too many
    /// ([`MOST_STRATEGIES`](crate::node::MOST_STRATEGIES)).
    pub fn add_strategy(&mut self, strategy: Box<dyn Strategy>) -> Option<StrategyId> {
        self.strategies.add(strategy)
    }

    /// Has a strategy forward the names under a prefix. What is pending stays with the one that began.
    pub fn choose_strategy(&mut self, prefix: &HashedName, strategy: StrategyId) {
        self.strategies.choose(prefix, strategy);
    }

    /// Takes back the choice for a prefix.
    pub fn unchoose_strategy(&mut self, prefix: &HashedName) {
        self.strategies.unchoose(prefix);
    }

    /// Changes the bounds of the content store.
    pub fn set_content_store_limits(&mut self, packets: usize, bytes: u64, pool: &mut PacketPool) {
        self.cs.set_limits(packets, bytes, &mut self.evicted);
        self.evicted.drain(..).for_each(|packet| pool.free(packet));
    }

    /// Whether the content store stores Data and answers Interests.
    pub fn content_store_use(&self) -> CsUse {
        self.cs_use
    }

    /// Sets whether the content store stores Data and answers Interests.
    pub fn use_content_store(&mut self, cs_use: CsUse) {
        self.cs_use = cs_use;
    }

    /// Erases at most `limit` Data under a prefix; says how many.
    pub fn erase_content(&mut self, prefix: &HashedName, limit: usize, pool: &mut PacketPool) -> usize {
        let erased = self.cs.erase(prefix, limit, &mut self.evicted);
        self.evicted.drain(..).for_each(|packet| pool.free(packet));
        erased
    }

    /// The numbers of PIT entries that were answered and that expired.
    pub fn satisfied_and_unsatisfied(&self) -> (u64, u64) {
        (self.satisfied, self.unsatisfied)
    }

    /// The number of downstreams that made room for others in a full PIT.
    pub fn evicted_interests(&self) -> u64 {
        self.evicted_interests
    }
}
