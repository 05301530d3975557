//! The consumer, section 4 and Algorithm 3: the state of each reported queue, and Reno's window.
//!
//! ```text
//!   a Data with a mark of queue i:  Q_i[δ] or Q_i[r] = its value
//!                                   C of Q_i by CoDel with Q_i[δ]  (`codel.rs`)
//!                                   Mark, and with probability P_m = own rate / Q_i[r]: congestion
//! ```
//!
//! A router with CoDel would mark one packet of all that pass it. Each consumer runs CoDel as if all packets
//! were its own. So it accepts only its share of the signals: (3).
//!
//! CoDel in a router sees every packet of its queue. A consumer sees a queue only while it receives Data. After a pause
//! without Data it does not know whether the delay was above the target all the time. So CoDel starts again.

use weir_core::seam::DataReceived;
use weir_core::units::{Span, Time};

use super::codel::{self, Codel};
use super::mark::{Mark, Reading};
use crate::window::reno::{self, Reno};
use crate::window::{Configured, Congestion, WindowLaw};

/// The number of queues that a consumer remembers, the most recent ones: two paths of 64 hops.
const MOST_QUEUES: usize = 128;

/// The consumer's parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) codel: codel::Settings,
    pub(super) reno: reno::Settings,
    /// A longer queueing delay in slow start is congestion at once.
    pub(super) slow_start_limit: Option<Span>,
}

/// Q_i, (4).
#[derive(Clone, Copy, Debug)]
struct QueueState {
    /// C
    codel: Codel,
    /// r, bit/s; 0 if it is not known.
    rate: f64,
    /// δ
    delay: Span,
    /// The number of this queue's last mark.
    heard: u64,
}

/// Q: the state of each queue, by its id.
#[derive(Debug, Default)]
struct Queues {
    /// The ids, apart from the states, so that a search reads only ids.
    ids: Vec<u32>,
    states: Vec<QueueState>,
    /// The number of marks so far.
    heard: u64,
}

impl Queues {
    /// Returns the state of this queue, or a new state for an unknown queue. Beyond [`MOST_QUEUES`], it
    /// replaces the queue that has been silent for longest.
    fn of(&mut self, id: u32, settings: &codel::Settings) -> &mut QueueState {
        self.heard += 1;
        let heard = self.heard;
        let fresh = QueueState { codel: Codel::new(settings), rate: 0.0, delay: Span::ZERO, heard };
        let at = match self.ids.iter().position(|known| *known == id) {
            Some(at) => at,
            None if self.ids.len() < MOST_QUEUES => {
                self.ids.push(id);
                self.states.push(fresh);
                self.ids.len() - 1
            }
            None => {
                let oldest = (0..MOST_QUEUES).min_by_key(|at| self.states[*at].heard).unwrap_or(0);
                (self.ids[oldest], self.states[oldest]) = (id, fresh);
                oldest
            }
        };
        self.states[at].heard = heard;
        &mut self.states[at]
    }

    /// Resets the state that may be out of date: each delay, and the time above the target. The rates stay, because a
    /// rate of 0 would end all signals.
    fn begin_anew(&mut self, settings: &codel::Settings) {
        for queue in &mut self.states {
            (queue.codel, queue.delay) = (Codel::new(settings), Span::ZERO);
        }
    }
}

/// The law of the window.
#[derive(Debug)]
pub(super) struct AqmWindow {
    settings: Settings,
    reno: Reno,
    queues: Queues,
    /// The arrival time of the last Data.
    data_at: Option<Time>,
    /// The time of the last reaction to a mark that does not report a queue's state.
    plain_mark_at: Option<Time>,
}

impl AqmWindow {
    /// SIGNALSCONGESTION, Algorithm 3.
    fn signals_congestion(&mut self, ev: &mut DataReceived<'_>, mark: Mark) -> bool {
        let settings = &self.settings;
        let queue = self.queues.of(mark.queue, &settings.codel);
        match mark.reading {
            Reading::Delay(delay) => queue.delay = delay,
            Reading::Rate(rate) => queue.rate = rate,
        }
        let due = queue.codel.update(&settings.codel, ev.now, queue.delay);
        let packets = in_use(self.reno.window(), ev.pending);
        let packet_bits = ev.expected_size.bits() as f64;
        if let Some(limit) = settings.slow_start_limit
            && self.reno.is_in_slow_start()
            && queue.delay > limit
        {
            return true;
        }
        let part = own_part(packets * packet_bits, ev.srtt, queue.rate);
        due > 0 && ev.random.chance(at_least_one(due, part))
    }

