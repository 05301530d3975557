//! RFA, the request forwarding algorithm of OMCC-RF: next hops with fewer pending Interests get more Interests. HbHCM
//! uses it too.
//!
//! For each prefix p and next hop j: PI, the pending Interests of p that were sent to j, and
//!
//! > avgPI ← 0.9·avgPI + 0.1·PI at each change of PI; weight = 1/max(1, avgPI)
//!
//! PI is correct only if each counted Interest is removed exactly once: with its Data, from any next hop;
//! with the Nack of its next hop; or with the end of its PIT entry. The last two also cover removed faces and
//! removed prefixes. Each entry stores the next hops at which it is counted ([`Counted`]).

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PrefixId};
use weir_core::random::Random;
use weir_core::seam::best_route::{is_suppressed, least_severe};
use weir_core::seam::{DataEvent, Decision, ExpiredEvent, InterestEvent, NackEvent, Strategy};
use weir_core::tables::fib::NextHop;
use weir_core::tables::pairs::Pairs;
use weir_core::tables::pit::PitEntry;
use weir_core::units::Time;
use weir_core::{choice, parameters};
use weir_packet::NackReason;

choice! {
    /// The rule by which a next hop is chosen.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Rule {
        /// At random, in proportion to the weights.
        Weighted = "weighted",
        /// The next hop with the fewest pending Interests.
        LeastPending = "least-pending",
    }
}

parameters! {
    /// Parameters of the average of PI.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Averaging {
        /// weight of the new value in avgPI
        gain: f64 = number("gain", 0.0001..=1.0) default "0.1" from "files: OMCCRFStrategy.cpp";
    }
}

/// The largest number of next hops at which an Interest is counted.
const NEXT_HOPS: usize = 24;

/// The choice of a next hop, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// At random by 1/max(1, avgPI). avgPI is PI smoothed with this gain.
    Weighted {
        /// The weight of the new value.
        gain: f64,
    },
    /// The next hop with the fewest pending Interests. An unused one counts as if one were pending. Of equal
    /// ones, the cheapest.
    LeastPending,
}

impl Choice {
    /// Returns the choice for this rule.
    pub(crate) fn new(rule: Rule, averaging: Averaging) -> Choice {
        match rule {
            Rule::LeastPending => Choice::LeastPending,
            Rule::Weighted => Choice::Weighted { gain: averaging.gain },
        }
    }
}

/// The pending Interests of one next hop.
#[derive(Clone, Copy, Debug)]
struct Load {
    face: FaceId,
    pending: u32,
    average: f64,
}

/// One prefix. The index of a next hop in its loads is its bit in [`Counted`].
#[derive(Clone, Debug, Default)]
struct Row {
    /// Increases when the number is assigned to another prefix.
    epoch: u8,
    loads: SmallVec<[Load; 2]>,
}

impl Row {
    fn load(&self, face: FaceId) -> Option<&Load> {
        self.loads.iter().find(|load| load.face == face)
    }

    /// Returns the slot of a next hop, and sets whether it is new. If all are in use, a new one replaces one
    /// without pending Interests.
    fn place_of(&mut self, face: FaceId, is_new: &mut bool) -> Option<usize> {
        if let Some(place) = self.loads.iter().position(|load| load.face == face) {
            return Some(place);
        }
        *is_new = true;
        let fresh = Load { face, pending: 0, average: 0.0 };
        if self.loads.len() < NEXT_HOPS {
            self.loads.push(fresh);
            return Some(self.loads.len() - 1);
        }
        let place = self.loads.iter().position(|load| load.pending == 0)?;
        self.loads[place] = fresh;
        Some(place)
    }
}

/// The places at which a PIT entry is counted, in its scratch word: the row of a prefix, and a bit for each
/// slot in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counted {
    prefix: u32,
    epoch: u8,
    places: u32,
}

impl Counted {
    fn of(entry: &PitEntry) -> Counted {
        let word = entry.scratch;
        Counted { prefix: word as u32, epoch: (word >> 32) as u8, places: (word >> 40) as u32 }
    }

