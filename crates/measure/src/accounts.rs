//! Counters of the flows of a run, in any world: over the whole run, over windows and over time.
//!
//! Totals only grow. An [`Interval`] (the whole run, a measuring window, the window of an expectation) keeps
//! the totals at its beginning and end, and its own delays. Time series are differences of totals at the ends
//! of steps. The world reports packets and times; this module has neither a clock nor a network.

use weir_core::consumer::{ConsumerCounters, Delivery};
use weir_core::units::{Span, Time};
use weir_packet::ServiceClass;

use crate::model::{ClassRow, DistributionRow, FlowRow, GroupRow, TrafficFigures};
use crate::series::{ClassSeries, ControlSample, ControlSeries, FlowSample, FlowSeries};
use crate::stats::{DelayHistogram, HopCounts, jain};

/// With more flows than this, percentiles are kept only by class: a table for each flow would be most of the
/// memory of a run.
const FLOWS_WITH_PERCENTILES: usize = 5_000;
/// With more flows than this, time series are kept only by class.
const FLOWS_WITH_SERIES: usize = 2_000;
/// With more groups or flows than this, the document has no histograms of each, because they would be most of
/// it.
const WITH_DISTRIBUTIONS: usize = 16;

/// The properties of a flow that the accounts need.
#[derive(Clone, Debug)]
pub struct FlowInfo {
    /// The consumer's node.
    pub consumer: String,
    /// The prefix that it fetches.
    pub prefix: String,
    /// Its group. The flows of a group are adjacent.
    pub group: String,
    /// Its service class.
    pub class: ServiceClass,
    /// The time at which it begins.
    pub start: Time,
}

/// The totals of a flow so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTotals {
    /// Content delivered, bytes.
    pub content: u64,
    /// Lost packets that the world knows.
    pub lost: u64,
    /// The counters of its consumer.
    pub counters: ConsumerCounters,
}

/// The completion of a flow that fetches an amount.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The time of its last Data.
    pub at: Time,
    /// The time from the flow's start to this time.
    pub after: Span,
}

/// A sum of delays.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    sum: Span,
    count: u64,
}

impl Delays {
    fn mean_ms(self) -> Option<f32> {
        (self.count > 0).then(|| (self.sum.as_millis_f64() / self.count as f64) as f32)
    }
}

impl core::ops::AddAssign for Delays {
    fn add_assign(&mut self, other: Delays) {
        self.sum = self.sum + other.sum;
        self.count += other.count;
    }
}

/// The flows of a class in a step of the time series.
#[derive(Clone, Copy, Debug, Default)]
struct ClassStep {
    /// The content delivered, bytes.
    content: u64,
    delays: Delays,
    lost: u64,
    retransmitted: u64,
}

impl core::ops::AddAssign for ClassStep {
    fn add_assign(&mut self, other: ClassStep) {
        self.content += other.content;
        self.delays += other.delays;
        self.lost += other.lost;
        self.retransmitted += other.retransmitted;
    }
}

/// The classes in a step.
type ClassSteps = [ClassStep; ServiceClass::ALL.len()];

/// A part of the run with its own accounts.
#[derive(Clone, Debug)]
pub struct Interval {
    from: Time,
    to: Time,
    state: State,
    flows: [Vec<FlowTotals>; 2],
    flow_delays: Vec<DelayHistogram>,
    class_delays: Vec<DelayHistogram>,
    /// The counts at its beginning and end, by flow, or by class if there are too many flows. Empty if the
    /// world does not report hops.
    hops: [Vec<HopCounts>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Active,
    Over,
}

impl Interval {
    fn new(from: Time, to: Time, flows: usize, by_flow: bool) -> Interval {
        Interval {
            from,
            to,
            state: State::Waiting,
            flows: [vec![FlowTotals::default(); flows], vec![FlowTotals::default(); flows]],
            flow_delays: vec![DelayHistogram::new(); if by_flow { flows } else { 0 }],
            class_delays: vec![DelayHistogram::new(); if by_flow { 0 } else { ServiceClass::ALL.len() }],
            hops: [Vec::new(), Vec::new()],
        }
    }

