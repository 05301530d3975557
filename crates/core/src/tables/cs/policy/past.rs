//! Memory of evicted names: a number by the hash of the name, for the names that were evicted last.

use super::lists::{Links, List, ensure};
use hashbrown::HashTable;

/// Memory of a name, bytes: its place with reserve, and its place in a hash table (5 for each of at most 16/7
/// places).
pub(super) const NAME_BYTES: usize = (16 + 8) * 9 / 8 + 12;

/// Numbers of evicted names.
#[derive(Clone, Debug)]
pub(super) struct Past {
    /// Hash and number.
    places: Vec<(u64, u32)>,
    links: Links,
    order: List,
    free: List,
    index: HashTable<u32>,
}

impl Default for Past {
    fn default() -> Past {
        Past {
            places: Vec::new(),
            links: Links::default(),
            order: List::EMPTY,
            free: List::EMPTY,
            index: HashTable::new(),
        }
    }
}

impl Past {
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// Forgets a name and returns its number.
    pub(super) fn take(&mut self, hash: u64) -> Option<u32> {
        let found = self.index.find_entry(hash, |&place| self.places[place as usize].0 == hash).ok()?;
        let (place, _) = found.remove();
        self.links.unlink(&mut self.order, place);
        self.links.push(&mut self.free, place);
        Some(self.places[place as usize].1)
    }

    /// Remembers an evicted name, and at most `most` names.
    pub(super) fn put(&mut self, hash: u64, number: u32, most: usize) {
        self.take(hash);
        while self.len() >= most.max(1) {
            let Some(oldest) = self.places.get(self.order.oldest as usize) else { break };
            self.take(oldest.0);
        }
        let place = self.links.pop(&mut self.free).unwrap_or(self.places.len() as u32);
        ensure(&mut self.places, place, &(0, 0));
        self.places[place as usize] = (hash, number);
        self.links.push(&mut self.order, place);
        self.index.insert_unique(hash, place, |&place| self.places[place as usize].0);
    }

    /// Halves all numbers.
    pub(super) fn halve(&mut self) {
        self.places.iter_mut().for_each(|(_, number)| *number /= 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_left_last_are_remembered() {
        let mut past = Past::default();
        for name in 0..10 {
            past.put(name, name as u32 + 100, 4);
        }
        assert_eq!(past.len(), 4);
        assert_eq!([5, 6, 9, 9].map(|name| past.take(name)), [None, Some(106), Some(109), None]);
        past.put(7, 3, 4);
        past.halve();
        past.put(1, 1, 2);
        assert_eq!([8, 7, 1].map(|name| past.take(name)), [None, Some(1), Some(1)]);
        assert_eq!(past.places.len(), 4, "places are used again");
    }
}
