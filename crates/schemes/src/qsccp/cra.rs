//! CRA, consumer rate adjustment (section IV-F): the consumer sends at the rate that the network
//! suggests.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use super::signals::TARGET_RATE;

/// Where nothing says what the rate is: what it is at least, and at most, bit/s.
const FIRST_RATE: f64 = 10_000.0;
const LARGEST_RATE: f64 = 1e11;
/// How long what comes is counted before it is a rate.
const PERIOD: Span = Span::from_millis(100);
/// What is lost within this part of a lifetime is lost together.
const LOST_TOGETHER: u64 = 16;

/// The consumer's rate control.
#[derive(Debug)]
pub(super) struct Cra {
    /// β of (13).
    beta: f64,
    /// R_I·S_D: the rate of Data asked for, bit/s; zero before the first feedback if the flow
    /// starts with a single Interest.
    rate: f64,
    last_sent: Option<Time>,
    /// When a Data last came, and when one with a TargetRate.
    heard_at: Time,
    told_at: Time,
    /// When the rate was last halved.
    halved_at: Time,
    /// The rate of what came, bit/s; what has come since it was last known, bits, and since when.
    delivered: Option<f64>,
    came: u64,
    since: Time,
    lifetime: Span,
    /// S_D while none is known.
    usual_size: Bytes,
}

impl Cra {
    pub(super) fn new(beta: f64, initial_rate: Rate, lifetime: Span, usual_size: Bytes) -> Cra {
        let rate = initial_rate.as_bps_f64();
        Cra {
            beta,
            rate,
            last_sent: None,
            heard_at: Time::ZERO,
            told_at: Time::ZERO,
            halved_at: Time::ZERO,
            delivered: None,
            came: 0,
            since: Time::ZERO,
            lifetime,
            usual_size,
        }
    }

    /// (13) R_I(t) = β·R_I(t') + (1 − β)·R(t)/S_D, multiplied by S_D on both sides: it is the rate of
    /// Data that is smoothed, whatever their sizes.
    fn adjust(&mut self, target: f64) {
        self.rate =
            if self.rate == 0.0 { target } else { self.beta * self.rate + (1.0 - self.beta) * target };
    }

    /// Counts what comes; its rate, bit/s. The first Data, in a round trip, is a rate already.
    fn measure(&mut self, now: Time, bits: u64) -> f64 {
        self.came += bits;
        let passed = now.since(self.since);
        let known = self.delivered.filter(|_| passed < PERIOD);
        known.unwrap_or_else(|| {
            let delivered = self.came as f64 / passed.as_secs_f64().max(1e-6);
            (self.delivered, self.came, self.since) = (Some(delivered), 0, now);
            delivered
        })
    }
}

