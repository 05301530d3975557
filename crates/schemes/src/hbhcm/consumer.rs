//! The consumer: AIMD, as in the authors' ConsumerAimdBasic.
//!
//! ```text
//!   each Data:   hold_off = max(0, hold_off - 1)
//!     marked, hold_off = 0:   hold_off = 2·W,   W = 0.875·W,   slow start is over
//!     else, in slow start:    W += 0.5
//!     else:                   W += 2/W
//!   each timeout or Nack, hold_off = 0:   as marked
//! ```
//!
//! W grows only while at least half of it is used. This rule, and the reaction to timeouts, are not the authors'
//! (deviations 9 and 10).
//!
//! While `hold_off` is above 0, a marked Data lets W grow like any other. So if every Data is marked, W falls by an
//! eighth in the time in which it grows by 4, and converges to 32.
//!
//! An application may be at a place where no face measures: behind the socket of a forwarder, or on a node without the
//! scheme. So the consumer also measures its own hop. On a node that measures, this hop takes no time and gives no
//! sample.

use weir_core::parameters;
use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent};
use weir_core::units::{Bytes, Span, Time};

use super::measurement::{self, Hop};
use crate::window::{Bounds, Signs};

/// An Interest counts as lost only after this multiple of the longest recent round trip, over [`OF_LATE`] or
/// four round trips. With several sources most answers come from the nearest, and RTO would be that of the
/// nearest.
const PATIENCE: f64 = 1.25;
const OF_LATE: Span = Span::from_secs(1);

parameters! {
    /// The consumer's parameters.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) bounds: Bounds = group {
            initial_window default "5" from "files: ConsumerAimdBasic";
            min_window default "1" from "files: ConsumerAimdBasic";
        };
        /// growth of W with each Data before the first decrease, packets
        pub(super) slow_start: f64 = number("slow_start", 0.0..=1.0) default "0.5" from "files: ConsumerAimdBasic";
        /// growth of W in a window of Data after the first decrease, packets
        pub(super) increase: f64 = number("increase", 0.0..=1000.0) default "2" from "files: ConsumerAimdBasic";
        /// the part of W that a decrease leaves
        pub(super) decrease: f64 = number("decrease", 0.1..=0.999) default "0.875" from "files: ConsumerAimdBasic";
        /// smallest distance of two decreases, windows of Data
        pub(super) hold_off: f64 = number("hold_off", 0.0..=100.0) default "2" from "files: ConsumerAimdBasic";
        /// the signals that lower W: marked Data, timeouts and Nacks, or both
        pub(super) signs: Signs = choice("react_to") default "both"
            from "paper: section V, AIMD, without details; files: ConsumerAimdBasic, `marks`; assumed: RFC \
                  3168, a mark has the effect of a loss";
    }
}

/// A consumer's window.
#[derive(Debug)]
pub(super) struct Aimd {
    settings: Settings,
    hop: Hop,
    /// W
    window: f64,
    is_in_slow_start: bool,
    /// The number of Data that have to come before W may fall again.
    hold_off: u32,
    /// The longest round trip of this period and of the previous one, and the start of this period.
    longest: [Span; 2],
    since: Time,
}

impl Aimd {
    pub(super) fn new(settings: Settings, hop: measurement::Settings) -> Aimd {
        let window = settings.bounds.first();
        let (longest, since) = ([Span::ZERO; 2], Time::ZERO);
        Aimd { settings, hop: Hop::new(hop), window, is_in_slow_start: true, hold_off: 0, longest, since }
    }

    fn note_round_trip(&mut self, now: Time, rtt: Span) {
        let [late, _] = self.longest;
        if now.since(self.since) > OF_LATE.max(late * 4) {
            (self.longest, self.since) = ([Span::ZERO, late], now);
        }
        self.longest[0] = self.longest[0].max(rtt);
    }

