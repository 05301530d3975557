//! Pacing for consumers that send over several paths: the time of the next Interest on each path, and the order of paths
//! for greedy sources.

use weir_core::units::{Span, Time};

/// The time of the next Interest of a sender with equal intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    due: Time,
}

impl Pacer {
    /// Returns a pacer whose first Interest is due at this time.
    pub(crate) fn new(due: Time) -> Pacer {
        Pacer { due }
    }

    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// Counts an Interest that leaves. The next one is due an interval later. A late call makes up for at
    /// most one interval.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time, interval: Span) {
        self.due = self.due.max(now - interval) + interval;
    }

    /// Makes the next Interest due at `due` at the latest.
    pub(crate) fn hurry(&mut self, due: Time) {
        self.due = self.due.min(due);
    }

    /// Changes the interval, also for the wait that has begun.
    pub(crate) fn change(&mut self, from: Span, to: Span) {
        self.due = self.due - from + to;
    }
}

/// Selects the next path in proportion to weights: each path earns its part of a turn, and the path with the largest credit
/// takes the turn. Without weights it is the first path.
pub(crate) fn deal<T>(
    all: &mut [T],
    weight: impl Fn(&T) -> f64,
    credit: impl Fn(&mut T) -> &mut f64,
) -> usize {
    let total = all.iter().map(&weight).sum::<f64>().max(1.0);
    let mut chosen = (0, f64::NEG_INFINITY);
    for (place, one) in all.iter_mut().enumerate() {
        let part = weight(one) / total;
        let credit = credit(one);
        *credit = (*credit + part).clamp(-1.0, 1.0);
        if *credit > chosen.1 {
            chosen = (place, *credit);
        }
    }
    if let Some(one) = all.get_mut(chosen.0) {
        *credit(one) -= 1.0;
    }
    chosen.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn who_is_late_makes_up_for_one_interval() {
        let mut pacer = Pacer::new(at(10));
        pacer.advance(at(10), Span::from_millis(5));
        assert_eq!(pacer.due(), at(15));
        pacer.advance(at(100), Span::from_millis(5));
        assert_eq!(pacer.due(), at(100));
    }

    #[test]
    fn a_change_holds_for_the_wait_that_has_begun() {
        let mut pacer = Pacer::new(at(10));
        pacer.advance(at(10), Span::from_millis(5));
        pacer.change(Span::from_millis(5), Span::from_millis(500));
        assert_eq!(pacer.due(), at(510));
        pacer.hurry(at(20));
        assert_eq!(pacer.due(), at(20));
    }

    #[test]
    fn turns_are_in_proportion_to_weights() {
        let mut all = [(6.0, 0.0), (3.0, 0.0), (1.0, 0.0)];
        let mut turns = [0; 3];
        for _ in 0..1000 {
            turns[deal(&mut all, |one| one.0, |one| &mut one.1)] += 1;
        }
        for (turns, expected) in turns.iter().zip([600_i32, 300, 100]) {
            assert!((turns - expected).abs() <= 2, "{turns} of {expected}");
        }
    }
}
