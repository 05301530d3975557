//! HyStart++: ends slow start when the delay rises.
//!
//! P. Balasubramanian, Y. Huang, M. Olson, "HyStart++: Modified Slow Start for TCP", RFC 9406. A slow start
//! that ends with a loss has filled the buffer of the path, and loses up to half of W at once.
//!
//! ```text
//!                    the least round trip of a round is RttThresh longer than that of the last round
//!   slow start ------------------------------------------------------------------------> CSS, growth 1/4
//!       ^                                                                                |         |
//!       +---- a round whose least round trip is shorter than the one that began CSS -----+         | 5 rounds
//!                                                                          congestion avoidance <--+
//!   RttThresh = 1/8 of the least round trip of the last round, 4 ms to 16 ms;  8 samples a round
//! ```
//!
//! Rounds are detected by transmissions, not by sequence numbers: a round ends with the first Data whose
//! Interest was sent in it. Data of a cache nearer than the producer count neither as samples nor as the end
//! of a round: only round trips to one place show a queue. A Data of several packets counts as that many
//! samples, because a window for slow paths has fewer than eight Data.

use weir_core::units::Span;

const SAMPLES: f64 = 8.0;
const MIN_RTT_DIVISOR: u64 = 8;
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// The state of conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// cssBaselineMinRtt
    baseline: Span,
    /// The number of completed rounds.
    rounds: u32,
}

/// The state of a flow in slow start.
#[derive(Debug, Default)]
pub(crate) struct HyStart {
    /// The number of the next transmission, and of the first one of this round.
    next: u32,
    round_from: u32,
    /// currentRoundMinRTT and lastRoundMinRTT; rttSampleCount.
    least: Option<Span>,
    last_least: Option<Span>,
    samples: f64,
    css: Option<Css>,
}

impl HyStart {
    /// Returns the state for another slow start of the same flow.
    pub(crate) fn again(&self) -> HyStart {
        HyStart { next: self.next, round_from: self.next, ..HyStart::default() }
    }

    /// Counts an Interest that leaves. Transmissions are numbered.
    pub(crate) fn on_send(&mut self, number: u32) {
        self.next = number.wrapping_add(1);
    }

    /// Counts a Data of `packets` packets for the transmission with this number. Returns whether slow start
    /// is over.
    pub(crate) fn on_data(&mut self, number: u32, rtt: Option<Span>, packets: f64) -> bool {
        let ends_round = number.wrapping_sub(self.round_from) as i32 >= 0;
        if ends_round {
            self.round_from = self.next;
            (self.last_least, self.least, self.samples) = (self.least, None, 0.0);
            if let Some(css) = &mut self.css {
                css.rounds += 1;
            }
        }
        if let Some(rtt) = rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += packets;
        }
        self.compare();
        self.css.is_some_and(|css| css.rounds >= CSS_ROUNDS)
    }

    fn compare(&mut self) {
        let (Some(least), true) = (self.least, self.samples >= SAMPLES) else { return };
        if let Some(css) = self.css {
            if least < css.baseline {
                self.css = None;
            }
        } else if let Some(last) = self.last_least {
            let threshold = (last / MIN_RTT_DIVISOR).min(MAX_RTT_THRESH).max(MIN_RTT_THRESH);
            if least >= last + threshold {
                self.css = Some(Css { baseline: least, rounds: 0 });
            }
        }
    }

    /// Returns the factor by which slow start's growth is reduced.
    pub(crate) fn growth(&self) -> f64 {
        if self.css.is_some() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a round of ten Interests with these round trips, ms. Returns whether slow start is over.
    fn round(hystart: &mut HyStart, from: &mut u32, rtt_ms: u64) -> bool {
        let numbers = *from..*from + 10;
        *from += 10;
        numbers.clone().for_each(|number| hystart.on_send(number));
        let mut is_over = false;
        for number in numbers {
            is_over |= hystart.on_data(number, Some(Span::from_millis(rtt_ms)), 1.0);
        }
        is_over
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_slows_the_growth_and_five_rounds_later_ends_it() {
        let (mut hystart, mut from) = (HyStart::default(), 0);
        for rtt in [80, 80, 85] {
            assert!(!round(&mut hystart, &mut from, rtt));
            assert_eq!(hystart.growth(), 1.0, "{rtt} ms: less than 10 ms more");
        }
        let after: Vec<_> = (0..7)
            .map(|_| {
                let is_over = round(&mut hystart, &mut from, 100);
                (hystart.growth(), is_over)
            })
            .collect();
        assert_eq!(after[0], (0.25, false));
        assert_eq!(after.iter().position(|(_, is_over)| *is_over), Some(5));
    }

    #[test]
    fn a_round_trip_that_was_longer_by_chance_does_not_end_slow_start() {
        let (mut hystart, mut from) = (HyStart::default(), 0);
        for rtt in [80, 80, 100] {
            round(&mut hystart, &mut from, rtt);
        }
        assert_eq!(hystart.growth(), 0.25);
        round(&mut hystart, &mut from, 82);
        assert_eq!(hystart.growth(), 1.0);
    }
}