    /// Returns its beginning.
    pub fn from(&self) -> Time {
        self.from
    }

    /// Returns its end; earlier than planned if the run ended early.
    pub fn to(&self) -> Time {
        self.to
    }

    /// Returns its length, s.
    pub fn seconds(&self) -> f64 {
        (self.to - self.from).as_secs_f64()
    }

    /// Returns the totals of a flow in it.
    pub fn flow(&self, flow: usize) -> FlowTotals {
        let [before, after] = [self.flows[0][flow], self.flows[1][flow]];
        FlowTotals {
            content: after.content - before.content,
            // A packet that a world counted as lost may have arrived after all.
            lost: after.lost.saturating_sub(before.lost),
            counters: ConsumerCounters {
                retransmitted: after.counters.retransmitted - before.counters.retransmitted,
                timeouts: after.counters.timeouts - before.counters.timeouts,
                ..ConsumerCounters::default()
            },
        }
    }

    /// Returns the delays of a flow's segments; `None` if there are too many flows.
    pub fn delays(&self, flow: usize) -> Option<&DelayHistogram> {
        self.flow_delays.get(flow)
    }

    /// Returns the delays of the segments of some flows; empty if there are too many flows.
    pub fn delays_of(&self, flows: &[usize]) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for delays in flows.iter().filter_map(|&flow| self.delays(flow)) {
            sum.merge(delays);
        }
        sum
    }

    /// Returns the hops of the Data of some flows; `None` in a world that does not report them, and if there
    /// are too many flows.
    pub fn hops_of(&self, flows: &[usize]) -> Option<HopCounts> {
        if self.flow_delays.is_empty() || self.hops[1].is_empty() {
            return None;
        }
        let mut sum = HopCounts::default();
        flows.iter().for_each(|&flow| sum.merge(&self.hops_at(flow)));
        Some(sum)
    }

    fn class_hops(&self, class: ServiceClass, flows: &[usize]) -> Option<HopCounts> {
        if self.class_delays.is_empty() {
            return self.hops_of(flows);
        }
        (!self.hops[1].is_empty()).then(|| self.hops_at(class as usize))
    }

    /// Returns the hops of a flow, or of a class if there are too many flows.
    fn hops_at(&self, place: usize) -> HopCounts {
        self.hops[1][place].since(self.hops[0].get(place))
    }

    /// Adds the interval of some flows, which have these indices.
    fn take_in(&mut self, places: &[usize], part: Interval, infos: &[FlowInfo]) {
        (self.to, self.state) = (part.to, part.state);
        for (flow, &place) in places.iter().enumerate() {
            for (own, of_part) in self.flows.iter_mut().zip(&part.flows) {
                own[place] = of_part[flow];
            }
        }
        for ((delays, &place), info) in part.flow_delays.into_iter().zip(places).zip(infos) {
            match self.flow_delays.get_mut(place) {
                Some(own) => *own = delays,
                None => self.class_delays[info.class as usize].merge(&delays),
            }
        }
        for (own, delays) in self.class_delays.iter_mut().zip(&part.class_delays) {
            own.merge(delays);
        }
        for (own, of_part) in self.hops.iter_mut().zip(part.hops) {
            take_in_hops(own, of_part, places, self.flow_delays.len());
        }
    }

    fn class_delays(&self, class: ServiceClass, flows: &[usize]) -> DelayHistogram {
        self.class_delays.get(class as usize).cloned().unwrap_or_else(|| self.delays_of(flows))
    }
}

/// Adds the hops of some flows, which have these indices among all flows. Adds none if they are counted by
/// class.
fn take_in_hops(own: &mut Vec<HopCounts>, part: Vec<HopCounts>, places: &[usize], flows: usize) {
    if part.is_empty() {
        return;
    }
    own.resize(if flows > 0 { flows } else { ServiceClass::ALL.len() }, HopCounts::default());
    for (at, counts) in part.into_iter().enumerate() {
        own[if flows > 0 { places[at] } else { at }].merge(&counts);
    }
}

