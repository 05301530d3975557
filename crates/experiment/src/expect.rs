//! Expectations: what is watched for them during a run, and what came out.

use std::collections::{BTreeMap, BTreeSet};

use weir_core::units::{Span, Time};
use weir_measure::{
    Bound, Completion, DelayHistogram, ExpectationRow, FlowAccounts, Interval, LinkAccounts, LinkInterval,
    LinkTotals, jain, unfairness,
};
use weir_scenario::{self as scenario, Expectation, FlowId, Metric, Scenario};

use crate::error::ExperimentError;
use crate::experiment::Experiment;

/// Goodput is averaged over bins of this length to see when it has settled (the step of the papers'
/// plots), or of the smallest multiple of it in which one segment of each flow is less than what
/// counts as settled.
const SETTLE_BIN: Span = Span::from_millis(500);
/// How near its final value is settled.
const SETTLED: f64 = 0.05;

/// One expectation and what was seen for it.
#[derive(Debug)]
struct Probe {
    expectation: Expectation,
    flows: Vec<usize>,
    /// For [`Metric::DataRate`] and [`Metric::QueueingMean`]: the flows that stand for the prefixes of these. A Data does not say
    /// whose of several consumers of its prefix it is.
    prefixes: Vec<u32>,
    /// Directions of links, sorted.
    links: Vec<usize>,
    window: (Time, Time),
    /// Bits of Data on the links during the window.
    data_bits: u64,
    /// How long these waited for the links, together.
    waited: Span,
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

/// Expectations, and what was seen for each.
#[derive(Debug, Default)]
pub struct Probes {
    probes: Vec<Probe>,
    /// For each direction of a link: which probes count Data on it.
    by_link: Vec<Vec<u32>>,
}

impl Probes {
    /// Nothing to watch on so many directions of links yet.
    fn new(links: usize) -> Probes {
        Probes { probes: Vec::new(), by_link: vec![Vec::new(); links] }
    }

    /// Watches for an expectation, about the flows at these places of the accounts and directions of links.
    fn add(
        &mut self,
        scenario: &Scenario,
        expectation: &Expectation,
        flows: Vec<usize>,
        links: Vec<usize>,
        prefixes: Vec<u32>,
    ) {
        let at = |span: Span| Time::ZERO + span;
        let window = (at(expectation.window.0), at(expectation.window.1));
        if is_of_data(expectation.metric) {
            for &link in &links {
                self.by_link[link].push(self.probes.len() as u32);
            }
        }
        let payload = |flow: &FlowId| scenario.flows[flow.index()].payload;
        let longest = expectation.select.flows.iter().map(payload).max();
        let settling = Settling {
            window,
            since: last_change(scenario, expectation).max(window.0),
            step: scenario.sample,
            segments_bytes: longest.map_or(0.0, |payload| payload.as_u64() as f64) * flows.len() as f64,
            delivered: Vec::new(),
        };
        let expectation = expectation.clone();
        self.probes.push(Probe {
            expectation,
            flows,
            prefixes,
            links,
            window,
            data_bits: 0,
            waited: Span::ZERO,
            settling,
        });
    }

    /// The windows in which something is measured for them.
    pub fn windows(&self) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.probes.iter().map(|probe| probe.window)
    }

    /// Whether somebody counts Data on a link.
    #[inline]
    pub fn watches(&self, link: usize) -> bool {
        !self.by_link[link].is_empty()
    }

    /// A Data that had waited so long was put on a link; `flow` stands for all of its prefix, and the accounts say what is
    /// being measured.
    pub fn on_data(
        &mut self,
        link: usize,
        flow: Option<u32>,
        bits: u64,
        waited: Span,
        accounts: &LinkAccounts,
    ) {
        let Some(flow) = flow else { return };
        for &index in &self.by_link[link] {
            let probe = &mut self.probes[index as usize];
            if probe.prefixes.contains(&flow) && accounts.is_measuring(probe.window) {
                probe.data_bits += bits;
                probe.waited = probe.waited + waited;
            }
        }
    }

    /// The end of a step, and the content that each flow got by then, bytes.
    pub fn on_sample(&mut self, now: Time, content: impl Fn(usize) -> u64) {
        for probe in self.probes.iter_mut().filter(|p| p.expectation.metric == Metric::Settle) {
            probe.settling.delivered.push((now, probe.flows.iter().map(|&flow| content(flow)).sum()));
        }
    }

