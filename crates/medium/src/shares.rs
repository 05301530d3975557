//! The rate that each direction of a medium may expect. Faces are told this rate.
//!
//! A separate link has a rate, but a shared medium has no fixed one. Frames cost air time beyond their bits,
//! Interests and Data of all directions use the same air, and the next demand is unknown. Wireless drivers
//! estimate an *expected throughput* from the air time of frames at their rate and loss (Linux: minstrel,
//! every 100 ms). This is our estimate, for Data and the Interests that request them. Each period:
//!
//! - **Air time.** A frame has the cost that it has when every station in use is saturated
//!   ([`Saturation::air_time`]), with the observed loss. This is the worst case, so promises can be kept.
//!   Data count for their direction. Interests count for the opposite one, which is that of the requested
//!   Data.
//! - **Wants.** A direction wants a quarter more than it used and room for a few Data, or twice as much if it
//!   used nearly all of its promise. A direction that begins counts as using half of an equal part, or what
//!   it used before if that was less.
//! - **Shares.** [`TARGET`] of the air is divided max-min fairly by wants; the rest is divided equally. So
//!   promises to directions in use never exceed the available air. A direction that is not in use is told
//!   what it would get if it were. Its first Interest brings it into use, and all directions are told again.
//! - **Fair part.** The rate that a direction would have in this division with unlimited demand. It is not a
//!   promise, because others may use it meanwhile. But the *largest* rate of a class is a part of it: a part
//!   of a promise that follows use would keep that use where it is.
//! - **Rate.** A share is converted to bit/s of Data by the cost of its Data and their Interests, and the
//!   Interests that arrive beside them are added. The rate falls at once and rises by half the difference.

use super::{MediumAction, MediumLink, Saturation, phy};
use weir_core::units::{Bytes, Rate, Span, Time};

/// The period in which rates are told.
const PERIOD: Span = Span::from_millis(100);
/// A direction is in use for this time after its last Interest.
const MEMORY: Span = Span::from_secs(1);
/// The part of the saturated medium's air that is promised. Without slack, the queues of a medium grow
/// without bound.
const TARGET: f64 = 0.95;
/// The sizes before anything was observed: a Data of 1024 bytes of content with its headers, and its
/// Interest.
const USUAL_DATA: f64 = 1100.0;
const USUAL_INTEREST: f64 = 100.0;
/// A direction wants this number of Data a period beyond its use times a factor.
const ROOM: f64 = 4.0;
const HEADROOM: f64 = 1.25;
/// A direction that used this part of its promise wants twice as much.
const HUNGRY: f64 = 0.9;
/// The assumed use of a direction that begins is not lowered for this time, because its Data need time to
/// come.
const GRACE: Span = Span::from_millis(400);
/// The factor by which the largest use of a direction decreases in a period.
const MOST_FADES: f64 = 0.95;
/// The weight of the latest period in a smoothed value, and of a packet in a mean size.
const GAIN: f64 = 0.5;
const SIZE_GAIN: f64 = 0.0625;
/// The weight of the latest period in the number of Interests for a Data.
const RATIO_GAIN: f64 = 0.125;
/// The largest loss that is used. With more, nothing would be promised.
const MOST_LOSS: f64 = 0.9;

/// The packets of one kind.
#[derive(Clone, Copy, Debug)]
struct Packets {
    /// The recent mean size, bytes; the expected size until one came.
    size: f64,
    has_come: bool,
    /// The count of this period.
    count: u32,
    bits: u64,
    /// The smoothed count of a period.
    usual_count: f64,
}

impl Packets {
    fn new(size: f64) -> Packets {
        Packets { size, has_come: false, count: 0, bits: 0, usual_count: 0.0 }
    }

    fn add(&mut self, packet: Bytes) {
        let gain = if core::mem::replace(&mut self.has_come, true) { SIZE_GAIN } else { 1.0 };
        self.size += gain * (packet.as_u64() as f64 - self.size);
        self.count += 1;
        self.bits += packet.bits();
    }

    /// Ends a period. Returns its bits.
    fn end_period(&mut self) -> f64 {
        self.usual_count += RATIO_GAIN * (f64::from(core::mem::take(&mut self.count)) - self.usual_count);
        core::mem::take(&mut self.bits) as f64
    }

