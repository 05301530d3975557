//! Whether a figure of a scheme is as good as the best one, worse, or neither by what the seeds show.

use crate::model::{MatrixFigure, SeedFigure};
use weir_measure::Estimate;

/// The mark of what the seeds do not distinguish from the best.
pub(crate) const UNCLEAR: &str = "≈ ";

/// A figure beside the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is the best, or its difference and the interval of the difference are too small to count.
    AsGood,
    /// The interval of the difference includes zero: more seeds may show a difference.
    Unclear,
    /// It is worse.
    Behind,
}

/// A figure with its values over the seeds; these may be unknown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) mean: Estimate,
    values: &'a [Option<f64>],
}

impl SeedFigure {
    pub(crate) fn measured(&self) -> Option<Measured<'_>> {
        Some(Measured { mean: self.measured?, values: &self.values })
    }
}

impl MatrixFigure {
    pub(crate) fn measured(&self) -> Option<Measured<'_>> {
        Some(Measured { mean: self.measured?, values: &self.values })
    }
}

impl Measured<'_> {
    /// How it stands to the best figure. Differences up to `alike` do not count.
    pub(crate) fn beside(&self, best: &Measured<'_>, alike: f64) -> Standing {
        let (apart, half) = self.difference(best);
        match apart.abs() {
            apart if apart <= alike && half <= alike => Standing::AsGood,
            apart if apart > alike && half < apart => Standing::Behind,
            _ => Standing::Unclear,
        }
    }

    /// The difference, and half of its 95 % interval; zero with one seed. Runs with the same seed draw the same numbers, so the
    /// difference is taken seed by seed. If only the means are known, the interval is the sum of both.
    fn difference(&self, other: &Measured<'_>) -> (f64, f64) {
        let pairs = self.values.iter().zip(other.values).filter_map(|(one, other)| Some((*one)? - (*other)?));
        match Estimate::of(&pairs.collect::<Vec<f64>>()) {
            Some(pairs) => {
                // One seed in common out of several says nothing.
                let none = if self.values.len() > 1 { f64::INFINITY } else { 0.0 };
                (pairs.mean, pairs.ci95.unwrap_or(none))
            }
            None => {
                let half = |of: &Measured<'_>| of.mean.ci95.unwrap_or(0.0);
                (self.mean.mean - other.mean.mean, half(self) + half(other))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(one: &[f64], best: &[f64], alike: f64) -> Standing {
        let figure = |values: &[f64]| SeedFigure {
            measured: Estimate::of(values),
            values: values.iter().copied().map(Some).collect(),
        };
        figure(one).measured().unwrap().beside(&figure(best).measured().unwrap(), alike)
    }

    #[test]
    fn a_wide_interval_is_neither_as_good_nor_worse() {
        assert_eq!(standing(&[10.0, 10.02], &[10.03, 10.05], 0.1), Standing::AsGood);
        assert_eq!(standing(&[5.0, 5.1], &[10.0, 10.01], 0.1), Standing::Behind);
        assert_eq!(standing(&[5.0, 14.0], &[10.0, 10.01], 0.1), Standing::Unclear);
        // The mean is near, but the seeds do not say that the figure is.
        assert_eq!(standing(&[5.0, 15.0], &[10.0, 10.01], 0.1), Standing::Unclear);
    }

    #[test]
    fn schemes_are_compared_seed_by_seed() {
        // The load of the seeds differs more than the schemes do.
        assert_eq!(standing(&[1.0, 5.0, 9.0], &[1.5, 5.52, 9.51], 0.1), Standing::Behind);
        // One scheme has no value with the second seed.
        let values = vec![Some(1.0), None, Some(9.0)];
        let one = SeedFigure { measured: Estimate::of(&[1.0, 9.0]), values };
        let values = vec![Some(1.5), Some(5.0), Some(9.51)];
        let best = SeedFigure { measured: Estimate::of(&[1.5, 5.0, 9.51]), values };
        assert_eq!(one.measured().unwrap().beside(&best.measured().unwrap(), 0.1), Standing::Behind);
    }

    #[test]
    fn means_alone_are_compared_by_their_intervals() {
        let figure = |mean, ci95| SeedFigure {
            measured: Some(Estimate { mean, ci95: Some(ci95), n: 3, distinct: 3 }),
            values: Vec::new(),
        };
        let standing = |one: SeedFigure, best: SeedFigure| {
            one.measured().unwrap().beside(&best.measured().unwrap(), 0.01)
        };
        assert_eq!(standing(figure(0.96, 0.03), figure(0.99, 0.01)), Standing::Unclear);
        assert_eq!(standing(figure(0.95, 0.02), figure(0.99, 0.01)), Standing::Behind);
    }

    #[test]
    fn one_seed_has_values_and_no_interval() {
        assert_eq!(standing(&[9.95], &[10.0], 0.1), Standing::AsGood);
        assert_eq!(standing(&[9.0], &[10.0], 0.1), Standing::Behind);
    }
}
