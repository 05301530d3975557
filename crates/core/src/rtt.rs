//! Round-trip time and retransmission timeout (RFC 6298 with the constants of the NDN consumers
//! that the papers use).
//!
//! SRTT gain 1/8, variance gain 1/4; first sample m: SRTT = m, RTTVAR = m/2;
//! RTO = min(200 s, k · max(200 ms, SRTT + max(G, 4 RTTVAR))); k doubles at each timeout up to 64 and
//! returns to 1 at the next sample.
//!
//! G = 50 ms is how often those consumers look at their timers: without it, on a path of a constant 200 ms
//! or more, RTO would come to be the round trip itself, and every Interest would time out as its Data comes.
//!
//! Each Interest has its own timer, as with ndncatchunks, where RFC 6298 has one: what is pending when an
//! Interest times out keeps the timeout that it was sent with, and does not double it again. Else a burst
//! that was lost would time out piece by piece, each piece after twice the time.
//!
//! Samples of Interests that were sent more than once are not
//! taken (Karn): in NDN either sending may have been answered, and by different nodes.

use crate::ids::{NO_PREFIX, PrefixId};
use crate::units::Span;

const MIN_RTO: Span = Span::from_millis(200);
const MAX_RTO: Span = Span::from_secs(200);
const GRANULARITY: Span = Span::from_millis(50);
/// What a host's own timing puts out of order.
const LEAST_DISORDER: Span = Span::from_millis(1);
const FIRST_RTO: Span = Span::from_secs(1);
const MAX_BACKOFF: u64 = 64;

/// The estimate of one flow.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimate {
    /// Smoothed round-trip time and its mean deviation, once there is a sample.
    smoothed: Option<(Span, Span)>,
    backoff: u64,
    /// What it was before it was doubled last.
    earlier: u64,
}

impl Default for RttEstimate {
    fn default() -> RttEstimate {
        RttEstimate { smoothed: None, backoff: 1, earlier: 1 }
    }
}

impl RttEstimate {
    /// Takes a sample.
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        (self.backoff, self.earlier) = (1, 1);
        self.smoothed = Some(match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, var)) => {
                let error = if rtt > srtt { rtt - srtt } else { srtt - rtt };
                let srtt = Span::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8);
                let var = Span::from_nanos((3 * var.as_nanos() + error.as_nanos()) / 4);
                (srtt, var)
            }
        });
    }

    /// An Interest timed out.
    pub fn back_off(&mut self) {
        self.earlier = self.backoff;
        self.backoff = (2 * self.backoff).min(MAX_BACKOFF);
    }

    /// The smoothed round-trip time, once there is a sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Span {
        self.backed_off(self.backoff)
    }

    /// How long an answer may take after the answer to a later Interest came: it is no more out of order than round
    /// trips vary (RFC 8985 waits a quarter of one, RFC 9002 an eighth).
    pub fn overtaken(&self) -> Span {
        self.smoothed.map_or(FIRST_RTO, |(srtt, var)| srtt + (var * 4).max(srtt / 4).max(LEAST_DISORDER))
    }

    /// How long nothing has to come until all that is pending may be lost: RFC 8985 waits two round trips.
    pub fn silence(&self) -> Span {
        self.smoothed.map_or(FIRST_RTO, |(srtt, _)| (srtt * 2).max(self.overtaken()))
    }

    /// Whether an Interest has timed out since the last sample.
    pub fn is_backed_off(&self) -> bool {
        self.backoff > 1
    }

    /// That of what was sent before it was backed off last.
    #[inline]
    pub fn earlier_rto(&self) -> Span {
        self.backed_off(self.earlier)
    }

    #[inline]
    fn backed_off(&self, by: u64) -> Span {
        let base =
            self.smoothed.map_or(FIRST_RTO, |(srtt, var)| (srtt + (var * 4).max(GRANULARITY)).max(MIN_RTO));
        (base * by).min(MAX_RTO)
    }
}

