//! PECN's tables of a node, DRT and TRT, and equations (10) to (12), which use them (sections IV-D 2 and IV-E).
//!
//! ```text
//!   consumers        DRT                  TRT        producers
//!   --- face i --> d_i, q_i  [ node ]  u_j, f_j --> face j ---
//! ```
//!
//! A flow has a row in both. The DRT has the rate d_i that is available downstream, for each face from which
//! its Interests come. The TRT has the rate u_j that is available upstream, for each next hop. There is no
//! timer: silent entries are skipped when the tables are read.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::units::{Span, Time};

use crate::qsccp::extensions::sharing::{self, UpstreamCost};

/// The number of usual gaps between Interests for which a downstream face is remembered, with a shortest and
/// a longest time. A next hop is remembered for the longest time after the latest Data of any next hop.
const GAPS: u64 = 4;
const SHORTEST_MEMORY: Span = Span::from_millis(100);
const LONGEST_MEMORY: Span = Span::from_secs(10);
/// The time for which a face with a single Interest is remembered.
const FIRST_MEMORY: Span = Span::from_secs(1);

/// A next hop counts as dead after this number of lost Interests, if no Data came from it since they were
/// sent.
const LOSSES: u8 = 3;
/// A next hop is not probed if a Data came from it within this time. Its rate is known, and probes would give
/// a slow one more than its part.
const PROBE_AFTER: Span = Span::from_secs(1);

/// A face from which Interests of a flow come: an entry of the DRT.
#[derive(Clone, Copy, Debug)]
struct Downstream {
    face: FaceId,
    /// d_i, bit/s: infinite if no Interest carried one.
    rate: f64,
    share: UpstreamCost,
    heard_at: Time,
    gap: Span,
}

impl Downstream {
    fn is_silent(&self, now: Time) -> bool {
        let memory = (self.gap * GAPS).max(SHORTEST_MEMORY).min(LONGEST_MEMORY);
        now.since(self.heard_at) > memory
    }
}

/// A next hop of a flow: an entry of the TRT.
#[derive(Clone, Copy, Debug)]
struct Upstream {
    face: FaceId,
    /// u_j, bit/s: infinite if the producer is on this node; `None` before the first Data.
    rate: Option<f64>,
    heard_at: Time,
    /// The number of Interests lost since then.
    losses: u8,
    /// Whether its Data mark the flow as greedy.
    is_greedy: bool,
    /// The smoothed time from an Interest to its Data.
    rtt: Span,
    /// The number of Interests by which it is behind its part f_j of all.
    credit: f64,
}

impl Upstream {
    /// Returns whether it had not been silent for long when the latest Data of any next hop came.
    fn is_heard(&self, latest: Time) -> bool {
        latest.since(self.heard_at) <= LONGEST_MEMORY
    }

    /// Returns u_j if it is known. It is not known for a next hop that has been silent for long, unless that
    /// next hop is dead.
    fn known_rate(&self, latest: Time) -> Option<f64> {
        self.rate.filter(|rate| *rate == 0.0 || self.is_heard(latest))
    }
}

/// The information of a Data about its next hop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Its TargetRate, bit/s; infinite if it has none.
    pub(crate) rate: f64,
    /// Whether the flow is greedy there.
    pub(crate) is_greedy: bool,
    /// Time since the Interest was sent, if it was sent only once.
    pub(crate) rtt: Option<Span>,
}

/// The rows of one flow in the tables of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowTables {
    downstream: SmallVec<[Downstream; 1]>,
    upstream: SmallVec<[Upstream; 2]>,
    /// The faces that were added or removed since the last call of [`FlowTables::pop_changed`].
    changed: SmallVec<[FaceId; 2]>,
}

impl FlowTables {
    /// Returns a face that was added or removed, once each, and whether it is in the tables.
    #[inline]
    pub(crate) fn pop_changed(&mut self) -> Option<(FaceId, bool)> {
        let face = self.changed.pop()?;
        Some((face, self.faces().any(|known| known == face)))
    }