/// The parts of the run that the accounts cover.
#[derive(Clone, Debug)]
pub struct Extent {
    /// The end of the run.
    pub until: Time,
    /// The measuring windows.
    pub windows: Vec<(Time, Time)>,
    /// Other parts that are measured but have no rows.
    pub others: Vec<(Time, Time)>,
    /// The length of a step of the time series.
    pub step: Span,
    /// Whether time series are recorded.
    pub with_series: bool,
}

/// All accounts of the flows of a run.
#[derive(Clone, Debug)]
pub struct FlowAccounts {
    flows: Vec<FlowInfo>,
    /// Whether percentiles and hops are kept by flow, and not by class.
    by_flow: bool,
    classes: Vec<ServiceClass>,
    totals: Vec<FlowTotals>,
    /// The hops of Data, by flow, or by class if there are too many flows. Empty until the world reports the
    /// first.
    hops: Vec<HopCounts>,
    completion: Vec<Option<Completion>>,
    /// The whole run, then the windows, then the others.
    intervals: Vec<Interval>,
    windows: usize,
    since_step: Vec<Delays>,
    at_step: Vec<FlowTotals>,
    step: Span,
    next_sample: Time,
    next_step: Time,
    samples: usize,
    with_series: bool,
    flow_series: Vec<FlowSeries>,
    class_steps: Vec<ClassSteps>,
}

impl FlowAccounts {
    /// Returns the accounts of a run that begins at time zero.
    pub fn new(flows: Vec<FlowInfo>, extent: &Extent) -> FlowAccounts {
        let all = flows.len();
        FlowAccounts::of_part(flows, extent, all)
    }

    /// Returns the accounts of a part of a run's flows. `all` is the number of all flows, which decides what
    /// is kept of each.
    pub fn of_part(flows: Vec<FlowInfo>, extent: &Extent, all: usize) -> FlowAccounts {
        let (count, by_flow) = (flows.len(), all <= FLOWS_WITH_PERCENTILES);
        let whole = core::iter::once((Time::ZERO, extent.until));
        let wanted = whole.chain(extent.windows.iter().copied());
        let interval = |(from, to)| Interval::new(from, to, count, by_flow);
        let mut intervals: Vec<_> = wanted.map(interval).collect();
        for &(from, to) in &extent.others {
            if !intervals.iter().any(|i| (i.from, i.to) == (from, to)) {
                intervals.push(interval((from, to)));
            }
        }
        let classes: Vec<_> =
            ServiceClass::ALL.into_iter().filter(|c| flows.iter().any(|f| f.class == *c)).collect();
        let room = (extent.until.as_nanos() / extent.step.as_nanos()) as usize;
        let of_flows = if extent.with_series && all <= FLOWS_WITH_SERIES { count } else { 0 };
        FlowAccounts {
            totals: vec![FlowTotals::default(); count],
            hops: Vec::new(),
            completion: vec![None; count],
            intervals,
            windows: extent.windows.len(),
            since_step: vec![Delays::default(); count],
            at_step: vec![FlowTotals::default(); count],
            step: extent.step,
            next_sample: Time::ZERO + extent.step,
            next_step: Time::ZERO,
            samples: 0,
            with_series: extent.with_series,
            flow_series: (0..of_flows).map(|_| FlowSeries::with_room(room)).collect(),
            class_steps: Vec::with_capacity(if extent.with_series { room } else { 0 }),
            flows,
            by_flow,
            classes,
        }
    }

    /// Joins the accounts of a run whose flows were counted in several places, each with the same extent.
    /// `parts` has these accounts, and the indices of their flows among all.
    pub fn gathered(
        flows: Vec<FlowInfo>,
        extent: &Extent,
        parts: impl IntoIterator<Item = (Vec<usize>, FlowAccounts)>,
    ) -> FlowAccounts {
        let mut all = FlowAccounts::new(flows, extent);
        for (places, part) in parts {
            all.take_in(&places, part);
        }
        all
    }

