//! One prefix at a node: its Interest queue, its upstreams with their limiters, and its rounds (Fig. 5).

use smallvec::SmallVec;
use weir_core::ids::{FaceId, PitId};
use weir_core::random::Random;
use weir_core::tables::fib::NextHop;
use weir_core::tables::pit::PitEntry;
use weir_core::units::{Span, Time};

use super::NodeSettings;
use super::estimate::{Arrival, Estimate};
use super::limits::{Path, adjust};
use super::waiting::{List, Places, Waiting};
use crate::pacing::Pacer;

/// The length of a round before any round-trip time is known.
const FIRST_ROUND: Span = Span::from_millis(100);
/// Bounds of a measured round. A shorter round would follow chance, and a longer one would react too late.
const ROUNDS: (Span, Span) = (Span::from_millis(10), Span::from_secs(1));

/// One upstream of a prefix.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) face: FaceId,
    is_up: bool,
    /// Whether it is an application on this node. No link to it can be congested.
    is_local: bool,
    estimate: Estimate,
    /// The limit, Interests a second.
    limit: f64,
    pacer: Pacer,
    /// The number of waiting Interests that may take this upstream.
    waiting: u32,
    /// The part of a turn that it has earned while several limiters are free.
    credit: f64,
    /// The latest round-trip time, and the smallest one.
    rtt: Span,
    least_rtt: Option<Span>,
}

impl Upstream {
    fn new(face: FaceId, now: Time, settings: &NodeSettings) -> Upstream {
        Upstream {
            face,
            is_up: true,
            is_local: false,
            estimate: Estimate::new(settings),
            limit: settings.initial,
            pacer: Pacer::new(now),
            waiting: 0,
            credit: 0.0,
            rtt: Span::ZERO,
            least_rtt: None,
        }
    }

    /// Returns the time at which its limiter releases the next Interest.
    #[inline]
    fn due(&self) -> Time {
        match (self.is_up, self.is_local) {
            (false, _) => Time::NEVER,
            (_, true) => Time::ZERO,
            _ => self.pacer.due(),
        }
    }

    fn interval(&self) -> Span {
        Span::from_nanos((1e9 / self.limit).clamp(1.0, 1e12) as u64)
    }

    fn pass(&mut self, now: Time) {
        let interval = self.interval();
        self.pacer.advance(now, interval);
    }
}

/// The state of one prefix.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    pub(super) list: List,
    upstreams: SmallVec<[Upstream; 1]>,
    /// upstream2probe.
    probed: Option<FaceId>,
    /// The upstreams that Interests of this round could take.
    offered: Places,
    /// The end of the round; `None` while no Interest comes.
    round_ends: Option<Time>,
    /// Whether an upstream was added since [`Prefix::take_has_new`] was last called.
    has_new: bool,
}

impl Prefix {
    /// Returns whether an upstream was added since the last call.
    #[inline]
    pub(super) fn take_has_new(&mut self) -> bool {
        core::mem::take(&mut self.has_new)
    }

    /// Iterates over the faces of its upstreams.
    pub(super) fn faces(&self) -> impl Iterator<Item = FaceId> {
        self.upstreams.iter().map(|upstream| upstream.face)
    }

    fn place_of(&self, face: FaceId) -> Option<usize> {
        self.upstreams.iter().position(|upstream| upstream.face == face)
    }

    /// Returns the slots of these next hops. A new next hop gets a free or unused slot, if there is one.
    #[inline]
    pub(super) fn places_of(&mut self, next_hops: &[NextHop], now: Time, settings: &NodeSettings) -> Places {
        let mut places = 0;
        for hop in next_hops {
            let place = match self.place_of(hop.face) {
                Some(place) => Some(place),
                None => self.place_for(hop.face, next_hops, now, settings),
            };
            places |= place.map_or(0, |place| Places::of(place).0);
        }
        Places(places)
    }

