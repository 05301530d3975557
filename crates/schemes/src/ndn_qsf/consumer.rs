//! The naive consumer (section 4.4): keeps a large queue at the first forwarder. Data carry the size of this queue.
//!
//! ```text
//!   QueueSize < queue_low    W ← W + min(1, (queue_low − QueueSize)/W) with each Data, if W is in use
//!   QueueSize > queue_high   W ← W − min(1, (QueueSize − queue_high)/W) with each Data
//!   a lost Interest          W ← W/2, once in a window
//! ```
//!
//! So in a window of Data W changes by the difference of the queue from its bounds. Until the queue first exists, W grows by
//! one with each Data. The feedback is one round trip to the first forwarder old. With steps of one with each Data the queue
//! would oscillate by the Data of that time.
//!
//! If the first forwarder does not run the scheme, a Data lets W grow by one Interest a window, and a mark halves W as a
//! loss does.

use weir_core::parameters;
use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent};

use super::signals::QUEUE_SIZE;
use crate::window::LARGEST_WINDOW;

/// The smallest W: a smaller one gives no feedback about the queue.
const LEAST_WINDOW: f64 = 2.0;

parameters! {
    /// Parameters of the consumer.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        /// the consumer's window grows while the queue at the first forwarder is shorter, packets
        pub(super) low: u64 = integer("queue_low", 0..=60_000) default "15"
            from "paper: section 6.4, around 5 ms at forwarder 1, which at 120 Mb/s are 17 Data of 4500 B";
        /// the consumer's window shrinks while the queue at the first forwarder is longer, packets; at least
        /// `queue_low`
        pub(super) high: u64 = integer("queue_high", 0..=60_000) at_least "queue_low" default "20"
            from "paper: section 6.4, as `queue_low`; assumed: above it, so that the window does not change in \
                  between";
        /// initial window of the consumer, packets
        pub(super) initial: f64 = number("initial_window", 1.0..=1000.0) default "10" from "assumed: RFC 6928";
    }
}

/// The consumer's flow control.
#[derive(Debug)]
pub(super) struct NaiveConsumer {
    settings: Settings,
    /// W, packets.
    window: f64,
    /// The newest segment at the last decrease. Earlier ones met the same congestion.
    cut_at: Option<u64>,
    /// Whether the queue has not existed yet.
    is_starting: bool,
}

impl NaiveConsumer {
    pub(super) fn new(settings: Settings) -> NaiveConsumer {
        let window = settings.initial.max(LEAST_WINDOW);
        NaiveConsumer { settings, window, cut_at: None, is_starting: true }
    }

    fn add(&mut self, packets: f64) {
        self.window = (self.window + packets).clamp(LEAST_WINDOW, LARGEST_WINDOW);
    }

    /// Follows the queue size that the first forwarder reports.
    fn follow(&mut self, size: u64, is_used: bool) {
        let Settings { low, high, .. } = self.settings;
        let part = |packets: u64| (packets as f64 / self.window).min(1.0);
        self.is_starting &= size < low;
        match size {
            _ if size < low && !is_used => {}
            _ if self.is_starting => self.add(1.0),
            _ if size < low => self.add(part(low - size)),
            _ => self.add(-part(size.saturating_sub(high))),
        }
    }

    fn cut(&mut self, segment: u64, highest_sent: u64) {
        self.is_starting = false;
        if self.cut_at.is_none_or(|cut_at| segment > cut_at) {
            self.add(-self.window / 2.0);
            self.cut_at = Some(highest_sent);
        }
    }
}

impl FlowControl for NaiveConsumer {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if f64::from(ev.pending) + 1.0 <= self.window { Permit::Now } else { Permit::Blocked }
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        // Interests that an application does not send give no information about the queue.
        let is_used = 2.0 * (f64::from(ev.pending) + 1.0) >= self.window;
        match ev.data.header().signals.value(&QUEUE_SIZE) {
            Some(size) => self.follow(size, is_used),
            None if ev.data.header().congestion_mark != 0 => self.cut(ev.segment, ev.highest_sent),
            None if is_used => self.add(1.0 / self.window),
            None => {}
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        self.cut(ev.segment, ev.highest_sent);
    }

