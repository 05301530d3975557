//! CRA, consumer rate adjustment (section IV-F): the consumer sends at the rate that the network suggests.

use weir_core::seam::{DataReceived, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use crate::qsccp::Settings;
use crate::qsccp::extensions::start::{Pending, Start};
use crate::qsccp::extensions::untold::Untold;
use crate::qsccp::signals::TARGET_RATE;

/// Interests lost within this part of a lifetime count as one loss.
const LOST_TOGETHER: u64 = 16;

/// The consumer's rate control.
#[derive(Debug)]
pub(crate) struct Cra {
    /// β of (13).
    beta: f64,
    /// R_I·S_D: the rate of Data asked for, bit/s; zero before the first feedback if the flow starts with a single
    /// Interest.
    rate: f64,
    last_sent: Option<Time>,
    /// When a Data last came, and when one with a TargetRate.
    heard_at: Time,
    told_at: Time,
    /// When the rate was last halved.
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

    /// (13) R_I(t) = β·R_I(t') + (1 − β)·R(t)/S_D, multiplied by S_D on both sides: it smooths the rate of
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
        let size = if ev.expected_size == Bytes::ZERO { self.usual_size } else { ev.expected_size };
        if self.start.permits(ev.pending, size) {
            return Permit::Now;
        }
        if !self.pending.permits(ev.pending, self.rate, size) {
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
        self.pending.note(ev.now, ev.rtt);
        let told = ev.data.header().signals.value(&TARGET_RATE).filter(|target| *target < u64::MAX);
        self.start.note(told.is_some());
        let Some(target) = told else {
            return self.untold.on_data(ev, ev.now.since(self.told_at) >= self.lifetime);
        };
        if self.untold.end() {
            self.rate = target as f64;
        } else {
            self.adjust(target as f64);
        }
        self.told_at = ev.now;
    }

    /// While routers give rates, a loss is no signal. But if no TargetRate came for a whole lifetime, the rate
    /// may be too high: every Interest may wait longer than its lifetime, or a network without feedback may
    /// lose them. So a loss halves the rate, once for all Interests that are lost together.
    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(probing) = self.untold.probing() {
            return probing.on_timeout(ev);
        }
        let together = self.lifetime / LOST_TOGETHER;
        let is_untold = ev.now.since(self.told_at) >= self.lifetime;
        if is_untold && (self.halved_at == Time::ZERO || ev.now.since(self.halved_at) >= together) {
            self.rate /= 2.0;
            self.halved_at = ev.now;
            // One more lifetime for the effect of the lower rate.
            if self.heard_at <= self.told_at {
                self.told_at = ev.now;
            }
        }
    }

    /// The scheduler decides how long an Interest waits in virtual queues. So it counts as lost only after its
    /// lifetime, or, if early loss is on, when later ones are answered.
    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        self.untold.as_probing().map_or(lifetime, |probing| probing.timeout(rto, lifetime))
    }

    /// Of the probing it is the window.
    fn gauge(&self) -> Gauge {
        match self.untold.as_probing() {
            Some(probing) => Gauge::Probing(probing.window()),
            None => Gauge::Rate(Rate::from_bps_f64(self.rate)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::pipe::{self, Pipe};
    use weir_core::seam::params::Params;

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

    /// The part of a link of so many Mb/s and this round trip, ms, that is used in 30 s, with the beginning; its buffer has
    /// room for so many Data of 8 kB.
    fn used(mbps: u64, rtt_ms: u64, limit: u32) -> f64 {
        let cra = Cra::new(0.8, Rate::from_bps(100_000), Span::from_secs(4), Bytes::new(1125));
        let unit = weir_core::seam::params::Value::Text("1448 B".to_owned());
        let params = Params::resolve(crate::window::cubic::ENTRY.parameters, [("unit", &unit)]).unwrap();
        let (rate, delay) = (Some(Rate::from_mbps(mbps)), Span::from_millis(rtt_ms));
        let pipe = Pipe { rate, delay, limit, content: 8000, early_loss: true, ..Pipe::default() };
        let got = pipe.run(Box::new(cra.probing(Some(Unit::new(&params)))), 30);
        got.bits as f64 / (mbps as f64 * 1e6 * 30.0)
    }

    #[test]
    fn where_nobody_says_a_rate_it_finds_one_whatever_the_buffer_is() {
        for (mbps, rtt_ms) in [(10, 20), (10, 100), (100, 20), (100, 100)] {
            let bdp = (mbps * rtt_ms) as f64 * 1000.0 / 8.0 / 8066.0;
            // An eighth of the BDP, half of it, and four of it.
            for limit in [bdp / 8.0, bdp / 2.0, 4.0 * bdp].map(|limit| limit.ceil() as u32) {
                let used = used(mbps, rtt_ms, limit);
                assert!(used > 0.8, "{mbps} Mb/s, {rtt_ms} ms, room for {limit}: {used}");
            }
            // Without a buffer slow start ends at half of the link or less, and CUBIC takes long to grow from there.
            let used = used(mbps, rtt_ms, 1);
            assert!(used > 0.5, "{mbps} Mb/s, {rtt_ms} ms, no buffer: {used}");
        }
    }

    /// A consumer that probes, and a Data that comes to it.
    fn hear(cra: &mut Cra, now: Time, target: Option<u64>) {
        let mut packet = weir_core::packet::Packet::default();
        if let Some(target) = target {
            packet.header_mut().signals.set(&TARGET_RATE, target);
        }
        let mut random = weir_core::random::Random::named(1, "cra");
        cra.on_data(&mut pipe::data(&packet, now, Span::from_millis(20), &mut random));
    }

    #[test]
    fn a_rate_that_is_told_ends_the_probing_at_once_and_silence_of_a_lifetime_begins_it() {
        let cra = Cra::new(0.8, Rate::from_bps(100_000), Span::from_secs(2), Bytes::new(1125));
        let mut cra = cra.probing(Some(Unit::DATA));
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        hear(&mut cra, at(20), None);
        assert!(matches!(cra.gauge(), Gauge::Probing(_)), "{:?}", cra.gauge());
        hear(&mut cra, at(40), Some(3_000_000));
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_mbps(3)));
        hear(&mut cra, at(2039), None);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_mbps(3)), "as from a content store");
        hear(&mut cra, at(2040), None);
        assert!(matches!(cra.gauge(), Gauge::Probing(_)));
    }

    #[test]
    fn on_a_path_that_says_rates_it_does_not_probe() {
        let [mut probes, mut doubles] = [Some(Unit::DATA), None].map(|unit| {
            Cra::new(0.8, Rate::from_bps(100_000), Span::from_secs(2), Bytes::new(1125)).probing(unit)
        });
        for ms in (20..1000).step_by(20) {
            for cra in [&mut probes, &mut doubles] {
                hear(cra, Time::ZERO + Span::from_millis(ms), Some(1000 * ms));
            }
            assert_eq!(probes.gauge(), doubles.gauge());
        }
    }
}