    fn place_for(
        &mut self,
        face: FaceId,
        next_hops: &[NextHop],
        now: Time,
        settings: &NodeSettings,
    ) -> Option<usize> {
        let fresh = Upstream::new(face, now, settings);
        self.has_new = true;
        if self.upstreams.len() < Places::MOST {
            self.upstreams.push(fresh);
            return Some(self.upstreams.len() - 1);
        }
        let is_unused = |one: &Upstream| one.waiting == 0 && next_hops.iter().all(|hop| hop.face != one.face);
        let place = self.upstreams.iter().position(is_unused)?;
        self.upstreams[place] = fresh;
        Some(place)
    }

    /// Returns the slots of faces that this prefix has used.
    pub(super) fn known_places(&self, faces: impl Iterator<Item = FaceId>) -> Places {
        Places(faces.filter_map(|face| self.place_of(face)).fold(0, |all, place| all | Places::of(place).0))
    }

    /// Returns the slots of the faces that wait for the Data of an entry. None of them is an upstream for it.
    pub(super) fn waiting_places(&self, entry: &PitEntry) -> Places {
        self.known_places(entry.in_records.iter().map(|record| record.face))
    }

    /// Notes that an Interest came for these upstreams.
    #[inline]
    pub(super) fn offer(&mut self, places: Places, now: Time, settings: &NodeSettings) {
        self.offered.0 |= places.0;
        if self.round_ends.is_none() {
            self.round_ends = Some(now + self.round(settings));
        }
    }

    /// Returns an upstream that is free for an Interest that comes now, if none waits for it already. Several
    /// free upstreams take turns in proportion to their limits.
    #[inline]
    pub(super) fn take_free(&mut self, places: Places, now: Time) -> Option<FaceId> {
        let is_free = |place: usize, one: &Upstream| {
            places.has(place) && one.waiting == 0 && one.is_up && one.due() <= now
        };
        let mut all = self.upstreams.iter().enumerate().filter(|(place, one)| is_free(*place, one));
        let first = all.next()?.0;
        let place = match all.next() {
            None => first,
            Some(_) => self.deal(is_free),
        };
        let one = &mut self.upstreams[place];
        one.pass(now);
        Some(one.face)
    }

    fn deal(&mut self, is_free: impl Fn(usize, &Upstream) -> bool) -> usize {
        let free = self.upstreams.iter().enumerate().filter(|(place, one)| is_free(*place, one));
        let total: f64 = free.map(|(_, one)| one.limit).sum();
        let mut chosen = (0, f64::NEG_INFINITY);
        for place in 0..self.upstreams.len() {
            if is_free(place, &self.upstreams[place]) {
                let one = &mut self.upstreams[place];
                one.credit = (one.credit + one.limit / total.max(1e-9)).clamp(-1.0, 1.0);
                if one.credit > chosen.1 {
                    chosen = (place, one.credit);
                }
            }
        }
        self.upstreams[chosen.0].credit -= 1.0;
        chosen.0
    }

    /// Adds `by` to the number of Interests that wait for these upstreams.
    pub(super) fn count(&mut self, places: Places, by: i32) {
        for (place, one) in self.upstreams.iter_mut().enumerate() {
            if places.has(place) {
                one.waiting = one.waiting.saturating_add_signed(by);
            }
        }
    }

    /// Returns the next deadline: a limiter releases a waiting Interest, or a round ends.
    pub(super) fn deadline(&self) -> Time {
        let limiters = self.upstreams.iter().filter(|one| one.waiting > 0).map(Upstream::due);
        limiters.min().unwrap_or(Time::NEVER).min(self.round_ends.unwrap_or(Time::NEVER))
    }

    /// Lets limiters take the Interests that are due, in the order of their times.
    pub(super) fn release(
        &mut self,
        now: Time,
        waiting: &mut Waiting,
        releases: &mut SmallVec<[(PitId, FaceId); 8]>,
    ) {
        loop {
            let due = self.upstreams.iter().enumerate().filter(|(_, one)| one.waiting > 0);
            let Some((place, at)) = due.map(|(place, one)| (place, one.due())).min_by_key(|(_, at)| *at)
            else {
                return;
            };
            if at > now {
                return;
            }
            let one = &mut self.upstreams[place];
            let Some((node, pit)) = waiting.first_for(&self.list, place) else {
                debug_assert!(false, "an Interest that counts as waiting is in the queue");
                one.waiting = 0;
                continue;
            };
            one.pass(now);
            releases.push((pit, one.face));
            let places = waiting.remove(&mut self.list, node);
            self.count(places, -1);
        }
    }

