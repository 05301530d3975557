//! CRA, consumer rate adjustment (section IV-F): the consumer sends at the rate that the network suggests.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use crate::qsccp::Settings;
use crate::qsccp::extensions::start::{Pending, Start};
use crate::qsccp::signals::TARGET_RATE;
use crate::untold::Untold;

/// Interests lost within this part of a lifetime count as one loss.
const LOST_TOGETHER: u64 = 16;

/// The rate control of a consumer.
#[derive(Debug)]
pub(crate) struct Cra {
    /// β of (13).
    beta: f64,
    /// R_I·S_D: the requested rate of Data, bit/s; zero before the first feedback if the flow starts with a
    /// single Interest.
    rate: f64,
    last_sent: Option<Time>,
    /// The time of the last Data, and of the last Data with a TargetRate.
    heard_at: Time,
    told_at: Time,
    /// The time at which the rate was last halved.
    halved_at: Time,
    lifetime: Span,
    /// S_D until the first Data.
    usual_size: Bytes,
    start: Start,
    pending: Pending,
    untold: Untold,
}

impl Cra {
    pub(crate) fn new(settings: &Settings, lifetime: Span) -> Cra {
        let &Settings { beta, initial_rate, initial_window, pending_limit, default_data_bits, .. } = settings;
        Cra {
            beta,
            rate: initial_rate.as_bps_f64(),
            last_sent: None,
            heard_at: Time::ZERO,
            told_at: Time::ZERO,
            halved_at: Time::ZERO,
            lifetime,
            usual_size: Bytes::new(default_data_bits / 8),
            start: Start::new(initial_window),
            pending: Pending::new(pending_limit, initial_window),
            untold: Untold::new(settings.probes_by()),
        }
    }

    /// (13) R_I(t) = β·R_I(t') + (1 − β)·R(t)/S_D, multiplied by S_D on both sides. So it smooths the rate of
    /// Data, which does not depend on their sizes.
    fn adjust(&mut self, target: f64) {
        self.rate =
            if self.rate == 0.0 { target } else { self.beta * self.rate + (1.0 - self.beta) * target };
    }
}

