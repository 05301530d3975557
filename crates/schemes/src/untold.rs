//! A path without reported rates, because no router on it runs the scheme. QSCCP and Sluice use this.
//!
//! ```text
//!              a Data without a rate, and none with one for a lifetime, or ever
//!   told ----------------------------------------------------------------------> probing
//!        <----------------------------------------------------------------------
//!              a Data with a rate
//! ```
//!
//! The consumer then probes by delay, losses and marks, as a responsible sender does on an unknown path. It
//! uses CUBIC (RFC 9438), whose slow start ends by delay (HyStart++, RFC 9406), and it paces Interests (RFC
//! 9002, section 7.7). So it shares with flows of TCP. A single Data without a rate, for example from the
//! consumer's own content store, changes nothing.
//!
//! The rate is QSCCP's TargetRate, or Sluice's Grant.

use weir_core::seam::{DataReceived, FlowControl};
use weir_core::units::Span;

use crate::window::paced::Paced;
use crate::window::{Guard, Reaction, Recovery, Signs, Unit, WindowFlow, cubic};

/// The congestion signals while probing: marks and losses, at most once a window.
const PROBING: Reaction = Reaction {
    signs: Signs { marks: true, losses: true },
    guard: Guard { marks: true, losses: true, by: Recovery::Sending, add_rtt: 0.0 },
    min_rto: Span::ZERO,
    late_data_twice: false,
    unit: Unit::DATA,
    spread: 0.0,
};

/// A Data that comes sooner is from this node or its neighbour. The initial window suffices for it, and it
/// gives no information about the path of Data from farther away.
const LOCAL: Span = Span::from_millis(1);

/// The behaviour of a consumer without a reported rate.
#[derive(Debug)]
pub(crate) struct Untold {
    /// The unit of the probing window; `None` if the consumer does not probe.
    probes_by: Option<Unit>,
    probing: Option<WindowFlow<Paced>>,
    was_told: bool,
}

impl Untold {
    /// Returns a state that probes with packets of this unit, or not at all.
    pub(crate) fn new(probes_by: Option<Unit>) -> Untold {
        Untold { probes_by, probing: None, was_told: false }
    }

    /// Returns the probing window while probing.
    pub(crate) fn probing(&mut self) -> Option<&mut WindowFlow<Paced>> {
        self.probing.as_mut()
    }

    /// Returns the probing window while probing.
    pub(crate) fn as_probing(&self) -> Option<&WindowFlow<Paced>> {
        self.probing.as_ref()
    }