    fn size(&self) -> Bytes {
        Bytes::new(self.size.ceil() as u64)
    }
}

/// The Data in one direction, and the Interests in the other that request them.
#[derive(Debug)]
struct Direction {
    stations: [u32; 2],
    last_interest: Option<Time>,
    data: Packets,
    interests: Packets,
    /// The air time in this period, s; and that of each second, smoothed.
    air_time: f64,
    share: f64,
    /// The recent largest use; infinite before it was used.
    most: f64,
    /// The time at which its use began.
    began: Time,
    /// The Interests in this direction, which request Data of the other: bit/s, smoothed.
    reverse_interests: f64,
    /// Whether it used nearly all of its promise.
    is_hungry: bool,
    /// Whether it was in use when it was last told.
    was_in_use: bool,
    /// The promise, bit/s of Data; and the rate that its faces are told, with its fair part.
    promised: f64,
    told: Rate,
    told_fair: Rate,
    /// Whether one of these rates has changed.
    has_news: bool,
}

#[derive(Debug)]
pub(super) struct Shares {
    directions: Vec<Direction>,
    saturation: Saturation,
    /// The frames that did not collide, and the lost ones among them: in this period, and smoothed.
    alone: [f64; 2],
    smoothed: [f64; 2],
    /// The time on the air of the longest frame in this period and in the previous one, which is that of a
    /// collision.
    longest: [Span; 2],
    period_ends: Time,
    due: Time,
}

impl Shares {
    pub(super) fn new(links: &[MediumLink]) -> Shares {
        let direction = |pair: &[MediumLink]| {
            let [a, b] = [pair[0].from, pair[1].from];
            [[a, b], [b, a]].map(Direction::new)
        };
        let usual = Bytes::new(USUAL_DATA as u64);
        let longest = links.iter().map(|link| phy::frame_time(usual, link.rate)).max();
        let mut shares = Shares {
            directions: links.chunks_exact(2).flat_map(direction).collect(),
            saturation: Saturation::new(2, 0.0),
            alone: [0.0; 2],
            smoothed: [0.0; 2],
            longest: [longest.unwrap_or(Span::ZERO); 2],
            period_ends: Time::NEVER,
            due: Time::NEVER,
        };
        shares.promise(Time::ZERO, links);
        shares
    }

    pub(super) fn rate(&self, link: u32) -> Rate {
        self.directions[link as usize].told
    }

    pub(super) fn next_deadline(&self) -> Time {
        self.due
    }

    /// Handles a change of the rate of a direction's frames, and so of the promises.
    pub(super) fn on_change(&mut self, now: Time) {
        self.due = now;
    }

    /// Handles an Interest: the opposite direction is in use. Before the first Data, the declared size of the
    /// Interest counts.
    pub(super) fn on_interest(&mut self, now: Time, link: u32, declared: Option<u64>) {
        let asked = link as usize ^ 1;
        if !self.directions[asked].is_in_use(now) {
            let in_use = self.directions.iter().filter(|direction| direction.is_in_use(now)).count();
            self.directions[asked].begin(now, TARGET / (in_use + 1) as f64);
            self.due = now;
        }
        let Direction { data, last_interest, .. } = &mut self.directions[asked];
        *last_interest = Some(now);
        if let (false, Some(size)) = (data.has_come, declared) {
            data.size = size.clamp(1, phy::MAX_PACKET.as_u64()) as f64;
        }
        if self.period_ends == Time::NEVER {
            self.period_ends = now + PERIOD;
        }
    }

    /// Counts a received frame.
    pub(super) fn on_received(&mut self, link: u32, packet: Bytes, is_interest: bool, rate: Rate) {
        self.alone[0] += 1.0;
        self.longest[0] = self.longest[0].max(phy::frame_time(packet, rate));
        let air_time = self.air_time(packet, rate);
        let direction = &mut self.directions[if is_interest { link ^ 1 } else { link } as usize];
        direction.air_time += air_time;
        if is_interest { direction.interests.add(packet) } else { direction.data.add(packet) }
    }

