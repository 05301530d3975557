//! Forwarding percentages of each prefix. Marks change them.
//!
//! Each next hop of a prefix has a part fp of the traffic; the parts sum up to 1. At first the cheapest next hop has
//! all of it. A marked Data from next hop j, or a Nack for congestion, moves Δ = `change_per_mark`·fp_j from j to all
//! others, in equal parts. A timeout does the same with Δ = `change_per_mark`. The mark on this node's own Interest
//! goes downstream with its Data, and moves nothing here. No rule moves traffic back to shorter paths.

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::parameters;
use weir_core::random::Random;
use weir_core::seam::best_route::least_severe;
use weir_core::seam::{DataEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy};
use weir_core::tables::fib::NextHop;
use weir_core::tables::pairs::Pairs;
use weir_core::units::{Span, Time};
use weir_packet::NackReason;

/// At most one Nack for congestion in this time counts for a prefix: CoDel's first spacing.
const NACK_INTERVAL: Span = Span::from_millis(110);

parameters! {
    /// The parameters of forwarding.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// whether the mark on an Interest comes back on its Data
        reverse_marks: bool = switch("reverse_marks") default "true"
            from "files: pcon-strategy, the mark of the PIT entry";
        /// part of a next hop's traffic that a mark, or a Nack for congestion, moves to the others
        change_per_mark: f64 = number("change_per_mark", 0.0..=1.0) default "0.02"
            from "files: pcon-strategy, CHANGE_PER_MARK";
        /// part of the Interests that go to all next hops, as probes; marks on a probe move nothing from a next hop
        /// without traffic
        probing: f64 = number("probing", 0.0..=1.0) default "0.001" from "files: pcon-strategy";
        /// whether timeouts and Nacks move traffic: a timeout moves `change_per_mark` of all of it, a Nack as much as
        /// a mark
        adapt_to_losses: bool = switch("adapt_to_losses") default "true" from "files: pcon-strategy";
    }
}

/// The traffic parts of one prefix.
#[derive(Debug, Default)]
struct Percentages {
    hops: SmallVec<[(FaceId, f64); 4]>,
    /// The next hop that has all traffic, and its cost, until a part of it moves.
    begins: Option<NextHop>,
    /// Nacks before this time do not count.
    nack_counts_from: Time,
}

impl Percentages {
    /// Adds unknown next hops, and returns whether there were some. The cheapest starts with all traffic,
    /// even if it is not among the first ones: the face of an Interest is not a next hop for it.
    fn learn(&mut self, next_hops: &[NextHop]) -> bool {
        let before = self.hops.len();
        for hop in next_hops {
            if self.hops.iter().any(|(face, _)| *face == hop.face) {
                continue;
            }
            let is_first = self.hops.is_empty();
            self.hops.push((hop.face, 0.0));
            if is_first || self.begins.is_some_and(|begins| hop.cost < begins.cost) {
                self.hops.iter_mut().for_each(|(face, part)| *part = f64::from(*face == hop.face));
                self.begins = Some(*hop);
            }
        }
        self.hops.len() > before
    }

    /// Removes a next hop. The others share its part.
    fn forget(&mut self, gone: FaceId) {
        self.move_from(gone, 1.0);
        self.hops.retain(|(face, _)| *face != gone);
        self.begins = self.begins.filter(|begins| begins.face != gone);
    }

    fn part(&self, face: FaceId) -> f64 {
        self.hops.iter().find(|(known, _)| *known == face).map_or(0.0, |(_, part)| *part)
    }

    /// Draws one of these next hops by their parts; returns the cheapest if none has a part.
    fn choose(&self, next_hops: &[NextHop], random: &mut Random) -> Option<FaceId> {
        let total: f64 = next_hops.iter().map(|hop| self.part(hop.face)).sum();
        let mut left = random.unit() * total;
        for hop in next_hops {
            let part = self.part(hop.face);
            if part > left {
                return Some(hop.face);
            }
            left -= part;
        }
        next_hops.first().map(|hop| hop.face)
    }

    /// Moves `amount`, or what is left, from a next hop to all others.
    fn move_from(&mut self, from: FaceId, amount: f64) {
        let others = self.hops.len().saturating_sub(1) as f64;
        if others == 0.0 || !self.hops.iter().any(|(face, _)| *face == from) {
            return;
        }
        let amount = amount.min(self.part(from));
        if amount > 0.0 {
            self.begins = None;
        }
        for (face, part) in &mut self.hops {
            *part += if *face == from { -amount } else { amount / others };
        }
    }
}