    /// Iterates over the faces in both tables.
    pub(crate) fn faces(&self) -> impl Iterator<Item = FaceId> {
        self.downstream.iter().map(|d| d.face).chain(self.upstream.iter().map(|u| u.face))
    }

    // ---- DRT

    /// Counts an Interest from a face, even if it is not forwarded. d_i is the rate that it carries; infinite
    /// if it carries none.
    pub(crate) fn note_interest(&mut self, now: Time, face: FaceId, rate: f64) {
        match self.downstream.iter_mut().find(|d| d.face == face) {
            Some(known) => {
                let gap = now.since(known.heard_at).min(LONGEST_MEMORY);
                known.gap = Span::from_nanos((7 * known.gap.as_nanos() + gap.as_nanos()) / 8);
                known.heard_at = now;
                known.rate = rate;
            }
            None => {
                self.changed.extend(self.downstream.iter().filter(|d| d.is_silent(now)).map(|d| d.face));
                self.downstream.retain(|d| !d.is_silent(now));
                let gap = FIRST_MEMORY / GAPS;
                self.changed.push(face);
                self.downstream.push(Downstream {
                    face,
                    rate,
                    share: UpstreamCost::default(),
                    heard_at: now,
                    gap,
                });
            }
        }
    }

    /// Counts a Data that answers a face. `cost` is the face's part of its upstream cost, 0 if the Data came
    /// from the content store.
    pub(crate) fn note_answer(&mut self, now: Time, face: FaceId, cost: f64) {
        if let Some(known) = self.downstream.iter_mut().find(|d| d.face == face) {
            known.share.note(now, cost);
        }
    }

    /// Returns Σ q_k·d_k over the downstream faces: their demand upstream.
    fn wanted_upstream(&self, now: Time) -> f64 {
        self.downstream.iter().filter(|d| !d.is_silent(now)).map(|d| d.share.of(d.rate)).sum()
    }

    // ---- TRT

    /// Sets u_j: a Data came from upstream.
    pub(crate) fn note_data(&mut self, now: Time, face: FaceId, news: News) {
        let upstream = self.upstream(face);
        upstream.rate = Some(news.rate);
        upstream.losses = 0;
        upstream.is_greedy = news.is_greedy;
        if let Some(rtt) = news.rtt {
            let known = if upstream.rtt == Span::ZERO { rtt } else { upstream.rtt };
            upstream.rtt = Span::from_nanos((7 * known.as_nanos() + rtt.as_nanos()) / 8);
        }
        upstream.heard_at = now;
    }

    /// Returns whether the flow is greedy at any next hop.
    pub(crate) fn is_greedy(&self) -> bool {
        self.heard().any(|u| u.is_greedy)
    }

    /// Iterates over the next hops that count. A next hop does not count if it was silent for long while
    /// another one brought Data, because its route may be gone.
    fn heard(&self) -> impl Iterator<Item = &Upstream> {
        let latest = self.latest();
        self.upstream.iter().filter(move |u| u.is_heard(latest))
    }

    /// Returns the time of the latest Data from any next hop.
    fn latest(&self) -> Time {
        self.upstream.iter().map(|u| u.heard_at).max().unwrap_or(Time::ZERO)
    }

    /// Counts a lost Interest to a next hop. After several losses without a Data from there, the next hop
    /// counts as dead until a probe brings Data.
    pub(crate) fn note_loss(&mut self, face: FaceId, sent: Time) {
        if let Some(known) = self.upstream.iter_mut().find(|u| u.face == face)
            && known.heard_at < sent
        {
            known.losses = known.losses.saturating_add(1);
            if known.losses >= LOSSES {
                known.rate = Some(0.0);
                known.is_greedy = false;
            }
        }
    }

