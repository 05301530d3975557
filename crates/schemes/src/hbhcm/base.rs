//! The base RTT of a hop, section III-C: the least that Interest and Data take, by the size of the Data.
//!
//! > b = p·W + c
//!
//! with p the size of the Data, W the sum of 1/w_u over the links u below the hop, and c what does not depend on the
//! size. W and c are fitted by linear regression to the least round-trip time of each size that came, each as often as it
//! came. Of one size it is that least time alone.
//!
//! A least time has its queueing too until a Data came that met none. So W is not below zero, nor so large that c
//! would be; and where the line is above the least time of a size, that is the base: no Data takes less.

use smallvec::SmallVec;
use weir_core::units::{Bytes, Span, Time};

/// Sizes that differ by no more are one, bytes: lengths of header fields vary by that much.
const SAME_SIZE: f64 = 64.0;

/// So many sizes are told apart. They come from strangers; what is beyond counts as the one next to it.
const SIZES: usize = 16;

/// Its parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Whether sizes are told apart.
    pub(super) by_size: bool,
    /// For how long a least time holds; `None`: for ever.
    pub(super) window: Option<Span>,
}

/// The least time that Data of a size took.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// p, bytes.
    size: f64,
    /// b, nanoseconds.
    rtt: f64,
    /// When it was measured last.
    at: Time,
    /// How many Data were of this size.
    count: f64,
}

/// The base RTT of one hop.
#[derive(Clone, Debug)]
pub(super) struct BaseRtt {
    settings: Settings,
    least: SmallVec<[Least; 2]>,
    /// The place of the size that came last: mostly it comes again.
    last: usize,
    /// W, nanoseconds a byte.
    slope: f64,
    /// c, nanoseconds.
    constant: f64,
}

impl BaseRtt {
    /// Of a hop of which nothing is known.
    pub(super) fn new(settings: Settings) -> BaseRtt {
        BaseRtt { settings, least: SmallVec::new(), last: 0, slope: 0.0, constant: 0.0 }
    }

    /// A Data of this size took this long over the hop. The part of it that it spent in queues, (4).
    pub(super) fn queueing_delay(&mut self, now: Time, size: Bytes, hop_rtt: Span) -> Span {
        let size = if self.settings.by_size { size.as_u64() as f64 } else { 0.0 };
        let rtt = hop_rtt.as_nanos() as f64;
        self.note(Least { size, rtt, at: now, count: 1.0 });
        hop_rtt.saturating_sub(Span::from_nanos(self.base(self.last, size) as u64))
    }

    /// b of a size that has its least time at this place.
    fn base(&self, place: usize, size: f64) -> f64 {
        let known = &self.least[place];
        (size * self.slope + self.constant).min(known.rtt + self.slope * (size - known.size)).max(0.0)
    }

    fn note(&mut self, sample: Least) {
        let Some(place) = self.place_of(sample.size) else {
            self.last = self.least.len();
            self.least.push(sample);
            return self.fit();
        };
        self.last = place;
        let known = &mut self.least[place];
        known.count += 1.0;
        let more = (sample.rtt - known.rtt) - self.slope * (sample.size - known.size);
        if more < 0.0 || self.settings.window.is_some_and(|window| sample.at > known.at + window) {
            *known = Least { count: known.count, ..sample };
            self.fit();
        } else if more == 0.0 {
            known.at = sample.at;
        }
    }

    /// The place of a size; `None` if it is new and there is room.
    fn place_of(&self, size: f64) -> Option<usize> {
        let distance = |least: &Least| (least.size - size).abs();
        if self.least.get(self.last).is_some_and(|least| distance(least) <= SAME_SIZE) {
            return Some(self.last);
        }
        let places = 0..self.least.len();
        let nearest =
            places.min_by(|&a, &b| distance(&self.least[a]).total_cmp(&distance(&self.least[b])))?;
        (distance(&self.least[nearest]) <= SAME_SIZE || self.least.len() == SIZES).then_some(nearest)
    }