    /// Counts a frame that was lost without a collision.
    pub(super) fn on_lost(&mut self) {
        self.alone[0] += 1.0;
        self.alone[1] += 1.0;
    }

    fn air_time(&self, packet: Bytes, rate: Rate) -> f64 {
        self.saturation.air_time(packet, rate, self.longest[0].max(self.longest[1]))
    }

    /// Tells the rates again, at the end of a period or before.
    pub(super) fn handle_deadline(
        &mut self,
        now: Time,
        links: &[MediumLink],
        actions: &mut Vec<MediumAction>,
    ) {
        if self.due > now {
            return;
        }
        if self.period_ends <= now {
            self.end_period(now);
        }
        let is_in_use = self.promise(now, links);
        self.period_ends = if is_in_use { self.period_ends } else { Time::NEVER };
        self.due = self.period_ends;
        for (link, direction) in self.directions.iter_mut().enumerate() {
            if core::mem::take(&mut direction.has_news) {
                let Direction { told: rate, told_fair: fair, .. } = *direction;
                actions.push(MediumAction::Rate { link: link as u32, rate, fair });
            }
        }
    }

    fn end_period(&mut self, now: Time) {
        for of in 0..self.directions.len() {
            let interest_bits = self.directions[of].end_period(now);
            let reverse = &mut self.directions[of ^ 1].reverse_interests;
            *reverse += GAIN * (interest_bits / PERIOD.as_secs_f64() - *reverse);
        }
        for (smoothed, latest) in self.smoothed.iter_mut().zip(&mut self.alone) {
            *smoothed += GAIN * (core::mem::take(latest) - *smoothed);
        }
        if self.longest[0] > Span::ZERO {
            self.longest[1] = core::mem::take(&mut self.longest[0]);
        }
        self.period_ends = now + PERIOD;
    }

    /// Returns the air time of a Data in a direction and of the Interests for it, s. There are more Interests
    /// than Data if some are not answered.
    fn cost(&self, d: usize, links: &[MediumLink]) -> f64 {
        let Direction { data, interests, .. } = &self.directions[d];
        let ratio = ((interests.usual_count + 1.0) / (data.usual_count + 1.0)).max(1.0);
        self.air_time(data.size(), links[d].rate) + ratio * self.air_time(interests.size(), links[d ^ 1].rate)
    }

    /// Divides the air. Returns whether any direction uses it.
    fn promise(&mut self, now: Time, links: &[MediumLink]) -> bool {
        let in_use: Vec<usize> =
            (0..self.directions.len()).filter(|&d| self.directions[d].is_in_use(now)).collect();
        let mut stations: Vec<u32> = in_use.iter().flat_map(|&d| self.directions[d].stations).collect();
        stations.sort_unstable();
        stations.dedup();
        let [alone, lost] = self.smoothed;
        let loss = if alone > 0.0 { (lost / alone).min(MOST_LOSS) } else { 0.0 };
        self.saturation = Saturation::new(stations.len().max(2), loss);

        let costs: Vec<f64> = (0..links.len()).map(|d| self.cost(d, links)).collect();
        let room = |d: usize| ROOM * costs[d] / PERIOD.as_secs_f64();
        let wants: Vec<f64> = in_use.iter().map(|&d| self.directions[d].want() + room(d)).collect();
        let (level, spare) = divide(TARGET, &wants);
        let if_used = |d| room(d).min(level) + (spare - room(d)).max(0.0) / (in_use.len() + 1) as f64;
        let mut shares: Vec<f64> = (0..links.len()).map(if_used).collect();
        for (&d, want) in in_use.iter().zip(&wants) {
            shares[d] = want.min(level) + spare / in_use.len() as f64;
        }
        let mut fair = vec![level_of_another(&wants); links.len()];
        for (at, &d) in in_use.iter().enumerate() {
            let others = [&wants[..at], &wants[at + 1..]].concat();
            fair[d] = level_of_another(&others);
        }
        for (d, direction) in self.directions.iter_mut().enumerate() {
            let rate = |share: f64| share / costs[d] * 8.0 * direction.data.size;
            let (promised, fair) = (rate(shares[d]), rate(fair[d]));
            direction.tell(promised, fair, direction.is_in_use(now));
        }
        !in_use.is_empty()
    }
}

