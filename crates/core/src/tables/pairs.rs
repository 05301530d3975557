//! Which numbers belong to which others.
//!
//! Whatever ends takes with it what belongs to it: it costs as much as that is, and not as much as there is of all. Strangers
//! choose how often things end.

use smallvec::SmallVec;
use std::collections::BTreeSet;

/// Pairs of an owner and what belongs to it, each once.
#[derive(Clone, Debug, Default)]
pub struct Pairs(BTreeSet<(u32, u32)>);

impl Pairs {
    /// This belongs to the owner, now or still.
    #[cold]
    pub fn add(&mut self, owner: u32, one: u32) {
        self.0.insert((owner, one));
    }

    /// This does not belong to the owner any more.
    #[cold]
    pub fn remove(&mut self, owner: u32, one: u32) {
        self.0.remove(&(owner, one));
    }

    /// What belongs to an owner, in ascending order.
    pub fn of(&self, owner: u32) -> impl Iterator<Item = u32> {
        self.0.range((owner, 0)..=(owner, u32::MAX)).map(|(_, one)| *one)
    }

    /// The same, and nothing does from then on.
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
