//! The consumer: finds paths, and paces Interests over each of them in two classes.
//!
//! ```text
//!   every ~100 ms: Interest with a fresh random label --> Data with an unknown label --> a new path
//!   each path:     primary pacer at R_p·max R_p/ΣR_p, secondary pacer at R_s
//! ```
//!
//! All primary Interests together make up the rate of the best path; secondary ones take what others
//! leave. Whichever pacer is due sends the next segment.

use weir_core::scheme::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use super::Settings;
use super::rates::Class;
use crate::path_label::PathLabel;

/// More paths are not kept: the one not heard of for longest makes room.
const PATHS: usize = 32;
/// Where nothing says what a rate is: what it is at least, and at most, bit/s.
const FIRST_RATE: f64 = 10_000.0;
const LARGEST_RATE: f64 = 1e11;
/// By how much a rate that nobody limits grows with a Data.
const GROWTH: f64 = 1.2;
const CLASSES: [Class; 2] = [Class::Primary, Class::Secondary];

/// A path, found by an Interest that had `steering` for a label.
#[derive(Clone, Copy, Debug)]
struct Path {
    label: PathLabel,
    steering: u32,
    /// R_p and R_s of its latest Data, bit/s.
    told: [f64; 2],
    /// Whether that Data said them.
    is_told: bool,
    heard_at: Time,
    /// When the next Interest of each class is due.
    due: [Time; 2],
    /// How far a greedy source is behind on this path, Interests.
    credit: f64,
}

/// What is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Exploration,
    Path(usize, Class),
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct Consumer {
    exploration: Span,
    path_memory: Span,
    usual_size: Bytes,
    paths: Vec<Path>,
    /// max R_p/ΣR_p
    share: f64,
    explore_at: Time,
    /// Whether the next Interest leaves by permit. If not, its source is greedy.
    permitted: bool,
}

impl Consumer {
    pub(super) fn new(settings: &Settings) -> Consumer {
        Consumer {
            exploration: settings.exploration,
            path_memory: settings.path_memory,
            usual_size: Bytes::new(settings.data_bits / 8),
            paths: Vec::new(),
            share: 1.0,
            explore_at: Time::ZERO,
            permitted: false,
        }
    }

    fn size(&self, expected: Bytes) -> Bytes {
        if expected == Bytes::ZERO { self.usual_size } else { expected }
    }

    /// The rate of a path and class, bit/s; an Interest a second at least, or it would never hear of a
    /// better one.
    fn rate(&self, path: &Path, class: Class) -> f64 {
        match class {
            Class::Primary => path.told[0] * self.share,
            Class::Secondary => path.told[1],
        }
    }

    fn interval(&self, path: &Path, class: Class, size: Bytes) -> Span {
        let least = size.bits() as f64;
        Rate::from_bps_f64(self.rate(path, class).max(least)).time_for(size)
    }

    fn first_due(&self) -> (Time, Due) {
        let mut first = (self.explore_at, Due::Exploration);
        for (place, path) in self.paths.iter().enumerate() {
            for class in CLASSES {
                let due = path.due[class as usize];
                if due < first.0 {
                    first = (due, Due::Path(place, class));
                }
            }
        }
        first
    }

    /// A greedy source has its own pace: its Interests are primary, and go by R_p/ΣR_p.
    fn greedy_choice(&mut self, now: Time) -> Due {
        let total: f64 = self.paths.iter().map(|path| path.told[0]).sum();
        if self.explore_at <= now || self.paths.is_empty() {
            return Due::Exploration;
        }
        let mut chosen = 0;
        for place in 0..self.paths.len() {
            let path = &mut self.paths[place];
            path.credit = (path.credit + path.told[0] / total.max(1.0)).clamp(-1.0, 1.0);
            if path.credit > self.paths[chosen].credit {
                chosen = place;
            }
        }
        self.paths[chosen].credit -= 1.0;
        Due::Path(chosen, Class::Primary)
    }

    /// An Interest of a path and class leaves: the next one is due an interval later. Who is called late makes up for
    /// one interval.
    fn advance(&mut self, place: usize, class: Class, now: Time, size: Bytes) {
        let interval = self.interval(&self.paths[place], class, size);
        let due = &mut self.paths[place].due[class as usize];
        *due = (*due).max(now - interval) + interval;
    }

    /// A fresh label; paths that are not heard of are given up.
    fn explore(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        // Not at equal times: flows that began together would fill shapers together, for ever.
        self.explore_at = ev.now + self.exploration.scale(0.5 + ev.random.unit());
        let (now, memory) = (ev.now, self.path_memory);
        self.paths.retain(|path| now.since(path.heard_at) <= memory);
        self.share_primary(now, ev.expected_size);
        ev.random.next_u32()
    }

