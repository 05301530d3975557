//! Round-trip time and retransmission timeout (RFC 6298): of a consumer's Interests, and of the frames of a
//! link.
//!
//! The SRTT gain is 1/8 and the variance gain 1/4. After the first sample m: SRTT = m, RTTVAR = m/2. RTO =
//! min(max, k · max(min, SRTT + max(G, 4 RTTVAR))). k doubles at each timeout up to a bound, and returns to 1
//! at the next sample. [`RtoConfig`] has the constants.
//!
//! The constants for consumers are those of the NDN consumers in the papers. G = 50 ms is the period at which
//! those consumers check their timers. Without it, on a path with a constant round-trip time of 200 ms or
//! more, RTO would converge to the round-trip time itself, and every Interest would time out as its Data
//! comes.
//!
//! Each Interest has its own timer, as in ndncatchunks; RFC 6298 has one timer. When an Interest times out,
//! the other pending ones keep the timeout with which they were sent, and do not double it again. Otherwise a
//! lost burst would time out piece by piece, each piece after twice the time.
//!
//! Interests that were sent more than once give no samples (Karn's algorithm): in NDN either sending may have
//! been answered, and by different nodes.
//!
//! Several nodes may answer the Interests of a consumer: see `responders.rs`.

use crate::ids::{NO_PREFIX, PrefixId};
use crate::units::Span;

/// Smallest assumed disorder of answers, caused by the timing of hosts.
const LEAST_DISORDER: Span = Span::from_millis(1);

/// Bounds of a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// RTO before the first sample.
    pub initial: Span,
    /// Smallest RTO once there is a sample.
    pub min: Span,
    /// Longest RTO, including backoff.
    pub max: Span,
    /// Timer granularity: the smallest difference between RTO and SRTT (G of RFC 6298).
    pub granularity: Span,
    /// The largest factor by which timeouts raise the RTO; a power of two.
    pub max_backoff: u64,
}

impl RtoConfig {
    /// The values for consumers: 1 s at first, 200 ms to 200 s, granularity 50 ms, factor up to 64.
    pub const CONSUMER: RtoConfig = RtoConfig {
        initial: Span::from_secs(1),
        min: Span::from_millis(200),
        max: Span::from_secs(200),
        granularity: Span::from_millis(50),
        max_backoff: 64,
    };
}

impl RtoConfig {
    /// RTO without a backoff.
    pub(crate) fn rto(&self, Smoothed { srtt, var }: Smoothed) -> Span {
        (srtt + (var * 4).max(self.granularity)).max(self.min)
    }
}

/// SRTT and RTTVAR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Smoothed {
    /// The smoothed round-trip time.
    pub(crate) srtt: Span,
    /// Its mean deviation.
    pub(crate) var: Span,
}

impl Smoothed {
    /// SRTT and RTTVAR after the first sample.
    pub(crate) fn new(rtt: Span) -> Smoothed {
        Smoothed { srtt: rtt, var: rtt / 2 }
    }

    /// Takes a further sample.
    #[inline]
    pub(crate) fn sample(&mut self, rtt: Span) {
        let Smoothed { srtt, var } = *self;
        let error = if rtt > srtt { rtt - srtt } else { srtt - rtt };
        self.srtt = Span::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8);
        self.var = Span::from_nanos((3 * var.as_nanos() + error.as_nanos()) / 4);
    }

    /// How much later than the answer to a later Interest an answer may come.
    pub(crate) fn overtaken(self) -> Span {
        self.srtt + (self.var * 4).max(self.srtt / 4).max(LEAST_DISORDER)
    }
}

/// The factor k by which timeouts raise the RTO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    now: u64,
    /// The factor before it was last doubled.
    earlier: u64,
}

impl Backoff {
    /// Factor 1, as after each sample.
    pub(crate) const NONE: Backoff = Backoff { now: 1, earlier: 1 };

    /// Doubles the factor after a timeout.
    pub(crate) fn double(&mut self, config: &RtoConfig) {
        *self = Backoff { now: (2 * self.now).min(config.max_backoff), earlier: self.now };
    }

