//! Accounts of the links of a run, separate for each direction. They work like those of flows: totals only grow, and each
//! interval keeps the totals at its beginning and end.

use weir_core::prefetch::prefetch;
use weir_core::seam::{DropPlace, DropReason};
use weir_core::units::{Rate, Span, Time};

use crate::accounts::{Extent, FlowAccounts, Interval};
use crate::model::{Distribution, DistributionRow, LinkRow};
use crate::series::{LinkSample, LinkSeries};
use crate::stats::DelayHistogram;

/// With more directions of links than this, the document has only the histogram of all together.
const WITH_DISTRIBUTIONS: usize = 32;

/// The properties of one direction of a link that the accounts need.
#[derive(Clone, Debug)]
pub struct LinkInfo {
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// The name of the link, if it has one.
    pub name: Option<String>,
    /// Its current rate.
    pub rate: Rate,
}

/// The totals of one direction of a link so far. The fields that each packet changes are in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct LinkTotals {
    /// Bits sent.
    pub bits: u64,
    /// Packets sent.
    pub sent: u64,
    /// Time spent sending.
    pub busy: Span,
    /// The time at which the transmission of the last packet ends.
    busy_until: Time,
    /// The sum of their queueing delays.
    pub waited: Span,
    /// Packets dropped at its queue.
    pub drops: u64,
    /// Packets that it lost at random.
    pub lost: u64,
    /// Packets dropped because it was down.
    pub down: u64,
}

impl LinkTotals {
    /// Returns the totals at `now`, without the rest of the last packet's transmission.
    fn by(self, now: Time) -> LinkTotals {
        LinkTotals { busy: self.busy - self.busy_until.since(now), ..self }
    }
}

/// The links in a part of the run.
#[derive(Clone, Debug)]
pub struct LinkInterval {
    from: Time,
    to: Time,
    is_active: bool,
    totals: [Vec<LinkTotals>; 2],
    queueing: Vec<DelayHistogram>,
}

impl LinkInterval {
    fn new(interval: &Interval, links: usize) -> LinkInterval {
        LinkInterval {
            from: interval.from(),
            to: interval.to(),
            is_active: false,
            totals: [Vec::new(), Vec::new()],
            queueing: vec![DelayHistogram::coarse(); links],
        }
    }

    /// Returns the totals of a link in it.
    pub fn link(&self, link: usize) -> LinkTotals {
        let [before, after] = [self.totals[0][link], self.totals[1][link]];
        LinkTotals {
            bits: after.bits - before.bits,
            busy: after.busy - before.busy,
            drops: after.drops - before.drops,
            lost: after.lost - before.lost,
            down: after.down - before.down,
            sent: after.sent - before.sent,
            waited: after.waited - before.waited,
            ..after
        }
    }

    /// Returns the number of link directions.
    pub fn len(&self) -> usize {
        self.queueing.len()
    }

    /// Returns whether there are no links.
    pub fn is_empty(&self) -> bool {
        self.queueing.is_empty()
    }

    /// Returns the queueing delays in front of a link.
    pub fn queueing(&self, link: usize) -> &DelayHistogram {
        &self.queueing[link]
    }

    /// Adds the interval of some links.
    fn take_in(&mut self, places: &[Option<usize>], part: LinkInterval) {
        (self.to, self.is_active) = (part.to, part.is_active);
        for (own, of_part) in self.totals.iter_mut().zip(part.totals) {
            if !of_part.is_empty() {
                own.resize(self.queueing.len(), LinkTotals::default());
            }
            put(own, of_part, places);
        }
        put(&mut self.queueing, part.queueing, places);
    }

    fn begin(&mut self, now: Time, links: &[LinkTotals]) {
        self.is_active = true;
        self.totals[0] = links.iter().map(|totals| totals.by(now)).collect();
    }

    fn end(&mut self, now: Time, links: &[LinkTotals]) {
        self.is_active = false;
        self.totals[1] = links.iter().map(|totals| totals.by(now)).collect();
        for link in 0..self.queueing.len() {
            let sent = self.link(link).sent;
            let queueing = &mut self.queueing[link];
            queueing.record_zeros(sent.saturating_sub(queueing.count()));
        }
    }
}

