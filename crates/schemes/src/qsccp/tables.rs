//! PECN's tables of a node, DRT and TRT, and equations (10) to (12), which use them (sections IV-D 2 and IV-E).
//!
//! ```text
//!   consumers        DRT                  TRT        producers
//!   --- face i --> d_i, q_i  [ node ]  u_j, f_j --> face j ---
//! ```
//!
//! A flow has a row in both. The DRT has the rate d_i that is available downstream, for each face from which its
//! Interests come. The TRT has the rate u_j that is available upstream, for each next hop. There is no timer: silent
//! entries are skipped when the tables are read.

use smallvec::SmallVec;
use weir_core::ids::FaceId;
use weir_core::units::{Span, Time};

/// A downstream face is remembered for so many of its usual gaps between Interests, and so long at
/// least and at most. A next hop is remembered for the longest time after the latest Data of any.
const GAPS: u64 = 4;
const SHORTEST_MEMORY: Span = Span::from_millis(100);
const LONGEST_MEMORY: Span = Span::from_secs(10);

/// What a face costs upstream is measured over so many Data, and a tenth of a second, at least.
const ANSWERS: u32 = 32;
/// So many Data in a row that cost more than believed are no chance.
const ALL_DEAR: u32 = 16;
/// How much of the difference is believed if it costs less than before.
const FALL: f64 = 0.5;

/// So many Interests lost, with nothing from a next hop since they were sent, and it counts as dead.
const LOSSES: u8 = 3;
/// A next hop that was heard from within this time is not probed: what it gives is known, and a slow
/// one would have more than its part.
const PROBE_AFTER: Span = Span::from_secs(1);

/// Who is behind others in fetching the same Data has caught up in about so many round trips upstream.
const CATCH_UP: f64 = 4.0;
/// By so much of its rate may a face that catches up exceed what is its upstream.
const HARMLESS: f64 = 0.05;

/// A face that Interests of a flow come from: an entry of the DRT.
#[derive(Clone, Copy, Debug)]
struct Downstream {
    face: FaceId,
    /// d_i, bit/s: infinite where nobody said.
    rate: f64,
    share: UpstreamShare,
    heard_at: Time,
    gap: Span,
}

impl Downstream {
    fn is_silent(&self, now: Time) -> bool {
        let memory = (self.gap * GAPS).max(SHORTEST_MEMORY).min(LONGEST_MEMORY);
        now.since(self.heard_at) > memory
    }
}

/// q_i: what an Interest of a downstream face costs upstream, in Data. One that is answered from the
/// content store costs nothing; one that is aggregated with others, its part; any other, all.
///
/// What is shared now need not be shared for long: two consumers that fetch the same Data pass each
/// other. So it is believed slowly that an Interest costs less, and at once that it costs more.
#[derive(Clone, Copy, Debug)]
struct UpstreamShare {
    value: f64,
    is_known: bool,
    /// Since the latest measure: when it was, Data that came, and what they cost.
    since: Time,
    answers: u32,
    cost: f64,
    /// The latest Data that cost more than believed, one after the other.
    dear: u32,
}

impl UpstreamShare {
    /// Of a face that nothing is known of: all.
    fn new(now: Time) -> UpstreamShare {
        UpstreamShare { value: 1.0, is_known: false, since: now, answers: 0, cost: 0.0, dear: 0 }
    }

    /// What a face costs upstream at a rate; one that costs nothing, at any.
    fn used(&self, rate: f64) -> f64 {
        if self.value > 0.0 { self.value * rate } else { 0.0 }
    }

    fn note(&mut self, now: Time, cost: f64) {
        self.answers += 1;
        self.cost += cost;
        self.dear = if cost > self.value { self.dear + 1 } else { 0 };
        if self.dear == ALL_DEAR {
            // What was shared is over: a cache, for one, has no more.
            *self = UpstreamShare { value: cost, is_known: true, ..UpstreamShare::new(now) };
        }
        if self.answers < ANSWERS || now.since(self.since) < SHORTEST_MEMORY {
            return;
        }
        let measured = self.cost / f64::from(self.answers);
        let gain = if self.is_known && measured < self.value { FALL } else { 1.0 };
        let value = self.value + gain * (measured - self.value);
        *self = UpstreamShare { value, is_known: true, ..UpstreamShare::new(now) };
    }
}

/// A next hop of a flow: an entry of the TRT.
#[derive(Clone, Copy, Debug)]
struct Upstream {
    face: FaceId,
    /// u_j, bit/s: infinite where the producer is on this node; `None` before a Data came.
    rate: Option<f64>,
    heard_at: Time,
    /// Interests lost since.
    losses: u8,
    /// Whether it has found the flow greedy.
    is_greedy: bool,
    /// Smoothed time from an Interest to its Data.
    rtt: Span,
    /// How far the Interests sent by it are behind f_j of all, Interests.
    credit: f64,
}

