//! What is counted during a run, and the accounts at its end.
//!
//! Those of flows are [`FlowAccounts`]; here are those of channels, kept in the same way: totals that only grow, and
//! for each interval what they were at its beginning and end.

use hashbrown::HashTable;
use weir_core::consumer::Delivery;
use weir_core::packet::Packet;
use weir_core::seam::DropReason;
use weir_core::units::{Rate, Span, Time};
use weir_measure::{
    DelayHistogram, Extent, FlowAccounts, FlowInfo, Interval, LinkRow, LinkSample, LinkSeries, Report,
    RunDocument, Series, Topology, WindowRow,
};

use crate::expect::Probes;
use crate::world::FlowApp;

/// What the accounts need to know of one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct ChannelInfo {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) rate: Rate,
}

/// What the accounts need to know of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) scenario: String,
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) scheme: String,
    pub(crate) variant: Option<String>,
    pub(crate) seed: u64,
    pub(crate) until: Time,
    pub(crate) step: Span,
    pub(crate) with_series: bool,
    pub(crate) flows: Vec<FlowInfo>,
    pub(crate) channels: Vec<ChannelInfo>,
    pub(crate) topology: Topology,
    pub(crate) provenance: Vec<(String, String)>,
    pub(crate) notes: Vec<String>,
    /// The windows that the document lists.
    pub(crate) windows: Vec<(Time, Time)>,
    pub(crate) probes: Probes,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChannelTotals {
    pub(crate) bits: u64,
    pub(crate) busy: Span,
    pub(crate) drops: u64,
    pub(crate) sent: u64,
    pub(crate) waited: Span,
    /// When the last packet is sent.
    busy_until: Time,
}

impl ChannelTotals {
    /// Those at `now`: what is left to send of the last packet does not count yet.
    fn by(self, now: Time) -> ChannelTotals {
        ChannelTotals { busy: self.busy - self.busy_until.since(now), ..self }
    }
}

/// The channels in a stretch of the run.
#[derive(Debug)]
pub(crate) struct ChannelInterval {
    from: Time,
    to: Time,
    active: bool,
    channels: [Vec<ChannelTotals>; 2],
    queueing: Vec<DelayHistogram>,
}

impl ChannelInterval {
    fn new(interval: &Interval, channels: usize) -> ChannelInterval {
        ChannelInterval {
            from: interval.from(),
            to: interval.to(),
            active: false,
            channels: [Vec::new(), Vec::new()],
            queueing: vec![DelayHistogram::coarse(); channels],
        }
    }

    /// What a channel did in it.
    pub(crate) fn channel(&self, channel: usize) -> ChannelTotals {
        let [before, after] = [self.channels[0][channel], self.channels[1][channel]];
        ChannelTotals {
            bits: after.bits - before.bits,
            busy: after.busy - before.busy,
            drops: after.drops - before.drops,
            sent: after.sent - before.sent,
            waited: after.waited - before.waited,
            ..after
        }
    }

    /// Queueing delays in front of a channel.
    pub(crate) fn queueing(&self, channel: usize) -> &DelayHistogram {
        &self.queueing[channel]
    }

    fn begin(&mut self, now: Time, channels: &[ChannelTotals]) {
        self.active = true;
        self.channels[0] = channels.iter().map(|totals| totals.by(now)).collect();
    }

    fn end(&mut self, now: Time, channels: &[ChannelTotals]) {
        self.active = false;
        self.channels[1] = channels.iter().map(|totals| totals.by(now)).collect();
        for channel in 0..self.queueing.len() {
            let sent = self.channel(channel).sent;
            let queueing = &mut self.queueing[channel];
            queueing.record_zeros(sent.saturating_sub(queueing.count()));
        }
    }
}

/// All accounts of a run.
#[derive(Debug)]
pub(crate) struct Measurements {
    plan: Plan,
    flows: FlowAccounts,
    channels: Vec<ChannelTotals>,
    drops: [u64; DropReason::ALL.len()],
    packet_hops: u64,
    /// Those of the flows' accounts, in their order.
    intervals: Vec<ChannelInterval>,
    flow_of_prefix: HashTable<(u64, u32)>,
    series: Vec<LinkSeries>,
    at_step: Vec<ChannelTotals>,
}

