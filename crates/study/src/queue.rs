//! Chooses the run that is made next, and finds runs that need not be made.
//!
//! Runs that differ only in the seed are a group. The first of a group is made before the others. If its seed
//! decided nothing, the others give the same figures and are not made. Costly runs come first, so that all
//! processors end together.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Orders costly runs first, and equally costly ones as given.
type Place = (Reverse<u64>, usize);

/// The runs that have not begun.
#[derive(Debug)]
pub struct RunQueue {
    cost: Vec<u64>,
    /// The first run of the group of each run.
    first: Vec<usize>,
    /// The first run of each group, and the runs that are known to be needed.
    ready: BTreeSet<Place>,
    /// The runs whose first one has not ended yet.
    held: BTreeSet<Place>,
}

impl RunQueue {
    /// Builds the queue of runs with these costs. `first` has, for each run, the first of its group.
    pub fn new(cost: Vec<u64>, first: Vec<usize>) -> RunQueue {
        let mut queue = RunQueue { cost, first, ready: BTreeSet::new(), held: BTreeSet::new() };
        for run in 0..queue.cost.len() {
            let place = queue.place(run);
            if queue.first[run] == run {
                queue.ready.insert(place)
            } else {
                queue.held.insert(place)
            };
        }
        queue
    }

    fn place(&self, run: usize) -> Place {
        (Reverse(self.cost[run]), run)
    }

    /// Begins a run. If nothing else is left, it is one whose group may turn out not to need it, which is
    /// better than an idle processor.
    pub fn begin(&mut self) -> Option<usize> {
        self.begin_needed().or_else(|| self.held.pop_first().map(|(_, run)| run))
    }

    /// Begins a run that is certainly needed.
    pub fn begin_needed(&mut self) -> Option<usize> {
        self.ready.pop_first().map(|(_, run)| run)
    }

    /// Ends a run. Returns the runs of its group that have not begun and give the same figures. They are not
    /// made.
    pub fn end(&mut self, run: usize, seed_matters: bool) -> Vec<usize> {
        if self.first[run] != run {
            return Vec::new();
        }
        // The runs of a group are adjacent.
        let group = (run + 1..self.first.len()).take_while(|other| self.first[*other] == run);
        let waiting: Vec<usize> = group.filter(|other| self.held.contains(&self.place(*other))).collect();
        for other in &waiting {
            let place = self.place(*other);
            self.held.remove(&place);
            if seed_matters {
                self.ready.insert(place);
            }
        }
        if seed_matters { Vec::new() } else { waiting }
    }

    /// Puts back a run that has begun but did not end. It can begin again.
    pub fn give_back(&mut self, run: usize) {
        let place = self.place(run);
        self.ready.insert(place);
    }

    /// Stops beginning runs.
    pub fn close(&mut self) {
        self.ready.clear();
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups: runs 0 to 2, and the costlier runs 3 and 4.
    fn queue() -> RunQueue {
        RunQueue::new(vec![10, 10, 10, 20, 20], vec![0, 0, 0, 3, 3])
    }

    #[test]
    fn the_first_of_each_group_begins_first_and_costly_ones_before_others() {
        let mut queue = queue();
        assert_eq!([queue.begin(), queue.begin()], [Some(3), Some(0)]);
    }

    #[test]
    fn a_group_whose_seed_decides_nothing_is_made_once() {
        let mut queue = queue();
        assert_eq!([queue.begin(), queue.begin()], [Some(3), Some(0)]);
        assert_eq!(queue.end(0, false), [1, 2]);
        assert_eq!(queue.end(3, false), [4]);
        assert_eq!(queue.begin(), None);
    }

    #[test]
    fn a_group_whose_seed_decides_something_is_made_in_full() {
        let mut queue = queue();
        assert_eq!([queue.begin(), queue.begin()], [Some(3), Some(0)]);
        assert!(queue.end(0, true).is_empty() && queue.end(3, true).is_empty());
        let rest: Vec<usize> = std::iter::from_fn(|| queue.begin()).collect();
        assert_eq!(rest, [4, 1, 2]);
        assert!(queue.end(1, false).is_empty(), "the first one alone speaks for its group");
    }

    #[test]
    fn an_idle_processor_begins_what_may_not_be_needed() {
        let mut queue = queue();
        assert_eq!([queue.begin(), queue.begin(), queue.begin()], [Some(3), Some(0), Some(4)]);
        assert!(queue.end(3, false).is_empty(), "run 4 has begun and ends by itself");
        assert_eq!(queue.end(0, false), [1, 2]);
    }

    #[test]
    fn a_run_that_may_not_be_needed_waits_where_no_processor_is_idle() {
        let mut queue = queue();
        assert_eq!(
            [queue.begin_needed(), queue.begin_needed(), queue.begin_needed()],
            [Some(3), Some(0), None]
        );
        assert!(queue.end(0, true).is_empty());
        assert_eq!(queue.begin_needed(), Some(1));
    }

    #[test]
    fn a_run_that_did_not_end_begins_again() {
        let mut queue = queue();
        assert_eq!([queue.begin(), queue.begin()], [Some(3), Some(0)]);
        queue.give_back(3);
        assert_eq!(queue.begin(), Some(3));
        assert_eq!(queue.end(3, false), [4]);
    }

    #[test]
    fn nothing_begins_once_it_is_closed() {
        let mut queue = queue();
        queue.close();
        assert_eq!(queue.begin(), None);
    }
}