/// Max-min fair division: each gets its want up to the level, and a part of the rest. Returns the level and
/// the rest.
fn divide(total: f64, wants: &[f64]) -> (f64, f64) {
    let mut ascending = wants.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let mut left = total;
    for (served, want) in ascending.iter().enumerate() {
        let level = left / (ascending.len() - served) as f64;
        if *want >= level {
            return (level, 0.0);
        }
        left -= want;
    }
    (total, left)
}

/// Returns the share of a direction with unlimited demand, beside others.
fn level_of_another(others: &[f64]) -> f64 {
    divide(TARGET, &[others, &[f64::INFINITY]].concat()).0
}

impl Direction {
    fn new(stations: [u32; 2]) -> Direction {
        Direction {
            stations,
            last_interest: None,
            data: Packets::new(USUAL_DATA),
            interests: Packets::new(USUAL_INTEREST),
            air_time: 0.0,
            share: 0.0,
            most: f64::INFINITY,
            began: Time::ZERO,
            reverse_interests: 0.0,
            is_hungry: false,
            was_in_use: false,
            promised: 0.0,
            told: Rate::ZERO,
            told_fair: Rate::ZERO,
            has_news: false,
        }
    }

    fn is_in_use(&self, now: Time) -> bool {
        self.last_interest.is_some_and(|last| now.since(last) < MEMORY)
    }

    /// Handles the first Interest. `equal` is an equal part at that time.
    fn begin(&mut self, now: Time, equal: f64) {
        self.began = now;
        self.share = self.most.min(equal / 2.0);
        self.most = self.share;
    }

    /// Ends a period. Returns the bits of Interests in it.
    fn end_period(&mut self, now: Time) -> f64 {
        let period = PERIOD.as_secs_f64();
        self.is_hungry = self.data.end_period() / period >= HUNGRY * self.promised;
        let used = core::mem::take(&mut self.air_time) / period;
        let smoothed = self.share + GAIN * (used - self.share);
        self.share = if now.since(self.began) < GRACE { smoothed.max(self.share) } else { smoothed };
        self.most = self.share.max(self.most * MOST_FADES);
        self.interests.end_period()
    }

    /// Returns the share that it wants, without room for more.
    fn want(&self) -> f64 {
        self.share * if self.is_hungry { 2.0 } else { HEADROOM }
    }