    /// The share of each R_p that makes all primary rates together the best of them; and who may send
    /// sooner than it was to, does.
    fn share_primary(&mut self, now: Time, expected: Bytes) {
        let best = self.paths.iter().map(|path| path.told[0]).fold(0.0, f64::max);
        let total: f64 = self.paths.iter().map(|path| path.told[0]).sum();
        self.share = if total > 0.0 { best / total } else { 1.0 };
        let size = self.size(expected);
        for place in 0..self.paths.len() {
            for class in CLASSES {
                let next = now + self.interval(&self.paths[place], class, size);
                let due = &mut self.paths[place].due[class as usize];
                *due = (*due).min(next);
            }
        }
    }

    /// The path of a Data. One with an unknown label is that of the label that its Interest had, if that
    /// was drawn to explore: that of a known path may have been answered by another's.
    fn path_of(&mut self, label: PathLabel, steering: u32, now: Time) -> Option<&mut Path> {
        if let Some(place) = self.paths.iter().position(|path| path.label == label) {
            return Some(&mut self.paths[place]);
        }
        if self.paths.iter().any(|path| path.steering == steering) {
            return None;
        }
        let due = [now; 2];
        let path = Path { label, steering, told: [0.0; 2], is_told: false, heard_at: now, due, credit: 0.0 };
        if self.paths.len() < PATHS {
            self.paths.push(path);
            return self.paths.last_mut();
        }
        let oldest = self.paths.iter_mut().min_by_key(|path| path.heard_at)?;
        *oldest = path;
        Some(oldest)
    }
}

impl FlowControl for Consumer {
    fn permit(&mut self, _ev: &mut PermitEvent<'_>) -> Permit {
        self.permitted = true;
        Permit::At(self.first_due().0)
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let permitted = core::mem::replace(&mut self.permitted, false);
        let due = if permitted { self.first_due().1 } else { self.greedy_choice(ev.now) };
        let (steering, class) = match due {
            Due::Exploration => (self.explore(ev), Class::Primary),
            Due::Path(place, class) => {
                let size = self.size(ev.expected_size);
                self.advance(place, class, ev.now, size);
                (self.paths[place].steering, class)
            }
        };
        let signals = &mut ev.interest.header_mut().signals;
        signals.set(Signal::PathLabel, u64::from(steering));
        signals.set(Signal::RateClass, class.value());
        steering
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        let signals = &ev.data.header().signals;
        let told = [Signal::PrimaryRate, Signal::SecondaryRate].map(|signal| signals.value(signal));
        let Some(path) = self.path_of(PathLabel::of(ev.data), ev.tag, ev.now) else { return };
        path.heard_at = ev.now;
        path.is_told = told[0].is_some();
        let before = path.told;
        path.told = match told {
            // A Data that met no router that limits it.
            [None, _] => [(GROWTH * path.told[0]).clamp(FIRST_RATE, LARGEST_RATE), 0.0],
            told => told.map(|rate| (rate.unwrap_or(0) as f64).min(LARGEST_RATE)),
        };
        // Links change their rates once in a period, and many Data come between.
        if path.told.map(f64::to_bits) != before.map(f64::to_bits) {
            self.share_primary(ev.now, ev.expected_size);
        }
    }

