//! The consumer: finds paths, and paces Interests over each of them in two classes.
//!
//! ```text
//!   every ~100 ms: Interest with a fresh random label --> Data with an unknown label --> a new path
//!   each path:     primary pacer at R_p·max R_p/ΣR_p, secondary pacer at R_s
//!   no path:       a window (`unrated_window.rs`)
//! ```
//!
//! All primary Interests together have the rate of the best path. Secondary Interests take what others leave. The pacer
//! that is due sends the next segment. A Data without rates identifies no path.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};

use super::Settings;
use super::rates::Class;
use super::signals::{PRIMARY_RATE, RATE_CLASS, SECONDARY_RATE};
use super::unrated_window::UnratedWindow;
use crate::pacing::{self, Pacer};
use crate::path_label::{PATH_LABEL, PathLabel};

/// The largest number of paths. A new path replaces the one that has been silent for longest.
const PATHS: usize = 32;
/// Upper bound of a rate in a Data, bit/s: 100 Gb/s.
const LARGEST_RATE: u64 = 100_000_000_000;
const CLASSES: [Class; 2] = [Class::Primary, Class::Secondary];

/// A path that was found by an Interest with the label `steering`.
#[derive(Clone, Copy, Debug)]
struct Path {
    label: PathLabel,
    steering: u32,
    /// R_p and R_s of the path's latest Data, bit/s.
    told: [u64; 2],
    heard_at: Time,
    /// The pacers of the two classes.
    due: [Pacer; 2],
    /// The credit of this path for a greedy source, Interests.
    credit: f64,
}