    /// Handles congestion. Returns whether W falls; it does not fall during the hold-off.
    fn decrease(&mut self) -> bool {
        if self.hold_off > 0 {
            return false;
        }
        self.hold_off = (self.settings.hold_off * self.window) as u32;
        self.window = self.settings.bounds.clamp(self.settings.decrease * self.window);
        self.is_in_slow_start = false;
        true
    }

    fn increase(&mut self) {
        let Settings { bounds, slow_start, increase, .. } = self.settings;
        let more = if self.is_in_slow_start { slow_start } else { increase / self.window };
        self.window = bounds.clamp(self.window + more);
    }

    /// Returns whether half of W is used. An application that uses less does not test the network (RFC 7661).
    fn is_used(&self, pending: u32) -> bool {
        2.0 * (f64::from(pending) + 1.0) >= self.window
    }
}

impl FlowControl for Aimd {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if f64::from(ev.pending) < self.window { Permit::Now } else { Permit::Blocked }
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        if let Some(rtt) = ev.rtt {
            self.note_round_trip(ev.now, rtt);
        }
        let size = Bytes::new(ev.data.wire_len());
        let is_marked =
            self.hop.marks(ev.now, ev.data, size, ev.rtt) || ev.data.header().congestion_mark != 0;
        self.hold_off = self.hold_off.saturating_sub(1);
        let has_fallen = is_marked && self.settings.signs.marks && self.decrease();
        if !has_fallen && self.is_used(ev.pending) {
            self.increase();
        }
    }

    fn on_timeout(&mut self, _ev: &mut LossEvent<'_>) {
        if self.settings.signs.losses {
            self.decrease();
        }
    }

    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        rto.max(self.longest_wait()).min(lifetime)
    }

    fn longest_wait(&self) -> Span {
        self.longest[0].max(self.longest[1]).scale(PATIENCE)
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ENTRY;
    use super::*;
    use crate::rtt_measure::RTT_MEASURE;
    use crate::window::pipe::{self, Pipe, article};
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::seam::params::{Params, Value};
    use weir_core::units::{Rate, Span, Time};

    fn aimd(set: &[(&str, Value)]) -> Aimd {
        let params = Params::resolve(ENTRY.parameters, set.iter().map(|(key, value)| (*key, value))).unwrap();
        Aimd::new(Settings::new(&params), measurement::Settings::new(&params))
    }

    struct Bench {
        flow: Aimd,
        random: Random,
        now: Time,
        pending: u32,
    }

    impl Bench {
        fn new(set: &[(&str, Value)]) -> Bench {
            Bench { flow: aimd(set), random: Random::named(1, "bench"), now: Time::ZERO, pending: 1000 }
        }

        /// Delivers a Data that came from the application's own node.
        fn data(&mut self, mark: u64) -> f64 {
            let mut packet = Packet::default();
            packet.header_mut().congestion_mark = mark;
            packet.header_mut().signals.set(&RTT_MEASURE, Span::from_millis(80).as_nanos());
            self.now += Span::from_millis(1);
            let data = pipe::data(&packet, self.now, Span::from_millis(80), &mut self.random);
            self.flow.on_data(&mut DataReceived { pending: self.pending, ..data });
            self.flow.window
        }

        fn lose(&mut self) -> f64 {
            let (now, pending, random) = (self.now, self.pending, &mut self.random);
            let (segment, tag, highest_sent) = (0, 0, 0);
            self.flow.on_timeout(&mut LossEvent { now, segment, tag, pending, highest_sent, random });
            self.flow.window
        }
    }

    #[test]
    fn it_begins_with_5_and_a_window_of_them_may_be_pending() {
        let mut bench = Bench::new(&[]);
        for (pending, permit) in [(0, Permit::Now), (4, Permit::Now), (5, Permit::Blocked)] {
            let random = &mut bench.random;
            let mut ev = PermitEvent { now: Time::ZERO, pending, expected_size: Bytes::ZERO, random };
            assert_eq!(bench.flow.permit(&mut ev), permit, "{pending}");
        }
    }

    #[test]
    fn in_slow_start_each_data_adds_half_a_packet_and_later_two_a_window() {
        let mut bench = Bench::new(&[]);
        assert_eq!([bench.data(0), bench.data(0)], [5.5, 6.0]);
        assert_eq!(bench.data(1), 5.25);
        assert_eq!(bench.data(0), 5.25 + 2.0 / 5.25);
    }

    #[test]
    fn after_a_decrease_marks_of_two_windows_are_not_counted_and_the_window_grows() {
        let mut bench = Bench::new(&[("initial_window", Value::Int(100))]);
        assert_eq!(bench.data(1), 87.5);
        let mut before = 87.5;
        // The counter is 200, and is decremented before it is checked.
        for n in 1..200 {
            let window = bench.data(1);
            assert!(window > before, "Data {n}");
            before = window;
        }
        assert_eq!(bench.data(1), 0.875 * before);
    }

    #[test]
    fn if_every_data_is_marked_the_window_comes_to_32() {
        for initial in [2, 1000] {
            let mut bench = Bench::new(&[("initial_window", Value::Int(initial))]);
            let windows: Vec<f64> = (0..60_000).map(|_| bench.data(1)).collect();
            let late = &windows[50_000..];
            let mean = late.iter().sum::<f64>() / late.len() as f64;
            assert!((29.0..33.0).contains(&mean), "{mean}");
            assert!(late.iter().all(|window| (27.0..34.0).contains(window)));
        }
    }

    #[test]
    fn losses_change_the_window_as_marks_do_unless_they_are_not_to() {
        let initial = ("initial_window", Value::Int(100));
        let marks = ("react_to", Value::Text("marks".to_owned()));
        assert_eq!(Bench::new(&[initial.clone(), marks]).lose(), 100.0, "as the authors' code");
        let mut bench = Bench::new(&[initial]);
        assert_eq!([bench.lose(), bench.lose()], [87.5, 87.5], "once");
    }

    /// A near cache answers most Interests, and the producer the rest.
    #[test]
    fn what_the_farther_of_two_sources_answers_is_not_lost() {
        let mut flow = aimd(&[]);
        let (rto, lifetime) = (Span::from_millis(200), Span::from_secs(4));
        for ms in 1..5000 {
            let rtt = Span::from_millis(if ms % 100 == 0 { 300 } else { 2 });
            flow.note_round_trip(Time::ZERO + Span::from_millis(ms), rtt);
            let timeout = flow.timeout(rto, lifetime);
            assert!(ms < 100 || timeout > Span::from_millis(300), "{ms} ms: {timeout}");
        }
        (5000..8000)
            .for_each(|ms| flow.note_round_trip(Time::ZERO + Span::from_millis(ms), Span::from_millis(2)));
        assert_eq!(flow.timeout(rto, lifetime), rto, "it answers no more");
        assert_eq!(flow.timeout(rto, Span::from_millis(100)), Span::from_millis(100));
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut bench = Bench::new(&[("initial_window", Value::Int(64))]);
        bench.pending = 30;
        assert_eq!(bench.data(0), 64.0);
        bench.pending = 31;
        assert_eq!(bench.data(0), 64.5);
    }

    /// The application is far from the first node that measures, or no node measures.
    #[test]
    fn a_consumer_by_itself_keeps_the_queue_short_and_the_link_busy() {
        let rate = Some(Rate::from_mbps(15));
        let pipe = Pipe { rate, limit: 1000, delay: Span::from_millis(60), ..Pipe::default() };
        let got = pipe.run((ENTRY.build)(&article(&ENTRY)).flow_control(&pipe::FLOW), 60);
        let used = got.bits as f64 / (15e6 * 60.0);
        assert!(used > 0.9, "{used} used");
        let late = got.windows.iter().filter(|(at, _)| at.as_secs_f64() > 20.0).map(|(_, window)| *window);
        // The BDP is 103 packets; 5 ms of queue are 9.
        let most = late.fold(0.0, f64::max);
        assert!(most < 103.0 + 35.0, "W up to {most}");
        assert_eq!(got.lost, 0);
    }
}