/// Puts the values of a part at their indices among all.
fn put<T>(all: &mut [T], part: Vec<T>, places: &[Option<usize>]) {
    for (value, place) in part.into_iter().zip(places) {
        if let Some(own) = place.and_then(|place| all.get_mut(place)) {
            *own = value;
        }
    }
}

/// All accounts of the links of a run.
#[derive(Clone, Debug)]
pub struct LinkAccounts {
    links: Vec<LinkInfo>,
    totals: Vec<LinkTotals>,
    /// The intervals of the flows' accounts, in order.
    intervals: Vec<LinkInterval>,
    step: Span,
    series: Vec<LinkSeries>,
    at_step: Vec<LinkTotals>,
}

impl LinkAccounts {
    /// Returns accounts over the intervals of the flows' accounts.
    pub fn new(links: Vec<LinkInfo>, flows: &FlowAccounts, extent: &Extent) -> LinkAccounts {
        let samples = (extent.until.as_nanos() / extent.step.as_nanos()) as usize;
        let plotted = if extent.with_series { links.len() } else { 0 };
        LinkAccounts {
            totals: vec![LinkTotals::default(); links.len()],
            intervals: flows.intervals().iter().map(|i| LinkInterval::new(i, links.len())).collect(),
            step: extent.step,
            series: (0..plotted).map(|_| LinkSeries::with_room(samples)).collect(),
            at_step: vec![LinkTotals::default(); links.len()],
            links,
        }
    }

    /// Adds the accounts of some links of a part of the network, with the index of each among all; `None` for
    /// a link that another part counts.
    pub fn take_in(&mut self, places: &[Option<usize>], part: LinkAccounts) {
        put(&mut self.links, part.links, places);
        put(&mut self.totals, part.totals, places);
        put(&mut self.series, part.series, places);
        for (own, of_part) in self.intervals.iter_mut().zip(part.intervals) {
            own.take_in(places, of_part);
        }
    }

    // ---- Events

    /// Prefetches the data that a packet of a link changes.
    #[inline]
    pub fn prefetch(&self, link: usize) {
        prefetch(&self.totals[link]);
        for interval in self.intervals.iter().filter(|i| i.is_active) {
            prefetch(&interval.queueing[link]);
        }
    }

    /// Counts a link as sending from `now` until the given time.
    #[inline]
    pub fn on_use(&mut self, link: usize, now: Time, until: Time) {
        let totals = &mut self.totals[link];
        totals.busy = totals.busy + (until - now);
        totals.busy_until = until;
    }

    /// Counts a sent packet of this many bits, after this queueing delay.
    #[inline]
    pub fn on_sent(&mut self, link: usize, bits: u64, waited: Span) {
        let totals = &mut self.totals[link];
        totals.bits += bits;
        totals.sent += 1;
        totals.waited = totals.waited + waited;
        // Most packets find an idle link. Their zero delays are added at the end of the interval.
        if waited > Span::ZERO {
            for interval in self.intervals.iter_mut().filter(|i| i.is_active) {
                interval.queueing[link].record(waited.as_nanos());
            }
        }
    }

    /// Counts a packet of this many bits that a link sends from `now` until the given time, after this
    /// queueing delay.
    #[inline]
    pub fn on_transmit(&mut self, link: usize, bits: u64, waited: Span, now: Time, until: Time) {
        let totals = &mut self.totals[link];
        totals.busy = totals.busy + (until - now);
        totals.busy_until = until;
        totals.bits += bits;
        totals.sent += 1;
        if waited > Span::ZERO {
            totals.waited = totals.waited + waited;
            for interval in self.intervals.iter_mut().filter(|i| i.is_active) {
                interval.queueing[link].record(waited.as_nanos());
            }
        }
    }

    /// Sets the queueing delay of this many packets that a link has sent. It was not known when they were
    /// sent.
    pub fn on_waited(&mut self, link: usize, packets: u64, waited: Span) {
        let totals = &mut self.totals[link];
        totals.waited = totals.waited + waited * packets;
        for interval in self.intervals.iter_mut().filter(|i| i.is_active) {
            interval.queueing[link].record_many(waited.as_nanos(), packets);
        }
    }

    /// Counts packets that were dropped in front of a link.
    pub fn on_queue_drops(&mut self, link: usize, packets: u64) {
        self.totals[link].drops += packets;
    }