/// The next action that is due.
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
    unrated_window: UnratedWindow,
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
            unrated_window: UnratedWindow::new(settings.unknown_capacity),
        }
    }

    fn size(&self, expected: Bytes) -> Bytes {
        if expected == Bytes::ZERO { self.usual_size } else { expected }
    }

    /// Returns the rate of a path and class, bit/s.
    fn rate(&self, path: &Path, class: Class) -> f64 {
        match class {
            Class::Primary => path.told[0] as f64 * self.share,
            Class::Secondary => path.told[1] as f64,
        }
    }

    /// Returns the time between two Interests. It is at most one second, so that the consumer learns of a
    /// higher rate.
    fn interval(&self, path: &Path, class: Class, size: Bytes) -> Span {
        let least = size.bits() as f64;
        Rate::from_bps_f64(self.rate(path, class).max(least)).time_for(size)
    }

    /// Returns the next action that is due. Of overdue actions, exploration comes first, and primary
    /// Interests second: a source that asks for less than all of its rates uses its primary ones.
    fn first_due(&self, now: Time) -> (Time, Due) {
        let mut first = (self.explore_at, Due::Exploration);
        for class in CLASSES {
            let dues = self.paths.iter().map(|path| path.due[class as usize].due());
            if let Some((place, due)) = dues.enumerate().min_by_key(|(_, due)| *due)
                && due.max(now) < first.0.max(now)
            {
                first = (due, Due::Path(place, class));
            }
        }
        first
    }

    /// Returns the path for a greedy source, which has its own pace. Its Interests are primary, and are divided
    /// among paths by R_p/ΣR_p.
    fn greedy_choice(&mut self, now: Time) -> Due {
        if self.explore_at <= now || self.paths.is_empty() {
            return Due::Exploration;
        }
        let chosen = pacing::deal(&mut self.paths, |path| path.told[0] as f64, |path| &mut path.credit);
        Due::Path(chosen, Class::Primary)
    }

    /// ΣR_p
    fn total_primary(&self) -> f64 {
        self.paths.iter().map(|path| path.told[0] as f64).sum()
    }

    /// Counts an Interest of a path and class that leaves. The next one is due an interval later.
    fn advance(&mut self, place: usize, class: Class, now: Time, size: Bytes) {
        let interval = self.interval(&self.paths[place], class, size);
        self.paths[place].due[class as usize].advance(now, interval);
    }

    /// Returns a new label, and gives up silent paths.
    fn explore(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        // The times are random: flows that started together would otherwise fill shapers together, for ever.
        self.explore_at = ev.now + self.exploration.scale(0.5 + ev.random.unit());
        let (now, memory) = (ev.now, self.path_memory);
        self.paths.retain(|path| now.since(path.heard_at) <= memory);
        self.share_primary(now, ev.expected_size);
        ev.random.next_u32()
    }

    /// Scales all R_p so that all primary rates together equal the best of them. Pacers that may now send
    /// sooner do so.
    fn share_primary(&mut self, now: Time, expected: Bytes) {
        let best = self.paths.iter().map(|path| path.told[0]).max().unwrap_or(0);
        let total = self.total_primary();
        self.share = if total > 0.0 { best as f64 / total } else { 1.0 };
        let size = self.size(expected);
        for place in 0..self.paths.len() {
            for class in CLASSES {
                let next = now + self.interval(&self.paths[place], class, size);
                self.paths[place].due[class as usize].hurry(next);
            }
        }
    }

    /// Returns the path of a Data. A Data with an unknown label creates the path of its Interest's label if
    /// that Interest explored. If its Interest used a known path, another path's Interest may have been
    /// answered.
    fn path_of(&mut self, label: PathLabel, steering: u32, now: Time) -> Option<&mut Path> {
        if let Some(place) = self.paths.iter().position(|path| path.label == label) {
            return Some(&mut self.paths[place]);
        }
        if self.paths.iter().any(|path| path.steering == steering) {
            return None;
        }
        self.unrated_window.reset();
        let path =
            Path { label, steering, told: [0; 2], heard_at: now, due: [Pacer::new(now); 2], credit: 0.0 };
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
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if self.paths.is_empty() && self.unrated_window.permits(ev.pending) {
            return Permit::Now;
        }
        Permit::At(self.first_due(ev.now).0)
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        let due = if ev.is_permitted { self.first_due(ev.now).1 } else { self.greedy_choice(ev.now) };
        let (steering, class) = match due {
            Due::Exploration => (self.explore(ev), Class::Primary),
            Due::Path(place, class) => {
                let size = self.size(ev.expected_size);
                self.advance(place, class, ev.now, size);
                (self.paths[place].steering, class)
            }
        };
        let signals = &mut ev.interest.header_mut().signals;
        signals.set(&PATH_LABEL, u64::from(steering));
        signals.set(&RATE_CLASS, class.value());
        steering
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        let signals = &ev.data.header().signals;
        let Some(primary) = signals.value(&PRIMARY_RATE) else {
            if self.paths.is_empty() {
                self.unrated_window.on_data(ev, self.size(ev.expected_size));
            }
            return;
        };
        let secondary = signals.value(&SECONDARY_RATE).unwrap_or(0);
        let told = [primary, secondary].map(|rate| rate.min(LARGEST_RATE));
        let Some(path) = self.path_of(PathLabel::of(ev.data), ev.tag, ev.now) else { return };
        path.heard_at = ev.now;
        // Links change their rates once a period, with many Data in between.
        if core::mem::replace(&mut path.told, told) != told {
            self.share_primary(ev.now, ev.expected_size);
        }
    }

    /// If routers report rates, a loss changes none of them. If none does, a loss is the only signal.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if self.paths.is_empty() {
            self.unrated_window.on_loss(ev);
        }
    }

    fn gauge(&self) -> Gauge {
        if self.paths.is_empty() {
            return Gauge::Window(self.unrated_window.window());
        }
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
        pending: u32,
        is_permitted: bool,
    }

    impl Bench {
        fn new() -> Bench {
            let params = weir_core::seam::params::Params::resolve(Settings::PARAMETERS, []).unwrap();
            let consumer = Consumer::new(&Settings::new(&params));
            let (random, now) = (Random::named(1, "flow"), Time::from_nanos(1));
            Bench { consumer, random, now, pending: 0, is_permitted: true }
        }

        /// Returns the time at which the next Interest may leave.
        fn permit(&mut self) -> Time {
            let (now, pending, random) = (self.now, self.pending, &mut self.random);
            match self.consumer.permit(&mut PermitEvent { now, pending, expected_size: SIZE, random }) {
                Permit::Now => now,
                Permit::At(time) => time,
                Permit::Blocked => Time::NEVER,
            }
        }

        /// Sends an Interest. Returns its label and class.
        fn send(&mut self) -> (u32, u64) {
            let mut interest = Packet::default();
            let tag = self.consumer.on_send(&mut SendEvent {
                now: self.now,
                interest: &mut interest,
                segment: 0,
                retransmission: false,
                is_permitted: self.is_permitted,
                pending: self.pending,
                expected_size: SIZE,
                random: &mut self.random,
            });
            self.pending += 1;
            let signals = &interest.header().signals;
            assert_eq!(signals.value(&PATH_LABEL), Some(u64::from(tag)));
            (tag, signals.value(&RATE_CLASS).unwrap())
        }

        /// Delivers a Data with these rates by the path of this face.
        fn data(&mut self, face: u32, tag: u32, (primary, secondary): (u64, u64)) {
            let mut data = Packet::default();
            crate::path_label::note_arrival(&mut data, FaceId(face));
            data.header_mut().signals.set(&PRIMARY_RATE, primary);
            data.header_mut().signals.set(&SECONDARY_RATE, secondary);
            self.receive(&data, tag, Span::ZERO);
        }

        /// Delivers a Data without rates.
        fn unrated_window(&mut self, srtt: Span) {
            self.receive(&Packet::default(), 0, srtt);
        }

        fn receive(&mut self, data: &Packet, tag: u32, srtt: Span) {
            self.pending = self.pending.saturating_sub(1);
            self.consumer.on_data(&mut DataReceived {
                now: self.now,
                data,
                segment: 0,
                rtt: None,
                srtt: Some(srtt),
                bases: None,
                tag,
                was_pending: true,
                pending: self.pending,
                highest_sent: 0,
                oldest_missing: 0,
                lost: 0..0,
                expected_size: SIZE,
                random: &mut self.random,
            });
        }

        fn lose(&mut self, segment: u64, highest_sent: u64) {
            self.pending = self.pending.saturating_sub(1);
            let (now, tag, pending, random) = (self.now, 0, self.pending, &mut self.random);
            self.consumer.on_timeout(&mut LossEvent { now, segment, tag, pending, highest_sent, random });
        }

        /// Returns how many Interests may leave now.
        fn burst(&mut self) -> usize {
            let before = self.pending;
            while self.permit() <= self.now {
                self.send();
            }
            (self.pending - before) as usize
        }

        /// Returns the label and class of each Interest until `until`, each sent when it is due.
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

    /// Returns a consumer with two paths of 6 and 3 Mb/s and the labels 10 and 20.
    fn two_paths() -> Bench {
        let mut bench = Bench::new();
        bench.send();
        bench.data(1, 10, (6_000_000, 1_000_000));
        bench.data(2, 20, (3_000_000, 500_000));
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
        // With 8000 bits each: 6·6/9, 3·6/9, 1 and 0.5 Mb/s.
        for (label, class, expected) in [(10, 1, 500.0), (20, 1, 250.0), (10, 2, 125.0), (20, 2, 62.5)] {
            let seen = count(label, class);
            assert!((seen - expected).abs() <= 2.0, "{label} {class}: {seen} of {expected}");
        }
    }

    #[test]
    fn a_higher_rate_shortens_the_wait_that_has_begun() {
        let mut bench = Bench::new();
        bench.send();
        bench.data(1, 10, (8_000, 0));
        bench.now += Span::from_millis(1);
        bench.run(bench.now);
        bench.data(1, 10, (8_000_000, 0));
        let (now, due) = (bench.now, bench.consumer.paths[0].due[0].due());
        assert_eq!(due, now + Span::from_millis(1));
    }

    #[test]
    fn only_an_exploring_label_makes_a_path() {
        let mut bench = two_paths();
        bench.data(3, 10, (1_000_000, 0));
        assert_eq!(bench.consumer.paths.len(), 2);
        bench.data(3, 30, (1_000_000, 0));
        assert_eq!(bench.consumer.paths.len(), 3);
    }

    #[test]
    fn a_path_that_is_not_heard_of_is_given_up() {
        let mut bench = two_paths();
        for _ in 0..30 {
            bench.now += Span::from_millis(100);
            bench.data(1, 10, (6_000_000, 0));
            bench.run(bench.now);
        }
        assert_eq!(bench.consumer.paths.len(), 1);
        assert!((bench.consumer.share - 1.0).abs() < 1e-12);
    }

    #[test]
    fn strange_labels_take_bounded_room() {
        let mut bench = Bench::new();
        (0..1000).for_each(|n| bench.data(n, n, (1_000, 0)));
        assert_eq!(bench.consumer.paths.len(), PATHS);
    }

    #[test]
    fn a_greedy_source_sends_primary_interests_in_proportion_to_the_rates() {
        let mut bench = two_paths();
        bench.is_permitted = false;
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
        // In 720 ms about seven Interests explore.
        assert!((5..=10).contains(&counts[2]), "{counts:?}");
        assert!((counts[0] - 2 * counts[1]).abs() <= 3, "{counts:?}");
    }

    #[test]
    fn a_source_that_asks_for_less_asks_by_its_primary_rates() {
        let mut bench = two_paths();
        for _ in 0..200 {
            bench.now += Span::from_millis(5);
            let (_, class) = bench.send();
            assert_eq!(class, 1);
        }
    }

    #[test]
    fn what_overdue_pacers_did_not_send_is_not_made_up_for() {
        let mut bench = two_paths();
        bench.run(bench.now);
        bench.now += Span::from_secs(1);
        // Each of four pacers has the Interest that is due and the one before it; and one explores.
        assert_eq!(bench.burst(), 9);
    }

    #[test]
    fn data_of_the_own_content_store_make_no_path_and_let_one_interest_follow_another() {
        let mut bench = Bench::new();
        for _ in 0..2000 {
            assert_eq!(bench.burst(), 1);
            bench.unrated_window(Span::ZERO);
        }
        assert!(bench.consumer.paths.is_empty());
        assert_eq!(bench.consumer.gauge(), Gauge::Window(1.0));
    }

    #[test]
    fn data_without_rates_change_nothing_where_others_say_them() {
        let mut bench = two_paths();
        let (paths, told) = (bench.consumer.paths.clone(), bench.consumer.gauge());
        (0..100).for_each(|_| bench.unrated_window(Span::from_millis(50)));
        assert_eq!(bench.consumer.gauge(), told);
        assert_eq!(bench.consumer.paths.len(), paths.len());
        bench.lose(7, 9);
        assert_eq!(bench.consumer.gauge(), told);
        // Paths are forgotten 2 s after the last Data.
        bench.now += Span::from_secs(3);
        bench.send();
        assert_eq!(bench.consumer.gauge(), Gauge::Window(1.0));
    }

    #[test]
    fn where_nobody_says_a_rate_a_window_grows_by_one_a_round_trip_and_halves_once_in_one() {
        let mut bench = Bench::new();
        let rtt = Span::from_millis(50);
        for trip in 0..20 {
            bench.now += rtt;
            let window = bench.pending as usize + bench.burst();
            assert!(window.abs_diff(trip + 1) <= 2, "{window} in round trip {trip}");
            (0..window).for_each(|_| bench.unrated_window(rtt));
        }
        bench.burst();
        let Gauge::Window(before) = bench.consumer.gauge() else { panic!("no path is known") };
        // Three of the 100 to 119 pending Interests are lost, and then one that was sent later.
        (100..103).for_each(|segment| bench.lose(segment, 119));
        assert_eq!(bench.consumer.gauge(), Gauge::Window(before / 2.0));
        bench.lose(120, 130);
        assert_eq!(bench.consumer.gauge(), Gauge::Window(before / 4.0));
    }

    /// At 100 Mb/s, 125 Data of 8000 bits arrive in 10 ms.
    #[test]
    fn the_window_grows_to_no_more_than_a_face_without_a_rate_is_taken_for() {
        let mut bench = Bench::new();
        (0..100_000).for_each(|_| bench.unrated_window(Span::from_millis(10)));
        let Gauge::Window(window) = bench.consumer.gauge() else { panic!("no path is known") };
        assert!((125.0..126.0).contains(&window), "{window}");
    }
}
