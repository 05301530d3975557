//! Summary statistics: percentiles of delays, fairness, and means over several seeds.

use crate::model::{DelayMs, Distribution, Estimate, Hops, QueueMs};
use hdrhistogram::Histogram;

/// The unit of the histogram, ns.
const UNIT_NS: u64 = 50_000;
/// Longer delays count as this one: a day, in units.
const LONGEST: u64 = 86_400 * 1_000_000_000 / UNIT_NS;

/// The numbers of Data that crossed 0, 1, 2, … links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HopCounts(Vec<u64>);

impl HopCounts {
    /// Adds one Data.
    #[inline]
    pub fn record(&mut self, hops: u8) {
        let hops = usize::from(hops);
        if hops >= self.0.len() {
            self.0.resize(hops + 1, 0);
        }
        self.0[hops] += 1;
    }

    /// Returns the counts without those of an earlier time.
    pub fn since(&self, before: Option<&HopCounts>) -> HopCounts {
        let mut counts = self.clone();
        for (count, before) in counts.0.iter_mut().zip(before.into_iter().flat_map(|before| &before.0)) {
            *count -= before;
        }
        while counts.0.last() == Some(&0) {
            counts.0.pop();
        }
        counts
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: &HopCounts) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    /// Returns mean and counts, for a row of flows or classes.
    pub fn hops(&self) -> Hops {
        let sum = |of: fn((usize, &u64)) -> u64| self.0.iter().enumerate().map(of).sum::<u64>();
        let (count, hops) = (sum(|(_, count)| *count), sum(|(hops, count)| hops as u64 * count));
        Hops { mean: (count > 0).then(|| hops as f64 / count as f64), counts: self.0.clone() }
    }
}

/// Delays of many packets in little memory: percentiles to 50 µs or 0.05 %, whichever is coarser, and an
/// exact mean.
///
/// It allocates its table with the first record (8 kB), and doubles it when a longer delay than all before
/// comes (45 kB at a minute); otherwise it allocates nothing. A [`DelayHistogram::coarse`] one takes an
/// eighth of that.
#[derive(Clone, Debug)]
pub struct DelayHistogram {
    counts: Option<Box<Histogram<u32>>>,
    sum_ns: u128,
    count: u64,
    /// The number of delays that round to zero units. They are not in the table.
    zeros: u64,
    significant_digits: u8,
}

impl Default for DelayHistogram {
    fn default() -> DelayHistogram {
        DelayHistogram::new()
    }
}

impl DelayHistogram {
    /// Returns an empty histogram. It allocates nothing.
    pub const fn new() -> DelayHistogram {
        DelayHistogram { counts: None, sum_ns: 0, count: 0, zeros: 0, significant_digits: 3 }
    }

    /// Returns an empty histogram with percentiles to 50 µs or 0.5 %, whichever is coarser. It is for many
    /// histograms that are updated all the time.
    pub const fn coarse() -> DelayHistogram {
        DelayHistogram { counts: None, sum_ns: 0, count: 0, zeros: 0, significant_digits: 2 }
    }

    /// Adds this many delays of zero.
    pub const fn record_zeros(&mut self, count: u64) {
        self.count += count;
        self.zeros += count;
    }

    /// Adds this many equal delays, ns.
    pub fn record_many(&mut self, ns: u64, count: u64) {
        (0..count).for_each(|_| self.record(ns));
    }