    /// Returns ROUND_LENGTH: the given value, or the longest of the upstreams' smallest round-trip times.
    fn round(&self, settings: &NodeSettings) -> Span {
        let measured = || self.upstreams.iter().filter_map(|one| one.least_rtt).max();
        settings.round.unwrap_or_else(|| measured().unwrap_or(FIRST_ROUND).clamp(ROUNDS.0, ROUNDS.1))
    }

    /// Counts a Data from an upstream. Returns whether it shows that the upstream is an application on this
    /// node. Then the Interests that wait for it may leave.
    #[inline]
    pub(super) fn on_data(
        &mut self,
        face: FaceId,
        local: bool,
        queue: Option<u64>,
        rtt: Option<Span>,
        now: Time,
        settings: &NodeSettings,
    ) -> bool {
        let Some(place) = self.place_of(face) else { return false };
        let round = self.round(settings);
        let one = &mut self.upstreams[place];
        let was_local = core::mem::replace(&mut one.is_local, local);
        if let Some(rtt) = rtt {
            one.rtt = rtt;
            one.least_rtt = Some(one.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        one.estimate.on_data(now, Arrival { queue, round, rtt }, settings);
        local != was_local
    }

    /// Ends a round whose time is over.
    pub(super) fn end_round(&mut self, now: Time, settings: &NodeSettings, random: &mut Random) {
        if self.round_ends.is_none_or(|ends| ends > now) {
            return;
        }
        let used = core::mem::take(&mut self.offered);
        let is_used =
            |place: usize, one: &Upstream| one.is_up && !one.is_local && (used.has(place) || one.waiting > 0);
        let places: SmallVec<[usize; 4]> =
            (0..self.upstreams.len()).filter(|&place| is_used(place, &self.upstreams[place])).collect();
        if used.is_empty() && self.list.len() == 0 {
            self.round_ends = None;
            return;
        }
        let round = self.round(settings);
        self.set_limits(&places, round, settings, random);
        self.round_ends = Some(now + round.scale(1.0 + settings.jitter * random.unit()));
    }

    fn set_limits(&mut self, places: &[usize], round: Span, settings: &NodeSettings, random: &mut Random) {
        let path = |&place: &usize| {
            let Upstream { estimate, limit, rtt, .. } = &self.upstreams[place];
            let least = settings.least / round.max(*rtt).as_secs_f64().max(1e-6);
            Path { queue: estimate.queue(), bandwidth: estimate.bandwidth(), least, limit: *limit }
        };
        let mut paths: SmallVec<[Path; 4]> = places.iter().map(path).collect();
        let face_at = |at: usize| places.get(at).map(|&place| self.upstreams[place].face);
        let mut probed = (0..places.len()).find(|&at| face_at(at) == self.probed).unwrap_or(0);
        adjust(&mut paths, &mut probed, self.list.len(), settings, random);
        self.probed = face_at(probed);
        for (&place, path) in places.iter().zip(&paths) {
            let one = &mut self.upstreams[place];
            let before = one.interval();
            one.limit = path.limit;
            // The new limit also applies to the wait that has begun.
            let after = one.interval();
            one.pacer.change(before, after);
        }
    }

    /// Resets the state of a face that went down or came up.
    pub(super) fn on_face(&mut self, face: FaceId, up: bool, now: Time, settings: &NodeSettings) {
        if let Some(place) = self.place_of(face) {
            let waiting = self.upstreams[place].waiting;
            self.upstreams[place] = Upstream { is_up: up, waiting, ..Upstream::new(face, now, settings) };
        }
    }
}

#[cfg(test)]
impl Prefix {
    pub(super) fn set_limit(&mut self, place: usize, limit: f64) {
        self.upstreams[place].limit = limit;
        self.round_ends = Some(Time::NEVER);
    }

    /// Returns the limits of the upstreams, by slot.
    pub(super) fn limits(&self) -> Vec<f64> {
        self.upstreams.iter().map(|one| one.limit).collect()
    }
}