    fn gauge(&self) -> Gauge {
        Gauge::Window(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::units::{Bytes, Time};

    struct Bench {
        flow: NaiveConsumer,
        random: Random,
    }

    impl Bench {
        fn new() -> Bench {
            let settings = Settings { low: 20, high: 30, initial: 10.0 };
            Bench { flow: NaiveConsumer::new(settings), random: Random::named(1, "flow") }
        }

        /// Delivers Data with this feedback while `pending` Interests are pending. Returns W.
        fn data(&mut self, count: u32, size: Option<u64>, mark: u64, pending: u32) -> f64 {
            let mut data = Packet::default();
            if let Some(size) = size {
                data.header_mut().signals.set(&QUEUE_SIZE, size);
            }
            data.header_mut().congestion_mark = mark;
            for _ in 0..count {
                self.flow.on_data(&mut DataReceived {
                    now: Time::ZERO,
                    data: &data,
                    segment: 1,
                    rtt: None,
                    srtt: None,
                    bases: None,
                    tag: 0,
                    was_pending: true,
                    pending,
                    highest_sent: 100,
                    oldest_missing: 0,
                    lost: 0..0,
                    expected_size: Bytes::new(4500),
                    random: &mut self.random,
                });
            }
            self.flow.window
        }

        fn lose(&mut self, segment: u64) -> f64 {
            let (now, random) = (Time::ZERO, &mut self.random);
            let (tag, pending, highest_sent) = (0, 9, 100);
            self.flow.on_timeout(&mut LossEvent { now, segment, tag, pending, highest_sent, random });
            self.flow.window
        }
    }

    #[test]
    fn the_window_follows_the_queue_of_the_first_forwarder() {
        let mut bench = Bench::new();
        assert!(bench.data(90, Some(19), 0, 1000) == 100.0, "it begins");
        assert!(bench.data(5, Some(20), 0, 1000) == 100.0);
        assert!(bench.data(5, Some(30), 0, 1000) == 100.0);
        let grown = bench.data(100, Some(10), 0, 1000);
        assert!((grown - 110.0).abs() < 1.0, "a window of Data adds what the queue lacks: {grown}");
        let shrunk = bench.data(110, Some(50), 0, 1000);
        assert!(
            (20.0..24.0).contains(&(grown - shrunk)),
            "what is too much, of a window that shrinks: {shrunk}"
        );
        assert!(bench.data(1, Some(0), 1, 1000) > shrunk, "marks tell nothing more");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut bench = Bench::new();
        assert!(bench.data(5, Some(0), 0, 3) == 10.0);
        assert!(bench.data(1, Some(0), 0, 4) == 11.0);
    }

    #[test]
    fn a_loss_halves_the_window_once_in_a_window() {
        let mut bench = Bench::new();
        bench.data(30, Some(0), 0, 100);
        assert!(bench.lose(50) == 20.0);
        assert!(bench.lose(99) == 20.0, "sent before the cut");
        assert!(bench.lose(101) == 10.0);
    }

    #[test]
    fn without_the_field_the_window_grows_slowly_and_marks_halve_it() {
        let mut bench = Bench::new();
        let grown = bench.data(10, None, 0, 100);
        assert!((10.9..11.0).contains(&grown), "{grown}");
        assert!((bench.data(1, None, 1, 100) - grown / 2.0).abs() < 1e-9);
    }

    #[test]
    fn absurd_feedback_keeps_the_window_within_its_bounds() {
        let mut bench = Bench::new();
        assert!(bench.data(100, Some(u64::MAX), 0, 100) == LEAST_WINDOW);
        let mut bench = Bench::new();
        assert!(bench.data(2_000_000, Some(0), 0, u32::MAX) == LARGEST_WINDOW);
    }
}