    /// Returns whether a Data came from a next hop so recently that it needs no probe.
    pub(crate) fn is_known(&self, now: Time, face: FaceId) -> bool {
        self.upstream.iter().any(|u| u.face == face && now.since(u.heard_at) < PROBE_AFTER)
    }

    /// Removes the entries of a face that went down or came up.
    pub(crate) fn forget(&mut self, face: FaceId) {
        self.upstream.retain(|u| u.face != face);
        self.downstream.retain(|d| d.face != face);
    }

    fn upstream(&mut self, face: FaceId) -> &mut Upstream {
        let place = self.upstream.iter().position(|u| u.face == face).unwrap_or_else(|| {
            self.changed.push(face);
            self.upstream.push(Upstream {
                face,
                rate: None,
                heard_at: Time::ZERO,
                losses: 0,
                is_greedy: false,
                rtt: Span::ZERO,
                credit: 0.0,
            });
            self.upstream.len() - 1
        });
        &mut self.upstream[place]
    }

    /// Returns Σ u_k over the next hops other than `except`.
    fn rate_upstream(&self, except: FaceId) -> f64 {
        self.heard().filter(|u| u.face != except).filter_map(|u| u.rate).sum()
    }

    // ---- Equations

    /// (12): returns f_j for each of these next hops. One without a rate counts as the mean of the others. If
    /// no Data come from any, all are equal.
    fn probabilities(&mut self, next_hops: &[FaceId]) -> SmallVec<[f64; 8]> {
        let latest = self.latest();
        let rates: SmallVec<[Option<f64>; 8]> =
            next_hops.iter().map(|&face| self.upstream(face).known_rate(latest)).collect();
        let infinite = rates.iter().filter(|rate| **rate == Some(f64::INFINITY)).count();
        if infinite > 0 {
            let part = 1.0 / infinite as f64;
            return rates.iter().map(|rate| if *rate == Some(f64::INFINITY) { part } else { 0.0 }).collect();
        }
        let known = rates.iter().flatten().count();
        let sum: f64 = rates.iter().flatten().sum();
        if sum <= 0.0 {
            return rates.iter().map(|_| 1.0 / next_hops.len() as f64).collect();
        }
        let mean = sum / known as f64;
        let total = mean * next_hops.len() as f64;
        rates.iter().map(|rate| rate.unwrap_or(mean) / total).collect()
    }

    /// AF: returns the next hop of an Interest, with its f_j. `probe` is the index of a next hop to take in
    /// any case.
    ///
    /// Interests take next hops in turn in the ratio of f_j, as evenly as possible. Random draws would cause
    /// bunches, and fill the queues of links with a utilisation of 99 %.
    pub(crate) fn choose(&mut self, next_hops: &[FaceId], probe: Option<usize>) -> (FaceId, f64) {
        if let [only] = next_hops {
            self.upstream(*only);
            return (*only, 1.0);
        }
        let probabilities = self.probabilities(next_hops);
        let mut chosen = (0, f64::NEG_INFINITY);
        for (place, (&face, &part)) in next_hops.iter().zip(&probabilities).enumerate() {
            let upstream = self.upstream(face);
            upstream.credit = (upstream.credit + part).clamp(-1.0, 1.0);
            if part > 0.0 && upstream.credit > chosen.1 {
                chosen = (place, upstream.credit);
            }
        }
        let place = probe.unwrap_or(chosen.0);
        self.upstream(next_hops[place]).credit -= 1.0;
        (next_hops[place], probabilities[place])
    }

    /// (10), second argument of the minimum: returns f_j·Σ d_k, bit/s; infinite if nothing limits it.
    pub(crate) fn downstream_rate(&self, now: Time, probability: f64) -> f64 {
        let wanted = self.wanted_upstream(now);
        if wanted.is_finite() { probability * wanted } else { wanted }
    }

