//! Expectations: what is watched for them during a run, and what came out.

use weir_core::units::{Span, Time};
use weir_results::{Bound, DelayHistogram, ExpectationRow, jain};
use weir_scenario::{self as scenario, Expectation, Metric};

use crate::measure::Interval;

/// Goodput is averaged over bins of this length to see when it has settled (the step of the papers'
/// plots), or of the smallest multiple of it in which one segment of each flow is less than what
/// counts as settled.
const SETTLE_BIN: Span = Span::from_millis(500);
/// How near its final value is settled.
const SETTLED: f64 = 0.05;

/// One expectation and what was seen for it.
#[derive(Debug)]
pub(crate) struct Probe {
    expectation: Expectation,
    flows: Vec<usize>,
    /// Sorted.
    channels: Vec<usize>,
    window: (Time, Time),
    /// For [`Metric::Settle`]: from when on.
    since: Time,
    /// For the same: content of a segment.
    segment_bytes: f64,
    /// Bits of Data on the channels during the window.
    data_bits: u64,
    /// Content delivered by the ends of steps.
    delivered: Vec<(Time, u64)>,
}

/// All expectations of a run.
#[derive(Debug, Default)]
pub(crate) struct Probes {
    probes: Vec<Probe>,
    /// For each channel: which probes count Data on it.
    by_channel: Vec<Vec<u32>>,
}

impl Probes {
    /// Nothing to watch on so many channels yet.
    pub(crate) fn new(channels: usize) -> Probes {
        Probes { probes: Vec::new(), by_channel: vec![Vec::new(); channels] }
    }

    /// Watches for an expectation about flows whose segments are so long, changed last at `since`.
    pub(crate) fn add(
        &mut self,
        expectation: Expectation,
        channels: Vec<usize>,
        since: Time,
        segment_bytes: f64,
    ) {
        let at = |span: Span| Time::ZERO + span;
        let window = (at(expectation.window.0), at(expectation.window.1));
        if expectation.metric == Metric::DataRate {
            for &channel in &channels {
                self.by_channel[channel].push(self.probes.len() as u32);
            }
        }
        let flows = expectation.select.flows.iter().map(|flow| flow.index()).collect();
        let since = since.max(window.0);
        self.probes.push(Probe {
            expectation,
            flows,
            channels,
            window,
            since,
            segment_bytes,
            data_bits: 0,
            delivered: Vec::new(),
        });
    }

    pub(crate) fn windows(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.probes.iter().map(|probe| probe.window)
    }

    /// Whether somebody counts Data on a channel.
    #[inline]
    pub(crate) fn watches(&self, channel: u32) -> bool {
        !self.by_channel[channel as usize].is_empty()
    }

    /// A Data of a flow was put on a channel.
    pub(crate) fn on_data(
        &mut self,
        channel: u32,
        flow: Option<u32>,
        bits: u64,
        is_active: impl Fn((Time, Time)) -> bool,
    ) {
        let Some(flow) = flow else { return };
        for &index in &self.by_channel[channel as usize] {
            let probe = &mut self.probes[index as usize];
            if probe.flows.contains(&(flow as usize)) && is_active(probe.window) {
                probe.data_bits += bits;
            }
        }
    }

    /// The end of a step.
    pub(crate) fn on_sample(&mut self, now: Time, content: impl Fn(usize) -> u64) {
        for probe in self.probes.iter_mut().filter(|p| p.expectation.metric == Metric::Settle) {
            probe.delivered.push((now, probe.flows.iter().map(|&flow| content(flow)).sum()));
        }
    }
}

/// What came out, a row an expectation.
pub(crate) fn rows(
    probes: &Probes,
    intervals: &[Interval],
    completion: &[Option<Span>],
) -> Vec<ExpectationRow> {
    let row = |probe: &Probe| {
        let interval = intervals.iter().find(|i| (i.from, i.to) == probe.window);
        let measured = interval.and_then(|interval| probe.measured(interval, completion));
        let Expectation { what, source, stated, tolerance, .. } = &probe.expectation;
        ExpectationRow {
            what: what.clone(),
            source: source.clone(),
            stated: *stated,
            measured,
            tolerance: *tolerance,
            bound: match probe.expectation.kind {
                scenario::Bound::About => Bound::About,
                scenario::Bound::AtMost => Bound::AtMost,
                scenario::Bound::AtLeast => Bound::AtLeast,
            },
            holds: measured.is_some_and(|value| probe.expectation.holds(value)),
        }
    };
    probes.probes.iter().map(row).collect()
}

