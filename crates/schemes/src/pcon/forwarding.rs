//! Forwarding percentages by prefix, moved by marks.
//!
//! Each next hop of a prefix has its part fp of the traffic; they sum up to 1. The cheapest one begins
//! with all. A marked Data from next hop j: Δ = `change_per_mark`·fp_j goes from it to all others, evenly.
//! A timeout, or a Nack for congestion, does the same with a Δ of `change_per_mark` itself. No rule moves
//! traffic back to shorter paths.

use smallvec::SmallVec;
use weir_core::fib::NextHop;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::params::Params;
use weir_core::random::Random;
use weir_core::scheme::{DataEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy};
use weir_core::strategy::least_severe;
use weir_core::units::{Span, Time};
use weir_packet::NackReason;

/// At most one Nack for congestion in this time counts for a prefix: CoDel's first spacing.
const NACK_INTERVAL: Span = Span::from_millis(110);

#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    change_per_mark: f64,
    probing: f64,
    reverse_marks: bool,
    adapt_to_losses: bool,
}

impl Settings {
    pub(super) fn new(params: &Params) -> Settings {
        Settings {
            change_per_mark: params.number("change_per_mark"),
            probing: params.number("probing"),
            reverse_marks: params.switch("reverse_marks"),
            adapt_to_losses: params.switch("adapt_to_losses"),
        }
    }
}

/// The parts of one prefix.
#[derive(Debug, Default)]
struct Percentages {
    hops: SmallVec<[(FaceId, f64); 4]>,
    /// Before this time another Nack does not count.
    nack_counts_from: Time,
}

impl Percentages {
    /// Takes in next hops that were not known. The first of all, the cheapest, begins with everything.
    fn learn(&mut self, next_hops: &[NextHop]) {
        for hop in next_hops {
            if !self.hops.iter().any(|(face, _)| *face == hop.face) {
                let part = if self.hops.is_empty() { 1.0 } else { 0.0 };
                self.hops.push((hop.face, part));
            }
        }
    }

    fn part(&self, face: FaceId) -> f64 {
        self.hops.iter().find(|(known, _)| *known == face).map_or(0.0, |(_, part)| *part)
    }

    /// One of these by their parts; the cheapest if none has any.
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

    /// Moves so much, but no more than there is, from a next hop to all others.
    fn move_from(&mut self, from: FaceId, amount: f64) {
        let others = self.hops.len().saturating_sub(1) as f64;
        if others == 0.0 || !self.hops.iter().any(|(face, _)| *face == from) {
            return;
        }
        let amount = amount.min(self.part(from));
        for (face, part) in &mut self.hops {
            *part += if *face == from { -amount } else { amount / others };
        }
    }
}

/// The node's side.
#[derive(Debug)]
pub(super) struct Forwarding {
    settings: Settings,
    /// By number of the prefix.
    prefixes: Vec<Percentages>,
}

impl Forwarding {
    pub(super) fn new(settings: Settings) -> Forwarding {
        Forwarding { settings, prefixes: Vec::new() }
    }

    fn of(&mut self, prefix: PrefixId) -> &mut Percentages {
        let place = prefix.0 as usize;
        if place >= self.prefixes.len() {
            self.prefixes.resize_with(place + 1, Percentages::default);
        }
        &mut self.prefixes[place]
    }

    /// A prefix that Interests were forwarded for.
    fn known(&mut self, prefix: PrefixId) -> Option<&mut Percentages> {
        self.prefixes.get_mut(prefix.0 as usize)
    }
}

/// The Interest's mark told the node before.
fn take_mark(ev: &mut InterestEvent<'_>) {
    if ev.interest.header().congestion_mark != 0 {
        ev.interest.header_mut().congestion_mark = 0;
    }
}

impl Strategy for Forwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        take_mark(ev);
        let probing = self.settings.probing;
        let percentages = self.of(ev.entry.prefix);
        percentages.learn(ev.next_hops);
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
        let sent_marked = ev.entry.out_records.iter().any(|out| out.face == ev.face && out.marked);
        if reverse_marks && sent_marked && ev.data.header().congestion_mark == 0 {
            ev.data.header_mut().congestion_mark = 1;
        }
        if ev.data.header().congestion_mark == 0 || ev.local {
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
            percentages.move_from(ev.face, change_per_mark);
        }
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(least_severe(ev)),
        }
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        let Settings { change_per_mark, adapt_to_losses, .. } = self.settings;
        let Some(percentages) = self.known(ev.entry.prefix).filter(|_| adapt_to_losses) else { return };
        for record in ev.entry.out_records.iter().filter(|record| record.times_sent > 0) {
            percentages.move_from(record.face, change_per_mark);
        }
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        if let Some(percentages) = self.known(prefix) {
            *percentages = Percentages::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(faces: &[u32]) -> Vec<NextHop> {
        faces.iter().map(|&face| NextHop { face: FaceId(face), cost: u64::from(face) }).collect()
    }

    fn parts(percentages: &Percentages) -> Vec<f64> {
        percentages.hops.iter().map(|(_, part)| (part * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn a_mark_moves_a_fiftieth_of_a_next_hops_part_to_the_others() {
        let mut percentages = Percentages::default();
        percentages.learn(&hops(&[1, 2, 3]));
        assert_eq!(parts(&percentages), [1.0, 0.0, 0.0]);
        percentages.move_from(FaceId(1), 0.02 * percentages.part(FaceId(1)));
        assert_eq!(parts(&percentages), [0.98, 0.01, 0.01]);
        percentages.move_from(FaceId(3), 0.02);
        assert_eq!(parts(&percentages), [0.985, 0.015, 0.0], "no more than there is");
        percentages.move_from(FaceId(9), 0.5);
        assert_eq!(parts(&percentages), [0.985, 0.015, 0.0], "not one of them");
    }

    #[test]
    fn one_next_hop_keeps_everything() {
        let mut percentages = Percentages::default();
        percentages.learn(&hops(&[1]));
        percentages.move_from(FaceId(1), 0.5);
        assert_eq!(parts(&percentages), [1.0]);
    }

    #[test]
    fn next_hops_are_drawn_by_their_parts_among_those_that_can_be_had() {
        let mut percentages = Percentages::default();
        percentages.learn(&hops(&[1, 2, 3]));
        percentages.move_from(FaceId(1), 0.6);
        let mut random = Random::named(1, "pcon");
        let mut count = |among: &[u32], face: u32| {
            let among = hops(among);
            (0..10_000).filter(|_| percentages.choose(&among, &mut random) == Some(FaceId(face))).count()
        };
        assert!((3_800..4_200).contains(&count(&[1, 2, 3], 1)));
        assert!((4_800..5_200).contains(&count(&[2, 3], 3)));
        assert_eq!(count(&[7], 7), 10_000, "one without a part is better than none");
    }
}