/// What a Data says of the next hop that it came from.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// Its TargetRate, bit/s; infinite if it has none.
    pub(super) rate: f64,
    /// Whether the flow was found greedy there.
    pub(super) is_greedy: bool,
    /// Time since the Interest was sent, if it was once.
    pub(super) rtt: Option<Span>,
}

/// What one flow has in the tables of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowTables {
    downstream: SmallVec<[Downstream; 1]>,
    upstream: SmallVec<[Upstream; 2]>,
}

impl FlowTables {
    // ---- DRT

    /// An Interest came from a face, whatever becomes of it: d_i is what it carries, infinite if
    /// nothing.
    pub(super) fn note_interest(&mut self, now: Time, face: FaceId, rate: f64) {
        match self.downstream.iter_mut().find(|d| d.face == face) {
            Some(known) => {
                let gap = now.since(known.heard_at).min(LONGEST_MEMORY);
                known.gap = Span::from_nanos((7 * known.gap.as_nanos() + gap.as_nanos()) / 8);
                known.heard_at = now;
                known.rate = rate;
            }
            None => {
                self.downstream.retain(|d| !d.is_silent(now));
                let gap = LONGEST_MEMORY / GAPS;
                self.downstream.push(Downstream {
                    face,
                    rate,
                    share: UpstreamShare::new(now),
                    heard_at: now,
                    gap,
                });
            }
        }
    }

    /// A Data answers a face: `cost` is its part of it upstream, 0 if it came from the content store.
    pub(super) fn note_answer(&mut self, now: Time, face: FaceId, cost: f64) {
        if let Some(known) = self.downstream.iter_mut().find(|d| d.face == face) {
            known.share.note(now, cost);
        }
    }

    /// Σ q_k·d_k over the downstream faces: what they will ask of upstream.
    fn wanted_upstream(&self, now: Time) -> f64 {
        self.downstream.iter().filter(|d| !d.is_silent(now)).map(|d| d.share.used(d.rate)).sum()
    }

    // ---- TRT