    /// Adds the accounts of a part of the flows, which have these indices among all.
    pub fn take_in(&mut self, places: &[usize], part: FlowAccounts) {
        for (flow, &place) in places.iter().enumerate() {
            self.totals[place] = part.totals[flow];
            self.completion[place] = part.completion[flow];
        }
        for (own, of_part) in self.intervals.iter_mut().zip(part.intervals) {
            own.take_in(places, of_part, &part.flows);
        }
        take_in_hops(&mut self.hops, part.hops, places, if self.by_flow { self.flows.len() } else { 0 });
        // A part has fewer flows, so it has the series of each if the whole has.
        for (series, &place) in part.flow_series.into_iter().zip(places) {
            if let Some(own) = self.flow_series.get_mut(place) {
                *own = series;
            }
        }
        self.class_steps.resize(self.class_steps.len().max(part.class_steps.len()), ClassSteps::default());
        for (own, of_part) in self.class_steps.iter_mut().flatten().zip(part.class_steps.iter().flatten()) {
            *own += *of_part;
        }
        (self.next_sample, self.next_step, self.samples) = (part.next_sample, part.next_step, part.samples);
    }

    // ---- Events

    /// Counts a segment that arrived.
    #[inline]
    pub fn on_delivery(&mut self, flow: usize, delivery: &Delivery, now: Time) {
        self.totals[flow].content += delivery.content;
        if delivery.complete && self.completion[flow].is_none() {
            let after = now - self.flows[flow].start;
            self.completion[flow] = Some(Completion { at: now, after });
        }
        let since = &mut self.since_step[flow];
        since.sum = since.sum + delivery.delay;
        since.count += 1;
        let class = self.flows[flow].class as usize;
        for interval in self.intervals.iter_mut().filter(|i| i.state == State::Active) {
            match interval.flow_delays.get_mut(flow) {
                Some(delays) => delays.record(delivery.delay.as_nanos()),
                None => interval.class_delays[class].record(delivery.delay.as_nanos()),
            }
        }
    }

    /// Marks a flow as complete, in a world that does not observe its segments.
    pub fn set_complete(&mut self, flow: usize, at: Time) {
        self.completion[flow] = Some(Completion { at, after: at - self.flows[flow].start });
    }

    /// Counts the links that the arrived segment crossed.
    #[inline]
    pub fn on_hops(&mut self, flow: usize, links: u8) {
        if self.hops.is_empty() {
            self.hops.resize(
                if self.by_flow { self.flows.len() } else { ServiceClass::ALL.len() },
                HopCounts::default(),
            );
        }
        self.hops[if self.by_flow { flow } else { self.flows[flow].class as usize }].record(links);
    }

    /// Counts a lost packet of a flow.
    pub fn on_loss(&mut self, flow: usize) {
        self.totals[flow].lost += 1;
    }

    /// Sets the number of lost packets of a flow, for a world that knows only this number.
    pub fn set_lost(&mut self, flow: usize, lost: u64) {
        self.totals[flow].lost = lost;
    }

    /// Sets the counters of a flow's consumer.
    pub fn set_counters(&mut self, flow: usize, counters: ConsumerCounters) {
        self.totals[flow].counters = counters;
    }

    /// Returns whether to call [`FlowAccounts::set_control`]: a step of the series of each flow ends.
    pub fn wants_control(&self) -> bool {
        self.with_series && self.is_sample() && !self.flow_series.is_empty()
    }

    /// Records the flow control of a flow at the end of a step.
    pub fn set_control(&mut self, flow: usize, sample: &ControlSample) {
        if let Some(series) = self.flow_series.get_mut(flow) {
            if series.control.window.is_empty() {
                let room = series.goodput_bps.capacity();
                series.control = ControlSeries::with_room(room);
            }
            series.control.push(sample);
        }
    }

    // ---- Time

    /// Returns the time at which [`FlowAccounts::end_step`] must be called.
    pub fn next_step(&self) -> Time {
        self.next_step
    }

    /// Returns whether a step of the time series ends at [`FlowAccounts::next_step`].
    pub fn is_sample(&self) -> bool {
        self.next_sample == self.next_step
    }

