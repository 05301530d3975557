//! The link to the neighbour: its measured rate, and the fields that are written into leaving packets.

use weir_core::ids::PrefixId;
use weir_core::packet::{FlowKey, Packet};
use weir_core::units::{Span, Time};

use super::signals::{Grant, Load, RTT_MEASURE, Said, is_said, write_link_rate};

/// The first packets after a change of 1 % carry LinkRate, and then packets at this period.
const TOLD_FIRST: u32 = 8;
const TOLD_EACH: u32 = 16;

/// The link to the neighbour.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The measured rate, bit/s, and the previous sample.
    rate: Option<f64>,
    sample: f64,
    /// The longest recent time of a packet.
    pub(super) longest: Span,
    /// The number of packets that left since the neighbour was told of a change.
    told: u32,
    /// For a neighbour that does not run the scheme: the rate that a flow may have, the bits of Data in this
    /// period, and a bit for each flow.
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

    /// Returns whether Data left in this period.
    pub(super) fn is_used(&self) -> bool {
        self.bits > 0.0
    }

    /// Counts a packet of this size that took this time.
    pub(super) fn on_sent(&mut self, bits: f64, took: Span) {
        if took == Span::ZERO {
            return;
        }
        self.longest = took.max(self.longest.scale(0.98));
        let sample = bits / took.as_secs_f64();
        let is_steady = (sample / self.sample - 1.0).abs() < 0.001;
        self.sample = sample;
        let rate = match self.rate {
            // If equal packets take equal times, the rate is exact. On a medium the mean time of a bit
            // counts.
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

    /// Counts Data for the neighbour that wait for the link.
    pub(super) fn on_data(&mut self, key: FlowKey, bits: f64) {
        self.bits += bits;
        self.flows |= 1 << ((key.prefix.0 ^ key.class as u32) % u64::BITS);
    }

    /// Adjusts the level of a flow if the neighbour requests more than fits: it follows what the other flows
    /// leave. At first all flows have the same level.
    pub(super) fn end_period(&mut self, gain: f64, passed: f64, horizon: f64, queue: f64) {
        let (bits, flows) = (core::mem::take(&mut self.bits), core::mem::take(&mut self.flows));
        let Some(rate) = self.rate else { return };
        let error = ((rate - bits / passed - queue / horizon) / rate).clamp(-1.0, 1.0);
        let begins = queue > 0.0 && error < 0.0 && self.level >= rate;
        let equal = rate / f64::from(flows.count_ones().max(1));
        let level = if begins { equal } else { self.level.clamp(0.001 * rate, rate) };
        // The step also applies at the maximum. Otherwise a single flow would keep the whole link for ever.
        self.level = (level * (1.0 + gain * passed / horizon * error)).min(rate);
    }

    /// Completes a leaving Data. Limits its grant to the level of this link, unless the neighbour runs the
    /// scheme and does so itself. Writes its time at this node, including the wait for the link.
    pub(super) fn finish(&mut self, now: Time, data: &mut Packet, takes_part: bool) {
        let level = Grant { rate: self.level, load: Load::Full };
        let restrains = !takes_part && self.rate.is_some_and(|rate| level.rate < rate);
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

    /// Returns whether the neighbour has received grants for a flow.
    pub(super) fn knows(&self, key: FlowKey) -> bool {
        self.grants.knows(key)
    }

    /// Writes the rate of the link into a leaving packet, if it is due; 0 if the rate is not known.
    pub(super) fn tell_rate(&mut self, packet: &mut Packet) {
        if self.told < TOLD_FIRST || is_said(self.told, TOLD_EACH) {
            write_link_rate(packet, self.rate.unwrap_or(0.0));
        }
        self.told = self.told.wrapping_add(1);
    }

    /// Removes the state of a prefix.
    pub(super) fn forget(&mut self, prefix: PrefixId) {
        self.grants.forget(prefix);
    }
}

#[cfg(test)]
mod tests {
    use weir_core::packet::Kind;
    use weir_core::units::{Bytes, Rate};

    use super::super::signals::take_link_rate;
    use super::*;

    /// Sends a packet of this size, with the time that a link of this rate takes.
    fn send(outgoing: &mut Outgoing, mbps: u64, bytes: u64) {
        let took = Rate::from_mbps(mbps).time_for(Bytes::new(bytes));
        outgoing.on_sent(8.0 * bytes as f64, took);
    }

    /// Returns the link's rate that a packet reports, Mb/s.
    fn told(outgoing: &mut Outgoing) -> Option<f64> {
        let mut packet = Packet::default();
        outgoing.tell_rate(&mut packet);
        take_link_rate(&mut packet).map(|rate| rate / 1e6)
    }

    /// Returns the grant with which a Data with this grant leaves. The Data reports that it took no time
    /// here.
    fn finish(outgoing: &mut Outgoing, grant: f64, takes_part: bool) -> Option<f64> {
        let mut data = Packet::default();
        data.kind = Kind::Data;
        Grant { rate: grant, load: Load::Usual }.write(&mut data);
        outgoing.finish(Time::ZERO, &mut data, takes_part);
        Grant::of(&data).map(|grant| grant.rate)
    }

    #[test]
    fn the_rate_is_exact_after_two_packets_of_any_sizes_and_said_then() {
        let mut outgoing = Outgoing::new();
        assert_eq!(told(&mut outgoing), Some(0.0), "it takes part, and does not know the rate");
        send(&mut outgoing, 10, 60);
        send(&mut outgoing, 10, 8000);
        assert_eq!(told(&mut outgoing), Some(10.0));
    }

    #[test]
    fn the_rate_is_said_in_eight_packets_after_a_change_and_then_in_each_sixteenth() {
        let mut outgoing = Outgoing::new();
        send(&mut outgoing, 10, 1000);
        let count = |outgoing: &mut Outgoing, n: u32| (0..n).filter_map(|_| told(outgoing)).count();
        assert_eq!(count(&mut outgoing, 8), 8);
        assert_eq!(count(&mut outgoing, 640), 40);
        (0..2).for_each(|_| send(&mut outgoing, 20, 1000));
        assert_eq!([(); 8].map(|()| told(&mut outgoing)), [Some(20.0); 8]);
        let unsaid = (0..64).skip_while(|_| told(&mut outgoing).is_some()).count();
        assert!(unsaid > 0 && told(&mut outgoing).is_none());
        // A packet that took a little longer, as on a host, changes nothing.
        outgoing.on_sent(8e3, Span::from_micros(402));
        assert_eq!(told(&mut outgoing), None);
    }

    #[test]
    fn on_a_medium_the_mean_time_of_a_bit_counts() {
        let mut outgoing = Outgoing::new();
        (0..200).for_each(|n| send(&mut outgoing, [5, 20][n % 2], 1000));
        let rate = outgoing.rate.unwrap() / 1e6;
        assert!((rate / 8.0 - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn data_without_a_changed_grant_carry_none_and_a_lost_one_is_said_again_at_once() {
        let mut outgoing = Outgoing::new();
        let says = |outgoing: &mut Outgoing, rate| finish(outgoing, rate, true).is_some();
        let first: Vec<bool> = (0..64).map(|_| says(&mut outgoing, 5e6)).collect();
        assert_eq!(first.iter().filter(|says| **says).count(), 8, "one of eight: {first:?}");
        assert!(first[..4].iter().all(|says| *says), "{first:?}");
        // A difference below 0.2 % is not a change.
        while says(&mut outgoing, 5e6) {}
        assert!(!says(&mut outgoing, 5.005e6));
        // One of these is lost.
        assert_eq!([(); 5].map(|()| says(&mut outgoing, 4e6)), [true, true, true, true, false]);
        let silent = (0..100).take_while(|_| !says(&mut outgoing, 4e6)).count();
        assert!(silent < 32, "even if all are lost it is said after {silent}");
    }

    #[test]
    fn a_forgotten_prefix_is_told_its_grant_anew() {
        let mut outgoing = Outgoing::new();
        while finish(&mut outgoing, 5e6, true).is_some() {}
        outgoing.forget(PrefixId::default());
        assert!(finish(&mut outgoing, 5e6, true).is_some());
    }

    #[test]
    fn who_takes_no_part_is_granted_what_fits_the_link() {
        let mut outgoing = Outgoing::new();
        send(&mut outgoing, 10, 1000);
        let flow = |prefix| FlowKey { prefix: PrefixId(prefix), ..FlowKey::default() };
        for _ in 0..200 {
            // Two flows want 20 Mb/s, and follow their grants.
            let rate = outgoing.level.min(10e6);
            (1..=2).for_each(|prefix| outgoing.on_data(flow(prefix), 0.025 * rate));
            let queue = if rate > 5e6 { 1e5 } else { 0.0 };
            outgoing.end_period(0.3, 0.025, 0.1, queue);
        }
        let granted = finish(&mut outgoing, 8e6, false).unwrap();
        assert!((granted / 5e6 - 1.0).abs() < 0.03, "{granted}");
        assert!(
            finish(&mut outgoing, 8e6, true).unwrap() > 7.9e6,
            "a neighbour that runs the scheme does this itself"
        );
    }

    #[test]
    fn one_flow_that_asks_for_too_much_is_granted_what_fits_too() {
        let mut outgoing = Outgoing::new();
        send(&mut outgoing, 10, 1000);
        // The neighbour may request 20 Mb/s, and follows its grants.
        let (mut asked, mut queue, mut most) = (20e6, 0.0_f64, 0.0_f64);
        for period in 0..800 {
            outgoing.on_data(FlowKey::default(), 0.025 * asked);
            queue = (queue + 0.025 * (asked - 10e6)).max(0.0);
            outgoing.end_period(0.3, 0.025, 0.1, queue);
            asked = finish(&mut outgoing, 20e6, false).unwrap_or(asked);
            most = if period < 200 { 0.0 } else { most.max(queue) };
        }
        // Where the level has returned to the whole link, the neighbour requests twice as much, for one
        // period.
        let excess = 0.025 * 10e6;
        assert!((9e6..10.5e6).contains(&asked) && most <= excess, "{asked} bit/s, at most {most} bits wait");
    }

    #[test]
    fn the_time_at_a_node_includes_the_wait_for_the_link() {
        let mut data = Packet::default();
        (data.kind, data.queued_at) = (Kind::Data, Time::from_nanos(1000));
        data.header_mut().signals.set(&RTT_MEASURE, 500);
        Outgoing::new().finish(Time::from_nanos(3000), &mut data, true);
        assert_eq!(data.header().signals.value(&RTT_MEASURE), Some(2500));
    }
}