impl Probe {
    /// The value of the metric; `None` if there is nothing to measure.
    fn measured(&self, interval: &Interval, completion: &[Option<Span>]) -> Option<f64> {
        let seconds = interval.seconds();
        let goodputs = || -> Vec<f64> {
            self.flows.iter().map(|&f| (8 * interval.flow(f).content) as f64 / seconds).collect()
        };
        let count = |of: fn(&Interval, usize) -> u64| {
            Some(self.flows.iter().map(|&f| of(interval, f)).sum::<u64>() as f64)
        };
        let mean_of_channels = |of: &dyn Fn(usize) -> f64| {
            let n = self.channels.len();
            (n > 0).then(|| self.channels.iter().map(|&c| of(c)).sum::<f64>() / n as f64)
        };
        match self.expectation.metric {
            Metric::Goodput => Some(goodputs().iter().sum()),
            Metric::DataRate => Some(self.data_bits as f64 / seconds),
            Metric::DelayMean => self.delays(interval).mean_ms(),
            Metric::DelayP50 => self.delays(interval).quantile_ms(0.50),
            Metric::DelayP95 => self.delays(interval).quantile_ms(0.95),
            Metric::DelayP99 => self.delays(interval).quantile_ms(0.99),
            Metric::Lost => count(|i, f| i.flow(f).lost),
            Metric::Retransmitted => count(|i, f| i.flow(f).counters.retransmitted),
            Metric::Timeouts => count(|i, f| i.flow(f).counters.timeouts),
            Metric::Completion => {
                let all: Option<Vec<_>> = self.flows.iter().map(|&f| completion[f]).collect();
                all?.into_iter().max().map(Span::as_secs_f64)
            }
            Metric::Utilisation => mean_of_channels(&|c| interval.channel(c).busy.as_secs_f64() / seconds),
            Metric::QueueMean => self.queueing(interval).mean_ms(),
            Metric::QueueP99 => self.queueing(interval).quantile_ms(0.99),
            Metric::QueuePackets => mean_of_channels(&|c| interval.channel(c).waited.as_secs_f64() / seconds),
            Metric::Jain => jain(&goodputs()),
            Metric::Unfairness => unfairness(&goodputs()),
            Metric::Settle => self.settled_after(),
        }
    }

    fn delays(&self, interval: &Interval) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for delays in self.flows.iter().filter_map(|&f| interval.delays(f)) {
            sum.merge(delays);
        }
        sum
    }

    fn queueing(&self, interval: &Interval) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for &channel in &self.channels {
            sum.merge(interval.queueing(channel));
        }
        sum
    }

    /// How long it takes until the goodput, averaged over bins, stays near its mean over the
    /// window's last quarter.
    fn settled_after(&self) -> Option<f64> {
        let (from, to) = self.window;
        let content = |at: Time| {
            let after = self.delivered.partition_point(|(time, _)| *time <= at);
            after.checked_sub(1).map_or(0, |index| self.delivered[index].1) as f64
        };
        let quarter = (to - from) / 4;
        let last = to - quarter;
        let final_rate = (content(to) - content(last)) / quarter.as_secs_f64();
        if final_rate <= 0.0 {
            return None;
        }
        let resolution = self.segment_bytes * self.flows.len() as f64;
        let bins = (resolution / (SETTLED * final_rate * SETTLE_BIN.as_secs_f64())).ceil().max(1.0);
        let bin = SETTLE_BIN * bins as u64;
        let mut settled = self.since;
        let mut at = self.since;
        while at + bin <= to {
            let rate = (content(at + bin) - content(at)) / bin.as_secs_f64();
            at += bin;
            if (rate / final_rate - 1.0).abs() > SETTLED {
                settled = at;
            }
        }
        Some((settled - self.since).as_secs_f64())
    }
}

/// Largest relative deviation of a value from their mean.
fn unfairness(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean > 0.0).then(|| values.iter().map(|v| (v / mean - 1.0).abs()).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unfairness_is_the_largest_deviation_from_the_mean() {
        assert_eq!(unfairness(&[1.0, 1.0, 1.0]), Some(0.0));
        assert_eq!(unfairness(&[1.0, 3.0]), Some(0.5));
        assert_eq!(unfairness(&[0.0]), None);
    }
}
