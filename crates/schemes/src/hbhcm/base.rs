//! The base RTT of a hop, section III-C: the smallest time of an Interest and its Data over the hop, by the size of the
//! Data.
//!
//! > b = p·W + c
//!
//! p is the size of the Data. W is the sum of 1/w_u over the links u below the hop. c is the part that does not depend
//! on the size. W and c are fitted by linear regression to the minimum round-trip time of each size. The weight of a
//! size is its recent frequency. With a single size the base RTT is its minimum.
//!
//! A time becomes the minimum of a size when [`REACHED_BY`] Data of a run of [`RECENT`] have reached it. So
//! one wrong sample, by mistake or by a false value of a neighbour, does not set it. The minimum covers all
//! time, until the hop shows that it has become longer (`longer.rs`).
//!
//! A minimum includes queueing until a Data comes that met no queue. W and c are therefore never negative. If
//! the line is above the minimum of a size, the minimum is the base RTT, because some Data took no longer.

use smallvec::SmallVec;
use weir_core::parameters;
use weir_core::units::{Bytes, Span, Time};

/// Sizes that differ by at most this count as one, bytes. Lengths of header fields vary by this much.
const SAME_SIZE: f64 = 64.0;

/// The number of sizes that are kept; it is bounded because sizes come from the network. A further size
/// replaces an unused one, or counts as its neighbour.
const SIZES: usize = 16;

/// Assumed: the number of Data that have to reach a time before it counts as the minimum. A mistake seldom
/// occurs three times in a run.
const REACHED_BY: usize = 3;

/// Assumed: the number of Data of a size in a run.
const RECENT: u32 = 32;

/// Assumed: after this number of Data the counts of all sizes are halved, and the line is fitted to them.
const FIT_EVERY: u32 = 1024;

parameters! {
    /// Parameters of the base RTT.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// whether the base RTT of a hop depends on the size of the Data, by linear regression; if not, it is the
        /// same for all sizes
        pub(super) by_size: bool = switch("size_compensation") default "true"
            from "paper: section III-C; files: the code has none";
        /// the time over which the minimum RTT of a hop is taken, or at least half of it; 0: all time
        pub(super) window: Option<Span> = span("base_window", Span::ZERO..=Span::from_secs(3600)) default "0 ns"
            from "paper: section III-B, the minimum so far";
    }
}

/// The size and the hop round-trip time of a Data.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    /// p, bytes.
    size: f64,
    /// The time, nanoseconds.
    rtt: f64,
}

/// No sample: every sample is below it.
const NONE: Sample = Sample { size: 0.0, rtt: f64::INFINITY };

/// Returns the sample with the smaller time.
fn least_of(a: Sample, b: Sample) -> Sample {
    if b.rtt < a.rtt { b } else { a }
}

/// The smallest samples of this run of Data, in ascending order.
#[derive(Clone, Copy, Debug)]
struct Recent {
    least: [Sample; REACHED_BY],
    seen: u32,
}

impl Recent {
    const EMPTY: Recent = Recent { least: [NONE; REACHED_BY], seen: 0 };

    fn add(&mut self, sample: Sample) {
        if self.seen == RECENT {
            *self = Recent::EMPTY;
        }
        self.seen += 1;
        let place = self.least.partition_point(|other| other.rtt <= sample.rtt);
        if let Some(after) = self.least.get_mut(place..).filter(|after| !after.is_empty()) {
            after.rotate_right(1);
            after[0] = sample;
        }
    }

    /// Returns the minimum that enough samples have reached; [`NONE`] if there are too few.
    fn reached(&self) -> Sample {
        self.least[REACHED_BY - 1]
    }

    /// Returns the minimum of all samples, even if they are too few.
    fn reached_by_few(&self) -> Sample {
        let known = self.least.iter().rev().find(|sample| **sample != NONE);
        known.copied().unwrap_or(NONE)
    }
}

/// The Data of one size.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// The size of the first Data, bytes.
    size: f64,
    /// The number of Data; it is halved from time to time.
    count: f64,
    recent: Recent,
    /// The smallest time in this half of the window, and in the previous half.
    halves: [Sample; 2],
    /// The start of this half.
    since: Time,
    /// b: the smallest time of the size.
    least: Sample,
}