    /// W and c by least squares, within what they can be.
    fn fit(&mut self) {
        let count = self.least.iter().map(|least| least.count).sum::<f64>();
        let mean_of = |value: fn(&Least) -> f64| {
            self.least.iter().map(|least| least.count * value(least)).sum::<f64>() / count
        };
        let (mean_size, mean_rtt) = (mean_of(|least| least.size), mean_of(|least| least.rtt));
        let (mut spread, mut joint) = (0.0, 0.0);
        for least in &self.least {
            let apart = least.count * (least.size - mean_size);
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

        /// A Data; its queueing delay.
        fn took(&mut self, size: u64, rtt: Span) -> Span {
            self.now += MS;
            self.base.queueing_delay(self.now, Bytes::new(size), rtt)
        }
    }

    /// 20 ms and 0.8 µs a byte, 10 Mb/s.
    fn idle(size: u64) -> Span {
        MS * 20 + Span::from_nanos(800 * size)
    }

    #[test]
    fn the_least_is_the_base_and_what_is_more_is_queueing() {
        let mut hop = Hop::new(PAPER);
        assert_eq!(hop.took(1100, MS * 30), Span::ZERO, "the first is all that is known");
        assert_eq!(hop.took(1100, MS * 37), MS * 7);
        assert_eq!(hop.took(1100, MS * 25), Span::ZERO);
        assert_eq!(hop.took(1100, MS * 37), MS * 12);
    }

    #[test]
    fn regression_recovers_w_and_c_from_two_sizes_and_from_ten() {
        for sizes in [&[200, 1100][..], &[100, 300, 900, 1500, 2200, 3000, 4096, 6000, 7500, 8800]] {
            let mut hop = Hop::new(PAPER);
            for more in [3, 0, 9] {
                for &size in sizes {
                    hop.took(size, idle(size) + MS * more);
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
            // The line is drawn to what waited too, by a third of it if all came as often.
            assert!(n == 0 || (6.0..7.0).contains(&delay.as_millis_f64()), "{delay}");
        }
    }

    /// At 1 Mb/s 1000 bytes are 8 ms, more than the target.
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

    /// It was seen once, behind others.
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
        assert_eq!(hop.base.least.len(), 1);
        assert_eq!(hop.base.slope, 0.0);
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

    #[test]
    fn a_least_time_that_is_met_again_and_again_does_not_end() {
        let mut hop = Hop::new(Settings { by_size: true, window: Some(MS * 100) });
        for n in 0..1000 {
            hop.took(1100, if n % 50 == 0 { MS * 20 } else { MS * 30 });
        }
        assert_eq!(hop.took(1100, MS * 30), MS * 10);
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
                let BaseRtt { slope, constant, least, .. } = &hop.base;
                prop_assert!(least.len() <= SIZES);
                prop_assert!(slope.is_finite() && *slope >= 0.0 && constant.is_finite());
                let most = least.iter().map(|least| least.rtt).fold(0.0, f64::max);
                prop_assert!(*constant >= -1e-9 * most);
                for (place, least) in least.iter().enumerate() {
                    prop_assert!(hop.base.base(place, least.size) <= least.rtt);
                }
            }
        }

        #[test]
        fn with_some_idle_data_of_each_size_the_delay_is_that_of_the_queue(seed: u64) {
            let mut random = Random::named(seed, "sizes");
            let mut hop = Hop::new(PAPER);
            let sizes = [300, 1100, 4000];
            sizes.iter().for_each(|&size| hop.took_often(1, size, idle(size)));
            for _ in 0..200 {
                let (size, queue) = (sizes[random.below(3) as usize], MS * u64::from(random.below(50)));
                let delay = hop.took(size, idle(size) + queue);
                prop_assert!((delay.as_millis_f64() - queue.as_millis_f64()).abs() < 0.001);
            }
        }
    }
}