/// The strategy of a node.
#[derive(Debug)]
pub(super) struct Forwarding {
    settings: Settings,
    /// The percentages, by number of the prefix.
    prefixes: Vec<Percentages>,
    /// The pairs of a face and a prefix that has it as a next hop.
    of_faces: Pairs,
}

impl Forwarding {
    pub(super) fn new(settings: Settings) -> Forwarding {
        Forwarding { settings, prefixes: Vec::new(), of_faces: Pairs::default() }
    }

    fn of(&mut self, prefix: PrefixId) -> &mut Percentages {
        let place = prefix.0 as usize;
        if place >= self.prefixes.len() {
            self.prefixes.resize_with(place + 1, Percentages::default);
        }
        &mut self.prefixes[place]
    }

    /// Returns the percentages of a prefix, if Interests were forwarded for it.
    fn known(&mut self, prefix: PrefixId) -> Option<&mut Percentages> {
        self.prefixes.get_mut(prefix.0 as usize)
    }
}

/// Removes the Interest's mark, which was for the previous node.
fn take_mark(ev: &mut InterestEvent<'_>) {
    if ev.interest.header().congestion_mark != 0 {
        ev.interest.header_mut().congestion_mark = 0;
    }
}

impl Strategy for Forwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        take_mark(ev);
        let probing = self.settings.probing;
        let prefix = ev.entry.prefix.0;
        if self.of(ev.entry.prefix).learn(ev.next_hops) {
            ev.next_hops.iter().for_each(|hop| self.of_faces.add(hop.face.0, prefix));
        }
        let percentages = &self.prefixes[prefix as usize];
        let Some(chosen) = percentages.choose(ev.next_hops, ev.random) else {
            return Decision::Nack(NackReason::NoRoute);
        };
        if ev.next_hops.len() > 1 && ev.random.chance(probing) {
            let others = ev.next_hops.iter().map(|hop| hop.face).filter(|face| *face != chosen);
            return Decision::Multicast([chosen].into_iter().chain(others).collect());
        }
        Decision::Forward(chosen)
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        let Settings { change_per_mark, reverse_marks, .. } = self.settings;
        let arrived_marked = ev.data.header().congestion_mark != 0;
        let sent_marked = ev.entry.out_records.iter().any(|out| out.face == ev.face && out.marked);
        if reverse_marks && sent_marked && !arrived_marked {
            ev.data.header_mut().congestion_mark = 1;
        }
        if !arrived_marked || ev.local {
            return;
        }
        if let Some(percentages) = self.known(ev.entry.prefix) {
            let amount = change_per_mark * percentages.part(ev.face);
            percentages.move_from(ev.face, amount);
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        let Settings { change_per_mark, adapt_to_losses, .. } = self.settings;
        if let Some(percentages) = self.known(ev.entry.prefix)
            && adapt_to_losses
            && ev.reason == NackReason::Congestion
            && ev.now >= percentages.nack_counts_from
        {
            percentages.nack_counts_from = ev.now + NACK_INTERVAL;
            let amount = change_per_mark * percentages.part(ev.face);
            percentages.move_from(ev.face, amount);
        }
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(least_severe(ev)),
        }
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        let Settings { change_per_mark, adapt_to_losses, .. } = self.settings;
        let Some(percentages) = self.known(ev.entry.prefix).filter(|_| adapt_to_losses) else { return };
        // An Interest that this node's own full queue dropped expires like any other.
        for record in ev.entry.out_records.iter().filter(|record| record.nacked.is_none()) {
            percentages.move_from(record.face, change_per_mark);
        }
    }

    fn on_face(&mut self, face: FaceId, up: bool, _now: Time) {
        if !up {
            for prefix in self.of_faces.take(face.0) {
                self.prefixes[prefix as usize].forget(face);
            }
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        if let Some(percentages) = self.known(prefix) {
            let Percentages { hops, .. } = core::mem::take(percentages);
            hops.iter().for_each(|(face, _)| self.of_faces.remove(face.0, prefix.0));
        }
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