    /// Returns whether there was a timeout since the last sample.
    pub(crate) fn is_some(self) -> bool {
        self.now > 1
    }

    /// The RTO, given the RTO without backoff.
    #[inline]
    pub(crate) fn rto(self, base: Span, config: &RtoConfig) -> Span {
        (base * self.now).min(config.max)
    }

    /// The RTO of Interests that were sent before the last timeout.
    #[inline]
    pub(crate) fn earlier_rto(self, base: Span, config: &RtoConfig) -> Span {
        (base * self.earlier).min(config.max)
    }
}

/// The estimate of one link or one path.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimate {
    config: RtoConfig,
    /// SRTT and RTTVAR; `None` before the first sample.
    smoothed: Option<Smoothed>,
    backoff: Backoff,
}

/// Uses the bounds for consumers.
impl Default for RttEstimate {
    fn default() -> RttEstimate {
        RttEstimate::new(RtoConfig::CONSUMER)
    }
}

impl RttEstimate {
    /// Makes an estimate without a sample.
    pub const fn new(config: RtoConfig) -> RttEstimate {
        RttEstimate { config, smoothed: None, backoff: Backoff::NONE }
    }

    /// Takes a sample: the round-trip time of an Interest that was sent only once.
    #[inline]
    pub fn sample(&mut self, rtt: Span) {
        self.backoff = Backoff::NONE;
        match &mut self.smoothed {
            None => self.smoothed = Some(Smoothed::new(rtt)),
            Some(smoothed) => smoothed.sample(rtt),
        }
    }

    /// Doubles the timeout, because an Interest or a frame timed out.
    pub fn back_off(&mut self) {
        self.backoff.double(&self.config);
    }

    /// Smoothed round-trip time; `None` before the first sample.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|smoothed| smoothed.srtt)
    }

    /// The retransmission timeout.
    #[inline]
    pub fn rto(&self) -> Span {
        self.backoff.rto(self.base(), &self.config)
    }

    /// Returns whether an Interest has timed out since the last sample.
    pub fn is_backed_off(&self) -> bool {
        self.backoff.is_some()
    }

    /// The RTO of Interests that were sent before the last backoff.
    #[inline]
    pub fn earlier_rto(&self) -> Span {
        self.backoff.earlier_rto(self.base(), &self.config)
    }

    /// RTO without a backoff.
    #[inline]
    fn base(&self) -> Span {
        self.smoothed.map_or(self.config.initial, |smoothed| self.config.rto(smoothed))
    }
}

/// Smoothed round-trip times of a node's prefixes, from the sending of an Interest to its Data; gain 1/8.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    /// The value of each prefix; zero without a sample.
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

    /// The value of a prefix; `None` before the first sample.
    #[inline]
    pub(crate) fn get(&self, prefix: PrefixId) -> Option<Span> {
        self.smoothed.get(prefix.0 as usize).copied().filter(|rtt| *rtt > Span::ZERO)
    }

    /// Forgets the value of a prefix, because its number will be reused.
    pub(crate) fn forget(&mut self, prefix: PrefixId) {
        if let Some(smoothed) = self.smoothed.get_mut(prefix.0 as usize) {
            *smoothed = Span::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_RTO: Span = RtoConfig::CONSUMER.initial;
    const MIN_RTO: Span = RtoConfig::CONSUMER.min;

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

    #[test]
    fn a_link_without_granularity_comes_down_to_its_round_trip_and_backs_off_to_its_bound() {
        let [min, max] = [Span::from_millis(10), Span::from_secs(60)];
        let config =
            RtoConfig { min, max, granularity: Span::ZERO, max_backoff: 1 << 16, ..RtoConfig::CONSUMER };
        let mut rtt = RttEstimate::new(config);
        rtt.sample(Span::from_millis(20));
        assert_eq!(rtt.rto(), Span::from_millis(60));
        for _ in 0..100 {
            rtt.sample(Span::from_millis(20));
        }
        assert_eq!(rtt.rto(), Span::from_millis(20));
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), max);
    }
}
