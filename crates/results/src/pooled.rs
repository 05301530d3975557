//! The histograms of several runs together.

use weir_measure::DistributionRow;

/// The rows of several runs, with those of the same quantity and subject as one: all values of the runs together.
pub fn pooled<'a>(rows: impl IntoIterator<Item = &'a DistributionRow>) -> Vec<DistributionRow> {
    let mut all: Vec<DistributionRow> = Vec::new();
    for row in rows {
        let is_same = |other: &&mut DistributionRow| {
            (&other.what, &other.kind, &other.of) == (&row.what, &row.kind, &row.of)
        };
        match all.iter_mut().find(is_same) {
            Some(same) => same.distribution.merge(&row.distribution),
            None => all.push(row.clone()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_values_of_all_runs_are_together_and_each_subject_is_there_once() {
        let one = sample::dumbbell(4, 30).document.distributions;
        assert!(one.len() > 1);
        let all = pooled(one.iter().chain(&one).chain(&one[..1]));
        assert_eq!(all.len(), one.len());
        let counts: Vec<u64> = all.iter().map(|row| row.distribution.count).collect();
        let wanted: Vec<u64> = one
            .iter()
            .enumerate()
            .map(|(at, row)| row.distribution.count * if at == 0 { 3 } else { 2 })
            .collect();
        assert_eq!(counts, wanted);
        assert_eq!(all[1].distribution.quantile(0.5), one[1].distribution.quantile(0.5));
    }
}
