//! What is counted during a run, and the accounts at its end.
//!
//! Totals only grow; an [`Interval`] (the whole run, a measuring window, the window of an
//! expectation) keeps what they were at its beginning and end, and delays of its own. Time series
//! are differences of totals at the ends of steps.

use hashbrown::HashTable;
use weir_core::consumer::{ConsumerCounters, Delivery};
use weir_core::packet::Packet;
use weir_core::scheme::DropReason;
use weir_core::units::{Rate, Span, Time};
use weir_packet::ServiceClass;
use weir_results::{
    ClassRow, ClassSeries, DelayHistogram, FlowRow, FlowSample, GroupRow, LinkRow, LinkSample, Report,
    RunDocument, Series, Topology, WindowRow,
};

use crate::expect::{self, Probes};
use crate::world::FlowApp;

/// With more flows than this, percentiles are kept by class only: a table a flow would be most of
/// the memory of a run.
const FLOWS_WITH_PERCENTILES: usize = 5_000;
/// With more flows than this, time series are kept by class only.
const FLOWS_WITH_SERIES: usize = 2_000;

/// What the accounts need to know of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowInfo {
    pub(crate) consumer: String,
    pub(crate) prefix: String,
    /// Flows of a group follow each other.
    pub(crate) group: String,
    pub(crate) class: ServiceClass,
    pub(crate) start: Time,
}

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
pub(crate) struct FlowTotals {
    pub(crate) content: u64,
    pub(crate) lost: u64,
    pub(crate) counters: ConsumerCounters,
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

/// A flow or channel since the last step.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    sum: Span,
    count: u64,
}

/// A stretch of the run with accounts of its own.
#[derive(Debug)]
pub(crate) struct Interval {
    pub(crate) from: Time,
    pub(crate) to: Time,
    active: bool,
    flows: [Vec<FlowTotals>; 2],
    channels: [Vec<ChannelTotals>; 2],
    flow_delays: Vec<DelayHistogram>,
    class_delays: Vec<DelayHistogram>,
    queueing: Vec<DelayHistogram>,
}

impl Interval {
    fn new(from: Time, to: Time, flows: usize, channels: usize) -> Interval {
        let by_flow = flows <= FLOWS_WITH_PERCENTILES;
        Interval {
            from,
            to,
            active: false,
            flows: [Vec::new(), Vec::new()],
            channels: [Vec::new(), Vec::new()],
            flow_delays: vec![DelayHistogram::new(); if by_flow { flows } else { 0 }],
            class_delays: vec![DelayHistogram::new(); if by_flow { 0 } else { ServiceClass::ALL.len() }],
            queueing: vec![DelayHistogram::coarse(); channels],
        }
    }

    pub(crate) fn seconds(&self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }

    /// What a flow did in it.
    pub(crate) fn flow(&self, flow: usize) -> FlowTotals {
        let [before, after] = [self.flows[0][flow], self.flows[1][flow]];
        FlowTotals {
            content: after.content - before.content,
            lost: after.lost - before.lost,
            counters: ConsumerCounters {
                retransmitted: after.counters.retransmitted - before.counters.retransmitted,
                timeouts: after.counters.timeouts - before.counters.timeouts,
                ..ConsumerCounters::default()
            },
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

    /// Delays of a flow's segments; none where there are too many flows for that.
    pub(crate) fn delays(&self, flow: usize) -> Option<&DelayHistogram> {
        self.flow_delays.get(flow)
    }

    /// Queueing delays in front of a channel.
    pub(crate) fn queueing(&self, channel: usize) -> &DelayHistogram {
        &self.queueing[channel]
    }

    /// Delays of the segments of some flows; none where there are too many flows for that.
    fn delays_of(&self, flows: &[usize]) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for delays in flows.iter().filter_map(|&flow| self.delays(flow)) {
            sum.merge(delays);
        }
        sum
    }

    fn class_delays(&self, class: ServiceClass, flows: &[usize]) -> DelayHistogram {
        self.class_delays.get(class as usize).cloned().unwrap_or_else(|| self.delays_of(flows))
    }
}

/// When a flow had fetched all that it was to fetch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) at: Time,
    /// How long that took from the flow's own start.
    pub(crate) after: Span,
}

/// All accounts of a run.
#[derive(Debug)]
pub(crate) struct Measurements {
    plan: Plan,
    flows: Vec<FlowTotals>,
    channels: Vec<ChannelTotals>,
    completion: Vec<Option<Completion>>,
    drops: [u64; DropReason::ALL.len()],
    packet_hops: u64,
    /// The first is the whole run, then the windows, then those of expectations.
    intervals: Vec<Interval>,
    flow_of_prefix: HashTable<(u64, u32)>,
    series: Series,
    classes: Vec<ServiceClass>,
    since_step: Vec<Delays>,
    at_step: (Vec<FlowTotals>, Vec<ChannelTotals>),
    next_sample: Time,
    next_step: Time,
}