impl Measurements {
    pub(crate) fn new(mut plan: Plan, prefix_hashes: &[u64]) -> Measurements {
        let (flows, channels) = (plan.flows.len(), plan.channels.len());
        let mut flow_of_prefix = HashTable::with_capacity(flows);
        for (flow, &hash) in prefix_hashes.iter().enumerate() {
            if flow_of_prefix.find(hash, |entry: &(u64, u32)| entry.0 == hash).is_none() {
                flow_of_prefix.insert_unique(hash, (hash, flow as u32), |entry| entry.0);
            }
        }
        let extent = Extent {
            until: plan.until,
            windows: plan.windows.clone(),
            others: plan.probes.windows().collect(),
            step: plan.step,
            with_series: plan.with_series,
        };
        let flows = FlowAccounts::new(core::mem::take(&mut plan.flows), &extent);
        let samples = (plan.until.as_nanos() / plan.step.as_nanos()) as usize;
        let plotted = if plan.with_series { channels } else { 0 };
        Measurements {
            channels: vec![ChannelTotals::default(); channels],
            drops: [0; DropReason::ALL.len()],
            packet_hops: 0,
            intervals: flows.intervals().iter().map(|i| ChannelInterval::new(i, channels)).collect(),
            flows,
            flow_of_prefix,
            series: (0..plotted).map(|_| LinkSeries::with_room(samples)).collect(),
            at_step: vec![ChannelTotals::default(); channels],
            plan,
        }
    }

    pub(crate) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    // ---- Hooks

    /// A channel is used from now until then.
    #[inline]
    pub(crate) fn on_use(&mut self, channel: u32, now: Time, until: Time) {
        let totals = &mut self.channels[channel as usize];
        totals.busy = totals.busy + (until - now);
        totals.busy_until = until;
    }

    /// A packet left by a channel.
    #[inline]
    pub(crate) fn on_sent(&mut self, channel: u32, packet: &Packet, waited: Span) {
        self.packet_hops += 1;
        let bits = 8 * packet.wire_len();
        let totals = &mut self.channels[channel as usize];
        totals.bits += bits;
        totals.sent += 1;
        totals.waited = totals.waited + waited;
        // Most packets find an idle link: those are made up for at the end of the interval.
        if waited > Span::ZERO {
            for interval in self.intervals.iter_mut().filter(|i| i.active) {
                interval.queueing[channel as usize].record(waited.as_nanos());
            }
        }
        if packet.is_data() && self.plan.probes.watches(channel) {
            let flow = self.flow_of(packet);
            let intervals = &self.intervals;
            self.plan.probes.on_data(channel, flow, bits, |window| {
                intervals.iter().any(|i| i.active && (i.from, i.to) == window)
            });
        }
    }

    #[inline]
    pub(crate) fn on_delivery(&mut self, flow: u32, delivery: &Delivery, now: Time) {
        self.flows.on_delivery(flow as usize, delivery, now);
    }

    /// A packet was dropped; `channel` is that of its face.
    pub(crate) fn on_drop(&mut self, packet: &Packet, channel: Option<u32>, reason: DropReason) {
        self.drops[reason as usize] += 1;
        if !reason.is_loss() {
            return;
        }
        if let Some(channel) = channel {
            self.channels[channel as usize].drops += 1;
        }
        if packet.is_data()
            && let Some(flow) = self.flow_of(packet)
        {
            self.flows.on_loss(flow as usize);
        }
    }

    pub(crate) fn set_link_rate(&mut self, channel: u32, rate: Rate) {
        self.plan.channels[channel as usize].rate = rate;
    }

    /// The flow that a Data belongs to; the first one, where several consumers share a prefix.
    fn flow_of(&self, data: &Packet) -> Option<u32> {
        let hash = data.name.hash_of(data.name.len().checked_sub(1)?);
        self.flow_of_prefix.find(hash, |entry| entry.0 == hash).map(|entry| entry.1)
    }

    // ---- Time

    /// When [`Measurements::step`] is to be called.
    pub(crate) fn next_step(&self) -> Time {
        self.flows.next_step()
    }

    /// The end of a step, or an end of an interval.
    pub(crate) fn step(&mut self, apps: &[FlowApp]) {
        let (now, is_sample) = (self.flows.next_step(), self.flows.is_sample());
        for interval in &mut self.intervals {
            if interval.from == now {
                interval.begin(now, &self.channels);
            }
            if interval.to == now {
                interval.end(now, &self.channels);
            }
        }
        for (index, app) in apps.iter().enumerate() {
            self.flows.set_counters(index, *app.consumer.counters());
        }
        self.flows.end_step();
        if is_sample {
            self.sample(now);
        }
    }