    /// Ends a step or an interval. The counters must be up to date.
    pub fn end_step(&mut self) {
        let now = self.next_step;
        for interval in &mut self.intervals {
            if interval.from == now && interval.state == State::Waiting {
                interval.state = State::Active;
                interval.flows[0].clone_from(&self.totals);
                interval.hops[0].clone_from(&self.hops);
            }
            if interval.to == now && interval.state == State::Active {
                interval.state = State::Over;
                interval.flows[1].clone_from(&self.totals);
                interval.hops[1].clone_from(&self.hops);
            }
        }
        if self.is_sample() {
            self.sample();
            self.next_sample += self.step;
        }
        let ends = self.intervals.iter().flat_map(|i| [i.from, i.to]).filter(|at| *at > now);
        self.next_step = ends.fold(self.next_sample, Time::min);
    }

    /// Ends the run at `until`, at which the next step ends. If that is earlier than planned, the intervals
    /// that have begun end then.
    pub fn end_at(&mut self, until: Time) {
        for interval in self.intervals.iter_mut().filter(|i| i.from < until) {
            interval.to = interval.to.min(until);
        }
        self.next_step = until;
    }

    fn sample(&mut self) {
        if self.with_series {
            self.sample_series();
            self.samples += 1;
        }
        self.since_step.fill(Delays::default());
        self.at_step.copy_from_slice(&self.totals);
    }

    fn sample_series(&mut self) {
        let seconds = self.step.as_secs_f64();
        let mut classes = ClassSteps::default();
        for (index, info) in self.flows.iter().enumerate() {
            let (now, before, delays) = (self.totals[index], self.at_step[index], self.since_step[index]);
            let content = now.content - before.content;
            let lost = now.lost.saturating_sub(before.lost);
            let retransmitted = now.counters.retransmitted - before.counters.retransmitted;
            classes[info.class as usize] += ClassStep { content, delays, lost, retransmitted };
            if let Some(series) = self.flow_series.get_mut(index) {
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
        self.class_steps.push(classes);
    }

    // ---- Results

    /// Returns the number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the totals of a flow so far.
    pub fn total(&self, flow: usize) -> &FlowTotals {
        &self.totals[flow]
    }

    /// Returns the completion of each flow.
    pub fn completion(&self) -> &[Option<Completion>] {
        &self.completion
    }

    /// Returns the whole run.
    pub fn whole(&self) -> &Interval {
        &self.intervals[0]
    }

    /// Iterates over the measured windows, in the given order, each with its index among all intervals.
    pub fn windows(&self) -> impl Iterator<Item = (usize, &Interval)> {
        let windows = self.intervals[1..=self.windows].iter().enumerate();
        windows.filter(|(_, interval)| interval.state == State::Over)
    }

    /// Returns the interval between these two times, if it was measured to its end, and its index among all
    /// intervals.
    pub fn between(&self, (from, to): (Time, Time)) -> Option<(usize, &Interval)> {
        let mut all = self.intervals.iter().enumerate();
        all.find(|(_, i)| (i.from, i.to) == (from, to) && i.state == State::Over)
    }

    /// Returns all intervals, ended or not: the whole run, the windows, the others.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Returns the time series of flows; empty if there are too many flows.
    pub fn flow_series(&self) -> &[FlowSeries] {
        &self.flow_series
    }

    /// Returns the number of steps of the time series so far.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Removes and returns the time series: of flows, if there are not too many of them; of classes; and
    /// their number of steps.
    pub fn take_series(&mut self) -> (Vec<FlowSeries>, Vec<ClassSeries>, usize) {
        let steps = core::mem::take(&mut self.class_steps);
        let classes = if self.with_series { &self.classes[..] } else { &[] };
        let classes = classes.iter().map(|class| class_series(*class, &steps, self.step)).collect();
        (core::mem::take(&mut self.flow_series), classes, self.samples)
    }

    /// Returns one row for each flow.
    pub fn flow_rows(&self, interval: &Interval) -> Vec<FlowRow> {
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
                hops: interval.hops_of(&[index]).map(|counts| counts.hops()),
            }
        };
        self.flows.iter().enumerate().map(row).collect()
    }

