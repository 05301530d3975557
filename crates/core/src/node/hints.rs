//! Forwarding hints that cannot harm consumers with another hint or with none.
//!
//! A hint names the network to which an Interest goes, and anybody may choose one. So a consumer that uses a
//! hint chooses who answers, but only for consumers with the same hint:
//!
//! - Interests with different hints have different PIT entries. A Data satisfies an entry only if its face
//!   was asked for this entry.
//! - A Data that was requested only with a hint answers later Interests of the same hint only, unless its
//!   name has a route by the face on which it came.
//! - After a Nack, the hint that was sent determines the next hops to try, not the hint in the neighbour's
//!   copy.

use smallvec::SmallVec;
use weir_packet::LpHeader;

use super::guard::liveness::Downstream;
use super::next_hops::is_next_hop;
use super::{Node, Out};
use crate::ids::{FaceId, PitId};
use crate::packet::{Packet, PacketId};
use crate::tables::fib::FibId;

/// Largest number of entries of one name that have a hint. Assumed: more than the networks of a producer. A
/// Data and a Nack look at all entries of a name.
const MOST_HINTED: usize = 8;

impl Node {
    /// Makes room for one more entry with a hint. If the name has too many, the oldest one without a waiting
    /// downstream ends. If there is none, the downstream with most of them loses its oldest.
    #[cold]
    pub(super) fn make_room_among_hints(&mut self, from: FaceId, id: PacketId, out: &mut Out<'_>) {
        let interest = &out.pool[id];
        let by = |face| Downstream::new(face, self.group(face));
        let mut hinted: SmallVec<[(PitId, Option<Downstream>); MOST_HINTED]> = SmallVec::new();
        let mut of_nobody = None;
        for (pit, entry) in self.pit.of_name(&interest.name) {
            let is_same = (entry.can_be_prefix(), entry.must_be_fresh(), entry.hint())
                == (interest.can_be_prefix, interest.must_be_fresh, interest.hint_hash());
            if is_same {
                return;
            }
            if entry.hint() != 0 {
                // An entry that several downstreams wait for belongs to none of them: one alone must not end
                // it for the others.
                let mut waiting = entry.in_records.iter().map(|record| by(record.face));
                let first = waiting.next();
                of_nobody = of_nobody.or(first.is_none().then_some(pit));
                hinted.push((pit, first.filter(|first| waiting.all(|other| other == *first))));
            }
        }
        if hinted.len() < MOST_HINTED {
            return;
        }
        if let Some(pit) = of_nobody {
            return self.expire_entry(pit, out);
        }
        let own = Some(by(from));
        let count = |of| hinted.iter().filter(|(_, by)| *by == of).count() + usize::from(of == own);
        // The last of the entries of the largest holder is the oldest.
        if let Some(&(oldest, _)) = hinted.iter().rev().max_by_key(|(_, by)| count(*by)) {
            self.evicted_interests += 1;
            self.expire_entry(oldest, out);
        }
    }

    /// Keeps an Interest with a hint while another next hop may be asked after a Nack.
    #[cold]
    pub(super) fn keep_hinted(&mut self, pit: PitId, route: FibId, id: PacketId, out: &mut Out<'_>) {
        let is_kept = self.pit.entry(pit).is_some_and(|entry| entry.kept.is_some());
        if is_kept || self.fib.next_hops(route).len() < 2 {
            return;
        }
        let copy = out.pool.duplicate(id);
        // The world's buffer may hold many packets.
        out.pool.keep_alone(copy);
        let interest = &mut out.pool[copy];
        *interest.header_mut() = LpHeader::NONE;
        self.pit.keep(pit, copy, interest.memory());
    }

    /// Which Interests a Data that satisfies these entries may answer from the content store: those of this
    /// hint, or all (0).
    #[inline]
    pub(super) fn may_answer(&self, face: FaceId, data: &Packet, satisfied: &[PitId]) -> u32 {
        let mut hints = satisfied.iter().filter_map(|pit| self.pit.entry(*pit)).map(|entry| entry.hint());
        let Some(first) = hints.next().filter(|first| *first != 0) else { return 0 };
        let leads_there = || {
            let route = self.fib.lookup(&data.name);
            route.is_some_and(|route| is_next_hop(&self.fib, route, face))
        };
        if hints.any(|hint| hint == 0) || leads_there() { 0 } else { first }
    }
}
