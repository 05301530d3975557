//! Ordered numbers, in blocks.
//!
//! A list of blocks, each a sorted list of at most a few hundred numbers. Inserting or removing a number
//! moves part of a block, and sometimes part of the list of blocks. Small blocks are joined. This costs two
//! bytes of pointers and allocator overhead for each number, where a balanced tree costs ten, and as few
//! allocations to free. The caller defines the order, for example the order of the names that the numbers
//! stand for.

use core::cmp::Ordering;

/// Largest number of numbers in a block.
const BLOCK: usize = 512;

/// Ordered numbers without duplicates.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// The blocks; no block is empty.
    blocks: Vec<Vec<u32>>,
}

impl Blocks {
    /// Makes an empty set.
    pub const fn new() -> Blocks {
        Blocks { blocks: Vec::new() }
    }

    /// Returns whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The number for which `order` returns `Equal`. `order` compares a number with the target.
    pub fn find(&self, order: impl Fn(u32) -> Ordering) -> Option<u32> {
        let (block, found) = self.place(order);
        found.ok().map(|at| self.blocks[block][at])
    }

    /// Inserts a number at its place, unless an equal one is there.
    pub fn insert(&mut self, number: u32, order: impl Fn(u32) -> Ordering) {
        let (block, found) = self.place(order);
        let Err(at) = found else { return };
        if self.blocks.is_empty() {
            return self.blocks.push(vec![number]);
        }
        let is_last = block + 1 == self.blocks.len();
        let numbers = &mut self.blocks[block];
        if numbers.len() < BLOCK {
            return numbers.insert(at, number);
        }
        // Blocks stay full if numbers come in ascending order.
        let middle = if is_last && at == BLOCK { BLOCK } else { BLOCK / 2 };
        let mut upper = numbers.split_off(middle);
        match at.checked_sub(middle) {
            Some(at) => upper.insert(at, number),
            None => numbers.insert(at, number),
        }
        self.blocks.insert(block + 1, upper);
    }

    /// Removes the number that equals the target. Returns whether it was there.
    pub fn remove(&mut self, order: impl Fn(u32) -> Ordering) -> bool {
        let (block, found) = self.place(order);
        let Ok(at) = found else { return false };
        self.blocks[block].remove(at);
        if self.blocks[block].is_empty() {
            self.blocks.remove(block);
        } else {
            self.join(block);
        }
        true
    }

    /// Joins a block with a neighbour if both are small, and frees unused capacity: otherwise one remaining
    /// number would keep the memory for hundreds.
    fn join(&mut self, block: usize) {
        let len = |at: usize| self.blocks.get(at).map_or(BLOCK, Vec::len);
        let has_room = |first: &usize| len(*first) + len(*first + 1) <= BLOCK / 2;
        let before = block.checked_sub(1);
        let joined = [Some(block), before].into_iter().flatten().find(has_room);
        if let Some(first) = joined {
            let second = self.blocks.remove(first + 1);
            self.blocks[first].extend(second);
        }
        let numbers = &mut self.blocks[joined.unwrap_or(block)];
        if numbers.len() <= numbers.capacity() / 4 {
            // Keep room for as many again, but at least for a small allocation.
            numbers.shrink_to((2 * numbers.len()).max(8));
        }
    }

    /// The first number.
    pub fn first(&self) -> Option<u32> {
        self.blocks.first()?.first().copied()
    }

    /// The last number.
    pub fn last(&self) -> Option<u32> {
        self.blocks.last()?.last().copied()
    }

    /// All numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().flatten().copied()
    }

    /// The numbers greater than the target, in order.
    pub fn after(&self, order: impl Fn(u32) -> Ordering) -> impl Iterator<Item = u32> {
        let (block, found) = self.place(order);
        let at = found.map_or_else(|at| at, |at| at + 1);
        let rest = self.blocks.get(block).map_or(&[][..], |numbers| &numbers[at..]);
        let others = self.blocks.get(block + 1..).unwrap_or_default();
        rest.iter().chain(others.iter().flatten()).copied()
    }

    /// The block for the target, and its position there or where it would be inserted.
    fn place(&self, order: impl Fn(u32) -> Ordering) -> (usize, Result<usize, usize>) {
        let begun = self.blocks.partition_point(|numbers| order(numbers[0]) != Ordering::Greater);
        let block = begun.saturating_sub(1);
        let numbers = self.blocks.get(block).map_or(&[][..], |numbers| numbers);
        (block, numbers.binary_search_by(|number| order(*number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn fill(numbers: impl Iterator<Item = u32>) -> Blocks {
        let mut blocks = Blocks::new();
        numbers.for_each(|number| blocks.insert(number, |other| other.cmp(&number)));
        blocks
    }

    #[test]
    fn blocks_of_ascending_numbers_are_full_and_none_is_ever_too_long() {
        let count = 20 * BLOCK as u32;
        let ascending = fill(0..count);
        assert_eq!(ascending.blocks.len(), 20);
        // A multiplier without a common divisor produces each number once.
        for blocks in [ascending, fill((0..count).rev()), fill((0..count).map(|n| n * 4099 % count))] {
            assert!(blocks.blocks.iter().all(|block| block.len() <= BLOCK));
            assert!(blocks.blocks.len() <= 40, "{}", blocks.blocks.len());
            assert!(blocks.iter().eq(0..count));
        }
    }

    #[test]
    fn what_stays_of_many_takes_little() {
        for step in [7, 100, BLOCK as u32, 1023] {
            let count = 200 * BLOCK as u32;
            for mut numbers in [(0..count).collect::<Vec<_>>(), (0..count).rev().collect()] {
                let mut blocks = fill(0..count);
                numbers.retain(|number| number % step != 0);
                numbers.iter().for_each(|number| assert!(blocks.remove(|other| other.cmp(number))));
                assert!(blocks.iter().eq((0..count).step_by(step as usize)));
                let stay = count.div_ceil(step) as usize;
                let room: usize = blocks.blocks.iter().map(Vec::capacity).sum();
                assert!(room <= 8 * stay, "room for {room} for {stay} numbers");
                assert!(blocks.blocks.len() <= 1 + stay / (BLOCK / 8), "{} blocks", blocks.blocks.len());
            }
        }
    }

    #[test]
    fn what_is_empty_again_has_no_blocks() {
        let mut blocks = fill(0..5000);
        (0..5000_u32).for_each(|number| assert!(blocks.remove(|other| other.cmp(&(number * 7 % 5000)))));
        assert!(blocks.is_empty() && !blocks.remove(|other| other.cmp(&3)));
    }

    proptest! {
        #[test]
        fn they_are_those_of_a_set(steps in prop::collection::vec((0..2000_u32, prop::bool::weighted(0.7)), 0..4000)) {
            let (mut blocks, mut model) = (Blocks::new(), BTreeSet::new());
            // The order is reversed.
            let order = |sought: u32| move |number: u32| sought.cmp(&number);
            for &(number, inserts) in &steps {
                if inserts {
                    blocks.insert(number, order(number));
                    model.insert(number);
                } else {
                    prop_assert_eq!(blocks.remove(order(number)), model.remove(&number));
                }
            }
            prop_assert!(blocks.iter().eq(model.iter().rev().copied()));
            prop_assert_eq!((blocks.first(), blocks.last()), (model.last().copied(), model.first().copied()));
            for (number, _) in steps {
                prop_assert_eq!(blocks.find(order(number)), model.get(&number).copied());
                prop_assert!(blocks.after(order(number)).eq(model.range(..number).rev().copied()));
            }
        }
    }
}