    /// Returns one row for each class with flows.
    pub fn class_rows(&self, interval: &Interval) -> Vec<ClassRow> {
        let row = |&class: &ServiceClass| {
            let flows: Vec<_> = (0..self.flows.len()).filter(|&f| self.flows[f].class == class).collect();
            let delays = interval.class_delays(class, &flows);
            let hops = interval.class_hops(class, &flows);
            let figures = self.sum(interval, &flows, &delays, hops.as_ref());
            ClassRow { class: class.name().to_owned(), figures }
        };
        self.classes.iter().map(row).collect()
    }

    /// Returns one row for each group.
    pub fn group_rows(&self, interval: &Interval) -> Vec<GroupRow> {
        let indices: Vec<usize> = (0..self.flows.len()).collect();
        let group = |flow: usize| &self.flows[flow].group;
        let row = |flows: &[usize]| {
            let hops = interval.hops_of(flows);
            let figures = self.sum(interval, flows, &interval.delays_of(flows), hops.as_ref());
            GroupRow { group: group(flows[0]).clone(), figures }
        };
        indices.chunk_by(|&a, &b| group(a) == group(b)).map(row).collect()
    }

    /// Returns the flows of each group, in order.
    fn groups(&self) -> Vec<(&str, Vec<usize>)> {
        let mut groups: Vec<(&str, Vec<usize>)> = Vec::new();
        for (flow, info) in self.flows.iter().enumerate() {
            match groups.last_mut() {
                Some((group, flows)) if *group == info.group => flows.push(flow),
                _ => groups.push((&info.group, vec![flow])),
            }
        }
        groups
    }

