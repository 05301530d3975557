//! The distributions of a run's document: histograms that can be added, over seeds or over groups of flows.

use crate::model::{Distribution, DistributionRow};

/// Below this number of steps, each number has its own bucket. Above it, each doubling has half as many
/// buckets.
const EXACT: u64 = 256;

impl Distribution {
    /// Returns an empty histogram of values in this unit. Its smallest buckets are `step` wide.
    pub fn new(unit: &str, step: f64) -> Distribution {
        Distribution { unit: unit.to_owned(), step, ..Distribution::default() }
    }

    /// Returns an empty histogram of slowdowns, which are ratios from 1 on.
    pub fn of_slowdowns() -> Distribution {
        Distribution::new("1", 0.005)
    }

    /// Adds a value, in [`Distribution::unit`]. A negative value counts as zero.
    pub fn record(&mut self, value: f64) {
        let sum = self.sum() + value;
        // A cast saturates.
        self.add((value / self.step).round() as u64, 1);
        self.count += 1;
        self.mean = Some(sum / self.count as f64);
    }

    /// Adds all values of another histogram with the same unit and step.
    pub fn merge(&mut self, other: &Distribution) {
        let sum = self.sum() + other.sum();
        let others = other.counts.iter().copied();
        others.for_each(|(from, n)| self.add(from, n));
        self.count += other.count;
        self.mean = (self.count > 0).then(|| sum / self.count as f64);
    }

    /// Adds `n` values of this many steps. The caller counts them in the total.
    pub(crate) fn add(&mut self, steps: u64, n: u64) {
        let from = bucket(steps);
        match self.counts.last() {
            // Most values come in order.
            Some((last, _)) if *last < from => self.counts.push((from, n)),
            _ => match self.counts.binary_search_by_key(&from, |(from, _)| *from) {
                Ok(at) => self.counts[at].1 += n,
                Err(at) => self.counts.insert(at, (from, n)),
            },
        }
    }

    fn sum(&self) -> f64 {
        self.mean.unwrap_or(0.0) * self.count as f64
    }

    /// Returns the value that the part `quantile` (0 to 1) of all values does not exceed: the middle of its
    /// bucket, in [`Distribution::unit`]; `None` without values.
    pub fn quantile(&self, quantile: f64) -> Option<f64> {
        let rank = (quantile.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut before = 0;
        let at_rank = self.counts.iter().find(|(_, n)| {
            before += n;
            before >= rank
        });
        at_rank.map(|(from, _)| (*from as f64 + (width(*from) - 1) as f64 / 2.0) * self.step)
    }

    /// Iterates over the points of its cumulative distribution: the end of each bucket, in
    /// [`Distribution::unit`], and the part of the values up to there, 0 to 1.
    pub fn cdf(&self) -> impl Iterator<Item = (f64, f64)> {
        self.counts.iter().scan(0, |before, (from, n)| {
            *before += n;
            // Values were rounded to the last number of a bucket.
            let end = (*from + width(*from)) as f64 - 0.5;
            Some((end * self.step, *before as f64 / self.count as f64))
        })
    }
}

/// Returns the beginning of the bucket of a number of steps.
fn bucket(steps: u64) -> u64 {
    steps - steps % width(steps)
}

/// Returns how many numbers the bucket of this number has.
fn width(steps: u64) -> u64 {
    if steps < EXACT { 1 } else { 1 << (steps.ilog2() - 7) }
}

impl DistributionRow {
    /// Returns a row, if there are values.
    pub fn of(what: &str, kind: &str, of: String, distribution: Distribution) -> Option<DistributionRow> {
        let has_values = distribution.count > 0;
        has_values.then(|| DistributionRow { what: what.to_owned(), kind: kind.to_owned(), of, distribution })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_off_by_half_a_step_or_by_four_thousandths() {
        for k in 0..40_000_u64 {
            let value = 0.01 * k as f64;
            let mut one = Distribution::new("ms", 0.05);
            one.record(value);
            let found = one.quantile(0.5).unwrap();
            assert!((found - value).abs() <= f64::max(0.025 + 1e-9, 0.004 * value), "{value}: {found}");
            assert_eq!((one.mean, one.count), (Some(value), 1));
        }
    }

    #[test]
    fn merging_is_recording_both() {
        let (mut one, mut other, mut both) =
            (Distribution::of_slowdowns(), Distribution::of_slowdowns(), Distribution::of_slowdowns());
        for k in 0..5000_u64 {
            let (a, b) = (1.0 + k as f64 * 0.001, 1.0 + (k * k % 977) as f64);
            one.record(a);
            other.record(b);
            both.record(b);
            both.record(a);
        }
        one.merge(&other);
        one.merge(&Distribution::of_slowdowns());
        assert_eq!((one.count, &one.counts), (both.count, &both.counts));
        assert!((one.mean.unwrap() - both.mean.unwrap()).abs() < 1e-9);
        assert!(one.counts.is_sorted());
    }

    #[test]
    fn the_cumulative_distribution_of_evenly_spaced_values_is_a_line() {
        let mut delays = Distribution::new("ms", 0.05);
        (0..10_000).for_each(|k| delays.record(f64::from(k) * 0.01));
        for (x, part) in delays.cdf() {
            // A bucket is at most 0.4 ms wide, and the last one has no values above 100 ms.
            assert!((part - x / 100.0).abs() < 0.005, "{part} up to {x} ms");
        }
        assert_eq!(delays.cdf().last().map(|(_, part)| part), Some(1.0));
        assert_eq!(Distribution::new("ms", 0.05).quantile(0.5), None);
    }
}