    /// Resets state after a pause longer than the interval and a round trip together. With W = 1 a Data comes
    /// once in a round trip, which is not a pause.
    fn forget_after_a_pause(&mut self, now: Time, srtt: Option<Span>) {
        let Some(before) = self.data_at.replace(now) else { return };
        let codel = &self.settings.codel;
        if now.since(before) > codel.interval + srtt.unwrap_or(Span::ZERO) {
            self.queues.begin_anew(codel);
        }
    }

    /// Handles a mark of a router that does not run this scheme: congestion, at most once in a round trip.
    fn signals_plainly(&mut self, ev: &DataReceived<'_>) -> bool {
        let round_trip = ev.srtt.unwrap_or(Span::ZERO);
        let is_new = self.plain_mark_at.is_none_or(|before| ev.now.since(before) > round_trip);
        if is_new {
            self.plain_mark_at = Some(ev.now);
        }
        is_new
    }
}

/// Returns the packets of a round trip: W, while W is used. If an application uses less than half of W, W
/// does not grow, and the pending Interests determine the rate. `pending` excludes the Data that came.
fn in_use(window: f64, pending: u32) -> f64 {
    let used = f64::from(pending) + 1.0;
    if 2.0 * used < window { used } else { window }
}

/// Returns P_m, (3): this consumer's share of a queue's rate r, bit/s, with this number of bits in a round
/// trip. It is 0 while either is unknown. Values above 1 mean certainty.
fn own_part(window_bits: f64, srtt: Option<Span>, rate: f64) -> f64 {
    match srtt {
        Some(srtt) if rate > 0.0 && srtt > Span::ZERO => window_bits / srtt.as_secs_f64() / rate,
        _ => 0.0,
    }
}

/// Returns the probability that at least one of `marks` marks is this consumer's.
fn at_least_one(marks: u32, part: f64) -> f64 {
    match marks {
        1 => part,
        marks => 1.0 - (1.0 - part.min(1.0)).powf(f64::from(marks)),
    }
}

impl Configured for AqmWindow {
    type Settings = Settings;

    fn new(settings: Settings) -> AqmWindow {
        let (reno, queues) = (Reno::new(settings.reno), Queues::default());
        AqmWindow { settings, reno, queues, data_at: None, plain_mark_at: None }
    }
}

impl WindowLaw for AqmWindow {
    fn window(&self) -> f64 {
        self.reno.window()
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>, _packets: f64) {
        self.forget_after_a_pause(ev.now, ev.srtt);
    }

    fn is_marked(&mut self, ev: &mut DataReceived<'_>) -> bool {
        let field = ev.data.header().congestion_mark;
        match Mark::decode(field) {
            Some(mark) => self.signals_congestion(ev, mark),
            None => field != 0 && self.signals_plainly(ev),
        }
    }

    fn increase(&mut self, ev: &DataReceived<'_>, packets: f64) {
        self.reno.increase(ev, packets);
    }

    fn decrease(&mut self, congestion: &Congestion) {
        self.reno.decrease(congestion);
    }
}

#[cfg(test)]
mod tests {
    use super::super::codel::Form;
    use super::*;
    use crate::window::pipe;
    use crate::window::{Bounds, Signs, WindowFlow};
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::seam::{FlowControl, LossEvent, SendEvent};
    use weir_core::units::Bytes;

    const MS: Span = Span::from_millis(1);
    const BOTH: Signs = Signs { marks: true, losses: true };
    const SETTINGS: Settings = Settings {
        codel: codel::Settings {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            form: Form::Article,
        },
        reno: reno::Settings { beta: 0.5, bounds: Bounds { initial: 1.0, least: 1.0 } },
        slow_start_limit: None,
    };
    const SIZE: Bytes = Bytes::new(1100);
    const SRTT: Span = Span::from_millis(17);

    struct Bench {
        law: AqmWindow,
        random: Random,
        now: Time,
        srtt: Option<Span>,
        /// The number of pending Interests; `None`: as many as W allows.
        pending: Option<u32>,
        size: Bytes,
    }

    impl Bench {
        fn new(settings: Settings) -> Bench {
            let (law, random) = (AqmWindow::new(settings), Random::named(1, "bench"));
            Bench { law, random, now: Time::from_nanos(1), srtt: Some(SRTT), pending: None, size: SIZE }
        }