    /// u_j: a Data came from upstream.
    pub(super) fn note_data(&mut self, now: Time, face: FaceId, news: News) {
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

    /// Whether any next hop has found the flow greedy.
    pub(super) fn is_greedy(&self) -> bool {
        self.heard().any(|u| u.is_greedy)
    }

    /// The next hops that count: not those that were silent for long while another gave Data. A route to them may be
    /// gone.
    fn heard(&self) -> impl Iterator<Item = &Upstream> {
        let latest = self.upstream.iter().map(|u| u.heard_at).max().unwrap_or(Time::ZERO);
        self.upstream.iter().filter(move |u| latest.since(u.heard_at) <= LONGEST_MEMORY)
    }

    /// An Interest that was sent by a next hop is lost. If some are, and nothing else came from there
    /// since, the way is dead until a probe brings Data.
    pub(super) fn note_loss(&mut self, face: FaceId, sent: Time) {
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

    /// Whether a next hop was heard from so lately that it needs no probe.
    pub(super) fn is_known(&self, now: Time, face: FaceId) -> bool {
        self.upstream.iter().any(|u| u.face == face && now.since(u.heard_at) < PROBE_AFTER)
    }

    /// A face went down or came up: nothing is known of it.
    pub(super) fn forget(&mut self, face: FaceId) {
        self.upstream.retain(|u| u.face != face);
        self.downstream.retain(|d| d.face != face);
    }

    fn upstream(&mut self, face: FaceId) -> &mut Upstream {
        let place = self.upstream.iter().position(|u| u.face == face).unwrap_or_else(|| {
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

    /// Σ u_k over the next hops, those not counted that lead back to `except`.
    fn rate_upstream(&self, except: FaceId) -> f64 {
        self.heard().filter(|u| u.face != except).filter_map(|u| u.rate).sum()
    }

    // ---- Equations

    /// (12) f_j for each of these next hops. One that nothing is known of counts as the mean of the
    /// others; where nothing comes from any, all are equal.
    fn probabilities(&mut self, next_hops: &[FaceId]) -> SmallVec<[f64; 8]> {
        let rates: SmallVec<[Option<f64>; 8]> =
            next_hops.iter().map(|&face| self.upstream(face).rate).collect();
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

    /// AF: which of these next hops an Interest takes, with f_j of that one; `probe` names one that is
    /// tried whatever is known of it.
    ///
    /// Interests are dealt out by turns in the ratio of f_j, as smoothly as whole ones can be: drawn
    /// at random they would come in bunches, and fill the queues of links that are used to 99 %.
    pub(super) fn choose(&mut self, next_hops: &[FaceId], probe: Option<usize>) -> (FaceId, f64) {
        if let [only] = next_hops {
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

    /// (10), second argument of the minimum: f_j·Σ d_k, bit/s; infinite if nobody limits it.
    pub(super) fn downstream_rate(&self, now: Time, probability: f64) -> f64 {
        let wanted = self.wanted_upstream(now);
        if wanted.is_finite() { probability * wanted } else { wanted }
    }

    /// (11), with what downstream faces share: the rate suggested to face i, bit/s; infinite if nothing
    /// upstream limits it.
    ///
    /// The paper's d_i/Σd_k·Σu_k divides the rate upstream as though each face asked for other Data.
    /// But face k costs only q_k of its rate there: so it is d_i/Σ(q_k·d_k)·Σu_k, and the faces use
    /// Σu together whatever they share. Where nothing is shared, q_k = 1, and this is (11).
    ///
    /// No face counts with more than Σu: one that nothing limits would leave nothing to the others.
    pub(super) fn target_rate(&self, now: Time, face: FaceId) -> f64 {
        let upstream = self.rate_upstream(face);
        let Some(own) = self.downstream.iter().find(|d| d.face == face) else { return upstream };
        if !upstream.is_finite() {
            return upstream;
        }
        let rate = |d: &Downstream| d.rate.min(upstream);
        let wanted: f64 = self.active(now, face).map(|d| d.share.used(rate(d))).sum();
        if wanted > 0.0 { rate(own) / wanted * upstream } else { f64::INFINITY }
    }

    /// The downstream faces that have not gone silent, this one in any case.
    fn active(&self, now: Time, face: FaceId) -> impl Iterator<Item = &Downstream> {
        self.downstream.iter().filter(move |d| d.face == face || !d.is_silent(now))
    }

    /// The rate suggested to face i with a Data that came so long ago from upstream.
    ///
    /// Who is behind the others, and finds in the content store what they have fetched, may catch up:
    /// the faster the further behind, so that it falls in with them in a few round trips and does not
    /// overshoot. But if some of its Interests do go upstream, these must not become many more.
    pub(super) fn target_rate_cached(&self, now: Time, face: FaceId, age: Span) -> f64 {
        let Some(own) = self.downstream.iter().find(|d| d.face == face) else { return f64::INFINITY };
        let behind = age.as_secs_f64() / (CATCH_UP * self.round_trip()).max(f64::MIN_POSITIVE);
        let harmless = HARMLESS / own.share.value.max(f64::MIN_POSITIVE);
        self.target_rate(now, face) * (1.0 + behind.min(harmless))
    }

    /// What a face may be told at most that shares with others or finds in the content store, bit/s: when
    /// that ends, its Interests go upstream at this rate until the first Data is back and the consumer
    /// has heard of it, and have to fit into `room_bits` there.
    pub(super) fn shared_bound(&self, face: FaceId, room_bits: f64) -> f64 {
        match self.downstream.iter().find(|d| d.face == face) {
            Some(own) if own.share.value < 1.0 => {
                self.rate_upstream(face) + room_bits / (2.0 * self.round_trip()).max(f64::MIN_POSITIVE)
            }
            _ => f64::INFINITY,
        }
    }

    /// The longest round trip upstream, s.
    fn round_trip(&self) -> f64 {
        self.heard().map(|u| u.rtt.as_secs_f64()).fold(0.0, f64::max)
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

    /// Lets the tables learn that of each face's Interests this part costs something upstream.
    fn shared(tables: &mut FlowTables, shares: &[f64]) {
        for (face, share) in DOWN.iter().zip(shares) {
            for n in 0..2000 {
                tables.note_answer(NOW + Span::from_millis(10 * n), *face, *share);
            }
        }
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
        assert!(near(told(0), 10e6) && near(told(100), 15e6) && near(told(1000), 60e6), "{}", told(1000));
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
    fn whatever_is_shared_the_rates_told_fit_what_is_upstream() {
        let values = [0.0, 0.1, 0.3, 0.5, 0.9, 1.0];
        for (a, b, c) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b, 1.0 - a * b))) {
            for down in [[30e6, 30e6, 30e6], [1e6, 100e6, f64::INFINITY], [5e6, 2e6, 0.1e6]] {
                let mut tables = tables(&down, &[6e6, 4e6]);
                shared(&mut tables, &[a, b, c]);
                let used = |d: &Downstream| d.share.used(tables.target_rate(NOW, d.face));
                let total: f64 = tables.downstream.iter().map(used).sum();
                assert!(near(total, 10e6), "{a} {b} {c} of {down:?}: {total}");
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
        assert!(tables.round_trip() < 0.1);
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