    /// Adds one delay, ns.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.sum_ns += u128::from(ns);
        self.count += 1;
        // Most packets find an idle link.
        if ns < UNIT_NS / 2 {
            self.zeros += 1;
            return;
        }
        let units = (ns.saturating_add(UNIT_NS / 2) / UNIT_NS).min(LONGEST);
        // The table grows up to `LONGEST`, so recording cannot fail.
        let _ = self.table().record(units);
    }

    /// Adds all delays of another histogram.
    pub fn merge(&mut self, other: &DelayHistogram) {
        self.sum_ns += other.sum_ns;
        self.count += other.count;
        self.zeros += other.zeros;
        if let Some(counts) = &other.counts {
            // As in `record`, this cannot fail.
            let _ = self.table().add(counts.as_ref());
        }
    }

    fn table(&mut self) -> &mut Histogram<u32> {
        let digits = self.significant_digits;
        self.counts.get_or_insert_with(|| {
            let mut counts = Histogram::new(digits).expect("2 and 3 significant digits are within 0 to 5");
            counts.auto(true);
            Box::new(counts)
        })
    }

    /// Clears it and keeps its memory.
    pub fn clear(&mut self) {
        self.sum_ns = 0;
        self.count = 0;
        self.zeros = 0;
        if let Some(counts) = &mut self.counts {
            counts.reset();
        }
    }

    /// Returns the number of delays.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns their exact mean, ms; `None` without delays.
    pub fn mean_ms(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e6)
    }

    /// Returns the delay that the part `quantile` (0 to 1) of all delays does not exceed, ms; `None` without
    /// delays.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        let rank = (quantile.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        if self.count == 0 {
            return None;
        }
        let Some(counts) = self.counts.as_ref().filter(|_| rank > self.zeros) else { return Some(0.0) };
        let units = counts.value_at_quantile((rank - self.zeros) as f64 / counts.len() as f64);
        // The table returns the upper end of a cell. Its middle is nearer on average.
        let middle = (counts.lowest_equivalent(units) + counts.highest_equivalent(units)) as f64 / 2.0;
        Some(middle * UNIT_NS as f64 / 1e6)
    }

    /// Returns the histogram for the document, ms. It is as fine as a [`DelayHistogram::coarse`] one.
    pub fn distribution(&self) -> Distribution {
        let mut all = Distribution::new("ms", UNIT_NS as f64 / 1e6);
        if self.zeros > 0 {
            all.add(0, self.zeros);
        }
        for cell in self.counts.iter().flat_map(|counts| counts.iter_recorded()) {
            // A cell of this table is within one bucket of the document's histogram.
            all.add(cell.value_iterated_to(), cell.count_at_value().into());
        }
        (all.count, all.mean) = (self.count, self.mean_ms());
        all
    }

    /// Returns mean and percentiles, for a row of flows or classes.
    pub fn delay_ms(&self) -> DelayMs {
        DelayMs {
            mean: self.mean_ms(),
            p50: self.quantile_ms(0.50),
            p95: self.quantile_ms(0.95),
            p99: self.quantile_ms(0.99),
        }
    }

    /// Returns mean and 99th percentile, for a row of links.
    pub fn queue_ms(&self) -> QueueMs {
        QueueMs { mean: self.mean_ms(), p99: self.quantile_ms(0.99) }
    }
}

/// Returns Jain's fairness index of some allocations: 1 if all are equal, `1/n` if one has everything.
/// Returns `None` if all are zero or there are none.
pub fn jain(allocations: &[f64]) -> Option<f64> {
    let sum: f64 = allocations.iter().sum();
    let squares: f64 = allocations.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (allocations.len() as f64 * squares))
}

/// Returns the largest relative deviation of an allocation from the mean: 0 if all are equal. Returns `None`
/// if the mean is zero or there are none.
pub fn unfairness(allocations: &[f64]) -> Option<f64> {
    let mean = allocations.iter().sum::<f64>() / allocations.len() as f64;
    (mean > 0.0).then(|| allocations.iter().map(|x| (x / mean - 1.0).abs()).fold(0.0, f64::max))
}

impl Estimate {
    /// Returns the mean of some values, and its 95 % confidence interval under the assumption that they are
    /// normal and independent; `None` without values.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let (count, distinct) = (n as u64, distinct(values));
        if distinct == 1 {
            // Sums of equal values round, and an interval of rounding errors has no meaning.
            let ci95 = (n > 1).then_some(0.0);
            return Some(Estimate { mean: values[0], ci95, n: count, distinct });
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (n - 1) as f64).sqrt();
        let ci95 = Some(student_t(n - 1) * deviation / (n as f64).sqrt());
        Some(Estimate { mean, ci95, n: count, distinct })
    }
}

