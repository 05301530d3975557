//! Computes the value of each metric, and compares it with the statement.

use weir_measure::{
    Completion, DelayHistogram, ExpectationRow, HopCounts, Interval, LinkInterval, LinkTotals, ProbeValue,
    Relation, jain, unfairness,
};
use weir_scenario::{self as scenario, Metric, Order, Stated};

use super::{Accounts, Observer, Statement};
use crate::probe::Probe;

/// The measurements in the window of a probe.
struct Measured<'a> {
    completion: &'a [Option<Completion>],
    interval: &'a Interval,
    links: Option<&'a LinkInterval>,
    hit_ratio: Option<f64>,
    /// Data that nodes dropped, and packets that links lost.
    data_lost: Option<f64>,
}

impl Statement {
    /// Returns the row with the statement and the result.
    pub(super) fn row(&self, probe: &Probe, came: ProbeValue) -> ExpectationRow {
        let row = ExpectationRow {
            what: probe.label.clone(),
            source: self.source.clone(),
            unit: probe.metric.unit().to_owned(),
            measured: came.value,
            never: came.never,
            ..ExpectationRow::default()
        };
        match &self.stated {
            Stated::Value { bound, value, tolerance } => ExpectationRow {
                bound: self::relation(*bound),
                stated: Some(*value),
                tolerance: *tolerance,
                holds: Some(came.value.is_some_and(|found| bound.holds(found, *value, *tolerance))),
                ..row
            },
            Stated::Comparison { order, schemes } => {
                ExpectationRow { bound: relation_of(*order), than: schemes.clone(), ..row }
            }
        }
    }
}

impl Observer {
    /// Returns the result; `None` if the window was not measured to its end.
    pub(super) fn value(&self, Accounts { flows, links, nodes }: Accounts<'_>) -> Option<ProbeValue> {
        let (place, interval) = flows.between(self.window)?;
        let links = links.map(|links| links.interval(place));
        let hit_ratio = nodes.and_then(|nodes| nodes.hit_ratio(place, &self.nodes));
        let data_lost = nodes.zip(links).map(|(nodes, links)| {
            let by_links: u64 =
                (0..links.len()).map(|at| links.link(at)).map(|link| link.lost + link.down).sum();
            (nodes.data_lost(place) + by_links) as f64
        });
        let completion = flows.completion();
        let measured = Measured { completion, interval, links, hit_ratio, data_lost };
        Some(ProbeValue {
            value: self.measured(&measured),
            never: self.probe.metric == Metric::Settle && self.settling.is_never(),
        })
    }

    /// Returns the value of the metric; `None` if there is nothing to measure.
    fn measured(
        &self,
        Measured { completion, interval, links, hit_ratio, data_lost }: &Measured<'_>,
    ) -> Option<f64> {
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
        match self.probe.metric {
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
            Metric::Lost if self.by_network => *data_lost,
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
            Metric::CacheHitRatio => *hit_ratio,
            Metric::HopsMean => interval.hops_of(&self.flows).as_ref().map(HopCounts::hops)?.mean,
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

/// Returns the notation of a bound in documents.
pub fn relation(bound: scenario::Bound) -> Relation {
    match bound {
        scenario::Bound::About => Relation::About,
        scenario::Bound::AtMost => Relation::AtMost,
        scenario::Bound::AtLeast => Relation::AtLeast,
    }
}

fn relation_of(order: Order) -> Relation {
    match order {
        Order::MoreThan => Relation::MoreThan,
        Order::LessThan => Relation::LessThan,
    }
}

/// Returns the time that each of these flows took to fetch its amount, s; `None` if one of them has not.
fn completions(flows: &[usize], completion: &[Option<Completion>]) -> Option<Vec<f64>> {
    flows.iter().map(|&flow| completion[flow].map(|c| c.after.as_secs_f64())).collect()
}

/// Returns the mean; `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