    /// Where routers say the rates, loss changes none. Where nobody does, it is all there is to go by.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(path) = self.paths.iter_mut().find(|path| path.steering == ev.tag && !path.is_told) {
            path.told[0] = (path.told[0] / 2.0).max(FIRST_RATE);
        }
    }

    fn gauge(&self) -> Gauge {
        let rate = self.paths.iter().flat_map(|path| CLASSES.map(|class| self.rate(path, class))).sum();
        Gauge::Rate(Rate::from_bps_f64(rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::ids::FaceId;
    use weir_core::packet::Packet;
    use weir_core::random::Random;

    const SIZE: Bytes = Bytes::new(1000);

    struct Bench {
        consumer: Consumer,
        random: Random,
        now: Time,
    }

    impl Bench {
        fn new() -> Bench {
            let params = weir_core::params::Params::resolve(super::super::PARAMETERS, []).unwrap();
            let consumer = Consumer::new(&Settings::new(&params));
            Bench { consumer, random: Random::named(1, "flow"), now: Time::from_nanos(1) }
        }

        fn permit(&mut self) -> Time {
            let (now, random) = (self.now, &mut self.random);
            let mut ev = PermitEvent { now, pending: 0, expected_size: SIZE, random };
            match self.consumer.permit(&mut ev) {
                Permit::At(time) => time,
                other => panic!("{other:?}"),
            }
        }

        /// Sends an Interest; its label and class.
        fn send(&mut self) -> (u32, u64) {
            let mut interest = Packet::default();
            let tag = self.consumer.on_send(&mut SendEvent {
                now: self.now,
                interest: &mut interest,
                segment: 0,
                retransmission: false,
                pending: 0,
                expected_size: SIZE,
                random: &mut self.random,
            });
            let signals = &interest.header().signals;
            assert_eq!(signals.value(Signal::PathLabel), Some(u64::from(tag)));
            (tag, signals.value(Signal::RateClass).unwrap())
        }

        fn data(&mut self, face: u32, tag: u32, rates: Option<(u64, u64)>) {
            let mut data = Packet::default();
            crate::path_label::note_arrival(&mut data, FaceId(face));
            if let Some((primary, secondary)) = rates {
                data.header_mut().signals.set(Signal::PrimaryRate, primary);
                data.header_mut().signals.set(Signal::SecondaryRate, secondary);
            }
            self.consumer.on_data(&mut DataReceived {
                now: self.now,
                data: &data,
                segment: 0,
                rtt: None,
                srtt: None,
                tag,
                pending: 0,
                highest_sent: 0,
                expected_size: SIZE,
                random: &mut self.random,
            });
        }

        /// Interests by label and class until a time, each sent when it is due.
        fn run(&mut self, until: Time) -> Vec<(u32, u64)> {
            let mut sent = Vec::new();
            while self.permit() <= until {
                self.now = self.now.max(self.permit());
                sent.push(self.send());
            }
            self.now = until;
            sent
        }
    }

    /// Two paths of 6 and 3 Mb/s with the labels 10 and 20.
    fn two_paths() -> Bench {
        let mut bench = Bench::new();
        bench.permit();
        bench.send();
        bench.data(1, 10, Some((6_000_000, 1_000_000)));
        bench.data(2, 20, Some((3_000_000, 500_000)));
        bench
    }

    #[test]
    fn before_there_is_a_path_interests_explore_every_100_ms_or_so() {
        let mut bench = Bench::new();
        let sent = bench.run(Time::ZERO + Span::from_millis(1001));
        assert!((8..=14).contains(&sent.len()), "{}", sent.len());
        assert!(sent.iter().all(|(_, class)| *class == 1));
        assert!(sent.windows(2).all(|pair| pair[0].0 != pair[1].0), "each has a fresh label");
    }

    #[test]
    fn primary_rates_add_up_to_the_best_path_and_secondary_ones_are_as_told() {
        let mut bench = two_paths();
        let sent = bench.run(bench.now + Span::from_secs(1));
        let count = |label, class| sent.iter().filter(|sent| **sent == (label, class)).count() as f64;
        // 8000 bits each: 6·6/9, 3·6/9, 1 and 0.5 Mb/s.
        for (label, class, expected) in [(10, 1, 500.0), (20, 1, 250.0), (10, 2, 125.0), (20, 2, 62.5)] {
            let seen = count(label, class);
            assert!((seen - expected).abs() <= 2.0, "{label} {class}: {seen} of {expected}");
        }
    }

    #[test]
    fn a_higher_rate_shortens_the_wait_that_has_begun() {
        let mut bench = Bench::new();
        bench.permit();
        bench.send();
        bench.data(1, 10, Some((8_000, 0)));
        bench.now += Span::from_millis(1);
        bench.run(bench.now);
        bench.data(1, 10, Some((8_000_000, 0)));
        let (now, due) = (bench.now, bench.consumer.paths[0].due[0]);
        assert_eq!(due, now + Span::from_millis(1));
    }

    #[test]
    fn only_an_exploring_label_makes_a_path() {
        let mut bench = two_paths();
        bench.data(3, 10, Some((1_000_000, 0)));
        assert_eq!(bench.consumer.paths.len(), 2);
        bench.data(3, 30, Some((1_000_000, 0)));
        assert_eq!(bench.consumer.paths.len(), 3);
    }

    #[test]
    fn a_path_that_is_not_heard_of_is_given_up() {
        let mut bench = two_paths();
        for _ in 0..30 {
            bench.now += Span::from_millis(100);
            bench.data(1, 10, Some((6_000_000, 0)));
            bench.run(bench.now);
        }
        assert_eq!(bench.consumer.paths.len(), 1);
        assert!((bench.consumer.share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn strange_labels_take_bounded_room() {
        let mut bench = Bench::new();
        (0..1000).for_each(|n| bench.data(n, n, Some((1_000, 0))));
        assert_eq!(bench.consumer.paths.len(), PATHS);
    }

    #[test]
    fn a_greedy_source_sends_primary_interests_in_proportion_to_the_rates() {
        let mut bench = two_paths();
        let mut counts = [0_i32; 3];
        for _ in 0..900 {
            bench.now += Span::from_micros(800);
            let (label, class) = bench.send();
            assert_eq!(class, 1);
            counts[match label {
                10 => 0,
                20 => 1,
                _ => 2,
            }] += 1;
        }
        // 720 ms: about seven explore.
        assert!((5..=10).contains(&counts[2]), "{counts:?}");
        assert!((counts[0] - 2 * counts[1]).abs() <= 3, "{counts:?}");
    }

    #[test]
    fn without_rates_the_rate_grows_until_loss_halves_it() {
        let mut bench = Bench::new();
        (0..40).for_each(|_| bench.data(1, 10, None));
        let before = bench.consumer.paths[0].told[0];
        assert!(before > 5e6, "{before}");
        let (now, random) = (bench.now, &mut bench.random);
        let mut ev = LossEvent { now, segment: 0, tag: 10, pending: 0, highest_sent: 0, random };
        bench.consumer.on_timeout(&mut ev);
        assert!((bench.consumer.paths[0].told[0] - before / 2.0).abs() < 1.0);
    }
}