    /// The same of all steps at once, from the time series of the flows, whose steps are so long.
    pub fn on_series(&mut self, flows: &FlowAccounts, step: Span) {
        let (series, step_s) = (flows.flow_series(), step.as_secs_f64());
        let mut content = vec![0.0; series.len()];
        for sample in 0..flows.samples() {
            for (sum, flow) in content.iter_mut().zip(series) {
                *sum += f64::from(flow.goodput_bps[sample]) * step_s / 8.0;
            }
            let end = Time::ZERO + step * (sample as u64 + 1);
            self.on_sample(end, |flow| content.get(flow).map_or(0, |sum: &f64| sum.round() as u64));
        }
    }

    /// What came out, a row an expectation whose window was measured to its end.
    pub fn rows(&self, flows: &FlowAccounts, links: Option<&LinkAccounts>) -> Vec<ExpectationRow> {
        let row = |probe: &Probe| {
            let (place, interval) = flows.between(probe.window)?;
            let links = links.map(|links| links.interval(place));
            Some(probe.row(probe.measured(&Measured { completion: flows.completion(), interval, links })))
        };
        self.probes.iter().filter_map(row).collect()
    }
}

impl Experiment<'_> {
    /// The expectations of the scheme, for a world that sees all flows and links.
    ///
    /// # Errors
    /// [`ExperimentError::Unsupported`]: one that cannot be measured.
    pub fn probes(&self) -> Result<Probes, ExperimentError> {
        let scenario = self.scenario();
        let mut probes = Probes::new(2 * scenario.links.len());
        for expectation in scenario.expectations_for(self.scheme().entry.name) {
            let direction = |link: &scenario::DirectedLink| 2 * link.link.index() + link.direction;
            let links = match expectation.metric {
                Metric::QueueingMean => (0..2 * scenario.links.len()).collect(),
                _ => expectation.select.links.iter().map(direction).collect(),
            };
            let flows = expectation.select.flows.iter().map(|flow| flow.index()).collect();
            let prefixes = match expectation.metric {
                metric if is_of_data(metric) => whole_prefixes(scenario, expectation)?,
                _ => Vec::new(),
            };
            probes.add(scenario, expectation, flows, links, prefixes);
        }
        Ok(probes)
    }

    /// Those that applications can check, from what their flows got; and what the others are about.
    /// `place` says where a flow is in the accounts, and `None` of one that is not there.
    pub fn probes_of_applications(&self, place: impl Fn(FlowId) -> Option<usize>) -> (Probes, Vec<String>) {
        let (mut probes, mut others) = (Probes::new(0), Vec::new());
        for expectation in self.scenario().expectations_for(self.scheme().entry.name) {
            let flows: Option<Vec<usize>> =
                expectation.select.flows.iter().map(|flow| place(*flow)).collect();
            match flows.filter(|_| is_seen_by_applications(expectation.metric)) {
                Some(flows) => probes.add(self.scenario(), expectation, flows, Vec::new(), Vec::new()),
                None => others.push(expectation.what.clone()),
            }
        }
        (probes, others)
    }
}

/// The prefixes of an expectation's flows, each by its first flow. All consumers of a prefix must
/// be selected, or none: Data on a link does not say whose it is.
fn whole_prefixes(scenario: &Scenario, expectation: &Expectation) -> Result<Vec<u32>, ExperimentError> {
    let selected: BTreeSet<usize> = expectation.select.flows.iter().map(|flow| flow.index()).collect();
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let first = *first_of.entry(&flow.prefix).or_insert(index);
        if selected.contains(&index) != selected.contains(&first) {
            return Err(ExperimentError::Unsupported(format!(
                "expectation \"{}\": on links, Data under {} cannot be told by consumer; select all \
                 flows of the prefix, or measure their goodput or delay",
                expectation.what, flow.prefix
            )));
        }
    }
    let firsts = first_of.into_values().filter(|first| selected.contains(first));
    Ok(firsts.map(|first| first as u32).collect())
}

/// Whether what was measured tells an application; what a network drops does not, and links are not its own.
fn is_seen_by_applications(metric: Metric) -> bool {
    !metric.needs_link() && !matches!(metric, Metric::Lost | Metric::QueueingMean)
}