    fn write(self, entry: &mut PitEntry) {
        entry.scratch = u64::from(self.prefix) | u64::from(self.epoch) << 32 | u64::from(self.places) << 40;
    }
}

/// The pending Interests of each prefix at each next hop.
#[derive(Debug)]
pub(crate) struct PendingInterests {
    gain: f64,
    /// Whether unanswered transmissions stay counted if another one is answered: a fault of QSCCP's authors'
    /// code.
    unanswered_stays: bool,
    rows: Vec<Row>,
    /// The pairs of a face and a row that has it as a next hop.
    of_faces: Pairs,
}

impl PendingInterests {
    fn new(gain: f64) -> PendingInterests {
        PendingInterests { gain, unanswered_stays: false, rows: Vec::new(), of_faces: Pairs::default() }
    }

    /// Counts an entry that is sent to a next hop.
    pub(crate) fn add(&mut self, entry: &mut PitEntry, prefix: PrefixId, face: FaceId) {
        if self.rows.len() <= prefix.0 as usize {
            self.rows.resize_with(prefix.0 as usize + 1, Row::default);
        }
        let epoch = self.rows[prefix.0 as usize].epoch;
        let mut counted = Counted::of(entry);
        if (counted.prefix, counted.epoch) != (prefix.0, epoch) {
            // Routes have changed, and with them the entry's prefix.
            self.remove_all(entry);
            counted = Counted { prefix: prefix.0, epoch, places: 0 };
        }
        let mut is_new = false;
        let place = self.rows[prefix.0 as usize].place_of(face, &mut is_new);
        if is_new {
            self.of_faces.add(face.0, prefix.0);
        }
        let Some(place) = place else { return };
        if counted.places & 1 << place == 0 || self.unanswered_stays {
            counted.places |= 1 << place;
            self.change(prefix.0, place, 1);
        }
        counted.write(entry);
    }

    /// Removes an entry at a next hop that will not answer it.
    pub(crate) fn remove(&mut self, entry: &mut PitEntry, face: FaceId) {
        let mut counted = Counted::of(entry);
        let Some(row) = self.row(counted) else { return };
        let place = row.loads.iter().position(|load| load.face == face);
        if let Some(place) = place.filter(|place| counted.places & 1 << place != 0) {
            counted.places &= !(1 << place);
            counted.write(entry);
            self.change(counted.prefix, place, -1);
        }
    }

    /// Removes an entry that ends with a Data from this next hop.
    fn answer(&mut self, entry: &PitEntry, face: FaceId) {
        if !self.unanswered_stays {
            return self.remove_all(entry);
        }
        let counted = Counted::of(entry);
        let Some(row) = self.row(counted) else { return };
        if let Some(place) = row.loads.iter().position(|load| load.face == face) {
            self.change(counted.prefix, place, -1);
        }
    }

    /// Removes an entry that ends.
    pub(crate) fn remove_all(&mut self, entry: &PitEntry) {
        let counted = Counted::of(entry);
        let Some(row) = self.row(counted) else { return };
        for place in 0..row.loads.len() {
            if counted.places & 1 << place != 0 {
                self.change(counted.prefix, place, -1);
            }
        }
    }

    /// Returns the row in which an entry is counted, unless its prefix has been removed since.
    fn row(&self, counted: Counted) -> Option<&Row> {
        self.rows.get(counted.prefix as usize).filter(|row| row.epoch == counted.epoch)
    }

    fn change(&mut self, prefix: u32, place: usize, by: i32) {
        let load = &mut self.rows[prefix as usize].loads[place];
        load.pending = load.pending.saturating_add_signed(by);
        load.average += self.gain * (f64::from(load.pending) - load.average);
    }

    fn load(&self, prefix: PrefixId, face: FaceId) -> Option<&Load> {
        self.rows.get(prefix.0 as usize)?.load(face)
    }

