//! The consumer asks at the rate that it is granted. Before it hears of one, it has a few Interests pending. Where nobody
//! grants, it probes for a rate (`untold.rs`).

use weir_core::seam::{
    DataReceived, FlowConfig, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent,
};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use super::Settings;
use super::signals::{Grant, ROUND_TRIP};
use crate::untold::Untold;

/// As in RFC 6928: the Data of the first Interests have so many bytes together. If their size is not known, there is one.
const FIRST_BYTES: u64 = 14_600;
/// Bytes of a Data before one came.
const USUAL_DATA: u64 = 1125;
/// Interests say the round trip: the first ones after a sample, and every so many.
const SAID_EACH: u32 = 8;
/// No larger grant is believed, bit/s.
const MOST: f64 = 1e12;
/// A rate below one Interest in so many lifetimes is not believed.
const LONGEST_WAIT: u64 = 8;

/// The consumer's rate control.
#[derive(Debug)]
pub(super) struct Consumer {
    /// The rate at which it asks, bit/s of Data; `None` before a grant.
    rate: Option<f64>,
    /// The first grant: of a node that may know less than the next Data.
    first: Option<f64>,
    /// Interests that may be pending before a grant.
    window: u32,
    untold: Untold,
    /// When a grant last came.
    told: Time,
    last_sent: Option<Time>,
    heard: Time,
    halved: Time,
    srtt: Option<Span>,
    sent: u32,
    lifetime: Span,
}

impl Consumer {
    pub(super) fn new(settings: &Settings, flow: &FlowConfig) -> Consumer {
        Consumer {
            rate: None,
            first: None,
            window: settings.initial_window,
            untold: Untold::new(Some(settings.unit)),
            told: Time::ZERO,
            last_sent: None,
            heard: Time::ZERO,
            halved: Time::ZERO,
            srtt: None,
            sent: 0,
            lifetime: flow.lifetime,
        }
    }
}

impl FlowControl for Consumer {
    fn permit(&mut self, ev: &mut PermitEvent<'_>) -> Permit {
        if let Some(probing) = self.untold.probing() {
            return probing.permit(ev);
        }
        let Some(last) = self.last_sent else { return Permit::Now };
        let size = ev.expected_size;
        let Some(rate) = self.rate else {
            let known = if size == Bytes::ZERO { 1 } else { FIRST_BYTES / size.as_u64() };
            let window = known.clamp(1, u64::from(self.window));
            return if u64::from(ev.pending) < window { Permit::Now } else { Permit::Blocked };
        };
        let size = if size == Bytes::ZERO { Bytes::new(USUAL_DATA) } else { size };
        let interval = Rate::from_bps_f64(rate).time_for(size);
        Permit::At((last + interval).min(last.max(self.heard) + self.lifetime * LONGEST_WAIT))
    }

    fn on_send(&mut self, ev: &mut SendEvent<'_>) -> u32 {
        self.last_sent = Some(ev.now);
        let signals = &mut ev.interest.header_mut().signals;
        if self.rate.is_none() && ev.expected_size > Bytes::ZERO {
            signals.set(&Signal::EXPECTED_SIZE, ev.expected_size.as_u64());
        }
        if let Some(srtt) = self.srtt {
            if self.sent.is_multiple_of(SAID_EACH) {
                signals.set(&ROUND_TRIP, srtt.as_nanos());
            }
            self.sent = self.sent.wrapping_add(1);
        }
        self.untold.probing().map_or(0, |probing| probing.on_send(ev))
    }

    fn on_data(&mut self, ev: &mut DataReceived<'_>) {
        self.heard = ev.now;
        self.srtt = ev.srtt;
        let Some(granted) = Grant::of(ev.data).map(|grant| grant.rate.min(MOST)) else {
            return self.untold.on_data(ev, ev.now.since(self.told) >= self.lifetime);
        };
        self.told = ev.now;
        if self.untold.end() {
            (self.rate, self.first) = (None, None);
        }
        match (self.rate, self.first) {
            // The first one may know less than the next.
            (None, None) => self.first = Some(granted),
            (None, Some(first)) => self.rate = Some(granted.min(first)),
            (Some(rate), _) => self.rate = Some(granted.min(0.5 * (granted + rate))),
        }
    }

    fn on_timeout(&mut self, ev: &mut LossEvent<'_>) {
        if let Some(probing) = self.untold.probing() {
            return probing.on_timeout(ev);
        }
        if ev.now.since(self.halved.max(self.heard)) > self.lifetime / 2 {
            self.halved = ev.now;
            self.rate = self.rate.map(|rate| rate / 2.0);
        }
    }

    fn timeout(&self, rto: Span, lifetime: Span) -> Span {
        self.untold.as_probing().map_or(lifetime, |probing| probing.timeout(rto, lifetime))
    }

    fn gauge(&self) -> Gauge {
        match (self.untold.as_probing(), self.rate) {
            (Some(probing), _) => Gauge::Probing(probing.window()),
            (None, Some(rate)) => Gauge::Rate(Rate::from_bps_f64(rate)),
            (None, None) => Gauge::Window(f64::from(self.window)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sluice::ENTRY;
    use crate::window::pipe::{self, FLOW, Pipe, article};
    use weir_core::packet::Packet;
    use weir_core::random::Random;

    fn consumer() -> Box<dyn FlowControl> {
        (ENTRY.build)(&article(&ENTRY)).flow_control(&FLOW)
    }

    /// A Data comes, with this grant if there is one.
    fn hear(consumer: &mut dyn FlowControl, ms: u64, granted: Option<f64>) {
        let mut packet = Packet::default();
        if let Some(rate) = granted {
            Grant { rate, load: super::super::signals::Load::Usual }.write(&mut packet);
        }
        let random = &mut Random::named(1, "consumer");
        let now = Time::ZERO + Span::from_millis(ms);
        consumer.on_data(&mut pipe::data(&packet, now, Span::from_millis(20), random));
    }

    #[test]
    fn the_second_grant_is_the_rate_and_a_lifetime_without_one_begins_the_probing() {
        let mut consumer = consumer();
        hear(&mut *consumer, 10, None);
        assert!(matches!(consumer.gauge(), Gauge::Probing(_)), "{:?}", consumer.gauge());
        hear(&mut *consumer, 20, Some(8e6));
        hear(&mut *consumer, 30, Some(4e6));
        let Gauge::Rate(rate) = consumer.gauge() else { panic!("{:?}", consumer.gauge()) };
        assert!((rate.as_bps_f64() / 4e6 - 1.0).abs() < 0.01);
        hear(&mut *consumer, 4029, None);
        assert_eq!(consumer.gauge(), Gauge::Rate(rate), "as from a content store");
        hear(&mut *consumer, 4030, None);
        assert!(matches!(consumer.gauge(), Gauge::Probing(_)));
    }

    #[test]
    fn where_nobody_grants_it_uses_the_path() {
        let (rate, delay) = (Some(Rate::from_mbps(10)), Span::from_millis(50));
        let got = Pipe { rate, delay, limit: 60, early_loss: true, ..Pipe::default() }.run(consumer(), 20);
        assert!(got.bits as f64 > 0.85 * 10e6 * 20.0, "{}", got.bits);
    }
}
