//! Pairs of an owner and a number that belongs to it.
//!
//! When an owner ends, the cost is proportional to what belongs to it, and not to the size of the table.
//! Strangers choose how often owners end.

use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Pairs of an owner and a number that belongs to it, without duplicates.
#[derive(Clone, Debug, Default)]
pub struct Pairs(BTreeSet<(u32, u32)>);

impl Pairs {
    /// Adds a number to an owner, unless it is there.
    #[cold]
    pub fn add(&mut self, owner: u32, one: u32) {
        self.0.insert((owner, one));
    }

    /// Removes a number from an owner.
    #[cold]
    pub fn remove(&mut self, owner: u32, one: u32) {
        self.0.remove(&(owner, one));
    }

    /// The numbers of an owner, in ascending order.
    pub fn of(&self, owner: u32) -> impl Iterator<Item = u32> {
        self.0.range((owner, 0)..=(owner, u32::MAX)).map(|(_, one)| *one)
    }

    /// Removes and returns the numbers of an owner.
    pub fn take(&mut self, owner: u32) -> SmallVec<[u32; 4]> {
        let all: SmallVec<[u32; 4]> = self.of(owner).collect();
        all.iter().for_each(|one| self.remove(owner, *one));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_what_was_added_and_not_removed_or_taken() {
        let mut pairs = Pairs::default();
        for (owner, one) in [(1, 7), (1, 3), (1, 7), (1, u32::MAX), (0, 5), (2, 0), (1, 9)] {
            pairs.add(owner, one);
        }
        pairs.remove(1, 9);
        pairs.remove(2, 9);
        assert_eq!(pairs.of(1).collect::<Vec<_>>(), [3, 7, u32::MAX]);
        assert_eq!(pairs.take(1)[..], [3, 7, u32::MAX]);
        assert!(pairs.take(1).is_empty());
        assert_eq!((pairs.of(0).next(), pairs.of(2).next()), (Some(5), Some(0)));
    }
}
