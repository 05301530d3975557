//! The next hops of a flow, their grants, and the choice between them.
//!
//! Next hops get Interests in proportion to v_u·g_u (smooth weighted round robin). v_u is 1 unless the flow
//! needs less than it may have. Then the flow avoids the links that others need (Kelly and Voice 2005).

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::units::{Span, Time};

use super::signals::{Grant, Load};

/// A next hop without Data for this time, while others had some, has no part in S.
const MEMORY: Span = Span::from_secs(10);
/// After this number of successive losses a next hop grants nothing.
const LOSSES: u8 = 3;
/// A flow needs less than it may have if it uses less than this part of S. A next hop has room for the whole
/// flow if this part of its grant suffices.
const NEEDS_LESS: f64 = 0.85;
const ROOM: f64 = 0.8;
/// The step of v_u, and its smallest value.
const STEP: f64 = 0.1;
const LEAST_WEIGHT: f64 = 0.001;

/// The state of a next hop.
#[derive(Clone, Copy, Debug)]
struct Upstream {
    face: FaceId,
    /// g_u; `None` before the first Data.
    grant: Option<Grant>,
    heard: Time,
    /// The credit of the round robin.
    credit: f64,
    losses: u8,
    rtt: Option<Span>,
    /// v_u.
    weight: f64,
}

/// The next hops of a flow.
#[derive(Debug, Default)]
pub(super) struct Upstreams(SmallVec<[Upstream; 2]>);

impl Upstreams {
    fn of(&mut self, face: FaceId) -> Option<&mut Upstream> {
        self.0.iter_mut().find(|up| up.face == face)
    }

    /// Adds a next hop. Returns whether it is new.
    pub(super) fn add(&mut self, face: FaceId) -> bool {
        let is_new = self.of(face).is_none();
        if is_new {
            let (grant, heard, credit, losses, rtt, weight) = (None, Time::ZERO, 0.0, 0, None, 1.0);
            self.0.push(Upstream { face, grant, heard, credit, losses, rtt, weight });
        }
        is_new
    }

    /// Iterates over the next hops with a Data in the remembered time before the latest one.
    fn recent(&self) -> impl Iterator<Item = &Upstream> {
        let latest = self.0.iter().map(|up| up.heard).max().unwrap_or(Time::ZERO);
        self.0.iter().filter(move |up| latest.since(up.heard) <= MEMORY)
    }

    /// Returns S, the sum of their grants, bit/s: 0 before any Data, infinite if one has no limit.
    pub(super) fn granted(&self) -> f64 {
        self.recent().filter_map(|up| up.grant).map(|grant| grant.rate).sum()
    }