    /// (11): returns the suggested rate of face i, bit/s; infinite if nothing upstream limits it. If faces
    /// share Data, or find them in the content store, the rate is that of `extensions/sharing.rs`.
    ///
    /// Each face counts with at most Σu. Otherwise a face without a limit would leave nothing to the others.
    pub(crate) fn target_rate(&self, now: Time, face: FaceId) -> f64 {
        let upstream = self.rate_upstream(face);
        let Some(own) = self.downstream.iter().find(|d| d.face == face) else { return upstream };
        // The upstream rate is unknown or unlimited.
        if upstream <= 0.0 || !upstream.is_finite() || own.share.q() == 0.0 {
            return f64::INFINITY;
        }
        let (mut wanted, mut costs) = (0.0, 0.0);
        for d in self.active(now, face) {
            let q = d.share.q();
            costs += q;
            wanted += if q > 0.0 { q * d.rate.min(upstream) } else { 0.0 };
        }
        sharing::together(costs, upstream).unwrap_or_else(|| own.rate.min(upstream) / wanted * upstream)
    }

    /// Iterates over the downstream faces that are not silent, and this one in any case.
    fn active(&self, now: Time, face: FaceId) -> impl Iterator<Item = &Downstream> {
        self.downstream.iter().filter(move |d| d.face == face || !d.is_silent(now))
    }

    /// Returns the same for a Data from the content store that came from upstream `age` ago.
    pub(crate) fn target_rate_cached(&self, now: Time, face: FaceId, age: Span) -> f64 {
        let upstream = self.rate_upstream(face);
        match self.target_rate(now, face) {
            rate if rate.is_finite() => rate,
            _ if upstream > 0.0 => sharing::catching_up(upstream, age, self.round_trip()),
            // Some Interests have gone upstream, and no Data has come from there yet.
            _ if self.upstream.iter().any(|u| u.face != face && u.rate.is_none()) => sharing::UNKNOWN,
            rate => rate,
        }
    }

