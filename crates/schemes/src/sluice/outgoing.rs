//! The link to the neighbour: its rate, as its packets show it, and what is written into the packets that leave.

use weir_core::ids::PrefixId;
use weir_core::packet::{FlowKey, Packet};
use weir_core::units::{Span, Time};

use super::signals::{Grant, Load, RTT_MEASURE, Said, is_said, write_link_rate};

/// LinkRate is in the first packets after a change of 1 %, and then in every so many.
const TOLD_FIRST: u32 = 8;
const TOLD_EACH: u32 = 16;
/// A level that is this part of the link restrains nobody.
const UNRESTRAINED: f64 = 0.97;

/// The link to the neighbour.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Its rate, bit/s, as measured; and the sample before.
    rate: Option<f64>,
    sample: f64,
    /// The longest time of a packet lately.
    pub(super) longest: Span,
    /// Packets that left since the neighbour was told of a change.
    told: u32,
    /// What a flow may have of it, where the neighbour takes no part; bits of Data in this period, and a bit for each flow.
    level: f64,
    bits: f64,
    flows: u64,
    grants: Said,
}

impl Outgoing {
    pub(super) fn new() -> Outgoing {
        Outgoing {
            rate: None,
            sample: 0.0,
            longest: Span::ZERO,
            told: 0,
            level: f64::INFINITY,
            bits: 0.0,
            flows: 0,
            grants: Said::default(),
        }
    }

    /// Whether Data left in this period.
    pub(super) fn is_used(&self) -> bool {
        self.bits > 0.0
    }

    /// A packet took so long.
    pub(super) fn on_sent(&mut self, bits: f64, took: Span) {
        if took == Span::ZERO {
            return;
        }
        self.longest = took.max(self.longest.scale(0.98));
        let sample = bits / took.as_secs_f64();
        let is_steady = (sample / self.sample - 1.0).abs() < 0.001;
        self.sample = sample;
        let rate = match self.rate {
            // Where packets take the same each, the rate is exact. On a medium, the mean time of a bit counts.
            Some(rate) if !is_steady => 1.0 / (1.0 / rate + 0.1 * (1.0 / sample - 1.0 / rate)),
            _ => sample,
        };
        if self.rate.is_none_or(|before| (rate / before - 1.0).abs() > 0.01) {
            self.told = 0;
        }
        if (self.rate.unwrap_or(0.0) / rate - 1.0).abs() > 1e-4 {
            self.rate = Some(rate);
        }
    }

    /// Data for the neighbour wait for the link.
    pub(super) fn on_data(&mut self, key: FlowKey, bits: f64) {
        self.bits += bits;
        self.flows |= 1 << ((key.prefix.0 ^ key.class as u32) % u64::BITS);
    }

    /// The neighbour asks for more than fits: what a flow may have follows what they leave. At first all have as much.
    pub(super) fn end_period(&mut self, gain: f64, passed: f64, horizon: f64, queue: f64) {
        let Some(rate) = self.rate else { return };
        let error = ((rate - self.bits / passed - queue / horizon) / rate).clamp(-1.0, 1.0);
        if queue > 0.0 && error < 0.0 && self.level >= rate {
            self.level = rate / f64::from(self.flows.count_ones().max(1));
        } else {
            self.level =
                (self.level.clamp(0.001 * rate, rate) * (1.0 + gain * passed / horizon * error)).min(rate);
        }
        (self.bits, self.flows) = (0.0, 0);
    }

    /// A Data leaves: its grant is at most the level of this link, unless the neighbour sees to that by itself. It says how long
    /// it took at this node, the wait for the link included.
    pub(super) fn finish(&mut self, now: Time, data: &mut Packet, takes_part: bool) {
        let level = Grant { rate: self.level, load: Load::Full };
        let restrains = !takes_part && self.rate.is_some_and(|rate| level.rate < UNRESTRAINED * rate);
        if restrains && Grant::of(data).is_none_or(|grant| level.rate < grant.rate) {
            level.write(data);
        }
        self.grants.leave_out(data);
        let waited = now.since(data.queued_at).as_nanos();
        let signals = &mut data.header_mut().signals;
        if let Some(took) = signals.value(&RTT_MEASURE) {
            signals.set(&RTT_MEASURE, took.saturating_add(waited));
        }
    }

    /// A packet leaves: it may say the rate of the link; 0 if that is not known.
    pub(super) fn tell_rate(&mut self, packet: &mut Packet) {
        if self.told < TOLD_FIRST || is_said(self.told, TOLD_EACH) {
            write_link_rate(packet, self.rate.unwrap_or(0.0));
        }
        self.told = self.told.wrapping_add(1);
    }

    /// A prefix is forgotten.
    pub(super) fn forget(&mut self, prefix: PrefixId) {
        self.grants.forget(prefix);
    }
}