    /// Returns whether Interests were sent, and none was answered.
    pub(super) fn is_waiting(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|up| up.heard == Time::ZERO)
    }

    /// Returns the load of the links that limit them.
    pub(super) fn load(&self) -> Load {
        let is = |load| move |up: &Upstream| up.grant.is_some_and(|grant| grant.load == load);
        if self.recent().any(is(Load::Free)) {
            Load::Free
        } else if self.recent().all(is(Load::Full)) {
            Load::Full
        } else {
            Load::Usual
        }
    }

    /// Returns the time of the latest Data from a next hop.
    pub(super) fn heard(&mut self, face: FaceId) -> Time {
        self.of(face).map_or(Time::ZERO, |up| up.heard)
    }

    /// Counts a Data from a next hop, with a new grant or the previous one.
    pub(super) fn on_data(&mut self, now: Time, face: FaceId, granted: Option<Grant>, rtt: Option<Span>) {
        let Some(up) = self.of(face) else { return };
        up.grant = granted.or(up.grant.filter(|grant| grant.rate > 0.0)).or(Some(Grant::UNLIMITED));
        (up.heard, up.losses) = (now, 0);
        if let Some(rtt) = rtt {
            let smooth = |before: Span| Span::from_nanos((15 * before.as_nanos() + rtt.as_nanos()) / 16);
            up.rtt = Some(up.rtt.map_or(rtt, smooth));
        }
    }

    /// Counts the loss of an Interest that was sent to a next hop at this time.
    pub(super) fn on_loss(&mut self, face: FaceId, sent: Time) {
        let Some(up) = self.of(face) else { return };
        if up.heard < sent {
            up.losses = up.losses.saturating_add(1);
            if up.losses >= LOSSES {
                up.grant = Some(Grant { rate: 0.0, load: Load::Usual });
            }
        }
    }

    pub(super) fn faces(&self) -> impl Iterator<Item = FaceId> {
        self.0.iter().map(|up| up.face)
    }

    pub(super) fn forget(&mut self, face: FaceId) {
        self.0.retain(|up| up.face != face);
    }

    /// Returns the next hop for an Interest, of those that were added, by weights.
    pub(super) fn choose(&mut self, faces: &[FaceId]) -> FaceId {
        if let [only] = faces {
            return *only;
        }
        let ups: SmallVec<[Upstream; 8]> = faces.iter().filter_map(|&face| self.of(face).copied()).collect();
        let rate = |up: &Upstream| up.grant.map(|grant| grant.rate);
        if let Some(up) = ups.iter().find(|up| rate(up) == Some(f64::INFINITY)) {
            return up.face;
        }
        let (known, sum) = ups.iter().filter_map(rate).fold((0, 0.0), |(n, sum), rate| (n + 1, sum + rate));
        let mean = if sum > 0.0 { sum / f64::from(known) } else { 1.0 };
        // A next hop without a grant counts as the mean; if none grants anything, all are equal.
        let weigh = |up: &Upstream| if sum > 0.0 { up.weight * rate(up).unwrap_or(mean) } else { 1.0 };
        let all: f64 = ups.iter().map(weigh).sum();
        let mut best = (faces[0], f64::NEG_INFINITY);
        for up in &ups {
            let part = weigh(up) / all;
            let credit = (up.credit + part).clamp(-1.0, 1.0);
            self.of(up.face).into_iter().for_each(|up| up.credit = credit);
            if part > 0.0 && credit > best.1 {
                best = (up.face, credit);
            }
        }
        self.charge(best.0);
        best.0
    }

    /// Charges a next hop for an Interest.
    pub(super) fn charge(&mut self, face: FaceId) {
        self.of(face).into_iter().for_each(|up| up.credit -= 1.0);
    }

    /// Adjusts v_u. `used` bit/s of S are requested. A flow that needs less than it may have uses its nearest
    /// next hop that has room for all of it, or else avoids those with full links. A flow that needs
    /// everything never shifts, because then S would not be reached.
    pub(super) fn coordinate(&mut self, used: f64) {
        if self.0.len() < 2 {
            return;
        }
        let needs_less = used < NEEDS_LESS * self.granted();
        let has_room = |up: &&Upstream| {
            up.grant.is_some_and(|grant| grant.load != Load::Full && used < ROOM * grant.rate)
        };
        let nearest = self.recent().filter(has_room).filter_map(|up| Some((up.rtt?, up.face))).min();
        let nearest = nearest.filter(|_| needs_less).map(|(_, face)| face);
        let any = |load| self.recent().any(|up| up.grant.is_some_and(|grant| grant.load == load));
        let shifts = needs_less && any(Load::Full) && any(Load::Free);
        for up in &mut self.0 {
            let leaves = match nearest {
                Some(nearest) => up.face != nearest,
                None => shifts && up.grant.is_some_and(|grant| grant.load == Load::Full),
            };
            if leaves {
                up.weight = ((1.0 - STEP) * up.weight).max(LEAST_WEIGHT);
            } else if !needs_less || nearest.is_some() || shifts {
                up.weight += STEP * (1.0 - up.weight);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACES: [FaceId; 3] = [FaceId(1), FaceId(2), FaceId(3)];

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn says(rate: f64, load: Load) -> Option<Grant> {
        Some(Grant { rate, load })
    }

    /// Returns next hops with these grants, Mb/s.
    fn ups(grants: &[f64]) -> Upstreams {
        let mut ups = Upstreams::default();
        for (face, mbps) in FACES.into_iter().zip(grants) {
            ups.add(face);
            ups.on_data(
                at(1000),
                face,
                says(1e6 * mbps, Load::Usual),
                Some(Span::from_millis(u64::from(face.0))),
            );
        }
        ups
    }

    /// Returns how many of `interests` Interests go to each next hop.
    fn divided<const N: usize>(ups: &mut Upstreams, faces: [FaceId; N], interests: u32) -> [u32; N] {
        let mut to = [0; N];
        for face in faces {
            ups.add(face);
        }
        for _ in 0..interests {
            let chosen = ups.choose(&faces);
            to[faces.iter().position(|face| *face == chosen).unwrap()] += 1;
        }
        to
    }

    #[test]
    fn next_hops_get_interests_in_proportion_to_their_grants_in_any_row() {
        let mut three = ups(&[6.0, 3.0, 1.0]);
        for row in [10, 20, 50] {
            let to = divided(&mut three, FACES, row);
            for (got, grant) in to.iter().zip([6, 3, 1]) {
                assert!(got.abs_diff(row * grant / 10) <= 1, "{to:?} of {row}");
            }
        }
        assert_eq!(three.granted(), 10e6);
    }

    #[test]
    fn one_of_which_nothing_is_known_is_asked_as_much_as_the_mean() {
        let to = divided(&mut ups(&[6.0, 2.0]), FACES, 120);
        assert_eq!(to, [60, 20, 40]);
        assert_eq!(divided(&mut Upstreams::default(), FACES, 120), [40; 3]);
    }

    #[test]
    fn three_losses_in_a_row_end_a_next_hop_until_it_gives_a_data() {
        let mut two = ups(&[6.0, 3.0]);
        let faces = [FACES[0], FACES[1]];
        (0..5).for_each(|_| two.on_loss(FACES[0], at(900)));
        assert_eq!(two.granted(), 9e6, "their Interests left before its latest Data");
        (0..2).for_each(|_| two.on_loss(FACES[0], at(1100)));
        two.on_data(at(1200), FACES[0], None, None);
        (0..2).for_each(|_| two.on_loss(FACES[0], at(1300)));
        assert_eq!(two.granted(), 9e6, "a Data came in between");
        two.on_loss(FACES[0], at(1300));
        assert_eq!((two.granted(), divided(&mut two, faces, 50)), (3e6, [0, 50]));
        two.on_data(at(2000), FACES[0], says(6e6, Load::Usual), None);
        assert_eq!(two.granted(), 9e6);
        let [first, second] = divided(&mut two, faces, 90);
        assert!(first.abs_diff(60) <= 2 && second.abs_diff(30) <= 2, "{first} {second}");
    }

    #[test]
    fn if_all_are_lost_all_are_asked() {
        let mut two = ups(&[6.0, 3.0]);
        let faces = [FACES[0], FACES[1]];
        faces.iter().for_each(|face| (0..3).for_each(|_| two.on_loss(*face, at(1100))));
        let to = divided(&mut two, faces, 40);
        assert!(two.granted() == 0.0 && to[0].abs_diff(20) <= 2, "{to:?}");
    }

    #[test]
    fn a_next_hop_that_is_silent_for_long_while_others_give_data_has_no_part_in_the_sum() {
        let mut two = ups(&[6.0, 3.0]);
        two.on_data(at(11_000), FACES[1], None, None);
        assert_eq!(two.granted(), 9e6);
        two.on_data(at(11_001), FACES[1], None, None);
        assert_eq!(two.granted(), 3e6);
    }

    #[test]
    fn a_flow_that_needs_less_keeps_to_its_nearest_next_hop_with_room_and_one_that_needs_all_to_both() {
        let mut two = ups(&[6.0, 3.0]);
        let faces = [FACES[0], FACES[1]];
        (0..100).for_each(|_| two.coordinate(2e6));
        let to = divided(&mut two, faces, 100);
        assert!(to[0] >= 99, "{to:?}");
        (0..100).for_each(|_| two.coordinate(8.5e6));
        let to = divided(&mut two, faces, 90);
        assert!(to[0].abs_diff(60) <= 2, "{to:?}");
        // The nearest link is filled by other flows.
        two.on_data(at(1000), FACES[0], says(6e6, Load::Full), None);
        two.on_data(at(1000), FACES[1], says(6e6, Load::Free), None);
        (0..100).for_each(|_| two.coordinate(2e6));
        let to = divided(&mut two, faces, 100);
        assert!(to[1] >= 98, "{to:?}");
    }
}