    /// Returns the longest round trip upstream.
    fn round_trip(&self) -> Span {
        self.heard().map(|u| u.rtt).max().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time::from_nanos(1_000_000_000);
    const UP: [FaceId; 3] = [FaceId(10), FaceId(11), FaceId(12)];
    const DOWN: [FaceId; 3] = [FaceId(0), FaceId(1), FaceId(2)];

    fn tables(down: &[f64], up: &[f64]) -> FlowTables {
        let mut tables = FlowTables::default();
        for (face, rate) in DOWN.iter().zip(down) {
            tables.note_interest(NOW, *face, *rate);
        }
        for (face, rate) in UP.iter().zip(up) {
            let rtt = Some(Span::from_millis(50));
            tables.note_data(NOW, *face, News { rate: *rate, is_greedy: false, rtt });
        }
        tables
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b.abs().max(1e-6)
    }

    /// Sets the upstream cost of each face's Interests.
    fn shared(tables: &mut FlowTables, shares: &[f64]) {
        for (face, share) in DOWN.iter().zip(shares) {
            for n in 0..2000 {
                tables.note_answer(NOW + Span::from_millis(10 * n), *face, *share);
            }
        }
    }

    #[test]
    fn no_interest_follows_the_rate_of_a_next_hop_that_is_silent_while_another_gives_data() {
        let mut tables = tables(&[1e6], &[500e6, 1e6]);
        let rtt = Some(Span::from_millis(50));
        let parts = |tables: &mut FlowTables| tables.probabilities(&UP[..2]);
        assert!(near(parts(&mut tables)[0], 500.0 / 501.0));
        let later = NOW + LONGEST_MEMORY + Span::from_millis(1);
        tables.note_data(later, UP[1], News { rate: 1e6, is_greedy: false, rtt });
        assert_eq!(parts(&mut tables)[..], [0.5, 0.5], "it counts as one that nothing is known of");
        (0..LOSSES).for_each(|_| tables.note_loss(UP[0], later));
        assert_eq!(parts(&mut tables)[..], [0.0, 1.0], "one that is dead stays dead");
    }

    #[test]
    fn figure_6_of_the_paper() {
        // R4 in Fig. 6: 3 and 12 Mb/s downstream, 15 Mb/s upstream.
        let tables = tables(&[3e6, 12e6], &[10e6, 5e6]);
        assert!(near(tables.target_rate(NOW, DOWN[0]), 3e6));
        assert!(near(tables.target_rate(NOW, DOWN[1]), 12e6));
    }

    #[test]
    fn equation_11_divides_what_is_upstream_in_the_ratio_of_what_is_downstream() {
        for (down, up) in [([2e6, 3.5e6], 4e6), ([1e6, 1e6], 9e6), ([3e6, 5e6], 8e6)] {
            let tables = tables(&down, &[up]);
            for (face, rate) in DOWN.iter().zip(down) {
                assert!(near(tables.target_rate(NOW, *face), rate / (down[0] + down[1]) * up));
            }
        }
    }

    #[test]
    fn a_downstream_that_nothing_limits_counts_with_all_that_is_upstream() {
        let tables = tables(&[f64::INFINITY, 5e6], &[10e6]);
        assert!(near(tables.target_rate(NOW, DOWN[0]), 10e6 * 10.0 / 15.0));
        assert!(near(tables.target_rate(NOW, DOWN[1]), 10e6 * 5.0 / 15.0));
    }

    #[test]
    fn two_that_ask_for_the_same_data_are_both_told_all_of_it() {
        let mut tables = tables(&[30e6, 30e6], &[10e6]);
        shared(&mut tables, &[0.5, 0.5]);
        let told = |face| tables.target_rate(NOW, face);
        assert!(near(told(DOWN[0]), 10e6) && near(told(DOWN[1]), 10e6));
    }

    #[test]
    fn one_that_the_cache_serves_takes_nothing_of_the_other_and_catches_up() {
        let mut tables = tables(&[30e6, 30e6], &[10e6]);
        shared(&mut tables, &[1.0, 0.0]);
        let told = |age| tables.target_rate_cached(NOW, DOWN[1], Span::from_millis(age));
        assert!(near(tables.target_rate(NOW, DOWN[0]), 10e6));
        assert!(near(told(0), 10e6) && near(told(100), 15e6), "{}", told(100));
        assert_eq!(told(1000), f64::INFINITY, "far behind nothing limits it");
    }

    #[test]
    fn where_the_cache_serves_every_other_interest_the_others_do_not_exceed_what_is_upstream() {
        let mut tables = tables(&[f64::INFINITY], &[10e6]);
        shared(&mut tables, &[0.5]);
        let (miss, hit) =
            (tables.target_rate(NOW, DOWN[0]), tables.target_rate_cached(NOW, DOWN[0], Span::from_secs(100)));
        assert!(near(miss, 20e6));
        assert!((miss + hit) / 2.0 * 0.5 <= 10e6 * 1.05, "{hit}");
    }

    #[test]
    fn whatever_is_shared_the_rates_told_fit_what_is_upstream_but_for_a_fifth_while_faces_share_all() {
        let values = [0.0, 0.1, 0.3, 0.5, 0.9, 1.0];
        for (a, b, c) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b, 1.0 - a * b))) {
            for down in [[30e6, 30e6, 30e6], [1e6, 100e6, f64::INFINITY], [5e6, 2e6, 0.1e6]] {
                let mut tables = tables(&down, &[6e6, 4e6]);
                shared(&mut tables, &[a, b, c]);
                let used = |d: &Downstream| d.share.of(tables.target_rate(NOW, d.face));
                let total: f64 = tables.downstream.iter().map(used).sum();
                let costs = a + b + c;
                let all = if sharing::together(costs, 1.0).is_some() { costs.max(1.0) } else { 1.0 };
                assert!(near(total, 10e6 * all), "{a} {b} {c} of {down:?}: {total}");
            }
        }
    }

    #[test]
    fn interests_are_dealt_out_in_the_ratio_of_the_rates_upstream() {
        let mut tables = tables(&[], &[1e6, 8e6, 5e6]);
        let mut sent = [0; 3];
        for turn in 1..=1400 {
            let (face, _) = tables.choose(&UP, None);
            let place = UP.iter().position(|f| *f == face).unwrap_or(0);
            sent[place] += 1;
            for (count, part) in sent.iter().zip([1.0, 8.0, 5.0]) {
                let due = f64::from(turn) * part / 14.0;
                assert!((f64::from(*count) - due).abs() <= 1.5, "after {turn}: {sent:?}");
            }
        }
        assert_eq!(sent, [100, 800, 500]);
    }

    #[test]
    fn a_next_hop_that_nothing_is_known_of_gets_a_fair_part_and_a_dead_one_none() {
        let mut tables = tables(&[], &[4e6, 2e6]);
        let parts = tables.probabilities(&UP);
        assert!(near(parts[2], 1.0 / 3.0) && near(parts[0], 4.0 / 9.0), "{parts:?}");
        (0..LOSSES).for_each(|_| tables.note_loss(UP[0], NOW + Span::from_secs(1)));
        assert!((0..100).all(|_| tables.choose(&UP[..2], None).0 == UP[1]));
        assert_eq!(tables.choose(&UP[..2], Some(0)).0, UP[0], "a probe goes all the same");
    }

    #[test]
    fn a_next_hop_that_is_silent_while_another_gives_data_is_forgotten_and_one_alone_is_not() {
        let mut tables = tables(&[30e6], &[10e6, 20e6]);
        let greedy = News { rate: 20e6, is_greedy: true, rtt: Some(Span::from_secs(3)) };
        tables.note_data(NOW, UP[1], greedy);
        assert!(near(tables.target_rate(NOW, DOWN[0]), 30e6) && tables.is_greedy());
        let later = NOW + LONGEST_MEMORY + Span::from_millis(1);
        assert!(near(tables.target_rate(later, DOWN[0]), 30e6), "nothing else came");
        tables.note_data(later, UP[0], News { rate: 10e6, is_greedy: false, rtt: None });
        tables.note_interest(later, DOWN[0], 30e6);
        assert!(near(tables.target_rate(later, DOWN[0]), 10e6) && !tables.is_greedy());
        assert!(tables.round_trip() < Span::from_millis(100));
    }

    #[test]
    fn tables_tell_which_faces_came_and_which_made_room() {
        let mut tables = tables(&[4e6, 4e6], &[8e6]);
        let changed = |tables: &mut FlowTables| {
            let mut all: Vec<_> = core::iter::from_fn(|| tables.pop_changed()).collect();
            all.sort_by_key(|(face, _)| face.0);
            all
        };
        let [first, second, third] = DOWN;
        assert_eq!(changed(&mut tables), [(first, true), (second, true), (UP[0], true)]);
        let later = NOW + Span::from_secs(60);
        tables.note_interest(later, second, 4e6);
        tables.note_data(later, UP[0], News { rate: 1e6, is_greedy: false, rtt: None });
        assert_eq!(changed(&mut tables), []);
        tables.note_interest(later, third, 4e6);
        assert_eq!(changed(&mut tables), [(first, false), (third, true)]);
    }

    #[test]
    fn a_downstream_that_has_gone_silent_is_not_counted() {
        let mut tables = tables(&[4e6, 4e6], &[8e6]);
        for n in 1..200 {
            let now = NOW + Span::from_millis(10 * n);
            tables.note_interest(now, DOWN[0], 4e6);
        }
        let later = NOW + Span::from_secs(60);
        tables.note_interest(later, DOWN[0], 4e6);
        assert!(near(tables.target_rate(later, DOWN[0]), 8e6));
        assert!(near(tables.downstream_rate(later, 0.5), 2e6));
    }
}