    /// The end of the run: what would have happened at `until`.
    pub(crate) fn finish(&mut self, until: Time, apps: &[FlowApp]) {
        while self.next_step() < until {
            self.step(apps);
        }
        self.flows.end_at(until);
        self.step(apps);
    }

    fn sample(&mut self, now: Time) {
        let flows = &self.flows;
        self.plan.probes.on_sample(now, |flow| flows.total(flow).content);
        self.sample_series(now);
        for (before, totals) in self.at_step.iter_mut().zip(&self.channels) {
            *before = totals.by(now);
        }
    }

    fn sample_series(&mut self, at: Time) {
        let seconds = self.plan.step.as_secs_f64();
        for (index, series) in self.series.iter_mut().enumerate() {
            let (now, before) = (self.channels[index].by(at), self.at_step[index]);
            let sent = now.sent - before.sent;
            let waited = now.waited - before.waited;
            series.push(LinkSample {
                throughput_bps: ((now.bits - before.bits) as f64 / seconds) as f32,
                utilisation: ((now.busy - before.busy).as_secs_f64() / seconds) as f32,
                // Little's law: packets that wait, on average, are their waiting times per second.
                queue_packets: (waited.as_secs_f64() / seconds) as f32,
                queue_ms: (sent > 0).then(|| (waited.as_millis_f64() / sent as f64) as f32),
                drops: (now.drops - before.drops) as u32,
            });
        }
    }

    // ---- Accounts

    pub(crate) fn report(mut self, events: u64) -> Report {
        let (flows, whole) = (&self.flows, self.flows.whole());
        // All of them: the run went to its end.
        let windows = flows.windows().map(|(window, interval)| WindowRow {
            from_s: interval.from().as_secs_f64(),
            to_s: interval.to().as_secs_f64(),
            flows: flows.flow_rows(interval),
            classes: flows.class_rows(interval),
            groups: flows.group_rows(interval),
            links: self.link_rows(1 + window, interval.seconds()),
            optimum: None,
        });
        let document = RunDocument {
            schema: RunDocument::SCHEMA,
            version: String::new(),
            command: String::new(),
            scenario: self.plan.scenario.clone(),
            scheme: self.plan.scheme.clone(),
            variant: self.plan.variant.clone(),
            seed: self.plan.seed,
            set: Vec::new(),
            simulated_s: self.plan.until.as_secs_f64(),
            wall_s: 0.0,
            events,
            packet_hops: self.packet_hops,
            flows: flows.flow_rows(whole),
            classes: flows.class_rows(whole),
            groups: flows.group_rows(whole),
            links: self.link_rows(0, whole.seconds()),
            windows: windows.collect(),
            optimum: None,
            expectations: self.plan.probes.rows_with_links(flows, &self.intervals),
        };
        let (flows, classes, samples) = self.flows.take_series();
        let step_s = if self.plan.with_series { self.plan.step.as_secs_f64() } else { 0.0 };
        let series = Series { step_s, samples, flows, classes, links: self.series };
        let reasons = DropReason::ALL.into_iter().zip(self.drops).filter(|(_, count)| *count > 0);
        Report {
            document,
            series,
            topology: self.plan.topology,
            title: self.plan.title,
            source: self.plan.source,
            provenance: self.plan.provenance,
            drops_by_reason: reasons.map(|(reason, count)| (reason.words().to_owned(), count)).collect(),
            notes: self.plan.notes,
        }
    }

    fn link_rows(&self, interval: usize, seconds: f64) -> Vec<LinkRow> {
        let interval = &self.intervals[interval];
        let row = |(index, info): (usize, &ChannelInfo)| {
            let totals = interval.channel(index);
            LinkRow {
                from: info.from.clone(),
                to: info.to.clone(),
                rate_bps: info.rate.as_bps_f64(),
                utilisation: totals.busy.as_secs_f64() / seconds,
                drops: totals.drops,
                queue_ms: interval.queueing(index).queue_ms(),
            }
        };
        self.plan.channels.iter().enumerate().map(row).collect()
    }
}
