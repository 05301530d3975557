//! Changes of routes and of the content store.

use super::{CsUse, Effect, Node, Out};
use crate::ids::FaceId;
use crate::name::HashedName;
use crate::tables::fib::{FibId, Removed};

impl Node {
    pub(super) fn take_route(&mut self, prefix: &HashedName, face: FaceId, out: &mut Out<'_>) -> Effect {
        let entry = self.fib.exact(prefix);
        let removed = self.fib.remove_next_hop(prefix, face);
        if removed == Removed::Nothing {
            return Effect::Nothing;
        }
        entry.into_iter().for_each(|id| self.forget_next_hop(id, face));
        if let Removed::Prefix(id) = removed {
            self.forget_fib_prefix(id, out);
        }
        Effect::Done
    }

    /// Removes at most this many routes by a face. Returns how many it removed.
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

    /// Forgets a removed next hop of an entry.
    fn forget_next_hop(&mut self, id: FibId, face: FaceId) {
        if let Some(guard) = &mut self.guard {
            guard.liveness.forget(id, face);
            if let [only] = self.fib.next_hops(id) {
                guard.liveness.note_only(id, only.face);
            }
        }
        self.strategies.each().for_each(|strategy| strategy.on_next_hop_removed(id, face));
    }

    fn forget_fib_prefix(&mut self, id: FibId, out: &mut Out<'_>) {
        self.strategies.each().for_each(|strategy| strategy.on_route_removed(id));
        for prefix in self.prefixes.of_removed(id) {
            self.forget_prefix(prefix, out);
        }
    }

    pub(super) fn set_store_limits(&mut self, packets: usize, bytes: u64, out: &mut Out<'_>) {
        self.cs.set_limits(packets, bytes, &mut self.evicted);
        self.evicted.drain(..).for_each(|packet| out.pool.free(packet));
    }

    pub(super) fn erase_stored(&mut self, prefix: &HashedName, limit: usize, out: &mut Out<'_>) -> Effect {
        let erased = self.cs.erase(prefix, limit, &mut self.evicted);
        self.evicted.drain(..).for_each(|packet| out.pool.free(packet));
        Effect::Erased(erased)
    }

    /// Returns whether the content store stores Data and whether it answers Interests.
    pub fn content_store_use(&self) -> CsUse {
        self.cs_use
    }

    /// Number of PIT entries that were satisfied, and number of those that expired.
    pub fn satisfied_and_unsatisfied(&self) -> (u64, u64) {
        (self.satisfied, self.unsatisfied)
    }

    /// Number of downstream records that were removed from a full PIT to make room for others.
    pub fn evicted_interests(&self) -> u64 {
        self.evicted_interests
    }
}