impl Measurements {
    pub(crate) fn new(plan: Plan, prefix_hashes: &[u64]) -> Measurements {
        let (flows, channels) = (plan.flows.len(), plan.channels.len());
        let wanted = core::iter::once((Time::ZERO, plan.until)).chain(plan.windows.iter().copied());
        let mut intervals: Vec<_> =
            wanted.map(|(from, to)| Interval::new(from, to, flows, channels)).collect();
        for (from, to) in plan.probes.windows() {
            if !intervals.iter().any(|i| (i.from, i.to) == (from, to)) {
                intervals.push(Interval::new(from, to, flows, channels));
            }
        }
        let mut flow_of_prefix = HashTable::with_capacity(flows);
        for (flow, &hash) in prefix_hashes.iter().enumerate() {
            if flow_of_prefix.find(hash, |entry: &(u64, u32)| entry.0 == hash).is_none() {
                flow_of_prefix.insert_unique(hash, (hash, flow as u32), |entry| entry.0);
            }
        }
        let classes: Vec<_> =
            ServiceClass::ALL.into_iter().filter(|c| plan.flows.iter().any(|f| f.class == *c)).collect();
        let mut measure = Measurements {
            flows: vec![FlowTotals::default(); flows],
            channels: vec![ChannelTotals::default(); channels],
            completion: vec![None; flows],
            drops: [0; DropReason::ALL.len()],
            packet_hops: 0,
            intervals,
            flow_of_prefix,
            series: Series::default(),
            classes,
            since_step: vec![Delays::default(); flows],
            at_step: (vec![FlowTotals::default(); flows], vec![ChannelTotals::default(); channels]),
            next_sample: Time::ZERO + plan.step,
            next_step: Time::ZERO,
            plan,
        };
        measure.series = measure.empty_series();
        measure
    }