impl FlowControl for Cra {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        let Some(last) = self.last_sent else { return Permit::Now };
        let size = if ev.expected_size == Bytes::ZERO { self.usual_size } else { ev.expected_size };
        let interval = Rate::from_bps_f64(self.rate).time_for(size);
        // The wait follows the rate as it changes: a long interval begun at a low rate is cut short
        // when the rate rises. Without feedback for a whole lifetime an Interest goes out all the
        // same, or a rate near zero would never be corrected.
        Permit::At((last + interval).min(last.max(self.heard_at) + self.lifetime))
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        if self.last_sent.is_none() {
            (self.told_at, self.since) = (ev.now, ev.now);
        }
        self.last_sent = Some(ev.now);
        if ev.expected_size > Bytes::ZERO {
            ev.interest.header_mut().signals.set(&Signal::EXPECTED_SIZE, ev.expected_size.as_u64());
        }
        0
    }

    /// A Data without a TargetRate, MAX_RATE, met nothing that limits it: it is from this node, or from
    /// a network that does not say. So the rate grows, with each Data as if it were told twice the rate of what
    /// comes: more than that is not asked of a network that has no way to say that it is too much.
    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.heard_at = ev.now;
        let delivered = self.measure(ev.now, 8 * ev.data.wire_len());
        match ev.data.header().signals.value(&TARGET_RATE) {
            Some(target) if target < u64::MAX => {
                self.adjust(target as f64);
                self.told_at = ev.now;
            }
            _ => self.adjust((2.0 * delivered).clamp(FIRST_RATE, LARGEST_RATE)),
        }
    }

    /// Loss is no signal while routers say what the rate is. But if none has said so for a whole
    /// lifetime, the rate may be what keeps every Interest waiting beyond its lifetime, or what a
    /// network without feedback loses: halve it, once for all that is lost together.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        let together = self.lifetime / LOST_TOGETHER;
        let is_untold = ev.now.since(self.told_at) >= self.lifetime;
        if is_untold && (self.halved_at == Time::ZERO || ev.now.since(self.halved_at) >= together) {
            self.rate /= 2.0;
            self.halved_at = ev.now;
            // A lifetime more for what the lower rate brings.
            if self.heard_at <= self.told_at {
                self.told_at = ev.now;
            }
        }
    }

    /// An Interest waits in virtual queues as long as the scheduler says, so only its lifetime
    /// tells that it is lost, or the Data of later ones, where that is wanted.
    fn timeout(&self, _rto: Span, lifetime: Span) -> Span {
        lifetime
    }

    fn gauge(&self) -> Gauge {
        Gauge::Rate(Rate::from_bps_f64(self.rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_equation_13() {
        let mut cra = Cra::new(0.8, Rate::from_bps(100_000), Span::from_secs(2), Bytes::new(1125));
        cra.adjust(1e6);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(280_000)));
        cra.adjust(1e6);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(424_000)));
    }

    #[test]
    fn a_flow_without_initial_rate_adopts_the_first_target() {
        let mut cra = Cra::new(0.8, Rate::ZERO, Span::from_secs(2), Bytes::new(1125));
        cra.adjust(3e6);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_mbps(3)));
    }

    #[test]
    fn a_network_that_does_not_say_is_asked_for_twice_what_it_delivers() {
        let mut cra = Cra::new(0.8, Rate::ZERO, Span::from_secs(2), Bytes::new(1250));
        // A Data of 10 kbit each millisecond: 10 Mb/s.
        for ms in 1..2000 {
            let delivered = cra.measure(Time::ZERO + Span::from_millis(ms), 10_000);
            cra.adjust(2.0 * delivered);
        }
        let Gauge::Rate(rate) = cra.gauge() else { panic!() };
        assert!((rate.as_bps_f64() / 20e6 - 1.0).abs() < 0.01, "{rate}");
    }

    fn permitted(cra: &mut Cra, expected_size: u64) -> Permit {
        let mut random = weir_core::random::Random::named(1, "cra");
        let expected_size = Bytes::new(expected_size);
        cra.last_sent = Some(Time::ZERO);
        cra.permit(&mut PermitEvent { now: Time::ZERO, pending: 1, expected_size, random: &mut random })
    }

    #[test]
    fn an_unknown_size_is_the_usual_one_and_not_nothing() {
        let mut cra = Cra::new(0.8, Rate::from_bps(100_000), Span::from_secs(2), Bytes::new(1250));
        assert_eq!(permitted(&mut cra, 0), Permit::At(Time::ZERO + Span::from_millis(100)));
        assert_eq!(permitted(&mut cra, 125), Permit::At(Time::ZERO + Span::from_millis(10)));
    }

    #[test]
    fn a_rate_near_zero_is_kept_for_a_lifetime_after_the_last_feedback() {
        let mut cra = Cra::new(0.8, Rate::from_bps(1), Span::from_secs(2), Bytes::new(1250));
        assert_eq!(permitted(&mut cra, 1250), Permit::At(Time::ZERO + Span::from_secs(2)));
        cra.heard_at = Time::ZERO + Span::from_secs(9);
        assert_eq!(permitted(&mut cra, 1250), Permit::At(Time::ZERO + Span::from_secs(11)));
    }

    #[test]
    fn a_timeout_does_not_put_off_the_interest_that_asks_for_feedback() {
        let mut cra = Cra::new(0.8, Rate::from_bps(1), Span::from_secs(2), Bytes::new(1250));
        let mut random = weir_core::random::Random::named(1, "cra");
        let now = Time::ZERO + Span::from_secs(2);
        let random = &mut random;
        cra.on_timeout(&mut LossEvent { now, segment: 0, tag: 0, pending: 0, highest_sent: 0, random });
        assert_eq!(permitted(&mut cra, 1250), Permit::At(now));
    }
}