impl FlowControl for Cra {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if let Some(probing) = self.untold.probing() {
            return probing.permit(ev);
        }
        let Some(last) = self.last_sent else { return Permit::Now };
        if self.start.permits(ev.pending, ev.expected_size) {
            return Permit::Now;
        }
        let size = if ev.expected_size == Bytes::ZERO { self.usual_size } else { ev.expected_size };
        if !self.pending.permits(ev.pending, size) {
            return Permit::Blocked;
        }
        let interval = Rate::from_bps_f64(self.rate).time_for(size);
        // The wait follows the rate as it changes: if the rate rises, a long wait becomes shorter. After a
        // lifetime without feedback an Interest leaves in any case. Otherwise a rate near zero would never be
        // corrected.
        Permit::At((last + interval).min(last.max(self.heard_at) + self.lifetime))
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        if self.last_sent.is_none() {
            self.told_at = ev.now;
        }
        self.last_sent = Some(ev.now);
        if ev.expected_size > Bytes::ZERO {
            ev.interest.header_mut().signals.set(&Signal::EXPECTED_SIZE, ev.expected_size.as_u64());
        }
        self.untold.probing().map_or(0, |probing| probing.on_send(ev))
    }

    /// A Data without a TargetRate, MAX_RATE, changes no rate: it comes from the content store of this node, or from a
    /// network without QSCCP.
    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.heard_at = ev.now;
        let told = ev.data.header().signals.value(&TARGET_RATE).filter(|target| *target < u64::MAX);
        self.start.note(told.is_some());
        let Some(target) = told else {
            return self.untold.on_data(ev, ev.now.since(self.told_at) >= self.lifetime);
        };
        self.pending.note(ev.now, ev.rtt, target as f64);
        if self.untold.end() {
            self.rate = target as f64;
        } else {
            self.adjust(target as f64);
        }
        self.told_at = ev.now;
    }

    /// While routers give rates, a loss is no signal. But if no TargetRate came for a whole lifetime, the
    /// rate may be too high: every Interest may wait longer than its lifetime, or a network without feedback
    /// may lose them. So a loss halves the rate, once for all Interests that are lost together.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(probing) = self.untold.probing() {
            return probing.on_timeout(ev);
        }
        let together = self.lifetime / LOST_TOGETHER;
        let is_untold = ev.now.since(self.told_at) >= self.lifetime;
        if is_untold && (self.halved_at == Time::ZERO || ev.now.since(self.halved_at) >= together) {
            self.rate /= 2.0;
            self.halved_at = ev.now;
            // The lower rate has one more lifetime to take effect.
            if self.heard_at <= self.told_at {
                self.told_at = ev.now;
            }
        }
    }

    /// The scheduler decides how long an Interest waits in virtual queues. So an Interest counts as lost only
    /// after its lifetime, or, with early loss, when later ones are answered.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        self.untold.as_probing().map_or(lifetime, |probing| probing.timeout(rto, lifetime))
    }

    /// While probing, the gauge is the window.
    fn gauge(&self) -> Gauge {
        match self.untold.as_probing() {
            Some(probing) => Gauge::Window(probing.window()),
            None => Gauge::Rate(Rate::from_bps_f64(self.rate)),
        }
    }

    fn notice(&self) -> Option<&'static str> {
        self.untold.notice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::seam::params::Params;
    use weir_core::seam::params::Value;

    /// Returns a consumer of the paper's scheme with these parameters, whose Interests have a lifetime of 2
    /// s.
    fn article(given: &[(&str, &str)]) -> Cra {
        let given = [("variant", "article")].iter().chain(given);
        let given: Vec<(&str, Value)> = given.map(|(key, value)| (*key, Value::parse(value))).collect();
        let given = given.iter().map(|(key, value)| (*key, value));
        let params = Params::resolve(Settings::PARAMETERS, given).unwrap();
        Cra::new(&Settings::new(&params), Span::from_secs(2))
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn lose(cra: &mut Cra, now: Time) {
        let random = &mut Random::named(1, "cra");
        cra.on_timeout(&mut LossEvent { now, segment: 0, tag: 0, pending: 0, highest_sent: 0, random });
    }

    /// Delivers a Data with this TargetRate.
    fn hear(cra: &mut Cra, now: Time, target: u64) {
        let mut packet = Packet::default();
        packet.header_mut().signals.set(&TARGET_RATE, target);
        let random = &mut Random::named(1, "cra");
        cra.on_data(&mut crate::window::pipe::data(&packet, now, Span::from_millis(20), random));
    }

    fn permitted(cra: &mut Cra, expected_size: u64) -> Permit {
        let random = &mut Random::named(1, "cra");
        let expected_size = Bytes::new(expected_size);
        cra.last_sent = Some(Time::ZERO);
        cra.permit(&mut PermitEvent { now: Time::ZERO, pending: 1, expected_size, random })
    }

    #[test]
    fn the_rate_follows_equation_13() {
        let mut cra = article(&[]);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(100_000)), "the authors' InitialSendRate");
        hear(&mut cra, at(20), 1_000_000);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(280_000)));
        hear(&mut cra, at(40), 1_000_000);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(424_000)));
    }

    #[test]
    fn a_flow_without_initial_rate_adopts_the_first_target_rate() {
        let mut cra = article(&[("initial_rate", "0 b/s")]);
        hear(&mut cra, at(20), 3_000_000);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_mbps(3)));
    }

    #[test]
    fn interests_leave_at_the_rate_of_their_data() {
        let mut cra = article(&[("data_size", "1250")]);
        assert_eq!(permitted(&mut cra, 0), Permit::At(at(100)), "the usual size, if it is not known");
        assert_eq!(permitted(&mut cra, 125), Permit::At(at(10)));
    }

    #[test]
    fn an_interest_leaves_a_lifetime_after_the_last_feedback_at_any_rate() {
        let mut cra = article(&[("initial_rate", "1 b/s")]);
        assert_eq!(permitted(&mut cra, 1250), Permit::At(at(2000)));
        cra.heard_at = at(9000);
        assert_eq!(permitted(&mut cra, 1250), Permit::At(at(11_000)));
        let mut cra = article(&[("initial_rate", "1 b/s")]);
        lose(&mut cra, at(2000));
        assert_eq!(permitted(&mut cra, 1250), Permit::At(at(2000)), "a timeout does not defer it");
    }

    #[test]
    fn timeouts_halve_the_rate_once_after_a_lifetime_without_a_target_rate() {
        let rate = |cra: &Cra| match cra.gauge() {
            Gauge::Rate(rate) => rate.as_bps(),
            _ => 0,
        };
        let mut cra = article(&[]);
        hear(&mut cra, at(1000), 100_000);
        lose(&mut cra, at(2900));
        assert_eq!(rate(&cra), 100_000, "routers give rates");
        (0..5).for_each(|n| lose(&mut cra, at(3000 + n)));
        assert_eq!(rate(&cra), 50_000, "those lost together count once");
        lose(&mut cra, at(4900));
        assert_eq!(rate(&cra), 50_000, "the lower rate has a lifetime to have an effect");
        lose(&mut cra, at(5100));
        assert_eq!(rate(&cra), 25_000);
    }
}
