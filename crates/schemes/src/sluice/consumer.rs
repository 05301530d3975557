//! The consumer sends Interests at the granted rate. Before the first grant, it keeps a few Interests
//! pending. If no node grants a rate, the consumer probes for one (`untold.rs`).

use weir_core::seam::{
    DataReceived, FlowConfig, FlowControl, Gauge, LossEvent, Permit, PermitEvent, SendEvent,
};
use weir_core::units::{Bytes, Rate, Span, Time};
use weir_packet::Signal;

use super::Settings;
use super::signals::{Grant, ROUND_TRIP};
use crate::untold::Untold;

/// The bytes of Data that the first Interests bring together, as in RFC 6928. If the size of Data is not
/// known, there is one Interest.
const FIRST_BYTES: u64 = 14_600;
/// The size of a Data before the first one comes, bytes.
const USUAL_DATA: u64 = 1125;
/// The period of Interests that carry the round-trip time; the first ones after a sample also carry it.
const SAID_EACH: u32 = 8;
/// The largest grant that is accepted, bit/s.
const MOST: f64 = 1e12;
/// A rate below one Interest in this number of lifetimes is not accepted.
const LONGEST_WAIT: u64 = 8;

/// The rate control of a consumer.
#[derive(Debug)]
pub(super) struct Consumer {
    /// The requested rate, bit/s of Data; `None` before a grant.
    rate: Option<f64>,
    /// The first grant. Its node may know less than the node of the next Data.
    first: Option<f64>,
    /// The number of Interests that may be pending before a grant.
    window: u32,
    untold: Untold,
    /// The time of the latest grant.
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
            // The first grant may be based on less information than the next one.
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
            (Some(probing), _) => Gauge::Window(probing.window()),
            (None, Some(rate)) => Gauge::Rate(Rate::from_bps_f64(rate)),
            (None, None) => Gauge::Window(f64::from(self.window)),
        }
    }

    fn notice(&self) -> Option<&'static str> {
        self.untold.notice()
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

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Delivers a Data, with this grant if there is one.
    fn hear(consumer: &mut dyn FlowControl, ms: u64, granted: Option<f64>) {
        let mut packet = Packet::default();
        if let Some(rate) = granted {
            Grant { rate, load: super::super::signals::Load::Usual }.write(&mut packet);
        }
        let random = &mut Random::named(1, "consumer");
        consumer.on_data(&mut pipe::data(&packet, at(ms), Span::from_millis(20), random));
    }

    #[test]
    fn the_second_grant_is_the_rate_and_a_lifetime_without_one_begins_the_probing() {
        let mut consumer = consumer();
        hear(&mut *consumer, 10, None);
        assert!(consumer.notice().is_some(), "{:?}", consumer.gauge());
        hear(&mut *consumer, 20, Some(8e6));
        hear(&mut *consumer, 30, Some(4e6));
        let Gauge::Rate(rate) = consumer.gauge() else { panic!("{:?}", consumer.gauge()) };
        assert!((rate.as_bps_f64() / 4e6 - 1.0).abs() < 0.01);
        assert_eq!(consumer.notice(), None);
        hear(&mut *consumer, 4029, None);
        assert_eq!(consumer.gauge(), Gauge::Rate(rate), "as from a content store");
        hear(&mut *consumer, 4030, None);
        assert!(consumer.notice().is_some(), "{:?}", consumer.gauge());
    }

    /// Returns whether an Interest may leave while `pending` Interests for Data of this size, bytes, are
    /// pending.
    fn permit(consumer: &mut dyn FlowControl, ms: u64, pending: u32, size: u64) -> Permit {
        let (random, expected_size) = (&mut Random::named(1, "consumer"), Bytes::new(size));
        consumer.permit(&mut PermitEvent { now: at(ms), pending, expected_size, random })
    }

    fn send(consumer: &mut dyn FlowControl, ms: u64) -> Packet {
        let (random, mut interest) = (&mut Random::named(1, "consumer"), Packet::default());
        consumer.on_send(&mut SendEvent {
            now: at(ms),
            interest: &mut interest,
            segment: 0,
            retransmission: false,
            is_permitted: true,
            pending: 0,
            expected_size: Bytes::new(1000),
            random,
        });
        interest
    }

    fn lose(consumer: &mut dyn FlowControl, ms: u64) {
        let random = &mut Random::named(1, "consumer");
        let now = at(ms);
        consumer.on_timeout(&mut LossEvent { now, segment: 0, tag: 0, pending: 1, highest_sent: 9, random });
    }

    fn rate(consumer: &dyn FlowControl) -> f64 {
        let Gauge::Rate(rate) = consumer.gauge() else { panic!("{:?}", consumer.gauge()) };
        rate.as_bps_f64()
    }

    fn near(measured: f64, right: f64) -> bool {
        (measured / right - 1.0).abs() < 0.002
    }

    #[test]
    fn before_a_grant_ten_interests_are_pending_or_those_of_14600_bytes() {
        for (size, window) in [(0, 1), (200, 10), (1460, 10), (3000, 4), (8800, 1), (50_000, 1)] {
            let mut consumer = consumer();
            assert_eq!(permit(&mut *consumer, 1, 0, size), Permit::Now);
            send(&mut *consumer, 1);
            // One grant is not enough: its node may know less than the node of the next Data.
            for _ in 0..2 {
                assert_eq!(permit(&mut *consumer, 1, window - 1, size), Permit::Now, "{size}");
                assert_eq!(permit(&mut *consumer, 1, window, size), Permit::Blocked, "{size}");
                hear(&mut *consumer, 2, Some(8e6));
            }
        }
    }

    #[test]
    fn the_smaller_of_the_first_two_grants_is_the_rate_and_then_it_falls_at_once_and_rises_by_halves() {
        let mut consumer = consumer();
        let mut hear = |ms, granted| {
            hear(&mut *consumer, ms, Some(granted));
            consumer.gauge()
        };
        assert_eq!(hear(10, 4e6), Gauge::Window(10.0));
        for (granted, right) in [(8e6, 4e6), (2e6, 2e6), (8e6, 5e6), (8e6, 6.5e6), (1e6, 1e6)] {
            let Gauge::Rate(rate) = hear(20, granted) else { panic!("a rate") };
            assert!(near(rate.as_bps_f64(), right), "{rate:?} for {right}");
        }
    }

    #[test]
    fn interests_leave_at_the_rate() {
        let mut consumer = consumer();
        (0..2).for_each(|_| hear(&mut *consumer, 10, Some(8e6)));
        send(&mut *consumer, 20);
        let Permit::At(next) = permit(&mut *consumer, 20, 100, 1000) else { panic!("a time") };
        assert!(near(next.since(at(20)).as_secs_f64(), 1e-3), "{next:?}");
    }

    #[test]
    fn a_rate_near_none_keeps_it_from_asking_for_eight_lifetimes_at_most() {
        let mut consumer = consumer();
        (0..2).for_each(|_| hear(&mut *consumer, 10, Some(0.0)));
        send(&mut *consumer, 20);
        assert_eq!(permit(&mut *consumer, 20, 0, 1_000_000), Permit::At(at(20 + 8 * 4000)));
    }

    #[test]
    fn a_lifetime_of_timeouts_halves_the_rate_and_each_half_of_one_after_it() {
        let mut consumer = consumer();
        (0..2).for_each(|_| hear(&mut *consumer, 1000, Some(8e6)));
        // Losses while Data come do not end the grant.
        (1000..=3000).for_each(|ms| lose(&mut *consumer, ms));
        assert!(near(rate(&*consumer), 8e6));
        for (from, right) in [(5000, 4e6), (7001, 2e6), (9002, 1e6)] {
            (from..from + 2000).for_each(|ms| lose(&mut *consumer, ms));
            assert!(near(rate(&*consumer), right), "{from}: {}", rate(&*consumer));
        }
        // A new grant comes. A few Data later the consumer sends at that rate.
        (0..8).for_each(|n| hear(&mut *consumer, 12_000 + n, Some(8e6)));
        assert!(rate(&*consumer) > 7.8e6);
    }

    #[test]
    fn each_eighth_interest_says_the_round_trip() {
        let mut consumer = consumer();
        hear(&mut *consumer, 10, Some(8e6));
        let said: Vec<bool> = (0..24)
            .map(|n| send(&mut *consumer, 20 + n).header().signals.value(&ROUND_TRIP).is_some())
            .collect();
        assert_eq!(said.iter().filter(|said| **said).count(), 3);
        assert!(said[0] && said[8] && said[16]);
    }

    #[test]
    fn where_nobody_grants_it_uses_the_path() {
        let (rate, delay) = (Some(Rate::from_mbps(10)), Span::from_millis(50));
        let got = Pipe { rate, delay, limit: 60, early_loss: true, ..Pipe::default() }.run(consumer(), 20);
        assert!(got.bits as f64 > 0.85 * 10e6 * 20.0, "{}", got.bits);
    }
}