    /// Counts a packet that was dropped in front of a link, or lost on it.
    pub fn on_drop(&mut self, link: usize, reason: DropReason) {
        let totals = &mut self.totals[link];
        match reason.place() {
            DropPlace::Queue => totals.drops += 1,
            DropPlace::Link if reason == DropReason::LinkLoss => totals.lost += 1,
            DropPlace::Link => totals.down += 1,
            DropPlace::Node => {}
        }
    }

    /// Sets the rate of a link.
    pub fn set_rate(&mut self, link: usize, rate: Rate) {
        self.links[link].rate = rate;
    }

    /// Ends a step or an interval. `is_sample` is whether a step of the time series ends.
    pub fn end_step(&mut self, now: Time, is_sample: bool) {
        for interval in &mut self.intervals {
            if interval.from == now {
                interval.begin(now, &self.totals);
            }
            if interval.to == now {
                interval.end(now, &self.totals);
            }
        }
        if is_sample {
            self.sample(now);
        }
    }

    /// Ends the run at `until`, at which the next step ends, earlier than planned.
    pub fn end_at(&mut self, until: Time) {
        for interval in self.intervals.iter_mut().filter(|i| i.from < until) {
            interval.to = interval.to.min(until);
        }
    }

    fn sample(&mut self, at: Time) {
        let seconds = self.step.as_secs_f64();
        for (index, series) in self.series.iter_mut().enumerate() {
            let (now, before) = (self.totals[index].by(at), self.at_step[index]);
            let sent = now.sent - before.sent;
            let waited = now.waited - before.waited;
            series.push(LinkSample {
                throughput_bps: ((now.bits - before.bits) as f64 / seconds) as f32,
                utilisation: ((now.busy - before.busy).as_secs_f64() / seconds) as f32,
                // Little's law: the mean number of waiting packets is their waiting time per second.
                queue_packets: (waited.as_secs_f64() / seconds) as f32,
                queue_ms: (sent > 0).then(|| (waited.as_millis_f64() / sent as f64) as f32),
                drops: (now.drops - before.drops) as u32,
                lost: (now.lost - before.lost) as u32,
            });
        }
        for (before, totals) in self.at_step.iter_mut().zip(&self.totals) {
            *before = totals.by(at);
        }
    }

    // ---- Results

    /// Returns whether the interval between these two times has begun and has not ended.
    pub fn is_measuring(&self, (from, to): (Time, Time)) -> bool {
        self.intervals.iter().any(|i| i.is_active && (i.from, i.to) == (from, to))
    }

    /// Returns the links in an interval, by its index in the flows' accounts.
    pub fn interval(&self, place: usize) -> &LinkInterval {
        &self.intervals[place]
    }

    /// Returns one row for each link, over the interval with this index and this length in seconds.
    pub fn rows(&self, place: usize, seconds: f64) -> Vec<LinkRow> {
        let interval = &self.intervals[place];
        let row = |(index, info): (usize, &LinkInfo)| {
            let totals = interval.link(index);
            LinkRow {
                from: info.from.clone(),
                to: info.to.clone(),
                name: info.name.clone(),
                rate_bps: info.rate.as_bps_f64(),
                utilisation: totals.busy.as_secs_f64() / seconds,
                drops: totals.drops,
                lost: totals.lost,
                down: totals.down,
                queue_ms: interval.queueing(index).queue_ms(),
            }
        };
        self.links.iter().enumerate().map(row).collect()
    }

    /// Returns histograms of the queueing delays over the interval with this index: of all links together,
    /// and of each if there are few.
    pub fn distributions(&self, place: usize) -> Vec<DistributionRow> {
        let interval = &self.intervals[place];
        let mut all = Distribution::new("ms", 0.0);
        let mut rows = Vec::new();
        for (index, info) in self.links.iter().enumerate() {
            let queueing = interval.queueing(index).distribution();
            all.step = queueing.step;
            all.merge(&queueing);
            if self.links.len() <= WITH_DISTRIBUTIONS {
                let name = format!("{}->{}", info.from, info.to);
                rows.extend(DistributionRow::of("queueing", "link", name, queueing));
            }
        }
        DistributionRow::of("queueing", "links", String::new(), all).into_iter().chain(rows).collect()
    }

    /// Removes and returns the time series.
    pub fn take_series(&mut self) -> Vec<LinkSeries> {
        core::mem::take(&mut self.series)
    }
}