        /// A consumer in congestion avoidance with this window, packets.
        fn steady(window: u32) -> Bench {
            let mut bench = Bench::new(SETTINGS);
            let mut random = Random::named(1, "growth");
            let data = Packet::default();
            while bench.law.window() < f64::from(2 * window) {
                bench.law.increase(&pipe::data(&data, Time::ZERO, SRTT, &mut random), 1.0);
            }
            bench.law.decrease(&pipe::MARK);
            bench
        }

        /// Delivers a Data with this field, a millisecond after the last one. Returns whether it signals
        /// congestion.
        fn data(&mut self, field: u64) -> bool {
            let mut packet = Packet::default();
            packet.header_mut().congestion_mark = field;
            self.now += MS;
            let pending = self.pending.unwrap_or(self.law.window() as u32);
            let data = pipe::data(&packet, self.now, SRTT, &mut self.random);
            let mut data = DataReceived { srtt: self.srtt, expected_size: self.size, pending, ..data };
            self.law.on_data(&mut data, 1.0);
            self.law.is_marked(&mut data)
        }

        fn told(&mut self, queue: u32, reading: Reading) -> bool {
            self.data(Mark { queue, count: 2, reading }.encode())
        }

        /// Returns the signals of one second in which a queue reports this delay and rate.
        fn second(&mut self, queue: u32, delay: Span, rate: f64) -> usize {
            (0..500)
                .map(|_| {
                    let of_rate = usize::from(self.told(queue, Reading::Rate(rate)));
                    of_rate + usize::from(self.told(queue, Reading::Delay(delay)))
                })
                .sum()
        }
    }

    /// The paper's dumb-bell: 25 of 100 Mb/s are a quarter. With (3) as printed, RTT·cwnd/r, the result would
    /// be 7·10⁻⁵.
    #[test]
    fn the_probability_is_the_consumers_part_of_the_rate() {
        let window_bits = 25e6 * SRTT.as_secs_f64();
        assert!((own_part(window_bits, Some(SRTT), 100e6) - 0.25).abs() < 1e-12);
        assert_eq!(own_part(window_bits, Some(SRTT), 0.0), 0.0, "no rate is known");
        assert_eq!(own_part(window_bits, None, 100e6), 0.0, "no round trip is known");
        assert_eq!(own_part(window_bits, Some(Span::ZERO), 100e6), 0.0);
        assert!(own_part(window_bits, Some(SRTT), 1.0) > 1.0, "certain");
    }

    /// Returns the signals in 2000 spells of 110 ms, each with one mark of a queue with this rate.
    fn spells(bench: &mut Bench, rate: f64) -> usize {
        (0..2000)
            .map(|_| {
                bench.told(7, Reading::Rate(rate));
                let long = (0..110).filter(|_| bench.told(7, Reading::Delay(MS * 6))).count();
                bench.told(7, Reading::Delay(MS));
                bench.told(7, Reading::Delay(MS));
                long
            })
            .sum()
    }

    /// 12 packets of 1100 B in 17 ms are 6.2 Mb/s.
    #[test]
    fn of_marks_that_are_due_a_part_signals() {
        let signals = |rate: f64| spells(&mut Bench::steady(12), rate);
        let window = Bench::steady(12).law.window();
        let own = window * 8800.0 / 0.017;
        assert_eq!(signals(own), 2000, "all of them");
        assert_eq!(signals(own / 1e6), 2000, "an absurd rate is no more than certain");
        let quarter = signals(4.0 * own);
        assert!((420..580).contains(&quarter), "{quarter} of 2000: four standard deviations are 77");
        assert_eq!(signals(1e60), 0, "an absurd rate of the other kind");
    }

    /// (3) counts bits: with Data of twice the size, the same number of packets is twice the share.
    #[test]
    fn the_part_of_signals_follows_the_size_of_data() {
        let rate = 4.0 * 12.0 * 8800.0 / 0.017;
        for (times, expected) in [(1, 500), (2, 1000), (4, 2000)] {
            let mut bench = Bench::steady(12);
            bench.size = Bytes::new(times * SIZE.as_u64());
            let signals = spells(&mut bench, rate);
            assert!(
                signals.abs_diff(expected) <= 90,
                "{signals} of 2000, and not {expected}: four deviations are 90"
            );
        }
    }

