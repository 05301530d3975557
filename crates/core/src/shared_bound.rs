//! One bound that several holders share.
//!
//! Each holder may hold as much as is left free: dynamic thresholds with α = 1 (A. K. Choudhury and E. L.
//! Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM Transactions on
//! Networking 6(2), 1998). A single holder gets at most half of the bound. If n holders want as much as
//! possible, each gets 1/(n + 1) of it, and the same amount stays free. A holder that comes later, while the
//! others keep theirs, gets half of the free amount, and more when they hold less.

/// A bound and the amount held of it, in bytes or any other unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBound {
    bound: u64,
    held: u64,
}

impl SharedBound {
    /// No bound.
    pub const NONE: SharedBound = SharedBound::new(u64::MAX);

    /// Makes a bound of which nothing is held.
    pub const fn new(bound: u64) -> SharedBound {
        SharedBound { bound, held: 0 }
    }

    /// The bound.
    #[inline]
    pub const fn bound(&self) -> u64 {
        self.bound
    }

    /// The amount that all holders hold.
    #[inline]
    pub const fn held(&self) -> u64 {
        self.held
    }

    /// The most that a holder may hold that holds `own` now: half of what the others leave.
    #[inline]
    pub const fn share(&self, own: u64) -> u64 {
        self.bound.saturating_sub(self.held - own) / 2
    }

    /// Returns whether a holder of `own` may hold `more` in addition. A holder of nothing always may, so
    /// others that keep their share for ever do not block it.
    #[inline]
    pub const fn admits(&self, own: u64, more: u64) -> bool {
        own == 0 || own.saturating_add(more) <= self.share(own)
    }

    /// Changes what one holder holds, from `before` to `after`.
    #[inline]
    pub const fn replace(&mut self, before: u64, after: u64) {
        self.held = self.held + after - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The holders take one unit each in turn, until none gets more.
    fn fill(bound: &mut SharedBound, held: &mut [u64]) {
        let mut is_admitted = true;
        while is_admitted {
            is_admitted = false;
            for own in held.iter_mut() {
                if bound.admits(*own, 1) {
                    bound.replace(*own, *own + 1);
                    *own += 1;
                    is_admitted = true;
                }
            }
        }
    }

    #[test]
    fn one_has_half_and_each_of_many_has_as_much_as_stays_free() {
        for holders in [1, 2, 3, 10, 99] {
            let mut bound = SharedBound::new(1000);
            let mut held = vec![0; holders];
            fill(&mut bound, &mut held);
            let share = 1000 / (holders as u64 + 1);
            assert!(held.iter().all(|own| own.abs_diff(share) <= 1), "{holders}: {held:?}");
            assert_eq!(bound.held(), held.iter().sum());
        }
    }

    #[test]
    fn whoever_comes_later_gets_something_and_more_when_others_go() {
        let mut bound = SharedBound::new(1000);
        let mut first = [0];
        fill(&mut bound, &mut first);
        let mut second = [0];
        fill(&mut bound, &mut second);
        assert_eq!((first, second), ([500], [250]));
        bound.replace(500, 0);
        fill(&mut bound, &mut second);
        assert_eq!(second, [500]);
    }

    #[test]
    fn without_a_bound_all_is_admitted() {
        let mut bound = SharedBound::NONE;
        bound.replace(0, 1 << 40);
        assert!(bound.admits(1 << 40, 1 << 50));
    }
}