    fn tell(&mut self, promised: f64, fair: f64, is_in_use: bool) {
        let was_in_use = core::mem::replace(&mut self.was_in_use, is_in_use);
        let smoothly = was_in_use && is_in_use && promised > self.promised;
        self.promised = if smoothly { (self.promised + promised) / 2.0 } else { promised };
        let rate = Rate::from_bps_f64(self.promised + self.reverse_interests);
        let fair = Rate::from_bps_f64(fair + self.reverse_interests);
        self.has_news |= rate != core::mem::replace(&mut self.told, rate);
        self.has_news |= fair != core::mem::replace(&mut self.told_fair, fair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_core::random::Random;

    const RATE: Rate = Rate::from_mbps(24);

    /// Returns this number of stations, each of which communicates with all others.
    fn mesh(stations: u32) -> Vec<MediumLink> {
        let pairs = (0..stations).flat_map(|b| (0..b).map(move |a| [a, b]));
        let random = || Random::named(1, "unused");
        let link = |from| MediumLink { from, rate: RATE, loss: 0.0, up: true, random: random() };
        pairs.flatten().map(link).collect()
    }

    /// Returns the air time of a Data and its Interest among this number of stations, s.
    fn cost(stations: usize, data: u64, interest: u64) -> f64 {
        let theory = Saturation::new(stations, 0.0);
        let other = phy::frame_time(Bytes::new(USUAL_DATA as u64), RATE);
        let air_time = |bytes| theory.air_time(Bytes::new(bytes), RATE, other);
        air_time(data) + air_time(interest)
    }

    #[test]
    fn each_direction_of_an_idle_medium_may_count_on_all_that_is_promised() {
        let shares = Shares::new(&mesh(3));
        let all = TARGET * 8.0 * USUAL_DATA / cost(2, USUAL_DATA as u64, USUAL_INTEREST as u64);
        for link in 0..6 {
            assert_eq!(shares.rate(link), Rate::from_bps_f64(all));
        }
        assert_eq!(shares.next_deadline(), Time::NEVER);
    }

    #[test]
    fn before_the_first_data_its_size_is_what_the_interest_declares() {
        let links = mesh(2);
        let mut shares = Shares::new(&links);
        shares.on_interest(Time::ZERO, 1, Some(200));
        shares.handle_deadline(Time::ZERO, &links, &mut Vec::new());
        let all = TARGET * 8.0 * 200.0 / cost(2, 200, USUAL_INTEREST as u64);
        assert_eq!(shares.rate(0), Rate::from_bps_f64(all));
    }

    #[test]
    fn the_fair_part_of_who_uses_little_is_an_equal_part_beside_who_uses_all() {
        let links = mesh(2);
        let mut shares = Shares::new(&links);
        let (mut actions, mut now) = (Vec::new(), Time::ZERO);
        for millis in 0..2000_u64 {
            now = Time::ZERO + Span::from_millis(millis);
            if millis % 100 == 0 {
                shares.on_interest(now, 1, None);
                shares.on_received(1, Bytes::new(100), true, RATE);
                shares.on_received(0, Bytes::new(1100), false, RATE);
            }
            shares.on_interest(now, 0, None);
            shares.on_received(0, Bytes::new(100), true, RATE);
            shares.on_received(1, Bytes::new(1100), false, RATE);
            while shares.next_deadline() <= now {
                shares.handle_deadline(now, &links, &mut actions);
            }
        }
        let [light, heavy] = [&shares.directions[0], &shares.directions[1]];
        assert!(light.is_in_use(now) && heavy.is_in_use(now));
        let all = TARGET * 8.0 * 1100.0 / cost(2, 1100, 100);
        let part = (light.told_fair.as_bps_f64() - light.reverse_interests) / all;
        assert!((0.49..0.51).contains(&part), "{part}");
        assert!(light.promised < 0.06 * all, "the promise keeps to what is used");
        assert!(heavy.promised > 0.94 * all, "the rest is promised to the direction that uses it");
        assert!(heavy.told_fair.as_bps_f64() > 0.94 * all);
    }

    proptest! {
        #[test]
        fn a_division_gives_nobody_more_than_it_wants_and_all_no_more_than_there_is(
            wants in prop::collection::vec(prop_oneof![0.0..0.2_f64, 0.0..3.0_f64], 0..12),
        ) {
            let (level, spare) = divide(TARGET, &wants);
            let given: f64 = wants.iter().map(|want| want.min(level)).sum();
            prop_assert!((given + spare - TARGET).abs() < 1e-9, "{} {} {:?}", level, spare, wants);
            prop_assert!(spare >= 0.0 && (spare < 1e-9 || wants.iter().all(|want| *want <= level)));
        }

        #[test]
        fn what_is_promised_to_directions_in_use_fits_the_air(
            ops in prop::collection::vec((0..12_u32, 0..40_u64, any::<bool>(), 1..2000_u64), 0..300),
        ) {
            let links = mesh(4);
            let mut shares = Shares::new(&links);
            let (mut now, mut actions) = (Time::ZERO, Vec::new());
            for (link, millis, is_interest, bytes) in ops {
                if is_interest {
                    shares.on_interest(now, link, None);
                }
                shares.on_received(link, Bytes::new(bytes), is_interest, RATE);
                let until = now + Span::from_millis(millis);
                while shares.next_deadline() <= until {
                    now = now.max(shares.next_deadline());
                    shares.handle_deadline(now, &links, &mut actions);
                    let share = |d: usize| {
                        let Direction { data, promised, .. } = &shares.directions[d];
                        promised / 8.0 / data.size * shares.cost(d, &links)
                    };
                    let in_use = (0..12).filter(|&d| shares.directions[d].is_in_use(now));
                    prop_assert!(in_use.map(share).sum::<f64>() < TARGET + 1e-9);
                    prop_assert!((0..12).all(|link| shares.rate(link) > Rate::ZERO));
                }
                now = until;
            }
        }
    }
}