    /// Returns a notice for the user while probing.
    pub(crate) fn notice(&self) -> Option<&'static str> {
        self.probing.as_ref().map(|_| "no forwarder on the path has reported a rate so far: probing for one")
    }

    /// Handles a Data without a rate. `for_long` is whether no Data with a rate came for long.
    pub(crate) fn on_data(&mut self, ev: &mut DataReceived<'_>, for_long: bool) {
        if let Some(unit) = self.probes_by
            && self.probing.is_none()
            && (for_long || !self.was_told)
            && ev.rtt.is_some_and(|rtt| rtt >= LOCAL)
        {
            let reaction = Reaction { unit, ..PROBING };
            self.probing = Some(WindowFlow::new(cubic::Settings::of_rfc(), reaction));
        }
        if let Some(probing) = &mut self.probing {
            probing.on_data(ev);
        }
    }

    /// Handles a Data with a rate. Returns whether probing ends with it.
    pub(crate) fn end(&mut self) -> bool {
        self.was_told = true;
        self.probing.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qsccp::ENTRY;
    use crate::window::pipe::{self, Pipe};
    use weir_core::packet::Packet;
    use weir_core::random::Random;
    use weir_core::seam::params::Params;
    use weir_core::seam::params::Value::{self, Text};
    use weir_core::seam::{FlowConfig, Gauge};
    use weir_core::units::{Rate, Time};

    /// Returns a consumer whose Interests have this lifetime, s.
    fn consumer(given: &[(&str, &str)], lifetime: u64) -> Box<dyn FlowControl> {
        let given: Vec<(&str, Value)> =
            given.iter().map(|(key, value)| (*key, Text((*value).into()))).collect();
        let given = given.iter().map(|(key, value)| (*key, value));
        let params = Params::resolve(ENTRY.parameters, given).unwrap();
        let flow = FlowConfig { lifetime: Span::from_secs(lifetime), ..pipe::FLOW };
        (ENTRY.build)(&params).flow_control(&flow)
    }

    /// Returns the used part of a link of `mbps` and this round-trip time, ms, in 30 s from the start. The
    /// buffer has room for `limit` Data of 8 kB.
    fn used(mbps: u64, rtt_ms: u64, limit: u32) -> f64 {
        let (rate, delay) = (Some(Rate::from_mbps(mbps)), Span::from_millis(rtt_ms));
        let pipe = Pipe { rate, delay, limit, content: 8000, early_loss: true, ..Pipe::default() };
        let got = pipe.run(consumer(&[("unit", "1448 B")], 4), 30);
        got.bits as f64 / (mbps as f64 * 1e6 * 30.0)
    }

    #[test]
    fn where_no_router_says_a_rate_the_consumer_finds_one_whatever_the_buffer_is() {
        for (mbps, rtt_ms) in [(10, 20), (10, 100), (100, 20), (100, 100)] {
            let bdp = (mbps * rtt_ms) as f64 * 1000.0 / 8.0 / 8066.0;
            // An eighth of the BDP, half of it, and four times it.
            for limit in [bdp / 8.0, bdp / 2.0, 4.0 * bdp].map(|limit| limit.ceil() as u32) {
                let used = used(mbps, rtt_ms, limit);
                assert!(used > 0.8, "{mbps} Mb/s, {rtt_ms} ms, room for {limit}: {used}");
            }
            // Without a buffer, slow start ends at half of the link or less, and CUBIC takes long to grow
            // from there.
            let used = used(mbps, rtt_ms, 1);
            assert!(used > 0.5, "{mbps} Mb/s, {rtt_ms} ms, no buffer: {used}");
        }
    }

    /// Delivers a Data, with this TargetRate if there is one.
    fn hear(cra: &mut dyn FlowControl, ms: u64, target: Option<u64>) {
        let mut packet = Packet::default();
        if let Some(target) = target {
            let signal = ENTRY.signals.iter().find(|signal| signal.name == "TargetRate");
            packet.header_mut().signals.set(signal.unwrap(), target);
        }
        let random = &mut Random::named(1, "cra");
        let now = Time::ZERO + Span::from_millis(ms);
        cra.on_data(&mut pipe::data(&packet, now, Span::from_millis(20), random));
    }

    #[test]
    fn a_target_rate_ends_the_probing_at_once_and_a_lifetime_without_one_begins_it() {
        let mut cra = consumer(&[], 2);
        hear(&mut *cra, 20, None);
        assert!(cra.notice().is_some(), "{:?}", cra.gauge());
        hear(&mut *cra, 40, Some(3_000_000));
        assert_eq!((cra.gauge(), cra.notice()), (Gauge::Rate(Rate::from_mbps(3)), None));
        hear(&mut *cra, 2039, None);
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_mbps(3)), "as from a content store");
        hear(&mut *cra, 2040, None);
        assert!(cra.notice().is_some(), "{:?}", cra.gauge());
    }

    #[test]
    fn on_a_path_that_says_rates_the_consumer_does_not_probe() {
        let [mut probes, mut keeps] = ["probe", "keep"].map(|untold| consumer(&[("untold", untold)], 2));
        for ms in (20..1000).step_by(20) {
            for cra in [&mut probes, &mut keeps] {
                hear(&mut **cra, ms, Some(1000 * ms));
            }
            assert_eq!(probes.gauge(), keeps.gauge());
        }
    }

    #[test]
    fn a_consumer_that_does_not_probe_keeps_its_rate() {
        let mut cra = consumer(&[("untold", "keep"), ("initial_rate", "100 kb/s")], 2);
        (1..500).for_each(|n| hear(&mut *cra, 20 * n, None));
        assert_eq!(cra.gauge(), Gauge::Rate(Rate::from_bps(100_000)));
    }
}