    /// An application with 2 pending Interests and a W of 12 has a sixth of the rate of W.
    #[test]
    fn an_application_that_does_not_use_its_window_takes_no_more_signals_than_its_rate_is_worth() {
        let mut bench = Bench::steady(12);
        bench.pending = Some(1);
        let signals = spells(&mut bench, 4.0 * 12.0 * 8800.0 / 0.017);
        assert!((53..114).contains(&signals), "{signals} of 2000 at 1/24: four standard deviations are 36");
        for (pending, packets) in [(0, 1.0), (4, 5.0), (5, 12.0), (11, 12.0), (23, 12.0)] {
            assert_eq!(in_use(12.0, pending), packets, "{pending}");
        }
    }

    /// If a queue was long at the last Data, its state after a pause is unknown. After 10 s without Data, a
    /// first Data that reports only a rate used to end "10 s of long delay".
    #[test]
    fn after_a_pause_a_delay_of_before_signals_nothing() {
        let long = |bench: &mut Bench| bench.told(7, Reading::Delay(MS * 8));
        for form in [Form::Article, Form::Program, Form::CaughtUp] {
            let settings = Settings { codel: codel::Settings { form, ..SETTINGS.codel }, ..SETTINGS };
            let mut bench = Bench::new(settings);
            assert!(!bench.told(7, Reading::Rate(1e3)) && !long(&mut bench));
            bench.now += Span::from_secs(10);
            assert!(!bench.told(7, Reading::Rate(1e3)), "{form:?}: a delay of 10 s ago");
            // The time above the target now starts at this Data: 100 ms.
            let quiet = (0..100).all(|_| !long(&mut bench));
            let signals = (0..2).any(|_| long(&mut bench));
            assert!(quiet && signals, "{form:?}");
        }
    }

    /// With W = 1 and a round trip of 500 ms, a Data comes every 500 ms. Such a consumer still detects
    /// congestion.
    #[test]
    fn a_round_trip_longer_than_the_interval_is_no_pause() {
        let mut bench = Bench::steady(1);
        bench.srtt = Some(MS * 500);
        bench.told(7, Reading::Rate(1e3));
        let signals = (0..100).filter(|_| {
            bench.now += MS * 499;
            bench.told(7, Reading::Delay(MS * 8))
        });
        assert_eq!(
            signals.count(),
            50,
            "Algorithm 2 marks every other Data, if each comes later than an interval"
        );
    }

    #[test]
    fn queues_are_told_apart() {
        let mut bench = Bench::steady(20);
        // One queue is long and the other short. The marks of the second do not end the spell of the first.
        let mut signals = [0, 0];
        for _ in 0..300 {
            for (queue, delay) in [(1, MS * 8), (2, MS)] {
                for reading in [Reading::Rate(1e3), Reading::Delay(delay)] {
                    signals[queue as usize - 1] += usize::from(bench.told(queue, reading));
                }
            }
        }
        assert!(signals[0] > 10 && signals[1] == 0, "{signals:?}");
    }

    #[test]
    fn a_queue_whose_rate_is_unknown_does_not_signal() {
        let mut bench = Bench::steady(20);
        assert!((0..1000).all(|_| !bench.told(1, Reading::Delay(MS * 50))));
        bench.srtt = None;
        assert_eq!(bench.second(1, MS * 50, 1e3), 0, "nor does one before the first round trip");
    }

    #[test]
    fn slow_start_ends_at_a_long_delay_and_is_not_met_again() {
        let guarded = Settings { slow_start_limit: Some(MS * 8), ..SETTINGS };
        let mut bench = Bench::new(guarded);
        // The encoding shortens a delay by up to 1/16 384.
        assert!(!bench.told(1, Reading::Delay(MS * 8)));
        assert!(bench.told(1, Reading::Delay(Span::from_micros(8003))));
        bench.law.decrease(&pipe::MARK);
        assert!(!bench.told(1, Reading::Delay(Span::from_micros(8003))), "in congestion avoidance");
        let mut article = Bench::new(SETTINGS);
        assert!(!article.told(1, Reading::Delay(MS * 90)));
    }

