//! Expectations: what is watched for them during a run, and what came out.

use weir_core::units::{Span, Time};
use weir_results::{
    Bound, Completion, DelayHistogram, ExpectationRow, FlowAccounts, Interval, jain, unfairness,
};
use weir_scenario::{self as scenario, Expectation, Metric};

use crate::measure::ChannelInterval;

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
    /// For [`Metric::DataRate`]: the flows that stand for the prefixes of these. A Data does not say
    /// whose of several consumers of its prefix it is.
    prefixes: Vec<u32>,
    /// Sorted.
    channels: Vec<usize>,
    window: (Time, Time),
    /// Bits of Data on the channels during the window.
    data_bits: u64,
    settling: Settling,
}

/// What [`Metric::Settle`] looks at.
#[derive(Debug)]
struct Settling {
    window: (Time, Time),
    /// The last change of what the flows are to settle to.
    since: Time,
    /// Length of a step.
    step: Span,
    /// Content of one segment of each flow.
    segments_bytes: f64,
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

    /// Watches for an expectation about flows whose segments are so long, changed last at `since`;
    /// samples come at the ends of steps.
    pub(crate) fn add(
        &mut self,
        expectation: Expectation,
        channels: Vec<usize>,
        prefixes: Vec<u32>,
        since: Time,
        step: Span,
        segment_bytes: f64,
    ) {
        let at = |span: Span| Time::ZERO + span;
        let window = (at(expectation.window.0), at(expectation.window.1));
        if expectation.metric == Metric::DataRate {
            for &channel in &channels {
                self.by_channel[channel].push(self.probes.len() as u32);
            }
        }
        let flows: Vec<_> = expectation.select.flows.iter().map(|flow| flow.index()).collect();
        let since = since.max(window.0);
        let segments_bytes = segment_bytes * flows.len() as f64;
        let settling = Settling { window, since, step, segments_bytes, delivered: Vec::new() };
        self.probes.push(Probe { expectation, flows, prefixes, channels, window, data_bits: 0, settling });
    }

    pub(crate) fn windows(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.probes.iter().map(|probe| probe.window)
    }

    /// Whether somebody counts Data on a channel.
    #[inline]
    pub(crate) fn watches(&self, channel: u32) -> bool {
        !self.by_channel[channel as usize].is_empty()
    }

    /// A Data was put on a channel; `flow` stands for all of its prefix.
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
            if probe.prefixes.contains(&flow) && is_active(probe.window) {
                probe.data_bits += bits;
            }
        }
    }

    /// The end of a step.
    pub(crate) fn on_sample(&mut self, now: Time, content: impl Fn(usize) -> u64) {
        for probe in self.probes.iter_mut().filter(|p| p.expectation.metric == Metric::Settle) {
            probe.settling.delivered.push((now, probe.flows.iter().map(|&flow| content(flow)).sum()));
        }
    }
}

impl Probes {
    /// What came out, a row an expectation; `links` beside the intervals of the accounts.
    pub(crate) fn rows(&self, flows: &FlowAccounts, links: &[ChannelInterval]) -> Vec<ExpectationRow> {
        let row = |probe: &Probe| {
            let place = flows.intervals().iter().position(|i| (i.from(), i.to()) == probe.window);
            let measured = place.and_then(|place| {
                let what = Measured { flows, interval: &flows.intervals()[place], links: &links[place] };
                probe.measured(&what)
            });
            let Expectation { what, source, metric, stated, tolerance, .. } = &probe.expectation;
            ExpectationRow {
                what: what.clone(),
                source: source.clone(),
                unit: metric.unit().to_owned(),
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
        self.probes.iter().map(row).collect()
    }
}

/// What was measured in the window of an expectation.
struct Measured<'a> {
    flows: &'a FlowAccounts,
    interval: &'a Interval,
    links: &'a ChannelInterval,
}

impl Probe {
    /// The value of the metric; `None` if there is nothing to measure.
    fn measured(&self, Measured { flows, interval, links }: &Measured<'_>) -> Option<f64> {
        let (seconds, completion) = (interval.seconds(), flows.completion());
        let goodputs = || -> Vec<f64> {
            self.flows.iter().map(|&f| (8 * interval.flow(f).content) as f64 / seconds).collect()
        };
        let count = |of: fn(&Interval, usize) -> u64| {
            Some(self.flows.iter().map(|&f| of(interval, f)).sum::<u64>() as f64)
        };
        let delays = || interval.delays_of(&self.flows);
        let mean_of_channels = |of: &dyn Fn(usize) -> f64| {
            let n = self.channels.len();
            (n > 0).then(|| self.channels.iter().map(|&c| of(c)).sum::<f64>() / n as f64)
        };
        match self.expectation.metric {
            Metric::Goodput => Some(goodputs().iter().sum()),
            Metric::DataRate => Some(self.data_bits as f64 / seconds),
            Metric::DelayMean => delays().mean_ms(),
            Metric::DelayP50 => delays().quantile_ms(0.50),
            Metric::DelayP95 => delays().quantile_ms(0.95),
            Metric::DelayP99 => delays().quantile_ms(0.99),
            Metric::Lost => count(|i, f| i.flow(f).lost),
            Metric::Retransmitted => count(|i, f| i.flow(f).counters.retransmitted),
            Metric::Timeouts => count(|i, f| i.flow(f).counters.timeouts),
            Metric::Completion => completions(&self.flows, completion)?.into_iter().reduce(f64::max),
            Metric::CompletionMean => mean(&completions(&self.flows, completion)?),
            Metric::Unfinished => {
                let is_late = |f: &&usize| completion[**f].is_none_or(|c| c.at > interval.to());
                Some(self.flows.iter().filter(is_late).count() as f64)
            }
            Metric::Utilisation => mean_of_channels(&|c| links.channel(c).busy.as_secs_f64() / seconds),
            Metric::QueueMean => self.queueing(links).mean_ms(),
            Metric::QueueP99 => self.queueing(links).quantile_ms(0.99),
            Metric::QueuePackets => mean_of_channels(&|c| links.channel(c).waited.as_secs_f64() / seconds),
            Metric::Jain => jain(&goodputs()),
            Metric::Unfairness => unfairness(&goodputs()),
            Metric::Settle => self.settling.time_s(),
        }
    }