    /// Resets the averages of a face that went down or came up, because they may be out of date. Pending
    /// Interests are subtracted as they end.
    fn forget_average(&mut self, face: FaceId) {
        for row in self.of_faces.of(face.0) {
            let loads = &mut self.rows[row as usize].loads;
            loads.iter_mut().filter(|load| load.face == face).for_each(|load| load.average = 0.0);
        }
    }

    fn forget_prefix(&mut self, prefix: PrefixId) {
        if let Some(row) = self.rows.get_mut(prefix.0 as usize) {
            row.epoch = row.epoch.wrapping_add(1);
            row.loads.drain(..).for_each(|load| self.of_faces.remove(load.face.0, prefix.0));
        }
    }
}

/// The strategy of a node.
#[derive(Debug)]
pub(crate) struct RequestForwarding {
    choice: Choice,
    pending: PendingInterests,
}

impl RequestForwarding {
    pub(crate) fn new(choice: Choice) -> RequestForwarding {
        let gain = if let Choice::Weighted { gain } = choice { gain } else { 1.0 };
        RequestForwarding { choice, pending: PendingInterests::new(gain) }
    }

    /// Sets `unanswered_stays`.
    pub(crate) fn with_unanswered(mut self, stays: bool) -> RequestForwarding {
        self.pending.unanswered_stays = stays;
        self
    }

    fn choose(&self, prefix: PrefixId, next_hops: &[NextHop], random: &mut Random) -> Option<FaceId> {
        let load = |hop: &NextHop| self.pending.load(prefix, hop.face);
        if let [] | [_] = next_hops {
            return next_hops.first().map(|hop| hop.face);
        }
        let weights: SmallVec<[f64; 8]> = match self.choice {
            Choice::Weighted { .. } => next_hops
                .iter()
                .map(|hop| 1.0 / load(hop).map_or(1.0, |load| load.average.max(1.0)))
                .collect(),
            Choice::LeastPending => {
                let weight = |pending: u32| 1.0 / (1.0 + f64::from(pending));
                next_hops.iter().map(|hop| load(hop).map_or(0.5, |load| weight(load.pending))).collect()
            }
        };
        let place = match self.choice {
            Choice::Weighted { .. } => roulette(&weights, random),
            Choice::LeastPending => first_greatest(&weights),
        };
        Some(next_hops[place].face)
    }
}

/// Draws an index in proportion to the weights.
fn roulette(weights: &[f64], random: &mut Random) -> usize {
    let mut draw = random.unit() * weights.iter().sum::<f64>();
    for (place, weight) in weights.iter().enumerate() {
        if draw < *weight {
            return place;
        }
        draw -= weight;
    }
    weights.len() - 1
}

fn first_greatest(weights: &[f64]) -> usize {
    (1..weights.len()).fold(0, |best, place| if weights[place] > weights[best] { place } else { best })
}

impl Strategy for RequestForwarding {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        let prefix = ev.interest.flow.prefix;
        match self.choose(prefix, ev.next_hops, ev.random) {
            Some(face) => {
                self.pending.add(ev.entry, prefix, face);
                Decision::Forward(face)
            }
            None => Decision::Nack(NackReason::NoRoute),
        }
    }

    /// The Data ends the entry, at all next hops.
    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        self.pending.answer(ev.entry, ev.face);
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        self.pending.remove(ev.entry, ev.face);
        // While another next hop may still answer, this Nack does not end the entry.
        if !ev.entry.is_pending(ev.now)
            && let Some(face) = self.choose(ev.entry.prefix, ev.next_hops, ev.random)
        {
            self.pending.add(ev.entry, ev.entry.prefix, face);
            return Decision::Forward(face);
        }
        Decision::Nack(least_severe(ev))
    }

    fn on_expired(&mut self, ev: &mut ExpiredEvent<'_>) {
        self.pending.remove_all(ev.entry);
    }

    fn on_face(&mut self, face: FaceId, _up: bool, _now: Time) {
        self.pending.forget_average(face);
    }

    fn on_prefix_removed(&mut self, prefix: PrefixId) {
        self.pending.forget_prefix(prefix);
    }
}

#[cfg(test)]
mod tests;