/// Returns the number of different values.
fn distinct(values: &[f64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    sorted.len() as u64
}

/// Returns the half-width of the interval around 0 that contains Student's t in 95 % of all cases, with this
/// number of degrees of freedom (at least one); to four digits. Small numbers of degrees are in a table; others
/// use the expansion about the normal distribution (Abramowitz and Stegun, 26.7.5).
fn student_t(degrees: usize) -> f64 {
    const FEW: [f64; 5] = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058];
    const Z: f64 = 1.959_963_984_540_054;
    if let Some(t) = FEW.get(degrees - 1) {
        return *t;
    }
    // The coefficients of odd powers of z, from z on, over the divisor.
    const TERMS: [(&[f64], f64); 4] = [
        (&[1.0, 1.0], 4.0),
        (&[3.0, 16.0, 5.0], 96.0),
        (&[-15.0, 17.0, 19.0, 3.0], 384.0),
        (&[-945.0, -1920.0, 1482.0, 776.0, 79.0], 92160.0),
    ];
    let mut t = Z;
    let mut power = 1.0;
    for (coefficients, divisor) in TERMS {
        power *= degrees as f64;
        let polynomial = coefficients.iter().rev().fold(0.0, |sum, c| sum * Z * Z + c) * Z;
        t += polynomial / (divisor * power);
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_counted_between_two_times_and_have_a_mean() {
        let mut counts = HopCounts::default();
        assert_eq!(counts.hops(), Hops { mean: None, counts: Vec::new() });
        [5, 0, 2].into_iter().for_each(|hops| counts.record(hops));
        let before = counts.clone();
        [2, 2, 3].into_iter().for_each(|hops| counts.record(hops));
        let since = counts.since(Some(&before)).hops();
        assert_eq!((since.counts, since.mean), (vec![0, 0, 2, 1], Some(7.0 / 3.0)));
        let mut sum = counts.since(None);
        sum.merge(&before);
        assert_eq!(sum.hops().counts, [2, 0, 4, 1, 0, 2]);
    }

    fn near(measured: Option<f64>, wanted: f64, part: f64) {
        let measured = measured.unwrap();
        assert!((measured - wanted).abs() <= wanted * part, "{measured} is not {wanted}");
    }

    #[test]
    fn percentiles_of_a_known_distribution_are_within_a_thousandth() {
        // Uniform over 100 ms to 1.1 s in steps of 10 us.
        let mut delays = DelayHistogram::new();
        for k in 0..100_000u64 {
            delays.record(100_000_000 + k * 10_000);
        }
        near(delays.quantile_ms(0.50), 600.0, 1e-3);
        near(delays.quantile_ms(0.95), 1050.0, 1e-3);
        near(delays.quantile_ms(0.99), 1090.0, 1e-3);
        assert_eq!(delays.mean_ms(), Some(599.995));
    }

    #[test]
    fn p99_of_an_exponential_distribution_is_within_a_thousandth() {
        // 200 ms and an exponential of mean 50 ms, by its inverse at evenly spaced points.
        let mut delays = DelayHistogram::new();
        let n = 200_000;
        for k in 0..n {
            let u = (f64::from(k) + 0.5) / f64::from(n);
            delays.record(((200.0 - 50.0 * (1.0 - u).ln()) * 1e6) as u64);
        }
        near(delays.quantile_ms(0.99), 200.0 + 50.0 * 100f64.ln(), 1e-3);
        near(delays.mean_ms(), 250.0, 1e-4);
    }

    #[test]
    fn merging_is_recording_both() {
        let (mut one, mut other, mut both) =
            (DelayHistogram::new(), DelayHistogram::new(), DelayHistogram::new());
        for k in 0..5_000u64 {
            one.record(k * 30_000);
            other.record(k * 700_000);
            both.record(k * 30_000);
            both.record(k * 700_000);
        }
        one.merge(&other);
        one.merge(&DelayHistogram::new());
        assert_eq!(one.delay_ms(), both.delay_ms());
        assert_eq!(one.count(), 10_000);
    }

    #[test]
    fn the_documents_histogram_has_the_same_delays_and_as_many() {
        for mut delays in [DelayHistogram::new(), DelayHistogram::coarse()] {
            delays.record_zeros(10);
            (0..200_000_u64).for_each(|k| delays.record(k * 20_011));
            let all = delays.distribution();
            assert_eq!(all.counts.iter().map(|(_, n)| n).sum::<u64>(), 200_010);
            assert_eq!((all.count, all.mean), (200_010, delays.mean_ms()));
            for quantile in [0.001, 0.1, 0.5, 0.99, 1.0] {
                near(all.quantile(quantile), delays.quantile_ms(quantile).unwrap(), 0.004);
            }
        }
        assert_eq!(DelayHistogram::new().distribution().quantile(0.5), None);
    }

    #[test]
    fn without_samples_there_is_no_number() {
        let mut delays = DelayHistogram::new();
        assert_eq!(delays.delay_ms(), DelayMs::default());
        delays.record(u64::MAX);
        assert!(delays.quantile_ms(0.99).unwrap().is_finite());
        delays.clear();
        assert_eq!(delays.queue_ms(), QueueMs::default());
    }

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_monopoly() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    #[test]
    fn unfairness_is_the_largest_deviation_from_the_mean() {
        assert_eq!(unfairness(&[1.0, 1.0, 1.0]), Some(0.0));
        assert_eq!(unfairness(&[1.0, 3.0]), Some(0.5));
        assert_eq!(unfairness(&[0.0]), None);
        assert_eq!(unfairness(&[]), None);
    }

    #[test]
    fn student_t_is_that_of_the_tables() {
        let known = [(1, 12.706), (2, 4.303), (4, 2.776), (5, 2.571), (6, 2.447), (7, 2.365), (8, 2.306)];
        for (degrees, t) in known {
            near(Some(student_t(degrees)), t, 2e-4);
        }
        for (degrees, t) in [(9, 2.262_157), (19, 2.093_024), (29, 2.045_230), (120, 1.979_930)] {
            near(Some(student_t(degrees)), t, 1e-5);
        }
    }

    #[test]
    fn the_interval_is_t_times_the_error_of_the_mean() {
        // The mean is 5 and the standard deviation sqrt(32 / 7), with eight values.
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((estimate.mean, estimate.n), (5.0, 8));
        near(estimate.ci95, 2.364_62 * (32.0_f64 / 7.0).sqrt() / 8.0_f64.sqrt(), 1e-4);
        // Two values: 12.7062 times half their distance.
        near(Estimate::of(&[1.0, 3.0]).unwrap().ci95, 12.7062, 1e-12);
    }

    #[test]
    fn one_value_has_no_interval_and_equal_ones_have_none_to_speak_of() {
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[3.0]), Some(Estimate { mean: 3.0, ci95: None, n: 1, distinct: 1 }));
        let equal = Estimate { mean: 0.1, ci95: Some(0.0), n: 10, distinct: 1 };
        assert_eq!(Estimate::of(&[0.1; 10]), Some(equal));
    }

    #[test]
    fn an_estimate_counts_the_different_values() {
        let distinct = |values: &[f64]| Estimate::of(values).unwrap().distinct;
        assert_eq!(distinct(&[2.0, 1.0, 2.0, 1.0 + f64::EPSILON]), 3);
        assert_eq!(distinct(&[0.0, -0.0]), 1);
        assert_eq!(distinct(&[f64::NAN]), 1);
    }
}