/// Whether Data of certain flows are watched on links.
fn is_of_data(metric: Metric) -> bool {
    matches!(metric, Metric::DataRate | Metric::QueueingMean)
}

/// The last time before the window's end that the scenario changes something for the expectation's flows.
fn last_change(scenario: &Scenario, expectation: &Expectation) -> Time {
    let selected = expectation.select.flows.iter().map(|flow| &scenario.flows[flow.index()]);
    let starts = selected.flat_map(|flow| [Some(flow.start), flow.stop]).flatten();
    let events = scenario.events.iter().map(|event| event.at);
    let last = starts.chain(events).filter(|at| *at < expectation.window.1).max();
    Time::ZERO + last.unwrap_or(Span::ZERO)
}

/// What was measured in the window of an expectation.
struct Measured<'a> {
    completion: &'a [Option<Completion>],
    interval: &'a Interval,
    links: Option<&'a LinkInterval>,
}

impl Probe {
    fn row(&self, measured: Option<f64>) -> ExpectationRow {
        let Expectation { what, source, metric, stated, tolerance, .. } = &self.expectation;
        ExpectationRow {
            what: what.clone(),
            source: source.clone(),
            unit: metric.unit().to_owned(),
            stated: *stated,
            measured,
            tolerance: *tolerance,
            bound: match self.expectation.kind {
                scenario::Bound::About => Bound::About,
                scenario::Bound::AtMost => Bound::AtMost,
                scenario::Bound::AtLeast => Bound::AtLeast,
            },
            holds: measured.is_some_and(|value| self.expectation.holds(value)),
        }
    }

    /// The value of the metric; `None` if there is nothing to measure.
    fn measured(&self, Measured { completion, interval, links }: &Measured<'_>) -> Option<f64> {
        let seconds = interval.seconds();
        let goodputs = || -> Vec<f64> {
            self.flows.iter().map(|&f| (8 * interval.flow(f).content) as f64 / seconds).collect()
        };
        let count = |of: fn(&Interval, usize) -> u64| {
            Some(self.flows.iter().map(|&f| of(interval, f)).sum::<u64>() as f64)
        };
        let delays = || interval.delays_of(&self.flows);
        let mean_of_links = |of: fn(&LinkTotals) -> f64| {
            let (accounts, n) = ((*links)?, self.links.len());
            let each = || self.links.iter().map(|&link| of(&accounts.link(link)) / seconds);
            (n > 0).then(|| each().sum::<f64>() / n as f64)
        };
        match self.expectation.metric {
            Metric::Goodput => Some(goodputs().iter().sum()),
            Metric::DataRate => links.map(|_| self.data_bits as f64 / seconds),
            Metric::DelayMean => delays().mean_ms(),
            Metric::DelayP50 => delays().quantile_ms(0.50),
            Metric::DelayP95 => delays().quantile_ms(0.95),
            Metric::DelayP99 => delays().quantile_ms(0.99),
            Metric::QueueingMean => {
                let delivered = delays().count();
                (delivered > 0).then(|| self.waited.as_millis_f64() / delivered as f64)
            }
            Metric::Lost => count(|i, f| i.flow(f).lost),
            Metric::Retransmitted => count(|i, f| i.flow(f).counters.retransmitted),
            Metric::Timeouts => count(|i, f| i.flow(f).counters.timeouts),
            Metric::Completion => completions(&self.flows, completion)?.into_iter().reduce(f64::max),
            Metric::CompletionMean => mean(&completions(&self.flows, completion)?),
            Metric::Unfinished => {
                let is_late = |f: &&usize| completion[**f].is_none_or(|c| c.at > interval.to());
                Some(self.flows.iter().filter(is_late).count() as f64)
            }
            Metric::Utilisation => mean_of_links(|of| of.busy.as_secs_f64()),
            Metric::QueueMean => self.queueing((*links)?).mean_ms(),
            Metric::QueueP99 => self.queueing((*links)?).quantile_ms(0.99),
            Metric::QueuePackets => mean_of_links(|of| of.waited.as_secs_f64()),
            Metric::Jain => jain(&goodputs()),
            Metric::Unfairness => unfairness(&goodputs()),
            Metric::Settle => self.settling.time_s(),
        }
    }

    fn queueing(&self, links: &LinkInterval) -> DelayHistogram {
        let mut sum = DelayHistogram::new();
        for &link in &self.links {
            sum.merge(links.queueing(link));
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
