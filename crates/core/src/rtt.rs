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