    /// If k marks were due, at least one is this consumer's with the probability 1 − (1 − P_m)^k.
    #[test]
    fn several_marks_that_are_due_are_a_signal_with_a_greater_probability() {
        assert_eq!(at_least_one(1, 0.25), 0.25);
        assert!((at_least_one(2, 0.25) - 0.4375).abs() < 1e-12);
        assert_eq!(at_least_one(3, 7.0), 1.0, "an absurd rate of the queue");
        assert_eq!(at_least_one(4096, 0.0), 0.0, "no rate is known");
    }

    #[test]
    fn marks_of_other_routers_count_once_a_round_trip() {
        let mut bench = Bench::steady(20);
        let signals: Vec<u64> = (1..=60).filter(|_| bench.data(1)).collect();
        assert_eq!(signals, [1, 19, 37, 55], "ms, with an SRTT of 17 ms");
        assert!(!bench.data(0));
    }

    #[test]
    fn ids_without_number_take_the_place_of_the_ones_that_are_silent_for_longest() {
        let mut bench = Bench::steady(20);
        for id in 0..1_000_000_u32 {
            bench.told(id.wrapping_mul(0x9E37_79B9), Reading::Delay(MS * 50));
            bench.told(u32::MAX, Reading::Rate(1e8));
        }
        let queues = &bench.law.queues;
        assert_eq!((queues.ids.len(), queues.states.len()), (MOST_QUEUES, MOST_QUEUES));
        assert!(queues.ids.contains(&u32::MAX), "the one that is heard of is kept");
        assert!(queues.ids.capacity() <= MOST_QUEUES && queues.states.capacity() <= MOST_QUEUES);
    }

    #[test]
    fn hostile_marks_leave_a_window_of_one_that_grows_again() {
        let mut flow = WindowFlow::<AqmWindow>::new(SETTINGS, super::super::reaction(BOTH, false));
        let (mut random, mut fields) = (Random::named(1, "hostile"), Random::named(1, "fields"));
        let mut packet = Packet::default();
        let mut now = Time::from_nanos(1);
        for step in 0..200_000_u64 {
            // One queue is always long with a rate near zero; the other fields are random.
            let longest = Mark { queue: 1, count: 1, reading: Reading::Delay(Span::from_nanos(u64::MAX)) };
            let slowest = Mark { reading: Reading::Rate(1.0), ..longest };
            packet.header_mut().congestion_mark =
                [longest.encode(), slowest.encode(), fields.next_u64(), u64::MAX][step as usize % 4];
            now += MS;
            let data = pipe::data(&packet, now, SRTT, &mut random);
            flow.on_data(&mut DataReceived { pending: 1, ..data });
        }
        let weir_core::seam::Gauge::Window(least) = flow.gauge() else { panic!() };
        assert!((1.0..5.0).contains(&least), "{least}");
        packet.header_mut().congestion_mark = 0;
        for _ in 0..1000 {
            let data = pipe::data(&packet, now, SRTT, &mut random);
            flow.on_data(&mut DataReceived { pending: 1000, ..data });
        }
        assert!(matches!(flow.gauge(), weir_core::seam::Gauge::Window(window) if window > 40.0));
    }

    fn sending<'a>(segment: u64, interest: &'a mut Packet, random: &'a mut Random) -> SendEvent<'a> {
        let (now, retransmission, is_permitted, pending) = (Time::from_nanos(1), false, true, 0);
        SendEvent {
            now,
            interest,
            segment,
            retransmission,
            is_permitted,
            pending,
            expected_size: SIZE,
            random,
        }
    }

    #[test]
    fn every_timeout_halves_the_window_unless_it_is_guarded() {
        for (cwa, left) in [(false, 8.0), (true, 32.0)] {
            let mut flow = WindowFlow::<AqmWindow>::new(
                Settings {
                    reno: reno::Settings { bounds: Bounds { initial: 64.0, least: 1.0 }, ..SETTINGS.reno },
                    ..SETTINGS
                },
                super::super::reaction(BOTH, cwa),
            );
            let mut random = Random::named(1, "losses");
            for segment in 0..3 {
                flow.on_send(&mut sending(segment, &mut Packet::default(), &mut random));
            }
            for segment in 0..3 {
                let (tag, pending, highest_sent) = (segment as u32, 60, 60);
                let now = Time::from_nanos(1);
                flow.on_timeout(&mut LossEvent {
                    now,
                    segment,
                    tag,
                    pending,
                    highest_sent,
                    random: &mut random,
                });
            }
            assert_eq!(flow.gauge(), weir_core::seam::Gauge::Window(left));
        }
    }
}