/// The smoothed round-trip times of a node's prefixes: from an Interest's sending to its Data, gain 1/8.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    /// By prefix; zero where there was no sample.
    smoothed: Vec<Span>,
}

impl RoundTrips {
    /// Takes a sample.
    #[inline]
    pub(crate) fn sample(&mut self, prefix: PrefixId, rtt: Span) {
        if prefix == NO_PREFIX {
            return;
        }
        let index = prefix.0 as usize;
        if index >= self.smoothed.len() {
            self.smoothed.resize(index + 1, Span::ZERO);
        }
        let smoothed = &mut self.smoothed[index];
        *smoothed = if *smoothed == Span::ZERO { rtt } else { *smoothed - *smoothed / 8 + rtt / 8 };
    }

    /// That of a prefix, once there is a sample.
    #[inline]
    pub(crate) fn get(&self, prefix: PrefixId) -> Option<Span> {
        self.smoothed.get(prefix.0 as usize).copied().filter(|rtt| *rtt > Span::ZERO)
    }

    /// The prefix's number comes to mean another.
    pub(crate) fn forget(&mut self, prefix: PrefixId) {
        if let Some(smoothed) = self.smoothed.get_mut(prefix.0 as usize) {
            *smoothed = Span::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_sets_rto_to_three_times_itself() {
        let mut rtt = RttEstimate::default();
        assert_eq!(rtt.rto(), FIRST_RTO);
        rtt.sample(Span::from_millis(100));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(100)));
        assert_eq!(rtt.rto(), Span::from_millis(300));
    }

    #[test]
    fn round_trips_are_smoothed_by_prefix_and_forgotten_with_it() {
        let mut trips = RoundTrips::default();
        let [near, far] = [PrefixId(0), PrefixId(7)];
        assert_eq!(trips.get(far), None);
        trips.sample(far, Span::from_millis(80));
        trips.sample(NO_PREFIX, Span::from_millis(1));
        assert_eq!((trips.get(far), trips.get(near)), (Some(Span::from_millis(80)), None));
        trips.sample(far, Span::from_millis(160));
        assert_eq!(trips.get(far), Some(Span::from_millis(90)));
        trips.forget(far);
        trips.forget(NO_PREFIX);
        assert_eq!((trips.get(far), trips.get(NO_PREFIX)), (None, None));
    }

    #[test]
    fn silence_is_two_round_trips_and_no_less_than_what_is_out_of_order() {
        let mut rtt = RttEstimate::default();
        assert_eq!((rtt.silence(), rtt.is_backed_off()), (FIRST_RTO, false));
        for _ in 0..100 {
            rtt.sample(Span::from_millis(10));
        }
        assert_eq!(rtt.silence(), Span::from_millis(20));
        for _ in 0..100 {
            rtt.sample(Span::from_micros(100));
        }
        assert_eq!(rtt.silence(), rtt.overtaken());
        rtt.back_off();
        assert!(rtt.is_backed_off());
    }

    #[test]
    fn on_a_long_path_without_variance_data_come_before_their_timeout() {
        let mut rtt = RttEstimate::default();
        for _ in 0..100 {
            rtt.sample(Span::from_millis(300));
        }
        assert_eq!(rtt.rto(), Span::from_millis(350));
    }

    #[test]
    fn steady_samples_bring_rto_to_its_floor_and_timeouts_double_it() {
        let mut rtt = RttEstimate::default();
        for _ in 0..100 {
            rtt.sample(Span::from_millis(100));
        }
        assert_eq!(rtt.rto(), MIN_RTO);
        rtt.back_off();
        rtt.back_off();
        assert_eq!((rtt.earlier_rto(), rtt.rto()), (Span::from_millis(400), Span::from_millis(800)));
        for _ in 0..20 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_millis(200 * 64));
        rtt.sample(Span::from_millis(100));
        assert_eq!((rtt.earlier_rto(), rtt.rto()), (MIN_RTO, MIN_RTO));
    }
}