    /// Returns the classes, groups and flows that have histograms: the kind and the name of each, with its
    /// flows. A group that equals a class has none of its own, and neither has a flow that equals a group.
    pub fn with_distributions(&self) -> Vec<(&'static str, String, Vec<usize>)> {
        let members = |class: &ServiceClass| -> Vec<usize> {
            (0..self.flows.len()).filter(|&flow| self.flows[flow].class == *class).collect()
        };
        let mut all: Vec<(&'static str, String, Vec<usize>)> =
            self.classes.iter().map(|class| ("class", class.name().to_owned(), members(class))).collect();
        let groups = self.groups();
        if groups.len() <= WITH_DISTRIBUTIONS {
            let group = |(name, flows): (&str, Vec<usize>)| ("group", name.to_owned(), flows);
            all.extend(groups.into_iter().map(group));
        }
        if self.flows.len() <= WITH_DISTRIBUTIONS {
            let name = |info: &FlowInfo| format!("{} {}", info.consumer, info.prefix);
            all.extend(self.flows.iter().enumerate().map(|(flow, info)| ("flow", name(info), vec![flow])));
        }
        let mut known: Vec<Vec<usize>> = Vec::new();
        all.retain(|(_, _, flows)| {
            let is_new = !known.contains(flows);
            known.push(flows.clone());
            is_new
        });
        all
    }

    /// Returns histograms of the delays in an interval; none if there are too many flows for those of a
    /// group.
    pub fn delay_distributions(&self, interval: &Interval) -> Vec<DistributionRow> {
        let row = |(kind, name, flows): (&'static str, String, Vec<usize>)| {
            let delays = match kind {
                "class" => interval.class_delays(self.flows[flows[0]].class, &flows),
                _ => interval.delays_of(&flows),
            };
            DistributionRow::of("delay", kind, name, delays.distribution())
        };
        self.with_distributions().into_iter().filter_map(row).collect()
    }

    /// Returns histograms of the completions of flows that end, over the whole run.
    pub fn completion_distributions(&self) -> Vec<DistributionRow> {
        let row = |(kind, name, flows): (&'static str, String, Vec<usize>)| {
            let mut completions = DelayHistogram::new();
            let ends = flows.iter().filter_map(|&flow| self.completion[flow]);
            ends.for_each(|completion| completions.record(completion.after.as_nanos()));
            DistributionRow::of("completion", kind, name, completions.distribution())
        };
        let rows = self.with_distributions().into_iter().filter(|(kind, ..)| *kind != "flow");
        rows.filter_map(row).collect()
    }

    /// Returns Jain's index of the flows that take part. A flow that has not begun, or is over, is not
    /// treated unfairly. A single flow has no index.
    fn jain(&self, interval: &Interval, flows: &[usize]) -> Option<f64> {
        let totals = flows.iter().map(|&flow| interval.flow(flow));
        let takes_part =
            |t: &FlowTotals| t.content > 0 || t.lost + t.counters.retransmitted + t.counters.timeouts > 0;
        let mut contents: Vec<f64> = totals.filter(takes_part).map(|t| t.content as f64).collect();
        // The rounding of sums depends on their order.
        contents.sort_by(f64::total_cmp);
        jain(&contents).filter(|_| contents.len() > 1)
    }

    /// Sums up the results of some flows in an interval.
    fn sum(
        &self,
        interval: &Interval,
        flows: &[usize],
        delays: &DelayHistogram,
        hops: Option<&HopCounts>,
    ) -> TrafficFigures {
        let sum = |of: fn(&FlowTotals) -> u64| flows.iter().map(|&f| of(&interval.flow(f))).sum::<u64>();
        let completions: Option<Vec<_>> =
            flows.iter().map(|&f| self.completion[f].map(|c| c.after)).collect();
        let seconds = |all: &[Span]| all.iter().map(|after| after.as_secs_f64()).sum::<f64>();
        let mean = |all: &Vec<Span>| (!all.is_empty()).then(|| seconds(all) / all.len() as f64);
        TrafficFigures {
            jain: self.jain(interval, flows),
            goodput_bps: (8 * sum(|t| t.content)) as f64 / interval.seconds(),
            delay_ms: delays.delay_ms(),
            lost: sum(|t| t.lost),
            retransmitted: sum(|t| t.counters.retransmitted),
            timeouts: sum(|t| t.counters.timeouts),
            completion_mean_s: completions.as_ref().and_then(mean),
            completion_s: completions.and_then(|all| all.into_iter().max()).map(Span::as_secs_f64),
            hops: hops.map(HopCounts::hops),
        }
    }
}

fn per_second(count: u64, seconds: f64) -> f32 {
    (count as f64 / seconds) as f32
}

/// Returns the series of a class, from its flows in each step.
fn class_series(class: ServiceClass, steps: &[ClassSteps], step: Span) -> ClassSeries {
    let seconds = step.as_secs_f64();
    let own = || steps.iter().map(|classes| classes[class as usize]);
    ClassSeries {
        class: class.name().to_owned(),
        goodput_bps: own().map(|step| per_second(8 * step.content, seconds)).collect(),
        delay_ms: own().map(|step| step.delays.mean_ms().unwrap_or(f32::NAN)).collect(),
        lost: own().map(|step| step.lost as u32).collect(),
        retransmitted: own().map(|step| step.retransmitted as u32).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn info(prefix: &str, class: ServiceClass) -> FlowInfo {
        let (consumer, group) = ("C".to_owned(), class.name().to_owned());
        FlowInfo { consumer, prefix: prefix.to_owned(), group, class, start: Time::ZERO }
    }

    fn delivery(content: u64, delay: u64, complete: bool) -> Delivery {
        Delivery { segment: 0, delay: Span::from_millis(delay), content, complete }
    }

    const CLASSES: [ServiceClass; 3] = [ServiceClass::Ef, ServiceClass::Be, ServiceClass::Be];

    fn infos() -> Vec<FlowInfo> {
        ["/a", "/b", "/c"].into_iter().zip(CLASSES).map(|(prefix, class)| info(prefix, class)).collect()
    }

    fn extent() -> Extent {
        Extent {
            until: at(2_000),
            windows: vec![(at(500), at(1_500)), (at(1_600), at(2_000))],
            others: vec![(Time::ZERO, at(1_000))],
            step: Span::from_millis(500),
            with_series: true,
        }
    }

    /// Returns the accounts of some of the flows of a run. Flow `f` gets `f + 1` kB every 100 ms, and loses
    /// one of them at 1 s.
    fn run(flows: &[usize], until: u64) -> FlowAccounts {
        let infos = infos();
        let own = flows.iter().map(|&flow| infos[flow].clone()).collect();
        let mut accounts = FlowAccounts::new(own, &extent());
        for now in (0..until).step_by(100) {
            while accounts.next_step() <= at(now) {
                accounts.end_step();
            }
            for (place, &flow) in flows.iter().enumerate() {
                if now == 1_000 {
                    accounts.set_lost(place, 1);
                    accounts.set_counters(place, ConsumerCounters { timeouts: 1, ..Default::default() });
                } else {
                    let k = 1 + flow as u64;
                    accounts.on_delivery(place, &delivery(1_000 * k, 10 * k, now == 1_400), at(now));
                }
            }
        }
        while accounts.next_step() < at(until) {
            accounts.end_step();
        }
        accounts.end_at(at(until));
        accounts.end_step();
        accounts
    }

    #[test]
    fn an_interval_has_what_came_from_its_beginning_to_its_end() {
        let accounts = run(&[0, 1, 2], 2_000);
        let windows: Vec<_> = accounts.windows().map(|(place, interval)| (place, interval.clone())).collect();
        assert_eq!(windows.len(), 2);
        // 1 kB at 500, 600, .. 1400 ms, without that of 1000 ms.
        let row = &accounts.flow_rows(&windows[0].1)[0];
        assert_eq!((row.goodput_bps, row.lost, row.timeouts), (72_000.0, 1, 1));
        assert_eq!((row.delay_ms.mean, row.completion_s), (Some(10.0), Some(1.4)));
        let rows = accounts.class_rows(&windows[1].1);
        assert_eq!(rows.iter().map(|row| row.class.as_str()).collect::<Vec<_>>(), ["EF", "BE"]);
        assert_eq!((rows[1].figures.goodput_bps, rows[1].figures.lost), (8.0 * 5_000.0 * 4.0 / 0.4, 0));
        assert!(accounts.between((Time::ZERO, at(1_000))).is_some());
        assert!(accounts.between((Time::ZERO, at(1_001))).is_none());
    }

    #[test]
    fn what_is_gathered_from_parts_is_as_though_it_had_been_one() {
        let mut whole = run(&[0, 1, 2], 2_000);
        let parts = [&[0, 2][..], &[1]].map(|flows| (flows.to_vec(), run(flows, 2_000)));
        let mut gathered = FlowAccounts::gathered(infos(), &extent(), parts);
        for (one, other) in whole.intervals().iter().zip(gathered.intervals()) {
            assert_eq!(whole.flow_rows(one), gathered.flow_rows(other));
            assert_eq!(whole.class_rows(one), gathered.class_rows(other));
            assert_eq!(whole.group_rows(one), gathered.group_rows(other));
        }
        let ((flows, classes, samples), of_parts) = (whole.take_series(), gathered.take_series());
        assert_eq!((flows, samples), (of_parts.0, of_parts.2));
        assert_eq!(format!("{classes:?}"), format!("{:?}", of_parts.1), "to the bit, and NaN is NaN");
    }

    #[test]
    fn a_run_that_ends_early_has_the_windows_that_had_begun() {
        let accounts = run(&[0, 1, 2], 1_300);
        let ends: Vec<_> = accounts.windows().map(|(place, window)| (place, window.to())).collect();
        assert_eq!(ends, [(0, at(1_300))]);
        assert_eq!(accounts.whole().seconds(), 1.3);
        assert!(accounts.between((Time::ZERO, at(1_000))).is_some());
        assert!(accounts.between((at(500), at(1_500))).is_none());
    }

    #[test]
    fn what_was_taken_for_lost_and_came_is_no_loss_of_less_than_nothing() {
        let mut accounts = FlowAccounts::new(infos(), &extent());
        for (now, lost) in [(0, 2), (500, 2), (1_000, 1), (1_500, 1)] {
            accounts.set_lost(0, lost);
            while accounts.next_step() <= at(now) {
                accounts.end_step();
            }
        }
        let (_, window) = accounts.windows().next().unwrap();
        assert_eq!(accounts.flow_rows(window)[0].lost, 0);
    }
}
