//! ASF, Adaptive SRTT-based Forwarding: the next hop that answers fastest (V. Lehman et al., "An Experimental
//! Investigation of Hyperbolic Routing with a Smart Forwarding Plane in NDN", IWQoS 2016; the options are
//! those of NFD's manual page nfd-asf-strategy).
//!
//! Each next hop of a prefix is in one of three groups, and the first of the first group is used:
//!
//! 1. next hops that answer, ordered by smoothed round-trip time;
//! 2. next hops without a measurement, ordered by cost;
//! 3. next hops that timed out, ordered by cost: `max_timeouts` Interests were sent since the last Data, the
//!    last one at least a retransmission timeout (RFC 6298) ago.
//!
//! Every `probing_interval` a copy of an Interest goes to another next hop: to one without a measurement,
//! else to one of the others by rank: the i-th of N has probability 2(N + 1 − i) / N(N + 1).
//!
//! **Deviations from NFD's program.** (1) A timeout is noticed with the next Interest of the prefix, so the
//! strategy needs no timers. (2) Measurements are kept by FIB entry. (3) After a Nack, the Interest goes to
//! the best next hop that was not asked yet, as with best route. (4) Repeated Interests are suppressed as
//! with best route.

use smallvec::SmallVec;

use super::best_route::{is_suppressed, least_severe};
use crate::ids::FaceId;
use crate::random::Random;
use crate::rtt::RttEstimate;
use crate::seam::{DataEvent, Decision, InterestEvent, NackEvent, Strategy};
use crate::tables::fib::{FibId, NextHop};
use crate::tables::sparse::Sparse;
use crate::units::{Span, Time};
use weir_packet::NackReason;

/// The first probe of a prefix comes after a random fraction of this time, so that prefixes do not probe at
/// once (NFD: 5 s).
const FIRST_PROBE: Span = Span::from_secs(5);

/// The options of ASF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsfOptions {
    /// Time between probes; at least [`AsfOptions::LEAST_INTERVAL`].
    pub probing_interval: Span,
    /// Interests without Data after which a next hop has timed out; at least 1.
    pub max_timeouts: u32,
}

impl AsfOptions {
    /// The shortest time between probes.
    pub const LEAST_INTERVAL: Span = Span::from_secs(1);
}

impl Default for AsfOptions {
    fn default() -> AsfOptions {
        AsfOptions { probing_interval: Span::from_secs(60), max_timeouts: 3 }
    }
}

/// The ASF strategy.
#[derive(Debug, Default)]
pub struct Asf {
    options: AsfOptions,
    /// Measurements of each prefix, by the number of the FIB entry. All consumers and flows share them.
    prefixes: Sparse<Prefix>,
}

#[derive(Debug, Default)]
struct Prefix {
    hops: SmallVec<[Measured; 2]>,
    /// When the next probe is due; `None` before the first Interest.
    probe: Option<Time>,
}

/// Measurements of a next hop.
#[derive(Clone, Copy, Debug)]
struct Measured {
    face: FaceId,
    rtt: RttEstimate,
    /// Interests since the last Data; the count stops at `max_timeouts`.
    asked: u32,
    /// When the last of these was sent.
    sent: Time,
}

/// Rank of a next hop: group, round-trip time, cost. The smallest is the best.
type Rank = (u8, Span, u64);

impl Prefix {
    fn find(&mut self, face: FaceId) -> Option<&mut Measured> {
        self.hops.iter_mut().find(|hop| hop.face == face)
    }

    /// Notes an Interest to one of the next hops. Other faces are ignored.
    fn note_sending(&mut self, face: FaceId, next_hops: &[NextHop], options: &AsfOptions, now: Time) {
        if self.find(face).is_none() {
            self.hops.retain(|known| next_hops.iter().any(|hop| hop.face == known.face));
            self.hops.push(Measured { face, rtt: RttEstimate::default(), asked: 0, sent: now });
        }
        if let Some(hop) = self.find(face).filter(|hop| hop.asked < options.max_timeouts) {
            hop.asked += 1;
            hop.sent = now;
        }
    }

    fn rank(&self, hop: &NextHop, options: &AsfOptions, now: Time) -> Rank {
        let Some(known) = self.hops.iter().find(|known| known.face == hop.face) else {
            return (1, Span::ZERO, hop.cost);
        };
        if known.asked >= options.max_timeouts && now.since(known.sent) >= known.rtt.rto() {
            return (2, Span::ZERO, hop.cost);
        }
        match known.rtt.srtt() {
            Some(srtt) => (0, srtt, hop.cost),
            None => (1, Span::ZERO, hop.cost),
        }
    }