impl Class {
    fn new(size: f64, now: Time) -> Class {
        Class { size, count: 0.0, recent: Recent::EMPTY, halves: [NONE; 2], since: now, least: NONE }
    }

    /// Counts a Data. Returns whether the smallest time has changed.
    fn add(&mut self, now: Time, sample: Sample, window: Option<Span>) -> bool {
        self.count += 1.0;
        self.recent.add(sample);
        let [this_half, _] = &mut self.halves;
        *this_half = least_of(*this_half, self.recent.reached());
        let is_over = window.is_some_and(|window| now.since(self.since) > window.scale(0.5));
        if is_over && this_half.rtt < f64::INFINITY {
            self.halves = [NONE, *this_half];
            (self.recent, self.since) = (Recent::EMPTY, now);
        }
        let known = least_of(self.halves[0], self.halves[1]);
        let least = if known == NONE { self.recent.reached_by_few() } else { known };
        core::mem::replace(&mut self.least, least) != least
    }
}

/// The base RTT of one hop.
#[derive(Clone, Debug)]
pub(super) struct BaseRtt {
    settings: Settings,
    classes: SmallVec<[Class; 1]>,
    /// The index of the latest size. The next Data usually has the same size.
    last: usize,
    /// The number of Data since the counts were halved.
    since_halved: u32,
    /// W, nanoseconds a byte.
    slope: f64,
    /// c, nanoseconds.
    constant: f64,
}

impl BaseRtt {
    /// Returns the base of a hop without measurements.
    pub(super) fn new(settings: Settings) -> BaseRtt {
        let (last, since_halved) = (0, 0);
        BaseRtt { settings, classes: SmallVec::new(), last, since_halved, slope: 0.0, constant: 0.0 }
    }

    /// Counts a Data of this size that took `hop_rtt` over the hop. Returns its queueing delay, (4).
    pub(super) fn queueing_delay(&mut self, now: Time, size: Bytes, hop_rtt: Span) -> Span {
        let size = if self.settings.by_size { size.as_u64() as f64 } else { 0.0 };
        let sample = Sample { size, rtt: hop_rtt.as_nanos() as f64 };
        self.last = self.place_of(now, size);
        let is_changed = self.classes[self.last].add(now, sample, self.settings.window);
        let is_due = self.age();
        if is_changed || is_due {
            self.fit();
        }
        hop_rtt.saturating_sub(Span::from_nanos(self.base(self.last, size) as u64))
    }

    /// Raises the base: the hop has become longer by this much.
    pub(super) fn rise(&mut self, by: Span) {
        for class in &mut self.classes {
            class.least.rtt += by.as_nanos() as f64;
            (class.halves, class.recent) = ([class.least, NONE], Recent::EMPTY);
        }
        self.fit();
    }

    /// Returns b for a size whose slot is `place`.
    fn base(&self, place: usize, size: f64) -> f64 {
        let known = self.classes[place].least;
        (size * self.slope + self.constant).min(known.rtt + self.slope * (size - known.size)).max(0.0)
    }

    /// Halves the counts if that is due. Returns whether it did.
    fn age(&mut self) -> bool {
        self.since_halved += 1;
        let is_due = self.since_halved == FIT_EVERY;
        if is_due {
            self.since_halved = 0;
            self.classes.iter_mut().for_each(|class| class.count /= 2.0);
        }
        is_due
    }