    fn queueing(&self, links: &ChannelInterval) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for &channel in &self.channels {
            sum.merge(links.queueing(channel));
        }
        sum
    }
}

impl Settling {
    /// How long it takes, from the last change on, until the goodput, averaged over bins, stays near its
    /// mean over the window's last quarter. `None` if nothing came, or if there is no bin to look at.
    fn time_s(&self) -> Option<f64> {
        let (from, to) = (self.window.0, self.step_before(self.window.1));
        let last = self.step_after(from + (to - from) / 4 * 3);
        if last >= to {
            return None;
        }
        let final_rate = self.rate(last, to);
        if final_rate <= 0.0 {
            return None;
        }
        let (since, bin) = (self.step_after(self.since), self.bin(final_rate));
        let mut at = since;
        let mut settled = None;
        while at + bin <= to {
            let is_near = (self.rate(at, at + bin) / final_rate - 1.0).abs() <= SETTLED;
            at += bin;
            settled = if is_near { settled.or(Some(since)) } else { Some(at) };
        }
        settled.map(|settled| (settled - since).as_secs_f64())
    }

    /// The length of the bins: whole steps, since content is known at their ends only.
    fn bin(&self, final_rate: f64) -> Span {
        let times = self.segments_bytes / (SETTLED * final_rate * SETTLE_BIN.as_secs_f64());
        let bin = SETTLE_BIN * times.ceil().max(1.0) as u64;
        self.step * bin.as_nanos().div_ceil(self.step.as_nanos())
    }

    /// Bytes a second between the ends of two steps.
    fn rate(&self, from: Time, to: Time) -> f64 {
        let content = |at: Time| {
            let after = self.delivered.partition_point(|(time, _)| *time <= at);
            after.checked_sub(1).map_or(0, |index| self.delivered[index].1) as f64
        };
        (content(to) - content(from)) / (to - from).as_secs_f64()
    }

    fn step_before(&self, at: Time) -> Time {
        Time::ZERO + self.step * (at.as_nanos() / self.step.as_nanos())
    }

    fn step_after(&self, at: Time) -> Time {
        Time::ZERO + self.step * at.as_nanos().div_ceil(self.step.as_nanos())
    }
}

/// The time that each of these flows took to fetch its amount, s; `None` if one of them has not.
fn completions(flows: &[usize], completion: &[Option<Completion>]) -> Option<Vec<f64>> {
    flows.iter().map(|&flow| completion[flow].map(|c| c.after.as_secs_f64())).collect()
}

/// `None` of no values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Steps of so many milliseconds in which so many bytes come, over a window that they fill.
    fn settling(step: u64, since: u64, bytes: &[u64]) -> Settling {
        let ends = bytes.iter().scan((0, 0), |(now, sum), bytes| {
            (*now, *sum) = (*now + step, *sum + bytes);
            Some((at(*now), *sum))
        });
        let delivered: Vec<_> = ends.collect();
        let window = (at(0), delivered[delivered.len() - 1].0);
        Settling { window, since: at(since), step: Span::from_millis(step), segments_bytes: 1.0, delivered }
    }

    #[test]
    fn the_time_to_settle_is_the_end_of_the_last_bin_that_is_off() {
        let mut bytes = vec![1000; 100];
        assert_eq!(settling(100, 0, &bytes).time_s(), Some(0.0));
        bytes[12] = 0;
        assert_eq!(settling(100, 0, &bytes).time_s(), Some(1.5));
        // The step in which the change comes is not looked at.
        bytes[10] = 500;
        assert_eq!(settling(100, 1_040, &bytes).time_s(), Some(0.5));
    }

    #[test]
    fn without_a_bin_after_the_last_change_nothing_is_known_to_have_settled() {
        let bytes = [1000; 100];
        assert_eq!(settling(100, 9_500, &bytes).time_s(), Some(0.0));
        assert_eq!(settling(100, 9_600, &bytes).time_s(), None);
        assert_eq!(settling(100, 0, &[0; 100]).time_s(), None);
    }

    #[test]
    fn steps_that_are_longer_than_a_bin_or_do_not_divide_it_are_no_unrest() {
        for step in [300, 700, 2_000] {
            assert_eq!(settling(step, 0, &[1000; 100]).time_s(), Some(0.0), "steps of {step} ms");
        }
    }
}