    /// Returns whether a probe is due. If so, the next one is due an interval later.
    fn is_probing(&mut self, options: &AsfOptions, now: Time, random: &mut Random) -> bool {
        let at = *self.probe.get_or_insert_with(|| now + part_of(FIRST_PROBE, random));
        if now >= at {
            self.probe = Some(now + options.probing_interval);
        }
        now >= at
    }
}

/// A random fraction of a time.
fn part_of(span: Span, random: &mut Random) -> Span {
    Span::from_nanos((span.as_nanos() as f64 * random.unit()) as u64)
}

/// Chooses the next hop to probe among these, which are in order of rank.
fn choose_probed(ranked: &[(Rank, FaceId)], random: &mut Random) -> Option<FaceId> {
    if let Some((_, face)) = ranked.iter().find(|((group, ..), _)| *group == 1) {
        return Some(*face);
    }
    let count = ranked.len();
    let mut left = random.unit() * (count * (count + 1)) as f64 / 2.0;
    for (place, (_, face)) in ranked.iter().enumerate() {
        left -= (count - place) as f64;
        if left < 0.0 {
            return Some(*face);
        }
    }
    ranked.last().map(|(_, face)| *face)
}

impl Asf {
    /// Makes the strategy with these options, limited to their bounds.
    pub fn new(options: AsfOptions) -> Asf {
        let probing_interval = options.probing_interval.max(AsfOptions::LEAST_INTERVAL);
        let max_timeouts = options.max_timeouts.max(1);
        Asf { options: AsfOptions { probing_interval, max_timeouts }, prefixes: Sparse::new() }
    }

    fn of(&mut self, route: FibId) -> &mut Prefix {
        self.prefixes.make(route.0)
    }
}

impl Strategy for Asf {
    fn on_interest(&mut self, ev: &mut InterestEvent<'_>) -> Decision {
        if is_suppressed(ev) {
            return Decision::Suppress;
        }
        if ev.next_hops.is_empty() {
            return Decision::Nack(NackReason::NoRoute);
        }
        let options = self.options;
        let prefix = self.of(ev.entry.route());
        let mut ranked: SmallVec<[(Rank, FaceId); 8]> =
            ev.next_hops.iter().map(|hop| (prefix.rank(hop, &options, ev.now), hop.face)).collect();
        ranked.sort_unstable();
        let sent = |face| ev.entry.out_records.iter().find(|out| out.face == face).map(|out| out.sent);
        // A repeated Interest goes to the best next hop that was not tried, else to the one tried longest
        // ago.
        let best = ranked.iter().enumerate().min_by_key(|(_, (_, face))| sent(*face)).map_or(0, |(at, _)| at);
        let (_, chosen) = ranked.remove(best);
        prefix.note_sending(chosen, ev.next_hops, &options, ev.now);
        let is_first = ev.entry.out_records.is_empty();
        if is_first
            && !ranked.is_empty()
            && prefix.is_probing(&options, ev.now, ev.random)
            && let Some(probed) = choose_probed(&ranked, ev.random)
        {
            prefix.note_sending(probed, ev.next_hops, &options, ev.now);
            return Decision::Probe(chosen, probed);
        }
        Decision::Forward(chosen)
    }

    fn on_data(&mut self, ev: &mut DataEvent<'_>) {
        let known = self.prefixes.get_mut(ev.entry.route().0).and_then(|prefix| prefix.find(ev.face));
        if let Some(hop) = known {
            hop.asked = 0;
            if let Some(rtt) = ev.rtt {
                hop.rtt.sample(rtt);
            }
        }
    }

    fn on_nack(&mut self, ev: &mut NackEvent<'_>) -> Decision {
        match ev.next_hops.first() {
            Some(hop) => Decision::Forward(hop.face),
            None => Decision::Nack(least_severe(ev)),
        }
    }

    fn on_next_hop_removed(&mut self, route: FibId, face: FaceId) {
        if let Some(known) = self.prefixes.get_mut(route.0) {
            known.hops.retain(|hop| hop.face != face);
        }
    }

    fn on_route_removed(&mut self, route: FibId) {
        if let Some(known) = self.prefixes.get_mut(route.0) {
            *known = Prefix::default();
        }
    }
}
