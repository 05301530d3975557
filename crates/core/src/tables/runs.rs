//! Short lists of small values: the first few inline, longer lists in cells that are reused.
//!
//! A million prefixes have a million lists. If each longer list were an allocation, freeing many at once
//! would leave the allocator with many pieces to join, while packets wait.
//!
//! A cell has room for 2, 3, 4, 6, 8, 12, 16 values and so on. Cells of one size are in chunks, as in a
//! [`Slab`].

use smallvec::SmallVec;

use super::slab::Slab;

/// Size of a chunk, bytes, unless a cell is larger.
const CHUNK_BYTES: usize = 1 << 14;

/// The cells of many lists.
#[derive(Clone, Debug)]
pub struct Runs<T> {
    /// The cells of each size.
    classes: Vec<Cells<T>>,
}

/// Cells of one size.
#[derive(Clone, Debug)]
struct Cells<T> {
    /// Values in a cell.
    size: usize,
    /// Values in a chunk.
    chunk: usize,
    chunks: Vec<Vec<T>>,
    /// Number of cells made so far.
    made: u32,
    unused: Slab<u32>,
}

impl<T: Copy + Default> Cells<T> {
    fn new(class: usize) -> Cells<T> {
        let size = class_size(class);
        let cells = (CHUNK_BYTES / (size * size_of::<T>()).max(1)).max(1);
        Cells { size, chunk: cells * size, chunks: Vec::new(), made: 0, unused: Slab::new() }
    }

    /// The chunk of a cell, and the cell's offset in it.
    #[inline]
    fn place(&self, cell: u32) -> (usize, usize) {
        let first = cell as usize * self.size;
        (first / self.chunk, first % self.chunk)
    }

    fn take(&mut self) -> u32 {
        if let Some(cell) = self.unused.pop() {
            return cell;
        }
        self.made += 1;
        let (chunk, first) = self.place(self.made - 1);
        if chunk == self.chunks.len() {
            self.chunks.push(if chunk == 0 { Vec::new() } else { Vec::with_capacity(self.chunk) });
        }
        self.chunks[chunk].resize(first + self.size, T::default());
        self.made - 1
    }
}

/// Number of values in a cell of a class: 1, 1, 2, 3, 4, 6, 8, 12 and so on.
const fn class_size(class: usize) -> usize {
    let power = 1 << (class / 2);
    if class.is_multiple_of(2) { power } else { power + power / 2 }
}

/// The class of the smallest cells with room for this many values, at least two.
#[inline]
fn class_of(len: usize) -> usize {
    let power = len.next_power_of_two();
    let class = 2 * power.trailing_zeros() as usize;
    if len <= class_size(class - 1) { class - 1 } else { class }
}

impl<T: Copy + Default> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs::new()
    }
}

impl<T: Copy + Default> Runs<T> {
    /// Makes a store without cells.
    pub const fn new() -> Runs<T> {
        Runs { classes: Vec::new() }
    }

    #[inline]
    fn cell(&self, class: usize, cell: u32) -> &[T] {
        let cells = &self.classes[class];
        let (chunk, first) = cells.place(cell);
        &cells.chunks[chunk][first..first + cells.size]
    }

    #[inline]
    fn cell_mut(&mut self, class: usize, cell: u32) -> &mut [T] {
        let cells = &mut self.classes[class];
        let (chunk, first) = cells.place(cell);
        &mut cells.chunks[chunk][first..first + cells.size]
    }

    fn take(&mut self, class: usize) -> u32 {
        while self.classes.len() <= class {
            self.classes.push(Cells::new(self.classes.len()));
        }
        self.classes[class].take()
    }

    fn give_back(&mut self, class: usize, cell: u32) {
        self.classes[class].unused.push(cell);
    }
}

/// A list whose first `IN_PLACE` values are inline. Longer lists are in cells of the [`Runs`], which must be
/// the same in all calls. Clear the list before it is dropped; otherwise its cell is lost.
#[derive(Clone, Debug)]
pub struct Run<T, const IN_PLACE: usize> {
    in_place: [T; IN_PLACE],
    cell: u32,
    len: u32,
}

impl<T: Copy + Default, const IN_PLACE: usize> Default for Run<T, IN_PLACE> {
    fn default() -> Run<T, IN_PLACE> {
        Run { in_place: [T::default(); IN_PLACE], cell: 0, len: 0 }
    }
}

impl<T: Copy + Default, const IN_PLACE: usize> Run<T, IN_PLACE> {
    /// Makes a list of these values.
    pub fn new(values: &[T], runs: &mut Runs<T>) -> Run<T, IN_PLACE> {
        let mut run = Run::default();
        run.resize(values.len(), runs);
        run.values_mut(runs).copy_from_slice(values);
        run
    }