    fn empty_series(&self) -> Series {
        if !self.plan.with_series {
            return Series::default();
        }
        let samples = (self.plan.until.as_nanos() / self.plan.step.as_nanos()) as usize;
        let flows = if self.flows.len() <= FLOWS_WITH_SERIES { self.flows.len() } else { 0 };
        let mut series = Series::with_room(self.plan.step.as_secs_f64(), samples, flows, self.channels.len());
        series.classes = self.classes.iter().map(|class| empty_class(*class, samples)).collect();
        series
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

    pub(crate) fn on_delivery(&mut self, flow: u32, delivery: &Delivery, now: Time) {
        let index = flow as usize;
        self.flows[index].content += delivery.content;
        if delivery.complete && self.completion[index].is_none() {
            let after = now - self.plan.flows[index].start;
            self.completion[index] = Some(Completion { at: now, after });
        }
        let since = &mut self.since_step[index];
        since.sum = since.sum + delivery.delay;
        since.count += 1;
        let class = self.plan.flows[index].class as usize;
        for interval in self.intervals.iter_mut().filter(|i| i.active) {
            match interval.flow_delays.get_mut(index) {
                Some(delays) => delays.record(delivery.delay.as_nanos()),
                None => interval.class_delays[class].record(delivery.delay.as_nanos()),
            }
        }
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
            self.flows[flow as usize].lost += 1;
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
        self.next_step
    }

    /// The end of a step, or an end of an interval.
    pub(crate) fn step(&mut self, apps: &[FlowApp]) {
        let now = self.next_step;
        self.read_counters(apps);
        for index in 0..self.intervals.len() {
            if self.intervals[index].from == now {
                self.begin(index, now);
            }
            if self.intervals[index].to == now {
                self.end(index, now);
            }
        }
        if self.next_sample == now {
            self.sample(now);
            self.next_sample += self.plan.step;
        }
        let ends = self.intervals.iter().flat_map(|i| [i.from, i.to]).filter(|at| *at > now);
        self.next_step = ends.fold(self.next_sample, Time::min);
    }

    /// The end of the run: what would have happened at `until`.
    pub(crate) fn finish(&mut self, until: Time, apps: &[FlowApp]) {
        while self.next_step < until {
            self.step(apps);
        }
        self.next_step = until;
        self.step(apps);
    }

    fn read_counters(&mut self, apps: &[FlowApp]) {
        for (totals, app) in self.flows.iter_mut().zip(apps) {
            totals.counters = *app.consumer.counters();
        }
    }

    fn begin(&mut self, index: usize, now: Time) {
        let interval = &mut self.intervals[index];
        interval.active = true;
        interval.flows[0].clone_from(&self.flows);
        interval.channels[0] = self.channels.iter().map(|totals| totals.by(now)).collect();
    }

    fn end(&mut self, index: usize, now: Time) {
        let interval = &mut self.intervals[index];
        interval.active = false;
        interval.flows[1].clone_from(&self.flows);
        interval.channels[1] = self.channels.iter().map(|totals| totals.by(now)).collect();
        for channel in 0..interval.queueing.len() {
            let sent = interval.channel(channel).sent;
            let queueing = &mut interval.queueing[channel];
            queueing.record_zeros(sent.saturating_sub(queueing.count()));
        }
    }

    fn sample(&mut self, now: Time) {
        let flows = &self.flows;
        self.plan.probes.on_sample(now, |flow| flows[flow].content);
        if self.plan.with_series {
            self.sample_series(now);
        }
        self.since_step.fill(Delays::default());
        self.at_step.0.copy_from_slice(&self.flows);
        for (before, totals) in self.at_step.1.iter_mut().zip(&self.channels) {
            *before = totals.by(now);
        }
    }

    fn sample_series(&mut self, at: Time) {
        let seconds = self.plan.step.as_secs_f64();
        let mut classes = [(0_u64, Delays::default(), 0_u64, 0_u64); ServiceClass::ALL.len()];
        for (index, info) in self.plan.flows.iter().enumerate() {
            let (now, before, delays) = (self.flows[index], self.at_step.0[index], self.since_step[index]);
            let content = now.content - before.content;
            let lost = now.lost - before.lost;
            let retransmitted = now.counters.retransmitted - before.counters.retransmitted;
            let sum = &mut classes[info.class as usize];
            sum.0 += content;
            sum.1.sum = sum.1.sum + delays.sum;
            sum.1.count += delays.count;
            sum.2 += lost;
            sum.3 += retransmitted;
            if let Some(series) = self.series.flows.get_mut(index) {
                let sent = now.counters.sent - before.counters.sent;
                series.push(FlowSample {
                    goodput_bps: per_second(8 * content, seconds),
                    delay_ms: delays.mean_ms(),
                    sent_rate: per_second(sent, seconds),
                    lost: lost as u32,
                    retransmitted: retransmitted as u32,
                });
            }
        }
        for (series, class) in self.series.classes.iter_mut().zip(&self.classes) {
            let (content, delays, lost, retransmitted) = classes[*class as usize];
            series.goodput_bps.push(per_second(8 * content, seconds));
            series.delay_ms.push(delays.mean_ms().unwrap_or(f32::NAN));
            series.lost.push(lost as u32);
            series.retransmitted.push(retransmitted as u32);
        }
        for (index, series) in self.series.links.iter_mut().enumerate() {
            let (now, before) = (self.channels[index].by(at), self.at_step.1[index]);
            let sent = now.sent - before.sent;
            let waited = now.waited - before.waited;
            series.push(LinkSample {
                throughput_bps: per_second(now.bits - before.bits, seconds),
                utilisation: ((now.busy - before.busy).as_secs_f64() / seconds) as f32,
                // Little's law: packets that wait, on average, are their waiting times per second.
                queue_packets: (waited.as_secs_f64() / seconds) as f32,
                queue_ms: (sent > 0).then(|| (waited.as_millis_f64() / sent as f64) as f32),
                drops: (now.drops - before.drops) as u32,
            });
        }
    }

    // ---- Accounts

    pub(crate) fn report(self, events: u64) -> Report {
        let whole = &self.intervals[0];
        let windows = self.intervals[1..=self.plan.windows.len()].iter().map(|interval| WindowRow {
            from_s: interval.from.as_secs_f64(),
            to_s: interval.to.as_secs_f64(),
            flows: self.flow_rows(interval),
            classes: self.class_rows(interval),
            groups: self.group_rows(interval),
            links: self.link_rows(interval),
            optimum: None,
        });
        let document = RunDocument {
            scenario: self.plan.scenario.clone(),
            scheme: self.plan.scheme.clone(),
            seed: self.plan.seed,
            set: Vec::new(),
            simulated_s: self.plan.until.as_secs_f64(),
            wall_s: 0.0,
            events,
            packet_hops: self.packet_hops,
            flows: self.flow_rows(whole),
            classes: self.class_rows(whole),
            groups: self.group_rows(whole),
            links: self.link_rows(whole),
            windows: windows.collect(),
            optimum: None,
            expectations: expect::rows(&self.plan.probes, &self.intervals, &self.completion),
        };
        let mut series = self.series;
        series.samples = series.links.first().map_or(0, |link| link.throughput_bps.len());
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

    fn flow_rows(&self, interval: &Interval) -> Vec<FlowRow> {
        let row = |(index, info): (usize, &FlowInfo)| {
            let totals = interval.flow(index);
            FlowRow {
                consumer: info.consumer.clone(),
                prefix: info.prefix.clone(),
                group: info.group.clone(),
                class: info.class.name().to_owned(),
                goodput_bps: (8 * totals.content) as f64 / interval.seconds(),
                delay_ms: interval.delays(index).map(DelayHistogram::delay_ms).unwrap_or_default(),
                lost: totals.lost,
                retransmitted: totals.counters.retransmitted,
                timeouts: totals.counters.timeouts,
                completion_s: self.completion[index].map(|c| c.after.as_secs_f64()),
            }
        };
        self.plan.flows.iter().enumerate().map(row).collect()
    }

    fn class_rows(&self, interval: &Interval) -> Vec<ClassRow> {
        let row = |&class: &ServiceClass| {
            let flows: Vec<_> =
                (0..self.flows.len()).filter(|&f| self.plan.flows[f].class == class).collect();
            let delays = interval.class_delays(class, &flows);
            ClassRow { class: class.name().to_owned(), ..self.sum(interval, &flows, &delays) }
        };
        self.classes.iter().map(row).collect()
    }

    fn group_rows(&self, interval: &Interval) -> Vec<GroupRow> {
        let indices: Vec<usize> = (0..self.flows.len()).collect();
        let group = |flow: usize| &self.plan.flows[flow].group;
        let row = |flows: &[usize]| {
            let sum = self.sum(interval, flows, &interval.delays_of(flows));
            GroupRow {
                group: group(flows[0]).clone(),
                goodput_bps: sum.goodput_bps,
                delay_ms: sum.delay_ms,
                lost: sum.lost,
                retransmitted: sum.retransmitted,
                timeouts: sum.timeouts,
                completion_s: sum.completion_s,
                completion_mean_s: sum.completion_mean_s,
            }
        };
        indices.chunk_by(|&a, &b| group(a) == group(b)).map(row).collect()
    }

    /// What some flows did together in an interval; they need not be of one class, so the row has no
    /// name.
    fn sum(&self, interval: &Interval, flows: &[usize], delays: &DelayHistogram) -> ClassRow {
        let sum = |of: fn(&FlowTotals) -> u64| flows.iter().map(|&f| of(&interval.flow(f))).sum::<u64>();
        let completions: Option<Vec<_>> =
            flows.iter().map(|&f| self.completion[f].map(|c| c.after)).collect();
        let seconds = |all: &[Span]| all.iter().map(|after| after.as_secs_f64()).sum::<f64>();
        let mean = |all: &Vec<Span>| (!all.is_empty()).then(|| seconds(all) / all.len() as f64);
        ClassRow {
            class: String::new(),
            goodput_bps: (8 * sum(|t| t.content)) as f64 / interval.seconds(),
            delay_ms: delays.delay_ms(),
            lost: sum(|t| t.lost),
            retransmitted: sum(|t| t.counters.retransmitted),
            timeouts: sum(|t| t.counters.timeouts),
            completion_mean_s: completions.as_ref().and_then(mean),
            completion_s: completions.and_then(|all| all.into_iter().max()).map(Span::as_secs_f64),
        }
    }

    fn link_rows(&self, interval: &Interval) -> Vec<LinkRow> {
        let row = |(index, info): (usize, &ChannelInfo)| {
            let totals = interval.channel(index);
            LinkRow {
                from: info.from.clone(),
                to: info.to.clone(),
                rate_bps: info.rate.as_bps_f64(),
                utilisation: totals.busy.as_secs_f64() / interval.seconds(),
                drops: totals.drops,
                queue_ms: interval.queueing(index).queue_ms(),
            }
        };
        self.plan.channels.iter().enumerate().map(row).collect()
    }
}

impl Delays {
    fn mean_ms(self) -> Option<f32> {
        (self.count > 0).then(|| (self.sum.as_millis_f64() / self.count as f64) as f32)
    }
}

fn per_second(count: u64, seconds: f64) -> f32 {
    (count as f64 / seconds) as f32
}

fn empty_class(class: ServiceClass, samples: usize) -> ClassSeries {
    ClassSeries {
        class: class.name().to_owned(),
        goodput_bps: Vec::with_capacity(samples),
        delay_ms: Vec::with_capacity(samples),
        lost: Vec::with_capacity(samples),
        retransmitted: Vec::with_capacity(samples),
    }
}