    /// Returns the slot of a size. If all slots are in use, a new size replaces an unused one; if there is
    /// none, it counts as its neighbour.
    fn place_of(&mut self, now: Time, size: f64) -> usize {
        let distance = |class: &Class| (class.size - size).abs();
        if self.classes.get(self.last).is_some_and(|class| distance(class) <= SAME_SIZE) {
            return self.last;
        }
        let least_by = |value: &dyn Fn(&Class) -> f64| {
            let values = self.classes.iter().map(value).enumerate();
            values.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let nearest = least_by(&distance);
        if let Some((place, _)) = nearest.filter(|(_, distance)| *distance <= SAME_SIZE) {
            return place;
        }
        if self.classes.len() < SIZES {
            self.classes.push(Class::new(size, now));
            return self.classes.len() - 1;
        }
        if let Some((place, _)) = least_by(&|class| class.count).filter(|(_, count)| *count < 1.0) {
            self.classes[place] = Class::new(size, now);
            return place;
        }
        nearest.map_or(0, |(place, _)| place)
    }

    /// Fits W and c by least squares, within their limits.
    fn fit(&mut self) {
        let count = self.classes.iter().map(|class| class.count).sum::<f64>();
        let mean_of = |value: fn(&Sample) -> f64| {
            self.classes.iter().map(|class| class.count * value(&class.least)).sum::<f64>() / count
        };
        let (mean_size, mean_rtt) = (mean_of(|least| least.size), mean_of(|least| least.rtt));
        let (mut spread, mut joint) = (0.0, 0.0);
        for Class { count, least, .. } in &self.classes {
            let apart = count * (least.size - mean_size);
            spread += apart * (least.size - mean_size);
            joint += apart * (least.rtt - mean_rtt);
        }
        let slope = if spread > 0.0 { (joint / spread).max(0.0) } else { 0.0 };
        let steepest = if mean_size > 0.0 { mean_rtt / mean_size } else { 0.0 };
        self.slope = slope.min(steepest);
        self.constant = mean_rtt - self.slope * mean_size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use weir_core::random::Random;

    const MS: Span = Span::from_millis(1);
    const PAPER: Settings = Settings { by_size: true, window: None };

    struct Hop {
        base: BaseRtt,
        now: Time,
    }

    impl Hop {
        fn new(settings: Settings) -> Hop {
            Hop { base: BaseRtt::new(settings), now: Time::ZERO }
        }

        fn took_often(&mut self, times: u32, size: u64, rtt: Span) {
            for _ in 0..times {
                self.took(size, rtt);
            }
        }

        /// Counts a Data and returns its queueing delay.
        fn took(&mut self, size: u64, rtt: Span) -> Span {
            self.now += MS;
            self.base.queueing_delay(self.now, Bytes::new(size), rtt)
        }
    }

    /// Returns the time on an idle hop: 20 ms, and 0.8 µs a byte (10 Mb/s).
    fn idle(size: u64) -> Span {
        MS * 20 + Span::from_nanos(800 * size)
    }

    #[test]
    fn the_least_is_the_base_and_what_is_more_is_queueing() {
        let mut hop = Hop::new(PAPER);
        assert_eq!(hop.took(1100, MS * 30), Span::ZERO, "the first is all that is known");
        hop.took_often(2, 1100, MS * 30);
        assert_eq!(hop.took(1100, MS * 37), MS * 7);
        hop.took_often(3, 1100, MS * 25);
        assert_eq!(hop.took(1100, MS * 37), MS * 12);
    }

    #[test]
    fn the_least_is_what_three_data_of_a_run_reached() {
        let mut hop = Hop::new(PAPER);
        hop.took_often(3, 1100, MS * 30);
        for (rtt, queue) in [(20, 0), (24, 0), (22, 0), (30, 6), (21, 0), (30, 8), (23, 1)] {
            assert_eq!(hop.took(1100, MS * rtt), MS * queue, "{rtt} ms");
        }
    }

    /// A neighbour may report false values; here that its hop takes nearly no time.
    #[test]
    fn a_lie_now_and_then_does_not_set_the_base() {
        let mut hop = Hop::new(PAPER);
        for round in 0..1000 {
            let lies = if round == 0 { 0 } else { 2 };
            hop.took_often(lies, 1100, Span::from_nanos(1));
            hop.took_often(RECENT - lies, 1100, MS * 20);
        }
        assert_eq!(hop.took(1100, MS * 26), MS * 6);
    }

    /// A neighbour can have the same effect by setting marks.
    #[test]
    fn a_lie_again_and_again_sets_the_base_until_the_window_is_over() {
        for (window, delay) in [(None, MS * 20), (Some(MS * 1000), Span::ZERO)] {
            let mut hop = Hop::new(Settings { by_size: true, window });
            hop.took_often(100, 1100, MS * 20);
            hop.took_often(3, 1100, Span::from_nanos(1));
            assert_eq!(hop.took(1100, MS * 20).as_millis_f64().round(), 20.0);
            hop.took_often(2000, 1100, MS * 20);
            assert_eq!(hop.took(1100, MS * 20).as_millis_f64().round(), delay.as_millis_f64());
        }
    }

    #[test]
    fn regression_recovers_w_and_c_from_two_sizes_and_from_ten() {
        for sizes in [&[200, 1100][..], &[100, 300, 900, 1500, 2200, 3000, 4096, 6000, 7500, 8800]] {
            let mut hop = Hop::new(PAPER);
            for more in [3, 0, 9] {
                for &size in sizes {
                    hop.took_often(3, size, idle(size) + MS * more);
                }
            }
            assert!((hop.base.slope - 800.0).abs() < 1e-6, "W = {} ns/B", hop.base.slope);
            assert!((hop.base.constant - 20e6).abs() < 1e-2, "c = {} ns", hop.base.constant);
        }
    }

    #[test]
    fn of_two_sizes_one_that_always_waited_is_known_by_the_other_and_by_a_third() {
        let mut hop = Hop::new(PAPER);
        for n in 0..100 {
            hop.took(200, idle(200));
            hop.took(8000, idle(8000));
            let delay = hop.took(4000, idle(4000) + MS * 10);
            // The line also includes samples that waited. If all sizes came equally often, a third of the
            // weight is theirs.
            assert!(n < 2 || (6.0..7.0).contains(&delay.as_millis_f64()), "{delay}");
        }
    }

    /// At 1 Mb/s 1000 bytes take 8 ms, which is more than the target.
    #[test]
    fn without_compensation_large_data_look_delayed() {
        let idle = |size| MS * 20 + Span::from_micros(8) * size;
        for (by_size, delay) in [(true, Span::ZERO), (false, MS * 8)] {
            let mut hop = Hop::new(Settings { by_size, window: None });
            for _ in 0..3 {
                hop.took(200, idle(200));
                hop.took(1200, idle(1200));
            }
            assert_eq!(hop.took(1200, idle(1200)), delay);
            assert_eq!(hop.took(200, idle(200)), Span::ZERO);
        }
    }

    /// The size was seen once, behind other packets.
    #[test]
    fn a_size_that_is_seldom_seen_does_not_raise_the_base_of_the_others() {
        for size in [200, 3000] {
            let mut hop = Hop::new(PAPER);
            hop.took_often(100, 1100, idle(1100));
            hop.took(size, idle(size) + MS * 40);
            let delay = hop.took(1100, idle(1100) + MS * 6);
            assert!((delay.as_millis_f64() - 6.0).abs() < 0.5, "{delay}");
        }
    }

    #[test]
    fn lengths_that_vary_by_a_header_field_are_one_size() {
        let mut hop = Hop::new(PAPER);
        for n in 0..1000 {
            hop.took(1100 + n % 60, idle(1100) + MS * (n % 7));
        }
        assert_eq!(hop.base.classes.len(), 1);
        assert_eq!(hop.base.slope, 0.0);
    }

    /// Otherwise these sizes would fill all slots for ever.
    #[test]
    fn odd_sizes_of_a_stranger_make_room_for_what_is_in_use() {
        let mut hop = Hop::new(PAPER);
        (0..SIZES as u64).for_each(|n| hop.took_often(3, 3000 + 100 * n, idle(3000 + 100 * n)));
        hop.took_often(4 * FIT_EVERY, 1100, idle(1100));
        hop.took_often(3, 200, idle(200));
        hop.took_often(FIT_EVERY, 1100, idle(1100));
        let sizes: Vec<f64> = hop.base.classes.iter().map(|class| class.size).collect();
        assert!(sizes.contains(&1100.0) && sizes.contains(&200.0), "{sizes:?}");
        assert!((hop.base.slope - 800.0).abs() < 80.0, "W = {} ns/B", hop.base.slope);
    }

    /// One size came a thousand times since its smallest time, the other never again.
    #[test]
    fn the_line_is_fitted_to_how_often_sizes_came_lately() {
        let mut hop = Hop::new(PAPER);
        for size in [200, 1100, 4000] {
            hop.took_often(3, size, idle(size) + MS * u64::from(size == 4000) * 10);
        }
        let early = hop.took(2000, idle(2000) + MS * 10);
        hop.took_often(3 * FIT_EVERY, 1100, idle(1100));
        hop.took_often(3 * FIT_EVERY, 200, idle(200));
        let late = hop.took(2000, idle(2000) + MS * 10);
        assert!(late > early, "{early}, {late}");
    }

    #[test]
    fn a_base_for_ever_stays_and_one_with_a_window_follows_a_longer_way() {
        for (window, delay) in [(None, MS * 20), (Some(MS * 1000), Span::ZERO)] {
            let mut hop = Hop::new(Settings { by_size: true, window });
            hop.took_often(100, 1100, MS * 20);
            assert_eq!(hop.took(1100, MS * 40), MS * 20, "at first it is queueing");
            hop.took_often(2000, 1100, MS * 40);
            assert_eq!(hop.took(1100, MS * 40), delay);
        }
    }

    /// On a real host no two times are equal.
    #[test]
    fn a_least_time_that_is_nearly_met_again_and_again_stays_about_the_base() {
        let mut random = Random::named(1, "jitter");
        let mut hop = Hop::new(Settings { by_size: true, window: Some(MS * 200) });
        for n in 0..2000 {
            let queue = if n % 50 < 5 { Span::ZERO } else { MS * 10 };
            let delay = hop.took(1100, MS * 20 + queue + Span::from_nanos(u64::from(random.below(300_000))));
            assert!(n < 100 || delay.as_millis_f64() >= queue.as_millis_f64() - 0.3, "{n}: {delay}");
        }
    }

    #[test]
    fn a_window_without_data_leaves_the_base_and_a_single_sample_is_none() {
        let mut hop = Hop::new(Settings { by_size: true, window: Some(MS * 100) });
        hop.took_often(300, 1100, MS * 20);
        hop.now += MS * 10_000;
        assert_eq!(hop.took(1100, MS * 40), MS * 20);
        assert_eq!(hop.took(1100, MS * 40), MS * 20);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn whatever_comes_the_base_is_below_every_least_time_and_no_line_is_absurd(
            samples in prop::collection::vec((0_u64..10_000, any::<u64>(), 0_u64..4), 1..200),
            window in any::<bool>(),
        ) {
            let window = window.then_some(MS * 50);
            let mut hop = Hop::new(Settings { by_size: true, window });
            for (size, rtt, shift) in samples {
                let rtt = Span::from_nanos((rtt >> (16 * shift)).max(1));
                let delay = hop.took(size, rtt);
                prop_assert!(delay <= rtt);
                let BaseRtt { slope, constant, classes, .. } = &hop.base;
                prop_assert!(classes.len() <= SIZES);
                prop_assert!(slope.is_finite() && *slope >= 0.0 && constant.is_finite());
                let most = classes.iter().map(|class| class.least.rtt).fold(0.0, f64::max);
                prop_assert!(most.is_finite());
                prop_assert!(*constant >= -1e-9 * most);
                for (place, Class { least, .. }) in classes.iter().enumerate() {
                    prop_assert!(hop.base.base(place, least.size) <= least.rtt);
                }
            }
        }

        #[test]
        fn with_some_idle_data_of_each_size_the_delay_is_that_of_the_queue(seed: u64) {
            let mut random = Random::named(seed, "sizes");
            let mut hop = Hop::new(PAPER);
            let sizes = [300, 1100, 4000];
            sizes.iter().for_each(|&size| hop.took_often(3, size, idle(size)));
            for _ in 0..200 {
                let (size, queue) = (sizes[random.below(3) as usize], MS * u64::from(random.below(50)));
                let delay = hop.took(size, idle(size) + queue);
                prop_assert!((delay.as_millis_f64() - queue.as_millis_f64()).abs() < 0.001);
            }
        }
    }
}