    /// The number of values.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the list is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The values.
    #[inline]
    pub fn values<'a>(&'a self, runs: &'a Runs<T>) -> &'a [T] {
        match class(self.len(), IN_PLACE) {
            None => &self.in_place[..self.len()],
            Some(class) => &runs.cell(class, self.cell)[..self.len()],
        }
    }

    /// The values, mutable.
    #[inline]
    pub fn values_mut<'a>(&'a mut self, runs: &'a mut Runs<T>) -> &'a mut [T] {
        let len = self.len();
        match class(len, IN_PLACE) {
            None => &mut self.in_place[..len],
            Some(class) => &mut runs.cell_mut(class, self.cell)[..len],
        }
    }

    /// Inserts a value at index `at`, before the present one.
    pub fn insert(&mut self, at: usize, value: T, runs: &mut Runs<T>) {
        self.resize(self.len() + 1, runs);
        let values = self.values_mut(runs);
        values[at..].rotate_right(1);
        values[at] = value;
    }

    /// Removes the value at index `at`.
    pub fn remove(&mut self, at: usize, runs: &mut Runs<T>) {
        self.values_mut(runs)[at..].rotate_left(1);
        self.resize(self.len() - 1, runs);
    }

    /// Removes all values.
    pub fn clear(&mut self, runs: &mut Runs<T>) {
        self.resize(0, runs);
    }

    /// Cuts the list, or appends values that the caller must set.
    fn resize(&mut self, len: usize, runs: &mut Runs<T>) {
        let (before, after) = (class(self.len(), IN_PLACE), class(len, IN_PLACE));
        if before != after {
            let kept = &self.values(runs)[..self.len().min(len)];
            let kept: SmallVec<[T; 4]> = SmallVec::from_slice(kept);
            if let Some(before) = before {
                runs.give_back(before, self.cell);
            }
            self.cell = after.map_or(0, |after| runs.take(after));
            self.len = len as u32;
            self.values_mut(runs)[..kept.len()].copy_from_slice(&kept);
        }
        self.len = len as u32;
    }
}

/// The class of the cell for a list of this length; `None`: it is inline.
#[inline]
fn class(len: usize, in_place: usize) -> Option<usize> {
    (len > in_place).then(|| class_of(len.max(2)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_are_at_most_a_half_larger_than_their_lists() {
        for len in 2..10_000 {
            let size = class_size(class_of(len));
            assert!(size >= len && (size - 1) * 2 < len * 3, "{size} for {len}");
            assert!(class_size(class_of(len) - 1) < len, "{len} would fit into less");
        }
    }

    #[test]
    fn cells_of_lists_that_are_cleared_are_used_again() {
        let mut runs = Runs::default();
        let make = |runs: &mut Runs<u8>| -> Vec<Run<u8, 4>> {
            (0..2000_usize).map(|n| Run::new(&vec![n as u8; n % 100], runs)).collect()
        };
        let mut lists = make(&mut runs);
        let made: Vec<u32> = runs.classes.iter().map(|cells| cells.made).collect();
        lists.iter_mut().for_each(|list| list.clear(&mut runs));
        let lists = make(&mut runs);
        assert!(runs.classes.iter().map(|cells| cells.made).eq(made));
        for (n, list) in lists.iter().enumerate() {
            assert_eq!(list.values(&runs), vec![n as u8; n % 100]);
        }
    }

    proptest! {
        #[test]
        fn lists_are_those_of_vectors(steps in prop::collection::vec((0..3_usize, any::<bool>(), any::<u16>()), 0..200)) {
            let mut runs = Runs::new();
            let mut lists: [(Run<u16, 1>, Vec<u16>); 3] = Default::default();
            for (which, inserts, value) in steps {
                let (list, model) = &mut lists[which];
                match (inserts, model.is_empty()) {
                    (false, true) => list.clear(&mut runs),
                    (false, false) => {
                        let at = usize::from(value) % model.len();
                        list.remove(at, &mut runs);
                        model.remove(at);
                    }
                    (true, _) => {
                        let at = usize::from(value) % (model.len() + 1);
                        list.insert(at, value, &mut runs);
                        model.insert(at, value);
                    }
                }
                for (list, model) in &lists {
                    prop_assert_eq!(list.values(&runs), &model[..]);
                    prop_assert_eq!((list.len(), list.is_empty()), (model.len(), model.is_empty()));
                }
            }
        }
    }
}
